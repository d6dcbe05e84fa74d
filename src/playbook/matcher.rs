//! The matcher: a backtracking join over the timeline, earliest match first.
//!
//! A [`Search`] walks a playbook's steps in order and calls back with every complete binding. In
//! its *strict* mode only what is true matches. In its *hopeful* mode what is unknown matches too
//! and is noted: that is how looks are proposed. What is done with a complete binding (scope,
//! `unless`, `until`, observations) is `findings.rs`'s.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::absence::{absent, looks, subject};
use super::eval::{Env, instant, show};
use super::identity::{has, identity, is, joined, launch_of};
use super::index::{Index, Within};
use super::series::runs;
use super::{Absent, Bind, Form, Join, JoinKind, JoinTo, Series, Step, Template};
use crate::fact::cover::Subject;
use crate::fact::fact_type;
use crate::shell::Tri;
use crate::timeline::Timeline;

/// Candidates tried for one first entry before the search gives up on it: a bound on playbooks
/// whose steps are joined to nothing.
const PATIENCE: usize = 200_000;

/// Unknown conditions that a hopeful match may hold.
const MOST_UNKNOWN: usize = 2;

/// An entry that a step matched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit<'p> {
    pub(super) entry: usize,
    pub(super) says: Option<&'p Template>,
}

/// How far a search has come.
#[derive(Debug, Clone, Default)]
pub(super) struct State<'p> {
    /// Names bound so far.
    pub(super) bound: Vec<(Arc<str>, usize)>,
    /// Entries matched so far, in the order of the steps.
    pub(super) hits: Vec<Hit<'p>>,
    /// The entry that the next step comes after.
    pub(super) previous: Option<usize>,
    /// What is unknown, with the name of its step.
    pub(super) unknown: Vec<(Option<Arc<str>>, String)>,
}

impl State<'_> {
    /// The first entry matched.
    pub(super) fn anchor(&self) -> Option<usize> {
        self.hits.first().map(|hit| hit.entry)
    }

    /// The newest entry matched.
    pub(super) fn newest(&self) -> Option<usize> {
        self.hits.iter().map(|hit| hit.entry).max()
    }

    pub(super) fn entries(&self) -> Vec<usize> {
        self.hits.iter().map(|hit| hit.entry).collect()
    }
}

/// Where entries may lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    /// The first entry that may match.
    pub(super) from: usize,
    /// One past the last.
    pub(super) to: usize,
    /// Without a join of their own, entries are those of this scope.
    pub(super) default_join: Option<JoinKind>,
}

impl Window {
    pub(super) const ALL: Self = Self {
        from: 0,
        to: usize::MAX,
        default_join: None,
    };
}

/// What the caller does with a complete binding: go on with the next one, or be done.
pub(super) type Flow = ControlFlow<()>;

type Next<'k, 'p> = &'k mut dyn FnMut(&mut State<'p>) -> Flow;

/// A search for the bindings of some steps.
pub(super) struct Search<'a, 't> {
    pub(super) timeline: &'t Timeline,
    pub(super) index: &'a Index<'t>,
    pub(super) window: Window,
    /// What is unknown matches too.
    pub(super) hopeful: bool,
    /// A complete binding ends the search for its first entry, not the whole search.
    pub(super) each_anchor: bool,
    /// Entries matched before may match again: what is observed may be what fired.
    observing: bool,
    left: std::cell::Cell<usize>,
    /// Some first step matched.
    began: std::cell::Cell<bool>,
}

impl<'a, 't> Search<'a, 't> {
    pub(super) fn new(timeline: &'t Timeline, index: &'a Index<'t>, window: Window) -> Self {
        Self {
            timeline,
            index,
            window,
            hopeful: false,
            each_anchor: false,
            observing: false,
            left: std::cell::Cell::new(PATIENCE),
            began: std::cell::Cell::new(false),
        }
    }

    /// Whether any first step matched at all.
    pub(super) fn began(&self) -> bool {
        self.began.get()
    }

    /// The same search, for observations.
    pub(super) fn observing(mut self) -> Self {
        self.observing = true;
        self
    }

