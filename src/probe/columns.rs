//! Rows of columns parted by blanks, under names.

use super::filter::{Columns, Filter};
use super::words::fields;

/// A row: values under their columns' names.
#[derive(Debug, Default)]
pub(super) struct Row<'a> {
    cells: Vec<(&'a str, &'a str)>,
}

impl<'a> Row<'a> {
    /// The value of the first of these columns that is there.
    pub(super) fn get(&self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|name| {
            self.cells
                .iter()
                .find(|(cell, _)| cell == name)
                .map(|(_, value)| *value)
        })
    }
}

/// How many words a column takes: one, but for dates and for what runs on to the end.
fn width(name: &str) -> Option<usize> {
    match name {
        "lstart" => Some(5),
        "args" | "command" | "cmd" => None,
        _ => Some(1),
    }
}

/// Splits a line into the columns of that name. One column of unknown width (a command line) takes
/// what the others leave.
pub(super) fn split<'a>(line: &'a str, names: &[&'a str]) -> Option<Row<'a>> {
    let words = fields(line);
    let open = names.iter().position(|name| width(name).is_none());
    let (before, after) = match open {
        Some(at) => (names.get(..at)?, names.get(at + 1..)?),
        None => (names, &[] as &[&str]),
    };
    let need = |names: &[&str]| names.iter().filter_map(|name| width(name)).sum::<usize>();
    let (left, right) = (need(before), need(after));
    if words.len() < left + right {
        return None;
    }
    let text = |from: usize, to: usize| -> Option<&'a str> {
        let start = words.get(from)?.0;
        let (end_at, end) = words.get(to.checked_sub(1)?)?;
        line.get(start..end_at + end.len())
    };
    let mut row = Row::default();
    let mut at = 0;
    for name in before {
        let wide = width(name)?;
        row.cells.push((name, text(at, at + wide)?));
        at += wide;
    }
    if let Some(open) = open {
        let end = words.len() - right;
        if end > at {
            row.cells.push((names.get(open)?, text(at, end)?));
        }
        at = end;
        for name in after {
            let wide = width(name)?;
            row.cells.push((name, text(at, at + wide)?));
            at += wide;
        }
    } else if words.len() > at && names.last().is_some_and(|name| *name == "comm") {
        // A short name may hold blanks (`tmux: server`).
        let start = words.get(at.checked_sub(1)?)?.0;
        if let Some(cell) = row.cells.last_mut() {
            cell.1 = line.get(start..)?.trim_end();
        }
    } else if words.len() > at {
        return None;
    }
    Some(row)
}

/// The names of the columns that are left when awk or cut picked some; `None` when they cannot be
/// told.
pub(super) fn picked<'a>(names: &[&'a str], filter: &Filter) -> Option<Vec<&'a str>> {
    match &filter.columns {
        None => Some(names.to_vec()),
        Some(Columns {
            separator: Some(_), ..
        }) => None,
        Some(Columns { fields, .. }) => fields
            .iter()
            .map(|field| {
                let number = (*field)?;
                let mut at = 1;
                for name in names {
                    let wide = width(name).unwrap_or(usize::MAX);
                    if number >= at && number - at < wide {
                        // One word of a command line is its first: the program.
                        let program = width(name).is_none();
                        return match (program, number == at) {
                            (false, _) => Some(*name),
                            (true, true) => Some("program"),
                            (true, false) => Some("argument"),
                        };
                    }
                    at = at.saturating_add(wide);
                }
                None
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_takes_what_the_others_leave() {
        let row = split(
            "  91 python3   00:14 python3 server.py 1.8.2",
            &["pid", "comm", "etime", "args"],
        )
        .unwrap();
        assert_eq!(row.get(&["args"]), Some("python3 server.py 1.8.2"));
        let row = split(
            "98 Mon Nov 30 11:58:00 2026 node index.js",
            &["pid", "lstart", "args"],
        )
        .unwrap();
        assert_eq!(row.get(&["lstart"]), Some("Mon Nov 30 11:58:00 2026"));
        let row = split("12 a b c S", &["pid", "args", "stat"]).unwrap();
        assert_eq!(
            (row.get(&["args"]), row.get(&["stat"])),
            (Some("a b c"), Some("S"))
        );
        assert!(split("12", &["pid", "stat"]).is_none());
    }
}
