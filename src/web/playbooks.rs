//! `/playbooks`: what is known of failures; and one playbook with its lint and tests.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;

use super::Site;
use super::data::PlaybookCard;
use super::failure::Failure;
use super::page::{Frame, html};
use super::words;

#[derive(Template)]
#[template(path = "playbooks.html")]
struct PlaybooksPage {
    frame: Frame,
    groups: Vec<Group>,
    total: String,
}

/// Playbooks of one family of kinds.
struct Group {
    name: String,
    playbooks: Vec<PlaybookView>,
}

struct PlaybookView {
    href: String,
    id: String,
    title: String,
    kind: String,
    severity: &'static str,
    tests: String,
    problems: u64,
    own: bool,
}

#[derive(Template)]
#[template(path = "playbook.html")]
struct PlaybookPage {
    frame: Frame,
    playbook: PlaybookView,
    version: u32,
    lines: Vec<TextLine>,
    lint: Vec<LintView>,
    tests: Vec<TestView>,
    passed: String,
    references: Vec<ReferenceView>,
}

struct TextLine {
    number: usize,
    text: String,
    wrong: bool,
    comment: bool,
}

struct LintView {
    line: usize,
    text: String,
}

struct TestView {
    name: String,
    class: &'static str,
    mark: &'static str,
    words: String,
}

struct ReferenceView {
    words: String,
    href: String,
}

/// `GET /playbooks`
pub(super) async fn list(State(site): State<Site>) -> Result<Response, Failure> {
    let cards = site.data.playbooks().await?;
    let mut groups: Vec<Group> = Vec::new();
    for card in &cards {
        let name = card.kind.split('.').next().unwrap_or_default();
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.playbooks.push(view(card)),
            None => groups.push(Group {
                name: name.to_owned(),
                playbooks: vec![view(card)],
            }),
        }
    }
    groups.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(html(&PlaybooksPage {
        frame: Frame::new("Playbooks", "playbooks"),
        total: words::counted(cards.len() as u64, "playbook"),
        groups,
    }))
}

/// `GET /playbooks/{id}`
pub(super) async fn show(
    State(site): State<Site>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let known = site.data.playbook(&id).await?;
    let wrong: Vec<usize> = known.lint.iter().map(|(line, _)| *line).collect();
    let passed = known.tests.iter().filter(|(_, passed, _)| *passed).count();
    let all = words::counted(known.tests.len() as u64, "test");
    let lines = known
        .text
        .lines()
        .enumerate()
        .map(|(place, text)| TextLine {
            number: place + 1,
            text: text.to_owned(),
            wrong: wrong.contains(&(place + 1)),
            comment: text.trim_start().starts_with('#'),
        });
    Ok(html(&PlaybookPage {
        frame: Frame::new(&id, "playbooks"),
        version: known.card.version,
        playbook: view(&known.card),
        lines: lines.collect(),
        lint: known
            .lint
            .iter()
            .map(|(line, text)| LintView {
                line: *line,
                text: text.clone(),
            })
            .collect(),
        passed: format!("{passed} of {all} passed"),
        tests: known.tests.into_iter().map(test).collect(),
        references: known.references.into_iter().map(reference).collect(),
    }))
}

fn test((name, passed, words): (String, bool, String)) -> TestView {
    TestView {
        name,
        class: if passed { "good" } else { "bad" },
        mark: if passed { "✓" } else { "✗" },
        words,
    }
}

fn reference((words, href): (String, String)) -> ReferenceView {
    // An address of another scheme (javascript:) is shown, never linked.
    let is_web = href.starts_with("https://") || href.starts_with("http://");
    ReferenceView {
        words,
        href: if is_web { href } else { String::new() },
    }
}

fn view(card: &PlaybookCard) -> PlaybookView {
    PlaybookView {
        href: format!("/playbooks/{}", super::search::encode(&card.id)),
        id: card.id.clone(),
        title: card.title.clone(),
        kind: card.kind.clone(),
        severity: crate::diagnosis::words::severity(card.severity),
        tests: words::counted(card.tests, "test"),
        problems: card.problems,
        own: card.own,
    }
}
