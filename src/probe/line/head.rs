//! What stands before a line's message: time, level, and who says it.
//!
//! Log lines stack prefixes (`[rank1]:`, a compose service, a time in brackets, a level, a logger, a
//! file and line). [`read`] takes them off one by one and says where the message begins; what it does
//! not know is left to the message.

use std::sync::LazyLock;

use regex::Regex;

use super::time::{self, When};
use crate::probe::pattern::pattern;
use crate::text;

/// The front of a line, read.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Head {
    /// The time it prints.
    pub(super) when: Option<When>,
    /// `debug`, `info`, `warning`, `error`, `fatal`; empty where none is named.
    pub(crate) level: &'static str,
    /// The rank, worker or process that says it.
    pub(crate) worker: Option<String>,
    /// Where the message begins, in bytes; one space after the last prefix is not part of it.
    pub(crate) body: usize,
}

impl Head {
    /// It prints a time.
    pub(crate) fn is_timed(&self) -> bool {
        self.when.is_some()
    }

    /// It is a line of the journal or of a syslog: a time, and a program with its id.
    pub(crate) fn is_journal(&self) -> bool {
        let named = |worker: &str| worker.ends_with(']') || worker == "kernel";
        self.when.is_some() && self.worker.as_deref().is_some_and(named)
    }
}

/// A prefix is looked for in no more than this much of a line.
const MAX_HEAD: usize = 400;
/// And a level named in words, when a time came before, within this much of what follows.
const LEVEL_WITHIN: usize = 80;

struct Shapes {
    /// `[1,0]<stderr>:` of mpirun.
    mpi: Regex,
    /// `[rank1]:`, `[default0]:`, `[rank 1]`, `[TP0]`.
    rank: Regex,
    /// `(EngineCore pid=151)`, `(pid=12, ip=…)`.
    process: Regex,
    /// `web-1  | ` of docker compose.
    compose: Regex,
    /// `E0429 10:11:12.402000 2190 file:line]`, `[W516 14:34:56.85 socket.cpp:464]`.
    glog: Regex,
    /// `host prog[pid]: `, `prog[pid]: `, `host kernel: `.
    syslog: Regex,
    /// `host:pid:tid [rank] … NCCL WARN`.
    nccl: Regex,
    /// `103:M ` of redis.
    redis: Regex,
    /// `[ 123.456]` of the kernel.
    uptime: Regex,
    /// `INFO:     `, `[ERROR]`, `WARN `, `E:`.
    level: Regex,
    /// `[136]`, `[file.py:12]`, `[T#1]`, `file.py:30]`: who or where, in brackets.
    bracket: Regex,
    /// `- asyncio - `, `root: `, `reranker `: a logger before a level.
    logger: Regex,
    /// A level in words, anywhere near.
    word: Regex,
    /// `level=warning` of logfmt.
    logfmt: Regex,
    /// `time="…"`, `ts=…` of logfmt.
    logfmt_time: Regex,
    /// The exception's name with which a message begins.
    exception: Regex,
    /// `WARN[0012]` of logrus.
    counted: Regex,
    /// `4711 --- [main] logger : ` of Spring.
    spring: Regex,
    /// `worker.py:1841 -- `, `x/y.go:12\t`: where, after a level.
    source: Regex,
    /// `| app.main:run:12 - ` of loguru.
    barred: Regex,
    /// `<11>1 TIME host app pid id -` of RFC 5424, `<11>` of RFC 3164.
    priority: Regex,
    /// `slurmstepd: error: `: a program and what it calls its message.
    named: Regex,
}

