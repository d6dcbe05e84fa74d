//! What is mounted: `mount`, `findmnt`, `lsblk`.
//!
//! Source: util-linux 2.34 to 2.40; `tests/fixtures/probes/mount`.

use super::table::Table;
use super::words::{Args, number, size_bytes};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, texts};
use crate::fact::Disk;
use crate::shell::Invocation;

/// `mount` without arguments, `findmnt`, `lsblk`.
pub(super) struct Mounts;

/// Marks that draw a tree.
const TREE: &[char] = &['├', '└', '─', '│', '|', '`', '-', ' '];

/// A row of `lsblk`: a name, the device's two numbers, its size and its type.
fn is_block(line: &str) -> bool {
    let numbers = |word: &str| {
        word.split_once(':').is_some_and(|(major, minor)| {
            [major, minor].iter().all(|one| {
                !one.is_empty() && one.len() <= 7 && one.chars().all(|c| c.is_ascii_digit())
            })
        })
    };
    let types = ["disk", "part", "lvm", "crypt", "loop", "rom", "mpath"];
    let mut words = line.split_whitespace().skip(1);
    let second = words.next().is_some_and(numbers);
    second
        && words.any(|word| {
            types.contains(&word) || word.starts_with("raid") || word.starts_with("nbd")
        })
}

/// A row that begins with the name of a block device.
fn is_device(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or("");
    let kinds = [
        "sd", "nvme", "vd", "xvd", "loop", "dm-", "md", "zram", "sr", "mmcblk", "nbd", "hd", "rbd",
    ];
    kinds.iter().any(|kind| {
        first.strip_prefix(kind).is_some_and(|rest| {
            !rest.is_empty() && rest.len() <= 8 && rest.chars().all(|c| c.is_ascii_alphanumeric())
        })
    })
}

/// A row of `findmnt`: where something is mounted, from what, of which kind and how.
fn is_target(line: &str) -> bool {
    let bare = line.trim_start_matches(TREE);
    let words: Vec<&str> = bare.split_whitespace().collect();
    let optioned = words
        .last()
        .is_some_and(|last| last.split(',').any(|one| matches!(one, "rw" | "ro")));
    bare.starts_with('/') && (optioned || words.len() == 1 || words.len() == 2)
}

