//! Hops to other machines.

use crate::shell::HopKind;
use crate::shell::build::Field;
use crate::shell::expand::ShellName;

use super::{Branch, Cwd, Hop, Load, Options, joined};

/// Letters of OpenSSH's options that take a value (ssh.c, 9.2, and `-P` of 9.4).
const SSH_VALUES: &str = "BbcDEeFIiJLlmOoPpQRSWw";

/// Where an `ssh` leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::shell) struct SshTarget {
    /// Index of the destination among the words.
    pub at: usize,
    pub host: String,
    pub user: Option<String>,
    /// Index of the first word of the remote command.
    pub command: usize,
    /// `-n` or `-f`: its standard input is `/dev/null`.
    pub no_stdin: bool,
    /// `-f`: it goes into the background.
    pub forks: bool,
    /// `-N`, `-W`, `-O`, …: nothing is run there.
    pub no_command: bool,
    pub tty: bool,
}

/// Reads the words of an `ssh`: options may stand before and after the destination.
pub(in crate::shell) fn ssh_target(fields: &[Field]) -> Option<SshTarget> {
    let program = fields.first()?.text.rsplit('/').next()?;
    let values = match program {
        "autossh" => "BbcDEeFIiJLlMmOoPpQRSWw",
        "mosh" => "p",
        _ => SSH_VALUES,
    };
    let long = [
        "--ssh",
        "--server",
        "--port",
        "--predict",
        "--family",
        "--client",
        "--bind-server",
    ];
    let mut options = Options::scan(fields, 1, values, &long);
    let at = options.rest;
    let destination = fields.get(at)?.text.as_str();
    let mut command = at + 1;
    // `ssh host -p 22 cmd` is fine with OpenSSH, unless `--` ended the options.
    let ended = fields
        .get(at.wrapping_sub(1))
        .is_some_and(|field| field.text == "--");
    if !ended && program != "mosh" {
        let more = Options::scan(fields, command, values, &long);
        command = more.rest;
        options.given.extend(more.given);
    } else if fields.get(command).is_some_and(|field| field.text == "--") {
        command += 1;
    }
    let (user, host) = split_destination(destination);
    if host.is_empty() || host.len() > 1024 {
        return None;
    }
    let from_options = options.given.iter().find_map(|(name, value)| {
        let value = value.as_deref()?;
        let setting = value
            .strip_prefix("User=")
            .or_else(|| value.strip_prefix("User "));
        (name == "-o")
            .then_some(setting)
            .flatten()
            .map(str::to_owned)
    });
    let user = user
        .or_else(|| options.value(&["-l"]).map(str::to_owned))
        .or(from_options);
    Some(SshTarget {
        at,
        host,
        user,
        command,
        no_stdin: options.has(&["-n", "-f"]),
        forks: options.has(&["-f"]),
        no_command: options.has(&["-N", "-W", "-O", "-Q", "-V", "-G"]),
        tty: options.has(&["-t"]),
    })
}

/// `user@host`, `[v6]`, `ssh://user@host:port`, or an alias, split into user and host.
pub(in crate::shell) fn split_destination(text: &str) -> (Option<String>, String) {
    let (text, is_url) = match text.strip_prefix("ssh://") {
        Some(rest) => (rest.trim_end_matches('/'), true),
        None => (text, false),
    };
    let (user, host) = match text.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, text),
    };
    let host = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((inner, _)) => inner,
        None if is_url => host.split_once(':').map_or(host, |(host, _)| host),
        None => host,
    };
    let user = user.filter(|user| !user.is_empty());
    let user = user.map(|user| {
        user.split_once(';')
            .map_or(user, |(user, _)| user)
            .to_owned()
    });
    (user, host.to_owned())
}

