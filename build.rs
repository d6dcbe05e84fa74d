//! Rebuilds when what is embedded changes (migrations, playbooks, templates, static files), and
//! names the reader: a digest of the sources that turn lines and output into facts. Facts are stored
//! with the reader that read them; when one of these sources changes, what is stored is read again.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

const EMBEDDED: [&str; 4] = ["migrations", "playbooks", "templates", "static"];
const READER: [&str; 7] = [
    "src/shell.rs",
    "src/shell",
    "src/text.rs",
    "src/fact.rs",
    "src/fact",
    "src/probe.rs",
    "src/probe",
];

fn main() {
    for path in EMBEDDED.into_iter().chain(READER) {
        // A path that is not there would run this again at every build.
        if Path::new(path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    let mut files = Vec::new();
    for path in READER {
        collect(Path::new(path), &mut files);
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.hash(&mut hasher);
        std::fs::read(&file).unwrap_or_default().hash(&mut hasher);
    }
    println!("cargo:rustc-env=CASEBOOK_READER={:016x}", hasher.finish());
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in path.read_dir().into_iter().flatten().flatten() {
            collect(&entry.path(), files);
        }
    } else if path.is_file() {
        files.push(path.to_owned());
    }
}
