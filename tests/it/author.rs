//! Writing playbooks: from a recorded session to a playbook that is linted, tested and tried over
//! one's own history.

use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;

use crate::bench::{Bench, finish};

/// A worker that ends on its own lock, told by its log; another one that works.
const STUCK: &str = r"
title: The worker is gone again
started: 2026-11-30T10:00:00Z
steps:
- { at: 0, took: 0.2, host: laptop, command: ssh n7 'nohup ./w.sh > w.log 2>&1 &', exit: 0, stdout: '' }
- { at: 9, took: 0.1, host: laptop, command: ssh n7 'uptime', exit: 0, stdout: '' }
- at: 20
  took: 0.25
  host: laptop
  command: ssh n7 'tail -3 w.log'
  exit: 0
  stdout: |
    2026-11-30 10:00:01 ERROR cannot attach to ring buffer 17: stale owner
- { at: 31.5, took: 0.1, host: laptop, command: ssh n7 'pgrep -f w.sh', exit: 1, stdout: '' }
";
const WELL: &str = r"
title: The worker works
started: 2026-11-30T11:00:00Z
steps:
- { at: 0, took: 0.2, host: laptop, command: ssh n8 'nohup ./w.sh > w.log 2>&1 &', exit: 0, stdout: '' }
- { at: 20, took: 0.2, host: laptop, command: ssh n8 'tail -3 w.log', exit: 0, stdout: 'attached to ring buffer 17' }
";

struct Author {
    bench: Bench,
}

impl Author {
    fn new() -> Self {
        Self {
            bench: Bench::new(),
        }
    }

    fn config(&self) -> PathBuf {
        self.bench.file("config")
    }

    fn own(&self) -> PathBuf {
        self.config().join("casebook/playbooks")
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = self.bench.recorded(words);
        command.env("XDG_CONFIG_HOME", self.config());
        finish(command)
    }

    fn say(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "rec {words:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, words: &[&str]) -> Value {
        let output = self.run(words);
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("rec {words:?}: {error}"))
    }

    fn import(&self, text: &str) -> String {
        let path = self.bench.file("case.yaml");
        std::fs::write(&path, text).unwrap();
        let said = self.say(&["import", &path.display().to_string()]);
        said.split_whitespace().last().unwrap().to_owned()
    }
}

