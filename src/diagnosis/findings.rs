//! Findings: what fired, with its belief, claim, severity and evidence; one situation shown once.

use std::collections::{BTreeMap, BTreeSet};

use super::experience::PriorMove;
use super::hypotheses::{Belief, Table};
use super::{
    Claim, Evidence, Finding, Hypothesis, Judgement, Scope, Severity, Sources, Status, Verdict,
};
use crate::id::FindingId;
use crate::playbook::{Firing, HypothesisSpec, Matches, Playbook, ScopeKey, Template, render};
use crate::shell::Tri;
use crate::timeline::Timeline;

/// A quote is shortened past this many characters.
const QUOTE_CHARS: usize = 300;

/// A finding on its way to the reader, with what is needed to merge, hang and ask on.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    /// What the reader gets.
    pub(super) finding: Finding,
    /// Its launch, an index into the timeline's launches.
    pub(super) launch: Option<usize>,
    /// Its command, or that of its launch: an index into the timeline's commands.
    pub(super) command: Option<usize>,
    /// Entries behind it.
    pub(super) entries: BTreeSet<usize>,
    /// Commands behind it.
    pub(super) commands: BTreeSet<usize>,
    /// Playbooks that found it.
    pub(super) playbooks: BTreeSet<String>,
    /// What its playbooks say follows from it.
    pub(super) root_of: BTreeSet<String>,
    /// The firings behind it, and their tables of belief.
    pub(super) parts: Vec<Part>,
}

/// A firing behind a finding.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// An index into [`Matches::firings`].
    pub(super) firing: usize,
    /// Its hypotheses and observations; `None` when it has none.
    pub(super) table: Option<Table>,
}

/// Makes the findings of what fired, each situation once, in the order of what happened.
pub(super) fn gather(
    playbooks: &[Playbook],
    matches: &Matches,
    sources: Sources<'_>,
) -> Vec<Draft> {
    let anchors = Anchors::new(sources.timeline);
    let mut drafts: Vec<Draft> = matches
        .firings
        .iter()
        .enumerate()
        .filter_map(|(index, firing)| {
            let playbook = playbooks.get(firing.playbook)?;
            draft(playbook, index, firing, &anchors, sources)
        })
        .collect();
    drafts.sort_by(|one, other| {
        let key = |draft: &Draft| (draft.finding.since, draft.finding.id);
        key(one)
            .cmp(&key(other))
            .then_with(|| one.finding.playbook.cmp(&other.finding.playbook))
    });
    drafts.dedup_by(|later, earlier| later.finding.id == earlier.finding.id);
    merge(drafts, sources.timeline)
}

/// The text that names an entry for ever: its command's id, its type, and which of that type it is there.
struct Anchors {
    ordinals: Vec<u32>,
}

impl Anchors {
    fn new(timeline: &Timeline) -> Self {
        let mut counts: BTreeMap<(usize, &str), u32> = BTreeMap::new();
        let ordinals = timeline
            .entries
            .iter()
            .map(|entry| {
                let count = counts
                    .entry((entry.command, entry.fact.name()))
                    .or_insert(0);
                *count += 1;
                *count - 1
            })
            .collect();
        Self { ordinals }
    }

    fn name(&self, timeline: &Timeline, entry: usize) -> Option<String> {
        let at = timeline.entries.get(entry)?;
        let command = timeline.commands.get(at.command)?;
        let ordinal = self.ordinals.get(entry)?;
        Some(format!("{}/{}/{ordinal}", command.id, at.fact.name()))
    }
}

