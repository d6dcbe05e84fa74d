//! `rec serve`: the pages.
//!
//! A page is a handler and a page struct side by side (`web/sessions.rs` and
//! `templates/sessions.html`): the handler extracts, calls [`data`] once, and builds the struct, which
//! holds ready values. Everything recorded is hostile text: templates escape it, and output becomes
//! HTML only in [`ansi`] through [`markup::Markup`]. [`guard`] stands before every page.

pub mod ansi;
pub mod assets;
pub mod chips;
pub mod command;
pub mod data;
pub mod failure;
pub mod guard;
pub mod judge;
pub mod know;
pub mod live;
pub mod login;
pub mod markup;
pub mod output;
pub mod page;
pub mod playbooks;
pub mod postmortem;
pub mod rows;
pub mod search;
pub mod session;
pub mod sessions;
pub mod words;

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;

use crate::capture::sys;
use data::Data;
use failure::Failure;
use guard::Guard;

/// What `rec serve` is asked for.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The home with the store.
    pub home: PathBuf,
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The token to ask for. Without one, a random one is made where the address is not loopback.
    pub token: Option<String>,
    /// The folder of a person's own playbooks.
    pub own_playbooks: Option<PathBuf>,
    /// Host names to answer to, besides those of this machine.
    pub names: Vec<String>,
}

/// Why pages cannot be served.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot listen on {listen}: {}", why_not_there(why))]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// The system's reason.
        why: std::io::Error,
    },
    /// The system gave no randomness for a token.
    #[error("no token could be made")]
    Token(#[source] std::io::Error),
    /// The home cannot be read.
    #[error("{0}")]
    Home(String),
    /// The server stopped by itself.
    #[error("the server stopped")]
    Stopped(#[source] std::io::Error),
}

/// What every handler gets.
#[derive(Debug, Clone)]
pub struct Site {
    /// The data.
    pub data: Data,
    /// Who may read.
    pub guard: Guard,
    /// Turns true when the server stops, so that open streams end.
    pub stop: watch::Receiver<bool>,
}

/// All routes, behind the guard.
pub fn router(site: Site) -> Router {
    let check = middleware::from_fn_with_state(site.guard.clone(), guard::check);
    Router::new()
        .route("/", get(sessions::show))
        .route("/s/{session}", get(session::show))
        .route("/s/{session}/rows", get(session::rows))
        .route("/s/{session}/know", get(session::know))
        .route("/s/{session}/events", get(live::events))
        .route("/s/{session}/notes", post(judge::note))
        .route("/s/{session}/findings/{finding}", post(judge::finding))
        .route("/s/{session}/postmortem", get(postmortem::show))
        .route("/s/{session}/postmortem.md", get(postmortem::download))
        .route("/s/{session}/{number}", get(command::show))
        .route("/s/{session}/{number}/opened", get(command::opened))
        .route("/s/{session}/{number}/raw/{stream}", get(command::raw))
        .route("/search", get(search::show))
        .route("/playbooks", get(playbooks::list))
        .route("/playbooks/{id}", get(playbooks::show))
        .route("/login", get(login::show).post(login::send))
        .route("/static/{*path}", get(assets::asset))
        .fallback(async || Failure::no_page())
        .layer(middleware::from_fn_with_state(site.data.clone(), current))
        .layer(middleware::from_fn(in_words))
        .layer(CompressionLayer::new())
        .layer(CatchPanicLayer::new())
        .layer(check)
        .with_state(site)
}

/// Why an address cannot be listened on, and what to do.
fn why_not_there(source: &std::io::Error) -> String {
    match source.kind() {
        std::io::ErrorKind::AddrInUse => {
            "something listens there already, perhaps another `rec serve`; --listen takes another \
             port"
                .to_owned()
        }
        std::io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address; --listen 127.0.0.1:7373 is its own, \
             --listen 0.0.0.0:7373 is all it has"
                .to_owned()
        }
        std::io::ErrorKind::PermissionDenied => {
            "this user may not; ports from 1024 on are free to use".to_owned()
        }
        _ => format!("{}; --listen takes another address", sys::words(source)),
    }
}

/// What a handler cannot make sense of is answered with a page of ours.
async fn in_words(request: Request, next: Next) -> Response {
    let asks = matches!(*request.method(), Method::GET | Method::HEAD);
    let response = next.run(request).await;
    let is_bare = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if asks && is_bare && response.status() == StatusCode::BAD_REQUEST {
        return Failure::bad_request(
            "This address does not read.",
            "It may have been cut short or changed when it was copied. Start from the sessions, or \
             search.",
        )
        .into_response();
    }
    response
}

/// Pages of a database that is another one by now would show what is no longer there.
async fn current(State(data): State<Data>, request: Request, next: Next) -> Response {
    if data.is_replaced() && !request.uri().path().starts_with("/static/") {
        return Failure::replaced().into_response();
    }
    next.run(request).await
}

/// A server that listens, and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    site: Site,
    stop: watch::Sender<bool>,
    address: SocketAddr,
    token: Option<String>,
}

impl Server {
    /// Opens the home and listens.
    ///
    /// # Errors
    /// When the home cannot be read or the address cannot be listened on.
    pub async fn bind(options: ServeOptions) -> Result<Self, ServeError> {
        let token = match options.token {
            None if !options.listen.ip().is_loopback() => {
                Some(guard::fresh_token().map_err(ServeError::Token)?)
            }
            given => given,
        };
        let data = Data::open(&options.home, options.own_playbooks)
            .await
            .map_err(|failure| ServeError::Home(failure.what))?;
        let listen = options.listen;
        let cannot = |why| ServeError::Listen { listen, why };
        let listener = TcpListener::bind(listen).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let (stop, stopped) = watch::channel(false);
        Ok(Self {
            site: Site {
                data,
                guard: Guard::new(address, &options.names, token.as_deref()),
                stop: stopped,
            },
            listener,
            stop,
            address,
            token,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address to open in a browser; it holds the token where one is asked for.
    pub fn url(&self) -> String {
        let address = guard::reached_at(self.address);
        match &self.token {
            None => format!("http://{address}/"),
            Some(token) => format!("http://{address}/login?token={token}"),
        }
    }

    /// Answers until `until` is done, then ends open streams and finishes what runs.
    ///
    /// # Errors
    /// When the listening socket fails.
    pub async fn run(
        self,
        until: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServeError> {
        let stop = self.stop;
        let data = self.site.data.clone();
        let follower = data.follow();
        let answer =
            axum::serve(self.listener, router(self.site)).with_graceful_shutdown(async move {
                until.await;
                stop.send_replace(true);
            });
        let ended = answer.await.map_err(ServeError::Stopped);
        follower.abort();
        data.close().await;
        ended
    }
}

/// Serves pages until Ctrl-C. `announce` is told the address to open.
///
/// # Errors
/// When the home cannot be read, or the address cannot be listened on.
pub async fn serve(options: ServeOptions, announce: impl FnOnce(&str)) -> Result<(), ServeError> {
    let server = Server::bind(options).await?;
    announce(&server.url());
    server
        .run(async {
            // Without a handler for it, Ctrl-C ends the process by itself.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
        .await
}
