//! Experience: what other sessions showed, and what people said of it.
//!
//! A judgement that names a hypothesis is a count for it; the counts of other sessions move the
//! priors that a playbook's author wrote, as in a Dirichlet prior whose weight is stated here. It is
//! passed in, so that a diagnosis stays a function of what it is given; taking a judgement back
//! takes its count back.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::findings::Draft;
use super::{Hypothesis, Sources};
use crate::fact::Fact;
use crate::id::{CommandId, FindingId, SessionId};
use crate::playbook::Playbook;
use crate::shell::Tri;
use crate::timeline::Timeline;

/// What the author's prior weighs, in confirmations.
pub const PRIOR_WEIGHT: f64 = 4.0;
/// Confirmations count for so many at most, all hypotheses of a playbook together: the author keeps
/// a quarter.
pub const MOST_COUNTED: f64 = 12.0;
/// Sessions that are listed, at most.
const LISTED: usize = 8;
/// Errors seen before that are listed, at most.
const ERRORS_LISTED: usize = 5;

/// What other sessions showed, and what people said of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Experience {
    /// In how many other sessions a hypothesis of a playbook was confirmed; empty where priors are
    /// not to move.
    pub confirmed: BTreeMap<(String, String), usize>,
    /// Findings of other sessions, the newest session first; dismissed ones are none.
    pub findings: Vec<PastFinding>,
    /// Errors of other sessions, the newest session first.
    pub errors: Vec<PastError>,
}

/// A finding of another session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastFinding {
    /// The session.
    pub session: SessionId,
    /// Its title.
    pub session_title: Option<String>,
    /// It has a saved postmortem.
    pub postmortem: bool,
    /// The finding.
    pub finding: FindingId,
    /// Its playbook.
    pub playbook: String,
    /// The hypothesis that was confirmed, else the likeliest one.
    pub hypothesis: Option<String>,
    /// A person agreed with it.
    pub confirmed: bool,
    /// In one sentence.
    pub title: String,
    /// The number of its first command.
    pub number: Option<u32>,
}

/// An error of another session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastError {
    /// Its fingerprint.
    pub fingerprint: String,
    /// The session.
    pub session: SessionId,
    /// Its title.
    pub session_title: Option<String>,
    /// It has a saved postmortem.
    pub postmortem: bool,
    /// The number of the first command that showed it.
    pub number: u32,
}

/// How confirmations moved a prior.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PriorMove {
    /// What the playbook says, scaled.
    pub from: f64,
    /// What it is with the confirmations.
    pub to: f64,
    /// Sessions in which this hypothesis was confirmed.
    pub confirmations: usize,
}

/// A session in which the same was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeenIn {
    /// The session.
    pub session: SessionId,
    /// Its title.
    pub title: Option<String>,
    /// What is the same: `finding`, `error`.
    pub by: Vec<&'static str>,
    /// The number of the command there.
    pub number: Option<u32>,
    /// What was found there.
    pub finding: Option<FindingId>,
    /// In one sentence.
    pub what: Option<String>,
    /// The hypothesis confirmed, else the likeliest one.
    pub hypothesis: Option<String>,
    /// A person agreed.
    pub confirmed: bool,
    /// It has a saved postmortem.
    pub postmortem: bool,
}

/// A cause that was confirmed in other sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfirmedCause {
    /// The hypothesis; null where the finding was confirmed as a whole.
    pub hypothesis: Option<String>,
    /// In words.
    pub title: String,
    /// Where.
    pub sessions: Vec<SessionId>,
}

/// What is known of a finding from other sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeenBefore {
    /// In how many sessions.
    pub times: usize,
    /// What it was there, as far as people said so.
    pub confirmed: Vec<ConfirmedCause>,
    /// Which, the newest first; not more than a few.
    pub sessions: Vec<SeenIn>,
}

/// An error that no finding speaks of, and that other sessions showed too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeenError {
    /// The command that showed it.
    pub command_id: CommandId,
    /// Its number.
    pub number: u32,
    /// Its line.
    pub line: String,
    /// The error.
    pub text: String,
    /// In how many other sessions.
    pub times: usize,
    /// Which, the newest first.
    pub sessions: Vec<SeenIn>,
}

