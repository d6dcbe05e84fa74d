//! Identities: what makes two facts speak of the same thing.

use super::JoinKind;
use crate::fact::Fact;
use crate::fact::cover::{last_part, same_path};
use crate::fact::value::Peek;
use crate::timeline::{Entry, Timeline};

/// Fields that name the thing looked at, by fact type: two facts with the same values are looks at
/// the same thing.
pub(super) fn identity_fields(fact: &str) -> &'static [&'static str] {
    match fact {
        "process" => &["pid"],
        "gpu" => &["index", "uuid"],
        "script_step" => &["path", "line"],
        "log_look" | "file" | "dir_look" | "tree_size" => &["path"],
        "count" => &["tool", "of", "pattern"],
        "search" => &["of", "pattern"],
        "progress" => &["path", "label"],
        "line" | "traceback" => &["path", "fingerprint"],
        "stage" => &["path", "stage"],
        "not_run" => &["program", "why"],
        "http" => &["host", "port", "path"],
        "socket" => &["port"],
        "port_look" => &["filter_port"],
        "unit" | "container" | "pod" => &["name"],
        "pod_event" => &["object", "reason"],
        "disk" => &["mount", "inodes"],
        "process_look" => &["pattern"],
        "env" => &["name"],
        "version" => &["of"],
        "limit" => &["name", "pid"],
        "descriptor" => &["pid", "fd"],
        "gpu_process" => &["pid", "gpu"],
        "reach" => &["host", "port"],
        "exit" => &["program", "last_program"],
        "kill" => &["pattern"],
        "launch" => &["line"],
        _ => &[],
    }
}

/// The thing an entry is a look at, as a text to compare: the place, and the identity's fields.
pub(super) fn identity(entry: &Entry) -> String {
    use std::fmt::Write as _;
    let mut out = format!(
        "{}\n{}",
        entry.host,
        entry.container.as_deref().unwrap_or("")
    );
    if matches!(entry.fact, Fact::LaunchState(_)) {
        let _ = write!(out, "\n{:?}", entry.launch);
    }
    for field in identity_fields(entry.fact.name()) {
        match entry.fact.peek(field) {
            Some(Peek::Text(text)) => {
                let plain = text.trim_start_matches("./").trim_start_matches("~/");
                let _ = write!(out, "\n{plain}");
            }
            Some(Peek::Int(number)) => {
                let _ = write!(out, "\n{number}");
            }
            Some(Peek::Bool(value)) => {
                let _ = write!(out, "\n{value}");
            }
            _ => out.push('\n'),
        }
    }
    out
}

/// The launch an entry speaks of: its own, or the one that it is.
pub(super) fn launch_of(timeline: &Timeline, at: usize) -> Option<usize> {
    let entry = timeline.entries.get(at)?;
    entry.launch.or_else(|| {
        // Launches are in the order of their entries.
        let launches = &timeline.launches;
        launches
            .binary_search_by_key(&at, |launch| launch.entry)
            .ok()
    })
}

/// Paths that an entry speaks of.
fn paths(fact: &Fact) -> Vec<&str> {
    let path = match fact {
        Fact::Launch(launch) => launch.log.as_deref(),
        Fact::Count(count) => Some(count.of.as_str()),
        Fact::Search(search) => Some(search.of.as_str()),
        Fact::Descriptor(descriptor) => Some(descriptor.target.as_str()),
        other => match other.peek("path") {
            // The path of a request is none of a file.
            Some(Peek::Text(path)) if !matches!(other, Fact::Http(_)) => Some(path),
            _ => None,
        },
    };
    path.filter(|path| !path.is_empty()).into_iter().collect()
}

/// Names of the files that an entry speaks of.
pub(super) fn file_names(fact: &Fact) -> Vec<&str> {
    paths(fact).into_iter().map(last_part).collect()
}

/// The one file name, or the one process, by which entries of the same identity can be found;
/// `None` where there are several.
pub(super) fn file_of(timeline: &Timeline, kind: JoinKind, at: usize) -> Option<&str> {
    match kind {
        JoinKind::Log => launched(timeline, at)?.log.as_deref().map(last_part),
        JoinKind::Script => launched(timeline, at)?.script.as_deref().map(last_part),
        _ => match file_names(&timeline.entries.get(at)?.fact)[..] {
            [name] => Some(name),
            _ => None,
        },
    }
}

