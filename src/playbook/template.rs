//! Templates: text with holes (`{{K.host}}`) that are expressions.
//!
//! What fills a hole was recorded from somewhere and is hostile: in prose its control characters
//! go and it is shortened; in a command line it is quoted for a shell, and what cannot be quoted
//! safely (control characters, a leading dash that would be read as an option) makes the whole
//! line unrenderable.

use std::collections::BTreeMap;

use super::check::compile;
use super::eval::{Env, Val, show};
use super::expr::{Expr, Names, Problem};
use crate::shell::quote::quote;
use crate::timeline::Timeline;

/// Longest filling of a hole in prose, in characters.
const LONGEST: usize = 200;

/// A text with holes.
#[derive(Debug, Clone, Default)]
pub struct Template {
    parts: Vec<Part>,
    source: String,
}

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Hole(Expr),
}

impl Template {
    /// The text as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// There is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The texts between its holes, and whether a hole follows each.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, bool)> {
        self.parts
            .iter()
            .enumerate()
            .filter_map(|(at, part)| match part {
                Part::Text(text) => Some((
                    text.as_str(),
                    matches!(self.parts.get(at + 1), Some(Part::Hole(_))),
                )),
                // A hole behind no text: the first part, or right behind another hole.
                Part::Hole(_) => {
                    let before = at.checked_sub(1).and_then(|at| self.parts.get(at));
                    (!matches!(before, Some(Part::Text(_)))).then_some(("", true))
                }
            })
    }

    /// Fills the holes; `None` when one of them is unknown or cannot stand in a command line.
    pub fn command(
        &self,
        timeline: &Timeline,
        bindings: &BTreeMap<String, usize>,
    ) -> Option<String> {
        let env = Env {
            timeline,
            it: None,
            bound: bindings,
            strict: false,
        };
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Hole(expr) => {
                    let ended = out.ends_with("-- ");
                    out.push_str(&quoted(&expr.value(env), ended)?);
                }
            }
        }
        Some(out)
    }

    pub(super) fn fill(&self, env: Env<'_>, quote: bool) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Hole(expr) => {
                    let value = expr.value(env);
                    let filling = if quote {
                        quoted(&value, out.ends_with("-- ")).unwrap_or_else(|| "?".to_owned())
                    } else {
                        prose(&show(&value))
                    };
                    out.push_str(&filling);
                }
            }
        }
        out
    }
}

/// Parses a template.
pub(super) fn parse(text: &str, names: Names<'_>) -> Result<Template, Vec<Problem>> {
    let mut parts = Vec::new();
    let mut problems = Vec::new();
    let mut whole = true;
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        let (before, inside) = rest.split_at(open);
        let inside = &inside[2..];
        if !before.is_empty() {
            parts.push(Part::Text(before.to_owned()));
        }
        let start = text.len() - inside.len();
        let Some(close) = inside.find("}}") else {
            problems.push(Problem {
                offset: start.saturating_sub(2),
                message: "this hole is never closed".to_owned(),
                hint: Some("a hole is written {{NAME.FIELD}}".to_owned()),
            });
            rest = "";
            break;
        };
        match compile(&inside[..close], names) {
            Ok(expr) => parts.push(Part::Hole(expr)),
            Err(found) => {
                whole = false;
                problems.extend(found.into_iter().map(|problem| Problem {
                    offset: problem.offset + start,
                    ..problem
                }));
            }
        }
        rest = &inside[close + 2..];
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    if whole && problems.is_empty() {
        Ok(Template {
            parts,
            source: text.to_owned(),
        })
    } else {
        Err(problems)
    }
}

/// A filling for prose: one line, no control characters, not too long.
pub(super) fn prose(text: &str) -> String {
    let mut out: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(LONGEST + 1)
        .collect();
    if out.chars().count() > LONGEST {
        out = out.chars().take(LONGEST - 1).collect();
        out.push('…');
    }
    out.trim().to_owned()
}

fn quoted(value: &Val<'_>, after_dashes: bool) -> Option<String> {
    let one = |text: &str| -> Option<String> {
        if text.is_empty() || text.chars().any(char::is_control) {
            return None;
        }
        if text.starts_with('-') && !after_dashes {
            return None;
        }
        Some(shell_quote(text))
    };
    let all = |texts: Vec<Option<String>>| -> Option<String> {
        let texts: Option<Vec<String>> = texts.into_iter().collect();
        texts
            .filter(|texts| !texts.is_empty())
            .map(|texts| texts.join(" "))
    };
    match value {
        Val::Unknown => None,
        Val::Text(text) => one(text),
        Val::Texts(list) => all(list.iter().map(|text| one(text)).collect()),
        Val::Ints(list) => all(list.iter().map(|number| Some(number.to_string())).collect()),
        Val::List(list) => all(list.iter().map(|item| quoted(item, after_dashes)).collect()),
        // A negative number is read as an option or a process group.
        Val::Int(number) if *number < 0 && !after_dashes => None,
        value => Some(show(value)),
    }
}

/// Quotes a text for a POSIX shell; a home folder in front (`~/`) stays one.
pub(super) fn shell_quote(text: &str) -> String {
    match text.strip_prefix("~/") {
        Some("") => "~/".to_owned(),
        Some(rest) => format!("~/{}", quote(rest)),
        None => quote(text),
    }
}
