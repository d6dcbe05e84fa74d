//! `echo` and `printf`: the text is known but for its expansions, and those are looks of their own:
//! `echo rc=$?`, `echo $!`, `echo $CUDA_VISIBLE_DEVICES`, `echo $p $(cat /proc/$p/wchan)`.

use regex::Regex;

use super::processes::loop_look;
use super::words::int;
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::fact::{EchoedExit, EchoedPid, Env, Process};
use crate::shell::{Invocation, Tree, Tri, Word};

/// `echo`, `printf`.
pub(super) struct Echo;

/// A piece of the text: known, or an expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// Blanks that go when what stands beside them is empty.
    Gap,
    /// What is expanded, without `$` and braces: `?`, `!`, `HOME`, `(date)`.
    Hole(String),
}

/// One line of the text.
struct Template {
    pieces: Vec<Piece>,
    regex: Option<Regex>,
    /// Letters that are known.
    known: usize,
}

/// Splits a word with expansions into pieces.
fn pieces_of(text: &str, out: &mut Vec<Piece>) {
    let mut rest = text;
    let mut known = String::new();
    while let Some(at) = rest.find(['$', '`']) {
        known.push_str(rest.get(..at).unwrap_or(""));
        let tail = rest.get(at..).unwrap_or("");
        let length = expansion_length(tail);
        if length < 2 {
            known.push_str(tail.get(..1).unwrap_or(""));
            rest = tail.get(1..).unwrap_or("");
            continue;
        }
        if !known.is_empty() {
            out.push(Piece::Text(std::mem::take(&mut known)));
        }
        let expansion = tail.get(..length).unwrap_or("");
        let inner = expansion.trim_start_matches('$').trim_matches('`');
        let inner = inner
            .strip_prefix('{')
            .and_then(|inner| inner.strip_suffix('}'))
            .unwrap_or(inner);
        out.push(Piece::Hole(inner.to_owned()));
        rest = tail.get(length..).unwrap_or("");
    }
    known.push_str(rest);
    if !known.is_empty() {
        out.push(Piece::Text(known));
    }
}

/// The length of an expansion at the start of a text.
fn expansion_length(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    if text.starts_with('`') {
        return chars
            .find(|(_, c)| *c == '`')
            .map_or(text.len(), |(at, _)| at + 1);
    }
    match chars.next() {
        Some((_, open @ ('(' | '{'))) => {
            let close = if open == '(' { ')' } else { '}' };
            let mut depth = 1;
            for (at, c) in chars {
                if c == open {
                    depth += 1;
                } else if c == close {
                    depth -= 1;
                    if depth == 0 {
                        return at + 1;
                    }
                }
            }
            text.len()
        }
        Some((_, c)) if c.is_ascii_alphabetic() || c == '_' => chars
            .find(|(_, c)| !(c.is_ascii_alphanumeric() || *c == '_'))
            .map_or(text.len(), |(at, _)| at),
        Some((at, c)) if c.is_ascii_digit() || "?!$#@*-_".contains(c) => at + c.len_utf8(),
        _ => 1,
    }
}

fn push_word(word: &Word, out: &mut Vec<Piece>) {
    if word.literal {
        out.push(Piece::Text(word.text.clone()));
    } else if word.text.contains(['$', '`']) {
        pieces_of(&word.text, out);
    } else {
        out.push(Piece::Hole(word.text.clone())); // a glob, a tilde
    }
}

/// The lines that the invocation prints.
fn templates(invocation: &Invocation) -> Vec<Template> {
    let mut pieces = Vec::new();
    let mut escapes = false;
    if invocation.program() == "printf" {
        let words = invocation.args();
        let Some(format) = words.first() else {
            return Vec::new();
        };
        let mut values = words.iter().skip(1);
        let mut rest = format.text.as_str();
        while let Some(at) = rest.find('%') {
            pieces.push(Piece::Text(rest.get(..at).unwrap_or("").to_owned()));
            let tail = rest.get(at + 1..).unwrap_or("");
            let end = tail
                .find(|c: char| c.is_ascii_alphabetic() || c == '%')
                .unwrap_or(0);
            match tail.get(end..=end) {
                Some("%") => pieces.push(Piece::Text("%".to_owned())),
                Some("s" | "b") if end == 0 => match values.next() {
                    Some(word) => push_word(word, &mut pieces),
                    None => pieces.push(Piece::Hole(String::new())),
                },
                _ => {
                    values.next();
                    pieces.push(Piece::Hole(String::new()));
                }
            }
            rest = tail.get(end + 1..).unwrap_or("");
        }
        pieces.push(Piece::Text(rest.to_owned()));
        escapes = true;
    } else {
        let mut words = invocation.args().iter().peekable();
        while let Some(word) = words.peek() {
            let flags = word
                .text
                .strip_prefix('-')
                .filter(|flags| !flags.is_empty() && flags.chars().all(|c| "neE".contains(c)));
            let Some(flags) = flags else { break };
            escapes = flags.contains('e');
            words.next();
        }
        for (at, word) in words.enumerate() {
            if at > 0 {
                pieces.push(Piece::Gap);
            }
            push_word(word, &mut pieces);
        }
    }
    lines_of(pieces, escapes)
}

