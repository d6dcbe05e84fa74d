//! What the lines of `systemctl` look like: tables of units, a unit's status.
//!
//! Source: systemd 245 to 257; `tests/fixtures/probes/systemctl`.

use super::{Fit, line};

/// A line without the number that `grep -n` or `nl` sets in front.
pub(super) fn without_number(line: &str) -> &str {
    let rest = line
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.strip_prefix([':', '-', '\t']) {
        Some(rest) if rest.len() < line.len() - 1 => rest,
        _ => line,
    }
}

/// The line that a unit's status begins with.
pub(super) fn is_unit_head(line: &str) -> bool {
    ["●", "○", "×", "↻", "* "]
        .iter()
        .any(|start| line.starts_with(start))
}

/// How well a line fits into `systemctl list-units`, `list-timers`, `list-unit-files` or `--failed`.
pub(super) fn unit_row_fit(line: &str) -> Fit {
    let ends = [
        ".service",
        ".socket",
        ".timer",
        ".target",
        ".mount",
        ".slice",
        ".scope",
        ".path",
        ".device",
        ".swap",
        ".automount",
    ];
    let unit = line
        .split_whitespace()
        .any(|word| ends.iter().any(|end| word.ends_with(end)));
    let head: Vec<&str> = line.split_whitespace().take(2).collect();
    let told = line.ends_with(" listed.")
        || line.starts_with("To show all installed unit files")
        || line.starts_with("LOAD   =")
        || line.starts_with("ACTIVE =")
        || line.starts_with("SUB    =")
        || line.starts_with("Legend:")
        || line.starts_with("       ") && line.contains('→')
        || line.starts_with("Pass --all to see");
    if matches!(head.as_slice(), ["UNIT", _] | ["NEXT", "LEFT"]) || head == ["UNIT"] || told {
        Fit::Surely
    } else if unit && super::line::read_head(line).is_timed() {
        Fit::Perhaps
    } else if unit {
        Fit::Surely
    } else if line.trim().is_empty() {
        Fit::Perhaps
    } else {
        Fit::Hardly
    }
}

/// A line of `systemctl status`: a bullet, a key, a branch of the tree of processes, a line of the
/// journal.
pub(super) fn status_fit(shown: &str) -> Fit {
    let text = shown.trim_start();
    let indent = shown.len() - text.len();
    let key = text
        .split_once(": ")
        .or_else(|| text.split_once(':'))
        .is_some_and(|(key, value)| {
            // One blank, and the value.
            (2..=16).contains(&key.len())
                && !value.trim_start_matches(' ').is_empty()
                && !value.starts_with("  ")
                && key.starts_with(|c: char| c.is_ascii_uppercase())
                && key
                    .chars()
                    .all(|c| c.is_ascii_alphabetic() || c == ' ' || c == '-')
        });
    let bullet = is_unit_head(shown);
    let branch = ["├─", "└─", "│ "]
        .iter()
        .any(|start| text.starts_with(start));
    if bullet
        || branch
        || shown.starts_with("TriggeredBy:")
        || key && (2..13).contains(&indent)
        || shown.starts_with("Warning: ")
        || shown.starts_with("Hint: ")
    {
        Fit::Surely
    } else if line::read_head(shown).is_journal()
        || indent >= 13 && (text.starts_with("http") || text.starts_with("man:"))
    {
        Fit::Likely
    } else if text.is_empty() {
        Fit::Perhaps
    } else if indent >= 13 {
        Fit::Hardly
    } else {
        Fit::No
    }
}
