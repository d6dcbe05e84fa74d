//! The home is damaged, emptied or full: recording goes on, what is left is used, and one sentence
//! says what happened.

use std::path::PathBuf;

use casebook::capture::spool::{first_record, list_spools};

use crate::bench::{Bench, finish, start_of, still_records};
use crate::lab;

/// Verbs that read a session.
const READING: &[&[&str]] = &[
    &["sessions"],
    &["search", "one"],
    &["show", "last"],
    &["export", "last", "--as", "jsonl"],
    &["timeline"],
    &["next"],
];

/// A home with one recorded command in its database, and the good file.
fn with_one() -> (Bench, PathBuf, Vec<u8>) {
    let bench = Bench::new();
    bench.rec_sh("echo one word");
    bench.say(&["search", "word"]);
    let path = bench.home().database();
    let good = std::fs::read(&path).unwrap();
    (bench, path, good)
}

fn noise(bytes: usize) -> Vec<u8> {
    (0_u32..)
        .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3])
        .take(bytes)
        .collect()
}

/// Databases that were moved aside, without what SQLite kept beside them.
fn aside(bench: &Bench) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(bench.home().path()).unwrap();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with("rec.db.damaged-")
                && !name.ends_with("-wal")
                && !name.ends_with("-shm")
        })
        .collect();
    found.sort();
    found
}

/// What a verb says on standard error; it must end with 0.
fn told(bench: &Bench, words: &[&str]) -> String {
    let output = finish(bench.recorded(words));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "rec {words:?}: {said}");
    for word in ["panicked", "code:", "Err(", "Some(", "SQLITE"] {
        assert!(!said.contains(word), "{said:?}");
    }
    said
}

