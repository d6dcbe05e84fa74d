//! The home is damaged, emptied or full: recording goes on, what is left is used, and one sentence
//! says what happened.

use std::path::PathBuf;

use casebook::capture::spool::list_spools;

use crate::bench::{Bench, finish};

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

/// Recording works, and says nothing about what else does not.
fn still_records(bench: &Bench) {
    let before = list_spools(&bench.home()).unwrap().len();
    let output = finish(bench.recorded(&["echo", "still"]));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"still\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(list_spools(&bench.home()).unwrap().len(), before + 1);
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
        // Told once; what waited is there.
        assert_eq!(told(&bench, &["sessions"]), "");
        let shows = bench.json(&["show", "last", "--json"]);
        assert_eq!(shows["line"], "echo still");
        still_records(&bench);
        if at == 0 {
            let (code, says) = doctor(&bench);
            assert!(code == Some(1) && says.contains(&shown), "{says}");
            std::fs::remove_file(&kept[0]).unwrap();
            let (code, says) = doctor(&bench);
            assert_eq!(code, Some(0), "{says}");
        }
    }
}

#[test]
fn doctor_finds_damage_that_nobody_has_read_yet_and_verify_tells_it() {
    let bench = Bench::new();
    bench.rec_sh("head -c 90000 /dev/urandom | base64");
    bench.say(&["sessions"]);
    let path = bench.home().database();
    let mut bytes = std::fs::read(&path).unwrap();
    // In a chain of overflow pages, which hold the output and nothing that is read before it.
    let next = |page: usize| u32::from_be_bytes(bytes[page * 4096..][..4].try_into().unwrap());
    let middle = (1..bytes.len() / 4096)
        .find(|page| [page - 1, *page].map(next) == [page + 1, page + 2].map(|n| n as u32))
        .unwrap()
        * 4096;
    bytes[middle..middle + 4096].copy_from_slice(&noise(4096));
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(told(&bench, &["sessions"]), "");
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
    assert_eq!(aside(&bench).len(), 1);
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
    assert_eq!(told(&bench, &["sessions"]), "");
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
        let said = told(&bench, &["sessions"]);
        assert!(said.contains("is gone"), "{left}: {said}");
    }
    // Nothing is said of a home that never had one.
    let bench = Bench::new();
    bench.rec_sh("echo one");
    assert_eq!(told(&bench, &["sessions"]), "");
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
