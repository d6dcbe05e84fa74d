//! Programs whose class hangs on their options and verbs: searches, web clients, managers of
//! services, engines, databases.

use super::Safety::{self, ChangesState, Destructive, HeavyRead, ReadOnly};
use super::{read_only_if, safety, weighs_root};
use crate::shell::Invocation;
use crate::shell::carry::field_of;
use crate::shell::hops::Options;
use crate::shell::quote::join;

pub(super) fn scan(invocation: &Invocation, short: &str, long: &[&str]) -> Options {
    let fields: Vec<_> = invocation.words.iter().map(field_of).collect();
    Options::scan(&fields, 1, short, long)
}

/// The words behind the global options of a program.
fn verbs<'a>(invocation: &'a Invocation, options: &Options) -> Vec<&'a str> {
    let rest = invocation.words.get(options.rest..).unwrap_or_default();
    rest.iter().map(|word| word.text.as_str()).collect()
}

pub(super) fn find(invocation: &Invocation, args: &[&str]) -> Safety {
    if args.contains(&"-delete") {
        return Destructive;
    }
    if args
        .iter()
        .any(|arg| arg.starts_with("-fprint") || arg.starts_with("-fls"))
    {
        return ChangesState;
    }
    let mut worst = weighs_root(args);
    let runs = [
        "-exec",
        "-execdir",
        "-ok",
        "-okdir",
        "-x",
        "-X",
        "--exec",
        "--exec-batch",
    ];
    let fd = invocation.program() == "fd";
    for (at, arg) in args.iter().enumerate() {
        if !runs.contains(arg) || arg.len() == 2 && !fd {
            continue;
        }
        let command = args.get(at + 1..).unwrap_or_default().iter();
        let command: Vec<String> = command
            .take_while(|word| !matches!(**word, ";" | "+"))
            .take(256)
            .map(|word| (*word).to_owned())
            .collect();
        worst = worst.max(match command.first() {
            Some(program) if program != "find" => safety(&join(&command)),
            _ => ChangesState,
        });
    }
    worst
}

pub(super) fn curl(invocation: &Invocation) -> Safety {
    const VALUES: &str = "AbcCdDeEFHKmoPQrtTuUwxXyYz";
    let options = scan(invocation, VALUES, &LONG_WITH_VALUE);
    let mut given = options.given;
    // Options may stand behind the address.
    let fields: Vec<_> = invocation.words.iter().map(field_of).collect();
    let mut at = options.rest + 1;
    let mut plain: Vec<String> = fields
        .get(options.rest)
        .map(|f| f.text.clone())
        .into_iter()
        .collect();
    while at < fields.len() {
        let more = Options::scan(&fields, at, VALUES, &LONG_WITH_VALUE);
        given.extend(more.given);
        plain.extend(fields.get(more.rest).map(|field| field.text.clone()));
        at = more.rest + 1;
    }
    let value = |names: &[&str]| {
        let found = given
            .iter()
            .rev()
            .find(|(name, _)| names.contains(&name.as_str()));
        found.and_then(|(_, value)| value.as_deref())
    };
    match value(&["-X", "--request"]).unwrap_or("GET") {
        "DELETE" => return Destructive,
        "GET" | "HEAD" | "OPTIONS" => {}
        _ => return ChangesState,
    }
    let harmless_target =
        |path: &str| matches!(path, "/dev/null" | "-" | "/dev/stdout" | "/dev/stderr");
    let acts = given.iter().any(|(name, value)| match name.as_str() {
        "-o" | "--output" | "-D" | "--dump-header" | "--stderr" | "--trace" | "--trace-ascii" => {
            !value.as_deref().is_some_and(harmless_target)
        }
        "-d" | "-F" | "-T" | "-O" | "-c" | "-K" | "-Q" | "-J" => true,
        name => [
            "--data",
            "--json",
            "--form",
            "--upload",
            "--remote-name",
            "--cookie-jar",
            "--config",
            "--quote",
            "--output-dir",
            "--url-query",
        ]
        .iter()
        .any(|start| name.starts_with(start)),
    });
    // An address that does something when it is asked for.
    let orders = [
        "shutdown",
        "quit",
        "restart",
        "reload",
        "flush",
        "reset",
        "delete",
        "kill",
        "stop",
        "abort",
        "drain",
        "sleep_mode",
        "/sleep",
        "wake_up",
    ];
    let ordered = plain
        .iter()
        .any(|url| orders.iter().any(|order| url.contains(order)));
    read_only_if(!acts && !ordered, ChangesState)
}

