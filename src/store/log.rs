//! The event log: appending in one transaction, chaining hashes, reading a session back.

use sqlx::{FromRow, SqliteConnection};

use super::content;
use super::{Store, StoreError};
use crate::event::{Envelope, Event, NewEvent};
use crate::id::{CommandId, EventId, SessionId};
use crate::time::Micros;

/// How far a spool has been taken in, once the events beside it are in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spooled {
    /// The spool's name.
    pub spool: String,
    /// The next byte to read.
    pub offset_bytes: u64,
    /// Nothing more will come.
    pub done: bool,
}

/// Events for one session.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// Which session.
    pub session: SessionId,
    /// The events, in order.
    pub events: Vec<NewEvent>,
    /// The spool they came from.
    pub from: Option<Spooled>,
}

/// What an append did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The last event's place in the log.
    pub seq: i64,
    /// The session had no event before.
    pub session_began: bool,
}

/// The fields that an event's hash covers. `seq` is not one: it differs between two stores.
pub(super) struct Hashed<'a> {
    pub(super) id: &'a str,
    pub(super) session: &'a str,
    pub(super) session_version: i64,
    pub(super) kind: &'a str,
    pub(super) version: i64,
    pub(super) at_us: i64,
    pub(super) body: &'a str,
}

impl Hashed<'_> {
    /// The event's hash: BLAKE3 over the hash before it and its own fields, each with its length.
    pub(super) fn after(&self, prev: &[u8]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        for part in [
            prev,
            self.id.as_bytes(),
            self.session.as_bytes(),
            &self.session_version.to_le_bytes(),
            self.kind.as_bytes(),
            &self.version.to_le_bytes(),
            &self.at_us.to_le_bytes(),
            self.body.as_bytes(),
        ] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        *hasher.finalize().as_bytes()
    }
}

/// The hash that stands before a session's first event.
pub(super) fn genesis(session: &str) -> [u8; 32] {
    *blake3::hash(format!("casebook session {session}").as_bytes()).as_bytes()
}

/// An event as it stands in the log, undecoded.
#[derive(Debug, Clone, FromRow)]
pub(super) struct EventRow {
    pub(super) seq: i64,
    pub(super) id: String,
    pub(super) session: String,
    pub(super) session_version: i64,
    pub(super) kind: String,
    pub(super) version: i64,
    pub(super) at_us: i64,
    pub(super) body: String,
    pub(super) prev_hash: Vec<u8>,
    pub(super) hash: Vec<u8>,
}

impl EventRow {
    pub(super) fn hashed(&self) -> Hashed<'_> {
        Hashed {
            id: &self.id,
            session: &self.session,
            session_version: self.session_version,
            kind: &self.kind,
            version: self.version,
            at_us: self.at_us,
            body: &self.body,
        }
    }

    pub(super) fn decode(&self) -> Result<Envelope, StoreError> {
        let bad = || StoreError::BadRow {
            what: format!("event {}", self.seq),
        };
        let version = u32::try_from(self.version).map_err(|_| bad())?;
        let event = Event::decode(&self.kind, version, &self.body).map_err(|source| {
            StoreError::BadEvent {
                seq: self.seq,
                source,
            }
        })?;
        Ok(Envelope {
            seq: self.seq,
            id: self.id.parse().map_err(|_| bad())?,
            session: self.session.parse().map_err(|_| bad())?,
            session_version: self.session_version,
            at: Micros(self.at_us),
            event,
        })
    }
}

/// The end of a session's chain: the next version and the hash to go on from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tip {
    pub(super) version: i64,
    pub(super) hash: [u8; 32],
}

/// Where a session's chain ends.
pub(super) async fn tip(
    connection: &mut SqliteConnection,
    session: &str,
) -> sqlx::Result<Option<Tip>> {
    // Index: (session, session_version), unique.
    let row: Option<(i64, Vec<u8>)> = sqlx::query_as(
        "select session_version, hash from events where session = ?
         order by session_version desc limit 1",
    )
    .bind(session)
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|(version, hash)| Tip {
        version,
        hash: hash.try_into().unwrap_or([0; 32]),
    }))
}

