//! Folds commands, one after the other, into entries, launches and their states.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::fact::cover::same_path;
use crate::fact::{self, Fact};
use crate::shell::{RedirectTo, Tree, Tri};
use crate::time::Micros;

use super::old::{self, Logs, Run};
use super::places::Places;
use super::state::State;
use super::targets::Targets;
use super::tie::{self, Target, plain_pattern};
use super::{Command, Entry, LaunchRecord, Timeline, line};

/// Seconds by which a log's age must exceed its launch's before it is called stale: a dying server
/// still writes its farewell, and clocks are read a moment apart.
const STALE_MARGIN_S: f64 = 5.0;

/// Seconds from a launch within which no log of its own is taken to have been put aside.
const PUT_ASIDE_S: f64 = 600.0;

/// What has been folded so far.
#[derive(Default)]
pub(super) struct Builder {
    entries: Vec<Entry>,
    launches: Vec<LaunchRecord>,
    targets: Targets,
    states: Vec<State>,
    logs: Logs,
    /// Logs of which the command at hand showed nothing but lines of an earlier run.
    all_old: HashSet<(String, String)>,
    /// How far a host's clock is ahead of the recorder's, in microseconds, as a look at it showed.
    clocks: HashMap<String, i64>,
}

impl Builder {
    /// Folds a command in.
    pub(super) fn command(&mut self, index: usize, command: &Command) {
        let of_line = line::facts(command);
        for one in of_line {
            self.line_fact(index, command, one);
        }
        let ages = file_ages(command, &self.clocks);
        for observed in &command.facts {
            if let Fact::Clock(clock) = &observed.fact
                && !clock.day_unknown
            {
                let host = line::observed_host(command, observed).to_owned();
                self.clocks.insert(host, clock.time_us - command.at.0);
            }
        }
        let mut touched: BTreeMap<usize, ()> = BTreeMap::new();
        let facts = self.output_entries(index, command, &ages);
        for entry in &facts {
            if let Fact::Process(process) = &entry.fact
                && let Some(age) = process.elapsed_s
                && command.took_s.is_some()
            {
                #[expect(clippy::cast_possible_truncation, reason = "seconds to microseconds")]
                let age_us = (age * 1e6) as i64;
                let by = command.ended().plus_us(-age_us);
                self.targets.had_begun(&entry.host, process.pid, by);
            }
        }
        for mut entry in facts {
            entry.launch = tie::owner(
                &self.targets,
                &entry.fact,
                &entry.host,
                entry.container.as_deref(),
            );
            if self.tell_launch(&entry, command) {
                touched.extend(entry.launch.map(|launch| (launch, ())));
            }
            self.learn(&entry);
            self.judge_staleness(&entry, command, &mut touched);
            self.entries.push(entry);
        }
        self.entries.push(Entry {
            command: index,
            fact: line::exit(command).into(),
            host: command.target_host().to_owned(),
            container: None,
            invocation: None,
            stream: None,
            from: 0,
            to: 0,
            // Launches are in the order of their commands.
            launch: (self.launches.last())
                .filter(|launch| launch.command == index)
                .map(|_| self.launches.len() - 1),
            at: command.at,
            known: command.ended(),
        });
        for launch in touched.into_keys() {
            self.push_state(launch, index, command);
        }
    }

    /// Tells a fact to the launch that it speaks of. True: it said something of its state.
    fn tell_launch(&mut self, entry: &Entry, command: &Command) -> bool {
        let Some(launch) = entry.launch else {
            return false;
        };
        // What the launching command itself printed says little of how the launch stands.
        let own = entry.command == self.launches[launch].command;
        let telling = matches!(
            entry.fact,
            Fact::NotRun(_) | Fact::Traceback(_) | Fact::Stage(_)
        );
        if own && !telling {
            return false;
        }
        let Some(target) = self.targets.get(launch) else {
            return false;
        };
        let place = (&self.targets, target);
        self.states[launch].take(&entry.fact, place, &command.line, command.at)
    }

