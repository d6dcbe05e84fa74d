//! The lines worth reading of any output: a log that was shown, a command's own words.
//!
//! Pure. `read_lines` gives one [`Line`] fact for each kind of line (see
//! [`super::fingerprint`]): its first place, how often it came, its level, time and worker, and
//! whether it is known to mean nothing. Which lines are worth reading says `notable.txt` (words) and
//! what means nothing `benign.txt` (patterns), both beside this file's parent; they are data.

mod head;
mod quoted;
mod time;

use std::collections::HashMap;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::RegexSet;

pub(crate) use head::{Head, read as read_head};
pub(crate) use quoted::is_quoted;

use super::fingerprint;
use super::marks::{Marked, Marks};
use crate::fact::{Fact, Line};
use crate::shell::Tri;
use crate::text::{self, TextLine};

/// A fact with the bytes of its stream that show it.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// What was seen.
    pub fact: Fact,
    /// First byte.
    pub from: u64,
    /// One past the last byte.
    pub to: u64,
}

/// Where lines come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Context<'a> {
    /// The file they are from; empty for a command's own output.
    pub path: &'a str,
    /// `log`, `stdout`, `stderr` or `tty`.
    pub source: &'a str,
    /// The program that showed them.
    pub program: &'a str,
    /// The year of times that print none, where it is known from elsewhere.
    pub year: Option<i64>,
}

/// An output of no more lines than this is worth reading whole.
const SHORT: usize = 40;
/// Of a very long output this many lines of its start and of its end are read, and as many notable
/// ones of its middle: a line's fingerprint costs more than finding that it is notable.
const START_READ: usize = 5_000;
const END_READ: usize = 20_000;
const MIDDLE_READ: usize = 20_000;
/// Of a long output as many kinds of lines are kept from its start, and from its end.
const KEPT: usize = 100;
/// A fact's text is cut at this many bytes.
pub(crate) const MAX_TEXT: usize = 2000;

/// The facts of the lines worth reading, one a kind, in the order of their first place.
///
/// All lines that are not blank when there are at most 40, else the notable ones: the first 100
/// kinds and the last 100.
pub(super) fn read_lines(lines: &[Marked<'_>], context: &Context<'_>) -> Vec<Seen> {
    let full = lines.iter().filter(|line| !line.line.is_blank());
    let short = full.take(SHORT + 1).count() <= SHORT;
    let mut kinds = Kinds::default();
    let middle = START_READ..lines.len().saturating_sub(END_READ);
    let mut left = MIDDLE_READ;
    for (ordinal, marked) in lines.iter().enumerate() {
        let (line, notable) = (marked.line, marked.marks.has(Marks::NOTABLE));
        if middle.contains(&ordinal) {
            if left == 0 || !notable {
                continue;
            }
            left -= 1;
        }
        let ordinal = i64::try_from(ordinal).unwrap_or(i64::MAX);
        let (last, from, to) = line.last_written();
        // What a rewritten line said before counts when it is notable and no bar.
        for state in line.states.iter().rev().skip(1).rev() {
            if is_notable(&state.text) && !super::progress::is_progress(&state.text) {
                kinds.add(&state.text, (state.from, state.to), ordinal, None, context);
            }
        }
        // Rules and the marks under a line of code say nothing by themselves.
        if (short || notable) && last.contains(|ch: char| ch.is_alphanumeric()) {
            kinds.add(last, (from, to), ordinal, marked.alike, context);
        }
    }
    kinds.into_seen(context)
}

/// The newest time that the last lines print, in microseconds since 1970.
pub fn newest_us(lines: &[&TextLine], year: Option<i64>) -> Option<i64> {
    let year = year.or_else(|| year_of(lines));
    lines
        .iter()
        .rev()
        .take(200)
        .filter_map(|line| time_of(line.last_written().0, year))
        .max()
}

/// The time a line prints, in microseconds since 1970.
pub(crate) fn time_of(line: &str, year: Option<i64>) -> Option<i64> {
    let head = head::read(line);
    head.when
        .and_then(|when| when.micros(year))
        .or_else(|| time::anywhere(line)?.micros(year))
}

/// The year that some line of the output prints, for those that print none.
pub(crate) fn year_of(lines: &[&TextLine]) -> Option<i64> {
    lines.iter().take(SHORT).find_map(|line| {
        let when = head::read(&line.text).when?;
        when.year()
    })
}

/// Whether a line holds a word of `notable.txt`.
pub fn is_notable(text: &str) -> bool {
    let text = text::cut(text, MAX_TEXT);
    let bytes = text.as_bytes();
    let lexicon = &*LEXICON;
    lexicon.search.find_overlapping_iter(text).any(|found| {
        let whole = lexicon
            .whole
            .get(found.pattern().as_usize())
            .copied()
            .unwrap_or(false);
        begins_word(bytes, found.start()) && (!whole || ends_word(bytes, found.end()))
    })
}

/// Whether a line is known to mean nothing.
pub fn is_benign(text: &str) -> bool {
    BENIGN.is_match(text::cut(text, MAX_TEXT))
}

struct Lexicon {
    search: AhoCorasick,
    whole: Vec<bool>,
}

/// The entries of a data file: its lines but comments and blank ones.
pub(crate) fn entries(data: &'static str) -> impl Iterator<Item = &'static str> {
    data.lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# ") && *line != "#")
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let words: Vec<&str> = entries(include_str!("notable.txt")).collect();
    let whole = words.iter().map(|word| word.starts_with('=')).collect();
    let search = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(words.iter().map(|word| word.trim_start_matches('=')))
        .unwrap_or_else(|error| panic!("notable.txt: {error}"));
    Lexicon { search, whole }
});

static BENIGN: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(entries(include_str!("benign.txt")))
        .unwrap_or_else(|error| panic!("benign.txt: {error}"))
});

