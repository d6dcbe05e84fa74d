//! Network interfaces, InfiniBand ports and routes: `ip`, `ifconfig`, `ethtool`, `ibstat`,
//! `ibv_devinfo`, `ibdev2netdev`, `route`.
//!
//! Sources: iproute2 5 to 6, net-tools 2, infiniband-diags, rdma-core; `tests/fixtures/probes/ip`,
//! `…/ibstat`.

use super::words::{Args, int, leading_int, number};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, texts};
use crate::fact::{Interface, Route};
use crate::shell::{Invocation, Tri};

/// `ip addr`, `ip link`, `ip route`, `ifconfig`, `route`, `ethtool`.
pub(super) struct Interfaces;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Brief,
    Long,
    Routes,
    Ifconfig,
    Ethtool,
}

fn form(invocation: &Invocation) -> Option<Form> {
    let args = Args::of(invocation, "f family");
    match invocation.program() {
        "ifconfig" => return Some(Form::Ifconfig),
        "route" => return Some(Form::Routes),
        "netstat" => return super::sockets::shows_routes(invocation).then_some(Form::Routes),
        "ethtool" => {
            let plain = args.operands.len() == 1 && invocation.args().len() == 1;
            return plain.then_some(Form::Ethtool);
        }
        "ip" => {}
        _ => return None,
    }
    let json = invocation
        .args()
        .iter()
        .any(|word| matches!(word.text.as_str(), "-j" | "-json" | "--json"));
    let brief = invocation
        .args()
        .iter()
        .any(|word| matches!(word.text.as_str(), "-br" | "-brief" | "--brief"));
    let mut operands = args.texts();
    let object = operands.next()?;
    let shows = operands.next().is_none_or(|verb| {
        matches!(
            verb,
            "show" | "s" | "sh" | "list" | "ls" | "l" | "dev" | "get"
        )
    });
    if json || !shows {
        return None;
    }
    if "address".starts_with(object) || object == "addr" || "link".starts_with(object) {
        Some(if brief { Form::Brief } else { Form::Long })
    } else if "route".starts_with(object) {
        Some(Form::Routes)
    } else {
        None
    }
}

