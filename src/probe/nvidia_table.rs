//! The plain table of `nvidia-smi`: its head, one block of rows a GPU, and the processes below.
//!
//! Source: drivers 470 to 590 (the widths differ, the bars do not); `tests/fixtures/probes/nvidia-smi`.

use super::nvidia::{Round, emit_gpus, emit_processes};
use super::words::{after_fields, int, number};
use super::{Ctx, Fit, Shown, Sink, machine};
use crate::fact::{Clock, Gpu, GpuProcess, MigDevice};

/// How well a line fits into the table.
pub(super) fn fit(line: &str) -> Fit {
    let trimmed = line.trim();
    if trimmed.is_empty() {
        Fit::Perhaps
    } else if ["+--", "|--", "|==", "+=="]
        .iter()
        .any(|start| trimmed.starts_with(start))
        || trimmed.starts_with('|') && trimmed.ends_with('|') && trimmed.len() > 40
    {
        Fit::Surely
    } else if machine::ctime(trimmed).is_some() {
        Fit::Likely
    } else {
        Fit::No
    }
}

/// Reads the table.
pub(super) fn read(lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let mut table = Table::default();
    for line in lines {
        let text = line.text.trim();
        if let Some(time_us) = machine::ctime(text) {
            if !table.gpus.is_empty() {
                std::mem::take(&mut table).emit(lines, ctx, sink);
            }
            sink.line(
                line,
                Clock {
                    time_us,
                    day_unknown: false,
                },
            );
        } else if let Some(inner) = text.strip_prefix('|') {
            let inner = inner.strip_suffix('|').unwrap_or(inner);
            table.row(line, inner);
        }
    }
    table.emit(lines, ctx, sink);
}