fn lines_of(pieces: Vec<Piece>, escapes: bool) -> Vec<Template> {
    let mut lines: Vec<Vec<Piece>> = vec![Vec::new()];
    for piece in pieces {
        match piece {
            Piece::Text(text) => {
                let text = if escapes {
                    text.replace("\\n", "\n").replace("\\t", "\t")
                } else {
                    text
                };
                for (at, part) in text.split('\n').enumerate() {
                    if at > 0 {
                        lines.push(Vec::new());
                    }
                    if let Some(line) = lines.last_mut()
                        && !part.is_empty()
                    {
                        line.push(Piece::Text(part.to_owned()));
                    }
                }
            }
            other => {
                if let Some(line) = lines.last_mut() {
                    line.push(other);
                }
            }
        }
    }
    if lines.len() > 1 && lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    lines.into_iter().map(template).collect()
}

fn template(pieces: Vec<Piece>) -> Template {
    let mut expression = String::from("^");
    let mut known = 0;
    let about_process = pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Hole(name) if name.contains("/proc/")));
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => {
                known += text.trim().len();
                expression.push_str(&regex::escape(text));
            }
            Piece::Gap => {
                let beside = [
                    at.checked_sub(1).and_then(|before| pieces.get(before)),
                    pieces.get(at + 1),
                ];
                let hole = beside
                    .iter()
                    .flatten()
                    .any(|piece| matches!(piece, Piece::Hole(_)));
                expression.push_str(if hole { "[ ]*" } else { " " });
            }
            // Beside files of /proc a variable is a process id.
            Piece::Hole(name) if about_process && !name.starts_with('(') => {
                expression.push_str(r"(\S*)");
            }
            Piece::Hole(name) => expression.push_str(hole_expression(name)),
        }
    }
    expression.push_str(r"\s*$");
    Template {
        regex: Regex::new(&expression).ok(),
        pieces,
        known,
    }
}

/// What an expansion can hold.
fn hole_expression(name: &str) -> &'static str {
    if name == "?" || name.starts_with("PIPESTATUS") {
        r"(\d+)"
    } else if matches!(name, "!" | "$" | "PPID" | "BASHPID" | "#") {
        r"(\d*)"
    } else if name.contains("/wchan") || name.contains("/comm") || name.starts_with("(basename") {
        r"(\S*)"
    } else {
        "(.*?)"
    }
}

