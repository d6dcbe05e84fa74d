//! A command line, understood: the tree of invocations with hops, launches, writes and kills.
//!
//! Pure: no I/O, no clock, no randomness. [`parse`] reads what a person typed with a real bash
//! grammar (`shell/grammar.rs`), follows every hop (ssh, docker exec, sudo, `bash -c`, here-documents
//! that feed a shell) to the innermost invocation, and computes the words *as the shell of that
//! place sees them*: which quotes went, which variables were expanded on the way. From the tree it
//! derives what was launched, written and killed. Broken input gives a partial tree and a complaint.

mod build;
mod carry;
mod crude;
mod derive;
mod expand;
mod grammar;
mod guard;
mod hops;
mod invoke;
mod loops;
mod path;
mod pattern;
pub mod quote;
pub mod safety;
pub mod tree;
pub mod warnings;

use serde::{Deserialize, Serialize};

/// Reads a command line as a person typed it. Never fails: what cannot be read becomes a
/// complaint, and the rest of the tree stands. Cost: linear in the length, which is capped.
pub fn parse(line: &str) -> Tree {
    let mut b = read(line);
    derive::derive(&mut b);
    b.tree
}

/// The invocations of a text, nothing derived yet.
fn read(line: &str) -> build::Builder {
    let mut b = build::Builder::default();
    let mut text = line;
    if line.len() > build::MAX_LINE_BYTES {
        let end = line.floor_char_boundary(build::MAX_LINE_BYTES);
        text = line.get(..end).unwrap_or("");
        b.complain(end, line.len(), "the line is longer than is read");
    }
    b.tree.shells.push(ShellText {
        started_by: None,
        text: text.to_owned(),
        argv: None,
        execs_last: Tri::No,
    });
    let ctx = build::Ctx::default();
    let mut state = build::State::default();
    grammar::read(&mut b, text, expand::ShellName::Never, &ctx, &mut state);
    b
}

/// Yes, no, or cannot be told from here. Never merged with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Tri {
    /// It is so.
    Yes,
    /// It is not so.
    No,
    /// It hangs on something that cannot be seen from here.
    #[default]
    Unknown,
}

impl Tri {
    /// Its word: `yes`, `no`, `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

impl From<bool> for Tri {
    fn from(value: bool) -> Self {
        if value { Self::Yes } else { Self::No }
    }
}

/// A word of a command, after quote removal, as the shell at its place sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Word {
    /// The text. Expansions that cannot be known stay as written (`$PORT`, `$(date)`, `*.log`).
    pub text: String,
    /// Nothing in it depends on an expansion: the text is exactly what the program gets.
    pub literal: bool,
    /// Some part of it was quoted (so an unquoted glob or an empty word can be told apart).
    pub quoted: bool,
}

/// Where an invocation runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
pub struct Place {
    /// The innermost host, without user and port; `None`: the machine it was typed on. For
    /// `docker exec`/`kubectl exec` the host stays that of the engine and `container` is set.
    pub host: Option<String>,
    /// The user there, when a hop named one (`ssh root@h`, `sudo -u`, `su -`).
    pub user: Option<String>,
    /// The container or pod, when a hop entered one (`docker exec NAME`, `kubectl exec POD`).
    pub container: Option<String>,
}

/// What kind of layer a hop is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HopKind {
    /// `ssh`: another machine, and its user's login shell reads the text.
    Ssh,
    /// `bash -c`, `sh -c`, `su -c`, `eval`: a shell on the same machine reads a text.
    ShellText,
    /// A shell that reads a script from its standard input (`bash -s`, `ssh h bash` with a heredoc).
    ShellStdin,
    /// `sudo`, `doas`, `env`, `timeout`, `nohup`, `setsid`, `stdbuf`, `nice`, `time`, `xargs`: runs
    /// the words that follow.
    Wrapper,
    /// `docker exec`, `docker run`, `podman`, `nerdctl`, `kubectl exec`: into a container.
    Container,
    /// `tmux new -d`, `tmux send-keys`, `screen -dm`, `systemd-run`, `at`, `srun`, `sbatch`: handed
    /// over to something that runs it detached from here.
    Detached,
}

/// A redirection of one invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redirect {
    /// The descriptor it is about (0 for input, 1 for output, 2 for errors, or as written).
    pub fd: u32,
    /// What it does.
    #[serde(flatten)]
    pub to: RedirectTo,
}

/// What a redirection does with its descriptor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RedirectTo {
    /// `< path`
    Read {
        /// The file.
        path: Word,
    },
    /// `> path` (also `>|`, and `&> path` as two redirects)
    Truncate {
        /// The file.
        path: Word,
    },
    /// `>> path`
    Append {
        /// The file.
        path: Word,
    },
    /// `2>&1`: becomes a copy of another descriptor.
    Copy {
        /// The descriptor copied.
        of: u32,
    },
    /// `2>&-`
    Close,
    /// `<< END` or `<<< word`: the text that is fed in.
    Text {
        /// The body as the reader gets it (tabs stripped for `<<-`), expansions as written.
        body: String,
        /// Nothing in it is expanded (the delimiter was quoted, or it holds no `$` and no backquote).
        literal: bool,
    },
}

