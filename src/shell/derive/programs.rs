//! What is known of programs: which only look, which run a file, which hold their output back.

use crate::shell::{Invocation, Word};

/// An interpreter, with the letters of its options that take a value.
pub(super) fn interpreter(program: &str) -> Option<&'static str> {
    if is_python(program) {
        return Some("WXQ");
    }
    Some(match program {
        "bash" | "sh" | "dash" | "zsh" | "ksh" | "ash" | "rbash" => "oO",
        "source" | "." => "",
        "node" | "nodejs" | "bun" | "deno" | "tsx" | "ts-node" => "r",
        "perl" => "IMm",
        "ruby" => "rIE",
        "php" => "dcz",
        "Rscript" | "lua" | "luajit" | "julia" | "expect" | "tclsh" | "osascript" => "",
        _ => return None,
    })
}

/// `python`, `python3`, `python3.11`, `pypy3`.
pub(super) fn is_python(program: &str) -> bool {
    let rest = program
        .strip_prefix("python")
        .or_else(|| program.strip_prefix("pypy"));
    rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Programs that start others by a file name among their words.
fn launcher(program: &str) -> bool {
    matches!(
        program,
        "torchrun"
            | "accelerate"
            | "deepspeed"
            | "mpirun"
            | "mpiexec"
            | "horovodrun"
            | "ray"
            | "streamlit"
            | "gradio"
            | "chainlit"
            | "marimo"
            | "sbatch"
            | "pm2"
            | "forever"
            | "nodemon"
            | "supervise"
            | "coverage"
            | "kernprof"
            | "papermill"
            | "jupyter"
            | "ansible-playbook"
    )
}

/// The file that is run, as written: the script of an interpreter, or the program itself when it
/// was called by its path. `None` for modules, inline code and programs found by name.
pub(super) fn script(invocation: &Invocation) -> Option<&Word> {
    let first = invocation.words.first()?;
    let program = invocation.program();
    let args = invocation.args();
    let spawns = |word: &Word| {
        let text = word.text.as_str();
        text.starts_with("torch.distributed.") || text.starts_with("accelerate.commands.")
    };
    if is_python(program) && args.first().is_some_and(|word| word.text == "-m") {
        let named = args.get(1).filter(|word| spawns(word))?;
        let mut rest = args.iter().skip_while(|word| !std::ptr::eq(*word, named));
        return rest.find(|word| word.text.ends_with(".py"));
    }
    if program == "java" {
        let jar = args.iter().position(|word| word.text == "-jar")?;
        return args.get(jar + 1);
    }
    if launcher(program) {
        let file = |word: &&Word| {
            let text = word.text.as_str();
            !text.starts_with('-')
                && [
                    ".py", ".sh", ".js", ".mjs", ".ts", ".ipynb", ".yml", ".yaml",
                ]
                .iter()
                .any(|end| text.ends_with(end))
                || text.starts_with("./")
        };
        return args.iter().find(file).or_else(|| {
            (program == "sbatch").then(|| args.iter().find(|word| !word.text.starts_with('-')))?
        });
    }
    let Some(values) = interpreter(program) else {
        return first.text.contains('/').then_some(first);
    };
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let text = word.text.as_str();
        if text == "--" {
            return args.get(at + 1);
        }
        if !text.starts_with('-') || text == "-" {
            let runs = matches!(program, "deno" | "bun") && text == "run";
            if runs {
                at += 1;
                continue;
            }
            return (text != "-").then_some(word);
        }
        let letters = text.trim_start_matches('-');
        if !text.starts_with("--") {
            if is_python(program)
                && letters.contains(['m', 'c'])
                && !letters.starts_with(['W', 'X'])
                || matches!(program, "node" | "nodejs" | "perl" | "ruby") && letters.contains('e')
                || program == "php" && letters.starts_with(['r', 'S'])
            {
                return None;
            }
            let takes = letters.len() == 1 && values.contains(letters);
            at += usize::from(takes);
        } else if matches!(
            text,
            "--rcfile" | "--init-file" | "--require" | "--import" | "--loader"
        ) {
            at += 1;
        }
        at += 1;
    }
    None
}

/// What the command line of a launch is found by.
pub(super) fn pattern(invocation: &Invocation) -> Option<String> {
    let base = |text: &str| {
        text.trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or(text)
            .to_owned()
    };
    let args = invocation.args();
    let program = invocation.program();
    if let Some(name) = super::services::service(invocation) {
        return name.map(base);
    }
    if let Some(script) = script(invocation) {
        return Some(base(&script.text));
    }
    // What runs afterwards goes by another name.
    match program {
        "pg_ctl" | "pg_ctlcluster" => return Some("postgres".to_owned()),
        "ray" => return Some("raylet".to_owned()),
        "catalina.sh" | "startup.sh" => return Some("org.apache.catalina".to_owned()),
        "pm2" | "forever" => {
            let mut plain = args
                .iter()
                .filter(|word| !word.text.starts_with('-'))
                .skip(1);
            return plain.next().map(|word| base(&word.text));
        }
        _ => {}
    }
    if is_python(program) || matches!(program, "torchrun" | "accelerate" | "deepspeed") {
        let module = args
            .iter()
            .position(|word| matches!(&*word.text, "-m" | "--module"))?;
        return args.get(module + 1).map(|word| word.text.clone());
    }
    if interpreter(program).is_some() || program.is_empty() {
        return None;
    }
    if program.starts_with('-') {
        // Arguments of an image: its container's name is what it is found by.
        return invocation.place.container.clone();
    }
    let verb = args.first().filter(|word| {
        word.literal && word.text.len() < 24 && word.text.chars().all(|c| c.is_ascii_lowercase())
    });
    let verb = verb.filter(|_| {
        matches!(
            program,
            "vllm"
                | "ollama"
                | "ray"
                | "celery"
                | "jupyter"
                | "mlflow"
                | "consul"
                | "vault"
                | "etcd"
                | "minio"
                | "litellm"
                | "streamlit"
                | "airflow"
                | "dask"
        )
    });
    Some(match verb {
        Some(verb) => format!("{program} {}", verb.text),
        None => program.to_owned(),
    })
}

