//! Looks that could not have shown what they were asked.
//!
//! A look is judged as well as read: by its own words it lists a part (`docker ps`: only what runs;
//! `kubectl get pods`: one namespace; `pgrep NAME`: names, not arguments), or it says itself that it
//! was not allowed to see all. What such a look did not show is unknown, and there is a wider one.
//!
//! From the manuals of docker 28, kubectl 1.31, procps 4.0, systemd 252, util-linux 2.38 and grep 3.8.

use super::words::Args;
use super::{Look, Reading, Shown, Sink, Span};
use crate::event::Stream;
use crate::fact::{BlindLook, Fact};
use crate::shell::{Invocation, RedirectTo, quote};

/// Adds a fact for every look that was blind; `lines` are those of all streams.
pub(super) fn add(look: &Look<'_>, lines: &[Shown], reading: &mut Reading) {
    let leaves: Vec<&Invocation> = look.tree.leaves().collect();
    for invocation in &leaves {
        if is_redirected(invocation) {
            continue;
        }
        let alone = leaves.iter().filter(|one| one.program() != "grep").count() == 1;
        let own = own_lines(invocation, alone, lines, reading);
        let Some((blind, said)) = judge(invocation, &own, look, reading) else {
            continue;
        };
        let at = Span {
            stream: said.map_or(
                look.streams.first().map_or(Stream::Stdout, |one| one.0),
                |line| line.stream,
            ),
            from: said.map_or(0, |line| line.from),
            to: said.map_or(0, |line| line.to),
        };
        let fact: Fact = blind.into();
        let mut sink = Sink {
            place: &invocation.place,
            invocation: Some(invocation.index),
            at,
            reading,
        };
        match said {
            Some(line) => sink.line(&line.clone(), fact),
            None => sink.lines(&[], fact),
        }
    }
    super::attribution::in_order(reading);
}

/// Its output goes where it is not recorded.
fn is_redirected(invocation: &Invocation) -> bool {
    invocation.redirects.iter().any(|redirect| {
        let to_a_file = matches!(
            redirect.to,
            RedirectTo::Truncate { .. } | RedirectTo::Append { .. }
        );
        redirect.fd == 1 && to_a_file
    })
}

/// What an invocation printed, where that can be told: `None` for a line where it cannot.
enum Own<'a> {
    /// These lines and no others.
    Lines(Vec<&'a Shown>),
    /// Somebody else's lines may be its own.
    Unknown(Vec<&'a Shown>),
}

fn own_lines<'a>(
    invocation: &Invocation,
    alone: bool,
    lines: &'a [Shown],
    reading: &Reading,
) -> Own<'a> {
    if alone || lines.is_empty() {
        return Own::Lines(lines.iter().collect());
    }
    let claimed: Vec<&Shown> = lines
        .iter()
        .filter(|line| {
            reading.claims.iter().any(|claim| {
                claim.invocation == invocation.index
                    && claim.span.stream == line.stream
                    && claim.span.from <= line.from
                    && line.to <= claim.span.to
            })
        })
        .collect();
    if claimed.is_empty() {
        Own::Unknown(lines.iter().collect())
    } else {
        Own::Lines(claimed)
    }
}

type Judged<'a> = Option<(BlindLook, Option<&'a Shown>)>;

fn judge<'a>(
    invocation: &Invocation,
    own: &Own<'a>,
    look: &Look<'_>,
    reading: &Reading,
) -> Judged<'a> {
    by_its_words(invocation, own, look).or_else(|| by_its_options(invocation, own, look, reading))
}

/// Programs that say themselves what they could not see.
const TELL: [&str; 23] = [
    "bzgrep",
    "crontab",
    "dmesg",
    "du",
    "egrep",
    "fgrep",
    "find",
    "ggrep",
    "grep",
    "journalctl",
    "kubectl",
    "lsof",
    "netstat",
    "oc",
    "pgrep",
    "pkill",
    "rg",
    "ss",
    "systemctl",
    "ugrep",
    "xzgrep",
    "zgrep",
    "zstdgrep",
];

