//! Looks into logs and other texts: `tail`, `cat`, `grep`, `journalctl`, `docker logs` and the like.
//!
//! Pure. [`recognise()`] says whether an invocation is such a look, and at what; [`read`] takes the
//! lines that were found to be its output and gives a [`LogLook`], what the log says (lines, bars,
//! stages, tracebacks), or a [`crate::fact::Search`] and its matches. [`read_content`] reads any
//! output in the same way. A script, a configuration or a JSON document that was shown is no log: no
//! trouble is read out of it.

mod args;
mod content;
mod recognise;
mod search;

pub use search::Search;

use super::line::{Context, Seen};
use super::marks::{self, Marked};
use super::{kernel, line, notrun, progress, resolver, script, stage, traceback};
use crate::fact::{self, Count, Fact, LogLook};
use crate::shell::{Invocation, Tri};
use crate::text::{self, TextLine};
use content::{Content, is_tool_message};

/// Lines of a very long output that are read for tracebacks, bars and stages: from its start.
const START_READ: usize = 5_000;
/// And from its end, which says how it stands.
const END_READ: usize = 20_000;

/// A look into a log.
#[derive(Debug, Clone)]
pub struct LogProbe {
    /// The tool.
    pub tool: String,
    /// The files (with the working directory applied), or the unit, container or pod. Empty for a
    /// search in a program's output.
    pub paths: Vec<String>,
    /// The program whose output is searched.
    pub of: String,
    /// What it does.
    pub what: What,
    /// What later stages of its pipeline do.
    pub(crate) after: Vec<Step>,
    /// One file is looked at.
    single: bool,
}

/// What a look does.
#[derive(Debug, Clone)]
pub enum What {
    /// It shows a part of the log.
    Look(Part),
    /// It searches.
    Search(Search),
}

/// Which part of a log is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// Its last lines; how many, where that is known.
    End(Option<usize>),
    /// Its first lines; how many, where that is known.
    Start(Option<usize>),
    /// Some of it.
    Some,
}

impl Part {
    /// Some of it, and its end.
    fn ending(self) -> Self {
        if self == Self::Some {
            Self::End(None)
        } else {
            self
        }
    }
}

/// What a later stage of a pipeline does.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Keeps the first lines.
    Head(Option<usize>),
    /// Keeps the last lines.
    Tail(Option<usize>),
    /// Keeps the lines that match.
    Search(Box<Search>),
    /// Keeps some lines.
    Some,
    /// Changes nothing that matters.
    Clear,
    /// Shows something else made of the lines.
    Reshape,
    /// Puts them in another order.
    Sort,
    /// Puts before each how often it came (`uniq -c`).
    Tally,
    /// Counts them.
    Count,
}

/// The output of a look.
#[derive(Debug, Clone, Copy, Default)]
pub struct Output<'a> {
    /// Its lines, in order.
    pub lines: &'a [&'a TextLine],
    /// `stdout` or `tty`: where they were seen.
    pub stream: &'a str,
    /// Whether it is known to have run. Of one that may not have, silence says nothing.
    pub ran: Tri,
    /// It could not look (no such file, no permission), as other lines or its exit code say. That a
    /// search found nothing (grep's 1) is not meant.
    pub failed: bool,
    /// The year of times that print none, where it is known from elsewhere.
    pub year: Option<i64>,
}

impl LogProbe {
    fn new(tool: &str, paths: Vec<String>, what: What) -> Self {
        Self {
            tool: tool.to_owned(),
            single: paths.len() == 1 && !paths.iter().any(|path| path.contains(['*', '?'])),
            paths,
            of: String::new(),
            what,
            after: Vec::new(),
        }
    }

    /// The log it looks at (the first of several).
    pub fn path(&self) -> &str {
        self.paths.first().map_or("", String::as_str)
    }

