//! Benchmarks of communication: nccl-tests and rccl-tests (`all_reduce_perf` and its kin), alone or
//! under `mpirun` and `srun`.
//!
//! Source: nccl-tests 2.0 to 2.17; `tests/fixtures/probes/nccl-tests`.

use super::words::{count, int, number};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, texts};
use crate::fact::Bandwidth;
use crate::shell::Invocation;

/// nccl-tests.
pub(super) struct NcclTests;

fn benchmark(invocation: &Invocation) -> Option<&str> {
    invocation
        .words
        .iter()
        .map(|word| word.text.rsplit('/').next().unwrap_or(""))
        .find(|name| {
            name.strip_suffix("_perf").is_some_and(|start| {
                start.contains("reduce")
                    || start.contains("gather")
                    || matches!(
                        start,
                        "alltoall"
                            | "broadcast"
                            | "sendrecv"
                            | "scatter"
                            | "hypercube"
                            | "all_to_all"
                    )
            })
        })
}

/// A row: size, out-of-place and in-place bus bandwidths, wrong values.
fn row(text: &str) -> Option<(i64, [f64; 2], i64)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let size = int(words.first()?)?;
    if words.len() < 11 {
        return None;
    }
    let back = |at: usize| words.get(words.len().checked_sub(at)?).copied();
    let (one, other) = (back(6)?.parse::<f64>().ok()?, back(2)?.parse::<f64>().ok()?);
    // `N/A` where nothing was checked; old versions print the largest error.
    let wrong = [back(5)?, back(1)?]
        .iter()
        .filter_map(|word| int(word))
        .sum();
    Some((size, [one, other], wrong))
}

impl Probe for NcclTests {
    fn recognises(&self, invocation: &Invocation) -> bool {
        benchmark(invocation).is_some()
    }

    fn grammar<'a>(&self, _ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|line, _| {
            let remark = line == "#" || line.starts_with("# ") || line.starts_with("#\t");
            let own = [
                "nThread",
                "nccl-tests",
                "Using devices",
                " Rank ",
                "out-of-place",
                "Out of bounds",
                "bandwidth",
                "minBytes",
                "Collective test",
            ];
            let known = line.contains("  ") || own.iter().any(|word| line.contains(word));
            if row(line).is_some() || remark && known {
                Fit::Likely
            } else if remark || line.contains("NCCL") || line.contains("RCCL") {
                Fit::Perhaps
            } else {
                Fit::Hardly
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let mut found = Bandwidth {
            tool: benchmark(ctx.invocation).unwrap_or("").to_owned(),
            ..Bandwidth::default()
        };
        let mut rest = Vec::new();
        let mut ranks = 0;
        for line in lines {
            let text = line.text.as_str();
            if let Some((size, both, wrong)) = row(text) {
                found.rows += 1;
                found.size_bytes = found.size_bytes.max(Some(size));
                found.wrong = Some(found.wrong.unwrap_or(0) + wrong);
                for one in both {
                    found.best_gb_s = Some(found.best_gb_s.map_or(one, |best| best.max(one)));
                }
            } else if let Some((_, mean)) = text.split_once("Avg bus bandwidth") {
                found.mean_gb_s = number(mean.trim_start_matches([' ', ':', '\t']));
            } else if text.starts_with('#') {
                ranks += usize::from(text.trim_start_matches(['#', ' ']).starts_with("Rank "));
            } else if !text.trim().is_empty() {
                rest.push(line.clone());
            }
        }
        found.ranks = (ranks > 0).then(|| count(ranks));
        if found.rows > 0 || found.mean_gb_s.is_some() {
            sink.lines(lines, found);
        }
        texts::as_plain(&rest, ctx, sink);
    }
}
