//! The spool: one command's record, as an append-only file.
//!
//! `REC_HOME/spool/<command id>.spool` begins with eight bytes of magic and a version, then holds
//! frames: payload length (u32), kind (u8), checksum (u32: the first four bytes of the BLAKE3 of kind
//! and payload), payload; all integers little-endian. The first frame is a [`Start`]. Output may
//! still follow the [`End`]: it came from processes that the command left behind.
//!
//! Reading never fails on content: a cut or corrupt tail ends the records and is reported; what reads behind
//! damage is found by [`salvage()`].

mod salvage;

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::capture::home::Home;
use crate::event::{Exit, Stream, Terminals};
use crate::id::{CommandId, SessionId};
use crate::time::Micros;

pub use salvage::{Salvaged, salvage};

/// What a spool begins with.
pub const MAGIC: &[u8; 8] = b"RECSPOOL";
/// The version this program writes.
pub const VERSION: u32 = 1;
/// Bytes before the first frame.
pub const HEADER_LEN: u64 = HEADER_BYTES as u64;
const HEADER_BYTES: usize = 12;
/// Largest payload that is written or believed.
pub const MAX_PAYLOAD_BYTES: usize = 16 << 20;

const FRAME_HEAD: usize = 9;
const KIND_START: u8 = 1;
const KIND_OUTPUT: u8 = 2;
const KIND_GAP: u8 = 3;
const KIND_RESIZE: u8 = 4;
const KIND_END: u8 = 5;
const KIND_STATE: u8 = 6;

/// The process that writes a spool, so that a reader can tell whether it still lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorder {
    /// Its process id.
    pub pid: u32,
    /// The boot it belongs to (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
    /// When it started, in clock ticks since boot.
    pub start_ticks: u64,
}

/// A terminal's size in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Rows.
    pub rows: u16,
    /// Columns.
    pub columns: u16,
}

/// A command began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Which command.
    pub command: CommandId,
    /// Its session.
    pub session: SessionId,
    /// The session came about by itself, not by `rec new`.
    pub automatic: bool,
    /// Its number in the session.
    pub number: u32,
    /// The command line, as it would be typed.
    pub line: String,
    /// The words themselves; what is not UTF-8 is replaced.
    pub argv: Vec<String>,
    /// Working directory.
    pub cwd: Option<String>,
    /// This machine's name.
    pub host: String,
    /// Who ran it.
    pub user: Option<String>,
    /// Which of descriptors 0, 1 and 2 were terminals.
    pub terminals: Terminals,
    /// When, by the wall clock.
    pub at: Micros,
    /// The recorded command within which this one ran.
    pub parent: Option<CommandId>,
    /// Version of the recorder.
    pub version: String,
    /// Its process.
    pub recorder: Recorder,
    /// The terminal's size, where there is one.
    pub size: Option<Size>,
}

/// Bytes that the command printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Where.
    pub stream: Stream,
    /// Microseconds since the start, by a clock that does not jump.
    pub after_us: i64,
    /// The bytes, masked.
    pub bytes: Vec<u8>,
}

/// Bytes that the command printed and that are not on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Where.
    pub stream: Stream,
    /// How many.
    pub bytes: u64,
    /// Why, in words.
    pub reason: String,
}

/// The terminal changed its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resize {
    /// Microseconds since the start.
    pub after_us: i64,
    /// The new size.
    pub size: Size,
}

/// The command was stopped, or goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// Microseconds since the start.
    pub after_us: i64,
    /// [`Exit::Stopped`] or [`Exit::Running`].
    pub state: Exit,
}

/// The command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// How.
    pub exit: Exit,
    /// How long it ran, in microseconds, by a clock that does not jump.
    pub duration_us: i64,
}

/// One record of a spool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// The command began.
    Start(Box<Start>),
    /// It printed something.
    Output(Output),
    /// It printed something that is not on record.
    Gap(Gap),
    /// The terminal changed its size.
    Resize(Resize),
    /// It was stopped or continued.
    State(StateChange),
    /// It ended.
    End(End),
    /// A record of a kind that this version does not know; whole, and to be passed over.
    Unknown {
        /// The kind's number.
        kind: u8,
    },
}