impl Probe for Interfaces {
    fn recognises(&self, invocation: &Invocation) -> bool {
        form(invocation).is_some()
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let form = form(ctx.invocation);
        let counts = ctx.invocation.args().iter().any(|word| {
            word.text.starts_with("-s") || word.text.starts_with("--s") || word.text == "-d"
        });
        Grammar::any(move |line, _| match form {
            Some(Form::Brief) => line
                .split_whitespace()
                .nth(1)
                .is_some_and(|state| {
                    matches!(
                        state,
                        "UP" | "DOWN" | "UNKNOWN" | "LOWERLAYERDOWN" | "DORMANT" | "NOTPRESENT"
                    )
                })
                .into(),
            Some(Form::Long) => is_long(line, counts).into(),
            Some(Form::Routes) => is_route(line).into(),
            Some(Form::Ifconfig) => is_ifconfig(line),
            _ => is_setting(line),
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        if ctx.filter.columns.is_some() || ctx.filter.opaque {
            texts::as_plain(lines, ctx, sink);
            return;
        }
        match form(ctx.invocation) {
            Some(Form::Brief) => brief(lines, sink),
            Some(Form::Long) => long(lines, sink),
            Some(Form::Routes) => routes(lines, sink),
            Some(Form::Ifconfig) => ifconfig(lines, sink),
            Some(Form::Ethtool) => ethtool(lines, ctx.invocation, sink),
            None => {}
        }
    }

    fn is_chatter(&self, line: &str) -> bool {
        head(line).is_some() || line.starts_with("    ")
    }
}

/// A line of `ip addr` or `ip link`: the head of an interface, or what stands under it.
fn is_long(line: &str, counts: bool) -> bool {
    if head(line).is_some() {
        return true;
    }
    if !line.starts_with("    ") {
        return false;
    }
    let under = [
        "link/",
        "inet",
        "valid_lft ",
        "RX: ",
        "RX errors",
        "TX: ",
        "TX errors",
        "altname ",
        "alias ",
        "vf ",
        "parentbus ",
        "bridge ",
        "bond ",
        "vlan ",
        "vxlan ",
        "veth",
        "tun ",
        "promiscuity ",
        "permaddr ",
    ];
    let text = line.trim_start();
    let figures = || {
        let mut words = text.split_whitespace();
        words.clone().count() >= 4 && words.all(|word| int(word).is_some())
    };
    under.iter().any(|start| text.starts_with(start)) || counts && figures()
}

/// A line of `ip route` or `route -n`.
fn is_route(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or("");
    let to = matches!(
        first,
        "default"
            | "unreachable"
            | "blackhole"
            | "prohibit"
            | "broadcast"
            | "local"
            | "anycast"
            | "multicast"
    ) || address(first).parse::<std::net::IpAddr>().is_ok();
    let words = || line.split_whitespace().count();
    to && (line.contains(" dev ") || line.contains(" via ") || words() == 8 || words() >= 2)
        || line.starts_with("Kernel IP")
        || line.starts_with("Destination ")
        || words() == 8 && line.contains("255.")
        || line.trim_start().starts_with("nexthop ")
        || line.starts_with("    cache")
}

/// A line of `ifconfig`, of today's form or of the old one.
fn is_ifconfig(line: &str) -> Fit {
    let text = line.trim_start();
    let under = [
        "inet",
        "ether ",
        "loop ",
        "unspec ",
        "RX ",
        "TX ",
        "device ",
        "collisions",
        "UP ",
        "infiniband ",
        "BROADCAST ",
        "Interrupt",
    ];
    let heads = line.contains(": flags=") || line.contains("Link encap:");
    let below = line.starts_with("    ") && under.iter().any(|start| text.starts_with(start));
    if heads || below {
        Fit::Surely
    } else if text.is_empty() {
        Fit::Perhaps
    } else {
        Fit::Hardly
    }
}

/// A line of `ethtool eth0`.
fn is_setting(line: &str) -> Fit {
    let name = line.split_once(':').map_or("", |(name, _)| name.trim());
    let words = name.len() <= 40
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || " -()".contains(c));
    if line.starts_with("Settings for") || line.starts_with('\t') && words {
        Fit::Surely
    } else if line.starts_with(['\t', ' ']) && (words || line.contains("base")) {
        Fit::Likely
    } else {
        Fit::Hardly
    }
}

/// An address without the length of its prefix.
fn address(text: &str) -> String {
    text.split('/').next().unwrap_or(text).to_owned()
}

/// `eth0   UP   10.0.0.5/24 fe80::1/64`
fn brief(lines: &[Shown], sink: &mut Sink<'_>) {
    for line in lines {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let [name, state, rest @ ..] = words.as_slice() else {
            continue;
        };
        let name = name.split('@').next().unwrap_or(name);
        if !matches!(
            *state,
            "UP" | "DOWN" | "UNKNOWN" | "LOWERLAYERDOWN" | "DORMANT"
        ) {
            continue;
        }
        sink.line(
            line,
            Interface {
                name: name.to_owned(),
                state: (*state).to_owned(),
                up: up(state, name == "lo"),
                kind: (name == "lo").then(|| "loopback".to_owned()),
                addresses: rest
                    .iter()
                    .filter(|word| word.contains('/'))
                    .map(|word| address(word))
                    .collect(),
                ..Interface::default()
            },
        );
    }
}

/// A loopback is `UNKNOWN` all its life.
fn up(state: &str, loopback: bool) -> Tri {
    match state {
        "UP" => Tri::Yes,
        "DOWN" | "LOWERLAYERDOWN" => Tri::No,
        _ if loopback => Tri::Yes,
        _ => Tri::Unknown,
    }
}

/// `2: eth0@if5: <BROADCAST,UP,LOWER_UP> mtu 1500 qdisc … state UP …`
fn head(text: &str) -> Option<Interface> {
    let (index, rest) = text.split_once(": ")?;
    int(index)?;
    let (name, rest) = rest.split_once(": <")?;
    let name = name.split('@').next().unwrap_or(name);
    let (flags, rest) = rest.split_once('>')?;
    let after = |name: &str| {
        let mut words = rest.split_whitespace();
        words.find(|word| *word == name)?;
        words.next()
    };
    let state = after("state").unwrap_or("UNKNOWN");
    let loopback = flags.contains("LOOPBACK");
    let mut up = up(state, loopback);
    if flags.contains("NO-CARRIER") {
        up = Tri::No;
    }
    Some(Interface {
        name: name.to_owned(),
        state: state.to_owned(),
        up,
        kind: loopback.then(|| "loopback".to_owned()),
        mtu: after("mtu").and_then(int),
        ..Interface::default()
    })
}

fn long(lines: &[Shown], sink: &mut Sink<'_>) {
    let mut open: Option<(usize, Interface)> = None;
    let mut counts = "";
    for (at, line) in lines.iter().enumerate() {
        if let Some(found) = head(&line.text) {
            if let Some((from, interface)) = open.replace((at, found)) {
                sink.lines(lines.get(from..at).unwrap_or(&[]), interface);
            }
            counts = "";
            continue;
        }
        let Some((_, interface)) = &mut open else {
            continue;
        };
        let words: Vec<&str> = line.text.split_whitespace().collect();
        match words.as_slice() {
            ["inet" | "inet6", own, ..] => interface.addresses.push(address(own)),
            [link, ..] if link.starts_with("link/") => {
                let kind = link.trim_start_matches("link/");
                interface.kind = Some(if kind == "ether" { "ethernet" } else { kind }.to_owned());
            }
            ["RX:", ..] => counts = "rx",
            ["TX:", ..] => counts = "tx",
            [_, _, errors, dropped, ..] if !counts.is_empty() => {
                if counts == "rx" {
                    interface.rx_errors = int(errors);
                    interface.rx_dropped = int(dropped);
                } else {
                    interface.tx_errors = int(errors);
                }
                counts = "";
            }
            _ => {}
        }
    }
    if let Some((from, interface)) = open {
        sink.lines(lines.get(from..).unwrap_or(&[]), interface);
    }
}

fn routes(lines: &[Shown], sink: &mut Sink<'_>) {
    for line in lines {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let after = |name: &str| {
            words
                .iter()
                .position(|word| *word == name)
                .and_then(|at| words.get(at + 1))
                .map(|word| (*word).to_owned())
        };
        let Some(to) = words.first().filter(|to| {
            **to == "default"
                || to.starts_with(|c: char| c.is_ascii_hexdigit()) && to.contains(['.', ':'])
        }) else {
            continue;
        };
        let old = words.len() == 8;
        let route = if old {
            // `0.0.0.0  10.0.0.1  0.0.0.0  UG  100  0  0  eth0`
            Route {
                to: if *to == "0.0.0.0" { "default" } else { to }.to_owned(),
                via: words
                    .get(1)
                    .filter(|via| !matches!(**via, "0.0.0.0" | "*"))
                    .map(|via| (*via).to_owned()),
                interface: words.last().map(|name| (*name).to_owned()),
            }
        } else {
            Route {
                to: (*to).to_owned(),
                via: after("via"),
                interface: after("dev"),
            }
        };
        if route.interface.is_some() {
            sink.line(line, route);
        }
    }
}

/// `eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500`
fn ifconfig(lines: &[Shown], sink: &mut Sink<'_>) {
    let mut open: Option<(usize, Interface)> = None;
    for (at, line) in lines.iter().enumerate() {
        if let Some((name, rest)) = line.text.split_once(": flags=") {
            let flags = rest.split(['<', '>']).nth(1).unwrap_or("");
            let has = |flag: &str| flags.split(',').any(|one| one == flag);
            let found = Interface {
                name: name.to_owned(),
                state: if has("UP") { "UP" } else { "DOWN" }.to_owned(),
                up: (has("UP") && has("RUNNING")).into(),
                kind: has("LOOPBACK").then(|| "loopback".to_owned()),
                mtu: rest
                    .split("mtu ")
                    .nth(1)
                    .and_then(leading_int)
                    .map(|(mtu, _)| mtu),
                ..Interface::default()
            };
            if let Some((from, interface)) = open.replace((at, found)) {
                sink.lines(lines.get(from..at).unwrap_or(&[]), interface);
            }
            continue;
        }
        let Some((_, interface)) = &mut open else {
            continue;
        };
        let words: Vec<&str> = line.text.split_whitespace().collect();
        match words.as_slice() {
            ["inet" | "inet6", own, ..] => interface.addresses.push(address(own)),
            ["RX", "errors", errors, "dropped", dropped, ..] => {
                interface.rx_errors = int(errors);
                interface.rx_dropped = int(dropped);
            }
            ["TX", "errors", errors, ..] => interface.tx_errors = int(errors),
            _ => {}
        }
    }
    if let Some((from, interface)) = open {
        sink.lines(lines.get(from..).unwrap_or(&[]), interface);
    }
}

/// `Speed: 100000Mb/s`, `Link detected: yes`
fn ethtool(lines: &[Shown], invocation: &Invocation, sink: &mut Sink<'_>) {
    let of = |name: &str| {
        lines
            .iter()
            .find_map(|line| line.text.trim().strip_prefix(name))
            .map(str::trim)
    };
    let Some(detected) = of("Link detected:") else {
        return;
    };
    sink.lines(
        lines,
        Interface {
            name: Args::of(invocation, "").first().unwrap_or("").to_owned(),
            state: if detected.starts_with("yes") {
                "UP"
            } else {
                "DOWN"
            }
            .to_owned(),
            up: detected.starts_with("yes").into(),
            rate_gbit_s: of("Speed:")
                .filter(|speed| speed.ends_with("Mb/s"))
                .and_then(number)
                .map(|rate| rate / 1000.0),
            ..Interface::default()
        },
    );
}

/// `ibstat`, `ibstatus`, `ibv_devinfo`, `ibdev2netdev`.
pub(super) struct Infiniband;

impl Probe for Infiniband {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(
            invocation.program(),
            "ibstat" | "ibstatus" | "ibv_devinfo" | "ibdev2netdev"
        )
    }

