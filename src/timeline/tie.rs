//! Which launch a fact speaks of: by pid, log, port, pattern, or because it is the host's only one.

use super::targets::Targets;
use crate::fact::pattern::found;
use crate::fact::{self, Fact};
use crate::shell::quote::bracketed;
use crate::time::Micros;

/// What is known of a launch that facts may speak of.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) host: String,
    pub(super) container: Option<String>,
    pub(super) line: String,
    pub(super) program: String,
    pub(super) script: Option<String>,
    pub(super) log: Option<String>,
    pub(super) port: Option<i64>,
    pub(super) pids: Vec<i64>,
    /// When the command that launched it began: what ran before is not its own.
    pub(super) at: Micros,
    /// How many processes had been seen on its host when it was launched: nor are these.
    pub(super) seen_before: usize,
    /// Text that stands for it: the script's body, patterns it was looked for or killed by.
    pub(super) aliases: Vec<String>,
    /// Its epoch is over.
    pub(super) over: bool,
}

impl Target {
    /// Whether a process with this command line is it.
    pub(super) fn is_command_line(&self, args: &str) -> bool {
        let args = args.trim();
        if args.is_empty() || looks_on(args) && !looks_on(&self.line) {
            return false;
        }
        if !self.line.is_empty() && (args.contains(&self.line) || self.line.contains(args)) {
            return args.len() >= self.program.len();
        }
        if let Some(script) = &self.script {
            let name = script.rsplit('/').next().unwrap_or(script);
            if name.len() > 2
                && args
                    .split_whitespace()
                    .any(|word| word.rsplit('/').next() == Some(name))
            {
                return true;
            }
        }
        self.aliases
            .iter()
            .any(|alias| alias.len() > 3 && (alias.contains(args) || args.contains(alias.as_str())))
    }

    /// Whether a look by this pattern is a look for it.
    pub(super) fn is_pattern(&self, pattern: &str) -> bool {
        let plain = plain_pattern(pattern);
        if plain.len() < 3 {
            return false;
        }
        let texts = [
            Some(self.line.as_str()),
            self.script.as_deref(),
            self.log.as_deref(),
        ];
        let meets = |text: &str| found(pattern, text) == Some(true) || text.contains(&plain);
        texts.into_iter().flatten().any(meets) || self.aliases.iter().any(|alias| meets(alias))
    }

    fn same_place(&self, host: &str, container: Option<&str>) -> bool {
        self.host == host && (self.container.is_none() || self.container.as_deref() == container)
    }
}

/// A process that only names a server: somebody's look at it, or the shell that carries one.
fn looks_on(args: &str) -> bool {
    let mut words = args.split_whitespace();
    let program = words.next().unwrap_or("");
    let program = program.rsplit('/').next().unwrap_or(program);
    match program {
        "tail" | "grep" | "egrep" | "less" | "more" | "cat" | "watch" | "vi" | "vim" | "nano"
        | "view" | "ssh" | "scp" | "pgrep" | "pkill" | "journalctl" | "strace" | "py-spy"
        | "gdb" | "rec" => true,
        "bash" | "sh" | "dash" | "zsh" => words
            .next()
            .is_some_and(|word| word.starts_with('-') && word.ends_with('c')),
        _ => false,
    }
}

/// A pattern without the tricks that keep it from matching itself: `[s]glang` is `sglang`.
pub(super) fn plain_pattern(pattern: &str) -> String {
    let mut out = String::new();
    let mut chars = pattern.chars().peekable();
    while let Some(letter) = chars.next() {
        match letter {
            '[' => {
                let inside: String = chars.by_ref().take_while(|inner| *inner != ']').collect();
                if inside.chars().count() == 1 {
                    out.push_str(&inside);
                } else {
                    break;
                }
            }
            '\\' => {
                if let Some(next) = chars.next() {
                    out.push(next);
                }
            }
            '^' | '$' => {}
            '.' if matches!(chars.peek(), Some('*' | '+')) => break,
            '|' | '(' | '*' | '+' | '?' => break,
            _ => out.push(letter),
        }
    }
    out.trim().to_owned()
}

/// A pattern that finds what this one finds and cannot match the look that carries it.
pub(super) fn safe_pattern(pattern: &str) -> Option<String> {
    bracketed(&plain_pattern(pattern))
}

