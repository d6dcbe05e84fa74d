//! A place to try the recorder: a home of its own, a cleared environment, and the same command bare
//! and recorded.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use casebook::capture::home::Home;
use casebook::capture::spool::{self, Record, SpoolRead, Start, list_spools, read_spool};
use casebook::event::{Exit, Stream};
use serde_json::Value;

/// Nothing here takes this long unless it hangs.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);

/// The program under test.
pub(crate) const REC: &str = env!("CARGO_BIN_EXE_rec");

/// A temporary home.
pub(crate) struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// The same in memory, where no disk makes anybody wait.
    pub(crate) fn in_memory() -> Self {
        match tempfile::tempdir_in("/dev/shm") {
            Ok(dir) => Self { dir },
            Err(_) => Self::new(),
        }
    }

    pub(crate) fn home(&self) -> Home {
        Home::at(self.dir.path().join("home"))
    }

    /// A path for a file of the test.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A command in the cleared environment; `REC` stands for the recorder in scripts.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        self.clear(&mut command);
        command
    }

    /// The same, recorded.
    pub(crate) fn recorded(&self, words: &[&str]) -> Command {
        let mut command = Command::new(REC);
        command.args(words);
        self.clear(&mut command);
        command
    }

    /// A line of a shell that runs the program under test as `"$0"`.
    pub(crate) fn recorded_by(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line, REC]);
        self.clear(&mut command);
        command
    }

    fn clear(&self, command: &mut Command) {
        command.env_clear();
        command.env(
            "PATH",
            std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/bin")),
        );
        command.env("REC_HOME", self.home().path());
        command.env("REC", REC);
        command.current_dir(self.dir.path());
        command.stdin(Stdio::null());
    }

    /// Runs a shell script.
    pub(crate) fn sh(&self, script: &str) -> Output {
        finish(self.command(&["sh", "-c", script]))
    }

    /// Runs a script in a recorded shell.
    pub(crate) fn rec_sh(&self, script: &str) -> Output {
        finish(self.recorded(&["sh", "-c", script]))
    }

    /// What a verb of ours says; it must end with 0.
    pub(crate) fn say(&self, words: &[&str]) -> String {
        let output = finish(self.recorded(words));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "rec {words:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same, as JSON.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.say(words)).unwrap()
    }

    /// How a verb of ours ends when it fails: its exit code and its words.
    pub(crate) fn fails(&self, words: &[&str]) -> (Option<i32>, String) {
        let output = finish(self.recorded(words));
        let stderr = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), stderr)
    }

    /// Takes a case file in; its session.
    pub(crate) fn import(&self, path: &Path) -> String {
        let said = self.say(&["import", &path.display().to_string()]);
        said.split_whitespace().last().unwrap().to_owned()
    }

    /// Everything on record, oldest command first.
    pub(crate) fn records(&self) -> Vec<SpoolRead> {
        let mut reads: Vec<SpoolRead> = list_spools(&self.home())
            .unwrap()
            .into_iter()
            .map(|(_, path)| read_spool(&path, 0).unwrap())
            .collect();
        reads.sort_by_key(|read| start_of(read).number);
        reads
    }

    /// The only command on record.
    pub(crate) fn record(&self) -> SpoolRead {
        let mut reads = self.records();
        assert_eq!(reads.len(), 1);
        reads.remove(0)
    }
}

/// Runs to the end, with a deadline; output captured.
pub(crate) fn finish(mut command: Command) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let pid = child.id();
    let (done, waits) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(child.wait_with_output()));
    waits
        .recv_timeout(DEADLINE)
        .unwrap_or_else(|_| panic!("process {pid} ({command:?}) does not end"))
        .unwrap()
}

/// Recording works, and says nothing about what else does not.
pub(crate) fn still_records(bench: &Bench) {
    let before = list_spools(&bench.home()).unwrap().len();
    let output = finish(bench.recorded(&["echo", "still"]));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"still\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(list_spools(&bench.home()).unwrap().len(), before + 1);
}

/// Waits for a process, with a deadline.
pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    let mut status = None;
    until("the process ends", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

/// Waits until something is so, with a deadline.
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < DEADLINE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn start_of(read: &SpoolRead) -> &Start {
    match &read.records.first().unwrap().1 {
        Record::Start(start) => start,
        other => panic!("begins with {other:?}"),
    }
}

pub(crate) fn output_of(read: &SpoolRead, stream: Stream) -> Vec<u8> {
    read.records
        .iter()
        .filter_map(|(_, record)| match record {
            Record::Output(output) if output.stream == stream => Some(output.bytes.as_slice()),
            _ => None,
        })
        .flatten()
        .copied()
        .collect()
}

pub(crate) fn exit_of(read: &SpoolRead) -> Option<Exit> {
    read.records.iter().find_map(|(_, record)| match record {
        Record::End(spool::End { exit, .. }) => Some(*exit),
        _ => None,
    })
}

/// Whether a process is there and is no zombie.
pub(crate) fn lives(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit(") ")
            .next()
            .unwrap_or_default()
            .starts_with('Z')
    })
}
