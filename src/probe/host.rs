//! What the machine is and who works on it: `hostname`, `uname`, `lscpu`, `nproc`, `hostnamectl`,
//! `numactl -H`, `id`, `whoami`, `groups`, `sysctl`.
//!
//! Sources: coreutils, util-linux 2.34 to 2.40, systemd 245 to 257, numactl 2;
//! `tests/fixtures/probes/lscpu`, `…/host`.

use super::words::{Args, int};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, texts};
use crate::fact::{HostInfo, Identity, Setting};
use crate::shell::Invocation;

/// `hostname`, `uname`, `lscpu`, `nproc`, `hostnamectl`, `numactl -H`.
pub(super) struct Host;

fn words(invocation: &Invocation) -> Vec<&str> {
    invocation
        .args()
        .iter()
        .map(|word| word.text.as_str())
        .collect()
}

impl Probe for Host {
    fn recognises(&self, invocation: &Invocation) -> bool {
        match invocation.program() {
            "hostname" | "lscpu" | "nproc" | "hostnamectl" => true,
            // `uname -r` alone is a version.
            "uname" => words(invocation) != ["-r"],
            "numactl" => Args::of(invocation, "").has(&["H", "hardware", "s", "show"]),
            _ => false,
        }
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        if let Some(shape) = super::plain::shape(ctx.invocation) {
            return shape;
        }
        let program = ctx.invocation.program();
        match program {
            "uname" => {
                let options = words(ctx.invocation).concat();
                let (name, release) = (options.contains(['s', 'a']), options.contains('v'));
                Grammar::exactly(1, move |line, _| {
                    let kernel = ["Linux", "Darwin"]
                        .iter()
                        .any(|kernel| line == *kernel || line.starts_with(&format!("{kernel} ")));
                    if kernel && (name || options.is_empty()) {
                        Fit::Surely
                    } else if name || options.is_empty() {
                        Fit::Hardly // it begins with the kernel's name
                    } else if release {
                        Fit::Perhaps
                    } else if line.split_whitespace().count() < options.len().max(2) {
                        Fit::Likely
                    } else {
                        Fit::Hardly
                    }
                })
            }
            "hostname" => Grammar::exactly(1, |_, _| Fit::Perhaps),
            "numactl" => Grammar::any(|line, _| numa_line(line).into()),
            _ => Grammar::any(move |line, _| {
                // lscpu's values stand in a column of their own.
                let column = program != "lscpu"
                    || line.starts_with("Vulnerability ")
                    || line.split_once(':').is_some_and(|(name, value)| {
                        // Of a section there is the name alone.
                        let section = ["Virtualization features", "NUMA", "Vulnerabilities"];
                        value.starts_with("  ")
                            || value.is_empty()
                                && (section.contains(&name) || name.starts_with("Caches"))
                    });
                if is_named(line) && column {
                    Fit::Likely
                } else {
                    Fit::Hardly
                }
            }),
        }
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        if ctx.filter.columns.is_some() || ctx.filter.opaque {
            texts::as_plain(lines, ctx, sink);
            return;
        }
        let info = match ctx.invocation.program() {
            "hostname" => hostname(lines, ctx.invocation),
            "uname" => uname(lines, &words(ctx.invocation)),
            "nproc" => lines
                .first()
                .and_then(|line| int(&line.text))
                .map(|cpus| HostInfo {
                    cpus: Some(cpus),
                    ..HostInfo::default()
                }),
            _ => named(lines),
        };
        match info {
            Some(info) if info != HostInfo::default() => sink.lines(lines, info),
            _ => texts::as_plain(lines, ctx, sink),
        }
    }

    fn is_chatter(&self, line: &str) -> bool {
        // `Vulnerability Mds:  Not affected` is an answer, no trouble.
        line.starts_with("Vulnerability ") || line.starts_with("Flags:")
    }
}

