//! The table of secrets that can be told by how they begin.

use super::values;

/// Which bytes a secret is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `_`.
    Word,
    /// Letters, digits, `_`, `-`.
    Dashed,
    /// Letters, digits, `_`, `-`, `.`.
    Dotted,
    /// Capitals and digits.
    Upper,
    /// Base64 and what URLs make of it.
    Base64,
    /// A path of words.
    Path,
    /// What `crypt` makes.
    Crypt,
}

impl Class {
    pub(super) fn holds(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Dashed => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Base64 => {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'+' | b'/' | b'=' | b'%' | b'_' | b'-')
            }
            Self::Path => byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-'),
            Self::Crypt => {
                byte.is_ascii_alphanumeric()
                    || matches!(byte, b'.' | b'/' | b'$' | b'=' | b',' | b'+')
            }
        }
    }
}

/// One kind of secret.
#[derive(Debug)]
pub(super) struct Rule {
    /// What it begins with.
    pub begins: &'static str,
    /// Its name in a mask.
    pub id: &'static str,
    /// What follows the beginning.
    pub class: Class,
    /// How much of it follows at least, and at most (more is another thing).
    pub len: (usize, usize),
    /// What else must be true of what follows.
    pub check: fn(&[u8]) -> bool,
    /// The beginning is a name in front of the secret, not part of it.
    pub apart: bool,
    /// One that was made up, for tests: what follows the beginning.
    pub sample: &'static str,
}

const MANY: usize = 1 << 16;

const fn rule(
    begins: &'static str,
    id: &'static str,
    class: Class,
    len: (usize, usize),
    check: fn(&[u8]) -> bool,
    sample: &'static str,
) -> Rule {
    Rule {
        begins,
        id,
        class,
        len,
        check,
        apart: false,
        sample,
    }
}

const fn apart(
    begins: &'static str,
    id: &'static str,
    class: Class,
    len: usize,
    sample: &'static str,
) -> Rule {
    Rule {
        begins,
        id,
        class,
        len: (len, MANY),
        check: anything,
        apart: true,
        sample,
    }
}

const A34: &str = "qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3i";
const A40: &str = "qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3iVb5XyM";
const A60: &str = "qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3iVb5XyM0HtK7gQzW2rEaCn9LjSf";
const HEX64: &str = "3fa85f6457174562b3fc2c963f66afa63fa85f6457174562b3fc2c963f66afa6";
const DIGITS11: &str = "31415926535-27182818284-qT7vYh2LmZx9RkBw4NcJd8Fs";

