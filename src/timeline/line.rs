//! What the command line itself says: runs, launches, kills, writes, and how it ended.
//!
//! Whether a part of the line was *reached* is judged here: nothing after a kill that hit its own
//! shell, nothing behind an ssh that never connected, nothing whose redirection the shell refused.

use crate::event::{Exit, Stream};
use crate::fact::{self, Fact, Observed};
use crate::shell::{Condition, EarlyExpansion, HopKind, Invocation, Kill, RedirectTo, Tree, Tri};

use super::Command;

/// A fact of the line, with the invocation it is about.
pub(super) struct OfLine {
    /// The fact.
    pub(super) fact: Fact,
    /// The invocation; `None` for the command as a whole.
    pub(super) invocation: Option<usize>,
}

/// Facts of a command's line, in the order its shell comes to them; its end is the last.
pub(super) fn facts(command: &Command) -> Vec<OfLine> {
    let tree = &command.tree;
    let fates = Fates::of(command);
    let mut out = Vec::new();
    for invocation in &tree.invocations {
        let index = invocation.index;
        if invocation.hop.is_none() && !invocation.words.is_empty() {
            out.push(OfLine {
                fact: run(invocation, fates.ran(index)).into(),
                invocation: Some(index),
            });
        }
        for write in tree.writes.iter().filter(|write| write.invocation == index) {
            out.push(OfLine {
                fact: fact::FileWrite {
                    path: write.resolved.clone().unwrap_or_else(|| write.path.clone()),
                    how: write.how.clone(),
                    append: write.append,
                    input_lost: write.input_lost,
                    reached: fates.ran(index),
                }
                .into(),
                invocation: Some(index),
            });
        }
        for kill in tree.kills.iter().filter(|kill| kill.invocation == index) {
            let fact = kill_fact(tree, kill, invocation);
            out.push(OfLine {
                fact: fact.into(),
                invocation: Some(index),
            });
        }
        for launch in tree
            .launches
            .iter()
            .filter(|launch| launch.invocation == index)
        {
            out.push(OfLine {
                fact: fact::Launch {
                    name: launch_name(invocation, launch),
                    script_name: launch
                        .script
                        .as_deref()
                        .map(|script| base(script).to_owned()),
                    program: invocation.program().to_owned(),
                    line: invocation.line(),
                    script: launch
                        .script_resolved
                        .clone()
                        .or_else(|| launch.script.clone()),
                    log: launch.log_resolved.clone().or_else(|| launch.log.clone()),
                    log_append: launch.log_append,
                    port: launch.port.map(i64::from),
                    pid: launched_pid(command, index),
                    buffered: launch.buffered,
                    detached: launch.detached,
                    holds_channel: launch.holds_channel,
                    reached: fates.launched(index, launch.log.as_deref()),
                    managed: managed(invocation, tree),
                }
                .into(),
                invocation: Some(index),
            });
        }
    }
    for early in &tree.early {
        let text = read_inside(tree, early);
        out.push(OfLine {
            fact: fact::EarlyExpansion {
                // What the inner side sets itself was never meant to be expanded on this one.
                harmful: if early.meant_inside.is_empty() {
                    harmful(&text, &early.names, command)
                } else {
                    Tri::Yes
                },
                names: early.names.clone(),
                how: early.how.clone(),
                text,
            }
            .into(),
            invocation: Some(early.hop),
        });
    }
    out
}

/// The text that holds what was expanded, as the inner side gets it: that of the hop's own shell, or
/// of one below it that reads a here-document (`ssh h bash -s << END`).
fn read_inside(tree: &Tree, early: &EarlyExpansion) -> String {
    let own = tree
        .shells
        .iter()
        .find(|shell| shell.started_by == Some(early.hop))
        .map(|shell| shell.text.as_str());
    let below = tree.shells.iter().filter(|shell| {
        shell
            .started_by
            .is_some_and(|hop| tree.hop_chain(hop).contains(&early.hop))
    });
    let holds = |text: &str| {
        early
            .names
            .iter()
            .any(|name| text.contains(&format!("${name}")) || text.contains(&format!("${{{name}")))
    };
    own.into_iter()
        .chain(below.map(|shell| shell.text.as_str()))
        .find(|text| holds(text))
        .or(own)
        .unwrap_or_default()
        .to_owned()
}

