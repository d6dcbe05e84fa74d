//! Probes: which invocation is which look, and what its output says.
//!
//! Pure. [`read`] takes a command's tree and its output and gives facts with their byte spans, what
//! could not be read, and the lines nobody claims. One file a tool under `probe/`.
//!
//! The way of a line: `plan` finds who can print to the stream, and through which filters
//! (`| head`, `| grep`); each probe offers a `Grammar`; `attribution` aligns the lines to them in
//! order; the probe that was given lines reads them. A line that could as well be another's stays
//! unclaimed.

pub mod fingerprint;
pub mod line;
pub mod log;
pub mod notrun;
pub(crate) mod pattern;
pub mod progress;
pub mod stage;
pub mod traceback;

use serde::Serialize;

use crate::event::{Exit, Stream};
use crate::fact::{Fact, Observed};
use crate::shell::{Complaint, Invocation, Place, Tree, Tri};
use crate::text::{self, TextLine};

mod align;
mod amd;
mod attribution;
mod bench;
mod columns;
mod complaints;
mod containers;
mod counts;
mod disk;
mod document;
mod echo;
mod files;
mod filter;
mod hardware;
mod host;
mod http;
mod inspect;
mod interfaces;
mod keepers;
mod json_forms;
mod kernel;
mod kube;
mod kube_document;
mod listing;
mod load;
mod machine;
mod managers;
mod marks;
mod mounts;
mod nvidia;
mod nvidia_lines;
mod nvidia_query;
mod nvidia_table;
mod plan;
mod plain;
mod processes;
mod procfs;
mod ps;
mod reach;
mod repository;
mod resolver;
mod script;
pub mod shellmsg;
mod slurm;
mod sockets;
mod holders;
mod stacks;
mod table;
mod texts;
mod timekeeping;
mod top;
mod trace;
mod units;
mod unsaid;
mod blind;
pub mod bounds;
mod versions;
mod words;

pub(crate) use filter::Filter;

/// A command's output and what produced it.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// The command line, understood.
    pub tree: &'a Tree,
    /// The machine it was typed on.
    pub host: &'a str,
    /// How it ended.
    pub exit: Exit,
    /// The raw bytes of each stream that was recorded.
    pub streams: &'a [(Stream, &'a [u8])],
}

/// A span of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The stream.
    pub stream: Stream,
    /// First byte.
    pub from: u64,
    /// One past the last byte.
    pub to: u64,
}

/// How sure it is that lines are an invocation's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// No other reading comes near.
    Likely,
    /// They can be nobody else's.
    Sure,
}

/// Lines given to an invocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The invocation, an index into the tree.
    pub invocation: usize,
    /// The lines.
    pub span: Span,
    /// How sure that is.
    pub confidence: Confidence,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// Facts, in the order of the invocations and, within one, of its output.
    pub facts: Vec<Observed>,
    /// What a parser could not read, with the stream it is in.
    pub complaints: Vec<(Stream, Complaint)>,
    /// Which lines are whose.
    pub claims: Vec<Claim>,
    /// Lines that no invocation claims.
    pub unclaimed: Vec<Span>,
}

/// A line of output as it looks when printed, with the bytes it comes from and its stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shown {
    /// The stream.
    pub stream: Stream,
    /// The line.
    pub line: TextLine,
}

impl std::ops::Deref for Shown {
    type Target = TextLine;

    fn deref(&self) -> &TextLine {
        &self.line
    }
}

/// Whether a line can be an invocation's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// It cannot.
    No,
    /// It can, but does not look like it.
    Hardly,
    /// It can, as many others.
    Perhaps,
    /// It looks like it.
    Likely,
    /// Hardly anything else prints this.
    Surely,
}

impl From<bool> for Fit {
    fn from(fits: bool) -> Self {
        if fits { Self::Surely } else { Self::No }
    }
}

/// How well a line fits as the nth (from 0) of an invocation.
pub(crate) type LineFit<'a> = Box<dyn Fn(&str, usize) -> Fit + 'a>;

