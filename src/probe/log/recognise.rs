//! Which invocation looks into a log, and at which part of it.

use super::args::Args;
use super::search::{Search, is_search};
use super::{LogProbe, Part, Step, What};
use crate::shell::{Invocation, RedirectTo};

/// Recognises a look into a file, a unit's, container's or pod's log, or a search in a file.
pub(super) fn of(invocation: &Invocation, later: &[&Invocation]) -> Option<LogProbe> {
    let program = invocation.program();
    let mut probe = if is_search(program) {
        search(invocation)?
    } else {
        look(invocation)?
    };
    probe.after = later.iter().map(|stage| step(stage)).collect();
    Some(probe)
}

/// Recognises a search in the output of a program that no probe reads (`docker info | grep cgroup`).
pub(super) fn of_pipe(invocation: &Invocation, later: &[&Invocation]) -> Option<LogProbe> {
    let at = later.iter().position(|stage| is_search(stage.program()))?;
    let search = Search::of(later.get(at)?).filter(|search| search.files.is_empty())?;
    let verb = invocation.args().first().map(|word| word.text.as_str());
    let of = match verb.filter(|verb| verb.chars().all(|ch| ch.is_ascii_lowercase() || ch == '-')) {
        Some(verb) if !verb.starts_with('-') => format!("{} {verb}", invocation.program()),
        _ => invocation.program().to_owned(),
    };
    Some(LogProbe {
        tool: later.get(at)?.program().to_owned(),
        paths: Vec::new(),
        of,
        what: What::Search(search),
        after: later.iter().skip(at + 1).map(|stage| step(stage)).collect(),
        single: false,
    })
}

fn search(invocation: &Invocation) -> Option<LogProbe> {
    let mut search = Search::of(invocation)?;
    if search.files.is_empty() {
        if let Some(path) = read_from(invocation) {
            search.files.push(path.to_owned());
        } else if !matches!(invocation.program(), "rg" | "ag" | "ack")
            && search.named == Some(false)
        {
            return None;
        }
    }
    let paths: Vec<String> = search
        .files
        .iter()
        .map(|path| resolved(invocation, path))
        .collect();
    if paths.iter().any(|path| is_system(path)) {
        return None;
    }
    Some(LogProbe::new(
        invocation.program(),
        paths,
        What::Search(search),
    ))
}

fn look(invocation: &Invocation) -> Option<LogProbe> {
    let program = invocation.program();
    let (args, part, skip) = match program {
        "tail" | "gtail" => {
            let args = Args::of(
                invocation,
                0,
                "n lines c bytes s sleep-interval pid max-unchanged-stats",
            );
            let part = tail_part(&args);
            (args, part, 0)
        }
        "head" | "ghead" => {
            let args = Args::of(invocation, 0, "n lines c bytes");
            let part = head_part(&args);
            (args, part, 0)
        }
        "cat" | "zcat" | "gzcat" | "xzcat" | "bzcat" | "zstdcat" | "lz4cat" | "nl" | "bat"
        | "batcat" | "tac" | "lnav" | "ccze" => {
            let part = if program == "tac" {
                Part::Some
            } else {
                Part::Whole
            };
            (
                Args::of(
                    invocation,
                    0,
                    "l language r line-range style theme paging color H",
                ),
                part,
                0,
            )
        }
        "less" | "more" | "zless" | "zmore" | "most" | "view" => {
            (Args::of(invocation, 0, "p j x"), Part::Some, 0)
        }
        "sed" | "gsed" => {
            let args = Args::of(invocation, 0, "e expression f file");
            let (part, skip) = sed_part(&args)?;
            (args, part, skip)
        }
        "awk" | "gawk" | "mawk" => {
            let args = Args::of(invocation, 0, "F f v");
            let program = args.operands.first()?;
            // Only programs that show lines as they are.
            if program.contains("print ") || program.contains("printf") || program.contains("END") {
                return None;
            }
            (args, Part::Some, 1)
        }
        "cut" => (
            Args::of(invocation, 0, "d delimiter f fields c characters b bytes"),
            Part::Whole,
            0,
        ),
        _ => return managed(invocation),
    };
    let mut files: Vec<&str> = args
        .operands
        .iter()
        .skip(skip)
        .copied()
        .filter(|file| {
            *file != "-"
                && !(program.ends_with("awk") && file.contains('='))
                && !file.starts_with('+')
        })
        .collect();
    if files.is_empty() {
        files.extend(read_from(invocation));
    }
    if program == "cut" && args.has(&["f", "fields"]) {
        return None;
    }
    let paths: Vec<String> = files
        .iter()
        .map(|path| resolved(invocation, path))
        .collect();
    if paths.is_empty() || paths.iter().any(|path| is_system(path)) {
        return None;
    }
    Some(LogProbe::new(program, paths, What::Look(part)))
}