/// Whether an invocation runs, given that its shell reaches its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// It runs when the one before it is done (`;`, newline, first).
    #[default]
    Always,
    /// Only when the invocation of this index succeeded (`&&`).
    IfOk(usize),
    /// Only when the invocation of this index failed (`||`).
    IfFailed(usize),
    /// In a loop body: any number of times.
    Loop,
    /// In a branch (`if`, `case`, a function body): perhaps.
    Branch,
}

/// An invocation's place in a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PipePlace {
    /// Number of the pipeline in the tree.
    pub pipeline: usize,
    /// 0 for the first stage.
    pub stage: usize,
    /// How many stages it has.
    pub stages: usize,
    /// Its standard error goes down the pipe as well (`|&` or `2>&1 |`).
    pub stderr_too: bool,
}

/// A parsed simple command: one node of the tree. A hop is an invocation with children.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Invocation {
    /// Its index in [`Tree::invocations`], in the order a shell would run them.
    pub index: usize,
    /// The hop that carries it.
    pub parent: Option<usize>,
    /// The layer it is, when it carries others.
    pub hop: Option<HopKind>,
    /// The shell that runs it: an index into [`Tree::shells`].
    pub shell: usize,
    /// Where it runs.
    pub place: Place,
    /// Program and arguments, assignments in front removed.
    pub words: Vec<Word>,
    /// Assignments in front (`A=1 cmd`), those that an `env` hop adds included for its children.
    pub assignments: Vec<(String, Word)>,
    /// Its redirections in order, those of an enclosing group or loop after its own.
    pub redirects: Vec<Redirect>,
    /// How many of `redirects` are its own (they come first).
    #[serde(default)]
    pub own_redirects: usize,
    /// Started in the background (`&`), itself or with its list.
    pub background: bool,
    /// Whether it runs.
    pub condition: Condition,
    /// Its exit status is asked for by an `if`, `while` or `until`: failing is an answer there.
    #[serde(default)]
    pub asked: bool,
    /// Its place in a pipeline, when it is in one.
    pub pipe: Option<PipePlace>,
    /// Its standard output ends in a pipe, a word or a place apart, not where output is recorded.
    #[serde(default)]
    pub piped_out: bool,
    /// It is carried by a hop that hands over to something apart (tmux, a unit, `docker run -d`):
    /// none of its output comes back.
    #[serde(default)]
    pub away: bool,
    /// It runs inside `$(…)`, backquotes or `<(…)`: its output becomes words, not output.
    pub substituted: bool,
    /// The directory it runs in, as far as the line says (`cd X` before it), as written.
    pub cwd: Option<String>,
    /// Another command follows it in the same shell (after `;`, `&&`, `||` or a newline), so that
    /// shell stays alive while it runs.
    pub more_follows: bool,
}

impl Invocation {
    /// The program's name without its folder (`/usr/bin/pgrep` gives `pgrep`); empty for a bare
    /// assignment or redirection.
    pub fn program(&self) -> &str {
        self.words
            .first()
            .map_or("", |word| word.text.rsplit('/').next().unwrap_or(""))
    }

    /// The words after the program.
    pub fn args(&self) -> &[Word] {
        self.words.get(1..).unwrap_or(&[])
    }

    /// Program and arguments joined by one space.
    pub fn line(&self) -> String {
        self.words
            .iter()
            .map(|word| word.text.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// A shell that reads a text: the typist's own, the login shell behind ssh, `bash -c`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellText {
    /// The hop invocation that started it; `None` for the typist's own shell.
    pub started_by: Option<usize>,
    /// The text it reads, as it gets it.
    pub text: String,
    /// What `ps` shows as its command line while it runs (`bash -c …text…`), so that self-matches
    /// can be computed; `None` when the text is not in its argv (stdin, or the typist's shell).
    pub argv: Option<String>,
    /// It replaces itself with its last command (bash does for a single simple command; dash and
    /// some versions do not): then no shell is left to match.
    pub execs_last: Tri,
}

/// Something started to stay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The innermost invocation that is the server or job.
    pub invocation: usize,
    /// Where its standard output goes, as written; `None`: not to a file.
    pub log: Option<String>,
    /// The same with the working directory applied, where that is known.
    pub log_resolved: Option<String>,
    /// Where standard error goes when that is another file.
    pub error_log: Option<String>,
    /// The log is appended to.
    pub log_append: bool,
    /// The script or program file that is run, as written (`./run.sh`, `/root/srv/server.py`).
    pub script: Option<String>,
    /// The same with the working directory applied, where that is known.
    pub script_resolved: Option<String>,
    /// The port its words name (`--port 8000`, `:8000`, `-p 8000`).
    pub port: Option<u16>,
    /// What its command line is found by (`pgrep -f`): the script, the module, the program and its
    /// verb; for a unit or a container its name.
    #[serde(default)]
    pub pattern: Option<String>,
    /// Its output is held in a buffer because it goes to a file: yes for python without `-u`,
    /// `PYTHONUNBUFFERED` or `stdbuf`; no for programs known not to; unknown otherwise.
    pub buffered: Tri,
    /// In the background with `nohup`, `setsid`, `disown`, tmux, a unit or an engine.
    pub detached: bool,
    /// An ssh that carries it stays open until it ends, because a descriptor stays with it.
    pub holds_channel: Tri,
}

/// A file that the command line makes or changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileWrite {
    /// The invocation that writes.
    pub invocation: usize,
    /// The host the file is on, when it is another one than the invocation's (`scp f h:`).
    #[serde(default)]
    pub host: Option<String>,
    /// The path as written.
    pub path: String,
    /// The same with the working directory applied, where that is known.
    pub resolved: Option<String>,
    /// How: `heredoc`, `redirect`, `tee`, `copy`, `move`, `touch`, `mkdir`.
    pub how: String,
    /// Appended to.
    pub append: bool,
    /// What it is fed with does not reach it: a heredoc into `ssh -n`, `cat > f` with `< /dev/null`.
    pub input_lost: Tri,
}

