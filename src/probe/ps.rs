//! `ps` in its forms: `aux`, `-ef`, `-o LIST`, by id, by name, with and without its header, and what
//! awk leaves of it.
//!
//! Source: procps-ng `ps(1)`, busybox `ps`; `tests/fixtures/probes/ps`.

use super::columns::{self, Row};
use super::processes::is_own;
use super::words::{Args, clock_seconds, count, int, number};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::fact::{Process, ProcessLook};
use crate::shell::{Invocation, Tri};

const AUX: &[&str] = &[
    "user", "pid", "pcpu", "pmem", "vsz", "rss", "tty", "stat", "start", "time", "args",
];
const EF: &[&str] = &["user", "pid", "ppid", "c", "start", "tty", "time", "args"];
const AX: &[&str] = &["pid", "tty", "stat", "time", "args"];
const PLAIN: &[&str] = &["pid", "tty", "time", "comm"];

/// What a `ps` asks for.
struct Ask {
    /// Names of the columns; empty when only the header can tell.
    columns: Vec<String>,
    asked_pids: Vec<i64>,
    /// By id, whether or not the ids are known here.
    by_pid: bool,
    names: Vec<String>,
    everything: bool,
    no_header: bool,
}

impl Ask {
    fn of(invocation: &Invocation) -> Self {
        let mut ask = Self {
            columns: Vec::new(),
            asked_pids: Vec::new(),
            by_pid: false,
            names: Vec::new(),
            everything: false,
            no_header: false,
        };
        let args = Args::of(
            invocation,
            "p pid q quick-pid C o O format u U user User G g group t tty ppid s sort k cols rows width columns",
        );
        let mut lists: Vec<&str> = args.values(&["o", "format"]).collect();
        let mut pids: Vec<&str> = args.values(&["p", "pid", "q", "quick-pid"]).collect();
        ask.by_pid = !pids.is_empty();
        let mut bsd = String::new();
        let mut wants = None;
        for operand in args.texts() {
            match wants.take() {
                Some('o') => lists.push(operand),
                Some('p') => pids.push(operand),
                Some(_) => {}
                None if operand.starts_with(|c: char| c.is_ascii_digit())
                    || operand.starts_with('$') =>
                {
                    ask.by_pid = true;
                    pids.push(operand);
                }
                None => {
                    wants = operand
                        .chars()
                        .last()
                        .filter(|last| matches!(last, 'o' | 'O' | 'p' | 'U'));
                    bsd.push_str(operand);
                    ask.by_pid |= wants == Some('p');
                }
            }
        }
        ask.asked_pids = pids
            .iter()
            .flat_map(|list| list.split([',', ' ']))
            .filter_map(int)
            .collect();
        ask.names = args
            .values(&["C"])
            .flat_map(|list| list.split(','))
            .map(str::to_owned)
            .collect();
        let has = |letter: char| bsd.contains(letter);
        let narrowed = args.has(&[
            "u", "U", "user", "User", "t", "tty", "ppid", "G", "g", "group",
        ]) && bsd.is_empty();
        ask.everything = !ask.by_pid
            && ask.names.is_empty()
            && !narrowed
            && (args.has(&["e", "A"])
                || has('a') && has('x')
                || args.has(&["a"]) && args.has(&["x"]));
        ask.no_header = args.has(&["no-headers", "no-heading", "noheader"]) || has('h');
        let threads = args.has(&["L", "T"]) || has('H') || has('m');
        if !lists.is_empty() {
            let items: Vec<&str> = lists
                .iter()
                .flat_map(|list| list.split([',', ' ']))
                .filter(|item| !item.is_empty())
                .collect();
            ask.no_header |= items.iter().all(|item| item.ends_with('='));
            ask.columns = items
                .iter()
                .map(|item| canonical(item.split(['=', ':']).next().unwrap_or(item)).to_owned())
                .collect();
        } else if args.has(&["l", "F", "j", "y", "M", "Z"])
            || has('l')
            || has('j')
            || threads
            || has('v')
            || has('s')
        {
            // The header has to say.
        } else if has('u') || args.has(&["u"]) && args.has(&["a", "x"]) {
            ask.columns = owned(AUX);
        } else if args.has(&["f"]) {
            ask.columns = owned(EF);
        } else if !bsd.is_empty() {
            ask.columns = owned(AX);
        } else {
            ask.columns = owned(PLAIN);
        }
        ask
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// One name for each column, whether it comes from a format list or a header.
fn canonical(name: &str) -> &str {
    match name {
        "PID" | "tgid" | "TGID" => "pid",
        "PPID" => "ppid",
        "USER" | "UID" | "euser" | "ruser" | "uname" | "EUSER" | "RUSER" | "euid" | "uid" => "user",
        "%CPU" | "C" | "%cpu" | "pcpu" | "CPU" => "pcpu",
        "%MEM" | "%mem" => "pmem",
        "RSS" | "rssize" | "rsz" | "RSZ" => "rss",
        "VSZ" | "vsize" | "SZ" => "vsz",
        "S" | "STAT" | "s" | "state" => "stat",
        "WCHAN" | "nwchan" | "wname" => "wchan",
        "ELAPSED" => "etime",
        "TIME" | "cputime" => "time",
        "times" | "cputimes" => "cpu_seconds",
        "STARTED" | "START" | "STIME" | "bsdstart" | "start_time" | "stime" => "start",
        "TTY" | "TT" | "tt" | "tname" => "tty",
        "COMMAND" | "CMD" | "command" | "cmd" => "args",
        "ucmd" | "ucomm" | "exe" => "comm",
        "LWP" | "lwp" | "SPID" | "tid" | "TID" | "spid" => "thread",
        "NLWP" | "thcount" | "nlwp" => "threads",
        other => other,
    }
}

/// Whether the output holds whole command lines.
pub(super) fn shows_command_lines(invocation: &Invocation) -> bool {
    let ask = Ask::of(invocation);
    ask.columns.is_empty() || ask.columns.iter().any(|name| name == "args")
}

/// Whether a line is ps's header.
fn is_header(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let known = [
        "PID", "COMMAND", "CMD", "STAT", "WCHAN", "RSS", "ELAPSED", "USER", "UID", "TIME", "%CPU",
        "PPID", "STARTED", "NLWP", "TTY", "S", "LWP", "VSZ", "%MEM", "C",
    ];
    !words.is_empty()
        && words.iter().all(|word| {
            word.chars()
                .all(|c| c.is_ascii_uppercase() || matches!(c, '%' | '_' | '+'))
        })
        && words.iter().any(|word| known.contains(word))
}

/// The columns a header names.
fn of_header(text: &str) -> Vec<String> {
    text.split_whitespace()
        .map(|word| canonical(word).to_owned())
        .collect()
}

/// Whether a word can stand in a column.
fn can_be(word: &str, column: &str) -> bool {
    let figures = |also: &[char]| {
        !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_ascii_digit() || also.contains(&c))
    };
    match column {
        "user" => {
            // In small letters, or a number.
            let head = matches!(word, "USER" | "UID" | "RUSER" | "EUSER");
            let number = word.starts_with(|c: char| c.is_ascii_digit()) == figures(&[]);
            (head || number && !word.contains(|c: char| c.is_ascii_uppercase()))
                && word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                && word
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.'))
        }
        "pid" | "ppid" | "rss" | "vsz" => figures(&[]),
        "pcpu" | "pmem" => figures(&['.', ',']),
        "stat" => word.starts_with(['R', 'S', 'D', 'T', 'Z', 'I', 't', 'X']) && word.len() <= 6,
        "etime" => figures(&[':', '-']),
        _ => true,
    }
}

/// Whether these are the names that stand above these columns.
fn heads(names: &[String], columns: &[String], cut: bool) -> bool {
    // Columns with headers of one's own (`pid=ID`) have any name.
    let known = |name: &str| {
        matches!(
            name,
            "pid" | "ppid" | "user" | "pcpu" | "pmem" | "rss" | "vsz" | "stat" | "wchan" | "etime"
        )
    };
    (names.len() == columns.len() || cut && names.len() < columns.len())
        && names
            .iter()
            .zip(columns)
            .all(|(name, column)| name == column || !known(name) || !known(column))
}

/// `ps`.
pub(super) struct Ps;

impl Probe for Ps {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "ps"
    }

