//! Opening the database: made under a lock, brought up to date under a lock, refused when newer.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::Access;
use sqlx::ConnectOptions;
use sqlx::Connection;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};

use super::error::is_full;
use super::{Store, StoreError};
use crate::capture::locked;
use crate::time::Micros;

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// How long a writer waits for another one before it gives up.
const BUSY: Duration = Duration::from_secs(20);
/// Connections at most: one writes, the others read beside it.
const CONNECTIONS: u32 = 4;

/// The newest database version this program knows.
pub(super) fn known_version() -> i64 {
    MIGRATIONS
        .iter()
        .map(|migration| migration.version)
        .max()
        .unwrap_or(0)
}

impl Store {
    /// Opens the database in `home`, making both where they are missing.
    ///
    /// # Errors
    /// When the folder cannot be written, or the database is newer, foreign or damaged.
    pub async fn open(home: &Path) -> Result<Self, StoreError> {
        make_private_dir(home)?;
        let path = database_path(home);
        let (pool, new) = match open_current(home, &path).await? {
            Some(pool) => (pool, false),
            None => {
                let new = migrate(home, &path).await?;
                (pool(options(&path)), new)
            }
        };
        Ok(Self {
            new,
            ..Self::new(home, path, pool, false)
        })
    }

    /// Opens the database in `home` for reading only; nothing is made or changed.
    ///
    /// # Errors
    /// When there is none, or it is of another version, foreign or damaged.
    pub async fn open_read(home: &Path) -> Result<Self, StoreError> {
        let path = database_path(home);
        if !path.exists() {
            return Err(StoreError::Missing { path });
        }
        // A database that nobody can write to and that has no log beside it can only be opened as
        // one that does not change.
        let wal = beside(&path, "-wal");
        let quiet = fs::metadata(&wal).map_or(true, |meta| meta.len() == 0);
        let writable = rustix::fs::access(home, Access::WRITE_OK).is_ok() && !is_full(home);
        let options = options(&path).read_only(true).immutable(quiet && !writable);
        let pool = pool(options);
        match pool_version(&path, &pool).await? {
            0 => Err(StoreError::Missing { path }),
            found if found > known_version() => Err(newer(path, found)),
            found if found < known_version() => Err(StoreError::ReadOnly { path }),
            _ => Ok(Self::new(home, path, pool, true)),
        }
    }

    /// Opens the database for writing where that can be, else for reading only.
    ///
    /// # Errors
    /// As [`Store::open`] and [`Store::open_read`].
    pub async fn open_any(home: &Path) -> Result<Self, StoreError> {
        match Self::open(home).await {
            Err(error) if error.is_read_only() || matches!(error, StoreError::Full { .. }) => {
                let full = is_full(home);
                match Self::open_read(home).await {
                    Ok(store) => Ok(Self { full, ..store }),
                    Err(StoreError::Missing { .. } | StoreError::Full { .. }) => Err(error),
                    Err(second) => Err(second),
                }
            }
            result => result,
        }
    }
}

/// A file's device and number; none where there is no file.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    let meta = fs::metadata(path).ok()?;
    Some((meta.dev(), meta.ino()))
}

pub(super) fn database_path(home: &Path) -> PathBuf {
    home.join("rec.db")
}

/// Makes a folder that only its owner can enter, with the folders above it.
///
/// # Errors
/// When the system refuses.
pub fn make_private_dir(path: &Path) -> Result<(), StoreError> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|source| StoreError::Unwritable {
            path: path.to_owned(),
            source,
        })
}

pub(super) fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .busy_timeout(BUSY)
        // The spool is the record until its events are committed, and it is deleted only after
        // that: a commit lost with the machine's power must not be the only copy.
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .pragma("recursive_triggers", "on")
        .pragma("secure_delete", "on")
        .pragma("trusted_schema", "off")
        .pragma("cache_size", "-16384")
        .disable_statement_logging()
}

pub(super) fn pool(options: SqliteConnectOptions) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(CONNECTIONS)
        .test_before_acquire(false)
        .acquire_timeout(BUSY)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(options)
}

async fn pool_version(path: &Path, pool: &SqlitePool) -> Result<i64, StoreError> {
    let mut connection = pool
        .acquire()
        .await
        .map_err(|error| StoreError::of(path, error))?;
    user_version(path, &mut connection).await
}

async fn user_version(path: &Path, connection: &mut SqliteConnection) -> Result<i64, StoreError> {
    sqlx::query_scalar("pragma user_version")
        .fetch_one(connection)
        .await
        .map_err(|error| StoreError::of(path, error))
}

fn newer(path: PathBuf, found: i64) -> StoreError {
    StoreError::Newer {
        path,
        found,
        known: known_version(),
    }
}

