//! `rec playbook backtest`: playbooks over one's own history.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Answer, Source, frame, sources};
use crate::cli::Backtest as Asked;
use crate::cmd::desk::{Desk, own_files};
use crate::cmd::paint::Paint;
use crate::diagnosis::words::{shorten, tame};
use crate::playbook::{self, Playbook};
use crate::projection::backtest::{self, Candidate, Change, Place, Tried};
use crate::report::CommandError;
use crate::time::{Micros, counted};

/// Places that are written of a playbook, for people.
const LINES: usize = 12;

/// A playbook to try, and where the version before lies.
struct Row {
    path: String,
    against: Option<String>,
}

/// Goes through all sessions.
///
/// # Errors
/// When a file cannot be read, or the database does not answer.
pub async fn backtest(desk: &Desk, args: &Asked, paint: Paint) -> Result<Answer, CommandError> {
    let mut text = String::new();
    let mut faults: Vec<Value> = Vec::new();
    let (mut candidates, mut rows) = (Vec::new(), Vec::new());
    let against = Against::read(args)?;
    for source in sources(&args.paths)? {
        match source.read {
            Ok(playbook) => {
                let (before, lies) = against.of(&playbook, &source.name);
                rows.push(Row {
                    path: source.name,
                    against: lies,
                });
                candidates.push(Candidate { playbook, before });
            }
            Err(found) => {
                for fault in &found {
                    text.push_str(&frame(&source.name, &source.text, fault));
                    faults.push(json!({
                        "path": source.name, "line": fault.line, "column": fault.column,
                        "message": fault.message, "hint": fault.hint,
                    }));
                }
            }
        }
    }
    // One of one's own stands in place of the shipped one: that is what it is compared with.
    if args.paths.is_empty() {
        let replaced: Vec<bool> = candidates
            .iter()
            .enumerate()
            .map(|(at, one)| {
                let mut later = candidates.iter().skip(at + 1);
                later.any(|other: &Candidate| other.playbook.id == one.playbook.id)
            })
            .collect();
        let mut keep = replaced.iter().map(|replaced| !replaced);
        candidates.retain(|_| keep.next().unwrap_or(true));
        let mut keep = replaced.iter().map(|replaced| !replaced);
        rows.retain(|_| keep.next().unwrap_or(true));
    }
    let report = backtest::backtest(&desk.store, &candidates, Micros::now()).await?;
    text.push_str(&format!(
        "{} over {} in {}\n",
        counted(candidates.len(), "playbook"),
        counted(report.commands, "command"),
        counted(report.sessions, "session")
    ));
    let all = candidates.iter().zip(&rows).zip(&report.tried);
    let mut silent = 0;
    for ((candidate, row), tried) in all.clone() {
        if tried.places.is_empty() && candidates.len() > 1 {
            silent += 1;
            continue;
        }
        write(&mut text, candidate, row, tried, paint);
    }
    if silent > 0 {
        text.push_str(&format!(
            "\n{} fired nowhere\n",
            counted(silent, "playbook")
        ));
    }
    for session in &report.unread {
        text.push_str(&format!("\n{} could not be read\n", session.short()));
    }
    let ok = faults.is_empty() && report.unread.is_empty();
    let playbooks: Vec<Value> = all
        .map(|((candidate, row), tried)| {
            let before = candidate.before.as_ref();
            let places = |lost: bool| -> Vec<&Place> {
                let places = tried.places.iter();
                let places = places.filter(|place| (place.change == Change::Lost) == lost);
                places.collect()
            };
            json!({
                "playbook": candidate.playbook.id, "version": candidate.playbook.version,
                "path": row.path,
                "against": before.map(|before| json!({
                    "version": before.version, "path": row.against,
                })),
                "fired": tried.fired, "added": tried.added, "lost": tried.lost,
                "sessions": tried.sessions, "sessions_added": tried.sessions_added,
                "sessions_lost": tried.sessions_lost,
                "fires": places(false), "no_longer": places(true),
                "left_off": (tried.fired + tried.lost).saturating_sub(tried.places.len()),
            })
        })
        .collect();
    Ok(Answer {
        text,
        json: json!({
            "format": 1, "ok": ok, "sessions": report.sessions, "commands": report.commands,
            "unread": report.unread, "playbooks": playbooks, "faults": faults,
        }),
        ok,
    })
}

