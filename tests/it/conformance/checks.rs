//! The checks, by row of the table in `docs/fidelity.md`.
#![expect(
    clippy::zombie_processes,
    reason = "a stage ends what a check that fails leaves behind"
)]

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::LocalModes;

use super::stage::{Fault, Seen, Stage, ending};
use crate::lab::is_there;
use crate::pty::ALL;

/// One thing to be noticed, or not.
pub(crate) struct Check {
    /// The row of the table.
    pub(crate) row: u32,
    /// What holds when nothing is noticed.
    pub(crate) what: &'static str,
    /// It needs a terminal.
    pub(crate) on_terminal: bool,
    /// Does it, and says what was seen.
    pub(crate) look: fn(&mut Stage) -> Seen,
}

const fn pipes(row: u32, what: &'static str, look: fn(&mut Stage) -> Seen) -> Check {
    Check {
        row,
        what,
        on_terminal: false,
        look,
    }
}

const fn tty(row: u32, what: &'static str, look: fn(&mut Stage) -> Seen) -> Check {
    Check {
        row,
        what,
        on_terminal: true,
        look,
    }
}

pub(crate) const CHECKS: &[Check] = &[
    tty(
        1,
        "each of the three descriptors is a terminal or not as before, in all eight ways",
        kinds,
    ),
    pipes(
        2,
        "300 KB of any bytes pass unchanged, and errors apart from them",
        any_bytes,
    ),
    pipes(
        2,
        "with `2>&1` before it, errors and output keep their order",
        |stage| {
            stage.sh(
            "exec 2>&1; \"$REC\" sh -c 'for i in 1 2 3 4 5 6 7 8 9; do echo o$i; echo e$i >&2; done'",
        )
        },
    ),
    pipes(
        3,
        "a `while read` loop around it sees all its lines",
        |stage| stage.sh("seq 5 | while read line; do \"$REC\" true; echo got $line; done"),
    ),
    pipes(
        3,
        "what it does not read of a file is left for the next one",
        |stage| stage.sh("seq 3 >in; { \"$REC\" head -n1; cat; } <in"),
    ),
    pipes(
        3,
        "what it does not read of a pipe is left for the next one",
        |stage| stage.sh("printf 'a\\nb\\n' | { \"$REC\" sh -c 'read x; echo first $x'; cat; }"),
    ),
    tty(
        3,
        "a loop over a file, on a terminal, reads all of it",
        |stage| {
            let loops =
                "seq 5 >in; while read n; do \"$REC\" sh -c '[ -t 1 ] && echo tty'; done <in";
            stage.terminal(loops).end()
        },
    ),
    pipes(
        4,
        "100,000 bytes of a pipe reach it, and their end",
        |stage| stage.sh("head -c 100000 /dev/zero | \"$REC\" wc -c"),
    ),
    pipes(4, "it runs with its input closed", |stage| {
        stage.sh("\"$REC\" echo hi <&-")
    }),
    pipes(4, "it ends at the end of an empty input", |stage| {
        stage.sh("\"$REC\" cat </dev/null; echo ended")
    }),
    tty(
        4,
        "keys and the end of input reach it on a terminal",
        |stage| {
            let mut terminal = stage.terminal("\"$REC\" sh -c 'echo on; exec cat'");
            terminal.shows("on\r\n")?;
            terminal.keys("hello\r");
            terminal.shows("hello\r\nhello\r\n")?;
            terminal.keys("\x04");
            terminal.end()
        },
    ),
    pipes(5, "its exit code is passed on", |stage| {
        stage.sh("for c in 0 1 7 126 127 200 255; do \"$REC\" sh -c \"exit $c\"; echo $?; done")
    }),
    pipes(
        5,
        "what is not found ends with 127, what may not be run with 126",
        |stage| {
            stage.sh("echo x >plain; for c in no-such-program ./plain; do \"$REC\" $c 2>said; echo $?; done")
        },
    ),
    pipes(
        6,
        "who waits for it sees the signal that killed it",
        |stage| killed_by(stage, false),
    ),
    tty(6, "the same on a terminal", |stage| killed_by(stage, true)),
    tty(6, "one Ctrl-C ends it and the loop around it", |stage| {
        let loops = "for i in 1 2 3; do \"$REC\" sh -c 'echo on; exec sleep 99'; echo again; done";
        let mut terminal = stage.terminal_of(stage.command(&["bash", "-c", loops]), ALL);
        terminal.shows("on\r\n")?;
        terminal.keys("\x03");
        terminal.end()
    }),
    pipes(7, "HUP, INT, TERM, USR1 and USR2 reach it", signals),
    pipes(7, "`timeout` around it leaves nothing behind", |stage| {
        let seen =
            stage.sh("timeout 0.3 \"$REC\" sh -c 'echo $$ >pid; exec sleep 99' 2>/dev/null")?;
        let pid = stage.text("pid").trim().parse().unwrap_or(0);
        stage.until("the command's death", || !crate::bench::lives(pid))?;
        Ok(seen)
    }),
    tty(8, "Ctrl-Z stops it, `fg` goes on with it", stops_and_goes),
    tty(
        8,
        "in the background it runs until it wants the terminal",
        |stage| {
            let mut bash = stage.bash()?;
            bash.keys("\"$REC\" sleep 99 &\r");
            bash.shows("ready> ")?;
            bash.keys("jobs\r");
            bash.shows("Running")?;
            bash.shows("ready> ")?;
            bash.keys("kill %1; wait; \"$REC\" cat &\r");
            bash.shows("cat &\r\n")?;
            bash.shows("ready> ")?;
            bash.keys("wait -n; jobs\r");
            bash.shows("Stopped")?;
            bash.shows("ready> ")?;
            bash.keys("fg\r");
            bash.shows("cat\r\n")?;
            bash.keys("hey\r");
            bash.shows("hey\r\nhey\r\n")?;
            Ok("as a job".to_owned())
        },
    ),
    tty(9, "it sees the window's size", |stage| {
        stage.terminal("\"$REC\" stty size").end()
    }),
    tty(9, "a change of the window reaches it", |stage| {
        let traps = "trap 'stty size; exit' WINCH; stty size; while :; do sleep 0.05; done";
        let mut terminal = stage.terminal_of(stage.behind(&["sh", "-c", traps]), ALL);
        terminal.shows("30 90")?;
        terminal.screen.resize(41, 123);
        terminal.shows("41 123")?;
        terminal.end()
    }),
    tty(
        10,
        "killed with -9, its recorder leaves the terminal's modes as they were",
        |stage| modes_after(stage, Signal::KILL),
    ),
    tty(10, "killed with -TERM, the same", |stage| {
        modes_after(stage, Signal::TERM)
    }),
    tty(
        11,
        "what it leaves in the background does not hold up a terminal",
        |stage| {
            let leaves = "\"$REC\" sh -c \"trap '' HUP; sleep 99 & echo hi\"; echo back";
            stage.terminal(leaves).end()
        },
    ),
    pipes(
        11,
        "a reader sees the end when the command lets go, not when it ends",
        |stage| {
            let lets_go = "mkfifo hold; exec \"$REC\" sh -c 'echo a; exec >&- 2>&-; read x <hold'";
            let mut command = stage.command(&["sh", "-c", lets_go]);
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let all = stage.rest_of(child.stdout.take().unwrap())()?;
            let waits = child.try_wait().unwrap().is_none();
            stage.sh("echo >hold")?;
            Ok(format!(
                "{all}waits: {waits}, then {}",
                ending(stage.wait(&mut child)?)
            ))
        },
    ),
    pipes(
        11,
        "the shell goes on while something left behind holds the output",
        |stage| stage.sh("\"$REC\" sh -c '(exec sleep 99) & echo hi' >out 2>&1; cat out"),
    ),
    pipes(14, "a reader that does not read makes it wait", slow_reader),
    pipes(
        15,
        "where nothing can be recorded, it runs all the same",
        |stage| {
            stage.sh(
            "export REC_HOME=/proc/none LOG=/proc/none/log; \"$REC\" sh -c 'echo ran; exit 4' 2>/dev/null",
        )
        },
    ),
    pipes(
        15,
        "a limit on the size of files hurts the record alone",
        |stage| stage.sh("ulimit -f 100; \"$REC\" head -c 300000 /dev/zero 2>/dev/null | wc -c"),
    ),
    tty(16, "vim writes a file", |stage| {
        let seen = drawn(
            stage,
            &["vim", "-u", "NONE", "-N", "text"],
            "some text",
            "ihello\x1b:wq\r",
        )?;
        Ok(seen + &stage.text("text"))
    }),
    tty(16, "less shows and leaves", |stage| {
        drawn(stage, &["less", "text"], "some text", "q")
    }),
    tty(16, "top draws and leaves", |stage| {
        drawn(stage, &["top"], "PID", "q")
    }),
    tty(
        17,
        "what is typed without an echo is nowhere on disk",
        password,
    ),
    pipes(18, "three of them in a row pass output and exit", |stage| {
        stage.sh("\"$REC\" \"$REC\" \"$REC\" sh -c 'echo hi; echo err >&2; exit 5'")
    }),
    pipes(
        19,
        "without an environment, a home or a terminal it is silent",
        |stage| {
            stage.sh("umask 077; env -i REC_HOME=\"$REC_HOME\" setsid -w \"$REC\" true </dev/null")
        },
    ),
    pipes(20, "sudo's output, errors and exit", |stage| {
        if !is_there("sudo") || !rustix::process::geteuid().is_root() {
            return Err(Fault::CannotBeTried("sudo without a password needs root"));
        }
        stage.sh("\"$REC\" sudo -n sh -c 'echo out; echo err >&2; exit 3'")
    }),
    tty(
        24,
        "a query of the terminal and its answer pass, and none comes before",
        |stage| {
            let asks =
                "stty -echo; printf '\\033[c'; IFS= read -rs -d c x; stty echo; echo got ${#x}";
            let mut terminal = stage.terminal_of(stage.behind(&["bash", "-c", asks]), ALL);
            let before = terminal.shows("\x1b[c")?;
            terminal.keys("\x1b[?62;4c");
            terminal.shows("got 7\r\n")?;
            Ok(format!("{before:?} {}", terminal.end()?))
        },
    ),
    tty(26, "tmux within it", |stage| {
        let socket = stage.file("socket").display().to_string();
        let words = [
            "tmux",
            "-S",
            &socket,
            "-f",
            "/dev/null",
            "new",
            "cat text; read x",
        ];
        drawn(stage, &words, "some text", "\r")
    }),
    pipes(
        27,
        "folder, umask, limits and niceness are inherited",
        |stage| stage.sh("umask 027; \"$REC\" sh -c 'pwd; umask; ulimit -a; nice'"),
    ),
    pipes(
        27,
        "signals that were ignored or blocked are, and no others",
        |stage| {
            stage.sh(
                "for before in ':' \"trap '' PIPE\" \"trap '' HUP INT\" \"trap '' CHLD\"; do \
             ( eval \"$before\"; \"$REC\" grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status ); done",
            )
        },
    ),
    pipes(
        27,
        "the environment is that of bare, in its order",
        |stage| {
            // What a recorder says of itself may be added.
            stage.sh("export Z=1 A=2 M=3; \"$REC\" env | grep -vE '^(REC|REC_.*|ASCIINEMA_.*)='")
        },
    ),
    pipes(
        27,
        "further descriptors are inherited, and those closed stay so",
        |stage| {
            stage.sh(
            "echo in >in; \"$REC\" cat /dev/fd/3 3<in; look='for f in 0 1 2 3; do \
             [ -e /proc/self/fd/$f ] && echo $f >>fds; done; true'; \
             \"$REC\" sh -c \"$look\" <&-; \"$REC\" sh -c \"$look\" 2>&-; \"$REC\" sh -c \"$look\" >&-; \
             cat fds",
        )
        },
    ),
    pipes(28, "it gets the words as they were given", |stage| {
        let words = [
            "printf", "<%s>\\n", "a  b", "$x", "*", "", "--quiet", "-- ", "é\n", "'", "\\",
        ];
        stage.end(stage.behind(&words))
    }),
    pipes(
        29,
        "letters cut between two writes, and bytes that are no text, pass",
        |stage| {
            let cut = "printf 'caf\\303'; sleep 0.05; printf '\\251 \\342'; printf '\\202'; \
                   printf '\\254\\n\\351t\\351\\n'";
            std::fs::write(stage.file("cut"), cut).unwrap();
            stage.sh("LC_ALL=C \"$REC\" sh cut | od -c")
        },
    ),
    tty(31, "a terminal that is closed hangs it up", |stage| {
        let script = "trap 'echo bye >hup; exit 3' HUP; echo on; while :; do sleep 0.05; done";
        let mut terminal = stage.terminal_of(stage.behind(&["sh", "-c", script]), ALL);
        terminal.shows("on\r\n")?;
        let mut child = terminal.screen.hang_up();
        stage.until("the command to be hung up", || {
            !stage.text("hup").is_empty()
        })?;
        stage.wait(&mut child)?;
        Ok(stage.text("hup"))
    }),
    pipes(32, "twenty at once all run", |stage| {
        stage.sh(
            "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do \
             LOG=\"$PWD/log.$i\" \"$REC\" sh -c 'echo ran' >out.$i 2>&1 & done; wait; cat out.*",
        )
    }),
    pipes(
        36,
        "what wants a terminal and has none is told so",
        |stage| stage.sh("\"$REC\" sh -c 'tty; [ -t 1 ] || echo no terminal'"),
    ),
    tty(
        36,
        "the head of a pipeline on a terminal writes a pipe's line ends",
        |stage| {
            stage
                .terminal("\"$REC\" sh -c 'seq 3; [ -t 1 ] || echo piped' | od -c")
                .end()
        },
    ),
    pipes(37, "nothing is said on output or error", |stage| {
        stage.sh("\"$REC\" true")
    }),
    tty(
        37,
        "nothing is said on a terminal, whose bytes are those of bare",
        |stage| {
            let script = "printf 'a\\nb\\tc\\r\\n'; printf 'e\\n' >&2; stty -a; stty size";
            stage
                .terminal_of(stage.behind(&["sh", "-c", script]), ALL)
                .end()
        },
    ),
    pipes(38, "inherited descriptors stay blocking", |stage| {
        let seen = stage.sh("\"$REC\" echo hi; grep flags /proc/$$/fdinfo/1 >after; true")?;
        let flags = stage.text("after");
        let mode = u32::from_str_radix(flags.trim_start_matches("flags:").trim(), 8).unwrap();
        Ok(format!("{seen} non-blocking: {}", mode & 0o4000 != 0))
    }),
    tty(
        39,
        "where a script ends with its terminal, what it left in the background is hung up",
        |stage| {
            let script = "\"$REC\" sh -c '(trap \"echo HUP >hup; exit\" HUP; echo left; sleep 99 & wait) & read x'";
            let mut terminal = stage.terminal(script);
            terminal.shows("left\r\n")?;
            terminal.keys("\r");
            let end = terminal.end()?;
            stage.until("the hang-up", || !stage.text("hup").is_empty())?;
            Ok(end + &stage.text("hup"))
        },
    ),
    tty(
        39,
        "a child left in the background on a terminal lives on and is heard",
        |stage| {
            stage.sh("mkfifo late")?;
            let leaves =
                "\"$REC\" sh -c '(read x <late; echo late) & echo left'; echo back; read y";
            let mut terminal = stage.terminal(leaves);
            terminal.shows("left\r\n")?;
            terminal.shows("back\r\n")?;
            let mut wakes = stage.command(&["sh", "-c", "echo >late"]).spawn().unwrap();
            let heard = terminal.shows("late\r\n")?;
            stage.wait(&mut wakes)?;
            Ok(heard)
        },
    ),
];

