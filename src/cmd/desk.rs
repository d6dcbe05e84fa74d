//! What every verb that reads starts from: home, store, the session asked for, playbooks.

use crate::capture::home::{Home, HomeError};
use crate::capture::{modes, session};
use crate::cmd::verbs::complain;
use crate::diagnosis::Diagnosis;
use crate::diagnosis::words::{one_line, tame};
use crate::id::SessionId;
use crate::playbook::{self, Playbook};
use crate::projection::ingest::{Patience, ingest};
use crate::projection::library::{self, OwnFile};
use crate::projection::mend;
use crate::projection::{self, SessionView};
use crate::report::CommandError;
use crate::settings::Settings;
use crate::store::Store;
use crate::time::Micros;

/// An open home.
pub struct Desk {
    /// Where everything lies.
    pub home: Home,
    /// The database.
    pub store: Store,
    /// The session that `--session` before the verb names.
    pub named: Option<String>,
}

impl Desk {
    /// Opens the home and takes in what commands have left in their spools. A home that cannot be
    /// written is opened for reading.
    ///
    /// # Errors
    /// When there is no home, or its database cannot be opened.
    pub async fn open() -> Result<Self, CommandError> {
        let desk = Self::open_for(None).await?;
        desk.tell_if_full();
        Ok(desk)
    }

    /// Says that no space is left, where that is so. What writes fails with the same words.
    pub fn tell_if_full(&self) {
        if self.store.is_full() {
            complain(
                "rec: no space is left: only what was taken in before is shown, and nothing is \
                 recorded until there is some",
            );
        }
    }

    /// The same, for the session that `--session` before the verb names.
    ///
    /// # Errors
    /// As [`Desk::open`].
    pub async fn open_for(named: Option<String>) -> Result<Self, CommandError> {
        let home = home()?;
        home.check()?;
        if modes::mend(&home) {
            complain(&format!("rec: {}", modes::MENDED));
        }
        let store = mend::open(&home).await.map_err(|error| {
            CommandError::from(error).hint("`rec doctor` says how the recorder is")
        })?;
        let taken = ingest(&home, &store, Patience::Wait).await;
        for mishap in mend::untold(&home) {
            complain(&format!("rec: {}", mishap.says()));
        }
        for (path, why) in taken?.broken {
            // One that a newer version left where it was is no damage.
            if path.starts_with(home.broken_dir()) {
                complain(&format!(
                    "rec: the record of a command was damaged ({why}): what reads is in the log, \
                     with a gap for the rest, and the file is kept as {}",
                    path.display()
                ));
            }
        }
        if let Some(fault) = Settings::read_with_faults().1.first() {
            complain(&format!("rec: {}", one_line(&tame(&fault.to_string()))));
        }
        Ok(Self { home, store, named })
    }

    /// The session asked for: an id, the start of one, `last`; the current or newest one when
    /// nothing is said. One named before the verb is the one asked for, and no other.
    ///
    /// # Errors
    /// When there is none, or the verb and what stands before it name two.
    pub async fn session(&self, asked: Option<&str>) -> Result<SessionId, CommandError> {
        let Some(before) = &self.named else {
            return self.find(asked).await;
        };
        let named = self.find(Some(before)).await?;
        if let Some(asked) = asked
            && self.find(Some(asked)).await? != named
        {
            return Err(CommandError::usage(format!(
                "two sessions are named: `{before}` before the verb and `{asked}` behind it"
            ))
            .hint("name one of them"));
        }
        Ok(named)
    }

    async fn find(&self, asked: Option<&str>) -> Result<SessionId, CommandError> {
        if let Some(text) = asked.filter(|text| *text != "last") {
            return self.store.find_session(text).await.map_err(|error| {
                CommandError {
                    kind: crate::report::Kind::Usage,
                    ..error.into()
                }
                .hint("`rec sessions` lists them")
            });
        }
        if asked.is_none()
            && let Some(current) = session::current(&self.home)
            && self.store.has_session(current).await?
        {
            return Ok(current);
        }
        self.store.last_session().await?.ok_or_else(|| {
            CommandError::usage("there are no sessions yet")
                .hint("record a command to begin one:  rec ssh HOST 'COMMAND'")
        })
    }

    /// A session put together, with its facts.
    ///
    /// # Errors
    /// When there is no such session, or the database does not answer.
    pub async fn view(&self, id: SessionId) -> Result<SessionView, CommandError> {
        Ok(projection::session(&self.store, id).await?)
    }

    /// A session for reading: put together from the event log alone when what is derived from it
    /// does not answer.
    ///
    /// # Errors
    /// When there is no such session, or the database does not answer.
    pub async fn view_or_log(&self, id: SessionId) -> Result<SessionView, CommandError> {
        match projection::session(&self.store, id).await {
            Ok(view) => Ok(view),
            Err(_) => Ok(projection::session_from_log(&self.store, id).await?),
        }
    }

    /// A session's diagnosis, by the shipped playbooks and the reader's own.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn diagnose(&self, view: &SessionView) -> Result<Diagnosis, CommandError> {
        let playbooks = playbooks();
        Ok(projection::judge::diagnose(&self.store, view, &playbooks, Micros::now()).await?)
    }

    /// Closes the database, so that the next process has nothing to read first.
    pub async fn close(self) {
        self.store.close().await;
    }
}

/// The home that the environment names.
///
/// # Errors
/// When it names none, with what to set.
pub fn home() -> Result<Home, CommandError> {
    Home::find().map_err(|error| match error {
        HomeError::Nowhere { .. } => {
            CommandError::from(error).hint("set REC_HOME to a folder of yours")
        }
        error => error.into(),
    })
}

/// The shipped playbooks and a person's own; one of theirs with a shipped id stands in its place.
/// Those that do not read are left out here: [`broken_own`] tells of them.
pub fn playbooks() -> Vec<Playbook> {
    library::with_shipped(own_files())
}

/// A person's own playbooks, those that do not read among them.
pub fn own_files() -> Vec<OwnFile> {
    library::own_files(library::own_folder().as_deref())
}

/// What is said of a person's own playbooks that do not read: how many, the first fault of the
/// first, and how to see the rest.
pub fn broken_own() -> Option<String> {
    let files = own_files();
    let broken: Vec<(&OwnFile, String)> = files
        .iter()
        .filter_map(|file| Some((file, library::broken_line(file)?)))
        .collect();
    let (file, first) = broken.first()?;
    // What is used in its place is said: its author may think that it is this one.
    let instead = library::id_of(&file.text).filter(|id| {
        let others = files.iter().filter_map(|other| other.read.as_ref().ok());
        playbook::shipped()
            .iter()
            .chain(others)
            .any(|one| one.id == *id)
    });
    let instead = instead.map_or_else(String::new, |id| {
        format!("; another `{id}`, which reads, is used")
    });
    let rest = match broken.len() {
        1 => String::new(),
        2 => " (and 1 file more)".to_owned(),
        many => format!(" (and {} files more)", many - 1),
    };
    Some(format!(
        "a playbook of yours does not read and was left out: {first}{instead}{rest}\n  \
         `rec playbook lint` says what to mend"
    ))
}
