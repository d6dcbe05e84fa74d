//! How much a command line may change: what `rec` may offer, and what it may run when told to.
//!
//! A table of known programs and options, read with suspicion: what is not known changes state. A
//! hop has the class of what it carries; a line has that of its worst part.

use serde::{Deserialize, Serialize};

use super::{HopKind, Invocation, RedirectTo, Tree, parse};

mod scripts;
mod tables;
mod tools;

use tables::{ENDS, HEAVY, LOOKS};

/// How much a command may change, from harmless to final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Safety {
    /// It only looks.
    #[serde(rename = "read-only")]
    ReadOnly,
    /// It only looks, but weighs on the machine or stops a process while it looks.
    #[serde(rename = "heavy read")]
    HeavyRead,
    /// It changes something, or nobody knows.
    #[serde(rename = "changes state")]
    ChangesState,
    /// It ends processes or removes data.
    #[serde(rename = "destructive")]
    Destructive,
}

impl Safety {
    /// Its name: `read-only`, `heavy read`, `changes state`, `destructive`.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::HeavyRead => "heavy read",
            Self::ChangesState => "changes state",
            Self::Destructive => "destructive",
        }
    }
}

use Safety::{ChangesState, Destructive, HeavyRead, ReadOnly};

/// The class of a command line: that of its worst part. What cannot be read changes state.
pub fn safety(line: &str) -> Safety {
    let tree = parse(line);
    let mut worst = if tree.complaints.is_empty() {
        ReadOnly
    } else {
        ChangesState
    };
    for invocation in &tree.invocations {
        worst = worst.max(in_tree(&tree, invocation));
    }
    worst
}

/// The class of an invocation, what it carries left aside.
fn in_tree(tree: &Tree, invocation: &Invocation) -> Safety {
    let around = redirect_safety(invocation).max(environment_safety(invocation));
    let carries = || {
        tree.invocations
            .iter()
            .any(|other| other.parent == Some(invocation.index))
    };
    match invocation.hop {
        Some(_) if carries() => around.max(hop_safety(invocation)),
        Some(_) => ChangesState,
        // Somebody works there by hand.
        None if invocation.words.is_empty()
            && invocation.parent.is_some()
            && invocation.assignments.is_empty()
            && invocation.redirects.is_empty() =>
        {
            ChangesState
        }
        None if invocation.words.is_empty() => around,
        None => around.max(invocation_safety(invocation)),
    }
}

/// What a hop does besides carrying others.
fn hop_safety(hop: &Invocation) -> Safety {
    let words = hop.words.iter().map(|word| word.text.as_str());
    match (hop.hop, hop.program()) {
        // srun waits for a look; everything else is left behind.
        (Some(HopKind::Detached), "srun" | "mpirun" | "mpiexec") => HeavyRead,
        (Some(HopKind::Detached), _) => ChangesState,
        (Some(HopKind::Container), _) => {
            let makes = |word: &str| matches!(word, "run" | "debug" | "create");
            read_only_if(!words.clone().take(4).any(makes), ChangesState)
        }
        (Some(HopKind::Ssh), _) => {
            // Settings of ssh may run commands on this side.
            let runs = words.clone().any(|word| {
                let word = word.to_ascii_lowercase();
                word.contains("proxycommand")
                    || word.contains("localcommand")
                    || word.contains("knownhostscommand")
            });
            read_only_if(!runs && !hop.has_option(&["-E"]), ChangesState)
        }
        (_, "script" | "nsys" | "ncu" | "heaptrack") => ChangesState,
        (_, "perf") => read_only_if(
            hop.words.get(1).is_some_and(|w| w.text == "stat"),
            ChangesState,
        ),
        (_, "time" | "strace" | "ltrace") => {
            let base = if hop.program() == "time" {
                ReadOnly
            } else {
                HeavyRead
            };
            let writes = hop.option_value(&["-o", "--output"]).is_some();
            base.max(read_only_if(!writes, ChangesState))
        }
        (_, program) if HEAVY.contains(&program) => HeavyRead,
        _ => ReadOnly,
    }
}

