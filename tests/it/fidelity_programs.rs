//! The recorded command cannot tell: passwords, queries, real programs, a reader that does not read.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

use casebook::event::Stream;

use crate::bench::{Bench, REC, exit_of, finish, output_of, until, wait};
use crate::lab::{Lab, is_there};
use crate::pty::{ALL, Screen};

#[test]
fn what_is_typed_unseen_is_nowhere() {
    let bench = Bench::new();
    let script = "printf 'Pass''word: '; stty -echo; read p; stty echo; echo; echo got ${#p}";
    let mut screen = Screen::start(bench.recorded(&["sh", "-c", script]), ALL);
    screen.until("word: ");
    until("the echo is off", || {
        // Of the inner terminal only; the outer one is raw all along.
        screen.look();
        let children = std::fs::read_dir("/proc").unwrap().flatten();
        children
            .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
            .all(|line| line != b"stty\0-echo\0")
    });
    screen.keys("correct-horse-battery\r");
    screen.until("got 21");
    assert!(screen.end().0.success());
    let mut folders = vec![bench.home().path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let bytes = std::fs::read(entry.path()).unwrap();
            let secret = b"correct-horse-battery";
            assert!(!bytes.windows(secret.len()).any(|some| some == secret));
        }
    }
}

#[test]
fn without_an_environment_it_is_silent() {
    let bench = Bench::new();
    let home = bench.home().path().display().to_string();
    let script = format!("umask 077; env -i REC_HOME={home} setsid -w {REC} true </dev/null");
    let output = bench.sh(&script);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!((output.stdout, output.stderr), (vec![], vec![]));
    assert_eq!(bench.records().len(), 1);
}

#[test]
fn a_program_gets_the_words_it_was_given_and_no_more() {
    let bench = Bench::new();
    std::fs::create_dir(bench.file("bin")).unwrap();
    for name in ["ssh", "scp", "rsync", "docker", "kubectl", "sudo"] {
        let stub = bench.file("bin").join(name);
        std::fs::write(&stub, "#!/bin/sh\nprintf '<%s>' \"$0\" \"$@\"; exit 255\n").unwrap();
        bench.sh(&format!("chmod +x {}", stub.display()));
        for words in [
            &["gpu", "echo hi"][..],
            &["-N", "-f", "-W", "a:1", "gpu"],
            &["-o", "RemoteCommand=top", "-t", "gpu"],
            &["-avz", "a/", "gpu:b/"],
            &[],
        ] {
            let run = |program: Vec<&str>| {
                let mut command = bench.command(&[&program[..], words].concat());
                let path = std::env::var("PATH").unwrap();
                command.env("PATH", format!("{}:{path}", bench.file("bin").display()));
                finish(command)
            };
            let (bare, recorded) = (run(vec![name]), run(vec![REC, name]));
            assert_eq!(recorded.stdout, bare.stdout, "{name} {words:?}");
            assert_eq!(recorded.status.code(), bare.status.code());
            assert_eq!(recorded.stderr, b"");
        }
    }
}

