//! What still reads of a damaged database, into a new one: events byte for byte, as far as each
//! session's chain goes without a hole, with the content that reads.

use std::collections::BTreeMap;
use std::path::Path;

use super::log::{EventRow, Spooled, set_ingested};
use super::open::{options, pool};
use super::{Store, StoreError};
use crate::event::{ContentKind, Event, NewEvent, Recorded, StoredContent};
use crate::id::{ContentId, SessionId};
use crate::time::Micros;

/// Events read, and written in one transaction, at a time.
const BATCH: i64 = 200;
/// So many places in a row that do not read are the end, where the log does not say where that is.
const HOPELESS: i64 = 2_000;

/// What was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Salvaged {
    /// Events that are in the new database.
    pub events: u64,
    /// Events that are not, as far as is known.
    pub lost_events: u64,
    /// Pieces of content that are not, of events that are.
    pub lost_contents: u64,
}

/// Takes over what reads of the database at `from` into the new one at `to`.
pub(super) async fn salvage(home: &Path, from: &Path, to: &Path) -> Result<Salvaged, StoreError> {
    let old = Store::new(
        home,
        from.to_owned(),
        pool(options(from).read_only(true)),
        true,
    );
    let new = Store::new(home, to.to_owned(), pool(options(to)), false);
    let mut work = Work {
        old,
        new,
        saved: Salvaged::default(),
        erased: BTreeMap::new(),
    };
    let done = work.run().await;
    work.old.close().await;
    work.new.close().await;
    done.map(|()| work.saved)
}

struct Work {
    old: Store,
    new: Store,
    saved: Salvaged,
    /// Content that does not read, by the session that speaks of it.
    erased: BTreeMap<SessionId, Vec<ContentId>>,
}

impl Work {
    async fn run(&mut self) -> Result<(), StoreError> {
        let there: Result<i64, _> =
            sqlx::query_scalar("select count(*) from sqlite_schema where name = 'events'")
                .fetch_one(&self.old.pool)
                .await;
        if !matches!(there, Ok(1)) {
            return Ok(());
        }
        let last = self.last().await;
        let mut at = 0;
        let mut failed = 0;
        while last.is_none_or(|last| at < last) && failed < HOPELESS {
            match self.rows(at, BATCH).await {
                Ok(rows) => {
                    let Some(end) = rows.last() else { break };
                    at = end.seq;
                    failed = 0;
                    self.keep(rows).await?;
                }
                // One place at a time through the part that does not read.
                Err(_) => {
                    for _ in 0..BATCH {
                        match self.rows(at, 1).await {
                            Ok(rows) => {
                                at += 1;
                                failed = if rows.is_empty() { failed + 1 } else { 0 };
                                self.keep(rows).await?;
                            }
                            Err(_) => {
                                at += 1;
                                failed += 1;
                                self.saved.lost_events += u64::from(last.is_some());
                            }
                        }
                        if last.is_some_and(|last| at >= last) {
                            break;
                        }
                    }
                }
            }
        }
        self.say_erased().await?;
        self.checkpoints().await
    }

    /// The last event's place, where the database still says.
    async fn last(&self) -> Option<i64> {
        for question in [
            "select max(seq) from events",
            "select seq from sqlite_sequence where name = 'events'",
        ] {
            let answer: Result<Option<i64>, _> =
                sqlx::query_scalar(question).fetch_one(&self.old.pool).await;
            if let Ok(Some(last)) = answer {
                return Some(last);
            }
        }
        None
    }

    async fn rows(&self, after: i64, limit: i64) -> Result<Vec<EventRow>, StoreError> {
        // A single one is asked for by its place, so that those around it need not read.
        let upto = if limit == 1 { after + 1 } else { i64::MAX };
        sqlx::query_as(
            "select seq, id, session, session_version, kind, version, at_us, body, prev_hash, hash
             from events where seq > ? and seq <= ? order by seq limit ?",
        )
        .bind(after)
        .bind(upto)
        .bind(limit)
        .fetch_all(&self.old.pool)
        .await
        .map_err(|error| self.old.error(error))
    }

