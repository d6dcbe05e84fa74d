//! Slurm: `squeue`, `sinfo`, `sacct`, `scontrol show job`, `scontrol show node`.
//!
//! Source: Slurm 20.11 to 24.05; `tests/fixtures/probes/slurm`.

use super::table::{Cells, Table};
use super::words::{Args, clock_seconds, int, size_bytes};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, texts};
use crate::fact::{Job, Node};
use crate::shell::{Invocation, Tri};

/// Slurm's commands that show jobs and nodes.
pub(super) struct Slurm;

/// The options that take a value: the same letter means different things.
fn valued(invocation: &Invocation) -> &'static str {
    match invocation.program() {
        "squeue" => {
            "A account o format O Format u user p partition t states j jobs n name w nodelist S sort M clusters q qos L licenses R reservation i iterate"
        }
        "sinfo" => "o format O Format p partition t states n nodes S sort M clusters i iterate",
        "sacct" => {
            "A accounts o format u user uid r partition s state j jobs name N nodelist S starttime E endtime M clusters q qos g gid group delimiter k timelimit-min i nnodes"
        }
        _ => "M clusters",
    }
}

/// The states in full, by the letters that `squeue` prints.
fn state_name(short: &str) -> &str {
    match short {
        "R" => "RUNNING",
        "PD" => "PENDING",
        "CG" => "COMPLETING",
        "CD" => "COMPLETED",
        "CF" => "CONFIGURING",
        "CA" => "CANCELLED",
        "F" => "FAILED",
        "TO" => "TIMEOUT",
        "OOM" => "OUT_OF_MEMORY",
        "NF" => "NODE_FAIL",
        "PR" => "PREEMPTED",
        "S" => "SUSPENDED",
        "ST" => "STOPPED",
        "BF" => "BOOT_FAIL",
        "DL" => "DEADLINE",
        "RQ" => "REQUEUED",
        "RH" => "REQUEUE_HOLD",
        other => other,
    }
}

/// Node states in which a node takes work.
pub(super) fn is_usable(state: &str) -> Tri {
    let bare = state
        .trim_end_matches(['*', '~', '#', '!', '%', '$', '@', '^', '-', '+'])
        .to_ascii_lowercase();
    let first = bare.split('+').next().unwrap_or("");
    let bad = [
        "down",
        "drain",
        "drng",
        "fail",
        "maint",
        "unk",
        "not_responding",
        "boot",
        "inval",
    ];
    if state.ends_with('*') || bad.iter().any(|one| bare.contains(one)) {
        Tri::No
    } else if matches!(
        first,
        "idle"
            | "alloc"
            | "allocated"
            | "mix"
            | "mixed"
            | "comp"
            | "completing"
            | "resv"
            | "reserved"
            | "plnd"
            | "planned"
    ) {
        Tri::Yes
    } else {
        Tri::Unknown
    }
}

fn is_head(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let known = [
        "JOBID",
        "JobID",
        "PARTITION",
        "Partition",
        "NODELIST",
        "STATE",
        "State",
        "HOSTNAMES",
        "REASON",
        "JobIDRaw",
        "NODES",
    ];
    words.iter().any(|word| known.contains(word))
        && words
            .iter()
            .all(|word| word.starts_with(|c: char| c.is_ascii_uppercase() || c == '%'))
}

/// `48190`, `48190_3`, `48190.batch`, `48190_[1-4%2]`, `48190+1`
fn is_job(word: &str) -> bool {
    let digits = word.chars().take_while(char::is_ascii_digit).count();
    digits > 0
        && word.get(digits..).is_some_and(|rest| {
            rest.is_empty()
                || rest.starts_with(['_', '+'])
                || rest
                    .strip_prefix('.')
                    .is_some_and(|step| step.starts_with(|c: char| c.is_ascii_alphanumeric()))
        })
}