const LONG_WITH_VALUE: [&str; 26] = [
    "--request",
    "--output",
    "--header",
    "--user",
    "--max-time",
    "--connect-timeout",
    "--write-out",
    "--retry",
    "--retry-delay",
    "--user-agent",
    "--cookie",
    "--cookie-jar",
    "--dump-header",
    "--data",
    "--cacert",
    "--cert",
    "--key",
    "--resolve",
    "--proxy",
    "--range",
    "--interface",
    "--stderr",
    "--trace",
    "--trace-ascii",
    "--unix-socket",
    "--config",
];

pub(super) fn wget(invocation: &Invocation, args: &[&str]) -> Safety {
    let options = scan(
        invocation,
        "oaeiOPtTUQ",
        &[
            "--output-document",
            "--method",
            "--output-file",
            "--timeout",
            "--tries",
            "--header",
        ],
    );
    let target = options.value(&["-O", "--output-document"]);
    let prints = args.contains(&"--spider")
        || target.is_some_and(|path| matches!(path, "-" | "/dev/null" | "/dev/stdout"));
    let sends = args.iter().any(|arg| {
        arg.starts_with("--post") || arg.starts_with("--method") || arg.starts_with("--body")
    });
    let log = options.has(&["-o", "-a", "--output-file", "--append-output", "-i", "-e"]);
    read_only_if(prints && !sends && !log, ChangesState)
}

/// What is not known to look may set something.
pub(super) fn nvidia_smi(args: &[&str]) -> Safety {
    if args.iter().any(|arg| matches!(*arg, "-r" | "--gpu-reset")) {
        return Destructive;
    }
    let verb = args.first().copied().unwrap_or("");
    match verb {
        "topo" => return ReadOnly,
        "dmon" | "pmon" => {
            let file = args.iter().any(|arg| matches!(*arg, "-f" | "--filename"));
            return read_only_if(!file, ChangesState);
        }
        "nvlink" => {
            let sets = args.iter().skip(1).any(|arg| {
                arg.starts_with('-')
                    && !matches!(
                        *arg,
                        "-s" | "-i"
                            | "-e"
                            | "-c"
                            | "-h"
                            | "-p"
                            | "-R"
                            | "--status"
                            | "--id"
                            | "--errorcounters"
                            | "--capabilities"
                    )
            });
            return read_only_if(!sets, ChangesState);
        }
        "mig" => {
            let lists = args.iter().skip(1).any(|arg| arg.starts_with("-l"));
            return read_only_if(lists, ChangesState);
        }
        verb if !verb.is_empty() && !verb.starts_with('-') => return ChangesState,
        _ => {}
    }
    let mut takes = false;
    let looks = args.iter().all(|arg| {
        if std::mem::take(&mut takes) && !arg.starts_with('-') {
            return true;
        }
        let name = arg.split('=').next().unwrap_or(arg);
        takes = matches!(
            name,
            "-i" | "--id"
                | "-d"
                | "--display"
                | "-l"
                | "--loop"
                | "-lms"
                | "--loop-ms"
                | "--format"
                | "--query-gpu"
                | "--query-compute-apps"
        ) && !arg.contains('=');
        matches!(
            name,
            "-i" | "--id"
                | "-d"
                | "--display"
                | "-l"
                | "--loop"
                | "-lms"
                | "--loop-ms"
                | "-q"
                | "--query"
                | "-L"
                | "--list-gpus"
                | "-B"
                | "-x"
                | "--xml-format"
                | "-h"
                | "--help"
                | "--version"
                | "-a"
                | "-u"
                | "--format"
        ) || name.starts_with("--query-")
            || name.starts_with("--list-")
            || name.starts_with("--help-")
            || name
                .strip_prefix("-l")
                .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
            || name
                .strip_prefix("-i")
                .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
    });
    read_only_if(looks, ChangesState)
}

