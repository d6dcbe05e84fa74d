//! Belief: what the observations of a playbook say about its hypotheses.
//!
//! Naive Bayes in log space. Every observation that is known to be so or not to be so multiplies a
//! hypothesis's odds by how likely it makes that; unknown ones say nothing. Observations of one group
//! are correlated and count once: the one that separates the hypotheses most. *Other* is always there
//! with a prior of a tenth, so that no list of explanations is ever taken for complete.

use std::collections::BTreeMap;

use super::experience::moved;
use crate::playbook::{Playbook, Seen};
use crate::shell::Tri;

/// Prior of *other*.
const OTHER: f64 = 0.1;
/// How likely an observation is under a hypothesis that does not name it.
const UNNAMED: f64 = 0.5;
/// How likely *other* makes an observation that settles a hypothesis: what is decisive is rarely seen
/// for another reason.
const DECISIVE_OTHER: f64 = 0.1;
/// No likelihood is further out than *never* and *always*.
const NEVER: f64 = 0.02;
const ALWAYS: f64 = 0.98;
/// A likelihood that is this much more (or less) than that of the rest speaks for (or against).
const CLEAR: f64 = 1.5;
/// Below this a hypothesis with something against it is ruled out.
const REFUTED: f64 = 0.01;

/// An observation as a row of likelihoods, one a hypothesis, *other* last.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// How likely each hypothesis makes it.
    pub(super) likely: Vec<f64>,
    /// Which hypotheses it names.
    pub(super) named: Vec<bool>,
    /// Its group.
    pub(super) group: Option<String>,
    /// It is so, it is not so, or nobody looked.
    pub(super) state: Tri,
}

impl Row {
    /// How likely a hypothesis makes what was seen.
    fn likelihood(&self, hypothesis: usize) -> f64 {
        let yes = self
            .likely
            .get(hypothesis)
            .map_or(UNNAMED, |likely| likely.clamp(NEVER, ALWAYS));
        match self.state {
            Tri::Yes => yes,
            Tri::No => 1.0 - yes,
            Tri::Unknown => 1.0,
        }
    }

    /// How far apart it puts the hypotheses: what is said of their logs beside the mean.
    fn spread(&self) -> f64 {
        let logs: Vec<f64> = (0..self.likely.len())
            .map(|hypothesis| self.likelihood(hypothesis).ln())
            .collect();
        let mean = mean(&logs);
        logs.iter().map(|log| (log - mean).abs()).sum()
    }

    /// Its likelihood under one hypothesis against the mean of the rest.
    fn ratio(&self, hypothesis: usize) -> f64 {
        let rest: Vec<f64> = (0..self.likely.len())
            .filter(|other| *other != hypothesis)
            .map(|other| self.likelihood(other))
            .collect();
        self.likelihood(hypothesis) / mean(&rest)
    }
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 1.0;
    }
    let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
    values.iter().sum::<f64>() / f64::from(count)
}

/// A playbook's hypotheses with what is known of its observations.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    /// Beliefs before any observation, summing to 1, *other* last.
    pub(super) priors: Vec<f64>,
    /// The same as the playbook says them.
    pub(super) written: Vec<f64>,
    /// Observations, in the playbook's order.
    pub(super) rows: Vec<Row>,
}

/// What the observations make of the hypotheses, *other* last.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Belief {
    /// Beliefs, summing to 1.
    pub(super) probability: Vec<f64>,
    /// Rows that speak for each, in order.
    pub(super) supports: Vec<Vec<usize>>,
    /// Rows that speak against each, in order.
    pub(super) against: Vec<Vec<usize>>,
    /// Which are ruled out.
    pub(super) refuted: Vec<bool>,
}

