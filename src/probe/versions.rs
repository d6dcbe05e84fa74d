//! Versions: `X --version`, `java -version`, `nvcc --version`, `uname -r`, `pip list`, `pip show`.
//!
//! `tests/fixtures/probes/versions`.

use std::sync::LazyLock;

use regex::Regex;

use super::pattern::pattern;
use super::words::Args;
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::event::Stream;
use crate::fact::Version;
use crate::shell::Invocation;

/// Whatever is asked for its version.
pub(super) struct Versions;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    OneLine,
    PipList,
    PipShow,
    Kernel,
    Python,
}

fn form(invocation: &Invocation) -> Option<Form> {
    let words: Vec<&str> = invocation
        .args()
        .iter()
        .map(|word| word.text.as_str())
        .collect();
    let program = invocation.program();
    let pip = program.starts_with("pip")
        || words.windows(2).any(|pair| pair == ["-m", "pip"])
        || program == "uv";
    if pip && words.iter().any(|word| matches!(*word, "list" | "freeze")) {
        return Some(Form::PipList);
    }
    if pip && words.contains(&"show") {
        return Some(Form::PipShow);
    }
    if program == "uname" && words == ["-r"] {
        return Some(Form::Kernel);
    }
    if program.starts_with("python")
        && words.windows(2).any(
            |pair| matches!(pair, [flag, code] if *flag == "-c" && !printed_versions(code).is_empty()),
        )
    {
        return Some(Form::Python);
    }
    if matches!(program, "conda" | "mamba" | "micromamba") && words.first() == Some(&"list") {
        return Some(Form::PipList);
    }
    let asks = match words.as_slice() {
        [only] => matches!(*only, "--version" | "-V" | "version" | "-version"),
        [] => false,
        [first, ..] => *first == "--version",
    };
    (asks && !program.is_empty()).then_some(Form::OneLine)
}

/// What a piece of Python prints the versions of: `torch` of `torch.__version__`, `cuda` of
/// `torch.version.cuda`.
fn printed_versions(code: &str) -> Vec<String> {
    static NAMES: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"([A-Za-z_][\w.]*)\.__version__|\w+\.version\.(cuda|hip)|version\(['\x22]([\w.-]+)['\x22]\)",
        )
    });
    NAMES
        .captures_iter(code)
        .filter_map(|found| {
            let name = found.get(1).or(found.get(2)).or(found.get(3))?;
            Some(name.as_str().to_owned())
        })
        .collect()
}

/// The first word that looks like a version: `3.11.2`, `v18.4`, `17.0.15`, `2.5.5+cu118`.
fn version_in(text: &str) -> Option<&str> {
    text.split([' ', '"', ',', '(', ')'])
        .map(|word| word.trim_start_matches(['v', 'V']))
        .find(|word| {
            word.starts_with(|c: char| c.is_ascii_digit())
                && word.contains('.')
                && word.parse::<std::net::IpAddr>().is_err()
                && !word.contains(['/', ':'])
        })
}

/// A field of `pip show`.
fn is_metadata(line: &str) -> bool {
    const FIELDS: &[&str] = &[
        "Name",
        "Version",
        "Summary",
        "Home-page",
        "Author",
        "Author-email",
        "License",
        "License-Expression",
        "Location",
        "Requires",
        "Required-by",
        "Editable project location",
        "Metadata-Version",
        "Installer",
        "Classifiers",
        "Entry-points",
        "Project-URLs",
        "Files",
    ];
    line.split_once(':')
        .is_some_and(|(name, _)| FIELDS.contains(&name))
        || line == "---"
}

/// Whether a line says whose version it is, or that it is one.
fn names(line: &str, program: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    line.contains(&bare.to_ascii_lowercase()) && !bare.is_empty()
        || ["version", "release"]
            .iter()
            .any(|word| line.contains(word))
        || line.split_whitespace().count() == 1
}

/// What programs print beside their version.
fn is_boilerplate(line: &str, program: &str) -> bool {
    [
        "Copyright ",
        "License ",
        "Built on ",
        "Build cuda_",
        "Cuda compilation tools",
        "This is free software",
        "There is NO WARRANTY",
        "Written by ",
        "OpenJDK ",
        "Java(TM)",
        "Java HotSpot",
        "Runtime Environment",
    ]
    .iter()
    .any(|start| line.starts_with(start))
        || (program.len() > 1
            && line
                .get(..program.len())
                .is_some_and(|front| front.eq_ignore_ascii_case(program))
            && version_in(line).is_some())
        || line.starts_with(program)
            && line
                .get(program.len()..)
                .is_some_and(|rest| rest.starts_with(": "))
}

