//! Stacks of threads: `py-spy dump`, gdb's `bt`, `pstack`, `strace` (its last call).
//!
//! Sources: py-spy 0.3 to 0.4, gdb 10 to 15, strace 5 to 6; `tests/fixtures/probes/py-spy`.

use super::words::{Args, int, leading_int};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::fact::{Process, Stack};
use crate::shell::Invocation;

/// A stack being read.
struct Open {
    pid: Option<i64>,
    thread: Option<String>,
    state: Option<String>,
    from: usize,
    frames: Vec<String>,
}

impl Open {
    fn emit(self, lines: &[Shown], to: usize, sink: &mut Sink<'_>) {
        let Some(top) = self.frames.first().cloned() else {
            return;
        };
        sink.lines(
            lines.get(self.from..to).unwrap_or(&[]),
            Stack {
                pid: self.pid,
                thread: self.thread,
                state: self.state,
                top,
                frames: self.frames.join(" < "),
            },
        );
    }
}

/// `py-spy dump`.
pub(super) struct PySpy;

impl Probe for PySpy {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "py-spy"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let args = Args::of(ctx.invocation, "p pid r rate d duration o output f format");
        let asked = args.value(&["p", "pid"]).and_then(int);
        let many = args.has(&["s", "subprocesses"]);
        let values = args.has(&["l", "locals"]);
        Grammar::any(move |line, nth| {
            if let Some((pid, _)) = line
                .strip_prefix("Process ")
                .and_then(|rest| rest.split_once(": "))
            {
                let first = nth == 0 || ctx.filter.may_lose_start();
                let own = many || first && asked.is_none_or(|asked| int(pid) == Some(asked));
                return own.into();
            }
            if ["Python v", "Collecting samples", "Error: "]
                .iter()
                .any(|start| line.starts_with(start))
                || is_thread(line)
                || is_frame(line)
            {
                Fit::Surely
            } else if line.is_empty() || values && line.starts_with("        ") {
                Fit::Perhaps
            } else {
                Fit::No
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let asked = Args::of(ctx.invocation, "p pid r rate d duration o output f format")
            .value(&["p", "pid"])
            .and_then(int);
        let mut pid = asked;
        let mut open: Option<Open> = None;
        for (at, line) in lines.iter().enumerate() {
            let text = line.text.as_str();
            if let Some(rest) = text.strip_prefix("Process ")
                && let Some((own, args)) = rest.split_once(": ")
                && let Some(own) = int(own)
            {
                pid = Some(own);
                sink.line(
                    line,
                    Process {
                        pid: own,
                        args: Some(args.to_owned()),
                        ..Process::default()
                    },
                );
            } else if let Some(rest) = text.trim_start().strip_prefix("Thread ") {
                if let Some(open) = open.take() {
                    open.emit(lines, at, sink);
                }
                let state = rest
                    .split_once('(')
                    .and_then(|(_, rest)| rest.split_once(')'))
                    .map(|(state, _)| state);
                let name = rest
                    .split_once(": \"")
                    .map(|(_, name)| name.trim_end_matches('"').to_owned());
                open = Some(Open {
                    pid,
                    thread: name.or_else(|| {
                        rest.split_whitespace()
                            .next()
                            .map(|id| id.trim_end_matches(':').to_owned())
                    }),
                    state: state.map(|state| state.split('+').next().unwrap_or(state).to_owned()),
                    from: at,
                    frames: Vec::new(),
                });
            } else if text.starts_with("    ")
                && !text.trim_start().starts_with("Arguments:")
                && !text.trim_start().starts_with("Locals:")
            {
                let deeper = text.starts_with("        ");
                if let Some(open) = &mut open
                    && !deeper
                {
                    open.frames.push(text.trim().to_owned());
                }
            }
        }
        if let Some(open) = open {
            open.emit(lines, lines.len(), sink);
        }
    }

    fn complains(&self, line: &str, _ctx: &Ctx<'_>) -> Fit {
        let known = [
            "Error: ",
            "Caused by",
            "Reason: ",
            "Permission Denied",
            "This process failed",
            "You need",
        ];
        known.iter().any(|start| line.starts_with(start)).into()
    }
}

/// `Thread 684 (active): "MainThread"`
fn is_thread(line: &str) -> bool {
    line.strip_prefix("Thread ")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '0'))
}

/// `    forward (torch/nn/modules/module.py:1511)`
fn is_frame(line: &str) -> bool {
    line.starts_with("    ")
        && line.ends_with(')')
        && line.rsplit_once(" (").is_some_and(|(name, place)| {
            let place = place.trim_end_matches(')');
            !name.trim().starts_with("at ")
                && (place
                    .rsplit_once(':')
                    .is_some_and(|(_, line)| int(line).is_some())
                    || place.contains(".so")
                    || place.contains(".py"))
        })
        || line.starts_with("    Arguments:")
        || line.starts_with("    Locals:")
}

/// gdb in batch mode, `pstack`, `gstack`, `eu-stack`.
pub(super) struct Gdb;

impl Probe for Gdb {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(
            invocation.program(),
            "gdb" | "pstack" | "gstack" | "eu-stack" | "cuda-gdb"
        )
    }

    fn grammar<'a>(&self, _ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|line, _| {
            if line.starts_with('#') && leading_int(line.trim_start_matches('#')).is_some()
                || line.starts_with("Thread ")
                || line.starts_with("[New Thread")
            {
                Fit::Surely
            } else if line.starts_with(['[', '0', ' ', '\t'])
                || [
                    "warning:",
                    "Using host",
                    "Attaching",
                    "Reading",
                    "Inferior",
                    "Detaching",
                ]
                .iter()
                .any(|start| line.starts_with(start))
            {
                Fit::Perhaps
            } else {
                Fit::Hardly
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let args = Args::of(ctx.invocation, "p pid ex x");
        let asked = args
            .value(&["p", "pid"])
            .and_then(int)
            .or_else(|| args.texts().find_map(int));
        let mut thread = None;
        let mut open: Option<Open> = None;
        for (at, line) in lines.iter().enumerate() {
            let text = line.text.trim_end();
            if let Some(rest) = text.strip_prefix("Thread ") {
                if let Some(open) = open.take() {
                    open.emit(lines, at, sink);
                }
                thread = rest
                    .split('"')
                    .nth(1)
                    .map(str::to_owned)
                    .or_else(|| rest.split_whitespace().next().map(str::to_owned));
                continue;
            }
            let Some((number, rest)) = text.strip_prefix('#').and_then(leading_int) else {
                continue;
            };
            if number == 0 || open.is_none() {
                if let Some(open) = open.take() {
                    open.emit(lines, at, sink);
                }
                open = Some(Open {
                    pid: asked,
                    thread: thread.clone(),
                    state: None,
                    from: at,
                    frames: Vec::new(),
                });
            }
            if let Some(open) = &mut open {
                open.frames.push(frame(rest).to_owned());
            }
        }
        if let Some(open) = open {
            open.emit(lines, lines.len(), sink);
        }
    }
}

/// `  0x00007f in __cxa_throw () from /lib/…` as `__cxa_throw`.
fn frame(text: &str) -> &str {
    let text = text.trim();
    let text = text
        .split_once(" in ")
        .filter(|(address, _)| address.starts_with("0x"))
        .map_or(text, |(_, rest)| rest);
    text.split(" (").next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_its_function() {
        assert_eq!(
            frame("  0x00007ffff7e460d8 in __cxa_throw () from /lib/x"),
            "__cxa_throw"
        );
        assert_eq!(frame("  main (n=2) at r.cc:5"), "main");
    }
}