impl Table {
    /// The table of a playbook that fired; `None` when it has no hypotheses.
    ///
    /// `counts` says in how many other sessions each of its hypotheses was confirmed: that moves their
    /// priors. `held` is the hypothesis that a person confirmed: as good as an observation that only it makes.
    pub(super) fn new(
        playbook: &Playbook,
        seen: &[Seen],
        counts: &[usize],
        held: Option<&str>,
    ) -> Option<Self> {
        let ids: Vec<&str> = playbook
            .hypotheses
            .iter()
            .map(|hypothesis| hypothesis.id.as_str())
            .collect();
        if ids.is_empty() {
            return None;
        }
        let priors: Vec<f64> = playbook
            .hypotheses
            .iter()
            .map(|hypothesis| hypothesis.prior)
            .collect();
        let states: BTreeMap<usize, Tri> = seen
            .iter()
            .map(|seen| (seen.observation, seen.state))
            .collect();
        let named_by = |likely: &BTreeMap<String, f64>, id: &str| likely.get(id).copied();
        let columns = || ids.iter().copied().chain(std::iter::once("other"));
        let mut rows: Vec<Row> = playbook
            .observations
            .iter()
            .enumerate()
            .map(|(index, observation)| Row {
                likely: columns()
                    .map(|id| {
                        let unnamed = if id == "other" && !observation.decisive.is_empty() {
                            DECISIVE_OTHER
                        } else {
                            UNNAMED
                        };
                        named_by(&observation.likely, id).unwrap_or(unnamed)
                    })
                    .collect(),
                named: columns()
                    .map(|id| observation.likely.contains_key(id))
                    .collect(),
                group: observation.group.clone(),
                state: states.get(&index).copied().unwrap_or(Tri::Unknown),
            })
            .collect();
        if let Some(held) = held.filter(|held| ids.contains(held)) {
            rows.push(Row {
                likely: columns()
                    .map(|id| if id == held { ALWAYS } else { NEVER })
                    .collect(),
                named: columns().map(|_| false).collect(),
                group: None,
                state: Tri::Yes,
            });
        }
        let written = scaled(&priors);
        let named = written.get(..ids.len()).unwrap_or_default();
        Some(Self {
            priors: scaled(&moved(named, counts)),
            written,
            rows,
        })
    }

    /// Weighs the observations. Rows that show the same (by `shows`, a row to what it shows) speak
    /// together: what is said for and against a hypothesis with the same words is one thing.
    pub(super) fn weigh(&self, shows: &dyn Fn(usize) -> String) -> Belief {
        let probability = self.posterior();
        let mut supports = Vec::new();
        let mut against = Vec::new();
        for hypothesis in 0..self.priors.len() {
            let mut told: BTreeMap<String, (f64, Vec<usize>)> = BTreeMap::new();
            for (index, row) in self.rows.iter().enumerate() {
                if row.state != Tri::Unknown && row.named.get(hypothesis) == Some(&true) {
                    let (sum, rows) = told.entry(shows(index)).or_default();
                    *sum += row.ratio(hypothesis).ln();
                    rows.push(index);
                }
            }
            let speaking = |speaks: &dyn Fn(f64) -> bool| -> Vec<usize> {
                let mut first: Vec<usize> = told
                    .values()
                    .filter(|(sum, _)| speaks(*sum))
                    .filter_map(|(_, rows)| rows.first().copied())
                    .collect();
                first.sort_unstable();
                first
            };
            supports.push(speaking(&|sum| sum >= CLEAR.ln()));
            against.push(speaking(&|sum| sum <= -CLEAR.ln()));
        }
        Belief {
            refuted: probability
                .iter()
                .zip(&against)
                .map(|(probability, against)| *probability < REFUTED && !against.is_empty())
                .collect(),
            supports,
            against,
            probability,
        }
    }

