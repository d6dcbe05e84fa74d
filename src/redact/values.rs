//! Which values are taken for secrets, beside a name that may be one of a secret.

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
    "files",
    "compat",
    "all",
    "line",
    "sss",
    "did",
    "per",
];

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
        (Strength::Strong, written) => {
            let count = written == Written::Printed && value.len() <= 3 && is_number(value);
            !count && (!is_path(value) || is_random(value))
        }
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
