//! `rec playbook new`: a recorded session becomes a playbook's first test.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{Answer, frame, is_id};
use crate::cli::NewPlaybook;
use crate::cmd::desk::{Desk, own_files};
use crate::event::Stream;
use crate::import::case::UNNAMED_HOST;
use crate::playbook::draft::{Draft, case_exit, draft, test_text};
use crate::playbook::{self, CaseStep, Fault, lint};
use crate::projection::{SessionView, library};
use crate::report::CommandError;
use crate::time::counted;

/// Commands of a session that are taken when none is named, at most.
const MOST: usize = 20;

/// Writes the file and says what is left to do.
///
/// # Errors
/// When the id or a command is not right, the file is there already, or cannot be written.
pub async fn new(desk: &Desk, args: &NewPlaybook) -> Result<Answer, CommandError> {
    check_id(&args.id)?;
    if let Some(kind) = &args.kind {
        check_kind(kind)?;
    }
    let path = target(&args.id)?;
    let id = desk.session(Some(&args.from)).await?;
    let view = desk.view(id).await?;
    let places = pick(&view, &args.command)?;
    let steps = steps(desk, &view, &places).await?;
    let drafted = draft(&Draft {
        id: args.id.clone(),
        kind: args.kind.clone(),
        title: view.title.clone().unwrap_or_default(),
        steps,
    });
    write_new(&path, &drafted.text)?;
    let name = path.display().to_string();
    // It loads: that is what a draft is. What it lacks is the author's.
    let left = match playbook::load(&name, &drafted.text) {
        Ok(playbook) => lint::lint(&playbook),
        Err(faults) => faults,
    };
    let numbers: Vec<u32> = places
        .iter()
        .filter_map(|place| view.commands.get(*place))
        .map(|command| command.number)
        .collect();
    Ok(Answer {
        text: said(&name, &drafted.text, drafted.fires, &numbers, &left),
        json: json!({
            "format": 1, "ok": true, "path": name, "id": args.id, "session": id,
            "commands": numbers, "fires": drafted.fires,
            "left": left.iter().map(|fault| json!({
                "line": fault.line, "column": fault.column,
                "message": fault.message, "hint": fault.hint,
            })).collect::<Vec<_>>(),
        }),
        ok: true,
    })
}

fn check_id(id: &str) -> Result<(), CommandError> {
    if !is_id(id) {
        return Err(
            CommandError::usage(format!("`{id}` is no id of a playbook"))
                .hint("small letters, digits, dashes; a letter first"),
        );
    }
    if playbook::shipped().iter().any(|shipped| shipped.id == id) {
        return Err(
            CommandError::usage(format!("`{id}` is the id of a shipped playbook")).hint(format!(
                "take another; `rec playbook show {id}` shows that one"
            )),
        );
    }
    let own = own_files().into_iter();
    let known = own
        .filter(|file| file.read.as_ref().is_ok_and(|own| own.id == id))
        .map(|file| file.name())
        .next();
    match known {
        Some(name) => Err(
            CommandError::usage(format!("`{id}` is there already: {name}"))
                .hint("take another id, or edit that file"),
        ),
        None => Ok(()),
    }
}

fn check_kind(kind: &str) -> Result<(), CommandError> {
    let probe = format!("id: a\nkind: {}\n", playbook::quoted::scalar(kind, 0));
    let faults = playbook::load("kind", &probe).err().unwrap_or_default();
    match faults.into_iter().find(|fault| fault.line == 2) {
        Some(fault) => Err(CommandError::usage(fault.message).hint(fault.hint.unwrap_or_default())),
        None => Ok(()),
    }
}

/// The file it will be; nothing is there yet.
fn target(id: &str) -> Result<PathBuf, CommandError> {
    let folder = library::own_folder().ok_or_else(|| {
        CommandError::usage("there is no folder for playbooks of your own")
            .hint("set XDG_CONFIG_HOME or HOME")
    })?;
    let path = folder.join(format!("{id}.yaml"));
    if path.symlink_metadata().is_ok() {
        return Err(there_already(&path));
    }
    Ok(path)
}

fn there_already(path: &Path) -> CommandError {
    CommandError::usage(format!("{} is there already", path.display()))
        .hint("take another id; nothing is ever overwritten")
}

