//! What a command line is about to do to itself, told before it runs: kills that hit their own
//! shell, waits that never end, input that never arrives. Each with the safer line to type.
//!
//! Only what is sure from the line itself is told: a guess before every command would be noise.

use super::derive::services;
use super::hops::remote::ssh_target;
use super::tree::Sink;
use super::{Condition, HopKind, Invocation, Launch, RedirectTo, Tree, Tri, parse};
use crate::shell::carry::field_of;

mod instead;

use instead::Form;

/// Longest line that warnings are looked for in, in bytes.
pub const MAX_WARNED_BYTES: usize = 64 * 1024;

/// Most invocations of a line that warnings are looked for in.
const MAX_WARNED_INVOCATIONS: usize = 256;

/// Something the line is about to do to itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Its kind, in one word or two joined by a dash.
    pub kind: &'static str,
    /// What will happen, in one sentence without a full stop.
    pub text: String,
    /// The safer line to type; `None` when none can be written from this one.
    pub instead: Option<String>,
}

/// What the line will do to itself, the worst first.
pub fn warnings(tree: &Tree) -> Vec<Warning> {
    let line = tree.shells.first().map_or("", |shell| shell.text.as_str());
    if line.len() > MAX_WARNED_BYTES || tree.invocations.len() > MAX_WARNED_INVOCATIONS {
        return Vec::new();
    }
    let mut out: Vec<Warning> = Vec::new();
    for danger in dangers(tree) {
        if out.iter().any(|one| one.kind == danger.kind) || out.len() >= 8 {
            continue;
        }
        let instead = danger
            .forms
            .iter()
            .take(12)
            .filter_map(|form| instead::write(tree, line, form))
            .find(|safer| is_safe(safer, danger.kind));
        out.push(Warning {
            kind: danger.kind,
            text: danger.text,
            instead,
        });
    }
    out
}

/// A safer form reads as a whole and does nothing to itself.
fn is_safe(line: &str, kind: &str) -> bool {
    let tree = parse(line);
    let left = dangers(&tree);
    tree.complaints.is_empty() && !left.iter().any(|one| one.kind == kind) && left.is_empty()
}

/// A danger, and the forms that may avoid it, best first.
struct Danger {
    kind: &'static str,
    text: String,
    forms: Vec<Form>,
}

fn dangers(tree: &Tree) -> Vec<Danger> {
    let mut out = Vec::new();
    kills(tree, &mut out);
    lost_input(tree, &mut out);
    waits(tree, &mut out);
    taken(tree, &mut out);
    wrong_side(tree, &mut out);
    emptied(tree, &mut out);
    held(tree, &mut out);
    sudo_redirect(tree, &mut out);
    logs(tree, &mut out);
    looks(tree, &mut out);
    out
}

/// `pkill -f X; …` and `kill $(pgrep -f X)` in a shell whose command line holds X.
fn kills(tree: &Tree, out: &mut Vec<Danger>) {
    for kill in &tree.kills {
        let Some(one) = tree.invocations.get(kill.invocation) else {
            continue;
        };
        let Some(pattern) = kill.pattern.as_deref().filter(|_| kill.full) else {
            continue;
        };
        if kill.hits_own_shell != Tri::Yes {
            continue;
        }
        let after = if one.more_follows {
            "and nothing after it runs"
        } else {
            "and the answer is lost"
        };
        let program = one.program();
        out.push(Danger {
            kind: "kill-own-shell",
            text: format!(
                "`{program}` with the pattern {} also ends the shell that runs it, whose command \
                 line holds that text, {after}",
                shown(pattern)
            ),
            forms: vec![
                Form::Bracketed {
                    pattern: pattern.to_owned(),
                },
                Form::Alone {
                    invocation: kill.invocation,
                    pattern: pattern.to_owned(),
                },
                Form::Pkill {
                    invocation: kill.invocation,
                    pattern: pattern.to_owned(),
                    signal: kill.signal,
                },
            ],
        });
    }
}

