//! What shells, wrappers and ssh say about a command they could not run or a host they could not
//! reach, wherever it stands: on standard error, on a terminal, or in a log.
//!
//! Sources: messages of bash 5, dash, zsh, busybox; coreutils' `nohup`, `env`, `timeout`; sudo;
//! OpenSSH 8 to 10.

use std::sync::LazyLock;

use regex::Regex;

use super::words::quoted;
use crate::fact::{Fact, NotRun, Reach};
use crate::shell::Tri;

/// `bash: line 1: `, `-bash: `, `/bin/sh: 1: `, `./run.sh: line 3: `, `zsh:1: `.
static SHELL_PREFIX: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:-?(?:ba|da|k|z|a)?sh|/(?:usr/)?bin/(?:ba|da|z|a)?sh|[\w./~+-]+\.(?:sh|bash|env)|/\S+: line \d+|[\w./~+-]+: line \d+|bash)(?:: line \d+|: -c: line \d+|: \d+|:\d+)?: ")
        .ok()
});

/// The text after a shell's own prefix, when the line has one.
pub(crate) fn after_shell_prefix(line: &str) -> Option<&str> {
    let found = SHELL_PREFIX.as_ref()?.find(line)?;
    line.get(found.end()..)
}

/// The process id of a job that an interactive shell put in the background: `[1] 4711`.
pub(crate) fn job_pid(line: &str) -> Option<i64> {
    let rest = line.strip_prefix('[')?;
    let (number, pid) = rest.split_once("] ")?;
    number.parse::<u32>().ok()?;
    pid.trim().parse().ok()
}

/// Whether a line is ssh's own (or scp's, over the same connection).
pub(crate) fn is_ssh_line(line: &str) -> bool {
    const STARTS: &[&str] = &[
        "ssh: ",
        "ssh_exchange_identification",
        "kex_exchange_identification",
        "Host key verification failed",
        "Warning: Permanently added",
        "Warning: Identity file",
        "Warning: remote port forwarding",
        "Connection to ",
        "Connection closed by ",
        "Connection reset by ",
        "Connection timed out during banner",
        "Pseudo-terminal will not be allocated",
        "Received disconnect from",
        "Disconnected from",
        "client_loop: ",
        "packet_write_wait",
        "Timeout, server ",
        "mux_client",
        "ControlSocket ",
        "channel ",
        "bind [",
        "Bad owner or permissions on",
        "Load key ",
        "identity_sign",
        "sign_and_send_pubkey",
        "The authenticity of host",
        "Offending ",
        "Add correct host key in",
        "Host key for ",
        "Please contact your system administrator",
        "IT IS POSSIBLE THAT",
        "Someone could be eavesdropping",
        "It is also possible that a host key",
        "The fingerprint for the ",
        "@@@@@@@@",
        "@ ",
        "@    WARNING",
        "SHA256:",
        "  remove with:",
        "  ssh-keygen -f",
        "Permissions 0",
        "It is required that your private key",
        "This private key will be ignored",
        "Are you sure you want to continue connecting",
        "scp: ",
        "debug1: ",
        "debug2: ",
        "debug3: ",
        "Unable to negotiate with",
        "no such identity: ",
        "No ECDSA host key",
        "No ED25519 host key",
        "No RSA host key",
        "Authenticated to ",
        "** WARNING: connection is not using a post-quantum",
        "** This session may be vulnerable",
        "** The server may need to be upgraded",
        "lost connection",
        "Enter passphrase for key",
        "Too many authentication failures",
        "Agent key ",
        "agent refused operation",
    ];
    let tried = |line: &str| {
        line.split_once(": Permission denied (")
            .is_some_and(|(who, _)| !who.contains(char::is_whitespace))
            && (line.contains("publickey") || line.contains("password"))
    };
    (STARTS.iter().any(|start| line.starts_with(start)) && !is_other_connection(line))
        || tried(line)
        || line.ends_with("'s password:")
        || line.ends_with("'s password: ")
}

