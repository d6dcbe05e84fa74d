//! A postmortem drafted from a session: markdown, each line citing its commands.

use std::fmt::Write as _;

use crate::diagnosis::words::{belief, one_line, shorten, steers};
use crate::diagnosis::{Diagnosis, Evidence, Finding, Status, kinds};
use crate::event::Exit;
use crate::projection::SessionView;
use crate::projection::missing::missing;
use crate::time::{Micros, counted, human_duration};
use crate::timeline::{Command, Met};

/// Drafts a postmortem.
pub fn draft(view: &SessionView, diagnosis: &Diagnosis) -> String {
    let mut out = String::new();
    let title = view
        .title
        .clone()
        .unwrap_or_else(|| format!("Session {}", view.id.short()));
    let _ = writeln!(out, "# {}\n", escape(&title));
    summary(&mut out, view, diagnosis);
    causes(&mut out, diagnosis);
    timeline(&mut out, view, diagnosis);
    open_ends(&mut out, diagnosis);
    not_on_record(&mut out, view);
    notes(&mut out, view);
    let _ = writeln!(
        out,
        "\n---\nDrafted by casebook from session {}. `#n` is the n-th command: `rec show n --session {}`.",
        view.id.short(),
        view.id.short()
    );
    out
}

fn summary(out: &mut String, view: &SessionView, diagnosis: &Diagnosis) {
    let _ = writeln!(out, "## Summary\n");
    let (Some(first), Some(last)) = (view.commands.first(), view.commands.last()) else {
        let _ = writeln!(out, "No commands were recorded.");
        return;
    };
    let span = human_duration(last.ended().seconds_since(first.at));
    let when = if view.relative_time {
        String::new()
    } else {
        format!(
            ", from {} to {}",
            first.at.rfc3339(),
            last.ended().rfc3339()
        )
    };
    let _ = writeln!(
        out,
        "- {} over {span}{when} ({}–{}).",
        counted(view.commands.len(), "command"),
        cite(first.number),
        cite(last.number)
    );
    let causes = diagnosis.findings.iter().filter(|finding| leads(finding));
    for finding in causes.take(3) {
        let _ = writeln!(
            out,
            "- {}. {}",
            sentence(&finding.title),
            citations(&finding.evidence)
        );
    }
    let healthy = diagnosis
        .findings
        .iter()
        .filter(|finding| kinds::harmless(&finding.kind));
    for finding in healthy.take(2) {
        let _ = writeln!(
            out,
            "- {}. {}",
            sentence(&finding.title),
            citations(&finding.evidence)
        );
    }
}

fn leads(finding: &Finding) -> bool {
    !kinds::harmless(&finding.kind) && finding.status != Status::Dismissed
}

fn causes(out: &mut String, diagnosis: &Diagnosis) {
    let found: Vec<&Finding> = diagnosis
        .findings
        .iter()
        .filter(|finding| leads(finding))
        .collect();
    if found.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## What was wrong");
    for finding in found {
        let status = match finding.status {
            Status::Open => "open",
            Status::Resolved => "over",
            Status::Confirmed => "confirmed",
            Status::Dismissed => "dismissed",
        };
        let _ = writeln!(out, "\n### {} ({status})\n", sentence(&finding.title));
        if !finding.explains.is_empty() {
            let _ = writeln!(
                out,
                "{} {}\n",
                escape(&finding.explains),
                citations(&finding.evidence)
            );
        }
        for evidence in &finding.evidence {
            let _ = writeln!(out, "- {}", told(evidence));
        }
        for hypothesis in finding
            .hypotheses
            .iter()
            .filter(|one| one.probability >= 0.05)
        {
            let mut seen: Vec<&Evidence> = hypothesis.supports.iter().collect();
            seen.extend(&hypothesis.against);
            if seen.is_empty() {
                continue;
            }
            let cites = citations(&seen.into_iter().cloned().collect::<Vec<_>>());
            let _ = writeln!(
                out,
                "- {}: {}. {cites}",
                belief(hypothesis.probability),
                escape(&hypothesis.title)
            );
        }
        if !finding.remedy.is_empty() {
            let _ = writeln!(
                out,
                "\nRemedy: {} {}",
                escape(&finding.remedy),
                citations(&finding.evidence)
            );
        }
    }
}

fn timeline(out: &mut String, view: &SessionView, diagnosis: &Diagnosis) {
    let _ = writeln!(out, "\n## Timeline\n");
    let start = view
        .commands
        .first()
        .map_or(view.started, |command| command.at);
    let mut last_line: Option<(&Command, u32)> = None;
    for command in &view.commands {
        if let Some((before, _)) = last_line
            && before.line == command.line
            && before.facts == command.facts
            && before.exit == command.exit
        {
            continue; // the same look showing the same
        }
        last_line = Some((command, command.number));
        let _ = writeln!(
            out,
            "- {} {} on {}: `{}` {} {}",
            cite(command.number),
            clock(command.at, start, view.relative_time),
            escape(command.target_host()),
            shorten(&command.line, 140).replace('`', "'"),
            ended(command),
            said(command, diagnosis)
        );
    }
}