/// `ssh -n h 'cat > f' <<END`, `docker exec c sh <<END`: what is fed in does not arrive.
fn lost_input(tree: &Tree, out: &mut Vec<Danger>) {
    for hop in &tree.invocations {
        let fed = hop
            .redirects
            .iter()
            .take(hop.own_redirects)
            .any(|redirect| redirect.fd == 0 && matches!(redirect.to, RedirectTo::Text { .. }));
        let below = |index: usize| tree.hop_chain(index).contains(&hop.index);
        let read = || {
            tree.writes
                .iter()
                .any(|write| write.input_lost == Tri::Yes && below(write.invocation))
        };
        let fed_otherwise = hop.pipe.is_some_and(|pipe| pipe.stage > 0)
            || hop.redirects.iter().any(|redirect| {
                redirect.fd == 0
                    && matches!(&redirect.to, RedirectTo::Read { path } if path.text != "/dev/null")
            });
        if !(fed || fed_otherwise && read()) {
            continue;
        }
        let program = hop.program().to_owned();
        match hop.hop {
            Some(HopKind::Ssh) => {
                let fields: Vec<_> = hop.words.iter().map(field_of).collect();
                let Some(target) = ssh_target(&fields).filter(|target| target.no_stdin) else {
                    continue;
                };
                let option = if target.forks { "-f" } else { "-n" };
                out.push(Danger {
                    kind: "input-lost",
                    text: format!(
                        "`{program} {option}` reads nothing: what is fed to it never arrives, and \
                         what it writes there will be empty"
                    ),
                    forms: vec![
                        Form::Without { letters: "n" },
                        Form::Without { letters: "nf" },
                    ],
                });
            }
            Some(HopKind::Container)
                if matches!(
                    &*program,
                    "docker" | "podman" | "nerdctl" | "kubectl" | "oc"
                ) && !hop.has_option(&["-i", "--interactive", "--stdin"])
                    && !hop.words.iter().any(|word| word.text == "compose") =>
            {
                out.push(Danger {
                    kind: "input-lost",
                    text: format!(
                        "`{program}` without -i passes nothing on: what is fed to it never arrives"
                    ),
                    forms: vec![
                        Form::After {
                            word: "exec".to_owned(),
                            option: "-i".to_owned(),
                        },
                        Form::After {
                            word: "run".to_owned(),
                            option: "-i".to_owned(),
                        },
                    ],
                });
            }
            _ => {}
        }
    }
}

/// `while pgrep -f X; do sleep 1; done` in a shell whose command line holds X.
fn waits(tree: &Tree, out: &mut Vec<Danger>) {
    for look in &tree.looks {
        let Some(one) = tree.invocations.get(look.invocation) else {
            continue;
        };
        if look.matches == Tri::Yes && one.asked && in_loop(tree, one) {
            out.push(Danger {
                kind: "wait-own-shell",
                text: format!(
                    "the loop that asks for {} always finds its own shell, whose command line holds \
                     that text: `while` never ends, `until` ends at once",
                    shown(&look.pattern)
                ),
                forms: vec![Form::Bracketed {
                    pattern: look.pattern.clone(),
                }],
            });
        }
    }
}

fn in_loop(tree: &Tree, one: &Invocation) -> bool {
    match one.condition {
        Condition::Loop => true,
        Condition::IfOk(before) | Condition::IfFailed(before) if before < one.index => tree
            .invocations
            .get(before)
            .is_some_and(|before| in_loop(tree, before)),
        _ => false,
    }
}

/// `while read h; do ssh $h …; done < hosts`.
fn taken(tree: &Tree, out: &mut Vec<Danger>) {
    for taken in &tree.input_taken {
        let Some(one) = tree.invocations.get(taken.invocation) else {
            continue;
        };
        let program = one.program();
        if program == "read" {
            // It may be meant to read what the writer put there.
            continue;
        }
        let (kind, text) = match taken.what.as_str() {
            "list" => (
                "list-taken",
                format!(
                    "`{program}` reads the rest of the list that the loop reads: only the first turn will run"
                ),
            ),
            _ => (
                "script-taken",
                format!(
                    "`{program}` reads the rest of the script that its shell reads: nothing after it runs"
                ),
            ),
        };
        let program = program.to_owned();
        let mut forms = Vec::new();
        match program.as_str() {
            "ssh" => forms.push(Form::After {
                word: program.clone(),
                option: "-n".to_owned(),
            }),
            "ffmpeg" => forms.push(Form::After {
                word: program.clone(),
                option: "-nostdin".to_owned(),
            }),
            "docker" | "podman" | "kubectl" | "nerdctl" | "oc" => {
                forms.push(Form::Without { letters: "i" });
            }
            _ => {}
        }
        forms.push(Form::Appended {
            invocation: taken.invocation,
            text: " < /dev/null".to_owned(),
        });
        out.push(Danger { kind, text, forms });
    }
}

