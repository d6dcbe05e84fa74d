//! A playbook begun from a recorded session: its first test is the session, its steps are guessed
//! from the facts of the picked commands, and comments say what is the author's to decide.

use super::quoted::scalar;
use super::steps::{CaseExit, CaseStep, commands, end};
use super::{Engine, load, testing};
use crate::event::{Exit, Stream};
use crate::fact::Fact;
use crate::shell::Tri;
use crate::timeline::{Entry, Timeline, build};

/// Of a stream, at most so many bytes go into a test.
const STREAM_BYTES: usize = 32 << 10;
/// Of a longer one so many from its start; the rest from its end.
const HEAD_BYTES: usize = 8 << 10;
/// Steps that are guessed, at most.
const MOST_STEPS: usize = 4;

/// What a playbook is begun from.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The id it will have.
    pub id: String,
    /// Its kind; one of its own where none is said.
    pub kind: Option<String>,
    /// What happened, in the recorder's words; may be empty.
    pub title: String,
    /// The picked commands.
    pub steps: Vec<CaseStep>,
}

/// A playbook as text: it loads, and mostly it fires on its first test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drafted {
    /// The file.
    pub text: String,
    /// Its steps match its first test.
    pub fires: bool,
}

/// How a case's step says what a command came to.
pub fn case_exit(exit: Exit) -> Option<CaseExit> {
    match exit {
        Exit::Code(code) => Some(CaseExit::Code(code)),
        Exit::Signal(signal) => Some(CaseExit::Signal { signal }),
        Exit::Lost | Exit::Running | Exit::Stopped(_) => None,
    }
}