fn doctor(bench: &Bench) -> (Option<i32>, String) {
    let output = finish(bench.recorded(&["doctor"]));
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[test]
fn a_damaged_database_is_moved_aside_and_recording_goes_on() {
    let (_, _, good) = with_one();
    let header = [&noise(100), &good[100..]].concat();
    let body = [&good[..4096], &noise(good.len() - 4096)].concat();
    let short = good[..good.len() / 2 + 100].to_vec();
    for (at, (how, broken)) in [
        ("all", noise(20_000)),
        ("header", header),
        ("body", body),
        ("short", short),
        ("letter", b"this is a letter".to_vec()),
        ("empty", Vec::new()),
    ]
    .into_iter()
    .enumerate()
    {
        let words = READING[at];
        let (bench, path, _) = with_one();
        std::fs::write(&path, &broken).unwrap();
        still_records(&bench);
        let said = told(&bench, words);
        assert_eq!(said.lines().count(), 1, "{how}: rec {words:?}: {said}");
        assert!(said.starts_with("rec: the database was damaged"), "{said}");
        let kept = aside(&bench);
        let shown = kept[0].display().to_string();
        assert!(said.contains(&shown), "{said}");
        assert_eq!(std::fs::read(&kept[0]).unwrap(), broken, "{how}");
        // Told once; what waited is there. Whoever verifies is told that the file lies there still.
        assert_eq!(told(&bench, &["sessions"]), "");
        let verify = finish(bench.recorded(&["verify"]));
        let report = String::from_utf8(verify.stdout).unwrap();
        assert_eq!(verify.status.code(), Some(1), "{report}");
        assert!(
            report.contains(&shown) && report.contains("can take nothing more"),
            "{report}"
        );
        let shows = bench.json(&["show", "last", "--json"]);
        assert_eq!(shows["line"], "echo still");
        still_records(&bench);
        if at == 0 {
            let (code, says) = doctor(&bench);
            assert!(code == Some(1) && says.contains(&shown), "{says}");
            std::fs::remove_file(&kept[0]).unwrap();
            let (code, says) = doctor(&bench);
            assert_eq!(code, Some(0), "{says}");
            assert_eq!(told(&bench, &["verify"]), "");
        }
    }
}

#[test]
fn doctor_finds_damage_that_nobody_has_read_yet_and_verify_tells_it() {
    let bench = Bench::new();
    bench.rec_sh("head -c 90000 /dev/urandom | base64");
    bench.say(&["verify"]);
    let path = bench.home().database();
    let mut bytes = std::fs::read(&path).unwrap();
    // In a chain of overflow pages, which hold the output and nothing that is read before it.
    let next = |page: usize| u32::from_be_bytes(bytes[page * 4096..][..4].try_into().unwrap());
    let middle = (1..bytes.len() / 4096)
        .find(|page| [page - 1, *page].map(next).map(|n| n as usize) == [page + 1, page + 2])
        .unwrap()
        * 4096;
    bytes[middle..middle + 4096].copy_from_slice(&noise(4096));
    std::fs::write(&path, &bytes).unwrap();
    let verify = finish(bench.recorded(&["verify", "--json"]));
    let report: serde_json::Value = serde_json::from_slice(&verify.stdout).unwrap();
    assert_eq!(
        (&report["ok"], verify.status.code()),
        (&false.into(), Some(1))
    );
    let problem = report["problems"][0]["text"].as_str().unwrap();
    assert!(problem.contains("is damaged"), "{problem}");
    assert!(aside(&bench).is_empty());
    let (code, says) = doctor(&bench);
    assert_eq!(code, Some(1), "{says}");
    assert!(says.contains("the database was damaged"), "{says}");
    let kept = aside(&bench);
    assert_eq!(kept.len(), 1);
    // In order, but for what is in the old file only.
    let verify = finish(bench.recorded(&["verify", "--json"]));
    let report: serde_json::Value = serde_json::from_slice(&verify.stdout).unwrap();
    let problems = report["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 1, "{report}");
    assert!(problems[0]["seq"].is_null());
    let shown = kept[0].display().to_string();
    assert!(problems[0]["text"].as_str().unwrap().contains(&shown));
    // What still read is there: that it ran, and how it ended.
    assert!(says.contains("that still read"), "{says}");
    assert!(says.contains("in that file only"), "{says}");
    let shown = bench.json(&["show", "1", "--json"]);
    assert_eq!(shown["exit"]["code"], 0);
}

#[test]
fn damage_to_what_is_derived_costs_nothing() {
    let bench = Bench::new();
    bench.rec_sh("echo one word");
    bench.rec_sh("echo two; echo more; exit 3");
    let before = bench.say(&["export", "last", "--as", "jsonl"]);
    let path = bench.home().database();
    let page: i64 = casebook::store::block_on(async {
        use sqlx::Connection;
        let url = format!("sqlite://{}", path.display());
        let mut database = sqlx::SqliteConnection::connect(&url).await.unwrap();
        let query = "select rootpage from sqlite_schema where type = 'table' and name = 'commands'";
        let page = sqlx::query_scalar(query).fetch_one(&mut database).await;
        database.close().await.unwrap();
        page.unwrap()
    })
    .unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = (usize::try_from(page).unwrap() - 1) * 4096;
    bytes[at..at + 4096].copy_from_slice(&noise(4096));
    std::fs::write(&path, &bytes).unwrap();
    bench.rec_sh("echo three");
    // The log is enough to look, and nothing is moved for that.
    assert_eq!(told(&bench, &["show", "1", "--stdout"]), "");
    assert!(aside(&bench).is_empty());
    let said = told(&bench, &["search", "word"]);
    assert!(said.contains("nothing of it is missing"), "{said}");
    let after = bench.say(&["export", "last", "--as", "jsonl"]);
    // Its first line counts the events: three more for the third command.
    let (before, after) = [&before, &after]
        .map(|text| text.split_once(",\"kind\":").unwrap())
        .into();
    assert!(after.1.starts_with(before.1), "{}", after.1);
    let forgotten = told(&bench, &["forget", "2"]);
    assert!(forgotten.contains("may still hold it"), "{forgotten}");
    assert_eq!(
        bench.json(&["show", "3", "--json"])["line"],
        "sh -c 'echo three'"
    );
    assert_eq!(bench.json(&["search", "word", "--json"])["total"], 1);
    assert_eq!(bench.json(&["verify", "--json"])["ok"], true);
}

#[test]
fn many_that_find_the_damage_at_once_move_it_once() {
    let (bench, path, _) = with_one();
    std::fs::write(&path, noise(9_000)).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| bench.say(&["sessions"]));
        }
    });
    assert_eq!(aside(&bench).len(), 1);
}

