//! Counts: `wc` on files, and any pipeline that ends in `wc` or `grep -c`.

use super::filter::{Counted, Filter};
use super::words::{Args, int, resolved};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, processes};
use crate::fact::{Count, File};
use crate::shell::{Invocation, Tri};

/// What a counted pipeline prints: one number.
pub(super) fn grammar(filter: &Filter) -> Grammar<'_> {
    let three = filter
        .counted
        .as_ref()
        .is_some_and(|counted| counted.tool == "wc -l");
    Grammar::exactly(1, move |line, _| {
        // BSD's wc pads to eight places, GNU's not at all.
        let padded = line.starts_with(' ') && line.len() != 8;
        if int(line).is_some_and(|number| number >= 0) && !padded {
            Fit::Surely
        } else if three
            && line.split_whitespace().count() == 3
            && line.split_whitespace().all(|one| int(one).is_some())
        {
            Fit::Likely
        } else {
            Fit::No
        }
    })
}

/// Reads the number of a counted pipeline.
pub(super) fn read_counted(lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let Some(counted) = &ctx.filter.counted else {
        return;
    };
    for line in lines {
        let Some(number) = line.text.split_whitespace().next().and_then(int) else {
            continue;
        };
        let patterns = ctx.filter.patterns.iter().chain(&counted.pattern);
        let pattern = counted
            .pattern
            .as_ref()
            .or(ctx.filter.wanted())
            .map(|pattern| pattern.expression.clone());
        let self_matches = processes::own_in_count(ctx, patterns).min(number);
        sink.line(
            line,
            Count {
                tool: counted.tool.clone(),
                of: subject(ctx),
                pattern,
                unit: unit(counted).to_owned(),
                count: number,
                self_matches,
            },
        );
        processes::counted_look(line, number, self_matches, counted, ctx, sink);
    }
}

fn unit(counted: &Counted) -> &'static str {
    counted.unit
}

/// What is counted: the file that the first stage reads, else its program.
fn subject(ctx: &Ctx<'_>) -> String {
    let invocation = ctx.invocation;
    match invocation.program() {
        "cat" | "tail" | "head" | "zcat" | "sed" | "awk" | "grep" | "egrep" | "tac" | "jq" => {
            let args = Args::of(invocation, "n c lines bytes e f F v m A B C");
            let path = match invocation.program() {
                "grep" | "egrep" | "sed" | "awk" | "jq" => args.texts().nth(1),
                _ => args.first(),
            };
            path.map_or_else(
                || invocation.program().to_owned(),
                |path| resolved(invocation, path),
            )
        }
        _ => invocation.line(),
    }
}

/// `wc`: counts of files or of what is fed in.
///
/// Source: coreutils' `wc`; `tests/fixtures/probes/wc`.
pub(super) struct Wc;

impl Wc {
    /// The units printed, in wc's order.
    fn units(invocation: &Invocation) -> Vec<&'static str> {
        let args = Args::of(invocation, "files0-from total");
        let mut units = Vec::new();
        for (names, unit) in [
            (["l", "lines"], "lines"),
            (["w", "words"], "words"),
            (["m", "chars"], "chars"),
            (["c", "bytes"], "bytes"),
            (["L", "max-line-length"], "longest"),
        ] {
            if args.has(&names) {
                units.push(unit);
            }
        }
        if units.is_empty() {
            units.extend(["lines", "words", "bytes"]);
        }
        units
    }

    /// The file on standard input.
    fn fed(invocation: &Invocation) -> Option<&str> {
        invocation
            .redirects
            .iter()
            .rev()
            .find_map(|redirect| match &redirect.to {
                crate::shell::RedirectTo::Read { path } if redirect.fd == 0 => {
                    Some(path.text.as_str())
                }
                _ => None,
            })
    }
}

impl Probe for Wc {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "wc"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let units = Self::units(ctx.invocation).len();
        let args = Args::of(ctx.invocation, "files0-from total");
        let files: Vec<&str> = args.texts().collect();
        let literal = args.operands.iter().all(|word| word.literal);
        let lines = if literal && !files.iter().any(|file| file.contains(['*', '?'])) {
            files.len() + usize::from(files.len() > 1)
        } else {
            0
        };
        let fit = move |line: &str, _: usize| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let numbers = words
                .iter()
                .take(units)
                .filter_map(|word| int(word))
                .count();
            if numbers < units {
                return Fit::No;
            }
            match words.get(units..) {
                Some([]) => (if files.is_empty() {
                    Fit::Surely
                } else {
                    Fit::No
                })
                .max(Fit::No),
                Some(rest) if files.is_empty() || rest.is_empty() => Fit::No,
                Some(rest) => {
                    let name = rest.join(" ");
                    if files
                        .iter()
                        .any(|file| super::words::glob_matches(file, &name))
                        || name == "total"
                    {
                        Fit::Surely
                    } else {
                        Fit::Perhaps
                    }
                }
                None => Fit::No,
            }
        };
        if args.operands.is_empty() {
            Grammar::exactly(1, fit)
        } else if lines > 0 {
            Grammar::exactly(lines, fit)
        } else {
            Grammar::at_least(1, fit)
        }
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let units = Self::units(ctx.invocation);
        for line in lines {
            if super::files::missing(line, ctx, sink) {
                continue;
            }
            let words: Vec<&str> = line.text.split_whitespace().collect();
            let numbers: Vec<i64> = words
                .iter()
                .take(units.len())
                .filter_map(|word| int(word))
                .collect();
            if numbers.len() < units.len() {
                sink.complain(line, "not a line of wc");
                continue;
            }
            let name = super::words::after_fields(&line.text, units.len()).trim();
            let name = if name.is_empty() {
                Self::fed(ctx.invocation).unwrap_or("")
            } else {
                name
            };
            if name == "total" && lines.len() > 1 {
                continue;
            }
            let path = resolved(ctx.invocation, name);
            let number = |unit: &str| {
                units
                    .iter()
                    .position(|one| *one == unit)
                    .and_then(|at| numbers.get(at))
                    .copied()
            };
            if !path.is_empty() {
                sink.line(
                    line,
                    File {
                        path: path.clone(),
                        exists: Tri::Yes,
                        lines: number("lines"),
                        size_bytes: number("bytes"),
                        ..File::default()
                    },
                );
            }
            for (unit, letter) in [("lines", "l"), ("words", "w"), ("bytes", "c")] {
                if let Some(count) = number(unit) {
                    sink.line(
                        line,
                        Count {
                            tool: format!("wc -{letter}"),
                            of: path.clone(),
                            pattern: None,
                            unit: unit.to_owned(),
                            count,
                            self_matches: 0,
                        },
                    );
                }
            }
        }
    }
}
