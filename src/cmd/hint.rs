//! What is told before a command runs: that it is about to hurt itself, and the safer line to type.
//!
//! One line on standard error, on a terminal only, and only where a person works in its foreground.
//! Nothing waits for it, and the command starts whatever it says.

use std::ffi::OsString;
use std::io::{IsTerminal, stderr, stdin};
use std::os::unix::ffi::OsStrExt;

use crate::settings::Settings;
use crate::shell::quote::join;
use crate::shell::warnings::{MAX_WARNED_BYTES, Warning, warnings};
use crate::shell::{HopKind, Tree, parse};

/// Longest safer line that is shown, in bytes: a longer one is no line to type.
const MAX_SHOWN_BYTES: usize = 240;

/// What the command will read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    /// The terminal.
    Terminal,
    /// Nothing (`/dev/null`, or closed).
    Nothing,
    /// A file or a pipe, which others may read as well.
    Shared,
}

/// The hint for a command, if a person is there to read one and wants any.
pub(super) fn before(argv: &[OsString]) -> Option<String> {
    let bytes: usize = argv.iter().map(|word| word.len() + 3).sum();
    if bytes > MAX_WARNED_BYTES || !may_hurt(argv) || !person_reads() || !wanted() {
        return None;
    }
    let words: Vec<String> = argv
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let root = rustix::process::geteuid().is_root();
    let hint = hint(&join(&words), input())?;
    // Root's own shell may open what it likes.
    (hint.kind != "sudo-redirect" || !root).then(|| shown(&hint))
}

/// A program that carries others: all that there are warnings for.
fn may_hurt(argv: &[OsString]) -> bool {
    const CARRIERS: [&[u8]; 24] = [
        b"ssh", b"bash", b"sh", b"dash", b"zsh", b"ksh", b"sudo", b"doas", b"su", b"runuser",
        b"docker", b"podman", b"nerdctl", b"kubectl", b"oc", b"lxc", b"incus", b"nsenter",
        b"timeout", b"env", b"sshpass", b"nohup", b"ansible", b"pdsh",
    ];
    let name = |word: &OsString| {
        let bytes = word.as_bytes();
        let from = bytes
            .iter()
            .rposition(|byte| *byte == b'/')
            .map_or(0, |at| at + 1);
        bytes
            .get(from..)
            .is_some_and(|name| CARRIERS.contains(&name))
    };
    argv.len() > 1 && argv.first().is_some_and(name)
}

/// `hints = false` in `config.toml` says that nobody wants any.
fn wanted() -> bool {
    Settings::read().hints
}

/// Standard error is a terminal, and this is in its foreground.
fn person_reads() -> bool {
    stderr().is_terminal()
        && rustix::termios::tcgetpgrp(stderr())
            .is_ok_and(|group| group == rustix::process::getpgrp())
}

fn input() -> Input {
    if stdin().is_terminal() {
        return Input::Terminal;
    }
    let null = rustix::fs::stat("/dev/null");
    match (rustix::fs::fstat(stdin()), null) {
        (Ok(own), Ok(null)) if own.st_rdev == null.st_rdev && own.st_rdev != 0 => Input::Nothing,
        (Ok(_), _) => Input::Shared,
        (Err(_), _) => Input::Nothing,
    }
}

/// The first warning for a line that reads this.
fn hint(line: &str, input: Input) -> Option<Warning> {
    const FED: &str = " < /dev/stdin";
    if input != Input::Shared {
        return warnings(&parse(line)).into_iter().next();
    }
    // What is fed in by the shell around it is not in the words.
    let fed = warnings(&parse(&format!("{line}{FED}"))).into_iter().next();
    if let Some(mut warning) = fed {
        if let Some(instead) = &mut warning.instead {
            *instead = instead.replace(FED, "");
        }
        return Some(warning);
    }
    let tree = parse(line);
    takes_input(&tree).then(|| Warning {
        kind: "list-taken",
        text: "`ssh` reads all of its input: in a `while read` loop only the first turn will run"
            .to_owned(),
        instead: line
            .strip_prefix("ssh ")
            .map(|rest| format!("ssh -n {rest}")),
    })
}

/// An `ssh` that would read its input, for commands over there that have no use for it.
fn takes_input(tree: &Tree) -> bool {
    const DEAF: [&str; 30] = [
        "uptime",
        "df",
        "nvidia-smi",
        "systemctl",
        "ls",
        "hostname",
        "date",
        "uname",
        "free",
        "ps",
        "pgrep",
        "pkill",
        "kill",
        "service",
        "supervisorctl",
        "echo",
        "mkdir",
        "rm",
        "cd",
        "true",
        "id",
        "who",
        "ss",
        "docker",
        "kubectl",
        "reboot",
        "stat",
        "du",
        "touch",
        "sleep",
    ];
    let Some(first) = tree.invocations.first() else {
        return false;
    };
    let given = first.program() == "ssh" && first.hop == Some(HopKind::Ssh);
    let deaf = first.has_option(&["-n", "-f"]);
    let mut leaves = tree.leaves().peekable();
    given && !deaf && leaves.peek().is_some() && leaves.all(|one| DEAF.contains(&one.program()))
}

fn shown(warning: &Warning) -> String {
    let fits = |line: &&String| line.len() <= MAX_SHOWN_BYTES && !line.contains('\n');
    match warning.instead.as_ref().filter(fits) {
        Some(instead) => format!("hint: {}; safer: {instead}", warning.text),
        None => format!("hint: {}", warning.text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str, input: Input) -> Option<(&'static str, Option<String>)> {
        hint(line, input).map(|warning| (warning.kind, warning.instead))
    }

    #[test]
    fn what_stands_around_the_command_counts_too() {
        let kill = "ssh h 'pkill -f Xy; sleep 1'";
        let safer = Some("ssh h 'pkill -f \"[X]y\"; sleep 1'".to_owned());
        assert_eq!(told(kill, Input::Terminal), Some(("kill-own-shell", safer)));
        let write = "ssh -n h 'cat > f'";
        assert_eq!(told(write, Input::Terminal), None);
        assert_eq!(told(write, Input::Nothing), None);
        let safer = Some("ssh h 'cat > f'".to_owned());
        assert_eq!(told(write, Input::Shared), Some(("input-lost", safer)));
        let look = "ssh h uptime";
        assert_eq!(told(look, Input::Terminal), None);
        let safer = Some("ssh -n h uptime".to_owned());
        assert_eq!(told(look, Input::Shared), Some(("list-taken", safer)));
        for line in [
            "ssh h 'cat > f'",
            "ssh h ./import.sh",
            "ssh -n h uptime",
            "ssh h",
        ] {
            assert_eq!(told(line, Input::Shared), None, "{line}");
        }
    }

    #[test]
    fn a_line_that_cannot_be_typed_is_not_shown() {
        let warning = |instead: &str| Warning {
            kind: "x",
            text: "it hurts".to_owned(),
            instead: Some(instead.to_owned()),
        };
        assert_eq!(shown(&warning("a b")), "hint: it hurts; safer: a b");
        assert_eq!(shown(&warning("a\nb")), "hint: it hurts");
    }

    #[test]
    fn plain_programs_are_not_even_read() {
        let argv = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(may_hurt(&argv("/usr/bin/ssh h x")));
        assert!(!may_hurt(&argv("true")) && !may_hurt(&argv("make -j8")));
        assert!(!may_hurt(&argv("bash")));
    }
}