/// `ssh h "port=80; curl localhost:$port"`: expanded here, where it has no value.
fn wrong_side(tree: &Tree, out: &mut Vec<Danger>) {
    for early in &tree.early {
        if !early.meant_inside.is_empty() {
            let names: Vec<String> = early
                .meant_inside
                .iter()
                .take(4)
                .map(|name| format!("${name}"))
                .collect();
            let whole = early.meant_inside.len() == early.names.len();
            let mut forms = Vec::new();
            if early.how == "heredoc" {
                if whole {
                    forms.push(Form::QuotedDelimiter);
                }
            } else if whole {
                forms.push(Form::SingleQuoted {
                    invocation: early.hop,
                });
            }
            forms.push(Form::Escaped {
                names: early.meant_inside.clone(),
            });
            out.push(Danger {
                kind: "wrong-side",
                text: format!(
                    "{} {} expanded here, before the other side sees it, and is set only there",
                    names.join(" and "),
                    if names.len() > 1 { "are" } else { "is" }
                ),
                forms,
            });
        }
    }
    expanded_already(tree, out);
}

/// A remote text that sets variables and uses none of them: they were expanded before it was sent.
fn expanded_already(tree: &Tree, out: &mut Vec<Danger>) {
    for (number, shell) in tree.shells.iter().enumerate() {
        let hop = shell.started_by.and_then(|hop| tree.invocations.get(hop));
        let Some(hop) = hop.filter(|hop| hop.hop == Some(HopKind::Ssh)) else {
            continue;
        };
        let inside = || tree.invocations.iter().filter(|one| one.shell == number);
        let handed_on = |one: &Invocation| {
            matches!(
                one.program(),
                "source" | "." | "eval" | "set" | "export" | "declare" | "read" | "envsubst"
            )
        };
        if shell.text.contains('$') || inside().any(handed_on) {
            continue;
        }
        let set: Vec<&str> = inside()
            .filter(|one| one.words.is_empty() && one.more_follows)
            .flat_map(|one| &one.assignments)
            .map(|(name, _)| name.as_str())
            .collect();
        if let Some(first) = set.first() {
            out.push(Danger {
                kind: "wrong-side",
                text: format!(
                    "the text for {} sets {first} and never uses it: was ${first} expanded here, \
                     before it was sent?",
                    hop.place_of_target(tree)
                ),
                forms: vec![Form::Pattern {
                    text: format!(
                        "{} '{first}=…; … ${first} …'",
                        hop.words
                            .iter()
                            .take_while(|word| word.text != shell.text)
                            .map(instead::word)
                            .collect::<Vec<_>>()
                            .join(" ")
                    ),
                }],
            });
        }
    }
}

impl Invocation {
    /// The host a hop leads to, as its children have it.
    fn place_of_target<'a>(&self, tree: &'a Tree) -> &'a str {
        let child = tree
            .invocations
            .iter()
            .find(|one| one.parent == Some(self.index));
        child
            .and_then(|one| one.place.host.as_deref())
            .unwrap_or("the other side")
    }
}

/// `sort f > f`: the shell empties the file before the program reads it.
fn emptied(tree: &Tree, out: &mut Vec<Danger>) {
    const READERS: [&str; 20] = [
        "cat", "sort", "uniq", "grep", "egrep", "sed", "awk", "jq", "head", "tail", "tr", "cut",
        "tac", "rev", "nl", "column", "yq", "iconv", "envsubst", "gawk",
    ];
    for one in &tree.invocations {
        let written = one
            .redirects
            .iter()
            .take(one.own_redirects)
            .find_map(|redirect| match &redirect.to {
                RedirectTo::Truncate { path } if redirect.fd == 1 && path.literal => Some(path),
                _ => None,
            });
        let Some(path) = written.filter(|path| !path.text.starts_with("/dev/")) else {
            continue;
        };
        let pipeline = |other: &Invocation| {
            let places = one.pipe.zip(other.pipe);
            places.is_some_and(|(own, at)| own.pipeline == at.pipeline && at.stage <= own.stage)
        };
        let reads = |other: &Invocation| {
            (other.index == one.index || pipeline(other))
                && (other.shell, &other.cwd) == (one.shell, &one.cwd)
                && READERS.contains(&other.program())
                && (other.args().iter().any(|word| word.text == path.text && word.literal)
                    || other.redirects.iter().any(|redirect| {
                        matches!(&redirect.to, RedirectTo::Read { path: read } if read.text == path.text)
                    }))
        };
        if tree.invocations.iter().any(reads) {
            out.push(Danger {
                kind: "emptied-first",
                text: format!(
                    "{} is emptied before it is read: the shell opens the target first",
                    shown(&path.text)
                ),
                forms: vec![Form::Replaced {
                    from: path.text.clone(),
                    to: format!("{0}.new && mv {0}.new {0}", path.text),
                    after: '>',
                }],
            });
        }
    }
}

