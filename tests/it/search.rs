//! Searching what was recorded.

use std::path::Path;

use casebook::event::{ContentKind, Event, NewContent, NewEvent, Stream};
use casebook::id::SessionId;
use casebook::import::case;
use casebook::index::{self, Hit, Hits, Index, Search};
use casebook::projection::fold;
use casebook::store::{Store, block_on};
use casebook::time::Micros;

const CASE: &str = r#"
title: Serving on two hosts
started: 2026-11-30T10:00:00Z
steps:
- at: 0
  host: laptop
  command: ssh root@gpu01 'nohup python3 serve.py --tp 8 --port=30000 > /root/x.log 2>&1 &'
  exit: 0
- at: 10
  host: laptop
  command: ssh root@gpu01 'tail -n 3 /root/x.log'
  exit: 0
  stdout: |
    loading
    CUDA error: 802, system not yet initialized
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 MiB
- at: 20
  host: laptop
  command: ssh root@web.example.com 'pgrep -fa nginx'
  exit: 1
  stderr: |
    nothing of memory, out
- at: 30
  host: laptop
  command: pkill -9 -f tp
  exit: {signal: 9}
"#;

struct Bench {
    home: tempfile::TempDir,
    session: SessionId,
}

impl Bench {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let session = block_on(async {
            let store = Store::open(home.path()).await.unwrap();
            let case = case::read(CASE).unwrap();
            store.append(case.session, case.events, None).await.unwrap();
            store.close().await;
            case.session
        })
        .unwrap();
        Self { home, session }
    }

    fn with<T>(&self, work: impl AsyncFnOnce(&Store, &mut Index) -> T) -> T {
        block_on(async {
            let store = Store::open(self.home.path()).await.unwrap();
            fold::catch_up(&store).await.unwrap();
            let mut index = Index::open(self.home.path()).unwrap();
            index.catch_up(&store).await.unwrap();
            let result = work(&store, &mut index).await;
            store.close().await;
            result
        })
        .unwrap()
    }

    fn hits(&self, queries: &[&str]) -> Vec<Vec<u32>> {
        self.with(async |store, index| {
            let mut all = Vec::new();
            for query in queries {
                let hits = search(store, index, query).await;
                assert_eq!(hits.total, hits.hits.len());
                all.push(hits.hits.iter().filter_map(|hit| hit.number).collect());
            }
            all
        })
    }
}

async fn search(store: &Store, index: &Index, query: &str) -> Hits {
    let search = Search {
        query,
        limit: 20,
        skip: 0,
        now: Micros::parse("2026-11-30T10:01:00Z").unwrap(),
    };
    index.search(store, search).await.unwrap()
}

async fn only(store: &Store, index: &Index, query: &str) -> Hit {
    let mut hits = search(store, index, query).await.hits;
    assert_eq!(hits.len(), 1, "{query}: {hits:?}");
    hits.remove(0)
}

#[test]
fn words_paths_flags_and_phrases_are_found() {
    let bench = Bench::new();
    let cases: &[(&str, &[u32])] = &[
        ("--tp 8", &[1]),
        ("--port", &[1]),
        ("--port=30000", &[1]),
        ("tp", &[4, 1]),
        ("--nginx", &[3]),
        ("/root/x.log", &[2, 1]),
        ("error: 802", &[2]),
        ("\"error: 802\"", &[2]),
        ("\"out of memory\"", &[2]),
        ("memory out", &[3, 2]),
        ("OUTOFMEMORYERROR", &[2]),
        ("outof*", &[2]),
        ("torch.outof*", &[2]),
        ("host:gpu01", &[2, 1]),
        ("host:web", &[3]),
        ("host:web.example.com,gpu01 ssh", &[3, 2, 1]),
        ("host:gpu*", &[2, 1]),
        ("exit:1", &[3]),
        ("exit:0", &[2, 1]),
        ("exit:fail", &[4, 3]),
        ("exit:signal", &[4]),
        ("exit:137", &[4]),
        ("-exit:0", &[4, 3]),
        ("program:pgrep", &[3]),
        ("program:tail host:gpu01", &[2]),
        ("since:35s", &[4]),
        ("since:2h", &[4, 3, 2, 1]),
        ("until:2026-11-30T10:00:05Z", &[1]),
        ("kind:note", &[]),
        ("bad:(\"", &[]),
        ("", &[4, 3, 2, 1]),
    ];
    let queries: Vec<&str> = cases.iter().map(|(query, _)| *query).collect();
    for ((query, expected), found) in cases.iter().zip(bench.hits(&queries)) {
        assert_eq!(&found, expected, "{query}");
    }
    let session = format!("session:{} ssh", bench.session.short());
    let other = format!("session:{} ssh", SessionId::new());
    assert_eq!(bench.hits(&[&session, &other]), [vec![3, 2, 1], vec![]]);
}

