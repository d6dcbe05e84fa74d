//! Traces made of `at …` lines: Java and its kin, Node, .NET.

use std::sync::LazyLock;

use regex::Regex;

use super::{Row, Trace};
use crate::probe::pattern::pattern;

/// The head of a trace stands at most this many lines above its first `at` line.
const HEAD_WITHIN: usize = 6;

struct Shapes {
    at: Regex,
    head: Regex,
    caused: Regex,
    more: Regex,
}

static SHAPES: LazyLock<Shapes> = LazyLock::new(|| Shapes {
    at: pattern(r"^\s+at (?P<frame>[^\s].*)$"),
    head: pattern(
        r#"^(?:Exception in thread "[^"]*" |Uncaught |Unhandled [Ee]xception[.:] |\[cause\]: )?(?P<type>(?:[\w$]+\.)*[A-Z][\w$]*(?:Error|Exception|Throwable|Failure|Fault|Interrupt|Death)?)(?: \[[A-Z_0-9]+\])?(?::\s?(?P<message>.*))?$"#,
    ),
    caused: pattern(r"^\s*(?:Caused by|\[cause\]): (?P<text>(?P<type>[\w.$]+).*)$"),
    more: pattern(
        r"^\s*(?:\.\.\. \d+ (?:more|common frames omitted)|Suppressed: |Emitted '\w+' event|--- End of |\[CIRCULAR REFERENCE)",
    ),
});

pub(super) fn read(rows: &[Row<'_>]) -> Vec<Trace> {
    let shapes = &*SHAPES;
    let mut traces = Vec::new();
    let mut at = 0;
    // Lines before this belong to a trace already read.
    let mut taken = 0;
    while let Some(row) = rows.get(at) {
        let may = row.may && row.body().trim_start().starts_with("at ");
        let Some(found) = may.then(|| shapes.at.captures(row.body())).flatten() else {
            at += 1;
            continue;
        };
        let mut trace = head_of(rows, taken, at).unwrap_or_else(|| Trace {
            from: row.from,
            ordinal: row.ordinal,
            ..Trace::default()
        });
        let beheaded = trace.exception.is_empty();
        trace.frame = found
            .name("frame")
            .map(|frame| frame.as_str().trim_end().to_owned());
        let mut rooted = true;
        let mut end = at;
        while let Some(row) = rows.get(end) {
            if let Some(found) = shapes.at.captures(row.body()) {
                if !rooted {
                    trace.frame = found.name("frame").map(|frame| frame.as_str().to_owned());
                    rooted = true;
                }
            } else if let Some(found) = shapes.caused.captures(row.body()) {
                trace.cause = found
                    .name("text")
                    .map(|text| text.as_str().trim_end().to_owned());
                rooted = false;
            } else if !shapes.more.is_match(row.body()) {
                break;
            }
            trace.to = row.to;
            end += 1;
        }
        // `at` lines whose head was cut away stand at the output's start; elsewhere they are
        // something else (a dump of threads).
        if !beheaded || at == 0 {
            if beheaded {
                trace.last_line = row.body().trim().to_owned();
            }
            traces.push(trace);
        }
        at = end.max(at + 1);
        taken = at;
    }
    traces
}

/// The line that a trace's `at` lines belong to: the nearest above that names an exception.
fn head_of(rows: &[Row<'_>], taken: usize, at: usize) -> Option<Trace> {
    let floor = taken.max(at.saturating_sub(HEAD_WITHIN));
    for index in (floor..at).rev() {
        let row = rows.get(index)?;
        let body = row.body().trim_end();
        if body.starts_with([' ', '\t']) && !body.trim_start().starts_with("Exception in") {
            continue;
        }
        // A logger may put its message before the exception.
        let tail = body.rsplit(" - ").next().unwrap_or(body);
        let found = [body, tail]
            .into_iter()
            .find_map(|text| SHAPES.head.captures(text.trim()));
        if let Some(found) = found {
            let group = |name: &str| found.name(name).map_or("", |group| group.as_str());
            return Some(Trace {
                exception: group("type").to_owned(),
                message: group("message").trim_end().to_owned(),
                last_line: body.to_owned(),
                ordinal: row.ordinal,
                from: row.from,
                to: row.to,
                ..Trace::default()
            });
        }
    }
    None
}
