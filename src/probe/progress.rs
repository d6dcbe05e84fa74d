//! Progress bars: how far something is, as it prints itself.
//!
//! tqdm and what imitates it (vLLM's `12% Completed | 2/16 [00:01<00:07, 1.86it/s]`), pip and rich,
//! docker, wget, curl, rsync, and counts in words (`step 120/1000`, `segment 1 of 7`). Of each label
//! the last state is kept.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::fingerprint::blanked;
use super::line::{Context, Seen, read_head};
use super::marks::{Marked, Marks};
use super::pattern::pattern;
use crate::fact::Progress;
use crate::shell::Tri;
use crate::text;

/// A bar is looked for in no more of a line than this.
const MAX_BYTES: usize = 1000;
/// More labels than this in one output are no progress.
const MAX_LABELS: usize = 100;

/// A bar's state.
#[derive(Debug, Clone, PartialEq, Default)]
struct Bar {
    label: String,
    percent: f64,
    done: Option<f64>,
    total: Option<f64>,
    elapsed_s: Option<f64>,
    rate_per_s: Option<f64>,
}

/// The last state of each bar shown.
pub(super) fn read(lines: &[Marked<'_>], context: &Context<'_>) -> Vec<Seen> {
    let mut bars: HashMap<String, (usize, Bar, u64, u64)> = HashMap::new();
    let mut order = 0;
    // A bar moves on from line to line: its label is blanked once.
    let (mut label, mut key) = (String::new(), String::new());
    let mut add = |text: &str, from: u64, to: u64| {
        let Some(bar) = parse(text) else { return };
        if bar.label != label {
            label.clone_from(&bar.label);
            key = blanked(&bar.label);
        }
        if bars.len() < MAX_LABELS || bars.contains_key(&key) {
            order += 1;
            bars.insert(key.clone(), (order, bar, from, to));
        }
    };
    for marked in lines.iter().filter(|line| line.marks.has(Marks::BAR)) {
        let line = marked.line;
        for state in &line.states {
            add(&state.text, state.from, state.to);
        }
        if line.states.is_empty() {
            add(&line.text, line.from, line.to);
        }
    }
    // A bar whose beginning was cut away (`tail -c`) is one of the others when there are any.
    if bars.len() > 1 {
        bars.remove("");
    }
    let mut bars: Vec<_> = bars.into_values().collect();
    bars.sort_by_key(|(order, ..)| *order);
    bars.into_iter()
        .map(|(_, bar, from, to)| seen(bar, (from, to), context))
        .collect()
}

/// Whether a line is a bar (a count in words is not).
pub fn is_progress(line: &str) -> bool {
    let line = text::cut(line, MAX_BYTES);
    line.contains(['%', '/']) && drawn(line).is_some()
}

/// Whether a line may tell how far something is: it would with some digits.
pub(super) fn may(line: &str) -> bool {
    let line = text::cut(line, MAX_BYTES);
    line.contains(|ch: char| ch.is_ascii_digit())
        && (shape_of(line).is_some() || counts(line.as_bytes()) || tells(line))
}

fn seen(bar: Bar, (from, to): (u64, u64), context: &Context<'_>) -> Seen {
    let fact = Progress {
        path: context.path.to_owned(),
        label: bar.label,
        percent: (bar.percent * 100.0).round() / 100.0,
        done: bar.done.map(whole),
        total: bar.total.map(whole),
        elapsed_s: bar.elapsed_s,
        rate_per_s: bar.rate_per_s,
        old: Tri::Unknown,
    };
    Seen {
        fact: fact.into(),
        from,
        to,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "units done, far below 2^53; saturates"
)]
fn whole(units: f64) -> i64 {
    units.round() as i64
}

fn parse(line: &str) -> Option<Bar> {
    let line = text::cut(line, MAX_BYTES);
    if !line.contains(|ch: char| ch.is_ascii_digit()) {
        return None;
    }
    drawn(line).or_else(|| in_words(line))
}

struct Shapes {
    tqdm: Regex,
    docker: Regex,
    rich: Regex,
    wget: Regex,
    wget_dots: Regex,
    curl: Regex,
    rsync: Regex,
    words: Regex,
    units: Regex,
    percent: Regex,
    counted: Regex,
    setting: Regex,
    working: Regex,
    changing: Regex,
}

static SHAPES: LazyLock<Shapes> = LazyLock::new(|| Shapes {
    tqdm: pattern(
        r"(?:(?P<pct>\d{1,3}(?:\.\d+)?)% *(?:Completed *)?)?\|(?:[^|\[\]]*\|)? *(?P<done>\d[\d.]*[kKMGTP]?)/(?P<total>\d[\d.]*[kKMGTP]?)(?:i?B)? *\[(?P<elapsed>[\d:]+)<(?P<left>[\d:?]+|[^,\]]*)(?:, *(?P<rate>[\d.]+|\?) *(?P<unit>[^\],]*))?",
    ),
    docker: pattern(
        r"^(?P<label>[0-9a-f]{12}:? +(?:Downloading|Extracting|Pushing))[: ]+(?:\[[=> ]*\] *)?(?P<done>[\d.]+ ?[kMGT]?B)/(?P<total>[\d.]+ ?[kMGT]?B)",
    ),
    rich: pattern(
        r"^(?P<label>[^━╸╺]*?) *[━╸╺]{4,} *(?:(?P<pct>\d{1,3})% *)?(?:(?P<done>[\d.]+)/(?P<total>[\d.]+) *(?P<unit>[kKMGT]?i?B)?)?(?: +(?P<rate>[\d.]+ ?[kKMGT]?i?B)/s)?",
    ),
    wget: pattern(
        r"^(?P<label>\S.*?) +(?P<pct>\d{1,3})%\[[=>+< ]*\] +(?P<done>[\d.,]+[KMGT]?) +(?P<rate>[\d.,]+ ?[KMG]?)B/s",
    ),
    wget_dots: pattern(
        r"^ *(?P<done>\d+K)(?: [.,]{1,10}){1,6} +(?P<pct>\d{1,3})% +(?P<rate>[\d.]+[KMG]?)\b",
    ),
    curl: pattern(
        r"^ *(?P<pct>\d{1,3}) +(?P<total>[\d.]+[kKMGT]?) +\d{1,3} +(?P<done>[\d.]+[kKMGT]?) +\d{1,3} +\S+ +\S+ +\S+ +[\d:-]+ +(?P<elapsed>[\d:-]+) +[\d:-]+ +(?P<rate>[\d.]+[kKMGT]?)$",
    ),
    rsync: pattern(
        r"^ *(?P<done>[\d,.]+[KMGT]?) +(?P<pct>\d{1,3})% +(?P<rate>[\d.]+ ?[kKMGT]?B)/s +\d+:\d\d:\d\d",
    ),
    words: pattern(
        r"(?i)\b(?P<label>step|epoch|iter(?:ation)?|batch|part|shard|chunk|file|layer|block|round|episode|segment|page|item|task|stage|phase|module|tensor|partition|bucket|table|row|sample|example|document|image|migration|test|worker)s?\b *[:=#]? *[\[(]? *(?P<done>\d+) *(?:/|of|out of) *(?P<total>\d+)\b",
    ),
    units: pattern(
        r"(?i)(?:^|[\s(:=])(?P<done>\d[\d,]*) *(?:/|of|out of) *(?P<total>\d[\d,]*) +(?P<label>steps|epochs|iterations|batches|parts|shards|chunks|files|layers|blocks|rounds|episodes|segments|pages|items|tensors|partitions|buckets|tables|rows|records|samples|examples|documents|docs|images|frames|tiles|objects|entries|messages|tokens|slices|keys)\b",
    ),
    percent: pattern(r"(?P<pct>\d{1,3}(?:\.\d+)?) ?%"),
    counted: pattern(
        r"\b(?P<pct>\d{1,3}(?:\.\d+)?) ?% *[,:;|-]? *[\[(]? *(?P<done>\d[\d.,]*(?: ?[kKMGT]i?B?)?) *(?:/|of|out of) *(?P<total>\d[\d.,]*(?: ?[kKMGT]i?B?)?)\b|\b(?P<done2>\d[\d.,]*(?: ?[kKMGT]i?B?)?) *(?:/|of|out of) *(?P<total2>\d[\d.,]*(?: ?[kKMGT]i?B?)?)\b[^%\d]{0,12}\b(?P<pct2>\d{1,3}(?:\.\d+)?) ?%",
    ),
    setting: pattern(
        r#"(?i)^[\s"']*(?P<label>[\w.-]*(?:load|progress|complet|done|sync|restor|recover|rebuil|copie?d?|index|migrat|import|replica|shards|download)[\w.-]*(?:perc|percent|percentage|pct)\w*|progress)["']?\s*[:=]\s*["']?(?P<pct>\d{1,3}(?:\.\d+)?)%?["',]*\s*$"#,
    ),
    working: pattern(
        r"(?i)\b(?:load|download|upload|progress|cop(?:y|ied)|complet|done|fetch|extract|convert|sync|build|compil|warm|captur|train|eval|process|index|import|export|restor|migrat|replay|recover|verif|quantiz|tokeniz|pull|push|transfer|rebuil|scan)\w*",
    ),
    changing: pattern(r" *\([^()]*[=\d][^()]*\) *$"),
});

/// A bar that is drawn.
fn drawn(line: &str) -> Option<Bar> {
    let (shape, found) = shape_of(line)?;
    match shape {
        Drawn::Tqdm => tqdm(line, &found),
        Drawn::Docker => of(&found, None),
        Drawn::Rich => {
            let unit = found.name("unit").map_or(1.0, |unit| scale(unit.as_str()));
            let mut bar = of(&found, Some("download"))?;
            bar.done = bar.done.map(|done| done * unit);
            bar.total = bar.total.map(|total| total * unit);
            Some(bar)
        }
        Drawn::Transfer => of(&found, Some("transfer")),
    }
}

/// Who draws a bar.
#[derive(Debug, Clone, Copy)]
enum Drawn {
    Tqdm,
    Docker,
    Rich,
    Transfer,
}

/// Whose bar a line looks like, whatever its digits say.
fn shape_of(line: &str) -> Option<(Drawn, Captures<'_>)> {
    let shapes = &*SHAPES;
    // What each asks for, before it is asked.
    let bytes = line.as_bytes();
    let has = |byte: u8| memchr::memchr(byte, bytes).is_some();
    if has(b'|')
        && has(b'<')
        && let Some(found) = shapes.tqdm.captures_iter(line).last()
    {
        return Some((Drawn::Tqdm, found));
    }
    if has(b'/')
        && line.contains("ing")
        && let Some(found) = shapes.docker.captures(line)
    {
        return Some((Drawn::Docker, found));
    }
    if line.contains(['━', '╸', '╺'])
        && let Some(found) = shapes.rich.captures(line)
    {
        return Some((Drawn::Rich, found));
    }
    let figures = line
        .trim_start_matches(' ')
        .starts_with(|c: char| c.is_numeric() || matches!(c, ',' | '.'));
    let begun = [
        (&shapes.wget, line.contains("%[")),
        (&shapes.wget_dots, figures && has(b'%')),
        (&shapes.curl, figures && has(b' ')),
        (&shapes.rsync, figures && has(b'%')),
    ];
    for (shape, may) in begun {
        if may && let Some(found) = shape.captures(line) {
            return Some((Drawn::Transfer, found));
        }
    }
    None
}

fn tqdm(line: &str, found: &Captures<'_>) -> Option<Bar> {
    let mut bar = of(found, Some(""))?;
    let start = found.get(0).map_or(0, |all| all.start());
    // Nothing but the bar's own glyphs before it: its label was cut away.
    bar.label = if found.name("pct").is_some() {
        label(line.get(..start).unwrap_or(""))
    } else {
        String::new()
    };
    if let Some(unit) = found.name("unit").map(|unit| unit.as_str().trim()) {
        bar.rate_per_s = bar.rate_per_s.filter(|rate| *rate > 0.0).map(|rate| {
            if unit.starts_with("s/") {
                1.0 / rate
            } else {
                let prefixed = ["B/s", "iB/s", "it/s"]
                    .iter()
                    .any(|tail| unit.len() > tail.len() && unit.ends_with(tail));
                if prefixed { rate * scale(unit) } else { rate }
            }
        });
    }
    Some(bar)
}

fn of(found: &Captures<'_>, fallback: Option<&str>) -> Option<Bar> {
    let group = |name: &str| found.name(name).map(|group| group.as_str());
    let done = group("done").and_then(amount);
    let total = group("total").and_then(amount);
    let percent = match (
        group("pct").and_then(|pct| pct.parse::<f64>().ok()),
        done,
        total,
    ) {
        (Some(percent), ..) => percent,
        (None, Some(done), Some(total)) if total > 0.0 => (done / total * 100.0).min(100.0),
        _ => return None,
    };
    if percent > 100.0 {
        return None;
    }
    let mut name = group("label").map(label).unwrap_or_default();
    if name.is_empty() {
        fallback?.clone_into(&mut name);
    }
    Some(Bar {
        label: name,
        percent,
        done,
        total,
        elapsed_s: group("elapsed").and_then(clock),
        rate_per_s: group("rate").and_then(amount),
    })
}

/// `step 120/1000`, `warming segment 1 of 7`, `Loading model 45%`.
fn in_words(line: &str) -> Option<Bar> {
    let shapes = &*SHAPES;
    if counts(line.as_bytes())
        && let Some(found) = shapes.words.captures(line)
    {
        let mut bar = of(&found, Some("step"))?;
        if bar.total.is_none_or(|total| total < 2.0) || bar.done > bar.total {
            return None;
        }
        let head = read_head(line);
        let word = found.name("label")?;
        let before = line.get(head.body..word.start()).unwrap_or("").trim();
        let near = before
            .rsplit([':', ',', ';', '.', ']', '[', '('])
            .next()
            .unwrap_or("")
            .trim();
        if near.len() <= 40 && !near.contains(|ch: char| ch.is_ascii_digit()) {
            bar.label = format!("{near} {}", word.as_str()).trim().to_owned();
        }
        return Some(bar);
    }
    if let Some(bar) = of_units(line) {
        return Some(bar);
    }
    if !tells(line) {
        return None;
    }
    let lower = line.to_ascii_lowercase();
    if let Some(found) = shapes.setting.captures(line) {
        return of(&found, None);
    }
    if !line.contains('%') {
        return None;
    }
    if let Some(bar) = counted(line, &lower) {
        return Some(bar);
    }
    let found = shapes.percent.captures(line)?;
    let head = read_head(line);
    let start = found.get(0)?.start();
    let before = line.get(head.body.min(start)..start)?;
    shapes.working.find(line.get(head.body..)?)?;
    of(&found, Some("")).map(|bar| Bar {
        label: label(before),
        ..bar
    })
}

/// Whether a line may tell of progress by its per cent, and not of a load or a share.
fn tells(line: &str) -> bool {
    let told = ["%", "perc", "pct", "rogress"];
    if line.len() > 200 || !told.iter().any(|word| line.contains(word)) {
        return false;
    }
    let lower = line.to_ascii_lowercase();
    let other = [
        "packet loss",
        "cpu",
        "util",
        "usage",
        "memory",
        "mem ",
        "free",
        "used",
        "throttl",
        "packing",
        "padding",
    ];
    !other.iter().any(|word| lower.contains(word))
}

/// `dedup: 100/3000 shards`, `processed 1,200 of 5,000 rows`: a count whose unit stands behind it.
fn of_units(line: &str) -> Option<Bar> {
    if line.len() > 200 || line.contains('%') || !counts(line.as_bytes()) {
        return None;
    }
    let found = SHAPES.units.captures(line)?;
    let lower = line.to_ascii_lowercase();
    let judged = [
        "fail",
        "error",
        "pass",
        "skip",
        "ready",
        "missing",
        "corrupt",
        "invalid",
        "free",
        "used",
        "available",
        "healthy",
        "changed",
        "differ",
        "dropped",
        "limit",
        "max",
    ];
    if judged.iter().any(|word| lower.contains(word)) {
        return None;
    }
    of(&found, None)
        .filter(|bar| bar.total.is_some_and(|total| total >= 2.0) && bar.done <= bar.total)
}

/// `37% 19021824/51380224`, `(412/1103, 37%)`: parts of a whole that agree with their per cent.
fn counted(line: &str, lower: &str) -> Option<Bar> {
    let judged = ["pass", "fail", "cover", "disk", "hit", "quota", "capacity"];
    if judged.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let found = SHAPES.counted.captures(line)?;
    let group = |one: &str, other: &str| {
        let group = found.name(one).or_else(|| found.name(other));
        group.map(|group| group.as_str())
    };
    let percent: f64 = group("pct", "pct2")?.parse().ok()?;
    let (done, total) = (
        amount(group("done", "done2")?)?,
        amount(group("total", "total2")?)?,
    );
    let agrees = total >= 2.0 && (done / total * 100.0 - percent).abs() <= 1.5;
    let head = read_head(line);
    let before = line.get(head.body.min(found.get(0)?.start())..found.get(0)?.start())?;
    let mut name = label(before);
    if ["INFO", "DEBUG", "NOTICE", "info", "debug"].contains(&name.as_str()) {
        name.clear();
    }
    (agrees && percent <= 100.0).then(|| Bar {
        label: name,
        percent,
        done: Some(done),
        total: Some(total),
        ..Bar::default()
    })
}

/// Whether a line may hold a count in words: `3/10`, `3 of 10`, `3 out of 10`.
fn counts(line: &[u8]) -> bool {
    let parts = |at: usize| {
        let before = line.get(..at).unwrap_or(&[]).trim_ascii_end();
        let after = line.get(at + 1..).unwrap_or(&[]).trim_ascii_start();
        // Digits of other scripts count as well.
        let digit =
            |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_digit() || *byte >= 0x80);
        digit(before.last()) && digit(after.first())
    };
    memchr::memchr_iter(b'/', line).any(parts)
        || line.windows(2).any(|pair| pair.eq_ignore_ascii_case(b"of"))
}

