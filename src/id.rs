//! Identities: newtypes over UUID v7, and the text form people type.
//!
//! An id is written as a type letter, a dash and 26 characters of lower-case Crockford base32. The
//! random half of the UUID comes first, so that a few characters after the letter are enough to
//! name one (`c-7k3m9q2x`); the time half follows, so that nothing is lost. Ids are global: nothing
//! here assumes one machine.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;
use uuid::Uuid;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const TEXT_LEN: usize = 26;
/// Characters of an id that the terminal shows after its type letter.
const SHORT_LEN: usize = 8;

/// A text that is no id of the kind asked for.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("`{text}` is not a {kind} id (expected `{letter}-` and 26 characters)")]
pub struct BadId {
    /// What was given.
    pub text: String,
    /// The kind that was asked for: session, command, event, finding, content.
    pub kind: &'static str,
    /// The type letter of that kind.
    pub letter: char,
}

fn encode(uuid: Uuid) -> String {
    // Rotated by half: random bits first (see the module's comment).
    let mut bits = uuid.as_u128().rotate_left(64);
    let mut out = [0_u8; TEXT_LEN];
    for slot in out.iter_mut().rev() {
        *slot = ALPHABET[(bits & 31) as usize];
        bits >>= 5;
    }
    out.iter().map(|byte| char::from(*byte)).collect()
}

fn decode(text: &str) -> Option<Uuid> {
    if text.len() != TEXT_LEN {
        return None;
    }
    let mut bits: u128 = 0;
    for (place, byte) in text.bytes().enumerate() {
        let value = ALPHABET
            .iter()
            .position(|known| *known == byte.to_ascii_lowercase())?;
        if place == 0 && value > 7 {
            return None; // 26 × 5 = 130 bits: the first character carries three
        }
        bits = (bits << 5) | value as u128;
    }
    Some(Uuid::from_u128(bits.rotate_right(64)))
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $letter:literal, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// The letter its text form begins with.
            pub const LETTER: char = $letter;

            /// Makes a new one, from the time and fresh randomness.
            #[expect(clippy::new_without_default, reason = "a default id would hide randomness")]
            ///
            /// Without a counter in its random half: ids of one millisecond differ from their first
            /// characters on, which is what people type. Order is never read off an id.
            pub fn new() -> Self {
                // A clock that stands before 1970 counts as standing there.
                let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
                let (seconds, nanoseconds) = (since.as_secs(), since.subsec_nanos());
                Self(Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanoseconds)))
            }

            /// Takes an existing UUID.
            pub fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The UUID within.
            pub fn uuid(self) -> Uuid {
                self.0
            }

            /// When it was made, in milliseconds since 1970; none for a UUID without a time.
            pub fn made_ms(self) -> Option<i64> {
                let (seconds, nanoseconds) = self.0.get_timestamp()?.to_unix();
                let seconds = i64::try_from(seconds).ok()?;
                Some(seconds.checked_mul(1_000)?.saturating_add(i64::from(nanoseconds / 1_000_000)))
            }

            /// The shortened form a terminal shows: the letter, a dash and eight characters.
            pub fn short(self) -> String {
                let mut text = self.to_string();
                text.truncate(2 + SHORT_LEN);
                text
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}-{}", $letter, encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                let bad = || BadId { text: text.to_owned(), kind: $kind, letter: $letter };
                let rest = text.strip_prefix(concat!($letter, "-")).ok_or_else(bad)?;
                decode(rest).map(Self).ok_or_else(bad)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// A session: one investigation.
    SessionId, 's', "session"
);
id!(
    /// A command: one recorded execution.
    CommandId, 'c', "command"
);
id!(
    /// An event in the log.
    EventId, 'e', "event"
);
id!(
    /// A piece of content (output, a command line, a note, a title) kept beside the log.
    ContentId, 'b', "content"
);
id!(
    /// A finding: made from its playbook, scope and anchor, so that it survives a rebuild.
    FindingId, 'f', "finding"
);

impl FindingId {
    /// Derives the identity of a finding from what defines it.
    ///
    /// The same playbook, scope key and anchor give the same id over rebuilds, late imports and new
    /// versions of the playbook.
    pub fn derive(playbook: &str, scope_key: &str, anchor: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in [playbook, scope_key, anchor] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let mut bytes = [0_u8; 16];
        bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(Uuid::from_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips_and_starts_random() {
        let id = CommandId::new();
        assert_eq!(id.to_string().parse::<CommandId>(), Ok(id));
        assert_ne!(id.short(), CommandId::new().short());
    }

    #[test]
    fn wrong_kind_and_wrong_length_are_refused() {
        let id = CommandId::new().to_string();
        assert!(id.parse::<SessionId>().is_err());
        assert!("c-".parse::<CommandId>().is_err());
        assert!("c-zzzzzzzzzzzzzzzzzzzzzzzzzz".parse::<CommandId>().is_err());
    }

    #[test]
    fn finding_identity_is_stable_and_separates_its_parts() {
        let one = FindingId::derive("a", "b", "c");
        assert_eq!(one, FindingId::derive("a", "b", "c"));
        assert_ne!(
            FindingId::derive("ab", "", "c"),
            FindingId::derive("a", "b", "c")
        );
    }
}
