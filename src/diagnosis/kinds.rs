//! What the names of kinds say: which are good news, and which kind of finding explains which.
//!
//! The table is data: a line says that a finding of one kind, where both concern the same thing,
//! explains one of the other. Playbooks add to it with `root_of`.

use super::{Claim, Finding, Severity};

/// A kind that says that something alarming is fine.
pub fn harmless(kind: &str) -> bool {
    kind == "load.slow_healthy" || kind.ends_with(".healthy") || kind.contains("benign")
}

/// A kind is named by a pattern: itself, its family (`cuda.*`), or `*`.
pub fn matches(pattern: &str, kind: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(family) => kind.starts_with(family),
        None => pattern == kind,
    }
}

/// How near two findings must be for one to explain the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The same launch or command.
    Launch,
    /// The same machine is enough: the cause is one of the machine's.
    Host,
}

/// Kinds on the left explain kinds on the right.
#[derive(Debug)]
pub(super) struct Rule {
    roots: &'static [&'static str],
    effects: &'static [&'static str],
    reach: Reach,
}

/// How a program's end looks from outside: every cause that is known stands above these.
const ENDS: &[&str] = &[
    "process.crashed",
    "supervisor.crash_loop",
    "systemd.failed",
    "systemd.start_limit",
    "container.exited",
    "k8s.crash_loop",
];

/// Appearances: they say how it looks, not why.
const APPEARANCES: &[&str] = &[
    "process.crashed",
    "supervisor.crash_loop",
    "systemd.failed",
    "systemd.start_limit",
    "container.exited",
    "k8s.crash_loop",
    "launch.never_started",
    "load.stalled",
    "log.stale",
    "look.blind",
    "nccl.timeout",
    "files.missing",
    "ssh.transport",
];

use Reach::{Host, Launch};

