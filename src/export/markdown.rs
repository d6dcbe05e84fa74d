//! A session as a page to paste into a ticket: commands, what they printed, notes.
//!
//! Recorded text goes into fences that it cannot close; escapes are taken out.

use std::io::Write;

use super::jsonl::ExportError;
use crate::event::Exit;
use crate::id::SessionId;
use crate::store::{CommandRow, NoteRow, Page, Store, StoreError};
use crate::text;
use crate::time::{Micros, counted, human_duration};

/// Lines of one stream that are shown: the first and the last half of them.
const LINES: usize = 200;
/// Commands read at a time.
const BATCH: u32 = 200;

/// Writes a session. The read tables must have caught up.
///
/// # Errors
/// When there is no such session, the store does not answer, or the output cannot be written.
pub async fn write(
    store: &Store,
    session: SessionId,
    out: &mut impl Write,
) -> Result<(), ExportError> {
    let row = store
        .session_row(session)
        .await?
        .ok_or_else(|| StoreError::NotFound {
            what: "session",
            text: session.to_string(),
        })?;
    let title = row.title.as_deref().unwrap_or("Session");
    writeln!(out, "# {}\n", inline(title))?;
    let when = |at: Micros| {
        if row.relative_time {
            format!("+{}", human_duration(at.seconds_since(Micros(0))))
        } else {
            at.rfc3339()
        }
    };
    writeln!(
        out,
        "Session {session}, {}, {} to {}.",
        counted(row.commands, "command"),
        when(row.started),
        when(row.last)
    )?;
    let mut notes = store.notes(session).await?.into_iter().peekable();
    let mut skip = 0;
    loop {
        let page = Page { skip, limit: BATCH };
        let commands = store.commands(session, page).await?;
        if commands.is_empty() {
            break;
        }
        skip += BATCH;
        for command in commands {
            while let Some(earlier) = notes.next_if(|note| note.at <= command.at) {
                note(&earlier, &when, out)?;
            }
            write_command(store, &command, &when, out).await?;
        }
    }
    for later in notes {
        note(&later, &when, out)?;
    }
    Ok(())
}

fn note(
    note: &NoteRow,
    when: &impl Fn(Micros) -> String,
    out: &mut impl Write,
) -> Result<(), ExportError> {
    let what = if note.postmortem {
        "Postmortem"
    } else {
        "Note"
    };
    writeln!(out, "\n**{what}** ({})\n", when(note.at))?;
    for line in note.text.as_deref().unwrap_or("(erased)").lines() {
        writeln!(out, "> {line}")?;
    }
    Ok(())
}

async fn write_command(
    store: &Store,
    command: &CommandRow,
    when: &impl Fn(Micros) -> String,
    out: &mut impl Write,
) -> Result<(), ExportError> {
    writeln!(
        out,
        "\n## {} on {} at {}\n",
        command.number,
        inline(&command.target_host),
        when(command.at)
    )?;
    fence(
        "sh",
        command.line.as_deref().unwrap_or("(erased)").trim_end(),
        out,
    )?;
    for (stream, bytes) in store.outputs(command.id).await? {
        let plain = text::plain(&bytes);
        writeln!(out, "\n{}:\n", stream.name())?;
        fence("", &shortened(plain.trim_end_matches('\n')), out)?;
    }
    if command.gap_bytes > 0 {
        writeln!(
            out,
            "\nNot on record: {}.",
            counted(command.gap_bytes, "byte")
        )?;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "microseconds of a command, shown in seconds"
    )]
    let took = command
        .duration_us
        .map(|us| format!(" after {}", human_duration(us as f64 / 1e6)))
        .unwrap_or_default();
    let how = match command.exit {
        Exit::Code(code) => format!("exit {code}"),
        Exit::Signal(signal) => format!("killed by signal {signal}"),
        Exit::Lost => "end not seen".to_owned(),
        Exit::Running => "running".to_owned(),
        Exit::Stopped(signal) => format!("stopped by signal {signal}"),
    };
    writeln!(out, "\n{how}{took} (`{}`)", command.id.short())?;
    Ok(())
}

/// The first and last lines of a long text.
fn shortened(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let left_out = lines.len().saturating_sub(LINES);
    if left_out == 0 {
        return text.to_owned();
    }
    let (first, rest) = lines.split_at(LINES / 2);
    let (_, last) = rest.split_at(left_out);
    format!(
        "{}\n… {} left out …\n{}",
        first.join("\n"),
        counted(left_out, "line"),
        last.join("\n")
    )
}

/// Writes text between fences longer than any run of backquotes in it.
fn fence(language: &str, text: &str, out: &mut impl Write) -> Result<(), ExportError> {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let marks = "`".repeat(longest.max(2) + 1);
    writeln!(out, "{marks}{language}\n{text}\n{marks}")?;
    Ok(())
}

/// Text of ours or a person's in a heading: one line, nothing that markdown reads.
fn inline(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text::plain(text.as_bytes()).chars() {
        match c {
            '\n' | '\r' => plain.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' => {
                plain.push('\\');
                plain.push(c);
            }
            c => plain.push(c),
        }
    }
    plain
}