/// The commands that were picked, as places in the session.
fn pick(view: &SessionView, numbers: &[u32]) -> Result<Vec<usize>, CommandError> {
    let known = || {
        let numbers = view.commands.iter().map(|command| command.number);
        let (first, last) = (numbers.clone().min(), numbers.max());
        match (first, last) {
            (Some(first), Some(last)) => format!("it has #{first} to #{last}"),
            _ => "it has no commands".to_owned(),
        }
    };
    if view.commands.is_empty() {
        return Err(CommandError::usage("this session has no commands")
            .hint("`rec sessions` lists the others"));
    }
    if numbers.is_empty() {
        if view.commands.len() > MOST {
            return Err(CommandError::usage(format!(
                "this session has {}: say which ones show it",
                counted(view.commands.len(), "command")
            ))
            .hint("--command 3 --command 5; `rec timeline` lists them with their numbers"));
        }
        let places = 0..view.commands.len();
        return Ok(places.filter(|place| !is_erased(view, *place)).collect());
    }
    let mut places = Vec::new();
    for number in numbers {
        let found = view
            .commands
            .iter()
            .position(|command| command.number == *number);
        let place = found.ok_or_else(|| {
            CommandError::usage(format!("this session has no command #{number}")).hint(known())
        })?;
        if is_erased(view, place) {
            return Err(CommandError::usage(format!(
                "the content of #{number} was erased"
            )));
        }
        places.push(place);
    }
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

fn is_erased(view: &SessionView, place: usize) -> bool {
    view.details.get(place).is_some_and(|detail| detail.erased)
}

async fn steps(
    desk: &Desk,
    view: &SessionView,
    places: &[usize],
) -> Result<Vec<CaseStep>, CommandError> {
    let mut steps = Vec::new();
    let mut start = None;
    for command in places.iter().filter_map(|place| view.commands.get(*place)) {
        let start = *start.get_or_insert(command.at);
        let outputs = desk.store.outputs(command.id).await?;
        let of = |wanted: Stream| {
            let found = outputs.iter().find(|(stream, _)| *stream == wanted);
            found.map(|(_, bytes)| test_text(bytes))
        };
        let tty = of(Stream::Tty);
        // Silence is told from a stream that nobody kept.
        let or_silent = |text: Option<String>| match (&tty, text) {
            (None, None) => Some(String::new()),
            (_, text) => text,
        };
        steps.push(CaseStep {
            at: thousandths(command.at.seconds_since(start)),
            took: command.took_s.map(thousandths),
            host: Some(command.host.clone()).filter(|host| host != UNNAMED_HOST),
            command: command.line.clone(),
            exit: case_exit(command.exit),
            stdout: or_silent(of(Stream::Stdout)),
            stderr: or_silent(of(Stream::Stderr)),
            tty: tty.clone(),
            chunks: Vec::new(),
        });
    }
    Ok(steps)
}

fn thousandths(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

fn write_new(path: &Path, text: &str) -> Result<(), CommandError> {
    let cannot = |error: std::io::Error| {
        CommandError::from(anyhow::anyhow!("cannot write {}: {error}", path.display()))
    };
    if let Some(folder) = path.parent() {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(folder).map_err(cannot)?;
    }
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    let mut file = match file {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(there_already(path));
        }
        other => other.map_err(cannot)?,
    };
    file.write_all(text.as_bytes()).map_err(cannot)
}

fn said(name: &str, text: &str, fires: bool, numbers: &[u32], left: &[Fault]) -> String {
    let numbers: Vec<String> = numbers.iter().map(|number| format!("#{number}")).collect();
    let mut out = format!(
        "wrote {name}\nIts first test is {}; {}.\n",
        numbers.join(", "),
        if fires {
            "the guessed steps fire on it"
        } else {
            "no step could be guessed that fires on it: write them"
        }
    );
    if !left.is_empty() {
        out.push_str("\nLeft to do\n");
        for fault in left {
            out.push_str(&frame(name, text, fault));
        }
    }
    out.push_str(&format!(
        "\nThen\n  rec playbook lint {name}\n  rec playbook test {name}\n"
    ));
    out
}
