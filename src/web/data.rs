//! Where pages get their data: a thin seam over the store, the projections and the index.

mod follow;
mod library;
mod read;
mod search;
mod understand;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::sync::broadcast;

use crate::capture::home::Home;

use crate::diagnosis::{Claim, Diagnosis, Severity, Status};
use crate::event::{Exit, Stream};
use crate::fact::Observed;
use crate::id::{CommandId, SessionId};
use crate::index::Index;
use crate::probe::Span;
use crate::projection::mend;
use crate::shell::{Complaint, Tree};
use crate::store::Store;
use crate::time::Micros;
use crate::timeline::Timeline;

use super::failure::Failure;

/// A session as lists show it.
#[derive(Debug, Clone)]
pub struct SessionCard {
    /// Which.
    pub id: SessionId,
    /// Its title; a made-up one where nobody gave one.
    pub title: String,
    /// It began by itself, with a command.
    pub automatic: bool,
    /// Its times are relative.
    pub relative: bool,
    /// Its beginning.
    pub started: Micros,
    /// Its last event.
    pub last: Micros,
    /// It was closed.
    pub ended: bool,
    /// Its commands.
    pub commands: u64,
    /// Its newest event's place in the log.
    pub last_seq: i64,
    /// The hosts they reached.
    pub hosts: Vec<String>,
    /// Its findings, in the order of the diagnosis.
    pub findings: Vec<FindingBrief>,
}

/// A finding as lists show it.
#[derive(Debug, Clone)]
pub struct FindingBrief {
    /// In one sentence.
    pub title: String,
    /// Its kind.
    pub kind: String,
    /// How sure.
    pub claim: Claim,
    /// How bad.
    pub severity: Severity,
    /// Where it stands.
    pub status: Status,
}

/// A command as the timeline's rows show it.
#[derive(Debug, Clone)]
pub struct CommandRow {
    /// Which.
    pub id: CommandId,
    /// Its number.
    pub number: u32,
    /// When it began.
    pub at: Micros,
    /// Where it was typed.
    pub host: String,
    /// The innermost host.
    pub target_host: String,
    /// Its line.
    pub line: String,
    /// How it ended.
    pub exit: Exit,
    /// How long it ran.
    pub took_s: Option<f64>,
    /// Bytes it printed, over all streams.
    pub bytes: u64,
}

/// A note.
#[derive(Debug, Clone)]
pub struct Note {
    /// When it was written.
    pub at: Micros,
    /// The words.
    pub text: String,
}

/// Which commands end how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExitFilter {
    /// All.
    #[default]
    Any,
    /// Exit 0.
    Good,
    /// Another exit, a signal, or an end nobody saw.
    Bad,
    /// Still running or stopped.
    Running,
}

impl ExitFilter {
    /// Whether a command that ended so is meant.
    pub fn takes(self, exit: Exit) -> bool {
        match self {
            Self::Any => true,
            Self::Good => exit == Exit::Code(0),
            Self::Bad => match exit {
                Exit::Code(code) => code != 0,
                Exit::Signal(_) | Exit::Lost => true,
                Exit::Running | Exit::Stopped(_) => false,
            },
            Self::Running => matches!(exit, Exit::Running | Exit::Stopped(_)),
        }
    }
}

/// Which part of a session's commands.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only the first so many of those that match.
    pub until: Option<u32>,
    /// Only those numbered after this.
    pub after: Option<u32>,
    /// Only the one of this number.
    pub only: Option<u32>,
    /// Only those that reached this host.
    pub host: Option<String>,
    /// Only those that ended so.
    pub exit: ExitFilter,
    /// Only those whose line holds this text.
    pub text: Option<String>,
    /// The newest so many of them.
    pub most: usize,
}

/// A part of a session's commands, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Slice {
    /// The commands.
    pub rows: Vec<CommandRow>,
    /// How many more there are before them.
    pub earlier: u64,
    /// How many match, whatever the part.
    pub matching: u64,
}

/// What follows from a session's commands.
#[derive(Debug, Clone)]
pub struct Understanding {
    /// Facts and launches in order.
    pub timeline: Timeline,
    /// What is wrong, and what to run next.
    pub diagnosis: Diagnosis,
}

/// A stream of a command's output.
#[derive(Debug, Clone)]
pub struct Output {
    /// Which.
    pub stream: Stream,
    /// The stored bytes.
    pub bytes: Vec<u8>,
    /// Where bytes are missing: offset, how many, why.
    pub gaps: Vec<(u64, u64, String)>,
}

/// A command with its output and all that was read from it.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Its row.
    pub row: CommandRow,
    /// Its working directory.
    pub cwd: Option<String>,
    /// Who typed it.
    pub user: Option<String>,
    /// Its line, understood.
    pub tree: Tree,
    /// Its output.
    pub outputs: Vec<Output>,
    /// What was read.
    pub facts: Vec<Observed>,
    /// What could not be read.
    pub complaints: Vec<(Stream, Complaint)>,
    /// Lines nobody claims.
    pub unclaimed: Vec<Span>,
}

