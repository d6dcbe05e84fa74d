//! What scripts hold on to: exit codes, and the keys and types of every answer in JSON.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::bench::{Bench, finish};

/// A case with a start, a self-kill and a look at a log whose quotes can be compared.
const CASE: &str = r#"
title: A restart that never was
started: 2026-11-30T10:00:00Z
steps:
- at: 0
  took: 1.5
  host: laptop
  command: |-
    ssh gpu-7 'pkill -9 -f srv.py; sleep 2
    cat > /root/run.sh << "END"
    exec python3 srv.py --port 8000
    END
    nohup bash /root/run.sh > /root/srv.log 2>&1 &'
  exit: 255
  stdout: ''
  stderr: ''
- at: 5
  took: 0.2
  host: laptop
  command: ssh gpu-7 'pgrep -fa srv.py'
  exit: 0
  stdout: |
    4021 bash -c pgrep -fa srv.py
- at: 9
  took: 0.25
  host: laptop
  command: ssh gpu-7 'ls -l /root/run.sh; tail -2 /root/srv.log'
  exit: 0
  stdout: |
    loading
    Received sigquit from a child process: größer
  stderr: |
    ls: cannot access '/root/run.sh': No such file or directory
- at: 15
  host: laptop
  command: sleep 100
  exit: {signal: 9}
"#;

struct Told {
    bench: Bench,
    session: String,
}

fn told() -> Told {
    let bench = Bench::new();
    std::fs::write(bench.file("case.yaml"), CASE).unwrap();
    let session = bench.import(&bench.file("case.yaml"));
    Told { bench, session }
}

/// Whether a value has the shape: words name types, `?` allows null, a list holds what its items
/// are, an object the keys that must be there.
fn fits(value: &Value, shape: &Value, at: &str) {
    match shape {
        Value::String(name) => {
            if let Some(name) = name.strip_suffix('?') {
                if !value.is_null() {
                    fits(value, &json!(name), at);
                }
                return;
            }
            let so = match name.as_str() {
                "text" => value.is_string(),
                "count" => value.is_u64(),
                "number" => value.is_number(),
                "bool" => value.is_boolean(),
                "list" => value.is_array(),
                "object" => value.is_object(),
                "time" => value.as_str().is_some_and(is_time),
                "exit" => is_exit(value),
                "chance" => value.as_f64().is_some_and(|p| (0.0..=1.0).contains(&p)),
                words => value
                    .as_str()
                    .is_some_and(|text| words.split('|').any(|word| word == text)),
            };
            assert!(so, "{at} is not {name}: {value:#}");
        }
        Value::Array(item) => {
            let list = value
                .as_array()
                .unwrap_or_else(|| panic!("{at} is no list: {value:#}"));
            for (place, one) in list.iter().enumerate() {
                fits(one, &item[0], &format!("{at}[{place}]"));
            }
        }
        Value::Object(keys) => {
            for (key, shape) in keys {
                let inner = value.get(key);
                let inner = inner.unwrap_or_else(|| panic!("{at} has no {key}: {value:#}"));
                fits(inner, shape, &format!("{at}.{key}"));
            }
        }
        exact => assert_eq!(value, exact, "{at}"),
    }
}

/// RFC 3339, UTC, microseconds: `2026-11-30T10:00:00.000000Z`.
fn is_time(text: &str) -> bool {
    let like = "0000-00-00T00:00:00.000000Z";
    text.len() == like.len()
        && text.bytes().zip(like.bytes()).all(|(is, like)| match like {
            b'0' => is.is_ascii_digit(),
            other => is == other,
        })
}

fn is_exit(value: &Value) -> bool {
    let Some(object) = value.as_object().filter(|object| object.len() == 1) else {
        return false;
    };
    object.iter().all(|(key, value)| match key.as_str() {
        "code" | "signal" | "stopped" => value.is_i64(),
        "lost" | "running" => *value == json!(true),
        _ => false,
    })
}

