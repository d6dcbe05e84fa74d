use super::super::lint::{lint, lint_all};
use super::super::load;

const GOOD: &str = r#"id: a-book
version: 1
kind: own.made
severity: high
scope: host
title: "on {{K.host}}"
when:
  steps:
    - { as: K, fact: kill, where: "K.full" }
    - as: E
      fact: exit
      on: [command]
      where: |
        E.code == 255
          && E.silent
hypotheses:
  - { id: one, title: One, prior: .5 }
  - { id: two, title: Two, prior: .4 }
observations:
  - { id: gone, says: gone, when: { fact: process_look, on: [host], where: it.count == 0 }, likely: { one: usually, two: rarely } }
probes:
  - { id: ps, run: "pgrep -f {{K.pattern}}", why: tells, cost: 1, yields: [gone] }
references:
  - { what: a page, version: "1", provenance: manual }
tests:
  - name: fires
    expect: fires
    steps:
      - { at: 0, command: "x", exit: { signal: 9 }, stdout: "", chunks: [{ at: 0, stream: tty, text: x }] }
"#;

/// What is said of the good playbook with a part of it replaced.
fn said(from: &str, to: &str) -> Vec<String> {
    assert!(GOOD.contains(from), "{from}");
    match load("a.yaml", &GOOD.replacen(from, to, 1)) {
        Ok(_) => vec!["loads".to_owned()],
        Err(faults) => faults
            .into_iter()
            .map(|fault| {
                let hint = fault
                    .hint
                    .map(|hint| format!(" | {hint}"))
                    .unwrap_or_default();
                format!("{}:{}: {}{hint}", fault.line, fault.column, fault.message)
            })
            .collect(),
    }
}

#[test]
fn the_good_one_loads() {
    let playbook = load("a.yaml", GOOD).unwrap();
    assert_eq!(playbook.when.steps.len(), 2);
    assert!((playbook.observations[0].likely["two"] - 0.1).abs() < 1e-9);
    assert_eq!(playbook.tests[0].steps[0].streams().len(), 2);
}

#[test]
fn faults_have_their_place_and_a_hint() {
    for (from, to, wanted) in [
        (
            "severity: high",
            "severty: high",
            "4:1: a playbook has no key `severty` | did you mean `severity`?",
        ),
        (
            "severity: high",
            "severity: hgih",
            "4:11: `hgih` is no severity | did you mean `high`?",
        ),
        (
            "version: 1",
            "version: one",
            "2:10: version is a whole number, this is a text | write it in digits, without quotes: `1`",
        ),
        (
            "version: 1",
            "version: 1\nversion: 2",
            "3:1: `version` is written twice, first on line 2 | keep one",
        ),
        (
            "two: rarely",
            "one: rarely",
            "20:117: `one` is written twice, first on line 20",
        ),
        (
            "\"K.full\"",
            "\"(((K.full\"",
            "9:36: 3 brackets are never closed, this one first | add `)))`",
        ),
        (
            "\"K.full\"",
            "\"K.full && \\\"a\\\" == K.patern\"",
            "9:57: a `kill` has no field `patern` | did you mean `pattern`?",
        ),
        (
            "\"K.full\"",
            "'re(K.pattern, ''x'') && K.ful'",
            "9:62: a `kill` has no field `ful`",
        ),
        (
            "K.full",
            "E.silent && K.full",
            "9:36: nothing named `E` is bound before this",
        ),
        (
            "K.full",
            "lookup('xdi', 79, 'name') != ''",
            "9:43: there is no table `xdi` | did you mean `xid`?",
        ),
        (
            "K.full",
            "lookup('xid', 79, 'nme') != ''",
            "9:54: the table `xid` has no column `nme` | did you mean `name`?",
        ),
        (
            "K.full",
            "lookup('xid', K.pattern, 'name') != ''",
            "9:50: the table `xid` is by a whole number, this is a text",
        ),
        (
            "K.full",
            "lookup('xid', 79) != ''",
            "9:36: `lookup` wants 3 things, not 2 | write `lookup('table', key, 'column')`",
        ),
        (
            "E.code == 255",
            "E.code == '255'",
            "14:16: a whole number cannot be compared with a text",
        ),
        (
            "on: [command]\n",
            "on: [command]\n      at_least: 2\n",
            "13:7: `at_least` does not belong beside `fact`",
        ),
        ("kind: own.made", "kind: made", "3:7: `made` is no kind"),
        (
            "fact: kill",
            "fact: kil",
            "9:22: there is no fact `kil` | did you mean `kill`?",
        ),
        (
            "K.full",
            "K.ful",
            "9:38: a `kill` has no field `ful` | did you mean `full`?",
        ),
        (
            "&& E.silent",
            "&& E.silnt",
            "15:16: a `exit` has no field `silnt` | did you mean `silent`?",
        ),
        (
            "{{K.host}}",
            "{{X.host}}",
            "6:14: nothing named `X` is bound",
        ),
        ("{{K.host}}", "{{K.host", "6:12: this hole is never closed"),
        (
            "on: [command]",
            "on: [comand]",
            "12:12: `comand` is no join | did you mean `command`?",
        ),
        ("as: E\n", "as: it\n", "10:11: `it` is no name"),
        (
            "fact: exit\n",
            "fct: exit\n",
            "11:7: a step has no key `fct` | did you mean `fact`?",
        ),
        (
            "fact: exit\n",
            "fact: exit\n      within: 10 min\n",
            "12:15: a duration is wanted here",
        ),
        (
            "two: rarely",
            "tow: rarely",
            "20:117: `tow` is no hypothesis of this playbook | did you mean `two`?",
        ),
        (
            "yields: [gone]",
            "yields: [gon]",
            "22:76: `gon` is neither an observation nor a step | did you mean `gone`?",
        ),
        ("prior: .4", "prior: 4", "a prior lies between 0 and 1"),
        (
            "id: two",
            "id: one",
            "18:11: two of the hypotheses are called `one` | the other stands on line 17",
        ),
        (
            "expect: fires",
            "expect: fire",
            "`fire` is no expectation | did you mean `fires`?",
        ),
        ("id: a-book", "id: A book", "1:5: `A book` is no id"),
        ("id: a-book\n", "", "a playbook needs `id`"),
        (
            "version: \"1\"",
            "version: 1",
            "version is a text, this is a number | put it in quotes",
        ),
        ("severity: high", "\tseverity: high", "found a tab"),
        ("title: \"on", "title: a: b: \"on", "6:"),
    ] {
        let said = said(from, to);
        assert!(
            said.iter().any(|one| one.contains(wanted)),
            "{to}: {said:#?}"
        );
    }
}

