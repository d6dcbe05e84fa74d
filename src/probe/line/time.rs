//! The time a line prints.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::probe::pattern::pattern;

/// A time as printed: some of it may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct When {
    year: Option<i64>,
    /// Month and day.
    day: Option<(i64, i64)>,
    seconds: i64,
    micros: i64,
    /// Seconds east of UTC, where a zone is printed.
    offset: i64,
    /// Microseconds since 1970, where that is what was printed.
    epoch: Option<i64>,
}

impl When {
    /// Microseconds since 1970, UTC where no zone stands; `None` when the date cannot be told.
    /// `year` stands in where none is printed.
    pub(super) fn micros(self, year: Option<i64>) -> Option<i64> {
        if self.epoch.is_some() {
            return self.epoch;
        }
        let (month, day) = self.day?;
        let days = days_from_civil(self.year.or(year)?, month, day);
        Some((days * 86_400 + self.seconds - self.offset) * 1_000_000 + self.micros)
    }

    /// The year, where one is printed.
    pub(super) fn year(self) -> Option<i64> {
        self.year
    }

    /// A number that stands for a time: seconds, milliseconds, microseconds or nanoseconds.
    pub(super) fn of_number(number: f64) -> Option<Self> {
        let seconds = match number {
            n if (1e9..1e10).contains(&n) => n,
            n if (1e12..1e13).contains(&n) => n / 1e3,
            n if (1e15..1e16).contains(&n) => n / 1e6,
            n if (1e18..1e19).contains(&n) => n / 1e9,
            _ => return None,
        };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "between 1e15 and 1e16, and whole"
        )]
        let micros = (seconds * 1e6).round() as i64;
        Some(Self {
            epoch: Some(micros),
            ..Self::default()
        })
    }
}

/// Seconds since 1970 at the front of a text, and their length: `1786342981: `, `1786342981.123 `.
///
/// Only of the years 2001 to 2043, and only where what follows says that the number is one of a
/// prefix: a colon and a blank, or a fraction of three digits and a blank.
pub(super) fn unix_at_front(text: &str) -> Option<(When, usize)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: f64 = (digits == 10)
        .then(|| text.get(..digits)?.parse().ok())
        .flatten()?;
    let rest = text.get(digits..)?;
    if rest.starts_with(": ") || rest.is_empty() {
        return (number < 2.3e9)
            .then(|| When::of_number(number))
            .flatten()
            .map(|when| (when, digits));
    }
    let parts = rest.strip_prefix('.')?;
    let thousandths = parts.get(..3)?.parse::<u32>().ok()?;
    let ends = parts.get(3..)?.starts_with([' ', '\t']);
    let number = number + f64::from(thousandths) / 1e3;
    let when = (ends && number < 2.3e9)
        .then(|| When::of_number(number))
        .flatten()?;
    Some((when, digits + 4))
}

/// Days since 1970-01-01 of a date of the Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

const MONTHS: &str = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec";
const CLOCK: &str = r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?:[.,:](?P<f>\d{1,9}))?";
const ZONE: &str = r"(?: ?(?P<zone>Z\b|UTC\b|GMT\b|[+-]\d\d:?\d\d\b))?";

