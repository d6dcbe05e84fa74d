//! Files that the line makes or changes.

use std::collections::HashSet;

use super::{resolved, resolved_target};
use crate::shell::build::{Builder, Note, Stdin};
use crate::shell::carry::field_of;
use crate::shell::hops::Options;
use crate::shell::hops::remote::split_destination;
use crate::shell::{FileWrite, Invocation, RedirectTo, Tri, Word};

pub(super) fn writes(b: &Builder) -> Vec<FileWrite> {
    let mut out = Vec::new();
    let mut counted = HashSet::new();
    for (invocation, note) in b.tree.invocations.iter().zip(&b.notes) {
        redirected(b, invocation, note, &mut counted, &mut out);
        if invocation.hop.is_none() {
            by_program(invocation, note, &mut out);
        }
    }
    out
}

/// The program copies what it reads.
fn reads_stdin(invocation: &Invocation) -> bool {
    let args = invocation.args();
    match invocation.program() {
        "cat" => args.iter().all(|word| word.text.starts_with('-')),
        "tee" | "sponge" => true,
        "dd" => !args.iter().any(|word| word.text.starts_with("if=")),
        "tar" => args.iter().any(|word| word.text == "-") || invocation.has_option(&["-x"]),
        "base64" | "gunzip" | "zcat" | "gzip" | "xz" | "zstd" => {
            args.iter().all(|word| word.text.starts_with('-'))
        }
        _ => false,
    }
}

fn input_lost(invocation: &Invocation, note: &Note) -> Tri {
    if !reads_stdin(invocation) {
        return Tri::No;
    }
    match note.stdin {
        Stdin::Lost => Tri::Yes,
        Stdin::Open => Tri::Unknown,
        Stdin::Pipe | Stdin::File | Stdin::Text(_) => Tri::No,
    }
}

fn write(invocation: &Invocation, note: &Note, path: &Word, how: &str) -> FileWrite {
    FileWrite {
        invocation: invocation.index,
        host: invocation.place.host.clone(),
        path: path.text.clone(),
        resolved: resolved(invocation, note, &path.text),
        how: how.to_owned(),
        append: false,
        input_lost: Tri::No,
    }
}

fn is_device(path: &str) -> bool {
    path.is_empty()
        || path.starts_with("/dev/")
        || path.starts_with("/proc/")
        || path.starts_with(">(")
}

/// Files that redirections make; one of a group is counted at its first member, one of a hop at
/// what it carries.
fn redirected(
    b: &Builder,
    invocation: &Invocation,
    note: &Note,
    counted: &mut HashSet<usize>,
    out: &mut Vec<FileWrite>,
) {
    let fed = matches!(note.stdin, Stdin::Text(_)) && reads_stdin(invocation);
    for (redirect, id) in invocation.redirects.iter().zip(&note.redirect_ids) {
        let (path, append) = match &redirect.to {
            RedirectTo::Truncate { path } => (path, false),
            RedirectTo::Append { path } => (path, true),
            _ => continue,
        };
        if is_device(&path.text) {
            continue;
        }
        let how = if fed && redirect.fd == 1 {
            "heredoc"
        } else {
            "redirect"
        };
        if !counted.insert(*id) {
            // Counted at the hop: what it carries knows better how it is made.
            if let Some(earlier) = out.iter_mut().rev().find(|earlier| {
                earlier.path == path.text && Some(earlier.invocation) == invocation.parent
            }) {
                *earlier = FileWrite {
                    append,
                    input_lost: input_lost(invocation, note),
                    resolved: resolved_target(b, invocation, path),
                    ..write(invocation, note, path, how)
                };
            }
            continue;
        }
        out.push(FileWrite {
            append,
            input_lost: input_lost(invocation, note),
            resolved: resolved_target(b, invocation, path),
            ..write(invocation, note, path, how)
        });
    }
}