/// A word begins here, `Error` within `RuntimeError` included.
fn begins_word(bytes: &[u8], at: usize) -> bool {
    let here = bytes.get(at).copied().unwrap_or(b' ');
    let after = bytes.get(at + 1).copied().unwrap_or(b' ');
    let Some(before) = at
        .checked_sub(1)
        .and_then(|before| bytes.get(before))
        .copied()
    else {
        return true;
    };
    !before.is_ascii_alphabetic()
        || (here.is_ascii_uppercase()
            && (before.is_ascii_lowercase() || after.is_ascii_lowercase()))
}

fn ends_word(bytes: &[u8], at: usize) -> bool {
    !bytes.get(at).is_some_and(u8::is_ascii_alphabetic)
}

/// A kind of line: its first place, and the last line of it.
struct Kind<'l> {
    seen: Seen,
    last: Option<&'l str>,
}

/// The kinds of lines met so far: the first ones, and the last ones.
#[derive(Default)]
struct Kinds<'l> {
    first: Vec<Kind<'l>>,
    last: std::collections::VecDeque<Kind<'l>>,
    /// Where a kind is: in `first`, or in `last` by its running number.
    places: HashMap<String, usize>,
    /// How many were dropped from the front of `last`.
    dropped: usize,
    /// The fingerprints of lines by [`Marked::alike`].
    alike: HashMap<u32, String>,
}

impl<'l> Kinds<'l> {
    fn add(
        &mut self,
        line: &'l str,
        span: (u64, u64),
        ordinal: i64,
        alike: Option<u32>,
        context: &Context<'_>,
    ) {
        let own;
        let fingerprint = match alike {
            Some(alike) => self
                .alike
                .entry(alike)
                .or_insert_with(|| fingerprint::fingerprint(line)),
            None => {
                own = fingerprint::fingerprint(line);
                &own
            }
        };
        let found = self.places.get(fingerprint).copied();
        let known = found.and_then(|place| match place.checked_sub(KEPT) {
            None => self.first.get_mut(place),
            Some(at) => at
                .checked_sub(self.dropped)
                .and_then(|at| self.last.get_mut(at)),
        });
        if let Some(kind) = known
            && let Fact::Line(known) = &mut kind.seen.fact
        {
            known.count += 1;
            known.last_ordinal = ordinal;
            kind.last = Some(line);
            return;
        }
        let fingerprint = fingerprint.clone();
        let fact = fact_of(line, fingerprint.clone(), ordinal, context);
        let seen = Seen {
            fact: fact.into(),
            from: span.0,
            to: span.1,
        };
        let kind = Kind { seen, last: None };
        if self.first.len() < KEPT {
            self.places.insert(fingerprint, self.first.len());
            self.first.push(kind);
            return;
        }
        self.places
            .insert(fingerprint, KEPT + self.dropped + self.last.len());
        self.last.push_back(kind);
        if self.last.len() > KEPT
            && let Some(kind) = self.last.pop_front()
            && let Fact::Line(gone) = kind.seen.fact
        {
            self.dropped += 1;
            self.places.remove(&gone.fingerprint);
        }
    }

    fn into_seen(self, context: &Context<'_>) -> Vec<Seen> {
        let kinds = self.first.into_iter().chain(self.last);
        let timed = kinds.map(|Kind { mut seen, last }| {
            if let Some(line) = last
                && let Some(time) = time_of(line, context.year)
                && let Fact::Line(fact) = &mut seen.fact
            {
                fact.last_time_us = Some(time);
            }
            seen
        });
        timed.collect()
    }
}

fn fact_of(line: &str, fingerprint: String, ordinal: i64, context: &Context<'_>) -> Line {
    let head = head::read(line);
    let time_us = head
        .when
        .and_then(|when| when.micros(context.year))
        .or_else(|| time::anywhere(line)?.micros(context.year));
    Line {
        path: context.path.to_owned(),
        source: context.source.to_owned(),
        program: context.program.to_owned(),
        text: text::cut(line.trim_end(), MAX_TEXT).to_owned(),
        level: head.level.to_owned(),
        fingerprint,
        time_us,
        ordinal,
        count: 1,
        last_ordinal: ordinal,
        last_time_us: time_us,
        worker: head.worker,
        benign: is_benign(line),
        quoted: is_quoted(context, line),
        old: Tri::Unknown,
    }
}

#[cfg(test)]
mod tests;