pub(super) fn ssh(fields: &[Field], fed: bool) -> Option<Hop> {
    let target = ssh_target(fields)?;
    if target.no_command {
        return None;
    }
    let command = joined(fields, target.command);
    let words = fields.get(target.command..).unwrap_or_default();
    let load = if words.is_empty() {
        if fed && !target.no_stdin {
            Load::Script { argv: None }
        } else {
            Load::Session
        }
    } else {
        login_text(command)
    };
    let branch = Branch {
        host: Some(target.host),
        user: target.user,
        container: None,
        load,
    };
    let mut hop = Hop::new(HopKind::Ssh, vec![branch]);
    hop.keeps_env = false;
    hop.stdin_lost = target.no_stdin;
    hop.background = false;
    hop.cwd = Cwd::Home;
    hop.tty = target.tty;
    // In front it is a command line of its own, which is meant to be read again.
    hop.lost_quotes = words.iter().skip(1).any(|word| word.quoted_blank);
    Some(hop)
}

/// A command that the remote user's login shell reads.
fn login_text(text: String) -> Load {
    Load::Text {
        text,
        argv: Some("bash -c".to_owned()),
        shell: ShellName::Bash,
        same_process: false,
    }
}

/// `gcloud compute ssh HOST --command='…'`.
pub(super) fn gcloud(fields: &[Field]) -> Option<Hop> {
    let at = fields
        .windows(2)
        .position(|pair| matches!(pair, [a, b] if a.text == "compute" && b.text == "ssh"))?;
    let rest = fields.get(at + 2..)?;
    let mut host = None;
    let mut command = None;
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        if let Some(text) = word.text.strip_prefix("--command=") {
            command = Some(text.to_owned());
        } else if word.text == "--command" {
            command = words.next().map(|word| word.text.clone());
        } else if word.text == "--" {
            break;
        } else if word.text.starts_with("--") {
            if !word.text.contains('=')
                && !matches!(&*word.text, "--quiet" | "--tunnel-through-iap")
            {
                words.next();
            }
        } else if host.is_none() {
            host = Some(split_destination(&word.text));
        }
    }
    let (user, host) = host?;
    let load = command.map_or(Load::Session, login_text);
    let branch = Branch {
        host: Some(host),
        user,
        container: None,
        load,
    };
    let mut hop = Hop::new(HopKind::Ssh, vec![branch]);
    hop.keeps_env = false;
    hop.cwd = Cwd::Home;
    Some(hop)
}

/// `pdsh -w h1,h2 cmd` and `clush -w h[1-3] cmd`: one branch a host. All of them, or a group,
/// stays as it was named.
pub(super) fn many(program: &str, fields: &[Field]) -> Option<Hop> {
    let long = [
        "--nodes",
        "--user",
        "--exclude",
        "--group",
        "--fanout",
        "--options",
    ];
    let letters = if program == "pdsh" {
        "wxgXlufRt"
    } else {
        "wxgXlfRtocO"
    };
    let options = Options::scan(fields, 1, letters, &long);
    let group = || {
        let named = options.value(&["-g", "--group"]);
        named
            .map(|name| format!("@{name}"))
            .or_else(|| options.has(&["-a", "--all"]).then(|| "all".to_owned()))
    };
    let list = match options.value(&["-w", "--nodes"]) {
        Some(list) => hosts(list),
        None => vec![group()?],
    };
    let text = joined(fields, options.rest);
    if text.is_empty() {
        return None;
    }
    let user = options.value(&["-l", "--user"]).map(str::to_owned);
    spread(&list, user.as_deref(), &text)
}

/// `ansible PATTERN -m shell -a 'text'`: a pattern that is no list of names stays as written.
pub(super) fn ansible(fields: &[Field]) -> Option<Hop> {
    let long = [
        "--inventory",
        "--module-name",
        "--args",
        "--user",
        "--become-user",
        "--become-method",
        "--forks",
        "--limit",
        "--extra-vars",
        "--private-key",
        "--timeout",
        "--poll",
        "--background",
    ];
    let short = "imaulfeTPBMt";
    let mut options = Options::scan(fields, 1, short, &long);
    let pattern = fields.get(options.rest)?.text.clone();
    let more = Options::scan(fields, options.rest + 1, short, &long);
    options.given.extend(more.given);
    let module = options.value(&["-m", "--module-name"]).unwrap_or("command");
    let module = module.rsplit('.').next().unwrap_or(module);
    if !matches!(module, "shell" | "command" | "raw") {
        return None;
    }
    let text = options.value(&["-a", "--args"])?.to_owned();
    let inventory = options
        .value(&["-i", "--inventory"])
        .filter(|list| list.contains(',') && pattern == "all");
    let names: Vec<String> = inventory
        .unwrap_or(&pattern)
        .split([',', ':'])
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .take(64)
        .collect();
    let become_root = options.has(&["-b", "--become"]).then_some("root");
    let user = options
        .value(&["--become-user"])
        .or(become_root)
        .or_else(|| options.value(&["-u", "--user"]));
    let mut hop = spread(&names, user, &text)?;
    for branch in &mut hop.branches {
        if let Load::Text { argv, shell, .. } = &mut branch.load {
            *argv = (module != "command").then(|| "/bin/sh -c".to_owned());
            *shell = ShellName::Other;
        }
    }
    Some(hop)
}

