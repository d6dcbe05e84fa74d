//! `rec show`: a command with its output, facts, complaints and unclaimed lines.

use serde_json::{Value, json};

use crate::cmd::paint::{Paint, exit_mark, exit_style};
use crate::diagnosis::words::{shorten, size, tame};
use crate::event::Stream;
use crate::fact::value::Value as FieldValue;
use crate::fact::{Fact, Observed};
use crate::id::SessionId;
use crate::probe::Reading;
use crate::probe::bounds::is_binary;
use crate::time::{counted, human_duration};
use crate::timeline::{Command, Entry};

/// Lines of output shown before the middle is left out.
const SHOWN_LINES: usize = 60;

/// What is shown of a command.
pub struct Shown<'a> {
    /// The command.
    pub command: &'a Command,
    /// Its session.
    pub session: SessionId,
    /// The session's times are relative.
    pub relative: bool,
    /// Its output, read anew.
    pub reading: &'a Reading,
    /// Its streams.
    pub streams: &'a [(Stream, Vec<u8>)],
    /// What the line itself says and what follows from this look.
    pub derived: &'a [Entry],
    /// Bytes that are not on record.
    pub gap_bytes: u64,
}

/// The JSON of the contract.
pub fn to_json(shown: &Shown<'_>) -> Value {
    let command = shown.command;
    let invocations: Vec<Value> = command
        .tree
        .invocations
        .iter()
        .map(|invocation| {
            json!({
                "index": invocation.index,
                "parent": invocation.parent,
                "hop": invocation.hop,
                "target_host": invocation.place.host.as_deref().unwrap_or(&command.host),
                "user": invocation.place.user,
                "container": invocation.place.container,
                "words": invocation.words.iter().map(|word| &word.text).collect::<Vec<_>>(),
                "background": invocation.background,
                "condition": invocation.condition,
                "redirects": invocation.redirects,
            })
        })
        .collect();
    let facts: Vec<Value> = shown
        .reading
        .facts
        .iter()
        .map(|observed| fact_json(observed, &command.host))
        .collect();
    let complaints: Vec<Value> = shown
        .reading
        .complaints
        .iter()
        .map(|(stream, complaint)| {
            json!({"stream": stream, "from": complaint.from, "to": complaint.to, "text": complaint.text})
        })
        .chain(command.tree.complaints.iter().map(|complaint| {
            json!({"stream": null, "from": complaint.from, "to": complaint.to, "text": complaint.text})
        }))
        .collect();
    json!({
        "format": crate::diagnosis::FORMAT,
        "command_id": command.id,
        "number": command.number,
        "session": shown.session,
        "at": super::timeline::at(command.at, shown.relative),
        "host": command.host,
        "target_host": command.target_host(),
        "line": command.line,
        "exit": command.exit,
        "duration_ms": command.took_s.map(|seconds| (seconds * 1e6).round() / 1e3),
        "invocations": invocations,
        "facts": facts,
        "complaints": complaints,
        "unclaimed": shown.reading.unclaimed,
        "derived": shown.derived,
        "gap_bytes": shown.gap_bytes,
    })
}

fn fact_json(observed: &Observed, typed_on: &str) -> Value {
    let mut value = serde_json::to_value(&observed.fact).unwrap_or(Value::Null);
    if let Some(object) = value.as_object_mut() {
        let host = observed.place.host.as_deref().unwrap_or(typed_on);
        object.insert("target_host".to_owned(), json!(host));
        object.insert("invocation".to_owned(), json!(observed.invocation));
        object.insert("stream".to_owned(), json!(observed.stream));
        object.insert("from".to_owned(), json!(observed.from));
        object.insert("to".to_owned(), json!(observed.to));
    }
    value
}

/// The command as the terminal shows it.
pub fn render(shown: &Shown<'_>, paint: Paint) -> String {
    let command = shown.command;
    let took = command.took_s.map(human_duration).unwrap_or_default();
    let when = if shown.relative {
        String::new()
    } else {
        format!("  {}", paint.day(command.at))
    };
    let mut out = format!(
        "{}  {}{}  {}  {}\n",
        paint.bold(&format!("#{}", command.number)),
        tame(command.target_host()),
        paint.dim(&when),
        paint.style(exit_style(command.exit), &exit_mark(command.exit)),
        paint.dim(&took)
    );
    for line in command.line.lines() {
        out.push_str(&format!("    {}\n", tame(line)));
    }
    for (stream, bytes) in shown.streams {
        if bytes.is_empty() {
            continue;
        }
        let heading = format!("{}  {}", stream.name(), size(bytes.len() as u64));
        out.push_str(&format!("\n  {}\n", paint.dim(&heading)));
        out.push_str(&output(bytes, *stream, shown, paint));
    }
    if shown.gap_bytes > 0 {
        let text = format!("{} not on record", size(shown.gap_bytes));
        out.push_str(&format!("\n  {}\n", paint.style("33", &text)));
    }
    if !shown.derived.is_empty() {
        out.push_str(&format!(
            "\n  {}\n",
            paint.dim("the line, and what follows")
        ));
        for entry in shown.derived {
            out.push_str(&row(&entry.fact, "", paint));
        }
    }
    if !shown.reading.facts.is_empty() {
        out.push_str(&format!("\n  {}\n", paint.dim("facts")));
        for observed in &shown.reading.facts {
            out.push_str(&fact_row(observed, shown, paint));
        }
    }
    for complaint in &command.tree.complaints {
        out.push_str(&format!("\n  ? the line: {}\n", tame(&complaint.text)));
    }
    for (stream, complaint) in &shown.reading.complaints {
        out.push_str(&format!(
            "\n  ? {}: {}\n",
            stream.name(),
            tame(&complaint.text)
        ));
    }
    if !shown.reading.unclaimed.is_empty() {
        let unclaimed = &shown.reading.unclaimed;
        let mut places: Vec<String> = unclaimed
            .iter()
            .take(SHOWN_SPANS)
            .map(|span| lines_of((span.stream, span.from, span.to), shown))
            .collect();
        if unclaimed.len() > SHOWN_SPANS {
            places.push(format!("{} more", unclaimed.len() - SHOWN_SPANS));
        }
        let text = format!(
            "parts that belong to no look that is known: {}",
            places.join(", ")
        );
        out.push_str(&format!("\n  {}\n", paint.dim(&text)));
    }
    out
}

