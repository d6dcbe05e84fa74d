//! `/s/{session}/{number}`: a command, with its output and all that was read from it.

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::shell::{HopKind, Invocation, Tree};

use super::Site;
use super::data::{Recorded, Understanding};
use super::failure::Failure;
use super::know::{self, FindingView};
use super::markup::{Markup, plain};
use super::output::{self, Block, OutputView};
use super::page::{Frame, html};
use super::words::{self, ExitView, Stamp};

#[derive(Template)]
#[template(path = "command.html")]
struct CommandPage {
    frame: Frame,
    session: String,
    title: Markup,
    before: Option<u32>,
    after: Option<u32>,
    typed: Vec<(&'static str, String)>,
    steps: Vec<Step>,
    does: Vec<(&'static str, Markup)>,
    complaints: Vec<Complained>,
    findings: Vec<FindingView>,
    opened: Opened,
}

/// A row opened in the timeline, and the main part of the page.
#[derive(Template)]
#[template(path = "partials/opened.html")]
struct Opened {
    base: String,
    number: u32,
    line: String,
    long: bool,
    shown: Markup,
    exit: ExitView,
    at: Stamp,
    took: String,
    output: OutputView,
    running: bool,
    whole: bool,
    unclaimed: String,
}

/// It is written by its own template, which escapes.
impl askama::filters::HtmlSafe for Opened {}

/// An invocation of the line.
struct Step {
    depth: &'static str,
    words: Markup,
    place: String,
    hop: &'static str,
}

/// What a parser could not read.
struct Complained {
    place: String,
    text: Markup,
}

/// Where an address points into the output.
#[derive(Debug, Deserialize)]
pub(super) struct At {
    at: Option<String>,
}

/// `GET /s/{session}/{number}`
pub(super) async fn show(
    State(site): State<Site>,
    Path((key, number)): Path<(String, u32)>,
    Query(at): Query<At>,
) -> Result<Response, Failure> {
    let (card, recorded, understanding) = site.data.command_desk(&key, number).await?;
    if let Some(line) = at.at.and_then(|at| line_of(&recorded, &at)) {
        let to = format!("/s/{}/{number}#o{number}-{line}", card.id);
        return Ok(axum::response::Redirect::to(&to).into_response());
    }
    let session = format!("/s/{}", card.id);
    let is_cited = |f: &&crate::diagnosis::Finding| f.evidence.iter().any(|e| e.number == number);
    let findings = understanding
        .as_deref()
        .map(|understanding: &Understanding| {
            let findings = understanding.diagnosis.findings.iter().filter(is_cited);
            findings.map(|f| know::finding(&session, f)).collect()
        });
    Ok(html(&CommandPage {
        frame: Frame::new(&format!("#{number} · {}", card.title), "sessions"),
        title: plain(&card.title),
        before: (number > 1).then(|| number - 1),
        after: (u64::from(number) < card.commands).then(|| number + 1),
        typed: typed(&recorded),
        steps: steps(&recorded.tree),
        does: does(&recorded.tree),
        complaints: complaints(&recorded),
        findings: findings.unwrap_or_default(),
        opened: opened_view(&recorded, &session, card.relative, true),
        session,
    }))
}

/// `GET /s/{session}/{number}/opened`
pub(super) async fn opened(
    State(site): State<Site>,
    Path((key, number)): Path<(String, u32)>,
) -> Result<Response, Failure> {
    let card = site.data.session(&key).await?;
    let recorded = site.data.command(card.id, number).await?;
    let session = format!("/s/{}", card.id);
    Ok(html(&opened_view(
        &recorded,
        &session,
        card.relative,
        false,
    )))
}

/// `GET /s/{session}/{number}/raw/{stream}`: the stored bytes, as a download.
pub(super) async fn raw(
    State(site): State<Site>,
    Path((key, number, stream)): Path<(String, u32, String)>,
) -> Result<Response, Failure> {
    let card = site.data.session(&key).await?;
    let recorded = site.data.command(card.id, number).await?;
    let output = recorded
        .outputs
        .into_iter()
        .find(|output| output.stream.name() == stream)
        .ok_or_else(|| Failure::not_found("stream", &stream))?;
    let name = format!(
        "attachment; filename=\"{number}-{}.txt\"",
        output.stream.name()
    );
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, output.bytes).into_response())
}

