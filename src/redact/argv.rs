//! Programs that take a secret among their words.

use super::names;
use super::values::{self, Strength, Written};

/// Programs looked for in printed text (lists of processes, traces of shells), lower case.
pub(super) const SEEN_IN_TEXT: &[&str] = &[
    "sshpass",
    "mysql",
    "mariadb",
    "curl ",
    "redis-cli",
    "ldapsearch",
    "mongo",
    "smbclient",
    "docker login",
    "podman login",
    "helm registry login",
    "htpasswd",
    "ipmitool",
];

/// A secret among words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    /// Which word.
    pub word: usize,
    /// Where in it the secret begins.
    pub from: usize,
    /// And ends.
    pub to: usize,
    /// By which rule.
    pub rule: &'static str,
}

/// Which part of an option's value is secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    /// What follows the first colon.
    Colon,
    /// What follows the first `%`.
    Percent,
    /// What follows the first comma.
    Comma,
    /// What follows `pass:`.
    Pass,
    /// `a=b; c=d`, not a file.
    Cookie,
    /// A header with a secret name.
    Header,
    /// What follows `=`.
    Equals,
}

/// Options of a program whose values are secret.
struct Tool {
    programs: &'static [&'static str],
    /// One of these words stands among its words, where there are any.
    verbs: &'static [&'static str],
    flags: &'static [&'static str],
    /// The value may stand in the same word: `-pVALUE`.
    glued: bool,
    /// The value may be the next word.
    next: bool,
    part: Part,
    rule: &'static str,
}

const fn tool(
    programs: &'static [&'static str],
    verbs: &'static [&'static str],
    flags: &'static [&'static str],
    (glued, next): (bool, bool),
    part: Part,
    rule: &'static str,
) -> Tool {
    Tool {
        programs,
        verbs,
        flags,
        glued,
        next,
        part,
        rule,
    }
}

const GLUED: (bool, bool) = (true, false);
const NEXT: (bool, bool) = (false, true);
const BOTH: (bool, bool) = (true, true);

const CURL: &[&str] = &["curl", "curlie"];
const REGISTRY: &[&str] = &[
    "docker",
    "podman",
    "nerdctl",
    "helm",
    "buildah",
    "oras",
    "crane",
    "regctl",
    "skopeo",
    "singularity",
    "apptainer",
    "az",
    "oc",
    "argocd",
    "nix",
    "finch",
    "img",
];

