//! A table of real command lines and the trees they become, in a compact text form
//! (`tests/fixtures/shell/lines.txt`).

use std::fmt::Write;

use super::super::quote::quote;
use super::super::{Condition, Invocation, Place, Redirect, RedirectTo, Tree, Tri, Word, parse};

const LINES: &str = include_str!("../../../tests/fixtures/shell/lines.txt");

/// A row: the line, and what is expected of it.
pub(in crate::shell) struct Row {
    pub line: String,
    pub expected: String,
}

/// The rows of a fixture: `$ ` opens a line, `> ` continues it, what is indented is expected.
pub(in crate::shell) fn rows(text: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in text.lines() {
        if let Some(first) = line.strip_prefix("$ ") {
            rows.push(Row {
                line: first.to_owned(),
                expected: String::new(),
            });
        } else if let Some(row) = rows.last_mut() {
            if let Some(more) = line.strip_prefix("> ").or_else(|| line.strip_prefix('>')) {
                row.line.push('\n');
                row.line.push_str(more);
            } else if line.starts_with("  ") {
                row.expected.push_str(line);
                row.expected.push('\n');
            }
        }
    }
    rows
}

/// A word: bare or single-quoted when it is exactly that, else as written.
fn word(word: &Word) -> String {
    let text = if word.literal {
        quote(&word.text)
    } else if word.text.contains(char::is_whitespace) {
        format!("«{}»", word.text)
    } else {
        word.text.clone()
    };
    text.replace('\n', "␤").replace('\t', "␉")
}

fn place(place: &Place) -> String {
    let mut out = String::new();
    if let Some(user) = &place.user {
        write!(out, "{user}@").unwrap();
    }
    if let Some(host) = &place.host {
        out.push_str(host);
    }
    if let Some(container) = &place.container {
        write!(out, "/{container}").unwrap();
    }
    out
}

fn redirect(redirect: &Redirect) -> String {
    let fd = |default: u32| match redirect.fd {
        fd if fd == default => String::new(),
        fd => fd.to_string(),
    };
    match &redirect.to {
        RedirectTo::Read { path } => format!("{}<{}", fd(0), word(path)),
        RedirectTo::Truncate { path } => format!("{}>{}", fd(1), word(path)),
        RedirectTo::Append { path } => format!("{}>>{}", fd(1), word(path)),
        RedirectTo::Copy { of } => format!("{}>&{of}", fd(1)),
        RedirectTo::Close => format!("{}>&-", redirect.fd),
        RedirectTo::Text { body, literal } => {
            let body = body.replace('\n', "␤").replace('\t', "␉");
            format!(
                "{}<<{}",
                fd(0),
                if *literal {
                    format!("'{body}'")
                } else {
                    format!("«{body}»")
                }
            )
        }
    }
}

fn invocation(out: &mut String, tree: &Tree, one: &Invocation) {
    let depth = tree.hop_chain(one.index).len();
    write!(out, "  {}{}", "  ".repeat(depth), one.index).unwrap();
    let at = place(&one.place);
    if !at.is_empty() {
        write!(out, " {at}:").unwrap();
    }
    for (name, value) in &one.assignments {
        write!(out, " {name}={}", word(value)).unwrap();
    }
    for one in &one.words {
        write!(out, " {}", word(one)).unwrap();
    }
    for (number, one_redirect) in one.redirects.iter().enumerate() {
        let outer = if number < one.own_redirects { "" } else { "^" };
        write!(out, " {outer}{}", redirect(one_redirect)).unwrap();
    }
    let mut notes: Vec<String> = Vec::new();
    if let Some(hop) = one.hop {
        notes.push(format!("{hop:?}").to_lowercase());
    }
    match one.condition {
        Condition::Always => {}
        Condition::IfOk(before) => notes.push(format!("&&{before}")),
        Condition::IfFailed(before) => notes.push(format!("||{before}")),
        Condition::Loop => notes.push("loop".to_owned()),
        Condition::Branch => notes.push("branch".to_owned()),
    }
    if one.asked {
        notes.push("asked".to_owned());
    }
    if let Some(pipe) = one.pipe {
        let errors = if pipe.stderr_too { "&" } else { "" };
        notes.push(format!("{}/{}|{errors}", pipe.stage + 1, pipe.stages));
    }
    let flags = [
        (one.background, "&"),
        (one.away, "away"),
        (one.substituted, "$()"),
        (one.more_follows, ";"),
    ];
    notes.extend(
        flags
            .iter()
            .filter(|(on, _)| *on)
            .map(|(_, name)| (*name).to_owned()),
    );
    if let Some(cwd) = &one.cwd {
        notes.push(format!("in {cwd}"));
    }
    if !notes.is_empty() {
        write!(out, "  {{{}}}", notes.join(" ")).unwrap();
    }
    out.push('\n');
}

