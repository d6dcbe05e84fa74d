//! `nvidia-smi` (queries, `-L`, `dmon`, `pmon`; the plain table is in `nvidia_table.rs`) and
//! `gpustat`.
//!
//! Sources: nvidia-smi of drivers 470 to 590, `nvidia-smi --help-query-gpu`; gpustat 1.1;
//! `tests/fixtures/probes/nvidia-smi`.

use super::nvidia_lines::{csv_fit, monitor_fit, picked_fit};
use super::nvidia_query::{self, Long};
use super::nvidia_table;
use super::words::{Args, count, int, number, whole};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::fact::{Gpu, GpuLook, GpuProcess, GpuProcessLook};
use crate::shell::{Invocation, Tri};

/// How nvidia-smi was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    Table,
    List,
    Gpus { fields: Vec<String>, header: bool },
    Apps { fields: Vec<String>, header: bool },
    Dmon,
    Pmon,
    Long(Long),
    Other,
}

pub(super) const VALUED: &str = "i id d display l loop lms loop-ms f filename format query-gpu query-compute-apps query-accounted-apps query-supported-clocks s select c count delay o options";

fn form(invocation: &Invocation) -> Form {
    let first = invocation
        .args()
        .first()
        .map_or("", |word| word.text.as_str());
    match first {
        "dmon" => return Form::Dmon,
        "pmon" => return Form::Pmon,
        "clocks" | "drain" | "stats" | "vgpu" | "conf-compute" | "c2c" | "power-smoothing" => {
            return Form::Other;
        }
        _ => {}
    }
    if let Some(long) = nvidia_query::form(invocation, VALUED) {
        return Form::Long(long);
    }
    let args = Args::of(invocation, VALUED);
    let fields = |names: &[&str]| {
        args.value(names).map(|list| {
            list.split(',')
                .map(|one| one.trim().to_owned())
                .filter(|one| !one.is_empty())
                .collect::<Vec<_>>()
        })
    };
    let header = !args
        .value(&["format"])
        .is_some_and(|format| format.contains("noheader"));
    if let Some(fields) = fields(&["query-gpu"]) {
        Form::Gpus { fields, header }
    } else if let Some(fields) = fields(&["query-compute-apps", "query-accounted-apps"]) {
        Form::Apps { fields, header }
    } else if args.has(&["L", "list-gpus"]) {
        Form::List
    } else if args.has(&[
        "h",
        "help",
        "x",
        "pm",
        "pl",
        "r",
        "gpu-reset",
        "lgc",
        "rgc",
        "mig",
        "e",
        "B",
    ]) {
        Form::Other
    } else {
        Form::Table
    }
}

/// Messages of nvidia-smi instead of an answer; they come on standard output.
pub(super) fn is_message(text: &str) -> bool {
    [
        "Failed to initialize NVML",
        "NVIDIA-SMI has failed",
        "NVIDIA-SMI couldn't find",
        "No devices were found",
        "No MIG-enabled devices",
        "No MIG-supported devices",
        "No Devices support",
        "NVML library version",
        "Unable to determine the device handle",
        "Please make sure that the",
        "Please also try adding directory",
        "Make sure that the latest NVIDIA driver",
        "ERROR: Option ",
        "Field \"",
        "Invalid combination",
        "No devices found",
        "Please run 'nvidia-smi -h'",
        "Invalid GPU",
        "Unable to ",
        "Reboot the system",
        "WARNING: infoROM",
        "WARNING: persistence",
        "WARNING: GPU",
        "WARNING: Power",
        "No runtime available",
        "Not Supported",
    ]
    .iter()
    .any(|start| text.starts_with(start))
}

/// `nvidia-smi`.
pub(super) struct NvidiaSmi;

