//! Findings from firings made by hand, so that what the matcher does is not tested again here.

use std::collections::BTreeMap;

use super::experience::Experience;
use super::{
    Claim, Diagnosis, Finding, Judgement, Severity, Sources, Status, Verdict, from_matches, kinds,
};
use crate::event::{Exit, Stream};
use crate::id::{CommandId, SessionId};
use crate::playbook::{self, Firing, Matches, Playbook, ScopeKey, Seen, Wish};
use crate::shell::{self, Tri};
use crate::time::Micros;
use crate::timeline::{self, Command, Timeline};

/// A session of commands ten seconds apart.
fn session(lines: &[&str]) -> Timeline {
    let commands: Vec<Command> = lines
        .iter()
        .enumerate()
        .map(|(index, line)| {
            let number = u32::try_from(index).unwrap() + 1;
            Command {
                id: CommandId::from_uuid(uuid::Uuid::from_u128(u128::from(number))),
                number,
                line: (*line).to_owned(),
                host: "laptop".to_owned(),
                at: Micros(i64::from(number) * 10_000_000),
                took_s: Some(1.0),
                exit: Exit::Code(1),
                tree: shell::parse(line),
                facts: Vec::new(),
                stdout_bytes: 0,
                stderr_bytes: 0,
                tty_bytes: 0,
            }
        })
        .collect();
    let end = commands.last().map_or(Micros(0), Command::ended);
    timeline::build(commands, end)
}

/// The entry of a command's end.
fn end_of(timeline: &Timeline, number: usize) -> usize {
    timeline
        .entries
        .iter()
        .position(|entry| entry.command == number - 1 && entry.fact.name() == "exit")
        .unwrap()
}

fn playbook(id: &str, kind: &str, severity: &str, more: &str) -> Playbook {
    let text = format!(
        "id: {id}\nversion: 1\nkind: {kind}\nseverity: {severity}\nscope: command\n\
         title: \"{id} was seen\"\nwhen:\n  steps:\n    - {{ as: E, fact: exit }}\n{more}"
    );
    playbook::load("test.yaml", &text).unwrap_or_else(|faults| panic!("{faults:?}\n{text}"))
}

/// Two hypotheses, three observations (the last two correlated), a probe for each.
const RIVALS: &str = r#"
hypotheses:
  - { id: killed-itself, title: "it killed itself", prior: 0.5, kind: process.self_match, severity: high }
  - { id: heredoc-lost, title: "the heredoc was lost", prior: 0.5, kind: quoting.local_expansion, severity: medium }
observations:
  - { id: matches, says: "its pattern matches", when: { fact: exit }, likely: { killed-itself: always, heredoc-lost: rarely }, decisive: killed-itself }
  - { id: gone, says: "the file is not there", when: { fact: exit }, group: file, likely: { killed-itself: usually, heredoc-lost: usually } }
  - { id: empty, says: "the file is empty", when: { fact: exit }, group: file, likely: { killed-itself: never, heredoc-lost: usually } }
probes:
  - { id: look, run: "ls -l run.sh", cost: 3, why: "shows whether the file is there", yields: [gone, empty] }
  - { id: again, run: "pgrep -fa server", cost: 3, why: "", yields: [matches] }
  - { id: restart, run: "systemctl restart server", cost: 1, safety: destructive, why: "starts over", yields: [matches, empty] }
"#;

fn firing(timeline: &Timeline, playbook: usize, number: usize, states: &[Tri]) -> Firing {
    let anchor = end_of(timeline, number);
    Firing {
        playbook,
        scope: ScopeKey {
            host: timeline.entries.get(anchor).map(|entry| entry.host.clone()),
            command: Some(number - 1),
            ..ScopeKey::default()
        },
        scope_key: format!("command={number}"),
        anchor,
        bindings: BTreeMap::from([("E".to_owned(), anchor)]),
        evidence: vec![(anchor, format!("#{number} ended so"))],
        resolved: None,
        observations: states
            .iter()
            .enumerate()
            .map(|(observation, state)| Seen {
                observation,
                state: *state,
                entries: vec![anchor],
                says: format!("observation {observation}"),
            })
            .collect(),
        since: timeline.commands.get(number - 1).unwrap().at,
    }
}