#[test]
fn one_reading_gives_every_fault() {
    let said = said(
        "kind: own.made\nseverity: high",
        "kind: made\nseverity: hgih",
    );
    assert_eq!(said.len(), 2, "{said:#?}");
}

/// What follows from a fault is none: one slip, one message.
#[test]
fn a_slip_is_said_once() {
    for (from, to) in [
        ("severity: high", "severty: high"),
        ("as: K, fact: kill", "as: K, fact: kil"),
        ("as: K, fact: kill", "sa: K, fact: kill"),
        ("where: \"K.full\"", "where: \"K.ful\""),
        ("when:\n", "whn:\n"),
        ("  steps:\n", "  step:\n"),
        ("fact: process_look", "fact: process_lok"),
        (
            "{ id: two, title: Two, prior: .4 }",
            "{ id: two, title: Two, prior: 4 }",
        ),
        (
            "{ id: two, title: Two, prior: .4 }",
            "{ id: two, titel: Two, prior: .4 }",
        ),
        ("says: gone, ", ""),
        (
            "when: { fact: process_look",
            "when: { as: P, fact: process_look, were: 'true'",
        ),
        ("id: a-book", "ids: a-book"),
        ("K.full\" }", "K.full\", within: soon }"),
    ] {
        let said = said(from, to);
        assert_eq!(said.len(), 1, "{to}: {said:#?}");
    }
    let without = GOOD.replacen("when:\n  steps:\n", "steps:\n", 1);
    let faults = load("a.yaml", &without).unwrap_err();
    assert_eq!(faults.len(), 2, "{faults:#?}");
}

#[test]
fn forms_are_told_apart() {
    for (step, wanted) in [
        ("{ as: X }", "a step says what it looks for"),
        (
            "{ fact: exit, absent: { port: 1 } }",
            "a step has one form, not fact and absent",
        ),
        (
            "{ absent: { port: \"'x'\" } }",
            "this subject cannot be a text",
        ),
        ("{ absent: { } }", "`absent` names one subject"),
        (
            "{ absent: { port: 1 }, on: [host] }",
            "`on` does not belong beside `absent`",
        ),
        ("{ count: { fact: exit } }", "`count` needs `at_least`"),
        (
            "{ unchanged: { fact: exit } }",
            "a run of looks needs `field`",
        ),
        (
            "{ rising: { fact: log_look, field: digest } }",
            "`digest` is a text, no number",
        ),
        (
            "{ unchanged: { fact: log_look, field: digst } }",
            "did you mean `digest`?",
        ),
        ("{ any: [] }", "`any` holds at least one step"),
        ("{ fact: exit, as: K }", "`K` is a `kill` already"),
        (
            "{ fact: exit, where: it.code }",
            "`where` is true or false, this is a whole number",
        ),
        (
            "{ fact: exit, says: \"{{it.cod}}\" }",
            "a `exit` has no field `cod`",
        ),
        ("just a text", "a step is a map, this is a text"),
    ] {
        let from = "    - as: E\n";
        let said = said(from, &format!("    - {step}\n{from}"));
        assert!(
            said.iter().any(|one| one.contains(wanted)),
            "{step}: {said:#?}"
        );
    }
    let first = said(
        "    - { as: K, fact: kill, where: \"K.full\" }\n",
        "    - { absent: { port: 1 } }\n",
    );
    assert!(
        first
            .iter()
            .any(|one| one.contains("an absence cannot be the first step")),
        "{first:#?}"
    );
}

