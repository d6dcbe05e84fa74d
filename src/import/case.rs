//! Case files: a title, perhaps a start, and steps, each with a command and what it printed.
//!
//! Keys that are not read here (`kind`, `truth`, `next`, …) belong to whoever keeps the case and are
//! ignored.

use serde::Deserialize;
use serde_saphyr::Spanned;
use thiserror::Error;

use crate::event::{ChunkMark, ContentKind, Event, Exit, NewContent, NewEvent, NewSession, Stream};
use crate::id::{CommandId, SessionId};
use crate::redact::{Marker, Streamer};
use crate::time::Micros;

use step::{Chunk, Step};

mod step;

/// The host of a step that names none: the machine the person sat at, whichever it was.
pub const UNNAMED_HOST: &str = "local";
/// What stands as the recorder of an imported command.
pub const RECORDER: &str = "case file 1";
/// Longer output is kept in several pieces.
const PIECE_BYTES: usize = 4 << 20;

/// Why a case file was not read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum BadCase {
    /// Nothing in it.
    #[error("the case file is empty")]
    Empty,
    /// No commands.
    #[error("line {line}: the case has no steps")]
    NoSteps {
        /// Where `steps` stands.
        line: u64,
    },
    /// Not YAML, or not the keys it should have.
    #[error("line {line}, column {column}: {problem}")]
    Syntax {
        /// The line, from 1.
        line: u64,
        /// The column, from 1.
        column: u64,
        /// What is wrong.
        problem: String,
    },
    /// A value that cannot be.
    #[error("line {line}: {problem}")]
    Value {
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        problem: String,
    },
}

#[derive(Deserialize)]
struct CaseFile {
    title: Option<String>,
    started: Option<Spanned<String>>,
    steps: Spanned<Vec<Spanned<Step>>>,
}

/// Reads a case file; secrets in it are masked under no key.
///
/// # Errors
/// When it is empty, not YAML, lacks a key, or holds a value that cannot be; with the line.
pub fn read(text: &str) -> Result<NewSession, BadCase> {
    read_noting(text, &Marker::default()).map(|(session, _)| session)
}

/// Reads a case file, masking secrets in its lines and outputs, and says what in it looks like a slip: a line and a sentence each.
///
/// # Errors
/// As [`read`].
pub fn read_noting(
    text: &str,
    marker: &Marker,
) -> Result<(NewSession, Vec<(u64, String)>), BadCase> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let says_nothing = |line: &str| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#') || line == "---"
    };
    if text.lines().all(says_nothing) {
        return Err(BadCase::Empty);
    }
    let case: CaseFile = serde_saphyr::from_str_with_options(text, options()).map_err(syntax)?;
    if case.steps.value.is_empty() {
        return Err(BadCase::NoSteps {
            line: case.steps.referenced.line(),
        });
    }
    let (base, relative_time) = match &case.started {
        Some(started) => (start(started)?, false),
        None => (Micros(0), true),
    };

    let title = case
        .title
        .filter(|title| !title.trim().is_empty())
        .map(|title| NewContent::new(ContentKind::Title, marker.text(&title)));
    let mut events = vec![NewEvent {
        at: base,
        event: Event::SessionStarted {
            title: title.as_ref().map(NewContent::reference),
            automatic: false,
            relative_time,
        },
        contents: title.into_iter().collect(),
    }];
    let mut at_s = 0.0;
    let mut notes = Vec::new();
    // What is in brackets does not read when its end is missing; a block may.
    if !text.ends_with('\n') && !text.trim_end().ends_with(['}', ']']) {
        let last = u64::try_from(text.lines().count()).unwrap_or(u64::MAX);
        notes.push((
            last,
            "the last line has no end: the file may have been cut off, and what is there was taken in"
                .to_owned(),
        ));
    }
    for (number, step) in (1..).zip(case.steps.value) {
        let line = step.referenced.line();
        let step = step.value;
        for (key, meant) in &step.slips {
            notes.push((
                line,
                format!("the key `{key}` is not read; `{meant}` is meant?"),
            ));
        }
        at_s = step.at.unwrap_or(at_s);
        if at_s < 0.0 {
            notes.push((line, "`at` lies before the start".to_owned()));
        }
        let at = base.plus_us(micros(at_s, line, "at")?);
        let took_us = step
            .took
            .map(|took| micros(took, line, "took"))
            .transpose()?;
        if took_us.is_some_and(|took| took < 0) {
            return Err(BadCase::Value {
                line,
                problem: "`took` is less than nothing".to_owned(),
            });
        }
        let place = Place {
            number,
            line,
            at_s,
            at,
            took_us,
        };
        add_step(&mut events, marker, &place, step)?;
    }
    let session = NewSession {
        session: SessionId::new(),
        events,
    };
    Ok((session, notes))
}

