//! What is said of single files: `stat`, `find`, `readlink`, `file`, `test`, and the messages all
//! tools print about files that are not there.
//!
//! Sources: coreutils, findutils; `tests/fixtures/probes/stat`, `…/find`.

use super::machine;
use super::words::{Args, count, int, quoted, resolved};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::fact::{Descriptor, DirLook, File};
use crate::shell::{Invocation, Tri, Word};

/// A message about a file that could not be looked at: gives the fact, and says whether the line was
/// one.
///
/// `ls: cannot access 'X': No such file or directory`, `stat: cannot statx 'X': …`, `wc: X: …`,
/// `cat: X: …`, `tail: cannot open 'X' for reading: …`, `find: 'X': …`.
pub(super) fn missing(line: &Shown, ctx: &Ctx<'_>, sink: &mut Sink<'_>) -> bool {
    let Some((path, exists)) = missing_path(&line.text, ctx.invocation) else {
        return false;
    };
    sink.line(
        line,
        File {
            path: resolved(ctx.invocation, path),
            exists,
            ..File::default()
        },
    );
    true
}

/// The path and whether it is there, when a line is such a message.
pub(super) fn missing_path<'t>(text: &'t str, invocation: &Invocation) -> Option<(&'t str, Tri)> {
    let program = invocation.program();
    let rest = text.strip_prefix(program).or_else(|| {
        let word = invocation.words.first()?;
        text.strip_prefix(word.text.as_str())
    })?;
    let rest = rest.strip_prefix(": ")?;
    let (what, reason) = rest.rsplit_once(": ")?;
    let exists = match reason.trim_end() {
        "No such file or directory" | "No such device or address" => Tri::No,
        "Permission denied"
        | "Stale file handle"
        | "Transport endpoint is not connected"
        | "Input/output error" => Tri::Unknown,
        "Not a directory" => Tri::No,
        _ => return None,
    };
    let path = quoted(what).unwrap_or_else(|| {
        what.trim_start_matches("cannot access ")
            .trim_start_matches("cannot open ")
            .trim_end_matches(" for reading")
            .trim_start_matches("can't open ")
    });
    (!path.is_empty()).then_some((path, exists))
}

/// `stat`, plain or with a format.
pub(super) struct Stat;

impl Stat {
    fn format(invocation: &Invocation) -> Option<&str> {
        Args::of(invocation, "c format printf").value(&["c", "format", "printf"])
    }

    fn paths(invocation: &Invocation) -> Vec<&Word> {
        Args::of(invocation, "c format printf").operands
    }
}

/// A piece of stat's format: a letter to read, or text between.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Letter(char),
    Text(String),
}

fn pieces(format: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut chars = format.chars();
    let mut text = String::new();
    while let Some(c) = chars.next() {
        if c == '%' {
            let letter = chars
                .by_ref()
                .find(|c| c.is_ascii_alphabetic() || *c == '%');
            match letter {
                Some('%') => text.push('%'),
                Some(letter) => {
                    if !text.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut text)));
                    }
                    pieces.push(Piece::Letter(letter));
                }
                None => {}
            }
        } else {
            text.push(c);
        }
    }
    let text = text.replace("\\n", "");
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

/// The values of a line by their letters; `None` when the line is not of this format.
fn by_format<'t>(text: &'t str, pieces: &[Piece]) -> Option<Vec<(char, &'t str)>> {
    let mut found = Vec::new();
    let mut rest = text;
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(between) => rest = rest.strip_prefix(between.as_str())?,
            Piece::Letter(letter) => {
                let own = match letter {
                    'y' | 'x' | 'z' | 'w' => time_length(rest)?,
                    'n' | 'N' | 'F' | 'm' | 'C' => match pieces.get(at + 1) {
                        Some(Piece::Text(between)) => rest.find(between.as_str())?,
                        _ => rest.len(),
                    },
                    's' | 'Y' | 'X' | 'Z' | 'W' | 'i' | 'u' | 'g' | 'h' | 'b' | 'B' | 'o' | 'a'
                    | 'f' | 'd' => {
                        let own = rest
                            .find(|c: char| !(c.is_ascii_hexdigit() || c == '.' || c == '-'))
                            .unwrap_or(rest.len());
                        if own == 0 {
                            return None;
                        }
                        own
                    }
                    _ => match pieces.get(at + 1) {
                        Some(Piece::Text(between)) => rest.find(between.as_str())?,
                        _ => rest.find(char::is_whitespace).unwrap_or(rest.len()),
                    },
                };
                found.push((*letter, rest.get(..own)?));
                rest = rest.get(own..)?;
            }
        }
    }
    rest.trim().is_empty().then_some(found)
}

