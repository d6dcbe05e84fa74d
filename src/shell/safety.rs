//! How much a command line may change: what `rec` may offer, and what it may run when told to.
//!
//! A table of known programs and options, read with suspicion: what is not known changes state. A
//! hop has the class of what it carries; a line has that of its worst part.

use serde::{Deserialize, Serialize};

use super::{Invocation, RedirectTo, parse};

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
        let carries = invocation.hop.is_some()
            && tree
                .invocations
                .iter()
                .any(|other| other.parent == Some(invocation.index));
        worst = worst.max(match (invocation.hop, carries) {
            (Some(_), true) => redirect_safety(invocation),
            (Some(_), false) => ChangesState,
            (None, _) if invocation.words.is_empty() && invocation.parent.is_some() => {
                // Somebody works there by hand.
                let session = invocation.assignments.is_empty() && invocation.redirects.is_empty();
                if session {
                    ChangesState
                } else {
                    redirect_safety(invocation)
                }
            }
            (None, _) => redirect_safety(invocation).max(invocation_safety(invocation)),
        });
    }
    worst
}

/// A file that is written changes state.
fn redirect_safety(invocation: &Invocation) -> Safety {
    let writes = invocation
        .redirects
        .iter()
        .any(|redirect| match &redirect.to {
            RedirectTo::Truncate { path } | RedirectTo::Append { path } => !matches!(
                &*path.text,
                "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty"
            ),
            _ => false,
        });
    if writes { ChangesState } else { ReadOnly }
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
        "find" => find(&args),
        "du" => weighs_root(&args),
        "ls" => read_only_if(
            !(has(&["-R"]) && weighs_root(&args) == HeavyRead),
            HeavyRead,
        ),
        "grep" | "egrep" | "rg" | "zgrep" => {
            let deep = has(&["-r", "-R", "--recursive"]) || program == "rg";
            read_only_if(!deep || weighs_root(&args) == ReadOnly, HeavyRead)
        }
        "curl" => curl(invocation, &args),
        "wget" => {
            let prints = args
                .iter()
                .any(|arg| matches!(*arg, "--spider" | "-O-" | "-qO-"))
                || invocation.option_value(&["-O"]) == Some("-");
            read_only_if(
                prints && !args.iter().any(|arg| arg.starts_with("--post")),
                ChangesState,
            )
        }
        "nvidia-smi" => nvidia_smi(&args),
        "rocm-smi" => read_only_if(
            args.iter().all(|arg| !arg.starts_with("--set")),
            ChangesState,
        ),
        "sed" => {
            let edits = args.iter().any(|arg| {
                arg.starts_with("--in-place")
                    || arg.starts_with('-') && !arg.starts_with("--") && arg.contains('i')
            });
            read_only_if(!edits, ChangesState)
        }
        "awk" | "gawk" | "mawk" => {
            let acts = args.iter().any(|arg| {
                arg.contains("system(") || arg.contains("print >") || arg.contains("| \"")
            });
            read_only_if(!acts && !has(&["-i"]), ChangesState)
        }
        "sort" => read_only_if(
            invocation.option_value(&["-o", "--output"]).is_none(),
            ChangesState,
        ),
        "date" => read_only_if(!has(&["-s", "--set"]), ChangesState),
        "hostname" => read_only_if(args.iter().all(|arg| arg.starts_with('-')), ChangesState),
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
        "ip" | "bridge" => read_only_if(
            !args.iter().any(|arg| {
                matches!(
                    *arg,
                    "add" | "del" | "delete" | "set" | "flush" | "change" | "replace"
                )
            }),
            ChangesState,
        ),
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
                arg.starts_with("--vacuum") || matches!(*arg, "--rotate" | "--flush" | "--sync")
            }),
            ChangesState,
        ),
        "systemctl" | "loginctl" | "timedatectl" | "hostnamectl" | "supervisorctl" | "service"
        | "initctl" | "chronyc" => managers(program, &args),
        "docker" | "podman" | "nerdctl" | "crictl" | "docker-compose" => engine(&args),
        "kubectl" | "oc" | "k3s" | "helm" => cluster(&args),
        "git" => git(&args),
        "redis-cli" | "valkey-cli" => redis(&args),
        "openssl" => read_only_if(
            matches!(first(), "s_client" | "x509" | "version"),
            ChangesState,
        ),
        "ssh-keygen" => read_only_if(has(&["-l", "-F"]) && !has(&["-R"]), ChangesState),
        "nginx" => read_only_if(
            has(&["-t", "-T", "-v", "-V"]) && !has(&["-s"]),
            ChangesState,
        ),
        "pip" | "pip3" | "conda" | "npm" | "apt" | "apt-cache" | "yum" | "dnf" | "gem"
        | "cargo" | "uv" | "snap" | "brew" => {
            let looks = [
                "list", "show", "freeze", "search", "info", "check", "policy", "ls", "outdated",
            ];
            read_only_if(looks.contains(&first()), ChangesState)
        }
        "dpkg" => read_only_if(has(&["-l", "-L", "-s", "-S", "--list"]), ChangesState),
        "rpm" => read_only_if(
            has(&["-q", "--query"]) && !has(&["-e", "-i", "-U"]),
            ChangesState,
        ),
        "scontrol" => read_only_if(first() == "show", ChangesState),
        "ipcs" | "ldconfig" => read_only_if(program == "ipcs" || has(&["-p"]), ChangesState),
        "tmux" => read_only_if(
            matches!(
                first(),
                "ls" | "list-sessions" | "capture-pane" | "has-session" | "lsw" | "list-panes"
            ),
            ChangesState,
        ),
        "screen" => read_only_if(has(&["-ls", "-list"]), ChangesState),
        "iptables" | "nft" => {
            read_only_if(has(&["-L", "-S", "-n"]) || first() == "list", Destructive)
        }
        "xargs" => ReadOnly,
        "python" | "python3" => {
            read_only_if(matches!(args.as_slice(), ["-V" | "-VV"]), ChangesState)
        }
        "watch" | "time" => ReadOnly,
        _ => ChangesState,
    }
}

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