    /// It prints at most so many lines.
    pub fn most_lines(&self) -> Option<usize> {
        let own = match &self.what {
            What::Look(Part::End(lines) | Part::Start(lines)) => {
                // `tail a b` puts a name and a blank line before each.
                lines.map(|lines| {
                    if self.single {
                        lines
                    } else {
                        (lines + 2) * self.paths.len()
                    }
                })
            }
            What::Look(_) => None,
            What::Search(search) if search.quiet => Some(0),
            What::Search(search) if search.counts => self.single.then_some(1),
            What::Search(search) if !search.context => search.most,
            What::Search(_) => None,
        };
        let later = self.after.iter().filter_map(|step| match step {
            Step::Head(lines) | Step::Tail(lines) => *lines,
            Step::Search(search) if search.quiet => Some(0),
            Step::Search(search) if search.counts => Some(1),
            Step::Search(search) if !search.context => search.most,
            Step::Count => Some(1),
            _ => None,
        });
        own.into_iter().chain(later).min()
    }

    /// Whether a line can be of its output.
    pub fn fits(&self, line: &str) -> bool {
        let counted = |line: &str| {
            line.rsplit(':')
                .next()
                .is_some_and(|tail| tail.trim().parse::<u64>().is_ok())
        };
        let passes = |search: &Search, line: &str| {
            if search.quiet {
                return search.files.iter().any(|file| file == line) || search.named.is_none();
            }
            let found = search.strip(self.untallied(line));
            search.context
                || search
                    .regex
                    .as_ref()
                    .is_none_or(|regex| regex.is_match(found.text) != search.invert)
        };
        for step in self.after.iter().rev() {
            match step {
                Step::Reshape => return true,
                Step::Count => return line.trim().parse::<u64>().is_ok(),
                Step::Search(search) if search.counts => return counted(line),
                Step::Search(search) => return passes(search, line),
                _ => {}
            }
        }
        match &self.what {
            What::Search(search) if search.counts => counted(line),
            What::Search(search) => passes(search, line),
            What::Look(_) => true,
        }
    }

    /// The search that decides what is shown: its own, or that of a later stage.
    fn search(&self) -> Option<&Search> {
        let own = match &self.what {
            What::Search(search) if !search.invert || search.counts => Some(search),
            _ => None,
        };
        let later = self.after.iter().rev().find_map(|step| match step {
            Step::Search(search) => Some(&**search),
            _ => None,
        });
        later.or(own)
    }

    /// A line without the count that `uniq -c` put before it.
    fn untallied<'l>(&self, line: &'l str) -> &'l str {
        if !self.after.iter().any(|step| matches!(step, Step::Tally)) {
            return line;
        }
        let rest = line
            .trim_start()
            .trim_start_matches(|ch: char| ch.is_ascii_digit());
        rest.strip_prefix([' ', '\t']).unwrap_or(line)
    }

    /// Lines come out as they went in.
    fn keeps_lines(&self) -> bool {
        !self
            .after
            .iter()
            .any(|step| matches!(step, Step::Reshape | Step::Count))
    }

    /// It shows the log's own lines, in their order.
    fn keeps_order(&self) -> bool {
        self.keeps_lines()
            && !self
                .after
                .iter()
                .any(|step| matches!(step, Step::Sort | Step::Tally))
    }
}

/// Recognises a look into a file, a unit's, container's or pod's log, or a search in files. `later`
/// are the stages of the pipeline after it.
pub fn recognise(invocation: &Invocation, later: &[&Invocation]) -> Option<LogProbe> {
    recognise::of(invocation, later)
}

/// Recognises a search in the output of another program (`docker info | grep cgroup`).
pub fn recognise_pipe(invocation: &Invocation, later: &[&Invocation]) -> Option<LogProbe> {
    recognise::of_pipe(invocation, later)
}

