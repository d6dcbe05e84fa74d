//! A session put together: what `why`, `timeline`, the pages and exports start from.

use std::collections::HashMap;

use crate::event::{Envelope, Event, Exit, Stream};
use crate::fact::Observed;
use crate::id::{CommandId, ContentId, SessionId};
use crate::import::case;
use crate::projection::{facts, fold, parallel};
use crate::shell::{self, Tree};
use crate::store::{JudgementRow, NoteRow, Page, Store, StoreError};
use crate::time::Micros;
use crate::timeline;

/// What stands in place of a line that was erased.
pub const ERASED_LINE: &str = "(erased)";
/// Seconds after which a session with nothing new is over: as long as a new command joins it.
const LIVE_S: f64 = 1_800.0;

/// A session with all that is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionView {
    /// Which.
    pub id: SessionId,
    /// Its title, where a person gave one.
    pub title: Option<String>,
    /// It began by itself.
    pub automatic: bool,
    /// Its times count from 1970: the recording did not say when it was.
    pub relative_time: bool,
    /// When it began.
    pub started: Micros,
    /// When something last happened in it.
    pub last: Micros,
    /// When a person closed it.
    pub ended: Option<Micros>,
    /// Its commands, in the order of what happened.
    pub commands: Vec<timeline::Command>,
    /// More about each of them, in the same order.
    pub details: Vec<Detail>,
    /// Notes and postmortems, oldest first.
    pub notes: Vec<NoteRow>,
    /// Judgements on findings, oldest first.
    pub judgements: Vec<JudgementRow>,
}

/// What a command's place in a timeline does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Detail {
    /// Who typed it.
    pub user: Option<String>,
    /// Where in the file system.
    pub cwd: Option<String>,
    /// The command within which it was recorded.
    pub parent: Option<CommandId>,
    /// The recorder's version, or the import's format.
    pub recorder: String,
    /// Bytes it printed that are not on record.
    pub gap_bytes: u64,
    /// Its line was erased.
    pub erased: bool,
}

impl SessionView {
    /// Whether a command of it still runs.
    pub fn is_running(&self) -> bool {
        self.commands
            .iter()
            .any(|command| matches!(command.exit, Exit::Running | Exit::Stopped(_)))
    }

    /// The instant silence is judged against: `now` in a live session, the end of the last command
    /// in one that was imported or is over.
    pub fn as_of(&self, now: Micros) -> Micros {
        if self.is_live(now) {
            now.max(self.end())
        } else {
            self.end()
        }
    }

    /// When its last command ended.
    fn end(&self) -> Micros {
        self.commands
            .iter()
            .map(timeline::Command::ended)
            .max()
            .unwrap_or(self.started)
    }

    /// A command runs, or one did within the last half hour: the time after which a new command
    /// begins a new session. What was imported is never live.
    pub fn is_live(&self, now: Micros) -> bool {
        let imported = self
            .details
            .iter()
            .any(|detail| detail.recorder == case::RECORDER);
        !self.relative_time
            && !imported
            && self.ended.is_none()
            && (self.is_running() || now.seconds_since(self.end()) < LIVE_S)
    }
}

/// Puts a session together from the read tables and the facts, bringing both up to date first
/// (where the store can be written).
///
/// # Errors
/// When there is no such session, or the database does not answer.
pub async fn session(store: &Store, id: SessionId) -> Result<SessionView, StoreError> {
    if !store.is_read_only() {
        fold::catch_up(store).await?;
        facts::refresh(store, id).await?;
    }
    let row = store
        .session_row(id)
        .await?
        .ok_or_else(|| StoreError::NotFound {
            what: "session",
            text: id.to_string(),
        })?;
    let mut facts = store.facts(id).await?;
    let rows = store.commands(id, Page::ALL).await?;
    let mut known = Vec::with_capacity(rows.len());
    let mut details = Vec::with_capacity(rows.len());
    for row in rows {
        details.push(Detail {
            user: row.user,
            cwd: row.cwd,
            parent: row.parent,
            recorder: row.recorder,
            gap_bytes: row.gap_bytes,
            erased: row.line.is_none(),
        });
        known.push(Known {
            id: row.id,
            number: row.number,
            line: row.line,
            host: row.host,
            at: row.at,
            duration_us: row.duration_us,
            exit: row.exit,
            facts: facts.remove(&row.id).unwrap_or_default(),
            stdout_bytes: row.stdout_bytes,
            stderr_bytes: row.stderr_bytes,
            tty_bytes: row.tty_bytes,
        });
    }
    let commands = commands(known);
    Ok(SessionView {
        id,
        title: row.title,
        automatic: row.automatic,
        relative_time: row.relative_time,
        started: row.started,
        last: row.last,
        ended: row.ended,
        commands,
        details,
        notes: store.notes(id).await?,
        judgements: store.judgements(id).await?,
    })
}

struct Known {
    id: CommandId,
    number: u32,
    line: Option<String>,
    host: String,
    at: Micros,
    duration_us: Option<i64>,
    exit: Exit,
    facts: Vec<Observed>,
    stdout_bytes: u64,
    stderr_bytes: u64,
    tty_bytes: u64,
}

/// Reads the lines, which takes longer than all the rest, each once; and fills in what is known.
fn commands(known: Vec<Known>) -> Vec<timeline::Command> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut lines: Vec<&str> = Vec::new();
    for line in known.iter().filter_map(|known| known.line.as_deref()) {
        places.entry(line).or_insert_with(|| {
            lines.push(line);
            lines.len() - 1
        });
    }
    let trees = parallel::map(&lines, |line| shell::parse(line));
    let trees: Vec<Tree> = known
        .iter()
        .map(|known| {
            let place = known.line.as_deref().and_then(|line| places.get(line));
            place
                .and_then(|place| trees.get(*place))
                .cloned()
                .unwrap_or_default()
        })
        .collect();
    known
        .into_iter()
        .zip(trees)
        .map(|(known, tree)| command(known, tree))
        .collect()
}

