//! `ls`: plain, long, with inodes, in every time style, of several paths.
//!
//! Source: coreutils' `ls`, busybox `ls`; `tests/fixtures/probes/ls`.

use super::files::missing;
use super::machine;
use super::words::{Args, count, fields, int, join, plain_path, resolved, size_bytes, whole};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::fact::{Descriptor, DirLook, File};
use crate::shell::{Invocation, Tri};

/// How the list was asked for.
struct Ask<'a> {
    long: bool,
    inode: bool,
    sizes: bool,
    itself: bool,
    hidden: bool,
    recursive: bool,
    human: bool,
    no_owner: bool,
    no_group: bool,
    style: Option<&'a str>,
    paths: Vec<&'a str>,
}

impl<'a> Ask<'a> {
    fn of(invocation: &'a Invocation) -> Self {
        let args = Args::of(
            invocation,
            "I ignore w width T tabsize time-style sort time block-size hide color format",
        );
        let style = args
            .value(&["time-style"])
            .or(args.has(&["full-time"]).then_some("full-iso"));
        let program = invocation.program();
        Self {
            long: args.has(&["l", "g", "o", "n", "full-time", "numeric-uid-gid"])
                || matches!(program, "ll" | "la"),
            inode: args.has(&["i", "inode"]),
            sizes: args.has(&["s", "size"]),
            itself: args.has(&["d", "directory"]),
            hidden: args.has(&["a", "A", "all", "almost-all"]),
            recursive: args.has(&["R", "recursive"]),
            human: args.has(&["h", "human-readable", "si"]),
            no_owner: args.has(&["g"]),
            no_group: args.has(&["o", "G", "no-group"]),
            style,
            paths: args.texts().collect(),
        }
    }

    /// Words the time takes.
    fn time_words(&self) -> Option<usize> {
        match self.style {
            Some("full-iso") => Some(3),
            Some("long-iso") => Some(2),
            Some(format) if format.starts_with('+') => {
                Some(format.split_whitespace().count().max(1))
            }
            Some("iso") => None,
            _ => Some(3),
        }
    }
}

/// One row of a long list.
struct Entry<'a> {
    inode: Option<i64>,
    mode: &'a str,
    owner: Option<&'a str>,
    size: Option<i64>,
    mtime_us: Option<i64>,
    name: &'a str,
    target: Option<&'a str>,
}

fn is_mode(word: &str) -> bool {
    let body = word.trim_end_matches(['.', '+', '@']);
    body.len() == 10
        && body.starts_with(|c: char| "-dlcbpsDC?".contains(c))
        && body.chars().skip(1).all(|c| "rwxsStT-?".contains(c))
}

fn entry<'a>(text: &'a str, ask: &Ask<'_>) -> Option<Entry<'a>> {
    let words = fields(text);
    let mode_at = words.iter().take(3).position(|(_, word)| is_mode(word))?;
    let inode = (ask.inode && mode_at > 0)
        .then(|| words.first().and_then(|(_, word)| int(word)))
        .flatten();
    let mode = words.get(mode_at)?.1;
    let mut at = mode_at + 1;
    words.get(at).and_then(|(_, links)| int(links))?;
    at += 1;
    let owner = if ask.no_owner {
        None
    } else {
        at += 1;
        words.get(at - 1).map(|(_, word)| *word)
    };
    if !ask.no_group {
        at += 1;
    }
    let device = mode.starts_with(['c', 'b']);
    let size_word = words.get(at)?.1;
    let size = if device {
        None
    } else {
        size_of(size_word, ask.human)
    };
    at += if device && size_word.ends_with(',') {
        2
    } else {
        1
    };
    let time_words = ask.time_words().unwrap_or_else(|| {
        if words.get(at).is_some_and(|(_, word)| word.len() == 10) {
            1
        } else {
            2
        }
    });
    let time_from = words.get(at)?.0;
    let (last_at, last) = words.get(at + time_words - 1)?;
    let time = text.get(time_from..last_at + last.len())?;
    let name_at = words.get(at + time_words)?.0;
    let name = text.get(name_at..)?;
    let (name, target) = match mode
        .starts_with('l')
        .then(|| name.split_once(" -> "))
        .flatten()
    {
        Some((name, target)) => (name, Some(target)),
        None => (name, None),
    };
    let name = unquoted(name);
    Some(Entry {
        inode,
        mode,
        owner,
        size,
        mtime_us: machine::iso_with_zone(time).or_else(|| epoch_style(ask.style, time)),
        name,
        target,
    })
}