fn draft(
    playbook: &Playbook,
    index: usize,
    firing: &Firing,
    anchors: &Anchors,
    sources: Sources<'_>,
) -> Option<Draft> {
    let timeline = sources.timeline;
    let anchor = anchors.name(timeline, firing.anchor)?;
    let id = FindingId::derive(&playbook.id, &firing.scope_key, &anchor);
    let verdict = last_verdict(sources.judgements, id);
    let held = match verdict {
        Some(Verdict::Confirmed {
            hypothesis: Some(held),
        }) => Some(held.as_str()),
        _ => None,
    };
    let counts = sources.experience.counts(playbook);
    let table = Table::new(playbook, &firing.observations, &counts, held);
    let shows = |row: usize| {
        let seen = firing
            .observations
            .iter()
            .find(|seen| seen.observation == row);
        seen.map_or_else(
            || row.to_string(),
            |seen| format!("{:?} {}", seen.entries, seen.says),
        )
    };
    let belief = table.as_ref().map(|table| table.weigh(&shows));
    let leader = belief.as_ref().and_then(leader);
    let spec = leader.and_then(|leader| playbook.hypotheses.get(leader));
    let words = |template: &Template| render(template, timeline, &firing.bindings, false);

    let mut entries: BTreeSet<usize> = firing.evidence.iter().map(|(entry, _)| *entry).collect();
    entries.insert(firing.anchor);
    let mut evidence: Vec<Evidence> = Vec::new();
    for (entry, says) in &firing.evidence {
        push_new(&mut evidence, shown(sources, *entry, says));
    }
    if evidence.is_empty() {
        evidence.extend(shown(sources, firing.anchor, &words(&playbook.title)));
    }
    if let Some(resolved) = firing.resolved {
        evidence.extend(shown(sources, resolved, "shows that it is over"));
    }
    let hypotheses = belief
        .as_ref()
        .zip(table.as_ref())
        .map(|(belief, table)| hypotheses(playbook, firing, belief, table, sources))
        .unwrap_or_default();
    let commands = entries
        .iter()
        .filter_map(|entry| timeline.entries.get(*entry))
        .map(|entry| entry.command)
        .collect();
    let (status, confirmed) = match verdict {
        Some(Verdict::Dismissed) => (Status::Dismissed, false),
        Some(Verdict::Confirmed { .. }) => (Status::Confirmed, true),
        None if firing.resolved.is_some() => (Status::Resolved, false),
        None => (Status::Open, false),
    };
    let claim = claim(playbook, firing, belief.as_ref(), leader);
    Some(Draft {
        launch: firing.scope.launch,
        command: firing.scope.command.or_else(|| {
            let launch = timeline.launches.get(firing.scope.launch?)?;
            Some(launch.command)
        }),
        entries,
        commands,
        playbooks: BTreeSet::from([playbook.id.clone()]),
        root_of: playbook.root_of.iter().cloned().collect(),
        parts: vec![Part {
            firing: index,
            table,
        }],
        finding: Finding {
            id,
            playbook: playbook.id.clone(),
            version: playbook.version,
            kind: spec
                .and_then(|spec| spec.kind.clone())
                .unwrap_or_else(|| playbook.kind.clone()),
            claim: if confirmed { Claim::Established } else { claim },
            severity: spec
                .and_then(|spec| spec.severity)
                .unwrap_or(playbook.severity),
            status,
            cause_of: Vec::new(),
            title: words(&playbook.title),
            explains: words(&playbook.explains),
            scope: scope(timeline, &firing.scope),
            evidence,
            hypotheses,
            seen_before: None,
            next: Vec::new(),
            remedy: words(
                spec.and_then(|spec| spec.remedy.as_ref())
                    .unwrap_or(&playbook.remedy),
            ),
            since: firing.since,
        },
    })
}

/// The last word said of a finding.
fn last_verdict(judgements: &[Judgement], id: FindingId) -> Option<&Verdict> {
    judgements
        .iter()
        .rev()
        .find(|judgement| judgement.finding == id)
        .map(|judgement| &judgement.verdict)
}

/// The likeliest hypothesis, *other* included (one past the playbook's last).
fn leader(belief: &Belief) -> Option<usize> {
    belief
        .probability
        .iter()
        .enumerate()
        // The first of equals: the playbook's order is its author's.
        .rev()
        .max_by(|(_, one), (_, other)| one.total_cmp(other))
        .map(|(index, _)| index)
}

/// How sure the finding is.
///
/// Without hypotheses it is as sure as its playbook. With them only an observation that settles the
/// likeliest one establishes it; where the likeliest is *other*, or its kind is less likely than not
/// (all hypotheses of that kind together), what was seen is all there is.
fn claim(
    playbook: &Playbook,
    firing: &Firing,
    belief: Option<&Belief>,
    leader: Option<usize>,
) -> Claim {
    let Some(belief) = belief else {
        return playbook.claim;
    };
    let Some(leading) = leader.and_then(|leader| playbook.hypotheses.get(leader)) else {
        return Claim::Observed;
    };
    let decided = firing.observations.iter().any(|seen| {
        seen.state == Tri::Yes
            && playbook
                .observations
                .get(seen.observation)
                .is_some_and(|observation| observation.decisive.contains(&leading.id))
    });
    let kind_of = |spec: &HypothesisSpec| spec.kind.clone().unwrap_or(playbook.kind.clone());
    let of_kind: f64 = playbook
        .hypotheses
        .iter()
        .zip(&belief.probability)
        .filter(|(spec, _)| kind_of(spec) == kind_of(leading))
        .map(|(_, probability)| probability)
        .sum();
    match (decided, of_kind >= 0.5) {
        (true, _) => Claim::Established,
        (false, true) => playbook.claim.min(Claim::Suspected),
        (false, false) => Claim::Observed,
    }
}

