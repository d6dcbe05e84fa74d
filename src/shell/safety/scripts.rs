//! Programs whose class hangs on a script among their words: `sed`, `awk`, `gdb`.

use super::Safety::{self, ChangesState, HeavyRead};
use super::read_only_if;
use super::tools::scan;
use crate::shell::Invocation;

/// A script of `sed` that writes a file or runs a command, read command by command.
pub(super) fn sed(invocation: &Invocation, args: &[&str]) -> Safety {
    let options = scan(
        invocation,
        "efl",
        &["--expression", "--file", "--line-length"],
    );
    let edits = args.iter().any(|arg| {
        arg.starts_with("--in-place")
            || arg.starts_with('-') && !arg.starts_with("--") && {
                let letters = arg.split(['e', 'f', 'l']).next().unwrap_or("");
                letters.contains('i')
            }
    });
    if edits || options.has(&["-f", "--file"]) {
        return ChangesState;
    }
    let mut scripts: Vec<&str> = options
        .given
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "-e" | "--expression"))
        .filter_map(|(_, value)| value.as_deref())
        .collect();
    if scripts.is_empty() {
        scripts.extend(
            invocation
                .words
                .get(options.rest)
                .map(|word| word.text.as_str()),
        );
    }
    read_only_if(!scripts.iter().any(|script| sed_acts(script)), ChangesState)
}

fn sed_acts(script: &str) -> bool {
    let mut chars = script.chars().peekable();
    // Skips to the next bare delimiter.
    fn part(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, delimiter: char) {
        while let Some(c) = chars.next() {
            match c {
                '\\' => {
                    chars.next();
                }
                '[' if delimiter != '[' => {
                    // A class may hold the delimiter.
                    if chars.peek() == Some(&']') {
                        chars.next();
                    }
                    let mut seen = 0;
                    let class = chars.clone().take_while(|c| *c != ']').take(64);
                    let length = class.inspect(|_| seen += 1).count();
                    if chars.clone().nth(length) == Some(']') {
                        chars.nth(length);
                    }
                }
                c if c == delimiter => return,
                _ => {}
            }
        }
    }
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | ';' | '\n' | '{' | '}' | '!' | ',' | '$' | '~' | '+' | '0'..='9' => {}
            '/' => {
                part(&mut chars, '/');
                while chars.next_if(|c| matches!(c, 'I' | 'M')).is_some() {}
            }
            '\\' => {
                if let Some(delimiter) = chars.next() {
                    part(&mut chars, delimiter);
                }
            }
            's' | 'y' => {
                let Some(delimiter) = chars.next() else {
                    return true;
                };
                part(&mut chars, delimiter);
                part(&mut chars, delimiter);
                while let Some(flag) = chars.next_if(|c| !matches!(c, ';' | '\n' | '}' | ' ')) {
                    if matches!(flag, 'w' | 'e' | 'W')
                        || !matches!(flag, 'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9')
                    {
                        return true;
                    }
                }
            }
            'd' | 'D' | 'p' | 'P' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'l' | 'z'
            | 'F' => {}
            'q' | 'Q' => {}
            'a' | 'i' | 'c' | 'r' | 'R' | 'b' | 't' | 'T' | ':' | '#' => {
                let text = matches!(c, 'a' | 'i' | 'c' | 'r' | 'R' | '#');
                for c in chars.by_ref() {
                    if c == '\n' || !text && c == ';' {
                        break;
                    }
                }
            }
            // `w`, `W`, `e`, and what is not known.
            _ => return true,
        }
    }
    false
}

/// A program of awk that runs commands or writes files.
pub(super) fn awk(invocation: &Invocation, args: &[&str]) -> Safety {
    let options = scan(
        invocation,
        "FvfEilbe",
        &[
            "--file",
            "--include",
            "--load",
            "--field-separator",
            "--assign",
        ],
    );
    if options.has(&[
        "-f",
        "-E",
        "-i",
        "-l",
        "--file",
        "--include",
        "--load",
        "--exec",
    ]) {
        return ChangesState;
    }
    let program = invocation
        .words
        .get(options.rest)
        .map_or("", |word| word.text.as_str());
    let sources = args.iter().filter(|arg| arg.starts_with("--source"));
    let acts = std::iter::once(program)
        .chain(sources.copied())
        .any(awk_acts);
    read_only_if(!acts, ChangesState)
}

/// `system`, a pipe, or `>` behind a `print`, strings and patterns left aside.
fn awk_acts(program: &str) -> bool {
    let mut bare = String::with_capacity(program.len());
    let mut chars = program.chars().peekable();
    let mut last = ' ';
    while let Some(c) = chars.next() {
        // A `/` opens a pattern where no value stands before it.
        let pattern =
            c == '/' && !(last.is_alphanumeric() || matches!(last, ')' | ']' | '$' | '_' | '"'));
        if c == '"' || pattern {
            while let Some(inner) = chars.next() {
                match inner {
                    '\\' => {
                        chars.next();
                    }
                    inner if inner == c => break,
                    _ => {}
                }
            }
            bare.push('"');
            last = '"';
            continue;
        }
        bare.push(c);
        if !c.is_whitespace() {
            last = c;
        }
    }
    let flat = bare.replace("||", "  ");
    flat.contains("system")
        || flat.contains('|')
        || flat.contains('@')
        || flat.split([';', '}', '\n', '{']).any(|statement| {
            statement.find("print").is_some_and(|at| {
                statement
                    .get(at..)
                    .is_some_and(|rest| rest.contains('>') && !parenthesised(rest))
            })
        })
}

/// Every `>` of a statement stands inside parentheses: a comparison.
fn parenthesised(statement: &str) -> bool {
    let mut depth = 0_i32;
    for c in statement.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            '>' if depth == 0 => return false,
            _ => {}
        }
    }
    true
}

/// A look by gdb stops the process; commands that are not known change it.
pub(super) fn gdb(invocation: &Invocation, args: &[&str]) -> Safety {
    let mut commands = Vec::new();
    let mut words = invocation.args().iter();
    while let Some(word) = words.next() {
        if matches!(
            word.text.as_str(),
            "-ex" | "--ex" | "-eval-command" | "--eval-command" | "-iex"
        ) {
            commands.extend(words.next().map(|word| word.text.as_str()));
        }
    }
    let looks = |command: &&str| {
        let first = command.split_whitespace().next().unwrap_or("");
        matches!(
            first,
            "bt" | "backtrace"
                | "where"
                | "info"
                | "quit"
                | "detach"
                | "frame"
                | "f"
                | "up"
                | "down"
                | "py-bt"
                | "py-list"
                | "py-locals"
                | "x"
                | "list"
        ) || first == "thread" && !command.contains("name")
            || first == "set"
                && (command.contains("pagination")
                    || command.contains("confirm")
                    || command.contains("width")
                    || command.contains("print"))
    };
    let threads = |command: &&str| {
        let rest = command.strip_prefix("thread apply all ").unwrap_or("");
        rest.split_whitespace()
            .next()
            .is_some_and(|word| matches!(word, "bt" | "backtrace" | "where" | "py-bt" | "-q"))
    };
    let all = commands.iter().all(|command| {
        if command.starts_with("thread apply") {
            threads(command)
        } else {
            looks(command)
        }
    });
    let scripted = args
        .iter()
        .any(|arg| matches!(*arg, "-x" | "--command" | "-command"));
    HeavyRead.max(read_only_if(
        all && !scripted && args.contains(&"-batch") | args.contains(&"--batch"),
        ChangesState,
    ))
}
