//! AMD's GPUs: `rocm-smi` and `amd-smi`.
//!
//! Sources: ROCm 4.5 to 7.0; `tests/fixtures/probes/rocm-smi`, `…/amd-smi`.

use super::nvidia::{Round, emit_gpus};
use super::table::Table;
use super::words::{int, leading_int, number, size_bytes};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, texts};
use crate::fact::{Gpu, GpuLink};
use crate::shell::Invocation;

/// `rocm-smi` and `amd-smi`.
pub(super) struct AmdSmi;

/// A row of `amd-smi monitor`: a number, then figures with their units.
fn is_monitored(line: &str) -> bool {
    let units = |word: &str| matches!(word, "W" | "°C" | "MHz" | "%" | "GB" | "MB" | "Mb/s");
    let mut words = line.split_whitespace();
    words
        .next()
        .is_some_and(|index| index.parse::<u32>().is_ok())
        && words.filter(|word| units(word)).count() >= 2
}

impl Probe for AmdSmi {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(invocation.program(), "rocm-smi" | "amd-smi")
    }

    fn complains(&self, line: &str, _ctx: &Ctx<'_>) -> Fit {
        ["ERROR:", "WARNING:", "AMDSMI_", "Exception caught"]
            .iter()
            .any(|start| line.starts_with(start))
            .into()
    }

    fn grammar<'a>(&self, _ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|line, _| {
            let known = [
                "====", "GPU[", "GPU  ", "Device  ", "+-----", "|  ", "|--", "|==",
            ];
            let vague = ["GPU", "Device", "WARNING: AMD", "WARNING: No", "ERROR: "];
            let starts = |with: &[&str]| with.iter().any(|start| line.starts_with(start));
            let section = line.starts_with("    ")
                && line
                    .trim_start()
                    .starts_with(|c: char| c.is_ascii_uppercase())
                && line.split_once(':').is_some_and(|(name, _)| {
                    name.chars()
                        .all(|c| c.is_ascii_alphanumeric() || " _-()".contains(c))
                });
            if starts(&known) || concise(line).is_some() || is_monitored(line) {
                Fit::Surely
            } else if starts(&vague) || section {
                Fit::Likely
            } else {
                Fit::Hardly
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        if ctx.filter.columns.is_some() || ctx.filter.opaque {
            texts::as_plain(lines, ctx, sink);
            return;
        }
        let mut gpus: Vec<(&Shown, Gpu)> = Vec::new();
        let mut head = Table::default();
        let mut block: Option<i64> = None;
        for line in lines {
            let text = line.text.trim_end();
            if let Some((index, name, value)) = keyed(text) {
                if let Some(gpu) = slot(&mut gpus, line, index) {
                    set(gpu, name, value);
                }
            } else if let Some(index) = text.strip_prefix("GPU: ").and_then(int) {
                block = Some(index);
                slot(&mut gpus, line, index);
            } else if let (Some(index), Some((name, value))) =
                (block, text.trim_start().split_once(": "))
            {
                if let Some(gpu) = slot(&mut gpus, line, index) {
                    set(gpu, name, value.trim());
                }
            } else if text.starts_with("GPU  ") && text.contains("POWER") {
                head = Table::narrow(text);
            } else if !head.is_empty()
                && let Some(gpu) = monitored(text, &head)
            {
                gpus.push((line, gpu));
            } else if let Some(gpu) = concise(text) {
                gpus.push((line, gpu));
            } else if let Some(link) = link(text) {
                sink.line(line, link);
            }
        }
        if gpus.is_empty() {
            texts::as_plain(lines, ctx, sink);
            return;
        }
        let round = Round {
            gpus,
            cut: ctx.filter.cut(lines.len()) || !ctx.filter.patterns.is_empty(),
            ..Round::default()
        };
        emit_gpus(lines, round, ctx, sink);
    }

    fn is_chatter(&self, line: &str) -> bool {
        line.starts_with("====")
            || line.starts_with("WARNING: AMD GPU device(s) is/are in a low-power")
    }
}

/// The GPU of that index, made where it is new.
fn slot<'s, 'l>(
    gpus: &'s mut Vec<(&'l Shown, Gpu)>,
    line: &'l Shown,
    index: i64,
) -> Option<&'s mut Gpu> {
    if let Some(at) = gpus.iter().position(|(_, gpu)| gpu.index == Some(index)) {
        return gpus.get_mut(at).map(|(_, gpu)| gpu);
    }
    gpus.push((
        line,
        Gpu {
            index: Some(index),
            ..Gpu::default()
        },
    ));
    gpus.last_mut().map(|(_, gpu)| gpu)
}

/// `GPU[0]\t\t: VRAM Total Used Memory (B): 10960896`
fn keyed(text: &str) -> Option<(i64, &str, &str)> {
    let (index, rest) = text.strip_prefix("GPU[").and_then(leading_int)?;
    let rest = rest.strip_prefix(']')?.trim_start().strip_prefix(':')?;
    let (name, value) = rest.rsplit_once(": ")?;
    Some((index, name.trim(), value.trim()))
}

