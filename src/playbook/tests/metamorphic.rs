//! What must change nothing: facts that no step asks for, other playbooks beside, the order of
//! arrival.

use super::random::{Dice, playbook, timeline};
use crate::id::CommandId;
use crate::playbook::steps::{commands, end};
use crate::playbook::{Matches, Playbook, run, shipped};
use crate::time::Micros;
use crate::timeline::{Entry, Timeline, build};

const CASES: u64 = 150;

/// Marks every entry, so that it is known again wherever it comes to stand.
fn mark(timeline: &mut Timeline) {
    for (at, entry) in timeline.entries.iter_mut().enumerate() {
        entry.from = u64::try_from(at).unwrap();
    }
}

/// What the first playbook found, told by marks and not by places in the timeline.
fn told(playbooks: &[Playbook], timeline: &Timeline) -> Vec<String> {
    let Matches { firings, wishes } = run(playbooks, timeline);
    let mark = |at: &usize| timeline.entries[*at].from;
    let names = |bindings: &std::collections::BTreeMap<String, usize>| {
        let marked = bindings.iter().map(|(name, at)| (name.clone(), mark(at)));
        format!("{:?}", marked.collect::<Vec<_>>())
    };
    let fired = firings.iter().filter(|one| one.playbook == 0).map(|one| {
        let evidence = one.evidence.iter().map(|(at, says)| (mark(at), says));
        let seen = one.observations.iter().map(|seen| {
            let entries: Vec<u64> = seen.entries.iter().map(mark).collect();
            (seen.state, entries, &seen.says)
        });
        format!(
            "{} {} {:?} {} {:?} {:?}",
            one.scope_key,
            mark(&one.anchor),
            one.resolved.as_ref().map(mark),
            names(&one.bindings),
            evidence.collect::<Vec<_>>(),
            seen.collect::<Vec<_>>()
        )
    });
    let wished = wishes.iter().filter(|one| one.playbook == 0).map(|one| {
        let what = (&one.unknown, &one.probes);
        format!(
            "{} {} {} {what:?}",
            one.scope_key,
            mark(&one.anchor),
            names(&one.bindings)
        )
    });
    fired.chain(wished).collect()
}

/// Puts a command with entries of other types between two commands.
fn insert(into: &mut Timeline, number: usize, entries: Vec<Entry>) {
    let at = into.entries.partition_point(|entry| entry.command < number);
    let more = entries.len();
    let mut command = into.commands[number].clone();
    command.id = CommandId::new();
    into.commands.insert(number, command);
    for entry in &mut into.entries[at..] {
        entry.command += 1;
    }
    for launch in &mut into.launches {
        launch.command += usize::from(launch.command >= number);
        launch.entry += if launch.entry >= at { more } else { 0 };
        launch.epoch_end += if launch.epoch_end >= at { more } else { 0 };
    }
    into.entries.splice(at..at, entries);
}

#[test]
fn facts_that_no_step_asks_for_change_nothing() {
    for seed in 0..CASES {
        let mut dice = Dice::new(seed + 1_000_000);
        let (playbook, written) = playbook(&mut dice);
        let mut plain = timeline(&mut dice, &written.types);
        mark(&mut plain);
        let mut noisy = plain.clone();
        let other = timeline(&mut dice, &[]);
        for _ in 0..3 {
            let number = dice.below(noisy.commands.len());
            let here = noisy.commands[number].at;
            let mut noise: Vec<Entry> = other
                .entries
                .iter()
                .filter(|entry| {
                    let name = entry.fact.name();
                    name != "launch" && !written.types.contains(&name)
                })
                .take(dice.below(6))
                .cloned()
                .collect();
            for entry in &mut noise {
                (entry.command, entry.launch) = (number, None);
                (entry.at, entry.known, entry.from) = (here, here, u64::MAX);
            }
            insert(&mut noisy, number, noise);
        }
        let own = std::slice::from_ref(&playbook);
        assert_eq!(
            told(own, &plain),
            told(own, &noisy),
            "case {seed}\n{}",
            written.text
        );
    }
}

#[test]
fn other_playbooks_beside_change_nothing() {
    for seed in 0..CASES {
        let mut dice = Dice::new(seed + 2_000_000);
        let (one, written) = playbook(&mut dice);
        let timeline = timeline(&mut dice, &written.types);
        let mut all = vec![one];
        all.extend((0..4).map(|_| playbook(&mut dice).0));
        assert_eq!(
            told(&all[..1], &timeline),
            told(&all, &timeline),
            "case {seed}"
        );
    }
}

#[test]
fn any_order_of_arrival_finds_the_same() {
    let mut dice = Dice::new(3);
    for playbook in shipped() {
        for test in playbook.tests.iter().take(2) {
            let usual = commands(&test.steps, Micros(0));
            let as_of = end(&usual);
            let mut late = usual.clone();
            for place in (1..late.len()).rev() {
                late.swap(place, dice.below(place + 1));
            }
            let (usual, late) = (build(usual, as_of), build(late, as_of));
            assert_eq!(
                usual.entries, late.entries,
                "{}: {}",
                playbook.id, test.name
            );
            let own = std::slice::from_ref(playbook);
            assert_eq!(run(own, &usual), run(own, &late));
        }
    }
}