/// How well a line fits as a row of jobs.
fn job_row_fit(line: &str) -> Fit {
    let words: Vec<&str> = line
        .split([' ', '|'])
        .filter(|word| !word.is_empty())
        .collect();
    let ruler = !words.is_empty() && words.iter().all(|word| word.chars().all(|c| c == '-'));
    let state = words.iter().any(|word| is_job_state(word));
    match (words.first().is_some_and(|first| is_job(first)), state) {
        _ if ruler => Fit::Likely,
        (true, true) => Fit::Surely,
        (true, false) => Fit::Perhaps,
        (false, _) => Fit::Hardly,
    }
}

/// A state of a job, short or long.
fn is_job_state(word: &str) -> bool {
    let word = word.trim_end_matches('+');
    const STATES: &[&str] = &[
        "PD",
        "R",
        "CG",
        "CD",
        "CA",
        "F",
        "TO",
        "NF",
        "PR",
        "S",
        "ST",
        "OOM",
        "CF",
        "BF",
        "RQ",
        "RH",
        "PENDING",
        "RUNNING",
        "SUSPENDED",
        "COMPLETING",
        "COMPLETED",
        "CANCELLED",
        "FAILED",
        "TIMEOUT",
        "NODE_FAIL",
        "PREEMPTED",
        "BOOT_FAIL",
        "DEADLINE",
        "OUT_OF_MEMORY",
        "OUT_OF_ME",
        "CONFIGURING",
        "REQUEUED",
        "RESIZING",
        "STOPPED",
        "STAGE_OUT",
    ];
    STATES.contains(&word)
}

/// How well a line fits as a row of partitions or nodes.
fn node_row_fit(line: &str) -> Fit {
    const STATES: &[&str] = &[
        "idle",
        "alloc",
        "allocated",
        "mix",
        "mixed",
        "down",
        "drain",
        "drained",
        "draining",
        "drng",
        "comp",
        "completing",
        "fail",
        "failing",
        "maint",
        "resv",
        "reserved",
        "unk",
        "unknown",
        "plnd",
        "planned",
        "boot",
        "power",
        "n/a",
        "inval",
    ];
    let state = line.split_whitespace().any(|word| {
        STATES.contains(&word.trim_end_matches(['*', '~', '#', '!', '%', '$', '@', '^', '-']))
    });
    if super::machine::ctime(line.trim()).is_some() {
        return Fit::Likely; // above `sinfo -l`
    }
    if state && line.split_whitespace().count() >= 2 {
        Fit::Likely
    } else if line.trim().is_empty() {
        Fit::Perhaps
    } else {
        Fit::Hardly
    }
}

/// How well a line fits as a row of `sinfo -R`, or of a format of one's own.
fn reason_fit(line: &str) -> Fit {
    let dated = line.split_whitespace().any(|word| {
        word.as_bytes().get(10) == Some(&b'T') && word.starts_with(|c: char| c.is_ascii_digit())
    });
    if dated && super::line::read_head(line).is_timed() {
        Fit::Hardly
    } else if dated {
        Fit::Likely
    } else {
        node_row_fit(line).max(Fit::Perhaps)
    }
}

/// How well a line fits into a record of `scontrol show`.
fn record_fit(line: &str) -> Fit {
    let pairs = line
        .split_whitespace()
        .next()
        .and_then(|word| word.split_once('='))
        .is_some_and(|(name, _)| {
            name.starts_with(|c: char| c.is_ascii_uppercase())
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "/_:".contains(c))
        });
    let first = ["JobId=", "NodeName=", "PartitionName="];
    if first.iter().any(|start| line.starts_with(start)) || pairs && line.starts_with("   ") {
        Fit::Surely
    } else if pairs {
        Fit::Likely
    } else if line.trim().is_empty() {
        Fit::Perhaps
    } else {
        Fit::Hardly
    }
}