    fn complains(&self, line: &str, ctx: &Ctx<'_>) -> Fit {
        let chosen = |word: &crate::shell::Word| {
            word.text == "--format" || word.text.starts_with('-') && word.text.contains(['o', 'O'])
        };
        let unknown = line
            .split_once("format specifier \"")
            .map(|(_, rest)| rest.trim_end_matches('"'));
        if let Some(column) = unknown
            && !(ctx.invocation.args().iter().any(chosen)
                && ctx
                    .invocation
                    .args()
                    .iter()
                    .any(|word| word.text.contains(column)))
        {
            return Fit::No;
        }
        let known = [
            "error: unknown",
            "error: must ",
            "error: improper",
            "error: unsupported",
            "error: process ID",
            "error: conflicting",
            "error: garbage",
            "error: list of",
            "error: user name",
            "error: TTY ",
            "error: sorting",
            "error: thread",
            "Usage:",
            " ps [options]",
            " Try 'ps --help",
            "  or 'ps --help",
            " for additional help",
            "For more details see ps(1)",
            "Signal ",
        ];
        known.iter().any(|start| line.starts_with(start)).into()
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let ask = Ask::of(ctx.invocation);
        let threads = ask.columns.is_empty()
            && ctx.invocation.args().iter().any(|word| {
                word.text.starts_with('-')
                    && !word.text.starts_with("--")
                    && word.text.contains('L')
            });
        let min = usize::from(!ask.no_header && ctx.filter.patterns.is_empty());
        Grammar::at_least(min, move |line, nth| {
            if is_header(line) {
                let names = of_header(line);
                if threads && ctx.filter.keeps_lines() && !line.contains("LWP") {
                    return Fit::No;
                }
                if !ask.columns.is_empty()
                    && ctx.filter.columns.is_none()
                    && !heads(&names, &ask.columns, ctx.filter.reshaped)
                {
                    return Fit::No;
                }
                return if nth == 0 || ctx.filter.sorted {
                    Fit::Surely
                } else {
                    Fit::Likely
                };
            }
            if nth == 0 && min == 1 && !ctx.filter.reshaped {
                return Fit::No;
            }
            if ask.columns.is_empty() {
                return Fit::Perhaps;
            }
            if ctx.filter.columns.is_some()
                && let Some(picked) = columns::picked(
                    &ask.columns.iter().map(String::as_str).collect::<Vec<_>>(),
                    ctx.filter,
                )
                && !line
                    .split(' ')
                    .zip(&picked)
                    .all(|(word, name)| can_be(word, name))
            {
                return Fit::No;
            }
            let names: Vec<&str> = ask.columns.iter().map(String::as_str).collect();
            match columns::picked(&names, ctx.filter).and_then(|names| row_process(line, &names)) {
                Some((process, _))
                    if ask.by_pid
                        && process.pid > 0
                        && !ask.asked_pids.is_empty()
                        && !ask.asked_pids.contains(&process.pid)
                        && !ctx.filter.numbered
                        && ctx.invocation.words.iter().all(|word| word.literal) =>
                {
                    Fit::No
                }
                Some((process, sure)) if process.pid > 0 && sure => Fit::Surely,
                Some(_) => Fit::Likely,
                None => Fit::No,
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let ask = Ask::of(ctx.invocation);
        let mut names = ask.columns.clone();
        let mut header_seen = false;
        let mut rows: Vec<(&Shown, Process)> = Vec::new();
        let mut foreign = 0;
        for line in lines.iter().filter(|line| !line.text.trim().is_empty()) {
            if is_header(&line.text) {
                header_seen = true;
                // Cut in its width, the head says which columns are left.
                if names.is_empty() || ctx.filter.reshaped {
                    names = of_header(&line.text);
                    // `lstart` has the head of `start`, and five words below it.
                    for (name, asked) in names.iter_mut().zip(&ask.columns) {
                        if name == "start" && asked == "lstart" {
                            name.clone_from(asked);
                        }
                    }
                }
                continue;
            }
            if line.text.starts_with("ps: ")
                || line.text.starts_with("error: ")
                || line.text.starts_with("Usage:")
            {
                foreign += 1;
                continue;
            }
            let columns: Vec<&str> = names.iter().map(String::as_str).collect();
            let picked = columns::picked(&columns, ctx.filter);
            match picked.and_then(|picked| row_process(&line.text, &picked)) {
                Some((process, _)) => rows.push((line, process)),
                None => {
                    foreign += 1;
                    if ctx.filter.keeps_lines() && super::shellmsg::read_line(&line.text).is_none()
                    {
                        sink.complain(line, "not a row of ps in these columns");
                    }
                }
            }
        }
        let nothing = rows.is_empty();
        if nothing && (foreign > 0 || !(header_seen || ctx.ran == Tri::Yes)) {
            return;
        }
        emit(&ask, lines, rows, ctx, sink);
    }

    fn is_chatter(&self, line: &str) -> bool {
        line.split_whitespace()
            .take(2)
            .any(|word| int(word).is_some()) // the looker's own processes
    }
}

fn emit(
    ask: &Ask,
    lines: &[Shown],
    rows: Vec<(&Shown, Process)>,
    ctx: &Ctx<'_>,
    sink: &mut Sink<'_>,
) {
    let shown = rows.len();
    let only_pids = rows
        .iter()
        .all(|(_, process)| process.args.is_none() && process.comm.is_none());
    // Where only ids are left, the newest may be the grep's or the shell's: they cannot be told.
    let own_by_count = if only_pids && ask.everything {
        super::processes::own_in_count(ctx, ctx.filter.patterns.iter())
    } else {
        0
    };
    let mut real = Vec::new();
    let mut own = 0;
    for (line, process) in rows {
        let text = process
            .args
            .as_deref()
            .or(process.comm.as_deref())
            .unwrap_or("");
        if !ask.by_pid && is_own(ctx, text) {
            own += 1;
        } else {
            real.push((line, process));
        }
    }
    if let ([only], [(_, process)]) = (ask.asked_pids.as_slice(), real.as_mut_slice())
        && process.pid == 0
    {
        process.pid = *only;
    }
    if own_by_count > 0 {
        real.sort_by_key(|(line, process)| (process.pid, line.from));
        for _ in 0..own_by_count {
            if real.pop().is_some() {
                own += 1;
            }
        }
    }
    let pattern = match (ctx.filter.wanted(), ask.names.as_slice()) {
        (Some(pattern), _) => Some(pattern.expression.clone()),
        (None, []) => None,
        (None, names) => Some(format!(
            "^(?:{})$",
            names
                .iter()
                .map(|name| regex::escape(name))
                .collect::<Vec<_>>()
                .join("|")
        )),
    };
    sink.lines(
        lines,
        ProcessLook {
            tool: "ps".to_owned(),
            full: pattern.is_some()
                && ask.names.is_empty()
                && shows_command_lines(ctx.invocation)
                && !ctx.filter.searches_narrowed(),
            everything: ask.everything && ctx.filter.patterns.is_empty(),
            cut: ctx.filter.cut(
                shown
                    + usize::from(
                        ctx.filter.head.is_some()
                            && ctx.filter.patterns.is_empty()
                            && !ask.no_header,
                    ),
            ),
            asked_pids: ask.asked_pids.clone(),
            count: count(real.len()),
            self_matches: own,
            pids: real
                .iter()
                .map(|(_, process)| process.pid)
                .filter(|pid| *pid > 0)
                .collect(),
            pattern,
        },
    );
    for (line, process) in real.into_iter().filter(|(_, process)| process.pid > 0) {
        sink.line(line, process);
    }
}

/// A row as a process, and whether every column looks as it should. The id is 0 when no column holds
/// it.
fn row_process(text: &str, names: &[&str]) -> Option<(Process, bool)> {
    let row: Row<'_> = columns::split(text, names)?;
    let mut sure = names.len() > 1;
    let pid = match row.get(&["pid"]) {
        Some(pid) => int(pid).filter(|pid| *pid > 0)?,
        None => 0,
    };
    let state = row.get(&["stat"]);
    if let Some(state) = state {
        let good = state.starts_with(|c: char| "RSDTtZIWXP".contains(c))
            && state.chars().skip(1).all(|c| "<NLsl+WnI".contains(c));
        if !good {
            return None;
        }
    }
    for name in ["rss", "vsz"] {
        if let Some(cell) = row.get(&[name]) {
            super::words::size_bytes(cell, 1.0)?;
        }
    }
    if let Some(ppid) = row.get(&["ppid"]) {
        int(ppid)?;
    }
    for name in ["etime", "time"] {
        if let Some(cell) = row.get(&[name]) {
            sure &= clock_seconds(cell).is_some() || cell == "-";
        }
    }
    let text_of = |name: &str| {
        row.get(&[name])
            .filter(|cell| *cell != "-")
            .map(str::to_owned)
    };
    let args = row.get(&["args"]).map(|args| {
        let bare = args.trim_start_matches(['|', ' ', '\\', '_', '├', '└', '─', '│']);
        bare.trim_end().to_owned()
    });
    let process = Process {
        pid,
        ppid: row.get(&["ppid"]).and_then(int),
        user: text_of("user"),
        state: state.and_then(|state| state.get(..1)).map(str::to_owned),
        elapsed_s: row
            .get(&["etime"])
            .and_then(clock_seconds)
            .or(row.get(&["etimes"]).and_then(number)),
        cpu_time_s: row
            .get(&["time"])
            .and_then(clock_seconds)
            .or(row.get(&["cpu_seconds"]).and_then(number)),
        cpu_pct: row.get(&["pcpu"]).or(row.get(&["c"])).and_then(number),
        rss_kib: row.get(&["rss"]).and_then(int),
        wchan: text_of("wchan").filter(|wchan| wchan != "0"),
        comm: row.get(&["comm", "program"]).map(|comm| {
            // The name of a kernel thread may hold strokes (`kworker/0:1`); a path begins with one.
            let name = if comm.starts_with('/') {
                comm.rsplit('/').next().unwrap_or(comm)
            } else {
                comm
            };
            name.trim_end().to_owned()
        }),
        args: args.filter(|args| !args.is_empty()),
        threads: row.get(&["threads"]).and_then(int),
        ..Process::default()
    };
    Some((process, sure))
}
