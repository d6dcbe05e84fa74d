//! The shim: a small process between recorder and command on a pseudo-terminal.
//!
//! It leads the terminal's session, so that what the command leaves behind is not hung up when the
//! command ends; it is the command's parent in that session, so that Ctrl-Z stops the command (the
//! kernel refuses to stop a process group without such a parent); and it is the guardian that puts
//! the user's terminal back when the recorder is killed. While all is well it only waits.
//!
//! After the recorder left, it goes on forwarding and recording until nobody holds the terminal.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitOptions, WaitStatus, waitpid};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

use crate::capture::keep::{HOLD_TIME, Handover, Keeper};
use crate::capture::pty::{self, Outer};
use crate::capture::spawn::{self, Descriptors};
use crate::capture::spool::End;
use crate::capture::sys::{self, Foreground, Place, Side, SignalState, StandardFd, Taken};
use crate::event::{Exit, Stream};

/// What the recorder asks of the shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Give the inner terminal to the command.
    Foreground,
    /// Take it back: the command must ask (by being stopped) before it may read.
    Background,
    /// Let the stopped command go on.
    Continue,
    /// The recorder leaves; go on alone.
    TakeOver,
}

/// What the shim tells the recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// The command runs under this process id.
    Started(i32),
    /// It could not be started: an error of the operating system.
    Failed(i32),
    /// A signal stopped it.
    Stopped(i32),
    /// It goes on, by somebody else's doing.
    Continued,
    /// It was let go on, as asked, and owns the terminal if that was asked before.
    Resumed,
    /// It ended.
    Ended(Exit),
}

const MESSAGE_LEN: usize = 8;
/// How long a terminal may take nothing while a command is to be hung up.
const PATIENCE: rustix::event::Timespec = rustix::event::Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

impl Request {
    fn number(self) -> u8 {
        match self {
            Self::Foreground => 1,
            Self::Background => 2,
            Self::Continue => 3,
            Self::TakeOver => 4,
        }
    }

    fn from_number(number: u8) -> Option<Self> {
        [
            Self::Foreground,
            Self::Background,
            Self::Continue,
            Self::TakeOver,
        ]
        .into_iter()
        .find(|request| request.number() == number)
    }
}

impl Report {
    fn encode(self) -> [u8; MESSAGE_LEN] {
        let (kind, value) = match self {
            Self::Started(pid) => (1, pid),
            Self::Failed(error) => (2, error),
            Self::Stopped(signal) => (3, signal),
            Self::Continued => (4, 0),
            Self::Ended(Exit::Code(code)) => (5, code),
            Self::Ended(Exit::Signal(signal)) => (6, signal),
            Self::Ended(_) => (7, 0),
            Self::Resumed => (8, 0),
        };
        let mut bytes = [kind, 0, 0, 0, 0, 0, 0, 0];
        bytes[4..].copy_from_slice(&i32::to_ne_bytes(value));
        bytes
    }

    fn decode(bytes: [u8; MESSAGE_LEN]) -> Option<Self> {
        let [kind, _, _, _, value @ ..] = bytes;
        let value = i32::from_ne_bytes(value);
        Some(match kind {
            1 => Self::Started(value),
            2 => Self::Failed(value),
            3 => Self::Stopped(value),
            4 => Self::Continued,
            5 => Self::Ended(Exit::Code(value)),
            6 => Self::Ended(Exit::Signal(value)),
            7 => Self::Ended(Exit::Lost),
            8 => Self::Resumed,
            _ => return None,
        })
    }
}

/// The recorder's end of its shim.
#[derive(Debug)]
pub struct Shim {
    control: UnixStream,
    /// The shim's process id, which is also its session's and process group's.
    pub pid: i32,
}

impl Shim {
    /// Asks for something; a shim that is gone is noticed when it reports.
    pub fn ask(&mut self, request: Request) {
        let message = [request.number(), 0, 0, 0, 0, 0, 0, 0];
        self.control.write_all(&message).ok();
    }

