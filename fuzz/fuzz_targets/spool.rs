//! A spool is whatever a disk gives back: it reads without a panic, in one go or in parts alike, cut
//! anywhere it keeps what was whole, and a record written anew reads as it was.

#![no_main]

use std::os::fd::AsRawFd;
use std::path::PathBuf;

use casebook::capture::spool::{
    MAX_PAYLOAD_BYTES, Record, SpoolRead, Tail, encode, header, read_spool, read_spool_part, salvage,
};
use casebook::event::Stream;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((how, rest)) = data.split_first() else {
        return;
    };
    // As it came, behind a header, or as frames whose checksums are right.
    let bytes = match how % 4 {
        0 => rest.to_vec(),
        1 => [&header()[..], rest].concat(),
        _ => framed(rest),
    };
    let file = Held::of(&bytes);
    let whole = read_spool(&file.path, 0).unwrap();
    check(&whole, bytes.len());
    in_parts(&file, &whole, u64::from(*how));
    written_anew(&whole);
    behind(&file, &whole, bytes.len() as u64);
    let cut = bytes.len() * usize::from(*how) / 256;
    let part = read_spool(&Held::of(&bytes[..cut]).path, 0).unwrap();
    check(&part, cut);
    assert!(part.records.len() <= whole.records.len());
    for (one, other) in part.records.iter().zip(&whole.records) {
        assert_eq!(one, other);
    }
});

/// A file in memory.
struct Held {
    path: PathBuf,
    _file: std::fs::File,
}

impl Held {
    fn of(bytes: &[u8]) -> Self {
        let fd = rustix::fs::memfd_create("spool", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut file = std::fs::File::from(fd);
        std::io::Write::write_all(&mut file, bytes).unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        Self { path, _file: file }
    }
}

/// Payloads of up to 255 bytes, each behind a byte for its kind and one for its length.
fn framed(mut rest: &[u8]) -> Vec<u8> {
    let mut out = header();
    while let [kind, len, tail @ ..] = rest {
        let (payload, next) = tail.split_at(usize::from(*len).min(tail.len()));
        let kind = kind % 8;
        out.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
        out.push(kind);
        let mut sum = blake3::Hasher::new();
        sum.update(&[kind]).update(payload);
        out.extend_from_slice(&sum.finalize().as_bytes()[..4]);
        out.extend_from_slice(payload);
        rest = next;
    }
    // What is left over is a tail of no frame.
    out.extend_from_slice(rest);
    out
}

fn check(read: &SpoolRead, len: usize) {
    let mut before = 0;
    for (at, record) in &read.records {
        assert!(*at >= before && *at < len as u64, "{at} of {len}");
        before = *at + 1;
        if let Record::Output(output) = record {
            assert!(output.bytes.len() <= MAX_PAYLOAD_BYTES);
        }
    }
    assert!(read.next_offset <= len as u64 && !read.more);
    match read.tail {
        Tail::Clean => assert!(read.next_offset == len as u64 || len == 0),
        Tail::Cut { at } | Tail::Corrupt { at, .. } => assert!(at <= len as u64),
    }
}

/// What is found behind damage lies there, in order, and within the file.
fn behind(file: &Held, whole: &SpoolRead, len: u64) {
    let Tail::Corrupt { at, why } = whole.tail else {
        return;
    };
    let found = salvage(&file.path, at, why, Stream::Stdout).unwrap();
    let mut before = at;
    for (place, _) in &found.records {
        assert!(*place >= before);
        before = *place + 1;
    }
    assert!(found.next_offset >= at && found.next_offset <= len);
}

fn in_parts(file: &Held, whole: &SpoolRead, limit: u64) {
    let (mut from, mut records) = (0, Vec::new());
    loop {
        let part = read_spool_part(&file.path, from, limit + 1).unwrap();
        records.extend(part.records);
        if !part.more {
            assert_eq!((part.next_offset, part.tail), (whole.next_offset, whole.tail.clone()));
            break;
        }
        assert!(part.next_offset > from, "no step forward");
        from = part.next_offset;
    }
    assert_eq!(records, whole.records);
}

fn written_anew(whole: &SpoolRead) {
    let mut bytes = header();
    let mut kept = Vec::new();
    for (_, record) in &whole.records {
        if !matches!(record, Record::Unknown { .. }) {
            encode(record, &mut bytes);
            kept.push(record);
        }
    }
    let again = read_spool(&Held::of(&bytes).path, 0).unwrap();
    assert_eq!(again.tail, Tail::Clean);
    assert!(again.records.iter().map(|(_, record)| record).eq(kept));
}
