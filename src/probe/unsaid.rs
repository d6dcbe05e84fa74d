//! Words of warning that a probe claimed and made nothing of.
//!
//! A probe knows its tool's answers, not every way the tool can refuse. A notable line that is an
//! invocation's own, and that no fact came from, is read as a line: nothing alarming is lost because
//! it came from a tool that is known.

use std::sync::LazyLock;

use super::{Look, Reading, Shown, Sink, line, texts};
use crate::event::Stream;
use crate::fact::Fact;
use crate::shell::Place;

static NOWHERE: LazyLock<Place> = LazyLock::new(Place::default);

/// Adds lines for what was claimed and not read; `lines` are those of all streams, in order.
pub(super) fn add(look: &Look<'_>, lines: &[Shown], reading: &mut Reading) {
    for (stream, _) in look.streams {
        let claims: Vec<_> = reading
            .claims
            .iter()
            .filter(|claim| claim.span.stream == *stream)
            .cloned()
            .collect();
        if claims.is_empty() {
            continue;
        }
        let covered = covered(reading, *stream);
        for claim in claims {
            let program = look.tree.invocations.get(claim.invocation);
            let own = program.and_then(|invocation| {
                super::PROBES
                    .iter()
                    .find(|probe| probe.recognises(invocation))
            });
            let typed = program.is_some_and(|one| matches!(one.program(), "echo" | "printf"));
            if typed || reads_text(reading, claim.invocation) {
                continue; // of a long text, what is worth reading was chosen
            }
            let unread: Vec<Shown> = lines
                .iter()
                .filter(|line| line.stream == *stream)
                .filter(|line| line.from >= claim.span.from && line.to <= claim.span.to)
                .filter(|line| line::is_notable(&line.text) && !is_frame(&line.text))
                .filter(|line| {
                    !covered
                        .iter()
                        .any(|(from, to)| line.from < *to && *from < line.to)
                })
                .filter(|line| !own.is_some_and(|probe| probe.is_chatter(&line.text)))
                .cloned()
                .collect();
            let mut sink = Sink {
                place: program.map_or(&*NOWHERE, |invocation| &invocation.place),
                invocation: Some(claim.invocation),
                at: claim.span,
                reading,
            };
            let program = program.map_or("", |invocation| invocation.program());
            texts::content(*stream, &unread, program, &mut sink);
        }
    }
    super::attribution::in_order(reading);
}

/// The frame or the head of a table: bars, or words in capitals only.
fn is_frame(text: &str) -> bool {
    let text = text.trim();
    let mut words = text
        .split_whitespace()
        .filter(|word| word.contains(char::is_alphabetic))
        .peekable();
    text.starts_with(['|', '+', '#'])
        || words.peek().is_some() && words.all(|word| !word.contains(char::is_lowercase))
}

/// Spans of a stream that facts came from. A look's own fact spans all of it and covers nothing.
fn covered(reading: &Reading, stream: Stream) -> Vec<(u64, u64)> {
    reading
        .facts
        .iter()
        .filter(|seen| seen.stream == Some(stream) && seen.from < seen.to)
        .filter(|seen| {
            !matches!(
                seen.fact,
                Fact::ProcessLook(_)
                    | Fact::GpuLook(_)
                    | Fact::GpuProcessLook(_)
                    | Fact::DirLook(_)
                    | Fact::LogLook(_)
                    | Fact::PortLook(_)
            )
        })
        .map(|seen| (seen.from, seen.to))
        .collect()
}

fn reads_text(reading: &Reading, invocation: usize) -> bool {
    reading.facts.iter().any(|seen| {
        seen.invocation == Some(invocation)
            && matches!(
                seen.fact,
                Fact::LogLook(_) | Fact::Search(_) | Fact::Line(_)
            )
    })
}
