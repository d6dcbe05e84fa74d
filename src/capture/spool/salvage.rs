//! What still reads of a spool behind bytes that are no record.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::{FRAME_HEAD, Gap, KIND_OUTPUT, KIND_STATE, Record, checksum, decode_payload};
use crate::event::Stream;

/// Bytes behind the damage that are looked through; what lies further is lost to the view, not the file.
const MOST_BYTES: u64 = 64 << 20;
/// Payloads that are believed there: a writer frames far less at once.
const MOST_PAYLOAD: usize = 1 << 20;
/// Bytes whose checksums are computed in vain before the search is given up: in any bytes, one place in ten
/// thousand looks like the head of a record.
const MOST_TRIED: u64 = 1 << 30;

/// Records found behind damage.
#[derive(Debug, PartialEq, Eq)]
pub struct Salvaged {
    /// In order, each with the offset of its frame; a gap stands for the bytes between that are none.
    pub records: Vec<(u64, Record)>,
    /// Where the last of them ends.
    pub next_offset: u64,
}

/// Looks for whole records behind the damage at an offset. `stream` is where a gap is said to be when no
/// output follows it.
///
/// # Errors
/// When the file cannot be read.
pub fn salvage(path: &Path, at: u64, why: &str, stream: Stream) -> io::Result<Salvaged> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    let mut found = Salvaged {
        records: Vec::new(),
        next_offset: at,
    };
    let mut holes = Vec::new();
    let (mut here, mut hole, mut tried) = (0, 0, 0);
    while here + FRAME_HEAD <= bytes.len() && tried < MOST_TRIED {
        let Some((record, len)) = frame(bytes.get(here..).unwrap_or_default(), &mut tried) else {
            here += 1;
            continue;
        };
        if here > hole {
            let place = at + hole as u64;
            let gap = Record::Gap(Gap {
                stream,
                bytes: (here - hole) as u64,
                reason: format!("the record is damaged: {why}"),
            });
            holes.push(found.records.len());
            found.records.push((place, gap));
        }
        found.records.push((at + here as u64, record));
        here += len;
        hole = here;
        found.next_offset = at + here as u64;
    }
    // The lost bytes are of the stream that goes on behind them.
    let mut next = stream;
    for (number, (_, record)) in found.records.iter_mut().enumerate().rev() {
        match record {
            Record::Output(output) => next = output.stream,
            Record::Gap(gap) if holes.last() == Some(&number) => {
                gap.stream = next;
                holes.pop();
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The record whose frame these bytes begin with, and the frame's length.
fn frame(bytes: &[u8], tried: &mut u64) -> Option<(Record, usize)> {
    let [a, b, c, d, kind, sum @ ..] = *bytes.first_chunk::<FRAME_HEAD>()?;
    let len = u32::from_le_bytes([a, b, c, d]) as usize;
    if !(KIND_OUTPUT..=KIND_STATE).contains(&kind) || len > MOST_PAYLOAD {
        return None;
    }
    let payload = bytes.get(FRAME_HEAD..FRAME_HEAD + len)?;
    *tried += len as u64;
    (checksum(kind, &[payload]) == sum)
        .then(|| decode_payload(kind, payload))
        .flatten()
        .map(|record| (record, FRAME_HEAD + len))
}
