//! What people type to name a session, a command or a finding: an id, a unique prefix of one, a
//! command's number, `last`.
//!
//! Sessions and commands are found in the log itself, so that `rec timeline` and `rec show` need no
//! projection.

use super::{Store, StoreError};
use crate::id::{CommandId, FindingId, SessionId};

/// A command that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundCommand {
    /// Which.
    pub id: CommandId,
    /// Its session.
    pub session: SessionId,
    /// Its number there.
    pub number: u32,
}

/// How many matches of an ambiguous prefix are named.
const NAMED: usize = 5;

/// The bounds between which every text with this prefix lies.
fn bounds(letter: char, text: &str) -> (String, String) {
    let text = text.to_ascii_lowercase();
    let whole = if text.starts_with(&format!("{letter}-")) {
        text
    } else {
        format!("{letter}-{text}")
    };
    // Ids are ASCII letters and digits: `~` sorts after all of them.
    let end = format!("{whole}~");
    (whole, end)
}

fn bad(what: &str) -> StoreError {
    StoreError::BadRow {
        what: what.to_owned(),
    }
}

/// Takes the only match.
fn only(what: &'static str, text: &str, found: Vec<String>) -> Result<String, StoreError> {
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (None, _) => Err(StoreError::NotFound {
            what,
            text: text.to_owned(),
        }),
        (Some(one), None) => Ok(one),
        (Some(one), Some(two)) => Err(StoreError::Ambiguous {
            text: text.to_owned(),
            matches: [one, two].into_iter().chain(found).take(NAMED).collect(),
        }),
    }
}

/// An empty name is a variable that was never set, and means nothing: least of all the last.
fn nothing(what: &'static str) -> StoreError {
    StoreError::NotFound {
        what,
        text: String::new(),
    }
}

impl Store {
    /// Finds a session by id, unique prefix (with or without `s-`) or `last`: the one that the
    /// newest event belongs to.
    ///
    /// # Errors
    /// When nothing or more than one matches.
    pub async fn find_session(&self, text: &str) -> Result<SessionId, StoreError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(nothing("session"));
        }
        if text == "last" {
            return self
                .last_session()
                .await?
                .ok_or(StoreError::Empty { what: "session" });
        }
        let (from, to) = bounds(SessionId::LETTER, text);
        // Index: (session, session_version), unique.
        let found: Vec<String> = sqlx::query_scalar(
            "select session from events
             where session >= ? and session < ? and session_version = 1 limit 6",
        )
        .bind(from)
        .bind(to)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        only("session", text, found)?
            .parse()
            .map_err(|_| bad("a session id"))
    }

    /// The session that the newest event belongs to.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn last_session(&self) -> Result<Option<SessionId>, StoreError> {
        let found: Option<String> =
            sqlx::query_scalar("select session from events order by seq desc limit 1")
                .fetch_optional(&self.pool)
                .await
                .map_err(|error| self.error(error))?;
        found
            .map(|text| text.parse().map_err(|_| bad("a session id")))
            .transpose()
    }

    /// Finds a command by id, unique prefix, number within `session`, or `last`.
    ///
    /// # Errors
    /// When nothing or more than one matches.
    pub async fn find_command(
        &self,
        session: SessionId,
        text: &str,
    ) -> Result<FoundCommand, StoreError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(nothing("command"));
        }
        if text == "last" {
            // Index: events_number.
            let found: Option<String> = sqlx::query_scalar(
                "select command from events where session = ? and kind = 'command_started'
                 order by body ->> '$.number' desc limit 1",
            )
            .bind(session.to_string())
            .fetch_optional(&self.pool)
            .await
            .map_err(|error| self.error(error))?;
            return match found {
                Some(id) => self.found(&id).await,
                None => Err(StoreError::Empty { what: "command" }),
            };
        }
        if let Ok(number) = text.trim_start_matches('#').parse::<u32>() {
            return self.find_number(session, number, text).await;
        }
        let (from, to) = bounds(CommandId::LETTER, text);
        // Index: events_command.
        let found: Vec<String> = sqlx::query_scalar(
            "select distinct command from events where command >= ? and command < ? limit 6",
        )
        .bind(from)
        .bind(to)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        let id = only("command", text, found)?;
        self.found(&id).await
    }

    async fn find_number(
        &self,
        session: SessionId,
        number: u32,
        text: &str,
    ) -> Result<FoundCommand, StoreError> {
        // Index: events_number.
        let found: Vec<String> = sqlx::query_scalar(
            "select command from events where session = ? and kind = 'command_started'
             and body ->> '$.number' = ? limit 6",
        )
        .bind(session.to_string())
        .bind(number)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        let id = only("command", text, found)?;
        self.found(&id).await
    }

    /// Where a command began.
    async fn found(&self, id: &str) -> Result<FoundCommand, StoreError> {
        // Index: events_command.
        let found: Option<(String, i64)> = sqlx::query_as(
            "select session, body ->> '$.number' from events
             where command = ? and kind = 'command_started' limit 1",
        )
        .bind(id)
        .fetch_optional(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        let (session, number) = found.ok_or_else(|| StoreError::NotFound {
            what: "command",
            text: id.to_owned(),
        })?;
        Ok(FoundCommand {
            id: id.parse().map_err(|_| bad("a command id"))?,
            session: session.parse().map_err(|_| bad("a session id"))?,
            number: u32::try_from(number).map_err(|_| bad("a command's number"))?,
        })
    }

    /// Finds a finding by id or unique prefix among those that were last diagnosed, with the session
    /// it was last seen in.
    ///
    /// # Errors
    /// When nothing or more than one matches.
    pub async fn find_finding(&self, text: &str) -> Result<(FindingId, SessionId), StoreError> {
        let text = text.trim();
        let (from, to) = bounds(FindingId::LETTER, text);
        // Index: findings_id.
        let found: Vec<(String, String)> = sqlx::query_as(
            "select f.id, f.session from findings as f join sessions as s on s.id = f.session
             where f.id >= ? and f.id < ? order by s.last_seq desc limit 64",
        )
        .bind(from)
        .bind(to)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        let mut ids: Vec<String> = found.iter().map(|(id, _)| id.clone()).collect();
        ids.sort();
        ids.dedup();
        let id = only("finding", text, ids)?;
        let session = found
            .into_iter()
            .find(|(found, _)| *found == id)
            .map(|(_, session)| session)
            .unwrap_or_default();
        Ok((
            id.parse().map_err(|_| bad("a finding id"))?,
            session.parse().map_err(|_| bad("a session id"))?,
        ))
    }
}
