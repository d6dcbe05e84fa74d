//! The playbooks at hand: the shipped ones and a person's own, read in one place.

use std::path::{Path, PathBuf};

use crate::capture::named::{self, Why};
use crate::playbook::{self, Fault, Playbook};
use crate::settings;

/// The most that a playbook may hold, in bytes.
pub const MOST_BYTES: u64 = 8 << 20;

/// A file of a person's own, read or refused.
#[derive(Debug, Clone)]
pub struct OwnFile {
    /// Where it lies.
    pub path: PathBuf,
    /// Its text; empty where it cannot be read.
    pub text: String,
    /// The playbook, or what is wrong with it.
    pub read: Result<Playbook, Vec<Fault>>,
}

impl OwnFile {
    /// Its path as it is shown.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// The folder of a person's own playbooks.
pub fn own_folder() -> Option<PathBuf> {
    settings::folder().map(|folder| folder.join("playbooks"))
}

/// The YAML files of a folder, by name.
///
/// # Errors
/// When the folder cannot be read.
pub fn yaml_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            let extension = path.extension().and_then(|extension| extension.to_str());
            matches!(extension, Some("yaml" | "yml"))
        })
        .collect();
    paths.sort();
    Ok(paths)
}

/// Reads a file. One that cannot be read, or is no text, is refused as one with a fault is.
pub fn read_file(path: &Path) -> OwnFile {
    let refused = |line, problem: String, hint: &str| {
        Err(vec![Fault {
            line,
            column: 1,
            message: problem,
            hint: Some(hint.to_owned()),
        }])
    };
    let (text, read) = match named::read(path, MOST_BYTES).map(String::from_utf8) {
        Ok(Ok(text)) => {
            let read = playbook::load(&path.display().to_string(), &text);
            (text, read)
        }
        Ok(Err(error)) => {
            let at = error.utf8_error().valid_up_to();
            let bytes = error.as_bytes();
            let line = 1 + bytes.iter().take(at).filter(|byte| **byte == b'\n').count();
            let text = String::from_utf8_lossy(bytes).into_owned();
            let problem = format!("this is not UTF-8 (byte {at})");
            (
                text,
                refused(line, problem, "a playbook is a YAML file in UTF-8"),
            )
        }
        Err(error) => {
            let hint = match error.why {
                Why::System(_) => "mend its permissions, or take it away",
                _ => "a playbook is a YAML file: take this away",
            };
            let problem = format!("this {}", error.why.says());
            (String::new(), refused(1, problem, hint))
        }
    };
    OwnFile {
        path: path.to_owned(),
        text,
        read,
    }
}

/// A person's own playbooks, those that do not read among them. A folder that is not there holds none.
pub fn own_files(folder: Option<&Path>) -> Vec<OwnFile> {
    let paths = folder.map(|folder| yaml_files(folder).unwrap_or_default());
    let paths = paths.unwrap_or_default();
    paths.iter().map(|path| read_file(path)).collect()
}

/// The shipped playbooks and those of these files that read; one of a shipped id stands in its place.
pub fn with_shipped(own: impl IntoIterator<Item = OwnFile>) -> Vec<Playbook> {
    let mut all: Vec<Playbook> = playbook::shipped().to_vec();
    for own in own.into_iter().filter_map(|own| own.read.ok()) {
        all.retain(|known| known.id != own.id);
        all.push(own);
    }
    all
}

/// The id that a text gives itself, also where it does not read.
pub fn id_of(text: &str) -> Option<&str> {
    let line = text.lines().find_map(|line| line.strip_prefix("id:"))?;
    let id = line.split('#').next().unwrap_or_default();
    Some(id.trim().trim_matches(['"', '\''])).filter(|id| !id.is_empty())
}

/// A file of a person's own that does not read, in one line.
pub fn broken_line(file: &OwnFile) -> Option<String> {
    let faults = file.read.as_ref().err()?;
    let first = faults.first()?;
    let more = match faults.len() {
        0 | 1 => String::new(),
        2 => " (and 1 fault more)".to_owned(),
        many => format!(" (and {} faults more)", many - 1),
    };
    Some(format!(
        "{}:{}:{}: {}{more}",
        file.path.display(),
        first.line,
        first.column,
        first.message
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_read_is_kept_with_its_first_fault() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        };
        write("a.yaml", b"id: A\n");
        write("b.yml", b"id: x\n# \xff\n");
        write("c.txt", b"not one");
        let shipped = playbook::shipped().first().unwrap();
        write(
            "d.yaml",
            shipped
                .text
                .replacen("version: ", "version: 9", 1)
                .as_bytes(),
        );
        let own = own_files(Some(folder.path()));
        assert_eq!(own.len(), 3);
        let lines: Vec<String> = own.iter().filter_map(broken_line).collect();
        assert!(lines[0].contains("a.yaml:1:1: ") && lines[0].ends_with("faults more)"));
        assert!(
            lines[1].ends_with("b.yml:2:1: this is not UTF-8 (byte 8)"),
            "{lines:?}"
        );
        assert_eq!(lines.len(), 2);
        let all = with_shipped(own);
        assert_eq!(all.len(), playbook::shipped().len());
        assert!(
            all.iter()
                .any(|one| one.id == shipped.id && one.version > 9)
        );
        assert!(own_files(Some(&folder.path().join("none"))).is_empty());
    }
}
