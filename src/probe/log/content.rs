//! What a text is: a log, or something in which no trouble is to be read.

use std::sync::LazyLock;

use regex::Regex;

use crate::probe::pattern::pattern;
use crate::text::TextLine;

/// What the lines of a file show of its kind.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// A log, or nothing that speaks against it.
    pub(super) is_log: bool,
    /// A shell script.
    pub(super) script: bool,
    /// A git-lfs pointer.
    pub(super) lfs_pointer: bool,
    /// Lines end in CR LF in the file itself.
    pub(super) crlf: bool,
    /// Nothing but nohup's own words.
    pub(super) only_nohup: bool,
}

static NOHUP: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^nohup: (?:ignoring input|appending output to|redirecting stderr)"));
static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s*(?:#!|#|exec |export |set -|source |\. /|if \[|for \w+ in |while |fi$|done$|esac$|function |\w+\(\) *\{|[A-Z_][A-Z0-9_]*=|cd |ulimit |trap )",
    )
});
static SETTING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^\s*(?:\[[\w .:-]+\]|[#;].*|[\w.-]+ *[=:] *\S.*|[\w.-]+:|- .*|[{}\[\]],?)$")
});

impl Content {
    /// Judges lines of `path`; `from_start`: they begin with the file's first.
    pub(super) fn of(path: &str, lines: &[&TextLine], from_start: bool, stream: &str) -> Self {
        let mut full = lines.iter().filter(|line| !line.is_blank());
        let first = full
            .next()
            .map_or("", |line| line.text.trim_start_matches('\u{feff}'));
        let only_nohup = !first.is_empty()
            && lines
                .iter()
                .filter(|line| !line.is_blank())
                .all(|line| NOHUP.is_match(line.text.trim()));
        let lfs_pointer = first.starts_with("version https://git-lfs.github.com/spec");
        let shebang = from_start && first.starts_with("#!");
        let shell_name = [".sh", ".bash", ".zsh", ".ksh"]
            .iter()
            .any(|end| path.ends_with(end))
            || is_program(path);
        let coded = || {
            let code = lines.iter().filter(|line| SCRIPT.is_match(&line.text));
            code.count() * 3 >= lines.len().max(1)
        };
        let script = (shebang
            && !first.contains("python")
            && !first.contains("perl")
            && !first.contains("node"))
            || (shell_name && coded());
        // A terminal ends each line with CR LF; there the file's own CR is one more.
        let crs = lines
            .iter()
            .filter(|line| {
                if stream == "tty" {
                    line.double_cr
                } else {
                    line.crlf
                }
            })
            .count();
        let settings = lines.len() > 2
            && from_start
            && !path.ends_with(".log")
            && !path.ends_with(".out")
            && lines
                .iter()
                .filter(|line| !line.is_blank())
                .all(|line| SETTING.is_match(&line.text));
        let other =
            shebang || script || lfs_pointer || is_code(path) || is_document(first) || settings;
        Self {
            is_log: !other,
            script,
            lfs_pointer,
            crlf: !lines.is_empty() && crs * 2 > lines.len(),
            only_nohup,
        }
    }
}

/// A file without an ending where programs lie: `/srv/x/bin/start`, `/etc/init.d/x`.
fn is_program(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or("");
    let folder = parts.next().unwrap_or("");
    let folders = ["bin", "sbin", "libexec", "scripts", "init.d", "hooks"];
    !name.contains('.') && (folders.contains(&folder) || folder.starts_with("cron."))
}

/// A file that is no log by its name: code, configuration, data.
pub(super) fn is_code(path: &str) -> bool {
    const ENDS: &[&str] = &[
        "sh",
        "bash",
        "zsh",
        "py",
        "pyi",
        "ipynb",
        "pl",
        "rb",
        "js",
        "mjs",
        "cjs",
        "ts",
        "tsx",
        "jsx",
        "c",
        "h",
        "cc",
        "cpp",
        "hpp",
        "cu",
        "cuh",
        "rs",
        "go",
        "java",
        "kt",
        "scala",
        "lua",
        "sql",
        "html",
        "css",
        "md",
        "rst",
        "yaml",
        "yml",
        "toml",
        "ini",
        "cfg",
        "conf",
        "cnf",
        "json",
        "xml",
        "properties",
        "env",
        "service",
        "timer",
        "socket",
        "mount",
        "tf",
        "hcl",
        "proto",
        "cmake",
        "mk",
        "gradle",
        "lock",
        "pem",
        "crt",
        "pub",
        "safetensors",
        "bin",
        "gguf",
        "pt",
        "csv",
        "tsv",
        "repo",
        "list",
        "rules",
        "desktop",
        "dockerfile",
    ];
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    if matches!(
        name.as_str(),
        "dockerfile"
            | "makefile"
            | "hosts"
            | "fstab"
            | "passwd"
            | "group"
            | "resolv.conf"
            | "crontab"
            | "environment"
            | "profile"
            | "authorized_keys"
            | "known_hosts"
            | "config"
            | "os-release"
            | "nsswitch.conf"
    ) || name.starts_with(".bash")
        || name.starts_with(".profile")
        || name.starts_with(".zsh")
        || name == ".env"
    {
        return true;
    }
    match name.rsplit_once('.') {
        Some((_, end)) => ENDS.contains(&end),
        None => path.starts_with("/etc/"),
    }
}

