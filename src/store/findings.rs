//! Findings as last diagnosed: for lists, and for the ids that people type.

use sqlx::FromRow;

use super::{Store, StoreError};
use crate::diagnosis::Finding;
use crate::id::{FindingId, SessionId};

/// A finding in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingRow {
    /// Which.
    pub id: FindingId,
    /// The session it was found in.
    pub session: SessionId,
    /// The playbook it came from.
    pub playbook: String,
    /// Its version.
    pub version: u32,
    /// Its kind.
    pub kind: String,
    /// `observed`, `suspected`, `established`.
    pub claim: String,
    /// `info` to `critical`.
    pub severity: String,
    /// `open`, `resolved`, `confirmed`, `dismissed`.
    pub status: String,
    /// In one sentence.
    pub title: String,
    /// All of it, as `rec why --json` has it.
    pub body: serde_json::Value,
}

/// What a stored diagnosis holds for: this place in the log, and this set of playbooks and readers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosed {
    /// The session's newest event that it knew.
    pub seq: i64,
    /// The playbooks, the reader and whatever else it depends on, as one word.
    pub stamp: String,
}

#[derive(FromRow)]
struct RawFinding {
    id: String,
    session: String,
    playbook: String,
    version: u32,
    kind: String,
    claim: String,
    severity: String,
    status: String,
    title: String,
    body: String,
}

impl RawFinding {
    fn read(self) -> Result<FindingRow, StoreError> {
        let bad = || StoreError::BadRow {
            what: format!("finding {}", self.id),
        };
        Ok(FindingRow {
            id: self.id.parse().map_err(|_| bad())?,
            session: self.session.parse().map_err(|_| bad())?,
            body: serde_json::from_str(&self.body).map_err(|_| bad())?,
            playbook: self.playbook,
            version: self.version,
            kind: self.kind,
            claim: self.claim,
            severity: self.severity,
            status: self.status,
            title: self.title,
        })
    }
}

/// A word of the contract, as serde writes it.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

impl Store {
    /// What a session's stored findings hold for; `None` when it was never diagnosed.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn diagnosed(&self, session: SessionId) -> Result<Option<Diagnosed>, StoreError> {
        let row: Option<(i64, String)> =
            sqlx::query_as("select seq, stamp from diagnosed where session = ?")
                .bind(session.to_string())
                .fetch_optional(&self.pool)
                .await
                .map_err(|error| self.error(error))?;
        Ok(row.map(|(seq, stamp)| Diagnosed { seq, stamp }))
    }

    /// Replaces a session's stored findings, in their order.
    ///
    /// # Errors
    /// When the database cannot be written; then nothing was.
    pub async fn save_findings(
        &self,
        session: SessionId,
        holds_for: &Diagnosed,
        findings: &[Finding],
    ) -> Result<(), StoreError> {
        let text = session.to_string();
        let mut tx = self.write().await?;
        sqlx::query("delete from findings where session = ?")
            .bind(&text)
            .execute(&mut *tx)
            .await
            .map_err(|error| self.error(error))?;
        for (place, finding) in (0_i64..).zip(findings) {
            let body = serde_json::to_string(finding).map_err(|_| StoreError::BadRow {
                what: format!("finding {}", finding.id),
            })?;
            sqlx::query(
                "insert into findings
                    (session, id, place, playbook, version, kind, claim, severity, status, title,
                     body)
                 values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )
            .bind(&text)
            .bind(finding.id.to_string())
            .bind(place)
            .bind(&finding.playbook)
            .bind(finding.version)
            .bind(&finding.kind)
            .bind(word(&finding.claim))
            .bind(word(&finding.severity))
            .bind(word(&finding.status))
            .bind(&finding.title)
            .bind(body)
            .execute(&mut *tx)
            .await
            .map_err(|error| self.error(error))?;
        }
        sqlx::query(
            "insert into diagnosed (session, seq, stamp) values (?, ?, ?)
             on conflict (session) do update set seq = excluded.seq, stamp = excluded.stamp,
                 indexed = 0",
        )
        .bind(&text)
        .bind(holds_for.seq)
        .bind(&holds_for.stamp)
        .execute(&mut *tx)
        .await
        .map_err(|error| self.error(error))?;
        tx.commit().await.map_err(|error| self.error(error))
    }

    /// A session's stored findings, in the order they were diagnosed in.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn findings(&self, session: SessionId) -> Result<Vec<FindingRow>, StoreError> {
        let rows: Vec<RawFinding> = sqlx::query_as(
            "select id, session, playbook, version, kind, claim, severity, status, title, body
             from findings where session = ? order by place",
        )
        .bind(session.to_string())
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        rows.into_iter().map(RawFinding::read).collect()
    }

    /// Sessions whose stored findings the search index has not seen.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn findings_to_index(&self) -> Result<Vec<SessionId>, StoreError> {
        let rows: Vec<String> =
            sqlx::query_scalar("select session from diagnosed where indexed = 0")
                .fetch_all(&self.pool)
                .await
                .map_err(|error| self.error(error))?;
        rows.iter()
            .map(|text| {
                text.parse().map_err(|_| StoreError::BadRow {
                    what: format!("a session's id `{text}`"),
                })
            })
            .collect()
    }

    /// Notes that the index holds nothing of any session's findings.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn set_nothing_indexed(&self) -> Result<(), StoreError> {
        let mut tx = self.write().await?;
        sqlx::query("update diagnosed set indexed = 0")
            .execute(&mut *tx)
            .await
            .map_err(|error| self.error(error))?;
        tx.commit().await.map_err(|error| self.error(error))
    }

    /// Notes that the search index has seen these sessions' findings.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn set_findings_indexed(&self, sessions: &[SessionId]) -> Result<(), StoreError> {
        let list = serde_json::to_string(sessions).unwrap_or_default();
        let mut tx = self.write().await?;
        sqlx::query(
            "update diagnosed set indexed = 1 where session in (select value from json_each(?))",
        )
        .bind(list)
        .execute(&mut *tx)
        .await
        .map_err(|error| self.error(error))?;
        tx.commit().await.map_err(|error| self.error(error))
    }

    /// Stored findings of a playbook in any session: what "seen before" is counted from.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn findings_of_playbook(
        &self,
        playbook: &str,
    ) -> Result<Vec<FindingRow>, StoreError> {
        // Index: findings_playbook.
        let rows: Vec<RawFinding> = sqlx::query_as(
            "select id, session, playbook, version, kind, claim, severity, status, title, body
             from findings where playbook = ? order by session, place",
        )
        .bind(playbook)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        rows.into_iter().map(RawFinding::read).collect()
    }
}
