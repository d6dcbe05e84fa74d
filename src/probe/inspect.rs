//! `docker inspect`: a container as its engine describes it (podman and nerdctl speak the same).
//!
//! Source: docker 20 to 28; `tests/fixtures/probes/docker`.

use super::document::is_json_line;
use super::managers::{DOCKER_VALUED, is_engine, verb};
use super::words::{Args, int};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, containers};
use crate::fact::Container;
use crate::shell::Invocation;

/// `docker inspect`: JSON, or a template of its state.
pub(super) struct DockerInspect;

impl Probe for DockerInspect {
    fn recognises(&self, invocation: &Invocation) -> bool {
        if !is_engine(invocation) {
            return false;
        }
        let (verb, rest) = verb(invocation, DOCKER_VALUED);
        verb == Some("inspect") || verb == Some("container") && rest.first() == Some(&"inspect")
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let templated = Args::of(ctx.invocation, "f format type").has(&["f", "format"]);
        if templated {
            let args = Args::of(ctx.invocation, "f format type");
            let format = args.value(&["f", "format"]).unwrap_or("");
            let words = args.operands.iter().skip(1);
            let named = words.filter(|word| word.text != "inspect").count().max(1);
            let json = format.starts_with("{{json") && format.ends_with("}}");
            let fit = move |line: &str, _: usize| match line
                .starts_with(['{', '[', '"', 'n', 't', 'f'])
                || line.starts_with(|c: char| c.is_ascii_digit())
            {
                false if json => Fit::No,
                true if json && line.starts_with(['{', '[', '"']) => Fit::Likely,
                _ => Fit::Perhaps,
            };
            // A template may hold line ends and loops.
            let open = format.contains("range") || format.contains("\\n") || format.contains('\n');
            return if open {
                Grammar::at_least(1, fit)
            } else {
                Grammar::exactly(named, fit)
            };
        }
        Grammar::any(move |line, _| {
            let part = !ctx.filter.patterns.is_empty() || ctx.filter.chosen;
            let margin = line.starts_with(['[', ']']) || part && line.starts_with('"');
            if is_json_line(line) && (line.starts_with(' ') || margin) {
                Fit::Likely
            } else {
                Fit::No
            }
        })
        .opened_by(ctx.filter, |line| line.starts_with('['))
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let args = Args::of(ctx.invocation, "f format type");
        let name = args
            .texts()
            .filter(|word| !matches!(*word, "inspect" | "container"))
            .last();
        let Some(format) = args.value(&["f", "format"]) else {
            let text = lines
                .iter()
                .map(|line| line.text.as_str())
                .collect::<Vec<_>>()
                .join("\n");
            let mut whole = containers::inspected(&text);
            let names = args
                .texts()
                .filter(|word| !matches!(*word, "inspect" | "container"));
            if let (true, Some(name), 1) = (whole.is_empty(), name, names.count()) {
                let texts = lines.iter().map(|line| line.text.as_str());
                whole.extend(containers::picked(name, texts));
            }
            for container in whole {
                sink.lines(lines, container);
            }
            return;
        };
        let (Some(name), Some(line)) = (name, lines.first()) else {
            return;
        };
        if let Some(rest) = format
            .trim()
            .strip_prefix("{{json .State}}")
            .filter(|rest| rest.is_empty())
        {
            let _ = rest;
            if let Ok(state) = serde_json::from_str::<serde_json::Value>(&line.text)
                && let Some(container) =
                    containers::container(&serde_json::json!({"Name": name, "State": state}))
            {
                sink.line(line, container);
            }
            return;
        }
        let mut container = Container {
            name: name.to_owned(),
            ..Container::default()
        };
        let fields: Vec<&str> = format
            .split("{{")
            .skip(1)
            .filter_map(|part| part.split("}}").next())
            .map(str::trim)
            .collect();
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let texts: Vec<&str> = format
            .split("}}")
            .filter_map(|part| part.split("{{").next())
            .collect();
        if fields.len() != words.len() || !texts.iter().all(|text| text.trim().is_empty()) {
            // `oom={{.State.OOMKilled}} exit={{.State.ExitCode}}`: take the parts after `=`.
            if fields.len() != words.len() {
                return;
            }
        }
        for (field, word) in fields.iter().zip(words) {
            let word = word
                .rsplit(['=', ':'])
                .next()
                .unwrap_or(word)
                .trim_matches(',');
            match *field {
                ".State.Status" => word.clone_into(&mut container.status),
                ".State.Running" if word == "true" => "running".clone_into(&mut container.status),
                ".State.ExitCode" => container.exit_code = int(word),
                ".State.OOMKilled" => container.oom_killed = word.parse().ok(),
                ".RestartCount" => container.restarts = int(word),
                ".State.Health.Status" => container.health = Some(word.to_owned()),
                ".HostConfig.ShmSize" => {
                    container.shm_mib = super::words::number(word).map(|bytes| bytes / 1_048_576.0);
                }
                ".Path" => container.command = Some(word.to_owned()),
                ".Config.Cmd" | ".Config.Entrypoint" => {
                    let word = word.trim_matches(['[', ']']);
                    if !word.is_empty() {
                        container.command = Some(word.to_owned());
                    }
                }
                ".Name" => word.trim_start_matches('/').clone_into(&mut container.name),
                _ => {}
            }
        }
        let bare = Container {
            name: container.name.clone(),
            ..Container::default()
        };
        if container != bare {
            sink.line(line, container);
        }
    }

    fn complains(&self, line: &str, _ctx: &Ctx<'_>) -> Fit {
        (line.starts_with("Error: No such object")
            || line.starts_with("Error response from daemon")
            || line.starts_with("Error: "))
        .into()
    }
}
