//! Searching: the index, kept up to the record.

use crate::index::{BadQuery, Hit as IndexHit, Hits, Index, IndexError, Search};
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
        let search = Search {
            query,
            limit: PAGE,
            skip,
            now: Micros::now(),
        };
        let mut slot = self.index.lock().await;
        let answer = match self.ask(&mut slot, search).await {
            Err(IndexError::Folder { .. } | IndexError::Engine(_)) => {
                // Somebody made the index anew, or took it away, under a running server.
                *slot = None;
                self.ask(&mut slot, search).await
            }
            answer => answer,
        };
        match answer {
            Ok(hits) => Ok(Found {
                took_ms: hits.took_ms,
                total: hits.total as u64,
                nothing: (!hits.unmet.is_empty())
                    .then(|| format!("Nothing on record has {}.", hits.unmet.join(" or "))),
                hits: hits.hits.into_iter().map(hit).collect(),
            }),
            Err(IndexError::Query(BadQuery { problem, hint })) => Ok(Found {
                nothing: Some(format!("The search is not understood: {problem}; {hint}.")),
                ..Found::default()
            }),
            Err(error) => Err(Failure::broken("The search does not answer", &error)),
        }
    }

    async fn ask(&self, slot: &mut Option<Index>, search: Search<'_>) -> Result<Hits, IndexError> {
        let index = match slot.as_mut() {
            Some(index) => index,
            None => slot.insert(Index::open(self.store.home())?),
        };
        index.catch_up(&self.store).await?;
        index.search(&self.store, search).await
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