/// Variables that make a harmless program run something else.
fn environment_safety(invocation: &Invocation) -> Safety {
    let acts = |name: &str| {
        matches!(
            name,
            "PATH"
                | "BASH_ENV"
                | "ENV"
                | "IFS"
                | "EDITOR"
                | "VISUAL"
                | "LESSOPEN"
                | "LESSCLOSE"
                | "BROWSER"
                | "SHELL"
                | "PROMPT_COMMAND"
                | "PYTHONSTARTUP"
                | "PERL5OPT"
                | "RUBYOPT"
                | "NODE_OPTIONS"
        ) || name.starts_with("LD_") && name != "LD_LIBRARY_PATH"
            || name.starts_with("GIT_")
            || name.ends_with("PAGER")
    };
    let exported = invocation
        .args()
        .iter()
        .filter(|_| matches!(invocation.program(), "export" | "declare" | "local"))
        .filter_map(|word| word.text.split_once('='));
    let mut names = invocation
        .assignments
        .iter()
        .map(|(name, _)| name.as_str())
        .chain(exported.map(|(name, _)| name));
    read_only_if(!names.any(acts), ChangesState)
}

/// A file that is written changes state; a device that is written is lost.
fn redirect_safety(invocation: &Invocation) -> Safety {
    let mut worst = ReadOnly;
    for redirect in &invocation.redirects {
        let (RedirectTo::Truncate { path } | RedirectTo::Append { path }) = &redirect.to else {
            continue;
        };
        let path = path.text.as_str();
        let device = [
            "/dev/sd",
            "/dev/nvme",
            "/dev/vd",
            "/dev/xvd",
            "/dev/md",
            "/dev/mem",
        ];
        worst = worst.max(match path {
            "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" => ReadOnly,
            // What reads it is judged by itself.
            _ if path.starts_with(">(") => ReadOnly,
            _ if device.iter().any(|device| path.starts_with(device)) => Destructive,
            "/proc/sysrq-trigger" => Destructive,
            _ => ChangesState,
        });
    }
    worst
}

