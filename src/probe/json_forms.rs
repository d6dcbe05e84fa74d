//! What tools print as JSON when they are asked to: `ip -j`, `lsblk -J`, `findmnt -J`, `lscpu -J`,
//! `pip list --format json`, `conda list --json`, `docker ps --format json` and `docker compose ps`,
//! `rocm-smi --json`, `amd-smi metric --json`, and Slurm's commands with `--json`.
//!
//! From iproute2 6.1, util-linux 2.38, pip 23, conda 24, docker 28, podman 4.3, ROCm 6 and 7, Slurm 21.08 to
//! 25.11; Kubernetes' objects and `docker inspect` have readers of their own. `tests/fixtures/probes/json`.

use serde_json::Value;

use super::nvidia::{Round, emit_gpus};
use super::words::{Args, int, number, size_bytes};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, containers, document, managers, slurm, texts};
use crate::event::Stream;
use crate::fact::{Container, Disk, Fact, Gpu, HostInfo, Interface, Job, Node, Route, Version};
use crate::shell::Invocation;

/// A tool asked for JSON.
pub(super) struct JsonForms;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Links,
    Routes,
    Blocks,
    Mounts,
    Cpus,
    Packages,
    Containers,
    AmdGpus,
    Cluster,
}

fn form(invocation: &Invocation) -> Option<Form> {
    let words: Vec<&str> = invocation
        .args()
        .iter()
        .map(|word| word.text.as_str())
        .collect();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
    let json = || {
        let format = Args::of(invocation, "format f filter n last H host c context");
        let asked = format.value(&["format"]).unwrap_or("");
        asked == "json" || asked.replace(' ', "") == "{{json.}}"
    };
    let program = invocation.program();
    match program {
        "ip" if has(&["-j", "-json", "--json"]) => {
            let object = words.iter().find(|word| !word.starts_with('-'))?;
            if "route".starts_with(object) {
                Some(Form::Routes)
            } else {
                let links = "address".starts_with(object) || "link".starts_with(object);
                (links || *object == "addr").then_some(Form::Links)
            }
        }
        "lsblk" if has(&["-J", "--json"]) => Some(Form::Blocks),
        "findmnt" if has(&["-J", "--json"]) => Some(Form::Mounts),
        "lscpu" if has(&["-J", "--json"]) => Some(Form::Cpus),
        "conda" | "mamba" | "micromamba" if has(&["list"]) && has(&["--json"]) => {
            Some(Form::Packages)
        }
        _ if (program.starts_with("pip") || program == "uv" || has(&["pip"])) && has(&["list"]) => {
            json().then_some(Form::Packages)
        }
        "docker" | "podman" | "nerdctl" | "docker-compose" if has(&["ps"]) => {
            json().then_some(Form::Containers)
        }
        "rocm-smi" | "amd-smi" if has(&["--json"]) => Some(Form::AmdGpus),
        "squeue" | "sinfo" | "sacct" | "scontrol" => {
            let json = |word: &&str| *word == "--json" || word.starts_with("--json=");
            words.iter().any(json).then_some(Form::Cluster)
        }
        _ => None,
    }
}

impl Probe for JsonForms {
    fn recognises(&self, invocation: &Invocation) -> bool {
        form(invocation).is_some()
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let grammar = Grammar::any(|line, _| {
            if document::is_json_line(line) || line.starts_with("{\"") || line.starts_with("[{") {
                Fit::Likely
            } else {
                Fit::No
            }
        });
        grammar.opened_by(ctx.filter, |line| line.starts_with(['{', '[']))
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let Some(form) = form(ctx.invocation).filter(|_| ctx.filter.keeps_lines()) else {
            texts::as_plain(lines, ctx, sink);
            return;
        };
        // One document, or one a line.
        let each: Option<Vec<Value>> = lines
            .iter()
            .filter(|line| !line.is_blank() && line.stream != Stream::Stderr)
            .map(|line| serde_json::from_str(&line.text).ok())
            .collect();
        let whole = || {
            let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
            document::json(&text.join("\n"))
        };
        let found = match each {
            Some(each) => each,
            None => whole().into_iter().collect(),
        };
        if found.is_empty() {
            texts::as_plain(lines, ctx, sink);
            return;
        }
        if form == Form::AmdGpus {
            if let Some(line) = lines.first() {
                let gpus = found.iter().flat_map(amd_gpus).map(|gpu| (line, gpu));
                let round = Round {
                    gpus: gpus.collect(),
                    cut: ctx.filter.cut(lines.len()),
                    ..Round::default()
                };
                emit_gpus(lines, round, ctx, sink);
            }
            return;
        }
        for fact in found.iter().flat_map(|json| facts(form, json)) {
            sink.lines(lines, fact);
        }
    }

