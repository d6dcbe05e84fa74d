//! Entries by fact type, and by type and command, launch, host, file or process: what a step has to
//! look through. And what is asked of entries again and again, whatever the playbook.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use super::absence;
use super::identity::{file_names, identity, pids};
use crate::fact::FactType;
use crate::fact::cover::Subject;
use crate::shell::Tri;
use crate::timeline::Timeline;

type By<K> = HashMap<(&'static str, K), Vec<usize>>;

pub(super) struct Index<'t> {
    timeline: &'t Timeline,
    by_type: HashMap<&'static str, Vec<usize>>,
    by_command: By<usize>,
    by_launch: By<usize>,
    by_host: By<&'t str>,
    by_file: OnceCell<By<(&'t str, &'t str)>>,
    by_pid: OnceCell<By<(&'t str, i64)>>,
    /// The first entry of each command.
    starts: Vec<usize>,
    /// The host of each entry, numbered.
    hosts: Vec<usize>,
    identities: RefCell<Identities>,
    subjects: RefCell<HashMap<String, usize>>,
    absences: RefCell<HashMap<(usize, usize), Tri>>,
}

/// Identities, numbered.
#[derive(Default)]
struct Identities {
    of: HashMap<usize, usize>,
    numbers: HashMap<String, usize>,
}

/// The smallest list of an index that holds all that a step may match.
#[derive(Debug, Clone, Copy)]
pub(super) enum Within<'a> {
    Session,
    Command(usize),
    Launch(usize),
    Host(&'a str),
    /// Of a host, what speaks of a file of that name.
    File(&'a str, &'a str),
    /// Of a host, what speaks of a process.
    Pid(&'a str, i64),
}

impl<'t> Index<'t> {
    pub(super) fn new(timeline: &'t Timeline) -> Self {
        let mut index = Self {
            timeline,
            by_type: HashMap::new(),
            by_command: HashMap::new(),
            by_launch: HashMap::new(),
            by_host: HashMap::new(),
            by_file: OnceCell::new(),
            by_pid: OnceCell::new(),
            starts: vec![usize::MAX; timeline.commands.len()],
            hosts: Vec::with_capacity(timeline.entries.len()),
            identities: RefCell::default(),
            subjects: RefCell::default(),
            absences: RefCell::default(),
        };
        let mut hosts: HashMap<&str, usize> = HashMap::new();
        for (at, entry) in timeline.entries.iter().enumerate() {
            let name = entry.fact.name();
            let next = hosts.len();
            index.hosts.push(*hosts.entry(&entry.host).or_insert(next));
            index.by_type.entry(name).or_default().push(at);
            let command = (name, entry.command);
            index.by_command.entry(command).or_default().push(at);
            let host = (name, entry.host.as_str());
            index.by_host.entry(host).or_default().push(at);
            if let Some(launch) = entry.launch {
                index.by_launch.entry((name, launch)).or_default().push(at);
            }
            if let Some(start) = index.starts.get_mut(entry.command) {
                *start = at.min(*start);
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
            Within::File(host, name) => self.by_file().get(&(fact, (host, name))),
            Within::Pid(host, pid) => self.by_pid().get(&(fact, (host, pid))),
        };
        found.map_or(&[], Vec::as_slice)
    }

    fn by_file(&self) -> &By<(&'t str, &'t str)> {
        self.by_file.get_or_init(|| {
            let mut by: By<(&str, &str)> = HashMap::new();
            for (at, entry) in self.timeline.entries.iter().enumerate() {
                for name in file_names(&entry.fact) {
                    let key = (entry.fact.name(), (entry.host.as_str(), name));
                    by.entry(key).or_default().push(at);
                }
            }
            by
        })
    }

    fn by_pid(&self) -> &By<(&'t str, i64)> {
        self.by_pid.get_or_init(|| {
            let mut by: By<(&str, i64)> = HashMap::new();
            for (at, entry) in self.timeline.entries.iter().enumerate() {
                for pid in pids(&entry.fact) {
                    let key = (entry.fact.name(), (entry.host.as_str(), pid));
                    let list = by.entry(key).or_default();
                    if list.last() != Some(&at) {
                        list.push(at);
                    }
                }
            }
            by
        })
    }

    /// The first entry of an entry's command.
    pub(super) fn command_start(&self, at: usize) -> usize {
        let entry = self.timeline.entries.get(at);
        let start = entry.and_then(|entry| self.starts.get(entry.command));
        start.copied().unwrap_or(at).min(at)
    }

    /// The host of an entry, as a number to compare.
    pub(super) fn host(&self, at: usize) -> usize {
        self.hosts.get(at).copied().unwrap_or(usize::MAX)
    }

    /// The thing that an entry is a look at, as a number to compare.
    pub(super) fn identity(&self, at: usize) -> usize {
        let mut known = self.identities.borrow_mut();
        if let Some(number) = known.of.get(&at) {
            return *number;
        }
        let text = self.timeline.entries.get(at).map(identity);
        let next = known.numbers.len();
        let number = *known
            .numbers
            .entry(text.unwrap_or_default())
            .or_insert(next);
        known.of.insert(at, number);
        number
    }

    /// A subject, as a number to ask [`Self::absent`] with.
    pub(super) fn subject(&self, subject: &Subject) -> usize {
        let mut known = self.subjects.borrow_mut();
        let next = known.len();
        *known.entry(format!("{subject:?}")).or_insert(next)
    }

    /// Whether a look says that a subject is not there.
    pub(super) fn absent(&self, at: usize, subject: &Subject, number: usize) -> Tri {
        if let Some(known) = self.absences.borrow().get(&(number, at)) {
            return *known;
        }
        let told = absence::absent(self, self.timeline, at, subject);
        self.absences.borrow_mut().insert((number, at), told);
        told
    }
}
