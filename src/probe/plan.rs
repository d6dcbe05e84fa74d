//! Who can print where: from the tree of a command line to its speakers, in the order they run.

use super::filter::{Filter, is_filter};
use crate::event::Stream;
use crate::shell::{Condition, HopKind, Invocation, RedirectTo, Tree};

/// An invocation that can print to a recorded stream.
#[derive(Debug)]
pub(crate) struct Speaker<'a> {
    /// The invocation whose output it is: the last stage of its pipeline that is no mere filter.
    pub invocation: &'a Invocation,
    /// The filters after it, those of pipelines around its hops included.
    pub later: Vec<&'a Invocation>,
    /// What they do.
    pub filter: Filter,
    /// Where its standard output leads, when it is recorded.
    pub out: Option<Stream>,
    /// Where its standard error leads, when it is recorded.
    pub err: Option<Stream>,
    /// Its output becomes words or another program's input.
    pub swallowed: bool,
    /// It only passes on what an earlier stage of its pipeline prints.
    pub passes_on: bool,
    /// It may not run at all.
    pub optional: bool,
    /// It may run many times.
    pub in_loop: bool,
}

/// Programs that print nothing on standard output when all is well.
const QUIET: &[&str] = &[
    "", "sleep", "cd", "mkdir", "touch", "rm", "rmdir", "true", "false", ":", "export", "set",
    "unset", "source", ".", "wait", "exit", "trap", "shopt", "chmod", "chown", "cp", "mv", "ln",
    "pkill", "test", "[", "[[", "kill", "disown", "unalias", "alias", "umask", "break", "continue",
    "return", "shift", "read", "local", "declare", "readonly", "exec", "eval", "cmp", "let",
    "pushd", "popd", "truncate", "sync", "mount", "umount", "modprobe", "scp", "conda", "module",
    "hash", "renice", "logger", "fi", "mkfifo", "install", "usleep", "stty", "clear", "((",
];

/// Whether a program prints nothing on standard output.
pub(crate) fn is_quiet(invocation: &Invocation) -> bool {
    match invocation.program() {
        "kill" => !invocation.args().iter().any(|word| word.text == "-l"),
        "mount" => !invocation.args().is_empty(),
        "pkill" => !invocation.args().iter().any(|word| word.text == "-e"),
        "cp" | "mv" | "rm" | "mkdir" | "chmod" | "chown" | "ln" => !invocation
            .args()
            .iter()
            .any(|word| matches!(word.text.as_str(), "-v" | "--verbose")),
        "alias" | "export" | "trap" | "declare" | "set" => !invocation.args().is_empty(),
        "conda" => invocation
            .args()
            .first()
            .is_some_and(|word| word.text == "activate"),
        program => QUIET.contains(&program),
    }
}

/// A command that does not fail in silence, so that what hangs on it by `&&` ran unless something was
/// said.
fn fails_aloud(invocation: &Invocation) -> bool {
    matches!(
        invocation.program(),
        "" | "cd"
            | "export"
            | "source"
            | "."
            | "true"
            | ":"
            | "set"
            | "mkdir"
            | "pushd"
            | "umask"
            | "ulimit"
            | "sleep"
            | "chmod"
            | "date"
            | "echo"
    )
}

/// All speakers of a command, in the order they run. Hops are among them, with their errors only.
pub(crate) fn speakers(tree: &Tree) -> Vec<Speaker<'_>> {
    tree.invocations
        .iter()
        .map(|invocation| speaker(tree, invocation))
        .filter(|speaker| {
            speaker.out.is_some() || speaker.err.is_some() || !speaker.invocation.away
        })
        .collect()
}

fn speaker<'a>(tree: &'a Tree, invocation: &'a Invocation) -> Speaker<'a> {
    let route = route(tree, invocation, 0);
    let mut filter = Filter::default();
    for stage in &route.later {
        filter.add(stage);
    }
    let is_hop = invocation.hop.is_some();
    let out = route
        .out
        .filter(|_| !is_hop && route.source && !is_quiet(invocation));
    Speaker {
        invocation,
        later: route.later,
        filter,
        out,
        err: route.err,
        swallowed: route.swallowed,
        passes_on: !route.source,
        optional: !certain(tree, invocation, false),
        in_loop: in_loop(tree, invocation, 0),
    }
}

/// The ancestors of an invocation, nearest first.
pub(crate) fn ancestors<'a>(
    tree: &'a Tree,
    invocation: &'a Invocation,
) -> impl Iterator<Item = &'a Invocation> {
    std::iter::successors(Some(invocation), |one| {
        one.parent
            .filter(|parent| *parent < one.index)
            .and_then(|parent| tree.invocations.get(parent))
    })
    .skip(1)
}

