//! Programs whose output holds little to read, but whose shape is known: that helps their
//! neighbours to find their own lines.

use super::words::{Args, int};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::shell::{Invocation, Tri};

/// The shape of what some common programs print.
pub(super) fn shape(invocation: &Invocation) -> Option<Grammar<'_>> {
    let args = Args::of(invocation, "");
    // `id -Gn` prints a list.
    let named = args.has(&["G", "groups"]);
    let one_word = |line: &str, _: usize| {
        if line.is_empty() || line.contains(char::is_whitespace) {
            Fit::No
        } else {
            Fit::Likely
        }
    };
    Some(match invocation.program() {
        "hostname" if !args.has(&["I", "i"]) => Grammar::exactly(1, one_word),
        "whoami" | "logname" | "arch" => Grammar::exactly(1, one_word),
        "hostname" => Grammar::exactly(1, |line, _| {
            let good = !line.trim().is_empty()
                && line
                    .split_whitespace()
                    .all(|word| word.parse::<std::net::IpAddr>().is_ok());
            good.into()
        }),
        "nproc" | "getconf" => Grammar::exactly(1, |line, _| {
            if int(line).is_some() {
                Fit::Surely
            } else {
                Fit::No
            }
        }),
        "pwd" => Grammar::exactly(1, |line, _| {
            if line.starts_with('/') {
                Fit::Likely
            } else {
                Fit::No
            }
        }),
        "id" if args.operands.is_empty() => {
            let args = Args::of(invocation, "");
            Grammar::exactly(1, move |line, _| {
                if line.starts_with("uid=") {
                    Fit::Surely
                } else if args.has(&["u", "g", "user", "group"]) && int(line).is_some() {
                    Fit::Likely
                } else if line.split_whitespace().count() <= 1 || named {
                    Fit::Perhaps
                } else {
                    Fit::Hardly
                }
            })
        }
        "docker" | "podman" | "nerdctl" => return engine(invocation),
        // What they say goes to standard error.
        "git"
            if matches!(
                args.first(),
                Some("push" | "fetch" | "clone" | "add" | "remote-https")
            ) =>
        {
            Grammar::any(|_, _| Fit::Hardly)
        }
        "diff" => Grammar::any(|line, _| {
            // `3c3`, `12,14d11`; `@@ -1,4 +1,5 @@`; the lines themselves behind a sign.
            let change = line.split(['a', 'c', 'd']).count() == 2
                && line
                    .chars()
                    .all(|c| c.is_ascii_digit() || matches!(c, 'a' | 'c' | 'd' | ','))
                && line.starts_with(|c: char| c.is_ascii_digit());
            let sign = ["< ", "> ", "+", "-", "@@ ", "diff "];
            if change || line == "---" || line.starts_with("@@ ") {
                Fit::Surely
            } else if sign.iter().any(|start| line.starts_with(start)) {
                Fit::Likely
            } else if line.starts_with([' ', '\\']) || line.starts_with("Only in ") {
                Fit::Perhaps
            } else {
                Fit::Hardly
            }
        }),
        "lsmod" => Grammar::any(|line, _| {
            let number = line
                .split_whitespace()
                .nth(1)
                .is_some_and(|size| int(size).is_some());
            (number || line.starts_with("Module ")).into()
        }),
        "strings" | "ldconfig" | "ldd" if args.has(&["p"]) || invocation.program() == "ldd" => {
            Grammar::any(|line, _| {
                if line.contains("=>") {
                    Fit::Surely
                } else if line.starts_with('\t') {
                    Fit::Likely
                } else {
                    Fit::Hardly
                }
            })
        }
        _ => return None,
    })
}

/// Verbs of container engines that say the names they were given, and `pull`.
fn engine(invocation: &Invocation) -> Option<Grammar<'_>> {
    let args = Args::of(invocation, "t time s signal platform");
    let mut words = args.texts();
    match words.next()? {
        "rm" | "start" | "stop" | "restart" | "kill" | "pause" | "unpause" => {
            let names: Vec<&str> = words.collect();
            Some(Grammar::any(move |line, _| {
                if names.contains(&line.trim()) {
                    Fit::Surely
                } else {
                    Fit::Hardly
                }
            }))
        }
        "pull" => Some(Grammar::any(|line, _| {
            let known = ["Using default tag", "Digest: ", "Status: ", "docker.io/"];
            let layer = line
                .split_once(": ")
                .is_some_and(|(id, _)| id.len() == 12 && id.chars().all(|c| c.is_ascii_hexdigit()));
            if layer
                || line.contains(": Pulling from ")
                || known.iter().any(|one| line.starts_with(one))
            {
                Fit::Surely
            } else {
                Fit::Hardly
            }
        })),
        _ => None,
    }
}

/// `which`, `type -p`, `command -v`: where programs lie.
pub(super) struct Which;

impl Probe for Which {
    fn recognises(&self, invocation: &Invocation) -> bool {
        match invocation.program() {
            "which" | "whereis" => true,
            "command" | "type" => invocation
                .args()
                .first()
                .is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V" | "-p" | "-a")),
            _ => false,
        }
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let args = Args::of(ctx.invocation, "");
        let all = args.has(&["a"]);
        let names: Vec<String> = args.texts().map(|name| format!("/{name}")).collect();
        let asked = names.len();
        let mut grammar = Grammar::any(move |line: &str, _: usize| {
            if line.starts_with('/') && names.iter().any(|name| line.ends_with(name.as_str())) {
                Fit::Surely
            } else if names
                .iter()
                .any(|name| line.starts_with(&format!("{} is ", name.trim_start_matches('/'))))
                || line.contains("not found")
                || line.contains(": no ")
                || line.starts_with("alias ")
            {
                Fit::Perhaps
            } else {
                Fit::No
            }
        });
        grammar.max = (!all).then_some(asked.max(1));
        grammar
    }

    fn read(&self, lines: &[Shown], _ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        for line in lines
            .iter()
            .filter(|line| line.text.starts_with('/') && !line.text.contains(' '))
        {
            sink.line(
                line,
                crate::fact::File {
                    path: line.text.clone(),
                    exists: Tri::Yes,
                    executable: Some(true),
                    ..crate::fact::File::default()
                },
            );
        }
    }
}