    /// Entries that fit a step by type and joins, whatever its condition says of them.
    pub(super) fn fitting(&self, bind: &Bind, state: &State<'_>) -> Vec<usize> {
        let candidates = self.candidates(bind, state).iter().copied();
        candidates
            .filter(|at| self.joins(&bind.on, *at, state))
            .collect()
    }

    /// Looks at the same thing that say that it is not so.
    ///
    /// A look denies only what it is about: where the step names no more than a place (a host, a
    /// session), looks of another identity than those for which it was so say nothing of it. A field
    /// whose look could not tell denies nothing either.
    pub(super) fn deniers(&self, bind: &Bind, state: &State<'_>) -> Vec<usize> {
        let fitting = self.fitting(bind, state);
        let narrow = bind
            .on
            .iter()
            .any(|join| !matches!(join.kind, JoinKind::Host | JoinKind::Session))
            || (bind.on.is_empty()
                && self
                    .window
                    .default_join
                    .is_some_and(|kind| !matches!(kind, JoinKind::Host | JoinKind::Session)));
        let alike: Vec<String> = if narrow {
            Vec::new()
        } else {
            let so = fitting
                .iter()
                .filter(|at| self.filter(bind, **at, state) == Tri::Yes);
            so.filter_map(|at| self.timeline.entries.get(*at).map(identity))
                .collect()
        };
        fitting
            .into_iter()
            .filter(|at| {
                narrow
                    || self
                        .timeline
                        .entries
                        .get(*at)
                        .is_some_and(|entry| alike.contains(&identity(entry)))
            })
            .filter(|at| match &bind.filter {
                None => false,
                Some(filter) => {
                    let env = Env {
                        strict: true,
                        ..self.env(Some(*at), state)
                    };
                    filter.truth(env) == Tri::No
                }
            })
            .collect()
    }

    /// Looks that showed what is wanted to be absent.
    pub(super) fn shown(&self, wanted: &Absent, state: &State<'_>) -> Vec<usize> {
        self.looks_for(wanted, state)
            .into_iter()
            .flat_map(|(subject, looks)| {
                looks.into_iter().filter(move |at| {
                    let previous = state.previous;
                    previous.is_none_or(|previous| follows(self.timeline, previous, *at))
                        && absent(self.index, self.timeline, *at, &subject) == Tri::No
                })
            })
            .collect()
    }

