//! Text that was shown for what it is, told from what a program says of its run.

use super::Context;

/// Programs that show text or other programs' calls, and never a run of their own.
const SHOW_TEXT: [&str; 15] = [
    "apropos",
    "bat",
    "colordiff",
    "diff",
    "history",
    "hg",
    "info",
    "ltrace",
    "man",
    "printf",
    "sdiff",
    "strace",
    "svn",
    "tldr",
    "whatis",
];

/// Programs that show texts on standard output, and say on standard error what they have to say.
const SHOW_ON_STDOUT: [&str; 3] = ["crontab", "gh", "glab"];

/// Programs that search in texts, and print before each line where it stands.
const SEARCH: [&str; 8] = [
    "ack", "ag", "egrep", "fgrep", "grep", "rg", "zgrep", "ugrep",
];

/// How names of source code, settings and documents end.
const SOURCE: [&str; 47] = [
    "adoc", "asm", "bash", "c", "cc", "cfg", "cjs", "conf", "cpp", "cs", "css", "cu", "cuh", "cxx",
    "diff", "ex", "go", "h", "hpp", "htm", "html", "ini", "ipynb", "java", "js", "json", "jsx",
    "kt", "lua", "md", "mjs", "patch", "php", "pl", "proto", "py", "rb", "rs", "rst", "scala",
    "sh", "sql", "tf", "toml", "ts", "tsx", "xml",
];

/// Names of documents and of files that hold commands.
const DOCUMENTS: [&str; 12] = [
    ".bash_history",
    ".python_history",
    ".zsh_history",
    "CHANGELOG",
    "CONTRIBUTING",
    "COPYING",
    "Dockerfile",
    "LICENSE",
    "Makefile",
    "NEWS",
    "README",
    "TODO",
];

/// Folders that hold samples alone, and folders where people also run things.
const SAMPLES: [&str; 4] = ["fixtures", "samples", "testdata", "golden"];
const WORKED_IN: [&str; 6] = ["docs", "example", "examples", "sample", "test", "tests"];

/// Whether a line was shown for what it is: source code, a manual, a change, a search in a
/// repository. What git says of itself (`fatal: …`) is not, nor is a line found in a log that begins
/// with the place in the source where it was said (`Indexing.cu:1422: … Assertion … failed.`).
pub(crate) fn is_quoted(context: &Context<'_>, line: &str) -> bool {
    let program = context.program;
    let own = line.trim_start_matches("^C").strip_prefix(program);
    SHOW_TEXT.contains(&program) && !own.is_some_and(|rest| rest.starts_with(": "))
        || SHOW_ON_STDOUT.contains(&program) && context.source != "stderr"
        || is_document(context.path)
        || program == "git" && context.source != "stderr" && is_of_a_repository(line)
        || SEARCH.contains(&program)
            && context.path.is_empty()
            && found_in(line).is_some_and(is_document)
}

/// A line of a change, a message, a list of commits or a search, as git shows them.
fn is_of_a_repository(line: &str) -> bool {
    let first = line.split(' ').next().unwrap_or_default();
    let is_hash = (7..=40).contains(&first.len()) && first.bytes().all(|b| b.is_ascii_hexdigit());
    line.starts_with([' ', '\t', '+', '-', '*', '|'])
        || line.starts_with("@@")
        || is_hash
        || found_in(line).is_some_and(is_document)
}

/// The file that a search's line names: `src/a.py:12:…`, `src/a.py-13-…`.
fn found_in(line: &str) -> Option<&str> {
    let end = line.find([':', ' ', '\t'])?;
    let word = &line[..end];
    if line[end..].starts_with(':') {
        return Some(word);
    }
    // Lines beside a match: `a.py-13-text`.
    let dot = word.rfind('.')?;
    let stop = word[dot..].find('-')? + dot;
    Some(&word[..stop])
}

/// Whether a file holds text that says nothing of a run, by its name.
fn is_document(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or_default();
    if name.is_empty() {
        return false;
    }
    if parts.clone().any(|folder| SAMPLES.contains(&folder)) {
        return true;
    }
    let is_log = [".log", ".out", ".err", "-log", "_log"];
    if is_log.iter().any(|end| name.ends_with(end)) || name.contains(".log.") {
        return false;
    }
    let stem = name.split('.').next().unwrap_or_default();
    let ends = name.rsplit_once('.').map_or("", |(_, end)| end);
    SOURCE.contains(&ends)
        || ends == "yaml"
        || ends == "yml"
        || DOCUMENTS.contains(&name)
        || DOCUMENTS.contains(&stem)
        || parts.any(|folder| WORKED_IN.contains(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_for_what_it_is_is_told_from_what_a_run_says() {
        let shown: [(&str, &str, &str); 12] = [
            ("man", "", "EADDRINUSE Address already in use."),
            ("git", "", "a1b2c3d fix: connection refused on restart"),
            ("git", "", "    raise OSError('No space left on device')"),
            ("git", "", "+    log.error('CUDA out of memory')"),
            ("grep", "", "src/serve.py:40:    # address already in use"),
            (
                "rg",
                "",
                "src/serve.py-41-    raise RuntimeError('port taken')",
            ),
            (
                "cat",
                "/srv/app/README",
                "If you see `Permission denied`, run chmod",
            ),
            (
                "cat",
                "/srv/app/main.go",
                "return errors.New(\"connection refused\")",
            ),
            (
                "tail",
                "/srv/app/tests/fixtures/oom.log",
                "torch.OutOfMemoryError: CUDA out of memory",
            ),
            ("head", "tests/data", "Segmentation fault"),
            (
                "grep",
                "/etc/nginx/nginx.conf",
                "error_log /var/log/nginx/error.log;",
            ),
            (
                "strace",
                "",
                "connect(3, ...) = -1 ECONNREFUSED (Connection refused)",
            ),
        ];
        for (program, path, text) in shown {
            assert!(quoted(program, path, text), "{program} {path}: {text}");
        }
        let said: [(&str, &str, &str); 13] = [
            (
                "grep",
                "/srv/run/out.log",
                "/src/native/Loss.cu:245: nll_loss: block: [0,0,0] Assertion `t < n` failed.",
            ),
            (
                "rg",
                "/srv/run/nohup.out",
                "server.go:88: listen tcp :8080: bind: address already in use",
            ),
            (
                "git",
                "",
                "fatal: unable to access 'https://h/': Could not resolve host: h",
            ),
            ("git", "", "dev@h: Permission denied (publickey)."),
            ("git", "", "Host key verification failed."),
            ("grep", "", "/var/log/app.log:12:ERROR connection refused"),
            (
                "grep",
                "",
                "2026-11-30 10:00:00 ERROR main.py:12 connection refused",
            ),
            (
                "tail",
                "/home/dev/tests/server.log",
                "OSError: [Errno 98] Address already in use",
            ),
            ("tail", "/home/dev/test/nohup.out", "Killed"),
            ("tail", "/srv/app/err.txt", "Permission denied"),
            (
                "docker",
                "",
                "Error response from daemon: No such container: x",
            ),
            (
                "strace",
                "",
                "strace: attach: ptrace(PTRACE_SEIZE, 1): Operation not permitted",
            ),
            ("cat", "/proc/1/status", "State:\tD (disk sleep)"),
        ];
        for (program, path, text) in said {
            assert!(!quoted(program, path, text), "{program} {path}: {text}");
        }
    }

    fn quoted(program: &str, path: &str, text: &str) -> bool {
        let context = Context {
            program,
            path,
            source: "stdout",
            year: None,
        };
        is_quoted(&context, text)
    }
}
