//! Single looks with their real outputs: the fixtures of probes, and the steps of recorded sessions.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use casebook::shell::{self, Condition, HopKind, Invocation, RedirectTo};
use serde::Deserialize;

/// A pipeline that was run alone, and what it printed.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    /// As the shell at its place reads it.
    pub line: String,
    pub stdout: Vec<String>,
    pub stderr: Vec<String>,
    pub code: i32,
    /// How many invocations a tree of it has.
    pub invocations: usize,
    /// The program whose output it is.
    pub tool: String,
    /// It prints what nothing but its file or script decides.
    pub free: bool,
    /// It prints one bare word or number.
    pub prints_bare: bool,
}

#[derive(Deserialize)]
struct Case {
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    command: String,
    #[serde(default)]
    exit: serde_json::Value,
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    stderr: String,
}

/// All pieces, each once.
pub(super) fn all() -> Vec<Piece> {
    let mut found = Vec::new();
    for path in files("tests/fixtures/probes", "txt") {
        let (command, code, stdout, stderr) = fixture(&fs::read_to_string(path).unwrap());
        found.extend(piece(&command, code, &stdout, &stderr));
    }
    for path in files("tests/fixtures/sessions", "yaml") {
        let case: Case = serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        for step in case.steps {
            let code = step.exit.as_i64().and_then(|code| i32::try_from(code).ok());
            found.extend(piece(&step.command, code, &step.stdout, &step.stderr));
        }
    }
    let mut seen = BTreeSet::new();
    found.retain(|one| seen.insert((one.line.clone(), one.stdout.clone())));
    found
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    fn below(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                below(&path, extension, found);
            } else if path.extension().is_some_and(|end| end == extension) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    below(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
        extension,
        &mut found,
    );
    found.sort();
    found
}

/// A probe's fixture: its command, exit code, standard output and standard error.
fn fixture(text: &str) -> (String, Option<i32>, String, String) {
    let (mut command, mut code) = (String::new(), None);
    let (mut stdout, mut stderr, mut other) = (String::new(), String::new(), String::new());
    let mut at = "";
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches('\n');
        if let Some(name) = bare.strip_prefix("--- ")
            && matches!(name, "stdout" | "stderr" | "tty")
        {
            at = name;
            continue;
        }
        match at {
            "stdout" => stdout.push_str(line),
            "stderr" => stderr.push_str(line),
            "tty" => other.push_str(line),
            _ => {
                if let Some(rest) = bare.strip_prefix("$ ") {
                    command.push_str(rest);
                } else if let Some(rest) = bare.strip_prefix("> ") {
                    command.push('\n');
                    command.push_str(rest);
                } else if let Some(rest) = bare.strip_prefix("exit ") {
                    code = rest.parse().ok();
                }
            }
        }
    }
    if !other.is_empty() {
        code = None; // a terminal's streams cannot be told apart
    }
    (command, code, stdout, stderr)
}

/// Programs that print nothing, or nothing but what was typed.
const DULL: &[&str] = &[
    "echo", "printf", "cd", "sleep", "true", "false", "rm", "mkdir", "touch", "export", "kill",
    "pkill", "killall", "test", "[", "bash", "sh", "ssh", "scp", "rsync", "tmux", "screen",
    "clear",
];

fn piece(command: &str, code: Option<i32>, stdout: &str, stderr: &str) -> Option<Piece> {
    let code = code.filter(|code| (0..126).contains(code))?;
    if stdout.contains(['\r', '\x1b', '\0', '\\']) || stderr.contains(['\r', '\x1b']) {
        return None;
    }
    let line = carried(command);
    let tree = shell::parse(&line);
    let all = &tree.invocations;
    let leaves: Vec<&Invocation> = all.iter().filter(|one| one.hop.is_none()).collect();
    let plain = |one: &Invocation| {
        one.condition == Condition::Always
            && !one.background
            && !one.substituted
            && !one.away
            && one.assignments.is_empty()
            && matches!(one.hop, None | Some(HopKind::Wrapper))
            && one.words.iter().all(|word| !word.text.contains(['$', '`']))
            && one.redirects.iter().all(|redirect| match &redirect.to {
                RedirectTo::Truncate { path } => path.text == "/dev/null" && redirect.fd == 2,
                RedirectTo::Copy { of } => *of == 1,
                RedirectTo::Read { .. } => true,
                _ => false,
            })
    };
    let one_pipeline = leaves.len() == 1
        || leaves
            .iter()
            .all(|one| one.pipe.map(|pipe| pipe.pipeline) == Some(0));
    let first = leaves.first()?;
    let odd = line.contains(['\n', '\'', '!']) || line.contains("$(") || line.contains(" & ");
    if !tree.complaints.is_empty()
        || !all.iter().all(plain)
        || !one_pipeline
        || odd
        || DULL.contains(&first.program())
    {
        return None;
    }
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (stdout, stderr) = (lines(stdout), lines(stderr));
    let words_of_ssh = |line: &String| {
        [
            "ssh: ",
            "Warning: Permanently",
            "Connection to ",
            "kex_",
            "Host key",
        ]
        .iter()
        .any(|start| line.starts_with(start))
    };
    if stdout.len() + stderr.len() > 60 || stderr.iter().any(words_of_ssh) {
        return None;
    }
    let tool = first.program().to_owned();
    let filtered = leaves.len() > 1;
    let prints_bare = stdout.len() == 1 && stdout[0].split_whitespace().count() == 1;
    Some(Piece {
        free: is_free(first) || (filtered && reshapes(&leaves)),
        invocations: all.len(),
        line,
        stdout,
        stderr,
        code,
        tool,
        prints_bare,
    })
}

/// The text that the innermost shell reads.
fn carried(command: &str) -> String {
    let tree = shell::parse(command);
    let whole = tree.invocations.first().is_some_and(|first| {
        first.hop == Some(HopKind::Ssh)
            && first.pipe.is_none()
            && first.redirects.is_empty()
            && tree.invocations.iter().skip(1).all(|one| one.shell != 0)
    });
    match tree.shells.get(1) {
        Some(inner) if whole && inner.started_by == Some(0) => inner.text.clone(),
        _ => command.to_owned(),
    }
}

/// A look whose lines have no shape of their own.
fn is_free(first: &Invocation) -> bool {
    let known = [
        "ps",
        "pgrep",
        "pidof",
        "top",
        "pstree",
        "nvidia-smi",
        "gpustat",
        "ls",
        "stat",
        "wc",
        "df",
        "du",
        "ss",
        "netstat",
        "lsof",
        "fuser",
        "ping",
        "date",
        "uptime",
        "free",
        "ulimit",
        "env",
        "printenv",
        "systemctl",
        "supervisorctl",
        "kubectl",
        "py-spy",
        "find",
        "readlink",
        "nproc",
        "hostname",
        "whoami",
        "uname",
        "id",
        "getent",
        "which",
        "docker",
    ];
    let logs = first
        .words
        .iter()
        .any(|word| matches!(word.text.as_str(), "logs" | "exec" | "run"));
    !known.contains(&first.program()) || logs
}

fn reshapes(stages: &[&Invocation]) -> bool {
    stages.iter().skip(1).any(|one| {
        !matches!(
            one.program(),
            "head" | "tail" | "grep" | "wc" | "sort" | "uniq"
        )
    })
}
