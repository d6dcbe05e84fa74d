use proptest::prelude::{ProptestConfig, prop, proptest};

use super::{Made, gpu, launch, line, log, look, playbook, process};
use crate::fact;
use crate::playbook::Playbook;
use crate::playbook::steps::{commands, end};
use crate::shell::Tri;
use crate::time::Micros;
use crate::timeline::build;

fn playbooks() -> Vec<Playbook> {
    [
        ("command", "steps:\n  - { as: K, fact: kill }\n  - { as: E, fact: exit, on: [command], where: E.code == 255 }"),
        ("launch", "steps:\n  - { as: L, fact: launch }\n  - { fact: line, on: [launch], where: \"it.text == 'bad'\" }\nunless:\n  - { fact: process, where: it.pid == 3 }"),
        ("log", "steps:\n  - { unchanged: { as: U, fact: log_look, field: digest }, count: 2, spanning: 2s }"),
        ("host", "steps:\n  - { as: K, fact: kill }\n  - { absent: { process: K.pattern } }\nuntil:\n  - { fact: gpu, where: it.memory_used_mib > 5.0 }"),
    ]
    .into_iter()
    .map(|(scope, when)| playbook(scope, when))
    .collect()
}

fn add(made: &mut Made, at: i64, host: &str, what: u8) {
    made.command(at, host);
    match what {
        0 => {
            made.says(fact::Kill {
                pattern: Some("serve".to_owned()),
                hits_own_shell: Tri::Unknown,
                ..Default::default()
            });
            made.says(fact::Exit {
                code: Some(255),
                ..Default::default()
            });
        }
        1 => {
            made.launches(launch("/srv/run.log"));
        }
        2 => {
            made.shows(line("bad"));
        }
        3 => {
            made.shows(log("/srv/run.log", "1"));
        }
        4 => {
            made.shows(look("serve", 0));
        }
        5 => {
            made.shows(gpu(0, 9.0));
        }
        _ => {
            made.shows(process(i64::from(what), None));
        }
    }
}

/// What was found, told by commands' times and not by places in the timeline.
fn told(made: &Made, playbooks: &[Playbook]) -> Vec<String> {
    let matches = crate::playbook::run(playbooks, &made.timeline);
    let at = |entry: usize| made.timeline.entries[entry].at.0;
    let firings = matches.firings.iter().map(|firing| {
        let evidence: Vec<_> = firing
            .evidence
            .iter()
            .map(|(entry, says)| (at(*entry), says))
            .collect();
        format!(
            "{} {:?} {} {:?} {evidence:?}",
            firing.playbook,
            firing.scope.host,
            at(firing.anchor),
            firing.resolved.map(at)
        )
    });
    firings.collect()
}

#[test]
fn the_order_of_arrival_changes_nothing() {
    let shipped = crate::playbook::shipped();
    for playbook in shipped {
        let own = std::slice::from_ref(playbook);
        for test in &playbook.tests {
            let commands = commands(&test.steps, Micros(0));
            let as_of = end(&commands);
            let late: Vec<_> = commands.iter().rev().cloned().collect();
            let (usual, late) = (build(commands, as_of), build(late, as_of));
            assert_eq!(
                crate::playbook::run(own, &usual),
                crate::playbook::run(own, &late)
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn facts_of_another_host_change_nothing(
        steps in prop::collection::vec((0_u8..8, 0_u8..8), 1..12),
    ) {
        let playbooks = playbooks();
        let (mut plain, mut noisy) = (Made::new(), Made::new());
        for (number, (what, noise)) in steps.iter().enumerate() {
            let at = i64::try_from(number).unwrap() * 2;
            add(&mut plain, at, "h", *what);
            // A launch elsewhere would take the launches' numbers; everything else may come.
            if *noise != 1 {
                let launch = noisy.launch.take();
                add(&mut noisy, at, "elsewhere", *noise);
                noisy.launch = launch;
            }
            add(&mut noisy, at, "h", *what);
        }
        let mine = |all: Vec<String>| all.into_iter().filter(|one| one.contains("Some(\"h\")")).collect::<Vec<_>>();
        assert_eq!(mine(told(&plain, &playbooks)), mine(told(&noisy, &playbooks)));
    }

    #[test]
    fn running_twice_and_running_together_find_the_same(
        steps in prop::collection::vec(0_u8..8, 1..12),
    ) {
        let playbooks = playbooks();
        let mut made = Made::new();
        for (number, what) in steps.iter().enumerate() {
            add(&mut made, i64::try_from(number).unwrap(), "h", *what);
        }
        let together = crate::playbook::run(&playbooks, &made.timeline);
        assert_eq!(together, crate::playbook::run(&playbooks, &made.timeline));
        let alone: usize = playbooks.iter().map(|playbook| made.firings(playbook).len()).sum();
        assert_eq!(together.firings.len(), alone);
    }
}
