//! A look that runs elsewhere, as a line to paste where the person types.
//!
//! The way into a host or container is that of a command of this session which went there: its `ssh`
//! with port, user and key, its `docker exec`. Words of recorded commands are quoted anew; what cannot
//! be repeated safely (a substitution, a masked secret) is not, and a plain `ssh HOST` stands instead.

use crate::shell::{self, HopKind, Invocation, Tree, Word};
use crate::timeline::{Command, Timeline};

/// Where a look runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target<'a> {
    /// The host; `None`: where the person types.
    pub(super) host: Option<&'a str>,
    /// The container on it.
    pub(super) container: Option<&'a str>,
}

/// Options of ssh that take a word of their own.
const SSH_WITH_WORD: &str = "BbcDEeFIiJLlmOoPpQRSWw";
/// Options of ssh that make a look something else: background, no command, forwarding of input.
const SSH_DROPPED: &str = "fNMT";

/// Makes the line that runs `line` at its target, pasted where the last command was typed.
///
/// `prefer` are commands (indices) whose way in is taken first: the evidence of the finding.
pub(super) fn paste(
    line: &str,
    target: Target<'_>,
    timeline: &Timeline,
    prefer: &[usize],
) -> String {
    let typist = timeline
        .commands
        .last()
        .map_or("", |command| command.host.as_str());
    let names = |hop: HopKind| {
        // Most looks go nowhere by themselves, which the eye sees before the parser does.
        ["ssh", "docker", "podman", "nerdctl", "kubectl", "oc "]
            .iter()
            .any(|way| line.contains(way))
            && shell::parse(line)
                .invocations
                .iter()
                .any(|own| own.hop == Some(hop))
    };
    let host = target
        .host
        .filter(|host| *host != typist && !host.is_empty());
    let container = target.container.filter(|_| !names(HopKind::Container));
    if (host.is_none() && container.is_none()) || names(HopKind::Ssh) {
        return line.to_owned();
    }
    let same_desk = |command: &&Command| command.host == typist;
    let preferred = prefer
        .iter()
        .rev()
        .filter_map(|index| timeline.commands.get(*index));
    let mut ways = preferred
        .chain(timeline.commands.iter().rev())
        .filter(same_desk);
    if let Some(way) = ways
        .clone()
        .find_map(|command| way_to(&command.tree, host, container))
    {
        return wrap(&way, line);
    }
    let inner = match container {
        Some(container) => wrap(&[Layer::container(&["docker", "exec", container])], line),
        None => line.to_owned(),
    };
    match (
        host,
        ways.find_map(|command| way_to(&command.tree, host, None)),
    ) {
        (Some(_), Some(way)) => wrap(&way, &inner),
        (Some(host), None) => wrap(&[Layer::ssh(host)], &inner),
        (None, _) => inner,
    }
}

/// One hop of a way: the words before the text it carries.
#[derive(Debug, Clone, PartialEq)]
struct Layer {
    /// Words as typed again, quoted already.
    prefix: String,
    /// How it takes what it carries.
    takes: Takes,
}

/// How a hop takes what it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// One word, which a shell reads there (ssh).
    Text,
    /// The words of a program (docker exec).
    Words,
    /// The words of the next hop (sudo).
    Hop,
}

impl Layer {
    fn ssh(host: &str) -> Self {
        Self {
            prefix: format!("ssh {}", shell::quote::quote(host)),
            takes: Takes::Text,
        }
    }

    fn container(words: &[&str]) -> Self {
        Self {
            prefix: words
                .iter()
                .map(|word| shell::quote::quote(word))
                .collect::<Vec<_>>()
                .join(" "),
            takes: Takes::Words,
        }
    }
}

/// Wraps a line in its way, innermost layer first.
fn wrap(way: &[Layer], line: &str) -> String {
    let mut text = line.to_owned();
    for layer in way.iter().rev() {
        text = match layer.takes {
            Takes::Text => format!("{} {}", layer.prefix, quote_text(&text)),
            Takes::Words if !is_plain(&text) => {
                format!("{} sh -c {}", layer.prefix, quote_text(&text))
            }
            Takes::Words | Takes::Hop => format!("{} {text}", layer.prefix),
        };
    }
    text
}

/// The way a command line goes into a host (and container), when it goes there and can be repeated.
fn way_to(tree: &Tree, host: Option<&str>, container: Option<&str>) -> Option<Vec<Layer>> {
    let there = tree.invocations.iter().find(|invocation| {
        invocation.hop.is_none()
            && invocation.place.container.as_deref() == container
            && host.is_none_or(|host| invocation.place.host.as_deref() == Some(host))
    })?;
    let mut hops: Vec<&Invocation> = Vec::new();
    let mut at = there.parent;
    // A parent stands before its child, so this ends.
    while let Some(hop) = at.and_then(|index| tree.invocations.get(index)) {
        hops.push(hop);
        at = hop.parent.filter(|parent| *parent < hop.index);
    }
    let inner = hops
        .iter()
        .position(|hop| matches!(hop.hop, Some(HopKind::Ssh | HopKind::Container)))?;
    let mut way = Vec::new();
    let mut typed = true;
    for hop in hops.iter().skip(inner).rev() {
        let layer = layer(hop, typed, container)?;
        way.extend(layer);
        typed = typed && hop.hop == Some(HopKind::Wrapper);
    }
    Some(way)
}

