//! Managers of services and containers: `systemctl`, `supervisorctl`, `docker ps` (podman and nerdctl
//! speak the same).
//!
//! Sources: systemd 245 to 257, supervisor 4, docker 20 to 28; `tests/fixtures/probes/systemctl`,
//! `…/docker`.

use super::units::{is_unit_head, status_fit, unit_row_fit, without_number};
use super::words::{Args, int, leading_int};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, containers, line};
use crate::fact::{Container, Unit};
use crate::shell::{Invocation, Tri};

/// The verb of a command with sub-commands, and the words after it.
pub(super) fn verb<'a>(
    invocation: &'a Invocation,
    valued: &str,
) -> (Option<&'a str>, Vec<&'a str>) {
    let args = Args::of(invocation, valued);
    let mut words = args.texts();
    (words.next(), words.collect())
}

/// A unit's name as it is known: `nginx` is `nginx.service`.
fn unit_name(name: &str) -> String {
    let typed = [
        ".service", ".socket", ".timer", ".mount", ".target", ".scope", ".slice", ".path", ".swap",
        ".device",
    ];
    if typed.iter().any(|end| name.ends_with(end)) {
        name.to_owned()
    } else {
        format!("{name}.service")
    }
}

/// `systemctl`.
pub(super) struct Systemctl;

const SYSTEMCTL_VALUED: &str =
    "p property t type H host M machine n lines o output state signal s kill-who root job-mode";

impl Probe for Systemctl {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "systemctl"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let (verb, units) = verb(ctx.invocation, SYSTEMCTL_VALUED);
        match verb {
            Some("is-active" | "is-failed" | "is-enabled") => {
                Grammar::exactly(units.len().max(1), |line, _| {
                    let word = [
                        "active",
                        "inactive",
                        "failed",
                        "activating",
                        "deactivating",
                        "unknown",
                        "reloading",
                        "enabled",
                        "disabled",
                        "static",
                        "masked",
                        "not-found",
                        "linked",
                        "enabled-runtime",
                        "generated",
                        "indirect",
                        "alias",
                    ]
                    .contains(&line);
                    word.into()
                })
            }
            Some(
                "start" | "stop" | "restart" | "reload" | "kill" | "enable" | "disable"
                | "daemon-reload" | "reset-failed" | "mask" | "unmask",
            ) => {
                let mut grammar = Grammar::any(|_, _| Fit::No);
                grammar.max = Some(0);
                grammar
            }
            Some("show") => {
                let args = Args::of(ctx.invocation, SYSTEMCTL_VALUED);
                let asked: Vec<&str> = args
                    .values(&["p", "property"])
                    .flat_map(|names| names.split(','))
                    .collect();
                let values = args.has(&["value"]);
                Grammar::any(move |line, _| {
                    let property = line.split_once('=').is_some_and(|(name, _)| {
                        name.starts_with(|c: char| c.is_ascii_uppercase())
                            && !name.contains(' ')
                            && (asked.is_empty() || asked.contains(&name))
                    });
                    match (property, values) {
                        (true, _) => Fit::Surely,
                        (false, true) => Fit::Perhaps,
                        (false, false) => Fit::Hardly,
                    }
                })
            }
            None => Grammar::any(|line, _| unit_row_fit(line)),
            Some("status") => {
                let args = Args::of(ctx.invocation, SYSTEMCTL_VALUED);
                let own_form = args.has(&["o", "output"]);
                let grammar = Grammar::any(move |line, _| match status_fit(line) {
                    Fit::No if own_form => Fit::Perhaps,
                    fit => fit,
                });
                if units.len() == 1 {
                    grammar.opened_by(ctx.filter, is_unit_head)
                } else {
                    grammar
                }
            }
            Some("cat") => Grammar::any(|line, _| {
                let line = if ctx.filter.numbered {
                    without_number(line)
                } else {
                    line
                };
                let setting = line.split_once('=').is_some_and(|(key, _)| {
                    key.starts_with(|c: char| c.is_ascii_uppercase())
                        && key.chars().all(|c| c.is_ascii_alphanumeric())
                });
                if setting
                    || line.starts_with("# /")
                    || line.starts_with('[') && line.ends_with(']')
                {
                    Fit::Likely
                } else if line.is_empty()
                    || line.starts_with([' ', '\t', ';'])
                    || line.starts_with('#') && !line.starts_with("#!")
                {
                    Fit::Perhaps
                } else {
                    Fit::Hardly
                }
            }),
            _ => Grammar::any(|line, _| unit_row_fit(line)),
        }
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let (verb, units) = verb(ctx.invocation, SYSTEMCTL_VALUED);
        for line in lines {
            if let Some(rest) = line.text.strip_prefix("Unit ")
                && let Some((name, _)) = rest.split_once(" could not be found")
            {
                sink.line(
                    line,
                    Unit {
                        name: name.to_owned(),
                        active: "not-found".to_owned(),
                        ..Unit::default()
                    },
                );
            }
        }
        match verb {
            Some("is-active" | "is-failed") if units.len() == lines.len() => {
                for (line, name) in lines.iter().zip(units) {
                    sink.line(
                        line,
                        Unit {
                            name: unit_name(name),
                            active: line.text.trim().to_owned(),
                            ..Unit::default()
                        },
                    );
                }
            }
            Some("is-active") if lines.is_empty() && units.len() == 1 => {
                let state = match ctx.failed {
                    Tri::No => "active",
                    Tri::Yes => "inactive",
                    Tri::Unknown => return,
                };
                if let Some(name) = units.first() {
                    sink.lines(
                        &[],
                        Unit {
                            name: unit_name(name),
                            active: state.to_owned(),
                            ..Unit::default()
                        },
                    );
                }
            }
            Some("show") => show(lines, &units, sink),
            Some("status") => status(lines, &units, sink),
            Some("list-units") | None => list(lines, sink),
            _ => {}
        }
    }

    fn complains(&self, line: &str, ctx: &Ctx<'_>) -> Fit {
        // It reads files alone.
        let bus = line.contains("to bus") || line.starts_with("System has not been booted");
        if bus && verb(ctx.invocation, SYSTEMCTL_VALUED).0 == Some("cat") {
            return Fit::No;
        }
        let known = [
            "Failed to ",
            "Job for ",
            "See \"systemctl",
            "Unit ",
            "Warning: ",
            "Created symlink",
            "Removed ",
            "Synchronizing state",
            "Executing: ",
            "Running in chroot",
            "System has not been booted",
            "==== AUTHENTICATING",
        ];
        known.iter().any(|start| line.starts_with(start)).into()
    }

    fn is_chatter(&self, line: &str) -> bool {
        let legend = ["LOAD ", "ACTIVE ", "SUB ", "JOB "];
        legend.iter().any(|word| line.trim_start_matches("Legend:").trim_start().starts_with(word))
            && line.contains(['=', '→'])
            || line.contains(" loaded units listed") // how many, and how to see all
            || line.starts_with("To show all installed unit files")
    }

    fn reads_silence(&self) -> bool {
        true
    }
}

