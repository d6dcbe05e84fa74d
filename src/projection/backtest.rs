//! Playbooks over what was recorded before: where each would have fired, and what a change to it
//! adds and loses.
//!
//! Session by session: one is put together, matched and let go before the next. What is kept is
//! where a playbook fired, and of that at most [`MOST`] places a playbook.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::id::{CommandId, SessionId};
use crate::playbook::{Engine, Playbook};
use crate::projection::{self, judge};
use crate::store::{Page, Store, StoreError};
use crate::time::Micros;
use crate::timeline::Timeline;

/// Places that are listed of a playbook; the rest is counted.
pub const MOST: usize = 500;

/// A playbook to try, and the version before.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The one to try.
    pub playbook: Playbook,
    /// What it is compared with; none where it is new.
    pub before: Option<Playbook>,
}

/// What a change to a playbook does to a firing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// The version before fires there too.
    Same,
    /// Only the new one does.
    Added,
    /// Only the version before does.
    Lost,
}

/// Where a playbook fires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The session.
    pub session: SessionId,
    /// Its title.
    pub title: Option<String>,
    /// The command of its first entry.
    pub command_id: CommandId,
    /// Its number.
    pub number: u32,
    /// Its line.
    pub line: String,
    /// It was over by the session's end.
    pub resolved: bool,
    /// What the change does to it.
    pub change: Change,
}

/// What came of a playbook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Tried {
    /// Firings of the new version, and of the one before.
    pub fired: usize,
    /// Those of them that are new.
    pub added: usize,
    /// Those of the version before that are gone.
    pub lost: usize,
    /// Sessions it fires on.
    pub sessions: usize,
    /// Sessions it fires on and did not before.
    pub sessions_added: usize,
    /// Sessions it fired on before and does not.
    pub sessions_lost: usize,
    /// Where, at most [`MOST`] of them.
    pub places: Vec<Place>,
}

/// What came of all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Backtest {
    /// Sessions that were gone through.
    pub sessions: usize,
    /// Their commands.
    pub commands: usize,
    /// Sessions that could not be put together.
    pub unread: Vec<SessionId>,
    /// What came of each candidate, in their order.
    pub tried: Vec<Tried>,
}

/// Tries playbooks over every session in the store, newest first.
///
/// # Errors
/// When the database does not answer.
pub async fn backtest(
    store: &Store,
    candidates: &[Candidate],
    now: Micros,
) -> Result<Backtest, StoreError> {
    let mut out = Backtest {
        tried: vec![Tried::default(); candidates.len()],
        ..Backtest::default()
    };
    // New and old versions are matched in one go; `whose` says which is which.
    let mut playbooks: Vec<Playbook> = Vec::new();
    let mut whose: Vec<(usize, bool)> = Vec::new();
    for (index, candidate) in candidates.iter().enumerate() {
        playbooks.push(candidate.playbook.clone());
        whose.push((index, true));
        let differs = |before: &&Playbook| before.text != candidate.playbook.text;
        if let Some(before) = candidate.before.as_ref().filter(differs) {
            playbooks.push(before.clone());
            whose.push((index, false));
        }
    }
    let engine = Engine::new(&playbooks);
    let rows = store.sessions(Page::ALL).await?;
    for row in rows {
        let Ok(view) = projection::session(store, row.id).await else {
            out.unread.push(row.id);
            continue;
        };
        out.sessions += 1;
        out.commands += view.commands.len();
        let timeline = judge::timeline(&view, now);
        let matches = engine.run(&timeline);
        // By candidate and identity: fired by the new one, by the old one, and whether it is over.
        let mut seen: BTreeMap<(usize, usize, String), (bool, bool, bool)> = BTreeMap::new();
        for firing in &matches.firings {
            let Some((candidate, new)) = whose.get(firing.playbook).copied() else {
                continue;
            };
            let key = (candidate, firing.anchor, firing.scope_key.clone());
            let known = seen.entry(key).or_insert((false, false, false));
            if new {
                known.0 = true;
                known.2 = firing.resolved.is_some();
            } else {
                known.1 = true;
            }
        }
        for (index, candidate) in candidates.iter().enumerate() {
            let Some(tried) = out.tried.get_mut(index) else {
                continue;
            };
            // An unchanged version was not matched twice.
            let unchanged = candidate
                .before
                .as_ref()
                .is_some_and(|before| before.text == candidate.playbook.text);
            let places = seen.iter().filter(|((of, ..), _)| *of == index).map(
                |((_, anchor, _), (new, old, resolved))| {
                    let change = match (new, *old || (*new && unchanged)) {
                        (true, true) => Change::Same,
                        (true, false) => Change::Added,
                        (false, _) => Change::Lost,
                    };
                    (*anchor, change, *resolved)
                },
            );
            tried.take(row.id, view.title.as_ref(), &timeline, places);
        }
    }
    Ok(out)
}

impl Tried {
    fn take(
        &mut self,
        session: SessionId,
        title: Option<&String>,
        timeline: &Timeline,
        places: impl Iterator<Item = (usize, Change, bool)>,
    ) {
        let (mut new, mut old) = (false, false);
        for (anchor, change, resolved) in places {
            new |= change != Change::Lost;
            old |= change != Change::Added;
            self.fired += usize::from(change != Change::Lost);
            self.added += usize::from(change == Change::Added);
            self.lost += usize::from(change == Change::Lost);
            let command = timeline.entries.get(anchor);
            let command = command.and_then(|entry| timeline.commands.get(entry.command));
            if let Some(command) = command.filter(|_| self.places.len() < MOST) {
                self.places.push(Place {
                    session,
                    title: title.cloned(),
                    command_id: command.id,
                    number: command.number,
                    line: command.line.clone(),
                    resolved,
                    change,
                });
            }
        }
        self.sessions += usize::from(new);
        self.sessions_added += usize::from(new && !old);
        self.sessions_lost += usize::from(old && !new);
    }
}
