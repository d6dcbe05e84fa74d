//! Working trees: `git status`, `git log`, `git rev-parse`, `git branch`.
//!
//! Source: git 2.25 to 2.49; `tests/fixtures/probes/git`.

use super::words::{Args, count, leading_int};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, texts};
use crate::fact::Repository;
use crate::shell::Invocation;

/// `git`.
pub(super) struct Git;

const VALUED: &str = "C c git-dir work-tree n max-count format pretty since until author grep";

fn verb(invocation: &Invocation) -> &str {
    Args::of(invocation, VALUED).first().unwrap_or("")
}

/// A commit's id, short or whole.
fn is_commit(word: &str) -> bool {
    (7..=64).contains(&word.len()) && word.chars().all(|c| c.is_ascii_hexdigit())
}

impl Probe for Git {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "git"
            && matches!(
                verb(invocation),
                "status" | "log" | "rev-parse" | "branch" | "describe"
            )
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let verb = verb(ctx.invocation);
        let args = Args::of(ctx.invocation, VALUED);
        if args.has(&["show-current", "abbrev-ref"]) {
            return Grammar::exactly(1, |line, _| {
                if line.contains(' ') || line.is_empty() {
                    Fit::No
                } else {
                    Fit::Likely
                }
            });
        }
        let custom = args.has(&[
            "format",
            "pretty",
            "graph",
            "stat",
            "p",
            "patch",
            "name-only",
        ]);
        let short = args.has(&["s", "sb", "short", "porcelain"]);
        Grammar::any(move |line, _| {
            let may = match verb {
                "status" => line.starts_with(['\t', ' ']) || line.ends_with(':') || line.is_empty(),
                "log" => line.starts_with("    ") || custom || line.is_empty(),
                "rev-parse" | "describe" => line.split_whitespace().count() == 1,
                _ => line.starts_with("  "),
            };
            let good = match verb {
                "status" => {
                    short && line.chars().nth(2) == Some(' ')
                        || line.starts_with("On branch ")
                        || line.starts_with("Your branch ")
                        || line.starts_with("HEAD detached ")
                        || line.starts_with("## ")
                        || line.starts_with("nothing to commit")
                        || line.starts_with("nothing added to commit")
                        || line.starts_with("no changes added to commit")
                        || line.starts_with("Changes ")
                        || line.starts_with("Untracked files:")
                        || line.starts_with("  (use \"git ")
                }
                "log" => {
                    line.starts_with("commit ")
                        || line.split(' ').next().is_some_and(is_commit)
                        || line.starts_with("Author: ")
                        || line.starts_with("Date:   ")
                        || line.starts_with("Merge: ")
                }
                "rev-parse" => is_commit(line),
                _ => line.starts_with("* "),
            };
            match (good, may) {
                (true, _) => Fit::Likely,
                (false, true) => Fit::Perhaps,
                (false, false) => Fit::Hardly,
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let refused = lines.iter().any(|line| line.text.starts_with("fatal: "));
        if refused || !ctx.filter.keeps_lines() && ctx.filter.head.is_none() {
            texts::as_plain(lines, ctx, sink);
            return;
        }
        let found = match verb(ctx.invocation) {
            "status" => Some(status(lines)),
            "log" => log(lines),
            "branch" => lines
                .iter()
                .find_map(|line| line.text.strip_prefix("* "))
                .map(|branch| Repository {
                    branch: Some(
                        branch
                            .split(" (")
                            .next()
                            .unwrap_or(branch)
                            .trim()
                            .to_owned(),
                    )
                    .filter(|branch| !branch.is_empty()),
                    ..Repository::default()
                })
                .or_else(|| {
                    let args = Args::of(ctx.invocation, VALUED);
                    args.has(&["show-current"]).then(|| Repository {
                        branch: lines.first().map(|line| line.text.trim().to_owned()),
                        ..Repository::default()
                    })
                }),
            _ => lines
                .iter()
                .map(|line| line.text.trim())
                .find(|word| is_commit(word))
                .map(|commit| Repository {
                    commit: Some(commit.to_owned()),
                    ..Repository::default()
                }),
        };
        match found {
            Some(found) if found != Repository::default() => sink.lines(lines, found),
            _ => texts::as_plain(lines, ctx, sink),
        }
    }
}

fn status(lines: &[Shown]) -> Repository {
    let mut found = Repository::default();
    let mut changed = 0;
    let short = lines.iter().all(|line| {
        line.text.starts_with("## ")
            || line.text.chars().nth(2) == Some(' ')
            || line.text.trim().is_empty()
    });
    for line in lines {
        let text = line.text.trim_end();
        if let Some(branch) = text.strip_prefix("On branch ") {
            found.branch = Some(branch.to_owned());
        } else if let Some(at) = text.strip_prefix("HEAD detached ") {
            found.commit = at.split_whitespace().last().map(str::to_owned);
        } else if let Some(rest) = text.strip_prefix("## ") {
            found.branch = rest
                .split("...")
                .next()
                .map(|branch| branch.trim().to_owned());
            let after = |word: &str| {
                rest.split_once(word)
                    .and_then(|(_, rest)| leading_int(rest))
                    .map(|(number, _)| number)
            };
            found.ahead = after("ahead ");
            found.behind = after("behind ");
        } else if let Some(rest) = text.strip_prefix("Your branch is ahead of ") {
            found.ahead = commits(rest);
        } else if let Some(rest) = text.strip_prefix("Your branch is behind ") {
            found.behind = commits(rest);
        } else if text.starts_with("nothing to commit") {
            found.changed = Some(0);
        } else if short && !text.is_empty()
            || text.starts_with('\t')
            || text.starts_with("        ") && !text.trim_start().starts_with('(')
        {
            changed += 1;
        }
    }
    if changed > 0 {
        found.changed = Some(count(changed));
    }
    found
}

/// `'origin/main' by 3 commits`
fn commits(text: &str) -> Option<i64> {
    let (_, rest) = text.split_once(" by ")?;
    leading_int(rest).map(|(number, _)| number)
}

/// The newest commit of a log.
fn log(lines: &[Shown]) -> Option<Repository> {
    let first = lines.iter().find(|line| !line.text.trim().is_empty())?;
    let text = first.text.trim_start_matches(['*', '|', ' ']);
    if let Some(rest) = text.strip_prefix("commit ") {
        let subject = lines
            .iter()
            .find(|line| line.text.starts_with("    ") && !line.text.trim().is_empty())
            .map(|line| line.text.trim().to_owned());
        return Some(Repository {
            commit: rest.split_whitespace().next().map(str::to_owned),
            subject,
            ..Repository::default()
        });
    }
    let (commit, subject) = text.split_once(' ')?;
    is_commit(commit).then(|| Repository {
        commit: Some(commit.to_owned()),
        subject: Some(subject.trim().to_owned()),
        ..Repository::default()
    })
}
