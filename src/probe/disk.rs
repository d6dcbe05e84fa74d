//! Room on disks: `df` and `du`.
//!
//! Source: coreutils, busybox; `tests/fixtures/probes/df`, `…/du`.

use super::files::missing;
use super::words::{Args, fields, number, resolved, size_bytes};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::fact::{Disk, TreeSize};
use crate::shell::Invocation;

/// `df`, in blocks or inodes.
pub(super) struct Df;

const DF_VALUED: &str = "B block-size t type x exclude-type output";

/// Bytes a unit of df's columns stands for, when no letter follows.
fn unit_bytes(invocation: &Invocation) -> f64 {
    let args = Args::of(invocation, DF_VALUED);
    if args.has(&["m"]) {
        1_048_576.0
    } else if args.has(&["g"]) {
        1_073_741_824.0
    } else if let Some(block) = args.value(&["B", "block-size"]) {
        let block = if block.starts_with(|c: char| c.is_ascii_alphabetic()) {
            format!("1{block}")
        } else {
            block.to_owned()
        };
        size_bytes(&block, 1.0).unwrap_or(1024.0)
    } else {
        1024.0
    }
}

/// A row of df: device, type, size, used, available, per cent, mount.
struct Row<'a> {
    device: &'a str,
    size: &'a str,
    available: &'a str,
    used_pct: &'a str,
    mount: &'a str,
    fs_type: Option<&'a str>,
}

/// The per cent column is the anchor: sizes stand before it, the mount (which may hold blanks) after.
fn row(text: &str) -> Option<Row<'_>> {
    let words = fields(text);
    let pct = words.iter().rposition(|(_, word)| {
        *word == "-"
            || word
                .strip_suffix('%')
                .is_some_and(|number_| number(number_).is_some())
    })?;
    let mount_at = words.get(pct + 1)?.0;
    let mount = text.get(mount_at..)?.trim_end();
    if !mount.starts_with('/') {
        return None;
    }
    let word = |back: usize| {
        pct.checked_sub(back)
            .and_then(|at| words.get(at))
            .map(|(_, word)| *word)
    };
    let (size, available) = (word(3)?, word(1)?);
    let sizes = [size, word(2)?, available];
    if !sizes
        .iter()
        .all(|size| *size == "-" || size_bytes(size, 1.0).is_some())
    {
        return None;
    }
    // A long device name stands on a line of its own, above.
    let device = if pct >= 4 { words.first()?.1 } else { "" };
    Some(Row {
        device,
        size,
        available,
        used_pct: words.get(pct)?.1,
        mount,
        fs_type: words
            .get(1)
            .map(|(_, word)| *word)
            .filter(|word| pct >= 5 && word.starts_with(|c: char| c.is_ascii_alphabetic())),
    })
}

impl Probe for Df {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "df"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let custom = Args::of(ctx.invocation, DF_VALUED).has(&["output"]);
        let grammar = Grammar::at_least(1, move |line, nth| {
            if line.starts_with("Filesystem") || row(line).is_some() {
                Fit::Surely
            } else if custom || nth > 0 && line.starts_with('/') && !line.contains(' ') {
                Fit::Perhaps // a long device stands alone
            } else {
                Fit::No
            }
        });
        if custom {
            grammar
        } else {
            grammar.opened_by(ctx.filter, |line| line.starts_with("Filesystem"))
        }
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let inodes = Args::of(ctx.invocation, DF_VALUED).has(&["i", "inodes"]);
        let unit = unit_bytes(ctx.invocation);
        let mut device_above = String::new();
        for line in lines {
            if missing(line, ctx, sink) || line.text.starts_with("Filesystem") {
                continue;
            }
            let Some(row) = row(&line.text) else {
                line.text.trim().clone_into(&mut device_above);
                continue;
            };
            let device = if row.device.is_empty() {
                std::mem::take(&mut device_above)
            } else {
                row.device.to_owned()
            };
            let mib = |text: &str| size_bytes(text, unit).map(|bytes| bytes / 1_048_576.0);
            sink.line(
                line,
                Disk {
                    mount: row.mount.to_owned(),
                    device,
                    size_mib: mib(row.size).filter(|_| !inodes),
                    available_mib: mib(row.available).filter(|_| !inodes),
                    used_pct: number(row.used_pct),
                    inodes,
                    read_only: None,
                    options: None,
                    fs_type: row.fs_type.map(str::to_owned),
                },
            );
        }
    }
}

/// `du`.
pub(super) struct Du;

const DU_VALUED: &str = "d max-depth B block-size exclude t threshold X";

/// `528G\t/data/big`
fn size_and_path(text: &str) -> Option<(&str, &str)> {
    let (size, path) = text
        .split_once('\t')
        .or_else(|| text.trim_start().split_once(' '))?;
    let path = path.trim();
    (size_bytes(size.trim(), 1.0).is_some() && !path.is_empty()).then_some((size.trim(), path))
}

impl Probe for Du {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "du"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let args = Args::of(ctx.invocation, DU_VALUED);
        let roots: Vec<&str> = args.texts().collect();
        let literal = args.operands.iter().all(|word| word.literal)
            && !roots
                .iter()
                .any(|root| root.contains(['*', '?', '[', '{', '$', '~']));
        let sums = args.has(&["s", "summarize"]) || args.value(&["d", "max-depth"]) == Some("0");
        // One line for each that was named, and the last one for all of them.
        let lines = roots.len().max(1) + usize::from(args.has(&["c", "total"]));
        let under = move |path: &str| {
            !literal
                || path == "total"
                || roots.is_empty() && path.starts_with('.')
                || roots.iter().any(|root| {
                    let root = root.trim_end_matches('/');
                    path.strip_prefix(root)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                })
        };
        let fit = move |line: &str, _: usize| match size_and_path(line) {
            Some((_, path)) if !under(path) => Fit::No,
            Some(_) if line.contains('\t') => Fit::Surely,
            Some(_) => Fit::Perhaps,
            None => Fit::No,
        };
        if sums && literal {
            Grammar::exactly(lines, fit)
        } else {
            Grammar::any(fit)
        }
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let args = Args::of(ctx.invocation, DU_VALUED);
        let unit = if args.has(&["b", "bytes"]) {
            1.0
        } else if args.has(&["m"]) {
            1_048_576.0
        } else if args.has(&["g"]) {
            1_073_741_824.0
        } else {
            1024.0
        };
        for line in lines {
            if missing(line, ctx, sink) {
                continue;
            }
            if let Some((size, path)) = size_and_path(&line.text)
                && let Some(bytes) = size_bytes(size, unit)
                && path != "total"
            {
                sink.line(
                    line,
                    TreeSize {
                        path: resolved(ctx.invocation, path),
                        bytes,
                    },
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_per_cent_column_is_the_anchor() {
        let found = row("/dev/nvme0n1p2  1.8T  310G  1.4T  19% /").unwrap();
        assert_eq!(
            (found.device, found.size, found.available, found.mount),
            ("/dev/nvme0n1p2", "1.8T", "1.4T", "/")
        );
        let found = row("tmpfs tmpfs 64M 12K 64M 1% /dev/shm").unwrap();
        assert_eq!((found.device, found.available), ("tmpfs", "64M"));
        assert!(row("Filesystem      Size  Used Avail Use% Mounted on").is_none());
        assert_eq!(
            row("            40M   37M     0 100% /srv/my disk")
                .unwrap()
                .mount,
            "/srv/my disk"
        );
    }
}
