//! The command `rec`: the first word decides, a verb of ours or a program to record.

use std::ffi::OsString;
use std::process::ExitCode;

use casebook::cmd::run::{self, Line};
use casebook::cmd::{tidy, verbs};

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let name = words.next().unwrap_or_else(|| OsString::from("rec"));
    let words: Vec<OsString> = words.collect();
    if words.len() == 1 && words[0] == tidy::WORD {
        return tidy::run();
    }
    match run::understand(words) {
        Line::Record(options, argv) => run::run(&options, &argv),
        Line::Verb(options, words) => {
            verbs::main(&options, std::iter::once(name).chain(words).collect())
        }
        Line::Wrong(why) => run::refuse(&why),
    }
}
