//! What a command line means to change besides files, processes and launches: services, containers,
//! pods, packages, mounts, modes. Each says what should be true afterwards, which later fact shows
//! it, and the look that would.
//!
//! From the manuals of systemctl 252, supervisorctl 4.2, docker 28, kubectl 1.31, pip 24, util-linux
//! 2.38 and coreutils 9.1.

use crate::fact::Fact;
use crate::fact::cover::{last_part, same_path};
use crate::shell::quote::{quote, quote_path};
use crate::shell::{Invocation, Tri};

use super::Met;
use super::places::Topic;

/// Something that should be true after an invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// What should be true, in words.
    pub(super) text: String,
    /// The read-only look that shows it.
    pub(super) probe: String,
    wants: Wants,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Wants {
    /// A service runs, or does not.
    Unit { name: String, running: bool },
    /// A container runs, or does not.
    Container { name: String, running: bool },
    /// Pods whose names begin so are ready.
    Pods(String),
    /// A path is there, or not.
    Path { path: String, there: bool },
    /// A file may be executed.
    Executable(String),
    /// Nothing listens on a port.
    Free(i64),
    /// Something is mounted there, or not.
    Mount { path: String, there: bool },
    /// A package is installed, or not.
    Package { name: String, there: bool },
    /// Only the look itself can tell.
    Nothing,
}

impl Change {
    /// What later facts speak of that may say something of it.
    pub(super) fn topic(&self) -> Option<Topic<'_>> {
        Some(match &self.wants {
            Wants::Unit { .. } => Topic::Unit,
            Wants::Container { .. } => Topic::Container,
            Wants::Pods(_) => Topic::Pod,
            Wants::Path { path, .. } | Wants::Executable(path) => Topic::File(last_part(path)),
            Wants::Free(_) => Topic::Port,
            Wants::Mount { .. } => Topic::Disk,
            Wants::Package { .. } => Topic::Version,
            Wants::Nothing => return None,
        })
    }

    /// What a later fact on the same host says of it; none when it speaks of something else.
    pub(super) fn judged_by(&self, fact: &Fact) -> Option<Met> {
        let met = |yes: bool| Some(if yes { Met::Met } else { Met::Unmet });
        match (&self.wants, fact) {
            (Wants::Unit { name, running }, Fact::Unit(unit)) if same_unit(name, &unit.name) => {
                match unit.active.as_str() {
                    "active" | "RUNNING" => met(*running),
                    "inactive" | "STOPPED" | "EXITED" | "failed" | "FATAL" => met(!running),
                    _ => None,
                }
            }
            (Wants::Container { name, running }, Fact::Container(container))
                if container.name == *name =>
            {
                match container.status.as_str() {
                    "running" => met(*running),
                    "exited" | "dead" | "created" => met(!running),
                    "restarting" => Some(Met::Unmet),
                    _ => None,
                }
            }
            (Wants::Pods(name), Fact::Pod(pod)) if belongs(&pod.name, name) => {
                let all = pod
                    .ready
                    .as_deref()
                    .and_then(|ready| ready.split_once('/'))
                    .is_some_and(|(ready, all)| ready == all);
                match pod.status.as_str() {
                    "Running" if all => Some(Met::Met),
                    "Completed" | "Succeeded" => Some(Met::Met),
                    "Terminating" | "Pending" | "ContainerCreating" | "PodInitializing" => None,
                    "Running" if pod.ready.is_none() => None,
                    _ => Some(Met::Unmet),
                }
            }
            (Wants::Path { path, there }, Fact::File(file)) if same_path(&file.path, path) => {
                match file.exists {
                    Tri::Yes => met(*there),
                    Tri::No => met(!there),
                    Tri::Unknown => None,
                }
            }
            (Wants::Executable(path), Fact::File(file)) if same_path(&file.path, path) => {
                file.executable.and_then(met)
            }
            (Wants::Free(port), Fact::Socket(socket)) if socket.port == *port => {
                socket.listening.then_some(Met::Unmet)
            }
            (Wants::Free(port), Fact::PortLook(_)) => {
                (fact.covers(&crate::fact::cover::Subject::Port(*port)) == Tri::Yes)
                    .then_some(Met::Met)
            }
            (Wants::Mount { path, there }, Fact::Disk(disk)) if same_path(&disk.mount, path) => {
                met(*there)
            }
            (Wants::Package { name, there }, Fact::Version(version))
                if same_package(&version.of, name) =>
            {
                met(*there)
            }
            _ => None,
        }
    }
}

