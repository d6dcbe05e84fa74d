//! `kubectl` (and `oc`): pods, nodes, other objects, events, their descriptions, what they use; as
//! tables, JSON and YAML.
//!
//! Source: kubectl 1.24 to 1.33; `tests/fixtures/probes/kubectl`.

use super::document::is_json_line;
use super::kube_document as document;
use super::table::Table;
use super::words::{Args, after_fields, int, leading_int, number, size_bytes};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, texts};
use crate::fact::{KubeObject, Node, Pod, PodEvent, Usage};
use crate::shell::{Invocation, Tri};

/// `kubectl`.
pub(super) struct Kubectl;

const VALUED: &str = "n namespace l selector o output context cluster kubeconfig sort-by field-selector L label-columns c container f filename tail since chunk-size s server for";

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// `get` of a kind.
    Get(String),
    Events,
    /// `describe` of a kind.
    Describe(String),
    /// `top` of a kind.
    Top(&'static str),
    Other,
}

/// A kind by its short, plural or full name.
fn kind(word: &str) -> &str {
    let word = word.split('.').next().unwrap_or(word);
    match word {
        "po" | "pods" | "pod" => "pod",
        "no" | "nodes" | "node" => "node",
        "deploy" | "deployments" | "deployment" => "deployment",
        "sts" | "statefulsets" | "statefulset" => "statefulset",
        "ds" | "daemonsets" | "daemonset" => "daemonset",
        "rs" | "replicasets" | "replicaset" => "replicaset",
        "job" | "jobs" => "job",
        "cj" | "cronjobs" | "cronjob" => "cronjob",
        "pvc" | "persistentvolumeclaims" | "persistentvolumeclaim" => "pvc",
        "pv" | "persistentvolumes" | "persistentvolume" => "pv",
        "svc" | "services" | "service" => "service",
        "ns" | "namespaces" | "namespace" => "namespace",
        "ev" | "events" | "event" => "event",
        other => other,
    }
}

fn form(invocation: &Invocation) -> Form {
    let args = Args::of(invocation, VALUED);
    let mut words = args.texts();
    let verb = words.next();
    let what = words.next().unwrap_or("");
    let what = kind(what.split(['/', ',']).next().unwrap_or(what));
    match (verb, what) {
        (Some("events"), _) | (Some("get"), "event") => Form::Events,
        (Some("get"), what) if !what.is_empty() => Form::Get(what.to_owned()),
        (Some("describe"), what) if !what.is_empty() => Form::Describe(what.to_owned()),
        (Some("top"), "pod") => Form::Top("pod"),
        (Some("top"), "node") => Form::Top("node"),
        _ => Form::Other,
    }
}

/// A row begins with an object's name: letters, digits, dots and dashes, a kind before a slash.
fn names_object(line: &str) -> bool {
    let name = line.split_whitespace().next().unwrap_or("");
    !line.starts_with(' ')
        && name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-./".contains(c))
}

/// How well a line fits into `-o yaml`, `-o json`, or what a template makes.
fn document_fit(output: &str, line: &str, nth: usize) -> Fit {
    let text = line.trim_start();
    let good = match output {
        "json" => is_json_line(line) && (line.starts_with(' ') || matches!(line, "{" | "}")),
        "yaml" => {
            let entry = text.trim_start_matches("- ");
            let key = entry
                .split_once(": ")
                .map(|(key, _)| key)
                .or(entry.strip_suffix(':'));
            let named = key.is_some_and(|key| {
                key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '"')
                    && key
                        .trim_matches(['"', '\''])
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-'))
            });
            // Its own keys begin small where they stand at the margin.
            let own = line.starts_with([' ', '-']) || !text.starts_with(char::is_uppercase);
            let json = text.ends_with([',', '{', '[']) && !text.contains('"');
            named && own && !json && (nth > 0 || key == Some("apiVersion"))
                || text.starts_with("- ")
                || text == "---"
        }
        _ => return Fit::Perhaps,
    };
    if good { Fit::Likely } else { Fit::Hardly }
}

