//! `rec serve`: the pages.

use std::net::SocketAddr;
use std::process::ExitCode;

use crate::capture::home::Home;
use crate::cmd::desk::Desk;
use crate::cmd::verbs::say;
use crate::report::CommandError;
use crate::web::{self, ServeOptions};

/// Reads an address to listen on.
///
/// # Errors
/// When it is none.
pub fn address(text: &str) -> Result<SocketAddr, CommandError> {
    text.parse().map_err(|_| {
        CommandError::usage(format!("`{text}` is no address to listen on"))
            .hint("give an IP address and a port: --listen 127.0.0.1:7373")
    })
}

/// `rec serve`
///
/// # Errors
/// When the address cannot be listened on or the home cannot be opened.
pub async fn run(listen: &str) -> Result<ExitCode, CommandError> {
    let listen = address(listen)?;
    let desk = Desk::open().await?;
    let home = desk.home.clone();
    desk.close().await;
    at(&home, listen).await
}

/// Serves a home at an address until Ctrl-C.
///
/// # Errors
/// As [`run`].
pub async fn at(home: &Home, listen: SocketAddr) -> Result<ExitCode, CommandError> {
    let options = ServeOptions {
        home: home.path().to_path_buf(),
        listen,
        token: std::env::var("REC_TOKEN")
            .ok()
            .filter(|token| !token.is_empty()),
        own_playbooks: crate::projection::library::own_folder(),
        names: Vec::new(),
    };
    web::serve(options, |url| {
        say(&format!("Open {url} — Ctrl-C ends it\n"));
    })
    .await?;
    Ok(ExitCode::SUCCESS)
}