/// Whether a line is a container engine's own, about the hop it carries.
pub(crate) fn is_engine_line(line: &str) -> bool {
    const STARTS: &[&str] = &[
        "command terminated with exit code",
        "Defaulted container",
        "Defaulting container",
        "error: unable to upgrade connection",
        "error: Internal error occurred",
        "Error from server",
        "OCI runtime exec failed",
        "Error response from daemon",
        "Error: No such container",
        "Error: No such object",
        "the input device is not a TTY",
        "docker: Error response from daemon",
        "Unable to use a TTY",
    ];
    STARTS.iter().any(|start| line.starts_with(start))
}

/// `Connection to 10.0.0.1 6379 port [tcp/redis] succeeded!` is nc's.
fn is_other_connection(line: &str) -> bool {
    line.starts_with("Connection to ") && !line.contains("closed") && !line.contains("timed out")
        || line.starts_with("channel ") && !line.contains(": open failed")
}

/// Reads a line that says that something could not be run or reached.
///
/// Made for lines of standard error and of logs alike; a line that merely mentions such words in
/// passing gives nothing.
pub fn read_line(line: &str) -> Option<Fact> {
    let line = line.trim_end();
    if line.len() > 2_000 {
        return None;
    }
    ssh(line).or_else(|| not_run(line).map(Fact::NotRun))
}

fn not_run(line: &str) -> Option<NotRun> {
    let (program, why) = wrapper(line).or_else(|| shell(line))?;
    let program = program.trim();
    if program.is_empty() || program.len() > 300 {
        return None;
    }
    Some(NotRun {
        program: program.to_owned(),
        why: why.to_owned(),
        text: line.to_owned(),
        path: String::new(),
        old: Tri::Unknown,
    })
}

/// Messages of programs that run others.
fn wrapper(line: &str) -> Option<(&str, &'static str)> {
    for start in [
        "nohup: failed to run command ",
        "timeout: failed to run command ",
        "setsid: failed to execute ",
        "stdbuf: failed to run command ",
        "nice: ",
        "env: ",
        "/usr/bin/env: ",
        "setpriv: failed to execute ",
        "chroot: failed to run command ",
        "nsenter: failed to execute ",
        "ionice: failed to execute ",
        "strace: Can't stat ",
        "xargs: ",
        "time: cannot run ",
        "watch: ",
        "exec: ",
        "sudo: unable to execute ",
        "Failed to execute ",
        "runuser: failed to execute ",
    ] {
        if let Some(rest) = line.strip_prefix(start) {
            let (name, reason) = match quoted(rest) {
                Some(name) => (name, rest.rsplit(": ").next().unwrap_or("")),
                None => rest.rsplit_once(": ")?,
            };
            return Some((name.trim_end_matches(':'), reason_of(reason)?));
        }
    }
    if let Some(rest) = line.strip_prefix("sudo: ") {
        return rest
            .strip_suffix(": command not found")
            .map(|name| (name, "not_found"));
    }
    // OCI run time: exec: "foo": executable file not found in $PATH
    if let Some(at) = line.find("exec: \"")
        && let Some(rest) = line.get(at + 6..)
        && let Some(name) = quoted(rest)
    {
        if rest.contains("executable file not found") {
            return Some((name, "not_found"));
        }
        if rest.contains("permission denied") {
            return Some((name, "not_executable"));
        }
        if rest.contains("no such file or directory") {
            return Some((name, "no_such_file"));
        }
    }
    None
}

fn reason_of(reason: &str) -> Option<&'static str> {
    let reason = reason.trim_end_matches('.');
    Some(
        if reason.starts_with("No such file or directory") || reason.starts_with("cannot find") {
            "no_such_file"
        } else if reason.starts_with("Permission denied") {
            "not_executable"
        } else if reason.starts_with("Exec format error") || reason.starts_with("exec format error")
        {
            "format"
        } else if reason.contains("not found") {
            "not_found"
        } else {
            return None;
        },
    )
}