    fn is_chatter(&self, line: &str) -> bool {
        document::is_json_line(line)
    }
}

fn facts(form: Form, json: &Value) -> Vec<Fact> {
    match form {
        Form::Links => items(json)
            .iter()
            .filter_map(interface)
            .map(Fact::from)
            .collect(),
        Form::Routes => items(json)
            .iter()
            .filter_map(route)
            .map(Fact::from)
            .collect(),
        Form::Blocks => {
            let mut disks = Vec::new();
            blocks(list(json, "blockdevices"), &mut disks);
            disks.into_iter().map(Fact::from).collect()
        }
        Form::Mounts => {
            let mut disks = Vec::new();
            mounts(list(json, "filesystems"), &mut disks);
            disks.into_iter().map(Fact::from).collect()
        }
        Form::Cpus => vec![cpus(list(json, "lscpu")).into()],
        Form::Packages => items(json)
            .iter()
            .filter_map(package)
            .map(Fact::from)
            .collect(),
        Form::Containers => items(json)
            .iter()
            .filter_map(container)
            .map(Fact::from)
            .collect(),
        Form::AmdGpus => Vec::new(),
        Form::Cluster => {
            let jobs = list(json, "jobs").iter().filter_map(job).map(Fact::from);
            let nodes = list(json, "nodes").iter().filter_map(node).map(Fact::from);
            let groups = list(json, "sinfo").iter().flat_map(group).map(Fact::from);
            jobs.chain(nodes).chain(groups).collect()
        }
    }
}

/// The members of an array, or the one thing there is.
fn items(json: &Value) -> &[Value] {
    json.as_array()
        .map_or(std::slice::from_ref(json), Vec::as_slice)
}

fn list<'v>(json: &'v Value, name: &str) -> &'v [Value] {
    json.get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// A text of one of these names; numbers and yes or no as they are written.