/// `nginx` and `nginx.service` are one unit.
fn same_unit(one: &str, other: &str) -> bool {
    let bare = |name: &str| name.strip_suffix(".service").unwrap_or(name).to_owned();
    bare(one) == bare(other)
}

/// Whether a pod is one of a workload's: its name goes on with a dash.
fn belongs(pod: &str, workload: &str) -> bool {
    pod == workload
        || pod
            .strip_prefix(workload)
            .is_some_and(|rest| rest.starts_with('-'))
}

fn same_package(one: &str, other: &str) -> bool {
    let bare = |name: &str| name.to_ascii_lowercase().replace(['_', '.'], "-");
    bare(one) == bare(other)
}

/// What an invocation means to change.
pub(super) fn changes(invocation: &Invocation) -> Vec<Change> {
    // What is not known to the letter is not named.
    if !invocation.args().iter().all(|word| word.literal) {
        return Vec::new();
    }
    let all: Vec<&str> = invocation
        .args()
        .iter()
        .map(|word| word.text.as_str())
        .collect();
    let plain = operands(invocation.program(), &all);
    let user = all.contains(&"--user");
    match invocation.program() {
        "systemctl" => units(
            &plain,
            if user {
                "systemctl --user"
            } else {
                "systemctl"
            },
        ),
        "service" | "rc-service" => match plain.as_slice() {
            [name, verb, ..] => unit(name, verb, &format!("service {} status", quote(name))),
            _ => Vec::new(),
        },
        "supervisorctl" => match plain.as_slice() {
            [verb, names @ ..] => names
                .iter()
                .filter(|name| **name != "all")
                .flat_map(|name| unit(name, verb, &format!("supervisorctl status {}", quote(name))))
                .collect(),
            [] => Vec::new(),
        },
        engine @ ("docker" | "podman" | "nerdctl") => {
            containers(engine, &plain, invocation.option_value(&["--name"]))
        }
        "docker-compose" => compose("docker-compose", &plain),
        "kubectl" | "oc" => workloads(invocation.program(), invocation, &plain),
        "rm" | "unlink" | "rmdir" => paths(&plain, false),
        "mkdir" => paths(&plain, true),
        "chmod" => executables(&plain),
        "fuser" if all.iter().any(|word| is_short(word, 'k')) => plain
            .iter()
            .filter_map(|word| word.split_once('/')?.0.parse::<i64>().ok())
            .map(|port| Change {
                text: format!("nothing listens on port {port}"),
                probe: format!("ss -ltnp 'sport = :{port}'"),
                wants: Wants::Free(port),
            })
            .collect(),
        "mount" => match plain.as_slice() {
            [.., _, path] => vec![mount(path, true)],
            _ => Vec::new(),
        },
        "umount" => plain.iter().map(|path| mount(path, false)).collect(),
        "pip" | "pip3" | "uv" => packages(invocation.program(), &plain),
        "conda" | "mamba" | "micromamba" => packages(invocation.program(), &plain),
        "sysctl" if all.contains(&"-w") || plain.iter().any(|word| word.contains('=')) => plain
            .iter()
            .filter_map(|word| word.split_once('='))
            .map(|(key, value)| {
                told(
                    format!("{key} is {value}"),
                    format!("sysctl {}", quote(key)),
                )
            })
            .collect(),
        "modprobe" | "insmod" if !all.contains(&"-r") => module(&plain, true),
        "modprobe" | "rmmod" => module(&plain, false),
        "reboot" => vec![told(
            "the host has started again".to_owned(),
            "uptime -s".to_owned(),
        )],
        "git" => repository(invocation, &plain),
        "nvidia-smi"
            if all
                .iter()
                .any(|word| matches!(*word, "-pm" | "--persistence-mode")) =>
        {
            vec![told(
                "persistence mode is as asked".to_owned(),
                "nvidia-smi --query-gpu=index,persistence_mode --format=csv".to_owned(),
            )]
        }
        "crontab" if plain.iter().any(|word| !word.is_empty()) || all.contains(&"-") => {
            vec![told(
                "the table holds the new lines".to_owned(),
                "crontab -l".to_owned(),
            )]
        }
        _ => Vec::new(),
    }
}

