//! From a parsed line to a verb, and from its answer to standard output.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::process::ExitCode;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::capture::home::Home;
use crate::capture::sys;
use crate::cli::{self, ExportForm, PlaybookVerb, SeverityArg, Verb};
use crate::cmd::desk::Desk;
use crate::cmd::paint::Paint;
use crate::cmd::run::RunOptions;
use crate::cmd::timeline as listing;
use crate::cmd::{explain, judge, next, playbook, sessions, show, whole, why};
use crate::diagnosis::words::tame;
use crate::diagnosis::{Diagnosis, Severity, Status};
use crate::event::Stream;
use crate::id::SessionId;
use crate::probe::{self, Look};
use crate::projection::mend;
use crate::projection::missing::missing;
use crate::projection::{self, SessionView};
use crate::report::{self, CommandError};
use crate::store::{self, Page};
use crate::timeline::Entry;

type Outcome = Result<ExitCode, CommandError>;

/// Runs a verb: `args` is the whole line, the program's name first, without the options that stood
/// before the verb.
pub fn main(options: &RunOptions, args: Vec<OsString>) -> ExitCode {
    let args = match plain_words(args) {
        Ok(args) => args,
        Err(error) => {
            complain(&error.render());
            return ExitCode::from(error.code());
        }
    };
    let mut mended = false;
    loop {
        let colour = Paint::of_stdout(false).colour;
        let verb = match cli::read(args.clone(), colour) {
            Ok(line) => line.verb,
            Err((text, true)) => {
                complain(text.trim_end());
                return ExitCode::from(2);
            }
            Err((text, false)) => {
                say(&text);
                return written(ExitCode::SUCCESS);
            }
        };
        // A script that asks whether to raise an alarm must not take our trouble for one.
        let asks = matches!(&verb, Verb::Why(args) if args.fail_on.is_some());
        let outcome = match store::block_on(dispatch(verb, options.session.clone())) {
            Ok(outcome) => outcome,
            Err(error) => Err(error.into()),
        };
        match outcome {
            Ok(code) => return written(code),
            // Damage in the middle of the file shows only when that part is read.
            Err(error) if !mended && mend_for(&error) => mended = true,
            Err(error) => {
                complain(&error.render());
                return ExitCode::from(if asks { 2 } else { error.code() });
            }
        }
    }
}

/// Where a verb failed because the database is damaged: puts a new one in its place. Whether the
/// verb is worth another try.
fn mend_for(error: &CommandError) -> bool {
    let (Some(why), Ok(home)) = (report::damage(error), Home::find()) else {
        return false;
    };
    let mended = store::block_on(mend::set_aside(&home, why));
    matches!(mended, Ok(Ok(true)))
}

/// Verbs whose words are kept for what is to come.
const RESERVED: &[&str] = &["shell", "changes", "replay", "mcp"];

/// `help` and `version` as their options; a verb that is not built says so.
fn plain_words(mut args: Vec<OsString>) -> Result<Vec<OsString>, CommandError> {
    let verb = args
        .get(1)
        .and_then(|word| word.to_str())
        .unwrap_or_default();
    match verb {
        "help" => {
            args.remove(1);
            args.push(OsString::from("--help"));
        }
        "version" => args[1] = OsString::from("--version"),
        _ if RESERVED.contains(&verb) => {
            return Err(
                CommandError::usage(format!("`rec {verb}` is not built yet"))
                    .hint(format!("to record a program of that name: rec -- {verb} …")),
            );
        }
        _ => {}
    }
    Ok(args)
}

/// What kept standard output from being written.
static UNWRITTEN: OnceLock<std::io::Error> = OnceLock::new();

/// Writes to standard output; a reader that left is no failure. Anything else is told, and makes the
/// verb fail, when it is done.
pub fn say(text: &str) {
    say_bytes(text.as_bytes());
}

fn say_bytes(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(bytes).and_then(|()| out.flush())
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        UNWRITTEN.set(error).ok();
    }
}

/// The exit code, given that standard output was written or not.
fn written(code: ExitCode) -> ExitCode {
    let closed;
    let error = match UNWRITTEN.get() {
        Some(error) => error,
        None if sys::was_closed(1) => {
            closed = std::io::Error::other("it is closed");
            &closed
        }
        None => return code,
    };
    complain(&format!(
        "rec: standard output could not be written ({}): what was said is not all there",
        sys::words(error)
    ));
    ExitCode::FAILURE
}

