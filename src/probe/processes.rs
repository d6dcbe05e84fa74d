//! Looks at processes: pgrep, pidof, killall, kill, pstree; and which of the processes shown
//! are the looker's own.
//!
//! Sources: procps-ng 3.3 to 4.0, psmisc 23; `tests/fixtures/probes/pgrep`.

use regex::Regex;

use super::filter::{Counted, Pattern};
use super::words::{Args, count, int, leading_int};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, ps};
use crate::fact::{Process, ProcessLook};
use crate::shell::{Invocation, ShellText, Tri};

/// The shells whose text holds this look, innermost first, those of its own place only.
fn own_shells<'a>(ctx: &Ctx<'a>) -> Vec<&'a ShellText> {
    let tree = ctx.look.tree;
    let mut found = Vec::new();
    let mut at = ctx.invocation.shell;
    for _ in 0..16 {
        let Some(shell) = tree.shells.get(at) else {
            break;
        };
        let here = tree
            .invocations
            .iter()
            .any(|one| one.shell == at && one.place == ctx.invocation.place);
        if here {
            found.push(shell);
        }
        let Some(hop) = shell.started_by.and_then(|hop| tree.invocations.get(hop)) else {
            break;
        };
        if hop.shell == at {
            break;
        }
        at = hop.shell;
    }
    found
}

/// A text without its blanks, so that line breaks and quoting do not matter.
fn squeezed(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '\'' | '"' | '\\'))
        .take(4_000)
        .collect()
}

/// Whether a process of this command line is the looker's own: the shell that carries the command,
/// the ssh that sent it, the `grep` behind `ps`, or the look itself.
pub(super) fn is_own(ctx: &Ctx<'_>, args: &str) -> bool {
    let shown = squeezed(args);
    if shown.is_empty() {
        return false;
    }
    let carriers = [
        "bash", "sh", "dash", "zsh", "ash", "ksh", "su", "sudo", "ssh", "timeout", "rec", "env",
        "watch", "busybox", "runuser", "docker", "kubectl",
    ];
    let first = args.split_whitespace().next().unwrap_or("");
    let program = first
        .rsplit('/')
        .next()
        .unwrap_or("")
        .trim_start_matches('-')
        .trim_end_matches(':');
    if carriers.contains(&program)
        && own_shells(ctx).iter().any(|shell| {
            let text: String = squeezed(&shell.text).chars().take(60).collect();
            text.len() >= 6 && shown.contains(&text)
                || shell
                    .argv
                    .as_ref()
                    .is_some_and(|argv| squeezed(argv) == shown)
        })
    {
        return true;
    }
    let same = |one: &Invocation| {
        one.program() == program
            && !one.words.is_empty()
            && one
                .args()
                .iter()
                .all(|word| shown.contains(&squeezed(&word.text)))
            && shown.len() <= squeezed(&one.line()).len() + 40
    };
    same(ctx.invocation) || ctx.later.iter().any(|stage| same(stage))
}

/// How many of the looker's own processes a count of this look holds.
pub(super) fn own_in_count<'p>(ctx: &Ctx<'_>, patterns: impl Iterator<Item = &'p Pattern>) -> i64 {
    let invocation = ctx.invocation;
    match invocation.program() {
        "pgrep" => count(usize::from(matches_itself(ctx) == Tri::Yes)),
        "ps" if ps::shows_command_lines(invocation) => {
            let patterns: Vec<&Pattern> = patterns.collect();
            if patterns.is_empty() {
                return 0;
            }
            let mut lines: Vec<String> = own_shells(ctx)
                .iter()
                .filter(|shell| shell.execs_last != Tri::Yes)
                .filter_map(|shell| shell.argv.clone())
                .collect();
            lines.push(invocation.line());
            lines.extend(ctx.later.iter().map(|stage| stage.line()));
            count(
                lines
                    .iter()
                    .filter(|line| {
                        patterns
                            .iter()
                            .all(|pattern| pattern.passes(line) == Some(true))
                    })
                    .count(),
            )
        }
        _ => 0,
    }
}

