//! Content on its way into the log, and events with the content they refer to.
//!
//! An event holds a [`ContentRef`] and never the bytes. The hash in it is salted, so that once salt
//! and bytes are erased it tells nobody what they were; until then `rec verify` can check them.

use super::{ContentRef, Event};
use crate::id::{ContentId, EventId, SessionId};
use crate::time::Micros;

/// What a piece of content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContentKind {
    /// A command line.
    Line,
    /// Output of a command.
    Output,
    /// A session's title.
    Title,
    /// A note.
    Note,
    /// Why a finding was dismissed.
    Reason,
    /// A postmortem.
    Postmortem,
}

impl ContentKind {
    /// Its name in the database and in exports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Output => "output",
            Self::Title => "title",
            Self::Note => "note",
            Self::Reason => "reason",
            Self::Postmortem => "postmortem",
        }
    }

    /// The kind of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        [
            Self::Line,
            Self::Output,
            Self::Title,
            Self::Note,
            Self::Reason,
            Self::Postmortem,
        ]
        .into_iter()
        .find(|kind| kind.name() == name)
    }
}

/// A piece of content on its way into the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewContent {
    id: ContentId,
    kind: ContentKind,
    salt: Vec<u8>,
    bytes: Vec<u8>,
}

/// The most that one piece of content may hold; longer output is several pieces.
pub const CONTENT_MAX_BYTES: usize = 64 << 20;

impl NewContent {
    /// Takes bytes, with a fresh id and a fresh salt.
    pub fn new(kind: ContentKind, bytes: impl Into<Vec<u8>>) -> Self {
        // Two ids hold 148 random bits between them; the hash spreads them over the salt.
        let mut hasher = blake3::Hasher::new();
        for _ in 0..2 {
            hasher.update(ContentId::new().uuid().as_bytes());
        }
        let salt = hasher.finalize().as_bytes()[..16].to_vec();
        Self {
            id: ContentId::new(),
            kind,
            salt,
            bytes: bytes.into(),
        }
    }

    /// Takes bytes that already have an id and a salt: an import of our own export.
    pub fn existing(id: ContentId, kind: ContentKind, salt: Vec<u8>, bytes: Vec<u8>) -> Self {
        Self {
            id,
            kind,
            salt,
            bytes,
        }
    }

    /// What an event says of it.
    pub fn reference(&self) -> ContentRef {
        ContentRef {
            id: self.id,
            len_bytes: self.bytes.len() as u64,
            salted_hash: salted_hash(&self.salt, &self.bytes),
        }
    }

    /// Its id.
    pub fn id(&self) -> ContentId {
        self.id
    }

    /// What it is.
    pub fn kind(&self) -> ContentKind {
        self.kind
    }

    /// Its salt.
    pub fn salt(&self) -> &[u8] {
        &self.salt
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Hex BLAKE3 of a salt and the bytes it belongs to.
pub fn salted_hash(salt: &[u8], bytes: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(salt.len() as u64).to_le_bytes());
    hasher.update(salt);
    hasher.update(bytes);
    hasher.finalize().to_hex().to_string()
}

/// Content as it comes out of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredContent {
    /// Which.
    pub id: ContentId,
    /// What it is.
    pub kind: ContentKind,
    /// Its salt and bytes; `None` once erased.
    pub kept: Option<(Vec<u8>, Vec<u8>)>,
}

/// An event exactly as a log holds it, with its content: what an export carries to another store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Which event.
    pub id: EventId,
    /// Its session.
    pub session: SessionId,
    /// Its place in the session, from 1.
    pub session_version: i64,
    /// Its type.
    pub kind: String,
    /// The version of its type.
    pub version: u32,
    /// When it happened.
    pub at: Micros,
    /// Its body, byte for byte: the hash covers it.
    pub body: String,
    /// The hash of the event before it in its session.
    pub prev_hash: [u8; 32],
    /// Its own.
    pub hash: [u8; 32],
    /// The content it refers to.
    pub contents: Vec<StoredContent>,
}

/// An event on its way into the log, with the content it refers to.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// When it happened.
    pub at: Micros,
    /// What happened.
    pub event: Event,
    /// The content it refers to; every [`ContentRef`] in the event has one here.
    pub contents: Vec<NewContent>,
}

impl NewEvent {
    /// An event without content.
    pub fn bare(at: Micros, event: Event) -> Self {
        Self {
            at,
            event,
            contents: Vec::new(),
        }
    }
}

/// A whole session on its way into the log: what an import makes.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSession {
    /// Which.
    pub session: SessionId,
    /// Its events, the first of which says that it began.
    pub events: Vec<NewEvent>,
}
