//! What to run next: looks that tell most for their cost, and why.
//!
//! A probe is worth the bits it is expected to tell apart among the hypotheses that still stand, times
//! how bad the finding is, per second of a person's time. Read-only ones stand first whatever they are
//! worth; what was just run is not proposed again.

use std::collections::BTreeSet;

use super::findings::{Draft, Part};
use super::paste::{Target, paste};
use super::{PostconditionView, Severity, Status, Suggestion, kinds, words};
use crate::fact::Fact;
use crate::id::FindingId;
use crate::playbook::{self, Matches, Playbook, ProbeSpec, ScopeKey, render};
use crate::redact;
use crate::shell;
use crate::timeline::{Command, Met, Timeline};

/// Suggestions over all findings.
const MOST: usize = 5;
/// Suggestions of one finding.
const MOST_EACH: usize = 3;
/// Worth of a look whose outcome no hypothesis speaks of.
const PLAIN_WORTH: f64 = 0.02;
/// Worth of a look that would tell whether a playbook fires at all.
const WISH_WORTH: f64 = 0.15;
/// Worth of a look at what should be true by now.
const CHECK_WORTH: f64 = 0.1;
/// What only looks.
const READ_ONLY: &str = "read-only";
/// Safety classes, safest first.
const SAFETY: [&str; 4] = [READ_ONLY, "heavy read", "changes state", "destructive"];
/// A look older than this may be taken again, in seconds: by then it tells whether something moves.
const STALE_S: f64 = 60.0;

/// A suggestion with what it is worth.
#[derive(Debug, Clone)]
struct Candidate {
    suggestion: Suggestion,
    worth: f64,
}

/// Fills each finding's `next` and gives the best over all.
pub(super) fn propose(
    playbooks: &[Playbook],
    matches: &Matches,
    timeline: &Timeline,
    drafts: &mut [Draft],
    postconditions: &[PostconditionView],
) -> Vec<Suggestion> {
    let recent = Recent::new(timeline);
    let hung: BTreeSet<FindingId> = drafts
        .iter()
        .flat_map(|draft| draft.finding.cause_of.iter().copied())
        .collect();
    let mut all = Vec::new();
    let mut trouble = false;
    for draft in drafts.iter_mut() {
        if !matches!(draft.finding.status, Status::Open | Status::Confirmed) {
            continue;
        }
        let harmless = kinds::harmless(&draft.finding.kind);
        trouble |= !harmless && draft.finding.severity >= Severity::Medium;
        let mut own: Vec<Candidate> = draft
            .parts
            .iter()
            .flat_map(|part| of_part(playbooks, matches, timeline, part))
            .filter(|placed| !recent.holds(&placed.inner, &placed.place))
            .map(|placed| placed.candidate)
            .collect();
        let mut weight = severity_weight(draft.finding.severity);
        if harmless || hung.contains(&draft.finding.id) {
            weight *= 0.3;
        }
        draft.finding.next = best(own.clone(), MOST_EACH);
        for candidate in &mut own {
            candidate.worth *= weight;
        }
        all.extend(own);
    }
    all.extend(of_wishes(playbooks, matches, timeline, drafts, &recent));
    all.extend(of_blind_looks(timeline, &recent));
    if !trouble || all.is_empty() {
        all.extend(of_postconditions(postconditions));
    }
    best(all, MOST)
}

fn severity_weight(severity: Severity) -> f64 {
    match severity {
        Severity::Critical => 1.2,
        Severity::High => 1.0,
        Severity::Medium => 0.7,
        Severity::Low => 0.25,
        Severity::Info => 0.1,
    }
}

/// The best few: read-only first, then by worth per cost; one line once.
fn best(mut candidates: Vec<Candidate>, most: usize) -> Vec<Suggestion> {
    let rate = |candidate: &Candidate| candidate.worth / candidate.suggestion.cost.max(1.0);
    candidates.sort_by(|one, other| {
        safety_rank(&one.suggestion.safety)
            .cmp(&safety_rank(&other.suggestion.safety))
            .then_with(|| rate(other).total_cmp(&rate(one)))
            .then_with(|| one.suggestion.line.cmp(&other.suggestion.line))
            .then_with(|| one.suggestion.playbook.cmp(&other.suggestion.playbook))
    });
    let mut lines = BTreeSet::new();
    candidates
        .into_iter()
        .map(|candidate| candidate.suggestion)
        // A masked secret cannot be typed again.
        .filter(|suggestion| !redact::holds_mask(&suggestion.line))
        .filter(|suggestion| lines.insert(suggestion.line.clone()))
        .take(most)
        .collect()
}

/// A candidate with the line as its place reads it.
struct Placed {
    candidate: Candidate,
    inner: String,
    place: (String, Option<String>),
}