    fn push_state(&mut self, launch: usize, index: usize, command: &Command) {
        let record = &self.launches[launch];
        let Fact::Launch(launched) = &self.entries[record.entry].fact else {
            return;
        };
        let since = self.entries[record.entry].at;
        let fact = self.states[launch].fact(since, launched.reached, command.at);
        self.launches[launch].state = Some(self.entries.len());
        self.entries.push(Entry {
            command: index,
            fact: fact.into(),
            host: self.launches[launch].host.clone(),
            container: self.launches[launch].container.clone(),
            invocation: None,
            stream: None,
            from: 0,
            to: 0,
            launch: Some(launch),
            at: command.at,
            known: command.ended(),
        });
    }

    fn line_fact(&mut self, index: usize, command: &Command, one: line::OfLine) {
        let invocation = one
            .invocation
            .and_then(|at| command.tree.invocations.get(at));
        let host = invocation
            .and_then(|invocation| invocation.place.host.clone())
            .unwrap_or_else(|| command.host.clone());
        let container = invocation.and_then(|invocation| invocation.place.container.clone());
        match &one.fact {
            Fact::Kill(kill) => self.end_epochs(kill, &host),
            Fact::Launch(launch) => {
                self.launch(
                    index,
                    launch,
                    host.clone(),
                    container.clone(),
                    command,
                    one.invocation,
                );
            }
            _ => {}
        }
        let launch = match &one.fact {
            Fact::Launch(_) => self.launches.len().checked_sub(1),
            _ => None,
        };
        self.entries.push(Entry {
            command: index,
            fact: one.fact,
            host,
            container,
            invocation: one.invocation,
            stream: None,
            from: 0,
            to: 0,
            launch,
            at: command.at,
            known: command.at,
        });
    }

    /// A kill after a launch that was meant for it ends its epoch.
    fn end_epochs(&mut self, kill: &fact::Kill, host: &str) {
        let here = self.entries.len();
        let meant = |target: &Target| {
            kill.pids.iter().any(|pid| target.pids.contains(pid))
                || kill
                    .pattern
                    .as_deref()
                    .is_some_and(|pattern| target.is_pattern(pattern))
        };
        for launch in self.targets.end(host, meant) {
            self.launches[launch].epoch_end = here;
        }
    }

    fn launch(
        &mut self,
        index: usize,
        launch: &fact::Launch,
        host: String,
        container: Option<String>,
        command: &Command,
        invocation: Option<usize>,
    ) {
        let here = self.entries.len();
        let relaunched = |target: &Target| {
            let same_log = match (&launch.log, &target.log) {
                (Some(one), Some(other)) => same_path(one, other),
                _ => false,
            };
            let same_script = launch.script.is_some() && launch.script == target.script;
            let same_port = launch.port.is_some() && launch.port == target.port;
            same_log || same_port || (same_script && launch.line == target.line)
        };
        for before in self.targets.end(&host, relaunched) {
            self.launches[before].epoch_end = here;
        }
        if let Some(log) = &launch.log {
            self.logs.relaunched(&host, log);
        }
        self.targets.add(Target {
            at: command.at,
            seen_before: 0,
            host: host.clone(),
            container: container.clone(),
            line: launch.line.clone(),
            program: launch.program.clone(),
            script: launch.script.clone(),
            log: launch.log.clone(),
            port: launch.port,
            pids: launch.pid.into_iter().collect(),
            aliases: aliases(&command.tree, invocation, launch.script.as_deref()),
            over: false,
        });
        self.states.push(State::default());
        self.launches.push(LaunchRecord {
            command: index,
            entry: here,
            host,
            container,
            epoch_end: usize::MAX,
            state: None,
        });
    }

