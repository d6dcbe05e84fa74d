//! Whether hosts and ports can be reached: `nc`, `ping`, `getent`, `dig`, `nslookup`, `host`.
//!
//! Sources: OpenBSD and traditional netcat, ncat, iputils, bind-utils; `tests/fixtures/probes/nc`.

use super::words::{Args, int, number};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::fact::Reach;
use crate::shell::{Invocation, Tri};

/// `nc`, `ncat`, `netcat`, `telnet`.
pub(super) struct Nc;

const NC_VALUED: &str = "w p s i x X e c O I T q g G m source-port wait";

impl Probe for Nc {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(invocation.program(), "nc" | "ncat" | "netcat" | "telnet")
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let args = Args::of(ctx.invocation, NC_VALUED);
        let scans = args.has(&["z"]);
        let port = args.texts().nth(1).and_then(int);
        Grammar::any(move |line: &str, _: usize| {
            if of_another_port(line, port) {
                Fit::No
            } else if outcome(line).is_some() {
                Fit::Surely
            } else if scans {
                Fit::No
            } else {
                Fit::Perhaps
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let args = Args::of(ctx.invocation, NC_VALUED);
        if args.has(&["l", "listen"]) {
            return;
        }
        let mut operands = args.texts();
        let (Some(host), Some(port)) = (operands.next(), operands.next().and_then(int)) else {
            return;
        };
        let reach = |outcome: &str, text: &str| Reach {
            host: host.to_owned(),
            port: Some(port),
            outcome: outcome.to_owned(),
            text: text.to_owned(),
            ..Reach::default()
        };
        let mut told = false;
        for line in lines {
            if let Some(outcome) = outcome(&line.text) {
                told = true;
                sink.line(line, reach(outcome, &line.text));
            }
        }
        if told {
            return;
        }
        match (ctx.failed, args.has(&["z"])) {
            (Tri::No, _) => sink.lines(lines, reach("ok", "")),
            // Without words: refused, timed out or unknown cannot be told apart. Asked to speak it has said
            // them, and they went to another one that asked the same.
            (Tri::Yes, true) if !args.has(&["v", "verbose"]) => {
                sink.lines(lines, reach("unreachable", ""));
            }
            _ => {}
        }
    }

    fn complains(&self, line: &str, ctx: &Ctx<'_>) -> Fit {
        let args = Args::of(ctx.invocation, NC_VALUED);
        let port = args.texts().nth(1).and_then(int);
        (outcome(line).is_some() && !of_another_port(line, port)).into()
    }

    fn reads_silence(&self) -> bool {
        true
    }
}

/// Whether a line names a port that is not the one asked for: `connect to h port 22 (tcp)`,
/// `Connection to h (10.0.0.4) 22 port [tcp/ssh]`, `h [10.0.0.4] 22 (ssh)`.
fn of_another_port(line: &str, port: Option<i64>) -> bool {
    let Some(port) = port else {
        return false;
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |at: Option<usize>| {
        let word = words.get(at?)?;
        let word = word.trim_end_matches([':', ',', '.']);
        (word.bytes().all(|byte| byte.is_ascii_digit())).then(|| int(word))?
    };
    let places = words.iter().enumerate().find_map(|(at, word)| {
        let after = number(at.checked_add(1));
        match *word {
            "port" => after.or_else(|| number(at.checked_sub(1))),
            word if word.starts_with('[') && word.ends_with(']') => after,
            _ => None,
        }
    });
    places.is_some_and(|named| named != port)
}

fn outcome(line: &str) -> Option<&'static str> {
    let known = [
        "Connection to ",
        "nc: ",
        "Ncat: ",
        "ncat: ",
        "(UNKNOWN) ",
        "telnet: ",
        "netcat: ",
        "Connected to ",
        "Trying ",
    ];
    let named = known.iter().any(|start| line.starts_with(start))
        || line.contains(" open") && line.contains('[')
        || line.contains(": inverse host lookup failed");
    if !named {
        return None;
    }
    Some(
        if line.contains("succeeded!")
            || line.contains(" open")
            || line.starts_with("Ncat: Connected to")
            || line.starts_with("Connected to ")
        {
            "ok"
        } else if line.contains("refused") {
            "refused"
        } else if line.contains("timed out") || line.contains("TIMEOUT") || line.contains("timeout")
        {
            "timeout"
        } else if line.contains("not known")
            || line.contains("Temporary failure in name resolution")
            || line.contains("Could not resolve")
            || line.contains("bad address")
            || line.contains("Unknown host")
        {
            "dns"
        } else if line.contains("No route") || line.contains("unreachable") {
            "unreachable"
        } else {
            return None;
        },
    )
}

/// `ping`.
pub(super) struct Ping;

impl Probe for Ping {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(invocation.program(), "ping" | "ping6")
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|line, _| {
            let known = [
                "PING ",
                "--- ",
                "rtt ",
                "round-trip",
                "From ",
                "Request timeout",
                "ping: ",
            ];
            if known.iter().any(|start| line.starts_with(start))
                || line.contains(" bytes from ")
                || line.contains("packets transmitted")
            {
                Fit::Surely
            } else if line.is_empty() {
                Fit::Perhaps
            } else {
                Fit::No
            }
        })
        .opened_by(ctx.filter, |line| line.starts_with("PING "))
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let args = Args::of(ctx.invocation, "c i I l m M n p Q s S t T w W");
        let Some(host) = args.operands.last().map(|word| word.text.clone()) else {
            return;
        };
        // `rtt min/avg/max/mdev = 0.026/0.033/0.040/0.007 ms`; BSD's and busybox' `round-trip …`.
        let mean = lines.iter().find_map(|line| {
            let (front, times) = line.text.split_once(" = ")?;
            let of = front.contains("min/avg/max").then_some(times)?;
            number(of.split('/').nth(1)?)
        });
        for line in lines {
            let text = line.text.as_str();
            let outcome = if text.contains("packets transmitted") {
                let received = text
                    .split(',')
                    .nth(1)
                    .and_then(|part| part.split_whitespace().next())
                    .and_then(int);
                match received {
                    Some(0) => "timeout",
                    Some(_) => "ok",
                    None => continue,
                }
            } else if text.starts_with("ping: ")
                && (text.contains("not known")
                    || text.contains("name resolution")
                    || text.contains("unknown host"))
            {
                "dns"
            } else if text.starts_with("ping: ") && text.contains("unreachable") {
                "unreachable"
            } else {
                continue;
            };
            let lost = text
                .split_once("% packet loss")
                .and_then(|(front, _)| number(front.rsplit(' ').next()?));
            let (host, text) = (host.clone(), text.to_owned());
            sink.line(
                line,
                Reach {
                    host,
                    port: None,
                    outcome: outcome.to_owned(),
                    text,
                    loss_pct: lost,
                    rtt_ms: mean,
                },
            );
        }
    }
}