const TOOLS: &[Tool] = &[
    tool(
        &[
            "mysql",
            "mysqldump",
            "mysqladmin",
            "mysqlimport",
            "mysqlshow",
            "mysqlcheck",
            "mysqlpump",
            "mysqlbinlog",
            "mysqlslap",
            "mysqlsh",
            "mariadb",
            "mariadb-dump",
            "mariadb-admin",
            "mariadb-check",
            "mycli",
            "mytop",
            "xtrabackup",
        ],
        &[],
        &["-p"],
        GLUED,
        Part::Whole,
        "password",
    ),
    tool(
        CURL,
        &[],
        &["-u", "--user", "-U", "--proxy-user", "--ftp-account"],
        BOTH,
        Part::Colon,
        "password",
    ),
    tool(
        CURL,
        &[],
        &["-H", "--header", "--proxy-header"],
        BOTH,
        Part::Header,
        "auth",
    ),
    tool(CURL, &[], &["-b", "--cookie"], BOTH, Part::Cookie, "cookie"),
    tool(
        CURL,
        &[],
        &["--oauth2-bearer", "--pass", "--proxy-pass", "--key-pass"],
        NEXT,
        Part::Whole,
        "password",
    ),
    tool(CURL, &[], &["-E", "--cert"], NEXT, Part::Colon, "password"),
    tool(
        &["wget", "wget2", "aria2c"],
        &[],
        &["--header"],
        NEXT,
        Part::Header,
        "auth",
    ),
    tool(
        &["http", "https", "xh", "xhs"],
        &[],
        &["-a", "--auth"],
        NEXT,
        Part::Colon,
        "password",
    ),
    tool(&["sshpass"], &[], &["-p"], BOTH, Part::Whole, "password"),
    tool(
        REGISTRY,
        &["login"],
        &["-p", "--password"],
        BOTH,
        Part::Whole,
        "password",
    ),
    tool(
        &["skopeo", "podman", "buildah"],
        &[],
        &["--creds", "--src-creds", "--dest-creds"],
        NEXT,
        Part::Colon,
        "password",
    ),
    tool(
        &["redis-cli", "valkey-cli", "keydb-cli"],
        &[],
        &["-a", "--pass"],
        NEXT,
        Part::Whole,
        "password",
    ),
    tool(
        &[
            "mongo",
            "mongosh",
            "mongodump",
            "mongorestore",
            "mongoexport",
            "mongostat",
        ],
        &[],
        &["-p"],
        BOTH,
        Part::Whole,
        "password",
    ),
    tool(
        &["cqlsh", "clickhouse-client", "cypher-shell", "influx"],
        &[],
        &["-p"],
        NEXT,
        Part::Whole,
        "password",
    ),
    tool(
        &["sqlcmd", "bcp", "isql", "tsql"],
        &[],
        &["-P"],
        BOTH,
        Part::Whole,
        "password",
    ),
    tool(
        &["openssl"],
        &[],
        &["-passin", "-passout", "-pass", "-srppass"],
        NEXT,
        Part::Pass,
        "password",
    ),
    tool(
        &["openssl"],
        &["enc", "aes-256-cbc", "dgst", "s_client", "s_server"],
        &["-k", "-K", "-hmac", "-psk"],
        NEXT,
        Part::Whole,
        "key",
    ),
    tool(
        &[
            "ldapsearch",
            "ldapmodify",
            "ldapadd",
            "ldapwhoami",
            "ldappasswd",
            "ldapdelete",
        ],
        &[],
        &["-w", "-s", "-a"],
        NEXT,
        Part::Whole,
        "password",
    ),
    tool(
        &["ipmitool", "ipmi-sensors", "ipmipower", "bmc-info"],
        &[],
        &["-P", "-p"],
        NEXT,
        Part::Whole,
        "password",
    ),
    tool(
        &["smbclient", "rpcclient", "smbmap", "net"],
        &[],
        &["-U", "--user"],
        BOTH,
        Part::Percent,
        "password",
    ),
    tool(
        &["lftp", "ncftp"],
        &[],
        &["-u"],
        NEXT,
        Part::Comma,
        "password",
    ),
    tool(
        &["mosquitto_pub", "mosquitto_sub"],
        &[],
        &["-P", "--pw"],
        NEXT,
        Part::Whole,
        "password",
    ),
    tool(
        &["zip", "unzip"],
        &[],
        &["-P"],
        BOTH,
        Part::Whole,
        "password",
    ),
    tool(
        &["7z", "7za", "7zz", "rar", "unrar"],
        &[],
        &["-p"],
        GLUED,
        Part::Whole,
        "password",
    ),
    tool(
        &["etcdctl"],
        &[],
        &["--user"],
        NEXT,
        Part::Colon,
        "password",
    ),
    tool(
        &["snmpwalk", "snmpget", "snmpbulkwalk"],
        &[],
        &["-A", "-X", "-c"],
        NEXT,
        Part::Whole,
        "password",
    ),
    tool(
        &["kubectl", "oc", "k", "kubeseal"],
        &["secret"],
        &["--from-literal"],
        NEXT,
        Part::Equals,
        "secret",
    ),
    tool(
        &["gh"],
        &["secret"],
        &["-b", "--body"],
        NEXT,
        Part::Whole,
        "secret",
    ),
    tool(
        &["doctl", "flyctl", "fly", "vercel", "netlify", "railway"],
        &[],
        &["-t"],
        NEXT,
        Part::Whole,
        "token",
    ),
    tool(&["twine"], &[], &["-p"], NEXT, Part::Whole, "password"),
    tool(
        &["useradd", "usermod"],
        &[],
        &["-p", "--password"],
        NEXT,
        Part::Whole,
        "password",
    ),
    tool(
        &["expect", "xfreerdp", "rdesktop"],
        &[],
        &["-p"],
        NEXT,
        Part::Whole,
        "password",
    ),
    tool(
        &["tailscale"],
        &[],
        &["--authkey", "--auth-key"],
        NEXT,
        Part::Whole,
        "key",
    ),
    tool(&["wandb"], &["login"], &["--key"], NEXT, Part::Whole, "key"),
    tool(
        &["borg", "restic", "gpg", "gpg2"],
        &[],
        &["--passphrase"],
        NEXT,
        Part::Whole,
        "password",
    ),
];

