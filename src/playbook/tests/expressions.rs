use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::check::compile;
use super::super::eval::{Env, show};
use super::super::expr::{Lost, Names};
use super::super::template;
use super::{Made, bindings};
use crate::fact::{self, fact_type};
use crate::shell::Tri;

fn made() -> (Made, BTreeMap<String, usize>) {
    let mut made = Made::new();
    let kill = made.command(10, "gpu01").says(fact::Kill {
        program: "pkill".to_owned(),
        pattern: Some("serve.py".to_owned()),
        full: true,
        signal: 9,
        pids: vec![7, 8],
        hits_own_shell: Tri::Unknown,
        ..Default::default()
    });
    let exit = made.command(14, "gpu02").says(fact::Exit {
        code: Some(255),
        silent: true,
        ..Default::default()
    });
    (made, bindings(&[("K", kill), ("E", exit)]))
}

/// The value of an expression over the made timeline, in words; its faults where it has some.
fn value(text: &str) -> String {
    let (made, bound) = made();
    let types: BTreeMap<Arc<str>, _> = [("K", "kill"), ("E", "exit"), ("N", "line")]
        .into_iter()
        .map(|(name, ty)| (Arc::from(name), fact_type(ty).unwrap()))
        .collect();
    let names = Names {
        lost: &Lost::default(),
        trusted: false,
        it: fact_type("exit"),
        own: None,
        bound: &types,
    };
    match compile(text, names) {
        Ok(expr) => show(&expr.value(Env {
            timeline: &made.timeline,
            it: bound.get("E").copied(),
            bound: &bound,
            strict: false,
        })),
        Err(problems) => {
            let problem = &problems[0];
            let hint = problem.hint.as_deref().unwrap_or("");
            format!("{}: {} | {hint}", problem.offset, problem.message)
        }
    }
}

#[test]
fn three_values_follow_kleene() {
    // `K.effective == 'yes'` is false, `it.code == 255` true, `it.signal == 9` unknown.
    let (yes, no, unknown) = ("it.code == 255", "K.full == false", "it.signal == 9");
    for (one, other, and, or) in [
        (yes, yes, "true", "true"),
        (yes, no, "false", "true"),
        (yes, unknown, "?", "true"),
        (no, no, "false", "false"),
        (no, unknown, "false", "?"),
        (unknown, unknown, "?", "?"),
        (unknown, no, "false", "?"),
        (unknown, yes, "?", "true"),
    ] {
        assert_eq!(
            value(&format!("({one}) && ({other})")),
            and,
            "{one} && {other}"
        );
        assert_eq!(
            value(&format!("({one}) || ({other})")),
            or,
            "{one} || {other}"
        );
    }
    assert_eq!(value(&format!("!({unknown})")), "?");
    assert_eq!(value(&format!("({unknown}) ? 1 : 2")), "?");
}

#[test]
fn values_of_every_kind() {
    for (text, wanted) in [
        ("it.signal", "?"),
        ("it.signal == null", "true"),
        ("it.signal != null", "false"),
        ("it.code != null", "true"),
        ("has(it.signal)", "false"),
        ("it.code + 1", "256"),
        ("it.code / 2", "127.5"),
        ("it.code % 10", "5"),
        ("-it.code", "-255"),
        ("it.code / 0", "?"),
        ("it.signal + 1", "?"),
        ("it.code in [1, 255]", "true"),
        ("it.signal in [1, 255]", "?"),
        ("it.code in [1, it.signal]", "?"),
        ("8 in K.pids", "true"),
        ("9 in K.pids", "false"),
        ("K.pids", "7, 8"),
        ("size(K.pids)", "2"),
        ("K.pattern.contains('serve')", "true"),
        ("K.pattern.endsWith('.py')", "true"),
        ("startsWith(K.pattern, 'x')", "false"),
        ("re(K.pattern, 's.rve')", "true"),
        ("K.pattern.matches('^erve')", "false"),
        ("capture(K.pattern, '^([a-z]+)')", "serve"),
        ("capture(K.pattern, '^([0-9]+)')", "?"),
        ("lower('ABC')", "abc"),
        ("basename('/a/b.log')", "b.log"),
        ("dirname('/a/b.log')", "/a"),
        ("lookup('signals', 11, 'name')", "SIGSEGV"),
        ("lookup('xid', int('79'), 'class')", "hardware"),
        (
            "lookup('kubelet-reasons', 'oomkilled', 'look')",
            "resources.limits.memory against what it needs",
        ),
        ("lookup('signals', 99, 'name')", "?"),
        ("lookup('signals', 2, 'look')", "?"),
        (
            "first(lookup('signals', it.signal, 'name'), 'none')",
            "none",
        ),
        ("int('12') + 1", "13"),
        ("int('x')", "?"),
        ("double('1.5')", "1.5"),
        ("string(it.code) + '!'", "255!"),
        ("K.hits_own_shell == 'unknown'", "true"),
        ("K.hits_own_shell != 'no'", "true"),
        ("K.host", "gpu01"),
        ("it.host", "gpu02"),
        ("it.container", "?"),
        ("it.command", "2"),
        ("K.line", "look 10"),
        ("K.age_s", "4"),
        ("seconds_between(K, it)", "4"),
        ("from_after(it, K)", "true"),
        ("bound(K) && !bound(N)", "true"),
        ("N.text", "?"),
        ("N.text == 'x'", "?"),
        ("first(N.text, K.pattern)", "serve.py"),
        ("it.code > 1.5", "true"),
        ("duration(125)", "2 m 5 s"),
        ("true ? 'a' : 'b'", "a"),
        ("same_path('~/x.log', '/home/u/x.log')", "true"),
    ] {
        assert_eq!(value(text), wanted, "{text}");
    }
}