/// The length of `2026-11-30 10:42:28.326689518 +0000` (or `-`) at the start of a text.
fn time_length(text: &str) -> Option<usize> {
    if text.starts_with('-') {
        return Some(1);
    }
    let mut words = text.split(' ');
    let length = words.next()?.len() + 1 + words.next()?.len() + 1 + words.next()?.len().min(5);
    let time = text.get(..length)?;
    machine::iso_with_zone(time).map(|_| length)
}

/// Whether what `stat` calls a file is this path: `/a/b`, `'/a/b' -> '/c'`.
fn is_called(name: &str, path: &str) -> bool {
    let name = name.split(" -> ").next().unwrap_or(name);
    let name = name.trim_matches(['\'', '"', '‘', '’', '`']);
    name.ends_with(path.trim_start_matches('~')) || name.contains('\\')
}

impl Probe for Stat {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "stat"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let paths = Self::paths(ctx.invocation);
        let known = paths.iter().all(|word| word.literal) && !paths.is_empty();
        match Self::format(ctx.invocation) {
            Some(format) => {
                let pieces = pieces(format);
                let rich = pieces.len() > 1 || format.contains(['y', 'x', 'z']);
                let fit = move |line: &str, _: usize| match by_format(line, &pieces) {
                    Some(_) if rich => Fit::Surely,
                    Some(_) => Fit::Likely,
                    None => Fit::No,
                };
                if known {
                    Grammar::exactly(paths.len(), fit)
                } else {
                    Grammar::any(fit)
                }
            }
            None => {
                let again = paths.len() > 1 || ctx.filter.may_lose_start();
                let fit = move |line: &str, nth: usize| {
                    // Each file's block begins so; a second one is another look's.
                    if line.starts_with("  File: ") && nth > 0 && !again {
                        return Fit::No;
                    }
                    if let Some(name) = line.strip_prefix("  File: ")
                        && known
                        && !paths.iter().any(|path| is_called(name, &path.text))
                    {
                        return Fit::No;
                    }
                    let starts = [
                        "  File: ",
                        "  Size: ",
                        "Device: ",
                        "Access: ",
                        "Modify: ",
                        "Change: ",
                        " Birth: ",
                        "Context: ",
                    ];
                    starts.iter().any(|start| line.starts_with(start)).into()
                };
                Grammar::at_least(1, fit)
            }
        }
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        match Self::format(ctx.invocation) {
            Some(format) => read_format(lines, &pieces(format), ctx, sink),
            None => read_blocks(lines, ctx, sink),
        }
    }
}