fn hypotheses(
    playbook: &Playbook,
    firing: &Firing,
    belief: &Belief,
    table: &Table,
    sources: Sources<'_>,
) -> Vec<Hypothesis> {
    let counts = sources.experience.counts(playbook);
    let moved = |index: usize| -> Option<PriorMove> {
        if counts.iter().all(|count| *count == 0) {
            return None;
        }
        Some(PriorMove {
            from: *table.written.get(index)?,
            to: *table.priors.get(index)?,
            confirmations: *counts.get(index)?,
        })
    };
    let said = |rows: Option<&Vec<usize>>| -> Vec<Evidence> {
        let mut out = Vec::new();
        for row in rows.into_iter().flatten() {
            let Some(seen) = firing
                .observations
                .iter()
                .find(|seen| seen.observation == *row)
            else {
                continue;
            };
            // Many entries may show one thing: the first and the newest are enough.
            let (first, rest) = match seen.entries.split_first() {
                Some((first, rest)) => (Some(first), rest),
                None => (None, [].as_slice()),
            };
            for entry in first.into_iter().chain(rest.last()) {
                push_new(&mut out, shown(sources, *entry, &seen.says));
            }
        }
        out
    };
    let mut out: Vec<Hypothesis> = belief
        .probability
        .iter()
        .enumerate()
        .map(|(index, probability)| {
            let spec = playbook.hypotheses.get(index);
            Hypothesis {
                id: spec.map_or_else(|| "other".to_owned(), |spec| spec.id.clone()),
                title: spec.map_or_else(
                    || "other".to_owned(),
                    |spec| render(&spec.title, sources.timeline, &firing.bindings, false),
                ),
                kind: spec.and_then(|spec| spec.kind.clone()),
                probability: *probability,
                prior: moved(index),
                supports: said(belief.supports.get(index)),
                against: said(belief.against.get(index)),
                refuted: belief.refuted.get(index) == Some(&true),
            }
        })
        .collect();
    sort_hypotheses(&mut out);
    out
}

/// Likeliest first; *other* after its equals.
fn sort_hypotheses(hypotheses: &mut [Hypothesis]) {
    hypotheses.sort_by(|one, other| {
        other
            .probability
            .total_cmp(&one.probability)
            .then_with(|| (one.id == "other").cmp(&(other.id == "other")))
    });
}

/// Adds evidence unless the same command says the same already.
fn push_new(into: &mut Vec<Evidence>, evidence: Option<Evidence>) {
    let Some(evidence) = evidence else { return };
    // What says the same, and what quotes the same bytes, is one piece of evidence.
    let known = into.iter().any(|known| {
        known.command_id == evidence.command_id
            && (known.says == evidence.says
                || (evidence.stream.is_some()
                    && known.stream == evidence.stream
                    && (known.from, known.to) == (evidence.from, evidence.to)))
    });
    if !known {
        into.push(evidence);
    }
}

/// An entry as evidence.
pub(super) fn shown(sources: Sources<'_>, entry: usize, says: &str) -> Option<Evidence> {
    let timeline = sources.timeline;
    let entry = timeline.entries.get(entry)?;
    let command = timeline.commands.get(entry.command)?;
    let quote = match entry.stream {
        Some(stream) => (sources.quotes)(entry.command, stream, entry.from, entry.to),
        None => command.line.clone(),
    };
    Some(Evidence {
        command_id: command.id,
        number: command.number,
        line: command.line.clone(),
        stream: entry.stream,
        from: entry.from,
        to: entry.to,
        quote: cut(&quote),
        says: says.to_owned(),
    })
}