fn size_of(word: &str, human: bool) -> Option<i64> {
    if human {
        // Rounded; exact only below 1 KiB.
        return int(word);
    }
    int(word).or_else(|| size_bytes(word, 1.0).and_then(whole))
}

fn epoch_style(style: Option<&str>, time: &str) -> Option<i64> {
    (style? == "+%s")
        .then(|| int(time)?.checked_mul(1_000_000))
        .flatten()
}

fn unquoted(name: &str) -> &str {
    name.strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''))
        .unwrap_or(name)
}

/// What a mode's first letter says.
pub(super) fn kind_of(mode: &str) -> Option<&'static str> {
    Some(match mode.chars().next()? {
        '-' => "file",
        'd' => "directory",
        'l' => "link",
        'c' | 'b' => "device",
        's' => "socket",
        'p' => "pipe",
        _ => return None,
    })
}

/// `ls`.
pub(super) struct Ls;

impl Probe for Ls {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(invocation.program(), "ls" | "ll" | "la" | "dir" | "vdir")
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let ask = Ask::of(ctx.invocation);
        Grammar::any(move |line: &str, nth: usize| {
            if ask.long {
                let several = ask.paths.len() > 1
                    || ask.recursive
                    || ask
                        .paths
                        .iter()
                        .any(|path| path.contains(['*', '?', '{', '$']));
                let folder = !several && ask.paths.iter().any(|path| path.ends_with('/'));
                if folder && nth == 0 && !ask.itself && !ctx.filter.may_lose_start() {
                    return is_total(line).into();
                }
                if is_total(line) && (nth == 0 || several || ctx.filter.may_lose_start()) {
                    return if several { Fit::Likely } else { Fit::Surely };
                }
                if let Some(entry) = entry(line, &ask) {
                    // One file that was asked for has one line.
                    if nth > 0
                        && !several
                        && ask.paths.len() == 1
                        && entry.name.contains('/')
                        && !ctx.filter.may_lose_start()
                    {
                        return Fit::No;
                    }
                    // A file that was asked for is named as it was; the entries of a folder come
                    // after its total.
                    let bare = !entry.name.contains('/');
                    let of_folder = nth > 0 || ctx.filter.may_lose_start() || ask.itself;
                    let asked =
                        ask.paths
                            .iter()
                            .any(|path| match path.find(['*', '?', '{', '$', '[']) {
                                Some(at) => entry.name.starts_with(path.get(..at).unwrap_or("")),
                                None => *path == entry.name,
                            });
                    return if asked || bare && !several && (of_folder || ask.paths.is_empty()) {
                        Fit::Surely
                    } else {
                        Fit::Likely
                    };
                }
                return if is_heading(line, &ask) {
                    Fit::Likely
                } else if line.trim().is_empty() {
                    Fit::Perhaps
                } else {
                    Fit::No
                };
            }
            if ask.paths.contains(&line) {
                return Fit::Surely;
            }
            if is_heading(line, &ask) {
                Fit::Likely
            } else if is_sentence(line) {
                Fit::Hardly
            } else {
                Fit::Perhaps
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let ask = Ask::of(ctx.invocation);
        let mut list = List::new(&ask, ctx);
        for line in lines {
            if missing(line, ctx, sink) {
                list.failed = true;
                continue;
            }
            let text = line.text.trim_end();
            if text.is_empty() || is_total(text) {
                list.told |= is_total(text);
                continue;
            }
            if let Some(heading) = heading(text, &ask) {
                list.close(sink);
                list.open(heading, line);
                continue;
            }
            list.row(line, text, sink);
        }
        list.ran = ctx.ran == Tri::Yes;
        list.close(sink);
    }
}

fn is_total(text: &str) -> bool {
    text.strip_prefix("total ")
        .is_some_and(|size| !size.trim().contains(' ') && size_bytes(size, 1.0).is_some())
}

fn is_heading(text: &str, ask: &Ask<'_>) -> bool {
    heading(text, ask).is_some()
}

/// Words, or a log's line: names are seldom so.
fn is_sentence(line: &str) -> bool {
    let words = line.split_whitespace().count();
    super::line::read_head(line).is_timed()
        || words > 2 && (line.contains(": ") || !line.contains("  ") && !line.contains('\t'))
        || line.ends_with(['.', ';', '!', '?', '{', ')'])
}

/// `path:` above the entries of one of several folders.
fn heading<'t>(text: &'t str, ask: &Ask<'_>) -> Option<&'t str> {
    let path = text.strip_suffix(':')?;
    let several = ask.paths.len() > 1
        || ask.recursive
        || ask
            .paths
            .iter()
            .any(|path| path.contains(['*', '?', '{', '$']));
    let path = unquoted(path);
    // Of a pattern its fixed front is known, of a variable nothing; below a folder lie others.
    let asked = |asked: &&str| {
        let front = asked.split(['*', '?', '{', '$', '[']).next().unwrap_or("");
        if front.len() < asked.len() {
            path.starts_with(front.trim_start_matches("./")) || path.starts_with(front)
        } else {
            path == *asked || ask.recursive && path.starts_with(asked.trim_end_matches('/'))
        }
    };
    let known = ask.paths.iter().any(asked) || ask.paths.is_empty() && path.starts_with('.');
    (several && known && !path.is_empty()).then_some(path)
}

/// A list being read: the folder it is of, and what it has shown.
struct List<'a> {
    ask: &'a Ask<'a>,
    ctx: &'a Ctx<'a>,
    dir: Option<String>,
    shown: Vec<Shown>,
    told: bool,
    failed: bool,
    ran: bool,
}

impl<'a> List<'a> {
    fn new(ask: &'a Ask<'a>, ctx: &'a Ctx<'a>) -> Self {
        let dir = match ask.paths.as_slice() {
            _ if ask.itself => None,
            [] => Some(resolved(ctx.invocation, ".")),
            [only] if !only.contains(['*', '?']) => Some(resolved(ctx.invocation, only)),
            _ => None,
        };
        Self {
            ask,
            ctx,
            dir,
            shown: Vec::new(),
            told: false,
            failed: false,
            ran: false,
        }
    }

