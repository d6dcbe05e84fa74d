//! What is shared while one command line is read: the tree that grows, what deriving will want to
//! know about each invocation, and the limits that keep hostile input cheap.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{
    Complaint, Condition, Invocation, PipePlace, Place, Redirect, RedirectTo, Tree, Tri, Word,
};

/// Longest command line that is parsed, in bytes; the rest is left out with a complaint.
pub(super) const MAX_LINE_BYTES: usize = 256 * 1024;
/// All texts of one line together (every hop parses its own).
const MAX_PARSED_BYTES: usize = 4 * 1024 * 1024;
/// Invocations kept of one line.
const MAX_INVOCATIONS: usize = 4096;
/// Hops inside hops that are followed.
pub(super) const MAX_HOPS: usize = 16;
/// Nesting of groups, loops and hops together, so that the stack stays small.
const MAX_DEPTH: usize = 96;
/// Longest value of a variable, name of a host or working directory that is remembered, in bytes.
pub(super) const MAX_VALUE_BYTES: usize = 4096;
/// Bytes that may be copied from one invocation to others (redirections of groups, environments).
const MAX_COPIED_BYTES: usize = 8 * 1024 * 1024;

const HOLE_OPEN: char = '\u{f8f0}';
const HOLE_CLOSE: char = '\u{f8f1}';

/// An expansion whose value is not known. In texts that another shell will read it stands as a
/// mark, so that what was expanded *here* is not expanded once more *there*.
#[derive(Debug)]
pub(super) struct Hole {
    /// The expansion as written.
    pub shown: String,
    /// The variable's name, or the substitution as written.
    pub name: String,
    /// The shell that expands it.
    pub shell: usize,
    /// The line itself gave the variable a value, so its writer meant it.
    pub assigned: bool,
    /// It stood inside double quotes.
    pub quoted: bool,
    /// The invocations whose output it is.
    pub sources: Option<(usize, usize)>,
}

/// A word on its way: its text may hold marks of holes.
#[derive(Debug, Clone, Default)]
pub(super) struct Field {
    pub text: String,
    pub literal: bool,
    pub quoted: bool,
    /// A quoted part held a blank: joined with others by ssh it falls apart.
    pub quoted_blank: bool,
    /// An unquoted variable whose name says that it holds options (`$SSH_OPTS`).
    pub options: bool,
}

impl Field {
    /// A word that is exactly this text.
    pub(super) fn plain(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            literal: true,
            quoted: false,
            quoted_blank: false,
            options: false,
        }
    }
}

/// A variable that the line sets.
#[derive(Debug, Clone, Default)]
pub(super) struct Var {
    /// Its value, when that is known to the letter.
    pub value: Option<String>,
    pub exported: bool,
    /// The invocations whose output it holds.
    pub sources: Option<(usize, usize)>,
}

/// What a shell remembers from one command to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub vars: Rc<BTreeMap<String, Var>>,
    pub cwd: Option<String>,
    /// Without a `cd` it is in a user's home (a login over ssh): `~`, or `/root`.
    pub home: Option<String>,
    /// Redirections of an `exec` without a command: they hold from then on.
    pub redirects: Rc<Vec<Carried>>,
}

impl State {
    /// Sets a variable, within a limit.
    pub(super) fn set(&mut self, name: &str, var: Var) {
        if self.vars.len() < 512 || self.vars.contains_key(name) {
            Rc::make_mut(&mut self.vars).insert(name.to_owned(), var);
        }
    }

    /// What a program started here gets: only the exported variables.
    pub(super) fn for_child(&self) -> Self {
        let vars = self.vars.iter().filter(|(_, var)| var.exported);
        Self {
            vars: Rc::new(
                vars.map(|(name, var)| (name.clone(), var.clone()))
                    .collect(),
            ),
            ..self.clone()
        }
    }
}

/// A redirection with an identity, so that one of a group is counted once.
#[derive(Debug, Clone)]
pub(super) struct Carried {
    pub id: usize,
    pub redirect: Redirect,
}