/// Messages of shells.
fn shell(line: &str) -> Option<(&str, &'static str)> {
    if let Some(name) = line.strip_prefix("zsh: command not found: ") {
        return Some((name, "not_found"));
    }
    if let Some(rest) = line.strip_prefix("fish: Unknown command: ") {
        return Some((rest, "not_found"));
    }
    if let Some(rest) = line.strip_prefix("Command '")
        && let Some((name, rest)) = rest.split_once('\'')
        && rest
            .trim_start_matches(',')
            .trim_start()
            .starts_with("not found")
    {
        return Some((name, "not_found"));
    }
    let rest = after_shell_prefix(line)?;
    if let Some(name) = rest.strip_prefix("command not found: ") {
        return Some((name, "not_found"));
    }
    for (end, why) in [
        (": command not found", "not_found"),
        (": not found", "not_found"),
        (
            ": cannot execute: required file not found",
            "bad_interpreter",
        ),
        (": cannot execute binary file: Exec format error", "format"),
        (": cannot execute binary file", "format"),
        (": Exec format error", "format"),
        (
            ": bad interpreter: No such file or directory",
            "bad_interpreter",
        ),
        (": bad interpreter: Permission denied", "bad_interpreter"),
        (": Is a directory", "not_executable"),
        (": No such file or directory", "no_such_file"),
        (": Permission denied", "not_executable"),
        (": inaccessible or not found", "not_found"),
    ] {
        if let Some(name) = rest.strip_suffix(end) {
            // The file named in `bad interpreter` comes after the script: `./x: /bin/zsh: bad …`.
            let name = match name.split_once(": ") {
                Some((script, _)) if why == "bad_interpreter" => script,
                Some(("cd" | "source" | "." | "exec", _)) if why != "not_found" => return None,
                _ => name,
            };
            return Some((name, why));
        }
    }
    // dash: `sh: 1: ./x: not found`, kept apart from a builtin's complaint about a file.
    None
}

