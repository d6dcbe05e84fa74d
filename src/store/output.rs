//! A command's output, put together from the pieces it came in.

use std::collections::HashMap;

use sqlx::FromRow;

use super::content::Row;
use super::{Store, StoreError};
use crate::event::{ChunkMark, Event, Stream};
use crate::id::{CommandId, ContentId};

/// A piece of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The stream.
    pub stream: Stream,
    /// Where it begins in the stored stream, in bytes.
    pub offset_bytes: u64,
    /// Its length in bytes.
    pub len_bytes: u64,
    /// Its bytes' content.
    pub content: ContentId,
    /// When its parts came.
    pub chunks: Vec<ChunkMark>,
}

/// A command's output, the streams that have any, in the order stdout, stderr, tty.
pub type Streams = Vec<(Stream, Vec<u8>)>;

#[derive(FromRow)]
struct Printed {
    command: String,
    stream: String,
    #[sqlx(flatten)]
    content: Row,
}

fn stream_of(name: &str) -> Option<Stream> {
    [Stream::Stdout, Stream::Stderr, Stream::Tty]
        .into_iter()
        .find(|stream| stream.name() == name)
}

impl Store {
    /// The pieces of a command's output in the order they came, without their bytes.
    ///
    /// # Errors
    /// When an event does not read or the database does not answer.
    pub async fn output_pieces(&self, command: CommandId) -> Result<Vec<Piece>, StoreError> {
        Ok(self
            .load_command(command)
            .await?
            .into_iter()
            .filter_map(|envelope| match envelope.event {
                Event::OutputRecorded {
                    stream,
                    offset_bytes,
                    content,
                    chunks,
                    ..
                } => Some(Piece {
                    stream,
                    offset_bytes,
                    len_bytes: content.len_bytes,
                    content: content.id,
                    chunks,
                }),
                _ => None,
            })
            .collect())
    }

    /// All of one stream of a command. What was erased is left out.
    ///
    /// # Errors
    /// As [`Store::output_pieces`].
    pub async fn output(&self, command: CommandId, stream: Stream) -> Result<Vec<u8>, StoreError> {
        Ok(self
            .outputs(command)
            .await?
            .into_iter()
            .find(|(found, _)| *found == stream)
            .map(|(_, bytes)| bytes)
            .unwrap_or_default())
    }

    /// All streams of a command. What was erased is left out.
    ///
    /// # Errors
    /// As [`Store::output_pieces`].
    pub async fn outputs(&self, command: CommandId) -> Result<Streams, StoreError> {
        Ok(self
            .outputs_of(&[command])
            .await?
            .remove(&command)
            .unwrap_or_default())
    }

    /// All streams of several commands; those that printed nothing are left out. The caller sees to
    /// it that they fit in memory.
    ///
    /// # Errors
    /// As [`Store::output_pieces`].
    pub async fn outputs_of(
        &self,
        commands: &[CommandId],
    ) -> Result<HashMap<CommandId, Streams>, StoreError> {
        let list = serde_json::to_string(commands).unwrap_or_default();
        // Indexes: events_command, then the contents' primary key.
        let rows: Vec<Printed> = sqlx::query_as(
            "select e.command, e.body ->> '$.stream' as stream,
                    c.id, c.kind, c.len_bytes, c.codec, c.salt, c.bytes
             from json_each(?) as wanted
             join events as e on e.command = wanted.value and e.kind = 'output_recorded'
             join contents as c on c.id = e.body ->> '$.content.id'
             order by e.command, stream, e.body ->> '$.offset_bytes'",
        )
        .bind(list)
        .fetch_all(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        let mut outputs: HashMap<CommandId, Streams> = HashMap::new();
        for row in rows {
            let bad = || StoreError::BadRow {
                what: format!("output of command {}", row.command),
            };
            let command: CommandId = row.command.parse().map_err(|_| bad())?;
            let stream = stream_of(&row.stream).ok_or_else(bad)?;
            let Some((_salt, bytes)) = row.content.read()?.kept else {
                continue;
            };
            let streams = outputs.entry(command).or_default();
            match streams.iter_mut().find(|(found, _)| *found == stream) {
                Some((_, so_far)) => so_far.extend_from_slice(&bytes),
                None => streams.push((stream, bytes)),
            }
        }
        for streams in outputs.values_mut() {
            streams.sort_by_key(|(stream, _)| *stream);
        }
        Ok(outputs)
    }

    /// Bytes `from..to` of one stream of a command, as far as they are there: what a quote needs,
    /// without the rest of a long output.
    ///
    /// # Errors
    /// As [`Store::output_pieces`].
    pub async fn output_range(
        &self,
        command: CommandId,
        stream: Stream,
        from: u64,
        to: u64,
    ) -> Result<Vec<u8>, StoreError> {
        let mut wanted = Vec::new();
        for piece in self.output_pieces(command).await? {
            let (begin, end) = (piece.offset_bytes, piece.offset_bytes + piece.len_bytes);
            if piece.stream != stream || end <= from || to <= begin {
                continue;
            }
            let Some(bytes) = self.content(piece.content).await? else {
                continue;
            };
            let first = usize::try_from(from.saturating_sub(begin)).unwrap_or(usize::MAX);
            let last = usize::try_from(to - begin)
                .unwrap_or(usize::MAX)
                .min(bytes.len());
            wanted.extend_from_slice(bytes.get(first..last).unwrap_or(&[]));
        }
        Ok(wanted)
    }

    /// Where the next byte of a stream of a command belongs, in bytes.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn stream_end(&self, command: CommandId, stream: Stream) -> Result<u64, StoreError> {
        // Index: events_command, from its end.
        let end: Option<i64> = sqlx::query_scalar(
            "select (body ->> '$.offset_bytes') + (body ->> '$.content.len_bytes') from events
             where command = ? and kind = 'output_recorded' and body ->> '$.stream' = ?
             order by seq desc limit 1",
        )
        .bind(command.to_string())
        .bind(stream.name())
        .fetch_optional(&self.pool)
        .await
        .map_err(|error| self.error(error))?;
        Ok(u64::try_from(end.unwrap_or(0)).unwrap_or(0))
    }
}
