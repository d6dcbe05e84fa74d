//! From complete bindings to firings and wishes: scope, `unless`, `until`, observations, identity.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::eval::Env;
use super::index::{Index, Within};
use super::matcher::{Flow, Hit, Search, State, Window};
use super::network::{Alone, Memory, Network};
use super::words::words;
use super::{
    Bind, Firing, Form, Guard, JoinKind, Matches, Playbook, ScopeKey, ScopeKind, Seen, Step, Wish,
};
use crate::shell::Tri;
use crate::timeline::Timeline;

/// Evidence kept for a finding: its first match, and the newest of what repeats it.
const MOST_EVIDENCE: usize = 12;

pub(super) fn run(network: &Network<'_>, timeline: &Timeline) -> Matches {
    let index = Index::new(timeline);
    let memory = Memory::new(network, timeline, &index);
    let mut matches = Matches::default();
    for (number, playbook) in network.playbooks.iter().enumerate() {
        let matcher = Matcher {
            playbook,
            number,
            timeline,
            index: &index,
            memory: &memory,
        };
        if !matcher.may_begin() || matcher.is_blocked() {
            continue;
        }
        let (firings, began) = if matcher.may_complete(false) {
            matcher.firings()
        } else {
            (Vec::new(), true)
        };
        if began && matcher.may_complete(true) {
            matches.wishes.extend(matcher.wishes(&firings));
        }
        matches.firings.extend(firings);
    }
    matches
}

/// A playbook in a timeline.
pub(super) struct Matcher<'a> {
    pub(super) playbook: &'a Playbook,
    number: usize,
    pub(super) timeline: &'a Timeline,
    pub(super) index: &'a Index<'a>,
    memory: &'a Memory<'a>,
}

/// Does something with one playbook in a timeline.
pub(super) fn with<R>(
    playbook: &Playbook,
    timeline: &Timeline,
    work: impl FnOnce(&Matcher<'_>) -> R,
) -> R {
    let network = Network::new(std::slice::from_ref(playbook));
    let index = Index::new(timeline);
    work(&Matcher {
        playbook,
        number: 0,
        timeline,
        index: &index,
        memory: &Memory::new(&network, timeline, &index),
    })
}

/// A complete binding that nothing blocks.
struct Match<'a> {
    anchor: usize,
    newest: usize,
    state: State<'a>,
    scope: ScopeKey,
    /// The entry that ends it.
    end: Option<usize>,
}

/// The first match of each finding, and the newest that repeats it.
type Kept<'a> = Vec<(Match<'a>, Option<State<'a>>)>;

impl<'a> Matcher<'a> {
    /// Whether anything meets the first step: most playbooks end here.
    fn may_begin(&self) -> bool {
        let mut steps = self.playbook.when.steps.iter();
        steps.next().is_none_or(|step| self.may_meet(step))
    }

    /// Whether something blocks whatever is bound: a guard that asks nothing of a binding, of a
    /// playbook whose findings have no end. Without this every way to meet the steps would be tried
    /// and blocked in its turn.
    fn is_blocked(&self) -> bool {
        let endless =
            self.playbook.when.until.is_empty() && self.playbook.scope != ScopeKind::Launch;
        endless
            && self.playbook.when.unless.iter().any(|guard| {
                let Form::Fact(bind) = &guard.step.form else {
                    return false;
                };
                let anywhere = !bind.on.is_empty()
                    && bind
                        .on
                        .iter()
                        .all(|join| join.kind == JoinKind::Session && join.to.is_none());
                let timeless = guard.step.within_s.is_none() && guard.step.after_s.is_none();
                let alone = self.memory.alone(self.number, bind);
                guard.anytime
                    && guard.after.is_none()
                    && timeless
                    && anywhere
                    && alone.is_some_and(Alone::is_whole)
                    && self.is_on_record(bind)
            })
    }

    /// Whether there is something for each of the steps by itself; in a hopeful search what may be so
    /// counts. Else there is no need to try how they go together.
    fn may_complete(&self, hopeful: bool) -> bool {
        let steps = &self.playbook.when.steps;
        steps.iter().all(|step| self.has_for(step, hopeful))
    }