/// Whether the pattern of this look matches the shell that carries it.
fn matches_itself(ctx: &Ctx<'_>) -> Tri {
    ctx.look
        .tree
        .looks
        .iter()
        .find(|look| look.invocation == ctx.invocation.index)
        .map_or(Tri::No, |look| look.matches)
}

/// A count of processes is a look at them as well.
pub(super) fn counted_look(
    line: &Shown,
    number: i64,
    self_matches: i64,
    counted: &Counted,
    ctx: &Ctx<'_>,
    sink: &mut Sink<'_>,
) {
    if !matches!(counted.unit, "lines" | "matches") {
        return;
    }
    let (tool, pattern, full) = match ctx.invocation.program() {
        "ps" => {
            let pattern = counted
                .pattern
                .as_ref()
                .filter(|pattern| !pattern.invert)
                .or(ctx.filter.wanted());
            let Some(pattern) = pattern else { return };
            let full = ps::shows_command_lines(ctx.invocation);
            ("ps", pattern.expression.clone(), full)
        }
        "pgrep" if counted.unit == "lines" => {
            let ask = Ask::of(ctx.invocation);
            ("pgrep", ask.pattern.unwrap_or_default(), ask.full)
        }
        _ => return,
    };
    sink.line(
        line,
        ProcessLook {
            tool: tool.to_owned(),
            pattern: Some(pattern),
            full,
            count: (number - self_matches).max(0),
            self_matches,
            ..ProcessLook::default()
        },
    );
}

/// What a pgrep asks for.
struct Ask {
    pattern: Option<String>,
    full: bool,
    lists_args: bool,
    lists_name: bool,
    counts: bool,
    one_only: bool,
    delimiter: Option<String>,
}

impl Ask {
    fn of(invocation: &Invocation) -> Self {
        let args = Args::of(
            invocation,
            "d delimiter g pgroup G group O older P parent s session t terminal u euid U uid F pidfile ns nslist r runstates cgroup env signal",
        );
        let exact = args.has(&["x", "exact"]) || invocation.program() == "pidof";
        let ignore_case = args.has(&["i", "ignore-case"]);
        let pattern = args.first().map(|written| {
            let mut pattern = if exact {
                format!("^(?:{written})$")
            } else {
                written.to_owned()
            };
            if ignore_case {
                pattern = format!("(?i){pattern}");
            }
            pattern
        });
        Self {
            pattern,
            full: args.has(&["f", "full"]),
            lists_args: args.has(&["a", "list-full"]),
            lists_name: args.has(&["l", "list-name"]),
            counts: args.has(&["c", "count"]),
            one_only: args.has(&["o", "n", "oldest", "newest"]),
            delimiter: args.value(&["d", "delimiter"]).map(str::to_owned),
        }
    }
}

/// `pgrep` in all its forms, and `pidof`.
pub(super) struct Pgrep;

/// Whether the program of a command line has such a name, its folder taken off.
fn is_named(regex: &Regex, line: &str) -> bool {
    let program = line.split(' ').next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or(program);
    let name = name.trim_end_matches(':');
    regex.is_match(name)
}

