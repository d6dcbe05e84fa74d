//! The import rules of the house: who may use whom. Fails on a circle, because every module may
//! use only those before it in one order.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Modules in layer order: each may use those before it. `lib.rs` lists them in the same order.
const ORDER: &[&str] = &[
    "id",
    "time",
    "event",
    "shell",
    "redact",
    "text",
    "capture",
    "fact",
    "probe",
    "timeline",
    "playbook",
    "diagnosis",
    "store",
    "index",
    "import",
    "export",
    "settings",
    "projection",
    "report",
    "web",
    "cli",
    "cmd",
];

/// Modules that may use only these of ours, whatever the order says.
const NARROW: &[(&str, &[&str])] = &[
    ("capture", &["id", "time", "event", "shell", "redact"]),
    ("import", &["id", "time", "event", "shell", "redact"]),
    ("cli", &[]),
];

/// Pairs that never use each other.
const APART: &[(&str, &str)] = &[("web", "cmd"), ("web", "cli"), ("cmd", "web::templates")];

/// Pure layers: no I/O, no clock, no randomness, no async.
const PURE: &[&str] = &[
    "event",
    "shell",
    "redact",
    "text",
    "fact",
    "probe",
    "timeline",
    "playbook",
    "diagnosis",
];
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net::Tcp",
    "std::net::Udp",
    "ToSocketAddrs",
    "std::process",
    "std::env",
    "std::thread",
    "std::time::Instant",
    "SystemTime",
    "Micros::now",
    "tokio::",
    "sqlx::",
    "axum::",
    "rand::",
    "::new_v4",
    "now_v7",
];

/// Crates that appear in one room only.
const ROOMS: &[(&str, &[&str])] = &[
    ("sqlx", &["store"]),
    ("tantivy", &["index"]),
    ("axum", &["web"]),
    ("askama", &["web"]),
    ("clap", &["cli"]),
];

fn sources(dir: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The top module of a source file, from its path.
fn module_of(path: &Path, root: &Path) -> String {
    let first = path
        .strip_prefix(root)
        .unwrap()
        .components()
        .next()
        .unwrap();
    first
        .as_os_str()
        .to_string_lossy()
        .trim_end_matches(".rs")
        .to_owned()
}

/// The code of a file without comments and without its test module.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or("")
        .to_owned();
    text.lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Names of our modules that a text uses.
fn uses(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_') {
            continue;
        }
        let rest = &text[at + "crate::".len()..];
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(group) => group.split('}').next().unwrap_or("").split(',').collect(),
            None => vec![rest],
        };
        for name in names {
            let name: String = name
                .trim()
                .chars()
                .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
                .collect();
            found.insert(name);
        }
    }
    found
}

/// Whether a text holds a path that begins with this one, not as the end of a longer name.
fn holds(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_')
    })
}

fn is_test_file(path: &Path) -> bool {
    path.with_extension("").iter().any(|part| part == "tests")
}

#[test]
fn modules_use_only_what_stands_before_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(
        files.len() > 10,
        "the sources were not found under {}",
        root.display()
    );
    let mut faults = Vec::new();
    for path in files {
        let module = module_of(&path, &root);
        if matches!(module.as_str(), "lib" | "main") || is_test_file(&path) {
            continue;
        }
        let shown = path.strip_prefix(&root).unwrap().display().to_string();
        let Some(place) = ORDER.iter().position(|known| *known == module) else {
            faults.push(format!(
                "{shown}: module `{module}` has no place in the order"
            ));
            continue;
        };
        let text = code(&path);
        for used in uses(&text) {
            if used == module || !ORDER.contains(&used.as_str()) {
                continue;
            }
            if ORDER.iter().position(|known| *known == used) > Some(place) {
                faults.push(format!(
                    "{shown}: `{module}` uses `{used}`, which stands below it"
                ));
            }
            if let Some((_, allowed)) = NARROW.iter().find(|(narrow, _)| *narrow == module)
                && !allowed.contains(&used.as_str())
            {
                faults.push(format!("{shown}: `{module}` may not use `{used}`"));
            }
            if APART.contains(&(module.as_str(), used.as_str())) {
                faults.push(format!("{shown}: `{module}` and `{used}` stay apart"));
            }
        }
        if PURE.contains(&module.as_str()) && !shown.ends_with("tests.rs") {
            for word in IMPURE {
                if holds(&text, word) {
                    faults.push(format!("{shown}: `{module}` is pure and holds `{word}`"));
                }
            }
        }
        for (name, rooms) in ROOMS {
            let named = text.contains(&format!("{name}::"));
            if named && !rooms.contains(&module.as_str()) {
                faults.push(format!("{shown}: {name} belongs in {rooms:?} alone"));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "import rules broken:\n{}",
        faults.join("\n")
    );
}

#[test]
fn the_library_lists_its_modules_in_layer_order() {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let listed: Vec<usize> = text
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .map(|name| {
            ORDER
                .iter()
                .position(|known| *known == name)
                .unwrap_or_else(|| {
                    panic!("module `{name}` in lib.rs has no place in the order of layers.rs")
                })
        })
        .collect();
    assert!(
        listed.is_sorted(),
        "lib.rs must list its modules in layer order"
    );
}

/// Files that are one long table and nothing else.
const TABLES: &[&str] = &["fact/catalogue.rs"];

#[test]
fn no_file_is_longer_than_the_house_allows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let long: Vec<String> = files
        .iter()
        .filter(|path| !is_test_file(path))
        .filter(|path| !TABLES.iter().any(|table| path.ends_with(table)))
        .filter_map(|path| {
            let lines = code(path).lines().count();
            (lines > 800).then(|| format!("{}: {lines} lines", path.display()))
        })
        .collect();
    assert!(long.is_empty(), "split these by idea:\n{}", long.join("\n"));
}
