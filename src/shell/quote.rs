//! Words → text that a POSIX shell reads back as the same words.

/// Quotes one word where it needs it: plain words stay plain, everything else goes into single
/// quotes.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+:,./-=".contains(c);
    // A bare `A=1` in front would be an assignment.
    let assigns = !word.starts_with(['-', '/', '.']) && word.contains('=');
    if !word.is_empty() && word.chars().all(plain) && !assigns {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Quotes a path as it was written: a home folder in front (`~/`) stays one.
pub fn quote_path(path: &str) -> String {
    match path.strip_prefix("~/") {
        Some("") => path.to_owned(),
        Some(rest) => format!("~/{}", quote(rest)),
        None => quote(path),
    }
}

/// An argv as the command line that gives it: each word quoted where it needs it, one blank
/// between.
pub fn join(argv: &[String]) -> String {
    let mut out = String::new();
    for (number, word) in argv.iter().enumerate() {
        if number == 0 && RESERVED.contains(&word.as_str()) {
            out.push('\'');
            out.push_str(word);
            out.push('\'');
            continue;
        }
        if number > 0 {
            out.push(' ');
        }
        out.push_str(&quote(word));
    }
    out
}

/// Words that mean something else when they come first and bare.
const RESERVED: [&str; 19] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "select", "in", "function", "time", "coproc", "export", "declare",
];

/// The pattern with its first plain letter in brackets, in each of its alternatives: it finds what it
/// found, and not the command line that carries it. `None` where that cannot be written.
pub fn bracketed(pattern: &str) -> Option<String> {
    let mut out = String::with_capacity(pattern.len() + 4);
    let mut wants = true;
    let mut depth = 0_u32;
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                out.push(c);
                out.extend(chars.next());
                continue;
            }
            '[' => {
                // A class hides what stands in it already.
                out.push(c);
                for inside in chars.by_ref() {
                    out.push(inside);
                    if inside == ']' {
                        break;
                    }
                }
                wants &= depth > 0;
                continue;
            }
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => wants = true,
            _ => {}
        }
        let repeated = matches!(chars.peek(), Some('*' | '+' | '?' | '{'));
        if wants && depth == 0 && c.is_alphanumeric() && !repeated {
            wants = false;
            out.push('[');
            out.push(c);
            out.push(']');
        } else {
            out.push(c);
        }
    }
    (!wants && out != pattern).then_some(out)
}