/// A quote, shortened at its end.
fn cut(quote: &str) -> String {
    if quote.chars().count() <= QUOTE_CHARS {
        return quote.to_owned();
    }
    quote.chars().take(QUOTE_CHARS - 1).chain(['…']).collect()
}

fn scope(timeline: &Timeline, key: &ScopeKey) -> Scope {
    let number = |command: usize| timeline.commands.get(command).map(|command| command.number);
    Scope {
        host: key.host.clone(),
        container: key.container.clone(),
        launch: key
            .launch
            .and_then(|launch| timeline.launches.get(launch))
            .and_then(|launch| number(launch.command)),
        command: key.command.and_then(number),
        path: key.path.clone(),
        pid: key.pid,
        endpoint: key.endpoint.clone(),
        gpu: key.gpu,
    }
}

/// Shows what several playbooks (or one, several times) found of one situation once.
fn merge(drafts: Vec<Draft>, timeline: &Timeline) -> Vec<Draft> {
    let mut groups: Vec<Vec<Draft>> = Vec::new();
    // Only findings of one kind on one host can be one situation.
    let mut by_kind: BTreeMap<(String, Option<String>), Vec<usize>> = BTreeMap::new();
    for draft in drafts {
        let key = (draft.finding.kind.clone(), draft.finding.scope.host.clone());
        let candidates = by_kind.entry(key).or_default();
        let same = candidates.iter().copied().filter(|at| {
            groups
                .get(*at)
                .is_some_and(|group| group.iter().any(|member| one_situation(member, &draft)))
        });
        let best = same.max_by_key(|at| {
            let shared = groups.get(*at).map_or(0, |group| {
                let commands = group.iter().flat_map(|member| &member.commands);
                commands
                    .filter(|command| draft.commands.contains(*command))
                    .count()
            });
            (shared, *at)
        });
        match best.and_then(|at| groups.get_mut(at)) {
            Some(group) => group.push(draft),
            None => {
                candidates.push(groups.len());
                groups.push(vec![draft]);
            }
        }
    }
    groups
        .into_iter()
        .filter_map(|group| join(group, timeline))
        .collect()
}

/// Two findings of one kind on one host are about the same thing.
fn one_situation(one: &Draft, other: &Draft) -> bool {
    if let (Some(one), Some(other)) = (one.launch, other.launch) {
        return one == other;
    }
    if one.entries.intersection(&other.entries).next().is_some() {
        return true;
    }
    if one.command.is_some() && one.command == other.command {
        return true;
    }
    let (left, right) = (&one.finding.scope, &other.finding.scope);
    let same = [
        agree(left.container.as_ref(), right.container.as_ref()),
        agree(left.path.as_ref(), right.path.as_ref()),
        agree(left.pid.as_ref(), right.pid.as_ref()),
        agree(left.endpoint.as_ref(), right.endpoint.as_ref()),
        agree(left.gpu.as_ref(), right.gpu.as_ref()),
    ];
    if same.contains(&Tri::No) {
        return false;
    }
    same.contains(&Tri::Yes)
        || (one.finding.title == other.finding.title && !one.finding.title.is_empty())
        || (one.command.is_none() && other.command.is_none())
}

fn agree<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> Tri {
    match (one, other) {
        (Some(one), Some(other)) => (one == other).into(),
        _ => Tri::Unknown,
    }
}

/// How much a finding says: the best of a group gives its words.
fn weight(finding: &Finding) -> (bool, Claim, Severity, i64) {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a belief between 0 and 1, in thousandths"
    )]
    let lead = (finding.lead() * 1000.0) as i64;
    let holds = matches!(finding.status, Status::Open | Status::Confirmed);
    (holds, finding.claim, finding.severity, lead)
}

