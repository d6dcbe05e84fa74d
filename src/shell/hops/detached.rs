//! Hops to something that runs the rest apart from here: tmux, screen, units, queues.

use crate::shell::HopKind;
use crate::shell::build::Field;
use crate::shell::expand::ShellName;

use super::{Branch, Cwd, Hop, Load, Options, assignment, joined};

fn away(load: Load) -> Hop {
    let mut hop = Hop::new(HopKind::Detached, vec![Branch::here(load)]);
    hop.away = true;
    hop.stdin_lost = true;
    hop
}

/// One word is a text for a shell, several are run as they are.
fn words_or_text(words: &[Field]) -> Option<Load> {
    match words {
        [] => None,
        [text] => Some(Load::Text {
            text: text.text.clone(),
            argv: Some("bash -c".to_owned()),
            shell: ShellName::Bash,
            same_process: false,
        }),
        words => Some(Load::Words(words.to_vec())),
    }
}

fn typed(text: String) -> Load {
    Load::Text {
        text,
        argv: None,
        shell: ShellName::Never,
        same_process: false,
    }
}

/// Several commands may stand in one line, parted by `\;`.
pub(super) fn tmux(fields: &[Field]) -> Option<Hop> {
    let (program, words) = fields.split_first()?;
    let mut whole: Option<Hop> = None;
    for command in words.split(|field| field.text == ";").take(32) {
        let mut one = vec![program.clone()];
        one.extend(command.iter().cloned());
        let Some(hop) = tmux_command(&one) else {
            continue;
        };
        match &mut whole {
            Some(first) => first.branches.extend(hop.branches),
            None => whole = Some(hop),
        }
    }
    whole
}

fn tmux_command(fields: &[Field]) -> Option<Hop> {
    let front = Options::scan(fields, 1, "cfLST", &[]);
    let verb = fields.get(front.rest)?.text.as_str();
    let at = front.rest + 1;
    match verb {
        "new" | "new-session" | "neww" | "new-window" | "splitw" | "split-window"
        | "respawn-pane" | "respawnp" | "respawn-window" | "respawnw" => {
            let options = Options::scan(fields, at, "cefFnstxyl", &[]);
            let mut hop = away(words_or_text(fields.get(options.rest..)?)?);
            hop.cwd = match options.value(&["-c"]) {
                Some(dir) => Cwd::At(dir.to_owned()),
                None => Cwd::Keep,
            };
            for (name, value) in &options.given {
                let value = value.as_deref().filter(|_| name == "-e");
                hop.env
                    .extend(value.and_then(|value| assignment(&Field::plain(value))));
            }
            Some(hop)
        }
        "send-keys" | "send" => {
            let options = Options::scan(fields, at, "tN", &[]);
            let mut text = String::new();
            for word in fields.get(options.rest..)? {
                match word.text.as_str() {
                    "Enter" | "C-m" | "C-j" | "KPEnter" => text.push('\n'),
                    "Space" => text.push(' '),
                    key if key.len() == 3 && key.starts_with("C-") => {}
                    key => text.push_str(key),
                }
            }
            if text.trim().is_empty() {
                return None;
            }
            let mut hop = away(typed(text));
            hop.keeps_env = false;
            hop.cwd = Cwd::Unknown;
            Some(hop)
        }
        _ => None,
    }
}

pub(super) fn screen(fields: &[Field]) -> Option<Hop> {
    let mut at = 1;
    let (mut detached, mut log, mut logs) = (false, None, false);
    while let Some(word) = fields.get(at) {
        let option = word.text.as_str();
        if option == "-X" {
            return stuff(fields, at + 1);
        }
        if !option.starts_with('-') || option.len() < 2 {
            break;
        }
        at += 1;
        if option == "-Logfile" {
            log = fields.get(at).map(|word| word.text.clone());
            logs = true;
            at += 1;
            continue;
        }
        detached |= option.contains('d') || option.contains('D');
        logs |= option.contains('L');
        at += usize::from(option.ends_with(['S', 's', 't', 'e', 'h', 'p', 'T', 'c']));
    }
    let words = fields.get(at..).filter(|words| !words.is_empty())?;
    let mut hop = away(Load::Words(words.to_vec()));
    hop.away = detached;
    hop.log = logs.then(|| (log.unwrap_or_else(|| "screenlog.0".to_owned()), true));
    Some(hop)
}