/// The words before a bar, without the line's prefix and what changes from state to state.
fn label(before: &str) -> String {
    let before = before
        .rsplit(']')
        .next()
        .filter(|tail| !tail.trim().is_empty())
        .unwrap_or(before);
    let head = read_head(before);
    let label = before.get(head.body..).unwrap_or(before);
    let label = label
        .trim_matches(|ch: char| ch.is_whitespace() || matches!(ch, ':' | '|' | '-' | '[' | '('));
    SHAPES
        .changing
        .replace(label, "")
        .trim_end_matches([':', ' '])
        .to_owned()
}

/// `12`, `609M`, `1,234`, `12.3 MB`.
fn amount(text: &str) -> Option<f64> {
    let text = text.replace(',', "");
    let digits = text.trim_end_matches(|ch: char| ch.is_ascii_alphabetic() || ch == ' ');
    let number: f64 = digits.parse().ok()?;
    Some(number * scale(text.get(digits.len()..).unwrap_or("").trim()))
}

fn scale(unit: &str) -> f64 {
    match unit.as_bytes().first() {
        Some(b'k' | b'K') => 1e3,
        Some(b'M') => 1e6,
        Some(b'G') => 1e9,
        Some(b'T') => 1e12,
        Some(b'P') => 1e15,
        _ => 1.0,
    }
}

