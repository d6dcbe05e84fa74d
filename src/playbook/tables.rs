//! Data tables: what the numbers and names of a family mean, where the family is a table (Xid codes,
//! signals, exit codes, errors of CUDA and NCCL, reasons of the kubelet, statuses of systemd).
//!
//! A table is a YAML file in `playbooks/tables/`. A playbook reads it with
//! `lookup('xid', X.code, 'meaning')`; what stands in no row is unknown.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::OnceLock;

use serde::Deserialize;

/// A table.
pub struct Table {
    /// Its name: the file's, without `.yaml`.
    pub name: String,
    /// What it tells.
    pub about: String,
    /// Where its knowledge comes from.
    pub source: String,
    /// What its rows are found by.
    pub key: Key,
    /// What it tells of each key.
    pub columns: Vec<String>,
    rows: HashMap<String, Vec<String>>,
}

/// What rows are found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Key {
    /// A whole number.
    Number,
    /// A text; capitals count for nothing.
    Text,
}

impl fmt::Debug for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Table({})", self.name)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    about: String,
    source: String,
    key: Key,
    columns: Vec<String>,
    rows: BTreeMap<String, Vec<String>>,
}

impl Table {
    /// Reads a table.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn read(name: &str, text: &str) -> Result<Self, String> {
        let file: File = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let mut rows = HashMap::new();
        for (key, row) in file.rows {
            if file.key == Key::Number && key.parse::<i64>().is_err() {
                return Err(format!("row `{key}`: this table is by number"));
            }
            if row.len() != file.columns.len() {
                let (has, wants) = (row.len(), file.columns.len());
                return Err(format!("row `{key}` has {has} things, not {wants}"));
            }
            let had = rows.insert(key.to_ascii_lowercase(), row);
            if had.is_some() {
                return Err(format!("row `{key}` stands there twice"));
            }
        }
        Ok(Self {
            name: name.to_owned(),
            about: file.about,
            source: file.source,
            key: file.key,
            columns: file.columns,
            rows,
        })
    }

    /// What stands in a row's column; `None` where there is no such row, or nothing stands there.
    pub fn look_up(&self, key: &str, column: usize) -> Option<&str> {
        let row = match self.rows.get(key) {
            Some(row) => row,
            None => self.rows.get(&key.to_ascii_lowercase())?,
        };
        let found = row.get(column).map(String::as_str);
        found.filter(|text| !text.is_empty())
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// It has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// The tables that ship with the program, by name; one that does not read is left out, and a test
/// says which.
pub fn shipped() -> &'static [Table] {
    static TABLES: OnceLock<Vec<Table>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let texts = shipped_texts();
        let read = texts
            .iter()
            .filter_map(|(name, text)| Table::read(name, text).ok());
        read.collect()
    })
}

/// The files of the shipped tables, name and text, by name.
pub fn shipped_texts() -> Vec<(String, String)> {
    let files = super::shipped_files("tables/").into_iter();
    let named = files.filter_map(|(name, text)| {
        let name = name.strip_suffix(".yaml")?.to_owned();
        Some((name, text))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_table_reads_and_is_full() {
        for (name, text) in shipped_texts() {
            let table = Table::read(&name, &text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!table.is_empty() && !table.about.is_empty(), "{name}");
            assert!(!table.source.is_empty(), "{name}: where is it from?");
        }
        assert_eq!(shipped().len(), shipped_texts().len());
    }

    #[test]
    fn rows_are_found_by_their_key() {
        let text = "about: a\nsource: b\nkey: number\ncolumns: [name, action]\nrows:\n  79: [off the bus, '']\n";
        let table = Table::read("xid", text).unwrap();
        assert_eq!(table.look_up("79", 0), Some("off the bus"));
        assert_eq!(table.look_up("79", 1), None);
        assert_eq!(table.look_up("80", 0), None);
        let text = "about: a\nsource: b\nkey: text\ncolumns: [meaning]\nrows:\n  OOMKilled: [x]\n";
        let table = Table::read("kubelet", text).unwrap();
        assert_eq!(table.look_up("oomkilled", 0), Some("x"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let rows = |rows: &str| {
            let text = format!("about: a\nsource: b\nkey: number\ncolumns: [x, y]\nrows:\n{rows}");
            Table::read("t", &text).map(|_| ()).unwrap_err()
        };
        assert_eq!(rows("  a: [1, 2]\n"), "row `a`: this table is by number");
        assert_eq!(rows("  1: [a]\n"), "row `1` has 1 things, not 2");
    }
}