/// `screen -X stuff 'text\n'` types a text.
fn stuff(fields: &[Field], at: usize) -> Option<Hop> {
    if fields.get(at)?.text != "stuff" {
        return None;
    }
    let text = joined(fields, at + 1)
        .replace("\\n", "\n")
        .replace("^M", "\n");
    let mut hop = away(typed(text));
    hop.keeps_env = false;
    hop.cwd = Cwd::Unknown;
    Some(hop)
}

pub(super) fn systemd_run(fields: &[Field]) -> Option<Hop> {
    let long = [
        "--unit",
        "--property",
        "--description",
        "--slice",
        "--uid",
        "--gid",
        "--nice",
        "--working-directory",
        "--setenv",
        "--host",
        "--machine",
        "--service-type",
        "--on-active",
        "--on-boot",
        "--on-calendar",
        "--on-unit-active",
        "--timer-property",
        "--path-property",
    ];
    let options = Options::scan(fields, 1, "upMHE", &long);
    let words = fields
        .get(options.rest..)
        .filter(|words| !words.is_empty())?;
    let scope = options.has(&["--scope"]);
    let mut hop = away(Load::Words(words.to_vec()));
    if scope {
        hop.kind = HopKind::Wrapper;
        hop.away = false;
        hop.stdin_lost = false;
    }
    if options.has(&["-P", "--pipe", "-t", "--pty"]) {
        hop.away = false;
        hop.stdin_lost = false;
    }
    hop.keeps_env = scope;
    if let Some(branch) = hop.branches.first_mut() {
        branch.user = options.value(&["--uid"]).map(str::to_owned);
        branch.host = options.value(&["-H", "--host"]).map(str::to_owned);
    }
    hop.cwd = match options.value(&["--working-directory"]) {
        Some(dir) => Cwd::At(dir.to_owned()),
        None if scope || options.has(&["-d", "--same-dir"]) => Cwd::Keep,
        None if options.has(&["--user"]) => Cwd::Home,
        None => Cwd::At("/".to_owned()),
    };
    for (name, value) in &options.given {
        let Some(value) = value.as_deref() else {
            continue;
        };
        match name.as_str() {
            "-E" | "--setenv" => hop.env.extend(assignment(&Field::plain(value))),
            "-p" | "--property" => {
                if let Some((key, setting)) = value.split_once('=') {
                    property(&mut hop, key, setting);
                }
            }
            _ => {}
        }
    }
    Some(hop)
}

fn property(hop: &mut Hop, key: &str, setting: &str) {
    match key {
        "WorkingDirectory" => hop.cwd = Cwd::At(setting.to_owned()),
        "Environment" => hop.env.extend(assignment(&Field::plain(setting))),
        "StandardOutput" => {
            if let Some((how, path)) = setting.split_once(':') {
                hop.log = Some((path.to_owned(), how == "append"));
            }
        }
        _ => {}
    }
}

/// `echo cmd | at now`, `at now <<EOF`.
pub(super) fn at(fields: &[Field], fed: bool) -> Option<Hop> {
    let listing = ["-l", "-r", "-d", "-c", "-f"];
    if !fed
        || fields
            .iter()
            .any(|field| listing.contains(&field.text.as_str()))
    {
        return None;
    }
    let mut hop = away(Load::Script { argv: None });
    hop.stdin_lost = false;
    Some(hop)
}