/// Reads the output of a look.
pub fn read(probe: &LogProbe, output: &Output<'_>) -> Vec<Seen> {
    let (own, shown): (Vec<&TextLine>, Vec<&TextLine>) = output
        .lines
        .iter()
        .partition(|line| is_tool_message(&line.text, &probe.tool));
    let failed = output.failed || own.iter().any(|line| content::is_refusal(&line.text));
    let mut seen = read_lines(
        &own,
        &Context {
            path: "",
            source: output.stream,
            program: &probe.tool,
            year: output.year,
        },
    );
    let silent = shown.iter().all(|line| line.is_blank());
    if silent && (failed || output.ran != Tri::Yes) {
        return seen;
    }
    if probe.after.iter().any(|step| matches!(step, Step::Count)) {
        return seen;
    }
    if probe
        .paths
        .iter()
        .any(|path| resolver::is_about_names(path))
    {
        seen.extend(resolver::read(&shown));
    }
    match probe.search() {
        Some(search) => seen.extend(searched(probe, search, &shown, output)),
        None => {
            for (path, lines) in by_file(probe, &shown) {
                seen.extend(looked(probe, path, &lines, output));
            }
        }
    }
    seen
}

/// Everything worth reading in lines of a log or of a program's own output: lines, tracebacks,
/// bars, stages, what could not be run.
pub fn read_content(lines: &[&TextLine], context: &Context<'_>) -> Vec<Seen> {
    let context = &dated(lines, context);
    let lines = marks::of(lines);
    let mut seen = line::read_lines(&lines, context);
    seen.extend(kernel::read(&lines, context));
    for (before, lines) in windows(&lines) {
        let mut traces = traceback::read(lines, context);
        for trace in &mut traces {
            if let Fact::Traceback(trace) = &mut trace.fact {
                trace.ordinal += before;
            }
        }
        seen.extend(traces);
        seen.extend(progress::read(lines, context));
        seen.extend(stage::read(lines, context));
        seen.extend(notrun::read(lines, context));
    }
    seen
}

/// The lines worth reading, and nothing else of what they say.
fn read_lines(lines: &[&TextLine], context: &Context<'_>) -> Vec<Seen> {
    line::read_lines(&marks::of(lines), &dated(lines, context))
}

/// Where lines come from, with the year that some of them print where no other is known.
fn dated<'c>(lines: &[&TextLine], context: &Context<'c>) -> Context<'c> {
    let year = context.year.or_else(|| line::year_of(lines));
    Context { year, ..*context }
}

/// Of a very long output its start and its end are read for more than its lines, each with how many
/// lines stand before it.
fn windows<'s, 'l>(lines: &'s [Marked<'l>]) -> Vec<(i64, &'s [Marked<'l>])> {
    if lines.len() <= START_READ + END_READ {
        return vec![(0, lines)];
    }
    let (start, _) = lines.split_at(START_READ);
    let (before, end) = lines.split_at(lines.len() - END_READ);
    vec![
        (0, start),
        (i64::try_from(before.len()).unwrap_or(i64::MAX), end),
    ]
}

