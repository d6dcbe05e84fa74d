//! Content beside the log: output, command lines, notes and titles, packed where that gains
//! anything.

use std::collections::HashMap;

use sqlx::{FromRow, SqliteConnection};

use super::{Store, StoreError};
use crate::event::{CONTENT_MAX_BYTES, ContentKind, NewContent, StoredContent};
use crate::id::ContentId;

/// Below this compressing gains nothing.
const SMALL: usize = 96;
/// Level 1: on server logs level 3 gains 4 % less than it costs, and level 9 is ten times slower.
const ZSTD_LEVEL: i32 = 1;

#[derive(FromRow)]
pub(super) struct Row {
    id: String,
    kind: String,
    len_bytes: i64,
    codec: String,
    salt: Option<Vec<u8>>,
    bytes: Option<Vec<u8>>,
}

impl Row {
    pub(super) fn name(&self) -> &str {
        &self.id
    }

    pub(super) fn read(self) -> Result<StoredContent, StoreError> {
        let bad = |id: &str| StoreError::BadRow {
            what: format!("content {id}"),
        };
        let id = self.id.parse().map_err(|_| bad(&self.id))?;
        let kind = ContentKind::of_name(&self.kind).ok_or_else(|| bad(&self.id))?;
        let kept = match (self.codec.as_str(), self.salt, self.bytes) {
            ("erased", _, _) => None,
            ("raw", Some(salt), Some(bytes)) => Some((salt, bytes)),
            ("zstd", Some(salt), Some(packed)) => {
                let capacity = usize::try_from(self.len_bytes)
                    .ok()
                    .filter(|len| *len <= CONTENT_MAX_BYTES)
                    .ok_or_else(|| bad(&self.id))?;
                let bytes = zstd::bulk::decompress(&packed, capacity).map_err(|_| bad(&self.id))?;
                Some((salt, bytes))
            }
            _ => return Err(bad(&self.id)),
        };
        Ok(StoredContent { id, kind, kept })
    }
}

/// Stores a piece of content.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    content: &NewContent,
) -> sqlx::Result<()> {
    let packed = (content.bytes().len() >= SMALL)
        .then(|| zstd::bulk::compress(content.bytes(), ZSTD_LEVEL).ok())
        .flatten()
        .filter(|packed| packed.len() < content.bytes().len());
    let codec = if packed.is_some() { "zstd" } else { "raw" };
    sqlx::query(
        "insert into contents (id, kind, len_bytes, codec, salt, bytes) values (?, ?, ?, ?, ?, ?)",
    )
    .bind(content.id().to_string())
    .bind(content.kind().name())
    .bind(i64::try_from(content.bytes().len()).unwrap_or(i64::MAX))
    .bind(codec)
    .bind(content.salt())
    .bind(packed.as_deref().unwrap_or_else(|| content.bytes()))
    .execute(connection)
    .await?;
    Ok(())
}

/// Whether content of that name is stored, erased or not.
pub(super) async fn is_there(
    connection: &mut SqliteConnection,
    id: ContentId,
) -> sqlx::Result<bool> {
    sqlx::query_scalar("select exists (select 1 from contents where id = ?)")
        .bind(id.to_string())
        .fetch_one(connection)
        .await
}

/// Stores content that is erased already: an import of what was exported after it was.
pub(super) async fn insert_erased(
    connection: &mut SqliteConnection,
    id: ContentId,
    kind: ContentKind,
    len_bytes: u64,
) -> sqlx::Result<()> {
    sqlx::query("insert into contents (id, kind, len_bytes, codec) values (?, ?, ?, 'erased')")
        .bind(id.to_string())
        .bind(kind.name())
        .bind(i64::try_from(len_bytes).unwrap_or(i64::MAX))
        .execute(connection)
        .await?;
    Ok(())
}

/// Erases a piece of content; an event that says so is in the log already.
pub(super) async fn erase(connection: &mut SqliteConnection, id: ContentId) -> sqlx::Result<()> {
    sqlx::query("update contents set codec = 'erased', salt = null, bytes = null where id = ?")
        .bind(id.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

impl Store {
    /// The bytes of a piece of content; `None` once erased.
    ///
    /// # Errors
    /// When it is not there, does not read, or the database does not answer.
    pub async fn content(&self, id: ContentId) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self
            .stored_content(id)
            .await?
            .kept
            .map(|(_salt, bytes)| bytes))
    }

    /// A piece of content with its salt, as an export needs it.
    ///
    /// # Errors
    /// As [`Store::content`].
    pub async fn stored_content(&self, id: ContentId) -> Result<StoredContent, StoreError> {
        let row: Option<Row> = sqlx::query_as(
            "select id, kind, len_bytes, codec, salt, bytes from contents where id = ?",
        )
        .bind(id.to_string())
        .fetch_optional(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        row.ok_or_else(|| StoreError::BadRow {
            what: format!("content {id}"),
        })?
        .read()
    }

    /// Many pieces of content at once; those that are erased are left out.
    ///
    /// # Errors
    /// As [`Store::content`], but one that is not there is left out as well.
    pub async fn contents(
        &self,
        ids: &[ContentId],
    ) -> Result<HashMap<ContentId, Vec<u8>>, StoreError> {
        let mut found = HashMap::with_capacity(ids.len());
        for some in ids.chunks(4096) {
            let list = serde_json::to_string(some).unwrap_or_default();
            // By primary key: one look-up an id.
            let rows: Vec<Row> = sqlx::query_as(
                "select c.id, c.kind, c.len_bytes, c.codec, c.salt, c.bytes
                 from json_each(?) as wanted join contents as c on c.id = wanted.value",
            )
            .bind(list)
            .fetch_all(&self.pool)
            .await
            .map_err(|error| self.error(error))?;
            for row in rows {
                let content = row.read()?;
                if let Some((_salt, bytes)) = content.kept {
                    found.insert(content.id, bytes);
                }
            }
        }
        Ok(found)
    }
}
