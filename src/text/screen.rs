//! What full-screen programs drew: the last screen they showed.
//!
//! [`parts`] splits a stream into what the line renderer can read and what needs a terminal: the
//! alternate screen (`less`, `vim`, `htop`, `watch`), and what places the cursor by row and column
//! (`top`). [`render`] runs such a part through vt100 and gives the rows of its last screen; a row
//! cannot be traced to bytes, so each has the whole part as its span.

use std::num::NonZeroU16;
use std::ops::Range;

use memchr::memchr;

use super::{TextLine, offset};

/// A screen's size where the output does not tell: wide enough for what people use.
const ROWS: u16 = 50;
const COLUMNS: u16 = 220;
/// Of a longer part only its end is drawn (at about 13 MB/s).
const MAX_PART: usize = 8 * 1024 * 1024;
/// Lines that scrolled off such a screen and are kept.
const MAX_SCROLLED: usize = 5000;

/// A part of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// First byte.
    pub(super) from: usize,
    /// One past its last byte.
    pub(super) to: usize,
    /// It needs a terminal.
    pub(super) screen: bool,
}

/// Splits a stream where a full-screen program begins and ends.
pub(super) fn parts(bytes: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut from = 0;
    let mut alternate: Option<usize> = None;
    let mut places = Places::default();
    for sequence in Sequences::new(bytes) {
        match sequence.what {
            What::EnterAlternate if alternate.is_none() => alternate = Some(sequence.range.start),
            What::LeaveAlternate => {
                if let Some(start) = alternate.take() {
                    push(&mut parts, from..start, &places);
                    parts.push(Part {
                        from: start,
                        to: sequence.range.end,
                        screen: true,
                    });
                    from = sequence.range.end;
                    places = Places::default();
                }
            }
            What::Home if alternate.is_none() => places.home(&sequence.range, bytes),
            What::Place if alternate.is_none() => places.place(&sequence.range),
            _ => {}
        }
    }
    match alternate {
        Some(start) => {
            push(&mut parts, from..start, &places);
            parts.push(Part {
                from: start,
                to: bytes.len(),
                screen: true,
            });
        }
        None => push(&mut parts, from..bytes.len(), &places),
    }
    parts
}

/// Adds a part outside the alternate screen, split where it begins to place the cursor.
fn push(parts: &mut Vec<Part>, range: Range<usize>, places: &Places) {
    let split = match places.first {
        Some(first) if places.is_screen() => first.clamp(range.start, range.end),
        _ => range.end,
    };
    if split > range.start {
        parts.push(Part {
            from: range.start,
            to: split,
            screen: false,
        });
    }
    if range.end > split {
        parts.push(Part {
            from: split,
            to: range.end,
            screen: true,
        });
    }
}

/// Where the cursor was placed, outside the alternate screen.
#[derive(Debug, Default)]
struct Places {
    first: Option<usize>,
    homes: usize,
    places: usize,
}

impl Places {
    /// Home; followed by erase-display it only clears, as `clear` does.
    fn home(&mut self, range: &Range<usize>, bytes: &[u8]) {
        let rest = bytes.get(range.end..).unwrap_or(&[]);
        let clears = [b"\x1b[2J".as_slice(), b"\x1b[J", b"\x1b[0J", b"\x1b[3J"];
        if !clears.iter().any(|clear| rest.starts_with(clear)) {
            self.homes += 1;
        }
        self.first.get_or_insert(range.start);
    }

    fn place(&mut self, range: &Range<usize>) {
        self.places += 1;
        self.first.get_or_insert(range.start);
    }

    fn is_screen(&self) -> bool {
        self.places >= 2 || self.homes >= 2
    }
}

enum What {
    EnterAlternate,
    LeaveAlternate,
    Home,
    Place,
    Other,
}

struct Sequence {
    range: Range<usize>,
    what: What,
    row: u16,
}

/// The CSI sequences of a stream.
struct Sequences<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Sequences<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl Iterator for Sequences<'_> {
    type Item = Sequence;

    fn next(&mut self) -> Option<Sequence> {
        loop {
            let rest = self.bytes.get(self.at..)?;
            let start = self.at + memchr(0x1b, rest)?;
            self.at = start + 1;
            if self.bytes.get(start + 1) != Some(&b'[') {
                continue;
            }
            let tail = self.bytes.get(start + 2..).unwrap_or(&[]);
            let length = tail
                .iter()
                .take(32)
                .position(|byte| !matches!(byte, 0x20..=0x3f))?;
            let params = tail.get(..length).unwrap_or(&[]);
            let end = start + 2 + length + 1;
            self.at = end.min(self.bytes.len());
            let (what, row) = meaning(params, tail.get(length).copied().unwrap_or(0));
            return Some(Sequence {
                range: start..self.at,
                what,
                row,
            });
        }
    }
}