/// `ssh h 'nohup ./srv &'`: ssh stays open until the server ends.
fn held(tree: &Tree, out: &mut Vec<Danger>) {
    for launch in &tree.launches {
        let Some(one) = tree.invocations.get(launch.invocation) else {
            continue;
        };
        if launch.holds_channel != Tri::Yes || !one.background {
            continue;
        }
        let open = |fd| matches!(one.sink(fd), Sink::Inherited(_));
        let why = match (open(1) && !one.piped_out, open(2) && !one.piped_out) {
            (true, true) => "its output and errors still go there",
            (true, false) => "its output still goes there",
            (false, true) => "its errors still go there",
            (false, false) if one.piped_out => "the end of its pipe still writes there",
            (false, false) => "a shell that waits for it still has it open",
        };
        out.push(Danger {
            kind: "ssh-held",
            text: format!(
                "ssh stays open until {} ends: {why}",
                shown(&name(one, launch))
            ),
            forms: vec![
                Form::Replaced {
                    from: "&& nohup".to_owned(),
                    to: "; nohup".to_owned(),
                    after: ' ',
                },
                Form::Launched {
                    invocation: launch.invocation,
                    log: log_name(one, launch),
                    append: launch.log_append,
                },
            ],
        });
    }
}

fn name(one: &Invocation, launch: &Launch) -> String {
    launch
        .pattern
        .clone()
        .unwrap_or_else(|| one.program().to_owned())
}

/// A log for a launch that has none.
fn log_name(one: &Invocation, launch: &Launch) -> String {
    let named = launch.log.clone().filter(|log| !log.contains(['$', '`']));
    named.unwrap_or_else(|| {
        let name = name(one, launch);
        let stem = name.rsplit(['/', ' ']).next().unwrap_or("server");
        let stem = stem.split('.').next().unwrap_or(stem);
        let plain: String = stem
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
            .collect();
        format!("{}.log", if plain.is_empty() { "server" } else { &plain })
    })
}

/// `sudo cmd > /root/f`: the shell that opens the file is not root.
fn sudo_redirect(tree: &Tree, out: &mut Vec<Danger>) {
    const KEPT: [&str; 8] = [
        "/root/",
        "/etc/",
        "/proc/sys/",
        "/sys/",
        "/boot/",
        "/usr/",
        "/var/lib/",
        "/lib/",
    ];
    for hop in &tree.invocations {
        if !matches!(hop.program(), "sudo" | "doas") || hop.hop != Some(HopKind::Wrapper) {
            continue;
        }
        if hop.place.user.as_deref() == Some("root") {
            continue;
        }
        let own = hop.redirects.iter().take(hop.own_redirects);
        let target = own
            .filter_map(|redirect| match &redirect.to {
                RedirectTo::Truncate { path } | RedirectTo::Append { path } => Some(&path.text),
                _ => None,
            })
            .find(|path| KEPT.iter().any(|folder| path.starts_with(folder)));
        if let Some(path) = target {
            out.push(Danger {
                kind: "sudo-redirect",
                text: format!(
                    "{} is opened by your own shell, not by {}: permission will be denied",
                    shown(path),
                    hop.program()
                ),
                forms: vec![Form::SudoShell {
                    invocation: hop.index,
                }],
            });
        }
    }
}