impl Probe for Echo {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(invocation.program(), "echo" | "printf")
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let templates = templates(ctx.invocation);
        let open = templates.iter().any(|line| line.pieces.iter().any(|piece| matches!(piece, Piece::Hole(name) if name.starts_with('(') || name.starts_with('"'))));
        let lines = templates.len();
        let fit = move |line: &str, nth: usize| {
            let template = templates.get(nth.min(lines.saturating_sub(1)));
            let Some(template) = template else {
                return Fit::No;
            };
            if !template
                .regex
                .as_ref()
                .is_some_and(|regex| regex.is_match(line))
            {
                return Fit::No;
            }
            let only_number = template.pieces.iter().any(|piece| {
                matches!(piece, Piece::Hole(name) if name == "?" || name == "!" || name.starts_with("PIPESTATUS"))
            });
            let all_known = !template
                .pieces
                .iter()
                .any(|piece| matches!(piece, Piece::Hole(_)));
            if all_known || template.known >= 2 {
                Fit::Surely
            } else if only_number || template.known == 1 || template.pieces.len() >= 3 {
                Fit::Likely
            } else {
                Fit::Perhaps
            }
        };
        let mut grammar = Grammar::exactly(lines, fit);
        if open {
            grammar.max = None; // an expansion in quotes may hold several lines
        }
        let blank = ctx.invocation.args().is_empty();
        if blank || ctx.invocation.args().iter().any(|word| word.text == "-n") {
            grammar.min = 0;
        }
        grammar
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let templates = templates(ctx.invocation);
        if templates.is_empty() || !ctx.filter.keeps_lines() {
            return;
        }
        let mut processes: Vec<(Shown, Process)> = Vec::new();
        for (line, template) in lines.iter().zip(templates.iter().cycle()) {
            let Some(found) = template
                .regex
                .as_ref()
                .and_then(|regex| regex.captures(&line.text))
            else {
                continue;
            };
            let names: Vec<&str> = template
                .pieces
                .iter()
                .filter_map(|piece| match piece {
                    Piece::Hole(name) => Some(name.as_str()),
                    _ => None,
                })
                .collect();
            let values: Vec<(&str, &str)> = names
                .into_iter()
                .zip(
                    found
                        .iter()
                        .skip(1)
                        .map(|value| value.map_or("", |value| value.as_str())),
                )
                .collect();
            if let Some(process) = process_of(&values) {
                processes.push((line.clone(), process));
                continue;
            }
            for (name, value) in values {
                expanded(line, name, value, ctx, sink);
            }
        }
        if !processes.is_empty() {
            loop_look(processes, ctx, sink);
        }
    }

    fn complains(&self, line: &str, _ctx: &Ctx<'_>) -> Fit {
        line.contains(": echo: write error").into()
    }
}

/// The fact of one expansion.
fn expanded(line: &Shown, name: &str, value: &str, ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let number = int(value);
    if name == "?" {
        if let Some(code) = number {
            let program = program_before(ctx, None).unwrap_or_default();
            sink.line(line, EchoedExit { code, program });
        }
    } else if let Some(rest) = name.strip_prefix("PIPESTATUS") {
        let stage = rest.trim_matches(['[', ']']).parse::<usize>().unwrap_or(0);
        if let Some(code) = number {
            let program = program_before(ctx, Some(stage)).unwrap_or_default();
            sink.line(line, EchoedExit { code, program });
        }
    } else if name == "!" {
        if let Some(pid) = number {
            sink.line(line, EchoedPid { pid });
        }
    } else if let Some(kept) = kept_code(ctx.look.tree, ctx.invocation, name) {
        if let Some(code) = number {
            let program = invocation_before(ctx.look.tree, kept, None)
                .map_or_else(String::new, |before| before.program().to_owned());
            sink.line(line, EchoedExit { code, program });
        }
    } else if is_environment(name) && !set_here(ctx, name) {
        sink.line(
            line,
            Env {
                name: name.to_owned(),
                value: value.to_owned(),
            },
        );
    }
}

fn is_environment(name: &str) -> bool {
    name.len() >= 2
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// The line itself sets the variable.
fn set_here(ctx: &Ctx<'_>, name: &str) -> bool {
    ctx.look.tree.invocations.iter().any(|one| {
        one.index < ctx.invocation.index
            && (one.words.is_empty()
                && one.assignments.iter().any(|(assigned, _)| assigned == name))
    })
}

/// The code of the invocation before, when this one printed it (`X; echo rc=$?`): its index and the
/// code. In a pipeline `$?` is the last stage's.
pub(super) fn code_before(tree: &Tree, echo: &Invocation, lines: &[&str]) -> Option<(usize, i32)> {
    let templates = templates(echo);
    let [line] = lines else { return None };
    let [template] = templates.as_slice() else {
        return None;
    };
    let found = template.regex.as_ref()?.captures(line)?;
    let holes = template.pieces.iter().filter_map(|piece| match piece {
        Piece::Hole(name) => Some(name.as_str()),
        _ => None,
    });
    let (name, value) = holes
        .zip(found.iter().skip(1).flatten())
        .find(|(name, _)| *name == "?" || name.starts_with("PIPESTATUS"))?;
    let code = value.as_str().parse().ok()?;
    let stage = name
        .strip_prefix("PIPESTATUS")
        .map(|rest| rest.trim_matches(['[', ']']).parse().unwrap_or(0));
    Some((invocation_before(tree, echo, stage)?.index, code))
}

/// The assignment that keeps a code under this name (`rc=$?`), the last one before.
fn kept_code<'t>(tree: &'t Tree, echo: &Invocation, name: &str) -> Option<&'t Invocation> {
    let assigned = |one: &&Invocation| {
        one.index < echo.index
            && one.shell == echo.shell
            && one.words.is_empty()
            && one.assignments.iter().any(|(to, _)| to == name)
    };
    let kept = tree.invocations.iter().rfind(assigned)?;
    let is_code = |text: &str| matches!(text.trim_matches('"'), "$?" | "${?}");
    kept.assignments
        .iter()
        .any(|(to, value)| to == name && is_code(&value.text))
        .then_some(kept)
}

