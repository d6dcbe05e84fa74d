//! The store: the log is never changed, opens safely however many come first, and says what is wrong.

use std::path::Path;

use casebook::event::{ContentKind, Event, Exit, NewContent, NewEvent, Stream};
use casebook::id::{CommandId, SessionId};
use casebook::projection::{self, fold};
use casebook::store::{Page, RestoreError, Store, StoreError, block_on};
use casebook::time::Micros;
use casebook::{export, import};
use sqlx::{Connection, SqliteConnection};

/// Runs a test against a fresh store.
fn with_store<F>(test: impl FnOnce(Store) -> F) -> tempfile::TempDir
where
    F: Future<Output = Result<(), StoreError>>,
{
    let home = tempfile::tempdir().unwrap();
    block_on(async {
        let store = Store::open(home.path()).await?;
        test(store.clone()).await?;
        store.close().await;
        Ok::<_, StoreError>(())
    })
    .unwrap()
    .unwrap();
    home
}

async fn raw(home: &Path) -> SqliteConnection {
    let url = format!("sqlite://{}", home.join("rec.db").display());
    SqliteConnection::connect(&url).await.unwrap()
}

struct Ran {
    number: u32,
    line: &'static str,
    stdout: &'static [u8],
    at: i64,
}

fn ran(run: &Ran) -> (CommandId, Vec<NewEvent>) {
    let command = CommandId::new();
    let line = NewContent::new(ContentKind::Line, run.line);
    let output = NewContent::new(ContentKind::Output, run.stdout);
    let events = vec![
        NewEvent {
            at: Micros(run.at),
            event: Event::CommandStarted {
                command,
                number: run.number,
                line: line.reference(),
                cwd: Some("/root".to_owned()),
                host: "laptop".to_owned(),
                user: None,
                terminals: None,
                parent: None,
                recorder: "test".to_owned(),
            },
            contents: vec![line],
        },
        NewEvent {
            at: Micros(run.at + 10),
            event: Event::OutputRecorded {
                command,
                stream: Stream::Stdout,
                offset_bytes: 0,
                content: output.reference(),
                chunks: Vec::new(),
            },
            contents: vec![output],
        },
        NewEvent::bare(
            Micros(run.at + 20),
            Event::CommandEnded {
                command,
                exit: Exit::Code(0),
                duration_us: Some(20),
            },
        ),
    ];
    (command, events)
}

const FIRST: Ran = Ran {
    number: 1,
    line: "pgrep -fa server",
    stdout: b"one\n",
    at: 1_000,
};
const SECOND: Ran = Ran {
    number: 2,
    line: "tail x.log",
    stdout: b"two\n",
    at: 2_000,
};

#[test]
fn i1_events_cannot_be_changed_deleted_or_replaced() {
    let home = with_store(async |store| {
        store.append(SessionId::new(), ran(&FIRST).1, None).await?;
        Ok(())
    });
    block_on(async {
        let mut raw = raw(home.path()).await;
        for attempt in [
            "update events set at_us = 0",
            "delete from events",
            "insert or replace into events
                 (seq, id, session, session_version, kind, version, at_us, body, prev_hash, hash)
             select 1, 'e', 's', 1, kind, version, 0, '{}', prev_hash, hash from events limit 1",
            "insert or replace into events
                 (id, session, session_version, kind, version, at_us, body, prev_hash, hash)
             select id, 's', 1, kind, version, 0, '{}', prev_hash, hash from events limit 1",
            "insert or replace into events
                 (id, session, session_version, kind, version, at_us, body, prev_hash, hash)
             select 'e', session, 1, kind, version, 0, '{}', prev_hash, hash from events limit 1",
            "update contents set bytes = null, salt = null, codec = 'erased'",
            "update contents set bytes = x'00'",
            "delete from contents",
            "insert or replace into contents (id, kind, len_bytes, codec, salt, bytes)
             select id, kind, 0, 'raw', x'00', x'' from contents limit 1",
        ] {
            let refused = sqlx::query(attempt).execute(&mut raw).await.unwrap_err();
            let words = refused.to_string();
            assert!(
                words.contains("never") || words.contains("only ever"),
                "{attempt}: {words}"
            );
        }
        let events: i64 = sqlx::query_scalar("select count(*) from events")
            .fetch_one(&mut raw)
            .await
            .unwrap();
        assert_eq!(events, 4);
    })
    .unwrap();
}

