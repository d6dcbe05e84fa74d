//! What a recorder starts as it leaves: one ingest, beside everything, when spools have piled up.
//!
//! The command's end never waits for it. It is started on a terminal only (a script's recorder leaves
//! nothing behind), it says nothing, and a lock in the home sees to it that never two are at work.

use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use crate::capture::home::Home;
use crate::projection::ingest::{Patience, ingest, waiting};
use crate::projection::mend;
use crate::store;
use crate::time::Micros;

/// The word that `main` knows the ingest by.
pub const WORD: &str = "__ingest";
/// Spools that may wait.
const MANY: usize = 64;
/// How old the oldest may get while others come, in seconds.
const OLD_S: f64 = 3_600.0;

/// Starts an ingest when spools have piled up and a person is there.
pub fn start_if_due() {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let Ok(home) = Home::find() else { return };
    let (count, oldest) = waiting(&home);
    let old = oldest.is_some_and(|oldest| Micros::now().seconds_since(oldest) > OLD_S);
    if count < MANY && !(old && count > 1) {
        return;
    }
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    // A group of its own, so that keys of this terminal do not reach it; nobody waits for it.
    let started = Command::new(program)
        .arg(WORD)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/")
        .process_group(0)
        .spawn();
    drop(started);
}

/// The ingest itself. What keeps it from its work is told by the next verb that reads.
pub fn run() -> ExitCode {
    let done = store::block_on(async {
        let Ok(home) = Home::find() else { return false };
        let Ok(store) = mend::open(&home).await else {
            return false;
        };
        let done = ingest(&home, &store, Patience::Skip).await.is_ok();
        store.close().await;
        done
    });
    ExitCode::from(u8::from(!done.unwrap_or(false)))
}
