//! Scopes: what a finding is about, as parts and as a text that stays the same.

use super::identity::{launch_of, of};
use super::{ScopeKey, ScopeKind};
use crate::timeline::{Entry, LaunchRecord, Timeline};

impl ScopeKey {
    /// The scope of entries bound in this order: the first that has such an identity gives it. A
    /// scope that none has falls back to the host of the first.
    pub(super) fn of(kind: ScopeKind, timeline: &Timeline, bound: &[usize]) -> Self {
        let entry = |at: &usize| timeline.entries.get(*at);
        let first = bound.iter().find_map(entry);
        let mut key = Self::default();
        let place = |key: &mut Self, entry: &Entry| {
            key.host = Some(entry.host.clone());
            key.container.clone_from(&entry.container);
        };
        let pick = |has: &dyn Fn(&Entry) -> bool| bound.iter().filter_map(entry).find(|e| has(e));
        match kind {
            ScopeKind::Session => return key,
            ScopeKind::Command => key.command = first.map(|entry| entry.command),
            ScopeKind::Launch => key.launch = bound.iter().find_map(|at| launch_of(timeline, *at)),
            ScopeKind::Process => {
                if let Some(entry) = pick(&|entry| of::pid(entry).is_some()) {
                    key.pid = of::pid(entry);
                    place(&mut key, entry);
                }
            }
            ScopeKind::Log => {
                if let Some(entry) = pick(&|entry| of::path(entry).is_some()) {
                    key.path = of::path(entry).map(str::to_owned);
                    place(&mut key, entry);
                }
            }
            ScopeKind::Endpoint => {
                if let Some((host, port)) = bound.iter().filter_map(entry).find_map(of::endpoint) {
                    key.endpoint = Some(format!("{host}:{port}"));
                    key.host = Some(host);
                }
            }
            ScopeKind::Gpu => {
                if let Some(entry) = pick(&|entry| of::gpu(entry).is_some()) {
                    key.gpu = of::gpu(entry);
                    place(&mut key, entry);
                }
            }
            ScopeKind::Container => {
                if let Some(entry) = pick(&|entry| of::container(entry).is_some()) {
                    key.host = Some(entry.host.clone());
                    key.container = of::container(entry).map(str::to_owned);
                }
            }
            ScopeKind::Host => {}
        }
        if let Some(launch) = key.launch.and_then(|at| timeline.launches.get(at)) {
            key.host = Some(launch.host.clone());
            key.container.clone_from(&launch.container);
        } else if key.host.is_none()
            && let Some(first) = first
        {
            place(&mut key, first);
        }
        key
    }

    /// The scope as a text that is stable over rebuilds and late imports.
    pub(super) fn text(&self, timeline: &Timeline) -> String {
        let id = |at: usize| {
            let command = timeline.commands.get(at);
            command.map_or_else(|| at.to_string(), |command| command.id.to_string())
        };
        if let Some(at) = self.launch
            && let Some(launch) = timeline.launches.get(at)
        {
            // Several launches of one command are told apart by their order in it.
            let earlier = timeline.launches.get(..at).unwrap_or_default().iter();
            let own = |other: &&LaunchRecord| other.command == launch.command;
            let order = earlier.rev().take_while(own).count();
            return format!("launch={}#{order}", id(launch.command));
        }
        if let Some(command) = self.command {
            return format!("command={}", id(command));
        }
        let mut parts = Vec::new();
        let mut part = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                parts.push(format!("{name}={value}"));
            }
        };
        if self.endpoint.is_some() {
            part("endpoint", self.endpoint.clone());
        } else {
            part("host", self.host.clone());
            part("container", self.container.clone());
        }
        let plain = |path: &String| {
            let path = path.trim_start_matches("./").trim_end_matches('/');
            path.strip_prefix("$HOME/")
                .map_or_else(|| path.to_owned(), |rest| format!("~/{rest}"))
        };
        part("path", self.path.as_ref().map(plain));
        part("pid", self.pid.map(|pid| pid.to_string()));
        part("gpu", self.gpu.map(|gpu| gpu.to_string()));
        if parts.is_empty() {
            return "session".to_owned();
        }
        parts.join(";")
    }
}
