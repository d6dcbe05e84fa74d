//! The matcher: a backtracking join over the timeline, earliest match first.
//!
//! A [`Search`] walks a playbook's steps in order and calls back with every complete binding. In
//! its *strict* mode only what is true matches. In its *hopeful* mode what is unknown matches too
//! and is noted: that is how looks are proposed. What is done with a complete binding (scope,
//! `unless`, `until`, observations) is `findings.rs`'s.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::absence::{looks, subject};
use super::eval::{Env, instant, show};
use super::identity::{file_of, has, is, joined, launch_of, pids};
use super::index::{Index, Within};
use super::network::{Alone, Memory};
use super::series::runs;
use super::walk::{Of, Walk};
use super::{Absent, Bind, Form, Join, JoinKind, JoinTo, Series, Step, Template};
use crate::fact::cover::{Subject, last_part};
use crate::fact::fact_type;
use crate::shell::Tri;
use crate::timeline::Timeline;

mod tried;

use tried::{EVERYTHING, Tried, bit};

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
    /// The step that it met.
    pub(super) step: &'p Step,
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

/// Whether an entry may be the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// It may.
    Follows,
    /// It comes before, as it does for whatever comes after the entry before.
    Earlier,
    /// It may not as things are, for these of the entries matched: it is bound already, or out of time.
    NotNow(u64),
}

/// What the caller does with a complete binding: go on with the next one, or be done.
pub(super) type Flow = ControlFlow<()>;

type Next<'k, 'p> = &'k mut dyn FnMut(&mut State<'p>) -> Flow;

/// A search for the bindings of some steps.
pub(super) struct Search<'a> {
    pub(super) timeline: &'a Timeline,
    index: &'a Index<'a>,
    memory: &'a Memory<'a>,
    /// The playbook, its number among the network's.
    playbook: usize,
    pub(super) window: Window,
    /// What is unknown matches too.
    pub(super) hopeful: bool,
    /// A complete binding ends the search for its first entry, not the whole search.
    pub(super) each_anchor: bool,
    /// The newest entry that fits a step is tried first.
    pub(super) newest_first: bool,
    /// Entries matched before may match again: what is observed may be what fired.
    observing: bool,
    left: std::cell::Cell<usize>,
    /// What its steps met before.
    tried: Tried,
    /// Goes back past what cannot help: the caller says by [`Self::blame_all`] what is complete.
    pub(super) jumps: bool,
    /// The entries matched, by their places, for which what was tried last came to nothing.
    conflict: std::cell::Cell<u64>,
    /// Some first step matched.
    began: std::cell::Cell<bool>,
}

impl<'a> Search<'a> {
    pub(super) fn new(memory: &'a Memory<'a>, playbook: usize, window: Window) -> Self {
        Self {
            timeline: memory.timeline(),
            index: memory.index(),
            memory,
            playbook,
            window,
            newest_first: false,
            hopeful: false,
            each_anchor: false,
            observing: false,
            left: std::cell::Cell::new(PATIENCE),
            tried: Tried::default(),
            jumps: false,
            conflict: std::cell::Cell::new(0),
            began: std::cell::Cell::new(false),
        }
    }

    /// Whether any first step matched at all.
    pub(super) fn began(&self) -> bool {
        self.began.get()
    }

