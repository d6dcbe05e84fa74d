//! The safer form of a line: small edits of the text as it was typed, or one command of it alone,
//! wrapped in its hops again. Every form is parsed afterwards, so an edit that misses does no harm.

use super::super::hops::remote::ssh_target;
use super::super::quote::{bracketed, quote};
use super::super::{HopKind, Invocation, RedirectTo, Tree, Word};
use crate::shell::carry::field_of;

/// How a line may be written instead.
#[derive(Debug, Clone)]
pub(super) enum Form {
    /// The pattern with one letter in brackets: it matches the same and not itself.
    Bracketed { pattern: String },
    /// The command alone in its hops, its pattern in brackets.
    Alone { invocation: usize, pattern: String },
    /// `pkill -f` in place of `kill $(pgrep -f …)`, alone in its hops.
    Pkill {
        invocation: usize,
        pattern: String,
        signal: i32,
    },
    /// Without any of these letters among the options.
    Without { letters: &'static str },
    /// An option behind a word.
    After { word: String, option: String },
    /// A text behind the last word of a command.
    Appended { invocation: usize, text: String },
    /// The text of a hop in single quotes.
    SingleQuoted { invocation: usize },
    /// Variables with a backslash in front.
    Escaped { names: Vec<String> },
    /// The delimiter of the here-document in quotes.
    QuotedDelimiter,
    /// A text in place of another, where a character (blanks aside) stands before it.
    Replaced {
        from: String,
        to: String,
        after: char,
    },
    /// A launch with its output in a file and nothing left open, alone in its hops.
    Launched {
        invocation: usize,
        log: String,
        append: bool,
    },
    /// `sudo sh -c '… > file'`.
    SudoShell { invocation: usize },
    /// A pattern for a line that cannot be written from this one.
    Pattern { text: String },
}

/// Writes the line in this form; `None` where it does not apply.
pub(super) fn write(tree: &Tree, line: &str, form: &Form) -> Option<String> {
    match form {
        Form::Bracketed { pattern } => {
            let hidden = bracketed(pattern)?;
            let at = line.find(pattern.as_str())?;
            let quoted = |c: Option<char>| matches!(c, Some('\'' | '"'));
            let before = line.get(..at)?.chars().next_back();
            let after = line.get(at + pattern.len()..)?.chars().next();
            // Bare, a folder with such a file in it would undo the brackets.
            let hidden = match (quoted(before) && quoted(after), open_quote(line, at)) {
                (true, _) => hidden,
                (false, Some('\'')) => format!("\"{hidden}\""),
                (false, _) => format!("'{hidden}'"),
            };
            Some(replaced(line, at, pattern.len(), &hidden))
        }
        Form::Alone {
            invocation,
            pattern,
        } => {
            let one = tree.invocations.get(*invocation)?;
            let hidden = bracketed(pattern)?;
            let words = one.words.iter().map(|own| {
                if own.text == *pattern {
                    format!("'{}'", hidden.replace('\'', r"'\''"))
                } else {
                    word(own)
                }
            });
            let inner = words.collect::<Vec<_>>().join(" ");
            around(tree, one, &inner)
        }
        Form::Pkill {
            invocation,
            pattern,
            signal,
        } => {
            let one = tree.invocations.get(*invocation)?;
            let hidden = bracketed(pattern)?;
            let hidden = quote(&hidden);
            let inner = match signal {
                15 => format!("pkill -f {hidden}"),
                signal => format!("pkill -{signal} -f {hidden}"),
            };
            around(tree, one, &inner)
        }
        Form::Without { letters } => without(line, letters),
        Form::After { word, option } => {
            let at = word_at(line, word)?;
            let behind = at + word.len();
            Some(replaced(line, behind, 0, &format!(" {option}")))
        }
        Form::Appended { invocation, text } => {
            let one = tree.invocations.get(*invocation)?;
            let last = one.words.last()?;
            let at = line.rfind(last.text.as_str())?;
            let mut behind = at + last.text.len();
            behind += line
                .get(behind..)?
                .bytes()
                .take_while(|byte| matches!(byte, b'"' | b'\''))
                .count();
            Some(replaced(line, behind, 0, text))
        }
        Form::SingleQuoted { invocation } => {
            let hop = tree.invocations.get(*invocation)?;
            let text = tree
                .shells
                .iter()
                .find(|shell| shell.started_by == Some(hop.index));
            let text = text?.text.as_str();
            let inner = format!("{}{}", front(hop)?, quote(text));
            let tail = redirects(hop);
            around(tree, hop, &format!("{inner}{tail}"))
        }
        Form::Escaped { names } => {
            let mut out = line.to_owned();
            for name in names.iter().take(16) {
                for form in [format!("${name}"), format!("${{{name}}}")] {
                    out = out.replace(&form, &format!("\\{form}"));
                    out = out.replace(&format!("\\\\{form}"), &format!("\\{form}"));
                }
            }
            Some(out)
        }
        Form::QuotedDelimiter => {
            let at = line.find("<<")? + 2;
            let rest = line.get(at..)?;
            let blank = rest.len() - rest.trim_start_matches(['-', ' ']).len();
            let name = rest.get(blank..)?;
            let end = name
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(name.len());
            let name = name.get(..end).filter(|name| !name.is_empty())?;
            Some(replaced(line, at + blank, name.len(), &format!("'{name}'")))
        }
        Form::Replaced { from, to, after } => {
            let mut found = line.match_indices(from.as_str()).filter(|(at, _)| {
                let before = line.get(..*at).unwrap_or("");
                *after == ' ' || before.trim_end().ends_with(*after)
            });
            let (at, _) = found.next()?;
            // `a && nohup` → `a; nohup`.
            let start = if to.starts_with(';') {
                line.get(..at)?.trim_end().len()
            } else {
                at
            };
            Some(replaced(line, start, at + from.len() - start, to))
        }
        Form::Launched {
            invocation,
            log,
            append,
        } => launched(tree, *invocation, log, *append),
        Form::SudoShell { invocation } => sudo_shell(tree, *invocation),
        Form::Pattern { text } => Some(text.clone()),
    }
}

fn replaced(line: &str, at: usize, length: usize, with: &str) -> String {
    let mut out = line.to_owned();
    out.replace_range(at..at + length, with);
    out
}

/// A word as it is typed: in quotes where it needs them, an expansion as it was written.
pub(super) fn word(word: &Word) -> String {
    if word.literal {
        return quote(&word.text);
    }
    let blank = word.text.contains(char::is_whitespace);
    if (word.quoted || blank) && !word.text.contains('"') {
        format!("\"{}\"", word.text)
    } else {
        word.text.clone()
    }
}

/// Where a word stands in a line, blanks or separators around it.
fn word_at(line: &str, word: &str) -> Option<usize> {
    let ends = |c: Option<char>| {
        c.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.' | '/'))
    };
    line.match_indices(word)
        .find(|(at, _)| {
            let before = line.get(..*at).and_then(|text| text.chars().next_back());
            let after = line
                .get(at + word.len()..)
                .and_then(|text| text.chars().next());
            ends(before.filter(|c| *c != '/')) && ends(after)
        })
        .map(|(at, _)| at)
}

/// A line without some letters among its single-letter options: the first word that holds them.
fn without(line: &str, unwanted: &str) -> Option<String> {
    let mut at = 0;
    for part in line.split_inclusive(' ') {
        let option = part.trim_end();
        let letters = option.strip_prefix('-').filter(|rest| {
            let plain = rest.chars().all(|c| c.is_ascii_alphabetic());
            plain && rest.contains(|c| unwanted.contains(c))
        });
        if let Some(letters) = letters {
            let left: String = letters.chars().filter(|c| !unwanted.contains(*c)).collect();
            let (length, with) = match left.as_str() {
                "" => (part.len(), String::new()),
                left => (option.len(), format!("-{left}")),
            };
            return Some(replaced(line, at, length, &with));
        }
        at += part.len();
    }
    None
}

/// The quote that is open at a place of a line.
fn open_quote(line: &str, at: usize) -> Option<char> {
    let mut open = None;
    let mut chars = line.get(..at)?.chars();
    while let Some(c) = chars.next() {
        match (open, c) {
            (None, '\'' | '"') => open = Some(c),
            (Some(quote), _) if quote == c => open = None,
            (None | Some('"'), '\\') => {
                chars.next();
            }
            _ => {}
        }
    }
    open
}

/// A text for one more shell: in double quotes where single ones stand in it and nothing would be
/// expanded.
fn nested(text: &str) -> String {
    if text.contains('\'') && !text.contains(['"', '$', '`', '\\', '!']) {
        return format!("\"{text}\"");
    }
    quote(text)
}

/// The words of a hop in front of the text that it hands over, a blank behind them.
fn front(hop: &Invocation) -> Option<String> {
    let count = match hop.hop? {
        HopKind::Ssh => {
            let fields: Vec<_> = hop.words.iter().map(field_of).collect();
            ssh_target(&fields)?.command
        }
        HopKind::ShellText => {
            let option = hop.words.iter().position(|word| {
                word.text.starts_with('-')
                    && !word.text.starts_with("--")
                    && word.text.ends_with('c')
            });
            option? + 1
        }
        _ => return None,
    };
    let words = hop.words.get(..count)?.iter().map(word);
    let mut out = words.collect::<Vec<_>>().join(" ");
    out.push(' ');
    Some(out)
}

/// Puts the hops of an invocation around what replaces it.
fn around(tree: &Tree, one: &Invocation, inner: &str) -> Option<String> {
    let mut text = inner.to_owned();
    let mut below = one;
    for hop in tree.hop_chain(one.index).into_iter().rev() {
        let hop = tree.invocations.get(hop)?;
        text = match hop.hop? {
            HopKind::Ssh | HopKind::ShellText => format!("{}{}", front(hop)?, nested(&text)),
            HopKind::Wrapper | HopKind::Container => {
                let kept = hop.words.len().checked_sub(below.words.len())?;
                let suffix = hop.words.get(kept..)?;
                if suffix != below.words.as_slice() {
                    return None;
                }
                let words = hop.words.get(..kept)?.iter().map(word);
                let front = words.collect::<Vec<_>>().join(" ");
                format!("{front} {text}")
            }
            HopKind::ShellStdin | HopKind::Detached => return None,
        };
        below = hop;
    }
    Some(text)
}

/// The redirections of a hop to and from files, as they are typed.
fn redirects(hop: &Invocation) -> String {
    let own = hop.redirects.iter().take(hop.own_redirects);
    own.map(|redirect| match &redirect.to {
        RedirectTo::Read { path } => format!(" < {}", word(path)),
        RedirectTo::Truncate { path } if redirect.fd == 1 => format!(" > {}", word(path)),
        RedirectTo::Truncate { path } => format!(" {}> {}", redirect.fd, word(path)),
        RedirectTo::Append { path } if redirect.fd == 1 => format!(" >> {}", word(path)),
        RedirectTo::Append { path } => format!(" {}>> {}", redirect.fd, word(path)),
        RedirectTo::Copy { of } => format!(" {}>&{of}", redirect.fd),
        RedirectTo::Close | RedirectTo::Text { .. } => String::new(),
    })
    .collect()
}

fn launched(tree: &Tree, index: usize, log: &str, append: bool) -> Option<String> {
    let mut one = tree.invocations.get(index)?;
    // The wrappers of its own shell belong to it: `nohup`, `env`, `sudo`.
    let shell = one.shell;
    while let Some(hop) = one
        .parent
        .and_then(|parent| tree.invocations.get(parent))
        .filter(|hop| hop.shell == shell && hop.hop == Some(HopKind::Wrapper))
    {
        one = hop;
    }
    let mut inner = String::new();
    if let Some(cwd) = &one.cwd {
        inner.push_str(&format!("cd {}; ", super::super::quote::quote_path(cwd)));
    }
    for (name, value) in &one.assignments {
        inner.push_str(&format!("{name}={} ", word(value)));
    }
    if one.program() != "nohup" && one.program() != "setsid" {
        inner.push_str("nohup ");
    }
    let words: Vec<String> = one.words.iter().map(word).collect();
    inner.push_str(&words.join(" "));
    let arrow = if append { ">>" } else { ">" };
    inner.push_str(&format!(
        " {arrow} {} 2>&1 < /dev/null &",
        super::super::quote::quote_path(log)
    ));
    around(tree, one, &inner)
}

/// The redirection moved into a shell that sudo starts.
fn sudo_shell(tree: &Tree, index: usize) -> Option<String> {
    let hop = tree.invocations.get(index)?;
    let child = tree
        .invocations
        .iter()
        .find(|one| one.parent == Some(index))?;
    let kept = hop.words.len().checked_sub(child.words.len())?;
    let front: Vec<String> = hop.words.get(..kept)?.iter().map(word).collect();
    let words: Vec<String> = child.words.iter().map(word).collect();
    let inner = format!("{}{}", words.join(" "), redirects(hop));
    let text = format!("{} sh -c {}", front.join(" "), nested(&inner));
    around(tree, hop, &text)
}
