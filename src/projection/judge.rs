//! A session diagnosed: facts in a timeline, playbooks over it, quotes from the record.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use crate::diagnosis::experience::Experience;
use crate::diagnosis::explain::{Explained, Stopped};
use crate::diagnosis::{self, Diagnosis, Judgement, Quotes, Sources, Verdict};
use crate::event::Stream;
use crate::id::FindingId;
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
    let diagnosis = with_quotes(store, &timeline, |quotes| {
        let sources = sources(view, &timeline, (&judgements, &experience), quotes);
        diagnosis::from_matches(playbooks, &matches, sources)
    })
    .await?;
    keep(store, view, playbooks, &diagnosis, learn).await;
    Ok(diagnosis)
}

/// Lays a finding open: each clause of its playbooks, each observation and what it did; `None` when
/// the session has no such finding.
///
/// # Errors
/// When the database does not answer.
pub async fn explain(
    store: &Store,
    view: &SessionView,
    playbooks: &[Playbook],
    now: Micros,
    finding: FindingId,
) -> Result<Option<Explained>, StoreError> {
    let timeline = timeline(view, now);
    let matches = playbook::run(playbooks, &timeline);
    let learn = Settings::read().learn;
    let experience =
        experience::of_others(store, view.id, playbooks, &matches, &timeline, learn).await?;
    let judgements = judgements(view);
    with_quotes(store, &timeline, |quotes| {
        let sources = sources(view, &timeline, (&judgements, &experience), quotes);
        diagnosis::explain::explain(playbooks, &matches, sources, finding)
    })
    .await
}

/// How far a playbook comes in a session, and what it fails on.
///
/// # Errors
/// When the database does not answer.
pub async fn why_not(
    store: &Store,
    view: &SessionView,
    playbook: &Playbook,
    now: Micros,
) -> Result<Stopped, StoreError> {
    let timeline = timeline(view, now);
    let why = playbook::explain::why_not(playbook, &timeline);
    with_quotes(store, &timeline, |quotes| {
        diagnosis::explain::stopped(
            why.clone(),
            sources(view, &timeline, (&[], &Experience::default()), quotes),
        )
    })
    .await
}

fn sources<'a>(
    view: &SessionView,
    timeline: &'a Timeline,
    (judgements, experience): (&'a [Judgement], &'a Experience),
    quotes: &'a Quotes<'a>,
) -> Sources<'a> {
    Sources {
        timeline,
        judgements,
        experience,
        quotes,
        session: view.id,
        relative_time: view.relative_time,
    }
}

/// Makes something that quotes the record. Quotes are asked for while it is made, and reading them
/// waits: the first pass notes which bytes are wanted, the second has them.
async fn with_quotes<T>(
    store: &Store,
    timeline: &Timeline,
    make: impl Fn(&Quotes<'_>) -> T,
) -> Result<T, StoreError> {
    let (unquoted, asked) = {
        let asked: RefCell<BTreeSet<Asked>> = RefCell::default();
        let note = |command, stream, from, to| {
            asked.borrow_mut().insert((command, stream, from, to));
            String::new()
        };
        let made = make(&note);
        (made, asked.take())
    };
    let mut quotes: HashMap<Asked, String> = HashMap::new();
    for wanted in asked {
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
    drop(unquoted);
    let quote = |command, stream, from, to| {
        quotes
            .get(&(command, stream, from, to))
            .cloned()
            .unwrap_or_default()
    };
    Ok(make(&quote))
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
