//! A person's settings: `config.toml` in `$XDG_CONFIG_HOME/casebook`, and what lies beside it.
//!
//! The file is the plain part of TOML: `key = true`, one a line, `#` for comments. What is not known
//! is a fault with its line; it never stops a verb.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::capture::keep::{Cap, DEFAULT_CAP_BYTES};
use crate::capture::named::{self, Unread, Why};

/// The most that a file of settings may hold, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// What is wrong in `config.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}:{line}: {problem}", path = .path.display())]
pub struct BadSetting {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what may stand there.
    pub problem: String,
}

/// Settings, those of a person over the defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Confirmed findings of other sessions move the priors of their playbooks' hypotheses.
    pub learn: bool,
    /// Before a command runs, one line says that it is about to hurt itself.
    pub hints: bool,
    /// MiB of a command's output that are kept from its beginning, and as many from its end (those
    /// wait in memory); 0 keeps everything.
    pub keep_mib: u64,
}

/// The most that may wait in memory, in MiB.
const MOST_KEEP_MIB: u64 = 4096;

impl Default for Settings {
    fn default() -> Self {
        Self {
            learn: true,
            hints: true,
            keep_mib: DEFAULT_CAP_BYTES >> 20,
        }
    }
}

/// The folder of a person's settings; `None` where there is no home.
pub fn folder() -> Option<PathBuf> {
    let config = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")))?;
    Some(config.join("casebook"))
}

impl Settings {
    /// The settings in force.
    pub fn read() -> Self {
        Self::read_with_faults().0
    }

    /// How much of a command's output is kept.
    pub fn cap(&self) -> Cap {
        match self.keep_mib {
            0 => Cap::None,
            mib => Cap::Each(mib << 20),
        }
    }

    /// The settings in force, and what is wrong in the file.
    pub fn read_with_faults() -> (Self, Vec<BadSetting>) {
        let Some(path) = folder().map(|folder| folder.join("config.toml")) else {
            return (Self::default(), Vec::new());
        };
        Self::read_from(&path)
    }

    fn read_from(path: &Path) -> (Self, Vec<BadSetting>) {
        match named::read(path, MOST_BYTES) {
            Ok(bytes) => parse(path, &String::from_utf8_lossy(&bytes)),
            Err(Unread {
                why: Why::Missing, ..
            }) => (Self::default(), Vec::new()),
            Err(Unread { why, .. }) => {
                let fault = BadSetting {
                    path: path.to_owned(),
                    line: 1,
                    problem: format!("this {}; put a file of settings there", why.says()),
                };
                (Self::default(), vec![fault])
            }
        }
    }
}

fn parse(path: &Path, text: &str) -> (Settings, Vec<BadSetting>) {
    let mut settings = Settings::default();
    let mut faults = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let mut fault = |problem: String| {
            faults.push(BadSetting {
                path: path.to_owned(),
                line: number,
                problem,
            });
        };
        let Some((key, value)) = line.split_once('=') else {
            fault(format!("`{line}` is no setting: write `learn = false`"));
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        let setting = match key {
            "learn" => &mut settings.learn,
            "hints" => &mut settings.hints,
            "keep_mib" => {
                match value.parse() {
                    Ok(mib) if mib <= MOST_KEEP_MIB => settings.keep_mib = mib,
                    _ => fault(format!(
                        "`keep_mib` is a whole number of MiB up to {MOST_KEEP_MIB}, 0 for everything, \
                         not `{value}`"
                    )),
                }
                continue;
            }
            other => {
                fault(format!(
                    "there is no setting `{other}`; known: learn, hints, keep_mib"
                ));
                continue;
            }
        };
        match value {
            "true" => *setting = true,
            "false" => *setting = false,
            other => fault(format!("`{key}` is true or false, not `{other}`")),
        }
    }
    (settings, faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_holds_no_settings() {
        let (settings, faults) = Settings::read_from(Path::new("/dev/zero"));
        assert_eq!(settings, Settings::default());
        assert_eq!(
            faults[0].to_string(),
            "/dev/zero:1: this is a device; put a file of settings there"
        );
    }

    #[test]
    fn what_is_known_counts_and_what_is_not_is_said() {
        let path = Path::new("config.toml");
        let (settings, faults) = parse(path, "# mine\nlearn = false # not yet\nhints=false\n");
        assert!(!settings.learn && !settings.hints && faults.is_empty());
        for (text, cap) in [
            ("keep_mib = 0", Cap::None),
            ("keep_mib = 1 # little", Cap::Each(1 << 20)),
            ("", Cap::default()),
        ] {
            assert_eq!(parse(path, text).0.cap(), cap);
        }
        for text in ["keep_mib = all", "keep_mib = -1", "keep_mib = 99999999999"] {
            let (settings, faults) = parse(path, text);
            assert_eq!(
                (settings.cap(), faults.len()),
                (Cap::default(), 1),
                "{text}"
            );
        }
        let (settings, faults) = parse(path, "learn = maybe\nlern = true\nwhat\n");
        assert_eq!(settings, Settings::default());
        let said: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "config.toml:1: `learn` is true or false, not `maybe`",
                "config.toml:2: there is no setting `lern`; known: learn, hints, keep_mib",
                "config.toml:3: `what` is no setting: write `learn = false`",
            ]
        );
    }
}
