//! What all pages share: the frame around them, and how they are sent.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::diagnosis::words::tame;

/// The frame of a page.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The title of the window.
    pub title: String,
    /// Which entry of the navigation is current: `sessions`, `search`, `playbooks` or none.
    pub here: &'static str,
    /// What stands in the search field.
    pub query: String,
    /// The version of the program.
    pub version: &'static str,
}

impl Frame {
    /// A frame with that title.
    pub fn new(title: &str, here: &'static str) -> Self {
        Self {
            title: tame(title),
            here,
            query: String::new(),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// Sends a page, or a part of one.
pub fn html<T: Template>(page: &T) -> Response {
    match page.render() {
        Ok(text) => (
            [
                (header::CONTENT_TYPE, "text/html; charset=utf-8"),
                (header::CACHE_CONTROL, "no-store"),
            ],
            text,
        )
            .into_response(),
        Err(error) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("the page could not be written: {error}\n"),
        )
            .into_response(),
    }
}
