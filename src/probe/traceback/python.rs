//! Python's tracebacks.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::{Row, Trace};
use crate::probe::pattern::pattern;

/// Lines of others in between, after which a trace without its end is given up.
const STRANGERS: usize = 6;

struct Shapes {
    frame: Regex,
    last: Regex,
    /// A last line that needs no traceback before it to be one.
    bare: Regex,
    fatal: Regex,
}

static SHAPES: LazyLock<Shapes> = LazyLock::new(|| Shapes {
    frame: pattern(
        r#"^\s*(?:\| *)?File "(?P<file>[^"]+)", line (?P<line>\d+)(?:,? in (?P<name>.+))?$"#,
    ),
    last: pattern(
        r"^(?:\| *)?(?P<type>[A-Za-z_]\w*(?:\.(?:[A-Za-z_]\w*|<locals>))*)(?::(?: (?P<message>.*))?)?$",
    ),
    bare: pattern(
        r"^(?P<type>(?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*(?:Error|Exception|ExceptionGroup|Interrupt|Timeout|Expired|Failure)|Timeout|KeyboardInterrupt|SystemExit|StopIteration|CancelledError|gaierror))(?::(?: (?P<message>.*))?)?$",
    ),
    fatal: pattern(r"^Fatal Python error: (?P<message>.*)$"),
});

const HEADER: &str = "Traceback (most recent call last):";
const DURING: &str = "During handling of the above exception, another exception occurred:";
const DIRECT: &str = "The above exception was the direct cause of the following exception:";

/// A trace being read.
struct Open {
    trace: Trace,
    frames: usize,
    strangers: usize,
    /// Its last line was read: it waits for a chain sentence.
    ended: bool,
    /// A chain sentence was read: the next traceback goes on with it.
    chained: bool,
    /// faulthandler's: frames come innermost first.
    fatal: bool,
    began: usize,
}

impl Open {
    fn at(row: &Row<'_>) -> Self {
        Self {
            trace: Trace {
                from: row.from,
                to: row.to,
                ordinal: row.ordinal,
                ..Trace::default()
            },
            frames: 0,
            strangers: 0,
            ended: false,
            chained: false,
            fatal: false,
            began: row.ordinal,
        }
    }

    fn take(&mut self, row: &Row<'_>) {
        self.trace.to = row.to;
        self.trace.ordinal = row.ordinal;
        self.strangers = 0;
    }
}

/// A last line that needs no traceback before it: the name of an exception, alone or before a colon.
fn bare(trimmed: &str) -> Option<regex::Captures<'_>> {
    let named =
        trimmed.split(':').next().unwrap_or("").bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') || byte >= 0x80
        });
    named.then(|| SHAPES.bare.captures(trimmed)).flatten()
}

