//! Searching: the index, kept up to the record.

use crate::index::{Hit as IndexHit, Index, Search};
use crate::time::Micros;

use super::{Data, Found, Hit};
use crate::web::failure::Failure;
use crate::web::search::PAGE;

impl Data {
    /// Searches everything; passes over the first `skip` hits.
    ///
    /// # Errors
    /// When the index or the store does not answer.
    pub async fn search(&self, query: &str, skip: usize) -> Result<Found, Failure> {
        let broken = |error| Failure::broken("The search does not answer", &error);
        let mut slot = self.index.lock().await;
        let index = match slot.as_mut() {
            Some(index) => index,
            None => slot.insert(Index::open(self.store.home()).map_err(broken)?),
        };
        index.catch_up(&self.store).await.map_err(broken)?;
        let search = Search {
            query,
            limit: PAGE,
            skip,
            now: Micros::now(),
        };
        let hits = index.search(&self.store, search).await.map_err(broken)?;
        Ok(Found {
            took_ms: hits.took_ms,
            total: hits.total as u64,
            hits: hits.hits.into_iter().map(hit).collect(),
        })
    }
}

fn hit(hit: IndexHit) -> Hit {
    Hit {
        session: hit.session,
        title: hit
            .title
            .unwrap_or_else(|| format!("Session {}", hit.session.short())),
        kind: hit.kind,
        number: hit.number,
        at: hit.at_us,
        relative: hit.relative_time,
        target_host: hit.target_host.unwrap_or_default(),
        line: hit.line,
        exit: hit.exit,
        stream: hit.stream,
        from: hit.from,
        snippet: hit.snippet,
    }
}