fn kinds(stage: &mut Stage) -> Seen {
    let look = "for f in 0 1 2; do [ -t $f ] && echo $f >>kinds; done; echo . >>kinds";
    for combination in 0..8_u8 {
        let on = [1, 2, 4].map(|bit| combination & bit != 0);
        let mut command = stage.behind(&["sh", "-c", look]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        stage.terminal_of(command, on).end()?;
    }
    Ok(stage.text("kinds"))
}

fn any_bytes(stage: &mut Stage) -> Seen {
    let bytes: Vec<u8> = (0..300_000_u32)
        .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[2])
        .collect();
    std::fs::write(stage.file("x"), bytes).unwrap();
    stage.sh("\"$REC\" sh -c 'cat x; printf err >&2' >o 2>e; cksum <o; cat e")
}

fn killed_by(stage: &mut Stage, on_terminal: bool) -> Seen {
    let mut seen = String::new();
    for signal in [1, 2, 3, 9, 13, 15] {
        let command = stage.behind(&["sh", "-c", &format!("kill -{signal} $$")]);
        seen += &if on_terminal {
            stage.terminal_of(command, ALL).end()?
        } else {
            stage.end(command)?
        };
    }
    Ok(seen)
}

fn signals(stage: &mut Stage) -> Seen {
    let mut seen = String::new();
    for (name, signal) in [
        ("HUP", Signal::HUP),
        ("INT", Signal::INT),
        ("TERM", Signal::TERM),
        ("USR1", Signal::USR1),
        ("USR2", Signal::USR2),
    ] {
        let script = format!(
            "trap 'echo got {name}; exit 3' {name}; echo ready; while :; do sleep 0.05; done"
        );
        let mut command = stage.behind(&["sh", "-c", &script]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdout.take().unwrap();
        let (done, came) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            let mut ready = [0; 6];
            std::io::Read::read_exact(&mut pipe, &mut ready).ok();
            done.send(()).ok();
            pipe
        });
        came.recv_timeout(std::time::Duration::from_secs(30))
            .map_err(|_| Fault::Hangs("it does not start".into()))?;
        let rest = stage.rest_of(reader.join().unwrap());
        kill_process(Pid::from_child(&child), signal).unwrap();
        let status = stage.wait(&mut child)?;
        seen += &format!("{}{}\n", rest()?, ending(status));
    }
    Ok(seen)
}

