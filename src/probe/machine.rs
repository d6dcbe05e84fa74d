//! The machine: `date`, `uptime`, `free`, `ulimit`, `env`; and readers of the times tools print.
//!
//! Sources: coreutils' `date` and `stat`, procps-ng, bash; `tests/fixtures/probes/date`, `…/free`.

use super::words::{Args, int, number, size_bytes};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, load};
use crate::fact::{self, Boot, Clock, Limit, Memory};
use crate::shell::Invocation;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// A day and a time of day, in microseconds since 1970, as if in UTC.
fn instant(year: i64, month: i64, day: i64, of_day_us: i64) -> Option<i64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days since 1970 by the civil calendar: years begin in March, so that leap days come last.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    days.checked_mul(86_400_000_000)?.checked_add(of_day_us)
}

/// `11:57:22`, `11:57:22.5`, in microseconds of the day.
pub(super) fn time_of_day(text: &str) -> Option<i64> {
    let mut parts = text.trim().split(':');
    let (hour, minute) = (int(parts.next()?)?, int(parts.next()?)?);
    let second = parts.next().unwrap_or("0");
    if parts.next().is_some() || !(0..24).contains(&hour) || !(0..60).contains(&minute) {
        return None;
    }
    let (whole, fraction) = second.split_once(['.', ',']).unwrap_or((second, ""));
    let second = int(whole).filter(|second| (0..=60).contains(second))?;
    let mut us = 0;
    let mut unit = 100_000;
    for digit in fraction.chars().take(6) {
        us += i64::from(digit.to_digit(10)?) * unit;
        unit /= 10;
    }
    Some(((hour * 60 + minute) * 60 + second) * 1_000_000 + us)
}

/// `2026-11-30` as year, month, day.
fn iso_day(text: &str) -> Option<(i64, i64, i64)> {
    let mut parts = text.split('-');
    let day = (
        int(parts.next()?)?,
        int(parts.next()?)?,
        int(parts.next()?)?,
    );
    parts.next().is_none().then_some(day)
}

/// `+0000`, `+02:00`, `Z`, `UTC` or a name of a zone that means one thing only, in microseconds east.
fn zone(text: &str) -> Option<i64> {
    let hours = |hours: i64| Some(hours * 3_600_000_000);
    match text {
        "Z" | "UTC" | "GMT" | "Etc/UTC" | "WET" => Some(0),
        "CET" | "WEST" | "BST_EU" => hours(1),
        "CEST" | "EET" => hours(2),
        "EEST" | "MSK" => hours(3),
        "EDT" => hours(-4),
        "EST" | "CDT" => hours(-5),
        "MDT" => hours(-6),
        "PDT" | "MST" => hours(-7),
        "PST" => hours(-8),
        "HKT" | "SGT" | "AWST" => hours(8),
        "JST" | "KST" => hours(9),
        "AEST" => hours(10),
        "AEDT" => hours(11),
        "NZST" => hours(12),
        "NZDT" => hours(13),
        _ => {
            let sign = match text.chars().next()? {
                '+' => 1,
                '-' => -1,
                _ => return None,
            };
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            let (hour, minute) = match digits.len() {
                2 => (int(&digits)?, 0),
                4 => (int(digits.get(..2)?)?, int(digits.get(2..)?)?),
                _ => return None,
            };
            Some(sign * (hour * 60 + minute) * 60_000_000)
        }
    }
}

/// `2026-11-30 10:42:28.326689518 +0000` or `2026-11-30T10:42:28+00:00`: exact, or nothing.
pub(super) fn iso_with_zone(text: &str) -> Option<i64> {
    let text = text.trim();
    let (day, rest) = text.split_once(['T', ' '])?;
    let (year, month, day) = iso_day(day)?;
    let (time, offset) = match rest.split_once(' ') {
        Some((time, offset)) => (time, offset),
        None => {
            let at = rest.find(['+', 'Z']).or_else(|| rest.rfind('-'))?;
            (rest.get(..at)?, rest.get(at..)?)
        }
    };
    instant(year, month, day, time_of_day(time)?)?.checked_sub(zone(offset)?)
}