    fn open(&mut self, path: &str, line: &Shown) {
        self.dir = Some(resolved(self.ctx.invocation, path));
        self.shown = vec![line.clone()];
        self.told = true;
    }

    /// The path of an entry: under the folder, unless the name is what was asked for.
    fn path(&self, name: &str) -> String {
        let asked = self
            .ask
            .paths
            .iter()
            .any(|path| plain_path(path) == plain_path(name));
        match &self.dir {
            Some(dir) if !asked && !name.starts_with('/') => match name {
                "." => plain_path(dir).to_owned(),
                _ => join(dir, name),
            },
            _ => resolved(self.ctx.invocation, name),
        }
    }

    fn row(&mut self, line: &Shown, text: &str, sink: &mut Sink<'_>) {
        if !self.ask.long {
            self.plain_row(line, text, sink);
            return;
        }
        let Some(entry) = entry(text, self.ask) else {
            if self.ctx.filter.keeps_lines() && super::shellmsg::read_line(text).is_none() {
                sink.complain(line, "not a row of ls -l");
            }
            return;
        };
        // A file asked for by its path, or matched by the shell: no folder was listed.
        let by_path =
            !self.told && (entry.name.starts_with('/') || self.ask.paths.contains(&entry.name));
        if by_path {
            self.dir = None;
        } else {
            self.shown.push(line.clone());
        }
        if entry.name == ".." {
            return;
        }
        let path = self.path(entry.name);
        if let Some(descriptor) = descriptor(&path, entry.target) {
            sink.line(line, descriptor);
            return;
        }
        let executable = entry
            .mode
            .get(1..)
            .is_some_and(|bits| bits.contains(['x', 's', 't']));
        sink.line(
            line,
            File {
                path,
                exists: Tri::Yes,
                kind: kind_of(entry.mode).map(str::to_owned),
                size_bytes: entry.size,
                mtime_us: entry.mtime_us,
                mode: entry.mode.get(1..10).map(str::to_owned),
                executable: Some(executable),
                owner: entry.owner.map(str::to_owned),
                inode: entry.inode,
                link_target: entry.target.map(str::to_owned),
                ..File::default()
            },
        );
    }

