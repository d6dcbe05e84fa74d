//! Quoting a tree of hops and commands, and reading the text back, gives the tree.

use proptest::prelude::{Just, Strategy, any, prop};
use proptest::{prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::super::quote::{join, quote};
use super::super::{Place, parse};

/// A command line before it is written.
#[derive(Debug, Clone)]
enum Line {
    /// A program and its arguments.
    Run(Vec<String>),
    /// Several, one after the other.
    List(Vec<Line>, &'static str),
    /// Carried by a hop.
    Hop(Hop, Box<Line>),
}

#[derive(Debug, Clone)]
enum Hop {
    Ssh(Option<&'static str>, &'static str),
    Bash(&'static str),
    Su(&'static str),
    Stdin,
    Sudo(Option<&'static str>),
    Docker(&'static str),
    Kubectl(&'static str),
    Wrapper(&'static str),
}

impl Line {
    fn written(&self) -> String {
        match self {
            Self::Run(words) => join(words),
            Self::List(lines, between) => {
                let lines: Vec<String> = lines.iter().map(Self::written).collect();
                lines.join(between)
            }
            Self::Hop(hop, inner) => {
                let text = inner.written();
                // What runs words takes a list only through a shell.
                let words = match &**inner {
                    Self::List(..) => format!("bash -c {}", quote(&text)),
                    _ => text.clone(),
                };
                match hop {
                    Hop::Ssh(None, host) => format!("ssh {host} {}", quote(&text)),
                    Hop::Ssh(Some(user), host) => {
                        format!("ssh -p 22 {user}@{host} {}", quote(&text))
                    }
                    Hop::Bash(option) => format!("bash {option} {}", quote(&text)),
                    Hop::Su(user) => format!("su - {user} -c {}", quote(&text)),
                    // Behind a here-string nothing may follow on its line but a separator.
                    Hop::Stdin => format!("bash -s <<< {}", quote(&text)),
                    Hop::Sudo(None) => format!("sudo {words}"),
                    Hop::Sudo(Some(user)) => format!("sudo -u {user} {words}"),
                    Hop::Docker(name) => format!("docker exec -i {name} {words}"),
                    Hop::Kubectl(pod) => format!("kubectl exec -i {pod} -- {words}"),
                    Hop::Wrapper(front) => format!("{front} {words}"),
                }
            }
        }
    }

    /// Its commands with their places, in order.
    fn commands(&self, at: &Place, out: &mut Vec<(Place, Vec<String>)>) {
        match self {
            Self::Run(words) => out.push((at.clone(), words.clone())),
            Self::List(lines, _) => lines.iter().for_each(|line| line.commands(at, out)),
            Self::Hop(hop, inner) => {
                let owned = |text: &str| Some(text.to_owned());
                let mut place = at.clone();
                match hop {
                    Hop::Ssh(user, host) => {
                        place = Place {
                            host: owned(host),
                            user: user.map(str::to_owned),
                            container: None,
                        };
                    }
                    Hop::Su(user) => place.user = owned(user),
                    Hop::Sudo(user) => place.user = owned(user.unwrap_or("root")),
                    Hop::Docker(name) | Hop::Kubectl(name) => {
                        place.container = owned(name);
                        place.user = None;
                    }
                    Hop::Bash(_) | Hop::Stdin | Hop::Wrapper(_) => {}
                }
                inner.commands(&place, out);
            }
        }
    }
}

fn hop() -> impl Strategy<Value = Hop> {
    prop_oneof![
        3 => (
            prop::option::of(prop::sample::select(vec!["root", "me"])),
            prop::sample::select(vec!["h", "gpu-1.example", "10.0.0.7"]),
        )
            .prop_map(|(user, host)| Hop::Ssh(user, host)),
        2 => prop::sample::select(vec!["-c", "-lc", "-e -c"]).prop_map(Hop::Bash),
        1 => Just(Hop::Su("app")),
        1 => Just(Hop::Stdin),
        2 => prop::option::of(Just("www")).prop_map(Hop::Sudo),
        1 => Just(Hop::Docker("web")),
        1 => Just(Hop::Kubectl("pod-0")),
        2 => prop::sample::select(vec![
            "nohup", "timeout -k 5 10s", "nice -n 5", "env A=1 B=2", "stdbuf -oL", "setsid",
            "ionice -c 2", "taskset -c 0-3", "time -p", "exec", "command", "chrt -f 5",
        ])
        .prop_map(Hop::Wrapper),
    ]
}

/// Words of everything that quoting has to hide.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9./-]{1,8}",
        "[ -~]{0,12}",
        "[ \t\n'\"$`\\\\!#~*?{}\\[\\]();|&<>=éλ漢😀]{0,8}",
        prop::sample::select(vec![
            "$HOME", "$(ls)", "`ls`", "'", "\"", "\\", "EOF", "<<EOF", "it's", "", " ", "*.log",
            "{a,b}", "~/x", "!!", "#", "a\nb", "&&", "-n", "--", "A=1", "\r\n", "$'x'", "if",
        ])
        .prop_map(str::to_owned),
    ]
}

fn run() -> impl Strategy<Value = Line> {
    (
        prop::sample::select(vec!["prog", "x-1", "./run.sh", "a b", "it's", "$P"]),
        prop::collection::vec(word(), 0..5),
    )
        .prop_map(|(program, mut words)| {
            words.insert(0, program.to_owned());
            Line::Run(words)
        })
}

fn line() -> impl Strategy<Value = Line> {
    run().prop_recursive(5, 24, 3, |inner| {
        prop_oneof![
            3 => (hop(), inner.clone()).prop_map(|(hop, inner)| Line::Hop(hop, Box::new(inner))),
            1 => (
                prop::collection::vec(inner, 2..4),
                prop::sample::select(vec!["; ", " && ", " || ", "\n", " & "]),
            )
                .prop_map(|(lines, between)| Line::List(lines, between)),
        ]
    })
}

proptest! {
    #[test]
    fn a_tree_of_hops_is_read_back(line in line()) {
        let text = line.written();
        let tree = parse(&text);
        let mut expected = Vec::new();
        line.commands(&Place::default(), &mut expected);
        let read: Vec<(Place, Vec<String>)> = tree
            .leaves()
            .map(|one| {
                let words = one.words.iter().map(|word| word.text.clone()).collect();
                (one.place.clone(), words)
            })
            .collect();
        prop_assert!(tree.complaints.is_empty(), "{text}: {:?}", tree.complaints);
        prop_assert_eq!(read, expected, "{}", text);
        let literal = tree.leaves().all(|one| one.words.iter().all(|word| word.literal));
        prop_assert!(literal, "{text}");
    }

    #[test]
    fn any_word_survives_five_shells(word in any::<String>().prop_filter(
        "a word that an argument list can hold", |word| {
            !word.contains(['\0', '\u{f8f0}', '\u{f8f1}'])
        }),
    ) {
        let mut text = join(&["prog".to_owned(), word.clone()]);
        for level in 0..5 {
            let front = if level % 2 == 0 { "ssh h" } else { "bash -c" };
            text = format!("{front} {}", quote(&text));
        }
        let tree = parse(&text);
        let leaf = tree.leaves().last().expect("a leaf");
        prop_assert_eq!(leaf.words.get(1).map(|word| word.text.as_str()), Some(word.as_str()));
    }
}
