//! `/s/{session}/events`: server-sent events that say that a session has something new.

use std::convert::Infallible;

use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::Stream;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::{BroadcastStream, WatchStream};

use super::Site;
use super::failure::Failure;

/// `GET /s/{session}/events`
///
/// The data is the number of the newest event; the page fetches what it lacks. Missed events do no
/// harm, since the next one leads to the same fetch. The stream ends when the server stops.
pub(super) async fn events(
    State(site): State<Site>,
    Path(key): Path<String>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Failure> {
    let session = site.data.session(&key).await?.id;
    let changes = BroadcastStream::new(site.data.changes()).filter_map(move |change| {
        let seq = match change {
            Ok(change) if change.session == session => change.seq,
            Ok(_) => return None,
            Err(_) => 0,
        };
        Some(Event::default().event("changed").data(seq.to_string()))
    });
    let stop = WatchStream::from_changes(site.stop).map(|_| None);
    let hello = tokio_stream::once(Some(Event::default().event("hello").data("")));
    let stream = hello
        .chain(changes.map(Some).merge(stop))
        .take_while(Option::is_some)
        .filter_map(|event| event.map(Ok));
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()))
}
