//! `rec playbook`: list, show, lint, test.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cmd::desk::{files_in, own_playbooks, playbooks};
use crate::cmd::paint::{Paint, pad};
use crate::diagnosis::words::shorten;
use crate::playbook::{self, Fault, Playbook};
use crate::report::CommandError;

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

/// The playbooks asked for: name and text.
fn sources(paths: &[PathBuf]) -> Result<Vec<(String, String)>, CommandError> {
    if paths.is_empty() {
        let mut all = playbook::shipped_texts();
        if let Some(folder) = own_playbooks().filter(|folder| folder.is_dir()) {
            all.extend(files_in(&folder)?);
        }
        return Ok(all);
    }
    let mut all = Vec::new();
    for path in paths {
        if path.is_dir() {
            all.extend(files_in(path)?);
        } else {
            all.push((path.display().to_string(), read(path)?));
        }
    }
    if all.is_empty() {
        return Err(CommandError::usage("no .yaml file among what was named"));
    }
    Ok(all)
}

fn read(path: &Path) -> Result<String, CommandError> {
    let bytes = std::fs::read(path)
        .map_err(|error| CommandError::usage(format!("cannot read {}: {error}", path.display())))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandError::usage(format!("{} is not UTF-8 (byte {at})", path.display()))
            .hint("a playbook is a YAML file in UTF-8")
    })
}

/// `rec playbook lint`
///
/// # Errors
/// When a file cannot be read.
pub fn lint(paths: &[PathBuf]) -> Result<Answer, CommandError> {
    let sources = sources(paths)?;
    let mut faults: Vec<(String, Fault)> = Vec::new();
    let mut good: Vec<Playbook> = Vec::new();
    for (name, text) in &sources {
        match playbook::load(name, text) {
            Ok(one) => good.push(one),
            Err(found) => faults.extend(found.into_iter().map(|fault| (name.clone(), fault))),
        }
    }
    faults.extend(playbook::lint::lint_all(&good));
    let mut text = String::new();
    for (name, fault) in &faults {
        let source = sources
            .iter()
            .find(|(known, _)| known == name)
            .map_or("", |(_, text)| text);
        text.push_str(&frame(name, source, fault));
    }
    let ok = faults.is_empty();
    let summary = if ok {
        format!("{} playbooks, nothing to mend\n", sources.len())
    } else {
        format!("{} playbooks, {} to mend\n", sources.len(), faults.len())
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
        "{name}:{}:{}: {}\n",
        fault.line, fault.column, fault.message
    );
    if let Some(line) = fault
        .line
        .checked_sub(1)
        .and_then(|at| source.lines().nth(at))
    {
        let number = fault.line.to_string();
        let shown: String = line.chars().take(160).collect();
        let mark = " ".repeat(fault.column.saturating_sub(1).min(160));
        out.push_str(&format!(
            "  {number} | {shown}\n  {} | {mark}^\n",
            " ".repeat(number.len())
        ));
    }
    if let Some(hint) = &fault.hint {
        out.push_str(&format!("  = {hint}\n"));
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
    for (name, source) in &sources {
        let one = match playbook::load(name, source) {
            Ok(one) => one,
            Err(faults) => {
                failed += 1;
                for fault in &faults {
                    text.push_str(&frame(name, source, fault));
                }
                rows.push(json!({"path": name, "ok": false, "message": "does not read"}));
                continue;
            }
        };
        for result in playbook::testing::run_tests(&one, &all) {
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
                    result.name,
                    result.message
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