fn run(invocation: &Invocation, ran: Tri) -> fact::Run {
    let redirected = invocation.redirects.iter().any(|redirect| {
        redirect.fd == 1
            && matches!(
                redirect.to,
                RedirectTo::Truncate { .. } | RedirectTo::Append { .. }
            )
    });
    fact::Run {
        program: invocation.program().to_owned(),
        line: invocation.line(),
        ran,
        background: invocation.background,
        redirected,
    }
}

fn kill_fact(tree: &Tree, kill: &Kill, invocation: &Invocation) -> fact::Kill {
    let later = |index: usize| {
        index > kill.invocation && same_shell_or_below(tree, invocation.shell, index)
    };
    fact::Kill {
        program: invocation.program().to_owned(),
        pattern: kill.pattern.clone(),
        pattern_safe: kill.pattern.as_deref().and_then(super::tie::safe_pattern),
        full: kill.full,
        signal: i64::from(kill.signal),
        pids: kill.pids.clone(),
        hits_own_shell: kill.hits_own_shell,
        more_follows: invocation.more_follows,
        launch_log: tree
            .launches
            .iter()
            .find(|launch| later(launch.invocation))
            .and_then(|launch| launch.log_resolved.clone().or_else(|| launch.log.clone())),
        launch_follows: tree.launches.iter().any(|launch| later(launch.invocation)),
        write_follows: tree.writes.iter().any(|write| later(write.invocation)),
        effective: Tri::Unknown,
    }
}

fn base(path: &str) -> &str {
    path.trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(path)
}

/// What people call a launch: its script, its module (`python -m vllm.entrypoints`), its program.
fn launch_name(invocation: &Invocation, launch: &crate::shell::Launch) -> String {
    if let Some(script) = &launch.script {
        return base(script).to_owned();
    }
    let words = &invocation.words;
    let module = words
        .iter()
        .position(|word| word.text == "-m")
        .and_then(|at| words.get(at + 1));
    module.map_or_else(
        || invocation.program().to_owned(),
        |module| module.text.clone(),
    )
}

/// Whether an invocation runs in a shell, or in one started (however deep) from it.
fn same_shell_or_below(tree: &Tree, shell: usize, index: usize) -> bool {
    let mut at = tree.invocations.get(index);
    while let Some(invocation) = at {
        if invocation.shell == shell {
            return true;
        }
        at = invocation
            .parent
            .and_then(|parent| tree.invocations.get(parent));
    }
    false
}

fn managed(invocation: &Invocation, tree: &Tree) -> bool {
    let engine = |name: &str| {
        matches!(
            name,
            "docker"
                | "podman"
                | "nerdctl"
                | "kubectl"
                | "systemctl"
                | "systemd-run"
                | "supervisorctl"
                | "sbatch"
                | "srun"
                | "tmux"
                | "screen"
        )
    };
    if engine(invocation.program()) {
        return true;
    }
    let mut at = invocation.parent;
    while let Some(parent) = at.and_then(|parent| tree.invocations.get(parent)) {
        if matches!(parent.hop, Some(HopKind::Detached | HopKind::Container)) {
            return true;
        }
        at = parent.parent;
    }
    false
}

/// The id printed by `echo $!` after a launch: the first one from an invocation behind it.
fn launched_pid(command: &Command, launch: usize) -> Option<i64> {
    let next = command
        .tree
        .launches
        .iter()
        .map(|other| other.invocation)
        .filter(|other| *other > launch)
        .min()
        .unwrap_or(usize::MAX);
    command
        .facts
        .iter()
        .find_map(|observed| match &observed.fact {
            Fact::EchoedPid(echoed)
                if observed
                    .invocation
                    .is_none_or(|index| index > launch && index < next) =>
            {
                Some(echoed.pid)
            }
            _ => None,
        })
}

