//! `rec doctor`: how the recorder is, in words.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::capture::home::Home;
use crate::capture::sys::words;
use crate::capture::{keys, modes, session};
use crate::cmd::desk::{self, broken_own, own_files};
use crate::cmd::verbs::{say, say_json};
use crate::diagnosis::words::{one_line, size, tame};
use crate::projection::ingest;
use crate::projection::mend::{self, Mishap};
use crate::report::{CommandError, plain};
use crate::settings::Settings;
use crate::store::{Store, StoreError};
use crate::time::counted;

/// Bytes that a folder must take to count as writable.
const TRIAL_BYTES: usize = 16 << 10;
/// Damaged spools that are named.
const NAMED: usize = 3;
/// Mishaps that are explained.
const MISHAPS: usize = 3;

/// One thing that was looked at.
struct Look {
    what: &'static str,
    ok: bool,
    says: String,
}

/// `rec doctor`: 0 when all is well, 1 when something needs a person.
///
/// # Errors
/// When there is no home to look at.
pub async fn run(in_json: bool) -> Result<ExitCode, CommandError> {
    let home = desk::home()?;
    let mended = modes::mend(&home);
    let mut looks = vec![folder(&home)];
    // Where no folder is, nothing else in it can be looked at.
    if home.check().is_ok() {
        looks.extend([spools(&home), broken(&home)]);
        let (look, store) = database(&home).await;
        looks.push(look);
        looks.push(state(&home, store.as_ref()).await);
        if let Some(store) = store {
            store.close().await;
        }
        looks.extend(mishaps(&home));
    }
    if mended {
        looks.push(Look {
            what: "terminal",
            ok: true,
            says: modes::MENDED.to_owned(),
        });
    }
    looks.push(own_playbooks());
    looks.push(settings());
    let ok = looks.iter().all(|look| look.ok);
    if in_json {
        let rows: Vec<Value> = looks
            .iter()
            .map(|look| json!({"what": look.what, "ok": look.ok, "says": look.says}))
            .collect();
        say_json(&json!({"format": 1, "ok": ok, "home": home.path(), "looks": rows}));
    } else {
        for look in &looks {
            let mark = if look.ok { "✓" } else { "✗" };
            say(&format!("{mark} {:9} {}\n", look.what, plain(&look.says)));
        }
    }
    Ok(ExitCode::from(u8::from(!ok)))
}

fn folder(home: &Home) -> Look {
    let path = home.path().display();
    let folders = [home.path().to_owned(), home.spool_dir(), home.state_dir()];
    if let Err(error) = home.check() {
        return Look {
            what: "home",
            ok: false,
            says: format!("{error}; until then commands run, and are not recorded"),
        };
    }
    let prepared = home.prepare().map_err(|error| error.to_string());
    match prepared.and_then(|()| folders.iter().try_for_each(|folder| writes(folder))) {
        Ok(()) => Look {
            what: "home",
            ok: true,
            says: format!("{path} can be written"),
        },
        Err(why) => Look {
            what: "home",
            ok: false,
            says: format!(
                "{why}; commands run, and are not recorded. Make room there, or set REC_HOME to \
                 another folder"
            ),
        },
    }
}

/// Writes a little into a folder and removes it again: a full disk lets files be made.
fn writes(folder: &Path) -> Result<(), String> {
    let path = folder.join(format!(".doctor-{}", std::process::id()));
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(&[b'.'; TRIAL_BYTES]));
    std::fs::remove_file(&path).ok();
    written.map_err(|error| format!("cannot write to {}: {}", folder.display(), words(&error)))
}

/// Small files of state: a session's that does not read is made anew from the log.
async fn state(home: &Home, store: Option<&Store>) -> Look {
    let what = "state";
    let mut says = Vec::new();
    let mut ok = true;
    for session in session::damaged_sessions(home) {
        let shown = session.short();
        let mended = match store {
            Some(store) => store.numbers(session).await.ok().is_some_and(|known| {
                let in_spools = ingest::numbers_waiting(home, session);
                let known = known.into_iter().map(|(number, _)| number);
                let next = known.chain(in_spools).max().unwrap_or(0).saturating_add(1);
                session::register(home, session, next).is_ok()
            }),
            None => false,
        };
        ok &= mended;
        says.push(if mended {
            format!("the file of session {shown} did not read, and was made anew from the log")
        } else {
            format!("the file of session {shown} does not read")
        });
    }
    let key = home.path().join(keys::DAMAGED);
    if key.exists() {
        ok = false;
        says.push(format!(
            "the key of masks was damaged and a new one was made: secrets masked before and after \
             are not seen to be equal; remove {} when you know",
            key.display()
        ));
    }
    if says.is_empty() {
        says.push("every session's file reads".to_owned());
    }
    Look {
        what,
        ok,
        says: says.join("; "),
    }
}