impl Probe for Slurm {
    fn recognises(&self, invocation: &Invocation) -> bool {
        match invocation.program() {
            "squeue" | "sinfo" | "sacct" => true,
            "scontrol" => Args::of(invocation, valued(invocation))
                .first()
                .is_some_and(|verb| verb.starts_with("sh")),
            _ => false,
        }
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let program = ctx.invocation.program();
        let reasons = ctx.invocation.args().iter().any(|word| {
            word.text == "--list-reasons"
                || word.text.starts_with('-') && word.text.contains(['R', 'o', 'O'])
        });
        let args = Args::of(ctx.invocation, valued(ctx.invocation));
        let headed = program != "scontrol"
            && !args.has(&["h", "noheader", "n", "i", "iterate", "l", "long"]);
        let grammar = Grammar::any(move |line: &str, _: usize| {
            if is_head(line) {
                return Fit::Surely;
            }
            match program {
                "squeue" | "sacct" => job_row_fit(line),
                "scontrol" => record_fit(line),
                _ if reasons => reason_fit(line),
                _ => node_row_fit(line),
            }
        });
        if headed {
            grammar.opened_by(ctx.filter, is_head)
        } else {
            grammar
        }
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        if ctx.filter.columns.is_some() || ctx.filter.opaque {
            texts::as_plain(lines, ctx, sink);
            return;
        }
        match ctx.invocation.program() {
            "scontrol" => shown(lines, sink),
            "sinfo" => nodes(lines, ctx.invocation, sink),
            program => jobs(lines, program, ctx.invocation, sink),
        }
    }

    fn complains(&self, line: &str, _ctx: &Ctx<'_>) -> Fit {
        (line.starts_with("slurm_load_") || line.starts_with("Invalid job id")).into()
    }
}

/// The names of the columns that a format or its absence gives, where no head stands.
fn default_head(program: &str, invocation: &Invocation) -> String {
    let args = Args::of(invocation, valued(invocation));
    let format = args.value(&["o", "format", "O", "Format"]);
    let names: Vec<&str> = match (program, format) {
        ("squeue", None) => {
            return "JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)".to_owned();
        }
        ("sinfo", None) if args.has(&["R", "list-reasons"]) => {
            return "REASON USER TIMESTAMP NODELIST".to_owned();
        }
        ("sinfo", None) if args.has(&["N", "Node"]) => {
            return "NODELIST NODES PARTITION STATE".to_owned();
        }
        ("sinfo", None) => return "PARTITION AVAIL TIMELIMIT NODES STATE NODELIST".to_owned(),
        ("sacct", Some(list)) => list
            .split(',')
            .map(|name| column_name(name.split('%').next().unwrap_or(name)))
            .collect(),
        (_, Some(format)) if format.contains('%') => format
            .split('%')
            .skip(1)
            .filter_map(|part| {
                part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
                    .chars()
                    .next()
            })
            .map(|letter| letter_name(program, letter))
            .collect(),
        _ => return String::new(),
    };
    names.join("  ")
}

/// A column of sacct as its head writes it; people type it in any case.
fn column_name(typed: &str) -> &str {
    let known = [
        "JobID",
        "JobIDRaw",
        "JobName",
        "State",
        "ExitCode",
        "Elapsed",
        "MaxRSS",
        "NodeList",
        "Partition",
        "User",
        "Reason",
        "Timelimit",
    ];
    known
        .into_iter()
        .find(|name| name.eq_ignore_ascii_case(typed))
        .unwrap_or(typed)
}

/// What a letter of `-o` prints.
fn letter_name(program: &str, letter: char) -> &'static str {
    match (program, letter) {
        ("squeue", 'i' | 'A') => "JOBID",
        ("squeue", 'j') => "NAME",
        ("squeue", 'u') => "USER",
        ("squeue", 't' | 'T') => "STATE",
        ("squeue", 'M') => "TIME",
        ("squeue", 'l') => "TIME_LIMIT",
        ("squeue", 'R' | 'N') => "NODELIST(REASON)",
        ("squeue", 'r') => "REASON",
        ("sinfo", 'n') => "HOSTNAMES",
        ("sinfo", 'N') => "NODELIST",
        ("sinfo", 't' | 'T') => "STATE",
        ("sinfo", 'E') => "REASON",
        (_, 'P') => "PARTITION",
        _ => "OTHER",
    }
}

