//! `rec import`: case files and exported sessions become sessions here.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use crate::capture::session;
use crate::cli::Import;
use crate::cmd::desk::Desk;
use crate::cmd::verbs::{complain, say, say_json};
use crate::id::SessionId;
use crate::import;
use crate::projection;
use crate::report::CommandError;

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
                "{}: {commands} commands in session {id}\n",
                path.display()
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes a file in; the sessions it held.
async fn take_in(desk: &Desk, path: &Path) -> Result<Vec<SessionId>, CommandError> {
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandError::usage(format!("{shown} is not UTF-8: byte {at} is wrong"))
            .hint("case files and exports are UTF-8")
    })?;
    let exported = path
        .extension()
        .is_some_and(|extension| extension == "jsonl");
    if exported || import::jsonl::is_export(&text) {
        let events = import::jsonl::read(&text)
            .map_err(|error| CommandError::usage(format!("{shown}: {error}")))?;
        let mut sessions: Vec<SessionId> = events.iter().map(|event| event.session).collect();
        sessions.dedup();
        desk.store.restore(&events).await.map_err(|error| {
            CommandError::usage(format!("{shown}: {error}")).hint("nothing was changed")
        })?;
        return Ok(sessions);
    }
    let (new, notes) = import::case::read_noting(&text).map_err(|error| {
        CommandError::usage(format!("{shown}: {error}"))
            .hint("a case file has `title` and `steps`, each step with at least a `command`")
    })?;
    for (line, note) in notes {
        complain(&format!("rec: {shown}, line {line}: {note}"));
    }
    desk.store.append(new.session, new.events, None).await?;
    Ok(vec![new.session])
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