/// Writes one event row, its hash included.
pub(super) async fn insert_event(
    connection: &mut SqliteConnection,
    fields: &Hashed<'_>,
    prev: &[u8; 32],
) -> sqlx::Result<(i64, [u8; 32])> {
    let hash = fields.after(prev);
    let done = sqlx::query(
        "insert into events
            (id, session, session_version, kind, version, at_us, body, prev_hash, hash)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(fields.id)
    .bind(fields.session)
    .bind(fields.session_version)
    .bind(fields.kind)
    .bind(fields.version)
    .bind(fields.at_us)
    .bind(fields.body)
    .bind(&prev[..])
    .bind(&hash[..])
    .execute(connection)
    .await?;
    Ok((done.last_insert_rowid(), hash))
}

/// Appends events to a session's chain, within a transaction that is already open.
pub(super) async fn append_within(
    store: &Store,
    connection: &mut SqliteConnection,
    session: SessionId,
    events: Vec<NewEvent>,
) -> Result<Appended, StoreError> {
    let session_text = session.to_string();
    let before = tip(&mut *connection, &session_text)
        .await
        .map_err(|error| store.error(error))?;
    let starts = matches!(
        events.first(),
        Some(NewEvent {
            event: Event::SessionStarted { .. },
            ..
        })
    );
    if before.is_some() && starts {
        return Err(StoreError::Exists {
            what: format!("session {session}"),
        });
    }
    // A session's first event says that it began, whoever comes first.
    let opening = match (&before, starts, events.first()) {
        (None, false, Some(first)) => Some(NewEvent::bare(
            first.at,
            Event::SessionStarted {
                title: None,
                automatic: true,
                relative_time: false,
            },
        )),
        _ => None,
    };
    let mut at = before.unwrap_or(Tip {
        version: 0,
        hash: genesis(&session_text),
    });
    let mut seq = 0;
    for new in opening.into_iter().chain(events) {
        for content in &new.contents {
            content::insert(&mut *connection, content)
                .await
                .map_err(|error| store.error(error))?;
        }
        let body = new.event.encode().map_err(|_| StoreError::BadRow {
            what: format!("a new {} event", new.event.kind()),
        })?;
        at.version += 1;
        let fields = Hashed {
            id: &EventId::new().to_string(),
            session: &session_text,
            session_version: at.version,
            kind: new.event.kind(),
            version: i64::from(new.event.version()),
            at_us: new.at.0,
            body: &body,
        };
        (seq, at.hash) = insert_event(&mut *connection, &fields, &at.hash)
            .await
            .map_err(|error| store.error(error))?;
    }
    Ok(Appended {
        seq,
        session_began: before.is_none(),
    })
}

pub(super) async fn set_ingested(
    connection: &mut SqliteConnection,
    spooled: &Spooled,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into ingested (spool, offset_bytes, done) values (?, ?, ?)
         on conflict (spool) do update
         set offset_bytes = excluded.offset_bytes, done = excluded.done",
    )
    .bind(&spooled.spool)
    .bind(i64::try_from(spooled.offset_bytes).unwrap_or(i64::MAX))
    .bind(i64::from(spooled.done))
    .execute(connection)
    .await?;
    Ok(())
}

impl Store {
    /// Appends events to a session in one transaction, with their content and, where they came from
    /// a spool, how far that has been read. A session without events is begun first.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing was.
    pub async fn append(
        &self,
        session: SessionId,
        events: Vec<NewEvent>,
        from: Option<&Spooled>,
    ) -> Result<Appended, StoreError> {
        let batch = Batch {
            session,
            events,
            from: from.cloned(),
        };
        self.append_all(vec![batch]).await
    }