impl Experience {
    /// The confirmations of a playbook's hypotheses, in their order.
    pub(super) fn counts(&self, playbook: &Playbook) -> Vec<usize> {
        let hypotheses = playbook.hypotheses.iter();
        let count = |id: &String| {
            let key = (playbook.id.clone(), id.clone());
            self.confirmed.get(&key).copied().unwrap_or(0)
        };
        hypotheses.map(|hypothesis| count(&hypothesis.id)).collect()
    }
}

/// Priors (that sum to 1) with confirmations counted in.
pub(super) fn moved(priors: &[f64], counts: &[usize]) -> Vec<f64> {
    let counts: Vec<f64> = counts
        .iter()
        .map(|count| f64::from(u32::try_from(*count).unwrap_or(u32::MAX)))
        .collect();
    let all: f64 = counts.iter().sum();
    if all <= 0.0 {
        return priors.to_vec();
    }
    let counted = all.min(MOST_COUNTED);
    let sum: f64 = priors.iter().sum();
    priors
        .iter()
        .zip(&counts)
        .map(|(prior, count)| {
            (PRIOR_WEIGHT * prior / sum + count / all * counted) / (PRIOR_WEIGHT + counted)
        })
        .collect()
}

/// The fingerprint of an error that is of this run and means something.
pub fn error_fingerprint(fact: &Fact) -> Option<&str> {
    let fingerprint = match fact {
        Fact::Line(line)
            if matches!(line.level.as_str(), "error" | "fatal")
                && !line.benign
                && !line.quoted
                && line.old != Tri::Yes =>
        {
            &line.fingerprint
        }
        Fact::Traceback(trace) if trace.old != Tri::Yes && !trace.quoted => &trace.fingerprint,
        _ => return None,
    };
    Some(fingerprint.as_str()).filter(|text| !text.is_empty())
}

fn fingerprints<'a>(
    timeline: &'a Timeline,
    entries: impl IntoIterator<Item = &'a usize>,
) -> BTreeSet<&'a str> {
    let entries = entries.into_iter();
    entries
        .filter_map(|entry| timeline.entries.get(*entry))
        .filter_map(|entry| error_fingerprint(&entry.fact))
        .collect()
}

/// Says of each finding where it was seen before; gives the errors that no finding speaks of.
pub(super) fn recall(drafts: &mut [Draft], sources: Sources<'_>) -> Vec<SeenError> {
    let past = sources.experience;
    if past.findings.is_empty() && past.errors.is_empty() {
        return Vec::new();
    }
    let timeline = sources.timeline;
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for draft in drafts.iter_mut() {
        let errors = fingerprints(timeline, &draft.entries);
        draft.finding.seen_before = seen_before(draft, &errors, past);
        told.extend(errors);
    }
    let mut out: Vec<SeenError> = Vec::new();
    for entry in &timeline.entries {
        let (Some(fingerprint), Some(command)) = (
            error_fingerprint(&entry.fact),
            timeline.commands.get(entry.command),
        ) else {
            continue;
        };
        if !told.insert(fingerprint) {
            continue;
        }
        let sessions = by_error(past, &BTreeSet::from([fingerprint]));
        if sessions.is_empty() {
            continue;
        }
        let text = match &entry.fact {
            Fact::Traceback(trace) => format!("{}: {}", trace.exception, trace.message),
            Fact::Line(line) => line.text.clone(),
            _ => String::new(),
        };
        out.push(SeenError {
            command_id: command.id,
            number: command.number,
            line: command.line.clone(),
            text: text.chars().take(300).collect(),
            times: sessions.len(),
            sessions: sessions.into_iter().take(LISTED).collect(),
        });
        if out.len() == ERRORS_LISTED {
            break;
        }
    }
    out
}

/// Sessions that showed one of these errors, one row a session.
fn by_error(past: &Experience, fingerprints: &BTreeSet<&str>) -> Vec<SeenIn> {
    let mut out: Vec<SeenIn> = Vec::new();
    for error in &past.errors {
        let known = out.iter().any(|seen| seen.session == error.session);
        if known || !fingerprints.contains(error.fingerprint.as_str()) {
            continue;
        }
        // What was found there, above all what a person agreed with.
        let there = || {
            past.findings
                .iter()
                .filter(|one| one.session == error.session)
        };
        let found = there().find(|one| one.confirmed);
        out.push(SeenIn {
            session: error.session,
            title: error.session_title.clone(),
            by: vec!["error"],
            number: Some(error.number),
            finding: found.map(|one| one.finding),
            what: found.map(|one| one.title.clone()),
            hypothesis: found.and_then(|one| one.hypothesis.clone()),
            confirmed: found.is_some(),
            postmortem: error.postmortem,
        });
    }
    out
}