/// The header of a new spool.
pub fn header() -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// Appends a record's frame to `out`.
pub fn encode(record: &Record, out: &mut Vec<u8>) {
    match record {
        Record::Start(start) => encode_json(KIND_START, start, out),
        Record::Output(output) => encode_output(output.stream, output.after_us, &output.bytes, out),
        Record::Gap(gap) => encode_json(KIND_GAP, gap, out),
        Record::Resize(resize) => encode_json(KIND_RESIZE, resize, out),
        Record::State(state) => encode_json(KIND_STATE, state, out),
        Record::End(end) => encode_json(KIND_END, end, out),
        Record::Unknown { .. } => {}
    }
}

/// Appends the frame of an output record to `out`, without owning its bytes.
pub fn encode_output(stream: Stream, after_us: i64, bytes: &[u8], out: &mut Vec<u8>) {
    let number: u8 = match stream {
        Stream::Stdout => 1,
        Stream::Stderr => 2,
        Stream::Tty => 3,
    };
    let mut head = [number; 9];
    head[1..].copy_from_slice(&after_us.to_le_bytes());
    encode_frame(KIND_OUTPUT, &[&head, bytes], out);
}

fn encode_json(kind: u8, value: &impl Serialize, out: &mut Vec<u8>) {
    // These types hold only strings and numbers, which always serialise.
    let payload = serde_json::to_vec(value).unwrap_or_default();
    encode_frame(kind, &[&payload], out);
}

fn encode_frame(kind: u8, parts: &[&[u8]], out: &mut Vec<u8>) {
    let len = parts.iter().map(|part| part.len()).sum::<usize>();
    out.extend_from_slice(&u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes());
    out.push(kind);
    out.extend_from_slice(&checksum(kind, parts));
    for part in parts {
        out.extend_from_slice(part);
    }
}

fn checksum(kind: u8, parts: &[&[u8]]) -> [u8; 4] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[kind]);
    for part in parts {
        hasher.update(part);
    }
    let mut sum = [0; 4];
    sum.copy_from_slice(&hasher.finalize().as_bytes()[..4]);
    sum
}

fn decode_payload(kind: u8, payload: &[u8]) -> Option<Record> {
    fn json<T: for<'de> Deserialize<'de>>(payload: &[u8]) -> Option<T> {
        serde_json::from_slice(payload).ok()
    }
    Some(match kind {
        KIND_START => Record::Start(json(payload)?),
        KIND_OUTPUT => {
            let (head, bytes) = payload.split_first_chunk::<9>()?;
            let [number, after @ ..] = *head;
            let stream = match number {
                1 => Stream::Stdout,
                2 => Stream::Stderr,
                3 => Stream::Tty,
                _ => return None,
            };
            let after_us = i64::from_le_bytes(after);
            Record::Output(Output {
                stream,
                after_us,
                bytes: bytes.to_vec(),
            })
        }
        KIND_GAP => Record::Gap(json(payload)?),
        KIND_RESIZE => Record::Resize(json(payload)?),
        KIND_STATE => Record::State(json(payload)?),
        KIND_END => Record::End(json(payload)?),
        _ => Record::Unknown { kind },
    })
}

/// How the bytes of a spool end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tail {
    /// With a whole record.
    Clean,
    /// In the middle of a record: it is being written, or its writer died.
    Cut {
        /// Where the last whole record ends.
        at: u64,
    },
    /// With bytes that are no record; nothing after them was read.
    Corrupt {
        /// Where they begin.
        at: u64,
        /// What is wrong with them.
        why: &'static str,
    },
}

/// How far the command of a spool has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpoolState {
    /// Its end is on record.
    Complete,
    /// Its end is not on record, and its recorder lives.
    Running,
    /// Its end is not on record and never will be: the recorder is gone.
    Lost,
}