/// Where a command's id stands, its number and line do too.
fn commands_are_named(value: &Value, at: &str) {
    if let Some(object) = value.as_object() {
        if object.get("command_id").is_some_and(Value::is_string) {
            assert!(
                object.get("number").is_some_and(Value::is_u64),
                "{at}: {value:#}"
            );
            assert!(
                object.get("line").is_some_and(Value::is_string),
                "{at}: {value:#}"
            );
        }
        for (key, inner) in object {
            commands_are_named(inner, &format!("{at}.{key}"));
        }
    }
    for (place, inner) in value.as_array().into_iter().flatten().enumerate() {
        commands_are_named(inner, &format!("{at}[{place}]"));
    }
}

fn suggestion() -> Value {
    json!({"id": "text", "line": "text", "why": "text", "cost": "number", "playbook": "text",
           "safety": "read-only|heavy read|changes state|destructive"})
}

fn evidence() -> Value {
    json!({"command_id": "text", "number": "count", "line": "text",
           "stream": "stdout|stderr|tty?", "from": "count", "to": "count",
           "quote": "text", "says": "text"})
}

fn finding() -> Value {
    json!({
        "id": "text", "playbook": "text", "version": "count", "kind": "text",
        "claim": "observed|suspected|established",
        "severity": "info|low|medium|high|critical",
        "status": "open|resolved|confirmed|dismissed",
        "cause_of": ["text"], "title": "text", "scope": "object", "evidence": [evidence()],
        "hypotheses": [{
            "id": "text", "title": "text", "probability": "chance",
            "for": [evidence()], "against": [evidence()], "refuted": "bool",
        }],
        "next": [suggestion()],
    })
}

#[test]
fn why_and_next() {
    let Told { bench, session } = told();
    let why = bench.json(&["why", "--json"]);
    fits(
        &why,
        &json!({
            "format": 1, "session": "text", "as_of": "time", "findings": [finding()],
            "launches": [{
                "id": "text", "command_id": "text", "number": "count", "line": "text",
                "target_host": "text", "log": "text?", "port": "count?",
                "process": "text", "gpu": "text", "log_state": "text", "progress": "text",
                "stage": "text?", "reached": "yes|no|unknown", "since": "time?",
            }],
            "postconditions": [{
                "command_id": "text", "number": "count", "line": "text", "text": "text",
                "state": "met|unmet|unchecked", "evidence": [evidence()], "probe": suggestion(),
            }],
            "next": [suggestion()],
        }),
        "why",
    );
    commands_are_named(&why, "why");
    assert_eq!(why["session"], json!(session));
    assert_eq!(why["findings"][0]["kind"], "process.self_match");
    assert!(!why["launches"].as_array().unwrap().is_empty());
    assert!(!why["postconditions"].as_array().unwrap().is_empty());
    assert_eq!(
        bench.json(&["why", "last", "--json"])["findings"],
        why["findings"]
    );
    assert_eq!(
        bench.json(&["why", &session[..5], "--json"])["findings"],
        why["findings"]
    );

    let next = bench.json(&["next", "--json"]);
    fits(
        &next,
        &json!({"format": 1, "session": "text", "next": [suggestion()]}),
        "next",
    );
    assert_eq!(next["next"], why["next"]);
    // In a pipe, the bare lines, ready for a shell.
    let piped = bench.say(&["next"]);
    assert!(
        piped.starts_with(next["next"][0]["line"].as_str().unwrap()),
        "{piped}"
    );
}

