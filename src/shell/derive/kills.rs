//! Processes asked to end, and looks at command lines by pattern.

use super::own::{Effort, carriers, finds};
use super::{both, either};
use crate::shell::build::Builder;
use crate::shell::carry::field_of;
use crate::shell::hops::Options;
use crate::shell::pattern::{Dialect, How, Pattern};
use crate::shell::{Invocation, Kill, SelfMatch, Tri, Word};

/// Kills and looks of a tree.
pub(super) fn kills(b: &Builder) -> (Vec<Kill>, Vec<SelfMatch>) {
    let mut effort = Effort::default();
    let mut kills = Vec::new();
    let mut looks = Vec::new();
    for invocation in b.tree.invocations.iter().filter(|one| one.hop.is_none()) {
        match invocation.program() {
            "pgrep" => {
                if let Some(found) = pgrep_look(b, invocation, &mut effort) {
                    looks.push(found);
                }
            }
            "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" => {
                if let Some(found) = grep_look(b, invocation, &mut effort) {
                    looks.push(found);
                }
            }
            "pkill" => kills.extend(pkill(b, invocation, &mut effort)),
            "kill" => kills.extend(kill(b, invocation, &mut effort)),
            "killall" | "skill" => killall(b, invocation, &mut effort, &mut kills),
            "fuser" => kills.extend(fuser(invocation)),
            _ => {}
        }
    }
    (kills, looks)
}

/// The words of `pgrep` and `pkill`.
#[derive(Debug)]
struct Procs<'a> {
    pattern: Option<&'a Word>,
    full: bool,
    exact: bool,
    ignore_case: bool,
    /// Command lines are printed.
    lists: bool,
    oldest: bool,
    inverse: bool,
    users: Option<String>,
    /// Chosen by parent, group, terminal, …, which the own shell may not fit.
    narrowed: bool,
    /// procps 4 can leave its ancestors out.
    no_ancestors: bool,
    signal: i32,
}

fn procs(invocation: &Invocation) -> Procs<'_> {
    let mut signal = 15;
    let mut kept: Vec<usize> = vec![0];
    for (at, word) in invocation.words.iter().enumerate().skip(1) {
        match word.text.strip_prefix('-').and_then(signal_number) {
            Some(number) if invocation.program() == "pkill" => signal = number,
            _ => kept.push(at),
        }
    }
    let words: Vec<&Word> = kept
        .iter()
        .filter_map(|at| invocation.words.get(*at))
        .collect();
    let fields: Vec<_> = words.iter().map(|word| field_of(word)).collect();
    let long = [
        "--signal",
        "--pgroup",
        "--group",
        "--parent",
        "--session",
        "--terminal",
        "--euid",
        "--uid",
        "--pidfile",
        "--runstates",
        "--older",
        "--ns",
        "--nslist",
        "--delimiter",
        "--queue",
        "--env",
        "--cgroup",
    ];
    // Options of procps may stand behind the pattern, so the rest is scanned again.
    let mut options = Options::scan(&fields, 1, "dGgPstuUFrOq", &long);
    let pattern = words.get(options.rest).copied();
    if pattern.is_some() {
        let more = Options::scan(&fields, options.rest + 1, "dGgPstuUFrOq", &long);
        options.given.extend(more.given);
    }
    if let Some(number) = options.value(&["--signal"]).and_then(signal_number) {
        signal = number;
    }
    Procs {
        pattern,
        full: options.has(&["-f", "--full"]),
        exact: options.has(&["-x", "--exact"]),
        ignore_case: options.has(&["-i", "--ignore-case"]),
        lists: options.has(&["-a", "--list-full"]),
        oldest: options.has(&["-o", "--oldest"]),
        inverse: options.has(&["-v", "--inverse"]),
        users: options
            .value(&["-u", "-U", "--euid", "--uid"])
            .map(str::to_owned),
        narrowed: options.has(&[
            "-P",
            "-g",
            "-G",
            "-s",
            "-t",
            "-F",
            "-r",
            "-O",
            "--parent",
            "--pgroup",
            "--group",
            "--session",
            "--terminal",
            "--pidfile",
            "--runstates",
            "--older",
            "--ns",
            "--cgroup",
        ]),
        no_ancestors: options.has(&["-A", "--ignore-ancestors"]),
        signal,
    }
}

