//! What of an output is kept: the first and the last so-and-so many bytes, masked, as spool frames.
//!
//! A [`Keeper`] owns the spool file. It is used by the writer thread while a command runs, and
//! directly by processes that stay behind. Every byte passes `Masks` before it reaches the disk.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::capture::keys;
use crate::capture::spool::{self, End, Gap, Record, Start};
use crate::capture::sys;
use crate::event::Stream;
use crate::redact::{Known, Marker, Streamer};

/// Bytes of a command's output kept from its beginning, and from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cap {
    /// Everything is kept.
    None,
    /// This many from the beginning, and this many from the end.
    Each(u64),
}

/// Bytes kept at each end unless a setting says otherwise: more than anybody reads, and small enough to wait in
/// memory.
pub const DEFAULT_CAP_BYTES: u64 = 32 << 20;

impl Default for Cap {
    fn default() -> Self {
        Self::Each(DEFAULT_CAP_BYTES)
    }
}

/// What may be the beginning of a secret is held back this long while nothing comes.
pub const HOLD: std::time::Duration = std::time::Duration::from_millis(250);
/// The same as the kernel counts it.
pub const HOLD_TIME: rustix::event::Timespec = rustix::event::Timespec {
    tv_sec: 0,
    tv_nsec: 250_000_000,
};
const STREAMS: [Stream; 3] = [Stream::Stdout, Stream::Stderr, Stream::Tty];

/// A chunk that waits in memory is merged with the next one up to this size.
const CHUNK_BYTES: usize = 64 << 10;
/// Memory that a waiting chunk costs beside its bytes.
const CHUNK_COST: u64 = 96;
/// Frames gather up to this size before they are written in one go.
const WRITE_BYTES: usize = 256 << 10;

/// The masking of one command: everything that is kept passes here, per stream and in order.
struct Masks {
    marker: Marker,
    width: Option<u16>,
    known: Vec<Known>,
    streams: BTreeMap<Stream, Streamer>,
    /// The stream went on before we came: its next word may be the end of a secret.
    joined: bool,
}

impl Masks {
    /// For the spool at a path, which lies two folders below the home's.
    fn of(spool: &Path, joined: bool) -> Self {
        let home = spool.parent().and_then(Path::parent);
        Self {
            marker: keys::marker(home.unwrap_or(Path::new("."))),
            width: None,
            known: Vec::new(),
            streams: BTreeMap::new(),
            joined,
        }
    }

    /// Masks what is secret in the command line and its words.
    fn mask_line(&mut self, start: &mut Start) {
        let line = self.marker.line(&start.line);
        for word in &mut start.argv {
            *word = line.apply(word);
        }
        if let Some(cwd) = &mut start.cwd {
            *cwd = self.marker.text(cwd);
        }
        start.line = line.text().to_owned();
        self.known = line.known().to_vec();
        self.width = start.size.map(|size| size.columns);
    }

    fn stream(&mut self, stream: Stream) -> &mut Streamer {
        self.streams.entry(stream).or_insert_with(|| {
            let width = self.width.filter(|_| stream == Stream::Tty);
            let mut streamer = Streamer::new(self.marker.clone(), width);
            streamer.expect(&self.known);
            if self.joined {
                streamer.gap(&mut Vec::new());
            }
            streamer
        })
    }
}

struct Chunk {
    stream: Stream,
    after_us: i64,
    bytes: Vec<u8>,
}

/// What another process needs to go on with a spool.
pub struct Handover {
    /// The open spool.
    pub file: File,
    path: PathBuf,
    cap: Cap,
    known: Vec<Known>,
    width: Option<u16>,
}

/// Writes one command's spool.
pub struct Keeper {
    file: File,
    path: PathBuf,
    cap: Cap,
    head_left: u64,
    /// How much of the end was spooled at pauses already.
    tail_spooled: u64,
    waiting: VecDeque<Chunk>,
    waiting_cost: u64,
    dropped: BTreeMap<Stream, u64>,
    failed: BTreeMap<Stream, (u64, String)>,
    masks: Masks,
    out: Vec<u8>,
    /// Output bytes within `out`, which a failed write would lose.
    unwritten: BTreeMap<Stream, u64>,
    trouble: Option<String>,
    scratch: Vec<u8>,
    last_after_us: i64,
    written: Arc<AtomicU64>,
}