static SHAPES: LazyLock<Shapes> = LazyLock::new(|| Shapes {
    mpi: pattern(r"^\[(\d+,\d+)\]<(?:stdout|stderr)>:? ?"),
    rank: pattern(
        r"^\[((?i:rank|default|worker|local_rank|node|gpu|tp|dp|pp|ep|replica|actor)[ _:=-]?\d+[^\]]{0,24})\]:?",
    ),
    process: pattern(r"^\(([^()]{0,80}\b(?:pid|rank|ip)=[^()]{1,60})\)"),
    compose: pattern(r"^([A-Za-z][\w.-]*[-_]\d+) +\| ?"),
    glog: pattern(
        r"^\[?([IWEFDCV])(\d{3,4}) +(\d\d:\d\d:\d\d\.\d+) +(?:(\d+) +)?([\w./<>-]+:\d+)\]",
    ),
    syslog: pattern(r"^(?:([\w.-]+) )?(?:([\w./@-]+)\[(\d+)\]|(kernel)):"),
    nccl: pattern(r"^([\w.-]+:\d+):\d+ \[(\d+)\] (?:[\w./-]+:\d+ )?NCCL (WARN|INFO|ERROR|TRACE)"),
    redis: pattern(r"^(\d+:[MCSX]) (\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d\.\d+) ([.*#-])"),
    uptime: pattern(r"^\[ *\d+\.\d{6}\]"),
    level: pattern(
        r"^[\[<(]?((?i:trace|debug|info|notice|warn|warning|error|err|critical|crit|fatal|panic|emerg|emergency|alert|severe|log|hint|detail|statement|context)|[IWEFDVC]|npm ERR!|npm WARN)(?:[\]>)]|[:|]| -|\x20|\t|$)",
    ),
    bracket: pattern(r"^(?:\[([^\]\[]{1,48})\]|([\w./-]+\.\w+:\d+)\]|\(([\w.-]+)\))"),
    logger: pattern(r"^(?:- )?[A-Za-z_][\w.:-]{0,60}(?: -|:)? +"),
    word: pattern(
        r"\b(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|CRIT|FATAL|PANIC|EMERG|ALERT|SEVERE|LOG|HINT|DETAIL|STATEMENT)\b",
    ),
    logfmt: pattern(r"\b(?:level|lvl|severity)=\x22?([A-Za-z]+)"),
    logfmt_time: pattern(r"\b(?:time|ts|t|timestamp)=\x22?([^\x22 ]+(?: \d\d:[^\x22 ]+)?)"),
    counted: pattern(r"^(TRAC|DEBU|INFO|WARN|ERRO|FATA|PANI)\[\d+\]"),
    spring: pattern(r"^(\d+) --- (?:\[[^\]]*\] ?)+[\w.$\[\]/-]+ +:"),
    source: pattern(r"^[\w./<>-]+:\d+(?: --|\t)"),
    barred: pattern(r"^\|(?: *[\w.<>]+:[\w.<>]+:\d+ -)?"),
    priority: pattern(r"^<(\d{1,3})>(?:1 (\S+) \S+ (\S+) (\S+) \S+ (?:-|(?:\[[^\]]*\])+))?"),
    named: pattern(r"^[\w.-]{1,30}: (error|fatal|warning): "),
    exception: pattern(r"^(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception|Failure)\b(?::|$)"),
});

/// Reads the front of a line.
pub(crate) fn read(line: &str) -> Head {
    if let Some(head) = of_json(line) {
        return head;
    }
    let mut head = Head::default();
    let front = text::cut(line, MAX_HEAD);
    let mut at = front.len() - front.trim_start_matches('\u{feff}').len();
    for _ in 0..10 {
        let Some(rest) = front.get(at..) else { break };
        match next(rest, &mut head) {
            Some(length) if length > 0 => {
                at += length;
                // One blank belongs to the prefix, more to the message.
                if front
                    .get(at..)
                    .is_some_and(|rest| rest.starts_with([' ', '\t']))
                {
                    at += 1;
                }
                head.body = at;
            }
            _ => break,
        }
    }
    settle(front, &mut head);
    head
}

/// Takes one prefix off, and gives its length.
fn next(rest: &str, head: &mut Head) -> Option<usize> {
    let shapes = &*SHAPES;
    let first = rest.as_bytes().first()?;
    if rest.starts_with("  ") && head.when.is_none() && head.level.is_empty() {
        return None;
    }
    let blank = rest.len() - rest.trim_start_matches(' ').len();
    match first {
        b'[' | b'(' | b'<' => {
            if let Some(found) = shapes.mpi.captures(rest) {
                set_worker(head, found.get(1).map(|worker| worker.as_str()));
                return found.get(0).map(|all| all.end());
            }
            if let Some(found) = shapes.rank.captures(rest) {
                set_worker(head, found.get(1).map(|worker| worker.as_str()));
                return found.get(0).map(|all| all.end());
            }
            if let Some(found) = shapes.process.captures(rest) {
                set_worker(head, found.get(1).map(|worker| worker.as_str()));
                return found.get(0).map(|all| all.end());
            }
            if let Some(length) = bracketed_time(rest, head).or_else(|| named_bracket(rest, head)) {
                return Some(length);
            }
            if let Some(length) = priority(rest, head) {
                return Some(length);
            }
            if let Some(found) = shapes.uptime.find(rest) {
                return Some(found.end());
            }
        }
        b' ' if blank > 0 && (head.when.is_some() || !head.level.is_empty()) => {
            // Between a time or level and what follows; only when a prefix does follow.
            let tail = rest.get(blank..)?;
            let mut probe = head.clone();
            return next(tail, &mut probe).map(|length| {
                *head = probe;
                blank + length
            });
        }
        _ => {}
    }
    glog(rest, head)
        .or_else(|| unix_time(rest, head))
        .or_else(|| numbered(rest, head))
        .or_else(|| placed(rest, head))
        .or_else(|| redis(rest, head))
        .or_else(|| nccl(rest, head))
        .or_else(|| plain_time(rest, head))
        .or_else(|| syslog(rest, head))
        .or_else(|| level(rest, head))
        .or_else(|| bracket(rest, head))
        .or_else(|| logger(rest, head))
        .or_else(|| {
            let named = head.when.is_none() && rest.contains(" |");
            let found = named.then(|| shapes.compose.captures(rest)).flatten()?;
            set_worker(head, found.get(1).map(|worker| worker.as_str()));
            found.get(0).map(|all| all.end())
        })
}