/// Writes JSON to standard output.
pub fn say_json(value: &Value) {
    say(&format!("{value:#}\n"));
}

/// Writes a line to standard error; nothing in it steers the terminal.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", report::plain(text));
}

/// Whether a verb is about one session, which `--session` before it may name.
fn is_of_a_session(verb: &Verb) -> bool {
    match verb {
        Verb::Why(_)
        | Verb::Next(_)
        | Verb::Timeline(_)
        | Verb::Show(_)
        | Verb::End(_)
        | Verb::Note(_)
        | Verb::Confirm(_)
        | Verb::Dismiss(_)
        | Verb::Search(_)
        | Verb::Postmortem(_)
        | Verb::Export(_)
        | Verb::Forget(_) => true,
        Verb::Playbook(args) => {
            matches!(args.verb, PlaybookVerb::WhyNot(_) | PlaybookVerb::New(_))
        }
        Verb::Sessions(_)
        | Verb::New(_)
        | Verb::Use(_)
        | Verb::Import(_)
        | Verb::Serve(_)
        | Verb::Verify(_)
        | Verb::Rebuild(_)
        | Verb::Doctor(_)
        | Verb::Demo(_) => false,
    }
}

/// Whether a verb is for writing something into the record.
fn writes(verb: &Verb) -> bool {
    matches!(
        verb,
        Verb::New(_)
            | Verb::End(_)
            | Verb::Note(_)
            | Verb::Confirm(_)
            | Verb::Dismiss(_)
            | Verb::Import(_)
            | Verb::Rebuild(_)
            | Verb::Forget(_)
    )
}

async fn dispatch(verb: Verb, session: Option<String>) -> Outcome {
    if session.is_some() && !is_of_a_session(&verb) {
        return Err(CommandError::usage(
            "this verb is not about one session: it takes no --session",
        )
        .hint("leave `--session` out"));
    }
    match verb {
        Verb::Playbook(cli::PlaybookArgs {
            verb: PlaybookVerb::WhyNot(args),
        }) => {
            let desk = Desk::open_for(session).await?;
            desk.tell_if_full();
            let outcome = why_not_verb(&desk, &args).await;
            desk.close().await;
            outcome
        }
        Verb::Playbook(args) => playbook_verb(args.verb, session).await,
        Verb::Demo(args) => crate::cmd::demo::run(&args).await,
        Verb::Serve(args) => crate::cmd::serve::run(&args.listen).await,
        Verb::Doctor(args) => crate::cmd::doctor::run(args.json).await,
        Verb::Next(args) if args.run.is_some() => {
            let desk = Desk::open_for(session).await?;
            desk.tell_if_full();
            let found = look_to_run(&desk, &args).await;
            desk.close().await;
            let (session, line) = found?;
            Err(record_look(session, &line))
        }
        other => {
            let desk = Desk::open_for(session).await?;
            if !writes(&other) {
                desk.tell_if_full();
            }
            let outcome = with_desk(&desk, other).await;
            desk.close().await;
            outcome
        }
    }
}