pub(super) fn ip(args: &[&str]) -> Safety {
    let mut plain = args.iter().filter(|arg| !arg.starts_with('-'));
    if args
        .iter()
        .any(|arg| arg.starts_with("-b") && *arg != "-br" && *arg != "-brief")
    {
        return ChangesState;
    }
    let object = plain.next().copied().unwrap_or("");
    let verb = plain.next().copied().unwrap_or("");
    let looks = matches!(
        verb,
        "" | "show" | "list" | "lst" | "ls" | "sh" | "get" | "dev" | "stats"
    ) || verb == "s" && object.starts_with('a')
        || object == "monitor";
    read_only_if(looks, ChangesState)
}

pub(super) fn managers(program: &str, args: &[&str]) -> Safety {
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
        | "suspend" | "hibernate" | "isolate" | "soft-reboot" | "terminate-session"
        | "terminate-user" | "kill-session" | "kill-user" | "shutdown" => Destructive,
        "" | "status" | "show" | "cat" | "is-active" | "is-enabled" | "is-failed"
        | "get-default" | "show-environment" | "show-user" | "show-session" | "show-timesync"
        | "timesync-status" | "tail" | "avail" | "pid" | "sources" | "tracking" | "sourcestats"
        | "user-status" => ReadOnly,
        verb if verb.starts_with("list-") => ReadOnly,
        _ => ChangesState,
    }
}

pub(super) fn engine(program: &str, invocation: &Invocation) -> Safety {
    let long = [
        "--host",
        "--context",
        "--config",
        "--log-level",
        "--url",
        "--connection",
        "--file",
        "--project-name",
        "--profile",
        "--env-file",
    ];
    let short = if program.ends_with("compose") {
        "fp"
    } else {
        "Hcl"
    };
    let options = scan(invocation, short, &long);
    let all = verbs(invocation, &options);
    let plain: Vec<&str> = all
        .iter()
        .copied()
        .filter(|word| !word.starts_with('-'))
        .collect();
    let compose = program.ends_with("compose") || plain.first() == Some(&"compose");
    let rest = match plain.as_slice() {
        ["compose", ..] => {
            let front = all.iter().position(|word| *word == "compose").unwrap_or(0);
            let inner = invocation
                .words
                .get(options.rest + front + 1..)
                .unwrap_or_default();
            let fields: Vec<_> = inner.iter().map(field_of).collect();
            let inner_options = Options::scan(&fields, 0, "fp", &long);
            inner
                .get(inner_options.rest..)
                .unwrap_or_default()
                .iter()
                .map(|word| word.text.as_str())
                .filter(|word| !word.starts_with('-'))
                .collect()
        }
        [
            noun @ ("container" | "image" | "volume" | "network" | "config" | "secret" | "node"
            | "stack" | "service" | "system" | "builder" | "context" | "plugin" | "pod"
            | "buildx"),
            rest @ ..,
        ] => {
            let mut words = rest.to_vec();
            if *noun == "system" && matches!(rest.first(), Some(&("df" | "info" | "events"))) {
                return ReadOnly;
            }
            if words.is_empty() {
                words.push("");
            }
            words
        }
        _ => plain.clone(),
    };
    match rest.as_slice() {
        [
            "ps" | "logs" | "inspect" | "images" | "info" | "version" | "stats" | "top" | "port"
            | "diff" | "history" | "events" | "search" | "ls" | "list" | "pods" | "inspecti"
            | "inspectp" | "statsp" | "imagefsinfo",
            ..,
        ] => ReadOnly,
        ["config" | "convert", ..] if compose => ReadOnly,
        [
            "rm" | "rmi" | "rmp" | "kill" | "prune" | "stop" | "stopp" | "down" | "remove"
            | "leave",
            ..,
        ] => Destructive,
        _ => ChangesState,
    }
}