/// Options of these programs that take a value in the next word.
const WITH_VALUE: [(&[&str], &[&str]); 5] = [
    (
        &["docker", "podman", "nerdctl"],
        &[
            "-t",
            "--time",
            "--timeout",
            "-s",
            "--signal",
            "-f",
            "--file",
            "-p",
            "--project-name",
        ],
    ),
    (
        &["kubectl", "oc"],
        &[
            "-n",
            "--namespace",
            "--context",
            "-f",
            "--filename",
            "-l",
            "--selector",
            "-c",
        ],
    ),
    (
        &["pip", "pip3", "uv", "conda", "mamba", "micromamba"],
        &[
            "-r",
            "-c",
            "-e",
            "-i",
            "-f",
            "-t",
            "-n",
            "--index-url",
            "--extra-index-url",
            "--find-links",
            "--target",
            "--requirement",
            "--constraint",
            "--editable",
            "--name",
        ],
    ),
    (&["mkdir"], &["-m", "--mode"]),
    (
        &["mount", "git", "systemctl"],
        &["-t", "-o", "-C", "-c", "-s", "-H", "-M"],
    ),
];

/// The words that are no options and no values of theirs.
fn operands<'a>(program: &str, all: &[&'a str]) -> Vec<&'a str> {
    let takes = |word: &str| {
        WITH_VALUE
            .iter()
            .any(|(programs, options)| programs.contains(&program) && options.contains(&word))
    };
    let mut out = Vec::new();
    let mut words = all.iter();
    while let Some(word) = words.next() {
        if takes(word) {
            words.next();
        } else if !word.starts_with('-') {
            out.push(*word);
        }
    }
    out
}

fn told(text: String, probe: String) -> Change {
    Change {
        text,
        probe,
        wants: Wants::Nothing,
    }
}

/// Whether a word is a bundle of short options with this letter.
fn is_short(word: &str, letter: char) -> bool {
    word.strip_prefix('-')
        .is_some_and(|rest| !rest.starts_with('-') && rest.contains(letter))
}

fn unit(name: &str, verb: &str, probe: &str) -> Vec<Change> {
    let running = match verb {
        "start" | "restart" | "reload-or-restart" | "try-restart" | "reload" => true,
        "stop" | "kill" => false,
        _ => return Vec::new(),
    };
    vec![Change {
        text: format!("{name} is {}", if running { "running" } else { "stopped" }),
        probe: probe.to_owned(),
        wants: Wants::Unit {
            name: name.to_owned(),
            running,
        },
    }]
}

fn units(plain: &[&str], tool: &str) -> Vec<Change> {
    let [verb, names @ ..] = plain else {
        return Vec::new();
    };
    names
        .iter()
        .flat_map(|name| {
            let probe = format!("{tool} status --no-pager -n 20 {}", quote(name));
            unit(name, verb, &probe)
        })
        .collect()
}

fn container(engine: &str, name: &str, running: bool) -> Change {
    let filter = format!("name={}", quote(name));
    Change {
        text: format!(
            "container {name} {}",
            if running { "runs" } else { "is stopped" }
        ),
        probe: format!("{engine} ps -a --filter {filter}"),
        wants: Wants::Container {
            name: name.to_owned(),
            running,
        },
    }
}

fn containers(engine: &str, plain: &[&str], name: Option<&str>) -> Vec<Change> {
    let plain = match plain {
        ["container", rest @ ..] => rest,
        all => all,
    };
    match plain {
        ["compose", rest @ ..] => compose(&format!("{engine} compose"), rest),
        ["run", ..] => name
            .map(|name| container(engine, name, true))
            .into_iter()
            .collect(),
        ["start" | "restart" | "unpause", names @ ..] => names
            .iter()
            .map(|name| container(engine, name, true))
            .collect(),
        ["stop" | "kill", names @ ..] => names
            .iter()
            .map(|name| container(engine, name, false))
            .collect(),
        _ => Vec::new(),
    }
}

fn compose(tool: &str, plain: &[&str]) -> Vec<Change> {
    match plain {
        [.., "up"] | ["up" | "restart" | "start", ..] => vec![told(
            "the services of the compose file run".to_owned(),
            format!("{tool} ps -a"),
        )],
        _ => Vec::new(),
    }
}