#[test]
fn quotes_are_the_bytes_they_say() {
    let Told { bench, .. } = told();
    let why = bench.json(&["why", "--json"]);
    let mut quoted = 0;
    for finding in why["findings"].as_array().unwrap() {
        let lists = finding["hypotheses"].as_array().unwrap().iter();
        let lists = lists.flat_map(|one| [&one["for"], &one["against"]]);
        for evidence in lists
            .chain([&finding["evidence"]])
            .flat_map(|list| list.as_array().unwrap())
        {
            let Some(stream) = evidence["stream"].as_str() else {
                continue;
            };
            let number = evidence["number"].to_string();
            let kept = finish(bench.recorded(&["show", &number, &format!("--{stream}")])).stdout;
            let at = |key: &str| usize::try_from(evidence[key].as_u64().unwrap()).unwrap();
            let bytes = &kept[at("from")..at("to")];
            assert_eq!(
                evidence["quote"],
                json!(String::from_utf8_lossy(bytes)),
                "{evidence:#}"
            );
            quoted += 1;
        }
    }
    assert!(quoted > 0, "{why:#}");
}

#[test]
fn findings_stand_in_order() {
    let Told { bench, .. } = told();
    let why = bench.json(&["why", "--json"]);
    let findings = why["findings"].as_array().unwrap();
    let place = |id: &Value| findings.iter().position(|one| one["id"] == *id).unwrap();
    for (at, finding) in findings.iter().enumerate() {
        for effect in finding["cause_of"].as_array().unwrap() {
            assert!(
                at < place(effect),
                "a cause stands above what follows from it: {why:#}"
            );
        }
    }
    let first = &findings[0];
    let id = first["id"].as_str().unwrap();
    bench.say(&["dismiss", &id[..7], "--because", "it was me"]);
    let why = bench.json(&["why", "--json"]);
    let last = why["findings"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["id"], &last["status"]),
        (&first["id"], &json!("dismissed")),
        "{why:#}"
    );
    bench.say(&["confirm", id]);
    let why = bench.json(&["why", "--json"]);
    assert_eq!(why["findings"][0]["id"], first["id"]);
    assert_eq!(why["findings"][0]["status"], "confirmed");
}

#[test]
fn timeline_sessions_and_show() {
    let Told { bench, session } = told();
    bench.say(&["note", "two", "words"]);
    let timeline = bench.json(&["timeline", "--json"]);
    fits(
        &timeline,
        &json!({
            "format": 1, "session": "text", "title": "text?", "findings": [finding()],
            "notes": [{"at": "time?", "text": "text?"}],
            "commands": [{
                "command_id": "text", "number": "count", "at": "time?", "host": "text",
                "target_host": "text", "line": "text", "exit": "exit", "duration_ms": "number?",
                "stdout_bytes": "count", "stderr_bytes": "count", "tty_bytes": "count",
                "gap_bytes": "count",
            }],
        }),
        "timeline",
    );
    let commands = timeline["commands"].as_array().unwrap();
    assert_eq!(commands.len(), 4);
    let first = &commands[0];
    assert_eq!(first["at"], "2026-11-30T10:00:00.000000Z");
    assert_eq!(
        (&first["host"], &first["target_host"]),
        (&json!("laptop"), &json!("gpu-7"))
    );
    assert_eq!(
        (&first["exit"], &first["duration_ms"]),
        (&json!({"code": 255}), &json!(1500.0))
    );
    assert_eq!(commands[3]["exit"], json!({"signal": 9}));
    assert_eq!(commands[3]["duration_ms"], Value::Null);
    assert_eq!(timeline["notes"][0]["text"], "two words");

    let sessions = bench.json(&["sessions", "--json"]);
    fits(
        &sessions,
        &json!({"format": 1, "sessions": [{
            "id": "text", "title": "text?", "started": "time?", "last": "time?",
            "commands": "count", "hosts": ["text"], "findings": ["object"],
        }]}),
        "sessions",
    );
    assert_eq!(sessions["sessions"][0]["id"], json!(session));
    assert_eq!(sessions["sessions"][0]["commands"], 4);

    let show = bench.json(&["show", "3", "--json"]);
    fits(
        &show,
        &json!({
            "format": 1, "command_id": "text", "number": 3, "session": "text", "at": "time?",
            "line": "text", "exit": "exit", "complaints": "list",
            "invocations": [{
                "index": "count", "parent": "count?", "target_host": "text", "words": ["text"],
                "background": "bool", "redirects": "list",
            }],
            "facts": [{
                "fact": "text", "target_host": "text", "invocation": "count?",
                "stream": "stdout|stderr|tty?", "from": "count", "to": "count", "fields": "object",
            }],
            "unclaimed": [{"stream": "text", "from": "count", "to": "count"}],
        }),
        "show",
    );
    assert!(!show["facts"].as_array().unwrap().is_empty());
    let id = show["command_id"].as_str().unwrap();
    assert_eq!(bench.json(&["show", &id[..12], "--json"])["number"], 3);
    assert_eq!(bench.json(&["show", "last", "--json"])["number"], 4);
    assert_eq!(
        bench.say(&["show", "3", "--stderr"]),
        "ls: cannot access '/root/run.sh': No such file or directory\n"
    );
}

