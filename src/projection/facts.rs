//! Facts from output: read when a session is looked at, kept, and read again when the output grew
//! or the reader changed.

use crate::event::Stream;
use crate::id::SessionId;
use crate::probe::{self, Look};
use crate::shell;
use crate::store::{NewReading, Page, ReadCommand, Store, StoreError, Streams};

/// Which reader this program is: a digest of the sources that turn lines and output into facts, so
/// that a change in any of them reads everything again.
pub const READER: &str = env!("CASEBOOK_READER");

/// Commands whose readings go into one transaction.
const BATCH: usize = 256;

/// Reads what has not been read of a session's output.
///
/// The read tables must have caught up ([`super::fold::catch_up`]).
///
/// # Errors
/// When the database does not answer or cannot be written.
pub async fn refresh(store: &Store, session: SessionId) -> Result<(), StoreError> {
    let unread = store.unread_commands(session, READER).await?;
    for batch in unread.chunks(BATCH) {
        let mut readings = Vec::with_capacity(batch.len());
        for command in batch {
            readings.push(read(store, command).await?);
        }
        store.save_readings(READER, &readings).await?;
    }
    Ok(())
}

/// Reads what has not been read of any session's output.
///
/// # Errors
/// As [`refresh`].
pub async fn refresh_all(store: &Store) -> Result<(), StoreError> {
    for session in store.sessions(Page::ALL).await? {
        refresh(store, session.id).await?;
    }
    Ok(())
}

async fn read(store: &Store, command: &ReadCommand) -> Result<NewReading, StoreError> {
    let line = store.content(command.line).await?.unwrap_or_default();
    let streams = store.outputs(command.id).await?;
    Ok(read_output(
        command,
        &String::from_utf8_lossy(&line),
        &streams,
    ))
}

fn read_output(command: &ReadCommand, line: &str, streams: &Streams) -> NewReading {
    let tree = shell::parse(line);
    let borrowed: Vec<(Stream, &[u8])> = streams
        .iter()
        .map(|(stream, bytes)| (*stream, bytes.as_slice()))
        .collect();
    let reading = probe::read(&Look {
        tree: &tree,
        host: &command.host,
        exit: command.exit,
        streams: &borrowed,
    });
    NewReading {
        command: command.id,
        session: command.session,
        seq: command.seq,
        facts: reading.facts,
        complaints: serde_json::to_value(reading.complaints).unwrap_or_default(),
        unclaimed: serde_json::to_value(reading.unclaimed).unwrap_or_default(),
    }
}