/// A hop as a layer; `Some(None)` when it need not be repeated, `None` when it cannot be.
#[expect(
    clippy::option_option,
    reason = "left out, and cannot be repeated, are two things"
)]
fn layer(hop: &Invocation, typed: bool, container: Option<&str>) -> Option<Option<Layer>> {
    let words = |words: &[Word]| -> Option<String> {
        let again: Option<Vec<String>> = words.iter().map(|word| again(word, typed)).collect();
        Some(again?.join(" "))
    };
    let mut prefix = String::new();
    for (name, value) in &hop.assignments {
        if matches!(hop.hop, Some(HopKind::Ssh | HopKind::Container)) {
            prefix.push_str(&format!("{name}={} ", again(value, typed)?));
        }
    }
    match hop.hop {
        Some(HopKind::Ssh) => {
            prefix.push_str(&words(&ssh_words(hop)?)?);
            Some(Some(Layer {
                prefix,
                takes: Takes::Text,
            }))
        }
        Some(HopKind::Container) => {
            prefix.push_str(&words(&container_words(hop, container)?)?);
            Some(Some(Layer {
                prefix,
                takes: Takes::Words,
            }))
        }
        Some(HopKind::Wrapper) if matches!(hop.program(), "sudo" | "doas") => Some(Some(Layer {
            prefix: hop.program().to_owned(),
            takes: Takes::Hop,
        })),
        _ => Some(None),
    }
}

/// The words of an ssh up to its destination.
fn ssh_words(hop: &Invocation) -> Option<Vec<Word>> {
    let mut out = vec![hop.words.first()?.clone()];
    let mut rest = hop.args().iter();
    while let Some(word) = rest.next() {
        let Some(letters) = word
            .text
            .strip_prefix('-')
            .filter(|letters| !letters.is_empty())
        else {
            out.push(word.clone());
            return Some(out);
        };
        let own_word = letters
            .chars()
            .position(|letter| SSH_WITH_WORD.contains(letter));
        match own_word {
            // `-p 22` and `-p22`, `-tp 22`: the option's word is the rest of this one, or the next.
            Some(at) => {
                let forwards = letters
                    .chars()
                    .nth(at)
                    .is_some_and(|letter| "LRDWwO".contains(letter));
                let next = if at + 1 == letters.chars().count() {
                    Some(rest.next()?.clone())
                } else {
                    None
                };
                if !forwards {
                    out.push(word.clone());
                    out.extend(next);
                }
            }
            None => {
                let kept: String = letters
                    .chars()
                    .filter(|letter| !SSH_DROPPED.contains(*letter))
                    .collect();
                if !kept.is_empty() {
                    out.push(Word {
                        text: format!("-{kept}"),
                        ..word.clone()
                    });
                }
            }
        }
    }
    None
}

/// The words of a `docker exec`, `podman exec` or `kubectl exec` up to what runs in there.
fn container_words(hop: &Invocation, container: Option<&str>) -> Option<Vec<Word>> {
    let literal = |text: &str| Word {
        text: text.to_owned(),
        literal: true,
        quoted: false,
    };
    let words = &hop.words;
    let exec = words.iter().position(|word| word.text == "exec");
    let Some(exec) = exec else {
        // `docker run --name X`: entered again by its name.
        return Some(vec![
            words.first()?.clone(),
            literal("exec"),
            literal(container?),
        ]);
    };
    if hop.program() == "kubectl" || hop.program() == "oc" {
        let end = words.iter().position(|word| word.text == "--")?;
        return Some(without_tty(words.get(..=end)?));
    }
    let name = container.and_then(|name| {
        words
            .iter()
            .skip(exec + 1)
            .position(|word| word.text == name)
            .map(|at| exec + 1 + at)
    })?;
    Some(without_tty(words.get(..=name)?))
}

/// A look wants no terminal of its own.
fn without_tty(words: &[Word]) -> Vec<Word> {
    words
        .iter()
        .filter(|word| {
            !matches!(
                word.text.as_str(),
                "-t" | "-i" | "-it" | "-ti" | "--tty" | "--stdin"
            )
        })
        .cloned()
        .collect()
}

/// A recorded word, typed again. `None` when that would run or show something else.
fn again(word: &Word, typed: bool) -> Option<String> {
    if crate::redact::holds_mask(&word.text) {
        return None;
    }
    if word.literal {
        // An argument may hold `=`: only in a command's place would it be an assignment.
        let plain = word.text.replace('=', "-");
        let bare = shell::quote::quote_path(&plain) == plain;
        return Some(if bare {
            word.text.clone()
        } else {
            shell::quote::quote_path(&word.text)
        });
    }
    let tame = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-${}~".contains(c);
    let variable = typed && word.text.chars().all(tame);
    variable.then(|| word.text.clone())
}

/// A line that means the same without a shell: words and nothing else.
fn is_plain(line: &str) -> bool {
    line.chars()
        .all(|c| c.is_ascii_alphanumeric() || " _@%+=:,./-".contains(c))
        && !line
            .split(' ')
            .next()
            .is_some_and(|word| word.contains('='))
}

/// A text for a shell, always in quotes: double ones where the text holds single quotes and nothing
/// that double quotes would touch.
fn quote_text(text: &str) -> String {
    if !text.contains('\'') {
        return format!("'{text}'");
    }
    if !text.contains(['"', '$', '`', '\\', '!']) {
        return format!("\"{text}\"");
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