impl Probe for Pgrep {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(invocation.program(), "pgrep" | "pidof")
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        if ctx.invocation.program() == "pidof" {
            let mut grammar = Grammar::any(|line, _| {
                let all = !line.is_empty() && line.split(' ').all(|one| int(one).is_some());
                if all { Fit::Likely } else { Fit::No }
            });
            grammar.max = Some(1);
            return grammar;
        }
        let ask = Ask::of(ctx.invocation);
        let regex = ask
            .pattern
            .as_deref()
            .and_then(|pattern| Regex::new(pattern).ok());
        if ask.counts {
            return Grammar::exactly(1, |line, _| {
                if int(line).is_some_and(|number| number >= 0) {
                    Fit::Surely
                } else {
                    Fit::No
                }
            });
        }
        let mut grammar = Grammar::any(move |line: &str, _: usize| {
            let Some((pid, rest)) = leading_int(line) else {
                return Fit::No;
            };
            if pid < 1 || line.starts_with(' ') {
                return Fit::No;
            }
            if ask.lists_args || ask.lists_name {
                if !rest.starts_with(' ') {
                    return if rest.is_empty() {
                        Fit::Perhaps
                    } else {
                        Fit::No
                    };
                }
                let shown = rest.trim_start();
                match &regex {
                    Some(regex) if regex.is_match(shown) => Fit::Surely,
                    // The name was asked for, and the arguments are shown: `python train.py`.
                    Some(regex) if !ask.full && is_named(regex, shown) => Fit::Surely,
                    Some(_) if ask.full => Fit::Hardly,
                    _ => Fit::Perhaps,
                }
            } else if let Some(delimiter) = &ask.delimiter {
                let all = line.split(delimiter.as_str()).all(|one| int(one).is_some());
                if all { Fit::Likely } else { Fit::No }
            } else if rest.is_empty() {
                Fit::Likely
            } else {
                Fit::No
            }
        });
        if Ask::of(ctx.invocation).one_only {
            grammar.max = Some(1);
        }
        grammar
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let ask = Ask::of(ctx.invocation);
        let mut rows = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let Some((pid, rest)) = leading_int(&line.text) else {
                continue; // a message
            };
            if ask.counts {
                let own = count(usize::from(matches_itself(ctx) == Tri::Yes)).min(pid);
                let look = look(&ask, pid - own, own, Vec::new());
                sink.line(line, look);
                return;
            }
            if rest.is_empty() || rest.starts_with(' ') && (ask.lists_args || ask.lists_name) {
                rows.push((at, pid, rest.trim_start()));
            } else {
                let pids = line.text.split([' ', ',', ':', '\t']).filter_map(int);
                rows.extend(pids.map(|pid| (at, pid, "")));
            }
        }
        // A loop shows the same processes again: each round is a look.
        let mut rounds: Vec<Vec<(usize, i64, &str)>> = vec![Vec::new()];
        for row in rows {
            if rounds
                .last()
                .is_some_and(|round| round.iter().any(|seen| seen.1 == row.1))
            {
                rounds.push(Vec::new());
            }
            if let Some(round) = rounds.last_mut() {
                round.push(row);
            }
        }
        for round in rounds {
            one_look(lines, &ask, &round, ctx, sink);
        }
    }

    fn complains(&self, line: &str, _ctx: &Ctx<'_>) -> Fit {
        line.starts_with("Try `pgrep").into()
    }

    fn reads_silence(&self) -> bool {
        true
    }

    fn is_chatter(&self, line: &str) -> bool {
        leading_int(line).is_some() // a process, the looker's own ones among them
    }
}

fn look(ask: &Ask, found: i64, self_matches: i64, pids: Vec<i64>) -> ProcessLook {
    ProcessLook {
        tool: "pgrep".to_owned(),
        pattern: ask.pattern.clone(),
        full: ask.full,
        count: found,
        self_matches,
        pids,
        cut: ask.one_only,
        ..ProcessLook::default()
    }
}