#[test]
fn a_session_begins_with_an_event_that_says_so() {
    with_store(async |store| {
        let session = SessionId::new();
        let appended = store.append(session, ran(&FIRST).1, None).await?;
        assert!(appended.session_began);
        let events = store.load_session(session).await?;
        assert!(matches!(
            events[0].event,
            Event::SessionStarted {
                automatic: true,
                ..
            }
        ));
        assert_eq!(events.len(), 4);
        let versions: Vec<i64> = events.iter().map(|event| event.session_version).collect();
        assert_eq!(versions, [1, 2, 3, 4]);
        let again = Event::SessionStarted {
            title: None,
            automatic: false,
            relative_time: false,
        };
        let refused = store
            .append(session, vec![NewEvent::bare(Micros(0), again)], None)
            .await;
        assert!(matches!(refused, Err(StoreError::Exists { .. })));
        Ok(())
    });
}

#[test]
fn people_name_things_by_id_prefix_number_and_last() {
    with_store(async |store| {
        assert!(matches!(
            store.find_session("last").await,
            Err(StoreError::Empty { .. })
        ));
        let (one, two) = (SessionId::new(), SessionId::new());
        let (first, events) = ran(&FIRST);
        store.append(one, events, None).await?;
        let (second, events) = ran(&SECOND);
        store.append(one, events, None).await?;
        store.append(two, ran(&FIRST).1, None).await?;

        assert_eq!(store.find_session("last").await?, two);
        for text in [one.to_string(), one.short(), one.short()[2..].to_owned()] {
            assert_eq!(store.find_session(&text).await?, one);
        }
        assert!(matches!(
            store.find_session("s-").await,
            Err(StoreError::Ambiguous { .. })
        ));
        assert!(matches!(
            store.find_session("s-iii").await,
            Err(StoreError::NotFound { .. })
        ));
        for text in [
            first.to_string(),
            first.short(),
            "1".to_owned(),
            "#1".to_owned(),
        ] {
            assert_eq!(store.find_command(one, &text).await?.id, first);
        }
        let last = store.find_command(one, "last").await?;
        assert_eq!((last.id, last.number, last.session), (second, 2, one));
        assert!(matches!(
            store.find_command(one, "3").await,
            Err(StoreError::NotFound { .. })
        ));
        assert!(matches!(
            store.find_finding("f-0").await,
            Err(StoreError::NotFound { .. })
        ));
        Ok(())
    });
}

#[test]
fn output_comes_back_as_it_was_whole_and_in_part() {
    with_store(async |store| {
        let session = SessionId::new();
        let (command, mut events) = ran(&FIRST);
        let long: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        let more = NewContent::new(ContentKind::Output, long.clone());
        events.push(NewEvent {
            at: Micros(1_050),
            event: Event::OutputRecorded {
                command,
                stream: Stream::Stdout,
                offset_bytes: 4,
                content: more.reference(),
                chunks: Vec::new(),
            },
            contents: vec![more],
        });
        store.append(session, events, None).await?;
        let whole = store.output(command, Stream::Stdout).await?;
        assert_eq!(&whole[..4], b"one\n");
        assert_eq!(whole[4..], long);
        assert_eq!(store.output(command, Stream::Tty).await?, b"");
        let some = store.output_range(command, Stream::Stdout, 2, 12).await?;
        assert_eq!(some, whole[2..12]);
        let end = store.stream_end(command, Stream::Stdout).await?;
        assert_eq!(end, whole.len() as u64);
        fold::catch_up(&store).await?;
        let rows = store.commands(session, Page::ALL).await?;
        assert_eq!(rows[0].stdout_bytes, end);
        Ok(())
    });
}

#[test]
fn every_list_answers_on_a_fresh_database() {
    with_store(async |store| {
        let nobody = SessionId::new();
        assert_eq!(store.head().await?, 0);
        assert!(store.sessions(Page::ALL).await?.is_empty());
        assert_eq!(store.session_count().await?, 0);
        assert!(store.session_row(nobody).await?.is_none());
        assert!(store.commands(nobody, Page::ALL).await?.is_empty());
        assert!(store.command_rows(&[CommandId::new()]).await?.is_empty());
        assert!(store.notes(nobody).await?.is_empty());
        assert!(store.judgements(nobody).await?.is_empty());
        assert!(store.all_judgements().await?.is_empty());
        assert!(store.facts(nobody).await?.is_empty());
        assert!(store.reading(CommandId::new()).await?.facts.is_empty());
        assert!(store.unread_commands(nobody, "r").await?.is_empty());
        assert!(store.load_command(CommandId::new()).await?.is_empty());
        assert!(store.ingested("x").await?.is_none());
        assert!(matches!(
            projection::session(&store, nobody).await,
            Err(StoreError::NotFound { .. })
        ));
        assert!(matches!(
            projection::session_from_log(&store, nobody).await,
            Err(StoreError::NotFound { .. })
        ));
        Ok(())
    });
}