fn jobs(lines: &[Shown], program: &str, invocation: &Invocation, sink: &mut Sink<'_>) {
    let parted =
        Args::of(invocation, valued(invocation)).has(&["P", "p2", "parsable2", "parsable"])
            && program == "sacct";
    let table = |head: &str| {
        if parted {
            Table::wide(head)
        } else {
            Table::narrow(head)
        }
    };
    let mut head = table(&default_head(program, invocation));
    for line in lines {
        let text = if parted {
            line.text
                .trim_end_matches('|')
                .replace("||", "|-|")
                .replace('|', "  ")
        } else {
            line.text.clone()
        };
        if is_head(&text) {
            head = table(&text);
            continue;
        }
        if text.trim().is_empty() || text.trim_start().starts_with("---") || head.is_empty() {
            continue;
        }
        if let Some(job) = job(&head.row(&text)) {
            sink.line(line, job);
        }
    }
}

/// `0:9`: the exit code and the signal.
fn code_and_signal(text: &str) -> (Option<i64>, Option<i64>) {
    match text.split_once(':') {
        Some((code, signal)) => (int(code), int(signal).filter(|signal| *signal > 0)),
        None => (int(text), None),
    }
}

/// A state in full; sacct cuts them to their column (`OUT_OF_ME+`).
fn full_state(text: &str) -> &str {
    let known = [
        "OUT_OF_MEMORY",
        "CANCELLED",
        "COMPLETED",
        "COMPLETING",
        "CONFIGURING",
        "NODE_FAIL",
        "PREEMPTED",
        "REQUEUED",
        "SUSPENDED",
        "BOOT_FAIL",
        "REQUEUE_HOLD",
        "SPECIAL_EXIT",
    ];
    match text.strip_suffix('+') {
        Some(start) => known
            .into_iter()
            .find(|name| name.starts_with(start))
            .unwrap_or(start),
        None => state_name(text),
    }
}

fn duration(text: &str) -> Option<f64> {
    clock_seconds(text.split('.').next().unwrap_or(text))
}

fn job(row: &Cells) -> Option<Job> {
    let id = row.get(&["JOBID", "JobID", "JobIDRaw", "JobId"])?;
    if !id.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let state = row.get(&["STATE", "ST", "State"])?;
    let state = full_state(state.split_whitespace().next().unwrap_or(state));
    let place = row.get(&["NODELIST(REASON)", "NODELIST", "NodeList"]);
    let in_brackets = |text: &str| {
        text.strip_prefix('(')
            .map(|rest| rest.trim_end_matches(')').to_owned())
    };
    let (exit_code, signal) = row
        .get(&["ExitCode", "EXIT_CODE"])
        .map_or((None, None), code_and_signal);
    Some(Job {
        id: id.to_owned(),
        name: row.text(&["NAME", "JobName"]),
        user: row.text(&["USER", "User"]),
        partition: row.text(&["PARTITION", "Partition"]),
        state: state.to_owned(),
        reason: place
            .and_then(in_brackets)
            .or_else(|| row.text(&["REASON", "Reason"]))
            .filter(|reason| !matches!(reason.as_str(), "" | "None")),
        exit_code,
        signal,
        elapsed_s: row.get(&["TIME", "Elapsed", "ELAPSED"]).and_then(duration),
        limit_s: row
            .get(&["TIME_LIMIT", "TIME_LIMI", "Timelimit"])
            .and_then(duration),
        nodes: place
            .filter(|place| !place.starts_with('(') && *place != "None")
            .map(str::to_owned),
        stdout: None,
        max_rss_mib: row
            .get(&["MaxRSS"])
            .and_then(|size| size_bytes(size, 1.0))
            .map(|bytes| bytes / 1_048_576.0),
    })
}