    fn plain_row(&mut self, line: &Shown, text: &str, sink: &mut Sink<'_>) {
        let name = if self.ask.inode || self.ask.sizes {
            text.trim_start()
                .split_once(' ')
                .map_or(text, |(_, name)| name.trim_start())
        } else {
            text
        };
        let inode = self
            .ask
            .inode
            .then(|| text.split_whitespace().next().and_then(int))
            .flatten();
        let asked = self.ask.paths.contains(&name);
        if asked && !self.told {
            self.dir = None;
        } else {
            self.shown.push(line.clone());
        }
        // On a terminal several names stand on a line, parted by two blanks or a tab.
        let names: Vec<&str> = if line.stream == crate::event::Stream::Tty
            && (name.contains("  ") || name.contains('\t'))
        {
            name.split(['\t'])
                .flat_map(|part| part.split("  "))
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .collect()
        } else {
            vec![name]
        };
        for name in names {
            if self.ctx.filter.reshaped
                || self.ctx.filter.columns.is_some()
                || self.ctx.filter.opaque
            {
                continue;
            }
            sink.line(
                line,
                File {
                    path: self.path(unquoted(name)),
                    exists: Tri::Yes,
                    inode,
                    ..File::default()
                },
            );
        }
    }

    fn close(&mut self, sink: &mut Sink<'_>) {
        let shown = std::mem::take(&mut self.shown);
        let heading = shown
            .first()
            .is_some_and(|line| line.text.trim_end().ends_with(':'));
        let entries = shown.len().saturating_sub(usize::from(heading));
        if let Some(dir) = self.dir.take()
            && !dir.contains('$')
            && (entries > 0 || self.told || self.ran && !self.failed)
        {
            let filtered = !self.ctx.filter.patterns.is_empty() || !self.ctx.filter.keeps_lines();
            let cut = filtered
                || self
                    .ctx
                    .filter
                    .cut(entries + usize::from(self.ask.long && self.ctx.filter.head.is_some()));
            let dots = if self.ask.hidden && self.ask.long {
                shown
                    .iter()
                    .filter(|line| line.text.ends_with(" .") || line.text.ends_with(" .."))
                    .count()
            } else {
                0
            };
            sink.lines(
                &shown,
                DirLook {
                    path: plain_path(&dir).to_owned(),
                    count: count(entries.saturating_sub(dots)),
                    cut,
                    hidden: self.ask.hidden,
                },
            );
        }
        self.told = false;
    }
}

/// A link under `/proc/PID/fd`.
fn descriptor(path: &str, target: Option<&str>) -> Option<Descriptor> {
    let (pid, rest) = path.strip_prefix("/proc/")?.split_once('/')?;
    let fd = rest.strip_prefix("fd/")?;
    let target = target?;
    Some(Descriptor {
        pid: int(pid)?,
        fd: int(fd)?,
        deleted: target.ends_with(" (deleted)"),
        target: target.trim_end_matches(" (deleted)").to_owned(),
    })
}
