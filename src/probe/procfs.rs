//! Files under `/proc`, shown by `cat`, `grep`, `head`, `awk`: states, limits, memory, environment,
//! mounts, kernel stacks, the NVIDIA driver's version.
//!
//! Source: proc(5); `tests/fixtures/probes/proc`.

use super::machine::{assignment, kib};
use super::words::{Args, int, whole};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::fact::{Disk, Env, Limit, Load, Memory, Process, ProcessLook, Setting, Stack, Version};
use crate::shell::{Invocation, Tri};

/// Readers of `/proc`.
pub(super) struct Procfs;

/// Which file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Status,
    Stat,
    Wchan,
    Comm,
    Cmdline,
    Environ,
    Limits,
    Stack,
    Meminfo,
    Mounts,
    Nvidia,
    Io,
    Loadavg,
    Sys,
    Other,
}

fn paths(invocation: &Invocation) -> Vec<&str> {
    Args::of(invocation, "n lines c bytes e f A B C m F v")
        .texts()
        .chain(
            invocation
                .redirects
                .iter()
                .filter_map(|redirect| match &redirect.to {
                    crate::shell::RedirectTo::Read { path } => Some(path.text.as_str()),
                    _ => None,
                }),
        )
        .filter(|text| text.starts_with("/proc/"))
        .collect()
}

fn kind_of(path: &str) -> Kind {
    match path {
        "/proc/meminfo" => return Kind::Meminfo,
        "/proc/loadavg" => return Kind::Loadavg,
        "/proc/mounts" | "/proc/self/mounts" => return Kind::Mounts,
        "/proc/driver/nvidia/version" => return Kind::Nvidia,
        _ => {}
    }
    if path.starts_with("/proc/sys/") {
        return Kind::Sys;
    }
    let under_pid = path
        .strip_prefix("/proc/")
        .and_then(|rest| rest.split_once('/'))
        .is_some_and(|(pid, _)| {
            pid.starts_with(|c: char| c.is_ascii_digit() || "$*[{(".contains(c)) || pid == "self"
        });
    if !under_pid {
        return Kind::Other;
    }
    match path.rsplit('/').next().unwrap_or("") {
        "status" => Kind::Status,
        "stat" => Kind::Stat,
        "wchan" => Kind::Wchan,
        "comm" => Kind::Comm,
        "cmdline" => Kind::Cmdline,
        "environ" => Kind::Environ,
        "limits" => Kind::Limits,
        "stack" => Kind::Stack,
        "io" => Kind::Io,
        "mounts" => Kind::Mounts,
        _ => Kind::Other,
    }
}

fn pid_of(path: &str) -> Option<i64> {
    path.strip_prefix("/proc/")?.split('/').next().and_then(int)
}

impl Probe for Procfs {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(
            invocation.program(),
            "cat"
                | "head"
                | "tail"
                | "grep"
                | "egrep"
                | "awk"
                | "sed"
                | "strings"
                | "tr"
                | "less"
                | "xargs"
        ) && !paths(invocation).is_empty()
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let paths = paths(ctx.invocation);
        let kinds: Vec<Kind> = paths.iter().map(|path| kind_of(path)).collect();
        let program = ctx.invocation.program();
        let cats = matches!(program, "cat" | "head" | "tail");
        let bare_names = Args::of(ctx.invocation, "e f A B C m").has(&["h", "no-filename", "o"]);
        // What stands first in its pipeline and filters by itself shows what it lets through.
        let mut own = super::Filter::default();
        if matches!(program, "grep" | "egrep" | "awk" | "sed" | "head" | "tail") {
            own.add(ctx.invocation);
        }
        let most = own.head.or(own.tail).filter(|_| paths.len() == 1);
        let counts = own.counted.is_some();
        let several = paths.len() > 1 || paths.iter().any(|path| path.contains(['*', '?', '{']));
        let mut grammar = Grammar::any(move |line: &str, _: usize| {
            // `/proc/12/status:Threads: 4`
            let line = match line.split_once(':') {
                Some((path, rest)) if path.starts_with("/proc/") => rest,
                _ if several && line.starts_with("==> /proc/") && line.ends_with(" <==") => {
                    return Fit::Surely;
                }
                _ if several && matches!(program, "grep" | "egrep") && !bare_names => {
                    return Fit::No;
                }
                _ => line,
            };
            if counts {
                return int(line).is_some().into();
            }
            match own.passes(line) {
                Some(false) if !own.numbered => return Fit::No,
                None if own.columns.is_some() || own.opaque || own.reshaped => {
                    return Fit::Perhaps;
                }
                _ => {}
            }
            kinds
                .iter()
                .map(|kind| fit(*kind, line, cats))
                .max()
                .unwrap_or(Fit::Perhaps)
        });
        if most.is_some() {
            grammar.max = most;
        }
        let single = paths
            .iter()
            .all(|path| matches!(kind_of(path), Kind::Wchan | Kind::Comm | Kind::Stat));
        if single && cats && !paths.iter().any(|path| path.contains('*')) {
            grammar.max = Some(paths.len());
        }
        grammar
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let paths = paths(ctx.invocation);
        let several = paths.len() > 1 || paths.iter().any(|path| path.contains(['*', '{', '?']));
        if several {
            let kept: Vec<Shown> = lines
                .iter()
                .filter(|line| !gone(line, None, ctx, sink))
                .cloned()
                .collect();
            for (path, lines) in by_path(&kept) {
                file(&path, &lines, ctx, sink);
            }
            return;
        }
        let Some(path) = paths.first() else { return };
        let pid = pid_of(path);
        let lines: Vec<Shown> = lines
            .iter()
            .filter(|line| !gone(line, pid, ctx, sink))
            .cloned()
            .collect();
        file(path, &lines, ctx, sink);
    }
}