/// What an invocation reads.
#[derive(Debug, Clone, Default)]
pub(super) enum Stdin {
    /// Whatever the shell has: the terminal, or nobody knows.
    #[default]
    Open,
    /// Nothing: `/dev/null`, `ssh -n`, a background job.
    Lost,
    /// The stage before it.
    Pipe,
    /// A file.
    File,
    /// This text.
    Text(Rc<str>),
}

/// A standard input that something else reads too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Feed {
    /// The `read` of a loop, or the hop whose shell reads its script.
    pub from: usize,
    /// It is a script.
    pub script: bool,
}

/// What surrounds a command while it is read.
#[derive(Debug, Clone, Default)]
pub(super) struct Ctx {
    pub shell: usize,
    pub parent: Option<usize>,
    pub place: Rc<Place>,
    pub background: bool,
    pub condition: Condition,
    pub pipe: Option<PipePlace>,
    pub substituted: bool,
    pub more_follows: bool,
    /// An `if`, `while` or `until` asks for its exit status.
    pub asked: bool,
    /// What else reads the same standard input.
    pub feed: Option<Feed>,
    /// Inside a group, loop, branch or substitution: a shell waits for it.
    pub compound: bool,
    /// A background subshell waits for it and keeps the shell's own output open.
    pub keeper: bool,
    /// Output goes down an enclosing pipeline.
    pub piped_out: bool,
    /// Handed over to something apart from here.
    pub away: bool,
    pub enclosing: Rc<Vec<Carried>>,
    pub stdin: Stdin,
    /// Assignments that reach it through its environment.
    pub env: Rc<Vec<(String, Word)>>,
    pub hops: usize,
}

/// What deriving wants to know of an invocation beyond what is published.
#[derive(Debug, Clone, Default)]
pub(super) struct Note {
    pub stdin: Stdin,
    /// Identities of its redirections, in their order.
    pub redirect_ids: Vec<usize>,
    /// Invocations in the substitutions of its words.
    pub substitutions: Option<(usize, usize)>,
    /// Invocations whose output its variables hold.
    pub sources: Vec<(usize, usize)>,
    /// `PYTHONUNBUFFERED` reaches it.
    pub unbuffered: bool,
    pub keeper: bool,
    pub compound: bool,
    /// What else reads its standard input.
    pub feed: Option<Feed>,
    /// It takes the place of its shell.
    pub replaces_shell: Tri,
    /// Without a working directory it runs in this home.
    pub home: Option<String>,
    /// Files a hop makes of its child's output (`script`, a unit's `StandardOutput=file:`).
    pub log: Option<(String, bool)>,
    /// A terminal was asked for (`ssh -t`).
    pub tty: bool,
    /// The hop hands over to something that is not part of the ssh session.
    pub away: bool,
}

/// The tree under construction.
#[derive(Debug, Default)]
pub(super) struct Builder {
    pub tree: Tree,
    pub notes: Vec<Note>,
    pub holes: Vec<Hole>,
    pub pipelines: usize,
    parsed: usize,
    copied: usize,
    depth: usize,
    /// Where each redirection opens its file: working directory and home.
    redirect_places: Vec<(Option<String>, Option<String>)>,
    full: bool,
    deep: bool,
}

impl Builder {
    /// Notes something that could not be read.
    pub(super) fn complain(&mut self, from: usize, to: usize, text: impl Into<String>) {
        if self.tree.complaints.len() < 64 {
            let (from, to) = (from.try_into().unwrap_or(0), to.try_into().unwrap_or(0));
            self.tree.complaints.push(Complaint {
                from,
                to,
                text: text.into(),
            });
        }
    }

    /// Asks leave to parse one more text.
    pub(super) fn may_parse(&mut self, bytes: usize) -> bool {
        self.parsed = self.parsed.saturating_add(bytes);
        let may = self.parsed <= MAX_PARSED_BYTES;
        if !may && !self.full {
            self.full = true;
            self.complain(0, 0, "the line holds more nested text than is followed");
        }
        may
    }

    /// Asks leave to copy bytes from one invocation to another.
    pub(super) fn may_copy(&mut self, bytes: usize) -> bool {
        self.copied = self.copied.saturating_add(bytes);
        self.copied <= MAX_COPIED_BYTES
    }

