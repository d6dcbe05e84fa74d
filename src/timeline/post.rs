//! Postconditions: "exit 0" is not "it worked". What should be true after a command that changed
//! something, whether a later look showed it, and the look that would.

use crate::event::Exit;
use crate::fact::Fact;
use crate::fact::cover::{last_part, same_path};
use crate::shell::{self, Tri};

use super::changes::changes;
use super::places::{Places, Topic};
use super::tie::{plain_pattern, safe_pattern};
use super::{Entry, Met, Postcondition, Timeline};

/// Derives the postconditions of a timeline.
pub(super) fn derive(timeline: &Timeline) -> Vec<Postcondition> {
    let places = Places::new(&timeline.entries);
    let mut out = Vec::new();
    for (index, entry) in timeline.entries.iter().enumerate() {
        match &entry.fact {
            Fact::FileWrite(write)
                if write.reached != Tri::No
                    && matches!(write.how.as_str(), "heredoc" | "copy" | "tee") =>
            {
                out.push(written(&places, index, entry, &write.path));
            }
            Fact::Kill(kill) => out.extend(killed(&places, index, entry, kill)),
            Fact::Launch(launch) if launch.reached != Tri::No && !launch.managed => {
                out.extend(launched(timeline, &places, (index, entry), launch));
            }
            Fact::Run(run) if run.ran != Tri::No && !failed(timeline, entry.command) => {
                out.extend(changed(timeline, &places, (index, entry)));
            }
            _ => {}
        }
    }
    out
}

/// Whether a command of one invocation said that it failed: then nothing was changed, and it is known.
fn failed(timeline: &Timeline, command: usize) -> bool {
    timeline.commands.get(command).is_some_and(|command| {
        matches!(command.exit, Exit::Code(code) if code != 0) && command.tree.leaves().count() == 1
    })
}

/// What services, containers, packages and the like should be after an invocation.
fn changed(
    timeline: &Timeline,
    places: &Places<'_>,
    (index, entry): (usize, &Entry),
) -> Vec<Postcondition> {
    let invocation = entry.invocation.and_then(|at| {
        let tree = &timeline.commands.get(entry.command)?.tree;
        tree.invocations.get(at)
    });
    let Some(invocation) = invocation else {
        return Vec::new();
    };
    changes(invocation)
        .into_iter()
        .map(|change| {
            // The newest look counts: a service takes its time.
            let judged = change.topic().and_then(|topic| {
                let mut newest = places.after(topic, index, entry).rev();
                newest.find_map(|(at, later)| Some((at, change.judged_by(&later.fact)?)))
            });
            Postcondition {
                command: entry.command,
                entry: index,
                state: judged.map_or(Met::Unchecked, |(_, met)| met),
                evidence: judged.map(|(at, _)| at).into_iter().collect(),
                text: change.text,
                probe: change.probe,
            }
        })
        .collect()
}

fn written(places: &Places<'_>, index: usize, entry: &Entry, path: &str) -> Postcondition {
    let mut state = Met::Unchecked;
    let mut evidence = Vec::new();
    for (at, later) in places.after(Topic::File(last_part(path)), index, entry) {
        let verdict = match &later.fact {
            Fact::File(file) if same_path(&file.path, path) => {
                match (file.exists, file.size_bytes, file.lines) {
                    (Tri::No, ..) | (_, Some(0), _) | (_, _, Some(0)) => Met::Unmet,
                    (_, Some(_), _) | (_, _, Some(_)) => Met::Met,
                    _ => continue,
                }
            }
            Fact::LogLook(look) if same_path(&look.path, path) => {
                if look.empty {
                    Met::Unmet
                } else {
                    Met::Met
                }
            }
            _ => continue,
        };
        state = verdict;
        evidence = vec![at];
        break; // the first look after it is the one that speaks of this write
    }
    Postcondition {
        command: entry.command,
        entry: index,
        text: format!("{path} exists and is not empty"),
        state,
        evidence,
        probe: format!("ls -l {}", shell::quote::quote_path(path)),
    }
}

