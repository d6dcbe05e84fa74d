//! Who holds files and sockets: `lsof`, `fuser`.
//!
//! Sources: lsof 4.9x, psmisc 23; `tests/fixtures/probes/lsof`, `…/fuser`.

use super::sockets::{address, is_cut, look, only_port};
use super::words::{Args, count, fields, int, leading_int};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::event::Stream;
use crate::fact::{Descriptor, GpuProcess, GpuProcessLook, Process, ProcessLook, Socket};
use crate::shell::{Invocation, Tri};

/// `lsof`.
pub(super) struct Lsof;

/// A row of lsof: command, pid, `[tid]`, user, fd, type, device, size, node, name.
struct Open<'a> {
    command: &'a str,
    pid: i64,
    fd: &'a str,
    kind: &'a str,
    name: &'a str,
}

fn lsof_row(text: &str) -> Option<Open<'_>> {
    let words = fields(text);
    let pid_at = words
        .iter()
        .take(4)
        .skip(1)
        .position(|(_, word)| int(word).is_some())?
        + 1;
    let pid = int(words.get(pid_at)?.1)?;
    let kind_at = words.iter().skip(pid_at).position(|(_, word)| {
        matches!(
            *word,
            "REG"
                | "DIR"
                | "CHR"
                | "FIFO"
                | "IPv4"
                | "IPv6"
                | "unix"
                | "sock"
                | "a_inode"
                | "unknown"
                | "BLK"
                | "LINK"
                | "DEL"
                | "netlink"
                | "TCP"
                | "UDP"
                | "pack"
                | "raw"
        )
    })? + pid_at;
    let name = match *words.get(kind_at).map(|(_, word)| word)? {
        "IPv4" | "IPv6" => {
            let node = words
                .iter()
                .skip(kind_at)
                .position(|(_, word)| matches!(*word, "TCP" | "UDP"))?
                + kind_at;
            text.get(words.get(node)?.0..)?
        }
        _ => {
            let at = words.iter().skip(kind_at + 1).find(|(_, word)| {
                word.starts_with('/')
                    || word.contains(":[")
                    || *word == "pipe"
                    || word.starts_with("socket")
            })?;
            text.get(at.0..)?
        }
    };
    Some(Open {
        command: text.get(..words.get(pid_at)?.0)?.trim(),
        pid,
        fd: words.get(kind_at.checked_sub(1)?)?.1,
        kind: words.get(kind_at)?.1,
        name: name.trim_end(),
    })
}

/// `TCP *:8000 (LISTEN)`, `TCP 10.0.0.1:5000->10.0.0.2:443 (ESTABLISHED)`
fn lsof_socket(open: &Open<'_>, asked: Option<i64>) -> Option<Socket> {
    let rest = open
        .name
        .strip_prefix("TCP ")
        .or_else(|| open.name.strip_prefix("UDP "))?;
    let (ends, state) = match rest.split_once(" (") {
        Some((ends, state)) => (ends, Some(state.trim_end_matches(')'))),
        None => (rest, None),
    };
    let (local, peer) = match ends.split_once("->") {
        Some((local, peer)) => (local, Some(peer)),
        None => (ends, None),
    };
    let (host, port) = address(local.trim())?;
    // A service name stands where the one port asked for would.
    let port = port.or(asked.filter(|_| peer.is_none()))?;
    Some(Socket {
        port,
        address: Some(host.to_owned()),
        listening: state == Some("LISTEN"),
        state: state.map(str::to_owned),
        peer: peer.map(str::to_owned),
        pid: Some(open.pid),
        process: Some(open.command.to_owned()),
        recv_q: None,
    })
}

/// `-i :8000`, `-iTCP:8000`, `-i tcp:8000`.
fn lsof_port(invocation: &Invocation) -> (bool, Option<i64>) {
    let words: Vec<&str> = invocation
        .args()
        .iter()
        .map(|word| word.text.as_str())
        .collect();
    for (at, word) in words.iter().enumerate() {
        let Some(rest) = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
            continue;
        };
        let letters = rest.find('i').map(|at| rest.split_at(at));
        if let Some((before, value)) = letters
            && before
                .chars()
                .all(|c| matches!(c, 'n' | 'P' | 't' | 'l' | 'w'))
        {
            let own = value.get(1..).unwrap_or("");
            let value = if own.is_empty() {
                words
                    .get(at + 1)
                    .copied()
                    .filter(|next| next.contains(':') || matches!(*next, "tcp" | "TCP" | "udp"))
                    .unwrap_or("")
            } else {
                own
            };
            return (true, value.rsplit_once(':').and_then(|(_, port)| int(port)));
        }
    }
    (false, None)
}

