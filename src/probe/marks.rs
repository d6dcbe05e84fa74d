//! What a line may hold, so that of a long log each reader is shown the few lines that concern it.
//!
//! Pure. The lines of a log mostly differ in their digits alone, and no reader asks for one digit:
//! [`of`] asks each reader once for each shape (the line with all its digits 1, and the ids in it
//! numbers), and remembers the answer. A reader's `may` is asked about the shape; it must be true of whatever the reader would
//! find something in, with these digits or others.

use std::collections::HashMap;

use super::{kernel, line, notrun, progress, stage, traceback};
use crate::text::TextLine;

/// Shapes longer than this many bytes are asked about each time.
const MAX_SHAPE: usize = 1024;
/// More shapes than this are not kept in mind at once.
const MAX_SHAPES: usize = 4096;

/// What a line may hold, a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Marks(u8);

impl Marks {
    /// It holds a word of `notable.txt`.
    pub(super) const NOTABLE: Self = Self(1);
    /// It may be the kernel's.
    pub(super) const KERNEL: Self = Self(1 << 1);
    /// It may begin a trace, or be one.
    pub(super) const TRACE: Self = Self(1 << 2);
    /// It may be a bar, or tell how far something is.
    pub(super) const BAR: Self = Self(1 << 3);
    /// It may say that a stage was reached.
    pub(super) const STAGE: Self = Self(1 << 4);
    /// It may say that a program could not be run.
    pub(super) const NOT_RUN: Self = Self(1 << 5);

    /// Asks each reader.
    fn of(shape: &str) -> Self {
        let asked = [
            (Self::NOTABLE, line::is_notable(shape)),
            (Self::KERNEL, kernel::may(shape)),
            (Self::TRACE, traceback::may(shape)),
            (Self::BAR, progress::may(shape)),
            (Self::STAGE, stage::may(shape)),
            (Self::NOT_RUN, notrun::may(shape)),
        ];
        let bits = asked.iter().filter(|(_, may)| *may);
        Self(bits.fold(0, |all, (one, _)| all | one.0))
    }

    /// Whether it may hold this.
    pub(super) fn has(self, one: Self) -> bool {
        self.0 & one.0 != 0
    }
}

/// A line with what it may hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marked<'l> {
    /// The line.
    pub(super) line: &'l TextLine,
    /// What [`TextLine::last_written`] of it may hold; of a rewritten line, whether any of its states
    /// may be a bar.
    pub(super) marks: Marks,
    /// Lines with the same number differ in digits and ids alone: they are of one kind. None for
    /// those that were rewritten or are very long.
    pub(super) alike: Option<u32>,
}

/// Lines with what they may hold.
pub(super) fn of<'l>(lines: &[&'l TextLine]) -> Vec<Marked<'l>> {
    let mut asked = Asked::default();
    lines
        .iter()
        .map(|line| {
            let (marks, alike) = if line.states.is_empty() {
                asked.marks(&line.text)
            } else {
                let mut marks = asked.marks(line.last_written().0).0;
                if line.states.iter().any(|state| progress::may(&state.text)) {
                    marks.0 |= Marks::BAR.0;
                }
                (marks, None)
            };
            Marked { line, marks, alike }
        })
        .collect()
}

/// What was asked already.
#[derive(Default)]
struct Asked {
    known: HashMap<Box<[u8]>, (Marks, u32)>,
    shape: Vec<u8>,
    next: u32,
}

impl Asked {
    fn marks(&mut self, text: &str) -> (Marks, Option<u32>) {
        digits_alike(text, &mut self.shape);
        if let Some((marks, number)) = self.known.get(self.shape.as_slice()) {
            return (*marks, Some(*number));
        }
        ids_alike(&mut self.shape);
        let asked = |shape: &[u8]| Marks::of(&String::from_utf8_lossy(shape));
        if self.shape.len() > MAX_SHAPE {
            return (asked(&self.shape), None);
        }
        if let Some((marks, number)) = self.known.get(self.shape.as_slice()) {
            return (*marks, Some(*number));
        }
        if self.known.len() == MAX_SHAPES {
            self.known.clear();
        }
        let (marks, number) = (asked(&self.shape), self.next);
        self.next = self.next.wrapping_add(1);
        let shape = self.shape.as_slice().into();
        self.known.insert(shape, (marks, number));
        (marks, Some(number))
    }
}

/// A line with all its digits 1; but 0 stays what makes a number hexadecimal (`0x7f`).
fn digits_alike(text: &str, shape: &mut Vec<u8>) {
    let alike = |byte: u8| if byte.is_ascii_digit() { b'1' } else { byte };
    shape.clear();
    shape.extend(text.bytes().map(alike));
    for at in memchr::memchr_iter(b'x', text.as_bytes()) {
        let before = at.checked_sub(1);
        if let Some(before) = before.filter(|at| text.as_bytes().get(*at) == Some(&b'0'))
            && let Some(byte) = shape.get_mut(before)
        {
            *byte = b'0';
        }
    }
}