#[test]
fn a_reader_that_does_not_read_stops_the_command() {
    let bench = Bench::new();
    let script = "i=0; while head -c 65536 /dev/zero; do i=$((i+1)); echo $i >count; done";
    let mut child = bench
        .recorded(&["sh", "-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let count = || -> u32 {
        let text = std::fs::read_to_string(bench.file("count")).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    };
    // Until nothing moves: two full pipes and what is read ahead between them.
    let (mut last, mut same) = (0, 0);
    until("the command waits", || {
        std::thread::sleep(Duration::from_millis(10));
        let now = count();
        same = if now == last && now > 0 { same + 1 } else { 0 };
        last = now;
        same > 30
    });
    assert!(last < 16, "{last} times 64 KiB were taken from it");
    let mut pipe = child.stdout.take().unwrap();
    let mut some = vec![0; 1 << 20];
    pipe.read_exact(&mut some).unwrap();
    until("it goes on", || count() > last);
    drop(pipe);
    child.kill().unwrap();
    wait(&mut child);
}

#[test]
fn letters_cut_between_writes_stay_whole() {
    let bench = Bench::new();
    let script = "printf 'caf\\303'; sleep 0.05; printf '\\251 \\342'; printf '\\202'; printf '\\254\\n'; \
                  printf '\\351t\\351\\n'";
    let output = bench.rec_sh(script);
    assert_eq!(output.stdout, b"caf\xc3\xa9 \xe2\x82\xac\n\xe9t\xe9\n");
    assert_eq!(output_of(&bench.record(), Stream::Stdout), output.stdout);
    let shown = bench.say(&["show", "1"]);
    assert!(shown.contains("café €"), "{shown}");
}

#[test]
fn programs_that_draw_on_a_terminal_work() {
    type Keys = &'static [(&'static str, &'static str)];
    let programs: [(&[&str], Keys); 5] = [
        (
            &["vim", "-u", "NONE", "-N", "text"],
            &[("some text", "ihello\x1b:wq\r")],
        ),
        (&["less", "text"], &[("some text", "q")]),
        (&["top"], &[("PID", "q")]),
        (
            &[
                "tmux",
                "-L",
                "$SOCKET",
                "-f",
                "/dev/null",
                "new",
                "cat text; read x",
            ],
            &[("some text", "\r")],
        ),
        (
            &["script", "-q", "-c", "cat text", "/dev/null"],
            &[("some text", "")],
        ),
    ];
    for (words, keys) in programs {
        if !is_there(words[0]) {
            eprintln!("not tried: {} is not installed", words[0]);
            continue;
        }
        let bench = Bench::new();
        std::fs::write(bench.file("text"), "some text\n").unwrap();
        let socket = format!("rec-test-{}", std::process::id());
        let words: Vec<&str> = words
            .iter()
            .map(|word| if *word == "$SOCKET" { &socket } else { *word })
            .collect();
        let mut command: Command = bench.recorded(&words);
        command.env("TERM", "xterm");
        let mut screen = Screen::start(command, ALL);
        for (wanted, keys) in keys {
            screen.until(wanted);
            screen.keys(keys);
        }
        let (status, shown) = screen.end();
        assert!(status.success(), "{words:?}: {shown:?}");
        assert!(exit_of(&bench.record()).is_some());
    }
}

#[test]
fn inside_another_recorder_it_works_as_well() {
    if !is_there("script") {
        eprintln!("not tried: script is not installed");
        return;
    }
    let bench = Bench::new();
    let line = format!("{REC} sh -c 'echo inside; exit 5'");
    let command = bench.command(&["script", "-qec", &line, "/dev/null"]);
    let (status, shown) = Screen::start(command, ALL).end();
    assert_eq!(status.code(), Some(5));
    assert!(shown.contains("inside\r\n"), "{shown:?}");
}

/// `ssh` that its far side keeps open, bare and recorded: both wait, and end when that lets go.
#[test]
fn a_launch_that_keeps_ssh_open_does_so_as_bare() {
    let Some(lab) = Lab::start() else { return };
    let bench = Bench::new();
    for recorded in [false, true] {
        let hold = lab.path(if recorded { "hold-rec" } else { "hold" });
        let made = Command::new("mkfifo").arg(&hold).status().unwrap();
        assert!(made.success());
        let mut words = lab.words();
        words.push(format!("nohup cat {} & echo started", hold.display()));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = if recorded {
            bench.recorded(&words)
        } else {
            bench.command(&words)
        };
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "started\n");
        assert!(child.try_wait().unwrap().is_none(), "recorded: {recorded}");
        std::fs::write(&hold, "x").unwrap();
        assert!(wait(&mut child).success());
    }
}

/// A connection that stays for later (`ControlPersist`) does not keep the command.
#[test]
fn a_connection_that_stays_does_not_hold_the_command() {
    let Some(lab) = Lab::start() else { return };
    let bench = Bench::new();
    let control = lab.path("control").display().to_string();
    let mut words = lab.words();
    let options = ["ControlMaster=auto", "ControlPersist=300"];
    let path = format!("ControlPath={control}");
    let at = words.len() - 1;
    for option in options.into_iter().chain([path.as_str()]) {
        words.splice(at..at, ["-o".to_owned(), option.to_owned()]);
    }
    words.push("echo there; exit 3".to_owned());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    for _ in 0..2 {
        let output = finish(bench.recorded(&words));
        assert_eq!(
            (output.status.code(), &output.stdout[..]),
            (Some(3), &b"there\n"[..])
        );
    }
    assert!(
        std::path::Path::new(&control).exists(),
        "no connection stayed"
    );
    let mut leave = words.clone();
    leave.truncate(words.len() - 1);
    leave.splice(1..1, ["-O", "exit"]);
    finish(bench.command(&leave));
}
