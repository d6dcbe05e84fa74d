//! The pump: moves bytes from the command to the spool and then to the user, and keys, signals and
//! sizes the other way, on one thread, until the command has ended and all it printed is through.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::termios::{LocalModes, SpecialCodeIndex, tcgetattr, tcgetpgrp, tcsetwinsize};

use crate::capture::pty::{self, Outer};
use crate::capture::shim::{Report, Request, Shim, exit_of};
use crate::capture::sink::{Health, Sink, ready};
use crate::capture::spool::{Record, Resize, StateChange};
use crate::capture::sys::{self, Signal, StandardFd};
use crate::capture::writer::Writer;
use crate::event::{Exit, Stream};

const READ_BYTES: usize = 64 << 10;
/// How long output is still drained after the command ended, when others keep printing.
const DRAIN: Duration = Duration::from_millis(50);
/// How long after its end-of-file our own copy of a descriptor is let go. At once would close
/// standard error just before we may need it, when the command merely ends.
const LINGER: Duration = Duration::from_millis(20);
/// How long a command may outlive the terminal it was started on before we leave it.
const HANGUP: Duration = Duration::from_secs(3);
/// Keys that wait for the command to read them.
const KEYS_BYTES: usize = 4096;

/// Where output comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A pipe in place of the descriptors named.
    Pipe(&'static [StandardFd]),
    /// The master of a pseudo-terminal.
    Terminal,
}

/// One stream of output, from the command to the user.
#[derive(Debug)]
pub struct Source {
    /// Our end.
    pub from: OwnedFd,
    /// What it is.
    pub kind: Kind,
    /// Its name on record.
    pub stream: Stream,
    /// Where it goes on to.
    pub sink: Sink,
    /// Nobody can write to it any more.
    pub ended: bool,
}

impl Source {
    /// Reads what is there, up to the buffer's size. Notes the end.
    pub fn read<'a>(&mut self, buffer: &'a mut [u8]) -> &'a [u8] {
        let mut filled = 0;
        while filled < buffer.len() {
            match rustix::io::read(&self.from, buffer.get_mut(filled..).unwrap_or_default()) {
                Ok(0) => self.ended = true,
                Ok(count) => {
                    filled += count;
                    // A terminal gives at most a page a time; what is already there comes along.
                    if self.kind == Kind::Terminal && count >= 2048 {
                        continue;
                    }
                }
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {}
                Err(_) => self.ended = true, // EIO: nobody holds the terminal
            }
            break;
        }
        buffer.get(..filled).unwrap_or_default()
    }

    /// Whether reading would not wait.
    pub fn is_readable(&self) -> bool {
        !self.ended && !ready(self.from.as_fd(), PollFlags::IN).is_empty()
    }

    /// Whether nothing more can come through it.
    pub fn is_done(&self) -> bool {
        let broken = matches!(self.sink.health(), Health::Broken(_));
        // A pipe whose reader is gone is closed, so that the command finds it so; a terminal that
        // is gone is read on: its command may live.
        (self.ended && !self.sink.is_waiting()) || (broken && matches!(self.kind, Kind::Pipe(_)))
    }
}

/// A command in a session of its own on a pseudo-terminal, and the user's terminal around it.
#[derive(Debug)]
pub struct Terminal {
    /// A handle on the master.
    pub master: OwnedFd,
    /// The user's terminal.
    pub outer: Outer,
    /// The command's parent.
    pub shim: Shim,
    /// The command owns the inner terminal, and we read the user's keys.
    pub foreground: bool,
    /// The inner terminal still has the modes it was opened with, taken while a shell may have been
    /// editing a line: it takes the user's when it first gets the foreground.
    pub fresh: bool,
    /// The command was asked to go on and has not yet: a key that stops it would be lost.
    pub resuming: bool,
    /// Keys not yet taken by the command.
    pub keys: Vec<u8>,
    /// The last key makes the next one ordinary (Ctrl-V).
    pub quoted: bool,
    /// Since when the user's terminal is gone.
    pub hung_up: Option<Instant>,
}

/// How the command stands to us.
#[derive(Debug)]
pub enum Command {
    /// Our child, in our process group and session: keys reach it as they reach us. Where some of
    /// its output goes to a recording terminal: that one's master, and the user's terminal.
    Beside(Option<(OwnedFd, Outer)>),
    /// In a session of its own.
    Within(Box<Terminal>),
}

