//! Negative observations: whether a look that covers a subject showed it.

use super::SubjectKind;
use super::eval::{Val, show};
use super::index::{Index, Within};
use crate::fact::Fact;
use crate::fact::cover::{Subject, same_path};
use crate::fact::pattern::found;
use crate::shell::Tri;
use crate::timeline::{Entry, Timeline};

/// The fact types of looks that may cover a subject.
pub(super) fn looks(kind: SubjectKind) -> &'static [&'static str] {
    match kind {
        SubjectKind::Process | SubjectKind::Pid => &["process_look"],
        SubjectKind::Path => &["file", "dir_look"],
        SubjectKind::Port => &["port_look"],
        SubjectKind::Gpu => &["gpu_look"],
    }
}

/// The subject of a value; `None` when the value is unknown.
pub(super) fn subject(kind: SubjectKind, value: &Val<'_>) -> Option<Subject> {
    match (kind, value) {
        (SubjectKind::Process, Val::Text(text)) if !text.is_empty() => {
            Some(Subject::CommandLine(unbracketed(text)))
        }
        (SubjectKind::Path, Val::Text(_)) => Some(Subject::Path(show(value))),
        (SubjectKind::Pid, Val::Int(pid)) => Some(Subject::Pid(*pid)),
        (SubjectKind::Port, Val::Int(port)) => Some(Subject::Port(*port)),
        (SubjectKind::Gpu, Val::Int(index)) => Some(Subject::Gpu(*index)),
        _ => None,
    }
}

/// `[s]glang` means `sglang`: a bracket around one letter is there to miss the looker itself.
pub(super) fn unbracketed(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(open) = rest.find('[') {
        let (before, inside) = rest.split_at(open);
        out.push_str(before);
        let mut chars = inside.chars();
        chars.next();
        match (chars.next(), chars.next()) {
            (Some(letter), Some(']')) if letter != '^' => {
                out.push(letter);
                rest = chars.as_str();
            }
            _ => {
                out.push('[');
                rest = inside.get(1..).unwrap_or("");
            }
        }
    }
    out.push_str(rest);
    out
}

/// Whether a look says that the subject is not there: yes (it covers it and did not show it), no
/// (it showed it), or unknown (it does not cover it, or cannot tell).
pub(super) fn absent(index: &Index<'_>, timeline: &Timeline, at: usize, subject: &Subject) -> Tri {
    let Some(entry) = timeline.entries.get(at) else {
        return Tri::Unknown;
    };
    let shown = shown(index, timeline, entry, subject);
    if shown == Tri::Yes {
        return Tri::No;
    }
    match (entry.fact.covers(subject), shown) {
        (Tri::Yes, Tri::No) => Tri::Yes,
        _ => Tri::Unknown,
    }
}

/// Whether the look that an entry stands for showed the subject.
fn shown(index: &Index<'_>, timeline: &Timeline, entry: &Entry, subject: &Subject) -> Tri {
    let beside = |fact| beside(index, timeline, entry, fact);
    match (&entry.fact, subject) {
        (Fact::ProcessLook(look), Subject::Pid(pid)) => look.pids.contains(pid).into(),
        (Fact::ProcessLook(look), Subject::CommandLine(text)) => {
            if look.count == 0 {
                return Tri::No;
            }
            let hit = |args: &str| found(text, args) == Some(true) || args.contains(text);
            let mut told = 0;
            for other in beside("process") {
                if let Fact::Process(process) = other
                    && let Some(args) = &process.args
                {
                    if hit(args) {
                        return Tri::Yes;
                    }
                    told += 1;
                }
            }
            if i64::from(told) == look.count {
                Tri::No
            } else if look.everything {
                Tri::Unknown
            } else {
                // A look by this pattern found something, and what it found is not spelled out.
                match look.pattern.as_deref() {
                    Some(pattern) if unbracketed(pattern) == *text => Tri::Yes,
                    _ => Tri::Unknown,
                }
            }
        }
        (Fact::File(file), Subject::Path(path)) if same_path(&file.path, path) => file.exists,
        (Fact::DirLook(_), Subject::Path(path)) => beside("file")
            .any(|other| match other {
                Fact::File(file) => same_path(&file.path, path) && file.exists == Tri::Yes,
                _ => false,
            })
            .into(),
        (Fact::PortLook(_), Subject::Port(port)) => beside("socket")
            .any(|other| match other {
                Fact::Socket(socket) => socket.port == *port && socket.listening,
                _ => false,
            })
            .into(),
        (Fact::GpuLook(_), Subject::Gpu(number)) => beside("gpu")
            .any(|other| matches!(other, Fact::Gpu(gpu) if gpu.index == Some(*number)))
            .into(),
        _ => Tri::Unknown,
    }
}

/// Entries of a type from the same look: the same invocation of the same command.
fn beside<'t>(
    index: &'t Index<'_>,
    timeline: &'t Timeline,
    entry: &Entry,
    fact: &'static str,
) -> impl Iterator<Item = &'t Fact> {
    let (command, invocation) = (entry.command, entry.invocation);
    index
        .named(fact, Within::Command(command))
        .iter()
        .filter_map(|at| timeline.entries.get(*at))
        .filter(move |other| other.invocation == invocation)
        .map(|other| &other.fact)
}