/// The class of one invocation by its program and options, its redirections left aside.
pub(super) fn invocation_safety(invocation: &Invocation) -> Safety {
    let program = invocation.program();
    let args: Vec<&str> = invocation
        .args()
        .iter()
        .map(|word| word.text.as_str())
        .collect();
    if by_own_path(invocation) {
        return ChangesState;
    }
    let has = |names: &[&str]| invocation.has_option(names);
    // An expansion that is not quoted may turn out as options.
    let open = || {
        invocation
            .args()
            .iter()
            .any(|word| !word.literal && !word.quoted && word.text.starts_with(['$', '`']))
    };
    if OPEN_TO_OPTIONS.contains(&program) && open() {
        return ChangesState;
    }
    let first = || {
        args.iter()
            .find(|arg| !arg.starts_with('-'))
            .copied()
            .unwrap_or("")
    };
    if let [only] = args.as_slice()
        && matches!(*only, "--version" | "--help" | "-V")
    {
        return ReadOnly;
    }
    if program.is_empty() || LOOKS.contains(&program) {
        return ReadOnly;
    }
    if HEAVY.contains(&program) {
        return HeavyRead;
    }
    if ENDS.contains(&program) || program.starts_with("mkfs") {
        return Destructive;
    }
    match program {
        "kill" => read_only_if(
            args.iter().any(|arg| matches!(*arg, "-0" | "-l" | "-L")),
            Destructive,
        ),
        "fuser" => read_only_if(!has(&["-k", "--kill"]), Destructive),
        "find" | "fd" => tools::find(invocation, &args),
        "du" => weighs_root(&args),
        "ls" => read_only_if(
            !(has(&["-R"]) && weighs_root(&args) == HeavyRead),
            HeavyRead,
        ),
        "grep" | "egrep" | "rg" | "zgrep" => {
            let deep = has(&["-r", "-R", "--recursive"]) || program == "rg";
            let runs = args.iter().any(|arg| arg.starts_with("--pre"));
            read_only_if(!runs, ChangesState).max(read_only_if(
                !deep || weighs_root(&args) == ReadOnly,
                HeavyRead,
            ))
        }
        "curl" => tools::curl(invocation),
        "wget" => tools::wget(invocation, &args),
        "nvidia-smi" => tools::nvidia_smi(&args),
        "dcgmi" => match first() {
            "discovery" | "dmon" | "nvlink" | "topo" | "modules" | "version" => ReadOnly,
            "health" => read_only_if(!has(&["-s", "--set", "--clear"]), ChangesState),
            "diag" => HeavyRead,
            _ => ChangesState,
        },
        "rocm-smi" | "amd-smi" => {
            let shows = |arg: &&str| {
                arg.starts_with("--show")
                    || !arg.starts_with('-')
                    || matches!(
                        *arg,
                        "-a" | "-i" | "--json" | "--csv" | "-d" | "--alldevices"
                    )
            };
            if args.iter().any(|arg| arg.contains("reset")) {
                Destructive
            } else {
                read_only_if(
                    args.iter().all(shows) && !matches!(first(), "set"),
                    ChangesState,
                )
            }
        }
        "sed" => scripts::sed(invocation, &args),
        "awk" | "gawk" | "mawk" | "nawk" => scripts::awk(invocation, &args),
        "uniq" => read_only_if(
            args.iter().filter(|arg| !arg.starts_with('-')).count() < 2,
            ChangesState,
        ),
        "xxd" => read_only_if(
            !has(&["-r"]) && args.iter().filter(|arg| !arg.starts_with('-')).count() < 2,
            ChangesState,
        ),
        "tree" | "sar" => read_only_if(!has(&["-o"]), ChangesState),
        "file" => read_only_if(!has(&["-C"]), ChangesState),
        "ss" => read_only_if(!has(&["-K", "--kill"]), Destructive),
        "history" => read_only_if(!has(&["-c", "-d", "-w", "-a", "-r", "-n"]), ChangesState),
        "hash" => read_only_if(args.is_empty() || has(&["-r", "-l"]), ChangesState),
        "ping" => read_only_if(!has(&["-f"]), HeavyRead),
        "dd" => {
            let target = args.iter().find_map(|arg| arg.strip_prefix("of="));
            read_only_if(target.is_some_and(|path| path != "/dev/null"), HeavyRead).max(
                read_only_if(matches!(target, None | Some("/dev/null")), Destructive),
            )
        }
        "tcpdump" | "tshark" => HeavyRead.max(read_only_if(!has(&["-w", "-z"]), ChangesState)),
        "gdb" => scripts::gdb(invocation, &args),
        "perf" => HeavyRead.max(read_only_if(
            matches!(first(), "stat" | "top" | "report" | "list" | "script"),
            ChangesState,
        )),
        "jmap" => HeavyRead.max(read_only_if(
            !args.iter().any(|arg| arg.contains("dump")),
            ChangesState,
        )),
        "jcmd" => read_only_if(
            args.len() < 2
                || args.iter().any(|arg| {
                    matches!(
                        *arg,
                        "Thread.print"
                            | "VM.flags"
                            | "VM.version"
                            | "VM.uptime"
                            | "GC.heap_info"
                            | "help"
                            | "VM.command_line"
                    )
                }),
            ChangesState,
        )
        .max(HeavyRead),
        "sort" => read_only_if(
            invocation.option_value(&["-o", "--output"]).is_none(),
            ChangesState,
        ),
        "date" => {
            let values = ["-d", "-r", "-f", "--date", "--reference", "--file"];
            let mut before = "";
            let sets = args.iter().any(|arg| {
                let value = values.contains(&std::mem::replace(&mut before, *arg));
                !value && !arg.starts_with(['-', '+'])
                    || arg.starts_with("-s")
                    || arg.starts_with("--set")
            });
            read_only_if(!sets, ChangesState)
        }
        "hostname" | "domainname" => read_only_if(
            args.iter().all(|arg| arg.starts_with('-')) && !has(&["-F", "-b", "--file", "--boot"]),
            ChangesState,
        ),
        "dmesg" => read_only_if(
            !has(&["-C", "-c", "--clear", "-D", "-E", "-n"]),
            ChangesState,
        ),
        "sysctl" => read_only_if(
            !has(&["-w", "-p", "--system"]) && args.iter().all(|arg| !arg.contains('=')),
            ChangesState,
        ),
        "mount" | "ulimit" | "env" | "export" | "set" | "crontab" | "swapon" | "umask" => {
            bare(program, &args)
        }
        "ip" | "bridge" | "tc" => tools::ip(&args),
        "ifconfig" | "ethtool" => read_only_if(
            args.len() < 2
                || args
                    .iter()
                    .skip(1)
                    .all(|arg| matches!(*arg, "-S" | "-i" | "-k" | "-m")),
            ChangesState,
        ),
        "nc" | "ncat" | "netcat" => read_only_if(has(&["-z"]), ChangesState),
        "top" => read_only_if(
            has(&["-b"]) || invocation.option_value(&["-n"]).is_some(),
            ReadOnly,
        ),
        "journalctl" => read_only_if(
            !args.iter().any(|arg| {
                arg.starts_with("--vacuum")
                    || matches!(
                        *arg,
                        "--rotate"
                            | "--flush"
                            | "--sync"
                            | "--relinquish-var"
                            | "--update-catalog"
                            | "--setup-keys"
                    )
            }),
            ChangesState,
        ),
        "systemctl" | "loginctl" | "timedatectl" | "hostnamectl" | "supervisorctl" | "service"
        | "initctl" | "chronyc" => tools::managers(program, &args),
        "docker" | "podman" | "nerdctl" | "crictl" | "docker-compose" => {
            tools::engine(program, invocation)
        }
        "kubectl" | "oc" | "k3s" | "helm" => tools::cluster(program, invocation),
        "git" => tools::git(invocation, &args),
        "redis-cli" | "valkey-cli" => tools::redis(invocation),
        "psql" | "mysql" | "mariadb" | "sqlite3" | "clickhouse-client" => {
            tools::sql(invocation, &args)
        }
        "rsync" => read_only_if(
            !args
                .iter()
                .any(|arg| arg.starts_with("--del") || arg.starts_with("--remove-source")),
            Destructive,
        )
        .max(ChangesState),
        "virsh" | "ipmitool" | "zfs" | "zpool" | "nvme" | "mdadm" | "aws" | "gsutil" | "rclone"
        | "terraform" | "etcdctl" | "consul" | "ray" | "pm2" | "mysqladmin" | "apachectl"
        | "pg_ctl" | "launchctl" | "lxc" | "incus" | "btrfs" => tools::by_verb(program, &args),
        "openssl" => read_only_if(
            matches!(first(), "s_client" | "x509" | "version") && !args.contains(&"-out"),
            ChangesState,
        ),
        "ssh-keygen" => read_only_if(has(&["-l", "-F"]) && !has(&["-R"]), ChangesState),
        "nginx" => match invocation.option_value(&["-s"]) {
            Some("stop" | "quit") => Destructive,
            Some(_) => ChangesState,
            None => read_only_if(has(&["-t", "-T", "-v", "-V"]), ChangesState),
        },
        "pip" | "pip3" | "conda" | "npm" | "apt" | "apt-cache" | "yum" | "dnf" | "gem"
        | "cargo" | "uv" | "snap" | "brew" => {
            let looks = [
                "list", "show", "freeze", "search", "info", "policy", "ls", "outdated",
            ];
            let checks = first() == "check" && program.starts_with("pip");
            read_only_if(checks || looks.contains(&first()), ChangesState)
        }
        "dpkg" => read_only_if(
            args.first().is_some_and(|arg| {
                matches!(
                    *arg,
                    "-l" | "-L" | "-s" | "-S" | "--list" | "--status" | "--listfiles"
                )
            }),
            ChangesState,
        ),
        "rpm" => read_only_if(
            args.first()
                .is_some_and(|arg| arg.starts_with("-q") || *arg == "--query"),
            ChangesState,
        ),
        "ufw" => read_only_if(first() == "status", ChangesState),
        "firewall-cmd" => read_only_if(
            args.iter().all(|arg| {
                arg.starts_with("--list")
                    || arg.starts_with("--get")
                    || *arg == "--state"
                    || arg.starts_with("--zone")
            }),
            ChangesState,
        ),
        "scontrol" => read_only_if(first() == "show", ChangesState),
        "ldconfig" => read_only_if(args == ["-p"], ChangesState),
        "tmux" => match first() {
            "ls" | "list-sessions" | "capture-pane" | "has-session" | "lsw" | "list-panes"
            | "list-windows" => read_only_if(!args.contains(&";"), ChangesState),
            verb if verb.starts_with("kill-") => Destructive,
            _ => ChangesState,
        },
        "screen" => read_only_if(matches!(args.as_slice(), ["-ls" | "-list"]), ChangesState),
        "nft" => read_only_if(first() == "list", Destructive),
        "iptables" | "ip6tables" => {
            let acts = has(&[
                "-A", "-D", "-I", "-R", "-F", "-X", "-P", "-N", "-E", "-Z", "--append", "--delete",
                "--insert", "--flush", "--policy", "--zero",
            ]);
            read_only_if(
                has(&["-L", "-S", "--list", "--list-rules"]) && !acts,
                Destructive,
            )
        }
        "xargs" => read_only_if(args.iter().all(|arg| arg.starts_with('-')), ChangesState),
        "python" | "python3" => {
            read_only_if(matches!(args.as_slice(), ["-V" | "-VV"]), ChangesState)
        }
        "watch" | "time" => ReadOnly,
        _ => ChangesState,
    }
}