/// `mpirun -np 8 -H h1,h2 cmd`: one branch a host that is named, or here.
pub(super) fn mpi(fields: &[Field]) -> Option<Hop> {
    // Open MPI takes long options with one dash or two.
    const FLAGS: [&str; 14] = [
        "allow-run-as-root",
        "oversubscribe",
        "bind-to-core",
        "display-map",
        "tag-output",
        "report-bindings",
        "verbose",
        "v",
        "q",
        "quiet",
        "nooversubscribe",
        "use-hwthread-cpus",
        "timestamp-output",
        "merge-stderr-to-stdout",
    ];
    const PAIRS: [&str; 5] = ["mca", "gmca", "pmixmca", "genv", "env"];
    let mut at = 1;
    let mut list = None;
    while let Some(field) = fields.get(at) {
        let Some(name) = field.text.strip_prefix('-') else {
            break;
        };
        let name = name.trim_start_matches('-');
        at += 1;
        let (name, attached) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (name, None),
        };
        if attached.is_none() && !FLAGS.contains(&name) {
            at += if PAIRS.contains(&name) { 2 } else { 1 };
        }
        if matches!(name, "H" | "host" | "hosts") {
            let value = attached.map(str::to_owned);
            list = value.or_else(|| fields.get(at - 1).map(|field| field.text.clone()));
        }
    }
    let words = fields.get(at..).filter(|words| !words.is_empty())?;
    let Some(list) = list else {
        return Hop::wrapper(fields, at);
    };
    let branches: Vec<Branch> = hosts(&list)
        .iter()
        .map(|host| Branch {
            host: Some(host.split(':').next().unwrap_or(host).to_owned()),
            user: None,
            container: None,
            load: Load::Words(words.to_vec()),
        })
        .collect();
    let mut hop = Hop::new(HopKind::Detached, branches);
    hop.stdin_lost = true;
    Some(hop)
}

/// Keepers of machines that have an `ssh` or `exec` of their own.
pub(super) fn machines(program: &str, fields: &[Field]) -> Option<Hop> {
    let verb = fields.get(1)?.text.as_str();
    let (host, user, text) = match (program, verb) {
        ("vagrant", "ssh") => {
            let options = Options::scan(fields, 2, "c", &["--command"]);
            let name = fields.get(options.rest).map(|field| field.text.clone());
            let more = Options::scan(fields, options.rest + 1, "c", &["--command"]);
            let text = options
                .value(&["-c", "--command"])
                .or_else(|| more.value(&["-c", "--command"]))?;
            (
                name.unwrap_or_else(|| "default".to_owned()),
                None,
                text.to_owned(),
            )
        }
        ("tsh", "ssh") => {
            let options = Options::scan(fields, 2, "lpLDoiJ", &["--login", "--cluster", "--proxy"]);
            let (user, host) = split_destination(&fields.get(options.rest)?.text);
            let user = user.or_else(|| options.value(&["-l", "--login"]).map(str::to_owned));
            (host, user, joined(fields, options.rest + 1))
        }
        ("multipass", "exec") | ("limactl", "shell") => {
            let options = Options::scan(fields, 2, "d", &["--working-directory", "--workdir"]);
            let from = options.rest + 1;
            let dashed = fields.get(from).is_some_and(|field| field.text == "--");
            let text = joined(fields, from + usize::from(dashed));
            (fields.get(options.rest)?.text.clone(), None, text)
        }
        ("minikube", "ssh") => {
            let options = Options::scan(fields, 2, "pn", &["--profile", "--node"]);
            ("minikube".to_owned(), None, joined(fields, options.rest))
        }
        _ => return None,
    };
    if text.is_empty() {
        return None;
    }
    let branch = Branch {
        host: Some(host),
        user,
        container: None,
        load: login_text(text),
    };
    let mut hop = Hop::new(HopKind::Ssh, vec![branch]);
    hop.keeps_env = false;
    hop.cwd = Cwd::Home;
    Some(hop)
}

