//! The fact types. Adding a field or a type here is all it takes to let playbooks use it.

use serde::{Deserialize, Serialize};

use super::value::{FieldValue, Peek, Value};
use super::{FactType, Field};
use crate::shell::Tri;

macro_rules! facts {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident, $text:literal, from $source:literal {
            $( $(#[doc = $fdoc:literal])+ $field:ident : $ty:ty, )*
        }
    )*) => {
        $(
            $(#[doc = $doc])+
            #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
            #[serde(default)]
            pub struct $name { $( $(#[doc = $fdoc])+ pub $field: $ty, )* }
        )*

        /// A fact of any type.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "fact", content = "fields")]
        pub enum Fact {
            $( $(#[doc = $doc])+ #[serde(rename = $text)] $name($name), )*
        }

        $( impl From<$name> for Fact { fn from(fact: $name) -> Self { Self::$name(fact) } } )*

        impl Fact {
            /// The name of its type.
            pub fn name(&self) -> &'static str {
                match self { $( Self::$name(_) => $text, )* }
            }

            /// The value of a field; `None` when the type has no such field.
            pub fn get(&self, field: &str) -> Option<Value> {
                match self {
                    $( Self::$name(fact) => match field {
                        $( stringify!($field) => Some(fact.$field.value()), )*
                        _ => None,
                    }, )*
                }
            }
        }

        impl Fact {
            /// The value of a field, borrowed; `None` when the type has no such field.
            pub fn peek(&self, field: &str) -> Option<Peek<'_>> {
                match self {
                    $( Self::$name(fact) => match field {
                        $( stringify!($field) => Some(fact.$field.peek()), )*
                        _ => None,
                    }, )*
                }
            }
        }

        impl Fact {
            /// The value of the type's field of that number (its place in [`FactType::fields`]), borrowed: what
            /// asks often asks so, and looks for no name.
            pub fn peek_at(&self, number: usize) -> Option<Peek<'_>> {
                match self {
                    $( Self::$name(fact) => {
                        const READ: &[for<'a> fn(&'a $name) -> Peek<'a>] = &[ $( {
                            fn read(fact: &$name) -> Peek<'_> {
                                fact.$field.peek()
                            }
                            read
                        }, )* ];
                        READ.get(number).map(|read| read(fact))
                    }, )*
                }
            }
        }

        /// Every fact type, in the order of the manual.
        pub const CATALOGUE: &[FactType] = &[ $( FactType {
            name: $text,
            doc: concat!($($doc, "\n"),+),
            source: $source,
            fields: &[ $( Field {
                name: stringify!($field),
                ty: <$ty as FieldValue>::TYPE,
                optional: <$ty as FieldValue>::OPTIONAL,
                doc: concat!($($fdoc, "\n"),+),
            }, )* ],
        }, )* ];
    };
}

