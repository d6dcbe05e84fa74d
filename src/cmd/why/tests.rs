//! The page as people read it, word for word.

use super::{Header, render};
use crate::cmd::paint::Paint;
use crate::diagnosis::{
    Claim, Diagnosis, Evidence, FORMAT, Finding, Hypothesis, PostconditionView, Scope, Severity,
    Status, Suggestion,
};
use crate::id::{CommandId, FindingId, SessionId};
use crate::time::Micros;
use crate::timeline::Met;

const LAUNCH: &str =
    "ssh root@gpu01 'pkill -9 -f sglang; sleep 3; cat > run.sh << END\nx\nEND\nnohup ./run.sh'";

fn plain(width: usize) -> Paint {
    Paint {
        width,
        colour: false,
        utc: true,
    }
}

fn evidence(number: u32, says: &str) -> Evidence {
    Evidence {
        command_id: CommandId::from_uuid(uuid::Uuid::nil()),
        number,
        line: LAUNCH.to_owned(),
        stream: None,
        from: 0,
        to: 0,
        quote: String::new(),
        says: says.to_owned(),
    }
}

fn hypothesis(
    title: &str,
    probability: f64,
    supports: Vec<Evidence>,
    against: Vec<Evidence>,
) -> Hypothesis {
    Hypothesis {
        id: title.to_owned(),
        title: title.to_owned(),
        kind: None,
        probability,
        prior: None,
        supports,
        against,
        refuted: false,
    }
}

fn suggestion(line: &str, why: &str) -> Suggestion {
    Suggestion {
        id: "n-abcdefgh".to_owned(),
        line: line.to_owned(),
        safety: "read-only".to_owned(),
        why: why.to_owned(),
        cost: 3.0,
        playbook: "p".to_owned(),
    }
}

fn finding(title: &str, kind: &str) -> Finding {
    Finding {
        id: FindingId::derive(title, "", ""),
        playbook: "p".to_owned(),
        version: 1,
        kind: kind.to_owned(),
        claim: Claim::Established,
        severity: Severity::High,
        status: Status::Open,
        cause_of: Vec::new(),
        title: title.to_owned(),
        explains: String::new(),
        scope: Scope {
            host: Some("gpu01".to_owned()),
            ..Scope::default()
        },
        evidence: vec![evidence(4, "it was seen")],
        hypotheses: Vec::new(),
        seen_before: None,
        next: Vec::new(),
        remedy: String::new(),
        since: Micros::parse("2026-11-30T11:02:13Z").unwrap(),
    }
}

fn diagnosis(findings: Vec<Finding>) -> Diagnosis {
    Diagnosis {
        format: FORMAT,
        session: SessionId::from_uuid(uuid::Uuid::nil()),
        as_of: None,
        findings,
        launches: Vec::new(),
        postconditions: Vec::new(),
        seen_errors: Vec::new(),
        next: Vec::new(),
    }
}

fn header() -> Header {
    Header {
        title: "GLM-5 bring-up".to_owned(),
        commands: 9,
        hosts: vec!["gpu01".to_owned()],
        span: Some((
            Micros::parse("2026-11-30T11:02:00Z").unwrap(),
            Micros::parse("2026-11-30T11:06:40Z").unwrap(),
        )),
        relative: false,
        missing: Vec::new(),
    }
}

#[test]
fn a_finding_is_told_with_its_evidence_and_what_to_run() {
    let mut found = finding(
        "pkill -f killed the shell that carried this command",
        "process.self_match",
    );
    found.explains =
        "So nothing after it ran: no script, no launch. server.log is the last run's.".to_owned();
    found.hypotheses = vec![
        hypothesis(
            "the remote shell matched its own pattern",
            0.93,
            vec![
                evidence(4, "its command line holds \"sglang\""),
                evidence(6, "pgrep saw only its own bash -c"),
                evidence(4, "it was seen"),
            ],
            vec![],
        ),
        hypothesis(
            "the here-document was lost to quoting",
            0.04,
            vec![],
            vec![evidence(4, "it parses clean on the remote side")],
        ),
        hypothesis("other", 0.03, vec![], vec![]),
    ];
    found.next = vec![suggestion(
        "ssh root@gpu01 'stat -c \"%y %n\" server.log; date'",
        "shows whether the log is older than #4",
    )];
    found.remedy = "relaunch with pkill -9 -f '[s]glang' in an ssh of its own".to_owned();
    let mut effect = finding("server.log is the last run's", "log.stale");
    effect.severity = Severity::Low;
    effect.claim = Claim::Suspected;
    found.cause_of = vec![effect.id];
    let mut whole = diagnosis(vec![found, effect]);
    whole.next = whole.findings[0].next.clone();
    whole.postconditions = vec![PostconditionView {
        command_id: CommandId::from_uuid(uuid::Uuid::nil()),
        number: 9,
        line: String::new(),
        text: "port 8000 listens".to_owned(),
        state: Met::Unchecked,
        evidence: Vec::new(),
        probe: suggestion("ssh root@gpu01 'ss -ltnp'", ""),
    }];
    let text = render(&whole, &header(), plain(80));
    assert_eq!(
        text,
        r#"GLM-5 bring-up · 9 commands on gpu01 · 11:02–11:06

● pkill -f killed the shell that carried this command                       high
  gpu01  #4  11:02:13  ssh root@gpu01 'pkill -9 -f sglang; sl… ⏎ nohup ./run.sh'
  So nothing after it ran: no script, no launch. server.log is the last run's.

    ▇▇▇▇▇  very likely   the remote shell matched its own pattern
          + #4  its command line holds "sglang"
          + #6  pgrep saw only its own bash -c
          + #4  it was seen
    ▏      unlikely      the here-document was lost to quoting
          − #4  it parses clean on the remote side
    ▏      unlikely      other

  Next
    1  ssh root@gpu01 'stat -c "%y %n" server.log; date'               read-only
       shows whether the log is older than #4
    2  relaunch with pkill -9 -f '[s]glang' in an ssh of its own

  Follows from it
    ◐ server.log is the last run's                                           low

Not checked yet
    #9  port 8000 listens    ssh root@gpu01 'ss -ltnp'
"#
    );
}

