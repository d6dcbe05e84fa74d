//! The same checks with other recorders, and what came of them. `CASEBOOK_PEERS=1` measures all of them, other words
//! the checks whose words hold them.

use std::fmt::Write;

use super::CHECKS;
use super::stage::{Fault, Runner, Seen, Stage};
use crate::lab::is_there;

const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/it/conformance/peers.tsv"
);

/// Each with the program it is, the words that make it say its version, and a script that records
/// `"$@"` with it in `$LOG`, as its manual has it.
const PEERS: &[(&str, &str, &[&str], &str)] = &[
    (
        "script",
        "script",
        &["--version"],
        "exec script -q -e -c \"${*@Q}\" \"$LOG\"",
    ),
    (
        "ttyrec",
        "ttyrec",
        &[],
        "exec ttyrec -e \"${*@Q}\" \"$LOG\"",
    ),
    (
        "tlog-rec",
        "tlog-rec",
        &["--version"],
        "exec tlog-rec --writer=file --file-path=\"$LOG\" \"$@\"",
    ),
    (
        "asciinema",
        "asciinema",
        &["--version"],
        // Since version 3 the exit is passed on when asked.
        "asciinema rec --help | grep -q -e --return && more=--return\n\
         exec asciinema rec -q --overwrite $more -c \"${*@Q}\" \"$LOG\"",
    ),
];

/// What was measured: the recorders, and per check what each did.
pub(crate) struct Measured {
    /// Name and version of each.
    pub(crate) peers: Vec<String>,
    /// The check's words, and `yes`, `no`, `hangs` or `-` for each recorder.
    pub(crate) checks: Vec<(String, Vec<String>)>,
}

/// What is on file.
pub(crate) fn measured() -> Measured {
    let text = std::fs::read_to_string(FILE).unwrap_or_default();
    let mut rows = text.lines().map(|line| {
        let mut cells = line.split('\t').map(str::to_owned);
        (cells.next().unwrap_or_default(), cells.collect())
    });
    Measured {
        peers: rows.next().map(|(_, cells)| cells).unwrap_or_default(),
        checks: rows.collect(),
    }
}

/// What a recorder is called, with its version; none where it is not installed.
fn version(name: &str, program: &str, words: &[&str]) -> Option<String> {
    if !is_there(program) {
        return None;
    }
    // One that would begin to record when asked says nothing of itself: its package does.
    let ask = |program: &str, words: &[&str]| {
        let output = std::process::Command::new(program).args(words).output();
        Some(String::from_utf8_lossy(&output.ok()?.stdout).into_owned())
    };
    let said = if words.is_empty() {
        ask("dpkg-query", &["-W", "-f", "${Version}", program])?
    } else {
        ask(program, words)?
    };
    let number = said
        .split_whitespace()
        .find(|word| word.starts_with(|char: char| char.is_ascii_digit()))?;
    Some(format!("{name} {number}"))
}

/// What it came to, beside what bare showed.
fn verdict(bare: &Seen, seen: &Seen) -> &'static str {
    match (bare, seen) {
        (Err(_), _) | (_, Err(Fault::CannotBeTried(_))) => "-",
        (Ok(_), Err(Fault::Hangs(_))) => "hangs",
        (Ok(bare), Ok(seen)) if bare == seen => "yes",
        _ => "no",
    }
}

#[test]
fn others_are_measured_when_asked() {
    let Ok(wanted) = std::env::var("CASEBOOK_PEERS") else {
        return;
    };
    let peers: Vec<(String, Runner)> = PEERS
        .iter()
        .filter_map(|(name, program, words, script)| {
            Some((version(name, program, words)?, Runner::peer(name, script)))
        })
        .collect();
    let mut out = String::from("check");
    for (name, _) in &peers {
        write!(out, "\t{name}").unwrap();
    }
    let known = measured();
    for check in CHECKS {
        // `1` is all of them; else those whose words hold what was asked for, the others as they were.
        if wanted != "1" && !check.what.contains(&wanted) {
            let row = known.checks.iter().find(|(what, _)| what == check.what);
            let verdicts = row.map_or(String::new(), |(_, verdicts)| verdicts.join("\t"));
            write!(out, "\n{}\t{verdicts}", check.what).unwrap();
            continue;
        }
        let see = |runner: &Runner| (check.look)(&mut Stage::new(runner));
        let bare = see(&Runner::bare());
        write!(out, "\n{}", check.what).unwrap();
        for (_, runner) in &peers {
            let seen = see(runner);
            let verdict = verdict(&bare, &seen);
            eprintln!("F{} {}: {}: {verdict}", check.row, check.what, runner.name);
            if verdict == "no" {
                eprintln!("    bare {bare:?}\n    seen {seen:?}");
            }
            write!(out, "\t{verdict}").unwrap();
        }
    }
    std::fs::write(FILE, out + "\n").unwrap();
}

#[test]
fn every_check_was_measured() {
    let measured = measured();
    let known: Vec<&str> = measured
        .checks
        .iter()
        .map(|(what, _)| what.as_str())
        .collect();
    let checks: Vec<&str> = CHECKS.iter().map(|check| check.what).collect();
    assert_eq!(
        known, checks,
        "measure anew: CASEBOOK_PEERS=1 cargo test --test it conformance::peers"
    );
}
