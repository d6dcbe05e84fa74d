//! Dropping everything derived and making it again.

use crate::index::{self, Index, IndexError};
use crate::projection::{facts, fold};
use crate::store::Store;

/// Empties the read tables, facts, stored findings and the search index, and makes them again from
/// the log. Findings are made again when a session is next diagnosed.
///
/// # Errors
/// When an event does not read, or the database or the index cannot be written.
pub async fn rebuild(store: &Store) -> Result<(), IndexError> {
    store.clear_projections().await?;
    fold::catch_up(store).await?;
    facts::refresh_all(store).await?;
    index::remove(store.home())?;
    Index::open(store.home())?.catch_up(store).await?;
    Ok(())
}
