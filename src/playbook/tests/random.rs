//! Playbooks and timelines made at random, of few values, so that they often meet.

mod author;

use std::fmt::Write as _;

use author::Author;

use crate::event::{Exit, Stream};
use crate::fact::{self, Fact};
use crate::id::CommandId;
use crate::playbook::{Playbook, load};
use crate::shell::{Tree, Tri};
use crate::time::Micros;
use crate::timeline::{Command, Entry, LaunchRecord, Timeline};

/// Numbers that look random and are the same for the same seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66_D1CE_4E5B)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(most).unwrap()).unwrap()
    }

    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }

    fn number(&mut self, most: usize) -> i64 {
        i64::try_from(self.below(most)).unwrap()
    }

    fn text(&mut self, among: &[&str]) -> String {
        (*self.pick(among)).to_owned()
    }

    fn maybe<T>(&mut self, value: T) -> Option<T> {
        self.chance(70).then_some(value)
    }

    fn tri(&mut self) -> Tri {
        *self.pick(&[Tri::Yes, Tri::No, Tri::Unknown])
    }
}

const PATHS: &[&str] = &["/srv/run.log", "run.log", "~/x.log", "/home/u/x.log"];
const PROGRAMS: &[&str] = &["serve", "train"];
const TEXTS: &[&str] = &["bad", "error: it broke", "fine", "Err 7"];

/// What playbooks ask of each type, true of some facts and false or unknown of others.
const ASKED: &[(&str, &[&str])] = &[
    (
        "kill",
        &[
            "it.hits_own_shell != 'no'",
            "it.pattern == 'serve'",
            "it.effective == 'yes'",
            "it.full",
        ],
    ),
    (
        "exit",
        &[
            "it.code != 0",
            "it.signal != null",
            "it.code == 255 && it.silent",
        ],
    ),
    (
        "launch",
        &[
            "it.port == 8000",
            "it.buffered != 'no'",
            "it.program == 'serve'",
        ],
    ),
    (
        "line",
        &[
            "it.text.contains('bad')",
            "re(it.text, '[Ee]rr(or)?')",
            "it.old != 'yes'",
            "it.time_us > 1",
        ],
    ),
    (
        "log_look",
        &[
            "it.digest == '1'",
            "it.lines > 1",
            "!it.empty",
            "it.last_line == 'bad'",
        ],
    ),
    (
        "file",
        &[
            "it.exists == 'no'",
            "it.size_bytes == 0",
            "it.size_bytes > 1",
        ],
    ),
    (
        "process_look",
        &[
            "it.count == 0",
            "it.pattern == 'serve'",
            "size(it.pids) > 0",
        ],
    ),
    (
        "process",
        &["it.state == 'T'", "it.pid == 1", "it.cpu_pct > 50.0"],
    ),
    (
        "gpu",
        &[
            "it.memory_used_mib > 100.0",
            "it.index == 0",
            "it.util_pct < 50.0",
        ],
    ),
    ("gpu_look", &["it.cut", "it.shown > 1"]),
    (
        "http",
        &[
            "it.outcome == 'refused'",
            "it.status >= 500",
            "it.host == 'h'",
        ],
    ),
    ("port_look", &["it.count == 0", "it.filter_port != null"]),
    ("socket", &["it.listening", "it.port == 8000"]),
    ("progress", &["it.percent < 50.0", "it.done > 1"]),
    (
        "launch_state",
        &["it.ready", "it.process == 'absent'", "it.percent > 10.0"],
    ),
    ("disk", &["it.used_pct > 95.0", "it.mount == '/'"]),
    ("unit", &["it.active == 'failed'", "it.restarts > 1"]),
    ("stage", &["it.stage == 'ready'", "it.old == 'no'"]),
];

/// Fields whose value a later fact may share.
const SHARED: &[(&str, &[&str])] = &[
    ("path", &["line", "log_look", "file", "progress", "stage"]),
    ("port", &["launch", "http", "socket"]),
    ("pattern", &["kill", "process_look"]),
    ("program", &["launch", "kill", "line"]),
];

