//! Playbooks: what a failure looks like, written down, and found again in a timeline.
//!
//! Pure. A playbook is one YAML file: the steps that make it fire, what each further observation
//! says for or against its hypotheses, the looks that would tell, and its own tests. [`load()`]
//! reads one strictly, checking every expression against the fact catalogue; [`run`] matches
//! playbooks against a [`Timeline`] and gives [`Matches`]: what fired, and what would need one more
//! look to tell. Ranking, belief and wording for people belong to the diagnosis.
//! `docs/playbooks.md` is the language's manual and specification.

mod absence;
mod check;
pub mod draft;
mod eval;
pub mod explain;
pub mod expr;
mod findings;
mod identity;
mod index;
pub mod known;
mod language;
pub mod lint;
mod load;
mod matcher;
mod nearest;
mod network;
mod pattern;
pub mod quoted;
pub mod schema;
mod scope;
mod series;
pub mod steps;
pub mod tables;
pub mod template;
pub mod testing;
mod walk;
mod ways;
mod words;
mod yaml;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

pub use expr::Expr;
pub use steps::CaseStep;
pub use template::Template;

use crate::fact::FactType;
use crate::shell::Tri;
use crate::time::Micros;
use crate::timeline::Timeline;

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Claim {
    /// It was seen; what it means is open.
    Observed,
    /// Likely, not proven.
    Suspected,
    /// A decisive observation was made.
    Established,
}

/// How bad it is, whatever the belief in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good or neutral news.
    Info,
    /// A nuisance.
    Low,
    /// Something does not work.
    Medium,
    /// The thing itself does not work.
    High,
    /// Data or a machine is at stake.
    Critical,
}

/// What a finding is about: two matches about the same thing are one finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeKind {
    /// One command.
    Command,
    /// One launch, for as long as its epoch lasts.
    Launch,
    /// A host.
    Host,
    /// A process: host and pid.
    Process,
    /// A log or other file: host and path.
    Log,
    /// An address that is asked: host and port.
    Endpoint,
    /// A GPU: host and index.
    Gpu,
    /// A container, pod or unit, by name.
    Container,
    /// The session.
    Session,
}

/// A playbook, checked.
#[derive(Debug, Clone)]
pub struct Playbook {
    /// Its id: words with dashes, stable for ever.
    pub id: String,
    /// Its version, counted up when what it finds changes.
    pub version: u32,
    /// The kind of its findings (`process.self_match`); a hypothesis may name a deeper one.
    pub kind: String,
    /// How bad.
    pub severity: Severity,
    /// What a finding is about.
    pub scope: ScopeKind,
    /// The most it claims by itself; a decisive observation lifts it to [`Claim::Established`].
    pub claim: Claim,
    /// In one sentence.
    pub title: Template,
    /// What follows from it.
    pub explains: Template,
    /// What mends it, in words; may be empty.
    pub remedy: Template,
    /// When it fires, what blocks it, what ends it.
    pub when: When,
    /// What speaks for or against its hypotheses.
    pub observations: Vec<Observation>,
    /// Competing explanations. *Other*, with a prior of 0.1, is implied and not listed.
    pub hypotheses: Vec<HypothesisSpec>,
    /// Looks that would tell.
    pub probes: Vec<ProbeSpec>,
    /// Playbook ids or kinds whose findings about the same launch or host follow from this one.
    pub root_of: Vec<String>,
    /// Where its knowledge comes from.
    pub references: Vec<Reference>,
    /// Its own tests.
    pub tests: Vec<TestCase>,
    /// The file it was read from.
    pub name: String,
    /// That file's text.
    pub text: String,
}

impl Playbook {
    /// Calls `each` with every fact that is asked for, in the order they are written.
    fn each_bind<'p>(&'p self, each: &mut dyn FnMut(&'p Bind)) {
        let guards = self.when.unless.iter().chain(&self.when.until);
        let observed = self
            .observations
            .iter()
            .flat_map(|one| [Some(&one.when), one.not_when.as_ref()])
            .flatten();
        let guarded = guards.chain(observed).map(|guard| &guard.step);
        for step in self.when.steps.iter().chain(guarded) {
            step.each_bind(each);
        }
    }
}

