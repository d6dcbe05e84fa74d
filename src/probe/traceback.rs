//! Tracebacks and stack traces, each read as one: what was thrown, its first cause, where.
//!
//! Python (chained, per rank, with its beginning cut away by `tail`, faulthandler), what prints
//! `at …` lines (Java, Node, .NET), Go, Rust, C++, Ruby, PHP, failed assertions. A last line alone
//! (`tail -1` gives `MemoryError`) counts as well: it is what a traceback ends in.

mod frames;
mod python;
mod single;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::fingerprint::fingerprint;
use super::line::{Context, Head, Seen, is_quoted, read_head};
use super::marks::{Marked, Marks};
use crate::fact;
use crate::shell::Tri;
use crate::text;

/// Messages are cut at this many bytes.
const MAX_MESSAGE: usize = 1000;
/// Of different tracebacks as many are kept from the start of an output, and from its end.
const KEPT: usize = 50;

/// A line; its prefix is read when something asks for it.
struct Row<'a> {
    text: &'a str,
    head: OnceCell<Head>,
    /// It can begin a trace, or be one: it holds a word that some pattern asks for.
    may: bool,
    ordinal: usize,
    from: u64,
    to: u64,
}

impl<'a> Row<'a> {
    fn head(&self) -> &Head {
        self.head.get_or_init(|| read_head(self.text))
    }

    /// The line without its prefix; its own indentation is kept.
    fn body(&self) -> &'a str {
        self.text.get(self.head().body..).unwrap_or(self.text)
    }
}

/// One of these is in every line that begins a trace or is one by itself.
static MARKS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::new([
        "Traceback (most recent call last):",
        "File \"",
        "Fatal Python error: ",
        "Error",
        "Exception",
        "Interrupt",
        "Timeout",
        "Expired",
        "Failure",
        "SystemExit",
        "StopIteration",
        "gaierror",
        "at ",
        "panic: ",
        "fatal error",
        "thread '",
        "terminate called ",
        "Assertion ",
        "FATAL ERROR: ",
        ".rb:",
        "Fatal error: ",
        "insufficient memory for the Java",
    ])
    .unwrap_or_else(|error| panic!("marks of traces: {error}"))
});

/// A trace that was read to its end.
#[derive(Debug, Clone, PartialEq, Default)]
struct Trace {
    exception: String,
    message: String,
    cause: Option<String>,
    frame: Option<String>,
    /// Its final line, which the fingerprint is of.
    last_line: String,
    /// The place of its final line.
    ordinal: usize,
    from: u64,
    to: u64,
}

impl Trace {
    /// Type and message, as a cause is named.
    fn named(&self) -> String {
        if self.message.is_empty() {
            self.exception.clone()
        } else {
            format!("{}: {}", self.exception, self.message)
        }
    }
}

/// Whether a line may begin a trace, or be one.
pub(super) fn may(text: &str) -> bool {
    MARKS.is_match(text)
}

/// The traces in an output, in order. One that came several times is given once, at its last place.
pub(super) fn read(lines: &[Marked<'_>], context: &Context<'_>) -> Vec<Seen> {
    let rows: Vec<Row<'_>> = lines
        .iter()
        .enumerate()
        .map(|(ordinal, marked)| {
            let (text, from, to) = marked.line.last_written();
            Row {
                text,
                head: OnceCell::new(),
                may: marked.marks.has(Marks::TRACE),
                ordinal,
                from,
                to,
            }
        })
        .collect();
    let mut traces = python::read(&rows);
    traces.extend(frames::read(&rows));
    traces.extend(single::read(&rows));
    traces.sort_by_key(|trace| (trace.ordinal, trace.from));
    // What a longer trace holds is not one of its own.
    let mut kept: Vec<Trace> = Vec::new();
    for trace in traces {
        match kept.last() {
            Some(last) if last.ordinal == trace.ordinal => {
                if last.frame.is_none() && trace.frame.is_some() {
                    kept.pop();
                    kept.push(trace);
                }
            }
            _ => kept.push(trace),
        }
    }
    distinct(kept)
        .into_iter()
        .map(|trace| seen(trace, context))
        .collect()
}

fn distinct(traces: Vec<Trace>) -> Vec<Trace> {
    let mut places: HashMap<(String, String, Option<String>), usize> = HashMap::new();
    let mut kept: Vec<Trace> = Vec::new();
    for trace in traces {
        let key = (
            trace.exception.clone(),
            fingerprint(&trace.last_line),
            trace.frame.clone(),
        );
        match places.get(&key).and_then(|&place| kept.get_mut(place)) {
            Some(known) => *known = trace,
            None => {
                places.insert(key, kept.len());
                kept.push(trace);
            }
        }
    }
    kept.sort_by_key(|trace| (trace.ordinal, trace.from));
    if kept.len() > 2 * KEPT {
        kept.drain(KEPT..kept.len() - KEPT);
    }
    kept
}

fn seen(trace: Trace, context: &Context<'_>) -> Seen {
    let fact = fact::Traceback {
        path: context.path.to_owned(),
        source: context.source.to_owned(),
        fingerprint: fingerprint(&trace.last_line),
        exception: trace.exception,
        message: text::cut(&trace.message, MAX_MESSAGE).to_owned(),
        cause: trace
            .cause
            .map(|cause| text::cut(&cause, MAX_MESSAGE).to_owned()),
        frame: trace.frame,
        ordinal: i64::try_from(trace.ordinal).unwrap_or(i64::MAX),
        quoted: is_quoted(context, &trace.last_line),
        old: Tri::Unknown,
    };
    Seen {
        fact: fact.into(),
        from: trace.from,
        to: trace.to,
    }
}

#[cfg(test)]
mod tests;