#[test]
fn a_database_that_is_gone_is_not_taken_for_a_first_one() {
    let (bench, path, _) = with_one();
    bench.rec_sh("echo two word");
    bench.say(&["search", "two"]);
    std::fs::remove_file(&path).unwrap();
    bench.rec_sh("echo three word");
    let said = told(&bench, &["search", "word"]);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(
        said.contains("is gone") && said.contains("2 commands of 1 session"),
        "{said}"
    );
    // The index follows the log that is there.
    let found = bench.json(&["search", "word", "--json"]);
    assert_eq!(found["total"], 1, "{found}");
    let (code, says) = doctor(&bench);
    assert_eq!(code, Some(0), "{says}");
    assert!(says.contains("is gone"), "{says}");
    assert_eq!(told(&bench, &["verify"]), "");
    assert_eq!(bench.json(&["show", "last", "--json"])["number"], 3);
}

#[test]
fn traces_of_a_database_are_enough_one_by_one() {
    for left in ["ingest.lock", "state", "index"] {
        let (bench, path, _) = with_one();
        std::fs::remove_file(&path).unwrap();
        for other in ["ingest.lock", "state", "index", "mask.key", "migrate.lock"] {
            let other = bench.home().path().join(other);
            if !other.ends_with(left) {
                std::fs::remove_dir_all(&other)
                    .or_else(|_| std::fs::remove_file(&other))
                    .ok();
            }
        }
        let said = told(&bench, &["verify"]);
        assert!(said.contains("is gone"), "{left}: {said}");
    }
    // Nothing is said of a home that never had one.
    let bench = Bench::new();
    bench.rec_sh("echo one");
    assert_eq!(told(&bench, &["verify"]), "");
}

#[test]
fn recorders_killed_before_their_command_had_a_record_are_no_trace_of_a_database() {
    let bench = Bench::new();
    for _ in 0..5 {
        bench.rec_sh("echo one");
    }
    let spools = list_spools(&bench.home()).unwrap();
    let number = |path: &std::path::Path| first_record(path).unwrap().number;
    for (_, path) in spools {
        if [2, 3, 5].contains(&number(&path)) {
            std::fs::remove_file(path).unwrap();
        }
    }
    assert_eq!(told(&bench, &["verify"]), "");
}

#[test]
fn what_is_open_writes_nothing_into_a_database_that_was_moved() {
    use casebook::event::{Event, NewEvent};
    use casebook::id::SessionId;
    use casebook::store::{Store, StoreError, block_on};
    use casebook::time::Micros;

    let (bench, path, _) = with_one();
    block_on(async {
        let store = Store::open(bench.home().path()).await.unwrap();
        std::fs::rename(&path, bench.file("elsewhere")).unwrap();
        let event = Event::SessionStarted {
            title: None,
            automatic: false,
            relative_time: false,
        };
        let event = NewEvent::bare(Micros(1), event);
        let refused = store.append(SessionId::new(), vec![event], None).await;
        assert!(matches!(refused, Err(StoreError::Replaced { .. })));
    })
    .unwrap();
}

