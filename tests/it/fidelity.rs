//! The recorded command cannot tell: without a terminal. Each test runs a command bare and recorded
//! and compares.

use std::os::unix::process::ExitStatusExt;
use std::process::{Output, Stdio};

use casebook::capture::spool::{Record, SpoolState, Tail};
use casebook::event::{Exit, Stream};

use crate::bench::{Bench, exit_of, finish, output_of, start_of, until, wait};

/// Runs a script bare and recorded; asserts that nothing differs, and gives what came.
fn same(bench: &Bench, script: &str) -> Output {
    let bare = bench.sh(script);
    let recorded = bench.rec_sh(script);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(
        text(&recorded.stdout),
        text(&bare.stdout),
        "stdout of {script}"
    );
    assert_eq!(
        text(&recorded.stderr),
        text(&bare.stderr),
        "stderr of {script}"
    );
    assert_eq!(
        recorded.status.into_raw(),
        bare.status.into_raw(),
        "status of {script}"
    );
    recorded
}

#[test]
fn exit_codes_pass_through() {
    let bench = Bench::new();
    for code in [0, 1, 7, 126, 127, 200, 255] {
        let output = same(&bench, &format!("exit {code}"));
        assert_eq!(output.status.code(), Some(code));
    }
    let exits: Vec<_> = bench.records().iter().filter_map(exit_of).collect();
    assert_eq!(exits, [0, 1, 7, 126, 127, 200, 255].map(Exit::Code));
}

#[test]
fn a_death_by_signal_is_one() {
    let bench = Bench::new();
    for signal in [1, 2, 3, 9, 13, 15] {
        let output = same(&bench, &format!("kill -{signal} $$"));
        assert_eq!(output.status.signal(), Some(signal));
    }
    assert_eq!(exit_of(&bench.records()[3]), Some(Exit::Signal(9)));
}

#[test]
fn a_file_that_takes_no_more_is_said_and_is_a_failure() {
    let bench = Bench::new();
    for line in [
        "exec \"$0\" echo lost > /dev/full",
        "exec \"$0\" head -c 3000000 /dev/zero > /dev/full",
    ] {
        let output = finish(bench.recorded_by(line));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(
            said.contains("standard output could not be written"),
            "{said}"
        );
    }
    // A reader that leaves is no failure of writing.
    let output = finish(bench.recorded_by("\"$0\" seq 100000 | head -1"));
    assert_eq!(output.stderr, b"");
    for verb in ["timeline", "sessions --json", "--help"] {
        let output = finish(bench.recorded_by(&format!("exec \"$0\" {verb} > /dev/full")));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{verb}: {said}");
        assert!(
            said.contains("standard output could not be written"),
            "{said}"
        );
    }
}

#[test]
fn every_byte_passes_and_is_kept_and_streams_stay_apart() {
    let bench = Bench::new();
    let bytes: Vec<u8> = (0..300_000_u32)
        .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[2])
        .collect();
    std::fs::write(bench.file("x"), &bytes).unwrap();
    let output = finish(bench.recorded(&["sh", "-c", "cat x; printf err >&2"]));
    assert!(output.stdout == bytes, "stdout differs");
    assert_eq!(output.stderr, b"err");
    let record = bench.record();
    assert_eq!(
        (record.tail.clone(), record.state),
        (Tail::Clean, SpoolState::Complete)
    );
    assert!(
        output_of(&record, Stream::Stdout) == bytes,
        "the record differs"
    );
    assert_eq!(output_of(&record, Stream::Stderr), b"err");
}

#[test]
fn argv_is_exact() {
    let bench = Bench::new();
    let words = [
        "printf", "%s\\n", "a  b", "$x", "*", "", "--quiet", "-- ", "é\n",
    ];
    let bare = finish(bench.command(&words));
    assert_eq!(finish(bench.recorded(&words)).stdout, bare.stdout);
    same(&bench, "cat /proc/$$/cmdline | tr '\\0' ' '");
}