#[test]
fn wrong_expressions_say_where_and_what() {
    for (text, wanted) in [
        (
            "it.cod == 1",
            "3: a `exit` has no field `cod` | did you mean `code`?",
        ),
        (
            "K.full && X.code == 1",
            "10: nothing named `X` is bound before this",
        ),
        ("K.hits_own_shell", ""),
        ("it.code == 1\n && it.cod == 1", "20: a `exit` has no field"),
        (
            "it.code == 1 &&  it . cod == 1",
            "22: a `exit` has no field",
        ),
        ("'ü' == it.cod", "11: a `exit` has no field"),
        (
            "(((it.code == 1)",
            "0: 2 brackets are never closed, this one first | add `))`",
        ),
        ("it.code == 1)", "12: this `)` closes nothing"),
        (
            "it.code in [1, 2)",
            "16: `)` does not close the `[` before it | write `]` here",
        ),
        ("K.pattern == 'x", "13: this ' is never closed"),
        (
            "K.full && contain(K.pattern, 'x')",
            "10: there is no function `contain`",
        ),
        (
            "K.full && K.pattern.contain('x')",
            "20: there is no function `contain`",
        ),
        (
            "K.full && K.hits_own_shell",
            "10: true or false is wanted here, this is yes, no or unknown | compare it",
        ),
        (
            "K.hits_own_shell == 'maybe'",
            "this can be 'yes', 'no' or 'unknown', never 'maybe'",
        ),
        (
            "K.full == 'yes'",
            "true or false cannot be compared with a text | write `true`",
        ),
        (
            "it.code == '1'",
            "a whole number cannot be compared with a text",
        ),
        ("it.code = 1", "equality is written `==`"),
        ("it.code == 1 and K.full", "`and` is written `&&`"),
        ("re(K.pattern, '(')", "bad pattern: unclosed group"),
        ("capture(K.pattern, 'x')", "this pattern has no group"),
        (
            "contain(K.pattern, 'x')",
            "there is no function `contain` | did you mean `contains`?",
        ),
        ("size(1, 2)", "`size` wants 1 things, not 2"),
        (
            "K.pids.exists(p, p == 1)",
            "exists, all, map and filter are not part",
        ),
        ("K == 1", "`K` is a whole fact | name one of its fields"),
        ("'x' in K.pids", "a text cannot be in a list of numbers"),
        (
            "K.pattern < null",
            "null is compared with `==` and `!=` only",
        ),
        ("b'x' == b'x'", "bytes are not part"),
        ("{'a': 1}.a == 1", ""),
        ("1 +", "syntax"),
    ] {
        let said = value(text);
        assert!(said.contains(wanted), "{text}: {said}");
    }
}

fn filled(text: &str, quote: bool) -> String {
    let (mut made, mut bound) = made();
    let at = made.command(20, "gpu01").shows(fact::LogLook {
        path: "~/my logs/it's.log".to_owned(),
        last_line: Some("bad\u{1b}[31m; rm -rf /\nnext".to_owned()),
        ..Default::default()
    });
    let dash = made.command(21, "gpu01").shows(fact::LogLook {
        path: "-rf".to_owned(),
        ..Default::default()
    });
    bound.insert("L".to_owned(), at);
    bound.insert("D".to_owned(), dash);
    let types: BTreeMap<Arc<str>, _> = [
        ("K", "kill"),
        ("E", "exit"),
        ("L", "log_look"),
        ("D", "log_look"),
    ]
    .into_iter()
    .map(|(name, ty)| (Arc::from(name), fact_type(ty).unwrap()))
    .collect();
    let names = Names {
        lost: &Lost::default(),
        trusted: false,
        it: None,
        own: None,
        bound: &types,
    };
    let template = template::parse(text, names).unwrap();
    if quote {
        template
            .command(&made.timeline, &bound)
            .unwrap_or_else(|| "refused".to_owned())
    } else {
        super::super::render(&template, &made.timeline, &bound, false)
    }
}

#[test]
fn templates_are_filled_for_people_and_for_shells() {
    assert_eq!(
        filled("{{K.pattern}} on {{K.host}}: {{E.signal}}", false),
        "serve.py on gpu01: ?"
    );
    assert_eq!(filled("{{L.last_line}}", false), "bad [31m; rm -rf / next");
    assert_eq!(
        filled("tail {{L.path}}", true),
        r"tail ~/'my logs/it'\''s.log'"
    );
    assert_eq!(
        filled("tail {{D.path}}", true),
        "refused",
        "a dash is an option"
    );
    assert_eq!(filled("tail -- {{D.path}}", true), "tail -- -rf");
    assert_eq!(
        filled("grep {{L.last_line}} x", true),
        "refused",
        "control characters"
    );
    assert_eq!(filled("kill {{E.signal}}", true), "refused", "unknown");
    assert_eq!(filled("ps -p {{K.pids}}", true), "ps -p 7 8");
}
