//! `rec import`: case files and exported sessions become sessions here.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use crate::capture::named::{self, Why};
use crate::capture::session;
use crate::cli::Import;
use crate::cmd::desk::Desk;
use crate::cmd::verbs::{complain, say, say_json};
use crate::diagnosis::words::tame;
use crate::event::{ContentKind, Event, NewEvent, Recorded};
use crate::id::{ContentId, SessionId};
use crate::import;
use crate::import::jsonl::BadExport;
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
                tame(&path.display().to_string()),
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
        let import::jsonl::Export { mut events, short } =
            import::jsonl::read_noting(&text).map_err(|error| no_export(path, &error))?;
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
        for one in short {
            complain(&format!(
                "rec: {shown} was cut off: of {} in session {} it holds the first {}, which were \
                 taken in; import the whole file for the rest",
                counted(usize::try_from(one.of).unwrap_or(0), "event"),
                one.session.short(),
                one.events
            ));
        }
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

/// What to do about an export that does not read.
fn no_export(path: &Path, error: &BadExport) -> CommandError {
    let hint = match error {
        BadExport::Cut { .. } => {
            "nothing was taken in: export it again, or take the last line out to have what is before it"
        }
        BadExport::Empty | BadExport::Line { .. } => {
            "an export has an event a line: rec export SESSION -o FILE.jsonl; a case file is a .yaml"
        }
        BadExport::Newer { .. } => "take it in with the version that wrote it, or a newer one",
    };
    CommandError::usage(format!("{}: {error}", path.display())).hint(hint)
}

/// The most that a case file or an export may hold, in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// What a file holds; what is no file, or holds more than [`MOST_BYTES`], is refused.
fn read(path: &Path) -> Result<Vec<u8>, CommandError> {
    named::read(path, MOST_BYTES).map_err(|unread| {
        let hint = match &unread.why {
            Why::Missing => "check the path".to_owned(),
            Why::Folder => format!("name the files in it: rec import {}/*.yaml", path.display()),
            Why::Large(_) => "split it: a session a file".to_owned(),
            Why::System(_) => "mend its permissions, or name another file".to_owned(),
            Why::Device | Why::Pipe | Why::Socket => {
                "name a case file, or an export of ours".to_owned()
            }
        };
        CommandError::usage(unread).hint(hint)
    })
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