#[test]
fn a_session_becomes_a_playbook_and_is_never_overwritten() {
    let author = Author::new();
    let session = author.import(STUCK);
    let new = ["playbook", "new", "ring-buffer-stuck", "--from", &session];
    let picked = [&new[..], &["--command", "3,1", "--command", "4", "--json"]].concat();
    let said = author.json(&picked);
    assert_eq!(said["fires"], true, "{said:#}");
    assert_eq!(said["commands"], serde_json::json!([1, 3, 4]));
    let left: Vec<&str> = said["left"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| fault["message"].as_str().unwrap())
        .collect();
    assert_eq!(left, ["no near miss", "no healthy twin"]);
    let path = author.own().join("ring-buffer-stuck.yaml");
    assert_eq!(said["path"], path.display().to_string());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("stale owner") && !text.contains("uptime"));
    assert!(text.contains("at: 31.5"), "{text}");
    // The test of it passes, lint says what is left.
    assert_eq!(
        author.say(&["playbook", "test", &path.display().to_string()]),
        "1 passed, 0 failed\n"
    );
    let lint = author.json(&["playbook", "lint", &path.display().to_string(), "--json"]);
    assert_eq!(lint["faults"].as_array().unwrap().len(), 2);
    // Nothing is overwritten, and nothing is written that is not right.
    for (words, wanted) in [
        (&new[..], "is there already"),
        (
            &["playbook", "new", "Ring", "--from", &session][..],
            "`Ring` is no id",
        ),
        (
            &["playbook", "new", "disk-full", "--from", &session][..],
            "is the id of a shipped playbook",
        ),
        (
            &["playbook", "new", "b", "--from", &session, "--command", "9"][..],
            "has no command #9",
        ),
        (
            &["playbook", "new", "b", "--from", &session, "--kind", "x y"][..],
            "`x y` is no kind",
        ),
        (
            &["playbook", "new", "b", "--from", "s-nothing"][..],
            "s-nothing",
        ),
    ] {
        let output = author.run(words);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
        assert!(stderr.contains(wanted), "{words:?}: {stderr}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    assert_eq!(std::fs::read_dir(author.own()).unwrap().count(), 1);
}

#[test]
fn a_change_is_tried_over_the_whole_history() {
    let author = Author::new();
    let stuck = author.import(STUCK);
    let well = author.import(WELL);
    author.say(&[
        "playbook",
        "new",
        "ring",
        "--from",
        &stuck,
        "--command",
        "1,3",
    ]);
    let path = author.own().join("ring.yaml");
    let name = path.display().to_string();
    let one = author.json(&["playbook", "backtest", &name, "--json"]);
    assert_eq!(
        (&one["ok"], &one["sessions"], &one["commands"]),
        (&true.into(), &2.into(), &6.into())
    );
    let ring = &one["playbooks"][0];
    assert_eq!(ring["playbook"], "ring");
    assert_eq!(ring["against"], Value::Null);
    assert_eq!(ring["sessions"], 1);
    assert_eq!(ring["fires"][0]["session"], *stuck);
    assert_eq!(ring["fires"][0]["number"], 1);
    // A wider one fires on the other session too; a narrower one on none.
    let text = std::fs::read_to_string(&path).unwrap();
    let at = text.find("    - as: B").unwrap();
    let end = at + text[at..].find("  # When").unwrap();
    let wide = format!("{}{}", &text[..at], &text[end..]).replace("version: 1", "version: 2");
    let file = author.bench.file("wide.yaml");
    std::fs::write(&file, wide).unwrap();
    let wide = file.display().to_string();
    let two = author.json(&["playbook", "backtest", &wide, "--json"]);
    let ring = &two["playbooks"][0];
    assert_eq!(
        (&ring["sessions_added"], &ring["sessions_lost"]),
        (&1.into(), &0.into())
    );
    assert_eq!(ring["against"]["path"], name);
    let added: Vec<&Value> = ring["fires"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|place| place["change"] == "added")
        .collect();
    assert_eq!(added.len(), 1);
    assert_eq!(added[0]["session"], *well);
    let three = author.json(&["playbook", "backtest", &name, "--against", &wide, "--json"]);
    let ring = &three["playbooks"][0];
    assert_eq!(
        (&ring["sessions_added"], &ring["sessions_lost"]),
        (&0.into(), &1.into())
    );
    assert_eq!(ring["no_longer"][0]["session"], *well);
    let said = author.say(&["playbook", "backtest", &wide]);
    assert!(
        said.contains("fires on 2 sessions; 1 more, 0 fewer than version 1"),
        "{said}"
    );
    assert!(
        said.contains("1 playbook over 6 commands in 2 sessions"),
        "{said}"
    );
    // Everything at hand, and what does not read.
    std::fs::write(author.own().join("broken.yaml"), "id: A\n").unwrap();
    let all = author.json(&["playbook", "backtest", "--json"]);
    assert_eq!(all["ok"], false);
    assert!(all["playbooks"].as_array().unwrap().len() > 60);
}

#[test]
fn the_schema_is_one() {
    let author = Author::new();
    let schema = author.json(&["playbook", "schema"]);
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    let facts = schema["$defs"]["fact"]["enum"].as_array().unwrap();
    assert!(facts.iter().any(|fact| fact == "launch_state"));
}

/// The tutorial of the manual, command by command.
#[test]
fn the_tutorial_runs_as_it_stands() {
    const MANUAL: &str = include_str!("../../docs/playbooks.md");
    let (_, rest) = MANUAL.split_once("\n## Ten minutes\n").unwrap();
    let (tutorial, _) = rest.split_once("\n## From a blank page\n").unwrap();
    let (before, rest) = tutorial.split_once("```yaml\n").unwrap();
    let (yaml, after) = rest.split_once("```\n").unwrap();
    let script = |part: &str| -> String {
        let blocks = part.split("```sh\n").skip(1);
        blocks
            .map(|block| block.split_once("```\n").unwrap().0)
            .collect()
    };
    let author = Author::new();
    let run = |script: &str| -> String {
        let mut command = author.bench.command(&[
            "sh",
            "-ec",
            &format!("rec() {{ \"$REC\" \"$@\"; }}\n{script}"),
        ]);
        command.env("XDG_CONFIG_HOME", author.config());
        let output = finish(command);
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stdout}\n{stderr}");
        stdout
    };
    let said = run(&script(before));
    assert!(
        said.contains("Nothing wrong was seen in 3 commands."),
        "{said}"
    );
    assert!(said.contains("the guessed steps fire on it"), "{said}");
    std::fs::write(author.own().join("claim-of-the-dead.yaml"), yaml).unwrap();
    let said = run(&script(after));
    for wanted in [
        "1 playbook, nothing to mend",
        "3 passed, 0 failed",
        "fires on 1 session",
        "a claim whose owner is gone keeps indexer.sh out",
        "confirmed: a claim",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

/// A playbook with two explanations, and a session it fires on.
const QUIET: &str = r#"id: quiet
version: 1
kind: own.quiet
severity: high
scope: launch
title: "{{L.name}} on {{L.host}} ended without a word"
when:
  steps:
    - { as: L, fact: launch }
    - { as: N, fact: log_look, on: [log], where: N.only_nohup }
    - { absent: { process: L.name }, as: A }
hypotheses:
  - { id: died, title: it died at once, prior: .6 }
  - { id: buffered, title: its last words stayed in a buffer, prior: .3 }
observations:
  - id: buffers
    says: it buffers
    when: { fact: launch, on: [command], where: "it.buffered == 'yes'" }
    likely: { died: some, buffered: always }
"#;

fn quiet_case(host: &str) -> String {
    format!(
        r"
title: The fold on {host}
started: 2026-11-30T10:00:00Z
steps:
- {{ at: 0, took: 0.2, host: laptop, command: ssh {host} 'nohup ./fold.sh > fold.log 2>&1 &', exit: 0, stdout: '' }}
- at: 9
  took: 0.1
  host: laptop
  command: ssh {host} 'tail -5 fold.log'
  exit: 0
  stdout: |
    nohup: ignoring input
- {{ at: 12, took: 0.1, host: laptop, command: ssh {host} 'pgrep -f fold.sh', exit: 1, stdout: '' }}
"
    )
}

impl Author {
    /// The finding of the quiet playbook in a session.
    fn quiet(&self, session: &str) -> Value {
        let why = self.json(&["why", session, "--json"]);
        let findings = why["findings"].as_array().unwrap();
        let found = findings.iter().find(|one| one["playbook"] == "quiet");
        found.unwrap_or_else(|| panic!("{why:#}")).clone()
    }
}

fn hypothesis<'a>(finding: &'a Value, id: &str) -> &'a Value {
    let all = finding["hypotheses"].as_array().unwrap();
    all.iter().find(|one| one["id"] == id).unwrap()
}

