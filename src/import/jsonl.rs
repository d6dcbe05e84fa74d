//! Our own export: one event a line, with its content (`docs/events.md`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::event::{ContentKind, Recorded, StoredContent};
use crate::id::{ContentId, EventId, SessionId};
use crate::time::Micros;

/// The format's number that is read here.
const FORMAT: u32 = 1;

/// Why an export was not read.
#[derive(Debug, Error)]
pub enum BadExport {
    /// No events.
    #[error("the file holds no events")]
    Empty,
    /// The file ends in the middle of an event.
    #[error("the file was cut off: it ends in the middle of line {line}")]
    Cut {
        /// The line, from 1.
        line: usize,
    },
    /// A line is not an event.
    #[error("line {line}{} is no event: {problem}", column.map(|at| format!(", column {at},")).unwrap_or_default())]
    Line {
        /// The line, from 1.
        line: usize,
        /// The column, from 1, where it is known.
        column: Option<usize>,
        /// What is wrong.
        problem: String,
    },
    /// A newer format.
    #[error("line {line} is of format {found}, and this version of rec reads format {FORMAT}")]
    Newer {
        /// The line, from 1.
        line: usize,
        /// Its format.
        found: u32,
    },
}

#[derive(Deserialize)]
struct Line<'a> {
    format: u32,
    id: EventId,
    session: SessionId,
    session_version: i64,
    events: Option<i64>,
    kind: String,
    version: u32,
    at_us: i64,
    #[serde(borrow)]
    body: &'a RawValue,
    prev_hash: String,
    hash: String,
    #[serde(default)]
    contents: Vec<Content>,
}

#[derive(Deserialize)]
struct Content {
    id: ContentId,
    kind: String,
    salt: Option<String>,
    text: Option<String>,
    base64: Option<String>,
    #[serde(default)]
    erased: bool,
}

/// Says whether a text looks like our export: its first line is an object with a format.
pub fn is_export(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default();
    let object: Option<serde_json::Map<String, serde_json::Value>> =
        serde_json::from_str(first).ok();
    object.is_some_and(|object| object.contains_key("format"))
}

/// Reads an export. Whether its events are genuine is for the store to say.
///
/// # Errors
/// When a line does not read, with its number.
pub fn read(text: &str) -> Result<Vec<Recorded>, BadExport> {
    read_noting(text).map(|export| export.events)
}

/// Reads an export, and says of which sessions it holds a part only.
///
/// # Errors
/// As [`read`].
pub fn read_noting(text: &str) -> Result<Export, BadExport> {
    let mut events = Vec::new();
    let mut counts: Vec<(SessionId, i64)> = Vec::new();
    let last = text.trim_end().lines().count();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let (event, count) = read_line(number, number == last, line)?;
        counts.extend(count.map(|count| (event.session, count)));
        events.push(event);
    }
    if events.is_empty() {
        return Err(BadExport::Empty);
    }
    let short = counts
        .into_iter()
        .filter_map(|(session, of)| {
            let of_it = events.iter().filter(|event| event.session == session);
            let last = of_it.map(|event| event.session_version).max()?;
            (last < of).then_some(Short {
                session,
                events: last,
                of,
            })
        })
        .collect();
    Ok(Export { events, short })
}

/// An export as it was read.
#[derive(Debug)]
pub struct Export {
    /// Its events.
    pub events: Vec<Recorded>,
    /// The sessions of which it holds a part only.
    pub short: Vec<Short>,
}

/// A session of which an export holds the first part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Short {
    /// Which.
    pub session: SessionId,
    /// How many of its events are there.
    pub events: i64,
    /// How many were written.
    pub of: i64,
}

fn read_line(
    number: usize,
    is_last: bool,
    text: &str,
) -> Result<(Recorded, Option<i64>), BadExport> {
    let bad = |problem: String| BadExport::Line {
        line: number,
        column: None,
        problem,
    };
    let line: Line<'_> = serde_json::from_str(text).map_err(|error| {
        if is_last && error.is_eof() {
            return BadExport::Cut { line: number };
        }
        let words = error.to_string();
        BadExport::Line {
            line: number,
            column: (!error.is_data()).then(|| error.column()),
            problem: words
                .split(" at line ")
                .next()
                .unwrap_or_default()
                .replace("EOF while parsing", "it ends in the middle of")
                .replace("missing field", "it lacks the key"),
        }
    })?;
    if line.format != FORMAT {
        return Err(BadExport::Newer {
            line: number,
            found: line.format,
        });
    }
    let hash = |text: &str| {
        let bytes = hex(text).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        bytes.ok_or_else(|| bad("a hash is not 64 hexadecimal digits".to_owned()))
    };
    let mut contents = Vec::with_capacity(line.contents.len());
    for content in line.contents {
        let id = content.id;
        contents
            .push(read_content(content).ok_or_else(|| bad(format!("content {id} does not read")))?);
    }
    let count = line.events;
    let event = Recorded {
        id: line.id,
        session: line.session,
        session_version: line.session_version,
        version: line.version,
        at: Micros(line.at_us),
        body: line.body.get().to_owned(),
        prev_hash: hash(&line.prev_hash)?,
        hash: hash(&line.hash)?,
        kind: line.kind,
        contents,
    };
    Ok((event, count))
}

fn read_content(content: Content) -> Option<StoredContent> {
    let kept = if content.erased {
        None
    } else {
        let bytes = match (content.text, content.base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(packed)) => STANDARD.decode(packed).ok()?,
            _ => return None,
        };
        Some((hex(&content.salt?)?, bytes))
    };
    Some(StoredContent {
        id: content.id,
        kind: ContentKind::of_name(&content.kind)?,
        kept,
    })
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    pairs
        .iter()
        .map(|[high, low]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_event_is_said_with_one_place_in_plain_words() {
        let says = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(says("\n\n"), "the file holds no events");
        assert_eq!(
            says("{\"a\":1}"),
            "line 1 is no event: it lacks the key `format`"
        );
        assert_eq!(
            says("{\"format\":1,\"id\":\"e-"),
            "the file was cut off: it ends in the middle of line 1"
        );
        let word = says("hello\n{}");
        assert!(
            word.starts_with("line 1, column 1, is no event: "),
            "{word}"
        );
        assert!(!word.contains("at line"), "{word}");
    }
}
