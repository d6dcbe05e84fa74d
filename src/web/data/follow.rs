//! Watching the home: spools are taken in as they come, and open pages are told.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::{JoinHandle, JoinSet};

use crate::projection::{self, Patience, fold};

use super::{Change, Data};
use crate::web::failure::Failure;

/// How often the home is looked at: two cheap questions, a folder's list and the log's end.
const EVERY: Duration = Duration::from_millis(400);
/// Events that are looked through at once.
const BATCH: u32 = 2_000;
/// Sessions diagnosed after they changed, at one turn.
const AT_A_TURN: usize = 4;
/// Sessions diagnosed at the start, for the list.
const AT_START: u32 = 40;

impl Data {
    /// Watches the home and tells of changes, until it is aborted.
    pub fn follow(&self) -> JoinHandle<()> {
        let data = self.clone();
        tokio::spawn(async move {
            let mut seen = data.store.head().await.unwrap_or(0);
            // What was recorded before this program came is taken in first.
            let _ = projection::ingest(&data.home, &data.store, Patience::Skip).await;
            let first = data.clone();
            // Ends with this task.
            let mut start = JoinSet::new();
            start.spawn(async move { first.diagnose_the_new(AT_START).await });
            let mut turn = tokio::time::interval(EVERY);
            turn.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                turn.tick().await;
                // A store that is busy now is asked again at the next turn.
                if let Ok(now) = data.look(seen).await {
                    seen = now;
                }
            }
        })
    }

    /// Takes in what waits, tells of what is new, and gives the log's end.
    async fn look(&self, seen: i64) -> Result<i64, Failure> {
        if projection::ingest::waiting(&self.home).0 > 0 {
            let taken = projection::ingest(&self.home, &self.store, Patience::Skip).await;
            taken.map_err(|error| Failure::broken("Spools cannot be read", &error))?;
        }
        let head = self.store.head().await?;
        if head <= seen {
            return Ok(seen);
        }
        self.catch_up().await?;
        let mut newest = BTreeMap::new();
        let mut from = seen;
        loop {
            let events = self.store.events_after(from, BATCH).await?;
            let Some(last) = events.last() else { break };
            from = last.seq;
            newest.extend(events.iter().map(|event| (event.session, event.seq)));
        }
        let mut changed = Vec::new();
        for (session, seq) in newest {
            // Nobody may be listening.
            let _ = self.changes.send(Change { session, seq });
            changed.push(session);
        }
        for session in changed.into_iter().rev().take(AT_A_TURN) {
            self.diagnose_the_changed(session).await;
        }
        Ok(from)
    }

    /// Brings the read tables up to the log.
    pub(super) async fn catch_up(&self) -> Result<(), Failure> {
        if self.store.is_read_only() {
            return Ok(());
        }
        Ok(fold::catch_up(&self.store).await?)
    }
}
