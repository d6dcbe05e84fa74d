//! Searching.

use crate::store::Page;

use super::{Data, Found, Hit};
use crate::web::failure::Failure;

impl Data {
    /// Searches everything; passes over the first `skip` hits.
    ///
    /// # Errors
    /// When the query makes no sense, or the store does not answer.
    pub async fn search(&self, query: &str, skip: usize) -> Result<Found, Failure> {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let mut hits = Vec::new();
        for card in self.sessions(200).await? {
            for command in self.store.commands(card.id, Page::ALL).await? {
                let row = super::read::row(command);
                let line = row.line.to_lowercase();
                if words.iter().all(|word| line.contains(word)) {
                    hits.push(Hit {
                        session: card.id,
                        title: card.title.clone(),
                        number: row.number,
                        at: row.at,
                        relative: card.relative,
                        target_host: row.target_host,
                        line: row.line,
                        exit: row.exit,
                        stream: None,
                        from: 0,
                        snippet: String::new(),
                    });
                }
            }
        }
        Ok(Found {
            took_ms: 0.0,
            total: hits.len() as u64,
            hits: hits.into_iter().skip(skip).take(50).collect(),
        })
    }
}
