//! Which lines of a log belong to an earlier run than the newest launch into it.
//!
//! A launch that truncates its log makes everything in it new; one that was never reached leaves
//! everything in it old. A log that is appended to holds both: the run begins at the first line
//! that was not there before, or that carries the launch's process id, or that starts anew.

use std::collections::{HashMap, HashSet};

use crate::fact::Fact;
use crate::fact::cover::{last_part, same_path};
use crate::shell::Tri;

use super::tie::Target;

/// The log that one put aside is named after: of `x.log.1`, `x.log.2.gz`, `x.log-20261129` and
/// `x.log.old` it is `x.log`.
pub(super) fn put_aside_from(path: &str) -> Option<&str> {
    let packed = [".gz", ".xz", ".zst", ".bz2", ".Z"];
    let path = packed
        .iter()
        .find_map(|end| path.strip_suffix(end))
        .unwrap_or(path);
    let named = [".old", ".bak", ".prev", ".previous", ".save", "~"];
    if let Some(log) = named.iter().find_map(|end| path.strip_suffix(end)) {
        return Some(log).filter(|log| !log.ends_with('/'));
    }
    let at = path.rfind(['.', '-'])?;
    // `x.log.2026-11-29`: the day has dashes of its own.
    let at = path
        .get(..at)
        .filter(|head| head.len() > 10 && path.as_bytes().get(at) == Some(&b'-'))
        .and_then(|_| path.len().checked_sub(11))
        .filter(|start| {
            path.get(*start..).is_some_and(|end| {
                end.starts_with(['.', '-'])
                    && (end.bytes().skip(1)).all(|byte| byte.is_ascii_digit() || byte == b'-')
            })
        })
        .unwrap_or(at);
    let (log, end) = (path.get(..at)?, path.get(at + 1..)?);
    let counted = end
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    let day = end.len() == 8 || end.len() == 10;
    let dashed = path.as_bytes().get(at) == Some(&b'-');
    let fits = counted && (day || !dashed && (1..=2).contains(&end.len()));
    (fits && !log.is_empty() && !log.ends_with('/')).then_some(log)
}

/// What is remembered of a log between looks.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// Texts seen in it before the launch.
    before: HashSet<String>,
    /// Texts seen in it since.
    since: HashSet<String>,
}

impl Memory {
    /// A new launch writes into this log: what was seen so far is from before.
    pub(super) fn relaunched(&mut self) {
        self.before.extend(self.since.drain());
    }

    /// Remembers a line.
    pub(super) fn note(&mut self, fact: &Fact) {
        if let Fact::Line(line) = fact {
            self.since.insert(line.text.clone());
        }
    }
}

/// What is remembered of the logs of all hosts.
#[derive(Debug, Default)]
pub(super) struct Logs {
    /// By host and the last part of the path; each with the path it was written as first.
    known: HashMap<String, HashMap<String, Vec<(String, Memory)>>>,
}

impl Logs {
    fn named(&mut self, host: &str, path: &str) -> &mut Vec<(String, Memory)> {
        let on_host = self.known.entry(host.to_owned()).or_default();
        on_host.entry(last_part(path).to_owned()).or_default()
    }

    /// What is remembered of the log written so.
    pub(super) fn at(&mut self, host: &str, path: &str) -> &mut Memory {
        self.find(host, path, &|known| known == path)
    }

    /// What is remembered of the log written so, or in a way that may be the same.
    pub(super) fn like(&mut self, host: &str, path: &str) -> &mut Memory {
        self.find(host, path, &|known| same_path(known, path))
    }

    fn find(&mut self, host: &str, path: &str, is: &dyn Fn(&str) -> bool) -> &mut Memory {
        let named = self.named(host, path);
        let place = named.iter().position(|(known, _)| is(known));
        let place = place.unwrap_or_else(|| {
            named.push((path.to_owned(), Memory::default()));
            named.len() - 1
        });
        &mut named[place].1
    }

    /// A new launch writes into a log.
    pub(super) fn relaunched(&mut self, host: &str, path: &str) {
        for (known, memory) in self.named(host, path) {
            if same_path(known, path) {
                memory.relaunched();
            }
        }
    }
}

/// How the newest launch treats its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    /// It never started: all of it is old.
    NotReached,
    /// It truncated the log: all of it is its own.
    Truncated,
    /// It appends.
    Appends,
}

/// The first line's ordinal that belongs to the newest run, among the lines one look showed.
///
/// `None` when it cannot be told: then nothing is called old that was not seen before.
pub(super) fn first_own(facts: &[&Fact], memory: &Memory, target: &Target) -> Option<i64> {
    let mut own = None;
    for fact in facts {
        let (ordinal, text) = match fact {
            Fact::Line(line) => (line.ordinal, line.text.as_str()),
            _ => continue,
        };
        let carries_pid = target
            .pids
            .iter()
            .any(|pid| text.contains(&format!("[{pid}]")) || text.contains(&format!("pid={pid}")));
        if carries_pid {
            own = Some(own.map_or(ordinal, |known: i64| known.min(ordinal)));
        }
    }
    if own.is_some() {
        return own;
    }
    // Lines never seen before this launch, after ones that were.
    let mut last_known = None;
    for fact in facts {
        if let Fact::Line(line) = fact
            && memory.before.contains(&line.text)
        {
            last_known =
                Some(last_known.map_or(line.ordinal, |known: i64| known.max(line.ordinal)));
        }
    }
    last_known.map(|known| known + 1)
}

/// Marks a fact of a log as old or not.
pub(super) fn mark(fact: &mut Fact, run: Run, own_from: Option<i64>, memory: &Memory) {
    let verdict = |ordinal: Option<i64>, text: Option<&str>| match run {
        Run::NotReached => Tri::Yes,
        Run::Truncated => Tri::No,
        Run::Appends => match (own_from, ordinal) {
            (Some(from), Some(ordinal)) => (ordinal < from).into(),
            _ if text.is_some_and(|text| memory.before.contains(text)) => Tri::Yes,
            _ => Tri::Unknown,
        },
    };
    match fact {
        Fact::Line(line) => line.old = verdict(Some(line.ordinal), Some(&line.text)),
        Fact::Traceback(trace) => trace.old = verdict(Some(trace.ordinal), None),
        Fact::Progress(progress) => progress.old = verdict(None, None),
        Fact::Stage(stage) => stage.old = verdict(None, Some(&stage.text)),
        Fact::NotRun(missing) if !missing.path.is_empty() => {
            missing.old = verdict(None, Some(&missing.text));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::put_aside_from;

    #[test]
    fn a_log_put_aside_is_named_after_the_log() {
        for (path, log) in [
            ("/srv/a/job.out.1", Some("/srv/a/job.out")),
            ("/srv/a/job.log.2.gz", Some("/srv/a/job.log")),
            ("job.log-20261129", Some("job.log")),
            ("job.log.2026-11-29", Some("job.log")),
            ("job.log-2026-11-29.zst", Some("job.log")),
            ("job.log.old", Some("job.log")),
            ("job.log", None),
            ("app-3.log", None),
            ("worker-12", None),
            ("/srv/a/1", None),
            ("libx.so.1234", None),
        ] {
            assert_eq!(put_aside_from(path), log, "{path}");
        }
    }
}
