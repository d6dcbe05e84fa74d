//! The recorded command cannot tell: on a terminal.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use casebook::capture::spool::{Record, SpoolState};
use casebook::event::{Exit, Stream};
use rustix::process::{Pid, Signal, kill_process};

use crate::bench::{Bench, REC, exit_of, lives, output_of, start_of, until};
use crate::pty::{ALL, Screen};

fn on_screen(command: Command) -> Screen {
    Screen::start(command, ALL)
}

fn bash(bench: &Bench) -> Screen {
    let mut command = bench.command(&["bash", "--norc", "--noediting", "-i"]);
    command.env("PS1", "ready> ").env("TERM", "dumb");
    let mut screen = on_screen(command);
    screen.until("ready> ");
    screen
}

/// The only child of a recorder on a terminal.
fn shim_of(recorder: u32) -> u32 {
    let path = format!("/proc/{recorder}/task/{recorder}/children");
    std::fs::read_to_string(path)
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

#[test]
fn terminals_stay_terminals_and_pipes_pipes() {
    let look = "for f in 0 1 2; do [ -t $f ] && echo $f >>kinds; done; true";
    for combination in 0..8_u8 {
        let on = [
            combination & 1 != 0,
            combination & 2 != 0,
            combination & 4 != 0,
        ];
        let bench = Bench::new();
        for words in [vec!["sh", "-c", look], vec![REC, "sh", "-c", look]] {
            std::fs::write(bench.file("kinds"), "").unwrap();
            let mut command = bench.command(&words);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let (status, shown) = Screen::start(command, on).end();
            assert!(status.success(), "{on:?}: {shown}");
            let kinds = std::fs::read_to_string(bench.file("kinds")).unwrap();
            let expected: String = (0..3)
                .filter(|fd| on[*fd])
                .map(|fd| format!("{fd}\n"))
                .collect();
            assert_eq!(kinds, expected, "{words:?} on {on:?}");
        }
    }
}

#[test]
fn bytes_on_a_terminal_are_those_of_bare() {
    let script = "printf 'a\\nb\\tc\\r\\n'; printf 'e\\n' >&2; stty -a; stty size";
    for on in [
        ALL,
        [false, true, true],
        [true, false, true],
        [true, true, false],
    ] {
        let bench = Bench::new();
        let mut shows = Vec::new();
        for words in [vec!["sh", "-c", script], vec![REC, "sh", "-c", script]] {
            let mut command = bench.command(&words);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let (status, shown) = Screen::start(command, on).end();
            shows.push((status.into_raw(), shown));
        }
        assert_eq!(shows[1], shows[0], "{on:?}");
        let shown = shows[1].1.as_bytes().to_vec();
        if on == ALL {
            assert_eq!(output_of(&bench.record(), Stream::Tty), shown);
        }
    }
}

#[test]
fn the_window_size_is_passed_on_and_recorded() {
    let bench = Bench::new();
    let script = "trap 'stty size; exit' WINCH; stty size; while :; do sleep 0.05; done";
    let mut screen = on_screen(bench.recorded(&["sh", "-c", script]));
    screen.until("30 90");
    screen.resize(41, 123);
    screen.until("41 123");
    assert!(screen.end().0.success());
    let record = bench.record();
    assert_eq!(
        start_of(&record).size.map(|size| (size.rows, size.columns)),
        Some((30, 90))
    );
    assert!(record.records.iter().any(|(_, record)| matches!(record,
        Record::Resize(resize) if (resize.size.rows, resize.size.columns) == (41, 123))));
}

#[test]
fn exit_codes_and_signals_pass_through() {
    let bench = Bench::new();
    for code in [0, 7, 127, 255] {
        let (status, _) = on_screen(bench.recorded(&["sh", "-c", &format!("exit {code}")])).end();
        assert_eq!(status.code(), Some(code));
    }
    let (status, _) = on_screen(bench.recorded(&["sh", "-c", "kill -9 $$"])).end();
    assert_eq!(status.signal(), Some(9));
    let (status, shown) = on_screen(bench.recorded(&["no-such-program"])).end();
    assert_eq!(status.code(), Some(127));
    assert!(
        shown.contains("not found") && shown.lines().count() == 1,
        "{shown}"
    );
}

#[test]
fn ctrl_c_ends_the_command_and_the_loop_around_it() {
    let bench = Bench::new();
    let script = "for i in 1 2 3; do \"$REC\" sh -c 'echo on; exec sleep 99'; echo again; done";
    let mut screen = on_screen(bench.command(&["bash", "-c", script]));
    screen.until("on");
    screen.keys("\x03");
    let (status, shown) = screen.end();
    assert_eq!(status.signal(), Some(2), "{shown}");
    assert!(!shown.contains("again"));
    assert_eq!(exit_of(&bench.record()), Some(Exit::Signal(2)));
}

#[test]
fn keys_and_end_of_file_reach_the_command() {
    let bench = Bench::new();
    let mut screen = on_screen(bench.recorded(&["cat"]));
    until("keys are ours", || {
        !screen
            .modes()
            .local_modes
            .contains(rustix::termios::LocalModes::ICANON)
    });
    screen.keys("hello\r");
    screen.until("hello\r\nhello\r\n");
    screen.keys("\x04");
    assert!(screen.end().0.success());
}

#[test]
fn the_terminal_is_given_back_as_it_was() {
    for script in ["stty raw -echo", "stty raw -echo; kill -9 $$", "exit 3"] {
        let bench = Bench::new();
        let mut command = bench.command(&[
            "sh",
            "-c",
            "stty -a >before; \"$REC\" sh -c \"$S\"; stty -a >after",
        ]);
        command.env("S", script);
        on_screen(command).end();
        let read = |name| std::fs::read_to_string(bench.file(name)).unwrap();
        assert_eq!(read("after"), read("before"), "after {script}");
    }
}

#[test]
fn what_is_left_behind_lives_on_and_is_heard() {
    let bench = Bench::new();
    bench.sh("mkfifo late");
    let script = "\"$REC\" sh -c '(read x <late; echo late; exec sleep 99) & echo pid $! .'; \
                  echo back; read y";
    let mut screen = on_screen(bench.command(&["sh", "-c", script]));
    screen.until("pid ");
    let pid: u32 = screen.until(" .").trim_end_matches(" .").parse().unwrap();
    screen.until("back\r\n");
    assert!(lives(pid));
    bench.sh("echo >late");
    screen.until("late\r\n");
    until("the late output is on record", || {
        output_of(&bench.record(), Stream::Tty).ends_with(b"late\n")
    });
    let record = bench.record();
    assert_eq!(
        (exit_of(&record), record.state),
        (Some(Exit::Code(0)), SpoolState::Complete)
    );
    assert!(lives(pid));
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
    screen.keys("\r");
    assert!(screen.end().0.success());
}

#[test]
fn a_killed_recorder_gives_the_terminal_back_and_hangs_the_command_up() {
    let bench = Bench::new();
    let script = "echo $$ .; trap 'echo hup >hup; exit' HUP; while :; do sleep 0.05; done";
    let mut screen = on_screen(bench.recorded(&["sh", "-c", script]));
    let pid: u32 = screen
        .until(" .")
        .trim_end_matches(" .")
        .trim()
        .parse()
        .unwrap();
    kill_process(
        Pid::from_raw(screen.pid().cast_signed()).unwrap(),
        Signal::KILL,
    )
    .unwrap();
    screen.end();
    until("the command is gone", || !lives(pid));
    until("its end is on record", || {
        exit_of(&bench.record()) == Some(Exit::Lost)
    });
    until("the terminal is back", || {
        screen
            .modes()
            .local_modes
            .contains(rustix::termios::LocalModes::ICANON)
    });
}

/// A shell on a terminal that puts no modes back by itself, with a recorder killed as asked; what
/// `stty -a` said before, and the screen after the shell went on.
fn killed(bench: &Bench, both: bool) -> (String, Screen) {
    let script = "stty -ixany; stty -a >before; \"$REC\" sh -c 'stty raw -echo; echo $$ on .; exec sleep 99'; \
                  echo back; read line; stty -a >after; \"$REC\" \"$line\"; stty -a >last";
    let mut screen = on_screen(bench.command(&["sh", "-c", script]));
    screen.until("on .");
    let children = std::fs::read_to_string(format!(
        "/proc/{pid}/task/{pid}/children",
        pid = screen.pid()
    ));
    let recorder: u32 = children.unwrap().trim().parse().unwrap();
    let shim = shim_of(recorder);
    let kill = |pid: u32, signal| {
        kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
    };
    if both {
        // Stopped, it cannot do its work before it is killed too.
        kill(shim, Signal::STOP);
    }
    kill(recorder, Signal::KILL);
    screen.until("back");
    if both {
        kill(shim, Signal::KILL);
    }
    until("the shim is gone", || !lives(shim));
    let before = std::fs::read_to_string(bench.file("before")).unwrap();
    (before, screen)
}

#[test]
fn a_killed_recorder_leaves_the_modes_as_they_were() {
    let bench = Bench::new();
    let (before, mut screen) = killed(&bench, false);
    screen.keys("true\r");
    let (_, shown) = screen.end();
    assert_eq!(
        std::fs::read_to_string(bench.file("after")).unwrap(),
        before
    );
    assert!(!shown.contains("put back"), "{shown}");
}

#[test]
fn where_the_shim_was_killed_too_the_next_rec_puts_the_modes_back() {
    for (line, says) in [
        ("true", "rec: this terminal was left raw"),
        ("doctor", "terminal"),
    ] {
        let bench = Bench::new();
        let (before, mut screen) = killed(&bench, true);
        screen.keys(&format!("{line}\n"));
        let (_, shown) = screen.end();
        let read = |name| std::fs::read_to_string(bench.file(name)).unwrap();
        assert_ne!(read("after"), before, "the kernel put them back");
        assert_eq!(read("last"), before, "{shown}");
        assert!(shown.contains(says), "{shown}");
        assert_eq!(shown.matches("put back").count(), 1, "{shown}");
    }
}

#[test]
fn a_job_that_waits_for_the_terminal_dies_of_a_kill() {
    let bench = Bench::new();
    let mut screen = bash(&bench);
    for round in 0..5 {
        screen.keys("\"$REC\" cat &\r");
        screen.until("ready> ");
        screen.keys("wait -n; jobs -l\r");
        screen.until("Stopped");
        screen.until("ready> ");
        let recorder = start_of(bench.records().last().unwrap()).recorder.pid;
        let shim = shim_of(recorder);
        screen.keys("kill %1\r");
        until("nothing of it is left", || !lives(recorder) && !lives(shim));
        screen.keys("jobs; echo listed\r");
        screen.until("Terminated");
        screen.until("\nlisted");
        let ends: Vec<_> = bench.records().iter().filter_map(exit_of).collect();
        assert_eq!(ends, vec![Exit::Signal(15); round + 1]);
    }
    screen.keys("exit\r");
    screen.end();
}

#[test]
fn stopping_and_going_on_is_the_shells_business() {
    let bench = Bench::new();
    let mut screen = bash(&bench);
    screen.keys("\"$REC\" cat\r");
    screen.until("cat\r\n");
    screen.keys("one\r");
    screen.until("one\r\none\r\n");
    screen.keys("\x1a");
    screen.until("Stopped");
    screen.until("ready> ");
    screen.keys("stty -a | grep -o ' icanon'\r");
    screen.until("\r\n icanon");
    screen.keys("fg\r");
    screen.until("cat\r\n");
    screen.keys("two\r");
    screen.until("two\r\ntwo\r\n");
    screen.keys("\x1a");
    screen.until("Stopped");
    screen.until("ready> ");
    screen.keys("bg; echo in the background\r");
    screen.until("\r\nin the background");
    screen.keys("wait -n; jobs\r");
    screen.until("Stopped");
    screen.until("ready> ");
    screen.keys("fg\r");
    screen.until("cat\r\n");
    screen.keys("three\r");
    screen.until("three\r\nthree\r\n");
    screen.keys("\x04");
    screen.until("ready> ");
    screen.keys("exit 5\r");
    assert_eq!(screen.end().0.code(), Some(5));
    let states: Vec<Exit> = bench
        .record()
        .records
        .iter()
        .filter_map(|(_, record)| match record {
            Record::State(change) => Some(change.state),
            _ => None,
        })
        .collect();
    assert_eq!(states[..2], [Exit::Stopped(20), Exit::Running]);
}

#[test]
fn in_the_background_it_touches_nothing_until_it_may() {
    let bench = Bench::new();
    let mut screen = bash(&bench);
    screen.keys("\"$REC\" sleep 99 &\r");
    screen.until("ready> ");
    screen.keys("jobs\r");
    screen.until("Running");
    screen.until("ready> ");
    screen.keys("kill %1; wait; \"$REC\" cat &\r");
    screen.until("cat &\r\n");
    screen.until("ready> ");
    screen.keys("wait -n; jobs\r");
    screen.until("Stopped");
    screen.until("ready> ");
    screen.keys("fg\r");
    screen.until("cat\r\n");
    screen.keys("hey\r");
    screen.until("hey\r\nhey\r\n");
    screen.keys("\x04");
    screen.until("ready> ");
    screen.keys("exit\r");
    screen.end();
}

#[test]
fn a_pipeline_on_a_terminal_keeps_its_line_ends() {
    let bench = Bench::new();
    let script = "\"$REC\" sh -c 'seq 3; read x <hold' | cat";
    bench.sh("mkfifo hold");
    let mut screen = on_screen(bench.command(&["sh", "-c", script]));
    screen.until("1\r\n2\r\n3\r\n");
    bench.sh("echo >hold");
    assert!(screen.end().0.success());
}

#[test]
fn a_line_that_will_hurt_itself_is_told_on_a_terminal_unless_nobody_wants_it() {
    let bench = Bench::new();
    let hurts = ["bash", "-c", "true || pkill -f nobody; echo done"];
    let shown = |command: Command, on: [bool; 3]| Screen::start(command, on).end().1;
    let told = shown(bench.recorded(&hurts), ALL);
    assert!(told.starts_with("rec: hint: `pkill`"), "{told}");
    assert!(
        told.contains("safer: bash -c") && told.ends_with("done\r\n"),
        "{told}"
    );

    let quiet = ["--quiet", "bash", "-c", hurts[2]];
    assert_eq!(shown(bench.recorded(&quiet), ALL), "done\r\n");
    let plain = ["bash", "-c", "echo done"];
    assert_eq!(shown(bench.recorded(&plain), ALL), "done\r\n");
    let mut piped = bench.recorded(&hurts);
    piped.stderr(Stdio::null());
    assert_eq!(shown(piped, [true, true, false]), "done\r\n");

    let folder = bench.file("config/casebook");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "hints = false # I know\n").unwrap();
    let mut unwanted = bench.recorded(&hurts);
    unwanted.env("XDG_CONFIG_HOME", bench.file("config"));
    assert_eq!(shown(unwanted, ALL), "done\r\n");
}

