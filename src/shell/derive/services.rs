//! Who is asked to start something to stay: programs that put themselves into the background, and
//! keepers of services (units, engines, clusters, queues).

use crate::shell::Invocation;

/// Options that make a server put itself into the background.
pub(in crate::shell) fn daemonizes(invocation: &Invocation) -> bool {
    let any = |words: &[&str]| {
        invocation
            .args()
            .iter()
            .any(|word| words.contains(&word.text.as_str()))
    };
    let has = |names: &[&str]| invocation.has_option(names);
    match invocation.program() {
        "gunicorn" | "unicorn" | "hypercorn" | "airflow" | "rabbitmq-server" => {
            has(&["-D"]) || any(&["--daemon", "-detached"])
        }
        "uwsgi" => {
            let named = invocation.option_value(&["--daemonize", "--daemonize2"]);
            has(&["-d"]) || named.is_some()
        }
        "redis-server" | "valkey-server" | "redis-sentinel" => invocation
            .option_value(&["--daemonize"])
            .is_some_and(|value| value == "yes"),
        "celery" => any(&["multi", "--detach", "-D"]),
        "nginx" | "openresty" | "angie" => !invocation.args().iter().any(|word| {
            matches!(&*word.text, "-s" | "-t" | "-T" | "-v" | "-V" | "-q" | "-h")
                || word.text.contains("daemon off")
        }),
        "mongod" | "mongos" => any(&["--fork"]),
        "memcached" | "haproxy" | "mosquitto" | "dnsmasq" | "elasticsearch" | "opensearch"
        | "logstash" | "puma" | "thin" => has(&["-d", "-D"]) || any(&["--daemonize", "--daemon"]),
        "kafka-server-start.sh" | "zookeeper-server-start.sh" | "kafka-server-start" => {
            any(&["-daemon"])
        }
        "pg_ctl" | "pg_ctlcluster" | "catalina.sh" | "zkServer.sh" | "nomad-agent" | "squid"
        | "postfix" | "clickhouse" => any(&["start", "restart"]),
        "apachectl" | "apache2ctl" | "httpd" | "apache2" => any(&["start", "restart", "graceful"]),
        "pm2" | "forever" => any(&["start", "restart", "reload"]),
        "ray" => {
            invocation
                .args()
                .first()
                .is_some_and(|word| word.text == "start")
                && !any(&["--block"])
        }
        "php-fpm" => has(&["-D", "--daemonize"]),
        "nv-hostengine" | "nvidia-persistenced" => !any(&["-t", "--term", "-h", "--help"]),
        "sshd" | "varnishd" => !has(&["-D", "-t", "-T", "-V", "-F", "-C"]),
        "startup.sh" => true,
        program => by_script(invocation, program),
    }
}

/// `./server.sh start`, `bin/start.sh`, `/etc/init.d/x restart`: a script that starts something and
/// returns.
fn by_script(invocation: &Invocation, program: &str) -> bool {
    let called_by_path = invocation
        .words
        .first()
        .is_some_and(|word| word.text.contains('/'));
    let interpreted = matches!(program, "bash" | "sh" | "dash" | "zsh");
    if !called_by_path && !interpreted {
        return false;
    }
    let mut words = invocation.words.iter().skip(usize::from(interpreted));
    let Some(script) = words.find(|word| !word.text.starts_with('-')) else {
        return false;
    };
    let verb = words.find(|word| !word.text.starts_with('-'));
    if verb.is_some_and(|verb| matches!(&*verb.text, "start" | "restart")) {
        return true;
    }
    let name = script.text.rsplit('/').next().unwrap_or("");
    let stem = name.strip_suffix(".sh").unwrap_or(name);
    let whole = matches!(stem, "start" | "restart" | "startup");
    let part = ["start-", "start_", "restart-", "restart_"];
    whole || name.ends_with(".sh") && part.iter().any(|part| stem.starts_with(part))
}

