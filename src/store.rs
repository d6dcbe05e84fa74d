//! The store: SQLite in one room.
//!
//! `events` and `contents` are the record (see `migrations/`); everything else in the database is a
//! projection of them that [`crate::projection`] writes and `rec rebuild` makes again. Nothing
//! outside this module speaks SQL, and nothing here decides what a fact or a finding is.
//!
//! Every write is one `begin immediate` transaction: a deferred one that starts by reading fails
//! when another writer was quicker.

mod content;
mod error;
mod facts;
mod find;
mod findings;
mod fold;
mod forget;
mod log;
mod mend;
mod open;
mod output;
mod read;
mod recorded;
mod salvage;
mod seen;
mod verify;

use std::path::{Path, PathBuf};

use sqlx::sqlite::SqlitePool;
use sqlx::{Sqlite, Transaction};

pub use error::StoreError;
pub use facts::{NewReading, ReadCommand, StoredReading};
pub use find::FoundCommand;
pub use findings::{Diagnosed, FindingRow};
pub use fold::{Change, CommandBegan};
pub use forget::Forgotten;
pub use log::{Appended, Batch, Spooled};
pub use open::make_private_dir;
pub use output::{Piece, Streams};
pub use read::{CommandRow, JudgementRow, NoteRow, Page, SessionRow};
pub use recorded::{RestoreError, Restored};
pub use salvage::Salvaged;
pub use seen::{PastErrorRow, PastFindingRow};
pub use verify::{Problem, Verified};

/// An open database.
#[derive(Debug, Clone)]
pub struct Store {
    home: PathBuf,
    path: PathBuf,
    pool: SqlitePool,
    read_only: bool,
    /// It was opened for reading because no space is left.
    full: bool,
    /// It was made just now.
    new: bool,
    /// The open file's device and number.
    file: Option<(u64, u64)>,
}

impl Store {
    fn new(home: &Path, path: PathBuf, pool: SqlitePool, read_only: bool) -> Self {
        let file = open::identity(&path);
        Self {
            home: home.to_owned(),
            path,
            pool,
            read_only,
            full: false,
            new: false,
            file,
        }
    }

    /// The folder it is in.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// It was opened for reading only.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// It was opened for reading only because no space is left.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Whether the disk that it is on has no room now.
    pub fn disk_is_full(&self) -> bool {
        error::is_full(&self.home)
    }

    /// There was none before it was opened.
    pub fn is_new(&self) -> bool {
        self.new
    }

    /// Another file, or none, lies where the open one was: what is read here is not what others see.
    pub fn is_replaced(&self) -> bool {
        open::identity(&self.path) != self.file
    }

    /// Closes it. Without this the next process has the log beside the database to read first.
    pub async fn close(self) {
        self.pool.close().await;
    }

    fn error(&self, error: sqlx::Error) -> StoreError {
        StoreError::of(&self.path, error)
    }

    /// Begins a transaction that writes.
    async fn write(&self) -> Result<Transaction<'static, Sqlite>, StoreError> {
        if self.full {
            return Err(StoreError::Full {
                path: self.path.clone(),
            });
        }
        if self.read_only {
            return Err(StoreError::ReadOnly {
                path: self.path.clone(),
            });
        }
        // What is written into a file that was moved away would not be there for anybody else, and
        // the spools it came from would be gone.
        if self.is_replaced() {
            return Err(StoreError::Replaced {
                path: self.path.clone(),
            });
        }
        self.pool
            .begin_with("begin immediate")
            .await
            .map_err(|error| self.error(error))
    }

    /// The last event's place in the log; 0 when it is empty.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn head(&self) -> Result<i64, StoreError> {
        sqlx::query_scalar("select coalesce(max(seq), 0) from events")
            .fetch_one(&self.pool)
            .await
            .map_err(|error| self.error(error))
    }
}

/// Runs a future to its end on this thread: the rim between a command line and the store.
///
/// # Errors
/// When the system gives no resources for a runtime.
pub fn block_on<F: Future>(future: F) -> std::io::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(future))
}