/// Seconds since 1970, with or without a fraction, in microseconds.
pub(super) fn epoch(text: &str) -> Option<i64> {
    let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let seconds = int(whole).filter(|seconds| (100_000_000..100_000_000_000).contains(seconds))?;
    let micros: String = fraction.chars().chain("000000".chars()).take(6).collect();
    Some(seconds * 1_000_000 + int(&micros)?)
}

/// `Mon Nov 30 10:41:36 2026`, as nvidia-smi prints it: no zone, taken as UTC.
pub(super) fn ctime(text: &str) -> Option<i64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [weekday, month, day, time, year] = words.as_slice() else {
        return None;
    };
    DAYS.contains(weekday).then_some(())?;
    instant(int(year)?, month_of(month)?, int(day)?, time_of_day(time)?)
}

fn month_of(name: &str) -> Option<i64> {
    let at = MONTHS.iter().position(|month| *month == name)?;
    i64::try_from(at + 1).ok()
}

/// What `date` prints without a format, in the spellings of usual locales, and its `-R`.
fn date_in_words(text: &str) -> Option<i64> {
    let words: Vec<&str> = text
        .split_whitespace()
        .map(|word| word.trim_end_matches(','))
        .collect();
    let weekday = words.first()?;
    DAYS.iter()
        .any(|day| weekday.starts_with(day))
        .then_some(())?;
    let (mut month, mut day, mut year, mut of_day, mut offset, mut half) =
        (None, None, None, None, None, None);
    for word in words.get(1..)? {
        if let Some(found) = month_of(word.get(..3).unwrap_or("")) {
            month = Some(found);
        } else if word.contains(':') && of_day.is_none() {
            of_day = Some(time_of_day(word)?);
        } else if matches!(*word, "AM" | "PM") {
            half = Some(*word);
        } else if let Some(found) = int(word).filter(|_| !word.starts_with(['+', '-'])) {
            if found > 31 {
                year = Some(found);
            } else {
                day = Some(found);
            }
        } else {
            offset = Some(zone(word)?);
        }
    }
    let mut of_day = of_day?;
    let hour = of_day / 3_600_000_000;
    match half {
        Some("PM") if hour < 12 => of_day += 12 * 3_600_000_000,
        Some("AM") if hour == 12 => of_day -= 12 * 3_600_000_000,
        _ => {}
    }
    instant(year?, month?, day?, of_day)?.checked_sub(offset?)
}

/// A line that looks like a date of `date`, whether or not its zone is known.
fn looks_like_date(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    words
        .first()
        .is_some_and(|first| DAYS.iter().any(|day| first.starts_with(day)))
        && words.iter().any(|word| time_of_day(word).is_some())
        && (4..=8).contains(&words.len())
}

/// `date`.
pub(super) struct Date;

impl Date {
    fn format(invocation: &Invocation) -> Option<&str> {
        Args::of(invocation, "d date f file r reference s set")
            .texts()
            .find_map(|text| text.strip_prefix('+'))
    }

    /// The clock in a line.
    fn clock(text: &str, invocation: &Invocation) -> Option<Clock> {
        let text = text.trim();
        let full = |time_us: i64| Clock {
            time_us,
            day_unknown: false,
        };
        match Self::format(invocation) {
            None => date_in_words(text)
                .or_else(|| iso_with_zone(text))
                .map(full),
            Some(format) => {
                if let Some(rest) = format.strip_prefix("%s") {
                    let digits = text.get(
                        ..text
                            .find(|c: char| !c.is_ascii_digit() && c != '.')
                            .unwrap_or(text.len()),
                    )?;
                    let _ = rest;
                    return epoch(digits).map(full);
                }
                iso_with_zone(text).map(full).or_else(|| {
                    let mut day = None;
                    let mut of_day = None;
                    for word in text.split([' ', 'T', '_']) {
                        day = iso_day(word).or(day);
                        of_day = time_of_day(word).filter(|_| word.contains(':')).or(of_day);
                    }
                    match (day, of_day) {
                        (Some((year, month, day)), Some(of_day)) => {
                            instant(year, month, day, of_day).map(full)
                        }
                        (None, Some(time_us)) => Some(Clock {
                            time_us,
                            day_unknown: true,
                        }),
                        _ => None,
                    }
                })
            }
        }
    }
}

