//! `rec why --explain FINDING` and `rec playbook why-not ID`: what a playbook saw, clause by clause.

use serde_json::{Value, json};

use super::page::Page;
use super::paint::Paint;
use crate::cmd::desk::{Desk, playbooks};
use crate::diagnosis::Evidence;
use crate::diagnosis::explain::{ClauseView, Explained, ObservationView, Related, Stopped};
use crate::diagnosis::words::{one_line, shorten, tame};
use crate::id::FindingId;
use crate::playbook::Playbook;
use crate::playbook::explain::{Reason, Role};
use crate::projection::{SessionView, judge};
use crate::report::CommandError;
use crate::shell::Tri;
use crate::time::Micros;

const DIM: &str = "2";
/// The longest condition shown.
const ASKED: usize = 160;

/// Lays a finding of a session open; `text` is its id or the start of one.
///
/// # Errors
/// When there is no such finding, or the database does not answer.
pub async fn finding(
    desk: &Desk,
    view: &SessionView,
    text: &str,
) -> Result<Explained, CommandError> {
    let diagnosis = desk.diagnose(view).await?;
    let wanted = text.strip_prefix("f-").unwrap_or(text);
    let fits = |id: &FindingId| {
        let id = id.to_string();
        let id = id.strip_prefix("f-").unwrap_or(&id);
        text == "last" || id.starts_with(wanted)
    };
    let ids: Vec<FindingId> = diagnosis.findings.iter().map(|one| one.id).collect();
    let mut found = ids.into_iter().filter(fits);
    let none = || {
        CommandError::usage(format!(
            "no finding `{text}` in session {}",
            view.id.short()
        ))
        .hint("`rec why --json` lists them with their ids")
    };
    let first = found.next().ok_or_else(none)?;
    if text != "last" && found.next().is_some() {
        return Err(
            CommandError::usage(format!("`{text}` begins more than one finding's id"))
                .hint("type more of it"),
        );
    }
    let explained = judge::explain(&desk.store, view, &playbooks(), Micros::now(), first).await?;
    explained.ok_or_else(none)
}

/// How far a playbook comes in a session.
///
/// # Errors
/// When there is no such playbook, or the database does not answer.
pub async fn why_not(
    desk: &Desk,
    view: &SessionView,
    id: &str,
) -> Result<(Playbook, Stopped), CommandError> {
    let playbook = playbooks()
        .into_iter()
        .find(|one| one.id == id)
        .ok_or_else(|| {
            CommandError::usage(format!("no playbook `{id}`"))
                .hint("`rec playbook list` lists them")
        })?;
    let stopped = judge::why_not(&desk.store, view, &playbook, Micros::now()).await?;
    Ok((playbook, stopped))
}

/// The answer in JSON.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn why_not_json(
    view: &SessionView,
    playbook: &Playbook,
    stopped: &Stopped,
) -> serde_json::Result<Value> {
    let mut answer = serde_json::to_value(stopped)?;
    answer["format"] = json!(1);
    answer["ok"] = json!(true);
    answer["session"] = json!(view.id);
    answer["playbook"] = json!(playbook.id);
    answer["version"] = json!(playbook.version);
    answer["fires"] = json!(stopped.why.reason == Reason::Fires);
    Ok(answer)
}

/// A finding laid open, for people.
pub fn render(explained: &Explained, paint: Paint) -> String {
    let finding = &explained.finding;
    let mut page = Page::default();
    page.line(&paint.bold(&tame(&finding.title)));
    page.line(&paint.style(DIM, &format!("{} · {}", finding.id, finding.kind)));
    related(&mut page, "follows from", &explained.follows_from);
    related(&mut page, "root of", &explained.root_of);
    for part in &explained.parts {
        page.gap();
        page.line(&format!("{} (version {})", part.playbook, part.version));
        for clause in &part.clauses {
            write_clause(&mut page, clause, paint);
        }
        if !part.observations.is_empty() {
            page.gap();
            page.line("  Observations");
        }
        for observation in &part.observations {
            write_observation(&mut page, observation, paint);
        }
    }
    if !finding.hypotheses.is_empty() {
        page.gap();
        page.line("  In the end");
        for hypothesis in &finding.hypotheses {
            let out = if hypothesis.refuted {
                ", ruled out"
            } else {
                ""
            };
            page.line(&format!(
                "    {:>3.0} %  {}{out}",
                hypothesis.probability * 100.0,
                tame(&hypothesis.title)
            ));
        }
    }
    page.text()
}

fn related(page: &mut Page, word: &str, all: &[Related]) {
    for one in all {
        page.line(&format!("{word} {}  {}", one.id, tame(&one.title)));
    }
}

fn mark(state: Tri) -> &'static str {
    match state {
        Tri::Yes => "✓",
        Tri::No => "✗",
        Tri::Unknown => "?",
    }
}

