//! Events to rows of the read tables.

use std::collections::HashMap;

use crate::event::{Envelope, Event, Exit};
use crate::id::{CommandId, ContentId};
use crate::shell::{self, Tree};
use crate::store::{Change, CommandBegan, Store, StoreError};

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
        let events = store.events_after(from, BATCH).await?;
        let Some(last) = events.last() else {
            return Ok(());
        };
        let to = last.seq;
        let lines = lines_of(store, &events).await?;
        let mut changes = Vec::new();
        for envelope in &events {
            fold(envelope, &lines, store, &mut changes).await?;
        }
        // When another process was quicker, the next round starts where it left off.
        store.apply(from, to, &changes).await?;
    }
}

async fn lines_of(
    store: &Store,
    events: &[Envelope],
) -> Result<HashMap<ContentId, Vec<u8>>, StoreError> {
    let ids: Vec<ContentId> = events
        .iter()
        .filter_map(|envelope| match &envelope.event {
            Event::CommandStarted { line, .. } => Some(line.id),
            _ => None,
        })
        .collect();
    store.contents(&ids).await
}

async fn fold(
    envelope: &Envelope,
    lines: &HashMap<ContentId, Vec<u8>>,
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
            let tree = lines
                .get(&line.id)
                .map(|bytes| shell::parse(&String::from_utf8_lossy(bytes)))
                .unwrap_or_default();
            changes.push(Change::CommandBegan(Box::new(CommandBegan {
                id: *command,
                session,
                number: *number,
                line: line.id,
                target_host: tree.target_host().unwrap_or(host).to_owned(),
                host: host.clone(),
                programs: programs(&tree),
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
    changes.push(Change::SessionTouched { session, at, seq });
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
