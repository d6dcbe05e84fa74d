//! Command lines put together from pieces, with what they print and whose each line is.

use casebook::event::Stream;
use casebook::shell::quote::quote;
use regex::Regex;

use super::pieces::Piece;

/// A small generator of numbers (splitmix64): the same seed gives the same mixture for ever.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).unwrap()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// A pipeline of a mixture.
#[derive(Debug, Clone)]
pub(super) struct Element {
    /// As typed.
    pub text: String,
    pub tool: String,
    pub free: bool,
    pub prints_bare: bool,
    /// Invocations in its tree.
    invocations: usize,
    stdout: Vec<String>,
    stderr: Vec<String>,
    code: i32,
}

/// A line that was printed.
pub(super) struct Printed {
    pub stream: Stream,
    pub text: String,
    /// The element it is of.
    pub owner: usize,
}

/// A command line with its output.
pub(super) struct Mixture {
    pub line: String,
    pub elements: Vec<Element>,
    pub printed: Vec<Printed>,
    pub code: i32,
    /// Its elements are the body of a loop.
    pub loops: bool,
    /// Hops in front of the elements, and hops in front of each of them.
    hops: usize,
}

impl Mixture {
    /// Whether its tree can have so many invocations: the body of a loop may stand there once, or
    /// once a round.
    pub(super) fn is_tree_of(&self, invocations: usize) -> bool {
        let body = self.body();
        let of_elements = invocations.saturating_sub(self.hops);
        of_elements == body || self.loops && of_elements.is_multiple_of(body)
    }

    fn body(&self) -> usize {
        self.elements.iter().map(|one| one.invocations).sum()
    }

    /// Whether an element's lines of one host stand right before those of the next, both without the
    /// line that would begin them: a filter may have taken it, or set it elsewhere.
    pub(super) fn rounds_run_together(&self, element: usize) -> bool {
        let filters = ["| grep ", "| tail ", "| sort", "| awk "];
        let alone = self
            .elements
            .iter()
            .filter(|one| !one.stdout.is_empty())
            .count()
            == 1
            || self.printed.windows(2).any(|pair| {
                pair.iter().all(|line| line.owner == element)
                    && self.elements[element].stdout.last() == Some(&pair[0].text)
                    && self.elements[element].stdout.first() == Some(&pair[1].text)
            });
        self.loops
            && alone
            && filters
                .iter()
                .any(|filter| self.elements[element].text.contains(filter))
    }

    /// The element that an invocation belongs to.
    pub(super) fn element_of(&self, invocation: usize) -> Option<usize> {
        let at = invocation.checked_sub(self.hops)? % self.body().max(1);
        let mut first = 0;
        for (element, one) in self.elements.iter().enumerate() {
            if (first..first + one.invocations).contains(&at) {
                return Some(element);
            }
            first += one.invocations;
        }
        None
    }

    /// A line as it is stored.
    pub(super) fn stored(&self, line: &Printed) -> Vec<u8> {
        let end = if line.stream == Stream::Tty {
            "\r\n"
        } else {
            "\n"
        };
        format!("{}{end}", line.text).into_bytes()
    }

    /// The recorded streams.
    pub(super) fn streams(&self) -> Vec<(Stream, Vec<u8>)> {
        let mut streams: Vec<(Stream, Vec<u8>)> = Vec::new();
        if !self.printed.iter().any(|line| line.stream == Stream::Tty) {
            streams.push((Stream::Stdout, Vec::new()));
            streams.push((Stream::Stderr, Vec::new()));
        }
        for line in &self.printed {
            let bytes = self.stored(line);
            match streams
                .iter_mut()
                .find(|(stream, _)| *stream == line.stream)
            {
                Some((_, all)) => all.extend(bytes),
                None => streams.push((line.stream, bytes)),
            }
        }
        streams
    }
}

/// A mixture at random.
pub(super) fn mixture(pieces: &[Piece], random: &mut Random) -> Mixture {
    match random.below(10) {
        0 => host_loop(pieces, random),
        1 => pid_loop(pieces, random).unwrap_or_else(|| list(pieces, random)),
        _ => list(pieces, random),
    }
}

/// `a; b && c || d`, alone or carried by ssh or `bash -c`.
fn list(pieces: &[Piece], random: &mut Random) -> Mixture {
    let tty = random.one_in(3);
    let carried = random.below(10);
    let many = 2 + random.below(4);
    let mut elements: Vec<Element> = Vec::new();
    let mut text = String::new();
    let mut printed = Vec::new();
    let mut code = 0;
    while elements.len() < many {
        let element = element(pieces, random, carried < 4);
        let joint = if elements.is_empty() {
            ""
        } else {
            *random.of(&["; ", "; ", "; ", "; ", " && ", " || ", "\n"])
        };
        let runs = match joint {
            " && " => code == 0,
            " || " => code != 0,
            _ => true,
        };
        text.push_str(joint);
        text.push_str(&element.text);
        if runs {
            print(&element, elements.len(), tty, &mut printed);
            code = element.code;
        }
        elements.push(element);
    }
    let (line, hops) = match carried {
        0..4 => (text, 0),
        4 => (format!("bash -c {}", quote(&text)), 1),
        5 => (format!("ssh -p 2222 root@10.0.0.7 {}", quote(&text)), 1),
        6 => (format!("ssh ops@web-3 bash -c {}", quote(&quote(&text))), 2),
        _ => (format!("ssh gpu-a1 {}", quote(&text)), 1),
    };
    Mixture {
        line,
        elements,
        printed,
        code,
        loops: false,
        hops,
    }
}