pub(super) fn cluster(program: &str, invocation: &Invocation) -> Safety {
    let long = [
        "--namespace",
        "--context",
        "--kubeconfig",
        "--cluster",
        "--user",
        "--server",
        "--token",
        "--as",
        "--kube-context",
        "--request-timeout",
    ];
    let options = scan(invocation, "ns", &long);
    let mut all = verbs(invocation, &options);
    if all.first() == Some(&"kubectl") {
        all.remove(0);
    }
    let plain: Vec<&str> = all
        .into_iter()
        .filter(|word| !word.starts_with('-'))
        .collect();
    match plain.as_slice() {
        ["delete" | "drain" | "uninstall" | "evict", ..] => Destructive,
        ["rollout", "status" | "history", ..] => ReadOnly,
        [
            "config",
            "view" | "current-context" | "get-contexts" | "get-clusters",
            ..,
        ] => ReadOnly,
        ["auth", "can-i" | "whoami", ..] => ReadOnly,
        ["cluster-info", rest @ ..] => read_only_if(rest.is_empty(), ChangesState),
        [
            "get" | "describe" | "logs" | "top" | "version" | "explain" | "api-resources"
            | "api-versions" | "events" | "whoami" | "diff" | "wait",
            ..,
        ] => ReadOnly,
        ["list" | "ls" | "status" | "history" | "show" | "search", ..] if program == "helm" => {
            ReadOnly
        }
        _ => ChangesState,
    }
}

pub(super) fn git(invocation: &Invocation, args: &[&str]) -> Safety {
    let options = scan(
        invocation,
        "Cc",
        &["--git-dir", "--work-tree", "--namespace"],
    );
    // A setting may name a program that is run.
    if options.has(&["-c", "--config-env", "--exec-path"])
        || args.iter().any(|arg| {
            arg.starts_with("--output")
                || *arg == "--ext-diff"
                || arg.starts_with("-O")
                || arg.starts_with("--open-files")
        })
    {
        return ChangesState;
    }
    let all = verbs(invocation, &options);
    let plain: Vec<&str> = all
        .iter()
        .copied()
        .filter(|word| !word.starts_with('-'))
        .collect();
    let forced = args
        .iter()
        .any(|arg| matches!(*arg, "-f" | "--force" | "--hard" | "-D"));
    match plain.as_slice() {
        ["reset" | "push" | "branch" | "checkout" | "switch", ..] if forced => Destructive,
        ["checkout", ..] if args.contains(&"--") || args.contains(&".") => Destructive,
        ["clean" | "restore", ..]
        | ["stash", "drop" | "clear", ..]
        | ["reflog", "expire" | "delete", ..] => Destructive,
        [
            "status" | "log" | "diff" | "show" | "rev-parse" | "describe" | "blame" | "ls-files"
            | "ls-tree" | "ls-remote" | "rev-list" | "shortlog" | "grep" | "cat-file" | "version"
            | "for-each-ref" | "merge-base" | "count-objects" | "whatchanged",
            ..,
        ]
        | ["remote" | "branch" | "tag" | "reflog" | "worktree"]
        | [
            "stash" | "worktree" | "remote" | "tag" | "submodule" | "reflog",
            "list" | "show" | "status",
            ..,
        ] => ReadOnly,
        ["config", ..] => read_only_if(
            args.iter()
                .any(|arg| arg.starts_with("--get") || matches!(*arg, "-l" | "--list")),
            ChangesState,
        ),
        _ => ChangesState,
    }
}

