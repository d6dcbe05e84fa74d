//! A command's output, put together from the pieces it came in.

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
        let mut pieces = self.output_pieces(command).await?;
        pieces.sort_by_key(|piece| (piece.stream, piece.offset_bytes));
        let ids: Vec<ContentId> = pieces.iter().map(|piece| piece.content).collect();
        let mut contents = self.contents(&ids).await?;
        let mut streams = Streams::new();
        for piece in pieces {
            let Some(bytes) = contents.remove(&piece.content) else {
                continue;
            };
            match streams.last_mut() {
                Some((stream, so_far)) if *stream == piece.stream => {
                    so_far.extend_from_slice(&bytes);
                }
                _ => streams.push((piece.stream, bytes)),
            }
        }
        Ok(streams)
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