#[test]
fn nothing_breaks_on_nonsense() {
    for text in [
        "",
        "x",
        "- 1",
        "{}",
        "a: [",
        "id: &a [*a]",
        "\u{0}",
        "? !!x",
    ] {
        assert!(load("x", text).is_err(), "{text:?}");
    }
    let deep = format!("when: {}1{}", "[".repeat(3_000), "]".repeat(3_000));
    assert!(load("x", &deep).is_err());
    for expression in [
        format!("{}1{}", "(".repeat(2_000), ")".repeat(2_000)),
        format!("{}K.full", "!".repeat(500)),
        format!("1{} == 1", "+1".repeat(500)),
        format!("{}1{}", "(".repeat(8), ")".repeat(8)),
        format!("K.full{}", " && K.full".repeat(250)),
        "K.full ? ".repeat(90),
        "'".repeat(3_001),
        format!("K{}", ".a".repeat(500)),
        // Just within the bounds.
        format!("{}K.full", "!".repeat(59)),
        format!("1{} == 1", "+1".repeat(59)),
        "K.full ? ".repeat(45),
        format!("K{}", ".a".repeat(179)),
        format!("{}1{}", "[".repeat(8), "]".repeat(8)),
    ] {
        let _ = said("K.full", &expression);
    }
}

/// Every fault of lint stands at the very word it is about, and says what to write instead.
#[test]
fn lint_points_at_the_word_and_says_what_to_write() {
    for (from, to, at, message, hint) in [
        ("", "", "tests:", "no near miss", "`expect: silent`"),
        ("", "", "tests:", "no healthy twin", "`healthy: true`"),
        (
            "expect: fires",
            "expect: silent",
            "tests:",
            "no test fires",
            "`expect: fires`",
        ),
        (
            "      on: [command]\n",
            "",
            "as: E",
            "this `exit` is joined to nothing",
            "`on: [host]`",
        ),
        (
            "kind: own.made",
            "kind: proces.crashed",
            "proces.crashed",
            "`proces.crashed` is no known kind",
            "did you mean `process.crashed`?",
        ),
        (
            "kind: own.made",
            "kind: cuda.odd_thing",
            "cuda.odd_thing",
            "is no known kind",
            "begins with `own.`",
        ),
        (
            "title: Two, prior",
            "title: Two, kind: disk.ful, prior",
            "disk.ful",
            "`disk.ful` is no known kind",
            "`disk.full`",
        ),
        (
            "scope: host",
            "scope: host\nclaim: established",
            "claim:",
            "established, and no observation is decisive",
            "`decisive: HYPOTHESIS`",
        ),
        (
            "likely: { one: usually, two: rarely }",
            "likely: { one: usually }",
            "two, title",
            "no observation speaks for or against `two`",
            "`likely: { two: usually }`",
        ),
        (
            "likely: { one: usually, two: rarely }",
            "likely: { one: usually, two: usually }",
            "two, title",
            "`two` is never likelier than `one`",
            "an observation that `two` makes likelier",
        ),
        (
            "prior: .4",
            "prior: .9",
            "hypotheses:",
            "priors add up to 1.40",
            "at most .9",
        ),
        (
            "likely: { one: usually, two: rarely }",
            "likely: { one: some, two: some }",
            "[gone]",
            "probe `ps` separates nothing",
            "`likely`",
        ),
        (
            ", yields: [gone]",
            "",
            "ps, run",
            "probe `ps` yields nothing",
            "`yields: [OBSERVATION]`",
        ),
        (
            "run: \"pgrep -f {{K.pattern}}\"",
            "run: \"rm -rf /tmp/x\"",
            "\"rm -rf",
            "probe `ps` is not read-only: destructive",
            "`safety: destructive`",
        ),
        (
            "run: \"pgrep -f {{K.pattern}}\"",
            "run: \"systemctl restart x\", safety: read-only",
            "read-only, why",
            "probe `ps` is not read-only, its class is `changes state`",
            "`safety: changes state`",
        ),
        (
            "pgrep -f {{K.pattern}}",
            "pgrep -f '{{K.pattern}}'",
            "\"pgrep",
            "a hole stands within quotes",
            "write it bare",
        ),
        (
            "pgrep -f {{K.pattern}}",
            "bash -c {{K.pattern}}",
            "\"bash",
            "a second shell reads what fills the hole",
            "run the inner command itself",
        ),
        (
            "pgrep -f {{K.pattern}}",
            "ssh other pgrep -f {{K.pattern}}",
            "\"ssh",
            "a second shell reads",
            "`on`",
        ),
        (
            "pgrep -f {{K.pattern}}",
            "{{K.pattern}} --version",
            "\"{{K",
            "is run as a command",
            "name the program",
        ),
        (
            "pgrep -f {{K.pattern}}",
            "awk {{K.pattern}} /etc/passwd",
            "\"awk",
            "`awk` reads what fills the hole as code",
            "awk -v",
        ),
        (
            "where: it.count == 0",
            "where: \"it.tool == 'x' && it.count == 0\"",
            "tests:",
            "no near miss",
            "",
        ),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replacen(from, to, 1);
        let playbook = load("a.yaml", &text).unwrap_or_else(|faults| panic!("{to}: {faults:#?}"));
        let faults = lint(&playbook);
        let found = faults.iter().find(|fault| fault.message.contains(message));
        let found = found.unwrap_or_else(|| panic!("{to}: {faults:#?}"));
        let line = text.lines().nth(found.line - 1).unwrap();
        let there: String = line.chars().skip(found.column - 1).collect();
        assert!(there.starts_with(at), "{to}: {there} | {found:#?}");
        assert!(
            found.hint.as_ref().unwrap().contains(hint),
            "{to}: {found:#?}"
        );
    }
}

