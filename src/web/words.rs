//! How times, sizes, exits, beliefs and marks are said on pages.

use jiff::tz::TimeZone;

use crate::diagnosis::{Claim, Finding, Severity, Status, kinds, words};
use crate::event::Exit;
use crate::time::{Micros, human_duration};

use super::data::SessionCard;

/// A time, ready for a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stamp {
    /// What is shown.
    pub text: String,
    /// With date and offset, on hover.
    pub full: String,
    /// For machines.
    pub iso: String,
    /// The day, for headings; empty in a session of relative time.
    pub day: String,
}

impl Stamp {
    /// The time of day, or the time since the beginning in a session of relative time.
    pub fn of(at: Micros, relative: bool) -> Self {
        if relative {
            let text = format!("+{}", human_duration(at.seconds_since(Micros(0))));
            return Self {
                full: format!("{text} after the beginning; the recording names no date"),
                text,
                ..Self::default()
            };
        }
        Self::formatted(at, "%H:%M:%S")
    }

    /// Day and time of day: `Mon 30 Nov 2026, 11:02`.
    pub fn day_and_time(at: Micros, relative: bool) -> Self {
        if relative {
            return Self::of(at, true);
        }
        Self::formatted(at, "%a %-d %b %Y, %H:%M")
    }

    /// When a session was: its last event's day and time, or how long it is where no date is known.
    pub fn of_session(card: &SessionCard) -> Self {
        if card.relative {
            let span = human_duration(card.last.seconds_since(card.started));
            return Self {
                text: format!("over {span}"),
                full: "the recording names no date".to_owned(),
                ..Self::default()
            };
        }
        Self::day_and_time(card.last, false)
    }

    fn formatted(at: Micros, pattern: &str) -> Self {
        let Ok(stamp) = jiff::Timestamp::from_microsecond(at.0) else {
            return Self {
                text: format!("{at}"),
                ..Self::default()
            };
        };
        let local = stamp.to_zoned_datetime(TimeZone::system());
        Self {
            text: local.strftime(pattern).to_string(),
            full: local.strftime("%A %-d %B %Y, %H:%M:%S %:z").to_string(),
            iso: at.rfc3339(),
            day: local.strftime("%A %-d %B %Y").to_string(),
        }
    }
}

/// How long a command ran; empty where that is unknown.
pub fn took(seconds: Option<f64>) -> String {
    match seconds {
        None => String::new(),
        Some(seconds) if seconds < 0.0995 => format!("{:.0} ms", (seconds * 1e3).max(0.0)),
        Some(seconds) => human_duration(seconds),
    }
}

/// A count with thin spaces between its thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 command`, `12 commands`.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number))
}

/// How a command ended, ready for a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExitView {
    /// The mark: `✓`, `✗ 1`, `⚡ 9`, `…`.
    pub mark: String,
    /// The mark's shape alone, to stand before words.
    pub shape: &'static str,
    /// In words, for hover and screen readers.
    pub words: String,
    /// The class: `ok`, `failed`, `killed`, `running`, `lost`, `stopped`.
    pub class: &'static str,
}

/// The names of signals that people meet.
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        19 => "SIGSTOP",
        20 => "SIGTSTP",
        21 => "SIGTTIN",
        22 => "SIGTTOU",
        _ => return None,
    })
}

fn signal_words(signal: i32) -> String {
    signal_name(signal).map_or_else(
        || format!("signal {signal}"),
        |name| format!("signal {signal} ({name})"),
    )
}

/// How a command ended.
pub fn exit(exit: Exit) -> ExitView {
    let (mark, words, class) = match exit {
        Exit::Code(0) => ("✓".to_owned(), "exit 0".to_owned(), "ok"),
        Exit::Code(code) => (format!("✗ {code}"), format!("exit {code}"), "failed"),
        Exit::Signal(signal) => (
            format!("⚡\u{fe0e} {signal}"),
            format!("ended by {}", signal_words(signal)),
            "killed",
        ),
        Exit::Lost => (
            "?".to_owned(),
            "nobody saw its end: the recorder or the machine died".to_owned(),
            "lost",
        ),
        Exit::Running => ("…".to_owned(), "running".to_owned(), "running"),
        Exit::Stopped(signal) => (
            format!("‖ {signal}"),
            format!("stopped by {}", signal_words(signal)),
            "stopped",
        ),
    };
    let shape = match class {
        "ok" => "✓",
        "failed" => "✗",
        "killed" => "⚡\u{fe0e}",
        "lost" => "?",
        "stopped" => "‖",
        _ => "…",
    };
    ExitView {
        mark,
        shape,
        words,
        class,
    }
}

