//! Nothing secret is kept, whichever way it comes: no raw secret lies in any file of the home, nor
//! in anything that `rec` says of it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use casebook::redact::{MARK, samples};
use casebook::web::{ServeOptions, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bench::{Bench, finish};
use crate::pty::{ALL, Screen};

/// What stands beside a name, and is printed or typed.
const NAMED: &[(&str, &str)] = &[
    ("HF_TOKEN=q7-secret-Value9", "q7-secret-Value9"),
    ("password: correcthorse9", "correcthorse9"),
    (
        "> Authorization: Bearer abcdef0123456789abcd",
        "abcdef0123456789abcd",
    ),
    (
        "cloning https://bob:gh0stpw77@git.example.com/x.git",
        "gh0stpw77",
    ),
    ("{\"client_secret\": \"Zx81-Qw92-Er03\"}", "Zx81-Qw92-Er03"),
    ("Set-Cookie: sid=s3ss10nv4lue; Path=/", "s3ss10nv4lue"),
    (
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIB\n-----END RSA PRIVATE KEY-----",
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIB",
    ),
];

/// Lines that are typed; the program is one that ends at once.
const TYPED: &[(&[&str], &str)] = &[
    (&["env", "HF_TOKEN=typed-Value1", "true"], "typed-Value1"),
    (&["true", "--password", "typed-Value2"], "typed-Value2"),
    (
        &["sh", "-c", "export API_KEY=typed-Value3; true"],
        "typed-Value3",
    ),
    (
        &[
            "sh",
            "-c",
            "echo typed-Value4 | sudo -S true; echo typed-Value4",
        ],
        "typed-Value4",
    ),
    (&["mysql", "-ptyped-Value5"], "typed-Value5"),
    (
        &["sh", "-c", "true -H 'Authorization: Bearer typed-Value6'"],
        "typed-Value6",
    ),
];

/// All secrets, and a text that holds those that are printed.
fn secrets() -> (String, Vec<String>) {
    let mut text = String::from("begin\n");
    let mut all = Vec::new();
    for (line, secret) in samples() {
        text.push_str(&line);
        all.push(secret);
    }
    for (line, secret) in NAMED {
        text.push_str(line);
        text.push('\n');
        all.push((*secret).to_owned());
    }
    all.extend(TYPED.iter().map(|(_, secret)| (*secret).to_owned()));
    (text, all)
}

fn holds(bytes: &[u8], what: &str) -> bool {
    bytes
        .windows(what.len())
        .any(|window| window == what.as_bytes())
}

fn files(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, into);
        } else {
            into.push(path);
        }
    }
}

/// No file of the home holds any of these.
fn kept_clean(bench: &Bench, secrets: &[String]) {
    let mut all = Vec::new();
    files(bench.home().path(), &mut all);
    assert!(!all.is_empty());
    for path in all {
        let bytes = std::fs::read(&path).unwrap();
        for secret in secrets {
            assert!(!holds(&bytes, secret), "{} holds {secret}", path.display());
        }
    }
}

fn said_clean(what: &str, text: &str, secrets: &[String]) {
    for secret in secrets {
        assert!(!text.contains(secret.as_str()), "{what} shows {secret}");
    }
}

/// Records every secret every way; the session.
fn recorded(bench: &Bench, text: &str) {
    std::fs::write(bench.file("text"), text).unwrap();
    let plain = finish(bench.recorded(&["sh", "-c", "cat text; cat text >&2"]));
    assert_eq!(
        String::from_utf8_lossy(&plain.stdout),
        text,
        "the user sees it all"
    );
    assert_eq!(String::from_utf8_lossy(&plain.stderr), text);
    let slow = finish(bench.recorded(&["dd", "if=text", "bs=7", "status=none"]));
    assert_eq!(String::from_utf8_lossy(&slow.stdout), text);
    let (status, shown) = Screen::start(bench.recorded(&["cat", "text"]), ALL).end();
    assert!(status.success() && shown.replace('\r', "") == *text);
    for width in ["80", "90"] {
        let folded = bench.recorded(&["fold", "-w", width, "text"]);
        assert!(Screen::start(folded, ALL).end().0.success());
    }
    for (words, _) in TYPED {
        finish(bench.recorded(words));
    }
}