/// The shapes of times, most telling first.
static SHAPES: LazyLock<[Regex; 7]> = LazyLock::new(|| {
    let shape = |text: String| pattern(&text);
    [
        // 2026-11-30 10:42:49,123 +0000, 2026/11/30 10:42:49, 2026-11-30T10:42:49Z
        shape(format!(
            r"^(?P<y>\d{{4}})[-/](?P<mo>\d\d)[-/](?P<d>\d\d)[T _:]{CLOCK}{ZONE}"
        )),
        // 11/30/2026-10:42:49
        shape(format!(
            r"^(?P<mo>\d\d)/(?P<d>\d\d)/(?P<y>\d{{4}})[- ,]+{CLOCK}"
        )),
        // 30/Nov/2026:12:05:13 +0000, 30 Nov 2026 11:53:11.313
        shape(format!(
            r"^(?P<d>\d{{1,2}})[ /](?P<mon>{MONTHS})[ /](?P<y>\d{{4}})[ :]{CLOCK}{ZONE}"
        )),
        // Mon Nov 30 10:42:28 AM UTC 2026, Nov 30 12:07:34, Tue Mar  4 09:01:12 2025
        shape(format!(
            r"^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +)?(?P<mon>{MONTHS}) +(?P<d>\d{{1,2}}) {CLOCK}(?: (?P<half>[AP]M))?(?: (?P<name>[A-Z]{{3,4}})\b)?(?: (?P<y>\d{{4}})\b)?"
        )),
        // Mon, 30 Nov 2026 12:03:38 +0000 (the day's name)
        shape(format!(
            r"^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?P<d>\d{{1,2}}) (?P<mon>{MONTHS}) (?P<y>\d{{4}}) {CLOCK}{ZONE}"
        )),
        // 05-20 20:34:50
        shape(format!(r"^(?P<mo>\d\d)-(?P<d>\d\d) {CLOCK}")),
        // 11:53:29
        shape(format!(r"^{CLOCK}")),
    ]
});

/// The time at the front of a text, and its length.
pub(super) fn at_front(text: &str) -> Option<(When, usize)> {
    if !text.starts_with(|ch: char| ch.is_ascii_digit() || ch.is_ascii_uppercase()) {
        return None;
    }
    if !may_be_time(text.as_bytes()) {
        return None;
    }
    let found = SHAPES.iter().find_map(|shape| shape.captures(text))?;
    let length = found.get(0).map_or(0, |all| all.end());
    Some((when(&found)?, length))
}

/// Whether a text can begin with a time: the name of a day or month, or digits and a mark.
fn may_be_time(text: &[u8]) -> bool {
    match text {
        [b'0'..=b'9', ..] => {
            let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let mark = text.get(digits).copied().unwrap_or(b'x');
            match digits {
                4 => matches!(mark, b'-' | b'/'),
                2 => matches!(mark, b':' | b'-' | b' ' | b'/'),
                1 => matches!(mark, b' ' | b'/'),
                _ => false,
            }
        }
        [first, second, third, ..] => {
            let name = [*first, *second, *third];
            NAMES.iter().any(|known| **known == name)
        }
        _ => false,
    }
}

/// Days and months, as they are shortened.
const NAMES: [&[u8; 3]; 19] = [
    b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun", b"Jan", b"Feb", b"Mar", b"Apr", b"May",
    b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// The first full time within the first 160 bytes of a text.
pub(super) fn anywhere(text: &str) -> Option<When> {
    let text = crate::text::cut(text, 160);
    let starts = text.char_indices().scan(' ', |before, (at, ch)| {
        let here = (at, ch, *before);
        *before = ch;
        Some(here)
    });
    starts
        .filter(|(_, ch, before)| {
            (ch.is_ascii_digit() || ch.is_ascii_uppercase()) && !before.is_ascii_alphanumeric()
        })
        .find_map(|(at, _, _)| at_front(text.get(at..)?))
        .map(|(when, _)| when)
        .filter(|when| when.day.is_some())
}

fn when(found: &Captures<'_>) -> Option<When> {
    let number = |name: &str| {
        found
            .name(name)
            .and_then(|digits| digits.as_str().parse::<i64>().ok())
    };
    let month = match found.name("mon") {
        Some(name) => MONTHS
            .split('|')
            .position(|month| month == name.as_str())
            .map(|at| at + 1),
        None => number("mo").and_then(|month| usize::try_from(month).ok()),
    };
    let month = month.and_then(|month| i64::try_from(month).ok());
    let day = match (month, number("d")) {
        (Some(month), Some(day)) if (1..=12).contains(&month) && (1..=31).contains(&day) => {
            Some((month, day))
        }
        (None, None) => None,
        _ => return None,
    };
    let hour = match (number("h")?, found.name("half").map(|half| half.as_str())) {
        (12, Some("AM")) => 0,
        (hour, Some("PM")) if hour < 12 => hour + 12,
        (hour, _) => hour,
    };
    let (minute, second) = (number("m")?, number("s")?);
    if hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    Some(When {
        year: number("y"),
        day,
        seconds: hour * 3600 + minute * 60 + second,
        micros: found
            .name("f")
            .map_or(0, |digits| fraction(digits.as_str())),
        offset: found.name("zone").map_or(0, |zone| offset(zone.as_str())),
        epoch: None,
    })
}

/// The glog and c10d shape: month and day without a separator (`1130`, `516`), then a clock.
pub(super) fn packed(month_day: &str, clock: &str) -> Option<When> {
    let split = month_day.len().checked_sub(2)?;
    let month: i64 = month_day.get(..split)?.parse().ok()?;
    let day: i64 = month_day.get(split..)?.parse().ok()?;
    let (when, _) = at_front(clock)?;
    let valid = (1..=12).contains(&month) && (1..=31).contains(&day);
    valid.then_some(When {
        day: Some((month, day)),
        ..when
    })
}

fn fraction(digits: &str) -> i64 {
    let six: String = digits
        .chars()
        .chain(std::iter::repeat('0'))
        .take(6)
        .collect();
    six.parse().unwrap_or(0)
}

fn offset(zone: &str) -> i64 {
    let sign = match zone.as_bytes().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return 0,
    };
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let part = |range: std::ops::Range<usize>| {
        digits
            .get(range)
            .and_then(|part| part.parse::<i64>().ok())
            .unwrap_or(0)
    };
    sign * (part(0..2) * 3600 + part(2..4) * 60)
}

