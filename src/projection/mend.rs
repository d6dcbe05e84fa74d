//! When the database is damaged or gone: going on with a new one, and telling.
//!
//! A damaged file is moved aside and kept; one that is gone leaves traces (numbers that sessions gave
//! out, an index, the lock of an ingest), so that a new one is not taken for the first. What
//! happened is written down in `state/mishaps.json`, told once by the next verb that reads, and
//! explained by `rec doctor`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::capture::home::Home;
use crate::capture::session;
use crate::capture::spool::{first_record, list_spools};
use crate::id::SessionId;
use crate::projection::ingest::{Patience, lock};
use crate::store::{Store, StoreError};
use crate::time::{Micros, counted};

/// In `state/`: a database was made here.
const SIGN: &str = "database";
/// Mishaps that are remembered.
const REMEMBERED: usize = 20;

/// Something that happened to the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mishap {
    /// When it was noticed.
    pub at: Micros,
    /// What was wrong, and what was done.
    pub what: What,
    /// Commands whose records waited in spools at that moment.
    pub waiting: usize,
    /// A person was told.
    pub told: bool,
}

/// What was wrong with the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// It was damaged.
    Damaged {
        /// In which way.
        why: String,
        /// Where it lies now.
        aside: PathBuf,
        /// Events that still read, and are in the new one.
        #[serde(default)]
        saved: u64,
        /// Whether something of it is known, or must be feared, to be in the old file only.
        #[serde(default)]
        lost: bool,
    },
    /// It was not there any more.
    Gone {
        /// Where it had been.
        path: PathBuf,
        /// Commands that had numbers and whose records are nowhere else.
        commands: u64,
        /// The sessions they belong to.
        sessions: usize,
    },
}

impl Mishap {
    /// It in one sentence, without the full stop.
    pub fn says(&self) -> String {
        let waiting = match self.waiting {
            0 => String::new(),
            waiting => format!(
                ", and what {} still held was taken in",
                counted(waiting, "spool")
            ),
        };
        match &self.what {
            What::Damaged {
                why,
                aside,
                saved,
                lost,
            } => {
                let with = match saved {
                    0 => String::new(),
                    saved => format!(" with the {} that still read", counted(*saved, "event")),
                };
                let rest = if *lost {
                    "what else it held is in that file only"
                } else {
                    "nothing of it is missing"
                };
                format!(
                    "the database was damaged ({why}): it is kept as {} and a new one was \
                     made{with}{waiting}; {rest}",
                    aside.display()
                )
            }
            What::Gone {
                path,
                commands,
                sessions,
            } => {
                let lost = match commands {
                    0 => "whatever it held".to_owned(),
                    _ => format!(
                        "with {} of {}",
                        counted(*commands, "command"),
                        counted(*sessions, "session")
                    ),
                };
                format!(
                    "{} is gone, {lost}: a new one was made{waiting}; a backup's sessions come in \
                     again by `rec export` there and `rec import` here (one that was gone on with \
                     since: into an empty REC_HOME)",
                    path.display()
                )
            }
        }
    }

    /// Whether there is still something for a person to look after.
    pub fn is_open(&self) -> bool {
        match &self.what {
            What::Damaged { aside, .. } => aside.exists(),
            What::Gone { .. } => false,
        }
    }
}

/// Opens the home's database for writing where that can be, else for reading; a damaged one is moved
/// aside first.
///
/// # Errors
/// As [`Store::open_any`], and when a damaged one cannot be moved.
pub async fn open(home: &Home) -> Result<Store, StoreError> {
    let missed = (!home.database().exists()).then(|| traces(home)).flatten();
    let store = match Store::open_any(home.path()).await {
        Err(StoreError::Damaged { path, why }) => {
            let damaged = StoreError::Damaged {
                path,
                why: why.clone(),
            };
            // Where it cannot be moved, what is wrong with it says more than why not.
            set_aside(home, &why).await.map_err(|_| damaged)?;
            Store::open_any(home.path()).await?
        }
        other => other?,
    };
    if let (true, Some(what)) = (store.is_new(), missed) {
        note(home, what);
    }
    let sign = home.state_dir().join(SIGN);
    if !store.is_read_only() && !sign.exists() {
        fs::create_dir_all(home.state_dir()).ok();
        fs::File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&sign)
            .ok();
    }
    Ok(store)
}