#[test]
fn nothing_secret_is_kept() {
    let bench = Bench::new();
    let (text, secrets) = secrets();
    recorded(&bench, &text);
    kept_clean(&bench, &secrets);

    finish(bench.recorded(&["new", "look with password: correcthorse9"]));
    finish(bench.recorded(&["note", "the key was HF_TOKEN=q7-secret-Value9"]));
    let case = serde_json::json!({"title": "password: correcthorse9", "steps": [
        {"at": 0, "command": "HF_TOKEN=typed-Value1 ./x", "exit": 0, "stdout": text},
        {"at": 9, "command": "x", "exit": 0,
         "chunks": [{"at": 9.1, "stream": "stdout", "text": "HF_TOKEN=q7-sec"},
                    {"at": 9.2, "stream": "stdout", "text": "ret-Value9\nok\n"}]},
    ]});
    std::fs::write(bench.file("case.json"), case.to_string()).unwrap();
    let session = bench.import(&bench.file("case.json"));

    let shown = bench.say(&["show", "1", "--session", &session]);
    assert!(shown.contains(MARK), "{shown}");
    let sessions = bench.json(&["sessions", "--json"]);
    let ids: Vec<String> = sessions["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["id"].as_str().unwrap().to_owned())
        .collect();
    assert!(ids.len() >= 3);
    said_clean("sessions", &sessions.to_string(), &secrets);
    for (place, id) in ids.iter().enumerate() {
        let some = [
            vec!["timeline", id],
            vec!["export", id],
            vec!["export", id, "--as", "markdown"],
        ];
        let more = [
            vec!["why", id, "--json"],
            vec!["next", id],
            vec!["postmortem", id],
        ];
        let judged = more.into_iter().take(if place < 2 { 3 } else { 0 });
        for words in some.into_iter().chain(judged) {
            said_clean(&format!("{words:?}"), &bench.say(&words), &secrets);
        }
        let timeline = bench.json(&["timeline", id, "--json"]);
        for command in timeline["commands"].as_array().unwrap() {
            let command = command["command_id"].as_str().unwrap();
            let shown = bench.say(&["show", command, "--json"]);
            said_clean(command, &shown, &secrets);
        }
    }
    for secret in secrets.iter().step_by(12) {
        let word: String = secret
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        let found = bench.say(&["search", "--json", &format!("\"{word}\"")]);
        assert!(!found.contains(secret.as_str()));
    }
    kept_clean(&bench, &secrets);
    let key = bench.home().path().join("mask.key");
    assert_eq!(key.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    pages_are_clean(&bench, &ids, &secrets);
    kept_clean(&bench, &secrets);
}

/// Asks for every page of these sessions.
fn pages_are_clean(bench: &Bench, ids: &[String], secrets: &[String]) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let server = Server::bind(ServeOptions {
            home: bench.home().path().to_owned(),
            listen: "127.0.0.1:0".parse().unwrap(),
            token: None,
            own_playbooks: None,
            names: Vec::new(),
        })
        .await
        .unwrap();
        let address = server.address();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let running = tokio::spawn(async move {
            let until = async move {
                let _ = stopped.await;
            };
            server.run(until).await.unwrap();
        });
        let ask = async |method: &str, path: &str, body: &str| {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = format!(
                "{method} {path} HTTP/1.1\r\nConnection: close\r\nHost: {address}\r\n\
                 Origin: http://{address}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).await.unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let mut seen = 0;
        for id in ids {
            let note = "text=found+password%3A+correcthorse9+in+it";
            ask("POST", &format!("/s/{id}/notes"), note).await;
            let mut paths = vec![
                format!("/s/{id}"),
                format!("/s/{id}/know"),
                format!("/s/{id}/postmortem.md"),
            ];
            for number in 1..=12 {
                paths.push(format!("/s/{id}/{number}"));
                paths.push(format!("/s/{id}/{number}/opened"));
                for stream in ["stdout", "stderr", "tty"] {
                    paths.push(format!("/s/{id}/{number}/raw/{stream}"));
                }
            }
            for path in paths {
                let page = ask("GET", &path, "").await;
                said_clean(&path, &page, secrets);
                seen += usize::from(page.contains(MARK));
            }
        }
        assert!(seen > 10, "masks are shown on {seen} pages");
        said_clean("/", &ask("GET", "/", "").await, secrets);
        let _ = stop.send(());
        tokio::time::timeout(Duration::from_secs(20), running)
            .await
            .unwrap()
            .unwrap();
    });
}

#[test]
fn an_export_with_secrets_is_taken_in_without_them() {
    // An export as a version without masking would have written it.
    let bench = Bench::new();
    std::fs::write(
        bench.file("case.yaml"),
        "steps:\n- command: x\n  exit: 0\n  stdout: plain text\n",
    )
    .unwrap();
    let session = bench.import(&bench.file("case.yaml"));
    let export = bench.say(&["export", &session]);
    let raw = with_secret(&export);
    std::fs::write(bench.file("raw.jsonl"), &raw).unwrap();
    let other = Bench::new();
    std::fs::copy(bench.file("raw.jsonl"), other.file("raw.jsonl")).unwrap();
    let taken = other.import(&other.file("raw.jsonl"));
    other.say(&["verify"]);
    other.say(&["search", "anything"]);
    kept_clean(&other, &["Gr4ndSecret77".to_owned()]);
    assert!(!other.say(&["export", &taken]).contains("Gr4ndSecret77"));
    // Once more changes nothing.
    other.import(&other.file("raw.jsonl"));
    other.say(&["verify"]);
}

/// An export whose output holds a secret, with hashes that hold.
fn with_secret(export: &str) -> String {
    use casebook::event::{ContentKind, Event, NewContent, NewEvent};
    use casebook::store::Store;
    let dir = tempfile::tempdir().unwrap();
    let events = casebook::import::jsonl::read(export).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = Store::open(dir.path()).await.unwrap();
        store.restore(&events).await.unwrap();
        let content = NewContent::new(ContentKind::Note, "DB_PASSWORD=Gr4ndSecret77");
        let event = NewEvent {
            at: casebook::time::Micros(1),
            event: Event::NoteAdded {
                text: content.reference(),
            },
            contents: vec![content],
        };
        store
            .append(events[0].session, vec![event], None)
            .await
            .unwrap();
        let mut text = Vec::new();
        let written = casebook::export::jsonl::write(&store, events[0].session, &mut text).await;
        written.unwrap();
        store.close().await;
        String::from_utf8(text).unwrap()
    })
}

