//! `/s/{session}`: the timeline, with *what we know* and *next* beside it.

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::Deserialize;

use super::Site;
use super::data::{Desk, ExitFilter, Selection};
use super::failure::Failure;
use super::know::Know;
use super::markup::{Markup, plain};
use super::page::{Frame, html};
use super::rows::{self, Item};
use super::search;
use super::sessions::{self, SessionView};
use super::words::{self, Stamp};

/// Commands on one page of the timeline.
const PAGE: usize = 200;
/// New commands that an open page takes in at once.
const NEW: usize = 500;

#[derive(Template)]
#[template(path = "session.html")]
struct SessionPage {
    frame: Frame,
    base: String,
    title: Markup,
    started: Stamp,
    ended: bool,
    summary: String,
    hosts: Vec<String>,
    wanted: Wanted,
    others: Vec<SessionView>,
    part: Part,
    know: Know,
}

/// The rows alone: for filters and new events.
#[derive(Template)]
#[template(path = "partials/part.html")]
struct Part {
    base: String,
    items: Vec<Item>,
    earlier: Option<Link>,
    newer: Option<Link>,
    shown: String,
    filtered: bool,
    newest: u32,
}

/// It is written by its own template, which escapes.
impl askama::filters::HtmlSafe for Part {}

/// A link with its words.
struct Link {
    href: String,
    words: String,
}

/// What the filters ask for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Wanted {
    /// Only this host.
    host: String,
    /// `good`, `bad`, `running`.
    exit: String,
    /// Only lines with this text.
    q: String,
    /// Only the first so many.
    until: Option<u32>,
    /// Only commands after this number.
    after: Option<u32>,
    /// Only this command.
    only: Option<u32>,
}

impl Wanted {
    fn selection(&self) -> Selection {
        let text = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        Selection {
            until: self.until,
            after: self.after,
            only: self.only,
            host: text(&self.host),
            exit: match self.exit.as_str() {
                "good" => ExitFilter::Good,
                "bad" => ExitFilter::Bad,
                "running" => ExitFilter::Running,
                _ => ExitFilter::Any,
            },
            text: text(&self.q),
            most: if self.after.is_some() { NEW } else { PAGE },
        }
    }

    fn is_filtered(&self) -> bool {
        !(self.host.is_empty() && self.exit.is_empty() && self.q.trim().is_empty())
    }

    /// The query of the same filters, ready for one more pair.
    fn query(&self) -> String {
        let mut query = String::from("?");
        for (name, value) in [("host", &self.host), ("exit", &self.exit), ("q", &self.q)] {
            if !value.is_empty() {
                query.push_str(&format!("{name}={}&", search::encode(value)));
            }
        }
        query
    }
}

/// `GET /s/{session}`
pub(super) async fn show(
    State(site): State<Site>,
    Path(key): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Failure> {
    let desk = site.data.desk(&key, &wanted.selection()).await?;
    let base = format!("/s/{}", desk.card.id);
    let card = &desk.card;
    Ok(html(&SessionPage {
        frame: Frame::new(&card.title, "sessions"),
        title: plain(&card.title),
        started: if card.relative {
            Stamp::of_session(card)
        } else {
            Stamp::day_and_time(card.started, false)
        },
        ended: card.ended,
        summary: words::counted(card.commands, "command"),
        hosts: card.hosts.clone(),
        others: desk
            .others
            .iter()
            .map(|card| sessions::view(card, &base))
            .collect(),
        part: part(&desk, &wanted),
        know: Know::of(card.id, desk.understanding.as_deref()),
        base,
        wanted,
    }))
}

/// `GET /s/{session}/rows`
pub(super) async fn rows(
    State(site): State<Site>,
    Path(key): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Failure> {
    let desk = site.data.desk(&key, &wanted.selection()).await?;
    Ok(html(&part(&desk, &wanted)))
}

/// `GET /s/{session}/know`
pub(super) async fn know(
    State(site): State<Site>,
    Path(key): Path<String>,
) -> Result<Response, Failure> {
    let card = site.data.session(&key).await?;
    let understanding = site.data.understanding_now(card.id).await?;
    Ok(html(&Know::of(card.id, Some(&understanding))))
}

fn part(desk: &Desk, wanted: &Wanted) -> Part {
    let base = format!("/s/{}", desk.card.id);
    let slice = &desk.slice;
    let query = wanted.query();
    // Notes between filtered commands would stand without what they speak of.
    let notes: &[_] = match wanted {
        Wanted { only: Some(_), .. } => &[],
        wanted if wanted.is_filtered() => &[],
        Wanted { after, .. } if after.is_some() => &[],
        _ => &desk.notes,
    };
    Part {
        items: rows::build(&desk.card, slice, notes, desk.understanding.as_deref()),
        earlier: (slice.earlier > 0 && wanted.after.is_none()).then(|| Link {
            href: format!("{base}{query}until={}#timeline", slice.earlier),
            words: words::counted(slice.earlier, "earlier command"),
        }),
        newer: wanted.until.map(|_| Link {
            href: format!("{base}{}#timeline", query.trim_end_matches(['?', '&'])),
            words: "Back to the newest".to_owned(),
        }),
        shown: words::counted(slice.matching, "command"),
        filtered: wanted.is_filtered(),
        newest: slice.rows.last().map_or(0, |row| row.number),
        base,
    }
}
