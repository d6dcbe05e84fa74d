//! Hops that stay on the machine: shells, other users, and programs that run the words after them.

use crate::shell::HopKind;
use crate::shell::build::Field;
use crate::shell::crude;
use crate::shell::expand::ShellName;

use super::{Branch, Cwd, Hop, Load, Options, assignment, joined};

pub(super) fn find(program: &str, fields: &[Field], fed: bool) -> Option<Hop> {
    match program {
        "bash" | "sh" | "dash" | "zsh" | "ksh" | "ash" | "rbash" => shell(program, fields, fed),
        "busybox" => {
            let rest = fields.get(1..)?;
            match rest.first()?.text.as_str() {
                "sh" | "ash" => shell("sh", rest, fed),
                _ => Hop::wrapper(fields, 1),
            }
        }
        "su" | "runuser" => su(fields, fed),
        "sudo" => sudo(fields, fed),
        "doas" => other_user(fields, "uC", &["-u"]),
        "gosu" | "su-exec" | "setuidgid" => {
            let mut hop = Hop::wrapper(fields, 2)?;
            set_user(&mut hop, fields.get(1)?.text.split(':').next()?);
            Some(hop)
        }
        "env" => env(fields),
        "eval" => text(joined(fields, 1), None, ShellName::Bash, true),
        "xargs" => xargs(fields),
        "watch" => watch(fields),
        "script" => script(fields),
        "flock" => flock(fields),
        "exec" => simple(fields, "a", &[]),
        "command" => command(fields),
        _ => wrapper(program, fields),
    }
}

/// Programs that only run the words after their own options.
fn wrapper(program: &str, fields: &[Field]) -> Option<Hop> {
    match program {
        "nohup" | "builtin" | "noglob" | "nocorrect" | "catchsegv" | "fakeroot" | "proxychains"
        | "proxychains4" | "caffeinate" | "dbus-run-session" | "chronic" | "torsocks" => {
            simple(fields, "", &[])
        }
        "setsid" => {
            let options = Options::scan(fields, 1, "", &[]);
            let mut hop = Hop::wrapper(fields, options.rest)?;
            hop.background = options.has(&["-f", "--fork"]);
            Some(hop)
        }
        "time" => simple(fields, "fo", &["--format", "--output"]),
        "timeout" => {
            let options = Options::scan(fields, 1, "sk", &["--signal", "--kill-after"]);
            Hop::wrapper(fields, options.rest + 1)
        }
        "stdbuf" => simple(fields, "ioe", &["--input", "--output", "--error"]),
        "unbuffer" => simple(fields, "", &[]),
        "nice" => {
            let numbered = fields.get(1).is_some_and(|field| {
                field
                    .text
                    .strip_prefix('-')
                    .is_some_and(|n| n.parse::<i32>().is_ok())
            });
            if numbered {
                Hop::wrapper(fields, 2)
            } else {
                simple(fields, "n", &["--adjustment"])
            }
        }
        "ionice" => {
            let options = Options::scan(fields, 1, "cnpPu", &["--class", "--classdata"]);
            if options.has(&["-p", "-P", "-u"]) {
                None
            } else {
                Hop::wrapper(fields, options.rest)
            }
        }
        "chrt" => {
            let options = Options::scan(fields, 1, "TPD", &[]);
            if options.has(&["-p", "--pid", "-m"]) {
                None
            } else {
                Hop::wrapper(fields, options.rest + 1)
            }
        }
        "taskset" => {
            let options = Options::scan(fields, 1, "", &[]);
            if options.has(&["-p", "--pid"]) {
                None
            } else {
                Hop::wrapper(fields, options.rest + 1)
            }
        }
        "numactl" => {
            let long = [
                "--cpunodebind",
                "--membind",
                "--physcpubind",
                "--interleave",
                "--preferred",
            ];
            let options = Options::scan(fields, 1, "NmCipl", &long);
            Hop::wrapper(fields, options.rest)
        }
        "prlimit" => {
            let options = Options::scan(fields, 1, "p", &["--pid"]);
            if options.has(&["-p", "--pid"]) {
                None
            } else {
                Hop::wrapper(fields, options.rest)
            }
        }
        "sshpass" => simple(fields, "fdpP", &[]),
        "cgexec" => simple(fields, "g", &[]),
        "unshare" => simple(
            fields,
            "SGRw",
            &["--setuid", "--setgid", "--root", "--wd", "--propagation"],
        ),
        "setpriv" => simple(
            fields,
            "",
            &[
                "--reuid",
                "--regid",
                "--groups",
                "--inh-caps",
                "--bounding-set",
            ],
        ),
        "chpst" => simple(fields, "uUebnldmopfcr/", &[]),
        "systemd-inhibit" | "firejail" => {
            simple(fields, "", &["--what", "--who", "--why", "--mode"])
        }
        "strace" | "ltrace" => simple(
            fields,
            "aeEIoOpPsSuUXbn",
            &[
                "--output",
                "--attach",
                "--trace",
                "--string-limit",
                "--user",
            ],
        ),
        "valgrind" | "heaptrack" => simple(fields, "", &[]),
        "nsys" | "ncu" | "perf" | "py-spy" | "gdb" | "cuda-gdb" => traced(program, fields),
        "linux64" | "setarch" => simple(fields, "", &[]),
        "uv" | "poetry" | "pipenv" | "pdm" | "hatch" | "rye" | "pixi" => {
            if fields.get(1)?.text != "run" {
                return None;
            }
            let long = [
                "--with",
                "--python",
                "--project",
                "--directory",
                "--extra",
                "--env-file",
            ];
            let options = Options::scan(fields, 2, "p", &long);
            Hop::wrapper(fields, options.rest)
        }
        "conda" | "mamba" | "micromamba" => {
            if fields.get(1)?.text != "run" {
                return None;
            }
            let options = Options::scan(fields, 2, "np", &["--name", "--prefix", "--cwd"]);
            Hop::wrapper(fields, options.rest)
        }
        _ => None,
    }
}

