//! `rec demo`: a failure that really happens here, explained, with nothing left behind.

use crate::bench::{Bench, finish};
use crate::lab::is_there;

#[test]
fn the_demo_explains_a_real_failure_and_leaves_nothing() {
    if !["bash", "pkill", "pgrep"].into_iter().all(is_there) {
        eprintln!("not tried: the demo needs bash, pkill and pgrep");
        return;
    }
    let bench = Bench::new();
    let temporary = bench.file("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut demo = bench.recorded(&["demo"]);
    demo.env("TMPDIR", &temporary);
    let output = finish(demo);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(!said.contains('\u{1b}'), "no escapes in a pipe: {said:?}");

    let left: Vec<_> = std::fs::read_dir(&temporary).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    let marker = temporary.display().to_string();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        assert!(!line.contains(&marker), "still runs: {line}");
    }

    let sessions = bench.json(&["sessions", "--json"]);
    let sessions = sessions["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 1);
    let id = sessions[0]["id"].as_str().unwrap();
    let why = bench.json(&["why", id, "--json"]);
    let first = &why["findings"][0];
    assert_eq!(first["kind"], "process.self_match", "{why:#}");
    assert_eq!(first["severity"], "high");
    assert_eq!(first["status"], "open");
    assert!(said.contains(first["title"].as_str().unwrap()), "{said}");
    let next = why["next"][0]["line"].as_str().unwrap();
    assert!(said.contains(next), "{next} is not in {said}");
    // The demo took its files away: what it proposes cannot be tried, and that is said beside it.
    let words: Vec<&str> = said.split_whitespace().collect();
    assert!(
        words
            .join(" ")
            .contains("is gone again, and looks at it find nothing"),
        "{said}"
    );
    // Two lines of a command are not shown as one.
    assert!(said.contains("sleep 1 ⏎ ca"), "{said}");
}
