//! A terminal's modes on disk, for as long as a recorder keeps it raw: should the recorder and its
//! shim both be killed, the next `rec` on that terminal puts them back.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::termios::{LocalModes, tcgetattr};
use serde::{Deserialize, Serialize};

use crate::capture::home::Home;
use crate::capture::session;
use crate::capture::spool::{Recorder, lives};
use crate::capture::sys;

/// What is said when a terminal was mended.
pub const MENDED: &str =
    "this terminal was left raw by a recorder that was killed; its modes are put back";

/// What the file holds.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    recorder: Recorder,
    modes: Vec<u8>,
}

/// Where the modes of a terminal are kept, and by whom.
#[derive(Debug, Clone)]
pub struct Place {
    path: PathBuf,
    recorder: Recorder,
}

impl Place {
    /// The place for this process's terminal.
    pub fn new(home: &Home, recorder: Recorder) -> Self {
        Self {
            path: path(home),
            recorder,
        }
    }

    /// Writes down what a terminal's modes are. Without them a killed recorder is mended less well,
    /// which is no reason to fail.
    pub fn keep(&self, tty: impl AsFd) {
        let Some(modes) = sys::terminal_modes(tty.as_fd()) else {
            return;
        };
        let kept = Kept {
            recorder: self.recorder.clone(),
            modes,
        };
        let Ok(bytes) = serde_json::to_vec(&kept) else {
            return;
        };
        File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&self.path)
            .and_then(|mut file| file.write_all(&bytes))
            .ok();
    }

    /// Puts back what was written down. False where nothing is.
    pub fn restore(&self, tty: impl AsFd) -> bool {
        read(&self.path).is_some_and(|kept| sys::set_terminal_modes(tty.as_fd(), &kept.modes))
    }

    /// The terminal is as it was.
    pub fn forget(&self) {
        std::fs::remove_file(&self.path).ok();
    }
}

fn path(home: &Home) -> PathBuf {
    let mut name = session::terminal_path(home).into_os_string();
    name.push(".modes");
    PathBuf::from(name)
}

fn read(path: &Path) -> Option<Kept> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Whether nobody could work on a terminal in these modes: keys make no signals and no lines.
pub fn is_raw(tty: impl AsFd) -> bool {
    tcgetattr(tty).is_ok_and(|modes| {
        !modes
            .local_modes
            .intersects(LocalModes::ICANON | LocalModes::ISIG | LocalModes::ECHO)
    })
}

/// Puts this process's terminal back where a killed recorder left it raw. Whether that was needed.
pub fn mend(home: &Home) -> bool {
    let path = path(home);
    let Some(kept) = read(&path) else {
        return false;
    };
    if lives(&kept.recorder) {
        return false;
    }
    let Ok(tty) = File::options().read(true).write(true).open("/dev/tty") else {
        return false;
    };
    if !sys::is_foreground(tty.as_fd()).unwrap_or(false) {
        return false;
    }
    let mended = is_raw(&tty) && sys::set_terminal_modes(tty.as_fd(), &kept.modes);
    std::fs::remove_file(&path).ok();
    mended
}