/// `daemonize -o log cmd`, `start-stop-daemon --start --exec cmd -- args`, `daemon -- cmd`.
pub(super) fn daemon(program: &str, fields: &[Field]) -> Option<Hop> {
    let (options, words) = match program {
        "daemonize" => {
            let options = Options::scan(fields, 1, "ceElopu", &[]);
            let words = fields.get(options.rest..)?.to_vec();
            (options, words)
        }
        "daemon" => {
            let long = [
                "--name",
                "--user",
                "--output",
                "--stdout",
                "--chdir",
                "--pidfile",
            ];
            let options = Options::scan(fields, 1, "nuoODPF", &long);
            let words = fields.get(options.rest..)?.to_vec();
            (options, words)
        }
        _ => {
            let long = [
                "--exec",
                "--startas",
                "--pidfile",
                "--name",
                "--user",
                "--chuid",
                "--group",
                "--chdir",
                "--chroot",
                "--nicelevel",
                "--umask",
                "--signal",
                "--retry",
                "--output",
            ];
            let options = Options::scan(fields, 1, "xapnucgdrNksRO", &long);
            if !options.has(&["-S", "--start"]) {
                return None;
            }
            let started = options.value(&["-a", "--startas", "-x", "--exec"])?;
            let mut words = vec![Field::plain(started)];
            words.extend(fields.get(options.rest..)?.iter().cloned());
            (options, words)
        }
    };
    if words.is_empty() {
        return None;
    }
    let mut hop = away(Load::Words(words));
    let log = options.value(&["-o", "-O", "--output", "--stdout"]);
    let append = program == "daemonize" && options.has(&["-a"]);
    hop.log = log.map(|path| (path.to_owned(), append));
    let (user, dir) = match program {
        "daemonize" => (options.value(&["-u"]), options.value(&["-c"]).or(Some("/"))),
        "daemon" => (
            options.value(&["-u", "--user"]),
            options.value(&["-D", "--chdir"]).or(Some("/")),
        ),
        _ => (
            options.value(&["-c", "--chuid"]),
            options.value(&["-d", "--chdir"]),
        ),
    };
    if let Some(branch) = hop.branches.first_mut() {
        branch.user = user
            .and_then(|user| user.split(':').next())
            .map(str::to_owned);
    }
    if let Some(dir) = dir {
        hop.cwd = Cwd::At(dir.to_owned());
    }
    Some(hop)
}

/// `ray job submit … -- cmd`: the cluster runs it.
pub(super) fn ray(fields: &[Field]) -> Option<Hop> {
    let verbs: Vec<&str> = fields
        .iter()
        .take(3)
        .map(|field| field.text.as_str())
        .collect();
    if verbs != ["ray", "job", "submit"] {
        return None;
    }
    let ends = fields.iter().position(|field| field.text == "--")?;
    let words = fields.get(ends + 1..).filter(|words| !words.is_empty())?;
    let mut hop = away(Load::Words(words.to_vec()));
    // Without --no-wait its output comes here.
    hop.away = fields.iter().any(|field| field.text == "--no-wait");
    hop.cwd = Cwd::Unknown;
    hop.keeps_env = false;
    Some(hop)
}

/// Options of srun and sbatch that take no value.
const SLURM_FLAGS: [&str; 12] = [
    "--pty",
    "--exclusive",
    "--overlap",
    "--unbuffered",
    "--label",
    "--verbose",
    "--quiet",
    "--oversubscribe",
    "--requeue",
    "--no-requeue",
    "--parsable",
    "--wait",
];

fn slurm_options(fields: &[Field]) -> Options {
    let long: Vec<&str> = fields
        .iter()
        .map(|field| field.text.as_str())
        .filter(|text| text.starts_with("--") && !SLURM_FLAGS.contains(text))
        .collect();
    Options::scan(fields, 1, "ABcCdDeFGiJLmMnNopqrStTwWx", &long)
}

pub(super) fn srun(fields: &[Field]) -> Option<Hop> {
    let options = slurm_options(fields);
    let words = fields
        .get(options.rest..)
        .filter(|words| !words.is_empty())?;
    let mut hop = away(Load::Words(words.to_vec()));
    // srun waits and brings the output here.
    hop.away = false;
    hop.stdin_lost = false;
    if let Some(branch) = hop.branches.first_mut() {
        let node = options.value(&["-w", "--nodelist"]);
        branch.host = node
            .filter(|node| !node.contains([',', '[']))
            .map(str::to_owned);
    }
    hop.log = options
        .value(&["-o", "--output"])
        .map(|path| (path.to_owned(), false));
    hop.cwd = match options.value(&["-D", "--chdir"]) {
        Some(dir) => Cwd::At(dir.to_owned()),
        None => Cwd::Keep,
    };
    Some(hop)
}

pub(super) fn sbatch(fields: &[Field]) -> Option<Hop> {
    let options = slurm_options(fields);
    let text = options.value(&["--wrap"])?.to_owned();
    let mut hop = away(Load::Text {
        text,
        argv: None,
        shell: ShellName::Other,
        same_process: false,
    });
    let log = options.value(&["-o", "--output"]).unwrap_or("slurm-%j.out");
    hop.log = Some((log.to_owned(), false));
    Some(hop)
}