/// It says itself what it could not see.
fn by_its_words<'a>(invocation: &Invocation, own: &Own<'a>, look: &Look<'_>) -> Judged<'a> {
    let program = invocation.program();
    if !TELL.contains(&program) {
        return None;
    }
    let line = invocation.line();
    let (Own::Lines(lines) | Own::Unknown(lines)) = own;
    for shown in lines {
        let text = shown.text.as_str();
        let has = |part: &str| text.contains(part);
        let (hides, wider, nothing) = match program {
            "kubectl" | "oc" if has("No resources found in ") => {
                let elsewhere = Args::of(invocation, KUBECTL).has(&["A", "all-namespaces"]);
                if elsewhere {
                    continue;
                }
                let asked = Args::of(invocation, KUBECTL);
                let what = asked.texts().nth(1).unwrap_or("pods");
                (
                    "other namespaces",
                    format!("{program} get {} -A", quote::quote(what)),
                    true,
                )
            }
            "pgrep" | "pkill" if has("longer than 15 characters will result in zero matches") => (
                "names of more than 15 characters",
                full_pgrep(invocation),
                true,
            ),
            "netstat" | "ss" | "lsof"
                if has("Not all processes could be identified")
                    || has("will not be shown, you would have to be root") =>
            {
                ("processes of other users", format!("sudo {line}"), false)
            }
            "journalctl" | "systemctl"
                if has("not seeing messages from other users")
                    || has("due to insufficient permissions") =>
            {
                (
                    "messages of the system and of other users",
                    format!("sudo {line}"),
                    has("No journal files were opened"),
                )
            }
            "dmesg" if has("ermission denied") || has("not permitted") => {
                ("the kernel's messages", format!("sudo {line}"), true)
            }
            "crontab" if has("no crontab for") => (
                "the tables of other users and of the system",
                "ls /etc/cron.d /var/spool/cron/crontabs".to_owned(),
                true,
            ),
            "systemctl"
                if (has("could not be found") || has("not loaded"))
                    && !Args::of(invocation, "").has(&["user"]) =>
            {
                (
                    "units of a user's own manager",
                    line.replacen("systemctl", "systemctl --user", 1),
                    true,
                )
            }
            "grep" | "egrep" | "fgrep" | "zgrep" | "xzgrep" | "zstdgrep" | "bzgrep" | "ggrep"
            | "rg" | "ugrep"
                if text.to_ascii_lowercase().contains("binary file") && has("match")
                    || text == "matches" && is_last_word(look, invocation) =>
            {
                (
                    "the lines: the file holds bytes that are no text",
                    line.replacen(program, &format!("{program} -a"), 1),
                    false,
                )
            }
            "find" | "du" if has("ermission denied") => (
                "folders that this user may not enter",
                format!("sudo {line}"),
                false,
            ),
            _ => continue,
        };
        // Its own words, whoever else printed here: they name what they are about.
        return Some((
            fact(invocation, hides, wider, nothing, Some(text)),
            Some(shown),
        ));
    }
    None
}

/// A pipe behind it shows each line's last word alone: of `Binary file x matches` that is left.
fn is_last_word(look: &Look<'_>, invocation: &Invocation) -> bool {
    invocation.piped_out
        && look.tree.leaves().any(|one| {
            matches!(one.program(), "awk" | "gawk" | "mawk")
                && one.args().iter().any(|word| word.text.contains("NF"))
        })
}

/// Options of kubectl that take a value.
const KUBECTL: &str = "n namespace context cluster o output l selector f filename c container s";

/// By what was asked it shows a part, and of that there is nothing.
fn by_its_options<'a>(
    invocation: &Invocation,
    own: &Own<'a>,
    look: &Look<'_>,
    reading: &Reading,
) -> Judged<'a> {
    let Own::Lines(lines) = own else {
        return None;
    };
    let program = invocation.program();
    let rows = lines
        .iter()
        .filter(|line| line.stream != Stream::Stderr && !line.text.trim().is_empty())
        .filter(|line| !is_head(&line.text))
        .take(2) // none, one, or more
        .count();
    let complained = || lines.iter().any(|line| line.stream == Stream::Stderr);
    let read = |wanted: fn(&Fact) -> bool| {
        reading
            .facts
            .iter()
            .any(|one| one.invocation == Some(invocation.index) && wanted(&one.fact))
    };
    let (hides, wider) = match program {
        _ if rows == 0 && loses_errors(invocation, look) && speaks_on_stderr(invocation) => (
            "what it says on standard error, which is thrown away here",
            format!("{} 2>&1", invocation.line()),
        ),
        "docker" | "podman" | "nerdctl" if rows == 0 && !complained() => {
            let args = Args::of(invocation, "f filter format n last H host c context");
            let verbs: Vec<&str> = args.texts().collect();
            let lists = matches!(
                verbs.as_slice(),
                ["ps", ..] | ["container", "ls" | "list" | "ps", ..]
            );
            if !lists || args.has(&["a", "all"]) || read(|fact| matches!(fact, Fact::Container(_)))
            {
                return None;
            }
            ("containers that stopped", format!("{program} ps -a"))
        }
        "pgrep" | "pidof" if rows == 0 && !complained() && is_plain_miss(look) => {
            let args = Args::of(invocation, "u U g G P s t d F r");
            let pattern = args.first()?;
            if program == "pgrep" && args.has(&["f", "full"]) || pattern.is_empty() {
                return None;
            }
            (
                "what stands in the arguments: python, java or node run under their own names",
                full_pgrep(invocation),
            )
        }
        "ps" if rows <= 1 || filtered(look, invocation) && rows == 0 => {
            let args = Args::of(invocation, "p pid o format C u U user t tty ppid G g");
            let selects = !args.operands.is_empty()
                || args.has(&[
                    "e", "A", "a", "p", "pid", "C", "u", "U", "user", "t", "ppid", "d",
                ]);
            if selects {
                return None;
            }
            ("processes of other terminals", "ps -ef".to_owned())
        }
        _ => return None,
    };
    Some((fact(invocation, hides, wider, true, None), None))
}