const NUMBERS: &[(&str, &str)] = &[
    ("gpu", "memory_used_mib"),
    ("gpu", "util_pct"),
    ("progress", "percent"),
    ("file", "size_bytes"),
    ("log_look", "lines"),
    ("process", "cpu_pct"),
    ("launch_state", "percent"),
];

const WORDS: &[(&str, &str)] = &[
    ("log_look", "digest"),
    ("process", "state"),
    ("http", "outcome"),
    ("unit", "active"),
    ("exit", "code"),
];

fn fact(name: &str, dice: &mut Dice) -> Fact {
    let path = dice.text(PATHS);
    match name {
        "kill" => fact::Kill {
            program: "pkill".to_owned(),
            pattern: dice.text(PROGRAMS).into(),
            full: dice.chance(50),
            signal: 9,
            pids: if dice.chance(30) {
                vec![dice.number(4)]
            } else {
                Vec::new()
            },
            hits_own_shell: dice.tri(),
            effective: dice.tri(),
            ..Default::default()
        }
        .into(),
        "exit" => {
            let code = *dice.pick(&[0, 0, 1, 255]);
            fact::Exit {
                code: dice.maybe(code),
                signal: dice.chance(20).then_some(9),
                silent: dice.chance(50),
                program: dice.text(PROGRAMS),
                ..Default::default()
            }
            .into()
        }
        "line" => fact::Line {
            path,
            text: dice.text(TEXTS),
            program: dice.text(PROGRAMS),
            fingerprint: dice.text(&["f", "g"]),
            time_us: dice.chance(50).then_some(dice.number(4)),
            old: dice.tri(),
            ..Default::default()
        }
        .into(),
        "log_look" => fact::LogLook {
            path,
            lines: dice.number(4),
            empty: dice.chance(20),
            digest: dice.text(&["1", "1", "2"]),
            last_line: dice.chance(50).then(|| dice.text(TEXTS)),
            ..Default::default()
        }
        .into(),
        "file" => {
            let size = dice.number(4);
            fact::File {
                path,
                exists: dice.tri(),
                size_bytes: dice.maybe(size),
                ..Default::default()
            }
            .into()
        }
        "dir_look" => fact::DirLook {
            path: dice.text(&["/srv", "/home/u", "~"]),
            count: dice.number(3),
            cut: dice.chance(30),
            hidden: dice.chance(50),
        }
        .into(),
        "process_look" => {
            let pattern = dice.text(&["serve", "[s]erve", "train", "er"]);
            fact::ProcessLook {
                pattern: dice.maybe(pattern),
                full: dice.chance(70),
                everything: dice.chance(30),
                cut: dice.chance(20),
                count: dice.number(3),
                pids: (0..dice.number(3)).collect(),
                asked_pids: if dice.chance(30) {
                    vec![dice.number(4)]
                } else {
                    Vec::new()
                },
                ..Default::default()
            }
            .into()
        }
        "process" => {
            let (state, cpu) = (dice.text(&["T", "S"]), *dice.pick(&[0.0, 99.0]));
            let args = dice.text(&["python serve.py", "train --all"]);
            fact::Process {
                pid: dice.number(4),
                state: dice.maybe(state),
                cpu_pct: dice.maybe(cpu),
                args: dice.maybe(args),
                ..Default::default()
            }
            .into()
        }
        "gpu" => {
            let (used, util) = (*dice.pick(&[0.0, 90.0, 900.0]), *dice.pick(&[0.0, 99.0]));
            let index = dice.number(2);
            fact::Gpu {
                index: dice.maybe(index),
                memory_used_mib: dice.maybe(used),
                util_pct: dice.maybe(util),
                ..Default::default()
            }
            .into()
        }
        "gpu_look" => fact::GpuLook {
            shown: dice.number(3),
            cut: dice.chance(50),
            ..Default::default()
        }
        .into(),
        "http" => {
            let (port, status) = (*dice.pick(&[8000, 9000]), *dice.pick(&[200, 503]));
            fact::Http {
                host: dice.text(&["h", "g", "localhost"]),
                port: dice.maybe(port),
                path: dice.text(&["/health", "/"]),
                status: dice.maybe(status),
                outcome: dice.text(&["ok", "refused"]),
                ..Default::default()
            }
            .into()
        }
        "port_look" => {
            let port = *dice.pick(&[8000, 9000]);
            fact::PortLook {
                filter_port: dice.maybe(port),
                count: dice.number(2),
                cut: dice.chance(20),
                ..Default::default()
            }
            .into()
        }
        "socket" => fact::Socket {
            port: *dice.pick(&[8000, 9000]),
            listening: dice.chance(60),
            pid: dice.chance(50).then_some(dice.number(4)),
            ..Default::default()
        }
        .into(),
        "progress" => fact::Progress {
            path,
            label: dice.text(&["load", "fit"]),
            percent: *dice.pick(&[10.0, 48.0, 48.0, 90.0]),
            done: dice.chance(60).then_some(dice.number(4)),
            ..Default::default()
        }
        .into(),
        "launch_state" => fact::LaunchState {
            process: dice.text(&["running", "absent", "unknown"]),
            ready: dice.chance(30),
            percent: dice.chance(50).then_some(*dice.pick(&[5.0, 48.0])),
            ..Default::default()
        }
        .into(),
        "disk" => {
            let used = *dice.pick(&[50.0, 99.0]);
            fact::Disk {
                mount: dice.text(&["/", "/data"]),
                used_pct: dice.maybe(used),
                ..Default::default()
            }
            .into()
        }
        "unit" => fact::Unit {
            name: dice.text(&["serve.service", "train.service"]),
            active: dice.text(&["active", "failed"]),
            restarts: dice.chance(50).then_some(dice.number(4)),
            main_pid: dice.chance(50).then_some(dice.number(4)),
            ..Default::default()
        }
        .into(),
        "stage" => fact::Stage {
            path,
            stage: dice.text(&["load", "ready"]),
            old: dice.tri(),
            ..Default::default()
        }
        .into(),
        other => panic!("no fact {other}"),
    }
}

