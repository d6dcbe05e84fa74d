//! Writing a file that a person named: all of it or nothing.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file. One that is there keeps its name, mode and what links to it, and its old content when
/// the new one cannot be written; one that is not there is not left half made.
///
/// # Errors
/// When the system refuses.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Through links, so that they stay. A terminal or a pipe is written to as it is.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let there = fs::metadata(&real);
    if there.as_ref().is_ok_and(|meta| !meta.is_file()) {
        return fs::write(&real, bytes);
    }
    let unborn = beside(&real);
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&unborn);
    let mut file = match made {
        Ok(file) => file,
        // A file may be writable where its folder is not.
        Err(_) if there.is_ok() => return fs::write(&real, bytes),
        Err(error) => return Err(error),
    };
    let written = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| match &there {
            Ok(meta) => file.set_permissions(meta.permissions()),
            Err(_) => Ok(()),
        })
        .and_then(|()| fs::rename(&unborn, &real));
    if written.is_err() {
        fs::remove_file(&unborn).ok();
    }
    written
}

/// A name beside a file that nothing has.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_is_there_keeps_mode_and_links_and_nothing_is_left_beside() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a"), folder.path().join("b"));
        write(&file, b"one").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        write(&link, b"two").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert!(link.is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        assert!(write(&folder.path().join("none/c"), b"x").is_err());
        write(Path::new("/dev/null"), b"x").unwrap();
    }
}
