//! Runs of looks at the same thing: `unchanged`, `changed`, `rising`, `not_rising`, `count`.

use std::collections::{BTreeMap, BTreeSet};

use super::eval::{Val, instant, show};
use super::index::Index;
use super::{Series, Trend};
use crate::timeline::Timeline;

/// A run that satisfies a series: its first and its newest look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first: usize,
    pub(super) last: usize,
}

/// All runs among some looks (entries in order, all of the series' type and condition), by their
/// newest look.
pub(super) fn runs(
    series: &Series,
    timeline: &Timeline,
    index: &Index<'_>,
    looks: &[usize],
) -> Vec<Run> {
    if let Some(field) = series.distinct {
        return distinct(series, timeline, looks, field);
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in looks {
        let Some(entry) = timeline.entries.get(*at) else {
            continue;
        };
        if let Some(field) = series.field
            && matches!(
                entry.fact.peek(field).map(Val::from),
                None | Some(Val::Unknown)
            )
        {
            continue; // this look could not tell
        }
        let group = groups.entry(index.identity(*at)).or_default();
        // Several facts of one look are one look: its last word counts.
        let same_look = group.last().and_then(|last| timeline.entries.get(*last));
        if same_look.is_some_and(|last| {
            last.command == entry.command && last.invocation == entry.invocation
        }) {
            group.pop();
        }
        group.push(*at);
    }
    let mut found: Vec<Run> = groups
        .values()
        .flat_map(|group| runs_of(series, timeline, group))
        .collect();
    found.sort_by_key(|run| (run.last, run.first));
    found
}

fn value<'t>(series: &Series, timeline: &'t Timeline, at: usize) -> Val<'t> {
    let entry = timeline.entries.get(at);
    let field = entry
        .zip(series.field)
        .and_then(|(entry, field)| entry.fact.peek(field));
    field.map_or(Val::Unknown, Val::from)
}

fn long_enough(series: &Series, timeline: &Timeline, run: Run) -> bool {
    let entry = |at: usize| timeline.entries.get(at);
    let (Some(first), Some(last)) = (entry(run.first), entry(run.last)) else {
        return false;
    };
    instant(last).seconds_since(instant(first)) >= series.spanning_s
}

fn runs_of(series: &Series, timeline: &Timeline, group: &[usize]) -> Vec<Run> {
    let mut found = Vec::new();
    for (end, last) in group.iter().enumerate() {
        let before = group.get(..end).unwrap_or_default();
        if let Some(run) = run_ending(series, timeline, before, *last) {
            found.push(run);
        }
    }
    found
}

/// The run of a group that ends with look `last`, `before` being the looks before it.
fn run_ending(series: &Series, timeline: &Timeline, before: &[usize], last: usize) -> Option<Run> {
    let newest = value(series, timeline, last);
    let fits = |first: usize, looks: usize| {
        let run = Run { first, last };
        (looks >= series.count && long_enough(series, timeline, run)).then_some(run)
    };
    // Looks know their time by the end of their commands, and commands overlap: the first look need
    // not be the earliest.
    let longest = |run: &[usize]| {
        let starts = run.iter().copied().chain([last]).enumerate();
        let mut runs = starts.map(|(at, first)| fits(first, run.len() + 1 - at));
        runs.find_map(|run| run)
    };
    match series.trend {
        Trend::Count => longest(before),
        Trend::Unchanged => {
            let same = |at: &&usize| alike(series, &value(series, timeline, **at), &newest);
            let run = before.iter().rev().take_while(same).count();
            longest(before.get(before.len() - run..).unwrap_or_default())
        }
        Trend::Changed => {
            let previous = *before.last()?;
            let changed = !alike(series, &value(series, timeline, previous), &newest);
            if changed {
                fits(previous, before.len() + 1)
            } else {
                None
            }
        }
        Trend::Rising => {
            let newest = newest.number()?;
            before.iter().enumerate().rev().find_map(|(at, first)| {
                let low = value(series, timeline, *first).number()?;
                let rises = newest - low > series.noise;
                if rises {
                    fits(*first, before.len() - at + 1)
                } else {
                    None
                }
            })
        }
        Trend::NotRising => {
            let mut most = newest.number()?;
            for (at, first) in before.iter().enumerate().rev() {
                let start = value(series, timeline, *first).number()?;
                most = most.max(start);
                if most - start <= series.noise
                    && let Some(run) = fits(*first, before.len() - at + 1)
                {
                    return Some(run);
                }
            }
            None
        }
    }
}

fn alike(series: &Series, one: &Val<'_>, other: &Val<'_>) -> bool {
    match (one.number(), other.number()) {
        (Some(one), Some(other)) => (one - other).abs() <= series.noise,
        _ => one == other,
    }
}

/// Runs with enough distinct values of a field, whatever they are looks at.
fn distinct(series: &Series, timeline: &Timeline, looks: &[usize], field: &str) -> Vec<Run> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let mut first = None;
    for at in looks {
        let Some(entry) = timeline.entries.get(*at) else {
            continue;
        };
        match entry.fact.peek(field).map(Val::from) {
            None | Some(Val::Unknown) => continue,
            Some(value) => {
                if !seen.insert(show(&value)) {
                    continue;
                }
            }
        }
        let run = Run {
            first: *first.get_or_insert(*at),
            last: *at,
        };
        if seen.len() >= series.count && long_enough(series, timeline, run) {
            found.push(run);
        }
    }
    found
}
