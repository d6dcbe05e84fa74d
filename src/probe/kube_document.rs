//! What `kubectl get -o json` and `-o yaml` say of pods, nodes, events and other objects.
//!
//! Source: the Kubernetes API (v1, apps/v1, batch/v1); `tests/fixtures/probes/kubectl`.

use serde_json::Value;

use super::words::count;
use super::{Shown, Sink, document};
use crate::fact::{Fact, KubeObject, Node, Pod, PodEvent};
use crate::shell::Tri;

/// Reads a document: one object or a list of them.
pub(super) fn read(lines: &[Shown], is_json: bool, sink: &mut Sink<'_>) {
    let text = lines
        .iter()
        .map(|line| line.text.as_str())
        .collect::<Vec<_>>()
        .join("\n");
    let documents = if is_json {
        document::json(&text).into_iter().collect()
    } else {
        document::yaml_documents(&text)
    };
    for one in &documents {
        match one.get("items").and_then(Value::as_array) {
            Some(items) => {
                for item in items.iter().take(1_000) {
                    emit(item, lines, sink);
                }
            }
            None => emit(one, lines, sink),
        }
    }
}

fn emit(object: &Value, lines: &[Shown], sink: &mut Sink<'_>) {
    if let Some(fact) = fact(object) {
        sink.lines(lines, fact);
    }
}

fn text(object: &Value, at: &str) -> Option<String> {
    let value = object.pointer(at)?;
    value.as_str().map(str::to_owned)
}

/// The fact an object tells.
fn fact(object: &Value) -> Option<Fact> {
    let name = text(object, "/metadata/name")?;
    let kind = text(object, "/kind").unwrap_or_default();
    let namespace = text(object, "/metadata/namespace");
    let number = |at: &str| object.pointer(at).and_then(Value::as_i64);
    Some(match kind.as_str() {
        "Pod" => pod(object, name, namespace).into(),
        "Node" => node(object, name).into(),
        "Event" => PodEvent {
            object: [
                text(object, "/involvedObject/kind")
                    .unwrap_or_default()
                    .to_lowercase(),
                text(object, "/involvedObject/name").unwrap_or_default(),
            ]
            .join("/"),
            level: text(object, "/type").unwrap_or_default(),
            reason: text(object, "/reason").unwrap_or_default(),
            text: text(object, "/message").unwrap_or_default(),
            count: number("/count"),
        }
        .into(),
        "" => return None,
        _ => {
            let (of, ready, wanted) = match kind.as_str() {
                "Deployment" | "StatefulSet" | "ReplicaSet" => (
                    kind.to_lowercase(),
                    Some(number("/status/readyReplicas").unwrap_or(0)),
                    number("/spec/replicas"),
                ),
                "DaemonSet" => (
                    kind.to_lowercase(),
                    number("/status/numberReady"),
                    number("/status/desiredNumberScheduled"),
                ),
                "Job" => (
                    "job".to_owned(),
                    Some(number("/status/succeeded").unwrap_or(0)),
                    number("/spec/completions"),
                ),
                "PersistentVolumeClaim" => ("pvc".to_owned(), None, None),
                "PersistentVolume" => ("pv".to_owned(), None, None),
                other => (other.to_lowercase(), None, None),
            };
            let failed =
                conditions(object).any(|(name, on, _, _)| name == "Failed" && on == "True");
            KubeObject {
                kind: of,
                name,
                namespace,
                status: if failed {
                    Some("Failed".to_owned())
                } else {
                    text(object, "/status/phase")
                },
                ready,
                wanted,
            }
            .into()
        }
    })
}

/// Type, status, reason and message of each condition.
fn conditions(object: &Value) -> impl Iterator<Item = (&str, &str, &str, &str)> {
    object
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|one| {
            let of = |name: &str| one.get(name).and_then(Value::as_str).unwrap_or("");
            (of("type"), of("status"), of("reason"), of("message"))
        })
}

/// A reason to wait that is trouble, and no part of an ordinary start.
pub(super) fn is_trouble(reason: &str) -> bool {
    !matches!(
        reason,
        "" | "ContainerCreating" | "PodInitializing" | "Completed" | "Running"
    )
}

fn pod(object: &Value, name: String, namespace: Option<String>) -> Pod {
    let mut pod = Pod {
        name,
        namespace,
        status: text(object, "/status/reason")
            .or(text(object, "/status/phase"))
            .unwrap_or_default(),
        node: text(object, "/spec/nodeName"),
        message: text(object, "/status/message"),
        ..Pod::default()
    };
    let mut containers = 0;
    let mut ready = 0;
    for list in ["initContainerStatuses", "containerStatuses"] {
        let all = object
            .pointer(&format!("/status/{list}"))
            .and_then(Value::as_array);
        for one in all.into_iter().flatten() {
            let main = list == "containerStatuses";
            containers += usize::from(main);
            ready += usize::from(main && one.get("ready") == Some(&Value::Bool(true)));
            let restarts = one.get("restartCount").and_then(Value::as_i64);
            pod.restarts = pod.restarts.max(restarts);
            if let Some(reason) = text(one, "/state/waiting/reason").filter(|one| is_trouble(one)) {
                pod.status = reason;
                pod.message = text(one, "/state/waiting/message").or(pod.message);
            }
            for state in ["lastState", "state"] {
                let code = one
                    .pointer(&format!("/{state}/terminated/exitCode"))
                    .and_then(Value::as_i64);
                if code.is_some() && (pod.last_exit.is_none() || code != Some(0)) {
                    pod.last_exit = code;
                    pod.last_reason = text(one, &format!("/{state}/terminated/reason"));
                }
            }
        }
    }
    if containers > 0 {
        pod.ready = Some(format!("{}/{}", count(ready), count(containers)));
    }
    for (name, on, reason, message) in conditions(object) {
        if name == "PodScheduled" && on == "False" && pod.message.is_none() {
            pod.message = Some(format!("{reason}: {message}"));
        }
    }
    pod
}

fn node(object: &Value, name: String) -> Node {
    let mut node = Node {
        name,
        cluster: "kubernetes".to_owned(),
        ..Node::default()
    };
    for (name, on, reason, message) in conditions(object) {
        match (name, on) {
            ("Ready", "True") => "Ready".clone_into(&mut node.state),
            ("Ready", _) => {
                "NotReady".clone_into(&mut node.state);
                node.reason = Some(format!("{reason}: {message}"));
            }
            (name, "True") if name.ends_with("Pressure") => node.pressure.push(name.to_owned()),
            _ => {}
        }
    }
    if object.pointer("/spec/unschedulable") == Some(&Value::Bool(true)) {
        node.state.push_str(",SchedulingDisabled");
    }
    node.usable = match node.state.as_str() {
        "" => Tri::Unknown,
        state => (state == "Ready").into(),
    };
    node
}