/// Tools that watch a program they start: `nsys profile -o x cmd`, `perf record -- cmd`,
/// `gdb --args cmd`. What they attach to by pid is no hop.
fn traced(program: &str, fields: &[Field]) -> Option<Hop> {
    let dashed = fields.iter().position(|field| field.text == "--");
    if matches!(program, "gdb" | "cuda-gdb") {
        let args = fields.iter().position(|field| field.text == "--args")?;
        return Hop::wrapper(fields, args + 1);
    }
    if let Some(at) = dashed {
        return Hop::wrapper(fields, at + 1);
    }
    let verb = fields.get(1)?.text.as_str();
    let (from, short) = match (program, verb) {
        ("nsys", "profile" | "launch") => (2, "cdefhlnopstwxyYG"),
        ("perf", "record" | "stat") => (2, "ecFgoCtpuGrIDj"),
        ("ncu", _) => (1, "okfcspnk"),
        _ => return None,
    };
    let long: Vec<&str> = [
        "--section",
        "--set",
        "--metrics",
        "--launch-count",
        "--launch-skip",
        "--export",
        "--trace",
        "--output",
        "--event",
        "--kernel-name",
        "--target-processes",
    ]
    .to_vec();
    let options = Options::scan(fields, from, short, &long);
    if options.has(&["-p", "--pid", "-a"]) {
        return None;
    }
    Hop::wrapper(fields, options.rest)
}

fn simple(fields: &[Field], short: &str, long: &[&str]) -> Option<Hop> {
    Hop::wrapper(fields, Options::scan(fields, 1, short, long).rest)
}

fn command(fields: &[Field]) -> Option<Hop> {
    let options = Options::scan(fields, 1, "", &[]);
    if options.has(&["-v", "-V"]) {
        None
    } else {
        Hop::wrapper(fields, options.rest)
    }
}

fn set_user(hop: &mut Hop, user: &str) {
    for branch in &mut hop.branches {
        branch.user = Some(user.to_owned());
    }
}

fn text(text: String, argv: Option<String>, shell: ShellName, same_process: bool) -> Option<Hop> {
    if text.trim().is_empty() {
        return None;
    }
    let load = Load::Text {
        text,
        argv,
        shell,
        same_process,
    };
    Some(Hop::new(HopKind::ShellText, vec![Branch::here(load)]))
}

fn shell_name(program: &str) -> ShellName {
    match program {
        "bash" | "rbash" => ShellName::Bash,
        "dash" => ShellName::Never,
        _ => ShellName::Other,
    }
}

