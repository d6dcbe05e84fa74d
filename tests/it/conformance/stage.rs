//! Where a check is done: a folder, something in front of the command, and patience.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::bench::{Bench, REC};
use crate::pty::{ALL, Screen};

/// What was to be seen.
pub(crate) type Seen = Result<String, Fault>;

/// Why nothing was to be seen.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It did not come, or did not end, in time.
    Hangs(String),
    /// What the check needs is not here.
    CannotBeTried(&'static str),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Hangs(what) => write!(f, "hangs: {what}"),
            Self::CannotBeTried(why) => write!(f, "cannot be tried: {why}"),
        }
    }
}

/// What stands in front of a command.
pub(crate) struct Runner {
    /// Its name in the documents.
    pub(crate) name: &'static str,
    /// Lines of a script that runs `"$@"` with it, its record in `$LOG`; none for a program that
    /// takes a command's words as they are.
    script: Option<&'static str>,
    program: &'static str,
    /// How long a step may take.
    patience: Duration,
}

impl Runner {
    /// Nothing: `env` becomes the command.
    pub(crate) fn bare() -> Self {
        Self {
            name: "bare",
            script: None,
            program: "/usr/bin/env",
            patience: crate::bench::DEADLINE,
        }
    }

    /// The program under test.
    pub(crate) fn rec() -> Self {
        Self {
            name: "rec",
            program: REC,
            ..Self::bare()
        }
    }

    /// Another recorder, that is given less time.
    pub(crate) fn peer(name: &'static str, script: &'static str) -> Self {
        Self {
            name,
            script: Some(script),
            program: "",
            patience: Duration::from_secs(6),
        }
    }
}

/// A folder of its own, in which processes are started that do not outlive it.
pub(crate) struct Stage {
    bench: Bench,
    program: String,
    patience: Duration,
    mark: String,
}

impl Stage {
    pub(crate) fn new(runner: &Runner) -> Self {
        let bench = Bench::new();
        let program = match runner.script {
            None => runner.program.to_owned(),
            Some(script) => {
                let path = bench.file("in-front");
                let log = bench.file("log");
                let head = format!("#!/bin/bash\nLOG=${{LOG:-{}}}\n", log.display());
                std::fs::write(&path, format!("{head}{script}\n")).unwrap();
                std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
                path.display().to_string()
            }
        };
        let mark = bench.file("stage").display().to_string();
        Self {
            bench,
            program,
            patience: runner.patience,
            mark,
        }
    }

    /// A file of the check.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.bench.file(name)
    }

    /// What a file of the check holds; nothing where there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    /// Words to run as they are, with `REC` for what stands in front.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.bench.command(words);
        command.env("REC", &self.program);
        command.env("CASEBOOK_STAGE", &self.mark);
        // Some recorders do without neither.
        command.env("HOME", self.file("").display().to_string());
        command.env("LANG", "C.UTF-8");
        command
    }

    /// Words to run with what stands in front.
    pub(crate) fn behind(&self, words: &[&str]) -> Command {
        let program = self.program.clone();
        self.command(&[&[program.as_str()], words].concat())
    }

    /// Runs a shell's script; its exit, output and errors.
    pub(crate) fn sh(&self, script: &str) -> Seen {
        self.end(self.command(&["sh", "-c", script]))
    }

    /// Runs a command to its end; its exit, output and errors.
    pub(crate) fn end(&self, mut command: Command) -> Seen {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // A recorder that fails may end its whole process group: not ours.
        command.process_group(0);
        let mut child = command.spawn().unwrap();
        let out = self.rest_of(child.stdout.take().unwrap());
        let err = self.rest_of(child.stderr.take().unwrap());
        let status = self.wait(&mut child)?;
        let seen = format!("{}\n{}\n{}", ending(status), out()?, err()?);
        // Each stage lies elsewhere.
        let folder = self.file("").display().to_string();
        Ok(seen.replace(folder.trim_end_matches('/'), "HERE"))
    }

    /// What a pipe gives until its end, read aside.
    pub(crate) fn rest_of<R: Read + Send + 'static>(
        &self,
        mut pipe: R,
    ) -> impl FnOnce() -> Result<String, Fault> + use<R> {
        let (done, came) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).ok();
            done.send(String::from_utf8_lossy(&bytes).into_owned()).ok();
        });
        let patience = self.patience;
        move || {
            came.recv_timeout(patience)
                .map_err(|_| Fault::Hangs("its output has no end".into()))
        }
    }

    /// Waits for a process's end.
    pub(crate) fn wait(&self, child: &mut Child) -> Result<ExitStatus, Fault> {
        let mut status = None;
        self.until("its end", || {
            status = child.try_wait().unwrap();
            status.is_some()
        })?;
        Ok(status.unwrap())
    }

    /// Waits until something is so.
    pub(crate) fn until(&self, what: &str, mut so: impl FnMut() -> bool) -> Result<(), Fault> {
        let began = Instant::now();
        while !so() {
            if began.elapsed() > self.patience {
                return Err(Fault::Hangs(format!("waited in vain for {what}")));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// A shell's script on a terminal.
    pub(crate) fn terminal(&self, script: &str) -> Terminal {
        self.terminal_of(self.command(&["sh", "-c", script]), ALL)
    }

    /// A command on a terminal, as far as it is to be one.
    pub(crate) fn terminal_of(&self, command: Command, on: [bool; 3]) -> Terminal {
        Terminal {
            screen: Screen::start(command, on),
            patience: self.patience,
        }
    }

    /// An interactive shell on a terminal.
    pub(crate) fn bash(&self) -> Result<Terminal, Fault> {
        let mut command = self.command(&["bash", "--norc", "--noediting", "-i"]);
        command.env("PS1", "ready> ").env("TERM", "dumb");
        let mut terminal = self.terminal_of(command, ALL);
        terminal.shows("ready> ")?;
        Ok(terminal)
    }
}

impl Drop for Stage {
    /// Ends what the check left behind: every process that carries the stage's mark.
    fn drop(&mut self) {
        let mark = format!("CASEBOOK_STAGE={}", self.mark);
        let me = std::process::id();
        // Who is starting another while we look is found in the next round.
        for _ in 0..3 {
            for entry in std::fs::read_dir("/proc").unwrap().flatten() {
                let name = entry.file_name();
                let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
                    continue;
                };
                let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
                let carries = environ
                    .split(|byte| *byte == 0)
                    .any(|item| item == mark.as_bytes());
                if carries && u32::try_from(pid) != Ok(me) {
                    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).ok();
                }
            }
        }
    }
}

/// How a process ended, as its parent sees it.
pub(crate) fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    }
}

/// A terminal with a program on it.
pub(crate) struct Terminal {
    pub(crate) screen: Screen,
    patience: Duration,
}

impl Terminal {
    /// Waits until a text shows up after the last one; what came up to its end.
    pub(crate) fn shows(&mut self, text: &str) -> Result<String, Fault> {
        self.screen
            .await_text(text, self.patience)
            .map_err(|shown| Fault::Hangs(format!("no {text:?} in {shown:?}")))
    }

    pub(crate) fn keys(&self, keys: &str) {
        self.screen.keys(keys);
    }

    /// Waits for the end; how it ended and all that was shown.
    pub(crate) fn end(&mut self) -> Seen {
        match self.screen.await_end(self.patience) {
            Ok((status, shown)) => Ok(format!("{}\n{shown}", ending(status))),
            Err(shown) => Err(Fault::Hangs(format!("no end after {shown:?}"))),
        }
    }
}
