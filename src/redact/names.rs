//! Which names hold secrets, and which values cannot be one.

/// How sure a name makes it that its value is secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// Only when the value looks random (`CACHE_KEY`, `auth`).
    Weak,
    /// When the value does not look like a plain word (`token`, `secret`).
    Medium,
    /// Unless the value says that there is none (`password`, `API_KEY`).
    Strong,
}

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

/// Words that say that there is no value.
const EMPTY_WORDS: &[&str] = &[
    "none",
    "null",
    "nil",
    "true",
    "false",
    "yes",
    "no",
    "on",
    "off",
    "undefined",
    "unset",
    "empty",
    "redacted",
    "masked",
    "hidden",
    "nullptr",
    "n/a",
    "default",
    "auto",
    "disabled",
    "enabled",
    "required",
    "optional",
    "prompt",
    "ask",
];

/// Words that, printed, say something about a secret or what kind of value it is.
const PROSE_WORDS: &[&str] = &[
    "missing",
    "invalid",
    "incorrect",
    "expired",
    "wrong",
    "password",
    "passwd",
    "token",
    "string",
    "str",
    "text",
    "bytes",
    "int",
    "bool",
    "any",
    "file",
    "env",
    "stdin",
    "file/stdin",
    "is",
    "was",
    "not",
    "must",
    "for",
    "and",
    "or",
    "the",
    "a",
    "to",
    "of",
    "in",
    "with",
    "from",
    "authentication",
    "auth",
    "basic",
    "bearer",
    "digest",
    "ok",
    "failed",
    "failure",
    "success",
    "changed",
    "set",
    "stringarray",
    "value",
    "option",
    "flag",
    "argument",
    "parameter",
    "field",
    "sha256",
    "md5",
    "scram-sha-256",
    "trust",
    "peer",
    "ident",
    "negotiate",
    "publickey",
    "keyboard-interactive",
    "passed",
    "pass",
    "fail",
    "skip",
    "skipped",
    "oauth",
    "oauth2",
    "anonymous",
    "unknown",
    "here",
    "only",
    "also",
    "via",
    "if",
    "when",
    "but",
    "has",
    "have",
    "will",
    "would",
    "can",
    "cannot",
    "could",
    "should",
    "does",
    "did",
    "login",
    "user",
    "username",
    "session",
    "expires",
    "again",
    "twice",
    "once",
    "given",
    "supplied",
    "provided",
    "found",
    "mismatch",
    "rejected",
    "accepted",
    "denied",
    "error",
    "exists",
    "object",
    "typing.optional",
    "instead",
    "works",
    "did",
    "per",
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
            "authkey" | "authtoken" | "sessionid" => Some(Strength::Strong),
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

/// What a value stands beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// As an assignment or option that somebody typed.
    Typed,
    /// In a text that was printed.
    Printed,
}

/// Whether a value beside a name of this strength is taken for a secret.
pub(super) fn is_secret(strength: Strength, value: &[u8], written: Written, quoted: bool) -> bool {
    if is_nothing(value) || (!quoted && is_code(value)) {
        return false;
    }
    if written == Written::Printed && !quoted && is_word(value, PROSE_WORDS) {
        return false;
    }
    match (strength, written) {
        (Strength::Strong, _) => !is_path(value) || is_random(value),
        (Strength::Medium, Written::Typed) => {
            value.len() >= 4 && !is_small_number(value) && !is_path(value)
        }
        (Strength::Medium, Written::Printed) => {
            value.len() >= 8 && is_mixed(value) && !is_number(value) && !is_path(value)
        }
        (Strength::Weak, _) => is_random(value) || is_login(value),
    }
}

/// A value that stands for no value, or for one that is elsewhere.
pub(super) fn is_nothing(value: &[u8]) -> bool {
    let Some(first) = value.first() else {
        return true;
    };
    if value.starts_with(super::MARK.as_bytes())
        || value.starts_with(b"%s")
        || value.starts_with(b"%(")
    {
        return true;
    }
    if matches!(first, b'<' | b'|')
        || value.starts_with(b"{{")
        || (*first == b'$' && !is_crypt(value))
        || value.starts_with(b"%{")
    {
        return true;
    }
    if value.iter().all(|byte| !byte.is_ascii_alphanumeric()) && value.len() < 8 {
        return true;
    }
    let filler = |byte: &u8| matches!(byte, b'*' | b'x' | b'X' | b'.' | b'-' | b'#' | b'_' | b'?');
    if value.iter().all(filler) || value.windows(3).any(|three| three == b"***") {
        return true;
    }
    is_word(value, EMPTY_WORDS)
}