/// `for h in …; do echo $h; ssh $h '…'; done`
fn host_loop(pieces: &[Piece], random: &mut Random) -> Mixture {
    let tty = random.one_in(3);
    let hosts = ["gpu-a1", "gpu-a2", "web-3"];
    let hosts = &hosts[..2 + random.below(2)];
    let named = random.one_in(2);
    let mut elements = Vec::new();
    let mut body = String::new();
    if named {
        elements.push(said("echo \"== $h\"", ""));
        body.push_str("echo \"== $h\"; ");
    }
    for at in 0..1 + random.below(2) {
        let piece = random.of(pieces);
        if elements.iter().any(|one: &Element| one.tool == piece.tool) {
            break; // nobody asks the same twice in a round
        }
        let mut element = plain(piece);
        if random.one_in(3) {
            filter(&mut element, random);
        }
        element.text = format!("ssh -n $h {}", quote(&element.text));
        element.invocations += 1;
        if at > 0 {
            body.push_str("; ");
        }
        body.push_str(&element.text);
        elements.push(element);
    }
    let mut printed = Vec::new();
    for host in hosts {
        for (at, element) in elements.iter().enumerate() {
            if named && at == 0 {
                let mut own = element.clone();
                own.stdout = vec![format!("== {host}")];
                print(&own, at, tty, &mut printed);
            } else {
                print(element, at, tty, &mut printed);
            }
        }
    }
    Mixture {
        line: format!("for h in {}; do {body}; done", hosts.join(" ")),
        code: elements.last().map_or(0, |last| last.code),
        elements,
        printed,
        loops: true,
        hops: 0,
    }
}

/// `for p in …; do grep State /proc/$p/status; …; done`
fn pid_loop(pieces: &[Piece], random: &mut Random) -> Option<Mixture> {
    let of_pid = Regex::new(r"(?:/proc/| -p )(\d+)(?:/| |$)").unwrap();
    let fit: Vec<(&Piece, String)> = pieces
        .iter()
        .filter_map(|piece| {
            let pid = of_pid.captures(&piece.line)?[1].to_owned();
            let only = !piece
                .line
                .replace(&format!("/proc/{pid}"), "")
                .contains("/proc/");
            (only && piece.code == 0).then_some((piece, pid))
        })
        .collect();
    if fit.is_empty() {
        return None;
    }
    let pids = ["18331", "18402", "777"];
    let pids = &pids[..2 + random.below(2)];
    let mut elements = Vec::new();
    let mut owners = Vec::new();
    if random.one_in(2) {
        elements.push(said("echo \"pid $p\"", "pid 0"));
        owners.push(String::from("0"));
    }
    for _ in 0..1 + random.below(2) {
        let (piece, pid) = random.of(&fit);
        if elements.iter().any(|one: &Element| one.tool == piece.tool) {
            break;
        }
        let mut element = plain(piece);
        element.text = element
            .text
            .replace(&format!("/proc/{pid}"), "/proc/$p")
            .replace(&format!(" -p {pid}"), " -p $p");
        owners.push(pid.clone());
        elements.push(element);
    }
    let tty = random.one_in(3);
    let mut printed = Vec::new();
    for pid in pids {
        for (at, element) in elements.iter().enumerate() {
            let mut own = element.clone();
            let word = Regex::new(&format!(r"\b{}\b", owners[at])).unwrap();
            for line in own.stdout.iter_mut().chain(own.stderr.iter_mut()) {
                *line = word.replace_all(line, *pid).into_owned();
            }
            print(&own, at, tty, &mut printed);
        }
    }
    let body: Vec<&str> = elements.iter().map(|one| one.text.as_str()).collect();
    let line = format!("for p in {}; do {}; done", pids.join(" "), body.join("; "));
    let carried = random.one_in(2);
    Some(Mixture {
        line: if carried {
            format!("ssh gpu-a1 {}", quote(&line))
        } else {
            line
        },
        code: elements.last().map_or(0, |last| last.code),
        elements,
        printed,
        loops: true,
        hops: usize::from(carried),
    })
}

fn print(element: &Element, owner: usize, tty: bool, printed: &mut Vec<Printed>) {
    let mut put = |lines: &[String], stream: Stream| {
        let stream = if tty { Stream::Tty } else { stream };
        printed.extend(lines.iter().map(|text| Printed {
            stream,
            text: text.clone(),
            owner,
        }));
    };
    put(&element.stderr, Stream::Stderr);
    put(&element.stdout, Stream::Stdout);
}

