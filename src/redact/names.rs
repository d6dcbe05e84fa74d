//! Which names hold secrets.

use super::values::Strength;

/// Longest name that is read.
pub(super) const NAME_MAX: usize = 100;

/// Parts of a name that say that the value is about the secret, not the secret.
const ABOUT: &[&str] = &[
    "id",
    "ids",
    "count",
    "counts",
    "len",
    "length",
    "lengths",
    "size",
    "sizes",
    "limit",
    "limits",
    "file",
    "files",
    "filename",
    "path",
    "paths",
    "dir",
    "type",
    "types",
    "ttl",
    "expiry",
    "expires",
    "expiration",
    "url",
    "uri",
    "endpoint",
    "name",
    "names",
    "timeout",
    "usage",
    "rate",
    "index",
    "idx",
    "budget",
    "pos",
    "position",
    "positions",
    "mode",
    "method",
    "enabled",
    "required",
    "sock",
    "policy",
    "version",
    "format",
    "algorithm",
    "alg",
    "algo",
    "prefix",
    "suffix",
    "field",
    "header",
    "provider",
    "server",
    "realm",
    "parallel",
    "num",
    "max",
    "min",
    "total",
    "avg",
    "per",
    "throughput",
    "latency",
    "prob",
    "probs",
    "logprob",
    "logprobs",
    "embedding",
    "embeddings",
    "level",
    "scope",
    "scopes",
    "status",
    "error",
    "errors",
    "check",
    "checks",
    "state",
    "ring",
    "ref",
    "arn",
    "class",
    "time",
    "times",
    "ms",
    "age",
    "bytes",
    "bits",
    "hint",
    "prompt",
    "store",
    "manager",
    "handler",
    "map",
    "list",
    "set",
    "strength",
    "score",
    "rotation",
    "cost",
    "request",
    "requests",
    "cert",
    "ca",
    "pub",
    "public",
    "primary",
    "foreign",
    "partition",
    "sort",
    "routing",
    "frame",
    "press",
    "board",
    "word",
    "words",
    "points",
    "point",
    "code",
    "binding",
    "bindings",
    "chain",
    "space",
    "pattern",
    "regex",
    "offset",
    "offsets",
    "dim",
    "heads",
    "head",
    "rope",
    "norm",
    "proj",
    "layer",
    "layers",
    "states",
    "padding",
    "value",
    "values",
    "encryption",
    "authentication",
    "helper",
    "env",
    "var",
    "variable",
];

/// What stands before `token` in the words of models and parsers.
const NO_TOKEN: &[&str] = &[
    "eos",
    "bos",
    "pad",
    "unk",
    "sep",
    "cls",
    "mask",
    "next",
    "image",
    "img",
    "audio",
    "video",
    "stop",
    "special",
    "draft",
    "first",
    "last",
    "output",
    "input",
    "new",
    "end",
    "start",
    "each",
    "accepted",
    "sampled",
    "generated",
    "bonus",
    "vision",
    "think",
    "thinking",
    "tool",
    "begin",
    "fim",
    "middle",
    "decode",
    "prefill",
    "additional",
    "added",
    "extra",
    "single",
    "one",
    "chat",
    "control",
    "box",
    "object",
    "python",
    "every",
    "unexpected",
    "invalid",
    "missing",
    "current",
    "previous",
    "prev",
    "cached",
    "computed",
    "scheduled",
    "spec",
    "target",
    "verified",
    "role",
    "system",
    "assistant",
    "continuation",
    "placeholder",
    "separator",
    "syntax",
    "reserved",
    "unknown",
    "blank",
    "newline",
];

/// What stands before `key` when it is a secret one.
const SECRET_KEY: &[&str] = &[
    "api",
    "secret",
    "access",
    "private",
    "priv",
    "auth",
    "encryption",
    "encrypt",
    "signing",
    "sign",
    "signature",
    "master",
    "license",
    "licence",
    "account",
    "storage",
    "shared",
    "session",
    "subscription",
    "deploy",
    "app",
    "application",
    "admin",
    "write",
    "ingest",
    "ingestion",
    "hmac",
    "aes",
    "jwt",
    "crypt",
    "cookie",
    "client",
    "service",
    "function",
    "sas",
    "vault",
    "unseal",
    "recovery",
    "tls",
    "ssl",
    "server",
    "wandb",
    "openai",
    "anthropic",
    "host",
    "join",
    "pre",
];

/// Endings of a name written in one word.
const ENDINGS: &[(&str, Strength)] = &[
    ("password", Strength::Strong),
    ("passwd", Strength::Strong),
    ("passphrase", Strength::Strong),
    ("passcode", Strength::Strong),
    ("apikey", Strength::Strong),
    ("secretkey", Strength::Strong),
    ("accesskey", Strength::Strong),
    ("privatekey", Strength::Strong),
    ("accountkey", Strength::Strong),
    ("authkey", Strength::Strong),
    ("authtoken", Strength::Strong),
    ("accesstoken", Strength::Strong),
    ("credentials", Strength::Medium),
    ("credential", Strength::Medium),
    ("creds", Strength::Medium),
    ("secret", Strength::Medium),
    ("token", Strength::Medium),
    ("pwd", Strength::Strong),
];