/// `bash -lc 'text'`, `bash -s <<EOF`, `bash < text`; `bash script.sh` carries nothing we see.
fn shell(program: &str, fields: &[Field], fed: bool) -> Option<Hop> {
    let mut at = 1;
    let (mut takes_text, mut takes_stdin) = (false, false);
    while let Some(word) = fields.get(at) {
        let option = word.text.as_str();
        if matches!(option, "-" | "--") {
            at += 1;
            break;
        }
        if !option.starts_with(['-', '+']) || option.len() < 2 {
            break;
        }
        at += 1;
        if matches!(option, "--rcfile" | "--init-file") {
            at += 1;
        } else if !option.starts_with("--") {
            takes_text |= option.contains('c') && option.starts_with('-');
            takes_stdin |= option.contains('s') && option.starts_with('-');
            at += usize::from(option.ends_with(['o', 'O']));
        }
    }
    let front = joined(fields.get(..at.min(fields.len()))?, 0);
    let name = shell_name(program);
    if takes_text {
        let script = fields.get(at)?.text.clone();
        return text(script, Some(front), name, false);
    }
    let script_from_stdin = takes_stdin || at >= fields.len();
    if script_from_stdin && fed {
        let load = Load::Script {
            argv: Some(joined(fields, 0)),
        };
        return Some(Hop::new(HopKind::ShellStdin, vec![Branch::here(load)]));
    }
    None
}

/// `su - user -c 'text'`, `su -c text`, `runuser -u user -- cmd`.
fn su(fields: &[Field], fed: bool) -> Option<Hop> {
    let mut user = None;
    let mut script = None;
    let (mut login, mut direct) = (false, None);
    let mut at = 1;
    while let Some(word) = fields.get(at) {
        at += 1;
        match word.text.as_str() {
            "-" | "-l" | "--login" => login = true,
            "-c" | "--command" => {
                script = fields.get(at).map(|word| word.text.clone());
                at += 1;
            }
            "-lc" => {
                login = true;
                script = fields.get(at).map(|word| word.text.clone());
                at += 1;
            }
            "-s" | "--shell" | "-g" | "--group" | "-G" | "-w" => at += 1,
            "-u" | "--user" => {
                user = fields.get(at).map(|word| word.text.clone());
                at += 1;
                direct = Some(at);
            }
            "--" => {
                if direct.is_some() {
                    direct = Some(at);
                }
                break;
            }
            other if other.starts_with("--command=") => {
                script = other.split_once('=').map(|(_, text)| text.to_owned());
            }
            other if other.starts_with('-') => {}
            _ if direct.is_some() => break,
            other if user.is_none() => user = Some(other.to_owned()),
            _ => {}
        }
    }
    let user = user.unwrap_or_else(|| "root".to_owned());
    let mut hop = match (direct, script) {
        (Some(from), None) => Hop::wrapper(fields, from)?,
        (_, Some(script)) => text(script, Some("bash -c".to_owned()), ShellName::Bash, false)?,
        (None, None) if fed => {
            let load = Load::Script { argv: None };
            Hop::new(HopKind::ShellStdin, vec![Branch::here(load)])
        }
        (None, None) => return None,
    };
    set_user(&mut hop, &user);
    if login {
        hop.cwd = Cwd::Home;
        hop.keeps_env = false;
    }
    Some(hop)
}

fn sudo(fields: &[Field], fed: bool) -> Option<Hop> {
    let long = [
        "--user",
        "--group",
        "--prompt",
        "--chdir",
        "--host",
        "--role",
        "--type",
        "--other-user",
        "--chroot",
        "--close-from",
        "--command-timeout",
    ];
    let options = Options::scan(fields, 1, "ugpCDhrtTUR", &long);
    if options.has(&[
        "-l",
        "-v",
        "-e",
        "-K",
        "-V",
        "--list",
        "--edit",
        "--validate",
    ]) {
        return None;
    }
    let mut at = options.rest;
    let mut env = Vec::new();
    while let Some(pair) = fields.get(at).and_then(assignment) {
        env.push(pair);
        at += 1;
    }
    let login = options.has(&["-i", "--login"]);
    let mut hop = match Hop::wrapper(fields, at) {
        Some(hop) => hop,
        None if fed && (login || options.has(&["-s", "--shell"])) => {
            let load = Load::Script { argv: None };
            Hop::new(HopKind::ShellStdin, vec![Branch::here(load)])
        }
        None => return None,
    };
    set_user(&mut hop, options.value(&["-u", "--user"]).unwrap_or("root"));
    hop.keeps_env = options.has(&["-E", "--preserve-env"]);
    hop.env = env;
    hop.background = options.has(&["-b", "--background"]);
    if login {
        hop.cwd = Cwd::Home;
    } else if let Some(dir) = options.value(&["-D", "--chdir"]) {
        hop.cwd = Cwd::At(dir.to_owned());
    }
    Some(hop)
}

