//! The store's key of fingerprints: 32 random bytes in `REC_HOME/mask.key`, made when the first
//! secret is masked. Whoever has it can try guesses against fingerprints, and nobody else.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::redact::{Keys, Marker};

/// The name of the file in the home.
pub const FILE: &str = "mask.key";

/// Where a key lies that was cut short.
pub const DAMAGED: &str = "mask.key.damaged";

/// A home's key, read when it is first needed.
#[derive(Debug)]
struct HomeKeys {
    path: PathBuf,
    key: OnceLock<[u8; 32]>,
}

impl Keys for HomeKeys {
    fn key(&self) -> [u8; 32] {
        // Without one, equal secrets are no longer seen to be equal; they are masked all the same.
        *self
            .key
            .get_or_init(|| load(&self.path).unwrap_or_else(|_| passing()))
    }
}

/// What masks secrets for the home in this folder.
pub fn marker(home: &Path) -> Marker {
    Marker::new(Arc::new(HomeKeys {
        path: home.join(FILE),
        key: OnceLock::new(),
    }))
}

fn load(path: &Path) -> io::Result<[u8; 32]> {
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        // Cut short it is no key; kept, so that `rec doctor` can say why older marks differ.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            std::fs::rename(path, path.with_file_name(DAMAGED))?;
        }
        other => return other,
    }
    // Made whole under another name: a reader never sees half a key, and of two makers one wins.
    let mut key = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    let unborn = path.with_extension(format!("new-{}", uuid::Uuid::new_v4()));
    let made = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unborn)
        .and_then(|mut file| file.write_all(&key))
        .and_then(|()| std::fs::hard_link(&unborn, path));
    std::fs::remove_file(&unborn).ok();
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => read(path),
    }
}

fn read(path: &Path) -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    File::open(path)?.read_exact(&mut key)?;
    Ok(key)
}

/// A key for this process alone.
fn passing() -> [u8; 32] {
    let mut key = [0; 32];
    for half in key.chunks_mut(16) {
        half.copy_from_slice(uuid::Uuid::new_v4().as_bytes());
    }
    key
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_home_has_one_key_that_nobody_else_reads() {
        let dir = tempfile::tempdir().unwrap();
        let prints: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| marker(dir.path()).text("password: hunter2x\n")))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(prints.iter().all(|print| *print == prints[0]));
        let files: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
        assert_eq!(files.len(), 1);
        let mode = dir
            .path()
            .join(FILE)
            .metadata()
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(marker(other.path()).text("password: hunter2x\n"), prints[0]);
    }

    #[test]
    fn without_a_home_secrets_are_masked_all_the_same() {
        let text = marker(Path::new("/nonexistent/home")).text("password: hunter2x\n");
        assert!(!text.contains("hunter2x"));
    }
}
