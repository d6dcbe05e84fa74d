//! Sockets: `ss`, `netstat`.
//!
//! Sources: iproute2 5.10 to 6.1 (its header may run together: `Peer Address:PortProcess`),
//! net-tools 2.10; `tests/fixtures/probes/ss`.

use super::words::{Args, count, fields, int, leading_int};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::fact::{PortLook, Socket};
use crate::shell::{Invocation, Tri};

/// Address and port of `0.0.0.0:8000`, `[::]:22`, `*:6379`, `:::3000`. A service name in place of the
/// number gives no port.
pub(super) fn address(text: &str) -> Option<(&str, Option<i64>)> {
    let (host, port) = text.rsplit_once(':')?;
    Some((host, int(port)))
}

/// The one port that filters leave: `sport = :8000`, `| grep 8000`, `| grep ':8000 '`.
pub(super) fn only_port(ctx: &Ctx<'_>, own: Option<i64>) -> Option<i64> {
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

pub(super) fn look(
    tool: &str,
    port: Option<i64>,
    listening_only: bool,
    shown: usize,
    cut: bool,
) -> PortLook {
    PortLook {
        tool: tool.to_owned(),
        filter_port: port,
        listening_only,
        count: count(shown),
        cut,
    }
}

/// Rows are cut when a filter by anything else than a port took some away.
pub(super) fn is_cut(ctx: &Ctx<'_>, port: Option<i64>, shown: usize) -> bool {
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

/// A row of which awk kept the own address (the `local`th column), and perhaps others.
fn picked_row(text: &str, filter: &super::filter::Filter, local: usize) -> Option<Socket> {
    let columns = filter.columns.as_ref().filter(|columns| !columns.cuts)?;
    if filter.reshaped || filter.opaque || filter.numbered || filter.counted.is_some() {
        return None;
    }
    let place = columns
        .fields
        .iter()
        .position(|field| *field == Some(local))?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let own = words.get(place)?;
    let mut socket = part_of_row(&format!("{own} {text}"), true)?;
    // netstat's `4711/python3`.
    let owner = words.iter().find_map(|word| {
        let (pid, name) = word.split_once('/')?;
        int(pid).map(|pid| (pid, name))
    });
    if let (None, Some((pid, name))) = (socket.pid, owner) {
        socket.pid = Some(pid);
        socket.process = Some(name.trim_end_matches(':').to_owned());
    }
    Some(socket)
}

/// The column of the own address of `ss`: the protocol stands first where more than one is shown.
fn local_column(args: &Args<'_>) -> usize {
    let one = args.has(&["t", "tcp"]) != args.has(&["u", "udp"]) && !args.has(&["x", "w"]);
    if one { 4 } else { 5 }
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
        let local = local_column(&args);
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
                || picked_row(line, ctx.filter, local).is_some()
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
        if listening && ctx.filter.columns.is_some() {
            for line in lines {
                if let Some(socket) = picked_row(&line.text, ctx.filter, local_column(&args)) {
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

/// `netstat -rn` shows routes.
pub(super) fn shows_routes(invocation: &Invocation) -> bool {
    Args::of(invocation, "A").has(&["r", "route"])
}

impl Probe for Netstat {
    fn recognises(&self, invocation: &Invocation) -> bool {
        // Of interfaces and counters it tells no port.
        let other = Args::of(invocation, "A").has(&["i", "interfaces", "s", "statistics", "g"]);
        invocation.program() == "netstat" && !shows_routes(invocation) && !other
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|line, _| {
            if netstat_row(line).is_some()
                || picked_row(line, ctx.filter, 4).is_some()
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
        let args = Args::of(ctx.invocation, "A");
        let listening = args.has(&["l", "listening"]);
        if listening && ctx.filter.columns.is_some() {
            for line in lines {
                if let Some(socket) = picked_row(&line.text, ctx.filter, 4) {
                    sink.line(line, socket);
                }
            }
            return;
        }
        if !ctx.filter.keeps_lines() {
            return;
        }
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
}
