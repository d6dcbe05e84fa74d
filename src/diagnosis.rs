//! Diagnosis: what is wrong, how sure, on what evidence, and what to run next.
//!
//! Pure. The shapes here are those of the JSON contract (`rec why --json`, `rec next --json`): the
//! terminal and the pages render the same structs. [`diagnose`] makes them: playbooks fire
//! ([`crate::playbook`]), observations are weighed (`hypotheses`), what several playbooks explain is
//! shown once (`findings`), consequences hang under their cause (`cascades`), and looks that would tell
//! more are proposed (`next`, as lines to `paste`).

mod cascades;
pub mod experience;
pub mod explain;
mod findings;
mod hypotheses;
pub mod kinds;
mod next;
mod paste;
mod views;
pub mod words;

use serde::Serialize;

use self::experience::{Experience, PriorMove, SeenBefore, SeenError};
use crate::event::Stream;
use crate::id::{CommandId, FindingId, SessionId};
pub use crate::playbook::{Claim, Severity};
use crate::playbook::{Matches, Playbook};
use crate::shell::Tri;
use crate::time::Micros;
use crate::timeline::Timeline;

/// What a person said of a finding, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Which finding.
    pub finding: FindingId,
    /// What was said.
    pub verdict: Verdict,
}

/// What a person can say of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is right.
    Confirmed {
        /// The hypothesis held to be right, where one was named.
        hypothesis: Option<String>,
    },
    /// It is wrong.
    Dismissed,
}

/// Gives bytes of a command's stream as text: command (an index), stream, first byte, one past the last.
pub type Quotes<'a> = dyn Fn(usize, Stream, u64, u64) -> String + 'a;

/// What a diagnosis is made of, beside the playbooks.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The session, understood.
    pub timeline: &'a Timeline,
    /// What people said of its findings, oldest first.
    pub judgements: &'a [Judgement],
    /// What other sessions showed, and people said of it.
    pub experience: &'a Experience,
    /// What was printed.
    pub quotes: &'a Quotes<'a>,
    /// Which session.
    pub session: SessionId,
    /// Its times are relative: `as_of` is null.
    pub relative_time: bool,
}

/// Says what is wrong, how sure that is, on what evidence, and what to run next.
///
/// The same playbooks (in any order), timeline, judgements and experience give the same diagnosis.
pub fn diagnose(playbooks: &[Playbook], sources: Sources<'_>) -> Diagnosis {
    let matches = crate::playbook::run(playbooks, sources.timeline);
    from_matches(playbooks, &matches, sources)
}

/// The same, from what the playbooks found already.
pub fn from_matches(playbooks: &[Playbook], matches: &Matches, sources: Sources<'_>) -> Diagnosis {
    let timeline = sources.timeline;
    let mut drafts = findings::gather(playbooks, matches, sources);
    let seen_errors = experience::recall(&mut drafts, sources);
    cascades::hang(&mut drafts);
    let postconditions = views::postconditions(sources);
    let next = next::propose(playbooks, matches, timeline, &mut drafts, &postconditions);
    Diagnosis {
        format: FORMAT,
        session: sources.session,
        as_of: (!sources.relative_time).then(|| timeline.as_of.rfc3339()),
        findings: cascades::ordered(drafts),
        launches: views::launches(sources),
        postconditions,
        seen_errors,
        next,
    }
}

/// Format number of the JSON shapes.
pub const FORMAT: u32 = 1;

/// Where a finding stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It holds.
    Open,
    /// Later facts show that it is over.
    Resolved,
    /// A person agreed.
    Confirmed,
    /// A person disagreed.
    Dismissed,
}

/// An event that speaks for or against something.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// The command.
    pub command_id: CommandId,
    /// Its number.
    pub number: u32,
    /// Its line.
    pub line: String,
    /// The stream quoted; `None` when it is the command line or its end.
    pub stream: Option<Stream>,
    /// First byte quoted.
    pub from: u64,
    /// One past the last byte quoted.
    pub to: u64,
    /// The bytes, as text; shortened past 300 characters.
    pub quote: String,
    /// What it says, in words.
    pub says: String,
}

/// A competing explanation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hypothesis {
    /// Its id within the playbook (`other` is always there).
    pub id: String,
    /// In words.
    pub title: String,
    /// Its kind, where it names its own.
    pub kind: Option<String>,
    /// Belief, 0 to 1; all of a finding's sum to 1.
    pub probability: f64,
    /// How confirmations in other sessions moved its prior, where they did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior: Option<PriorMove>,
    /// What speaks for it.
    #[serde(rename = "for")]
    pub supports: Vec<Evidence>,
    /// What speaks against it.
    pub against: Vec<Evidence>,
    /// It is ruled out.
    pub refuted: bool,
}