/// The tracebacks of the rows, those of each worker by themselves.
pub(super) fn read(rows: &[Row<'_>]) -> Vec<Trace> {
    let mut reader = Reader::default();
    for row in rows {
        reader.row(row);
    }
    let open: Vec<String> = reader.open.keys().cloned().collect();
    for worker in open {
        reader.close(&worker);
    }
    reader.done
}

#[derive(Default)]
struct Reader {
    /// Traces being read, by worker; of those without a worker's name, by the empty one.
    open: HashMap<String, Open>,
    /// The worker whose traceback began last: lines without a prefix are its.
    recent: String,
    done: Vec<Trace>,
}

impl Reader {
    fn row(&mut self, row: &Row<'_>) {
        if !row.may && self.open.is_empty() {
            return;
        }
        let body = row.body().trim_end();
        let trimmed = body.trim_start();
        let begins = trimmed.starts_with("Fatal Python error: ")
            || trimmed.ends_with(HEADER)
            || body.contains("File \"");
        if !begins && self.open.is_empty() {
            return self.bare(trimmed, body.starts_with([' ', '\t']), row);
        }
        let worker = self.worker(row);
        if trimmed.ends_with(HEADER) && !trimmed.ends_with(&format!("\"{HEADER}")) {
            return self.header(&worker, row);
        }
        if begins && let Some(found) = SHAPES.fatal.captures(trimmed) {
            self.close(&worker);
            let mut open = Open::at(row);
            open.fatal = true;
            open.trace.exception = "Fatal Python error".to_owned();
            open.trace.message = found.name("message").map_or("", |m| m.as_str()).to_owned();
            open.trace.last_line = trimmed.to_owned();
            self.open.insert(worker, open);
            return;
        }
        if begins && let Some(found) = SHAPES.frame.captures(body) {
            return self.frame(&worker, row, &found);
        }
        let indented = body.starts_with([' ', '\t']);
        let Some(open) = self.open.get_mut(&worker) else {
            return self.bare(trimmed, indented, row);
        };
        if open.ended {
            return self.after_end(&worker, trimmed, indented, row);
        }
        if open.fatal {
            let goes_on = trimmed.is_empty()
                || trimmed.starts_with("Current thread")
                || trimmed.starts_with("Thread 0x")
                || trimmed.starts_with("Python runtime state")
                || indented;
            if goes_on {
                if !trimmed.is_empty() {
                    open.trace.to = row.to;
                }
            } else {
                self.close(&worker);
                self.bare(trimmed, indented, row);
            }
            return;
        }
        if indented || trimmed.is_empty() || trimmed.starts_with("[Previous line repeated") {
            if !trimmed.is_empty() {
                open.take(row);
            }
            return;
        }
        let last = SHAPES.last.captures(trimmed).filter(|_| open.frames > 0);
        let last = last.or_else(|| bare(trimmed));
        if let Some(found) = last {
            let group = |name: &str| found.name(name).map_or("", |group| group.as_str());
            open.take(row);
            open.ended = true;
            group("type").clone_into(&mut open.trace.exception);
            group("message").clone_into(&mut open.trace.message);
            trimmed.clone_into(&mut open.trace.last_line);
            return;
        }
        open.strangers += 1;
        if open.strangers > STRANGERS {
            self.close(&worker);
        }
    }

    /// Whose line it is.
    fn worker(&self, row: &Row<'_>) -> String {
        let named = row.head().worker.clone().unwrap_or_default();
        if !named.is_empty() || row.head().body > 0 || self.open.contains_key("") {
            return named;
        }
        if self.open.contains_key(&self.recent) {
            self.recent.clone()
        } else {
            named
        }
    }

    fn header(&mut self, worker: &str, row: &Row<'_>) {
        worker.clone_into(&mut self.recent);
        if let Some(open) = self.open.get_mut(worker)
            && open.chained
        {
            let cause = open
                .trace
                .cause
                .take()
                .unwrap_or_else(|| open.trace.named());
            let (from, began) = (open.trace.from, open.began);
            let mut next = Open::at(row);
            next.trace.from = from;
            next.trace.cause = Some(cause);
            next.began = began;
            *open = next;
            return;
        }
        self.close(worker);
        self.open.insert(worker.to_owned(), Open::at(row));
    }

    fn frame(&mut self, worker: &str, row: &Row<'_>, found: &regex::Captures<'_>) {
        if self.open.get(worker).is_some_and(|open| open.ended) {
            self.close(worker);
        }
        worker.clone_into(&mut self.recent);
        let open = self
            .open
            .entry(worker.to_owned())
            .or_insert_with(|| Open::at(row));
        let group = |name: &str| found.name(name).map_or("", |group| group.as_str());
        let place = format!("{}:{}", group("file"), group("line"));
        let name = group("name");
        let frame = if name.is_empty() {
            place
        } else {
            format!("{place} in {name}")
        };
        open.frames += 1;
        if open.fatal {
            // Innermost first; the final line is the message above.
            open.trace.frame.get_or_insert(frame);
            open.trace.to = row.to;
        } else {
            open.trace.frame = Some(frame);
            open.take(row);
        }
    }

    /// After the last line: a chain sentence, more of the message, or something else.
    fn after_end(&mut self, worker: &str, trimmed: &str, indented: bool, row: &Row<'_>) {
        let Some(open) = self.open.get_mut(worker) else {
            return;
        };
        if trimmed == DURING || trimmed == DIRECT {
            open.chained = true;
            return;
        }
        if trimmed.is_empty() || open.chained {
            return;
        }
        let waits = open.trace.message.ends_with(':')
            || trimmed.starts_with("nccl")
            || trimmed.starts_with("Last error:");
        if waits && !row.head().is_timed() && !indented && open.trace.message.len() < 800 {
            open.trace.message.push('\n');
            open.trace.message.push_str(trimmed);
            open.trace.to = row.to;
            return;
        }
        self.close(worker);
        self.bare(trimmed, indented, row);
    }

    /// A last line by itself.
    fn bare(&mut self, trimmed: &str, indented: bool, row: &Row<'_>) {
        if indented {
            return;
        }
        if let Some(found) = bare(trimmed) {
            let group = |name: &str| found.name(name).map_or("", |group| group.as_str());
            let mut open = Open::at(row);
            open.ended = true;
            group("type").clone_into(&mut open.trace.exception);
            group("message").clone_into(&mut open.trace.message);
            trimmed.clone_into(&mut open.trace.last_line);
            let worker = row.head().worker.clone().unwrap_or_default();
            worker.clone_into(&mut self.recent);
            self.open.insert(worker, open);
        }
    }

    fn close(&mut self, worker: &str) {
        let Some(open) = self.open.remove(worker) else {
            return;
        };
        // A header alone, or frames whose end was not shown, still say that there was one.
        let header_only = open.frames == 0 && !open.ended && !open.fatal;
        if header_only && open.trace.cause.is_none() && open.strangers > STRANGERS {
            return;
        }
        self.done.push(open.trace);
    }
}
