use proptest::prelude::*;

use super::*;

fn start() -> Start {
    Start {
        command: CommandId::new(),
        session: SessionId::new(),
        automatic: true,
        number: 3,
        line: "echo 'a b'".into(),
        argv: vec!["echo".into(), "a b".into()],
        cwd: Some("/tmp".into()),
        host: "box".into(),
        user: None,
        terminals: Terminals {
            stdin: true,
            stdout: false,
            stderr: true,
        },
        at: Micros(1_790_000_000_000_000),
        parent: None,
        version: "0.1.0".into(),
        recorder: Recorder {
            pid: std::process::id(),
            boot: boot_id(),
            start_ticks: process_start_ticks(std::process::id()).unwrap(),
        },
        size: Some(Size {
            rows: 24,
            columns: 80,
        }),
    }
}

fn sample() -> Vec<Record> {
    vec![
        Record::Start(Box::new(start())),
        Record::Output(Output {
            stream: Stream::Stdout,
            after_us: 5,
            bytes: b"a\0\xff".to_vec(),
        }),
        Record::Gap(Gap {
            stream: Stream::Stderr,
            bytes: 9,
            reason: "disk was slow".into(),
        }),
        Record::Resize(Resize {
            after_us: 6,
            size: Size {
                rows: 1,
                columns: 2,
            },
        }),
        Record::State(StateChange {
            after_us: 7,
            state: Exit::Stopped(20),
        }),
        Record::End(End {
            exit: Exit::Signal(9),
            duration_us: 8,
        }),
        Record::Output(Output {
            stream: Stream::Tty,
            after_us: 9,
            bytes: b"late".to_vec(),
        }),
    ]
}

fn bytes_of(records: &[Record]) -> Vec<u8> {
    let mut bytes = header();
    for record in records {
        encode(record, &mut bytes);
    }
    bytes
}

fn read_bytes(bytes: &[u8], from: u64) -> SpoolRead {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.spool");
    std::fs::write(&path, bytes).unwrap();
    read_spool(&path, from).unwrap()
}

#[test]
fn records_round_trip() {
    let records = sample();
    let read = read_bytes(&bytes_of(&records), 0);
    assert_eq!(
        read.records
            .into_iter()
            .map(|(_, record)| record)
            .collect::<Vec<_>>(),
        records
    );
    assert_eq!((read.tail, read.state), (Tail::Clean, SpoolState::Complete));
}

#[test]
fn reading_goes_on_where_it_stopped_and_still_knows_the_state() {
    let records = sample();
    let bytes = bytes_of(&records);
    let all = read_bytes(&bytes, 0);
    let (offset, _) = all.records[6];
    let rest = read_bytes(&bytes, offset);
    assert_eq!(rest.records, all.records[6..]);
    assert_eq!(rest.state, SpoolState::Complete);
    assert_eq!(read_bytes(&bytes, all.next_offset).records, vec![]);
}

#[test]
fn a_limit_stops_between_records() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.spool");
    std::fs::write(&path, bytes_of(&sample())).unwrap();
    let mut from = 0;
    let mut count = 0;
    loop {
        let part = read_spool_part(&path, from, 1).unwrap();
        count += part.records.len();
        from = part.next_offset;
        if !part.more {
            break;
        }
    }
    assert_eq!(count, 7);
}

#[test]
fn without_an_end_the_recorder_decides() {
    let mut first = start();
    let running = read_bytes(&bytes_of(&[Record::Start(Box::new(first.clone()))]), 0);
    assert_eq!(running.state, SpoolState::Running);
    first.recorder.start_ticks += 1;
    let lost = read_bytes(&bytes_of(&[Record::Start(Box::new(first))]), 0);
    assert_eq!(lost.state, SpoolState::Lost);
}

#[test]
fn a_held_spool_is_running_whatever_its_process_id_says() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.spool");
    std::fs::write(&path, header()).unwrap();
    let file = File::open(&path).unwrap();
    assert_eq!(read_spool(&path, 0).unwrap().state, SpoolState::Lost);
    hold(&file);
    assert_eq!(read_spool(&path, 0).unwrap().state, SpoolState::Running);
}

#[test]
fn a_torn_tail_is_cut_off_before_more_is_appended() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.spool");
    let whole = bytes_of(&sample());
    let mut torn = whole.clone();
    torn.extend_from_slice(&[200, 0, 0, 0, 2, 1, 2]);
    std::fs::write(&path, torn).unwrap();
    let file = File::options().append(true).open(&path).unwrap();
    repair_tail(&path, &file).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), whole);
}

proptest! {
    #[test]
    fn any_cut_keeps_every_whole_record(cut in 0_usize..1_000) {
        let bytes = bytes_of(&sample());
        let cut = cut.min(bytes.len());
        let all = read_bytes(&bytes, 0);
        let read = read_bytes(&bytes[..cut], 0);
        prop_assert_eq!(&all.records[..read.records.len()], &read.records[..]);
        let next = all.records.get(read.records.len()).map_or(all.next_offset, |(at, _)| *at);
        prop_assert!(read.tail != Tail::Clean || read.next_offset == next);
        let corrupt = matches!(read.tail, Tail::Corrupt { .. });
        prop_assert!(!corrupt);
    }

    #[test]
    fn a_flipped_byte_never_panics_and_never_invents(at in 0_usize..1_000, flip in 1_u8..=255) {
        let mut bytes = bytes_of(&sample());
        let all = read_bytes(&bytes, 0);
        let at = at % bytes.len();
        bytes[at] ^= flip;
        let read = read_bytes(&bytes, 0);
        prop_assert_eq!(&all.records[..read.records.len()], &read.records[..]);
        prop_assert!(read.tail != Tail::Clean);
    }

    #[test]
    fn what_reads_behind_damage_is_found(
        damaged in 1_usize..6, at in 0_usize..500, flip in 1_u8..=255, more in 0_usize..40,
    ) {
        let mut records = sample();
        let end = records.pop().unwrap();
        records.push(Record::Output(Output {
            stream: Stream::Tty,
            after_us: 9,
            bytes: vec![b'x'; more],
        }));
        records.push(end);
        let good = bytes_of(&records);
        let whole = read_bytes(&good, 0).records;
        let (from, to) = (usize::try_from(whole[damaged].0).unwrap(), whole.get(damaged + 1).map_or(good.len(), |next| usize::try_from(next.0).unwrap()));
        let mut bytes = good.clone();
        bytes[from + at % (to - from)] ^= flip;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.spool");
        std::fs::write(&path, &bytes).unwrap();
        let found = salvage(&path, from as u64, "so", Stream::Stdout).unwrap();
        let (gaps, rest): (Vec<_>, Vec<_>) = found
            .records
            .into_iter()
            .partition(|(_, record)| matches!(record, Record::Gap(gap) if gap.reason.ends_with("so")));
        prop_assert_eq!(&rest[..], &whole[damaged + 1..]);
        if damaged + 1 < whole.len() {
            prop_assert_eq!(found.next_offset, good.len() as u64);
            prop_assert_eq!(gaps.len(), 1);
            let is_whole = matches!(&gaps[0].1, Record::Gap(gap) if gap.bytes == (to - from) as u64);
            prop_assert!(is_whole);
        } else {
            prop_assert_eq!((found.next_offset, gaps.len()), (from as u64, 0));
        }
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read_bytes(&bytes, 0);
        let mut behind = header();
        behind.extend_from_slice(&bytes);
        read_bytes(&behind, 0);
    }
}
