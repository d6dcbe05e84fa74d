//! Dropping everything derived and making it again.

use std::fs::File;

use crate::capture::locked;
use crate::index::{Index, IndexError};
use crate::projection::{facts, fold};
use crate::store::{Store, StoreError};

/// Makes the read tables, facts and the search index again from the log. Findings are made again when
/// a session is next diagnosed.
///
/// One process does so at a time, another waits. Who reads meanwhile sees what was there before.
///
/// # Errors
/// When an event does not read, or the database or the index cannot be written.
pub async fn rebuild(store: &Store) -> Result<(), IndexError> {
    // Where nothing can be written there is nothing to keep others from; the first write says so.
    let _lock = if store.is_read_only() {
        None
    } else {
        Some(lock(store)?)
    };
    fold::again(store).await?;
    facts::refresh_all(store).await?;
    Index::renew(store).await?;
    Ok(())
}

/// Held while a rebuild is at work.
fn lock(store: &Store) -> Result<File, StoreError> {
    let path = store.home().join("rebuild.lock");
    locked::hold(&path).map_err(|source| StoreError::Unwritable { path, source })
}