fn launch(dice: &mut Dice) -> fact::Launch {
    let (log, script) = (dice.text(PATHS), dice.text(&["/srv/run.sh", "run.sh"]));
    let program = dice.text(PROGRAMS);
    fact::Launch {
        name: program.clone(),
        line: format!("{program} --all"),
        program,
        log: dice.maybe(log),
        script: dice.maybe(script),
        port: dice.chance(60).then_some(*dice.pick(&[8000, 9000])),
        pid: dice.chance(30).then_some(dice.number(4)),
        buffered: dice.tri(),
        ..Default::default()
    }
}

/// A session of a few commands on two hosts; facts lean towards some types, as a playbook's do.
pub(super) fn timeline(dice: &mut Dice, likely: &[&'static str]) -> Timeline {
    let mut made = Timeline::default();
    let mut at = 0;
    for number in 0..3 + dice.below(9) {
        at += dice.number(20);
        let took = dice.number(6);
        command(dice, likely, &mut made, number, at, took);
    }
    let count = made.entries.len();
    for launch in &mut made.launches {
        launch.epoch_end = launch.epoch_end.min(count);
    }
    made.as_of = Micros((at + 10) * 1_000_000);
    made
}

fn command(
    dice: &mut Dice,
    likely: &[&'static str],
    made: &mut Timeline,
    number: usize,
    at_s: i64,
    took_s: i64,
) {
    let host = dice.text(&["h", "h", "h", "g"]);
    let container = dice.chance(10).then(|| "c1".to_owned());
    let (at, known) = (
        Micros(at_s * 1_000_000),
        Micros((at_s + took_s) * 1_000_000),
    );
    let mut facts: Vec<(Fact, Option<Stream>)> = Vec::new();
    for _ in 0..1 + dice.below(4) {
        let name = if dice.chance(85) && !likely.is_empty() {
            *dice.pick(likely)
        } else {
            dice.pick(ASKED).0
        };
        let of_line = matches!(name, "launch" | "kill");
        if name != "launch" {
            facts.push((fact(name, dice), (!of_line).then_some(Stream::Stdout)));
        } else {
            facts.push((launch(dice).into(), None));
        }
    }
    facts.sort_by_key(|(_, stream)| stream.is_some());
    if dice.chance(50) {
        facts.push((fact("exit", dice), None));
    }
    let mut invocation = 0;
    for (fact, stream) in facts {
        let here = made.entries.len();
        if dice.chance(40) {
            invocation = dice.below(3);
        }
        let of_end = matches!(fact, Fact::Exit(_) | Fact::LaunchState(_));
        let mut own = None;
        if let Fact::Launch(_) = fact {
            for before in &mut made.launches {
                if before.host == host && before.epoch_end == usize::MAX && dice.chance(70) {
                    before.epoch_end = here;
                }
            }
            own = Some(made.launches.len());
            made.launches.push(LaunchRecord {
                command: number,
                entry: here,
                host: host.clone(),
                container: container.clone(),
                epoch_end: usize::MAX,
                state: None,
            });
        } else if dice.chance(60) {
            own = made.launches.iter().rposition(|launch| launch.host == host);
        }
        made.entries.push(Entry {
            command: number,
            fact,
            host: host.clone(),
            container: container.clone(),
            invocation: (!of_end).then_some(invocation),
            stream: if of_end { None } else { stream },
            from: 0,
            to: 0,
            launch: own,
            at,
            known: if stream.is_none() && !of_end {
                at
            } else {
                known
            },
        });
    }
    made.commands.push(Command {
        id: CommandId::new(),
        number: u32::try_from(number + 1).unwrap(),
        line: "look".to_owned(),
        host: "laptop".to_owned(),
        at,
        took_s: None,
        exit: Exit::Code(0),
        tree: Tree::default(),
        facts: Vec::new(),
        stdout_bytes: 0,
        stderr_bytes: 0,
        tty_bytes: 0,
    });
}

/// A playbook's text, and the fact types it speaks of.
pub(super) struct Written {
    pub(super) text: String,
    pub(super) types: Vec<&'static str>,
}

/// A playbook that loads.
pub(super) fn playbook(dice: &mut Dice) -> (Playbook, Written) {
    let written = write(dice);
    match load("random.yaml", &written.text) {
        Ok(playbook) => (playbook, written),
        Err(faults) => panic!("{faults:#?}\n{}", written.text),
    }
}

fn write(dice: &mut Dice) -> Written {
    let scopes = [
        "command",
        "launch",
        "host",
        "process",
        "log",
        "endpoint",
        "gpu",
        "container",
        "session",
    ];
    let scope = *dice.pick(&scopes);
    let mut author = Author {
        dice,
        types: Vec::new(),
        bound: Vec::new(),
        names: 0,
    };
    let mut text = format!(
        "id: random\nversion: 1\nkind: made.up\nseverity: high\nscope: {scope}\ntitle: made\nwhen:\n  steps:\n"
    );
    let mut names = Vec::new();
    for number in 0..1 + author.dice.below(3) {
        let step = author.step(number == 0, 0);
        let _ = writeln!(text, "    - {step}");
    }
    for (name, _) in &author.bound {
        names.push(name.clone());
    }
    for (key, percent) in [("unless", 40), ("until", 60)] {
        if author.dice.chance(percent) {
            let _ = writeln!(text, "  {key}:");
            for _ in 0..1 + author.dice.below(2) {
                let guard = author.guard();
                let _ = writeln!(text, "    - {guard}");
            }
        }
    }
    text.push_str("hypotheses:\n  - { id: one, title: One, prior: .5 }\n");
    if author.dice.chance(60) {
        text.push_str("observations:\n");
        for number in 0..1 + author.dice.below(2) {
            let when = author.guard();
            let not_when = if author.dice.chance(30) {
                format!(", not_when: {}", author.guard())
            } else {
                String::new()
            };
            let _ = writeln!(
                text,
                "  - {{ id: o{number}, says: seen, when: {when}{not_when}, likely: {{ one: usually }} }}"
            );
        }
    }
    text.push_str("probes:\n");
    for (number, name) in names.iter().take(2).enumerate() {
        let _ = writeln!(
            text,
            "  - {{ id: p{number}, run: look, why: tells, yields: [{name}] }}"
        );
    }
    if names.is_empty() {
        text.push_str("  - { id: p, run: look, why: tells, yields: [o0] }\n");
    }
    Written {
        text,
        types: author.types,
    }
}