    /// The entries of a command's output, logs marked old or not.
    fn output_entries(
        &mut self,
        index: usize,
        command: &Command,
        ages: &HashMap<usize, f64>,
    ) -> Vec<Entry> {
        let mut own_from: HashMap<(String, String), Option<i64>> = HashMap::new();
        let never_ran = line::never_ran(command);
        let mut out = Vec::with_capacity(command.facts.len());
        let mut lines: HashMap<(String, String), bool> = HashMap::new();
        for (place, observed) in command.facts.iter().enumerate() {
            let silent = observed.from == observed.to;
            if silent && (observed.invocation).is_some_and(|at| never_ran.contains(&at)) {
                continue; // silence of what was never reached says nothing
            }
            let host = line::observed_host(command, observed).to_owned();
            let mut fact = observed.fact.clone();
            if let (Fact::File(file), Some(age)) = (&mut fact, ages.get(&place)) {
                file.age_s = Some(*age);
            }
            if let Some(path) = tie::path_of(&fact)
                .filter(|path| !path.is_empty())
                .map(str::to_owned)
            {
                self.mark_old(&mut fact, &host, &path, command, &mut own_from);
                if let Fact::Line(line) = &fact {
                    let old = lines.entry((host.clone(), path)).or_insert(true);
                    *old = *old && line.old == Tri::Yes;
                }
            }
            out.push(Entry {
                command: index,
                fact,
                container: observed.place.container.clone(),
                host,
                invocation: observed.invocation,
                stream: observed.stream,
                from: observed.from,
                to: observed.to,
                launch: None,
                at: command.at,
                known: command.ended(),
            });
        }
        self.all_old = lines
            .into_iter()
            .filter(|(_, old)| *old)
            .map(|(log, _)| log)
            .collect();
        out
    }

    fn mark_old(
        &mut self,
        fact: &mut Fact,
        host: &str,
        path: &str,
        command: &Command,
        own_from: &mut HashMap<(String, String), Option<i64>>,
    ) {
        let newest = self.targets.by_log(host, path).next_back();
        let Some((launch, target)) = newest else {
            let memory = self.logs.at(host, path);
            memory.note(fact);
            if self.is_put_aside(host, path, command) {
                old::mark(fact, Run::NotReached, None, &old::Memory::default());
            }
            return;
        };
        let Fact::Launch(launched) = &self.entries[self.launches[launch].entry].fact else {
            return;
        };
        let run = match (launched.reached, launched.log_append) {
            (Tri::No, _) => Run::NotReached,
            (_, true) => Run::Appends,
            (Tri::Yes, false) => Run::Truncated,
            // Perhaps it never ran: then what the log shows says which it was.
            (Tri::Unknown, false) => Run::Appends,
        };
        let memory = self.logs.like(host, path);
        let from = *own_from
            .entry((host.to_owned(), path.to_owned()))
            .or_insert_with(|| {
                let of_path: Vec<&Fact> = command
                    .facts
                    .iter()
                    .map(|observed| &observed.fact)
                    .filter(|fact| tie::path_of(fact).is_some_and(|other| other == path))
                    .collect();
                old::first_own(&of_path, memory, target)
            });
        old::mark(fact, run, from, memory);
        memory.note(fact);
    }

    /// Whether a log was put aside (`x.log.1`, `x.log-20261129`) before the newest launch into the
    /// log it is named after: a run that began minutes ago has not filled and left one yet.
    fn is_put_aside(&self, host: &str, path: &str, command: &Command) -> bool {
        old::put_aside_from(path).is_some_and(|log| {
            self.targets
                .by_log(host, log)
                .next_back()
                .is_some_and(|(launch, _)| {
                    let at = self.entries[self.launches[launch].entry].at;
                    command.at.seconds_since(at) < PUT_ASIDE_S
                })
        })
    }

    /// Learns what later facts may be tied by: process ids seen for a launch, ports its log names.
    fn learn(&mut self, entry: &Entry) {
        if let Fact::Process(process) = &entry.fact {
            self.targets.saw(&entry.host, process.pid);
        }
        let Some(launch) = entry.launch else { return };
        let Some(target) = self.targets.get(launch) else {
            return;
        };
        match &entry.fact {
            Fact::Process(process) if !self.targets.is_earlier(target, process.pid) => {
                let args = process.args.as_deref();
                self.targets.is_process_of(launch, process.pid, args);
            }
            Fact::Stage(stage) if target.port.is_none() && stage.old != Tri::Yes => {
                if let Some(port) = port_in(&stage.text) {
                    self.targets.listens_on(launch, port);
                }
            }
            _ => {}
        }
    }