fn one_look(
    lines: &[Shown],
    ask: &Ask,
    round: &[(usize, i64, &str)],
    ctx: &Ctx<'_>,
    sink: &mut Sink<'_>,
) {
    let tool = ctx.invocation.program();
    if round.is_empty() {
        let none = ctx.exit == Some(1)
            || ctx.failed == Tri::Yes && ctx.exit.is_none()
            || ctx.exit.is_none() && ctx.ran == Tri::Yes && ctx.failed != Tri::No;
        if none {
            let mut look = look(ask, 0, 0, Vec::new());
            tool.clone_into(&mut look.tool);
            look.cut = false;
            sink.lines(&[], look);
        } else if ctx.failed == Tri::No && ctx.ran == Tri::Unknown && matches_itself(ctx) == Tri::No
        {
            // `pgrep X > /dev/null && …`: there is at least one.
            let mut look = look(ask, 1, 0, Vec::new());
            look.cut = true;
            tool.clone_into(&mut look.tool);
            sink.lines(&[], look);
        }
        return;
    }
    let itself = matches_itself(ctx);
    let by_text = ask.lists_args;
    let newest = round.iter().map(|row| row.1).max();
    let own = |pid: i64, args: &str| {
        if by_text {
            is_own(ctx, args)
        } else {
            itself == Tri::Yes && !ctx.invocation.substituted && Some(pid) == newest
        }
    };
    let real: Vec<&(usize, i64, &str)> = round.iter().filter(|row| !own(row.1, row.2)).collect();
    let mut look = look(
        ask,
        count(real.len()),
        count(round.len() - real.len()),
        real.iter().map(|row| row.1).collect(),
    );
    tool.clone_into(&mut look.tool);
    look.cut |= ctx.filter.cut(round.len());
    let from = round.first().map_or(0, |row| row.0);
    let to = round.last().map_or(0, |row| row.0);
    sink.lines(lines.get(from..=to).unwrap_or(&[]), look);
    for (at, pid, rest) in real {
        let Some(line) = lines.get(*at) else { continue };
        let mut process = Process {
            pid: *pid,
            ..Process::default()
        };
        if !rest.is_empty() {
            if ask.lists_args || ask.full {
                process.args = Some((*rest).to_owned());
            } else {
                process.comm = Some((*rest).to_owned());
            }
        }
        sink.line(line, process);
    }
}

/// `kill`, `killall`, `pkill`: what they say, and what their silence says.
pub(super) struct Killer;