fn numbers(fact: &Fact, fields: &[&str]) -> Vec<i64> {
    let mut out = Vec::new();
    for field in fields {
        match fact.peek(field) {
            Some(Peek::Int(number)) => out.push(number),
            Some(Peek::Ints(list)) => out.extend_from_slice(list),
            _ => {}
        }
    }
    out
}

pub(super) fn pids(fact: &Fact) -> Vec<i64> {
    numbers(fact, &["pid", "main_pid", "pids", "asked_pids"])
}

fn ports(fact: &Fact) -> Vec<i64> {
    numbers(fact, &["port", "filter_port"])
}

fn gpus(fact: &Fact) -> Vec<i64> {
    match fact {
        Fact::Gpu(gpu) => gpu.index.into_iter().collect(),
        other => numbers(other, &["gpu"]),
    }
}

fn names(fact: &Fact) -> Vec<&str> {
    match fact {
        Fact::Unit(unit) => vec![unit.name.as_str()],
        Fact::Container(container) => vec![container.name.as_str()],
        Fact::Pod(pod) => vec![pod.name.as_str()],
        Fact::PodEvent(event) => {
            let object = event.object.as_str();
            vec![object.rsplit('/').next().unwrap_or(object)]
        }
        _ => Vec::new(),
    }
}

/// The place and the containers that an entry speaks of.
fn containers(entry: &Entry) -> Vec<&str> {
    let mut out: Vec<&str> = entry.container.as_deref().into_iter().collect();
    if matches!(
        entry.fact,
        Fact::Container(_) | Fact::Pod(_) | Fact::PodEvent(_)
    ) {
        out.extend(names(&entry.fact));
    }
    out
}

fn share<T: PartialEq>(one: &[T], other: &[T]) -> bool {
    one.iter().any(|item| other.contains(item))
}

/// Whether an entry has an identity of that kind.
pub(super) fn has(timeline: &Timeline, kind: JoinKind, at: usize) -> bool {
    let Some(entry) = timeline.entries.get(at) else {
        return false;
    };
    match kind {
        JoinKind::Command | JoinKind::Host | JoinKind::Container | JoinKind::Session => true,
        JoinKind::Launch => true, // no launch on record is an identity too: see `joined`
        JoinKind::Log => launched(timeline, at).is_some_and(|launch| launch.log.is_some()),
        JoinKind::Script => launched(timeline, at).is_some_and(|launch| launch.script.is_some()),
        JoinKind::Path => !paths(&entry.fact).is_empty(),
        JoinKind::Pid => !pids(&entry.fact).is_empty(),
        JoinKind::Port => !ports(&entry.fact).is_empty(),
        JoinKind::Gpu => !gpus(&entry.fact).is_empty(),
        JoinKind::Name => !names(&entry.fact).is_empty(),
    }
}

/// The launch fact of the launch that an entry belongs to.
fn launched(timeline: &Timeline, at: usize) -> Option<&crate::fact::Launch> {
    let launch = launch_of(timeline, at)?;
    let entry = timeline.launches.get(launch)?.entry;
    match &timeline.entries.get(entry)?.fact {
        Fact::Launch(launch) => Some(launch),
        _ => None,
    }
}