/// All that the page of a session needs.
#[derive(Debug, Clone)]
pub struct Desk {
    /// The session.
    pub card: SessionCard,
    /// A part of its commands.
    pub slice: Slice,
    /// Its notes.
    pub notes: Vec<Note>,
    /// What follows; `None` while it takes too long to wait for.
    pub understanding: Option<Arc<Understanding>>,
    /// The newest sessions, this one among them.
    pub others: Vec<SessionCard>,
}

/// A command or a line of output that was searched for.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The session.
    pub session: SessionId,
    /// The session's title.
    pub title: String,
    /// What it is: `command`, `output`, `note`, `postmortem`, `finding`.
    pub kind: String,
    /// The command's number; none for a note or a finding.
    pub number: Option<u32>,
    /// When it began.
    pub at: Micros,
    /// Times in the session are relative.
    pub relative: bool,
    /// The innermost host.
    pub target_host: String,
    /// The command's line.
    pub line: String,
    /// How it ended.
    pub exit: Option<Exit>,
    /// The stream the snippet is from; `None` for the line itself.
    pub stream: Option<Stream>,
    /// Where the snippet lies in its stream, in bytes.
    pub from: u64,
    /// The snippet, as text.
    pub snippet: String,
}

/// What a search found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// How long it took, in milliseconds.
    pub took_ms: f64,
    /// How many there are.
    pub total: u64,
    /// The best of them.
    pub hits: Vec<Hit>,
    /// Why nothing was found, where that can be told.
    pub nothing: Option<String>,
}

/// A playbook as lists show it.
#[derive(Debug, Clone)]
pub struct PlaybookCard {
    /// Its id.
    pub id: String,
    /// Its title, holes and all.
    pub title: String,
    /// Its kind.
    pub kind: String,
    /// How bad.
    pub severity: Severity,
    /// Its version.
    pub version: u32,
    /// It is a person's own, not a shipped one.
    pub own: bool,
    /// How many tests it has.
    pub tests: u64,
    /// How many complaints the lint has.
    pub problems: u64,
}

/// A playbook with all that is said of it.
#[derive(Debug, Clone)]
pub struct PlaybookText {
    /// Its card.
    pub card: PlaybookCard,
    /// Its file's text.
    pub text: String,
    /// What the lint says: line (from 1; 0 for the whole file), and words.
    pub lint: Vec<(usize, String)>,
    /// Its tests: name, whether it passed, and what came of it.
    pub tests: Vec<(String, bool, String)>,
    /// Where its knowledge comes from: words, and an address that may be empty.
    pub references: Vec<(String, String)>,
}

/// What a person thinks of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// It is right, and this hypothesis where one is named.
    Confirm(Option<String>),
    /// It is wrong, because of this.
    Dismiss(String),
}

/// What changed, for pages that are open.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    /// The session it changed in.
    pub session: SessionId,
    /// Its newest event.
    pub seq: i64,
}

/// All data of one home.
#[derive(Debug, Clone)]
pub struct Data {
    home: Home,
    store: Store,
    own_playbooks: Option<PathBuf>,
    changes: broadcast::Sender<Change>,
    understood: Arc<Mutex<understand::Cache>>,
    index: Arc<tokio::sync::Mutex<Option<Index>>>,
    filtered: Arc<Mutex<Option<read::Rows>>>,
}

impl Data {
    /// Another database, or none, lies where the open one was.
    pub fn is_replaced(&self) -> bool {
        self.store.is_replaced()
    }

    /// Opens the data in a home; `own_playbooks` is the folder of a person's own playbooks.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub async fn open(home: &Path, own_playbooks: Option<PathBuf>) -> Result<Self, Failure> {
        let store = mend::open(&Home::at(home)).await.map_err(Failure::from)?;
        Ok(Self {
            home: Home::at(home),
            store,
            own_playbooks,
            changes: broadcast::channel(64).0,
            understood: Arc::default(),
            index: Arc::default(),
            filtered: Arc::default(),
        })
    }

    /// Closes the store, so that the next process has nothing to read first.
    pub async fn close(self) {
        self.store.close().await;
    }

    /// Tells of changes from now on.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// All that the page of a session needs.
    ///
    /// # Errors
    /// When there is no such session, or the store does not answer.
    pub async fn desk(&self, key: &str, want: &Selection) -> Result<Desk, Failure> {
        let card = self.session(key).await?;
        Ok(Desk {
            slice: self.commands(&card, want).await?,
            notes: self.notes(card.id).await?,
            understanding: self.understanding(&card).await?,
            others: self.sessions(RECENT).await?,
            card,
        })
    }

    /// All that the page of a command needs.
    ///
    /// # Errors
    /// When there is no such command, or the store does not answer.
    pub async fn command_desk(
        &self,
        key: &str,
        number: u32,
    ) -> Result<(SessionCard, Recorded, Option<Arc<Understanding>>), Failure> {
        let card = self.session(key).await?;
        let recorded = self.command(card.id, number).await?;
        let understanding = self.understanding(&card).await?;
        Ok((card, recorded, understanding))
    }
}

/// Sessions beside a timeline.
const RECENT: u32 = 12;