#[test]
fn safe_holes_are_left_alone() {
    for run in [
        "awk -v x={{K.pattern}} '{ print x }' /etc/passwd",
        "grep -F -- {{K.pattern}} /var/log/syslog",
        "ps -p $(pgrep -f {{K.pattern}} | head -1)",
        "docker exec {{K.container}} ps aux",
        "sudo ls -l {{K.pattern}}",
    ] {
        let text = GOOD.replacen("pgrep -f {{K.pattern}}", run, 1);
        let playbook = load("a.yaml", &text).unwrap_or_else(|faults| panic!("{run}: {faults:#?}"));
        let said: Vec<_> = lint(&playbook)
            .into_iter()
            .filter(|fault| fault.message.contains("hole"))
            .collect();
        assert!(said.is_empty(), "{run}: {said:#?}");
    }
}

#[test]
fn an_id_that_two_have_is_said_where_it_stands() {
    let one = load("a.yaml", GOOD).unwrap();
    let two = load("b.yaml", GOOD).unwrap();
    let faults = lint_all(&[one, two]);
    let (name, fault) = faults.last().unwrap();
    assert_eq!((name.as_str(), fault.line, fault.column), ("b.yaml", 1, 1));
    assert_eq!(fault.message, "`a-book` is the id of a.yaml too");
    assert!(fault.hint.is_some());
}

#[test]
fn lint_says_what_is_missing() {
    let of = |from: &str, to: &str| {
        assert!(GOOD.contains(from), "{from}");
        let playbook = load("a.yaml", &GOOD.replacen(from, to, 1)).unwrap();
        let said = lint(&playbook).into_iter();
        said.map(|fault| format!("{}: {}", fault.line, fault.message))
            .collect::<Vec<_>>()
    };
    let said = of("kind", "kind");
    assert_eq!(said, ["25: no near miss", "25: no healthy twin"]);
    for (from, to, wanted) in [
        (
            "      on: [command]\n",
            "",
            "10: this `exit` is joined to nothing before it",
        ),
        (
            "likely: { one: usually, two: rarely }",
            "likely: { one: usually }",
            "no observation speaks for or against `two`",
        ),
        (
            "likely: { one: usually, two: rarely }",
            "likely: { one: some, two: some }",
            "probe `ps` separates nothing",
        ),
        (
            "pgrep -f {{K.pattern}}",
            "pgrep -f '{{K.pattern}}'",
            "probe `ps`: a hole stands within quotes",
        ),
        (", yields: [gone]", "", "probe `ps` yields nothing"),
        ("expect: fires", "expect: silent", "no test fires"),
        ("prior: .4", "prior: .9", "priors add up to 1.40"),
    ] {
        let said = of(from, to);
        assert!(
            said.iter().any(|one| one.contains(wanted)),
            "{to}: {said:#?}"
        );
    }
    let words = GOOD
        .replace("fact: process_look", "fact: launch_state")
        .replace("it.count == 0", "\"it.log == 'stael'\"");
    let said = lint(&load("a.yaml", &words).unwrap());
    assert!(
        said.iter()
            .any(|one| one.message == "`log` is never 'stael'"
                && one.hint.as_deref() == Some("did you mean 'stale'?")
                && words.lines().nth(one.line - 1).unwrap()[one.column - 1..]
                    .starts_with("'stael'")),
        "{said:#?}"
    );
}
