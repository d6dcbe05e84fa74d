//! Writing the read tables: what [`crate::projection`] makes of events, row by row.

use sqlx::{Sqlite, SqliteConnection, Transaction};

use super::{Store, StoreError};
use crate::event::Stream;
use crate::id::{CommandId, ContentId, EventId, FindingId, SessionId};
use crate::time::Micros;

/// A change to the read tables that an event makes.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A session has a row.
    SessionBegan {
        /// Which.
        session: SessionId,
        /// Its title's content.
        title: Option<ContentId>,
        /// It began by itself.
        automatic: bool,
        /// Its times are relative.
        relative_time: bool,
        /// When it began.
        at: Micros,
    },
    /// Things happened in a session.
    SessionTouched {
        /// Which.
        session: SessionId,
        /// When the first of them did.
        first: Micros,
        /// When the last of them did.
        last: Micros,
        /// The newest event's place in the log.
        seq: i64,
    },
    /// A person closed a session.
    SessionEnded {
        /// Which.
        session: SessionId,
        /// When.
        at: Micros,
    },
    /// A command has a row.
    CommandBegan(Box<CommandBegan>),
    /// A command printed.
    Printed {
        /// Which.
        command: CommandId,
        /// Where.
        stream: Stream,
        /// How much.
        bytes: u64,
        /// The event's place in the log.
        seq: i64,
    },
    /// A command printed what is not on record.
    Gapped {
        /// Which.
        command: CommandId,
        /// How much.
        bytes: u64,
        /// The event's place in the log.
        seq: i64,
    },
    /// A command ended, stopped or went on.
    Ended {
        /// Which.
        command: CommandId,
        /// How, as JSON.
        exit: String,
        /// How long it ran.
        duration_us: Option<i64>,
        /// The event's place in the log.
        seq: i64,
    },
    /// Content of a command was erased: what its line said is forgotten as well.
    Erased {
        /// Which.
        command: CommandId,
        /// Whether its line went.
        line: bool,
        /// The event's place in the log.
        seq: i64,
    },
    /// A note or a postmortem was written.
    Noted {
        /// The event that holds it.
        event: EventId,
        /// The session.
        session: SessionId,
        /// `note` or `postmortem`.
        kind: &'static str,
        /// When.
        at: Micros,
        /// Its content.
        text: ContentId,
        /// The event's place in the log.
        seq: i64,
    },
    /// A person judged a finding.
    Judged {
        /// The event that holds it.
        event: EventId,
        /// The session.
        session: SessionId,
        /// The finding.
        finding: FindingId,
        /// The playbook it came from.
        playbook: String,
        /// Agreed with it.
        confirmed: bool,
        /// The hypothesis held to be right.
        hypothesis: Option<String>,
        /// Why not: its content.
        because: Option<ContentId>,
        /// When.
        at: Micros,
        /// The event's place in the log.
        seq: i64,
    },
}

/// A new command's row.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandBegan {
    /// Which.
    pub id: CommandId,
    /// Its session.
    pub session: SessionId,
    /// Its number there.
    pub number: u32,
    /// Its line's content.
    pub line: ContentId,
    /// Where it was typed.
    pub host: String,
    /// The innermost host.
    pub target_host: String,
    /// The programs it runs, separated by spaces.
    pub programs: String,
    /// Who typed it.
    pub user: Option<String>,
    /// Where in the file system.
    pub cwd: Option<String>,
    /// The command within which it was recorded.
    pub parent: Option<CommandId>,
    /// The recorder's version, or the import's format.
    pub recorder: String,
    /// When.
    pub at: Micros,
    /// The event's place in the log.
    pub seq: i64,
}

/// The projection whose checkpoint the read tables follow.
pub(super) const READ_TABLES: &str = "read tables";

