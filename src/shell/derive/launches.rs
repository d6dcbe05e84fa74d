//! What was started to stay.

use super::programs::{self, is_python};
use super::{either, resolved, resolved_target, services};
use crate::shell::build::{Builder, Stdin};
use crate::shell::safety::{Safety, by_own_path, invocation_safety};
use crate::shell::tree::Sink;
use crate::shell::{FileWrite, HopKind, Invocation, Launch, Tri, Word};

/// Scripts written by the same line that are read for what they start.
const MAX_SCRIPTS_READ: usize = 8;
/// Longest script that is read, in bytes.
const MAX_SCRIPT_BYTES: usize = 64 * 1024;

pub(super) fn launches(b: &Builder, writes: &[FileWrite]) -> Vec<Launch> {
    let leaves = b
        .tree
        .invocations
        .iter()
        .filter(|invocation| invocation.hop.is_none());
    let mut launches: Vec<Launch> = leaves
        .filter_map(|invocation| launch(b, invocation))
        .collect();
    for launch in launches.iter_mut().take(MAX_SCRIPTS_READ) {
        look_into_script(b, writes, launch);
    }
    launches
}

/// `cat > run.sh <<END … END; nohup ./run.sh &`: the script says what the launch does not.
fn look_into_script(b: &Builder, writes: &[FileWrite], launch: &mut Launch) {
    let Some(place) = b
        .tree
        .invocations
        .get(launch.invocation)
        .map(|one| &one.place)
    else {
        return;
    };
    let written = writes.iter().rev().find(|write| {
        let same_file = write.path == *launch.script.as_deref().unwrap_or("")
            || write.resolved.is_some() && write.resolved == launch.script_resolved;
        same_file
            && !write.append
            && write.invocation < launch.invocation
            && write.host == place.host
    });
    let Some(note) = written.and_then(|write| b.notes.get(write.invocation)) else {
        return;
    };
    let Stdin::Text(body) = &note.stdin else {
        return;
    };
    if body.len() > MAX_SCRIPT_BYTES {
        return;
    }
    let inner = crate::shell::read(&b.shown(body));
    let mut servers = inner.tree.invocations.iter().filter(|one| {
        one.hop.is_none()
            && !programs::is_errand(one.program())
            && invocation_safety(one) > Safety::HeavyRead
    });
    let Some(server) = servers.next_back() else {
        return;
    };
    launch.port = launch.port.or_else(|| programs::port(server));
    if launch.buffered == Tri::Unknown && launch.log.is_some() {
        let unbuffered = inner
            .notes
            .get(server.index)
            .is_some_and(|note| note.unbuffered);
        let stay = Stay {
            ssh: true,
            ..Stay::default()
        };
        launch.buffered = buffered(server, unbuffered, launch, &stay);
    }
}

/// How an invocation is made to stay.
#[derive(Debug, Default)]
struct Stay {
    background: bool,
    nohup: bool,
    /// `setsid`, `disown`: it leaves the session.
    apart: bool,
    /// tmux, a unit, an engine runs it.
    away: bool,
    ssh: bool,
    tty: bool,
}