/// Moves a damaged database aside and notes it. False when it is in order after all.
///
/// # Errors
/// As [`Store::set_aside`].
pub async fn set_aside(home: &Home, why: &str) -> Result<bool, StoreError> {
    // Nobody may take spools into the old one meanwhile.
    let _lock = lock(home, Patience::Wait).await.ok().flatten();
    let Some((aside, saved)) = Store::set_aside(home.path()).await? else {
        return Ok(false);
    };
    note(
        home,
        What::Damaged {
            why: why.to_owned(),
            aside,
            saved: saved.events,
            lost: saved.events == 0 || saved.lost_events > 0 || saved.lost_contents > 0,
        },
    );
    Ok(true)
}

/// What was in a database that is not there, by the traces that it left; none without any.
///
/// A database takes the commands of a session in their order, so that what it held are the numbers
/// before those that still wait. One missing between them is of a recorder that was killed before
/// its command had a record.
fn traces(home: &Home) -> Option<What> {
    let mut held: BTreeMap<SessionId, u64> = session::numbers_given(home).into_iter().collect();
    let mut nobodys = 0;
    for (_, path) in list_spools(home).unwrap_or_default() {
        match first_record(&path) {
            Some(start) => {
                if let Some(held) = held.get_mut(&start.session) {
                    *held = (*held).min(u64::from(start.number).saturating_sub(1));
                }
            }
            // Damaged; it is the record of one of them.
            None => nobodys += 1,
        }
    }
    held.retain(|_, count| *count > 0);
    let commands = held.values().sum::<u64>().saturating_sub(nobodys);
    let used = home.state_dir().join(SIGN).exists()
        || home.path().join("ingest.lock").exists()
        || home.index_dir().exists();
    // A recorder that is killed just before its command starts may leave a number behind.
    if commands < 2 && !used {
        return None;
    }
    Some(What::Gone {
        path: home.database(),
        commands,
        sessions: held.len(),
    })
}

fn list(home: &Home) -> PathBuf {
    home.state_dir().join("mishaps.json")
}

/// What happened to the database of this home, the oldest first.
pub fn mishaps(home: &Home) -> Vec<Mishap> {
    let read = fs::read(list(home)).ok();
    read.and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

fn note(home: &Home, what: What) {
    let mut all = mishaps(home);
    all.push(Mishap {
        at: Micros::now(),
        what,
        waiting: list_spools(home).map_or(0, |spools| spools.len()),
        told: false,
    });
    let from = all.len().saturating_sub(REMEMBERED);
    keep(home, all.get(from..).unwrap_or_default());
}

/// Writes the list whole or not at all. That it can not is no reason to fail: the store is there.
fn keep(home: &Home, all: &[Mishap]) {
    let path = list(home);
    let unborn = path.with_extension("new");
    fs::create_dir_all(home.state_dir()).ok();
    let written = serde_json::to_vec(all).is_ok_and(|bytes| {
        fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&unborn)
            .and_then(|mut file| file.write_all(&bytes))
            .is_ok()
    });
    if written {
        fs::rename(&unborn, &path).ok();
    } else {
        fs::remove_file(&unborn).ok();
    }
}

/// What nobody has been told yet; from now on it counts as told.
pub fn untold(home: &Home) -> Vec<Mishap> {
    let mut all = mishaps(home);
    let new: Vec<Mishap> = all.iter().filter(|one| !one.told).cloned().collect();
    if !new.is_empty() {
        for one in &mut all {
            one.told = true;
        }
        keep(home, &all);
    }
    new
}
