//! One event a line, with its content: what `rec import` reads back (`docs/events.md`).

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::event::{Recorded, StoredContent};
use crate::id::{ContentId, EventId, SessionId};
use crate::store::{Store, StoreError};

/// Events read at a time: each may carry a megabyte of output.
const BATCH: u32 = 32;

/// Why a session was not exported.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The store does not give it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot be written where it was to go.
    #[error("cannot write the export")]
    Write(#[from] io::Error),
}

#[derive(Serialize)]
struct Line<'a> {
    format: u32,
    id: EventId,
    session: SessionId,
    session_version: i64,
    /// How many there are, on a session's first line: an export that was cut off is known by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<i64>,
    kind: &'a str,
    version: u32,
    at: String,
    at_us: i64,
    body: &'a RawValue,
    prev_hash: String,
    hash: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contents: Vec<Content<'a>>,
}

#[derive(Serialize)]
struct Content<'a> {
    id: ContentId,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    salt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    erased: bool,
}

/// Writes all events of a session.
///
/// # Errors
/// When the store does not answer or the output cannot be written.
pub async fn write(
    store: &Store,
    session: SessionId,
    out: &mut impl Write,
) -> Result<usize, ExportError> {
    let (mut after, mut written) = (0, 0);
    let all = store.session_events(session).await?;
    loop {
        let events = store.recorded(session, after, BATCH).await?;
        let Some(last) = events.last() else {
            return Ok(written);
        };
        after = last.session_version;
        for event in &events {
            // What was added since is not counted in the first line.
            if event.session_version > all {
                return Ok(written);
            }
            let count = (written == 0).then_some(all);
            serde_json::to_writer(&mut *out, &line(event, count)?).map_err(io::Error::from)?;
            out.write_all(b"\n")?;
            written += 1;
        }
    }
}

fn line(event: &Recorded, events: Option<i64>) -> Result<Line<'_>, ExportError> {
    // The database checks that every body is JSON; a hash covers it byte for byte, so it goes out
    // as it stands.
    let body = serde_json::from_str(&event.body).map_err(|_| StoreError::BadRow {
        what: format!("the body of event {}", event.id),
    })?;
    Ok(Line {
        format: 1,
        id: event.id,
        session: event.session,
        session_version: event.session_version,
        events,
        kind: &event.kind,
        version: event.version,
        at: event.at.rfc3339(),
        at_us: event.at.0,
        body,
        prev_hash: hex(&event.prev_hash),
        hash: hex(&event.hash),
        contents: event.contents.iter().map(content).collect(),
    })
}

fn content(stored: &StoredContent) -> Content<'_> {
    let (salt, bytes) = match &stored.kept {
        Some((salt, bytes)) => (Some(hex(salt)), Some(bytes.as_slice())),
        None => (None, None),
    };
    let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
    Content {
        id: stored.id,
        kind: stored.kind.name(),
        salt,
        text,
        base64: bytes
            .filter(|_| text.is_none())
            .map(|bytes| STANDARD.encode(bytes)),
        erased: stored.kept.is_none(),
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    bytes
        .iter()
        .flat_map(|byte| {
            [
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]
        })
        .collect()
}
