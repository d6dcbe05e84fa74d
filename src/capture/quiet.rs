//! Records a command in-process, on pipes, without showing its output: for `rec demo`.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use thiserror::Error;

use crate::capture::home::Home;
use crate::capture::keep::{Cap, Keeper};
use crate::capture::run::{line_of, this_process, user_name};
use crate::capture::spool::{End, Start, spool_path};
use crate::capture::sys;
use crate::event::{Exit, Stream, Terminals};
use crate::id::{CommandId, SessionId};
use crate::time::Micros;

/// A command to record without showing it.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Where.
    pub home: Home,
    /// In which session; its number there must have been taken.
    pub session: SessionId,
    /// Its number.
    pub number: u32,
    /// The line to show for it; none for the words joined.
    pub line: Option<String>,
    /// The words.
    pub argv: Vec<OsString>,
    /// The working directory; none for ours.
    pub cwd: Option<PathBuf>,
    /// Variables set for it on top of ours.
    pub env: Vec<(OsString, OsString)>,
}

/// A command was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// Which.
    pub command: CommandId,
    /// How it ended.
    pub exit: Exit,
}

/// It could not be recorded, or not be run.
#[derive(Debug, Error)]
pub enum CannotRecord {
    /// The record could not be begun.
    #[error("cannot write {}: {}", path.display(), crate::capture::sys::words(source))]
    Spool {
        /// The spool.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The command could not be run.
    #[error("cannot run `{line}`: {}", crate::capture::sys::words(source))]
    Run {
        /// The command line.
        line: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Runs a command to its end, its output going to its spool alone; its input is empty.
///
/// # Errors
/// When the spool cannot be made or the command not be started.
pub fn record(recording: &Recording) -> Result<Recorded, CannotRecord> {
    let command = CommandId::new();
    let line = recording
        .line
        .clone()
        .unwrap_or_else(|| line_of(&recording.argv));
    let cwd = recording
        .cwd
        .clone()
        .or_else(|| std::env::current_dir().ok());
    let start = Start {
        command,
        session: recording.session,
        automatic: false,
        number: recording.number,
        line: line.clone(),
        argv: recording
            .argv
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        cwd: cwd.map(|path| path.to_string_lossy().into_owned()),
        host: sys::host_name(),
        user: user_name(),
        terminals: Terminals {
            stdin: false,
            stdout: false,
            stderr: false,
        },
        at: Micros::now(),
        parent: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        recorder: this_process(),
        size: None,
    };
    let path = spool_path(&recording.home, command);
    let mut keeper = Keeper::create(&path, start, Cap::default())
        .map_err(|source| CannotRecord::Spool { path, source })?;
    let began = Instant::now();
    let after_us = || i64::try_from(began.elapsed().as_micros()).unwrap_or(i64::MAX);
    let exit = match run(recording, |stream, bytes| {
        keeper.output(stream, after_us(), bytes);
        keeper.flush();
    }) {
        Ok(exit) => exit,
        Err(source) => {
            keeper.end(&End {
                exit: Exit::Code(127),
                duration_us: after_us(),
            });
            return Err(CannotRecord::Run { line, source });
        }
    };
    keeper.end(&End {
        exit,
        duration_us: after_us(),
    });
    Ok(Recorded { command, exit })
}

fn run(recording: &Recording, mut keep: impl FnMut(Stream, &[u8])) -> io::Result<Exit> {
    let (program, args) = recording
        .argv
        .split_first()
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let (out, to_out) = pipe_with(PipeFlags::CLOEXEC)?;
    let (err, to_err) = pipe_with(PipeFlags::CLOEXEC)?;
    let mut command = std::process::Command::new(program);
    command
        .args(args)
        .envs(recording.env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(to_out).stderr(to_err);
    if let Some(cwd) = &recording.cwd {
        command.current_dir(cwd);
    }
    let mut child = command.spawn()?;
    drop(command); // it holds the pipes' other ends
    let mut open = vec![(Stream::Stdout, out), (Stream::Stderr, err)];
    let mut buffer = vec![0; 64 << 10];
    // To the end of the pipes, not of the child: a demo waits for what it left behind as well.
    while !open.is_empty() {
        let mut fds: Vec<_> = open
            .iter()
            .map(|(_, fd)| PollFd::new(fd, PollFlags::IN))
            .collect();
        if poll(&mut fds, None).is_err() {
            continue;
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        let mut ready = ready.into_iter();
        open.retain(|(stream, fd)| {
            if ready.next() != Some(true) {
                return true;
            }
            let count = rustix::io::read(fd, &mut buffer).unwrap_or(0);
            keep(*stream, buffer.get(..count).unwrap_or_default());
            count > 0
        });
    }
    let status = child.wait()?;
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    Ok(signal.map_or_else(|| Exit::Code(status.code().unwrap_or(0)), Exit::Signal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::spool::{Record, read_spool};

    #[test]
    fn output_goes_to_the_spool_alone() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        home.prepare().unwrap();
        let recorded = record(&Recording {
            home: home.clone(),
            session: SessionId::new(),
            number: 1,
            line: Some("./launch".into()),
            argv: ["sh", "-c", "echo $A; echo e >&2; exit 3"]
                .map(OsString::from)
                .to_vec(),
            cwd: None,
            env: vec![("A".into(), "o".into())],
        })
        .unwrap();
        assert_eq!(recorded.exit, Exit::Code(3));
        let read = read_spool(&spool_path(&home, recorded.command), 0).unwrap();
        let outputs: Vec<_> = read
            .records
            .iter()
            .filter_map(|(_, record)| match record {
                Record::Output(output) => Some((output.stream, output.bytes.as_slice())),
                _ => None,
            })
            .collect();
        assert!(outputs.contains(&(Stream::Stdout, &b"o\n"[..])));
        assert!(outputs.contains(&(Stream::Stderr, &b"e\n"[..])));
    }
}
