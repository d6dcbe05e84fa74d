use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use super::{Ingested, Patience, ingest};
use crate::capture::home::Home;
use crate::capture::spool::{
    End, Output, Record, Recorder, Start, encode, header, hold, spool_path,
};
use crate::event::{Event, Exit, Stream, Terminals};
use crate::id::{CommandId, SessionId};
use crate::projection::{SessionView, session_from_log};
use crate::store::{Store, block_on};
use crate::time::Micros;

struct Bench {
    _dir: tempfile::TempDir,
    home: Home,
    session: SessionId,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        home.prepare().unwrap();
        Self {
            _dir: dir,
            home,
            session: SessionId::new(),
        }
    }

    fn start(&self, command: CommandId, number: u32) -> Record {
        Record::Start(Box::new(Start {
            command,
            session: self.session,
            automatic: true,
            number,
            line: "make all".to_owned(),
            argv: vec!["make".to_owned(), "all".to_owned()],
            cwd: Some("/src".to_owned()),
            host: "desk".to_owned(),
            user: Some("ann".to_owned()),
            terminals: Terminals {
                stdin: false,
                stdout: false,
                stderr: false,
            },
            at: Micros(1_000_000),
            parent: None,
            version: "test".to_owned(),
            recorder: Recorder {
                pid: 1,
                boot: "another".to_owned(),
                start_ticks: 0,
            },
            size: None,
        }))
    }

    /// Writes a spool that begins as one does; the file stays open for more.
    fn spool(&self, command: CommandId, records: &[Record]) -> (File, PathBuf) {
        let path = spool_path(&self.home, command);
        let mut file = OpenOptions::new()
            .create_new(true)
            .append(true)
            .open(&path)
            .unwrap();
        file.write_all(&header()).unwrap();
        write(&mut file, &[self.start(command, 1)]);
        write(&mut file, records);
        (file, path)
    }

    fn ingest(&self) -> Ingested {
        block_on(async {
            let store = Store::open(self.home.path()).await.unwrap();
            let report = ingest(&self.home, &store, Patience::Wait).await.unwrap();
            store.close().await;
            report
        })
        .unwrap()
    }

    fn look<T>(&self, look: impl AsyncFnOnce(&Store) -> T) -> T {
        block_on(async {
            let store = Store::open(self.home.path()).await.unwrap();
            let seen = look(&store).await;
            store.close().await;
            seen
        })
        .unwrap()
    }

    fn view(&self) -> SessionView {
        self.look(async |store| session_from_log(store, self.session).await.unwrap())
    }

    fn output(&self, command: CommandId) -> Vec<u8> {
        self.look(async |store| store.output(command, Stream::Stdout).await.unwrap())
    }
}

fn write(file: &mut File, records: &[Record]) {
    let mut bytes = Vec::new();
    for record in records {
        encode(record, &mut bytes);
    }
    file.write_all(&bytes).unwrap();
}

fn printed(after_us: i64, text: &str) -> Record {
    Record::Output(Output {
        stream: Stream::Stdout,
        after_us,
        bytes: text.as_bytes().to_vec(),
    })
}

const END: Record = Record::End(End {
    exit: Exit::Code(3),
    duration_us: 500_000,
});

#[test]
fn a_finished_spool_becomes_events_and_goes() {
    let bench = Bench::new();
    let command = CommandId::new();
    let (_, path) = bench.spool(
        command,
        &[
            printed(10, "one\n"),
            printed(20, "two\n"),
            printed(90_000, "three\n"),
            END,
        ],
    );
    let report = bench.ingest();
    assert_eq!((report.finished, report.running), (1, 0));
    assert!(!path.exists());
    let view = bench.view();
    let known = &view.commands[0];
    assert_eq!(known.exit, Exit::Code(3));
    assert_eq!((known.took_s, known.stdout_bytes), (Some(0.5), 14));
    assert_eq!(view.details[0].cwd.as_deref(), Some("/src"));
    assert_eq!(bench.output(command), b"one\ntwo\nthree\n");
    let pieces = bench.look(async |store| store.output_pieces(command).await.unwrap());
    assert_eq!(pieces.len(), 1);
    let marks: Vec<_> = pieces[0]
        .chunks
        .iter()
        .map(|mark| (mark.offset_bytes, mark.after_us))
        .collect();
    assert_eq!(marks, [(0, 10), (8, 90_000)]);
    assert_eq!(bench.ingest(), Ingested::default());
}

#[test]
fn a_running_command_is_taken_in_as_far_as_it_has_come() {
    let bench = Bench::new();
    let command = CommandId::new();
    let (mut file, path) = bench.spool(command, &[printed(10, "one\n")]);
    hold(&file);
    let report = bench.ingest();
    assert_eq!((report.finished, report.running), (0, 1));
    assert_eq!(bench.view().commands[0].exit, Exit::Running);
    assert_eq!(bench.output(command), b"one\n");

    write(&mut file, &[printed(20, "two\n")]);
    bench.ingest();
    assert_eq!(bench.output(command), b"one\ntwo\n");

    // It ends, and a process it left behind goes on printing through the shim that holds the spool.
    write(&mut file, &[END]);
    assert_eq!(bench.ingest().running, 1);
    assert_eq!(bench.view().commands[0].exit, Exit::Code(3));
    write(&mut file, &[printed(900_000, "late\n")]);
    drop(file);
    assert_eq!(bench.ingest().finished, 1);
    assert!(!path.exists());
    assert_eq!(bench.output(command), b"one\ntwo\nlate\n");
    assert_eq!(bench.view().commands[0].exit, Exit::Code(3));
}