/// Lines of one file.
fn file(path: &str, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let pid = pid_of(path);
    match kind_of(path) {
        Kind::Status => status(lines, pid, sink),
        Kind::Stat | Kind::Wchan | Kind::Comm | Kind::Cmdline => {
            one_value(kind_of(path), lines, pid, ctx, sink);
        }
        Kind::Environ => environ(lines, sink),
        Kind::Limits => limits(lines, pid, sink),
        Kind::Stack => stack(lines, pid, sink),
        Kind::Io => io(lines, pid, sink),
        Kind::Meminfo => meminfo(lines, sink),
        Kind::Loadavg => loadavg(lines, sink),
        Kind::Sys => sys(path, lines, ctx, sink),
        Kind::Mounts => mounts(lines, sink),
        Kind::Nvidia => nvidia(lines, sink),
        Kind::Other => {}
    }
}

/// The lines of several files, each under its path: `/proc/12/status:Threads: 4` of grep, or below
/// `==> /proc/12/status <==` of head and tail.
fn by_path(lines: &[Shown]) -> Vec<(String, Vec<Shown>)> {
    let mut files: Vec<(String, Vec<Shown>)> = Vec::new();
    let mut under: Option<String> = None;
    for line in lines {
        let text = line.text.as_str();
        if let Some(path) = text
            .strip_prefix("==> ")
            .and_then(|rest| rest.strip_suffix(" <=="))
        {
            under = Some(path.to_owned());
            continue;
        }
        let (path, rest) = match text.split_once(':') {
            Some((path, rest)) if path.starts_with("/proc/") && !path.contains(' ') => {
                (path.to_owned(), rest.to_owned())
            }
            _ => match &under {
                Some(path) if !text.trim().is_empty() => (path.clone(), text.to_owned()),
                _ => continue,
            },
        };
        let mut line = line.clone();
        line.line.text = rest;
        match files.last_mut() {
            Some((last, lines)) if *last == path => lines.push(line),
            _ => files.push((path, vec![line])),
        }
    }
    files
}

/// `read_bytes: 123`
fn io(lines: &[Shown], pid: Option<i64>, sink: &mut Sink<'_>) {
    let of = |name: &str| {
        lines
            .iter()
            .find_map(|line| line.text.strip_prefix(name))
            .and_then(int)
    };
    let (read_bytes, written_bytes) = (of("read_bytes:"), of("write_bytes:"));
    if let Some(pid) = pid
        && (read_bytes.is_some() || written_bytes.is_some())
    {
        sink.lines(
            lines,
            Process {
                pid,
                read_bytes,
                written_bytes,
                ..Process::default()
            },
        );
    }
}

/// `0.10 0.20 0.30 1/234 5678`
fn loadavg(lines: &[Shown], sink: &mut Sink<'_>) {
    for line in lines {
        let loads: Vec<f64> = line
            .text
            .split_whitespace()
            .map_while(|word| word.parse().ok())
            .collect();
        if let [load_1m, load_5m, load_15m, ..] = loads.as_slice() {
            sink.line(
                line,
                Load {
                    load_1m: *load_1m,
                    load_5m: Some(*load_5m),
                    load_15m: Some(*load_15m),
                    up_s: None,
                },
            );
        }
    }
}

