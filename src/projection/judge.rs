//! A session diagnosed: facts in a timeline, playbooks over it, quotes from the record.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use crate::diagnosis::{self, Diagnosis, Judgement, Sources, Verdict};
use crate::event::Stream;
use crate::playbook::{self, Playbook};
use crate::projection::{SessionView, facts};
use crate::store::{Diagnosed, Store, StoreError};
use crate::time::Micros;
use crate::timeline::{self, Timeline};

/// The bytes a quote asks for: command (an index), stream, first byte, one past the last.
type Asked = (usize, Stream, u64, u64);

/// Puts a session's facts in order and derives what follows.
pub fn timeline(view: &SessionView, now: Micros) -> Timeline {
    timeline::build(view.commands.clone(), view.as_of(now))
}

/// Says what is wrong in a session, judged at `now` (a live one) or at its end.
///
/// # Errors
/// When the database does not answer.
pub async fn diagnose(
    store: &Store,
    view: &SessionView,
    playbooks: &[Playbook],
    now: Micros,
) -> Result<Diagnosis, StoreError> {
    let timeline = timeline(view, now);
    let matches = playbook::run(playbooks, &timeline);
    let judgements = judgements(view);
    let sources = |quotes| Sources {
        timeline: &timeline,
        judgements: &judgements,
        quotes,
        session: view.id,
        relative_time: view.relative_time,
    };
    // Quotes are asked for while findings are made, and reading them waits: the first pass notes
    // which bytes are wanted, the second has them.
    let asked: RefCell<BTreeSet<Asked>> = RefCell::default();
    let note = |command, stream, from, to| {
        asked.borrow_mut().insert((command, stream, from, to));
        String::new()
    };
    let unquoted = diagnosis::from_matches(playbooks, &matches, sources(&note));
    let mut quotes: HashMap<Asked, String> = HashMap::new();
    for wanted in asked.take() {
        let (command, stream, from, to) = wanted;
        let Some(command) = timeline.commands.get(command) else {
            continue;
        };
        let bytes = store.output_range(command.id, stream, from, to).await?;
        quotes.insert(wanted, String::from_utf8_lossy(&bytes).into_owned());
    }
    if quotes.is_empty() {
        return Ok(unquoted);
    }
    let quote = |command, stream, from, to| {
        quotes
            .get(&(command, stream, from, to))
            .cloned()
            .unwrap_or_default()
    };
    Ok(diagnosis::from_matches(
        playbooks,
        &matches,
        sources(&quote),
    ))
}

fn judgements(view: &SessionView) -> Vec<Judgement> {
    view.judgements
        .iter()
        .map(|row| Judgement {
            finding: row.finding,
            verdict: if row.confirmed {
                Verdict::Confirmed {
                    hypothesis: row.hypothesis.clone(),
                }
            } else {
                Verdict::Dismissed
            },
        })
        .collect()
}