/// How well a line fits into `kubectl describe`.
fn described_fit(line: &str) -> Fit {
    let head = super::line::read_head(line);
    if head.is_timed() || !head.level.is_empty() && !line.starts_with(' ') {
        return Fit::Hardly; // of a log
    }
    let text = line.trim_start();
    let named = text.split_once(':').is_some_and(|(name, value)| {
        name.len() <= 40
            && name.starts_with(|c: char| {
                // At the margin its own words stand, with a capital.
                c.is_ascii_uppercase() || c.is_ascii_lowercase() && line.starts_with(' ')
            })
            && !name.starts_with("at ")
            && !name.ends_with(' ')
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || " -_./".contains(c))
            && (value.is_empty() || value.starts_with("  ") || line.starts_with("  "))
    });
    let column = line.starts_with("  ") && text.contains("  ") && !text.contains(" = ");
    if named && !text.starts_with("File ") || column {
        Fit::Likely
    } else if line.starts_with("  ") && text.contains(char::is_alphanumeric) || text.is_empty() {
        Fit::Perhaps
    } else {
        Fit::Hardly
    }
}

impl Probe for Kubectl {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(
            invocation.program(),
            "kubectl" | "oc" | "k3s" | "microk8s.kubectl" | "k"
        ) && Args::of(invocation, VALUED)
            .texts()
            .next()
            .is_none_or(|verb| verb != "logs")
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let form = form(ctx.invocation);
        let output = Args::of(ctx.invocation, VALUED).value(&["o", "output"]);
        let document = output.filter(|output| !matches!(*output, "wide" | "name"));
        let one_table = matches!(&form, Form::Get(what) if what != "all" && !what.contains(','))
            || matches!(&form, Form::Top(_));
        let opens = match document {
            Some("json") => Some("{"),
            Some("yaml") => Some("apiVersion:"),
            _ => None,
        };
        let grammar = Grammar::any(move |line: &str, nth: usize| {
            if let Some(output) = document {
                return document_fit(output, line, nth);
            }
            let head = line.starts_with("NAME ")
                || line.starts_with("NAMESPACE ")
                || line.starts_with("LAST SEEN")
                || line.starts_with("No resources found");
            if head && nth > 0 && one_table && !ctx.filter.may_lose_start() {
                return Fit::No; // another look's
            }
            match &form {
                Form::Get(what) if matches!(what.as_str(), "pod" | "all") => {
                    if head || pod_row(line, false).is_some() || pod_row(line, true).is_some() {
                        Fit::Surely
                    } else if what == "all" {
                        Fit::Perhaps
                    } else {
                        Fit::No
                    }
                }
                Form::Get(_) | Form::Top(_) => {
                    if head {
                        Fit::Surely
                    } else if line.contains("   ") && names_object(line) {
                        Fit::Likely
                    } else {
                        Fit::Hardly
                    }
                }
                Form::Events => {
                    (head || line.contains(" Normal ") || line.contains(" Warning ")).into()
                }
                Form::Describe(_) => described_fit(line),
                Form::Other => Fit::Perhaps,
            }
        });
        match opens {
            Some(start) => grammar.opened_by(ctx.filter, move |line| line.starts_with(start)),
            None => grammar,
        }
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let args = Args::of(ctx.invocation, VALUED);
        let output = args.value(&["o", "output"]).unwrap_or("");
        if matches!(output, "json" | "yaml") && ctx.filter.patterns.is_empty() {
            document::read(lines, output == "json", sink);
            return;
        }
        if !matches!(output, "" | "wide") || ctx.filter.columns.is_some() || ctx.filter.opaque {
            texts::as_plain(lines, ctx, sink);
            return;
        }
        match form(ctx.invocation) {
            Form::Get(what) => table(lines, &what, &args, sink),
            Form::Events => events(lines, sink),
            Form::Describe(what) => {
                describe(lines, &what, args.texts().last().unwrap_or(""), sink);
            }
            Form::Top(what) => top(lines, what, &args, sink),
            Form::Other => texts::as_plain(lines, ctx, sink),
        }
    }

    fn complains(&self, line: &str, _ctx: &Ctx<'_>) -> Fit {
        complains(line)
    }
}

/// How well a line fits as kubectl's own word of trouble.
pub(super) fn complains(line: &str) -> Fit {
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

/// `vllm-5c9d-x2k4p   0/1   CrashLoopBackOff   6 (2m11s ago)   21m`
fn pod_row(text: &str, with_namespace: bool) -> Option<Pod> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (namespace, words) = if with_namespace {
        let (first, rest) = words.split_first()?;
        (Some((*first).to_owned()), rest)
    } else {
        (None, words.as_slice())
    };
    let [name, ready, status, restarts, ..] = words else {
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
        namespace,
        ..Pod::default()
    })
}