/// Where the versions before are looked for.
enum Against {
    /// Those of a file or folder.
    Named(Vec<Source>),
    /// The shipped ones.
    Shipped,
    /// One's own, else the shipped one, of the same id.
    AtHand(Vec<Source>),
}

impl Against {
    fn read(args: &Asked) -> Result<Self, CommandError> {
        let Some(named) = &args.against else {
            return Ok(Self::AtHand(
                own_files().into_iter().map(Source::from).collect(),
            ));
        };
        if named == "shipped" {
            return Ok(Self::Shipped);
        }
        let old = sources(&[PathBuf::from(named)])?;
        if let Some(broken) = old.iter().find(|source| source.read.is_err()) {
            return Err(
                CommandError::usage(format!("{} does not read", broken.name))
                    .hint(format!("rec playbook lint {}", broken.name)),
            );
        }
        Ok(Self::Named(old))
    }

    fn of(&self, playbook: &Playbook, name: &str) -> (Option<Playbook>, Option<String>) {
        let shipped = || {
            let mut all = playbook::shipped().iter();
            let found = all.find(|known| known.id == playbook.id)?;
            Some((found.clone(), format!("shipped {}", found.name)))
        };
        let among = |sources: &[Source], other_file: bool| {
            let mut all = sources
                .iter()
                .filter(|source| !other_file || !same_file(&source.name, name));
            all.find_map(|source| {
                let read = source.read.as_ref().ok()?;
                (read.id == playbook.id).then(|| (read.clone(), source.name.clone()))
            })
        };
        let found = match self {
            // A file that holds one playbook is the version before, whatever its id.
            Self::Named(old) => match old.as_slice() {
                [one] => one
                    .read
                    .as_ref()
                    .ok()
                    .map(|read| (read.clone(), one.name.clone())),
                many => among(many, false),
            },
            Self::Shipped => shipped(),
            Self::AtHand(own) => among(own, true).or_else(shipped),
        };
        found.unzip()
    }
}

fn same_file(one: &str, other: &str) -> bool {
    let real = |path: &str| std::fs::canonicalize(path).ok();
    one == other || (real(one).is_some() && real(one) == real(other))
}

fn write(text: &mut String, candidate: &Candidate, row: &Row, tried: &Tried, paint: Paint) {
    let changes = match (&candidate.before, &row.against) {
        (Some(before), _) if before.text == candidate.playbook.text => String::new(),
        (Some(before), path) => format!(
            "; {} more, {} fewer than version {} ({})",
            tried.sessions_added,
            tried.sessions_lost,
            before.version,
            path.as_deref().unwrap_or("shipped"),
        ),
        (None, _) => "; no version before it".to_owned(),
    };
    text.push_str(&format!(
        "\n{}  {}{changes}\n",
        paint.bold(&candidate.playbook.id),
        if tried.sessions == 0 {
            "fires nowhere".to_owned()
        } else {
            format!("fires on {}", counted(tried.sessions, "session"))
        },
    ));
    // One line a session: its commands together.
    let mut lines: Vec<(Change, &Place, Vec<String>)> = Vec::new();
    for place in &tried.places {
        let number = format!(
            "#{}{}",
            place.number,
            if place.resolved { " (over)" } else { "" }
        );
        let known = lines
            .iter_mut()
            .find(|(change, first, _)| *change == place.change && first.session == place.session);
        match known {
            Some((_, _, numbers)) => numbers.push(number),
            None => lines.push((place.change, place, vec![number])),
        }
    }
    lines.sort_by_key(|(change, ..)| *change == Change::Same);
    for (change, place, numbers) in lines.iter().take(LINES) {
        let mark = match change {
            Change::Same => " ",
            Change::Added if candidate.before.is_some() => "+",
            Change::Added => " ",
            Change::Lost => "−",
        };
        let title = place.title.as_deref().unwrap_or(&place.line);
        text.push_str(&format!(
            "  {mark} {}  {}  {}\n",
            place.session.short(),
            shorten(&numbers.join(", "), 30),
            paint.dim(&tame(&shorten(title, 60)))
        ));
    }
    if lines.len() > LINES {
        text.push_str(&format!("    and {} more\n", lines.len() - LINES));
    }
}
