//! Which session a command belongs to, and its number there, without a database.
//!
//! `REC_HOME/state/` holds one small file a session (the next number, the last activity), one a
//! terminal on which somebody chose a session, and one for the automatic session of each user and
//! machine. Each is read and written under a lock, so that any number of recorders may start at
//! once.
//!
//! A command joins, in this order: the session named by `--session`; by `REC_SESSION`; chosen for
//! this terminal by `rec new` or `rec use`; the automatic session, if its last command is under
//! [`AUTOMATIC_GAP_US`] old; a new automatic session.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::capture::home::Home;
use crate::capture::locked::{Content, Locked, Unusable};
use crate::capture::spool::{boot_id, process_start_ticks, process_terminal};
use crate::capture::sys;
use crate::id::SessionId;
use crate::time::Micros;

/// The automatic session goes on when its last command is younger than this: half an hour.
pub const AUTOMATIC_GAP_US: i64 = 30 * 60 * 1_000_000;

/// No session could be settled.
#[derive(Debug, Error)]
pub enum SessionError {
    /// No known session has that name.
    #[error("no session `{text}` (`rec sessions` lists them)")]
    NotThere {
        /// What was asked for.
        text: String,
    },
    /// Several known sessions begin so.
    #[error("`{text}` fits {count} sessions; give more of the id")]
    Ambiguous {
        /// What was asked for.
        text: String,
        /// How many fit.
        count: usize,
    },
    /// Somebody holds the lock and does not let go.
    #[error("{} is locked by another process", path.display())]
    Busy {
        /// The locked file.
        path: PathBuf,
    },
    /// A session's file is empty or does not read, so that the next number in it is not known.
    #[error(
        "session {session} cannot go on, as its file {} is damaged (`rec doctor` mends it)",
        path.display()
    )]
    Damaged {
        /// The session.
        session: SessionId,
        /// Its file.
        path: PathBuf,
    },
    /// A state file cannot be used.
    #[error("{}: {}", path.display(), sys::words(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// What a person or script asked for, apart from what the terminal remembers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// The option `--session`: an id or a unique prefix; must be known.
    pub option: Option<String>,
    /// The variable `REC_SESSION`: the same, but an unknown one only warns.
    pub variable: Option<String>,
}

impl Wish {
    /// Takes the option as given and the variable from the environment.
    pub fn from_environment(option: Option<String>) -> Self {
        let variable = std::env::var("REC_SESSION")
            .ok()
            .filter(|text| !text.is_empty());
        Self { option, variable }
    }
}

/// The session and number that a command gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The session.
    pub session: SessionId,
    /// The command's number in it, from 1.
    pub number: u32,
    /// When it begins: now, or with the last thing that happened in the session where the clock was set
    /// back a little since, so that the order of numbers is that of time.
    pub at: Micros,
    /// The session came about by itself.
    pub automatic: bool,
    /// The session began with this command.
    pub new: bool,
    /// Something to tell the person, once.
    pub warning: Option<String>,
}

/// What a session's file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    next: u32,
    last_us: i64,
    automatic: bool,
}

/// Chooses the session for a command that starts now, and takes the next number in it.
///
/// # Errors
/// When a session named by option is not known, or the state cannot be read or written.
pub fn open_for_command(home: &Home, wish: &Wish, now: Micros) -> Result<Chosen, SessionError> {
    let mut warning = None;
    let mut wished = None;
    if let Some(text) = &wish.option {
        wished = Some(find_session(home, text)?);
    } else if let Some(text) = &wish.variable {
        match find_session(home, text) {
            Ok(session) => wished = Some(session),
            Err(error @ (SessionError::NotThere { .. } | SessionError::Ambiguous { .. })) => {
                warning = Some(format!("REC_SESSION: {error}; using the automatic session"));
            }
            Err(error) => return Err(error),
        }
    }
    if wished.is_none() && warning.is_none() {
        match read_session(&terminal_path(home)) {
            Content::Some(session) if session_path(home, session).exists() => {
                wished = Some(session);
            }
            Content::Damaged => {
                warning = Some(
                    "what was chosen for this terminal does not read: `rec use SESSION` chooses \
                     again; using the automatic session"
                        .to_owned(),
                );
                clear_for_terminal(home).ok();
            }
            Content::Some(_) | Content::Nothing => {}
        }
    }
    if let Some(session) = wished {
        match number_in(home, session, now) {
            Err(error @ SessionError::Damaged { .. }) => {
                warning = Some(format!("{error}; using the automatic session"));
            }
            other => return other,
        }
    }
    let chosen = automatic(home, now)?;
    Ok(Chosen {
        warning: warning.or(chosen.warning),
        ..chosen
    })
}