pub(super) fn redis(invocation: &Invocation) -> Safety {
    let long = [
        "--user",
        "--pass",
        "--cacert",
        "--cert",
        "--key",
        "--pattern",
        "--intrinsic-latency",
    ];
    let options = scan(invocation, "hpanurisxXdDt", &long);
    if options.has(&[
        "--bigkeys",
        "--memkeys",
        "--hotkeys",
        "--scan",
        "--latency",
        "--stat",
        "--latency-history",
    ]) {
        return HeavyRead;
    }
    if options.has(&["--eval", "--rdb", "--cluster", "--pipe"]) {
        return ChangesState;
    }
    let words: Vec<String> = verbs(invocation, &options)
        .iter()
        .map(|word| word.to_ascii_lowercase())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["flushall" | "flushdb" | "shutdown" | "del" | "unlink", ..]
        | ["client", "kill", ..]
        | ["script", "flush" | "kill"] => Destructive,
        ["keys" | "monitor", ..] => HeavyRead,
        [
            "ping" | "info" | "get" | "mget" | "llen" | "ttl" | "pttl" | "type" | "scan" | "dbsize"
            | "lrange" | "hgetall" | "hget" | "hlen" | "smembers" | "scard" | "zcard" | "zrange"
            | "xlen" | "exists" | "lastsave" | "role" | "strlen" | "time" | "object",
            ..,
        ]
        | ["config", "get", ..]
        | ["client", "list" | "info" | "id" | "getname", ..]
        | ["memory", "usage" | "stats" | "doctor", ..]
        | ["slowlog", "get" | "len", ..]
        | ["latency", "latest" | "history" | "doctor", ..]
        | ["cluster", "info" | "nodes" | "slots" | "shards", ..]
        | ["acl", "list" | "whoami", ..] => ReadOnly,
        _ => ChangesState,
    }
}

/// A question to a database, by its text.
pub(super) fn sql(invocation: &Invocation, args: &[&str]) -> Safety {
    if matches!(args, ["-l" | "--list"]) {
        return ReadOnly;
    }
    let Some(text) =
        invocation.option_value(&["-c", "--command", "-e", "--execute", "-q", "--query"])
    else {
        return ChangesState;
    };
    let text = text.trim().trim_end_matches(';').to_ascii_lowercase();
    let has = |word: &str| {
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|part| part == word)
    };
    if ["drop", "delete", "truncate"].iter().any(|word| has(word))
        || text.contains("terminate_backend")
    {
        return Destructive;
    }
    let asks = ["select ", "show ", "explain ", "\\l", "\\d", "describe "]
        .iter()
        .any(|start| text.starts_with(start));
    let acts = text.contains(';')
        || [
            "into", "analyze", "nextval", "update", "insert", "alter", "create",
        ]
        .iter()
        .any(|word| has(word));
    let calls = text
        .replace("count(", "")
        .replace("now(", "")
        .replace("version(", "")
        .replace("sum(", "")
        .contains('(');
    read_only_if(asks && !acts && !calls, ChangesState)
}

/// Tools with verbs: those that end or remove something, those that only look.
pub(super) fn by_verb(program: &str, args: &[&str]) -> Safety {
    let plain: Vec<&str> = args
        .iter()
        .copied()
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let ends = [
        "destroy",
        "delete",
        "rm",
        "rb",
        "remove",
        "purge",
        "stop",
        "kill",
        "shutdown",
        "unload",
        "bootout",
        "format",
        "undefine",
        "reset",
        "cycle",
        "off",
        "del",
        "uninstall",
    ];
    let lists = [
        "list",
        "ls",
        "status",
        "show",
        "dominfo",
        "describe",
        "info",
        "log",
        "logs",
        "memory",
        "sdr",
        "sel",
        "sensor",
        "chassis",
        "ping",
        "processlist",
        "get",
        "iostat",
        "history",
        "smart-log",
        "error-log",
        "id-ctrl",
        "output",
        "members",
    ];
    let front = plain.get(..plain.len().min(3)).unwrap_or_default();
    if front.iter().any(|word| ends.contains(word))
        || program == "mdadm"
            && args.iter().any(|arg| {
                matches!(
                    *arg,
                    "--stop" | "-S" | "--zero-superblock" | "--fail" | "--remove"
                )
            })
    {
        return Destructive;
    }
    let looks = plain.first().is_some_and(|verb| lists.contains(verb));
    let mdadm = program == "mdadm"
        && args
            .iter()
            .any(|arg| matches!(*arg, "--detail" | "-D" | "--examine"));
    let known = !matches!(
        program,
        "aws" | "gsutil" | "rclone" | "terraform" | "consul"
    );
    read_only_if(mdadm || looks && known, ChangesState)
}
