//! Pseudo-terminals, and the user's own terminal around them.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::PollFlags;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    OptionalActions, OutputModes, Termios, Winsize, tcgetattr, tcgetwinsize, tcsetattr,
    tcsetwinsize,
};

use crate::capture::modes;
use crate::capture::sink::ready;
use crate::capture::spool::Size;
use crate::capture::sys::{self, StandardFd, standard};

/// The two ends of a new pseudo-terminal.
#[derive(Debug)]
pub struct Pair {
    /// Ours; non-blocking.
    pub master: OwnedFd,
    /// The command's.
    pub slave: OwnedFd,
}

/// Opens a pseudo-terminal that looks like the user's own terminal.
///
/// # Errors
/// When the system has none left, or no `/dev/pts`.
pub fn open_like(outer: &Outer) -> Result<Pair, Errno> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    if let Some(modes) = &outer.saved {
        tcsetattr(&slave, OptionalActions::Now, modes)?;
    }
    if let Ok(size) = tcgetwinsize(&outer.tty) {
        tcsetwinsize(&slave, size)?;
    }
    rustix::fs::fcntl_setfl(&master, OFlags::RDWR | OFlags::NONBLOCK)?;
    Ok(Pair { master, slave })
}

/// The user's terminal. Restored when dropped, whichever way that comes about.
#[derive(Debug)]
pub struct Outer {
    tty: OwnedFd,
    saved: Option<Termios>,
    raw: bool,
    /// Where the modes lie on disk while it is raw.
    place: Option<modes::Place>,
}

impl Outer {
    /// The terminal behind one of our descriptors.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn behind(fd: StandardFd) -> Result<Self, Errno> {
        let path = match fd {
            StandardFd::In => "/proc/self/fd/0",
            StandardFd::Out => "/proc/self/fd/1",
            StandardFd::Err => "/proc/self/fd/2",
        };
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        // Anew, as non-blocking mode on the inherited one would show in the shell; where that is not
        // allowed (after `su`), the inherited one, which is read only when it has something.
        let tty = rustix::fs::open(path, flags, Mode::empty())
            .or_else(|_| rustix::io::fcntl_dupfd_cloexec(standard(fd), 3))?;
        let saved = tcgetattr(&tty).ok();
        Ok(Self {
            tty,
            saved,
            raw: false,
            place: None,
        })
    }

    /// Has its modes on disk while it is raw.
    pub fn keep_modes_at(&mut self, place: Option<modes::Place>) {
        self.place = place;
    }

    /// A second handle on it, which restores nothing unless told that it is raw.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn share(&self) -> Result<Self, Errno> {
        let tty = rustix::io::fcntl_dupfd_cloexec(&self.tty, 3)?;
        Ok(Self {
            tty,
            saved: self.saved.clone(),
            raw: false,
            place: self.place.clone(),
        })
    }

    /// Its descriptor.
    pub fn tty(&self) -> &OwnedFd {
        &self.tty
    }

    /// Whether keys reach us as they are typed.
    pub fn is_raw(&self) -> bool {
        self.raw
    }

    /// Whether we may change and read it: it is ours now, or nobody minds.
    pub fn is_foreground(&self) -> bool {
        match sys::is_foreground(self.tty.as_fd()) {
            Ok(ours) => ours,
            // Not our controlling terminal: no job control on it.
            Err(error) => error.raw_os_error() == Some(libc::ENOTTY),
        }
    }

    /// Whether it was closed at its other end.
    pub fn is_gone(&self) -> bool {
        ready(self.tty.as_fd(), PollFlags::empty()).intersects(PollFlags::HUP | PollFlags::ERR)
    }

    /// Hands every key on as typed, and output as it comes.
    pub fn make_raw(&mut self) {
        if let Some(place) = &self.place {
            place.keep(&self.tty);
        }
        self.switch_to_raw();
    }

    fn switch_to_raw(&mut self) {
        if let Ok(modes) = tcgetattr(&self.tty) {
            let mut raw = modes.clone();
            raw.make_raw();
            self.raw = tcsetattr(&self.tty, OptionalActions::Now, &raw).is_ok();
            self.saved = Some(modes);
        }
    }

    /// Gives another terminal the modes that this one had before it was made raw.
    pub fn copy_modes_to(&self, master: &OwnedFd) {
        if let Some(modes) = &self.saved {
            tcsetattr(master, OptionalActions::Now, modes).ok();
        }
    }

    /// Makes it raw after somebody changed it, and still restores it to what it was at first.
    pub fn make_raw_again(&mut self) {
        let saved = self.saved.take();
        self.switch_to_raw();
        self.saved = saved.or(self.saved.take());
    }

    /// Puts it back as it was.
    pub fn restore(&mut self) {
        if self.raw
            && let Some(modes) = &self.saved
        {
            tcsetattr(&self.tty, OptionalActions::Now, modes).ok();
            if let Some(place) = &self.place {
                place.forget();
            }
        }
        self.raw = false;
    }

    /// Puts it back in place of a recorder that was killed, unless somebody else has: its shell may
    /// be reading a line by now. The modes on disk are newer than those known here.
    pub fn restore_for_other(&mut self) {
        let on_disk = |tty: &OwnedFd| self.place.as_ref().is_some_and(|place| place.restore(tty));
        if !self.raw || !modes::is_raw(&self.tty) || on_disk(&self.tty) {
            self.raw = false;
        }
        self.restore();
        if let Some(place) = &self.place {
            place.forget();
        }
    }

    /// Lets go without restoring: another process does, or has.
    pub fn forget(&mut self) {
        self.raw = false;
    }

    /// Notes that another process of ours made it raw, so that this one may restore it.
    pub fn assume_raw(&mut self, raw: bool) {
        self.raw = raw;
    }

    /// Its size in characters.
    pub fn size(&self) -> Option<Size> {
        let size = self.winsize()?;
        Some(Size {
            rows: size.ws_row,
            columns: size.ws_col,
        })
    }

    /// Its size, pixels included.
    pub fn winsize(&self) -> Option<Winsize> {
        tcgetwinsize(&self.tty).ok()
    }

    /// Whether it turns line ends into carriage return and line feed by itself.
    pub fn processes_output(&self) -> bool {
        tcgetattr(&self.tty).is_ok_and(|modes| modes.output_modes.contains(OutputModes::OPOST))
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        self.restore();
    }
}

/// Turns the inner terminal's output processing on or off: exactly one of the inner and the outer
/// terminal may do it.
pub fn process_output(master: &OwnedFd, on: bool) {
    if let Ok(mut modes) = tcgetattr(master.as_fd())
        && modes.output_modes.contains(OutputModes::OPOST) != on
    {
        modes.output_modes.set(OutputModes::OPOST, on);
        tcsetattr(master.as_fd(), OptionalActions::Now, &modes).ok();
    }
}

/// Whether two descriptors lead to the same terminal.
pub fn same_terminal(a: StandardFd, b: StandardFd) -> bool {
    let device = |fd| rustix::fs::fstat(standard(fd)).map(|stat| stat.st_rdev);
    matches!((device(a), device(b)), (Ok(a), Ok(b)) if a == b)
}