#[test]
fn a_damaged_or_empty_spool_is_a_gap_kept_aside_and_named() {
    type Damage = fn(&mut Vec<u8>);
    // What is wrong, whether the end of the command still reads, and what it takes.
    let damages: [(&str, bool, Damage); 6] = [
        ("it is empty", false, Vec::clear),
        ("it is empty", false, |bytes| bytes.truncate(12)),
        ("it was cut short", false, |bytes| bytes.truncate(40)),
        ("not a spool", false, |bytes| bytes[..20].fill(7)),
        ("checksum does not match", false, |bytes| bytes[30] ^= 1),
        ("checksum does not match", true, |bytes| {
            let middle = bytes.windows(4).rposition(|four| four == b"more").unwrap();
            bytes[middle] ^= 1;
        }),
    ];
    for (why, ends, damage) in damages {
        let bench = Bench::new();
        bench.rec_sh("echo one");
        bench.rec_sh("echo two; echo more of it");
        bench.rec_sh("echo three");
        let spools = list_spools(&bench.home()).unwrap();
        let (id, path) = spools
            .into_iter()
            .find(|(_, path)| {
                let read = casebook::capture::spool::read_spool(path, 0).unwrap();
                start_of(&read).number == 2
            })
            .unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        damage(&mut bytes);
        std::fs::write(&path, &bytes).unwrap();
        let said = told(&bench, &["verify"]);
        assert_eq!(said.lines().count(), 1, "{why}: {said}");
        assert!(said.contains(why), "{why}: {said}");
        let kept = bench.home().broken_dir().join(format!("{id}.spool"));
        assert!(said.contains(&kept.display().to_string()), "{said}");
        assert_eq!(std::fs::read(&kept).unwrap(), bytes);
        assert_eq!(told(&bench, &["verify"]), "");
        let export = bench.say(&["export", "last", "--as", "jsonl"]);
        let gap = export
            .lines()
            .find(|line| line.contains("gap_recorded"))
            .unwrap();
        assert!(gap.contains(why) && gap.contains(&id.to_string()), "{gap}");
        assert_eq!(
            export.matches("\"kind\":\"command_started\"").count(),
            3,
            "{export}"
        );
        let second = bench.json(&["show", "2", "--json"]);
        assert_eq!(second["command_id"], id.to_string());
        let exit = if ends { "code" } else { "lost" };
        assert!(!second["exit"][exit].is_null(), "{why}: {second:#}");
        assert_eq!(bench.json(&["verify", "--json"])["ok"], true);
        if why == "it is empty" {
            let (code, says) = doctor(&bench);
            assert_eq!(code, Some(1), "{says}");
            assert!(says.contains(&format!("{id}.spool")), "{says}");
        }
        let output = finish(bench.recorded(&["echo", "four"]));
        assert_eq!(output.stderr, b"");
        assert_eq!(bench.json(&["show", "last", "--json"])["number"], 4);
    }
}

#[test]
fn a_damaged_file_of_state_stops_no_recording() {
    let bench = Bench::new();
    bench.rec_sh("echo one; echo password: hunter2x");
    let sessions = bench.home().state_dir().join("sessions");
    let file_of = |number: usize| {
        let mut files: Vec<PathBuf> = std::fs::read_dir(&sessions)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort_by_key(|path| path.metadata().unwrap().modified().unwrap());
        files.swap_remove(number)
    };
    let automatic = std::fs::read_dir(bench.home().state_dir())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("automatic-")
        })
        .unwrap();
    let first = file_of(0);
    for (path, bytes) in [
        (&first, &b""[..]),
        (&automatic, b""),
        (&automatic, b"\xff{{"),
    ] {
        std::fs::write(path, bytes).unwrap();
        let output = finish(bench.recorded(&["echo", "on"]));
        assert_eq!(
            (output.status.code(), &output.stdout[..]),
            (Some(0), &b"on\n"[..])
        );
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(
            said.contains("session") && !said.contains("not recorded"),
            "{said}"
        );
        let output = finish(bench.recorded(&["echo", "on"]));
        assert_eq!(output.stderr, b"");
    }
    // A session that was asked for by name, too; its number is known again after a mending.
    let id = first.file_name().unwrap().to_str().unwrap();
    std::fs::write(&first, b"garbled").unwrap();
    let output = finish(bench.recorded(&["--session", id, "echo", "on"]));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), said.lines().count()),
        (Some(0), 1),
        "{said}"
    );
    let (code, says) = doctor(&bench);
    assert!(code == Some(0) && says.contains("made anew"), "{says}");
    let output = finish(bench.recorded(&["--session", id, "echo", "on"]));
    assert_eq!(output.stderr, b"");
    let last = bench.json(&["show", "2", "--session", id, "--json"]);
    assert_eq!(last["line"], "echo on");
    // A key that was cut short is kept, and another one made.
    std::fs::write(bench.home().path().join("mask.key"), b"short").unwrap();
    let output = bench.rec_sh("echo password: hunter2x");
    assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]));
    let (code, says) = doctor(&bench);
    assert!(
        code == Some(1) && says.contains("mask.key.damaged"),
        "{says}"
    );
}

