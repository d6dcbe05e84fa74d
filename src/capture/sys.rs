//! What the kernel offers and no safe crate does: fork, signal masks and files, descriptors as they
//! were before `main`, the command's first instants. All `unsafe` of this crate is here.
#![expect(
    unsafe_code,
    reason = "system calls without a safe wrapper; each with its SAFETY comment"
)]

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, Ordering};

static SIGPIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);
static CLOSED_AT_START: AtomicU8 = AtomicU8::new(0);
static ARGV: AtomicPtr<*mut c_char> = AtomicPtr::new(std::ptr::null_mut());
static ARGC: AtomicUsize = AtomicUsize::new(0);

/// Runs before Rust's own start, which ignores SIGPIPE and opens `/dev/null` on closed descriptors:
/// the command must get both as they were.
#[cfg(target_env = "gnu")]
extern "C" fn look_around(argc: c_int, argv: *mut *mut c_char, _envp: *mut *mut c_char) {
    note_inherited();
    ARGV.store(argv, Ordering::Relaxed);
    ARGC.store(usize::try_from(argc).unwrap_or(0), Ordering::Relaxed);
}

#[cfg(not(target_env = "gnu"))]
extern "C" fn look_around() {
    note_inherited();
}

#[cfg(target_env = "gnu")]
type Constructor = extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char);
#[cfg(not(target_env = "gnu"))]
type Constructor = extern "C" fn();

// SAFETY: the section holds pointers to functions that the C library calls before main; ours has the
// signature it calls them with, allocates nothing and touches only atomics.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK_AROUND: Constructor = look_around;

fn note_inherited() {
    SIGPIPE_WAS_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    for fd in 0..3 {
        // SAFETY: asking for a descriptor's flags is defined for any number.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } == -1 {
            CLOSED_AT_START.fetch_or(1 << fd, Ordering::Relaxed);
        }
    }
}

fn is_ignored(signal: c_int) -> bool {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only asks; `old` is large enough and zero is a valid value of it.
    let old = unsafe {
        libc::sigaction(signal, std::ptr::null(), old.as_mut_ptr());
        old.assume_init()
    };
    old.sa_sigaction == libc::SIG_IGN
}

fn set_disposition(signal: c_int, disposition: libc::sighandler_t) {
    // SAFETY: `signal` sets SIG_DFL or SIG_IGN only (see the callers); no handler is installed.
    unsafe { libc::signal(signal, disposition) };
}

/// Whether one of descriptors 0, 1 and 2 was closed when the program started.
pub fn was_closed(fd: RawFd) -> bool {
    (0..3).contains(&fd) && CLOSED_AT_START.load(Ordering::Relaxed) & (1 << fd) != 0
}

/// Blanks this process's own command line as others see it, all but the program's name.
///
/// A recorder's command line holds the command's; `rec pkill -f server` would find, and kill, the
/// recorder. Arguments must have been copied before: the standard library reads them from there.
pub fn hide_arguments() {
    let argv = ARGV.load(Ordering::Relaxed);
    let argc = ARGC.load(Ordering::Relaxed);
    if argv.is_null() {
        return;
    }
    for place in 1..argc {
        // SAFETY: the kernel gave `argc` pointers to writable, NUL-terminated strings on this
        // process's stack; each is overwritten only up to its own end, while we run one thread.
        unsafe {
            let word = *argv.add(place);
            if word.is_null() {
                return;
            }
            let len = CStr::from_ptr(word).to_bytes().len();
            std::ptr::write_bytes(word, 0, len);
        }
    }
}

/// Whether a refusal is for want of room.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT))
}

/// A system's refusal in a person's words, without its number.
pub fn words(error: &io::Error) -> String {
    let known = match error.raw_os_error() {
        Some(libc::ENOSPC) => "no space is left",
        Some(libc::EDQUOT) => "the quota is used up",
        Some(libc::EROFS) => "the file system can only be read",
        Some(libc::EACCES | libc::EPERM) => "permission denied",
        Some(libc::EIO) => "the disk does not answer",
        Some(libc::EFBIG) => "the limit on a file's size is reached",
        _ => "",
    };
    if !known.is_empty() {
        return known.to_owned();
    }
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.to_lowercase()
}

/// A terminal's modes, as the C library has them; none where it is no terminal.
pub fn terminal_modes(tty: BorrowedFd<'_>) -> Option<Vec<u8>> {
    let mut modes = MaybeUninit::<libc::termios>::zeroed();
    // SAFETY: the descriptor is borrowed, so it is open; the struct is large enough, and zeroed, so
    // that each of its bytes may be read.
    unsafe {
        if libc::tcgetattr(tty.as_raw_fd(), modes.as_mut_ptr()) != 0 {
            return None;
        }
        let bytes = modes.as_ptr().cast::<u8>();
        Some(std::slice::from_raw_parts(bytes, size_of::<libc::termios>()).to_vec())
    }
}

