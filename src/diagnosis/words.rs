//! The words and marks of a diagnosis, the same in terminal, page and postmortem.
//!
//! Belief is told in words: the numbers behind them come from words (`usually`, `rarely`) and would
//! feign precision.

use super::experience::{SeenBefore, SeenIn};
use super::{Claim, Finding, Hypothesis, Scope, Severity, Status, kinds};
use crate::id::SessionId;
use crate::time::counted;

/// Cells of a full bar.
const BAR_CELLS: u8 = 5;

/// Belief in words: `very likely`, `likely`, `possible`, `unlikely`.
///
/// The borders are where odds change their name in speech: four to one, even, four to one against.
pub fn belief(probability: f64) -> &'static str {
    if probability >= 0.8 {
        "very likely"
    } else if probability >= 0.5 {
        "likely"
    } else if probability >= 0.2 {
        "possible"
    } else {
        "unlikely"
    }
}

/// A bar of one to five cells; a hair's breadth for next to nothing.
pub fn bar(probability: f64) -> String {
    let filled = (1..=BAR_CELLS)
        .filter(|cell| probability * f64::from(BAR_CELLS) >= f64::from(*cell) - 0.5)
        .count();
    if filled == 0 {
        "▏".to_owned()
    } else {
        "▇".repeat(filled)
    }
}

/// The mark of a claim: `●` established, `◐` suspected, `○` observed.
pub fn claim_mark(claim: Claim) -> &'static str {
    match claim {
        Claim::Established => "●",
        Claim::Suspected => "◐",
        Claim::Observed => "○",
    }
}

/// The mark of what nobody looked at.
pub const UNKNOWN_MARK: &str = "?";

/// The mark of good news.
pub const HEALTHY_MARK: &str = "✓";

/// The mark of a finding: that of its claim, or that of good news.
pub fn finding_mark(finding: &Finding) -> &'static str {
    if kinds::harmless(&finding.kind) {
        HEALTHY_MARK
    } else {
        claim_mark(finding.claim)
    }
}

/// A severity in a word.
pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Low => "low",
        Severity::Medium => "medium",
        Severity::High => "high",
        Severity::Critical => "critical",
    }
}

/// What stands at the right of a finding's title: how bad it is, or that it is over.
pub fn finding_state(finding: &Finding) -> String {
    let severity = severity(finding.severity);
    match finding.status {
        Status::Open if finding.kind.ends_with("healthy") => "healthy".to_owned(),
        Status::Open if kinds::harmless(&finding.kind) => "harmless".to_owned(),
        Status::Open => severity.to_owned(),
        Status::Confirmed => format!("{severity}, confirmed"),
        Status::Resolved => "resolved".to_owned(),
        Status::Dismissed => "dismissed".to_owned(),
    }
}

/// What a finding is about, in short: `gpu01`, `gpu01/trainer`.
pub fn place(scope: &Scope) -> String {
    let host = scope.host.as_deref().unwrap_or_default();
    match &scope.container {
        Some(container) if host.is_empty() => container.clone(),
        Some(container) => format!("{host}/{container}"),
        None => host.to_owned(),
    }
}

/// An id as words: `killed-itself` becomes `killed itself`.
pub fn spoken(id: &str) -> String {
    id.replace(['-', '_'], " ")
}

/// Whether a character steers a terminal, or turns the direction of what stands around it: never to
/// be shown raw from a record.
pub fn steers(c: char) -> bool {
    let turns = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    c.is_control() || turns
}

/// A text without the characters that steer a terminal; tabs become spaces.
pub fn tame(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\t' => ' ',
            c if steers(c) => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect()
}