    /// Waits for a report. None when the shim is gone.
    pub fn report(&mut self) -> Option<Report> {
        let mut message = [0; MESSAGE_LEN];
        self.control.read_exact(&mut message).ok()?;
        Report::decode(message)
    }

    /// What to poll for reports.
    pub fn poll_fd(&self) -> PollFd<'_> {
        PollFd::new(&self.control, PollFlags::IN)
    }
}

/// Everything a shim works with.
pub struct Work {
    /// The command.
    pub argv: Vec<OsString>,
    /// Its descriptors.
    pub descriptors: Descriptors,
    /// The inner terminal's ends.
    pub slave: OwnedFd,
    /// A copy of the master.
    pub master: OwnedFd,
    /// A copy of the user's terminal.
    pub outer: Outer,
    /// Signals as inherited.
    pub signals: SignalState,
    /// The command owns the inner terminal from the start.
    pub foreground: bool,
    /// The spool, to go on with.
    pub spool: Option<Handover>,
    /// When the command's clock began.
    pub began: Instant,
}

/// Starts a shim, which starts the command. Call while this process has one thread.
///
/// # Errors
/// When no process or socket can be made.
pub fn start(work: Work) -> std::io::Result<Shim> {
    let (ours, theirs) = UnixStream::pair()?;
    let recorder = i32::try_from(std::process::id()).unwrap_or(0);
    match sys::fork()? {
        Side::Parent(pid) => {
            let mut work = work;
            work.outer.forget();
            Ok(Shim { control: ours, pid })
        }
        Side::Child => {
            drop(ours);
            // Neither a panic nor a return may run the recorder's code in this process.
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                live(work, theirs, recorder);
            }))
            .ok();
            sys::leave(0)
        }
    }
}

fn live(work: Work, mut control: UnixStream, recorder: i32) {
    let Work {
        argv,
        descriptors,
        slave,
        master,
        outer,
        signals,
        foreground,
        spool,
        began,
    } = work;
    let leader = sys::leader_with_us()
        .and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?))
        .and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
    let started = (|| {
        rustix::process::setsid()?;
        rustix::process::ioctl_tiocsctty(&slave)?;
        let group = Foreground {
            terminal: slave.as_raw_fd(),
            owns: foreground,
        };
        spawn::spawn(
            &argv,
            descriptors,
            Place {
                signals,
                group: Some(group),
            },
        )
    })();
    let report = match &started {
        Ok(pid) => Report::Started(*pid),
        Err(error) => Report::Failed(error.raw_os_error().unwrap_or(libc::EIO)),
    };
    let signal_file = sys::signal_file(Taken::All);
    control.write_all(&report.encode()).ok();
    let (Ok(child), Ok(signal_file)) = (started, signal_file) else {
        return;
    };

    for fd in [StandardFd::In, StandardFd::Out, StandardFd::Err] {
        sys::let_go(fd);
    }
    let mut kept = vec![
        control.as_fd(),
        master.as_fd(),
        outer.tty().as_fd(),
        signal_file.as_fd(),
    ];
    kept.push(slave.as_fd());
    kept.extend(leader.as_ref().map(AsFd::as_fd));
    kept.extend(spool.as_ref().map(|shared| shared.file.as_fd()));
    sys::close_all_but(&kept);
    std::env::set_current_dir("/").ok();

    let mut outer = outer;
    outer.assume_raw(foreground);
    let state = State::Runs;
    let slave = Some(slave);
    let inner = None;
    Guard {
        control,
        master,
        slave,
        outer,
        signal_file,
        child,
        recorder,
        state,
        spool,
        began,
        inner,
        hurries: false,
        leader,
    }
    .watch();
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Runs,
    /// Stopped; the recorder stops itself too.
    Stopped,
    Ended(Exit),
}

