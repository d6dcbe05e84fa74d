//! A damaged database: finding that it is one, and going on with a new one in its place.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::{ConnectOptions, Connection};

use super::open::{aside, database_path, lock, make, options, rename, set_log_aside};
use super::salvage::{Salvaged, salvage};
use super::{Store, StoreError};

/// Checks in the order of their cost: the second one looks at what the first leaves out.
const CHECKS: [&str; 2] = ["pragma quick_check(1)", "pragma integrity_check(1)"];

/// How often a check that gave no answer is tried again, and when.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(50);

impl Store {
    /// Reads the whole file once, as far as its own order goes. Seconds for a gigabyte.
    ///
    /// # Errors
    /// When it is damaged, or does not answer.
    pub async fn check(&self) -> Result<(), StoreError> {
        check(&self.path, &CHECKS[..1]).await
    }

    /// Moves a damaged database aside, with what SQLite keeps beside it, and puts a new one in its
    /// place with everything that still reads; gives where the old one lies now, and what was saved. `None` when the one that is there now is in order:
    /// another process was quicker.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub async fn set_aside(home: &Path) -> Result<Option<(PathBuf, Salvaged)>, StoreError> {
        let path = database_path(home);
        let _lock = lock(home)?;
        match fs::metadata(&path) {
            Err(_) => return Ok(None),
            Ok(meta) if meta.len() == 0 => {}
            Ok(_) => match check_patiently(&path).await {
                Ok(()) => return Ok(None),
                Err(StoreError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            },
        }
        // The new one first: a disk without room for it keeps the old one where it is.
        let unborn = make(home).await?;
        let saved = salvage(home, &path, &unborn).await?;
        let to = aside(&path);
        rename(&path, &to)?;
        set_log_aside(&path, &to)?;
        rename(&unborn, &path)?;
        Ok(Some((to, saved)))
    }
}

/// The same while another process may just be closing the file, which is then refused for a moment.
async fn check_patiently(path: &Path) -> Result<(), StoreError> {
    for _ in 0..TRIES {
        match check(path, &CHECKS).await {
            Err(
                StoreError::Database { .. } | StoreError::Disk { .. } | StoreError::Busy { .. },
            ) => {
                tokio::time::sleep(PAUSE).await;
            }
            other => return other,
        }
    }
    check(path, &CHECKS).await
}

/// Asks SQLite whether a database is in order, without changing anything.
async fn check(path: &Path, checks: &[&'static str]) -> Result<(), StoreError> {
    let of = |error| StoreError::of(path, error);
    let mut connection = options(path).read_only(true).connect().await.map_err(of)?;
    let mut said = "ok".to_owned();
    for check in checks {
        said = sqlx::query_scalar(*check)
            .fetch_one(&mut connection)
            .await
            .map_err(of)?;
        if said != "ok" {
            break;
        }
    }
    connection.close().await.map_err(of)?;
    if said == "ok" {
        return Ok(());
    }
    Err(StoreError::Damaged {
        path: path.to_owned(),
        why: "a part of it does not read".to_owned(),
    })
}