#[test]
fn many_open_first_and_append_at_once_and_all_is_there() {
    let home = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                block_on(async {
                    let store = Store::open(home.path()).await.unwrap();
                    for _ in 0..5 {
                        let session = SessionId::new();
                        store.append(session, ran(&FIRST).1, None).await.unwrap();
                    }
                    store.close().await;
                })
                .unwrap();
            });
        }
    });
    block_on(async {
        let store = Store::open(home.path()).await.unwrap();
        assert_eq!(store.head().await.unwrap(), 20 * 5 * 4);
        fold::catch_up(&store).await.unwrap();
        assert_eq!(store.session_count().await.unwrap(), 100);
    })
    .unwrap();
}

#[test]
fn a_database_that_cannot_be_used_is_refused_in_one_clear_sentence() {
    let open = |home: &Path| {
        block_on(async {
            let store = Store::open(home).await?;
            store.head().await
        })
        .unwrap()
        .unwrap_err()
    };
    let home = with_store(async |_| Ok(()));
    block_on(async {
        sqlx::query("pragma user_version = 99")
            .execute(&mut raw(home.path()).await)
            .await
            .unwrap();
    })
    .unwrap();
    let error = open(home.path());
    assert!(
        matches!(error, StoreError::Newer { found: 99, .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("newer version of rec"));

    let other = tempfile::tempdir().unwrap();
    std::fs::write(
        other.path().join("rec.db"),
        "this is no database, it is a letter",
    )
    .unwrap();
    assert!(matches!(open(other.path()), StoreError::Damaged { .. }));
    std::fs::write(other.path().join("rec.db"), "").unwrap();
    assert!(matches!(open(other.path()), StoreError::Damaged { .. }));

    let theirs = tempfile::tempdir().unwrap();
    block_on(async {
        let url = format!(
            "sqlite://{}?mode=rwc",
            theirs.path().join("rec.db").display()
        );
        let mut connection = SqliteConnection::connect(&url).await.unwrap();
        sqlx::query("create table cats (name text)")
            .execute(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
    })
    .unwrap();
    assert!(matches!(open(theirs.path()), StoreError::Foreign { .. }));

    let file = tempfile::NamedTempFile::new().unwrap();
    assert!(matches!(
        open(&file.path().join("home")),
        StoreError::Unwritable { .. }
    ));
    let nothing = tempfile::tempdir().unwrap();
    let missing = block_on(Store::open_read(nothing.path())).unwrap();
    assert!(matches!(missing, Err(StoreError::Missing { .. })));
}

#[test]
fn a_store_opened_for_reading_reads_and_refuses_to_write() {
    let home = with_store(async |store| {
        store.append(SessionId::new(), ran(&FIRST).1, None).await?;
        Ok(())
    });
    block_on(async {
        let store = Store::open_read(home.path()).await.unwrap();
        assert_eq!(store.head().await.unwrap(), 4);
        let session = store.find_session("last").await.unwrap();
        assert!(projection::session_from_log(&store, session).await.is_ok());
        let refused = store.append(session, Vec::new(), None).await;
        assert!(matches!(refused, Err(StoreError::ReadOnly { .. })));
    })
    .unwrap();
}

#[test]
fn files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let outer = tempfile::tempdir().unwrap();
    let home = outer.path().join("a/home");
    block_on(async {
        let store = Store::open(&home).await.unwrap();
        store
            .append(SessionId::new(), ran(&FIRST).1, None)
            .await
            .unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&home), 0o700);
        for file in home.read_dir().unwrap() {
            let path = file.unwrap().path();
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    })
    .unwrap();
}

async fn drop_guards(raw: &mut SqliteConnection) {
    for trigger in [
        "drop trigger events_refuse_update",
        "drop trigger events_refuse_delete",
        "drop trigger contents_refuse_update",
        "drop trigger contents_refuse_delete",
    ] {
        sqlx::query(trigger).execute(&mut *raw).await.unwrap();
    }
}

/// Changes a healthy store behind its back and says what `verify` then finds first.
fn tampered(statement: &'static str) -> (Option<i64>, String) {
    let home = with_store(async |store| {
        let session = SessionId::new();
        store.append(session, ran(&FIRST).1, None).await?;
        store.append(session, ran(&SECOND).1, None).await?;
        let verified = store.verify().await?;
        assert!(verified.is_ok(), "{verified:?}");
        assert_eq!(
            (verified.events, verified.sessions, verified.contents),
            (7, 1, 4)
        );
        Ok(())
    });
    block_on(async {
        let mut raw = raw(home.path()).await;
        drop_guards(&mut raw).await;
        sqlx::query(statement).execute(&mut raw).await.unwrap();
        raw.close().await.unwrap();
        let store = Store::open(home.path()).await.unwrap();
        let verified = store.verify().await.unwrap();
        assert!(!verified.is_ok(), "{statement}");
        (verified.first_bad_seq(), verified.problems[0].text.clone())
    })
    .unwrap()
}

#[test]
fn verify_finds_what_was_changed_behind_the_stores_back() {
    let cases = [
        (
            "update events set at_us = at_us + 1 where seq = 3",
            Some(3),
            "changed",
        ),
        (
            "update events set body = replace(body, '\"code\":0', '\"code\":1') where seq = 4",
            Some(4),
            "changed",
        ),
        ("delete from events where seq = 3", Some(4), "missing"),
        ("delete from events where seq = 7", Some(7), "missing"),
        (
            "update contents set bytes = x'6f6e65' where rowid = 2",
            Some(3),
            "not what was recorded",
        ),
        (
            "update contents set codec = 'erased', bytes = null, salt = null where rowid = 2",
            Some(3),
            "no event says",
        ),
        ("delete from contents where rowid = 1", Some(2), "missing"),
    ];
    for (statement, seq, words) in cases {
        let (found, text) = tampered(statement);
        assert_eq!(found, seq, "{statement}: {text}");
        assert!(text.contains(words), "{statement}: {text}");
    }
}

#[test]
fn a_forgotten_command_leaves_no_bytes_and_an_intact_chain() {
    const SECRET: Ran = Ran {
        number: 1,
        line: "mysql -pTopSecretWord db.example",
        stdout: b"TopSecretWord is the word\n",
        at: 1_000,
    };
    let home = with_store(async |store| {
        let session = SessionId::new();
        let (command, events) = ran(&SECRET);
        store.append(session, events, None).await?;
        store.append(session, ran(&SECOND).1, None).await?;
        let before = projection::session(&store, session).await?;
        assert_eq!(before.commands[0].line, SECRET.line);

        let forgotten = store.forget(command, Micros(9_000)).await?;
        assert_eq!(forgotten.contents, 2);
        assert_eq!(store.forget(command, Micros(9_000)).await?.contents, 0);
        let verified = store.verify().await?;
        assert!(verified.is_ok(), "{verified:?}");
        assert_eq!(verified.erased, 2);

        let after = projection::session(&store, session).await?;
        assert!(after.details[0].erased);
        assert!(!after.commands[0].line.contains("Top"));
        assert_eq!(after.commands[1], before.commands[1]);
        assert_eq!(store.output(command, Stream::Stdout).await?, b"");
        Ok(())
    });
    for file in home.path().read_dir().unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let found = bytes.windows(13).any(|window| window == b"TopSecretWord");
        assert!(!found);
    }
}

