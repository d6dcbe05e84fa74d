//! What went wrong, as a page: what happened, where, and what to do.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::store::StoreError;

use super::page::{Frame, html};

/// Why a page cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The HTTP status.
    pub status: StatusCode,
    /// In one sentence.
    pub what: String,
    /// What to do now.
    pub hint: String,
}

impl Failure {
    /// Nothing is at that address.
    pub fn no_page() -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            what: "There is no page at this address.".to_owned(),
            hint: "Start from the sessions, or search for a command or a line of output."
                .to_owned(),
        }
    }

    /// No session has that id.
    pub fn no_session(key: &str) -> Self {
        Self::not_found("session", key)
    }

    /// No command has that number.
    pub fn no_command(key: &str) -> Self {
        Self::not_found("command", key)
    }

    /// No thing of that kind has that name.
    pub fn not_found(kind: &str, key: &str) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            what: format!(
                "No {kind} here is called “{}”.",
                super::words::shorten(key, 60)
            ),
            hint: "It may have been recorded in another home (REC_HOME), or the address was cut \
                   short when it was copied. Start from the sessions, or search."
                .to_owned(),
        }
    }

    /// The store or another part failed.
    pub fn broken(what: &str, reason: &dyn std::fmt::Display) -> Self {
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            what: format!("{what}: {reason}."),
            hint: "`rec doctor` says what is wrong with the home; `rec rebuild` makes everything \
                   derived anew. What was recorded is safe: pages only read it."
                .to_owned(),
        }
    }

    /// The database is another one by now.
    pub fn replaced() -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            what: "The database was removed or replaced while these pages were open: what they \
                   would show is no longer on record."
                .to_owned(),
            hint: "Stop this `rec serve` and start it again; `rec doctor` says what became of the \
                   database."
                .to_owned(),
        }
    }

    /// What was sent makes no sense here.
    pub fn bad_request(what: &str, hint: &str) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            what: what.to_owned(),
            hint: hint.to_owned(),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { what, text } => Self::not_found(what, &text),
            StoreError::Empty { what } => Self::not_found(what, "last"),
            error @ StoreError::Ambiguous { .. } => Self {
                status: StatusCode::NOT_FOUND,
                what: format!("{error}."),
                hint: "Use a longer part of the id.".to_owned(),
            },
            error => Self::broken("The record does not answer", &error),
        }
    }
}

/// The page of a [`Failure`].
#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage {
    frame: Frame,
    code: u16,
    what: String,
    hint: String,
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let page = FailurePage {
            frame: Frame::new("Not shown", ""),
            code: self.status.as_u16(),
            what: self.what,
            hint: self.hint,
        };
        (self.status, html(&page)).into_response()
    }
}