fn judged(
    playbooks: &[Playbook],
    timeline: &Timeline,
    matches: &Matches,
    judgements: &[Judgement],
) -> Diagnosis {
    let quotes = |_: usize, _: Stream, _: u64, _: u64| "quoted".to_owned();
    from_matches(
        playbooks,
        matches,
        Sources {
            timeline,
            judgements,
            experience: &Experience::default(),
            quotes: &quotes,
            session: SessionId::from_uuid(uuid::Uuid::nil()),
            relative_time: true,
        },
    )
}

fn fired(playbooks: &[Playbook], timeline: &Timeline, firings: Vec<Firing>) -> Diagnosis {
    let matches = Matches {
        firings,
        wishes: Vec::new(),
    };
    judged(playbooks, timeline, &matches, &[])
}

fn ids(diagnosis: &Diagnosis) -> Vec<&str> {
    diagnosis
        .findings
        .iter()
        .map(|finding| finding.playbook.as_str())
        .collect()
}

#[test]
fn the_likeliest_hypothesis_gives_kind_and_severity_and_only_a_decisive_look_establishes() {
    let timeline = session(&["ssh gpu01 'pkill -f server; ls'"]);
    let playbooks = [playbook("p", "launch.never_started", "low", RIVALS)];
    let with = |states: &[Tri]| {
        let mut got = fired(&playbooks, &timeline, vec![firing(&timeline, 0, 1, states)]);
        got.findings.remove(0)
    };
    let open = with(&[Tri::Unknown; 3]);
    assert_eq!(
        open.claim,
        Claim::Observed,
        "two kinds, and neither is likely"
    );
    assert_eq!(open.hypotheses.len(), 3, "other is always there");

    let decided = with(&[Tri::Yes, Tri::Unknown, Tri::Unknown]);
    assert_eq!(decided.claim, Claim::Established);
    assert_eq!(decided.kind, "process.self_match");
    assert_eq!(decided.severity, Severity::High);
    assert_eq!(decided.hypotheses[0].id, "killed-itself");
    assert_eq!(decided.hypotheses[0].supports[0].says, "observation 0");
    assert_eq!(decided.hypotheses[0].supports[0].number, 1);

    let lost = with(&[Tri::No, Tri::Unknown, Tri::Yes]);
    assert_eq!(
        lost.claim,
        Claim::Suspected,
        "what is decisive for another decides nothing"
    );
    assert_eq!(lost.kind, "quoting.local_expansion");
    assert_eq!(lost.severity, Severity::Medium);
    assert!(
        lost.hypotheses
            .iter()
            .any(|h| h.id == "killed-itself" && h.refuted)
    );
}

#[test]
fn without_hypotheses_the_playbooks_word_holds() {
    let timeline = session(&["ssh gpu01 ls"]);
    let playbooks = [playbook("p", "ssh.auth", "high", "claim: established\n")];
    let got = fired(&playbooks, &timeline, vec![firing(&timeline, 0, 1, &[])]);
    assert_eq!(got.findings[0].claim, Claim::Established);
    assert_eq!(got.findings[0].scope.command, Some(1));
    assert_eq!(got.findings[0].scope.host.as_deref(), Some("gpu01"));
}

#[test]
fn identity_comes_from_playbook_scope_and_anchor() {
    let short = session(&["ssh gpu01 ls"]);
    let long = session(&["ssh gpu01 ls", "ssh gpu01 w"]);
    let playbooks = [playbook("p", "ssh.auth", "high", "")];
    let one = fired(&playbooks, &short, vec![firing(&short, 0, 1, &[])]);
    let other = fired(&playbooks, &long, vec![firing(&long, 0, 1, &[])]);
    assert_eq!(one.findings[0].id, other.findings[0].id);
}

