//! The words of the command line: types for clap, nothing else.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Record what you run while you debug a server, and be told what is wrong.
#[derive(Debug, Parser)]
#[command(
    name = "rec",
    version,
    about = "Record what you run while you debug a server, and be told what is wrong",
    override_usage = "rec [--quiet] [--session S] COMMAND [ARG…]\n       rec [--session S] VERB [OPTIONS]",
    after_help = "The first word decides: one of the verbs above, or a program to record.\n\
                  `rec -- WORD …` always records. Options of rec stand before the program.\n\n\
                  Start with:  rec ssh HOST 'COMMAND'   then:  rec why",
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// Reads a line, the program's name first. `colour`: help may be written with escapes.
///
/// # Errors
/// When it is no verb's line, or asks for help: the text to show, and whether it is an error.
pub fn read(words: Vec<std::ffi::OsString>, colour: bool) -> Result<Cli, (String, bool)> {
    Cli::try_parse_from(words).map_err(|error| {
        if error.kind() == clap::error::ErrorKind::InvalidUtf8 {
            let said = "rec: an argument is not UTF-8; titles, notes, queries and names are text\n\
                        \x20    write it in UTF-8, or in escapes your shell knows: $'caf\\u00e9'";
            return (said.to_owned(), true);
        }
        // What is wrong holds words that were typed, and no colours: those could not be told apart.
        let text = if colour && !error.use_stderr() {
            error.render().ansi().to_string()
        } else {
            error.render().to_string()
        };
        (text, error.use_stderr())
    })
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Say what is wrong, how sure, and on what evidence
    Why(Why),
    /// Say what to run next, and why
    Next(Next),
    /// Show a session's commands, one a line
    Timeline(OneSession),
    /// Show a command: its output, facts and what could not be read
    Show(Show),
    /// List the sessions
    Sessions(Listing),
    /// Open a session with a title and use it in this terminal
    New(New),
    /// Use an existing session in this terminal
    Use(UseSession),
    /// Close the current session
    End(Json),
    /// Write a note into the session
    Note(Note),
    /// Agree with a finding
    Confirm(Confirm),
    /// Disagree with a finding
    Dismiss(Dismiss),
    /// Search commands, output, notes and findings
    Search(Search),
    /// List, show, write, check and test playbooks
    Playbook(PlaybookArgs),
    /// Write a session up, each line citing its commands
    Postmortem(Postmortem),
    /// Take in case files and exported sessions
    Import(Import),
    /// Write a session out
    Export(Export),
    /// Browse sessions in a web browser
    Serve(Serve),
    /// Check that nothing recorded was changed
    Verify(Json),
    /// Make facts, findings and the search index anew from the event log
    Rebuild(Json),
    /// Erase a command's content; that it ran stays on record
    Forget(Forget),
    /// Say how the recorder is
    Doctor(Json),
    /// See it work: a real failure on this machine, recorded and explained
    Demo(Demo),
}

/// Only the form of the answer.
#[derive(Debug, Args)]
pub struct Json {
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// A session and the form of the answer.
#[derive(Debug, Args)]
pub struct OneSession {
    /// The session: an id, the start of one, or `last` [default: the current one]
    pub session: Option<String>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
    /// Times in UTC
    #[arg(long)]
    pub utc: bool,
}

/// `rec why`
#[derive(Debug, Args)]
pub struct Why {
    /// The session: an id, the start of one, or `last` [default: the current one]
    pub session: Option<String>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
    /// Lay one finding open: each clause, each observation and what it did
    #[arg(long, value_name = "FINDING")]
    pub explain: Option<String>,
    /// Exit with 1 when an open finding is at least this severe
    #[arg(long, value_name = "SEVERITY")]
    pub fail_on: Option<SeverityArg>,
    /// Show all findings, resolved and dismissed ones in full too
    #[arg(long)]
    pub all: bool,
    /// Times in UTC
    #[arg(long)]
    pub utc: bool,
}

/// A severity, as typed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SeverityArg {
    /// Good or neutral news
    Info,
    /// A nuisance
    Low,
    /// Something does not work
    Medium,
    /// The thing itself does not work
    High,
    /// Data or a machine is at stake
    Critical,
}

/// `rec next`
#[derive(Debug, Args)]
pub struct Next {
    /// The session: an id, the start of one, or `last` [default: the current one]
    pub session: Option<String>,
    /// Run this suggestion, recorded; only a read-only one
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// `rec show`
#[derive(Debug, Args)]
pub struct Show {
    /// The command: its number, its id, the start of one, or `last`
    pub command: String,
    /// Its session, for a number [default: the current one]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Only its standard output, as it came
    #[arg(long, conflicts_with_all = ["stderr", "tty", "json"])]
    pub stdout: bool,
    /// Only its standard error, as it came
    #[arg(long, conflicts_with_all = ["tty", "json"])]
    pub stderr: bool,
    /// Only what its terminal showed, as it came
    #[arg(long, conflicts_with = "json")]
    pub tty: bool,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// A number of things to show.
///
/// # Errors
/// When it is none, or not a number.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("0 shows nothing; 1 is the least".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("not a whole number".to_owned()),
    }
}