fn show(lines: &[Shown], units: &[&str], sink: &mut Sink<'_>) {
    let mut unit = Unit::default();
    let mut told = false;
    for line in lines {
        let Some((name, value)) = line.text.split_once('=') else {
            continue;
        };
        match name {
            "Id" => value.clone_into(&mut unit.name),
            "ActiveState" => value.clone_into(&mut unit.active),
            "SubState" => unit.sub = Some(value.to_owned()),
            "Result" => unit.result = Some(value.to_owned()).filter(|result| result != "success"),
            "MainPID" => unit.main_pid = int(value).filter(|pid| *pid > 0),
            "ExecMainStatus" => unit.status = int(value),
            "NRestarts" => unit.restarts = int(value),
            _ => continue,
        }
        told = true;
    }
    if unit.name.is_empty()
        && let Some(name) = units.first()
    {
        unit.name = unit_name(name);
    }
    if told && !unit.name.is_empty() {
        sink.lines(lines, unit);
    }
}

/// `Active: failed (Result: exit-code) since …`, `Active: active (running) since …`
fn status(lines: &[Shown], units: &[&str], sink: &mut Sink<'_>) {
    let mut from = 0;
    let mut unit: Option<Unit> = None;
    for (at, line) in lines.iter().enumerate() {
        let text = line.text.trim();
        let head = ["● ", "○ ", "× ", "* ", "↻ "]
            .iter()
            .find_map(|bullet| line.text.strip_prefix(bullet));
        if let Some(rest) = head {
            if let Some(unit) = unit.take() {
                sink.lines(lines.get(from..at).unwrap_or(&[]), unit);
            }
            from = at;
            unit = rest.split_whitespace().next().map(|name| Unit {
                name: name.to_owned(),
                ..Unit::default()
            });
            continue;
        }
        if unit.is_none()
            && (text.starts_with("Active: ") || text.starts_with("Main PID: "))
            && let [name] = units
        {
            from = at;
            unit = Some(Unit {
                name: unit_name(name),
                ..Unit::default()
            });
        }
        let Some(unit) = &mut unit else { continue };
        if let Some(rest) = text.strip_prefix("Active: ") {
            unit.active = rest.split_whitespace().next().unwrap_or("").to_owned();
            let inside = rest
                .split_once('(')
                .and_then(|(_, rest)| rest.split_once(')'))
                .map_or("", |(inside, _)| inside);
            if let Some(result) = inside.split("Result: ").nth(1) {
                unit.result = Some(result.to_owned());
                unit.sub = inside
                    .split(" (")
                    .next()
                    .filter(|sub| !sub.starts_with("Result"))
                    .map(|sub| sub.trim().to_owned());
            } else if !inside.is_empty() {
                unit.sub = Some(inside.to_owned());
            }
        } else if let Some(rest) = text.strip_prefix("Main PID: ") {
            let ended = rest.contains("code=");
            unit.main_pid = leading_int(rest).map(|(pid, _)| pid).filter(|_| !ended);
            unit.status = rest
                .split("status=")
                .nth(1)
                .and_then(leading_int)
                .map(|(status, _)| status);
        } else if text.starts_with("Process: ") && unit.status.is_none() {
            unit.status = text
                .split("status=")
                .nth(1)
                .and_then(leading_int)
                .map(|(status, _)| status);
        } else if text.starts_with("Condition: start condition ") {
            unit.result = Some("condition".to_owned());
        } else if text.ends_with(" was not met") && unit.result.as_deref() == Some("condition") {
            let which = text.trim_start_matches(['└', '├', '─', '*', ' ', '-']);
            let which = which.trim_end_matches(" was not met");
            unit.result = Some(format!("condition: {which}"));
        } else if let Some(rest) = text.strip_prefix("TriggeredBy: ") {
            unit.triggered_by = rest
                .split_whitespace()
                .find(|word| word.contains('.'))
                .map(str::to_owned);
        } else if let Some((_, rest)) = text.split_once("restart counter is at ") {
            unit.restarts = leading_int(rest).map(|(restarts, _)| restarts);
        }
    }
    if let Some(unit) = unit.filter(|unit| !unit.active.is_empty()) {
        sink.lines(lines.get(from..).unwrap_or(&[]), unit);
    }
}

