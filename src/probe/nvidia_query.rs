//! The long answers of `nvidia-smi`: `-q` with its sections, `topo -m`, `topo -p2p`, `nvlink`, `mig`,
//! `--version`.
//!
//! Sources: drivers 470 to 580 (sections come and go, their indentation does not);
//! `tests/fixtures/probes/nvidia-smi`.

use super::nvidia::{Round, emit_gpus, emit_processes, is_unknown};
use super::nvidia_lines::report_fit;
use super::words::{Args, int, leading_int, number};
use super::{Ctx, Fit, Shown, Sink, machine, texts};
use crate::fact::{Clock, Gpu, GpuLink, GpuProcess, MigDevice, Version};
use crate::shell::Invocation;

/// Which long answer is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Long {
    Sections,
    Topology,
    Links,
    Mig,
    Versions,
}

/// The long answer that an invocation asks for, if it does.
pub(super) fn form(invocation: &Invocation, valued: &str) -> Option<Long> {
    let first = invocation
        .args()
        .first()
        .map_or("", |word| word.text.as_str());
    match first {
        "topo" => return Some(Long::Topology),
        "nvlink" => return Some(Long::Links),
        "mig" => return Some(Long::Mig),
        _ => {}
    }
    let args = Args::of(invocation, valued);
    if args.has(&["x", "xml-format"]) {
        None
    } else if args.has(&["q", "query"]) {
        Some(Long::Sections)
    } else if args.has(&["version"]) {
        Some(Long::Versions)
    } else {
        None
    }
}

/// A word of the legend under `topo -m`: `X`, `SYS`, `PXB`, `NV#`, `NIC0`.
fn is_link(word: &str) -> bool {
    (1..=8).contains(&word.len())
        && word
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '#')
}

/// How well a line fits into such an answer.
pub(super) fn fit(long: Long, line: &str, nth: usize, loops: bool) -> Fit {
    let trimmed = line.trim();
    if long == Long::Sections && !loops {
        // Each answer begins so, after an empty line.
        match (trimmed.starts_with("==============NVSMI LOG"), nth) {
            (true, 0 | 1) => return Fit::Surely,
            (true, _) => return Fit::No,
            (false, 0) if !trimmed.is_empty() => return Fit::No,
            _ => {}
        }
    }
    if long == Long::Mig && !loops {
        // `| GPU instances: |` is the second line of each table.
        match (trimmed.contains(" instances:"), nth) {
            (true, 2..) | (true, 0) => return Fit::No,
            (false, 0) if !trimmed.starts_with('+') => return Fit::Hardly,
            _ => {}
        }
    }
    let good = match long {
        Long::Sections => return report_fit(line),
        Long::Topology => {
            trimmed.starts_with("GPU")
                || trimmed.starts_with("NIC")
                || trimmed.starts_with("mlx")
                || trimmed
                    .split_once("= ")
                    .is_some_and(|(link, _)| is_link(link.trim()))
                || trimmed.starts_with("Legend")
        }
        Long::Links => trimmed.starts_with("GPU ") || trimmed.starts_with("Link "),
        Long::Mig => trimmed.starts_with(['|', '+']) || trimmed.contains("MIG"),
        Long::Versions => {
            trimmed.contains(" : ") && trimmed.starts_with(|c: char| c.is_ascii_alphabetic())
        }
    };
    let rest = match long {
        Long::Topology => trimmed.contains('\t') || trimmed.is_empty(),
        _ => trimmed.is_empty() || trimmed.starts_with("No "),
    };
    match (good, rest) {
        (true, _) => Fit::Surely,
        (false, true) => Fit::Perhaps,
        (false, false) => Fit::Hardly,
    }
}

/// Reads it.
pub(super) fn read(long: Long, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    match long {
        // A part that grep picked has lost the GPU and the section it is of.
        Long::Sections
            if !ctx.filter.patterns.is_empty()
                || ctx.filter.columns.is_some()
                || ctx.filter.opaque =>
        {
            texts::as_plain(lines, ctx, sink);
        }
        Long::Sections => sections(lines, ctx, sink),
        Long::Topology => topology(lines, sink),
        Long::Links => links(lines, sink),
        Long::Mig => instances(lines, sink),
        Long::Versions => versions(lines, sink),
    }
}

