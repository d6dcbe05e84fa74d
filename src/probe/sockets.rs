//! Sockets and who holds them: `ss`, `netstat`, `lsof`, `fuser`.
//!
//! Sources: iproute2 5.10 to 6.1 (its header may run together: `Peer Address:PortProcess`),
//! net-tools 2.10, lsof 4.9x, psmisc 23; `tests/fixtures/probes/ss`, `…/lsof`, `…/fuser`.

use super::words::{Args, count, fields, int, leading_int};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::event::Stream;
use crate::fact::{Descriptor, GpuProcess, GpuProcessLook, PortLook, Process, ProcessLook, Socket};
use crate::shell::{Invocation, Tri};

/// Address and port of `0.0.0.0:8000`, `[::]:22`, `*:6379`, `:::3000`. A service name in place of the
/// number gives no port.
fn address(text: &str) -> Option<(&str, Option<i64>)> {
    let (host, port) = text.rsplit_once(':')?;
    Some((host, int(port)))
}

/// The one port that filters leave: `sport = :8000`, `| grep 8000`, `| grep ':8000 '`.
fn only_port(ctx: &Ctx<'_>, own: Option<i64>) -> Option<i64> {
    own.or_else(|| {
        let pattern = ctx.filter.wanted()?;
        let digits: String = pattern
            .expression
            .replace("\\b", "")
            .chars()
            .filter(|c| {
                !matches!(
                    c,
                    ':' | ' ' | '\\' | '[' | ']' | '^' | '$' | '.' | '*' | '(' | ')'
                )
            })
            .collect();
        digits
            .parse()
            .ok()
            .filter(|port| (1..65_536).contains(port))
    })
}

/// A word `8000`, `:8000`, `*:8000` among the operands of a filter expression.
fn port_in_words<'w>(words: impl Iterator<Item = &'w str>) -> Option<i64> {
    let mut ports = words.flat_map(str::split_whitespace).filter_map(|word| {
        let word = word.trim_matches(['(', ')']);
        word.rsplit_once(':')
            .map_or(word, |(_, port)| port)
            .parse::<i64>()
            .ok()
    });
    let first = ports.next()?;
    ports.next().is_none().then_some(first)
}

fn look(tool: &str, port: Option<i64>, listening_only: bool, shown: usize, cut: bool) -> PortLook {
    PortLook {
        tool: tool.to_owned(),
        filter_port: port,
        listening_only,
        count: count(shown),
        cut,
    }
}

/// Rows are cut when a filter by anything else than a port took some away.
fn is_cut(ctx: &Ctx<'_>, port: Option<i64>, shown: usize) -> bool {
    let filtered = !ctx.filter.patterns.is_empty() && port.is_none();
    filtered
        || ctx.filter.opaque
        || ctx.filter.chosen
        || ctx.filter.head.is_some_and(|head| shown + 1 >= head)
        || ctx.filter.tail.is_some_and(|tail| shown >= tail)
}

/// `ss`.
pub(super) struct Ss;

const SS_STATES: &[&str] = &[
    "LISTEN",
    "ESTAB",
    "TIME-WAIT",
    "CLOSE-WAIT",
    "SYN-SENT",
    "SYN-RECV",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "UNCONN",
    "CLOSED",
    "LAST-ACK",
    "CLOSING",
];

/// A row of ss: state (absent when the filter names one), queues, local, peer, process.
fn ss_row(text: &str) -> Option<Socket> {
    let words = fields(text);
    let mut at = 0;
    let first = words.first()?.1;
    if matches!(
        first,
        "tcp"
            | "udp"
            | "tcp6"
            | "udp6"
            | "u_str"
            | "u_dgr"
            | "nl"
            | "icmp6"
            | "v_str"
            | "p_raw"
            | "p_dgr"
    ) {
        at += 1;
    }
    let state = words
        .get(at)
        .map(|(_, word)| *word)
        .filter(|word| SS_STATES.contains(word));
    if state.is_some() {
        at += 1;
    }
    let recv_q = int(words.get(at)?.1)?;
    int(words.get(at + 1)?.1)?;
    let local = words.get(at + 2)?.1;
    let peer = words.get(at + 3).map(|(_, word)| *word);
    let (host, port) = address(local)?;
    let port = port?;
    let good = host == "*" || host.starts_with('[') || host.contains(['.', ':', '%']);
    if !good || !peer.is_some_and(|peer| peer.contains(':')) {
        return None;
    }
    let rest = text.split_once("users:((").map_or("", |(_, rest)| rest);
    let process = rest.split('"').nth(1).map(str::to_owned);
    let pid = rest
        .split_once("pid=")
        .and_then(|(_, rest)| leading_int(rest))
        .map(|(pid, _)| pid);
    Some(Socket {
        port,
        address: Some(host.to_owned()),
        listening: state == Some("LISTEN"),
        state: state.map(str::to_owned),
        peer: peer.filter(|peer| !peer.ends_with(":*")).map(str::to_owned),
        pid,
        process,
        recv_q: Some(recv_q),
    })
}