    /// Goes one level down, or says that this is deep enough.
    pub(super) fn enter(&mut self) -> bool {
        if self.depth >= MAX_DEPTH {
            if !self.deep {
                self.deep = true;
                self.complain(0, 0, "the line is nested deeper than is followed");
            }
            return false;
        }
        self.depth += 1;
        true
    }

    /// Comes back from one level down.
    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// A new identity for a redirection that is opened in this state of its shell.
    pub(super) fn carried(&mut self, redirect: Redirect, state: &State) -> Carried {
        let id = self.redirect_places.len();
        let cwd = state.cwd.clone().filter(|cwd| self.may_copy(cwd.len()));
        self.redirect_places.push((cwd, state.home.clone()));
        Carried { id, redirect }
    }

    /// The working directory and home where a redirection opens its file.
    pub(super) fn redirect_place(&self, id: usize) -> (Option<&str>, Option<&str>) {
        self.redirect_places
            .get(id)
            .map_or((None, None), |(cwd, home)| {
                (cwd.as_deref(), home.as_deref())
            })
    }

    /// Notes an expansion that cannot be known and gives the mark that stands for it.
    pub(super) fn hole(&mut self, hole: Hole) -> String {
        let mark = format!("{HOLE_OPEN}{}{HOLE_CLOSE}", self.holes.len());
        self.holes.push(hole);
        mark
    }

    /// Adds an invocation; `None` when there are too many.
    pub(super) fn push(&mut self, invocation: Invocation, note: Note) -> Option<usize> {
        let index = self.tree.invocations.len();
        if index >= MAX_INVOCATIONS {
            if !self.full {
                self.full = true;
                self.complain(0, 0, "the line holds more commands than are followed");
            }
            return None;
        }
        self.tree.invocations.push(Invocation {
            index,
            ..invocation
        });
        self.notes.push(note);
        Some(index)
    }

    /// The identities of the holes in a text.
    pub(super) fn holes_in<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a Hole> {
        marks(text).filter_map(|(_, _, number)| self.holes.get(number))
    }

    /// A text as a person would write it: marks replaced by what stood there.
    pub(super) fn shown(&self, text: &str) -> String {
        if !has_hole(text) {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (from, to, number) in marks(text) {
            if let Some(hole) = self.holes.get(number) {
                out.push_str(text.get(at..from).unwrap_or(""));
                out.push_str(&hole.shown);
                at = to;
            }
        }
        out.push_str(text.get(at..).unwrap_or(""));
        out
    }

    /// A word as it is published.
    pub(super) fn word(&self, field: &Field) -> Word {
        Word {
            text: self.shown(&field.text),
            literal: field.literal && !has_hole(&field.text),
            quoted: field.quoted,
        }
    }
}

/// The text holds an expansion that cannot be known.
pub(super) fn has_hole(text: &str) -> bool {
    text.contains(HOLE_OPEN)
}

/// The text is one expansion that cannot be known, and nothing else.
pub(super) fn is_one_hole(text: &str) -> bool {
    let text = text.trim();
    marks(text)
        .next()
        .is_some_and(|(from, to, _)| from == 0 && to == text.len())
}

/// The marks of a text: from, to, number.
fn marks(text: &str) -> impl Iterator<Item = (usize, usize, usize)> {
    text.match_indices(HOLE_OPEN)
        .filter_map(move |(from, open)| {
            let rest = text.get(from + open.len()..)?;
            let digits = rest.find(|c: char| !c.is_ascii_digit())?;
            let after = rest.get(digits..)?;
            if digits > 6 || !after.starts_with(HOLE_CLOSE) {
                return None;
            }
            let number = rest.get(..digits)?.parse().ok()?;
            Some((
                from,
                from + open.len() + digits + HOLE_CLOSE.len_utf8(),
                number,
            ))
        })
}

/// About how many bytes a redirection takes.
pub(super) fn redirect_bytes(redirect: &Redirect) -> usize {
    32 + match &redirect.to {
        RedirectTo::Read { path } | RedirectTo::Truncate { path } | RedirectTo::Append { path } => {
            path.text.len()
        }
        RedirectTo::Text { body, .. } => body.len(),
        RedirectTo::Copy { .. } | RedirectTo::Close => 0,
    }
}