impl Step {
    fn each_bind<'p>(&'p self, each: &mut dyn FnMut(&'p Bind)) {
        match &self.form {
            Form::Fact(bind) => each(bind),
            Form::Series(series) => each(&series.bind),
            Form::All(steps) | Form::Any(steps) => {
                steps.iter().for_each(|step| step.each_bind(each));
            }
            Form::Absent(_) => {}
        }
    }
}

/// When a playbook fires.
#[derive(Debug, Clone, Default)]
pub struct When {
    /// What must be seen, in the order of what happened.
    pub steps: Vec<Step>,
    /// What blocks it when true.
    pub unless: Vec<Guard>,
    /// What ends it when true after it fired.
    pub until: Vec<Guard>,
}

/// One condition over the timeline.
#[derive(Debug, Clone)]
pub struct Step {
    /// What is asked for.
    pub form: Form,
    /// At most this many seconds after the step before.
    pub within_s: Option<f64>,
    /// At least this many seconds after the step before.
    pub after_s: Option<f64>,
    /// What its entry says as evidence; a general wording where none is written.
    pub says: Option<Template>,
    /// The line of the playbook it stands on.
    pub line: usize,
    /// Its column there, from 1.
    pub column: usize,
}

/// The forms of a step.
#[derive(Debug, Clone)]
pub enum Form {
    /// A fact.
    Fact(Bind),
    /// All of these, in any order.
    All(Vec<Step>),
    /// One of these.
    Any(Vec<Step>),
    /// A look that covers the subject and did not show it.
    Absent(Absent),
    /// A run of looks at the same thing.
    Series(Series),
}

/// A fact to be found.
#[derive(Debug, Clone)]
pub struct Bind {
    /// The name it is bound to.
    pub name: Option<Arc<str>>,
    /// Its type.
    pub fact: &'static FactType,
    /// How it belongs to what was bound before.
    pub on: Vec<Join>,
    /// What must be true of it.
    pub filter: Option<Expr>,
    /// Its number among its playbook's, in the order they are written.
    pub(crate) slot: usize,
}

/// How a fact belongs to what was bound before.
#[derive(Debug, Clone)]
pub struct Join {
    /// The identity compared.
    pub kind: JoinKind,
    /// What it is compared with; the latest binding that has such an identity where `None`.
    pub to: Option<JoinTo>,
}

/// What a join compares with.
#[derive(Debug, Clone)]
pub enum JoinTo {
    /// A binding.
    Binding(Arc<str>),
    /// A value.
    Value(Expr),
}

/// An identity that facts share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JoinKind {
    /// The same command.
    Command,
    /// The same host.
    Host,
    /// The same launch, within its epoch.
    Launch,
    /// The same file.
    Path,
    /// The launch's log.
    Log,
    /// The launch's script.
    Script,
    /// The same process.
    Pid,
    /// The same port.
    Port,
    /// The same GPU.
    Gpu,
    /// The same container (the place, or the thing named).
    Container,
    /// The same name of a unit, container or pod.
    Name,
    /// Anything in the session.
    Session,
}

/// A negative observation.
#[derive(Debug, Clone)]
pub struct Absent {
    /// The name the look is bound to.
    pub name: Option<Arc<str>>,
    /// What kind of thing is absent.
    pub subject: SubjectKind,
    /// Which one: a text or a number.
    pub value: Expr,
}

/// Kinds of things that can be seen to be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SubjectKind {
    /// A process by a text in its command line.
    Process,
    /// A process by its id.
    Pid,
    /// A file by its path.
    Path,
    /// A listening port.
    Port,
    /// A GPU by its index.
    Gpu,
}

/// A run of looks at the same thing.
#[derive(Debug, Clone)]
pub struct Series {
    /// What is looked at; its name is bound to the newest look of the run.
    pub bind: Bind,
    /// The name bound to the run's first look.
    pub first: Option<Arc<str>>,
    /// What is asked of the run.
    pub trend: Trend,
    /// The field compared; `None` for [`Trend::Count`] without `distinct`.
    pub field: Option<&'static str>,
    /// Differences up to this are none.
    pub noise: f64,
    /// Distinct values of this field are counted, in place of looks at the same thing.
    pub distinct: Option<&'static str>,
    /// At least this many looks.
    pub count: usize,
    /// Over at least this many seconds.
    pub spanning_s: f64,
}

/// What is asked of a run of looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trend {
    /// All show the same.
    Unchanged,
    /// The newest shows another value than the one before.
    Changed,
    /// The newest shows more than the first.
    Rising,
    /// None shows more than the first.
    NotRising,
    /// There are so many of them.
    Count,
}