    /// Binds steps in their order.
    pub(super) fn sequence<'p>(
        &self,
        steps: &'p [Step],
        state: &mut State<'p>,
        next: Next<'_, 'p>,
    ) -> Flow {
        let Some((step, rest)) = steps.split_first() else {
            return next(state);
        };
        self.one(step, state, &mut |state| self.sequence(rest, state, next))
    }

    /// Binds one step.
    pub(super) fn one<'p>(
        &self,
        step: &'p Step,
        state: &mut State<'p>,
        next: Next<'_, 'p>,
    ) -> Flow {
        match &step.form {
            Form::Fact(bind) => self.fact(step, bind, state, next),
            Form::Absent(absent) => self.absent(step, absent, state, next),
            Form::Series(series) => self.series(step, series, state, next),
            Form::Any(steps) => {
                for alternative in steps {
                    self.one(alternative, state, next)?;
                }
                Flow::Continue(())
            }
            Form::All(steps) => {
                let base = state.previous;
                self.all(steps, base, state, next)
            }
        }
    }

    /// Binds steps in any order of what happened: each comes after what was before them all.
    fn all<'p>(
        &self,
        steps: &'p [Step],
        base: Option<usize>,
        state: &mut State<'p>,
        next: Next<'_, 'p>,
    ) -> Flow {
        let Some((step, rest)) = steps.split_first() else {
            return next(state);
        };
        let latest = state.previous;
        state.previous = base;
        let flow = self.one(step, state, &mut |state| {
            let mine = state.previous;
            state.previous = mine.max(latest);
            let flow = self.all(rest, base, state, next);
            state.previous = mine;
            flow
        });
        state.previous = latest;
        flow
    }

    fn fact<'p>(
        &self,
        step: &'p Step,
        bind: &'p Bind,
        state: &mut State<'p>,
        next: Next<'_, 'p>,
    ) -> Flow {
        let candidates = self.candidates(bind, state);
        // What is unknown is judged by the newest look, what is true by the first.
        let backwards = self.hopeful && !state.hits.is_empty();
        let order: Box<dyn Iterator<Item = &usize>> = if backwards {
            Box::new(candidates.iter().rev())
        } else {
            Box::new(candidates.iter())
        };
        for at in order {
            let at = *at;
            if !self.may_follow(step, at, state) || !self.joins(&bind.on, at, state) {
                continue;
            }
            let told = self.filter(bind, at, state);
            match told {
                Tri::Yes => self.with(step, bind.name.as_ref(), at, state, next)?,
                Tri::No if backwards && is_state(bind.fact.name) => break,
                Tri::No => {}
                Tri::Unknown => {
                    // A hopeful match still begins with something known.
                    if self.hopeful && !state.hits.is_empty() && state.unknown.len() < MOST_UNKNOWN
                    {
                        let name = bind.name.clone();
                        let what = bind.filter.as_ref().map_or("", |filter| filter.source());
                        let what = format!("whether {what} ({})", bind.fact.name);
                        state.unknown.push((name, what));
                        let flow = self.with(step, bind.name.as_ref(), at, state, next);
                        state.unknown.pop();
                        flow?;
                    }
                }
            }
        }
        Flow::Continue(())
    }

    /// Goes on with an entry bound; takes it back afterwards.
    fn with<'p>(
        &self,
        step: &'p Step,
        name: Option<&Arc<str>>,
        at: usize,
        state: &mut State<'p>,
        next: Next<'_, 'p>,
    ) -> Flow {
        self.with_names(step, &[(name, at)], at, state, next)
    }

    fn with_names<'p>(
        &self,
        step: &'p Step,
        names: &[(Option<&Arc<str>>, usize)],
        at: usize,
        state: &mut State<'p>,
        next: Next<'_, 'p>,
    ) -> Flow {
        let (bound, hits, previous) = (state.bound.len(), state.hits.len(), state.previous);
        for (name, at) in names {
            if let Some(name) = name {
                state.bound.push((Arc::clone(name), *at));
            }
            // A run's first look is evidence too.
            if *at != names.last().map_or(*at, |(_, last)| *last) {
                state.hits.push(Hit {
                    entry: *at,
                    says: None,
                });
            }
        }
        state.hits.push(Hit {
            entry: at,
            says: step.says.as_ref(),
        });
        if !state.bound.iter().any(|(name, _)| &**name == "launch")
            && let Some(launch) = launch_of(self.timeline, at)
            && let Some(launch) = self.timeline.launches.get(launch)
        {
            state.bound.push((Arc::from("launch"), launch.entry));
        }
        state.previous = Some(at);
        let first = hits == 0;
        if first {
            self.left.set(PATIENCE);
            self.began.set(true);
        }
        let flow = next(state);
        state.bound.truncate(bound);
        state.hits.truncate(hits);
        state.previous = previous;
        if first && self.each_anchor {
            return Flow::Continue(());
        }
        flow
    }

    /// Entries of the right type that may match, in order: the shortest list that holds them all.
    fn candidates(&self, bind: &Bind, state: &State<'_>) -> &'a [usize] {
        let default = self.window.default_join.filter(|_| bind.on.is_empty());
        let joins = bind.on.iter().filter(|join| join.to.is_none());
        let all = joins
            .map(|join| join.kind)
            .chain(default)
            .map(|kind| {
                self.index
                    .entries(bind.fact, self.within(kind, bind, state))
            })
            .min_by_key(|list| list.len())
            .unwrap_or_else(|| self.index.entries(bind.fact, Within::Session));
        let from = all.partition_point(|at| *at < self.window.from);
        let to = all.partition_point(|at| *at < self.window.to);
        all.get(from..to).unwrap_or_default()
    }

    /// Where the entries lie that share an identity with the latest entry matched that has one.
    fn within(&self, kind: JoinKind, bind: &Bind, state: &State<'_>) -> Within<'t> {
        let mut before = state.hits.iter().rev().map(|hit| hit.entry);
        let Some((at, entry)) = before
            .find(|at| has(self.timeline, kind, *at))
            .and_then(|at| Some((at, self.timeline.entries.get(at)?)))
        else {
            return Within::Session;
        };
        match kind {
            // A request to a host and port is made from anywhere.
            JoinKind::Session | JoinKind::Port => Within::Session,
            JoinKind::Command => Within::Command(entry.command),
            // The launch's own fact may not carry its number: it is looked for on its host.
            JoinKind::Launch if bind.fact.name != "launch" => {
                launch_of(self.timeline, at).map_or(Within::Host(&entry.host), Within::Launch)
            }
            _ => Within::Host(&entry.host),
        }
    }

    /// Order, time and patience: whether an entry may be the next one.
    fn may_follow(&self, step: &Step, at: usize, state: &State<'_>) -> bool {
        let left = self.left.get();
        if left == 0 {
            return false;
        }
        self.left.set(left - 1);
        if !self.observing && state.hits.iter().any(|hit| hit.entry == at) {
            return false;
        }
        let Some(previous) = state.previous else {
            return true;
        };
        follows(self.timeline, previous, at) && self.in_time(step, previous, at)
    }

    fn in_time(&self, step: &Step, previous: usize, at: usize) -> bool {
        if step.within_s.is_none() && step.after_s.is_none() {
            return true;
        }
        let entry = |at: usize| self.timeline.entries.get(at);
        let (Some(previous), Some(entry)) = (entry(previous), entry(at)) else {
            return false;
        };
        let seconds = instant(entry).seconds_since(instant(previous));
        step.within_s.is_none_or(|most| seconds <= most)
            && step.after_s.is_none_or(|least| seconds >= least)
    }

    fn joins(&self, joins: &[Join], at: usize, state: &State<'_>) -> bool {
        if joins.is_empty() {
            return match self.window.default_join {
                Some(kind) => self.join(kind, None, at, state),
                None => true,
            };
        }
        joins
            .iter()
            .all(|join| self.join(join.kind, join.to.as_ref(), at, state))
    }

    fn join(&self, kind: JoinKind, to: Option<&JoinTo>, at: usize, state: &State<'_>) -> bool {
        match to {
            None => {
                let mut before = state.hits.iter().rev().map(|hit| hit.entry);
                before
                    .find(|before| has(self.timeline, kind, *before))
                    .is_some_and(|before| joined(self.timeline, kind, at, before))
            }
            Some(JoinTo::Binding(name)) => {
                let bound = state.bound.iter().rev().find(|(known, _)| known == name);
                bound.is_some_and(|(_, before)| joined(self.timeline, kind, at, *before))
            }
            Some(JoinTo::Value(expr)) => {
                let value = expr.value(self.env(None, state));
                value != super::eval::Val::Unknown && is(self.timeline, kind, at, &show(&value))
            }
        }
    }

    fn env<'e>(&'e self, it: Option<usize>, state: &'e State<'_>) -> Env<'e> {
        Env {
            timeline: self.timeline,
            it,
            bound: &state.bound,
            strict: false,
        }
    }

    fn filter(&self, bind: &Bind, at: usize, state: &State<'_>) -> Tri {
        match &bind.filter {
            None => Tri::Yes,
            Some(filter) => filter.truth(self.env(Some(at), state)),
        }
    }

    /// The subject of an absence, and the looks at its place that might show it, in order.
    fn looks_for(&self, wanted: &Absent, state: &State<'_>) -> Option<(Subject, Vec<usize>)> {
        let subject = subject(wanted.subject, &wanted.value.value(self.env(None, state)))?;
        let place = self.timeline.entries.get(state.hits.last()?.entry)?;
        let mut candidates: Vec<usize> = looks(wanted.subject)
            .iter()
            .flat_map(|look| self.index.named(look, Within::Host(&place.host)))
            .copied()
            .filter(|at| (self.window.from..self.window.to).contains(at))
            .filter(|at| {
                let entry = self.timeline.entries.get(*at);
                entry.is_some_and(|entry| entry.container == place.container)
            })
            .collect();
        candidates.sort_unstable();
        Some((subject, candidates))
    }

    fn absent<'p>(
        &self,
        step: &'p Step,
        wanted: &'p Absent,
        state: &mut State<'p>,
        next: Next<'_, 'p>,
    ) -> Flow {
        let Some((subject, candidates)) = self.looks_for(wanted, state) else {
            return Flow::Continue(());
        };
        let mut told = false;
        for at in &candidates {
            if !self.may_follow(step, *at, state) {
                continue;
            }
            match absent(self.index, self.timeline, *at, &subject) {
                Tri::Yes => {
                    told = true;
                    self.with(step, wanted.name.as_ref(), *at, state, next)?;
                }
                Tri::No => told = true,
                Tri::Unknown => {}
            }
        }
        if self.hopeful && !told && state.unknown.len() < MOST_UNKNOWN {
            let what = format!("whether {} is there", words_of(&subject));
            state.unknown.push((wanted.name.clone(), what));
            let flow = next(state);
            state.unknown.pop();
            flow?;
        }
        Flow::Continue(())
    }

    fn series<'p>(
        &self,
        step: &'p Step,
        series: &'p Series,
        state: &mut State<'p>,
        next: Next<'_, 'p>,
    ) -> Flow {
        let looks: Vec<usize> = self
            .candidates(&series.bind, state)
            .iter()
            .copied()
            .filter(|at| {
                state
                    .previous
                    .is_none_or(|previous| follows(self.timeline, previous, *at))
                    && self.joins(&series.bind.on, *at, state)
                    && self.filter(&series.bind, *at, state) == Tri::Yes
            })
            .collect();
        for run in runs(series, self.timeline, &looks) {
            let late = |previous| self.in_time(step, previous, run.last);
            if !state.previous.is_none_or(late) {
                continue;
            }
            let names = [
                (series.first.as_ref(), run.first),
                (series.bind.name.as_ref(), run.last),
            ];
            self.with_names(step, &names, run.last, state, next)?;
        }
        Flow::Continue(())
    }
}