    fn has_for(&self, step: &Step, hopeful: bool) -> bool {
        match &step.form {
            Form::Fact(bind) if hopeful => self.may_be_on_record(bind),
            Form::Fact(bind) => self.is_on_record(bind),
            Form::Series(series) => self.is_on_record(&series.bind),
            Form::Any(steps) => steps.iter().any(|step| self.has_for(step, hopeful)),
            Form::All(steps) => steps.iter().all(|step| self.has_for(step, hopeful)),
            Form::Absent(_) => true,
        }
    }

    fn may_meet(&self, step: &Step) -> bool {
        match &step.form {
            Form::Fact(bind) => self.is_on_record(bind),
            Form::Series(series) => self.is_on_record(&series.bind),
            Form::Any(steps) => steps.iter().any(|step| self.may_meet(step)),
            Form::All(steps) => steps.first().is_none_or(|step| self.may_meet(step)),
            Form::Absent(_) => true,
        }
    }

    /// Whether there is a fact that may be so as far as it can be said of it alone.
    fn may_be_on_record(&self, bind: &Bind) -> bool {
        let all = self.index.entries(bind.fact, Within::Session);
        !all.is_empty()
            && match self.memory.alone(self.number, bind) {
                Some(alone) if !alone.is_empty() => {
                    !self.memory.told(self.number, bind).possible.is_empty()
                }
                _ => true,
            }
    }

    /// Whether there is a fact that is so as far as it can be said of it alone.
    fn is_on_record(&self, bind: &Bind) -> bool {
        let all = self.index.entries(bind.fact, Within::Session);
        !all.is_empty()
            && match self.memory.alone(self.number, bind) {
                Some(alone) if !alone.is_empty() => {
                    !self.memory.told(self.number, bind).yes.is_empty()
                }
                _ => true,
            }
    }

    /// What fired, and whether anything was found to begin with.
    fn firings(&self) -> (Vec<Firing>, bool) {
        let (found, began) = self.matches();
        let firings = found.into_iter();
        let firings = firings.map(|(one, latest)| self.firing(&one, latest.as_ref()));
        (firings.collect(), began)
    }

    /// The first match of each finding and the newest that repeats it, and whether anything was
    /// found to begin with.
    fn matches(&self) -> (Kept<'a>, bool) {
        let mut search = self.search_all();
        search.each_anchor = true;
        search.jumps = true;
        let mut found: Vec<Match<'a>> = Vec::new();
        let steps = &self.playbook.when.steps;
        let _ = search.sequence(
            steps,
            &mut State::default(),
            &mut |state| match self.accept(state) {
                Some(one) => {
                    found.push(one);
                    Flow::Break(())
                }
                None => {
                    search.blame_all();
                    Flow::Continue(())
                }
            },
        );
        found.sort_by_key(|one| (one.anchor, one.newest));
        let mut open: BTreeMap<ScopeKey, usize> = BTreeMap::new();
        let mut firings: Kept<'a> = Vec::new();
        for one in found {
            if let Some(at) = open.get(&one.scope)
                && let Some((first, latest)) = firings.get_mut(*at)
                && first.end.is_none_or(|end| one.anchor < end)
            {
                *latest = Some(one.state);
                continue;
            }
            open.insert(one.scope.clone(), firings.len());
            firings.push((one, None));
        }
        (firings, search.began())
    }

    /// The match behind a firing, and its end.
    pub(super) fn state_of(&self, firing: &Firing) -> Option<(State<'a>, Option<usize>)> {
        let (found, _) = self.matches();
        let mut found = found.into_iter().map(|(one, _)| one);
        found
            .find(|one| one.anchor == firing.anchor && one.scope == firing.scope)
            .map(|one| (one.state, one.end))
    }

    /// Nothing blocks a complete binding, and it is complete before its end.
    pub(super) fn accepts(&self, state: &State<'a>) -> bool {
        self.accept(state).is_some()
    }

    /// The newest look that says that a guard is not so, before the finding's end.
    pub(super) fn denial(
        &self,
        guard: &'a Guard,
        state: &State<'a>,
        end: Option<usize>,
    ) -> Option<usize> {
        self.denied(guard, state, end)?.entries.last().copied()
    }

    /// The entry with which an `until` ends what was matched.
    pub(super) fn ends(&self, guard: &'a Guard, state: &State<'a>) -> Option<usize> {
        let after = guard.after.as_ref().and_then(|name| bound(state, name));
        self.earliest(guard, state, after.or(state.anchor())?, None)
    }