/// Sets a terminal's modes to what [`terminal_modes`] gave on this machine. Whether that was done.
pub fn set_terminal_modes(tty: BorrowedFd<'_>, bytes: &[u8]) -> bool {
    if bytes.len() != size_of::<libc::termios>() {
        return false;
    }
    let mut modes = MaybeUninit::<libc::termios>::zeroed();
    // SAFETY: lengths are equal, and the struct holds numbers only: any bytes are a value of it.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), modes.as_mut_ptr().cast(), bytes.len());
        libc::tcsetattr(tty.as_raw_fd(), libc::TCSANOW, modes.as_ptr()) == 0
    }
}

/// Sets a variable of this process and of what it starts.
///
/// Callers do so before the first thread starts.
#[expect(
    clippy::disallowed_methods,
    reason = "an environment passed to the child would come out sorted, and lose what is no variable"
)]
pub fn set_variable(name: &str, value: impl AsRef<OsStr>) {
    // SAFETY: called while this process has one thread (see above), so nobody reads meanwhile.
    unsafe { std::env::set_var(name, value) };
}

/// This machine's name.
pub fn host_name() -> String {
    let mut buffer = [0_u8; 256];
    // SAFETY: the buffer and its length belong together; its last byte stays NUL.
    let result = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
    let name = CStr::from_bytes_until_nul(&buffer)
        .unwrap_or_default()
        .to_string_lossy();
    if result == 0 && !name.is_empty() {
        name.into_owned()
    } else {
        "localhost".to_owned()
    }
}

/// What a process inherits about signals, as it was when we started.
#[derive(Clone, Copy)]
pub struct SignalState {
    mask: libc::sigset_t,
    pipe_ignored: bool,
    child_ignored: bool,
}

/// Whether the hang-up signal is ignored (`nohup`).
pub fn hangup_is_ignored() -> bool {
    is_ignored(libc::SIGHUP)
}

/// Which signals the recorder takes from a file instead of being interrupted by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// All that can be, but those that stop a process: in a shared process group they stop us too.
    AllButStops,
    /// All that can be.
    All,
}

fn taken_set(taken: Taken) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is initialised by sigfillset before anything else reads it.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        let mut set = set.assume_init();
        // Faults of our own must take us down at once: blocked they would loop.
        let faults = [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGTRAP,
        ];
        for signal in faults.into_iter().chain([libc::SIGSYS, libc::SIGABRT]) {
            libc::sigdelset(&raw mut set, signal);
        }
        if taken == Taken::AllButStops {
            for signal in [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU] {
                libc::sigdelset(&raw mut set, signal);
            }
        }
        set
    }
}

/// Blocks the taken signals in this thread and all it starts; gives what was before.
///
/// Blocked, not handled: dispositions stay as they are for the command, and SIGXFSZ and SIGPIPE
/// become plain write errors.
pub fn block_signals(taken: Taken) -> SignalState {
    let set = taken_set(taken);
    let mut old = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: both sets are initialised; the call only changes this thread's mask.
    let mask = unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, old.as_mut_ptr());
        old.assume_init()
    };
    let child_ignored = is_ignored(libc::SIGCHLD);
    if child_ignored {
        // Ignored, the kernel would throw the command's exit status away.
        set_disposition(libc::SIGCHLD, libc::SIG_DFL);
    }
    let pipe_ignored = SIGPIPE_WAS_IGNORED.load(Ordering::Relaxed);
    SignalState {
        mask,
        pipe_ignored,
        child_ignored,
    }
}

/// A file from which blocked signals are read, one [`Signal`] a time.
///
/// # Errors
/// When the kernel has no descriptor left.
pub fn signal_file(taken: Taken) -> io::Result<OwnedFd> {
    let set = taken_set(taken);
    // SAFETY: the set is initialised; -1 asks for a new descriptor, which we then own.
    unsafe {
        let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(OwnedFd::from_raw_fd(fd))
        }
    }
}

/// A signal that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal {
    /// Its number.
    pub number: i32,
    /// The kernel sent it (a key on the terminal, a hang-up), not a process.
    pub by_kernel: bool,
    /// The process that sent it, or 0.
    pub sender: u32,
}