/// The launch a fact speaks of, its number.
pub(super) fn owner(
    targets: &Targets,
    fact: &Fact,
    host: &str,
    container: Option<&str>,
) -> Option<usize> {
    let here =
        |(number, target): (usize, &Target)| target.same_place(host, container).then_some(number);
    if let Some(pids) = pids_of(fact) {
        let owners = pids.iter().filter_map(|pid| {
            let mut newest = targets.by_pid(host, *pid).rev();
            newest.find_map(here)
        });
        if let Some(found) = owners.max() {
            return Some(found);
        }
    }
    if let Some(path) = path_of(fact) {
        if let Some(found) = targets.by_log(host, path).rev().find_map(here) {
            return Some(found);
        }
        if matches!(fact, Fact::File(_) | Fact::NotRun(_)) {
            return targets.by_script(host, path).rev().find_map(here);
        }
        if !path.is_empty() {
            return None; // another file says nothing of this launch
        }
    }
    let open = |wanted: &dyn Fn(&Target) -> bool| {
        let mut newest = targets.open(host).rev();
        newest.find_map(|one| here(one).filter(|_| wanted(one.1)))
    };
    match fact {
        Fact::Http(http) => return by_port(targets, http.port, host, container),
        Fact::Socket(socket) => return by_port(targets, Some(socket.port), host, container),
        Fact::PortLook(look) => {
            if look.filter_port.is_some() {
                return by_port(targets, look.filter_port, host, container);
            }
        }
        Fact::Process(process) => {
            let args = process.args.as_deref().or(process.comm.as_deref());
            return open(&|target| {
                target.is_command_line(args.unwrap_or(""))
                    && !targets.began_before(target, process.pid)
            });
        }
        Fact::ProcessLook(look) => {
            if let Some(pattern) = &look.pattern {
                return open(&|target| target.is_pattern(pattern));
            }
        }
        Fact::NotRun(missing) => {
            let script = targets.by_script(host, &missing.program).rev();
            return script.filter(|(_, target)| !target.over).find_map(here);
        }
        Fact::Gpu(_) | Fact::GpuLook(_) | Fact::GpuProcess(_) | Fact::GpuProcessLook(_) => {}
        _ => return None,
    }
    let mut newest = targets.open(host).rev().filter_map(here);
    let only = newest.next();
    if matches!(fact, Fact::Gpu(_) | Fact::GpuLook(_)) {
        return only; // the newest one: its memory is what people watch
    }
    if newest.next().is_some() { None } else { only }
}

fn by_port(
    targets: &Targets,
    port: Option<i64>,
    host: &str,
    container: Option<&str>,
) -> Option<usize> {
    let here = |(_, target): &(usize, &Target)| target.same_place(host, container);
    if let Some(port) = port
        && let Some((found, _)) = targets.by_port(host, port).rev().find(here)
    {
        return Some(found);
    }
    let mut open = targets.open(host).filter(here);
    let (number, target) = open.next()?;
    (open.next().is_none() && target.port.is_none()).then_some(number)
}

fn pids_of(fact: &Fact) -> Option<Vec<i64>> {
    match fact {
        Fact::Process(process) => Some(vec![process.pid]),
        Fact::ProcessLook(look) => {
            Some([look.pids.as_slice(), look.asked_pids.as_slice()].concat())
        }
        Fact::GpuProcess(process) => process.pid.map(|pid| vec![pid]),
        Fact::GpuProcessLook(look) => Some(look.pids.clone()),
        Fact::Socket(socket) => socket.pid.map(|pid| vec![pid]),
        Fact::Stack(stack) => stack.pid.map(|pid| vec![pid]),
        Fact::Descriptor(descriptor) => Some(vec![descriptor.pid]),
        _ => None,
    }
}

/// The file a fact is about; `None` for facts that are about none.
pub(super) fn path_of(fact: &Fact) -> Option<&str> {
    match fact {
        Fact::File(fact::File { path, .. })
        | Fact::LogLook(fact::LogLook { path, .. })
        | Fact::ScriptStep(fact::ScriptStep { path, .. })
        | Fact::Line(fact::Line { path, .. })
        | Fact::Traceback(fact::Traceback { path, .. })
        | Fact::Progress(fact::Progress { path, .. })
        | Fact::Stage(fact::Stage { path, .. })
        | Fact::Count(fact::Count { of: path, .. })
        | Fact::Search(fact::Search { of: path, .. }) => Some(path),
        Fact::NotRun(fact::NotRun { path, .. }) if !path.is_empty() => Some(path),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_loses_its_tricks() {
        assert_eq!(
            plain_pattern("[s]glang.launch_server"),
            "sglang.launch_server"
        );
        assert_eq!(plain_pattern("server.py.*early"), "server.py");
        assert_eq!(plain_pattern("python3.*server.py"), "python3");
        assert_eq!(plain_pattern("a\\.b"), "a.b");
        assert_eq!(safe_pattern("sglang").as_deref(), Some("[s]glang"));
    }
}