async fn with_desk(desk: &Desk, verb: Verb) -> Outcome {
    match verb {
        Verb::Why(args) => why_verb(desk, &args).await,
        Verb::Next(args) => next_verb(desk, &args).await,
        Verb::Timeline(args) => {
            let view = desk
                .view(desk.session(args.session.as_deref()).await?)
                .await?;
            // The timeline needs the event log alone: what follows from it may be missing.
            let diagnosis = desk.diagnose(&view).await.ok();
            if args.json {
                say_json(&listing::to_json(&view, diagnosis.as_ref()));
            } else {
                say(&listing::render(
                    &view,
                    diagnosis.as_ref(),
                    Paint::of_stdout(args.utc),
                ));
            }
            Ok(ExitCode::SUCCESS)
        }
        Verb::Show(args) => show_verb(desk, &args).await,
        Verb::Sessions(args) => sessions_verb(desk, args.limit, args.json).await,
        Verb::New(args) => {
            let id = judge::new(desk, &args.title).await?;
            if args.json {
                say_json(&json!({"format": 1, "ok": true, "session": id}));
            } else {
                say(&format!("{id}\n"));
            }
            Ok(ExitCode::SUCCESS)
        }
        Verb::Use(args) => {
            let id = judge::choose(desk, &args.session).await?;
            if let Some(title) = desk.store.session_row(id).await?.and_then(|row| row.title) {
                complain(&format!(
                    "rec: commands on this terminal go to “{}”",
                    tame(&title)
                ));
            }
            say(&format!("{id}\n"));
            Ok(ExitCode::SUCCESS)
        }
        Verb::End(args) => {
            let id = judge::end(desk).await?;
            if args.json {
                say_json(&json!({"format": 1, "ok": true, "session": id}));
            } else {
                say(&format!("closed {}\n", id.short()));
            }
            Ok(ExitCode::SUCCESS)
        }
        Verb::Note(args) => {
            judge::note(desk, args.session.as_deref(), &args.text.join(" ")).await?;
            Ok(ExitCode::SUCCESS)
        }
        Verb::Confirm(args) => {
            let title = judge::confirm(
                desk,
                args.session.as_deref(),
                &args.finding,
                args.hypothesis,
            )
            .await?;
            say(&format!("confirmed: {}\n", tame(&title)));
            Ok(ExitCode::SUCCESS)
        }
        Verb::Dismiss(args) => {
            let title =
                judge::dismiss(desk, args.session.as_deref(), &args.finding, &args.because).await?;
            say(&format!("dismissed: {}\n", tame(&title)));
            Ok(ExitCode::SUCCESS)
        }
        Verb::Search(args) => crate::cmd::search::run(desk, &args).await,
        Verb::Postmortem(args) => {
            let view = desk
                .view(desk.session(args.session.as_deref()).await?)
                .await?;
            let diagnosis = desk.diagnose(&view).await?;
            let text = projection::postmortem::draft(&view, &diagnosis);
            to_file_or_stdout(args.output.as_deref(), text.as_bytes())
        }
        Verb::Import(args) => crate::cmd::import::run(desk, &args).await,
        Verb::Export(args) => {
            let id = desk.session(Some(&args.session)).await?;
            let mut text = Vec::new();
            match args.form {
                ExportForm::Jsonl => {
                    crate::export::jsonl::write(&desk.store, id, &mut text).await?;
                }
                ExportForm::Markdown => {
                    crate::export::markdown::write(&desk.store, id, &mut text).await?;
                }
            }
            to_file_or_stdout(args.output.as_deref(), &text)
        }
        Verb::Verify(args) => crate::cmd::keep::verify(desk, args.json).await,
        Verb::Rebuild(args) => crate::cmd::keep::rebuild(desk, args.json).await,
        Verb::Forget(args) => {
            crate::cmd::keep::forget(desk, args.session.as_deref(), &args.command).await
        }
        Verb::Playbook(_) | Verb::Demo(_) | Verb::Serve(_) | Verb::Doctor(_) => {
            Ok(ExitCode::SUCCESS) // handled before a desk is opened
        }
    }
}