/// A log that goes away under the server that writes it, or that nobody keeps.
fn logs(tree: &Tree, out: &mut Vec<Danger>) {
    for launch in &tree.launches {
        let Some(one) = tree.invocations.get(launch.invocation) else {
            continue;
        };
        if let Some(log) = &launch.log {
            log_lost(tree, launch, log, out);
        }
        let nowhere =
            |fd| matches!(one.sink(fd), Sink::File { path, .. } if path.text == "/dev/null");
        let kept = services::service(one).is_some() || services::daemonizes(one);
        let elsewhere = kept || launch.log.is_some() || one.away || one.place.container.is_some();
        if nowhere(1) && nowhere(2) && !elsewhere {
            let log = log_name(one, launch);
            out.push(Danger {
                kind: "no-log",
                text: format!(
                    "what {} prints is thrown away: if it dies, nothing will say why",
                    shown(&name(one, launch))
                ),
                forms: vec![
                    Form::Replaced {
                        from: "/dev/null 2>&1".to_owned(),
                        to: format!("{log} 2>&1"),
                        after: '>',
                    },
                    Form::Replaced {
                        from: "/dev/null".to_owned(),
                        to: log.clone(),
                        after: '>',
                    },
                    Form::Launched {
                        invocation: launch.invocation,
                        log,
                        append: false,
                    },
                ],
            });
        }
    }
}

fn log_lost(tree: &Tree, launch: &Launch, log: &str, out: &mut Vec<Danger>) {
    let same = |path: &str, resolved: &Option<String>| {
        path == log || resolved.is_some() && *resolved == launch.log_resolved
    };
    let place = tree
        .invocations
        .get(launch.invocation)
        .map(|one| &one.place.host);
    let here = |index: usize| {
        let one = tree.invocations.get(index);
        index > launch.invocation && one.map(|one| &one.place.host) == place
    };
    let emptied = tree.writes.iter().any(|write| {
        let relaunched = tree
            .launches
            .iter()
            .any(|other| other.invocation == write.invocation);
        let shortens = write.how == "redirect" && !write.append
            || write.how == "edit"
                && tree
                    .invocations
                    .get(write.invocation)
                    .is_some_and(|one| one.program() == "truncate");
        shortens && !relaunched && here(write.invocation) && same(&write.path, &write.resolved)
    });
    if emptied && !launch.log_append {
        out.push(Danger {
            kind: "log-emptied",
            text: format!(
                "{} is emptied while the server writes it: it goes on at its old place, behind a hole of zeros",
                shown(log)
            ),
            forms: [format!("> {log}"), format!(">{log}")]
                .into_iter()
                .map(|from| Form::Replaced {
                    from,
                    to: format!(">> {log}"),
                    after: ' ',
                })
                .collect(),
        });
    }
    let removed = tree.invocations.iter().find(|one| {
        one.program() == "rm" && here(one.index) && one.args().iter().any(|word| word.text == log)
    });
    if let Some(one) = removed {
        out.push(Danger {
            kind: "log-removed",
            text: format!(
                "{} is removed while the server writes it: what it prints from then on cannot be read",
                shown(log)
            ),
            forms: vec![Form::Replaced {
                from: one.line(),
                to: format!("cp {log} {log}.old"),
                after: ' ',
            }],
        });
    }
}

/// `pgrep -fa X; …` whose answer holds its own shell, where the answer decides or is counted.
fn looks(tree: &Tree, out: &mut Vec<Danger>) {
    for look in &tree.looks {
        let Some(one) = tree.invocations.get(look.invocation) else {
            continue;
        };
        let decides = one.asked
            || one.has_option(&["-c", "-q", "--count", "--quiet"])
            || tree.invocations.iter().any(|other| {
                matches!(other.condition, Condition::IfOk(on) | Condition::IfFailed(on) if on == one.index)
            });
        let listed = one.program() == "pgrep";
        let told = out
            .iter()
            .any(|danger| danger.kind == "kill-own-shell" && danger.text.contains(&look.pattern));
        let endless = one.asked && in_loop(tree, one);
        if look.matches == Tri::Yes && (listed || decides) && !endless && !told {
            out.push(Danger {
                kind: "look-own-shell",
                text: format!(
                    "the look for {} always finds one: the command line of its own shell holds that text",
                    shown(&look.pattern)
                ),
                forms: vec![
                    Form::Bracketed {
                        pattern: look.pattern.clone(),
                    },
                    Form::Alone {
                        invocation: look.invocation,
                        pattern: look.pattern.clone(),
                    },
                ],
            });
        }
    }
}

/// A short quotation.
fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("`{short}`")
}

#[cfg(test)]
mod tests;