/// Wide limits: a case of 100,000 steps is a case. What bounds aliases stays as it is.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 50_000_000,
            max_nodes: 25_000_000,
            max_total_scalar_bytes: 2 << 30,
        },
        with_snippet: false,
    }
}

fn syntax(error: serde_saphyr::Error) -> BadCase {
    let (line, column) = error
        .location()
        .map_or((1, 1), |place| (place.line(), place.column()));
    let words = error.without_snippet().to_string();
    // The place is told apart from the words; some of the library's carry it as well.
    let problem = words
        .split(" at line ")
        .next()
        .unwrap_or_default()
        .lines()
        .next()
        .unwrap_or_default()
        .trim_end_matches(['.', ':', ' '])
        .to_owned();
    BadCase::Syntax {
        line,
        column,
        problem: plain(&problem),
    }
}

/// The library's words in ours.
fn plain(words: &str) -> String {
    if words.contains("budget") {
        return "the file is larger, or nests deeper, than a case can".to_owned();
    }
    if words.starts_with("multiple YAML documents") {
        return "another document begins here: a case file holds one; split it".to_owned();
    }
    if let Some(rest) = words.strip_prefix("duplicate mapping key") {
        let key = rest.split(", set ").next().unwrap_or_default();
        return match key.trim_start_matches([':', ' ']) {
            "" => "a key stands here twice: keep one".to_owned(),
            key => format!("the key `{key}` stands here twice: keep one"),
        };
    }
    if let Some(wanted) = words.strip_prefix("expected ") {
        return match shape(wanted) {
            Some(shape) => format!("{shape} should stand here"),
            None => format!("{wanted} should stand here"),
        };
    }
    if let Some(field) = words.strip_prefix("missing field ") {
        return format!("the key {field} is missing");
    }
    if words.contains("null into string") || words.contains("null; use") {
        return "a text should stand here, not nothing".to_owned();
    }
    let Some((found, wanted)) = words
        .strip_prefix("invalid type: ")
        .or_else(|| words.strip_prefix("invalid value: "))
        .and_then(|rest| rest.split_once(", expected "))
    else {
        return words.to_owned();
    };
    let found = found
        .replace("unit value", "nothing")
        .replace("sequence", "a list")
        .replace("map", "keys with values");
    if wanted.contains(" is ") {
        format!("{wanted}, not {found}")
    } else {
        format!("{wanted} should stand here, not {found}")
    }
}

/// What the library calls a shape, in our words.
fn shape(wanted: &str) -> Option<&'static str> {
    let wanted = wanted.to_lowercase();
    let one_of = |names: &[&str]| names.iter().any(|name| wanted.contains(name));
    if one_of(&["mapping", "map start"]) {
        Some("keys with values")
    } else if one_of(&["sequence", "seq start"]) {
        Some("a list")
    } else if one_of(&["string", "scalar"]) {
        Some("a text or a number")
    } else {
        None
    }
}

/// Reads `started`; a time without a zone is taken as UTC.
fn start(started: &Spanned<String>) -> Result<Micros, BadCase> {
    Micros::parse(&started.value)
        .or_else(|_| Micros::parse(&format!("{}Z", started.value.trim())))
        .map_err(|_| BadCase::Value {
            line: started.referenced.line(),
            problem: format!(
                "`started` is not a time such as 2026-11-30T10:00:00Z: `{}`",
                started.value
            ),
        })
}

fn micros(seconds: f64, line: u64, key: &str) -> Result<i64, BadCase> {
    // A thousand years: beyond it a number is a slip, and the sum with a date would not fit.
    if !seconds.is_finite() || seconds.abs() > 3.2e10 {
        return Err(BadCase::Value {
            line,
            problem: format!("`{key}` is no number of seconds"),
        });
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "finite and bounded just above"
    )]
    Ok((seconds * 1e6).round() as i64)
}

/// Where and when a step is.
struct Place {
    number: u32,
    line: u64,
    at_s: f64,
    at: Micros,
    took_us: Option<i64>,
}

