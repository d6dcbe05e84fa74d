//! Reading a file that a person named, whole: what has no end, or waits for somebody, is refused.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fstatfs};
use thiserror::Error;

use crate::capture::sys::words;

/// The file system that holds pipes without a name, as `<(…)` and `/dev/stdin` have them.
const PIPEFS: u64 = 0x5049_5045;

/// A file that was not read.
#[derive(Debug, Error)]
#[error("{}", says(path, why))]
pub struct Unread {
    /// Which.
    pub path: PathBuf,
    /// Why not.
    pub why: Why,
}

/// Why a file was not read.
#[derive(Debug)]
pub enum Why {
    /// There is none.
    Missing,
    /// A folder.
    Folder,
    /// A device, which may have no end.
    Device,
    /// A named pipe, which may never get a writer.
    Pipe,
    /// A socket.
    Socket,
    /// It holds more than this many bytes.
    Large(u64),
    /// The system refuses.
    System(io::Error),
}

fn says(path: &Path, why: &Why) -> String {
    let path = path.display();
    match why {
        Why::Missing => format!("there is no file {path}"),
        _ => format!("{path} {}", why.says()),
    }
}

impl Why {
    /// What is said of the file, its name before it.
    pub fn says(&self) -> String {
        match self {
            Self::Missing => "is not there".to_owned(),
            Self::Folder => "is a folder".to_owned(),
            Self::Device => "is a device".to_owned(),
            Self::Pipe => "is a named pipe".to_owned(),
            Self::Socket => "is a socket".to_owned(),
            Self::Large(most) if *most >= 1 << 30 => {
                format!("holds more than {} GiB", most >> 30)
            }
            Self::Large(most) => format!("holds more than {} MiB", most >> 20),
            Self::System(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                "may not be read by this user".to_owned()
            }
            Self::System(error) => format!("cannot be read: {}", words(error)),
        }
    }

    fn of(kind: FileType) -> Option<Self> {
        if kind.is_dir() {
            Some(Self::Folder)
        } else if kind.is_char_device() || kind.is_block_device() {
            Some(Self::Device)
        } else if kind.is_socket() {
            Some(Self::Socket)
        } else if kind.is_fifo() {
            Some(Self::Pipe)
        } else {
            None
        }
    }
}

impl From<io::Error> for Why {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            io::ErrorKind::IsADirectory => Self::Folder,
            _ => Self::System(error),
        }
    }
}

/// Reads a file of at most `most` bytes. Folders, devices, sockets and named pipes are refused without
/// waiting for anybody; a pipe without a name (`<(…)`) is read to its end.
///
/// # Errors
/// When it is not there, is no file, holds more, or the system refuses.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, Unread> {
    take(path, most).map_err(|why| Unread {
        path: path.to_owned(),
        why,
    })
}

fn take(path: &Path, most: u64) -> Result<Vec<u8>, Why> {
    // Asked before it is opened: a device may do something when it is.
    match Why::of(fs::metadata(path)?.file_type()) {
        Some(Why::Pipe) | None => {}
        Some(other) => return Err(other),
    }
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    match Why::of(file.metadata()?.file_type()) {
        Some(Why::Pipe) if is_nameless(&file) => wait_for(&file)?,
        Some(other) => return Err(other),
        None => {}
    }
    let mut bytes = Vec::new();
    let count = Read::by_ref(&mut file)
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if u64::try_from(count).unwrap_or(u64::MAX) > most {
        return Err(Why::Large(most));
    }
    Ok(bytes)
}

fn is_nameless(pipe: &File) -> bool {
    fstatfs(pipe).is_ok_and(|system| u64::try_from(system.f_type) == Ok(PIPEFS))
}

/// Reads of it wait from now on.
fn wait_for(pipe: &File) -> io::Result<()> {
    let flags = fcntl_getfl(pipe)?;
    Ok(fcntl_setfl(pipe, flags - OFlags::NONBLOCK)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_or_waits_is_refused_and_the_rest_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let says = |path: &Path, most| read(path, most).unwrap_err().to_string();
        let file = folder.path().join("a");
        fs::write(&file, b"four").unwrap();
        assert_eq!(read(&file, 4).unwrap(), b"four");
        assert!(says(&file, 3).ends_with("holds more than 0 MiB"));
        let pipe = folder.path().join("p");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert!(says(&pipe, 4).ends_with("/p is a named pipe"));
        assert_eq!(says(Path::new("/dev/zero"), 4), "/dev/zero is a device");
        assert!(says(folder.path(), 4).ends_with(" is a folder"));
        assert!(says(&folder.path().join("none"), 4).starts_with("there is no file "));
        let socket = folder.path().join("s");
        let _kept = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(says(&socket, 4).ends_with("/s is a socket"));
    }
}
