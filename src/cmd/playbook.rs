//! `rec playbook`: list, show, lint, test; the rest of its verbs have files of their own.

pub mod backtest;
pub mod new;
pub mod stats;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::capture::named::{self, Why};
use crate::capture::sys::words;
use crate::cmd::desk::{own_files, playbooks};
use crate::cmd::paint::{Paint, pad};
use crate::diagnosis::words::{shorten, tame};
use crate::playbook::{self, Fault, Playbook};
use crate::projection::library::{self, OwnFile};
use crate::report::{self, CommandError};
use crate::time::counted;

/// What a verb prints, and whether all was well.
pub struct Answer {
    /// For people.
    pub text: String,
    /// The contract.
    pub json: Value,
    /// Nothing was found wrong.
    pub ok: bool,
}

/// `rec playbook list`
pub fn list(paint: Paint) -> Answer {
    let all = playbooks();
    let wide = all
        .iter()
        .map(|one| one.id.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for one in &all {
        let kind = pad(&one.kind, 26);
        let title = one.title.source();
        let room = paint.width.saturating_sub(wide + 30).max(20);
        text.push_str(&format!(
            "{}  {}  {}\n",
            pad(&one.id, wide),
            paint.dim(&kind),
            shorten(title, room)
        ));
    }
    let rows: Vec<Value> = all
        .iter()
        .map(|one| {
            json!({
                "id": one.id, "version": one.version, "kind": one.kind, "severity": one.severity,
                "scope": one.scope, "title": one.title.source(), "name": one.name,
                "tests": one.tests.len(), "hypotheses": one.hypotheses.len(),
            })
        })
        .collect();
    Answer {
        text,
        json: json!({"format": 1, "ok": true, "playbooks": rows}),
        ok: true,
    }
}

/// `rec playbook show ID`
///
/// # Errors
/// When there is none of that id.
pub fn show(id: &str) -> Result<String, CommandError> {
    playbooks()
        .into_iter()
        .find(|one| one.id == id)
        .map(|one| one.text)
        .ok_or_else(|| {
            CommandError::usage(format!("no playbook `{id}`"))
                .hint("`rec playbook list` lists them")
        })
}

/// A playbook's text, and what came of reading it.
struct Source {
    name: String,
    text: String,
    read: Result<Playbook, Vec<Fault>>,
}

impl From<OwnFile> for Source {
    fn from(file: OwnFile) -> Self {
        Self {
            name: file.name(),
            text: file.text,
            read: file.read,
        }
    }
}

/// The playbooks asked for: those of the paths, else the shipped ones and one's own.
fn sources(paths: &[PathBuf]) -> Result<Vec<Source>, CommandError> {
    if paths.is_empty() {
        let shipped = playbook::shipped_texts().into_iter();
        let shipped = shipped.map(|(name, text)| Source {
            read: playbook::load(&name, &text),
            name,
            text,
        });
        return Ok(shipped
            .chain(own_files().into_iter().map(Source::from))
            .collect());
    }
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            let files = library::yaml_files(path).map_err(|error| {
                CommandError::usage(format!(
                    "{} cannot be read: {}",
                    path.display(),
                    words(&error)
                ))
                .hint("mend its permissions, or name another folder")
            })?;
            if files.is_empty() {
                return Err(CommandError::usage(format!(
                    "no .yaml file lies in {}",
                    path.display()
                ))
                .hint("name a file, a folder with playbooks, or the id of one"));
            }
            all.extend(files.iter().map(|path| library::read_file(path).into()));
        } else if let Some(known) = path.to_str().filter(|_| !path.exists()).and_then(of_id) {
            all.push(known);
        } else {
            all.push(named(path)?);
        }
    }
    Ok(all)
}

/// The playbook of an id: one's own, else the shipped one.
fn of_id(id: &str) -> Option<Source> {
    let is_its = |source: &Source| match &source.read {
        Ok(one) => one.id == id,
        Err(_) => Path::new(&source.name)
            .file_stem()
            .is_some_and(|stem| stem == id),
    };
    let own = own_files().into_iter().map(Source::from);
    let shipped = playbook::shipped_texts().into_iter().map(|(name, text)| {
        let read = playbook::load(&name, &text);
        Source { name, text, read }
    });
    own.chain(shipped).find(is_its)
}