/// Whether `pgrep` or `pkill` finds what carries it: anything, and a shell.
fn own_match(
    b: &Builder,
    invocation: &Invocation,
    procs: &Procs<'_>,
    effort: &mut Effort,
) -> (Tri, Tri) {
    let Some(pattern) = procs.pattern else {
        return (Tri::Unknown, Tri::Unknown);
    };
    if procs.no_ancestors {
        return (Tri::No, Tri::No);
    }
    if procs.inverse || !literal_enough(pattern) {
        return (Tri::Unknown, Tri::Unknown);
    }
    let carriers = carriers(b, invocation.index);
    if carriers.is_empty() {
        return (Tri::No, Tri::No);
    }
    if !effort.allows(&carriers) {
        return (Tri::Unknown, Tri::Unknown);
    }
    let how = How {
        dialect: Dialect::Extended,
        ignore_case: procs.ignore_case,
        whole: procs.exact,
        words: false,
    };
    let (mut any, mut shell) = finds(&Pattern::new(&pattern.text, how), procs.full, &carriers);
    let mut limit = Tri::Yes;
    if procs.narrowed || procs.oldest {
        limit = Tri::Unknown;
    }
    if let Some(users) = &procs.users {
        limit = match &invocation.place.user {
            Some(user) if users.split(',').any(|one| one == user) => limit,
            Some(_) => Tri::No,
            None => both(limit, Tri::Unknown),
        };
    }
    any = both(any, limit);
    shell = both(shell, limit);
    (any, shell)
}

fn pgrep_look(b: &Builder, invocation: &Invocation, effort: &mut Effort) -> Option<SelfMatch> {
    let procs = procs(invocation);
    let pattern = procs.pattern.filter(|_| procs.full)?;
    let (mut matches, _) = own_match(b, invocation, &procs, effort);
    if matches != Tri::No && procs.lists {
        // `pgrep -fa X | grep -v grep` takes its own line out again.
        let lines: Vec<String> = carriers(b, invocation.index)
            .iter()
            .map(|one| format!("0 {}", one.line))
            .collect();
        if !lines.is_empty() && lines.iter().all(|line| filtered_out(b, invocation, line)) {
            matches = Tri::No;
        }
    }
    Some(SelfMatch {
        invocation: invocation.index,
        pattern: pattern.text.clone(),
        matches,
    })
}

/// The stages of an invocation's pipeline.
fn stages<'a>(b: &'a Builder, invocation: &'a Invocation) -> impl Iterator<Item = &'a Invocation> {
    let pipeline = invocation.pipe.map(|pipe| pipe.pipeline);
    b.tree.invocations.iter().filter(move |other| {
        other.hop.is_none() && pipeline.is_some() && other.pipe.map(|at| at.pipeline) == pipeline
    })
}

/// The pattern of a `grep`, how it is applied, and whether it is `-v`.
fn grep_pattern(invocation: &Invocation) -> Option<(&Word, How, bool)> {
    let fields: Vec<_> = invocation.words.iter().map(field_of).collect();
    let long = [
        "--regexp",
        "--file",
        "--max-count",
        "--context",
        "--after-context",
        "--before-context",
        "--color",
        "--include",
        "--exclude",
    ];
    let options = Options::scan(&fields, 1, "efmABCdD", &long);
    let by_option = options.value(&["-e", "--regexp"]);
    let pattern = match by_option {
        Some(text) => invocation.words.iter().find(|word| {
            word.text == text
                || word
                    .text
                    .strip_prefix("-e")
                    .is_some_and(|rest| rest == text)
        })?,
        None => invocation.words.get(options.rest)?,
    };
    let program = invocation.program();
    let extended = program != "grep" || options.has(&["-E", "--extended-regexp", "-P"]);
    let dialect = if program == "fgrep" || options.has(&["-F", "--fixed-strings"]) {
        Dialect::Fixed
    } else if extended {
        Dialect::Extended
    } else {
        Dialect::Basic
    };
    let how = How {
        dialect,
        ignore_case: options.has(&["-i", "--ignore-case"]),
        whole: options.has(&["-x", "--line-regexp"]),
        words: options.has(&["-w", "--word-regexp"]),
    };
    Some((pattern, how, options.has(&["-v", "--invert-match"])))
}