fn stops_and_goes(stage: &mut Stage) -> Seen {
    let mut bash = stage.bash()?;
    bash.keys("\"$REC\" cat\r");
    bash.shows("cat\r\n")?;
    bash.keys("one\r");
    bash.shows("one\r\none\r\n")?;
    bash.keys("\x1a");
    bash.shows("Stopped")?;
    bash.shows("ready> ")?;
    bash.keys("stty -a | grep -o ' icanon'\r");
    bash.shows("\r\n icanon")?;
    bash.keys("fg\r");
    bash.shows("cat\r\n")?;
    bash.keys("two\r");
    bash.shows("two\r\ntwo\r\n")?;
    bash.keys("\x04");
    bash.shows("ready> ")?;
    Ok("stopped, and went on".to_owned())
}

/// The modes of a terminal after whatever leads the command there was ended by a signal.
fn modes_after(stage: &mut Stage, signal: Signal) -> Seen {
    let script = "\"$REC\" sh -c 'echo on; exec sleep 99'; echo back; read x";
    let mut terminal = stage.terminal(script);
    let before = terminal.screen.modes();
    terminal.shows("on\r\n")?;
    let shell = terminal.screen.pid();
    let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"));
    let first = children.unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(first).unwrap(), signal).unwrap();
    terminal.shows("back")?;
    let came_back = stage.until("the modes of before", || {
        let now = terminal.screen.modes();
        now.local_modes == before.local_modes
            && now.input_modes == before.input_modes
            && now.output_modes == before.output_modes
            && now.local_modes.contains(LocalModes::ICANON)
    });
    Ok(format!("as before: {}", came_back.is_ok()))
}

