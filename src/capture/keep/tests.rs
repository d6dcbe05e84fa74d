use super::*;
use crate::capture::spool::{Recorder, Tail, read_spool};
use crate::event::{Exit, Terminals};
use crate::id::{CommandId, SessionId};
use crate::time::Micros;

fn start() -> Start {
    Start {
        command: CommandId::new(),
        session: SessionId::new(),
        automatic: true,
        number: 1,
        line: "x".into(),
        argv: vec!["x".into()],
        cwd: None,
        host: "box".into(),
        user: None,
        terminals: Terminals {
            stdin: false,
            stdout: false,
            stderr: false,
        },
        at: Micros(0),
        parent: None,
        version: "0".into(),
        recorder: Recorder {
            pid: 0,
            boot: String::new(),
            start_ticks: 0,
        },
        size: None,
    }
}

const END: End = End {
    exit: Exit::Code(0),
    duration_us: 1,
};

fn keep(cap: Cap, feed: impl FnOnce(&mut Keeper)) -> Vec<Record> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.spool");
    let mut keeper = Keeper::create(&path, start(), cap).unwrap();
    feed(&mut keeper);
    keeper.end(&END);
    let read = read_spool(&path, 0).unwrap();
    assert_eq!(read.tail, Tail::Clean);
    read.records.into_iter().map(|(_, record)| record).collect()
}

fn text(records: &[Record]) -> String {
    let mut all = String::new();
    for record in records {
        match record {
            Record::Output(output) => all.push_str(std::str::from_utf8(&output.bytes).unwrap()),
            Record::Gap(gap) => all.push_str(&format!("[{}]", gap.bytes)),
            _ => {}
        }
    }
    all
}

#[test]
fn everything_small_is_kept_in_order() {
    let records = keep(Cap::default(), |keeper| {
        keeper.output(Stream::Stdout, 1, b"one ");
        keeper.output(Stream::Stderr, 2, b"two");
    });
    assert_eq!(text(&records), "one two");
    assert!(matches!(records.last(), Some(Record::End(end)) if *end == END));
}

#[test]
fn the_middle_of_much_output_is_a_gap() {
    let limit = 1_000;
    let records = keep(Cap::Each(limit), |keeper| {
        for number in 0..1_000 {
            keeper.output(
                Stream::Stdout,
                number * 20_000,
                format!("{number:>5}").as_bytes(),
            );
        }
    });
    let text = text(&records);
    let (first, rest) = text.split_once('[').unwrap();
    let (gap, last) = rest.split_once(']').unwrap();
    assert_eq!(first.len(), 1_000);
    assert!(last.len() < 1_000 && last.ends_with("  999"));
    assert_eq!(
        first.len() + last.len() + gap.parse::<usize>().unwrap(),
        5_000
    );
}

#[test]
fn waiting_output_is_spooled_at_a_pause_but_not_without_end() {
    let records = keep(Cap::Each(500), |keeper| {
        keeper.output(Stream::Tty, 0, &[b'a'; 500]);
        for pause in 0..50 {
            keeper.output(Stream::Tty, pause, &[b'b'; 300]);
            keeper.pause();
        }
    });
    assert!(text(&records).len() < 2_000);
}

#[test]
fn without_a_cap_nothing_waits() {
    let records = keep(Cap::None, |keeper| {
        for _ in 0..100 {
            keeper.output(Stream::Stdout, 0, &[b'x'; 10_000]);
        }
        assert!(!keeper.is_past_head());
    });
    assert_eq!(text(&records).len(), 1_000_000);
}

#[test]
fn a_full_disk_costs_the_bytes_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let full = File::options().append(true).open("/dev/full").unwrap();
    let mut keeper = Keeper::over(full, &dir.path().join("x"), Cap::default(), false);
    keeper.output(Stream::Stdout, 0, b"abc");
    keeper.flush();
    assert!(keeper.trouble().is_some());
    assert_eq!(keeper.failed[&Stream::Stdout].0, 3);
}