/// Finds secrets among the words of one program. `whole`: these are all its words.
pub(super) fn of_words(words: &[&str], whole: bool, hits: &mut Vec<Hit>) {
    let Some(program) = words.first().and_then(|word| word.rsplit('/').next()) else {
        return;
    };
    for (at, word) in words.iter().enumerate().skip(1) {
        for tool in TOOLS.iter().filter(|tool| tool.programs.contains(&program)) {
            let has_verb = words
                .get(1..at)
                .is_some_and(|seen| seen.iter().any(|word| tool.verbs.contains(word)));
            if tool.verbs.is_empty() || has_verb {
                of_option(tool, at, word, words.get(at + 1).copied(), hits);
            }
        }
        if whole {
            generic(at, word, words.get(at + 1).copied(), hits);
        }
    }
    if whole {
        special(program, words, hits);
    }
}

fn of_option(tool: &Tool, at: usize, word: &str, next: Option<&str>, hits: &mut Vec<Hit>) {
    for flag in tool.flags {
        let Some(rest) = word.strip_prefix(flag) else {
            // `-sSu user:password`: the last of a cluster of letters.
            let cluster = flag.len() == 2
                && tool.next
                && word.len() > 2
                && word.len() <= 6
                && word.starts_with('-')
                && !word.starts_with("--")
                && word.bytes().skip(1).all(|byte| byte.is_ascii_alphabetic())
                && word.ends_with(flag.trim_start_matches('-'));
            if cluster
                && matches!(tool.part, Part::Colon | Part::Header)
                && let Some(next) = next
            {
                part(tool, at + 1, next, 0, hits);
            }
            continue;
        };
        if rest.is_empty() {
            if tool.next
                && let Some(next) = next
            {
                part(tool, at + 1, next, 0, hits);
            }
        } else if let Some(value) = rest.strip_prefix('=').filter(|_| flag.len() > 2) {
            part(tool, at, value, word.len() - value.len(), hits);
        } else if tool.glued && flag.len() == 2 {
            part(tool, at, rest, flag.len(), hits);
        }
    }
}

/// Notes the secret part of a value that begins `skip` bytes into a word.
fn part(tool: &Tool, word: usize, value: &str, skip: usize, hits: &mut Vec<Hit>) {
    let after = |sign: char| value.find(sign).map(|at| at + sign.len_utf8());
    let from = match tool.part {
        Part::Whole => Some(0),
        Part::Colon => after(':'),
        Part::Percent => after('%'),
        Part::Comma => after(','),
        Part::Equals => after('='),
        Part::Pass => value.strip_prefix("pass:").map(|_| 5),
        Part::Cookie => value.contains('=').then_some(0),
        Part::Header => header(value),
    };
    let Some(from) = from else { return };
    let secret = value.get(from..).unwrap_or_default();
    if values::is_nothing(secret.as_bytes())
        || (secret.starts_with('-') && skip == 0 && tool.part == Part::Whole)
    {
        return;
    }
    hits.push(Hit {
        word,
        from: skip + from,
        to: skip + value.len(),
        rule: tool.rule,
    });
}

/// Where the secret of a header begins.
fn header(value: &str) -> Option<usize> {
    let (name, rest) = value.split_once(':')?;
    let blanks = rest.len() - rest.trim_start().len();
    let at = name.len() + 1 + blanks;
    let rest = rest.trim_start();
    let lower = name.trim().to_ascii_lowercase();
    if lower.ends_with("authorization") {
        let (scheme, credentials) = rest.split_once(' ').unwrap_or(("", rest));
        let credentials = credentials.trim_start();
        return (!scheme.is_empty() || rest.len() >= 8)
            .then(|| at + rest.len() - credentials.len());
    }
    if lower == "cookie" {
        return Some(at);
    }
    names::strength(lower.as_bytes()).map(|_| at)
}