#[test]
fn one_situation_is_shown_once_with_all_its_hypotheses() {
    let timeline = session(&["ssh gpu01 'pkill -f server; ls'", "ssh gpu01 w"]);
    let other = RIVALS
        .replace("heredoc-lost", "no-such-file")
        .replace("the heredoc was lost", "the file was never there");
    let playbooks = [
        playbook("one", "process.crashed", "high", RIVALS),
        playbook("two", "process.crashed", "high", &other),
    ];
    let yes = [Tri::Yes, Tri::Unknown, Tri::Unknown];
    let got = fired(
        &playbooks,
        &timeline,
        vec![firing(&timeline, 0, 1, &yes), firing(&timeline, 1, 1, &yes)],
    );
    assert_eq!(got.findings.len(), 1);
    let hypotheses = &got.findings[0].hypotheses;
    let known: Vec<&str> = hypotheses.iter().map(|h| h.id.as_str()).collect();
    assert_eq!(known.len(), 4);
    assert_eq!(known[0], "killed-itself");
    let sum: f64 = hypotheses.iter().map(|h| h.probability).sum();
    assert!((sum - 1.0).abs() < 1e-9);

    // Another command is another situation, unless the words are the same.
    let apart = fired(
        &playbooks,
        &timeline,
        vec![firing(&timeline, 0, 1, &yes), firing(&timeline, 1, 2, &yes)],
    );
    assert_eq!(apart.findings.len(), 2);
    let again = fired(
        &playbooks,
        &timeline,
        vec![firing(&timeline, 0, 1, &yes), firing(&timeline, 0, 2, &yes)],
    );
    assert_eq!(again.findings.len(), 1);
    assert_eq!(again.findings[0].evidence.len(), 2);
}

#[test]
fn a_cause_stands_before_what_follows_from_it() {
    let timeline = session(&["ssh gpu01 'sh run.sh'", "ssh gpu01 w", "ssh db w"]);
    let playbooks = [
        playbook(
            "crash",
            "process.crashed",
            "critical",
            "claim: established\n",
        ),
        playbook("oom", "cuda.oom", "high", "claim: established\n"),
        playbook("elsewhere", "disk.full", "critical", "claim: established\n"),
    ];
    let got = fired(
        &playbooks,
        &timeline,
        vec![
            firing(&timeline, 0, 1, &[]),
            firing(&timeline, 1, 1, &[]),
            firing(&timeline, 2, 3, &[]),
        ],
    );
    // The cause is pulled before the crash, which keeps its place by severity and time.
    assert_eq!(ids(&got), ["oom", "crash", "elsewhere"]);
    assert_eq!(got.findings[0].cause_of, [got.findings[1].id]);
}

#[test]
fn a_playbook_names_what_follows_from_it_and_consequences_of_consequences_count() {
    let timeline = session(&["ssh gpu01 a", "ssh gpu01 b", "ssh gpu01 c", "ssh db d"]);
    let playbooks = [
        playbook("root", "gpu.ecc", "high", "root_of: [middle]\n"),
        playbook("middle", "net.rdma", "high", "root_of: [\"log.*\"]\n"),
        playbook("leaf", "log.stale", "high", ""),
        playbook("away", "log.buffered", "high", ""),
    ];
    let got = fired(
        &playbooks,
        &timeline,
        vec![
            firing(&timeline, 0, 1, &[]),
            firing(&timeline, 1, 2, &[]),
            firing(&timeline, 2, 3, &[]),
            firing(&timeline, 3, 4, &[]),
        ],
    );
    assert_eq!(ids(&got), ["root", "middle", "leaf", "away"]);
    assert_eq!(
        got.findings[0].cause_of,
        [got.findings[1].id, got.findings[2].id]
    );
    // A cause is often found last.
    let got = fired(
        &playbooks,
        &timeline,
        vec![firing(&timeline, 0, 3, &[]), firing(&timeline, 1, 2, &[])],
    );
    assert_eq!(ids(&got), ["root", "middle"]);
    assert_eq!(got.findings[0].cause_of, [got.findings[1].id]);
}

