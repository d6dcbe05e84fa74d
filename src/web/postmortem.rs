//! `/s/{session}/postmortem`: the write-up, as a page and as Markdown.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::Site;
use super::failure::Failure;
use super::markup::{Markup, plain};
use super::page::{Frame, html};

#[derive(Template)]
#[template(path = "postmortem.html")]
struct PostmortemPage {
    frame: Frame,
    session: String,
    title: Markup,
    body: Markup,
}

/// `GET /s/{session}/postmortem`
pub(super) async fn show(
    State(site): State<Site>,
    Path(key): Path<String>,
) -> Result<Response, Failure> {
    let (card, text) = site.data.postmortem(&key).await?;
    Ok(html(&PostmortemPage {
        frame: Frame::new(&format!("Postmortem · {}", card.title), "sessions"),
        session: format!("/s/{}", card.id),
        title: plain(&card.title),
        body: markdown(&text),
    }))
}

/// `GET /s/{session}/postmortem.md`
pub(super) async fn download(
    State(site): State<Site>,
    Path(key): Path<String>,
) -> Result<Response, Failure> {
    let (_, text) = site.data.postmortem(&key).await?;
    let headers = [
        (header::CONTENT_TYPE, "text/markdown; charset=utf-8"),
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"postmortem.md\"",
        ),
    ];
    Ok((headers, text).into_response())
}

/// Markdown as HTML. Raw HTML in it is dropped and links of dangerous schemes lead nowhere.
pub fn markdown(text: &str) -> Markup {
    let mut options = comrak::Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.tasklist = true;
    options.extension.autolink = true;
    options.render.r#unsafe = false;
    Markup::of_comrak(comrak::markdown_to_html(text, &options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_keeps_tables_and_drops_what_could_run() {
        let html = markdown("| a |\n|--|\n| b |\n\n<script>x</script> [l](javascript:alert(1))");
        assert!(html.as_str().contains("<table>"));
        assert!(!html.as_str().contains("<script"));
        assert!(!html.as_str().contains("javascript:"));
    }
}
