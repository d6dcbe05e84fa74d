//! Hand-made timelines, and what playbooks find in them.

mod differential;
mod errors;
mod expressions;
mod metamorphic;
mod operators;
mod oracle;
mod properties;
mod random;
mod schema;
mod shipped;

use std::collections::BTreeMap;

use super::{Firing, Matches, Playbook, load, run};
use crate::event::{Exit, Stream};
use crate::fact::{self, Fact};
use crate::id::CommandId;
use crate::shell::{Tree, Tri};
use crate::time::Micros;
use crate::timeline::{Command, Entry, LaunchRecord, Timeline};

/// A timeline made by hand, entry by entry.
#[derive(Clone, Default)]
pub(super) struct Made {
    pub(super) timeline: Timeline,
    host: String,
    container: Option<String>,
    launch: Option<usize>,
}

impl Made {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// A command at that second on that host; facts that follow are its own.
    pub(super) fn command(&mut self, at_s: i64, host: &str) -> &mut Self {
        let at = Micros(at_s * 1_000_000);
        host.clone_into(&mut self.host);
        self.container = None;
        self.timeline.commands.push(Command {
            id: CommandId::new(),
            number: u32::try_from(self.timeline.commands.len() + 1).unwrap(),
            line: format!("look {at_s}"),
            host: "laptop".to_owned(),
            at,
            took_s: Some(0.0),
            exit: Exit::Code(0),
            tree: Tree::default(),
            facts: Vec::new(),
            stdout_bytes: 0,
            stderr_bytes: 0,
            tty_bytes: 0,
        });
        self.timeline.as_of = at;
        self
    }

    pub(super) fn within(&mut self, container: &str) -> &mut Self {
        self.container = Some(container.to_owned());
        self
    }

    /// A fact read from the command's output.
    pub(super) fn shows(&mut self, fact: impl Into<Fact>) -> usize {
        self.add(fact.into(), Some(Stream::Stdout))
    }

    /// A fact of the command line or of the timeline.
    pub(super) fn says(&mut self, fact: impl Into<Fact>) -> usize {
        self.add(fact.into(), None)
    }

    /// A launch: what follows belongs to it.
    pub(super) fn launches(&mut self, launch: fact::Launch) -> usize {
        let number = self.timeline.launches.len();
        if let Some(before) = self.timeline.launches.last_mut() {
            before.epoch_end = self.timeline.entries.len();
        }
        self.launch = Some(number);
        let entry = self.says(launch);
        self.timeline.launches.push(LaunchRecord {
            command: self.timeline.commands.len() - 1,
            entry,
            host: self.host.clone(),
            container: self.container.clone(),
            epoch_end: usize::MAX,
            state: None,
        });
        entry
    }

    fn add(&mut self, fact: Fact, stream: Option<Stream>) -> usize {
        let command = self.timeline.commands.len() - 1;
        let at = self.timeline.commands[command].at;
        let invocation = (!matches!(fact, Fact::Exit(_))).then_some(0);
        self.timeline.entries.push(Entry {
            command,
            fact,
            host: self.host.clone(),
            container: self.container.clone(),
            invocation,
            stream,
            from: 0,
            to: 0,
            launch: self.launch,
            at,
            known: at,
        });
        self.timeline.entries.len() - 1
    }

    pub(super) fn run(&self, playbook: &Playbook) -> Matches {
        run(std::slice::from_ref(playbook), &self.timeline)
    }

    pub(super) fn firings(&self, playbook: &Playbook) -> Vec<Firing> {
        self.run(playbook).firings
    }

    pub(super) fn fires(&self, playbook: &Playbook) -> bool {
        !self.firings(playbook).is_empty()
    }
}

/// A playbook with that scope and `when`; the rest is there to load.
pub(super) fn playbook(scope: &str, when: &str) -> Playbook {
    playbook_with(scope, when, "")
}

pub(super) fn playbook_with(scope: &str, when: &str, more: &str) -> Playbook {
    let indented = |text: &str| {
        let lines = text.trim_matches('\n').lines();
        lines.map(|line| format!("  {line}\n")).collect::<String>()
    };
    let text = format!(
        "id: made\nversion: 1\nkind: made.up\nseverity: high\nscope: {scope}\ntitle: made\nwhen:\n{}{more}",
        indented(when)
    );
    load("made.yaml", &text).unwrap_or_else(|faults| panic!("{faults:#?}\n{text}"))
}

pub(super) fn file(path: &str, exists: Tri) -> fact::File {
    fact::File {
        path: path.to_owned(),
        exists,
        ..Default::default()
    }
}

pub(super) fn line(text: &str) -> fact::Line {
    fact::Line {
        path: "/srv/run.log".to_owned(),
        text: text.to_owned(),
        ..Default::default()
    }
}

pub(super) fn log(path: &str, digest: &str) -> fact::LogLook {
    fact::LogLook {
        path: path.to_owned(),
        digest: digest.to_owned(),
        ..Default::default()
    }
}

pub(super) fn gpu(index: i64, used: f64) -> fact::Gpu {
    fact::Gpu {
        index: Some(index),
        memory_used_mib: Some(used),
        ..Default::default()
    }
}

pub(super) fn look(pattern: &str, count: i64) -> fact::ProcessLook {
    fact::ProcessLook {
        pattern: Some(pattern.to_owned()),
        full: true,
        count,
        ..Default::default()
    }
}

pub(super) fn process(pid: i64, state: Option<&str>) -> fact::Process {
    fact::Process {
        pid,
        state: state.map(str::to_owned),
        ..Default::default()
    }
}

pub(super) fn launch(log: &str) -> fact::Launch {
    fact::Launch {
        program: "serve".to_owned(),
        line: "serve".to_owned(),
        log: Some(log.to_owned()),
        ..Default::default()
    }
}

pub(super) fn bindings(pairs: &[(&str, usize)]) -> BTreeMap<String, usize> {
    let owned = pairs.iter().map(|(name, at)| ((*name).to_owned(), *at));
    owned.collect()
}