/// A condition that blocks, ends or is observed: a step and where it is looked for.
#[derive(Debug, Clone)]
pub struct Guard {
    /// What is asked for.
    pub step: Step,
    /// Only after this binding.
    pub after: Option<Arc<str>>,
    /// Also before the finding's first entry.
    pub anytime: bool,
}

/// What speaks for or against the hypotheses.
#[derive(Debug, Clone)]
pub struct Observation {
    /// Its id within the playbook.
    pub id: String,
    /// What it says, in words, when it is so.
    pub says: Template,
    /// When it is so.
    pub when: Guard,
    /// When it is known not to be so, where that is more than the opposite of `when`.
    pub not_when: Option<Guard>,
    /// Observations of one group count once.
    pub group: Option<String>,
    /// How likely each hypothesis makes it (0 to 1); hypotheses not named make it .5.
    pub likely: BTreeMap<String, f64>,
    /// The hypotheses it settles when it is so.
    pub decisive: Vec<String>,
}

/// A competing explanation.
#[derive(Debug, Clone)]
pub struct HypothesisSpec {
    /// Its id within the playbook.
    pub id: String,
    /// In words.
    pub title: Template,
    /// Belief before any observation; all of a playbook's are scaled to sum to .9.
    pub prior: f64,
    /// Its own kind.
    pub kind: Option<String>,
    /// Its own severity.
    pub severity: Option<Severity>,
    /// Its own remedy.
    pub remedy: Option<Template>,
}

/// A look that would tell.
#[derive(Debug, Clone)]
pub struct ProbeSpec {
    /// Its id within the playbook.
    pub id: String,
    /// The command line, as the shell of its place reads it; holes are shell-quoted.
    pub run: Template,
    /// Where it runs.
    pub on: Target,
    /// Rough cost in seconds of a person's time.
    pub cost: f64,
    /// Its safety, when the author holds it to be worse than the shell parser does.
    pub safety: Option<String>,
    /// Why it is worth running.
    pub why: Template,
    /// Observations (or names of steps) it may settle.
    pub yields: Vec<String>,
}

/// Where a probe runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// In the scope's container, else on its host.
    #[default]
    Scope,
    /// On the scope's host, outside any container.
    Host,
    /// On the machine where the person types.
    Typist,
}

/// Where a playbook's knowledge comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// What is said.
    pub what: String,
    /// Of which version.
    pub version: String,
    /// How it is known: `recorded`, `quoted`, `manual`.
    pub provenance: String,
    /// Where to read on.
    pub url: Option<String>,
}

/// A test within a playbook.
#[derive(Debug, Clone, PartialEq)]
pub struct TestCase {
    /// Its name.
    pub name: String,
    /// What should come of it.
    pub expect: Expect,
    /// A healthy twin: what it looks like when all is well.
    pub healthy: bool,
    /// What is typed, and what comes of it.
    pub steps: Vec<CaseStep>,
    /// The line of the playbook it stands on.
    pub line: usize,
}

/// What should come of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expect {
    /// It fires and is open.
    Fires,
    /// It does not fire.
    Silent,
    /// It fires and is resolved.
    Resolved,
}

/// Something wrong in a playbook, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// What a finding is about. Numbers are indices into the timeline.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ScopeKey {
    /// The host.
    pub host: Option<String>,
    /// The container or pod.
    pub container: Option<String>,
    /// The launch, an index into [`Timeline::launches`].
    pub launch: Option<usize>,
    /// The command, an index into [`Timeline::commands`].
    pub command: Option<usize>,
    /// The log or file.
    pub path: Option<String>,
    /// The process.
    pub pid: Option<i64>,
    /// The endpoint (`host:port`).
    pub endpoint: Option<String>,
    /// The GPU.
    pub gpu: Option<i64>,
}

/// A playbook fired.
#[derive(Debug, Clone, PartialEq)]
pub struct Firing {
    /// The playbook, an index into those that ran.
    pub playbook: usize,
    /// What it is about.
    pub scope: ScopeKey,
    /// The same as a text that is stable over rebuilds and late imports: a finding's identity is
    /// made of the playbook's id, this, and the anchor.
    pub scope_key: String,
    /// Its first entry in the timeline.
    pub anchor: usize,
    /// The entries bound to names. `launch` is always there when the scope has a launch.
    pub bindings: BTreeMap<String, usize>,
    /// The entries behind it, oldest first, and what each says.
    pub evidence: Vec<(usize, String)>,
    /// The entry that shows that it is over.
    pub resolved: Option<usize>,
    /// What is known of each of the playbook's observations, in their order.
    pub observations: Vec<Seen>,
    /// When its first entry happened.
    pub since: Micros,
}

