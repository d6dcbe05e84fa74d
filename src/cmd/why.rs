//! `rec why`: findings, hypotheses, evidence, what to run next, and what nobody looked at.

use std::collections::BTreeSet;

use super::next::suggestions;
use super::page::{Page, columns, wrapped};
use super::paint::Paint;
use crate::diagnosis::experience::SeenError;
use crate::diagnosis::words::{self, tame};
use crate::diagnosis::{
    Claim, Diagnosis, Evidence, Finding, Hypothesis, LaunchView, PostconditionView, Severity,
    Status, Suggestion, kinds,
};
use crate::id::FindingId;
use crate::time::{Micros, counted, human_duration};
use crate::timeline::Met;

/// What stands above a diagnosis.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// The session's title.
    pub title: String,
    /// How many commands it has.
    pub commands: usize,
    /// The hosts they ran on.
    pub hosts: Vec<String>,
    /// When the first began and the last ended.
    pub span: Option<(Micros, Micros)>,
    /// Its times are relative: the recording did not say when it was.
    pub relative: bool,
    /// What is not on record, a sentence each.
    pub missing: Vec<String>,
}

impl Header {
    fn clock(&self, at: Micros, paint: Paint) -> String {
        let start = self.span.map_or(Micros(0), |(from, _)| from);
        paint.clock(at, start, self.relative)
    }
}

const BOLD: &str = "1";
const DIM: &str = "2";
const STRUCK: &str = "2;9";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const BLUE: &str = "34";

/// Evidence lines of the likeliest hypothesis, and of any other.
const LEAD_LINES: usize = 5;
const OTHER_LINES: usize = 3;
/// What was seen first, above the hypotheses.
const TRIGGER_LINES: usize = 4;
/// What nobody looked at.
const UNCHECKED_LINES: usize = 6;
/// What is not on record.
const MISSING_LINES: usize = 4;

/// Writes a diagnosis for people.
pub fn render(diagnosis: &Diagnosis, header: &Header, paint: Paint) -> String {
    let mut page = Page::default();
    page.line(&paint.bold(&head(header, paint)));
    let effects: BTreeSet<FindingId> = diagnosis
        .findings
        .iter()
        .flat_map(|finding| finding.cause_of.iter().copied())
        .collect();
    let mut shown: BTreeSet<&str> = BTreeSet::new();
    for finding in &diagnosis.findings {
        if effects.contains(&finding.id) {
            continue; // it stands under its cause
        }
        page.gap();
        if finding.status == Status::Dismissed {
            title(&mut page, finding, paint, "");
            continue;
        }
        write_finding(&mut page, finding, header, paint);
        shown.extend(finding.next.iter().map(|next| next.line.as_str()));
        follows(&mut page, finding, &diagnosis.findings, paint);
    }
    let wrong = diagnosis.findings.iter().any(|finding| {
        matches!(finding.status, Status::Open | Status::Confirmed)
            && !kinds::harmless(&finding.kind)
    });
    if !wrong {
        page.gap();
        page.line(&format!(
            "Nothing wrong was seen in {}.",
            counted(header.commands, "command")
        ));
    }
    if diagnosis.findings.is_empty() {
        launches(&mut page, &diagnosis.launches, paint);
    }
    seen_errors(&mut page, &diagnosis.seen_errors, paint);
    let more: Vec<&Suggestion> = diagnosis
        .next
        .iter()
        .filter(|next| !shown.contains(next.line.as_str()))
        .collect();
    if !more.is_empty() {
        page.gap();
        page.line(if shown.is_empty() {
            "Next"
        } else {
            "Also worth a look"
        });
        suggestions(&mut page, more.into_iter(), 2, 1, paint);
    } else if diagnosis.next.is_empty() && wrong {
        page.gap();
        page.line("Nothing cheap is left to look at.");
    }
    shown.extend(diagnosis.next.iter().map(|next| next.line.as_str()));
    unchecked(&mut page, &diagnosis.postconditions, &shown, paint);
    not_on_record(&mut page, &header.missing, paint);
    page.text()
}