/// Facts of a command's end.
pub(super) fn exit(command: &Command) -> fact::Exit {
    let tree = &command.tree;
    let (code, signal, lost) = match command.exit {
        Exit::Code(code) => (Some(i64::from(code)), None, false),
        Exit::Signal(signal) => (None, Some(i64::from(signal)), false),
        Exit::Lost => (None, None, true),
        Exit::Running | Exit::Stopped(_) => (None, None, false),
    };
    let first = tree
        .invocations
        .iter()
        .find(|invocation| invocation.parent.is_none() && !invocation.substituted)
        .or_else(|| tree.invocations.first());
    let last = tree
        .leaves()
        .filter(|leaf| !leaf.substituted && !leaf.background)
        .last();
    let last_program = last
        .map(|leaf| leaf.program().to_owned())
        .unwrap_or_default();
    let says_no = match code {
        Some(1) => (matches!(
            last_program.as_str(),
            "grep"
                | "egrep"
                | "fgrep"
                | "zgrep"
                | "rg"
                | "diff"
                | "cmp"
                | "pgrep"
                | "pidof"
                | "test"
                | "["
                | "[["
                | "pkill"
                | "killall"
                | "fuser"
                | "lsof"
                | "which"
                | "cmd"
                | "command"
                | "type"
                | "false"
                | "expr"
                | "ps"
        ))
        .into(),
        Some(3) if last_program == "systemctl" || last_program == "supervisorctl" => Tri::Yes,
        Some(_) => Tri::No,
        None => Tri::Unknown,
    };
    fact::Exit {
        code,
        signal,
        lost,
        silent: command.stdout_bytes + command.stderr_bytes + command.tty_bytes == 0,
        silent_stderr: command.stderr_bytes + command.tty_bytes == 0,
        took_s: command.took_s,
        program: first
            .map(|first| first.program().to_owned())
            .unwrap_or_default(),
        via_ssh: tree
            .invocations
            .iter()
            .any(|invocation| invocation.hop == Some(HopKind::Ssh)),
        last_program,
        says_no,
    }
}

/// What became of each invocation.
struct Fates<'a> {
    command: &'a Command,
    /// The kill that ended its own shell, as far as the end of the command tells.
    dead_after: Option<(usize, usize, Tri)>, // invocation, shell, certainty that nothing ran
    /// ssh hops that never connected.
    unreached_hops: Vec<usize>,
}

impl<'a> Fates<'a> {
    fn of(command: &'a Command) -> Self {
        Self {
            command,
            dead_after: self_killed(command),
            unreached_hops: unconnected(command),
        }
    }

    fn ran(&self, index: usize) -> Tri {
        let tree = &self.command.tree;
        if let Some((kill, shell, certainty)) = self.dead_after
            && index > kill
            && same_shell_or_below(tree, shell, index)
        {
            return match certainty {
                Tri::Yes => Tri::No,
                _ => Tri::Unknown,
            };
        }
        let mut at = tree.invocations.get(index);
        while let Some(invocation) = at {
            if self
                .unreached_hops
                .iter()
                .any(|hop| invocation.parent == Some(*hop))
            {
                return Tri::No;
            }
            at = invocation
                .parent
                .and_then(|parent| tree.invocations.get(parent));
        }
        if self.printed(index) {
            return Tri::Yes;
        }
        match (
            self.command.exit,
            tree.invocations.get(index).map(|one| one.condition),
        ) {
            (Exit::Running | Exit::Lost | Exit::Stopped(_), _) | (_, None) => Tri::Unknown,
            (_, Some(Condition::Always)) => Tri::Yes,
            (_, Some(Condition::IfOk(before))) if self.failed(before) => Tri::No,
            (_, Some(Condition::IfOk(before))) => self.after_success(index, before),
            (_, Some(_)) => Tri::Unknown,
        }
    }

    /// What must succeed first did not, as the shell's own word says (`cd: X: No such file`), or was
    /// not come to itself.
    fn failed(&self, index: usize) -> bool {
        let Some(invocation) = self.command.tree.invocations.get(index) else {
            return false;
        };
        let operand = invocation
            .args()
            .last()
            .map_or("", |word| word.text.as_str());
        let of_the_shell = |text: &str| match invocation.program() {
            // Another cd of the same line may be the one that failed.
            "cd" | "pushd" => {
                (text.contains("cd") || text.contains("pushd"))
                    && (operand.contains('$') || text.contains(base(operand)))
            }
            // What a file that was read complains of itself (`env.sh: line 3: …`) is not meant.
            "." | "source" => {
                text.contains(operand) && !text.contains(&format!("{operand}: line "))
            }
            _ => false,
        };
        let complained = self.command.facts.iter().any(|observed| {
            observed.invocation == Some(index)
                && match &observed.fact {
                    Fact::NotRun(missing) => missing.path.is_empty(),
                    Fact::Line(line) => {
                        line.source != "log" && of_the_shell(&line.text) && refused(&line.text)
                    }
                    _ => false,
                }
        });
        complained
            || matches!(invocation.condition, Condition::IfOk(before) if before < index && self.failed(before))
    }