/// Moves everything for one command.
pub struct Pump {
    /// The command's process id, which is its process group's where it has its own.
    pub child: i32,
    /// How it stands to us.
    pub command: Command,
    /// Its output.
    pub sources: Vec<Source>,
    /// A file that could not be written on, and why.
    pub unwritten: Option<(Stream, Errno)>,
    /// The record.
    pub writer: Writer,
    /// Where signals are read from.
    pub signals: OwnedFd,
    /// When its clock began.
    pub began: Instant,
    /// Set by a signal that comes when there is no command left to hand it to.
    pub told_to_leave: bool,
}

/// What is left when the pump is done.
pub struct Done {
    /// A file that could not be written on, and why.
    pub unwritten: Option<(Stream, Errno)>,
    /// How the command ended; [`Exit::Running`] where it outlived the user's terminal.
    pub exit: Exit,
    /// How long it ran.
    pub duration_us: i64,
    /// Output that somebody may still write.
    pub left: Vec<Source>,
    /// The record.
    pub writer: Writer,
    /// How it stood to us.
    pub command: Command,
}

/// Descriptors of ours whose pipe has ended, and when to let them go.
type Lingering = Vec<(Instant, &'static [StandardFd])>;

/// What polling found.
#[derive(Default)]
struct Ready {
    signals: bool,
    shim: bool,
    keys: bool,
    room_for_keys: bool,
    read: Vec<usize>,
    sinks: Vec<(usize, PollFlags)>,
}

#[derive(Clone, Copy)]
enum What {
    Signals,
    Shim,
    Keys,
    RoomForKeys,
    Read(usize),
    Sink(usize),
}

impl Pump {
    /// Runs until the command ended and its output is through.
    pub fn run(mut self) -> Done {
        let mut buffer = vec![0; READ_BYTES];
        let mut ended: Option<(Exit, Instant, i64)> = None;
        let mut lingering = Lingering::new();
        loop {
            // What the command printed last is seen by a poll that begins after its end is known.
            let was_ended = ended.is_some();
            let ready = self.poll(was_ended, &lingering);
            if ready.signals {
                self.take_signals(was_ended);
            }
            if ready.shim || ready.signals {
                let exit = if ready.shim {
                    self.take_report(&mut buffer)
                } else {
                    self.reap()
                };
                if let (Some(exit), None) = (exit, ended) {
                    ended = Some((exit, Instant::now(), self.after_us()));
                }
            }
            for (index, flags) in &ready.sinks {
                self.tend_sink(*index, *flags);
            }
            for index in &ready.read {
                self.pass_on(*index, &mut buffer);
            }
            self.drop_done(&mut lingering);
            if ready.keys || ready.room_for_keys {
                self.pass_keys(ready.keys, &mut buffer);
            }
            let waiting = self.sources.iter().any(|source| source.sink.is_waiting());
            match ended {
                None => {
                    let_go_due(&mut lingering);
                    if self.terminal_is_long_gone() {
                        let duration_us = self.after_us();
                        return self.done(Exit::Running, duration_us);
                    }
                }
                Some((exit, when, duration_us)) if was_ended => {
                    let drained = ready.read.is_empty() || when.elapsed() > DRAIN;
                    if (drained && !waiting) || self.told_to_leave {
                        return self.done(exit, duration_us);
                    }
                }
                Some(_) => {}
            }
        }
    }

    fn done(mut self, exit: Exit, duration_us: i64) -> Done {
        self.note_unwritten();
        let Self {
            command,
            sources: left,
            unwritten,
            writer,
            ..
        } = self;
        Done {
            unwritten,
            exit,
            duration_us,
            left,
            writer,
            command,
        }
    }

    fn after_us(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_micros()).unwrap_or(i64::MAX)
    }

    fn timeout(&self, ended: bool, lingering: &Lingering) -> Option<Duration> {
        if ended {
            let waiting = self.sources.iter().any(|source| source.sink.is_waiting());
            return (!waiting).then_some(Duration::ZERO);
        }
        let hangup = match &self.command {
            Command::Within(terminal) => terminal.hung_up.map(|when| when + HANGUP),
            Command::Beside(_) => None,
        };
        let first = lingering
            .iter()
            .map(|(when, _)| *when)
            .chain(hangup)
            .min()?;
        Some(first.saturating_duration_since(Instant::now()) + Duration::from_millis(1))
    }

    fn poll(&self, ended: bool, lingering: &Lingering) -> Ready {
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        let mut what = vec![What::Signals];
        if let Command::Within(terminal) = &self.command
            && !ended
        {
            fds.push(terminal.shim.poll_fd());
            what.push(What::Shim);
            if !terminal.keys.is_empty() {
                fds.push(PollFd::new(&terminal.master, PollFlags::OUT));
                what.push(What::RoomForKeys);
            } else if terminal.foreground && !terminal.resuming && terminal.hung_up.is_none() {
                fds.push(PollFd::new(terminal.outer.tty(), PollFlags::IN));
                what.push(What::Keys);
            }
        }
        for (index, source) in self.sources.iter().enumerate() {
            if !source.sink.is_waiting() && !source.ended {
                fds.push(PollFd::new(&source.from, PollFlags::IN));
                what.push(What::Read(index));
            }
            if let Some(fd) = source.sink.poll_fd() {
                fds.push(fd);
                what.push(What::Sink(index));
            }
        }
        let limit = self
            .timeout(ended, lingering)
            .and_then(|limit| Timespec::try_from(limit).ok());
        let mut ready = Ready::default();
        if poll(&mut fds, limit.as_ref()).is_err() {
            return ready;
        }
        for (fd, what) in fds.iter().zip(what) {
            let flags = fd.revents();
            if flags.is_empty() {
                continue;
            }
            match what {
                What::Signals => ready.signals = true,
                What::Shim => ready.shim = true,
                What::Keys => ready.keys = true,
                What::RoomForKeys => ready.room_for_keys = true,
                What::Read(index) => ready.read.push(index),
                What::Sink(index) => ready.sinks.push((index, flags)),
            }
        }
        ready
    }

    /// Reads once from a source, records, and forwards.
    fn pass_on(&mut self, index: usize, buffer: &mut [u8]) {
        let after_us = self.after_us();
        let Some(source) = self.sources.get_mut(index) else {
            return;
        };
        if let (Command::Beside(Some((master, outer))), Kind::Terminal) =
            (&self.command, source.kind)
        {
            pty::process_output(master, !outer.processes_output());
        }
        let bytes = source.read(buffer);
        if !bytes.is_empty() {
            self.writer.output(source.stream, after_us, bytes);
            source.sink.offer(bytes);
        }
    }

    /// A sink has room again, or lost its reader.
    fn tend_sink(&mut self, index: usize, flags: PollFlags) {
        let Some(source) = self.sources.get_mut(index) else {
            return;
        };
        if flags.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL) {
            source.sink.lost_reader();
        } else {
            source.sink.flush();
        }
    }

    /// Notes what could not be written for another reason than that nobody reads it any more: the
    /// command wrote into our pipe and cannot know.
    fn note_unwritten(&mut self) {
        let failed =
            self.sources
                .iter()
                .find_map(|source| match (source.kind, source.sink.health()) {
                    (Kind::Pipe(_), Health::Broken(error)) if error != Errno::PIPE => {
                        Some((source.stream, error))
                    }
                    _ => None,
                });
        self.unwritten = self.unwritten.or(failed);
    }

    fn drop_done(&mut self, lingering: &mut Lingering) {
        self.note_unwritten();
        self.sources.retain(|source| {
            let done = source.is_done();
            if let (true, Kind::Pipe(fds)) = (done, source.kind) {
                lingering.push((Instant::now() + LINGER, fds));
            }
            !done
        });
    }

    fn take_signals(&mut self, ended: bool) {
        let own = std::process::id();
        while let Some(signal) = sys::next_signal(&self.signals) {
            match signal.number {
                libc::SIGCHLD => {}
                libc::SIGWINCH => self.resize(signal),
                _ if signal.sender == own && !signal.by_kernel => {}
                libc::SIGCONT if ended => {}
                _ if ended => self.told_to_leave = true,
                _ => self.forward(signal),
            }
        }
    }

    /// Hands a signal on that was meant for the command.
    fn forward(&mut self, signal: Signal) {
        match &mut self.command {
            // A key's signal or a hang-up reached the command as it reached us.
            Command::Beside(_) if signal.by_kernel => {}
            Command::Beside(_) => {
                sys::send_signal(self.child, signal.number).ok();
            }
            Command::Within(terminal) => match signal.number {
                libc::SIGCONT => {
                    terminal.settle();
                    terminal.shim.ask(Request::Continue);
                }
                libc::SIGTTIN | libc::SIGTTOU => terminal.signal(self.child, libc::SIGTSTP),
                number => terminal.signal(self.child, number),
            },
        }
    }

    fn resize(&mut self, signal: Signal) {
        let (master, outer) = match &self.command {
            Command::Beside(Some((master, outer))) => (master, outer),
            Command::Within(terminal) => (&terminal.master, &terminal.outer),
            Command::Beside(None) => return self.forward(signal),
        };
        let before = rustix::termios::tcgetwinsize(master).ok();
        let now = outer.winsize();
        if let Some(size) = now {
            tcsetwinsize(master, size).ok();
        }
        let same = now.is_some_and(|now| {
            before.is_some_and(|before| (now.ws_row, now.ws_col) == (before.ws_row, before.ws_col))
        });
        if let (false, Some(size)) = (same, outer.size()) {
            let after_us = self.after_us();
            self.writer
                .record(Record::Resize(Resize { after_us, size }));
        }
        match &self.command {
            // It may have asked for the size before we set it.
            Command::Beside(_) => {
                sys::send_signal(self.child, libc::SIGWINCH).ok();
            }
            Command::Within(terminal) if same => terminal.signal(self.child, libc::SIGWINCH),
            Command::Within(_) => {} // the kernel told it
        }
    }

    fn reap(&mut self) -> Option<Exit> {
        match &self.command {
            Command::Beside(_) => {
                let (_, status) = waitpid(Pid::from_raw(self.child), WaitOptions::NOHANG)
                    .ok()
                    .flatten()?;
                exit_of(status)
            }
            Command::Within(_) => None,
        }
    }

    fn take_report(&mut self, buffer: &mut [u8]) -> Option<Exit> {
        let Command::Within(terminal) = &mut self.command else {
            return None;
        };
        match terminal.shim.report() {
            None => Some(Exit::Lost),
            Some(Report::Ended(exit)) => Some(exit),
            Some(Report::Stopped(signal)) => {
                self.stopped(signal, buffer);
                None
            }
            Some(Report::Continued) => {
                self.note_state(Exit::Running);
                None
            }
            Some(Report::Resumed) => {
                terminal.resuming = false;
                None
            }
            Some(Report::Started(_) | Report::Failed(_)) => None,
        }
    }

    fn note_state(&mut self, state: Exit) {
        let after_us = self.after_us();
        self.writer
            .record(Record::State(StateChange { after_us, state }));
    }

    /// The command was stopped: stop too, as the shell expects, and go on together.
    fn stopped(&mut self, signal: i32, buffer: &mut [u8]) {
        self.note_state(Exit::Stopped(signal));
        for index in 0..self.sources.len() {
            if self
                .sources
                .get(index)
                .is_some_and(|s| s.is_readable() && !s.sink.is_waiting())
            {
                self.pass_on(index, buffer);
            }
        }
        let Command::Within(terminal) = &mut self.command else {
            return;
        };
        let mut held_back = Vec::new();
        let wants_terminal = matches!(signal, libc::SIGTTIN | libc::SIGTTOU);
        if wants_terminal && !terminal.foreground && terminal.outer.is_foreground() {
            // It asked for the terminal, which the shell has given to us by now.
            terminal.enter_foreground();
        } else {
            terminal.enter_background();
            let (stopped, missed) = stop_together(signal, &self.signals);
            held_back = missed;
            if terminal.outer.is_foreground() {
                terminal.enter_foreground();
            } else if wants_terminal && !stopped {
                // Nobody could stop us (no shell above): it must not ask for ever.
                terminal.shim.ask(Request::Foreground);
            }
            if let Some(size) = terminal.outer.winsize() {
                tcsetwinsize(&terminal.master, size).ok();
            }
        }
        // What came meanwhile waits for the command as it would have without us: a signal that kills
        // it does so before it can ask for the terminal, and be stopped, again.
        let child = self.child;
        for signal in held_back {
            terminal.signal(child, signal.number);
        }
        terminal.shim.ask(Request::Continue);
        terminal.resuming = true;
        self.note_state(Exit::Running);
    }

    fn pass_keys(&mut self, read: bool, buffer: &mut [u8]) {
        let child = self.child;
        let Command::Within(terminal) = &mut self.command else {
            return;
        };
        if read {
            let room = buffer.len().min(KEYS_BYTES);
            match rustix::io::read(
                terminal.outer.tty(),
                buffer.get_mut(..room).unwrap_or_default(),
            ) {
                Ok(count) if count > 0 => {
                    terminal
                        .keys
                        .extend_from_slice(buffer.get(..count).unwrap_or_default());
                }
                Err(Errno::AGAIN | Errno::INTR) => return,
                _ if terminal.outer.is_gone() => {
                    terminal.hung_up = Some(Instant::now());
                    return;
                }
                _ => return terminal.enter_background(),
            }
        }
        match rustix::io::write(&terminal.master, &terminal.keys) {
            Ok(count) => {
                let taken: Vec<u8> = terminal.keys.drain(..count).collect();
                terminal.signal_neighbours(child, &taken);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => terminal.keys.clear(),
        }
    }

    fn terminal_is_long_gone(&self) -> bool {
        match &self.command {
            Command::Within(terminal) => {
                terminal
                    .hung_up
                    .is_some_and(|when| when.elapsed() >= HANGUP)
                    && !sys::hangup_is_ignored()
            }
            Command::Beside(_) => false,
        }
    }
}