fn command(known: Known, tree: Tree) -> timeline::Command {
    #[expect(
        clippy::cast_precision_loss,
        reason = "microseconds of a command, shown in seconds"
    )]
    let took_s = known.duration_us.map(|us| us as f64 / 1e6);
    timeline::Command {
        id: known.id,
        number: known.number,
        tree,
        line: known.line.unwrap_or_else(|| ERASED_LINE.to_owned()),
        host: known.host,
        at: known.at,
        took_s,
        exit: known.exit,
        facts: known.facts,
        stdout_bytes: known.stdout_bytes,
        stderr_bytes: known.stderr_bytes,
        tty_bytes: known.tty_bytes,
    }
}

/// Puts a session together from the event log alone: no facts, and no projection is asked.
///
/// # Errors
/// When there is no such session, an event does not read, or the database does not answer.
pub async fn session_from_log(store: &Store, id: SessionId) -> Result<SessionView, StoreError> {
    let events = store.load_session(id).await?;
    let Some(first) = events.first() else {
        return Err(StoreError::NotFound {
            what: "session",
            text: id.to_string(),
        });
    };
    let ids: Vec<ContentId> = events
        .iter()
        .filter(|envelope| !matches!(envelope.event, Event::OutputRecorded { .. }))
        .flat_map(|envelope| envelope.event.contents())
        .map(|content| content.id)
        .collect();
    let texts = store.contents(&ids).await?;
    let text = |id: ContentId| {
        texts
            .get(&id)
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    let mut replay = Replay {
        view: SessionView {
            id,
            title: None,
            automatic: true,
            relative_time: false,
            started: first.at,
            last: first.at,
            ended: None,
            commands: Vec::new(),
            details: Vec::new(),
            notes: Vec::new(),
            judgements: Vec::new(),
        },
        known: Vec::new(),
        places: HashMap::new(),
    };
    for envelope in events {
        replay.take(envelope, &text);
    }
    Ok(replay.finish())
}

/// A session while its events are replayed.
struct Replay {
    view: SessionView,
    known: Vec<(Known, Detail)>,
    places: HashMap<CommandId, usize>,
}

impl Replay {
    fn take(&mut self, envelope: Envelope, text: &impl Fn(ContentId) -> Option<String>) {
        let at = envelope.at;
        self.view.last = self.view.last.max(at);
        self.view.started = self.view.started.min(at);
        match envelope.event {
            Event::SessionStarted {
                title,
                automatic,
                relative_time,
            } => {
                self.view.title = title.and_then(|title| text(title.id));
                self.view.automatic = automatic;
                self.view.relative_time = relative_time;
            }
            Event::SessionEnded {} => self.view.ended = Some(at),
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
                let line = text(line.id);
                self.places.insert(command, self.known.len());
                let detail = Detail {
                    user,
                    cwd,
                    parent,
                    recorder,
                    gap_bytes: 0,
                    erased: line.is_none(),
                };
                let known = Known {
                    id: command,
                    number,
                    line,
                    host,
                    at,
                    duration_us: None,
                    exit: Exit::Running,
                    facts: Vec::new(),
                    stdout_bytes: 0,
                    stderr_bytes: 0,
                    tty_bytes: 0,
                };
                self.known.push((known, detail));
            }
            Event::NoteAdded { text: content } => self.view.notes.push(NoteRow {
                event: envelope.id,
                postmortem: false,
                at,
                text: text(content.id),
                seq: envelope.seq,
            }),
            Event::PostmortemSaved { text: content } => self.view.notes.push(NoteRow {
                event: envelope.id,
                postmortem: true,
                at,
                text: text(content.id),
                seq: envelope.seq,
            }),
            Event::FindingConfirmed {
                finding,
                playbook,
                hypothesis,
            } => self.view.judgements.push(JudgementRow {
                event: envelope.id,
                session: envelope.session,
                finding,
                playbook,
                confirmed: true,
                hypothesis,
                because: None,
                at,
            }),
            Event::FindingDismissed {
                finding,
                playbook,
                because,
            } => self.view.judgements.push(JudgementRow {
                event: envelope.id,
                session: envelope.session,
                finding,
                playbook,
                confirmed: false,
                hypothesis: None,
                because: text(because.id),
                at,
            }),
            event => self.take_of_command(event),
        }
    }

    fn take_of_command(&mut self, event: Event) {
        let place = event.command().and_then(|id| self.places.get(&id));
        let Some((known, detail)) = place.and_then(|place| self.known.get_mut(*place)) else {
            return;
        };
        match event {
            Event::OutputRecorded {
                stream, content, ..
            } => {
                let bytes = match stream {
                    Stream::Stdout => &mut known.stdout_bytes,
                    Stream::Stderr => &mut known.stderr_bytes,
                    Stream::Tty => &mut known.tty_bytes,
                };
                *bytes += content.len_bytes;
            }
            Event::GapRecorded { bytes, .. } => detail.gap_bytes += bytes,
            Event::CommandStateChanged { state, .. } => known.exit = state,
            Event::CommandEnded {
                exit, duration_us, ..
            } => {
                known.exit = exit;
                known.duration_us = duration_us;
            }
            _ => {}
        }
    }

    fn finish(mut self) -> SessionView {
        self.known
            .sort_by_key(|(known, _)| (known.at, known.number));
        let (known, details) = self.known.into_iter().unzip();
        self.view.commands = commands(known);
        self.view.details = details;
        self.view
            .notes
            .sort_by_key(|note| (note.at, note.event.to_string()));
        self.view
    }
}