fn slow_reader(stage: &mut Stage) -> Seen {
    let script = "i=0; while head -c 65536 /dev/zero; do i=$((i+1)); echo $i >count; done";
    let mut command = stage.behind(&["sh", "-c", script]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let (mut last, mut same) = (0, 0);
    let waits = stage.until("the command to wait", || {
        std::thread::sleep(std::time::Duration::from_millis(10));
        let now: u32 = stage.text("count").trim().parse().unwrap_or(0);
        same = if now == last && now > 0 { same + 1 } else { 0 };
        last = now;
        same > 30 || now > 1000
    });
    drop(child.stdout.take());
    child.kill().unwrap();
    stage.wait(&mut child)?;
    Ok(format!("waits: {}", waits.is_ok() && last < 100))
}

/// A program that draws on the whole screen, keys typed when a text is shown.
fn drawn(stage: &mut Stage, words: &[&str], wanted: &str, keys: &str) -> Seen {
    if !is_there(words[0]) {
        return Err(Fault::CannotBeTried("not installed"));
    }
    std::fs::write(stage.file("text"), "some text\n").unwrap();
    let mut command = stage.behind(words);
    command.env("TERM", "xterm");
    let mut terminal = stage.terminal_of(command, ALL);
    terminal.shows(wanted)?;
    terminal.keys(keys);
    let end = terminal.end()?;
    Ok(end.lines().next().unwrap_or_default().to_owned())
}

fn password(stage: &mut Stage) -> Seen {
    let asks = "stty -echo; printf 'Pass''word: '; read p; stty echo; echo; echo got ${#p}";
    let mut terminal = stage.terminal_of(stage.behind(&["sh", "-c", asks]), ALL);
    terminal.shows("word: ")?;
    terminal.keys("correct-horse-battery\r");
    terminal.shows("got 21")?;
    terminal.end()?;
    // Everything the stage has, the record among it.
    let folder = stage.file("");
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
    let found = std::process::Command::new("grep")
        .args(["-rlaF", "correct-horse-battery"])
        .arg(&folder)
        .output()
        .unwrap();
    Ok(format!("on disk: {}", !found.stdout.is_empty()))
}
