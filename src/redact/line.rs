//! A command line → the secrets in it, by what its programs mean.

use super::argv::{self, Hit};
use super::names;
use super::values::{self, Written};
use crate::shell::{self, Invocation, RedirectTo, Tree};

/// Without one of these in it, parsing a line finds no more than reading it as text does: parts of
/// names of options and variables, and of the programs that take secrets as plain words.
const SIGNS: &[&str] = &[
    "pass",
    "pwd",
    "pw=",
    "token",
    "key",
    "secret",
    "login",
    "auth",
    "cred",
    "cookie",
    "bearer",
    "sudo",
    "su ",
    "curl",
    "http",
    "xh",
    "wget",
    "mysql",
    "maria",
    "mycli",
    "mytop",
    "xtrabackup",
    "redis",
    "valkey",
    "keydb",
    "mongo",
    "cqlsh",
    "clickhouse",
    "cypher",
    "influx",
    "sqlcmd",
    "bcp",
    "isql",
    "tsql",
    "openssl",
    "ldap",
    "ipmi",
    "bmc-info",
    "smb",
    "rpcclient",
    "net rpc",
    "net ads",
    "lftp",
    "ncftp",
    "mosquitto",
    "zip",
    "7z",
    "rar ",
    "etcdctl",
    "snmp",
    "doctl",
    "fly",
    "vercel",
    "netlify",
    "railway",
    "twine",
    "useradd",
    "usermod",
    "expect",
    "rdesktop",
    "rdp",
    "vault",
    "bao ",
    "obscure",
    "alias",
    "sqlplus",
    "rman",
    "expdp",
    "impdp",
    "rabbitmq",
    "creds",
    "kinit",
    "cryptsetup",
    "ssh-add",
    "vnc",
    "caddy",
    "borg",
    "restic",
    "gpg",
];

/// A secret, and the text around it that tells it from other text.
#[derive(Clone, PartialEq, Eq)]
pub struct Known {
    /// The word it stands in, as its program gets it.
    word: String,
    /// Where in the word it begins.
    from: usize,
    /// And ends.
    to: usize,
    /// By which rule.
    pub(super) rule: &'static str,
}

impl std::fmt::Debug for Known {
    /// Not the secret: this may be printed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known")
            .field("rule", &self.rule)
            .finish_non_exhaustive()
    }
}

impl Known {
    /// The secret itself.
    pub(super) fn secret(&self) -> &str {
        self.word.get(self.from..self.to).unwrap_or_default()
    }

    /// The secret without the word around it.
    pub(super) fn bare(&self) -> Self {
        let word = self.secret().to_owned();
        Self {
            from: 0,
            to: word.len(),
            word,
            rule: self.rule,
        }
    }
}

/// The secrets of a command line. Costs nothing for most lines: they are not parsed.
pub(super) fn secrets(line: &str) -> Vec<Known> {
    let lower = line.to_ascii_lowercase();
    if !SIGNS.iter().any(|sign| lower.contains(sign)) {
        return Vec::new();
    }
    let tree = shell::parse(line);
    let mut known = Vec::new();
    for invocation in &tree.invocations {
        of_invocation(&tree, invocation, &mut known);
    }
    known
}

