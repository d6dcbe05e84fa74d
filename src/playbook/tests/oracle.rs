//! The matcher as it is defined: plain, slow, and obviously what `docs/playbooks.md` says.
//!
//! Every step is a loop over all entries, every way to match is written out in the order of
//! preference, and what counts is picked afterwards: no index, no window kept small, no search that
//! ends early. The engine must find the same in everything (`differential.rs`). Only the leaves are
//! shared with it: what an expression comes to, whether two entries share an identity, the words.

mod runs;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::fact::Fact;
use crate::fact::cover::{Subject, same_path};
use crate::playbook::absence::{looks, subject, unbracketed};
use crate::playbook::eval::{Env, Val, instant, show};
use crate::playbook::identity::{has, identity, is, joined, launch_of};
use crate::playbook::matcher::is_state;
use crate::playbook::words::words;
use crate::playbook::{
    Absent, Bind, Firing, Form, Guard, Join, JoinKind, JoinTo, Matches, Playbook, ScopeKey,
    ScopeKind, Seen, Series, Step, Template, Wish,
};
use crate::shell::Tri;
use crate::timeline::{Entry, Timeline};

/// What is found, by definition.
pub(super) fn run(playbooks: &[Playbook], timeline: &Timeline) -> Matches {
    let mut all = Matches::default();
    for (number, playbook) in playbooks.iter().enumerate() {
        let oracle = Oracle {
            playbook,
            number,
            timeline,
            begun: Cell::new(0),
        };
        let firings = oracle.firings();
        all.wishes.extend(oracle.wishes(&firings));
        all.firings.extend(firings);
    }
    all
}

struct Oracle<'a> {
    playbook: &'a Playbook,
    number: usize,
    timeline: &'a Timeline,
    /// Matches of a first step, counted.
    begun: Cell<usize>,
}

/// One way to match some steps.
#[derive(Clone, Default)]
struct Way<'a> {
    bound: Vec<(Arc<str>, usize)>,
    hits: Vec<(usize, Option<&'a Template>)>,
    previous: Option<usize>,
    unknown: Vec<(Option<Arc<str>>, String)>,
    /// Which match of the first step it began with.
    began: usize,
}

impl Way<'_> {
    fn anchor(&self) -> usize {
        self.hits[0].0
    }

    fn newest(&self) -> usize {
        self.hits.iter().map(|(at, _)| *at).max().unwrap()
    }

    fn named(&self, name: &str) -> Option<usize> {
        let found = self.bound.iter().rev().find(|(known, _)| &**known == name);
        found.map(|(_, at)| *at)
    }
}

/// Where and how steps are looked for.
#[derive(Clone, Copy)]
struct Where {
    from: usize,
    to: usize,
    default_join: Option<JoinKind>,
    hopeful: bool,
    /// What the steps matched may be matched again.
    again: bool,
}

const ANYWHERE: Where = Where {
    from: 0,
    to: usize::MAX,
    default_join: None,
    hopeful: false,
    again: false,
};

/// A match that nothing blocks.
struct Match<'a> {
    way: Way<'a>,
    scope: ScopeKey,
    end: Option<usize>,
}