#[test]
fn a_case_taken_in_again_is_no_new_occurrence() {
    let author = Author::new();
    std::fs::create_dir_all(author.own()).unwrap();
    std::fs::write(author.own().join("quiet.yaml"), QUIET).unwrap();
    let first = author.import(&quiet_case("n1"));
    author.quiet(&first);
    for _ in 0..2 {
        let again = author.import(&quiet_case("n1"));
        assert!(author.quiet(&again)["seen_before"].is_null());
    }
    // Elsewhere it counts once.
    let other = author.import(&quiet_case("n2"));
    assert_eq!(author.quiet(&other)["seen_before"]["times"], 1);
}

#[test]
fn what_was_confirmed_moves_priors_and_can_be_taken_back() {
    let author = Author::new();
    std::fs::create_dir_all(author.own()).unwrap();
    std::fs::write(author.own().join("quiet.yaml"), QUIET).unwrap();
    let sessions: Vec<String> = ["n1", "n2", "n3"]
        .iter()
        .map(|host| author.import(&quiet_case(host)))
        .collect();
    let found: Vec<Value> = sessions
        .iter()
        .map(|session| author.quiet(session))
        .collect();
    let id = |place: usize| found[place]["id"].as_str().unwrap();
    // Seen before, and nobody said what it was.
    let last = &found[2];
    assert_eq!(hypothesis(last, "buffered").get("prior"), None);
    assert_eq!(last["seen_before"]["times"], 2);
    assert_eq!(last["seen_before"]["confirmed"], serde_json::json!([]));
    let before = hypothesis(last, "buffered")["probability"]
        .as_f64()
        .unwrap();
    let confirm = |place: usize| {
        author.say(&[
            "confirm",
            id(place),
            "buffered",
            "--session",
            &sessions[place],
        ]);
    };
    (0..2).for_each(confirm);
    let last = author.quiet(&sessions[2]);
    let moved = hypothesis(&last, "buffered");
    let prior = &moved["prior"];
    assert_eq!(prior["confirmations"], 2);
    assert!(
        (prior["from"].as_f64().unwrap() - 0.3).abs() < 1e-9,
        "{prior}"
    );
    assert!(
        (prior["to"].as_f64().unwrap() - 0.5).abs() < 1e-9,
        "{prior}"
    );
    assert!(moved["probability"].as_f64().unwrap() > before);
    let cause = &last["seen_before"]["confirmed"][0];
    assert_eq!(cause["hypothesis"], "buffered");
    assert_eq!(cause["sessions"].as_array().unwrap().len(), 2);
    let said = author.say(&["why", &sessions[2]]);
    assert!(
        said.contains("prior moved by 2 confirmations: .30 → .50"),
        "{said}"
    );
    assert!(
        said.contains("Seen 2 times before; confirmed cause: its last words stayed in a buffer"),
        "{said}"
    );
    // Taking one back takes its count back; twice in one session is once. What was said of this
    // very session is no experience of it.
    author.say(&[
        "dismiss",
        id(0),
        "--because",
        "it was not",
        "--session",
        &sessions[0],
    ]);
    confirm(1);
    confirm(2);
    let last = author.quiet(&sessions[2]);
    assert_eq!(hypothesis(&last, "buffered")["prior"]["confirmations"], 1);
    assert_eq!(last["seen_before"]["times"], 1);
    let stats = author.json(&["playbook", "stats", "--json"]);
    let quiet = stats["playbooks"].as_array().unwrap();
    let quiet = quiet.iter().find(|one| one["playbook"] == "quiet").unwrap();
    assert_eq!(
        (
            &quiet["fired"],
            &quiet["confirmed"],
            &quiet["dismissed"],
            &quiet["causes"]["buffered"]
        ),
        (&3.into(), &2.into(), &1.into(), &2.into())
    );
    assert_eq!(quiet["last_seen"].as_str().unwrap().len(), 27);
    // A person may want none of it.
    std::fs::write(
        author.config().join("casebook/config.toml"),
        "learn = false\n",
    )
    .unwrap();
    let last = author.quiet(&sessions[2]);
    assert_eq!(hypothesis(&last, "buffered").get("prior"), None);
    assert_eq!(last["seen_before"]["times"], 1);
}

