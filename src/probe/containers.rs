//! What containers use and how they are built: `docker stats`, `docker inspect` (podman and nerdctl
//! speak the same), `docker compose ps`.
//!
//! Sources: docker 20 to 28, podman 3 to 5, compose 1.29 to 2.30; `tests/fixtures/probes/docker`.

use serde_json::Value;

use super::document;
use super::table::Table;
use super::words::{int, number, size_bytes};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, texts};
use crate::fact::{Container, Usage};
use crate::shell::Invocation;

/// `docker stats`.
pub(super) struct DockerStats;

fn verbs(invocation: &Invocation) -> Vec<&str> {
    invocation
        .args()
        .iter()
        .map(|word| word.text.as_str())
        .filter(|word| !word.starts_with('-'))
        .collect()
}

impl Probe for DockerStats {
    fn recognises(&self, invocation: &Invocation) -> bool {
        let verbs = verbs(invocation);
        matches!(invocation.program(), "docker" | "podman" | "nerdctl")
            && matches!(verbs.as_slice(), ["stats", ..] | ["container", "stats", ..])
            && !invocation
                .args()
                .iter()
                .any(|word| word.text.starts_with("--format"))
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let once = ctx
            .invocation
            .args()
            .iter()
            .any(|word| word.text == "--no-stream")
            && !ctx.filter.may_lose_start();
        Grammar::any(move |line, nth| {
            if is_head(line) && once && nth > 0 {
                Fit::No // another look's
            } else if is_head(line) || line.contains(" / ") && line.contains('%') {
                Fit::Surely
            } else {
                Fit::No
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        if !ctx.filter.keeps_lines() {
            texts::as_plain(lines, ctx, sink);
            return;
        }
        let mut head = Table::wide(
            "CONTAINER ID   NAME   CPU %   MEM USAGE / LIMIT   MEM %   NET I/O   BLOCK I/O   PIDS",
        );
        for line in lines {
            if is_head(&line.text) {
                head = Table::wide(&line.text);
                continue;
            }
            let row = head.row(&line.text);
            let Some(name) = row.get(&["NAME", "NAMES", "CONTAINER ID", "ID"]) else {
                continue;
            };
            let memory = row
                .get(&["MEM USAGE / LIMIT"])
                .and_then(|text| text.split_once('/'));
            let mib = |text: &str| size_bytes(text, 1.0).map(|bytes| bytes / 1_048_576.0);
            let cpu_pct = row.get(&["CPU %"]).and_then(number);
            if cpu_pct.is_none() && memory.is_none() {
                continue;
            }
            sink.line(
                line,
                Usage {
                    kind: "container".to_owned(),
                    name: name.to_owned(),
                    cpu_pct,
                    memory_mib: memory.and_then(|(used, _)| mib(used)),
                    memory_limit_mib: memory
                        .and_then(|(_, limit)| mib(limit))
                        .filter(|limit| *limit > 0.0),
                    memory_pct: row.get(&["MEM %"]).and_then(number),
                    pids: row.get(&["PIDS"]).and_then(int),
                },
            );
        }
    }
}

fn is_head(text: &str) -> bool {
    text.contains("CPU %") && text.contains("MEM")
}

/// The containers that `docker inspect` describes; also of a document that `head` cut.
pub(super) fn inspected(text: &str) -> Vec<Container> {
    let Some(json) = document::json(text) else {
        return Vec::new();
    };
    match &json {
        Value::Array(all) => all.iter().filter_map(container).collect(),
        one => container(one).into_iter().collect(),
    }
}

/// A container by its description.
pub(super) fn container(json: &Value) -> Option<Container> {
    let state = json.get("State")?;
    let text = |value: &Value, at: &str| {
        value
            .pointer(at)
            .and_then(Value::as_str)
            .map(str::to_owned)
            .filter(|text| !text.is_empty())
    };
    let bytes = |at: &str| {
        json.pointer(at)
            .and_then(Value::as_f64)
            .filter(|bytes| *bytes > 0.0)
            .map(|bytes| bytes / 1_048_576.0)
    };
    let status = text(state, "/Status").or_else(|| text(state, "/status"))?;
    Some(Container {
        name: text(json, "/Name")
            .or(text(json, "/Id"))?
            .trim_start_matches('/')
            .to_owned(),
        exit_code: state.get("ExitCode").and_then(Value::as_i64),
        oom_killed: state.get("OOMKilled").and_then(Value::as_bool),
        health: text(state, "/Health/Status")
            .or(text(state, "/Healthcheck/Status"))
            .filter(|health| health != "none"),
        restarts: json.get("RestartCount").and_then(Value::as_i64),
        error: text(state, "/Error"),
        image: text(json, "/Config/Image").or(text(json, "/ImageName")),
        command: text(json, "/Path").map(|path| {
            let args = json.get("Args").and_then(Value::as_array);
            let args = args.into_iter().flatten().filter_map(Value::as_str);
            std::iter::once(path.as_str())
                .chain(args)
                .collect::<Vec<_>>()
                .join(" ")
        }),
        ports: None,
        state_age_s: None,
        shm_mib: bytes("/HostConfig/ShmSize"),
        memory_limit_mib: bytes("/HostConfig/Memory"),
        status,
    })
}

/// A container by the lines that a search left of its description (`docker inspect X | grep -i oom`).
pub(super) fn picked<'l>(name: &str, lines: impl Iterator<Item = &'l str>) -> Option<Container> {
    let mut state = serde_json::Map::new();
    let mut host = serde_json::Map::new();
    let mut restarts = Value::Null;
    for line in lines {
        let line = line.trim().trim_end_matches(',');
        let Ok(Value::Object(one)) = serde_json::from_str(&format!("{{{line}}}")) else {
            continue;
        };
        for (key, value) in one {
            match key.as_str() {
                "OOMKilled" | "ExitCode" | "Error" | "Status" => {
                    // A health check has a status too, further down.
                    state.entry(key).or_insert(value);
                }
                "ShmSize" | "Memory" => {
                    host.insert(key, value);
                }
                "RestartCount" => restarts = value,
                _ => {}
            }
        }
    }
    if state.is_empty() && host.is_empty() && restarts.is_null() {
        return None;
    }
    let told = state.contains_key("Status");
    state.entry("Status").or_insert_with(|| Value::from("-"));
    let json = serde_json::json!({
        "Name": name, "State": state, "HostConfig": host, "RestartCount": restarts
    });
    let mut container = container(&json)?;
    if !told {
        container.status.clear();
    }
    Some(container)
}

/// `docker compose ps`: NAME, COMMAND, STATE or STATUS, PORTS.
pub(super) struct ComposePs;

impl Probe for ComposePs {
    fn recognises(&self, invocation: &Invocation) -> bool {
        let verbs = verbs(invocation);
        let at = match invocation.program() {
            "docker" | "podman" | "nerdctl" => {
                if verbs.first() != Some(&"compose") {
                    return false;
                }
                1
            }
            "docker-compose" | "podman-compose" => 0,
            _ => return false,
        };
        // Files and projects may stand before the verb.
        verbs.iter().skip(at).take(4).any(|verb| *verb == "ps")
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|line, nth| {
            let states = [
                "Up ",
                "Exit ",
                "Exited (",
                "running",
                "exited (",
                "restarting",
                "Restarting",
            ];
            let head = ["NAME ", "Name "]
                .iter()
                .any(|name| line.trim_start().starts_with(name));
            if head && nth > 0 && !ctx.filter.may_lose_start() {
                return Fit::No; // another look's
            }
            if head
                || line.starts_with("---")
                || line.contains("  ") && states.iter().any(|state| line.contains(state))
            {
                Fit::Surely
            } else if nth > 0 {
                Fit::Hardly
            } else {
                Fit::No
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let as_json = ctx
            .invocation
            .args()
            .iter()
            .any(|word| word.text.contains("json"));
        if as_json || !ctx.filter.keeps_lines() {
            texts::as_plain(lines, ctx, sink);
            return;
        }
        let mut head = Table::default();
        for line in lines {
            let text = line.text.trim_start();
            if text.starts_with("NAME ") || text.starts_with("Name ") {
                head = Table::wide(&line.text);
                continue;
            }
            if head.is_empty() {
                continue;
            }
            let row = head.row(&line.text);
            let (Some(name), Some(state)) = (
                row.get(&["NAME", "Name"]),
                row.get(&["STATUS", "State", "STATE"]),
            ) else {
                continue;
            };
            let Some((status, exit_code)) = compose_state(state) else {
                continue;
            };
            sink.line(
                line,
                Container {
                    name: name.to_owned(),
                    status: status.to_owned(),
                    exit_code,
                    health: health(state),
                    image: row.text(&["IMAGE"]),
                    command: row
                        .text(&["COMMAND"])
                        .map(|command| command.trim_matches('"').to_owned()),
                    ports: row.text(&["PORTS", "Ports"]),
                    ..Container::default()
                },
            );
        }
    }
}

/// `Up 3 hours (healthy)`, `running`, `exited (137)`, `Exit 1`.
fn compose_state(text: &str) -> Option<(&'static str, Option<i64>)> {
    let code = text
        .split(|c: char| !c.is_ascii_digit())
        .find(|word| !word.is_empty())
        .and_then(int);
    let lower = text.to_ascii_lowercase();
    Some(if lower.starts_with("up") || lower.starts_with("running") {
        ("running", None)
    } else if lower.starts_with("exit") {
        ("exited", code)
    } else if lower.starts_with("restarting") {
        ("restarting", code)
    } else if lower.starts_with("created") {
        ("created", None)
    } else if lower.starts_with("paused") {
        ("paused", None)
    } else if lower.starts_with("dead") {
        ("dead", None)
    } else {
        return None;
    })
}

/// The health in docker's words: `Up 3 hours (healthy)`, `Up 2 s (health: starting)`.
pub(super) fn health(status: &str) -> Option<String> {
    let (_, inside) = status.split_once('(')?;
    let inside = inside.trim_end_matches(')').trim_start_matches("health: ");
    matches!(inside, "healthy" | "unhealthy" | "starting").then(|| inside.to_owned())
}