/// Messages of ssh.
fn ssh(line: &str) -> Option<Fact> {
    let reach = |host: &str, port: Option<i64>, outcome: &str| {
        Some(Fact::Reach(Reach {
            host: host.to_owned(),
            port,
            outcome: outcome.to_owned(),
            text: line.to_owned(),
            ..Reach::default()
        }))
    };
    if let Some(rest) = line.strip_prefix("ssh: connect to host ") {
        let (host, rest) = rest.split_once(" port ")?;
        let (port, reason) = rest.split_once(": ")?;
        let outcome = if reason.contains("refused") {
            "refused"
        } else if reason.contains("timed out") {
            "timeout"
        } else {
            "unreachable"
        };
        return reach(host, port.parse().ok(), outcome);
    }
    if let Some(rest) = line.strip_prefix("ssh: Could not resolve hostname ") {
        return reach(rest.split(':').next().unwrap_or(rest).trim(), None, "dns");
    }
    if let Some((who, _)) = line.split_once(": Permission denied (")
        && !who.contains(' ')
    {
        let host = who.rsplit('@').next().unwrap_or(who);
        return reach(host, None, "auth");
    }
    if line.starts_with("Received disconnect from")
        && line.contains("Too many authentication failures")
    {
        return reach("", None, "auth");
    }
    if let Some(rest) = line.strip_prefix("Host key for ")
        && let Some((host, _)) = rest.split_once(" has changed")
    {
        return reach(host, None, "host_key");
    }
    if line == "Host key verification failed." {
        return reach("", None, "host_key");
    }
    if line.contains("WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!") {
        return reach("", None, "host_key");
    }
    if line.starts_with("kex_exchange_identification:")
        || line.starts_with("ssh_exchange_identification:")
    {
        return reach("", None, "closed");
    }
    for start in ["Connection closed by ", "Connection reset by "] {
        if let Some(rest) = line.strip_prefix(start) {
            let mut words = rest
                .split(' ')
                .skip_while(|word| !word.contains(['.', ':']));
            return reach(words.next().unwrap_or(rest), None, "closed");
        }
    }
    if line.starts_with("client_loop: send disconnect") || line.starts_with("Timeout, server ") {
        return reach("", None, "closed");
    }
    if let Some(rest) = line.strip_prefix("Connection to ")
        && (line.contains("closed by remote host") || line.contains("timed out"))
    {
        return reach(rest.split(' ').next().unwrap_or(""), None, "closed");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_run(line: &str) -> Option<(String, String)> {
        match read_line(line) {
            Some(Fact::NotRun(fact)) => Some((fact.program, fact.why)),
            _ => None,
        }
    }

    fn reach(line: &str) -> Option<(String, String)> {
        match read_line(line) {
            Some(Fact::Reach(fact)) => Some((fact.host, fact.outcome)),
            _ => None,
        }
    }

    fn pair(one: &str, other: &str) -> Option<(String, String)> {
        Some((one.to_owned(), other.to_owned()))
    }

    #[test]
    fn shells_say_what_they_could_not_run() {
        assert_eq!(
            not_run("bash: line 1: ss: command not found"),
            pair("ss", "not_found")
        );
        assert_eq!(
            not_run("bash: conda: command not found"),
            pair("conda", "not_found")
        );
        assert_eq!(
            not_run("/bin/sh: 1: foo: not found"),
            pair("foo", "not_found")
        );
        assert_eq!(
            not_run("zsh: command not found: rec"),
            pair("rec", "not_found")
        );
        assert_eq!(
            not_run("bash: ./start.sh: cannot execute: required file not found"),
            pair("./start.sh", "bad_interpreter")
        );
        assert_eq!(
            not_run("-bash: ./x: /usr/bin/zsh: bad interpreter: No such file or directory"),
            pair("./x", "bad_interpreter")
        );
        assert_eq!(
            not_run("bash: line 3: ./x: Permission denied"),
            pair("./x", "not_executable")
        );
        assert_eq!(
            not_run("./run.sh: line 4: ray: command not found"),
            pair("ray", "not_found")
        );
        assert_eq!(
            not_run("bash: line 1: cd: /nowhere: No such file or directory"),
            None
        );
    }

    #[test]
    fn wrappers_say_what_they_could_not_run() {
        assert_eq!(
            not_run("nohup: failed to run command './run.sh': Permission denied"),
            pair("./run.sh", "not_executable")
        );
        assert_eq!(
            not_run("nohup: failed to run command ‘./run.sh’: No such file or directory"),
            pair("./run.sh", "no_such_file")
        );
        assert_eq!(
            not_run("env: 'python3\\r': No such file or directory"),
            pair("python3\\r", "no_such_file")
        );
        assert_eq!(
            not_run("/usr/bin/env: ‘node’: No such file or directory"),
            pair("node", "no_such_file")
        );
        assert_eq!(
            not_run("sudo: docker: command not found"),
            pair("docker", "not_found")
        );
    }

    #[test]
    fn ssh_says_what_it_could_not_reach() {
        assert_eq!(
            reach("ssh: connect to host gpu-1 port 22: Connection refused"),
            pair("gpu-1", "refused")
        );
        assert_eq!(
            reach("dev@10.20.3.100: Permission denied (publickey,password)."),
            pair("10.20.3.100", "auth")
        );
        assert_eq!(
            reach("ssh: Could not resolve hostname gpu-9: Name or service not known"),
            pair("gpu-9", "dns")
        );
        assert_eq!(reach("Host key verification failed."), pair("", "host_key"));
        assert_eq!(reach("touch: cannot touch 'x': Permission denied"), None);
    }

    #[test]
    fn a_log_line_that_mentions_them_is_nothing() {
        assert_eq!(read_line("INFO retrying: Permission denied"), None);
        assert_eq!(read_line("2025-01-01 ERROR file not found"), None);
        assert_eq!(
            read_line("FileNotFoundError: [Errno 2] No such file or directory: 'a'"),
            None
        );
    }
}