/// Takes the next waiting signal from a [`signal_file`].
pub fn next_signal(file: &OwnedFd) -> Option<Signal> {
    let mut info = [0_u8; 128];
    let got = rustix::io::read(file, &mut info).ok()?;
    let word = |at: usize| -> Option<[u8; 4]> { info.get(at..at + 4)?.try_into().ok() };
    let code = i32::from_ne_bytes(word(8)?);
    (got == info.len()).then_some(Signal {
        number: i32::try_from(u32::from_ne_bytes(word(0)?)).unwrap_or(0),
        by_kernel: code == libc::SI_KERNEL,
        sender: u32::from_ne_bytes(word(12)?),
    })
}

/// Sends a signal to a process, or to a process group (a negative number), or to our own (0).
///
/// # Errors
/// When there is no such process, or it is not ours to signal.
pub fn send_signal(target: i32, signal: i32) -> io::Result<()> {
    // SAFETY: kill has no memory effects here; a bad target or number is an error.
    if unsafe { libc::kill(target, signal) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Lets a signal through to this process at its default meaning, sends it to `target` (this process:
/// its id; its whole group: 0), and blocks it again once the process goes on.
pub fn stop_with(signal: i32, target: i32) {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is initialised by sigemptyset; the calls change only this thread's mask.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        send_signal(target, signal).ok();
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), std::ptr::null_mut());
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
    }
}

/// Dies by a signal as the command did, without a core file. Returns only where that cannot be.
pub fn die_by(signal: i32) {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, setrlimit};
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none).ok();
    // A core that goes to a program is not held by that limit.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
    set_disposition(signal, libc::SIG_DFL);
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    if own > 0 {
        stop_with(signal, own);
    }
}

/// This thread, as the kernel numbers it.
pub fn thread_id() -> u32 {
    // SAFETY: gettid reads nothing of ours.
    unsafe { libc::gettid() }.unsigned_abs()
}

/// Which side of a [`fork`] one is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The caller goes on; the new process has this id.
    Parent(i32),
    /// The new process.
    Child,
}

/// Splits this process in two. Callers have one thread, or the child uses nothing another held.
///
/// # Errors
/// When no process can be made.
pub fn fork() -> io::Result<Side> {
    // SAFETY: the recorder forks while it has one thread (before its writer starts, or after it was
    // joined), so the child finds every lock free.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Side::Child),
        pid => Ok(Side::Parent(pid)),
    }
}

/// Leaves at once, running nothing that belongs to the parent.
pub fn leave(code: i32) -> ! {
    // SAFETY: _exit is always allowed and does not return.
    unsafe { libc::_exit(code) }
}

/// Where a command's process starts out.
#[derive(Clone, Copy)]
pub struct Place {
    /// Signals as we inherited them.
    pub signals: SignalState,
    /// In a process group of its own, on the terminal open on this descriptor.
    pub group: Option<Foreground>,
}

/// A new process group's place on its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Foreground {
    /// A descriptor of the terminal, valid in the new process.
    pub terminal: RawFd,
    /// It owns the terminal from the start.
    pub owns: bool,
}

/// Arranges that a command starts as it would have without us.
pub fn prepare(command: &mut Command, place: Place) {
    let closed = CLOSED_AT_START.load(Ordering::Relaxed);
    let hook = move || {
        if let Some(group) = place.group {
            rustix::process::setpgid(None, None)?;
            if group.owns {
                take_terminal(group.terminal)?;
            }
        }
        for fd in 0..3 {
            if closed & (1 << fd) != 0 {
                // SAFETY: the descriptor was closed when we started, so nothing of ours lives there
                // but the /dev/null that Rust put there.
                unsafe { libc::close(fd) };
            }
        }
        if place.signals.pipe_ignored {
            set_disposition(libc::SIGPIPE, libc::SIG_IGN);
        }
        if place.signals.child_ignored {
            set_disposition(libc::SIGCHLD, libc::SIG_IGN);
        }
        // SAFETY: the mask was read by pthread_sigmask and is initialised.
        unsafe {
            let mask = place.signals.mask;
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut());
        }
        Ok(())
    };
    // SAFETY: the hook makes system calls only; it neither allocates nor takes locks.
    unsafe { command.pre_exec(hook) };
}

