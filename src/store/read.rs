//! Reading the read tables: lists of sessions and commands, notes, judgements.

use sqlx::FromRow;

use super::{Store, StoreError};
use crate::event::Exit;
use crate::id::{CommandId, ContentId, EventId, FindingId, SessionId};
use crate::time::Micros;

/// A session in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    /// Which.
    pub id: SessionId,
    /// Its title, where a person gave one.
    pub title: Option<String>,
    /// It began by itself.
    pub automatic: bool,
    /// Its times count from 1970: the recording did not say when it was.
    pub relative_time: bool,
    /// When it began.
    pub started: Micros,
    /// When something last happened in it.
    pub last: Micros,
    /// When a person closed it.
    pub ended: Option<Micros>,
    /// How many commands it has.
    pub commands: u32,
    /// The hosts its commands went to, in the order of their first.
    pub hosts: Vec<String>,
    /// Its newest event's place in the log.
    pub last_seq: i64,
}

/// A command in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandRow {
    /// Which.
    pub id: CommandId,
    /// Its session.
    pub session: SessionId,
    /// Its number there.
    pub number: u32,
    /// Its line; `None` once erased.
    pub line: Option<String>,
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
    /// When it began.
    pub at: Micros,
    /// How it ended.
    pub exit: Exit,
    /// How long it ran.
    pub duration_us: Option<i64>,
    /// Bytes on standard output (kept ones).
    pub stdout_bytes: u64,
    /// Bytes on standard error.
    pub stderr_bytes: u64,
    /// Bytes on its terminal.
    pub tty_bytes: u64,
    /// Bytes that are not on record.
    pub gap_bytes: u64,
    /// Its newest event's place in the log.
    pub last_seq: i64,
}

/// A note or a postmortem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteRow {
    /// The event that holds it.
    pub event: EventId,
    /// It is a postmortem, not a note.
    pub postmortem: bool,
    /// When it was written.
    pub at: Micros,
    /// Its words; `None` once erased.
    pub text: Option<String>,
    /// Its place in the log.
    pub seq: i64,
}

/// A judgement on a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgementRow {
    /// The event that holds it.
    pub event: EventId,
    /// The session it was made in.
    pub session: SessionId,
    /// The finding.
    pub finding: FindingId,
    /// The playbook it came from.
    pub playbook: String,
    /// Agreed with it, else disagreed.
    pub confirmed: bool,
    /// The hypothesis held to be right.
    pub hypothesis: Option<String>,
    /// Why not.
    pub because: Option<String>,
    /// When.
    pub at: Micros,
}

/// A part of a session's commands, in the order of what happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// How many to pass over.
    pub skip: u32,
    /// How many at most.
    pub limit: u32,
}

impl Page {
    /// All of them.
    pub const ALL: Self = Self {
        skip: 0,
        limit: u32::MAX,
    };
}

#[derive(FromRow)]
struct RawSession {
    id: String,
    title: Option<String>,
    automatic: bool,
    relative_time: bool,
    started_us: i64,
    last_us: i64,
    ended_us: Option<i64>,
    commands: u32,
    last_seq: i64,
}

#[derive(FromRow)]
struct RawCommand {
    id: String,
    session: String,
    number: u32,
    line: String,
    host: String,
    target_host: String,
    programs: String,
    user: Option<String>,
    cwd: Option<String>,
    parent: Option<String>,
    recorder: String,
    at_us: i64,
    exit: String,
    duration_us: Option<i64>,
    stdout_bytes: i64,
    stderr_bytes: i64,
    tty_bytes: i64,
    gap_bytes: i64,
    last_seq: i64,
}

#[derive(FromRow)]
struct RawNote {
    event: String,
    kind: String,
    at_us: i64,
    text: String,
    seq: i64,
}

#[derive(FromRow)]
struct RawJudgement {
    event: String,
    session: String,
    finding: String,
    playbook: String,
    verdict: String,
    hypothesis: Option<String>,
    because: Option<String>,
    at_us: i64,
}

fn parse<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, StoreError> {
    text.parse().map_err(|_| StoreError::BadRow {
        what: format!("{what} `{text}`"),
    })
}

fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Store {
    /// Sessions, the one with the newest event first.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn sessions(&self, page: Page) -> Result<Vec<SessionRow>, StoreError> {
        // Index: sessions_recent.
        let rows: Vec<RawSession> = sqlx::query_as(
            "select id, title, automatic, relative_time, started_us, last_us, ended_us, commands,
                    last_seq
             from sessions order by last_seq desc limit ? offset ?",
        )
        .bind(page.limit)
        .bind(page.skip)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        self.session_list(rows).await
    }

    /// One session's row; `None` when the read tables do not have it.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn session_row(&self, id: SessionId) -> Result<Option<SessionRow>, StoreError> {
        let rows: Vec<RawSession> = sqlx::query_as(
            "select id, title, automatic, relative_time, started_us, last_us, ended_us, commands,
                    last_seq
             from sessions where id = ?",
        )
        .bind(id.to_string())
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        Ok(self.session_list(rows).await?.pop())
    }

    async fn session_list(&self, rows: Vec<RawSession>) -> Result<Vec<SessionRow>, StoreError> {
        let mut titles = Vec::new();
        for title in rows.iter().filter_map(|row| row.title.as_deref()) {
            titles.push(parse::<ContentId>(title, "a title's id")?);
        }
        let titles = self.contents(&titles).await?;
        let mut sessions = Vec::with_capacity(rows.len());
        for row in rows {
            let title = match &row.title {
                Some(id) => titles
                    .get(&parse(id, "a title's id")?)
                    .map(|title| text(title)),
                None => None,
            };
            sessions.push(SessionRow {
                id: parse(&row.id, "a session's id")?,
                title,
                automatic: row.automatic,
                relative_time: row.relative_time,
                started: Micros(row.started_us),
                last: Micros(row.last_us),
                ended: row.ended_us.map(Micros),
                commands: row.commands,
                hosts: self.session_hosts(&row.id).await?,
                last_seq: row.last_seq,
            });
        }
        Ok(sessions)
    }

    async fn session_hosts(&self, session: &str) -> Result<Vec<String>, StoreError> {
        // By primary key.
        sqlx::query_scalar("select host from session_hosts where session = ? order by at_us, host")
            .bind(session)
            .fetch_all(&self.pool)
            .await
            .map_err(|error| self.error(error))
    }

    /// How many sessions there are.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn session_count(&self) -> Result<u64, StoreError> {
        let found: i64 = sqlx::query_scalar("select count(*) from sessions")
            .fetch_one(&self.pool)
            .await
            .map_err(|error| self.error(error))?;
        Ok(count(found))
    }

    /// A part of a session's commands, in the order of what happened.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn commands(
        &self,
        session: SessionId,
        page: Page,
    ) -> Result<Vec<CommandRow>, StoreError> {
        // Index: commands_order.
        let rows: Vec<RawCommand> = sqlx::query_as(
            "select id, session, number, line, host, target_host, programs, user, cwd, parent, recorder, at_us, exit,
                    duration_us, stdout_bytes, stderr_bytes, tty_bytes, gap_bytes, last_seq
             from commands where session = ? order by at_us, number limit ? offset ?",
        )
        .bind(session.to_string())
        .bind(page.limit)
        .bind(page.skip)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        self.command_list(rows).await
    }

    /// Commands by their ids; those that the read tables do not have are left out.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn command_rows(&self, ids: &[CommandId]) -> Result<Vec<CommandRow>, StoreError> {
        let list = serde_json::to_string(ids).unwrap_or_default();
        let rows: Vec<RawCommand> = sqlx::query_as(
            "select c.id, c.session, c.number, c.line, c.host, c.target_host, c.programs, c.user, c.cwd,
                    c.parent, c.recorder, c.at_us, c.exit, c.duration_us, c.stdout_bytes, c.stderr_bytes,
                    c.tty_bytes, c.gap_bytes, c.last_seq
             from json_each(?) as wanted join commands as c on c.id = wanted.value",
        )
        .bind(list)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        self.command_list(rows).await
    }

    /// Commands that something happened to after a place in the log, in the order it last did.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn commands_changed(
        &self,
        after: i64,
        limit: u32,
    ) -> Result<Vec<CommandRow>, StoreError> {
        // Index: commands_changed.
        let rows: Vec<RawCommand> = sqlx::query_as(
            "select id, session, number, line, host, target_host, programs, user, cwd, parent, recorder,
                    at_us, exit, duration_us, stdout_bytes, stderr_bytes, tty_bytes, gap_bytes,
                    last_seq
             from commands where last_seq > ? order by last_seq limit ?",
        )
        .bind(after)
        .bind(limit)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        self.command_list(rows).await
    }

    async fn command_list(&self, rows: Vec<RawCommand>) -> Result<Vec<CommandRow>, StoreError> {
        let mut ids = Vec::with_capacity(rows.len());
        for row in &rows {
            ids.push(parse::<ContentId>(&row.line, "a line's id")?);
        }
        let lines = self.contents(&ids).await?;
        rows.into_iter()
            .zip(ids)
            .map(|(row, line)| {
                Ok(CommandRow {
                    id: parse(&row.id, "a command's id")?,
                    session: parse(&row.session, "a session's id")?,
                    number: row.number,
                    line: lines.get(&line).map(|line| text(line)),
                    host: row.host,
                    target_host: row.target_host,
                    programs: row.programs,
                    user: row.user,
                    cwd: row.cwd,
                    parent: row
                        .parent
                        .map(|id| parse(&id, "a command's id"))
                        .transpose()?,
                    recorder: row.recorder,
                    at: Micros(row.at_us),
                    exit: serde_json::from_str(&row.exit).map_err(|_| StoreError::BadRow {
                        what: format!("the exit of command {}", row.id),
                    })?,
                    duration_us: row.duration_us,
                    stdout_bytes: count(row.stdout_bytes),
                    stderr_bytes: count(row.stderr_bytes),
                    tty_bytes: count(row.tty_bytes),
                    gap_bytes: count(row.gap_bytes),
                    last_seq: row.last_seq,
                })
            })
            .collect()
    }

    /// A session's notes and postmortems, oldest first.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn notes(&self, session: SessionId) -> Result<Vec<NoteRow>, StoreError> {
        // Index: notes_session.
        let rows: Vec<RawNote> = sqlx::query_as(
            "select event, kind, at_us, text, seq from notes where session = ?
             order by at_us, event",
        )
        .bind(session.to_string())
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        let mut ids = Vec::with_capacity(rows.len());
        for row in &rows {
            ids.push(parse::<ContentId>(&row.text, "a note's id")?);
        }
        let texts = self.contents(&ids).await?;
        rows.into_iter()
            .zip(ids)
            .map(|(row, id)| {
                Ok(NoteRow {
                    event: parse(&row.event, "an event's id")?,
                    postmortem: row.kind == "postmortem",
                    at: Micros(row.at_us),
                    text: texts.get(&id).map(|note| text(note)),
                    seq: row.seq,
                })
            })
            .collect()
    }

    /// Notes and postmortems written after a place in the log, with their sessions.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn notes_after(&self, seq: i64) -> Result<Vec<(SessionId, NoteRow)>, StoreError> {
        // Index: notes_seq.
        let sessions: Vec<String> =
            sqlx::query_scalar("select session from notes where seq > ? group by session")
                .bind(seq)
                .fetch_all(&self.pool)
                .await
                .map_err(|error| self.error(error))?;
        let mut found = Vec::new();
        for session in sessions {
            let session = parse(&session, "a session's id")?;
            found.extend(
                self.notes(session)
                    .await?
                    .into_iter()
                    .filter(|note| note.seq > seq)
                    .map(|note| (session, note)),
            );
        }
        Ok(found)
    }

    /// Judgements made in a session, oldest first: the last one on a finding holds.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn judgements(&self, session: SessionId) -> Result<Vec<JudgementRow>, StoreError> {
        // Index: judgements_session.
        let rows: Vec<RawJudgement> = sqlx::query_as(
            "select event, session, finding, playbook, verdict, hypothesis, because, at_us
             from judgements where session = ? order by seq",
        )
        .bind(session.to_string())
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        self.judgement_list(rows).await
    }

    /// Every judgement ever made, oldest first: what priors are counted from.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn all_judgements(&self) -> Result<Vec<JudgementRow>, StoreError> {
        let rows: Vec<RawJudgement> = sqlx::query_as(
            "select event, session, finding, playbook, verdict, hypothesis, because, at_us
             from judgements order by seq",
        )
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        self.judgement_list(rows).await
    }

    async fn judgement_list(
        &self,
        rows: Vec<RawJudgement>,
    ) -> Result<Vec<JudgementRow>, StoreError> {
        let mut ids = Vec::new();
        for because in rows.iter().filter_map(|row| row.because.as_deref()) {
            ids.push(parse::<ContentId>(because, "a reason's id")?);
        }
        let reasons = self.contents(&ids).await?;
        rows.into_iter()
            .map(|row| {
                let because = match &row.because {
                    Some(id) => reasons
                        .get(&parse(id, "a reason's id")?)
                        .map(|reason| text(reason)),
                    None => None,
                };
                Ok(JudgementRow {
                    event: parse(&row.event, "an event's id")?,
                    session: parse(&row.session, "a session's id")?,
                    finding: parse(&row.finding, "a finding's id")?,
                    playbook: row.playbook,
                    confirmed: row.verdict == "confirmed",
                    hypothesis: row.hypothesis,
                    because,
                    at: Micros(row.at_us),
                })
            })
            .collect()
    }
}