/// A stage of the pipeline leaves a line out.
fn filtered_out(b: &Builder, invocation: &Invocation, line: &str) -> bool {
    stages(b, invocation).take(16).any(|stage| {
        if !matches!(stage.program(), "grep" | "egrep" | "fgrep" | "rg") {
            return false;
        }
        let Some((pattern, how, inverse)) = grep_pattern(stage) else {
            return false;
        };
        literal_enough(pattern) && Pattern::new(&pattern.text, how).matches(line) == inverse
    })
}

/// The text is what the program gets, globs that match nothing included.
fn literal_enough(word: &Word) -> bool {
    word.literal || !word.text.contains(['$', '`'])
}

/// `ps … | grep X`: the grep itself and the shell around it.
fn grep_look(b: &Builder, invocation: &Invocation, effort: &mut Effort) -> Option<SelfMatch> {
    let pipe = invocation.pipe?;
    let source = stages(b, invocation).find(|stage| stage.pipe.is_some_and(|at| at.stage == 0))?;
    if pipe.stage == 0 || source.program() != "ps" || !ps_shows(source) {
        return None;
    }
    let (pattern, how, inverse) = grep_pattern(invocation)?;
    if inverse || pattern.text == "grep" {
        return None;
    }
    let found = |matches| {
        Some(SelfMatch {
            invocation: invocation.index,
            pattern: pattern.text.clone(),
            matches,
        })
    };
    if !literal_enough(pattern) {
        return found(Tri::Unknown);
    }
    let carriers = carriers(b, invocation.index);
    if !effort.allows(&carriers) {
        return found(Tri::Unknown);
    }
    let compiled = Pattern::new(&pattern.text, how);
    let greps = stages(b, invocation).filter(|stage| stage.program().ends_with("grep"));
    let own = greps.map(|stage| (stage.line(), Tri::Yes));
    let around = carriers
        .iter()
        .map(|one| (one.line.replace('\n', " "), one.there));
    let mut matches = Tri::No;
    // `ps -u NAME` lists that user's processes only.
    let user = source.option_value(&["-u", "-U", "--user"]);
    let listed = match (user, &invocation.place.user) {
        (None, _) => Tri::Yes,
        (Some(user), Some(own)) => (user == own).into(),
        (Some(_), None) => Tri::Unknown,
    };
    for (line, there) in own.take(16).chain(around) {
        let line = format!("user 1 0.0 {line}");
        if compiled.matches(&line) && !filtered_out(b, invocation, &line) {
            matches = either(matches, there);
        }
    }
    found(both(matches, listed))
}

/// `ps` lists processes of others, with their command lines.
fn ps_shows(ps: &Invocation) -> bool {
    let format = ps.option_value(&["-o", "-O", "--format"]);
    let formats = ps.args().iter().any(|word| {
        let text = word.text.trim_start_matches('-');
        text.split([',', ' ', '='])
            .any(|column| matches!(column.split(':').next(), Some("args" | "cmd" | "command")))
    });
    let chosen =
        ps.has_option(&["-C", "-p", "--pid", "--ppid"]) || ps.option_value(&["-C"]).is_some();
    let bsd = ps.args().first().is_some_and(|word| {
        !word.text.starts_with('-') && word.text.contains(['a', 'x', 'u', 'f', 'e'])
    });
    let full = ps.args().iter().any(|word| {
        let text = word.text.as_str();
        text.starts_with('-')
            && !text.starts_with("--")
            && text.len() < 8
            && text.contains(['f', 'F', 'x'])
            && !text.starts_with("-C")
            || text == "-aux"
    });
    !chosen && (formats || format.is_none() && (bsd || full))
}

