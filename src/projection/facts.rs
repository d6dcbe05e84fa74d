//! Facts from output: read when a session is looked at, kept, and read again when the output grew
//! or the reader changed.

use crate::event::Stream;
use crate::id::{CommandId, ContentId, SessionId};
use crate::probe::{self, Look};
use crate::projection::parallel;
use crate::shell;
use crate::store::{NewReading, Page, ReadCommand, Store, StoreError};

/// Which reader this program is: a digest of the sources that turn lines and output into facts, so
/// that a change in any of them reads everything again.
pub const READER: &str = env!("CASEBOOK_READER");

/// Commands whose readings go into one transaction, at most.
const BATCH: usize = 512;
/// Output that is held in memory while they are read, about.
const BATCH_BYTES: u64 = 32 << 20;

/// Reads what has not been read of a session's output.
///
/// The read tables must have caught up ([`super::fold::catch_up`]).
///
/// # Errors
/// When the database does not answer or cannot be written.
pub async fn refresh(store: &Store, session: SessionId) -> Result<(), StoreError> {
    let unread = store.unread_commands(session, READER).await?;
    let mut rest = unread.as_slice();
    while !rest.is_empty() {
        let (batch, after) = rest.split_at(batch_len(rest));
        rest = after;
        let readings = read(store, batch).await?;
        store.save_readings(READER, &readings).await?;
    }
    Ok(())
}

/// How many of these commands make a batch: at least one.
fn batch_len(commands: &[ReadCommand]) -> usize {
    let mut bytes = 0;
    commands
        .iter()
        .take(BATCH)
        .take_while(|command| {
            let fits = bytes < BATCH_BYTES;
            bytes += command.bytes;
            fits
        })
        .count()
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

async fn read(store: &Store, batch: &[ReadCommand]) -> Result<Vec<NewReading>, StoreError> {
    let lines: Vec<ContentId> = batch.iter().map(|command| command.line).collect();
    let lines = store.contents(&lines).await?;
    let commands: Vec<CommandId> = batch.iter().map(|command| command.id).collect();
    let outputs = store.outputs_of(&commands).await?;
    Ok(parallel::map(batch, |command| {
        let line = lines.get(&command.line).map_or(&[][..], Vec::as_slice);
        let streams = outputs.get(&command.id).map_or(&[][..], Vec::as_slice);
        read_output(command, &String::from_utf8_lossy(line), streams)
    }))
}

fn read_output(command: &ReadCommand, line: &str, streams: &[(Stream, Vec<u8>)]) -> NewReading {
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