/// `[TensorRT-LLM][WARNING]`: a name before a level; `[pod/api-1/api]`: the pod that says it.
fn named_bracket(rest: &str, head: &mut Head) -> Option<usize> {
    let close = rest.find(']').filter(|&close| close < 120)?;
    let inside = rest.get(1..close)?;
    if let Some(pod) = inside.strip_prefix("pod/") {
        set_worker(head, Some(pod));
        return Some(close + 1);
    }
    let name = inside.starts_with(|ch: char| ch.is_ascii_alphabetic())
        && level_of(inside).is_none()
        && inside
            .chars()
            .all(|ch| ch.is_ascii_alphanumeric() || "-_.".contains(ch));
    let next = rest
        .get(close + 1..)?
        .trim_start_matches(' ')
        .strip_prefix('[')?;
    let level = next.split_once(']').and_then(|(word, _)| level_of(word));
    (name && level.is_some()).then_some(close + 1)
}

/// A priority as syslog sends it, and what stands behind it.
fn priority(rest: &str, head: &mut Head) -> Option<usize> {
    if !matches!(rest.as_bytes(), [b'<', b'0'..=b'9', ..]) {
        return None;
    }
    let found = SHAPES.priority.captures(rest)?;
    let number: u32 = found.get(1)?.as_str().parse().ok()?;
    set_level(head, severity(number % 8));
    if let (Some(when), Some(app)) = (found.get(2), found.get(3)) {
        head.when = time::at_front(when.as_str()).map(|(when, _)| when);
        let pid = found.get(4).map_or("-", |pid| pid.as_str());
        set_worker(head, Some(&format!("{}[{pid}]", app.as_str())));
    }
    found.get(0).map(|all| all.end())
}

/// The level of a syslog severity.
fn severity(number: u32) -> &'static str {
    match number {
        0..=2 => "fatal",
        3 => "error",
        4 => "warning",
        5 | 6 => "info",
        _ => "debug",
    }
}

/// `1786342981: ` of mosquitto, `1786342981.123 ` of squid: seconds since 1970.
fn unix_time(rest: &str, head: &mut Head) -> Option<usize> {
    if head.when.is_some() {
        return None;
    }
    let (when, length) = time::unix_at_front(rest)?;
    head.when = Some(when);
    let colon = usize::from(rest.get(length..)?.starts_with(':'));
    Some(length + colon)
}

/// `12: ` of `srun -l` before a time or level; MySQL's thread before a bracket.
fn numbered(rest: &str, head: &mut Head) -> Option<usize> {
    let text = rest.trim_start_matches(' ');
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=7).contains(&digits) {
        return None;
    }
    let length = rest.len() - text.len() + digits;
    let tail = rest.get(length..)?;
    if head.when.is_some() {
        return tail.starts_with(" [").then_some(length);
    }
    let after = tail.strip_prefix(": ")?;
    let mut probe = head.clone();
    next(after, &mut probe)?;
    if probe.when.is_none() && probe.level.is_empty() {
        return None;
    }
    set_worker(head, text.get(..digits));
    Some(length + 1)
}