impl Probe for Mounts {
    fn recognises(&self, invocation: &Invocation) -> bool {
        match invocation.program() {
            "mount" => Args::of(invocation, "t types").operands.is_empty(),
            "findmnt" | "lsblk" => !invocation
                .args()
                .iter()
                .any(|word| word.text == "-J" || word.text == "--json" || word.text == "-P"),
            _ => false,
        }
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let program = ctx.invocation.program();
        let custom = Args::of(ctx.invocation, "o output").has(&["o", "output", "n", "f", "fs"]);
        Grammar::any(move |line, _| match program {
            "mount" => mounted(line).is_some().into(),
            _ => {
                let head = line.contains("TARGET") || line.starts_with("NAME");
                let tree = line.starts_with(['├', '└', '│'])
                    || ["|-", "`-", "| |-", "| `-"]
                        .iter()
                        .any(|start| line.starts_with(start));
                if head || program == "lsblk" && (tree || is_block(line)) {
                    Fit::Surely
                } else if program == "findmnt" && is_target(line)
                    || program == "lsblk" && custom && is_device(line)
                {
                    Fit::Likely
                } else if custom && line.split_whitespace().count() >= 2 {
                    Fit::Perhaps
                } else {
                    Fit::Hardly
                }
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        if !ctx.filter.keeps_lines() {
            texts::as_plain(lines, ctx, sink);
            return;
        }
        let mut head = default_head(ctx.invocation);
        for line in lines {
            let disk = match ctx.invocation.program() {
                "mount" => mounted(&line.text),
                _ if line.text.contains("TARGET") && !line.text.contains('/')
                    || line.text.starts_with("NAME") =>
                {
                    head = Table::narrow(&line.text);
                    None
                }
                "findmnt" => found(&line.text, &head),
                _ => block(&line.text, &head),
            };
            if let Some(disk) = disk {
                sink.line(line, disk);
            }
        }
    }
}

/// The columns where no head stands.
fn default_head(invocation: &Invocation) -> Table {
    let args = Args::of(
        invocation,
        "o output T target t types S source M mountpoint O options e I x",
    );
    match args.value(&["o", "output"]) {
        Some(list) => Table::narrow(&list.to_uppercase().replace(',', "  ")),
        None if invocation.program() == "findmnt" => {
            Table::narrow("TARGET  SOURCE  FSTYPE  OPTIONS")
        }
        None => Table::default(),
    }
}

pub(super) fn is_read_only(options: &str) -> bool {
    options.split(',').any(|option| option == "ro")
}

/// `/dev/sda1 on / type ext4 (rw,relatime)`
fn mounted(text: &str) -> Option<Disk> {
    let (device, rest) = text.split_once(" on ")?;
    let (mount, rest) = rest.split_once(" type ")?;
    let (fs_type, options) = rest.split_once(" (")?;
    Some(Disk {
        mount: mount.to_owned(),
        device: device.to_owned(),
        fs_type: Some(fs_type.to_owned()),
        read_only: Some(is_read_only(options.trim_end_matches(')'))),
        options: Some(options.trim_end_matches(')').to_owned()),
        ..Disk::default()
    })
}

fn found(text: &str, head: &Table) -> Option<Disk> {
    let bare = text.trim_start_matches(TREE);
    let row = head.row(bare);
    let mount = row
        .get(&["TARGET"])
        .filter(|mount| mount.starts_with('/'))?;
    let size = |names: &[&str]| {
        row.get(names)
            .and_then(|size| size_bytes(size, 1.0))
            .map(|bytes| bytes / 1_048_576.0)
    };
    Some(Disk {
        mount: mount.to_owned(),
        device: row.text(&["SOURCE"]).unwrap_or_default(),
        size_mib: size(&["SIZE"]),
        available_mib: size(&["AVAIL"]),
        used_pct: row.get(&["USE%"]).and_then(number),
        fs_type: row.text(&["FSTYPE"]),
        read_only: row.get(&["OPTIONS"]).map(is_read_only),
        options: row.text(&["OPTIONS"]),
        ..Disk::default()
    })
}

/// `├─sda1   8:1    0   100G  0 part /`
fn block(text: &str, head: &Table) -> Option<Disk> {
    let bare = text.trim_start_matches(TREE);
    if head.has("FSTYPE") && !head.has("SIZE") {
        let words: Vec<&str> = bare.split_whitespace().collect();
        let mount = words.last().filter(|mount| mount.starts_with('/'))?;
        // A further mount point of the row above stands alone.
        words.first().filter(|_| words.len() > 1)?;
        return Some(Disk {
            mount: (*mount).to_owned(),
            device: (*words.first()?).to_owned(),
            fs_type: words
                .get(1)
                .filter(|_| words.len() > 2)
                // Columns may be empty: a size stands there then.
                .filter(|kind| kind.starts_with(|c: char| c.is_ascii_alphabetic()))
                .map(|kind| (*kind).to_owned()),
            ..Disk::default()
        });
    }
    let words: Vec<&str> = bare.split_whitespace().collect();
    let (device, rest) = words.split_first()?;
    let mount = rest.last().filter(|mount| mount.starts_with('/'))?;
    let size = rest
        .iter()
        .find(|word| word.ends_with(['G', 'T', 'M', 'K', 'P']) && number(word).is_some());
    let at = rest.iter().position(|word| {
        matches!(*word, "part" | "disk" | "lvm" | "rom" | "loop" | "crypt")
            || word.starts_with("raid")
    });
    let read_only = at
        .and_then(|at| at.checked_sub(1))
        .and_then(|at| rest.get(at))
        .filter(|word| matches!(**word, "0" | "1"))
        .map(|word| *word == "1");
    Some(Disk {
        mount: (*mount).to_owned(),
        device: format!("/dev/{}", device.trim_start_matches("/dev/")),
        size_mib: size
            .and_then(|size| size_bytes(size, 1.0))
            .map(|bytes| bytes / 1_048_576.0),
        read_only,
        ..Disk::default()
    })
}