    /// A log whose last write is older than its launch is an earlier run's.
    fn judge_staleness(
        &mut self,
        entry: &Entry,
        command: &Command,
        touched: &mut BTreeMap<usize, ()>,
    ) {
        let Some(launch) = entry.launch else { return };
        let launched = self.launches[launch].entry;
        let Fact::Launch(fact) = &self.entries[launched].fact else {
            return;
        };
        let since_launch = command.at.seconds_since(self.entries[launched].at);
        let stale = match &entry.fact {
            Fact::File(file) => {
                let is_log = fact
                    .log
                    .as_deref()
                    .is_some_and(|log| same_path(log, &file.path));
                is_log
                    && file
                        .age_s
                        .is_some_and(|age| age > since_launch + STALE_MARGIN_S)
            }
            Fact::LogLook(look) => {
                fact.reached == Tri::No
                    || self
                        .all_old
                        .contains(&(entry.host.clone(), look.path.clone()))
            }
            _ => false,
        };
        if stale {
            self.states[launch].stale();
            touched.insert(launch, ());
        }
    }

    /// Ends the fold: kills are judged by what was seen after them.
    pub(super) fn finish(mut self, commands: Vec<Command>, as_of: Micros) -> Timeline {
        let places = Places::new(&self.entries);
        let verdicts: Vec<(usize, Tri)> = self
            .entries
            .iter()
            .enumerate()
            .filter_map(|(at, entry)| match &entry.fact {
                Fact::Kill(kill) => Some((at, places.kill_worked(at, entry, kill))),
                _ => None,
            })
            .collect();
        for (at, verdict) in verdicts {
            if let Fact::Kill(kill) = &mut self.entries[at].fact {
                kill.effective = verdict;
            }
        }
        let end = self.entries.len();
        for launch in &mut self.launches {
            launch.epoch_end = launch.epoch_end.min(end);
        }
        Timeline {
            commands,
            entries: self.entries,
            launches: self.launches,
            postconditions: Vec::new(),
            as_of,
        }
    }
}

/// Texts that stand for a launch: the body of the script written in the same command, and the
/// patterns it kills by.
fn aliases(tree: &Tree, invocation: Option<usize>, script: Option<&str>) -> Vec<String> {
    let mut out = Vec::new();
    for write in &tree.writes {
        let path = write.resolved.as_deref().unwrap_or(&write.path);
        if script.is_none_or(|script| same_path(script, path)) {
            let body = tree
                .invocations
                .get(write.invocation)
                .into_iter()
                .flat_map(|writer| {
                    writer
                        .redirects
                        .iter()
                        .filter_map(|redirect| match &redirect.to {
                            RedirectTo::Text { body, .. } => Some(body.clone()),
                            _ => None,
                        })
                });
            out.extend(body.flat_map(|body| body.lines().map(str::to_owned).collect::<Vec<_>>()));
        }
    }
    let before =
        |kill: &&crate::shell::Kill| invocation.is_none_or(|launch| kill.invocation < launch);
    out.extend(
        tree.kills
            .iter()
            .filter(before)
            .filter_map(|kill| kill.pattern.as_deref().map(plain_pattern)),
    );
    out.retain(|text| text.trim().len() > 3 && !text.starts_with("#!"));
    out
}

/// The port a start-up line names (`listening on 8081`, `http://0.0.0.0:8000`).
fn port_in(text: &str) -> Option<i64> {
    // `{"pid":3106,"port":7080,"msg":"listening"}`: other numbers stand behind a colon too.
    if let Some((_, rest)) = text.split_once("\"port\":") {
        let digits = rest.trim_start_matches([' ', '"']);
        let end = digits.find(|letter: char| !letter.is_ascii_digit());
        let port = digits.get(..end.unwrap_or(digits.len()))?.parse::<u16>();
        return port.ok().map(i64::from);
    }
    let bytes = text.as_bytes();
    let mut found = None;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at].is_ascii_digit() {
            let start = at;
            while at < bytes.len() && bytes[at].is_ascii_digit() {
                at += 1;
            }
            let before = text[..start].trim_end_matches(['\'', '"']);
            let named = before.ends_with(':')
                || before.trim_end().ends_with("port")
                || before.trim_end().ends_with(" on");
            let after = bytes.get(at).copied().unwrap_or(b' ');
            if named
                && !matches!(after, b'.' | b':')
                && let Ok(port) = text[start..at].parse::<u16>()
                && port > 79
            {
                found = Some(i64::from(port));
            }
        } else {
            at += 1;
        }
    }
    found
}