    /// The entries for which a guard holds, whenever.
    pub(super) fn holding(&self, guard: &'a Guard, state: &State<'a>) -> Option<Vec<usize>> {
        self.holds(guard, state, None)
    }

    /// What a complete binding is about and when it ends; `None` when it is blocked.
    fn accept(&self, state: &State<'a>) -> Option<Match<'a>> {
        let (anchor, newest) = (state.anchor()?, state.newest()?);
        let scope = ScopeKey::of(self.playbook.scope, self.timeline, &state.entries());
        let mut end = self.epoch_end(&scope);
        if end.is_some_and(|end| newest > end) {
            return None;
        }
        for guard in &self.playbook.when.until {
            let after = guard.after.as_ref().and_then(|name| bound(state, name));
            let from = after.unwrap_or(anchor);
            let until = self.earliest(guard, state, from, end);
            end = match (end, until) {
                (Some(end), Some(until)) => Some(end.min(until)),
                (end, until) => until.or(end),
            };
        }
        // What ends it came before it was complete: the window was closed.
        if end.is_some_and(|end| end < newest) {
            return None;
        }
        let blocked = self
            .playbook
            .when
            .unless
            .iter()
            .any(|guard| self.holds(guard, state, end).is_some());
        (!blocked).then(|| Match {
            anchor,
            newest,
            state: state.clone(),
            scope,
            end,
        })
    }

    /// The entry with which the scope's epoch ends.
    fn epoch_end(&self, scope: &ScopeKey) -> Option<usize> {
        let launch = self.timeline.launches.get(scope.launch?)?;
        (launch.epoch_end < self.timeline.entries.len()).then_some(launch.epoch_end)
    }

    /// How facts without a join of their own belong to the finding.
    fn default_join(&self) -> Option<JoinKind> {
        match self.playbook.scope {
            ScopeKind::Session => None,
            ScopeKind::Launch => Some(JoinKind::Launch),
            _ => Some(JoinKind::Host),
        }
    }

    fn search(&self, from: usize, to: Option<usize>) -> Search<'a> {
        let window = Window {
            from,
            to: to.unwrap_or(usize::MAX),
            default_join: self.default_join(),
        };
        Search::new(self.memory, self.number, window)
    }

