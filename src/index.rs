//! The search index: commands, what they printed, notes and findings, as a tantivy index beside the
//! database.
//!
//! A projection like the others: [`Index::catch_up`] follows the read tables, and dropping the folder
//! loses nothing. Text is not stored in it; a hit's line and snippet come from the store, so erased
//! content is not in the index either once it has caught up.
//!
//! A command's line and the first part of each of its streams are one document, further output is
//! one document each 8 KiB: words are looked for together within one of them.

mod query;
mod search;
mod tokens;
mod update;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{IndexWriter, TantivyError};
use thiserror::Error;

use self::tokens::{WORDS, Words};
use self::update::Update;
use crate::capture::home::Home;
use crate::capture::locked;
use crate::capture::sys::words;
use crate::store::{Store, StoreError, make_private_dir};
use crate::time::Micros;

pub use query::BadQuery;
pub use search::{Hit, Hits, Search};

/// The version of what is in the index: another one is made anew.
const VERSION: &str = "1";
/// What the writer may hold in memory.
const WRITER_BYTES: usize = 50_000_000;
/// How often a rebuild asks for an index that another process writes, and when.
const TRIES: u32 = 400;
const PAUSE: Duration = Duration::from_millis(50);

/// Why the index does not answer.
#[derive(Debug, Error)]
pub enum IndexError {
    /// Its folder cannot be used.
    #[error(
        "the search index in {path} cannot be read or written: {}",
        words(source)
    )]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// It is damaged, or another version made it.
    #[error("the search index does not answer: run `rec rebuild`")]
    Engine(TantivyError),
    /// The system keeps it from being read or written.
    #[error("the search index cannot be read or written: {}", words(.0))]
    System(Arc<std::io::Error>),
    /// The store behind it does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another process writes it all the time.
    #[error("the search index is held by another process: wait for it to finish, then try again")]
    Busy,
    /// The query has a part that could only find nothing.
    #[error("the search is not understood: {}", .0.problem)]
    Query(BadQuery),
}

impl From<TantivyError> for IndexError {
    fn from(error: TantivyError) -> Self {
        match systems(&error) {
            Some(source) => Self::System(source),
            None => Self::Engine(error),
        }
    }
}

/// The index's fields.
#[derive(Debug, Clone, Copy)]
struct Fields {
    text: Field,
    flag: Field,
    host: Field,
    exit: Field,
    program: Field,
    session: Field,
    kind: Field,
    at: Field,
    seq: Field,
    /// The command, event or finding: what a document is deleted by.
    subject: Field,
    /// The spans of output that the text came from.
    spans: Field,
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let words = TextFieldIndexing::default()
        .set_tokenizer(WORDS)
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let fields = Fields {
        text: builder.add_text_field("text", TextOptions::default().set_indexing_options(words)),
        flag: builder.add_text_field("flag", STRING),
        host: builder.add_text_field("host", STRING),
        exit: builder.add_text_field("exit", STRING),
        program: builder.add_text_field("program", STRING),
        session: builder.add_text_field("session", STRING | STORED),
        kind: builder.add_text_field("kind", STRING | STORED),
        at: builder.add_i64_field("at", INDEXED | FAST),
        seq: builder.add_u64_field("seq", FAST),
        subject: builder.add_text_field("subject", STRING | STORED),
        spans: builder.add_text_field("spans", TextOptions::default().set_stored()),
    };
    (builder.build(), fields)
}

/// What catching up did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Caught {
    /// Documents that were added.
    pub documents: usize,
    /// Another process writes the index; nothing was done.
    pub busy: bool,
}

