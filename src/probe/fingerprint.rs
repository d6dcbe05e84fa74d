//! Fingerprints of lines: the same trouble with other numbers has the same one.
//!
//! Numbers, times, hex, ids, paths, addresses and quoted values are blanked; what is left says what
//! kind of line it is.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::pattern::pattern;
use crate::text;

/// No more of a line than this is looked at.
const MAX_BYTES: usize = 2000;

static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    let months = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
    let days = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
    let parts = [
        r"(?P<time>\d{4}[-/]\d\d[-/]\d\d(?:[T_: ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?: ?(?:Z\b|UTC\b|GMT\b|[+-]\d\d:?\d\d\b))?"
            .to_owned(),
        format!(r"|(?:{days},? +)?{months} +\d{{1,2}} \d\d:\d\d:\d\d(?:\.\d+)?(?: [A-Z]{{3,4}}\b)?(?: \d{{4}}\b)?"),
        format!(r"|\d{{1,2}}[ /]{months}[ /]\d{{4}}[ :]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: [+-]\d{{4}}\b)?"),
        r"|\b\d{1,3}:\d\d(?::\d\d)?(?:[.,]\d+)?\b)".to_owned(),
        r"|(?P<url>\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s'\x22<>\])},;]+)".to_owned(),
        r"|(?P<id>\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b)".to_owned(),
        r"|(?P<open>^|[\s(\[{=:,<>])(?P<quoted>'[^'\n]{1,400}'|\x22[^\x22\n]{1,400}\x22|`[^`\n]{1,400}`|‘[^’\n]{1,400}’)"
            .to_owned(),
        r"|(?P<bar>\|[█▉▊▋▌▍▎▏░▒▓━╸╺#=> .-]*\|)".to_owned(),
        r"|(?P<run>[█▉▊▋▌▍▎▏░▒▓━╸╺]+|[#=*-]{4,})".to_owned(),
        r"|(?P<ratio>\b\d+/\d+\b)".to_owned(),
        r"|(?P<path>[\w.@%+~-]*(?:/[\w.@%+~*-]+)+/?)".to_owned(),
        r"|(?P<hex>\b0x[0-9a-fA-F]+\b)".to_owned(),
        r"|(?P<number>\b\d+(?:[.,:]\d+)+)".to_owned(),
        r"|(?P<token>[A-Za-z]*\d[A-Za-z0-9]*)".to_owned(),
        r"|(?P<space>\s+)".to_owned(),
    ];
    pattern(&parts.concat())
});

static SPAN: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:\d+(?:d|h|m|s|ms|us|ns|min))+$"));

/// The text with everything that varies blanked.
pub fn blanked(text: &str) -> String {
    let text = text::cut(text.trim(), MAX_BYTES);
    VARIABLE
        .replace_all(text, |found: &Captures<'_>| replacement(found))
        .into_owned()
}

/// Twelve hex digits that are the same for lines of one kind.
pub fn fingerprint(text: &str) -> String {
    of_blanked(&blanked(text))
}

/// The fingerprint of a text already blanked.
pub fn of_blanked(blanked: &str) -> String {
    let mut hex = blake3::hash(blanked.as_bytes()).to_hex().to_string();
    hex.truncate(12);
    hex
}

fn replacement(found: &Captures<'_>) -> Cow<'static, str> {
    let has = |name: &str| found.name(name).is_some();
    if has("quoted") {
        let open = found.name("open").map_or("", |open| open.as_str());
        return Cow::Owned(format!("{open}'_'"));
    }
    if let Some(token) = found.name("token") {
        return blank_token(token.as_str());
    }
    Cow::Borrowed(if has("time") {
        "T"
    } else if has("url") {
        "URL"
    } else if has("id") || has("hex") {
        "ID"
    } else if has("bar") {
        "|=|"
    } else if has("run") {
        "="
    } else if has("ratio") {
        "#/#"
    } else if has("path") {
        "PATH"
    } else if has("space") {
        " "
    } else {
        "#"
    })
}

/// `TP0` → `TP#`, `10s` → `#s`, `7c9bd56f5d` → `ID`.
fn blank_token(token: &str) -> Cow<'static, str> {
    let letters = token.trim_end_matches(|ch: char| ch.is_ascii_digit());
    if letters.chars().all(|ch| ch.is_ascii_alphabetic()) {
        return Cow::Owned(format!("{letters}#"));
    }
    if SPAN.is_match(token) {
        return Cow::Borrowed("#s");
    }
    let unit = token.trim_start_matches(|ch: char| ch.is_ascii_digit());
    if unit.len() <= 3 && unit.chars().all(|ch| ch.is_ascii_alphabetic()) {
        return Cow::Owned(format!("#{unit}"));
    }
    if token.len() >= 5 {
        return Cow::Borrowed("ID");
    }
    Cow::Owned(
        token
            .chars()
            .map(|ch| if ch.is_ascii_digit() { '#' } else { ch })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::{blanked, fingerprint};

    #[test]
    fn what_varies_is_blanked() {
        let cases = [
            (
                "[2026-11-30 10:42:49 TP0] Load weight begin",
                "[T TP#] Load weight begin",
            ),
            (
                "Nov 30 12:07:34 host prog[3579]: boot",
                "T host prog[#]: boot",
            ),
            (
                "103:M 30 Nov 2026 12:09:32.429 # Warning",
                "#:M T # Warning",
            ),
            ("pod vllm-7c9bd56f5d-l2v9q died", "pod vllm-ID-ID died"),
            ("connect to 10.20.3.100:8080 failed", "connect to # failed"),
            ("open '/srv/x': no", "open '_': no"),
            ("can't open 'x' as it can't", "can't open '_' as it can't"),
            ("at 0x55b4098aaff0 in /usr/lib/x.so.1", "at ID in PATH"),
            ("GET http://h:1/x?y=2 503", "GET URL #"),
            ("took 88.00 s, 3m12s, 10ms", "took # s, #s, #s"),
            (
                "load:  12%|█▏        | 7/60 [00:01<00:08]",
                "load: #%|=| #/# [T<T]",
            ),
        ];
        for (text, want) in cases {
            assert_eq!(blanked(text), want);
        }
    }

    #[test]
    fn kinds_of_lines_are_told_apart() {
        let one = fingerprint("worker 3 exited with code 1");
        assert_eq!(one, fingerprint("worker 12 exited with code 137"));
        assert_ne!(one, fingerprint("worker 3 started"));
        assert_eq!(one.len(), 12);
    }
}