/// A text in one line: control characters and runs of white space become one space.
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || steers(c)) {
        if word.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// A text in one line in which ends of lines are still seen: they part commands, as `;` does. Control
/// characters and other runs of white space become one space.
pub fn lines_as_one(text: &str) -> String {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(one_line);
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    lines.join(" ⏎ ")
}

/// A text in one line of at most `width` characters, its end replaced by `…`.
pub fn shorten(text: &str, width: usize) -> String {
    let line = lines_as_one(text);
    if line.chars().count() <= width {
        return line;
    }
    let mut out: String = line.chars().take(width.saturating_sub(1)).collect();
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

/// A text in one line of at most `width` characters, its middle replaced by `…`: a command keeps where
/// it goes and how it ends.
pub fn shorten_middle(text: &str, width: usize) -> String {
    let line = lines_as_one(text);
    let count = line.chars().count();
    if count <= width {
        return line;
    }
    let keep = width.saturating_sub(1);
    let tail = keep / 3;
    let head: String = line.chars().take(keep - tail).collect();
    let end: String = line.chars().skip(count - tail).collect();
    format!("{head}…{end}")
}

/// A session in a sentence: its id, and that its case was written up.
fn named(session: SessionId, postmortem: bool) -> String {
    let mark = if postmortem { " (postmortem)" } else { "" };
    format!("{}{mark}", session.short())
}

/// `seen in 3 sessions before: s-4yxqpe0w, s-…`
pub fn seen_in(times: usize, sessions: &[SeenIn]) -> String {
    const NAMED: usize = 3;
    let names: Vec<String> = sessions
        .iter()
        .take(NAMED)
        .map(|seen| {
            let name = named(seen.session, seen.postmortem);
            match &seen.what {
                Some(what) if seen.confirmed => format!("{name}, confirmed there: {what}"),
                _ => name,
            }
        })
        .collect();
    let more = times.saturating_sub(names.len());
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let separator = if names.iter().any(|name| name.contains(',')) {
        "; "
    } else {
        ", "
    };
    format!(
        "seen in {} before: {}{more}",
        counted(times, "session"),
        names.join(separator)
    )
}

/// `Seen 3 times before; confirmed cause: … in s-4yxqpe0w (postmortem)`
pub fn seen_before(seen: &SeenBefore) -> String {
    let mut out = format!("Seen {} before", counted(seen.times, "time"));
    for cause in &seen.confirmed {
        let what = if cause.hypothesis.is_some() {
            "confirmed cause"
        } else {
            "confirmed"
        };
        out.push_str(&format!("; {what}: {}", cause.title));
        let places: Vec<String> = cause
            .sessions
            .iter()
            .take(3)
            .map(|session| {
                let there = seen.sessions.iter().find(|one| one.session == *session);
                named(*session, there.is_some_and(|one| one.postmortem))
            })
            .collect();
        out.push_str(&format!(" in {}", places.join(", ")));
        if cause.sessions.len() > 3 {
            out.push_str(&format!(" and {} more", cause.sessions.len() - 3));
        }
    }
    if seen.confirmed.is_empty() {
        let places: Vec<String> = seen
            .sessions
            .iter()
            .take(3)
            .map(|one| named(one.session, one.postmortem))
            .collect();
        let more = seen.times.saturating_sub(places.len());
        out.push_str(&format!(" in {}", places.join(", ")));
        if more > 0 {
            out.push_str(&format!(" and {more} more"));
        }
        out.push_str("; nobody said yet what it was");
    }
    out
}

/// `prior moved by 3 confirmations: .30 → .45`; only where they are its own.
pub fn prior_moved(hypothesis: &Hypothesis) -> Option<String> {
    let prior = hypothesis.prior.filter(|prior| prior.confirmations > 0)?;
    let short = |value: f64| {
        let text = format!("{value:.2}");
        text.strip_prefix('0').map_or(text.clone(), str::to_owned)
    };
    Some(format!(
        "prior moved by {}: {} → {}",
        counted(prior.confirmations, "confirmation"),
        short(prior.from),
        short(prior.to)
    ))
}

/// A size in binary units with a space: `512 B`, `1.1 GiB`.
pub fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{value:.1} {}", units[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn belief_has_four_words() {
        let words: Vec<_> = [0.97, 0.6, 0.3, 0.02].map(belief).to_vec();
        assert_eq!(words, ["very likely", "likely", "possible", "unlikely"]);
    }

    #[test]
    fn a_bar_never_vanishes() {
        assert_eq!(bar(0.0), "▏");
        assert_eq!(bar(0.3), "▇▇");
        assert_eq!(bar(1.0), "▇▇▇▇▇");
    }

    #[test]
    fn a_long_command_keeps_both_ends() {
        assert_eq!(shorten_middle("abcdefghijkl", 7), "abcd…kl");
        assert_eq!(shorten("one\n\n  two\tthree\n", 80), "one ⏎ two three");
        assert_eq!(shorten_middle("a \\\n  b\nc", 80), "a b ⏎ c");
        assert_eq!(shorten("one two three", 8), "one two…");
    }

    #[test]
    fn sizes_are_binary() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1_181_116_006), "1.1 GiB");
    }
}
