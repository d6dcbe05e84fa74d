//! What other sessions showed: findings of the same playbooks, errors of the same fingerprint.

use std::collections::HashMap;

use sqlx::FromRow;

use super::{Store, StoreError};
use crate::id::{FindingId, SessionId};
use crate::time::Micros;

/// A stored finding of another session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastFindingRow {
    /// The session.
    pub session: SessionId,
    /// When something last happened in it.
    pub last: Micros,
    /// It has a saved postmortem.
    pub postmortem: bool,
    /// The finding.
    pub finding: FindingId,
    /// Its playbook.
    pub playbook: String,
    /// Its status, as last diagnosed.
    pub status: String,
    /// In one sentence.
    pub title: String,
    /// Its likeliest hypothesis.
    pub lead: Option<String>,
    /// The number of its first command.
    pub number: Option<u32>,
}

/// An error of another session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastErrorRow {
    /// Its fingerprint.
    pub fingerprint: String,
    /// The session.
    pub session: SessionId,
    /// When something last happened in it.
    pub last: Micros,
    /// It has a saved postmortem.
    pub postmortem: bool,
    /// The first command that showed it.
    pub number: u32,
}

#[derive(FromRow)]
struct RawFinding {
    session: String,
    last_us: i64,
    postmortem: bool,
    id: String,
    playbook: String,
    status: String,
    title: String,
    lead: Option<String>,
    number: Option<u32>,
}

#[derive(FromRow)]
struct RawError {
    fingerprint: String,
    session: String,
    last_us: i64,
    postmortem: bool,
    number: u32,
}

fn parse<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, StoreError> {
    text.parse().map_err(|_| StoreError::BadRow {
        what: format!("{what} `{text}`"),
    })
}

impl Store {
    /// Stored findings of these playbooks in other sessions, the newest sessions first, at most
    /// `limit` of them.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn past_findings(
        &self,
        playbooks: &[&str],
        except: Option<SessionId>,
        limit: u32,
    ) -> Result<Vec<PastFindingRow>, StoreError> {
        // Index: findings_playbook.
        let rows: Vec<RawFinding> = sqlx::query_as(
            "select f.session, s.last_us, f.id, f.playbook, f.status, f.title,
                    exists (select 1 from notes as n
                            where n.session = f.session and n.kind = 'postmortem') as postmortem,
                    f.body ->> '$.hypotheses[0].id' as lead,
                    f.body ->> '$.evidence[0].number' as number
             from findings as f join sessions as s on s.id = f.session
             where f.playbook in (select value from json_each(?)) and f.session <> ?
             order by s.last_us desc, f.session, f.place limit ?",
        )
        .bind(serde_json::to_string(playbooks).unwrap_or_default())
        .bind(except.map(|id| id.to_string()).unwrap_or_default())
        .bind(limit)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        rows.into_iter()
            .map(|row| {
                Ok(PastFindingRow {
                    session: parse(&row.session, "a session's id")?,
                    last: Micros(row.last_us),
                    postmortem: row.postmortem,
                    finding: parse(&row.id, "a finding's id")?,
                    playbook: row.playbook,
                    status: row.status,
                    title: row.title,
                    lead: row.lead,
                    number: row.number,
                })
            })
            .collect()
    }

    /// What makes each of these sessions itself, as far as `recorder` recorded them: their commands, when
    /// and where they ran, how they ended and how much they printed. The same recording taken in twice
    /// has the same.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn recordings(
        &self,
        sessions: &[SessionId],
        recorder: &str,
    ) -> Result<HashMap<SessionId, String>, StoreError> {
        // Index: commands_order.
        let rows: Vec<(String, String)> = sqlx::query_as(
            "select session, json_group_array(one) from (
                select session,
                       json_array(number, at_us, host, target_host, programs, exit, duration_us,
                                  stdout_bytes, stderr_bytes, tty_bytes) as one
                from commands
                where session in (select value from json_each(?)) and recorder = ?
                order by session, at_us, number)
             group by session",
        )
        .bind(serde_json::to_string(sessions).unwrap_or_default())
        .bind(recorder)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        rows.into_iter()
            .map(|(session, recording)| Ok((parse(&session, "a session's id")?, recording)))
            .collect()
    }

    /// Errors of these fingerprints in other sessions, one a session and fingerprint, the newest
    /// sessions first, at most `limit` of them.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn past_errors(
        &self,
        fingerprints: &[&str],
        except: SessionId,
        limit: u32,
    ) -> Result<Vec<PastErrorRow>, StoreError> {
        // Index: facts_errors, whose expression this repeats.
        let rows: Vec<RawError> = sqlx::query_as(
            "select f.body ->> '$.fields.fingerprint' as fingerprint, c.session, s.last_us,
                    exists (select 1 from notes as n
                            where n.session = c.session and n.kind = 'postmortem') as postmortem,
                    min(c.number) as number
             from facts as f
             join commands as c on c.id = f.command
             join sessions as s on s.id = c.session
             where (case when fact = 'traceback'
                              or (fact = 'line' and body ->> '$.fields.level' in ('error', 'fatal'))
                         then body ->> '$.fields.fingerprint' end)
                       in (select value from json_each(?))
                   and c.session <> ?
             group by 1, 2 order by s.last_us desc, 2, 1 limit ?",
        )
        .bind(serde_json::to_string(fingerprints).unwrap_or_default())
        .bind(except.to_string())
        .bind(limit)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        rows.into_iter()
            .map(|row| {
                Ok(PastErrorRow {
                    fingerprint: row.fingerprint,
                    session: parse(&row.session, "a session's id")?,
                    last: Micros(row.last_us),
                    postmortem: row.postmortem,
                    number: row.number,
                })
            })
            .collect()
    }
}
