//! Static files, embedded in the program, with an ETag of their content.

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::failure::Failure;

#[derive(rust_embed::Embed)]
#[folder = "static/"]
struct Static;

/// `GET /static/{path}`
pub(super) async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Response {
    let Some(file) = Static::get(&path) else {
        return Failure::no_page().into_response();
    };
    let hash = blake3::hash(&file.data).to_hex();
    let etag = format!("\"{}\"", hash.get(..16).unwrap_or_default());
    let known = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|given| given.as_bytes() == etag.as_bytes());
    let cached = [
        (header::ETAG, etag),
        (header::CACHE_CONTROL, "no-cache".to_owned()),
    ];
    if known {
        return (StatusCode::NOT_MODIFIED, cached).into_response();
    }
    let kind = [(header::CONTENT_TYPE, file.metadata.mimetype().to_owned())];
    (cached, kind, file.data.into_owned()).into_response()
}
