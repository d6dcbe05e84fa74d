//! POSIX patterns as `pgrep`, `pkill` and `grep` read them, run with the `regex` crate.

use regex::{Regex, RegexBuilder};

/// Which dialect a pattern is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `grep`: `\|`, `\+` and `\(` are the special ones.
    Basic,
    /// `pgrep`, `grep -E`.
    Extended,
    /// `grep -F`.
    Fixed,
}

/// How a pattern is applied.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    pub dialect: Dialect,
    pub ignore_case: bool,
    /// It must match the whole line (`-x`).
    pub whole: bool,
    /// It must match whole words (`grep -w`).
    pub words: bool,
}

/// A pattern ready to run.
#[derive(Debug)]
pub(super) enum Pattern {
    Regex(Regex),
    /// Not readable as a regular expression: looked for as it stands.
    Plain(String),
}

impl Pattern {
    pub(super) fn new(text: &str, how: How) -> Self {
        let mut source = match how.dialect {
            Dialect::Fixed => regex::escape(text),
            Dialect::Basic | Dialect::Extended => translate(text, how.dialect),
        };
        if how.words {
            source = format!(r"\b(?:{source})\b");
        }
        if how.whole {
            source = format!("^(?:{source})$");
        }
        // A dot of POSIX matches a line end too; `-f` looks at the command line as one text.
        RegexBuilder::new(&source)
            .dot_matches_new_line(true)
            .case_insensitive(how.ignore_case)
            .size_limit(1 << 20)
            .build()
            .map_or_else(|_| Self::Plain(text.to_owned()), Self::Regex)
    }

    pub(super) fn matches(&self, line: &str) -> bool {
        match self {
            Self::Regex(regex) => regex.is_match(line),
            Self::Plain(text) => line.contains(text.as_str()),
        }
    }
}

/// A POSIX expression as the `regex` crate wants it.
fn translate(text: &str, dialect: Dialect) -> String {
    let extended = dialect == Dialect::Extended;
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    let mut start = true;
    while let Some(c) = chars.next() {
        let at_start = std::mem::replace(&mut start, false);
        match c {
            '[' => bracket(&mut chars, &mut out),
            '\\' => match chars.next() {
                None => out.push_str(r"\\"),
                Some('<') => out.push_str(r"\b{start}"),
                Some('>') => out.push_str(r"\b{end}"),
                Some('`') => out.push_str(r"\A"),
                Some('\'') => out.push_str(r"\z"),
                Some(c @ ('w' | 'W' | 's' | 'S' | 'b' | 'B')) => {
                    out.push('\\');
                    out.push(c);
                }
                Some(c @ ('(' | ')' | '{' | '}' | '|' | '+' | '?')) if !extended => {
                    start = matches!(c, '(' | '|');
                    out.push(c);
                }
                Some(c) => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
            },
            '(' | ')' | '|' | '+' | '?' | '{' | '}' if !extended => {
                out.push('\\');
                out.push(c);
            }
            '{' if !chars.peek().is_some_and(char::is_ascii_digit) => out.push_str(r"\{"),
            '*' | '+' | '?' if at_start => {
                out.push('\\');
                out.push(c);
            }
            '(' | '|' => {
                start = true;
                out.push(c);
            }
            '#' | '&' | '~' | '-' | ' ' => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
            c => out.push(c),
        }
    }
    out
}

/// A bracket expression, the opening bracket taken: backslashes are plain, `[` too unless it opens
/// a class.
fn bracket(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    out.push('[');
    if chars.peek() == Some(&'^') {
        chars.next();
        out.push('^');
    }
    let mut first = true;
    while let Some(c) = chars.next() {
        match c {
            ']' if !first => break,
            ']' => out.push_str(r"\]"),
            '[' if chars.peek() == Some(&':') => {
                out.push('[');
                for c in chars.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '\\' | '[' | '&' | '~' | '^' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
        first = false;
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::{Dialect, How, Pattern};

    fn matches(text: &str, dialect: Dialect, line: &str) -> bool {
        let how = How {
            dialect,
            ignore_case: false,
            whole: false,
            words: false,
        };
        Pattern::new(text, how).matches(line)
    }

    #[test]
    fn posix_patterns_match_as_their_programs_do() {
        let extended = Dialect::Extended;
        assert!(matches("sglang", extended, "python -m sglang.launch"));
        assert!(!matches("[s]glang", extended, "pgrep -f [s]glang"));
        assert!(matches("[s]glang", extended, "python -m sglang"));
        assert!(matches("a|b", extended, "xbx"));
        assert!(!matches("a|b", Dialect::Basic, "xbx"));
        assert!(matches(r"a\|b", Dialect::Basic, "xbx"));
        assert!(matches("[[:digit:]]+", extended, "x1"));
        assert!(matches(r"[\.]py", extended, "run.py"));
        assert!(matches("foo.*bar", extended, "foo\nbar"));
        assert!(matches("a{x", extended, "a{x"));
        assert!(matches("*x", Dialect::Basic, "*x"));
        assert!(matches("(unclosed", extended, "a (unclosed b"));
        assert!(matches("--port 80", extended, "x --port 8000"));
        assert!(matches("run.sh", Dialect::Fixed, "run.sh"));
        assert!(!matches("run.sh", Dialect::Fixed, "run_sh"));
    }
}
