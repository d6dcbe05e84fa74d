//! Traces that one line begins: Go, Rust, C++, Ruby, PHP, assertions, runtimes that give up.

use std::sync::LazyLock;

use regex::Regex;

use super::{Row, Trace};
use crate::probe::pattern::pattern;

struct Shapes {
    go: Regex,
    goroutine: Regex,
    go_place: Regex,
    rust: Regex,
    terminate: Regex,
    assertion: Regex,
    node_heap: Regex,
    ruby: Regex,
    php: Regex,
    jvm: Regex,
    jvm_signal: Regex,
}

static SHAPES: LazyLock<Shapes> = LazyLock::new(|| Shapes {
    go: pattern(r"^(?P<type>panic|fatal error): (?P<message>.*)$"),
    goroutine: pattern(r"^goroutine \d+ (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\["),
    go_place: pattern(r"^\t(?P<place>\S+\.(?:go|s):\d+)"),
    rust: pattern(
        r"^thread '(?P<thread>[^']*)'(?: \(\d+\))? panicked at (?:'(?P<old>.*)', (?P<oldplace>\S+)|(?P<place>\S+?):?)$",
    ),
    terminate: pattern(
        r"^terminate called (?:after throwing an instance of '(?P<type>[^']+)'|(?P<message>without an active exception|recursively))$",
    ),
    assertion: pattern(
        r"^(?:\S+: )?(?P<place>[^\s:]+:\d+): (?P<name>.*): Assertion [`'‘](?P<message>.*)['’] failed\.$",
    ),
    node_heap: pattern(r"^(?:\[\d+:0x[0-9a-f]+\] +\d+ ms: )?FATAL ERROR: (?P<message>.+)$"),
    ruby: pattern(
        r"^(?:\S+: )?(?P<place>\S+\.rb:\d+):in [`'](?P<name>[^']*)': (?P<message>.*) \((?P<type>[A-Z]\w*(?:::\w+)*)\)$",
    ),
    php: pattern(
        r"^(?:PHP )?Fatal error: +Uncaught (?P<type>[\w\\]+)(?:: (?P<message>.*?))? in (?P<place>\S+:\d+)$",
    ),
    jvm: pattern(
        r"^# (?:A fatal error has been detected by the Java Runtime Environment|There is insufficient memory for the Java Runtime Environment)",
    ),
    jvm_signal: pattern(
        r"^# +(?P<message>(?:SIG[A-Z]+|Native memory allocation|Internal Error|Out of Memory).*)$",
    ),
});

pub(super) fn read(rows: &[Row<'_>]) -> Vec<Trace> {
    let mut traces = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        if let Some(trace) = at_row(rows, at, row) {
            traces.push(trace);
        }
    }
    traces
}

fn at_row(rows: &[Row<'_>], at: usize, row: &Row<'_>) -> Option<Trace> {
    if !row.may {
        return None;
    }
    let body = row.body().trim_end();
    let first = body.as_bytes().first()?;
    if first.is_ascii_whitespace() {
        return None;
    }
    // What its patterns ask for, each at its cheapest: of a long log few lines come further.
    let words = ["Assertion ", "FATAL ERROR: ", ".rb:", "Fatal error: "];
    let begins = [
        "panic: ",
        "fatal error: ",
        "thread '",
        "terminate called ",
        "# ",
    ];
    if !begins.iter().any(|start| body.starts_with(start))
        && !words.iter().any(|word| body.contains(word))
    {
        return None;
    }
    let shapes = &*SHAPES;
    let base = Trace {
        last_line: body.to_owned(),
        ordinal: row.ordinal,
        from: row.from,
        to: row.to,
        ..Trace::default()
    };
    let with = |exception: &str, found: &regex::Captures<'_>| Trace {
        exception: exception.to_owned(),
        message: found
            .name("message")
            .map_or("", |message| message.as_str())
            .to_owned(),
        frame: found.name("place").map(|place| place.as_str().to_owned()),
        ..base.clone()
    };
    if let Some(found) = shapes.go.captures(body) {
        return go(rows, at, with(&found["type"], &found));
    }
    if let Some(found) = shapes.rust.captures(body) {
        return Some(rust(rows, at, with("panic", &found), &found));
    }
    if let Some(found) = shapes.terminate.captures(body) {
        let exception = found.name("type").map_or("terminate", |name| name.as_str());
        let mut trace = with(exception, &found);
        if let Some(next) = rows.get(at + 1)
            && let Some(what) = next.body().trim_start().strip_prefix("what():")
        {
            what.trim().clone_into(&mut trace.message);
            trace.last_line = format!("{body} {}", what.trim());
            trace.to = next.to;
            trace.ordinal = next.ordinal;
        }
        return Some(trace);
    }
    if let Some(found) = shapes.assertion.captures(body) {
        let mut trace = with("Assertion", &found);
        if let (Some(frame), Some(name)) = (&mut trace.frame, found.name("name")) {
            frame.push_str(" in ");
            frame.push_str(name.as_str());
        }
        return Some(trace);
    }
    if let Some(found) = shapes.node_heap.captures(body) {
        return Some(with("FATAL ERROR", &found));
    }
    if let Some(found) = shapes
        .ruby
        .captures(body)
        .or_else(|| shapes.php.captures(body))
    {
        return Some(with(&found["type"], &found));
    }
    if shapes.jvm.is_match(body) {
        let near = rows.iter().skip(at + 1).take(4);
        let mut trace = Trace {
            exception: "fatal error".to_owned(),
            ..base.clone()
        };
        for row in near {
            if let Some(found) = shapes.jvm_signal.captures(row.body().trim_end()) {
                found["message"].clone_into(&mut trace.message);
                row.body().trim().clone_into(&mut trace.last_line);
                trace.to = row.to;
                trace.ordinal = row.ordinal;
                break;
            }
        }
        return Some(trace);
    }
    None
}

/// Go prints its goroutines after the message; without one in sight it is some program's word.
fn go(rows: &[Row<'_>], at: usize, mut trace: Trace) -> Option<Trace> {
    let within = rows.iter().skip(at + 1).take(12);
    let offset = within
        .take_while(|row| !SHAPES.go.is_match(row.body()))
        .position(|row| SHAPES.goroutine.is_match(row.body()));
    let begin = at + 1 + offset?;
    for row in rows.iter().skip(begin) {
        if row.body().trim().is_empty() {
            break;
        }
        if let Some(found) = SHAPES.go_place.captures(row.body()) {
            let place = &found["place"];
            let runtime = place.contains("/runtime/");
            if trace.frame.is_none() || (runtime_frame(&trace) && !runtime) {
                trace.frame = Some(place.to_owned());
            }
        }
        trace.to = row.to;
    }
    Some(trace)
}

fn runtime_frame(trace: &Trace) -> bool {
    trace
        .frame
        .as_deref()
        .is_some_and(|frame| frame.contains("/runtime/"))
}

fn rust(rows: &[Row<'_>], at: usize, mut trace: Trace, found: &regex::Captures<'_>) -> Trace {
    if let (Some(message), Some(place)) = (found.name("old"), found.name("oldplace")) {
        message.as_str().clone_into(&mut trace.message);
        trace.frame = Some(place.as_str().to_owned());
        return trace;
    }
    if let Some(next) = rows.get(at + 1) {
        next.body().trim().clone_into(&mut trace.message);
        next.body().trim().clone_into(&mut trace.last_line);
        trace.to = next.to;
        trace.ordinal = next.ordinal;
    }
    trace
}