fn workloads(tool: &str, invocation: &Invocation, plain: &[&str]) -> Vec<Change> {
    let namespace = invocation
        .option_value(&["-n", "--namespace"])
        .map(|name| format!(" -n {}", quote(name)))
        .unwrap_or_default();
    // `deployment/api`, or `deployment api`.
    let named = |words: &[&str]| -> Option<String> {
        match words {
            [one, ..] if one.contains('/') => one.split_once('/').map(|(_, name)| name.to_owned()),
            [_, name, ..] => Some((*name).to_owned()),
            _ => None,
        }
    };
    let (name, wants) = match plain {
        ["rollout", "restart" | "undo", rest @ ..] | ["scale" | "set", rest @ ..] => {
            let rest = match rest {
                ["image" | "env" | "resources", rest @ ..] => rest,
                rest => rest,
            };
            match named(rest) {
                Some(name) => (format!("the pods of {name} are ready"), Wants::Pods(name)),
                None => return Vec::new(),
            }
        }
        ["apply" | "create" | "replace", ..] => {
            ("what was applied is ready".to_owned(), Wants::Nothing)
        }
        ["delete", "pod" | "pods" | "po", ..] => (
            "a new pod took its place and is ready".to_owned(),
            Wants::Nothing,
        ),
        _ => return Vec::new(),
    };
    vec![Change {
        text: name,
        probe: format!("{tool} get pods{namespace} -o wide"),
        wants,
    }]
}

fn paths(plain: &[&str], there: bool) -> Vec<Change> {
    plain
        .iter()
        .filter(|path| !path.contains(['*', '?', '[', '{']))
        .map(|path| Change {
            text: format!("{path} is {}", if there { "there" } else { "gone" }),
            probe: format!("ls -ld {}", quote_path(path)),
            wants: Wants::Path {
                path: (*path).to_owned(),
                there,
            },
        })
        .collect()
}

/// Only what makes a file executable: the other modes are seldom what a failure hangs on.
fn executables(plain: &[&str]) -> Vec<Change> {
    let [mode, files @ ..] = plain else {
        return Vec::new();
    };
    let executable = match mode.split_once('+') {
        Some((_, bits)) => bits.contains('x'),
        None => {
            mode.len() >= 3
                && mode.chars().all(|digit| digit.is_digit(8))
                && mode
                    .chars()
                    .any(|digit| matches!(digit, '1' | '3' | '5' | '7'))
        }
    };
    if !executable {
        return Vec::new();
    }
    files
        .iter()
        .filter(|path| !path.contains(['*', '?', '[', '{']))
        .map(|path| Change {
            text: format!("{path} may be executed"),
            probe: format!("ls -l {}", quote_path(path)),
            wants: Wants::Executable((*path).to_owned()),
        })
        .collect()
}

fn mount(path: &str, there: bool) -> Change {
    Change {
        text: format!(
            "something {} mounted on {path}",
            if there { "is" } else { "is no longer" }
        ),
        probe: format!("findmnt {}", quote_path(path)),
        wants: Wants::Mount {
            path: path.to_owned(),
            there,
        },
    }
}

fn packages(tool: &str, plain: &[&str]) -> Vec<Change> {
    let (show, plain) = match (tool, plain) {
        ("uv", ["pip", rest @ ..]) => ("uv pip show", rest),
        ("uv", _) => return Vec::new(),
        ("pip3", rest) => ("pip3 show", rest),
        ("pip", rest) => ("pip show", rest),
        (_, rest) => ("conda list", rest),
    };
    let (there, names) = match plain {
        ["install", names @ ..] => (true, names),
        ["uninstall" | "remove", names @ ..] => (false, names),
        _ => return Vec::new(),
    };
    names
        .iter()
        .filter(|name| !name.contains(['/', ':']) && !name.ends_with(".txt") && **name != ".")
        .filter_map(|name| {
            let end = name
                .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')))
                .unwrap_or(name.len());
            name.get(..end).filter(|name| !name.is_empty())
        })
        .map(|name| Change {
            text: format!(
                "package {name} is {}",
                if there { "installed" } else { "gone" }
            ),
            probe: format!("{show} {name}"),
            wants: Wants::Package {
                name: name.to_owned(),
                there,
            },
        })
        .collect()
}

fn module(plain: &[&str], there: bool) -> Vec<Change> {
    plain
        .iter()
        .take(1)
        .map(|name| {
            told(
                format!(
                    "kernel module {name} is {}",
                    if there { "loaded" } else { "not loaded" }
                ),
                format!("lsmod | grep {}", quote(name)),
            )
        })
        .collect()
}