fn tail_part(args: &Args<'_>) -> Part {
    let follow = args.has(&["f", "F", "follow", "retry"]);
    if args.has(&["c", "bytes"]) {
        return Part::Some.ending();
    }
    let lines = args.value(&["n", "lines", ""]);
    let from = lines.and_then(|lines| lines.strip_prefix('+')).or_else(|| {
        args.operands
            .first()
            .and_then(|first| first.strip_prefix('+'))
            .filter(|rest| rest.parse::<u32>().is_ok())
    });
    if let Some(from) = from {
        return if matches!(from, "0" | "1") {
            Part::Whole
        } else {
            Part::End(None)
        };
    }
    let lines = lines.map(|lines| lines.trim_start_matches('-').trim_end_matches(['f', 'F']));
    match lines {
        _ if follow => Part::End(None),
        None => Part::End(Some(10)),
        Some(lines) => Part::End(lines.parse().ok()),
    }
}

fn head_part(args: &Args<'_>) -> Part {
    if args.has(&["c", "bytes"]) {
        return Part::Start(None);
    }
    match args.value(&["n", "lines", ""]) {
        None => Part::Start(Some(10)),
        Some(lines) => Part::Start(lines.parse().ok()),
    }
}

/// `sed -n 5p`, `sed -n '1,5p'`, `sed -n '$p'`, `sed -n '/x/,/y/p'`, `sed -n '1,5p' f`.
fn sed_part(args: &Args<'_>) -> Option<(Part, usize)> {
    let (script, skip) = match args.value(&["e", "expression"]) {
        Some(script) => (script, 0),
        None => (*args.operands.first()?, 1),
    };
    if args.has(&["i", "in-place"]) {
        return None;
    }
    if !args.has(&["n", "quiet", "silent"]) {
        return Some((
            if script.ends_with('d') {
                Part::Some
            } else {
                Part::Whole
            },
            skip,
        ));
    }
    let range = script.strip_suffix('p').unwrap_or("");
    let part = match range.split_once(',') {
        None if range == "$" => Part::End(Some(1)),
        Some(("1", "$")) => Part::Whole,
        Some(("1", to)) => Part::Start(to.parse().ok()),
        Some((_, "$")) => Part::End(None),
        _ => Part::Some,
    };
    Some((part, skip))
}

/// Logs that something else keeps: journald, docker, Kubernetes, tmux, supervisord, the kernel.
fn managed(invocation: &Invocation) -> Option<LogProbe> {
    let program = invocation.program();
    let verb = |at: usize| {
        invocation
            .args()
            .get(at)
            .map_or("", |word| word.text.as_str())
    };
    match program {
        "dmesg" => {
            let args = Args::of(
                invocation,
                0,
                "l level f facility n console-level s buffer-size since until time-format F",
            );
            if args.has(&["C", "clear", "D", "E"]) {
                return None;
            }
            let part = if args.has(&["l", "level", "f", "facility", "since"]) {
                Part::Some.ending()
            } else {
                Part::Whole
            };
            Some(LogProbe::new(
                program,
                vec!["dmesg".to_owned()],
                What::Look(part),
            ))
        }
        "journalctl" => journal(invocation),
        "docker" | "podman" | "nerdctl" | "docker-compose" | "podman-compose" => engine(invocation),
        "crictl" if verb(0) == "logs" => {
            let args = Args::of(invocation, 1, "tail since");
            named_log(program, &args, &["tail"])
        }
        "kubectl" | "oc" | "k" | "microk8s.kubectl" | "k3s" | "minikube" => pods(invocation),
        "tmux" => {
            let at = invocation
                .args()
                .iter()
                .position(|word| matches!(word.text.as_str(), "capture-pane" | "capturep"))?;
            let args = Args::of(invocation, at + 1, "t S E b");
            let pane = args.value(&["t"]).unwrap_or("current");
            Some(LogProbe::new(
                program,
                vec![format!("tmux:{pane}")],
                What::Look(Part::Some.ending()),
            ))
        }
        "supervisorctl" if verb(0) == "tail" => {
            let args = Args::of(invocation, 1, "");
            let of = args.operands.join(" ");
            (!of.is_empty())
                .then(|| LogProbe::new(program, vec![of], What::Look(Part::Some.ending())))
        }
        "pm2" if verb(0) == "logs" => {
            let args = Args::of(invocation, 1, "lines");
            named_log(program, &args, &["lines"])
        }
        _ => None,
    }
}