    /// `cd X && job &`: the job ran when the cd left no complaint.
    fn after_success(&self, index: usize, before: usize) -> Tri {
        let tree = &self.command.tree;
        let background = tree
            .invocations
            .get(index)
            .is_some_and(|one| one.background);
        let simple = tree.invocations.get(before).is_some_and(|one| {
            matches!(
                one.program(),
                "cd" | "." | "source" | "export" | "mkdir" | "chmod" | "sleep" | "pushd"
            )
        });
        match self.command.exit {
            Exit::Code(0) if background => {
                if simple && self.command.stderr_bytes == 0 {
                    Tri::Yes
                } else {
                    Tri::Unknown
                }
            }
            Exit::Code(0) => Tri::Yes,
            _ => Tri::Unknown,
        }
    }

    fn printed(&self, index: usize) -> bool {
        self.command.facts.iter().any(|observed| {
            observed.invocation == Some(index)
                && observed.stream.is_some()
                && !is_refusal(&observed.fact)
        })
    }

    fn launched(&self, index: usize, log: Option<&str>) -> Tri {
        let ran = self.ran(index);
        if ran == Tri::No {
            return Tri::No;
        }
        // The shell that could not open the log never starts the program.
        let log = log
            .map(|log| log.rsplit('/').next().unwrap_or(log))
            .filter(|log| !log.is_empty());
        let refused = log.is_some_and(|log| {
            self.command
                .facts
                .iter()
                .any(|observed| match &observed.fact {
                    Fact::Line(line) => {
                        line.source != "log"
                            && line.text.contains(log)
                            && refusal(&line.text)
                            && line.text.contains("sh: ")
                    }
                    _ => false,
                })
        });
        if refused { Tri::No } else { ran }
    }
}

/// A shell could not go there, or could not read that file: bash, zsh, dash, busybox, fish.
fn refused(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    [
        "no such file or directory",
        "not a directory",
        "permission denied",
        "can't cd to",
        "can't open",
        "cannot open",
        "not found",
        "does not exist",
        "too many arguments",
    ]
    .iter()
    .any(|words| text.contains(words))
}

fn refusal(text: &str) -> bool {
    [
        "Permission denied",
        "No such file or directory",
        "Is a directory",
        "Read-only file system",
        "ambiguous redirect",
    ]
    .iter()
    .any(|words| text.contains(words))
}

fn is_refusal(fact: &Fact) -> bool {
    matches!(fact, Fact::NotRun(_))
}

/// Invocations that never ran, because a kill ended their shell before them.
pub(super) fn never_ran(command: &Command) -> Vec<usize> {
    let fates = Fates::of(command);
    if !matches!(fates.dead_after, Some((_, _, Tri::Yes))) {
        return Vec::new();
    }
    let indices = command.tree.invocations.iter().map(|one| one.index);
    indices
        .filter(|index| fates.ran(*index) == Tri::No)
        .collect()
}

/// The kill that ended the shell it ran in, judged from how the command ended.
///
/// Returns its invocation, the shell, and how sure it is that nothing after it ran. Over ssh a
/// remote shell killed by a signal gives 255 and prints nothing; on one machine the shell's own
/// end shows the signal, or 128 plus its number through another shell.
fn self_killed(command: &Command) -> Option<(usize, usize, Tri)> {
    let tree = &command.tree;
    let died = match command.exit {
        Exit::Signal(_) => true,
        Exit::Code(255) => has_ssh(tree),
        Exit::Code(code) => (129..=159).contains(&code) || echoed_death(command),
        _ => echoed_death(command),
    };
    if !died {
        return None;
    }
    tree.kills.iter().find_map(|kill| {
        let invocation = tree.invocations.get(kill.invocation)?;
        if kill.hits_own_shell == Tri::No || !invocation.more_follows {
            return None;
        }
        let printed_after = command.facts.iter().any(|observed| {
            observed.stream == Some(Stream::Stdout)
                && observed.to > observed.from
                && observed.invocation.is_some_and(|index| {
                    index > kill.invocation && same_shell_or_below(tree, invocation.shell, index)
                })
        });
        if printed_after {
            return None;
        }
        Some((kill.invocation, invocation.shell, kill.hits_own_shell))
    })
}