fn clock(at: Micros, start: Micros, relative: bool) -> String {
    if relative {
        format!("+{}", human_duration(at.seconds_since(start)))
    } else {
        at.rfc3339().get(11..19).unwrap_or("").to_owned() + "Z"
    }
}

fn ended(command: &Command) -> String {
    match command.exit {
        Exit::Code(0) => "→ 0".to_owned(),
        Exit::Code(code) => format!("→ exit {code}"),
        Exit::Signal(signal) => format!("→ ended by signal {signal}"),
        Exit::Lost => "→ its end was not seen".to_owned(),
        Exit::Running => "→ still runs".to_owned(),
        Exit::Stopped(signal) => format!("→ stopped by signal {signal}"),
    }
}

/// What the findings say of a command.
fn said(command: &Command, diagnosis: &Diagnosis) -> String {
    let mut says: Vec<String> = Vec::new();
    let evidence = diagnosis
        .findings
        .iter()
        .filter(|finding| leads(finding))
        .flat_map(|finding| {
            finding.evidence.iter().chain(
                finding
                    .hypotheses
                    .iter()
                    .take(1)
                    .flat_map(|hypothesis| &hypothesis.supports),
            )
        });
    for one in evidence.filter(|one| one.number == command.number) {
        let text = escape(&shorten(&one.says, 120));
        if !text.is_empty() && !says.contains(&text) {
            says.push(text);
        }
    }
    if says.is_empty() {
        String::new()
    } else {
        format!("— {}", says.join("; "))
    }
}

/// What the draft cannot speak of.
fn not_on_record(out: &mut String, view: &SessionView) {
    let missing = missing(view);
    if missing.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## Not on record\n");
    for one in missing {
        // Our own words: nothing in them was recorded.
        let _ = writeln!(out, "- {}.", one.says());
    }
}

fn open_ends(out: &mut String, diagnosis: &Diagnosis) {
    let unmet: Vec<_> = diagnosis
        .postconditions
        .iter()
        .filter(|one| one.state != Met::Met)
        .collect();
    if unmet.is_empty() && diagnosis.next.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## Open ends\n");
    for one in unmet {
        let state = if one.state == Met::Unmet {
            "does not hold"
        } else {
            "nobody looked"
        };
        let _ = writeln!(
            out,
            "- {} {}: {state}.",
            cite(one.number),
            escape(&one.text)
        );
    }
    for suggestion in &diagnosis.next {
        let line = one_line(&suggestion.line).replace('`', "'");
        let _ = writeln!(out, "- To run next: `{line}` — {}", escape(&suggestion.why));
    }
}

fn notes(out: &mut String, view: &SessionView) {
    let notes: Vec<_> = view.notes.iter().filter(|note| !note.postmortem).collect();
    if notes.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## Notes\n");
    for note in notes {
        let text = note.text.as_deref().unwrap_or("(erased)");
        let _ = writeln!(out, "- {}", escape(&one_line(text)));
    }
}

fn told(evidence: &Evidence) -> String {
    let quote = shorten(&evidence.quote, 160).replace('`', "'");
    let says = escape(&shorten(&evidence.says, 200));
    if quote.is_empty() || one_line(&evidence.says).contains(&quote) {
        format!("{} {says}", cite(evidence.number))
    } else {
        format!("{} {says}: `{quote}`", cite(evidence.number))
    }
}

fn cite(number: u32) -> String {
    format!("#{number}")
}

fn citations(evidence: &[Evidence]) -> String {
    let mut numbers: Vec<u32> = evidence.iter().map(|one| one.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let cites: Vec<String> = numbers.into_iter().map(cite).collect();
    if cites.is_empty() {
        String::new()
    } else {
        format!("({})", cites.join(", "))
    }
}

fn sentence(text: &str) -> String {
    let text = one_line(text);
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string())
        .unwrap_or_default();
    // A program's name keeps its own spelling.
    let program = text.split_whitespace().next().is_some_and(|word| {
        word.contains(['.', '_', '/', '-']) || matches!(word, "pkill" | "pgrep" | "ssh" | "python")
    });
    if program {
        escape(&text)
    } else {
        escape(&format!("{first}{}", letters.as_str()))
    }
}

/// Takes the meaning for markdown out of recorded text.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(
            letter,
            '*' | '_' | '<' | '>' | '[' | ']' | '#' | '|' | '\\' | '`'
        ) {
            out.push('\\');
        }
        out.push(if steers(letter) { ' ' } else { letter });
    }
    out
}