/// The first line begins a JSON document that spans lines, or XML.
fn is_document(first: &str) -> bool {
    let first = first.trim();
    matches!(first, "{" | "[" | "[{" | "{}" | "[]")
        || first.starts_with("<?xml")
        || first.starts_with("<!DOCTYPE")
        || (first.starts_with("{\"") && !first.ends_with('}'))
        || (first.starts_with("[\"") || first.starts_with("[{"))
        || (first.starts_with('{') && first.ends_with('}') && !has_log_fields(first))
}

/// A JSON object of one line that is a log record.
fn has_log_fields(line: &str) -> bool {
    [
        "\"level\"",
        "\"msg\"",
        "\"message\"",
        "\"MESSAGE\"",
        "\"time\"",
        "\"ts\"",
        "\"timestamp\"",
        "\"severity\"",
        "\"log\"",
    ]
    .iter()
    .any(|field| line.contains(field))
}

/// The words of a tool about its own look, not of the file.
pub(super) fn is_tool_message(line: &str, tool: &str) -> bool {
    const TOOLS: &[&str] = &[
        "tail", "head", "cat", "tac", "less", "more", "sed", "awk", "grep", "egrep", "zcat",
        "gzip", "cut", "sort", "rg", "ls",
    ];
    let colon = memchr::memchr_iter(b':', line.as_bytes())
        .find(|at| line.as_bytes().get(at + 1) == Some(&b' '));
    let Some((front, rest)) = colon.and_then(|at| Some((line.get(..at)?, line.get(at + 2..)?)))
    else {
        return line.starts_with("-- No entries --")
            || line.starts_with("==> ")
                && line.ends_with(" <==")
                && !matches!(tool, "tail" | "gtail" | "head" | "ghead");
    };
    if front == tool || TOOLS.contains(&front) {
        let said = [
            "cannot open",
            "cannot access",
            "can't read",
            "can't open",
            "No such file",
            "Permission denied",
            "Is a directory",
            "is a directory",
            "file truncated",
            "has been replaced",
            "has become",
            "following",
            "binary file matches",
            "not in gzip format",
            "read kernel buffer failed",
            "error reading",
            "invalid",
            "unrecognized",
            "unknown option",
            "option requires",
            "Input/output error",
            "no files remaining",
            "giving up",
            "inotify",
            "Operation not permitted",
        ];
        return said.iter().any(|said| rest.contains(said));
    }
    match tool {
        "kubectl" | "oc" | "k" => {
            front.starts_with("Error from server")
                || front == "error"
                || line.starts_with("Defaulted container")
                || front == "Unable to connect to the server"
        }
        "docker" | "podman" | "nerdctl" => {
            front == "Error response from daemon"
                || line.starts_with("Error: no container")
                || line.starts_with("Cannot connect to the Docker")
        }
        "journalctl" => front == "Hint" || line.starts_with("No journal files"),
        _ => false,
    }
}

/// A tool's word that it could not look.
pub(super) fn is_refusal(line: &str) -> bool {
    !line.contains("file truncated")
        && !line.contains("has been replaced")
        && !line.contains("has become")
        && !line.contains("binary file matches")
        && !line.starts_with("Defaulted container")
        && !line.starts_with("Hint: ")
        && !line.starts_with("-- No entries --")
}

/// So many bytes are taken into the digest at once.
const PIECE: usize = 16 << 10;

/// Digest of what was shown, to see whether two looks agree.
pub(super) fn digest(lines: &[&TextLine]) -> String {
    let mut hasher = blake3::Hasher::new();
    // It takes pieces of some size several times as fast.
    let mut piece = Vec::with_capacity(PIECE);
    for line in lines {
        piece.extend_from_slice(line.text.as_bytes());
        piece.push(b'\n');
        if piece.len() >= PIECE {
            hasher.update(&piece);
            piece.clear();
        }
    }
    hasher.update(&piece);
    let mut hex = hasher.finalize().to_hex().to_string();
    hex.truncate(16);
    hex
}