/// What nobody can be told, since it was not recorded.
fn not_on_record(page: &mut Page, missing: &[String], paint: Paint) {
    if missing.is_empty() {
        return;
    }
    page.gap();
    page.line("Not on record");
    for says in missing.iter().take(MISSING_LINES) {
        for (at, text) in wrapped(&tame(says), paint.width.saturating_sub(4))
            .iter()
            .enumerate()
        {
            page.line(&format!("  {} {text}", if at == 0 { "–" } else { " " }));
        }
    }
    if let Some(more) = missing
        .len()
        .checked_sub(MISSING_LINES)
        .filter(|more| *more > 0)
    {
        page.line(&format!("  – and {} more", counted(more, "command")));
    }
}

/// `GLM-5 bring-up · 9 commands on gpu01 · 11:02–11:06`
fn head(header: &Header, paint: Paint) -> String {
    let hosts = match header.hosts.as_slice() {
        [] => String::new(),
        [one] => format!(" on {}", tame(one)),
        [one, two] => format!(" on {} and {}", tame(one), tame(two)),
        [one, rest @ ..] => format!(" on {} and {}", tame(one), counted(rest.len(), "more host")),
    };
    let mut out = format!(
        "{} · {}{hosts}",
        words::shorten(&header.title, 48),
        counted(header.commands, "command")
    );
    if let Some((from, to)) = header.span {
        out.push_str(" · ");
        if header.relative {
            out.push_str(&human_duration(to.seconds_since(from)));
        } else {
            // A page's head needs no seconds.
            let minute = |at| {
                let clock = header.clock(at, paint);
                clock.get(..5).map_or(clock.clone(), str::to_owned)
            };
            let (from, to) = (minute(from), minute(to));
            out.push_str(&from);
            if from != to {
                out.push('–');
                out.push_str(&to);
            }
        }
    }
    out
}

fn mark_ink(finding: &Finding) -> &'static str {
    if kinds::harmless(&finding.kind) {
        return GREEN;
    }
    match (finding.claim, finding.severity) {
        (_, Severity::Info | Severity::Low) => BLUE,
        (Claim::Established, _) => RED,
        (Claim::Suspected | Claim::Observed, _) => YELLOW,
    }
}

/// The mark, the title in as many lines as it takes, and at the right how bad it is.
fn title(page: &mut Page, finding: &Finding, paint: Paint, indent: &str) {
    let state = words::finding_state(finding);
    let room = paint
        .width
        .saturating_sub(columns(indent) + 2 + columns(&state) + 2);
    let lines = wrapped(&tame(&finding.title), room);
    let mark = paint.style(mark_ink(finding), words::finding_mark(finding));
    for (at, text) in lines.iter().enumerate() {
        let painted = match finding.status {
            Status::Dismissed => paint.dim(text),
            _ => paint.bold(text),
        };
        if at > 0 {
            page.line(&format!("{indent}  {painted}"));
            continue;
        }
        let pad = paint
            .width
            .saturating_sub(columns(indent) + 2 + columns(text) + columns(&state));
        page.line(&format!(
            "{indent}{mark} {painted}{}{state}",
            " ".repeat(pad)
        ));
    }
}

fn write_finding(page: &mut Page, finding: &Finding, header: &Header, paint: Paint) {
    title(page, finding, paint, "");
    let first = finding
        .evidence
        .iter()
        .min_by_key(|evidence| evidence.number);
    if let Some(first) = first {
        let mut start = format!("  {}", tame(&words::place(&finding.scope)));
        if columns(&start) > 2 {
            start.push_str("  ");
        }
        start.push_str(&format!(
            "#{}  {}  ",
            first.number,
            header.clock(finding.since, paint)
        ));
        let room = paint.width.saturating_sub(columns(&start));
        page.line(&paint.dim(&format!(
            "{start}{}",
            words::shorten_middle(&first.line, room)
        )));
    }
    for line in wrapped(&tame(&finding.explains), paint.width - 2) {
        page.line(&format!("  {line}"));
    }
    triggers(page, finding, paint);
    seen_before(page, finding, paint);
    if !finding.hypotheses.is_empty() {
        page.gap();
        for (at, hypothesis) in finding.hypotheses.iter().enumerate() {
            write_hypothesis(page, hypothesis, at == 0, paint);
        }
    }
    if !finding.next.is_empty() || !finding.remedy.is_empty() {
        page.gap();
        page.line("  Next");
        suggestions(page, finding.next.iter(), 4, 1, paint);
        if !finding.remedy.is_empty() {
            let number = finding.next.len() + 1;
            for (at, line) in wrapped(&tame(&finding.remedy), paint.width - 7)
                .iter()
                .enumerate()
            {
                let start = if at == 0 {
                    number.to_string()
                } else {
                    String::new()
                };
                page.line(&format!("    {start:<3}{line}"));
            }
        }
    }
}

