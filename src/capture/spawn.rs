//! Starting the command, and saying why it could not be started.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

use thiserror::Error;

use crate::capture::sys::{self, Place};

/// What the command's descriptors 0, 1 and 2 become; none leaves one as it is.
#[derive(Debug, Default)]
pub struct Descriptors {
    /// Descriptor 0.
    pub stdin: Option<OwnedFd>,
    /// Descriptor 1.
    pub stdout: Option<OwnedFd>,
    /// Descriptor 2.
    pub stderr: Option<OwnedFd>,
}

/// The command could not be started.
#[derive(Debug, Error)]
#[error("cannot run `{program}`: {why}")]
pub struct CannotStart {
    /// The program's name as given.
    pub program: String,
    /// In words.
    pub why: String,
    /// The exit code a shell would give: 127 not found, 126 not to be run.
    pub code: i32,
}

impl CannotStart {
    /// Puts an error of the operating system into words.
    pub fn new(program: &OsStr, error: &io::Error) -> Self {
        let shown = program.to_string_lossy().into_owned();
        let missing = matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        );
        let why = if missing && !shown.contains('/') {
            format!("not found (an alias, function or builtin? then: rec bash -ic '{shown} …')")
        } else if missing && Path::new(program).exists() {
            "its interpreter was not found".to_owned()
        } else if missing {
            "not found".to_owned()
        } else if Path::new(program).is_dir() {
            "it is a directory".to_owned()
        } else {
            match error.kind() {
                io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
                _ => sys::words(error),
            }
        };
        Self {
            program: shown,
            why,
            code: if missing { 127 } else { 126 },
        }
    }
}

/// Starts a command; gives its process id. The descriptors given are closed on our side.
///
/// # Errors
/// When the program cannot be found or run.
pub fn spawn(argv: &[OsString], descriptors: Descriptors, place: Place) -> io::Result<i32> {
    let (program, args) = argv
        .split_first()
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut command = Command::new(program);
    command.args(args);
    for (set, descriptor) in [
        (
            Command::stdin as fn(&mut Command, Stdio) -> &mut Command,
            descriptors.stdin,
        ),
        (Command::stdout, descriptors.stdout),
        (Command::stderr, descriptors.stderr),
    ] {
        set(
            &mut command,
            descriptor.map_or_else(Stdio::inherit, Stdio::from),
        );
    }
    sys::prepare(&mut command, place);
    // With a hook this is fork and `execvp`, which hands a script without `#!` to the shell, as shells
    // do themselves.
    let child = command.spawn()?;
    i32::try_from(child.id()).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
}
