//! What can go wrong with a store, told so that a person knows what to do.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::event::BadBody;

/// Why the store could not do what was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    /// No database there yet, and it was to be opened for reading only.
    #[error("nothing is recorded yet: there is no database at {path}")]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The folder or file cannot be made or written.
    #[error("cannot write to {path}")]
    Unwritable {
        /// The folder or file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// The store was opened for reading only.
    #[error("{path} can only be read here: its folder or file is not writable")]
    ReadOnly {
        /// The database.
        path: PathBuf,
    },
    /// A newer program wrote the database.
    #[error(
        "{path} was written by a newer version of rec (database version {found}; this one knows \
         {known}): install that version or newer, or set REC_HOME to another folder"
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// The file is something else.
    #[error("{path} is not a casebook database: move it away, or set REC_HOME to another folder")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged.
    #[error(
        "{path} is damaged ({why}): move it away, and what still waits to be taken in goes into a \
         new one"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Another file lies where the open one was.
    #[error("{path} was moved or replaced while it was open: start this again")]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// The disk did not do what was asked of it.
    #[error(
        "the disk did not read or write {path} as it should: look at its space, its limits and \
         the kernel's messages, then try again"
    )]
    Disk {
        /// The file.
        path: PathBuf,
    },
    /// No space is left.
    #[error("no space is left for {path}: free some, then run the command again")]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process holds the database for too long.
    #[error("{path} is held by another process: wait for it to finish, then try again")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Nothing has that name.
    #[error("no {what} matches `{text}`")]
    NotFound {
        /// session, command or finding.
        what: &'static str,
        /// What was asked for.
        text: String,
    },
    /// There is none at all.
    #[error("no {what} is recorded yet")]
    Empty {
        /// session, command or finding.
        what: &'static str,
    },
    /// Several have that prefix.
    #[error("`{text}` could be any of {}: type more of it", matches.join(", "))]
    Ambiguous {
        /// What was asked for.
        text: String,
        /// The first few that match.
        matches: Vec<String>,
    },
    /// The command still runs, and what it prints could not be erased before it is printed.
    #[error("command {number} is still running: stop it first, then forget it")]
    StillRunning {
        /// Its number.
        number: u32,
    },
    /// A session began twice, or an event came that the log already has.
    #[error("the log already holds {what}")]
    Exists {
        /// What.
        what: String,
    },
    /// An event in the log does not read.
    #[error("event {seq} does not read: run `rec verify`")]
    BadEvent {
        /// Where it is.
        seq: i64,
        /// Why.
        #[source]
        source: BadBody,
    },
    /// A stored value is not what this program writes there.
    #[error("{what} does not read: run `rec verify`, then `rec rebuild`")]
    BadRow {
        /// Which value.
        what: String,
    },
    /// Anything else SQLite said.
    #[error("the database at {path} answers: {}", words(said))]
    Database {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        said: sqlx::Error,
    },
}

impl StoreError {
    /// Sorts SQLite's answer by what a person can do about it.
    pub(super) fn of(path: &Path, source: sqlx::Error) -> Self {
        let path = path.to_owned();
        let code = match &source {
            sqlx::Error::Database(error) => error
                .code()
                .and_then(|code| code.parse::<u32>().ok())
                .map(|code| code & 0xff),
            sqlx::Error::PoolTimedOut => Some(5),
            sqlx::Error::Io(_) => Some(10),
            _ => None,
        };
        let damaged = |path, why: &str| Self::Damaged {
            path,
            why: why.to_owned(),
        };
        match code {
            Some(5 | 6) => Self::Busy { path },
            Some(8) => Self::ReadOnly { path },
            Some(10 | 14) if is_full(&path) => Self::Full { path },
            Some(10) => Self::Disk { path },
            Some(11) => damaged(path, "a part of it does not read"),
            Some(13) => Self::Full { path },
            Some(26) => damaged(path, "it is no database any more"),
            _ => Self::Database { path, said: source },
        }
    }

    /// Whether the database could be read if it were opened for reading only.
    pub fn is_read_only(&self) -> bool {
        matches!(self, Self::ReadOnly { .. } | Self::Unwritable { .. })
    }
}

/// Whether no room is left where a file is.
pub(super) fn is_full(path: &Path) -> bool {
    let folder = if path.is_dir() {
        path
    } else {
        path.parent().unwrap_or(path)
    };
    rustix::fs::statvfs(folder)
        .is_ok_and(|disk| disk.f_bavail == 0 || (disk.f_files > 0 && disk.f_favail == 0))
}

/// SQLite's own words, without the library's.
fn words(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        other => other.to_string(),
    }
}
