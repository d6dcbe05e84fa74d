//! A playbook's own tests: the whole way from command lines and output to what fires.

use serde::Serialize;

use super::steps::{commands, end};
use super::{Engine, Expect, Firing, Playbook, TestCase, run};
use crate::time::Micros;
use crate::timeline::{Timeline, build};

/// What came of a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TestResult {
    /// The playbook.
    pub playbook: String,
    /// The test.
    pub name: String,
    /// Its line in the playbook.
    pub line: usize,
    /// It came as expected.
    pub passed: bool,
    /// What came, in words.
    pub message: String,
}

/// Runs a playbook's tests.
///
/// `all` are the playbooks that run beside it; what they find does not count, but a test that
/// should be healthy must be so for each of them that claims more than a nuisance.
pub fn run_tests(playbook: &Playbook, all: &Engine<'_>) -> Vec<TestResult> {
    let tests = playbook.tests.iter();
    tests.map(|test| run_test(playbook, test, all)).collect()
}

fn run_test(playbook: &Playbook, test: &TestCase, all: &Engine<'_>) -> TestResult {
    let timeline = timeline_of(test);
    let firings = run(std::slice::from_ref(playbook), &timeline).firings;
    let open = firings.iter().any(|firing| firing.resolved.is_none());
    let mut passed = match test.expect {
        Expect::Fires => open,
        Expect::Silent => firings.is_empty(),
        Expect::Resolved => !open && !firings.is_empty(),
    };
    let mut message = came_of(&firings, &timeline);
    if test.healthy {
        let accusers = accusers(all, &timeline);
        if !accusers.is_empty() {
            passed = false;
            message = format!("healthy, yet accused by {}", accusers.join(", "));
        }
    }
    TestResult {
        playbook: playbook.id.clone(),
        name: test.name.clone(),
        line: test.line,
        passed,
        message,
    }
}

/// The timeline of a test.
pub fn timeline_of(test: &TestCase) -> Timeline {
    let commands = commands(&test.steps, Micros(0));
    let as_of = end(&commands);
    build(commands, as_of)
}

fn came_of(firings: &[Firing], timeline: &Timeline) -> String {
    if firings.is_empty() {
        return "silent".to_owned();
    }
    let number = |at: usize| {
        let entry = timeline.entries.get(at);
        let command = entry.and_then(|entry| timeline.commands.get(entry.command));
        command.map_or(0, |command| command.number)
    };
    let each: Vec<String> = firings
        .iter()
        .map(|firing| match firing.resolved {
            Some(end) => format!(
                "fires on {}, resolved by {}",
                number(firing.anchor),
                number(end)
            ),
            None => format!("fires on {}", number(firing.anchor)),
        })
        .collect();
    each.join("; ")
}

/// Playbooks that hold something to be wrong in a healthy session.
fn accusers(all: &Engine<'_>, timeline: &Timeline) -> Vec<String> {
    let matches = all.run(timeline);
    let mut accusers: Vec<String> = matches
        .firings
        .iter()
        .filter(|firing| firing.resolved.is_none())
        .filter_map(|firing| all.playbooks().get(firing.playbook))
        .filter(|playbook| {
            let fine = playbook.kind.ends_with(".healthy") || playbook.kind.contains(".benign");
            playbook.severity >= super::Severity::Medium && !fine
        })
        .map(|playbook| playbook.id.clone())
        .collect();
    accusers.sort();
    accusers.dedup();
    accusers
}