/// A value by what the tools call it.
fn set(gpu: &mut Gpu, name: &str, value: &str) {
    let mib = |value: &str| number(value).map(|bytes| bytes / 1_048_576.0);
    match name {
        "VRAM Total Memory (B)" => gpu.memory_total_mib = mib(value),
        "VRAM Total Used Memory (B)" => gpu.memory_used_mib = mib(value),
        "GPU use (%)" | "GFX_ACTIVITY" => gpu.util_pct = number(value),
        "Average Graphics Package Power (W)"
        | "Current Socket Graphics Package Power (W)"
        | "SOCKET_POWER" => {
            gpu.power_w = number(value);
        }
        "Temperature (Sensor junction) (C)" | "HOTSPOT" => gpu.temp_c = number(value),
        "Card series" | "Card Series" | "Card model" | "MARKET_NAME" if gpu.name.is_none() => {
            gpu.name = Some(value.to_owned());
        }
        "Unique ID" | "UUID" => gpu.uuid = Some(value.to_owned()),
        "BDF" | "PCI Bus" => gpu.pci = Some(value.to_owned()),
        "USED_VRAM" => gpu.memory_used_mib = number(value),
        "TOTAL_VRAM" => gpu.memory_total_mib = number(value),
        "TOTAL_UNCORRECTABLE_COUNT" => gpu.ecc_uncorrected = int(value),
        _ => {}
    }
}

/// `0  1  0x74a1, 28851  41.0°C  136.0W  NPS1, SPX, 0  132Mhz  900Mhz  0%  auto  750.0W  0%  0%`
fn concise(text: &str) -> Option<Gpu> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let index = int(words.first()?)?;
    let ends = |end: &str| {
        words
            .iter()
            .filter(|word| number(word.strip_suffix(end).unwrap_or("")).is_some())
            .copied()
            .collect::<Vec<_>>()
    };
    let (power, per_cent) = (ends("W"), ends("%"));
    if per_cent.len() < 2 || !words.last()?.ends_with('%') {
        return None;
    }
    let temp = words
        .iter()
        .find(|word| word.ends_with("°C") || word.ends_with('c') && number(word).is_some());
    (!power.is_empty() || temp.is_some()).then(|| Gpu {
        index: Some(index),
        temp_c: temp.and_then(|temp| number(temp)),
        power_w: (power.len() > 1)
            .then(|| power.first().and_then(|power| number(power)))
            .flatten(),
        power_limit_w: power.last().and_then(|power| number(power)),
        util_pct: per_cent.last().and_then(|pct| number(pct)),
        ..Gpu::default()
    })
}

/// A row of `amd-smi monitor`; units may stand apart from their numbers.
fn monitored(text: &str, head: &Table) -> Option<Gpu> {
    let mut joined = text.to_owned();
    for unit in ["W", "°C", "MHz", "%", "MB", "GB", "MB/s"] {
        joined = joined.replace(&format!(" {unit} "), &format!("{unit}  "));
        if let Some(start) = joined.strip_suffix(&format!(" {unit}")) {
            joined = format!("{start}{unit}");
        }
    }
    let row = head.row(&joined);
    let of = |names: &[&str]| row.get(names).and_then(number);
    let mib = |text: &str| size_bytes(text, 1_048_576.0).map(|bytes| bytes / 1_048_576.0);
    let (used, total) = match row
        .get(&["VRAM_USAGE"])
        .and_then(|usage| usage.split_once('/'))
    {
        Some((used, total)) => {
            let unit =
                total.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
            (
                mib(&format!("{}{unit}", used.trim())),
                mib(&total.replace(' ', "")),
            )
        }
        None => (
            row.get(&["VRAM_USED"]).and_then(mib),
            row.get(&["VRAM_TOTAL"]).and_then(mib),
        ),
    };
    Some(Gpu {
        index: Some(int(row.get(&["GPU"])?)?),
        power_w: of(&["POWER"]),
        temp_c: of(&["GPU_T", "GPU_TEMP"]),
        util_pct: of(&["GFX%", "GFX_UTIL"]),
        clock_sm_mhz: of(&["GFX_CLK", "GFX_CLOCK"]),
        memory_used_mib: used,
        memory_total_mib: total,
        ..Gpu::default()
    })
}

/// `GPU0   0   XGMI   PCIE` of `--showtopo` is a matrix; only `(Topology) Weight between DRM devices 0
/// and 1: 15` names both ends.
fn link(text: &str) -> Option<GpuLink> {
    let (_, rest) = text.split_once("Link Type between DRM devices ")?;
    let (one, rest) = leading_int(rest)?;
    let (other, rest) = leading_int(rest.trim_start().strip_prefix("and ")?)?;
    Some(GpuLink {
        from: format!("GPU{one}"),
        to: Some(format!("GPU{other}")),
        kind: Some(rest.trim_start_matches([':', ' ']).to_owned()),
        ..GpuLink::default()
    })
}
