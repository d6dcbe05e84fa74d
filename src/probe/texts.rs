//! Logs and other texts, shown by `tail`, `cat`, `grep`, `journalctl`, `docker logs`; and the output
//! of programs that no other probe reads. What such texts say is read by [`super::log`]; here they
//! take their place among the other probes.

use super::log::{self, LogProbe, Output, Part, What};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, counts, files, line};
use crate::event::Stream;
use crate::shell::Invocation;
use crate::text::TextLine;

/// A look into a log, or a search in it.
pub(super) struct Texts;

impl Probe for Texts {
    fn recognises(&self, invocation: &Invocation) -> bool {
        log::recognise(invocation, &[]).is_some()
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let Some(probe) = log::recognise(ctx.invocation, &[]) else {
            return Grammar::any(|_, _| Fit::Perhaps);
        };
        let most = probe.most_lines();
        let counts = counts_one(&probe);
        let numbered = numbers_lines(ctx.invocation);
        let usual = match &probe.what {
            What::Look(Part::End(_) | Part::Start(_)) => most.unwrap_or(0),
            _ => 0,
        };
        // With lines around the matches it prints what any look prints.
        let kernel = ctx.invocation.program() == "dmesg";
        let journal = ctx.invocation.program() == "journalctl";
        // Without times, or in a form of its own choice, any text may stand there.
        let bare = ctx.invocation.args().iter().any(|word| {
            [
                "-t", "-o", "--output", "--notime", "-J", "--json", "-x", "-r", "--raw",
            ]
            .iter()
            .any(|option| word.text.starts_with(option))
                && !word.text.starts_with("--time")
                && !word.text.starts_with("--reverse")
        }) || !ctx.filter.keeps_lines();
        let units: Vec<&str> =
            super::words::Args::of(ctx.invocation, "u unit t identifier n lines o")
                .values(&["u", "unit", "t", "identifier"])
                .map(|unit| unit.trim_end_matches(".service"))
                .collect();
        let ends = matches!(ctx.invocation.program(), "head" | "tail");
        let named: Vec<&str> = super::words::Args::of(ctx.invocation, "n lines c bytes")
            .texts()
            .collect();
        let searches = matches!(&probe.what, What::Search(search) if !search.context);
        // What does not hold a word may be anybody's.
        let inverted = matches!(&probe.what, What::Search(search) if search.invert);
        // Nor does a word of trouble tell a search for it from the end of a log.
        let common = matches!(&probe.what, What::Search(search)
            if ["error", "Error", "ERROR", "fail", "warn"].iter().any(|word| search.finds(word)));
        let fit = move |line: &str, _: usize| {
            if counts {
                let number = line.trim().parse::<u64>().is_ok();
                return if number { Fit::Surely } else { Fit::No };
            }
            if numbered {
                let number = line
                    .split([':', '-'])
                    .next()
                    .is_some_and(|one| one.parse::<u64>().is_ok());
                if !number {
                    return Fit::No;
                }
            }
            if let Some(name) = line
                .strip_prefix("==> ")
                .and_then(|rest| rest.strip_suffix(" <=="))
                && ends
                && named
                    .iter()
                    .any(|path| super::words::glob_matches(path, name))
            {
                return Fit::Surely;
            }
            match (
                probe.fits(line),
                searches && !inverted && (numbered || !common),
            ) {
                (true, true) => Fit::Likely, // with its number in front, or of a word of its own
                (true, false) if journal && line::read_head(line).is_journal() => {
                    // Another program's line may be of the unit, or of a log beside it.
                    let by = line::read_head(line).worker.unwrap_or_default();
                    let name = by.split('[').next().unwrap_or_default();
                    let own = units.is_empty()
                        || matches!(name, "systemd" | "kernel" | "audit" | "sudo")
                        || units
                            .iter()
                            .any(|unit| unit.contains(name) || name.contains(unit));
                    if own { Fit::Likely } else { Fit::Perhaps }
                }
                (true, false) if journal && !bare => {
                    if line.starts_with(['-', ' ', '\t'])
                        || line.starts_with("Hint: ")
                        || line.starts_with("No journal files were")
                    {
                        Fit::Perhaps
                    } else {
                        Fit::Hardly
                    }
                }
                (true, false) if kernel && is_kernel(line) => Fit::Likely,
                (true, false) if kernel && !bare => Fit::Hardly,
                (true, false) => Fit::Perhaps,
                (false, _) => Fit::No,
            }
        };
        Grammar {
            min: usize::from(counts),
            max: most,
            usual,
            fit: Box::new(fit),
        }
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let mut refused = false;
        for line in lines {
            refused |= files::missing(line, ctx, sink);
        }
        if counts_with_wc(ctx) {
            counts::read_counted(lines, ctx, sink);
            return;
        }
        if let Some(probe) = log::recognise(ctx.invocation, ctx.later) {
            read_as(&probe, lines, refused, ctx, sink);
        }
    }