#[test]
fn a_playbook_of_the_same_kind_can_follow_when_it_is_named() {
    let timeline = session(&["ssh gpu01 'pkill -f x; y'", "ssh gpu01 'pgrep -f x'"]);
    let playbooks = [
        playbook(
            "killed",
            "process.self_match",
            "high",
            "root_of: [fooled]\n",
        ),
        playbook("fooled", "process.self_match", "low", ""),
    ];
    let firings = vec![firing(&timeline, 0, 1, &[]), firing(&timeline, 1, 2, &[])];
    let got = fired(&playbooks, &timeline, firings);
    assert_eq!(ids(&got), ["killed", "fooled"]);
    assert_eq!(got.findings[0].cause_of, [got.findings[1].id]);
}

#[test]
fn causes_in_a_circle_are_cut_at_the_later_one() {
    let timeline = session(&["ssh gpu01 'a; b'"]);
    let playbooks = [
        playbook("a", "gpu.ecc", "high", "root_of: [b]\n"),
        playbook("b", "net.rdma", "high", "root_of: [a]\n"),
    ];
    let firings = vec![firing(&timeline, 0, 1, &[]), firing(&timeline, 1, 1, &[])];
    let got = fired(&playbooks, &timeline, firings);
    let roots = got
        .findings
        .iter()
        .filter(|f| !f.cause_of.is_empty())
        .count();
    assert_eq!(roots, 1);
    assert_eq!(got.findings[0].cause_of, [got.findings[1].id]);
}

#[test]
fn a_look_that_was_merely_fooled_explains_nothing() {
    let timeline = session(&["ssh gpu01 'pgrep -f x'"]);
    let playbooks = [
        playbook("fooled", "process.self_match", "low", "root_of: [never]\n"),
        playbook("never", "launch.never_started", "high", ""),
    ];
    let firings = vec![firing(&timeline, 0, 1, &[]), firing(&timeline, 1, 1, &[])];
    let got = fired(&playbooks, &timeline, firings);
    assert_eq!(ids(&got), ["never", "fooled"]);
    assert_eq!(got.findings[0].cause_of, [got.findings[1].id]);
    assert!(got.findings[1].cause_of.is_empty());
}

#[test]
fn the_order_is_that_of_the_contract() {
    let timeline = session(&[
        "ssh a w", "ssh b w", "ssh c w", "ssh d w", "ssh e w", "ssh f w",
    ]);
    let playbooks = [
        playbook("dismissed", "disk.full", "critical", ""),
        playbook("healthy", "launch.healthy", "info", ""),
        playbook("small", "log.stale", "low", ""),
        playbook("over", "oom.host", "critical", ""),
        playbook("medium", "net.dns", "medium", "claim: established\n"),
        playbook("high", "tls.cert", "high", ""),
    ];
    let mut firings: Vec<Firing> = (0..6)
        .map(|index| firing(&timeline, index, index + 1, &[]))
        .collect();
    firings[3].resolved = Some(end_of(&timeline, 6));
    let matches = Matches {
        firings,
        wishes: Vec::new(),
    };
    let first = judged(&playbooks, &timeline, &matches, &[]);
    let dismissed = first
        .findings
        .iter()
        .find(|finding| finding.playbook == "dismissed")
        .unwrap();
    let judgement = Judgement {
        finding: dismissed.id,
        verdict: Verdict::Dismissed,
    };
    let got = judged(&playbooks, &timeline, &matches, &[judgement]);
    assert_eq!(
        ids(&got),
        ["high", "medium", "over", "small", "healthy", "dismissed"]
    );
    assert_eq!(got.findings[2].status, Status::Resolved);
}

