//! Masking a stream as it comes: what may be the beginning of a secret waits, all else goes on.

use memchr::memmem;

use super::extent::Extent;
use super::rules::Class;
use super::scan::{End, Found, scan};
use super::values::{self, Written};
use super::view::{Escape, View};
use super::{Known, Marker};

/// Most that is held back; a longer secret is masked up to here and then as it comes.
pub const HOLD_BYTES: usize = 64 << 10;
/// Text that was given on already and that is read again for what stands before a secret.
const CONTEXT_BYTES: usize = 1 << 10;
/// The width at which programs wrap when they know no other.
const USUAL_WIDTH: usize = 80;

/// Masks one stream.
#[derive(Debug, Default)]
pub struct Streamer {
    marker: Marker,
    /// Text given on already.
    context: Vec<u8>,
    /// The column at which the context begins.
    column: usize,
    /// Bytes held back.
    held: Vec<u8>,
    /// Where in an escape sequence the held bytes begin.
    escape: Escape,
    /// What would end the secret that the held bytes may be.
    waiting: Option<Extent>,
    /// A secret of which the beginning is masked and the rest is still coming.
    running: Option<Extent>,
    after_gap: bool,
    width: usize,
    known: Vec<Known>,
    view: View,
    found: Vec<Found>,
    seams: Vec<usize>,
}

/// A piece of the raw bytes to be replaced.
struct Piece {
    from: usize,
    to: usize,
    mark: String,
    /// What of it stays: escape sequences and line breaks.
    keeps: Vec<(usize, usize)>,
}

impl Streamer {
    /// A masker for one stream; `width` is that of the terminal, where there is one.
    pub fn new(marker: Marker, width: Option<u16>) -> Self {
        Self {
            marker,
            width: width.map_or(USUAL_WIDTH, usize::from),
            ..Self::default()
        }
    }

    /// Secrets to be masked wherever they show up, because the command line held them.
    pub fn expect(&mut self, known: &[Known]) {
        let secret = |known: &&Known| known.secret().len() >= 6;
        self.known = known.iter().filter(secret).cloned().collect();
    }

