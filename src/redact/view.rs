//! Raw output → the text in it: escape sequences and control bytes taken out, every byte of the text
//! knowing where it came from.

use memchr::{memchr2, memchr3};

/// Where in an escape sequence a cut fell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Escape {
    /// In none.
    #[default]
    None,
    /// Right after ESC.
    Begun,
    /// After ESC and an intermediate byte.
    Charset,
    /// In a control sequence (`ESC [ …`).
    Control,
    /// In a string (`ESC ] …`) that BEL or ST ends.
    Text,
    /// In a string, after an ESC that may begin its end.
    TextEnd,
}

/// The text in some raw bytes.
#[derive(Debug, Default)]
pub(super) struct View {
    /// The text. What was there before the raw bytes (already emitted) comes first.
    pub text: Vec<u8>,
    /// Runs: from this offset of the text on, bytes lie at that raw offset on.
    runs: Vec<(usize, usize)>,
    /// Texts within escape sequences, as raw ranges: titles and links.
    pub strings: Vec<(usize, usize)>,
    /// Where the escape sequence begins that the end of the raw bytes cuts, and what it is.
    pub cut: Option<(usize, Escape)>,
    raw_len: usize,
}

impl View {
    /// Reads raw bytes that follow `before` (text, emitted already).
    pub(super) fn read(&mut self, before: &[u8], raw: &[u8], state: Escape) {
        self.text.clear();
        self.runs.clear();
        self.strings.clear();
        self.cut = None;
        self.raw_len = raw.len();
        self.text.extend_from_slice(before);
        let mut at = 0;
        if state != Escape::None {
            at = self.escape(raw, 0, 0, state);
        }
        while at < raw.len() {
            let rest = raw.get(at..).unwrap_or_default();
            let plain = next_special(rest);
            if plain > 0 {
                self.runs.push((self.text.len(), at));
                self.text
                    .extend_from_slice(rest.get(..plain).unwrap_or_default());
                at += plain;
            }
            match raw.get(at) {
                None => break,
                Some(0x1b) => at = self.escape(raw, at, at + 1, Escape::Begun),
                Some(_) => at += 1,
            }
        }
    }

    /// Skips an escape sequence that begins at `from`, being in `state` at `at`; where it ends.
    fn escape(&mut self, raw: &[u8], from: usize, mut at: usize, mut state: Escape) -> usize {
        let mut string_from = at;
        while let Some(byte) = raw.get(at) {
            at += 1;
            state = match (state, byte) {
                (Escape::Begun, b'[') => Escape::Control,
                (Escape::Begun, b']' | b'P' | b'X' | b'^' | b'_') => {
                    string_from = at;
                    Escape::Text
                }
                (Escape::Begun | Escape::Charset, 0x20..=0x2f) => Escape::Charset,
                (Escape::Begun, 0x1b) => Escape::Begun,
                (Escape::Control, 0x20..=0x3f) => Escape::Control,
                // A sequence that is broken off: what breaks it is text again.
                (Escape::Begun | Escape::Charset | Escape::Control, 0x00..=0x1f) => {
                    return at - 1;
                }
                (Escape::Begun | Escape::Charset | Escape::Control, _) => return at,
                (Escape::Text, 0x07) => {
                    self.string(string_from, at - 1);
                    return at;
                }
                (Escape::Text, 0x1b) => Escape::TextEnd,
                (Escape::Text, _) => {
                    let rest = raw.get(at..).unwrap_or_default();
                    at += memchr2(0x07, 0x1b, rest).unwrap_or(rest.len());
                    Escape::Text
                }
                (Escape::TextEnd, b'\\') => {
                    self.string(string_from, at.saturating_sub(2));
                    return at;
                }
                (Escape::TextEnd, _) => {
                    // No end after all: the string is over and another sequence begins.
                    self.string(string_from, at.saturating_sub(2));
                    at -= 1;
                    Escape::Begun
                }
                (Escape::None, _) => return at - 1,
            };
        }
        self.cut = Some((from, state));
        if matches!(state, Escape::Text | Escape::TextEnd) {
            self.string(string_from, raw.len());
        }
        raw.len()
    }

    fn string(&mut self, from: usize, to: usize) {
        if from < to {
            self.strings.push((from, to));
        }
    }

    /// Where a byte of the text lies in the raw bytes; the end for the end. `None`: before them.
    pub(super) fn raw(&self, at: usize) -> Option<usize> {
        if at >= self.text.len() {
            return Some(self.raw_len);
        }
        let run = self.runs.partition_point(|(text, _)| *text <= at);
        let (text, raw) = self.runs.get(run.checked_sub(1)?)?;
        Some(raw + (at - text))
    }
}

/// Bytes before the next one that is no text: ESC, or a control byte that terminals act upon in the
/// middle of a word (bell, and the shift back to the usual characters that ends colours in some).
fn next_special(bytes: &[u8]) -> usize {
    memchr3(0x1b, 0x07, 0x0f, bytes).unwrap_or(bytes.len())
}
