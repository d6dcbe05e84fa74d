//! Entries by host and by what they speak of: where it is looked up whether something became true.

use std::collections::HashMap;

use super::Entry;
use super::tie::plain_pattern;
use crate::fact::cover::{Subject, last_part};
use crate::fact::{self, Fact};
use crate::shell::Tri;

/// What an entry speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Topic<'a> {
    /// Processes, and launches of them.
    Process,
    /// A file, by the last part of its path.
    File(&'a str),
    /// Ports and who answers there.
    Port,
    /// Services.
    Unit,
    /// Containers.
    Container,
    /// Pods.
    Pod,
    /// File systems.
    Disk,
    /// Versions of what is installed.
    Version,
}

impl<'a> Topic<'a> {
    fn of(fact: &'a Fact) -> Option<Self> {
        Some(match fact {
            Fact::Process(_) | Fact::ProcessLook(_) | Fact::Launch(_) => Self::Process,
            Fact::File(file) => Self::File(last_part(&file.path)),
            Fact::LogLook(look) => Self::File(last_part(&look.path)),
            Fact::Socket(_) | Fact::PortLook(_) | Fact::Http(_) => Self::Port,
            Fact::Unit(_) => Self::Unit,
            Fact::Container(_) => Self::Container,
            Fact::Pod(_) => Self::Pod,
            Fact::Disk(_) => Self::Disk,
            Fact::Version(_) => Self::Version,
            _ => return None,
        })
    }
}

/// Entries by host and topic, in order.
pub(super) struct Places<'a> {
    entries: &'a [Entry],
    of: HashMap<(&'a str, Topic<'a>), Vec<usize>>,
    /// Of looks for processes, the pattern without its tricks.
    patterns: HashMap<usize, String>,
}

impl<'a> Places<'a> {
    pub(super) fn new(entries: &'a [Entry]) -> Self {
        let mut places = Self {
            entries,
            of: HashMap::new(),
            patterns: HashMap::new(),
        };
        for (at, entry) in entries.iter().enumerate() {
            if let Some(topic) = Topic::of(&entry.fact) {
                let list = places.of.entry((entry.host.as_str(), topic)).or_default();
                list.push(at);
            }
            if let Fact::ProcessLook(look) = &entry.fact
                && let Some(pattern) = &look.pattern
            {
                places.patterns.insert(at, plain_pattern(pattern));
            }
        }
        places
    }

    /// Entries of a topic on a host after one of its entries, in order.
    fn later<'s>(
        &'s self,
        host: &'s str,
        topic: Topic<'s>,
        index: usize,
    ) -> impl DoubleEndedIterator<Item = (usize, &'a Entry)> + use<'s, 'a> {
        let entries = self.entries;
        let list = self.of.get(&(host, topic)).map_or(&[][..], Vec::as_slice);
        let from = list.partition_point(|at| *at <= index);
        let later = list.get(from..).unwrap_or_default().iter();
        later.filter_map(move |at| Some((*at, entries.get(*at)?)))
    }

    /// Entries of a topic that later commands gave on the same host, in order.
    pub(super) fn after<'s>(
        &'s self,
        topic: Topic<'s>,
        index: usize,
        entry: &'s Entry,
    ) -> impl DoubleEndedIterator<Item = (usize, &'a Entry)> + use<'s, 'a> {
        self.later(&entry.host, topic, index)
            .filter(move |(_, later)| later.command != entry.command)
    }

    /// Whether a kill worked, as the first later look at what it was for says.
    pub(super) fn kill_worked(&self, index: usize, entry: &Entry, kill: &fact::Kill) -> Tri {
        let wanted = kill.pattern.as_deref().map(plain_pattern);
        for (at, later) in self.later(&entry.host, Topic::Process, index) {
            if later.command > entry.command
                && matches!(later.fact, Fact::Launch(_))
                && kill.pids.is_empty()
            {
                break; // what runs from here on may be the next one
            }
            if let Some(gone) = self.gone(at, later, kill, wanted.as_deref()) {
                return gone.into();
            }
        }
        Tri::Unknown
    }

    /// The look that shows that what a kill was for is gone.
    pub(super) fn seen_gone(
        &self,
        index: usize,
        entry: &Entry,
        kill: &fact::Kill,
    ) -> Option<usize> {
        let wanted = kill.pattern.as_deref().map(plain_pattern);
        self.later(&entry.host, Topic::Process, index)
            .find(|(at, later)| self.gone(*at, later, kill, wanted.as_deref()) == Some(true))
            .map(|(at, _)| at)
    }

    /// Whether a look shows that what a kill was for is gone (`Some(true)`) or still there.
    fn gone(
        &self,
        at: usize,
        entry: &Entry,
        kill: &fact::Kill,
        wanted: Option<&str>,
    ) -> Option<bool> {
        match &entry.fact {
            Fact::ProcessLook(look) => {
                if let Some(wanted) = wanted {
                    let asked = self.patterns.get(&at)?;
                    let same = asked == wanted
                        || asked.contains(wanted)
                        || wanted.contains(asked.as_str());
                    return (same && !look.cut).then_some(look.count == 0);
                }
                let covers = |pid: &i64| entry.fact.covers(&Subject::Pid(*pid)) == Tri::Yes;
                let covered = kill.pids.iter().all(covers);
                (covered && !kill.pids.is_empty())
                    .then(|| !kill.pids.iter().any(|pid| look.pids.contains(pid)))
            }
            Fact::Process(process) if kill.pids.contains(&process.pid) => Some(false),
            _ => None,
        }
    }
}
