//! `rec doctor`: how the recorder is, in words.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::capture::home::Home;
use crate::cmd::desk::{broken_own, own_files};
use crate::cmd::verbs::{say, say_json};
use crate::diagnosis::words::size;
use crate::projection::ingest;
use crate::projection::mend::{self, Mishap};
use crate::report::CommandError;
use crate::settings::Settings;
use crate::store::{Store, StoreError};
use crate::time::counted;

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
    let home = Home::find()
        .map_err(|error| CommandError::from(error).hint("set REC_HOME to a folder of yours"))?;
    let mut looks = vec![folder(&home), spools(&home), broken(&home)];
    looks.push(database(&home).await);
    looks.extend(mishaps(&home));
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
            say(&format!("{mark} {:9} {}\n", look.what, look.says));
        }
    }
    Ok(ExitCode::from(u8::from(!ok)))
}

fn folder(home: &Home) -> Look {
    let path = home.path().display();
    let folders = [home.path().to_owned(), home.spool_dir(), home.state_dir()];
    let writable = |folder: &std::path::PathBuf| {
        rustix::fs::access(folder, rustix::fs::Access::WRITE_OK)
            .map_err(|error| anyhow::anyhow!("cannot write to {}: {error}", folder.display()))
    };
    let prepared = home.prepare().map_err(anyhow::Error::from);
    match prepared.and_then(|()| folders.iter().try_for_each(writable)) {
        Ok(()) => Look {
            what: "home",
            ok: true,
            says: format!("{path} can be written"),
        },
        Err(error) => Look {
            what: "home",
            ok: false,
            says: format!(
                "{error}; commands run, and are not recorded. Set REC_HOME to another folder"
            ),
        },
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
    let folder = home.spool_dir().join("broken");
    let (mut count, mut bytes) = (0_usize, 0_u64);
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        count += 1;
        bytes += entry.metadata().map(|meta| meta.len()).unwrap_or(0);
    }
    if count == 0 {
        return Look {
            what: "damage",
            ok: true,
            says: "no record was found damaged".to_owned(),
        };
    }
    Look {
        what: "damage",
        ok: false,
        says: format!(
            "damaged records: {count} ({}), in {}; what could be read of them is in the log",
            size(bytes),
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
            says: fault.to_string(),
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

async fn database(home: &Home) -> Look {
    let store = match whole(home).await {
        Ok(store) => store,
        Err(error) => {
            let says = CommandError::from(error).render();
            let says = says.trim_start_matches("rec: ").to_owned();
            return Look {
                what: "database",
                ok: false,
                says,
            };
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
    store.close().await;
    look
}
