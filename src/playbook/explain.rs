//! Why a playbook fired, clause by clause, and why it did not: which clause failed first, and on what.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::Serialize;

use super::eval::{Env, Val, show, truth};
use super::expr::{Node, Var};
use super::findings::Matcher;
use super::matcher::{Flow, Search, State, follows};
use super::words::words;
use super::{Bind, Firing, Form, Guard, JoinKind, JoinTo, Playbook, Step, SubjectKind, Trend};
use crate::fact::cover::Subject;
use crate::shell::Tri;
use crate::timeline::Timeline;

/// Ways to match the first steps that are looked at for the closest.
const MOST_WAYS: usize = 500;

/// What a clause is to its playbook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It must be seen.
    Step,
    /// It blocks.
    Unless,
    /// It ends.
    Until,
}

/// A clause of a playbook that fired.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Clause {
    /// What it is to the playbook.
    pub role: Role,
    /// What it asks for, in words.
    pub asks: String,
    /// The line of the playbook it stands on.
    pub line: usize,
    /// It is so, it was looked for and is not so, or nobody looked.
    pub state: Tri,
    /// The entries that say so, and what each says.
    #[serde(skip)]
    pub entries: Vec<(usize, String)>,
}

/// Part of a condition, and what it came to for the fact that came nearest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// As written.
    pub text: String,
    /// What it came to.
    pub state: Tri,
    /// The fields it reads, with what they hold.
    pub fields: BTreeMap<String, String>,
}

/// Why a playbook did not fire.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It fires.
    Fires,
    /// There is no such fact at all: nobody looked, or nothing of the kind happened.
    NoLook,
    /// There are such facts, but none that belongs to what was matched.
    NotJoined,
    /// Those that belong come too early, or out of time.
    OutOfTime,
    /// The condition is false of the nearest.
    False,
    /// The condition is unknown of the nearest.
    Unknown,
    /// What should be absent was shown.
    Shown,
    /// There are looks, but too few, over too little time, or they do not go that way.
    Run,
    /// An `unless` holds.
    Blocked,
    /// It was over before it was complete.
    Ended,
}

/// How far a playbook came.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhyNot {
    /// Why it stopped there.
    pub reason: Reason,
    /// Steps that matched.
    pub matched: usize,
    /// Steps there are.
    pub steps: usize,
    /// The clause that failed, in words; empty where it fires.
    pub asks: String,
    /// The line of the playbook it stands on.
    pub line: usize,
    /// Facts of its type on record.
    pub on_record: usize,
    /// The condition of the clause, part by part, for the fact that came nearest.
    pub parts: Vec<Part>,
    /// In words.
    pub says: String,
    /// The entries matched, and what each says.
    #[serde(skip)]
    pub entries: Vec<(usize, String)>,
    /// The entry that came nearest, or that blocks or ends it.
    #[serde(skip)]
    pub nearest: Option<(usize, String)>,
}

/// The clauses of a playbook that fired, in the order they are written.
pub fn explain(playbook: &Playbook, timeline: &Timeline, firing: &Firing) -> Vec<Clause> {
    super::findings::with(playbook, timeline, |matcher| matcher.clauses(firing))
}

/// How far a playbook comes in a session, and what it fails on.
pub fn why_not(playbook: &Playbook, timeline: &Timeline) -> WhyNot {
    super::findings::with(playbook, timeline, |matcher| matcher.why_not())
}

impl<'a> Matcher<'a> {
    fn clauses(&self, firing: &Firing) -> Vec<Clause> {
        let Some((state, end)) = self.state_of(firing) else {
            return Vec::new();
        };
        let mut out = Vec::new();
        for step in &self.playbook.when.steps {
            self.step_clauses(step, &state, &mut out);
        }
        for guard in &self.playbook.when.unless {
            let denied = self.denial(guard, &state, end);
            out.push(self.guard_clause(Role::Unless, guard, denied, Tri::No));
        }
        for guard in &self.playbook.when.until {
            let ends = self.ends(guard, &state).filter(|at| Some(*at) == end);
            out.push(self.guard_clause(Role::Until, guard, ends, Tri::Yes));
        }
        out
    }