/// What holds for any program: `NAME=VALUE` and `--name VALUE` where the name is secret.
fn generic(at: usize, word: &str, next: Option<&str>, hits: &mut Vec<Hit>) {
    let option = word.starts_with('-') && word.len() > 2;
    if let Some((name, value)) = word.split_once('=') {
        // A text for a shell is read as one, not as a word.
        let named = |name: &str| {
            name.bytes()
                .all(|byte| byte.is_ascii_graphic() && !b"\"'`;&|()<>$".contains(&byte))
        };
        if !named(name) {
            return;
        }
        if let Some((strength, rule)) = names::strength(name.trim_start_matches('-').as_bytes())
            && values::is_secret(strength, value.as_bytes(), Written::Typed, false)
        {
            hits.push(Hit {
                word: at,
                from: word.len() - value.len(),
                to: word.len(),
                rule,
            });
            return;
        }
        // `-e NAME=VALUE` in one word, `--env=NAME=VALUE`, `--set a.password=x`.
        if let Some((inner, value)) = value.split_once('=')
            && named(inner)
            && let Some((strength, rule)) = names::strength(inner.as_bytes())
            && values::is_secret(strength, value.as_bytes(), Written::Typed, false)
        {
            hits.push(Hit {
                word: at,
                from: word.len() - value.len(),
                to: word.len(),
                rule,
            });
        }
        return;
    }
    if option
        && let Some(next) = next.filter(|next| !next.starts_with('-'))
        && let Some((strength, rule)) = names::strength(word.trim_start_matches('-').as_bytes())
        && !word.contains('.')
    {
        let strength = if strength == Strength::Weak {
            Strength::Weak
        } else {
            Strength::Medium
        };
        if values::is_secret(strength, next.as_bytes(), Written::Typed, false) {
            hits.push(Hit {
                word: at + 1,
                from: 0,
                to: next.len(),
                rule,
            });
        }
    }
}