impl Probe for Versions {
    fn recognises(&self, invocation: &Invocation) -> bool {
        form(invocation).is_some()
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let form = form(ctx.invocation);
        let program = ctx.invocation.program();
        Grammar::any(move |line: &str, nth: usize| match form {
            Some(Form::OneLine) if is_boilerplate(line, program) => Fit::Likely,
            Some(Form::OneLine | Form::Kernel) if nth == 0 => {
                let logged = super::line::read_head(line).is_timed() || line.len() > 200;
                if logged {
                    Fit::Hardly
                } else if version_in(line).is_some()
                    && (names(line, program) || form == Some(Form::Kernel))
                {
                    Fit::Likely
                } else {
                    Fit::Perhaps
                }
            }
            Some(Form::OneLine | Form::Kernel) => {
                let short = line.len() <= 100 && !super::line::read_head(line).is_timed();
                if short && (version_in(line).is_some() || names(line, program)) {
                    Fit::Perhaps
                } else {
                    Fit::Hardly
                }
            }
            Some(Form::Python) => {
                let printed = |word: &str| {
                    matches!(word, "None" | "True" | "False")
                        || word.starts_with(|c: char| c.is_ascii_digit())
                };
                if !line.trim().is_empty() && line.split_whitespace().all(printed) {
                    Fit::Likely
                } else if super::line::read_head(line).is_timed() {
                    Fit::No
                } else {
                    Fit::Hardly
                }
            }
            Some(Form::PipShow) => {
                if is_metadata(line) {
                    Fit::Likely
                } else if line.starts_with("  ") {
                    Fit::Perhaps
                } else {
                    Fit::Hardly
                }
            }
            Some(Form::PipList) => {
                if package(line).is_some() {
                    Fit::Likely
                } else if line.starts_with(['#', '-']) || line.split_whitespace().count() <= 4 {
                    Fit::Perhaps
                } else {
                    Fit::Hardly
                }
            }
            _ => Fit::Perhaps,
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let put = |line: &Shown, of: &str, version: &str, sink: &mut Sink<'_>| {
            sink.line(
                line,
                Version {
                    of: of.to_owned(),
                    version: version.to_owned(),
                },
            );
        };
        match form(ctx.invocation) {
            Some(Form::OneLine) => {
                // nvcc prints its version in the fourth line.
                let found = lines.iter().find_map(|line| {
                    let text = line
                        .text
                        .split_once("release ")
                        .map_or(line.text.as_str(), |(_, rest)| rest);
                    version_in(text).map(|version| (line, version))
                });
                if let Some((line, version)) = found {
                    put(line, ctx.invocation.program(), version, sink);
                }
            }
            Some(Form::Kernel) => {
                if let Some(line) = lines.first() {
                    put(line, "kernel", line.text.trim(), sink);
                }
            }
            Some(Form::PipList) => {
                for line in lines {
                    let found = package(&line.text).or_else(|| built(&line.text));
                    if let Some((name, version)) = found {
                        put(line, name, version, sink);
                    }
                }
            }
            Some(Form::PipShow) => {
                let mut name = Args::of(ctx.invocation, "")
                    .texts()
                    .last()
                    .unwrap_or("")
                    .to_owned();
                for line in lines {
                    if let Some(own) = line.text.strip_prefix("Name: ") {
                        own.trim().clone_into(&mut name);
                    } else if let Some(version) = line.text.strip_prefix("Version: ") {
                        put(line, &name, version.trim(), sink);
                    }
                }
            }
            Some(Form::Python) => {
                let names: Vec<String> = ctx
                    .invocation
                    .args()
                    .iter()
                    .flat_map(|word| printed_versions(&word.text))
                    .collect();
                let found: Vec<(&Shown, &str)> = lines
                    .iter()
                    .filter(|line| line.stream != Stream::Stderr)
                    .flat_map(|line| {
                        let words = line.text.split_whitespace();
                        words.filter_map(move |word| version_in(word).map(|one| (line, one)))
                    })
                    .collect();
                if found.len() == names.len() {
                    for ((line, version), name) in found.into_iter().zip(&names) {
                        put(line, name, version, sink);
                    }
                } else {
                    super::texts::as_plain(lines, ctx, sink);
                }
            }
            None => {}
        }
    }

    fn complains(&self, line: &str, _ctx: &Ctx<'_>) -> Fit {
        // `java -version` speaks on standard error.
        if version_in(line).is_some() {
            Fit::Likely
        } else {
            Fit::Perhaps
        }
    }
}

/// `pytorch  2.5.1  py3.11_cuda12.4_0  pytorch`: conda shows the build and the channel too.
fn built(text: &str) -> Option<(&str, &str)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [name, version, build, _channel] = words.as_slice() else {
        return None;
    };
    (version.starts_with(|c: char| c.is_ascii_digit()) && build.contains('_'))
        .then_some((name, version))
}

/// `torch              2.2.0+cu118` or `torch==2.2.0`.
fn package(text: &str) -> Option<(&str, &str)> {
    if let Some(pair) = text.split_once("==") {
        return Some(pair);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let [name, version, ..] = words.as_slice() else {
        return None;
    };
    (words.len() <= 3 && version.starts_with(|c: char| c.is_ascii_digit()))
        .then_some((name, version))
}