    fn walk(
        &self,
        bind: &Bind,
        state: &State<'_>,
        list: &'a [usize],
        of: Of,
        bounds: (usize, usize),
    ) -> Walk<'a> {
        let env = self.env(None, state);
        Walk::new(self.memory, (self.playbook, bind), list, of, bounds, env)
    }

    /// Whether a condition speaks of the entry alone: then [`Of::True`] is all that it says.
    fn is_alone(&self, bind: &Bind) -> bool {
        let alone = self.memory.alone(self.playbook, bind);
        alone.is_some_and(Alone::is_whole)
    }

    /// The same search, for observations.
    pub(super) fn observing(mut self) -> Self {
        self.observing = true;
        self
    }

    /// The newest entry that was looked at for a step and says that it is not so.
    pub(super) fn denied(&self, step: &'a Step, state: &State<'a>) -> Option<usize> {
        match &step.form {
            Form::Fact(bind) if is_state(bind.fact.name) => self.denied_by(bind, state),
            Form::Absent(wanted) => self.shown(wanted, state),
            Form::Any(steps) => {
                // One of several is denied when each of them is.
                let each: Option<Vec<usize>> =
                    steps.iter().map(|step| self.denied(step, state)).collect();
                each?.into_iter().max()
            }
            Form::All(steps) => steps
                .iter()
                .filter_map(|step| self.denied(step, state))
                .max(),
            _ => None,
        }
    }

    /// The newest look at the same thing that says that it is not so.
    ///
    /// A look denies only what it is about: where the step names no more than a place (a host, a
    /// session), looks of another identity than those for which it was so say nothing of it. A field
    /// whose look could not tell denies nothing either.
    fn denied_by(&self, bind: &'a Bind, state: &State<'a>) -> Option<usize> {
        let filter = bind.filter.as_ref()?;
        let list = self.list(bind, state);
        let place = |kind: JoinKind| matches!(kind, JoinKind::Host | JoinKind::Session);
        let default = self.window.default_join.filter(|_| bind.on.is_empty());
        let mut kinds = bind.on.iter().map(|join| join.kind).chain(default);
        let narrow = kinds.any(|kind| !place(kind));
        let bounds = (self.window.from, self.window.to);
        let mut so = self.walk(bind, state, list, Of::True, bounds);
        let mut so = std::iter::from_fn(|| so.forward()).filter(|at| {
            self.joins(&bind.on, *at, state) && self.filter(bind, *at, state) == Tri::Yes
        });
        // Of what the looks are for which it was so; found out when one denies it.
        let mut first = None;
        if !narrow {
            first = Some(so.next()?);
        }
        let alike = LazyCell::new(|| {
            let all = first.into_iter().chain(so);
            all.map(|at| self.index.identity(at))
                .collect::<HashSet<_>>()
        });
        let mut walk = self.walk(bind, state, list, Of::Denied, bounds);
        std::iter::from_fn(|| walk.backward()).find(|at| {
            let previous = state.previous;
            let env = Env {
                strict: true,
                ..self.env(Some(*at), state)
            };
            previous.is_none_or(|previous| follows(self.timeline, previous, *at))
                && self.joins(&bind.on, *at, state)
                && (self.is_alone(bind) || filter.truth(env) == Tri::No)
                && (narrow || alike.contains(&self.index.identity(*at)))
        })
    }

    /// The newest look that showed what is wanted to be absent.
    fn shown(&self, wanted: &Absent, state: &State<'_>) -> Option<usize> {
        let (subject, number, looks) = self.looks_for(wanted, state)?;
        looks.into_iter().rev().find(|at| {
            let previous = state.previous;
            previous.is_none_or(|previous| follows(self.timeline, previous, *at))
                && self.index.absent(*at, &subject, number) == Tri::No
        })
    }

    /// Binds steps in their order.
    pub(super) fn sequence(
        &self,
        steps: &'a [Step],
        state: &mut State<'a>,
        next: Next<'_, 'a>,
    ) -> Flow {
        let Some((step, rest)) = steps.split_first() else {
            return next(state);
        };
        self.one(step, state, &mut |state| self.sequence(rest, state, next))
    }

    /// Binds one step.
    pub(super) fn one(&self, step: &'a Step, state: &mut State<'a>, next: Next<'_, 'a>) -> Flow {
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
    fn all(
        &self,
        steps: &'a [Step],
        base: Option<usize>,
        state: &mut State<'a>,
        next: Next<'_, 'a>,
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

    fn fact(
        &self,
        step: &'a Step,
        bind: &'a Bind,
        state: &mut State<'a>,
        next: Next<'_, 'a>,
    ) -> Flow {
        // What is unknown is judged by the newest look, what is true by the first.
        let hopeful = self.hopeful && !state.hits.is_empty();
        let backwards = hopeful || self.newest_first;
        let of = match (hopeful, is_state(bind.fact.name)) {
            (true, true) => Of::All,
            (true, false) => Of::Possible,
            _ => Of::True,
        };
        let place = state.hits.len();
        let before = self.conflict.get();
        let (key, mut conflict) = self.asks(step, bind, state);
        let start = state.previous.map(|at| self.index.command_start(at));
        if key
            .as_ref()
            .is_some_and(|key| self.tried.meets_nothing(key, start))
        {
            self.conflict.set(before | conflict);
            return Flow::Continue(());
        }
        let list = self.list(bind, state);
        let mut walk = self.walk(bind, state, list, of, self.bounds(state));
        // Nothing was met, and not for a reason that another time would not have.
        let mut nothing = true;
        while let Some(at) = if backwards {
            walk.backward()
        } else {
            walk.forward()
        } {
            match self.order(step, at, state) {
                Order::Follows => {}
                Order::Earlier => continue,
                Order::NotNow(because) => {
                    nothing = false;
                    conflict |= because;
                    continue;
                }
            }
            if !self.joins(&bind.on, at, state) {
                continue;
            }
            let told = if of == Of::True && self.is_alone(bind) {
                Tri::Yes
            } else {
                self.filter(bind, at, state)
            };
            nothing &= told == Tri::No || told == Tri::Unknown && !self.hopeful;
            match told {
                Tri::Yes => {
                    self.conflict.set(0);
                    self.with(step, bind.name.as_ref(), at, state, next)?;
                    let after = self.conflict.get();
                    conflict |= after & !bit(place);
                    if self.jumps && after & bit(place) == 0 {
                        break; // whatever stands here, what comes after it meets nothing
                    }
                }
                Tri::No if of == Of::All => break,
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
        if let Some(key) = key.filter(|_| nothing && of == Of::True) {
            self.tried.met_nothing(key, state.previous);
        }
        self.conflict.set(before | conflict);
        Flow::Continue(())
    }

    /// A complete binding came to nothing for reasons of its own: all of it has to do with that.
    pub(super) fn blame_all(&self) {
        self.conflict.set(EVERYTHING);
    }

    /// Goes on with an entry bound; takes it back afterwards.
    fn with(
        &self,
        step: &'a Step,
        name: Option<&Arc<str>>,
        at: usize,
        state: &mut State<'a>,
        next: Next<'_, 'a>,
    ) -> Flow {
        self.with_names(step, &[(name, at)], at, state, next)
    }

    fn with_names(
        &self,
        step: &'a Step,
        names: &[(Option<&Arc<str>>, usize)],
        at: usize,
        state: &mut State<'a>,
        next: Next<'_, 'a>,
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
                    step,
                });
            }
        }
        state.hits.push(Hit {
            entry: at,
            says: step.says.as_ref(),
            step,
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
            if flow.is_break() {
                self.blame_all();
            }
            return Flow::Continue(());
        }
        flow
    }

    /// Entries of the right type that may match, in order: the shortest list that holds them all.
    fn list(&self, bind: &Bind, state: &State<'_>) -> &'a [usize] {
        let default = self.window.default_join.filter(|_| bind.on.is_empty());
        let joins = bind.on.iter().filter(|join| join.to.is_none());
        joins
            .map(|join| join.kind)
            .chain(default)
            .map(|kind| {
                self.index
                    .entries(bind.fact, self.within(kind, bind, state))
            })
            .min_by_key(|list| list.len())
            .unwrap_or_else(|| self.index.entries(bind.fact, Within::Session))
    }

    /// Between which entries the next one lies: not before the command of the one it comes after.
    fn bounds(&self, state: &State<'_>) -> (usize, usize) {
        let previous = state.previous.map_or(0, |at| self.index.command_start(at));
        (self.window.from.max(previous), self.window.to)
    }

    /// Where the entries lie that share an identity with the latest entry matched that has one.
    fn within(&self, kind: JoinKind, bind: &Bind, state: &State<'_>) -> Within<'a> {
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
            JoinKind::Path | JoinKind::Log | JoinKind::Script => {
                match file_of(self.timeline, kind, at) {
                    Some(name) => Within::File(&entry.host, name),
                    None => Within::Host(&entry.host),
                }
            }
            JoinKind::Pid => match pids(&entry.fact)[..] {
                [pid] => Within::Pid(&entry.host, pid),
                _ => Within::Host(&entry.host),
            },
            _ => Within::Host(&entry.host),
        }
    }

    /// Order, time and patience: whether an entry may be the next one.
    pub(super) fn may_follow(&self, step: &Step, at: usize, state: &State<'_>) -> bool {
        self.order(step, at, state) == Order::Follows
    }

    fn order(&self, step: &Step, at: usize, state: &State<'_>) -> Order {
        let left = self.left.get();
        if left == 0 {
            return Order::NotNow(EVERYTHING);
        }
        self.left.set(left - 1);
        if !self.observing
            && let Some(place) = state.hits.iter().position(|hit| hit.entry == at)
        {
            return Order::NotNow(bit(place));
        }
        match state.previous {
            None => Order::Follows,
            Some(previous) if !follows(self.timeline, previous, at) => Order::Earlier,
            Some(previous) if self.in_time(step, previous, at) => Order::Follows,
            Some(_) => Order::NotNow(0), // the entry before is blamed in any case
        }
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

    pub(super) fn joins(&self, joins: &[Join], at: usize, state: &State<'_>) -> bool {
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
                    .is_some_and(|before| self.joined(kind, at, before))
            }
            Some(JoinTo::Binding(name)) => {
                let bound = state.bound.iter().rev().find(|(known, _)| known == name);
                bound.is_some_and(|(_, before)| self.joined(kind, at, *before))
            }
            Some(JoinTo::Value(expr)) => {
                let value = expr.value(self.env(None, state));
                value != super::eval::Val::Unknown && is(self.timeline, kind, at, &show(&value))
            }
        }
    }

    fn joined(&self, kind: JoinKind, at: usize, to: usize) -> bool {
        match kind {
            JoinKind::Host => self.index.host(at) == self.index.host(to),
            _ => joined(self.timeline, kind, at, to),
        }
    }

    pub(super) fn env<'e>(&'e self, it: Option<usize>, state: &'e State<'_>) -> Env<'e> {
        Env {
            timeline: self.timeline,
            it,
            bound: &state.bound,
            strict: false,
        }
    }

    pub(super) fn filter(&self, bind: &Bind, at: usize, state: &State<'_>) -> Tri {
        match &bind.filter {
            None => Tri::Yes,
            Some(filter) => filter.truth(self.env(Some(at), state)),
        }
    }

    /// The subject of an absence with its number, and the looks at its place that might show it, in
    /// order.
    pub(super) fn looks_for(
        &self,
        wanted: &Absent,
        state: &State<'_>,
    ) -> Option<(Subject, usize, Vec<usize>)> {
        let subject = subject(wanted.subject, &wanted.value.value(self.env(None, state)))?;
        let place = self.timeline.entries.get(state.hits.last()?.entry)?;
        let (from, to) = self.bounds(state);
        let mut candidates: Vec<usize> = Vec::new();
        for look in looks(wanted.subject) {
            let within = match &subject {
                // A look at another file says nothing of this one.
                Subject::Path(path) if *look == "file" => {
                    Within::File(&place.host, last_part(path))
                }
                _ => Within::Host(&place.host),
            };
            let list = self.index.named(look, within);
            let first = list.partition_point(|at| *at < from);
            let here = list.iter().skip(first).take_while(|at| **at < to);
            candidates.extend(here.filter(|at| {
                let entry = self.timeline.entries.get(**at);
                entry.is_some_and(|entry| entry.container == place.container)
            }));
        }
        candidates.sort_unstable();
        Some((subject.clone(), self.index.subject(&subject), candidates))
    }

    fn absent(
        &self,
        step: &'a Step,
        wanted: &'a Absent,
        state: &mut State<'a>,
        next: Next<'_, 'a>,
    ) -> Flow {
        // What is bound decides what is looked for, and where.
        self.blame_all();
        let Some((subject, number, candidates)) = self.looks_for(wanted, state) else {
            return Flow::Continue(());
        };
        let mut told = false;
        for at in &candidates {
            if !self.may_follow(step, *at, state) {
                continue;
            }
            match self.index.absent(*at, &subject, number) {
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

    fn series(
        &self,
        step: &'a Step,
        series: &'a Series,
        state: &mut State<'a>,
        next: Next<'_, 'a>,
    ) -> Flow {
        let bind = &series.bind;
        let find = || runs(series, self.timeline, self.index, &self.looks(bind, state));
        let place = state.hits.len();
        let before = self.conflict.get();
        let (key, mut conflict) = self.asks(step, bind, state);
        let found = match key {
            Some(key) => self.tried.runs(key, state.previous, find),
            None => find().into(),
        };
        let own = bit(place) | bit(place + 1);
        for run in &*found {
            let late = |previous| self.in_time(step, previous, run.last);
            if !state.previous.is_none_or(late) {
                continue;
            }
            let names = [
                (series.first.as_ref(), run.first),
                (series.bind.name.as_ref(), run.last),
            ];
            self.conflict.set(0);
            self.with_names(step, &names, run.last, state, next)?;
            let after = self.conflict.get();
            conflict |= after & !own;
            if self.jumps && after & own == 0 {
                break;
            }
        }
        self.conflict.set(before | conflict);
        Flow::Continue(())
    }

    /// The looks that a series is made of.
    fn looks(&self, bind: &'a Bind, state: &State<'a>) -> Vec<usize> {
        let list = self.list(bind, state);
        let mut walk = self.walk(bind, state, list, Of::True, self.bounds(state));
        std::iter::from_fn(|| walk.forward())
            .filter(|at| {
                state
                    .previous
                    .is_none_or(|previous| follows(self.timeline, previous, *at))
                    && self.joins(&bind.on, *at, state)
                    && (self.is_alone(bind) || self.filter(bind, *at, state) == Tri::Yes)
            })
            .collect()
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

pub(super) fn words_of(subject: &Subject) -> String {
    match subject {
        Subject::Pid(pid) => format!("process {pid}"),
        Subject::CommandLine(text) => format!("a process for `{text}`"),
        Subject::Path(path) => format!("`{path}`"),
        Subject::Port(port) => format!("a listener on port {port}"),
        Subject::Gpu(index) => format!("GPU {index}"),
        Subject::Unit(name) | Subject::Container(name) => format!("`{name}`"),
    }
}
