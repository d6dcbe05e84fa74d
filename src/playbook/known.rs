//! The kinds of finding that are known. `docs/kinds.md` is written from this table.

/// A kind, and what it means.
pub type KindRow = (&'static str, &'static str);

/// What a kind of one's own begins with: the table need not hold it.
pub const OWN: &str = "own.";

/// Every kind, family by family.
pub const KINDS: &[KindRow] = &[
    (
        "process.self_match",
        "a pattern of pgrep, pkill or ps matched the looker's own shell",
    ),
    (
        "process.crashed",
        "it exited or was killed: signal, exit code, assertion",
    ),
    (
        "process.stopped",
        "it is stopped by a signal; SIGCONT brings it back",
    ),
    ("process.orphaned", "children outlived their parent"),
    (
        "process.timed_out",
        "it did not end within the time it was given",
    ),
    ("build.failed", "a build or an installation failed"),
    (
        "launch.never_started",
        "the launch did nothing: script missing, empty, not executable, swallowed, never sent",
    ),
    (
        "launch.healthy",
        "loading, warming up or ready, as it should",
    ),
    (
        "look.blind",
        "the look could not have shown what it was asked",
    ),
    (
        "quoting.local_expansion",
        "a variable or quote was expanded on the wrong side of ssh or a here-document",
    ),
    (
        "env.noninteractive_path",
        "PATH, conda or modules are missing in a shell that is not interactive",
    ),
    (
        "session.killed",
        "the process ended with the login session, tmux or terminal",
    ),
    (
        "session.benign",
        "ordinary looking around: failing ls, typos, wrong names",
    ),
    ("ssh.auth", "key, host key, permission"),
    (
        "ssh.transport",
        "the host cannot be reached, no algorithm is common to both, or the connection broke",
    ),
    ("ssh.channel_held", "an open descriptor keeps ssh waiting"),
    ("log.stale", "the view is of an old or rotated log"),
    ("log.buffered", "output is held in a buffer"),
    ("log.benign_warning", "an alarming line that means nothing"),
    ("log.benign_match", "a search that hit a harmless line"),
    ("load.stalled", "loading stopped"),
    ("load.lock_wait", "it waits for a stale lock"),
    ("load.slow_healthy", "slow, and advancing"),
    ("files.missing", "a file that is needed is not there"),
    (
        "files.lfs_pointer",
        "a pointer stands where the content should be",
    ),
    (
        "files.stale_pid",
        "a pid file names a dead process, or another one",
    ),
    ("perm.cache", "a cache cannot be written"),
    ("perm.denied", "permission is denied"),
    ("disk.full", "a file system, or a quota, is full"),
    ("limits.nofile", "too many open files"),
    (
        "limits.memory",
        "an address-space or data limit (ulimit -v): no OOM line",
    ),
    ("limits.processes", "too many processes or threads"),
    (
        "runtime.heap_limit",
        "the language runtime's own heap limit; the host has memory",
    ),
    (
        "python.abi",
        "a compiled module does not fit the interpreter or a library",
    ),
    ("python.import", "a module is missing, or shadowed"),
    ("cuda.oom", "GPU memory ran out"),
    ("cuda.device_assert", "a kernel's assertion failed"),
    (
        "cuda.init_802",
        "the system is not yet initialised: the fabric manager",
    ),
    ("cuda.no_device", "no GPU is seen"),
    (
        "driver.mismatch",
        "the driver's library and its kernel module differ, or are too old",
    ),
    ("gpu.xid", "the driver reports an error of the GPU"),
    (
        "gpu.memory_held",
        "a process that should be gone holds GPU memory",
    ),
    (
        "gpu.visible_devices",
        "the wrong GPUs, or too few, are made visible",
    ),
    ("gpu.ecc", "uncorrectable memory errors"),
    ("gpu.thermal", "it is too hot, and slowed down"),
    (
        "nccl.timeout",
        "a collective timed out: one rank is missing or slow",
    ),
    ("nccl.p2p_hang", "peer-to-peer transfers hang"),
    ("net.interface", "the wrong network interface is used"),
    ("net.rdma", "RDMA does not work"),
    ("net.proxy", "a proxy stands in the way"),
    ("net.dns", "a name does not resolve"),
    ("net.ports_benign", "ports that look alarming and are not"),
    ("net.unreachable", "there is no way to it"),
    (
        "oom.host",
        "the kernel, a cgroup or Kubernetes killed it for memory",
    ),
    (
        "port.in_use",
        "the port is taken, or another server answers there",
    ),
    (
        "container.shm",
        "shared memory of the container is too small",
    ),
    (
        "container.gpu_runtime",
        "the container runtime has no GPU support",
    ),
    ("container.gpu_lost", "the container lost its GPUs"),
    ("container.exited", "the container ended"),
    ("k8s.probe_kill", "a liveness or start-up probe killed it"),
    ("k8s.image_pull", "the image cannot be pulled"),
    ("k8s.crash_loop", "it is started again and again"),
    ("k8s.unschedulable", "no node takes it"),
    ("systemd.start_limit", "started too often, and given up"),
    ("systemd.failed", "the unit failed"),
    (
        "supervisor.crash_loop",
        "a supervisor or a loop starts it again and again, or gave up",
    ),
    ("clock.skew", "clocks disagree"),
    (
        "tls.cert",
        "the certificate is expired or wrong; clocks agree",
    ),
];

/// The kind of that name is known, or is one of one's own.
pub(super) fn is_known(kind: &str) -> bool {
    kind.starts_with(OWN) || KINDS.iter().any(|(known, _)| *known == kind)
}

/// The kinds as a page of the manual (`docs/kinds.md`).
pub fn manual() -> String {
    let mut out = String::from(
        "# Kinds of finding\n\n\
         A playbook's `kind` is the deepest cause known. A finding of a `.healthy` or `.benign` kind says\n\
         that something alarming is fine. A kind of your own begins with `own.` (`own.ring_buffer`); any\n\
         other is one of these: `rec playbook lint` says so.\n\n\
         This page is written from the program's own table.\n\n\
         | kind | means |\n|---|---|\n",
    );
    for (kind, means) in KINDS {
        out.push_str(&format!("| `{kind}` | {means} |\n"));
    }
    out
}
