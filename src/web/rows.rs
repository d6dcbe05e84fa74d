//! The rows of a timeline: commands, repeated looks folded, notes, days, and launches in the margin.

use std::collections::BTreeMap;

use crate::event::Exit;
use crate::fact::{Fact, LaunchState};
use crate::shell::Tri;
use crate::timeline::{Command, Timeline};

use super::data::{CommandRow, Note, SessionCard, Slice, Understanding};
use super::know;
use super::markup::{Markup, plain};
use super::words::{self, ExitView, Sign, Stamp};

/// Rows of the same look that fold into one, at least.
const FOLD: usize = 3;
/// Launches beside each other in the margin, at most.
const LANES: usize = 3;
/// Characters of a command line that a row holds.
const LINE: usize = 260;

/// An entry of the timeline.
#[derive(Debug, Clone)]
pub enum Item {
    /// A day begins.
    Day(String),
    /// A command.
    Row(Box<RowView>),
    /// Earlier looks that are the same as the row after them.
    Fold {
        /// How many there are, and since when nothing changed, in words.
        words: String,
        /// The rows.
        rows: Vec<RowView>,
        /// The margin.
        lanes: Vec<Lane>,
    },
    /// A note.
    Note {
        /// When.
        at: Stamp,
        /// The words.
        text: Markup,
        /// The margin.
        lanes: Vec<Lane>,
    },
}

/// A command.
#[derive(Debug, Clone)]
pub struct RowView {
    /// Its number.
    pub number: u32,
    /// The address of its page.
    pub href: String,
    /// When it began.
    pub at: Stamp,
    /// The innermost host.
    pub host: String,
    /// The hop before the inner command (`ssh root@gpu01 '`), dimmed; may be empty.
    pub hop: Markup,
    /// The rest of its line, on one line.
    pub line: Markup,
    /// How it ended.
    pub exit: ExitView,
    /// How long it ran; empty where that is unknown.
    pub took: String,
    /// It printed nothing.
    pub silent: bool,
    /// It may still change.
    pub running: bool,
    /// The margin.
    pub lanes: Vec<Lane>,
    /// Findings that arose here.
    pub findings: Vec<Arose>,
}

/// A finding on a row.
#[derive(Debug, Clone)]
pub struct Arose {
    /// Its id.
    pub id: String,
    /// Its sign.
    pub sign: Sign,
    /// In one sentence.
    pub title: Markup,
}

/// A launch in the margin of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    /// The number of the launch; 0 where the lane is empty.
    pub launch: u32,
    /// Its state as a class.
    pub class: &'static str,
    /// Its state in a word.
    pub word: &'static str,
    /// The state begins in this row.
    pub begins: bool,
}

/// An empty place in the margin.
const EMPTY: Lane = Lane {
    launch: 0,
    class: "none",
    word: "",
    begins: false,
};

/// Builds the rows of a part of a session.
pub fn build(
    card: &SessionCard,
    slice: &Slice,
    notes: &[Note],
    understanding: Option<&Understanding>,
) -> Vec<Item> {
    let builder = Builder::new(card, understanding);
    let mut notes = notes.iter().peekable();
    if let (Some(first), true) = (slice.rows.first(), slice.earlier > 0) {
        while notes.next_if(|note| note.at < first.at).is_some() {}
    }
    let mut items = Vec::new();
    let mut day = String::new();
    let mut before = 0;
    let mut rest = slice.rows.as_slice();
    while let Some(first) = rest.first() {
        while let Some(note) = notes.next_if(|note| note.at < first.at) {
            items.push(builder.note(note, before));
        }
        let stamp = Stamp::of(first.at, card.relative);
        if stamp.day != day {
            day.clone_from(&stamp.day);
            items.push(Item::Day(stamp.day));
        }
        let (run, after) = rest.split_at(builder.run_length(rest));
        builder.push_run(&mut items, run);
        before = run.last().map_or(before, |row| row.number);
        rest = after;
    }
    items.extend(notes.map(|note| builder.note(note, before)));
    items
}

struct Builder<'a> {
    card: &'a SessionCard,
    findings: BTreeMap<u32, Vec<Arose>>,
    lanes: BTreeMap<u32, Vec<Lane>>,
    commands: BTreeMap<u32, &'a Command>,
}

impl<'a> Builder<'a> {
    fn new(card: &'a SessionCard, understanding: Option<&'a Understanding>) -> Self {
        let mut builder = Self {
            card,
            findings: BTreeMap::new(),
            lanes: BTreeMap::new(),
            commands: BTreeMap::new(),
        };
        let Some(understanding) = understanding else {
            return builder;
        };
        for (number, findings) in know::by_row(&understanding.diagnosis) {
            let arose = findings.iter().map(|finding| Arose {
                id: finding.id.to_string(),
                sign: words::sign(finding),
                title: plain(&finding.title),
            });
            builder.findings.insert(number, arose.collect());
        }
        builder.lanes = lanes(&understanding.timeline);
        let commands = understanding.timeline.commands.iter();
        builder.commands = commands.map(|c| (c.number, c)).collect();
        builder
    }

    /// The margin beside what stands after the command of that number.
    fn after(&self, number: u32) -> Vec<Lane> {
        let lanes = self.lanes.get(&number).into_iter().flatten();
        lanes
            .map(|lane| Lane {
                begins: false,
                ..*lane
            })
            .collect()
    }

    fn note(&self, note: &Note, before: u32) -> Item {
        Item::Note {
            lanes: self.after(before),
            at: Stamp::of(note.at, self.card.relative),
            text: plain(&note.text),
        }
    }

