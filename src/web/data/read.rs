//! Sessions, commands and notes from the store, and what a person adds to them.

use std::sync::Arc;

use crate::diagnosis::{Claim, Severity, Status};
use crate::event::{ContentKind, Event, NewContent, NewEvent, Stream};
use crate::id::SessionId;
use crate::probe::Span;
use crate::projection::view::ERASED_LINE;
use crate::shell::{self, Complaint};
use crate::store::{self, FindingRow, Page, SessionRow};
use crate::time::Micros;

use super::{
    CommandRow, Data, ExitFilter, FindingBrief, Judgement, Note, Output, Recorded, Selection,
    SessionCard, Slice,
};
use crate::web::failure::Failure;

/// Commands that are read at once while a filter looks for matches.
const SCAN: u32 = 4_000;

/// All commands of a session, as of one state of it.
#[derive(Debug)]
pub(super) struct Rows {
    state: (SessionId, i64),
    rows: Arc<Vec<CommandRow>>,
}

impl Data {
    /// Sessions, newest first, at most so many.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn sessions(&self, most: u32) -> Result<Vec<SessionCard>, Failure> {
        let page = Page {
            skip: 0,
            limit: most,
        };
        let mut cards = Vec::new();
        for row in self.store.sessions(page).await? {
            cards.push(self.card(row).await?);
        }
        Ok(cards)
    }

    /// The session of that id, prefix, or `last`.
    ///
    /// # Errors
    /// When there is none, or the store does not answer.
    pub async fn session(&self, key: &str) -> Result<SessionCard, Failure> {
        let id = self.store.find_session(key).await?;
        let row = self.store.session_row(id).await?;
        self.card(row.ok_or_else(|| Failure::no_session(key))?)
            .await
    }

    async fn card(&self, row: SessionRow) -> Result<SessionCard, Failure> {
        let findings = self.store.findings(row.id).await?;
        let title = match row.title {
            Some(title) => title,
            None => self.made_up_title(row.id, &row.hosts).await?,
        };
        Ok(SessionCard {
            id: row.id,
            title,
            automatic: row.automatic,
            relative: row.relative_time,
            started: row.started,
            last: row.last,
            ended: row.ended.is_some(),
            commands: u64::from(row.commands),
            last_seq: row.last_seq,
            hosts: row.hosts,
            findings: findings.into_iter().map(brief).collect(),
        })
    }

    /// What stands for a title that nobody gave: where it was, and how it began.
    async fn made_up_title(&self, id: SessionId, hosts: &[String]) -> Result<String, Failure> {
        let first = Page { skip: 0, limit: 1 };
        let commands = self.store.commands(id, first).await?;
        let line = commands.into_iter().next().and_then(|command| command.line);
        Ok(match (line, hosts.first()) {
            (Some(line), _) => crate::diagnosis::words::shorten_middle(&line, 72),
            (None, Some(host)) => format!("On {host}"),
            (None, None) => format!("Session {}", id.short()),
        })
    }

    /// A part of a session's commands.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn commands(&self, card: &SessionCard, want: &Selection) -> Result<Slice, Failure> {
        if let Some(number) = want.only {
            let found = self
                .store
                .find_command(card.id, &number.to_string())
                .await?;
            let rows = self.store.command_rows(&[found.id]).await?;
            return Ok(Slice {
                rows: rows.into_iter().map(row).collect(),
                earlier: 0,
                matching: 1,
            });
        }
        let total = u32::try_from(card.commands).unwrap_or(u32::MAX);
        let filtered = want.host.is_some() || want.text.is_some() || want.exit != ExitFilter::Any;
        if filtered {
            return self.matching(card, want).await;
        }
        let end = want.until.unwrap_or(total).min(total);
        let most = u32::try_from(want.most).unwrap_or(u32::MAX);
        let skip = end.saturating_sub(most);
        let page = Page {
            skip,
            limit: end - skip,
        };
        let rows = self.store.commands(card.id, page).await?;
        let rows = rows.into_iter().map(row);
        let rows = rows.filter(|row| want.after.is_none_or(|number| row.number > number));
        Ok(Slice {
            rows: rows.collect(),
            earlier: u64::from(skip),
            matching: card.commands,
        })
    }

    /// The commands that a filter takes: all are looked through, since only a count of all says how
    /// many come before those shown.
    async fn matching(&self, card: &SessionCard, want: &Selection) -> Result<Slice, Failure> {
        let rows = self.all_rows(card).await?;
        let found: Vec<&CommandRow> = rows.iter().filter(|row| takes(want, row)).collect();
        let end = want.until.map_or(found.len(), |end| {
            usize::try_from(end).map_or(found.len(), |end| end.min(found.len()))
        });
        let start = end.saturating_sub(want.most);
        let part = found.get(start..end).unwrap_or_default();
        Ok(Slice {
            rows: part.iter().map(|row| (*row).clone()).collect(),
            earlier: start as u64,
            matching: found.len() as u64,
        })
    }

    /// All commands of a session. Those of the session filtered last are kept: a filter is typed
    /// letter by letter.
    async fn all_rows(&self, card: &SessionCard) -> Result<Arc<Vec<CommandRow>>, Failure> {
        let state = (card.id, card.last_seq);
        if let Ok(kept) = self.filtered.lock()
            && let Some(kept) = kept.as_ref().filter(|kept| kept.state == state)
        {
            return Ok(kept.rows.clone());
        }
        let mut rows = Vec::new();
        loop {
            let skip = u32::try_from(rows.len()).unwrap_or(u32::MAX);
            let page = Page { skip, limit: SCAN };
            let part = self.store.commands(card.id, page).await?;
            if part.is_empty() {
                break;
            }
            rows.extend(part.into_iter().map(row));
        }
        let rows = Arc::new(rows);
        if let Ok(mut kept) = self.filtered.lock() {
            *kept = Some(Rows {
                state,
                rows: rows.clone(),
            });
        }
        Ok(rows)
    }

    /// A session's notes, oldest first.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn notes(&self, id: SessionId) -> Result<Vec<Note>, Failure> {
        let notes = self.store.notes(id).await?.into_iter();
        Ok(notes
            .filter(|note| !note.postmortem)
            .map(|note| Note {
                at: note.at,
                text: note.text.unwrap_or_else(|| "(erased)".to_owned()),
            })
            .collect())
    }

    /// A command with its output.
    ///
    /// # Errors
    /// When there is none, or the store does not answer.
    pub async fn command(&self, id: SessionId, number: u32) -> Result<Recorded, Failure> {
        let found = self.store.find_command(id, &number.to_string()).await?;
        let stored = self.store.command_rows(&[found.id]).await?.pop();
        let stored = stored.ok_or_else(|| Failure::no_command(&number.to_string()))?;
        let mut outputs: Vec<Output> = Vec::new();
        for (stream, bytes) in self.store.outputs(found.id).await? {
            outputs.push(Output {
                stream,
                bytes,
                gaps: Vec::new(),
            });
        }
        if stored.gap_bytes > 0 {
            self.add_gaps(found.id, &mut outputs).await?;
        }
        let reading = self.store.reading(found.id).await?;
        Ok(Recorded {
            cwd: stored.cwd.clone(),
            user: stored.user.clone(),
            tree: stored.line.as_deref().map(shell::parse).unwrap_or_default(),
            row: row(stored),
            outputs,
            facts: reading.facts,
            complaints: complaints(reading.complaints),
            unclaimed: spans(&reading.unclaimed),
        })
    }

    async fn add_gaps(
        &self,
        command: crate::id::CommandId,
        outputs: &mut Vec<Output>,
    ) -> Result<(), Failure> {
        for envelope in self.store.load_command(command).await? {
            let Event::GapRecorded {
                stream,
                offset_bytes,
                bytes,
                reason,
                ..
            } = envelope.event
            else {
                continue;
            };
            let gap = (offset_bytes, bytes, reason);
            match outputs.iter_mut().find(|output| output.stream == stream) {
                Some(output) => output.gaps.push(gap),
                None => outputs.push(Output {
                    stream,
                    bytes: Vec::new(),
                    gaps: vec![gap],
                }),
            }
        }
        Ok(())
    }

    /// Writes a note down.
    ///
    /// # Errors
    /// When there is no such session, or the store cannot be written.
    pub async fn add_note(&self, key: &str, text: String) -> Result<(), Failure> {
        let card = self.session(key).await?;
        let content = NewContent::new(ContentKind::Note, self.home.marker().text(&text));
        let event = Event::NoteAdded {
            text: content.reference(),
        };
        self.append(&card, event, vec![content]).await
    }

    /// Takes a judgement on a finding down.
    ///
    /// # Errors
    /// When there is no such finding, or the store cannot be written.
    pub async fn judge(
        &self,
        key: &str,
        finding: &str,
        judgement: Judgement,
    ) -> Result<(), Failure> {
        let card = self.session(key).await?;
        let understanding = self.understanding_now(card.id).await?;
        let known = understanding
            .diagnosis
            .findings
            .iter()
            .find(|known| known.id.to_string() == finding)
            .ok_or_else(|| Failure::not_found("finding", finding))?;
        let (finding, playbook) = (known.id, known.playbook.clone());
        let (event, contents) = match judgement {
            Judgement::Confirm(hypothesis) => {
                let event = Event::FindingConfirmed {
                    finding,
                    playbook,
                    hypothesis,
                };
                (event, Vec::new())
            }
            Judgement::Dismiss(because) => {
                let content =
                    NewContent::new(ContentKind::Reason, self.home.marker().text(&because));
                let event = Event::FindingDismissed {
                    finding,
                    playbook,
                    because: content.reference(),
                };
                (event, vec![content])
            }
        };
        self.append(&card, event, contents).await
    }

    async fn append(
        &self,
        card: &SessionCard,
        event: Event,
        contents: Vec<NewContent>,
    ) -> Result<(), Failure> {
        let event = NewEvent {
            // In a session of relative time, now lies decades away from its commands.
            at: if card.relative {
                card.last
            } else {
                Micros::now()
            },
            event,
            contents,
        };
        self.store.append(card.id, vec![event], None).await?;
        self.catch_up().await
    }
}

