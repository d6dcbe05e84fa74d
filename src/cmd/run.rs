//! `rec COMMAND [ARG…]`: runs a command, records it, and ends as it ended.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::capture::run::{self, Options};
use crate::capture::sys;
use crate::cmd::hint;
use crate::event::Exit;
use crate::report;
use crate::settings::Settings;

/// `rec`'s own failure before anything was started.
const OURS: u8 = 125;

/// What stands between `rec` and the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Say nothing on standard error.
    pub quiet: bool,
    /// Record into this session.
    pub session: Option<String>,
    /// Record input too. The word is kept for it; that it is not built is said.
    pub stdin: bool,
}

/// Runs and records a command. Where a signal ended it, that signal ends this process too.
pub fn run(options: &RunOptions, argv: &[OsString]) -> ExitCode {
    let tell = |line: &str| {
        if !options.quiet {
            match argv.first().and_then(|word| slip(word, line)) {
                Some(verb) => say(&format!("{line} (is `rec {verb}` meant?)")),
                None => say(line),
            }
        }
    };
    if options.stdin {
        tell("`--stdin` is not built yet: this command is recorded without its input");
    }
    if let Some(hint) = (!options.quiet).then(|| hint::before(argv)).flatten() {
        say(&hint);
    }
    let ended = run::record(
        &Options {
            session: options.session.clone(),
            cap: Settings::read().cap(),
        },
        argv,
        &tell,
    );
    if ended.is_ok() {
        crate::cmd::tidy::start_if_due();
    }
    match ended {
        Ok(Exit::Code(code)) => ExitCode::from(u8::try_from(code & 0xff).unwrap_or(OURS)),
        Ok(Exit::Signal(signal)) => {
            sys::die_by(signal);
            // Still here: process 1 of a container cannot die by a signal it sends itself.
            ExitCode::from(u8::try_from(128 + signal).unwrap_or(OURS))
        }
        Ok(Exit::Lost | Exit::Running | Exit::Stopped(_)) => ExitCode::from(OURS),
        Err(error) => {
            tell(&error.to_string());
            ExitCode::from(OURS)
        }
    }
}

/// The verb that a program which is not there was most likely meant to be.
fn slip(program: &OsString, line: &str) -> Option<&'static str> {
    if !line.contains("not found") && !line.contains("no such") {
        return None;
    }
    let word = program.to_str()?.to_lowercase();
    let far = |verb: &str| if verb.len() > 5 { 2 } else { 1 };
    VERBS
        .iter()
        .filter(|verb| strsim::osa_distance(&word, verb) <= far(verb))
        .min_by_key(|verb| strsim::osa_distance(&word, verb))
        .copied()
}

fn say(line: &str) {
    use std::io::Write;
    // Standard error may be gone; that is no reason to fail.
    writeln!(std::io::stderr(), "rec: {}", report::plain(line)).ok();
}

/// How a command line is to be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A program to record.
    Record(RunOptions, Vec<OsString>),
    /// One of our verbs, with everything after it, and what stands before it; or options that are
    /// not about recording.
    Verb(RunOptions, Vec<OsString>),
    /// Something is missing or unknown.
    Wrong(String),
}

/// Words that are verbs, built or not, and never programs.
pub const VERBS: &[&str] = &[
    "shell",
    "why",
    "next",
    "timeline",
    "show",
    "sessions",
    "changes",
    "replay",
    "new",
    "use",
    "end",
    "note",
    "confirm",
    "dismiss",
    "search",
    "playbook",
    "postmortem",
    "import",
    "export",
    "serve",
    "mcp",
    "verify",
    "rebuild",
    "forget",
    "doctor",
    "demo",
    "help",
    "version",
];

/// Understands a command line, without the program's own name, by its first word.
pub fn understand(args: Vec<OsString>) -> Line {
    let mut options = RunOptions::default();
    let mut words = args.into_iter();
    let mut given = false;
    while let Some(word) = words.next() {
        let rest = |word: OsString, words: std::vec::IntoIter<OsString>| {
            std::iter::once(word).chain(words).collect::<Vec<_>>()
        };
        match word.to_str() {
            Some("--") => {
                let argv: Vec<OsString> = words.collect();
                return if argv.is_empty() {
                    Line::Wrong("nothing to record after `--`".to_owned())
                } else {
                    Line::Record(options, argv)
                };
            }
            Some("--quiet" | "-q") => options.quiet = true,
            Some("--stdin") => options.stdin = true,
            Some("--session") => match words.next() {
                Some(session) => options.session = Some(session.to_string_lossy().into_owned()),
                None => return Line::Wrong("`--session` needs a session".to_owned()),
            },
            Some(text) if text.starts_with("--session=") => {
                options.session = text.split_once('=').map(|(_, session)| session.to_owned());
            }
            Some("--help" | "-h" | "--version" | "-V") if !given => {
                return Line::Verb(options, rest(word, words));
            }
            Some(text) if text.starts_with('-') => {
                return Line::Wrong(format!(
                    "unknown option `{text}` (before a program: --quiet, --session S)"
                ));
            }
            Some(text) if VERBS.contains(&text) => {
                return Line::Verb(options, rest(word, words));
            }
            _ => return Line::Record(options, rest(word, words)),
        }
        given = true;
    }
    Line::Verb(options, vec![OsString::from("--help")])
}

/// Says what is wrong with a command line; the exit code for it.
pub fn refuse(why: &str) -> ExitCode {
    say(why);
    ExitCode::from(OURS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        understand(text.split_whitespace().map(OsString::from).collect())
    }

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn a_slip_of_a_verb_is_noticed() {
        let slip = |word: &str| super::slip(&word.into(), "cannot run it: not found");
        assert_eq!(slip("whyy"), Some("why"));
        assert_eq!(slip("timelin"), Some("timeline"));
        assert_eq!(slip("sesions"), Some("sessions"));
        assert_eq!(slip("nvidia-smi"), None);
        assert_eq!(super::slip(&"whyy".into(), "the record is short"), None);
    }

    #[test]
    fn the_first_word_decides() {
        assert_eq!(
            line("why last --json"),
            Line::Verb(RunOptions::default(), words("why last --json"))
        );
        assert_eq!(
            line("ls why"),
            Line::Record(RunOptions::default(), words("ls why"))
        );
        assert_eq!(
            line("-- why x"),
            Line::Record(RunOptions::default(), words("why x"))
        );
        assert_eq!(line(""), Line::Verb(RunOptions::default(), words("--help")));
        let Line::Verb(options, verb) = line("--session s-ab forget 1") else {
            panic!("not a verb");
        };
        assert_eq!(options.session.as_deref(), Some("s-ab"));
        assert_eq!(verb, words("forget 1"));
    }

    #[test]
    fn our_options_stand_before_the_program_and_its_own_stay_its_own() {
        let Line::Record(options, argv) = line("--quiet --session s-ab grep --quiet -- x") else {
            panic!("not a recording");
        };
        assert!(options.quiet && options.session.as_deref() == Some("s-ab"));
        assert_eq!(argv, words("grep --quiet -- x"));
        assert!(matches!(line("--nonsense ls"), Line::Wrong(_)));
        assert!(matches!(line("--session"), Line::Wrong(_)));
        assert!(matches!(line("--"), Line::Wrong(_)));
    }
}
