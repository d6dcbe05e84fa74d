//! `rec playbook stats`: how often each playbook fired, and what people said of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::Answer;
use crate::cmd::desk::{Desk, playbooks};
use crate::cmd::paint::{Paint, pad};
use crate::id::SessionId;
use crate::projection::{self, experience, judge};
use crate::report::CommandError;
use crate::settings::Settings;
use crate::store::{Diagnosed, Page};
use crate::time::{Micros, counted};

#[derive(Default)]
struct Count {
    fired: usize,
    sessions: BTreeSet<SessionId>,
    confirmed: usize,
    dismissed: usize,
    causes: BTreeMap<String, usize>,
    last: Option<Micros>,
}

/// Counts findings as last diagnosed; sessions that are behind are diagnosed first.
///
/// # Errors
/// When the database does not answer.
pub async fn stats(desk: &Desk, paint: Paint) -> Result<Answer, CommandError> {
    let playbooks = playbooks();
    let unread = catch_up(desk).await?;
    let ids: Vec<&str> = playbooks.iter().map(|one| one.id.as_str()).collect();
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    for row in desk.store.past_findings(&ids, None, u32::MAX).await? {
        let count = counts.entry(row.playbook).or_default();
        count.fired += 1;
        count.sessions.insert(row.session);
        count.last = count.last.max(Some(row.last));
    }
    let last = experience::last_words(desk.store.all_judgements().await?);
    for row in last.into_values() {
        let count = counts.entry(row.playbook).or_default();
        if row.confirmed {
            count.confirmed += 1;
            if let Some(hypothesis) = row.hypothesis {
                *count.causes.entry(hypothesis).or_default() += 1;
            }
        } else {
            count.dismissed += 1;
        }
    }
    let wide = ids
        .iter()
        .filter(|id| counts.contains_key(**id))
        .map(|id| id.chars().count())
        .max()
        .unwrap_or(0)
        .max("playbook".len());
    let mut text = format!(
        "{}\n",
        paint.dim(&format!(
            "{}  fired  confirmed  dismissed  last seen",
            pad("playbook", wide)
        ))
    );
    let mut rows: Vec<Value> = Vec::new();
    let mut never = 0;
    let none = Count::default();
    for one in &playbooks {
        let count = counts.get(&one.id).unwrap_or(&none);
        rows.push(json!({
            "playbook": one.id, "version": one.version, "kind": one.kind,
            "fired": count.fired, "sessions": count.sessions.len(),
            "confirmed": count.confirmed, "dismissed": count.dismissed,
            "causes": count.causes,
            "last_seen": count.last.map(|at| at.rfc3339()),
        }));
        if count.fired + count.confirmed + count.dismissed == 0 {
            never += 1;
            continue;
        }
        let day = count.last.map(|at| at.rfc3339()).unwrap_or_default();
        text.push_str(&format!(
            "{}  {:>5}  {:>9}  {:>9}  {}\n",
            pad(&one.id, wide),
            count.fired,
            count.confirmed,
            count.dismissed,
            day.get(..10).unwrap_or("never"),
        ));
        for (cause, times) in &count.causes {
            text.push_str(&paint.dim(&format!(
                "  {cause}: confirmed {}\n",
                counted(*times, "time")
            )));
        }
    }
    if never > 0 {
        text.push_str(&format!("{} never fired\n", counted(never, "playbook")));
    }
    for session in &unread {
        text.push_str(&format!("{} could not be read\n", session.short()));
    }
    let ok = unread.is_empty();
    Ok(Answer {
        text,
        json: json!({"format": 1, "ok": ok, "playbooks": rows, "unread": unread}),
        ok,
    })
}

/// Diagnoses the sessions whose stored findings are behind, one after another.
async fn catch_up(desk: &Desk) -> Result<Vec<SessionId>, CommandError> {
    let playbooks = playbooks();
    let store = &desk.store;
    let learn = Settings::read().learn;
    let stamp = judge::stamp(store, &playbooks, learn).await?;
    let mut unread = Vec::new();
    for row in store.sessions(Page::ALL).await? {
        let holds_for = Diagnosed {
            seq: row.last_seq,
            stamp: stamp.clone(),
        };
        if store.diagnosed(row.id).await? == Some(holds_for) {
            continue;
        }
        match projection::session(store, row.id).await {
            Ok(view) => {
                judge::diagnose_with(store, &view, &playbooks, Micros::now(), learn).await?;
            }
            Err(_) => unread.push(row.id),
        }
    }
    Ok(unread)
}
