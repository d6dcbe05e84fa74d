//! A step of a case file as written: its keys, and what may stand behind them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use crate::event::{Exit, Stream};

/// The keys of a step that are read.
const KEYS: [&str; 9] = [
    "at", "took", "command", "host", "exit", "stdout", "stderr", "tty", "chunks",
];

/// One command of a case.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) at: Option<f64>,
    pub(super) took: Option<f64>,
    pub(super) command: Option<String>,
    pub(super) host: Option<String>,
    pub(super) exit: Option<Exit>,
    pub(super) stdout: Option<String>,
    pub(super) stderr: Option<String>,
    pub(super) tty: Option<String>,
    pub(super) chunks: Option<Vec<Chunk>>,
    /// Keys that are not read and nearly one that is: slips, most likely, with the key meant.
    pub(super) slips: Vec<(String, &'static str)>,
}

/// A part of the output, with its time.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) at: f64,
    pub(super) stream: Stream,
    pub(super) text: String,
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(StepVisitor)
    }
}

struct StepVisitor;

impl<'de> Visitor<'de> for StepVisitor {
    type Value = Step;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a step with its keys (`command`, `exit`, `stdout`, …)")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Step, A::Error> {
        let mut step = Step::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "at" => step.at = map.next_value()?,
                "took" => step.took = map.next_value()?,
                "command" => step.command = map.next_value()?,
                "host" => step.host = map.next_value()?,
                "exit" => step.exit = map.next_value::<Option<StepExit>>()?.map(|exit| exit.0),
                "stdout" => step.stdout = map.next_value()?,
                "stderr" => step.stderr = map.next_value()?,
                "tty" => step.tty = map.next_value()?,
                "chunks" => step.chunks = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    if let Some(meant) = nearly(&key) {
                        step.slips.push((key, meant));
                    }
                }
            }
        }
        Ok(step)
    }
}

/// The key that somebody most likely meant.
fn nearly(key: &str) -> Option<&'static str> {
    let lower = key.to_ascii_lowercase();
    KEYS.iter()
        .find(|known| match known.len() {
            // Too short for a slip to be told from another word.
            0..=3 => lower == **known && key != **known,
            4 => strsim::osa_distance(&lower, known) <= 1,
            _ => strsim::osa_distance(&lower, known) <= 2,
        })
        .copied()
}

/// How a step ended: a number, `{signal: N}` and the like.
struct StepExit(Exit);

impl<'de> Deserialize<'de> for StepExit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExitVisitor)
    }
}

const EXITS: &str =
    "`exit` is a number from 0 to 255, `{signal: N}`, `{running: true}` or `{lost: true}`";

struct ExitVisitor;

impl<'de> Visitor<'de> for ExitVisitor {
    type Value = StepExit;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXITS)
    }

    fn visit_i64<E: Error>(self, code: i64) -> Result<StepExit, E> {
        u8::try_from(code)
            .map(|code| StepExit(Exit::Code(i32::from(code))))
            .map_err(|_| E::custom(format!("{EXITS}, not {code}")))
    }

    fn visit_u64<E: Error>(self, code: u64) -> Result<StepExit, E> {
        self.visit_i64(i64::try_from(code).unwrap_or(i64::MAX))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<StepExit, E> {
        match text.trim().parse::<i64>() {
            Ok(code) => self.visit_i64(code),
            Err(_) => Err(E::custom(format!("{EXITS}, not `{text}`"))),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<StepExit, A::Error> {
        let mut exit = None;
        while let Some(key) = map.next_key::<String>()? {
            exit = Some(match key.as_str() {
                "code" => self::ExitVisitor.visit_i64(map.next_value()?)?.0,
                "signal" => match map.next_value::<i64>()? {
                    number @ 1..=64 => Exit::Signal(i32::try_from(number).unwrap_or(1)),
                    number => {
                        let text = format!("there is no signal {number}: it is 1 to 64");
                        return Err(A::Error::custom(text));
                    }
                },
                "stopped" => Exit::Stopped(map.next_value()?),
                "running" if map.next_value::<bool>()? => Exit::Running,
                "lost" if map.next_value::<bool>()? => Exit::Lost,
                _ => return Err(A::Error::custom(EXITS)),
            });
        }
        exit.map(StepExit).ok_or_else(|| A::Error::custom(EXITS))
    }
}

impl<'de> Deserialize<'de> for Chunk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ChunkVisitor)
    }
}

struct ChunkVisitor;

impl<'de> Visitor<'de> for ChunkVisitor {
    type Value = Chunk;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a chunk `{at: SECONDS, stream: stdout, text: …}`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Chunk, A::Error> {
        let (mut at, mut stream, mut text) = (None, None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "at" => at = Some(map.next_value()?),
                "stream" => {
                    let name: String = map.next_value()?;
                    stream = Some(match name.as_str() {
                        "stdout" => Stream::Stdout,
                        "stderr" => Stream::Stderr,
                        "tty" => Stream::Tty,
                        _ => {
                            let text = format!("`stream` is stdout, stderr or tty, not `{name}`");
                            return Err(A::Error::custom(text));
                        }
                    });
                }
                "text" => text = Some(map.next_value()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        match (at, stream, text) {
            (Some(at), Some(stream), Some(text)) => Ok(Chunk { at, stream, text }),
            _ => Err(A::Error::custom(
                "a chunk needs `at` (seconds), `stream` and `text`",
            )),
        }
    }
}
