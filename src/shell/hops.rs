//! Which commands carry others, and what they carry: `ssh`, `bash -c`, `sudo`, `docker exec`,
//! `tmux new`, … One function a family; each gets the words and says where they lead.

use super::HopKind;
use super::build::Field;
use super::expand::ShellName;

pub(super) mod container;
pub(super) mod detached;
pub(super) mod local;
pub(super) mod remote;

/// What a hop hands over.
#[derive(Debug)]
pub(super) enum Load {
    /// Words that are run as they are.
    Words(Vec<Field>),
    /// A text for a shell.
    Text {
        text: String,
        /// The shell's command line in front of the text (`bash -c`), when the text is in it.
        argv: Option<String>,
        shell: ShellName,
        /// The shell is the one that runs already (`eval`).
        same_process: bool,
    },
    /// What is fed in is a script for a shell.
    Script {
        /// The shell's command line.
        argv: Option<String>,
    },
    /// Nothing that is known: somebody works there by hand.
    Session,
}

/// One way a hop leads; hops to many hosts have several.
#[derive(Debug)]
pub(super) struct Branch {
    pub host: Option<String>,
    pub user: Option<String>,
    pub container: Option<String>,
    pub load: Load,
}

impl Branch {
    /// Stays where the hop is.
    pub(super) fn here(load: Load) -> Self {
        Self {
            host: None,
            user: None,
            container: None,
            load,
        }
    }
}

/// What becomes of the working directory.
#[derive(Debug, Default)]
pub(super) enum Cwd {
    #[default]
    Keep,
    Home,
    Unknown,
    At(String),
}

/// A hop, understood.
#[derive(Debug)]
pub(super) struct Hop {
    pub kind: HopKind,
    pub branches: Vec<Branch>,
    pub env: Vec<(String, Field)>,
    /// The environment of the hop reaches what it carries.
    pub keeps_env: bool,
    pub background: bool,
    pub stdin_lost: bool,
    pub cwd: Cwd,
    /// It hands over to a server that runs the rest apart from here.
    pub away: bool,
    pub tty: bool,
    /// A file the output goes to by the hop's own means, and whether it is appended to.
    pub log: Option<(String, bool)>,
    /// Words were joined by blanks although one was quoted around a blank.
    pub lost_quotes: bool,
}

impl Hop {
    fn new(kind: HopKind, branches: Vec<Branch>) -> Self {
        Self {
            kind,
            branches,
            env: Vec::new(),
            keeps_env: true,
            background: false,
            stdin_lost: false,
            cwd: Cwd::Keep,
            away: false,
            tty: false,
            log: None,
            lost_quotes: false,
        }
    }

    /// A wrapper around the words from `from` on; `None` when there are none.
    fn wrapper(fields: &[Field], from: usize) -> Option<Self> {
        let words = fields
            .get(from..)
            .filter(|words| !words.is_empty())?
            .to_vec();
        Some(Self::new(
            HopKind::Wrapper,
            vec![Branch::here(Load::Words(words))],
        ))
    }
}

/// The hop that these words are, if they are one. `fed`: a text that is known arrives on its
/// standard input.
pub(super) fn find(fields: &[Field], fed: bool) -> Option<Hop> {
    let program = fields.first()?.text.rsplit('/').next()?;
    match program {
        "ssh" | "autossh" | "slogin" | "mosh" => remote::ssh(fields, fed),
        "gcloud" => remote::gcloud(fields),
        "tsh" | "vagrant" | "multipass" | "limactl" | "minikube" => {
            remote::machines(program, fields)
        }
        "pdsh" | "clush" => remote::many(program, fields),
        "ansible" => remote::ansible(fields),
        "mpirun" | "mpiexec" | "mpiexec.hydra" | "orterun" | "horovodrun" => remote::mpi(fields),
        "parallel" => remote::parallel(fields),
        "docker" | "podman" | "nerdctl" | "docker-compose" | "podman-compose" => {
            container::docker(fields)
        }
        "kubectl" | "oc" | "k" | "k3s" | "microk8s" => container::kubectl(fields),
        "crictl" | "lxc" | "incus" | "lxc-attach" | "nsenter" | "chroot" | "apptainer"
        | "singularity" | "machinectl" => container::other(program, fields),
        "tmux" => detached::tmux(fields),
        "screen" => detached::screen(fields),
        "systemd-run" => detached::systemd_run(fields),
        "at" | "batch" => detached::at(fields, fed),
        "srun" | "salloc" => detached::srun(fields),
        "daemonize" | "daemon" | "start-stop-daemon" => detached::daemon(program, fields),
        "ray" => detached::ray(fields),
        "sbatch" => detached::sbatch(fields),
        _ => local::find(program, fields, fed),
    }
}

/// Options of a program, read the way getopt reads them.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// Name (`-p`, `--port`) and value.
    pub given: Vec<(String, Option<String>)>,
    /// Index of the first word that is no option.
    pub rest: usize,
}

impl Options {
    /// Reads options from `from` on. `short` are the letters that take a value, `long` the names
    /// that take one as their next word.
    pub(super) fn scan(fields: &[Field], from: usize, short: &str, long: &[&str]) -> Self {
        let mut out = Self {
            given: Vec::new(),
            rest: from,
        };
        while let Some(field) = fields.get(out.rest) {
            let text = field.text.as_str();
            if text == "--" {
                out.rest += 1;
                break;
            }
            if field.options {
                out.rest += 1;
                continue;
            }
            if text == "-" || !text.starts_with('-') {
                break;
            }
            out.rest += 1;
            if text.starts_with("--") {
                let (name, value) = match text.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None if long.contains(&text) => {
                        out.rest += 1;
                        (
                            text,
                            fields.get(out.rest - 1).map(|field| field.text.clone()),
                        )
                    }
                    None => (text, None),
                };
                out.given.push((name.to_owned(), value));
                continue;
            }
            let letters = text.get(1..).unwrap_or("");
            for (at, letter) in letters.char_indices() {
                if !short.contains(letter) {
                    out.given.push((format!("-{letter}"), None));
                    continue;
                }
                let attached = letters.get(at + letter.len_utf8()..).unwrap_or("");
                let value = if attached.is_empty() {
                    out.rest += 1;
                    fields.get(out.rest - 1).map(|field| field.text.clone())
                } else {
                    Some(attached.to_owned())
                };
                out.given.push((format!("-{letter}"), value));
                break;
            }
        }
        out.rest = out.rest.min(fields.len());
        out
    }

    /// One of these was given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.given
            .iter()
            .any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The last value given to one of these.
    pub(super) fn value(&self, names: &[&str]) -> Option<&str> {
        let found = self
            .given
            .iter()
            .rev()
            .find(|(name, _)| names.contains(&name.as_str()));
        found.and_then(|(_, value)| value.as_deref())
    }
}

/// The words from `from` on, joined by blanks as ssh joins them.
pub(super) fn joined(fields: &[Field], from: usize) -> String {
    let words = fields.get(from..).unwrap_or_default();
    words
        .iter()
        .map(|field| field.text.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

/// `NAME=value`, split.
pub(super) fn assignment(field: &Field) -> Option<(String, Field)> {
    let (name, value) = field.text.split_once('=')?;
    let first = name.chars().next()?;
    let valid =
        !first.is_ascii_digit() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    valid.then(|| {
        (
            name.to_owned(),
            Field {
                text: value.to_owned(),
                ..field.clone()
            },
        )
    })
}