    /// Takes bytes and gives on, masked, all that cannot be the beginning of a secret.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        if self.goes_on(bytes) {
            self.held.extend_from_slice(bytes);
        } else {
            self.held.extend_from_slice(bytes);
            self.settle(End::More, out);
        }
        if self.held.len() > HOLD_BYTES {
            self.settle(End::Cut, out);
        }
    }

    /// Whether bytes are held back.
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Gives on what is held, because nothing came for a while: a secret that has begun is masked,
    /// and what follows of it will be.
    pub fn release(&mut self, out: &mut Vec<u8>) {
        if !self.held.is_empty() {
            self.settle(End::Cut, out);
        }
    }

    /// Gives on what is held, because nothing more comes.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if !self.held.is_empty() {
            self.settle(End::Last, out);
        }
        self.running = None;
    }

    /// Bytes of the stream are missing here: what is held is given on, and what comes may begin in
    /// the middle of a secret.
    pub fn gap(&mut self, out: &mut Vec<u8>) {
        self.release(out);
        self.context.clear();
        self.column = 0;
        self.after_gap = true;
    }

    /// Whether the held secret cannot end within these bytes, so that they need no reading.
    fn goes_on(&self, bytes: &[u8]) -> bool {
        let Some(extent) = self.waiting.filter(|_| !self.held.is_empty()) else {
            return false;
        };
        let simple = matches!(
            extent,
            Extent::Run(_) | Extent::Word | Extent::Field | Extent::Line | Extent::Quoted(_)
        );
        simple
            && !bytes
                .iter()
                .any(|byte| matches!(byte, 0x1b | b'\\' | 0x7f | 0x00..=0x08 | b'\r' | b'\n'))
            && self.held.last() != Some(&b'\\')
            && extent.end(bytes, 0) == bytes.len()
    }

    fn settle(&mut self, end: End, out: &mut Vec<u8>) {
        let mut raw = std::mem::take(&mut self.held);
        let skipped = if let Some(extent) = self.running {
            match self.swallow(extent, &raw, out) {
                Some(skipped) => skipped,
                None => return,
            }
        } else {
            0
        };
        let mut view = std::mem::take(&mut self.view);
        let bytes = raw.get(skipped..).unwrap_or_default();
        view.read(&self.context, bytes, self.escape);
        let before = self.context.len();
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        self.seams.clear();
        scan(&view.text, end, Written::Printed, &mut found);
        self.find_known(&view.text, end, &mut found);
        self.find_wrapped(&view.text, end, &mut found);
        self.find_torn(&view.text, end, &mut found);

        // What waits: from the first secret on that is not whole.
        let mut hold = view.text.len();
        if end == End::More {
            for open in found.iter().filter(|found| found.open) {
                hold = hold.min(open.from.max(before));
            }
        }
        let mut raw_hold = view.raw(hold).unwrap_or(0);
        if let (End::More, Some((at, _))) = (end, view.cut)
            && at < raw_hold
        {
            raw_hold = at;
        }
        let waits = found
            .iter()
            .find(|found| found.open && found.from <= hold && found.from >= before);
        self.waiting = waits
            .map(|found| found.extent)
            .filter(|_| self.seams.is_empty());

        let mut masked: Vec<Found> = found
            .iter()
            .filter(|found| {
                (end != End::More || !found.open) && found.to > before && found.from < found.to
            })
            .copied()
            .collect();
        masked.sort_by_key(|found| (found.from, std::cmp::Reverse(found.to)));
        let mut pieces: Vec<Piece> = Vec::new();
        let mut spans: Vec<Found> = Vec::new();
        for found in masked {
            match spans.last_mut() {
                Some(last) if found.from < last.to => {
                    last.to = last.to.max(found.to);
                    last.open |= found.open;
                }
                _ => spans.push(found),
            }
        }
        // One that reaches into what waits waits as well.
        while let Some(last) = spans.last()
            && end == End::More
            && last.to > hold
        {
            hold = hold.min(last.from.max(before));
            raw_hold = raw_hold.min(view.raw(hold).unwrap_or(0));
            spans.pop();
        }
        for span in &spans {
            pieces.extend(self.piece(&view, span, before));
        }
        self.find_strings(&view, bytes, end, &mut pieces);
        pieces.retain(|piece| piece.to <= raw_hold);
        pieces.sort_by_key(|piece| piece.from);

        emit(bytes, raw_hold, &pieces, out);
        if end == End::Cut {
            self.running = spans
                .last()
                .filter(|last| last.open && last.to == view.text.len())
                .map(|last| last.extent);
        }
        self.escape = match (end, view.cut) {
            (End::Cut, Some((_, state))) => state,
            _ => Escape::None,
        };
        self.remember(&view.text, hold);
        raw.drain(..skipped + raw_hold);
        self.held = raw;
        self.view = view;
        self.found = found;
    }

    /// Takes what belongs to a secret that was cut out of the raw bytes; how many are done with, or
    /// none when all were.
    fn swallow(&mut self, extent: Extent, raw: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let mut view = std::mem::take(&mut self.view);
        view.read(&[], raw, self.escape);
        let end = extent.end(&view.text, 0);
        let whole = end >= view.text.len();
        let stop = if whole {
            raw.len()
        } else {
            view.raw(end).unwrap_or(raw.len())
        };
        let span = Found {
            from: 0,
            to: end,
            rule: "",
            open: whole,
            extent,
        };
        let mut at = 0;
        if end > 0
            && let Some(piece) = self.piece(&view, &span, 0)
        {
            out.extend_from_slice(raw.get(..piece.from).unwrap_or_default());
            for (from, to) in piece.keeps {
                out.extend_from_slice(raw.get(from..to).unwrap_or_default());
            }
            at = piece.to;
        }
        out.extend_from_slice(raw.get(at..stop).unwrap_or_default());
        if whole {
            self.escape = view.cut.map_or(Escape::None, |(_, state)| state);
        } else {
            self.running = None;
            self.escape = Escape::None;
            // Something stood here: what follows begins no line and no word.
            self.context.clear();
            self.context.push(b'.');
        }
        self.view = view;
        (!whole).then_some(stop)
    }

    /// The piece of the raw bytes that a secret of the text is.
    fn piece(&self, view: &View, span: &Found, before: usize) -> Option<Piece> {
        let from = span.from.max(before);
        let first = view.raw(from)?;
        let mut keeps: Vec<(usize, usize)> = Vec::new();
        let mut value = Vec::with_capacity(span.to - span.from);
        let mut next = first;
        for at in from..span.to {
            let place = view.raw(at)?;
            if place > next {
                keeps.push((next, place));
            }
            next = place + 1;
            if self.seams.binary_search(&at).is_ok() {
                match keeps.last_mut() {
                    Some((_, to)) if *to == place => *to = next,
                    _ => keeps.push((place, next)),
                }
            }
        }
        for at in span.from..span.to {
            if self.seams.binary_search(&at).is_err() {
                value.extend(view.text.get(at));
            }
        }
        Some(Piece {
            from: first,
            to: next,
            mark: self.marker.mark(span.rule, &value),
            keeps,
        })
    }

    /// Secrets in titles and links.
    fn find_strings(&self, view: &View, raw: &[u8], end: End, pieces: &mut Vec<Piece>) {
        for (from, to) in &view.strings {
            if end == End::More && view.cut.is_some() && *to == raw.len() {
                continue;
            }
            let text = raw.get(*from..*to).unwrap_or_default();
            let mut found = Vec::new();
            scan(text, End::Last, Written::Printed, &mut found);
            self.find_known(text, End::Last, &mut found);
            found.sort_by_key(|found| (found.from, std::cmp::Reverse(found.to)));
            let mut done = 0;
            for secret in found {
                if secret.to <= done {
                    continue;
                }
                let begin = secret.from.max(done);
                done = secret.to;
                let (begin, stop) = (from + begin, from + secret.to);
                // Within a masked secret nothing of the sequence stays.
                let outer = pieces
                    .iter_mut()
                    .find(|piece| piece.from <= begin && stop <= piece.to);
                if let Some(outer) = outer {
                    outer
                        .keeps
                        .retain(|(keep, to)| *to <= begin || stop <= *keep);
                    continue;
                }
                pieces.push(Piece {
                    from: begin,
                    to: stop,
                    mark: self.marker.mark(
                        secret.rule,
                        text.get(secret.from..secret.to).unwrap_or_default(),
                    ),
                    keeps: Vec::new(),
                });
            }
        }
    }

    /// Secrets of the command line.
    fn find_known(&self, text: &[u8], end: End, found: &mut Vec<Found>) {
        for known in &self.known {
            let secret = known.secret().as_bytes();
            let extent = Extent::Until(0);
            for from in memmem::find_iter(text, secret) {
                found.push(Found {
                    from,
                    to: from + secret.len(),
                    rule: known.rule,
                    open: false,
                    extent,
                });
            }
            if end == End::More {
                let most = secret.len().saturating_sub(1).min(text.len());
                let part = (1..=most)
                    .rev()
                    .find(|count| text.ends_with(secret.get(..*count).unwrap_or_default()));
                if let Some(count) = part {
                    let from = text.len() - count;
                    // What ends the waiting is not known by its bytes.
                    found.push(Found {
                        from,
                        to: text.len(),
                        rule: known.rule,
                        open: true,
                        extent,
                    });
                }
            }
        }
    }

    /// After a gap, the first word may be the end of a secret.
    fn find_torn(&mut self, text: &[u8], end: End, found: &mut Vec<Found>) {
        if !self.after_gap || text.is_empty() {
            return;
        }
        let extent = Extent::Run(Class::Base64);
        let to = extent.end(text, 0);
        let open = to == text.len() && end == End::More;
        if open || to >= 16 && values::is_random(text.get(..to).unwrap_or_default()) {
            found.push(Found {
                from: 0,
                to,
                rule: "torn",
                open,
                extent,
            });
        }
        self.after_gap = open;
    }

    /// Secrets that a line's end cuts where a terminal or a program wrapped it.
    fn find_wrapped(&mut self, text: &[u8], end: End, found: &mut Vec<Found>) {
        let mut chain = Chain::default();
        let mut line = 0;
        let mut column = self.column;
        for stop in memchr::memchr2_iter(b'\n', b'\r', text) {
            if stop < line {
                continue;
            }
            let seam = self.seam(text, line, stop, column, end);
            column = 0;
            let Some(next) = seam else {
                chain.close(text, stop, End::Last, found, &mut self.seams);
                // `\r\n` is one line's end.
                line = stop + 1;
                continue;
            };
            chain.add(line, stop, next);
            line = next;
        }
        // A line editor's blank at the margin, its return still to come.
        if let (End::More, Some([last, b' '])) =
            (end, text.get(line..).and_then(<[u8]>::last_chunk::<2>))
            && is_token(*last)
            && self.is_full(text.get(line..text.len() - 1).unwrap_or_default(), column)
        {
            chain.add(line, text.len(), text.len());
        }
        chain.close(text, text.len(), end, found, &mut self.seams);
    }

    /// Whether a line's end is where it was wrapped: where the next row begins then.
    fn seam(
        &self,
        text: &[u8],
        line: usize,
        stop: usize,
        column: usize,
        end: End,
    ) -> Option<usize> {
        let byte = |at: usize| text.get(at).copied();
        let crlf = byte(stop) == Some(b'\r') && byte(stop + 1) == Some(b'\n');
        let next = stop + 1 + usize::from(crlf);
        let cut = next >= text.len() || (byte(stop) == Some(b'\r') && stop + 1 == text.len());
        let goes_on = match byte(next) {
            Some(byte) => is_token(byte),
            None => cut && end == End::More,
        };
        let last = stop
            .checked_sub(1)
            .filter(|last| *last >= line)
            .and_then(byte);
        // A shell's line editor writes a blank and a return where it wraps.
        let editor = byte(stop) == Some(b'\r') && !crlf && last == Some(b' ');
        let last = if editor {
            stop.checked_sub(2).and_then(byte)
        } else {
            last
        };
        if !goes_on || !last.is_some_and(is_token) {
            return None;
        }
        let row = text
            .get(line..stop - usize::from(editor))
            .unwrap_or_default();
        self.is_full(row, column).then_some(next)
    }

    /// Whether a row fills the width at which this stream may be wrapped.
    fn is_full(&self, row: &[u8], column: usize) -> bool {
        let widest = self.width.max(USUAL_WIDTH);
        if row.len() + column < self.width.min(USUAL_WIDTH) || row.len() > widest * 4 {
            return false;
        }
        let width = column + row.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        width == self.width || width == USUAL_WIDTH
    }

    /// Keeps the end of what was given on.
    fn remember(&mut self, text: &[u8], to: usize) {
        let given = text.get(..to).unwrap_or_default();
        let mut from = given.len().saturating_sub(CONTEXT_BYTES);
        if from > 0
            && let Some(line) = given
                .get(from..)
                .and_then(|kept| memchr::memchr(b'\n', kept))
        {
            from += line + 1;
        }
        let dropped = given.get(..from).unwrap_or_default();
        // Past any width it does not matter how far: only the end is looked at.
        let end = dropped
            .get(dropped.len().saturating_sub(4096)..)
            .unwrap_or_default();
        let row = memchr::memrchr2(b'\n', b'\r', end);
        let begun = end.get(row.map_or(0, |row| row + 1)..).unwrap_or_default();
        let seen = begun.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        self.column = seen
            + if row.is_some() {
                0
            } else {
                self.column.min(1 << 20)
            };
        let kept = given.get(from..).unwrap_or_default();
        self.context.clear();
        self.context.extend_from_slice(kept);
    }
}

