//! `rec import`: case files and exported sessions become sessions here.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use crate::capture::session;
use crate::cli::Import;
use crate::cmd::desk::Desk;
use crate::cmd::verbs::{complain, say, say_json};
use crate::event::{ContentKind, Event, NewEvent, Recorded};
use crate::id::{ContentId, SessionId};
use crate::import;
use crate::projection;
use crate::redact::Marker;
use crate::report::CommandError;
use crate::time::{Micros, counted};

/// `rec import FILE…`; prints each session's id, the last one last.
///
/// # Errors
/// At the first file that does not read; the ones before it are in.
pub async fn run(desk: &Desk, args: &Import) -> Result<ExitCode, CommandError> {
    let mut rows = Vec::new();
    for path in &args.files {
        for id in take_in(desk, path).await? {
            projection::fold::catch_up(&desk.store).await?;
            let view = desk.view(id).await?;
            let next = view
                .commands
                .iter()
                .map(|command| command.number)
                .max()
                .unwrap_or(0)
                + 1;
            session::register(&desk.home, id, next)?;
            rows.push((path, id, view.commands.len()));
        }
    }
    if args.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(path, id, commands)| json!({"path": path, "session": id, "commands": commands}))
            .collect();
        say_json(&json!({"format": 1, "ok": true, "sessions": rows}));
    } else {
        for (path, id, commands) in rows {
            say(&format!(
                "{}: {} in session {id}\n",
                path.display(),
                counted(commands, "command")
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes a file in; the sessions it held.
async fn take_in(desk: &Desk, path: &Path) -> Result<Vec<SessionId>, CommandError> {
    let shown = path.display();
    let bytes = read(path)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandError::usage(format!("{shown} is not UTF-8: byte {at} is wrong"))
            .hint("case files and exports are UTF-8")
    })?;
    let exported = path
        .extension()
        .is_some_and(|extension| extension == "jsonl");
    if exported || import::jsonl::is_export(&text) {
        let mut events = import::jsonl::read(&text)
            .map_err(|error| CommandError::usage(format!("{shown}: {error}")))?;
        let mut secret = withhold(&mut events, &desk.home.marker());
        for contents in secret.values_mut() {
            let mut new = Vec::new();
            for id in std::mem::take(contents) {
                // What is here already stays as it is.
                if desk.store.stored_content(id).await.is_err() {
                    new.push(id);
                }
            }
            *contents = new;
        }
        let mut sessions: Vec<SessionId> = events.iter().map(|event| event.session).collect();
        sessions.dedup();
        desk.store.restore(&events).await.map_err(|error| {
            CommandError::usage(format!("{shown}: {error}")).hint("nothing was changed")
        })?;
        for (session, contents) in secret {
            if contents.is_empty() {
                continue;
            }
            let event = Event::ContentErased {
                contents,
                command: None,
            };
            let event = NewEvent::bare(Micros::now(), event);
            desk.store.append(session, vec![event], None).await?;
        }
        return Ok(sessions);
    }
    let (new, notes) = import::case::read_noting(&text, &desk.home.marker()).map_err(|error| {
        CommandError::usage(format!("{shown}: {error}"))
            .hint("a case file has `title` and `steps`, each step with at least a `command`")
    })?;
    for (line, note) in notes {
        complain(&format!("rec: {shown}, line {line}: {note}"));
    }
    desk.store.append(new.session, new.events, None).await?;
    Ok(vec![new.session])
}

/// The most that a case file or an export may hold, in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// What a file holds; a device, which may have no end, and a file of more than [`MOST_BYTES`] are
/// refused.
fn read(path: &Path) -> Result<Vec<u8>, CommandError> {
    let shown = path.display();
    let mut file = std::fs::File::open(path).map_err(|error| unreadable(path, &error))?;
    let kind = file.metadata().map(|data| data.file_type());
    if kind.is_ok_and(|kind| kind.is_char_device() || kind.is_block_device()) {
        return Err(CommandError::usage(format!("{shown} is a device"))
            .hint("name a case file, or an export of ours"));
    }
    let mut bytes = Vec::new();
    let count = Read::by_ref(&mut file)
        .take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    if u64::try_from(count).unwrap_or(u64::MAX) > MOST_BYTES {
        return Err(
            CommandError::usage(format!("{shown} holds more than 1 GiB"))
                .hint("split it: a session a file"),
        );
    }
    Ok(bytes)
}

fn unreadable(path: &Path, error: &std::io::Error) -> CommandError {
    let shown = path.display();
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            CommandError::usage(format!("there is no file {shown}")).hint("check the path")
        }
        std::io::ErrorKind::IsADirectory => CommandError::usage(format!("{shown} is a folder"))
            .hint(format!("name the files in it: rec import {shown}/*.yaml")),
        std::io::ErrorKind::PermissionDenied => {
            CommandError::usage(format!("{shown} may not be read by this user"))
        }
        _ => CommandError::usage(format!("cannot read {shown}: {error}")),
    }
}

/// Takes the content that holds secrets out of events that were recorded elsewhere: it cannot be
/// masked, because their hashes hold. What was taken out, by session.
fn withhold(events: &mut [Recorded], marker: &Marker) -> BTreeMap<SessionId, Vec<ContentId>> {
    let mut out: BTreeMap<SessionId, Vec<ContentId>> = BTreeMap::new();
    for event in events {
        for content in &mut event.contents {
            let secret = content.kept.as_ref().is_some_and(|(_, bytes)| {
                let masked = match (content.kind, std::str::from_utf8(bytes)) {
                    (ContentKind::Line, Ok(line)) => marker.line(line).text().as_bytes().to_vec(),
                    _ => marker.bytes(bytes),
                };
                masked != *bytes
            });
            if secret {
                content.kept = None;
                out.entry(event.session).or_default().push(content.id);
            }
        }
    }
    out
}