/// Joins a group, oldest first, into one finding.
fn join(group: Vec<Draft>, timeline: &Timeline) -> Option<Draft> {
    // A person's word about a part is about the whole.
    let judged = group
        .iter()
        .find(|draft| matches!(draft.finding.status, Status::Confirmed | Status::Dismissed))
        .map(|draft| draft.finding.status);
    let mut best = 0;
    for (at, draft) in group.iter().enumerate() {
        if group
            .get(best)
            .is_some_and(|known| weight(&draft.finding) > weight(&known.finding))
        {
            best = at;
        }
    }
    if group.len() == 1 {
        return group.into_iter().next();
    }
    let hypotheses = united(&group);
    let all_resolved = group
        .iter()
        .all(|draft| draft.finding.status == Status::Resolved);
    let mut joined = group.get(best)?.clone();
    for draft in &group {
        for evidence in &draft.finding.evidence {
            push_new(&mut joined.finding.evidence, Some(evidence.clone()));
        }
        joined.finding.since = joined.finding.since.min(draft.finding.since);
        let (scope, more) = (&mut joined.finding.scope, &draft.finding.scope);
        scope.launch = scope.launch.or(more.launch);
        scope.container = scope.container.take().or_else(|| more.container.clone());
        scope.path = scope.path.take().or_else(|| more.path.clone());
        scope.pid = scope.pid.or(more.pid);
        scope.endpoint = scope.endpoint.take().or_else(|| more.endpoint.clone());
        scope.gpu = scope.gpu.or(more.gpu);
        joined.launch = joined.launch.or(draft.launch);
        joined.entries.extend(&draft.entries);
        joined.commands.extend(&draft.commands);
        joined.playbooks.extend(draft.playbooks.iter().cloned());
        joined.root_of.extend(draft.root_of.iter().cloned());
        if joined.finding.explains.is_empty() {
            joined.finding.explains.clone_from(&draft.finding.explains);
        }
        if joined.finding.remedy.is_empty() {
            joined.finding.remedy.clone_from(&draft.finding.remedy);
        }
    }
    joined.parts = group.iter().flat_map(|draft| draft.parts.clone()).collect();
    joined
        .finding
        .evidence
        .sort_by_key(|evidence| (evidence.number, evidence.stream, evidence.from));
    joined.finding.hypotheses = hypotheses;
    joined.finding.status = match judged {
        Some(judged) => judged,
        None if all_resolved => Status::Resolved,
        None => Status::Open,
    };
    joined.command = joined.command.or_else(|| {
        let launch = timeline.launches.get(joined.launch?)?;
        Some(launch.command)
    });
    Some(joined)
}

/// The hypotheses of several findings in one list.
///
/// Each list tells how its hypotheses stand to *other*; that is what lists have in common, so odds
/// against *other* carry over, the best for a hypothesis that several name.
fn united(group: &[Draft]) -> Vec<Hypothesis> {
    let mut out: Vec<(f64, Hypothesis)> = Vec::new();
    for draft in group {
        let other = draft
            .finding
            .hypotheses
            .iter()
            .find(|hypothesis| hypothesis.id == "other")
            .map_or(1.0, |hypothesis| hypothesis.probability.max(1e-12));
        for hypothesis in &draft.finding.hypotheses {
            let odds = hypothesis.probability / other;
            let known = out
                .iter()
                .position(|(_, known)| known.id == hypothesis.id && known.kind == hypothesis.kind);
            let Some((best, known)) = known.and_then(|at| out.get_mut(at)) else {
                let mut added = hypothesis.clone();
                if out.iter().any(|(_, known)| known.id == added.id) {
                    added.id = format!("{}/{}", draft.finding.playbook, added.id);
                }
                out.push((odds, added));
                continue;
            };
            if odds > *best {
                *best = odds;
                known.title.clone_from(&hypothesis.title);
            }
            known.refuted &= hypothesis.refuted;
            for evidence in &hypothesis.supports {
                push_new(&mut known.supports, Some(evidence.clone()));
            }
            for evidence in &hypothesis.against {
                push_new(&mut known.against, Some(evidence.clone()));
            }
        }
    }
    let sum: f64 = out.iter().map(|(odds, _)| odds).sum();
    let mut hypotheses: Vec<Hypothesis> = out
        .into_iter()
        .map(|(odds, mut hypothesis)| {
            hypothesis.probability = odds / sum;
            hypothesis
        })
        .collect();
    sort_hypotheses(&mut hypotheses);
    hypotheses
}

impl Draft {
    /// Whether two findings concern the same launch or command.
    pub(super) fn near(&self, other: &Self) -> bool {
        if let (Some(one), Some(other)) = (self.launch, other.launch) {
            return one == other;
        }
        (self.command.is_some() && self.command == other.command)
            || self.commands.intersection(&other.commands).next().is_some()
    }

    /// Whether two findings concern the same host (or one of them none).
    pub(super) fn same_host(&self, other: &Self) -> bool {
        let (one, other) = (&self.finding.scope.host, &other.finding.scope.host);
        agree(one.as_ref(), other.as_ref()) != Tri::No
    }
}