/// A row of which awk kept some columns: the own address (`ss`'s fourth), and perhaps the process.
fn part_of_row(text: &str, listening: bool) -> Option<Socket> {
    let local = text.split_whitespace().next()?;
    let (host, port) = address(local)?;
    let good = host == "*" || host.starts_with('[') || host.contains(['.', ':', '%']);
    let port = port.filter(|_| good)?;
    let rest = text.split_once("users:((").map_or("", |(_, rest)| rest);
    Some(Socket {
        port,
        address: Some(host.to_owned()),
        listening,
        state: None,
        peer: None,
        pid: rest
            .split_once("pid=")
            .and_then(|(_, rest)| leading_int(rest))
            .map(|(pid, _)| pid),
        process: rest.split('"').nth(1).map(str::to_owned),
        recv_q: None,
    })
}

/// Whether what awk printed begins with the own address and nothing else was changed.
fn keeps_address(filter: &super::filter::Filter) -> bool {
    let first = filter
        .columns
        .as_ref()
        .and_then(|columns| columns.fields.first().copied().flatten());
    first == Some(4)
        && !filter.reshaped
        && !filter.opaque
        && !filter.numbered
        && filter.counted.is_none()
}

impl Probe for Ss {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "ss"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let args = Args::of(ctx.invocation, "f F A D N");
        let summary = args.has(&["s", "summary"]);
        let processes = args.has(&["p", "processes"]);
        let no_head = args.has(&["H", "no-header", "s", "summary"]);
        let head = |line: &str| {
            ["State ", "Netid ", "Recv-Q "]
                .iter()
                .any(|start| line.starts_with(start))
        };
        let grammar = Grammar::any(move |line: &str, _: usize| {
            if !processes && line.contains(" users:((") {
                return Fit::No;
            }
            if line.starts_with("State")
                || line.starts_with("Netid")
                || line.starts_with("Recv-Q")
                || ss_row(line).is_some()
                || keeps_address(ctx.filter) && part_of_row(line, true).is_some()
            {
                Fit::Surely
            } else if summary {
                let words: Vec<&str> = line.split_whitespace().collect();
                let totals = words.first().is_some_and(|first| {
                    matches!(*first, "Total:" | "TCP:" | "Transport")
                        || matches!(*first, "RAW" | "UDP" | "TCP" | "INET" | "FRAG" | "*")
                            && words.iter().skip(1).all(|word| int(word).is_some())
                });
                match (totals, line.is_empty()) {
                    (true, _) => Fit::Surely,
                    (_, true) => Fit::Perhaps,
                    _ => Fit::No,
                }
            } else if line.starts_with('\t')
                || line.contains("users:((")
                || line.starts_with("Cannot open netlink")
            {
                Fit::Likely
            } else {
                let words: Vec<&str> = line.split_whitespace().collect();
                words.iter().any(|word| SS_STATES.contains(word)).into()
            }
        });
        if no_head {
            grammar
        } else {
            grammar.opened_by(ctx.filter, head)
        }
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let args = Args::of(ctx.invocation, "f F A D N query family filter");
        let listening =
            args.has(&["l", "listening"]) || args.texts().any(|word| word == "listening");
        if args.has(&["s", "summary"]) {
            return;
        }
        if listening && keeps_address(ctx.filter) {
            for line in lines {
                if let Some(socket) = part_of_row(&line.text, true) {
                    sink.line(line, socket);
                }
            }
            return;
        }
        if !ctx.filter.keeps_lines() {
            return;
        }
        let states_named = args
            .texts()
            .any(|word| matches!(word, "state" | "established" | "connected"));
        let by_words = port_in_words(args.texts().filter(|word| *word != "="));
        let port = only_port(ctx, by_words);
        let mut sockets = Vec::new();
        let mut head = false;
        for line in lines {
            if let Some(mut socket) = ss_row(&line.text) {
                socket.listening |= listening && socket.state.is_none() && !states_named;
                if port.is_none_or(|port| {
                    socket.port == port
                        || socket
                            .peer
                            .as_deref()
                            .is_some_and(|peer| peer.ends_with(&format!(":{port}")))
                }) {
                    sockets.push((line, socket));
                }
            } else {
                head |= line.text.starts_with("State")
                    || line.text.starts_with("Netid")
                    || line.text.starts_with("Recv-Q");
            }
        }
        if sockets.is_empty() && !head && ctx.ran != Tri::Yes {
            return;
        }
        let without_listeners = !listening && !args.has(&["a", "all"]);
        let cut = is_cut(ctx, port, sockets.len())
            || without_listeners
            || args.has(&["u", "x"]) && !args.has(&["t"]);
        sink.lines(
            lines,
            look(
                "ss",
                port.filter(|_| !without_listeners),
                listening,
                sockets.len(),
                cut,
            ),
        );
        for (line, socket) in sockets {
            sink.line(line, socket);
        }
    }
}