/// The port that an invocation's words name.
pub(super) fn port(invocation: &Invocation) -> Option<u16> {
    const NAMED: [&str; 14] = [
        "--listen",
        "--http",
        "--serve-port",
        "--rest-port",
        "--port",
        "-port",
        "--http-port",
        "--http_port",
        "--server-port",
        "--server.port",
        "--listen-port",
        "--bind-port",
        "--web-port",
        "--api-port",
    ];
    let args = invocation.args();
    let named = invocation
        .option_value(&NAMED)
        .map(|value| value.rsplit(':').next().unwrap_or(value));
    let named = named.or_else(|| {
        args.iter()
            .rev()
            .find_map(|word| word.text.strip_prefix("-Dserver.port="))
    });
    if let Some(port) = named.and_then(number) {
        return Some(port);
    }
    let letter = args
        .iter()
        .enumerate()
        .find_map(|(at, word)| match word.text.as_str() {
            "-p" | "-P" => args.get(at + 1).and_then(|value| number_in(&value.text)),
            "--publish" => args.get(at + 1).and_then(|value| number_in(&value.text)),
            text => {
                let attached = text
                    .strip_prefix("-p")
                    .or_else(|| text.strip_prefix("--publish="));
                attached.and_then(number_in)
            }
        });
    let address = || {
        args.iter().find_map(|word| {
            let text = word.text.rsplit('=').next().unwrap_or("");
            let (host, port) = text.rsplit_once(':')?;
            let host = host
                .strip_prefix("http://")
                .or(host.strip_prefix("tcp://"))
                .unwrap_or(host);
            let plain = host
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || ".-[]:*_".contains(c));
            let address = host.is_empty()
                || host == "*"
                || host == "localhost"
                || host.starts_with('[')
                || host.split('.').count() == 4 && host.split('.').all(|n| n.parse::<u8>().is_ok());
            (plain && address).then(|| number(port)).flatten()
        })
    };
    let trailing = || {
        let serves = args.iter().any(|word| {
            word.text.contains("http.server")
                || word.text.contains("SimpleHTTPServer")
                || word.text == "runserver"
        });
        let last = args.last().filter(|_| serves)?;
        number(&last.text).or_else(|| {
            let plain = args.iter().rev().find_map(|word| number(&word.text));
            plain.or(Some(8000))
        })
    };
    let environment = || {
        let set = invocation.assignments.iter().rev().find(|(name, _)| {
            name == "PORT" || name.ends_with("_PORT") && !name.starts_with("MASTER")
        });
        let host = invocation
            .assignments
            .iter()
            .rev()
            .find(|(name, _)| name == "OLLAMA_HOST");
        let address = host.and_then(|(_, word)| word.text.rsplit_once(':'));
        set.and_then(|(_, word)| number(&word.text))
            .or_else(|| address.and_then(|(_, port)| number(port)))
    };
    letter
        .or_else(address)
        .or_else(trailing)
        .or_else(environment)
}

/// The port of this machine that `docker run -p` publishes.
pub(super) fn published(engine: &Invocation) -> Option<u16> {
    engine
        .option_value(&["-p", "--publish"])
        .and_then(number_in)
}

fn number(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port > 0)
}

/// `8000`, or the outer port of `8000:80` and `127.0.0.1:8000:80`.
fn number_in(text: &str) -> Option<u16> {
    let text = text.split('/').next().unwrap_or(text);
    let parts: Vec<&str> = text.split(':').collect();
    match parts.as_slice() {
        [port] => number(port),
        [.., outer, _] => number(outer),
        [] => None,
    }
}

/// Programs of the second rank: they prepare, wait or clear away, and are never the launch.
pub(super) fn is_errand(program: &str) -> bool {
    matches!(
        program,
        "" | "sleep"
            | "wait"
            | "cd"
            | "pushd"
            | "popd"
            | "export"
            | "set"
            | "unset"
            | "source"
            | "."
            | "ulimit"
            | "umask"
            | "disown"
            | "exit"
            | "return"
            | "break"
            | "continue"
            | "trap"
            | "shift"
            | "local"
            | "declare"
            | "readonly"
            | "typeset"
            | "read"
            | "kill"
            | "pkill"
            | "killall"
            | "fuser"
            | "rm"
            | "rmdir"
            | "mkdir"
            | "touch"
            | "chmod"
            | "chown"
            | "cp"
            | "mv"
            | "ln"
            | "tee"
            | "sed"
            | "truncate"
            | "mkfifo"
            | "alias"
            | "shopt"
            | "stty"
            | "logger"
            | "sync"
            | "renice"
            | "bg"
            | "fg"
            | "module"
            | "conda"
    )
}