/// The probes of a firing that would tell something new.
fn of_part(
    playbooks: &[Playbook],
    matches: &Matches,
    timeline: &Timeline,
    part: &Part,
) -> Vec<Placed> {
    let Some(firing) = matches.firings.get(part.firing) else {
        return Vec::new();
    };
    let Some(playbook) = playbooks.get(firing.playbook) else {
        return Vec::new();
    };
    let evidence: Vec<usize> = firing
        .evidence
        .iter()
        .filter_map(|(entry, _)| timeline.entries.get(*entry))
        .map(|entry| entry.command)
        .collect();
    let mut out = Vec::new();
    for probe in &playbook.probes {
        let settles: Vec<usize> = probe
            .yields
            .iter()
            .filter_map(|name| {
                playbook
                    .observations
                    .iter()
                    .position(|observation| observation.id == *name)
            })
            .filter(|index| {
                firing
                    .observations
                    .iter()
                    .all(|seen| seen.observation != *index || seen.state == shell::Tri::Unknown)
            })
            .collect();
        if settles.is_empty() && !probe.yields.is_empty() {
            continue; // all that it may show is known
        }
        let gain = part
            .table
            .as_ref()
            .map_or(0.0, |table| table.gain(&settles));
        let splits = part
            .table
            .as_ref()
            .and_then(|table| table.splits(&settles))
            .map(|(one, other)| {
                let name = |index: usize| {
                    playbook
                        .hypotheses
                        .get(index)
                        .map_or_else(|| "other".to_owned(), |spec| words::spoken(&spec.id))
                };
                format!("splits *{}* from *{}*", name(one), name(other))
            });
        let asked = Asked {
            playbook,
            probe,
            scope: &firing.scope,
            anchor: firing.anchor,
            evidence: &evidence,
        };
        let why = render(&probe.why, timeline, &firing.bindings, false);
        let Some(run) = probe.run.command(timeline, &firing.bindings) else {
            continue; // a hole in it is unknown
        };
        let reason = match (why.is_empty(), splits) {
            (true, Some(splits)) => splits,
            (false, Some(splits)) => format!("{why}; {splits}"),
            (false, None) => why,
            (true, None) => "would tell more".to_owned(),
        };
        out.push(asked.placed(timeline, run, reason, gain.max(PLAIN_WORTH)));
    }
    out
}

/// A probe, and what asks for it.
struct Asked<'a> {
    playbook: &'a Playbook,
    probe: &'a ProbeSpec,
    scope: &'a ScopeKey,
    anchor: usize,
    evidence: &'a [usize],
}

impl Asked<'_> {
    /// The probe as a line to paste.
    fn placed(&self, timeline: &Timeline, run: String, why: String, worth: f64) -> Placed {
        let anchor = timeline.entries.get(self.anchor);
        let host = self
            .scope
            .host
            .as_deref()
            .or_else(|| anchor.map(|entry| entry.host.as_str()));
        let container = self.scope.container.as_deref().or_else(|| {
            anchor
                .filter(|entry| Some(entry.host.as_str()) == host)
                .and_then(|entry| entry.container.as_deref())
        });
        let target = match self.probe.on {
            playbook::Target::Scope => Target { host, container },
            playbook::Target::Host => Target {
                host,
                container: None,
            },
            playbook::Target::Typist => Target {
                host: None,
                container: None,
            },
        };
        let line = paste(&run, target, timeline, self.evidence);
        let typist = timeline
            .commands
            .last()
            .map_or("", |command| command.host.as_str());
        Placed {
            place: (
                target.host.unwrap_or(typist).to_owned(),
                target.container.map(str::to_owned),
            ),
            candidate: Candidate {
                suggestion: Suggestion {
                    id: suggestion_id(&line),
                    safety: safety(&run, self.probe.safety.as_deref()),
                    why,
                    cost: self.probe.cost,
                    playbook: self.playbook.id.clone(),
                    line,
                },
                worth,
            },
            inner: run,
        }
    }
}

/// Looks that would tell whether a playbook fires.
fn of_wishes(
    playbooks: &[Playbook],
    matches: &Matches,
    timeline: &Timeline,
    drafts: &[Draft],
    recent: &Recent,
) -> Vec<Candidate> {
    let mut out = Vec::new();
    for wish in &matches.wishes {
        let Some(playbook) = playbooks.get(wish.playbook) else {
            continue;
        };
        let fired = matches
            .firings
            .iter()
            .any(|firing| firing.playbook == wish.playbook && firing.scope_key == wish.scope_key);
        if fired {
            continue;
        }
        let anchor = timeline.entries.get(wish.anchor);
        let behind = anchor.map_or(0, |entry| {
            timeline.commands.len().saturating_sub(entry.command + 1)
        });
        let mut worth = WISH_WORTH * severity_weight(playbook.severity) * fading(behind);
        // A launch that is explained (or fine) leaves less to wonder about.
        let explained = wish.scope.launch.is_some()
            && drafts.iter().any(|draft| {
                draft.launch == wish.scope.launch
                    && (draft.finding.claim == super::Claim::Established
                        || kinds::harmless(&draft.finding.kind))
            });
        if explained {
            worth *= 0.2;
        }
        for probe in wish
            .probes
            .iter()
            .filter_map(|probe| playbook.probes.get(*probe))
        {
            let Some(run) = probe.run.command(timeline, &wish.bindings) else {
                continue; // a hole in it is unknown
            };
            let why = render(&probe.why, timeline, &wish.bindings, false);
            let why = match (why.is_empty(), wish.unknown.first()) {
                (false, _) => why,
                (true, Some(unknown)) => format!("would tell: {unknown}"),
                (true, None) => "would tell more".to_owned(),
            };
            let asked = Asked {
                playbook,
                probe,
                scope: &wish.scope,
                anchor: wish.anchor,
                evidence: &[],
            };
            let placed = asked.placed(timeline, run, why, worth);
            if !recent.holds(&placed.inner, &placed.place) {
                out.push(placed.candidate);
            }
        }
    }
    out
}