fn let_go_due(lingering: &mut Lingering) {
    let now = Instant::now();
    lingering.retain(|(when, fds)| {
        let due = *when <= now;
        if due {
            fds.iter().for_each(|fd| sys::let_go(*fd));
        }
        !due
    });
}

/// Stops this process, and for a key's signal its group. Whether it really was stopped, and the
/// signals that came for the command meanwhile.
fn stop_together(signal: i32, signals: &OwnedFd) -> (bool, Vec<Signal>) {
    let own = std::process::id();
    match signal {
        libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => sys::stop_with(signal, 0),
        _ => {
            sys::send_signal(i32::try_from(own).unwrap_or(0), libc::SIGSTOP).ok();
        }
    }
    let mut stopped = false;
    let mut missed = Vec::new();
    while let Some(signal) = sys::next_signal(signals) {
        match signal.number {
            libc::SIGCONT => stopped = true,
            libc::SIGCHLD | libc::SIGWINCH => {}
            _ if signal.sender == own && !signal.by_kernel => {}
            _ => missed.push(signal),
        }
    }
    (stopped, missed)
}

impl Terminal {
    /// Takes the user's terminal for the command.
    pub fn enter_foreground(&mut self) {
        self.outer.make_raw();
        if std::mem::take(&mut self.fresh) {
            self.outer.copy_modes_to(&self.master);
        }
        pty::process_output(&self.master, true);
        self.shim.ask(Request::Foreground);
        self.foreground = true;
    }