fn meaning(params: &[u8], action: u8) -> (What, u16) {
    let text = std::str::from_utf8(params).unwrap_or("");
    match action {
        b'h' | b'l' if matches!(text, "?1049" | "?1047" | "?47") => {
            let what = if action == b'h' {
                What::EnterAlternate
            } else {
                What::LeaveAlternate
            };
            (what, 0)
        }
        b'H' | b'f' => {
            let mut numbers = text
                .split(';')
                .map(|number| number.parse::<u16>().unwrap_or(1));
            let row = numbers.next().unwrap_or(1).max(1);
            let column = numbers.next().unwrap_or(1);
            if row <= 1 && column <= 1 {
                (What::Home, 1)
            } else {
                (What::Place, row)
            }
        }
        b'd' => (What::Place, text.parse().unwrap_or(1)),
        b'r' => {
            let bottom = text
                .split(';')
                .nth(1)
                .and_then(|number| number.parse().ok());
            (What::Other, bottom.unwrap_or(0))
        }
        _ => (What::Other, 0),
    }
}

/// Draws a part and appends the rows of its last screen that is not empty.
pub(super) fn render(bytes: &[u8], base: u64, out: &mut Vec<TextLine>) {
    let to = base + offset(bytes.len());
    let bytes = bytes
        .get(bytes.len().saturating_sub(MAX_PART)..)
        .unwrap_or(bytes);
    let mut end = bytes.len();
    let mut clears = Vec::new();
    let mut rows = ROWS;
    for sequence in Sequences::new(bytes) {
        rows = rows.max(sequence.row.min(300));
        match sequence.what {
            What::LeaveAlternate => end = sequence.range.start,
            _ if bytes.get(sequence.range.clone()).is_some_and(is_clear) => {
                clears.push(sequence.range.start);
            }
            _ => {}
        }
    }
    let mut text = draw(bytes.get(..end).unwrap_or(bytes), rows);
    // Some programs clear the screen before they leave it.
    if text.iter().all(|line| line.trim().is_empty())
        && let Some(clear) = clears.iter().rev().find(|&&clear| clear < end && clear > 0)
    {
        text = draw(bytes.get(..*clear).unwrap_or(bytes), rows);
    }
    while text.last().is_some_and(|line| line.trim().is_empty()) {
        text.pop();
    }
    out.extend(text.into_iter().map(|text| TextLine {
        text,
        from: base,
        to,
        crlf: true,
        ..TextLine::default()
    }));
}

fn is_clear(sequence: &[u8]) -> bool {
    matches!(sequence, b"\x1b[J" | b"\x1b[0J" | b"\x1b[2J" | b"\x1b[3J")
}

fn draw(bytes: &[u8], rows: u16) -> Vec<String> {
    let rows = NonZeroU16::new(rows).unwrap_or(NonZeroU16::MIN);
    let columns = NonZeroU16::new(COLUMNS).unwrap_or(NonZeroU16::MIN);
    let mut parser = vt100::Parser::new_with_callbacks(rows, columns, 0, Scrolled::default());
    parser.process(bytes);
    let mut lines = std::mem::take(&mut parser.callbacks_mut().lines);
    lines.extend(
        parser
            .screen()
            .rows(0, COLUMNS)
            .map(|row| row.trim_end().to_owned()),
    );
    lines
}

/// Rows that scrolled off the main screen.
#[derive(Default)]
struct Scrolled {
    lines: Vec<String>,
}

impl vt100::Callbacks for Scrolled {
    fn on_scroll(&mut self, row: vt100::capture::RowContents<'_>, alternate: bool) {
        if alternate || self.lines.len() >= MAX_SCROLLED {
            return;
        }
        let mut formatted = String::new();
        let mut state = vt100::capture::BasicFormattedCaptureState::new();
        if row
            .write_formatted_basic(&mut formatted, &mut state)
            .is_ok()
        {
            let plain: String = vt100::capture::basic_formatted_to_plain(&formatted).collect();
            self.lines.push(plain.trim_end().to_owned());
        }
    }
}
