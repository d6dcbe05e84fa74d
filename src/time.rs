//! Time: a wall-clock instant in microseconds, and the one place that asks what time it is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An instant: microseconds since 1970-01-01T00:00:00Z, by the recorder's clock.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct Micros(pub i64);

impl Micros {
    /// Now, by the machine's wall clock.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the wall clock"
    )]
    pub fn now() -> Self {
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        Self(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    /// This instant plus a number of microseconds (negative goes back).
    #[must_use]
    pub fn plus_us(self, us: i64) -> Self {
        Self(self.0.saturating_add(us))
    }

    /// Seconds from `earlier` to this instant.
    pub fn seconds_since(self, earlier: Self) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a difference of microseconds, shown in seconds"
        )]
        let seconds = self.0.saturating_sub(earlier.0) as f64 / 1e6;
        seconds
    }

    /// Parses RFC 3339, with a `T` or a space between date and time.
    ///
    /// # Errors
    /// Gives the parser's own words when the text is no such time.
    pub fn parse(text: &str) -> Result<Self, String> {
        let stamp: jiff::Timestamp = text
            .trim()
            .parse()
            .map_err(|error: jiff::Error| error.to_string())?;
        Ok(Self(stamp.as_microsecond()))
    }

    /// RFC 3339 in UTC with microseconds, as the JSON contract wants it.
    pub fn rfc3339(self) -> String {
        jiff::Timestamp::from_microsecond(self.0)
            .map_or_else(|_| format!("{} µs", self.0), |stamp| format!("{stamp:.6}"))
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rfc3339())
    }
}

/// Writes a duration as people read it: `0.4 s`, `12 s`, `3 m 12 s`, `2 h 5 m`, `3 d 4 h`.
pub fn human_duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0);
    if seconds < 10.0 {
        return format!("{seconds:.1} s");
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and whole seconds are meant"
    )]
    let whole = seconds.round() as u64;
    match whole {
        0..=59 => format!("{whole} s"),
        60..=3_599 => format!("{} m {} s", whole / 60, whole % 60),
        3_600..=86_399 => format!("{} h {} m", whole / 3_600, whole % 3_600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3_600),
    }
}

/// A number of things: `1 command`, `2 commands`, `3 matches`.
pub fn counted<N: std::fmt::Display>(count: N, word: &str) -> String {
    let count = count.to_string();
    let ending = match count.as_str() {
        "1" => "",
        _ if word.ends_with(['s', 'x']) || word.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{count} {word}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_spellings_of_a_time() {
        assert_eq!(
            Micros::parse("2026-11-30T10:00:00Z"),
            Micros::parse("2026-11-30 10:00:00Z")
        );
        assert!(Micros::parse("yesterday").is_err());
    }

    #[test]
    fn writes_utc_with_microseconds() {
        let time = Micros::parse("2026-11-30T11:00:00.5+01:00").unwrap();
        assert_eq!(time.rfc3339(), "2026-11-30T10:00:00.500000Z");
    }

    #[test]
    fn durations_read_like_speech() {
        assert_eq!(human_duration(0.42), "0.4 s");
        assert_eq!(human_duration(192.0), "3 m 12 s");
    }
}
