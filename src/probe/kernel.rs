//! What the kernel says of hardware, memory, disks and processes: `dmesg`, `journalctl -k`,
//! `/var/log/kern.log`, and the same lines in any other output.
//!
//! Sources: Linux 4.18 to 6.12 (`mm/oom_kill.c`, `kernel/hung_task.c`, `fs/ext4`, `fs/xfs`,
//! `drivers/nvme`), NVIDIA's Xid catalogue; `tests/fixtures/probes/dmesg`.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::line::{self, Context, Seen};
use super::marks::{Marked, Marks};
use super::pattern::pattern;
use super::words::int;
use crate::fact::KernelEvent;

/// Events read of one look, one of a kind, code, device and process each.
const MOST: usize = 200;

/// What stands before the kernel's words: its own time, or journald's and syslog's heads.
static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x) ^ (?: <\d+> | kern\s*:\w+\s*:\s* )? (?:
            \[\s*(?P<up>\d+\.\d+)\]\s* (?: \[\s*[TC]?\d+\]\s* )?
          | \[ \w{3}\s+\w{3}\s+\d+\s+[\d:]+\s+\d{4} \]\s*
          | \d{4}-\d\d-\d\dT[\d:,.]+(?:[+-]\d\d:?\d\d|Z)?\s+
          | .{0,60}?\bkernel:\s (?: \[\s*(?P<up2>\d+\.\d+)\]\s* )?
        )",
    )
});

/// One kind of event: its name, what its text looks like with named parts.
struct Kind {
    name: &'static str,
    text: Regex,
}

static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    [
        (
            "xid",
            r"NVRM: Xid \((?:PCI:)?(?P<device>[0-9a-fA-F:.]+)\): (?P<code>\d+)(?:, pid='?(?P<pid>\d+|<unknown>)'?)?(?:, name=(?P<process>[^,]+))?",
        ),
        (
            "sxid",
            r"(?:nvswitch\w*): SXid \((?:PCI:)?(?P<device>[0-9a-fA-F:.]+)\): (?P<code>\d+)",
        ),
        (
            "nvrm",
            r"(?:NVRM|nvidia[\w-]*)\b.*(?:API mismatch|RmInitAdapter failed|rm_init_adapter failed|GPU has fallen off the bus|GPU is lost|probe routine failed|No NVIDIA (?:graphics adapter|GPU|devices)|requires? reset|failed to (?:copy|register|initialize|allocate)|GSP (?:RPC|firmware).*(?:fail|timeout|error)|[Cc]annot|unable to)(?:.*?(?P<device>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d))?",
        ),
        (
            "oom_kill",
            r"(?P<cgroup>Memory cgroup out of memory: |)(?:Out of memory[^:]*: )?Kill(?:ed)? process (?P<pid>\d+)(?:, UID \d+,?)? \((?P<process>[^)]*)\)(?:.*anon-rss:(?P<rss>\d+)kB)?",
        ),
        (
            "oom_kill",
            r"oom-kill:constraint=(?P<cgroup>CONSTRAINT_MEMCG|)\w*.*task=(?P<process>[^,]*),pid=(?P<pid>\d+)",
        ),
        (
            "hung_task",
            r"task (?P<process>.+):(?P<pid>\d+) (?:<[^>]*> )?blocked (?:in I/O wait )?for more than \d+ seconds",
        ),
        (
            "lockup",
            r"(?:soft lockup - CPU#\d+ stuck for \d+s!(?: \[(?P<process>.+):(?P<pid>\d+)\])?|hard LOCKUP on cpu|self-detected stall on CPU|detected stalls on CPUs|[Dd]etected (?:expedited )?stalls)",
        ),
        (
            "segfault",
            r"(?P<process>[^\s\[][^\[]{0,30})\[(?P<pid>\d+)\]: segfault at ",
        ),
        (
            "trap",
            r"traps: (?P<process>[^\[]{1,30})\[(?P<pid>\d+)\] (?:general protection|trap |invalid opcode)",
        ),
        (
            "io_error",
            r"(?:I/O error,? (?:dev|on dev) (?P<device>[\w-]+)|(?P<device2>nvme\w*): (?:I/O .*timeout|controller is down|Device not ready|failed to|Removing after probe failure)|(?P<device3>ata\d+(?:\.\d+)?): (?:failed command|exception Emask)|\[(?P<device4>sd\w+)\].*(?:Unrecovered read error|Medium Error|FAILED Result))",
        ),
        (
            "read_only",
            r"(?:\((?:device )?(?P<device>[\w!/-]+)\)?.*)?(?:Remounting filesystem read-only|forced readonly|shutting down filesystem|[Ss]hutdown.*Please unmount)",
        ),
        (
            "fs_error",
            r"(?:EXT[234]-fs (?:error|warning) \(device (?P<device>[\w!/-]+)\)|XFS \((?P<device2>[\w!/-]+)\): .*(?:Corruption|corruption|[Ii]nternal error|metadata I/O error|xfs_do_force_shutdown|log I/O error)|BTRFS:? (?:error|critical) \(device (?P<device3>[\w!/-]+)\)|(?P<device4>zfs|ZFS).*(?:suspended|uncorrectable))",
        ),
        (
            "net_fs",
            r"(?:nfs: server (?P<device>\S+) not responding|LustreError: .*|libceph: .*(?:\bdown\b|wrong peer|socket (?:closed|error))|ceph: .*(?:hung|stale|rejected)|CIFS: .*(?:not respond|timed? ?out|reconnect))",
        ),
        (
            "machine_check",
            r"(?:\[Hardware Error\]: .*|mce: .*(?:Machine [Cc]heck|error)|EDAC (?P<device>\w+): \d+ [CU]E .*|Memory failure: 0x.*)",
        ),
        (
            "pcie_error",
            r"(?:pcieport |)(?P<device>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)?:? ?(?:AER: .*error|PCIe Bus Error: severity=)",
        ),
        (
            "link_down",
            r"(?:(?P<device>[\w.-]+): (?:NIC )?[Ll]ink (?:is )?[Dd]own\b|(?P<device2>mlx[45]_\w+).*[Ll]ink down)",
        ),
        (
            "thermal",
            r"(?:CPU\d+|Core|Package).*temperature above threshold|thermal.*critical temperature",
        ),
        (
            "panic",
            r"(?:Kernel panic - not syncing|BUG: (?:unable to handle|kernel NULL pointer)|\bOops: )",
        ),
    ]
    .into_iter()
    .map(|(name, text)| Kind {
        name,
        text: pattern(text),
    })
    .collect()
});