fn journal(invocation: &Invocation) -> Option<LogProbe> {
    let args = Args::of(
        invocation,
        0,
        "u unit user-unit n lines g grep S since U until p priority o output t identifier b boot c cursor D directory M machine F field",
    );
    if args.has(&[
        "list-boots",
        "disk-usage",
        "vacuum-size",
        "vacuum-time",
        "rotate",
        "F",
        "field",
    ]) {
        return None;
    }
    let unit = args.value(&["u", "unit", "user-unit", "t", "identifier"]);
    let of = match unit {
        Some(unit) => unit.to_owned(),
        None if args.has(&["k", "dmesg"]) => "dmesg".to_owned(),
        None => args
            .operands
            .first()
            .map_or_else(|| "journal".to_owned(), |matching| (*matching).to_owned()),
    };
    let paths = vec![of];
    if let Some(pattern) = args.value(&["g", "grep"]) {
        let ignore_case = !pattern.chars().any(char::is_uppercase);
        let search = Search::in_journal(pattern, ignore_case);
        return Some(LogProbe::new("journalctl", paths, What::Search(search)));
    }
    let narrowed = args.has(&["S", "since", "U", "until", "p", "priority"]);
    let part = match args.value(&["n", "lines"]) {
        _ if args.has(&["f", "follow", "r", "reverse"]) => Part::Some.ending(),
        Some(lines) => match lines.parse() {
            Ok(lines) if !narrowed => Part::End(Some(lines)),
            _ => Part::End(None),
        },
        None if narrowed || args.has(&["b", "boot", "e", "pager-end"]) => Part::Some.ending(),
        None => Part::Whole,
    };
    Some(LogProbe::new("journalctl", paths, What::Look(part)))
}

/// `docker logs`, `docker compose logs`, `docker service logs`.
fn engine(invocation: &Invocation) -> Option<LogProbe> {
    let words = invocation.args();
    let at = words.iter().position(|word| word.text == "logs")?;
    let before = words
        .iter()
        .take(at)
        .filter(|word| !word.text.starts_with('-'))
        .count();
    if before > 3
        || words
            .iter()
            .take(at)
            .any(|word| matches!(word.text.as_str(), "exec" | "run"))
    {
        return None;
    }
    let args = Args::of(invocation, at + 1, "tail n since until");
    named_log(invocation.program(), &args, &["tail", "n"])
}

fn pods(invocation: &Invocation) -> Option<LogProbe> {
    let words = invocation.args();
    let at = words
        .iter()
        .position(|word| matches!(word.text.as_str(), "logs" | "log"))?;
    if words.iter().take(at).any(|word| {
        matches!(
            word.text.as_str(),
            "exec" | "run" | "get" | "describe" | "apply" | "--"
        )
    }) {
        return None;
    }
    let args = Args::of(
        invocation,
        at + 1,
        "tail since since-time c container n namespace l selector limit-bytes max-log-requests context kubeconfig",
    );
    let mut probe = named_log(invocation.program(), &args, &["tail"])?;
    if let (Some(container), Some(path)) =
        (args.value(&["c", "container"]), probe.paths.first_mut())
    {
        *path = format!("{path}/{container}");
    }
    Some(probe)
}