#[test]
fn process_state_is_inherited() {
    let bench = Bench::new();
    same(&bench, "umask 027; pwd; umask; ulimit -a; nice");
    let state = "grep -E '^(SigBlk|SigIgn|SigCgt|Umask|NoNewPrivs)' /proc/self/status";
    let outer = |run: &str, before: &str| bench.sh(&format!("{before} {run} {state}")).stdout;
    for before in [
        "",
        "trap '' PIPE;",
        "trap '' HUP INT;",
        "trap '' CHLD;",
        "umask 077;",
    ] {
        let bare = String::from_utf8(outer("env", before)).unwrap();
        let recorded = String::from_utf8(outer("\"$REC\"", before)).unwrap();
        assert_eq!(recorded, bare, "after {before:?}");
    }
}

#[test]
fn only_rec_variables_are_added_and_the_order_stays() {
    let bench = Bench::new();
    let list = |output: Output| -> Vec<String> {
        String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .filter(|line| !line.starts_with("REC_"))
            .map(str::to_owned)
            .collect()
    };
    let bare = bench.sh("export Z=1 A=2 M=3; exec env");
    let recorded = bench.sh("export Z=1 A=2 M=3; exec \"$REC\" env");
    assert_eq!(list(recorded), list(bare));
    let output = bench.rec_sh("echo $REC_SESSION $REC_PARENT");
    let record = bench.records().pop().unwrap();
    let start = start_of(&record);
    let expected = format!("{} {}\n", start.session, start.command);
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn descriptors_are_inherited_or_closed_as_they_were() {
    let bench = Bench::new();
    let look = "for f in 0 1 2 3 4; do [ -e /proc/self/fd/$f ] && echo $f >>fds; done; true";
    for how in [
        "",
        "<&-",
        "2>&-",
        ">&-",
        "<&- >&- 2>&-",
        "3</dev/null",
        "4>x",
    ] {
        bench.sh(&format!("rm -f fds; sh -c '{look}' {how}"));
        let bare = std::fs::read_to_string(bench.file("fds")).unwrap_or_default();
        bench.sh(&format!("rm -f fds; \"$REC\" sh -c '{look}' {how}"));
        let recorded = std::fs::read_to_string(bench.file("fds")).unwrap_or_default();
        assert_eq!(recorded, bare, "with {how}");
    }
    assert_eq!(
        bench.sh("echo in >in; \"$REC\" cat /dev/fd/3 3<in").stdout,
        b"in\n"
    );
    assert_eq!(bench.sh("\"$REC\" echo hi <&-").stdout, b"hi\n");
}

#[test]
fn what_cannot_be_started_ends_as_in_a_shell() {
    let bench = Bench::new();
    std::fs::write(bench.file("plain"), "echo ran\n").unwrap();
    std::fs::write(bench.file("bad"), "#!/no/such/interpreter\n").unwrap();
    for (words, code, says) in [
        (vec!["no-such-program"], 127, "not found"),
        (vec!["./missing/x"], 127, "not found"),
        (vec!["/"], 126, "directory"),
        (vec!["./plain"], 126, "permission denied"),
    ] {
        let output = finish(bench.recorded(&words));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert!(said.contains(says) && said.lines().count() == 1, "{said}");
        assert!(output.stdout.is_empty());
    }
    bench.sh("chmod +x plain bad");
    assert_eq!(finish(bench.recorded(&["./plain"])).stdout, b"ran\n");
    let output = finish(bench.recorded(&["./bad"]));
    assert_eq!(output.status.code(), Some(127));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interpreter"));
    let quiet = finish(bench.recorded(&["--quiet", "no-such-program"]));
    assert_eq!((quiet.status.code(), quiet.stderr), (Some(127), vec![]));
}

#[test]
fn without_a_place_for_records_the_command_runs_all_the_same() {
    let bench = Bench::new();
    std::fs::write(bench.file("home"), "a file, where a folder should be").unwrap();
    let output = bench.rec_sh("echo hi; exit 4");
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(4), &b"hi\n"[..])
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1);
    let output = finish(bench.recorded(&["--quiet", "echo", "hi"]));
    assert!(output.stderr.is_empty());
}

