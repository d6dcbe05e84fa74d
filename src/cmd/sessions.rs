//! `rec sessions`: the sessions, newest first.

use serde_json::{Value, json};

use crate::cmd::paint::{Paint, pad};
use crate::diagnosis::Diagnosis;
use crate::diagnosis::words::{finding_mark, shorten, tame};
use crate::store::SessionRow;
use crate::time::counted;

/// A session in the list, with what was found in it.
pub struct Listed {
    /// Its row.
    pub row: SessionRow,
    /// How many commands it holds.
    pub commands: usize,
    /// Its diagnosis, when it could be made.
    pub diagnosis: Option<Diagnosis>,
}

/// The JSON of the contract.
pub fn to_json(listed: &[Listed]) -> Value {
    let sessions: Vec<Value> = listed
        .iter()
        .map(|one| {
            let findings: Vec<Value> = one
                .diagnosis
                .iter()
                .flat_map(|diagnosis| &diagnosis.findings)
                .map(|finding| {
                    json!({
                        "id": finding.id, "kind": finding.kind, "title": finding.title,
                        "claim": finding.claim, "severity": finding.severity, "status": finding.status,
                    })
                })
                .collect();
            json!({
                "id": one.row.id,
                "title": one.row.title,
                "started": super::timeline::at(one.row.started, one.row.relative_time),
                "last": super::timeline::at(one.row.last, one.row.relative_time),
                "commands": one.commands,
                "hosts": one.row.hosts,
                "findings": findings,
            })
        })
        .collect();
    json!({"format": crate::diagnosis::FORMAT, "sessions": sessions})
}

/// The list as the terminal shows it.
pub fn render(listed: &[Listed], paint: Paint) -> String {
    if listed.is_empty() {
        return "No sessions yet. Record a command to begin one:  rec ssh HOST 'COMMAND'\n"
            .to_owned();
    }
    let mut out = String::new();
    for one in listed {
        let when = if one.row.relative_time {
            "imported        ".to_owned()
        } else {
            paint.day(one.row.last)
        };
        let title = one
            .row
            .title
            .clone()
            .unwrap_or_else(|| "(no title)".to_owned());
        let count = counted(one.commands, "command");
        out.push_str(&format!(
            "{}  {}  {}  {}\n",
            paint.dim(&one.row.id.short()),
            paint.dim(&when),
            pad(&shorten(&title, paint.width.saturating_sub(48).max(20)), 0),
            paint.dim(&format!("{count} on {}", tame(&one.row.hosts.join(", ")))),
        ));
        if let Some(finding) = one
            .diagnosis
            .as_ref()
            .and_then(|diagnosis| diagnosis.findings.first())
        {
            let title = shorten(&finding.title, paint.width.saturating_sub(14));
            out.push_str(&format!(
                "            {} {}\n",
                finding_mark(finding),
                title
            ));
        }
    }
    out
}