/// What an invocation's output looks like.
pub(crate) struct Grammar<'a> {
    /// It prints at least so many lines, when it works.
    pub min: usize,
    /// It prints at most so many lines.
    pub max: Option<usize>,
    /// It usually prints so many, if there are so many to print (`tail -5`).
    pub usual: usize,
    /// How well a line fits as its nth (from 0).
    pub fit: LineFit<'a>,
}

impl<'a> Grammar<'a> {
    /// Exactly so many lines.
    pub(crate) fn exactly(lines: usize, fit: impl Fn(&str, usize) -> Fit + 'a) -> Self {
        Self {
            min: lines,
            max: Some(lines),
            usual: 0,
            fit: Box::new(fit),
        }
    }

    /// Any number of lines, none included.
    pub(crate) fn any(fit: impl Fn(&str, usize) -> Fit + 'a) -> Self {
        Self {
            min: 0,
            max: None,
            usual: 0,
            fit: Box::new(fit),
        }
    }

    /// A line that stands first and nowhere else: another one is the next look's. Where filters may
    /// have taken it away, or put it elsewhere, nothing changes.
    pub(crate) fn opened_by(self, filter: &Filter, head: impl Fn(&str) -> bool + 'a) -> Self {
        if filter.may_lose_start() || !filter.keeps_lines() {
            return self;
        }
        let fit = self.fit;
        Self {
            fit: Box::new(move |line, nth| {
                let own = fit(line, nth);
                match (head(line), nth) {
                    (true, 1..) => Fit::No,
                    (false, 0) => own.min(Fit::Hardly),
                    _ => own,
                }
            }),
            ..self
        }
    }

    /// At least so many lines.
    pub(crate) fn at_least(min: usize, fit: impl Fn(&str, usize) -> Fit + 'a) -> Self {
        Self {
            min,
            max: None,
            usual: 0,
            fit: Box::new(fit),
        }
    }
}

/// What a probe knows besides the lines.
pub(crate) struct Ctx<'a> {
    /// The whole command.
    pub look: &'a Look<'a>,
    /// The invocation whose output it is (the first stage of a pipeline that is not a filter).
    pub invocation: &'a Invocation,
    /// The stages after it.
    pub later: &'a [&'a Invocation],
    /// What those stages do to the output.
    pub filter: &'a Filter,
    /// Its exit code, where the command's own code must be it.
    pub exit: Option<i32>,
    /// Whether it failed, as its code or what hangs on it by `&&` and `||` shows.
    pub failed: Tri,
    /// Whether it ran.
    pub ran: Tri,
}

/// Where a probe puts what it reads.
pub(crate) struct Sink<'a> {
    place: &'a Place,
    invocation: Option<usize>,
    at: Span,
    reading: &'a mut Reading,
}

impl Sink<'_> {
    /// A fact read from one line.
    pub(crate) fn line(&mut self, line: &Shown, fact: impl Into<Fact>) {
        self.span((line.stream, line.from, line.to), fact.into());
    }

    /// A fact read from several lines (or from there being none).
    pub(crate) fn lines(&mut self, lines: &[Shown], fact: impl Into<Fact>) {
        let stream = lines.first().map_or(self.at.stream, |line| line.stream);
        let mut of_stream = lines.iter().filter(|line| line.stream == stream);
        let first = of_stream.next();
        let from = first.map_or(self.at.from, |line| line.from);
        let to = of_stream
            .next_back()
            .or(first)
            .map_or(self.at.to, |line| line.to);
        self.span((stream, from, to), fact.into());
    }

    /// A fact that the readers of logs and texts found.
    pub(crate) fn seen(&mut self, stream: Stream, seen: line::Seen) {
        self.span((stream, seen.from, seen.to), seen.fact);
    }

    /// The stream of what is not there.
    pub(crate) fn stream(&self) -> Stream {
        self.at.stream
    }

    /// A line that a parser could not read.
    pub(crate) fn complain(&mut self, line: &Shown, text: impl Into<String>) {
        self.reading.complaints.push((
            line.stream,
            Complaint {
                from: line.from,
                to: line.to,
                text: text.into(),
            },
        ));
    }

    fn span(&mut self, (stream, from, to): (Stream, u64, u64), fact: Fact) {
        self.reading.facts.push(Observed {
            fact,
            place: self.place.clone(),
            invocation: self.invocation,
            stream: Some(stream),
            from,
            to,
        });
    }
}

