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
    let quote = |command, stream, from, to| {
        quotes
            .get(&(command, stream, from, to))
            .cloned()
            .unwrap_or_default()
    };
    let diagnosis = if quotes.is_empty() {
        unquoted
    } else {
        diagnosis::from_matches(playbooks, &matches, sources(&quote))
    };
    keep(store, view, playbooks, &diagnosis).await;
    Ok(diagnosis)
}

/// Keeps the findings for search and for lists, where the database can be written. They can be made
/// again at any time, so that a database that is busy is no failure.
async fn keep(store: &Store, view: &SessionView, playbooks: &[Playbook], diagnosis: &Diagnosis) {
    if store.is_read_only() {
        return;
    }
    let kept = async {
        let seq = store
            .session_row(view.id)
            .await?
            .map_or(0, |row| row.last_seq);
        let now = Diagnosed {
            seq,
            stamp: stamp(playbooks),
        };
        if store.diagnosed(view.id).await? != Some(now.clone()) {
            store
                .save_findings(view.id, &now, &diagnosis.findings)
                .await?;
        }
        Ok::<(), StoreError>(())
    };
    drop(kept.await);
}

/// What findings depend on besides the session: who read the output, and the playbooks.
pub fn stamp(playbooks: &[Playbook]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(facts::READER.as_bytes());
    for playbook in playbooks {
        hasher.update(playbook.text.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
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