/// What was seen that made it a finding, without what a hypothesis shows again below.
fn triggers(page: &mut Page, finding: &Finding, paint: Paint) {
    let mut below: BTreeSet<(u32, &str)> = BTreeSet::new();
    for hypothesis in &finding.hypotheses {
        for evidence in hypothesis.supports.iter().chain(&hypothesis.against) {
            below.insert((evidence.number, &evidence.says));
        }
    }
    let own: Vec<&Evidence> = finding
        .evidence
        .iter()
        .filter(|evidence| !below.contains(&(evidence.number, evidence.says.as_str())))
        .collect();
    if own.is_empty() {
        return;
    }
    page.gap();
    for evidence in own.iter().take(TRIGGER_LINES) {
        said(page, evidence, "    ", paint);
    }
    if own.len() > TRIGGER_LINES {
        page.line(&format!("    and {} more", own.len() - TRIGGER_LINES));
    }
}

/// `+ #4  its command line holds "sglang"`
fn said(page: &mut Page, evidence: &Evidence, start: &str, paint: Paint) {
    let number = format!("#{}", evidence.number);
    let indent = columns(start) + number.len().max(2) + 2;
    let says = if evidence.says.is_empty() {
        words::shorten(&evidence.quote, 80)
    } else {
        tame(&evidence.says)
    };
    let lines = wrapped(&says, paint.width.saturating_sub(indent).max(20));
    for (at, line) in lines.iter().enumerate() {
        if at == 0 {
            page.line(&format!(
                "{start}{}  {line}",
                paint.dim(&format!("{number:<2}"))
            ));
        } else {
            page.line(&format!("{}{line}", " ".repeat(indent)));
        }
    }
}

fn write_hypothesis(page: &mut Page, hypothesis: &Hypothesis, lead: bool, paint: Paint) {
    let (word, ink) = if hypothesis.refuted {
        ("ruled out", STRUCK)
    } else {
        (
            words::belief(hypothesis.probability),
            if lead { BOLD } else { DIM },
        )
    };
    let start = format!(
        "    {:<5}  {word:<11}   ",
        words::bar(hypothesis.probability)
    );
    let room = paint.width.saturating_sub(columns(&start)).max(20);
    let text = tame(&hypothesis.title);
    for (at, line) in wrapped(&text, room).iter().enumerate() {
        let start = if at == 0 {
            start.clone()
        } else {
            " ".repeat(columns(&start))
        };
        page.line(&format!("{start}{}", paint.style(ink, line)));
    }
    if let Some(prior) = words::prior_moved(hypothesis) {
        page.line(&format!("            {}", paint.dim(&prior)));
    }
    let most = if lead { LEAD_LINES } else { OTHER_LINES };
    for evidence in hypothesis.supports.iter().take(most) {
        said(page, evidence, "          + ", paint);
    }
    for evidence in hypothesis.against.iter().take(most) {
        said(page, evidence, "          − ", paint);
    }
}