/// A table of `kubectl get`, or several (`get all`): each has a head.
fn table(lines: &[Shown], asked: &str, args: &Args<'_>, sink: &mut Sink<'_>) {
    let all = args.has(&["A", "all-namespaces"]);
    let namespace = args.value(&["n", "namespace"]).map(str::to_owned);
    let mut head = Table::default();
    for line in lines {
        let text = line.text.as_str();
        if text.starts_with("NAME ") || text.starts_with("NAMESPACE ") {
            head = Table::wide(text);
            continue;
        }
        let first = text.split_whitespace().nth(usize::from(all)).unwrap_or("");
        let of = match first.split_once('/') {
            Some((of, _)) if asked == "all" || args.texts().any(|word| word.contains(',')) => {
                kind(of)
            }
            _ => asked,
        };
        match of {
            "pod" | "all" => {
                if let Some(mut pod) = pod_row(text, all) {
                    pod.namespace = pod.namespace.or(namespace.clone());
                    if !head.is_empty() {
                        pod.node = head.row(text).text(&["NODE"]);
                    }
                    sink.line(line, pod);
                }
            }
            "node" => {
                if let Some(node) = node_row(text) {
                    sink.line(line, node);
                }
            }
            of => {
                if let Some(mut object) = object_row(text, of, &head, all) {
                    object.namespace = object.namespace.or(namespace.clone());
                    sink.line(line, object);
                }
            }
        }
    }
}

/// `gpu-3   NotReady,SchedulingDisabled   <none>   41d   v1.29.4`
fn node_row(text: &str) -> Option<Node> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [name, state, ..] = words.as_slice() else {
        return None;
    };
    let known = ["Ready", "NotReady", "Unknown", "SchedulingDisabled"];
    let states: Vec<&str> = state.split(',').collect();
    states
        .iter()
        .all(|state| known.contains(state))
        .then(|| Node {
            name: name.rsplit('/').next().unwrap_or(name).to_owned(),
            cluster: "kubernetes".to_owned(),
            state: (*state).to_owned(),
            usable: (*state == "Ready").into(),
            ..Node::default()
        })
}

/// A row of another kind, by the names of its columns.
fn object_row(text: &str, of: &str, head: &Table, all: bool) -> Option<KubeObject> {
    let pair = text.split_whitespace().find_map(|word| {
        let (one, other) = word.split_once('/')?;
        Some((int(one)?, int(other)?))
    });
    let (one, other) = pair.unzip();
    let first = text.split_whitespace().nth(usize::from(all))?;
    let named = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
    let namespace = all
        .then(|| text.split_whitespace().next().map(str::to_owned))
        .flatten();
    let mut object = KubeObject {
        kind: of.to_owned(),
        name: named(first),
        namespace,
        status: None,
        ready: one,
        wanted: other,
    };
    if head.is_empty() {
        let known = [
            "Bound",
            "Pending",
            "Lost",
            "Released",
            "Active",
            "Terminating",
            "Failed",
            "Complete",
        ];
        object.status = text
            .split_whitespace()
            .find(|word| known.contains(word))
            .map(str::to_owned);
        let numbers: Vec<i64> = text
            .split_whitespace()
            .skip(usize::from(all) + 1)
            .map_while(int)
            .collect();
        // DESIRED, CURRENT, READY.
        if let [wanted, _, ready, ..] = numbers.as_slice() {
            object.wanted = Some(*wanted);
            object.ready = Some(*ready);
        }
        let tells = object.status.is_some() || object.ready.is_some();
        return tells.then_some(object);
    }
    let row = head.row(text);
    object.status = row.text(&["STATUS"]);
    let count = |names: &[&str]| row.get(names).and_then(int);
    if let Some(ready) = count(&["READY"]) {
        object.ready = Some(ready);
    }
    if let Some(wanted) = count(&["DESIRED"]) {
        object.wanted = Some(wanted);
    }
    if let Some(ready) = count(&["AVAILABLE"]) {
        object.ready = object.ready.or(Some(ready));
    }
    Some(object)
}