    /// Beliefs after the observations.
    pub(super) fn posterior(&self) -> Vec<f64> {
        let mut logs: Vec<f64> = self.priors.iter().map(|prior| prior.ln()).collect();
        for row in self.counted() {
            for (hypothesis, log) in logs.iter_mut().enumerate() {
                *log += row.likelihood(hypothesis).ln();
            }
        }
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| (log - most).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    /// Which rows count.
    pub(super) fn counts(&self) -> Vec<usize> {
        let counted = self.counted();
        let is_counted = |row: &&Row| counted.iter().any(|one| std::ptr::eq(*one, *row));
        let rows = self.rows.iter().enumerate();
        rows.filter(|(_, row)| is_counted(row))
            .map(|(at, _)| at)
            .collect()
    }

    /// Beliefs after a row, from those before it.
    pub(super) fn after(&self, row: usize, before: &[f64]) -> Vec<f64> {
        let Some(row) = self.rows.get(row) else {
            return before.to_vec();
        };
        let weights: Vec<f64> = before
            .iter()
            .enumerate()
            .map(|(hypothesis, belief)| belief * row.likelihood(hypothesis))
            .collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    /// The rows that count: known ones, one a group.
    fn counted(&self) -> Vec<&Row> {
        let mut counted: Vec<&Row> = Vec::new();
        let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.state != Tri::Unknown) {
            let Some(group) = row.group.as_deref() else {
                counted.push(row);
                continue;
            };
            match groups.get(group) {
                Some(at) => {
                    if let Some(best) = counted.get_mut(*at)
                        && row.spread() > best.spread()
                    {
                        *best = row;
                    }
                }
                None => {
                    groups.insert(group, counted.len());
                    counted.push(row);
                }
            }
        }
        counted
    }

    /// How much is expected to be learnt, in bits, from a look that settles these rows.
    ///
    /// Over all outcomes of at most [`JOINT`] of them together; what is known already adds nothing.
    pub(super) fn gain(&self, settles: &[usize]) -> f64 {
        let open: Vec<usize> = settles
            .iter()
            .copied()
            .filter(|index| {
                self.rows
                    .get(*index)
                    .is_some_and(|row| row.state == Tri::Unknown)
            })
            .take(JOINT)
            .collect();
        let now = self.posterior();
        let mut after = 0.0;
        let mut imagined = self.clone();
        for outcome in 0..(1_u32 << open.len()) {
            let mut chance_by_hypothesis = now.clone();
            for (bit, index) in open.iter().enumerate() {
                let state = Tri::from(outcome >> bit & 1 == 1);
                let Some(row) = imagined.rows.get_mut(*index) else {
                    continue;
                };
                row.state = state;
                for (hypothesis, chance) in chance_by_hypothesis.iter_mut().enumerate() {
                    *chance *= row.likelihood(hypothesis);
                }
            }
            let chance: f64 = chance_by_hypothesis.iter().sum();
            after += chance * entropy_bits(&imagined.posterior());
        }
        (entropy_bits(&now) - after).max(0.0)
    }

    /// The two standing hypotheses that these rows would tell apart best.
    pub(super) fn splits(&self, settles: &[usize]) -> Option<(usize, usize)> {
        let now = self.posterior();
        let mut best: Option<(f64, usize, usize)> = None;
        for index in settles {
            let Some(row) = self.rows.get(*index) else {
                continue;
            };
            let row = Row {
                state: Tri::Yes,
                ..row.clone()
            };
            for (one, believed) in now.iter().enumerate() {
                for (other, doubted) in now.iter().enumerate().skip(one + 1) {
                    let apart = (row.likelihood(one) / row.likelihood(other)).ln().abs();
                    let worth = believed * doubted * apart;
                    if apart > CLEAR.ln() && best.is_none_or(|(most, _, _)| worth > most) {
                        best = Some((worth, one, other));
                    }
                }
            }
        }
        best.map(|(_, one, other)| {
            let believed = |hypothesis: usize| now.get(hypothesis).copied().unwrap_or(0.0);
            if believed(other) > believed(one) {
                (other, one)
            } else {
                (one, other)
            }
        })
    }
}

/// At most so many observations of one look are thought through together (2ⁿ outcomes).
const JOINT: usize = 5;

/// Priors scaled so that *other*, added last, has its tenth.
fn scaled(priors: &[f64]) -> Vec<f64> {
    let usable: Vec<f64> = priors
        .iter()
        .map(|prior| {
            if prior.is_finite() {
                prior.max(1e-6)
            } else {
                1e-6
            }
        })
        .collect();
    let sum: f64 = usable.iter().sum();
    usable
        .iter()
        .map(|prior| prior / sum * (1.0 - OTHER))
        .chain(std::iter::once(OTHER))
        .collect()
}

/// Uncertainty, in bits.
fn entropy_bits(probability: &[f64]) -> f64 {
    probability
        .iter()
        .filter(|p| **p > 0.0)
        .map(|p| -p * p.log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(likely: &[f64], state: Tri) -> Row {
        Row {
            likely: likely.to_vec(),
            named: likely
                .iter()
                .map(|likely| (likely - 0.5).abs() > 1e-9)
                .collect(),
            group: None,
            state,
        }
    }

    fn grouped(likely: &[f64], state: Tri, group: &str) -> Row {
        Row {
            group: Some(group.to_owned()),
            ..row(likely, state)
        }
    }

    fn close(got: &[f64], want: &[f64]) {
        assert_eq!(got.len(), want.len());
        for (got, want) in got.iter().zip(want) {
            assert!((got - want).abs() < 5e-4, "{got} is not {want}");
        }
    }

    #[test]
    fn priors_leave_a_tenth_to_other() {
        close(&scaled(&[1.0, 2.0]), &[0.3, 0.6, 0.1]);
        close(&scaled(&[0.0, 0.0]), &[0.45, 0.45, 0.1]);
    }

    #[test]
    fn belief_is_prior_times_likelihood() {
        // yes: .45×.98, .45×.1, .1×.5 = .441, .045, .05 of .536
        let table = Table {
            priors: scaled(&[1.0, 1.0]),
            written: scaled(&[1.0, 1.0]),
            rows: vec![row(&[0.98, 0.1, 0.5], Tri::Yes)],
        };
        close(&table.posterior(), &[0.8228, 0.0840, 0.0933]);
        // no: .45×.02, .45×.9, .1×.5 = .009, .405, .05 of .464
        let table = Table {
            rows: vec![row(&[0.98, 0.1, 0.5], Tri::No)],
            ..table
        };
        close(&table.posterior(), &[0.0194, 0.8728, 0.1078]);
    }

    #[test]
    fn what_nobody_looked_at_says_nothing() {
        let table = Table {
            priors: scaled(&[1.0, 1.0]),
            written: scaled(&[1.0, 1.0]),
            rows: vec![row(&[0.98, 0.02, 0.5], Tri::Unknown)],
        };
        close(&table.posterior(), &table.priors);
        assert!(
            table
                .weigh(&|row| row.to_string())
                .supports
                .iter()
                .all(Vec::is_empty)
        );
    }

    #[test]
    fn a_group_counts_once_by_its_strongest() {
        let strong = grouped(&[0.98, 0.02, 0.5], Tri::Yes, "g");
        let weak = grouped(&[0.9, 0.1, 0.5], Tri::Yes, "g");
        let alone = Table {
            priors: scaled(&[1.0, 1.0]),
            written: scaled(&[1.0, 1.0]),
            rows: vec![strong.clone()],
        };
        for rows in [vec![strong.clone(), weak.clone()], vec![weak, strong]] {
            let both = Table {
                priors: scaled(&[1.0, 1.0]),
                written: scaled(&[1.0, 1.0]),
                rows,
            };
            close(&both.posterior(), &alone.posterior());
            assert_eq!(
                both.weigh(&|row| row.to_string()).supports[0].len(),
                2,
                "both are shown"
            );
        }
    }

    #[test]
    fn little_belief_with_something_against_is_refuted() {
        let table = Table {
            priors: scaled(&[1.0, 1.0]),
            written: scaled(&[1.0, 1.0]),
            rows: vec![
                row(&[0.98, 0.02, 0.5], Tri::Yes),
                row(&[0.9, 0.1, 0.5], Tri::Yes),
            ],
        };
        let belief = table.weigh(&|row| row.to_string());
        assert_eq!(belief.refuted, [false, true, false]);
        assert_eq!(belief.against[1], [0, 1]);
        assert!(
            belief.against[2].is_empty(),
            "other is not named, so nothing speaks against it"
        );
    }

    #[test]
    fn a_look_that_splits_is_worth_more() {
        let table = Table {
            priors: scaled(&[1.0, 1.0]),
            written: scaled(&[1.0, 1.0]),
            rows: vec![
                row(&[0.98, 0.02, 0.5], Tri::Unknown),
                row(&[0.9, 0.5, 0.5], Tri::Unknown),
                row(&[0.9, 0.1, 0.5], Tri::Yes),
            ],
        };
        assert!(table.gain(&[0]) > table.gain(&[1]));
        assert!(table.gain(&[0, 1]) >= table.gain(&[0]));
        assert!(table.gain(&[2]).abs() < 1e-9, "known already");
        assert_eq!(table.splits(&[0]), Some((0, 1)));
    }

    #[test]
    fn a_row_that_its_group_holds_already_is_worth_nothing() {
        let table = Table {
            priors: scaled(&[1.0, 1.0]),
            written: scaled(&[1.0, 1.0]),
            rows: vec![
                grouped(&[0.98, 0.02, 0.5], Tri::Yes, "g"),
                grouped(&[0.9, 0.1, 0.5], Tri::Unknown, "g"),
            ],
        };
        assert!(table.gain(&[1]).abs() < 1e-9);
    }

    proptest::proptest! {
        #[test]
        fn beliefs_always_sum_to_one(
            priors in proptest::collection::vec(0.0_f64..10.0, 1..6),
            cells in proptest::collection::vec((0_usize..5, 0_u8..3, proptest::bool::ANY), 0..60),
        ) {
            let words = [0.02, 0.1, 0.5, 0.9, 0.98];
            let width = priors.len() + 1;
            let rows: Vec<Row> = cells.chunks(width).filter(|chunk| chunk.len() == width).map(|chunk| {
                let likely: Vec<f64> = chunk.iter().map(|(word, _, _)| words[*word]).collect();
                let state = [Tri::Yes, Tri::No, Tri::Unknown][usize::from(chunk[0].1)];
                if chunk[0].2 { grouped(&likely, state, "g") } else { row(&likely, state) }
            }).collect();
            let table = Table { priors: scaled(&priors), written: scaled(&priors), rows };
            let sum: f64 = table.posterior().iter().sum();
            proptest::prop_assert!((sum - 1.0).abs() < 1e-9);
            let mut turned = table.clone();
            turned.rows.reverse();
            for (one, other) in table.posterior().iter().zip(turned.posterior()) {
                // Two rows of a group that are equally strong may say different things.
                if table.rows.iter().filter(|row| row.group.is_some()).count() < 2 {
                    proptest::prop_assert!((one - other).abs() < 1e-9);
                }
            }
        }
    }
}
