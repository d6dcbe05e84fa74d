//! The verbs: one file each. `main` sends a line here when its first word is one of them.

pub mod run;
pub mod desk;
pub mod next;
mod page;
pub mod paint;
pub mod sessions;
pub mod show;
pub mod timeline;
pub mod why;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs one of our verbs; `args` begins with it.
pub fn dispatch(args: Vec<OsString>) -> ExitCode {
    use std::io::Write;
    let verb = args.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let asked = matches!(verb.as_str(), "help" | "--help" | "-h");
    let text = if asked {
        "Usage: rec [--quiet] [--session S] COMMAND [ARG…]\n       rec VERB [OPTIONS]\n".to_owned()
    } else {
        format!("rec: `{verb}` is not there yet\n")
    };
    if asked {
        std::io::stdout().write_all(text.as_bytes()).ok();
        ExitCode::SUCCESS
    } else {
        std::io::stderr().write_all(text.as_bytes()).ok();
        ExitCode::from(2)
    }
}