/// Looks at what should be true by now and nobody looked at, the newest first.
fn of_postconditions(postconditions: &[PostconditionView]) -> Vec<Candidate> {
    postconditions
        .iter()
        .rev()
        .filter(|condition| condition.state == Met::Unchecked)
        .enumerate()
        .map(|(behind, condition)| Candidate {
            suggestion: condition.probe.clone(),
            worth: CHECK_WORTH * fading(behind),
        })
        .collect()
}

/// The wider look, where one showed nothing and could not have shown it; the newest first.
fn of_blind_looks(timeline: &Timeline, recent: &Recent) -> Vec<Candidate> {
    timeline
        .entries
        .iter()
        .rev()
        .filter_map(|entry| match &entry.fact {
            Fact::BlindLook(look) if look.nothing => Some((entry, look)),
            _ => None,
        })
        .enumerate()
        .filter_map(|(behind, (entry, look))| {
            let target = Target {
                host: Some(&entry.host),
                container: entry.container.as_deref(),
            };
            let line = paste(&look.wider, target, timeline, &[entry.command]);
            let place = (entry.host.clone(), entry.container.clone());
            let read_only = safety(&line, None) == READ_ONLY;
            (read_only && !recent.holds(&look.wider, &place)).then(|| Candidate {
                suggestion: Suggestion {
                    id: suggestion_id(&line),
                    safety: READ_ONLY.to_owned(),
                    why: format!("`{}` could not have shown {}", look.tool, look.hides),
                    cost: 5.0,
                    playbook: String::new(),
                    line,
                },
                worth: CHECK_WORTH * fading(behind),
            })
        })
        .collect()
}

/// What is long past is worth less.
fn fading(behind: usize) -> f64 {
    let behind = u32::try_from(behind).unwrap_or(u32::MAX);
    1.0 / (1.0 + f64::from(behind) / 10.0)
}

/// The id of a suggestion: made of its line, so that it stays while the situation does.
pub(super) fn suggestion_id(line: &str) -> String {
    let derived = FindingId::derive("next", "", line).short();
    format!("n{}", derived.trim_start_matches(FindingId::LETTER))
}

/// The safety class of a line; an author may only raise it.
pub(super) fn safety(line: &str, author: Option<&str>) -> String {
    let computed = shell::safety::safety(line).name();
    let raised = author.filter(|author| safety_rank(author) > safety_rank(computed));
    raised.unwrap_or(computed).to_owned()
}

fn safety_rank(safety: &str) -> usize {
    SAFETY
        .iter()
        .position(|known| *known == safety)
        .unwrap_or(SAFETY.len())
}

/// What ran on each place since something there last changed.
struct Recent {
    ran: BTreeSet<(String, Option<String>, String)>,
}

impl Recent {
    fn new(timeline: &Timeline) -> Self {
        let mut ran = BTreeSet::new();
        let mut changed: BTreeSet<String> = BTreeSet::new();
        for (behind, command) in timeline.commands.iter().rev().enumerate() {
            let age_s = timeline.as_of.seconds_since(command.at);
            if behind >= 3 && age_s > STALE_S {
                break;
            }
            let host_of = |host: Option<&str>| host.unwrap_or(&command.host).to_owned();
            for leaf in command.tree.leaves() {
                let host = host_of(leaf.place.host.as_deref());
                if !changed.contains(&host) {
                    ran.insert((
                        host,
                        leaf.place.container.clone(),
                        words::one_line(&leaf.line()),
                    ));
                }
            }
            for invocation in changing(command) {
                if let Some(invocation) = command.tree.invocations.get(invocation) {
                    changed.insert(host_of(invocation.place.host.as_deref()));
                }
            }
        }
        Self { ran }
    }

    /// Every part of the line ran there already.
    fn holds(&self, line: &str, place: &(String, Option<String>)) -> bool {
        let (host, container) = place;
        leaf_lines(line)
            .into_iter()
            .all(|leaf| self.ran.contains(&(host.clone(), container.clone(), leaf)))
    }
}

/// The invocations of a command that change something.
fn changing(command: &Command) -> impl Iterator<Item = usize> {
    let tree = &command.tree;
    let launches = tree.launches.iter().map(|launch| launch.invocation);
    let writes = tree.writes.iter().map(|write| write.invocation);
    let kills = tree.kills.iter().map(|kill| kill.invocation);
    launches.chain(writes).chain(kills)
}

/// The simple commands of a line, each in one spelling.
fn leaf_lines(line: &str) -> Vec<String> {
    shell::parse(line)
        .leaves()
        .map(|leaf| words::one_line(&leaf.line()))
        .collect()
}