#[test]
fn a_file_size_limit_hurts_the_record_alone() {
    let bench = Bench::new();
    let output = bench.sh("ulimit -f 100; \"$REC\" head -c 300000 /dev/zero | wc -c");
    assert_eq!(output.stdout, b"300000\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1);
}

#[test]
fn what_is_not_built_is_said_and_stops_no_command() {
    let bench = Bench::new();
    let output = finish(bench.recorded(&["--stdin", "echo", "hi"]));
    assert_eq!(output.stdout, b"hi\n");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("without its input") && said.lines().count() == 1,
        "{said}"
    );
    assert_eq!(output_of(&bench.record(), Stream::Stdout), b"hi\n");
}

#[test]
fn how_much_is_kept_is_a_setting() {
    let bench = Bench::new();
    let folder = bench.file("config/casebook");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "keep_mib = 1\n").unwrap();
    let mut command = bench.recorded(&["head", "-c", "4000000", "/dev/zero"]);
    command.env("XDG_CONFIG_HOME", bench.file("config"));
    let output = finish(command);
    assert_eq!(output.stdout.len(), 4_000_000);
    let record = bench.record();
    let gaps: u64 = record
        .records
        .iter()
        .filter_map(|(_, record)| match record {
            Record::Gap(gap) => Some(gap.bytes),
            _ => None,
        })
        .sum();
    let kept = output_of(&record, Stream::Stdout).len() as u64;
    assert_eq!(kept + gaps, 4_000_000);
    // The end waits with what its pieces cost beside their bytes.
    assert!((2_000_000..=2 << 20).contains(&kept), "{kept}");
}

#[test]
fn many_at_once_get_numbers_of_their_own() {
    let bench = Bench::new();
    let children: Vec<_> = (0..20)
        .map(|_| {
            bench
                .recorded(&["true"])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(wait(&mut child).success());
    }
    let records = bench.records();
    let numbers: Vec<u32> = records
        .iter()
        .map(|record| start_of(record).number)
        .collect();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
    let session = start_of(&records[0]).session;
    assert!(
        records
            .iter()
            .all(|record| start_of(record).session == session)
    );
}

#[test]
fn a_killed_recorder_leaves_what_was_shown() {
    let bench = Bench::new();
    let mut command = bench.recorded(&["sh", "-c", "seq 1000; exec cat fifo"]);
    bench.sh("mkfifo fifo");
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut shown = vec![0; 3893];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut shown).unwrap();
    assert_eq!(bench.record().state, SpoolState::Running);
    child.kill().unwrap();
    wait(&mut child);
    until("the record is known to be lost", || {
        bench.record().state == SpoolState::Lost
    });
    assert!(output_of(&bench.record(), Stream::Stdout) == shown);
    bench.sh("echo >fifo"); // lets the orphan go
}