/// What stands between a level and the message: a place in the source, a process and its logger.
fn placed(rest: &str, head: &mut Head) -> Option<usize> {
    let shapes = &*SHAPES;
    if head.level.is_empty() {
        let found = matches!(rest.as_bytes(), [b'A'..=b'Z', b'A'..=b'Z', ..])
            .then(|| shapes.counted.captures(rest))
            .flatten()?;
        set_level(head, level_of(found.get(1)?.as_str())?);
        return found.get(0).map(|all| all.end());
    }
    head.when?;
    if rest.starts_with('|') {
        return shapes.barred.find(rest).map(|found| found.end());
    }
    if rest.contains(" --- [")
        && let Some(found) = shapes.spring.captures(rest)
    {
        set_worker(head, found.get(1).map(|pid| pid.as_str()));
        return found.get(0).map(|all| all.end());
    }
    let near = rest.contains(" -- ") || rest.contains('\t');
    let found = near.then(|| shapes.source.find(rest)).flatten()?;
    Some(found.end())
}

fn set_worker(head: &mut Head, worker: Option<&str>) {
    if let Some(worker) = worker.map(str::trim).filter(|worker| !worker.is_empty()) {
        head.worker.get_or_insert_with(|| worker.to_owned());
    }
}

/// `[2026-11-30 10:42:49 TP0]`, `[2025-06-13 01:49:41,730 E 1 1]`, `[Tue Mar  4 09:01:12 2025]`.
fn bracketed_time(rest: &str, head: &mut Head) -> Option<usize> {
    let close = rest.find(']').filter(|&close| close < 80)?;
    let inside = rest.get(1..close)?;
    if head.when.is_some() {
        return None;
    }
    let (when, length) = time::at_front(inside).or_else(|| time::unix_at_front(inside))?;
    head.when = Some(when);
    let mut words = inside
        .get(length..)
        .unwrap_or("")
        .trim_start_matches(':')
        .split_whitespace()
        .peekable();
    if let Some(level) = words.peek().and_then(|word| level_of(word)) {
        set_level(head, level);
        words.next();
    }
    // `ERROR/MainProcess`
    if let Some((level, who)) = words.peek().and_then(|word| word.split_once('/'))
        && let Some(level) = level_of(level)
    {
        set_level(head, level);
        set_worker(head, Some(who));
        words.next();
    }
    let who: Vec<&str> = words
        .filter(|word| !matches!(*word, "UTC" | "GMT"))
        .collect();
    set_worker(head, Some(&who.join(" ")));
    Some(close + 1)
}

fn plain_time(rest: &str, head: &mut Head) -> Option<usize> {
    if head.when.is_some() {
        return None;
    }
    let (when, length) = time::at_front(rest)?;
    let tail = rest.get(length..).unwrap_or("");
    if tail.starts_with(|ch: char| ch.is_alphanumeric() || ch == '/') {
        return None;
    }
    head.when = Some(when);
    // ` UTC`, `,`, ` |` and the like belong to the time.
    let zone = tail.strip_prefix(" UTC").map_or(0, |_| 4);
    let tail = tail.get(zone..).unwrap_or("");
    let mark = match tail.as_bytes() {
        [b',' | b'|' | b':' | b';', ..] => 1,
        [b' ', b'-' | b'|', b' ', ..] => 2,
        _ => 0,
    };
    Some(length + zone + mark)
}

fn glog(rest: &str, head: &mut Head) -> Option<usize> {
    let mark = rest.as_bytes();
    let mark = mark.strip_prefix(b"[").unwrap_or(mark);
    if !matches!(
        mark,
        [
            b'I' | b'W' | b'E' | b'F' | b'D' | b'C' | b'V',
            b'0'..=b'9',
            ..
        ]
    ) {
        return None;
    }
    let found = SHAPES.glog.captures(rest)?;
    let group = |index: usize| found.get(index).map_or("", |group| group.as_str());
    head.when = Some(time::packed(group(2), group(3))?);
    set_level(head, level_of(group(1))?);
    set_worker(head, found.get(4).map(|pid| pid.as_str()));
    found.get(0).map(|all| all.end())
}

fn redis(rest: &str, head: &mut Head) -> Option<usize> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || rest.as_bytes().get(digits) != Some(&b':') {
        return None;
    }
    let found = SHAPES.redis.captures(rest)?;
    let group = |index: usize| found.get(index).map_or("", |group| group.as_str());
    head.when = time::at_front(group(2)).map(|(when, _)| when);
    set_worker(head, Some(group(1)));
    set_level(
        head,
        match group(3) {
            "#" => "warning",
            "." | "-" => "debug",
            _ => "info",
        },
    );
    found.get(0).map(|all| all.end())
}