fn read_format(lines: &[Shown], pieces: &[Piece], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let mut paths = Stat::paths(ctx.invocation).into_iter();
    for line in lines {
        if missing(line, ctx, sink) {
            continue;
        }
        let asked = paths.next();
        let Some(values) = by_format(line.text.trim_end(), pieces) else {
            if ctx.filter.keeps_lines() {
                sink.complain(line, "not a line of stat's format");
            }
            continue;
        };
        let of = |letters: &[char]| {
            values
                .iter()
                .find(|(letter, _)| letters.contains(letter))
                .map(|(_, value)| *value)
        };
        let path = of(&['n', 'N'])
            .map(|name| quoted(name).unwrap_or(name))
            .or(asked.map(|word| word.text.as_str()));
        let Some(path) = path else { continue };
        let mode = of(&['A'])
            .and_then(|mode| mode.get(1..10))
            .map(str::to_owned)
            .or_else(|| of(&['a']).and_then(mode_of_octal));
        sink.line(
            line,
            File {
                path: resolved(ctx.invocation, path),
                exists: Tri::Yes,
                kind: of(&['F']).and_then(kind_in_words).map(str::to_owned),
                size_bytes: of(&['s']).and_then(int),
                mtime_us: of(&['y'])
                    .and_then(machine::iso_with_zone)
                    .or_else(|| of(&['Y']).and_then(machine::epoch)),
                executable: mode.as_deref().map(|mode| mode.contains(['x', 's', 't'])),
                mode,
                owner: of(&['U']).map(str::to_owned),
                inode: of(&['i']).and_then(int),
                ..File::default()
            },
        );
    }
}

/// `755` as `rwxr-xr-x`.
fn mode_of_octal(octal: &str) -> Option<String> {
    let digits = octal.get(octal.len().checked_sub(3)?..)?;
    let mut mode = String::new();
    for digit in digits.chars() {
        let bits = digit.to_digit(8)?;
        mode.push(if bits & 4 != 0 { 'r' } else { '-' });
        mode.push(if bits & 2 != 0 { 'w' } else { '-' });
        mode.push(if bits & 1 != 0 { 'x' } else { '-' });
    }
    Some(mode)
}

fn kind_in_words(words: &str) -> Option<&'static str> {
    Some(match words.trim() {
        "regular file" | "regular empty file" => "file",
        "directory" => "directory",
        "symbolic link" => "link",
        "socket" => "socket",
        "fifo" => "pipe",
        words if words.ends_with("special file") => "device",
        _ => return None,
    })
}

fn read_blocks(lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let mut file: Option<(usize, File)> = None;
    let flush = |file: &mut Option<(usize, File)>, to: usize, sink: &mut Sink<'_>| {
        if let Some((from, file)) = file.take() {
            sink.lines(lines.get(from..to).unwrap_or(&[]), file);
        }
    };
    for (at, line) in lines.iter().enumerate() {
        let text = line.text.trim();
        if let Some(name) = text.strip_prefix("File: ") {
            flush(&mut file, at, sink);
            let (name, target) = match name.split_once(" -> ") {
                Some((name, target)) => (name, Some(quoted(target).unwrap_or(target).to_owned())),
                None => (name, None),
            };
            file = Some((
                at,
                File {
                    path: resolved(ctx.invocation, quoted(name).unwrap_or(name)),
                    exists: Tri::Yes,
                    link_target: target,
                    ..File::default()
                },
            ));
        } else if missing(line, ctx, sink) {
            continue;
        } else {
            if file.is_none() && !lines.is_empty() {
                // The head of the block was cut away: the path is the one asked for.
                let paths = Stat::paths(ctx.invocation);
                if let [only] = paths.as_slice() {
                    file = Some((
                        at,
                        File {
                            path: resolved(ctx.invocation, &only.text),
                            exists: Tri::Yes,
                            ..File::default()
                        },
                    ));
                }
            }
            if let Some((_, file)) = &mut file {
                block_line(text, file);
            }
        }
    }
    flush(&mut file, lines.len(), sink);
}

fn block_line(text: &str, file: &mut File) {
    if let Some(rest) = text.strip_prefix("Size: ") {
        file.size_bytes = rest.split_whitespace().next().and_then(int);
        let kind = rest.rsplit(['\t', ' ']).next().unwrap_or("");
        let words = rest.split("IO Block:").nth(1).map_or(kind, |rest| {
            let rest = rest.trim_start();
            rest.split_once(char::is_whitespace)
                .map_or("", |(_, words)| words)
        });
        file.kind = kind_in_words(words).map(str::to_owned);
    } else if let Some(rest) = text.strip_prefix("Access: (") {
        if let Some((_, mode)) = rest.split_once('/') {
            file.mode = mode.get(1..10).map(str::to_owned);
            file.executable = file
                .mode
                .as_deref()
                .map(|mode| mode.contains(['x', 's', 't']));
        }
        if let Some(user) = rest
            .split("Uid: (")
            .nth(1)
            .and_then(|rest| rest.split(')').next())
        {
            file.owner = user.split('/').nth(1).map(|user| user.trim().to_owned());
        }
    } else if text.starts_with("Device: ") {
        file.inode = text
            .split("Inode: ")
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next())
            .and_then(int);
    } else if let Some(rest) = text.strip_prefix("Modify: ") {
        file.mtime_us = machine::iso_with_zone(rest);
    }
}

