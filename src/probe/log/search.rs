//! Searches: grep and its kin, what they look for, and how their lines are to be read.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use super::args::Args;
use crate::probe::pattern::pattern;
use crate::shell::Invocation;

/// A search as it was asked for.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The pattern as written (several are joined by `|`).
    pub pattern: String,
    /// It, compiled; unknown when it holds a variable or is none.
    pub(super) regex: Option<Regex>,
    /// Letters of both cases match.
    pub ignore_case: bool,
    /// Lines that do not match are shown.
    pub invert: bool,
    /// Only a count is shown.
    pub counts: bool,
    /// Line numbers stand in front.
    pub numbered: bool,
    /// File names stand in front; `None`: perhaps.
    pub named: Option<bool>,
    /// Neighbours of matches are shown.
    pub context: bool,
    /// Nothing is shown, or only the names of files.
    pub quiet: bool,
    /// The pattern misses usual spellings of the trouble it is after.
    pub narrow: bool,
    /// The files searched, as written.
    pub(super) files: Vec<String>,
    /// At most so many matches are shown.
    pub(super) most: Option<usize>,
}

/// Whether a program searches.
pub(super) fn is_search(program: &str) -> bool {
    matches!(
        program,
        "grep"
            | "egrep"
            | "fgrep"
            | "zgrep"
            | "zegrep"
            | "xzgrep"
            | "bzgrep"
            | "zstdgrep"
            | "rg"
            | "ag"
            | "ack"
            | "ugrep"
            | "pcregrep"
    )
}

impl Search {
    /// Whether a text holds what is searched for; not where the pattern is not known.
    pub(crate) fn finds(&self, text: &str) -> bool {
        self.regex
            .as_ref()
            .is_some_and(|regex| regex.is_match(text))
    }

    /// What a grep, rg, ag or ack asks for.
    pub(super) fn of(invocation: &Invocation) -> Option<Self> {
        let program = invocation.program();
        if !is_search(program) {
            return None;
        }
        let args = Args::of(
            invocation,
            0,
            "e regexp f file m max-count A B C after-context before-context context include exclude \
             exclude-dir color colour g glob t type j threads binary-files label",
        );
        let mut given: Vec<&str> = args.values(&["e", "regexp"]).collect();
        let mut operands = args.operands.as_slice();
        if given.is_empty() {
            if args.has(&["f", "file"]) {
                return None;
            }
            let (first, rest) = operands.split_first()?;
            given.push(first);
            operands = rest;
        }
        let modern = matches!(program, "rg" | "ag" | "ack");
        let recursive = modern || args.has(&["r", "R", "recursive", "dereference-recursive"]);
        let fixed = program == "fgrep" || args.has(&["F", "fixed-strings", "Q", "literal"]);
        let extended = modern
            || matches!(program, "egrep" | "zegrep" | "pcregrep")
            || args.has(&["E", "P", "extended-regexp", "perl-regexp"]);
        let literal = !given
            .iter()
            .any(|one| one.contains("$(") || one.contains('`'));
        let mut expression = given
            .iter()
            .map(|one| {
                if fixed {
                    Cow::Owned(regex::escape(one))
                } else if extended {
                    Cow::Borrowed(*one)
                } else {
                    Cow::Owned(from_basic(one))
                }
            })
            .collect::<Vec<_>>()
            .join("|");
        let ignore_case = args.has(&["i", "ignore-case", "y"])
            || (args.has(&["S", "smart-case"]) || program == "ag")
                && !given.iter().any(|one| one.chars().any(char::is_uppercase));
        let narrow = literal && is_narrow(&expression, ignore_case);
        if args.has(&["x", "line-regexp"]) {
            expression = format!("^(?:{expression})$");
        } else if args.has(&["w", "word-regexp"]) {
            expression = format!(r"\b(?:{expression})\b");
        }
        let regex = RegexBuilder::new(&expression)
            .case_insensitive(ignore_case)
            .size_limit(1 << 20)
            .build()
            .ok()
            .filter(|_| literal);
        let many = operands.len() > 1
            || (recursive && !modern)
            || operands.iter().any(|file| file.contains(['*', '?', '[']));
        let named = if args.has(&["h", "no-filename", "I"]) && !modern {
            Some(false)
        } else if args.has(&["H", "with-filename"]) || operands.len() > 1 {
            Some(true)
        } else if many || (modern && !operands.iter().any(|file| file.contains('.'))) {
            None
        } else {
            Some(false)
        };
        Some(Self {
            pattern: given.join("|"),
            regex,
            ignore_case,
            invert: args.has(&["v", "invert-match"]),
            counts: args.has(&["c", "count", "count-matches"]),
            numbered: args.has(&["n", "line-number"]),
            named,
            context: args.has(&[
                "A",
                "B",
                "C",
                "",
                "after-context",
                "before-context",
                "context",
            ]),
            quiet: args.has(&[
                "q",
                "quiet",
                "silent",
                "l",
                "L",
                "files-with-matches",
                "files-without-match",
            ]),
            narrow,
            files: operands
                .iter()
                .filter(|file| **file != "-")
                .map(|file| (*file).to_owned())
                .collect(),
            most: args
                .value(&["m", "max-count"])
                .and_then(|most| most.parse().ok()),
        })
    }