/// Makes the ids in a shape numbers: eight letters and digits of hex or more that stand alone, and
/// what follows of a UUID.
fn ids_alike(shape: &mut [u8]) {
    let is_hex = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    let (mut from, mut id) = (0, false);
    while from < shape.len() {
        let rest = shape.get(from..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| is_hex(**byte)).count();
        let run = rest.get(..length).unwrap_or_default();
        let letters = run.iter().filter(|byte| byte.is_ascii_lowercase()).count();
        let before = from.checked_sub(1).and_then(|at| shape.get(at)).copied();
        let alone = |byte: Option<u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
        id = (length >= 8 && letters < length || id && length == 4 && before == Some(b'-'))
            && alone(before)
            && alone(rest.get(length).copied());
        if id && letters > 0 {
            let run = shape.get_mut(from..from + length);
            run.unwrap_or_default().fill(b'1');
        }
        from += length + 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Marks, digits_alike, ids_alike, kernel, line, notrun, progress, stage, traceback};
    use crate::probe::fingerprint::blanked;
    use crate::probe::line::Context;
    use crate::text::TextLine;

    /// Lines of many formats and tools.
    const SAMPLES: &str = include_str!("../../tests/fixtures/logs/formats.txt");

    fn samples() -> Vec<&'static str> {
        let digits = |line: &&str| line.contains(|c: char| c.is_ascii_digit());
        SAMPLES.lines().filter(digits).collect()
    }

    /// Whatever a reader finds in a line, it was to be asked about it.
    fn check(text: &str) -> Result<Marks, TestCaseError> {
        let mut alike = Vec::new();
        digits_alike(text, &mut alike);
        ids_alike(&mut alike);
        let marks = Marks::of(std::str::from_utf8(&alike).unwrap());
        let shown = TextLine {
            text: text.to_owned(),
            ..TextLine::default()
        };
        let marked = [super::Marked {
            line: &shown,
            marks: Marks(u8::MAX),
            alike: None,
        }];
        let context = Context {
            program: "dmesg",
            path: "dmesg",
            ..Context::default()
        };
        for (mark, found) in [
            (Marks::NOTABLE, line::is_notable(text)),
            (Marks::KERNEL, !kernel::read(&marked, &context).is_empty()),
            (Marks::TRACE, !traceback::read(&marked, &context).is_empty()),
            (Marks::BAR, !progress::read(&marked, &context).is_empty()),
            (Marks::STAGE, stage::of_line(text).is_some()),
            (Marks::NOT_RUN, notrun::of_line(text).is_some()),
        ] {
            prop_assert!(!found || marks.has(mark), "{mark:?} of {text}");
        }
        Ok(marks)
    }

    #[test]
    fn what_is_found_was_marked() {
        let probes = concat!(
            include_str!("progress.rs"),
            include_str!("notrun.rs"),
            include_str!("stage.rs"),
            include_str!("kernel.rs"),
        );
        // The examples of the readers' own tests are strings in their sources.
        for line in SAMPLES.lines().chain(probes.lines()) {
            let line = line.trim().trim_start_matches(['(', '"']);
            let line = line.trim_end_matches([',', '"', ')']);
            check(line).unwrap();
        }
    }

    #[test]
    fn ids_are_numbers() {
        for (line, want) in [
            ("req 8f3a9c01 done", "req 11111111 done"),
            (
                "4b1d9e2c-77aa-4cde-beef-0c5b8d7e6f10",
                "11111111-1111-1111-1111-111111111111",
            ),
            (
                "deadbeef or defaced1x at 0x7fab12cd",
                "deadbeef or defaced1x at 0x1fab11cd",
            ),
            (
                "a decade of bad 404 cafe-bead",
                "a decade of bad 111 cafe-bead",
            ),
        ] {
            let mut shape = Vec::new();
            digits_alike(line, &mut shape);
            ids_alike(&mut shape);
            assert_eq!(String::from_utf8(shape).unwrap(), want);
        }
    }

    proptest! {
        #[test]
        fn digits_decide_nothing(
            sample in prop::sample::select(samples()),
            digits in prop::collection::vec(0_u8..10, 1..40),
        ) {
            let mut digits = digits.iter().cycle();
            let mut other = |ch: char| match ch {
                '0'..='9' => char::from(b'0' + digits.next().copied().unwrap_or(0)),
                ch => ch,
            };
            let other: String = sample.chars().map(&mut other).collect();
            check(&other)?;
            let (mut one, mut two) = (Vec::new(), Vec::new());
            digits_alike(sample, &mut one);
            digits_alike(&other, &mut two);
            // What has one shape has one fingerprint.
            if one == two {
                prop_assert_eq!(blanked(sample), blanked(&other));
            }
        }
    }
}