facts! {
    // ---- of the command line -------------------------------------------------------------------

    /// A simple command ran, or was to run: one a leaf of the command's tree.
    Run, "run", from "the command line" {
        /// The program, without its folder.
        program: String,
        /// Program and arguments, joined by spaces.
        line: String,
        /// Whether it can be told that it ran: `no` when the shell died before it.
        ran: Tri,
        /// In the background.
        background: bool,
        /// Its output goes to a file or is thrown away.
        redirected: bool,
    }

    /// A command ended.
    Exit, "exit", from "the recorder" {
        /// Its exit code, when it ended by itself.
        code: Option<i64>,
        /// The signal that ended it.
        signal: Option<i64>,
        /// Nobody saw its end.
        lost: bool,
        /// It printed nothing at all.
        silent: bool,
        /// It printed nothing on standard error (or, on a terminal, nothing at all).
        silent_stderr: bool,
        /// How long it ran, in seconds.
        took_s: Option<f64>,
        /// The program typed first.
        program: String,
        /// It went through ssh.
        via_ssh: bool,
        /// The program whose code this is, innermost and last.
        last_program: String,
        /// `yes` when the code is the usual way of that program to say "no" (grep, diff, pgrep 1).
        says_no: Tri,
    }

    /// An exit code that the command line itself printed (`echo rc=$?`), or that a wrapper wrote.
    EchoedExit, "echoed_exit", from "echo $?" {
        /// The code.
        code: i64,
        /// The program it belongs to, as far as the line tells.
        program: String,
    }

    /// The command line printed the id of what it started (`echo $!`).
    EchoedPid, "echoed_pid", from "echo $!" {
        /// The id.
        pid: i64,
    }

    /// Something was started to stay.
    Launch, "launch", from "the command line" {
        /// What people call it: the script's or program's file name.
        name: String,
        /// The program, without its folder.
        program: String,
        /// Program and arguments.
        line: String,
        /// The script or program file it runs, resolved where that is known.
        script: Option<String>,
        /// That file's name without its folder.
        script_name: Option<String>,
        /// Where its output goes, resolved where that is known.
        log: Option<String>,
        /// The log is appended to.
        log_append: bool,
        /// The port its words name.
        port: Option<i64>,
        /// Its process id, when the line printed it (`echo $!`).
        pid: Option<i64>,
        /// Its output stays in a buffer while it goes to a file.
        buffered: Tri,
        /// It outlives the shell that started it.
        detached: bool,
        /// An ssh that carries it stays open until it ends.
        holds_channel: Tri,
        /// The launch was reached: nothing before it ended the shell.
        reached: Tri,
        /// It runs in a container engine's or unit manager's hands.
        managed: bool,
    }

    /// Processes were asked to end.
    Kill, "kill", from "the command line" {
        /// The program (`pkill`, `kill`, `killall`, `fuser`).
        program: String,
        /// Its pattern or name.
        pattern: Option<String>,
        /// The pattern in a form that cannot match the look itself (`[s]glang`).
        pattern_safe: Option<String>,
        /// It looks at whole command lines.
        full: bool,
        /// The signal's number.
        signal: i64,
        /// Process ids named literally.
        pids: Vec<i64>,
        /// It would match the shell that runs it.
        hits_own_shell: Tri,
        /// More commands follow it in that shell.
        more_follows: bool,
        /// A launch follows it in the same command.
        launch_follows: bool,
        /// The log of that launch.
        launch_log: Option<String>,
        /// A file is written after it in the same command.
        write_follows: bool,
        /// Whether it is known to have worked.
        effective: Tri,
    }

    /// A file was written, or was to be.
    FileWrite, "file_write", from "the command line" {
        /// The path, resolved where that is known.
        path: String,
        /// How: heredoc, redirect, tee, copy, move, touch, mkdir.
        how: String,
        /// Appended to.
        append: bool,
        /// What feeds it does not reach it.
        input_lost: Tri,
        /// The write was reached.
        reached: Tri,
    }

    /// A variable or quote was expanded on the outer side of a hop.
    EarlyExpansion, "early_expansion", from "the command line" {
        /// The variables.
        names: Vec<String>,
        /// How: double_quotes, heredoc, lost_quotes.
        how: String,
        /// The text as the inner side gets it.
        text: String,
        /// The output shows that they were empty or wrong.
        harmful: Tri,
    }

    // ---- processes -----------------------------------------------------------------------------

    /// A look at processes: what was asked, and how many were found.
    ProcessLook, "process_look", from "pgrep, pidof, ps, top, pstree" {
        /// The tool.
        tool: String,
        /// The pattern asked for.
        pattern: Option<String>,
        /// It looks at whole command lines.
        full: bool,
        /// It lists every process.
        everything: bool,
        /// Some of the list was cut away (`head`), so that what is not shown may still be there.
        cut: bool,
        /// Process ids asked for by number.
        asked_pids: Vec<i64>,
        /// Processes found, the looker's own taken out.
        count: i64,
        /// How many of the looker's own processes it showed.
        self_matches: i64,
        /// The ids found, the looker's own taken out.
        pids: Vec<i64>,
    }

    /// A process was seen.
    Process, "process", from "pgrep, ps, top, /proc, pstree, fuser, lsof" {
        /// Its id.
        pid: i64,
        /// Its parent's id.
        ppid: Option<i64>,
        /// Its owner.
        user: Option<String>,
        /// Its state letter: R, S, D, T, Z, I.
        state: Option<String>,
        /// How long it has run, in seconds.
        elapsed_s: Option<f64>,
        /// Processor time used, in seconds.
        cpu_time_s: Option<f64>,
        /// Processor use in per cent of one core.
        cpu_pct: Option<f64>,
        /// Resident memory, in KiB.
        rss_kib: Option<i64>,
        /// What it waits for in the kernel.
        wchan: Option<String>,
        /// Its short name.
        comm: Option<String>,
        /// Its command line.
        args: Option<String>,
        /// Its threads.
        threads: Option<i64>,
        /// Bytes it has read from storage.
        read_bytes: Option<i64>,
        /// Bytes it has written to storage.
        written_bytes: Option<i64>,
    }

    /// The stack of a thread.
    Stack, "stack", from "py-spy, gdb, /proc/PID/stack" {
        /// The process.
        pid: Option<i64>,
        /// The thread's name.
        thread: Option<String>,
        /// `active` or `idle`, as the tool says.
        state: Option<String>,
        /// The innermost frame.
        top: String,
        /// All frames, innermost first, joined by ` < `.
        frames: String,
    }

    /// What a process asks of the kernel, as `strace` shows it: the last call of each thread, calls
    /// that failed, and the rows of a summary.
    Syscall, "syscall", from "strace" {
        /// The process or thread.
        pid: Option<i64>,
        /// The call.
        name: String,
        /// The line.
        text: String,
        /// It had not returned when the trace ended.
        pending: bool,
        /// Its error (`ENOENT`).
        error: Option<String>,
        /// How often it came (of a summary: calls).
        count: i64,
        /// Of these, how many failed.
        errors: Option<i64>,
        /// Its share of the time spent in calls, in per cent (of a summary).
        time_pct: Option<f64>,
    }

    /// A limit of a process or shell.
    Limit, "limit", from "ulimit, /proc/PID/limits" {
        /// Its name in words (`open files`, `address space`).
        name: String,
        /// The soft limit; unknown when unlimited.
        soft: Option<i64>,
        /// The hard limit; unknown when unlimited.
        hard: Option<i64>,
        /// It has no limit.
        unlimited: bool,
        /// The process, when it was one's.
        pid: Option<i64>,
    }

    /// A descriptor of a process leads there.
    Descriptor, "descriptor", from "ls -l /proc/PID/fd, readlink, lsof" {
        /// The process.
        pid: i64,
        /// The descriptor.
        fd: i64,
        /// Where it leads.
        target: String,
        /// The file was deleted.
        deleted: bool,
    }

    // ---- GPUs ----------------------------------------------------------------------------------

    /// A look at GPUs.
    GpuLook, "gpu_look", from "nvidia-smi, gpustat, rocm-smi, amd-smi" {
        /// The tool.
        tool: String,
        /// How many it showed.
        shown: i64,
        /// Some were cut away (`head -4`).
        cut: bool,
        /// The most memory in use on one of them, in MiB.
        most_used_mib: Option<f64>,
        /// The memory in use on all of them, in MiB.
        all_used_mib: Option<f64>,
        /// The highest utilisation, in per cent.
        most_util_pct: Option<f64>,
        /// The driver's version.
        driver: Option<String>,
        /// The CUDA version it speaks.
        cuda: Option<String>,
    }

    /// A GPU was seen.
    Gpu, "gpu", from "nvidia-smi, gpustat, rocm-smi, amd-smi" {
        /// Its index.
        index: Option<i64>,
        /// Its UUID.
        uuid: Option<String>,
        /// Its name.
        name: Option<String>,
        /// Memory in use, in MiB.
        memory_used_mib: Option<f64>,
        /// Memory in all, in MiB.
        memory_total_mib: Option<f64>,
        /// Utilisation, in per cent.
        util_pct: Option<f64>,
        /// Power drawn, in W.
        power_w: Option<f64>,
        /// Its power limit, in W.
        power_limit_w: Option<f64>,
        /// Temperature, in °C.
        temp_c: Option<f64>,
        /// Uncorrected ECC errors.
        ecc_uncorrected: Option<i64>,
        /// Why its clocks are held down, as the tool says.
        throttle: Option<String>,
        /// Its PCI address.
        pci: Option<String>,
        /// MIG is on.
        mig: Option<bool>,
        /// The clock of its multiprocessors, in MHz.
        clock_sm_mhz: Option<f64>,
        /// Rows of its memory, or pages of it, wait for a reset to be replaced.
        repair_pending: Option<bool>,
        /// A row of its memory could not be replaced.
        repair_failed: Option<bool>,
        /// What the driver wants done (`Reset`, `Reboot`, `Drain and Reset`); unknown when it wants
        /// nothing.
        recovery: Option<String>,
        /// The state of its fabric (`Completed`, `In Progress`), where NVSwitch joins it to others.
        fabric: Option<String>,
        /// The PCI Express generation in use.
        pcie_gen: Option<i64>,
        /// The lanes in use.
        pcie_width: Option<i64>,
    }

    /// A look at the processes that use GPUs.
    GpuProcessLook, "gpu_process_look", from "nvidia-smi, fuser /dev/nvidia*" {
        /// The tool.
        tool: String,
        /// How many it showed.
        count: i64,
        /// Their ids.
        pids: Vec<i64>,
        /// Some were cut away.
        cut: bool,
    }

    /// A process uses a GPU.
    GpuProcess, "gpu_process", from "nvidia-smi, fuser /dev/nvidia*" {
        /// Its id (of the host's pid namespace).
        pid: Option<i64>,
        /// Its name.
        name: Option<String>,
        /// The GPU's index.
        gpu: Option<i64>,
        /// Memory it uses, in MiB.
        used_mib: Option<f64>,
    }

    /// A part of a GPU that MIG split off.
    MigDevice, "mig_device", from "nvidia-smi, nvidia-smi -L, nvidia-smi mig -lgi" {
        /// The GPU's index.
        gpu: Option<i64>,
        /// Its number on that GPU.
        device: Option<i64>,
        /// Its profile (`3g.40gb`).
        profile: Option<String>,
        /// Its UUID.
        uuid: Option<String>,
        /// Memory in use, in MiB.
        memory_used_mib: Option<f64>,
        /// Memory in all, in MiB.
        memory_total_mib: Option<f64>,
    }

    /// A link of a GPU, or the way between two devices.
    GpuLink, "gpu_link", from "nvidia-smi nvlink, nvidia-smi topo -m, rocm-smi --showtopo" {
        /// The device it starts at (`GPU0`).
        from: String,
        /// The device at its other end, where that is known (`GPU3`, `NIC0`).
        to: Option<String>,
        /// The link's number.
        link: Option<i64>,
        /// The way (`NV18`, `PIX`, `PXB`, `PHB`, `NODE`, `SYS`).
        kind: Option<String>,
        /// It is up.
        active: Option<bool>,
        /// Its speed in GB/s.
        speed_gb_s: Option<f64>,
        /// Errors counted on it.
        errors: Option<i64>,
    }

    // ---- files and logs ------------------------------------------------------------------------

    /// What is known of a file.
    File, "file", from "ls, stat, wc, find, test, and messages such as `No such file`" {
        /// Its path.
        path: String,
        /// It is there.
        exists: Tri,
        /// `file`, `directory`, `link`, `device`, `socket`, `pipe`.
        kind: Option<String>,
        /// Its size in bytes.
        size_bytes: Option<i64>,
        /// Its lines.
        lines: Option<i64>,
        /// When it was last written, in microseconds since 1970 by its host's clock.
        mtime_us: Option<i64>,
        /// Its permissions, as `rwxr-xr-x`.
        mode: Option<String>,
        /// Somebody may execute it.
        executable: Option<bool>,
        /// Its owner.
        owner: Option<String>,
        /// Its inode.
        inode: Option<i64>,
        /// Where it leads, when it is a link.
        link_target: Option<String>,
        /// Its age at the time of the look, in seconds, when the host's clock was seen too.
        age_s: Option<f64>,
        /// Its digest, in hex.
        digest: Option<String>,
        /// What it holds, in the words of `file` (`ASCII text, with CRLF line terminators`).
        content: Option<String>,
    }

    /// A look at a folder.
    DirLook, "dir_look", from "ls, find" {
        /// Its path.
        path: String,
        /// Entries shown.
        count: i64,
        /// Some were cut away.
        cut: bool,
        /// Names that begin with a dot are among them, if there are any.
        hidden: bool,
    }

    /// A look into a log or text file.
    LogLook, "log_look", from "tail, cat, head, sed, less, journalctl, docker logs, kubectl logs" {
        /// The file, or the unit, container or pod whose log it is.
        path: String,
        /// The tool.
        tool: String,
        /// Lines shown.
        lines: i64,
        /// It shows the file whole.
        whole: bool,
        /// It shows the file's end.
        from_end: bool,
        /// Nothing was shown.
        empty: bool,
        /// Only what nohup itself says was shown (`ignoring input`).
        only_nohup: bool,
        /// Digest of what was shown, to see whether two looks agree.
        digest: String,
        /// The last line that is not empty.
        last_line: Option<String>,
        /// The newest time printed in it, in microseconds since 1970, taken as UTC where no zone
        /// stands.
        newest_us: Option<i64>,
        /// It holds a shell script.
        script: bool,
        /// It is a git-lfs pointer in place of the file.
        lfs_pointer: bool,
        /// Lines end in CR LF.
        crlf: bool,
    }

    /// What a shell script does that was shown: one of its simple commands.
    ScriptStep, "script_step", from "a shell script shown by cat, head, sed" {
        /// The script.
        path: String,
        /// The program, without its folder.
        program: String,
        /// Program and arguments, joined by spaces.
        line: String,
        /// The pipeline it stands in, its stages joined by ` | `; the command alone when it is in none.
        pipeline: String,
        /// In the background.
        background: bool,
        /// Its output, or its errors, go where those of the script go.
        inherits: bool,
        /// It stands in a loop.
        looped: bool,
    }

    /// A count of lines, words, bytes or matches.
    Count, "count", from "wc, grep -c, ls | wc -l" {
        /// The tool (`wc -l`, `grep -c`).
        tool: String,
        /// The file counted, or the program whose output was.
        of: String,
        /// The pattern counted.
        pattern: Option<String>,
        /// What is counted: lines, words, bytes, matches.
        unit: String,
        /// How many.
        count: i64,
        /// How many of the looker's own processes are in it (`ps | grep X | wc -l`).
        self_matches: i64,
    }

    /// A search in a text.
    Search, "search", from "grep, rg, journalctl -g" {
        /// The file, or the program whose output was searched.
        of: String,
        /// The pattern.
        pattern: String,
        /// Letters of both cases match.
        ignore_case: bool,
        /// Matches shown or counted; unknown when the search itself failed.
        found: Option<i64>,
        /// The pattern misses usual spellings of what it is after (`Error` but not `error`).
        narrow: bool,
    }

    /// A look that by its own words or options could show a part only.
    BlindLook, "blind_look", from "docker ps, kubectl get, pgrep, ps, journalctl, dmesg, netstat, crontab, grep" {
        /// The tool.
        tool: String,
        /// What it could not show, in words.
        hides: String,
        /// The command line that would have shown it.
        wider: String,
        /// It showed nothing of what it was asked.
        nothing: bool,
        /// Its own words for it.
        said: Option<String>,
    }

    /// A line worth reading in a log or in a command's own output.
    Line, "line", from "any output" {
        /// The file it is from; empty for a command's own output.
        path: String,
        /// `log`, `stdout`, `stderr` or `tty`.
        source: String,
        /// The program that showed it.
        program: String,
        /// The text, without escapes, its end cut past 2,000 bytes.
        text: String,
        /// `debug`, `info`, `warning`, `error`, `fatal`; empty where the line names none.
        level: String,
        /// The text with numbers, hex, paths and ids blanked, hashed.
        fingerprint: String,
        /// The time it prints, in microseconds since 1970.
        time_us: Option<i64>,
        /// Its place among the lines shown, from 0.
        ordinal: i64,
        /// How many lines of this fingerprint were shown.
        count: i64,
        /// The place of the last of them.
        last_ordinal: i64,
        /// The time the last of them prints, in microseconds since 1970.
        last_time_us: Option<i64>,
        /// The rank, worker or process that says it, as printed.
        worker: Option<String>,
        /// Known to mean nothing.
        benign: bool,
        /// Text that somebody had shown for what it is (source code, a manual, a change, a search in a
        /// repository), not what a program says of its run.
        quoted: bool,
        /// It belongs to an earlier run than the newest launch into this log.
        old: Tri,
    }

    /// A traceback or stack trace, read as one.
    Traceback, "traceback", from "any output" {
        /// The file it is from; empty for a command's own output.
        path: String,
        /// `log`, `stdout`, `stderr` or `tty`.
        source: String,
        /// The exception's type (`torch.OutOfMemoryError`, `java.lang.NoClassDefFoundError`).
        exception: String,
        /// Its message.
        message: String,
        /// The exception that caused it first, type and message.
        cause: Option<String>,
        /// The innermost frame shown.
        frame: Option<String>,
        /// The final line's fingerprint.
        fingerprint: String,
        /// Its final line's place among the lines shown.
        ordinal: i64,
        /// Text that somebody had shown for what it is (source code, a test's expectation), not what a
        /// program says of its run.
        quoted: bool,
        /// It belongs to an earlier run than the newest launch into this log.
        old: Tri,
    }

    /// The state of a progress bar, the last one shown under its label.
    Progress, "progress", from "tqdm bars and `N% Completed` lines" {
        /// The file it is from; empty for a command's own output.
        path: String,
        /// The words before the bar.
        label: String,
        /// How far it is, in per cent.
        percent: f64,
        /// Units done.
        done: Option<i64>,
        /// Units in all.
        total: Option<i64>,
        /// Seconds it has run, as it prints.
        elapsed_s: Option<f64>,
        /// Units a second.
        rate_per_s: Option<f64>,
        /// It belongs to an earlier run than the newest launch into this log.
        old: Tri,
    }

    /// A stage of a server's start was reached.
    Stage, "stage", from "start-up lines of sglang, vLLM, llama.cpp, uvicorn and others" {
        /// The file it is from; empty for a command's own output.
        path: String,
        /// `starting`, `distributed`, `load_begin`, `load_end`, `memory_pool`, `compile`, `graphs`,
        /// `warmup`, `listening`, `ready`, `serving`, `stopping`, `stopped`.
        stage: String,
        /// The line.
        text: String,
        /// The time it prints, in microseconds since 1970.
        time_us: Option<i64>,
        /// It belongs to an earlier run than the newest launch into this log.
        old: Tri,
    }

    /// A program could not be run.
    NotRun, "not_run", from "messages of shells, nohup, env, sudo" {
        /// What could not be run, as named.
        program: String,
        /// `not_found`, `not_executable`, `bad_interpreter`, `no_such_file`, `format`, `redirect` (its
        /// output could not be opened).
        why: String,
        /// The message.
        text: String,
        /// The file it was read in; empty for a command's own output.
        path: String,
        /// It belongs to an earlier run than the newest launch into this log.
        old: Tri,
    }

    // ---- network -------------------------------------------------------------------------------

    /// An HTTP request was made.
    Http, "http", from "curl, wget, httpie" {
        /// The URL as typed.
        url: String,
        /// The host asked.
        host: String,
        /// The port asked.
        port: Option<i64>,
        /// The path asked.
        path: String,
        /// The status; 0 when no answer came.
        status: Option<i64>,
        /// `ok`, `refused`, `timeout`, `dns`, `tls`, `unreachable`, `reset`, `http_error`, `empty`.
        outcome: String,
        /// The start of the answer's body.
        body: Option<String>,
    }

    /// A look at listening ports or connections.
    PortLook, "port_look", from "ss, netstat, lsof -i, fuser N/tcp" {
        /// The tool.
        tool: String,
        /// The one port asked for.
        filter_port: Option<i64>,
        /// Only listeners were asked for.
        listening_only: bool,
        /// How many were shown.
        count: i64,
        /// Some were cut away.
        cut: bool,
    }

    /// A socket was seen.
    Socket, "socket", from "ss, netstat, lsof -i, fuser N/tcp" {
        /// The local port.
        port: i64,
        /// The local address.
        address: Option<String>,
        /// It listens.
        listening: bool,
        /// Its state as printed.
        state: Option<String>,
        /// The peer.
        peer: Option<String>,
        /// The process that holds it.
        pid: Option<i64>,
        /// That process's name.
        process: Option<String>,
        /// Bytes or connections that wait to be read (Recv-Q).
        recv_q: Option<i64>,
    }

    /// A host was looked up or pinged.
    Reach, "reach", from "ping, getent, dig, nslookup, nc, ssh" {
        /// The host asked for.
        host: String,
        /// The port, when one was.
        port: Option<i64>,
        /// `ok`, `refused`, `timeout`, `dns`, `unreachable`, `auth`, `host_key`, `closed`.
        outcome: String,
        /// The message or address.
        text: String,
        /// Packets lost, in per cent.
        loss_pct: Option<f64>,
        /// The mean time there and back, in milliseconds.
        rtt_ms: Option<f64>,
    }

    /// A network interface or a port of an InfiniBand adapter.
    Interface, "interface", from "ip, ifconfig, ibstat, ibv_devinfo, ibdev2netdev, ethtool" {
        /// Its name (`eth0`, `mlx5_0/1`).
        name: String,
        /// Its state as printed (`UP`, `DOWN`, `Active`, `PORT_DOWN`, `LinkUp`).
        state: String,
        /// It can carry traffic.
        up: Tri,
        /// `ethernet`, `infiniband`, `loopback` or what else is printed.
        kind: Option<String>,
        /// Its addresses, without the length of the prefix.
        addresses: Vec<String>,
        /// The largest packet, in bytes.
        mtu: Option<i64>,
        /// Its rate in Gb/s.
        rate_gbit_s: Option<f64>,
        /// Packets received with errors.
        rx_errors: Option<i64>,
        /// Packets received and dropped.
        rx_dropped: Option<i64>,
        /// Packets that could not be sent.
        tx_errors: Option<i64>,
    }

    /// A route.
    Route, "route", from "ip route, route -n, netstat -rn" {
        /// Where it leads (`default`, `10.0.0.0/24`).
        to: String,
        /// The gateway.
        via: Option<String>,
        /// The interface.
        interface: Option<String>,
    }

    // ---- the machine ---------------------------------------------------------------------------

    /// The host's clock.
    Clock, "clock", from "date, uptime, nvidia-smi's head" {
        /// Microseconds since 1970.
        time_us: i64,
        /// It holds only a time of day; the date is unknown.
        day_unknown: bool,
    }

    /// The host's memory.
    Memory, "memory", from "free, top, /proc/meminfo" {
        /// In all, in MiB.
        total_mib: f64,
        /// In use, in MiB.
        used_mib: Option<f64>,
        /// Available, in MiB.
        available_mib: Option<f64>,
        /// Swap in use, in MiB.
        swap_used_mib: Option<f64>,
    }

    /// A file system's room.
    Disk, "disk", from "df, mount, findmnt, lsblk, /proc/mounts" {
        /// Where it is mounted.
        mount: String,
        /// What is mounted.
        device: String,
        /// Its size in MiB.
        size_mib: Option<f64>,
        /// Available, in MiB.
        available_mib: Option<f64>,
        /// In use, in per cent.
        used_pct: Option<f64>,
        /// It counts inodes, not bytes.
        inodes: bool,
        /// Mounted read-only (known from another look).
        read_only: Option<bool>,
        /// The kind of file system (`ext4`, `nfs4`, `overlay`).
        fs_type: Option<String>,
        /// How it is mounted, as printed (`rw,nosuid,noexec`).
        options: Option<String>,
    }

    /// The size of a tree of files.
    TreeSize, "tree_size", from "du" {
        /// Its path.
        path: String,
        /// Its size in bytes, as exact as the tool says it.
        bytes: f64,
    }

    /// A variable of the environment.
    Env, "env", from "env, printenv, echo, /proc/PID/environ" {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    }

    /// A version.
    Version, "version", from "--version, pip list, uname, nvcc, /proc/driver/nvidia/version" {
        /// What it is of.
        of: String,
        /// The version.
        version: String,
    }

    /// The kernel's word on hardware, memory, disks or a process.
    KernelEvent, "kernel_event", from "dmesg, journalctl -k, /var/log/kern.log" {
        /// `xid`, `sxid`, `nvrm` (what else the NVIDIA module says), `oom_kill`, `hung_task`,
        /// `lockup`, `segfault`, `trap`, `io_error`, `fs_error`, `read_only`, `nfs`, `machine_check`,
        /// `pcie_error`, `link_down`, `thermal`, `panic`.
        kind: String,
        /// The text, without its time.
        text: String,
        /// The number in it: of an Xid, of the signal.
        code: Option<i64>,
        /// The device: a PCI address, disk, interface or file system.
        device: Option<String>,
        /// The process it is about.
        pid: Option<i64>,
        /// That process's name.
        process: Option<String>,
        /// The memory it had resident when it was killed, in KiB.
        rss_kib: Option<i64>,
        /// It was killed for the limit of a group (container, service, job), not of the machine.
        cgroup: Option<bool>,
        /// The time it prints, in microseconds since 1970.
        time_us: Option<i64>,
        /// Seconds since the machine's start, when it prints those.
        uptime_s: Option<f64>,
    }

    /// How much there is to do: the run queue's mean length.
    Load, "load", from "uptime, w, top, /proc/loadavg" {
        /// Over the last minute.
        load_1m: f64,
        /// Over the last five minutes.
        load_5m: Option<f64>,
        /// Over the last fifteen minutes.
        load_15m: Option<f64>,
        /// How long the machine is up, in seconds.
        up_s: Option<f64>,
    }

    /// What the processors do.
    Cpu, "cpu", from "top, vmstat, mpstat, iostat, sar" {
        /// In programs, in per cent.
        user_pct: Option<f64>,
        /// In the kernel, in per cent.
        system_pct: Option<f64>,
        /// Doing nothing, in per cent.
        idle_pct: Option<f64>,
        /// Waiting for disks, in per cent.
        iowait_pct: Option<f64>,
        /// Taken by other guests of the host, in per cent.
        steal_pct: Option<f64>,
        /// Processes that run or wait for a processor.
        runnable: Option<i64>,
        /// Processes that wait for a disk.
        blocked: Option<i64>,
        /// Read from swap, in KiB a second.
        swap_in_kib_s: Option<f64>,
        /// Written to swap, in KiB a second.
        swap_out_kib_s: Option<f64>,
    }

    /// What a disk does.
    DiskIo, "disk_io", from "iostat, sar -d" {
        /// The device.
        device: String,
        /// Read, in KiB a second.
        read_kib_s: Option<f64>,
        /// Written, in KiB a second.
        write_kib_s: Option<f64>,
        /// How long a request takes, in milliseconds (the slower of reads and writes).
        await_ms: Option<f64>,
        /// Busy, in per cent.
        util_pct: Option<f64>,
    }

    /// The machine: its name, system and processors.
    HostInfo, "host_info", from "hostname, uname, lscpu, nproc, hostnamectl, numactl -H" {
        /// Its name, as it calls itself.
        hostname: Option<String>,
        /// The operating system.
        os: Option<String>,
        /// The kernel's release.
        kernel: Option<String>,
        /// The architecture.
        arch: Option<String>,
        /// Processors that may be used.
        cpus: Option<i64>,
        /// Their model.
        cpu_model: Option<String>,
        /// NUMA nodes.
        numa_nodes: Option<i64>,
        /// Its hypervisor or container (`kvm`, `docker`).
        virtualization: Option<String>,
        /// Its addresses.
        addresses: Vec<String>,
    }

    /// When the machine was started.
    Boot, "boot", from "uptime -s, who -b, last reboot" {
        /// In microseconds since 1970, taken as UTC where no zone stands.
        time_us: Option<i64>,
        /// What was printed.
        text: String,
    }

    /// How right the host's clock is.
    TimeSync, "time_sync", from "timedatectl, chronyc tracking, ntpq -p, ntpstat" {
        /// It follows a source of time.
        synchronized: Tri,
        /// How far it is off, in seconds; positive when it is ahead.
        offset_s: Option<f64>,
        /// The source it follows.
        source: Option<String>,
        /// Its time zone.
        zone: Option<String>,
    }

    /// A setting of the kernel or of a tool. A line of /etc/hosts is one of the tool `hosts`: a name and its address.
    Setting, "setting", from "sysctl, /proc/sys, git config, crontab -l, /etc/hosts, /etc/resolv.conf" {
        /// The tool.
        tool: String,
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    }

    /// Who runs the commands.
    Identity, "identity", from "id, whoami, groups" {
        /// The name.
        user: Option<String>,
        /// The number.
        uid: Option<i64>,
        /// The groups.
        groups: Vec<String>,
    }

    /// A device on the PCI bus.
    PciDevice, "pci_device", from "lspci" {
        /// Its address.
        address: String,
        /// Its class (`3D controller`).
        class: String,
        /// Its name.
        name: String,
        /// It answers with nothing but ones (`rev ff`): it fell off the bus.
        gone: bool,
        /// The kernel's driver that holds it.
        driver: Option<String>,
        /// Its link is slower or narrower than it could be.
        downgraded: Option<bool>,
    }

    /// A shared library that a program needs.
    Library, "library", from "ldd" {
        /// The program or library that needs it.
        of: String,
        /// Its name.
        name: String,
        /// It was found.
        found: bool,
        /// Where.
        path: Option<String>,
    }

    /// A working tree under git.
    Repository, "repository", from "git status, git log, git rev-parse" {
        /// The branch.
        branch: Option<String>,
        /// The commit.
        commit: Option<String>,
        /// Its subject.
        subject: Option<String>,
        /// Files changed, staged or unknown to git.
        changed: Option<i64>,
        /// Commits that the remote does not have.
        ahead: Option<i64>,
        /// Commits that only the remote has.
        behind: Option<i64>,
    }

    /// A result of a benchmark of communication or memory.
    Bandwidth, "bandwidth", from "nccl-tests, rccl-tests, iperf3, ib_write_bw" {
        /// The benchmark (`all_reduce_perf`).
        tool: String,
        /// Sizes measured.
        rows: i64,
        /// The largest size measured, in bytes.
        size_bytes: Option<i64>,
        /// The best bus bandwidth, in GB/s.
        best_gb_s: Option<f64>,
        /// The mean bus bandwidth, in GB/s.
        mean_gb_s: Option<f64>,
        /// Values that came out wrong.
        wrong: Option<i64>,
        /// Ranks that took part.
        ranks: Option<i64>,
    }

    // ---- managers ------------------------------------------------------------------------------

    /// A systemd unit or a supervised program.
    Unit, "unit", from "systemctl, supervisorctl, pm2" {
        /// Its name.
        name: String,
        /// `active`, `inactive`, `failed`, `activating`, `RUNNING`, `BACKOFF`, `FATAL`.
        active: String,
        /// The finer state (`running`, `dead`, `auto-restart`).
        sub: Option<String>,
        /// Why it failed (`exit-code`, `signal`, `start-limit-hit`, `oom-kill`, `condition: ConditionPathExists=/x`).
        result: Option<String>,
        /// Its main process.
        main_pid: Option<i64>,
        /// The main process's exit status.
        status: Option<i64>,
        /// How often it was restarted.
        restarts: Option<i64>,
        /// The timer, path or socket unit that starts it.
        triggered_by: Option<String>,
    }

    /// A container.
    Container, "container", from "docker, podman, nerdctl" {
        /// Its name or id.
        name: String,
        /// `running`, `exited`, `restarting`, `created`, `paused`, `dead`.
        status: String,
        /// Its exit code.
        exit_code: Option<i64>,
        /// The kernel killed it for memory.
        oom_killed: Option<bool>,
        /// Its image.
        image: Option<String>,
        /// The command line it runs, as far as it is shown.
        command: Option<String>,
        /// The ports it publishes, as printed.
        ports: Option<String>,
        /// How long it has been in that state, in seconds, as coarse as the tool says it.
        state_age_s: Option<f64>,
        /// `healthy`, `unhealthy` or `starting`, when it has a health check.
        health: Option<String>,
        /// How often it was restarted.
        restarts: Option<i64>,
        /// What its engine says went wrong.
        error: Option<String>,
        /// The room of its /dev/shm, in MiB.
        shm_mib: Option<f64>,
        /// Its limit of memory, in MiB; unknown when it has none.
        memory_limit_mib: Option<f64>,
    }

    /// A Kubernetes pod or one of its containers.
    Pod, "pod", from "kubectl get, describe" {
        /// Its name.
        name: String,
        /// The status as printed (`CrashLoopBackOff`, `Running`).
        status: String,
        /// Ready containers as printed (`0/1`).
        ready: Option<String>,
        /// How often it was restarted.
        restarts: Option<i64>,
        /// Why the last state ended (`OOMKilled`, `Error`, `Completed`).
        last_reason: Option<String>,
        /// The last state's exit code.
        last_exit: Option<i64>,
        /// Its namespace.
        namespace: Option<String>,
        /// The node it runs on.
        node: Option<String>,
        /// What is said of its state.
        message: Option<String>,
    }

    /// A Kubernetes event.
    PodEvent, "pod_event", from "kubectl describe, get events" {
        /// The object.
        object: String,
        /// `Normal` or `Warning`.
        level: String,
        /// The reason (`Unhealthy`, `Killing`, `FailedScheduling`).
        reason: String,
        /// The message.
        text: String,
        /// How often it came.
        count: Option<i64>,
    }

    /// An object of Kubernetes that is neither pod nor node: a deployment, job, service, claim.
    KubeObject, "kube_object", from "kubectl get" {
        /// Its kind (`deployment`, `statefulset`, `daemonset`, `replicaset`, `job`, `pvc`, `pv`,
        /// `service`, `namespace`).
        kind: String,
        /// Its name.
        name: String,
        /// Its namespace.
        namespace: Option<String>,
        /// Its status as printed (`Bound`, `Pending`, `Lost`, `Complete`).
        status: Option<String>,
        /// How many of it are ready.
        ready: Option<i64>,
        /// How many there should be.
        wanted: Option<i64>,
    }

    /// A node of a cluster.
    Node, "node", from "kubectl get nodes, kubectl describe node, sinfo, scontrol show node" {
        /// Its name (or list of names, as printed).
        name: String,
        /// `kubernetes` or `slurm`.
        cluster: String,
        /// Its state as printed (`Ready`, `NotReady,SchedulingDisabled`, `idle`, `drained*`).
        state: String,
        /// It takes work: `no` when it is down, drained, cordoned or not ready.
        usable: Tri,
        /// Why it is in that state.
        reason: Option<String>,
        /// Conditions that press it (`MemoryPressure`, `DiskPressure`).
        pressure: Vec<String>,
    }

    /// A batch job.
    Job, "job", from "squeue, sacct, scontrol show job" {
        /// Its id as printed (`4711`, `4711_3`, `4711.batch`).
        id: String,
        /// Its name.
        name: Option<String>,
        /// Its owner.
        user: Option<String>,
        /// Its partition.
        partition: Option<String>,
        /// Its state in full (`RUNNING`, `PENDING`, `OUT_OF_MEMORY`, `TIMEOUT`, `NODE_FAIL`).
        state: String,
        /// Why it waits or ended (`Resources`, `QOSMaxJobsPerUserLimit`, `NonZeroExitCode`).
        reason: Option<String>,
        /// Its exit code.
        exit_code: Option<i64>,
        /// The signal that ended it.
        signal: Option<i64>,
        /// How long it has run, in seconds.
        elapsed_s: Option<f64>,
        /// How long it may run, in seconds; unknown when it may run for ever.
        limit_s: Option<f64>,
        /// Its nodes as printed.
        nodes: Option<String>,
        /// The file its output goes to.
        stdout: Option<String>,
        /// The most memory one of its tasks used, in MiB.
        max_rss_mib: Option<f64>,
    }

    /// What a container, pod or node uses.
    Usage, "usage", from "docker stats, kubectl top" {
        /// `container`, `pod` or `node`.
        kind: String,
        /// Its name.
        name: String,
        /// Processor use, in per cent of one core.
        cpu_pct: Option<f64>,
        /// Memory in use, in MiB.
        memory_mib: Option<f64>,
        /// Its limit of memory, in MiB.
        memory_limit_mib: Option<f64>,
        /// Memory in use, in per cent of what it may use.
        memory_pct: Option<f64>,
        /// Its processes.
        pids: Option<i64>,
    }

    // ---- what follows over time (from the timeline) --------------------------------------------

    /// The state of a launch, after a look that says something about it.
    LaunchState, "launch_state", from "the timeline" {
        /// `running`, `absent`, `unknown`.
        process: String,
        /// It was seen running before.
        was_running: bool,
        /// GPU memory on its host: `idle`, `rising`, `steady`, `falling`, `unknown`.
        gpu: String,
        /// Its log: `absent`, `empty`, `stale`, `fresh`, `unchanged`, `unknown`.
        log: String,
        /// How long the log has shown the same, in seconds.
        log_still_s: Option<f64>,
        /// Distinct looks at the log that showed the same, the last one included.
        log_still_looks: i64,
        /// Progress: `none`, `advancing`, `still`, `done`, `unknown`.
        progress: String,
        /// The progress bar's last per cent.
        percent: Option<f64>,
        /// How long the progress has been the same, in seconds.
        progress_still_s: Option<f64>,
        /// Units that should have been done since the bar stood still, at the rate it last showed.
        missed_units: Option<f64>,
        /// Its log has shown a line of this run that is neither a bar nor nohup's own.
        spoke: Tri,
        /// Its endpoint: `ready`, `loading`, `refused`, `timeout`, `error`, `unknown`.
        endpoint: String,
        /// The furthest stage this run reached.
        stage: Option<String>,
        /// The server says it is ready: an endpoint that answers, or a stage.
        ready: bool,
        /// An error line or traceback of this run was seen.
        errors: bool,
        /// Seconds since the launch.
        age_s: f64,
        /// The launch was reached.
        reached: Tri,
        /// The script it runs: `yes` it is there, `no` it is missing, empty or not executable.
        script_ok: Tri,
        /// Processor time was seen to grow, or its use is high.
        busy: Tri,
        /// GPU utilisation was seen above a few per cent.
        gpu_busy: Tri,
    }
}
