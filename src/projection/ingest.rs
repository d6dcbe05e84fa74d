//! Spools into the event log.
//!
//! The spool is the record until its events are committed: how far it was read is written in the
//! same transaction, and only then is a finished spool deleted. One process ingests at a time;
//! running commands are taken in as far as they have come. A spool that does not read to its end
//! gives what can be read and a gap, and is moved aside to `spool/broken/`.

mod convert;
mod orphan;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use thiserror::Error;

use self::convert::{Converter, Inner, Known, main_stream};
use self::orphan::Orphan;
use crate::capture::home::Home;
use crate::capture::locked;
use crate::capture::spool::{
    self, Gap, Record, SpoolRead, SpoolState, Tail, list_spools, read_spool_part, salvage,
};
use crate::event::{Event, Exit, NewEvent, Stream};
use crate::id::{CommandId, SessionId};
use crate::projection::fold;
use crate::store::{Batch, Spooled, Store, StoreError, make_private_dir};
use crate::time::Micros;

/// Bytes of one spool that are read at a time.
const PART_BYTES: u64 = 8 << 20;
/// Spools whose events share a transaction, and with it one wait for the disk.
const SPOOLS_A_TRANSACTION: usize = 64;
/// How long a reader waits for another process that ingests.
const PATIENCE: Duration = Duration::from_secs(3);
/// A spool that has not got its name after so long never will.
const STILLBORN: Duration = Duration::from_secs(60);

/// What to do while another process ingests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Leave it to that one.
    Skip,
    /// Wait a little, so that what was just recorded is seen.
    Wait,
}

/// What an ingest did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ingested {
    /// Events that went into the log.
    pub events: usize,
    /// Spools that are done with.
    pub finished: usize,
    /// Spools of commands that still run.
    pub running: usize,
    /// Spools that were moved aside or left alone, with the reason.
    pub broken: Vec<(PathBuf, String)>,
    /// Another process was at it, and this one did nothing.
    pub skipped: bool,
    /// Why the read tables could not follow: the log has what was recorded all the same.
    pub behind: Option<String>,
}

/// Why spools could not be taken in.
#[derive(Debug, Error)]
pub enum IngestError {
    /// A spool or its folder cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The store does not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Takes in what waits and brings the read tables up to date. Read tables that cannot follow are
/// reported, not an error.
///
/// Where the store can only be read, this does nothing.
///
/// # Errors
/// When the spool folder cannot be read or the database cannot be written.
pub async fn ingest(
    home: &Home,
    store: &Store,
    patience: Patience,
) -> Result<Ingested, IngestError> {
    let mut report = Ingested::default();
    if store.is_read_only() {
        report.skipped = true;
        return Ok(report);
    }
    let Some(_lock) = lock(home, patience).await? else {
        report.skipped = true;
        return Ok(report);
    };
    let spools = list_spools(home).map_err(|source| IngestError::Read {
        path: home.spool_dir(),
        source,
    })?;
    let mut orphans = Vec::new();
    let (spools, nested) = nested(spools);
    let mut inner = InnerOf::new();
    for (command, path) in nested {
        let mut turn = vec![(command, path)];
        while !turn.is_empty() {
            turn = take_parts(home, store, turn, (&mut report, &mut orphans, &mut inner)).await?;
        }
    }
    for group in spools.chunks(SPOOLS_A_TRANSACTION) {
        let mut turn: Vec<(CommandId, PathBuf)> = group.to_vec();
        while !turn.is_empty() {
            turn = take_parts(home, store, turn, (&mut report, &mut orphans, &mut inner)).await?;
        }
    }
    orphan::take_in(home, store, orphans, &mut report).await?;
    remove_unborn(home);
    // Recording does not depend on what is derived from it.
    if let Err(error) = fold::catch_up(store).await {
        report.behind = Some(error.to_string());
    }
    Ok(report)
}

/// What recorders within a command kept of what it printed.
type InnerOf = HashMap<CommandId, Vec<Inner>>;

/// Spools with the commands they are of.
type Spools = Vec<(CommandId, PathBuf)>;

/// Takes out the spools of recorders within recorders, and those around them: each is taken in after
/// those within it, so that what they share is kept once.
fn nested(spools: Spools) -> (Spools, Spools) {
    let parents: HashMap<CommandId, CommandId> = spools
        .iter()
        .filter_map(|(command, path)| Some((*command, spool::first_record(path)?.parent?)))
        .collect();
    let around: HashSet<CommandId> = parents.values().copied().collect();
    let (mut nested, alone): (Spools, Spools) = spools
        .into_iter()
        .partition(|(command, _)| parents.contains_key(command) || around.contains(command));
    nested.reverse();
    (alone, nested)
}

/// Takes the ingest lock.
pub(super) async fn lock(home: &Home, patience: Patience) -> Result<Option<File>, IngestError> {
    let path = home.path().join("ingest.lock");
    let unreadable = |source| IngestError::Read {
        path: path.clone(),
        source,
    };
    let file = locked::lock_file(&path).map_err(unreadable)?;
    let tries = match patience {
        Patience::Skip => 1,
        Patience::Wait => PATIENCE.as_millis() / 10,
    };
    for attempt in 0..tries {
        if attempt > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(file)),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
            Err(error) => return Err(unreadable(error.into())),
        }
    }
    Ok(None)
}