#[test]
fn a_hung_up_terminal_hangs_the_command_up() {
    let bench = Bench::new();
    let script = "trap 'echo bye; exit 3' HUP; echo on; while :; do sleep 0.05; done";
    let mut screen = on_screen(bench.recorded(&["sh", "-c", script]));
    screen.until("on");
    let shim = shim_of(screen.pid());
    let mut child = screen.hang_up();
    crate::bench::wait(&mut child);
    until("its end is on record", || {
        exit_of(&bench.record()).is_some()
    });
    until("nothing of ours is left", || !lives(shim));
    let record = bench.record();
    assert_eq!(exit_of(&record), Some(Exit::Code(3)));
    let shown = String::from_utf8(output_of(&record, Stream::Tty)).unwrap();
    assert!(shown.ends_with("bye\r\n"), "{shown:?}");
}

#[test]
fn spools_that_pile_up_are_taken_in_beside_the_next_command_on_a_terminal() {
    let bench = Bench::new();
    let spools = || {
        let listed = std::fs::read_dir(bench.home().path().join("spool")).unwrap();
        listed
            .filter(|entry| {
                entry
                    .as_ref()
                    .unwrap()
                    .path()
                    .extension()
                    .is_some_and(|ext| ext == "spool")
            })
            .count()
    };
    for _ in 0..70 {
        assert!(
            bench
                .command(&[REC, "true"])
                .stderr(Stdio::null())
                .status()
                .unwrap()
                .success()
        );
    }
    // Without a terminal nothing is started: all of them wait.
    assert_eq!(spools(), 70);
    let (status, _) = on_screen(bench.command(&[REC, "true"])).end();
    assert!(status.success());
    until("the spools are taken in", || spools() == 0);
}