const RULES: &[Rule] = &[
    // A known cause explains the end of the program it struck: on one host, within one investigation,
    // what is only seen from outside is not worth an accusation of its own.
    Rule {
        roots: &[
            "cuda.*",
            "gpu.xid",
            "gpu.ecc",
            "gpu.memory_held",
            "gpu.visible_devices",
            "driver.*",
            "nccl.*",
            "net.*",
            "oom.host",
            "disk.full",
            "python.*",
            "files.*",
            "perm.*",
            "limits.*",
            "runtime.*",
            "port.in_use",
            "tls.cert",
            "container.shm",
            "container.gpu_runtime",
            "container.gpu_lost",
            "session.killed",
            "env.*",
            "quoting.*",
            "clock.skew",
            "process.self_match",
            "k8s.probe_kill",
            "k8s.image_pull",
            "load.lock_wait",
        ],
        effects: ENDS,
        reach: Host,
    },
    // A host that was not reached explains the end of what needed it, not of what ran beside it.
    Rule {
        roots: &["ssh.auth", "ssh.transport"],
        effects: ENDS,
        reach: Launch,
    },
    Rule {
        roots: &["process.crashed", "launch.never_started"],
        effects: &["container.exited", "systemd.failed", "systemd.start_limit"],
        reach: Host,
    },
    // What ends after each start did not crash once: the loop is the situation, the end its evidence.
    Rule {
        roots: &["supervisor.crash_loop", "k8s.crash_loop"],
        effects: &["process.crashed", "container.exited"],
        reach: Host,
    },
    Rule {
        roots: &["launch.never_started"],
        effects: &["k8s.crash_loop"],
        reach: Host,
    },
    // What kept a launch from happening.
    Rule {
        roots: &[
            "process.self_match",
            "quoting.*",
            "env.*",
            "ssh.auth",
            "ssh.transport",
            "session.killed",
            "files.stale_pid",
            "k8s.image_pull",
            "k8s.unschedulable",
            "disk.full",
        ],
        effects: &["launch.never_started"],
        reach: Launch,
    },
    // What one then sees of a launch that never happened.
    Rule {
        roots: &["launch.never_started"],
        effects: &[
            "log.stale",
            "log.buffered",
            "look.blind",
            "process.self_match",
            "files.missing",
            "perm.denied",
            "load.stalled",
            "process.crashed",
        ],
        reach: Launch,
    },
    Rule {
        roots: &["process.self_match", "ssh.auth", "ssh.transport"],
        effects: &["log.stale", "look.blind", "files.missing", "load.stalled"],
        reach: Launch,
    },
    // What a left-over process holds.
    Rule {
        roots: &["process.orphaned"],
        effects: &["gpu.memory_held", "port.in_use", "cuda.oom"],
        reach: Host,
    },
    Rule {
        roots: &["gpu.memory_held"],
        effects: &["cuda.oom"],
        reach: Host,
    },
    // Why loading stands still.
    Rule {
        roots: &[
            "load.lock_wait",
            "process.stopped",
            "process.crashed",
            "nccl.*",
            "cuda.*",
            "gpu.xid",
            "container.shm",
            "port.in_use",
            "perm.*",
            "python.*",
            "files.*",
            "limits.*",
            "net.*",
            "log.buffered",
        ],
        effects: &["load.stalled"],
        reach: Launch,
    },
    Rule {
        roots: &["oom.host", "disk.full"],
        effects: &["load.stalled", "log.stale"],
        reach: Host,
    },
    Rule {
        roots: &["process.stopped", "log.buffered", "process.crashed"],
        effects: &["log.stale"],
        reach: Launch,
    },
    // A collective waits for the rank that fell.
    Rule {
        roots: &[
            "cuda.*",
            "python.*",
            "files.missing",
            "container.shm",
            "limits.*",
            "gpu.visible_devices",
            "process.crashed",
            "process.stopped",
            "nccl.p2p_hang",
        ],
        effects: &["nccl.timeout"],
        reach: Launch,
    },
    Rule {
        roots: &[
            "oom.host",
            "gpu.xid",
            "gpu.ecc",
            "net.interface",
            "net.rdma",
        ],
        effects: &["nccl.timeout"],
        reach: Host,
    },
    // What CUDA says of a machine that is not as it should be.
    Rule {
        roots: &["gpu.xid", "gpu.ecc"],
        effects: &["cuda.device_assert", "cuda.init_802", "cuda.no_device"],
        reach: Host,
    },
    Rule {
        roots: &[
            "driver.mismatch",
            "container.gpu_runtime",
            "container.gpu_lost",
            "gpu.visible_devices",
        ],
        effects: &["cuda.init_802", "cuda.no_device"],
        reach: Host,
    },
    Rule {
        roots: &["container.gpu_runtime"],
        effects: &["driver.mismatch"],
        reach: Launch,
    },
    Rule {
        roots: &["gpu.visible_devices"],
        effects: &["nccl.timeout", "nccl.p2p_hang"],
        reach: Launch,
    },
    // Names, routes, clocks and certificates.
    Rule {
        roots: &["net.proxy"],
        effects: &["net.dns", "net.unreachable", "tls.cert"],
        reach: Launch,
    },
    Rule {
        roots: &["net.dns"],
        effects: &[
            "net.unreachable",
            "ssh.transport",
            "files.missing",
            "k8s.image_pull",
        ],
        reach: Launch,
    },
    Rule {
        roots: &["net.unreachable", "tls.cert"],
        effects: &["files.missing", "k8s.image_pull"],
        reach: Launch,
    },
    Rule {
        roots: &["clock.skew"],
        effects: &["tls.cert", "log.stale"],
        reach: Host,
    },
    // The wrong python, and what it lacks.
    Rule {
        roots: &["python.abi", "env.*", "disk.full", "limits.memory"],
        effects: &["python.import"],
        reach: Launch,
    },
];

/// Whether the table lets `root` explain `effect`, and how near they must be.
///
/// A root must be believed (suspected at least, more likely than not), bad enough to do it (a
/// self-match that only fooled a look explains nothing), and no less sure than what it explains unless
/// that is a mere appearance.
pub(super) fn explains(root: &Finding, effect: &Finding) -> Option<Reach> {
    if root.kind == effect.kind
        || root.severity < Severity::Medium
        || root.claim < Claim::Suspected
        || root.lead() < 0.5
        || harmless(&effect.kind)
    {
        return None;
    }
    // A self-match that killed the launch is a root; the same kind as a fooled look is an effect.
    if effect.kind == "process.self_match" && effect.severity >= Severity::Medium {
        return None;
    }
    if root.claim < effect.claim && !APPEARANCES.contains(&effect.kind.as_str()) {
        return None;
    }
    let named =
        |patterns: &[&str], kind: &str| patterns.iter().any(|pattern| matches(pattern, kind));
    RULES
        .iter()
        .filter(|rule| named(rule.roots, &root.kind) && named(rule.effects, &effect.kind))
        .map(|rule| rule.reach)
        .max_by_key(|reach| *reach == Host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_news_is_known_by_its_name() {
        for kind in [
            "launch.healthy",
            "load.slow_healthy",
            "log.benign_match",
            "net.ports_benign",
        ] {
            assert!(harmless(kind), "{kind}");
        }
        assert!(!harmless("load.stalled"));
    }

    #[test]
    fn a_pattern_names_a_family() {
        assert!(matches("cuda.*", "cuda.oom"));
        assert!(!matches("cuda.*", "gpu.xid"));
        assert!(matches("*", "gpu.xid"));
    }
}