impl Probe for Killer {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(invocation.program(), "kill" | "killall" | "pkill" | "skill")
    }

    fn grammar<'a>(&self, _ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|line, _| {
            if line.contains(" killed (pid ") || line.starts_with("Killed ") {
                Fit::Surely
            } else {
                Fit::No
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let program = ctx.invocation.program();
        for line in lines {
            let text = line.text.as_str();
            if let Some(name) = text.strip_suffix(": no process found") {
                sink.line(
                    line,
                    named_look(program, name.rsplit(": ").next().unwrap_or(name)),
                );
            } else if let Some(rest) = text.strip_prefix("Killed ")
                && let Some((comm, rest)) = rest.split_once('(')
                && let Some((pid, _)) = leading_int(rest)
            {
                sink.line(line, process(pid, comm));
            } else if let Some((comm, rest)) = text.split_once(" killed (pid ")
                && let Some((pid, _)) = leading_int(rest)
            {
                sink.line(line, process(pid, comm));
            } else if text.contains("No such process")
                && let Some(pid) = text
                    .split(|c: char| !c.is_ascii_digit())
                    .rfind(|one| !one.is_empty())
                && let Some(pid) = int(pid)
            {
                sink.line(line, pid_look(program, &[pid], &[]));
            }
        }
        if !lines.is_empty() {
            return;
        }
        let args = Args::of(ctx.invocation, "s signal n u t g G P U");
        match program {
            "pkill" if ctx.exit == Some(1) || ctx.exit.is_none() && ctx.failed == Tri::Yes => {
                let mut ask = Ask::of(ctx.invocation);
                ask.one_only = false;
                let mut look = look(&ask, 0, 0, Vec::new());
                "pkill".clone_into(&mut look.tool);
                sink.lines(&[], look);
            }
            "kill" if args.has(&["0"]) => {
                let pids: Vec<i64> = args.texts().filter_map(int).collect();
                match ctx.failed {
                    Tri::Yes if pids.len() == 1 => sink.lines(&[], pid_look(program, &pids, &[])),
                    Tri::No => sink.lines(&[], pid_look(program, &pids, &pids)),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn complains(&self, line: &str, ctx: &Ctx<'_>) -> Fit {
        let own = ctx.invocation.args().iter().any(|word| {
            line.strip_prefix(word.text.as_str())
                .is_some_and(|rest| rest.starts_with(": no process found"))
        });
        (own || line.starts_with("Killed ") && line.contains(" with signal ")).into()
    }

    fn reads_silence(&self) -> bool {
        true
    }
}

fn named_look(tool: &str, name: &str) -> ProcessLook {
    ProcessLook {
        tool: tool.to_owned(),
        pattern: Some(format!("^{}$", regex::escape(name))),
        ..ProcessLook::default()
    }
}

fn pid_look(tool: &str, asked: &[i64], found: &[i64]) -> ProcessLook {
    ProcessLook {
        tool: tool.to_owned(),
        asked_pids: asked.to_vec(),
        count: count(found.len()),
        pids: found.to_vec(),
        ..ProcessLook::default()
    }
}

fn process(pid: i64, comm: &str) -> Process {
    Process {
        pid,
        comm: Some(comm.to_owned()),
        ..Process::default()
    }
}

/// `pstree -p`: names with ids.
pub(super) struct Pstree;

impl Probe for Pstree {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "pstree"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let grammar = Grammar::any(|line, _| {
            if line.contains("─")
                || line.contains("-+-")
                || line.contains("`-")
                || line.contains("|-")
            {
                Fit::Surely
            } else if line
                .rsplit_once('(')
                .and_then(|(_, rest)| rest.split_once(')'))
                .is_some_and(|(pid, _)| int(pid.split(',').next().unwrap_or("")).is_some())
            {
                Fit::Likely
            } else if line.split_whitespace().count() == 1 {
                Fit::Perhaps
            } else {
                Fit::Hardly
            }
        });
        // One process was asked for: its tree has one root.
        if Args::of(ctx.invocation, "N n").operands.len() == 1 {
            grammar.opened_by(ctx.filter, |line| !line.starts_with(' '))
        } else {
            grammar
        }
    }

    fn read(&self, lines: &[Shown], _ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        for line in lines {
            for piece in line.text.split(')') {
                let Some((before, pid)) = piece.rsplit_once('(') else {
                    continue;
                };
                let name = before
                    .rsplit(['─', '-', '`', '|', '│', '├', '└', ' ', '+', '┬'])
                    .next()
                    .unwrap_or("");
                let name = name.trim_start_matches('{').trim_end_matches('}');
                if let Some(pid) = int(pid)
                    && !name.is_empty()
                    && !before.ends_with('}')
                {
                    sink.line(line, process(pid, name));
                }
            }
        }
    }
}

/// Processes that a loop over `pgrep` described, one a line. The shell that runs the loop is among
/// them when the pattern matches it: it is the newest one, and waits in a pipe.
pub(super) fn loop_look(found: Vec<(Shown, Process)>, ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let (pgrep, matches) = super::echo::loop_matches_itself(ctx);
    let lines: Vec<Shown> = found.iter().map(|(line, _)| line.clone()).collect();
    let newest = found.iter().map(|(_, process)| process.pid).max();
    let waits_in_pipe = |process: &Process| {
        process
            .wchan
            .as_deref()
            .is_none_or(|wchan| wchan.contains("pipe") || wchan.contains("wait"))
    };
    let own = |process: &Process| {
        let last = Some(process.pid) == newest;
        match matches {
            Tri::Yes => last && waits_in_pipe(process),
            Tri::No => false,
            Tri::Unknown => {
                last && pgrep.is_some_and(|pgrep| Ask::of(pgrep).full)
                    && process.wchan.as_deref().is_some_and(|wchan| {
                        wchan.contains("pipe_read") || wchan.contains("pipe_wait")
                    })
                    && !own_shells(ctx).is_empty()
            }
        }
    };
    let (mine, real): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, process)| own(process));
    if let Some(pgrep) = pgrep {
        let ask = Ask::of(pgrep);
        let mut look = look(
            &ask,
            count(real.len()),
            count(mine.len()),
            real.iter().map(|(_, process)| process.pid).collect(),
        );
        look.cut |= ctx.filter.cut(lines.len());
        sink.lines(&lines, look);
    }
    for (line, process) in real {
        sink.line(&line, process);
    }
}