fn takes(want: &Selection, row: &CommandRow) -> bool {
    let has = |text: &String| row.line.to_lowercase().contains(&text.to_lowercase());
    want.host
        .as_ref()
        .is_none_or(|host| *host == row.target_host)
        && want.exit.takes(row.exit)
        && want.text.as_ref().is_none_or(has)
        && want.after.is_none_or(|number| row.number > number)
}

pub(super) fn row(row: store::CommandRow) -> CommandRow {
    #[expect(clippy::cast_precision_loss, reason = "shown in tenths of seconds")]
    let took_s = row.duration_us.map(|us| us as f64 / 1e6);
    CommandRow {
        id: row.id,
        number: row.number,
        at: row.at,
        host: row.host,
        target_host: row.target_host,
        line: row.line.unwrap_or_else(|| ERASED_LINE.to_owned()),
        exit: row.exit,
        took_s,
        bytes: row.stdout_bytes + row.stderr_bytes + row.tty_bytes,
    }
}

fn brief(row: FindingRow) -> FindingBrief {
    FindingBrief {
        title: row.title,
        kind: row.kind,
        claim: match row.claim.as_str() {
            "established" => Claim::Established,
            "suspected" => Claim::Suspected,
            _ => Claim::Observed,
        },
        severity: match row.severity.as_str() {
            "critical" => Severity::Critical,
            "high" => Severity::High,
            "medium" => Severity::Medium,
            "low" => Severity::Low,
            _ => Severity::Info,
        },
        status: match row.status.as_str() {
            "resolved" => Status::Resolved,
            "confirmed" => Status::Confirmed,
            "dismissed" => Status::Dismissed,
            _ => Status::Open,
        },
    }
}

fn stream_of(value: &serde_json::Value) -> Option<Stream> {
    serde_json::from_value(value.get("stream")?.clone()).ok()
}

/// Complaints as they are stored: objects with the stream, or pairs of both.
fn complaints(stored: serde_json::Value) -> Vec<(Stream, Complaint)> {
    if let Ok(pairs) = serde_json::from_value::<Vec<(Stream, Complaint)>>(stored.clone()) {
        return pairs;
    }
    let list = stored.as_array().cloned().unwrap_or_default();
    list.into_iter()
        .filter_map(|value| {
            let stream = stream_of(&value)?;
            Some((stream, serde_json::from_value(value).ok()?))
        })
        .collect()
}

fn spans(stored: &serde_json::Value) -> Vec<Span> {
    let list = stored.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .filter_map(|value| {
            Some(Span {
                stream: stream_of(value)?,
                from: value.get("from")?.as_u64()?,
                to: value.get("to")?.as_u64()?,
            })
        })
        .collect()
}