/// Something that keeps services is asked to start one, and its name where the line says it.
pub(in crate::shell) fn service(invocation: &Invocation) -> Option<Option<&str>> {
    let args: Vec<&str> = invocation
        .args()
        .iter()
        .map(|word| word.text.as_str())
        .filter(|text| !text.starts_with('-'))
        .collect();
    let any = |words: &[&str]| {
        invocation
            .args()
            .iter()
            .any(|word| words.contains(&word.text.as_str()))
    };
    let detached = || invocation.has_option(&["-d", "--detach"]);
    let after = |rest: &[&str]| {
        let verbs = [
            "start",
            "restart",
            "try-restart",
            "reload-or-restart",
            "condrestart",
            "up",
            "enable",
            "reenable",
        ];
        let at = rest.iter().position(|word| verbs.contains(word))?;
        // `enable` starts it only together with `--now`.
        if rest.get(at).is_some_and(|verb| verb.ends_with("enable")) && !any(&["--now"]) {
            return None;
        }
        Some(at + 1)
    };
    match (invocation.program(), args.as_slice()) {
        ("docker" | "podman" | "nerdctl", ["start" | "restart", ..])
        | ("docker" | "podman" | "nerdctl", ["container", "start" | "restart", ..]) => {
            Some(args.last().copied())
        }
        ("docker" | "podman" | "nerdctl", ["run", rest @ ..] | ["container", "run", rest @ ..]) => {
            let name = invocation.option_value(&["--name"]);
            detached().then(|| name.or(rest.last().copied()))
        }
        ("docker" | "podman" | "nerdctl", ["compose", rest @ ..])
        | ("docker-compose" | "podman-compose", rest) => compose(rest, detached()),
        ("docker", ["stack", "deploy", rest @ ..] | ["service", "create", rest @ ..]) => {
            Some(rest.last().copied())
        }
        ("systemctl" | "supervisorctl" | "sv", rest) => {
            let at = after(rest)?;
            args.get(at).map(|name| Some(*name))
        }
        ("rc-service" | "service" | "invoke-rc.d", [name, "start" | "restart", ..]) => {
            Some(Some(*name))
        }
        ("brew", ["services", "start" | "restart", name, ..]) => Some(Some(*name)),
        ("launchctl", ["load" | "start" | "kickstart" | "bootstrap", rest @ ..]) => {
            Some(rest.last().copied())
        }
        ("kubectl" | "oc" | "k" | "k3s", rest) => cluster(invocation, rest),
        ("helm", rest)
            if rest
                .iter()
                .any(|word| matches!(*word, "install" | "upgrade")) =>
        {
            let at = rest
                .iter()
                .position(|word| matches!(*word, "install" | "upgrade"))?;
            Some(rest.get(at + 1).copied())
        }
        ("nomad", ["job", "run", rest @ ..]) => Some(rest.last().copied()),
        ("sbatch" | "qsub" | "bsub" | "condor_submit", [.., script]) => Some(Some(*script)),
        ("at" | "batch", _) => invocation.option_value(&["-f"]).map(Some),
        _ => None,
    }
}

fn compose<'a>(rest: &[&'a str], detached: bool) -> Option<Option<&'a str>> {
    let at = rest
        .iter()
        .position(|word| matches!(*word, "up" | "start" | "restart"))?;
    // What stands behind the verb are services.
    let name = rest.get(at + 1).copied();
    (rest.get(at) != Some(&"up") || detached).then_some(name)
}

fn cluster<'a>(invocation: &'a Invocation, rest: &[&'a str]) -> Option<Option<&'a str>> {
    let at = rest.iter().position(|word| {
        matches!(
            *word,
            "apply"
                | "create"
                | "rollout"
                | "scale"
                | "run"
                | "replace"
                | "get"
                | "describe"
                | "logs"
                | "delete"
                | "exec"
        )
    })?;
    let file = invocation.option_value(&["-f", "--filename", "-k"]);
    match *rest.get(at)? {
        "apply" | "create" | "replace" => {
            let kind = rest.get(at + 1).copied().unwrap_or("");
            let starts = file.is_some()
                || matches!(
                    kind,
                    "deployment" | "deploy" | "job" | "statefulset" | "daemonset"
                );
            starts.then(|| rest.last().copied().filter(|_| file.is_none()))
        }
        "rollout" => (rest.get(at + 1) == Some(&"restart")).then(|| rest.get(at + 2).copied()),
        "scale" => {
            let none = invocation.option_value(&["--replicas"]) == Some("0");
            (!none).then(|| rest.get(at + 1).copied())
        }
        "run" => Some(rest.get(at + 1).copied()),
        _ => None,
    }
}