/// `nginx.service loaded active running A web server`
fn list(lines: &[Shown], sink: &mut Sink<'_>) {
    for line in lines {
        let text = line.text.trim_start_matches(['●', '○', '×', '*', ' ']);
        let words: Vec<&str> = text.split_whitespace().collect();
        let [name, load, active, sub, ..] = words.as_slice() else {
            continue;
        };
        if name.contains('.')
            && matches!(
                *load,
                "loaded" | "not-found" | "masked" | "bad-setting" | "error"
            )
        {
            sink.line(
                line,
                Unit {
                    name: (*name).to_owned(),
                    active: (*active).to_owned(),
                    sub: Some((*sub).to_owned()),
                    ..Unit::default()
                },
            );
        }
    }
}

/// `supervisorctl status`.
pub(super) struct Supervisorctl;

const SUPERVISED: &[&str] = &[
    "STOPPED", "STARTING", "RUNNING", "BACKOFF", "STOPPING", "EXITED", "FATAL", "UNKNOWN",
];

impl Probe for Supervisorctl {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "supervisorctl"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let tails = verb(ctx.invocation, "c s u p").0 == Some("tail");
        Grammar::any(move |line, _| {
            if line
                .split_whitespace()
                .nth(1)
                .is_some_and(|state| SUPERVISED.contains(&state))
                || line.contains(": ERROR (")
                || line.ends_with(": started")
                || line.ends_with(": stopped")
            {
                Fit::Surely
            } else if tails {
                Fit::Perhaps
            } else {
                Fit::Hardly
            }
        })
    }

    fn read(&self, lines: &[Shown], _ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        for line in lines {
            let words: Vec<&str> = line.text.split_whitespace().collect();
            let [name, state, rest @ ..] = words.as_slice() else {
                continue;
            };
            if SUPERVISED.contains(state) {
                let pid = rest.windows(2).find_map(|pair| match pair {
                    ["pid", pid] => int(pid.trim_end_matches(',')),
                    _ => None,
                });
                let result = (pid.is_none() && !rest.is_empty()).then(|| rest.join(" "));
                sink.line(
                    line,
                    Unit {
                        name: (*name).to_owned(),
                        active: (*state).to_owned(),
                        main_pid: pid,
                        result,
                        ..Unit::default()
                    },
                );
            } else if let Some((name, why)) = line.text.split_once(": ERROR (") {
                let why = why.trim_end_matches(')').to_owned();
                // The words of supervisor 4's `start` and `stop`; the others say that it did not start.
                let active = match &*why {
                    "no such process" | "no such group" => "not-found",
                    "already started" => "RUNNING",
                    "not running" => "STOPPED",
                    _ => "FATAL",
                };
                sink.line(
                    line,
                    Unit {
                        name: name.to_owned(),
                        active: active.to_owned(),
                        result: Some(why),
                        ..Unit::default()
                    },
                );
            }
        }
    }
}