impl Keeper {
    /// Makes the spool with its header and first record on disk.
    ///
    /// # Errors
    /// When the file cannot be made or written.
    pub fn create(path: &Path, mut start: Start, cap: Cap) -> io::Result<Self> {
        // Under another name until the first record is there: a reader never sees less than that.
        let unborn = path.with_extension("new");
        let file = File::options()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&unborn)?;
        spool::hold(&file);
        let mut keeper = Self::over(file, path, cap, false);
        keeper.out = spool::header();
        keeper.masks.mask_line(&mut start);
        spool::encode(&Record::Start(Box::new(start)), &mut keeper.out);
        match keeper
            .write_out()
            .and_then(|()| std::fs::rename(&unborn, path))
        {
            Ok(()) => Ok(keeper),
            Err(error) => {
                std::fs::remove_file(&unborn).ok();
                Err(error)
            }
        }
    }

    fn over(file: File, path: &Path, cap: Cap, joined: bool) -> Self {
        Self {
            file,
            path: path.to_owned(),
            cap,
            head_left: match cap {
                Cap::None => u64::MAX,
                Cap::Each(bytes) => bytes,
            },
            tail_spooled: 0,
            waiting: VecDeque::new(),
            waiting_cost: 0,
            dropped: BTreeMap::new(),
            failed: BTreeMap::new(),
            masks: Masks::of(path, joined),
            out: Vec::new(),
            unwritten: BTreeMap::new(),
            trouble: None,
            scratch: Vec::new(),
            last_after_us: 0,
            written: Arc::default(),
        }
    }

    /// Goes on with the same spool in another process, after its writer died or left.
    ///
    /// # Errors
    /// When the file cannot be read, or a torn record not be cut off.
    pub fn take_over(shared: Handover) -> io::Result<Self> {
        spool::repair_tail(&shared.path, &shared.file)?;
        let mut keeper = Self::over(shared.file, &shared.path, shared.cap, true);
        keeper.masks.known = shared.known;
        keeper.masks.width = shared.width;
        Ok(keeper)
    }

    /// Another handle on the open spool, for a process that may have to go on with it.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn share(&self) -> io::Result<Handover> {
        Ok(Handover {
            file: self.file.try_clone()?,
            path: self.path.clone(),
            cap: self.cap,
            known: self.masks.known.clone(),
            width: self.masks.width,
        })
    }

    /// What went wrong with writing, if anything: the first trouble, in words.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// A count of bytes written, which grows while the disk takes them.
    pub fn progress(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written)
    }

    /// Whether output now only waits in memory, so that nobody need wait for it to be written.
    pub fn is_past_head(&self) -> bool {
        self.head_left == 0
    }

    /// Takes output; it is on disk after [`Self::flush`], unless it waits as part of the end.
    pub fn output(&mut self, stream: Stream, after_us: i64, bytes: &[u8]) {
        self.last_after_us = after_us;
        let head = usize::try_from(self.head_left)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let (head, rest) = bytes.split_at(head);
        if !head.is_empty() {
            self.head_left = self.head_left.saturating_sub(head.len() as u64);
            self.frame(stream, after_us, head);
        }
        if !rest.is_empty() {
            self.wait(stream, after_us, rest);
        }
    }

    /// Notes output that never came here.
    pub fn gap(&mut self, stream: Stream, bytes: u64, reason: &str) {
        let entry = self
            .failed
            .entry(stream)
            .or_insert_with(|| (0, reason.to_owned()));
        entry.0 += bytes;
    }

    /// Takes a record that is no output.
    pub fn record(&mut self, record: &Record) {
        self.write_gaps();
        spool::encode(record, &mut self.out);
    }

    fn frame(&mut self, stream: Stream, after_us: i64, bytes: &[u8]) {
        self.write_gaps();
        let mut scratch = std::mem::take(&mut self.scratch);
        self.masks.stream(stream).push(bytes, &mut scratch);
        self.put(stream, after_us, scratch);
        if self.out.len() >= WRITE_BYTES {
            self.flush();
        }
    }

    /// Frames masked bytes, whose buffer is used again.
    fn put(&mut self, stream: Stream, after_us: i64, mut masked: Vec<u8>) {
        if !masked.is_empty() {
            spool::encode_output(stream, after_us, &masked, &mut self.out);
            *self.unwritten.entry(stream).or_default() += masked.len() as u64;
        }
        masked.clear();
        self.scratch = masked;
    }

    /// Whether the end of what came is held back, because it may be the beginning of a secret.
    pub fn holds(&self) -> bool {
        self.masks.streams.values().any(Streamer::is_holding)
    }

    /// Puts what is held back on disk, masked where it may be secret: nothing came for a while.
    pub fn release(&mut self) {
        for stream in STREAMS {
            if self
                .masks
                .streams
                .get(&stream)
                .is_some_and(Streamer::is_holding)
            {
                let mut scratch = std::mem::take(&mut self.scratch);
                self.masks.stream(stream).release(&mut scratch);
                self.put(stream, self.last_after_us, scratch);
            }
        }
        self.flush();
    }

    /// Bytes of a stream are missing here.
    fn tear(&mut self, stream: Stream) {
        let mut scratch = std::mem::take(&mut self.scratch);
        self.masks.stream(stream).gap(&mut scratch);
        self.put(stream, self.last_after_us, scratch);
    }

    /// Writes down what is missing, now that something can be written again.
    fn write_gaps(&mut self) {
        for (stream, (bytes, reason)) in std::mem::take(&mut self.failed) {
            self.tear(stream);
            spool::encode(
                &Record::Gap(Gap {
                    stream,
                    bytes,
                    reason,
                }),
                &mut self.out,
            );
            // Should the write fail, these are missing still.
            *self.unwritten.entry(stream).or_default() += bytes;
        }
    }

    fn wait(&mut self, stream: Stream, after_us: i64, bytes: &[u8]) {
        let Cap::Each(limit) = self.cap else { return };
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.len().min(CHUNK_BYTES));
            rest = more;
            match self.waiting.back_mut() {
                Some(last)
                    if last.stream == stream
                        && last.bytes.len() + piece.len() <= CHUNK_BYTES
                        && after_us - last.after_us < 10_000 =>
                {
                    last.bytes.extend_from_slice(piece);
                }
                _ => {
                    let bytes = self.chunk_buffer(piece, limit);
                    self.waiting.push_back(Chunk {
                        stream,
                        after_us,
                        bytes,
                    });
                    self.waiting_cost += CHUNK_COST;
                }
            }
            self.waiting_cost += piece.len() as u64;
        }
        while self.waiting_cost > limit {
            if self.evict().is_none() {
                break;
            }
        }
    }

    /// A buffer for a chunk; past the limit, the memory of the oldest one.
    fn chunk_buffer(&mut self, piece: &[u8], limit: u64) -> Vec<u8> {
        let full = self.waiting_cost + piece.len() as u64 + CHUNK_COST > limit;
        let mut buffer = if full { self.evict() } else { None }.unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(piece);
        buffer
    }

    fn evict(&mut self) -> Option<Vec<u8>> {
        let oldest = self.waiting.pop_front()?;
        let len = oldest.bytes.len() as u64;
        self.waiting_cost -= len + CHUNK_COST;
        *self.dropped.entry(oldest.stream).or_default() += len;
        Some(oldest.bytes)
    }

    /// Spools the waiting end at a pause in the output, once: a command that prints without end and
    /// with pauses must not fill the disk.
    pub fn pause(&mut self) {
        let Cap::Each(limit) = self.cap else { return };
        if !self.waiting.is_empty() && self.tail_spooled + self.waiting_cost <= limit {
            self.tail_spooled += self.waiting_cost;
            self.spool_waiting();
        }
    }

    fn spool_waiting(&mut self) {
        for (stream, bytes) in std::mem::take(&mut self.dropped) {
            let reason = "more output than is kept".to_owned();
            self.write_gaps();
            self.tear(stream);
            spool::encode(
                &Record::Gap(Gap {
                    stream,
                    bytes,
                    reason,
                }),
                &mut self.out,
            );
        }
        while let Some(chunk) = self.waiting.pop_front() {
            self.frame(chunk.stream, chunk.after_us, &chunk.bytes);
        }
        self.waiting_cost = 0;
        self.flush();
    }

    /// Writes the end, with everything that still waits before it.
    pub fn end(&mut self, end: &End) {
        self.finish();
        self.record(&Record::End(*end));
        self.flush();
    }

    /// Writes everything that still waits.
    pub fn finish(&mut self) {
        self.spool_waiting();
        for stream in STREAMS {
            if let Some(streamer) = self.masks.streams.get_mut(&stream) {
                let mut scratch = std::mem::take(&mut self.scratch);
                streamer.finish(&mut scratch);
                self.put(stream, self.last_after_us, scratch);
            }
        }
        if !self.failed.is_empty() {
            self.write_gaps();
        }
        self.flush();
    }

    /// Puts everything framed so far on disk. Trouble is remembered as a gap, never returned.
    pub fn flush(&mut self) {
        if self.out.is_empty() {
            return;
        }
        if let Err(error) = self.write_out() {
            for (stream, bytes) in std::mem::take(&mut self.unwritten) {
                self.gap(
                    stream,
                    bytes,
                    &format!("could not be written: {}", sys::words(&error)),
                );
            }
            self.trouble.get_or_insert_with(|| sys::words(&error));
        }
        self.unwritten.clear();
        self.out.clear();
    }

    fn write_out(&mut self) -> io::Result<()> {
        let mut written = 0;
        while written < self.out.len() {
            match self.file.write(&self.out[written..]) {
                Ok(0) => return self.undo(written, io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    written += count;
                    self.written.fetch_add(count as u64, Ordering::Relaxed);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.undo(written, error),
            }
        }
        self.out.clear();
        Ok(())
    }

    /// Takes back a write that did not get through: half a frame would hide all that follows it.
    fn undo(&mut self, written: usize, error: io::Error) -> io::Result<()> {
        if written > 0 {
            let len = self.file.metadata()?.len();
            self.file.set_len(len.saturating_sub(written as u64))?;
        }
        Err(error)
    }

    /// A handle for putting the file's bytes on the medium, which may take long.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn sync_handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

#[cfg(test)]
mod tests;
