//! `top -b`, of procps and busybox, with whatever columns.
//!
//! Sources: procps-ng 3.3 to 4.0, busybox 1.36; `tests/fixtures/probes/top`.

use super::words::{Args, after_fields, clock_seconds, count, int, number, size_bytes, whole};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, load};
use crate::fact::{Clock, Memory, Process, ProcessLook};
use crate::shell::Invocation;

/// `top -b`.
pub(super) struct Top;

/// The head of the table: `PID USER PR NI …`, `PID PPID USER STAT VSZ …` of busybox.
fn is_top_head(words: &[&str]) -> bool {
    words.first() == Some(&"PID")
        && words
            .iter()
            .any(|word| matches!(*word, "%CPU" | "TIME+" | "%VSZ" | "PR" | "S"))
}

/// `0:29.33`, `31:02.11`, as the column TIME+ has it.
fn is_cpu_time(word: &str) -> bool {
    word.split_once(':').is_some_and(|(minutes, seconds)| {
        minutes.chars().all(|c| c.is_ascii_digit())
            && seconds.len() == 5
            && seconds.as_bytes().get(2) == Some(&b'.')
            && seconds.chars().all(|c| c.is_ascii_digit() || c == '.')
    })
}

impl Probe for Top {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "top"
    }

    fn grammar<'a>(&self, _ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|line, _| {
            let head = [
                "top - ", "Tasks:", "Threads:", "%Cpu", "MiB ", "KiB ", "GiB ", "Cpu(s)", "Mem:",
                "Swap:",
            ];
            let words: Vec<&str> = line.split_whitespace().collect();
            if head.iter().any(|start| line.starts_with(start)) || is_top_head(&words) {
                Fit::Surely
            } else if line.trim().is_empty() {
                Fit::Perhaps
            } else if words.first().is_none_or(|pid| int(pid).is_none()) || words.len() < 7 {
                Fit::No
            } else if words.iter().take(12).any(|word| is_cpu_time(word))
                || words.iter().take(9).any(|word| word.ends_with('%'))
            {
                Fit::Surely
            } else if words.len() >= 12 {
                Fit::Perhaps
            } else {
                Fit::No
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let mut round: Vec<(&Shown, Process)> = Vec::new();
        let mut started = false;
        let mut names: Vec<&str> = Vec::new();
        // `MiB Swap: … 22367.5 avail Mem` stands below the memory in use.
        let available = lines.iter().find_map(|line| {
            let (before, _) = line.text.split_once(" avail Mem")?;
            let unit = Self::unit(line.text.split_whitespace().next()?)?;
            number(before.split_whitespace().last()?).map(|value| value * unit)
        });
        for line in lines {
            let text = line.text.as_str();
            if text.starts_with("top - ") {
                if started {
                    Self::look(std::mem::take(&mut round), ctx, sink);
                }
                started = true;
                if let Some(time_us) = text
                    .split_whitespace()
                    .nth(2)
                    .and_then(super::machine::time_of_day)
                {
                    sink.line(
                        line,
                        Clock {
                            time_us,
                            day_unknown: true,
                        },
                    );
                }
                if let Some(load) = load::of_line(text) {
                    sink.line(line, load);
                }
            } else if let Some(load) = load::of_line(text) {
                sink.line(line, load);
            } else if let Some(cpu) = load::top_cpu(text) {
                sink.line(line, cpu);
            } else if let Some((unit, rest)) = text.split_once(" Mem") {
                if let Some(mut memory) = Self::memory(unit, rest) {
                    memory.available_mib = available;
                    sink.line(line, memory);
                }
            } else if text.trim_start().starts_with("PID ") {
                names = text.split_whitespace().collect();
            } else if let Some(process) = Self::row(text, &names) {
                started = true;
                round.push((line, process));
            }
        }
        if started {
            Self::look(round, ctx, sink);
        }
    }

    fn is_chatter(&self, line: &str) -> bool {
        ["Tasks:", "Threads:", "%Cpu", "MiB ", "KiB ", "GiB "]
            .iter()
            .any(|start| line.starts_with(start))
    }
}