    /// `journalctl -g`.
    pub(super) fn in_journal(pattern: &str, ignore_case: bool) -> Self {
        Self {
            pattern: pattern.to_owned(),
            regex: RegexBuilder::new(pattern)
                .case_insensitive(ignore_case)
                .size_limit(1 << 20)
                .build()
                .ok(),
            ignore_case,
            named: Some(false),
            narrow: is_narrow(pattern, ignore_case),
            ..Self::default()
        }
    }

    /// Takes off what grep puts in front of a line.
    pub(super) fn strip<'a>(&self, line: &'a str) -> Found<'a> {
        let mut found = Found {
            text: line,
            file: None,
            number: None,
            matched: true,
        };
        if self.named != Some(false)
            && let Some(front) = FILE.captures(line)
            && let (Some(name), Some(mark)) = (front.name("file"), front.name("mark"))
            && (self.named == Some(true) || looks_like_path(name.as_str()))
        {
            found.file = Some(name.as_str());
            found.matched = mark.as_str() == ":";
            found.text = line.get(mark.end()..).unwrap_or("");
        }
        if let Some(front) = NUMBER.captures(found.text)
            && (self.numbered || self.named.is_none() && found.file.is_some())
            && let (Some(number), Some(mark)) = (front.get(1), front.get(2))
        {
            found.number = number.as_str().parse().ok();
            found.matched = mark.as_str() == ":";
            found.text = found.text.get(mark.end()..).unwrap_or("");
        } else if self.context && found.file.is_none() {
            found.matched = self
                .regex
                .as_ref()
                .is_none_or(|regex| regex.is_match(found.text));
        }
        found
    }
}

/// A line that a search showed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'a> {
    /// The file's own line.
    pub(super) text: &'a str,
    /// The file it is from, when it was printed.
    pub(super) file: Option<&'a str>,
    /// Its number in the file from 1, when it was printed.
    pub(super) number: Option<i64>,
    /// It matched; else it is a neighbour.
    pub(super) matched: bool,
}

static FILE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?P<file>[^\s:][^:]*?)(?P<mark>:|-(?:\d+-))"));
static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(\d+)([:-])"));

fn looks_like_path(text: &str) -> bool {
    !text.contains(' ') && (text.contains('/') || text.contains('.'))
}

/// Words of trouble in general. A search for one of these alone is after *any* trouble.
const TROUBLE: &[&str] = &[
    "error",
    "errors",
    "err",
    "exception",
    "exceptions",
    "fail",
    "fails",
    "failed",
    "failure",
    "fatal",
    "critical",
    "crit",
    "panic",
    "warn",
    "warning",
    "severe",
    "emerg",
    "alert",
    "problem",
];

/// A search for trouble in general that misses how most programs spell it: `Error` does not find
/// `error: …`, `ERROR` does not find `RuntimeError`.
fn is_narrow(expression: &str, ignore_case: bool) -> bool {
    let words: Vec<String> = expression
        .split('|')
        .map(|word| {
            word.trim_matches(|ch| {
                matches!(ch, '(' | ')' | '^' | '$' | '[' | ']' | ':' | ' ' | '?')
            })
            .replace(r"\b", "")
        })
        .collect();
    let general = |word: &String| TROUBLE.contains(&word.to_ascii_lowercase().as_str());
    // `Traceback` is a mark of one language, not trouble in general; beside it, trouble may be.
    let words: Vec<String> = words
        .into_iter()
        .filter(|word| !word.contains("raceback"))
        .collect();
    if words.is_empty() || !words.iter().all(general) {
        return false;
    }
    // An anchored word is a mark of one program (`^FAIL`), not trouble in general.
    if expression.contains('^') && words.len() == 1 {
        return false;
    }
    let Ok(regex) = RegexBuilder::new(expression)
        .case_insensitive(ignore_case)
        .build()
    else {
        return false;
    };
    let common = ["error: x", "RuntimeError: x"];
    !common.iter().all(|line| regex.is_match(line))
}