#[test]
fn a_confirmed_hypothesis_leads() {
    let timeline = session(&["ssh gpu01 'pkill -f server; ls'"]);
    let playbooks = [playbook("p", "launch.never_started", "low", RIVALS)];
    let matches = Matches {
        firings: vec![firing(&timeline, 0, 1, &[Tri::Unknown; 3])],
        wishes: Vec::new(),
    };
    let before = judged(&playbooks, &timeline, &matches, &[]);
    let judgement = Judgement {
        finding: before.findings[0].id,
        verdict: Verdict::Confirmed {
            hypothesis: Some("heredoc-lost".to_owned()),
        },
    };
    let got = judged(&playbooks, &timeline, &matches, &[judgement]);
    assert_eq!(got.findings[0].status, Status::Confirmed);
    assert_eq!(got.findings[0].claim, Claim::Established);
    assert_eq!(got.findings[0].kind, "quoting.local_expansion");
}

#[test]
fn the_next_look_splits_what_stands_and_is_safe_first() {
    let timeline = session(&["ssh -p 2222 root@gpu01 'pkill -f server; ls'"]);
    let playbooks = [playbook("p", "launch.never_started", "high", RIVALS)];
    let got = fired(
        &playbooks,
        &timeline,
        vec![firing(&timeline, 0, 1, &[Tri::Unknown; 3])],
    );
    let lines: Vec<&str> = got.next.iter().map(|next| next.line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "ssh -p 2222 root@gpu01 'pgrep -fa server'",
            "ssh -p 2222 root@gpu01 'ls -l run.sh'",
            "ssh -p 2222 root@gpu01 'systemctl restart server'",
        ]
    );
    assert_eq!(got.next[2].safety, "destructive");
    assert_eq!(
        got.next[1].why,
        "shows whether the file is there; splits *killed itself* from *heredoc lost*"
    );
    assert_eq!(
        got.next[0].why,
        "splits *killed itself* from *heredoc lost*"
    );
    assert!(got.next[0].id.starts_with("n-"));
    assert_eq!(got.next, got.findings[0].next);
}

#[test]
fn what_was_just_run_or_is_known_is_not_proposed() {
    let timeline = session(&[
        "ssh gpu01 'pkill -f server; ls'",
        "ssh gpu01 'date; ls -l  run.sh'",
    ]);
    let playbooks = [playbook("p", "launch.never_started", "high", RIVALS)];
    let got = fired(
        &playbooks,
        &timeline,
        vec![firing(
            &timeline,
            0,
            1,
            &[Tri::Yes, Tri::Unknown, Tri::Unknown],
        )],
    );
    let lines: Vec<&str> = got.next.iter().map(|next| next.line.as_str()).collect();
    assert_eq!(
        lines,
        ["ssh gpu01 'systemctl restart server'"],
        "one ran, one would show what is known"
    );
}

#[test]
fn a_wish_proposes_its_look() {
    let timeline = session(&["ssh gpu01 'sh run.sh'"]);
    let playbooks = [playbook("p", "launch.never_started", "high", RIVALS)];
    let anchor = end_of(&timeline, 1);
    let matches = Matches {
        firings: Vec::new(),
        wishes: vec![Wish {
            playbook: 0,
            scope: ScopeKey {
                host: Some("gpu01".to_owned()),
                ..ScopeKey::default()
            },
            scope_key: "host=gpu01".to_owned(),
            anchor,
            bindings: BTreeMap::new(),
            unknown: vec!["whether the file is there".to_owned()],
            probes: vec![1],
        }],
    };
    let got = judged(&playbooks, &timeline, &matches, &[]);
    assert!(got.findings.is_empty());
    assert_eq!(got.next[0].line, "ssh gpu01 'pgrep -fa server'");
    assert_eq!(got.next[0].why, "would tell: whether the file is there");
}

