//! The state of a launch, kept look by look.

use std::collections::HashMap;

use crate::fact::{self, Fact};
use crate::shell::Tri;
use crate::time::Micros;

use super::targets::Targets;
use super::tie::Target;

/// GPU memory in use on a host below which it counts as idle, in MiB: a GPU without a context
/// shows 0 to 5 MiB, a context alone takes 300 and more (seen on H200, driver 580).
const GPU_IDLE_MIB: f64 = 100.0;
/// A change of GPU memory below this is noise, in MiB.
const GPU_NOISE_MIB: f64 = 32.0;
/// Processor use above which a process is at work, in per cent of one core.
const BUSY_PCT: f64 = 20.0;

#[derive(Debug, Clone, Default)]
pub(super) struct State {
    process: Option<bool>,
    was_running: bool,
    gpu_now_mib: Option<f64>,
    gpu_before_mib: Option<f64>,
    gpu_trend: Option<&'static str>,
    log: Option<&'static str>,
    seen: HashMap<String, Seen>,
    log_since: Option<Micros>,
    log_looks: i64,
    log_looked: Option<Micros>,
    progress: Option<fact::Progress>,
    progress_since: Option<Micros>,
    progress_state: Option<&'static str>,
    endpoint: Option<&'static str>,
    stage: Option<String>,
    ready: bool,
    errors: bool,
    spoke: Tri,
    script_ok: Tri,
    busy: Tri,
    cpu_time: HashMap<i64, f64>,
    gpu_busy: Tri,
}

#[derive(Debug, Clone)]
struct Seen {
    signature: String,
    since: Micros,
    looks: i64,
}

impl State {
    /// Takes in a fact that speaks of this launch. True: it said something.
    pub(super) fn take(
        &mut self,
        fact: &Fact,
        (targets, target): (&Targets, &Target),
        line: &str,
        at: Micros,
    ) -> bool {
        let earlier = |pid: i64| targets.is_earlier(target, pid);
        match fact {
            Fact::ProcessLook(look) => self.process_look(look, target, &earlier),
            Fact::Process(process) => !earlier(process.pid) && self.process_seen(process),
            Fact::GpuProcess(process) => {
                let ours = process.pid.is_some_and(|pid| target.pids.contains(&pid));
                if ours {
                    self.running();
                }
                ours
            }
            Fact::Socket(socket) => {
                let ours = socket.pid.is_some_and(|pid| target.pids.contains(&pid));
                if ours {
                    self.running();
                }
                ours
            }
            Fact::GpuLook(look) => self.gpu(look),
            Fact::File(file) => self.file(file, target, line, at),
            Fact::LogLook(look) => self.log_look(look, line, at),
            Fact::Count(count) if count.pattern.is_none() && count.unit == "lines" => {
                let look = format!("{line}\ncount");
                self.mark(&look, format!("{} lines", count.count), at);
                if count.count == 0 {
                    self.log = Some("empty");
                }
                true
            }
            Fact::Progress(progress) if progress.old != Tri::Yes => self.progress(progress, at),
            Fact::Stage(stage) if stage.old != Tri::Yes => {
                self.ready = match stage.stage.as_str() {
                    "ready" | "listening" | "serving" => true,
                    "stopping" | "stopped" => false,
                    _ => self.ready,
                };
                self.stage = Some(stage.stage.clone());
                true
            }
            Fact::Line(entry) if entry.source == "log" && entry.old != Tri::Yes => {
                let bar = crate::probe::progress::is_progress(&entry.text);
                if !bar && !entry.text.starts_with("nohup: ") && !entry.text.trim().is_empty() {
                    self.spoke = Tri::Yes;
                }
                if !entry.benign
                    && !entry.quoted
                    && matches!(entry.level.as_str(), "error" | "fatal")
                {
                    self.errors = true;
                    return true;
                }
                false
            }
            Fact::Traceback(trace) if trace.old != Tri::Yes && !trace.quoted => {
                self.errors = true;
                true
            }
            Fact::NotRun(missing) if missing.old != Tri::Yes => {
                self.script_ok = Tri::No;
                true
            }
            Fact::Http(http) => self.http(http),
            _ => false,
        }
    }

    fn running(&mut self) {
        self.process = Some(true);
        self.was_running = true;
    }