/// One-word names ending in `pass` that are secret; the others (`bypass`, `lowpass`) are not.
const PASSES: &[&str] = &[
    "userpass",
    "dbpass",
    "rootpass",
    "sshpass",
    "keypass",
    "storepass",
    "ftppass",
    "smtppass",
    "redispass",
    "pgpass",
    "mypass",
    "adminpass",
    "bindpass",
    "ldappass",
    "mailpass",
    "mysqlpass",
];

/// What a name says of its value: how sure it is to be secret, and the rule's name.
pub(super) fn strength(name: &[u8]) -> Option<(Strength, &'static str)> {
    if name.is_empty() || name.len() > NAME_MAX {
        return None;
    }
    if memchr::memmem::find(name, super::MARK.as_bytes()).is_some() {
        return None; // a mask, whose rule has such a name
    }
    let upper = !name.iter().any(u8::is_ascii_lowercase);
    let parts = parts(name);
    let part = |at: usize| parts.get(at).map_or("", String::as_str);
    let mut found: Option<(usize, Strength)> = None;
    for (at, word) in parts.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", part);
        let strength = match word.as_str() {
            "password" | "passwd" | "passphrase" | "passcode" | "passwort" => {
                Some(Strength::Strong)
            }
            "pwd" if parts.len() > 1 => Some(Strength::Strong),
            "pass" if parts.len() > 1 => Some(Strength::Medium),
            "pass" => Some(Strength::Weak),
            "pw" if parts.len() > 1 && upper => Some(Strength::Medium),
            "secret" | "secrets" if at + 1 == parts.len() || upper => Some(Strength::Medium),
            "apikey" => Some(Strength::Strong),
            "token" if NO_TOKEN.contains(&before) => return None,
            "token" => Some(Strength::Medium),
            "key" if SECRET_KEY.contains(&before) => Some(Strength::Strong),
            "key" if upper && parts.len() > 1 => Some(Strength::Weak),
            "authkey" | "authtoken" => Some(Strength::Strong),
            "sessionid" => Some(Strength::Medium),
            "credential" | "credentials" | "creds" => Some(Strength::Medium),
            "auth" => Some(Strength::Weak),
            word => ENDINGS
                .iter()
                .find(|(ending, _)| {
                    word.len() > ending.len() && word.ends_with(ending) && word != "oldpwd"
                })
                .map(|(_, strength)| *strength)
                .or_else(|| {
                    let whole = if upper {
                        Strength::Strong
                    } else {
                        Strength::Medium
                    };
                    PASSES.contains(&word).then_some(whole)
                }),
        };
        if let Some(strength) = strength {
            found = Some(match found {
                Some((first, known)) => (first.max(at), known.max(strength)),
                None => (at, strength),
            });
        }
    }
    let (last, strength) = found?;
    // `client-key-data`: the key itself.
    let data = part(last + 1) == "data" || part(last + 1) == "base";
    let about = parts.iter().enumerate().any(|(at, word)| {
        let qualifies =
            at + 1 == last && part(last) == "key" && SECRET_KEY.contains(&word.as_str());
        at != last && !qualifies && ABOUT.contains(&word.as_str())
    });
    let rule = rule_of(part(last));
    // `secret_id` is one half of a login.
    if about && part(last) == "secret" && part(last + 1) == "id" && last + 2 == parts.len() {
        return Some((Strength::Weak, rule));
    }
    if about && !data {
        return None;
    }
    // In the environment's way of writing, a name is meant.
    let strength = match strength {
        Strength::Medium if upper && parts.len() > 1 => Strength::Strong,
        other => other,
    };
    Some((strength, rule))
}

fn rule_of(word: &str) -> &'static str {
    let is = |what: &str| word.contains(what);
    if is("token") {
        "token"
    } else if is("key") {
        "key"
    } else if is("secret") {
        "secret"
    } else if is("cred") {
        "credential"
    } else if is("auth") || is("session") {
        "auth"
    } else {
        "password"
    }
}

/// The words of a name: `hf_token`, `HF-TOKEN`, `hfToken` and `registry/:_authToken` alike.
fn parts(name: &[u8]) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut previous = b' ';
    for byte in name {
        let breaks = byte.is_ascii_uppercase() && previous.is_ascii_lowercase();
        if (!byte.is_ascii_alphanumeric() || breaks) && !word.is_empty() {
            parts.push(std::mem::take(&mut word));
        }
        if byte.is_ascii_alphanumeric() {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
        previous = *byte;
    }
    if !word.is_empty() {
        parts.push(word);
    }
    // `TOKEN_2`, `TOKEN2`: which one, not what.
    for part in &mut parts {
        let bare = part.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        if bare > 1 {
            part.truncate(bare);
        }
    }
    parts.retain(|part| !part.bytes().all(|byte| byte.is_ascii_digit()));
    parts
}