/// Whether entry `at` may come after entry `previous` in a sequence: it is later, or speaks of the
/// same command, where invocations have their order and so has what stands in the output, but the
/// command's end has none.
pub(super) fn follows(timeline: &Timeline, previous: usize, at: usize) -> bool {
    if at > previous {
        return true;
    }
    let entry = |at: usize| timeline.entries.get(at);
    let (Some(one), Some(other)) = (entry(previous), entry(at)) else {
        return false;
    };
    at != previous
        && one.command == other.command
        && match (one.invocation, other.invocation) {
            (Some(one), Some(other)) => other > one,
            _ => one.stream.is_none() || other.stream.is_none(),
        }
}

/// Fact types that say how something stands, so that the newest look decides and a look that does
/// not fit says no. The others report that something happened: one more of them denies nothing.
pub(super) fn is_state(fact: &str) -> bool {
    matches!(
        fact,
        "exit"
            | "kill"
            | "process_look"
            | "gpu_look"
            | "gpu"
            | "gpu_process_look"
            | "file"
            | "dir_look"
            | "log_look"
            | "count"
            | "search"
            | "progress"
            | "http"
            | "port_look"
            | "reach"
            | "clock"
            | "memory"
            | "disk"
            | "tree_size"
            | "unit"
            | "container"
            | "pod"
            | "launch_state"
    ) && fact_type(fact).is_some()
}

fn words_of(subject: &Subject) -> String {
    match subject {
        Subject::Pid(pid) => format!("process {pid}"),
        Subject::CommandLine(text) => format!("a process for `{text}`"),
        Subject::Path(path) => format!("`{path}`"),
        Subject::Port(port) => format!("a listener on port {port}"),
        Subject::Gpu(index) => format!("GPU {index}"),
        Subject::Unit(name) | Subject::Container(name) => format!("`{name}`"),
    }
}