/// An open index.
pub struct Index {
    folder: PathBuf,
    index: tantivy::Index,
    reader: tantivy::IndexReader,
    fields: Fields,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Index {
    /// Opens the index in `home`, making it where it is missing or of another version.
    ///
    /// # Errors
    /// When its folder cannot be used.
    pub fn open(home: &Path) -> Result<Self, IndexError> {
        let folder = home.join("index").join(format!("v{VERSION}"));
        make_private_dir(&folder)?;
        let (schema, fields) = schema();
        let open = || {
            let directory = tantivy::directory::MmapDirectory::open(&folder)
                .map_err(TantivyError::OpenDirectoryError)?;
            tantivy::Index::open_or_create(directory, schema.clone())
        };
        let index = match open() {
            Ok(index) => index,
            // Whatever is wrong with what it holds: all of it follows from the log.
            Err(error) if !is_the_systems(&error) => {
                let _lock = mending(home)?;
                // Another process may have been quicker.
                match open() {
                    Ok(index) => index,
                    Err(error) if is_the_systems(&error) => return Err(error.into()),
                    Err(_) => {
                        remove(home)?;
                        make_private_dir(&folder)?;
                        open()?
                    }
                }
            }
            Err(TantivyError::OpenDirectoryError(OpenDirectoryError::DoesNotExist(_))) => {
                // Another process that mends it took the folder away in between.
                let _lock = mending(home)?;
                make_private_dir(&folder)?;
                open()?
            }
            Err(error) => return Err(error.into()),
        };
        index
            .tokenizers()
            .register(WORDS, TextAnalyzer::builder(Words::default()).build());
        let reader = index
            .reader_builder()
            .reload_policy(tantivy::ReloadPolicy::Manual)
            .try_into()?;
        Ok(Self {
            folder,
            index,
            reader,
            fields,
        })
    }

    /// How far it has followed the log.
    ///
    /// # Errors
    /// When its list of files does not read.
    pub fn checkpoint(&self) -> Result<i64, IndexError> {
        Ok(self.mark()?.map_or(0, |mark| mark.0))
    }

    /// How far it has followed the log, and which event stood there.
    fn mark(&self) -> Result<Option<(i64, String)>, IndexError> {
        let payload = self.index.load_metas()?.payload.unwrap_or_default();
        let (seq, event) = payload.split_once(' ').unwrap_or((&payload, ""));
        Ok(seq.parse().ok().map(|seq| (seq, event.to_owned())))
    }

    /// Makes everything in the index of the store's home anew. Who searches meanwhile finds what was
    /// there before; who writes it is waited for.
    ///
    /// # Errors
    /// As [`Index::catch_up`].
    pub async fn renew(store: &Store) -> Result<(), IndexError> {
        for _ in 0..TRIES {
            let renewed = match Self::open(store.home()) {
                Ok(mut index) => index.follow(store, true).await,
                Err(error) => Err(error),
            };
            match renewed {
                Ok(Caught { busy: false, .. }) => return Ok(()),
                Ok(_) => tokio::time::sleep(PAUSE).await,
                // It does not hold together: from nothing, then.
                Err(IndexError::Engine(_)) => {
                    let _lock = mending(store.home())?;
                    remove(store.home())?;
                }
                Err(error) => return Err(error),
            }
        }
        Err(IndexError::Busy)
    }

    /// Follows the read tables. One process writes at a time; where another does, this one leaves it
    /// to that.
    ///
    /// # Errors
    /// When the index cannot be written or the store does not answer.
    pub async fn catch_up(&mut self, store: &Store) -> Result<Caught, IndexError> {
        self.follow(store, false).await
    }

    async fn follow(&mut self, store: &Store, anew: bool) -> Result<Caught, IndexError> {
        let (mut from, event) = self.mark()?.unwrap_or_default();
        // Where another event stands there now, it followed another log: one that was damaged, lost,
        // or is newer than the backup that lies in its place.
        let stale = anew || (from > 0 && store.event_at(from).await? != Some(event));
        if stale {
            from = 0;
            if !store.is_read_only() {
                store.set_nothing_indexed().await?;
            }
        }
        let to = store.read_tables_at().await?;
        let findings = if store.is_read_only() {
            Vec::new()
        } else {
            store.findings_to_index().await?
        };
        if from >= to && findings.is_empty() && !stale {
            return Ok(Caught::default());
        }
        let writer: IndexWriter = match self.index.writer_with_num_threads(1, WRITER_BYTES) {
            Ok(writer) => writer,
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) => {
                return Ok(Caught {
                    documents: 0,
                    busy: true,
                });
            }
            Err(error) => return Err(error.into()),
        };
        if stale {
            writer.delete_all_documents()?;
        }
        // What is there is replaced at once: until then a search finds the old.
        let mut update = Update::new(self, writer, stale);
        update.follow(store, from, to, &findings).await?;
        let documents = update.documents;
        update.finish()?;
        if !findings.is_empty() {
            store.set_findings_indexed(&findings).await?;
        }
        self.reader.reload()?;
        Ok(Caught {
            documents,
            busy: false,
        })
    }
}

/// Searches the index in `home` after bringing it up to date; the newest first.
///
/// # Errors
/// When the query is refused, or the index or the store does not answer.
pub async fn search(
    home: &Home,
    store: &Store,
    query: &str,
    limit: usize,
) -> Result<Hits, IndexError> {
    let mut index = Index::open(home.path())?;
    index.catch_up(store).await?;
    let search = Search {
        query,
        limit,
        skip: 0,
        now: Micros::now(),
    };
    index.search(store, search).await
}

/// Whether the system refused, and what the index holds may be in order.
fn is_the_systems(error: &TantivyError) -> bool {
    systems(error).is_some()
        || matches!(
            error,
            TantivyError::OpenDirectoryError(_) | TantivyError::LockFailure(..)
        )
}

/// What the system said, where it was the system. A file of the index that is not there is the index's.
fn systems(error: &TantivyError) -> Option<Arc<std::io::Error>> {
    let source = match error {
        TantivyError::IoError(source) => source,
        TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error, .. })
        | TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. }) => io_error,
        TantivyError::LockFailure(LockError::IoError(source), _) => source,
        _ => return None,
    };
    Some(Arc::clone(source))
}

/// Held while a damaged index is replaced.
fn mending(home: &Path) -> Result<File, IndexError> {
    let path = home.join("index.lock");
    locked::hold(&path).map_err(|source| IndexError::Folder { path, source })
}

/// What a folder of an index that goes is called.
const GONE: &str = "index.gone-";

/// Removes the index in `home`; it is made again when it is next opened. It goes at once: nobody finds
/// half of one.
///
/// # Errors
/// When the system refuses.
pub fn remove(home: &Path) -> Result<(), IndexError> {
    let folder = home.join("index");
    let refused = |source| IndexError::Folder {
        path: folder.clone(),
        source,
    };
    let gone = home.join(format!("{GONE}{}", uuid::Uuid::new_v4()));
    match fs::rename(&folder, &gone) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(refused)?,
    }
    // What an end in the middle left behind goes as well.
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(GONE) && entry.path() != gone {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
    fs::remove_dir_all(&gone).map_err(refused)
}