impl Probe for NvidiaSmi {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "nvidia-smi"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let form = form(ctx.invocation);
        let min = usize::from(!matches!(form, Form::Apps { header: false, .. }));
        let loops = repeats(ctx.invocation) || ctx.filter.may_lose_start();
        // A monitor says the names of its columns again after a screenful only.
        let few = Args::of(ctx.invocation, "c count s d delay i id o f")
            .value(&["c", "count"])
            .and_then(int)
            .is_some_and(|count| count <= 10)
            && matches!(form, Form::Dmon | Form::Pmon);
        let grammar = Grammar::at_least(min, move |line, nth| {
            if is_message(line) {
                return Fit::Surely;
            }
            match &form {
                Form::Table => match nvidia_table::fit(line) {
                    // The time stands above the table; only a loop prints it again.
                    Fit::Likely if nth > 0 && !loops => Fit::No,
                    fit => fit,
                },
                Form::List => {
                    let line = line.trim_start();
                    (line.starts_with("GPU ") || line.starts_with("MIG ")).into()
                }
                Form::Gpus { fields, header } | Form::Apps { fields, header } => {
                    let counted = ctx.filter.numbered;
                    let row = if counted {
                        without_count(line)
                    } else {
                        Some(line)
                    };
                    // The first GPU again is the next look, unless this one goes round by itself.
                    let again = nth > usize::from(*header)
                        && !loops
                        && row.is_some_and(|row| first_gpu(row, fields));
                    match (row.filter(|_| !again), &ctx.filter.columns) {
                        (Some(row), Some(_)) => picked_fit(row, fields),
                        (Some(row), None) => csv_fit(row, nth, fields, *header),
                        (None, _) => Fit::No,
                    }
                }
                Form::Dmon | Form::Pmon => monitor_fit(line),
                Form::Long(long) => nvidia_query::fit(*long, line, nth, loops),
                Form::Other => Fit::Perhaps,
            }
        });
        if few {
            grammar.opened_by(ctx.filter, |line| line.starts_with("# gpu"))
        } else {
            grammar
        }
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        if lines
            .iter()
            .any(|line| is_message(&line.text) && !line.text.starts_with("WARNING"))
        {
            return; // an error is no look; its text stands as a line
        }
        match form(ctx.invocation) {
            Form::Table => nvidia_table::read(lines, ctx, sink),
            Form::List => list(lines, ctx, sink),
            Form::Gpus { fields, header } => gpus(lines, &fields, header, ctx, sink),
            Form::Apps { fields, header } => apps(lines, &fields, header, ctx, sink),
            Form::Dmon => dmon(lines, ctx, sink),
            Form::Pmon => pmon(lines, ctx, sink),
            Form::Long(long) => nvidia_query::read(long, lines, ctx, sink),
            Form::Other => {}
        }
    }

    fn is_chatter(&self, line: &str) -> bool {
        // The head of a query: names of fields, with their units.
        let mut cells = line.split(", ");
        line.contains(", ")
            && cells.all(|cell| {
                let name = cell.split(" [").next().unwrap_or(cell);
                name.chars()
                    .all(|c| c.is_ascii_lowercase() || matches!(c, '.' | '_'))
            })
    }
}

/// The canonical name of a field as asked, or as a header prints it (`memory.used [MiB]`).
pub(super) fn field_name(written: &str) -> &str {
    let bare = written.split('[').next().unwrap_or(written).trim();
    match bare {
        "gpu_name" => "name",
        "used_gpu_memory" => "used_memory",
        "gpu_uuid" => "uuid",
        "process_name" => "name",
        "power.draw.instant" | "power.draw.average" => "power.draw",
        "enforced.power.limit" => "power.limit",
        "gpu_bus_id" => "pci.bus_id",
        other => other,
    }
}

pub(super) fn cells(line: &str) -> Vec<&str> {
    line.split(',').map(str::trim).collect()
}

pub(super) fn is_header(line: &str, fields: &[String]) -> bool {
    let cells = cells(line);
    cells.len() == fields.len()
        && cells.iter().zip(fields).all(|(cell, field)| {
            let (cell, field) = (field_name(cell), field_name(field));
            cell == field
                || number(cell).is_none() && cell.contains('.') && same_family(cell, field)
        })
}

/// A newer driver prints a newer name (`clocks_event_reasons.active` for `clocks_throttle_reasons.…`).
fn same_family(one: &str, other: &str) -> bool {
    let last = |name: &str| name.rsplit('.').next().unwrap_or("").to_owned();
    one.starts_with("clocks_") && other.starts_with("clocks_") && last(one) == last(other)
}