/// Standard error is thrown away, by itself or by a hop that carries it.
fn loses_errors(invocation: &Invocation, look: &Look<'_>) -> bool {
    let chain = look.tree.hop_chain(invocation.index);
    let carriers = chain
        .iter()
        .filter_map(|hop| look.tree.invocations.get(*hop));
    carriers
        .chain(std::iter::once(invocation))
        .any(|one| {
            one.redirects.iter().any(|redirect| {
                redirect.fd == 2
                    && matches!(&redirect.to, RedirectTo::Truncate { path } | RedirectTo::Append { path } if path.text == "/dev/null")
            })
        })
}

/// It prints what it is asked for, or may, on standard error: a container's own errors and most
/// servers' logs, a version, a check of settings, a trace.
fn speaks_on_stderr(invocation: &Invocation) -> bool {
    let args = Args::of(invocation, "");
    match invocation.program() {
        "docker" | "podman" | "nerdctl" => matches!(
            args.texts().collect::<Vec<_>>().as_slice(),
            ["logs", ..] | ["container", "logs", ..] | ["compose", "logs", ..]
        ),
        "java" => args.has(&["version"]) || invocation.line().contains("-version"),
        "nginx" | "openresty" => args.has(&["t", "T", "v", "V"]),
        "ffmpeg" | "strace" | "ltrace" => true,
        _ => false,
    }
}

/// The command says "no" by its code, or nothing: no error kept the look from looking.
fn is_plain_miss(look: &Look<'_>) -> bool {
    matches!(look.exit, crate::event::Exit::Code(0 | 1))
}

/// Its output goes through grep.
fn filtered(look: &Look<'_>, invocation: &Invocation) -> bool {
    invocation.piped_out && look.tree.leaves().any(|one| one.program() == "grep")
}

/// The head of a table.
fn is_head(text: &str) -> bool {
    let mut words = text
        .split_whitespace()
        .filter(|word| word.contains(char::is_alphabetic));
    let mut seen = false;
    let capitals = words.all(|word| {
        seen = true;
        !word.contains(char::is_lowercase)
    });
    seen && capitals
}

/// The look for the same name in whole command lines, written so that it cannot find itself.
fn full_pgrep(invocation: &Invocation) -> String {
    let args = Args::of(invocation, "u U g G P s t d F r");
    let name = args.first().unwrap_or_default();
    let safe = quote::bracketed(name).unwrap_or_else(|| name.to_owned());
    format!("pgrep -fa {}", quote::quote(&safe))
}