    fn guard_clause(&self, role: Role, guard: &Guard, at: Option<usize>, so: Tri) -> Clause {
        Clause {
            role,
            asks: asks(&guard.step),
            line: guard.step.line,
            state: if at.is_some() { so } else { Tri::Unknown },
            entries: at.map(|at| self.told(at)).into_iter().collect(),
        }
    }

    fn told(&self, at: usize) -> (usize, String) {
        let says = self.timeline.entries.get(at).map(words);
        (at, says.unwrap_or_default())
    }

    fn step_clauses(&self, step: &'a Step, state: &State<'a>, out: &mut Vec<Clause>) {
        if let Form::All(steps) | Form::Any(steps) = &step.form {
            for step in steps {
                self.step_clauses(step, state, out);
            }
            return;
        }
        let mine: Vec<_> = state
            .hits
            .iter()
            .filter(|hit| std::ptr::eq(hit.step, step))
            .copied()
            .collect();
        out.push(Clause {
            role: Role::Step,
            asks: asks(step),
            line: step.line,
            state: if mine.is_empty() {
                Tri::Unknown
            } else {
                Tri::Yes
            },
            entries: self.evidence(&mine, &state.bound),
        });
    }

    fn why_not(&self) -> WhyNot {
        let steps = &self.playbook.when.steps;
        for matched in (0..=steps.len()).rev() {
            let (done, rest) = steps.split_at(matched);
            let ways = self.ways(done);
            if matched > 0 && ways.is_empty() {
                continue;
            }
            let Some(step) = rest.first() else {
                return self.blocked(&ways);
            };
            // The closest of the newest.
            let tries = ways.iter().rev().map(|state| self.failed(step, state));
            let closest = tries.reduce(|best, next| if next.0 > best.0 { next } else { best });
            if let Some((_, mut why)) = closest {
                why.matched = matched;
                return why;
            }
        }
        self.empty(Reason::NoLook, None)
    }

