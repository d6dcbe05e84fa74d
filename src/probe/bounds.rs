//! Bounds of what is understood: very long streams, and streams that are no text.
//!
//! Reading costs time for every byte, and nobody types a command to have 500 MB of it explained.
//! Of a stream past `MOST_BYTES` the start and the end are read, cut at lines; the middle is left
//! unclaimed. A stream that is no text is left unclaimed whole. The bytes themselves are kept as they
//! came: this is about facts alone.

use super::{Reading, Span};
use crate::event::Stream;

/// Bytes of a stream that are read: as many from its start as from its end.
const MOST_BYTES: usize = 8 << 20;
/// Bytes looked at to tell text from anything else.
const SAMPLE_BYTES: usize = 8 << 10;

/// A stream as it is read.
pub(super) struct Bounded {
    pub(super) stream: Stream,
    pub(super) bytes: Vec<u8>,
    /// Where the cut lies in `bytes`, and how many bytes are missing there.
    cut: Option<(u64, u64)>,
}

/// Whether a stream is no text: its start holds NUL bytes, or mostly control characters.
pub fn is_binary(bytes: &[u8]) -> bool {
    let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
    if sample.contains(&0) {
        return true;
    }
    let odd = sample
        .iter()
        .filter(|byte| **byte < 32 && !matches!(**byte, b'\n' | b'\r' | b'\t' | 8 | 12 | 27))
        .count();
    odd * 10 > sample.len()
}

/// Whether a stream is read as it stands.
pub(super) fn fits(bytes: &[u8]) -> bool {
    bytes.len() <= MOST_BYTES && !is_binary(bytes)
}

/// What is read of a stream; nothing when it is no text.
pub(super) fn bound(stream: Stream, bytes: &[u8]) -> Bounded {
    if is_binary(bytes) {
        let missing = bytes.len() as u64;
        return Bounded {
            stream,
            bytes: Vec::new(),
            cut: Some((0, missing)),
        };
    }
    if bytes.len() <= MOST_BYTES {
        return Bounded {
            stream,
            bytes: bytes.to_vec(),
            cut: None,
        };
    }
    let half = MOST_BYTES / 2;
    let head = bytes[..half]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(half, |at| at + 1);
    let from = bytes.len() - half;
    let tail = bytes[from..]
        .iter()
        .position(|byte| *byte == b'\n')
        .map_or(from, |at| from + at + 1);
    let mut kept = bytes[..head].to_vec();
    kept.extend_from_slice(&bytes[tail..]);
    Bounded {
        stream,
        bytes: kept,
        cut: Some((head as u64, (tail - head) as u64)),
    }
}

/// Moves what was read back to where it stands in the whole streams.
pub(super) fn restore(bounded: &[Bounded], reading: &mut Reading) {
    for one in bounded {
        let Some((at, missing)) = one.cut else {
            continue;
        };
        let start = |place: &mut u64| {
            if *place >= at {
                *place += missing;
            }
        };
        let end = |place: &mut u64| {
            if *place > at {
                *place += missing;
            }
        };
        for seen in reading
            .facts
            .iter_mut()
            .filter(|seen| seen.stream == Some(one.stream))
        {
            start(&mut seen.from);
            end(&mut seen.to);
            seen.to = seen.to.max(seen.from);
        }
        for (_, complaint) in reading
            .complaints
            .iter_mut()
            .filter(|(stream, _)| *stream == one.stream)
        {
            start(&mut complaint.from);
            end(&mut complaint.to);
            complaint.to = complaint.to.max(complaint.from);
        }
        let claims = reading.claims.iter_mut().map(|claim| &mut claim.span);
        for span in claims
            .chain(&mut reading.unclaimed)
            .filter(|span| span.stream == one.stream)
        {
            start(&mut span.from);
            end(&mut span.to);
            span.to = span.to.max(span.from);
        }
        reading.unclaimed.push(Span {
            stream: one.stream,
            from: at,
            to: at + missing,
        });
    }
    reading
        .unclaimed
        .sort_by_key(|span| (span.stream, span.from));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Exit;
    use crate::probe::{Look, read};

    fn reading(bytes: &[u8]) -> Reading {
        let tree = crate::shell::parse("cat /srv/a.log");
        read(&Look {
            tree: &tree,
            host: "h",
            exit: Exit::Code(0),
            streams: &[(Stream::Stdout, bytes)],
        })
    }

    #[test]
    fn what_is_no_text_is_left_alone() {
        let bytes: Vec<u8> = (0..200_000_u32)
            .map(|at| u8::try_from(at * 31 % 256).unwrap())
            .collect();
        let reading = reading(&bytes);
        assert!(
            reading
                .facts
                .iter()
                .all(|seen| !matches!(seen.fact, crate::fact::Fact::Line(_)))
        );
        let whole = Span {
            stream: Stream::Stdout,
            from: 0,
            to: 200_000,
        };
        assert!(reading.unclaimed.contains(&whole));
    }

    #[test]
    fn spans_past_the_cut_point_into_the_whole_stream() {
        let mut text = "2026-11-30 10:00:00 INFO request served\n".repeat(300_000);
        text.push_str("ERROR: the disk is on fire\n");
        let reading = reading(text.as_bytes());
        let found = reading.facts.iter().find_map(|seen| match &seen.fact {
            crate::fact::Fact::Line(line) if line.text.contains("on fire") => {
                Some((seen.from, seen.to))
            }
            _ => None,
        });
        let (from, to) = found.expect("the last line is read");
        let (from, to) = (usize::try_from(from).unwrap(), usize::try_from(to).unwrap());
        assert_eq!(&text.as_bytes()[from..to], b"ERROR: the disk is on fire\n");
    }
}