/// A GPU whose sections are being read.
#[derive(Default)]
struct Open {
    gpu: Gpu,
    reasons: Vec<String>,
    uncorrected: Option<i64>,
    processes: Vec<(usize, GpuProcess)>,
}

impl Open {
    /// A value under its section's path (the names of sections, outermost first).
    fn take(&mut self, at: usize, path: &[&str], name: &str, value: &str) {
        let section = path.first().copied().unwrap_or("");
        let last = path.last().copied().unwrap_or("");
        let yes = |value: &str| Some(matches!(value, "Yes" | "1"));
        let gpu = &mut self.gpu;
        match (section, name) {
            ("", "Product Name") => gpu.name = Some(value.to_owned()),
            ("", "GPU UUID") => gpu.uuid = Some(value.to_owned()),
            ("", "GPU Recovery Action") if value != "None" => {
                gpu.recovery = Some(value.to_owned());
            }
            ("MIG Mode", "Current") => gpu.mig = Some(value == "Enabled"),
            ("PCI", "Bus Id") => gpu.pci = Some(value.to_owned()),
            ("PCI", "Current") if last == "PCIe Generation" => gpu.pcie_gen = int(value),
            ("PCI", "Current") if last == "Link Width" => {
                gpu.pcie_width = leading_int(value).map(|(width, _)| width);
            }
            (
                "Clocks Event Reasons" | "Clocks Throttle Reasons",
                "Idle" | "Applications Clocks Setting" | "Display Clock Setting",
            ) => {}
            ("Clocks Event Reasons" | "Clocks Throttle Reasons", reason) if value == "Active" => {
                self.reasons.push(reason.to_owned());
            }
            ("FB Memory Usage", "Total") => gpu.memory_total_mib = number(value),
            ("FB Memory Usage", "Used") => gpu.memory_used_mib = number(value),
            ("Utilization", "Gpu" | "GPU") => gpu.util_pct = number(value),
            ("ECC Errors", name) if path.contains(&"Volatile") => {
                let total = last == "Double Bit" && name == "Total";
                if (name.contains("Uncorrectable") || total)
                    && let Some(errors) = int(value)
                {
                    self.uncorrected = Some(self.uncorrected.unwrap_or(0) + errors);
                }
            }
            ("ECC Errors", "Channel Repair Pending" | "TPC Repair Pending")
            | ("Retired Pages", "Pending Page Blacklist" | "Pending")
            | ("Remapped Rows", "Pending")
                if gpu.repair_pending != Some(true) =>
            {
                gpu.repair_pending = yes(value);
            }
            ("Remapped Rows", "Remapping Failure Occurred")
            | ("ECC Errors", "Unrepairable Memory")
                if gpu.repair_failed != Some(true) =>
            {
                gpu.repair_failed = yes(value);
            }
            ("Temperature", "GPU Current Temp") => gpu.temp_c = number(value),
            (
                "GPU Power Readings" | "Power Readings",
                "Power Draw" | "Average Power Draw" | "Instantaneous Power Draw",
            ) => {
                gpu.power_w = number(value);
            }
            (
                "GPU Power Readings" | "Power Readings",
                "Power Limit" | "Current Power Limit" | "Enforced Power Limit",
            ) => {
                gpu.power_limit_w = number(value);
            }
            ("Clocks", "SM") => gpu.clock_sm_mhz = number(value),
            ("Fabric", "State") if path.len() == 1 => gpu.fabric = Some(value.to_owned()),
            ("Processes", _) => self.process(at, name, value),
            _ => {}
        }
    }

    fn process(&mut self, at: usize, name: &str, value: &str) {
        if name == "Process ID" {
            let process = GpuProcess {
                pid: int(value),
                ..GpuProcess::default()
            };
            self.processes.push((at, process));
        } else if let Some((_, process)) = self.processes.last_mut() {
            match name {
                "Name" => process.name = Some(value.to_owned()),
                "Used GPU Memory" => process.used_mib = number(value),
                _ => {}
            }
        }
    }
}

