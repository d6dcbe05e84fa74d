use super::{Made, file, gpu, launch, line, log, look, playbook, playbook_with, process};
use crate::fact;
use crate::shell::Tri;

fn kill(pattern: &str) -> fact::Kill {
    fact::Kill {
        pattern: Some(pattern.to_owned()),
        ..Default::default()
    }
}

fn exit(code: i64) -> fact::Exit {
    fact::Exit {
        code: Some(code),
        ..Default::default()
    }
}

#[test]
fn a_sequence_binds_in_order_and_joins() {
    let playbook = playbook(
        "command",
        "
steps:
  - { as: K, fact: kill, where: \"K.pattern == 'x'\" }
  - { as: E, fact: exit, on: [command], where: E.code == 255 }
",
    );
    let mut made = Made::new();
    made.command(0, "a").says(kill("x"));
    made.command(1, "a").says(exit(255));
    assert!(!made.fires(&playbook), "another command's exit");
    let anchor = made.command(2, "a").says(kill("x"));
    let end = made.says(exit(255));
    let firings = made.firings(&playbook);
    assert_eq!(firings.len(), 1);
    assert_eq!(firings[0].anchor, anchor);
    assert_eq!(firings[0].bindings["E"], end);
    assert_eq!(firings[0].scope.command, Some(2));
    assert!(firings[0].scope_key.starts_with("command=c-"));
    assert_eq!(firings[0].evidence.len(), 2);
}

#[test]
fn a_step_may_match_an_entry_that_stands_before_it_in_the_same_command() {
    let playbook = playbook(
        "command",
        "steps:\n  - { fact: exit, where: it.code == 1 }\n  - { fact: kill, on: command }",
    );
    let mut made = Made::new();
    made.command(0, "a").says(kill("x"));
    made.says(exit(1));
    assert!(made.fires(&playbook));
}

#[test]
fn lines_of_one_output_keep_their_order() {
    let playbook = playbook(
        "host",
        "
steps:
  - { fact: line, where: \"it.text == 'one'\" }
  - { fact: line, on: [path], where: \"it.text == 'two'\" }
",
    );
    let mut made = Made::new();
    made.command(0, "a").shows(line("two"));
    made.shows(line("one"));
    assert!(!made.fires(&playbook));
    made.shows(line("two"));
    assert!(made.fires(&playbook));
}

#[test]
fn windows_are_closed_at_both_ends() {
    let playbook = playbook(
        "host",
        "
steps:
  - { fact: kill }
  - { fact: exit, on: host, after: 5s, within: 10s }
",
    );
    for (at, fires) in [(4, false), (5, true), (10, true), (11, false)] {
        let mut made = Made::new();
        made.command(0, "a").says(kill("x"));
        made.command(at, "a").says(exit(0));
        assert_eq!(made.fires(&playbook), fires, "after {at} s");
    }
}

#[test]
fn all_matches_in_any_order() {
    let playbook = playbook(
        "host",
        "
steps:
  - { as: K, fact: kill }
  - all:
      - { as: A, fact: line, on: host, where: \"A.text == 'a'\" }
      - { as: B, fact: line, on: host, where: \"B.text == 'b'\" }
  - { as: E, fact: exit, on: host, where: E.code == 3 }
",
    );
    for order in [["a", "b"], ["b", "a"]] {
        let mut made = Made::new();
        made.command(0, "h").says(kill("x"));
        for (at, text) in order.iter().enumerate() {
            made.command(i64::try_from(at).unwrap() + 1, "h")
                .shows(line(text));
        }
        assert!(!made.fires(&playbook));
        made.command(9, "h").says(exit(3));
        assert!(made.fires(&playbook), "{order:?}");
    }
    let mut made = Made::new();
    made.command(0, "h").says(kill("x"));
    made.command(1, "h").shows(line("a"));
    made.command(2, "h").says(exit(3));
    made.command(3, "h").shows(line("b"));
    assert!(
        !made.fires(&playbook),
        "what follows `all` comes after all of it"
    );
}

#[test]
fn any_takes_what_is_there() {
    let playbook = playbook(
        "host",
        "
steps:
  - any:
      - { as: A, fact: kill }
      - { as: B, fact: line, where: \"B.text == 'b'\" }
  - { fact: exit, on: host, where: \"first(A.pattern, B.text) == 'b'\" }
",
    );
    let mut made = Made::new();
    made.command(0, "h").shows(line("b"));
    made.command(1, "h").says(exit(0));
    let firing = &made.firings(&playbook)[0];
    assert!(firing.bindings.contains_key("B") && !firing.bindings.contains_key("A"));
}

#[test]
fn absent_wants_a_look_that_covers() {
    let playbook = playbook(
        "host",
        "
steps:
  - { as: K, fact: kill }
  - { absent: { process: K.pattern }, as: A }
",
    );
    let mut made = Made::new();
    made.command(0, "h").shows(look("serve", 0));
    made.command(1, "h").says(kill("serve"));
    assert!(!made.fires(&playbook), "nobody looked since");
    made.command(2, "h").shows(look("other", 0));
    assert!(!made.fires(&playbook), "a look at something else");
    made.command(3, "elsewhere").shows(look("serve", 0));
    assert!(!made.fires(&playbook), "a look elsewhere");
    made.command(4, "h").within("box").shows(look("serve", 0));
    assert!(!made.fires(&playbook), "a look within a container");
    made.command(5, "h").shows(look("serve", 1));
    assert!(!made.fires(&playbook), "it is there");
    let gone = made.command(6, "h").shows(look("[s]erve", 0));
    assert_eq!(made.firings(&playbook)[0].bindings["A"], gone);
}

#[test]
fn absent_knows_files_ports_and_pids() {
    let cases = [
        "path: \"'/srv/run.sh'\"",
        "port: 8000",
        "pid: 4711",
        "gpu: 7",
    ];
    for subject in cases {
        let playbook = playbook(
            "host",
            &format!("steps:\n  - {{ fact: kill }}\n  - absent: {{ {subject} }}"),
        );
        let mut there = Made::new();
        there.command(0, "h").says(kill("x"));
        let mut gone = there.clone();
        there.command(1, "h").shows(file("/srv/run.sh", Tri::Yes));
        let ports = fact::PortLook::default();
        there.shows(ports.clone());
        there.shows(fact::Socket {
            port: 8000,
            listening: true,
            ..Default::default()
        });
        there.shows(fact::ProcessLook {
            everything: true,
            pids: vec![4711],
            count: 1,
            ..Default::default()
        });
        let gpus = |shown| fact::GpuLook {
            shown,
            ..Default::default()
        };
        there.shows(gpus(8));
        there.shows(gpu(7, 0.0));
        assert!(!there.fires(&playbook), "{subject} is there");
        gone.command(1, "h").shows(file("/srv/run.sh", Tri::No));
        gone.shows(ports);
        gone.shows(fact::ProcessLook {
            asked_pids: vec![4711],
            ..Default::default()
        });
        gone.shows(gpus(4));
        assert!(gone.fires(&playbook), "{subject} is gone");
    }
}

fn frozen(spanning: &str, count: usize) -> crate::playbook::Playbook {
    playbook(
        "log",
        &format!(
            "steps:\n  - {{ unchanged: {{ as: U, first: F, fact: log_look, field: digest }}, count: {count}, spanning: {spanning} }}"
        ),
    )
}

#[test]
fn unchanged_counts_looks_at_the_same_thing() {
    let mut made = Made::new();
    let first = made.command(0, "h").shows(log("/a", "1"));
    made.command(5, "h").shows(log("/b", "1"));
    assert!(!made.fires(&frozen("0s", 2)), "two files");
    made.command(6, "g").shows(log("/a", "1"));
    assert!(!made.fires(&frozen("0s", 2)), "two hosts");
    let last = made.command(10, "h").shows(log("/a", "1"));
    let firing = &made.firings(&frozen("10s", 2))[0];
    assert_eq!((firing.bindings["F"], firing.bindings["U"]), (first, last));
    assert_eq!(firing.anchor, first);
    assert!(!made.fires(&frozen("11s", 2)), "not long enough");
    assert!(!made.fires(&frozen("10s", 3)), "not often enough");
    made.command(20, "h").shows(log("/a", "2"));
    made.command(30, "h").shows(log("/a", "1"));
    assert!(!made.fires(&frozen("15s", 2)), "it changed in between");
}

#[test]
fn one_look_with_many_facts_is_one_look() {
    let mut made = Made::new();
    made.command(0, "h").shows(log("/a", "1"));
    made.shows(log("/a", "1"));
    assert!(!made.fires(&frozen("0s", 2)));
}

#[test]
fn rising_and_not_rising_know_noise() {
    let with = |form: &str| {
        playbook(
            "gpu",
            &format!(
                "steps:\n  - {{ {form}: {{ as: G, fact: gpu, field: memory_used_mib }}, count: 3, spanning: 20s }}"
            ),
        )
    };
    let (rising, not_rising) = (with("rising"), with("not_rising"));
    let series = |values: [f64; 3]| {
        let mut made = Made::new();
        for (at, value) in values.into_iter().enumerate() {
            let at = i64::try_from(at).unwrap() * 10;
            made.command(at, "h").shows(gpu(0, value));
        }
        made
    };
    assert!(series([0.0, 100.0, 900.0]).fires(&rising));
    assert!(!series([0.0, 100.0, 900.0]).fires(&not_rising));
    assert!(!series([500.0, 505.0, 510.0]).fires(&rising), "noise");
    assert!(series([500.0, 505.0, 510.0]).fires(&not_rising));
    assert!(series([500.0, 200.0, 510.0]).fires(&not_rising));
    assert!(
        !series([500.0, 900.0, 510.0]).fires(&not_rising),
        "it rose in between"
    );
}

#[test]
fn changed_and_count() {
    let changed = playbook(
        "host",
        "steps:\n  - changed: { as: L, first: B, fact: log_look, field: digest }",
    );
    let restarts = playbook(
        "host",
        "steps:\n  - { count: { as: P, fact: process, distinct: pid }, at_least: 3, spanning: 4s }",
    );
    let refused = playbook(
        "endpoint",
        "steps:\n  - { count: { as: H, fact: http, where: \"it.outcome == 'refused'\" }, at_least: 2 }",
    );
    let mut made = Made::new();
    for (at, digest) in [(0, "1"), (1, "1"), (2, "2")] {
        assert!(!made.fires(&changed));
        made.command(at, "h").shows(log("/a", digest));
    }
    assert!(made.fires(&changed));
    for (at, pid) in [(3, 1), (4, 2), (5, 2), (7, 3)] {
        assert!(!made.fires(&restarts));
        made.command(at, "h").shows(process(pid, None));
    }
    assert!(made.fires(&restarts));
    for (at, outcome) in [(10, "refused"), (11, "ok"), (12, "refused")] {
        assert!(!made.fires(&refused));
        made.command(at, "h").shows(fact::Http {
            host: "localhost".to_owned(),
            port: Some(8000),
            outcome: outcome.to_owned(),
            ..Default::default()
        });
    }
    assert_eq!(
        made.firings(&refused)[0].scope.endpoint.as_deref(),
        Some("h:8000")
    );
}

const LAUNCHED: &str = "
steps:
  - { as: L, fact: launch }
  - { as: S, fact: launch_state, on: launch, where: \"S.process == 'absent'\" }
until:
  - { fact: launch_state, on: launch, where: it.ready }
";

fn state(process: &str, ready: bool) -> fact::LaunchState {
    fact::LaunchState {
        process: process.to_owned(),
        ready,
        ..Default::default()
    }
}

#[test]
fn a_launch_is_judged_within_its_epoch() {
    let playbook = playbook("launch", LAUNCHED);
    let mut made = Made::new();
    made.command(0, "h").launches(launch("/a"));
    made.command(10, "h").launches(launch("/a"));
    made.command(20, "h").says(state("absent", false));
    let firings = made.firings(&playbook);
    assert_eq!(firings.len(), 1);
    assert_eq!(firings[0].scope.launch, Some(1));
    assert_eq!(firings[0].bindings["launch"], firings[0].bindings["L"]);
    assert_eq!(firings[0].resolved, None);
    let relaunch = made.command(30, "h").launches(launch("/a"));
    let firings = made.firings(&playbook);
    assert_eq!(
        firings[0].resolved,
        Some(relaunch),
        "a new launch ends the epoch"
    );
}

#[test]
fn until_resolves_and_closes_the_window() {
    let playbook = playbook("launch", LAUNCHED);
    let mut made = Made::new();
    made.command(0, "h").launches(launch("/a"));
    let mut early = made.clone();
    made.command(1, "h").says(state("absent", false));
    let ready = made.command(2, "h").says(state("running", true));
    let firings = made.firings(&playbook);
    assert_eq!(firings[0].resolved, Some(ready));
    early.command(1, "h").says(state("running", true));
    early.command(2, "h").says(state("absent", false));
    assert!(!early.fires(&playbook), "it was ready before");
}

#[test]
fn what_comes_again_after_the_end_is_a_new_finding() {
    let playbook = playbook(
        "host",
        "
steps:
  - { as: D, fact: disk, where: D.used_pct > 95.0 }
until:
  - { fact: disk, where: it.mount == D.mount && it.used_pct < 90.0 }
",
    );
    let disk = |used: f64| fact::Disk {
        mount: "/".to_owned(),
        used_pct: Some(used),
        ..Default::default()
    };
    let mut made = Made::new();
    for (at, used) in [(0, 99.0), (1, 98.0), (2, 50.0), (3, 97.0)] {
        made.command(at, "h").shows(disk(used));
    }
    let firings = made.firings(&playbook);
    let seen: Vec<_> = firings.iter().map(|f| (f.anchor, f.resolved)).collect();
    assert_eq!(seen, [(0, Some(2)), (3, None)]);
    assert_eq!(firings[0].evidence.len(), 2, "the newest is evidence too");
}

#[test]
fn unless_blocks_only_when_true() {
    let playbook = playbook(
        "command",
        "
steps:
  - { as: E, fact: exit, where: E.code == 1 }
unless:
  - { fact: kill, on: [command], where: \"it.hits_own_shell == 'no' && it.pattern == 'x'\" }
",
    );
    let mut made = Made::new();
    made.command(0, "h").says(fact::Kill {
        hits_own_shell: Tri::No,
        ..Default::default()
    });
    made.says(exit(1));
    assert!(made.fires(&playbook), "unknown does not block");
    made.command(1, "h").says(fact::Kill {
        hits_own_shell: Tri::No,
        pattern: Some("x".to_owned()),
        ..Default::default()
    });
    made.says(exit(1));
    assert_eq!(made.firings(&playbook).len(), 1);
}

#[test]
fn unless_may_speak_of_what_the_steps_matched() {
    let playbook = playbook(
        "host",
        "
steps:
  - { fact: line, where: \"it.text.contains('bad')\" }
unless:
  - { fact: line, where: \"it.text.contains('benign')\" }
",
    );
    let mut made = Made::new();
    made.command(0, "h").shows(line("bad, but benign"));
    assert!(!made.fires(&playbook));
}

#[test]
fn unless_after_a_step_looks_behind_it_only() {
    let playbook = playbook(
        "host",
        "
steps:
  - { as: K, fact: kill }
unless:
  - { fact: line, after: K, where: \"it.text == 'done'\" }
",
    );
    let mut made = Made::new();
    made.command(0, "h").shows(line("done"));
    made.command(1, "h").says(kill("x"));
    assert!(made.fires(&playbook));
    made.command(2, "h").shows(line("done"));
    assert!(!made.fires(&playbook));
}

#[test]
fn unknown_makes_no_finding_and_proposes_the_look() {
    let playbook = playbook_with(
        "host",
        "
steps:
  - { as: L, fact: log_look, where: \"L.path == '/a'\" }
  - { as: P, fact: process, on: host, where: \"P.state == 'T'\" }
",
        "probes:\n  - { id: ps, run: \"ps -o stat= -p {{P.pid}}\", why: tells, yields: [P] }\n  - { id: other, run: x, why: x, yields: [L] }\n",
    );
    let mut made = Made::new();
    made.command(0, "h").shows(log("/a", "1"));
    assert_eq!(made.run(&playbook), crate::playbook::Matches::default());
    made.command(1, "h").shows(process(7, None));
    let matches = made.run(&playbook);
    assert!(matches.firings.is_empty());
    let wish = &matches.wishes[0];
    assert_eq!(wish.probes, [0]);
    assert!(
        wish.unknown[0].contains("P.state == 'T'"),
        "{:?}",
        wish.unknown
    );
    let line = playbook.probes[0]
        .run
        .command(&made.timeline, &wish.bindings);
    assert_eq!(line.as_deref(), Some("ps -o stat= -p 7"));
    made.command(2, "h").shows(process(7, Some("T")));
    let matches = made.run(&playbook);
    assert_eq!((matches.firings.len(), matches.wishes.len()), (1, 0));
}

#[test]
fn an_absence_nobody_looked_for_is_a_wish() {
    let playbook = playbook_with(
        "host",
        "steps:\n  - { as: K, fact: kill }\n  - { absent: { process: K.pattern }, as: A }",
        "probes:\n  - { id: ps, run: \"pgrep -f {{K.pattern}}\", why: tells, yields: [A] }\n",
    );
    let mut made = Made::new();
    made.command(0, "h").says(kill("serve"));
    assert_eq!(
        made.run(&playbook).wishes[0].unknown,
        ["whether a process for `serve` is there"]
    );
    made.command(1, "h").shows(look("serve", 1));
    assert!(made.run(&playbook).wishes.is_empty(), "somebody looked");
}

const OBSERVED: &str = "hypotheses:
  - { id: one, title: One, prior: .5 }
observations:
  - { id: gone, says: \"none for {{it.pattern}}\", when: { fact: process_look, on: host, where: it.count == 0 }, likely: { one: usually } }
  - { id: said, says: it said so, when: { fact: line, on: host, where: \"it.text == 'x'\" }, not_when: { fact: line, on: host, where: \"it.text == 'not x'\" }, decisive: one }
  - { id: missing, says: no file, when: { absent: { path: \"'/f'\" } } }
";

#[test]
fn observations_have_three_states_and_the_newest_look_decides() {
    let playbook = playbook_with("host", "steps:\n  - { as: K, fact: kill }", OBSERVED);
    let mut made = Made::new();
    made.command(0, "h").says(kill("serve"));
    let states = |made: &Made| {
        let firing = made.firings(&playbook).remove(0);
        let states: Vec<Tri> = firing.observations.iter().map(|seen| seen.state).collect();
        (states, firing.observations[0].says.clone())
    };
    assert_eq!(states(&made), (vec![Tri::Unknown; 3], String::new()));
    made.command(1, "h").shows(look("serve", 0));
    made.shows(line("something else"));
    made.shows(file("/f", Tri::No));
    assert_eq!(
        states(&made),
        (
            vec![Tri::Yes, Tri::Unknown, Tri::Yes],
            "none for serve".to_owned()
        )
    );
    made.command(2, "h").shows(look("serve", 2));
    made.shows(line("not x"));
    made.shows(file("/f", Tri::Yes));
    assert_eq!(states(&made).0, [Tri::No, Tri::No, Tri::No]);
    made.command(3, "g").shows(look("serve", 0));
    assert_eq!(states(&made).0[0], Tri::No, "another host");
}

#[test]
fn explicit_joins_name_a_binding_or_a_value() {
    let playbook = playbook(
        "host",
        "
steps:
  - { as: A, fact: log_look, where: \"A.path == '/a'\" }
  - { as: B, fact: log_look, on: [host], where: \"B.path == '/b'\" }
  - { as: C, fact: file, on: [{ path: A }, { host: \"'h'\" }] }
",
    );
    let mut made = Made::new();
    made.command(0, "h").shows(log("/a", "1"));
    made.command(1, "h").shows(log("/b", "1"));
    made.command(2, "h").shows(file("/b", Tri::Yes));
    assert!(!made.fires(&playbook));
    made.command(3, "h").shows(file("/a", Tri::Yes));
    assert!(made.fires(&playbook));
}

#[test]
fn a_log_join_follows_the_launch() {
    let playbook = playbook(
        "launch",
        "steps:\n  - { as: L, fact: launch }\n  - { fact: log_look, on: [log] }",
    );
    let mut made = Made::new();
    made.command(0, "h").launches(launch("/srv/x/run.log"));
    made.command(1, "h").shows(log("/srv/y/run.log", "1"));
    assert!(!made.fires(&playbook));
    made.command(2, "h").shows(log("x/run.log", "1"));
    assert!(made.fires(&playbook));
}

#[test]
fn bounds_in_time_of_a_group_are_those_of_its_steps() {
    let playbook = playbook(
        "host",
        "
steps:
  - { as: K, fact: kill }
  - any:
      - { fact: line, on: [host] }
      - { fact: process, on: [host] }
    within: 10s
",
    );
    let mut made = Made::new();
    made.command(0, "h").says(kill("x"));
    made.command(11, "h").shows(line("late"));
    assert!(!made.fires(&playbook));
    made.command(10, "h").shows(line("in time"));
    assert!(made.fires(&playbook));
}
