//! What is asked amiss, or lies in the way: each place says what, where and what to do, and nothing
//! is done to anything else.

use std::path::Path;
use std::process::Command;

use crate::bench::{Bench, finish};
use crate::pty::{ALL, Screen};

fn named_pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

/// A verb, with the folder of settings beside the home: its exit code, output and words.
fn configured(bench: &Bench, words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = bench.recorded(words);
    command.env("XDG_CONFIG_HOME", bench.file("config"));
    let output = finish(command);
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn the_session_before_the_verb_is_the_one_that_is_meant() {
    let bench = Bench::new();
    let new = |title: &str| bench.say(&["new", title]).trim().to_owned();
    let first = new("aaa");
    finish(bench.recorded(&["--session", &first, "echo", "a1"]));
    let second = new("bbb");
    finish(bench.recorded(&["--session", &second, "echo", "b1"]));

    let line =
        |session: &str| bench.json(&["show", "1", "--session", session, "--json"])["line"].clone();
    bench.say(&["--session", &first, "note", "of the first"]);
    let notes = |session: &str| {
        let timeline = bench.json(&["timeline", session, "--json"]);
        timeline["notes"].as_array().unwrap().len()
    };
    assert_eq!((notes(&first), notes(&second)), (1, 0));
    for verb in ["why", "next", "timeline"] {
        let answer = bench.json(&["--session", &first, verb, "--json"]);
        assert_eq!(answer["session"], first.as_str(), "{verb}");
    }
    let found = bench.json(&["--session", &first, "search", "echo", "--json"]);
    assert_eq!(found["total"], 1, "{found}");
    bench.say(&["--session", &first, "forget", "1"]);
    assert_eq!(line(&second), "echo b1");
    assert_ne!(line(&first), "echo a1");
    bench.say(&["--session", &second, "end"]);

    // No such session, two sessions, and verbs that are about none.
    let unknown = "s-zzzzzzzz";
    for words in [
        &["why"][..],
        &["forget", "1"],
        &["note", "x"],
        &["search", "a"],
        &["end"],
    ] {
        let words = [&["--session", unknown], words].concat();
        let (code, said) = bench.fails(&words);
        assert_eq!(code, Some(2), "rec {words:?}: {said}");
        assert!(
            said.contains(unknown) && said.contains("`rec sessions`"),
            "{said}"
        );
    }
    let (code, said) = bench.fails(&["--session", &first, "forget", "1", "--session", &second]);
    assert!(
        code == Some(2) && said.contains("two sessions are named"),
        "{said}"
    );
    bench.say(&["--session", &first, "why", &first]);
    for verb in ["sessions", "verify", "rebuild", "doctor"] {
        let (code, said) = bench.fails(&["--session", &first, verb]);
        assert!(
            code == Some(2) && said.contains("takes no --session"),
            "{said}"
        );
    }
    assert_eq!(line(&second), "echo b1");
    let (code, said) = bench.fails(&["--session", "nonsense", "true"]);
    assert!(
        code == Some(125) && said.contains("`rec sessions` lists them"),
        "{said}"
    );
}

#[test]
fn what_is_no_file_is_refused_wherever_a_file_is_named() {
    let bench = Bench::new();
    bench.rec_sh("echo one");
    let pipe = bench.file("pipe");
    named_pipe(&pipe);
    let shown = pipe.display().to_string();
    for words in [
        &["import", &shown][..],
        &["playbook", "lint", &shown],
        &["playbook", "test", &shown],
        &["playbook", "backtest", &shown],
        &["playbook", "backtest", "--against", &shown],
        &["playbook", "lint", "/dev/zero"],
    ] {
        let (code, said) = bench.fails(words);
        assert_eq!(code, Some(2), "rec {words:?}: {said}");
        assert!(
            said.contains(&format!("{shown} is a named pipe")) || said.contains("is a device"),
            "rec {words:?}: {said}"
        );
        assert_eq!(said.lines().count(), 2, "{said}");
    }
    // A pipe that somebody writes to, and that has no name, is read.
    let case =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sessions/self-match.yaml");
    let line = format!("cat '{}' | \"$0\" import /dev/stdin", case.display());
    let output = finish(bench.recorded_by(&line));
    assert_eq!(output.status.code(), Some(0), "{output:?}");

    let folder = bench.file("config/casebook/playbooks");
    std::fs::create_dir_all(&folder).unwrap();
    named_pipe(&folder.join("f.yaml"));
    std::os::unix::fs::symlink("/dev/zero", folder.join("g.yaml")).unwrap();
    named_pipe(&bench.file("config/casebook/config.toml"));
    let (code, _, said) = configured(&bench, &["why"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("f.yaml:1:1: this is a named pipe"), "{said}");
    assert!(
        said.contains("config.toml:1: this is a named pipe"),
        "{said}"
    );
    for words in [&["timeline"][..], &["playbook", "list"], &["true"]] {
        assert_eq!(configured(&bench, words).0, Some(0), "rec {words:?}");
    }
    let (code, faults, _) = configured(&bench, &["playbook", "lint"]);
    assert!(
        code == Some(1) && faults.contains("this is a device"),
        "{faults}"
    );
}

#[test]
fn a_home_that_can_be_none_is_named_with_what_to_do() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    let file = bench.file("file");
    std::fs::write(&file, b"").unwrap();
    let spoiled = bench.file("spoiled");
    std::fs::create_dir(&spoiled).unwrap();
    std::fs::write(spoiled.join("spool"), b"").unwrap();
    let strange = bench.file(".").join(std::ffi::OsStr::from_bytes(b"h\xff"));
    for (home, says, remedy) in [
        (&file, "file is a file, not a folder", "set REC_HOME"),
        (
            &file.join("below"),
            "file is a file, not a folder",
            "set REC_HOME",
        ),
        (&spoiled, "spool is a file", "move it away"),
        (&strange, "is not named in UTF-8", "set REC_HOME"),
    ] {
        for words in [&["true"][..], &["why"], &["note", "x"], &["doctor"]] {
            let mut command = bench.recorded(words);
            command.env("REC_HOME", home);
            let output = finish(command);
            let said = [output.stderr, output.stdout].concat();
            let said = String::from_utf8(said).unwrap();
            let code = i32::from(words != ["true"]);
            assert_eq!(output.status.code(), Some(code), "rec {words:?}: {said}");
            assert!(
                said.contains(says) && said.contains(remedy),
                "rec {words:?}: {said}"
            );
            assert!(!said.contains("os error"), "{said}");
            assert!(!said.contains("✓ spool"), "{said}");
        }
    }
    assert!(!strange.exists(), "nothing piles up where no verb opens it");
}

#[test]
fn no_text_of_ours_hands_escapes_on() {
    let bench = Bench::new();
    bench.rec_sh("echo one");
    let strange = "no\u{1b}[31mthing\u{202e}";
    let file = bench.file("a\u{1b}[31m.yaml");
    std::fs::write(&file, "id: \u{1b}[31m\n\u{1b}[2Jb: 1\n").unwrap();
    let shown = file.display().to_string();
    let folder = bench.file("\u{1b}[31mhome");
    for words in [
        &["import", strange][..],
        &["import", &shown],
        &["use", strange],
        &["show", strange],
        &["why", strange],
        &["why", "--fail-on", strange],
        &["confirm", strange],
        &["search", &format!("exit:{strange}")],
        &["playbook", "lint", &shown],
        &["playbook", "lint", strange],
        &["playbook", "test", &shown],
        &["playbook", "show", strange],
        &["--session", strange, "true"],
        &["--session", strange, "why"],
        &["doctor"],
        &[strange],
    ] {
        let mut command = bench.recorded(words);
        if words == ["doctor"] {
            command.env("REC_HOME", &folder);
        }
        let output = finish(command);
        let said = [output.stderr, output.stdout].concat();
        let said = String::from_utf8(said).unwrap();
        assert!(
            !said.contains(['\u{1b}', '\u{202e}']),
            "rec {words:?}: {said:?}"
        );
        assert!(said.contains('\u{fffd}'), "rec {words:?}: {said:?}");
    }
}

#[test]
fn a_terminal_that_nobody_names_gets_no_colours() {
    let bench = Bench::new();
    bench.rec_sh("exit 3");
    let seen = |term: Option<&str>| {
        let mut command = bench.recorded(&["timeline"]);
        if let Some(term) = term {
            command.env("TERM", term);
        }
        Screen::start(command, ALL).end().1
    };
    assert!(seen(Some("xterm")).contains("\u{1b}["));
    assert!(!seen(None).contains("\u{1b}["));
}

#[test]
fn rebuilds_and_readers_do_not_see_each_other() {
    let bench = Bench::new();
    for number in 0..12 {
        bench.rec_sh(&format!("echo model {number}"));
    }
    bench.say(&["search", "model"]);
    let id = bench.json(&["sessions", "--json"])["sessions"][0]["id"].clone();
    let id = id.as_str().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..4 {
                    assert_eq!(bench.json(&["rebuild", "--json"])["ok"], true);
                }
            });
            scope.spawn(|| {
                for _ in 0..4 {
                    let timeline = bench.json(&["timeline", id, "--json"]);
                    assert_eq!(timeline["commands"].as_array().unwrap().len(), 12);
                }
            });
            scope.spawn(|| {
                for _ in 0..4 {
                    let found = bench.json(&["search", "model", "--json"]);
                    assert_eq!(found["total"], 12, "{found}");
                }
            });
        }
    });
    let left: Vec<_> = std::fs::read_dir(bench.home().path())
        .unwrap()
        .flatten()
        .filter(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with("index.gone")
        })
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_export_that_was_cut_off_is_not_taken_for_whole() {
    let bench = Bench::new();
    bench.rec_sh("echo one");
    bench.rec_sh("echo two");
    let whole = bench.say(&["export", "last"]);
    let cut = bench.file("cut.jsonl");
    let other = Bench::new();
    let take = |text: &str| {
        std::fs::write(&cut, text).unwrap();
        let output = finish(other.recorded(&["import", &cut.display().to_string()]));
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let (code, said) = take(&lines[..4].concat());
    assert_eq!((code, said.lines().count()), (Some(0), 1), "{said}");
    let counts = format!("of {} events", lines.len());
    assert!(
        said.contains("was cut off") && said.contains(&counts),
        "{said}"
    );
    let (code, said) = take(&whole[..whole.len() - 9]);
    assert_eq!((code, said.lines().count()), (Some(2), 2), "{said}");
    assert!(
        said.contains("in the middle of line") && said.contains("export it again"),
        "{said}"
    );
    assert_eq!(take(&whole), (Some(0), String::new()));
    for text in ["", "{\"a\":1}\n"] {
        let (code, said) = take(text);
        assert_eq!((code, said.lines().count()), (Some(2), 2), "{said}");
    }
}

#[test]
fn each_refusal_says_what_to_do_once() {
    let bench = Bench::new();
    bench.rec_sh("echo one");
    for (words, says) in [
        (&["show", "0"][..], "`rec timeline` lists"),
        (&["search", "((("], "holds no word"),
        (&["search", "*"], "holds no word"),
        (&["search", "-"], "holds no word"),
        (&["search", ""], "nothing to search for"),
        (&["playbook", "lint", "/nonexist"], "`rec playbook list`"),
        (&["playbook", "test", "nonexist"], "`rec playbook list`"),
    ] {
        let (code, said) = bench.fails(words);
        assert_eq!(
            (code, said.lines().count()),
            (Some(2), 2),
            "rec {words:?}: {said}"
        );
        assert_eq!(said.matches(says).count(), 1, "rec {words:?}: {said}");
    }
    // A playbook that was cut off, of an id that is known: which one is used is said.
    let shipped =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("playbooks/pgrep-saw-only-itself.yaml");
    let text = std::fs::read_to_string(shipped).unwrap();
    let folder = bench.file("config/casebook/playbooks");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("mine.yaml"), &text[..text.len() / 2]).unwrap();
    let (code, _, said) = configured(&bench, &["why"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("another `pgrep-saw-only-itself`, which reads, is used"),
        "{said}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
    // An id is as good as a path.
    let (code, said, _) = configured(&bench, &["playbook", "lint", "pgrep-saw-only-itself"]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn what_could_not_be_asked_is_no_alarm() {
    let bench = Bench::new();
    let file = bench.file("file");
    std::fs::write(&file, b"").unwrap();
    let mut command = bench.recorded(&["why", "--fail-on", "high"]);
    command.env("REC_HOME", &file);
    assert_eq!(finish(command).status.code(), Some(2));
    bench.rec_sh("echo one");
    let output = finish(bench.recorded_by("exec \"$0\" timeline >&-"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("standard output could not be written"),
        "{said}"
    );
}

/// `rec forget "$unset"` must not mean the newest command.
#[test]
fn an_empty_name_means_nothing() {
    let bench = Bench::new();
    bench.rec_sh("echo one");
    for words in [
        &["forget", ""][..],
        &["forget", " "],
        &["show", ""],
        &["timeline", ""],
        &["export", "", "--as", "jsonl"],
    ] {
        let (code, said) = bench.fails(words);
        assert_ne!(code, Some(0), "{words:?}");
        assert!(
            said.contains("no ") && said.lines().count() <= 2,
            "{words:?}: {said}"
        );
    }
    assert_eq!(bench.say(&["show", "1", "--stdout"]), "one\n");
}