impl Probe for Lsof {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "lsof"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let terse = ctx.invocation.args().iter().any(|word| {
            word.text.starts_with('-') && word.text.contains('t') && !word.text.contains("tcp")
        });
        let grammar = Grammar::any(move |line: &str, _: usize| {
            if line.starts_with("COMMAND ") || lsof_row(line).is_some() {
                Fit::Surely
            } else if terse && int(line).is_some() {
                Fit::Likely
            } else {
                Fit::No
            }
        });
        if terse {
            grammar
        } else {
            grammar.opened_by(ctx.filter, |line| line.starts_with("COMMAND "))
        }
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let (network, asked) = lsof_port(ctx.invocation);
        let port = only_port(ctx, asked);
        let mut sockets = Vec::new();
        for line in lines {
            let Some(open) = lsof_row(&line.text) else {
                if network && let (Some(pid), Some(port)) = (int(&line.text), asked) {
                    sockets.push((
                        line,
                        Socket {
                            port,
                            pid: Some(pid),
                            ..Socket::default()
                        },
                    ));
                }
                continue;
            };
            if let Some(socket) = lsof_socket(&open, asked) {
                sockets.push((line, socket));
            } else if matches!(open.kind, "REG" | "FIFO" | "CHR" | "DIR")
                && let Some((fd, _)) = leading_int(open.fd)
            {
                let target = open.name.trim_end_matches(" (deleted)");
                sink.line(
                    line,
                    Descriptor {
                        pid: open.pid,
                        fd,
                        target: target.to_owned(),
                        deleted: open.name.ends_with("(deleted)"),
                    },
                );
            }
        }
        if !network {
            return;
        }
        let none =
            sockets.is_empty() && !(ctx.ran == Tri::Yes || ctx.exit == Some(1) && lines.is_empty());
        if none {
            return;
        }
        let listening = ctx
            .invocation
            .args()
            .iter()
            .any(|word| word.text.contains("LISTEN"));
        let cut = is_cut(ctx, port, sockets.len());
        sink.lines(lines, look("lsof", port, listening, sockets.len(), cut));
        for (line, socket) in sockets {
            sink.line(line, socket);
        }
    }
}

/// `fuser`: pids on standard output, names (and with `-v` a table) on standard error.
pub(super) struct Fuser;

impl Fuser {
    /// The TCP port asked for: `8000/tcp`, `-n tcp 8000`.
    fn port(invocation: &Invocation) -> Option<i64> {
        let args = Args::of(invocation, "n namespace k");
        args.texts().find_map(|word| {
            word.strip_suffix("/tcp").and_then(int).or_else(|| {
                args.value(&["n", "namespace"])
                    .filter(|space| *space == "tcp")
                    .and_then(|_| int(word))
            })
        })
    }
}

/// A pid with fuser's access letters: `4388`, `98m`, `1234ce`.
fn fuser_pid(word: &str) -> Option<i64> {
    let (pid, rest) = leading_int(word)?;
    (pid > 0 && rest.chars().all(|c| "cefFrm.".contains(c))).then_some(pid)
}

/// A row of `fuser -v`, as far as the terminal shows it: file, user, id, how it is used, program.
fn verbose_row(words: &[&str]) -> bool {
    // Five places, behind the process.
    let used = |word: &str| word.len() == 5 && word.chars().all(|c| "cefFrm.".contains(c));
    let row = |pair: &[&str]| matches!(pair, [pid, access] if int(pid).is_some() && used(access));
    words.starts_with(&["USER", "PID", "ACCESS"]) || words.windows(2).any(row)
}