fn automatic(home: &Home, now: Micros) -> Result<Chosen, SessionError> {
    let path = automatic_path(home);
    let current = open(&path)?;
    let held = Content::of(&current.read().map_err(|source| io_at(&path, source))?, id);
    let mut warning = None;
    match held {
        Content::Nothing => {}
        Content::Damaged => {
            warning = Some(format!(
                "{} does not read: this command begins a new session",
                path.display()
            ));
        }
        Content::Some(session) => match read_state(home, session) {
            Content::Some(state) if state.automatic && is_near(now, state.last_us) => {
                return number_in(home, session, now);
            }
            Content::Some(_) | Content::Nothing => {}
            Content::Damaged => {
                let path = session_path(home, session);
                let error = SessionError::Damaged { session, path };
                warning = Some(format!("{error}; this command begins a new one"));
            }
        },
    }
    let session = SessionId::new();
    let state = State {
        next: 2,
        last_us: now.0,
        automatic: true,
    };
    change(home, session, |_| Some(state))?;
    current
        .write(&session.to_string())
        .map_err(|source| io_at(&path, source))?;
    Ok(Chosen {
        session,
        number: 1,
        at: now,
        automatic: true,
        new: true,
        warning,
    })
}

/// Whether a session in which something last happened then goes on now. A clock that was set back by more
/// than this says nothing about when that was.
fn is_near(now: Micros, last_us: i64) -> bool {
    now.0.abs_diff(last_us) < AUTOMATIC_GAP_US.unsigned_abs()
}

fn number_in(home: &Home, session: SessionId, now: Micros) -> Result<Chosen, SessionError> {
    let mut damaged = false;
    let mut taken = (1, false, now);
    change(home, session, |held| {
        let state = match held {
            Content::Damaged => {
                damaged = true;
                return None;
            }
            Content::Nothing => State {
                next: 1,
                last_us: now.0,
                automatic: false,
            },
            Content::Some(state) => state,
        };
        let set_back = state.last_us > now.0 && is_near(now, state.last_us);
        let at = if set_back { Micros(state.last_us) } else { now };
        taken = (state.next, state.automatic, at);
        Some(State {
            next: state.next.saturating_add(1),
            last_us: state.last_us.max(now.0),
            automatic: state.automatic,
        })
    })?;
    if damaged {
        let path = session_path(home, session);
        return Err(SessionError::Damaged { session, path });
    }
    let (number, automatic, at) = taken;
    Ok(Chosen {
        session,
        number,
        at,
        automatic,
        new: number == 1,
        warning: None,
    })
}

/// Changes a session's state under its lock; it stays as it is where there is no new one.
fn change(
    home: &Home,
    session: SessionId,
    to: impl FnOnce(Content<State>) -> Option<State>,
) -> Result<(), SessionError> {
    let path = session_path(home, session);
    let file = open(&path)?;
    let bytes = file.read().map_err(|source| io_at(&path, source))?;
    let Some(state) = to(Content::of(&bytes, state)) else {
        return Ok(());
    };
    serde_json::to_string(&state)
        .map_err(io::Error::from)
        .and_then(|line| file.write(&line))
        .map_err(|source| io_at(&path, source))
}

/// Gives a number back that nothing was recorded under, where it is the last one still.
pub fn give_back(home: &Home, chosen: &Chosen) {
    let back = |held: Content<State>| match held {
        Content::Some(state) if state.next == chosen.number.saturating_add(1) => Some(State {
            next: chosen.number,
            ..state
        }),
        _ => None,
    };
    change(home, chosen.session, back).ok();
}

