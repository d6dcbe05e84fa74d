//! What keeps programs running beside systemd: `pm2 list`, `crontab -l`.
//!
//! Sources: pm2 4 to 6, cron(8); `tests/fixtures/probes/pm2`, `…/crontab`.

use super::words::{Args, int, words_after};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, texts};
use crate::fact::{Setting, Unit};
use crate::shell::Invocation;

/// `pm2 list`, `pm2 status`.
pub(super) struct Pm2;

impl Probe for Pm2 {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "pm2"
            && Args::of(invocation, "")
                .first()
                .is_some_and(|verb| matches!(verb, "list" | "ls" | "status" | "l"))
    }

    fn grammar<'a>(&self, _ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|line, _| {
            let drawn = line.starts_with(['│', '┌', '├', '└', '|', '+']);
            if drawn && line.chars().count() >= 20 {
                Fit::Surely
            } else {
                Fit::Hardly
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        if !ctx.filter.keeps_lines() {
            texts::as_plain(lines, ctx, sink);
            return;
        }
        let mut names: Vec<String> = Vec::new();
        for line in lines {
            let cells: Vec<&str> = line.text.split(['│', '|']).map(str::trim).collect();
            if cells.contains(&"name") && cells.contains(&"status") {
                names = cells.iter().map(|cell| (*cell).to_owned()).collect();
                continue;
            }
            let of = |name: &str| {
                let at = names.iter().position(|own| own == name)?;
                cells.get(at).copied().filter(|cell| !cell.is_empty())
            };
            let (Some(name), Some(status)) = (of("name").or(of("App name")), of("status")) else {
                continue;
            };
            sink.line(
                line,
                Unit {
                    name: name.to_owned(),
                    active: status.to_owned(),
                    main_pid: of("pid").and_then(int).filter(|pid| *pid > 0),
                    restarts: of("↺").or(of("restart")).and_then(int),
                    ..Unit::default()
                },
            );
        }
    }
}

/// `crontab -l`.
pub(super) struct Crontab;

/// A schedule and its command: `*/5 * * * * /opt/job`, `@reboot /opt/job`.
fn schedule(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    if text.starts_with('@') {
        return text.split_once(char::is_whitespace);
    }
    let command = words_after(text, 5)?;
    let when = text.get(..text.len() - command.len())?.trim_end();
    let good = when
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "*/,-? \t#L".contains(c));
    (good && when.starts_with(|c: char| c.is_ascii_digit() || c == '*')).then_some((when, command))
}

impl Probe for Crontab {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "crontab" && Args::of(invocation, "u").has(&["l"])
    }

    fn grammar<'a>(&self, _ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|line, _| {
            if schedule(line).is_some() {
                Fit::Likely
            } else if line.starts_with('#') && !line.starts_with("#!") || line.contains('=') {
                Fit::Perhaps
            } else {
                Fit::Hardly
            }
        })
    }

    fn read(&self, lines: &[Shown], _ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        for line in lines {
            if let Some((when, command)) = schedule(&line.text) {
                sink.line(
                    line,
                    Setting {
                        tool: "crontab".to_owned(),
                        name: when.to_owned(),
                        value: command.trim().to_owned(),
                    },
                );
            }
        }
    }

    fn complains(&self, line: &str, _ctx: &Ctx<'_>) -> Fit {
        line.starts_with("no crontab for").into()
    }

    fn is_chatter(&self, line: &str) -> bool {
        // A table of jobs is no report of one: its comments and commands accuse nobody.
        !line.starts_with("no crontab") && !line.starts_with("crontab:")
    }
}