#[test]
fn what_was_recorded_masked_is_still_understood() {
    let bench = Bench::new();
    let line = "ssh gpu01 'HF_TOKEN=typed-Value1 nohup vllm serve m --api-key typed-Value2 --port 8000 > /root/s.log 2>&1 &'";
    let case = serde_json::json!({"title": "t", "steps": [
        {"at": 0, "took": 1, "command": line, "exit": 0, "stdout": ""},
        {"at": 5, "took": 1, "command": "sshpass -p typed-Value3 ssh gpu01 'tail -3 /root/s.log'", "exit": 0,
         "stdout": "INFO loading\nINFO loading\n"},
    ]});
    std::fs::write(bench.file("case.json"), case.to_string()).unwrap();
    let session = bench.import(&bench.file("case.json"));
    let why = bench.json(&["why", &session, "--json"]);
    let launch = &why["launches"][0];
    assert_eq!(launch["log"], "/root/s.log", "{why}");
    assert_eq!(launch["port"], 8000);
    assert_eq!(launch["target_host"], "gpu01");
    // Nothing that holds a mask is offered as ready to run.
    let next = bench.say(&["next", &session]);
    assert!(!next.contains(MARK), "{next}");
}

#[test]
fn what_is_held_back_comes_after_a_moment() {
    let bench = Bench::new();
    // The last bytes may be the beginning of a token; nothing comes after them for a while.
    std::fs::write(bench.file("one"), "see hf_qT7vYh2LmZx9RkBw4N").unwrap();
    std::fs::write(bench.file("two"), "cJd8FsGp1Ue6Ao3i end\n").unwrap();
    let script = "cat one; while [ ! -e go ]; do sleep 0.05; done; cat two";
    let mut child = bench
        .recorded(&["sh", "-c", script])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    crate::bench::until("the beginning is on disk, masked", || {
        let mut all = Vec::new();
        if bench.home().path().is_dir() {
            files(bench.home().path(), &mut all);
        }
        all.iter()
            .any(|path| std::fs::read(path).is_ok_and(|bytes| holds(&bytes, "__masked.hf-token.")))
    });
    std::fs::write(bench.file("go"), "").unwrap();
    assert!(crate::bench::wait(&mut child).success());
    kept_clean(
        &bench,
        &["qT7vYh2L".to_owned(), "cJd8FsGp1Ue6Ao3i".to_owned()],
    );
    let read = bench.record();
    let out = crate::bench::output_of(&read, casebook::event::Stream::Stdout);
    assert!(
        String::from_utf8_lossy(&out).ends_with("__ end\n"),
        "{}",
        String::from_utf8_lossy(&out)
    );
}

#[test]
fn what_is_forgotten_lies_nowhere() {
    // Short texts, which are kept as they are; long ones, which the index holds word by word.
    let bench = Bench::new();
    let long = "quinquagesima filler ".repeat(400);
    std::fs::write(
        bench.file("text"),
        format!("short xylographer text\n{long}\n"),
    )
    .unwrap();
    finish(bench.recorded(&["echo", "brief zymurgist words"]));
    finish(bench.recorded(&["cat", "text"]));
    finish(bench.recorded(&["echo", "another command"]));
    let words = ["xylographer", "zymurgist", "quinquagesima"].map(str::to_owned);
    for word in &words {
        assert!(
            bench
                .say(&["search", "--json", word])
                .contains(word.as_str())
        );
    }
    // Somebody has the database open all the while.
    let mut serve = bench
        .recorded(&["serve", "--listen", "127.0.0.1:0"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    bench.say(&["forget", "1"]);
    bench.say(&["forget", "2"]);
    kept_clean(&bench, &words);
    bench.say(&["rebuild"]);
    bench.say(&["verify"]);
    kept_clean(&bench, &words);
    serve.kill().unwrap();
    serve.wait().unwrap();
    kept_clean(&bench, &words);
    assert!(bench.say(&["timeline"]).contains("another command"));
}
