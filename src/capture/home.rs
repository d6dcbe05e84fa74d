//! Where everything is kept: the home folder and the places in it.

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::capture::sys::words;

/// No home folder could be found or made.
#[derive(Debug, Error)]
pub enum HomeError {
    /// Nothing says where it should be.
    #[error(
        "nowhere to keep records: REC_HOME and HOME are unset, and user {uid} has no entry in /etc/passwd"
    )]
    Nowhere {
        /// The user asked about.
        uid: u32,
    },
    /// It could not be made.
    #[error("cannot make {}: {}", path.display(), words(source))]
    Make {
        /// The folder.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

/// The home folder: `rec.db`, `spool/`, `index/`, `state/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// Takes a folder as home; nothing is made yet.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Finds it: `REC_HOME`, else `$XDG_DATA_HOME/casebook`, else `.local/share/casebook` in the
    /// user's home (`HOME`, else the passwd entry).
    ///
    /// # Errors
    /// When none of these says anything.
    pub fn find() -> Result<Self, HomeError> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(root) = set("REC_HOME") {
            return Ok(Self::at(root));
        }
        let absolute = |name: &str| {
            set(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        if let Some(data) = absolute("XDG_DATA_HOME") {
            return Ok(Self::at(data.join("casebook")));
        }
        let uid = rustix::process::geteuid().as_raw();
        let home = absolute("HOME")
            .or_else(|| passwd_entry(uid).map(|entry| entry.home))
            .ok_or(HomeError::Nowhere { uid })?;
        Ok(Self::at(home.join(".local/share/casebook")))
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.root.join("rec.db")
    }

    /// The folder of spools.
    pub fn spool_dir(&self) -> PathBuf {
        self.root.join("spool")
    }

    /// The folder of spools that could not be read to their end.
    pub fn broken_dir(&self) -> PathBuf {
        self.spool_dir().join("broken")
    }

    /// The folder of the search index.
    pub fn index_dir(&self) -> PathBuf {
        self.root.join("index")
    }

    /// The folder of session state.
    pub fn state_dir(&self) -> PathBuf {
        self.root.join("state")
    }

    /// What masks secrets here.
    pub fn marker(&self) -> crate::redact::Marker {
        crate::capture::keys::marker(&self.root)
    }

    /// Makes the folders that recording needs, readable by their owner alone.
    ///
    /// # Errors
    /// When one of them is not there and cannot be made.
    pub fn prepare(&self) -> Result<(), HomeError> {
        let state = self.state_dir();
        for path in [
            self.spool_dir(),
            state.join("sessions"),
            state.join("terminals"),
        ] {
            make_private(&path).map_err(|source| HomeError::Make { path, source })?;
        }
        Ok(())
    }
}

fn make_private(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A line of /etc/passwd, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasswdEntry {
    /// Login name.
    pub name: String,
    /// Home folder.
    pub home: PathBuf,
}

/// Looks a user up in /etc/passwd (and nowhere else: the name service would cost milliseconds).
pub fn passwd_entry(uid: u32) -> Option<PasswdEntry> {
    find_passwd(&std::fs::read("/etc/passwd").ok()?, uid)
}

fn find_passwd(file: &[u8], uid: u32) -> Option<PasswdEntry> {
    let wanted = uid.to_string();
    file.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        let name = fields.next()?;
        let id = fields.nth(1)?;
        let home = fields.nth(2)?;
        (id == wanted.as_bytes() && home.starts_with(b"/")).then(|| PasswdEntry {
            name: String::from_utf8_lossy(name).into_owned(),
            home: PathBuf::from(OsStr::from_bytes(home)),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_passwd_line() {
        let file =
            b"root:x:0:0:root:/root:/bin/sh\nbroken\nann:x:1000:1000:Ann,,,:/home/ann:/bin/zsh\n";
        let entry = find_passwd(file, 1000).unwrap();
        assert_eq!(
            (entry.name.as_str(), entry.home.as_path()),
            ("ann", Path::new("/home/ann"))
        );
        assert_eq!(find_passwd(file, 7), None);
    }

    #[test]
    fn folders_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("a/b"));
        home.prepare().unwrap();
        home.prepare().unwrap();
        for path in [home.path().to_owned(), home.spool_dir(), home.state_dir()] {
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        }
    }
}
