//! How the terminal is written to: width, colour, marks, times.

use std::io::IsTerminal;

use rustix::termios::tcgetwinsize;

use crate::event::Exit;
use crate::time::Micros;

/// The narrowest and widest a view gets, in columns.
const WIDTHS: std::ops::RangeInclusive<usize> = 60..=110;
/// Columns when nobody says how wide it is.
const PLAIN_WIDTH: usize = 100;

/// What the reader's terminal can do, and how times are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paint {
    /// Columns.
    pub width: usize,
    /// Escapes for colour may be written.
    pub colour: bool,
    /// Times in UTC.
    pub utc: bool,
}

impl Paint {
    /// Reads it off standard output and the environment (`NO_COLOR`, `COLUMNS`).
    pub fn of_stdout(utc: bool) -> Self {
        let stdout = std::io::stdout();
        let terminal = stdout.is_terminal();
        let columns = tcgetwinsize(&stdout)
            .ok()
            .map(|size| usize::from(size.ws_col));
        let named = std::env::var("COLUMNS")
            .ok()
            .and_then(|text| text.parse().ok());
        let width = columns
            .filter(|columns| *columns > 0)
            .or(named)
            .unwrap_or(PLAIN_WIDTH);
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        // A terminal that nobody names may know no colours.
        let dumb = std::env::var("TERM").map_or(true, |term| term.is_empty() || term == "dumb");
        Self {
            width: width.clamp(*WIDTHS.start(), *WIDTHS.end()),
            colour: terminal && !no_colour && !dumb,
            utc,
        }
    }

    /// A text in an SGR style, when colours may be written.
    pub fn style(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// Dim text: what is read second.
    pub fn dim(self, text: &str) -> String {
        self.style("2", text)
    }

    /// Bold text: what is read first.
    pub fn bold(self, text: &str) -> String {
        self.style("1", text)
    }

    /// A time of day, or seconds since the session's start where its times are relative.
    pub fn clock(self, at: Micros, start: Micros, relative: bool) -> String {
        if relative {
            return format!("+{}", crate::time::human_duration(at.seconds_since(start)));
        }
        let Ok(stamp) = jiff::Timestamp::from_microsecond(at.0) else {
            return "?".to_owned();
        };
        let zone = if self.utc {
            jiff::tz::TimeZone::UTC
        } else {
            jiff::tz::TimeZone::system()
        };
        stamp
            .to_zoned_datetime(zone)
            .strftime("%H:%M:%S")
            .to_string()
    }

    /// A day and a time.
    pub fn day(self, at: Micros) -> String {
        let Ok(stamp) = jiff::Timestamp::from_microsecond(at.0) else {
            return "?".to_owned();
        };
        let zone = if self.utc {
            jiff::tz::TimeZone::UTC
        } else {
            jiff::tz::TimeZone::system()
        };
        stamp
            .to_zoned_datetime(zone)
            .strftime("%Y-%m-%d %H:%M")
            .to_string()
    }
}

/// The mark of an exit: `✓`, `✗ 1`, `⚡ 9`, `…` while it runs, `■` while it is stopped, `?` lost.
pub fn exit_mark(exit: Exit) -> String {
    match exit {
        Exit::Code(0) => "✓".to_owned(),
        Exit::Code(code) => format!("✗ {code}"),
        Exit::Signal(signal) => format!("⚡ {signal}"),
        Exit::Running => "…".to_owned(),
        Exit::Stopped(_) => "■".to_owned(),
        Exit::Lost => "?".to_owned(),
    }
}

/// The style of an exit's mark.
pub fn exit_style(exit: Exit) -> &'static str {
    match exit {
        Exit::Code(0) => "32",
        Exit::Code(_) | Exit::Signal(_) => "31",
        Exit::Running | Exit::Stopped(_) | Exit::Lost => "33",
    }
}

/// Pads a text on the right to a number of characters.
pub fn pad(text: &str, width: usize) -> String {
    let have = text.chars().count();
    format!("{text}{}", " ".repeat(width.saturating_sub(have)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_nothing_is_added() {
        let paint = Paint {
            width: 80,
            colour: false,
            utc: true,
        };
        assert_eq!(paint.bold("x"), "x");
        assert_eq!(paint.clock(Micros(61_000_000), Micros(0), true), "+1 m 1 s");
    }
}