impl Probe for Fuser {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "fuser"
    }

    fn grammar<'a>(&self, _ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|line, _| {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.is_empty() {
                Fit::Perhaps
            } else if words.iter().all(|word| fuser_pid(word).is_some()) {
                Fit::Likely
            } else if verbose_row(&words) {
                Fit::Surely
            } else {
                Fit::No
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let gpu = ctx
            .invocation
            .args()
            .iter()
            .any(|word| word.text.starts_with("/dev/nvidia"));
        let port = Self::port(ctx.invocation);
        let mut found: Vec<(&Shown, i64, Option<String>, Option<String>)> = Vec::new();
        for line in lines {
            let text = line.text.as_str();
            let words: Vec<&str> = text.split_whitespace().collect();
            if words.first() == Some(&"USER") {
                continue;
            }
            let words = match words.first() {
                Some(first) if first.ends_with(':') => words.get(1..).unwrap_or(&[]),
                _ => words.as_slice(),
            };
            // `-v`: USER PID ACCESS COMMAND
            if let [user, pid, access, command @ ..] = words
                && let Some(pid) = int(pid)
                && access.chars().all(|c| "cefFrm.".contains(c))
                && int(user).is_none()
            {
                found.push((line, pid, Some((*user).to_owned()), Some(command.join(" "))));
                continue;
            }
            if line.stream != Stream::Stderr {
                found.extend(
                    words
                        .iter()
                        .filter_map(|word| fuser_pid(word))
                        .map(|pid| (line, pid, None, None)),
                );
            }
        }
        let told = !found.is_empty()
            || ctx.exit == Some(1) && lines.is_empty()
            || ctx.ran == Tri::Yes && lines.is_empty();
        if !told {
            return;
        }
        let mut pids: Vec<i64> = found.iter().map(|one| one.1).collect();
        pids.sort_unstable();
        pids.dedup();
        if gpu {
            sink.lines(
                lines,
                GpuProcessLook {
                    tool: "fuser".to_owned(),
                    count: count(pids.len()),
                    pids,
                    cut: ctx.filter.cut(lines.len()),
                },
            );
        } else if let Some(port) = port {
            sink.lines(
                lines,
                look(
                    "fuser",
                    Some(port),
                    false,
                    found.len(),
                    ctx.filter.cut(lines.len()),
                ),
            );
        } else if !found.is_empty() {
            sink.lines(
                lines,
                ProcessLook {
                    tool: "fuser".to_owned(),
                    count: count(pids.len()),
                    pids,
                    cut: true,
                    ..ProcessLook::default()
                },
            );
        }
        for (line, pid, user, name) in found {
            if gpu {
                sink.line(
                    line,
                    GpuProcess {
                        pid: Some(pid),
                        name: name.clone(),
                        ..GpuProcess::default()
                    },
                );
            } else if let Some(port) = port {
                sink.line(
                    line,
                    Socket {
                        port,
                        pid: Some(pid),
                        process: name.clone(),
                        ..Socket::default()
                    },
                );
            }
            if user.is_some() || name.is_some() {
                sink.line(
                    line,
                    Process {
                        pid,
                        user,
                        comm: name,
                        ..Process::default()
                    },
                );
            }
        }
    }

    fn complains(&self, line: &str, ctx: &Ctx<'_>) -> Fit {
        let asked = ctx.invocation.args().iter().any(|word| {
            line.starts_with(&format!("{}:", word.text))
                || line.starts_with(&format!("Specified filename {} ", word.text))
        });
        let words: Vec<&str> = line.split_whitespace().collect();
        let table =
            words.first() == Some(&"USER")
                || words.iter().skip(1).take(2).any(|access| {
                    access.len() >= 4 && access.chars().all(|c| "cefFrm.".contains(c))
                });
        (asked || table && line.starts_with(' ')).into()
    }

    fn is_chatter(&self, line: &str) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.first() == Some(&"USER")
            || words
                .iter()
                .any(|word| word.len() >= 4 && word.chars().all(|c| "cefFrm.".contains(c)))
    }

    fn reads_silence(&self) -> bool {
        true
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lsof_rows_name_sockets_and_files() {
        let open = lsof_row(
            "sglang::s 101870  dev   88u  IPv4 549700      0t0  TCP 127.0.1.1:34509 (LISTEN)",
        )
        .unwrap();
        assert_eq!((open.command, open.pid), ("sglang::s", 101_870));
        assert_eq!(lsof_socket(&open, None).unwrap().port, 34_509);
        let open =
            lsof_row("python3  91 root    3u  IPv4 447958      0t0  TCP *:bbs (LISTEN)").unwrap();
        assert_eq!(lsof_socket(&open, Some(7000)).unwrap().port, 7000);
        assert_eq!(lsof_socket(&open, None), None);
    }
}