fn nodes(lines: &[Shown], invocation: &Invocation, sink: &mut Sink<'_>) {
    let reasons = Args::of(invocation, valued(invocation)).has(&["R", "list-reasons"]);
    let mut head = Table::narrow(&default_head("sinfo", invocation));
    for line in lines {
        if is_head(&line.text) {
            head = Table::narrow(&line.text);
            continue;
        }
        if head.is_empty() || line.text.trim().is_empty() {
            continue;
        }
        if reasons && !head.has("STATE") {
            if let Some(node) = with_reason(&line.text) {
                sink.line(line, node);
            }
            continue;
        }
        let row = head.row(&line.text);
        let Some(name) = row.get(&["NODELIST", "HOSTNAMES"]) else {
            continue;
        };
        let state = row.get(&["STATE"]).unwrap_or("");
        if state.is_empty() || name == "n/a" {
            continue;
        }
        sink.line(
            line,
            Node {
                name: name.to_owned(),
                cluster: "slurm".to_owned(),
                state: state.to_owned(),
                usable: is_usable(state),
                reason: row.text(&["REASON"]).filter(|reason| reason != "none"),
                pressure: Vec::new(),
            },
        );
    }
}

/// `Kill task failed  root  2025-03-04T07:11:40  gpu[05-06]`: only nodes that are down or drained are
/// listed with their reasons.
fn with_reason(text: &str) -> Option<Node> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [reason @ .., _user, time, name] = words.as_slice() else {
        return None;
    };
    (time.contains('T') && !reason.is_empty()).then(|| Node {
        name: (*name).to_owned(),
        cluster: "slurm".to_owned(),
        usable: Tri::No,
        reason: Some(reason.join(" ")),
        ..Node::default()
    })
}

/// `scontrol show job`, `scontrol show node`: `Name=value` pairs, one record after another.
fn shown(lines: &[Shown], sink: &mut Sink<'_>) {
    let mut from = 0;
    let mut pairs: Vec<(String, String)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let text = line.text.trim();
        let begins = text.starts_with("JobId=") || text.starts_with("NodeName=");
        if begins {
            emit_record(&pairs, lines.get(from..at).unwrap_or(&[]), sink);
            pairs.clear();
            from = at;
        }
        if let Some((name, value)) = text
            .split_once('=')
            .filter(|(name, _)| matches!(*name, "Reason" | "Command" | "StdOut" | "StdErr" | "OS"))
        {
            // These run to the end of the line.
            pairs.push((name.to_owned(), value.to_owned()));
            continue;
        }
        for word in text.split_whitespace() {
            if let Some((name, value)) = word.split_once('=') {
                pairs.push((name.to_owned(), value.to_owned()));
            }
        }
    }
    emit_record(&pairs, lines.get(from..).unwrap_or(&[]), sink);
}

fn emit_record(pairs: &[(String, String)], lines: &[Shown], sink: &mut Sink<'_>) {
    let of = |name: &str| {
        pairs
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty() && *value != "(null)" && *value != "None")
    };
    let text = |name: &str| of(name).map(str::to_owned);
    if let (Some(id), Some(state)) = (of("JobId"), of("JobState")) {
        let (exit_code, signal) = of("ExitCode").map_or((None, None), code_and_signal);
        sink.lines(
            lines,
            Job {
                id: id.to_owned(),
                name: text("JobName"),
                user: of("UserId").map(|user| user.split('(').next().unwrap_or(user).to_owned()),
                partition: text("Partition"),
                state: state.to_owned(),
                reason: text("Reason"),
                exit_code,
                signal,
                elapsed_s: of("RunTime").and_then(duration),
                limit_s: of("TimeLimit").and_then(duration),
                nodes: text("NodeList"),
                stdout: text("StdOut"),
                max_rss_mib: None,
            },
        );
    } else if let (Some(name), Some(state)) = (of("NodeName"), of("State")) {
        sink.lines(
            lines,
            Node {
                name: name.to_owned(),
                cluster: "slurm".to_owned(),
                state: state.to_owned(),
                usable: is_usable(state),
                reason: text("Reason"),
                pressure: Vec::new(),
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_or_a_word_makes_a_node_unusable() {
        for state in [
            "down",
            "down*",
            "drain",
            "drng",
            "DRAINED",
            "IDLE+DRAIN",
            "idle*",
            "fail",
        ] {
            let expected = Tri::No;
            assert_eq!(is_usable(state), expected, "{state}");
        }
        for state in ["idle", "mix", "alloc", "MIXED", "idle~"] {
            assert_eq!(is_usable(state), Tri::Yes, "{state}");
        }
    }
}