/// Whether it runs whenever the line is reached. With `lenient`, what hangs by `&&` on a command that
/// never fails in silence counts as certain.
pub(crate) fn certain(tree: &Tree, invocation: &Invocation, lenient: bool) -> bool {
    let alone = |one: &Invocation| match one.condition {
        Condition::Always => !one.background,
        Condition::IfOk(before) => {
            lenient && !one.background && tree.invocations.get(before).is_some_and(fails_aloud)
        }
        Condition::IfFailed(_) | Condition::Loop | Condition::Branch => false,
    };
    alone(invocation) && ancestors(tree, invocation).all(alone)
}

fn in_loop(tree: &Tree, invocation: &Invocation, depth: usize) -> bool {
    if depth > 32 {
        return false;
    }
    let own = match invocation.condition {
        Condition::Loop => true,
        Condition::IfOk(before) | Condition::IfFailed(before) if before < invocation.index => tree
            .invocations
            .get(before)
            .is_some_and(|before| in_loop(tree, before, depth + 1)),
        _ => false,
    };
    own || ancestors(tree, invocation).any(|hop| in_loop(tree, hop, depth + 1))
}

/// Where an invocation's two streams lead.
struct Route<'a> {
    out: Option<Stream>,
    err: Option<Stream>,
    later: Vec<&'a Invocation>,
    /// It is no filter behind another stage.
    source: bool,
    swallowed: bool,
}

fn route<'a>(tree: &'a Tree, invocation: &'a Invocation, depth: usize) -> Route<'a> {
    let parent = invocation
        .parent
        .filter(|parent| *parent < invocation.index && depth < 64)
        .and_then(|parent| tree.invocations.get(parent));
    let mut route = match parent {
        Some(hop) if hop.hop == Some(HopKind::Detached) && invocation.away => Route {
            out: None,
            err: None,
            later: Vec::new(),
            source: true,
            swallowed: false,
        },
        Some(hop) => route(tree, hop, depth + 1),
        None => Route {
            out: Some(Stream::Stdout),
            err: Some(Stream::Stderr),
            later: Vec::new(),
            source: true,
            swallowed: false,
        },
    };
    if invocation.substituted || invocation.away {
        route.swallowed = true;
        route.out = None;
        route.later.clear();
    }
    if let Some(pipe) = invocation.pipe
        && parent.is_none_or(|hop| hop.pipe.map(|outer| outer.pipeline) != Some(pipe.pipeline))
    {
        let members: Vec<&Invocation> = tree
            .invocations
            .iter()
            .filter(|one| {
                one.pipe.map(|other| other.pipeline) == Some(pipe.pipeline)
                    && one.parent == invocation.parent
            })
            .collect();
        let stage_of = |one: &Invocation| one.pipe.map_or(0, |place| place.stage);
        let source = members
            .iter()
            .filter(|one| !is_filter(one) || stage_of(one) == 0)
            .map(|one| stage_of(one))
            .max()
            .unwrap_or(0);
        if pipe.stage > source {
            route.source = false;
            route.swallowed = true;
        } else if pipe.stage < source {
            route.swallowed = true;
            route.out = None;
            if pipe.stderr_too {
                route.err = None;
            }
        } else {
            let behind: Vec<&Invocation> = members
                .into_iter()
                .filter(|one| stage_of(one) > source)
                .collect();
            if let Some(last) = behind.last() {
                route.out = redirected(last, route.out, route.err).0;
            }
            if pipe.stderr_too {
                route.err = route.out;
            }
            let outer = std::mem::take(&mut route.later);
            route.later = behind;
            route.later.extend(outer);
        }
    }
    (route.out, route.err) = redirected(invocation, route.out, route.err);
    route
}

/// The two streams after an invocation's own redirections.
fn redirected(
    invocation: &Invocation,
    mut out: Option<Stream>,
    mut err: Option<Stream>,
) -> (Option<Stream>, Option<Stream>) {
    // Those of an enclosing group stand after its own, but are made before them.
    let own = invocation.own_redirects.min(invocation.redirects.len());
    let (own, around) = invocation.redirects.split_at(own);
    for redirect in around.iter().chain(own) {
        let to = match &redirect.to {
            RedirectTo::Truncate { path } | RedirectTo::Append { path } => match path.text.as_str()
            {
                "/dev/stdout" => out,
                "/dev/stderr" => err,
                "/dev/tty" => Some(Stream::Tty),
                _ => None,
            },
            RedirectTo::Copy { of: 1 } => out,
            RedirectTo::Copy { of: 2 } => err,
            RedirectTo::Copy { .. } | RedirectTo::Close => None,
            RedirectTo::Read { .. } | RedirectTo::Text { .. } => continue,
        };
        match redirect.fd {
            1 => out = to,
            2 => err = to,
            _ => {}
        }
    }
    (out, err)
}
