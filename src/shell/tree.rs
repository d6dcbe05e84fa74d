//! Questions that others ask a tree.

use super::hops::remote::ssh_target;
use super::{HopKind, Invocation, RedirectTo, Tree, Word};
use crate::shell::carry::field_of;

/// Where a descriptor of an invocation leads, by its redirections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sink<'a> {
    /// To a descriptor of what started it.
    Inherited(u32),
    /// To (or from) a file.
    File {
        /// The file.
        path: &'a Word,
        /// It is appended to.
        append: bool,
    },
    /// To a text of the command line.
    Text,
    /// Nowhere.
    Closed,
}

/// Where an invocation's output comes out on record: 1 (standard output), 2 (standard error), or
/// nowhere, because it goes to a file, down a pipe or into a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outflow {
    /// Where its standard output comes out.
    pub stdout: Option<u32>,
    /// Where its standard error comes out.
    pub stderr: Option<u32>,
}

/// Where a descriptor leads so far.
fn found<'a>(table: &[(u32, Sink<'a>)], fd: u32) -> Sink<'a> {
    let entry = table.iter().find(|(of, _)| *of == fd);
    entry.map_or(Sink::Inherited(fd), |(_, sink)| *sink)
}

impl Invocation {
    /// Where one of its descriptors leads, its own redirections and those of enclosing groups
    /// applied in the shell's order.
    pub fn sink(&self, fd: u32) -> Sink<'_> {
        let mut table: Vec<(u32, Sink<'_>)> = Vec::new();
        let own = self.own_redirects.min(self.redirects.len());
        let (inner, outer) = self.redirects.split_at(own);
        for redirect in outer.iter().chain(inner) {
            let sink = match &redirect.to {
                RedirectTo::Read { path } | RedirectTo::Truncate { path } => Sink::File {
                    path,
                    append: false,
                },
                RedirectTo::Append { path } => Sink::File { path, append: true },
                RedirectTo::Copy { of } => found(&table, *of),
                RedirectTo::Close => Sink::Closed,
                RedirectTo::Text { .. } => Sink::Text,
            };
            table.retain(|(of, _)| *of != redirect.fd);
            if table.len() < 32 {
                table.push((redirect.fd, sink));
            }
        }
        found(&table, fd)
    }

    /// The value of an option, in whichever way it is written: `-n 5`, `-n5`, `--lines 5`,
    /// `--lines=5`. The last one given counts. `names` are spellings with their dashes.
    pub fn option_value(&self, names: &[&str]) -> Option<&str> {
        let args = self.args();
        let mut found = None;
        for (at, word) in args.iter().enumerate() {
            let text = word.text.as_str();
            if text == "--" {
                break;
            }
            for name in names {
                let Some(rest) = text.strip_prefix(name) else {
                    continue;
                };
                let long = name.starts_with("--") || name.len() > 2;
                if rest.is_empty() {
                    found = args.get(at + 1).map(|word| word.text.as_str()).or(found);
                } else if let Some(value) = rest.strip_prefix('=') {
                    found = Some(value);
                } else if !long {
                    found = Some(rest);
                }
            }
        }
        found
    }

    /// One of these options stands among its words; a single letter also inside a cluster
    /// (`-f` in `-af`).
    pub fn has_option(&self, names: &[&str]) -> bool {
        self.args()
            .iter()
            .take_while(|word| word.text != "--")
            .any(|word| {
                let text = word.text.as_str();
                names.iter().any(|name| {
                    let cluster = name.len() == 2
                        && text.len() > 2
                        && text.starts_with('-')
                        && !text.starts_with("--")
                        && text.chars().all(|c| c == '-' || c.is_ascii_alphabetic())
                        && name
                            .chars()
                            .nth(1)
                            .is_some_and(|letter| text.contains(letter));
                    text == *name || cluster
                })
            })
    }
}

impl Tree {
    /// The hops that carry an invocation, outermost first, itself not included.
    pub fn hop_chain(&self, index: usize) -> Vec<usize> {
        let mut chain = Vec::new();
        let mut at = self
            .invocations
            .get(index)
            .and_then(|invocation| invocation.parent);
        while let Some(hop) = at {
            chain.push(hop);
            // Parents stand before children, so this ends.
            at = self
                .invocations
                .get(hop)
                .and_then(|invocation| invocation.parent)
                .filter(|up| *up < hop);
        }
        chain.reverse();
        chain
    }

    /// Where the output of an invocation comes out on record.
    pub fn outflow(&self, index: usize) -> Outflow {
        Outflow {
            stdout: self.flow(index, 1),
            stderr: self.flow(index, 2),
        }
    }

    fn flow(&self, index: usize, fd: u32) -> Option<u32> {
        let mut fd = fd;
        let mut at = self.invocations.get(index)?;
        loop {
            fd = match at.sink(fd) {
                Sink::Inherited(fd) => fd,
                Sink::File { path, .. } if path.text == "/dev/stdout" => 1,
                Sink::File { path, .. } if matches!(&*path.text, "/dev/stderr" | "/dev/tty") => 2,
                Sink::File { .. } | Sink::Text | Sink::Closed => return None,
            };
            let errors_piped = at
                .pipe
                .is_some_and(|pipe| pipe.stderr_too && pipe.stage + 1 < pipe.stages);
            match fd {
                1 if at.piped_out => return None,
                2 if errors_piped || at.away => return None,
                1 | 2 => {}
                _ => return None,
            }
            // A hop on the same machine has handed its redirections to its children already.
            at = loop {
                let Some(parent) = at.parent.and_then(|parent| self.invocations.get(parent)) else {
                    return Some(fd);
                };
                let local = matches!(
                    parent.hop,
                    Some(HopKind::Wrapper | HopKind::ShellText | HopKind::ShellStdin)
                );
                at = parent;
                if !local {
                    break parent;
                }
            };
        }
    }

    /// Leaves whose standard output comes out on record, in the order a shell runs them: not
    /// redirected to a file, not inside a substitution, not in front of a pipe.
    pub fn output_order(&self) -> Vec<usize> {
        self.ordered(|flow| flow.stdout.is_some())
    }

    /// Leaves whose standard error comes out on record, in the order a shell runs them.
    pub fn error_order(&self) -> Vec<usize> {
        self.ordered(|flow| flow.stderr.is_some())
    }

    fn ordered(&self, wanted: impl Fn(Outflow) -> bool) -> Vec<usize> {
        let leaves = self.leaves().map(|invocation| invocation.index);
        leaves
            .filter(|index| wanted(self.outflow(*index)))
            .collect()
    }

    /// The destinations of every `ssh` as they were typed (`root@h`, an alias), in order.
    pub fn typed_host_words(&self) -> Vec<&str> {
        let hops = self
            .invocations
            .iter()
            .filter(|hop| hop.hop == Some(HopKind::Ssh));
        hops.filter_map(|hop| {
            let fields: Vec<_> = hop.words.iter().map(field_of).collect();
            let target = ssh_target(&fields)?;
            hop.words.get(target.at).map(|word| word.text.as_str())
        })
        .collect()
    }
}