pub(super) fn is_engine(invocation: &Invocation) -> bool {
    matches!(invocation.program(), "docker" | "podman" | "nerdctl")
}

pub(super) const DOCKER_VALUED: &str =
    "H host context c config l log-level f filter format n last type";

/// `docker ps`, as a table or with `--format`.
pub(super) struct DockerPs;

/// `running`, `exited` … and the exit code, from docker's words: `Up 3 weeks`, `Exited (137) 2 minutes
/// ago`.
pub(super) fn docker_status(text: &str) -> Option<(&'static str, Option<i64>)> {
    let first = text.split_whitespace().next()?;
    let code = text
        .split_once('(')
        .and_then(|(_, rest)| leading_int(rest))
        .map(|(code, _)| code);
    Some(match first {
        "Up" if text.contains("(Paused)") => ("paused", None),
        "Up" => ("running", None),
        "Exited" => ("exited", code),
        "Restarting" => ("restarting", code),
        "Created" => ("created", None),
        "Dead" => ("dead", None),
        "Removal" | "Removing" => ("removing", None),
        _ => return None,
    })
}

/// How long that state has held: `Exited (1) 5 minutes ago`, `Up About an hour`, `Up 3 weeks`.
pub(super) fn state_age_s(text: &str) -> Option<f64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (at, unit) = words.iter().enumerate().find_map(|(at, word)| {
        let unit = match word.trim_end_matches('s') {
            "second" => 1.0,
            "minute" => 60.0,
            "hour" => 3600.0,
            "day" => 86_400.0,
            "week" => 604_800.0,
            "month" => 2_592_000.0,
            "year" => 31_536_000.0,
            _ => return None,
        };
        Some((at, unit))
    })?;
    let many = match *words.get(at.checked_sub(1)?)? {
        "a" | "an" => 1.0,
        "second" => 0.5,
        number => number.parse().ok()?,
    };
    Some(many * unit)
}

impl DockerPs {
    fn format(invocation: &Invocation) -> Option<&str> {
        Args::of(invocation, DOCKER_VALUED).value(&["format"])
    }
}

