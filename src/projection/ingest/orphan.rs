//! Spools that do not say whose they are: empty, or damaged in their first record.
//!
//! A command that left one has its place all the same: its id says when it began, and its session
//! gave out a number that no other record has. It goes into the log with a gap in place of what it
//! printed; where its place cannot be told, into a session for such records.

use std::collections::HashMap;
use std::path::PathBuf;

use super::convert::{Converter, Known, main_stream};
use super::{IngestError, Ingested, move_aside};
use crate::capture::home::Home;
use crate::capture::session;
use crate::capture::spool::Gap;
use crate::capture::sys;
use crate::event::{ContentKind, Event, Exit, NewContent, NewEvent, Stream};
use crate::id::{CommandId, SessionId};
use crate::store::{Batch, Spooled, Store, StoreError};
use crate::time::Micros;

/// Stands where the command line would: to a shell it is a remark.
const LINE: &str = "# what was run here is not on record: its spool was damaged";
/// The title of the session for records without a place.
const TITLE: &str = "Damaged records";
/// How far the clock of an id and that of a record may lie apart.
const SLACK_US: i64 = 1_000_000;

/// A spool that does not say whose it is.
pub(super) struct Orphan {
    pub(super) command: CommandId,
    pub(super) path: PathBuf,
    pub(super) why: &'static str,
}

/// Takes orphans in, after everything that has a place of its own.
pub(super) async fn take_in(
    home: &Home,
    store: &Store,
    orphans: Vec<Orphan>,
    report: &mut Ingested,
) -> Result<(), IngestError> {
    let mut without_place = None;
    for orphan in orphans {
        let len = std::fs::metadata(&orphan.path).map_or(0, |meta| meta.len());
        let mut converter = match store.started(orphan.command).await? {
            Some(started) => {
                let mut converter = Converter::new(Known {
                    command: orphan.command,
                    session: started.session,
                    at: started.at,
                    ends: HashMap::new(),
                    main_stream: main_stream(false),
                    ended: store.has_ended(orphan.command).await?,
                    newest_us: 0,
                });
                let stream = Stream::Stdout;
                let end = store.stream_end(orphan.command, stream).await?;
                converter.known.ends.insert(stream, end);
                converter
            }
            None => begin(home, store, orphan.command, &mut without_place).await?,
        };
        converter.gap(&Gap {
            stream: converter.known.main_stream,
            bytes: len,
            reason: format!("the record is damaged: {}", orphan.why),
        });
        converter.end(Exit::Lost, None);
        let events = std::mem::take(&mut converter.events);
        report.events += events.len();
        store
            .append_all(vec![Batch {
                session: converter.known.session,
                events,
                from: Some(Spooled {
                    spool: orphan.command.to_string(),
                    offset_bytes: len,
                    done: true,
                }),
            }])
            .await?;
        let aside = move_aside(home, &orphan.path)?;
        report.broken.push((aside, orphan.why.to_owned()));
    }
    Ok(())
}

/// Begins the record of a command that left none.
async fn begin(
    home: &Home,
    store: &Store,
    command: CommandId,
    without_place: &mut Option<(SessionId, u32)>,
) -> Result<Converter, IngestError> {
    let at = began(command);
    let (session, number) = match place(home, store, at).await? {
        Some(place) => place,
        None => {
            let (session, last) = without_place.unwrap_or_else(|| (SessionId::new(), 0));
            *without_place = Some((session, last + 1));
            session::register(home, session, last + 2).ok();
            (session, last + 1)
        }
    };
    let mut converter = Converter::new(Known {
        command,
        session,
        at,
        ends: HashMap::new(),
        main_stream: main_stream(false),
        ended: false,
        newest_us: 0,
    });
    if without_place.is_some_and(|(lost, _)| lost == session) && !store.has_session(session).await?
    {
        let title = NewContent::new(ContentKind::Title, TITLE);
        converter.events.push(NewEvent {
            at,
            event: Event::SessionStarted {
                title: Some(title.reference()),
                automatic: false,
                relative_time: false,
            },
            contents: vec![title],
        });
    }
    let line = NewContent::new(ContentKind::Line, LINE);
    converter.events.push(NewEvent {
        at,
        event: Event::CommandStarted {
            command,
            number,
            line: line.reference(),
            cwd: None,
            host: sys::host_name(),
            user: None,
            terminals: None,
            parent: None,
            recorder: env!("CARGO_PKG_VERSION").to_owned(),
        },
        contents: vec![line],
    });
    Ok(converter)
}

fn began(command: CommandId) -> Micros {
    command
        .made_ms()
        .map_or_else(Micros::now, |ms| Micros(ms.saturating_mul(1_000)))
}

/// The only number that a session gave out at about this time and that no record has; of several in
/// one session the lowest, as spools come in the order of their ids.
async fn place(
    home: &Home,
    store: &Store,
    at: Micros,
) -> Result<Option<(SessionId, u32)>, StoreError> {
    let mut found = None;
    for (session, given) in session::numbers_given(home) {
        let known = store.numbers(session).await?;
        if known.len() as u64 >= given {
            continue;
        }
        if let Some(number) = free_number(home, session, given, &known, at) {
            if found.is_some() {
                return Ok(None);
            }
            found = Some((session, number));
        }
    }
    Ok(found)
}

fn free_number(
    home: &Home,
    session: SessionId,
    given: u64,
    known: &[(u32, Micros)],
    at: Micros,
) -> Option<u32> {
    let begun = session.made_ms().map(|ms| Micros(ms.saturating_mul(1_000)));
    let last = session::last_activity(home, session);
    let given = u32::try_from(given).unwrap_or(u32::MAX);
    let mut known = known.iter().peekable();
    let mut after = begun;
    for number in 1..=given {
        match known.peek() {
            Some((next, moment)) if *next == number => {
                after = Some(*moment);
                known.next();
            }
            next => {
                let before = next.map(|(_, moment)| *moment).or(last);
                let fits = after.is_none_or(|after| after.0 <= at.0 + SLACK_US)
                    && before.is_none_or(|before| at.0 <= before.0 + SLACK_US);
                if fits {
                    return Some(number);
                }
            }
        }
    }
    None
}