fn plain(piece: &Piece) -> Element {
    Element {
        text: piece.line.clone(),
        tool: piece.tool.clone(),
        free: piece.free,
        prints_bare: piece.prints_bare,
        invocations: piece.invocations,
        stdout: piece.stdout.clone(),
        stderr: piece.stderr.clone(),
        code: piece.code,
    }
}

/// An echo.
fn said(text: &str, line: &str) -> Element {
    Element {
        text: text.to_owned(),
        tool: String::from("echo"),
        free: false,
        prints_bare: false,
        invocations: 1,
        stdout: vec![line.to_owned()],
        stderr: Vec::new(),
        code: 0,
    }
}

/// A piece, filtered and carried or not; or a word between two.
fn element(pieces: &[Piece], random: &mut Random, may_hop: bool) -> Element {
    if random.one_in(6) {
        let words = ["---", "== gpu", "=== log ===", "done", "###", "--- ports"];
        let word = *random.of(&words);
        return said(&format!("echo {}", quote(word)), word);
    }
    let mut element = plain(random.of(pieces));
    if random.one_in(2) {
        filter(&mut element, random);
        // Of a count nobody takes a part.
        let counted = ["| wc -l", "| grep -c"]
            .iter()
            .any(|stage| element.text.contains(stage));
        if !counted && random.one_in(4) {
            filter(&mut element, random);
        }
    }
    if random.one_in(12) {
        element.text.push_str(" 2>/dev/null");
        // Of a pipeline it is the last stage's that goes, which says nothing.
        if !element.text.contains(" | ") {
            element.stderr.clear();
        }
    }
    if may_hop && random.one_in(5) {
        element.text = match random.below(3) {
            0 => format!("bash -c {}", quote(&element.text)),
            1 => format!("ssh -o BatchMode=yes gpu-b2 {}", quote(&element.text)),
            _ => format!("ssh root@10.1.2.3 {}", quote(&element.text)),
        };
        element.invocations += 1;
    }
    element
}

/// Puts one more stage behind an element.
fn filter(element: &mut Element, random: &mut Random) {
    let mut text = element.text.clone();
    // Only the last stage's errors go that way; filters have none.
    if random.one_in(4) {
        if !text.contains(" | ") {
            let mut all = std::mem::take(&mut element.stderr);
            all.append(&mut element.stdout);
            element.stdout = all;
        }
        text.push_str(" 2>&1");
    }
    filter_on(element, random, text);
}

fn filter_on(element: &mut Element, random: &mut Random, text: String) {
    let lines = std::mem::take(&mut element.stdout);
    let number = 1 + random.below(6);
    let fields = |line: &String, which: &[usize]| {
        let words: Vec<&str> = line.split_whitespace().collect();
        which
            .iter()
            .map(|at| words.get(at - 1).copied().unwrap_or(""))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let mut code = 0;
    let (stage, lines) = match random.below(12) {
        0 | 1 => (
            format!("head -{number}"),
            lines.into_iter().take(number).collect(),
        ),
        2 | 3 => {
            let skip = lines.len().saturating_sub(number);
            (
                format!("tail -n {number}"),
                lines.into_iter().skip(skip).collect(),
            )
        }
        4 | 5 => {
            let word = word_of(&lines, random);
            let kept: Vec<String> = lines
                .into_iter()
                .filter(|line| line.contains(&word))
                .collect();
            code = i32::from(kept.is_empty());
            (format!("grep {}", quote(&word)), kept)
        }
        6 => {
            let word = word_of(&lines, random);
            let kept: Vec<String> = lines
                .into_iter()
                .filter(|line| !line.contains(&word))
                .collect();
            code = i32::from(kept.is_empty());
            (format!("grep -v {}", quote(&word)), kept)
        }
        7 => {
            element.free = true;
            let kept: Vec<String> = lines.iter().map(|line| fields(line, &[1])).collect();
            element.prints_bare = true;
            (String::from("awk '{print $1}'"), kept)
        }
        8 => {
            element.free = true;
            let kept = lines.iter().map(|line| fields(line, &[2, 1])).collect();
            (String::from("awk '{print $2, $1}'"), kept)
        }
        9 => {
            element.free = false;
            element.prints_bare = true;
            let count = lines.len().to_string();
            (String::from("wc -l"), vec![count])
        }
        10 => {
            let word = word_of(&lines, random);
            let count = lines.iter().filter(|line| line.contains(&word)).count();
            code = i32::from(count == 0);
            element.free = false;
            element.prints_bare = true;
            (format!("grep -c {}", quote(&word)), vec![count.to_string()])
        }
        _ => {
            let mut sorted = lines;
            sorted.sort();
            (String::from("sort"), sorted)
        }
    };
    element.text = format!("{text} | {stage}");
    element.invocations += 1;
    element.stdout = lines;
    element.code = code;
}

/// A word of some line, free of what grep takes for more than itself.
fn word_of(lines: &[String], random: &mut Random) -> String {
    let words: Vec<&str> = lines
        .iter()
        .flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()))
        .filter(|word| word.len() >= 2)
        .collect();
    if words.is_empty() || random.one_in(6) {
        return String::from("error");
    }
    (*random.of(&words)).to_owned()
}
