//! `rec verify`, `rec rebuild`, `rec forget`: keeping the record.

use std::process::ExitCode;

use serde_json::json;

use crate::cmd::desk::Desk;
use crate::cmd::verbs::{complain, say, say_json};
use crate::diagnosis::words::size;
use crate::projection;
use crate::projection::mend::{self, Mishap, What};
use crate::report::{CommandError, plain};
use crate::store::{Problem, StoreError, Verified};
use crate::time::{Micros, counted};

/// `rec verify`: finds any change to what was recorded.
///
/// # Errors
/// When the database does not answer.
pub async fn verify(desk: &Desk, in_json: bool) -> Result<ExitCode, CommandError> {
    let mut report = match desk.store.verify().await {
        // Told, and not mended: whoever verifies asks how it is.
        Err(StoreError::Damaged { path, why }) => Verified {
            problems: vec![Problem {
                seq: None,
                text: format!(
                    "{} is damaged ({why}): `rec doctor` moves it aside and makes a new one",
                    path.display()
                ),
            }],
            ..Verified::default()
        },
        other => other?,
    };
    report.problems.extend(set_aside(desk));
    if in_json {
        let problems: Vec<_> = report
            .problems
            .iter()
            .map(|one| json!({"seq": one.seq, "text": one.text}))
            .collect();
        say_json(&json!({
            "format": 1, "ok": report.is_ok(), "events": report.events,
            "sessions": report.sessions, "contents": report.contents, "erased": report.erased,
            "first_bad_seq": report.first_bad_seq(), "problems": problems,
            "more_problems": report.more_problems,
        }));
    } else if report.is_ok() {
        let erased = match report.erased {
            0 => String::new(),
            erased => format!(" ({erased} erased on demand)"),
        };
        say(&format!(
            "{} in {}: the chain holds, {} as recorded{erased}\n",
            counted(report.events, "event"),
            counted(report.sessions, "session"),
            counted(report.contents, "content")
        ));
    } else {
        for one in &report.problems {
            say(&match one.seq {
                Some(seq) => format!("event {seq}: {}\n", plain(&one.text)),
                None => format!("{}\n", plain(&one.text)),
            });
        }
        if report.more_problems > 0 {
            say(&format!("and {} more\n", report.more_problems));
        }
    }
    Ok(ExitCode::from(u8::from(!report.is_ok())))
}

/// Damaged databases that lie beside this one and held what is not in it: the chain holds here because
/// what broke it was left behind.
fn set_aside(desk: &Desk) -> Vec<Problem> {
    let open = mend::mishaps(&desk.home)
        .into_iter()
        .filter(Mishap::is_open);
    open.filter_map(|mishap| match &mishap.what {
        What::Damaged {
            aside, lost: true, ..
        } => Some(Problem {
            seq: None,
            text: format!(
                "{}; rec can take nothing more from it (`sqlite3 {} .recover` may show more, a \
                 backup's sessions come in by `rec import`); remove the file when you have no \
                 more use for it",
                mishap.says(),
                aside.display()
            ),
        }),
        _ => None,
    })
    .collect()
}

/// `rec rebuild`: what is derived is made anew from the event log.
///
/// # Errors
/// When the database does not answer or cannot be written.
pub async fn rebuild(desk: &Desk, in_json: bool) -> Result<ExitCode, CommandError> {
    projection::rebuild::rebuild(&desk.store).await?;
    let sessions = desk.store.session_count().await?;
    if in_json {
        say_json(&json!({"format": 1, "ok": true, "sessions": sessions}));
    } else {
        say(&format!(
            "{}: read tables, facts and index made anew\n",
            counted(sessions, "session")
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// `rec forget COMMAND`: its line and output go; that it ran stays.
///
/// # Errors
/// When there is no such command, or the database cannot be written.
pub async fn forget(
    desk: &Desk,
    session: Option<&str>,
    text: &str,
) -> Result<ExitCode, CommandError> {
    let session = desk.session(session).await?;
    let found = desk.store.find_command(session, text).await?;
    let erased =
        projection::forget::forget(&desk.home, &desk.store, found.id, Micros::now()).await?;
    say(&format!(
        "#{}: {} erased ({} pieces); that it ran stays on record\n",
        found.number,
        size(erased.bytes),
        erased.contents
    ));
    for mishap in mend::mishaps(&desk.home) {
        if let (true, What::Damaged { aside, .. }) = (mishap.is_open(), &mishap.what) {
            complain(&format!(
                "rec: {}, a damaged database kept from before, may still hold it: remove it",
                aside.display()
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}
