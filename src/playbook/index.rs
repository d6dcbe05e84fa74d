//! Entries by fact type, and by type and command, launch or host: what a step has to look through.

use std::collections::HashMap;

use crate::fact::FactType;
use crate::timeline::Timeline;

#[derive(Debug, Default)]
pub(super) struct Index<'t> {
    by_type: HashMap<&'static str, Vec<usize>>,
    by_command: HashMap<(&'static str, usize), Vec<usize>>,
    by_launch: HashMap<(&'static str, usize), Vec<usize>>,
    by_host: HashMap<(&'static str, &'t str), Vec<usize>>,
}

/// The smallest list of an index that holds all that a step may match.
#[derive(Debug, Clone, Copy)]
pub(super) enum Within<'a> {
    Session,
    Command(usize),
    Launch(usize),
    Host(&'a str),
}

impl<'t> Index<'t> {
    pub(super) fn new(timeline: &'t Timeline) -> Self {
        let mut index = Self::default();
        for (at, entry) in timeline.entries.iter().enumerate() {
            let name = entry.fact.name();
            index.by_type.entry(name).or_default().push(at);
            let command = (name, entry.command);
            index.by_command.entry(command).or_default().push(at);
            let host = (name, entry.host.as_str());
            index.by_host.entry(host).or_default().push(at);
            if let Some(launch) = entry.launch {
                index.by_launch.entry((name, launch)).or_default().push(at);
            }
        }
        index
    }

    /// Entries of a type, in order.
    pub(super) fn entries<'s>(&'s self, fact: &FactType, within: Within<'s>) -> &'s [usize] {
        self.named(fact.name, within)
    }

    pub(super) fn named<'s>(&'s self, fact: &'static str, within: Within<'s>) -> &'s [usize] {
        let found = match within {
            Within::Session => self.by_type.get(fact),
            Within::Command(command) => self.by_command.get(&(fact, command)),
            Within::Launch(launch) => self.by_launch.get(&(fact, launch)),
            Within::Host(host) => self.by_host.get(&(fact, host)),
        };
        found.map_or(&[], Vec::as_slice)
    }
}
