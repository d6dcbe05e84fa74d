//! A small file of state under a lock: whole when it is there at all, so that an empty or garbled one
//! is known to be damaged and is never taken for a new one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;

/// What a file holds that holds nothing: the first line of a new one.
const NOTHING: &[u8] = b"-\n";

/// How often a held lock is tried again, a millisecond apart: nobody holds one for longer than a
/// few writes, so a holder this slow is stopped.
const LOCK_TRIES: u32 = 250;

/// Opens a file that holds nothing and is only locked, made where it is missing.
///
/// # Errors
/// When the system refuses.
pub fn lock_file(path: &Path) -> io::Result<File> {
    File::options()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

/// Waits until nobody else holds such a file, and holds it as long as what is returned lives.
///
/// # Errors
/// When the system refuses.
pub fn hold(path: &Path) -> io::Result<File> {
    let file = lock_file(path)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

/// Why a file of state cannot be used.
#[derive(Debug)]
pub enum Unusable {
    /// Somebody holds the lock and does not let go.
    Busy,
    /// The system refused.
    Io(io::Error),
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What a file of state holds.
#[derive(Debug, PartialEq, Eq)]
pub enum Content<T> {
    /// Nothing, as was written.
    Nothing,
    /// This.
    Some(T),
    /// What nobody wrote there: it is empty, or does not read.
    Damaged,
}

impl<T> Content<T> {
    /// Understands a file's bytes: the first line alone, as a write that was cut short may leave the
    /// end of a longer one behind it.
    pub fn of(bytes: &[u8], read: impl FnOnce(&[u8]) -> Option<T>) -> Self {
        let line = bytes.split(|byte| *byte == b'\n').next();
        match line.unwrap_or_default() {
            b"" => Self::Damaged,
            b"-" => Self::Nothing,
            line => read(line).map_or(Self::Damaged, Self::Some),
        }
    }
}

/// A small file, held under an exclusive lock until dropped.
pub struct Locked(File);

impl Locked {
    /// Opens it, made where it is missing, and waits for the lock.
    ///
    /// # Errors
    /// When the system refuses, or somebody does not let go of the lock.
    pub fn open(path: &Path) -> Result<Self, Unusable> {
        let file = match File::options().read(true).write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // `register` may come before any recording made the folders.
                make_parents(path.parent().unwrap_or(Path::new(".")))?;
                make(path)?;
                File::options().read(true).write(true).open(path)?
            }
            other => other?,
        };
        for _ in 0..LOCK_TRIES {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self(file)),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return Err(Unusable::Io(error.into())),
            }
        }
        Err(Unusable::Busy)
    }

    /// All it holds.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&self.0).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Replaces what it holds by a line, with one write, so that a kill leaves the old or the new.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write(&self, line: &str) -> io::Result<()> {
        let bytes = format!("{line}\n").into_bytes();
        let before = self.0.metadata()?.len();
        self.0.write_all_at(&bytes, 0)?;
        if before > bytes.len() as u64 {
            self.0.set_len(bytes.len() as u64)?;
        }
        Ok(())
    }

    /// Replaces what it holds by nothing.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn clear(&self) -> io::Result<()> {
        self.write("-")
    }
}

/// Makes a new one whole under another name: nobody sees it empty.
fn make(path: &Path) -> io::Result<()> {
    let create = |path: &Path| {
        File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .and_then(|mut file| file.write_all(NOTHING))
    };
    let unborn = unborn(path);
    let made = create(&unborn).and_then(|()| std::fs::hard_link(&unborn, path));
    std::fs::remove_file(&unborn).ok();
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // Some file systems have no links.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::EOPNOTSUPP)) => {
            match create(path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                _ => Ok(()),
            }
        }
        other => other,
    }
}

fn unborn(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{}", uuid::Uuid::new_v4().simple()));
    path.with_file_name(name)
}

fn make_parents(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}