/// `rec sessions`
#[derive(Debug, Args)]
pub struct Listing {
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
    /// How many, newest first
    #[arg(long, default_value_t = 30, value_name = "N", value_parser = at_least_one)]
    pub limit: usize,
}

/// `rec new`
#[derive(Debug, Args)]
pub struct New {
    /// Its title
    pub title: String,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// `rec use`
#[derive(Debug, Args)]
pub struct UseSession {
    /// The session: an id, the start of one, or `last`
    pub session: String,
}

/// `rec note`
#[derive(Debug, Args)]
pub struct Note {
    /// The words
    #[arg(required = true)]
    pub text: Vec<String>,
    /// The session [default: the current one]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
}

/// `rec confirm`
#[derive(Debug, Args)]
pub struct Confirm {
    /// The finding: an id or the start of one
    pub finding: String,
    /// The hypothesis that was right
    pub hypothesis: Option<String>,
    /// The session [default: the current one]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
}

/// `rec dismiss`
#[derive(Debug, Args)]
pub struct Dismiss {
    /// The finding: an id or the start of one
    pub finding: String,
    /// Why
    #[arg(long)]
    pub because: String,
    /// The session [default: the current one]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
}

/// `rec search`
#[derive(Debug, Args)]
pub struct Search {
    /// Words, "phrases", and host: exit: program: kind: session: since:
    #[arg(required = true, allow_hyphen_values = true, trailing_var_arg = true)]
    pub query: Vec<String>,
    /// How many hits
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = at_least_one)]
    pub limit: usize,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// `rec playbook`
#[derive(Debug, Args)]
pub struct PlaybookArgs {
    /// What to do with them
    #[command(subcommand)]
    pub verb: PlaybookVerb,
}

/// The verbs of `rec playbook`.
#[derive(Debug, Subcommand)]
pub enum PlaybookVerb {
    /// List them: the shipped ones and your own
    List(Json),
    /// Show one, as written
    Show {
        /// Its id
        id: String,
    },
    /// Check them without running: errors with line and column
    Lint(Paths),
    /// Run the tests inside them
    Test(Paths),
    /// Try them over your own history: where each would fire, and what a change adds and loses
    Backtest(Backtest),
    /// Say how often each fired, and how often people agreed
    Stats(Json),
    /// Begin one from a recorded session: its commands become the first test
    New(NewPlaybook),
    /// Say why one does not fire in a session: which clause failed first, and on what
    WhyNot(WhyNot),
    /// Print the JSON Schema of the language, for editors
    Schema,
}

/// `rec playbook backtest`
#[derive(Debug, Args)]
pub struct Backtest {
    /// Files or folders [default: the shipped ones and your own]
    pub paths: Vec<PathBuf>,
    /// The version before: a file, a folder or `shipped` [default: yours, else the shipped one, of the same id]
    #[arg(long, value_name = "OLD")]
    pub against: Option<String>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// `rec playbook new`
#[derive(Debug, Args)]
pub struct NewPlaybook {
    /// Its id: small letters, digits, dashes
    pub id: String,
    /// The session that shows it: an id, the start of one, or `last`
    #[arg(long, value_name = "SESSION")]
    pub from: String,
    /// A command that shows it; may be given several times [default: all, of a short session]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub command: Vec<u32>,
    /// The kind of its findings [default: one of your own, own.ID]
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// `rec playbook why-not`
#[derive(Debug, Args)]
pub struct WhyNot {
    /// The playbook's id
    pub id: String,
    /// The session: an id, the start of one, or `last` [default: the current one]
    pub session: Option<String>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// Files or folders of playbooks.
#[derive(Debug, Args)]
pub struct Paths {
    /// Files or folders [default: the shipped ones and your own]
    pub paths: Vec<PathBuf>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// `rec postmortem`
#[derive(Debug, Args)]
pub struct Postmortem {
    /// The session: an id, the start of one, or `last` [default: the current one]
    pub session: Option<String>,
    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `rec import`
#[derive(Debug, Args)]
pub struct Import {
    /// Case files (.yaml) or exported sessions (.jsonl)
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// `rec export`
#[derive(Debug, Args)]
pub struct Export {
    /// The session: an id, the start of one, or `last`
    pub session: String,
    /// The form
    #[arg(long = "as", value_name = "FORM", default_value = "jsonl")]
    pub form: ExportForm,
    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Forms of an export.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ExportForm {
    /// Every event, one a line; `rec import` reads it back
    Jsonl,
    /// Commands and output, to read
    Markdown,
}

/// `rec serve`
#[derive(Debug, Args)]
pub struct Serve {
    /// The address; another than loopback needs a token, which is printed
    #[arg(long, default_value = "127.0.0.1:7373", value_name = "ADDRESS")]
    pub listen: String,
}

/// `rec forget`
#[derive(Debug, Args)]
pub struct Forget {
    /// The command: its number, its id, the start of one, or `last`
    pub command: String,
    /// Its session, for a number [default: the current one]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
}

/// `rec demo`
#[derive(Debug, Args)]
pub struct Demo {
    /// Go on to serve the session in the browser
    #[arg(long)]
    pub serve: bool,
    /// The address for --serve
    #[arg(long, default_value = "127.0.0.1:7373", value_name = "ADDRESS")]
    pub listen: String,
}