/// A next command.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suggestion {
    /// Stable while the situation is (`n-…`).
    pub id: String,
    /// The command line, ready to paste.
    pub line: String,
    /// `read-only`, `heavy read`, `changes state`, `destructive`.
    pub safety: String,
    /// Why it is worth running.
    pub why: String,
    /// Rough cost in seconds of a person's time.
    pub cost: f64,
    /// The playbook that proposes it; empty for a postcondition's probe.
    pub playbook: String,
}

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Scope {
    /// The host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The container or pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The number of the command that launched it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<u32>,
    /// The number of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<u32>,
    /// The log or file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i64>,
    /// The endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<i64>,
}

/// A playbook fired.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Its identity: playbook, scope and anchor.
    pub id: FindingId,
    /// The playbook.
    pub playbook: String,
    /// The playbook's version.
    pub version: u32,
    /// The deepest cause known.
    pub kind: String,
    /// How sure.
    pub claim: Claim,
    /// How bad.
    pub severity: Severity,
    /// Where it stands.
    pub status: Status,
    /// Findings that follow from it.
    pub cause_of: Vec<FindingId>,
    /// In one sentence.
    pub title: String,
    /// What follows from it, in one or two sentences; may be empty.
    pub explains: String,
    /// What it is about.
    pub scope: Scope,
    /// The events behind it.
    pub evidence: Vec<Evidence>,
    /// Competing explanations, likeliest first.
    pub hypotheses: Vec<Hypothesis>,
    /// Where it was seen before, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen_before: Option<SeenBefore>,
    /// What to run next about it.
    pub next: Vec<Suggestion>,
    /// What mends it, in words, with the risk; may be empty.
    pub remedy: String,
    /// When its first event happened.
    pub since: Micros,
}

impl Finding {
    /// Belief in the likeliest explanation that is known: 1 for a finding without hypotheses.
    pub fn lead(&self) -> f64 {
        self.hypotheses
            .first()
            .map_or(1.0, |hypothesis| hypothesis.probability)
    }
}

/// A launch and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LaunchView {
    /// `l-` and its command's number.
    pub id: String,
    /// The command that launched it.
    pub command_id: CommandId,
    /// Its number.
    pub number: u32,
    /// Its line.
    pub line: String,
    /// The host it runs on.
    pub target_host: String,
    /// Its log.
    pub log: Option<String>,
    /// Its port.
    pub port: Option<i64>,
    /// `running`, `absent`, `unknown`.
    pub process: String,
    /// GPU memory: `idle`, `rising`, `steady`, `falling`, `unknown`.
    pub gpu: String,
    /// Its log: `absent`, `empty`, `stale`, `fresh`, `unchanged`, `unknown`.
    pub log_state: String,
    /// Progress in words (`44 %, still for 40 s`).
    pub progress: String,
    /// The furthest stage reached.
    pub stage: Option<String>,
    /// Whether the launch was reached.
    pub reached: Tri,
    /// When it was launched.
    pub since: Option<String>,
}

/// A postcondition as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PostconditionView {
    /// The command.
    pub command_id: CommandId,
    /// Its number.
    pub number: u32,
    /// Its line.
    pub line: String,
    /// What should be true.
    pub text: String,
    /// `met`, `unmet`, `unchecked`.
    pub state: crate::timeline::Met,
    /// What shows it.
    pub evidence: Vec<Evidence>,
    /// A look that would show it.
    pub probe: Suggestion,
}

/// All of it, at an instant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// [`FORMAT`].
    pub format: u32,
    /// The session.
    pub session: SessionId,
    /// The instant (RFC 3339), or null in a session of relative time.
    pub as_of: Option<String>,
    /// Findings, in the order of the contract.
    pub findings: Vec<Finding>,
    /// Launches.
    pub launches: Vec<LaunchView>,
    /// What should be true by now.
    pub postconditions: Vec<PostconditionView>,
    /// Errors that no finding speaks of, and that other sessions showed too.
    pub seen_errors: Vec<SeenError>,
    /// What to run next, over all findings.
    pub next: Vec<Suggestion>,
}

#[cfg(test)]
mod tests;