#[test]
fn an_error_that_no_finding_speaks_of_is_recalled() {
    let author = Author::new();
    let first = author.import(STUCK);
    author.say(&["why", &first]);
    let second = author.import(&STUCK.replace("n7", "n9").replace("17:", "23:"));
    let why = author.json(&["why", &second, "--json"]);
    let in_finding = why["findings"].as_array().unwrap().iter().any(|finding| {
        let sessions = finding["seen_before"]["sessions"].as_array();
        sessions.is_some_and(|all| all.iter().any(|one| one["session"] == *first))
    });
    let alone = why["seen_errors"]
        .as_array()
        .unwrap()
        .iter()
        .any(|error| error["number"] == 3 && error["sessions"][0]["session"] == *first);
    assert!(in_finding || alone, "{why:#}");
    let other = author.import(WELL);
    let why = author.json(&["why", &other, "--json"]);
    assert_eq!(why["seen_errors"], serde_json::json!([]));
}

#[test]
fn a_playbook_of_ones_own_that_does_not_read_is_mentioned() {
    let author = Author::new();
    let session = author.import(WELL);
    std::fs::create_dir_all(author.own()).unwrap();
    std::fs::write(
        author.own().join("quiet.yaml"),
        QUIET.replace("severity: high", "severty: high"),
    )
    .unwrap();
    let output = author.run(&["why", &session, "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let _: Value = serde_json::from_slice(&output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("quiet.yaml:4:1: a playbook has no key `severty`"),
        "{stderr}"
    );
    assert!(stderr.contains("`rec playbook lint`"), "{stderr}");
    std::fs::write(
        author.config().join("casebook/config.toml"),
        "lern = false\n",
    )
    .unwrap();
    let doctor = author.run(&["doctor"]);
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert_eq!(doctor.status.code(), Some(1));
    assert!(
        said.contains("✗ playbooks") && said.contains("✗ settings"),
        "{said}"
    );
    std::fs::write(author.own().join("quiet.yaml"), QUIET).unwrap();
    std::fs::remove_file(author.config().join("casebook/config.toml")).unwrap();
    let output = author.run(&["why", &session]);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(author.run(&["doctor"]).status.code(), Some(0));
}
