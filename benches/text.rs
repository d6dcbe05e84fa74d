//! How fast output is read: raw bytes to lines, and a look into a log to its facts, in megabytes a
//! second on one core. Prints one row each; `docs/benchmarks.md` keeps them.

#![expect(clippy::print_stdout, reason = "a bench prints its rows")]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use casebook::event::{Exit, Stream};
use casebook::probe::{Look, read};
use casebook::{shell, text};

/// Bytes of each output: as many as are read of one.
const BYTES: usize = 7 << 20;
/// Each row is the best of so many.
const ROUNDS: usize = 5;

/// Lines that say nothing, one a format, of `tests/fixtures/logs/formats.txt`.
fn samples() -> Vec<(String, String)> {
    let data = include_str!("../tests/fixtures/logs/formats.txt");
    let mut found = Vec::new();
    let mut name = "";
    for line in data.lines() {
        if let Some(rest) = line.strip_prefix("## ") {
            name = rest;
        } else if !name.is_empty() && !line.starts_with('<') && !line.is_empty() {
            found.push((name.to_owned(), line.to_owned()));
            name = "";
        }
    }
    found
}

/// A small generator of numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        self.0 >> 33
    }
}

/// A line like the sample: its words as they are, the digits of its message others.
fn like(sample: &str, random: &mut Random, out: &mut String) {
    let message = sample
        .char_indices()
        .rev()
        .take(40)
        .last()
        .map_or(0, |(at, _)| at);
    for (at, ch) in sample.char_indices() {
        match ch {
            '1'..='9' if at >= message => {
                let digit = u32::try_from(random.next() % 9 + 1).unwrap_or(1);
                out.push(char::from_digit(digit, 10).unwrap_or('1'));
            }
            _ => out.push(ch),
        }
    }
}

/// An output of lines like these.
fn output(samples: &[&str], mut between: impl FnMut(usize, &str, &mut String)) -> Vec<u8> {
    let mut random = Random(7);
    let mut text = String::with_capacity(BYTES + 4096);
    let mut line = String::new();
    let mut number = 0;
    while text.len() < BYTES {
        line.clear();
        like(samples[number % samples.len()], &mut random, &mut line);
        between(number, &line, &mut text);
        number += 1;
    }
    text.into_bytes()
}

fn plain(samples: &[&str]) -> Vec<u8> {
    output(samples, |_, line, text| {
        text.push_str(line);
        text.push('\n');
    })
}

/// Bars of tqdm, a hundred states each.
fn bars() -> Vec<u8> {
    output(
        &["Loading safetensors checkpoint shards"],
        |number, line, text| {
            for at in 0..=100 {
                let full = "█".repeat(at / 10);
                let _ = write!(
                    text,
                    "\r{line}: {at:3}%|{full:<10}| {at}/100 [00:{:02}<00:10, 9.{at}it/s]",
                    at % 60
                );
            }
            let _ = writeln!(text, "\nshard set {number} is there");
        },
    )
}

/// Every line ends in a request's id: no two are of one shape.
fn named_each(samples: &[&str]) -> Vec<u8> {
    let mut random = Random(11);
    output(samples, |_, line, text| {
        let (high, low) = (random.next(), random.next());
        let _ = writeln!(text, "{line} request={high:08x}{low:08x}");
    })
}

fn coloured(samples: &[&str]) -> Vec<u8> {
    output(samples, |_, line, text| {
        let _ = writeln!(text, "\x1b[32mINFO\x1b[0m:     \x1b[1m{line}\x1b[0m");
    })
}

fn best(mut work: impl FnMut()) -> Duration {
    (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed()
        })
        .min()
        .unwrap_or_default()
}

fn speed(bytes: &[u8], took: Duration) -> f64 {
    let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    f64::from(size) / 1e6 / took.as_secs_f64()
}

/// The renderer alone, and all that is read of a log that was shown; of the rows asked for by a word of
/// their name, or all.
fn row(what: &str, bytes: &[u8]) {
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    if !asked.is_empty() && !asked.iter().any(|word| what.contains(word)) {
        return;
    }
    let tree = shell::parse("cat /srv/app/server.log");
    let streams = [(Stream::Stdout, bytes)];
    let look = Look {
        tree: &tree,
        host: "here",
        exit: Exit::Code(0),
        streams: &streams,
    };
    let rendered = speed(
        bytes,
        best(|| drop(std::hint::black_box(text::lines(bytes)))),
    );
    let mut facts = 0;
    let all = speed(
        bytes,
        best(|| facts = std::hint::black_box(read(&look)).facts.len()),
    );
    println!("| {what} | {rendered:.0} | {all:.0} | {facts} |");
}

fn main() {
    let samples = samples();
    let silent = |line: &&(String, String)| !casebook::probe::line::is_notable(&line.1);
    let named = |names: &[&str]| -> Vec<&str> {
        samples
            .iter()
            .filter(silent)
            .filter(|(name, _)| names.is_empty() || names.contains(&name.as_str()))
            .map(|(_, line)| line.as_str())
            .collect()
    };
    println!("| output | lines alone, MB/s | with its facts, MB/s | facts |");
    println!("|---|---|---|---|");
    for name in [
        "Python logging, with a time",
        "vLLM v0",
        "sglang",
        "uvicorn",
        "journal, short",
        "nginx access",
        "NCCL",
        "zap, console",
    ] {
        let only = named(&[name]);
        if !only.is_empty() {
            row(name, &plain(&only));
        }
    }
    let silent = named(&[]);
    row("all formats, nothing notable", &plain(&silent));
    let all: Vec<&str> = samples.iter().map(|(_, line)| line.as_str()).collect();
    row("all formats, as they come", &plain(&all));
    row("each with an id of its own, in hex", &named_each(&silent));
    row("with colours", &coloured(&silent));
    row("bars of tqdm, by \\r", &bars());
}
