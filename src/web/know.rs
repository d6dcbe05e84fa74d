//! *What we know* and *next*, ready for a page.

use std::collections::BTreeMap;

use askama::Template;

use crate::diagnosis::{
    Diagnosis, Evidence, Finding, Hypothesis, LaunchView, Scope, Severity, Status, Suggestion,
    kinds, words as said,
};
use crate::id::SessionId;
use crate::shell::Tri;
use crate::timeline::Met;

use super::data::Understanding;
use super::markup::{Markup, plain};
use super::words::{self, Sign, Stamp};

/// The column beside the timeline.
#[derive(Debug, Clone, Template)]
#[template(path = "partials/know.html")]
pub struct Know {
    /// The address of the session.
    pub base: String,
    /// It took too long to work out for this page; it comes by itself.
    pub waiting: bool,
    /// Findings that stand, in the order of the diagnosis.
    pub findings: Vec<FindingView>,
    /// Findings that are over, healthy or dismissed.
    pub quiet: Vec<FindingView>,
    /// What to run next.
    pub next: Vec<SuggestionView>,
    /// Launches, newest first.
    pub launches: Vec<LaunchCard>,
    /// What should be true and was seen not to be.
    pub unmet: Vec<CheckView>,
    /// What should be true and nobody looked.
    pub unchecked: Vec<CheckView>,
    /// How many were seen to hold, in words; empty for none.
    pub met: String,
}

/// It is written by its own template, which escapes.
impl askama::filters::HtmlSafe for Know {}

/// A finding.
#[derive(Debug, Clone)]
pub struct FindingView {
    /// Its id.
    pub id: String,
    /// Its sign.
    pub sign: Sign,
    /// How bad, in a word.
    pub severity: &'static str,
    /// Where it stands; empty while it is open.
    pub status: &'static str,
    /// It can still be judged.
    pub judged: bool,
    /// In one sentence.
    pub title: Markup,
    /// What follows.
    pub explains: Markup,
    /// What mends it.
    pub remedy: Markup,
    /// What it is about.
    pub about: String,
    /// Its kind.
    pub kind: String,
    /// Its playbook.
    pub playbook: String,
    /// The playbook's version.
    pub version: u32,
    /// The events behind it.
    pub evidence: Vec<EvidenceView>,
    /// Competing explanations.
    pub hypotheses: Vec<HypothesisView>,
    /// Where it was seen before, in words; may be empty.
    pub seen: Markup,
    /// The sessions: address and name.
    pub seen_in: Vec<(String, String)>,
    /// Numbers of its commands, separated by spaces, to light them up.
    pub numbers: String,
    /// It is the first one, and open.
    pub first: bool,
}

/// An event that speaks for or against.
#[derive(Debug, Clone)]
pub struct EvidenceView {
    /// The command's number.
    pub number: u32,
    /// Its address.
    pub href: String,
    /// What it says.
    pub says: Markup,
    /// The bytes quoted; may be empty.
    pub quote: Markup,
}

/// A competing explanation.
#[derive(Debug, Clone)]
pub struct HypothesisView {
    /// Its id.
    pub id: String,
    /// In words.
    pub title: Markup,
    /// Belief in a word.
    pub word: &'static str,
    /// Belief as the class of a bar.
    pub bar: &'static str,
    /// How its prior was moved, in words; may be empty.
    pub prior: String,
    /// It is ruled out.
    pub refuted: bool,
    /// What speaks for it.
    pub supports: Vec<EvidenceView>,
    /// What speaks against it.
    pub against: Vec<EvidenceView>,
}

/// A next command.
#[derive(Debug, Clone)]
pub struct SuggestionView {
    /// The line to copy, exactly.
    pub line: String,
    /// The line to read.
    pub shown: Markup,
    /// Its safety.
    pub safety: String,
    /// The class of its safety: `safe`, `care`, `danger`.
    pub class: &'static str,
    /// Why.
    pub why: Markup,
}