#[test]
fn signals_reach_the_command() {
    let bench = Bench::new();
    for signal in ["HUP", "INT", "QUIT", "TERM", "USR1", "USR2"] {
        let script = format!(
            "trap 'echo got {signal}; exit 3' {signal}; echo ready; while :; do sleep 0.05; done"
        );
        let mut child = bench
            .recorded(&["sh", "-c", &script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut reader = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
        assert_eq!(line, "ready\n");
        let pid = rustix::process::Pid::from_child(&child);
        let number = match signal {
            "HUP" => rustix::process::Signal::HUP,
            "INT" => rustix::process::Signal::INT,
            "QUIT" => rustix::process::Signal::QUIT,
            "TERM" => rustix::process::Signal::TERM,
            "USR1" => rustix::process::Signal::USR1,
            _ => rustix::process::Signal::USR2,
        };
        rustix::process::kill_process(pid, number).unwrap();
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut reader, &mut rest).unwrap();
        assert_eq!(rest, format!("got {signal}\n"));
        assert_eq!(wait(&mut child).code(), Some(3));
    }
}

#[test]
fn timeout_ends_it_and_leaves_nothing_behind() {
    let bench = Bench::new();
    let output = bench.sh("timeout 0.3 \"$REC\" sh -c 'echo $$; exec sleep 99'");
    assert_eq!(output.status.code(), Some(124));
    let pid: u32 = String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .unwrap();
    until("it is gone", || !crate::bench::lives(pid));
}

#[test]
fn a_reader_that_leaves_is_noticed_as_soon_as_bare() {
    let bench = Bench::new();
    let output = bench.sh("\"$REC\" yes | head -n1; echo done");
    assert_eq!(output.stdout, b"y\ndone\n");
    // The next write after the reader left must fail, however long it comes after.
    bench.sh("mkfifo go");
    let script = "trap '' PIPE; echo first; read x <go; echo second || echo failed >said";
    let mut child = bench
        .recorded(&["sh", "-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reader = child.stdout.take().unwrap();
    std::io::Read::read_exact(&mut reader, &mut [0; 6]).unwrap();
    let recorder = child.id();
    let pipes = || {
        std::fs::read_dir(format!("/proc/{recorder}/fd"))
            .unwrap()
            .flatten()
            .filter_map(|fd| std::fs::read_link(fd.path()).ok())
            .filter(|target| target.to_string_lossy().starts_with("pipe:"))
            .count()
    };
    let before = pipes();
    drop(reader);
    // Its two ends of our pipe, one opened anew, and its end of the command's.
    until("the recorder let go", || pipes() < before);
    bench.sh("echo >go");
    wait(&mut child);
    assert_eq!(
        std::fs::read_to_string(bench.file("said")).unwrap(),
        "failed\n"
    );
}

#[test]
fn end_of_file_comes_as_bare() {
    let bench = Bench::new();
    // The command closes its output early and lives on: the reader must not wait for it.
    let output = bench.sh(
        "mkfifo hold; \"$REC\" sh -c 'echo a; exec >&- 2>&-; read x <hold; true' | \
         { cat; echo end >ended; } & \
         while [ ! -s ended ]; do sleep 0.01; done; cat ended; echo >hold; wait",
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("end"));
    // It ends, and something it started holds the output: the reader waits for that one, the
    // shell does not.
    let output = bench.sh(
        "mkfifo late; \"$REC\" sh -c '(read x <late; echo late) & echo hi' >p & \
         wait $!; cat p; echo >late; while ! grep -q late p; do sleep 0.01; done; cat p",
    );
    assert_eq!(output.stdout, b"hi\nhi\nlate\n");
    let output = bench.sh(
        "mkfifo later; { \"$REC\" sh -c '(read x <later; echo late) & echo hi'; echo >later; } | cat",
    );
    assert_eq!(output.stdout, b"hi\nlate\n");
    let last = bench.records().pop().unwrap();
    until("the late output is on record", || {
        output_of(&bench.records().pop().unwrap(), Stream::Stdout) == b"hi\nlate\n"
    });
    assert_eq!(exit_of(&last), Some(Exit::Code(0)));
}

#[test]
fn a_command_line_does_not_find_its_recorder() {
    let bench = Bench::new();
    let output = bench.rec_sh("pgrep -fc 'find-m[e]-if-you-can'; true");
    assert_eq!(output.stdout, b"0\n");
    let output = finish(bench.recorded(&["pgrep", "-f", "nobody-is-called-like-this"]));
    assert_eq!((output.status.code(), output.stdout), (Some(1), vec![]));
}

#[test]
fn nested_recorders_know_each_other() {
    let bench = Bench::new();
    let output = bench.sh("\"$REC\" \"$REC\" \"$REC\" echo hi");
    assert_eq!(
        (output.stdout.as_slice(), output.stderr.as_slice()),
        (&b"hi\n"[..], &b""[..])
    );
    let records = bench.records();
    assert_eq!(records.len(), 3);
    assert_eq!(start_of(&records[0]).parent, None);
    assert_eq!(
        start_of(&records[1]).parent,
        Some(start_of(&records[0]).command)
    );
    assert_eq!(
        start_of(&records[2]).parent,
        Some(start_of(&records[1]).command)
    );
}

#[test]
fn what_nested_recorders_saw_is_kept_once() {
    let bench = Bench::new();
    bench.sh("\"$REC\" \"$REC\" \"$REC\" echo hi there");
    bench.sh(
        "\"$REC\" sh -c 'echo before; \"$REC\" sh -c \"echo one; echo \\$((6*111))\"; echo after'",
    );
    let export = bench.say(&["export", "last", "--as", "jsonl"]);
    let events: Vec<serde_json::Value> = export
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let printed: Vec<&serde_json::Value> = events
        .iter()
        .filter(|event| event["kind"] == "output_recorded")
        .collect();
    let content = |event: &serde_json::Value| event["body"]["content"]["id"].to_string();
    let kept: std::collections::BTreeSet<String> =
        printed.iter().map(|event| content(event)).collect();
    // One for the first three, and before, the inner one's, and after.
    assert_eq!((printed.len(), kept.len()), (7, 4), "{export}");
    for (number, text) in [
        ("1", "hi there\n"),
        ("2", "hi there\n"),
        ("3", "hi there\n"),
        ("4", "before\none\n666\nafter\n"),
        ("5", "one\n666\n"),
    ] {
        assert_eq!(bench.say(&["show", number, "--stdout"]), text);
    }
    assert_eq!(bench.json(&["search", "666", "--json"])["total"], 2);
    // Elsewhere it is the same; and what is forgotten is so in both.
    let file = bench.file("export.jsonl");
    std::fs::write(&file, &export).unwrap();
    let other = Bench::new();
    other.import(&file);
    assert_eq!(
        other.say(&["show", "4", "--stdout"]),
        "before\none\n666\nafter\n"
    );
    assert_eq!(other.json(&["verify", "--json"])["ok"], true);
    bench.say(&["forget", "5"]);
    assert_eq!(bench.say(&["show", "4", "--stdout"]), "before\nafter\n");
    assert_eq!(bench.json(&["verify", "--json"])["ok"], true);
    assert_eq!(bench.json(&["search", "666", "--json"])["total"], 0);
}

#[test]
fn sessions_are_chosen_by_option_and_variable() {
    let bench = Bench::new();
    finish(bench.recorded(&["true"]));
    let session = start_of(&bench.record()).session;
    let wrong = finish(bench.recorded(&["--session", "s-nope", "echo", "hi"]));
    assert_eq!((wrong.status.code(), wrong.stdout), (Some(125), vec![]));
    let mut command = bench.recorded(&["echo", "hi"]);
    command.env("REC_SESSION", "s-nope");
    let warned = finish(command);
    assert_eq!(warned.stdout, b"hi\n");
    assert_eq!(String::from_utf8_lossy(&warned.stderr).lines().count(), 1);
    finish(bench.recorded(&["--session", &session.short(), "true"]));
    assert!(
        bench
            .records()
            .iter()
            .all(|record| start_of(record).session == session)
    );
    assert_eq!(bench.records().len(), 3);
}

/// The library that shows other clocks to programs.
fn libfaketime() -> Option<String> {
    let library = ["x86_64", "aarch64"]
        .map(|machine| format!("/usr/lib/{machine}-linux-gnu/faketime/libfaketime.so.1"))
        .into_iter()
        .find(|path| std::path::Path::new(path).exists())
        .filter(|path| {
            let shown = std::process::Command::new("date")
                .arg("+%Y")
                .env("LD_PRELOAD", path)
                .env("FAKETIME", "1990-06-01 00:00:00")
                .output();
            shown.is_ok_and(|output| output.stdout == b"1990\n")
        });
    if library.is_none() {
        eprintln!("not tried: libfaketime is not installed, or does nothing here");
    }
    library
}

/// A clock that was never set, or set beyond reason, stops no command and no look.
#[test]
fn a_clock_far_from_now_stops_nothing() {
    let Some(library) = libfaketime() else { return };
    for now in ["1969-12-31 00:00:00", "9999-12-31 00:00:00"] {
        let bench = Bench::new();
        for words in [
            &["sh", "-c", "echo ran; exit 3"][..],
            &["timeline"],
            &["sessions"],
            &["why"],
            &["show", "1"],
            &["postmortem"],
        ] {
            let mut command = bench.recorded(words);
            command.env("LD_PRELOAD", &library);
            command.env("FAKETIME", now).env("DONT_FAKE_MONOTONIC", "1");
            let output = finish(command);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!said.contains("panicked"), "{now} {words:?}: {said}");
            if words[0] == "sh" {
                assert_eq!(output.status.code(), Some(3), "{now}: {said}");
                assert_eq!(output.stdout, b"ran\n");
            } else {
                assert_eq!(output.status.code(), Some(0), "{now} {words:?}: {said}");
            }
        }
    }
}

/// The clock goes back by some minutes while a command runs, and stays there for the next one.
#[test]
fn a_clock_that_steps_back_makes_no_negative_time() {
    let Some(library) = libfaketime() else { return };
    let bench = Bench::new();
    bench.sh("mkfifo go; echo +0 >clock");
    let faked = |words: &[&str]| {
        let mut command = bench.recorded(words);
        command.env("LD_PRELOAD", &library);
        command.env("DONT_FAKE_MONOTONIC", "1");
        command.env("FAKETIME_NO_CACHE", "1");
        command.env("FAKETIME_TIMESTAMP_FILE", bench.file("clock"));
        command
    };
    let mut child = faked(&["sh", "-c", "date +%s; read x <go; date +%s; exit 3"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut moment = || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut pipe, &mut line).unwrap();
        line.trim().parse::<i64>().unwrap()
    };
    let before = moment();
    bench.sh("echo -600 >clock; echo >go");
    assert!(before - moment() > 500, "the clock did not step");
    assert_eq!(wait(&mut child).code(), Some(3));
    assert_eq!(finish(faked(&["echo", "next"])).stdout, b"next\n");
    for record in bench.records() {
        let mut last = 0;
        for (_, one) in &record.records {
            // An output may be read after its command has ended.
            let (after_us, earliest) = match one {
                Record::Output(output) => (
                    output.after_us,
                    std::mem::replace(&mut last, output.after_us),
                ),
                Record::End(end) => (end.duration_us, 0),
                _ => continue,
            };
            assert!((earliest..600_000_000).contains(&after_us), "{one:?}");
        }
    }
    let timeline = bench.json(&["timeline", "--json"]);
    let commands = timeline["commands"].as_array().unwrap();
    assert_eq!(commands.len(), 2, "{timeline:#}");
    for (number, command) in (1..).zip(commands) {
        assert_eq!(command["number"], number, "{timeline:#}");
        assert!(
            command["duration_ms"].as_f64().unwrap() >= 0.0,
            "{timeline:#}"
        );
    }
    assert_eq!(bench.json(&["verify", "--json"])["ok"], true);
}

/// In a container, the shell's session and process group may be from outside its PID namespace: the
/// kernel then calls both 0.
#[test]
fn a_session_led_from_outside_the_namespace_is_recorded() {
    if let Err(why) = crate::lab::may_unshare() {
        eprintln!("not run: {why}");
        return;
    }
    let bench = Bench::new();
    let output = bench.sh(
        "unshare --pid --fork --mount-proc sh -c '\"$REC\" sh -c \"echo hi; exit 7\"; echo $?'",
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), "hi\n7\n");
    assert_eq!(exit_of(&bench.record()), Some(Exit::Code(7)));
    assert_eq!(output_of(&bench.record(), Stream::Stdout), b"hi\n");
}
