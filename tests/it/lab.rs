//! A real remote host on this machine: sshd in a process namespace of its own, so that `pgrep` and
//! `pkill` there see only what runs there. Loopback only; gone, with all that runs in it, when the
//! test ends.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::bench::{DEADLINE, finish};

/// The host's name in its ssh configuration.
pub(crate) const HOST: &str = "lab";

const SSHD: &str = "/usr/sbin/sshd";
/// How often another port is tried: one may be taken between its choice and its use.
const TRIES: usize = 3;

/// A host that runs.
pub(crate) struct Lab {
    dir: tempfile::TempDir,
    child: Child,
}

impl Lab {
    /// Starts it; `None`, with one line that says why, where this machine cannot.
    pub(crate) fn start() -> Option<Self> {
        if let Err(why) = possible() {
            eprintln!("not tried: {why}");
            return None;
        }
        for _ in 0..TRIES {
            if let Some(lab) = Self::try_start() {
                return Some(lab);
            }
        }
        panic!("sshd did not answer on any of {TRIES} ports");
    }

    fn try_start() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        // sshd insists on this folder for its unprivileged half.
        std::fs::create_dir_all("/run/sshd").unwrap();
        for name in ["hostkey", "id"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
            assert!(
                finish({
                    keygen.arg(dir.path().join(name));
                    keygen
                })
                .status
                .success()
            );
        }
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let at = dir.path().display();
        std::fs::copy(
            dir.path().join("id.pub"),
            dir.path().join("authorized_keys"),
        )
        .unwrap();
        std::fs::write(
            dir.path().join("sshd_config"),
            format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {at}/hostkey\n\
                 AuthorizedKeysFile {at}/authorized_keys\nPidFile none\nStrictModes no\n\
                 PermitRootLogin prohibit-password\nUsePAM no\n"
            ),
        )
        .unwrap();
        std::fs::write(
            dir.path().join("ssh_config"),
            format!(
                "Host {HOST}\n  HostName 127.0.0.1\n  Port {port}\n  User root\n  \
                 IdentityFile {at}/id\n  IdentitiesOnly yes\n  BatchMode yes\n  \
                 UserKnownHostsFile {at}/known_hosts\n  StrictHostKeyChecking accept-new\n  \
                 LogLevel ERROR\n"
            ),
        )
        .unwrap();
        let log = std::fs::File::create(dir.path().join("sshd.log")).unwrap();
        // The namespace ends with unshare, and unshare with the thread of this test.
        let child = Command::new("setpriv")
            .args([
                "--pdeathsig",
                "KILL",
                "unshare",
                "--pid",
                "--fork",
                "--kill-child",
            ])
            .args(["--mount-proc", SSHD, "-D", "-e", "-f"])
            .arg(dir.path().join("sshd_config"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut lab = Self { dir, child };
        lab.answers().then_some(lab)
    }

    /// Waits until it answers; false when it ended.
    fn answers(&mut self) -> bool {
        let began = Instant::now();
        loop {
            if self.ssh("true").status.success() {
                return true;
            }
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            let log = std::fs::read_to_string(self.path("sshd.log")).unwrap();
            assert!(began.elapsed() < DEADLINE, "sshd does not answer: {log}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A file in its folder, which both sides see.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// The words that go there: `ssh -F … lab`.
    pub(crate) fn words(&self) -> Vec<String> {
        let config = self.path("ssh_config").display().to_string();
        ["ssh", "-F", &config, HOST].map(str::to_owned).to_vec()
    }

    /// Runs a line there, unrecorded.
    pub(crate) fn ssh(&self, line: &str) -> Output {
        let words = self.words();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(line).stdin(Stdio::null());
        finish(command)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // unshare ignores a polite signal; its child, which is process 1 there, dies with it.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Whether a host can be started here.
fn possible() -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("a host of its own needs root".to_owned());
    }
    if !Path::new(SSHD).exists() {
        return Err("openssh-server is not installed".to_owned());
    }
    for program in [
        "ssh",
        "ssh-keygen",
        "unshare",
        "setpriv",
        "pgrep",
        "pkill",
        "bash",
    ] {
        if !is_there(program) {
            return Err(format!("{program} is not installed"));
        }
    }
    may_unshare()
}

/// Whether a PID namespace can be made here.
pub(crate) fn may_unshare() -> Result<(), String> {
    let mut unshare = Command::new("unshare");
    unshare.args(["--pid", "--fork", "--mount-proc", "true"]);
    let tried = finish(unshare);
    if !tried.status.success() {
        let why = String::from_utf8_lossy(&tried.stderr).trim().to_owned();
        return Err(format!("namespaces are not to be had here: {why}"));
    }
    Ok(())
}

/// Whether a program is on the path.
pub(crate) fn is_there(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    })
}