    fn process_look(
        &mut self,
        look: &fact::ProcessLook,
        target: &Target,
        earlier: &dyn Fn(i64) -> bool,
    ) -> bool {
        if look.count > 0 {
            // Which of them is ours is said by the process facts; a bare count is taken as it is.
            let ours = look.pids.iter().any(|pid| target.pids.contains(pid));
            let newer = look.pids.iter().any(|pid| !earlier(*pid));
            if ours || look.pids.is_empty() || newer {
                self.running();
                return true;
            }
            let asked = target.pids.iter().any(|pid| look.asked_pids.contains(pid));
            // Whole command lines were searched, and what was found was there before.
            let others = look.full && look.pattern.is_some() && !look.cut && !look.everything;
            if (asked || others) && !look.pids.is_empty() {
                self.process = Some(false);
                return true;
            }
            return false;
        }
        if look.cut {
            return false;
        }
        self.process = Some(false);
        true
    }

    fn process_seen(&mut self, process: &fact::Process) -> bool {
        match process
            .state
            .as_deref()
            .and_then(|state| state.chars().next())
        {
            Some('Z' | 'X') => self.process = Some(false),
            _ => self.running(),
        }
        if let Some(now) = process.cpu_time_s {
            if let Some(before) = self.cpu_time.insert(process.pid, now) {
                self.busy = (now > before + 0.5).into();
            }
            if let Some(elapsed) = process.elapsed_s
                && elapsed > 10.0
            {
                self.busy = (now / elapsed > 0.3).into();
            }
        }
        if let Some(pct) = process.cpu_pct {
            if pct >= BUSY_PCT {
                self.busy = Tri::Yes;
            } else if pct < 2.0 && self.busy != Tri::Yes {
                self.busy = Tri::No;
            }
        }
        true
    }

    fn gpu(&mut self, look: &fact::GpuLook) -> bool {
        if let Some(util) = look.most_util_pct {
            self.gpu_busy = (util > 5.0).into();
        }
        let Some(used) = look.all_used_mib else {
            return look.most_util_pct.is_some();
        };
        self.gpu_before_mib = self.gpu_now_mib.replace(used);
        let idle = look.most_used_mib.unwrap_or(used) < GPU_IDLE_MIB;
        self.gpu_trend = Some(match self.gpu_before_mib {
            _ if idle => "idle",
            Some(before) if used > before + GPU_NOISE_MIB => "rising",
            Some(before) if used < before - GPU_NOISE_MIB => "falling",
            Some(_) => "steady",
            None => "unknown",
        });
        true
    }

    /// Notes what a look at the log showed; the same look showing the same counts.
    fn mark(&mut self, look: &str, signature: String, at: Micros) {
        let seen = self.seen.entry(look.to_owned()).or_insert_with(|| Seen {
            signature: String::new(),
            since: at,
            looks: 0,
        });
        if seen.signature == signature {
            seen.looks += 1;
            self.log_since = Some(
                self.log_since
                    .map_or(seen.since, |since| since.min(seen.since)),
            );
            self.log_looks = self.log_looks.max(seen.looks);
            if self.log != Some("stale") && self.log != Some("empty") && self.log != Some("absent")
            {
                self.log = Some("unchanged");
            }
        } else {
            let first = seen.looks == 0;
            *seen = Seen {
                signature,
                since: at,
                looks: 1,
            };
            if !first {
                // It moved: what other looks remember of it is over.
                let keep = look.to_owned();
                self.seen.retain(|key, _| *key == keep);
                self.log_since = Some(at);
                self.log_looks = 1;
                self.log = Some("fresh");
            } else {
                self.log_since.get_or_insert(at);
                self.log_looks = self.log_looks.max(1);
            }
        }
        self.log_looked = Some(at);
    }

