//! Events to and from the bodies the log stores, by type and version.
//!
//! A body is JSON. One written by an older program is brought up to date here, when it is read
//! (upcast); nothing in the log is ever rewritten.

use thiserror::Error;

use super::Event;

/// A body that cannot be read as an event.
#[derive(Debug, Error)]
pub enum BadBody {
    /// Written by a newer program.
    #[error("event type `{kind}` version {version} is not known to this version of rec")]
    Unknown {
        /// The type.
        kind: String,
        /// Its version.
        version: u32,
    },
    /// Not the JSON it should be.
    #[error("the body of a `{kind}` event does not read")]
    Malformed {
        /// The type.
        kind: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

impl Event {
    /// Reads a body that was stored under a type and a version.
    ///
    /// # Errors
    /// When the type or version is not known here, or the body is not what it says.
    pub fn decode(kind: &str, version: u32, body: &str) -> Result<Self, BadBody> {
        // Upcasting from older versions goes here, as a step from each version to the next.
        if version != 1 {
            return Err(BadBody::Unknown {
                kind: kind.to_owned(),
                version,
            });
        }
        let malformed = |source| BadBody::Malformed {
            kind: kind.to_owned(),
            source,
        };
        match serde_json::from_str::<Self>(body) {
            Ok(event) if event.kind() == kind => Ok(event),
            Ok(_) => Err(malformed(serde::de::Error::custom(
                "type and body disagree",
            ))),
            Err(error) if error.to_string().starts_with("unknown variant") => {
                Err(BadBody::Unknown {
                    kind: kind.to_owned(),
                    version,
                })
            }
            Err(error) => Err(malformed(error)),
        }
    }

    /// Writes the body.
    ///
    /// # Errors
    /// Never for events this program makes; serde's type says it may.
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// Chunk marks as a flat list of steps: `[bytes, µs, bytes, µs, …]`, each pair counted from the one
/// before. A line-by-line log has a mark a line; written out in full they would outweigh it.
pub(super) mod marks {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::event::ChunkMark;

    pub(in crate::event) fn serialize<S: Serializer>(
        marks: &[ChunkMark],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut steps = Vec::with_capacity(marks.len() * 2);
        let (mut offset, mut after) = (0_i64, 0_i64);
        for mark in marks {
            let here = i64::try_from(mark.offset_bytes).unwrap_or(i64::MAX);
            steps.push(here.saturating_sub(offset));
            steps.push(mark.after_us.saturating_sub(after));
            (offset, after) = (here, mark.after_us);
        }
        steps.serialize(serializer)
    }

    pub(in crate::event) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<ChunkMark>, D::Error> {
        let steps = Vec::<i64>::deserialize(deserializer)?;
        if !steps.len().is_multiple_of(2) {
            return Err(serde::de::Error::custom("chunks come in pairs"));
        }
        let (mut offset, mut after) = (0_i64, 0_i64);
        steps
            .as_chunks::<2>()
            .0
            .iter()
            .map(|[bytes, us]| {
                offset = offset.saturating_add(*bytes);
                after = after.saturating_add(*us);
                Ok(ChunkMark {
                    offset_bytes: u64::try_from(offset)
                        .map_err(|_| serde::de::Error::custom("a chunk begins before 0"))?,
                    after_us: after,
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{ChunkMark, ContentRef, Stream};
    use crate::id::{CommandId, ContentId};

    fn output() -> Event {
        Event::OutputRecorded {
            command: CommandId::new(),
            stream: Stream::Tty,
            offset_bytes: 10,
            content: ContentRef {
                id: ContentId::new(),
                len_bytes: 30,
                salted_hash: String::new(),
            },
            chunks: vec![
                ChunkMark {
                    offset_bytes: 10,
                    after_us: 100,
                },
                ChunkMark {
                    offset_bytes: 25,
                    after_us: 350,
                },
            ],
        }
    }

    #[test]
    fn a_body_reads_back() {
        let event = output();
        let body = event.encode().unwrap();
        assert!(body.contains(r#""chunks":[10,100,15,250]"#), "{body}");
        assert_eq!(Event::decode(event.kind(), 1, &body).unwrap(), event);
    }

    #[test]
    fn what_is_newer_is_said_to_be_unknown() {
        let body = r#"{"event":"moon_landed"}"#;
        assert!(matches!(
            Event::decode("moon_landed", 1, body),
            Err(BadBody::Unknown { .. })
        ));
        let ended = Event::SessionEnded {}.encode().unwrap();
        assert!(matches!(
            Event::decode("session_ended", 2, &ended),
            Err(BadBody::Unknown { version: 2, .. })
        ));
        assert!(matches!(
            Event::decode("note_added", 1, &ended),
            Err(BadBody::Malformed { .. })
        ));
    }
}