impl Probe for DockerPs {
    fn recognises(&self, invocation: &Invocation) -> bool {
        if !is_engine(invocation) {
            return false;
        }
        let (verb, rest) = verb(invocation, DOCKER_VALUED);
        matches!(verb, Some("ps"))
            || verb == Some("container") && matches!(rest.first(), Some(&("ls" | "ps" | "list")))
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let custom = Self::format(ctx.invocation).is_some()
            || Args::of(ctx.invocation, DOCKER_VALUED).has(&["q", "quiet"]);
        Grammar::any(move |line: &str, _: usize| {
            let states = ["Up ", "Exited (", "Restarting (", "Created"];
            if line.starts_with("CONTAINER ID") || states.iter().any(|state| line.contains(state)) {
                Fit::Surely
            } else if custom {
                if line::read_head(line).is_timed() {
                    Fit::Hardly
                } else {
                    Fit::Perhaps
                }
            } else {
                Fit::No
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        if !ctx.filter.keeps_lines() {
            return;
        }
        match Self::format(ctx.invocation) {
            Some(format) if !format.starts_with("json") && !format.contains("{{json") => {
                by_format(lines, format.trim_start_matches("table "), sink);
            }
            Some(_) => {}
            None => docker_table(lines, sink),
        }
    }
}

/// The default table; its columns are parted by two blanks or more.
fn docker_table(lines: &[Shown], sink: &mut Sink<'_>) {
    for line in lines {
        if line.text.starts_with("CONTAINER ID") {
            continue;
        }
        let parts: Vec<&str> = line
            .text
            .split("  ")
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect();
        let Some(at) = parts
            .iter()
            .position(|part| docker_status(part).is_some() && !part.starts_with("Created "))
        else {
            continue;
        };
        let Some((status, exit_code)) = parts.get(at).and_then(|part| docker_status(part)) else {
            continue;
        };
        let after = parts.get(at + 1..).unwrap_or(&[]);
        let Some(name) = after.last() else { continue };
        sink.line(
            line,
            Container {
                name: (*name).to_owned(),
                status: status.to_owned(),
                exit_code,
                oom_killed: None,
                image: parts.get(1).map(|image| (*image).to_owned()),
                command: parts
                    .iter()
                    .find(|part| part.starts_with('"'))
                    .map(|command| command.trim_matches('"').to_owned()),
                ports: (after.len() > 1).then(|| {
                    after
                        .first()
                        .map_or(String::new(), |ports| (*ports).to_owned())
                }),
                state_age_s: parts.get(at).and_then(|part| state_age_s(part)),
                health: parts.get(at).and_then(|status| containers::health(status)),
                ..Container::default()
            },
        );
    }
}

/// A Go template: `{{.Names}} {{.Status}} {{.Ports}}`.
fn by_format(lines: &[Shown], format: &str, sink: &mut Sink<'_>) {
    let mut expression = String::from("^");
    let mut names = Vec::new();
    let mut rest = format;
    while let Some((before, after)) = rest.split_once("{{") {
        expression.push_str(&regex::escape(&before.replace("\\t", "\t")).replace('\t', r"\s+"));
        let Some((field, after)) = after.split_once("}}") else {
            return;
        };
        names.push(field.trim().trim_start_matches('.').to_owned());
        expression.push_str(match names.last().map(String::as_str) {
            Some("Status") => {
                r"(Up .*?(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)(?: \([^)]*\))?|Exited \(\d+\)(?: .*? ago)?|Restarting \(\d+\)(?: .*? ago)?|Created|Dead|Removal In Progress)"
            }
            Some("Names" | "Name" | "ID" | "Image" | "State") => r"(\S+)",
            _ => "(.*?)",
        });
        rest = after;
    }
    expression.push_str(&regex::escape(rest));
    expression.push_str(r"\s*$");
    let Ok(regex) = regex::Regex::new(&expression) else {
        return;
    };
    for line in lines {
        let Some(found) = regex.captures(&line.text) else {
            continue;
        };
        let of = |names_: &[&str]| {
            names
                .iter()
                .position(|name| names_.contains(&name.as_str()))
                .and_then(|at| found.get(at + 1))
                .map(|value| value.as_str().trim())
        };
        let Some(name) = of(&["Names", "Name", "ID"]) else {
            continue;
        };
        let status = of(&["Status"]).and_then(docker_status);
        let state = of(&["State"]);
        let Some(status_word) = status.map(|(status, _)| status).or(state) else {
            continue;
        };
        sink.line(
            line,
            Container {
                name: name.trim_start_matches('/').to_owned(),
                status: status_word.to_owned(),
                exit_code: status.and_then(|(_, code)| code),
                oom_killed: None,
                image: of(&["Image"]).map(str::to_owned),
                command: of(&["Command"]).map(|command| command.trim_matches('"').to_owned()),
                ports: of(&["Ports"])
                    .filter(|ports| !ports.is_empty())
                    .map(str::to_owned),
                state_age_s: of(&["Status"]).and_then(state_age_s),
                health: of(&["Status"]).and_then(containers::health),
                ..Container::default()
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dockers_words_are_states() {
        assert_eq!(
            docker_status("Exited (137) 2 minutes ago"),
            Some(("exited", Some(137)))
        );
        assert_eq!(
            docker_status("Up 23 hours (healthy)"),
            Some(("running", None))
        );
        assert_eq!(docker_status("2 weeks ago"), None);
    }
}