#[test]
fn a_running_command_is_not_forgotten() {
    with_store(async |store| {
        let (command, mut events) = ran(&FIRST);
        events.truncate(2);
        store.append(SessionId::new(), events, None).await?;
        let refused = store.forget(command, Micros(0)).await;
        assert!(matches!(
            refused,
            Err(StoreError::StillRunning { number: 1 })
        ));
        Ok(())
    });
}

/// Every row of every projection, as text.
async fn projected(home: &Path) -> Vec<String> {
    let mut raw = raw(home).await;
    let tables: Vec<String> = sqlx::query_scalar(
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite%'
         and name not in ('events', 'contents', 'ingested', '_sqlx_migrations') order by name",
    )
    .fetch_all(&mut raw)
    .await
    .unwrap();
    assert!(tables.len() >= 8, "{tables:?}");
    let mut rows = Vec::new();
    for table in tables {
        let columns: Vec<String> = sqlx::query_scalar("select name from pragma_table_info(?)")
            .bind(&table)
            .fetch_all(&mut raw)
            .await
            .unwrap();
        let quoted: Vec<String> = columns
            .iter()
            .map(|name| format!("quote({name})"))
            .collect();
        let select = format!("select {} as row from {table}", quoted.join(" || ',' || "));
        let mut found: Vec<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(select))
            .fetch_all(&mut raw)
            .await
            .unwrap();
        found.sort();
        rows.extend(found.into_iter().map(|row| format!("{table}: {row}")));
    }
    rows
}

