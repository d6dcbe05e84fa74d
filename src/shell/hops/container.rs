//! Hops into containers and pods.

use crate::shell::HopKind;
use crate::shell::build::Field;

use super::{Branch, Cwd, Hop, Load, Options, assignment};

/// Options of `docker run` that take no value; all others do.
const RUN_FLAGS: [&str; 18] = [
    "--detach",
    "--interactive",
    "--tty",
    "--rm",
    "--privileged",
    "--init",
    "--read-only",
    "--publish-all",
    "--no-healthcheck",
    "--oom-kill-disable",
    "--quiet",
    "--help",
    "--replace",
    "--sig-proxy",
    "--disable-content-trust",
    "--no-hosts",
    "--systemd",
    "--build",
];

struct Into<'a> {
    container: String,
    host: Option<String>,
    options: &'a Options,
    words: Vec<Field>,
    interactive: bool,
}

fn into(given: Into<'_>) -> Option<Hop> {
    if given.words.is_empty() {
        return None;
    }
    let options = given.options;
    let branch = Branch {
        host: given.host,
        user: options.value(&["-u", "--user"]).map(str::to_owned),
        container: Some(given.container),
        load: Load::Words(given.words),
    };
    let mut hop = Hop::new(HopKind::Container, vec![branch]);
    hop.keeps_env = false;
    hop.stdin_lost = !given.interactive;
    hop.tty = options.has(&["-t", "--tty"]);
    hop.cwd = match options.value(&["-w", "--workdir"]) {
        Some(dir) => Cwd::At(dir.to_owned()),
        None => Cwd::Unknown,
    };
    for (name, value) in &options.given {
        let value = value
            .as_deref()
            .filter(|_| matches!(name.as_str(), "-e" | "--env"));
        hop.env
            .extend(value.and_then(|value| assignment(&Field::plain(value))));
    }
    Some(hop)
}

/// The machine of an engine by its address: `ssh://u@h`, `tcp://h:2375`.
pub(in crate::shell) fn engine_host(url: &str) -> Option<String> {
    let rest = url
        .strip_prefix("ssh://")
        .or_else(|| url.strip_prefix("tcp://"))?;
    let host = super::remote::split_destination(&format!("ssh://{rest}")).1;
    (!host.is_empty()).then_some(host)
}

pub(super) fn docker(fields: &[Field]) -> Option<Hop> {
    let global = [
        "--host",
        "--context",
        "--config",
        "--log-level",
        "--url",
        "--connection",
    ];
    let front = Options::scan(fields, 1, "Hclnf", &global);
    let host = front.value(&["-H", "--host"]).and_then(engine_host);
    let mut at = front.rest;
    let composed = fields.first()?.text.ends_with("-compose");
    let mut verb = fields.get(at)?.text.as_str();
    if verb == "container" {
        at += 1;
        verb = fields.get(at)?.text.as_str();
    }
    let compose = verb == "compose" || composed;
    if verb == "compose" {
        let long = [
            "--file",
            "--project-name",
            "--env-file",
            "--profile",
            "--project-directory",
        ];
        at = Options::scan(fields, at + 1, "fp", &long).rest;
        verb = fields.get(at)?.text.as_str();
    }
    match verb {
        "exec" => {
            let long = [
                "--env",
                "--env-file",
                "--user",
                "--workdir",
                "--detach-keys",
                "--index",
            ];
            let options = Options::scan(fields, at + 1, "euw", &long);
            let container = fields.get(options.rest)?.text.clone();
            let words = fields.get(options.rest + 1..).unwrap_or_default().to_vec();
            let interactive = compose || options.has(&["-i", "--interactive"]);
            let mut hop = into(Into {
                container,
                host,
                options: &options,
                words,
                interactive,
            })?;
            hop.away = options.has(&["-d", "--detach"]);
            Some(hop)
        }
        "run" => {
            let options = run_options(fields, at + 1);
            let image = fields.get(options.rest)?.text.clone();
            let container = options.value(&["--name"]).map_or(image, str::to_owned);
            let mut words = fields.get(options.rest + 1..).unwrap_or_default().to_vec();
            if let Some(program) = options.value(&["--entrypoint"]).filter(|p| !p.is_empty()) {
                words.insert(0, Field::plain(program));
            }
            let interactive = compose || options.has(&["-i", "--interactive"]);
            let mut hop = into(Into {
                container,
                host,
                options: &options,
                words,
                interactive,
            })?;
            hop.away = options.has(&["-d", "--detach"]);
            Some(hop)
        }
        _ => None,
    }
}

/// Options of `docker run`: everything that is not known as a flag takes a value.
pub(in crate::shell) fn run_options(fields: &[Field], from: usize) -> Options {
    let long: Vec<&str> = fields
        .iter()
        .map(|field| field.text.as_str())
        .filter(|text| text.starts_with("--") && !RUN_FLAGS.contains(text))
        .collect();
    Options::scan(fields, from, "acehlmpuvw", &long)
}