#[test]
fn a_command_whose_recorder_died_is_lost_and_what_it_printed_is_kept() {
    let bench = Bench::new();
    let command = CommandId::new();
    let (mut file, path) = bench.spool(command, &[printed(10, "one\n")]);
    let mut torn = Vec::new();
    encode(&printed(20, "two\n"), &mut torn);
    file.write_all(&torn[..torn.len() - 2]).unwrap();
    drop(file);
    assert_eq!(bench.ingest().finished, 1);
    assert!(!path.exists());
    let view = bench.view();
    assert_eq!(view.commands[0].exit, Exit::Lost);
    assert_eq!(view.commands[0].took_s, None);
    assert_eq!(view.details[0].gap_bytes, torn.len() as u64 - 2);
    assert_eq!(bench.output(command), b"one\n");
}

#[test]
fn a_damaged_spool_gives_what_reads_before_and_behind_and_is_moved_aside() {
    let bench = Bench::new();
    let command = CommandId::new();
    let records = [
        printed(10, "one\n"),
        printed(20, "two\n"),
        printed(30, "three\n"),
        END,
    ];
    let (file, path) = bench.spool(command, &records);
    drop(file);
    let mut bytes = fs::read(&path).unwrap();
    let two = bytes.windows(4).position(|four| four == b"two\n").unwrap();
    bytes[two] = b'T';
    fs::write(&path, &bytes).unwrap();
    let report = bench.ingest();
    assert_eq!(report.broken.len(), 1);
    assert!(!path.exists());
    assert!(
        bench
            .home
            .spool_dir()
            .join("broken")
            .join(path.file_name().unwrap())
            .exists()
    );
    let view = bench.view();
    assert_eq!(view.commands[0].exit, Exit::Code(3));
    // The record of the second line, with its head.
    assert_eq!(view.details[0].gap_bytes, 9 + 9 + 4);
    assert_eq!(bench.output(command), b"one\nthree\n");
    assert_eq!(bench.ingest(), Ingested::default());
}

#[test]
fn a_spool_left_behind_after_its_commit_changes_nothing() {
    let bench = Bench::new();
    let command = CommandId::new();
    let (file, path) = bench.spool(command, &[printed(10, "one\n")]);
    drop(file);
    let bytes = fs::read(&path).unwrap();
    bench.ingest();
    let before = bench.look(async |store| store.head().await.unwrap());
    fs::write(&path, &bytes).unwrap();
    bench.ingest();
    assert!(!path.exists());
    assert_eq!(
        bench.look(async |store| store.head().await.unwrap()),
        before
    );
}

#[test]
fn a_spool_that_does_not_say_whose_it_is_finds_its_place() {
    let bench = Bench::new();
    let command = CommandId::new();
    let path = spool_path(&bench.home, command);
    fs::write(&path, b"RECSPOOL\xff\0\0\0").unwrap();
    let report = bench.ingest();
    assert!(path.exists(), "it is a newer version's");
    assert_eq!(report.broken.len(), 1);
    // The session gave out two numbers, and the record of one is there.
    crate::capture::session::register(&bench.home, bench.session, 3).unwrap();
    let at = Micros(command.made_ms().unwrap() * 1_000);
    let Record::Start(mut start) = bench.start(CommandId::new(), 1) else {
        unreachable!()
    };
    start.at = at.plus_us(-5);
    let mut bytes = header();
    encode(&Record::Start(start.clone()), &mut bytes);
    encode(&END, &mut bytes);
    fs::write(spool_path(&bench.home, start.command), bytes).unwrap();
    fs::write(&path, header()).unwrap();
    let held = File::open(&path).unwrap();
    hold(&held);
    bench.ingest();
    assert!(path.exists(), "somebody writes it");
    drop(held);
    let report = bench.ingest();
    assert!(!path.exists());
    assert_eq!(report.broken.len(), 1);
    let view = bench.view();
    let numbers: Vec<u32> = view.commands.iter().map(|command| command.number).collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(view.commands[1].exit, Exit::Lost);
    assert_eq!(view.details[1].gap_bytes, header().len() as u64);
    // Without a number that is missing it is kept all the same.
    let other = CommandId::new();
    fs::write(spool_path(&bench.home, other), b"something else").unwrap();
    assert_eq!(bench.ingest().broken.len(), 1);
    let started = bench.look(async |store| store.started(other).await.unwrap().unwrap());
    assert_ne!(started.session, bench.session);
    assert_eq!(bench.ingest(), Ingested::default());
}

#[test]
fn a_session_that_a_person_began_is_not_automatic() {
    let bench = Bench::new();
    let command = CommandId::new();
    let path = spool_path(&bench.home, command);
    let mut bytes = header();
    let Record::Start(mut start) = bench.start(command, 1) else {
        unreachable!()
    };
    start.automatic = false;
    encode(&Record::Start(start), &mut bytes);
    encode(&END, &mut bytes);
    fs::write(&path, bytes).unwrap();
    bench.ingest();
    let events = bench.look(async |store| store.load_session(bench.session).await.unwrap());
    assert!(matches!(
        events[0].event,
        Event::SessionStarted {
            automatic: false,
            ..
        }
    ));
    assert_eq!(events.len(), 3);
}