/// Words of which every event holds one: most lines are left after this.
static MAY_SAY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"NVRM|SXid|nvidia|Kill(?:ed)? process|oom-kill:|blocked|lockup|LOCKUP|stall|segfault|traps:|I/O|nvme|ata\d|\[sd|read-?only|hut|-fs |XFS|BTRFS|ZFS|zfs|nfs:|Lustre|ceph|CIFS|Hardware Error|mce:|EDAC|Memory failure|AER:|PCIe Bus|[Ll]ink|temperature|panic|BUG:|Oops:",
    )
});

/// Whether a line may be one of these.
pub(super) fn may(text: &str) -> bool {
    MAY_SAY.is_match(crate::text::cut(text, line::MAX_TEXT))
}

/// Whether a text is the kernel's own log, so that its lines need no head.
fn is_kernel_log(context: &Context<'_>) -> bool {
    context.program == "dmesg"
        || matches!(context.path, "dmesg" | "kernel")
        || ["kern.log", "/dmesg", "/messages", "/syslog"]
            .iter()
            .any(|end| context.path.ends_with(end))
}

/// The events that lines tell of.
pub(super) fn read(lines: &[Marked<'_>], context: &Context<'_>) -> Vec<Seen> {
    let own = is_kernel_log(context);
    let mut known: HashMap<_, usize> = HashMap::new();
    let mut seen: Vec<Seen> = Vec::new();
    for marked in lines.iter().filter(|line| line.marks.has(Marks::KERNEL)) {
        if seen.len() >= MOST {
            break;
        }
        let (text, from, to) = marked.line.last_written();
        let Some(event) = event(text, own, context.year) else {
            continue;
        };
        let key = (
            event.kind.clone(),
            event.code,
            event.device.clone(),
            event.pid,
            event.process.clone(),
        );
        let tells_more = event.rss_kib.is_some();
        let event = Seen {
            fact: event.into(),
            from,
            to,
        };
        match known.get(&key).and_then(|at| seen.get_mut(*at)) {
            // A kill is told twice; the second line says how large the process was.
            Some(before) if tells_more => *before = event,
            Some(_) => {}
            None => {
                known.insert(key, seen.len());
                seen.push(event);
            }
        }
    }
    seen
}

/// The event a line tells of; `own`: it is from the kernel's own log, so it needs no head.
fn event(text: &str, own: bool, year: Option<i64>) -> Option<KernelEvent> {
    let text = crate::text::cut(text, line::MAX_TEXT);
    let head = HEAD.captures(text);
    let uptime_s = head
        .as_ref()
        .and_then(|head| head.name("up").or(head.name("up2")))
        .and_then(|up| up.as_str().parse().ok());
    let bare = match &head {
        Some(head) => text.get(head.get(0)?.end()..)?,
        None if own || text.starts_with("NVRM: Xid") => text,
        None => return None,
    };
    let (kind, found) = KINDS
        .iter()
        .find_map(|kind| kind.text.captures(bare).map(|found| (kind, found)))?;
    let part = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| found.name(name))
            .map(|part| part.as_str().trim().to_owned())
            .filter(|part| !part.is_empty() && part != "<unknown>")
    };
    let code = part(&["code"]).as_deref().and_then(int);
    Some(KernelEvent {
        kind: kind.name.to_owned(),
        text: bare.trim().to_owned(),
        code,
        device: part(&["device", "device2", "device3", "device4"]),
        pid: part(&["pid"]).as_deref().and_then(int),
        process: part(&["process"]),
        rss_kib: part(&["rss"]).as_deref().and_then(int),
        cgroup: found.name("cgroup").map(|cgroup| !cgroup.is_empty()),
        time_us: line::time_of(text, year),
        uptime_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Option<(String, Option<i64>, Option<String>)> {
        event(text, false, Some(2025)).map(|event| (event.kind, event.pid, event.device))
    }

    #[test]
    fn events_are_known_by_their_words() {
        for (text, name) in [
            (
                "[1.5] NVRM: Xid (PCI:0000:c3:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
                "xid",
            ),
            (
                "Mar  4 09:01:12 h kernel: [ 12.1] Out of memory: Killed process 12 (python3) total-vm:1kB, anon-rss:2kB",
                "oom_kill",
            ),
            (
                "[Tue Mar  4 09:01:12 2025] INFO: task python3:4711 blocked for more than 120 seconds.",
                "hung_task",
            ),
            (
                "Mar 04 09:01:12 h kernel: python3[77]: segfault at 0 ip 00007f error 4 in libc.so.6",
                "segfault",
            ),
            (
                "[9.1] blk_update_request: I/O error, dev sda, sector 12",
                "io_error",
            ),
            (
                "[9.1] EXT4-fs error (device sda1): ext4_find_entry:1612: inode #2",
                "fs_error",
            ),
            (
                "[9.1] EXT4-fs (sda1): Remounting filesystem read-only",
                "read_only",
            ),
            (
                "[9.1] XFS (dm-0): Corruption of in-memory data detected.",
                "fs_error",
            ),
            (
                "[9.1] nfs: server fs01 not responding, still trying",
                "net_fs",
            ),
            (
                "[9.1] watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:12]",
                "lockup",
            ),
            (
                "[9.1] NVRM: API mismatch: the client has the version 550.54.15, but",
                "nvrm",
            ),
            (
                "[9.1] pcieport 0000:00:03.1: AER: Corrected error received: 0000:03:00.0",
                "pcie_error",
            ),
        ] {
            assert_eq!(
                kind(text).map(|found| found.0).as_deref(),
                Some(name),
                "{text}"
            );
        }
    }

    #[test]
    fn a_healthy_start_is_no_event() {
        for text in [
            "[1.5] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15",
            "[1.5] nvidia-nvlink: Nvlink Core is being initialized, major device number 235",
            "[1.5] EXT4-fs (sda1): mounted filesystem with ordered data mode. Quota mode: none.",
            "[1.5] XFS (dm-0): Ending clean mount",
            "[1.5] nvme nvme0: 32/0/0 default/read/poll queues",
            "[1.5] mlx5_core 0000:17:00.0 eth2: Link up",
            "[1.5] EDAC MC: Ver: 3.0.0",
            "[1.5] mce: CPU0: Thermal monitoring enabled (TM1)",
            "[1.5] pcieport 0000:00:03.1: AER: enabled with IRQ 28",
            "nothing of the kernel: segfault at the end of the line",
            "Process 12 was Killed process 13 (x)",
        ] {
            assert_eq!(kind(text), None, "{text}");
        }
    }
}
