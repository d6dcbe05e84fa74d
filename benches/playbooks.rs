//! How long playbooks take: many facts by many playbooks, a new fact to its finding, `why` on a long
//! session. Times are of the processor. Prints one row each; `docs/benchmarks.md` keeps them.

#![expect(clippy::print_stdout, reason = "a bench prints its rows")]

use std::time::Duration;

use casebook::diagnosis::experience::Experience;
use casebook::diagnosis::{self, Sources};
use casebook::id::{CommandId, SessionId};
use casebook::playbook::steps::{CaseStep, commands};
use casebook::playbook::{self, Playbook};
use casebook::time::Micros;
use casebook::timeline::{Command, Timeline, build};

/// Commands that sessions are made of: those of the recorded ones, and of the playbooks' own tests.
struct Stock {
    sessions: Vec<Vec<Command>>,
}

#[derive(serde::Deserialize)]
struct CaseFile {
    steps: Vec<CaseStep>,
}

impl Stock {
    fn new() -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/sessions");
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .map(|found| found.flatten().map(|file| file.path()).collect())
            .unwrap_or_default();
        files.sort();
        let mut sessions: Vec<Vec<Command>> = Vec::new();
        for file in files {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            if let Ok(case) = serde_saphyr::from_str::<CaseFile>(&text) {
                sessions.push(commands(&case.steps, Micros(0)));
            }
        }
        for playbook in playbook::shipped() {
            for test in &playbook.tests {
                sessions.push(commands(&test.steps, Micros(0)));
            }
        }
        Self { sessions }
    }

    /// A session of so many commands: whole recorded ones one after the other, beginning with the
    /// `from`th, on hosts and files of their own.
    fn session(&self, from: usize, count: usize) -> Vec<Command> {
        let mut out: Vec<Command> = Vec::with_capacity(count);
        let mut at = Micros(1_000_000);
        let mut number = from;
        while out.len() < count {
            let part = &self.sessions[number % self.sessions.len()];
            let start = part.first().map_or(Micros(0), |one| one.at);
            for command in part.iter().take(count - out.len()) {
                let mut command = command.clone();
                let after = command.at.seconds_since(start);
                command.id = CommandId::new();
                command.number = u32::try_from(out.len() + 1).unwrap_or(u32::MAX);
                command.at = at.plus_us(micros(after));
                out.push(command);
            }
            at = out.last().map_or(at, Command::ended).plus_us(30_000_000);
            number += 1;
        }
        out
    }
}

#[expect(clippy::cast_possible_truncation, reason = "seconds of a session")]
fn micros(seconds: f64) -> i64 {
    (seconds * 1e6) as i64
}

/// Playbooks, multiplied with changed constants: every text and number of the conditions that a
/// copy compares with is its own.
fn playbooks(count: usize) -> Vec<Playbook> {
    let texts = playbook::shipped_texts();
    let mut out = Vec::with_capacity(count);
    let mut copy = 0;
    while out.len() < count {
        for (name, text) in &texts {
            if out.len() == count {
                break;
            }
            let changed = if copy == 0 {
                text.clone()
            } else {
                change(text, copy)
            };
            match playbook::load(name, &changed) {
                Ok(one) => out.push(one),
                Err(faults) => panic!("{name}, copy {copy}: {faults:?}"),
            }
        }
        copy += 1;
    }
    out
}

