//! The launches that facts may speak of, by host, process, log, script and port: a session holds
//! thousands of them, and each fact asks.

use std::collections::HashMap;

use super::tie::Target;
use crate::fact::cover::{last_part, same_path};
use crate::time::Micros;

/// An age is told in whole seconds, and the recorder's clock is not the host's: by so much, in
/// microseconds, a process must be older than a launch to be none of it.
const SLACK_US: i64 = 500_000;

/// All launches so far, in order.
#[derive(Debug, Default)]
pub(super) struct Targets {
    all: Vec<Target>,
    hosts: HashMap<String, OnHost>,
}

/// The launches of a host, by what facts name. All lists are in order.
#[derive(Debug, Default)]
struct OnHost {
    /// Those whose epoch is not over.
    open: Vec<usize>,
    by_pid: HashMap<i64, Vec<usize>>,
    /// By the last part of the path: paths that may be the same share it.
    by_log: HashMap<String, Vec<usize>>,
    by_script: HashMap<String, Vec<usize>>,
    by_port: HashMap<i64, Vec<usize>>,
    /// Processes seen, by their number in the order in which they were seen first.
    seen: HashMap<i64, usize>,
    /// The latest moment at which a process can have begun, by its age in a look.
    began: HashMap<i64, Micros>,
}

impl Targets {
    pub(super) fn get(&self, launch: usize) -> Option<&Target> {
        self.all.get(launch)
    }

    /// Adds a launch; gives its number.
    pub(super) fn add(&mut self, mut target: Target) -> usize {
        let number = self.all.len();
        let host = self.hosts.entry(target.host.clone()).or_default();
        target.seen_before = host.seen.len();
        host.open.push(number);
        for pid in &target.pids {
            host.by_pid.entry(*pid).or_default().push(number);
        }
        let name = |path: &Option<String>| path.as_deref().map(|path| last_part(path).to_owned());
        if let Some(log) = name(&target.log) {
            host.by_log.entry(log).or_default().push(number);
        }
        if let Some(script) = name(&target.script) {
            host.by_script.entry(script).or_default().push(number);
        }
        if let Some(port) = target.port {
            host.by_port.entry(port).or_default().push(number);
        }
        self.all.push(target);
        number
    }

    /// The epochs of a host's launches that `ends` says so of are over; gives their numbers.
    pub(super) fn end(&mut self, host: &str, ends: impl Fn(&Target) -> bool) -> Vec<usize> {
        let Some(on_host) = self.hosts.get_mut(host) else {
            return Vec::new();
        };
        let all = &mut self.all;
        let over: Vec<usize> = on_host
            .open
            .iter()
            .copied()
            .filter(|number| all.get(*number).is_some_and(&ends))
            .collect();
        on_host.open.retain(|number| !over.contains(number));
        for number in &over {
            if let Some(target) = all.get_mut(*number) {
                target.over = true;
            }
        }
        over
    }

    /// A process was seen on a host.
    pub(super) fn saw(&mut self, host: &str, pid: i64) {
        if !self.hosts.contains_key(host) {
            self.hosts.insert(host.to_owned(), OnHost::default());
        }
        if let Some(host) = self.hosts.get_mut(host) {
            let next = host.seen.len();
            host.seen.entry(pid).or_insert(next);
        }
    }

    /// A process on a host had begun by then.
    pub(super) fn had_begun(&mut self, host: &str, pid: i64, by: Micros) {
        if !self.hosts.contains_key(host) {
            self.hosts.insert(host.to_owned(), OnHost::default());
        }
        if let Some(host) = self.hosts.get_mut(host) {
            host.began.insert(pid, by);
        }
    }

    /// Whether a process is older than a launch, by its age.
    pub(super) fn began_before(&self, target: &Target, pid: i64) -> bool {
        let host = self.hosts.get(&target.host);
        let began = host.and_then(|host| host.began.get(&pid));
        began.is_some_and(|began| began.plus_us(SLACK_US) < target.at)
    }

    /// Whether a process was there before a launch: then it is none of it.
    pub(super) fn is_earlier(&self, target: &Target, pid: i64) -> bool {
        if self.began_before(target, pid) {
            return true;
        }
        let seen = self
            .hosts
            .get(&target.host)
            .and_then(|host| host.seen.get(&pid));
        seen.is_some_and(|seen| *seen < target.seen_before)
    }

    /// A process is a launch's, known by its command line.
    pub(super) fn is_process_of(&mut self, launch: usize, pid: i64, args: Option<&str>) {
        let Some(target) = self.all.get_mut(launch) else {
            return;
        };
        if target.pids.contains(&pid) {
            return;
        }
        target.pids.push(pid);
        target.aliases.extend(args.map(str::to_owned));
        if let Some(host) = self.hosts.get_mut(&target.host) {
            insert(host.by_pid.entry(pid).or_default(), launch);
        }
    }

    /// A launch's log names its port.
    pub(super) fn listens_on(&mut self, launch: usize, port: i64) {
        let Some(target) = self.all.get_mut(launch) else {
            return;
        };
        target.port = Some(port);
        if let Some(host) = self.hosts.get_mut(&target.host) {
            insert(host.by_port.entry(port).or_default(), launch);
        }
    }

    /// The launches of a host whose epoch is not over, in order.
    pub(super) fn open(&self, host: &str) -> impl DoubleEndedIterator<Item = (usize, &Target)> {
        self.listed(self.hosts.get(host).map(|host| &host.open))
    }

    /// Those of a process.
    pub(super) fn by_pid(
        &self,
        host: &str,
        pid: i64,
    ) -> impl DoubleEndedIterator<Item = (usize, &Target)> {
        self.listed(self.hosts.get(host).and_then(|host| host.by_pid.get(&pid)))
    }

    /// Those on a port.
    pub(super) fn by_port(
        &self,
        host: &str,
        port: i64,
    ) -> impl DoubleEndedIterator<Item = (usize, &Target)> {
        self.listed(
            self.hosts
                .get(host)
                .and_then(|host| host.by_port.get(&port)),
        )
    }

    /// Those that write to a log.
    pub(super) fn by_log(
        &self,
        host: &str,
        path: &str,
    ) -> impl DoubleEndedIterator<Item = (usize, &Target)> {
        let host = self.hosts.get(host);
        self.listed(host.and_then(|host| host.by_log.get(last_part(path))))
            .filter(move |(_, target)| is(target.log.as_deref(), path))
    }

    /// Those that run a script.
    pub(super) fn by_script(
        &self,
        host: &str,
        path: &str,
    ) -> impl DoubleEndedIterator<Item = (usize, &Target)> {
        let host = self.hosts.get(host);
        self.listed(host.and_then(|host| host.by_script.get(last_part(path))))
            .filter(move |(_, target)| is(target.script.as_deref(), path))
    }

    fn listed<'a>(
        &'a self,
        list: Option<&'a Vec<usize>>,
    ) -> impl DoubleEndedIterator<Item = (usize, &'a Target)> {
        let numbers = list.map_or(&[][..], Vec::as_slice).iter();
        numbers.filter_map(|number| Some((*number, self.all.get(*number)?)))
    }
}

fn is(known: Option<&str>, path: &str) -> bool {
    known.is_some_and(|known| same_path(known, path))
}

fn insert(list: &mut Vec<usize>, number: usize) {
    if let Err(place) = list.binary_search(&number) {
        list.insert(place, number);
    }
}