#[derive(Default)]
struct Table<'a> {
    driver: Option<String>,
    cuda: Option<String>,
    gpus: Vec<(&'a Shown, Gpu)>,
    in_processes: bool,
    none_found: bool,
    processes: Vec<(&'a Shown, GpuProcess)>,
    instances: Vec<(&'a Shown, MigDevice)>,
}

impl<'a> Table<'a> {
    fn row(&mut self, line: &'a Shown, inner: &str) {
        if inner.contains("Driver Version:") {
            self.driver = word_after(inner, "Driver Version:");
            self.cuda = word_after(inner, "CUDA Version:");
        } else if inner.trim_start().starts_with("Processes:") {
            self.in_processes = true;
        } else if inner.contains("No running processes found") {
            self.none_found = true;
        } else if self.in_processes || is_process(inner) {
            self.process(line, inner);
        } else {
            self.gpu(line, inner);
        }
    }

    /// The first row of a GPU begins with its index, the second holds memory, power and use.
    fn gpu(&mut self, line: &'a Shown, inner: &str) {
        let parts: Vec<&str> = inner.split('|').collect();
        if let [ids, memory, _, _] = parts.as_slice() {
            self.instance(line, ids, memory);
            return;
        }
        let [one, two, three] = parts.as_slice() else {
            return;
        };
        let words: Vec<&str> = one.split_whitespace().collect();
        if let Some(index) = words.first().and_then(|word| int(word))
            && two.contains(':')
        {
            let name: Vec<&str> = words
                .get(1..)
                .unwrap_or(&[])
                .iter()
                .copied()
                .filter(|word| !matches!(*word, "On" | "Off"))
                .collect();
            self.gpus.push((
                line,
                Gpu {
                    index: Some(index),
                    name: (!name.is_empty())
                        .then(|| name.join(" ").trim_end_matches("...").to_owned()),
                    ecc_uncorrected: three.split_whitespace().next().and_then(int),
                    ..Gpu::default()
                },
            ));
        } else if two.contains("MiB")
            && two.contains('/')
            && let Some((_, gpu)) = self.gpus.last_mut()
            && gpu.memory_used_mib.is_none()
        {
            if let Some((used, total)) = two.split_once('/') {
                gpu.memory_used_mib = number(used);
                gpu.memory_total_mib = number(total);
            }
            gpu.util_pct = three
                .split_whitespace()
                .find(|word| word.ends_with('%'))
                .and_then(number);
            gpu.temp_c = words
                .iter()
                .find(|word| word.ends_with('C') && number(word).is_some())
                .and_then(|word| number(word));
            if let Some((power, limit)) = one
                .split_once('/')
                .filter(|_| one.matches('/').count() == 1)
                .or_else(|| power(one))
            {
                gpu.power_w = power.split_whitespace().last().and_then(number);
                gpu.power_limit_w = limit.split_whitespace().next().and_then(number);
            }
        }
    }

    /// `0    7   0   0  |     12MiB /  9728MiB  | …`: a MIG device.
    fn instance(&mut self, line: &'a Shown, ids: &str, memory: &str) {
        let ids: Vec<i64> = ids.split_whitespace().filter_map(int).collect();
        if let [gpu, _, _, device] = ids.as_slice() {
            let (used, total) = memory.split_once('/').unwrap_or((memory, ""));
            self.instances.push((
                line,
                MigDevice {
                    gpu: Some(*gpu),
                    device: Some(*device),
                    memory_used_mib: number(used),
                    memory_total_mib: number(total),
                    ..MigDevice::default()
                },
            ));
        }
    }

    /// `0   N/A  N/A   91234   C   python3   1234MiB`; before driver 450 without the two ids.
    fn process(&mut self, line: &'a Shown, inner: &str) {
        let words: Vec<&str> = inner.split_whitespace().collect();
        let Some(gpu) = words.first().and_then(|word| int(word)) else {
            return;
        };
        let with_ids = words
            .get(1)
            .is_some_and(|id| *id == "N/A" || int(id).is_some())
            && words
                .get(2)
                .is_some_and(|id| *id == "N/A" || int(id).is_some());
        let at = if with_ids { 3 } else { 1 };
        let Some(pid) = words.get(at).and_then(|word| int(word)) else {
            return;
        };
        let used = words
            .last()
            .filter(|word| word.ends_with("MiB") || **word == "N/A");
        let name = after_fields(inner, at + 2).trim_end();
        let name = used
            .and_then(|used| name.strip_suffix(*used))
            .unwrap_or(name)
            .trim_end();
        self.processes.push((
            line,
            GpuProcess {
                pid: Some(pid),
                name: (!name.is_empty()).then(|| name.to_owned()),
                gpu: Some(gpu),
                used_mib: used.and_then(|used| number(used)),
            },
        ));
    }

    fn emit(self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let cut = ctx.filter.cut(lines.len()) || !ctx.filter.patterns.is_empty();
        if !self.gpus.is_empty() || self.driver.is_some() && cut {
            let round = Round {
                gpus: self.gpus,
                cut,
                driver: self.driver,
                cuda: self.cuda,
            };
            emit_gpus(lines, round, ctx, sink);
        }
        for (line, device) in self.instances {
            sink.line(line, device);
        }
        if self.none_found || !self.processes.is_empty() {
            emit_processes(lines, self.processes, cut, ctx, sink);
        }
    }
}

/// A row of the processes, known without the head above it (`nvidia-smi | grep python`).
fn is_process(inner: &str) -> bool {
    let mut words = inner.split_whitespace();
    !inner.contains('|')
        && words.next().is_some_and(|gpu| int(gpu).is_some())
        && words.any(|kind| matches!(kind, "C" | "G" | "C+G" | "M+C"))
        && inner.trim_end().ends_with("MiB")
}

fn power(one: &str) -> Option<(&str, &str)> {
    let at = one.rfind('/')?;
    Some((one.get(..at)?, one.get(at + 1..)?))
}

fn word_after(text: &str, name: &str) -> Option<String> {
    let rest = text.split_once(name)?.1;
    rest.split_whitespace()
        .next()
        .filter(|word| *word != "N/A")
        .map(str::to_owned)
}