    async fn keep(&mut self, rows: Vec<EventRow>) -> Result<(), StoreError> {
        let mut events = Vec::with_capacity(rows.len());
        for row in rows {
            match self.recorded(row).await {
                Some(event) => events.push(event),
                None => self.saved.lost_events += 1,
            }
        }
        if self.new.restore(&events).await.is_ok() {
            self.saved.events += events.len() as u64;
            return Ok(());
        }
        // One of them does not fit: a hole before it, or a change.
        for event in events {
            match self.new.restore(std::slice::from_ref(&event)).await {
                Ok(_) => self.saved.events += 1,
                Err(super::RestoreError::Store(error)) => return Err(error),
                Err(_) => self.saved.lost_events += 1,
            }
        }
        Ok(())
    }

    /// An event with its content, as far as that reads; none where the event itself does not.
    async fn recorded(&mut self, row: EventRow) -> Option<Recorded> {
        let envelope = row.decode().ok()?;
        let mut contents = Vec::new();
        for reference in envelope.event.contents() {
            let stored = match self.old.stored_content(reference.id).await {
                Ok(stored) if reads(&stored, reference) => stored,
                _ => {
                    self.saved.lost_contents += 1;
                    let erased = self.erased.entry(envelope.session).or_default();
                    erased.push(reference.id);
                    StoredContent {
                        id: reference.id,
                        kind: kind_of(&envelope.event),
                        kept: None,
                    }
                }
            };
            contents.push(stored);
        }
        Some(Recorded {
            id: envelope.id,
            session: envelope.session,
            session_version: row.session_version,
            version: u32::try_from(row.version).ok()?,
            at: envelope.at,
            prev_hash: row.prev_hash.as_slice().try_into().ok()?,
            hash: row.hash.as_slice().try_into().ok()?,
            kind: row.kind,
            body: row.body,
            contents,
        })
    }

    /// Content that does not read is gone as if it had been erased, and an event says so.
    async fn say_erased(&mut self) -> Result<(), StoreError> {
        for (session, mut contents) in std::mem::take(&mut self.erased) {
            let mut there = Vec::new();
            contents.dedup();
            for id in contents {
                if self.new.stored_content(id).await.is_ok() {
                    there.push(id);
                }
            }
            if there.is_empty() {
                continue;
            }
            let event = Event::ContentErased {
                contents: there,
                command: None,
            };
            let event = NewEvent::bare(Micros::now(), event);
            self.new.append(session, vec![event], None).await?;
        }
        Ok(())
    }

    /// How far spools were taken in, of commands whose events are here: of the others their spools,
    /// where there are any, are read from the beginning.
    async fn checkpoints(&mut self) -> Result<(), StoreError> {
        let rows: Vec<(String, i64, i64)> =
            sqlx::query_as("select spool, offset_bytes, done from ingested")
                .fetch_all(&self.old.pool)
                .await
                .unwrap_or_default();
        let mut tx = self.new.write().await?;
        for (spool, offset, done) in rows {
            let known: bool =
                sqlx::query_scalar("select exists (select 1 from events where command = ?)")
                    .bind(&spool)
                    .fetch_one(&mut *tx)
                    .await
                    .map_err(|error| self.new.error(error))?;
            let spooled = Spooled {
                spool,
                offset_bytes: u64::try_from(offset).unwrap_or(0),
                done: done != 0,
            };
            if known {
                set_ingested(&mut tx, &spooled)
                    .await
                    .map_err(|error| self.new.error(error))?;
            }
        }
        tx.commit().await.map_err(|error| self.new.error(error))
    }
}

fn reads(stored: &StoredContent, reference: &crate::event::ContentRef) -> bool {
    stored
        .kept
        .as_ref()
        .is_none_or(|(salt, bytes)| crate::event::salted_hash(salt, bytes) == reference.salted_hash)
}

fn kind_of(event: &Event) -> ContentKind {
    match event {
        Event::SessionStarted { .. } => ContentKind::Title,
        Event::CommandStarted { .. } => ContentKind::Line,
        Event::OutputRecorded { .. } => ContentKind::Output,
        Event::PostmortemSaved { .. } => ContentKind::Postmortem,
        Event::FindingDismissed { .. } => ContentKind::Reason,
        _ => ContentKind::Note,
    }
}