/// A playbook's text with another id, and with its own words in every second condition that
/// compares with a text.
fn change(text: &str, copy: usize) -> String {
    let mut out = String::with_capacity(text.len() + 256);
    for (number, line) in text.lines().enumerate() {
        let step = line.contains("where:") && (number + copy).is_multiple_of(2);
        if let Some(id) = line.strip_prefix("id: ") {
            out.push_str(&format!("id: {id}-{copy}\n"));
        } else if step && line.contains(".contains('") {
            out.push_str(&line.replacen(".contains('", &format!(".contains('{copy}"), 1));
            out.push('\n');
        } else if step && line.contains("> 0") {
            out.push_str(&line.replacen("> 0", &format!("> {copy}"), 1));
            out.push('\n');
        } else {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// Time of the processor that this program took: what else runs on the machine does not count.
#[derive(Clone, Copy)]
struct Cpu(Duration);

impl Cpu {
    fn now() -> Self {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
        let nanos = u32::try_from(now.tv_nsec).unwrap_or_default();
        Self(Duration::new(seconds, nanos))
    }

    fn elapsed(self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

fn row(what: &str, measured: &str) {
    println!("| {what} | {measured} |");
}

fn of(mut times: Vec<Duration>, share: usize) -> Duration {
    times.sort();
    let at = (times.len() * share / 100).min(times.len().saturating_sub(1));
    times.get(at).copied().unwrap_or_default()
}

fn main() {
    let stock = Stock::new();
    let asked = std::env::args().nth(1).unwrap_or_default();
    let want = |name: &str| asked.is_empty() || asked.starts_with("--") || asked == name;
    if want("backtest") {
        backtest(&stock, 200);
    }
    if want("long") {
        backtest(&stock, 10_000);
    }
    if want("fresh") {
        fresh(&stock);
    }
    if want("why") {
        why(&stock);
    }
    if want("each") {
        each(&stock);
    }
}

/// A million facts in sessions of so many commands, by a thousand playbooks.
fn backtest(stock: &Stock, commands: usize) {
    let playbooks = playbooks(1_000);
    let engine = playbook::Engine::new(&playbooks);
    let (mut facts, mut found, mut number) = (0, 0, 0);
    let mut spent = Duration::ZERO;
    while facts < 1_000_000 {
        let session = stock.session(number * 7, commands);
        let as_of = session.last().map_or(Micros(0), Command::ended);
        let timeline = build(session, as_of);
        facts += timeline.entries.len();
        let begun = Cpu::now();
        found += engine.run(&timeline).firings.len();
        spent += begun.elapsed();
        number += 1;
        if spent > Duration::from_secs(120) {
            break;
        }
    }
    row(
        &format!("{facts} facts in {number} sessions of {commands} commands × 1,000 playbooks"),
        &format!(
            "{:.1} s, {} MiB at most, {found} findings",
            spent.as_secs_f64(),
            peak_mib()
        ),
    );
}

/// A new command's facts to what they make of the session: timeline, matching, from scratch.
fn fresh(stock: &Stock) {
    for (commands, count) in [(200, 1_000), (200, 70), (1_000, 70), (10_000, 70)] {
        let playbooks = playbooks(count);
        let engine = playbook::Engine::new(&playbooks);
        let session = stock.session(3, commands);
        let (mut whole, mut matching) = (Vec::new(), Vec::new());
        let rounds = if commands > 5_000 { 20 } else { 100 };
        for length in (commands - rounds)..commands {
            let part = session[..length].to_vec();
            let as_of = part.last().map_or(Micros(0), Command::ended);
            let begun = Cpu::now();
            let timeline = build(part, as_of);
            let built = Cpu::now();
            let matches = engine.run(&timeline);
            matching.push(built.elapsed());
            whole.push(begun.elapsed());
            std::hint::black_box(matches);
        }
        row(
            &format!(
                "a new command's facts to their findings, {commands} commands, {count} playbooks"
            ),
            &format!(
                "p50 {:.1} ms, p99 {:.1} ms (of it matching p99 {:.1} ms)",
                of(whole.clone(), 50).as_secs_f64() * 1e3,
                of(whole, 99).as_secs_f64() * 1e3,
                of(matching, 99).as_secs_f64() * 1e3
            ),
        );
    }
}

/// The shipped playbooks that take longest with a session of 10,000 commands, each alone.
fn each(stock: &Stock) {
    let session = stock.session(0, 10_000);
    let as_of = session.last().map_or(Micros(0), Command::ended);
    let timeline = build(session, as_of);
    let mut times: Vec<(Duration, &str, usize)> = playbook::shipped()
        .iter()
        .map(|one| {
            let engine = playbook::Engine::new(std::slice::from_ref(one));
            let begun = Cpu::now();
            let found = engine.run(&timeline).firings.len();
            (begun.elapsed(), one.id.as_str(), found)
        })
        .collect();
    times.sort();
    for (time, id, found) in times.iter().rev().take(15) {
        let spent = format!("{:.0} ms, {found} findings", time.as_secs_f64() * 1e3);
        row(&format!("`{id}` alone, 10,000 commands"), &spent);
    }
}

/// What `rec why` does with a session of 10,000 commands once its facts are read.
fn why(stock: &Stock) {
    let session = stock.session(0, 10_000);
    let as_of = session.last().map_or(Micros(0), Command::ended);
    let playbooks = playbook::shipped();
    let begun = Cpu::now();
    let timeline: Timeline = build(session, as_of);
    let built = begun.elapsed();
    let matches = playbook::run(playbooks, &timeline);
    let matched = begun.elapsed();
    let diagnosis = diagnosis::from_matches(
        playbooks,
        &matches,
        Sources {
            timeline: &timeline,
            judgements: &[],
            experience: &Experience::default(),
            quotes: &|_, _, _, _| String::new(),
            session: SessionId::new(),
            relative_time: true,
        },
    );
    let all = begun.elapsed();
    row(
        &format!(
            "timeline, playbooks and diagnosis of 10,000 commands ({} facts)",
            timeline.entries.len()
        ),
        &format!(
            "{:.0} ms: timeline {:.0}, playbooks {:.0}, diagnosis {:.0}; {} findings",
            all.as_secs_f64() * 1e3,
            built.as_secs_f64() * 1e3,
            (matched - built).as_secs_f64() * 1e3,
            (all - matched).as_secs_f64() * 1e3,
            diagnosis.findings.len()
        ),
    );
}
