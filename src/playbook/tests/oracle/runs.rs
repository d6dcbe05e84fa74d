//! Runs of looks, as they are defined.

use std::collections::BTreeSet;

use super::Oracle;
use crate::playbook::eval::{Val, show};
use crate::playbook::identity::identity;
use crate::playbook::{Series, Trend};

impl Oracle<'_> {
    /// Runs with enough distinct values: the looks that bring a new one, counted.
    pub(super) fn distinct(&self, series: &Series, looks: &[usize]) -> Vec<(usize, usize)> {
        let field = series.distinct.unwrap();
        let mut fresh: Vec<(usize, String)> = Vec::new();
        for at in looks {
            let value = self.value(field, *at);
            let text = show(&value);
            if value != Val::Unknown && !fresh.iter().any(|(_, known)| *known == text) {
                fresh.push((*at, text));
            }
        }
        let Some(first) = fresh.first().map(|(at, _)| *at) else {
            return Vec::new();
        };
        let each = fresh.iter().enumerate();
        each.filter(|(number, (last, _))| {
            number + 1 >= series.count && self.spans(series, first, *last)
        })
        .map(|(_, (last, _))| (first, *last))
        .collect()
    }

    /// Runs of looks at one thing. For each newest look the run is the one that the trend asks for:
    /// of `unchanged` and `count` the longest, of the others the shortest.
    pub(super) fn runs(&self, series: &Series, looks: &[usize]) -> Vec<(usize, usize)> {
        let told = |at: &&usize| match series.field {
            Some(field) => self.value(field, **at) != Val::Unknown,
            None => true,
        };
        let looks: Vec<usize> = looks.iter().filter(told).copied().collect();
        let things: BTreeSet<String> = looks.iter().map(|at| identity(self.entry(*at))).collect();
        let mut out = Vec::new();
        for thing in things {
            let of_thing: Vec<usize> = looks
                .iter()
                .filter(|at| identity(self.entry(**at)) == thing)
                .copied()
                .collect();
            // Facts of one look that follow each other are one look: its last word counts.
            let one_look = |a: usize, b: usize| {
                let (a, b) = (self.entry(a), self.entry(b));
                a.command == b.command && a.invocation == b.invocation
            };
            let group: Vec<usize> = of_thing
                .iter()
                .enumerate()
                .filter(|(number, at)| {
                    let next = of_thing.get(number + 1);
                    next.is_none_or(|next| !one_look(**at, *next))
                })
                .map(|(_, at)| *at)
                .collect();
            for end in 0..group.len() {
                let good = |start: &usize| self.is_run(series, &group[*start..=end]);
                let start = match series.trend {
                    Trend::Unchanged | Trend::Count => (0..=end).find(good),
                    _ => (0..=end).rev().find(good),
                };
                out.extend(start.map(|start| (group[start], group[end])));
            }
        }
        out
    }

    fn is_run(&self, series: &Series, run: &[usize]) -> bool {
        let (first, last) = (run[0], run[run.len() - 1]);
        let value = |at: usize| {
            series
                .field
                .map_or(Val::Unknown, |field| self.value(field, at))
        };
        let number = |at: usize| value(at).number();
        let alike = |a: usize, b: usize| match (number(a), number(b)) {
            (Some(a), Some(b)) => (a - b).abs() <= series.noise,
            _ => value(a) == value(b),
        };
        let trend = match series.trend {
            Trend::Count => true,
            Trend::Unchanged => run.iter().all(|at| alike(*at, last)),
            // Two looks that differ, next to each other.
            Trend::Changed => run.len() == 2 && !alike(first, last),
            Trend::Rising => {
                run.len() > 1 && number(last).unwrap() - number(first).unwrap() > series.noise
            }
            Trend::NotRising => {
                let most = run.iter().map(|at| number(*at).unwrap());
                let most = most.fold(f64::NEG_INFINITY, f64::max);
                run.len() > 1 && most - number(first).unwrap() <= series.noise
            }
        };
        let enough = match series.trend {
            Trend::Changed => true,
            _ => run.len() >= series.count,
        };
        trend && enough && self.spans(series, first, last)
    }
}