fn add_step(
    events: &mut Vec<NewEvent>,
    marker: &Marker,
    place: &Place,
    step: Step,
) -> Result<(), BadCase> {
    let Place {
        number,
        line,
        at,
        took_us,
        ..
    } = *place;
    let command = CommandId::new();
    let typed = step
        .command
        .as_deref()
        .map(|text| text.trim_end_matches('\n'))
        .filter(|text| !text.trim().is_empty());
    let Some(typed) = typed else {
        let problem = match (
            &step.command,
            step.slips.iter().find(|(_, meant)| *meant == "command"),
        ) {
            (Some(_), _) => "`command` is empty".to_owned(),
            (None, Some((key, _))) => {
                format!("the step has no `command` (`{key}` is not read)")
            }
            (None, None) => "the step has no `command`".to_owned(),
        };
        return Err(BadCase::Value { line, problem });
    };
    let masked = marker.line(typed);
    let typed = NewContent::new(ContentKind::Line, masked.text());
    events.push(NewEvent {
        at,
        event: Event::CommandStarted {
            command,
            number,
            line: typed.reference(),
            cwd: None,
            host: step.host.unwrap_or_else(|| UNNAMED_HOST.to_owned()),
            user: None,
            terminals: None,
            parent: None,
            recorder: RECORDER.to_owned(),
        },
        contents: vec![typed],
    });
    let streamer = || {
        let mut streamer = Streamer::new(marker.clone(), None);
        streamer.expect(masked.known());
        streamer
    };
    let ended = at.plus_us(took_us.unwrap_or(0));
    let whole = [
        (Stream::Stdout, step.stdout),
        (Stream::Stderr, step.stderr),
        (Stream::Tty, step.tty),
    ];
    for (stream, text) in whole {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            continue;
        };
        let marks = took_us.map(|after_us| ChunkMark {
            offset_bytes: 0,
            after_us,
        });
        let mut masked = Vec::with_capacity(text.len());
        let mut streamer = streamer();
        streamer.push(text.as_bytes(), &mut masked);
        streamer.finish(&mut masked);
        add_output(events, command, stream, ended, &masked, marks.as_slice());
    }
    let chunks = step.chunks.unwrap_or_default();
    add_chunks(events, command, place, &streamer, chunks)?;
    events.push(NewEvent::bare(
        ended,
        Event::CommandEnded {
            command,
            exit: step.exit.unwrap_or(Exit::Lost),
            duration_us: took_us,
        },
    ));
    Ok(())
}

/// Adds output that came in parts with their times.
///
/// The times count from the step's start; where that cannot be (they lie past its end) and they fit
/// the case's own clock, they count from the case's start.
fn add_chunks(
    events: &mut Vec<NewEvent>,
    command: CommandId,
    place: &Place,
    streamer: &dyn Fn() -> Streamer,
    chunks: Vec<Chunk>,
) -> Result<(), BadCase> {
    let Place {
        line,
        at_s,
        at,
        took_us,
        ..
    } = *place;
    let mut times = Vec::with_capacity(chunks.len());
    for chunk in &chunks {
        times.push(micros(chunk.at, line, "at")?);
    }
    let start_us = micros(at_s, line, "at")?;
    let past_the_end = took_us.is_some_and(|took| times.iter().any(|time| *time > took + 1_000));
    if past_the_end && times.iter().all(|time| *time >= start_us) {
        for time in &mut times {
            *time -= start_us;
        }
    }
    for stream in [Stream::Stdout, Stream::Stderr, Stream::Tty] {
        let (mut bytes, mut marks, mut last) = (Vec::new(), Vec::new(), 0);
        let mut streamer = streamer();
        for (chunk, after_us) in chunks.iter().zip(&times) {
            if chunk.stream == stream && !chunk.text.is_empty() {
                marks.push(ChunkMark {
                    offset_bytes: bytes.len() as u64,
                    after_us: *after_us,
                });
                streamer.push(chunk.text.as_bytes(), &mut bytes);
                last = *after_us;
            }
        }
        streamer.finish(&mut bytes);
        // What waited for its end came with a later chunk, or with none.
        marks.dedup_by_key(|mark: &mut ChunkMark| mark.offset_bytes);
        marks.retain(|mark| mark.offset_bytes < bytes.len() as u64);
        if !bytes.is_empty() {
            add_output(events, command, stream, at.plus_us(last), &bytes, &marks);
        }
    }
    Ok(())
}

/// Adds output, in pieces of a bounded size.
fn add_output(
    events: &mut Vec<NewEvent>,
    command: CommandId,
    stream: Stream,
    at: Micros,
    bytes: &[u8],
    marks: &[ChunkMark],
) {
    for (place, piece) in bytes.chunks(PIECE_BYTES).enumerate() {
        let from = (place * PIECE_BYTES) as u64;
        let to = from + piece.len() as u64;
        let within = |mark: &&ChunkMark| from <= mark.offset_bytes && mark.offset_bytes < to;
        let content = NewContent::new(ContentKind::Output, piece);
        events.push(NewEvent {
            at,
            event: Event::OutputRecorded {
                command,
                stream,
                offset_bytes: from,
                content: content.reference(),
                chunks: marks.iter().filter(within).copied().collect(),
            },
            contents: vec![content],
        });
    }
}

#[cfg(test)]
mod tests;
