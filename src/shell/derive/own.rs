//! Which of the processes that carry an invocation a pattern would find: the shell whose command
//! line holds the pattern, a `sudo` or `timeout` in front, an `ssh` to the own machine.

use super::{both, either};
use crate::shell::build::Builder;
use crate::shell::pattern::Pattern;
use crate::shell::{HopKind, Invocation, Tri};

/// Bytes that are searched for one command line before the answer is "unknown".
const MAX_SEARCHED_BYTES: usize = 32 * 1024 * 1024;

/// A process that is there while the invocation runs, because it carries it.
#[derive(Debug)]
pub(super) struct Carrier<'a> {
    /// Its command line.
    pub line: std::borrow::Cow<'a, str>,
    /// Its name.
    pub name: &'a str,
    /// It is still there, and in sight.
    pub there: Tri,
    /// It is a shell that would run what follows.
    pub shell: bool,
}

/// Counts what searching costs.
#[derive(Debug, Default)]
pub(super) struct Effort {
    bytes: usize,
}

impl Effort {
    /// Whether the carriers may be searched once more.
    pub(super) fn allows(&mut self, carriers: &[Carrier<'_>]) -> bool {
        let bytes: usize = carriers
            .iter()
            .map(|carrier| carrier.line.len() + 4096)
            .sum();
        self.bytes = self.bytes.saturating_add(bytes);
        self.bytes <= MAX_SEARCHED_BYTES
    }
}

/// The processes that carry an invocation, innermost first.
pub(super) fn carriers(b: &Builder, index: usize) -> Vec<Carrier<'_>> {
    let tree = &b.tree;
    let mut out = Vec::new();
    let Some(subject) = tree.invocations.get(index) else {
        return out;
    };
    let home = machine(b, subject);
    let mut at = subject;
    loop {
        let parent = at.parent.and_then(|parent| tree.invocations.get(parent));
        if let Some(hop) = parent.filter(|hop| hop.shell == at.shell) {
            if stays(hop) {
                let line = hop.line().into();
                let there = in_sight(b, subject, &home, hop);
                out.push(Carrier {
                    line,
                    name: hop.program(),
                    there,
                    shell: false,
                });
            }
            at = hop;
            continue;
        }
        let Some(shell) = tree.shells.get(at.shell) else {
            break;
        };
        if let Some(argv) = &shell.argv {
            let name = argv.split(' ').next().unwrap_or("");
            let name = name.rsplit('/').next().unwrap_or(name);
            let there = both(alive(b, at), in_sight(b, subject, &home, at));
            out.push(Carrier {
                line: argv.as_str().into(),
                name,
                there,
                shell: true,
            });
        }
        let Some(hop) = shell.started_by.and_then(|hop| tree.invocations.get(hop)) else {
            break;
        };
        let client = hop.hop == Some(HopKind::Ssh)
            || matches!(
                hop.program(),
                "su" | "runuser" | "watch" | "flock" | "script"
            );
        if client {
            let there = in_sight(b, subject, &home, hop);
            out.push(Carrier {
                line: hop.line().into(),
                name: hop.program(),
                there,
                shell: false,
            });
        }
        at = hop;
    }
    out
}

/// Whether a pattern finds one of the carriers, and whether that one is a shell.
pub(super) fn finds(pattern: &Pattern, full: bool, carriers: &[Carrier<'_>]) -> (Tri, Tri) {
    let (mut any, mut shell) = (Tri::No, Tri::No);
    for carrier in carriers {
        if carrier.there != Tri::No
            && pattern.matches(if full { &carrier.line } else { carrier.name })
        {
            any = either(any, carrier.there);
            if carrier.shell {
                shell = either(shell, carrier.there);
            }
        }
    }
    (any, shell)
}

/// Whether the shell that runs an invocation is still there while it runs.
fn alive(b: &Builder, invocation: &Invocation) -> Tri {
    let Some(note) = b.notes.get(invocation.index) else {
        return Tri::Unknown;
    };
    match note.replaces_shell {
        Tri::Yes => Tri::No,
        Tri::Unknown => Tri::Unknown,
        // The shell of a last background job goes on to its end at once: a race.
        Tri::No if invocation.background && !note.compound && !invocation.more_follows => {
            Tri::Unknown
        }
        Tri::No => Tri::Yes,
    }
}

/// A wrapper that waits for what it started, instead of becoming it.
fn stays(hop: &Invocation) -> bool {
    match hop.hop {
        Some(HopKind::Wrapper) => {
            matches!(
                hop.program(),
                "sudo"
                    | "doas"
                    | "timeout"
                    | "su"
                    | "runuser"
                    | "flock"
                    | "watch"
                    | "unbuffer"
                    | "sshpass"
                    | "parallel"
                    | "uv"
                    | "poetry"
                    | "conda"
                    | "fakeroot"
                    | "firejail"
            ) || hop.program() == "time" && hop.words.len() > 1
        }
        Some(HopKind::Container) => true,
        _ => false,
    }
}

/// The machine and container of an invocation, `localhost` taken for the machine it was typed on.
fn machine(b: &Builder, invocation: &Invocation) -> (Option<String>, Option<String>) {
    let mut at = invocation;
    let mut host = at.place.host.clone();
    while host.as_deref().is_some_and(is_local) {
        let hop = b.tree.hop_chain(at.index).into_iter().rev();
        let hop = hop.filter_map(|hop| b.tree.invocations.get(hop));
        let Some(outer) = hop.into_iter().find(|hop| hop.place.host != at.place.host) else {
            host = None;
            break;
        };
        host.clone_from(&outer.place.host);
        at = outer;
    }
    (host, invocation.place.container.clone())
}

fn is_local(host: &str) -> bool {
    host == "localhost" || host == "::1" || host.starts_with("127.")
}

/// Whether a carrier is among the processes that the subject sees.
fn in_sight(
    b: &Builder,
    subject: &Invocation,
    home: &(Option<String>, Option<String>),
    carrier: &Invocation,
) -> Tri {
    if subject.place == carrier.place {
        return Tri::Yes;
    }
    let there = machine(b, carrier);
    (there == *home).into()
}