#[cfg(test)]
mod tests {
    use super::{anywhere, at_front, days_from_civil};
    use crate::time::Micros;

    #[test]
    fn reads_the_usual_shapes() {
        let cases = [
            ("2026-11-30 10:42:49", "2026-11-30T10:42:49Z"),
            ("2026-11-30T10:42:49.5Z x", "2026-11-30T10:42:49.5Z"),
            ("2026-11-30 12:03:18 +0130] x", "2026-11-30T10:33:18Z"),
            ("2026/11/30 12:07:34 [error]", "2026-11-30T12:07:34Z"),
            ("2025-06-13 01:49:41,730 E 1 1]", "2025-06-13T01:49:41.730Z"),
            ("30 Nov 2026 11:53:11.313 # x", "2026-11-30T11:53:11.313Z"),
            ("30/Nov/2026:12:05:13 +0000", "2026-11-30T12:05:13Z"),
            ("Tue Mar  4 09:01:12 2025] NVRM", "2025-03-04T09:01:12Z"),
            ("Mon Nov 30 10:42:28 PM UTC 2026", "2026-11-30T22:42:28Z"),
            ("Nov 30 12:07:34 host", "2026-11-30T12:07:34Z"),
            ("05-20 20:34:50 [x]", "2026-05-20T20:34:50Z"),
        ];
        for (text, want) in cases {
            let micros = at_front(text).and_then(|(when, _)| when.micros(Some(2026)));
            assert_eq!(micros, Some(Micros::parse(want).unwrap().0), "{text}");
        }
        let access = anywhere("10.40.0.1 - - [30/Nov/2026 12:05:13] \"HEAD\"").unwrap();
        assert_eq!(
            access.micros(None),
            Some(Micros::parse("2026-11-30T12:05:13Z").unwrap().0)
        );
    }

    #[test]
    fn a_date_that_is_not_printed_is_not_made_up() {
        for text in ["11:53:29 tick", "Nov 30 12:07:34 host", "05-20 20:34:50"] {
            let (when, _) = at_front(text).unwrap();
            assert_eq!(when.micros(None), None, "{text}");
        }
        assert!(at_front("2026-19-30 10:42:49").is_none());
        assert!(at_front("nothing").is_none());
    }

    #[test]
    fn counts_days() {
        assert_eq!(days_from_civil(1970, 1, 1), 0);
        assert_eq!(days_from_civil(2000, 3, 1), 11_017);
        assert_eq!(days_from_civil(2024, 2, 29), 19_782);
    }
}