fn sections(lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let asked: Vec<i64> = Args::of(ctx.invocation, super::nvidia::VALUED)
        .value(&["i", "id"])
        .map(|list| list.split(',').filter_map(int).collect())
        .unwrap_or_default();
    let mut driver = None;
    let mut cuda = None;
    let mut attached = None;
    let mut gpus: Vec<(usize, Open)> = Vec::new();
    let mut path: Vec<(usize, &str)> = Vec::new();
    let mut processes_told = false;
    // `| cut -c1-60`: what ends where all lines are cut may be half a value.
    let width = lines.iter().map(|line| line.text.len()).max().unwrap_or(0);
    for (at, line) in lines.iter().enumerate() {
        if ctx.filter.reshaped && line.text.len() == width && line.text.contains(" : ") {
            continue;
        }
        let text = line.text.trim_end();
        let name = text.trim_start();
        let indent = text.len() - name.len();
        if name.is_empty() {
            continue;
        }
        if indent == 0 && name.starts_with("GPU ") {
            let mut open = Open::default();
            open.gpu.pci = name.strip_prefix("GPU ").map(|pci| pci.trim().to_owned());
            gpus.push((at, open));
            path.clear();
            continue;
        }
        path.retain(|(own, _)| *own < indent);
        let Some((name, value)) = name.split_once(" : ") else {
            path.push((indent, name));
            continue;
        };
        let (name, value) = (name.trim(), value.trim());
        let Some((_, open)) = gpus.last_mut() else {
            match name {
                "Timestamp" => {
                    if let Some(time_us) = machine::ctime(value) {
                        sink.line(
                            line,
                            Clock {
                                time_us,
                                day_unknown: false,
                            },
                        );
                    }
                }
                "Driver Version" => driver = Some(value.to_owned()),
                "CUDA Version" => cuda = Some(value.to_owned()).filter(|cuda| cuda != "N/A"),
                "Attached GPUs" => attached = int(value),
                _ => {}
            }
            continue;
        };
        processes_told |= name == "Processes" || name == "Process ID";
        if !is_unknown(value) && value != "None" || name == "Processes" {
            let names: Vec<&str> = path.iter().map(|(_, name)| *name).collect();
            open.take(at, &names, name, value);
        }
    }
    if gpus.is_empty() && driver.is_none() {
        return;
    }
    let cut = ctx.filter.cut(lines.len())
        || !asked.is_empty()
        || attached.is_some_and(|all| usize::try_from(all).unwrap_or(0) > gpus.len());
    let mut round = Vec::new();
    let mut processes = Vec::new();
    for (nth, (at, open)) in gpus.into_iter().enumerate() {
        let Some(line) = lines.get(at) else { continue };
        let mut gpu = open.gpu;
        gpu.index = if asked.is_empty() {
            i64::try_from(nth).ok()
        } else {
            asked.get(nth).copied()
        };
        gpu.ecc_uncorrected = open.uncorrected;
        gpu.throttle = (!open.reasons.is_empty()).then(|| open.reasons.join(", "));
        for (at, mut process) in open.processes {
            process.gpu = gpu.index;
            if let Some(line) = lines.get(at) {
                processes.push((line, process));
            }
        }
        round.push((line, gpu));
    }
    let round = Round {
        gpus: round,
        cut,
        driver,
        cuda,
    };
    emit_gpus(lines, round, ctx, sink);
    if processes_told {
        emit_processes(lines, processes, cut, ctx, sink);
    }
}

/// `GPU0 … NV18 … PIX` under `GPU0 GPU1 NIC0 CPU Affinity`.
fn topology(lines: &[Shown], sink: &mut Sink<'_>) {
    let is_device = |word: &str| {
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
        letters.len() < word.len() && matches!(letters, "GPU" | "NIC" | "mlx5" | "mlx4" | "mlx")
    };
    let mut names: Vec<String> = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let Some(first) = words.first() else { continue };
        if !is_device(first) {
            continue;
        }
        // The head has nothing but devices and words; a row has ways between.
        if words.get(1).is_none_or(|second| is_device(second))
            || words.get(1).is_some_and(|second| *second == "CPU")
        {
            names = words
                .iter()
                .take_while(|word| is_device(word))
                .map(|word| (*word).to_owned())
                .collect();
            continue;
        }
        let Some(own) = names.iter().position(|name| name == first) else {
            continue;
        };
        if !first.starts_with("GPU") {
            continue;
        }
        for (at, (name, way)) in names.iter().zip(words.iter().skip(1)).enumerate() {
            let near = name.starts_with("GPU") || matches!(*way, "PIX" | "PXB" | "PHB");
            if at <= own || !near || *way == "X" {
                continue;
            }
            let peer = matches!(*way, "OK" | "NS" | "CNS" | "GNS" | "TNS" | "DR" | "U");
            sink.line(
                line,
                GpuLink {
                    from: (*first).to_owned(),
                    to: Some(name.clone()),
                    kind: Some((*way).to_owned()),
                    active: peer.then_some(*way == "OK"),
                    ..GpuLink::default()
                },
            );
        }
    }
}