/// What is to become of a spool once its events are committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Read on: there is more.
    More,
    /// Leave it: its command runs.
    Keep,
    /// Delete it.
    Delete,
    /// Move it aside.
    Aside(&'static str),
    /// Move it aside, and find its place: it does not say whose it is.
    Orphan(&'static str),
    /// Leave it to a newer version.
    Foreign(&'static str),
}

struct Part {
    command: CommandId,
    path: PathBuf,
    fate: Fate,
    /// Held while the spool is deleted, so that nobody begins to write to it.
    lock: Option<File>,
    batch: Option<Batch>,
    /// What it printed, where a recorder ran around it, and which command that recorded.
    kept: Option<(CommandId, Vec<Inner>)>,
}

/// Takes in one part of each spool, in one transaction; gives those that have more.
async fn take_parts(
    home: &Home,
    store: &Store,
    spools: Vec<(CommandId, PathBuf)>,
    (report, orphans, inner): (&mut Ingested, &mut Vec<Orphan>, &mut InnerOf),
) -> Result<Vec<(CommandId, PathBuf)>, IngestError> {
    let mut parts = Vec::with_capacity(spools.len());
    for (command, path) in spools {
        let within = inner.remove(&command);
        match read_part(store, command, &path, within).await {
            Ok(part) => parts.push(part),
            // Another process may have finished it between the list and now.
            Err(IngestError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            Err(IngestError::Read { path, source }) => {
                report.broken.push((path, source.to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    let mut batches: Vec<Batch> = parts
        .iter_mut()
        .filter_map(|part| part.batch.take())
        .collect();
    begin_once(&mut batches);
    let refused = commit(store, batches, report).await?;

    let mut more = Vec::new();
    for mut part in parts {
        if let Some((parent, kept)) = part.kept.take()
            && !refused.contains(&part.command)
        {
            inner.entry(parent).or_default().splice(0..0, kept);
        }
        if refused.contains(&part.command) {
            part.fate = Fate::Aside("its events do not fit the log");
        }
        match part.fate {
            Fate::More => more.push((part.command, part.path)),
            Fate::Keep => report.running += 1,
            Fate::Delete => {
                delete(&part.path)?;
                report.finished += 1;
            }
            Fate::Aside(why) => {
                let aside = move_aside(home, &part.path)?;
                report.broken.push((aside, why.to_owned()));
            }
            Fate::Orphan(why) => orphans.push(Orphan {
                command: part.command,
                path: part.path,
                why,
            }),
            Fate::Foreign(why) => report.broken.push((part.path, why.to_owned())),
        }
        drop(part.lock);
    }
    Ok(more)
}

/// Of several commands that would begin the same session, the first one does.
fn begin_once(batches: &mut [Batch]) {
    let mut begun = HashSet::new();
    for batch in batches {
        let again = !begun.insert(batch.session);
        let begins = |new: &NewEvent| matches!(new.event, Event::SessionStarted { .. });
        if again && batch.events.first().is_some_and(begins) {
            batch.events.remove(0);
        }
    }
}

/// Commits batches together; when they are refused as a whole, one by one. Gives the commands whose
/// events the log does not take.
async fn commit(
    store: &Store,
    batches: Vec<Batch>,
    report: &mut Ingested,
) -> Result<Vec<CommandId>, IngestError> {
    let count = |batch: &Batch| batch.events.len();
    let total: usize = batches.iter().map(count).sum();
    if batches.is_empty() {
        return Ok(Vec::new());
    }
    match store.append_all(batches.clone()).await {
        Ok(_) => {
            report.events += total;
            Ok(Vec::new())
        }
        Err(StoreError::Database { .. } | StoreError::Exists { .. }) => {
            let mut refused = Vec::new();
            for batch in batches {
                let events = count(&batch);
                let command = batch.events.iter().find_map(|new| new.event.command());
                match store.append_all(vec![batch]).await {
                    Ok(_) => report.events += events,
                    Err(StoreError::Database { .. } | StoreError::Exists { .. }) => {
                        refused.extend(command);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(refused)
        }
        Err(error) => Err(error.into()),
    }
}

async fn read_part(
    store: &Store,
    command: CommandId,
    path: &Path,
    within: Option<Vec<Inner>>,
) -> Result<Part, IngestError> {
    let name = command.to_string();
    let (from, was_done) = store
        .ingested(&name)
        .await?
        .map_or((0, false), |spooled| (spooled.offset_bytes, spooled.done));
    let unreadable = |source| IngestError::Read {
        path: path.to_owned(),
        source,
    };
    let mut read = read_spool_part(path, from, PART_BYTES).map_err(unreadable)?;
    let mut part = Part {
        command,
        path: path.to_owned(),
        fate: Fate::Keep,
        lock: None,
        batch: None,
        kept: None,
    };
    if let Tail::Corrupt { at: 0, why } = read.tail {
        part.fate = if why.contains("newer") {
            Fate::Foreign(why)
        } else {
            Fate::Orphan(why)
        };
        return Ok(part);
    }
    if let Tail::Corrupt { at, why } = read.tail
        && read.state != SpoolState::Running
    {
        behind(path, at, why, &mut read).map_err(unreadable)?;
    }

    let Some(known) = known(store, command, &read).await? else {
        part.fate = without_start(path, &read);
        return Ok(part);
    };
    let mut converter = Converter::new(known);
    converter.share(within.unwrap_or_default());
    let mut parent = None;
    if let Some((_, Record::Start(start))) = read.records.first() {
        // More than a part at once is not held in memory.
        parent = start.parent.filter(|_| !read.more);
        converter.kept = parent.map(|_| Vec::new());
        if !start.automatic && !store.has_session(start.session).await? {
            converter.events.push(NewEvent::bare(
                start.at,
                Event::SessionStarted {
                    title: None,
                    automatic: false,
                    relative_time: false,
                },
            ));
        }
        converter.start(start);
    }
    for (_, record) in &read.records {
        converter.take(record);
    }
    (part.fate, part.lock) = finish(path, &read, was_done, &mut converter).map_err(unreadable)?;
    converter.flush();
    part.kept = parent.zip(converter.kept.take());

    let done = matches!(part.fate, Fate::Delete | Fate::Aside(_));
    if !converter.events.is_empty() || read.next_offset > from {
        part.batch = Some(Batch {
            session: converter.known.session,
            events: converter.events,
            from: Some(Spooled {
                spool: name,
                offset_bytes: read.next_offset,
                done,
            }),
        });
    }
    Ok(part)
}

/// Adds what still reads behind damage, with a gap for what does not.
fn behind(path: &Path, at: u64, why: &str, read: &mut SpoolRead) -> io::Result<()> {
    let stream = read
        .records
        .iter()
        .rev()
        .find_map(|(_, record)| match record {
            Record::Output(output) => Some(output.stream),
            Record::Start(start) => Some(main_stream(start.terminals.stdout)),
            _ => None,
        });
    let found = salvage(path, at, why, stream.unwrap_or(Stream::Stdout))?;
    read.records.extend(found.records);
    read.next_offset = found.next_offset;
    Ok(())
}

/// What is known of the command: from its first record, or from the log when that was read before.
async fn known(
    store: &Store,
    command: CommandId,
    read: &SpoolRead,
) -> Result<Option<Known>, IngestError> {
    if let Some((_, Record::Start(start))) = read.records.first() {
        return Ok(Some(Known::from_start(start)));
    }
    let Some(started) = store.started(command).await? else {
        return Ok(None);
    };
    let stdout_is_terminal = match &started.event {
        Event::CommandStarted { terminals, .. } => terminals.is_some_and(|all| all.stdout),
        _ => false,
    };
    let mut known = Known {
        command,
        session: started.session,
        at: started.at,
        ends: HashMap::new(),
        main_stream: main_stream(stdout_is_terminal),
        ended: store.has_ended(command).await?,
        newest_us: 0,
    };
    for (_, record) in &read.records {
        let stream = match record {
            Record::Output(output) => output.stream,
            Record::Gap(gap) => gap.stream,
            _ => continue,
        };
        if let Entry::Vacant(vacant) = known.ends.entry(stream) {
            vacant.insert(store.stream_end(command, stream).await?);
        }
    }
    Ok(Some(known))
}

/// A spool without a first record. It got its name when that was written, so something else took it.
fn without_start(path: &Path, read: &SpoolRead) -> Fate {
    if read.state == SpoolState::Running {
        return Fate::Keep;
    }
    match &read.tail {
        Tail::Corrupt { why, .. } => Fate::Orphan(why),
        Tail::Cut { .. } if fs::metadata(path).is_ok_and(|meta| meta.len() > 0) => {
            Fate::Orphan("it was cut short")
        }
        Tail::Cut { .. } | Tail::Clean => Fate::Orphan("it is empty"),
    }
}

/// Removes spools that never got their first record: their recorders died before they started
/// anything.
fn remove_unborn(home: &Home) {
    for entry in fs::read_dir(home.spool_dir())
        .into_iter()
        .flatten()
        .flatten()
    {
        let path = entry.path();
        let old = entry
            .metadata()
            .and_then(|meta| meta.modified())
            .is_ok_and(|time| time.elapsed().is_ok_and(|age| age > STILLBORN));
        if old && path.extension().is_some_and(|ending| ending == "new") {
            fs::remove_file(&path).ok();
        }
    }
}

/// Decides what becomes of a spool that was read, and adds what its end means.
fn finish(
    path: &Path,
    read: &SpoolRead,
    was_done: bool,
    converter: &mut Converter,
) -> io::Result<(Fate, Option<File>)> {
    if read.more {
        return Ok((Fate::More, None));
    }
    let corrupt = match read.tail {
        Tail::Corrupt { why, .. } => Some(why),
        Tail::Clean | Tail::Cut { .. } => None,
    };
    if read.state == SpoolState::Running && corrupt.is_none() {
        return Ok((Fate::Keep, None));
    }
    // Its writer is gone, or has nothing more to say. Whoever still holds it (a shim that forwards
    // what the command left behind) keeps it.
    let file = OpenOptions::new().read(true).append(true).open(path)?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK)
    {
        return Ok((Fate::Keep, None));
    }
    let len = file.metadata()?.len();
    let left = len.saturating_sub(read.next_offset);
    if left > 0 && corrupt.is_none() && read.tail == Tail::Clean {
        // Something was written after the read: read on.
        return Ok((Fate::More, None));
    }
    // Done before, and only the file was left behind: its end is on record.
    if left > 0 && !was_done {
        let stream = converter.known.main_stream;
        converter.gap(&Gap {
            stream,
            bytes: left,
            reason: corrupt.map_or_else(
                || "the recorder died while it wrote this".to_owned(),
                |why| format!("the record is damaged: {why}"),
            ),
        });
    }
    if !was_done {
        converter.end(Exit::Lost, None);
    }
    let fate = corrupt.map_or(Fate::Delete, Fate::Aside);
    Ok((fate, Some(file)))
}

fn delete(path: &Path) -> Result<(), IngestError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(IngestError::Read {
            path: path.to_owned(),
            source: error,
        }),
        _ => Ok(()),
    }
}

fn move_aside(home: &Home, path: &Path) -> Result<PathBuf, IngestError> {
    let folder = home.broken_dir();
    make_private_dir(&folder)?;
    let to = folder.join(path.file_name().unwrap_or_default());
    fs::rename(path, &to).map_err(|source| IngestError::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(to)
}

/// When the oldest waiting spool was last written, and how many wait: what decides whether a
/// recorder starts an ingest as it leaves. Cheap: one folder is listed.
pub fn waiting(home: &Home) -> (usize, Option<Micros>) {
    let spools = list_spools(home).unwrap_or_default();
    let oldest = spools
        .first()
        .and_then(|(_, path)| fs::metadata(path).ok())
        .and_then(|meta| meta.modified().ok())
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .and_then(|since| i64::try_from(since.as_micros()).ok())
        .map(Micros);
    (spools.len(), oldest)
}

/// The numbers of a session's commands whose records wait.
pub fn numbers_waiting(home: &Home, session: SessionId) -> Vec<u32> {
    let spools = list_spools(home).unwrap_or_default();
    let starts = spools
        .iter()
        .filter_map(|(_, path)| spool::first_record(path));
    starts
        .filter(|start| start.session == session)
        .map(|start| start.number)
        .collect()
}

#[cfg(test)]
mod tests;
