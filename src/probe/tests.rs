//! Every fixture under `tests/fixtures/probes`, and what holds of every reading.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{Look, Reading, read};
use crate::event::{Exit, Stream};
use crate::shell;

/// A recorded command: how it was typed, how it ended, what it printed.
struct Case {
    command: String,
    exit: Exit,
    streams: Vec<(Stream, String)>,
}

fn case(text: &str) -> Case {
    let mut case = Case {
        command: String::new(),
        exit: Exit::Lost,
        streams: Vec::new(),
    };
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches('\n');
        if let Some((_, output)) = case.streams.last_mut()
            && !bare.starts_with("--- std")
        {
            if bare == "\\ no newline" {
                output.truncate(output.len() - 1);
            } else {
                output.push_str(line);
            }
        } else if let Some(command) = bare.strip_prefix("$ ") {
            case.command.push_str(command);
        } else if let Some(more) = bare.strip_prefix("> ") {
            case.command.push('\n');
            case.command.push_str(more);
        } else if let Some(signal) = bare.strip_prefix("exit signal ") {
            case.exit = Exit::Signal(signal.parse().unwrap());
        } else if let Some(code) = bare.strip_prefix("exit ") {
            case.exit = code.parse().map_or(Exit::Lost, Exit::Code);
        } else if let Some(name) = bare.strip_prefix("--- ") {
            let stream = match name {
                "stdout" => Stream::Stdout,
                "stderr" => Stream::Stderr,
                _ => Stream::Tty,
            };
            case.streams.push((stream, String::new()));
        }
    }
    case
}

fn read_case(case: &Case) -> Reading {
    let tree = shell::parse(&case.command);
    let streams: Vec<(Stream, &[u8])> = case
        .streams
        .iter()
        .map(|(stream, text)| (*stream, text.as_bytes()))
        .collect();
    read(&Look {
        tree: &tree,
        host: "here",
        exit: case.exit,
        streams: &streams,
    })
}

/// A reading as the fixtures write it: fields at rest (unknown, false, empty) left out.
fn written(reading: &Reading, case: &Case) -> Value {
    let facts: Vec<Value> = reading
        .facts
        .iter()
        .map(|seen| {
            let fact = serde_json::to_value(&seen.fact).unwrap();
            let fields: Map<String, Value> = fact["fields"]
                .as_object()
                .unwrap()
                .iter()
                .filter(|(_, value)| {
                    !value.is_null()
                        && **value != json!(false)
                        && **value != json!("")
                        && **value != json!([])
                })
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            json!({
                "fact": fact["fact"],
                "host": seen.place.host,
                "invocation": seen.invocation,
                "stream": seen.stream,
                "from": seen.from,
                "to": seen.to,
                "fields": fields,
            })
        })
        .collect();
    let unclaimed: Vec<&str> = reading
        .unclaimed
        .iter()
        .map(|span| {
            let (_, text) = case
                .streams
                .iter()
                .find(|(stream, _)| *stream == span.stream)
                .unwrap();
            &text[usize::try_from(span.from).unwrap()..usize::try_from(span.to).unwrap()]
        })
        .collect();
    let complaints: Vec<&str> = reading
        .complaints
        .iter()
        .map(|(_, complaint)| complaint.text.as_str())
        .collect();
    json!({"facts": facts, "unclaimed": unclaimed, "complaints": complaints})
}

fn fixtures(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            fixtures(&path, found);
        } else if path.extension().is_some_and(|end| end == "txt") {
            found.push(path);
        }
    }
}

