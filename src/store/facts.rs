//! Facts read from output, with what could not be read, a command at a time.

use std::collections::HashMap;

use sqlx::FromRow;

use super::{Store, StoreError};
use crate::event::Exit;
use crate::fact::Observed;
use crate::id::{CommandId, ContentId, SessionId};

/// A command whose output has to be read, or read again.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadCommand {
    /// Which.
    pub id: CommandId,
    /// Its session.
    pub session: SessionId,
    /// Its line's content.
    pub line: ContentId,
    /// Where it was typed.
    pub host: String,
    /// How it ended.
    pub exit: Exit,
    /// Its newest event: what the reading will be current to.
    pub seq: i64,
    /// How much it printed.
    pub bytes: u64,
}

/// A reading on its way into the store.
#[derive(Debug, Clone, PartialEq)]
pub struct NewReading {
    /// Of which command.
    pub command: CommandId,
    /// Its session.
    pub session: SessionId,
    /// The newest event it knew.
    pub seq: i64,
    /// What was read, in order.
    pub facts: Vec<Observed>,
    /// Complaints, as JSON.
    pub complaints: serde_json::Value,
    /// Spans that nobody claims, as JSON.
    pub unclaimed: serde_json::Value,
}

/// A reading as it is stored.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoredReading {
    /// What was read, in order.
    pub facts: Vec<Observed>,
    /// Complaints, as JSON.
    pub complaints: serde_json::Value,
    /// Spans that nobody claims, as JSON.
    pub unclaimed: serde_json::Value,
}

#[derive(FromRow)]
struct RawStale {
    id: String,
    session: String,
    line: String,
    host: String,
    exit: String,
    last_seq: i64,
    bytes: i64,
}

fn bad(what: String) -> StoreError {
    StoreError::BadRow { what }
}

impl Store {
    /// Commands of a session whose reading is missing, behind, or by another reader.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn unread_commands(
        &self,
        session: SessionId,
        reader: &str,
    ) -> Result<Vec<ReadCommand>, StoreError> {
        // Indexes: commands_order, then the readings' primary key.
        let rows: Vec<RawStale> = sqlx::query_as(
            "select c.id, c.session, c.line, c.host, c.exit, c.last_seq,
                    c.stdout_bytes + c.stderr_bytes + c.tty_bytes as bytes
             from commands as c left join readings as r on r.command = c.id
             where c.session = ?
               and (r.command is null or r.seq <> c.last_seq or r.reader <> ?)
             order by c.at_us, c.number",
        )
        .bind(session.to_string())
        .bind(reader)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        rows.into_iter()
            .map(|row| {
                let parse = || bad(format!("command {}", row.id));
                Ok(ReadCommand {
                    id: row.id.parse().map_err(|_| parse())?,
                    session: row.session.parse().map_err(|_| parse())?,
                    line: row.line.parse().map_err(|_| parse())?,
                    host: row.host.clone(),
                    exit: serde_json::from_str(&row.exit).map_err(|_| parse())?,
                    seq: row.last_seq,
                    bytes: u64::try_from(row.bytes).unwrap_or(0),
                })
            })
            .collect()
    }

    /// Replaces the readings of some commands.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing was.
    pub async fn save_readings(
        &self,
        reader: &str,
        readings: &[NewReading],
    ) -> Result<(), StoreError> {
        let mut tx = self.write().await?;
        for reading in readings {
            let command = reading.command.to_string();
            sqlx::query("delete from facts where command = ?")
                .bind(&command)
                .execute(&mut *tx)
                .await
                .map_err(|error| self.error(error))?;
            sqlx::query(
                "insert into readings (command, session, reader, seq, complaints, unclaimed)
                 values (?, ?, ?, ?, ?, ?)
                 on conflict (command) do update
                 set reader = excluded.reader, seq = excluded.seq,
                     complaints = excluded.complaints, unclaimed = excluded.unclaimed",
            )
            .bind(&command)
            .bind(reading.session.to_string())
            .bind(reader)
            .bind(reading.seq)
            .bind(reading.complaints.to_string())
            .bind(reading.unclaimed.to_string())
            .execute(&mut *tx)
            .await
            .map_err(|error| self.error(error))?;
            for (ordinal, fact) in (0_i64..).zip(&reading.facts) {
                let body = serde_json::to_string(fact)
                    .map_err(|_| bad(format!("a fact of command {command}")))?;
                sqlx::query("insert into facts (command, ordinal, fact, body) values (?, ?, ?, ?)")
                    .bind(&command)
                    .bind(ordinal)
                    .bind(fact.fact.name())
                    .bind(body)
                    .execute(&mut *tx)
                    .await
                    .map_err(|error| self.error(error))?;
            }
        }
        tx.commit().await.map_err(|error| self.error(error))
    }

    /// The facts of a session's commands.
    ///
    /// # Errors
    /// When one does not read or the database does not answer.
    pub async fn facts(
        &self,
        session: SessionId,
    ) -> Result<HashMap<CommandId, Vec<Observed>>, StoreError> {
        // Indexes: readings_session, then the facts' primary key.
        let rows: Vec<(String, String)> = sqlx::query_as(
            "select f.command, f.body from readings as r join facts as f on f.command = r.command
             where r.session = ? order by f.command, f.ordinal",
        )
        .bind(session.to_string())
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        let mut facts: HashMap<CommandId, Vec<Observed>> = HashMap::new();
        let mut current: Option<(String, CommandId)> = None;
        for (command, body) in rows {
            let id = match &current {
                Some((text, id)) if *text == command => *id,
                _ => {
                    let id = command
                        .parse()
                        .map_err(|_| bad(format!("command {command}")))?;
                    current = Some((command, id));
                    id
                }
            };
            let fact = serde_json::from_str(&body).map_err(|_| bad(format!("a fact of {id}")))?;
            facts.entry(id).or_default().push(fact);
        }
        Ok(facts)
    }

    /// What was read from one command's output; empty where nothing was yet.
    ///
    /// # Errors
    /// As [`Store::facts`].
    pub async fn reading(&self, command: CommandId) -> Result<StoredReading, StoreError> {
        let text = command.to_string();
        let row: Option<(String, String)> =
            sqlx::query_as("select complaints, unclaimed from readings where command = ?")
                .bind(&text)
                .fetch_optional(&self.pool)
                .await
                .map_err(|error| self.error(error))?;
        let Some((complaints, unclaimed)) = row else {
            return Ok(StoredReading::default());
        };
        let bodies: Vec<String> =
            sqlx::query_scalar("select body from facts where command = ? order by ordinal")
                .bind(&text)
                .fetch_all(&self.pool)
                .await
                .map_err(|error| self.error(error))?;
        let read = |body: &String| {
            serde_json::from_str(body).map_err(|_| bad(format!("a fact of {command}")))
        };
        Ok(StoredReading {
            facts: bodies.iter().map(read).collect::<Result<_, _>>()?,
            complaints: serde_json::from_str(&complaints).unwrap_or_default(),
            unclaimed: serde_json::from_str(&unclaimed).unwrap_or_default(),
        })
    }
}