/// `find`, when it prints paths.
pub(super) struct Find;

impl Probe for Find {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(invocation.program(), "find" | "fd" | "locate")
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let roots = roots(ctx.invocation);
        let prints = prints_paths(ctx.invocation);
        let name = only_name(ctx.invocation);
        let whole = ctx.filter.keeps_lines();
        Grammar::any(move |line: &str, _: usize| {
            let last = line.rsplit('/').next().unwrap_or(line);
            if !prints {
                Fit::Perhaps
            } else if whole && name.is_some_and(|name| !super::words::glob_matches(name, last)) {
                Fit::No
            } else if roots
                .iter()
                .any(|root| line.starts_with(root.as_str()) && !root.is_empty())
            {
                Fit::Surely
            } else if line.starts_with(['/', '.', '~']) && !line.contains(": ") {
                Fit::Likely
            } else {
                Fit::No
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let prints = prints_paths(ctx.invocation);
        let mut shown = Vec::new();
        for line in lines {
            if missing(line, ctx, sink)
                || !prints
                || !ctx.filter.keeps_lines()
                || line.text.starts_with("find: ")
            {
                continue;
            }
            if line.text.starts_with(['/', '.', '~']) {
                sink.line(
                    line,
                    File {
                        path: resolved(ctx.invocation, &line.text),
                        exists: Tri::Yes,
                        ..File::default()
                    },
                );
                shown.push(line.clone());
            }
        }
        if let [root] = roots(ctx.invocation).as_slice()
            && !shown.is_empty()
        {
            sink.lines(
                &shown,
                DirLook {
                    path: resolved(ctx.invocation, root),
                    count: count(shown.len()),
                    cut: true, // by its own tests, whatever the filters do
                    hidden: true,
                },
            );
        }
    }
}

fn roots(invocation: &Invocation) -> Vec<String> {
    if invocation.program() != "find" {
        return Vec::new();
    }
    let mut roots: Vec<String> = invocation
        .args()
        .iter()
        .map(|word| word.text.as_str())
        .skip_while(|word| matches!(*word, "-L" | "-H" | "-P"))
        .take_while(|word| !word.starts_with(['-', '(', '!']))
        .map(str::to_owned)
        .collect();
    if roots.is_empty() {
        roots.push(".".to_owned());
    }
    roots
}

/// The pattern that the last part of every path shown matches, where one alone is asked for.
fn only_name(invocation: &Invocation) -> Option<&str> {
    let words: Vec<&str> = invocation
        .args()
        .iter()
        .map(|word| word.text.as_str())
        .collect();
    let names = words
        .iter()
        .filter(|word| matches!(**word, "-name" | "-iname"))
        .count();
    let others = ["-o", "-or", "!", "-not", ",", "-iname"];
    if invocation.program() != "find"
        || names != 1
        || words.iter().any(|word| others.contains(word))
    {
        return None;
    }
    let at = words.iter().position(|word| *word == "-name")?;
    words
        .get(at + 1)
        .copied()
        .filter(|name| !name.contains(['[', '$', '\\']))
}

fn prints_paths(invocation: &Invocation) -> bool {
    !invocation.args().iter().any(|word| {
        matches!(
            word.text.as_str(),
            "-printf" | "-exec" | "-ls" | "-delete" | "-execdir" | "-fprintf"
        )
    })
}

/// `readlink`, `realpath`.
pub(super) struct Readlink;

impl Probe for Readlink {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(invocation.program(), "readlink" | "realpath")
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let paths = Args::of(ctx.invocation, "").operands.len();
        let mut grammar = Grammar::any(|line, _| {
            if line.starts_with('/')
                || line.starts_with("pipe:[")
                || line.starts_with("socket:[")
                || line.starts_with("anon_inode:")
            {
                Fit::Likely
            } else if line.contains(' ') {
                Fit::No
            } else {
                Fit::Perhaps
            }
        });
        grammar.max = Some(paths.max(1));
        grammar.usual = paths;
        grammar
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let paths: Vec<&str> = Args::of(ctx.invocation, "").texts().collect();
        if paths.len() != lines.len() || !ctx.filter.keeps_lines() {
            return; // which is whose cannot be told
        }
        for (line, path) in lines.iter().zip(paths) {
            if missing(line, ctx, sink) {
                continue;
            }
            let target = line.text.trim_end();
            if let Some((pid, fd)) = path
                .strip_prefix("/proc/")
                .and_then(|rest| rest.split_once("/fd/"))
                && let (Some(pid), Some(fd)) = (int(pid), int(fd))
            {
                sink.line(
                    line,
                    Descriptor {
                        pid,
                        fd,
                        target: target.trim_end_matches(" (deleted)").to_owned(),
                        deleted: target.ends_with(" (deleted)"),
                    },
                );
            } else if ctx.invocation.program() == "readlink" {
                sink.line(
                    line,
                    File {
                        path: resolved(ctx.invocation, path),
                        exists: Tri::Yes,
                        link_target: Some(target.to_owned()),
                        ..File::default()
                    },
                );
            }
        }
    }
}

/// `test -f X`, `[ -s X ]`: says it with its code alone.
pub(super) struct Test;

impl Probe for Test {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(invocation.program(), "test" | "[" | "[[")
    }