/// A stream as it stands in a test: a long one is cut in its middle, at line ends.
pub fn test_text(bytes: &[u8]) -> String {
    if bytes.len() <= STREAM_BYTES {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let head = bytes.get(..HEAD_BYTES).unwrap_or_default();
    let head_end = head.iter().rposition(|byte| *byte == b'\n');
    let head = head.get(..head_end.map_or(0, |at| at + 1)).unwrap_or(head);
    let tail = bytes.get(bytes.len() - (STREAM_BYTES - HEAD_BYTES)..);
    let tail = tail.unwrap_or_default();
    let tail_start = tail.iter().position(|byte| *byte == b'\n');
    let tail = tail
        .get(tail_start.map_or(0, |at| at + 1)..)
        .unwrap_or(tail);
    String::from_utf8_lossy(&[head, tail].concat()).into_owned()
}

/// Writes the playbook.
pub fn draft(draft: &Draft) -> Drafted {
    let commands = commands(&draft.steps, crate::time::Micros(0));
    let as_of = end(&commands);
    let timeline = build(commands, as_of);
    let mut last = None;
    for most in (1..=MOST_STEPS).rev() {
        let text = write(draft, &guess(&timeline, most));
        let Ok(playbook) = load("draft", &text) else {
            continue;
        };
        let tests = testing::run_tests(&playbook, &Engine::new(&[]));
        if tests.first().is_some_and(|test| test.passed) {
            return Drafted { text, fires: true };
        }
        last = Some(text);
    }
    Drafted {
        text: last.unwrap_or_else(|| write(draft, &[])),
        fires: false,
    }
}

/// A guessed step.
#[derive(Debug, Clone)]
struct Guess {
    entry: usize,
    command: usize,
    launch: Option<usize>,
    host: String,
    /// How telling it is.
    worth: u32,
    fact: &'static str,
    filter: String,
    says: Option<&'static str>,
}

/// The most telling fact of each command, the most telling of them all, in order.
fn guess(timeline: &Timeline, most: usize) -> Vec<Guess> {
    let mut best: Vec<Guess> = Vec::new();
    for (index, entry) in timeline.entries.iter().enumerate() {
        let Some((worth, filter, says)) = telling(entry) else {
            continue;
        };
        let guess = Guess {
            entry: index,
            command: entry.command,
            launch: entry.launch,
            host: entry.host.clone(),
            worth,
            fact: entry.fact.name(),
            filter,
            says,
        };
        // What a line does and what came of it are two things.
        let acts = |fact: &str| matches!(fact, "kill" | "launch" | "file_write");
        let same = best
            .iter_mut()
            .find(|known| known.command == guess.command && acts(known.fact) == acts(guess.fact));
        match same {
            Some(known) if known.worth >= guess.worth => {}
            Some(known) => *known = guess,
            None => best.push(guess),
        }
    }
    let mut by_worth: Vec<u32> = best.iter().map(|guess| guess.worth).collect();
    by_worth.sort_unstable_by(|one, other| other.cmp(one));
    let least = by_worth.get(most.saturating_sub(1)).copied().unwrap_or(0);
    // Of equals the latest: it is nearest to what the person ended with.
    let mut kept: Vec<Guess> = Vec::new();
    for wanted in [true, false] {
        for guess in best.iter().rev() {
            if kept.len() < most && (guess.worth > least) == wanted && guess.worth >= least {
                kept.push(guess.clone());
            }
        }
    }
    kept.sort_by_key(|guess| guess.entry);
    kept
}

/// How telling a fact is, what to ask of it, and how it is said. `it` is the fact.
fn telling(entry: &Entry) -> Option<(u32, String, Option<&'static str>)> {
    let some = |worth, filter: String, says| Some((worth, filter, says));
    let fresh = |old: Tri| old != Tri::Yes;
    match &entry.fact {
        Fact::Traceback(trace) if fresh(trace.old) && !trace.quoted => some(
            100,
            format!(
                "it.old != 'yes' && !it.quoted && re(it.exception, '{}$')",
                pattern_of(trace.exception.rsplit('.').next().unwrap_or_default())
            ),
            Some("{{it.exception}}: {{it.message}}"),
        ),
        Fact::NotRun(not_run) => some(95, equal("why", &not_run.why), Some("{{it.text}}")),
        Fact::Line(line) if fresh(line.old) && !line.benign && !line.quoted => {
            let worth = match line.level.as_str() {
                "fatal" => 92,
                "error" => 90,
                "warning" => 55,
                _ if entry.stream == Some(Stream::Stderr) => 58,
                _ => return None,
            };
            let what = match wording(&line.text) {
                Some(pattern) => format!("re(lower(it.text), '{pattern}')"),
                None => equal("fingerprint", &line.fingerprint),
            };
            let filter = format!("it.old != 'yes' && !it.benign && !it.quoted && {what}");
            some(worth, filter, Some("{{it.text}}"))
        }
        Fact::Launch(_) => some(85, String::new(), None),
        Fact::Kill(kill) => {
            let own = kill.full && kill.hits_own_shell == Tri::Yes;
            let filter = if own {
                "it.full && it.hits_own_shell != 'no'".to_owned()
            } else {
                String::new()
            };
            some(if own { 88 } else { 70 }, filter, None)
        }
        Fact::ProcessLook(look) if look.count == 0 => some(80, "it.count == 0".to_owned(), None),
        Fact::File(file) if file.exists == Tri::No => {
            some(80, "it.exists == 'no'".to_owned(), None)
        }
        Fact::File(file) if file.size_bytes == Some(0) => {
            some(72, "it.size_bytes == 0".to_owned(), None)
        }
        Fact::Http(http) if http.outcome != "answered" && !http.outcome.is_empty() => {
            some(82, equal("outcome", &http.outcome), None)
        }
        Fact::Http(http) if http.status.is_some_and(|status| status >= 400) => {
            let status = http.status.unwrap_or(500);
            some(82, format!("it.status == {status}"), None)
        }
        Fact::Reach(reach) if !reach.outcome.is_empty() => {
            some(83, equal("outcome", &reach.outcome), Some("{{it.text}}"))
        }
        Fact::Unit(unit) if unit.active != "active" => {
            some(84, equal("active", &unit.active), None)
        }
        Fact::Container(container) if container.oom_killed == Some(true) => {
            some(90, "it.oom_killed".to_owned(), None)
        }
        Fact::Container(container) if container.exit_code.is_some_and(|code| code != 0) => {
            some(80, "it.exit_code != 0".to_owned(), None)
        }
        Fact::Pod(pod) if pod.status != "Running" => some(80, equal("status", &pod.status), None),
        Fact::PodEvent(event) if event.level == "Warning" => {
            some(86, equal("reason", &event.reason), Some("{{it.text}}"))
        }
        Fact::Disk(disk) if disk.used_pct.is_some_and(|used| used >= 95.0) => {
            some(81, "it.used_pct >= 95".to_owned(), None)
        }
        Fact::LogLook(look) if look.only_nohup => some(75, "it.only_nohup".to_owned(), None),
        Fact::LogLook(look) if look.empty => some(74, "it.empty".to_owned(), None),
        Fact::LogLook(look) if look.lfs_pointer => some(85, "it.lfs_pointer".to_owned(), None),
        Fact::EchoedExit(exit) if exit.code != 0 => {
            some(62, format!("it.code == {}", exit.code), None)
        }
        Fact::Exit(exit) => {
            let filter = match (exit.signal, exit.code) {
                (Some(signal), _) => format!("it.signal == {signal}"),
                (_, Some(code)) if code != 0 && exit.says_no != Tri::Yes => {
                    format!("it.code == {code}")
                }
                _ => return None,
            };
            some(60, filter, None)
        }
        _ => None,
    }
}

fn equal(field: &str, value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/');
    if value.chars().all(plain) {
        format!("it.{field} == '{value}'")
    } else {
        format!("re(it.{field}, '{}')", pattern_of(value))
    }
}

/// A text as a pattern: whatever means something in one, or in quotes, is any character.
fn pattern_of(text: &str) -> String {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-' | '/' | ':' | ',');
    text.chars()
        .map(|c| if plain(c) { c } else { '.' })
        .collect()
}

/// What a line says that another of its kind says too: its longest run of words without numbers and
/// paths, in small letters.
fn wording(text: &str) -> Option<String> {
    const MOST: usize = 8;
    let text = text.to_lowercase();
    let mut runs: Vec<Vec<&str>> = vec![Vec::new()];
    for word in text.split_whitespace() {
        let named = word
            .chars()
            .any(|c| c.is_ascii_digit() || matches!(c, '/' | '\'' | '"' | '='));
        match runs.last_mut() {
            Some(run) if !named => run.push(word),
            _ => runs.push(Vec::new()),
        }
    }
    // Of equals the first: what is said comes before what it is said of.
    let run = runs.iter().rev().max_by_key(|run| run.len().min(MOST))?;
    if run.len() < 2 {
        return None;
    }
    let words: Vec<&str> = run.iter().take(MOST).copied().collect();
    Some(pattern_of(
        words.join(" ").trim_matches([':', ',', '.', '[', ']']),
    ))
}

const NAMES: [&str; 8] = ["A", "B", "C", "D", "E", "F", "G", "H"];

fn write(draft: &Draft, guesses: &[Guess]) -> String {
    let mut out = String::new();
    let kind = draft
        .kind
        .clone()
        .unwrap_or_else(|| format!("{}{}", super::known::OWN, draft.id.replace('-', "_")));
    let scope = match guesses.first() {
        Some(guess) if guess.fact == "launch" => "launch",
        _ => "host",
    };
    let said = if draft.title.trim().is_empty() {
        draft.id.replace(['-', '_'], " ")
    } else {
        draft.title.trim().to_owned()
    };
    // What a person titled a session may look like a hole.
    let said = said.replace("{{", "{ {");
    let title = match guesses.first() {
        Some(_) => format!("{said} on {{{{A.host}}}}"),
        None => said,
    };
    out.push_str(&format!(
        "# Begun from a recorded session. What is yours to decide stands in comments; when\n\
         # `rec playbook lint` and `rec playbook test` are content, take them out.\n\
         id: {}\nversion: 1\n",
        draft.id
    ));
    if draft.kind.is_none() {
        out.push_str("# The deepest cause known, of docs/kinds.md; or keep a kind of your own.\n");
    }
    out.push_str(&format!("kind: {kind}\n"));
    out.push_str(
        "# info, low, medium, high, critical: how bad it is, whatever the belief in it.\n",
    );
    out.push_str(&format!("severity: medium\nscope: {scope}\n"));
    out.push_str("# One sentence for a tired person: what happened, where.\n");
    out.push_str(&format!("title: {}\n", scalar(&title, 0)));
    out.push_str("# What follows from it; what mends it, with the risk.\n");
    out.push_str("# explains: \"\"\n# remedy: \"\"\n");
    out.push_str(
        "# What must be so whenever this happens, on any host, with any program and version. Guessed\n\
         # from what the commands showed: keep what is true of the kind, drop what was chance.\n\
         # `rec show COMMAND` lists the facts of a command, docs/facts.md their fields.\n",
    );
    out.push_str("when:\n  steps:\n");
    if guesses.is_empty() {
        out.push_str("    - { as: A, fact: exit }\n");
    }
    for (place, guess) in guesses.iter().enumerate() {
        let Some(name) = NAMES.get(place) else { break };
        out.push_str(&format!("    - as: {name}\n      fact: {}\n", guess.fact));
        if let Some(before) = place.checked_sub(1).and_then(|at| guesses.get(at)) {
            let join = if before.command == guess.command {
                "command"
            } else if guess.launch.is_some() && guess.launch == before.launch {
                "launch"
            } else if before.host == guess.host {
                "host"
            } else {
                "session"
            };
            out.push_str(&format!("      on: [{join}]\n"));
        }
        if !guess.filter.is_empty() {
            let filter = guess.filter.replace("it.", &format!("{name}."));
            out.push_str(&format!("      where: {}\n", scalar(&filter, 6)));
        }
        if let Some(says) = guess.says {
            let says = says.replace("it.", &format!("{name}."));
            out.push_str(&format!("      says: {}\n", scalar(&says, 6)));
        }
    }
    out.push_str(
        "  # When is it not so? What blocks it (unless), what shows that it is over (until):\n\
         \x20 # unless:\n\
         \x20 #   - { fact: launch_state, where: it.ready }\n\
         # If it may have several causes: one hypothesis each, and the observations that tell them apart.\n\
         # hypotheses:\n\
         #   - { id: one, title: the first explanation, prior: .6 }\n\
         #   - { id: two, title: the rival, prior: .3 }\n\
         # observations:\n\
         #   - id: seen\n\
         #     says: what it shows\n\
         #     when: { fact: process_look, on: [host], where: it.count == 0 }\n\
         #     likely: { one: usually, two: rarely }\n\
         # The look that would tell (holes are quoted when they are filled):\n\
         # probes:\n\
         #   - { id: look, run: \"date\", why: what it splits, cost: 2, yields: [seen] }\n\
         # Where the knowledge comes from.\n\
         references:\n\
         \x20 - { what: a recorded session, provenance: recorded }\n",
    );
    out.push_str("tests:\n  - name: what happened\n    expect: fires\n    steps:");
    out.push_str(if draft.steps.is_empty() {
        " []\n"
    } else {
        "\n"
    });
    for step in &draft.steps {
        write_step(&mut out, step);
    }
    out.push_str(
        "  # A near miss: the same commands, one thing different, so that it is not this. What comes closest?\n\
         \x20 # - name: \n\
         \x20 #   expect: silent\n\
         \x20 #   steps: []\n\
         \x20 # A healthy twin: the same commands when all is well.\n\
         \x20 # - name: all is well\n\
         \x20 #   expect: silent\n\
         \x20 #   healthy: true\n\
         \x20 #   steps: []\n",
    );
    out
}

fn write_step(out: &mut String, step: &CaseStep) {
    out.push_str(&format!("      - at: {}\n", step.at));
    if let Some(took) = step.took {
        out.push_str(&format!("        took: {took}\n"));
    }
    let mut text = |key: &str, text: &str| {
        out.push_str(&format!("        {key}: {}\n", scalar(text, 8)));
    };
    if let Some(host) = &step.host {
        text("host", host);
    }
    text("command", &step.command);
    match step.exit {
        Some(CaseExit::Code(code)) => out.push_str(&format!("        exit: {code}\n")),
        Some(CaseExit::Signal { signal }) => {
            out.push_str(&format!("        exit: {{ signal: {signal} }}\n"));
        }
        None => {}
    }
    for (key, value) in [
        ("stdout", &step.stdout),
        ("stderr", &step.stderr),
        ("tty", &step.tty),
    ] {
        if let Some(value) = value {
            out.push_str(&format!("        {key}: {}\n", scalar(value, 8)));
        }
    }
}

#[cfg(test)]
mod tests;