/// Processes asked to end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kill {
    /// The invocation.
    pub invocation: usize,
    /// The pattern or name, as the program gets it.
    pub pattern: Option<String>,
    /// It looks at whole command lines (`pkill -f`).
    pub full: bool,
    /// The signal's number (15 when none is named).
    pub signal: i32,
    /// Process ids named literally.
    pub pids: Vec<i64>,
    /// It would match a shell that runs it (see [`ShellText::argv`]).
    pub hits_own_shell: Tri,
}

/// A pattern that looks at whole command lines, and whether it matches its own shell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelfMatch {
    /// The looking invocation (`pgrep -f`, `ps | grep`).
    pub invocation: usize,
    /// The pattern.
    pub pattern: String,
    /// Whether its own shell shows up.
    pub matches: Tri,
}

/// A variable that was expanded (or a quote that was lost) on another side than the writer meant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EarlyExpansion {
    /// The hop whose text was changed on the way, or the invocation that the here-document feeds.
    pub hop: usize,
    /// Names of variables expanded by the outer shell.
    pub names: Vec<String>,
    /// `double_quotes` (`ssh h "… $X …"`), `unquoted` (`ssh h echo $X`), `heredoc` (unquoted
    /// delimiter) or `lost_quotes` (`ssh h bash -c "echo Hello"`; no names then).
    pub how: String,
    /// Those of `names` that belong to the inner side: its text sets them itself
    /// (`port=80; … $port`), or each shell has its own (`$!`, `$?`, the fields of an awk program).
    #[serde(default)]
    pub meant_inside: Vec<String>,
}

/// A command that reads what something else around it reads as well, and so takes it away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputTaken {
    /// The invocation that takes it (`ssh` without `-n`, `ffmpeg`).
    pub invocation: usize,
    /// Whose input it is: the `read` of a loop, or the hop whose shell reads its script there.
    pub from: usize,
    /// What is lost: `list` (the turns of a loop that follow) or `script` (the lines that follow).
    pub what: String,
}

/// Something a parser could not read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Complaint {
    /// Where it starts, in bytes of the text it is about.
    pub from: u64,
    /// Where it ends.
    pub to: u64,
    /// What is wrong, in one clear sentence.
    pub text: String,
}

/// A command line, understood.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Tree {
    /// All invocations, hops included, parents before children.
    pub invocations: Vec<Invocation>,
    /// All shells that read a text; index 0 is the typist's.
    pub shells: Vec<ShellText>,
    /// What was started to stay.
    pub launches: Vec<Launch>,
    /// What was written.
    pub writes: Vec<FileWrite>,
    /// What was asked to end.
    pub kills: Vec<Kill>,
    /// Looks at command lines by pattern.
    pub looks: Vec<SelfMatch>,
    /// Variables and quotes lost on the way.
    pub early: Vec<EarlyExpansion>,
    /// Input that a command takes away from what is around it.
    #[serde(default)]
    pub input_taken: Vec<InputTaken>,
    /// What could not be read.
    pub complaints: Vec<Complaint>,
}

impl Tree {
    /// The host of the innermost invocation, without user and port, or `None` when it is the
    /// machine it was typed on. For a line with several hosts: that of the last hop.
    pub fn target_host(&self) -> Option<&str> {
        self.invocations
            .iter()
            .rev()
            .find_map(|invocation| invocation.place.host.as_deref())
    }

    /// Invocations that carry no other: what really looks, launches, writes or kills.
    pub fn leaves(&self) -> impl Iterator<Item = &Invocation> {
        self.invocations
            .iter()
            .filter(|invocation| invocation.hop.is_none())
    }
}

#[cfg(test)]
mod tests;
