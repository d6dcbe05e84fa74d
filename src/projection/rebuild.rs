//! Dropping everything derived and making it again.

use crate::projection::{facts, fold};
use crate::store::{Store, StoreError};

/// Empties the read tables, facts and findings and makes them again from the log.
///
/// # Errors
/// When an event does not read, or the database cannot be written.
pub async fn rebuild(store: &Store) -> Result<(), StoreError> {
    store.clear_projections().await?;
    fold::catch_up(store).await?;
    facts::refresh_all(store).await
}
