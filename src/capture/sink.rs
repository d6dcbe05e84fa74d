//! Where output goes on to: one of our own descriptors, written without ever blocking the pump.
//!
//! Inherited descriptors keep their mode (it is shared with the shell that started us), so a pipe or
//! terminal is opened anew through `/proc/self/fd`, non-blocking; a file never blocks and is written
//! as it is.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat};
use rustix::io::Errno;

use crate::capture::sys::{StandardFd, standard};

/// What a pipe takes at once when it says that it takes something.
const PIECE_BYTES: usize = 4096;

#[derive(Debug)]
enum Way {
    /// Opened anew, non-blocking.
    Anew(OwnedFd),
    /// A file or a device that does not block.
    AsItIs(StandardFd),
    /// Could not be opened anew: asked before each small piece.
    Asking(StandardFd),
}

/// Whether a sink still takes bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It does.
    Open,
    /// Nobody reads it any more, or it cannot be written.
    Broken(Errno),
}

/// One place output goes on to, with what it has not taken yet.
#[derive(Debug)]
pub struct Sink {
    way: Way,
    pending: Vec<u8>,
    sent: usize,
    health: Health,
    /// It can lose its reader, and polling tells.
    watched: bool,
}

impl Sink {
    /// A sink over one of our descriptors.
    pub fn to(fd: StandardFd) -> Self {
        let borrowed = standard(fd);
        let kind = fstat(borrowed).map(|stat| FileType::from_raw_mode(stat.st_mode));
        let terminal = rustix::termios::isatty(borrowed);
        let may_block = terminal || matches!(kind, Ok(FileType::Fifo | FileType::Socket) | Err(_));
        let way = if !may_block {
            Way::AsItIs(fd)
        } else if kind == Ok(FileType::Socket) {
            Way::Asking(fd)
        } else {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            let path = match fd {
                StandardFd::In => "/proc/self/fd/0",
                StandardFd::Out => "/proc/self/fd/1",
                StandardFd::Err => "/proc/self/fd/2",
            };
            rustix::fs::open(path, flags, Mode::empty()).map_or(Way::Asking(fd), Way::Anew)
        };
        Self {
            way,
            pending: Vec::new(),
            sent: 0,
            health: Health::Open,
            watched: may_block,
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match &self.way {
            Way::Anew(fd) => fd.as_fd(),
            Way::AsItIs(fd) | Way::Asking(fd) => standard(*fd),
        }
    }

    /// Gives bytes on; what is not taken at once waits.
    pub fn offer(&mut self, bytes: &[u8]) {
        if self.health != Health::Open {
            return;
        }
        let taken = if self.is_waiting() {
            0
        } else {
            self.write(bytes)
        };
        if self.health == Health::Open && taken < bytes.len() {
            self.pending
                .extend_from_slice(bytes.get(taken..).unwrap_or_default());
        }
    }

    /// Tries again with what waits.
    pub fn flush(&mut self) {
        if self.is_waiting() {
            let pending = std::mem::take(&mut self.pending);
            self.sent += self.write(pending.get(self.sent..).unwrap_or_default());
            self.pending = pending;
        }
        if self.sent >= self.pending.len() || self.health != Health::Open {
            self.pending.clear();
            self.sent = 0;
        }
    }

    /// Whether bytes wait to be taken: then nothing more should be read for this sink.
    pub fn is_waiting(&self) -> bool {
        self.sent < self.pending.len()
    }

    /// Whether it still takes bytes.
    pub fn health(&self) -> Health {
        self.health
    }

    /// Notes that its reader is gone.
    pub fn lost_reader(&mut self) {
        self.health = Health::Broken(Errno::PIPE);
        self.flush();
    }

    /// Whether its reader is gone, asked just now.
    pub fn has_lost_reader(&self) -> bool {
        let gone = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
        self.watched && ready(self.fd(), PollFlags::empty()).intersects(gone)
    }

    /// The descriptor of ours that it writes to, where it has none of its own.
    pub fn standard(&self) -> Option<StandardFd> {
        match &self.way {
            Way::Anew(_) => None,
            Way::AsItIs(fd) | Way::Asking(fd) => Some(*fd),
        }
    }

    /// Its own descriptor, where it has one.
    pub fn own_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.way {
            Way::Anew(fd) => Some(fd.as_fd()),
            Way::AsItIs(_) | Way::Asking(_) => None,
        }
    }

    /// What to poll: room for what waits, or only whether the reader is still there.
    pub fn poll_fd(&self) -> Option<PollFd<'_>> {
        let events = if self.is_waiting() {
            PollFlags::OUT
        } else {
            PollFlags::empty()
        };
        let wanted = self.health == Health::Open && (self.watched || self.is_waiting());
        wanted.then(|| PollFd::from_borrowed_fd(self.fd(), events))
    }

    fn write(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while taken < bytes.len() {
            let rest = bytes.get(taken..).unwrap_or_default();
            let piece = match self.way {
                Way::Asking(_) if ready(self.fd(), PollFlags::OUT).is_empty() => break,
                Way::Asking(_) => rest.get(..PIECE_BYTES).unwrap_or(rest),
                Way::Anew(_) | Way::AsItIs(_) => rest,
            };
            match rustix::io::write(self.fd(), piece) {
                Ok(0) | Err(Errno::AGAIN) => break,
                Ok(count) => taken += count,
                Err(Errno::INTR) => {}
                Err(error) => {
                    self.health = Health::Broken(error);
                    break;
                }
            }
        }
        taken
    }
}

/// What a descriptor is ready for just now.
pub fn ready(fd: BorrowedFd<'_>, events: PollFlags) -> PollFlags {
    let mut fds = [PollFd::from_borrowed_fd(fd, events)];
    match poll(
        &mut fds,
        Some(&Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        }),
    ) {
        Ok(1..) => fds[0].revents(),
        _ => PollFlags::empty(),
    }
}