/// `kubectl top`: `NAME CPU(cores) MEMORY(bytes)`, with a namespace or a pod in front.
fn top(lines: &[Shown], what: &str, args: &Args<'_>, sink: &mut Sink<'_>) {
    let before = usize::from(args.has(&["A", "all-namespaces"]));
    let containers = args.has(&["containers"]);
    let name_at = before + usize::from(containers);
    let cores = |text: &str| match text.strip_suffix('m') {
        Some(milli) => number(milli).map(|milli| milli / 10.0),
        None => number(text).map(|cores| cores * 100.0),
    };
    for line in lines {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let Some(name) = words.get(name_at).filter(|name| **name != "NAME") else {
            continue;
        };
        let Some(cpu) = words.get(name_at + 1).and_then(|cpu| cores(cpu)) else {
            continue;
        };
        let node = what == "node";
        let memory = words.get(name_at + if node { 3 } else { 2 });
        let Some(memory) = memory.and_then(|memory| size_bytes(memory, 1.0)) else {
            continue;
        };
        let memory_pct = words
            .get(name_at + 4)
            .filter(|_| node)
            .and_then(|pct| number(pct));
        sink.line(
            line,
            Usage {
                kind: if containers { "container" } else { what }.to_owned(),
                name: (*name).to_owned(),
                cpu_pct: Some(cpu),
                memory_mib: Some(memory / 1_048_576.0),
                memory_pct,
                ..Usage::default()
            },
        );
    }
}

/// The times an event came: of `3m1s (x18 over 19m)`.
fn times(text: &str) -> Option<i64> {
    let (_, rest) = text.split_once("(x")?;
    leading_int(rest).map(|(times, _)| times)
}

