//! Erasing a command's content everywhere it lies: the store, a spool set aside, the search index.

use std::fs;
use std::io;

use thiserror::Error;

use crate::capture::home::Home;
use crate::id::CommandId;
use crate::index::{Index, IndexError};
use crate::projection::fold;
use crate::store::{Forgotten, Store, StoreError};
use crate::time::Micros;

/// Why a command was not forgotten everywhere.
#[derive(Debug, Error)]
pub enum ForgetError {
    /// The store did not do it, and nothing was erased.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The record is erased, but a damaged spool that holds the same bytes is still there.
    #[error("the record is erased, but {path} is still there: delete it")]
    Spool {
        /// The spool.
        path: std::path::PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The record is erased, but the search index still finds it.
    #[error(
        "the record is erased, but the search index still holds words of it: run `rec rebuild`"
    )]
    Index(#[from] IndexError),
}

/// Erases a command's line and output. That it ran stays on record.
///
/// Waiting spools must have been taken in ([`mod@super::ingest`]).
///
/// # Errors
/// When the command runs or is not known; or when a copy outside the store could not be erased.
pub async fn forget(
    home: &Home,
    store: &Store,
    command: CommandId,
    at: Micros,
) -> Result<Forgotten, ForgetError> {
    let forgotten = store.forget(command, at).await?;
    let path = home
        .spool_dir()
        .join("broken")
        .join(format!("{command}.spool"));
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(ForgetError::Spool { path, source });
        }
        _ => {}
    }
    fold::catch_up(store).await?;
    if home.index_dir().exists() {
        Index::open(store.home())?.catch_up(store).await?;
    }
    Ok(forgotten)
}
