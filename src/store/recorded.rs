//! Events from one store to another, byte for byte, so that their chains still hold.

use thiserror::Error;

use super::content;
use super::log::{EventRow, Hashed, genesis, insert_event, tip};
use super::{Store, StoreError};
use crate::event::{Event, Recorded, salted_hash};
use crate::id::SessionId;

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restored {
    /// Sessions that were in it, in the order they came.
    pub sessions: Vec<SessionId>,
    /// Events that are new here.
    pub new_events: usize,
    /// Events that were here already.
    pub known_events: usize,
}

/// Why events were not restored. Nothing was written then.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// An event is not what its hash says.
    #[error("event {version} of session {session} was changed after it was recorded")]
    Changed {
        /// The session.
        session: SessionId,
        /// Its place there.
        version: i64,
    },
    /// Events before it are missing, here and in what is restored.
    #[error("session {session} goes on with event {found}, and event {expected} is missing")]
    Hole {
        /// The session.
        session: SessionId,
        /// The one that comes.
        found: i64,
        /// The one that should.
        expected: i64,
    },
    /// The session went on differently here.
    #[error(
        "session {session} holds another event {version} in this store: it was continued in both \
         places, and both cannot be kept"
    )]
    Forked {
        /// The session.
        session: SessionId,
        /// The first place where they differ.
        version: i64,
    },
    /// Content of an event is not there or not what the event says.
    #[error("content of event {version} of session {session} is missing or was changed")]
    Content {
        /// The session.
        session: SessionId,
        /// Its place there.
        version: i64,
    },
    /// An event does not read.
    #[error("event {version} of session {session} does not read")]
    Unreadable {
        /// The session.
        session: SessionId,
        /// Its place there.
        version: i64,
        /// Why.
        #[source]
        source: crate::event::BadBody,
    },
    /// The store does not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// How many events a session has.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn session_events(&self, session: SessionId) -> Result<i64, StoreError> {
        sqlx::query_scalar("select coalesce(max(session_version), 0) from events where session = ?")
            .bind(session.to_string())
            .fetch_one(&self.pool)
            .await
            .map_err(|error| self.error(error))
    }

    /// Events of a session after a place in it, with their content, at most `limit`: what an export
    /// is made of.
    ///
    /// # Errors
    /// When one does not read or the database does not answer.
    pub async fn recorded(
        &self,
        session: SessionId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Recorded>, StoreError> {
        // Index: (session, session_version), unique.
        let rows: Vec<EventRow> = sqlx::query_as(
            "select seq, id, session, session_version, kind, version, at_us, body, prev_hash, hash
             from events where session = ? and session_version > ?
             order by session_version limit ?",
        )
        .bind(session.to_string())
        .bind(after)
        .bind(limit)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        let mut events = Vec::with_capacity(rows.len());
        for row in rows {
            let envelope = row.decode()?;
            let bad = || StoreError::BadRow {
                what: format!("event {}", row.seq),
            };
            let mut contents = Vec::new();
            for reference in envelope.event.contents() {
                contents.push(self.stored_content(reference.id).await?);
            }
            events.push(Recorded {
                id: envelope.id,
                session,
                session_version: row.session_version,
                version: u32::try_from(row.version).map_err(|_| bad())?,
                at: envelope.at,
                prev_hash: row.prev_hash.as_slice().try_into().map_err(|_| bad())?,
                hash: row.hash.as_slice().try_into().map_err(|_| bad())?,
                kind: row.kind,
                body: row.body,
                contents,
            });
        }
        Ok(events)
    }

    /// Takes in events of another store, all or none. Those that are here already are passed over.
    ///
    /// # Errors
    /// When they do not fit: changed, with holes, or continued differently here.
    pub async fn restore(&self, events: &[Recorded]) -> Result<Restored, RestoreError> {
        let mut restored = Restored::default();
        let mut tx = self.write().await?;
        for event in events {
            if !restored.sessions.contains(&event.session) {
                restored.sessions.push(event.session);
            }
            let (session, version) = (event.session, event.session_version);
            let text = session.to_string();
            let fields = Hashed {
                id: &event.id.to_string(),
                session: &text,
                session_version: version,
                kind: &event.kind,
                version: i64::from(event.version),
                at_us: event.at.0,
                body: &event.body,
            };
            if fields.after(&event.prev_hash) != event.hash {
                return Err(RestoreError::Changed { session, version });
            }
            let here: Option<Vec<u8>> = sqlx::query_scalar(
                "select hash from events where session = ? and session_version = ?",
            )
            .bind(&text)
            .bind(version)
            .fetch_optional(&mut *tx)
            .await
            .map_err(|error| self.error(error))?;
            if let Some(hash) = here {
                if hash != event.hash {
                    return Err(RestoreError::Forked { session, version });
                }
                restored.known_events += 1;
                continue;
            }
            let (last, prev) = tip(&mut tx, &text)
                .await
                .map_err(|error| self.error(error))?
                .map_or_else(|| (0, genesis(&text)), |tip| (tip.version, tip.hash));
            if version != last + 1 {
                return Err(RestoreError::Hole {
                    session,
                    found: version,
                    expected: last + 1,
                });
            }
            if event.prev_hash != prev {
                return Err(RestoreError::Forked {
                    session,
                    version: last,
                });
            }
            let decoded =
                Event::decode(&event.kind, event.version, &event.body).map_err(|source| {
                    RestoreError::Unreadable {
                        session,
                        version,
                        source,
                    }
                })?;
            self.restore_contents(&mut tx, event, &decoded).await?;
            insert_event(&mut tx, &fields, &prev)
                .await
                .map_err(|error| self.error(error))?;
            if let Event::ContentErased { contents, .. } = &decoded {
                for id in contents {
                    content::erase(&mut tx, *id)
                        .await
                        .map_err(|error| self.error(error))?;
                }
            }
            restored.new_events += 1;
        }
        tx.commit().await.map_err(|error| self.error(error))?;
        Ok(restored)
    }

    /// Stores the content of a restored event, after checking that it is what the event says.
    async fn restore_contents(
        &self,
        connection: &mut sqlx::SqliteConnection,
        event: &Recorded,
        decoded: &Event,
    ) -> Result<(), RestoreError> {
        let wrong = || RestoreError::Content {
            session: event.session,
            version: event.session_version,
        };
        for reference in decoded.contents() {
            let stored = event
                .contents
                .iter()
                .find(|content| content.id == reference.id)
                .ok_or_else(wrong)?;
            // Two events may share content: a recorder within a recorded command.
            if content::is_there(connection, stored.id)
                .await
                .map_err(|error| self.error(error))?
            {
                continue;
            }
            match &stored.kept {
                None => {
                    content::insert_erased(connection, stored.id, stored.kind, reference.len_bytes)
                        .await
                }
                Some((salt, bytes)) => {
                    if bytes.len() as u64 != reference.len_bytes
                        || salted_hash(salt, bytes) != reference.salted_hash
                    {
                        return Err(wrong());
                    }
                    let new = crate::event::NewContent::existing(
                        stored.id,
                        stored.kind,
                        salt.clone(),
                        bytes.clone(),
                    );
                    content::insert(connection, &new).await
                }
            }
            .map_err(|error| self.error(error))?;
        }
        Ok(())
    }
}