/// Whether entry `at` belongs to entry `to` by that identity.
pub(super) fn joined(timeline: &Timeline, kind: JoinKind, at: usize, to: usize) -> bool {
    let (Some(one), Some(other)) = (timeline.entries.get(at), timeline.entries.get(to)) else {
        return false;
    };
    let same_host = one.host == other.host;
    let any_path = |wanted: Option<&str>| {
        wanted.is_some_and(|wanted| paths(&one.fact).iter().any(|path| same_path(path, wanted)))
    };
    match kind {
        JoinKind::Session => true,
        JoinKind::Command => one.command == other.command,
        JoinKind::Host => same_host,
        JoinKind::Container => {
            let (a, b) = (containers(one), containers(other));
            same_host && (share(&a, &b) || (a.is_empty() && b.is_empty()))
        }
        JoinKind::Launch => match (launch_of(timeline, at), launch_of(timeline, to)) {
            (Some(a), Some(b)) => {
                let epoch = timeline.launches.get(b).map_or(usize::MAX, |l| l.epoch_end);
                a == b && at < epoch
            }
            // Nothing of what ran there is on record: the host's unknown run.
            (None, None) => same_host && one.container == other.container,
            _ => false,
        },
        JoinKind::Path => same_host && paths(&other.fact).iter().any(|path| any_path(Some(path))),
        JoinKind::Log => {
            same_host && any_path(launched(timeline, to).and_then(|launch| launch.log.as_deref()))
        }
        JoinKind::Script => {
            same_host && any_path(launched(timeline, to).and_then(|l| l.script.as_deref()))
        }
        JoinKind::Pid => same_host && share(&pids(&one.fact), &pids(&other.fact)),
        JoinKind::Port => {
            let asked = |entry: &Entry, host: &str| match &entry.fact {
                Fact::Http(http) => http.host == host,
                Fact::Reach(reach) => reach.host == host,
                _ => false,
            };
            let near = same_host || asked(one, &other.host) || asked(other, &one.host);
            near && share(&ports(&one.fact), &ports(&other.fact))
        }
        JoinKind::Gpu => same_host && share(&gpus(&one.fact), &gpus(&other.fact)),
        JoinKind::Name => same_host && share(&names(&one.fact), &names(&other.fact)),
    }
}

/// Whether an entry has that value for an identity.
pub(super) fn is(timeline: &Timeline, kind: JoinKind, at: usize, text: &str) -> bool {
    let Some(entry) = timeline.entries.get(at) else {
        return false;
    };
    let number = text.parse::<i64>().ok();
    let among = |list: Vec<i64>| number.is_some_and(|number| list.contains(&number));
    match kind {
        JoinKind::Session => true,
        JoinKind::Command => {
            let command = timeline.commands.get(entry.command);
            command.is_some_and(|command| number == Some(i64::from(command.number)))
        }
        JoinKind::Launch => {
            let launch = launch_of(timeline, at).and_then(|at| timeline.launches.get(at));
            let command = launch.and_then(|launch| timeline.commands.get(launch.command));
            command.is_some_and(|command| number == Some(i64::from(command.number)))
        }
        JoinKind::Host => entry.host == text,
        JoinKind::Container => containers(entry).contains(&text),
        JoinKind::Path | JoinKind::Log | JoinKind::Script => {
            paths(&entry.fact).iter().any(|path| same_path(path, text))
        }
        JoinKind::Pid => among(pids(&entry.fact)),
        JoinKind::Port => among(ports(&entry.fact)),
        JoinKind::Gpu => among(gpus(&entry.fact)),
        JoinKind::Name => names(&entry.fact).contains(&text),
    }
}

/// Paths, ports, pids, GPUs and names that scopes are made of.
pub(super) mod of {
    use super::{Entry, Fact, containers, gpus, paths, pids};

    pub(in super::super) fn path(entry: &Entry) -> Option<&str> {
        paths(&entry.fact).first().copied()
    }

    pub(in super::super) fn pid(entry: &Entry) -> Option<i64> {
        match &entry.fact {
            // A look at many processes is about none of them.
            Fact::ProcessLook(_) | Fact::GpuProcessLook(_) => None,
            fact => match pids(fact)[..] {
                [pid] => Some(pid),
                _ => None,
            },
        }
    }

    pub(in super::super) fn gpu(entry: &Entry) -> Option<i64> {
        gpus(&entry.fact).first().copied()
    }

    pub(in super::super) fn container(entry: &Entry) -> Option<&str> {
        if let Fact::Unit(unit) = &entry.fact {
            return Some(&unit.name);
        }
        containers(entry).first().copied()
    }

    pub(in super::super) fn endpoint(entry: &Entry) -> Option<(String, i64)> {
        let (host, port) = match &entry.fact {
            Fact::Http(http) => (Some(http.host.as_str()), http.port),
            Fact::Reach(reach) => (Some(reach.host.as_str()), reach.port),
            Fact::Socket(socket) => (None, Some(socket.port)),
            Fact::PortLook(look) => (None, look.filter_port),
            Fact::Launch(launch) => (None, launch.port),
            _ => (None, None),
        };
        let own = |host: &str| {
            matches!(host, "" | "localhost" | "0.0.0.0" | "::1" | "[::1]")
                || host.starts_with("127.")
        };
        let host = host.filter(|host| !own(host)).unwrap_or(&entry.host);
        Some((host.to_owned(), port?))
    }
}