impl Probe for Date {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "date"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::exactly(1, move |line, _| {
            if Self::clock(line, ctx.invocation).is_some() {
                Fit::Surely
            } else if let Some(format) = Self::format(ctx.invocation) {
                // A clock has its colons, a day its dashes or strokes.
                let clock = ["%T", "%R", "%X", "%H:%M", "%c"]
                    .iter()
                    .any(|one| format.contains(one));
                let day = ["%F", "%D", "%x"].iter().any(|one| format.contains(one));
                if clock && !line.contains(':') || day && !line.contains(['-', '/']) {
                    Fit::No
                } else {
                    Fit::Perhaps
                }
            } else {
                looks_like_date(line).into()
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        if asks_another_time(ctx.invocation) {
            return; // another time than now
        }
        for line in lines {
            if let Some(clock) = Self::clock(&line.text, ctx.invocation) {
                sink.line(line, clock);
            }
        }
    }
}

/// `date -d yesterday`, `date -r FILE`, `date -s …` (but `-Iseconds` holds a `d` as well).
fn asks_another_time(invocation: &Invocation) -> bool {
    invocation.args().iter().any(|word| {
        let text = word.text.as_str();
        let short = text.starts_with('-') && !text.starts_with("--") && !text.starts_with("-I");
        short && text.contains(['d', 'f', 'r', 's'])
            || ["--date", "--file", "--reference", "--set"]
                .iter()
                .any(|long| text.starts_with(long))
    })
}

/// `uptime`, `w`.
pub(super) struct Uptime;

/// A terminal as `w` names it: `pts/0`, `tty1`, `:0`, `-`.
fn is_terminal(word: &str) -> bool {
    word == "-"
        || ["pts/", "tty", ":", "console"]
            .iter()
            .any(|start| word.starts_with(start))
}

impl Probe for Uptime {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(invocation.program(), "uptime" | "w")
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        if ctx.invocation.program() == "w" {
            return Grammar::any(|line, nth| {
                let head = line.contains(" up ") || line.starts_with("USER ");
                if head {
                    Fit::Surely
                } else if nth > 1 && line.split_whitespace().nth(1).is_some_and(is_terminal) {
                    Fit::Likely
                } else {
                    Fit::No
                }
            });
        }
        Grammar::exactly(1, |line, _| {
            if line.contains(" up ") && line.contains("load average")
                || line.starts_with("up ")
                || instant_without_zone(line).is_some()
            {
                Fit::Surely
            } else {
                Fit::No
            }
        })
    }

    fn read(&self, lines: &[Shown], _ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        for line in lines {
            if line.text.contains(" up ")
                && let Some(time_us) = line.text.split_whitespace().next().and_then(time_of_day)
            {
                sink.line(
                    line,
                    Clock {
                        time_us,
                        day_unknown: true,
                    },
                );
            } else if let Some(time_us) = instant_without_zone(&line.text) {
                // `uptime -s`
                sink.line(
                    line,
                    Boot {
                        time_us: Some(time_us),
                        text: line.text.trim().to_owned(),
                    },
                );
            }
            if let Some(load) = load::of_line(&line.text) {
                sink.line(line, load);
            }
        }
    }
}

/// `2025-01-30 08:11:02`
fn instant_without_zone(text: &str) -> Option<i64> {
    let (day, time) = text.trim().split_once(' ')?;
    let (year, month, day) = iso_day(day)?;
    instant(year, month, day, time_of_day(time)?)
}

/// `free`.
pub(super) struct Free;

impl Probe for Free {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "free"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let again = Args::of(ctx.invocation, "s c").has(&["s", "seconds", "c", "count"]);
        let grammar = Grammar::at_least(1, |line, _| {
            let start = line.trim_start();
            let known = [
                "Mem:",
                "Swap:",
                "total ",
                "-/+ buffers",
                "Low:",
                "High:",
                "Total:",
            ];
            let figures =
                line.contains(|c: char| c.is_ascii_digit()) || start.starts_with("total ");
            match known.iter().any(|word| start.starts_with(word)) {
                true if figures => Fit::Surely,
                true if ctx.filter.columns.is_some() || ctx.filter.reshaped => Fit::Likely,
                _ => Fit::No,
            }
        });
        if again {
            grammar
        } else {
            grammar.opened_by(ctx.filter, |line| line.trim_start().starts_with("total  "))
        }
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let args = Args::of(ctx.invocation, "s seconds c count");
        let mib = |unit: f64| unit / 1_048_576.0;
        let unit = if args.has(&["b", "bytes"]) {
            mib(1.0)
        } else if args.has(&["m", "mebi"]) {
            1.0
        } else if args.has(&["g", "gibi"]) {
            1024.0
        } else {
            mib(1024.0)
        };
        let mut memory: Option<(Shown, Memory)> = None;
        // The head says where `available` stands: `-w` parts the caches, old versions lack it.
        let mut available = Some(6 + usize::from(args.has(&["w", "wide"])));
        for line in lines {
            let words: Vec<&str> = line.text.split_whitespace().collect();
            if words.first() == Some(&"total") {
                available = words.iter().position(|word| *word == "available");
                available = available.map(|at| at + 1);
            }
            let size = |at: usize| {
                words
                    .get(at)
                    .and_then(|word| size_bytes(word, unit * 1_048_576.0))
                    .map(mib)
            };
            match words.first() {
                Some(&"Mem:") => {
                    if let Some((line, memory)) = memory.take() {
                        sink.line(&line, memory);
                    }
                    if let Some(total_mib) = size(1) {
                        let found = Memory {
                            total_mib,
                            used_mib: size(2),
                            available_mib: available.and_then(size),
                            swap_used_mib: None,
                        };
                        memory = Some((line.clone(), found));
                    }
                }
                Some(&"Swap:") => {
                    if let Some((_, memory)) = &mut memory {
                        memory.swap_used_mib = size(2);
                    }
                }
                _ => {}
            }
        }
        if let Some((line, memory)) = memory {
            sink.line(&line, memory);
        }
    }
}

