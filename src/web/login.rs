//! `/login`: gives the token that `rec serve` printed, when it listens beyond this machine.

use askama::Template;
use axum::Form;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::Site;
use super::guard;
use super::page::{Frame, html};

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    frame: Frame,
    problem: String,
}

/// What the form sends.
#[derive(Debug, Deserialize)]
pub(super) struct Given {
    token: Option<String>,
}

/// The page that asks for the token.
pub(super) fn ask(status: StatusCode, problem: &str) -> Response {
    let page = LoginPage {
        frame: Frame::new("Token", ""),
        problem: problem.to_owned(),
    };
    (status, html(&page)).into_response()
}

/// `GET /login`, with the token in the address that `rec serve` prints.
pub(super) async fn show(State(site): State<Site>, Query(given): Query<Given>) -> Response {
    match given.token {
        Some(token) => enter(&site, &token),
        None => ask(StatusCode::OK, ""),
    }
}

/// `POST /login`
pub(super) async fn send(State(site): State<Site>, Form(given): Form<Given>) -> Response {
    enter(&site, given.token.unwrap_or_default().trim())
}

fn enter(site: &Site, token: &str) -> Response {
    // The cookie is built from the token, so it must hold nothing but hex.
    let is_plain = token.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_plain || !site.guard.is_token(token) {
        return ask(
            StatusCode::UNAUTHORIZED,
            "That is not the token of this server. It prints a new one each time it starts.",
        );
    }
    (
        [(header::SET_COOKIE, guard::cookie(token))],
        Redirect::to("/"),
    )
        .into_response()
}