/// `netstat`.
pub(super) struct Netstat;

/// `tcp 0 0 0.0.0.0:22 0.0.0.0:* LISTEN 812/sshd`
fn netstat_row(text: &str) -> Option<Socket> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [proto, recv_q, send_q, local, peer, rest @ ..] = words.as_slice() else {
        return None;
    };
    if !proto.starts_with("tcp") && !proto.starts_with("udp") {
        return None;
    }
    int(send_q)?;
    let (host, port) = address(local)?;
    let state = rest.first().filter(|word| {
        word.chars()
            .all(|c| c.is_ascii_uppercase() || matches!(c, '_' | '0'..='9'))
            && !word.contains('/')
    });
    let owner = rest.iter().find_map(|word| {
        word.split_once('/')
            .and_then(|(pid, name)| int(pid).map(|pid| (pid, name)))
    });
    Some(Socket {
        port: port?,
        address: Some(host.to_owned()),
        listening: state.is_some_and(|state| *state == "LISTEN"),
        state: state.map(|state| (*state).to_owned()),
        peer: Some(*peer)
            .filter(|peer| !peer.ends_with(":*"))
            .map(str::to_owned),
        pid: owner.map(|(pid, _)| pid),
        process: owner.map(|(_, name)| name.trim_end_matches(':').to_owned()),
        recv_q: int(recv_q),
    })
}

impl Probe for Netstat {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "netstat"
    }

    fn grammar<'a>(&self, _ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|line, _| {
            if netstat_row(line).is_some()
                || line.starts_with("Active ")
                || line.starts_with("Proto ")
            {
                Fit::Surely
            } else if line.starts_with("unix")
                || line.starts_with("udp")
                || line.starts_with("(")
                || line.starts_with(" will not be")
            {
                Fit::Likely
            } else {
                Fit::No
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        if !ctx.filter.keeps_lines() {
            return;
        }
        let args = Args::of(ctx.invocation, "A");
        let listening = args.has(&["l", "listening"]);
        let port = only_port(ctx, None);
        let sockets: Vec<(&Shown, Socket)> = lines
            .iter()
            .filter_map(|line| netstat_row(&line.text).map(|socket| (line, socket)))
            .filter(|(_, socket)| port.is_none_or(|port| socket.port == port))
            .collect();
        let head = lines.iter().any(|line| line.text.starts_with("Proto "));
        if sockets.is_empty() && !head && ctx.ran != Tri::Yes {
            return;
        }
        let cut = is_cut(ctx, port, sockets.len()) || !listening && !args.has(&["a", "all"]);
        sink.lines(lines, look("netstat", port, listening, sockets.len(), cut));
        for (line, socket) in sockets {
            sink.line(line, socket);
        }
    }

    fn complains(&self, line: &str, _ctx: &Ctx<'_>) -> Fit {
        (line.starts_with("(Not all processes could be identified")
            || line.starts_with(" will not be shown"))
        .into()
    }
}

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
    let used = |word: &&str| word.len() >= 2 && word.chars().all(|c| "cefFrm.".contains(c));
    words.starts_with(&["USER", "PID", "ACCESS"]) || words.iter().skip(1).any(used)
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
    fn awk_may_leave_the_address_and_the_process() {
        let part = part_of_row("*:6379 users:((\"gcs\",pid=3402,fd=22))", true).unwrap();
        assert_eq!((part.port, part.pid), (6379, Some(3402)));
        assert_eq!(part.process.as_deref(), Some("gcs"));
        assert!(part_of_row("Local", true).is_none());
    }

    #[test]
    fn ss_rows_have_a_state_or_none() {
        let socket = ss_row(r#"LISTEN 0      5            0.0.0.0:7000      0.0.0.0:*    users:(("python3",pid=91,fd=3))"#).unwrap();
        assert_eq!(
            (socket.port, socket.pid, socket.listening),
            (7000, Some(91), true)
        );
        assert_eq!(socket.process.as_deref(), Some("python3"));
        let socket = ss_row("0      0      10.0.0.1:8765   10.0.0.2:41000").unwrap();
        assert_eq!(
            (socket.port, socket.peer.as_deref()),
            (8765, Some("10.0.0.2:41000"))
        );
        assert!(
            ss_row("State  Recv-Q Send-Q Local Address:Port Peer Address:PortProcess").is_none()
        );
    }

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