fn named_log(program: &str, args: &Args<'_>, lines: &[&str]) -> Option<LogProbe> {
    let of = args
        .operands
        .first()
        .copied()
        .or_else(|| args.value(&["l", "selector"]))
        .unwrap_or(if program.contains("compose") {
            "compose"
        } else {
            ""
        });
    if of.is_empty() {
        return None;
    }
    let part = match args.value(lines) {
        _ if args.has(&["f", "follow"]) => Part::End(None),
        _ if args.has(&["since", "since-time", "until", "limit-bytes"]) => Part::Some.ending(),
        Some("all" | "-1") | None => Part::Whole,
        Some(lines) => Part::End(lines.parse().ok()),
    };
    Some(LogProbe::new(
        program,
        vec![of.to_owned()],
        What::Look(part),
    ))
}

/// What a later stage of the pipeline does to the lines.
fn step(stage: &Invocation) -> Step {
    match stage.program() {
        "head" => match head_part(&Args::of(stage, 0, "n lines c bytes")) {
            Part::Start(lines) => Step::Head(lines),
            _ => Step::Reshape,
        },
        "tail" => match tail_part(&Args::of(stage, 0, "n lines c bytes s pid")) {
            Part::Whole => Step::Clear,
            Part::End(lines) => Step::Tail(lines),
            _ => Step::Tail(None),
        },
        "cat" | "tee" | "less" | "more" | "zcat" | "gunzip" | "cut" | "fold" | "stdbuf" | "ts"
        | "uniq" | "strings" | "col" | "ansi2txt" => {
            let args = Args::of(stage, 0, "d f c b w");
            let columns = stage.program() == "cut" && args.has(&["f"]);
            if columns {
                Step::Reshape
            } else if stage.program() == "uniq" && args.has(&["c", "count"]) {
                Step::Tally
            } else {
                Step::Clear
            }
        }
        "tr" => {
            let returns = stage
                .args()
                .first()
                .is_some_and(|word| word.text.contains('r') && word.text.contains('\\'))
                || stage
                    .args()
                    .iter()
                    .any(|word| word.text.contains("\\r") || word.text.contains('\r'));
            if returns { Step::Clear } else { Step::Reshape }
        }
        "sed" => match sed_part(&Args::of(stage, 0, "e expression f file")) {
            Some((Part::Whole, _)) if !stage.has_option(&["-n"]) => Step::Clear,
            Some((Part::Start(lines), _)) => Step::Head(lines),
            Some((Part::End(lines), _)) => Step::Tail(lines),
            _ => Step::Some,
        },
        "sort" | "tac" => Step::Sort,
        "wc" => Step::Count,
        program if is_search(program) => match Search::of(stage) {
            Some(search) if search.invert && !search.counts => Step::Some,
            Some(search) => Step::Search(Box::new(search)),
            None => Step::Some,
        },
        "awk" | "gawk" | "mawk" => {
            let shows = stage
                .args()
                .iter()
                .any(|word| word.text.contains("print ") || word.text.contains("END"));
            if shows { Step::Reshape } else { Step::Some }
        }
        _ => Step::Reshape,
    }
}

/// The file of `< file`.
fn read_from(invocation: &Invocation) -> Option<&str> {
    invocation
        .redirects
        .iter()
        .rev()
        .find_map(|redirect| match &redirect.to {
            RedirectTo::Read { path } if redirect.fd == 0 => Some(path.text.as_str()),
            _ => None,
        })
}

/// Files that are the kernel's word, not logs: others read them.
fn is_system(path: &str) -> bool {
    path.starts_with("/proc/") || path.starts_with("/sys/") || path.starts_with("/dev/")
}

/// A path with the working directory applied, as far as the line tells.
fn resolved(invocation: &Invocation, path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    match invocation.cwd.as_deref() {
        Some(cwd) if !path.starts_with(['/', '~', '$']) => {
            let mut base = cwd.trim_end_matches('/');
            let mut path = path;
            while let Some(rest) = path.strip_prefix("../") {
                match base.rsplit_once('/') {
                    Some((up, last)) if last != ".." && !last.is_empty() => {
                        base = up;
                        path = rest;
                    }
                    _ => break,
                }
            }
            format!("{base}/{path}")
        }
        _ => path.to_owned(),
    }
}
