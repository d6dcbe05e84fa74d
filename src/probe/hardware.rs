//! Devices and libraries: `lspci`, `ldd`; digests of files (`md5sum`, `sha256sum`) and what `file`
//! says they hold.
//!
//! Sources: pciutils 3, glibc's ldd, coreutils, file 5; `tests/fixtures/probes/lspci`, `…/ldd`.

use super::words::{Args, resolved};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, files, texts};
use crate::fact::{File, Library, PciDevice};
use crate::shell::{Invocation, Tri};

/// `lspci`.
pub(super) struct Lspci;

/// A PCI address: `3b:00.0`, `0000:3b:00.0`, `00000000:3B:00.0`.
fn is_address(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(bus, function)| {
        function.len() == 1
            && bus.len() >= 5
            && bus.contains(':')
            && bus.chars().all(|c| c.is_ascii_hexdigit() || c == ':')
    })
}

/// `3b:00.0 3D controller: NVIDIA Corporation GA100 [A100] (rev a1)`
fn device(text: &str) -> Option<PciDevice> {
    let (address, rest) = text.split_once(' ')?;
    if !is_address(address) {
        return None;
    }
    let (class, name) = rest.split_once(": ")?;
    Some(PciDevice {
        address: address.to_owned(),
        class: class.split(" [").next().unwrap_or(class).to_owned(),
        name: name.trim().to_owned(),
        gone: name.contains("(rev ff)"),
        ..PciDevice::default()
    })
}

