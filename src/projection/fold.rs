//! Events to rows of the read tables.

use std::collections::HashMap;

use crate::event::{Envelope, Event, Exit};
use crate::id::{CommandId, ContentId, SessionId};
use crate::projection::parallel;
use crate::shell::{self, Tree};
use crate::store::{Change, CommandBegan, Store, StoreError};
use crate::time::Micros;

/// Events a transaction folds at most: enough that its cost does not count, few enough that a
/// recorder waiting to write does not notice.
const BATCH: u32 = 2_000;

/// Brings the read tables up to the newest event.
///
/// # Errors
/// When an event does not read, or the database cannot be written.
pub async fn catch_up(store: &Store) -> Result<(), StoreError> {
    loop {
        let from = store.read_tables_at().await?;
        let Some((to, changes)) = changes_after(store, from).await? else {
            return Ok(());
        };
        // When another process was quicker, the next round starts where it left off.
        store.apply(from, to, &changes).await?;
    }
}

/// Makes the read tables anew from the first event to the newest, in one transaction: others see the
/// old ones until they see the new ones.
///
/// # Errors
/// As [`catch_up`]; then the old ones are left.
pub async fn again(store: &Store) -> Result<(), StoreError> {
    let mut anew = store.begin_anew().await?;
    let mut from = 0;
    while let Some((to, changes)) = changes_after(store, from).await? {
        anew.apply(to, &changes).await?;
        from = to;
    }
    anew.commit().await
}

/// What the next events change, and the last one's place; none where there are no more.
async fn changes_after(store: &Store, from: i64) -> Result<Option<(i64, Vec<Change>)>, StoreError> {
    let events = store.events_after(from, BATCH).await?;
    let Some(last) = events.last() else {
        return Ok(None);
    };
    let lines = lines_of(store, &events).await?;
    let mut changes = Vec::new();
    for envelope in &events {
        fold(envelope, &lines, store, &mut changes).await?;
    }
    changes.extend(touched(&events));
    Ok(Some((last.seq, changes)))
}

/// What a command's row says of its line.
#[derive(Clone)]
struct Known {
    target_host: Option<String>,
    programs: String,
}

/// Reads the lines of the commands that begin here, each once.
async fn lines_of(
    store: &Store,
    events: &[Envelope],
) -> Result<HashMap<ContentId, Known>, StoreError> {
    let ids: Vec<ContentId> = events
        .iter()
        .filter_map(|envelope| match &envelope.event {
            Event::CommandStarted { line, .. } => Some(line.id),
            _ => None,
        })
        .collect();
    let contents = store.contents(&ids).await?;
    let mut lines: Vec<&[u8]> = contents.values().map(Vec::as_slice).collect();
    lines.sort_unstable();
    lines.dedup();
    let known: HashMap<&[u8], Known> = lines
        .iter()
        .copied()
        .zip(parallel::map(&lines, |line| {
            let tree = shell::parse(&String::from_utf8_lossy(line));
            Known {
                target_host: tree.target_host().map(str::to_owned),
                programs: programs(&tree),
            }
        }))
        .collect();
    Ok(contents
        .iter()
        .filter_map(|(id, line)| Some((*id, known.get(line.as_slice())?.clone())))
        .collect())
}

/// One change for each session that something happened in.
fn touched(events: &[Envelope]) -> Vec<Change> {
    let mut touched: Vec<(SessionId, Micros, Micros, i64)> = Vec::new();
    for envelope in events {
        let at = envelope.at;
        match touched.iter_mut().find(|one| one.0 == envelope.session) {
            Some((_, first, last, seq)) => {
                *first = (*first).min(at);
                *last = (*last).max(at);
                *seq = envelope.seq;
            }
            None => touched.push((envelope.session, at, at, envelope.seq)),
        }
    }
    touched
        .into_iter()
        .map(|(session, first, last, seq)| Change::SessionTouched {
            session,
            first,
            last,
            seq,
        })
        .collect()
}