fn other_user(fields: &[Field], short: &str, names: &[&str]) -> Option<Hop> {
    let options = Options::scan(fields, 1, short, &[]);
    let mut hop = Hop::wrapper(fields, options.rest)?;
    set_user(&mut hop, options.value(names).unwrap_or("root"));
    Some(hop)
}

fn env(fields: &[Field]) -> Option<Hop> {
    let long = ["--unset", "--chdir", "--split-string"];
    let options = Options::scan(fields, 1, "uCS", &long);
    let mut at = options.rest;
    let mut env = Vec::new();
    while let Some(pair) = fields.get(at).and_then(assignment) {
        env.push(pair);
        at += 1;
    }
    let mut hop = match options.value(&["-S", "--split-string"]) {
        Some(text) => {
            let split = crude::commands(text).into_iter().next()?;
            let mut words = split.fields;
            while let Some(pair) = words.first().and_then(assignment) {
                env.push(pair);
                words.remove(0);
            }
            words.extend(fields.get(at..).unwrap_or_default().iter().cloned());
            Hop::wrapper(&words, 0)?
        }
        None => Hop::wrapper(fields, at)?,
    };
    hop.keeps_env = !options.has(&["-i", "-", "--ignore-environment"]);
    hop.env = env;
    if let Some(dir) = options.value(&["-C", "--chdir"]) {
        hop.cwd = Cwd::At(dir.to_owned());
    }
    Some(hop)
}

fn xargs(fields: &[Field]) -> Option<Hop> {
    let long = [
        "--max-args",
        "--max-procs",
        "--arg-file",
        "--delimiter",
        "--max-lines",
    ];
    let options = Options::scan(fields, 1, "InPLdaEs", &long);
    let mut hop = Hop::wrapper(fields, options.rest)?;
    hop.stdin_lost = true;
    Some(hop)
}

/// `watch cmd` gives its words, joined, to `sh -c`; with `-x` it runs them.
fn watch(fields: &[Field]) -> Option<Hop> {
    let options = Options::scan(fields, 1, "nqs", &["--interval", "--equexit"]);
    if options.has(&["-x", "--exec"]) {
        return Hop::wrapper(fields, options.rest);
    }
    text(
        joined(fields, options.rest),
        Some("sh -c".to_owned()),
        ShellName::Other,
        false,
    )
}

/// `script -qc 'text' file`: the output goes to the file as well.
fn script(fields: &[Field]) -> Option<Hop> {
    let long = [
        "--command",
        "--log-out",
        "--log-io",
        "--log-timing",
        "--timing",
        "--echo",
    ];
    let mut options = Options::scan(fields, 1, "cOBITEmo", &long);
    let at = options.rest;
    let more = Options::scan(fields, at + 1, "cOBITEmo", &long);
    options.given.extend(more.given);
    let script = options.value(&["-c", "--command"])?;
    let mut hop = text(
        script.to_owned(),
        Some("sh -c".to_owned()),
        ShellName::Other,
        false,
    )?;
    let named = options.value(&["-O", "-B", "--log-out", "--log-io"]);
    let file = named.or_else(|| fields.get(at).map(|field| field.text.as_str()));
    let append = options.has(&["-a", "--append"]);
    hop.log = Some((file.unwrap_or("typescript").to_owned(), append));
    hop.tty = true;
    Some(hop)
}

/// `flock FILE cmd…`, `flock FILE -c text`.
fn flock(fields: &[Field]) -> Option<Hop> {
    let options = Options::scan(fields, 1, "wE", &["--timeout", "--conflict-exit-code"]);
    let at = options.rest + 1;
    if matches!(fields.get(at)?.text.as_str(), "-c" | "--command") {
        let script = fields.get(at + 1)?.text.clone();
        return text(script, Some("sh -c".to_owned()), ShellName::Other, false);
    }
    Hop::wrapper(fields, at)
}