fn to_file_or_stdout(path: Option<&std::path::Path>, bytes: &[u8]) -> Outcome {
    match path {
        Some(path) => whole::write(path, bytes).map_err(|error| {
            CommandError::from(error_at(path, &error)).hint(if sys::is_full(&error) {
                "free some, or name another file with -o"
            } else {
                "name another file with -o"
            })
        })?,
        None => {
            say_bytes(bytes);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn error_at(path: &std::path::Path, error: &std::io::Error) -> anyhow::Error {
    anyhow::anyhow!("cannot write {}: {}", path.display(), sys::words(error))
}

async fn why_not_verb(desk: &Desk, args: &cli::WhyNot) -> Outcome {
    let id = desk.session(args.session.as_deref()).await?;
    let view = desk.view(id).await?;
    let (playbook, stopped) = explain::why_not(desk, &view, &args.id).await?;
    if args.json {
        say_json(&explain::why_not_json(&view, &playbook, &stopped)?);
    } else {
        let paint = Paint::of_stdout(false);
        say(&explain::render_why_not(&playbook, &stopped, paint));
    }
    Ok(ExitCode::SUCCESS)
}

async fn explain_finding(desk: &Desk, view: &SessionView, args: &cli::Why, text: &str) -> Outcome {
    let explained = explain::finding(desk, view, text).await?;
    if args.json {
        let mut answer = serde_json::to_value(&explained)?;
        answer["format"] = json!(1);
        answer["session"] = json!(view.id);
        say_json(&answer);
    } else {
        say(&explain::render(&explained, Paint::of_stdout(args.utc)));
    }
    Ok(ExitCode::SUCCESS)
}

async fn why_verb(desk: &Desk, args: &crate::cli::Why) -> Outcome {
    let view = desk
        .view(desk.session(args.session.as_deref()).await?)
        .await?;
    if let Some(text) = &args.explain {
        return explain_finding(desk, &view, args, text).await;
    }
    let diagnosis = desk.diagnose(&view).await?;
    if args.json {
        let mut answer = serde_json::to_value(&diagnosis)?;
        answer["missing"] = serde_json::to_value(missing(&view))?;
        say_json(&answer);
    } else {
        let paint = Paint::of_stdout(args.utc);
        say(&why::render(&diagnosis, &listing::heading(&view), paint));
    }
    if let Some(broken) = crate::cmd::desk::broken_own() {
        complain(&format!("rec: {broken}"));
    }
    let alarm = args.fail_on.is_some_and(|least| severe(&diagnosis, least));
    Ok(ExitCode::from(u8::from(alarm)))
}

/// Whether an open finding is at least this severe.
fn severe(diagnosis: &Diagnosis, least: SeverityArg) -> bool {
    let least = match least {
        SeverityArg::Info => Severity::Info,
        SeverityArg::Low => Severity::Low,
        SeverityArg::Medium => Severity::Medium,
        SeverityArg::High => Severity::High,
        SeverityArg::Critical => Severity::Critical,
    };
    diagnosis.findings.iter().any(|finding| {
        matches!(finding.status, Status::Open | Status::Confirmed)
            && finding.severity >= least
            && !crate::diagnosis::kinds::harmless(&finding.kind)
    })
}

async fn next_verb(desk: &Desk, args: &crate::cli::Next) -> Outcome {
    let id = desk.session(args.session.as_deref()).await?;
    let view = desk.view(id).await?;
    let diagnosis = desk.diagnose(&view).await?;
    if args.json {
        say_json(&json!({"format": 1, "session": id, "next": diagnosis.next}));
    } else {
        let piped = !std::io::stdout().is_terminal();
        say(&next::render(
            &diagnosis.next,
            Paint::of_stdout(false),
            piped,
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// `rec next --run ID`: the line a person says is to be run; it is read-only.
async fn look_to_run(
    desk: &Desk,
    args: &crate::cli::Next,
) -> Result<(SessionId, String), CommandError> {
    let session = desk.session(args.session.as_deref()).await?;
    let view = desk.view(session).await?;
    let diagnosis = desk.diagnose(&view).await?;
    let wanted = args.run.as_deref().unwrap_or_default();
    let all = diagnosis
        .findings
        .iter()
        .flat_map(|finding| &finding.next)
        .chain(&diagnosis.next);
    let unchecked = diagnosis.postconditions.iter().map(|one| &one.probe);
    let mut found = all
        .chain(unchecked)
        .filter(|one| one.id.starts_with(wanted));
    let Some(suggestion) = found.next() else {
        return Err(CommandError::usage(format!("no suggestion `{wanted}`"))
            .hint("`rec next --json` lists them with their ids"));
    };
    if suggestion.safety != "read-only" {
        return Err(CommandError::usage(format!(
            "`{}` is not run for you: it is {}",
            suggestion.line, suggestion.safety
        ))
        .hint("paste it behind `rec` yourself if that is what you want"));
    }
    if crate::redact::holds_mask(&suggestion.line) {
        return Err(CommandError::usage(format!(
            "`{}` is not run: a secret in it is masked",
            suggestion.line
        ))
        .hint("type it anew, with the secret, behind `rec`"));
    }
    Ok((session, suggestion.line.clone()))
}

/// Records a look in this process's place: the recorder minds signals, so it shares a process with no
/// threads of the database. Comes back only when that cannot be done.
fn record_look(session: SessionId, line: &str) -> CommandError {
    let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
    let error = std::env::current_exe().map(|rec| {
        std::process::Command::new(rec)
            .args(["--session", &session.to_string(), "--", &shell, "-c", line])
            .exec()
    });
    let error = error.unwrap_or_else(|error| error);
    CommandError::from(anyhow::Error::from(error).context("cannot start the recorder"))
        .hint(format!("run it yourself:  rec {line}"))
}

async fn show_verb(desk: &Desk, args: &crate::cli::Show) -> Outcome {
    let session = desk.session(args.session.as_deref()).await?;
    let found = desk
        .store
        .find_command(session, &args.command)
        .await
        .map_err(|error| CommandError {
            kind: crate::report::Kind::Usage,
            ..error.into()
        })?;
    let streams = desk.store.outputs(found.id).await?;
    let only = [
        (args.stdout, Stream::Stdout),
        (args.stderr, Stream::Stderr),
        (args.tty, Stream::Tty),
    ];
    if let Some((_, wanted)) = only.into_iter().find(|(asked, _)| *asked) {
        let bytes = streams.into_iter().find(|(stream, _)| *stream == wanted);
        return to_file_or_stdout(None, &bytes.map(|(_, bytes)| bytes).unwrap_or_default());
    }
    let view: SessionView = desk.view_or_log(found.session).await?;
    let place = view
        .commands
        .iter()
        .position(|command| command.id == found.id);
    let Some(place) = place else {
        return Err(CommandError::from(anyhow::anyhow!(
            "command {} has no start on record",
            found.id
        )));
    };
    let command = &view.commands[place];
    let borrowed: Vec<(Stream, &[u8])> = streams
        .iter()
        .map(|(stream, bytes)| (*stream, bytes.as_slice()))
        .collect();
    let reading = probe::read(&Look {
        tree: &command.tree,
        host: &command.host,
        exit: command.exit,
        streams: &borrowed,
    });
    let timeline = projection::judge::timeline(&view, crate::time::Micros::now());
    let derived: Vec<Entry> = timeline
        .entries
        .into_iter()
        .filter(|entry| entry.stream.is_none() && timeline.commands[entry.command].id == command.id)
        .collect();
    let shown = show::Shown {
        derived: &derived,
        command,
        session: found.session,
        relative: view.relative_time,
        reading: &reading,
        streams: &streams,
        gap_bytes: view.details[place].gap_bytes,
    };
    if args.json {
        say_json(&show::to_json(&shown));
    } else {
        say(&show::render(&shown, Paint::of_stdout(false)));
    }
    Ok(ExitCode::SUCCESS)
}

async fn sessions_verb(desk: &Desk, limit: usize, in_json: bool) -> Outcome {
    let limit = u32::try_from(limit).unwrap_or(u32::MAX);
    let mut listed = Vec::new();
    for row in desk.store.sessions(Page { skip: 0, limit }).await? {
        let view = desk.view(row.id).await?;
        let diagnosis = desk.diagnose(&view).await.ok();
        listed.push(sessions::Listed {
            row,
            commands: view.commands.len(),
            diagnosis,
        });
    }
    if in_json {
        say_json(&sessions::to_json(&listed));
    } else {
        say(&sessions::render(&listed, Paint::of_stdout(false)));
    }
    Ok(ExitCode::SUCCESS)
}

async fn playbook_verb(verb: PlaybookVerb, session: Option<String>) -> Outcome {
    let paint = Paint::of_stdout(false);
    let (answer, in_json) = match verb {
        PlaybookVerb::Show { id } => {
            let text = playbook::show(&id)?;
            // In a file or a pipe it is as it was written.
            if std::io::stdout().is_terminal() {
                say(&report::plain(&text));
            } else {
                say(&text);
            }
            return Ok(ExitCode::SUCCESS);
        }
        PlaybookVerb::Schema => {
            say_json(&crate::playbook::schema::schema());
            return Ok(ExitCode::SUCCESS);
        }
        // Sent on before: it needs the record.
        PlaybookVerb::WhyNot(_) => return Ok(ExitCode::SUCCESS),
        PlaybookVerb::List(args) => (playbook::list(paint), args.json),
        PlaybookVerb::Lint(args) => (playbook::lint(&args.paths)?, args.json),
        PlaybookVerb::Test(args) => (playbook::test(&args.paths, paint)?, args.json),
        PlaybookVerb::Stats(args) => {
            let desk = Desk::open().await?;
            let answer = playbook::stats::stats(&desk, paint).await;
            desk.close().await;
            (answer?, args.json)
        }
        PlaybookVerb::Backtest(args) => {
            let desk = Desk::open().await?;
            let answer = playbook::backtest::backtest(&desk, &args, paint).await;
            desk.close().await;
            (answer?, args.json)
        }
        PlaybookVerb::New(args) => {
            let desk = Desk::open_for(session).await?;
            let answer = playbook::new::new(&desk, &args).await;
            desk.close().await;
            (answer?, args.json)
        }
    };
    if in_json {
        say_json(&answer.json);
    } else {
        say(&answer.text);
    }
    Ok(ExitCode::from(u8::from(!answer.ok)))
}
