//! `strace`: the last call of each thread, calls that failed, and the summary of `-c`. `ltrace` and
//! `perf trace` print the same lines.
//!
//! Source: strace 4.26 to 6.12; `tests/fixtures/probes/strace`.

use std::collections::BTreeMap;

use super::words::{Args, int, leading_int};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, texts};
use crate::fact::Syscall;
use crate::shell::Invocation;

/// `strace`.
pub(super) struct Strace;

const VALUED: &str =
    "p attach e trace o output s string-limit a columns E env O u user S summary-sort-by b I X P U";

/// A line of a trace, in its parts.
#[derive(Debug, PartialEq, Eq)]
struct Call<'a> {
    pid: Option<i64>,
    name: &'a str,
    error: Option<&'a str>,
    pending: bool,
}

/// `[pid  4712] read(3, "x", 10) = 10`, `futex(0x7f…, FUTEX_WAIT_PRIVATE, 2, NULL` with no end,
/// `12:01:02.123 connect(…) = -1 ECONNREFUSED (Connection refused) <0.000012>`.
fn call(text: &str) -> Option<Call<'_>> {
    let mut rest = text.trim_start();
    let mut pid = None;
    if let Some(after) = rest.strip_prefix("[pid") {
        let (own, after) = leading_int(after)?;
        pid = Some(own);
        rest = after.strip_prefix(']')?.trim_start();
    } else if let Some((own, after)) = leading_int(rest)
        && after.starts_with(' ')
    {
        pid = Some(own);
        rest = after.trim_start();
    }
    // A time, absolute or since the call before.
    if rest.starts_with(|c: char| c.is_ascii_digit()) {
        rest = rest.split_once(' ')?.1.trim_start();
    }
    let resumed = rest.starts_with("<... ");
    rest = rest.strip_prefix("<... ").unwrap_or(rest);
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
    let (name, after) = rest.split_at(end);
    let opens = after.starts_with('(') || resumed && after.starts_with(" resumed");
    if name.is_empty() || !opens || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let result = after
        .rfind(") = ")
        .or_else(|| after.rfind(")  = "))
        .or_else(|| {
            let at = after.rfind("= ")?;
            after.get(..at)?.trim_end().ends_with(')').then_some(at)
        });
    let result = result
        .and_then(|at| after.get(at..))
        .map(|found| found.trim_start_matches([')', ' ', '=']).trim_start());
    let error = result.and_then(|result| {
        let word = result
            .strip_prefix("-1 ")
            .or(result.strip_prefix("? "))?
            .split_whitespace()
            .next()?;
        word.starts_with('E').then_some(word)
    });
    Some(Call {
        pid,
        name,
        error,
        pending: result.is_none() || result.is_some_and(|result| result.starts_with("? ERESTART")),
    })
}

/// `%time seconds usecs/call calls errors syscall`.
fn summary_row(text: &str) -> Option<(f64, i64, Option<i64>, &str)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (time, _, _, calls) = (
        words.first()?.parse::<f64>().ok()?,
        words.get(1)?.parse::<f64>().ok()?,
        words.get(2)?.parse::<f64>().ok()?,
        int(words.get(3)?)?,
    );
    match words.as_slice() {
        [_, _, _, _, name] => Some((time, calls, None, *name)),
        [_, _, _, _, errors, name] => Some((time, calls, int(errors), *name)),
        _ => None,
    }
    .filter(|(_, _, _, name)| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

impl Probe for Strace {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(invocation.program(), "strace" | "ltrace")
    }

    fn grammar<'a>(&self, _ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|line, _| fit(line))
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        if ctx.filter.columns.is_some() || ctx.filter.opaque {
            texts::as_plain(lines, ctx, sink);
            return;
        }
        let asked: Vec<i64> = Args::of(ctx.invocation, VALUED)
            .values(&["p", "attach"])
            .flat_map(|list| list.split([',', ' ']))
            .filter_map(int)
            .collect();
        let only = match asked.as_slice() {
            [one] => Some(*one),
            _ => None,
        };
        read_trace(lines, only, sink);
    }

    fn complains(&self, line: &str, _ctx: &Ctx<'_>) -> Fit {
        fit(line)
    }

    fn is_chatter(&self, line: &str) -> bool {
        line.starts_with("strace: Process ") && !line.contains("ttach: ptrace")
            || line.starts_with("% time")
            || call(line).is_some_and(|call| call.error.is_some())
            || summary_row(line).is_some()
    }
}

