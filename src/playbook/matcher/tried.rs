//! What a search knows already of its steps.
//!
//! A backtracking search comes to a step again and again, with other entries bound before it. What
//! the step may match depends on few of them: those that its condition names, and what its joins
//! compare. With the same of these, a step that met nothing will not meet anything from a later
//! place on, and the runs of a series are the same. And where what comes after an entry failed for
//! none of its own reasons, no other entry in its place would help: the search goes back past it
//! (conflict-directed backjumping: Prosser, Computational Intelligence 9(3), 1993).

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::super::identity::{has, launch_of};
use super::super::series::Run;
use super::super::{Bind, Form, JoinKind, JoinTo, Step};
use super::{Search, State};

/// What a step's matches depend on: the step, and what is bound, as numbers.
pub(super) type Key = (usize, Vec<usize>);

/// The runs of a series after an entry, or after none.
type Runs = HashMap<(Key, Option<usize>), Rc<[Run]>>;

/// The steps that were tried.
#[derive(Debug, Default)]
pub(super) struct Tried {
    /// Steps that met nothing, and the earliest place that they were searched from: `None` before
    /// all, else the entry that the step comes after.
    nothing: RefCell<HashMap<Key, Option<usize>>>,
    runs: RefCell<Runs>,
}

impl Tried {
    /// Whether a step is known to meet nothing after an entry whose command begins at `start`.
    pub(super) fn meets_nothing(&self, key: &Key, start: Option<usize>) -> bool {
        match self.nothing.borrow().get(key) {
            None => false,
            Some(None) => true,
            // All that may follow lies behind the place that was searched from.
            Some(Some(from)) => start.is_some_and(|start| start > *from),
        }
    }

    /// Notes that a step met nothing after an entry.
    pub(super) fn met_nothing(&self, key: Key, previous: Option<usize>) {
        let mut nothing = self.nothing.borrow_mut();
        let known = nothing.entry(key).or_insert(previous);
        *known = (*known).min(previous);
    }

    /// The runs of a series, found once.
    pub(super) fn runs(
        &self,
        key: Key,
        previous: Option<usize>,
        find: impl FnOnce() -> Vec<Run>,
    ) -> Rc<[Run]> {
        if let Some(known) = self.runs.borrow().get(&(key.clone(), previous)) {
            return Rc::clone(known);
        }
        let found: Rc<[Run]> = find().into();
        let mut runs = self.runs.borrow_mut();
        runs.insert((key, previous), Rc::clone(&found));
        found
    }
}

/// All entries matched.
pub(super) const EVERYTHING: u64 = u64::MAX;

/// The entry matched at a place, in a set of them; all of them where it is too far in.
pub(super) fn bit(place: usize) -> u64 {
    if place < 63 { 1 << place } else { EVERYTHING }
}