/// A tool whose output can be read.
pub(crate) trait Probe: Sync {
    /// It reads the output of this invocation.
    fn recognises(&self, invocation: &Invocation) -> bool;
    /// What the output looks like.
    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a>;
    /// Reads the lines that were found to be the invocation's. Lines of standard error may be among
    /// them. It is also asked when there are none, so that an empty answer can be a fact; `ctx.ran`
    /// says whether the invocation is known to have run.
    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>);
    /// How well a line fits as one of its own on standard error. Lines that begin with the program's
    /// name need no answer here.
    fn complains(&self, _line: &str, _ctx: &Ctx<'_>) -> Fit {
        Fit::No
    }
    /// A line of its own table or chatter, which needs no second reading as a line.
    fn is_chatter(&self, _line: &str) -> bool {
        false
    }
    /// It reads counts (`| grep -c`, `| wc -l`) of its output by itself.
    fn counts_itself(&self) -> bool {
        false
    }
    /// It says something even when its output cannot be seen (`test -f`).
    fn reads_silence(&self) -> bool {
        false
    }
}

/// All probes, the first that recognises an invocation reads it.
const PROBES: &[&dyn Probe] = &[
    &echo::Echo,
    &json_forms::JsonForms,
    &procfs::Procfs,
    &processes::Pgrep,
    &processes::Killer,
    &ps::Ps,
    &top::Top,
    &processes::Pstree,
    &nvidia::NvidiaSmi,
    &nvidia::Gpustat,
    &amd::AmdSmi,
    &bench::NcclTests,
    &listing::Ls,
    &files::Stat,
    &counts::Wc,
    &files::Find,
    &files::Readlink,
    &files::Test,
    &disk::Df,
    &disk::Du,
    &http::Curl,
    &http::Wget,
    &sockets::Ss,
    &sockets::Netstat,
    &holders::Lsof,
    &holders::Fuser,
    &reach::Nc,
    &reach::Ping,
    &reach::Lookup,
    &machine::Date,
    &machine::Uptime,
    &machine::Free,
    &machine::Ulimit,
    &machine::Env,
    &managers::Systemctl,
    &managers::Supervisorctl,
    &containers::DockerStats,
    &containers::ComposePs,
    &managers::DockerPs,
    &inspect::DockerInspect,
    &kube::Kubectl,
    &host::Host,
    &host::Who,
    &host::Sysctl,
    &timekeeping::TimeKeepers,
    &timekeeping::Boots,
    &mounts::Mounts,
    &keepers::Pm2,
    &keepers::Crontab,
    &hardware::Lspci,
    &hardware::Ldd,
    &hardware::Digests,
    &repository::Git,
    &interfaces::Interfaces,
    &interfaces::Infiniband,
    &slurm::Slurm,
    &load::Stats,
    &trace::Strace,
    &stacks::PySpy,
    &stacks::Gdb,
    &plain::Which,
    &versions::Versions,
    &texts::Texts,
    &texts::Plain,
];

/// Reads a command's output.
pub fn read(look: &Look<'_>) -> Reading {
    if look.streams.iter().all(|(_, bytes)| bounds::fits(bytes)) {
        return read_all(look);
    }
    let bounded: Vec<bounds::Bounded> = look
        .streams
        .iter()
        .map(|(stream, bytes)| bounds::bound(*stream, bytes))
        .collect();
    let streams: Vec<(Stream, &[u8])> = bounded
        .iter()
        .map(|one| (one.stream, one.bytes.as_slice()))
        .collect();
    let mut reading = read_all(&Look {
        streams: &streams,
        ..*look
    });
    bounds::restore(&bounded, &mut reading);
    reading
}

fn read_all(look: &Look<'_>) -> Reading {
    let (mut reading, lines) = attribution::read(look, PROBES);
    unsaid::add(look, &lines, &mut reading);
    blind::add(look, &lines, &mut reading);
    reading
}

/// The lines of a stream as they look when printed.
fn shown_lines(stream: Stream, bytes: &[u8]) -> Vec<Shown> {
    text::lines(bytes)
        .into_iter()
        .map(|line| Shown { stream, line })
        .collect()
}

#[cfg(test)]
mod tests;