/// Makes a session known, with the number that its next command gets.
///
/// A session that is known already keeps the larger number. `rec new` and imports call this.
///
/// # Errors
/// When the state cannot be written.
pub fn register(home: &Home, session: SessionId, next_number: u32) -> Result<(), SessionError> {
    change(home, session, |held| {
        let known = match held {
            Content::Some(state) => Some(state),
            Content::Nothing | Content::Damaged => None,
        };
        Some(State {
            next: known.map_or(1, |state| state.next).max(next_number).max(1),
            last_us: known.map_or_else(|| Micros::now().0, |state| state.last_us),
            automatic: known.is_some_and(|state| state.automatic),
        })
    })
}

/// Notes that something happened in a session at this time, so that it goes on from there.
///
/// # Errors
/// When the state cannot be written.
pub fn touch(home: &Home, session: SessionId, now: Micros) -> Result<(), SessionError> {
    change(home, session, |held| match held {
        Content::Some(state) => Some(State {
            last_us: state.last_us.max(now.0),
            ..state
        }),
        Content::Nothing | Content::Damaged => None,
    })
}

/// Remembers a session for commands of this terminal (`rec new`, `rec use`).
///
/// # Errors
/// When the state cannot be written.
pub fn choose_for_terminal(home: &Home, session: SessionId) -> Result<(), SessionError> {
    let path = terminal_path(home);
    open(&path)?
        .write(&session.to_string())
        .map_err(|source| io_at(&path, source))
}

/// Forgets what was chosen for this terminal.
///
/// # Errors
/// When the state is there and cannot be removed.
pub fn clear_for_terminal(home: &Home) -> Result<(), SessionError> {
    let path = terminal_path(home);
    match std::fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(SessionError::Io { path, source })
        }
        _ => Ok(()),
    }
}

/// Closes a session: no later command joins it by itself.
///
/// # Errors
/// When the state cannot be written.
pub fn end(home: &Home, session: SessionId) -> Result<(), SessionError> {
    if chosen_for_terminal(home) == Some(session) {
        clear_for_terminal(home)?;
    }
    let path = automatic_path(home);
    let current = open(&path)?;
    let bytes = current.read().map_err(|source| io_at(&path, source))?;
    if Content::of(&bytes, id) == Content::Some(session) {
        current.clear().map_err(|source| io_at(&path, source))?;
    }
    Ok(())
}

/// The session that a command started now would join; none where it would begin a new one.
pub fn current(home: &Home) -> Option<SessionId> {
    let wish = Wish::from_environment(None);
    if let Some(session) = wish
        .variable
        .and_then(|text| find_session(home, &text).ok())
    {
        return Some(session);
    }
    if let Some(session) = chosen_for_terminal(home)
        && session_path(home, session).exists()
    {
        return Some(session);
    }
    let Content::Some(session) = read_session(&automatic_path(home)) else {
        return None;
    };
    let Content::Some(state) = read_state(home, session) else {
        return None;
    };
    is_near(Micros::now(), state.last_us).then_some(session)
}

/// Every session that has a state file, in no particular order.
pub fn known_sessions(home: &Home) -> Vec<SessionId> {
    let Ok(entries) = std::fs::read_dir(home.state_dir().join("sessions")) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<SessionId>().ok())
        .collect()
}

/// How many commands each known session has given a number to.
pub fn numbers_given(home: &Home) -> Vec<(SessionId, u64)> {
    known_sessions(home)
        .into_iter()
        .filter_map(|session| match read_state(home, session) {
            Content::Some(state) => Some((session, u64::from(state.next.saturating_sub(1)))),
            Content::Nothing | Content::Damaged => None,
        })
        .collect()
}

/// Finds a known session by its id or a unique prefix of it (with or without the `s-`).
///
/// # Errors
/// When none fits, or several.
pub fn find_session(home: &Home, text: &str) -> Result<SessionId, SessionError> {
    if let Ok(session) = text.parse::<SessionId>()
        && session_path(home, session).exists()
    {
        return Ok(session);
    }
    let not_there = || SessionError::NotThere {
        text: text.to_owned(),
    };
    let prefix = text.strip_prefix("s-").unwrap_or(text).to_ascii_lowercase();
    if prefix.is_empty() {
        return Err(not_there());
    }
    let fitting: Vec<SessionId> = known_sessions(home)
        .into_iter()
        .filter(|session| {
            session
                .to_string()
                .get(2..)
                .is_some_and(|id| id.starts_with(&prefix))
        })
        .collect();
    match fitting[..] {
        [] => Err(not_there()),
        [session] => Ok(session),
        _ => Err(SessionError::Ambiguous {
            text: text.to_owned(),
            count: fitting.len(),
        }),
    }
}