/// `/proc/sys/net/core/somaxconn` holds what `sysctl net.core.somaxconn` shows.
fn sys(path: &str, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let name = path.trim_start_matches("/proc/sys/").replace('/', ".");
    if let [line] = lines
        && ctx.filter.keeps_lines()
    {
        sink.line(
            line,
            Setting {
                tool: "sysctl".to_owned(),
                name,
                value: line.text.trim().to_owned(),
            },
        );
    }
}

/// Whether `/proc/PID/status` has such a field.
fn is_status(name: &str) -> bool {
    const WHOLE: &[&str] = &[
        "Name",
        "Umask",
        "State",
        "Tgid",
        "Ngid",
        "Pid",
        "PPid",
        "TracerPid",
        "Uid",
        "Gid",
        "FDSize",
        "Groups",
        "Kthread",
        "Threads",
        "CoreDumping",
        "THP_enabled",
        "untag_mask",
        "NoNewPrivs",
    ];
    const STARTS: &[&str] = &[
        "NS",
        "Vm",
        "Rss",
        "Hugetlb",
        "Sig",
        "Shd",
        "Cap",
        "Seccomp",
        "Specul",
        "Cpus_allowed",
        "Mems_allowed",
        "voluntary_",
        "nonvoluntary_",
        "x86_",
    ];
    WHOLE.contains(&name) || STARTS.iter().any(|start| name.starts_with(start))
}

fn fit(kind: Kind, line: &str, whole_file: bool) -> Fit {
    let name = line.split_once(':').map(|(name, _)| name);
    let good = match kind {
        // A tab parts name and value, where the terminal left it.
        Kind::Status => {
            name.is_some_and(|name| !name.contains(' ') && !line.contains(":  ") && is_status(name))
        }
        Kind::Meminfo => line.trim_end().ends_with("kB") && name.is_some(),
        Kind::Limits => line.starts_with("Max ") || line.starts_with("Limit "),
        Kind::Environ => line.contains('='),
        Kind::Nvidia => line.starts_with("NVRM version") || line.starts_with("GCC version"),
        Kind::Mounts => line.split_whitespace().count() == 6,
        Kind::Stack => line.starts_with("[<"),
        Kind::Stat => line.contains(") ") && line.contains(" ("),
        Kind::Wchan => {
            let token = !line.is_empty()
                && line.chars().all(|c| {
                    c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.')
                });
            return if token { Fit::Likely } else { Fit::No };
        }
        Kind::Io => name.is_some_and(|name| {
            name.ends_with("_bytes") || matches!(name, "rchar" | "wchar" | "syscr" | "syscw")
        }),
        Kind::Loadavg => {
            let words = line.split_whitespace();
            words.clone().count() == 5
                && words.clone().nth(3).is_some_and(|word| word.contains('/'))
        }
        Kind::Comm | Kind::Cmdline | Kind::Sys | Kind::Other => return Fit::Perhaps,
    };
    match (good, whole_file) {
        (true, _) => Fit::Surely,
        (false, true) => Fit::No,
        (false, false) => Fit::Hardly,
    }
}

/// `cat: /proc/4711/wchan: No such file or directory`: that process is gone.
fn gone(line: &Shown, pid: Option<i64>, ctx: &Ctx<'_>, sink: &mut Sink<'_>) -> bool {
    let Some((path, exists)) = super::files::missing_path(&line.text, ctx.invocation) else {
        return false;
    };
    if let Some(pid) = pid_of(path).or(pid)
        && exists == Tri::No
    {
        sink.line(
            line,
            ProcessLook {
                tool: "/proc".to_owned(),
                asked_pids: vec![pid],
                ..ProcessLook::default()
            },
        );
    }
    true
}

fn status(lines: &[Shown], pid: Option<i64>, sink: &mut Sink<'_>) {
    let mut process = Process::default();
    let mut told = false;
    let mut shown_pid = pid;
    for line in lines {
        let Some((name, rest)) = line.text.split_once(':') else {
            continue;
        };
        let rest = rest.trim();
        told = true;
        match name {
            "Name" => process.comm = Some(rest.to_owned()),
            "State" => process.state = rest.get(..1).map(str::to_owned),
            "Pid" => shown_pid = int(rest).or(shown_pid),
            "PPid" => process.ppid = int(rest),
            "Threads" => process.threads = int(rest),
            "VmRSS" => process.rss_kib = kib(rest).and_then(whole),
            _ => told = process != Process::default(),
        }
    }
    if let Some(pid) = shown_pid
        && told
    {
        process.pid = pid;
        sink.lines(lines, process);
    }
}