impl Store {
    /// The last event that a projection has seen.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn checkpoint(&self, projection: &str) -> Result<i64, StoreError> {
        let found: Option<i64> =
            sqlx::query_scalar("select seq from checkpoints where projection = ?")
                .bind(projection)
                .fetch_optional(&self.pool)
                .await
                .map_err(|error| self.error(error))?;
        Ok(found.unwrap_or(0))
    }

    /// The last event that the read tables have seen.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn read_tables_at(&self) -> Result<i64, StoreError> {
        self.checkpoint(READ_TABLES).await
    }

    /// Moves a projection's checkpoint.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn set_checkpoint(&self, projection: &str, seq: i64) -> Result<(), StoreError> {
        let mut tx = self.write().await?;
        set_checkpoint(&mut tx, projection, seq)
            .await
            .map_err(|error| self.error(error))?;
        tx.commit().await.map_err(|error| self.error(error))
    }

    /// Applies the changes that the events in `from..=to` make, if the read tables stand at `from`.
    /// Says whether they did: another process may have been quicker.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing was.
    pub async fn apply(&self, from: i64, to: i64, changes: &[Change]) -> Result<bool, StoreError> {
        let mut tx = self.write().await?;
        let at: Option<i64> =
            sqlx::query_scalar("select seq from checkpoints where projection = ?")
                .bind(READ_TABLES)
                .fetch_optional(&mut *tx)
                .await
                .map_err(|error| self.error(error))?;
        if at.unwrap_or(0) != from {
            return Ok(false);
        }
        for change in changes {
            apply_change(&mut tx, change)
                .await
                .map_err(|error| self.error(error))?;
        }
        set_checkpoint(&mut tx, READ_TABLES, to)
            .await
            .map_err(|error| self.error(error))?;
        tx.commit().await.map_err(|error| self.error(error))?;
        Ok(true)
    }

    /// Begins to make every projection anew: they are empty for it, and as they were for everybody
    /// else until it is committed.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing was emptied.
    pub async fn begin_anew(&self) -> Result<Anew<'_>, StoreError> {
        let mut tx = self.write().await?;
        for statement in [
            "delete from sessions",
            "delete from commands",
            "delete from session_hosts",
            "delete from notes",
            "delete from judgements",
            "delete from readings",
            "delete from facts",
            "delete from findings",
            "delete from diagnosed",
            "delete from checkpoints",
        ] {
            sqlx::query(statement)
                .execute(&mut *tx)
                .await
                .map_err(|error| self.error(error))?;
        }
        Ok(Anew { store: self, tx })
    }
}

/// Read tables on their way to be made anew; dropped without a commit, nothing was done.
#[derive(Debug)]
pub struct Anew<'a> {
    store: &'a Store,
    tx: Transaction<'static, Sqlite>,
}

impl Anew<'_> {
    /// Applies the changes that the events up to `to` make.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn apply(&mut self, to: i64, changes: &[Change]) -> Result<(), StoreError> {
        for change in changes {
            apply_change(&mut self.tx, change)
                .await
                .map_err(|error| self.store.error(error))?;
        }
        set_checkpoint(&mut self.tx, READ_TABLES, to)
            .await
            .map_err(|error| self.store.error(error))
    }

    /// From now on everybody sees the new ones.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn commit(self) -> Result<(), StoreError> {
        let Self { store, tx } = self;
        tx.commit().await.map_err(|error| store.error(error))
    }
}

async fn set_checkpoint(
    connection: &mut SqliteConnection,
    projection: &str,
    seq: i64,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into checkpoints (projection, seq) values (?, ?)
         on conflict (projection) do update set seq = excluded.seq",
    )
    .bind(projection)
    .bind(seq)
    .execute(connection)
    .await?;
    Ok(())
}

fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