/// `nvidia-smi -l 5`: it prints all rows again and again.
fn repeats(invocation: &Invocation) -> bool {
    invocation.args().iter().any(|word| {
        let name = word.text.split('=').next().unwrap_or("");
        matches!(name, "--loop" | "--loop-ms")
            || name
                .strip_prefix("-l")
                .is_some_and(|rest| rest == "ms" || rest.chars().all(|c| c.is_ascii_digit()))
    })
}

/// The row of the GPU with index 0.
fn first_gpu(row: &str, fields: &[String]) -> bool {
    cells(row)
        .iter()
        .zip(fields)
        .any(|(cell, field)| field_name(field) == "index" && *cell == "0")
}

pub(super) fn is_unknown(cell: &str) -> bool {
    let cell = cell.trim_matches(['[', ']']);
    matches!(
        cell,
        "N/A"
            | "Not Supported"
            | "Unknown Error"
            | "GPU is lost"
            | "Insufficient Permissions"
            | "Not Found"
            | "ERR!"
            | "Requested functionality has been deprecated"
    )
}

/// The value under a field, unless the tool says that it does not know.
fn value<'a>(cells: &[&'a str], fields: &[String], names: &[&str]) -> Option<&'a str> {
    let at = fields
        .iter()
        .position(|field| names.contains(&field_name(field)))?;
    cells
        .get(at)
        .copied()
        .filter(|cell| !is_unknown(cell) && !cell.is_empty())
}

/// The fields in the order their values stand, when a filter picked columns.
fn shown_fields(fields: &[String], ctx: &Ctx<'_>) -> Option<Vec<String>> {
    match &ctx.filter.columns {
        None => Some(fields.to_vec()),
        Some(columns) => {
            let by_comma = columns
                .separator
                .as_deref()
                .is_some_and(|by| by.trim() == ",");
            let single = fields.len() == 1;
            columns
                .fields
                .iter()
                .map(|field| match field {
                    Some(at) if by_comma => fields.get(at.checked_sub(1)?).cloned(),
                    Some(1) if single => fields.first().cloned(),
                    _ => None,
                })
                .collect()
        }
    }
}

fn gpus(lines: &[Shown], fields: &[String], header: bool, ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let Some(fields) = shown_fields(fields, ctx) else {
        return;
    };
    let cut_by = ctx.filter.cut(lines.len());
    let mut rounds: Vec<Vec<(&Shown, Gpu)>> = vec![Vec::new()];
    let mut driver = None;
    let mut header_first = false;
    for line in lines {
        if line.text.trim().is_empty() {
            continue;
        }
        if is_header(&line.text, &fields) {
            if rounds.last().is_some_and(|round| !round.is_empty()) {
                rounds.push(Vec::new());
            }
            header_first = true;
            continue;
        }
        let text = if ctx.filter.numbered {
            line.text
                .trim_start()
                .split_once(' ')
                .map_or("", |(_, rest)| rest)
        } else {
            line.text.as_str()
        };
        if csv_fit(text, 1, &fields, header) == Fit::No {
            if !line.text.starts_with("WARNING") && line.stream != crate::event::Stream::Stderr {
                sink.complain(line, "not a row of the fields asked for");
            }
            continue;
        }
        let cells = cells(text);
        let gpu = gpu_of(&cells, &fields);
        driver = value(&cells, &fields, &["driver_version"])
            .map(str::to_owned)
            .or(driver);
        let again = gpu.index.is_some()
            && rounds
                .last()
                .is_some_and(|round| round.iter().any(|(_, seen)| seen.index == gpu.index));
        if again {
            rounds.push(Vec::new());
        }
        let repeats = if ctx.filter.numbered {
            text_count(&line.text)
        } else {
            1
        };
        for _ in 0..repeats {
            if let Some(round) = rounds.last_mut() {
                round.push((line, gpu.clone()));
            }
        }
    }
    let indexed = fields
        .iter()
        .any(|field| matches!(field_name(field), "index" | "uuid" | "pci.bus_id"));
    let one = Args::of(ctx.invocation, VALUED)
        .value(&["i", "id"])
        .is_some();
    for round in rounds {
        if round.is_empty() && !header_first {
            continue;
        }
        // Without an index the rows stand in order of the index, all of them or the first ones.
        let ordered = !indexed && !one && !ctx.filter.may_lose_start() && !ctx.filter.numbered;
        let round = round
            .into_iter()
            .enumerate()
            .map(|(at, (line, mut gpu))| {
                if ordered && gpu.index.is_none() {
                    gpu.index = Some(count(at));
                }
                (line, gpu)
            })
            .collect();
        let round = Round {
            gpus: round,
            cut: cut_by || one || !ctx.filter.patterns.is_empty(),
            driver: driver.clone(),
            cuda: None,
        };
        emit_gpus(lines, round, ctx, sink);
    }
}