/// Puts the caller's process group into the foreground, without being stopped for asking.
fn take_terminal(terminal: RawFd) -> io::Result<()> {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is initialised by sigemptyset; the descriptor is open in this process (it is
    // the terminal that the hook's owner keeps open).
    let result = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGTTOU);
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
        libc::tcsetpgrp(terminal, libc::getpgrp())
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The process that leads this session; none where it lives outside our PID namespace (the kernel
/// then says 0).
pub fn session_leader() -> Option<u32> {
    // SAFETY: getsid reads nothing of ours.
    let leader = unsafe { libc::getsid(0) };
    u32::try_from(leader).ok().filter(|leader| *leader != 0)
}

/// The session's leader, where our process group is its own: a script's, in which whatever it starts gets
/// the terminal's signals with it. A shell with job control gives each command a group of its own.
pub fn leader_with_us() -> Option<u32> {
    // SAFETY: getpgrp reads nothing of ours.
    let group = unsafe { libc::getpgrp() };
    session_leader().filter(|leader| u32::try_from(group) == Ok(*leader))
}

/// Whether our process group is the one in the foreground of this terminal.
///
/// A group that was made outside our PID namespace is 0 in both answers, and then taken for ours:
/// a shell that has job control makes its groups inside.
///
/// # Errors
/// When the terminal is not our controlling terminal, or gone.
pub fn is_foreground(terminal: BorrowedFd<'_>) -> io::Result<bool> {
    // SAFETY: both calls read nothing of ours; the descriptor is borrowed, so it is open.
    let (shown, own) = unsafe { (libc::tcgetpgrp(terminal.as_raw_fd()), libc::getpgrp()) };
    if shown < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(shown == own)
}

/// Whether two descriptors are the same open file (`2>&1`); none where the kernel does not say.
pub fn same_open_file(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> Option<bool> {
    const KCMP_FILE: c_int = 0;
    let own = std::process::id();
    // SAFETY: kcmp compares two descriptors of this process and touches no memory.
    let result = unsafe {
        libc::syscall(
            libc::SYS_kcmp,
            own,
            own,
            KCMP_FILE,
            a.as_raw_fd(),
            b.as_raw_fd(),
        )
    };
    match result {
        0 => Some(true),
        1.. => Some(false),
        _ => None,
    }
}

/// Sends a key's signal to the foreground group of a pseudo-terminal, whoever owns it.
///
/// # Errors
/// When the kernel refuses (it allows only INT, QUIT and TSTP).
pub fn signal_through_terminal(master: &OwnedFd, signal: i32) -> io::Result<()> {
    // SAFETY: TIOCSIG takes the number by value.
    let result = unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSIG, signal) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Borrows one of descriptors 0, 1 and 2, which are always open (Rust's start opens closed ones).
pub fn standard(fd: StandardFd) -> BorrowedFd<'static> {
    let raw = fd as RawFd;
    // SAFETY: 0, 1 and 2 are open from before main until the end; we only ever replace them.
    unsafe { BorrowedFd::borrow_raw(raw) }
}

/// One of the three descriptors every program has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum StandardFd {
    /// 0
    In = 0,
    /// 1
    Out = 1,
    /// 2
    Err = 2,
}

/// Closes every descriptor above 2 that a program we exec would inherit: the command has its own
/// copies, and ours would keep a pipe open after it closed its own.
pub fn close_inherited() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let numbers: Vec<RawFd> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for fd in numbers.into_iter().filter(|fd| *fd > 2) {
        // SAFETY: everything this program opens is marked close-on-exec, so a descriptor without
        // the mark came from our parent and no object of ours owns it.
        unsafe {
            let flags = libc::fcntl(fd, libc::F_GETFD);
            if flags != -1 && flags & libc::FD_CLOEXEC == 0 {
                libc::close(fd);
            }
        }
    }
}

/// Closes every descriptor above 2 but these: for a process that lives on by itself.
pub fn close_all_but(kept: &[BorrowedFd<'_>]) {
    let mut kept: Vec<u32> = kept
        .iter()
        .filter_map(|fd| u32::try_from(fd.as_raw_fd()).ok())
        .collect();
    kept.sort_unstable();
    let mut from = 3;
    for fd in kept.into_iter().chain([u32::MAX]) {
        if fd > from {
            // SAFETY: the forked process leaves without running destructors of what it does not
            // use, so closing their descriptors is seen by nobody.
            unsafe { libc::syscall(libc::SYS_close_range, from, fd - 1, 0) };
        }
        from = fd.saturating_add(1);
    }
}

/// Puts `/dev/null` in place of one of descriptors 0, 1 and 2, so that what it led to is let go.
pub fn let_go(fd: StandardFd) {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let Ok(null) = rustix::fs::open("/dev/null", flags, Mode::empty()) else {
        return;
    };
    match fd {
        StandardFd::In => rustix::stdio::dup2_stdin(null.as_fd()),
        StandardFd::Out => rustix::stdio::dup2_stdout(null.as_fd()),
        StandardFd::Err => rustix::stdio::dup2_stderr(null.as_fd()),
    }
    .ok();
}