/// Programs that only look, whatever their options.
const LOOKS: &[&str] = &[
    "pgrep",
    "pidof",
    "ps",
    "pstree",
    "uptime",
    "w",
    "who",
    "whoami",
    "id",
    "last",
    "free",
    "vmstat",
    "iostat",
    "mpstat",
    "sar",
    "pidstat",
    "numastat",
    "lscpu",
    "lsblk",
    "lspci",
    "lsmod",
    "lsusb",
    "lsns",
    "lsof",
    "cat",
    "tac",
    "head",
    "tail",
    "less",
    "more",
    "wc",
    "fgrep",
    "zcat",
    "zless",
    "cut",
    "uniq",
    "tr",
    "nl",
    "od",
    "xxd",
    "hexdump",
    "strings",
    "file",
    "stat",
    "tree",
    "readlink",
    "realpath",
    "basename",
    "dirname",
    "pwd",
    "uname",
    "printenv",
    "echo",
    "printf",
    "true",
    "false",
    "test",
    "[",
    "[[",
    "((",
    ":",
    "cd",
    "pushd",
    "popd",
    "sleep",
    "wait",
    "jobs",
    "type",
    "which",
    "whereis",
    "command",
    "hash",
    "history",
    "exit",
    "return",
    "break",
    "continue",
    "ss",
    "netstat",
    "ping",
    "ping6",
    "dig",
    "nslookup",
    "host",
    "getent",
    "traceroute",
    "tracepath",
    "mtr",
    "df",
    "findmnt",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "cksum",
    "sum",
    "diff",
    "cmp",
    "comm",
    "jq",
    "column",
    "paste",
    "fold",
    "expand",
    "rev",
    "seq",
    "nproc",
    "getconf",
    "arch",
    "ldd",
    "nm",
    "objdump",
    "readelf",
    "c++filt",
    "namei",
    "getfacl",
    "lsattr",
    "modinfo",
    "dcgmi",
    "gpustat",
    "nvtop",
    "ibv_devinfo",
    "ibstat",
    "ibstatus",
    "show_gids",
    "sinfo",
    "squeue",
    "sacct",
    "ssh-keyscan",
    "ntpq",
    "nvidia-bug-report",
    "locale",
    "tty",
    "groups",
    "lastlog",
    "tload",
    "slabtop",
    "egrep",
    "rg",
    "zgrep",
    "bzcat",
    "xzcat",
    "zstdcat",
    "ipcs",
    "shift",
    "read",
    "unset",
    "local",
    "lsipc",
];

/// Programs that look at a price: they stop what they look at, or read everything.
const HEAVY: &[&str] = &[
    "py-spy", "strace", "ltrace", "gdb", "perf", "bpftrace", "tcpdump", "jstack", "jmap", "jcmd",
    "gcore", "nsys", "ncu", "iotop", "valgrind", "pstack", "eu-stack", "dstat", "atop", "rbspy",
    "tshark", "bcc", "lttng",
];