/// `kubectl get events`: LAST SEEN, TYPE, REASON, OBJECT, MESSAGE; with `-o wide` more between.
fn events(lines: &[Shown], sink: &mut Sink<'_>) {
    let mut head = Table::default();
    for line in lines {
        let text = line.text.as_str();
        if text.contains("LAST SEEN") && text.contains("REASON") {
            head = Table::wide(text);
            continue;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let Some(at) = words
            .iter()
            .take(8)
            .position(|word| matches!(*word, "Normal" | "Warning"))
        else {
            continue;
        };
        let (Some(level), Some(reason), Some(object)) =
            (words.get(at), words.get(at + 1), words.get(at + 2))
        else {
            continue;
        };
        let mut text = after_fields(text, at + 3).trim_end().to_owned();
        let mut count = times(&words.get(..at).unwrap_or(&[]).join(" "));
        if head.has("SUBOBJECT") || head.has("SOURCE") {
            let row = head.row(&line.text);
            if let Some(message) = row.text(&["MESSAGE"]) {
                text = message;
            }
            count = row.get(&["COUNT"]).and_then(int).or(count);
        }
        sink.line(
            line,
            PodEvent {
                object: (*object).to_owned(),
                level: (*level).to_owned(),
                reason: (*reason).to_owned(),
                text,
                count,
            },
        );
    }
}

/// `kubectl describe`: states of containers, conditions of a node, then events. Only parts may be
/// left by a filter.
fn describe(lines: &[Shown], what: &str, asked: &str, sink: &mut Sink<'_>) {
    match what {
        "pod" => describe_pods(lines, asked, sink),
        "node" => describe_node(lines, asked, sink),
        _ => {
            let name = asked.rsplit('/').next().unwrap_or(asked).to_owned();
            for line in lines {
                event(line, &name, sink);
            }
        }
    }
}

/// A pod whose description is being read.
#[derive(Default)]
struct Described {
    pod: Pod,
    from: usize,
    told: Option<usize>,
    state: &'static str,
    in_events: bool,
}

impl Described {
    fn emit(self, lines: &[Shown], sink: &mut Sink<'_>) {
        if let Some(last) = self.told {
            sink.lines(lines.get(self.from..=last).unwrap_or(&[]), self.pod);
        }
    }
}

fn describe_pods(lines: &[Shown], asked: &str, sink: &mut Sink<'_>) {
    let named = asked.rsplit('/').next().unwrap_or(asked);
    let fresh = |from: usize| Described {
        pod: Pod {
            name: named.to_owned(),
            ..Pod::default()
        },
        from,
        ..Described::default()
    };
    let mut open = fresh(0);
    for (at, line) in lines.iter().enumerate() {
        let text = line.text.trim();
        let outer = !line.text.starts_with(' ');
        if outer && text.starts_with("Name:") && open.told.is_some() {
            std::mem::replace(&mut open, fresh(at)).emit(lines, sink);
        }
        if open.in_events || is_event_row(text) {
            event(line, &open.pod.name, sink);
            continue;
        }
        let Some((name, value)) = text.split_once(':') else {
            continue;
        };
        let value = value.trim();
        let pod = &mut open.pod;
        match name {
            "Name" if outer => value.clone_into(&mut pod.name),
            "Namespace" if outer => pod.namespace = Some(value.to_owned()),
            "Node" if outer && value != "<none>" => {
                pod.node = value.split('/').next().map(str::to_owned);
            }
            "Status" if outer => value.clone_into(&mut pod.status),
            "Reason" if outer => value.clone_into(&mut pod.status),
            "Message" if outer => pod.message = Some(value.to_owned()),
            "State" => {
                open.state = "state";
                continue;
            }
            "Last State" => {
                open.state = "last";
                open.told = Some(at);
                continue;
            }
            // Why a container waits says more than the pod's phase.
            "Reason"
                if open.state == "state"
                    && (pod.status.is_empty()
                        || matches!(pod.status.as_str(), "Pending" | "Running")
                            && document::is_trouble(value)) =>
            {
                value.clone_into(&mut pod.status);
            }
            "Message" if open.state == "state" => pod.message = Some(value.to_owned()),
            "Reason" if open.state == "last" => pod.last_reason = Some(value.to_owned()),
            "Exit Code" if open.state == "last" => pod.last_exit = int(value),
            "Restart Count" => {
                pod.restarts = pod.restarts.max(int(value));
                open.state = "";
            }
            "Ready" | "Conditions" | "Volumes" => {
                open.state = "";
                continue;
            }
            "Events" => {
                open.in_events = true;
                continue;
            }
            _ => continue,
        }
        open.told = Some(at);
    }
    open.emit(lines, sink);
}

/// Conditions of a node: `MemoryPressure   False   <time>   <time>   KubeletHasSufficientMemory   …`
fn describe_node(lines: &[Shown], asked: &str, sink: &mut Sink<'_>) {
    let mut node = Node {
        name: asked.rsplit('/').next().unwrap_or(asked).to_owned(),
        cluster: "kubernetes".to_owned(),
        ..Node::default()
    };
    let mut cordoned = false;
    let mut told: Option<(usize, usize)> = None;
    for (at, line) in lines.iter().enumerate() {
        let text = line.text.trim();
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.as_slice() {
            ["Name:", name, ..] if !line.text.starts_with(' ') => {
                (*name).clone_into(&mut node.name);
            }
            ["Unschedulable:", value, ..] => cordoned = *value == "true",
            ["Ready", state @ ("True" | "False" | "Unknown"), ..] => {
                node.state = if *state == "True" {
                    "Ready"
                } else {
                    "NotReady"
                }
                .to_owned();
                if *state != "True" {
                    node.reason = Some(condition_reason(text)).filter(|reason| !reason.is_empty());
                }
            }
            [condition, "True", ..] if condition.ends_with("Pressure") => {
                node.pressure.push((*condition).to_owned());
            }
            [condition, "False" | "Unknown", ..] if condition.ends_with("Pressure") => {}
            _ => {
                event(line, &node.name, sink);
                continue;
            }
        }
        told = Some((told.map_or(at, |(from, _)| from), at));
    }
    if let Some((from, to)) = told
        && !node.state.is_empty()
    {
        if cordoned {
            node.state.push_str(",SchedulingDisabled");
        }
        node.usable = if node.state == "Ready" {
            Tri::Yes
        } else {
            Tri::No
        };
        sink.lines(lines.get(from..=to).unwrap_or(&[]), node);
    }
}

/// The words after the two times of a condition.
fn condition_reason(text: &str) -> String {
    text.split("   ")
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .skip(4)
        .collect::<Vec<_>>()
        .join(": ")
}

/// A row of the events, whose head a `tail` or `grep` may have taken away.
fn is_event_row(text: &str) -> bool {
    let row = |level: &str| {
        text.starts_with(&format!("{level}  ")) || text.contains(&format!("  {level}  "))
    };
    row("Warning") || row("Normal")
}

/// `Warning  Unhealthy  3m1s (x18 over 19m)   kubelet  Liveness probe failed: …`
fn event(line: &Shown, object: &str, sink: &mut Sink<'_>) {
    let parts: Vec<&str> = line
        .text
        .split("  ")
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    if let [level @ ("Normal" | "Warning"), reason, age, _, rest @ ..] = parts.as_slice()
        && !rest.is_empty()
    {
        sink.line(
            line,
            PodEvent {
                object: object.to_owned(),
                level: (*level).to_owned(),
                reason: (*reason).to_owned(),
                text: rest.join("  "),
                count: times(age),
            },
        );
    }
}