fn opened_view(recorded: &Recorded, session: &str, relative: bool, whole: bool) -> Opened {
    let row = &recorded.row;
    let base = format!("{session}/{}", row.number);
    let limits = if whole { output::WHOLE } else { output::OPENED };
    let unclaimed = recorded.unclaimed.len() as u64;
    Opened {
        number: row.number,
        line: row.line.clone(),
        long: row.line.contains('\n') || row.line.len() > 60,
        shown: plain(row.line.trim_end()),
        exit: words::exit(row.exit),
        at: Stamp::of(row.at, relative),
        took: words::took(row.took_s),
        output: output::view(recorded, &base, limits),
        running: matches!(row.exit, crate::event::Exit::Running),
        whole,
        unclaimed: if unclaimed == 0 {
            String::new()
        } else {
            format!(
                "{} that nothing here can read",
                words::counted(unclaimed, "span")
            )
        },
        base,
    }
}

/// The line that `stream:byte` points at, as the end of its id.
fn line_of(recorded: &Recorded, at: &str) -> Option<String> {
    let (stream, byte) = at.split_once(':')?;
    let byte: u64 = byte.parse().ok()?;
    let output = recorded
        .outputs
        .iter()
        .find(|output| output.stream.name() == stream)?;
    let starts = super::ansi::line_starts(&output.bytes);
    let line = starts.partition_point(|start| *start as u64 <= byte);
    Some(format!("{}-{}", output.stream.name(), line.max(1)))
}

fn typed(recorded: &Recorded) -> Vec<(&'static str, String)> {
    let mut typed = vec![("typed on", recorded.row.host.clone())];
    typed.extend(recorded.user.clone().map(|user| ("by", user)));
    typed.extend(recorded.cwd.clone().map(|cwd| ("in", cwd)));
    if recorded.row.target_host != recorded.row.host {
        typed.push(("reaches", recorded.row.target_host.clone()));
    }
    typed
}

fn steps(tree: &Tree) -> Vec<Step> {
    const DEPTH: [&str; 5] = ["d0", "d1", "d2", "d3", "d4"];
    let depth_of = |mut index: usize| {
        let mut depth = 0;
        while let Some(parent) = tree.invocations.get(index).and_then(|i| i.parent) {
            if depth + 1 == DEPTH.len() || parent >= index {
                break;
            }
            depth += 1;
            index = parent;
        }
        depth
    };
    tree.invocations
        .iter()
        .enumerate()
        .map(|(index, invocation)| {
            let place = &invocation.place;
            let mut at: Vec<String> = place.host.iter().cloned().collect();
            at.extend(place.user.as_ref().map(|user| format!("as {user}")));
            at.extend(place.container.as_ref().map(|name| format!("in {name}")));
            Step {
                depth: DEPTH.get(depth_of(index)).copied().unwrap_or("d4"),
                words: plain(&words::shorten(&invocation.line(), 200)),
                place: at.join(" "),
                hop: invocation.hop.map_or("", hop_word),
            }
        })
        .collect()
}

fn hop_word(hop: HopKind) -> &'static str {
    match hop {
        HopKind::Ssh => "ssh",
        HopKind::ShellText | HopKind::ShellStdin => "shell",
        HopKind::Wrapper => "wrapper",
        HopKind::Container => "container",
        HopKind::Detached => "detached",
    }
}

/// What the line does beyond looking.
fn does(tree: &Tree) -> Vec<(&'static str, Markup)> {
    let mut does = Vec::new();
    for launch in &tree.launches {
        let line = tree
            .invocations
            .get(launch.invocation)
            .map(Invocation::line);
        let log = launch.log.as_ref().map(|log| format!(" → {log}"));
        let line = words::shorten(&line.unwrap_or_default(), 160);
        let text = format!("{line}{}", log.unwrap_or_default());
        does.push(("launches", plain(&text)));
    }
    for write in &tree.writes {
        does.push(("writes", plain(&write.path)));
    }
    for kill in &tree.kills {
        let what = kill.pattern.clone().unwrap_or_else(|| {
            let pids: Vec<String> = kill.pids.iter().map(ToString::to_string).collect();
            pids.join(" ")
        });
        does.push(("ends", plain(&what)));
    }
    does
}

fn complaints(recorded: &Recorded) -> Vec<Complained> {
    let of_line = recorded.tree.complaints.iter().map(|complaint| Complained {
        place: format!("command line, byte {}", complaint.from),
        text: plain(&complaint.text),
    });
    let of_output = recorded
        .complaints
        .iter()
        .map(|(stream, complaint)| Complained {
            place: format!("{}, byte {}", stream.name(), complaint.from),
            text: plain(&complaint.text),
        });
    of_line.chain(of_output).take(50).collect()
}