/// Programs whose secrets stand by place.
fn special(program: &str, words: &[&str], hits: &mut Vec<Hit>) {
    let args = words.get(1..).unwrap_or_default();
    let plain: Vec<(usize, &str)> = args
        .iter()
        .enumerate()
        .filter(|(_, word)| !word.starts_with('-'))
        .map(|(at, word)| (at + 1, *word))
        .collect();
    let verbs: Vec<&str> = plain.iter().map(|(_, word)| *word).collect();
    let mut take = |at: usize, from: usize, word: &str, rule: &'static str| {
        let secret = word.get(from..).unwrap_or_default();
        if !values::is_nothing(secret.as_bytes()) && !secret.starts_with('@') && secret != "-" {
            hits.push(Hit {
                word: at,
                from,
                to: word.len(),
                rule,
            });
        }
    };
    match (program, verbs.as_slice()) {
        ("htpasswd", _) => {
            let batch = args
                .iter()
                .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('b'));
            if let (true, Some((at, word))) = (batch, plain.last()) {
                take(*at, 0, word, "password");
            }
        }
        ("vault" | "bao", ["write" | "patch", ..])
        | ("vault" | "bao", ["kv", "put" | "patch", ..]) => {
            for (at, word) in &plain {
                if let Some((_, value)) = word.split_once('=') {
                    take(*at, word.len() - value.len(), word, "secret");
                }
            }
        }
        ("vault" | "bao", ["login", ..]) => {
            for (at, word) in plain.iter().skip(1) {
                let from = word.find('=').map_or(0, |at| at + 1);
                take(*at, from, word, "token");
            }
        }
        ("vault" | "bao", ["operator", "unseal", ..]) | ("vault" | "bao", ["unwrap", ..]) => {
            if let Some((at, word)) = plain.last().filter(|_| plain.len() > 1) {
                take(*at, 0, word, "key");
            }
        }
        ("aws", ["configure", "set", name, ..])
        | ("npm" | "pnpm" | "yarn", ["config" | "c", "set", name, ..]) => {
            let secret = names::strength(name.as_bytes());
            if let (Some((_, rule)), Some((at, word))) = (secret, plain.get(3)) {
                take(*at, 0, word, rule);
            }
        }
        ("npm" | "pnpm" | "yarn", ["set", name, ..]) => {
            if let (Some((_, rule)), Some((at, word))) =
                (names::strength(name.as_bytes()), plain.get(2))
            {
                take(*at, 0, word, rule);
            }
        }
        ("poetry", ["config", name, ..]) => {
            if let (true, Some((at, word))) = (
                name.starts_with("pypi-token") || name.starts_with("http-basic"),
                plain.last(),
            ) {
                take(*at, 0, word, "token");
            }
        }
        ("wandb" | "cargo", ["login", ..]) | ("hf" | "huggingface-cli", ["login", ..]) => {
            if let Some((at, word)) = plain.get(1).filter(|(_, word)| word.len() >= 16) {
                take(*at, 0, word, "key");
            }
        }
        ("ngrok", ["authtoken", ..]) => {
            if let Some((at, word)) = plain.get(1) {
                take(*at, 0, word, "token");
            }
        }
        ("ngrok", ["config", "add-authtoken" | "add-api-key", ..]) => {
            if let Some((at, word)) = plain.get(2) {
                take(*at, 0, word, "token");
            }
        }
        ("openssl", ["passwd", ..]) | ("mkpasswd" | "caddy", _) | ("rclone", ["obscure", ..]) => {
            let asked = args
                .iter()
                .any(|word| matches!(*word, "-stdin" | "-in" | "--stdin" | "-s" | "--help"));
            if let (false, Some((at, word))) = (
                asked || plain.len() < 2 && program != "mkpasswd",
                plain.last(),
            ) {
                take(*at, 0, word, "password");
            }
        }
        ("mc" | "mcli", ["alias", "set", _, _, _, ..]) => {
            for (at, word) in plain.iter().skip(4) {
                take(*at, 0, word, "key");
            }
        }
        ("rabbitmqctl", ["add_user" | "change_password", ..]) => {
            if let Some((at, word)) = plain.get(2) {
                take(*at, 0, word, "password");
            }
        }
        ("sqlplus" | "rman" | "exp" | "imp" | "expdp" | "impdp", _) => {
            for (at, word) in &plain {
                if let Some(slash) = word.find('/').filter(|slash| *slash > 0) {
                    let to = word
                        .find('@')
                        .filter(|to| *to > slash)
                        .unwrap_or(word.len());
                    let secret = word.get(slash + 1..to).unwrap_or_default();
                    if !values::is_nothing(secret.as_bytes()) {
                        hits.push(Hit {
                            word: *at,
                            from: slash + 1,
                            to,
                            rule: "password",
                        });
                    }
                    break;
                }
            }
        }
        ("keytool", _) => {
            for (at, word) in args.iter().enumerate() {
                if matches!(
                    *word,
                    "-storepass" | "-keypass" | "-srcstorepass" | "-deststorepass"
                ) && let Some(value) = args.get(at + 1)
                {
                    take(at + 2, 0, value, "password");
                }
            }
        }
        _ => {}
    }
}

/// Whether a program reads a secret from what is fed to it, and how that is written.
pub(super) fn reads_secret(words: &[&str]) -> Option<bool> {
    let program = words.first().and_then(|word| word.rsplit('/').next())?;
    let has = |flags: &[&str]| words.iter().skip(1).any(|word| flags.contains(word));
    let cluster = |letter: char| {
        words
            .iter()
            .skip(1)
            .take_while(|word| word.starts_with('-'))
            .any(|word| !word.starts_with("--") && word.contains(letter))
    };
    let whole = match program {
        "sudo" => cluster('S') || has(&["--stdin"]),
        "su" | "passwd" | "kinit" | "cryptsetup" | "ssh-add" | "vncpasswd" | "unlock" => true,
        "docker" | "podman" | "helm" | "nerdctl" | "buildah" | "oras" | "crane" | "skopeo"
        | "az" => has(&["--password-stdin", "--with-token"]),
        "gh" | "glab" => has(&["--with-token", "--stdin"]) || words.get(1) == Some(&"secret"),
        "wandb" | "hf" | "huggingface-cli" | "cargo" | "vault" => has(&["login"]),
        "openssl" | "htpasswd" | "mkpasswd" => has(&["stdin", "-stdin", "-i", "-s", "--stdin"]),
        "chpasswd" => return Some(true),
        _ => has(&[
            "--password-stdin",
            "--token-stdin",
            "--pass-stdin",
            "--passphrase-fd",
        ]),
    };
    whole.then_some(false)
}
