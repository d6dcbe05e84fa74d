//! `/search`: commands and lines of output, with filters that are words of the query.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::Deserialize;

use super::Site;
use super::data::{Found, Hit};
use super::failure::Failure;
use super::markup::{Markup, plain};
use super::page::{Frame, html};
use super::words::{self, ExitView, Stamp};

/// Hits on one page.
pub const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    frame: Frame,
    query: String,
    summary: String,
    groups: Vec<Group>,
    facets: Vec<Facet>,
    active: Vec<Facet>,
    more: Option<String>,
    nothing: String,
}

/// Hits of one session.
struct Group {
    href: String,
    title: Markup,
    hits: Vec<HitView>,
}

struct HitView {
    href: String,
    number: String,
    at: Stamp,
    host: String,
    line: Markup,
    exit: Option<ExitView>,
    stream: &'static str,
    snippet: Markup,
}

/// A filter to add or take away.
struct Facet {
    href: String,
    words: String,
    count: String,
}

/// What is searched for.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    q: String,
    #[serde(default)]
    from: usize,
}

/// `GET /search`
pub(super) async fn show(
    State(site): State<Site>,
    Query(asked): Query<Asked>,
) -> Result<Response, Failure> {
    let query = asked.q.trim().to_owned();
    let found = if query.is_empty() {
        Found::default()
    } else {
        site.data.search(&query, asked.from).await?
    };
    let mut frame = Frame::new("Search", "search");
    frame.query.clone_from(&query);
    let seen = asked.from + found.hits.len();
    Ok(html(&SearchPage {
        frame,
        summary: summary(&query, &found),
        facets: facets(&query, &found),
        active: active(&query),
        more: ((seen as u64) < found.total && !found.hits.is_empty())
            .then(|| format!("/search?q={}&from={seen}", encode(&query))),
        groups: groups(&found, &query),
        nothing: found.nothing.unwrap_or_else(|| {
            "Nothing on record holds that. A word is matched whole: try fewer words, or leave a \
             filter out."
                .to_owned()
        }),
        query,
    }))
}

fn summary(query: &str, found: &Found) -> String {
    if query.is_empty() {
        return String::new();
    }
    let hits = words::counted(found.total, "hit");
    format!("{hits} in {:.0} ms", found.took_ms.max(1.0))
}

fn groups(found: &Found, query: &str) -> Vec<Group> {
    let terms: Vec<String> = query
        .split_whitespace()
        .filter(|word| !is_filter(word))
        .map(|word| word.trim_matches(['"', '(', ')']).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect();
    let mut groups: Vec<Group> = Vec::new();
    for hit in &found.hits {
        let href = format!("/s/{}", hit.session);
        let view = hit_view(hit, &href, &terms);
        match groups.iter_mut().find(|group| group.href == href) {
            Some(group) => group.hits.push(view),
            None => groups.push(Group {
                title: plain(&hit.title),
                hits: vec![view],
                href,
            }),
        }
    }
    groups
}

fn hit_view(hit: &Hit, session: &str, terms: &[String]) -> HitView {
    let stream = hit.stream.map_or("", crate::event::Stream::name);
    let at = hit
        .number
        .map_or_else(String::new, |number| format!("/{number}"));
    let query = if stream.is_empty() {
        String::new()
    } else {
        format!("?at={stream}:{}", hit.from)
    };
    HitView {
        href: format!("{session}{at}{query}"),
        number: hit
            .number
            .map_or_else(|| hit.kind.clone(), |number| format!("#{number}")),
        at: Stamp::day_and_time(hit.at, hit.relative),
        host: hit.target_host.clone(),
        line: marked(&words::shorten(&hit.line, 200), terms),
        exit: hit.exit.map(words::exit),
        stream,
        snippet: marked(&words::shorten(hit.snippet.trim(), 400), terms),
    }
}

/// A text with the words searched for marked.
fn marked(text: &str, terms: &[String]) -> Markup {
    let mut markup = Markup::default();
    let mut rest = text;
    while !rest.is_empty() {
        let found = terms
            .iter()
            .filter_map(|term| find_ignoring_case(rest, term))
            .min_by_key(|(from, to)| (*from, usize::MAX - to));
        let Some((from, to)) = found else { break };
        let (before, after) = rest.split_at(from);
        let (hit, after) = after.split_at(to - from);
        markup.text(before);
        markup.tag("<mark>");
        markup.text(hit);
        markup.tag("</mark>");
        rest = after;
    }
    markup.text(rest);
    markup
}

/// Where a term (in lower case) stands in a text, as byte offsets of the text.
fn find_ignoring_case(text: &str, term: &str) -> Option<(usize, usize)> {
    text.char_indices().find_map(|(from, _)| {
        let mut rest = text.get(from..)?.char_indices();
        let mut end = from;
        for wanted in term.chars() {
            let (at, got) = rest.next()?;
            if !got.to_lowercase().eq(std::iter::once(wanted)) {
                return None;
            }
            end = from + at + got.len_utf8();
        }
        Some((from, end))
    })
}

const FILTERS: [&str; 6] = ["host:", "exit:", "program:", "kind:", "session:", "since:"];

fn is_filter(word: &str) -> bool {
    FILTERS.iter().any(|filter| word.starts_with(filter))
}

fn facets(query: &str, found: &Found) -> Vec<Facet> {
    let mut hosts: Vec<(&str, u64)> = Vec::new();
    for hit in found.hits.iter().filter(|hit| !hit.target_host.is_empty()) {
        match hosts.iter_mut().find(|(host, _)| *host == hit.target_host) {
            Some((_, count)) => *count += 1,
            None => hosts.push((&hit.target_host, 1)),
        }
    }
    hosts.sort_by_key(|(_, count)| u64::MAX - count);
    let hosts = hosts
        .into_iter()
        .take(8)
        .map(|(host, n)| (format!("host:{host}"), words::count(n)));
    let exits = ["exit:0", "exit:fail"].map(|exit| (exit.to_owned(), String::new()));
    hosts
        .chain(exits)
        .filter(|(word, _)| !query.is_empty() && !query.split_whitespace().any(|w| w == word))
        .map(|(word, count)| Facet {
            href: format!("/search?q={}", encode(&format!("{query} {word}"))),
            words: word,
            count,
        })
        .collect()
}

fn active(query: &str) -> Vec<Facet> {
    query
        .split_whitespace()
        .filter(|word| is_filter(word))
        .map(|word| {
            let rest: Vec<&str> = query.split_whitespace().filter(|w| *w != word).collect();
            Facet {
                href: format!("/search?q={}", encode(&rest.join(" "))),
                words: word.to_owned(),
                count: String::new(),
            }
        })
        .collect()
}

/// Percent-encodes a value of a query.
pub fn encode(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                text.push(char::from(byte));
            }
            b' ' => text.push('+'),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_searched_for_are_marked_and_the_rest_is_escaped() {
        let terms = ["sglang".to_owned(), "<b>".to_owned()];
        assert_eq!(
            marked("a SGLang <b> x", &terms).as_str(),
            "a <mark>SGLang</mark> <mark>&#60;b&#62;</mark> x"
        );
        assert_eq!(marked("İ<", &["i".to_owned()]).as_str(), "İ&#60;");
    }

    #[test]
    fn filters_can_be_taken_away_again() {
        let active = active("oom host:gpu01");
        assert_eq!(active[0].href, "/search?q=oom");
        assert_eq!(encode("a b&c=\u{e4}"), "a+b%26c%3D%C3%A4");
    }
}
