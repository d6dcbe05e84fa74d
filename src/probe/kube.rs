//! `kubectl` (and `oc`): pods, their last states, events. And queues of `squeue`, which are claimed
//! but not read.
//!
//! Source: kubectl 1.24 to 1.33; `tests/fixtures/probes/kubectl`.

use super::words::{Args, after_fields, int};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::fact::{Pod, PodEvent};
use crate::shell::Invocation;

/// `kubectl get` and `kubectl describe`.
pub(super) struct Kubectl;

const VALUED: &str = "n namespace l selector o output context cluster kubeconfig sort-by field-selector L label-columns c container f filename tail since chunk-size s server";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Pods,
    Events,
    Describe,
    Other,
}

fn form(invocation: &Invocation) -> Form {
    let args = Args::of(invocation, VALUED);
    let mut words = args.texts();
    let verb = words.next();
    let what = words.next().unwrap_or("").split('/').next().unwrap_or("");
    match (verb, what) {
        (Some("get"), "pods" | "pod" | "po" | "all") => Form::Pods,
        (Some("get"), "events" | "event" | "ev") | (Some("events"), _) => Form::Events,
        (Some("describe"), "pods" | "pod" | "po") => Form::Describe,
        _ => Form::Other,
    }
}

impl Probe for Kubectl {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(
            invocation.program(),
            "kubectl" | "oc" | "k3s" | "microk8s.kubectl"
        ) && Args::of(invocation, VALUED)
            .texts()
            .next()
            .is_none_or(|verb| verb != "logs")
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let form = form(ctx.invocation);
        Grammar::any(move |line: &str, _: usize| {
            let good = match form {
                Form::Pods => {
                    line.starts_with("NAME ")
                        || line.starts_with("NAMESPACE ")
                        || pod_row(line, false).is_some()
                        || line.starts_with("No resources found")
                }
                Form::Events => {
                    line.starts_with("LAST SEEN")
                        || line.contains(" Normal ")
                        || line.contains(" Warning ")
                }
                Form::Describe => {
                    line.starts_with("  ") || line.contains(":  ") || line.ends_with(':')
                }
                Form::Other => false,
            };
            match (good, form) {
                (true, Form::Describe) => Fit::Likely,
                (true, _) => Fit::Surely,
                (false, Form::Pods | Form::Events) => Fit::No,
                (false, _) => Fit::Perhaps,
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let args = Args::of(ctx.invocation, VALUED);
        if args
            .value(&["o", "output"])
            .is_some_and(|output| output != "wide")
        {
            return;
        }
        match form(ctx.invocation) {
            Form::Pods => {
                let all = args.has(&["A", "all-namespaces"]);
                for line in lines {
                    if let Some(pod) = pod_row(&line.text, all) {
                        sink.line(line, pod);
                    }
                }
            }
            Form::Events => events(lines, sink),
            Form::Describe => describe(lines, args.texts().last().unwrap_or(""), sink),
            Form::Other => {}
        }
    }

    fn complains(&self, line: &str, _ctx: &Ctx<'_>) -> Fit {
        let known = [
            "Error from server",
            "error: ",
            "No resources found",
            "The connection to the server",
            "Unable to connect",
            "command terminated with exit code",
            "Defaulted container",
            "Warning: ",
        ];
        known.iter().any(|start| line.starts_with(start)).into()
    }
}

/// `vllm-5c9d-x2k4p   0/1   CrashLoopBackOff   6 (2m11s ago)   21m`
fn pod_row(text: &str, with_namespace: bool) -> Option<Pod> {
    let skip = usize::from(with_namespace);
    let words: Vec<&str> = text.split_whitespace().skip(skip).collect();
    let [name, ready, status, restarts, ..] = words.as_slice() else {
        return None;
    };
    let (one, other) = ready.split_once('/')?;
    int(one)?;
    int(other)?;
    Some(Pod {
        name: name.rsplit('/').next().unwrap_or(name).to_owned(),
        status: (*status).to_owned(),
        ready: Some((*ready).to_owned()),
        restarts: int(restarts),
        last_reason: None,
        last_exit: None,
    })
}

/// `kubectl get events`: LAST SEEN, TYPE, REASON, OBJECT, MESSAGE.
fn events(lines: &[Shown], sink: &mut Sink<'_>) {
    for line in lines {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let Some(at) = words
            .iter()
            .take(4)
            .position(|word| matches!(*word, "Normal" | "Warning"))
        else {
            continue;
        };
        let (Some(level), Some(reason), Some(object)) =
            (words.get(at), words.get(at + 1), words.get(at + 2))
        else {
            continue;
        };
        sink.line(
            line,
            PodEvent {
                object: (*object).to_owned(),
                level: (*level).to_owned(),
                reason: (*reason).to_owned(),
                text: after_fields(&line.text, at + 3).trim_end().to_owned(),
            },
        );
    }
}

/// `kubectl describe pod`: states of containers, then events. Only parts may be left by a filter.
fn describe(lines: &[Shown], asked: &str, sink: &mut Sink<'_>) {
    let mut pod = Pod {
        name: asked.rsplit('/').next().unwrap_or(asked).to_owned(),
        ..Pod::default()
    };
    let mut section = "";
    let mut in_events = false;
    let mut told = None;
    for (at, line) in lines.iter().enumerate() {
        let text = line.text.trim();
        if in_events {
            event(line, &pod.name, sink);
            continue;
        }
        let Some((name, value)) = text.split_once(':') else {
            continue;
        };
        let value = value.trim();
        match name {
            "Name" if !line.text.starts_with(' ') => value.clone_into(&mut pod.name),
            "Status" if !line.text.starts_with(' ') => value.clone_into(&mut pod.status),
            "State" => {
                section = "state";
                continue;
            }
            "Last State" => {
                section = "last";
                told = Some(at);
                continue;
            }
            "Reason" if section == "state" && pod.status.is_empty() => {
                value.clone_into(&mut pod.status);
            }
            "Reason" if section == "last" => pod.last_reason = Some(value.to_owned()),
            "Exit Code" if section == "last" => pod.last_exit = int(value),
            "Restart Count" => pod.restarts = int(value),
            "Ready" => {
                section = "";
                continue;
            }
            "Events" => {
                in_events = true;
                continue;
            }
            _ => continue,
        }
        told = Some(at);
    }
    if let Some(last) = told {
        sink.lines(lines.get(..=last).unwrap_or(&[]), pod);
    }
}

/// `Warning  Unhealthy  3m1s (x18 over 19m)   kubelet  Liveness probe failed: …`
fn event(line: &Shown, object: &str, sink: &mut Sink<'_>) {
    let parts: Vec<&str> = line
        .text
        .split("  ")
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    if let [level @ ("Normal" | "Warning"), reason, _, _, rest @ ..] = parts.as_slice()
        && !rest.is_empty()
    {
        sink.line(
            line,
            PodEvent {
                object: object.to_owned(),
                level: (*level).to_owned(),
                reason: (*reason).to_owned(),
                text: rest.join("  "),
            },
        );
    }
}