/// `tail a b` names each file before its lines.
fn by_file<'p, 'l>(
    probe: &'p LogProbe,
    lines: &[&'l TextLine],
) -> Vec<(&'p str, Vec<&'l TextLine>)> {
    let name = |line: &TextLine| {
        let name = line
            .text
            .trim()
            .strip_prefix("==> ")?
            .strip_suffix(" <==")?
            .to_owned();
        probe
            .paths
            .iter()
            .find(|path| path.ends_with(name.trim_start_matches("./")))
    };
    let mut files: Vec<(&str, Vec<&TextLine>)> = vec![(probe.path(), Vec::new())];
    let mut named = false;
    for line in lines {
        if !probe.single
            && let Some(path) = name(line)
        {
            if !named {
                files.clear();
            }
            named = true;
            if let Some((_, before)) = files.last_mut()
                && before.last().is_some_and(|last| last.is_blank())
            {
                before.pop();
            }
            files.push((path, Vec::new()));
        } else if let Some((_, of)) = files.last_mut() {
            of.push(line);
        }
    }
    files
}

/// A part of a file, shown.
fn looked(probe: &LogProbe, path: &str, lines: &[&TextLine], output: &Output<'_>) -> Vec<Seen> {
    let What::Look(part) = &probe.what else {
        return Vec::new();
    };
    let one = probe.single || by_name(probe, lines);
    let (whole, from_end) = covered(probe, *part, lines.len());
    let content = Content::of(
        path,
        lines,
        whole || matches!(part, Part::Start(_)),
        output.stream,
    );
    let keeps = probe.keeps_order();
    let mut seen = Vec::new();
    if keeps {
        let from = lines.first().map_or(0, |line| line.from);
        let to = lines.last().map_or(0, |line| line.to);
        let last = lines.iter().rev().find(|line| !line.is_blank());
        let look = LogLook {
            path: path.to_owned(),
            tool: probe.tool.clone(),
            lines: i64::try_from(lines.len()).unwrap_or(i64::MAX),
            whole: whole && one,
            from_end: from_end && one,
            empty: last.is_none(),
            only_nohup: content.only_nohup,
            digest: content::digest(lines),
            last_line: last
                .map(|line| text::cut(line.last_written().0.trim_end(), line::MAX_TEXT).to_owned()),
            newest_us: if content.is_log {
                line::newest_us(lines, output.year)
            } else {
                None
            },
            script: content.script,
            lfs_pointer: content.lfs_pointer,
            crlf: content.crlf,
        };
        seen.push(Seen {
            fact: look.into(),
            from,
            to,
        });
    }
    if keeps && content.script {
        seen.extend(script::read(path, lines));
    }
    if content.is_log {
        let context = Context {
            path,
            source: "log",
            program: &probe.tool,
            year: output.year,
        };
        seen.extend(read_content(lines, &context));
    }
    seen
}

/// The lines are of one of several files, which were told apart by their names.
fn by_name(probe: &LogProbe, lines: &[&TextLine]) -> bool {
    probe.paths.len() > 1
        && (probe.tool.contains("tail") || probe.tool.contains("head"))
        && !lines.is_empty()
}

/// Whether the file is shown whole, and whether its end is shown, given how many lines came.
fn covered(probe: &LogProbe, part: Part, lines: usize) -> (bool, bool) {
    let fewer = |asked: Option<usize>| asked.is_some_and(|asked| lines < asked);
    let (mut whole, mut end) = match part {
        Part::Whole => (true, true),
        Part::End(asked) => (fewer(asked), true),
        Part::Start(asked) => (fewer(asked), fewer(asked)),
        Part::Some => (false, false),
    };
    for step in &probe.after {
        match step {
            Step::Clear => {}
            Step::Tail(asked) => whole &= fewer(*asked),
            Step::Head(asked) => {
                whole &= fewer(*asked);
                end &= fewer(*asked);
            }
            // Without some of its lines the end is still the end's neighbourhood.
            Step::Some => whole = false,
            Step::Sort => end = false,
            Step::Search(_) | Step::Tally | Step::Reshape | Step::Count => {
                whole = false;
                end = false;
            }
        }
    }
    (whole, end)
}

/// What a search found.
fn searched(
    probe: &LogProbe,
    search: &Search,
    lines: &[&TextLine],
    output: &Output<'_>,
) -> Vec<Seen> {
    let of = if probe.of.is_empty() {
        probe.path()
    } else {
        &probe.of
    };
    let lines: Vec<&TextLine> = lines
        .iter()
        .copied()
        .filter(|line| !line.is_blank() && line.text.trim() != "--")
        .collect();
    if search.counts {
        return lines
            .iter()
            .flat_map(|line| counted(probe, search, line, of))
            .collect();
    }
    let whole = lines.first().map_or(0, |line| line.from);
    let end = lines.last().map_or(whole, |line| line.to);
    // What a later stage made of the matches cannot be read as such.
    let readable = probe.keeps_lines() && !search.quiet;
    let mut stripped = Vec::new();
    let mut numbers = Vec::new();
    let mut files = Vec::new();
    let mut matches = 0;
    for line in &lines {
        let found = search.strip(probe.untallied(line.last_written().0));
        matches += i64::from(found.matched);
        numbers.push(found.number);
        files.push(found.file);
        stripped.push(TextLine {
            text: found.text.to_owned(),
            from: line.from,
            to: line.to,
            ..TextLine::default()
        });
    }
    let mut seen = Vec::new();
    if !search.invert {
        let found = if readable { Some(matches) } else { None };
        seen.push(search_fact(search, of, found, (whole, end)));
    }
    if readable {
        let program = if probe.of.is_empty() {
            &probe.tool
        } else {
            &probe.of
        };
        // Matches of several files stand in blocks, each line with its file's name in front.
        let mut start = 0;
        for file in files.chunk_by(|one, other| one == other) {
            let lines = start..start + file.len();
            start = lines.end;
            let path = match file.first().copied().flatten() {
                Some(name) => printed_path(probe, name),
                None => probe.path(),
            };
            let source = if path.is_empty() {
                output.stream
            } else {
                "log"
            };
            let refs: Vec<&TextLine> = stripped.get(lines.clone()).unwrap_or(&[]).iter().collect();
            let context = Context {
                path,
                source,
                program,
                year: output.year,
            };
            let mut facts = if content::is_code(path) {
                read_lines(&refs, &context)
            } else {
                read_content(&refs, &context)
            };
            for seen in &mut facts {
                renumber(&mut seen.fact, numbers.get(lines.clone()).unwrap_or(&[]));
            }
            seen.extend(facts);
        }
    }
    seen
}

/// The file that a search printed, as it was asked for where that can be told.
fn printed_path<'a>(probe: &'a LogProbe, name: &'a str) -> &'a str {
    let name = name.trim_start_matches("./");
    probe
        .paths
        .iter()
        .map(String::as_str)
        .find(|path| {
            path.strip_suffix(name)
                .is_some_and(|front| front.is_empty() || front.ends_with('/'))
        })
        .unwrap_or(name)
}

fn search_fact(search: &Search, of: &str, found: Option<i64>, (from, to): (u64, u64)) -> Seen {
    let fact = fact::Search {
        of: of.to_owned(),
        pattern: search.pattern.clone(),
        ignore_case: search.ignore_case,
        found,
        narrow: search.narrow,
    };
    Seen {
        fact: fact.into(),
        from,
        to,
    }
}

/// `grep -c`: a number, or `file:number`.
fn counted(probe: &LogProbe, search: &Search, line: &TextLine, of: &str) -> Vec<Seen> {
    let text = line.text.trim();
    let (file, number) = match text.rsplit_once(':') {
        Some((file, number)) => (Some(file), number),
        None => (None, text),
    };
    let Ok(count) = number.trim().parse::<i64>() else {
        return Vec::new();
    };
    let of = match file {
        Some(file) => probe
            .paths
            .iter()
            .find(|path| path.ends_with(file.trim_start_matches("./")))
            .map_or(file, String::as_str),
        None => of,
    };
    let fact = Count {
        tool: format!(
            "{} -c",
            if probe.of.is_empty() && matches!(probe.what, What::Search(_)) {
                &probe.tool
            } else {
                "grep"
            }
        ),
        of: of.to_owned(),
        pattern: Some(search.pattern.clone()),
        unit: "matches".to_owned(),
        count,
        self_matches: 0,
    };
    let count_seen = Seen {
        fact: fact.into(),
        from: line.from,
        to: line.to,
    };
    if search.invert {
        return vec![count_seen];
    }
    vec![
        count_seen,
        search_fact(search, of, Some(count), (line.from, line.to)),
    ]
}

/// Puts a line's number in its file in place of its place among the lines shown.
fn renumber(fact: &mut Fact, numbers: &[Option<i64>]) {
    let place = |ordinal: i64| {
        let at = usize::try_from(ordinal).ok()?;
        numbers.get(at).copied().flatten().map(|number| number - 1)
    };
    match fact {
        Fact::Line(line) => {
            line.ordinal = place(line.ordinal).unwrap_or(line.ordinal);
            line.last_ordinal = place(line.last_ordinal).unwrap_or(line.last_ordinal);
        }
        Fact::Traceback(trace) => trace.ordinal = place(trace.ordinal).unwrap_or(trace.ordinal),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