#[test]
fn a_hit_says_where_and_shows_the_line() {
    let bench = Bench::new();
    bench.with(async |store, index| {
        let hit = only(store, index, "\"error: 802\"").await;
        assert_eq!(hit.stream, Some(Stream::Stdout));
        assert_eq!(hit.from, 8);
        assert_eq!(hit.snippet, "CUDA error: 802, system not yet initialized");
        assert_eq!(hit.target_host.as_deref(), Some("gpu01"));
        assert_eq!(hit.at.as_deref(), Some("2026-11-30T10:00:10.000000Z"));
        assert_eq!(hit.title.as_deref(), Some("Serving on two hosts"));
        let line = only(store, index, "--tp").await;
        assert_eq!((line.stream, line.number), (None, Some(1)));
        let json = serde_json::to_value(&hit).unwrap();
        for key in [
            "session",
            "command_id",
            "number",
            "target_host",
            "at",
            "line",
            "stream",
            "from",
            "snippet",
        ] {
            assert!(json.get(key).is_some(), "{key}");
        }
    });
}

#[test]
fn the_index_follows_the_log_and_forgets_with_it() {
    let bench = Bench::new();
    assert_eq!(bench.hits(&["unheard"]), [Vec::<u32>::new()]);
    bench.with(async |store, _| {
        let note = NewContent::new(ContentKind::Note, "an unheard of driver");
        let noted = NewEvent {
            at: Micros::parse("2026-11-30T10:02:00Z").unwrap(),
            event: Event::NoteAdded {
                text: note.reference(),
            },
            contents: vec![note],
        };
        store
            .append(bench.session, vec![noted], None)
            .await
            .unwrap();
    });
    let command = bench.with(async |store, index| {
        let hit = only(store, index, "unheard kind:note").await;
        assert_eq!(hit.command_id, None);
        assert_eq!(hit.snippet, "an unheard of driver");
        let hit = only(store, index, "OutOfMemoryError").await;
        // Nothing new: nothing to do.
        assert_eq!(index.catch_up(store).await.unwrap().documents, 0);
        hit.command_id.unwrap()
    });
    bench.with(async |store, index| {
        store.forget(command, Micros(0)).await.unwrap();
        fold::catch_up(store).await.unwrap();
        index.catch_up(store).await.unwrap();
        assert_eq!(search(store, index, "OutOfMemoryError").await.total, 0);
        assert_eq!(search(store, index, "pgrep").await.total, 1);
    });
    assert!(!holds(
        &bench.home.path().join("index"),
        b"outofmemoryerror"
    ));
    index::remove(bench.home.path()).unwrap();
    assert_eq!(bench.hits(&["unheard", "pgrep"]), [vec![], vec![3]]);
}

fn holds(folder: &Path, wanted: &[u8]) -> bool {
    folder.read_dir().unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return holds(&path, wanted);
        }
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(wanted.len()).any(|window| window == wanted)
    })
}

#[test]
fn long_output_is_found_at_both_ends() {
    let bench = Bench::new();
    let text: String = (0..60_000)
        .map(|n| format!("line {n} of a long and quiet log file\n"))
        .collect();
    let case = format!(
        "steps:\n- at: 0\n  command: cat big.log\n  exit: 0\n  stdout: |\n{}",
        text.lines()
            .map(|line| format!("    {line}\n"))
            .collect::<String>()
    );
    bench.with(async |store, _| {
        let case = case::read(&case).unwrap();
        store.append(case.session, case.events, None).await.unwrap();
    });
    bench.with(async |store, index| {
        let last = only(store, index, "\"line 59998 of\"").await;
        let offset = text.find("line 59998 ").unwrap();
        assert_eq!((last.from, last.at.as_deref()), (offset as u64, None));
        assert!(last.snippet.starts_with("line 59998 of"));
        let first = only(store, index, "\"line 17 of\"").await;
        assert_eq!(first.from, text.find("line 17 ").unwrap() as u64);
    });
}
