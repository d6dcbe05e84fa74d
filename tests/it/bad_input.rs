//! What is broken, hostile or in the way gives one clear sentence and what to do; recording goes on.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use casebook::capture::spool::list_spools;
use sqlx::{Connection, SqliteConnection};

use crate::bench::{Bench, REC, finish, still_records};
use crate::pty::{ALL, Screen};

/// Verbs that read a session.
const READING: &[&[&str]] = &[
    &["why"],
    &["next"],
    &["timeline"],
    &["show", "1"],
    &["sessions"],
    &["search", "one"],
    &["verify"],
];

/// One sentence of ours, perhaps a hint below it, and no trace of how the program is made.
fn is_clear(said: &str) {
    assert!(said.starts_with("rec: "), "{said:?}");
    assert!(said.lines().count() <= 3, "{said:?}");
    for word in ["panicked", "RUST_BACKTRACE", "Err(", "Some(", "unwrap"] {
        assert!(!said.contains(word), "{said:?}");
    }
}

#[test]
fn a_line_that_no_shell_takes_is_kept_and_shown() {
    let bench = Bench::new();
    for line in [
        "echo 'open",
        "if then fi )",
        "cat << END",
        "$(",
        "a | | b",
        "\u{0}\u{1}",
        "(((((",
    ] {
        let line = line.replace('\u{0}', "");
        finish(bench.recorded(&["bash", "-c", &line]));
    }
    let commands = bench.json(&["timeline", "--json"])["commands"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(commands, 7);
    bench.say(&["why"]);
    for number in [1, 3, 7] {
        bench.say(&["show", &number.to_string()]);
    }
}

#[test]
fn bytes_that_are_no_text_are_kept_as_they_came() {
    let bench = Bench::new();
    let output = bench.rec_sh(r"printf 'a\377\376b\0c\n'");
    assert_eq!(output.stdout, b"a\xff\xfeb\0c\n");
    let kept = finish(bench.recorded(&["show", "1", "--stdout"]));
    assert_eq!(kept.stdout, output.stdout);
    bench.say(&["show", "1"]);
    bench.say(&["why"]);
}

#[test]
fn an_argument_that_is_no_text_gets_a_sentence() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    for verb in ["note", "new", "search"] {
        let mut command = bench.recorded(&[verb]);
        command.arg(std::ffi::OsStr::from_bytes(b"caf\xe9"));
        let output = finish(command);
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        is_clear(&said);
        assert!(said.contains("is not UTF-8"), "{said}");
    }
}

#[test]
fn a_device_is_no_case_file() {
    let bench = Bench::new();
    let output = finish(bench.recorded(&["import", "/dev/zero"]));
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("/dev/zero is a device"), "{said}");
}

#[test]
fn a_case_file_that_does_not_read_says_where() {
    let bench = Bench::new();
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sessions/self-match.yaml");
    let good = std::fs::read(fixture).unwrap();
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("empty", Vec::new(), "is empty"),
        (
            "truncated",
            b"title: x\nsteps:\n- at: 0\n  command: \"ls".to_vec(),
            "line ",
        ),
        (
            "keyless",
            b"title: x\nsteps:\n- at: 0\n  exit: 0\n".to_vec(),
            "`command`",
        ),
        ("stepless", b"title: x\nsteps: []\n".to_vec(), "no steps"),
        ("not-text", [&good[..], b"# \xff\xfe\n"].concat(), "UTF-8"),
        ("not-yaml", b"\x00\x01\x02".to_vec(), ""),
    ];
    for (name, bytes, expected) in cases {
        let path = bench.file(&format!("{name}.yaml"));
        std::fs::write(&path, bytes).unwrap();
        let (code, said) = bench.fails(&["import", &path.display().to_string()]);
        assert_eq!(code, Some(2), "{name}: {said}");
        is_clear(&said);
        assert!(said.contains(expected), "{name}: {said}");
        assert!(said.contains(name), "{said}");
    }
    let (code, said) = bench.fails(&["import", &bench.file("").display().to_string()]);
    assert_eq!(code, Some(2), "a folder: {said}");
    is_clear(&said);
}