fn fact(
    invocation: &Invocation,
    hides: &str,
    wider: String,
    nothing: bool,
    said: Option<&str>,
) -> BlindLook {
    BlindLook {
        tool: invocation.program().to_owned(),
        hides: hides.to_owned(),
        wider,
        nothing,
        said: said.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{Exit, Stream};
    use crate::fact::{BlindLook, Fact};
    use crate::probe::{Look, read};
    use crate::shell::parse;

    fn looks(line: &str, code: i32, stdout: &str, stderr: &str) -> Vec<BlindLook> {
        let tree = parse(line);
        let reading = read(&Look {
            tree: &tree,
            host: "laptop",
            exit: Exit::Code(code),
            streams: &[
                (Stream::Stdout, stdout.as_bytes()),
                (Stream::Stderr, stderr.as_bytes()),
            ],
        });
        reading
            .facts
            .into_iter()
            .filter_map(|one| match one.fact {
                Fact::BlindLook(blind) => Some(blind),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_look_that_shows_a_part_says_which_and_names_the_wider_one() {
        let head = "CONTAINER ID   IMAGE     COMMAND   CREATED   STATUS    PORTS     NAMES\n";
        for (line, code, stdout, stderr, wider, nothing) in [
            ("ssh c4 docker ps", 0, head, "", "docker ps -a", true),
            ("docker ps | grep web", 1, "", "", "docker ps -a", true),
            ("podman container ls -q", 0, "", "", "podman ps -a", true),
            (
                "kubectl get pods",
                0,
                "",
                "No resources found in default namespace.\n",
                "kubectl get pods -A",
                true,
            ),
            (
                "ssh b 'pgrep server.py'",
                1,
                "",
                "",
                "pgrep -fa '[s]erver.py'",
                true,
            ),
            ("pidof vllm", 1, "", "", "pgrep -fa '[v]llm'", true),
            (
                "ps",
                0,
                "    PID TTY          TIME CMD\n",
                "",
                "ps -ef",
                true,
            ),
            ("ps | grep train", 1, "", "", "ps -ef", true),
            (
                "journalctl -u api -n 5",
                0,
                "-- No entries --\n",
                "Hint: You are currently not seeing messages from other users and the system.\n",
                "sudo journalctl -u api -n 5",
                false,
            ),
            (
                "dmesg | tail -3",
                1,
                "",
                "dmesg: read kernel buffer failed: Operation not permitted\n",
                "sudo dmesg",
                true,
            ),
            (
                "netstat -ltnp",
                0,
                "tcp 0 0 0.0.0.0:80 0.0.0.0:* LISTEN -\n",
                "(Not all processes could be identified, non-owned process info\n will not be shown, you would have to be root to see it all.)\n",
                "sudo netstat -ltnp",
                false,
            ),
            (
                "crontab -l",
                1,
                "",
                "no crontab for root\n",
                "ls /etc/cron.d /var/spool/cron/crontabs",
                true,
            ),
            (
                "ssh c4 'docker logs --tail 20 api 2>/dev/null | tail -n 5'",
                0,
                "",
                "",
                "docker logs --tail 20 api 2>&1",
                true,
            ),
            ("nginx -t 2>/dev/null", 0, "", "", "nginx -t 2>&1", true),
            (
                "grep -i error app.log",
                0,
                "grep: app.log: binary file matches\n",
                "",
                "grep -a -i error app.log",
                false,
            ),
            (
                "ssh w 'zcat app.log.2.gz | grep 4711'",
                0,
                "Binary file (standard input) matches\n",
                "",
                "grep -a 4711",
                false,
            ),
            (
                "rg 4711 app.log",
                0,
                "binary file matches (found \"\\0\" byte around offset 4)\n",
                "",
                "rg -a 4711 app.log",
                false,
            ),
            (
                "grep 4711 app.log | awk '{print $NF}'",
                0,
                "matches\n",
                "",
                "grep -a 4711 app.log",
                false,
            ),
        ] {
            let found = looks(line, code, stdout, stderr);
            assert!(
                found
                    .iter()
                    .any(|one| one.wider == wider && one.nothing == nothing),
                "{line}: {found:?}"
            );
        }
    }

    #[test]
    fn a_look_that_could_see_or_saw_something_is_not_blind() {
        let row = "CONTAINER ID   IMAGE   COMMAND   CREATED   STATUS   PORTS   NAMES\n\
                   0f1e2d3c4b5a   nginx   \"nginx\"   2 days ago   Up 2 days   80/tcp   web\n";
        for (line, code, stdout, stderr) in [
            ("docker ps", 0, row, ""),
            ("docker ps -a", 0, "", ""),
            ("docker logs api 2>/dev/null", 0, "ready\n", ""),
            ("docker logs api 2>&1 | tail", 0, "", ""),
            ("ls /srv 2>/dev/null", 0, "", ""),
            (
                "docker ps",
                1,
                "",
                "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.\n",
            ),
            ("docker ps > list", 0, "", ""),
            ("docker run --rm img true", 0, "", ""),
            ("pgrep -f server.py", 1, "", ""),
            ("pgrep nginx", 0, "411\n", ""),
            (
                "ssh b 'pgrep nginx'",
                255,
                "",
                "ssh: connect to host b port 22: Connection refused\n",
            ),
            ("ps -ef | grep train", 1, "", ""),
            ("ps aux", 0, "", ""),
            ("kubectl get pods -A", 0, "", "No resources found\n"),
            ("journalctl -u api", 0, "-- No entries --\n", ""),
            ("grep -c error app.log", 1, "0\n", ""),
        ] {
            assert_eq!(looks(line, code, stdout, stderr), [], "{line}");
        }
    }
}
