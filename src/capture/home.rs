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
    /// Its name is no text, which the database cannot be opened by.
    #[error(
        "the folder for records, {}, is not named in UTF-8: set REC_HOME to a folder whose name is",
        path.display()
    )]
    NotText {
        /// The folder.
        path: PathBuf,
    },
    /// Something else lies where it, or a folder above it, should be.
    #[error("{} is {what}, not a folder: set REC_HOME to a folder of yours", path.display())]
    NotFolder {
        /// What lies there.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Something else lies where a folder in it should be.
    #[error("{} is {what}, and rec keeps a folder there: move it away", path.display())]
    InTheWay {
        /// What lies there.
        path: PathBuf,
        /// What it is.
        what: &'static str,
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
    /// When none of these says anything, or what they say is no text.
    pub fn find() -> Result<Self, HomeError> {
        let found = Self::find_any()?;
        match found.root.to_str() {
            Some(_) => Ok(found),
            None => Err(HomeError::NotText { path: found.root }),
        }
    }

    fn find_any() -> Result<Self, HomeError> {
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

    /// Looks whether folders are where folders are to be, as far as anything is there.
    ///
    /// # Errors
    /// When something else lies there: what, and what to do.
    pub fn check(&self) -> Result<(), HomeError> {
        let above = self
            .root
            .ancestors()
            .filter(|path| path.exists() || is_link(path));
        if let Some(path) = above.into_iter().find(|path| !path.is_dir()) {
            return Err(HomeError::NotFolder {
                path: path.to_owned(),
                what: what_is(path),
            });
        }
        let state = self.state_dir();
        let within = [
            self.spool_dir(),
            self.broken_dir(),
            self.index_dir(),
            state.clone(),
            state.join("sessions"),
            state.join("terminals"),
        ];
        let not = |path: &PathBuf| (path.exists() || is_link(path)) && !path.is_dir();
        match within.into_iter().find(not) {
            Some(path) => Err(HomeError::InTheWay {
                what: what_is(&path),
                path,
            }),
            None => Ok(()),
        }
    }

    /// Makes the folders that recording needs, readable by their owner alone.
    ///
    /// # Errors
    /// When one of them is not there and cannot be made.
    pub fn prepare(&self) -> Result<(), HomeError> {
        let state = self.state_dir();
        let missing = [
            self.spool_dir(),
            state.join("sessions"),
            state.join("terminals"),
        ];
        if missing.iter().any(|path| !path.is_dir()) {
            self.check()?;
        }
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

fn is_link(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink())
}

/// What lies where a folder should be, in words.
fn what_is(path: &Path) -> &'static str {
    match std::fs::metadata(path).map(|meta| meta.file_type()) {
        Ok(kind) if kind.is_file() => "a file",
        Ok(_) => "a device, pipe or socket",
        Err(_) => "a link that leads nowhere",
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
    fn what_lies_in_the_way_is_named_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, b"").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path().join("none"), &link).unwrap();
        let says = |root: &Path| {
            let home = Home::at(root);
            let said = home.prepare().unwrap_err().to_string();
            assert_eq!(said, home.check().unwrap_err().to_string());
            said
        };
        let is = |what: &str| format!("{what}, not a folder: set REC_HOME to a folder of yours");
        assert!(says(&file).ends_with(&is("/file is a file")));
        assert!(says(&file.join("below")).ends_with(&is("/file is a file")));
        assert!(says(&link).ends_with(&is("/link is a link that leads nowhere")));
        std::fs::write(dir.path().join("spool"), b"").unwrap();
        assert!(
            says(dir.path())
                .ends_with("/spool is a file, and rec keeps a folder there: move it away")
        );
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