    fn file(&mut self, file: &fact::File, target: &Target, line: &str, at: Micros) -> bool {
        let is_log = target
            .log
            .as_deref()
            .is_some_and(|log| fact::cover::same_path(log, &file.path));
        if !is_log {
            let bad = file.exists == Tri::No || file.size_bytes == Some(0);
            if bad {
                self.script_ok = Tri::No;
            } else if file.exists == Tri::Yes
                && file.size_bytes.is_some()
                && self.script_ok == Tri::Unknown
            {
                // Only what stands first on the line is executed; what an interpreter reads need not be.
                let direct = target.line.split_whitespace().next().is_some_and(|first| {
                    first.starts_with(['/', '.'])
                        && fact::cover::last_part(first) == fact::cover::last_part(&file.path)
                });
                self.script_ok = if direct && file.executable == Some(false) {
                    Tri::No
                } else {
                    Tri::Yes
                };
            }
            return true;
        }
        if file.exists == Tri::No {
            self.log = Some("absent");
            return true;
        }
        let signature = format!("{:?} {:?} {:?}", file.size_bytes, file.mtime_us, file.lines);
        if file.size_bytes.is_some() || file.mtime_us.is_some() || file.lines.is_some() {
            self.mark(&format!("{line}\nfile"), signature, at);
        }
        if file.size_bytes == Some(0) || file.lines == Some(0) {
            self.log = Some("empty");
        }
        true
    }

    /// The log is known to be an earlier run's.
    pub(super) fn stale(&mut self) {
        self.log = Some("stale");
    }

    fn log_look(&mut self, look: &fact::LogLook, line: &str, at: Micros) -> bool {
        self.mark(line, look.digest.clone(), at);
        if self.spoke == Tri::Unknown {
            self.spoke = Tri::No; // lines that come with this look turn it
        }
        if look.empty {
            self.log = Some("empty");
        } else if matches!(self.log, None | Some("empty" | "absent")) {
            self.log = Some("fresh");
        }
        true
    }

    fn progress(&mut self, progress: &fact::Progress, at: Micros) -> bool {
        let same = self.progress.as_ref().is_some_and(|before| {
            before.label == progress.label
                && (before.percent - progress.percent).abs() < f64::EPSILON
                && before.done == progress.done
        });
        if same {
            self.progress_state = Some(if progress.percent >= 100.0 {
                "done"
            } else {
                "still"
            });
        } else {
            self.progress_state = Some(match &self.progress {
                _ if progress.percent >= 100.0 => "done",
                Some(_) => "advancing",
                None => "unknown",
            });
            self.progress_since = Some(at);
        }
        self.progress = Some(progress.clone());
        true
    }

    fn http(&mut self, http: &fact::Http) -> bool {
        self.endpoint = Some(match http.status {
            Some(503) => "loading",
            Some(status) if (200..500).contains(&status) => "ready",
            Some(status) if status >= 500 => "error",
            _ => match http.outcome.as_str() {
                "ok" => "ready",
                "refused" => "refused",
                "timeout" => "timeout",
                _ => "error",
            },
        });
        true
    }

    /// The state as a fact.
    pub(super) fn fact(&self, launched: Micros, reached: Tri, at: Micros) -> fact::LaunchState {
        let still = |since: Option<Micros>| since.map(|since| at.seconds_since(since).max(0.0));
        fact::LaunchState {
            process: match self.process {
                Some(true) => "running",
                Some(false) => "absent",
                None => "unknown",
            }
            .to_owned(),
            was_running: self.was_running,
            gpu: self.gpu_trend.unwrap_or("unknown").to_owned(),
            log: self.log.unwrap_or("unknown").to_owned(),
            log_still_s: self.log_looked.and_then(|looked| {
                self.log_since
                    .map(|since| looked.seconds_since(since).max(0.0))
            }),
            log_still_looks: self.log_looks,
            progress: match (&self.progress, self.progress_state) {
                (None, _) => "none",
                (_, Some(state)) => state,
                _ => "unknown",
            }
            .to_owned(),
            percent: self.progress.as_ref().map(|progress| progress.percent),
            progress_still_s: still(self.progress_since),
            missed_units: self.progress.as_ref().and_then(|progress| {
                let still_s = at.seconds_since(self.progress_since?).max(0.0);
                progress.rate_per_s.map(|rate| rate * still_s)
            }),
            spoke: self.spoke,
            endpoint: self.endpoint.unwrap_or("unknown").to_owned(),
            stage: self.stage.clone(),
            ready: (self.ready || self.endpoint == Some("ready")) && self.process != Some(false),
            errors: self.errors,
            age_s: at.seconds_since(launched),
            reached,
            script_ok: self.script_ok,
            busy: self.busy,
            gpu_busy: self.gpu_busy,
        }
    }
}