    pub(super) fn search_all(&self) -> Search<'a> {
        Search::new(self.memory, self.number, Window::ALL)
    }

    /// The first entry after `from` for which a guard holds.
    fn earliest(
        &self,
        guard: &'a Guard,
        state: &State<'a>,
        from: usize,
        to: Option<usize>,
    ) -> Option<usize> {
        let search = self.search(from, to);
        let mut state = state.clone();
        state.previous = Some(from);
        let had = state.hits.len();
        let mut found: Option<usize> = None;
        for step in alternatives(&guard.step) {
            let _ = search.one(step, &mut state, &mut |state| {
                let mine = state.hits.get(had..).unwrap_or_default();
                let at = mine.iter().map(|hit| hit.entry).max();
                // Entries of the anchor's own command may stand before it and are no end.
                let Some(later) = at.filter(|at| *at > from) else {
                    return Flow::Continue(());
                };
                found = Some(found.map_or(later, |had| had.min(later)));
                // Candidates come in order, but those of groups need not.
                match step.form {
                    Form::Fact(_) | Form::Absent(_) => Flow::Break(()),
                    _ => Flow::Continue(()),
                }
            });
        }
        found
    }

    /// The entries for which a guard holds, before the finding's end.
    fn holds(&self, guard: &'a Guard, state: &State<'a>, end: Option<usize>) -> Option<Vec<usize>> {
        let anchor = state.anchor().unwrap_or(0);
        let after = guard.after.as_ref().and_then(|name| bound(state, name));
        if guard.after.is_some() && after.is_none() {
            return None;
        }
        // The anchor's own command counts as a whole: its facts may stand before the anchor.
        let from = match (after, guard.anytime) {
            (Some(_), _) | (None, true) => 0,
            (None, false) => self.index.command_start(anchor),
        };
        // What the steps matched may block as well.
        let search = self.search(from, end.map(|end| end + 1)).observing();
        let mut state = state.clone();
        state.previous = after;
        let had = state.hits.len();
        let mut found = None;
        let _ = search.one(&guard.step, &mut state, &mut |state| {
            let mine = state.hits.get(had..).unwrap_or_default();
            found = Some(mine.iter().map(|hit| hit.entry).collect());
            Flow::Break(())
        });
        found
    }

    fn firing(&self, one: &Match<'a>, latest: Option<&State<'a>>) -> Firing {
        let mut evidence = self.evidence(&one.state.hits, &one.state.bound);
        let had: BTreeSet<usize> = evidence.iter().map(|(at, _)| *at).collect();
        if let Some(latest) = latest {
            let newer = self.evidence(&latest.hits, &latest.bound);
            evidence.extend(newer.into_iter().filter(|(at, _)| !had.contains(at)));
        }
        evidence.sort_by_key(|(at, _)| *at);
        evidence.truncate(MOST_EVIDENCE);
        let since = self.timeline.entries.get(one.anchor).map(|entry| entry.at);
        Firing {
            playbook: self.number,
            scope: one.scope.clone(),
            scope_key: one.scope.text(self.timeline),
            anchor: one.anchor,
            bindings: self.bindings(&one.state, &one.scope),
            evidence,
            resolved: one.end,
            observations: self.observations(&one.state, one.end),
            since: since.unwrap_or_default(),
        }
    }

    fn bindings(&self, state: &State<'_>, scope: &ScopeKey) -> BTreeMap<String, usize> {
        let mut out: BTreeMap<String, usize> = BTreeMap::new();
        if let Some(launch) = scope.launch.and_then(|at| self.timeline.launches.get(at)) {
            out.insert("launch".to_owned(), launch.entry);
        }
        for (name, at) in &state.bound {
            out.entry(name.to_string()).or_insert(*at);
        }
        out
    }

    pub(super) fn evidence(
        &self,
        hits: &[Hit<'_>],
        bound: &[(Arc<str>, usize)],
    ) -> Vec<(usize, String)> {
        let bound = bound.to_vec();
        let mut seen = BTreeSet::new();
        hits.iter()
            .filter(|hit| seen.insert(hit.entry))
            .filter_map(|hit| {
                let entry = self.timeline.entries.get(hit.entry)?;
                let says = hit.says.map_or_else(
                    || words(entry),
                    |says| {
                        let env = Env {
                            timeline: self.timeline,
                            it: Some(hit.entry),
                            bound: &bound,
                            strict: false,
                        };
                        says.fill(env, false)
                    },
                );
                Some((hit.entry, says))
            })
            .collect()
    }

    fn observations(&self, state: &State<'a>, end: Option<usize>) -> Vec<Seen> {
        let each = self.playbook.observations.iter().enumerate();
        each.map(|(number, observation)| {
            let yes = self.newest(&observation.when, state, end);
            let no = match &observation.not_when {
                Some(guard) => self.newest(guard, state, end),
                None => self.denied(&observation.when, state, end),
            };
            let last =
                |found: &Option<Found>| found.as_ref().and_then(|f| f.entries.last().copied());
            let (tri, found) = match (last(&yes), last(&no)) {
                (Some(a), Some(b)) if b > a => (Tri::No, no),
                (Some(_), _) => (Tri::Yes, yes),
                (None, Some(_)) => (Tri::No, no),
                (None, None) => (Tri::Unknown, None),
            };
            let found = found.unwrap_or_default();
            let env = |it| Env {
                timeline: self.timeline,
                it,
                bound: &found.bound,
                strict: false,
            };
            let last = found.entries.last().copied();
            let says = match tri {
                Tri::Yes => observation.says.fill(env(last), false),
                Tri::No => last
                    .and_then(|at| self.timeline.entries.get(at))
                    .map_or_else(String::new, words),
                Tri::Unknown => String::new(),
            };
            Seen {
                observation: number,
                state: tri,
                entries: found.entries,
                says,
            }
        })
        .collect()
    }

    /// The newest entries for which a guard holds.
    fn newest(&self, guard: &'a Guard, state: &State<'a>, end: Option<usize>) -> Option<Found> {
        let (mut search, mut state) = self.observed(guard, state, end)?;
        let had = state.hits.len();
        let mut found: Option<Found> = None;
        for step in alternatives(&guard.step) {
            // Single facts come newest first.
            let single = matches!(step.form, Form::Fact(_));
            search.newest_first = single;
            let mut patience = 10_000;
            let _ = search.one(step, &mut state, &mut |state| {
                let mine = state.hits.get(had..).unwrap_or_default();
                let mut entries: Vec<usize> = mine.iter().map(|hit| hit.entry).collect();
                entries.sort_unstable();
                let later = found
                    .as_ref()
                    .is_none_or(|found| found.entries.last() < entries.last());
                if later {
                    found = Some(Found {
                        entries,
                        bound: state.bound.clone(),
                    });
                }
                patience -= 1;
                if patience == 0 || single {
                    Flow::Break(())
                } else {
                    Flow::Continue(())
                }
            });
        }
        found
    }

    /// The newest look that says that a condition is not so.
    fn denied(&self, guard: &'a Guard, state: &State<'a>, end: Option<usize>) -> Option<Found> {
        let (search, state) = self.observed(guard, state, end)?;
        let denied = search.denied(&guard.step, &state)?;
        Some(Found {
            entries: vec![denied],
            bound: state.bound,
        })
    }

    fn observed(
        &self,
        guard: &'a Guard,
        state: &State<'a>,
        end: Option<usize>,
    ) -> Option<(Search<'a>, State<'a>)> {
        let anchor = state.anchor()?;
        let after = guard.after.as_ref().and_then(|name| bound(state, name));
        if guard.after.is_some() && after.is_none() {
            return None;
        }
        let from = if guard.anytime || after.is_some() {
            0
        } else {
            self.index.command_start(anchor)
        };
        let search = self.search(from, end.map(|end| end + 1));
        let mut state = state.clone();
        state.previous = after;
        // What the steps matched may be observed as well.
        Some((search.observing(), state))
    }

    fn wishes(&self, firings: &[Firing]) -> Vec<Wish> {
        if self.playbook.probes.is_empty() {
            return Vec::new();
        }
        let mut search = self.search_all();
        search.each_anchor = true;
        search.hopeful = true;
        let fired: BTreeSet<&ScopeKey> = firings.iter().map(|firing| &firing.scope).collect();
        let mut wishes: BTreeMap<ScopeKey, Wish> = BTreeMap::new();
        let steps = &self.playbook.when.steps;
        let _ = search.sequence(steps, &mut State::default(), &mut |state| {
            if state.unknown.is_empty() {
                return Flow::Continue(());
            }
            let Some(one) = self.accept(state) else {
                return Flow::Continue(());
            };
            if one.end.is_none() && !fired.contains(&one.scope) {
                // The newest chance is the one worth a look.
                let wish = self.wish(&one);
                wishes.insert(one.scope, wish);
            }
            Flow::Break(())
        });
        wishes.into_values().collect()
    }

    fn wish(&self, one: &Match<'a>) -> Wish {
        let names: Vec<&str> = one
            .state
            .unknown
            .iter()
            .filter_map(|(name, _)| name.as_deref())
            .collect();
        let probes = self.playbook.probes.iter().enumerate();
        let settles = |yields: &[String]| yields.iter().any(|name| names.contains(&name.as_str()));
        let mut chosen: Vec<usize> = probes
            .clone()
            .filter(|(_, probe)| settles(&probe.yields))
            .map(|(at, _)| at)
            .collect();
        if chosen.is_empty() {
            chosen = probes.map(|(at, _)| at).collect();
        }
        Wish {
            playbook: self.number,
            scope: one.scope.clone(),
            scope_key: one.scope.text(self.timeline),
            anchor: one.anchor,
            bindings: self.bindings(&one.state, &one.scope),
            unknown: one
                .state
                .unknown
                .iter()
                .map(|(_, what)| what.clone())
                .collect(),
            probes: chosen,
        }
    }
}

/// What an observation found.
#[derive(Default)]
struct Found {
    entries: Vec<usize>,
    bound: Vec<(Arc<str>, usize)>,
}

/// The ways to meet a guard's step, each of which can be searched by itself.
fn alternatives(step: &Step) -> &[Step] {
    match &step.form {
        Form::Any(steps) => steps,
        _ => std::slice::from_ref(step),
    }
}

fn bound(state: &State<'_>, name: &str) -> Option<usize> {
    let found = state.bound.iter().rev().find(|(known, _)| &**known == name);
    found.map(|(_, at)| *at)
}