fn hostname(lines: &[Shown], invocation: &Invocation) -> Option<HostInfo> {
    let text = lines.first()?.text.trim();
    if text.is_empty() || lines.len() > 1 {
        return None;
    }
    let addresses: Vec<String> = text
        .split_whitespace()
        .filter(|word| word.parse::<std::net::IpAddr>().is_ok())
        .map(str::to_owned)
        .collect();
    if !addresses.is_empty() {
        return Some(HostInfo {
            addresses,
            ..HostInfo::default()
        });
    }
    let asks_address = Args::of(invocation, "").has(&["I", "i"]);
    (!asks_address && !text.contains(char::is_whitespace)).then(|| HostInfo {
        hostname: Some(text.to_owned()),
        ..HostInfo::default()
    })
}

/// `Linux gpu01 5.15.0-113-generic #123-Ubuntu SMP … x86_64 x86_64 x86_64 GNU/Linux`
fn uname(lines: &[Shown], options: &[&str]) -> Option<HostInfo> {
    let words: Vec<&str> = lines.first()?.text.split_whitespace().collect();
    let all = options
        .iter()
        .any(|option| *option == "-a" || *option == "--all");
    match words.as_slice() {
        [os, name, kernel, .., _] if all => Some(HostInfo {
            hostname: Some((*name).to_owned()),
            os: Some((*os).to_owned()),
            kernel: Some((*kernel).to_owned()),
            arch: words
                .iter()
                .find(|word| {
                    matches!(
                        **word,
                        "x86_64" | "aarch64" | "arm64" | "ppc64le" | "riscv64"
                    )
                })
                .map(|arch| (*arch).to_owned()),
            ..HostInfo::default()
        }),
        [one] => {
            let one = Some((*one).to_owned());
            match options {
                ["-n"] => Some(HostInfo {
                    hostname: one,
                    ..HostInfo::default()
                }),
                ["-m" | "-p" | "-i"] => Some(HostInfo {
                    arch: one,
                    ..HostInfo::default()
                }),
                [] | ["-s" | "-o"] => Some(HostInfo {
                    os: one,
                    ..HostInfo::default()
                }),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `available: 2 nodes (0-1)`, `node 0 cpus: 0 1 2`, `node distances:` and the matrix under it;
/// of `--show`, `policy: default` and the like.
fn numa_line(line: &str) -> bool {
    let text = line.trim();
    if let Some(rest) = text.strip_prefix("node ") {
        let mut words = rest.split_whitespace();
        return words.next().is_some_and(|one| {
            int(one).is_some() && words.all(|one| int(one).is_some() || one.ends_with(':'))
                || int(one).is_some() && rest.contains(" size:")
                || int(one).is_some() && rest.contains(" free:")
                || int(one).is_some() && rest.contains(" cpus:")
        }) || rest == "distances:";
    }
    let shown = [
        "available: ",
        "policy: ",
        "preferred node: ",
        "physcpubind: ",
        "cpubind: ",
        "nodebind: ",
        "membind: ",
        "preferred: ",
        "interleavemask: ",
        "interleavenode: ",
    ];
    let distances = |(node, far): (&str, &str)| {
        int(node.trim()).is_some() && far.split_whitespace().all(|one| int(one).is_some())
    };
    shown.iter().any(|start| text.starts_with(start))
        || text.split_once(':').is_some_and(distances)
        || text == "No NUMA support available on this system."
}

/// A line of lscpu or hostnamectl: a name of a few words, a colon, blanks and a value.
fn is_named(line: &str) -> bool {
    let Some((name, value)) = line.split_once(':') else {
        return false;
    };
    let name = name.trim();
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let words = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '(' | ')' | '-' | '_' | '/' | '.'));
    first && words && name.len() <= 40 && (value.is_empty() || value.starts_with([' ', '\t']))
}

/// `Name: value` lines of lscpu, hostnamectl and numactl, in any order, some missing.
fn named(lines: &[Shown]) -> Option<HostInfo> {
    let mut info = HostInfo::default();
    for line in lines {
        let Some((name, value)) = line.text.split_once(':') else {
            continue;
        };
        let value = value.trim();
        let kept = || Some(value.to_owned()).filter(|value| !value.is_empty());
        match name.trim() {
            "Architecture" => info.arch = kept(),
            "CPU(s)" => info.cpus = int(value),
            "Model name" => info.cpu_model = kept(),
            "NUMA node(s)" => info.numa_nodes = int(value),
            "Hypervisor vendor" | "Virtualization" if info.virtualization.is_none() => {
                // lscpu calls the processor's own extension by this name, too.
                info.virtualization =
                    kept().filter(|one| !matches!(one.as_str(), "VT-x" | "AMD-V"));
            }
            "Static hostname" => info.hostname = kept(),
            "Operating System" => info.os = kept(),
            "Kernel" => info.kernel = kept(),
            "available" => {
                // numactl: `available: 2 nodes (0-1)`
                info.numa_nodes = value.split_whitespace().next().and_then(int);
            }
            _ => {}
        }
    }
    Some(info)
}

/// `id`, `whoami`, `groups`.
pub(super) struct Who;

impl Probe for Who {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(invocation.program(), "id" | "whoami" | "groups" | "logname")
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        super::plain::shape(ctx.invocation).unwrap_or_else(|| Grammar::any(|_, _| Fit::Perhaps))
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let Some(line) = lines.first().filter(|_| ctx.filter.keeps_lines()) else {
            texts::as_plain(lines, ctx, sink);
            return;
        };
        let text = line.text.trim();
        let in_brackets = |part: &str| {
            part.split_once('(')
                .map(|(_, rest)| rest.trim_end_matches(')').to_owned())
        };
        let mut who = Identity::default();
        if let Some(rest) = text.strip_prefix("uid=") {
            for part in text.split(' ') {
                if let Some(user) = part.strip_prefix("uid=") {
                    who.user = in_brackets(user);
                } else if let Some(groups) = part.strip_prefix("groups=") {
                    who.groups = groups.split(',').filter_map(in_brackets).collect();
                }
            }
            who.uid = super::words::leading_int(rest).map(|(uid, _)| uid);
        } else {
            let options = words(ctx.invocation);
            match (ctx.invocation.program(), options.as_slice()) {
                ("groups", _) => {
                    let list = text.split_once(" : ").map_or(text, |(_, list)| list);
                    who.groups = list.split_whitespace().map(str::to_owned).collect();
                }
                ("id", ["-u"]) => who.uid = int(text),
                ("id", ["-Gn" | "-nG"]) => {
                    who.groups = text.split_whitespace().map(str::to_owned).collect();
                }
                ("whoami" | "logname", _) | ("id", ["-un" | "-nu"])
                    if !text.is_empty() && !text.contains(' ') =>
                {
                    who.user = Some(text.to_owned());
                }
                _ => {}
            }
        }
        if who == Identity::default() {
            texts::as_plain(lines, ctx, sink);
        } else {
            sink.line(line, who);
        }
    }
}

/// `sysctl`, and `cat /proc/sys/…`, which is read by `procfs`.
pub(super) struct Sysctl;

impl Probe for Sysctl {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "sysctl"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let args = Args::of(ctx.invocation, "r pattern p load");
        if args.has(&["n", "values", "b", "binary"]) {
            let named = args.operands.len().max(1);
            return Grammar::exactly(named, |line, _| {
                let figures = line.split_whitespace().all(|word| int(word).is_some());
                if figures { Fit::Likely } else { Fit::Perhaps }
            });
        }
        Grammar::any(|line, _| {
            if setting(line).is_some() {
                Fit::Surely
            } else {
                Fit::Hardly
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let args = Args::of(ctx.invocation, "p load r pattern");
        let asked: Vec<&str> = args.texts().collect();
        let bare = args.has(&["n", "values"]) && asked.len() == lines.len();
        for (at, line) in lines.iter().enumerate() {
            let found = if bare {
                asked.get(at).map(|name| (*name, line.text.trim()))
            } else {
                setting(&line.text)
            };
            if let Some((name, value)) = found {
                sink.line(
                    line,
                    Setting {
                        tool: "sysctl".to_owned(),
                        name: name.to_owned(),
                        value: value.to_owned(),
                    },
                );
            }
        }
    }
}

/// `net.core.somaxconn = 4096`
fn setting(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let name = name.trim();
    let good = name.contains('.')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '*'));
    good.then(|| (name, value.trim()))
}