/// `Link 0: 26.562 GB/s`, `Link 0: <inactive>`, `Link 0: Replay Errors: 0`.
fn links(lines: &[Shown], sink: &mut Sink<'_>) {
    let mut from = String::new();
    let mut open: Option<(&Shown, GpuLink)> = None;
    for line in lines {
        let text = line.text.trim();
        if let Some((index, _)) = text.strip_prefix("GPU ").and_then(leading_int) {
            if let Some((line, link)) = open.take() {
                sink.line(line, link);
            }
            from = format!("GPU{index}");
            continue;
        }
        let Some((number_, rest)) = text
            .strip_prefix("Link ")
            .and_then(leading_int)
            .and_then(|(number_, rest)| Some((number_, rest.strip_prefix(':')?.trim())))
        else {
            continue;
        };
        if open
            .as_ref()
            .is_none_or(|(_, link)| link.link != Some(number_))
        {
            if let Some((line, link)) = open.take() {
                sink.line(line, link);
            }
            open = Some((
                line,
                GpuLink {
                    from: from.clone(),
                    link: Some(number_),
                    ..GpuLink::default()
                },
            ));
        }
        let Some((_, link)) = &mut open else { continue };
        if let Some((_, errors)) = rest.split_once("Errors:") {
            link.errors = int(errors).map(|errors| link.errors.unwrap_or(0) + errors);
        } else if rest.contains("inactive") || rest.contains("Inactive") {
            link.active = Some(false);
        } else if rest.ends_with("GB/s") {
            link.active = Some(true);
            link.speed_gb_s = number(rest);
        } else {
            open = None; // capabilities, counters
        }
    }
    if let Some((line, link)) = open {
        sink.line(line, link);
    }
}

/// `MIG 3g.40gb  Device 0: (UUID: MIG-…)` of `nvidia-smi -L`.
pub(super) fn listed_instance(text: &str, gpu: Option<i64>) -> Option<MigDevice> {
    let rest = text.trim_start().strip_prefix("MIG ")?;
    let (profile, rest) = rest.split_once(" Device ")?;
    let (device, rest) = leading_int(rest)?;
    Some(MigDevice {
        gpu,
        device: Some(device),
        profile: Some(profile.trim().to_owned()),
        uuid: rest
            .split_once("UUID: ")
            .map(|(_, uuid)| uuid.trim_end_matches(')').to_owned()),
        ..MigDevice::default()
    })
}

/// `|   0  MIG 1g.5gb       19        7          4:1     |` of `nvidia-smi mig -lgi`.
fn instances(lines: &[Shown], sink: &mut Sink<'_>) {
    for line in lines {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        if let ["|", gpu, "MIG", profile, _, _, ..] = words.as_slice()
            && let Some(gpu) = int(gpu)
        {
            sink.line(
                line,
                MigDevice {
                    gpu: Some(gpu),
                    profile: Some((*profile).to_owned()),
                    ..MigDevice::default()
                },
            );
        }
    }
}

/// `DRIVER version      : 580.159.04`
fn versions(lines: &[Shown], sink: &mut Sink<'_>) {
    for line in lines {
        let Some((name, version)) = line.text.split_once(" : ") else {
            continue;
        };
        let of = match name.trim().to_ascii_lowercase().as_str() {
            "driver version" => "nvidia driver",
            "cuda version" => "cuda",
            "nvml version" => "nvml",
            "nvidia-smi version" => "nvidia-smi",
            _ => continue,
        };
        sink.line(
            line,
            Version {
                of: of.to_owned(),
                version: version.trim().to_owned(),
            },
        );
    }
}