/// A line of what dig, nslookup or host say: a remark, a section, a record.
fn is_answer(line: &str) -> bool {
    let starts = [
        ";",
        "** server",
        "*** ",
        "Server:",
        "Address:",
        "Name:",
        "Aliases:",
        "Non-authoritative",
        "Using domain server",
        "Host ",
    ];
    let kinds = [
        "A", "AAAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT", "CAA",
    ];
    let mut words = line.split_whitespace();
    let record = words.nth(2).is_some_and(|class| class == "IN")
        || line
            .split_whitespace()
            .nth(3)
            .is_some_and(|class| class == "IN");
    starts.iter().any(|start| line.starts_with(start))
        || record && line.split_whitespace().any(|word| kinds.contains(&word))
        || [
            " has address ",
            " has IPv6 address ",
            " is an alias for ",
            " domain name pointer ",
            " mail is handled by ",
            "canonical name = ",
            "name = ",
        ]
        .iter()
        .any(|part| line.contains(part))
}

/// `getent hosts`, `dig`, `nslookup`, `host`.
pub(super) struct Lookup;

impl Probe for Lookup {
    fn recognises(&self, invocation: &Invocation) -> bool {
        match invocation.program() {
            "dig" | "nslookup" | "host" | "drill" => true,
            "getent" => invocation
                .args()
                .first()
                .is_some_and(|word| word.text.contains("hosts")),
            _ => false,
        }
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let getent = ctx.invocation.program() == "getent";
        let name = name_of(ctx.invocation).map(str::to_owned);
        Grammar::any(move |line: &str, _: usize| {
            let address = line.split_whitespace().next().is_some_and(is_address);
            let names = name.as_deref().is_some_and(|name| line.contains(name));
            match (getent, address, names) {
                (_, _, true) => Fit::Surely,
                _ if super::line::time_of(line, Some(2000)).is_some() && !line.starts_with(';') => {
                    Fit::Hardly // of a log
                }
                (true, true, _) => Fit::Perhaps,
                (true, false, _) => Fit::No,
                (false, true, _) => Fit::Likely,
                (false, false, _) if is_answer(line) => Fit::Likely,
                (false, false, _) => Fit::Hardly,
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let Some(name) = name_of(ctx.invocation) else {
            return;
        };
        let reach = |outcome: &str, text: &str| Reach {
            host: name.to_owned(),
            port: None,
            outcome: outcome.to_owned(),
            text: text.to_owned(),
            ..Reach::default()
        };
        for line in lines {
            let text = line.text.trim();
            let failed = [
                "NXDOMAIN",
                "SERVFAIL",
                "connection timed out",
                "no servers could be reached",
                "not found: ",
                "can't find",
                "communications error",
                "REFUSED",
            ];
            if failed.iter().any(|sign| text.contains(sign)) {
                sink.line(line, reach("dns", text));
                return;
            }
        }
        let answer = lines.iter().find_map(|line| {
            let text = line.text.trim();
            let word = match ctx.invocation.program() {
                "getent" => text
                    .split_whitespace()
                    .next()
                    .filter(|word| is_address(word)),
                _ if text.starts_with(';') || text.contains('#') => None,
                _ => text
                    .split_whitespace()
                    .last()
                    .filter(|word| is_address(word)),
            };
            word.map(|word| (line, word))
        });
        match answer {
            Some((line, address)) => sink.line(line, reach("ok", address)),
            None if lines.is_empty()
                && (ctx.exit.is_some_and(|code| code != 0) || ctx.failed == Tri::Yes) =>
            {
                sink.lines(&[], reach("dns", ""));
            }
            None => {}
        }
    }
}

fn name_of(invocation: &Invocation) -> Option<&str> {
    let skip = usize::from(invocation.program() == "getent");
    invocation
        .args()
        .iter()
        .map(|word| word.text.as_str())
        .skip(skip)
        .find(|word| {
            !word.starts_with(['+', '-', '@'])
                && !matches!(*word, "A" | "AAAA" | "MX" | "TXT" | "ANY")
        })
}

fn is_address(word: &str) -> bool {
    word.parse::<std::net::IpAddr>().is_ok()
}