#[test]
fn fixtures_are_read_as_they_say() {
    let mut paths = Vec::new();
    fixtures(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/probes"),
        &mut paths,
    );
    assert!(paths.len() > 100);
    paths.sort();
    let mut wrong = Vec::new();
    for path in paths {
        let case = case(&std::fs::read_to_string(&path).unwrap());
        let got = written(&read_case(&case), &case);
        let expected = path.with_extension("json");
        let expected: Value = std::fs::read_to_string(expected)
            .map_or(Value::Null, |text| serde_json::from_str(&text).unwrap());
        if got != expected {
            wrong.push(format!(
                "{}\n  got      {got}\n  expected {expected}",
                path.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every fixture with its output cut, its lines dropped and its columns shifted: nothing falls, and
/// no span leaves the output.
#[test]
fn broken_outputs_are_read_without_a_fall() {
    const CUTS: usize = 24;
    let mut paths = Vec::new();
    fixtures(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/probes"),
        &mut paths,
    );
    for path in paths {
        let case = case(&std::fs::read_to_string(&path).unwrap());
        let tree = shell::parse(&case.command);
        let read_bytes = |streams: &[(Stream, Vec<u8>)]| {
            let streams: Vec<(Stream, &[u8])> = streams
                .iter()
                .map(|(stream, bytes)| (*stream, bytes.as_slice()))
                .collect();
            let reading = read(&Look {
                tree: &tree,
                host: "here",
                exit: case.exit,
                streams: &streams,
            });
            for seen in &reading.facts {
                let of = streams
                    .iter()
                    .find(|(stream, _)| Some(*stream) == seen.stream);
                let length = of.map_or(0, |(_, bytes)| bytes.len() as u64);
                assert!(
                    seen.from <= seen.to && seen.to <= length,
                    "{}",
                    path.display()
                );
            }
        };
        let mangled = |mangle: &dyn Fn(&str) -> Vec<u8>| -> Vec<(Stream, Vec<u8>)> {
            case.streams
                .iter()
                .map(|(stream, text)| (*stream, mangle(text)))
                .collect()
        };
        let longest = case.streams.iter().map(|(_, text)| text.len()).max();
        let longest = longest.unwrap_or(0);
        // Every 7th byte, but no more than so many cuts of one output.
        let step = 7.max(longest / CUTS);
        for at in (0..longest).step_by(step) {
            read_bytes(&mangled(&|text| {
                text.as_bytes()[..at.min(text.len())].to_vec()
            }));
        }
        for every in [2, 3, 5] {
            read_bytes(&mangled(&|text| {
                let lines = text.split_inclusive('\n').enumerate();
                let kept = lines.filter(|(at, _)| !at.is_multiple_of(every));
                kept.map(|(_, line)| line).collect::<String>().into_bytes()
            }));
        }
        read_bytes(&mangled(&|text| {
            let narrow = text
                .lines()
                .map(|line| line.chars().take(33).collect::<String>());
            narrow.collect::<Vec<_>>().join("\n").into_bytes()
        }));
        read_bytes(&mangled(&|text| text.replace("  ", " ").into_bytes()));
        read_bytes(&mangled(&|text| {
            text.replace(|c: char| c.is_ascii_digit(), "9").into_bytes()
        }));
    }
}

fn reading(command: &str, exit: i32, stdout: &str) -> Reading {
    read_case(&Case {
        command: command.to_owned(),
        exit: Exit::Code(exit),
        streams: vec![(Stream::Stdout, stdout.to_owned())],
    })
}

#[test]
fn what_could_be_anyones_is_nobodys() {
    let reading = reading("one; two", 0, "hello\nworld\n");
    assert!(reading.claims.is_empty());
    assert_eq!(reading.unclaimed.len(), 1);
}

#[test]
fn what_may_have_been_shown_is_not_said_to_be_empty() {
    let empty = |command: &str, stdout: &str| {
        let reading = reading(command, 0, stdout);
        reading
            .facts
            .iter()
            .any(|seen| matches!(&seen.fact, crate::fact::Fact::LogLook(look) if look.empty))
    };
    let two = "cat /etc/agent/agent.conf; agentctl check";
    assert!(!empty(two, "workers = 4\nqueue = main\n"));
    assert!(empty("cat /etc/agent/agent.conf", ""));
    assert!(empty("cat /etc/agent/agent.conf; date +%s", "1764500000\n"));
}

#[test]
fn a_long_output_is_aligned_at_both_ends() {
    let mut text = String::from("Tue Apr 18 09:10:31 UTC 2023\n");
    for number in 0..20_000 {
        text.push_str(&format!("line {number}\n"));
    }
    text.push_str("12 /srv/x.log\n");
    let reading = reading("date; server --log; wc -l /srv/x.log", 0, &text);
    assert!(reading.unclaimed.is_empty(), "{:?}", reading.unclaimed);
    let names: Vec<&str> = reading.facts.iter().map(|seen| seen.fact.name()).collect();
    assert_eq!(names, ["clock", "file", "count"]);
}

#[test]
fn what_ssh_says_down_one_pipe_is_still_ssh_s() {
    let said = "ssh: Could not resolve hostname gpu01: Name or service not known\n";
    let read = reading("ssh gpu01 'pgrep -fa server; tail /x'", 255, said);
    let facts: Vec<&str> = read.facts.iter().map(|one| one.fact.name()).collect();
    assert!(facts.contains(&"reach"), "{facts:?}");
    assert!(
        !facts.contains(&"process_look") && !facts.contains(&"log_look"),
        "{facts:?}"
    );
    // A remote command that prints such a line, and fails by itself, keeps it.
    let read = reading("ssh gpu01 'cat /tmp/x.log'", 0, said);
    let facts: Vec<&str> = read.facts.iter().map(|one| one.fact.name()).collect();
    assert!(facts.contains(&"log_look"), "{facts:?}");
}

#[test]
fn a_self_kill_says_nothing_of_what_came_after() {
    let reading = reading("ssh h 'pkill -f srv; pgrep -fa srv; ls -d /x'", 255, "");
    assert!(reading.facts.is_empty(), "{:?}", reading.facts);
}

#[test]
fn no_bytes_and_odd_bytes_are_read_without_a_fall() {
    let lines = [
        "pgrep -fa x",
        "ps aux",
        "ps -o pid=,args -p 1",
        "top -b -n1",
        "nvidia-smi",
        "nvidia-smi -L",
        "nvidia-smi dmon",
        "nvidia-smi --query-gpu=index,name --format=csv",
        "ls -la /x /y",
        "stat /x",
        "stat -c '%y %s %n' /x",
        "wc /x",
        "df -h",
        "du -sh /x",
        "find /x",
        "curl -si -w '%{http_code}' h",
        "wget -O- h",
        "ss -ltnp",
        "netstat -tlnp",
        "lsof -i :80",
        "fuser -v 80/tcp",
        "nc -zv h 1",
        "ping h",
        "getent hosts h",
        "dig h",
        "date",
        "date +%s",
        "uptime",
        "free -h",
        "ulimit -a",
        "env",
        "systemctl status x",
        "systemctl show x",
        "supervisorctl status",
        "docker ps -a",
        "docker ps --format '{{.Names}} {{.Status}}'",
        "docker inspect x",
        "kubectl get pods",
        "kubectl describe pod x",
        "kubectl get events",
        "py-spy dump --pid 1",
        "gdb -p 1",
        "pip list",
        "x --version",
        "echo a $? $! $X",
        "printf '%s %d\\n' a $?",
        "cat /proc/1/status",
        "cat /proc/1/stat",
        "cat /proc/meminfo",
        "cat /proc/1/limits",
        "pstree -p",
        "gpustat",
        "readlink /proc/1/fd/1",
        "ps aux | grep x | awk '{print $2,$NF}'",
        "ps aux | wc -l",
        "for p in 1 2; do echo $p $(cat /proc/$p/wchan); done",
    ];
    let outputs = [
        "",
        "\n",
        "x",
        "1",
        "-",
        ":",
        "\u{1F600} é | / % ( ) [ ]\n",
        "\0\0\n\0",
        "1 2 3 4 5 6 7 8 9 10 11 12 13\n",
        "  File: \n  Size: \nAccess: (\n",
        "| | |\n|  0  x | 0:0 | % |\n| / | MiB / | % |\n",
        "Thread (\nProcess : \n#\n#0\n",
        "a,b,c\n,,\n",
        "2026-13-99 99:99:99 +9999\n",
        "users:((\"\n",
        "{\"State\":\n[{}]\n",
        "● \n   Active: (\n",
        "99999999999999999999999999999999 x\n",
        "Up \nExited (\n",
        "total \ntotal x\n-rw-r--r-- 1\n",
    ];
    for command in lines {
        for output in outputs {
            for stream in [Stream::Stdout, Stream::Tty] {
                let reading = read_case(&Case {
                    command: format!("ssh h '{}'", command.replace('\'', r"'\''")),
                    exit: Exit::Code(1),
                    streams: vec![(stream, output.to_owned())],
                });
                for seen in &reading.facts {
                    assert!(seen.from <= seen.to, "{command}: {output:?}");
                    assert!(seen.to <= output.len() as u64, "{command}: {output:?}");
                }
            }
        }
    }
}