async fn fold(
    envelope: &Envelope,
    lines: &HashMap<ContentId, Known>,
    store: &Store,
    changes: &mut Vec<Change>,
) -> Result<(), StoreError> {
    let (session, at, seq) = (envelope.session, envelope.at, envelope.seq);
    match &envelope.event {
        Event::SessionStarted {
            title,
            automatic,
            relative_time,
        } => changes.push(Change::SessionBegan {
            session,
            title: title.as_ref().map(|title| title.id),
            automatic: *automatic,
            relative_time: *relative_time,
            at,
        }),
        Event::SessionEnded {} => changes.push(Change::SessionEnded { session, at }),
        Event::CommandStarted {
            command,
            number,
            line,
            cwd,
            host,
            user,
            parent,
            recorder,
            ..
        } => {
            let known = lines.get(&line.id);
            changes.push(Change::CommandBegan(Box::new(CommandBegan {
                id: *command,
                session,
                number: *number,
                line: line.id,
                target_host: known
                    .and_then(|known| known.target_host.as_ref())
                    .unwrap_or(host)
                    .clone(),
                host: host.clone(),
                programs: known
                    .map(|known| known.programs.clone())
                    .unwrap_or_default(),
                user: user.clone(),
                cwd: cwd.clone(),
                parent: *parent,
                recorder: recorder.clone(),
                at,
                seq,
            })));
        }
        Event::OutputRecorded {
            command,
            stream,
            content,
            ..
        } => changes.push(Change::Printed {
            command: *command,
            stream: *stream,
            bytes: content.len_bytes,
            seq,
        }),
        Event::GapRecorded { command, bytes, .. } => changes.push(Change::Gapped {
            command: *command,
            bytes: *bytes,
            seq,
        }),
        Event::TerminalResized { .. } => {}
        Event::CommandStateChanged { command, state, .. } => {
            changes.push(ended(*command, *state, None, seq));
        }
        Event::CommandEnded {
            command,
            exit,
            duration_us,
        } => changes.push(ended(*command, *exit, *duration_us, seq)),
        Event::NoteAdded { text } => changes.push(Change::Noted {
            event: envelope.id,
            session,
            kind: "note",
            at,
            text: text.id,
            seq,
        }),
        Event::PostmortemSaved { text } => changes.push(Change::Noted {
            event: envelope.id,
            session,
            kind: "postmortem",
            at,
            text: text.id,
            seq,
        }),
        Event::FindingConfirmed {
            finding,
            playbook,
            hypothesis,
        } => changes.push(Change::Judged {
            event: envelope.id,
            session,
            finding: *finding,
            playbook: playbook.clone(),
            confirmed: true,
            hypothesis: hypothesis.clone(),
            because: None,
            at,
            seq,
        }),
        Event::FindingDismissed {
            finding,
            playbook,
            because,
        } => changes.push(Change::Judged {
            event: envelope.id,
            session,
            finding: *finding,
            playbook: playbook.clone(),
            confirmed: false,
            hypothesis: None,
            because: Some(because.id),
            at,
            seq,
        }),
        Event::ContentErased { contents, command } => {
            if let Some(command) = command {
                let line = line_of(store, *command).await?;
                changes.push(Change::Erased {
                    command: *command,
                    line: line.is_some_and(|line| contents.contains(&line)),
                    seq,
                });
            }
        }
    }
    Ok(())
}

fn ended(command: CommandId, exit: Exit, duration_us: Option<i64>, seq: i64) -> Change {
    Change::Ended {
        command,
        // An exit is a map of one number: it always serialises.
        exit: serde_json::to_string(&exit).unwrap_or_default(),
        duration_us,
        seq,
    }
}

/// The content of a command's line.
async fn line_of(store: &Store, command: CommandId) -> Result<Option<ContentId>, StoreError> {
    Ok(store
        .load_command(command)
        .await?
        .into_iter()
        .find_map(|envelope| match envelope.event {
            Event::CommandStarted { line, .. } => Some(line.id),
            _ => None,
        }))
}

/// The programs a line runs, each once, in order.
pub(super) fn programs(tree: &Tree) -> String {
    let mut programs: Vec<&str> = Vec::new();
    for invocation in &tree.invocations {
        let program = invocation.program();
        if !program.is_empty() && !programs.contains(&program) {
            programs.push(program);
        }
    }
    programs.join(" ")
}