fn fit(line: &str) -> Fit {
    let known = [
        "strace: ",
        "% time",
        "------",
        "+++ exited",
        "+++ killed",
        "--- SIG",
    ];
    if known.iter().any(|start| line.starts_with(start))
        || call(line).is_some()
            && [" = ", "<unfinished", "resumed>", " <detached"]
                .iter()
                .any(|end| line.contains(end))
        || summary_row(line).is_some()
    {
        Fit::Likely
    } else {
        Fit::No
    }
}

fn read_trace(lines: &[Shown], only: Option<i64>, sink: &mut Sink<'_>) {
    let mut pid = only;
    let mut last: BTreeMap<Option<i64>, (&Shown, &str, bool)> = BTreeMap::new();
    let mut failed: Vec<(&Shown, Option<i64>, &str, &str, i64)> = Vec::new();
    for line in lines {
        let text = line.text.as_str();
        if let Some((own, _)) = text.strip_prefix("strace: Process ").and_then(leading_int) {
            if text.ends_with(" attached") && pid.is_none() {
                pid = Some(own);
            }
            continue;
        }
        if let Some((time_pct, calls, errors, name)) = summary_row(text) {
            if name != "total" {
                sink.line(
                    line,
                    Syscall {
                        pid,
                        name: name.to_owned(),
                        text: text.trim().to_owned(),
                        count: calls,
                        errors: errors.or(Some(0)),
                        time_pct: Some(time_pct),
                        ..Syscall::default()
                    },
                );
            }
            continue;
        }
        let Some(call) = call(text) else { continue };
        let thread = call.pid.or(pid);
        last.insert(thread, (line, call.name, call.pending));
        if let Some(error) = call.error.filter(|error| !error.starts_with("ERESTART")) {
            match failed.iter_mut().find(|(_, own, name, before, _)| {
                *own == thread && *name == call.name && *before == error
            }) {
                Some((.., times)) => *times += 1,
                None => failed.push((line, thread, call.name, error, 1)),
            }
        }
    }
    for (line, pid, name, error, times) in failed.into_iter().take(50) {
        sink.line(
            line,
            Syscall {
                pid,
                name: name.to_owned(),
                text: crate::text::cut(line.text.trim(), 2_000).to_owned(),
                error: Some(error.to_owned()),
                count: times,
                errors: Some(times),
                ..Syscall::default()
            },
        );
    }
    for (pid, (line, name, pending)) in last.into_iter().take(200) {
        sink.line(
            line,
            Syscall {
                pid,
                name: name.to_owned(),
                text: crate::text::cut(line.text.trim(), 2_000).to_owned(),
                pending,
                count: 1,
                ..Syscall::default()
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_its_result_is_pending() {
        let of = |text| call(text).map(|call| (call.pid, call.name, call.error, call.pending));
        assert_eq!(
            of("futex(0x7f8d, FUTEX_WAIT_PRIVATE, 2, NULL"),
            Some((None, "futex", None, true))
        );
        assert_eq!(
            of("[pid  4712] read(3, \"a = b\", 10) = 10"),
            Some((Some(4712), "read", None, false))
        );
        assert_eq!(
            of(
                "12:01:02.123 connect(3, {sa_family=AF_INET}, 16) = -1 ECONNREFUSED (Connection refused) <0.000012>"
            ),
            Some((None, "connect", Some("ECONNREFUSED"), false))
        );
        assert_eq!(
            of("[pid 9] <... futex resumed>)             = 0"),
            Some((Some(9), "futex", None, false))
        );
        assert_eq!(
            of("poll([{fd=3, events=POLLIN}], 1, -1 <unfinished ...>"),
            Some((None, "poll", None, true))
        );
        assert_eq!(of("strace: Process 12 detached"), None);
        assert_eq!(of("+++ exited with 0 +++"), None);
    }
}