fn pkill(b: &Builder, invocation: &Invocation, effort: &mut Effort) -> Option<Kill> {
    let procs = procs(invocation);
    if procs.signal == 0 {
        return None;
    }
    let (any, shell) = match procs.pattern {
        Some(_) => own_match(b, invocation, &procs, effort),
        None => (Tri::Unknown, Tri::Unknown),
    };
    Some(Kill {
        invocation: invocation.index,
        pattern: procs.pattern.map(|word| word.text.clone()),
        full: procs.full,
        signal: procs.signal,
        pids: Vec::new(),
        // sudo does not die of a signal that its own child sends; timeout does.
        hits_own_shell: either(shell, both(any, Tri::Unknown)),
    })
}

/// The look whose output a `kill` gets: in its words, in its variables, or through `xargs`.
fn feeding_look<'a>(b: &'a Builder, invocation: &'a Invocation) -> Option<&'a Invocation> {
    let note = b.notes.get(invocation.index)?;
    let mut ranges: Vec<(usize, usize)> = note.substitutions.into_iter().collect();
    ranges.extend(&note.sources);
    let from_words = ranges
        .into_iter()
        .flat_map(|(from, to)| b.tree.invocations.get(from..to));
    let piped = invocation.pipe.map(|pipe| {
        stages(b, invocation)
            .filter(move |other| other.pipe.is_some_and(|at| at.stage < pipe.stage))
    });
    let candidates = from_words.flatten().chain(piped.into_iter().flatten());
    let mut found: Option<&Invocation> = None;
    for candidate in candidates {
        let better = match candidate.program() {
            "pgrep" | "pidof" | "lsof" | "fuser" => found.is_none(),
            "grep" | "egrep" | "fgrep" => {
                let positive = grep_pattern(candidate).is_some_and(|(_, _, inverse)| !inverse);
                positive && found.is_none()
            }
            _ => false,
        };
        if better {
            found = Some(candidate);
        }
    }
    found
}

fn kill(b: &Builder, invocation: &Invocation, effort: &mut Effort) -> Option<Kill> {
    let mut signal = 15;
    let mut pids = Vec::new();
    let mut args = invocation.args().iter();
    let mut options = true;
    while let Some(word) = args.next() {
        let text = word.text.as_str();
        match text.strip_prefix('-') {
            Some("-") if options => options = false,
            Some("s" | "n" | "-signal") if options => {
                signal = args
                    .next()
                    .and_then(|word| signal_number(&word.text))
                    .unwrap_or(15);
            }
            Some("l" | "L" | "-list") if options => return None,
            Some(name) if options && signal_number(name).is_some() && pids.is_empty() => {
                signal = signal_number(name)?;
                options = false;
            }
            _ => pids.extend(text.parse::<i64>()),
        }
    }
    if signal == 0 {
        return None;
    }
    let (mut pattern, mut full, mut hits) = (None, false, Tri::No);
    if invocation
        .args()
        .iter()
        .any(|word| word.text == "$$" || word.text == "$BASHPID")
    {
        hits = Tri::Yes;
    }
    if let Some(look) = feeding_look(b, invocation) {
        match look.program() {
            "pgrep" => {
                let procs = procs(look);
                pattern = procs.pattern.map(|word| word.text.clone());
                full = procs.full;
                hits = own_match(b, look, &procs, effort).1;
            }
            "pidof" => {
                let name = look.args().iter().find(|word| !word.text.starts_with('-'));
                pattern = name.map(|word| word.text.clone());
            }
            program if program.ends_with("grep") => {
                pattern = grep_pattern(look).map(|(word, _, _)| word.text.clone());
                full = true;
                hits = grep_hits_shell(b, look, effort);
            }
            _ => {}
        }
    } else if pids.is_empty()
        && hits == Tri::No
        && invocation.words.iter().any(|word| !word.literal)
    {
        hits = Tri::Unknown;
    }
    Some(Kill {
        invocation: invocation.index,
        pattern,
        full,
        signal,
        pids,
        hits_own_shell: hits,
    })
}