fn write_clause(page: &mut Page, clause: &ClauseView, paint: Paint) {
    let role = match clause.role {
        Role::Step => "",
        Role::Unless => "unless ",
        Role::Until => "until ",
    };
    let asks = shorten(
        &one_line(&clause.asks),
        paint.width.saturating_sub(8).max(40),
    );
    page.line(&format!("  {} {role}{}", mark(clause.state), tame(&asks)));
    let none = match (clause.role, clause.state, clause.evidence.is_empty()) {
        (Role::Step, Tri::Unknown, _) => "not needed: another alternative was seen",
        (Role::Unless, Tri::Unknown, _) => "not seen: it does not block",
        (Role::Unless, Tri::No, _) => "a look says that it is not so",
        (Role::Until, Tri::Unknown, _) => "not seen: it is not over",
        _ => "",
    };
    if !none.is_empty() {
        page.line(&paint.style(DIM, &format!("      {none}")));
    }
    for evidence in &clause.evidence {
        write_evidence(page, evidence, paint);
    }
}

fn write_evidence(page: &mut Page, evidence: &Evidence, paint: Paint) {
    let stream = evidence.stream.map_or("line", crate::event::Stream::name);
    page.line(&format!(
        "      #{} {stream}  {}",
        evidence.number,
        tame(&evidence.says)
    ));
    let room = paint.width.saturating_sub(10).max(40);
    let quote = shorten(&evidence.quote, room);
    if !quote.is_empty() && quote != evidence.says {
        page.line(&paint.style(DIM, &format!("        {}", tame(&quote))));
    }
}

fn write_observation(page: &mut Page, observation: &ObservationView, paint: Paint) {
    let state = match observation.state {
        Tri::Yes => "",
        Tri::No => "not so: ",
        Tri::Unknown => "nobody looked: ",
    };
    page.line(&format!(
        "  {} {state}{} ({})",
        mark(observation.state),
        tame(&observation.says),
        observation.id
    ));
    if let (Tri::Unknown, [_, ..]) = (observation.state, observation.probes.as_slice()) {
        let probes = observation.probes.join(", ");
        page.line(&paint.style(DIM, &format!("      would be settled by {probes}")));
    }
    for evidence in &observation.evidence {
        write_evidence(page, evidence, paint);
    }
    if observation.state != Tri::Unknown && !observation.counted {
        let group = observation.group.as_deref().unwrap_or_default();
        let told = format!("      not counted: another of the group {group} tells more");
        page.line(&paint.style(DIM, &told));
    }
    for effect in &observation.effects {
        let moved = if observation.counted {
            format!(
                "{:.0} % → {:.0} %",
                effect.before * 100.0,
                effect.after * 100.0
            )
        } else {
            String::new()
        };
        page.line(&format!(
            "      {:<24} {} {moved}",
            effect.hypothesis,
            likelihood(effect.likely)
        ));
    }
}

/// A likelihood in the words of playbooks.
fn likelihood(likely: f64) -> String {
    let words = [
        (0.02, "never"),
        (0.1, "rarely"),
        (0.5, "some"),
        (0.9, "usually"),
        (0.98, "always"),
    ];
    let word = words
        .iter()
        .find(|(known, _)| (likely - known).abs() < 1e-9);
    word.map_or_else(
        || format!("{likely:<8.2}"),
        |(_, word)| format!("{word:<8}"),
    )
}

/// Why a playbook did not fire, for people.
pub fn render_why_not(playbook: &Playbook, stopped: &Stopped, paint: Paint) -> String {
    let why = &stopped.why;
    let mut page = Page::default();
    if why.reason == Reason::Fires {
        page.line(&format!("{} fires here: `rec why` shows it.", playbook.id));
    } else {
        page.line(&format!(
            "{}: {} of {} {} matched.",
            playbook.id,
            why.matched,
            why.steps,
            if why.steps == 1 { "step" } else { "steps" }
        ));
    }
    for evidence in &stopped.seen {
        write_evidence(&mut page, evidence, paint);
    }
    if why.reason == Reason::Fires {
        return page.text();
    }
    page.gap();
    let word = match why.reason {
        Reason::Blocked => "Blocked by",
        Reason::Ended => "Ended by",
        _ => "Then it wants",
    };
    let place = match why.line {
        0 => String::new(),
        line => format!(" (line {line} of {})", playbook.name),
    };
    // Its parts stand below.
    let asks = shorten(&one_line(&why.asks), ASKED);
    page.line(&format!("{word} {}{place}", tame(&asks)));
    page.line(&format!("  {}", tame(&why.says)));
    if let Some(nearest) = &stopped.nearest {
        page.line("  Nearest:");
        write_evidence(&mut page, nearest, paint);
    }
    for part in &why.parts {
        let fields: Vec<String> = part
            .fields
            .iter()
            .map(|(name, value)| format!("{name} = {}", shorten(&one_line(value), 60)))
            .collect();
        page.line(&format!(
            "    {} {}   {}",
            mark(part.state),
            tame(&shorten(&one_line(&part.text), ASKED)),
            paint.style(DIM, &tame(&fields.join(", ")))
        ));
    }
    page.text()
}
