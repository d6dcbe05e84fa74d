//! Output, ready for a page: which lines are shown, with facts as chips over them.

use std::collections::BTreeSet;

use crate::event::Stream;

use super::ansi::{self, line_starts};
use super::chips::{Chip, chip};
use super::data::{Output, Recorded};
use super::markup::Markup;
use super::words::{count, counted};
use crate::diagnosis::words::size;

/// How much of an output is shown.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Lines of a stream, before it is cut in its middle.
    pub lines: usize,
    /// Chips.
    pub chips: usize,
}

/// For a row opened in the timeline.
pub const OPENED: Limits = Limits {
    lines: 60,
    chips: 16,
};
/// For a command's own page.
pub const WHOLE: Limits = Limits {
    lines: 1_500,
    chips: 200,
};

/// The output of a command.
#[derive(Debug, Clone, Default)]
pub struct OutputView {
    /// Its streams that printed something.
    pub streams: Vec<StreamView>,
    /// Its facts.
    pub chips: Vec<Chip>,
    /// Facts beyond the limit.
    pub more_chips: usize,
}

/// A stream.
#[derive(Debug, Clone)]
pub struct StreamView {
    /// Its name.
    pub name: &'static str,
    /// Its size in words.
    pub size: String,
    /// Its lines in words.
    pub lines: String,
    /// The address of its raw bytes.
    pub raw: String,
    /// What is shown.
    pub blocks: Vec<Block>,
}

/// A part of a stream.
#[derive(Debug, Clone)]
pub enum Block {
    /// A line.
    Line(LineView),
    /// Lines that are not shown here, in words.
    Skipped(String),
    /// Bytes that were never recorded, in words.
    Gap(String),
}

/// A line.
#[derive(Debug, Clone)]
pub struct LineView {
    /// Its id in the page.
    pub id: String,
    /// Its number.
    pub number: usize,
    /// What it shows.
    pub html: Markup,
    /// What was cut off its end, in words; mostly empty.
    pub cut: String,
    /// Nobody claims it.
    pub unclaimed: bool,
}

/// Makes the view of a command's output. `base` is the address of its page.
pub fn view(recorded: &Recorded, base: &str, limits: Limits) -> OutputView {
    let mut chips: Vec<Chip> = recorded.facts.iter().map(chip).collect();
    let more_chips = chips.len().saturating_sub(limits.chips);
    chips.truncate(limits.chips);
    let streams = recorded
        .outputs
        .iter()
        .filter(|output| !output.bytes.is_empty() || !output.gaps.is_empty())
        .map(|output| stream(recorded, output, &mut chips, base, limits.lines))
        .collect();
    OutputView {
        streams,
        chips,
        more_chips,
    }
}

fn stream(
    recorded: &Recorded,
    output: &Output,
    chips: &mut [Chip],
    base: &str,
    most: usize,
) -> StreamView {
    let starts = line_starts(&output.bytes);
    let name = output.stream.name();
    let number = recorded.row.number;
    let mut wanted = Vec::new();
    for chip in chips.iter_mut() {
        if chip.stream == Some(output.stream) && chip.to > chip.from {
            let lines = lines_of(&starts, chip.from, chip.to);
            let ids: Vec<String> = lines
                .clone()
                .take(40)
                .map(|line| format!("o{number}-{name}-{}", line + 1))
                .collect();
            chip.first_line = ids.first().cloned().unwrap_or_default();
            chip.lines = ids.join(" ");
            wanted.extend(lines.take(6));
        }
    }
    let shown = choose(starts.len(), most, &wanted);
    StreamView {
        name,
        size: size(output.bytes.len() as u64),
        lines: counted(starts.len() as u64, "line"),
        raw: format!("{base}/raw/{name}"),
        blocks: blocks(recorded, output, &starts, &shown),
    }
}

/// The lines (from 0) that hold these bytes.
fn lines_of(starts: &[usize], from: u64, to: u64) -> std::ops::Range<usize> {
    let line = |byte: u64| {
        starts
            .partition_point(|start| *start as u64 <= byte)
            .saturating_sub(1)
    };
    line(from)..line(to.saturating_sub(1).max(from)) + 1
}

/// Chooses which of `total` lines to show: all, or the first and last ones and those wanted.
fn choose(total: usize, most: usize, wanted: &[usize]) -> BTreeSet<usize> {
    if total <= most {
        return (0..total).collect();
    }
    let part = most / 4;
    let mut shown: BTreeSet<usize> = (0..part).chain(total - part..total).collect();
    for line in wanted {
        if shown.len() + 3 > most {
            break;
        }
        shown.extend(line.saturating_sub(1)..(line + 2).min(total));
    }
    shown
}

fn blocks(
    recorded: &Recorded,
    output: &Output,
    starts: &[usize],
    shown: &BTreeSet<usize>,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut gaps = output.gaps.iter().peekable();
    let mut next = 0;
    let mut shown = shown.iter().copied().peekable();
    while let Some(first) = shown.next() {
        let mut last = first;
        while shown.peek() == Some(&(last + 1)) {
            last += 1;
            shown.next();
        }
        skip(&mut blocks, first - next);
        let from = starts.get(first).copied().unwrap_or(0);
        let to = starts.get(last + 1).copied().unwrap_or(output.bytes.len());
        let bytes = output.bytes.get(from..to).unwrap_or_default();
        for line in ansi::render(bytes, from as u64, first + 1) {
            while let Some((_, bytes, reason)) = gaps.next_if(|(at, _, _)| *at <= line.from) {
                blocks.push(Block::Gap(gap_words(*bytes, reason)));
            }
            blocks.push(Block::Line(line_view(recorded, output.stream, line)));
        }
        next = last + 1;
    }
    skip(&mut blocks, starts.len().saturating_sub(next));
    blocks.extend(gaps.map(|(_, bytes, reason)| Block::Gap(gap_words(*bytes, reason))));
    blocks
}

fn skip(blocks: &mut Vec<Block>, lines: usize) {
    if lines > 0 {
        blocks.push(Block::Skipped(counted(lines as u64, "line")));
    }
}

fn gap_words(bytes: u64, reason: &str) -> String {
    format!("{} not on record: {reason}", size(bytes))
}

fn line_view(recorded: &Recorded, stream: Stream, line: ansi::Line) -> LineView {
    let unclaimed = recorded
        .unclaimed
        .iter()
        .any(|span| span.stream == stream && span.from < line.to && line.from < span.to);
    LineView {
        id: format!("o{}-{}-{}", recorded.row.number, stream.name(), line.number),
        number: line.number,
        html: line.html,
        cut: if line.cut == 0 {
            String::new()
        } else {
            format!("{} more characters", count(line.cut as u64))
        },
        unclaimed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_keeps_its_ends_and_what_facts_point_at() {
        let shown = choose(1_000, 40, &[500, 501]);
        assert!(shown.contains(&0) && shown.contains(&999));
        assert!(shown.contains(&499) && shown.contains(&502));
        assert!(shown.len() <= 40);
        assert_eq!(choose(10, 40, &[]).len(), 10);
    }

    #[test]
    fn a_span_names_the_lines_it_touches() {
        let starts = line_starts(b"one\ntwo\nthree");
        assert_eq!(lines_of(&starts, 0, 4), 0..1);
        assert_eq!(lines_of(&starts, 2, 6), 0..2);
        assert_eq!(lines_of(&starts, 8, 13), 2..3);
        assert_eq!(lines_of(&starts, 90, 99), 2..3);
    }
}
