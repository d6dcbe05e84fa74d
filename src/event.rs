//! Events: what happened, recorded once, in the past tense.
//!
//! An [`Envelope`] is what the log stores; its body is an [`Event`]. Content (command lines,
//! output, notes, titles) is never in the body: the body holds a [`ContentRef`], and the bytes live
//! beside the log, so that they can be erased without touching an event. `docs/events.md` lists
//! every event and field.

mod codec;
mod content;

use serde::{Deserialize, Serialize};

pub use codec::BadBody;
pub use content::{
    CONTENT_MAX_BYTES, ContentKind, NewContent, NewEvent, NewSession, Recorded, StoredContent,
    salted_hash,
};

use crate::id::{CommandId, ContentId, EventId, FindingId, SessionId};
use crate::time::Micros;

/// A stream of a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// File descriptor 1, when it is a pipe or a file.
    Stdout,
    /// File descriptor 2, when it is a pipe or a file.
    Stderr,
    /// What a pseudo-terminal showed: both together.
    Tty,
}

impl Stream {
    /// Its name in JSON and on pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Tty => "tty",
        }
    }
}

/// How a command ended, or that it has not.
///
/// Serialised as the contract wants it: `{"code": 0}`, `{"signal": 9}`, `{"lost": true}`,
/// `{"running": true}`, `{"stopped": 20}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "ExitForm", try_from = "ExitForm")]
pub enum Exit {
    /// It ended by itself with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// Nobody saw its end: the recorder died, or the machine did.
    Lost,
    /// It still runs.
    Running,
    /// It is stopped by this signal and may go on.
    Stopped(i32),
}

#[derive(Serialize, Deserialize, Default)]
struct ExitForm {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    signal: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    lost: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    running: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    stopped: Option<i32>,
}

impl From<Exit> for ExitForm {
    fn from(exit: Exit) -> Self {
        let mut form = Self::default();
        match exit {
            Exit::Code(code) => form.code = Some(code),
            Exit::Signal(signal) => form.signal = Some(signal),
            Exit::Lost => form.lost = Some(true),
            Exit::Running => form.running = Some(true),
            Exit::Stopped(signal) => form.stopped = Some(signal),
        }
        form
    }
}

impl TryFrom<ExitForm> for Exit {
    type Error = &'static str;

    fn try_from(form: ExitForm) -> Result<Self, Self::Error> {
        match form {
            ExitForm {
                code: Some(code), ..
            } => Ok(Self::Code(code)),
            ExitForm {
                signal: Some(signal),
                ..
            } => Ok(Self::Signal(signal)),
            ExitForm {
                lost: Some(true), ..
            } => Ok(Self::Lost),
            ExitForm {
                running: Some(true),
                ..
            } => Ok(Self::Running),
            ExitForm {
                stopped: Some(signal),
                ..
            } => Ok(Self::Stopped(signal)),
            _ => Err("an exit holds one of code, signal, lost, running, stopped"),
        }
    }
}

/// Points at content kept beside the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentRef {
    /// Which content.
    pub id: ContentId,
    /// Its length in bytes, as stored (after masking).
    pub len_bytes: u64,
    /// Hex BLAKE3 of salt and bytes; the salt is erased with the bytes.
    pub salted_hash: String,
}

/// Where a command's file descriptors 0, 1 and 2 led.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminals {
    /// Descriptor 0 was a terminal.
    pub stdin: bool,
    /// Descriptor 1 was a terminal.
    pub stdout: bool,
    /// Descriptor 2 was a terminal.
    pub stderr: bool,
}