impl Top {
    /// A unit of top's, in MiB.
    fn unit(name: &str) -> Option<f64> {
        Some(match name {
            "KiB" => 1.0 / 1024.0,
            "MiB" => 1.0,
            "GiB" => 1024.0,
            _ => return None,
        })
    }

    fn memory(unit: &str, rest: &str) -> Option<Memory> {
        let factor = Self::unit(unit.trim())?;
        let of = |name: &str| {
            rest.split([',', ':']).find_map(|part| {
                part.trim()
                    .strip_suffix(name)
                    .and_then(|value| number(value.trim()))
                    .map(|value| value * factor)
            })
        };
        Some(Memory {
            total_mib: of("total")?,
            used_mib: of("used"),
            available_mib: None,
            swap_used_mib: None,
        })
    }

    /// `PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND`
    ///
    /// Another order of columns (busybox, a person's own) is read by the head.
    fn row(text: &str, names: &[&str]) -> Option<Process> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let pid = int(words.first()?)?;
        let usual = names.is_empty() || names.get(7) == Some(&"S") && names.len() == 12;
        if !usual {
            return Self::row_by_head(text, names);
        }
        if words.len() < 12 {
            return None;
        }
        Some(Process {
            pid,
            user: words.get(1).map(|user| (*user).to_owned()),
            rss_kib: words
                .get(5)
                .and_then(|size| size_bytes(size, 1024.0))
                .and_then(|bytes| whole(bytes / 1024.0)),
            state: words.get(7).map(|state| (*state).to_owned()),
            cpu_pct: words.get(8).and_then(|pct| number(pct)),
            cpu_time_s: words.get(10).and_then(|time| clock_seconds(time)),
            comm: Some(after_fields(text, 11).trim_end().to_owned()),
            ..Process::default()
        })
    }

    fn row_by_head(text: &str, names: &[&str]) -> Option<Process> {
        let names: Vec<&str> = names
            .iter()
            .map(|name| match *name {
                "COMMAND" | "CMD" => "args",
                other => other,
            })
            .collect();
        let row = super::columns::split(text, &names)?;
        Some(Process {
            pid: row.get(&["PID"]).and_then(int)?,
            ppid: row.get(&["PPID"]).and_then(int),
            user: row.get(&["USER", "UID"]).map(str::to_owned),
            state: row
                .get(&["S", "STAT"])
                .and_then(|state| state.get(..1))
                .map(str::to_owned),
            rss_kib: row
                .get(&["RES", "RSS"])
                .and_then(|size| size_bytes(size, 1024.0))
                .and_then(|bytes| whole(bytes / 1024.0)),
            cpu_pct: row.get(&["%CPU"]).and_then(number),
            cpu_time_s: row.get(&["TIME+", "TIME"]).and_then(clock_seconds),
            wchan: row
                .get(&["WCHAN"])
                .filter(|wchan| *wchan != "-")
                .map(str::to_owned),
            threads: row.get(&["nTH"]).and_then(int),
            comm: row.get(&["args"]).map(|args| args.trim_end().to_owned()),
            ..Process::default()
        })
    }

    fn look(round: Vec<(&Shown, Process)>, ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let args = Args::of(ctx.invocation, "p n d u U w o s E e");
        let asked: Vec<i64> = args
            .values(&["p"])
            .flat_map(|list| list.split(','))
            .filter_map(int)
            .collect();
        let pattern = ctx
            .filter
            .wanted()
            .map(|pattern| pattern.expression.clone());
        let shown = round.len();
        let lines: Vec<Shown> = round.iter().map(|(line, _)| (*line).clone()).collect();
        sink.lines(
            &lines,
            ProcessLook {
                tool: "top".to_owned(),
                everything: asked.is_empty()
                    && ctx.filter.patterns.is_empty()
                    && !args.has(&["u", "U"])
                    && args.has(&["b"]),
                full: args.has(&["c"]),
                cut: ctx.filter.head.is_some()
                    || ctx.filter.tail.is_some()
                    || ctx.filter.cut(shown),
                pattern,
                asked_pids: asked,
                count: count(shown),
                self_matches: 0,
                pids: round.iter().map(|(_, process)| process.pid).collect(),
            },
        );
        for (line, process) in round {
            sink.line(line, process);
        }
    }
}