    fn grammar<'a>(&self, _ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|line, _| {
            if line.starts_with("CA '")
                || line.starts_with("hca_id:")
                || line.starts_with("Infiniband device")
                || line.contains(" ==> ")
            {
                return Fit::Surely;
            }
            let (name, value) = line.split_once(':').unwrap_or(("", ""));
            let name = name.trim();
            let words = name.split(' ').count() <= 5
                && name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '(' | ')'));
            let valued = value.is_empty() || value.starts_with(['\t', ' ']);
            match (words && valued, line.starts_with('\t')) {
                (true, true) => Fit::Surely,
                (true, false) if line.starts_with("   ") => Fit::Likely,
                _ if line.trim().is_empty() => Fit::Perhaps,
                _ => Fit::Hardly,
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        if !ctx.filter.patterns.is_empty() || !ctx.filter.keeps_lines() {
            texts::as_plain(lines, ctx, sink);
            return;
        }
        if ctx.invocation.program() == "ibdev2netdev" {
            for line in lines {
                if let Some(interface) = of_netdev(&line.text) {
                    sink.line(line, interface);
                }
            }
        } else {
            ports(lines, sink);
        }
    }

    fn is_chatter(&self, line: &str) -> bool {
        line.contains("state:") || line.contains("State:")
    }
}