/// `ulimit`.
pub(super) struct Ulimit;

/// The name, unit in bytes (or 1) and letter of a limit, as bash's `ulimit` knows it.
const LIMITS: &[(&str, &str, i64)] = &[
    ("n", "open files", 1),
    ("v", "address space", 1024),
    ("m", "resident set", 1024),
    ("u", "processes", 1),
    ("s", "stack size", 1024),
    ("c", "core file size", 1024),
    ("f", "file size", 1024),
    ("l", "locked memory", 1024),
    ("d", "data size", 1024),
    ("t", "cpu time", 1),
];

impl Probe for Ulimit {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "ulimit"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let args = Args::of(ctx.invocation, "");
        if args.has(&["a"]) {
            return Grammar::at_least(1, |line, _| {
                (line.contains("(-") && line.contains(") ")).into()
            });
        }
        if !args.operands.is_empty() {
            let mut grammar = Grammar::any(|_, _| Fit::No);
            grammar.max = Some(0);
            return grammar;
        }
        Grammar::exactly(1, |line, _| {
            if line == "unlimited" {
                Fit::Surely
            } else if int(line).is_some() {
                Fit::Likely
            } else {
                Fit::No
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let args = Args::of(ctx.invocation, "");
        for line in lines {
            let (letter, value) = match line.text.rsplit_once(") ").zip(line.text.split_once("-")) {
                Some(((_, value), (_, rest))) if args.has(&["a"]) => {
                    (rest.get(..1).unwrap_or(""), value.trim())
                }
                _ => (
                    LIMITS
                        .iter()
                        .map(|(letter, ..)| *letter)
                        .find(|letter| args.has(&[letter]))
                        .unwrap_or("f"),
                    line.text.trim(),
                ),
            };
            let letter = match line.text.rfind("(") {
                Some(at) if args.has(&["a"]) => line
                    .text
                    .get(at..)
                    .and_then(|rest| rest.split('-').nth(1))
                    .and_then(|rest| rest.get(..1))
                    .unwrap_or(letter),
                _ => letter,
            };
            let Some((_, name, unit)) = LIMITS.iter().find(|(one, ..)| *one == letter) else {
                continue;
            };
            let amount = int(value).map(|amount| amount.saturating_mul(*unit));
            if amount.is_none() && value != "unlimited" {
                continue;
            }
            let hard = args.has(&["H"]);
            sink.line(
                line,
                Limit {
                    name: (*name).to_owned(),
                    soft: amount.filter(|_| !hard),
                    hard: amount.filter(|_| hard),
                    unlimited: value == "unlimited",
                    pid: None,
                },
            );
        }
    }
}

/// `env`, `printenv`, `set` without words, `export -p`.
pub(super) struct Env;

/// A line `NAME=value`.
pub(super) fn assignment(text: &str) -> Option<fact::Env> {
    let (name, value) = text.split_once('=')?;
    let good = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    good.then(|| fact::Env {
        name: name.to_owned(),
        value: value.to_owned(),
    })
}

impl Probe for Env {
    fn recognises(&self, invocation: &Invocation) -> bool {
        match invocation.program() {
            "env" | "printenv" => true,
            "set" => invocation.args().is_empty(),
            _ => false,
        }
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let named = Args::of(ctx.invocation, "").operands.len();
        if named > 0 {
            let mut grammar = Grammar::any(|_, _| Fit::Perhaps);
            grammar.max = Some(named);
            return grammar;
        }
        Grammar::any(|line, nth| {
            if assignment(line).is_some() {
                Fit::Surely
            } else if nth > 0 {
                Fit::Hardly // a value of several lines
            } else {
                Fit::No
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let names: Vec<&str> = Args::of(ctx.invocation, "").texts().collect();
        if ctx.invocation.program() == "printenv" && !names.is_empty() {
            if names.len() == lines.len() {
                for (line, name) in lines.iter().zip(names) {
                    let (name, value) = (name.to_owned(), line.text.clone());
                    sink.line(line, fact::Env { name, value });
                }
            }
            return;
        }
        for line in lines {
            if let Some(variable) = assignment(&line.text) {
                sink.line(line, variable);
            }
        }
    }
}

/// `kB` values of `/proc/meminfo` and `/proc/PID/status`.
pub(super) fn kib(rest: &str) -> Option<f64> {
    rest.trim().strip_suffix("kB").and_then(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<i64> {
        crate::time::Micros::parse(text).ok().map(|time| time.0)
    }

    #[test]
    fn dates_come_in_many_spellings() {
        let expected = at("2026-11-30T10:42:28Z");
        for text in [
            "Mon Nov 30 10:42:28 AM UTC 2026",
            "Mon Nov 30 10:42:28 UTC 2026",
            "Mon, 30 Nov 2026 10:42:28 +0000",
            "Mon 30 Nov 2026 10:42:28 AM UTC",
            "Mon Nov 30 11:42:28 CET 2026",
            "Mon Nov 30 05:42:28 EST 2026",
        ] {
            assert_eq!(date_in_words(text), expected, "{text}");
        }
        assert_eq!(
            date_in_words("Tue Dec 3 21:35:01 CST 2024"),
            None,
            "CST is two zones"
        );
        assert_eq!(
            date_in_words("Mon Nov 30 12:42:28 AM UTC 2026"),
            at("2026-11-30T00:42:28Z")
        );
    }

    #[test]
    fn iso_times_are_exact() {
        assert_eq!(
            iso_with_zone("2026-11-30 10:42:28.326689518 +0000"),
            at("2026-11-30T10:42:28.326689Z")
        );
        assert_eq!(
            iso_with_zone("2026-11-30T10:42:28+02:00"),
            at("2026-11-30T08:42:28Z")
        );
        assert_eq!(iso_with_zone("2025-03-01 22:14"), None);
        assert_eq!(epoch("1764499348"), at("2025-11-30T10:42:28Z"));
        assert_eq!(
            ctime("Mon Nov 30 10:41:36 2026"),
            at("2026-11-30T10:41:36Z")
        );
    }
}