/// A line without the count that `uniq -c` puts in front.
fn without_count(text: &str) -> Option<&str> {
    let (number, rest) = text.trim_start().split_once(' ')?;
    int(number).map(|_| rest.trim_start())
}

/// The count that `uniq -c` puts in front.
fn text_count(text: &str) -> usize {
    text.split_whitespace()
        .next()
        .and_then(|one| one.parse().ok())
        .filter(|times| *times <= 64)
        .unwrap_or(1)
}

fn gpu_of(cells: &[&str], fields: &[String]) -> Gpu {
    let num = |names: &[&str]| value(cells, fields, names).and_then(number);
    Gpu {
        index: value(cells, fields, &["index"]).and_then(int),
        uuid: value(cells, fields, &["uuid"]).map(str::to_owned),
        name: value(cells, fields, &["name"]).map(str::to_owned),
        memory_used_mib: num(&["memory.used"]),
        memory_total_mib: num(&["memory.total"]),
        util_pct: num(&["utilization.gpu"]),
        power_w: num(&["power.draw"]),
        power_limit_w: num(&["power.limit"]),
        temp_c: num(&["temperature.gpu"]),
        ecc_uncorrected: num(&[
            "ecc.errors.uncorrected.volatile.total",
            "ecc.errors.uncorrected.aggregate.total",
        ])
        .and_then(whole),
        throttle: value(
            cells,
            fields,
            &[
                "clocks_throttle_reasons.active",
                "clocks_event_reasons.active",
            ],
        )
        .map(str::to_owned),
        pci: value(cells, fields, &["pci.bus_id"]).map(str::to_owned),
        mig: value(cells, fields, &["mig.mode.current"]).map(|mode| mode == "Enabled"),
        clock_sm_mhz: num(&["clocks.sm", "clocks.current.sm"]),
        repair_pending: value(
            cells,
            fields,
            &["remapped_rows.pending", "retired_pages.pending"],
        )
        .map(|pending| matches!(pending, "Yes" | "1")),
        repair_failed: value(cells, fields, &["remapped_rows.failure"])
            .map(|failed| matches!(failed, "Yes" | "1")),
        recovery: value(cells, fields, &["gpu_recovery_action"])
            .filter(|action| *action != "None")
            .map(str::to_owned),
        fabric: value(cells, fields, &["fabric.state"]).map(str::to_owned),
        pcie_gen: value(
            cells,
            fields,
            &["pcie.link.gen.current", "pcie.link.gen.gpucurrent"],
        )
        .and_then(int),
        pcie_width: value(cells, fields, &["pcie.link.width.current"]).and_then(int),
    }
}

/// What one look at GPUs showed.
#[derive(Default)]
pub(super) struct Round<'a> {
    /// Each GPU with its line.
    pub gpus: Vec<(&'a Shown, Gpu)>,
    /// Some were cut away.
    pub cut: bool,
    /// The driver's version.
    pub driver: Option<String>,
    /// The CUDA version.
    pub cuda: Option<String>,
}

/// The facts of a look at GPUs, read from these lines.
pub(super) fn emit_gpus(lines: &[Shown], round: Round<'_>, ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let Round {
        gpus: round,
        cut,
        driver,
        cuda,
    } = round;
    let used: Vec<f64> = round
        .iter()
        .filter_map(|(_, gpu)| gpu.memory_used_mib)
        .collect();
    let most = |values: &mut dyn Iterator<Item = f64>| {
        values.fold(None, |most: Option<f64>, value| {
            Some(most.map_or(value, |most| most.max(value)))
        })
    };
    let own: Vec<Shown> = round.iter().map(|(line, _)| (*line).clone()).collect();
    sink.lines(
        if own.is_empty() { lines } else { &own },
        GpuLook {
            tool: ctx.invocation.program().to_owned(),
            shown: count(round.len()),
            cut,
            most_used_mib: most(&mut used.iter().copied()),
            all_used_mib: (!used.is_empty()).then(|| used.iter().sum()),
            most_util_pct: most(&mut round.iter().filter_map(|(_, gpu)| gpu.util_pct)),
            driver,
            cuda,
        },
    );
    for (line, gpu) in round {
        sink.line(line, gpu);
    }
}