#[test]
fn an_unknown_key_in_a_playbook_is_refused_with_its_place() {
    let bench = Bench::new();
    let shipped =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("playbooks/pgrep-saw-only-itself.yaml");
    let text = std::fs::read_to_string(shipped).unwrap();
    let text = text.replacen("\nkind:", "\nsurprise: 1\nkind:", 1);
    let line = text
        .lines()
        .position(|line| line.starts_with("surprise"))
        .unwrap()
        + 1;
    let path = bench.file("own.yaml");
    std::fs::write(&path, &text).unwrap();
    let shown = path.display().to_string();
    let output = finish(bench.recorded(&["playbook", "lint", &shown]));
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("{shown}:{line}:1:")), "{said}");
    assert!(said.contains("surprise"), "{said}");
    std::fs::write(&path, b"id: \xff\n").unwrap();
    let (code, said) = bench.fails(&["playbook", "lint", &shown]);
    assert_eq!(code, Some(2));
    is_clear(&said);
}

#[test]
fn a_very_long_line_is_bounded() {
    let bench = Bench::new();
    let bytes = 20_000_000;
    let print = format!("head -c {bytes} /dev/zero | tr '\\0' x");
    // Address space bounds memory: far more than is needed, far less than copies of it would take.
    let recorded = format!("ulimit -v 1500000; exec {REC} sh -c \"{print}\" | wc -c");
    let output = bench.sh(&recorded);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        bytes.to_string()
    );
    for verb in ["why", "timeline", "show 1"] {
        let output = bench.sh(&format!("ulimit -v 1500000; exec {REC} {verb} | wc -c"));
        let printed: u64 = String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse()
            .unwrap();
        assert!(
            printed > 0 && printed < 100_000,
            "rec {verb} prints {printed}"
        );
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "rec {verb}");
    }
    assert_eq!(
        bench.json(&["timeline", "--json"])["commands"][0]["stdout_bytes"],
        bytes
    );
}

#[test]
fn a_newer_database_is_refused_and_left_alone() {
    let bench = Bench::new();
    bench.rec_sh("echo one");
    bench.say(&["why"]);
    let path = bench.home().path().join("rec.db");
    casebook::store::block_on(async {
        let url = format!("sqlite://{}", path.display());
        let mut database = SqliteConnection::connect(&url).await.unwrap();
        sqlx::query("pragma user_version = 4000")
            .execute(&mut database)
            .await
            .unwrap();
        database.close().await.unwrap();
    })
    .unwrap();
    let before = std::fs::read(&path).unwrap();
    for words in READING
        .iter()
        .chain(&[&["note", "x"][..], &["rebuild"], &["new", "t"]])
    {
        let (code, said) = bench.fails(words);
        assert_eq!(code, Some(1), "rec {words:?}: {said}");
        is_clear(&said);
        assert!(said.contains("newer version of rec"), "{said}");
    }
    still_records(&bench);
    assert!(
        std::fs::read(&path).unwrap() == before,
        "the file was changed"
    );
    let doctor = finish(bench.recorded(&["doctor"]));
    assert_eq!(doctor.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("newer version of rec"));
}

#[test]
fn a_damaged_spool_costs_only_itself() {
    let bench = Bench::new();
    bench.rec_sh("echo one");
    bench.rec_sh("echo two; echo more of it");
    bench.rec_sh("echo three");
    for (path, break_it) in [(1, false), (2, true)].map(|(at, all)| {
        let mut spools = list_spools(&bench.home()).unwrap();
        spools.sort_by_key(|(_, path)| {
            let read = casebook::capture::spool::read_spool(path, 0).unwrap();
            crate::bench::start_of(&read).number
        });
        (spools.remove(at).1, all)
    }) {
        let mut bytes = std::fs::read(&path).unwrap();
        let from = if break_it { 0 } else { bytes.len() * 3 / 4 };
        for byte in &mut bytes[from..] {
            *byte = byte.wrapping_mul(31) ^ 0x5a;
        }
        std::fs::write(&path, bytes).unwrap();
    }
    let timeline = bench.json(&["timeline", "--json"]);
    let commands = timeline["commands"].as_array().unwrap();
    assert_eq!(commands.len(), 3, "{timeline:#}");
    assert_eq!(commands[0]["stdout_bytes"], 4);
    bench.say(&["why"]);
    let doctor = finish(bench.recorded(&["doctor"]));
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert_eq!(doctor.status.code(), Some(1), "{said}");
    assert!(said.contains("damaged records"), "{said}");
    assert_eq!(bench.json(&["verify", "--json"])["ok"], true);
    let before = commands.len();
    bench.rec_sh("echo four");
    let timeline = bench.json(&["timeline", "--json"]);
    assert_eq!(timeline["commands"].as_array().unwrap().len(), before + 1);
}