/// What was read from a spool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpoolRead {
    /// Records, each with the offset at which its frame begins.
    pub records: Vec<(u64, Record)>,
    /// Where to go on next time.
    pub next_offset: u64,
    /// There is more to read at once: the limit was reached.
    pub more: bool,
    /// How the bytes end.
    pub tail: Tail,
    /// How far the command has come.
    pub state: SpoolState,
}

/// Reads a spool from an offset that an earlier read gave (0 for the beginning) to its end.
///
/// # Errors
/// Only when the file cannot be opened or read; never because of what it holds.
pub fn read_spool(path: &Path, from_offset: u64) -> io::Result<SpoolRead> {
    read_spool_part(path, from_offset, u64::MAX)
}

/// As [`read_spool`], but stops after about `limit_bytes` of records.
///
/// # Errors
/// Only when the file cannot be opened or read; never because of what it holds.
pub fn read_spool_part(path: &Path, from_offset: u64, limit_bytes: u64) -> io::Result<SpoolRead> {
    let file = File::open(path)?;
    // Asked before reading: a recorder that leaves meanwhile has written its end by then.
    let held = is_held(&file);
    let mut frames = Frames::open(file)?;
    let mut start: Option<Box<Start>> = None;
    let mut ended = false;
    let mut records = Vec::new();
    let mut more = false;
    while frames.tail == Tail::Clean {
        let offset = frames.offset;
        if offset.saturating_sub(from_offset.max(HEADER_LEN)) >= limit_bytes {
            more = offset < frames.len;
            break;
        }
        let wanted = offset >= from_offset;
        let Some((kind, record)) = frames.next(wanted || start.is_none())? else {
            break;
        };
        ended |= kind == KIND_END;
        if let (None, Some(Record::Start(found))) = (&start, &record) {
            start = Some(found.clone());
        }
        if wanted && let Some(record) = record {
            records.push((offset, record));
        }
    }
    let state = if ended {
        SpoolState::Complete
    } else if held || start.is_some_and(|start| lives(&start.recorder)) {
        SpoolState::Running
    } else {
        SpoolState::Lost
    };
    Ok(SpoolRead {
        records,
        next_offset: frames.offset,
        more,
        tail: frames.tail,
        state,
    })
}

/// The record that a spool begins with; none where that does not read.
pub fn first_record(path: &Path) -> Option<Box<Start>> {
    match read_spool_part(path, 0, 1).ok()?.records.into_iter().next() {
        Some((_, Record::Start(start))) => Some(start),
        _ => None,
    }
}

/// Walks the frames of a file.
struct Frames {
    file: BufReader<File>,
    len: u64,
    offset: u64,
    tail: Tail,
}

impl Frames {
    fn open(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let mut file = BufReader::with_capacity(64 << 10, file);
        let mut head = [0; HEADER_BYTES];
        let got = read_up_to(&mut file, &mut head)?;
        let mut frames = Self {
            file,
            len,
            offset: 0,
            tail: Tail::Clean,
        };
        let expected = header();
        if head[..got] != expected[..got] {
            let why = if got > 8 && head.starts_with(MAGIC) {
                "written by a newer version"
            } else {
                "not a spool"
            };
            frames.tail = Tail::Corrupt { at: 0, why };
        } else if got < head.len() {
            frames.tail = Tail::Cut { at: 0 };
        } else {
            frames.offset = HEADER_LEN;
        }
        Ok(frames)
    }