fn apps(lines: &[Shown], fields: &[String], header: bool, ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let Some(fields) = shown_fields(fields, ctx) else {
        return;
    };
    let mut seen = Vec::new();
    let mut header_seen = false;
    for line in lines.iter().filter(|line| !line.text.trim().is_empty()) {
        if is_header(&line.text, &fields) {
            header_seen = true;
            continue;
        }
        if csv_fit(&line.text, 1, &fields, header) == Fit::No {
            if line.stream != crate::event::Stream::Stderr {
                sink.complain(line, "not a row of the fields asked for");
            }
            continue;
        }
        let cells = cells(&line.text);
        seen.push((
            line,
            GpuProcess {
                pid: value(&cells, &fields, &["pid"]).and_then(int),
                name: value(&cells, &fields, &["name"]).map(str::to_owned),
                gpu: None,
                used_mib: value(&cells, &fields, &["used_memory"]).and_then(number),
            },
        ));
    }
    if seen.is_empty() && !header_seen && ctx.ran != Tri::Yes {
        return;
    }
    let cut = ctx.filter.cut(lines.len()) || !ctx.filter.patterns.is_empty();
    emit_processes(lines, seen, cut, ctx, sink);
}

/// A look at the processes on GPUs and what it showed.
pub(super) fn emit_processes(
    lines: &[Shown],
    seen: Vec<(&Shown, GpuProcess)>,
    cut: bool,
    ctx: &Ctx<'_>,
    sink: &mut Sink<'_>,
) {
    let mut pids: Vec<i64> = seen.iter().filter_map(|(_, process)| process.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    sink.lines(
        lines,
        GpuProcessLook {
            tool: ctx.invocation.program().to_owned(),
            count: count(if pids.is_empty() {
                seen.len()
            } else {
                pids.len()
            }),
            pids,
            cut,
        },
    );
    for (line, process) in seen {
        sink.line(line, process);
    }
}

/// `GPU 0: NVIDIA A10 (UUID: GPU-…)`
fn list(lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let mut round: Vec<(&Shown, Gpu)> = Vec::new();
    let mut devices = Vec::new();
    for line in lines {
        let Some(rest) = line.text.strip_prefix("GPU ") else {
            let gpu = round.last().and_then(|(_, gpu): &(&Shown, Gpu)| gpu.index);
            if let Some(device) = nvidia_query::listed_instance(&line.text, gpu) {
                devices.push((line, device));
            }
            continue;
        };
        let Some((index, rest)) = rest.split_once(": ") else {
            sink.complain(line, "not a line of nvidia-smi -L");
            continue;
        };
        let (name, uuid) = match rest.split_once(" (UUID: ") {
            Some((name, uuid)) => (name, Some(uuid.trim_end().trim_end_matches(')').to_owned())),
            None => (rest, None),
        };
        round.push((
            line,
            Gpu {
                index: int(index),
                uuid,
                name: Some(name.trim().to_owned()),
                ..Gpu::default()
            },
        ));
    }
    if !round.is_empty() {
        let cut = ctx.filter.cut(lines.len()) || !ctx.filter.patterns.is_empty();
        let round = Round {
            gpus: round,
            cut,
            ..Round::default()
        };
        emit_gpus(lines, round, ctx, sink);
    }
    for (line, device) in devices {
        sink.line(line, device);
    }
}

/// `dmon`: a table that repeats, its columns named in a line that begins with `# gpu`.
fn dmon(lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let mut names: Vec<&str> = Vec::new();
    let mut rounds: Vec<Vec<(&Shown, Gpu)>> = vec![Vec::new()];
    for line in lines {
        if let Some(head) = line.text.strip_prefix('#') {
            if head
                .split_whitespace()
                .any(|one| one.eq_ignore_ascii_case("gpu"))
            {
                names = head.split_whitespace().collect();
            }
            continue;
        }
        let cells: Vec<&str> = line.text.split_whitespace().collect();
        if names.is_empty() || cells.len() != names.len() {
            continue;
        }
        let of = |name: &str| {
            names
                .iter()
                .position(|one| *one == name)
                .and_then(|at| cells.get(at))
                .and_then(|cell| number(cell))
        };
        let gpu = Gpu {
            index: of("gpu").and_then(whole),
            memory_used_mib: of("fb"),
            util_pct: of("sm"),
            power_w: of("pwr"),
            temp_c: of("gtemp"),
            clock_sm_mhz: of("pclk"),
            ecc_uncorrected: of("dbecc").and_then(whole),
            ..Gpu::default()
        };
        if rounds
            .last()
            .is_some_and(|round| round.iter().any(|(_, seen)| seen.index == gpu.index))
        {
            rounds.push(Vec::new());
        }
        if let Some(round) = rounds.last_mut() {
            round.push((line, gpu));
        }
    }
    for round in rounds.into_iter().filter(|round| !round.is_empty()) {
        let round = Round {
            gpus: round,
            cut: ctx.filter.cut(lines.len()),
            ..Round::default()
        };
        emit_gpus(lines, round, ctx, sink);
    }
}

/// `pmon`: `gpu pid type sm mem enc dec command`; `-` where a GPU has no process.
fn pmon(lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let mut names: Vec<&str> = Vec::new();
    let mut seen = Vec::new();
    let mut any = false;
    for line in lines {
        if let Some(head) = line.text.strip_prefix('#') {
            if head.split_whitespace().any(|one| one == "pid") {
                names = head.split_whitespace().collect();
            }
            continue;
        }
        let cells: Vec<&str> = line.text.split_whitespace().collect();
        let of = |name: &str| {
            names
                .iter()
                .position(|one| *one == name)
                .and_then(|at| cells.get(at))
                .copied()
        };
        let Some(gpu) = of("gpu").and_then(int) else {
            continue;
        };
        any = true;
        if let Some(pid) = of("pid").and_then(int) {
            seen.push((
                line,
                GpuProcess {
                    pid: Some(pid),
                    name: of("command").map(str::to_owned),
                    gpu: Some(gpu),
                    used_mib: of("fb").and_then(number),
                },
            ));
        }
    }
    if any {
        emit_processes(lines, seen, ctx.filter.cut(lines.len()), ctx, sink);
    }
}

/// `gpustat`: `[0] NVIDIA A100 | 45'C, 98 % | 1234 / 40960 MB | user(1000M)`
pub(super) struct Gpustat;

impl Probe for Gpustat {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "gpustat"
    }

    fn grammar<'a>(&self, _ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::at_least(1, |line, nth| {
            if line.starts_with('[') && line.contains('|') {
                Fit::Surely
            } else if nth == 0 {
                Fit::Perhaps
            } else {
                Fit::No
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let mut round = Vec::new();
        for line in lines {
            let Some((index, rest)) = line
                .text
                .strip_prefix('[')
                .and_then(|rest| rest.split_once(']'))
            else {
                continue;
            };
            let parts: Vec<&str> = rest.split('|').map(str::trim).collect();
            let Some(index) = int(index) else { continue };
            let memory = parts.get(2).and_then(|part| part.split_once('/'));
            round.push((
                line,
                Gpu {
                    index: Some(index),
                    name: parts.first().map(|name| (*name).to_owned()),
                    memory_used_mib: memory.and_then(|(used, _)| number(used)),
                    memory_total_mib: memory.and_then(|(_, total)| number(total)),
                    temp_c: parts.get(1).and_then(|part| number(part)),
                    util_pct: parts
                        .get(1)
                        .and_then(|part| part.split(',').nth(1))
                        .and_then(number),
                    ..Gpu::default()
                },
            ));
        }
        if !round.is_empty() {
            let round = Round {
                gpus: round,
                cut: ctx.filter.cut(lines.len()),
                ..Round::default()
            };
            emit_gpus(lines, round, ctx, sink);
        }
    }
}