/// The program whose code `$?` is: the one before, in the same shell.
fn program_before(ctx: &Ctx<'_>, stage: Option<usize>) -> Option<String> {
    let before = invocation_before(ctx.look.tree, ctx.invocation, stage)?;
    Some(before.program().to_owned())
}

fn invocation_before<'t>(
    tree: &'t Tree,
    echo: &Invocation,
    stage: Option<usize>,
) -> Option<&'t Invocation> {
    let before = tree.invocations.iter().rfind(|one| {
        one.index < echo.index && one.shell == echo.shell && !one.substituted && !one.background
    })?;
    let pipeline = before.pipe.map(|pipe| pipe.pipeline);
    match stage {
        Some(stage) if pipeline.is_some() => tree.invocations.iter().find(|one| {
            one.pipe
                .is_some_and(|pipe| Some(pipe.pipeline) == pipeline && pipe.stage == stage)
        }),
        _ => Some(before),
    }
}

/// A process that a loop described: an id, and what its files under /proc say.
fn process_of(values: &[(&str, &str)]) -> Option<Process> {
    let files = |name: &str| {
        name.contains("/proc/")
            || name.contains("/wchan")
            || name.contains("/comm")
            || name.contains("/stat")
            || name.contains("ps -")
    };
    if !values.iter().any(|(name, _)| files(name)) {
        return None;
    }
    let (_, pid) = values
        .iter()
        .find(|(name, value)| !files(name) && int(value).is_some_and(|pid| pid > 0))?;
    let mut process = Process {
        pid: int(pid)?,
        ..Process::default()
    };
    for (name, value) in values
        .iter()
        .filter(|(name, value)| files(name) && !value.is_empty())
    {
        let value = value.trim();
        if name.contains("/wchan") || name.contains("wchan=") {
            process.wchan = Some(value.to_owned()).filter(|wchan| wchan != "0");
        } else if name.contains("/comm") {
            process.comm = Some(value.to_owned());
        } else if name.contains("cmdline") || name.contains("args=") || name.contains("cmd=") {
            process.args = Some(value.replace('\0', " ").trim().to_owned());
        } else if name.contains("State")
            || name.contains("/stat")
            || name.contains("stat=")
            || name.contains("state=")
        {
            process.state = value
                .get(..1)
                .filter(|state| "RSDTtZIX".contains(state))
                .map(str::to_owned);
        }
    }
    Some(process)
}

/// Whether a substituted look in this shell matches its own shell.
pub(super) fn loop_matches_itself<'a>(ctx: &Ctx<'a>) -> (Option<&'a Invocation>, Tri) {
    let tree = ctx.look.tree;
    let pgrep = tree.invocations.iter().rfind(|one| {
        one.index < ctx.invocation.index && one.substituted && one.program() == "pgrep"
    });
    let matches = pgrep.map_or(Tri::Unknown, |pgrep| {
        tree.looks
            .iter()
            .find(|look| look.invocation == pgrep.index)
            .map_or(Tri::Unknown, |look| look.matches)
    });
    (pgrep, matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<Piece> {
        let mut out = Vec::new();
        pieces_of(text, &mut out);
        out
    }

    #[test]
    fn words_are_texts_and_holes() {
        assert_eq!(
            pieces("rc=$?"),
            [Piece::Text("rc=".into()), Piece::Hole("?".into())]
        );
        assert_eq!(
            pieces("${PIPESTATUS[0]}x$(cat /proc/$p/wchan)"),
            [
                Piece::Hole("PIPESTATUS[0]".into()),
                Piece::Text("x".into()),
                Piece::Hole("(cat /proc/$p/wchan)".into())
            ]
        );
        assert_eq!(pieces("cost 5$"), [Piece::Text("cost 5$".into())]);
    }
}
