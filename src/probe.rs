//! Probes: which invocation is which look, and what its output says.
//!
//! Pure. [`read`] takes a command's tree and its output and gives facts with their byte spans, what
//! could not be read, and the lines nobody claims. One file a tool under `probe/`.

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
use crate::fact::Observed;
use crate::shell::{Complaint, Tree};

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

/// What was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// Facts, in the order of the output.
    pub facts: Vec<Observed>,
    /// What a parser could not read, with the stream it is in.
    pub complaints: Vec<(Stream, Complaint)>,
    /// Lines that no invocation claims.
    pub unclaimed: Vec<Span>,
}

/// Reads a command's output.
pub fn read(_look: &Look<'_>) -> Reading {
    Reading::default()
}