/// A basic regular expression (grep without `-E`) in the syntax of the regex crate: there `\|`, `\(`,
/// `\+` are operators and the bare ones letters.
fn from_basic(basic: &str) -> String {
    let mut out = String::with_capacity(basic.len() + 8);
    let mut chars = basic.chars().peekable();
    let mut bracket = 0_usize;
    while let Some(ch) = chars.next() {
        if bracket > 0 {
            // The first `]` after `[` or `[^` is a letter.
            if ch == ']' && bracket > 1 {
                bracket = 0;
                out.push(ch);
                continue;
            }
            if matches!(ch, '\\' | ']') || (ch == '[' && chars.peek() != Some(&':')) {
                out.push('\\');
            }
            out.push(ch);
            if !(ch == '^' && bracket == 1) {
                bracket += 1;
            }
            continue;
        }
        match ch {
            '[' => {
                bracket = 1;
                out.push(ch);
            }
            '\\' => match chars.next() {
                Some(next @ ('|' | '(' | ')' | '{' | '}' | '+' | '?')) => out.push(next),
                Some('<' | '>') => out.push_str(r"\b"),
                Some(next) => {
                    out.push('\\');
                    out.push(next);
                }
                None => out.push_str(r"\\"),
            },
            '|' | '(' | ')' | '{' | '}' | '+' | '?' => {
                out.push('\\');
                out.push(ch);
            }
            '*' if out.is_empty() || out.ends_with('|') => out.push_str(r"\*"),
            _ => out.push(ch),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Search, from_basic, is_narrow};
    use crate::shell;

    fn search(line: &str) -> Search {
        let tree = shell::parse(line);
        Search::of(&tree.invocations[0]).unwrap_or_else(|| panic!("{line}"))
    }

    #[test]
    fn basic_patterns_become_extended_ones() {
        let cases = [
            (r"a\|b+", r"a|b\+"),
            (r"[s]erver.py", "[s]erver.py"),
            (r"router\[", r"router\["),
            (r"[]x]y", r"[\]x]y"),
            (r"[^:]*(x)", r"[^:]*\(x\)"),
        ];
        for (basic, want) in cases {
            assert_eq!(from_basic(basic), want);
        }
    }

    #[test]
    fn a_search_for_trouble_may_be_narrow() {
        for (expression, ignore_case, narrow) in [
            ("Error", false, true),
            ("ERROR", false, true),
            ("error", false, true),
            ("Error|error", false, false),
            ("error", true, false),
            ("Traceback", false, false),
            ("Traceback|Error", false, true),
            ("error|panic", true, false),
            ("Load weight end|error", false, false),
            ("CUDA out of memory", false, false),
            ("^FAIL", false, false),
            ("fired up", false, false),
        ] {
            assert_eq!(is_narrow(expression, ignore_case), narrow, "{expression}");
        }
    }

    #[test]
    fn what_stands_in_front_of_a_line_is_taken_off() {
        let one = search("grep -n Error /x.log");
        let found = one.strip("20:OSError: [Errno 98] x");
        assert_eq!(
            (found.text, found.number),
            ("OSError: [Errno 98] x", Some(20))
        );
        let context = search("grep -n -B2 Traceback x.log")
            .strip("12-[rank1]: x")
            .matched;
        assert!(!context);
        let many = search("grep error a.log b.log");
        let found = many.strip("a.log:error: 12");
        assert_eq!((found.file, found.text), (Some("a.log"), "error: 12"));
        let recursive = search("grep -rn CUDA_VISIBLE ~/.bashrc /etc");
        let found = recursive.strip("/etc/profile:31:export CUDA_VISIBLE=1");
        assert_eq!((found.file, found.number), (Some("/etc/profile"), Some(31)));
        assert_eq!(
            search("grep error x.log").strip("12:30 error").text,
            "12:30 error"
        );
    }

    #[test]
    fn options_are_read() {
        let one = search("grep -ciE 'error|traceback' /opt/rr2/rerank.log");
        assert!(one.counts && one.ignore_case && one.regex.is_some());
        assert_eq!(
            (one.pattern.as_str(), one.files.len()),
            ("error|traceback", 1)
        );
        let one = search("grep -n -m1 -A22 Traceback x.log");
        assert_eq!((one.most, one.context), (Some(1), true));
    }
}