pub(super) fn kubectl(fields: &[Field]) -> Option<Hop> {
    let long = [
        "--namespace",
        "--container",
        "--context",
        "--kubeconfig",
        "--cluster",
        "--user",
        "--server",
        "--request-timeout",
        "--pod-running-timeout",
        "--filename",
        "--as",
        "--token",
    ];
    let short = "ncsf";
    let front = Options::scan(fields, 1, short, &long);
    let mut at = front.rest;
    if fields.get(at)?.text == "kubectl" {
        at = Options::scan(fields, at + 1, short, &long).rest;
    }
    let verb = fields.get(at)?.text.as_str();
    if matches!(verb, "run" | "debug") {
        return apart(verb, fields, at + 1);
    }
    if !matches!(verb, "exec" | "rsh") {
        return None;
    }
    let options = Options::scan(fields, at + 1, short, &long);
    let pod = fields.get(options.rest)?.text.clone();
    // Options may stand after the pod; `--` opens the command.
    let more = Options::scan(fields, options.rest + 1, short, &long);
    let words = fields.get(more.rest..).unwrap_or_default().to_vec();
    let flags = [&front, &options, &more];
    let interactive = flags.iter().any(|given| given.has(&["-i", "--stdin"]));
    let none = Options::default();
    let mut hop = into(Into {
        container: pod,
        host: None,
        options: &none,
        words,
        interactive,
    })?;
    hop.tty = flags.iter().any(|given| given.has(&["-t", "--tty"]));
    Some(hop)
}

/// `kubectl run NAME --image=I -- cmd` and `kubectl debug node/N --image=I -- cmd`: a pod of its own.
fn apart(verb: &str, fields: &[Field], from: usize) -> Option<Hop> {
    let ends = fields.iter().position(|field| field.text == "--")?;
    let name = fields
        .get(from..ends)?
        .iter()
        .find(|field| !field.text.starts_with('-'))?;
    let words = fields.get(ends + 1..).unwrap_or_default().to_vec();
    let given = fields.get(from..ends)?;
    let interactive = given.iter().any(|field| {
        let letters = field.text.starts_with('-') && !field.text.starts_with("--");
        letters && field.text.contains('i') || field.text == "--stdin"
    });
    let none = Options::default();
    let mut hop = into(Into {
        container: name.text.clone(),
        host: None,
        options: &none,
        words,
        interactive,
    })?;
    let attached = interactive || given.iter().any(|field| field.text == "--attach");
    hop.away = verb == "run" && !attached;
    Some(hop)
}

pub(super) fn other(program: &str, fields: &[Field]) -> Option<Hop> {
    let none = Options::default();
    let enter = |container: &str, from: usize| {
        let mut from = from;
        if fields.get(from).is_some_and(|field| field.text == "--") {
            from += 1;
        }
        let words = fields.get(from..).unwrap_or_default().to_vec();
        into(Into {
            container: container.to_owned(),
            host: None,
            options: &none,
            words,
            interactive: true,
        })
    };
    match program {
        "crictl" => {
            let front = Options::scan(fields, 1, "rict", &["--runtime-endpoint", "--config"]);
            if fields.get(front.rest)?.text != "exec" {
                return None;
            }
            let options = Options::scan(fields, front.rest + 1, "", &["--timeout"]);
            enter(&fields.get(options.rest)?.text, options.rest + 1)
        }
        "lxc" | "incus" => {
            if fields.get(1)?.text != "exec" {
                return None;
            }
            let long = ["--env", "--cwd", "--user", "--group", "--project", "--mode"];
            let options = Options::scan(fields, 2, "", &long);
            // Options may stand behind the name; `--` opens the command.
            let more = Options::scan(fields, options.rest + 1, "", &long);
            enter(&fields.get(options.rest)?.text, more.rest)
        }
        "lxc-attach" => {
            let options = Options::scan(fields, 1, "nPvu", &["--name", "--lxcpath"]);
            enter(options.value(&["-n", "--name"])?, options.rest)
        }
        "machinectl" => {
            if fields.get(1)?.text != "shell" {
                return None;
            }
            let options = Options::scan(fields, 2, "E", &["--uid", "--setenv"]);
            let name = fields.get(options.rest)?.text.as_str();
            enter(name.rsplit('@').next().unwrap_or(name), options.rest + 1)
        }
        "apptainer" | "singularity" => {
            if fields.get(1)?.text != "exec" {
                return None;
            }
            let long = [
                "--bind",
                "--env",
                "--pwd",
                "--home",
                "--overlay",
                "--workdir",
            ];
            let options = Options::scan(fields, 2, "BHWo", &long);
            let image = fields.get(options.rest)?.text.clone();
            let mut hop = enter(&image, options.rest + 1)?;
            hop.cwd = Cwd::Keep;
            hop.keeps_env = true;
            Some(hop)
        }
        "nsenter" => {
            let long = ["--target", "--setuid", "--setgid", "--root", "--wd"];
            let options = Options::scan(fields, 1, "tSG", &long);
            let target = options.value(&["-t", "--target"])?;
            enter(&format!("pid {target}"), options.rest)
        }
        "chroot" => {
            let options = Options::scan(fields, 1, "", &["--userspec", "--groups"]);
            enter(&fields.get(options.rest)?.text, options.rest + 1)
        }
        _ => None,
    }
}