    fn grammar<'a>(&self, _ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let mut grammar = Grammar::any(|_, _| Fit::No);
        grammar.max = Some(0);
        grammar
    }

    fn read(&self, _lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let words: Vec<&str> = ctx
            .invocation
            .args()
            .iter()
            .map(|word| word.text.as_str())
            .filter(|word| !matches!(*word, "]" | "]]"))
            .collect();
        let (negated, words) = match words.as_slice() {
            ["!", rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let [flag, path] = words else { return };
        let holds = match (ctx.failed, negated) {
            (Tri::No, false) | (Tri::Yes, true) => true,
            (Tri::Yes, false) | (Tri::No, true) => false,
            (Tri::Unknown, _) => return,
        };
        if path.contains('$') {
            return;
        }
        let mut file = File {
            path: resolved(ctx.invocation, path),
            ..File::default()
        };
        match (*flag, holds) {
            ("-e" | "-f" | "-d" | "-r" | "-w" | "-x" | "-s" | "-L" | "-S" | "-p", true) => {
                file.exists = Tri::Yes;
                file.kind = match *flag {
                    "-f" => Some("file".to_owned()),
                    "-d" => Some("directory".to_owned()),
                    "-S" => Some("socket".to_owned()),
                    _ => None,
                };
                file.executable = (*flag == "-x").then_some(true);
            }
            ("-e", false) => file.exists = Tri::No,
            // Of another kind, or not there: in practice not there.
            ("-f" | "-d", false) => file.exists = Tri::No,
            _ => return, // `-s` fails for an empty file as well, `-r` and `-x` for a forbidden one
        }
        sink.lines(&[], file);
    }

    fn reads_silence(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_read_back() {
        let parts = pieces("%U %a %n");
        let values = by_format("root 755 /home/a b", &parts).unwrap();
        assert_eq!(values, [('U', "root"), ('a', "755"), ('n', "/home/a b")]);
        let parts = pieces("%y %s");
        let values = by_format("2026-11-30 11:56:59.897237715 +0000 354", &parts).unwrap();
        assert_eq!(values.last(), Some(&('s', "354")));
        assert!(by_format("Mon Nov 30", &parts).is_none());
    }
}