/// A file that was named: it has to be there, and to be text.
fn named(path: &Path) -> Result<Source, CommandError> {
    let bytes = named::read(path, library::MOST_BYTES).map_err(|unread| {
        let hint = match unread.why {
            Why::Missing => "name a file, a folder, or an id that `rec playbook list` lists",
            Why::System(_) => "mend its permissions, or name another file",
            _ => "a playbook is a YAML file in UTF-8",
        };
        CommandError::usage(unread).hint(hint)
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandError::usage(format!("{} is not UTF-8 (byte {at})", path.display()))
            .hint("a playbook is a YAML file in UTF-8")
    })?;
    let name = path.display().to_string();
    Ok(Source {
        read: playbook::load(&name, &text),
        name,
        text,
    })
}

/// Whether a text may be the id of a playbook.
fn is_id(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(fits)
}

/// `rec playbook lint`
///
/// # Errors
/// When a file cannot be read.
pub fn lint(paths: &[PathBuf]) -> Result<Answer, CommandError> {
    let sources = sources(paths)?;
    let mut faults: Vec<(String, Fault)> = Vec::new();
    let mut good: Vec<Playbook> = Vec::new();
    for source in &sources {
        match &source.read {
            Ok(one) => good.push(one.clone()),
            Err(found) => {
                let found = found.iter().cloned();
                faults.extend(found.map(|fault| (source.name.clone(), fault)));
            }
        }
    }
    faults.extend(playbook::lint::lint_all(&good));
    let mut text = String::new();
    for (name, fault) in &faults {
        let source = sources
            .iter()
            .find(|source| source.name == *name)
            .map_or("", |source| &source.text);
        text.push_str(&frame(name, source, fault));
    }
    let ok = faults.is_empty();
    let playbooks = counted(sources.len(), "playbook");
    let summary = if ok {
        format!("{playbooks}, nothing to mend\n")
    } else {
        format!("{playbooks}, {} to mend\n", counted(faults.len(), "fault"))
    };
    text.push_str(&summary);
    let rows: Vec<Value> = faults
        .iter()
        .map(|(name, fault)| {
            json!({
                "path": name, "line": fault.line, "column": fault.column,
                "message": fault.message, "hint": fault.hint,
            })
        })
        .collect();
    Ok(Answer {
        text,
        json: json!({"format": 1, "ok": ok, "faults": rows}),
        ok,
    })
}

/// A fault with the line it is in, as a compiler shows it.
fn frame(name: &str, source: &str, fault: &Fault) -> String {
    let mut out = format!(
        "{}:{}:{}: {}\n",
        tame(name),
        fault.line,
        fault.column,
        tame(&fault.message)
    );
    if let Some(line) = fault
        .line
        .checked_sub(1)
        .and_then(|at| source.lines().nth(at))
    {
        let number = fault.line.to_string();
        let shown: String = tame(line).chars().take(160).collect();
        let mark = " ".repeat(fault.column.saturating_sub(1).min(160));
        out.push_str(&format!(
            "  {number} | {shown}\n  {} | {mark}^\n",
            " ".repeat(number.len())
        ));
    }
    if let Some(hint) = &fault.hint {
        out.push_str(&format!("  = {}\n", tame(hint)));
    }
    out
}

/// `rec playbook test`
///
/// # Errors
/// When a file cannot be read.
pub fn test(paths: &[PathBuf], paint: Paint) -> Result<Answer, CommandError> {
    let sources = sources(paths)?;
    let mut text = String::new();
    let mut rows = Vec::new();
    let (mut passed, mut failed) = (0, 0);
    let all = playbooks();
    let all = playbook::Engine::new(&all);
    for source in &sources {
        let name = &source.name;
        let one = match &source.read {
            Ok(one) => one,
            Err(faults) => {
                failed += 1;
                for fault in faults {
                    text.push_str(&frame(name, &source.text, fault));
                }
                rows.push(json!({"path": name, "ok": false, "message": "does not read"}));
                continue;
            }
        };
        for result in playbook::testing::run_tests(one, &all) {
            if result.passed {
                passed += 1;
            } else {
                failed += 1;
            }
            if !result.passed {
                text.push_str(&format!(
                    "{} {}: {}\n    {}\n",
                    paint.style("31", "✗"),
                    one.id,
                    tame(&result.name),
                    report::plain(&result.message)
                ));
            }
            rows.push(json!({
                "playbook": one.id, "test": result.name, "ok": result.passed, "message": result.message,
            }));
        }
    }
    text.push_str(&format!("{passed} passed, {failed} failed\n"));
    let ok = failed == 0;
    Ok(Answer {
        text,
        json: json!({"format": 1, "ok": ok, "tests": rows}),
        ok,
    })
}