/// A piece of output: where it begins in its stream, and when it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkMark {
    /// Offset in the stored stream, in bytes.
    pub offset_bytes: u64,
    /// Microseconds since the command's start, by a clock that does not jump.
    pub after_us: i64,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A session began.
    SessionStarted {
        /// Its title, where a person gave one.
        title: Option<ContentRef>,
        /// It began by itself, with a command.
        automatic: bool,
        /// Times in it are relative: the recording did not say when it was (an imported case).
        relative_time: bool,
    },
    /// A session was closed by a person.
    SessionEnded {},
    /// A command began.
    CommandStarted {
        /// Which command.
        command: CommandId,
        /// Its number in the session, given at its start.
        number: u32,
        /// The command line as typed (a shell-quoted join of argv where nothing else is known).
        line: ContentRef,
        /// Working directory where it was typed.
        cwd: Option<String>,
        /// Machine on which it was typed.
        host: String,
        /// User who typed it.
        user: Option<String>,
        /// Which descriptors were terminals.
        terminals: Option<Terminals>,
        /// The command within which it was recorded (`rec` inside `rec`).
        parent: Option<CommandId>,
        /// Version of the recorder, or the import's format.
        recorder: String,
    },
    /// A command's output came.
    OutputRecorded {
        /// Whose.
        command: CommandId,
        /// Which stream.
        stream: Stream,
        /// Where in the stream this content begins, in bytes.
        offset_bytes: u64,
        /// The bytes.
        content: ContentRef,
        /// When its parts came, oldest first. Written as steps: see `event/codec.rs`.
        #[serde(with = "codec::marks")]
        chunks: Vec<ChunkMark>,
    },
    /// Output came that is not on record.
    GapRecorded {
        /// Whose.
        command: CommandId,
        /// Which stream.
        stream: Stream,
        /// Where in the stored stream the gap lies.
        offset_bytes: u64,
        /// How many bytes are missing.
        bytes: u64,
        /// Why, in words.
        reason: String,
    },
    /// The terminal changed its size.
    TerminalResized {
        /// Whose.
        command: CommandId,
        /// Rows.
        rows: u16,
        /// Columns.
        columns: u16,
        /// Microseconds since the command's start.
        after_us: i64,
    },
    /// A command was stopped by a signal, or goes on.
    CommandStateChanged {
        /// Which.
        command: CommandId,
        /// [`Exit::Stopped`] or [`Exit::Running`].
        state: Exit,
        /// Microseconds since the command's start.
        after_us: i64,
    },
    /// A command ended.
    CommandEnded {
        /// Which.
        command: CommandId,
        /// How.
        exit: Exit,
        /// How long it ran, by a clock that does not jump; unknown for some imports.
        duration_us: Option<i64>,
    },
    /// A person wrote something down.
    NoteAdded {
        /// The words.
        text: ContentRef,
    },
    /// A person agreed with a finding.
    FindingConfirmed {
        /// Which.
        finding: FindingId,
        /// The playbook it came from.
        playbook: String,
        /// The hypothesis held to be right, where one was named.
        hypothesis: Option<String>,
    },
    /// A person disagreed with a finding.
    FindingDismissed {
        /// Which.
        finding: FindingId,
        /// The playbook it came from.
        playbook: String,
        /// Why.
        because: ContentRef,
    },
    /// A postmortem was saved.
    PostmortemSaved {
        /// The markdown.
        text: ContentRef,
    },
    /// Content was erased on demand; events stay, bytes went.
    ContentErased {
        /// Which contents.
        contents: Vec<ContentId>,
        /// The command they belonged to.
        command: Option<CommandId>,
    },
}

impl Event {
    /// The type name that the log stores beside the body.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionStarted { .. } => "session_started",
            Self::SessionEnded { .. } => "session_ended",
            Self::CommandStarted { .. } => "command_started",
            Self::OutputRecorded { .. } => "output_recorded",
            Self::GapRecorded { .. } => "gap_recorded",
            Self::TerminalResized { .. } => "terminal_resized",
            Self::CommandStateChanged { .. } => "command_state_changed",
            Self::CommandEnded { .. } => "command_ended",
            Self::NoteAdded { .. } => "note_added",
            Self::FindingConfirmed { .. } => "finding_confirmed",
            Self::FindingDismissed { .. } => "finding_dismissed",
            Self::PostmortemSaved { .. } => "postmortem_saved",
            Self::ContentErased { .. } => "content_erased",
        }
    }

    /// The command it is about, where it is about one.
    pub fn command(&self) -> Option<CommandId> {
        match self {
            Self::CommandStarted { command, .. }
            | Self::OutputRecorded { command, .. }
            | Self::GapRecorded { command, .. }
            | Self::TerminalResized { command, .. }
            | Self::CommandStateChanged { command, .. }
            | Self::CommandEnded { command, .. } => Some(*command),
            Self::ContentErased { command, .. } => *command,
            Self::SessionStarted { .. }
            | Self::SessionEnded {}
            | Self::NoteAdded { .. }
            | Self::FindingConfirmed { .. }
            | Self::FindingDismissed { .. }
            | Self::PostmortemSaved { .. } => None,
        }
    }

    /// The content it refers to.
    pub fn contents(&self) -> Vec<&ContentRef> {
        match self {
            Self::SessionStarted { title, .. } => title.iter().collect(),
            Self::CommandStarted { line, .. } => vec![line],
            Self::OutputRecorded { content, .. } => vec![content],
            Self::NoteAdded { text } | Self::PostmortemSaved { text } => vec![text],
            Self::FindingDismissed { because, .. } => vec![because],
            Self::SessionEnded {}
            | Self::GapRecorded { .. }
            | Self::TerminalResized { .. }
            | Self::CommandStateChanged { .. }
            | Self::CommandEnded { .. }
            | Self::FindingConfirmed { .. }
            | Self::ContentErased { .. } => Vec::new(),
        }
    }

    /// The version of this type's body that this program writes.
    pub fn version(&self) -> u32 {
        1
    }
}

/// An event with its place in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// Order of arrival in this store.
    pub seq: i64,
    /// Which event.
    pub id: EventId,
    /// Which session.
    pub session: SessionId,
    /// Its place in the session, from 1.
    pub session_version: i64,
    /// When it happened, by the recorder's clock.
    pub at: Micros,
    /// What happened.
    pub event: Event,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_is_written_as_the_contract_says() {
        let cases = [
            (Exit::Code(0), r#"{"code":0}"#),
            (Exit::Signal(9), r#"{"signal":9}"#),
            (Exit::Lost, r#"{"lost":true}"#),
            (Exit::Running, r#"{"running":true}"#),
            (Exit::Stopped(20), r#"{"stopped":20}"#),
        ];
        for (exit, text) in cases {
            assert_eq!(serde_json::to_string(&exit).unwrap(), text);
            assert_eq!(serde_json::from_str::<Exit>(text).unwrap(), exit);
        }
        assert!(serde_json::from_str::<Exit>("{}").is_err());
    }
}
