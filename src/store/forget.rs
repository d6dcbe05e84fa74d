//! Erasing content on demand: an event says so, then the bytes go, then what was derived from them.

use std::time::Duration;

use sqlx::SqliteConnection;

use super::content;
use super::log::append_within;
use super::{Store, StoreError};
use crate::event::{Event, NewEvent};
use crate::id::{CommandId, ContentId, SessionId};
use crate::time::Micros;

/// How often emptying the log is tried while others read.
const CHECKPOINT_TRIES: usize = 50;

/// What was erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Forgotten {
    /// Pieces of content.
    pub contents: usize,
    /// Bytes in them.
    pub bytes: u64,
}

impl Store {
    /// Erases a command's line and output. Its events stay, and the chain still verifies.
    ///
    /// What was derived from it (facts, findings of its session) goes in the same transaction; the
    /// search index is told by the event. The freed pages are overwritten, and the database's log is
    /// emptied, so that the bytes are in none of its files afterwards.
    ///
    /// # Errors
    /// When the command runs, is not known, or the database cannot be written.
    pub async fn forget(&self, command: CommandId, at: Micros) -> Result<Forgotten, StoreError> {
        let events = self.load_command(command).await?;
        let mut contents: Vec<(ContentId, u64)> = Vec::new();
        let mut erased: Vec<ContentId> = Vec::new();
        let mut started = None;
        let mut ended = false;
        for envelope in &events {
            match &envelope.event {
                Event::CommandStarted { number, .. } => {
                    started = Some((envelope.session, *number));
                }
                Event::CommandEnded { .. } => ended = true,
                Event::ContentErased { contents, .. } => erased.extend(contents),
                _ => {}
            }
            for content in envelope.event.contents() {
                contents.push((content.id, content.len_bytes));
            }
        }
        let Some((session, number)) = started else {
            return Err(StoreError::NotFound {
                what: "command",
                text: command.to_string(),
            });
        };
        if !ended {
            return Err(StoreError::StillRunning { number });
        }
        contents.retain(|(id, _)| !erased.contains(id));
        let forgotten = Forgotten {
            contents: contents.len(),
            bytes: contents.iter().map(|(_, len)| len).sum(),
        };
        if contents.is_empty() {
            return Ok(forgotten);
        }

        let ids: Vec<ContentId> = contents.iter().map(|(id, _)| *id).collect();
        let mut tx = self.write().await?;
        let event = Event::ContentErased {
            contents: ids.clone(),
            command: Some(command),
        };
        append_within(self, &mut tx, session, vec![NewEvent::bare(at, event)]).await?;
        let mut touched = vec![(command.to_string(), session.to_string())];
        for (other, of_session, shared) in self.sharing(&mut tx, command, &ids).await? {
            touched.push((other.to_string(), of_session.to_string()));
            let event = Event::ContentErased {
                contents: shared,
                command: Some(other),
            };
            append_within(self, &mut tx, of_session, vec![NewEvent::bare(at, event)]).await?;
        }
        for id in ids {
            content::erase(&mut tx, id)
                .await
                .map_err(|error| self.error(error))?;
        }
        for (command, session) in &touched {
            for (statement, subject) in [
                ("delete from facts where command = ?", command),
                ("delete from readings where command = ?", command),
                ("delete from findings where session = ?", session),
                ("delete from diagnosed where session = ?", session),
            ] {
                sqlx::query(statement)
                    .bind(subject)
                    .execute(&mut *tx)
                    .await
                    .map_err(|error| self.error(error))?;
            }
        }
        tx.commit().await.map_err(|error| self.error(error))?;
        self.empty_log().await?;
        Ok(forgotten)
    }

    /// Other commands whose output is kept in the same content (a recorder within a recorded command),
    /// with what they share.
    async fn sharing(
        &self,
        connection: &mut SqliteConnection,
        command: CommandId,
        contents: &[ContentId],
    ) -> Result<Vec<(CommandId, SessionId, Vec<ContentId>)>, StoreError> {
        let list = serde_json::to_string(contents).unwrap_or_default();
        // No index: this reads all of the log, and people forget rarely.
        let rows: Vec<(String, String, String)> = sqlx::query_as(
            "select command, session, body ->> '$.content.id' from events
             where kind = 'output_recorded' and command <> ?
               and body ->> '$.content.id' in (select value from json_each(?))
             order by command",
        )
        .bind(command.to_string())
        .bind(list)
        .fetch_all(connection)
        .await
        .map_err(|error| self.error(error))?;
        let mut sharing: Vec<(CommandId, SessionId, Vec<ContentId>)> = Vec::new();
        for (command, session, content) in rows {
            let (Ok(command), Ok(session), Ok(content)) =
                (command.parse(), session.parse(), content.parse())
            else {
                continue;
            };
            match sharing.last_mut() {
                Some((last, _, contents)) if *last == command => contents.push(content),
                _ => sharing.push((command, session, vec![content])),
            }
        }
        Ok(sharing)
    }

    /// Moves the database's log into the database and empties it: until then it still holds what was
    /// written before. Waits for readers to let go.
    async fn empty_log(&self) -> Result<(), StoreError> {
        for _ in 0..CHECKPOINT_TRIES {
            let (busy, _, _): (i64, i64, i64) = sqlx::query_as("pragma wal_checkpoint(truncate)")
                .fetch_one(&self.pool)
                .await
                .map_err(|error| self.error(error))?;
            if busy == 0 {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(StoreError::Busy {
            path: self.path.clone(),
        })
    }
}