    /// Gives the user's terminal back; the command has to ask before it may read.
    pub fn enter_background(&mut self) {
        self.shim.ask(Request::Background);
        self.outer.restore();
        pty::process_output(&self.master, false);
        self.foreground = false;
    }

    /// After we were stopped by somebody else and go on: takes the terminal again, or leaves it.
    fn settle(&mut self) {
        if self.outer.is_gone() {
            return; // a hang-up comes with a SIGCONT of its own
        }
        match (self.foreground, self.outer.is_foreground()) {
            (true, true) => self.outer.make_raw_again(),
            (true, false) => {
                self.outer.forget();
                self.enter_background();
            }
            (false, _) => {}
        }
    }

    /// The process group that keys would reach.
    fn target(&self, child: i32) -> i32 {
        tcgetpgrp(&self.master)
            .map(Pid::as_raw_pid)
            .ok()
            .filter(|group| *group != self.shim.pid && *group > 1)
            .unwrap_or(child)
    }

    fn signal(&self, child: i32, number: i32) {
        let target = self.target(child);
        if let Err(error) = sys::send_signal(-target, number) {
            let refused = error.kind() == std::io::ErrorKind::PermissionDenied;
            if refused && sys::signal_through_terminal(&self.master, number).is_ok() {
                return;
            }
            sys::send_signal(-child, number).ok();
        }
    }

    /// Ctrl-C and Ctrl-\ reach every process of a foreground group; those of ours that are not the
    /// command (a script that runs us) get theirs from here.
    fn signal_neighbours(&mut self, child: i32, keys: &[u8]) {
        if !keys.iter().any(|key| *key < 0x20 || *key == 0x7f) && !self.quoted {
            return;
        }
        let Ok(modes) = tcgetattr(&self.master) else {
            return;
        };
        let code = |index| modes.special_codes[index];
        for key in keys {
            if std::mem::take(&mut self.quoted) {
                continue;
            }
            let next = code(SpecialCodeIndex::VLNEXT);
            self.quoted = *key == next
                && next != 0
                && modes
                    .local_modes
                    .contains(LocalModes::ICANON | LocalModes::IEXTEN);
            let signal = match *key {
                0 => continue,
                key if key == code(SpecialCodeIndex::VINTR) => libc::SIGINT,
                key if key == code(SpecialCodeIndex::VQUIT) => libc::SIGQUIT,
                _ => continue,
            };
            if modes.local_modes.contains(LocalModes::ISIG) && self.target(child) == child {
                sys::send_signal(0, signal).ok();
            }
        }
    }
}