#[test]
fn times_that_nobody_knows_are_null() {
    let bench = Bench::new();
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sessions/self-match.yaml");
    bench.import(&fixture);
    assert_eq!(bench.json(&["why", "--json"])["as_of"], Value::Null);
    let timeline = bench.json(&["timeline", "--json"]);
    assert_eq!(timeline["commands"][1]["at"], Value::Null);
    let sessions = bench.json(&["sessions", "--json"]);
    assert_eq!(sessions["sessions"][0]["started"], Value::Null);
    assert_eq!(bench.json(&["show", "1", "--json"])["at"], Value::Null);
}

#[test]
fn search_finds_what_was_printed() {
    let Told { bench, session } = told();
    let found = bench.json(&["search", "--json", "sigquit host:gpu-7"]);
    fits(
        &found,
        &json!({
            "format": 1, "took_ms": "number", "total": "count",
            "hits": [{
                "session": "text", "command_id": "text?", "number": "count?", "target_host": "text?",
                "at": "time?", "line": "text", "stream": "stdout|stderr|tty?", "from": "count?",
                "snippet": "text",
            }],
        }),
        "search",
    );
    commands_are_named(&found, "search");
    let hit = &found["hits"][0];
    assert_eq!(
        (&hit["session"], &hit["number"]),
        (&json!(session), &json!(3)),
        "{found:#}"
    );
    assert_eq!(
        bench.json(&["search", "--json", "nowheretobefound"])["total"],
        0
    );
}

#[test]
fn the_other_answers() {
    let Told { bench, session } = told();
    let list = bench.json(&["playbook", "list", "--json"]);
    let row = json!({"id": "text", "version": "count", "kind": "text", "title": "text"});
    fits(
        &list,
        &json!({"format": 1, "ok": true, "playbooks": [row]}),
        "list",
    );
    let lint = bench.json(&["playbook", "lint", "--json"]);
    fits(
        &lint,
        &json!({"format": 1, "ok": true, "faults": "list"}),
        "lint",
    );
    let shipped =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("playbooks/launch-killed-its-own-shell.yaml");
    let test = bench.json(&["playbook", "test", &shipped.display().to_string(), "--json"]);
    let row = json!({"playbook": "text", "test": "text", "ok": true});
    fits(
        &test,
        &json!({"format": 1, "ok": true, "tests": [row]}),
        "test",
    );
    let verify = bench.json(&["verify", "--json"]);
    fits(
        &verify,
        &json!({"format": 1, "ok": true, "events": "count", "sessions": 1, "problems": "list"}),
        "verify",
    );
    let doctor = bench.json(&["doctor", "--json"]);
    let look = json!({"what": "text", "ok": true, "says": "text"});
    fits(
        &doctor,
        &json!({"format": 1, "ok": true, "home": "text", "looks": [look]}),
        "doctor",
    );
    let import = bench.json(&[
        "import",
        &bench.file("case.yaml").display().to_string(),
        "--json",
    ]);
    let row = json!({"path": "text", "session": "text", "commands": 4});
    fits(
        &import,
        &json!({"format": 1, "ok": true, "sessions": [row]}),
        "import",
    );
    assert_ne!(import["sessions"][0]["session"], json!(session));
}