/// What is known of an observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The observation, an index into [`Playbook::observations`].
    pub observation: usize,
    /// It is so, it is not so, or nobody looked.
    pub state: Tri,
    /// The entries that say so.
    pub entries: Vec<usize>,
    /// What they say, in words; empty where the state is unknown.
    pub says: String,
}

/// A playbook that would fire if something unknown were true: a look worth taking.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// The playbook, an index into those that ran.
    pub playbook: usize,
    /// What it would be about.
    pub scope: ScopeKey,
    /// The same as a text.
    pub scope_key: String,
    /// The first entry of what is known.
    pub anchor: usize,
    /// The entries bound so far.
    pub bindings: BTreeMap<String, usize>,
    /// What is unknown, in words.
    pub unknown: Vec<String>,
    /// Those of the playbook's probes that would settle it, indices into [`Playbook::probes`].
    pub probes: Vec<usize>,
}

/// What came of matching.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matches {
    /// What fired, by playbook and then by first entry.
    pub firings: Vec<Firing>,
    /// What would need one more look.
    pub wishes: Vec<Wish>,
}

/// Reads a playbook.
///
/// # Errors
/// Every fault found, with its place: syntax, unknown keys, names that the catalogue lacks, types
/// that do not fit.
pub fn load(name: &str, text: &str) -> Result<Playbook, Vec<Fault>> {
    load::load(name, text, false)
}

/// Matches playbooks against a timeline.
pub fn run(playbooks: &[Playbook], timeline: &Timeline) -> Matches {
    Engine::new(playbooks).run(timeline)
}

/// Playbooks put together, to be matched against many timelines: what their conditions have in
/// common is worked out once.
pub struct Engine<'p>(network::Network<'p>);

impl<'p> Engine<'p> {
    /// Puts playbooks together.
    pub fn new(playbooks: &'p [Playbook]) -> Self {
        Self(network::Network::new(playbooks))
    }

    /// The playbooks.
    pub fn playbooks(&self) -> &'p [Playbook] {
        self.0.playbooks
    }

    /// Matches them against a timeline.
    pub fn run(&self, timeline: &Timeline) -> Matches {
        findings::run(&self.0, timeline)
    }
}

/// The playbooks that ship with the program, parsed once.
///
/// One that does not load is left out: the test of the shipped playbooks says which and why.
pub fn shipped() -> &'static [Playbook] {
    static SHIPPED: OnceLock<Vec<Playbook>> = OnceLock::new();
    SHIPPED.get_or_init(|| {
        let texts = shipped_texts();
        let loaded = texts
            .iter()
            .filter_map(|(name, text)| load::load(name, text, true).ok());
        loaded.collect()
    })
}

/// The files of the shipped playbooks, name and text, by name.
pub fn shipped_texts() -> Vec<(String, String)> {
    shipped_files("")
}

/// The YAML files of a shipped folder, name and text, by name: `""` or one that ends with `/`.
fn shipped_files(folder: &str) -> Vec<(String, String)> {
    let mut texts: Vec<(String, String)> = Shipped::iter()
        .filter_map(|path| {
            let name = path.strip_prefix(folder)?;
            if !name.ends_with(".yaml") || name.contains('/') {
                return None;
            }
            let file = Shipped::get(&path)?;
            let text = String::from_utf8(file.data.into_owned()).ok()?;
            Some((name.to_owned(), text))
        })
        .collect();
    texts.sort();
    texts
}

#[derive(rust_embed::RustEmbed)]
#[folder = "playbooks/"]
struct Shipped;

/// Fills a template's holes; what is unknown becomes `?`. With `quote` each hole is quoted for a
/// shell.
pub fn render(
    template: &Template,
    timeline: &Timeline,
    bindings: &BTreeMap<String, usize>,
    quote: bool,
) -> String {
    let env = eval::Env {
        timeline,
        it: None,
        bound: bindings,
        strict: false,
    };
    template.fill(env, quote)
}
