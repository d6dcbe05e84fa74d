//! Facts and commands in the order of what happened, and what follows from them over time.
//!
//! Pure. [`build`] takes the commands of a session with the facts read from their output and gives
//! a [`Timeline`]: every fact in order, those of the command lines among them (runs, launches,
//! kills, writes, exits), each tied to the launch it speaks of, and the state of each launch after
//! every look that says something about it. Playbooks match on [`Timeline::entries`].
//!
//! Order is that of what happened (the recorder's clock: start of the command, its number,
//! invocation, byte), not of arrival.

mod fold;
mod line;
mod old;
mod places;
mod changes;
mod post;
mod state;
mod targets;
mod tie;

use serde::Serialize;

use crate::event::{Exit, Stream};
use crate::fact::{Fact, Observed};
use crate::id::CommandId;
use crate::shell::Tree;
use crate::time::Micros;

/// A command with all that is known of it: what [`build`] starts from.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Which.
    pub id: CommandId,
    /// Its number in the session.
    pub number: u32,
    /// The line as typed.
    pub line: String,
    /// The machine it was typed on.
    pub host: String,
    /// When it began. In a session of relative time this is counted from 1970-01-01T00:00:00Z.
    pub at: Micros,
    /// How long it ran, in seconds; unknown for some imports and while it runs.
    pub took_s: Option<f64>,
    /// How it ended, or that it runs.
    pub exit: Exit,
    /// The line, understood.
    pub tree: Tree,
    /// Facts read from its output, in order.
    pub facts: Vec<Observed>,
    /// Bytes on standard output (kept ones).
    pub stdout_bytes: u64,
    /// Bytes on standard error.
    pub stderr_bytes: u64,
    /// Bytes on its terminal.
    pub tty_bytes: u64,
}

impl Command {
    /// The innermost host, else the one it was typed on.
    pub fn target_host(&self) -> &str {
        self.tree.target_host().unwrap_or(&self.host)
    }

    /// When it ended, as far as is known: its start plus how long it ran.
    pub fn ended(&self) -> Micros {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "seconds to microseconds of a command"
        )]
        self.at.plus_us((self.took_s.unwrap_or(0.0) * 1e6) as i64)
    }
}

/// A fact in the timeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// The command, an index into [`Timeline::commands`].
    pub command: usize,
    /// What was seen.
    #[serde(flatten)]
    pub fact: Fact,
    /// The host it speaks of (never empty: that of the typist where no hop names one).
    pub host: String,
    /// The container or pod it speaks of.
    pub container: Option<String>,
    /// The invocation it came from.
    pub invocation: Option<usize>,
    /// The stream it was read from; `None` for what the line itself says or what follows over time.
    pub stream: Option<Stream>,
    /// First byte in that stream.
    pub from: u64,
    /// One past its last byte.
    pub to: u64,
    /// The launch it belongs to, an index into [`Timeline::launches`]: by pid, log, port, pattern, or
    /// because it is the host's only one, in that order.
    pub launch: Option<usize>,
    /// When its command began.
    pub at: Micros,
    /// When it was known: the command's end (its start while it runs).
    pub known: Micros,
}

/// A launch, and where it stands at the end of the timeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LaunchRecord {
    /// The command that launched it, an index into [`Timeline::commands`].
    pub command: usize,
    /// The entry of its `launch` fact.
    pub entry: usize,
    /// The host it runs on.
    pub host: String,
    /// Its container, when it was started in one.
    pub container: Option<String>,
    /// The last entry that belongs to its epoch (before a relaunch, reboot or effective kill), one
    /// past the end.
    pub epoch_end: usize,
    /// The last `launch_state` entry, when a look has said anything.
    pub state: Option<usize>,
}

/// A postcondition: what should be true after a command that changed something.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Postcondition {
    /// The command, an index into [`Timeline::commands`].
    pub command: usize,
    /// The entry it follows from: the write, kill or launch, on its host.
    pub entry: usize,
    /// What should be true, in words.
    pub text: String,
    /// Whether it is.
    pub state: Met,
    /// The entries that show it.
    pub evidence: Vec<usize>,
    /// A read-only command line that would show it.
    pub probe: String,
}

/// Whether a postcondition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Met {
    /// A later fact shows that it holds.
    Met,
    /// A later fact shows that it does not.
    Unmet,
    /// Nobody looked.
    Unchecked,
}

/// A session, understood.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timeline {
    /// Its commands, in order.
    pub commands: Vec<Command>,
    /// All facts, in order.
    pub entries: Vec<Entry>,
    /// Its launches, in order.
    pub launches: Vec<LaunchRecord>,
    /// What should be true by now.
    pub postconditions: Vec<Postcondition>,
    /// The instant it is judged at.
    pub as_of: Micros,
}

/// Puts commands in order and derives what follows.
///
/// `as_of` is the instant silence is judged against: now for a live session, the end of the last
/// command for an imported one. Cost grows with the number of facts times the launches of their
/// host.
pub fn build(mut commands: Vec<Command>, as_of: Micros) -> Timeline {
    commands.sort_by_key(|command| (command.at, command.number));
    let mut builder = fold::Builder::default();
    for (index, command) in commands.iter().enumerate() {
        builder.command(index, command);
    }
    let mut timeline = builder.finish(commands, as_of);
    timeline.postconditions = post::derive(&timeline);
    timeline
}