async fn apply_change(connection: &mut SqliteConnection, change: &Change) -> sqlx::Result<()> {
    let query = match change {
        Change::SessionBegan {
            session,
            title,
            automatic,
            relative_time,
            at,
        } => sqlx::query(
            "insert into sessions
                (id, title, automatic, relative_time, started_us, last_us, commands, last_seq)
             values (?1, ?2, ?3, ?4, ?5, ?5, 0, 0)",
        )
        .bind(session.to_string())
        .bind(title.map(|id| id.to_string()))
        .bind(i64::from(*automatic))
        .bind(i64::from(*relative_time))
        .bind(at.0),
        Change::SessionTouched {
            session,
            first,
            last,
            seq,
        } => sqlx::query(
            "update sessions
             set started_us = min(started_us, ?2), last_us = max(last_us, ?3), last_seq = ?4
             where id = ?1",
        )
        .bind(session.to_string())
        .bind(first.0)
        .bind(last.0)
        .bind(seq),
        Change::SessionEnded { session, at } => {
            sqlx::query("update sessions set ended_us = ?2 where id = ?1")
                .bind(session.to_string())
                .bind(at.0)
        }
        Change::CommandBegan(began) => return command_began(connection, began).await,
        Change::Printed {
            command,
            stream,
            bytes,
            seq,
        } => {
            let statement = match stream {
                Stream::Stdout => {
                    "update commands set stdout_bytes = stdout_bytes + ?2, last_seq = ?3 where id = ?1"
                }
                Stream::Stderr => {
                    "update commands set stderr_bytes = stderr_bytes + ?2, last_seq = ?3 where id = ?1"
                }
                Stream::Tty => {
                    "update commands set tty_bytes = tty_bytes + ?2, last_seq = ?3 where id = ?1"
                }
            };
            sqlx::query(statement)
                .bind(command.to_string())
                .bind(int(*bytes))
                .bind(seq)
        }
        Change::Gapped {
            command,
            bytes,
            seq,
        } => sqlx::query(
            "update commands set gap_bytes = gap_bytes + ?2, last_seq = ?3 where id = ?1",
        )
        .bind(command.to_string())
        .bind(int(*bytes))
        .bind(seq),
        Change::Ended {
            command,
            exit,
            duration_us,
            seq,
        } => sqlx::query(
            "update commands set exit = ?2, duration_us = ?3, last_seq = ?4 where id = ?1",
        )
        .bind(command.to_string())
        .bind(exit.as_str())
        .bind(duration_us)
        .bind(seq),
        Change::Erased { command, line, seq } => {
            return erased(connection, *command, *line, *seq).await;
        }
        Change::Noted {
            event,
            session,
            kind,
            at,
            text,
            seq,
        } => sqlx::query(
            "insert into notes (event, session, kind, at_us, text, seq) values (?, ?, ?, ?, ?, ?)",
        )
        .bind(event.to_string())
        .bind(session.to_string())
        .bind(*kind)
        .bind(at.0)
        .bind(text.to_string())
        .bind(seq),
        Change::Judged {
            event,
            session,
            finding,
            playbook,
            confirmed,
            hypothesis,
            because,
            at,
            seq,
        } => sqlx::query(
            "insert into judgements
                (event, session, finding, playbook, verdict, hypothesis, because, at_us, seq)
             values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(event.to_string())
        .bind(session.to_string())
        .bind(finding.to_string())
        .bind(playbook.as_str())
        .bind(if *confirmed { "confirmed" } else { "dismissed" })
        .bind(hypothesis.as_deref())
        .bind(because.map(|id| id.to_string()))
        .bind(at.0)
        .bind(seq),
    };
    query.execute(connection).await?;
    Ok(())
}

async fn command_began(
    connection: &mut SqliteConnection,
    began: &CommandBegan,
) -> sqlx::Result<()> {
    let session = began.session.to_string();
    sqlx::query(
        "insert into commands
            (id, session, number, line, host, target_host, programs, user, cwd, parent, recorder,
             at_us, exit, stdout_bytes, stderr_bytes, tty_bytes, gap_bytes, last_seq)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '{\"running\":true}', 0, 0, 0, 0, ?)",
    )
    .bind(began.id.to_string())
    .bind(&session)
    .bind(began.number)
    .bind(began.line.to_string())
    .bind(&began.host)
    .bind(&began.target_host)
    .bind(&began.programs)
    .bind(&began.user)
    .bind(&began.cwd)
    .bind(began.parent.map(|id| id.to_string()))
    .bind(&began.recorder)
    .bind(began.at.0)
    .bind(began.seq)
    .execute(&mut *connection)
    .await?;
    sqlx::query("update sessions set commands = commands + 1 where id = ?")
        .bind(&session)
        .execute(&mut *connection)
        .await?;
    sqlx::query(
        "insert into session_hosts (session, host, at_us) values (?, ?, ?)
         on conflict (session, host) do update set at_us = min(at_us, excluded.at_us)",
    )
    .bind(&session)
    .bind(&began.target_host)
    .bind(began.at.0)
    .execute(connection)
    .await?;
    Ok(())
}

/// What an erased line said of a command is forgotten, in its row and in its session's.
async fn erased(
    connection: &mut SqliteConnection,
    command: CommandId,
    line: bool,
    seq: i64,
) -> sqlx::Result<()> {
    sqlx::query(
        "update commands
         set target_host = iif(?2, host, target_host), programs = iif(?2, '', programs),
             last_seq = ?3
         where id = ?1",
    )
    .bind(command.to_string())
    .bind(i64::from(line))
    .bind(seq)
    .execute(&mut *connection)
    .await?;
    if line {
        let session: Option<String> =
            sqlx::query_scalar("select session from commands where id = ?")
                .bind(command.to_string())
                .fetch_optional(&mut *connection)
                .await?;
        sqlx::query("delete from session_hosts where session = ?")
            .bind(&session)
            .execute(&mut *connection)
            .await?;
        sqlx::query(
            "insert into session_hosts (session, host, at_us)
             select session, target_host, min(at_us) from commands where session = ?
             group by session, target_host",
        )
        .bind(&session)
        .execute(connection)
        .await?;
    }
    Ok(())
}