struct Guard {
    control: UnixStream,
    master: OwnedFd,
    /// Held while the command lives, so that it may close the terminal and open it again.
    slave: Option<OwnedFd>,
    outer: Outer,
    signal_file: OwnedFd,
    child: i32,
    recorder: i32,
    state: State,
    spool: Option<Handover>,
    began: Instant,
    /// The inner terminal's foreground group while it is taken back.
    inner: Option<Pid>,
    /// Nobody waits for what is still shown.
    hurries: bool,
    /// The leader of the recorder's session, where the recorder was in its process group: so would be what is left
    /// behind, which the kernel hangs up when the leader ends.
    leader: Option<OwnedFd>,
}

impl Guard {
    fn watch(mut self) {
        loop {
            let mut fds = [
                PollFd::new(&self.control, PollFlags::IN),
                PollFd::new(&self.signal_file, PollFlags::IN),
            ];
            if poll(&mut fds, None).is_err() {
                continue;
            }
            let [control, signals] = fds.map(|fd| !fd.revents().is_empty());
            if signals {
                while sys::next_signal(&self.signal_file).is_some() {}
                self.reap();
            }
            if control {
                let mut message = [0; MESSAGE_LEN];
                match self.control.read_exact(&mut message) {
                    Ok(()) => match Request::from_number(message[0]) {
                        Some(Request::TakeOver) => return self.stay_behind(),
                        Some(request) => self.serve(request),
                        None => {}
                    },
                    Err(_) => return self.recorder_died(),
                }
            }
        }
    }

    fn tell(&mut self, report: Report) {
        self.control.write_all(&report.encode()).ok();
    }

    fn reap(&mut self) {
        let options = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
        while let Ok(Some((_, status))) = waitpid(Pid::from_raw(self.child), options) {
            if let Some(signal) = status.stopping_signal() {
                self.state = State::Stopped;
                self.tell(Report::Stopped(signal));
            } else if let Some(exit) = exit_of(status) {
                self.state = State::Ended(exit);
                self.slave = None;
                self.tell(Report::Ended(exit));
                return;
            } else if self.state == State::Stopped {
                // Somebody continued the command alone; the recorder must follow.
                self.state = State::Runs;
                self.tell(Report::Continued);
                sys::send_signal(self.recorder, libc::SIGCONT).ok();
            }
        }
    }

    fn serve(&mut self, request: Request) {
        match request {
            Request::Foreground => {
                let group = self.inner.take().or(Pid::from_raw(self.child));
                self.give_terminal(group);
                self.outer.assume_raw(true);
            }
            Request::Background => {
                let own = rustix::process::getpgrp();
                let inner = tcgetpgrp(&self.master).ok().filter(|group| *group != own);
                self.inner = inner.or(self.inner);
                self.give_terminal(Some(own));
                self.outer.assume_raw(false);
            }
            Request::Continue => {
                // An ended command stays ended, whatever was asked meanwhile.
                if !matches!(self.state, State::Ended(_)) {
                    self.state = State::Runs;
                    sys::send_signal(-self.child, libc::SIGCONT).ok();
                }
                self.tell(Report::Resumed);
            }
            Request::TakeOver => {}
        }
    }

    fn give_terminal(&self, group: Option<Pid>) {
        if let Some(group) = group {
            tcsetpgrp(&self.master, group).ok();
        }
    }

    /// The recorder was killed: nobody shows the command's output any more. As when a terminal
    /// emulator dies, the command is hung up.
    fn recorder_died(mut self) {
        self.hurries = true;
        // First of all: whoever started the recorder knows by now that it is gone.
        self.outer.restore_for_other();
        let mut keeper = self.keeper();
        self.drain(keeper.as_mut());
        if let Some(keeper) = &mut keeper {
            let exit = match self.state {
                State::Ended(exit) => exit,
                State::Runs | State::Stopped => Exit::Lost,
            };
            keeper.end(&End {
                exit,
                duration_us: self.elapsed_us(),
            });
        }
        // Leaving closes the master, and with it hangs up the session.
    }