fn seen_before(draft: &Draft, errors: &BTreeSet<&str>, past: &Experience) -> Option<SeenBefore> {
    let finding = &draft.finding;
    let lead = finding.hypotheses.first().map(|one| one.id.as_str());
    let same: Vec<&PastFinding> = past
        .findings
        .iter()
        .filter(|one| draft.playbooks.contains(&one.playbook))
        .filter(|one| one.confirmed || one.hypothesis.as_deref() == lead)
        .collect();
    let mut sessions = by_error(past, errors);
    for one in &same {
        if let Some(known) = sessions.iter_mut().find(|seen| seen.session == one.session) {
            if !known.by.contains(&"finding") {
                known.by.insert(0, "finding");
            }
            if known.finding.is_none() || (one.confirmed && !known.confirmed) {
                known.finding = Some(one.finding);
                known.what = Some(one.title.clone());
                known.hypothesis.clone_from(&one.hypothesis);
                known.confirmed = one.confirmed;
                known.number = one.number.or(known.number);
            }
            continue;
        }
        sessions.push(SeenIn {
            session: one.session,
            title: one.session_title.clone(),
            by: vec!["finding"],
            number: one.number,
            finding: Some(one.finding),
            what: Some(one.title.clone()),
            hypothesis: one.hypothesis.clone(),
            confirmed: one.confirmed,
            postmortem: one.postmortem,
        });
    }
    if sessions.is_empty() {
        return None;
    }
    let mut confirmed: Vec<ConfirmedCause> = Vec::new();
    for one in same.iter().filter(|one| one.confirmed) {
        match confirmed
            .iter_mut()
            .find(|cause| cause.hypothesis == one.hypothesis)
        {
            Some(cause) if cause.sessions.contains(&one.session) => {}
            Some(cause) => cause.sessions.push(one.session),
            None => confirmed.push(ConfirmedCause {
                hypothesis: one.hypothesis.clone(),
                title: cause_title(&finding.hypotheses, one),
                sessions: vec![one.session],
            }),
        }
    }
    confirmed.sort_by_key(|cause| std::cmp::Reverse(cause.sessions.len()));
    // What people agreed with says most, then what is newest.
    sessions.sort_by_key(|seen| !seen.confirmed);
    let times = sessions.len();
    sessions.truncate(LISTED);
    Some(SeenBefore {
        times,
        confirmed,
        sessions,
    })
}

/// A cause in words: those of the hypothesis here, else those of the finding there.
fn cause_title(hypotheses: &[Hypothesis], one: &PastFinding) -> String {
    let known = hypotheses
        .iter()
        .find(|known| Some(known.id.as_str()) == one.hypothesis.as_deref());
    known.map_or_else(|| one.title.clone(), |known| known.title.clone())
}

#[cfg(test)]
mod tests {
    use super::moved;

    fn close(got: &[f64], want: &[f64]) {
        for (got, want) in got.iter().zip(want) {
            assert!((got - want).abs() < 5e-4, "{got} is not {want}");
        }
    }

    #[test]
    fn confirmations_move_a_prior_by_their_weight() {
        close(&moved(&[0.25, 0.75], &[0, 0]), &[0.25, 0.75]);
        // (4 × .25 + 3) ÷ 7 and (4 × .75) ÷ 7
        close(&moved(&[0.25, 0.75], &[3, 0]), &[0.5714, 0.4286]);
        // Evenly confirmed ones even out what the author said.
        close(&moved(&[0.25, 0.75], &[2, 2]), &[0.375, 0.625]);
    }

    #[test]
    fn however_many_the_author_keeps_a_quarter() {
        close(&moved(&[0.2, 0.8], &[1_000_000, 0]), &[0.8, 0.2]);
        close(&moved(&[0.2, 0.8], &[12, 0]), &[0.8, 0.2]);
    }
}