#[test]
fn no_line_of_prose_is_wider_than_the_terminal() {
    let mut found = finding(&"a long title that goes on ".repeat(8), "process.crashed");
    found.explains = "words and words ".repeat(20);
    found.hypotheses = vec![hypothesis(
        &"an explanation at length ".repeat(6),
        0.9,
        vec![evidence(4, &"and its evidence ".repeat(12))],
        vec![],
    )];
    for width in [60, 72, 110] {
        let text = render(&diagnosis(vec![found.clone()]), &header(), plain(width));
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn a_command_to_paste_is_never_cut() {
    let line = format!("ssh root@gpu01 'stat {}'", "/a/long/path".repeat(12));
    let mut found = finding("x", "process.crashed");
    found.next = vec![suggestion(&line, "shows it")];
    let text = render(&diagnosis(vec![found]), &header(), plain(60));
    assert!(
        text.contains(&format!("    1  {line}\n       read-only: shows it\n")),
        "{text}"
    );
}

#[test]
fn what_was_recorded_cannot_steer_the_terminal() {
    let mut found = finding("title \u{1b}[2J\u{7}", "process.crashed");
    found.evidence = vec![evidence(1, "says \u{1b}]0;x\u{7}")];
    let text = render(&diagnosis(vec![found]), &header(), plain(80));
    assert!(
        !text.contains('\u{1b}') && !text.contains('\u{7}'),
        "{text}"
    );
}

#[test]
fn good_news_and_no_news_are_said() {
    let mut healthy = finding(
        "the server on gpu01 is loading, as it should",
        "launch.healthy",
    );
    healthy.severity = Severity::Info;
    let text = render(&diagnosis(vec![healthy]), &header(), plain(70));
    assert!(
        text.contains("✓ the server on gpu01 is loading, as it should"),
        "{text}"
    );
    assert!(
        text.contains("Nothing wrong was seen in 9 commands."),
        "{text}"
    );
    let text = render(
        &diagnosis(vec![]),
        &header(),
        Paint {
            colour: true,
            ..plain(70)
        },
    );
    assert!(
        text.contains("Nothing wrong was seen in 9 commands."),
        "{text}"
    );
}

#[test]
fn what_is_not_on_record_is_said() {
    let header = Header {
        missing: vec!["nobody saw how #4 ended".to_owned(); 6],
        ..header()
    };
    let text = render(&diagnosis(Vec::new()), &header, plain(80));
    assert!(
        text.contains("Not on record\n  – nobody saw how #4 ended\n"),
        "{text}"
    );
    assert!(text.ends_with("  – and 2 commands more\n"), "{text}");
}

#[test]
fn times_without_a_date_are_relative() {
    let mut found = finding("x", "process.crashed");
    found.since = Micros(192_000_000);
    let header = Header {
        relative: true,
        span: Some((Micros(0), Micros(300_000_000))),
        ..header()
    };
    let text = render(&diagnosis(vec![found]), &header, plain(110));
    assert!(text.contains("#4  +3 m 12 s  ssh"), "{text}");
    assert!(
        text.starts_with("GLM-5 bring-up · 9 commands on gpu01 · 5 m 0 s\n"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn in_a_pipe_next_is_bare_command_lines() {
    let next = [suggestion("ssh a 'w'", "why"), suggestion("uptime", "why")];
    assert_eq!(
        crate::cmd::next::render(&next, plain(110), true),
        "ssh a 'w'\nuptime\n"
    );
    let text = crate::cmd::next::render(&next, plain(60), false);
    assert_eq!(
        text.lines().next(),
        Some("1  ssh a 'w'                                       read-only")
    );
    assert!(
        text.contains("   why\n   rec next --run n-abcdefgh\n"),
        "{text}"
    );
}
