//! The engine against the definition (`oracle.rs`): whatever the playbook and the session, both find
//! the same, to the last word of evidence.

use std::collections::BTreeMap;

use super::oracle;
use super::random::{Dice, playbook, timeline};
use crate::playbook::testing::timeline_of;
use crate::playbook::{Form, Playbook, Step, Trend, shipped};
use crate::timeline::Timeline;

/// Cases of the ordinary test, and of the long one (`CASEBOOK_LONG=1`).
const CASES: u64 = 600;
const LONG_CASES: u64 = 100_000;
/// Cases in which it is asked whether an operator decided.
const ABLATED: u64 = 3_000;

fn case(seed: u64) -> (Playbook, Timeline, String) {
    let mut dice = Dice::new(seed);
    let (playbook, written) = playbook(&mut dice);
    let timeline = timeline(&mut dice, &written.types);
    (playbook, timeline, written.text)
}

fn told(timeline: &Timeline) -> String {
    let entries = timeline.entries.iter().enumerate();
    let lines = entries.map(|(at, entry)| {
        format!(
            "{at}: #{} {}{} i{:?} {:?} l{:?} {}–{} {:?}\n",
            entry.command,
            entry.host,
            entry.container.as_deref().unwrap_or(""),
            entry.invocation,
            entry.stream,
            entry.launch,
            entry.at.0 / 1_000_000,
            entry.known.0 / 1_000_000,
            entry.fact
        )
    });
    let launches: Vec<_> = timeline
        .launches
        .iter()
        .map(|one| (one.entry, one.epoch_end))
        .collect();
    format!("{}launches {launches:?}\n", lines.collect::<String>())
}

fn agree(playbook: &Playbook, timeline: &Timeline, told_by: &dyn Fn() -> String) -> bool {
    let own = std::slice::from_ref(playbook);
    let (defined, found) = (
        oracle::run(own, timeline),
        crate::playbook::run(own, timeline),
    );
    assert_eq!(
        found,
        defined,
        "engine (left) and definition\n{}",
        told_by()
    );
    !found.firings.is_empty()
}

/// Cases in which the engine once found something else: 60,393 went back past an entry of a group that
/// could have been the latest of it.
const FOUND: [u64; 1] = [60_393];

#[test]
fn engine_and_definition_find_the_same() {
    let long = std::env::var_os("CASEBOOK_LONG").is_some();
    let cases = if long { LONG_CASES } else { CASES };
    let (mut fired, mut wished, mut resolved) = (0, 0, 0);
    let mut decisive: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in (0..cases).chain(FOUND) {
        let (playbook, timeline, text) = case(seed);
        let tell = || format!("case {seed}\n{text}\n{}", told(&timeline));
        let found = agree(&playbook, &timeline, &tell);
        fired += u64::from(found);
        if seed < ABLATED {
            let own = std::slice::from_ref(&playbook);
            let defined = oracle::run(own, &timeline);
            wished += u64::from(!defined.wishes.is_empty());
            resolved += u64::from(defined.firings.iter().any(|f| f.resolved.is_some()));
            for (operator, without) in ablations(&playbook) {
                let other = oracle::run(std::slice::from_ref(&without), &timeline);
                let decided = other.firings.len() != defined.firings.len()
                    || other.firings.iter().zip(&defined.firings).any(|(a, b)| {
                        (a.anchor, a.resolved, &a.scope) != (b.anchor, b.resolved, &b.scope)
                    });
                *decisive.entry(operator).or_default() += u64::from(decided);
            }
        }
    }
    println!(
        "{cases} cases: {fired} fired; of the first {}: {resolved} resolved, {wished} wished for a look; decisive: {decisive:?}",
        cases.min(ABLATED)
    );
    assert!(
        fired * 5 >= cases,
        "only {fired} of {cases} cases found anything"
    );
    let ablated = cases.min(ABLATED);
    assert!(
        resolved * 50 >= ablated,
        "only {resolved} of {ablated} ended"
    );
    assert!(
        wished * 50 >= ablated,
        "only {wished} of {ablated} wished for a look"
    );
    for operator in OPERATORS {
        let times = decisive.get(operator).copied().unwrap_or(0);
        assert!(times > 0, "{operator} never decided: {decisive:?}");
    }
}

#[test]
fn they_find_the_same_for_shipped_playbooks_in_their_own_tests() {
    for playbook in shipped() {
        for test in &playbook.tests {
            let timeline = timeline_of(test);
            agree(playbook, &timeline, &|| {
                format!("{}: {}", playbook.id, test.name)
            });
        }
    }
}

const OPERATORS: &[&str] = &[
    "fact",
    "all",
    "any",
    "absent",
    "unchanged",
    "changed",
    "rising",
    "not_rising",
    "count",
    "distinct",
    "spanning",
    "within",
    "after",
    "unless",
    "until",
    "where",
    "on",
];

/// The playbook without one of its operators, for each that it has.
fn ablations(playbook: &Playbook) -> Vec<(&'static str, Playbook)> {
    let mut out = Vec::new();
    let mut push = |name: &'static str, change: &dyn Fn(&mut Playbook)| {
        let mut without = playbook.clone();
        change(&mut without);
        out.push((name, without));
    };
    if !playbook.when.unless.is_empty() {
        push("unless", &|playbook| playbook.when.unless.clear());
    }
    if !playbook.when.until.is_empty() {
        push("until", &|playbook| playbook.when.until.clear());
    }
    for (at, step) in playbook.when.steps.iter().enumerate() {
        let edit = |change: &dyn Fn(&mut Step)| {
            let mut changed = step.clone();
            change(&mut changed);
            move |playbook: &mut Playbook| playbook.when.steps[at] = changed.clone()
        };
        if step.within_s.is_some() {
            push("within", &edit(&|step| step.within_s = None));
        }
        if step.after_s.is_some() {
            push("after", &edit(&|step| step.after_s = None));
        }
        let (name, alone) = match &step.form {
            Form::Fact(bind) => {
                if bind.filter.is_some() {
                    push("where", &edit(&|step| fact(step).filter = None));
                }
                if !bind.on.is_empty() {
                    push("on", &edit(&|step| fact(step).on.clear()));
                }
                ("fact", None)
            }
            Form::All(steps) => ("all", steps.first()),
            Form::Any(steps) => ("any", steps.first()),
            Form::Absent(_) => ("absent", None),
            Form::Series(series) => {
                if series.spanning_s > 0.0 {
                    push(
                        "spanning",
                        &edit(&|step| {
                            if let Form::Series(series) = &mut step.form {
                                series.spanning_s = 0.0;
                            }
                        }),
                    );
                }
                let name = match series.trend {
                    Trend::Unchanged => "unchanged",
                    Trend::Changed => "changed",
                    Trend::Rising => "rising",
                    Trend::NotRising => "not_rising",
                    Trend::Count if series.distinct.is_some() => "distinct",
                    Trend::Count => "count",
                };
                push(
                    name,
                    &edit(&|step| {
                        if let Form::Series(series) = &step.form {
                            step.form = Form::Fact(series.bind.clone());
                        }
                    }),
                );
                continue;
            }
        };
        if let Some(alone) = alone {
            // A group of its first step only.
            push(name, &|playbook| playbook.when.steps[at] = alone.clone());
        } else if playbook.when.steps.len() > 1 {
            push(name, &|playbook| {
                playbook.when.steps.remove(at);
            });
        }
    }
    out
}

fn fact(step: &mut Step) -> &mut crate::playbook::Bind {
    match &mut step.form {
        Form::Fact(bind) => bind,
        _ => panic!("no fact"),
    }
}