#[test]
fn a_file_in_the_place_of_the_home_stops_no_command() {
    let bench = Bench::new();
    let home = bench.file("taken");
    std::fs::write(&home, "").unwrap();
    let run = |words: &[&str]| {
        let mut command = bench.recorded(words);
        command.env("REC_HOME", &home);
        finish(command)
    };
    let output = run(&["sh", "-c", "echo ran; exit 3"]);
    assert_eq!(
        (output.status.code(), &output.stdout[..]),
        (Some(3), &b"ran\n"[..])
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("rec: not recorded: ") && said.lines().count() == 1,
        "{said:?}"
    );
    let quiet = run(&["--quiet", "true"]);
    assert_eq!((quiet.status.code(), quiet.stderr.len()), (Some(0), 0));
    for words in READING {
        let output = run(words);
        assert_eq!(output.status.code(), Some(1), "rec {words:?}");
        is_clear(&String::from_utf8(output.stderr).unwrap());
    }
    assert_eq!(run(&["doctor"]).status.code(), Some(1));
}

/// The command as somebody who owns nothing; `None` where that cannot be had.
fn as_nobody(bench: &Bench, words: &[&str]) -> Command {
    let mut command = bench.command(&[
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ]);
    command.arg(REC).args(words);
    command
}

#[test]
fn a_home_that_can_only_be_read_is_read() {
    let bench = Bench::new();
    bench.rec_sh("echo one");
    bench.say(&["why"]);
    let root = bench.home().path().parent().unwrap().to_owned();
    open_to_all(&root);
    let root_now = rustix::process::geteuid().is_root();
    if !root_now || !finish(as_nobody(&bench, &["--version"])).status.success() {
        eprintln!("not tried: needs root, setpriv, and a program that others may run");
        return;
    }
    let output = finish(as_nobody(&bench, &["sh", "-c", "echo ran; exit 3"]));
    assert_eq!(
        (output.status.code(), &output.stdout[..]),
        (Some(3), &b"ran\n"[..])
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("rec: not recorded: ") && said.lines().count() == 1,
        "{said:?}"
    );
    for words in [
        &["why"][..],
        &["next"],
        &["timeline"],
        &["show", "1"],
        &["sessions"],
        &["verify"],
    ] {
        let output = finish(as_nobody(&bench, words));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "rec {words:?}: {said}");
    }
    for words in [
        &["note", "x"][..],
        &["new", "t"],
        &["rebuild"],
        &["forget", "1"],
    ] {
        let output = finish(as_nobody(&bench, words));
        assert_eq!(output.status.code(), Some(1), "rec {words:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        is_clear(&said);
        assert!(said.contains("can only be read"), "{said}");
    }
    let doctor = finish(as_nobody(&bench, &["doctor"]));
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert_eq!(doctor.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write to"), "{said}");
}

/// Everybody may read it, nobody but its owner write.
fn open_to_all(path: &Path) {
    let mode = if path.is_dir() { 0o755 } else { 0o644 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap().flatten() {
            open_to_all(&entry.path());
        }
    }
}

#[test]
fn hostile_text_never_reaches_the_terminal_raw() {
    let bench = Bench::new();
    // A clipboard write, a title, colours, a cursor move, C1 controls, a turn of direction.
    let hostile = "\u{1b}]52;c;aGk=\u{7}\u{1b}]0;own\u{1b}\\\u{1b}[31m\u{1b}[2J\u{9b}1m\u{9d}0;t\u{9c}\u{202e}gnp\u{2066}";
    let script =
        format!("pkill -9 -f nosuch{hostile}; echo 'Error: {hostile}' >&2; echo '{hostile}'");
    finish(bench.recorded(&["bash", "-c", &script]));
    let copied = format!("ssh 'host{hostile}' 'tail -1 \"/x{hostile}\"'");
    let case = serde_json::json!({
        "title": format!("Title {hostile}"),
        "steps": [
            {"at": 0, "command": copied, "exit": 1, "host": format!("me{hostile}"),
             "stderr": format!("tail: cannot open '/x{hostile}' for reading: No such file or directory\n")},
            {"at": 1, "command": script, "exit": {"signal": 9}, "stdout": hostile},
        ],
    });
    std::fs::write(bench.file("case.yaml"), escaped(&case.to_string())).unwrap();
    let session = bench.import(&bench.file("case.yaml"));
    bench.say(&["note", "--session", &session, hostile]);
    for words in [
        &["why"][..],
        &["next"],
        &["timeline"],
        &["show", "1", "--session"],
    ] {
        let words = [words, &[session.as_str()]].concat();
        harmless(&on_terminal(&bench, &words), &words);
        harmless(&bench.say(&words), &words);
    }
    for words in [
        &["why"][..],
        &["show", "1"],
        &["sessions"],
        &["search", "tail"],
    ] {
        harmless(&on_terminal(&bench, words), words);
    }
}

/// JSON in ASCII: YAML takes no raw C1 controls.
fn escaped(json: &str) -> String {
    json.chars()
        .map(|c| match c {
            ' '..='~' => c.to_string(),
            c => format!("\\u{:04x}", u32::from(c)),
        })
        .collect()
}

/// What a verb shows on a terminal, without colours; nothing else may steer it.
fn on_terminal(bench: &Bench, words: &[&str]) -> String {
    let mut command = bench.recorded(words);
    command.env("TERM", "xterm-256color");
    let (status, shown) = Screen::start(command, ALL).end();
    assert!(status.success(), "rec {words:?}: {shown}");
    let mut rest = shown.as_str();
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = after
            .find(|c: char| !c.is_ascii_digit() && c != ';')
            .unwrap();
        assert_eq!(&after[end..=end], "m", "rec {words:?} steers: {shown:?}");
        rest = &after[end + 1..];
    }
    plain + rest
}