/// A `kill` of what `ps | grep` found: only the shell's line counts, the grep is gone by then.
fn grep_hits_shell(b: &Builder, look: &Invocation, effort: &mut Effort) -> Tri {
    let Some((pattern, how, _)) = grep_pattern(look) else {
        return Tri::Unknown;
    };
    if !literal_enough(pattern) {
        return Tri::Unknown;
    }
    let carriers = carriers(b, look.index);
    if !effort.allows(&carriers) {
        return Tri::Unknown;
    }
    let compiled = Pattern::new(&pattern.text, how);
    let mut hits = Tri::No;
    for one in carriers.iter().filter(|one| one.shell) {
        let line = format!("user 1 0.0 {}", one.line.replace('\n', " "));
        if compiled.matches(&line) && !filtered_out(b, look, &line) {
            hits = either(hits, one.there);
        }
    }
    hits
}

fn killall(b: &Builder, invocation: &Invocation, effort: &mut Effort, out: &mut Vec<Kill>) {
    let mut signal = 15;
    let mut words = vec![invocation.words.first()];
    for word in invocation.args() {
        match word.text.strip_prefix('-').and_then(signal_number) {
            Some(number) => signal = number,
            None => words.push(Some(word)),
        }
    }
    let words: Vec<&Word> = words.into_iter().flatten().collect();
    let fields: Vec<_> = words.iter().map(|word| field_of(word)).collect();
    let long = [
        "--signal",
        "--user",
        "--younger-than",
        "--older-than",
        "--ns",
    ];
    let options = Options::scan(&fields, 1, "suyon", &long);
    if let Some(number) = options.value(&["-s", "--signal"]).and_then(signal_number) {
        signal = number;
    }
    if signal == 0 || options.has(&["-l", "--list"]) {
        return;
    }
    let regex = options.has(&["-r", "--regexp"]);
    let dialect = if regex {
        Dialect::Extended
    } else {
        Dialect::Fixed
    };
    for word in words
        .get(options.rest..)
        .unwrap_or_default()
        .iter()
        .take(64)
    {
        let carriers = carriers(b, invocation.index);
        let how = How {
            dialect,
            ignore_case: false,
            whole: !regex,
            words: false,
        };
        let hits = if !literal_enough(word) || !effort.allows(&carriers) {
            Tri::Unknown
        } else {
            finds(&Pattern::new(&word.text, how), false, &carriers).1
        };
        out.push(Kill {
            invocation: invocation.index,
            pattern: Some(word.text.clone()),
            full: false,
            signal,
            pids: Vec::new(),
            hits_own_shell: hits,
        });
    }
}

fn fuser(invocation: &Invocation) -> Option<Kill> {
    let mut signal = 9;
    let (mut kills, mut target) = (false, None);
    for word in invocation.args() {
        match word.text.strip_prefix('-') {
            Some(name) => match signal_number(name) {
                Some(number) => signal = number,
                None => kills |= name == "-kill" || !name.starts_with('-') && name.contains('k'),
            },
            None => target = Some(word.text.clone()).or(target),
        }
    }
    kills.then(|| Kill {
        invocation: invocation.index,
        pattern: target,
        full: false,
        signal,
        pids: Vec::new(),
        hits_own_shell: Tri::No,
    })
}

/// The number of a signal given as `9`, `KILL` or `SIGKILL` (Linux).
fn signal_number(text: &str) -> Option<i32> {
    if let Ok(number) = text.parse::<i32>() {
        return (0..=64).contains(&number).then_some(number);
    }
    Some(match text.strip_prefix("SIG").unwrap_or(text) {
        "HUP" => 1,
        "INT" => 2,
        "QUIT" => 3,
        "ABRT" => 6,
        "KILL" | "kill" => 9,
        "USR1" => 10,
        "SEGV" => 11,
        "USR2" => 12,
        "PIPE" => 13,
        "ALRM" => 14,
        "TERM" | "term" => 15,
        "CHLD" => 17,
        "CONT" => 18,
        "STOP" => 19,
        "TSTP" => 20,
        "WINCH" => 28,
        _ => return None,
    })
}