/// Programs that end processes, remove data, or stop the machine.
const ENDS: &[&str] = &[
    "pkill",
    "killall",
    "skill",
    "rm",
    "rmdir",
    "unlink",
    "dd",
    "shred",
    "wipefs",
    "fdisk",
    "parted",
    "sgdisk",
    "truncate",
    "reboot",
    "shutdown",
    "halt",
    "poweroff",
    "init",
    "telinit",
    "userdel",
    "groupdel",
    "lvremove",
    "vgremove",
    "pvremove",
    "zpool",
    "dropdb",
    "swapoff",
    "blkdiscard",
    "ipcrm",
    "srm",
    "xkill",
    "slay",
    "scancel",
];

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

fn find(args: &[&str]) -> Safety {
    if args.contains(&"-delete") {
        return Destructive;
    }
    let runs = args
        .iter()
        .position(|arg| matches!(*arg, "-exec" | "-execdir" | "-ok"));
    if let Some(at) = runs {
        let program = args.get(at + 1).copied().unwrap_or("");
        return if ENDS.contains(&program) {
            Destructive
        } else {
            read_only_if(
                LOOKS.contains(&program) || matches!(program, "grep" | "ls"),
                ChangesState,
            )
            .max(weighs_root(args))
        };
    }
    if args
        .iter()
        .any(|arg| arg.starts_with("-fprint") || arg.starts_with("-fls"))
    {
        return ChangesState;
    }
    weighs_root(args)
}

fn curl(invocation: &Invocation, args: &[&str]) -> Safety {
    let method = invocation
        .option_value(&["-X", "--request"])
        .unwrap_or("GET");
    let sends = args.iter().any(|arg| {
        arg.starts_with("--data")
            || arg.starts_with("--json")
            || arg.starts_with("--form")
            || arg.starts_with("--upload")
            || arg.starts_with("--output-dir")
            || matches!(*arg, "--remote-name" | "--cookie-jar")
            || arg.starts_with('-') && !arg.starts_with("--") && {
                // Letters before the first that takes a value.
                let flags = arg.get(1..).unwrap_or("");
                let end = flags.find(['X', 'H', 'w', 'm', 'u', 'b', 'A', 'e', 'x', 'o', 'r', 'K']);
                flags
                    .get(..end.unwrap_or(flags.len()))
                    .unwrap_or("")
                    .contains(['d', 'F', 'T', 'O', 'c'])
            }
    });
    let file = invocation.option_value(&["-o", "--output"]).or_else(|| {
        let at = args
            .iter()
            .position(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.ends_with('o'))?;
        args.get(at + 1).copied()
    });
    let writes = file.is_some_and(|file| !matches!(file, "/dev/null" | "-" | "/dev/stdout"));
    match method {
        "DELETE" => Destructive,
        "GET" | "HEAD" | "OPTIONS" => read_only_if(!sends && !writes, ChangesState),
        _ => ChangesState,
    }
}

fn nvidia_smi(args: &[&str]) -> Safety {
    if args.iter().any(|arg| matches!(*arg, "-r" | "--gpu-reset")) {
        return Destructive;
    }
    let sets = args.iter().any(|arg| {
        let name = arg.split('=').next().unwrap_or(arg);
        matches!(
            name,
            "-pm"
                | "-pl"
                | "-lgc"
                | "-rgc"
                | "-lmc"
                | "-rmc"
                | "-ac"
                | "-rac"
                | "-c"
                | "-e"
                | "-p"
                | "-mig"
                | "-am"
                | "-caa"
                | "-gtt"
                | "-cc"
                | "drain"
                | "-dm"
                | "-fdm"
                | "-cgi"
                | "-cci"
                | "-dgi"
                | "-dci"
                | "-f"
                | "--filename"
                | "--persistence-mode"
                | "--power-limit"
                | "--lock-gpu-clocks"
                | "--reset-gpu-clocks"
                | "--compute-mode"
                | "--ecc-config"
                | "--reset-ecc-errors"
                | "--applications-clocks"
                | "--multi-instance-gpu"
        )
    });
    let dmon = args
        .first()
        .is_some_and(|arg| matches!(*arg, "dmon" | "pmon" | "topo"));
    read_only_if(!sets || dmon, ChangesState)
}

