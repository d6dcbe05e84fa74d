//! Checking the log: its order, each session's chain of hashes, and the content they speak of.

use std::collections::{HashMap, HashSet};

use sqlx::FromRow;

use super::content::Row;
use super::log::{EventRow, genesis};
use super::{Store, StoreError};
use crate::event::{Event, salted_hash};
use crate::id::ContentId;

/// Rows read at a time.
const BATCH: u32 = 2_000;
/// Problems named at most; the rest are counted.
const NAMED: usize = 100;

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// Events that were checked.
    pub events: u64,
    /// Sessions they belong to.
    pub sessions: u64,
    /// Pieces of content that were checked.
    pub contents: u64,
    /// Pieces of content that were erased on demand.
    pub erased: u64,
    /// What is wrong, in the order of the log; the first hundred.
    pub problems: Vec<Problem>,
    /// How many more problems there are.
    pub more_problems: u64,
}

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The event it is about, where it is about one.
    pub seq: Option<i64>,
    /// What is wrong, in words.
    pub text: String,
}

impl Verified {
    /// Nothing is wrong.
    pub fn is_ok(&self) -> bool {
        self.problems.is_empty()
    }

    /// The first event that is not as it was written.
    pub fn first_bad_seq(&self) -> Option<i64> {
        self.problems.iter().filter_map(|problem| problem.seq).min()
    }

    fn problem(&mut self, seq: impl Into<Option<i64>>, text: String) {
        if self.problems.len() < NAMED {
            self.problems.push(Problem {
                seq: seq.into(),
                text,
            });
        } else {
            self.more_problems += 1;
        }
    }
}

/// What the log says of a piece of content.
struct Mention {
    seq: i64,
    len_bytes: u64,
    salted_hash: String,
}

#[derive(Default)]
struct Check {
    found: Verified,
    chains: HashMap<String, (i64, Vec<u8>)>,
    mentions: HashMap<ContentId, Mention>,
    erased: HashSet<ContentId>,
    last_seq: i64,
}

impl Check {
    fn event(&mut self, row: &EventRow) {
        self.found.events += 1;
        let seq = row.seq;
        if seq > self.last_seq + 1 {
            let missing = seq - self.last_seq - 1;
            self.found.problem(
                seq,
                format!("{missing} event(s) before event {seq} are missing"),
            );
        }
        self.last_seq = seq;
        let (version, prev) = self
            .chains
            .remove(&row.session)
            .unwrap_or_else(|| (0, genesis(&row.session).to_vec()));
        if row.session_version != version + 1 {
            self.found.problem(
                seq,
                format!(
                    "event {seq} is number {} of session {}, and number {} was expected",
                    row.session_version,
                    row.session,
                    version + 1
                ),
            );
        }
        if row.prev_hash != prev {
            self.found.problem(
                seq,
                format!("event {seq} does not follow the event before it in its session"),
            );
        }
        if row.hash != row.hashed().after(&row.prev_hash) {
            self.found
                .problem(seq, format!("event {seq} was changed after it was written"));
        }
        self.chains
            .insert(row.session.clone(), (row.session_version, row.hash.clone()));
        match row.decode() {
            Ok(envelope) => self.mentions_of(seq, &envelope.event),
            Err(error) => {
                let words = match &error {
                    StoreError::BadEvent { source, .. } => source.to_string(),
                    other => other.to_string(),
                };
                self.found.problem(seq, format!("event {seq}: {words}"));
            }
        }
    }

    fn mentions_of(&mut self, seq: i64, event: &Event) {
        for content in event.contents() {
            self.mentions.insert(
                content.id,
                Mention {
                    seq,
                    len_bytes: content.len_bytes,
                    salted_hash: content.salted_hash.clone(),
                },
            );
        }
        if let Event::ContentErased { contents, .. } = event {
            self.erased.extend(contents);
        }
    }

    fn content(&mut self, row: Row) {
        self.found.contents += 1;
        let name = row.name().to_owned();
        let Ok(content) = row.read() else {
            self.found
                .problem(None, format!("content {name} does not read"));
            return;
        };
        let erased = self.erased.contains(&content.id);
        let Some(mention) = self.mentions.remove(&content.id) else {
            self.found
                .problem(None, format!("no event speaks of content {name}"));
            return;
        };
        let seq = mention.seq;
        match content.kept {
            None if erased => self.found.erased += 1,
            None => self.found.problem(
                seq,
                format!("content {name} of event {seq} is gone, and no event says it was erased"),
            ),
            Some(_) if erased => self.found.problem(
                seq,
                format!("content {name} of event {seq} was to be erased and is still there"),
            ),
            Some((salt, bytes)) => {
                if bytes.len() as u64 != mention.len_bytes
                    || salted_hash(&salt, &bytes) != mention.salted_hash
                {
                    self.found.problem(
                        seq,
                        format!("content {name} of event {seq} is not what was recorded"),
                    );
                }
            }
        }
    }

    fn finish(mut self, newest_ever: i64) -> Verified {
        if newest_ever > self.last_seq {
            self.found.problem(
                self.last_seq + 1,
                format!(
                    "the last {} event(s) of the log are missing",
                    newest_ever - self.last_seq
                ),
            );
        }
        let mut gone: Vec<(i64, ContentId)> = self
            .mentions
            .iter()
            .map(|(id, mention)| (mention.seq, *id))
            .collect();
        gone.sort();
        for (seq, id) in gone {
            self.found
                .problem(seq, format!("content {id} of event {seq} is missing"));
        }
        self.found.sessions = self.chains.len() as u64;
        self.found
    }
}

#[derive(FromRow)]
struct Placed {
    place: i64,
    #[sqlx(flatten)]
    row: Row,
}

impl Store {
    /// Checks every event and every piece of content.
    ///
    /// # Errors
    /// When the database does not answer; what is wrong with the record is in the result.
    pub async fn verify(&self) -> Result<Verified, StoreError> {
        let mut check = Check::default();
        loop {
            let rows: Vec<EventRow> = sqlx::query_as(
                "select seq, id, session, session_version, kind, version, at_us, body, prev_hash,
                        hash
                 from events where seq > ? order by seq limit ?",
            )
            .bind(check.last_seq)
            .bind(BATCH)
            .fetch_all(&self.pool)
            .await
            .map_err(|error| self.error(error))?;
            if rows.is_empty() {
                break;
            }
            for row in &rows {
                check.event(row);
            }
        }
        let mut place = 0;
        loop {
            let rows: Vec<Placed> = sqlx::query_as(
                "select rowid as place, id, kind, len_bytes, codec, salt, bytes
                 from contents where rowid > ? order by rowid limit 64",
            )
            .bind(place)
            .fetch_all(&self.pool)
            .await
            .map_err(|error| self.error(error))?;
            let Some(last) = rows.last() else {
                break;
            };
            place = last.place;
            for placed in rows {
                check.content(placed.row);
            }
        }
        // A rolled back append gives its numbers back, so the log has no holes, and the number that
        // was given last is that of its last event.
        let newest_ever: Option<i64> =
            sqlx::query_scalar("select seq from sqlite_sequence where name = 'events'")
                .fetch_optional(&self.pool)
                .await
                .map_err(|error| self.error(error))?;
        Ok(check.finish(newest_ever.unwrap_or(0)))
    }
}
