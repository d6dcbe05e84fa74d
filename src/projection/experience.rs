//! What other sessions showed and people said of it, for a session that is to be diagnosed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::diagnosis::experience::{Experience, PastError, PastFinding, error_fingerprint};
use crate::id::{FindingId, SessionId};
use crate::import::case::RECORDER;
use crate::playbook::{Matches, Playbook};
use crate::store::{JudgementRow, Store, StoreError};
use crate::timeline::Timeline;

/// Findings and errors of other sessions that are looked at, at most.
const MOST: u32 = 1_000;

/// Sessions whose titles are fetched: more are never shown.
const TITLES: usize = 60;

/// The last word on each finding: `rec dismiss` takes back what `rec confirm` said, and the other
/// way round.
pub fn last_words(judgements: Vec<JudgementRow>) -> HashMap<FindingId, JudgementRow> {
    let last = judgements.into_iter();
    last.map(|row| (row.finding, row)).collect()
}

/// The hypothesis that a confirmation names: the playbook's only one where it names none.
fn named(row: &JudgementRow, playbooks: &[Playbook]) -> Option<(String, String)> {
    if !row.confirmed {
        return None;
    }
    if let Some(hypothesis) = &row.hypothesis {
        // In a finding that several playbooks made, a hypothesis may stand with its playbook.
        let (playbook, hypothesis) = hypothesis
            .split_once('/')
            .unwrap_or((&row.playbook, hypothesis));
        return Some((playbook.to_owned(), hypothesis.to_owned()));
    }
    let playbook = playbooks.iter().find(|one| one.id == row.playbook)?;
    match playbook.hypotheses.as_slice() {
        [only] => Some((row.playbook.clone(), only.id.clone())),
        _ => None,
    }
}

/// In how many sessions each hypothesis was confirmed, but for one session.
pub(super) fn confirmed(
    last: &HashMap<FindingId, JudgementRow>,
    playbooks: &[Playbook],
    except: Option<SessionId>,
) -> BTreeMap<(String, String), usize> {
    let mut sessions: BTreeMap<(String, String), BTreeSet<SessionId>> = BTreeMap::new();
    for row in last.values().filter(|row| Some(row.session) != except) {
        if let Some(key) = named(row, playbooks) {
            sessions.entry(key).or_default().insert(row.session);
        }
    }
    let counts = sessions.into_iter();
    counts
        .map(|(key, sessions)| (key, sessions.len()))
        .collect()
}

/// Of these sessions, those that are a case taken in once more: it happened once. Of several that are
/// the same, the first counts; of those that are the same as this one, none.
async fn copies(
    store: &Store,
    session: SessionId,
    others: impl Iterator<Item = SessionId>,
) -> Result<BTreeSet<SessionId>, StoreError> {
    let mut known = BTreeSet::new();
    let others: Vec<SessionId> = others.filter(|other| known.insert(*other)).collect();
    let mut all = vec![session];
    all.extend(others.into_iter().filter(|other| *other != session));
    let recordings = store.recordings(&all, RECORDER).await?;
    let mut first = BTreeSet::new();
    Ok(all
        .into_iter()
        .filter(|one| {
            let recording = recordings.get(one);
            recording.is_some_and(|recording| !first.insert(recording))
        })
        .collect())
}

/// What is known from other sessions about what these playbooks found and what errors there are.
///
/// With `learn` off no prior moves; what was seen before is told all the same.
pub(super) async fn of_others(
    store: &Store,
    session: SessionId,
    playbooks: &[Playbook],
    matches: &Matches,
    timeline: &Timeline,
    learn: bool,
) -> Result<Experience, StoreError> {
    let fired: BTreeSet<&str> = matches
        .firings
        .iter()
        .filter_map(|firing| playbooks.get(firing.playbook))
        .map(|playbook| playbook.id.as_str())
        .collect();
    let errors: BTreeSet<&str> = timeline
        .entries
        .iter()
        .filter_map(|entry| error_fingerprint(&entry.fact))
        .collect();
    let mut out = Experience::default();
    if fired.is_empty() && errors.is_empty() {
        return Ok(out);
    }
    let mut last = last_words(store.all_judgements().await?);
    let errors: Vec<&str> = errors.into_iter().collect();
    let mut errors = if errors.is_empty() {
        Vec::new()
    } else {
        store.past_errors(&errors, session, MOST).await?
    };
    // What was confirmed where the same error stood says what it was, whichever playbook said it.
    let there: BTreeSet<SessionId> = errors.iter().map(|row| row.session).collect();
    let said: BTreeSet<&str> = last
        .values()
        .filter(|row| row.confirmed && there.contains(&row.session))
        .map(|row| row.playbook.as_str())
        .collect();
    let asked: Vec<&str> = fired.union(&said).copied().collect();
    let mut rows = store.past_findings(&asked, Some(session), MOST).await?;
    let judged: BTreeSet<SessionId> = last.values().map(|row| row.session).collect();
    let others = judged
        .into_iter()
        .chain(rows.iter().map(|row| row.session))
        .chain(errors.iter().map(|row| row.session));
    let copies = copies(store, session, others).await?;
    last.retain(|_, row| !copies.contains(&row.session));
    rows.retain(|row| !copies.contains(&row.session));
    errors.retain(|row| !copies.contains(&row.session));
    if learn {
        out.confirmed = confirmed(&last, playbooks, Some(session));
    }
    let mut titles: HashMap<SessionId, Option<String>> = HashMap::new();
    let sessions = rows.iter().map(|row| row.session);
    for id in sessions.chain(errors.iter().map(|row| row.session)) {
        if titles.len() >= TITLES {
            break;
        }
        if let std::collections::hash_map::Entry::Vacant(entry) = titles.entry(id) {
            entry.insert(store.session_row(id).await?.and_then(|row| row.title));
        }
    }
    let title = |id: SessionId| titles.get(&id).cloned().flatten();
    for row in rows {
        let word = last.get(&row.finding);
        if word.is_some_and(|word| !word.confirmed) {
            continue; // a person disagreed
        }
        let confirmed = word.is_some();
        let hypothesis = match word {
            Some(word) => named(word, playbooks).map(|(_, hypothesis)| hypothesis),
            None => row.lead,
        };
        out.findings.push(PastFinding {
            session: row.session,
            session_title: title(row.session),
            postmortem: row.postmortem,
            finding: row.finding,
            playbook: row.playbook,
            hypothesis,
            confirmed,
            title: row.title,
            number: row.number,
        });
    }
    // A word on a finding that is not stored (any more) counts all the same.
    for row in last.values() {
        let stored = out.findings.iter().any(|one| one.finding == row.finding);
        if row.confirmed
            && row.session != session
            && !stored
            && fired.contains(row.playbook.as_str())
        {
            out.findings.push(PastFinding {
                session: row.session,
                session_title: None,
                postmortem: false,
                finding: row.finding,
                playbook: row.playbook.clone(),
                hypothesis: named(row, playbooks).map(|(_, hypothesis)| hypothesis),
                confirmed: true,
                title: row.playbook.replace('-', " "),
                number: None,
            });
        }
    }
    out.errors = errors
        .into_iter()
        .map(|row| PastError {
            fingerprint: row.fingerprint,
            session_title: title(row.session),
            session: row.session,
            postmortem: row.postmortem,
            number: row.number,
        })
        .collect();
    Ok(out)
}