impl Search<'_> {
    /// What the matches of a step depend on besides the place that it comes after (`None` where the
    /// step is not come to again), and which of the entries matched that is.
    pub(super) fn asks(&self, step: &Step, bind: &Bind, state: &State<'_>) -> (Option<Key>, u64) {
        if self.observing {
            return (None, EVERYTHING);
        }
        if state.hits.is_empty() {
            return (None, 0);
        }
        let bound = |name: &str| {
            let found = state.bound.iter().rev().find(|(known, _)| &**known == name);
            found.map(|(_, at)| *at)
        };
        let place = |at: Option<usize>| -> u64 {
            let found = at.and_then(|at| state.hits.iter().position(|hit| hit.entry == at));
            found.map_or(EVERYTHING, bit)
        };
        let mut parts = Vec::new();
        let timed = step.within_s.is_some() || step.after_s.is_some();
        let mut places = match state.previous {
            None => 0,
            // Another of a group may be the latest of it, and so in time.
            Some(_) if timed => EVERYTHING,
            Some(previous) => self.after(previous, state),
        };
        for name in self.memory.names(self.playbook, bind) {
            let at = bound(name);
            // The launch is bound by whichever entry belongs to one first.
            places |= if **name == *"launch" {
                EVERYTHING
            } else {
                place(at)
            };
            parts.push(at.unwrap_or(usize::MAX));
        }
        let default = self.window.default_join.filter(|_| bind.on.is_empty());
        let joins = bind.on.iter().map(|join| (join.kind, join.to.as_ref()));
        for (kind, to) in joins.chain(default.map(|kind| (kind, None))) {
            let at = match to {
                Some(JoinTo::Value(_)) => continue, // its names are known
                Some(JoinTo::Binding(name)) => {
                    let at = bound(name);
                    places |= match kind {
                        JoinKind::Session => 0,
                        JoinKind::Host => self.host_of(at, state),
                        _ => place(at),
                    };
                    at
                }
                None => {
                    let latest =
                        (state.hits.iter()).rposition(|hit| has(self.timeline, kind, hit.entry));
                    let at = latest
                        .and_then(|at| state.hits.get(at))
                        .map(|hit| hit.entry);
                    places |= match (kind, latest) {
                        (JoinKind::Session, _) => 0,
                        (JoinKind::Host, _) => self.host_of(at, state),
                        // Those behind it could have such an identity.
                        (_, Some(latest)) => EVERYTHING << latest.min(63),
                        (_, None) => EVERYTHING,
                    };
                    at
                }
            };
            parts.push(at.map_or(usize::MAX, |at| self.identity_number(kind, at)));
        }
        (Some((bind.slot, parts)), places)
    }

    /// The entries matched that decide after which one the next comes: the latest, those that could
    /// come later in its place, and those of its command, within which order is not all.
    fn after(&self, previous: usize, state: &State<'_>) -> u64 {
        let Some(place) = state.hits.iter().position(|hit| hit.entry == previous) else {
            return EVERYTHING;
        };
        let command = |at: usize| self.timeline.entries.get(at).map(|entry| entry.command);
        let own = state.hits.iter().enumerate();
        let own = own.filter(|(_, hit)| command(hit.entry) == command(previous));
        let behind = EVERYTHING << place.min(63);
        own.fold(behind, |all, (at, _)| all | bit(at))
    }

    /// The entry matched that decides on which host an entry matched is: it may be joined by its host
    /// to one before it.
    fn host_of(&self, at: Option<usize>, state: &State<'_>) -> u64 {
        let Some(mut place) = at.and_then(|at| state.hits.iter().position(|hit| hit.entry == at))
        else {
            return EVERYTHING;
        };
        while let Some(hit) = state.hits.get(place)
            && place > 0
        {
            let bind = match &hit.step.form {
                Form::Fact(bind) => bind,
                Form::Series(series) => &series.bind,
                _ => break,
            };
            let same = |kind: JoinKind| matches!(kind, JoinKind::Host | JoinKind::Command);
            let Some(join) = bind.on.iter().find(|join| same(join.kind)) else {
                break;
            };
            let before = match &join.to {
                None => Some(place - 1),
                Some(JoinTo::Binding(name)) => {
                    let bound = state.bound.iter().rev().find(|(known, _)| known == name);
                    bound.and_then(|(_, at)| state.hits.iter().position(|hit| hit.entry == *at))
                }
                Some(JoinTo::Value(_)) => None,
            };
            match before.filter(|before| *before < place) {
                Some(before) => place = before,
                None => break,
            }
        }
        bit(place)
    }

    /// The identity by which an entry is joined to, as a number: entries of one number are joined to
    /// by the same entries.
    fn identity_number(&self, kind: JoinKind, at: usize) -> usize {
        match kind {
            JoinKind::Session => 0,
            JoinKind::Host => self.index.host(at),
            JoinKind::Command => {
                let entry = self.timeline.entries.get(at);
                entry.map_or(usize::MAX, |entry| entry.command)
            }
            // Entries of no launch are told apart by their place: each is its own.
            JoinKind::Launch => launch_of(self.timeline, at).unwrap_or_else(|| usize::MAX - 1 - at),
            _ => at,
        }
    }
}
