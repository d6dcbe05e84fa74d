//! Tables whose head names the columns: `kubectl get`, `docker ps`, `squeue`, `sinfo`.

/// The columns of a table, by its head.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    /// Names, with where they start and end, in characters.
    columns: Vec<(String, usize, usize)>,
    /// Names may hold single blanks (`LAST SEEN`).
    wide: bool,
}

/// Cells of a line with where they start and end, in characters; parted by one blank or more, or (when
/// `wide`) by two or more.
fn cells(text: &str, wide: bool) -> Vec<(String, usize, usize)> {
    let chars: Vec<char> = text.chars().collect();
    let blank = |at: usize| chars.get(at).is_none_or(|c| c.is_whitespace());
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        if blank(at) {
            at += 1;
            continue;
        }
        let from = at;
        while at < chars.len()
            && !(blank(at) && (!wide || blank(at + 1) || chars.get(at) == Some(&'\t')))
        {
            at += 1;
        }
        let cell = chars.get(from..at).unwrap_or(&[]).iter().collect();
        found.push((cell, from, at));
    }
    found
}

impl Table {
    /// A head whose columns are parted by two blanks or more.
    pub(super) fn wide(head: &str) -> Self {
        Self {
            columns: cells(head, true),
            wide: true,
        }
    }

    /// A head whose columns are parted by blanks.
    pub(super) fn narrow(head: &str) -> Self {
        Self {
            columns: cells(head, false),
            wide: false,
        }
    }

    /// It has a column of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|(own, ..)| own == name)
    }

    /// No head was seen.
    pub(super) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The cells of a row under their columns' names. A row with as many cells as columns is read in
    /// order; of another, each cell belongs to the column it stands under.
    pub(super) fn row(&self, line: &str) -> Cells {
        let own = cells(line, self.wide);
        if own.len() == self.columns.len() {
            let cells = self.columns.iter().zip(own);
            return Cells(
                cells
                    .map(|((name, ..), (cell, ..))| (name.clone(), cell))
                    .collect(),
            );
        }
        let mut found: Vec<(String, String)> = Vec::new();
        for (cell, from, to) in own {
            let overlap = |column: &(String, usize, usize)| {
                to.min(column.2).saturating_sub(from.max(column.1))
            };
            let best = self
                .columns
                .iter()
                .filter(|column| overlap(column) > 0)
                .max_by_key(|column| overlap(column))
                .or_else(|| {
                    self.columns
                        .iter()
                        .min_by_key(|column| column.1.abs_diff(from).min(column.2.abs_diff(to)))
                });
            let Some((name, ..)) = best else { continue };
            match found.last_mut() {
                Some((last, text)) if last == name => {
                    text.push(' ');
                    text.push_str(&cell);
                }
                _ => found.push((name.clone(), cell)),
            }
        }
        Cells(found)
    }
}

/// The cells of a row by their columns.
#[derive(Debug, Clone, Default)]
pub(super) struct Cells(Vec<(String, String)>);

impl Cells {
    /// The cell of the first of these columns that is there and says something.
    pub(super) fn get(&self, names: &[&str]) -> Option<&str> {
        names
            .iter()
            .find_map(|name| self.0.iter().find(|(own, _)| own == name))
            .map(|(_, cell)| cell.as_str())
            .filter(|cell| !cell.is_empty() && *cell != "<none>" && *cell != "<unset>")
    }

    /// The same, kept.
    pub(super) fn text(&self, names: &[&str]) -> Option<String> {
        self.get(names).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_belong_to_the_column_they_stand_under() {
        let table = Table::wide("NAME   LAST SEEN   STATUS   AGE");
        let row = table.row("web    3m (x2)     Ready    4d");
        assert_eq!(row.get(&["LAST SEEN"]), Some("3m (x2)"));
        let row = table.row("web                Ready    4d");
        assert_eq!(
            (row.get(&["LAST SEEN"]), row.get(&["STATUS"])),
            (None, Some("Ready"))
        );
        let table = Table::narrow("  JOBID PARTITION     NAME ST       TIME NODELIST(REASON)");
        let row = table.row("   4711       gpu    train PD       0:00 (Resources, or so)");
        assert_eq!(row.get(&["NODELIST(REASON)"]), Some("(Resources, or so)"));
        assert_eq!(row.get(&["ST"]), Some("PD"));
    }
}