#[test]
fn garbled_settings_are_told_in_one_sentence() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.file("config/casebook")).unwrap();
    let run = |words: &[&str]| {
        let mut command = bench.recorded(words);
        command.env("XDG_CONFIG_HOME", bench.file("config"));
        finish(command)
    };
    for (bytes, lines) in [(&b""[..], 0), (b"\xff\x1b[2J\0 = {{\nmore", 1)] {
        std::fs::write(bench.file("config/casebook/config.toml"), bytes).unwrap();
        let output = run(&["echo", "on"]);
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
        let output = run(&["verify"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), said.lines().count()),
            (Some(0), lines),
            "{said}"
        );
        assert!(!said.contains('\x1b'), "{said:?}");
    }
}

#[test]
fn an_index_that_does_not_read_is_made_anew() {
    let (bench, ..) = with_one();
    let folder = bench.home().index_dir().join("v1");
    for bytes in [&b""[..], b"\xff garbled"] {
        std::fs::write(folder.join("meta.json"), bytes).unwrap();
        let found = bench.json(&["search", "word", "--json"]);
        assert_eq!(found["total"], 1, "{found}");
    }
}

/// Runs a script with the home on a small disk of its own; none where that cannot be had.
fn on_small_disk(bench: &Bench, script: &str) -> Option<std::process::Output> {
    if let Err(why) = lab::may_unshare() {
        eprintln!("not tried: {why}");
        return None;
    }
    std::fs::create_dir_all(bench.home().path()).unwrap();
    let all =
        format!("mount -t tmpfs -o size=512k,mode=700 tmpfs \"$REC_HOME\" || exit 77\n{script}");
    let output = finish(bench.command(&["unshare", "--mount", "sh", "-c", &all]));
    if output.status.code() == Some(77) {
        eprintln!("not tried: no file system can be mounted");
        return None;
    }
    Some(output)
}

#[test]
fn a_full_disk_is_told_in_words_and_stops_no_command() {
    let bench = Bench::new();
    let script = "
        \"$REC\" echo one; \"$REC\" verify >/dev/null
        cat /dev/zero >\"$REC_HOME\"/filler 2>/dev/null
        echo == recording; \"$REC\" sh -c 'echo ran; exit 3'; echo rc $?
        echo == quiet; \"$REC\" --quiet sh -c 'echo ran; exit 3'; echo rc $?
        echo == verify; \"$REC\" verify
        echo == show; \"$REC\" show last
        echo == doctor; \"$REC\" doctor | grep -v playbooks
        echo == note; \"$REC\" note x
        echo == search; \"$REC\" search one
        echo == export; \"$REC\" export last -o \"$REC_HOME\"/e.jsonl; ls \"$REC_HOME\" | grep -c jsonl
        rm \"$REC_HOME\"/filler
        echo == again; \"$REC\" echo four; \"$REC\" show last
    ";
    let Some(output) = on_small_disk(&bench, &format!("exec 2>&1\n{script}")) else {
        return;
    };
    let said = String::from_utf8(output.stdout).unwrap();
    let part = |name: &str| {
        let (_, rest) = said.split_once(&format!("== {name}\n")).unwrap();
        rest.split("\n== ").next().unwrap().to_owned()
    };
    for word in ["code:", "panicked", "Err(", "os error"] {
        assert!(!said.contains(word), "{said}");
    }
    let recording = part("recording");
    assert!(recording.contains("ran\nrc 3"), "{recording}");
    assert!(
        recording.contains("recorded") && recording.lines().count() == 3,
        "{recording}"
    );
    assert_eq!(part("quiet"), "ran\nrc 3");
    assert!(part("verify").contains("space"), "{said}");
    assert!(part("show").contains("echo one"), "{said}");
    let doctor = part("doctor");
    assert!(
        doctor.contains("✗ home") && doctor.contains("no space is left"),
        "{said}"
    );
    assert!(!doctor.contains("can be written"), "{said}");
    let note = part("note");
    assert!(
        note.lines().count() == 1 && note.contains("no space is left"),
        "{note}"
    );
    let search = part("search");
    assert!(
        !search.contains("rebuild") && search.contains("free some"),
        "{search}"
    );
    let export = part("export");
    assert!(
        export.contains("free some") && export.ends_with("\n0"),
        "{export}"
    );
    assert!(
        part("again").contains("#2 ") && part("again").contains("echo four"),
        "{said}"
    );
}