fn one_value(kind: Kind, lines: &[Shown], pid: Option<i64>, ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let Some(line) = lines.first() else { return };
    if !ctx.filter.keeps_lines() && kind != Kind::Cmdline {
        return;
    }
    let text = line.text.trim();
    let mut process = Process::default();
    match kind {
        Kind::Wchan => process.wchan = Some(text.to_owned()).filter(|wchan| wchan != "0"),
        Kind::Comm => process.comm = Some(text.to_owned()),
        Kind::Cmdline => {
            let args = lines
                .iter()
                .map(|line| line.text.replace('\0', " "))
                .collect::<Vec<_>>()
                .join(" ");
            process.args = Some(args.trim().to_owned());
        }
        _ => {
            let Some((head, rest)) = text.rsplit_once(") ") else {
                return;
            };
            let (own, comm) = head.split_once(" (").unwrap_or((head, ""));
            process.pid = int(own).unwrap_or(0);
            process.comm = Some(comm.to_owned());
            let mut words = rest.split(' ');
            process.state = words.next().map(str::to_owned);
            process.ppid = words.next().and_then(int);
        }
    }
    if let Some(pid) = pid.or(Some(process.pid)).filter(|pid| *pid > 0) {
        process.pid = pid;
        sink.lines(lines, process);
    }
}

fn environ(lines: &[Shown], sink: &mut Sink<'_>) {
    for line in lines {
        for one in line.text.split('\0') {
            if let Some(Env { name, value }) = assignment(one) {
                sink.line(line, Env { name, value });
            }
        }
    }
}

/// `Max open files            1024                 524288               files`
fn limits(lines: &[Shown], pid: Option<i64>, sink: &mut Sink<'_>) {
    for line in lines {
        let Some(rest) = line.text.strip_prefix("Max ") else {
            continue;
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let value = |word: &&&str| int(word).is_some() || **word == "unlimited";
        let Some(at) = words.iter().position(|word| value(&word)) else {
            continue;
        };
        let (soft, hard) = (
            words.get(at).copied().unwrap_or(""),
            words.get(at + 1).copied().unwrap_or(""),
        );
        sink.line(
            line,
            Limit {
                name: words.get(..at).unwrap_or(&[]).join(" "),
                soft: int(soft),
                hard: int(hard),
                unlimited: soft == "unlimited",
                pid,
            },
        );
    }
}

/// `[<0>] futex_wait_queue+0x60/0x90`
fn stack(lines: &[Shown], pid: Option<i64>, sink: &mut Sink<'_>) {
    let frames: Vec<&str> = lines
        .iter()
        .filter_map(|line| {
            line.text
                .split_once("] ")
                .map(|(_, frame)| frame.split('+').next().unwrap_or(frame))
        })
        .collect();
    if let Some(top) = frames.first() {
        sink.lines(
            lines,
            Stack {
                pid,
                thread: None,
                state: None,
                top: (*top).to_owned(),
                frames: frames.join(" < "),
            },
        );
    }
}

fn meminfo(lines: &[Shown], sink: &mut Sink<'_>) {
    let of = |name: &str| {
        lines.iter().find_map(|line| {
            let rest = line.text.strip_prefix(name)?.strip_prefix(':')?;
            kib(rest).map(|kib| kib / 1024.0)
        })
    };
    if let Some(total_mib) = of("MemTotal") {
        let swap = of("SwapTotal")
            .zip(of("SwapFree"))
            .map(|(total, free)| total - free);
        sink.lines(
            lines,
            Memory {
                total_mib,
                used_mib: of("MemAvailable").map(|available| total_mib - available),
                available_mib: of("MemAvailable"),
                swap_used_mib: swap,
            },
        );
    }
}

/// `/dev/vdb /opt/toolkit ext4 ro,relatime 0 0`
fn mounts(lines: &[Shown], sink: &mut Sink<'_>) {
    for line in lines {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        if let [device, mount, _, options, _, _] = words.as_slice() {
            sink.line(
                line,
                Disk {
                    mount: (*mount).to_owned(),
                    device: (*device).to_owned(),
                    read_only: Some(options.split(',').any(|option| option == "ro")),
                    fs_type: words.get(2).map(|kind| (*kind).to_owned()),
                    options: Some((*options).to_owned()),
                    ..Disk::default()
                },
            );
        }
    }
}

/// `NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.120  Fri Sep 13 …`
fn nvidia(lines: &[Shown], sink: &mut Sink<'_>) {
    for line in lines {
        if let Some(rest) = line.text.strip_prefix("NVRM version:")
            && let Some(version) = rest.split_whitespace().find(|word| {
                word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.')
            })
        {
            sink.line(
                line,
                Version {
                    of: "nvidia kernel module".to_owned(),
                    version: version.to_owned(),
                },
            );
        }
    }
}