fn launch(b: &Builder, invocation: &Invocation) -> Option<Launch> {
    if invocation.words.is_empty() || invocation.substituted {
        return None;
    }
    let note = b.notes.get(invocation.index)?;
    let chain = b.tree.hop_chain(invocation.index);
    let mut stay = Stay {
        background: invocation.background,
        ..Stay::default()
    };
    let mut unbuffered = note.unbuffered;
    let mut kept_log = None;
    let mut published = None;
    for hop in chain.iter().filter_map(|hop| b.tree.invocations.get(*hop)) {
        let hop_note = b.notes.get(hop.index)?;
        stay.background |= hop.background;
        stay.away |= hop_note.away;
        match hop.program() {
            "nohup" => stay.nohup = true,
            "setsid" | "daemonize" => stay.apart = true,
            "stdbuf" | "unbuffer" | "script" => unbuffered = true,
            _ => {}
        }
        if hop.hop == Some(HopKind::Ssh) {
            (stay.ssh, stay.tty) = (true, hop_note.tty);
        }
        kept_log = hop_note.log.clone().or(kept_log);
        if hop.hop == Some(HopKind::Container) {
            published = programs::published(hop).or(published);
        }
    }
    let alone = services::daemonizes(invocation);
    let service = services::service(invocation).is_some();
    let made_to_stay = stay.background || stay.nohup || stay.apart || stay.away || alone || service;
    let minor = is_minor(invocation);
    if !made_to_stay || minor || !service && is_filter(b, invocation) {
        return None;
    }
    let disowned = stay.background
        && b.tree.invocations.iter().any(|other| {
            other.index > invocation.index
                && other.shell == invocation.shell
                && other.program() == "disown"
        });
    let script = programs::script(invocation).map(|word| word.text.clone());
    let mut launch = Launch {
        invocation: invocation.index,
        log: None,
        log_resolved: None,
        error_log: None,
        log_append: false,
        script_resolved: script
            .as_deref()
            .and_then(|script| resolved(invocation, note, script)),
        script,
        port: published.or_else(|| programs::port(invocation)),
        pattern: programs::pattern(invocation),
        buffered: Tri::Unknown,
        detached: stay.background && (stay.nohup || stay.apart || disowned)
            || stay.away
            || alone
            || service
            || stay.apart,
        holds_channel: holds_channel(b, invocation, &stay, alone || service),
    };
    log(b, invocation, &stay, kept_log, &mut launch);
    launch.log_resolved = match (file(invocation.sink(1)), &launch.log) {
        (Some((path, _)), _) => resolved_target(b, invocation, path),
        (None, Some(log)) => resolved(invocation, note, log),
        (None, None) => None,
    };
    launch.buffered = buffered(invocation, unbuffered, &launch, &stay);
    Some(launch)
}

/// It prepares, waits, clears away or looks, and is never the launch.
fn is_minor(invocation: &Invocation) -> bool {
    let service = services::service(invocation).is_some();
    programs::is_errand(invocation.program()) && !by_own_path(invocation)
        || !service && invocation_safety(invocation) <= Safety::HeavyRead
}

/// A later stage of a pipeline only handles what the launch in front of it prints.
fn is_filter(b: &Builder, invocation: &Invocation) -> bool {
    let before = |other: &Invocation| {
        let places = invocation.pipe.zip(other.pipe);
        places.is_some_and(|(own, at)| at.pipeline == own.pipeline && at.stage < own.stage)
    };
    let mut stages = b.tree.invocations.iter();
    invocation.pipe.is_some_and(|pipe| pipe.stage > 0)
        && stages.any(|other| other.hop.is_none() && before(other) && !is_minor(other))
}

/// A file that output goes to, if it is one that can be read again.
fn file<'a>(sink: Sink<'a>) -> Option<(&'a Word, bool)> {
    match sink {
        Sink::File { path, append } if !path.text.starts_with("/dev/") => {
            (!path.text.starts_with(">(")).then_some((path, append))
        }
        _ => None,
    }
}

fn log(
    b: &Builder,
    invocation: &Invocation,
    stay: &Stay,
    kept: Option<(String, bool)>,
    launch: &mut Launch,
) {
    let out = file(invocation.sink(1));
    let err = file(invocation.sink(2));
    if let Some((path, append)) = out {
        launch.log = Some(path.text.clone());
        launch.log_append = append;
        launch.error_log = err
            .filter(|(other, _)| other.text != path.text)
            .map(|(p, _)| p.text.clone());
        return;
    }
    launch.error_log = err.map(|(path, _)| path.text.clone());
    if let Some((path, append)) = kept.or_else(|| further_stage(b, invocation)) {
        launch.log = Some(path);
        launch.log_append = append;
        return;
    }
    let named = invocation.option_value(&[
        "--log-file",
        "--logfile",
        "--log_file",
        "--log-path",
        "--error-logfile",
        "--logpath",
    ]);
    let named = named.or_else(|| match invocation.program() {
        "pg_ctl" => invocation.option_value(&["-l", "--log"]),
        _ => None,
    });
    if let Some(path) = named.filter(|path| *path != "-") {
        launch.log = Some(path.to_owned());
        launch.log_append = true;
    } else if stay.nohup && (!stay.ssh || stay.tty) && !invocation.piped_out {
        let terminal = |fd| matches!(invocation.sink(fd), Sink::Inherited(_));
        if terminal(1) {
            launch.log = Some("nohup.out".to_owned());
            launch.log_append = true;
        }
    }
}