    fn complains(&self, line: &str, ctx: &Ctx<'_>) -> Fit {
        if matches!(ctx.invocation.program(), "kubectl" | "oc" | "k") {
            return super::kube::complains(line);
        }
        let known = [
            "No journal files were",
            "Hint: ",
            "      Users in groups ",
            "      Pass -q to turn off ",
            "No journal boot entry",
        ];
        let own = ctx.invocation.program() == "journalctl"
            && known.iter().any(|start| line.starts_with(start));
        own.into()
    }

    fn counts_itself(&self) -> bool {
        true
    }
}

/// A line of `dmesg`: `[12345.678901] …`, `[Tue Mar  4 09:01:12 2025] …`, `2025-03-04T09:01:12,…`,
/// `kern  :err   : […] …`.
fn is_kernel(line: &str) -> bool {
    let bracket = |text: &str| {
        let Some((time, _)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
            return false;
        };
        let seconds = !time.is_empty()
            && time.contains('.')
            && time
                .chars()
                .all(|c| c.is_ascii_digit() || matches!(c, ' ' | '.'));
        let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
        seconds || days.iter().any(|day| time.starts_with(day))
    };
    let dated = line.starts_with(|c: char| c.is_ascii_digit())
        && line.as_bytes().get(10) == Some(&b'T')
        && line.as_bytes().get(4) == Some(&b'-');
    let facility = || {
        line.split_once(':').is_some_and(|(name, rest)| {
            matches!(name.trim(), "kern" | "user" | "daemon" | "syslog" | "auth")
                && rest.split_once(": ").is_some_and(|(_, rest)| bracket(rest))
        })
    };
    bracket(line) || dated || facility()
}

/// `grep -c` on one file.
fn counts_one(probe: &LogProbe) -> bool {
    matches!(&probe.what, What::Search(search) if search.counts) && probe.most_lines() == Some(1)
}

/// `grep -n` on one file: every line begins with its number.
fn numbers_lines(invocation: &Invocation) -> bool {
    let args = super::words::Args::of(
        invocation,
        "e regexp f file m max-count A B C after-context before-context context color",
    );
    let files = args.operands.len()
        - usize::from(!args.has(&["e", "f", "regexp", "file"]) && !args.operands.is_empty());
    matches!(invocation.program(), "grep" | "egrep" | "fgrep")
        && args.has(&["n", "line-number"])
        && !args.has(&["r", "R", "H", "recursive", "c", "count", "l", "o"])
        && files == 1
}

/// The count of a pipeline that ends in `wc` is no search.
fn counts_with_wc(ctx: &Ctx<'_>) -> bool {
    ctx.filter
        .counted
        .as_ref()
        .is_some_and(|counted| counted.tool.starts_with("wc"))
}

fn read_as(probe: &LogProbe, lines: &[Shown], refused: bool, ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let shown: Vec<&TextLine> = lines
        .iter()
        .filter(|line| line.stream != Stream::Stderr)
        .map(|line| &line.line)
        .collect();
    let stream = lines
        .iter()
        .map(|line| line.stream)
        .find(|stream| *stream != Stream::Stderr);
    let stream = stream.unwrap_or(sink.stream());
    let searches = matches!(&probe.what, What::Search(_));
    let failed = match ctx.exit {
        Some(code) if searches => code > 1,
        Some(code) => code != 0 && shown.is_empty(),
        None => false,
    };
    let output = Output {
        lines: &shown,
        stream: stream.name(),
        ran: ctx.ran,
        failed: failed || refused && shown.is_empty(),
        year: None,
    };
    for seen in log::read(probe, &output) {
        sink.seen(stream, seen);
    }
}

/// Any other program.
pub(super) struct Plain;

impl Probe for Plain {
    fn recognises(&self, _invocation: &Invocation) -> bool {
        true
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        super::plain::shape(ctx.invocation).unwrap_or_else(|| Grammar::any(|_, _| Fit::Perhaps))
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        as_plain(lines, ctx, sink);
    }

    fn complains(&self, _line: &str, ctx: &Ctx<'_>) -> Fit {
        if super::plan::is_quiet(ctx.invocation) {
            Fit::No
        } else {
            Fit::Perhaps
        }
    }

    fn counts_itself(&self) -> bool {
        true
    }
}

/// Reads the output of a program that nobody knows, or of a form that its own probe does not know.
pub(super) fn as_plain(lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    for line in lines {
        files::missing(line, ctx, sink);
    }
    if counts_with_wc(ctx) {
        counts::read_counted(lines, ctx, sink);
    } else if let Some(probe) = log::recognise_pipe(ctx.invocation, ctx.later) {
        read_as(&probe, lines, false, ctx, sink);
    } else {
        for stream in [Stream::Stdout, Stream::Tty] {
            content(stream, lines, ctx.invocation.program(), sink);
        }
    }
}

/// What lines of a program's own output say: those of one stream among these.
pub(super) fn content(stream: Stream, lines: &[Shown], program: &str, sink: &mut Sink<'_>) {
    let shown: Vec<&TextLine> = lines
        .iter()
        .filter(|line| line.stream == stream)
        .map(|line| &line.line)
        .collect();
    if shown.is_empty() {
        return;
    }
    let context = line::Context {
        path: "",
        source: stream.name(),
        program,
        year: None,
    };
    for seen in log::read_content(&shown, &context) {
        sink.seen(stream, seen);
    }
}