/// A byte that may stand on either side of where a line was wrapped within a word.
fn is_token(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f
}

/// Rows that are one line, wrapped.
#[derive(Default)]
struct Chain {
    rows: Vec<(usize, usize)>,
    next: usize,
}

impl Chain {
    fn add(&mut self, from: usize, to: usize, next: usize) {
        self.rows.push((from, to));
        self.next = next;
    }

    /// Reads the rows as one line that ends at `stop`.
    fn close(
        &mut self,
        text: &[u8],
        stop: usize,
        end: End,
        found: &mut Vec<Found>,
        seams: &mut Vec<usize>,
    ) {
        if self.rows.is_empty() {
            return;
        }
        let mut rows = std::mem::take(&mut self.rows);
        let last = self.next.min(stop);
        rows.push((last, stop));
        let mut line: Vec<u8> = Vec::new();
        let mut starts: Vec<(usize, usize)> = Vec::new();
        for (from, to) in &rows {
            // The blank that a line editor leaves at the margin is no part of the line.
            let mut row = text.get(*from..*to).unwrap_or_default();
            let waits = *to == text.len() && rows.len() > 1;
            if (text.get(*to) == Some(&b'\r') || waits) && row.ends_with(b" ") {
                row = row.get(..row.len() - 1).unwrap_or_default();
            }
            starts.push((line.len(), *from));
            line.extend_from_slice(row);
        }
        let settled = stop < text.len();
        if settled {
            line.push(b'\n');
        }
        let mut within = Vec::new();
        scan(
            &line,
            if settled { End::Last } else { end },
            Written::Printed,
            &mut within,
        );
        let place = |at: usize| {
            let row = starts
                .partition_point(|(begin, _)| *begin <= at)
                .saturating_sub(1);
            starts
                .get(row)
                .map_or(at, |(begin, from)| from + (at - begin))
        };
        let mut crosses = false;
        for secret in within {
            let from = place(secret.from);
            let to = if secret.to >= line.len() {
                text.len().min(stop.max(last))
            } else if secret.to > secret.from {
                place(secret.to - 1) + 1
            } else {
                from
            };
            let over = rows
                .iter()
                .take(rows.len() - 1)
                .any(|(_, end)| from < *end && to > *end);
            let reaches = secret.open && from < text.len();
            if over || reaches {
                crosses |= over;
                found.push(Found { from, to, ..secret });
            }
        }
        if crosses {
            let mut ends = rows.windows(2);
            while let Some([(from, to), (next, _)]) = ends.next() {
                let blank =
                    text.get(*to) == Some(&b'\r') && to > from && text.get(to - 1) == Some(&b' ');
                seams.extend(to - usize::from(blank)..*next);
            }
            seams.sort_unstable();
        } else if end == End::More && !settled && found.iter().any(|found| found.open) {
            // Rows that may go on: the waiting must not be cut short.
            seams.push(usize::MAX);
        }
    }
}

/// Writes raw bytes up to a place, pieces replaced.
fn emit(raw: &[u8], to: usize, pieces: &[Piece], out: &mut Vec<u8>) {
    let mut at = 0;
    for piece in pieces {
        if piece.from < at {
            continue;
        }
        out.extend_from_slice(raw.get(at..piece.from).unwrap_or_default());
        out.extend_from_slice(piece.mark.as_bytes());
        for (from, to) in &piece.keeps {
            out.extend_from_slice(raw.get(*from..*to).unwrap_or_default());
        }
        at = piece.to;
    }
    out.extend_from_slice(raw.get(at..to).unwrap_or_default());
}
