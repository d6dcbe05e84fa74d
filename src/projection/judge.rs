//! A session diagnosed: facts in a timeline, playbooks over it, quotes from the record.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use crate::diagnosis::{self, Diagnosis, Judgement, Sources, Verdict};
use crate::event::Stream;
use crate::playbook::{self, Playbook};
use crate::projection::{SessionView, experience, facts};
use crate::settings::Settings;
use crate::store::{Diagnosed, Store, StoreError};
use crate::time::Micros;
use crate::timeline::{self, Timeline};

/// The bytes a quote asks for: command (an index), stream, first byte, one past the last.
type Asked = (usize, Stream, u64, u64);

/// Puts a session's facts in order and derives what follows.
pub fn timeline(view: &SessionView, now: Micros) -> Timeline {
    timeline::build(view.commands.clone(), view.as_of(now))
}

/// Says what is wrong in a session, judged at `now` (a live one) or at its end. What people confirmed
/// in other sessions counts, unless a person's settings say otherwise.
///
/// # Errors
/// When the database does not answer.
pub async fn diagnose(
    store: &Store,
    view: &SessionView,
    playbooks: &[Playbook],
    now: Micros,
) -> Result<Diagnosis, StoreError> {
    diagnose_with(store, view, playbooks, now, Settings::read().learn).await
}

/// The same; `learn` says whether what was confirmed in other sessions moves priors.
///
/// # Errors
/// When the database does not answer.
pub async fn diagnose_with(
    store: &Store,
    view: &SessionView,
    playbooks: &[Playbook],
    now: Micros,
    learn: bool,
) -> Result<Diagnosis, StoreError> {
    let timeline = timeline(view, now);
    let matches = playbook::run(playbooks, &timeline);
    let experience =
        experience::of_others(store, view.id, playbooks, &matches, &timeline, learn).await?;
    let judgements = judgements(view);
    let sources = |quotes| Sources {
        timeline: &timeline,
        judgements: &judgements,
        experience: &experience,
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
    keep(store, view, playbooks, &diagnosis, learn).await;
    Ok(diagnosis)
}

/// Keeps the findings for search and for lists, where the database can be written. They can be made
/// again at any time, so that a database that is busy is no failure.
async fn keep(
    store: &Store,
    view: &SessionView,
    playbooks: &[Playbook],
    diagnosis: &Diagnosis,
    learn: bool,
) {
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
            stamp: stamp(store, playbooks, learn).await?,
        };
        if store.diagnosed(view.id).await? != Some(now.clone()) {
            // What was seen in other sessions is theirs: told when asked, not kept.
            let mut findings = diagnosis.findings.clone();
            for finding in &mut findings {
                finding.seen_before = None;
            }
            store.save_findings(view.id, &now, &findings).await?;
        }
        Ok::<(), StoreError>(())
    };
    drop(kept.await);
}

/// What findings depend on besides the session: who read the output, the playbooks, and what people
/// confirmed anywhere, where that counts.
///
/// # Errors
/// When the database does not answer.
pub async fn stamp(
    store: &Store,
    playbooks: &[Playbook],
    learn: bool,
) -> Result<String, StoreError> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(facts::READER.as_bytes());
    for playbook in playbooks {
        hasher.update(playbook.text.as_bytes());
    }
    if learn {
        let last = experience::last_words(store.all_judgements().await?);
        for ((playbook, hypothesis), count) in experience::confirmed(&last, playbooks, None) {
            hasher.update(format!("{playbook}/{hypothesis} {count}\n").as_bytes());
        }
    }
    Ok(hasher.finalize().to_hex()[..16].to_owned())
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