fn nccl(rest: &str, head: &mut Head) -> Option<usize> {
    if !rest.contains("NCCL ") {
        return None;
    }
    let found = SHAPES.nccl.captures(rest)?;
    let group = |index: usize| found.get(index).map_or("", |group| group.as_str());
    set_worker(head, Some(&format!("{} [{}]", group(1), group(2))));
    set_level(head, level_of(group(3))?);
    found.get(0).map(|all| all.end())
}

fn syslog(rest: &str, head: &mut Head) -> Option<usize> {
    head.when?;
    let near = rest.get(..rest.len().min(160)).unwrap_or(rest);
    if !near.contains("]:") && !near.contains("kernel:") {
        return None;
    }
    let found = SHAPES.syslog.captures(rest)?;
    match (found.get(2), found.get(3)) {
        (Some(program), Some(pid)) => {
            set_worker(
                head,
                Some(&format!("{}[{}]", program.as_str(), pid.as_str())),
            );
        }
        _ => set_worker(head, Some("kernel")),
    }
    found.get(0).map(|all| all.end())
}

/// Whether a text can begin with a level: a word of the right letters, in brackets or not.
fn may_be_level(rest: &str) -> bool {
    let word = rest.strip_prefix(['[', '<', '(']).unwrap_or(rest);
    let letters = word.bytes().take_while(u8::is_ascii_alphabetic).count();
    let first = word.as_bytes().first().map(u8::to_ascii_lowercase);
    (1..=9).contains(&letters)
        && matches!(
            first,
            Some(
                b't' | b'd'
                    | b'i'
                    | b'n'
                    | b'w'
                    | b'e'
                    | b'c'
                    | b'f'
                    | b'p'
                    | b'a'
                    | b's'
                    | b'l'
                    | b'h'
                    | b'v'
            )
        )
}

fn level(rest: &str, head: &mut Head) -> Option<usize> {
    if !head.level.is_empty() {
        return None;
    }
    if !may_be_level(rest) {
        return None;
    }
    let found = SHAPES.level.captures(rest)?;
    let word = found.get(1)?.as_str();
    let whole = found.get(0)?;
    // A lone letter or a lower-case word is a level only in brackets or before a colon.
    let marked = !whole.as_str().ends_with(' ') || whole.as_str().ends_with(" -");
    if !marked && (word.len() == 1 || !word.chars().all(|ch| ch.is_ascii_uppercase())) {
        return None;
    }
    if word.len() == 1 && !whole.as_str().starts_with(['[', '<', '(']) && head.when.is_none() {
        return None;
    }
    set_level(head, level_of(word)?);
    // `Error: …`, `fatal: …` is how a message begins, not what a logger puts before it.
    let spoken = word.chars().any(|ch| ch.is_ascii_lowercase()) || rest.starts_with("FATAL ERROR");
    if head.when.is_none() && spoken {
        return None;
    }
    Some(if whole.as_str().ends_with(' ') {
        whole.end() - 1
    } else {
        whole.end()
    })
}

fn bracket(rest: &str, head: &mut Head) -> Option<usize> {
    if head.when.is_none() && head.level.is_empty() {
        return None;
    }
    let near = rest.as_bytes().iter().take(120);
    if !rest.starts_with(['[', '('])
        && !near
            .take_while(|byte| **byte != b' ')
            .any(|byte| *byte == b']')
    {
        return None;
    }
    let found = SHAPES.bracket.captures(rest)?;
    if let Some(inside) = found.get(1).map(|inside| inside.as_str().trim()) {
        if let Some(level) = level_of(inside) {
            set_level(head, level);
        } else if inside.bytes().all(|byte| byte.is_ascii_digit()) {
            set_worker(head, Some(inside));
        }
    }
    let round = found.get(3).map(|inside| inside.as_str());
    if let Some(pid) = round.filter(|inside| inside.bytes().all(|byte| byte.is_ascii_digit())) {
        set_worker(head, Some(pid));
    }
    found.get(0).map(|all| all.end())
}

/// `- asyncio - `, `reranker `, `root: `: only before a level in capitals.
fn logger(rest: &str, head: &mut Head) -> Option<usize> {
    head.when.filter(|_| head.level.is_empty())?;
    if !rest.starts_with(|ch: char| ch.is_ascii_alphabetic() || matches!(ch, '_' | '-')) {
        return None;
    }
    let found = SHAPES.logger.find(rest)?;
    let tail = rest.get(found.end()..)?;
    let mut probe = head.clone();
    let length = level(tail, &mut probe)?;
    *head = probe;
    Some(found.end() + length)
}