/// `parallel [-S h1,h2] cmd ::: args`: it gives its words, joined, to a shell; `{}` stands for each
/// argument that the line names.
pub(super) fn parallel(fields: &[Field]) -> Option<Hop> {
    let long = [
        "--sshlogin",
        "--jobs",
        "--joblog",
        "--results",
        "--delay",
        "--timeout",
        "--colsep",
    ];
    let options = Options::scan(fields, 1, "SjaINnCL", &long);
    let words: Vec<Field> = fields
        .get(options.rest..)?
        .iter()
        .take_while(|word| !matches!(&*word.text, ":::" | "::::" | ":::+"))
        .cloned()
        .collect();
    if words.is_empty() {
        return None;
    }
    let command = joined(&words, 0);
    if let Some(list) = options.value(&["-S", "--sshlogin"]) {
        return spread(&hosts(list), None, &command);
    }
    let lists = fields
        .iter()
        .filter(|word| matches!(&*word.text, ":::" | "::::" | ":::+"));
    let given = fields.iter().skip_while(|word| word.text != ":::").skip(1);
    let given: Vec<&Field> = given.collect();
    let hosts_differ = words.first().is_some_and(|word| word.text == "ssh");
    let known = lists.count() == 1 && given.len() <= 32 && given.iter().all(|word| word.literal);
    let texts: Vec<String> = if hosts_differ && known && !given.is_empty() {
        let whole = |word: &str| match command.contains("{}") {
            true => command.replace("{}", word),
            false => format!("{command} {word}"),
        };
        given.iter().map(|word| whole(&word.text)).collect()
    } else {
        vec![command]
    };
    let branches = texts.into_iter().map(|text| {
        Branch::here(Load::Text {
            text,
            argv: Some("bash -c".to_owned()),
            shell: ShellName::Bash,
            same_process: false,
        })
    });
    let mut hop = Hop::new(HopKind::ShellText, branches.collect());
    hop.stdin_lost = true;
    Some(hop)
}

fn spread(hosts: &[String], user: Option<&str>, text: &str) -> Option<Hop> {
    let branches: Vec<Branch> = hosts
        .iter()
        .map(|host| {
            let (named, host) = split_destination(host);
            let user = named.or_else(|| user.map(str::to_owned));
            Branch {
                host: Some(host),
                user,
                container: None,
                load: login_text(text.to_owned()),
            }
        })
        .collect();
    if branches.is_empty() {
        return None;
    }
    let mut hop = Hop::new(HopKind::Ssh, branches);
    hop.keeps_env = false;
    hop.stdin_lost = true;
    hop.cwd = Cwd::Home;
    Some(hop)
}

/// A host list: commas, and one range in brackets a name (`n[1-3,7]`); at most 64 hosts.
fn hosts(list: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut depth = 0_u32;
    let mut name = String::new();
    for c in list.chars().chain([',']) {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                unfold(&std::mem::take(&mut name), &mut out);
                continue;
            }
            _ => {}
        }
        name.push(c);
    }
    out.truncate(64);
    out
}

fn unfold(name: &str, out: &mut Vec<String>) {
    let parts = name.split_once('[').and_then(|(head, rest)| {
        let (inner, tail) = rest.split_once(']')?;
        Some((head, inner, tail))
    });
    let Some((head, inner, tail)) = parts else {
        if !name.is_empty() && out.len() < 64 {
            out.push(name.to_owned());
        }
        return;
    };
    for range in inner.split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (Ok(first), Ok(last)) = (from.parse::<u32>(), to.parse::<u32>()) else {
            continue;
        };
        for number in first..=last.min(first.saturating_add(63)) {
            if out.len() < 64 {
                out.push(format!("{head}{number:0width$}{tail}", width = from.len()));
            }
        }
    }
}