/// `mlx5_0 port 1 ==> ib0 (Up)`
fn of_netdev(text: &str) -> Option<Interface> {
    let (device, rest) = text.split_once(" port ")?;
    let (port, rest) = rest.split_once(" ==> ")?;
    let state = rest.split(['(', ')']).nth(1)?;
    Some(Interface {
        name: format!("{device}/{}", port.trim()),
        state: state.to_owned(),
        up: (state == "Up").into(),
        ..Interface::default()
    })
}

/// Ports under their adapter, `State: Active` or `state: PORT_ACTIVE (4)`.
fn ports(lines: &[Shown], sink: &mut Sink<'_>) {
    let mut adapter = String::new();
    let mut open: Option<(usize, Interface)> = None;
    for (at, line) in lines.iter().enumerate() {
        let text = line.text.trim();
        let named = text
            .strip_prefix("CA '")
            .or(text.strip_prefix("Infiniband device '"));
        if let Some(rest) = named.or(text.strip_prefix("hca_id:")) {
            if let Some((from, interface)) = open.take() {
                sink.lines(lines.get(from..at).unwrap_or(&[]), interface);
            }
            rest.trim()
                .split('\'')
                .next()
                .unwrap_or("")
                .clone_into(&mut adapter);
            if let Some((_, port)) = rest.split_once("port ") {
                // ibstatus: `Infiniband device 'mlx5_0' port 1 status:`
                let port = leading_int(port).map_or(1, |(port, _)| port);
                open = Some((at, port_of(&adapter, port)));
            }
            continue;
        }
        let port = text
            .strip_prefix("Port ")
            .and_then(|rest| rest.strip_suffix(':'))
            .or(text.strip_prefix("port:"))
            .and_then(int);
        if let Some(port) = port {
            if let Some((from, interface)) = open.replace((at, port_of(&adapter, port))) {
                sink.lines(lines.get(from..at).unwrap_or(&[]), interface);
            }
            continue;
        }
        let Some((_, interface)) = &mut open else {
            continue;
        };
        let Some((name, value)) = text.split_once(':') else {
            continue;
        };
        let value = value.trim();
        match name.trim() {
            "State" | "state" => {
                let word = value.rsplit(": ").next().unwrap_or(value);
                let word = word.split(" (").next().unwrap_or(word);
                word.clone_into(&mut interface.state);
                interface.up = word.to_ascii_uppercase().ends_with("ACTIVE").into();
            }
            "Rate" | "rate" => interface.rate_gbit_s = number(value),
            "Link layer" | "link_layer" => interface.kind = Some(value.to_lowercase()),
            "active_mtu" => interface.mtu = leading_int(value).map(|(mtu, _)| mtu),
            _ => {}
        }
    }
    if let Some((from, interface)) = open {
        sink.lines(lines.get(from..).unwrap_or(&[]), interface);
    }
}

fn port_of(adapter: &str, port: i64) -> Interface {
    Interface {
        name: format!("{adapter}/{port}"),
        ..Interface::default()
    }
}
