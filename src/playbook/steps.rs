//! Steps of a case: what was typed, when, and what came of it.
//!
//! The same shape stands in case files (`rec import CASE.yaml`) and in the tests within playbooks.
//! [`commands`] turns steps into what [`crate::timeline::build`] starts from.

use serde::Deserialize;

use crate::event::{Exit, Stream};
use crate::id::CommandId;
use crate::probe;
use crate::shell;
use crate::time::Micros;
use crate::timeline::Command;

/// One step of a case.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct CaseStep {
    /// Seconds since the case began.
    #[serde(default)]
    pub at: f64,
    /// How long it ran, in seconds; unknown where it is not written.
    #[serde(default)]
    pub took: Option<f64>,
    /// The machine it was typed on.
    #[serde(default)]
    pub host: Option<String>,
    /// The line as typed.
    pub command: String,
    /// How it ended.
    #[serde(default)]
    pub exit: Option<CaseExit>,
    /// Standard output.
    #[serde(default)]
    pub stdout: Option<String>,
    /// Standard error.
    #[serde(default)]
    pub stderr: Option<String>,
    /// What a terminal showed, in place of the two.
    #[serde(default)]
    pub tty: Option<String>,
    /// Output in the order it came, in place of the three.
    #[serde(default)]
    pub chunks: Vec<CaseChunk>,
}

/// A piece of output.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CaseChunk {
    /// Seconds since the case began, or since the command did.
    #[serde(default)]
    pub at: f64,
    /// Its stream.
    pub stream: Stream,
    /// Its text.
    pub text: String,
}

/// How a step's command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum CaseExit {
    /// A code.
    Code(i32),
    /// A signal.
    Signal {
        /// Its number.
        signal: i32,
    },
}

impl From<CaseExit> for Exit {
    fn from(exit: CaseExit) -> Self {
        match exit {
            CaseExit::Code(code) => Self::Code(code),
            CaseExit::Signal { signal } => Self::Signal(signal),
        }
    }
}

impl CaseStep {
    /// What each stream got.
    pub fn streams(&self) -> Vec<(Stream, String)> {
        let mut streams: Vec<(Stream, String)> = Vec::new();
        let mut add = |stream: Stream, text: &str| {
            if let Some((_, had)) = streams.iter_mut().find(|(known, _)| *known == stream) {
                had.push_str(text);
            } else {
                streams.push((stream, text.to_owned()));
            }
        };
        for (stream, text) in [
            (Stream::Stdout, &self.stdout),
            (Stream::Stderr, &self.stderr),
            (Stream::Tty, &self.tty),
        ] {
            if let Some(text) = text {
                add(stream, text);
            }
        }
        for chunk in &self.chunks {
            add(chunk.stream, &chunk.text);
        }
        streams
    }
}

/// The commands of a case, with the facts read from their output.
///
/// Time counts from 1970-01-01T00:00:00Z plus `started`. Steps keep their order: one whose `at` is
/// before that of the step above it is taken to have begun together with it.
pub fn commands(steps: &[CaseStep], started: Micros) -> Vec<Command> {
    let mut latest = started;
    let mut out = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "seconds to microseconds of a case"
        )]
        let at = started.plus_us((step.at * 1e6) as i64).max(latest);
        latest = at;
        let host = step.host.clone().unwrap_or_else(|| "local".to_owned());
        let exit = step.exit.map_or(Exit::Lost, Exit::from);
        let streams = step.streams();
        let bytes: Vec<(Stream, &[u8])> = streams
            .iter()
            .map(|(stream, text)| (*stream, text.as_bytes()))
            .collect();
        let tree = shell::parse(&step.command);
        let reading = probe::read(&probe::Look {
            tree: &tree,
            host: &host,
            exit,
            streams: &bytes,
        });
        let length = |wanted: Stream| {
            let found = bytes.iter().find(|(stream, _)| *stream == wanted);
            found.map_or(0, |(_, bytes)| {
                u64::try_from(bytes.len()).unwrap_or(u64::MAX)
            })
        };
        let (stdout_bytes, stderr_bytes, tty_bytes) = (
            length(Stream::Stdout),
            length(Stream::Stderr),
            length(Stream::Tty),
        );
        out.push(Command {
            id: CommandId::new(),
            number: u32::try_from(index + 1).unwrap_or(u32::MAX),
            line: step.command.clone(),
            host,
            at,
            took_s: step.took,
            exit,
            tree,
            facts: reading.facts,
            stdout_bytes,
            stderr_bytes,
            tty_bytes,
        });
    }
    out
}

/// The instant a case is judged at: the end of its last command.
pub fn end(commands: &[Command]) -> Micros {
    let ends = commands.iter().map(Command::ended);
    ends.max().unwrap_or_default()
}
