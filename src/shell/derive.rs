//! From the finished tree: what was launched, written, killed and looked for.

use super::build::{Builder, Note};
use super::{Invocation, RedirectTo, Tri, Word, path};

mod inside;
mod kills;
mod launches;
mod own;
mod programs;
pub(super) mod services;
mod taken;
mod writes;

/// Fills in what follows from the invocations.
pub(super) fn derive(b: &mut Builder) {
    let writes = writes::writes(b);
    let launches = launches::launches(b, &writes);
    let (kills, looks) = kills::kills(b);
    b.tree.launches = launches;
    b.tree.writes = writes;
    b.tree.kills = kills;
    b.tree.looks = looks;
    b.tree.input_taken = taken::taken(b);
    let mut early = std::mem::take(&mut b.tree.early);
    inside::mark(b, &mut early);
    b.tree.early = early;
}

/// A path of an invocation, made independent of its working directory where that is known.
fn resolved(invocation: &Invocation, note: &Note, written: &str) -> Option<String> {
    let user = invocation.place.user.as_deref();
    path::resolve(
        written,
        invocation.cwd.as_deref(),
        note.home.as_deref(),
        user,
    )
}

/// The target of a redirection, made independent of the directory where its shell opens it.
fn resolved_target(b: &Builder, invocation: &Invocation, target: &Word) -> Option<String> {
    let note = b.notes.get(invocation.index)?;
    let at = invocation
        .redirects
        .iter()
        .position(|redirect| match &redirect.to {
            RedirectTo::Truncate { path } | RedirectTo::Append { path } => {
                std::ptr::eq(path, target)
            }
            _ => false,
        });
    let (cwd, home) = b.redirect_place(*note.redirect_ids.get(at?)?);
    let user = invocation.place.user.as_deref();
    path::resolve(&target.text, cwd, home, user)
}

/// Yes if one of them is, unknown if one may be.
fn either(a: Tri, b: Tri) -> Tri {
    match (a, b) {
        (Tri::Yes, _) | (_, Tri::Yes) => Tri::Yes,
        (Tri::Unknown, _) | (_, Tri::Unknown) => Tri::Unknown,
        (Tri::No, Tri::No) => Tri::No,
    }
}

/// Yes if both are, unknown if both may be.
fn both(a: Tri, b: Tri) -> Tri {
    match (a, b) {
        (Tri::No, _) | (_, Tri::No) => Tri::No,
        (Tri::Unknown, _) | (_, Tri::Unknown) => Tri::Unknown,
        (Tri::Yes, Tri::Yes) => Tri::Yes,
    }
}
