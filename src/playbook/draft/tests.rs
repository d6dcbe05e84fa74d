use super::super::lint::lint;
use super::super::steps::{CaseExit, CaseStep};
use super::super::{Engine, load, shipped, testing};
use super::{Draft, draft, test_text};

fn step(at: f64, command: &str, exit: i32, stdout: &str, stderr: &str) -> CaseStep {
    CaseStep {
        at,
        took: Some(0.25),
        host: Some("laptop".to_owned()),
        command: command.to_owned(),
        exit: Some(CaseExit::Code(exit)),
        stdout: Some(stdout.to_owned()),
        stderr: Some(stderr.to_owned()),
        ..CaseStep::default()
    }
}

fn of(title: &str, steps: Vec<CaseStep>) -> (super::Drafted, super::super::Playbook) {
    let drafted = draft(&Draft {
        id: "a-new-one".to_owned(),
        kind: None,
        title: title.to_owned(),
        steps,
    });
    let playbook = load("a-new-one.yaml", &drafted.text)
        .unwrap_or_else(|faults| panic!("{}\n{faults:#?}", drafted.text));
    (drafted, playbook)
}

#[test]
fn a_session_becomes_a_playbook_that_fires_on_it() {
    let (drafted, playbook) = of(
        "The worker is gone: \"again\" {{why}}",
        vec![
            step(0.0, "ssh n7 'nohup ./w.sh > w.log 2>&1 &'", 0, "", ""),
            step(
                20.0,
                "ssh n7 'tail -3 w.log'",
                0,
                "2026-11-30 10:00:00 ERROR cannot attach to ring buffer 17: stale owner\n",
                "",
            ),
            step(31.5, "ssh n7 'pgrep -f \"[w].sh\"'", 1, "", ""),
        ],
    );
    assert!(drafted.fires, "{}", drafted.text);
    assert!(drafted.text.contains("cannot attach to ring buffer"));
    assert_eq!(playbook.when.steps.len(), 3);
    assert_eq!(playbook.kind, "own.a_new_one");
    let test = &playbook.tests[0];
    assert!((test.steps[2].at - 31.5).abs() < 1e-9);
    assert_eq!(test.steps[1].took, Some(0.25));
    // What is left to do is the author's: a near miss and a healthy twin.
    let left: Vec<_> = lint(&playbook)
        .into_iter()
        .map(|fault| fault.message)
        .collect();
    assert_eq!(left, ["no near miss", "no healthy twin"]);
}

#[test]
fn commands_that_say_nothing_give_a_playbook_that_loads() {
    for steps in [
        Vec::new(),
        vec![step(0.0, "true", 0, "", "")],
        vec![step(
            0.0,
            "echo '",
            0,
            "{{ \u{1b}[31m\r\n",
            "%%% | > \t'\"\\",
        )],
    ] {
        let (drafted, playbook) = of("", steps.clone());
        assert_eq!(playbook.tests[0].steps.len(), steps.len());
        assert_eq!(playbook.tests[0].steps, steps, "{}", drafted.text);
    }
}

#[test]
fn every_shipped_firing_test_gives_one_that_loads() {
    let (mut all, mut fire) = (0, 0);
    for playbook in shipped() {
        let Some(test) = playbook.tests.first() else {
            continue;
        };
        let (drafted, new) = of("it", test.steps.clone());
        all += 1;
        fire += usize::from(drafted.fires);
        let passed = testing::run_tests(&new, &Engine::new(&[]))
            .iter()
            .all(|test| test.passed);
        assert_eq!(passed, drafted.fires);
    }
    assert!(fire * 10 >= all * 8, "{fire} of {all} fire");
}

#[test]
fn a_long_stream_is_cut_at_line_ends() {
    let line = b"one line of forty bytes, counted by hand\n";
    let long = line.repeat(10_000);
    let text = test_text(&long);
    assert!(text.len() <= super::STREAM_BYTES && text.len() > super::STREAM_BYTES - 100);
    assert!(text.lines().all(|one| one.len() + 1 == line.len()));
    assert_eq!(test_text(b"short"), "short");
}