fn chosen_for_terminal(home: &Home) -> Option<SessionId> {
    match read_session(&terminal_path(home)) {
        Content::Some(session) => Some(session),
        Content::Nothing | Content::Damaged => None,
    }
}

/// Sessions whose files are empty or do not read: nobody knows the next number in them.
pub fn damaged_sessions(home: &Home) -> Vec<SessionId> {
    known_sessions(home)
        .into_iter()
        .filter(|session| read_state(home, *session) == Content::Damaged)
        .collect()
}

/// When something last happened in a session, as its file has it.
pub fn last_activity(home: &Home, session: SessionId) -> Option<Micros> {
    match read_state(home, session) {
        Content::Some(state) => Some(Micros(state.last_us)),
        Content::Nothing | Content::Damaged => None,
    }
}

fn session_path(home: &Home, session: SessionId) -> PathBuf {
    home.state_dir().join("sessions").join(session.to_string())
}

/// The automatic session's file: one a machine and user, as a home may be shared by several.
fn automatic_path(home: &Home) -> PathBuf {
    let host: String = sys::host_name()
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() || letter == '-' {
                letter
            } else {
                '_'
            }
        })
        .collect();
    let user = rustix::process::getuid().as_raw();
    home.state_dir().join(format!("automatic-{host}-{user}"))
}

/// The terminal's file. A terminal is its device and the process that leads the session on it, so
/// that a device used again by the next login is another terminal.
pub(super) fn terminal_path(home: &Home) -> PathBuf {
    let leader = sys::session_leader().unwrap_or(0);
    let device = process_terminal(std::process::id()).unwrap_or(0);
    let started = process_start_ticks(leader).unwrap_or(0);
    let boot: String = boot_id().chars().take(8).collect();
    home.state_dir()
        .join("terminals")
        .join(format!("{boot}-{device:x}-{leader}-{started}"))
}

/// A file that is not there holds nothing; one that cannot be read is as good as damaged.
fn read<T>(path: &Path, parse: impl FnOnce(&[u8]) -> Option<T>) -> Content<T> {
    match std::fs::read(path) {
        Ok(bytes) => Content::of(&bytes, parse),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Content::Nothing,
        Err(_) => Content::Damaged,
    }
}

fn read_session(path: &Path) -> Content<SessionId> {
    read(path, id)
}

fn read_state(home: &Home, session: SessionId) -> Content<State> {
    read(&session_path(home, session), state)
}

fn id(line: &[u8]) -> Option<SessionId> {
    std::str::from_utf8(line).ok()?.trim().parse().ok()
}

fn state(line: &[u8]) -> Option<State> {
    serde_json::from_slice(line).ok()
}

fn open(path: &Path) -> Result<Locked, SessionError> {
    Locked::open(path).map_err(|error| match error {
        Unusable::Busy => SessionError::Busy {
            path: path.to_owned(),
        },
        Unusable::Io(source) => io_at(path, source),
    })
}

