//! The whole path, live: commands over a real ssh, recorded as they run, then explained.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use casebook::shell::safety::{Safety, safety};
use serde_json::{Value, json};

use crate::bench::{Bench, finish, until, wait};
use crate::lab::{Lab, is_there};

/// Words that no other process on this machine has.
fn unique() -> String {
    format!("standin{}", std::process::id())
}

/// A name's pattern that does not match itself: `[s]tandin`.
fn guarded(name: &str) -> String {
    format!("[{}]{}", &name[..1], &name[1..])
}

struct Remote {
    lab: Lab,
    bench: Bench,
}

impl Remote {
    /// Runs a line there, recorded; its exit code and standard output.
    fn rec(&self, line: &str) -> (Option<i32>, String) {
        let mut words = self.lab.words();
        words.push(line.to_owned());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = finish(self.bench.recorded(&words));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("rec:"), "{stderr}");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), stdout)
    }
}

#[test]
fn a_self_kill_over_ssh_is_found_and_a_proper_launch_mends_it() {
    let Some(lab) = Lab::start() else { return };
    let remote = Remote {
        lab,
        bench: Bench::new(),
    };
    let name = unique();
    let folder = remote.lab.folder().display().to_string();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let serve = if is_there("python3") {
        format!("python3 -m http.server {port} --bind 127.0.0.1")
    } else {
        "sleep 60".to_owned()
    };
    std::fs::write(
        remote.lab.path(&name),
        format!(
            "[ \"$1\" = old ] && sleep 60\necho \"loading\"\n\
             echo \"listening on 127.0.0.1:{port}\"\n{serve}\n"
        ),
    )
    .unwrap();
    let old = format!("nohup bash {folder}/{name} old > {folder}/old.log 2>&1 < /dev/null &");
    assert!(remote.lab.ssh(&old).status.success());
    until("the old server runs", || {
        remote
            .lab
            .ssh(&format!("pgrep -f {}", guarded(&name)))
            .status
            .success()
    });

    let launch = format!(
        "cat > {folder}/run.sh << \"END\"\n#!/bin/bash\nexec bash {folder}/{name} --port {port}\nEND\n\
         chmod +x {folder}/run.sh\n\
         nohup {folder}/run.sh > {folder}/server.log 2>&1 < /dev/null &\necho \"PID=$!\""
    );
    let (code, printed) = remote.rec(&format!("pkill -9 -f {name}; sleep 1; {launch}"));
    assert_eq!(code, Some(255), "what ssh ended with is what rec ends with");
    assert_eq!(printed, "");
    let (code, printed) = remote.rec(&format!("pgrep -fa {name}; ls -l {folder}/run.sh"));
    assert_eq!(code, Some(2));
    assert_eq!(printed.lines().count(), 1, "{printed}");

    let why = remote.bench.json(&["why", "--json"]);
    let first = &why["findings"][0];
    assert_eq!(first["kind"], "process.self_match", "{why:#}");
    assert_eq!(first["status"], "open");
    assert_eq!(first["severity"], "high");
    assert!(["suspected", "established"].contains(&first["claim"].as_str().unwrap()));
    assert_eq!(first["scope"]["host"], "lab");
    let cited = numbers(&first["evidence"]);
    assert!(cited.contains(&1), "{first:#}");
    let all = [&first["evidence"], &first["hypotheses"][0]["for"]];
    let told: Vec<u64> = all.into_iter().flat_map(numbers).collect();
    assert!(told.contains(&1) && told.contains(&2), "{first:#}");
    looks_there(&remote, &why);

    // The kill in a command of its own, with a pattern that does not match itself.
    let (code, _) = remote.rec(&format!("pkill -9 -f '{}'", guarded(&name)));
    assert_eq!(code, Some(1), "the old one is gone already");
    let (code, printed) = remote.rec(&launch);
    assert_eq!(code, Some(0));
    assert!(printed.starts_with("PID="), "{printed}");
    until("the new server is up", || {
        std::fs::read_to_string(remote.lab.path("server.log"))
            .is_ok_and(|log| log.contains("listening on"))
    });
    let (code, _) = remote.rec(&format!("pgrep -fa '{}'", guarded(&name)));
    assert_eq!(code, Some(0));
    remote.rec(&format!("tail -5 {folder}/server.log"));
    if is_there("python3") && is_there("curl") {
        let url = format!("http://127.0.0.1:{port}/");
        until("it answers", || {
            remote
                .lab
                .ssh(&format!("curl -sf -o /dev/null {url}"))
                .status
                .success()
        });
        let curl = format!("curl -s -o /dev/null -w '%{{http_code}}\\n' {url}");
        assert_eq!(remote.rec(&curl), (Some(0), "200\n".to_owned()));
    }

    let why = remote.bench.json(&["why", "--json"]);
    let findings = why["findings"].as_array().unwrap();
    let healthy = findings
        .iter()
        .find(|finding| finding["kind"] == "launch.healthy")
        .unwrap_or_else(|| panic!("nothing says that it is well: {why:#}"));
    assert_eq!(healthy["scope"]["launch"], 4, "{healthy:#}");
    assert_eq!(healthy["status"], "open");
    // The look that was fooled stays what it was, a nuisance; the kill is over.
    for finding in findings {
        if finding["kind"] == "process.self_match" && finding["severity"] != "low" {
            assert_ne!(finding["status"], "open", "{finding:#}");
        }
    }
    let new = why["launches"]
        .as_array()
        .unwrap()
        .iter()
        .find(|launch| launch["number"] == 4);
    let new = new.unwrap_or_else(|| panic!("{why:#}"));
    assert_eq!(new["process"], "running", "{new:#}");
    assert_eq!(new["reached"], "yes", "{new:#}");
}