    /// The next frame's kind and, where `decode` asks for it, its record.
    fn next(&mut self, decode: bool) -> io::Result<Option<(u8, Option<Record>)>> {
        let at = self.offset;
        let mut head = [0; FRAME_HEAD];
        let got = read_up_to(&mut self.file, &mut head)?;
        if got == 0 {
            return Ok(None);
        }
        if got < FRAME_HEAD {
            self.tail = Tail::Cut { at };
            return Ok(None);
        }
        let [a, b, c, d, kind, sum @ ..] = head;
        let len = u32::from_le_bytes([a, b, c, d]) as usize;
        if len > MAX_PAYLOAD_BYTES {
            self.tail = Tail::Corrupt {
                at,
                why: "impossible length",
            };
            return Ok(None);
        }
        let end = at + (FRAME_HEAD + len) as u64;
        if end > self.len {
            // The file may have grown since; what was not there at the start is read next time.
            self.tail = Tail::Cut { at };
            return Ok(None);
        }
        if !decode {
            self.file
                .seek_relative(i64::try_from(len).unwrap_or(i64::MAX))?;
            self.offset = end;
            return Ok(Some((kind, None)));
        }
        let mut payload = vec![0; len];
        if read_up_to(&mut self.file, &mut payload)? < len {
            self.tail = Tail::Cut { at };
            return Ok(None);
        }
        if checksum(kind, &[&payload]) != sum {
            self.tail = Tail::Corrupt {
                at,
                why: "checksum does not match",
            };
            return Ok(None);
        }
        let Some(record) = decode_payload(kind, &payload) else {
            self.tail = Tail::Corrupt {
                at,
                why: "unreadable payload",
            };
            return Ok(None);
        };
        self.offset = end;
        Ok(Some((kind, Some(record))))
    }
}

fn read_up_to(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match file.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

/// Cuts a torn record off the end of a spool whose writer died, so that more can be appended.
///
/// # Errors
/// When the file cannot be read or shortened.
pub fn repair_tail(path: &Path, file: &File) -> io::Result<()> {
    let read = read_spool_part(path, u64::MAX, u64::MAX)?;
    if read.tail != Tail::Clean && read.next_offset >= HEADER_LEN {
        file.set_len(read.next_offset)?;
    }
    let mut file = file;
    file.seek(SeekFrom::End(0))?;
    Ok(())
}

/// Marks an open spool as being written; the mark goes when its last holder does.
pub fn hold(file: &File) {
    // Some file systems have no locks: then the process id in the start record must do.
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).ok();
}

fn is_held(file: &File) -> bool {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {
            rustix::fs::flock(file, FlockOperation::Unlock).ok();
            false
        }
        Err(error) => error == rustix::io::Errno::WOULDBLOCK,
    }
}

/// Whether a recorder is still there.
pub fn lives(recorder: &Recorder) -> bool {
    boot_id() == recorder.boot && process_start_ticks(recorder.pid) == Some(recorder.start_ticks)
}

/// The running boot's identity; empty where the kernel does not say.
pub fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// When a process started, in clock ticks since boot; none where there is no such process.
pub fn process_start_ticks(pid: u32) -> Option<u64> {
    stat_field(pid, 19)
}

/// The device number of a process's controlling terminal; 0 for none.
pub fn process_terminal(pid: u32) -> Option<u64> {
    stat_field(pid, 4)
}

/// A field of `/proc/PID/stat`, counted from the state (0), after the program's name.
fn stat_field(pid: u32, field: usize) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let text = std::str::from_utf8(stat.get(after..)?).ok()?;
    text.split_ascii_whitespace().nth(field)?.parse().ok()
}

/// The spool of a command.
pub fn spool_path(home: &Home, command: CommandId) -> PathBuf {
    home.spool_dir().join(format!("{command}.spool"))
}

/// Every spool in the home, oldest id first; empty where there is none yet.
///
/// # Errors
/// When the folder is there and cannot be read.
pub fn list_spools(home: &Home) -> io::Result<Vec<(CommandId, PathBuf)>> {
    let entries = match std::fs::read_dir(home.spool_dir()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut spools = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let id = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| {
                name.strip_suffix(".spool")
                    .and_then(|stem| stem.parse::<CommandId>().ok())
            });
        if let Some(id) = id {
            spools.push((id, path));
        }
    }
    spools.sort();
    Ok(spools)
}

#[cfg(test)]
mod tests;