/// Parts that nobody claims, named by their lines.
const SHOWN_SPANS: usize = 8;
/// Bytes of one line that are shown.
const SHOWN_WIDTH: usize = 4_000;
/// Bytes of a stream's start and of its end that are looked at for showing.
const SHOWN_BYTES: usize = 256 << 10;

fn output(bytes: &[u8], stream: Stream, shown: &Shown<'_>, paint: Paint) -> String {
    let all = format!("rec show {} --{}", shown.command.number, stream.name());
    if is_binary(bytes) {
        return format!("    {}\n", paint.dim(&format!("no text; its bytes: {all}")));
    }
    if bytes.len() > 2 * SHOWN_BYTES {
        let (head, tail) = (&bytes[..SHOWN_BYTES], &bytes[bytes.len() - SHOWN_BYTES..]);
        let missing = size((bytes.len() - 2 * SHOWN_BYTES) as u64);
        return format!(
            "{}    {}\n{}",
            part(head, stream, shown, paint),
            paint.dim(&format!("… {missing} more: {all}")),
            part(tail, stream, shown, paint)
        );
    }
    part(bytes, stream, shown, paint)
}

fn part(bytes: &[u8], stream: Stream, shown: &Shown<'_>, paint: Paint) -> String {
    let lines = crate::text::lines(bytes);
    let mut out = String::new();
    let hidden = lines.len().saturating_sub(SHOWN_LINES);
    let head = if hidden > 0 {
        SHOWN_LINES / 3
    } else {
        lines.len()
    };
    for (place, line) in lines.iter().enumerate() {
        if hidden > 0 && place == head {
            let all = format!("rec show {} --{}", shown.command.number, stream.name());
            let note = format!("… {} more: {all}", counted(hidden, "line"));
            out.push_str(&format!("    {}\n", paint.dim(&note)));
        }
        if hidden > 0 && place >= head && place < head + hidden {
            continue;
        }
        let text = crate::text::cut(&line.text, SHOWN_WIDTH);
        let more = if text.len() < line.text.len() || line.cut {
            "…"
        } else {
            ""
        };
        out.push_str(&format!("    {}{more}\n", tame(text)));
    }
    out
}

fn fact_row(observed: &Observed, shown: &Shown<'_>, paint: Paint) -> String {
    let from = observed.stream.map_or_else(String::new, |stream| {
        lines_of((stream, observed.from, observed.to), shown)
    });
    row(&observed.fact, &from, paint)
}

fn row(fact: &Fact, from: &str, paint: Paint) -> String {
    let fields = crate::fact::fact_type(fact.name())
        .map(|ty| ty.fields)
        .unwrap_or_default();
    let told: Vec<String> = fields
        .iter()
        .filter_map(|field| {
            let text = match fact.get(field.name)? {
                FieldValue::Unknown | FieldValue::Null => return None,
                FieldValue::Bool(false) => return None,
                FieldValue::Bool(true) => field.name.to_owned(),
                FieldValue::Int(number) => format!("{} {number}", field.name),
                FieldValue::Float(number) => format!("{} {number:.2}", field.name),
                FieldValue::Text(text) if text.is_empty() || text == "unknown" => return None,
                FieldValue::Text(text) => format!("{} {}", field.name, shorten(&text, 60)),
                FieldValue::List(items) if items.is_empty() => return None,
                FieldValue::List(items) => format!("{} × {}", field.name, items.len()),
            };
            Some(text)
        })
        .collect();
    let room = paint.width.saturating_sub(24 + from.len()).max(30);
    let row = format!(
        "    {}  {}  {}",
        crate::cmd::paint::pad(fact.name(), 16),
        shorten(&told.join(" · "), room),
        paint.dim(from)
    );
    format!("{}\n", row.trim_end())
}

/// The lines of the stream that a span holds, counted from 1.
fn lines_of((stream, from, to): (Stream, u64, u64), shown: &Shown<'_>) -> String {
    let Some((_, bytes)) = shown.streams.iter().find(|(name, _)| *name == stream) else {
        return String::new();
    };
    let line_at = |offset: u64| {
        let end = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        bytes[..end].iter().filter(|byte| **byte == b'\n').count() + 1
    };
    let (first, last) = (line_at(from), line_at(to.saturating_sub(1).max(from)));
    let place = if first == last {
        format!("line {first}")
    } else {
        format!("lines {first}–{last}")
    };
    if stream == Stream::Stdout {
        place
    } else {
        format!("{} {place}", stream.name())
    }
}