fn has_ssh(tree: &Tree) -> bool {
    tree.invocations
        .iter()
        .any(|one| one.hop == Some(HopKind::Ssh))
}

/// The line printed itself how the shell that carried it ended (`ssh h '…' | tail; echo
/// ${PIPESTATUS[0]}`): every code it printed of that is the code of a death.
fn echoed_death(command: &Command) -> bool {
    let mut died = false;
    for observed in &command.facts {
        let Fact::EchoedExit(echoed) = &observed.fact else {
            continue;
        };
        let carries = matches!(
            echoed.program.as_str(),
            "ssh" | "sshpass" | "timeout" | "bash" | "sh" | "sudo" | "su" | "docker" | "kubectl"
        );
        if !carries {
            continue;
        }
        let dead = match echoed.code {
            255 => has_ssh(&command.tree),
            code => (129..=159).contains(&code),
        };
        if !dead {
            return false;
        }
        died = true;
    }
    died
}

/// ssh hops that failed before they reached a shell, by what ssh said.
fn unconnected(command: &Command) -> Vec<usize> {
    if command.exit != Exit::Code(255) {
        return Vec::new();
    }
    let failed = command.facts.iter().any(|observed| {
        matches!(&observed.fact, Fact::Reach(reach) if reach.outcome != "ok" && reach.outcome != "closed")
    });
    if !failed {
        return Vec::new();
    }
    command
        .tree
        .invocations
        .iter()
        .filter(|invocation| invocation.hop == Some(HopKind::Ssh))
        .map(|invocation| invocation.index)
        .collect()
}

/// Whether the output shows that variables expanded on the outer side were empty there.
fn harmful(text: &str, names: &[String], command: &Command) -> Tri {
    let mut seen = String::new();
    for observed in &command.facts {
        match &observed.fact {
            Fact::Line(line) => {
                seen.push_str(&line.text);
                seen.push('\n');
            }
            Fact::File(file) if file.exists == Tri::No => {
                seen.push_str(&file.path);
                seen.push('\n');
            }
            _ => {}
        }
    }
    for name in names {
        for form in [format!("${name}"), format!("${{{name}}}")] {
            for (at, _) in text.match_indices(&form) {
                let tail: String = text[at + form.len()..]
                    .chars()
                    .take_while(|letter| !letter.is_whitespace() && !"'\";|&<>)".contains(*letter))
                    .collect();
                if tail.starts_with('/') && tail.len() > 1 {
                    let whole = seen.match_indices(&tail).any(|(found, _)| {
                        !seen[..found].ends_with(|before: char| {
                            before.is_alphanumeric() || "/._-~$}".contains(before)
                        })
                    });
                    if whole {
                        return Tri::Yes;
                    }
                }
                // `name=$NAME` printed as `name=` and nothing after it.
                let head = text[..at].rsplit(char::is_whitespace).next().unwrap_or("");
                if head.len() > 1 && head.ends_with('=') && tail.is_empty() {
                    let empty = seen.match_indices(head).any(|(found, _)| {
                        seen[found + head.len()..]
                            .chars()
                            .next()
                            .is_none_or(char::is_whitespace)
                    });
                    if empty {
                        return Tri::Yes;
                    }
                }
            }
        }
    }
    let wanting = [
        "expected one argument",
        "requires an argument",
        "requires a value",
        "option requires",
        "missing operand",
        "expected at least one argument",
        "ambiguous redirect",
        "invalid int value: ''",
    ];
    if wanting.iter().any(|words| seen.contains(words)) {
        Tri::Yes
    } else {
        Tri::Unknown
    }
}

/// A fact of the line or of output, put in its place.
pub(super) fn observed_host<'a>(command: &'a Command, observed: &'a Observed) -> &'a str {
    observed.place.host.as_deref().unwrap_or(&command.host)
}
