//! `rec timeline`: a session's commands, one a line, findings where they arose.

use serde_json::{Value, json};

use crate::cmd::paint::{Paint, exit_mark, exit_style, pad};
use crate::cmd::why::Header;
use crate::diagnosis::words::{finding_mark, finding_state, shorten_middle, size, tame};
use crate::diagnosis::{Diagnosis, Finding};
use crate::event::Exit;
use crate::fact::Fact;
use crate::projection::SessionView;
use crate::projection::missing::{Missing, missing};
use crate::text::cut;
use crate::time::{Micros, human_duration};
use crate::timeline::Command;

/// The JSON of the contract.
pub fn to_json(view: &SessionView, diagnosis: Option<&Diagnosis>) -> Value {
    let commands: Vec<Value> = view
        .commands
        .iter()
        .zip(&view.details)
        .map(|(command, detail)| {
            json!({
                "command_id": command.id,
                "number": command.number,
                "at": at(command.at, view.relative_time),
                "host": command.host,
                "target_host": command.target_host(),
                "line": command.line,
                "exit": command.exit,
                "duration_ms": command.took_s.map(|seconds| (seconds * 1e6).round() / 1e3),
                "stdout_bytes": command.stdout_bytes,
                "stderr_bytes": command.stderr_bytes,
                "tty_bytes": command.tty_bytes,
                "gap_bytes": detail.gap_bytes,
            })
        })
        .collect();
    let notes: Vec<Value> = view
        .notes
        .iter()
        .filter(|note| !note.postmortem)
        .map(|note| json!({"at": at(note.at, view.relative_time), "text": note.text}))
        .collect();
    json!({
        "format": crate::diagnosis::FORMAT,
        "session": view.id,
        "title": view.title,
        "commands": commands,
        "notes": notes,
        "findings": diagnosis.map(|diagnosis| &diagnosis.findings),
    })
}

/// A time of the contract: RFC 3339, or null in a session of relative time.
pub fn at(time: Micros, relative: bool) -> Value {
    if relative {
        Value::Null
    } else {
        Value::String(time.rfc3339())
    }
}