    /// How many rows from the first one on are the same look, with nothing found in between.
    fn run_length(&self, rows: &[CommandRow]) -> usize {
        let Some(first) = rows.first() else { return 0 };
        let is_same = |row: &&CommandRow| {
            row.line == first.line
                && row.target_host == first.target_host
                && row.exit == first.exit
                && row.exit != Exit::Running
                && !self.findings.contains_key(&row.number)
        };
        rows.iter().take_while(is_same).count().max(1)
    }

    fn push_run(&self, items: &mut Vec<Item>, run: &[CommandRow]) {
        let Some((last, earlier)) = run.split_last() else {
            return;
        };
        if run.len() >= FOLD {
            items.push(Item::Fold {
                words: self.fold_words(last, earlier),
                rows: earlier.iter().map(|row| self.row(row)).collect(),
                lanes: earlier
                    .last()
                    .map(|row| self.after(row.number))
                    .unwrap_or_default(),
            });
        } else {
            items.extend(earlier.iter().map(|row| Item::Row(Box::new(self.row(row)))));
        }
        items.push(Item::Row(Box::new(self.row(last))));
    }

    fn fold_words(&self, last: &CommandRow, earlier: &[CommandRow]) -> String {
        let times = format!("× {} before this one", earlier.len());
        let same = earlier
            .iter()
            .rev()
            .take_while(|row| self.shows_the_same(row.number, last.number))
            .last();
        match same {
            Some(row) => {
                let since = Stamp::of(row.at, self.card.relative).text;
                format!("{times}, unchanged since {since}")
            }
            None => times,
        }
    }

    fn shows_the_same(&self, one: u32, other: u32) -> bool {
        match (self.commands.get(&one), self.commands.get(&other)) {
            (Some(one), Some(other)) => {
                !one.facts.is_empty()
                    && one
                        .facts
                        .iter()
                        .map(|f| &f.fact)
                        .eq(other.facts.iter().map(|f| &f.fact))
            }
            _ => false,
        }
    }

    fn row(&self, row: &CommandRow) -> RowView {
        let line = words::shorten(row.line.trim(), LINE);
        let (hop, inner) = split_hop(&line);
        RowView {
            number: row.number,
            href: format!("/s/{}/{}", self.card.id, row.number),
            at: Stamp::of(row.at, self.card.relative),
            host: row.target_host.clone(),
            hop: plain(hop),
            line: plain(inner),
            exit: words::exit(row.exit),
            took: words::took(row.took_s),
            silent: row.bytes == 0,
            running: matches!(row.exit, Exit::Running | Exit::Stopped(_)),
            lanes: self.lanes.get(&row.number).cloned().unwrap_or_default(),
            findings: self.findings.get(&row.number).cloned().unwrap_or_default(),
        }
    }
}

/// Splits `ssh host '` off a line whose inner command is quoted.
fn split_hop(line: &str) -> (&str, &str) {
    let is_hop = ["ssh ", "docker exec ", "kubectl exec ", "sudo bash -c "]
        .iter()
        .any(|start| line.starts_with(start));
    match line.find(['\'', '"']) {
        Some(quote) if is_hop && quote < 80 => line.split_at(quote + 1),
        _ => ("", line),
    }
}

/// The margin: for each command's number the launches that were alive in its row.
fn lanes(timeline: &Timeline) -> BTreeMap<u32, Vec<Lane>> {
    let mut margin: BTreeMap<u32, Vec<Lane>> = BTreeMap::new();
    let mut free_from = [0_usize; LANES];
    for (index, launch) in timeline.launches.iter().enumerate() {
        let end = timeline
            .entries
            .get(launch.epoch_end.saturating_sub(1))
            .map_or(launch.command, |entry| entry.command);
        let Some(lane) = free_from.iter().position(|free| *free <= launch.command) else {
            continue;
        };
        if let Some(slot) = free_from.get_mut(lane) {
            *slot = end + 1;
        }
        let mut states: BTreeMap<usize, (&'static str, &'static str)> = BTreeMap::new();
        for entry in &timeline.entries {
            if let (Some(owner), Fact::LaunchState(state)) = (entry.launch, &entry.fact)
                && owner == index
            {
                states.insert(entry.command, state_words(state));
            }
        }
        let number = |place: usize| timeline.commands.get(place).map(|c| c.number);
        let mut shown = ("unknown", "launched");
        for place in launch.command..=end {
            let before = shown;
            shown = states.get(&place).copied().unwrap_or(shown);
            let Some(row) = number(place) else { break };
            let cells = margin.entry(row).or_default();
            cells.resize(cells.len().max(lane + 1), EMPTY);
            if let Some(cell) = cells.get_mut(lane) {
                *cell = Lane {
                    launch: number(launch.command).unwrap_or_default(),
                    class: shown.0,
                    word: shown.1,
                    begins: place == launch.command || before != shown,
                };
            }
        }
    }
    margin
}

fn state_words(state: &LaunchState) -> (&'static str, &'static str) {
    let still =
        state.progress == "still" || (state.log == "unchanged" && state.log_still_looks > 1);
    match state.process.as_str() {
        _ if state.reached == Tri::No => ("absent", "never started"),
        _ if state.ready => ("ready", "ready"),
        "absent" if state.was_running => ("gone", "gone"),
        "absent" => ("absent", "absent"),
        "running" if still && state.busy != Tri::Yes => ("stalled", "stalled"),
        "running" => ("loading", "loading"),
        _ => ("unknown", "unknown"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hop_before_a_quoted_command_is_split_off() {
        assert_eq!(
            split_hop("ssh root@gpu01 'tail -3 x.log'"),
            ("ssh root@gpu01 '", "tail -3 x.log'")
        );
        assert_eq!(split_hop("grep 'x' y"), ("", "grep 'x' y"));
    }
}