#[test]
fn i2_what_is_rebuilt_is_what_was_there() {
    let home = with_store(async |store| {
        let session = SessionId::new();
        let (first, events) = ran(&FIRST);
        store.append(session, events, None).await?;
        projection::session(&store, session).await?;
        let note = NewContent::new(ContentKind::Note, "it is the heredoc");
        let noted = NewEvent {
            at: Micros(1_500),
            event: Event::NoteAdded {
                text: note.reference(),
            },
            contents: vec![note],
        };
        let ended = NewEvent::bare(Micros(3_000), Event::SessionEnded {});
        store.append(session, vec![noted, ended], None).await?;
        store.append(session, ran(&SECOND).1, None).await?;
        projection::session(&store, session).await?;
        store.forget(first, Micros(4_000)).await?;
        projection::session(&store, session).await?;
        Ok(())
    });
    block_on(async {
        let before = projected(home.path()).await;
        assert!(before.iter().any(|row| row.starts_with("notes: ")));
        assert!(before.iter().any(|row| row.starts_with("readings: ")));
        let store = Store::open(home.path()).await.unwrap();
        projection::rebuild::rebuild(&store).await.unwrap();
        store.close().await;
        assert_eq!(projected(home.path()).await, before);
    })
    .unwrap();
}

async fn exported(store: &Store, session: SessionId) -> String {
    let mut out = Vec::new();
    export::jsonl::write(store, session, &mut out)
        .await
        .unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn an_export_carries_a_session_to_another_store_once() {
    let mut text = String::new();
    let mut later = String::new();
    let session = SessionId::new();
    with_store(async |store| {
        let (first, events) = ran(&FIRST);
        store.append(session, events, None).await?;
        let binary = Ran {
            number: 2,
            line: "head -c 3 /bin/ls",
            stdout: b"\x7fEL\xff",
            at: 2_000,
        };
        store.append(session, ran(&binary).1, None).await?;
        text = exported(&store, session).await;
        store.forget(first, Micros(5_000)).await?;
        later = exported(&store, session).await;
        Ok(())
    });
    assert!(text.contains("\"base64\":\"f0VM/w==\""));
    assert!(later.contains("\"erased\":true"));
    with_store(async |store| {
        let events = import::jsonl::read(&text).unwrap();
        let restored = store.restore(&events).await.unwrap();
        assert_eq!((restored.new_events, restored.known_events), (7, 0));
        assert_eq!(restored.sessions, [session]);
        assert_eq!(exported(&store, session).await, text);
        let again = store.restore(&events).await.unwrap();
        assert_eq!((again.new_events, again.known_events), (0, 7));

        // The other store went on: what it erased is erased here as well.
        let events = import::jsonl::read(&later).unwrap();
        assert_eq!(store.restore(&events).await.unwrap().new_events, 1);
        let verified = store.verify().await?;
        assert!(verified.is_ok(), "{verified:?}");
        assert_eq!(verified.erased, 2);
        assert_eq!(exported(&store, session).await, later);

        // And from there this one goes on by itself: both cannot be kept.
        store.append(session, ran(&SECOND).1, None).await?;
        let mut forked = import::jsonl::read(&later).unwrap();
        let mut last = forked.pop().unwrap();
        last.session_version = 9;
        forked.push(last);
        assert!(matches!(
            store.restore(&forked).await,
            Err(RestoreError::Changed { .. })
        ));
        Ok(())
    });
    with_store(async |store| {
        let events = import::jsonl::read(&later).unwrap();
        store.restore(&events).await.unwrap();
        assert!(store.verify().await?.is_ok());
        Ok(())
    });
    with_store(async |store| {
        for (from, to) in [
            ("command_ended", "command_started"),
            ("\"at_us\":1000", "\"at_us\":1001"),
        ] {
            let events = import::jsonl::read(&text.replace(from, to)).unwrap();
            let refused = store.restore(&events).await;
            assert!(matches!(refused, Err(RestoreError::Changed { .. })));
        }
        let events = import::jsonl::read(&text.replace("one\\n", "two\\n")).unwrap();
        let refused = store.restore(&events).await;
        assert!(matches!(
            refused,
            Err(RestoreError::Content { version: 3, .. })
        ));
        let mut events = import::jsonl::read(&text).unwrap();
        events.remove(2);
        let refused = store.restore(&events).await;
        assert!(matches!(
            refused,
            Err(RestoreError::Hole { expected: 3, .. })
        ));
        assert_eq!(store.head().await?, 0);
        Ok(())
    });
}

#[test]
fn a_cut_or_strange_export_is_refused_with_its_line() {
    assert!(matches!(
        import::jsonl::read(""),
        Err(import::jsonl::BadExport::Empty)
    ));
    let mut text = String::new();
    with_store(async |store| {
        let session = SessionId::new();
        store.append(session, ran(&FIRST).1, None).await?;
        text = exported(&store, session).await;
        Ok(())
    });
    let cut = &text[..text.len() - 20];
    let refused = import::jsonl::read(cut).unwrap_err().to_string();
    assert_eq!(
        refused,
        "the file was cut off: it ends in the middle of line 4"
    );
    // Cut between two lines it reads, and is known to be short.
    let lines = text.match_indices('\n').map(|(at, _)| at + 1);
    let cuts: Vec<usize> = lines.collect();
    let short = |to: usize| import::jsonl::read_noting(&text[..to]).unwrap().short;
    assert_eq!((short(cuts[1])[0].events, short(cuts[1])[0].of), (2, 4));
    assert_eq!(short(text.len()), []);
    let newer = text.replacen("\"format\":1", "\"format\":7", 1);
    let refused = import::jsonl::read(&newer).unwrap_err().to_string();
    assert!(refused.contains("format 7"), "{refused}");
}

#[test]
fn a_markdown_export_cannot_be_broken_out_of() {
    with_store(async |store| {
        let session = SessionId::new();
        let hostile = Ran {
            number: 1,
            line: "echo '```'",
            stdout: b"````\n\x1b[31m# red\x1b[0m\n<script>\n",
            at: 1_000,
        };
        store.append(session, ran(&hostile).1, None).await?;
        fold::catch_up(&store).await?;
        let mut out = Vec::new();
        export::markdown::write(&store, session, &mut out)
            .await
            .unwrap();
        let page = String::from_utf8(out).unwrap();
        assert!(
            page.contains("`````\n````\n# red\n<script>\n`````\n"),
            "{page}"
        );
        assert!(page.contains("````sh\necho '```'\n````\n"), "{page}");
        assert!(page.contains("exit 0 after 0.0 s"), "{page}");
        Ok(())
    });
}

#[test]
fn i9_the_log_alone_is_enough_to_record_and_to_look() {
    let mut begun = None;
    let home = with_store(async |store| {
        let session = SessionId::new();
        let (command, events) = ran(&FIRST);
        store.append(session, events, None).await?;
        projection::session(&store, session).await?;
        begun = Some((session, command));
        Ok(())
    });
    let (session, command) = begun.unwrap();
    block_on(async {
        let mut raw = raw(home.path()).await;
        for table in ["sessions", "commands", "facts", "readings", "checkpoints"] {
            let drop = format!("drop table {table}");
            sqlx::query(sqlx::AssertSqlSafe(drop))
                .execute(&mut raw)
                .await
                .unwrap();
        }
        raw.close().await.unwrap();
        std::fs::write(home.path().join("index"), "no folder").unwrap();

        let store = Store::open(home.path()).await.unwrap();
        assert!(projection::session(&store, session).await.is_err());
        store.append(session, ran(&SECOND).1, None).await.unwrap();
        let spools = casebook::capture::home::Home::at(home.path());
        let report = projection::ingest(&spools, &store, projection::Patience::Skip)
            .await
            .unwrap();
        assert!(report.behind.is_some());
        assert_eq!(store.find_session("last").await.unwrap(), session);
        let view = projection::session_from_log(&store, session).await.unwrap();
        assert_eq!(view.commands.len(), 2);
        assert_eq!(store.find_command(session, "1").await.unwrap().id, command);
        let output = store.output(command, Stream::Stdout).await.unwrap();
        assert_eq!(output, b"one\n");
        assert!(store.verify().await.unwrap().is_ok());
    })
    .unwrap();
}