fn of_invocation(tree: &Tree, invocation: &Invocation, known: &mut Vec<Known>) {
    let words: Vec<&str> = invocation
        .words
        .iter()
        .map(|word| word.text.as_str())
        .collect();
    let mut hits: Vec<Hit> = Vec::new();
    argv::of_words(&words, true, &mut hits);
    for hit in hits {
        if let Some(word) = words.get(hit.word) {
            // A text that a hop hands to a shell is read there, word by word.
            let before = hit.word.checked_sub(1).and_then(|at| words.get(at));
            let value = word.get(hit.from..hit.to).unwrap_or_default();
            let variable = invocation.program() == "env"
                || word.starts_with('-')
                || before.is_some_and(|before| {
                    before.starts_with('-') && *before != "-c" && *before != "-d"
                });
            if invocation.hop.is_some() && value.contains(char::is_whitespace) && !variable {
                continue;
            }
            add(known, word, hit.from, hit.to, hit.rule);
        }
    }
    for (name, value) in &invocation.assignments {
        if let Some((strength, rule)) = names::strength(name.as_bytes())
            && values::is_secret(strength, value.text.as_bytes(), Written::Typed, false)
        {
            add(known, &value.text, 0, value.text.len(), rule);
        }
    }
    let Some(login) = argv::reads_secret(&words) else {
        return;
    };
    for redirect in &invocation.redirects {
        if let RedirectTo::Text { body, .. } = &redirect.to {
            fed(known, body, login);
        }
    }
    let Some(pipe) = invocation.pipe else { return };
    for giver in &tree.invocations {
        let before = giver
            .pipe
            .is_some_and(|place| place.pipeline == pipe.pipeline && place.stage + 1 == pipe.stage);
        if before && matches!(giver.program(), "echo" | "printf") {
            for word in giver.args() {
                let format = word.text.starts_with('-') && word.text.len() <= 3
                    || word.text.starts_with('%');
                if !format {
                    fed(known, &word.text, login);
                }
            }
        }
    }
}

/// Notes what is fed to a program that reads a secret.
fn fed(known: &mut Vec<Known>, text: &str, login: bool) {
    for line in text.lines() {
        let line = line.strip_suffix("\\n").unwrap_or(line);
        let from = if login {
            line.find(':').map_or(0, |at| at + 1)
        } else {
            0
        };
        if line
            .get(from..)
            .is_some_and(|secret| !values::is_nothing(secret.as_bytes()))
        {
            add(known, line, from, line.len(), "password");
        }
    }
}

fn add(known: &mut Vec<Known>, word: &str, from: usize, to: usize, rule: &'static str) {
    if from < to && word.get(from..to).is_some() {
        let new = Known {
            word: word.to_owned(),
            from,
            to,
            rule,
        };
        if !known.contains(&new) {
            known.push(new);
        }
    }
}

/// Where a secret stands in a text that a shell has yet to read: its word is looked for with any
/// quoting between its characters.
pub(super) fn places(text: &[u8], known: &Known) -> Vec<(usize, usize)> {
    let word = known.word.as_bytes();
    let mut found = Vec::new();
    let Some(first) = word.first() else {
        return found;
    };
    let mut at = 0;
    while let Some(step) = text.get(at..).and_then(|rest| memchr::memchr(*first, rest)) {
        let from = at + step;
        at = from + 1;
        // A short one only where a word begins and ends.
        let before = from.checked_sub(1).and_then(|before| text.get(before));
        if before.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
            continue;
        }
        let Some(ends) = follow(text, from, word) else {
            continue;
        };
        let (Some(begin), Some(last)) =
            (ends.get(known.from), ends.get(known.to.saturating_sub(1)))
        else {
            continue;
        };
        let after = text.get(last + 1);
        let ends_word = after.is_none_or(|byte| !byte.is_ascii_alphanumeric());
        if ends_word && begin <= last {
            found.push((*begin, last + 1));
            at = last + 1;
        }
    }
    found
}

/// The places of a word's bytes in a text, quoting between them passed over.
fn follow(text: &[u8], from: usize, word: &[u8]) -> Option<Vec<usize>> {
    let mut places = Vec::with_capacity(word.len());
    let mut at = from;
    for byte in word {
        let mut skipped = 0;
        while text.get(at) != Some(byte) {
            let quoting = matches!(text.get(at), Some(b'\'' | b'"' | b'\\' | b'$'));
            if !quoting || skipped > 24 {
                return None;
            }
            at += 1;
            skipped += 1;
        }
        places.push(at);
        at += 1;
    }
    Some(places)
}