/// A time of day that differs from the recorder's by less than this is taken as of the same day.
const SAME_CLOCK_US: i64 = 15 * 60 * 1_000_000;
const DAY_US: i64 = 86_400 * 1_000_000;

/// Ages of files at the time of the look, where the host's clock is known: the same command showed
/// it, or an earlier one did and told how far it is ahead.
fn file_ages(command: &Command, clocks: &HashMap<String, i64>) -> HashMap<usize, f64> {
    let mut now: HashMap<&str, i64> = HashMap::new();
    for observed in &command.facts {
        let Fact::Clock(clock) = &observed.fact else {
            continue;
        };
        let host = line::observed_host(command, observed);
        if !clock.day_unknown {
            now.insert(host, clock.time_us);
        } else if !now.contains_key(host) {
            // `date +%T`: of the day on which it is nearest to the recorder's clock. A host that
            // prints another zone's time does not come near.
            let day = command.at.0.div_euclid(DAY_US) * DAY_US;
            let nearest = [-DAY_US, 0, DAY_US]
                .into_iter()
                .map(|shift| day + shift + clock.time_us)
                .min_by_key(|one| one.abs_diff(command.at.0));
            if let Some(nearest) = nearest
                && nearest.abs_diff(command.at.0) < SAME_CLOCK_US.unsigned_abs()
            {
                now.insert(host, nearest);
            }
        }
    }
    command
        .facts
        .iter()
        .enumerate()
        .filter_map(|(place, observed)| match &observed.fact {
            Fact::File(file) => {
                let host = line::observed_host(command, observed);
                let ahead = || clocks.get(host).map(|ahead| command.at.0 + ahead);
                let now = now.get(host).copied().or_else(ahead)?;
                let written = Micros(file.mtime_us?);
                Some((place, Micros(now).seconds_since(written)))
            }
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_from_start_up_lines() {
        assert_eq!(port_in("badge listening on 8081"), Some(8081));
        assert_eq!(
            port_in("Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C)"),
            Some(8000)
        );
        assert_eq!(port_in("serving on :9019"), Some(9019));
        assert_eq!(
            port_in(r#"{"port":7080,"pid":3106,"msg":"listening"}"#),
            Some(7080)
        );
        assert_eq!(port_in("2026-11-30 10:42:52 loaded 80 layers"), None);
    }

    /// What a launch of `tiles.py` comes to after a look at the processes.
    fn process_after(look: &str) -> String {
        let step = |at: f64, command: &str, stdout: &str| crate::playbook::CaseStep {
            at,
            took: Some(0.3),
            command: command.to_owned(),
            exit: Some(crate::playbook::steps::CaseExit::Code(0)),
            stdout: Some(stdout.to_owned()),
            ..crate::playbook::CaseStep::default()
        };
        let steps = [
            step(
                0.0,
                "ssh t3 'nohup python3 tiles.py --data v9 > tiles.log 2>&1 & echo ok'",
                "ok\n",
            ),
            step(
                9.0,
                "ssh t3 'ps -eo pid,etimes,args | grep [t]iles.py'",
                look,
            ),
        ];
        let commands = crate::playbook::steps::commands(&steps, crate::time::Micros(0));
        let timeline = crate::timeline::build(commands, crate::time::Micros(9_300_000));
        let states = timeline.entries.iter().rev();
        let mut states = states.filter_map(|entry| match &entry.fact {
            Fact::LaunchState(state) => Some(state.process.clone()),
            _ => None,
        });
        states.next().unwrap_or_default()
    }

    #[test]
    fn a_process_older_than_a_launch_is_none_of_it() {
        let old = "     91    8123 python3 tiles.py --data v8\n";
        assert_eq!(process_after(old), "absent");
        let new = "    411       9 python3 tiles.py --data v9\n";
        assert_eq!(process_after(new), "running");
        assert_eq!(process_after(&format!("{old}{new}")), "running");
    }
}
