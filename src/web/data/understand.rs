//! What follows from a session's commands, worked out once for each state of the record.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;

use crate::id::SessionId;
use crate::projection::{self, judge, postmortem};
use crate::settings::Settings;
use crate::store::Diagnosed;
use crate::time::Micros;

use super::{Data, SessionCard, Understanding};
use crate::web::failure::Failure;

/// How long a page waits before it is sent without; and in a session too long to be done by then.
const PATIENCE: Duration = Duration::from_millis(150);
const PATIENCE_IF_LONG: Duration = Duration::from_millis(10);
/// Commands of a long session.
const LONG: u64 = 3_000;
/// Sessions that are kept in memory.
const KEPT: usize = 8;
/// How long a live session's diagnosis holds: silence grows while nothing happens.
const HOLDS_US: i64 = 15_000_000;

/// A session understood, or being so.
type Cell = Arc<OnceCell<Arc<Understanding>>>;

/// Sessions understood, by the newest event they know.
#[derive(Debug, Default)]
pub(super) struct Cache {
    known: HashMap<SessionId, (i64, Micros, Cell)>,
}

impl Cache {
    fn cell(&mut self, id: SessionId, seq: i64, now: Micros) -> Cell {
        if let Some((known, since, cell)) = self.known.get(&id)
            && *known == seq
            && now.0 - since.0 < HOLDS_US
        {
            return cell.clone();
        }
        if self.known.len() >= KEPT {
            let oldest = self.known.iter().min_by_key(|(_, (_, since, _))| *since);
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                self.known.remove(&oldest);
            }
        }
        let cell = Cell::default();
        self.known.insert(id, (seq, now, cell.clone()));
        cell
    }
}

impl Data {
    /// What follows from a session's commands; `None` while it takes too long to wait for.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn understanding(
        &self,
        card: &SessionCard,
    ) -> Result<Option<Arc<Understanding>>, Failure> {
        let id = card.id;
        let patience = if card.commands > LONG {
            PATIENCE_IF_LONG
        } else {
            PATIENCE
        };
        // On a task of its own, so that what is begun is not lost with the page that asked.
        let data = self.clone();
        let task = tokio::spawn(async move { data.understanding_now(id).await });
        match tokio::time::timeout(patience, task).await {
            Err(_) => Ok(None),
            Ok(Ok(understanding)) => understanding.map(Some),
            Ok(Err(error)) => Err(Failure::broken("This session cannot be diagnosed", &error)),
        }
    }

    /// What follows from a session's commands, however long it takes.
    ///
    /// # Errors
    /// When there is no such session, or the store does not answer.
    pub async fn understanding_now(&self, id: SessionId) -> Result<Arc<Understanding>, Failure> {
        let row = self.store.session_row(id).await?;
        let seq = row.map_or(0, |row| row.last_seq);
        let cell = match self.understood.lock() {
            Ok(mut cache) => cache.cell(id, seq, Micros::now()),
            Err(_) => Cell::default(),
        };
        let data = self.clone();
        let known = cell.get_or_try_init(|| async move {
            // Shell, probes and playbooks keep a core busy: not one that answers requests.
            let runtime = tokio::runtime::Handle::current();
            tokio::task::spawn_blocking(move || runtime.block_on(data.understand(id)))
                .await
                .map_err(|error| Failure::broken("This session cannot be diagnosed", &error))?
        });
        known.await.cloned()
    }

    async fn understand(&self, id: SessionId) -> Result<Arc<Understanding>, Failure> {
        let view = projection::session(&self.store, id).await?;
        let now = Micros::now();
        let playbooks = self.all_playbooks();
        let diagnosis = judge::diagnose(&self.store, &view, &playbooks, now).await?;
        Ok(Arc::new(Understanding {
            timeline: judge::timeline(&view, now),
            diagnosis,
        }))
    }

    /// Diagnoses sessions whose stored findings are behind, newest first, so that lists show what
    /// was found.
    pub(super) async fn diagnose_the_new(&self, most: u32) {
        let Ok(cards) = self.sessions(most).await else {
            return;
        };
        let learn = Settings::read().learn;
        let Ok(stamp) = judge::stamp(&self.store, &self.all_playbooks(), learn).await else {
            return;
        };
        for card in cards {
            let holds_for = Diagnosed {
                seq: card.last_seq,
                stamp: stamp.clone(),
            };
            if let Ok(known) = self.store.diagnosed(card.id).await
                && known != Some(holds_for)
            {
                // One that cannot be diagnosed says so on its own page.
                let _ = self.understanding_now(card.id).await;
            }
        }
    }

    /// Diagnoses a session that just changed, unless it is long.
    pub(super) async fn diagnose_the_changed(&self, id: SessionId) {
        if let Ok(Some(row)) = self.store.session_row(id).await
            && u64::from(row.commands) <= LONG
        {
            let _ = self.understanding_now(id).await;
        }
    }

    /// The postmortem of a session, as Markdown: the one saved last, else a draft.
    ///
    /// # Errors
    /// When there is no such session, or the store does not answer.
    pub async fn postmortem(&self, key: &str) -> Result<(SessionCard, String), Failure> {
        let card = self.session(key).await?;
        let view = projection::session(&self.store, card.id).await?;
        let saved = view.notes.iter().rev().find(|note| note.postmortem);
        if let Some(text) = saved.and_then(|note| note.text.clone()) {
            return Ok((card, text));
        }
        let understanding = self.understanding_now(card.id).await?;
        Ok((card, postmortem::draft(&view, &understanding.diagnosis)))
    }
}