impl<'a> Oracle<'a> {
    fn entry(&self, at: usize) -> &'a Entry {
        &self.timeline.entries[at]
    }

    // ── Ways to match ────────────────────────────────────────────────────────────────────────

    fn sequence(&self, steps: &'a [Step], way: Way<'a>, place: Where) -> Vec<Way<'a>> {
        let mut ways = vec![way];
        for step in steps {
            ways = ways
                .into_iter()
                .flat_map(|way| self.step(step, way, place))
                .collect();
        }
        ways
    }

    fn step(&self, step: &'a Step, way: Way<'a>, place: Where) -> Vec<Way<'a>> {
        match &step.form {
            Form::Fact(bind) => self.fact(step, bind, &way, place),
            Form::Absent(absent) => self.absence(step, absent, &way, place),
            Form::Series(series) => self.series(step, series, &way, place),
            Form::Any(steps) => steps
                .iter()
                .flat_map(|step| self.step(step, way.clone(), place))
                .collect(),
            Form::All(steps) => {
                let base = way.previous;
                let mut ways = vec![way];
                for step in steps {
                    let each = ways.into_iter().flat_map(|way| {
                        let latest = way.previous;
                        let from_base = Way {
                            previous: base,
                            ..way
                        };
                        self.step(step, from_base, place)
                            .into_iter()
                            .map(move |way| Way {
                                previous: way.previous.max(latest),
                                ..way
                            })
                    });
                    ways = each.collect();
                }
                ways
            }
        }
    }

    fn fact(&self, step: &'a Step, bind: &'a Bind, way: &Way<'a>, place: Where) -> Vec<Way<'a>> {
        let first = way.hits.is_empty();
        let fits = |at: &usize| {
            self.is_of(bind, *at, place)
                && self.may_follow(step, *at, way, place)
                && self.joins(&bind.on, *at, way, place)
        };
        let all: Vec<usize> = (0..self.timeline.entries.len()).filter(fits).collect();
        let mut out = Vec::new();
        if place.hopeful && !first {
            // The newest chance is preferred, and of a type that tells how something stands none
            // counts that a newer look denies.
            for at in all.iter().rev() {
                match self.told(bind, *at, way) {
                    Tri::Yes => out.push(self.with(step, &[(bind.name.as_ref(), *at)], way)),
                    Tri::No if is_state(bind.fact.name) => break,
                    Tri::No => {}
                    Tri::Unknown if way.unknown.len() < 2 => {
                        let source = bind.filter.as_ref().unwrap().source();
                        let what = format!("whether {source} ({})", bind.fact.name);
                        let mut with = self.with(step, &[(bind.name.as_ref(), *at)], way);
                        with.unknown.push((bind.name.clone(), what));
                        out.push(with);
                    }
                    Tri::Unknown => {}
                }
            }
            return out;
        }
        for at in all {
            if self.told(bind, at, way) == Tri::Yes {
                out.push(self.with(step, &[(bind.name.as_ref(), at)], way));
            }
        }
        out
    }

    fn absence(
        &self,
        step: &'a Step,
        wanted: &'a Absent,
        way: &Way<'a>,
        place: Where,
    ) -> Vec<Way<'a>> {
        let Some((subject, looks)) = self.looks_for(wanted, way, place) else {
            return Vec::new();
        };
        let looks: Vec<usize> = looks
            .into_iter()
            .filter(|at| self.may_follow(step, *at, way, place))
            .collect();
        let mut out = Vec::new();
        let mut told = false;
        for at in looks {
            let says = self.says_absent(at, &subject);
            told |= says != Tri::Unknown;
            if says == Tri::Yes {
                out.push(self.with(step, &[(wanted.name.as_ref(), at)], way));
            }
        }
        if place.hopeful && !told && way.unknown.len() < 2 {
            let thing = match &subject {
                Subject::Pid(pid) => format!("process {pid}"),
                Subject::CommandLine(text) => format!("a process for `{text}`"),
                Subject::Path(path) => format!("`{path}`"),
                Subject::Port(port) => format!("a listener on port {port}"),
                Subject::Gpu(index) => format!("GPU {index}"),
                other => panic!("no step asks for {other:?}"),
            };
            let mut hope = way.clone();
            hope.unknown
                .push((wanted.name.clone(), format!("whether {thing} is there")));
            out.push(hope);
        }
        out
    }

    /// Looks at the place of the step before that are of a kind that may show the subject.
    fn looks_for(
        &self,
        wanted: &Absent,
        way: &Way<'_>,
        place: Where,
    ) -> Option<(Subject, Vec<usize>)> {
        let env = self.env(None, way);
        let subject = subject(wanted.subject, &wanted.value.value(env))?;
        let before = self.entry(way.hits.last()?.0);
        let fits = |at: &usize| {
            let entry = self.entry(*at);
            (place.from..place.to).contains(at)
                && looks(wanted.subject).contains(&entry.fact.name())
                && entry.host == before.host
                && entry.container == before.container
        };
        let all = (0..self.timeline.entries.len()).filter(fits);
        Some((subject, all.collect()))
    }

    fn says_absent(&self, at: usize, subject: &Subject) -> Tri {
        let covers = self.entry(at).fact.covers(subject);
        match (self.shows(at, subject), covers) {
            (Tri::Yes, _) => Tri::No,
            (Tri::No, Tri::Yes) => Tri::Yes,
            _ => Tri::Unknown,
        }
    }

    fn shows(&self, at: usize, subject: &Subject) -> Tri {
        let entry = self.entry(at);
        let of_look = self
            .timeline
            .entries
            .iter()
            .filter(|other| other.command == entry.command && other.invocation == entry.invocation)
            .map(|other| &other.fact);
        let of_look: Vec<&Fact> = of_look.collect();
        let any = |shows: &dyn Fn(&Fact) -> bool| of_look.iter().any(|fact| shows(fact));
        match (&entry.fact, subject) {
            (Fact::ProcessLook(look), Subject::Pid(pid)) => look.pids.contains(pid).into(),
            (Fact::ProcessLook(look), Subject::CommandLine(text)) => {
                if look.count == 0 {
                    return Tri::No;
                }
                let regex = regex::Regex::new(text).ok();
                let told: Vec<&String> = of_look
                    .iter()
                    .filter_map(|fact| match fact {
                        Fact::Process(process) => process.args.as_ref(),
                        _ => None,
                    })
                    .collect();
                let hit = |args: &&String| {
                    regex.as_ref().is_some_and(|regex| regex.is_match(args))
                        || args.contains(text.as_str())
                };
                let own = look.pattern.as_deref().map(unbracketed);
                if told.iter().any(hit) {
                    Tri::Yes
                } else if i64::try_from(told.len()).unwrap() == look.count {
                    Tri::No
                } else if !look.everything && own.as_ref() == Some(text) {
                    Tri::Yes
                } else {
                    Tri::Unknown
                }
            }
            (Fact::File(file), Subject::Path(path)) if same_path(&file.path, path) => file.exists,
            (Fact::DirLook(_), Subject::Path(path)) => any(&|fact| {
                matches!(fact, Fact::File(file)
                    if same_path(&file.path, path) && file.exists == Tri::Yes)
            })
            .into(),
            (Fact::PortLook(_), Subject::Port(port)) => any(&|fact| {
                matches!(fact, Fact::Socket(socket) if socket.port == *port && socket.listening)
            })
            .into(),
            (Fact::GpuLook(_), Subject::Gpu(index)) => {
                any(&|fact| matches!(fact, Fact::Gpu(gpu) if gpu.index == Some(*index))).into()
            }
            _ => Tri::Unknown,
        }
    }

    fn series(
        &self,
        step: &'a Step,
        series: &'a Series,
        way: &Way<'a>,
        place: Where,
    ) -> Vec<Way<'a>> {
        let fits = |at: &usize| {
            self.is_of(&series.bind, *at, place)
                && way.previous.is_none_or(|before| self.follows(before, *at))
                && self.joins(&series.bind.on, *at, way, place)
                && self.told(&series.bind, *at, way) == Tri::Yes
        };
        let looks: Vec<usize> = (0..self.timeline.entries.len()).filter(fits).collect();
        let mut runs = if series.distinct.is_some() {
            self.distinct(series, &looks)
        } else {
            self.runs(series, &looks)
        };
        runs.sort_by_key(|(first, last)| (*last, *first));
        runs.into_iter()
            .filter(|(_, last)| {
                way.previous
                    .is_none_or(|before| self.in_time(step, before, *last))
            })
            .map(|(first, last)| {
                let names = [
                    (series.first.as_ref(), first),
                    (series.bind.name.as_ref(), last),
                ];
                self.with(step, &names, way)
            })
            .collect()
    }

    fn value(&self, field: &str, at: usize) -> Val<'a> {
        let peek = self.entry(at).fact.peek(field);
        peek.map_or(Val::Unknown, Val::from)
    }

    fn spans(&self, series: &Series, first: usize, last: usize) -> bool {
        let (first, last) = (self.entry(first), self.entry(last));
        instant(last).seconds_since(instant(first)) >= series.spanning_s
    }

    /// A way with entries bound and counted as matched, the last of them the step's own.
    fn with(&self, step: &'a Step, names: &[(Option<&Arc<str>>, usize)], way: &Way<'a>) -> Way<'a> {
        let mut way = way.clone();
        if way.hits.is_empty() {
            self.begun.set(self.begun.get() + 1);
            way.began = self.begun.get();
        }
        let last = names[names.len() - 1].1;
        for (name, at) in names {
            if let Some(name) = name {
                way.bound.push((Arc::clone(name), *at));
            }
            if *at != last {
                way.hits.push((*at, None));
            }
        }
        way.hits.push((last, step.says.as_ref()));
        if way.named("launch").is_none()
            && let Some(launch) = launch_of(self.timeline, last)
        {
            let entry = self.timeline.launches[launch].entry;
            way.bound.push((Arc::from("launch"), entry));
        }
        way.previous = Some(last);
        way
    }

    // ── Conditions ───────────────────────────────────────────────────────────────────────────

    fn env<'e>(&'e self, it: Option<usize>, way: &'e Way<'_>) -> Env<'e> {
        Env {
            timeline: self.timeline,
            it,
            bound: &way.bound,
            strict: false,
        }
    }

    fn told(&self, bind: &Bind, at: usize, way: &Way<'_>) -> Tri {
        let filter = bind.filter.as_ref();
        filter.map_or(Tri::Yes, |filter| filter.truth(self.env(Some(at), way)))
    }

    fn is_of(&self, bind: &Bind, at: usize, place: Where) -> bool {
        (place.from..place.to).contains(&at) && self.entry(at).fact.name() == bind.fact.name
    }

    fn may_follow(&self, step: &Step, at: usize, way: &Way<'_>, place: Where) -> bool {
        if !place.again && way.hits.iter().any(|(hit, _)| *hit == at) {
            return false;
        }
        way.previous
            .is_none_or(|before| self.follows(before, at) && self.in_time(step, before, at))
    }

    /// Later, or of the same command, where the order of invocations counts, and what the line says
    /// and how it ended have none against its output.
    fn follows(&self, before: usize, at: usize) -> bool {
        if at > before {
            return true;
        }
        let (a, b) = (self.entry(before), self.entry(at));
        let free = match (a.invocation, b.invocation) {
            (Some(a), Some(b)) => b > a,
            _ => a.stream.is_none() || b.stream.is_none(),
        };
        at != before && a.command == b.command && free
    }

    fn in_time(&self, step: &Step, before: usize, at: usize) -> bool {
        let seconds = instant(self.entry(at)).seconds_since(instant(self.entry(before)));
        step.within_s.is_none_or(|most| seconds <= most)
            && step.after_s.is_none_or(|least| seconds >= least)
    }

    fn joins(&self, joins: &[Join], at: usize, way: &Way<'_>, place: Where) -> bool {
        if joins.is_empty() {
            let kind = place.default_join;
            return kind.is_none_or(|kind| self.join(kind, None, at, way));
        }
        let mut joins = joins.iter();
        joins.all(|join| self.join(join.kind, join.to.as_ref(), at, way))
    }

    fn join(&self, kind: JoinKind, to: Option<&JoinTo>, at: usize, way: &Way<'_>) -> bool {
        match to {
            None => {
                let mut before = way.hits.iter().rev().map(|(hit, _)| *hit);
                let before = before.find(|before| has(self.timeline, kind, *before));
                before.is_some_and(|before| joined(self.timeline, kind, at, before))
            }
            Some(JoinTo::Binding(name)) => way
                .named(name)
                .is_some_and(|before| joined(self.timeline, kind, at, before)),
            Some(JoinTo::Value(expr)) => {
                let value = expr.value(self.env(None, way));
                value != Val::Unknown && is(self.timeline, kind, at, &show(&value))
            }
        }
    }

    // ── What counts ──────────────────────────────────────────────────────────────────────────

    fn firings(&self) -> Vec<Firing> {
        let steps = &self.playbook.when.steps;
        let ways = self.sequence(steps, Way::default(), ANYWHERE);
        // For each match of the first step the first way that nothing blocks.
        let mut of_first: BTreeMap<usize, Match<'a>> = BTreeMap::new();
        for way in ways {
            let began = way.began;
            if !of_first.contains_key(&began)
                && let Some(one) = self.accept(way)
            {
                of_first.insert(began, one);
            }
        }
        let mut found: Vec<Match<'a>> = of_first.into_values().collect();
        found.sort_by_key(|one| (one.way.anchor(), one.way.newest()));
        // What is about the same scope, and began before the end of it, is the same finding.
        let mut findings: Vec<Vec<Match<'a>>> = Vec::new();
        for one in found {
            let same = findings
                .iter_mut()
                .rev()
                .find(|had| had[0].scope == one.scope);
            match same {
                Some(had) if had[0].end.is_none_or(|end| one.way.anchor() < end) => had.push(one),
                _ => findings.push(vec![one]),
            }
        }
        findings.iter().map(|all| self.firing(all)).collect()
    }

    fn accept(&self, way: Way<'a>) -> Option<Match<'a>> {
        let entries: Vec<usize> = way.hits.iter().map(|(at, _)| *at).collect();
        let scope = ScopeKey::of(self.playbook.scope, self.timeline, &entries);
        let epoch = scope.launch.map(|at| self.timeline.launches[at].epoch_end);
        let mut end = epoch.filter(|end| *end < self.timeline.entries.len());
        for guard in &self.playbook.when.until {
            let after = guard.after.as_ref().and_then(|name| way.named(name));
            let from = after.unwrap_or(way.anchor());
            let place = self.place(from, end.unwrap_or(usize::MAX), false);
            let begin = Way {
                previous: Some(from),
                ..way.clone()
            };
            let ends = self.step(&guard.step, begin, place);
            let ends = ends.iter().filter_map(|end| {
                let own = end.hits[way.hits.len()..].iter().map(|(at, _)| *at);
                own.max().filter(|at| *at > from)
            });
            end = [end, ends.min()].into_iter().flatten().min();
        }
        if end.is_some_and(|end| end < way.newest()) {
            return None;
        }
        let blocked = self.playbook.when.unless.iter().any(|guard| {
            let ways = self.guard(guard, &way, end);
            ways.is_some_and(|ways| !ways.is_empty())
        });
        (!blocked).then_some(Match { way, scope, end })
    }

    fn place(&self, from: usize, to: usize, again: bool) -> Where {
        Where {
            from,
            to,
            default_join: match self.playbook.scope {
                ScopeKind::Session => None,
                ScopeKind::Launch => Some(JoinKind::Launch),
                _ => Some(JoinKind::Host),
            },
            hopeful: false,
            again,
        }
    }

    /// From where a guard looks, and what it comes after.
    fn reach(&self, guard: &Guard, way: &Way<'_>) -> Option<(usize, Option<usize>)> {
        let after = guard.after.as_ref().map(|name| way.named(name));
        match after {
            Some(None) => None,
            Some(Some(after)) => Some((0, Some(after))),
            None if guard.anytime => Some((0, None)),
            None => {
                // The first entry's command counts as a whole.
                let command = self.entry(way.anchor()).command;
                let entries = &self.timeline.entries[..way.anchor()];
                let before = entries.iter().rposition(|entry| entry.command != command);
                Some((before.map_or(0, |at| at + 1), None))
            }
        }
    }

    /// Ways in which a guard is true before the end, if what it comes after is there.
    fn guard(&self, guard: &'a Guard, way: &Way<'a>, end: Option<usize>) -> Option<Vec<Way<'a>>> {
        let (from, previous) = self.reach(guard, way)?;
        let place = self.place(from, end.map_or(usize::MAX, |end| end + 1), true);
        let begin = Way {
            previous,
            ..way.clone()
        };
        Some(self.step(&guard.step, begin, place))
    }

    fn firing(&self, all: &[Match<'a>]) -> Firing {
        let first = &all[0];
        let mut evidence = self.evidence(&first.way);
        if let [_, .., latest] = all {
            for (at, says) in self.evidence(&latest.way) {
                evidence.entry(at).or_insert(says);
            }
        }
        Firing {
            playbook: self.number,
            scope: first.scope.clone(),
            scope_key: first.scope.text(self.timeline),
            anchor: first.way.anchor(),
            bindings: self.bindings(first),
            evidence: evidence.into_iter().take(12).collect(),
            resolved: first.end,
            observations: self.observations(first),
            since: self.entry(first.way.anchor()).at,
        }
    }

    fn bindings(&self, one: &Match<'_>) -> BTreeMap<String, usize> {
        let mut out = BTreeMap::new();
        if let Some(launch) = one.scope.launch {
            out.insert("launch".to_owned(), self.timeline.launches[launch].entry);
        }
        for (name, at) in &one.way.bound {
            out.entry(name.to_string()).or_insert(*at);
        }
        out
    }

    fn evidence(&self, way: &Way<'_>) -> BTreeMap<usize, String> {
        let mut out = BTreeMap::new();
        for (at, says) in &way.hits {
            let says = match says {
                Some(says) => says.fill(self.env(Some(*at), way), false),
                None => words(self.entry(*at)),
            };
            out.entry(*at).or_insert(says);
        }
        out
    }

    fn observations(&self, one: &Match<'a>) -> Vec<Seen> {
        let each = self.playbook.observations.iter().enumerate();
        each.map(|(observation, spec)| {
            let yes = self.newest(&spec.when, one);
            let no = match &spec.not_when {
                Some(guard) => self.newest(guard, one).map(|(entries, _)| entries),
                None => self.denied(&spec.when, one).map(|at| vec![at]),
            };
            let last_yes = yes
                .as_ref()
                .and_then(|(entries, _)| entries.last().copied());
            let last_no = no.as_ref().and_then(|entries| entries.last().copied());
            match (yes, no) {
                (Some((entries, way)), _) if last_no.is_none() || last_yes >= last_no => Seen {
                    observation,
                    state: Tri::Yes,
                    says: spec.says.fill(self.env(last_yes, &way), false),
                    entries,
                },
                (_, Some(entries)) => Seen {
                    observation,
                    state: Tri::No,
                    says: words(self.entry(last_no.unwrap())),
                    entries,
                },
                _ => Seen {
                    observation,
                    state: Tri::Unknown,
                    entries: Vec::new(),
                    says: String::new(),
                },
            }
        })
        .collect()
    }

    /// The newest way in which a guard is true; of equally new ones the preferred.
    fn newest(&self, guard: &'a Guard, one: &Match<'a>) -> Option<(Vec<usize>, Way<'a>)> {
        let mut found: Option<(Vec<usize>, Way<'a>)> = None;
        for way in self.guard(guard, &one.way, one.end)? {
            let own = way.hits[one.way.hits.len()..].iter().map(|(at, _)| *at);
            let mut entries: Vec<usize> = own.collect();
            entries.sort_unstable();
            let newer = found
                .as_ref()
                .is_none_or(|(had, _)| had.last() < entries.last());
            if newer {
                found = Some((entries, way));
            }
        }
        found
    }

    /// The newest look that says that a guard is not so.
    fn denied(&self, guard: &'a Guard, one: &Match<'a>) -> Option<usize> {
        let (from, previous) = self.reach(guard, &one.way)?;
        let place = self.place(from, one.end.map_or(usize::MAX, |end| end + 1), true);
        let way = Way {
            previous,
            ..one.way.clone()
        };
        self.denials(&guard.step, &way, place).into_iter().max()
    }

    fn denials(&self, step: &'a Step, way: &Way<'a>, place: Where) -> BTreeSet<usize> {
        let later = |at: &usize| way.previous.is_none_or(|before| self.follows(before, *at));
        match &step.form {
            Form::Fact(bind) if is_state(bind.fact.name) => {
                let fits = |at: &usize| {
                    self.is_of(bind, *at, place) && self.joins(&bind.on, *at, way, place)
                };
                let fitting: Vec<usize> = (0..self.timeline.entries.len()).filter(fits).collect();
                let place_only =
                    |kind: &JoinKind| matches!(kind, JoinKind::Host | JoinKind::Session);
                let mut kinds: Vec<JoinKind> = bind.on.iter().map(|join| join.kind).collect();
                if kinds.is_empty() {
                    kinds.extend(place.default_join);
                }
                // Joined by a place only: a look denies only what it is about itself.
                let narrow = !kinds.iter().all(place_only);
                let about: BTreeSet<String> = fitting
                    .iter()
                    .filter(|at| self.told(bind, **at, way) == Tri::Yes)
                    .map(|at| identity(self.entry(*at)))
                    .collect();
                fitting
                    .into_iter()
                    .filter(later)
                    .filter(|at| narrow || about.contains(&identity(self.entry(*at))))
                    .filter(|at| {
                        bind.filter.as_ref().is_some_and(|filter| {
                            let env = Env {
                                strict: true,
                                ..self.env(Some(*at), way)
                            };
                            filter.truth(env) == Tri::No
                        })
                    })
                    .collect()
            }
            Form::Absent(wanted) => {
                let Some((subject, looks)) = self.looks_for(wanted, way, place) else {
                    return BTreeSet::new();
                };
                looks
                    .into_iter()
                    .filter(later)
                    .filter(|at| self.says_absent(*at, &subject) == Tri::No)
                    .collect()
            }
            Form::Any(steps) => {
                let each: Vec<BTreeSet<usize>> = steps
                    .iter()
                    .map(|step| self.denials(step, way, place))
                    .collect();
                if each.iter().any(BTreeSet::is_empty) {
                    return BTreeSet::new();
                }
                each.into_iter().flatten().collect()
            }
            Form::All(steps) => steps
                .iter()
                .flat_map(|step| self.denials(step, way, place))
                .collect(),
            _ => BTreeSet::new(),
        }
    }

    // ── Wishes ───────────────────────────────────────────────────────────────────────────────

    fn wishes(&self, firings: &[Firing]) -> Vec<Wish> {
        if self.playbook.probes.is_empty() {
            return Vec::new();
        }
        let place = Where {
            hopeful: true,
            ..ANYWHERE
        };
        let ways = self.sequence(&self.playbook.when.steps, Way::default(), place);
        // For each match of the first step the newest chance that nothing blocks.
        let mut of_first: BTreeMap<usize, Match<'a>> = BTreeMap::new();
        for way in ways.into_iter().filter(|way| !way.unknown.is_empty()) {
            let began = way.began;
            if !of_first.contains_key(&began)
                && let Some(one) = self.accept(way)
            {
                of_first.insert(began, one);
            }
        }
        let mut wishes: BTreeMap<ScopeKey, Wish> = BTreeMap::new();
        for one in of_first.into_values() {
            let fired = firings.iter().any(|firing| firing.scope == one.scope);
            if one.end.is_none() && !fired {
                wishes.insert(one.scope.clone(), self.wish(&one));
            }
        }
        wishes.into_values().collect()
    }

    fn wish(&self, one: &Match<'_>) -> Wish {
        let unknown = &one.way.unknown;
        let settles = |yields: &[String]| {
            let mut names = unknown.iter().filter_map(|(name, _)| name.as_deref());
            names.any(|name| yields.iter().any(|known| known == name))
        };
        let probes = &self.playbook.probes;
        let some: Vec<usize> = (0..probes.len())
            .filter(|at| settles(&probes[*at].yields))
            .collect();
        Wish {
            playbook: self.number,
            scope: one.scope.clone(),
            scope_key: one.scope.text(self.timeline),
            anchor: one.way.anchor(),
            bindings: self.bindings(one),
            unknown: unknown.iter().map(|(_, what)| what.clone()).collect(),
            probes: if some.is_empty() {
                (0..probes.len()).collect()
            } else {
                some
            },
        }
    }
}
