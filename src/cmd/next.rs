//! `rec next`: what to run next, ready to paste, and why.

use super::page::{Page, columns, wrapped};
use super::paint::Paint;
use crate::diagnosis::Suggestion;
use crate::diagnosis::words::tame;

/// Writes suggestions: on a terminal numbered, with safety, reason and id; in a pipe the bare command
/// lines, one a line.
pub fn render(next: &[Suggestion], paint: Paint, piped: bool) -> String {
    let mut page = Page::default();
    if piped {
        for suggestion in next {
            page.line(&tame(&suggestion.line));
        }
        return page.text();
    }
    if next.is_empty() {
        page.line("Nothing cheap is left to look at.");
        return page.text();
    }
    for (at, suggestion) in next.iter().enumerate() {
        suggestions(&mut page, std::iter::once(suggestion), 0, at + 1, paint);
        if suggestion.safety == "read-only" {
            page.line(&paint.dim(&format!("   rec next --run {}", suggestion.id)));
        }
    }
    page.text()
}

/// Numbered commands with their safety at the right and their reason below. A command is never cut: what
/// does not fit beside its safety stands alone, and the safety goes before the reason.
pub(super) fn suggestions<'a>(
    page: &mut Page,
    next: impl Iterator<Item = &'a Suggestion>,
    indent: usize,
    first: usize,
    paint: Paint,
) {
    let start = " ".repeat(indent);
    for (at, suggestion) in next.enumerate() {
        let line = tame(&suggestion.line);
        let room = paint.width.saturating_sub(indent + 3);
        let beside = columns(&line) + 2 + columns(&suggestion.safety) <= room;
        let painted = paint.bold(&line);
        let number = format!("{:<3}", first + at);
        if beside {
            let pad = " ".repeat(room - columns(&line) - columns(&suggestion.safety));
            page.line(&format!(
                "{start}{number}{painted}{pad}{}",
                suggestion.safety
            ));
        } else {
            page.line(&format!("{start}{number}{painted}"));
        }
        let why = tame(&suggestion.why);
        let why = if beside {
            why
        } else {
            format!("{}: {why}", suggestion.safety)
        };
        for text in wrapped(&why, room) {
            page.line(&format!("{start}   {}", paint.dim(&text)));
        }
    }
}
