//! From the finished tree: what was launched, written, killed and looked for.

use super::build::{Builder, Note};
use super::{Invocation, Tri, path};

mod kills;
mod launches;
mod own;
mod programs;
mod writes;

/// Fills in what follows from the invocations.
pub(super) fn derive(b: &mut Builder) {
    let launches = launches::launches(b);
    let writes = writes::writes(b);
    let (kills, looks) = kills::kills(b);
    b.tree.launches = launches;
    b.tree.writes = writes;
    b.tree.kills = kills;
    b.tree.looks = looks;
}

/// A path of an invocation, made independent of its working directory where that is known.
fn resolved(invocation: &Invocation, note: &Note, written: &str) -> Option<String> {
    let user = invocation.place.user.as_deref();
    path::resolve(written, invocation.cwd.as_deref(), note.home, user)
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
