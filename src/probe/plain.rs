//! Programs whose output nobody reads here: their lines are claimed, so that they do not go to
//! another.

use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::shell::Invocation;

/// Any program.
pub(super) struct Plain;

impl Probe for Plain {
    fn recognises(&self, _invocation: &Invocation) -> bool {
        true
    }

    fn grammar<'a>(&self, _ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|_, _| Fit::Perhaps)
    }

    fn read(&self, _lines: &[Shown], _ctx: &Ctx<'_>, _sink: &mut Sink<'_>) {}

    fn complains(&self, _line: &str, ctx: &Ctx<'_>) -> Fit {
        if super::plan::is_quiet(ctx.invocation) {
            Fit::No
        } else {
            Fit::Perhaps
        }
    }
}
