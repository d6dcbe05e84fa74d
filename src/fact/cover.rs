//! Coverage: what a look could have shown, so that "not shown" can mean "not there".

use super::Fact;
use crate::shell::Tri;

/// Something a look may show or miss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A process by its id.
    Pid(i64),
    /// A process by a text in its command line.
    CommandLine(String),
    /// A file by its path.
    Path(String),
    /// A listening TCP port.
    Port(i64),
    /// A GPU by its index.
    Gpu(i64),
    /// A systemd unit.
    Unit(String),
    /// A container or pod.
    Container(String),
}

/// Two paths name the same file, as far as their written forms tell.
///
/// A relative path is the same as an absolute one that ends with it; `~/x` ends with `/x`. An
/// answer of yes for a relative path is a likeness, not a proof.
pub fn same_path(one: &str, other: &str) -> bool {
    fn plain(path: &str) -> &str {
        let path = path.trim_end_matches('/');
        let path = path
            .strip_prefix("$HOME/")
            .or_else(|| path.strip_prefix("~/"))
            .unwrap_or(path);
        let mut path = path;
        while let Some(rest) = path.strip_prefix("./") {
            path = rest;
        }
        path
    }
    let (one, other) = (plain(one), plain(other));
    if one.is_empty() || other.is_empty() {
        return false;
    }
    if one == other {
        return true;
    }
    let (long, short) = if one.len() > other.len() {
        (one, other)
    } else {
        (other, one)
    };
    !short.starts_with('/')
        && long.ends_with(short)
        && long[..long.len() - short.len()].ends_with('/')
}

/// The last part of a path: paths that may be the same share it.
pub fn last_part(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

impl Fact {
    /// Whether this look would have shown the subject, were it there.
    pub fn covers(&self, subject: &Subject) -> Tri {
        match (self, subject) {
            (Self::ProcessLook(look), Subject::Pid(pid)) => {
                if look.pids.contains(pid) || (look.everything && !look.cut) {
                    Tri::Yes
                } else if look.asked_pids.is_empty() {
                    Tri::Unknown
                } else if look.asked_pids.contains(pid) {
                    Tri::Yes
                } else {
                    Tri::No
                }
            }
            (Self::ProcessLook(look), Subject::CommandLine(text)) => {
                if look.everything && !look.cut {
                    return Tri::Yes;
                }
                match &look.pattern {
                    Some(pattern) if look.full => pattern_meets(pattern, text),
                    Some(_) => Tri::Unknown, // a process name is no command line
                    None => Tri::No,
                }
            }
            (Self::File(file), Subject::Path(path)) => same_path(&file.path, path).into(),
            (Self::DirLook(look), Subject::Path(path)) => match path.rsplit_once('/') {
                Some((dir, name)) if same_path(dir, &look.path) => {
                    let shows = look.hidden || !name.starts_with('.');
                    (!look.cut && shows).into()
                }
                _ => Tri::No,
            },
            (Self::PortLook(look), Subject::Port(port)) => {
                if look.filter_port == Some(*port) {
                    Tri::Yes
                } else {
                    (look.filter_port.is_none() && !look.cut).into()
                }
            }
            (Self::GpuLook(look), Subject::Gpu(index)) => {
                if *index < look.shown {
                    Tri::Yes
                } else {
                    (!look.cut).into()
                }
            }
            (Self::Unit(unit), Subject::Unit(name)) => (unit.name == *name).into(),
            (Self::Container(container), Subject::Container(name)) => {
                (container.name == *name).into()
            }
            (Self::Pod(pod), Subject::Container(name)) => (pod.name == *name).into(),
            (Self::Usage(usage), Subject::Container(name)) => (usage.name == *name).into(),
            _ => Tri::No,
        }
    }
}

/// What looks of a fact type cover, in words; `None` for a type that shows nothing to be absent.
pub fn covered(fact: &str) -> Option<&'static str> {
    Some(match fact {
        "process_look" => {
            "a process by its id: yes when every process was listed and nothing cut away, or the id was \
             asked for; unknown when it looked by pattern. A command line: yes when every process was \
             listed, or the pattern is looked for in whole command lines and meets it; unknown when \
             only names were looked at"
        }
        "gpu_look" => "a GPU by its index: those shown, and all when nothing was cut away",
        "file" => "its own path",
        "dir_look" => "the paths directly in its folder, when nothing was cut away",
        "port_look" => {
            "a TCP port: the one asked for, or any when none was and nothing was cut away"
        }
        "unit" => "its own unit",
        "container" | "pod" | "usage" => "its own container or pod",
        _ => return None,
    })
}

/// Whether a look by this pattern would show a process with that text in its command line.
fn pattern_meets(pattern: &str, text: &str) -> Tri {
    super::pattern::found(pattern, text)
        .unwrap_or_else(|| text.contains(pattern))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::CATALOGUE;

    #[test]
    fn what_covers_something_says_so_in_words() {
        let subjects = [
            Subject::Pid(0),
            Subject::CommandLine(String::from("x")),
            Subject::Path(String::from("x")),
            Subject::Port(0),
            Subject::Gpu(0),
            Subject::Unit(String::new()),
            Subject::Container(String::new()),
        ];
        for ty in CATALOGUE {
            let fields = match ty.name {
                "file" => serde_json::json!({"path": "x"}),
                "dir_look" => continue, // a path in its folder: tested with the paths
                _ => serde_json::json!({}),
            };
            let fact: Fact =
                serde_json::from_value(serde_json::json!({"fact": ty.name, "fields": fields}))
                    .unwrap();
            let covers = subjects
                .iter()
                .any(|subject| fact.covers(subject) != Tri::No);
            assert_eq!(covers, covered(ty.name).is_some(), "{}", ty.name);
        }
    }

    #[test]
    fn a_hidden_name_is_not_absent_where_none_are_shown() {
        let look = |hidden| {
            let fields = serde_json::json!({"path": "/srv", "count": 3, "hidden": hidden});
            let look = serde_json::json!({"fact": "dir_look", "fields": fields});
            serde_json::from_value::<Fact>(look).unwrap()
        };
        let covers = |hidden, path: &str| look(hidden).covers(&Subject::Path(path.to_owned()));
        assert_eq!(covers(false, "/srv/.env"), Tri::No);
        assert_eq!(covers(true, "/srv/.env"), Tri::Yes);
        assert_eq!(covers(false, "/srv/env"), Tri::Yes);
    }

    #[test]
    fn paths_are_compared_by_what_they_show() {
        assert!(same_path("~/exp7/run.log", "/home/dev/exp7/run.log"));
        assert!(same_path("run.log", "/home/dev/exp7/run.log"));
        assert!(same_path("./run.log", "run.log"));
        assert!(!same_path("run.log", "/home/dev/exp7/prerun.log"));
        assert!(!same_path("/a/run.log", "/b/run.log"));
        assert!(!same_path("", "/b/run.log"));
    }
}
