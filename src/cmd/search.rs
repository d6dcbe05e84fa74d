//! `rec search`: commands, output, notes and findings.

use std::io::IsTerminal;
use std::process::ExitCode;

use crate::cli::Search;
use crate::cmd::desk::Desk;
use crate::cmd::paint::Paint;
use crate::cmd::verbs::{say, say_json};
use crate::diagnosis::words::{shorten, tame};
use crate::index::{self, Index};
use crate::report::CommandError;
use crate::time::Micros;

/// `rec search QUERY`
///
/// # Errors
/// When the index cannot be read or made.
pub async fn run(desk: &Desk, args: &Search) -> Result<ExitCode, CommandError> {
    let query = args.query.join(" ");
    let mut index = Index::open(desk.home.path()).map_err(|error| {
        CommandError::from(error)
            .hint("search keeps its index in the home, which must be writable; `rec doctor` looks")
    })?;
    index.catch_up(&desk.store).await?;
    let search = index::Search {
        query: &query,
        limit: args.limit,
        skip: 0,
        now: Micros::now(),
    };
    let hits = index.search(&desk.store, search).await?;
    if args.json {
        say_json(&serde_json::to_value(&hits)?);
        return Ok(ExitCode::SUCCESS);
    }
    let paint = Paint::of_stdout(false);
    for hit in &hits.hits {
        let when = hit.at.as_deref().and_then(|at| at.get(..16)).unwrap_or("");
        let what = hit
            .number
            .map_or_else(|| hit.kind.clone(), |number| format!("#{number}"));
        say(&format!(
            "{}  {}  {}  {}\n",
            paint.bold(&what),
            paint.dim(&format!(
                "{} {}",
                hit.session.short(),
                when.replace('T', " ")
            )),
            tame(hit.target_host.as_deref().unwrap_or("")),
            shorten(&hit.line, paint.width.saturating_sub(44).max(24))
        ));
        if !hit.snippet.is_empty() {
            say(&format!(
                "      {}\n",
                shorten(&hit.snippet, paint.width.saturating_sub(6))
            ));
        }
    }
    if std::io::stdout().is_terminal() || hits.hits.is_empty() {
        say(&match hits.total {
            0 => "Nothing found.\n".to_owned(),
            1 => "1 hit\n".to_owned(),
            many => format!("{many} hits\n"),
        });
    }
    Ok(ExitCode::SUCCESS)
}
