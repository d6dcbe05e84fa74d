//! Searching, and putting a hit together from the store.

use std::time::Instant;

use serde::Serialize;
use tantivy::collector::{Count, TopDocs};
use tantivy::schema::Value;
use tantivy::{DocAddress, Order, TantivyDocument};

use super::query::{Asked, Flags, parse};
use super::tokens::words;
use super::update::found_at;
use super::{Index, IndexError};
use crate::event::{Exit, Stream};
use crate::id::{CommandId, SessionId};
use crate::store::{CommandRow, SessionRow, Store};
use crate::text;
use crate::time::Micros;

/// The longest snippet, in bytes.
const SNIPPET_BYTES: usize = 400;

/// What to search for.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// Words, "phrases" and filters.
    pub query: &'a str,
    /// How many hits at most.
    pub limit: usize,
    /// How many to pass over.
    pub skip: usize,
    /// What `since:2h` counts from.
    pub now: Micros,
}

/// What was found: the shape of `rec search --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hits {
    /// The format's number.
    pub format: u32,
    /// How long it took, in milliseconds.
    pub took_ms: f64,
    /// How many there are.
    pub total: usize,
    /// The newest of them.
    pub hits: Vec<Hit>,
    /// When there are none: the filters that nothing on record fits, whatever else is asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<String>,
}

/// A command, a part of its output, a note or a finding that matches.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// The session.
    pub session: SessionId,
    /// The session's title.
    pub title: Option<String>,
    /// `command`, `output`, `note`, `postmortem` or `finding`.
    pub kind: String,
    /// The command; none for a note or a finding.
    pub command_id: Option<CommandId>,
    /// Its number.
    pub number: Option<u32>,
    /// Where it ran.
    pub target_host: Option<String>,
    /// When it began; none in a session of relative time.
    pub at: Option<String>,
    /// The same in microseconds, relative or not.
    #[serde(skip)]
    pub at_us: Micros,
    /// Times in its session are relative.
    #[serde(skip)]
    pub relative_time: bool,
    /// Its line; what a note or finding says, where it is none.
    pub line: String,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// The stream the snippet is from; none for the line itself.
    pub stream: Option<Stream>,
    /// Where the snippet begins in its stream, in bytes.
    pub from: u64,
    /// The best line, as text.
    pub snippet: String,
}

/// A document that matches, as the index stores it.
struct Found {
    kind: String,
    subject: String,
    session: SessionId,
    spans: Vec<(Stream, u64, u64)>,
}

impl Index {
    /// Searches, the newest first.
    ///
    /// # Errors
    /// When the query is refused ([`IndexError::Query`]), or the index or the store does not answer.
    pub async fn search(&self, store: &Store, search: Search<'_>) -> Result<Hits, IndexError> {
        let began = Instant::now();
        let mut asked = parse(search.query, search.now).map_err(IndexError::Query)?;
        let last = store.last_session().await?.map(|id| id.to_string());
        asked.name_last_session(last.as_deref());
        let (mut total, mut places) = self.find(&asked, search, Flags::Strict)?;
        if total == 0 && asked.has_flags() {
            (total, places) = self.find(&asked, search, Flags::Loose)?;
        }
        let searcher = self.reader.searcher();
        let mut found = Vec::with_capacity(places.len());
        for place in places {
            let document: TantivyDocument = searcher.doc(place)?;
            found.extend(self.stored(&document));
        }
        let commands: Vec<CommandId> = found
            .iter()
            .filter_map(|found| found.subject.parse().ok())
            .collect();
        let commands = store.command_rows(&commands).await?;
        let mut sessions: Vec<SessionRow> = Vec::new();
        let mut hits = Vec::with_capacity(found.len());
        for found in found {
            if !sessions.iter().any(|row| row.id == found.session) {
                sessions.extend(store.session_row(found.session).await?);
            }
            let session = sessions.iter().find(|row| row.id == found.session);
            let command = commands
                .iter()
                .find(|row| row.id.to_string() == found.subject);
            hits.extend(match command {
                Some(command) => Some(command_hit(store, &asked, &found, command, session).await?),
                None => other_hit(store, &found, session).await?,
            });
        }
        Ok(Hits {
            format: 1,
            took_ms: began.elapsed().as_secs_f64() * 1e3,
            total,
            hits,
            unmet: if total == 0 {
                self.unmet(&asked, search.now)?
            } else {
                Vec::new()
            },
        })
    }

    /// The filters that nothing on record fits.
    fn unmet(&self, asked: &Asked, now: Micros) -> Result<Vec<String>, IndexError> {
        let searcher = self.reader.searcher();
        let mut unmet = Vec::new();
        for (shown, query) in asked.alone(&self.fields, now) {
            if searcher.search(&query, &Count)? == 0 {
                unmet.push(shown);
            }
        }
        Ok(unmet)
    }