fn tri(name: &str, value: Tri) -> String {
    match value {
        Tri::No => String::new(),
        Tri::Yes => format!(" {name}"),
        Tri::Unknown => format!(" {name}?"),
    }
}

/// A tree in the form of the fixture.
pub(super) fn compact(tree: &Tree) -> String {
    let mut out = String::new();
    for one in &tree.invocations {
        invocation(&mut out, tree, one);
    }
    for launch in &tree.launches {
        write!(out, "  launch {}", launch.invocation).unwrap();
        let shown = |written: &Option<String>, resolved: &Option<String>| match resolved {
            Some(resolved) => Some(resolved.clone()),
            None => written.as_ref().map(|written| format!("{written}?")),
        };
        if let Some(log) = shown(&launch.log, &launch.log_resolved) {
            write!(out, " {}{log}", if launch.log_append { ">>" } else { ">" }).unwrap();
        }
        if let Some(log) = &launch.error_log {
            write!(out, " 2>{log}").unwrap();
        }
        if let Some(script) = shown(&launch.script, &launch.script_resolved) {
            write!(out, " script={script}").unwrap();
        }
        if let Some(port) = launch.port {
            write!(out, " port={port}").unwrap();
        }
        if let Some(pattern) = &launch.pattern {
            write!(out, " pattern={}", quote(pattern)).unwrap();
        }
        if launch.detached {
            out.push_str(" detached");
        }
        out.push_str(&tri("buffered", launch.buffered));
        out.push_str(&tri("holds", launch.holds_channel));
        out.push('\n');
    }
    for written in &tree.writes {
        let host = written
            .host
            .as_deref()
            .map(|host| format!("{host}:"))
            .unwrap_or_default();
        let path = written
            .resolved
            .clone()
            .unwrap_or_else(|| format!("{}?", written.path));
        write!(
            out,
            "  write {} {host}{path} {}",
            written.invocation, written.how
        )
        .unwrap();
        if written.append {
            out.push_str(" append");
        }
        out.push_str(&tri("lost", written.input_lost));
        out.push('\n');
    }
    for kill in &tree.kills {
        write!(out, "  kill {}", kill.invocation).unwrap();
        if let Some(pattern) = &kill.pattern {
            write!(out, " {}", quote(pattern)).unwrap();
        }
        if kill.full {
            out.push_str(" full");
        }
        write!(out, " -{}", kill.signal).unwrap();
        for pid in &kill.pids {
            write!(out, " {pid}").unwrap();
        }
        out.push_str(&tri("self", kill.hits_own_shell));
        out.push('\n');
    }
    for look in &tree.looks {
        writeln!(
            out,
            "  look {} {}{}",
            look.invocation,
            quote(&look.pattern),
            tri("self", look.matches)
        )
        .unwrap();
    }
    for early in &tree.early {
        let names = early.names.join(" ");
        write!(out, "  early {} {} {names}", early.hop, early.how).unwrap();
        if !early.meant_inside.is_empty() {
            write!(out, " inside={}", early.meant_inside.join(",")).unwrap();
        }
        out.push('\n');
    }
    for taken in &tree.input_taken {
        writeln!(
            out,
            "  takes {} from {} {}",
            taken.invocation, taken.from, taken.what
        )
        .unwrap();
    }
    for complaint in &tree.complaints {
        writeln!(out, "  complaint {}", complaint.text.replace('\n', "␤")).unwrap();
    }
    out
}

#[test]
fn real_lines_become_the_trees_of_the_table() {
    let rows = rows(LINES);
    assert!(rows.len() >= 200, "{}", rows.len());
    let mut wrong = String::new();
    for row in &rows {
        let actual = compact(&parse(&row.line));
        if actual != row.expected {
            write!(wrong, "$ {}\n{actual}", row.line.replace('\n', "\n> ")).unwrap();
        }
    }
    assert!(wrong.is_empty(), "these came out otherwise:\n{wrong}");
}