/// `Seen before: 3 sessions; confirmed as … in s-4yxqpe0w (postmortem)`
fn seen_before(page: &mut Page, finding: &Finding, paint: Paint) {
    let Some(seen) = &finding.seen_before else {
        return;
    };
    page.gap();
    let text = tame(&words::seen_before(seen));
    for (at, line) in wrapped(&text, paint.width.saturating_sub(4))
        .iter()
        .enumerate()
    {
        page.line(&format!("  {}{line}", if at == 0 { "" } else { "  " }));
    }
}

/// Errors that no finding speaks of, and that other sessions showed too.
fn seen_errors(page: &mut Page, errors: &[SeenError], paint: Paint) {
    if errors.is_empty() {
        return;
    }
    page.gap();
    page.line("Seen before, and no finding speaks of it");
    for error in errors {
        let start = format!("    #{}  ", error.number);
        let room = paint.width.saturating_sub(columns(&start)).max(20);
        page.line(&format!(
            "{start}{}",
            words::shorten(&tame(&error.text), room)
        ));
        let text = tame(&words::seen_in(error.times, &error.sessions));
        for line in wrapped(&text, room) {
            page.line(&format!(
                "{}{}",
                " ".repeat(columns(&start)),
                paint.dim(&line)
            ));
        }
    }
}

/// Findings that follow from this one, in short.
fn follows(page: &mut Page, root: &Finding, findings: &[Finding], paint: Paint) {
    let effects: Vec<&Finding> = findings
        .iter()
        .filter(|finding| root.cause_of.contains(&finding.id))
        .collect();
    if effects.is_empty() {
        return;
    }
    page.gap();
    page.line("  Follows from it");
    for effect in effects {
        title(page, effect, paint, "    ");
    }
}

/// Launches and where they stand, where nothing else speaks of them.
fn launches(page: &mut Page, launches: &[LaunchView], paint: Paint) {
    if launches.is_empty() {
        return;
    }
    page.gap();
    page.line("Launches");
    for launch in launches {
        let mut parts = vec![format!("process {}", launch.process)];
        parts.push(format!("log {}", launch.log_state));
        if !matches!(launch.progress.as_str(), "none" | "unknown") {
            parts.push(launch.progress.clone());
        }
        if let Some(stage) = &launch.stage {
            parts.push(words::spoken(stage));
        }
        let start = format!(
            "    #{}  {}  {}  ",
            launch.number,
            tame(&launch.target_host),
            parts.join(", ")
        );
        let room = paint.width.saturating_sub(columns(&start));
        page.line(&format!(
            "{start}{}",
            paint.dim(&words::shorten_middle(&launch.line, room.max(20)))
        ));
    }
}

/// What should be true by now and nobody looked at, with the look that would show it.
///
/// A look that stands among the next ones already is not written again.
fn unchecked(
    page: &mut Page,
    conditions: &[PostconditionView],
    shown: &BTreeSet<&str>,
    paint: Paint,
) {
    let open: Vec<&PostconditionView> = conditions
        .iter()
        .filter(|condition| condition.state == Met::Unchecked)
        .collect();
    if open.is_empty() {
        return;
    }
    page.gap();
    page.line("Not checked yet");
    // The newest matter most.
    let skipped = open.len().saturating_sub(UNCHECKED_LINES);
    let rows: Vec<(String, String)> = open
        .iter()
        .skip(skipped)
        .map(|condition| {
            let text = format!("    #{}  {}", condition.number, tame(&condition.text));
            let look = condition.probe.line.as_str();
            let known = shown.contains(look);
            (text, if known { String::new() } else { tame(look) })
        })
        .collect();
    let widest = rows
        .iter()
        .map(|(text, _)| columns(text))
        .max()
        .unwrap_or(0);
    for (text, probe) in rows {
        if probe.is_empty() {
            page.line(&text);
        } else if widest + 4 + columns(&probe) <= paint.width {
            let pad = " ".repeat(widest - columns(&text) + 4);
            page.line(&format!("{text}{pad}{}", paint.dim(&probe)));
        } else {
            page.line(&text);
            page.line(&format!("        {}", paint.dim(&probe)));
        }
    }
    if skipped > 0 {
        page.line(&format!("    and {skipped} more before these"));
    }
}

#[cfg(test)]
mod tests;
