//! Raw output → the lines a person saw, each with the bytes it came from.
//!
//! Pure. [`lines`] takes the bytes of one stream and gives its lines without escapes, as a terminal
//! would have left them: a progress bar that was rewritten a thousand times is one line, in its
//! final state, with the first and last few of its earlier states beside it. The raw bytes are the
//! record; this is a view of them, and every line says which bytes it shows.
//!
//! Plain bytes take a fast path; bytes with escapes go through a small line renderer
//! (`text/rows.rs`), which knows carriage return, backspace, erase-line and the cursor's ups and
//! downs within a window; what a full-screen program drew goes through a terminal of its own
//! (`text/screen.rs`), of which the last screen is kept.

mod pieces;
mod rows;
mod screen;

/// Text of a line past this many bytes is cut; its span stays whole.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// Earlier states of a rewritten line that are kept: the first of these.
const FIRST_STATES: usize = 2;
/// And the last of these, the final one included.
const LAST_STATES: usize = 6;

/// A line as a person saw it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextLine {
    /// The text: no escapes, no line end. Tabs are kept as they came.
    pub text: String,
    /// First byte of the stream it came from.
    pub from: u64,
    /// One past its last byte, its line end included.
    pub to: u64,
    /// How often it was rewritten from its start (`\r`, erase-line).
    pub rewrites: u32,
    /// What was written between those returns, the final state included: the first two and the last
    /// six. Empty for a line that was written once.
    pub states: Vec<State>,
    /// The text was cut at [`MAX_LINE_BYTES`].
    pub cut: bool,
    /// It ended in CR LF (so does every line of a terminal).
    pub crlf: bool,
    /// It ended in CR CR LF: a line that ended in CR LF, shown on a terminal.
    pub double_cr: bool,
}

/// One state of a line that was rewritten.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    /// What was written, without what an earlier, longer state left to its right.
    pub text: String,
    /// First byte of the stream it came from.
    pub from: u64,
    /// One past its last byte.
    pub to: u64,
}

impl TextLine {
    /// What was written last, with its span: the final state of a rewritten line, else the line.
    ///
    /// A short text that overwrote a long bar leaves the bar's end beside it on the screen; this is
    /// the text alone.
    pub fn last_written(&self) -> (&str, u64, u64) {
        match self.states.last() {
            Some(state) => (&state.text, state.from, state.to),
            None => (&self.text, self.from, self.to),
        }
    }

    /// Nothing but white space.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// The lines of a stream, as a person saw them.
///
/// Spans do not decrease from line to line and leave no byte out (bytes that only hold escapes at
/// the very start or end belong to their neighbour). Lines that a program went back up to, and
/// screens of full-screen programs, have spans that overlap. Invalid UTF-8 shows as U+FFFD.
pub fn lines(bytes: &[u8]) -> Vec<TextLine> {
    let mut out = Vec::new();
    for part in screen::parts(bytes) {
        let slice = bytes.get(part.from..part.to).unwrap_or(&[]);
        if part.screen {
            screen::render(slice, offset(part.from), &mut out);
        } else {
            rows::render(slice, offset(part.from), &mut out);
        }
    }
    out
}

/// The text of a stream without escapes, its lines joined by newlines.
pub fn plain(bytes: &[u8]) -> String {
    let lines = lines(bytes);
    let size = lines.iter().map(|line| line.text.len() + 1).sum();
    let mut text = String::with_capacity(size);
    for line in &lines {
        text.push_str(&line.text);
        text.push('\n');
    }
    if !bytes.ends_with(b"\n") {
        text.pop();
    }
    text
}

/// The bytes of a span of a stream; none where the span lies outside.
pub fn bytes_of(stream: &[u8], from: u64, to: u64) -> &[u8] {
    let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
    stream.get(at(from)..at(to)).unwrap_or(&[])
}

/// A text, cut at a character's border so that it is no longer than `max` bytes.
pub fn cut(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while end > 0 && !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or("")
}

/// Bytes as text, cut at [`MAX_LINE_BYTES`].
fn decode(bytes: &[u8]) -> (String, bool) {
    if bytes.len() <= MAX_LINE_BYTES {
        return (lossy(bytes), false);
    }
    let mut end = MAX_LINE_BYTES;
    while end > 0 && bytes.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
        end -= 1;
    }
    (lossy(bytes.get(..end).unwrap_or(&[])), true)
}

fn lossy(bytes: &[u8]) -> String {
    // Most lines are right, and that is found faster than what is wrong.
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fn offset(at: usize) -> u64 {
    u64::try_from(at).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