fn killed(
    places: &Places<'_>,
    index: usize,
    entry: &Entry,
    kill: &crate::fact::Kill,
) -> Option<Postcondition> {
    let (text, probe) = match (&kill.pattern, kill.pids.as_slice()) {
        (Some(pattern), _) => {
            let plain = plain_pattern(pattern);
            let safe = safe_pattern(pattern)?;
            (
                format!("nothing that matches {plain} runs, children too"),
                format!("pgrep -fa {}", shell::quote::quote(&safe)),
            )
        }
        (None, [_, ..]) => {
            let pids = kill
                .pids
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(",");
            (
                format!("process {pids} is gone"),
                format!("ps -o pid,ppid,stat,args -p {pids}"),
            )
        }
        (None, []) => return None,
    };
    let (state, evidence) = match kill.effective {
        Tri::Yes => (
            Met::Met,
            places.seen_gone(index, entry, kill).into_iter().collect(),
        ),
        Tri::No => (Met::Unmet, Vec::new()),
        Tri::Unknown => (Met::Unchecked, Vec::new()),
    };
    Some(Postcondition {
        command: entry.command,
        entry: index,
        text,
        state,
        evidence,
        probe,
    })
}

fn launched(
    timeline: &Timeline,
    places: &Places<'_>,
    (index, entry): (usize, &Entry),
    launch: &crate::fact::Launch,
) -> Vec<Postcondition> {
    // Launches are in the order of their entries.
    let launches = &timeline.launches;
    let Ok(record) = launches.binary_search_by_key(&index, |record| record.entry) else {
        return Vec::new();
    };
    let last = launches.get(record).and_then(|record| {
        let at = record.state?;
        match &timeline.entries.get(at)?.fact {
            Fact::LaunchState(state) => Some((at, state)),
            _ => None,
        }
    });
    let mut out = Vec::new();
    let alive = match last {
        Some((at, state)) if state.process == "running" => (Met::Met, vec![at]),
        Some((at, state)) if state.process == "absent" => (Met::Unmet, vec![at]),
        _ => (Met::Unchecked, Vec::new()),
    };
    let name = launch.script.as_deref().unwrap_or(&launch.program);
    let name = name.rsplit('/').next().unwrap_or(name);
    let probe = match launch.pid {
        Some(pid) => format!("ps -o pid,ppid,stat,etime,args -p {pid}"),
        None => safe_pattern(name).map_or_else(
            || "ps aux".to_owned(),
            |safe| format!("pgrep -fa {}", shell::quote::quote(&safe)),
        ),
    };
    out.push(Postcondition {
        command: entry.command,
        entry: index,
        text: format!("{name} is alive"),
        state: alive.0,
        evidence: alive.1,
        probe,
    });
    if let Some(log) = &launch.log {
        let fresh = match last {
            Some((at, state)) => match state.log.as_str() {
                "fresh" | "unchanged" => (Met::Met, vec![at]),
                "stale" | "absent" => (Met::Unmet, vec![at]),
                _ => (Met::Unchecked, Vec::new()),
            },
            None => (Met::Unchecked, Vec::new()),
        };
        out.push(Postcondition {
            command: entry.command,
            entry: index,
            text: format!("{log} is newer than the launch"),
            state: fresh.0,
            evidence: fresh.1,
            probe: format!("stat -c '%y %s %n' {}; date", shell::quote::quote_path(log)),
        });
    }
    if let Some(port) = launch.port {
        let listens = places
            .after(Topic::Port, index, entry)
            .find_map(|(at, later)| match &later.fact {
                Fact::Socket(socket) if socket.port == port && socket.listening => {
                    Some((Met::Met, vec![at]))
                }
                Fact::Http(http) if http.port == Some(port) && http.status.unwrap_or(0) > 0 => {
                    Some((Met::Met, vec![at]))
                }
                _ => None,
            });
        let (state, evidence) = listens.unwrap_or((Met::Unchecked, Vec::new()));
        out.push(Postcondition {
            command: entry.command,
            entry: index,
            text: format!("port {port} listens"),
            state,
            evidence,
            probe: format!("ss -ltnp 'sport = :{port}'"),
        });
    }
    out
}