/// What must hold of every diagnosis.
fn sound(diagnosis: &Diagnosis) {
    let place = |finding: &Finding| {
        diagnosis
            .findings
            .iter()
            .position(|other| other.id == finding.id)
    };
    for finding in &diagnosis.findings {
        assert!(!finding.evidence.is_empty(), "no finding without evidence");
        if !finding.hypotheses.is_empty() {
            let sum: f64 = finding.hypotheses.iter().map(|h| h.probability).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        }
        for effect in &finding.cause_of {
            let effect = diagnosis.findings.iter().find(|f| f.id == *effect).unwrap();
            assert!(place(finding) < place(effect), "a root before its cascades");
            assert!(!effect.cause_of.contains(&finding.id), "no circles");
        }
    }
    for pair in diagnosis.next.windows(2) {
        if pair[0].safety == "destructive" {
            assert_eq!(pair[1].safety, "destructive");
        }
    }
}

mod random {
    use super::*;
    use proptest::prelude::*;

    const KINDS: [&str; 10] = [
        "process.crashed",
        "cuda.oom",
        "process.orphaned",
        "launch.never_started",
        "process.self_match",
        "nccl.timeout",
        "log.stale",
        "launch.healthy",
        "port.in_use",
        "disk.full",
    ];
    const SEVERITIES: [&str; 4] = ["low", "medium", "high", "critical"];

    fn state(number: u8) -> Tri {
        [Tri::Yes, Tri::No, Tri::Unknown][usize::from(number % 3)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn the_order_of_what_goes_in_does_not_matter(
            books in proptest::collection::vec((0_usize..10, 0_usize..4, proptest::bool::ANY, 0_usize..10), 1..7),
            shots in proptest::collection::vec((0_usize..7, 1_usize..5, 0_u8..3, 0_u8..3, 0_u8..3), 0..10),
            turn in 0_usize..7,
        ) {
            let timeline = session(&["ssh a 'pkill -f x; y'", "ssh a w", "ssh b w", "docker exec c w"]);
            let playbooks: Vec<Playbook> = books.iter().enumerate().map(|(index, (kind, severity, rivals, root))| {
                let more = format!(
                    "root_of: [\"{}\"]\n{}",
                    KINDS[*root],
                    if *rivals { RIVALS } else { "claim: established\n" },
                );
                playbook(&format!("p{index}"), KINDS[*kind], SEVERITIES[*severity], &more)
            }).collect();
            let firings: Vec<Firing> = shots.iter().map(|(book, number, a, b, c)| {
                let book = book % playbooks.len();
                let states = if playbooks[book].hypotheses.is_empty() {
                    Vec::new()
                } else {
                    vec![state(*a), state(*b), state(*c)]
                };
                firing(&timeline, book, *number, &states)
            }).collect();
            // The same shot twice would be one finding with two stories.
            let mut seen = std::collections::BTreeSet::new();
            let firings: Vec<Firing> = firings.into_iter()
                .filter(|firing| seen.insert((firing.playbook, firing.anchor)))
                .collect();
            let straight = fired(&playbooks, &timeline, firings.clone());
            sound(&straight);

            let count = playbooks.len();
            let turned_books: Vec<Playbook> = (0..count)
                .map(|index| playbooks[(index + turn) % count].clone())
                .collect();
            let turned: Vec<Firing> = firings.into_iter().rev().map(|mut firing| {
                firing.playbook = (firing.playbook + count - turn % count) % count;
                firing
            }).collect();
            let other = fired(&turned_books, &timeline, turned);
            prop_assert_eq!(&straight, &other);
        }
    }

    #[test]
    fn kinds_of_the_test_are_known() {
        assert_eq!(KINDS.iter().filter(|kind| kinds::harmless(kind)).count(), 1);
    }
}