/// What the prefixes did not say: a level in words near the front, logfmt, an exception's name.
fn settle(front: &str, head: &mut Head) {
    let shapes = &*SHAPES;
    let body = front.get(head.body..).unwrap_or("");
    if head.level.is_empty()
        && ["level=", "lvl=", "severity="]
            .iter()
            .any(|key| front.contains(key))
        && let Some(found) = shapes.logfmt.captures(front)
        && let Some(level) = found.get(1).and_then(|word| level_of(word.as_str()))
        && (head.when.is_some() || front.starts_with("time=") || front.contains("msg="))
    {
        head.level = level;
    }
    if head.when.is_none()
        && ["time=", "ts=", "t=", "timestamp="]
            .iter()
            .any(|key| front.contains(key))
        && let Some(found) = shapes.logfmt_time.captures(front)
        && let Some(value) = found.get(1)
    {
        let value = value.as_str();
        head.when = time::at_front(value)
            .map(|(when, _)| when)
            .or_else(|| value.parse().ok().and_then(When::of_number));
    }
    if head.level.is_empty() && head.when.is_some() {
        let near = text::cut(body, LEVEL_WITHIN);
        let capitals = near
            .as_bytes()
            .windows(3)
            .any(|three| three.iter().all(u8::is_ascii_uppercase));
        if capitals
            && let Some(found) = shapes.word.find(near)
            && let Some(level) = level_of(found.as_str())
        {
            head.level = level;
        }
    }
    let named = ["Error", "Exception", "Failure"]
        .iter()
        .any(|name| body.contains(name));
    if head.level.is_empty()
        && body.contains(": ")
        && let Some(found) = shapes.named.captures(body)
        && let Some(level) = found.get(1).and_then(|word| level_of(word.as_str()))
    {
        head.level = level;
    }
    if head.level.is_empty() && named && shapes.exception.is_match(body) {
        head.level = "error";
    }
}

fn set_level(head: &mut Head, level: &'static str) {
    if head.level.is_empty() {
        head.level = level;
    }
}

/// The level a word names.
fn level_of(word: &str) -> Option<&'static str> {
    let level = match word
        .to_ascii_lowercase()
        .trim_matches(|ch| matches!(ch, '[' | ']' | '<' | '>' | ':'))
    {
        "trace" | "trac" | "debu" | "debug" | "d" | "v" | "verbose" => "debug",
        "info" | "information" | "notice" | "i" | "n" | "log" | "hint" | "detail" | "statement"
        | "context" => "info",
        "warn" | "warning" | "w" | "npm warn" => "warning",
        "error" | "erro" | "err" | "e" | "severe" | "npm err!" => "error",
        "fata" | "pani" | "critical" | "crit" | "fatal" | "panic" | "emerg" | "emergency"
        | "alert" | "f" | "c" => "fatal",
        _ => return None,
    };
    Some(level)
}

/// A line that is one JSON object: pino, zap, bunyan, structlog, docker's own, and the like.
fn of_json(line: &str) -> Option<Head> {
    if !line.starts_with('{') || !line.trim_end().ends_with('}') {
        return None;
    }
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).ok()?;
    let field = |names: &[&str]| names.iter().find_map(|name| object.get(*name));
    let level = match field(&[
        "level",
        "severity",
        "lvl",
        "levelname",
        "log.level",
        "loglevel",
    ]) {
        Some(serde_json::Value::String(word)) => level_of(word).unwrap_or(""),
        Some(serde_json::Value::Number(number)) => match number.as_i64().unwrap_or(0) {
            60.. => "fatal",
            50..=59 => "error",
            40..=49 => "warning",
            30..=39 => "info",
            10..=29 => "debug",
            _ => "",
        },
        _ => match object.get("PRIORITY").and_then(serde_json::Value::as_str) {
            Some(number) => number.parse().map_or("", severity),
            None => "",
        },
    };
    let when = match field(&[
        "time",
        "ts",
        "timestamp",
        "@timestamp",
        "asctime",
        "datetime",
        "t",
        "__REALTIME_TIMESTAMP",
    ]) {
        Some(serde_json::Value::String(text)) => time::at_front(text)
            .map(|(when, _)| when)
            .or_else(|| text.parse().ok().and_then(When::of_number)),
        Some(serde_json::Value::Number(number)) => number.as_f64().and_then(When::of_number),
        _ => None,
    };
    let worker = field(&["rank", "worker", "worker_id", "replica"]).map(|worker| match worker {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    Some(Head {
        when,
        level,
        worker,
        body: 0,
    })
}

#[cfg(test)]
mod tests;