/// Programs that other options make dangerous.
const OPEN_TO_OPTIONS: [&str; 14] = [
    "find",
    "sed",
    "awk",
    "gawk",
    "curl",
    "wget",
    "sort",
    "date",
    "grep",
    "ip",
    "sysctl",
    "uniq",
    "nvidia-smi",
    "journalctl",
];

/// Called by a path that is not one of the system's: whatever its name, it is somebody's own.
pub(super) fn by_own_path(invocation: &Invocation) -> bool {
    const SYSTEM: [&str; 10] = [
        "/bin",
        "/sbin",
        "/usr/bin",
        "/usr/sbin",
        "/usr/local/bin",
        "/usr/local/sbin",
        "/usr/local/cuda/bin",
        "/opt/rocm/bin",
        "/opt/homebrew/bin",
        "/run/current-system/sw/bin",
    ];
    invocation
        .words
        .first()
        .and_then(|word| word.text.rsplit_once('/'))
        .is_some_and(|(folder, _)| !SYSTEM.contains(&folder))
}

fn read_only_if(looks: bool, otherwise: Safety) -> Safety {
    if looks { ReadOnly } else { otherwise }
}

/// Programs that look when they are given nothing to do.
fn bare(program: &str, args: &[&str]) -> Safety {
    let looks = match program {
        "ulimit" => args.iter().all(|arg| arg.starts_with('-')),
        "crontab" => {
            if args.contains(&"-r") {
                return Destructive;
            }
            args.first() == Some(&"-l")
        }
        "swapon" => args.iter().all(|arg| matches!(*arg, "-s" | "--show")),
        // They change their own shell only.
        "export" | "set" | "umask" | "env" => true,
        _ => args.is_empty() || args == ["-l"],
    };
    read_only_if(looks, ChangesState)
}

/// A path so near the root that reading below it reads much.
fn weighs_root(args: &[&str]) -> Safety {
    let near = args.iter().any(|arg| {
        arg.starts_with('/') && {
            let depth = arg
                .split('/')
                .filter(|part| !part.is_empty() && *part != "*")
                .count();
            depth == 0 || depth == 1 && !matches!(*arg, "/tmp" | "/etc" | "/boot" | "/run")
        }
    });
    read_only_if(!near, HeavyRead)
}