    fn find(
        &self,
        asked: &Asked,
        search: Search<'_>,
        flags: Flags,
    ) -> Result<(usize, Vec<DocAddress>), IndexError> {
        let query = asked.build(&self.fields, search.now, flags);
        let newest = TopDocs::with_limit(search.limit.max(1))
            .and_offset(search.skip)
            .order_by_fast_field::<u64>("seq", Order::Desc);
        let (total, places) = self.reader.searcher().search(&query, &(Count, newest))?;
        let places: Vec<(Option<u64>, DocAddress)> = places;
        Ok((
            total,
            places
                .into_iter()
                .take(search.limit)
                .map(|(_, place)| place)
                .collect(),
        ))
    }

    fn stored(&self, document: &TantivyDocument) -> Option<Found> {
        let text = |field| {
            document
                .get_all(field)
                .filter_map(|value| value.as_str())
                .last()
        };
        let kind = document
            .get_first(self.fields.kind)
            .and_then(|value| value.as_str())?;
        Some(Found {
            kind: kind.to_owned(),
            subject: text(self.fields.subject)?.to_owned(),
            session: text(self.fields.session)?.parse().ok()?,
            spans: text(self.fields.spans).map(read_spans).unwrap_or_default(),
        })
    }
}

fn read_spans(text: &str) -> Vec<(Stream, u64, u64)> {
    text.split(',')
        .filter_map(|span| {
            let mut parts = span.split(' ');
            let stream = match parts.next()? {
                "stdout" => Stream::Stdout,
                "stderr" => Stream::Stderr,
                "tty" => Stream::Tty,
                _ => return None,
            };
            Some((
                stream,
                parts.next()?.parse().ok()?,
                parts.next()?.parse().ok()?,
            ))
        })
        .collect()
}

fn hit(found: &Found, session: Option<&SessionRow>, at: Micros) -> Hit {
    let relative_time = session.is_some_and(|row| row.relative_time);
    Hit {
        session: found.session,
        title: session.and_then(|row| row.title.clone()),
        kind: found.kind.clone(),
        command_id: None,
        number: None,
        target_host: None,
        at: (!relative_time).then(|| at.rfc3339()),
        at_us: at,
        relative_time,
        line: String::new(),
        exit: None,
        stream: None,
        from: 0,
        snippet: String::new(),
    }
}

async fn command_hit(
    store: &Store,
    asked: &Asked,
    found: &Found,
    command: &CommandRow,
    session: Option<&SessionRow>,
) -> Result<Hit, IndexError> {
    let line = command.line.clone().unwrap_or_default();
    let mut hit = Hit {
        command_id: Some(command.id),
        number: Some(command.number),
        target_host: Some(command.target_host.clone()),
        exit: Some(command.exit),
        snippet: text::cut(&line, SNIPPET_BYTES).to_owned(),
        ..hit(found, session, command.at)
    };
    let wanted = asked.texts.len();
    let mut best = if found.kind == "command" {
        matches(asked, &line)
    } else {
        0
    };
    hit.line = line;
    if best < wanted {
        for (stream, from, to) in &found.spans {
            let bytes = store.output_range(command.id, *stream, *from, *to).await?;
            for shown in text::lines(&bytes) {
                let count = matches(asked, &shown.text);
                if count > best || (best == 0 && hit.kind == "output" && hit.stream.is_none()) {
                    best = count;
                    hit.stream = Some(*stream);
                    hit.from = from + shown.from;
                    hit.snippet = text::cut(&shown.text, SNIPPET_BYTES).to_owned();
                }
                if best == wanted {
                    return Ok(hit);
                }
            }
        }
    }
    Ok(hit)
}

/// How many of the words and phrases asked for a line holds.
fn matches(asked: &Asked, line: &str) -> usize {
    let line = words(line);
    asked.texts.iter().filter(|text| text.is_in(&line)).count()
}

async fn other_hit(
    store: &Store,
    found: &Found,
    session: Option<&SessionRow>,
) -> Result<Option<Hit>, IndexError> {
    if found.kind == "finding" {
        let findings = store.findings(found.session).await?;
        let finding = findings
            .into_iter()
            .find(|finding| finding.id.to_string() == found.subject);
        return Ok(finding.map(|finding| {
            let mut hit = hit(found, session, found_at(&finding));
            hit.target_host = finding.body["scope"]["host"].as_str().map(str::to_owned);
            hit.line = finding.title.clone();
            hit.snippet = format!("{} ({})", finding.title, finding.playbook);
            hit
        }));
    }
    let notes = store.notes(found.session).await?;
    let note = notes
        .into_iter()
        .find(|note| note.event.to_string() == found.subject);
    Ok(note.and_then(|note| {
        let text = note.text?;
        let mut hit = hit(found, session, note.at);
        hit.line = text.lines().next().unwrap_or_default().to_owned();
        hit.snippet = text::cut(&text, SNIPPET_BYTES).to_owned();
        Some(hit)
    }))
}