#[test]
fn exit_codes_say_whose_fault_it_is() {
    let Told { bench, .. } = told();
    for words in [
        &["why", "--nonsense"][..],
        &["why", "s-nosuchsession"],
        &["show", "99"],
        &["show", "c-nosuchcommand"],
        &["timeline", "nosuch"],
        &["confirm", "f-nosuch"],
        &["dismiss", "last"],
        &["next", "--run", "n-nosuch"],
        &["import", "/nowhere/case.yaml"],
        &["playbook", "show", "no-such-playbook"],
        &["new", "  "],
        &["use", "s-nosuch"],
        &["search"],
    ] {
        let (code, said) = bench.fails(words);
        assert_eq!(code, Some(2), "rec {words:?}: {said}");
        assert!(
            !said.is_empty() && !said.contains("panicked"),
            "rec {words:?}: {said}"
        );
    }
    for words in [
        &["why", "--fail-on", "high"][..],
        &["why", "--fail-on", "low"],
    ] {
        assert_eq!(bench.fails(words).0, Some(1), "{words:?}");
    }
    assert_eq!(bench.fails(&["why", "--fail-on", "critical"]).0, Some(0));
    std::fs::write(bench.file("own.yaml"), "id: x\nsurprise: 1\n").unwrap();
    let own = bench.file("own.yaml").display().to_string();
    assert_eq!(bench.fails(&["playbook", "lint", &own]).0, Some(1));
    let empty = Bench::new();
    assert_eq!(empty.fails(&["why"]).0, Some(2), "no session yet");
    assert_eq!(empty.fails(&["sessions"]).0, Some(0));
}