/// `01:52`, `1:02:03` in seconds.
fn clock(text: &str) -> Option<f64> {
    let mut seconds = 0.0;
    for part in text.split(':') {
        seconds = seconds * 60.0 + part.parse::<f64>().ok()?;
    }
    Some(seconds)
}

#[cfg(test)]
mod tests {
    use super::{is_progress, parse, read};
    use crate::fact::{Fact, Progress};
    use crate::probe::line::Context;
    use crate::probe::marks;
    use crate::text::{self, TextLine};

    fn bars(output: &str) -> Vec<Progress> {
        let lines = text::lines(output.as_bytes());
        let lines: Vec<&TextLine> = lines.iter().collect();
        let facts = read(&marks::of(&lines), &Context::default());
        facts
            .into_iter()
            .map(|seen| match seen.fact {
                Fact::Progress(progress) => progress,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    /// Line, label, per cent, done, total (-1: unknown), elapsed, rate.
    type Case = (
        &'static str,
        &'static str,
        f64,
        f64,
        f64,
        Option<f64>,
        Option<f64>,
    );

    #[test]
    fn bars_of_many_tools_are_read() {
        let cases: &[Case] = &[
            (
                "Loading safetensors checkpoint shards:  44% Completed | 7/16 [00:03<00:04,  1.85it/s]",
                "Loading safetensors checkpoint shards",
                44.0,
                7.0,
                16.0,
                Some(3.0),
                Some(1.85),
            ),
            (
                "Loading safetensors checkpoint shards:   0% Completed | 0/16 [00:00<?, ?it/s]",
                "Loading safetensors checkpoint shards",
                0.0,
                0.0,
                16.0,
                Some(0.0),
                None,
            ),
            (
                "Fetching 96 files:  98%|█████████▊| 94/96 [22:40<00:41, 20.00s/it]",
                "Fetching 96 files",
                98.0,
                94.0,
                96.0,
                Some(1360.0),
                Some(0.05),
            ),
            (
                "Tokenizing Prompts (num_proc=64):  92%|█████████▏| 328986/359152 [29:58<12:05, 41.59 examples/s]",
                "Tokenizing Prompts",
                92.0,
                328_986.0,
                359_152.0,
                Some(1798.0),
                Some(41.59),
            ),
            (
                "Capturing batches (bs=128 avail_mem=11.18 GB):   0%|          | 0/19 [00:00<?, ?it/s]",
                "Capturing batches",
                0.0,
                0.0,
                19.0,
                Some(0.0),
                None,
            ),
            (
                "model.safetensors:  12%|█▏        | 609M/4.98G [00:12<01:25, 51.0MB/s]",
                "model.safetensors",
                12.0,
                609e6,
                4.98e9,
                Some(12.0),
                Some(51e6),
            ),
            (
                "[2026-11-30 10:42:52 TP0] load:  50%|##   | 8/16 [00:00<00:00, 31it/s]",
                "load",
                50.0,
                8.0,
                16.0,
                Some(0.0),
                Some(31.0),
            ),
            (
                " | 150/330 [00:18<00:21,  8.27tensor/s]",
                "",
                45.454_545,
                150.0,
                330.0,
                Some(18.0),
                Some(8.27),
            ),
            (
                "a1b2c3d4e5f6: Downloading [=====>     ]  12.3MB/45.6MB",
                "a1b2c3d4e5f6: Downloading",
                26.973_684,
                12.3e6,
                45.6e6,
                None,
                None,
            ),
            (
                "   ━━━━━━━━━━━━━━━━━ 12.3/45.6 MB 10.2 MB/s eta 0:00:03",
                "download",
                26.973_684,
                12.3e6,
                45.6e6,
                None,
                Some(10.2e6),
            ),
            (
                "model.bin   45%[=====>      ]  12.30M  1.20MB/s    eta 3s",
                "model.bin",
                45.0,
                12.3e6,
                -1.0,
                None,
                Some(1.2e6),
            ),
            (
                " 12  100M   12 12.3M    0     0  1234k      0  0:01:21  0:00:10  0:01:11 1234k",
                "transfer",
                12.0,
                12.3e6,
                100e6,
                Some(10.0),
                Some(1.234e6),
            ),
            (
                "      1,234,567  45%   12.34MB/s    0:00:12",
                "transfer",
                45.0,
                1_234_567.0,
                -1.0,
                None,
                Some(12.34e6),
            ),
            (
                "step 120/1000 loss 2.0",
                "step",
                12.0,
                120.0,
                1000.0,
                None,
                None,
            ),
            (
                "12:03:23 warming segment 1 of 8",
                "warming segment",
                12.5,
                1.0,
                8.0,
                None,
                None,
            ),
            ("Epoch [3/10], lr 0.1", "Epoch", 30.0, 3.0, 10.0, None, None),
            (
                "03:17:13 dedup: 100/4000 shards, 4100 duplicates",
                "shards",
                2.5,
                100.0,
                4000.0,
                None,
                None,
            ),
            (
                "processed 1,200 of 5,000 rows",
                "rows",
                24.0,
                1200.0,
                5000.0,
                None,
                None,
            ),
            (
                "INFO: Loading model weights: 45%",
                "Loading model weights",
                45.0,
                -1.0,
                -1.0,
                None,
                None,
            ),
        ];
        for (line, label, percent, done, total, elapsed, rate) in cases {
            let bar = parse(line).unwrap_or_else(|| panic!("{line}"));
            let near = |one: Option<f64>, other: f64| {
                (one.unwrap_or(-1.0) - other).abs() < 1e-3 * other.abs().max(1e-3)
            };
            assert_eq!(bar.label, *label, "{line}");
            assert!((bar.percent - percent).abs() < 1e-3, "{line}: {bar:?}");
            assert!(
                near(bar.done, *done) && near(bar.total, *total),
                "{line}: {bar:?}"
            );
            assert_eq!(bar.elapsed_s, *elapsed, "{line}");
            assert!(
                near(bar.rate_per_s, rate.unwrap_or(-1.0)),
                "{line}: {bar:?}"
            );
        }
    }

    #[test]
    fn parts_of_a_whole_that_agree_with_their_per_cent_are_progress() {
        for (line, label, percent) in [
            ("37% 19021824/51380224", "", 37.0),
            (
                "I, [2026-11-30T19:45:53 #104]  INFO -- : 37% 19021824/51380224",
                "",
                37.0,
            ),
            (
                "Receiving objects:  37% (408/1103)",
                "Receiving objects",
                37.0,
            ),
            ("copied 12.5 GB of 50 GB (25%)", "copied", 25.0),
            ("loading_loaded_perc:46.39", "loading_loaded_perc", 46.39),
            (
                "  \"active_shards_percent_as_number\" : 62.5,",
                "active_shards_percent_as_number",
                62.5,
            ),
            ("progress: 40%", "progress", 40.0),
        ] {
            let bar = parse(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(
                (bar.label.as_str(), bar.percent),
                (label, percent),
                "{line}"
            );
        }
    }

    #[test]
    fn other_numbers_are_no_progress() {
        for line in [
            "12/16 (75%) tests passed",
            "Mem: 12/16 GB (75%)",
            "37% 12/16",
            "cpu_load_pct: 93",
            "sync_errors: 3",
            "2 packets transmitted, 2 received, 0% packet loss, time 1001ms",
            "Padding mamba page size by 0.99% to ensure",
            "/dev/vda  252G   21G  124G  14% /",
            "error at 12/16/2026",
            "3/8 files failed",
            "2/3 shards available",
            "12/16/2026 files",
            "read 9/4 rows",
            "step 20 loss 2.113",
            "| N/A   41C    P0   123W /  700W |   26207MiB / 143771MiB |      0%      Default |",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
        assert!(!is_progress("warming segment 1 of 7"));
    }

    #[test]
    fn the_last_state_of_each_label_is_kept() {
        let output = "\rload:  12% Completed | 2/16 [00:02<00:14,  1.04s/it]\n\rload:  19% Completed | 3/16 [00:03<00:13,  1.04s/it]\nfetch:  50%|#| 1/2 [00:01<00:01, 1.0it/s]\r fetch: 100%|##| 2/2 [00:02<00:00, 1.0it/s]\n";
        let bars = bars(output);
        assert_eq!(bars.len(), 2);
        assert_eq!((bars[0].label.as_str(), bars[0].done), ("load", Some(3)));
        assert_eq!((bars[1].label.as_str(), bars[1].percent), ("fetch", 100.0));
    }

    #[test]
    fn a_bar_with_its_beginning_cut_away_is_one_of_the_others() {
        let output = "| 150/330 [00:18<00:21,  8.27tensor/s]\rq:  46%|███ | 151/330 [00:18<00:21,  8.27tensor/s]";
        let bars = bars(output);
        assert_eq!((bars.len(), bars[0].done), (1, Some(151)));
    }
}
