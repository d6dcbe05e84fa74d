//! Records of a spool to events.

use std::collections::{HashMap, VecDeque};

use crate::capture::spool::{Gap, Output, Record, Start};
use crate::event::{ChunkMark, ContentKind, ContentRef, Event, Exit, NewContent, NewEvent, Stream};
use crate::id::{CommandId, SessionId};
use crate::time::Micros;

/// Output of one event at most: large enough to compress well, small enough to load for a quote.
const PIECE_BYTES: usize = 1 << 20;
/// The same where parts are looked for that were kept before.
const SHARED_BYTES: usize = 8 << 20;
/// Parts that came this close together share one mark: a screen shows no finer steps.
const SAME_MOMENT_US: i64 = 20_000;

/// A command as far as its spool has been read.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) command: CommandId,
    pub(super) session: SessionId,
    pub(super) at: Micros,
    /// Where the next byte of each stream belongs.
    pub(super) ends: HashMap<Stream, u64>,
    /// The stream that what is missing is counted to, when nothing says which.
    pub(super) main_stream: Stream,
    pub(super) ended: bool,
    /// The newest moment seen, in microseconds since the start.
    pub(super) newest_us: i64,
}

impl Known {
    pub(super) fn from_start(start: &Start) -> Self {
        Self {
            command: start.command,
            session: start.session,
            at: start.at,
            ends: HashMap::new(),
            main_stream: main_stream(start.terminals.stdout),
            ended: false,
            newest_us: 0,
        }
    }
}

pub(super) fn main_stream(stdout_is_terminal: bool) -> Stream {
    if stdout_is_terminal {
        Stream::Tty
    } else {
        Stream::Stdout
    }
}

/// Output of one stream that waits to become an event.
#[derive(Default)]
struct Pending {
    bytes: Vec<u8>,
    marks: Vec<ChunkMark>,
}

impl Pending {
    /// Cuts it in two after so many bytes, where `begin` is its place in the stream; gives the second.
    fn split_off(&mut self, begin: u64, at: usize) -> Self {
        let at = at.min(self.bytes.len());
        let place = begin + at as u64;
        let bytes = self.bytes.split_off(at);
        let cut = self.marks.partition_point(|mark| mark.offset_bytes < place);
        let mut marks = self.marks.split_off(cut);
        let begins = marks.first().is_some_and(|mark| mark.offset_bytes == place);
        if let (false, false, Some(last)) = (begins, bytes.is_empty(), self.marks.last()) {
            marks.insert(
                0,
                ChunkMark {
                    offset_bytes: place,
                    after_us: last.after_us,
                },
            );
        }
        Self { bytes, marks }
    }
}

/// Output of a recorder that ran within this command, which is kept once.
#[derive(Debug, Clone)]
pub(super) struct Inner {
    pub(super) stream: Stream,
    pub(super) content: ContentRef,
    pub(super) bytes: Vec<u8>,
}

/// Turns records into events, keeping count of where each stream is.
pub(super) struct Converter {
    pub(super) known: Known,
    pending: Vec<(Stream, Pending)>,
    pub(super) events: Vec<NewEvent>,
    /// What recorders within it have kept already, in its order.
    inner: VecDeque<Inner>,
    /// What it printed, for the recorder around it; none where there is no such one.
    pub(super) kept: Option<Vec<Inner>>,
}

impl Converter {
    pub(super) fn new(known: Known) -> Self {
        Self {
            known,
            pending: Vec::new(),
            events: Vec::new(),
            inner: VecDeque::new(),
            kept: None,
        }
    }

    /// Has what recorders within it kept kept once.
    pub(super) fn share(&mut self, inner: Vec<Inner>) {
        self.inner = inner.into();
    }

    pub(super) fn start(&mut self, start: &Start) {
        let line = NewContent::new(ContentKind::Line, start.line.as_str());
        self.events.push(NewEvent {
            at: start.at,
            event: Event::CommandStarted {
                command: start.command,
                number: start.number,
                line: line.reference(),
                cwd: start.cwd.clone(),
                host: start.host.clone(),
                user: start.user.clone(),
                terminals: Some(start.terminals),
                parent: start.parent,
                recorder: start.version.clone(),
            },
            contents: vec![line],
        });
        if let Some(size) = start.size {
            self.resized(size.rows, size.columns, 0);
        }
    }

    pub(super) fn take(&mut self, record: &Record) {
        match record {
            Record::Start(_) | Record::Unknown { .. } => {}
            Record::Output(output) => self.output(output),
            Record::Gap(gap) => self.gap(gap),
            Record::Resize(resize) => {
                self.newest(resize.after_us);
                self.resized(resize.size.rows, resize.size.columns, resize.after_us);
            }
            Record::State(change) => {
                self.newest(change.after_us);
                self.flush();
                let at = self.at(change.after_us);
                self.events.push(NewEvent::bare(
                    at,
                    Event::CommandStateChanged {
                        command: self.known.command,
                        state: change.state,
                        after_us: change.after_us,
                    },
                ));
            }
            Record::End(end) => {
                self.newest(end.duration_us);
                self.end(end.exit, Some(end.duration_us));
            }
        }
    }

