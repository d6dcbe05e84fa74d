//! Programs that could not be run, as shells, nohup and others say it.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::line::{Context, Seen, read_head};
use super::marks::{Marked, Marks};
use super::pattern::pattern;
use crate::fact::NotRun;
use crate::shell::Tri;
use crate::text;

/// More of these in one output are not kept.
const MAX_FACTS: usize = 50;

/// The messages; the group `what` is the program, `why` the reason where it is printed.
static SHAPES: LazyLock<Vec<(Regex, Option<&'static str>)>> = LazyLock::new(|| {
    let quote = r"['\x22‘’`]";
    let name = r"(?P<what>[^'\x22‘’`]+)";
    let why = r"(?P<why>[A-Z][^:]*?)\.?$";
    [
        // nohup: failed to run command './x': Permission denied (also timeout, nice, stdbuf, chroot)
        (format!(r"^(?:nohup|timeout|nice|stdbuf|ionice|taskset|chroot|setpriv|env|xargs|time): (?:failed to run command|cannot run|failed to execute) {quote}?{name}{quote}?: {why}"), None),
        // env: 'python3.9': No such file or directory; /usr/bin/env: ‘node’: …
        (format!(r"^(?:/usr/bin/)?(?:env|xargs|nice|taskset|time): \$?{quote}?{name}{quote}?: {why}"), None),
        // setsid: failed to execute x: No such file or directory; su: failed to execute
        (format!(r"^\w+: failed to execute {quote}?{name}{quote}?: {why}"), None),
        // bash: line 1: x: command not found; -bash: x: command not found; ./run.sh: line 2: x: …
        (r"^\S.*?: (?:line \d+: )?(?P<what>[^:]+): command not found(?:\.\.\.)?$".to_owned(), Some("not_found")),
        // zsh: command not found: x; fish: Unknown command: x
        (r"^(?:zsh(?::\d+)?: command not found|fish: Unknown command): (?P<what>\S+)".to_owned(), Some("not_found")),
        // zsh: no such file or directory: ./x; zsh: permission denied: ./x; zsh: exec format error: ./x
        (r"^zsh(?::\d+)?: (?P<why>no such file or directory|permission denied|exec format error): (?P<what>\S*/\S+)$".to_owned(), None),
        // fish: The file './x' is not executable by this user
        (format!(r"^fish: The file {quote}{name}{quote} is (?P<why>not executable) by this user"), None),
        // sh: /app/start.sh: not found (busybox)
        (r"^(?:/bin/)?(?:a|da)?sh: (?P<what>[^:\s]+): not found$".to_owned(), Some("not_found")),
        // sudo: unable to execute ./x: No such file or directory
        (format!(r"^sudo: unable to execute {quote}?{name}{quote}?: {why}"), None),
        // sh: 1: x: not found (dash), sudo: x: command not found
        (r"^\S+: \d+: (?:exec: )?(?P<what>[^:]+): (?:not found|Permission denied)$".to_owned(), Some("not_found")),
        // bash: ./x: /bin/foo^M: bad interpreter: No such file or directory
        (r"^\S.*?: (?:line \d+: )?(?P<what>[^:]+): (?:[^:]+: )?bad interpreter".to_owned(), Some("bad_interpreter")),
        // bash: ./start.sh: cannot execute: required file not found; cannot execute binary file: …
        (r"^\S.*?: (?:line \d+: )?(?P<what>[^:]+): cannot execute: required file not found".to_owned(), Some("bad_interpreter")),
        (r"^\S.*?: (?:line \d+: )?(?P<what>[^:]+): cannot execute binary file".to_owned(), Some("format")),
        (r"^\S.*?: (?:line \d+: )?(?P<what>[^:]+): (?:cannot execute: )?(?P<why>Exec format error)".to_owned(), Some("format")),
        // bash: line 1: ./x: Permission denied / No such file or directory (a path that was to run)
        (r"^-?(?:ba|da|z|k|a)?sh: (?:line \d+: )?(?P<what>(?:\.{0,2}|~)/[^:]+|[^:]+/[^:]+): (?P<why>Permission denied|No such file or directory|Is a directory)$".to_owned(), None),
        (r"^\S+\.(?:sh|bash): line \d+: (?P<what>[^:]*/[^:]+): (?P<why>Permission denied|No such file or directory)$".to_owned(), None),
        // exec: "x": executable file not found in $PATH (docker, kubectl, go)
        (r#"exec: \\?"(?P<what>[^"\\]+)\\?":(?: stat [^:]+:)? (?:executable file not found in \$PATH|no such file or directory)"#.to_owned(), Some("not_found")),
        (r#"exec: \\?"(?P<what>[^"\\]+)\\?": permission denied"#.to_owned(), Some("not_executable")),
        // exec /entrypoint.sh: exec format error / no such file or directory / permission denied
        (r"\bexec (?P<what>/\S+): (?P<why>exec format error|no such file or directory|permission denied)".to_owned(), None),
        // standard_init_linux.go:228: exec user process caused: exec format error
        (r#"(?P<what>exec) user process caused:? "?(?P<why>exec format error|no such file or directory|permission denied)"#.to_owned(), None),
        // systemd: Failed to execute /x: No such file; Failed at step EXEC spawning /x: …
        (r"(?:Failed at step EXEC spawning|Failed to execute|Unable to locate executable) '?(?P<what>/[^:']+)'?: (?P<why>.+)$".to_owned(), None),
        // supervisord: can't find command '/x'; command at '/x' is not executable
        (r"can't find command '(?P<what>[^']+)'".to_owned(), Some("not_found")),
        (r"command at '(?P<what>[^']+)' is not executable".to_owned(), Some("not_executable")),
        // python3: can't open file '/srv/x.py': [Errno 2] No such file or directory
        (r"^\S*python[\d.]*: can't open file '(?P<what>[^']+)': \[Errno \d+\] (?P<why>.+)$".to_owned(), None),
        // bash: x.sh: No such file or directory (bash given a file)
        (r"^(?:ba|da|z|k)?sh: (?:\d+: )?(?:cannot open |can't open )?'?(?P<what>[^:' ]+)'?:? (?P<why>No such file(?: or directory)?)$".to_owned(), None),
        // Error: Cannot find module '/srv/x.js'
        (r"^Error: Cannot find module '(?P<what>/[^']+\.[cm]?js)'".to_owned(), Some("no_such_file")),
        // Error: Unable to access jarfile x.jar; Could not find or load main class X
        (r"^Error: Unable to access jarfile (?P<what>\S+)".to_owned(), Some("no_such_file")),
        (r"^Error: Could not find or load main class (?P<what>\S+)".to_owned(), Some("not_found")),
    ]
    .into_iter()
    .map(|(shape, why)| (pattern(&shape), why))
    .collect()
});

/// The programs that the lines say could not be run, one fact a program and reason.
pub(super) fn read(lines: &[Marked<'_>], context: &Context<'_>) -> Vec<Seen> {
    let mut facts: Vec<Seen> = Vec::new();
    let mut known: Vec<(String, String)> = Vec::new();
    for marked in lines.iter().filter(|line| line.marks.has(Marks::NOT_RUN)) {
        let (text, from, to) = marked.line.last_written();
        let Some((program, why)) = of_line(text) else {
            continue;
        };
        let key = (program.clone(), why.to_owned());
        if known.contains(&key) || facts.len() >= MAX_FACTS {
            continue;
        }
        known.push(key);
        let fact = NotRun {
            program,
            why: why.to_owned(),
            text: text::cut(text.trim(), super::line::MAX_TEXT).to_owned(),
            path: context.path.to_owned(),
            old: Tri::Unknown,
        };
        facts.push(Seen {
            fact: fact.into(),
            from,
            to,
        });
    }
    facts
}

/// One of these is in every such message.
static HINTS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::new([
        "not found",
        "ermission denied",
        "o such file",
        "execut",
        "interpreter",
        "ormat error",
        "nknown command",
        "find",
        "jarfile",
        "Is a directory",
    ])
    .unwrap_or_else(|error| panic!("hints: {error}"))
});

/// Whether a line may be such a message.
pub(super) fn may(line: &str) -> bool {
    HINTS.is_match(text::cut(line, super::line::MAX_TEXT))
}

/// The program that a line says could not be run, and why: `not_found`, `not_executable`,
/// `bad_interpreter`, `no_such_file`, `format`.
pub fn of_line(line: &str) -> Option<(String, &'static str)> {
    let line = text::cut(line, super::line::MAX_TEXT);
    if !HINTS.is_match(line) {
        return None;
    }
    let body = line.get(read_head(line).body..).unwrap_or(line);
    [line, body].into_iter().find_map(|text| {
        SHAPES.iter().find_map(|(shape, fixed)| {
            let found = shape.captures(text.trim())?;
            let program = found.name("what")?.as_str().trim();
            if program.is_empty() {
                return None;
            }
            let printed = found.name("why").map_or("", |why| why.as_str());
            let whole = found.get(0).map_or("", |all| all.as_str());
            let why = match *fixed {
                Some(_) if whole.ends_with("Permission denied") => "not_executable",
                Some(fixed) => fixed,
                None => reason(printed)?,
            };
            // A shell says the same of a file it could not redirect to.
            let data = [".log", ".out", ".err", ".txt", ".json", ".pid"];
            if why != "format" && data.iter().any(|end| program.ends_with(end)) {
                return None;
            }
            Some((program.trim_end_matches('\r').to_owned(), why))
        })
    })
}

fn reason(printed: &str) -> Option<&'static str> {
    let lower = printed.to_ascii_lowercase();
    let reasons = [
        ("permission denied", "not_executable"),
        ("not executable", "not_executable"),
        ("is a directory", "not_executable"),
        ("exec format", "format"),
        ("no such file", "no_such_file"),
        ("not found", "not_found"),
    ];
    reasons
        .iter()
        .find(|(text, _)| lower.contains(text))
        .map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::of_line;

    #[test]
    fn what_could_not_be_run_is_named() {
        let cases = [
            (
                "nohup: failed to run command './serve_qwen.sh': Permission denied",
                "./serve_qwen.sh",
                "not_executable",
            ),
            (
                "nohup: failed to run command ‘./x’: No such file or directory",
                "./x",
                "no_such_file",
            ),
            ("bash: line 1: ss: command not found", "ss", "not_found"),
            ("-bash: conda: command not found", "conda", "not_found"),
            (
                "/srv/run.sh: line 3: module: command not found",
                "module",
                "not_found",
            ),
            ("zsh: command not found: nvcc", "nvcc", "not_found"),
            ("sh: 1: nvidia-smi: not found", "nvidia-smi", "not_found"),
            ("/bin/sh: 1: exec: foo: not found", "foo", "not_found"),
            (
                "bash: ./start.sh: cannot execute: required file not found",
                "./start.sh",
                "bad_interpreter",
            ),
            (
                "-bash: ./start.sh: /bin/bash^M: bad interpreter: No such file or directory",
                "./start.sh",
                "bad_interpreter",
            ),
            (
                "bash: ./a.out: cannot execute binary file: Exec format error",
                "./a.out",
                "format",
            ),
            (
                "bash: line 1: ./run.sh: Permission denied",
                "./run.sh",
                "not_executable",
            ),
            (
                "bash: run.sh: No such file or directory",
                "run.sh",
                "no_such_file",
            ),
            (
                "env: ‘python3.9’: No such file or directory",
                "python3.9",
                "no_such_file",
            ),
            ("sh: /app/go.sh: not found", "/app/go.sh", "not_found"),
            (
                "zsh: no such file or directory: ./go.sh",
                "./go.sh",
                "no_such_file",
            ),
            ("zsh: permission denied: ./go", "./go", "not_executable"),
            ("zsh: exec format error: ./go", "./go", "format"),
            (
                "fish: The file './go' is not executable by this user",
                "./go",
                "not_executable",
            ),
            (
                "sudo: unable to execute ./go: No such file or directory",
                "./go",
                "no_such_file",
            ),
            (
                "standard_init_linux.go:228: exec user process caused: exec format error",
                "exec",
                "format",
            ),
            ("sudo: nvtop: command not found", "nvtop", "not_found"),
            (
                "OCI runtime exec failed: exec failed: unable to start container process: exec: \"bash\": executable file not found in $PATH: unknown",
                "bash",
                "not_found",
            ),
            (
                "exec /entrypoint.sh: exec format error",
                "/entrypoint.sh",
                "format",
            ),
            (
                "Nov 30 12:07:34 h (srv)[12]: srv.service: Failed to execute /opt/x: No such file or directory",
                "/opt/x",
                "no_such_file",
            ),
            (
                "python3: can't open file '/srv/x.py': [Errno 2] No such file or directory",
                "/srv/x.py",
                "no_such_file",
            ),
            (
                "timeout: failed to run command 'foo': No such file or directory",
                "foo",
                "no_such_file",
            ),
        ];
        for (line, program, why) in cases {
            assert_eq!(of_line(line), Some((program.to_owned(), why)), "{line}");
        }
    }

    #[test]
    fn other_misses_are_not_meant() {
        for line in [
            "ls: cannot access '/srv/x': No such file or directory",
            "FileNotFoundError: [Errno 2] No such file or directory: 'x'",
            "bash: /server.log: Permission denied",
            "key not found",
            "tail: cannot open 'x' for reading: No such file or directory",
        ] {
            assert_eq!(of_line(line), None, "{line}");
        }
    }
}