/// All of them. A beginning is told by its case.
pub(super) const RULES: &[Rule] = &[
    rule("hf_", "hf-token", Class::Alnum, (20, MANY), anything, A34),
    rule(
        "api_org_",
        "hf-token",
        Class::Alnum,
        (20, MANY),
        anything,
        A34,
    ),
    rule("sk-", "sk-key", Class::Dashed, (16, MANY), is_sk, A40),
    rule(
        "sk_live_",
        "stripe-key",
        Class::Alnum,
        (16, MANY),
        anything,
        A34,
    ),
    rule(
        "sk_test_",
        "stripe-key",
        Class::Alnum,
        (16, MANY),
        anything,
        A34,
    ),
    rule(
        "rk_live_",
        "stripe-key",
        Class::Alnum,
        (16, MANY),
        anything,
        A34,
    ),
    rule(
        "whsec_",
        "stripe-key",
        Class::Base64,
        (24, MANY),
        has_digit,
        A34,
    ),
    rule(
        "nvapi-",
        "nvapi-key",
        Class::Dashed,
        (20, MANY),
        has_digit,
        A60,
    ),
    rule(
        "ghp_",
        "github-token",
        Class::Alnum,
        (20, MANY),
        anything,
        A34,
    ),
    rule(
        "gho_",
        "github-token",
        Class::Alnum,
        (20, MANY),
        anything,
        A34,
    ),
    rule(
        "ghu_",
        "github-token",
        Class::Alnum,
        (20, MANY),
        anything,
        A34,
    ),
    rule(
        "ghs_",
        "github-token",
        Class::Dotted,
        (20, MANY),
        has_digit,
        A34,
    ),
    rule(
        "ghr_",
        "github-token",
        Class::Alnum,
        (20, MANY),
        anything,
        A34,
    ),
    rule(
        "github_pat_",
        "github-token",
        Class::Word,
        (20, MANY),
        anything,
        A60,
    ),
    rule(
        "glpat-",
        "gitlab-token",
        Class::Dotted,
        (16, MANY),
        anything,
        A34,
    ),
    rule(
        "gldt-",
        "gitlab-token",
        Class::Dotted,
        (16, MANY),
        has_digit,
        A34,
    ),
    rule(
        "glrt-",
        "gitlab-token",
        Class::Dotted,
        (16, MANY),
        has_digit,
        A34,
    ),
    rule(
        "glptt-",
        "gitlab-token",
        Class::Dotted,
        (16, MANY),
        has_digit,
        A34,
    ),
    rule(
        "glcbt-",
        "gitlab-token",
        Class::Dotted,
        (16, MANY),
        has_digit,
        A34,
    ),
    rule(
        "glsoat-",
        "gitlab-token",
        Class::Dotted,
        (16, MANY),
        has_digit,
        A34,
    ),
    rule(
        "xoxb-",
        "slack-token",
        Class::Dashed,
        (16, MANY),
        has_digit,
        DIGITS11,
    ),
    rule(
        "xoxp-",
        "slack-token",
        Class::Dashed,
        (16, MANY),
        has_digit,
        DIGITS11,
    ),
    rule(
        "xoxa-",
        "slack-token",
        Class::Dashed,
        (16, MANY),
        has_digit,
        DIGITS11,
    ),
    rule(
        "xoxr-",
        "slack-token",
        Class::Dashed,
        (16, MANY),
        has_digit,
        DIGITS11,
    ),
    rule(
        "xoxs-",
        "slack-token",
        Class::Dashed,
        (16, MANY),
        has_digit,
        DIGITS11,
    ),
    rule(
        "xoxe-",
        "slack-token",
        Class::Dashed,
        (16, MANY),
        has_digit,
        DIGITS11,
    ),
    rule(
        "xoxc-",
        "slack-token",
        Class::Dashed,
        (16, MANY),
        has_digit,
        DIGITS11,
    ),
    rule(
        "xapp-",
        "slack-token",
        Class::Dashed,
        (16, MANY),
        has_digit,
        DIGITS11,
    ),
    rule(
        "hooks.slack.com/services/",
        "slack-webhook",
        Class::Path,
        (20, MANY),
        has_digit,
        "T0ABC1DEF/B0GHI2JKL/qT7vYh2LmZx9RkBw4NcJd8Fs",
    ),
    rule(
        "/api/webhooks/",
        "discord-webhook",
        Class::Path,
        (30, MANY),
        has_digit,
        "314159265358979323/qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3iVb5XyM",
    ),
    rule(
        "AKIA",
        "aws-key-id",
        Class::Upper,
        (16, 16),
        anything,
        "Q3EGRZ7YTWPLMK2X",
    ),
    rule(
        "ASIA",
        "aws-key-id",
        Class::Upper,
        (16, 16),
        anything,
        "Q3EGRZ7YTWPLMK2X",
    ),
    rule(
        "AIza",
        "google-key",
        Class::Dashed,
        (30, 60),
        anything,
        "SyD3mQ7vYh2LmZx9RkBw4NcJd8FsGp1Ue6A",
    ),
    rule(
        "GOCSPX-",
        "google-key",
        Class::Dashed,
        (20, MANY),
        anything,
        A34,
    ),
    rule(
        "ya29.",
        "google-token",
        Class::Dotted,
        (20, MANY),
        anything,
        A60,
    ),
    rule("npm_", "npm-token", Class::Alnum, (30, MANY), anything, A40),
    rule(
        "pypi-",
        "pypi-token",
        Class::Dashed,
        (50, MANY),
        anything,
        A60,
    ),
    rule(
        "dop_v1_",
        "digitalocean-token",
        Class::Alnum,
        (40, MANY),
        anything,
        HEX64,
    ),
    rule(
        "doo_v1_",
        "digitalocean-token",
        Class::Alnum,
        (40, MANY),
        anything,
        HEX64,
    ),
    rule(
        "dckr_pat_",
        "docker-token",
        Class::Dashed,
        (20, MANY),
        anything,
        A34,
    ),
    rule(
        "dckr_oat_",
        "docker-token",
        Class::Dashed,
        (20, MANY),
        anything,
        A34,
    ),
    rule(
        "eyJ",
        "jwt",
        Class::Dotted,
        (20, MANY),
        is_jwt,
        "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIzMTQxNTkyNiJ9.qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3iVb5XyM",
    ),
    rule(
        "hvs.",
        "vault-token",
        Class::Dashed,
        (20, MANY),
        anything,
        A60,
    ),
    rule(
        "hvb.",
        "vault-token",
        Class::Dashed,
        (20, MANY),
        anything,
        A60,
    ),
    rule(
        "shpat_",
        "shopify-token",
        Class::Alnum,
        (30, MANY),
        anything,
        HEX64,
    ),
    rule(
        "SG.",
        "sendgrid-key",
        Class::Dotted,
        (40, MANY),
        has_dot,
        "qT7vYh2LmZx9RkBw4NcJd8.FsGp1Ue6Ao3iVb5XyM0HtK7gQzW2rEaCn9LjSfqT7vY",
    ),
    rule(
        "r8_",
        "replicate-token",
        Class::Alnum,
        (30, MANY),
        anything,
        A40,
    ),
    rule("gsk_", "groq-key", Class::Alnum, (30, MANY), anything, A60),
    rule("xai-", "xai-key", Class::Alnum, (40, MANY), anything, A60),
    rule(
        "pplx-",
        "perplexity-key",
        Class::Alnum,
        (30, MANY),
        anything,
        A60,
    ),
    rule(
        "tgp_v1_",
        "together-key",
        Class::Dashed,
        (30, MANY),
        anything,
        A60,
    ),
    rule(
        "rpa_",
        "runpod-key",
        Class::Alnum,
        (30, MANY),
        anything,
        A60,
    ),
    rule(
        "lsv2_",
        "langsmith-key",
        Class::Word,
        (30, MANY),
        has_digit,
        "pt_3fa85f6457174562b3fc2c963f66afa6_3fa85f6457",
    ),
    rule(
        "wandb_v1_",
        "wandb-key",
        Class::Word,
        (20, MANY),
        anything,
        A60,
    ),
    rule(
        "glsa_",
        "grafana-token",
        Class::Word,
        (30, MANY),
        anything,
        A40,
    ),
    rule(
        "sntrys_",
        "sentry-token",
        Class::Base64,
        (30, MANY),
        anything,
        A60,
    ),
    rule(
        "sntryu_",
        "sentry-token",
        Class::Base64,
        (30, MANY),
        anything,
        HEX64,
    ),
    rule(
        "tskey-",
        "tailscale-key",
        Class::Dashed,
        (16, MANY),
        has_digit,
        "auth-kT7vYh2LmZx9-RkBw4NcJd8FsGp1Ue6Ao3",
    ),
    rule(
        "ATATT3",
        "atlassian-token",
        Class::Base64,
        (40, MANY),
        anything,
        A60,
    ),
    rule(
        "NRAK-",
        "newrelic-key",
        Class::Upper,
        (20, MANY),
        anything,
        "Q3EGRZ7YTWPLMK2XQ3EGRZ7YTWP",
    ),
    rule(
        "AGE-SECRET-KEY-1",
        "age-key",
        Class::Upper,
        (40, MANY),
        anything,
        "Q3EGRZ7YTWPLMK2XQ3EGRZ7YTWPLMK2XQ3EGRZ7YTWPLMK2XQ3EGRZ7YTW",
    ),
    rule(
        "$1$",
        "password-hash",
        Class::Crypt,
        (20, MANY),
        has_dollar,
        "xyz12345$qT7vYh2LmZx9RkBw4NcJd8",
    ),
    rule(
        "$5$",
        "password-hash",
        Class::Crypt,
        (40, MANY),
        has_dollar,
        "xyz12345$qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3iVb5XyM0Ht",
    ),
    rule(
        "$6$",
        "password-hash",
        Class::Crypt,
        (40, MANY),
        has_dollar,
        "xyz12345$qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3iVb5XyM0HtK7gQzW2rEaCn9",
    ),
    rule(
        "$y$",
        "password-hash",
        Class::Crypt,
        (40, MANY),
        has_dollar,
        "j9T$xyz12345$qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3iVb5XyM0Ht",
    ),
    rule(
        "$2a$",
        "password-hash",
        Class::Crypt,
        (40, MANY),
        has_dollar,
        "12$qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3iVb5XyM0HtK7gQzW2r",
    ),
    rule(
        "$2b$",
        "password-hash",
        Class::Crypt,
        (40, MANY),
        has_dollar,
        "12$qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3iVb5XyM0HtK7gQzW2r",
    ),
    rule(
        "$2y$",
        "password-hash",
        Class::Crypt,
        (40, MANY),
        has_dollar,
        "12$qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3iVb5XyM0HtK7gQzW2r",
    ),
    rule(
        "$apr1$",
        "password-hash",
        Class::Crypt,
        (20, MANY),
        has_dollar,
        "xyz12345$qT7vYh2LmZx9RkBw4NcJd8",
    ),
    rule(
        "$argon2",
        "password-hash",
        Class::Crypt,
        (40, MANY),
        has_dollar,
        "id$v=19$m=65536,t=3,p=4$qT7vYh2LmZx9RkBw$4NcJd8FsGp1Ue6Ao3iVb5XyM0Ht",
    ),
    // Known beginnings in base64, as Kubernetes keeps secrets.
    rule(
        "aGZf",
        "hf-token",
        Class::Base64,
        (36, MANY),
        values::is_base64_key,
        "cVQ3dlloMkxtWng5UmtCdzROY0pkOEZzR3AxVWU2QW8zaQ==",
    ),
    rule(
        "c2st",
        "sk-key",
        Class::Base64,
        (36, MANY),
        values::is_base64_key,
        "cVQ3dlloMkxtWng5UmtCdzROY0pkOEZzR3AxVWU2QW8zaQ==",
    ),
    rule(
        "Z2hw",
        "github-token",
        Class::Base64,
        (36, MANY),
        values::is_base64_key,
        "X3FUN3ZZaDJMbVp4OVJrQnc0TmNKZDhGc0dwMVVlNkFvM2k=",
    ),
    rule(
        "bnZhcGkt",
        "nvapi-key",
        Class::Base64,
        (36, MANY),
        values::is_base64_key,
        "cVQ3dlloMkxtWng5UmtCdzROY0pkOEZzR3AxVWU2QW8zaQ==",
    ),
    apart(
        "?sig=",
        "signature",
        Class::Base64,
        20,
        "qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3iVb5XyM%3D",
    ),
    apart(
        "&sig=",
        "signature",
        Class::Base64,
        20,
        "qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3iVb5XyM%3D",
    ),
    apart("X-Amz-Signature=", "signature", Class::Alnum, 32, HEX64),
];

fn anything(_: &[u8]) -> bool {
    true
}

fn has_digit(rest: &[u8]) -> bool {
    rest.iter().any(u8::is_ascii_digit)
}

fn has_dot(rest: &[u8]) -> bool {
    has_digit(rest) && rest.contains(&b'.')
}

fn has_dollar(rest: &[u8]) -> bool {
    rest.contains(&b'$')
}

/// Not `sk-learn-…` nor the class names of a page: one long run with a digit in it.
fn is_sk(rest: &[u8]) -> bool {
    has_digit(rest)
        && rest
            .split(|byte| matches!(byte, b'-' | b'_'))
            .any(|run| run.len() >= 12)
}

fn is_jwt(rest: &[u8]) -> bool {
    let mut parts = rest.split(|byte| *byte == b'.');
    let head = parts.next().is_some_and(|head| head.len() >= 8);
    head && parts.next().is_some_and(|body| body.len() >= 8)
}
