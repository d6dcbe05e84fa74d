//! Pieces of a stream: where the next control is, and lines that need no rendering.

use std::borrow::Cow;

use memchr::{memchr, memchr3};

/// A string sequence (OSC, DCS) that does not end within this is no string sequence.
const MAX_STRING: usize = 4096;

/// Length of the next piece: one line end or return, an escape up to the next control, or the text
/// before it. So that every control's place in the stream is known.
pub(super) fn piece(rest: &[u8]) -> usize {
    match rest.first() {
        Some(b'\n' | b'\r') => 1,
        Some(0x1b) => rest
            .get(1..)
            .and_then(|tail| memchr3(b'\n', b'\r', 0x1b, tail))
            .map_or(rest.len(), |end| end + 1),
        _ => memchr3(b'\n', b'\r', 0x1b, rest).unwrap_or(rest.len()),
    }
}

/// The length of an OSC, DCS, SOS, PM or APC at the front, or of its introducer when it never ends.
pub(super) fn string_sequence(rest: &[u8]) -> Option<usize> {
    if rest.first() != Some(&0x1b) || !matches!(rest.get(1), Some(b']' | b'P' | b'X' | b'^' | b'_'))
    {
        return None;
    }
    let body = rest.get(2..rest.len().min(MAX_STRING)).unwrap_or(&[]);
    for (at, byte) in body.iter().enumerate() {
        match byte {
            0x07 => return Some(2 + at + 1),
            0x1b if body.get(at + 1) == Some(&b'\\') => return Some(2 + at + 2),
            0x1b | b'\n' => break,
            _ => {}
        }
    }
    Some(2)
}

/// A line without controls but tabs and its own end.
pub(super) struct Body<'a> {
    pub(super) text: Cow<'a, [u8]>,
    /// Carriage returns before the line feed.
    pub(super) returns: usize,
}

impl<'a> Body<'a> {
    /// A line, its end included; `None` when it needs more than to be copied.
    pub(super) fn of(line: &'a [u8]) -> Option<Self> {
        let mut text = line.strip_suffix(b"\n").unwrap_or(line);
        let ended = text.len() < line.len();
        let mut returns = 0;
        while ended && let Some(shorter) = text.strip_suffix(b"\r") {
            text = shorter;
            returns += 1;
        }
        while let Some(shorter) = text.strip_prefix(b"\r") {
            text = shorter;
        }
        let text = if is_free_of(text, b'\t', b'\t') {
            Cow::Borrowed(text)
        } else if is_free_of(text, b'\t', 0x1b) {
            Cow::Owned(without_colours(text)?)
        } else {
            return None;
        };
        Some(Self { text, returns })
    }
}

/// No control bytes but these two.
fn is_free_of(text: &[u8], one: u8, other: u8) -> bool {
    !text.iter().fold(false, |control, &byte| {
        control | (byte < 0x20 && byte != one && byte != other) | (byte == 0x7f)
    })
}

/// A line without its colours (SGR) and erase-to-end, when it has no other escapes.
fn without_colours(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr(0x1b, rest) {
        out.extend_from_slice(rest.get(..at)?);
        let sequence = rest.get(at + 1..)?.strip_prefix(b"[")?;
        let length = sequence
            .iter()
            .position(|byte| !matches!(byte, b'0'..=b'9' | b';' | b':'))?;
        let params = sequence.get(..length)?;
        match sequence.get(length)? {
            b'm' => {}
            b'K' if matches!(params, b"" | b"0") => {}
            _ => return None,
        }
        rest = sequence.get(length + 1..)?;
    }
    out.extend_from_slice(rest);
    Some(out)
}