/// No character that steers a terminal or turns its direction.
fn harmless(shown: &str, words: &[&str]) {
    let steers = shown.chars().find(|c| {
        c.is_control() && !matches!(c, '\n' | '\r')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    });
    assert_eq!(steers, None, "rec {words:?}: {shown:?}");
}

#[test]
fn a_search_that_could_only_find_nothing_is_refused() {
    let bench = Bench::new();
    finish(bench.recorded(&["echo", "one"]));
    for query in ["exit:abc", "since:soon", "host:", "\"one"] {
        let (code, said) = bench.fails(&["search", query]);
        assert_eq!(code, Some(2), "{query}");
        is_clear(&said);
    }
    assert_eq!(bench.fails(&["search", "one", "--limit", "0"]).0, Some(2));
    let nothing = bench.json(&["search", "--json", "one host:nowhere"]);
    assert_eq!(nothing["unmet"], serde_json::json!(["host:nowhere"]));
    assert!(
        bench
            .say(&["search", "host:nowhere"])
            .contains("nothing on record has host:nowhere")
    );
    assert_eq!(
        bench.json(&["search", "--json", "session:last echo"])["total"],
        1
    );
}

#[test]
fn what_is_already_so_or_not_there_is_said() {
    let bench = Bench::new();
    finish(bench.recorded(&["true"]));
    for (words, hint) in [
        (&["show", "99"][..], "rec timeline"),
        (&["why", "s-nope"], "rec sessions"),
        (&["import", "/nonexistent.yaml"], "path"),
        (&["import", "/"], "rec import"),
    ] {
        let (_, said) = bench.fails(words);
        is_clear(&said);
        assert!(said.contains(hint), "{said}");
    }
    bench.say(&["end"]);
    let (_, said) = bench.fails(&["end"]);
    assert!(said.contains("closed already"), "{said}");
    let output = finish(bench.recorded(&["timelin"]));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("is `rec timeline` meant?"), "{said}");
}

#[test]
fn a_slip_in_a_case_file_is_noted_and_the_rest_taken() {
    let bench = Bench::new();
    let path = bench.file("case.yaml");
    std::fs::write(&path, "steps:\n- {command: ls, exit: 0, stdot: a}\n").unwrap();
    let output = finish(bench.recorded(&["import", &path.display().to_string()]));
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("line 2") && said.contains("`stdout` is meant?"),
        "{said}"
    );
}