/// `server | tee log &`: the log of a pipeline is what a later stage writes.
fn further_stage(b: &Builder, invocation: &Invocation) -> Option<(String, bool)> {
    let later = b.tree.invocations.iter().filter(|other| {
        let places = invocation.pipe.zip(other.pipe);
        places.is_some_and(|(own, at)| at.pipeline == own.pipeline && at.stage > own.stage)
    });
    for stage in piped_to(b, invocation).chain(later) {
        if matches!(stage.program(), "tee" | "sponge") {
            let path = stage
                .args()
                .iter()
                .find(|word| !word.text.starts_with('-'))?;
            return Some((path.text.clone(), stage.has_option(&["-a", "--append"])));
        }
        if let Some((path, append)) = file(stage.sink(1)) {
            return Some((path.text.clone(), append));
        }
    }
    None
}

/// Whether the output waits in a buffer of the program.
fn buffered(invocation: &Invocation, unbuffered: bool, launch: &Launch, stay: &Stay) -> Tri {
    let program = invocation.program();
    if unbuffered {
        return Tri::No;
    }
    if matches!(
        program,
        "node" | "nodejs" | "nginx" | "redis-server" | "valkey-server" | "bun"
    ) {
        return Tri::No;
    }
    if !is_python(program) {
        return Tri::Unknown;
    }
    let to_terminal = launch.log.is_none() && !invocation.piped_out && (!stay.ssh || stay.tty);
    let flagged = invocation
        .args()
        .iter()
        .take_while(|word| word.text.starts_with('-') && word.text != "-m" && word.text != "-c")
        .any(|word| {
            !word.text.starts_with("--")
                && !word.text.starts_with(['W', 'X'])
                && word.text.contains('u')
        });
    (!flagged && !to_terminal).into()
}

/// Whether ssh stays open because of it (measured, bash 5.2): a descriptor of the channel is still
/// open in the job, in a shell that waits for it, or in a wrapper.
fn holds_channel(b: &Builder, invocation: &Invocation, stay: &Stay, apart: bool) -> Tri {
    if !stay.ssh || stay.away || apart || stay.tty {
        return Tri::No;
    }
    let chain = b.tree.hop_chain(invocation.index);
    // A hop that itself is not in the background ends with its script, whatever that left behind.
    let inner = chain.iter().rev().map_while(|hop| {
        b.tree
            .invocations
            .get(*hop)
            .filter(|hop| hop.hop != Some(HopKind::Ssh))
            .filter(|hop| hop.background || !invocation.background)
    });
    let mut holds = Tri::No;
    for process in std::iter::once(invocation).chain(inner) {
        if matches!(process.hop, Some(HopKind::Detached)) {
            return Tri::No;
        }
        let open = |fd: u32| match process.sink(fd) {
            Sink::Inherited(1) => !process.piped_out,
            Sink::Inherited(_) => true,
            // `> >(tee log)`: what reads it holds the channel in its place.
            Sink::File { path, .. } => {
                path.text.starts_with("/dev/std")
                    || path.text.starts_with(">(")
                        && piped_to(b, process).any(|one| {
                            [1, 2]
                                .iter()
                                .any(|fd| matches!(one.sink(*fd), Sink::Inherited(_)))
                        })
            }
            Sink::Text | Sink::Closed => false,
        };
        let note = b.notes.get(process.index);
        let kept = note.is_some_and(|note| note.keeper);
        // A stage's pipe leads to one that may hold the channel in its turn.
        let piped = process.piped_out && pipe_leads_out(b, process);
        holds = either(holds, (open(1) || open(2) || kept || piped).into());
    }
    holds
}

/// The commands of an invocation's `>(…)`.
fn piped_to<'a>(
    b: &'a Builder,
    invocation: &Invocation,
) -> impl Iterator<Item = &'a Invocation> + use<'a> {
    let range = b
        .notes
        .get(invocation.index)
        .and_then(|note| note.substitutions);
    let (from, to) = range.unwrap_or((0, 0));
    let inside = b.tree.invocations.get(from..to).unwrap_or_default().iter();
    inside.filter(|one| !one.substituted)
}

fn pipe_leads_out(b: &Builder, invocation: &Invocation) -> bool {
    let Some(pipe) = invocation.pipe else {
        return false;
    };
    let last = b.tree.invocations.iter().rfind(|other| {
        other
            .pipe
            .is_some_and(|at| at.pipeline == pipe.pipeline && at.stage + 1 == at.stages)
    });
    last.is_some_and(|last| {
        [1, 2]
            .iter()
            .any(|fd| matches!(last.sink(*fd), Sink::Inherited(_)))
    })
}