fn spools(home: &Home) -> Look {
    let (count, oldest) = ingest::waiting(home);
    let says = match (count, oldest) {
        (0, _) => "nothing waits to be taken in".to_owned(),
        (1, _) => {
            "one command's record waits or is being written; the next look takes it in".to_owned()
        }
        (many, _) => format!(
            "{many} commands' records wait or are being written; the next look takes them in"
        ),
    };
    Look {
        what: "spool",
        ok: true,
        says,
    }
}

fn broken(home: &Home) -> Look {
    let folder = home.broken_dir();
    let mut files: Vec<(String, u64)> = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| {
            let bytes = entry.metadata().map_or(0, |meta| meta.len());
            (entry.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect();
    files.sort();
    if files.is_empty() {
        return Look {
            what: "damage",
            ok: true,
            says: "no record was found damaged".to_owned(),
        };
    }
    let named: Vec<String> = files
        .iter()
        .take(NAMED)
        .map(|(name, bytes)| format!("{} ({})", tame(name), size(*bytes)))
        .collect();
    let more = match files.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Look {
        what: "damage",
        ok: false,
        says: format!(
            "damaged records: {}{more}, kept in {}; what reads of them is in the log, with a gap \
             for the rest. Remove them when you have no more use for them",
            named.join(", "),
            folder.display()
        ),
    }
}

fn own_playbooks() -> Look {
    let what = "playbooks";
    if let Some(broken) = broken_own() {
        return Look {
            what,
            ok: false,
            says: broken.split_whitespace().collect::<Vec<_>>().join(" "),
        };
    }
    let own = own_files().len();
    let shipped = crate::playbook::shipped().len();
    Look {
        what,
        ok: true,
        says: format!("{shipped} shipped and {own} of your own read"),
    }
}

fn settings() -> Look {
    let what = "settings";
    let (settings, faults) = Settings::read_with_faults();
    match faults.first() {
        Some(fault) => Look {
            what,
            ok: false,
            says: one_line(&tame(&fault.to_string())),
        },
        None => Look {
            what,
            ok: true,
            says: format!(
                "learn = {}: what you confirm {} priors",
                settings.learn,
                if settings.learn {
                    "moves"
                } else {
                    "does not move"
                }
            ),
        },
    }
}

/// What happened to the database, for whoever wonders where the rest is.
fn mishaps(home: &Home) -> Vec<Look> {
    mend::untold(home); // it is told here
    let mut all = mend::mishaps(home);
    all.reverse();
    all.truncate(MISHAPS);
    let look = |mishap: Mishap| {
        let (at, says) = (mishap.at.rfc3339(), mishap.says());
        let date = at.split('T').next().unwrap_or_default();
        let then = if mishap.is_open() {
            "; remove the file when you have no more use for it"
        } else {
            ""
        };
        Look {
            what: "mishap",
            ok: !mishap.is_open(),
            says: format!("{date}: {says}{then}"),
        }
    };
    all.into_iter().map(look).collect()
}

/// The database, read from end to end; a damaged one is moved aside.
async fn whole(home: &Home) -> Result<Store, StoreError> {
    let store = mend::open(home).await?;
    match store.check().await {
        Err(StoreError::Damaged { path, why }) if !store.is_read_only() => {
            store.close().await;
            match mend::set_aside(home, &why).await {
                Ok(_) => mend::open(home).await,
                Err(_) => Err(StoreError::Damaged { path, why }),
            }
        }
        Err(error) => {
            store.close().await;
            Err(error)
        }
        Ok(()) => Ok(store),
    }
}

async fn database(home: &Home) -> (Look, Option<Store>) {
    let store = match whole(home).await {
        Ok(store) => store,
        Err(error) => {
            let says = CommandError::from(error).render();
            let says = says.trim_start_matches("rec: ").to_owned();
            let look = Look {
                what: "database",
                ok: false,
                says,
            };
            return (look, None);
        }
    };
    let looked = async {
        let events = store.head().await?;
        let sessions = store.session_count().await?;
        Ok::<_, crate::store::StoreError>((events, sessions))
    }
    .await;
    let bytes = std::fs::metadata(store.path())
        .map(|meta| meta.len())
        .unwrap_or(0);
    let read_only = if store.is_read_only() {
        "; it can be read only"
    } else {
        ""
    };
    let look = match looked {
        Ok((events, sessions)) => Look {
            what: "database",
            ok: !store.is_read_only(),
            says: format!(
                "{} in {}, {}{read_only}",
                counted(events, "event"),
                counted(sessions, "session"),
                size(bytes)
            ),
        },
        Err(error) => Look {
            what: "database",
            ok: false,
            says: error.to_string(),
        },
    };
    (look, Some(store))
}