#[test]
fn only_read_only_looks_are_run() {
    let bench = Bench::new();
    // A launch whose log nobody has looked at: the look is proposed, and runs here.
    let log = bench.file("server.log").display().to_string();
    let script = bench.file("run.sh").display().to_string();
    std::fs::write(&script, "sleep 1\n").unwrap();
    bench.rec_sh(&format!("nohup sh {script} > {log} 2>&1 &"));
    let why = bench.json(&["why", "--json"]);
    let suggestions = |value: &Value| -> Vec<Value> {
        let own = value["next"].as_array().unwrap().iter();
        let of_findings = value["findings"].as_array().unwrap().iter();
        let of_findings = of_findings.flat_map(|one| one["next"].as_array().unwrap());
        let unchecked = value["postconditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["probe"]);
        own.chain(of_findings).chain(unchecked).cloned().collect()
    };
    let all = suggestions(&why);
    let stat =
        |one: &&Value| one["safety"] == "read-only" && one["line"].to_string().contains("stat");
    let look = all.iter().find(stat);
    let look = look.unwrap_or_else(|| panic!("{why:#}"));
    let output = finish(bench.recorded(&["next", "--run", look["id"].as_str().unwrap()]));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let timeline = bench.json(&["timeline", "--json"]);
    assert_eq!(
        timeline["commands"].as_array().unwrap().len(),
        2,
        "{timeline:#}"
    );

    let Told { bench, .. } = told();
    for one in suggestions(&bench.json(&["why", "--json"])) {
        if one["safety"] == "read-only" {
            continue;
        }
        let (code, said) = bench.fails(&["next", "--run", one["id"].as_str().unwrap()]);
        assert_eq!(code, Some(2), "{one:#}: {said}");
    }
    assert_eq!(
        bench.json(&["timeline", "--json"])["commands"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
}

#[test]
fn sessions_are_opened_chosen_and_closed() {
    let bench = Bench::new();
    let one = bench.say(&["new", "The first"]).trim().to_owned();
    let two = bench.json(&["new", "The second", "--json"])["session"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(one.starts_with("s-") && two.starts_with("s-") && one != two);
    let record = |bench: &Bench, session: &str| {
        let output = finish(bench.recorded(&["--session", session, "echo", "seen"]));
        assert_eq!(output.stdout, b"seen\n");
    };
    record(&bench, &one);
    record(&bench, &one);
    record(&bench, &two);
    let count = |session: &str| {
        bench.json(&["timeline", session, "--json"])["commands"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!((count(&one), count(&two)), (2, 1));
    assert_eq!(bench.say(&["use", &one[..6]]).trim(), one);
    assert_eq!(
        bench.json(&["timeline", &one, "--json"])["title"],
        "The first"
    );
    bench.say(&["note", "--session", &two, "over", "there"]);
    assert_eq!(
        bench.json(&["timeline", &two, "--json"])["notes"][0]["text"],
        "over there"
    );
    let ended = bench.json(&["end", "--json"]);
    fits(
        &ended,
        &json!({"format": 1, "ok": true, "session": "text"}),
        "end",
    );
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn what_is_forgotten_is_nowhere() {
    let bench = Bench::new();
    let secret = "correcthorsebatterystaple";
    bench.rec_sh(&format!("echo {secret}; echo {secret} >&2"));
    bench.rec_sh("echo kept");
    assert_ne!(bench.json(&["search", "--json", secret])["total"], 0);
    bench.say(&["why"]);
    bench.say(&["forget", "1"]);
    for path in files(bench.home().path()) {
        let bytes = std::fs::read(&path).unwrap();
        let there = bytes
            .windows(secret.len())
            .any(|window| window == secret.as_bytes());
        assert!(!there, "still in {}", path.display());
    }
    assert_eq!(bench.json(&["search", "--json", secret])["total"], 0);
    let verified = bench.json(&["verify", "--json"]);
    assert_eq!(verified["ok"], true);
    let timeline = bench.json(&["timeline", "--json"]);
    assert_eq!(
        timeline["commands"][0]["exit"],
        json!({"code": 0}),
        "that it ran stays"
    );
    assert_eq!(bench.say(&["show", "2", "--stdout"]), "kept\n");
}

#[test]
fn a_session_goes_out_and_comes_in_elsewhere() {
    let Told { bench, session } = told();
    let file = bench.file("out.jsonl");
    let shown = file.display().to_string();
    bench.say(&["export", &session, "--as", "jsonl", "-o", &shown]);
    let other = Bench::new();
    assert_eq!(other.import(&file), session);
    assert_eq!(other.json(&["verify", "--json"])["ok"], true);
    let here = bench.json(&["why", &session, "--json"]);
    let there = other.json(&["why", &session, "--json"]);
    assert_eq!(here["findings"], there["findings"]);
    // A second time adds nothing.
    other.import(&file);
    let sessions = other.json(&["sessions", "--json"]);
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(sessions["sessions"][0]["commands"], 4);
}

/// I2: facts, findings and the index are derived.
#[test]
fn a_rebuild_gives_the_same_findings() {
    let Told { bench, session } = told();
    let before = bench.json(&["why", &session, "--json"]);
    let found = bench.json(&["search", "--json", "sigquit"]);
    let rebuilt = bench.json(&["rebuild", "--json"]);
    fits(
        &rebuilt,
        &json!({"format": 1, "ok": true, "sessions": 1}),
        "rebuild",
    );
    assert_eq!(bench.json(&["why", &session, "--json"]), before);
    assert_eq!(
        bench.json(&["search", "--json", "sigquit"])["hits"],
        found["hits"]
    );
}

#[test]
fn what_goes_into_a_pipe_is_plain() {
    let Told { bench, session } = told();
    for words in [
        &["why"][..],
        &["next"],
        &["timeline"],
        &["sessions"],
        &["show", "3"],
        &["search", "sigquit"],
        &["playbook", "list"],
        &["postmortem"],
        &["doctor"],
        &["verify"],
        &["export", &session, "--as", "markdown"],
        &["--help"],
    ] {
        let mut command = bench.recorded(words);
        command.env("TERM", "xterm-256color");
        let output = finish(command);
        assert_eq!(output.status.code(), Some(0), "rec {words:?}");
        assert!(!output.stdout.is_empty(), "rec {words:?} says nothing");
        assert!(
            !output.stdout.contains(&0x1b),
            "rec {words:?} writes escapes into a pipe"
        );
    }
}

#[test]
fn what_is_not_on_record_is_said_beside_the_diagnosis() {
    let bench = Bench::new();
    let path = bench.file("case.yaml");
    let case = "steps:\n- {at: 0, command: uptime, exit: 0}\n- {at: 1, command: ls /data}\n";
    std::fs::write(&path, case).unwrap();
    let session = bench.import(&path);
    let text = bench.say(&["why", &session]);
    assert!(
        text.contains("Not on record\n  – nobody saw how #2 ended\n"),
        "{text}"
    );
    let missing = &bench.json(&["why", &session, "--json"])["missing"];
    assert_eq!(missing[0]["number"], 2);
    assert_eq!(missing[0]["line"], "ls /data");
    assert_eq!(missing[0]["end"], true);
    assert_eq!(missing[1], serde_json::Value::Null);
    let text = bench.say(&["postmortem", &session]);
    assert!(
        text.contains("## Not on record\n\n- nobody saw how #2 ended.\n"),
        "{text}"
    );
}

#[test]
fn a_finding_is_laid_open_and_a_playbook_says_what_it_lacked() {
    let told = told();
    let why = told.bench.json(&["why", &told.session, "--json"]);
    let id = why["findings"][0]["id"].as_str().unwrap().to_owned();
    let open = told
        .bench
        .json(&["why", &told.session, "--json", "--explain", &id]);
    fits(
        &open,
        &json!({
            "format": "count", "session": "text", "finding": {"id": "text", "title": "text"},
            "follows_from": [{"id": "text", "title": "text"}],
            "root_of": [{"id": "text", "title": "text"}],
            "parts": [{
                "playbook": "text", "version": "count",
                "clauses": [{
                    "role": "text", "asks": "text", "line": "count", "state": "text",
                    "evidence": [{"number": "count", "quote": "text", "says": "text"}],
                }],
                "observations": [{
                    "id": "text", "says": "text", "state": "text", "counted": "bool",
                    "evidence": "list",
                    "effects": [{
                        "hypothesis": "text", "likely": "number", "before": "number",
                        "after": "number",
                    }],
                }],
            }],
        }),
        "why --explain",
    );
    let clauses = open["parts"][0]["clauses"].as_array().unwrap();
    assert!(clauses.iter().any(|one| {
        one["role"] == "step" && one["state"] == "yes" && !one["evidence"][0].is_null()
    }));
    let part = &open["parts"][0]["playbook"];
    let fires = told.bench.json(&[
        "playbook",
        "why-not",
        part.as_str().unwrap(),
        &told.session,
        "--json",
    ]);
    assert_eq!(fires["fires"], true, "{fires:#}");
    let all = told.bench.json(&["playbook", "list", "--json"]);
    for playbook in all["playbooks"].as_array().unwrap().iter().step_by(24) {
        let id = playbook["id"].as_str().unwrap();
        let not = told
            .bench
            .json(&["playbook", "why-not", id, &told.session, "--json"]);
        fits(
            &not,
            &json!({
                "format": "count", "ok": "bool", "session": "text", "playbook": "text",
                "version": "count", "fires": "bool", "reason": "text", "matched": "count",
                "steps": "count", "asks": "text", "line": "count", "on_record": "count",
                "says": "text", "seen": "list",
                "parts": [{"text": "text", "state": "text", "fields": "object"}],
            }),
            id,
        );
        let fires = not["reason"] == "fires";
        assert_eq!(not["fires"], fires);
        assert!(
            fires || !not["asks"].as_str().unwrap().is_empty(),
            "{not:#}"
        );
    }
}
