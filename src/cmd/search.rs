//! `rec search`: commands, output, notes and findings.

use std::io::IsTerminal;
use std::process::ExitCode;

use crate::cli::{Search, at_least_one};
use crate::cmd::desk::Desk;
use crate::cmd::paint::Paint;
use crate::cmd::verbs::{say, say_json};
use crate::diagnosis::words::{shorten, tame};
use crate::index::{self, BadQuery, Index, IndexError};
use crate::report::CommandError;
use crate::time::Micros;

/// `rec search QUERY`
///
/// # Errors
/// When the index cannot be read or made.
pub async fn run(desk: &Desk, args: &Search) -> Result<ExitCode, CommandError> {
    let Asked {
        mut query,
        limit,
        json,
    } = understand(args)?;
    if desk.named.is_some() {
        query = format!("session:{} {query}", desk.session(None).await?);
    }
    let told = |error| no_index(desk, error);
    let mut index = Index::open(desk.home.path()).map_err(told)?;
    index.catch_up(&desk.store).await.map_err(told)?;
    let search = index::Search {
        query: &query,
        limit,
        skip: 0,
        now: Micros::now(),
    };
    let hits = index
        .search(&desk.store, search)
        .await
        .map_err(|error| match error {
            IndexError::Query(BadQuery { problem, hint }) => {
                CommandError::usage(problem).hint(hint)
            }
            error => no_index(desk, error),
        })?;
    if json {
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
            0 if hits.unmet.is_empty() => "Nothing found.\n".to_owned(),
            0 => format!(
                "Nothing found: nothing on record has {}.\n",
                tame(&hits.unmet.join(" or "))
            ),
            1 => "1 hit\n".to_owned(),
            many => format!("{many} hits\n"),
        });
    }
    Ok(ExitCode::SUCCESS)
}

/// What to do about an index that does not answer.
fn no_index(desk: &Desk, error: IndexError) -> CommandError {
    match error {
        // A full disk fails in many ways, and no rebuild helps.
        _ if desk.store.disk_is_full() => {
            CommandError::from(anyhow::anyhow!("no space is left for the search index"))
                .hint("free some, then search again; `rec timeline` and `rec show` need none")
        }
        error @ (IndexError::Folder { .. } | IndexError::System(_)) => CommandError::from(error)
            .hint("search keeps its index in the home, which must be writable; `rec doctor` looks"),
        error => error.into(),
    }
}

/// The query and our options in it: they may stand behind the words as well.
struct Asked {
    query: String,
    limit: usize,
    json: bool,
}

/// Tells our own options from the text. What follows `--`, or is quoted, is text.
fn understand(args: &Search) -> Result<Asked, CommandError> {
    let (mut limit, mut json) = (args.limit, args.json);
    let mut text: Vec<&str> = Vec::new();
    let mut words = args.query.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let number = match word {
            "--" => {
                text.extend(words.by_ref());
                None
            }
            "--json" => {
                json = true;
                None
            }
            "--limit" => words.next().or(Some("")),
            _ => match word.strip_prefix("--limit=") {
                Some(number) => Some(number),
                None => {
                    text.push(word);
                    None
                }
            },
        };
        if let Some(number) = number {
            limit = at_least_one(number)
                .map_err(|why| CommandError::usage(format!("--limit `{number}`: {why}")))?;
        }
    }
    if text.iter().all(|text| text.trim().is_empty()) {
        return Err(CommandError::usage("nothing to search for")
            .hint("rec search WORDS…; to look for an option of ours: rec search -- --json"));
    }
    Ok(Asked {
        query: text.join(" "),
        limit,
        json,
    })
}

#[cfg(test)]
mod tests {
    use super::understand;
    use crate::cli::Search;

    #[test]
    fn our_options_may_stand_behind_the_words() {
        let asked = |words: &[&str]| {
            let args = Search {
                query: words.iter().map(|word| (*word).to_owned()).collect(),
                limit: 20,
                json: false,
            };
            understand(&args).map(|asked| (asked.query, asked.limit, asked.json))
        };
        let is = |query: &str, limit, json| Some((query.to_owned(), limit, json));
        assert_eq!(asked(&["--tp", "8", "--json"]).ok(), is("--tp 8", 20, true));
        assert_eq!(asked(&["a", "--limit", "3"]).ok(), is("a", 3, false));
        assert_eq!(asked(&["--limit=5", "a b"]).ok(), is("a b", 5, false));
        assert_eq!(asked(&["--", "--json"]).ok(), is("--json", 20, false));
        assert_eq!(asked(&["\"--json\""]).ok(), is("\"--json\"", 20, false));
        assert!(asked(&["a", "--limit", "0"]).is_err());
        assert!(asked(&["a", "--limit"]).is_err());
        assert!(asked(&["--json"]).is_err());
    }
}
