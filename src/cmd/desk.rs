//! What every verb that reads starts from: home, store, the session asked for, playbooks.

use std::path::PathBuf;

use anyhow::Context;

use crate::capture::home::Home;
use crate::capture::session;
use crate::diagnosis::Diagnosis;
use crate::id::SessionId;
use crate::playbook::{self, Playbook};
use crate::projection::ingest::{Patience, ingest};
use crate::projection::{self, SessionView};
use crate::report::CommandError;
use crate::store::Store;
use crate::time::Micros;

/// An open home.
pub struct Desk {
    /// Where everything lies.
    pub home: Home,
    /// The database.
    pub store: Store,
}

impl Desk {
    /// Opens the home and takes in what commands have left in their spools. A home that cannot be
    /// written is opened for reading.
    ///
    /// # Errors
    /// When there is no home, or its database cannot be opened.
    pub async fn open() -> Result<Self, CommandError> {
        let home = Home::find()
            .map_err(|error| CommandError::from(error).hint("set REC_HOME to a folder of yours"))?;
        let store = Store::open_any(home.path()).await.map_err(|error| {
            CommandError::from(error).hint("`rec doctor` says how the recorder is")
        })?;
        ingest(&home, &store, Patience::Wait).await?;
        Ok(Self { home, store })
    }

    /// The session asked for: an id, the start of one, `last`; the current or newest one when
    /// nothing is said.
    ///
    /// # Errors
    /// When there is none.
    pub async fn session(&self, asked: Option<&str>) -> Result<SessionId, CommandError> {
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

/// The folder of a person's own playbooks.
pub fn own_playbooks() -> Option<PathBuf> {
    let config = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")))?;
    Some(config.join("casebook").join("playbooks"))
}

/// The shipped playbooks and a person's own; one of theirs with a shipped id stands in its place.
/// Those that do not read are left out here: `rec playbook lint` says what is wrong with them.
pub fn playbooks() -> Vec<Playbook> {
    let mut all: Vec<Playbook> = playbook::shipped().to_vec();
    for (name, text) in own_playbooks()
        .into_iter()
        .flat_map(|folder| files_in(&folder).unwrap_or_default())
    {
        if let Ok(own) = playbook::load(&name, &text) {
            all.retain(|shipped| shipped.id != own.id);
            all.push(own);
        }
    }
    all
}

/// The YAML files of a folder, by name: path and text.
///
/// # Errors
/// When the folder or a file cannot be read.
pub fn files_in(folder: &std::path::Path) -> anyhow::Result<Vec<(String, String)>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "yaml" || extension == "yml")
        })
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let bytes =
                std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            // What is not UTF-8 fails to load, with its place, and hides no other file.
            Ok((
                path.display().to_string(),
                String::from_utf8_lossy(&bytes).into_owned(),
            ))
        })
        .collect()
}