fn by_program(invocation: &Invocation, note: &Note, out: &mut Vec<FileWrite>) {
    let args = invocation.args();
    let plain = || args.iter().filter(|word| !word.text.starts_with('-'));
    match invocation.program() {
        "tee" | "sponge" => {
            for path in plain().filter(|path| !is_device(&path.text)) {
                out.push(FileWrite {
                    append: invocation.has_option(&["-a", "--append"]),
                    input_lost: input_lost(invocation, note),
                    ..write(invocation, note, path, "tee")
                });
            }
        }
        "touch" => {
            let options = scan(invocation, "drt", &["--date", "--reference"]);
            for path in args
                .get(options.rest.saturating_sub(1)..)
                .unwrap_or_default()
            {
                out.push(write(invocation, note, path, "touch"));
            }
        }
        "mkdir" => {
            let options = scan(invocation, "m", &["--mode"]);
            for path in args
                .get(options.rest.saturating_sub(1)..)
                .unwrap_or_default()
            {
                out.push(write(invocation, note, path, "mkdir"));
            }
        }
        "dd" => {
            let path = args.iter().find_map(|word| word.text.strip_prefix("of="));
            if let Some(path) = path.filter(|path| !is_device(path)) {
                let path = Word {
                    text: path.to_owned(),
                    literal: true,
                    quoted: false,
                };
                out.push(FileWrite {
                    input_lost: input_lost(invocation, note),
                    ..write(invocation, note, &path, "copy")
                });
            }
        }
        "sed"
            if invocation.args().iter().any(|word| {
                word.text.starts_with("-i")
                    || word.text.starts_with("--in-place")
                    || word.text == "-ri"
            }) =>
        {
            let scripted = invocation
                .option_value(&["-e", "-f", "--expression"])
                .is_some();
            for path in plain().skip(usize::from(!scripted)) {
                out.push(write(invocation, note, path, "edit"));
            }
        }
        "truncate" => {
            let options = scan(invocation, "sr", &["--size", "--reference"]);
            for path in args
                .get(options.rest.saturating_sub(1)..)
                .unwrap_or_default()
            {
                out.push(write(invocation, note, path, "edit"));
            }
        }
        "cp" | "install" => copies(invocation, note, "copy", "tSmog", out),
        "mv" => copies(invocation, note, "move", "tS", out),
        "scp" => copies(invocation, note, "copy", "cDFiJloPS", out),
        "rsync" => copies(invocation, note, "copy", "efTMB", out),
        _ => {}
    }
}

fn scan(invocation: &Invocation, short: &str, long: &[&str]) -> Options {
    let fields: Vec<_> = invocation.words.iter().map(field_of).collect();
    Options::scan(&fields, 1, short, long)
}

/// The last word is where the others go.
fn copies(invocation: &Invocation, note: &Note, how: &str, short: &str, out: &mut Vec<FileWrite>) {
    let long = [
        "--target-directory",
        "--suffix",
        "--mode",
        "--owner",
        "--group",
        "--rsh",
        "--exclude",
        "--include",
        "--files-from",
        "--bwlimit",
        "--rsync-path",
        "--port",
    ];
    let fields: Vec<_> = invocation.words.iter().map(field_of).collect();
    let options = Options::scan(&fields, 1, short, &long);
    // Options may stand behind the paths as well.
    let mut paths: Vec<&Word> = invocation
        .words
        .get(options.rest..)
        .unwrap_or_default()
        .iter()
        .collect();
    paths.retain(|word| !word.text.starts_with('-'));
    let target = match options.value(&["-t", "--target-directory"]) {
        Some(target) if matches!(invocation.program(), "cp" | "mv" | "install") => {
            format!("{}/", target.trim_end_matches('/'))
        }
        _ if paths.len() < 2 => return,
        _ => paths
            .pop()
            .map(|word| word.text.clone())
            .unwrap_or_default(),
    };
    let remote = matches!(invocation.program(), "scp" | "rsync");
    let (host, target) = match target.split_once(':') {
        Some((host, path)) if remote && !host.contains('/') && !host.is_empty() => (
            Some(split_destination(host).1),
            path.trim_start_matches(':').to_owned(),
        ),
        _ => (None, target),
    };
    let is_folder = target.is_empty() || target.ends_with(['/', '.']) || paths.len() > 1;
    for source in paths.into_iter().take(64) {
        let name = source
            .text
            .trim_end_matches('/')
            .rsplit(['/', ':'])
            .next()
            .unwrap_or("");
        let path = match (is_folder, target.trim_end_matches('/')) {
            (false, _) => target.clone(),
            (true, "") if target.starts_with('/') => format!("/{name}"),
            (true, "" | ".") => name.to_owned(),
            (true, folder) => format!("{folder}/{name}"),
        };
        let path = Word {
            text: path,
            literal: source.literal,
            quoted: false,
        };
        let mut write = write(invocation, note, &path, how);
        if host.is_some() {
            write.resolved = crate::shell::path::resolve(&path.text, None, Some("~"), None);
            write.host.clone_from(&host);
        }
        out.push(write);
    }
}
