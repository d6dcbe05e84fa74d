//! A terminal for tests: a pseudo-terminal with a program on it, read until something shows up.
#![expect(
    unsafe_code,
    reason = "a new session needs a hook between fork and exec"
)]

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::bench::DEADLINE;

/// A terminal and the program that leads the session on it.
pub(crate) struct Screen {
    master: OwnedFd,
    slave: OwnedFd,
    child: Child,
    /// Everything shown so far.
    pub(crate) seen: Vec<u8>,
    read: usize,
}

/// Which of descriptors 0, 1 and 2 are the terminal; the others stay as the command has them.
pub(crate) const ALL: [bool; 3] = [true, true, true];

impl Screen {
    /// Starts a program on a new terminal of 30 rows and 90 columns.
    pub(crate) fn start(mut command: Command, on: [bool; 3]) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let slave = ioctl_tiocgptpeer(&master, flags).unwrap();
        tcsetwinsize(&master, winsize(30, 90)).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        if on[0] {
            command.stdin(end());
        }
        if on[1] {
            command.stdout(end());
        }
        if on[2] {
            command.stderr(end());
        }
        let ours = slave.try_clone().unwrap();
        // SAFETY: the hook makes two system calls on a descriptor that is open in the child.
        unsafe {
            command.pre_exec(move || {
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(&ours)?;
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        Self {
            master,
            slave,
            child,
            seen: Vec::new(),
            read: 0,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn keys(&self, keys: &str) {
        let mut rest = keys.as_bytes();
        while !rest.is_empty() {
            let count = rustix::io::write(&self.master, rest).unwrap();
            rest = &rest[count..];
        }
    }

    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        tcsetwinsize(&self.master, winsize(rows, columns)).unwrap();
    }

    pub(crate) fn modes(&self) -> Termios {
        tcgetattr(&self.slave).unwrap()
    }

    /// Reads until this text shows up after what was waited for before; gives all up to its end.
    pub(crate) fn until(&mut self, text: &str) -> String {
        self.await_text(text, DEADLINE)
            .unwrap_or_else(|shown| panic!("no {text:?} in {shown:?}"))
    }

    /// The same for so long; else what was shown instead.
    pub(crate) fn await_text(&mut self, text: &str, patience: Duration) -> Result<String, String> {
        let began = Instant::now();
        loop {
            let fresh = &self.seen[self.read..];
            let found = fresh
                .windows(text.len())
                .position(|window| window == text.as_bytes());
            if let Some(at) = found {
                let end = self.read + at + text.len();
                let shown = String::from_utf8_lossy(&self.seen[self.read..end]).into_owned();
                self.read = end;
                return Ok(shown);
            }
            if began.elapsed() > patience {
                return Err(String::from_utf8_lossy(fresh).into_owned());
            }
            self.fetch(Duration::from_millis(50));
        }
    }

    fn fetch(&mut self, patience: Duration) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(self.master.as_fd(), PollFlags::IN)];
        let limit = Timespec::try_from(patience).unwrap();
        if poll(&mut fds, Some(&limit)).unwrap_or(0) == 0 {
            return false;
        }
        let mut buffer = [0; 65_536];
        let count = rustix::io::read(&self.master, &mut buffer).unwrap_or(0);
        self.seen.extend_from_slice(&buffer[..count]);
        count > 0
    }

    /// Reads what is there now, or comes within a moment; whether there was anything.
    pub(crate) fn look(&mut self) -> bool {
        self.fetch(Duration::from_millis(1))
    }

    /// Waits for the program, then gives how it ended and all that was shown.
    pub(crate) fn end(&mut self) -> (ExitStatus, String) {
        self.await_end(DEADLINE)
            .unwrap_or_else(|shown| panic!("does not end; showed {shown:?}"))
    }

    /// The same for so long; else what was shown.
    pub(crate) fn await_end(&mut self, patience: Duration) -> Result<(ExitStatus, String), String> {
        let began = Instant::now();
        let status = loop {
            self.fetch(Duration::from_millis(5));
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if began.elapsed() > patience {
                return Err(String::from_utf8_lossy(&self.seen).into_owned());
            }
        };
        while self.fetch(Duration::ZERO) {}
        Ok((status, String::from_utf8_lossy(&self.seen).into_owned()))
    }

    /// Closes the terminal under the program.
    pub(crate) fn hang_up(self) -> Child {
        self.child
    }
}

fn winsize(rows: u16, columns: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}