    /// Output that was not kept, or could not be read back.
    pub(super) fn gap(&mut self, gap: &Gap) {
        self.flush();
        let offset_bytes = self.end_of(gap.stream);
        let at = self.at(self.known.newest_us);
        self.events.push(NewEvent::bare(
            at,
            Event::GapRecorded {
                command: self.known.command,
                stream: gap.stream,
                offset_bytes,
                bytes: gap.bytes,
                reason: gap.reason.clone(),
            },
        ));
    }

    pub(super) fn end(&mut self, exit: Exit, duration_us: Option<i64>) {
        self.flush();
        if self.known.ended {
            return;
        }
        self.known.ended = true;
        let at = self.at(duration_us.unwrap_or(self.known.newest_us));
        self.events.push(NewEvent::bare(
            at,
            Event::CommandEnded {
                command: self.known.command,
                exit,
                duration_us,
            },
        ));
    }

    fn resized(&mut self, rows: u16, columns: u16, after_us: i64) {
        let at = self.at(after_us);
        self.events.push(NewEvent::bare(
            at,
            Event::TerminalResized {
                command: self.known.command,
                rows,
                columns,
                after_us,
            },
        ));
    }

    fn at(&self, after_us: i64) -> Micros {
        self.known.at.plus_us(after_us)
    }

    fn newest(&mut self, after_us: i64) {
        self.known.newest_us = self.known.newest_us.max(after_us);
    }

    fn end_of(&self, stream: Stream) -> u64 {
        self.known.ends.get(&stream).copied().unwrap_or(0)
    }

    fn output(&mut self, output: &Output) {
        if output.bytes.is_empty() {
            return;
        }
        self.newest(output.after_us);
        let begin = self.end_of(output.stream);
        let place = match self
            .pending
            .iter()
            .position(|(stream, _)| *stream == output.stream)
        {
            Some(place) => place,
            None => {
                self.pending.push((output.stream, Pending::default()));
                self.pending.len() - 1
            }
        };
        let Some((_, pending)) = self.pending.get_mut(place) else {
            return;
        };
        let newer = pending
            .marks
            .last()
            .is_none_or(|mark| output.after_us - mark.after_us >= SAME_MOMENT_US);
        if newer {
            pending.marks.push(ChunkMark {
                offset_bytes: begin + pending.bytes.len() as u64,
                after_us: output.after_us,
            });
        }
        pending.bytes.extend_from_slice(&output.bytes);
        let piece = if self.inner.is_empty() {
            PIECE_BYTES
        } else {
            SHARED_BYTES
        };
        if pending.bytes.len() >= piece {
            let (stream, pending) = self.pending.remove(place);
            self.keep(stream, pending);
        }
    }

    /// Makes events of all output that waits.
    pub(super) fn flush(&mut self) {
        for (stream, pending) in std::mem::take(&mut self.pending) {
            self.keep(stream, pending);
        }
    }

    fn keep(&mut self, stream: Stream, pending: Pending) {
        let mut rest = pending;
        // Parts that a recorder within has kept, as far as they are found in their order.
        while let Some(at) = self.inner.iter().position(|inner| inner.stream == stream) {
            let found = self
                .inner
                .get(at)
                .and_then(|inner| memchr::memmem::find(&rest.bytes, &inner.bytes));
            let Some(found) = found else {
                // It may have gone elsewhere, or be cut otherwise here: then it is kept twice.
                self.inner.remove(at);
                continue;
            };
            let Some(inner) = self.inner.remove(at) else {
                break;
            };
            let begin = self.end_of(stream);
            let shared = rest.split_off(begin, found);
            self.keep_pieces(stream, rest);
            let begin = self.end_of(stream);
            let mut shared = shared;
            rest = shared.split_off(begin, inner.bytes.len());
            self.keep_piece(stream, shared, Some(inner.content));
        }
        self.keep_pieces(stream, rest);
    }

    fn keep_pieces(&mut self, stream: Stream, mut rest: Pending) {
        while !rest.bytes.is_empty() {
            let begin = self.end_of(stream);
            let more = rest.split_off(begin, PIECE_BYTES);
            self.keep_piece(stream, rest, None);
            rest = more;
        }
    }

    fn keep_piece(&mut self, stream: Stream, pending: Pending, shared: Option<ContentRef>) {
        let offset_bytes = self.end_of(stream);
        let newest = pending.marks.last().map_or(0, |mark| mark.after_us);
        self.known
            .ends
            .insert(stream, offset_bytes + pending.bytes.len() as u64);
        let at = self.at(newest);
        let bytes = pending.bytes;
        let (content, contents) = match shared {
            Some(content) => {
                self.pass_on(stream, &content, &bytes);
                (content, Vec::new())
            }
            None => {
                let copy = self.kept.is_some().then(|| bytes.clone());
                let content = NewContent::new(ContentKind::Output, bytes);
                let reference = content.reference();
                self.pass_on(stream, &reference, &copy.unwrap_or_default());
                (reference, vec![content])
            }
        };
        self.events.push(NewEvent {
            at,
            event: Event::OutputRecorded {
                command: self.known.command,
                stream,
                offset_bytes,
                content,
                chunks: pending.marks,
            },
            contents,
        });
    }

    /// Notes what was kept for the recorder around this one.
    fn pass_on(&mut self, stream: Stream, content: &ContentRef, bytes: &[u8]) {
        if let Some(kept) = &mut self.kept {
            kept.push(Inner {
                stream,
                content: content.clone(),
                bytes: bytes.to_vec(),
            });
        }
    }
}