/// Opens an existing database that is up to date; `None` when it has to be made or migrated.
async fn open_current(home: &Path, path: &Path) -> Result<Option<SqlitePool>, StoreError> {
    rustix::fs::access(home, Access::WRITE_OK).map_err(|error| StoreError::Unwritable {
        path: home.to_owned(),
        source: error.into(),
    })?;
    match fs::metadata(path) {
        Ok(meta) if meta.len() > 0 => {}
        // A new one is made whole under another name: an empty file was emptied by something else.
        Ok(_) => {
            return Err(StoreError::Damaged {
                path: path.to_owned(),
                why: "it is empty".to_owned(),
            });
        }
        Err(_) => return Ok(None),
    }
    // Asked of the system rather than of SQLite, whose words for it say less.
    OpenOptions::new()
        .read(true)
        .append(true)
        .open(path)
        .map_err(|source| StoreError::Unwritable {
            path: path.to_owned(),
            source,
        })?;
    let pool = pool(options(path));
    let found = pool_version(path, &pool).await?;
    if found == known_version() {
        return Ok(Some(pool));
    }
    pool.close().await;
    if found > known_version() {
        return Err(newer(path.to_owned(), found));
    }
    Ok(None)
}

/// Keeps other processes from making, migrating or moving the database.
pub(super) fn lock(home: &Path) -> Result<File, StoreError> {
    locked::hold(&home.join("migrate.lock")).map_err(|source| StoreError::Unwritable {
        path: home.to_owned(),
        source,
    })
}

/// Makes the database or brings it up to date, while no other process does the same. Whether it was
/// made.
async fn migrate(home: &Path, path: &Path) -> Result<bool, StoreError> {
    let _lock = lock(home)?;
    if path.exists() {
        bring_up_to_date(path).await?;
        return Ok(false);
    }
    // A log that was left behind belongs to a database that is gone: beside a new one SQLite would
    // throw it away.
    set_log_aside(path, &aside(path))?;
    let unborn = make(home).await?;
    rename(&unborn, path)?;
    Ok(true)
}

/// Makes an empty database under another name, so that nobody ever sees half of one.
pub(super) async fn make(home: &Path) -> Result<PathBuf, StoreError> {
    let path = home.join("rec.db.new");
    for left in ["", "-wal", "-shm", "-journal"] {
        fs::remove_file(beside(&path, left)).ok();
    }
    // Made by hand, so that it is never readable by others, not even for a moment.
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&path)
        .map_err(|source| StoreError::Unwritable {
            path: home.to_owned(),
            source,
        })?;
    bring_up_to_date(&path).await?;
    Ok(path)
}

/// The file that SQLite keeps beside a database under its name and this ending.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// A name for a damaged database that no file has yet.
pub(super) fn aside(path: &Path) -> PathBuf {
    let now = Micros::now().rfc3339();
    let stamp: String = now
        .split('.')
        .next()
        .unwrap_or_default()
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let name = beside(path, &format!(".damaged-{stamp}Z"));
    (2..1000)
        .map(|count| beside(&name, &format!("-{count}")))
        .fold(
            name.clone(),
            |free, next| {
                if free.exists() { next } else { free }
            },
        )
}

/// Moves what SQLite keeps beside a database.
pub(super) fn set_log_aside(path: &Path, to: &Path) -> Result<(), StoreError> {
    for ending in ["-wal", "-shm"] {
        let from = beside(path, ending);
        if from.exists() {
            rename(&from, &beside(to, ending))?;
        }
    }
    Ok(())
}

pub(super) fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::rename(from, to).map_err(|source| StoreError::Unwritable {
        path: from.to_owned(),
        source,
    })
}

async fn bring_up_to_date(path: &Path) -> Result<(), StoreError> {
    let options = options(path).journal_mode(SqliteJournalMode::Wal);
    let mut connection = options
        .connect()
        .await
        .map_err(|error| StoreError::of(path, error))?;
    let found = user_version(path, &mut connection).await?;
    if found > known_version() {
        return Err(newer(path.to_owned(), found));
    }
    if found == 0 && has_tables(path, &mut connection).await? {
        return Err(StoreError::Foreign {
            path: path.to_owned(),
        });
    }
    if found < known_version() {
        MIGRATIONS
            .run(&mut connection)
            .await
            .map_err(|error| match error {
                sqlx::migrate::MigrateError::Execute(error)
                | sqlx::migrate::MigrateError::ExecuteMigration(error, _) => {
                    StoreError::of(path, error)
                }
                other => StoreError::of(path, sqlx::Error::Migrate(Box::new(other))),
            })?;
    }
    connection
        .close()
        .await
        .map_err(|error| StoreError::of(path, error))?;
    // SQLite makes its log beside the database with the database's own mode; a database that was
    // made under another umask is put right here.
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(|source| {
        StoreError::Unwritable {
            path: path.to_owned(),
            source,
        }
    })
}

async fn has_tables(path: &Path, connection: &mut SqliteConnection) -> Result<bool, StoreError> {
    sqlx::query_scalar(
        "select exists (select 1 from sqlite_schema where name not like '\\_sqlx%' escape '\\'
            and name not like 'sqlite\\_%' escape '\\')",
    )
    .fetch_one(connection)
    .await
    .map_err(|error| StoreError::of(path, error))
}