/// A word of prose about secrets, or one that stands for no value.
pub(super) fn is_nothing_printed(value: &[u8]) -> bool {
    is_nothing(value) || is_word(value, PROSE_WORDS)
}

/// Whether a value is one of some words, in brackets or not.
fn is_word(value: &[u8], words: &[&str]) -> bool {
    if value.len() > 32 {
        return false;
    }
    let word: Vec<u8> = value.to_ascii_lowercase();
    let word = word.trim_ascii();
    let bare = word
        .strip_prefix(b"[")
        .and_then(|word| word.strip_suffix(b"]"))
        .or_else(|| {
            word.strip_prefix(b"(")
                .and_then(|word| word.strip_suffix(b")"))
        })
        .unwrap_or(word);
    let bare = bare.strip_suffix(b".").unwrap_or(bare);
    words.iter().any(|known| known.as_bytes() == bare)
}

fn is_crypt(value: &[u8]) -> bool {
    [
        &b"$1$"[..],
        b"$5$",
        b"$6$",
        b"$y$",
        b"$2",
        b"$apr1$",
        b"$argon2",
    ]
    .iter()
    .any(|prefix| value.starts_with(prefix))
}

/// `os.environ[…]`, `getenv(…)`, `str`, `Optional[…]`: the source of a program.
fn is_code(value: &[u8]) -> bool {
    let name = value
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':'))
        .count();
    name > 0 && matches!(value.get(name), Some(b'(' | b'['))
        || value.starts_with(b"os.")
        || value.starts_with(b"self.")
        || value.starts_with(b"process.env")
        || value.starts_with(b"args.")
        || value.starts_with(b"config.")
}

fn is_path(value: &[u8]) -> bool {
    let begins = value.starts_with(b"/")
        || value.starts_with(b"~/")
        || value.starts_with(b"./")
        || value.starts_with(b"../");
    let typical = |byte: &u8| {
        byte.is_ascii_lowercase()
            || byte.is_ascii_digit()
            || matches!(byte, b'/' | b'_' | b'-' | b'.' | b'~')
    };
    begins
        && (value.iter().skip(1).any(|byte| *byte == b'/') || value.len() < 12)
        && value.iter().filter(|byte| typical(byte)).count() * 10 >= value.len() * 8
}

fn is_number(value: &[u8]) -> bool {
    value
        .iter()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b','))
}

fn is_small_number(value: &[u8]) -> bool {
    value.len() <= 5 && is_number(value)
}

/// Something a person would not write as a word of prose.
fn is_mixed(value: &[u8]) -> bool {
    let digit = value.iter().any(u8::is_ascii_digit);
    let lower = value.iter().any(u8::is_ascii_lowercase);
    let upper = value.iter().skip(1).any(u8::is_ascii_uppercase);
    (digit && (lower || upper || value.len() >= 6)) || (lower && upper && value.len() >= 12)
}

fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// What chance makes and people do not.
pub(super) fn is_random(value: &[u8]) -> bool {
    if value.len() < 16 || is_uuid(value) || is_number(value) {
        return false;
    }
    let run = value
        .split(|byte| !byte.is_ascii_alphanumeric())
        .filter(|run| run.iter().any(u8::is_ascii_digit) && run.iter().any(u8::is_ascii_alphabetic))
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0);
    run >= 12
}

/// `user:password`, plain or in base64.
pub(super) fn is_login(value: &[u8]) -> bool {
    use base64::Engine;
    if value.len() < 8 || value.len() > 1024 {
        return false;
    }
    let base64 = value
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
    if !base64 {
        return false;
    }
    let trimmed: &[u8] = value
        .strip_suffix(b"==")
        .or_else(|| value.strip_suffix(b"="))
        .unwrap_or(value);
    base64::engine::general_purpose::STANDARD_NO_PAD
        .decode(trimmed)
        .is_ok_and(|plain| {
            plain.contains(&b':')
                && !plain.starts_with(b":")
                && plain
                    .iter()
                    .all(|byte| byte.is_ascii_graphic() || *byte == b' ')
        })
}

/// Whether a long word has a class of characters of each kind, as keys in base64 do.
pub(super) fn is_base64_key(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_lowercase)
        && value.iter().any(u8::is_ascii_uppercase)
        && value.iter().any(u8::is_ascii_digit)
}
