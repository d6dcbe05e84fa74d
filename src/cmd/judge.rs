//! Verbs that write down what a person says: `new`, `use`, `end`, `note`, `confirm`, `dismiss`.

use crate::capture::session;
use crate::cmd::desk::Desk;
use crate::event::{ContentKind, Event, NewContent, NewEvent};
use crate::id::{FindingId, SessionId};
use crate::report::CommandError;
use crate::time::Micros;

/// `rec new TITLE`: opens a session and uses it in this terminal.
///
/// # Errors
/// When the home or database cannot be written.
pub async fn new(desk: &Desk, title: &str) -> Result<SessionId, CommandError> {
    let id = begin(desk, title).await?;
    session::choose_for_terminal(&desk.home, id)?;
    Ok(id)
}

/// Opens a session with a title; no terminal uses it yet.
///
/// # Errors
/// When the home or database cannot be written.
pub async fn begin(desk: &Desk, title: &str) -> Result<SessionId, CommandError> {
    let title = title.trim();
    if title.is_empty() {
        return Err(CommandError::usage("a session needs a title")
            .hint("rec new 'what you are looking into'"));
    }
    let id = SessionId::new();
    let content = NewContent::new(ContentKind::Title, desk.home.marker().text(title));
    let event = NewEvent {
        at: Micros::now(),
        event: Event::SessionStarted {
            title: Some(content.reference()),
            automatic: false,
            relative_time: false,
        },
        contents: vec![content],
    };
    desk.store.append(id, vec![event], None).await?;
    session::register(&desk.home, id, 1)?;
    Ok(id)
}

/// `rec use SESSION`: later commands of this terminal go there.
///
/// # Errors
/// When there is no such session or the state cannot be written.
pub async fn choose(desk: &Desk, asked: &str) -> Result<SessionId, CommandError> {
    let id = desk.session(Some(asked)).await?;
    let view = desk.view(id).await?;
    let next = view
        .commands
        .iter()
        .map(|command| command.number)
        .max()
        .unwrap_or(0)
        + 1;
    session::register(&desk.home, id, next)?;
    session::choose_for_terminal(&desk.home, id)?;
    Ok(id)
}

/// `rec end`: closes the current session.
///
/// # Errors
/// When there is none, or it cannot be written.
pub async fn end(desk: &Desk) -> Result<SessionId, CommandError> {
    let id = desk.session(None).await?;
    let row = desk.store.session_row(id).await?;
    if row.is_some_and(|row| row.ended.is_some_and(|ended| ended >= row.last)) {
        return Err(
            CommandError::usage(format!("{} is closed already", id.short()))
                .hint("`rec use SESSION` goes on with one; `rec sessions` lists them"),
        );
    }
    let event = NewEvent::bare(Micros::now(), Event::SessionEnded {});
    desk.store.append(id, vec![event], None).await?;
    session::end(&desk.home, id)?;
    Ok(id)
}

/// `rec note TEXT`.
///
/// # Errors
/// When there is no session, or it cannot be written.
pub async fn note(desk: &Desk, asked: Option<&str>, text: &str) -> Result<SessionId, CommandError> {
    let id = desk.session(asked).await?;
    let content = NewContent::new(ContentKind::Note, desk.home.marker().text(text));
    let event = NewEvent {
        at: Micros::now(),
        event: Event::NoteAdded {
            text: content.reference(),
        },
        contents: vec![content],
    };
    desk.store.append(id, vec![event], None).await?;
    Ok(id)
}

/// A finding of a session by its id or the start of one: id, playbook and title.
async fn finding(
    desk: &Desk,
    session: Option<&str>,
    text: &str,
) -> Result<(SessionId, FindingId, String, String, Vec<String>), CommandError> {
    let id = desk.session(session).await?;
    let view = desk.view(id).await?;
    let diagnosis = desk.diagnose(&view).await?;
    let wanted = if text.starts_with("f-") {
        text.to_owned()
    } else {
        format!("f-{text}")
    };
    let mut found = diagnosis
        .findings
        .into_iter()
        .filter(|finding| text == "last" || finding.id.to_string().starts_with(&wanted));
    let Some(first) = found.next() else {
        return Err(
            CommandError::usage(format!("no finding `{text}` in session {}", id.short()))
                .hint("`rec why --json` lists them with their ids"),
        );
    };
    if text != "last" && found.next().is_some() {
        return Err(
            CommandError::usage(format!("`{text}` begins more than one finding's id"))
                .hint("type more of it"),
        );
    }
    let hypotheses = first.hypotheses.iter().map(|one| one.id.clone()).collect();
    Ok((id, first.id, first.playbook, first.title, hypotheses))
}

/// `rec confirm FINDING [HYPOTHESIS]`; gives the finding's title.
///
/// # Errors
/// When there is no such finding or hypothesis, or it cannot be written.
pub async fn confirm(
    desk: &Desk,
    session: Option<&str>,
    text: &str,
    hypothesis: Option<String>,
) -> Result<String, CommandError> {
    let (id, finding, playbook, title, known) = finding(desk, session, text).await?;
    if let Some(named) = &hypothesis
        && !known.contains(named)
    {
        return Err(
            CommandError::usage(format!("this finding has no hypothesis `{named}`"))
                .hint(format!("it has: {}", known.join(", "))),
        );
    }
    let event = NewEvent::bare(
        Micros::now(),
        Event::FindingConfirmed {
            finding,
            playbook,
            hypothesis,
        },
    );
    desk.store.append(id, vec![event], None).await?;
    Ok(title)
}

/// `rec dismiss FINDING --because TEXT`; gives the finding's title.
///
/// # Errors
/// When there is no such finding, or it cannot be written.
pub async fn dismiss(
    desk: &Desk,
    session: Option<&str>,
    text: &str,
    because: &str,
) -> Result<String, CommandError> {
    let (id, finding, playbook, title, _) = finding(desk, session, text).await?;
    let content = NewContent::new(ContentKind::Reason, desk.home.marker().text(because));
    let event = NewEvent {
        at: Micros::now(),
        event: Event::FindingDismissed {
            finding,
            playbook,
            because: content.reference(),
        },
        contents: vec![content],
    };
    desk.store.append(id, vec![event], None).await?;
    Ok(title)
}
