//! `/`: the sessions.

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use crate::diagnosis::{Severity, kinds};

use super::Site;
use super::data::{FindingBrief, SessionCard};
use super::failure::Failure;
use super::markup::{Markup, plain};
use super::page::{Frame, html};
use super::words::{self, Sign, Stamp};

#[derive(Template)]
#[template(path = "sessions.html")]
struct SessionsPage {
    frame: Frame,
    sessions: Vec<SessionView>,
    total: String,
}

/// A session in a list.
#[derive(Debug, Clone)]
pub struct SessionView {
    /// Its address.
    pub href: String,
    /// Its title.
    pub title: Markup,
    /// When it was.
    pub last: Stamp,
    /// Its commands, in words.
    pub commands: String,
    /// The first of its hosts.
    pub hosts: Vec<String>,
    /// Hosts beyond these.
    pub more_hosts: usize,
    /// The findings that weigh most.
    pub findings: Vec<BriefView>,
    /// Findings beyond these.
    pub more_findings: usize,
    /// The shape of the worst one, for narrow lists.
    pub sign: Option<Sign>,
    /// It is the one shown.
    pub current: bool,
}

/// A finding in a list.
#[derive(Debug, Clone)]
pub struct BriefView {
    /// Its sign.
    pub sign: Sign,
    /// In one sentence.
    pub title: Markup,
    /// Where it stands; empty while it is open.
    pub status: &'static str,
}

/// Sessions in the list.
const LISTED: u32 = 300;

/// `GET /`
pub(super) async fn show(State(site): State<Site>) -> Result<Response, Failure> {
    let cards = site.data.sessions(LISTED).await?;
    Ok(html(&SessionsPage {
        frame: Frame::new("Sessions", "sessions"),
        total: words::counted(cards.len() as u64, "session"),
        sessions: cards.iter().map(|card| view(card, "")).collect(),
    }))
}

/// A session in a list; `current` is the address of the one shown.
pub fn view(card: &SessionCard, current: &str) -> SessionView {
    const HOSTS: usize = 3;
    const FINDINGS: usize = 3;
    let findings: Vec<&FindingBrief> = card
        .findings
        .iter()
        .filter(|finding| finding.severity > Severity::Info || kinds::harmless(&finding.kind))
        .collect();
    let sign = |f: &FindingBrief| words::sign_of(&f.kind, f.claim, f.severity, f.status);
    let href = format!("/s/{}", card.id);
    SessionView {
        current: href == current,
        href,
        title: plain(&words::shorten(&card.title, 120)),
        last: Stamp::of_session(card),
        commands: words::counted(card.commands, "command"),
        hosts: card.hosts.iter().take(HOSTS).cloned().collect(),
        more_hosts: card.hosts.len().saturating_sub(HOSTS),
        sign: findings.first().map(|finding| sign(finding)),
        findings: findings
            .iter()
            .take(FINDINGS)
            .map(|finding| BriefView {
                sign: sign(finding),
                title: plain(&finding.title),
                status: words::status(finding.status),
            })
            .collect(),
        more_findings: findings.len().saturating_sub(FINDINGS),
    }
}