fn repository(invocation: &Invocation, plain: &[&str]) -> Vec<Change> {
    let folder = invocation
        .option_value(&["-C"])
        .map(|path| format!(" -C {}", quote_path(path)))
        .unwrap_or_default();
    let verb = plain
        .iter()
        .find(|word| matches!(**word, "pull" | "checkout" | "switch" | "reset" | "clone"));
    match verb {
        Some(&"clone") => Vec::new(),
        Some(_) => vec![told(
            "the working tree is at the commit that was meant".to_owned(),
            format!("git{folder} log -1 --oneline"),
        )],
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, changes};
    use crate::fact::{Fact, Unit};
    use crate::shell::parse;
    use crate::timeline::Met;

    fn of(line: &str) -> Vec<Change> {
        let tree = parse(line);
        tree.leaves().flat_map(changes).collect()
    }

    #[test]
    fn what_changes_something_says_what_should_be_so() {
        for (line, text, probe) in [
            (
                "ssh w1 'sudo systemctl restart vllm'",
                "vllm is running",
                "systemctl status --no-pager -n 20 vllm",
            ),
            (
                "systemctl --user stop a b",
                "b is stopped",
                "systemctl --user status --no-pager -n 20 b",
            ),
            (
                "service nginx reload",
                "nginx is running",
                "service nginx status",
            ),
            (
                "docker restart web",
                "container web runs",
                "docker ps -a --filter name=web",
            ),
            (
                "podman stop -t 5 web",
                "container web is stopped",
                "podman ps -a --filter name=web",
            ),
            (
                "docker compose up -d",
                "the services of the compose file run",
                "docker compose ps -a",
            ),
            (
                "kubectl -n prod rollout restart deployment/api",
                "the pods of api are ready",
                "kubectl get pods -n prod -o wide",
            ),
            (
                "rm -rf /tmp/cache",
                "/tmp/cache is gone",
                "ls -ld /tmp/cache",
            ),
            ("chmod 755 run.sh", "run.sh may be executed", "ls -l run.sh"),
            ("chmod +x run.sh", "run.sh may be executed", "ls -l run.sh"),
            (
                "fuser -k 8000/tcp",
                "nothing listens on port 8000",
                "ss -ltnp 'sport = :8000'",
            ),
            (
                "umount /data",
                "something is no longer mounted on /data",
                "findmnt /data",
            ),
            (
                "pip install -U 'vllm==0.11.0'",
                "package vllm is installed",
                "pip show vllm",
            ),
            (
                "sudo sysctl -w vm.swappiness=10",
                "vm.swappiness is 10",
                "sysctl vm.swappiness",
            ),
        ] {
            let found = of(line);
            assert!(
                found
                    .iter()
                    .any(|one| one.text == text && one.probe == probe),
                "{line}: {found:?}"
            );
            for change in found {
                assert_eq!(
                    crate::shell::safety::safety(&change.probe),
                    crate::shell::safety::Safety::ReadOnly,
                    "{}",
                    change.probe
                );
            }
        }
    }

    #[test]
    fn what_only_looks_or_is_not_known_says_nothing() {
        for line in [
            "systemctl status vllm",
            "systemctl daemon-reload",
            "docker ps -a",
            "docker run --rm img ls",
            "kubectl get pods",
            "chmod 600 key",
            "rm -f *.log",
            "rm -f \"$FILE\"",
            "fuser 8000/tcp",
            "pip list",
            "pip install -r requirements.txt",
            "git status",
            "nvidia-smi",
            "crontab -l",
            "sysctl vm.swappiness",
        ] {
            assert_eq!(of(line), [], "{line}");
        }
    }

    #[test]
    fn a_later_look_judges() {
        let change = of("systemctl restart vllm").remove(0);
        let unit = |name: &str, active: &str| {
            Fact::from(Unit {
                name: name.to_owned(),
                active: active.to_owned(),
                sub: None,
                result: None,
                main_pid: None,
                status: None,
                restarts: None,
                triggered_by: None,
            })
        };
        assert_eq!(
            change.judged_by(&unit("vllm.service", "active")),
            Some(Met::Met)
        );
        assert_eq!(change.judged_by(&unit("vllm", "failed")), Some(Met::Unmet));
        assert_eq!(change.judged_by(&unit("vllm", "activating")), None);
        assert_eq!(change.judged_by(&unit("nginx", "active")), None);
    }
}