fn text(json: &Value, names: &[&str]) -> Option<String> {
    let value = names.iter().find_map(|name| json.get(*name))?;
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn mib(json: &Value, name: &str) -> Option<f64> {
    let bytes = match json.get(name)? {
        Value::Number(bytes) => bytes.as_f64(),
        Value::String(size) => size_bytes(size, 1.0),
        _ => None,
    };
    bytes.map(|bytes| bytes / 1_048_576.0)
}

fn interface(json: &Value) -> Option<Interface> {
    let flags: Vec<&str> = list(json, "flags")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let addresses = list(json, "addr_info").iter();
    let loopback = flags.contains(&"LOOPBACK");
    Some(Interface {
        name: text(json, &["ifname"])?,
        state: text(json, &["operstate"]).unwrap_or_default(),
        up: (flags.contains(&"UP") && (flags.contains(&"LOWER_UP") || loopback)).into(),
        kind: loopback.then(|| "loopback".to_owned()),
        addresses: addresses.filter_map(|one| text(one, &["local"])).collect(),
        mtu: json.get("mtu").and_then(Value::as_i64),
        ..Interface::default()
    })
}

fn route(json: &Value) -> Option<Route> {
    Some(Route {
        to: text(json, &["dst"])?,
        via: text(json, &["gateway"]),
        interface: text(json, &["dev"]),
    })
}

/// Block devices that are mounted somewhere, their parts among them.
fn blocks(devices: &[Value], disks: &mut Vec<Disk>) {
    for device in devices {
        let several = list(device, "mountpoints").iter().filter_map(Value::as_str);
        let one = device.get("mountpoint").and_then(Value::as_str);
        for mount in several.chain(one) {
            disks.push(Disk {
                mount: mount.to_owned(),
                device: text(device, &["path"]).unwrap_or_else(|| {
                    format!("/dev/{}", text(device, &["name"]).unwrap_or_default())
                }),
                size_mib: mib(device, "size"),
                fs_type: text(device, &["fstype"]),
                read_only: device.get("ro").and_then(Value::as_bool),
                ..Disk::default()
            });
        }
        blocks(list(device, "children"), disks);
    }
}

fn mounts(mounted: &[Value], disks: &mut Vec<Disk>) {
    for one in mounted {
        let options = text(one, &["options"]);
        if let Some(mount) = text(one, &["target"]) {
            disks.push(Disk {
                mount,
                device: text(one, &["source"]).unwrap_or_default(),
                size_mib: mib(one, "size"),
                available_mib: mib(one, "avail"),
                used_pct: text(one, &["use%"]).as_deref().and_then(number),
                fs_type: text(one, &["fstype"]),
                read_only: options.as_deref().map(super::mounts::is_read_only),
                options,
                ..Disk::default()
            });
        }
        mounts(list(one, "children"), disks);
    }
}

/// `{"field": "Architecture:", "data": "x86_64"}`, nested by section.
fn cpus(fields: &[Value]) -> HostInfo {
    let mut info = HostInfo::default();
    let mut left: Vec<&Value> = fields.iter().collect();
    while let Some(one) = left.pop() {
        left.extend(list(one, "children"));
        let data = || text(one, &["data"]);
        match one.get("field").and_then(Value::as_str).unwrap_or("") {
            "Architecture:" => info.arch = data(),
            "CPU(s):" => info.cpus = data().as_deref().and_then(int),
            "Model name:" => info.cpu_model = data(),
            "NUMA node(s):" => info.numa_nodes = data().as_deref().and_then(int),
            "Hypervisor vendor:" => info.virtualization = data(),
            _ => {}
        }
    }
    info
}

fn package(json: &Value) -> Option<Version> {
    Some(Version {
        of: text(json, &["name"])?,
        version: text(json, &["version"])?,
    })
}

/// A container as docker lists it (`Names` is a text), or podman (a list).
fn container(json: &Value) -> Option<Container> {
    let names = list(json, "Names").first().and_then(Value::as_str);
    let name = names
        .map(str::to_owned)
        .or_else(|| text(json, &["Names", "Name", "ID", "Id"]))?;
    let status = text(json, &["Status"]);
    let read = status.as_deref().and_then(managers::docker_status);
    let state = text(json, &["State"]);
    Some(Container {
        name: name.trim_start_matches('/').to_owned(),
        status: read.map(|(status, _)| status.to_owned()).or(state)?,
        exit_code: read
            .and_then(|(_, code)| code)
            .or_else(|| json.get("ExitCode").and_then(Value::as_i64)),
        image: text(json, &["Image"]),
        command: text(json, &["Command"]).map(|command| command.trim_matches('"').to_owned()),
        ports: text(json, &["Ports"]),
        health: text(json, &["Health"]).or_else(|| status.as_deref().and_then(containers::health)),
        state_age_s: status.as_deref().and_then(managers::state_age_s),
        ..Container::default()
    })
}

/// A number, also as newer Slurm writes it (`{"set": true, "infinite": false, "number": 60}`).
fn count(json: &Value) -> Option<i64> {
    let flag = |name: &str| json.get(name).and_then(Value::as_bool);
    match json {
        Value::Object(_) if flag("set") == Some(false) || flag("infinite") == Some(true) => None,
        Value::Object(fields) => fields.get("number")?.as_i64(),
        other => other.as_i64(),
    }
}

/// One word, or several put together as `scontrol` does (`IDLE+DRAIN`).
fn states(json: &Value) -> Option<String> {
    let words: Vec<&str> = match json {
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        Value::String(word) => vec![word],
        _ => Vec::new(),
    };
    (!words.is_empty()).then(|| words.join("+"))
}

/// A job of `squeue`, `scontrol show job` (`job_state`) or `sacct` (`state`).
fn job(json: &Value) -> Option<Job> {
    let said = json.get("state");
    let state = json
        .get("job_state")
        .or_else(|| said?.get("current"))
        .and_then(states)?;
    let reason =
        text(json, &["state_reason"]).or_else(|| said.and_then(|said| text(said, &["reason"])));
    let ended = json.get("exit_code");
    let over = !["PENDING", "RUNNING", "CONFIGURING"].contains(&&*state);
    // A job that has not ended is said to have succeeded.
    let ended = ended.filter(|_| over);
    let code = ended.and_then(|ended| count(ended.get("return_code").unwrap_or(ended)));
    let signal = ended
        .and_then(|ended| ended.get("signal"))
        .and_then(|signal| count(signal.get("id").or_else(|| signal.get("signal_id"))?));
    let time = json.get("time");
    let minutes = json
        .get("time_limit")
        .or_else(|| time?.get("limit"))
        .and_then(count);
    let seconds = |count: i64| f64::from(i32::try_from(count).unwrap_or(i32::MAX));
    Some(Job {
        id: text(json, &["job_id"])?,
        name: text(json, &["name"]),
        user: text(json, &["user_name", "user"]),
        partition: text(json, &["partition"]),
        state,
        reason: reason.filter(|reason| reason != "None"),
        exit_code: code,
        signal: signal.filter(|signal| *signal > 0),
        elapsed_s: time
            .and_then(|time| count(time.get("elapsed")?))
            .map(seconds),
        limit_s: minutes.map(|minutes| seconds(minutes) * 60.0),
        nodes: text(json, &["nodes"]).filter(|nodes| nodes != "None assigned"),
        stdout: text(json, &["standard_output"]),
        max_rss_mib: None,
    })
}

/// A node of `scontrol show node`, or of `sinfo` before 23.02.
fn node(json: &Value) -> Option<Node> {
    let flags = json.get("state_flags").and_then(states);
    let state = [json.get("state").and_then(states), flags]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>();
    let state = (!state.is_empty()).then(|| state.join("+"))?;
    Some(Node {
        name: text(json, &["name", "hostname"])?,
        cluster: "slurm".to_owned(),
        usable: slurm::is_usable(&state),
        state,
        reason: text(json, &["reason"]),
        pressure: Vec::new(),
    })
}

/// Nodes of one state in `sinfo` since 23.02.
fn group(json: &Value) -> Vec<Node> {
    let state = json.get("node").and_then(|node| states(node.get("state")?));
    let Some(state) = state else {
        return Vec::new();
    };
    let reason = json.get("reason");
    let names = json.get("nodes").map_or(&[][..], |all| list(all, "nodes"));
    let names = names.iter().filter_map(Value::as_str);
    names
        .map(|name| Node {
            name: name.to_owned(),
            cluster: "slurm".to_owned(),
            usable: slurm::is_usable(&state),
            state: state.clone(),
            reason: reason.and_then(|reason| text(reason, &["description"])),
            pressure: Vec::new(),
        })
        .collect()
}

/// `{"gpu_data": [{"gpu": 0, "usage": {"gfx_activity": {"value": 40, "unit": "%"}}, …}]}` of `amd-smi`, the
/// list alone before ROCm 7.
fn amd_smi_gpu(json: &Value) -> Option<Gpu> {
    let value = |path: [&str; 2]| json.get(path[0])?.get(path[1]);
    let figure = |path: [&str; 2]| {
        let found = value(path)?;
        found.get("value").unwrap_or(found).as_f64()
    };
    let mib = |path: [&str; 2]| {
        let unit = value(path)?.get("unit").and_then(Value::as_str);
        let scale = match unit.unwrap_or("MB") {
            "B" => 1.0 / 1_048_576.0,
            "KB" => 1.0 / 1_024.0,
            "GB" => 1_024.0,
            _ => 1.0,
        };
        figure(path).map(|figure| figure * scale)
    };
    let written = |path: [&str; 2]| value(path)?.as_str().map(str::to_owned);
    Some(Gpu {
        index: Some(json.get("gpu")?.as_i64()?),
        name: written(["asic", "market_name"]),
        uuid: text(json, &["uuid"]),
        pci: text(json, &["bdf"]).or_else(|| written(["bus", "bdf"])),
        memory_used_mib: mib(["mem_usage", "used_vram"]),
        memory_total_mib: mib(["mem_usage", "total_vram"]).or_else(|| mib(["vram", "size"])),
        util_pct: figure(["usage", "gfx_activity"]),
        temp_c: figure(["temperature", "hotspot"]).or_else(|| figure(["temperature", "edge"])),
        power_w: figure(["power", "socket_power"]),
        ecc_uncorrected: value(["ecc", "total_uncorrectable_count"]).and_then(Value::as_i64),
        ..Gpu::default()
    })
}

/// `{"card0": {"GPU use (%)": "0", "VRAM Total Memory (B)": "206141652992", …}}` of `rocm-smi`, or what
/// `amd-smi` prints.
fn amd_gpus(json: &Value) -> Vec<Gpu> {
    let listed = match json.get("gpu_data") {
        Some(data) => items(data),
        None => json.as_array().map_or(&[][..], Vec::as_slice),
    };
    if json.get("gpu").is_some() || !listed.is_empty() {
        // One a line, when the answer was read line by line.
        let alone = std::slice::from_ref(json)
            .iter()
            .filter(|_| listed.is_empty());
        return listed.iter().chain(alone).filter_map(amd_smi_gpu).collect();
    }
    let cards = json.as_object().into_iter().flatten();
    cards
        .filter_map(|(card, fields)| {
            let index = int(card.strip_prefix("card")?).filter(|_| fields.is_object())?;
            let part = |starts: &[&str], holds: &str| {
                let fields = fields.as_object()?.iter();
                let mut fitting = fields.filter(|(name, _)| {
                    name.contains(holds) && starts.iter().any(|start| name.contains(start))
                });
                let value = fitting.next()?.1;
                value.as_str().and_then(number).or_else(|| value.as_f64())
            };
            let bytes = |name: &str| part(&["VRAM Total"], name).map(|bytes| bytes / 1_048_576.0);
            Some(Gpu {
                index: Some(index),
                name: text(fields, &["Device Name", "Card Series", "Card series"]),
                memory_total_mib: bytes("Total Memory (B)"),
                memory_used_mib: bytes("Used Memory (B)"),
                util_pct: part(&["GPU use"], "(%)"),
                temp_c: part(&["junction", "edge"], "(C)"),
                power_w: part(&["Power"], "(W)"),
                ..Gpu::default()
            })
        })
        .collect()
}