impl Probe for Lspci {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "lspci"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        // `-v`, `-vv`, `-k`, `-nnk`: more below each device.
        let more = ctx.invocation.args().iter().any(|word| {
            word.text.starts_with('-') && word.text.contains(['v', 'k', 'x', 'q', 't'])
        });
        Grammar::any(move |line, _| {
            if device(line).is_some() {
                Fit::Surely
            } else if !more {
                Fit::Hardly
            } else if line.starts_with('\t') {
                Fit::Surely
            } else if line.starts_with("        ") && line.contains(':') {
                Fit::Likely
            } else if line.is_empty() || line.starts_with(['-', ' ']) {
                Fit::Perhaps
            } else {
                Fit::Hardly
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        if !ctx.filter.keeps_lines() {
            texts::as_plain(lines, ctx, sink);
            return;
        }
        let mut open: Option<(usize, PciDevice)> = None;
        for (at, line) in lines.iter().enumerate() {
            let text = line.text.as_str();
            if let Some(found) = device(text) {
                if let Some((from, device)) = open.replace((at, found)) {
                    sink.lines(lines.get(from..at).unwrap_or(&[]), device);
                }
            } else if let Some((_, device)) = &mut open {
                let text = text.trim();
                if let Some(driver) = text.strip_prefix("Kernel driver in use:") {
                    device.driver = Some(driver.trim().to_owned());
                } else if text.starts_with("LnkSta:") {
                    device.downgraded = Some(text.contains("(downgraded)"));
                } else if text.contains("Unknown header type 7f") {
                    device.gone = true;
                }
            }
        }
        if let Some((from, device)) = open {
            sink.lines(lines.get(from..).unwrap_or(&[]), device);
        }
    }
}

/// `ldd`.
pub(super) struct Ldd;

/// `libtorch.so => /opt/lib/libtorch.so (0x00007f…)`, `libx.so.1 => not found`.
fn library(text: &str) -> Option<(String, bool, Option<String>)> {
    let text = text.trim();
    if let Some((name, rest)) = text.split_once(" => ") {
        let rest = rest.trim();
        let found = !rest.starts_with("not found");
        let path = rest.split_whitespace().next().filter(|_| found);
        return Some((name.to_owned(), found, path.map(str::to_owned)));
    }
    let (name, rest) = text.split_once(" (0x")?;
    (rest.ends_with(')') && !name.contains(' ')).then(|| {
        let path = name.starts_with('/').then(|| name.to_owned());
        (name.to_owned(), true, path)
    })
}

impl Probe for Ldd {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "ldd"
    }

    fn complains(&self, line: &str, _ctx: &Ctx<'_>) -> Fit {
        line.contains("not a dynamic executable").into()
    }

    fn grammar<'a>(&self, _ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|line, _| {
            if library(line).is_some() || line.contains("not a dynamic executable") {
                Fit::Surely
            } else if line.starts_with('\t')
                || line.starts_with('/') && line.ends_with(':') && !line.contains(' ')
            {
                Fit::Likely
            } else {
                Fit::Hardly
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let operands: Vec<&str> = Args::of(ctx.invocation, "").texts().collect();
        let mut of = match operands.as_slice() {
            [one] => resolved(ctx.invocation, one),
            _ => String::new(),
        };
        let mut read = false;
        for line in lines {
            if files::missing(line, ctx, sink) {
                continue;
            }
            if let Some(name) = line.text.strip_suffix(':')
                && !line.text.starts_with(['\t', ' '])
            {
                name.clone_into(&mut of);
            } else if let Some((name, found, path)) = library(&line.text) {
                read = true;
                sink.line(
                    line,
                    Library {
                        of: of.clone(),
                        name,
                        found,
                        path,
                    },
                );
            }
        }
        if !read {
            texts::as_plain(lines, ctx, sink);
        }
    }

    fn is_chatter(&self, line: &str) -> bool {
        library(line).is_some_and(|(_, found, _)| found)
    }
}

/// `md5sum`, `sha256sum` and their kin; `file`.
pub(super) struct Digests;

/// `d41d8cd98f00b204e9800998ecf8427e  model.bin`
fn digest(text: &str) -> Option<(&str, &str)> {
    let (hex, name) = text.trim_start_matches('\\').split_once(' ')?;
    let name = name.strip_prefix([' ', '*']).unwrap_or(name);
    let good = hex.len() >= 32
        && hex.len().is_multiple_of(8)
        && hex.chars().all(|c| c.is_ascii_hexdigit());
    (good && !name.is_empty()).then_some((hex, name))
}

impl Probe for Digests {
    fn recognises(&self, invocation: &Invocation) -> bool {
        match invocation.program() {
            "md5sum" | "sha1sum" | "sha224sum" | "sha256sum" | "sha384sum" | "sha512sum"
            | "b2sum" => !Args::of(invocation, "").has(&["c", "check"]),
            "file" => true,
            _ => false,
        }
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let is_file = ctx.invocation.program() == "file";
        let named: Vec<&str> = Args::of(ctx.invocation, "m f F P").texts().collect();
        Grammar::any(move |line, _| {
            let told = |(path, _): (&str, &str)| {
                named
                    .iter()
                    .any(|name| super::words::glob_matches(name, path) || name.contains('$'))
            };
            if is_file && line.split_once(": ").is_some_and(told) {
                Fit::Likely
            } else if is_file && line.contains(": ") && line.starts_with(['/', '.', '~']) {
                Fit::Perhaps
            } else {
                (!is_file && digest(line).is_some()).into()
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let args = Args::of(
            ctx.invocation,
            "m magic-file F separator f files-from P e exclude",
        );
        for line in lines {
            if files::missing(line, ctx, sink) || !ctx.filter.keeps_lines() {
                continue;
            }
            let text = line.text.as_str();
            if ctx.invocation.program() == "file" {
                if args.has(&["i", "mime", "mime-type", "b", "brief"]) {
                    continue;
                }
                if let Some((name, content)) = text.split_once(": ") {
                    sink.line(
                        line,
                        described(&resolved(ctx.invocation, name), content.trim()),
                    );
                }
            } else if let Some((hex, name)) = digest(text).filter(|(_, name)| *name != "-") {
                sink.line(
                    line,
                    File {
                        path: resolved(ctx.invocation, name),
                        exists: Tri::Yes,
                        digest: Some(hex.to_owned()),
                        ..File::default()
                    },
                );
            }
        }
    }
}

/// What `file` says of a path.
fn described(path: &str, content: &str) -> File {
    if content.starts_with("cannot open") {
        let gone = content.contains("No such file or directory");
        return File {
            path: path.to_owned(),
            exists: if gone { Tri::No } else { Tri::Unknown },
            ..File::default()
        };
    }
    let kind = if content.contains("directory") && !content.contains("text") {
        Some("directory")
    } else if content.contains("symbolic link to") {
        Some("link")
    } else if content == "socket" {
        Some("socket")
    } else if content.starts_with("fifo") {
        Some("pipe")
    } else if content.contains("special") {
        Some("device")
    } else {
        Some("file")
    };
    File {
        path: path.to_owned(),
        exists: Tri::Yes,
        kind: kind.map(str::to_owned),
        size_bytes: (content == "empty").then_some(0),
        link_target: content
            .split_once("symbolic link to ")
            .map(|(_, target)| target.trim_matches(['`', '\'']).to_owned()),
        content: Some(content.to_owned()),
        ..File::default()
    }
}