/// A launch.
#[derive(Debug, Clone)]
pub struct LaunchCard {
    /// Its number.
    pub number: u32,
    /// The address of its command.
    pub href: String,
    /// Its line, shortened.
    pub line: Markup,
    /// The host.
    pub host: String,
    /// Where it stands in a word, with its class.
    pub state: (&'static str, &'static str),
    /// What is known: name, words, and whether it is known at all.
    pub facts: Vec<(&'static str, String, bool)>,
}

/// A postcondition.
#[derive(Debug, Clone)]
pub struct CheckView {
    /// The command's number.
    pub number: u32,
    /// Its address.
    pub href: String,
    /// What should be true.
    pub text: Markup,
    /// The look that would show it.
    pub probe: Option<SuggestionView>,
}

impl Know {
    /// The column of a session.
    pub fn of(session: SessionId, understanding: Option<&Understanding>) -> Self {
        let base = format!("/s/{session}");
        let Some(understanding) = understanding else {
            return Self::waiting(base);
        };
        let diagnosis = &understanding.diagnosis;
        let (standing, quiet): (Vec<&Finding>, Vec<&Finding>) =
            diagnosis.findings.iter().partition(|f| is_standing(f));
        let mut findings: Vec<FindingView> = standing.iter().map(|f| finding(&base, f)).collect();
        if let Some(first) = findings.first_mut() {
            first.first = true;
        }
        let checks = |state| checks(&base, diagnosis, state);
        let met = checks(Met::Met).len() as u64;
        Self {
            findings,
            quiet: quiet.iter().map(|f| finding(&base, f)).collect(),
            next: diagnosis.next.iter().take(5).map(suggestion).collect(),
            launches: diagnosis
                .launches
                .iter()
                .rev()
                .take(6)
                .map(|launch| launch_card(&base, launch))
                .collect(),
            unmet: checks(Met::Unmet),
            unchecked: checks(Met::Unchecked),
            met: if met == 0 {
                String::new()
            } else {
                format!("{} seen to hold", words::counted(met, "condition"))
            },
            base,
            waiting: false,
        }
    }

    fn waiting(base: String) -> Self {
        Self {
            base,
            waiting: true,
            findings: Vec::new(),
            quiet: Vec::new(),
            next: Vec::new(),
            launches: Vec::new(),
            unmet: Vec::new(),
            unchecked: Vec::new(),
            met: String::new(),
        }
    }

    /// Whether there is nothing to say at all.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
            && self.quiet.is_empty()
            && self.launches.is_empty()
            && self.unmet.is_empty()
            && self.unchecked.is_empty()
    }
}

fn is_standing(finding: &Finding) -> bool {
    !kinds::harmless(&finding.kind)
        && !matches!(finding.status, Status::Resolved | Status::Dismissed)
        && finding.severity > Severity::Info
}