fn managers(program: &str, args: &[&str]) -> Safety {
    let verbs: Vec<&str> = args
        .iter()
        .filter(|arg| !arg.starts_with('-'))
        .copied()
        .collect();
    let verb = match program {
        "service" => verbs.get(1).or(verbs.first()),
        _ => verbs.first(),
    };
    match verb.copied().unwrap_or("") {
        "stop" | "kill" | "poweroff" | "reboot" | "halt" | "kexec" | "emergency" | "rescue"
        | "terminate-session" | "terminate-user" | "kill-session" | "kill-user" | "shutdown" => {
            Destructive
        }
        "" | "status" | "show" | "cat" | "is-active" | "is-enabled" | "is-failed"
        | "get-default" | "show-environment" | "show-user" | "show-session" | "show-timesync"
        | "timesync-status" | "tail" | "avail" | "pid" | "sources" | "tracking" | "sourcestats"
        | "user-status" => ReadOnly,
        verb if verb.starts_with("list-") => ReadOnly,
        _ => ChangesState,
    }
}

fn engine(args: &[&str]) -> Safety {
    let verbs: Vec<&str> = args
        .iter()
        .filter(|arg| !arg.starts_with('-'))
        .copied()
        .collect();
    let verbs = match verbs.as_slice() {
        [
            "compose" | "container" | "image" | "volume" | "network",
            rest @ ..,
        ] => rest,
        all => all,
    };
    match verbs {
        [
            "ps" | "logs" | "inspect" | "images" | "info" | "version" | "stats" | "top" | "port"
            | "diff" | "history" | "events" | "search" | "ls" | "pods" | "inspecti" | "config",
            ..,
        ] => ReadOnly,
        ["system", "df" | "info", ..] => ReadOnly,
        ["rm" | "rmi" | "kill" | "prune" | "stop" | "down", ..] | ["system", "prune", ..] => {
            Destructive
        }
        _ => ChangesState,
    }
}

fn cluster(args: &[&str]) -> Safety {
    let mut verbs = args.iter().filter(|arg| !arg.starts_with('-')).copied();
    let known = [
        "get",
        "describe",
        "logs",
        "top",
        "version",
        "explain",
        "api-resources",
        "cluster-info",
        "events",
        "auth",
        "list",
        "status",
        "history",
        "delete",
        "drain",
        "apply",
        "edit",
        "patch",
        "scale",
        "set",
        "rollout",
        "cp",
        "cordon",
        "uninstall",
        "whoami",
        "diff",
    ];
    match verbs.find(|verb| known.contains(verb)).unwrap_or("") {
        "delete" | "drain" | "uninstall" => Destructive,
        "rollout" => read_only_if(
            args.iter().any(|arg| matches!(*arg, "status" | "history")),
            ChangesState,
        ),
        "get" | "describe" | "logs" | "top" | "version" | "explain" | "api-resources"
        | "cluster-info" | "events" | "auth" | "list" | "status" | "history" | "whoami"
        | "diff" => ReadOnly,
        _ => ChangesState,
    }
}

fn git(args: &[&str]) -> Safety {
    let mut verbs = args.iter().filter(|arg| !arg.starts_with('-')).copied();
    match verbs.next().unwrap_or("") {
        "status" | "log" | "diff" | "show" | "rev-parse" | "describe" | "blame" | "ls-files"
        | "shortlog" | "grep" | "reflog" | "cat-file" | "version" => ReadOnly,
        "remote" | "branch" | "tag" | "stash" => {
            let next = verbs.next();
            read_only_if(matches!(next, None | Some("list" | "show")), ChangesState)
        }
        "reset" if args.contains(&"--hard") => Destructive,
        "clean" => Destructive,
        _ => ChangesState,
    }
}

fn redis(args: &[&str]) -> Safety {
    const LOOKS: &[&str] = &[
        "ping", "info", "get", "llen", "ttl", "type", "keys", "scan", "dbsize", "lrange",
        "hgetall", "client", "memory", "slowlog", "exists", "lastsave", "role",
    ];
    let lower: Vec<String> = args.iter().map(|arg| arg.to_ascii_lowercase()).collect();
    if lower
        .iter()
        .any(|arg| matches!(arg.as_str(), "flushall" | "flushdb" | "shutdown" | "del"))
    {
        return Destructive;
    }
    let config_get = lower.windows(2).any(|pair| pair == ["config", "get"]);
    let looks = config_get || lower.iter().any(|arg| LOOKS.contains(&arg.as_str()));
    read_only_if(looks, ChangesState)
}