fn io_at(path: &Path, source: io::Error) -> SessionError {
    SessionError::Io {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        home.prepare().unwrap();
        (dir, home)
    }

    const T0: Micros = Micros(1_790_000_000_000_000);

    #[test]
    fn the_automatic_session_goes_on_for_half_an_hour() {
        let (_dir, home) = home();
        let wish = Wish::default();
        let first = open_for_command(&home, &wish, T0).unwrap();
        assert!(first.new && first.automatic && first.number == 1);
        let second = open_for_command(&home, &wish, T0.plus_us(AUTOMATIC_GAP_US - 1)).unwrap();
        assert_eq!(
            (second.session, second.number, second.new),
            (first.session, 2, false)
        );
        let later = T0.plus_us(2 * AUTOMATIC_GAP_US);
        assert_ne!(
            open_for_command(&home, &wish, later).unwrap().session,
            first.session
        );
    }

    #[test]
    fn a_clock_set_back_changes_no_order() {
        let (_dir, home) = home();
        let wish = Wish::default();
        let first = open_for_command(&home, &wish, T0).unwrap();
        // A little: the next one begins with what was last.
        let second = open_for_command(&home, &wish, T0.plus_us(-90_000_000)).unwrap();
        assert_eq!((second.session, second.at), (first.session, T0));
        let third = open_for_command(&home, &wish, T0.plus_us(5)).unwrap();
        assert_eq!((third.session, third.at), (first.session, T0.plus_us(5)));
        // Much: nobody knows when the session was.
        let fourth = open_for_command(&home, &wish, T0.plus_us(-2 * AUTOMATIC_GAP_US)).unwrap();
        assert_ne!(fourth.session, first.session);
        assert_eq!(fourth.at, T0.plus_us(-2 * AUTOMATIC_GAP_US));
    }

    #[test]
    fn a_touched_session_is_young_again() {
        let (_dir, home) = home();
        let first = open_for_command(&home, &Wish::default(), T0).unwrap();
        let later = T0.plus_us(2 * AUTOMATIC_GAP_US);
        touch(&home, first.session, later).unwrap();
        let second = open_for_command(&home, &Wish::default(), later).unwrap();
        assert_eq!(second.session, first.session);
    }

    #[test]
    fn option_then_variable_then_terminal_then_automatic() {
        let (_dir, home) = home();
        let [a, b, c] = [SessionId::new(), SessionId::new(), SessionId::new()];
        for session in [a, b, c] {
            register(&home, session, 5).unwrap();
        }
        choose_for_terminal(&home, c).unwrap();
        let wish = |option: Option<SessionId>, variable: Option<SessionId>| Wish {
            option: option.map(|id| id.to_string()),
            variable: variable.map(|id| id.short()),
        };
        let open = |wish: &Wish| open_for_command(&home, wish, T0).unwrap();
        assert_eq!(open(&wish(Some(a), Some(b))).session, a);
        assert_eq!(open(&wish(None, Some(b))).session, b);
        let chosen = open(&wish(None, None));
        assert_eq!(
            (chosen.session, chosen.number, chosen.automatic),
            (c, 5, false)
        );
        clear_for_terminal(&home).unwrap();
        assert!(open(&wish(None, None)).automatic);
    }

    #[test]
    fn an_unknown_variable_warns_and_an_unknown_option_fails() {
        let (_dir, home) = home();
        let variable = Wish {
            option: None,
            variable: Some("s-zzzz".into()),
        };
        let chosen = open_for_command(&home, &variable, T0).unwrap();
        assert!(chosen.automatic && chosen.warning.unwrap().contains("s-zzzz"));
        let option = Wish {
            option: Some("s-zzzz".into()),
            variable: None,
        };
        assert!(matches!(
            open_for_command(&home, &option, T0),
            Err(SessionError::NotThere { .. })
        ));
    }

    #[test]
    fn an_ended_session_is_not_joined_by_itself() {
        let (_dir, home) = home();
        let first = open_for_command(&home, &Wish::default(), T0).unwrap();
        end(&home, first.session).unwrap();
        assert_ne!(
            open_for_command(&home, &Wish::default(), T0)
                .unwrap()
                .session,
            first.session
        );
    }

    #[test]
    fn registering_keeps_the_larger_number() {
        let (_dir, home) = home();
        let session = SessionId::new();
        register(&home, session, 8).unwrap();
        register(&home, session, 3).unwrap();
        let wish = Wish {
            option: Some(session.to_string()),
            variable: None,
        };
        assert_eq!(open_for_command(&home, &wish, T0).unwrap().number, 8);
        assert_eq!(known_sessions(&home), vec![session]);
    }

    #[test]
    fn numbers_are_unique_when_many_start_at_once() {
        let (_dir, home) = home();
        let numbers = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..20)
                .map(|_| scope.spawn(|| open_for_command(&home, &Wish::default(), T0).unwrap()))
                .collect();
            let mut all: Vec<_> = workers
                .into_iter()
                .map(|worker| worker.join().unwrap())
                .map(|chosen| (chosen.session, chosen.number))
                .collect();
            all.sort();
            all
        });
        let session = numbers[0].0;
        assert_eq!(
            numbers,
            (1..=20).map(|number| (session, number)).collect::<Vec<_>>()
        );
    }
}