/// A finding.
pub fn finding(base: &str, finding: &Finding) -> FindingView {
    let mut numbers: Vec<u32> = finding.evidence.iter().map(|e| e.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    FindingView {
        id: finding.id.to_string(),
        sign: words::sign(finding),
        severity: said::severity(finding.severity),
        status: words::status(finding.status),
        judged: finding.status != Status::Open,
        title: plain(&finding.title),
        explains: plain(&finding.explains),
        remedy: plain(&finding.remedy),
        about: about(&finding.scope),
        kind: finding.kind.clone(),
        playbook: finding.playbook.clone(),
        version: finding.version,
        evidence: evidence(base, &finding.evidence),
        hypotheses: finding
            .hypotheses
            .iter()
            .map(|h| hypothesis(base, h))
            .collect(),
        seen: plain(
            &finding
                .seen_before
                .as_ref()
                .map_or_else(String::new, said::seen_before),
        ),
        seen_in: finding
            .seen_before
            .iter()
            .flat_map(|seen| &seen.sessions)
            .map(|seen| {
                let name = seen.title.as_ref().map(|title| words::shorten(title, 40));
                let name = name.unwrap_or_else(|| seen.session.short());
                (format!("/s/{}", seen.session), name)
            })
            .collect(),
        numbers: numbers.join(" "),
        first: false,
    }
}

fn about(scope: &Scope) -> String {
    let mut parts = Vec::new();
    parts.extend(scope.host.clone());
    parts.extend(scope.container.as_ref().map(|c| format!("container {c}")));
    parts.extend(scope.launch.map(|n| format!("launch #{n}")));
    parts.extend(scope.command.map(|n| format!("#{n}")));
    parts.extend(scope.pid.map(|pid| format!("pid {pid}")));
    parts.extend(scope.gpu.map(|gpu| format!("GPU {gpu}")));
    parts.extend(scope.endpoint.clone());
    parts.extend(scope.path.clone());
    words::shorten(&parts.join(" · "), 120)
}

fn evidence(base: &str, evidence: &[Evidence]) -> Vec<EvidenceView> {
    evidence
        .iter()
        .map(|event| {
            let line = event
                .stream
                .map(|stream| format!("?at={}:{}", stream.name(), event.from))
                .unwrap_or_default();
            EvidenceView {
                number: event.number,
                href: format!("{base}/{}{line}", event.number),
                says: plain(&event.says),
                quote: plain(&words::shorten(event.quote.trim(), 160)),
            }
        })
        .collect()
}

fn hypothesis(base: &str, hypothesis: &Hypothesis) -> HypothesisView {
    HypothesisView {
        id: hypothesis.id.clone(),
        title: plain(&hypothesis.title),
        word: if hypothesis.refuted {
            "ruled out"
        } else {
            said::belief(hypothesis.probability)
        },
        bar: words::bar(if hypothesis.refuted {
            0.0
        } else {
            hypothesis.probability
        }),
        prior: said::prior_moved(hypothesis).unwrap_or_default(),
        refuted: hypothesis.refuted,
        supports: evidence(base, &hypothesis.supports),
        against: evidence(base, &hypothesis.against),
    }
}

/// A next command.
pub fn suggestion(suggestion: &Suggestion) -> SuggestionView {
    SuggestionView {
        line: suggestion.line.clone(),
        shown: plain(&suggestion.line),
        safety: suggestion.safety.clone(),
        class: match suggestion.safety.as_str() {
            "read-only" => "safe",
            "destructive" => "danger",
            _ => "care",
        },
        why: plain(&suggestion.why),
    }
}

fn checks(base: &str, diagnosis: &Diagnosis, state: Met) -> Vec<CheckView> {
    diagnosis
        .postconditions
        .iter()
        .filter(|condition| condition.state == state)
        .map(|condition| CheckView {
            number: condition.number,
            href: format!("{base}/{}", condition.number),
            text: plain(&condition.text),
            probe: (!condition.probe.line.is_empty()).then(|| suggestion(&condition.probe)),
        })
        .collect()
}

fn launch_card(base: &str, launch: &LaunchView) -> LaunchCard {
    let mut facts = Vec::new();
    let mut say = |name, words: &str| {
        let is_known = !words.is_empty() && words != "unknown" && words != "none";
        let words = if is_known { words } else { "nobody looked" };
        facts.push((name, words.to_owned(), is_known));
    };
    if launch.reached == Tri::Unknown {
        say("reached", "cannot be told");
    }
    say("process", &launch.process);
    say("GPU memory", &launch.gpu);
    let log = match &launch.log {
        Some(path) if launch.log_state != "unknown" => format!("{} · {path}", launch.log_state),
        _ => launch.log_state.clone(),
    };
    say("log", &log);
    if !launch.progress.is_empty() {
        say("progress", &launch.progress);
    }
    if let Some(stage) = &launch.stage {
        say("stage", stage);
    }
    if let Some(port) = launch.port {
        say("port", &port.to_string());
    }
    LaunchCard {
        number: launch.number,
        href: format!("{base}/{}", launch.number),
        line: plain(&words::shorten(&launch.line, 140)),
        host: launch.target_host.clone(),
        state: launch_state(launch),
        facts,
    }
}

fn launch_state(launch: &LaunchView) -> (&'static str, &'static str) {
    let still = launch.progress.contains("still") || launch.log_state == "unchanged";
    match (launch.reached, launch.process.as_str()) {
        (Tri::No, _) => ("never started", "absent"),
        (_, "absent") => ("gone", "gone"),
        (_, "running") if launch.stage.as_deref().is_some_and(|s| s.contains("ready")) => {
            ("ready", "ready")
        }
        (_, "running") if still => ("stalled", "stalled"),
        (_, "running") => ("running", "loading"),
        _ => ("unknown", "unknown"),
    }
}

/// Findings by the number of the command on whose row they stand: the one they are about, else the
/// last one behind them.
pub fn by_row(diagnosis: &Diagnosis) -> BTreeMap<u32, Vec<&Finding>> {
    let mut rows: BTreeMap<u32, Vec<&Finding>> = BTreeMap::new();
    for finding in &diagnosis.findings {
        let last = finding.evidence.iter().map(|e| e.number).max();
        if let Some(number) = finding.scope.command.or(last) {
            rows.entry(number).or_default().push(finding);
        }
    }
    rows
}

/// When a finding's first event happened.
pub fn since(finding: &Finding, relative: bool) -> Stamp {
    Stamp::of(finding.since, relative)
}
