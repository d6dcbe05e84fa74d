//! A finding laid open: each clause of its playbooks with the facts that met it, each observation
//! with how likely the hypotheses make it and what it did to them.

use serde::Serialize;

use super::findings::{Draft, gather, shown};
use super::hypotheses::Table;
use super::{Evidence, Finding, Sources, cascades, experience};
use crate::id::FindingId;
use crate::playbook::explain::{Clause, Role, WhyNot, explain as clauses_of};
use crate::playbook::{Firing, Matches, Playbook, render};
use crate::shell::Tri;

/// A finding laid open.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explained {
    /// The finding.
    pub finding: Finding,
    /// Findings that it follows from.
    pub follows_from: Vec<Related>,
    /// Findings that follow from it.
    pub root_of: Vec<Related>,
    /// The playbooks that found it.
    pub parts: Vec<ExplainedPart>,
}

/// A finding beside it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Related {
    /// Which.
    pub id: FindingId,
    /// In one sentence.
    pub title: String,
}

/// What one playbook saw.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplainedPart {
    /// The playbook.
    pub playbook: String,
    /// Its version.
    pub version: u32,
    /// Its clauses, in the order written.
    pub clauses: Vec<ClauseView>,
    /// Its observations, in the order written.
    pub observations: Vec<ObservationView>,
}

/// A clause and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClauseView {
    /// `step`, `unless`, `until`.
    pub role: Role,
    /// What it asks for.
    pub asks: String,
    /// The line of the playbook.
    pub line: usize,
    /// `yes`: it is so; `no`: a look says that it is not so; `unknown`: nobody looked.
    pub state: Tri,
    /// What says so.
    pub evidence: Vec<Evidence>,
}

/// An observation, and what it did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ObservationView {
    /// Its id within the playbook.
    pub id: String,
    /// What it says, or would say.
    pub says: String,
    /// `yes`, `no`, or `unknown`: nobody looked.
    pub state: Tri,
    /// Its group: of one group the one that tells most counts.
    pub group: Option<String>,
    /// It counted.
    pub counted: bool,
    /// What says so.
    pub evidence: Vec<Evidence>,
    /// What it did to each hypothesis, in the playbook's order, *other* last.
    pub effects: Vec<Effect>,
    /// Probes that would settle it, where it is unknown.
    pub probes: Vec<String>,
}

/// What an observation did to a hypothesis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// The hypothesis.
    pub hypothesis: String,
    /// How likely the hypothesis makes the observation.
    pub likely: f64,
    /// Belief before it.
    pub before: f64,
    /// Belief after it.
    pub after: f64,
}

/// Lays a finding open; `None` when there is none of that id.
pub fn explain(
    playbooks: &[Playbook],
    matches: &Matches,
    sources: Sources<'_>,
    id: FindingId,
) -> Option<Explained> {
    let mut drafts = gather(playbooks, matches, sources);
    experience::recall(&mut drafts, sources);
    cascades::hang(&mut drafts);
    let related = |draft: &Draft| Related {
        id: draft.finding.id,
        title: draft.finding.title.clone(),
    };
    let draft = drafts.iter().find(|draft| draft.finding.id == id)?;
    let parts = draft.parts.iter().filter_map(|part| {
        let firing = matches.firings.get(part.firing)?;
        let playbook = playbooks.get(firing.playbook)?;
        Some(ExplainedPart {
            playbook: playbook.id.clone(),
            version: playbook.version,
            clauses: clauses(playbook, firing, sources),
            observations: observations(playbook, firing, part.table.as_ref(), sources),
        })
    });
    Some(Explained {
        finding: draft.finding.clone(),
        follows_from: drafts
            .iter()
            .filter(|other| other.finding.cause_of.contains(&id))
            .map(related)
            .collect(),
        root_of: drafts
            .iter()
            .filter(|other| draft.finding.cause_of.contains(&other.finding.id))
            .map(related)
            .collect(),
        parts: parts.collect(),
    })
}

/// Why a playbook did not fire, with what it came to on record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stopped {
    /// What it failed on.
    #[serde(flatten)]
    pub why: WhyNot,
    /// What was matched.
    pub seen: Vec<Evidence>,
    /// What came nearest, or blocks or ends it.
    pub nearest: Option<Evidence>,
}

/// Why a playbook did not fire, with quotes.
pub fn stopped(why: WhyNot, sources: Sources<'_>) -> Stopped {
    let show = |(at, says): &(usize, String)| shown(sources, *at, says);
    Stopped {
        seen: why.entries.iter().filter_map(show).collect(),
        nearest: why.nearest.as_ref().and_then(show),
        why,
    }
}

fn clauses(playbook: &Playbook, firing: &Firing, sources: Sources<'_>) -> Vec<ClauseView> {
    let view = |clause: Clause| ClauseView {
        role: clause.role,
        asks: clause.asks,
        line: clause.line,
        state: clause.state,
        evidence: clause
            .entries
            .iter()
            .filter_map(|(at, says)| shown(sources, *at, says))
            .collect(),
    };
    let clauses = clauses_of(playbook, sources.timeline, firing);
    clauses.into_iter().map(view).collect()
}

fn observations(
    playbook: &Playbook,
    firing: &Firing,
    table: Option<&Table>,
    sources: Sources<'_>,
) -> Vec<ObservationView> {
    let Some(table) = table else {
        return Vec::new();
    };
    let counted = table.counts();
    let ids = || {
        let known = playbook.hypotheses.iter().map(|one| one.id.clone());
        known.chain(std::iter::once("other".to_owned()))
    };
    let mut belief = table.priors.clone();
    let each = playbook.observations.iter().enumerate();
    each.map(|(row, spec)| {
        let seen = firing
            .observations
            .iter()
            .find(|seen| seen.observation == row);
        let counts = counted.contains(&row);
        let before = belief.clone();
        if counts {
            belief = table.after(row, &before);
        }
        let likely = table.rows.get(row).map(|row| row.likely.clone());
        let likely = likely.unwrap_or_default();
        let state = seen.map_or(Tri::Unknown, |seen| seen.state);
        let entries = seen.map(|seen| seen.entries.as_slice()).unwrap_or_default();
        let says = seen
            .map(|seen| seen.says.clone())
            .filter(|says| !says.is_empty())
            .unwrap_or_else(|| render(&spec.says, sources.timeline, &firing.bindings, false));
        let probes = playbook.probes.iter();
        ObservationView {
            id: spec.id.clone(),
            state,
            group: spec.group.clone(),
            counted: counts,
            evidence: entries
                .iter()
                .filter_map(|at| shown(sources, *at, &says))
                .collect(),
            says,
            effects: ids()
                .enumerate()
                .map(|(at, hypothesis)| Effect {
                    hypothesis,
                    likely: likely.get(at).copied().unwrap_or_default(),
                    before: before.get(at).copied().unwrap_or_default(),
                    after: belief.get(at).copied().unwrap_or_default(),
                })
                .collect(),
            probes: probes
                .filter(|probe| state == Tri::Unknown && probe.yields.contains(&spec.id))
                .map(|probe| probe.id.clone())
                .collect(),
        }
    })
    .collect()
}