/// The numbers of the commands that evidence cites.
fn numbers(evidence: &Value) -> Vec<u64> {
    let cited = evidence.as_array().unwrap().iter();
    cited.map(|one| one["number"].as_u64().unwrap()).collect()
}

/// A next look goes to the same host the same way, changes nothing, and runs as it stands.
fn looks_there(remote: &Remote, why: &Value) {
    let prefix = remote.lab.words().join(" ");
    let finding = why["findings"][0]["next"].as_array().unwrap();
    let look = finding
        .iter()
        .find(|one| one["safety"] == "read-only")
        .unwrap_or_else(|| panic!("no look: {why:#}"));
    let line = look["line"].as_str().unwrap();
    assert!(
        line.starts_with(&prefix),
        "{line} does not begin with {prefix}"
    );
    assert_eq!(safety(line), Safety::ReadOnly, "{line}");
    assert_ne!(look["why"], "");
    // Pasted into a shell, ssh gets there and its line is understood there.
    let output = finish(remote.bench.command(&["sh", "-c", line]));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_ne!(output.status.code(), Some(255), "{line}: {stderr}");
    for trouble in ["syntax error", "not found", "unexpected"] {
        assert!(!stderr.contains(trouble), "{line}: {stderr}");
    }
}

#[test]
fn a_command_that_still_runs_is_covered() {
    let bench = Bench::new();
    let mut command = bench.recorded(&["sh", "-c", "echo started; exec sleep 30"]);
    command.stdout(Stdio::piped());
    let mut running = command.spawn().unwrap();
    let mut line = String::new();
    let stdout = running.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    assert_eq!(line, "started\n");

    let timeline = bench.json(&["timeline", "--json"]);
    let shown = &timeline["commands"][0];
    assert_eq!(shown["exit"], json!({"running": true}), "{timeline:#}");
    assert_eq!(shown["stdout_bytes"], 8);
    assert_eq!(
        bench.json(&["show", "1", "--json"])["exit"],
        json!({"running": true})
    );
    let why = bench.json(&["why", "--json"]);
    assert_eq!(why["session"], timeline["session"]);
    assert!(why["as_of"].is_string());

    let pid = rustix::process::Pid::from_child(&running);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    wait(&mut running);
    let timeline = bench.json(&["timeline", "--json"]);
    assert_eq!(timeline["commands"].as_array().unwrap().len(), 1);
    assert_eq!(timeline["commands"][0]["exit"], json!({"signal": 15}));
}