/// The heading of a session's views: title, how many commands on which hosts, from when to when.
pub fn header(view: &SessionView, paint: Paint) -> String {
    let title = view.title.clone().unwrap_or_else(|| view.id.short());
    let mut hosts: Vec<&str> = Vec::new();
    for command in &view.commands {
        let host = command.target_host();
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    let count = match view.commands.len() {
        1 => "1 command".to_owned(),
        many => format!("{many} commands"),
    };
    let places = match hosts.as_slice() {
        [] => String::new(),
        few if few.len() <= 3 => format!(" on {}", few.join(", ")),
        many => format!(" on {} and {} more", many[..2].join(", "), many.len() - 2),
    };
    let span = match (view.commands.first(), view.commands.last()) {
        (Some(first), Some(last)) if view.relative_time => {
            format!(
                " · {}",
                human_duration(last.ended().seconds_since(first.at))
            )
        }
        (Some(first), Some(last)) => format!(
            " · {}–{}",
            cut(&paint.clock(first.at, first.at, false), 5),
            cut(&paint.clock(last.ended(), first.at, false), 5)
        ),
        _ => String::new(),
    };
    tame(&format!("{title} · {count}{places}{span}"))
}

/// What stands above a diagnosis of this session.
pub fn heading(view: &SessionView) -> Header {
    let mut hosts: Vec<String> = Vec::new();
    for command in &view.commands {
        if !hosts.iter().any(|host| host == command.target_host()) {
            hosts.push(command.target_host().to_owned());
        }
    }
    Header {
        title: view
            .title
            .clone()
            .unwrap_or_else(|| format!("Session {}", view.id.short())),
        commands: view.commands.len(),
        hosts,
        span: view
            .commands
            .first()
            .zip(view.commands.last())
            .map(|(first, last)| (first.at, last.ended())),
        relative: view.relative_time,
        missing: missing(view).iter().map(Missing::says).collect(),
    }
}

/// The timeline as the terminal shows it.
pub fn render(view: &SessionView, diagnosis: Option<&Diagnosis>, paint: Paint) -> String {
    let mut out = format!("{}\n\n", paint.bold(&header(view, paint)));
    let start = view
        .commands
        .first()
        .map_or(view.started, |command| command.at);
    let widths = Widths::of(view, paint, start);
    let mut index = 0;
    while index < view.commands.len() {
        let repeats = repeats(&view.commands, index);
        let shown = &view.commands[index];
        out.push_str(&row(shown, &widths, paint, start, view.relative_time));
        let gap_bytes = view.details.get(index).map_or(0, |detail| detail.gap_bytes);
        if gap_bytes > 0 {
            let note = format!("{} of its output are not on record", size(gap_bytes));
            out.push_str(&format!(
                "{}{}\n",
                " ".repeat(widths.line),
                paint.style("33", &note)
            ));
        }
        if repeats > 0 {
            let last = &view.commands[index + repeats];
            let since = paint.clock(shown.at, start, view.relative_time);
            let note = format!(
                "× {}, unchanged since {since}, last #{}",
                repeats + 1,
                last.number
            );
            out.push_str(&format!(
                "{}{}\n",
                " ".repeat(widths.line),
                paint.dim(&note)
            ));
        }
        let numbers: Vec<u32> = view.commands[index..=index + repeats]
            .iter()
            .map(|command| command.number)
            .collect();
        for finding in diagnosis
            .into_iter()
            .flat_map(|diagnosis| &diagnosis.findings)
        {
            if arose(finding).is_some_and(|number| numbers.contains(&number)) {
                out.push_str(&finding_row(finding, widths.line, paint));
            }
        }
        index += repeats + 1;
    }
    for note in view.notes.iter().filter(|note| !note.postmortem) {
        let when = paint.clock(note.at, start, view.relative_time);
        let text = note.text.as_deref().unwrap_or("(erased)");
        out.push_str(&format!(
            "{}  {}\n",
            paint.dim(&format!("note  {when}")),
            tame(text)
        ));
    }
    if view.commands.is_empty() {
        out.push_str("No commands yet. Record one:  rec ssh HOST 'COMMAND'\n");
    }
    out
}

/// The command at which a finding arose: the last one its evidence needs.
fn arose(finding: &Finding) -> Option<u32> {
    finding
        .evidence
        .iter()
        .map(|evidence| evidence.number)
        .max()
}

struct Widths {
    number: usize,
    clock: usize,
    host: usize,
    line: usize,
}

impl Widths {
    fn of(view: &SessionView, paint: Paint, start: Micros) -> Self {
        let longest = |texts: &mut dyn Iterator<Item = String>| {
            texts.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let number = longest(&mut view.commands.iter().map(|one| format!("#{}", one.number)));
        let clock = longest(
            &mut view
                .commands
                .iter()
                .map(|one| paint.clock(one.at, start, view.relative_time)),
        );
        let host =
            longest(&mut view.commands.iter().map(|one| one.target_host().to_owned())).min(16);
        Self {
            number,
            clock,
            host,
            line: number + clock + host + 20,
        }
    }
}

fn row(command: &Command, widths: &Widths, paint: Paint, start: Micros, relative: bool) -> String {
    let took = match (command.took_s, command.exit) {
        (Some(seconds), _) => human_duration(seconds),
        (None, Exit::Running) => "runs".to_owned(),
        (None, _) => String::new(),
    };
    let mark = exit_mark(command.exit);
    let line = shorten_middle(
        &command.line,
        paint.width.saturating_sub(widths.line).max(24),
    );
    format!(
        "{}  {}  {}  {}  {}  {}\n",
        pad(&format!("#{}", command.number), widths.number),
        paint.dim(&pad(
            &paint.clock(command.at, start, relative),
            widths.clock
        )),
        pad(
            &shorten_middle(command.target_host(), widths.host),
            widths.host
        ),
        paint.style(exit_style(command.exit), &pad(&mark, 5)),
        paint.dim(&format!("{took:>9}")),
        line
    )
    .replace("  \n", "\n")
}

fn finding_row(finding: &Finding, indent: usize, paint: Paint) -> String {
    let mark = finding_mark(finding);
    let state = finding_state(finding);
    let room = paint
        .width
        .saturating_sub(indent + state.chars().count() + 6)
        .max(24);
    let title = crate::diagnosis::words::shorten(&finding.title, room);
    format!(
        "{}{} {}  {}\n",
        " ".repeat(indent),
        mark,
        paint.bold(&title),
        paint.dim(&state)
    )
}

/// How many commands right after this one are the same look showing the same.
fn repeats(commands: &[Command], from: usize) -> usize {
    let Some(first) = commands.get(from) else {
        return 0;
    };
    let quiet = |command: &Command| {
        command.tree.launches.is_empty()
            && command.tree.kills.is_empty()
            && command.tree.writes.is_empty()
            && !command.facts.is_empty()
    };
    if !quiet(first) {
        return 0;
    }
    commands[from + 1..]
        .iter()
        .take_while(|next| {
            next.line == first.line
                && next.host == first.host
                && next.exit == first.exit
                && same_facts(next, first)
        })
        .count()
}

fn same_facts(one: &Command, other: &Command) -> bool {
    let steady = |command: &Command| -> Vec<Fact> {
        command
            .facts
            .iter()
            .map(|observed| observed.fact.clone())
            .filter(|fact| !matches!(fact, Fact::Clock(_)))
            .collect()
    };
    steady(one) == steady(other)
}
