//! Root before cascade: which finding explains which, and the order in which they are read.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::findings::Draft;
use super::kinds::{self, Reach};
use super::{Claim, Finding, Severity, Status};
use crate::id::FindingId;
use crate::time::Micros;

/// Hangs consequences under their causes: fills `cause_of`, with the consequences of consequences.
///
/// Causes are named by playbooks (`root_of`) and by the table of [`kinds`]. Where they would run in a
/// circle the later edge is left out: edges a playbook names first, then by when the root was first seen.
pub(super) fn hang(drafts: &mut [Draft]) {
    let mut edges: Vec<(bool, Micros, FindingId, Micros, FindingId, usize, usize)> = Vec::new();
    for (root_at, root) in drafts.iter().enumerate() {
        if root.finding.status == Status::Dismissed {
            continue;
        }
        for (effect_at, effect) in drafts.iter().enumerate() {
            if root_at == effect_at || effect.finding.status == Status::Dismissed {
                continue;
            }
            let named = names(root, effect);
            if named || listed(root, effect) {
                edges.push((
                    !named,
                    root.finding.since,
                    root.finding.id,
                    effect.finding.since,
                    effect.finding.id,
                    root_at,
                    effect_at,
                ));
            }
        }
    }
    edges.sort_unstable();
    let mut follows: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (.., root, effect) in edges {
        if !reachable(&follows, effect).contains(&root) {
            follows.entry(root).or_default().insert(effect);
        }
    }
    for root in follows.keys().copied().collect::<Vec<_>>() {
        let mut effects: Vec<(Micros, FindingId)> = reachable(&follows, root)
            .into_iter()
            .filter(|effect| *effect != root)
            .filter_map(|effect| drafts.get(effect))
            .map(|effect| (effect.finding.since, effect.finding.id))
            .collect();
        effects.sort_unstable();
        if let Some(root) = drafts.get_mut(root) {
            root.finding.cause_of = effects.into_iter().map(|(_, id)| id).collect();
        }
    }
}

/// A finding and all that follows from it.
fn reachable(follows: &BTreeMap<usize, BTreeSet<usize>>, from: usize) -> BTreeSet<usize> {
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for next in follows.get(&at).into_iter().flatten() {
            if seen.insert(*next) {
                open.push(*next);
            }
        }
    }
    seen
}

/// The root's playbook names the effect, and they concern the same launch, or the same host; of two
/// launches the effect's must not come before the root's.
fn names(root: &Draft, effect: &Draft) -> bool {
    // What only fooled a look is no cause of what is bad.
    if root.finding.severity < Severity::Medium
        && effect.finding.severity >= Severity::Medium
        && !kinds::harmless(&root.finding.kind)
    {
        return false;
    }
    // A kind does not follow from itself; a playbook that is named may well be of the same kind.
    let kind = &effect.finding.kind;
    let named = root.root_of.iter().any(|name| {
        effect.playbooks.contains(name)
            || (root.finding.kind != *kind && kinds::matches(name, kind))
    });
    // The cause is often found last; only where each has a launch of its own must it come first.
    let other_launch = root.launch.is_some() && effect.launch.is_some();
    named
        && (root.near(effect)
            || (root.same_host(effect)
                && (!other_launch || effect.finding.since >= root.finding.since)))
}

/// The table lets the root explain the effect.
fn listed(root: &Draft, effect: &Draft) -> bool {
    match kinds::explains(&root.finding, &effect.finding) {
        None => false,
        Some(_) if root.near(effect) => true,
        Some(Reach::Launch) => false,
        Some(Reach::Host) => {
            let other_launch = root.launch.is_some() && effect.launch.is_some();
            root.same_host(effect) && (!other_launch || effect.finding.since >= root.finding.since)
        }
    }
}

/// Where a finding stands in the order of the contract, its cause aside.
fn rank(
    finding: &Finding,
) -> (
    u8,
    Reverse<Severity>,
    Reverse<Claim>,
    Reverse<u64>,
    Micros,
    FindingId,
) {
    let bucket = match finding.status {
        Status::Dismissed => 4,
        _ if kinds::harmless(&finding.kind) => 3,
        Status::Resolved => 1,
        Status::Open | Status::Confirmed if finding.severity >= Severity::Medium => 0,
        Status::Open | Status::Confirmed => 2,
    };
    (
        bucket,
        Reverse(finding.severity),
        Reverse(finding.claim),
        // A belief is not negative, so its bits order as it does.
        Reverse(finding.lead().max(0.0).to_bits()),
        finding.since,
        finding.id,
    )
}

/// Findings in the order of the contract: each at its place, its causes pulled before it.
pub(super) fn ordered(drafts: Vec<Draft>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = drafts.into_iter().map(|draft| draft.finding).collect();
    findings.sort_by_key(rank);
    let mut causes: BTreeMap<FindingId, Vec<usize>> = BTreeMap::new();
    for (at, finding) in findings.iter().enumerate() {
        for effect in &finding.cause_of {
            causes.entry(*effect).or_default().push(at);
        }
    }
    let mut order: Vec<usize> = Vec::with_capacity(findings.len());
    let mut placed = vec![false; findings.len()];
    for at in 0..findings.len() {
        place(at, &findings, &causes, &mut placed, &mut order);
    }
    let mut slots: Vec<Option<Finding>> = findings.into_iter().map(Some).collect();
    order
        .into_iter()
        .filter_map(|at| slots.get_mut(at).and_then(Option::take))
        .collect()
}

/// Places a finding after all its causes. `cause_of` holds no circle and is transitive, so the deepest
/// cause is the one whose own causes are placed first.
fn place(
    at: usize,
    findings: &[Finding],
    causes: &BTreeMap<FindingId, Vec<usize>>,
    placed: &mut [bool],
    order: &mut Vec<usize>,
) {
    match placed.get_mut(at) {
        Some(done) if !*done => *done = true,
        _ => return,
    }
    let roots = findings.get(at).and_then(|finding| causes.get(&finding.id));
    for root in roots.into_iter().flatten() {
        place(*root, findings, causes, placed, order);
    }
    order.push(at);
}