    /// The recorder left: forward and record until nobody holds the terminal.
    fn stay_behind(mut self) {
        self.outer.forget();
        pty::process_output(&self.master, !self.outer.processes_output());
        let alive = !matches!(self.state, State::Ended(_));
        if !alive {
            // What is left behind is in the background now, as it would be without us.
            self.give_terminal(Some(rustix::process::getpgrp()));
        }
        let mut keeper: Option<Keeper> = None;
        let mut waiting = alive;
        let mut held = true;
        while held || waiting {
            let mut fds = vec![PollFd::new(&self.signal_file, PollFlags::IN)];
            let leader = self.leader.as_ref().filter(|_| !waiting);
            fds.extend(leader.map(|leader| PollFd::new(leader, PollFlags::IN)));
            fds.extend(held.then(|| PollFd::new(&self.master, PollFlags::IN)));
            let holds = keeper.as_ref().is_some_and(Keeper::holds);
            let Ok(count) = poll(&mut fds, holds.then_some(&HOLD_TIME)) else {
                continue;
            };
            if let (0, Some(keeper)) = (count, &mut keeper) {
                keeper.release();
            }
            let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
            let signalled = ready.next() == Some(true);
            let hung_up = leader.is_some() && ready.next() == Some(true);
            let printed = ready.next() == Some(true);
            drop(ready);
            drop(fds);
            if hung_up {
                // Leaving closes the master, and the kernel hangs up the group in front.
                self.give_terminal(Pid::from_raw(self.child));
                self.drain(keeper.as_mut());
                break;
            }
            if signalled {
                while sys::next_signal(&self.signal_file).is_some() {}
                self.reap();
            }
            if printed {
                if keeper.is_none() {
                    keeper = self.keeper();
                }
                // The user's terminal is the shell's now, and makes its own line ends.
                pty::process_output(&self.master, !self.outer.processes_output());
                held = self.drain(keeper.as_mut()) == Drained::Empty;
            }
            if waiting && let State::Ended(exit) = self.state {
                waiting = false;
                if keeper.is_none() {
                    keeper = self.keeper();
                }
                let duration_us = self.elapsed_us();
                if let Some(keeper) = &mut keeper {
                    keeper.end(&End { exit, duration_us });
                }
            }
        }
        if let Some(keeper) = &mut keeper {
            keeper.finish();
        }
    }

    fn keeper(&mut self) -> Option<Keeper> {
        Keeper::take_over(self.spool.take()?).ok()
    }

    /// Records and forwards what is there now.
    fn drain(&mut self, mut keeper: Option<&mut Keeper>) -> Drained {
        let mut buffer = [0; 16 << 10];
        loop {
            match rustix::io::read(&self.master, &mut buffer) {
                Ok(0) => return Drained::Unheld,
                Ok(count) => {
                    let bytes = buffer.get(..count).unwrap_or_default();
                    let after_us = self.elapsed_us();
                    if let Some(keeper) = &mut keeper {
                        keeper.output(Stream::Tty, after_us, bytes);
                        keeper.flush();
                    }
                    self.show(bytes);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Drained::Empty,
                Err(_) => return Drained::Unheld,
            }
        }
    }

    /// Forwards to the user's terminal while it is there.
    fn show(&self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            match rustix::io::write(self.outer.tty(), rest) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(Errno::AGAIN) => {
                    let mut fds = [PollFd::new(self.outer.tty(), PollFlags::OUT)];
                    // A terminal that takes nothing must not keep a killed recorder's command alive.
                    let patience = self.hurries.then_some(&PATIENCE);
                    if poll(&mut fds, patience) == Ok(0) {
                        return;
                    }
                }
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    fn elapsed_us(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_micros()).unwrap_or(i64::MAX)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drained {
    /// Nothing more now.
    Empty,
    /// Nobody holds the terminal.
    Unheld,
}

/// How a process ended; none if it did not.
pub fn exit_of(status: WaitStatus) -> Option<Exit> {
    status
        .exit_status()
        .map(Exit::Code)
        .or_else(|| status.terminating_signal().map(Exit::Signal))
}