/// The class of a bar, in twentieths of its full length: `b0` … `b20`.
pub fn bar(share: f64) -> &'static str {
    const BARS: [&str; 21] = [
        "b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9", "b10", "b11", "b12", "b13",
        "b14", "b15", "b16", "b17", "b18", "b19", "b20",
    ];
    BARS.iter()
        .enumerate()
        .rev()
        .find(|(step, _)| {
            #[expect(clippy::cast_precision_loss, reason = "at most 20")]
            let from = *step as f64 / 20.0 - 0.025;
            share >= from
        })
        .map_or("b0", |(_, class)| *class)
}

/// The sign of a finding: its shape says how sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sign {
    /// `●` established, `◐` suspected, `○` observed, `✓` healthy.
    pub mark: &'static str,
    /// The word for it.
    pub word: &'static str,
    /// The class that colours it: `good`, `bad`, `warn`, `calm`.
    pub class: &'static str,
}

/// The sign of a finding.
pub fn sign(finding: &Finding) -> Sign {
    sign_of(
        &finding.kind,
        finding.claim,
        finding.severity,
        finding.status,
    )
}

/// The sign of a finding of that kind, claim, severity and status.
pub fn sign_of(kind: &str, claim: Claim, severity: Severity, status: Status) -> Sign {
    let is_fine = kinds::harmless(kind);
    let (mark, word) = match claim {
        _ if is_fine => (words::HEALTHY_MARK, "healthy"),
        Claim::Established => (words::claim_mark(claim), "established"),
        Claim::Suspected => (words::claim_mark(claim), "suspected"),
        Claim::Observed => (words::claim_mark(claim), "observed"),
    };
    let class = match (status, severity) {
        _ if is_fine => "good",
        (Status::Resolved | Status::Dismissed, _) => "calm",
        (_, Severity::Critical | Severity::High) => "bad",
        (_, Severity::Medium) => "warn",
        (_, Severity::Low | Severity::Info) => "calm",
    };
    Sign { mark, word, class }
}

/// The word for where a finding stands; empty while it is simply open.
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Open => "",
        Status::Resolved => "resolved",
        Status::Confirmed => "confirmed",
        Status::Dismissed => "dismissed",
    }
}

/// Shortens a text in its middle to that many characters, on one line.
pub fn shorten(text: &str, most: usize) -> String {
    let mut one_line = String::new();
    for line in text.split('\n').map(str::trim_end) {
        if one_line.len() > most.saturating_mul(40) {
            break;
        }
        if !one_line.is_empty() && !line.is_empty() {
            one_line.push_str(" ⏎ ");
        }
        one_line.push_str(line);
    }
    let length = one_line.chars().count();
    if length <= most {
        return one_line;
    }
    let head = most * 2 / 3;
    let tail = most.saturating_sub(head + 3);
    let start: String = one_line.chars().take(head).collect();
    let end: String = one_line.chars().skip(length - tail).collect();
    format!("{} … {}", start.trim_end(), end.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_counts_read_well() {
        assert_eq!(count(100_000), "100\u{202f}000");
        assert_eq!(counted(1, "command"), "1 command");
    }

    #[test]
    fn a_bar_grows_in_twentieths() {
        assert_eq!((bar(0.0), bar(0.51), bar(1.0)), ("b0", "b10", "b20"));
        assert_eq!(bar(f64::NAN), "b0");
    }

    #[test]
    fn shortening_keeps_both_ends() {
        let text = format!("ssh host '{}' tail", "x".repeat(500));
        let short = shorten(&text, 60);
        assert!(short.starts_with("ssh host") && short.ends_with("tail"));
        assert!(short.chars().count() <= 60);
        assert_eq!(shorten("a\n\nb", 10), "a ⏎ b");
    }

    #[test]
    fn an_exit_has_a_mark_and_words() {
        assert_eq!(exit(Exit::Signal(9)).words, "ended by signal 9 (SIGKILL)");
        assert_eq!(exit(Exit::Code(255)).mark, "✗ 255");
    }
}