    /// Appends several batches in one transaction; tells of the last one.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub async fn append_all(&self, batches: Vec<Batch>) -> Result<Appended, StoreError> {
        let mut tx = self.write().await?;
        let mut appended = Appended {
            seq: 0,
            session_began: false,
        };
        for batch in batches {
            appended = append_within(self, &mut tx, batch.session, batch.events).await?;
            if let Some(spooled) = &batch.from {
                set_ingested(&mut tx, spooled)
                    .await
                    .map_err(|error| self.error(error))?;
            }
        }
        tx.commit().await.map_err(|error| self.error(error))?;
        Ok(appended)
    }

    /// How far a spool has been taken in; `None` when nothing of it was.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn ingested(&self, spool: &str) -> Result<Option<Spooled>, StoreError> {
        let row: Option<(i64, i64)> =
            sqlx::query_as("select offset_bytes, done from ingested where spool = ?")
                .bind(spool)
                .fetch_optional(&self.pool)
                .await
                .map_err(|error| self.error(error))?;
        Ok(row.map(|(offset, done)| Spooled {
            spool: spool.to_owned(),
            offset_bytes: u64::try_from(offset).unwrap_or(0),
            done: done != 0,
        }))
    }

    /// All events of a session, in order.
    ///
    /// # Errors
    /// When one does not read or the database does not answer.
    pub async fn load_session(&self, session: SessionId) -> Result<Vec<Envelope>, StoreError> {
        self.session_rows(session)
            .await?
            .iter()
            .map(EventRow::decode)
            .collect()
    }

    pub(super) async fn session_rows(
        &self,
        session: SessionId,
    ) -> Result<Vec<EventRow>, StoreError> {
        // Index: (session, session_version), unique.
        sqlx::query_as(
            "select seq, id, session, session_version, kind, version, at_us, body, prev_hash, hash
             from events where session = ? order by session_version",
        )
        .bind(session.to_string())
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))
    }

    /// All events of a command, in order.
    ///
    /// # Errors
    /// As [`Store::load_session`].
    pub async fn load_command(&self, command: CommandId) -> Result<Vec<Envelope>, StoreError> {
        // Index: events_command.
        let rows: Vec<EventRow> = sqlx::query_as(
            "select seq, id, session, session_version, kind, version, at_us, body, prev_hash, hash
             from events where command = ? order by seq",
        )
        .bind(command.to_string())
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        rows.iter().map(EventRow::decode).collect()
    }

    /// Events after a place in the log, at most `limit`, in order.
    ///
    /// # Errors
    /// As [`Store::load_session`].
    pub async fn events_after(&self, seq: i64, limit: u32) -> Result<Vec<Envelope>, StoreError> {
        let rows: Vec<EventRow> = sqlx::query_as(
            "select seq, id, session, session_version, kind, version, at_us, body, prev_hash, hash
             from events where seq > ? order by seq limit ?",
        )
        .bind(seq)
        .bind(limit)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        rows.iter().map(EventRow::decode).collect()
    }

    /// The id of the event at a place in the log.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn event_at(&self, seq: i64) -> Result<Option<String>, StoreError> {
        sqlx::query_scalar("select id from events where seq = ?")
            .bind(seq)
            .fetch_optional(&self.pool)
            .await
            .map_err(|error| self.error(error))
    }

    /// The numbers of a session's commands, each with the moment it began, in their order.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn numbers(&self, session: SessionId) -> Result<Vec<(u32, Micros)>, StoreError> {
        // Index: events_number.
        let rows: Vec<(i64, i64)> = sqlx::query_as(
            "select body ->> '$.number', at_us from events
             where session = ? and kind = 'command_started' order by body ->> '$.number'",
        )
        .bind(session.to_string())
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        Ok(rows
            .into_iter()
            .filter_map(|(number, at)| Some((u32::try_from(number).ok()?, Micros(at))))
            .collect())
    }

    /// The event that a command began with.
    ///
    /// # Errors
    /// As [`Store::load_session`].
    pub async fn started(&self, command: CommandId) -> Result<Option<Envelope>, StoreError> {
        // Index: events_command.
        let row: Option<EventRow> = sqlx::query_as(
            "select seq, id, session, session_version, kind, version, at_us, body, prev_hash, hash
             from events where command = ? and kind = 'command_started' order by seq limit 1",
        )
        .bind(command.to_string())
        .fetch_optional(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        row.map(|row| row.decode()).transpose()
    }

    /// Whether a command's end is on record.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn has_ended(&self, command: CommandId) -> Result<bool, StoreError> {
        // Index: events_command, from its end.
        sqlx::query_scalar(
            "select exists (
                 select 1 from events where command = ? and kind = 'command_ended'
                 order by seq desc)",
        )
        .bind(command.to_string())
        .fetch_one(&self.pool)
        .await
        .map_err(|error| self.error(error))
    }

    /// Whether a session has any event.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn has_session(&self, session: SessionId) -> Result<bool, StoreError> {
        // Index: (session, session_version), unique.
        sqlx::query_scalar("select exists (select 1 from events where session = ?)")
            .bind(session.to_string())
            .fetch_one(&self.pool)
            .await
            .map_err(|error| self.error(error))
    }
}
