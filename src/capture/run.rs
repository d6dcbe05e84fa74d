//! One recorded command, from the words of its command line to its end.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::pipe::{PipeFlags, pipe_with};
use thiserror::Error;

use crate::capture::home::{self, Home};
use crate::capture::keep::{Cap, Keeper};
use crate::capture::modes;
use crate::capture::pty::{self, Outer, Pair};
use crate::capture::pump::{Command, Done, Kind, Pump, Source, Terminal};
use crate::capture::relay;
use crate::capture::session::{self, SessionError, Wish};
use crate::capture::shim::{self, Report, Request};
use crate::capture::sink::Sink;
use crate::capture::spawn::{self, CannotStart, Descriptors};
use crate::capture::spool::{self, End, Recorder, Size, Start, spool_path};
use crate::capture::sys::{self, Place, StandardFd, Taken, standard};
use crate::capture::writer::Writer;
use crate::event::{Exit, Stream, Terminals};
use crate::id::{CommandId, SessionId};
use crate::shell;
use crate::time::Micros;

/// What stands before the program on the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The session asked for.
    pub session: Option<String>,
    /// How much of the output is kept.
    pub cap: Cap,
}

/// `rec` itself failed before the command was started.
#[derive(Debug, Error)]
pub enum CannotRun {
    /// The session asked for cannot be had.
    #[error(transparent)]
    Session(SessionError),
    /// The system gave us no descriptors or processes.
    #[error("cannot start anything: {}", sys::words(.0))]
    System(#[from] io::Error),
}

/// Where a command is recorded.
struct Recording {
    home: Home,
    session: SessionId,
    keeper: Keeper,
    modes: modes::Place,
}

/// Runs and records a command; `tell` gets what a person should know, a line at a time.
///
/// Returns how the command ended, for the caller to end likewise ([`sys::die_by`] for a signal).
///
/// # Errors
/// When nothing was started.
pub fn record(
    options: &Options,
    argv: &[OsString],
    tell: &dyn Fn(&str),
) -> Result<Exit, CannotRun> {
    sys::hide_arguments();
    let terminals = Terminals {
        stdin: is_terminal(StandardFd::In),
        stdout: is_terminal(StandardFd::Out),
        stderr: is_terminal(StandardFd::Err),
    };
    let recording = match begin(options, argv, terminals, tell) {
        Ok(recording) => Some(recording),
        Err(Trouble::Asked(error)) => return Err(CannotRun::Session(error)),
        Err(Trouble::Recording(why)) => {
            tell(&format!("not recorded: {why}"));
            None
        }
    };
    let place = recording.as_ref().map(|it| (it.home.clone(), it.session));
    let (keeper, modes) = recording.map(|it| (it.keeper, it.modes)).unzip();
    let began = Instant::now();

    let started = if terminals.stdin
        && terminals.stdout
        && pty::same_terminal(StandardFd::In, StandardFd::Out)
    {
        start_within(argv, terminals, keeper, modes, began)
    } else {
        start_beside(argv, terminals, keeper, began)
    };
    let exit = match started? {
        Started::Runs(pump) => {
            sys::close_inherited();
            conclude(pump.run(), began, tell)
        }
        Started::Not(error, keeper) => {
            tell(&error.to_string());
            if let Some(mut keeper) = keeper {
                let stream = if terminals.stderr {
                    Stream::Tty
                } else {
                    Stream::Stderr
                };
                keeper.output(stream, 0, format!("rec: {error}\n").as_bytes());
                keeper.end(&End {
                    exit: Exit::Code(error.code),
                    duration_us: 0,
                });
            }
            Exit::Code(error.code)
        }
    };
    if let Some((home, session)) = place {
        session::touch(&home, session, Micros::now()).ok();
    }
    Ok(exit)
}

/// Ends the record, gives the terminal back, and leaves what stays behind to others.
fn conclude(done: Done, began: Instant, tell: &dyn Fn(&str)) -> Exit {
    let Done {
        unwritten,
        exit,
        duration_us,
        left,
        writer,
        command,
    } = done;
    let mut command = command;
    if let Command::Within(terminal) = &mut command {
        terminal.outer.restore();
        // From here on the user's terminal makes the line ends of what is left behind.
        pty::process_output(&terminal.master, !terminal.outer.processes_output());
    }
    let goes_on = exit == Exit::Running;
    let end = End { exit, duration_us };
    let outcome = writer.finish((!goes_on).then_some(&end));
    if let Some(trouble) = outcome.trouble {
        tell(&format!("not all of it is recorded: {trouble}"));
    }
    let left: Vec<Source> = match command {
        Command::Within(mut terminal) => {
            terminal.shim.ask(Request::TakeOver);
            left.into_iter()
                .filter(|source| source.kind != Kind::Terminal)
                .collect()
        }
        Command::Beside(_) => left,
    };
    relay::leave_behind(left, outcome.spool, began);
    if let Some((stream, error)) = unwritten {
        let reason = sys::words(&io::Error::from(error));
        tell(&format!(
            "standard {} could not be written ({reason}): what is missing there is on record",
            if stream == Stream::Stderr {
                "error"
            } else {
                "output"
            },
        ));
    }
    match exit {
        _ if goes_on => Exit::Signal(libc::SIGHUP),
        // It wrote into our pipe, and could not know; by itself it would have failed.
        Exit::Code(0) | Exit::Signal(libc::SIGPIPE) if unwritten.is_some() => Exit::Code(1),
        exit => exit,
    }
}

enum Trouble {
    /// What a person asked for by option cannot be had.
    Asked(SessionError),
    /// Nothing can be recorded, for this reason.
    Recording(String),
}

impl From<home::HomeError> for Trouble {
    fn from(error: home::HomeError) -> Self {
        Self::Recording(error.to_string())
    }
}

/// Settles session and number, and puts the command's beginning on record.
fn begin(
    options: &Options,
    argv: &[OsString],
    terminals: Terminals,
    tell: &dyn Fn(&str),
) -> Result<Recording, Trouble> {
    let home = Home::find()?;
    home.prepare()?;
    if terminals.stdin && modes::mend(&home) {
        tell(modes::MENDED);
    }
    let wish = Wish::from_environment(options.session.clone());
    let chosen =
        session::open_for_command(&home, &wish, Micros::now()).map_err(|error| match error {
            SessionError::NotThere { .. } | SessionError::Ambiguous { .. } => Trouble::Asked(error),
            other => Trouble::Recording(other.to_string()),
        })?;
    if let Some(warning) = &chosen.warning {
        tell(warning);
    }
    let command = CommandId::new();
    let parent = std::env::var("REC_PARENT")
        .ok()
        .and_then(|text| text.parse().ok());
    let start = Start {
        command,
        session: chosen.session,
        automatic: chosen.automatic,
        number: chosen.number,
        line: line_of(argv),
        argv: argv
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        cwd: std::env::current_dir()
            .ok()
            .map(|path| path.to_string_lossy().into_owned()),
        host: sys::host_name(),
        user: user_name(),
        terminals,
        at: chosen.at,
        parent,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        recorder: this_process(),
        size: terminal_size(terminals),
    };
    let modes = modes::Place::new(&home, start.recorder.clone());
    let path = spool_path(&home, command);
    let keeper = Keeper::create(&path, start, options.cap).map_err(|error| {
        session::give_back(&home, &chosen);
        Trouble::Recording(format!("{}: {}", path.display(), sys::words(&error)))
    })?;
    sys::set_variable("REC_SESSION", chosen.session.to_string());
    sys::set_variable("REC_PARENT", command.to_string());
    Ok(Recording {
        home,
        session: chosen.session,
        keeper,
        modes,
    })
}

/// This process, so that a reader of the spool can tell whether it still lives.
pub fn this_process() -> Recorder {
    let pid = std::process::id();
    let start_ticks = spool::process_start_ticks(pid).unwrap_or(0);
    Recorder {
        pid,
        boot: spool::boot_id(),
        start_ticks,
    }
}

/// Who runs this: by the environment, which knows people behind shared accounts, or by id.
pub fn user_name() -> Option<String> {
    ["USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .or_else(|| home::passwd_entry(rustix::process::getuid().as_raw()).map(|entry| entry.name))
}

/// The command line as it would be typed: words joined, quoted where a shell needs it.
pub fn line_of(argv: &[OsString]) -> String {
    let words: Vec<String> = argv
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    shell::quote::join(&words)
}

fn is_terminal(fd: StandardFd) -> bool {
    !sys::was_closed(fd as i32) && rustix::termios::isatty(standard(fd))
}

fn terminal_size(terminals: Terminals) -> Option<Size> {
    let fd = match terminals {
        Terminals { stdout: true, .. } => StandardFd::Out,
        Terminals { stderr: true, .. } => StandardFd::Err,
        Terminals { stdin: true, .. } => StandardFd::In,
        _ => return None,
    };
    let size = rustix::termios::tcgetwinsize(standard(fd)).ok()?;
    Some(Size {
        rows: size.ws_row,
        columns: size.ws_col,
    })
}

enum Started {
    Runs(Box<Pump>),
    Not(CannotStart, Option<Box<Keeper>>),
}

/// Pipes for those of descriptors 1 and 2 that are not terminals.
fn pipes(terminals: Terminals, descriptors: &mut Descriptors) -> io::Result<Vec<Source>> {
    let wanted = |fd: StandardFd, terminal: bool| !terminal && !sys::was_closed(fd as i32);
    let out = wanted(StandardFd::Out, terminals.stdout);
    let err = wanted(StandardFd::Err, terminals.stderr);
    let shared = out && err && same_open_file();
    let mut sources = Vec::new();
    if out {
        let (from, to) = pipe_with(PipeFlags::CLOEXEC)?;
        let fds: &[StandardFd] = if shared {
            &[StandardFd::Out, StandardFd::Err]
        } else {
            &[StandardFd::Out]
        };
        if shared {
            descriptors.stderr = Some(to.try_clone()?);
        }
        descriptors.stdout = Some(to);
        sources.push(source(
            from,
            Kind::Pipe(fds),
            Stream::Stdout,
            StandardFd::Out,
        ));
    }
    if err && !shared {
        let (from, to) = pipe_with(PipeFlags::CLOEXEC)?;
        descriptors.stderr = Some(to);
        sources.push(source(
            from,
            Kind::Pipe(&[StandardFd::Err]),
            Stream::Stderr,
            StandardFd::Err,
        ));
    }
    Ok(sources)
}

fn source(from: OwnedFd, kind: Kind, stream: Stream, to: StandardFd) -> Source {
    Source {
        from,
        kind,
        stream,
        sink: Sink::to(to),
        ended: false,
    }
}

/// Whether descriptors 1 and 2 are one open file: then their order to each other must stay.
fn same_open_file() -> bool {
    let (out, err) = (standard(StandardFd::Out), standard(StandardFd::Err));
    sys::same_open_file(out, err).unwrap_or_else(|| {
        match (rustix::fs::fstat(out), rustix::fs::fstat(err)) {
            (Ok(out), Ok(err)) => (out.st_dev, out.st_ino) == (err.st_dev, err.st_ino),
            _ => false,
        }
    })
}

/// Starts a command in our own session and process group, so that keys and job control are the
/// kernel's. Descriptor 0 stays what it is; outputs that are terminals go through a recording one.
fn start_beside(
    argv: &[OsString],
    terminals: Terminals,
    keeper: Option<Keeper>,
    began: Instant,
) -> Result<Started, CannotRun> {
    let signals = sys::block_signals(Taken::AllButStops);
    let signal_file = sys::signal_file(Taken::AllButStops)?;
    let mut descriptors = Descriptors::default();
    let mut sources = pipes(terminals, &mut descriptors)?;
    let mut terminal = None;
    if let Some((outer, pair, to)) = recording_terminal(terminals) {
        if terminals.stdout {
            descriptors.stdout = Some(pair.slave.try_clone()?);
        }
        if terminals.stderr && (!terminals.stdout || same_output_terminal()) {
            descriptors.stderr = Some(pair.slave.try_clone()?);
        }
        pty::process_output(&pair.master, !outer.processes_output());
        sources.push(source(
            pair.master.try_clone()?,
            Kind::Terminal,
            Stream::Tty,
            to,
        ));
        terminal = Some((pair.master, outer));
    }
    let child = match spawn::spawn(
        argv,
        descriptors,
        Place {
            signals,
            group: None,
        },
    ) {
        Ok(child) => child,
        Err(error) => return Ok(not_started(argv, &error, keeper)),
    };
    if !sys::was_closed(0) {
        sys::let_go(StandardFd::In); // the command has its own; ours would keep a pipe open
    }
    Ok(Started::Runs(Box::new(Pump {
        child,
        command: Command::Beside(terminal),
        sources,
        unwritten: None,
        writer: writer(keeper),
        signals: signal_file,
        began,
        told_to_leave: false,
    })))
}

/// A pseudo-terminal for outputs that are terminals; none where there are none, or no
/// pseudo-terminal is to be had (then they stay what they are, unrecorded).
fn recording_terminal(terminals: Terminals) -> Option<(Outer, Pair, StandardFd)> {
    let to = match terminals {
        Terminals { stdout: true, .. } => StandardFd::Out,
        Terminals { stderr: true, .. } => StandardFd::Err,
        _ => return None,
    };
    let outer = Outer::behind(to).ok()?;
    let pair = pty::open_like(&outer).ok()?;
    Some((outer, pair, to))
}

fn same_output_terminal() -> bool {
    pty::same_terminal(StandardFd::Out, StandardFd::Err)
}

/// Starts a command in a new session on a pseudo-terminal, under a shim.
fn start_within(
    argv: &[OsString],
    terminals: Terminals,
    keeper: Option<Keeper>,
    modes: Option<modes::Place>,
    began: Instant,
) -> Result<Started, CannotRun> {
    let opened = Outer::behind(StandardFd::In)
        .and_then(|outer| pty::open_like(&outer).map(|pair| (outer, pair)));
    let Ok((mut outer, Pair { master, slave })) = opened else {
        return start_beside(argv, terminals, keeper, began);
    };
    let signals = sys::block_signals(Taken::All);
    let signal_file = sys::signal_file(Taken::All)?;
    let mut descriptors = Descriptors {
        stdin: Some(slave.try_clone()?),
        stdout: Some(slave.try_clone()?),
        stderr: None,
    };
    if terminals.stderr && same_output_terminal() {
        descriptors.stderr = Some(slave.try_clone()?);
    }
    let mut sources = pipes(terminals, &mut descriptors)?;
    sources.push(source(
        master.try_clone()?,
        Kind::Terminal,
        Stream::Tty,
        StandardFd::Out,
    ));

    outer.keep_modes_at(modes);
    let foreground = outer.is_foreground();
    if foreground {
        outer.make_raw();
    } else {
        pty::process_output(&master, false);
    }
    let mut shim = shim::start(shim::Work {
        argv: argv.to_vec(),
        descriptors,
        slave,
        master: master.try_clone()?,
        outer: outer.share().map_err(io::Error::from)?,
        signals,
        foreground,
        spool: keeper.as_ref().and_then(|keeper| keeper.share().ok()),
        began,
    })?;
    let writer = match shim.report() {
        Some(Report::Started(child)) => {
            let terminal = Terminal {
                master,
                outer,
                shim,
                foreground,
                fresh: !foreground,
                resuming: false,
                keys: Vec::new(),
                quoted: false,
                hung_up: None,
            };
            return Ok(Started::Runs(Box::new(Pump {
                child,
                command: Command::Within(Box::new(terminal)),
                sources,
                unwritten: None,
                writer: writer(keeper),
                signals: signal_file,
                began,
                told_to_leave: false,
            })));
        }
        Some(Report::Failed(code)) => io::Error::from_raw_os_error(code),
        _ => io::Error::from(io::ErrorKind::BrokenPipe),
    };
    outer.restore();
    Ok(not_started(argv, &writer, keeper))
}

fn not_started(argv: &[OsString], error: &io::Error, keeper: Option<Keeper>) -> Started {
    let program = argv.first().cloned().unwrap_or_default();
    Started::Not(CannotStart::new(&program, error), keeper.map(Box::new))
}

fn writer(keeper: Option<Keeper>) -> Writer {
    keeper
        .and_then(|keeper| Writer::start(keeper).ok())
        .unwrap_or_else(Writer::none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_as_it_would_be_typed() {
        let line = |words: &[&str]| line_of(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(
            line(&["ssh", "gpu-1", "tail -f x.log"]),
            "ssh gpu-1 'tail -f x.log'"
        );
        assert_eq!(line(&["echo", "it's", "", "$x"]), r"echo 'it'\''s' '' '$x'");
    }
}