    /// Ways to match some steps, in order; the empty one for none.
    fn ways(&self, steps: &'a [Step]) -> Vec<State<'a>> {
        let found: RefCell<Vec<State<'a>>> = RefCell::default();
        let search = self.search_all();
        let _ = search.sequence(steps, &mut State::default(), &mut |state| {
            let mut found = found.borrow_mut();
            found.push(state.clone());
            if found.len() < MOST_WAYS {
                Flow::Continue(())
            } else {
                Flow::Break(())
            }
        });
        found.into_inner()
    }

    fn empty(&self, reason: Reason, state: Option<&State<'a>>) -> WhyNot {
        WhyNot {
            reason,
            matched: self.playbook.when.steps.len(),
            steps: self.playbook.when.steps.len(),
            asks: String::new(),
            line: 0,
            on_record: 0,
            parts: Vec::new(),
            says: String::new(),
            entries: state.map_or_else(Vec::new, |state| self.evidence(&state.hits, &state.bound)),
            nearest: None,
        }
    }

    /// All steps match: it fires, or something blocks or ended it.
    fn blocked(&self, ways: &[State<'a>]) -> WhyNot {
        if let Some(state) = ways.iter().find(|state| self.accepts(state)) {
            return self.empty(Reason::Fires, Some(state));
        }
        let Some(state) = ways.last() else {
            return self.empty(Reason::Fires, None);
        };
        for guard in &self.playbook.when.unless {
            if let Some(entries) = self.holding(guard, state) {
                return WhyNot {
                    asks: asks(&guard.step),
                    line: guard.step.line,
                    says: "everything was seen, but this blocks it".to_owned(),
                    nearest: entries.last().map(|at| self.told(*at)),
                    ..self.empty(Reason::Blocked, Some(state))
                };
            }
        }
        let ends = self.playbook.when.until.iter();
        let end = ends
            .filter_map(|guard| Some((self.ends(guard, state)?, guard)))
            .min_by_key(|(at, _)| *at);
        WhyNot {
            asks: end.map_or_else(
                || "the end of the launch's epoch".to_owned(),
                |(_, guard)| asks(&guard.step),
            ),
            line: end.map_or(0, |(_, guard)| guard.step.line),
            says: "everything was seen, but it was over before".to_owned(),
            nearest: end.map(|(at, _)| self.told(at)),
            ..self.empty(Reason::Ended, Some(state))
        }
    }

    /// What a step fails on after what was matched, and how close it came.
    fn failed(&self, step: &'a Step, state: &State<'a>) -> (usize, WhyNot) {
        let search = self.search_all();
        match &step.form {
            Form::Any(steps) | Form::All(steps) => {
                let each = steps.iter().map(|step| self.failed(step, state));
                // Of `all` what is there cannot be what is missing.
                let missing = each.filter(|(_, why)| why.reason != Reason::Fires);
                missing
                    .max_by_key(|(close, _)| *close)
                    .unwrap_or_else(|| (0, self.empty(Reason::NotJoined, Some(state))))
            }
            Form::Fact(bind) => self.failed_fact(&search, step, bind, state),
            Form::Series(series) => {
                let (close, why) = self.failed_fact(&search, step, &series.bind, state);
                if why.reason != Reason::Fires {
                    return (close, why);
                }
                let looks = self.fitting(&search, step, &series.bind, state);
                let says = format!(
                    "{} such {}; what is asked is {}",
                    looks.len(),
                    if looks.len() == 1 { "look" } else { "looks" },
                    run_in_words(series)
                );
                (
                    40 + looks.len().min(9),
                    WhyNot {
                        says,
                        nearest: looks.last().map(|at| self.told(*at)),
                        reason: Reason::Run,
                        ..why
                    },
                )
            }
            Form::Absent(wanted) => {
                let base = WhyNot {
                    asks: asks(step),
                    line: step.line,
                    ..self.empty(Reason::NoLook, Some(state))
                };
                let Some((subject, number, looks)) = search.looks_for(wanted, state) else {
                    let says = "which one is not known".to_owned();
                    let reason = Reason::Unknown;
                    return (
                        10,
                        WhyNot {
                            reason,
                            says,
                            ..base
                        },
                    );
                };
                let on_record = looks.len();
                let later: Vec<usize> = looks
                    .into_iter()
                    .filter(|at| search.may_follow(step, *at, state))
                    .collect();
                let shown = later
                    .iter()
                    .rev()
                    .find(|at| self.index.absent(**at, &subject, number) == Tri::No);
                if let Some(at) = shown {
                    return (
                        50,
                        WhyNot {
                            reason: Reason::Shown,
                            on_record,
                            says: format!("{} was seen to be there", subject_in_words(&subject)),
                            nearest: Some(self.told(*at)),
                            ..base
                        },
                    );
                }
                let says = match later.len() {
                    0 => "nobody looked after that".to_owned(),
                    _ => format!(
                        "no look afterwards would have shown {}",
                        subject_in_words(&subject)
                    ),
                };
                let nearest = later.last().map(|at| self.told(*at));
                (
                    30,
                    WhyNot {
                        on_record,
                        says,
                        nearest,
                        ..base
                    },
                )
            }
        }
    }

    fn fitting(
        &self,
        search: &Search<'a>,
        step: &'a Step,
        bind: &'a Bind,
        state: &State<'a>,
    ) -> Vec<usize> {
        let all = self.index.entries(bind.fact, super::index::Within::Session);
        all.iter()
            .copied()
            .filter(|at| {
                state
                    .previous
                    .is_none_or(|previous| follows(self.timeline, previous, *at))
                    && search.joins(&bind.on, *at, state)
                    && search.filter(bind, *at, state) == Tri::Yes
            })
            .filter(|at| step.within_s.is_none() || search.may_follow(step, *at, state))
            .collect()
    }

    fn failed_fact(
        &self,
        search: &Search<'a>,
        step: &'a Step,
        bind: &'a Bind,
        state: &State<'a>,
    ) -> (usize, WhyNot) {
        let all = self.index.entries(bind.fact, super::index::Within::Session);
        let base = WhyNot {
            asks: asks(step),
            line: step.line,
            on_record: all.len(),
            ..self.empty(Reason::NoLook, Some(state))
        };
        let mut best: Option<(usize, WhyNot)> = None;
        // The newest of equally near ones.
        for at in all.iter().rev().take(20_000).copied() {
            let parts = self.parts(search, bind, at, state);
            let good = parts.iter().filter(|part| part.state == Tri::Yes).count();
            let joined = search.joins(&bind.on, at, state);
            let in_time = search.may_follow(step, at, state);
            let whole = search.filter(bind, at, state);
            let reason = match (joined, in_time, whole) {
                (false, ..) => Reason::NotJoined,
                (_, false, _) => Reason::OutOfTime,
                (_, _, Tri::Yes) => Reason::Fires,
                (_, _, Tri::Unknown) => Reason::Unknown,
                (_, _, Tri::No) => Reason::False,
            };
            let close = match reason {
                Reason::Fires => 60,
                Reason::Unknown => 40,
                Reason::False => 20,
                _ => 0,
            } + (good * 9 / parts.len().max(1))
                + usize::from(joined)
                + usize::from(in_time);
            if best.as_ref().is_some_and(|(had, _)| *had >= close) {
                continue;
            }
            let says = match reason {
                Reason::NotJoined => format!(
                    "none belongs to what was matched ({})",
                    joins_in_words(bind).unwrap_or_default()
                ),
                Reason::OutOfTime => "it comes too early, or out of time".to_owned(),
                Reason::Unknown => "this look could not tell".to_owned(),
                Reason::False => "the condition is false of it".to_owned(),
                _ => String::new(),
            };
            let why = WhyNot {
                reason,
                parts,
                says,
                nearest: Some(self.told(at)),
                ..base.clone()
            };
            best = Some((close, why));
        }
        best.unwrap_or_else(|| {
            let says = format!("there is no `{}` on record at all", bind.fact.name);
            (1, WhyNot { says, ..base })
        })
    }

    fn parts(
        &self,
        search: &Search<'a>,
        bind: &'a Bind,
        at: usize,
        state: &State<'a>,
    ) -> Vec<Part> {
        let Some(filter) = &bind.filter else {
            return Vec::new();
        };
        let mut nodes: Vec<&Node> = Vec::new();
        filter.node.conjuncts(&mut nodes);
        let mut texts = split(filter.source());
        if texts.len() != nodes.len() {
            (nodes, texts) = (vec![&filter.node], vec![filter.source()]);
        }
        let env: Env<'_> = search.env(Some(at), state);
        let entry = self.timeline.entries.get(at);
        nodes
            .into_iter()
            .zip(texts)
            .map(|(node, text)| {
                let mut fields = BTreeMap::new();
                node.walk(&mut |node| {
                    if let Node::Field(Var::It, field) = node
                        && let Some(peek) = entry.and_then(|entry| entry.fact.peek(field.name))
                    {
                        let value = show(&Val::from(peek));
                        fields.insert(field.name.to_owned(), super::template::prose(&value));
                    }
                });
                Part {
                    text: text.to_owned(),
                    state: truth(node, env),
                    fields,
                }
            })
            .collect()
    }
}

/// `a && (b && c)` → its parts, as far as they stand beside each other.
fn split(source: &str) -> Vec<&str> {
    let source = source.trim();
    let bytes = source.as_bytes();
    let (mut depth, mut quote, mut skip) = (0_usize, None, false);
    let mut cuts = Vec::new();
    let mut or = false;
    for (at, byte) in bytes.iter().enumerate() {
        if skip {
            skip = false;
            continue;
        }
        match (quote, byte) {
            (Some(_), b'\\') => skip = true,
            (Some(open), byte) if open == *byte => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(*byte),
            (None, b'(' | b'[') => depth += 1,
            (None, b')' | b']') => depth = depth.saturating_sub(1),
            (None, b'&') if depth == 0 && bytes.get(at + 1) == Some(&b'&') => {
                cuts.push(at);
                skip = true;
            }
            (None, b'|' | b'?') if depth == 0 => or = true,
            _ => {}
        }
    }
    if or || cuts.is_empty() {
        return vec![source];
    }
    let mut parts = Vec::new();
    let mut from = 0;
    for cut in cuts {
        parts.push(source.get(from..cut).unwrap_or_default());
        from = cut + 2;
    }
    parts.push(source.get(from..).unwrap_or_default());
    parts
        .into_iter()
        .flat_map(|part| {
            let part = part.trim();
            let inner = part
                .strip_prefix('(')
                .and_then(|part| part.strip_suffix(')'));
            match inner {
                Some(inner) if balanced(inner) => {
                    let inner = split(inner);
                    if inner.len() > 1 { inner } else { vec![part] }
                }
                _ => vec![part],
            }
        })
        .collect()
}

/// Every bracket closes one that was opened in the text.
fn balanced(text: &str) -> bool {
    let mut depth = 0_i64;
    for byte in text.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

/// What a step asks for, in words.
pub(super) fn asks(step: &Step) -> String {
    let mut out = match &step.form {
        Form::Fact(bind) => of_bind(bind),
        Form::Absent(absent) => {
            let thing = match absent.subject {
                SubjectKind::Process => "process",
                SubjectKind::Pid => "process id",
                SubjectKind::Path => "file",
                SubjectKind::Port => "listener on port",
                SubjectKind::Gpu => "GPU",
            };
            format!("a look that shows no {thing} {}", absent.value.source())
        }
        Form::Series(series) => {
            format!("{} of {}", run_in_words(series), of_bind(&series.bind))
        }
        Form::All(steps) => group(steps, " and "),
        Form::Any(steps) => group(steps, " or "),
    };
    if let Some(most) = step.within_s {
        out.push_str(&format!(", within {most} s"));
    }
    if let Some(least) = step.after_s {
        out.push_str(&format!(", after {least} s"));
    }
    out
}

fn group(steps: &[Step], word: &str) -> String {
    let each: Vec<String> = steps.iter().map(asks).collect();
    each.join(word)
}

fn of_bind(bind: &Bind) -> String {
    let mut out = format!("`{}`", bind.fact.name);
    if let Some(joins) = joins_in_words(bind) {
        out.push_str(&format!(" of {joins}"));
    }
    if let Some(filter) = &bind.filter {
        out.push_str(&format!(" where {}", filter.source()));
    }
    out
}

fn joins_in_words(bind: &Bind) -> Option<String> {
    let each: Vec<String> = bind
        .on
        .iter()
        .map(|join| {
            let kind = match join.kind {
                JoinKind::Command => "command",
                JoinKind::Host => "host",
                JoinKind::Launch => "launch",
                JoinKind::Path => "path",
                JoinKind::Log => "log",
                JoinKind::Script => "script",
                JoinKind::Pid => "process",
                JoinKind::Port => "port",
                JoinKind::Gpu => "GPU",
                JoinKind::Container => "container",
                JoinKind::Name => "name",
                JoinKind::Session => "session",
            };
            match &join.to {
                None => format!("the same {kind}"),
                Some(JoinTo::Binding(name)) => format!("{name}'s {kind}"),
                Some(JoinTo::Value(expr)) => format!("{kind} {}", expr.source()),
            }
        })
        .collect();
    (!each.is_empty()).then(|| each.join(" and "))
}

fn run_in_words(series: &super::Series) -> String {
    let field = series.field.or(series.distinct).unwrap_or_default();
    let what = match series.trend {
        Trend::Unchanged => format!("`{field}` unchanged"),
        Trend::Changed => format!("`{field}` changed"),
        Trend::Rising => format!("`{field}` rising"),
        Trend::NotRising => format!("`{field}` not rising"),
        Trend::Count if series.distinct.is_some() => {
            format!("{} distinct `{field}`", series.count)
        }
        Trend::Count => format!("{} looks", series.count),
    };
    let over = match series.trend {
        Trend::Count | Trend::Changed => String::new(),
        _ => format!(" over {} looks", series.count),
    };
    let spanning = if series.spanning_s > 0.0 {
        format!(" spanning {} s", series.spanning_s)
    } else {
        String::new()
    };
    format!("{what}{over}{spanning}")
}

fn subject_in_words(subject: &Subject) -> String {
    super::matcher::words_of(subject)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn conditions_are_split_where_they_stand_beside_each_other() {
        assert_eq!(
            split("a == 'x && y' && (b || c)"),
            ["a == 'x && y'", "(b || c)"]
        );
        assert_eq!(split("a && (b && c) && d"), ["a", "b", "c", "d"]);
        assert_eq!(split("a || b && c"), ["a || b && c"]);
        assert_eq!(split("(a) && (b)"), ["(a)", "(b)"]);
        assert_eq!(split("f(x, 'it\\'s') && b"), ["f(x, 'it\\'s')", "b"]);
    }
}
