//! What the conditions of many playbooks have in common, worked out once for all of them.
//!
//! A condition over a fact falls into the part that speaks of the fact alone and the part that
//! compares it with what was bound before. The first part is the same question whoever asks it: each
//! distinct one is an [`Alone`] here, asked at most once of each fact of its type. Most of them look
//! for words in a text, and most texts hold none of these: the words of all conditions are looked
//! for in one pass ([`Hay`]), and only the facts with a word of a condition are asked that condition.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, MatchKind};

use super::eval::{Env, Nothing, Val, truth, value};
use super::expr::{Node, TextMap, TextTest, Var};
use super::index::{Index, Within};
use super::ways::{Branch, ByKey, Keyed, Way, compared, disjuncts, together};
use super::{Bind, JoinTo, Playbook};
use crate::shell::Tri;
use crate::timeline::Timeline;

/// The conditions of some playbooks, put together. It depends on them alone, so that one serves any
/// number of timelines.
pub(super) struct Network<'p> {
    pub(super) playbooks: &'p [Playbook],
    conditions: Vec<Alone<'p>>,
    /// Of each playbook, the condition of each of its facts.
    slots: Vec<Vec<Slot<'p>>>,
    /// Values by which facts are looked up.
    keyed: Vec<Keyed<'p>>,
    /// Of each fact type, what its texts are searched for.
    hays: HashMap<&'static str, OnceLock<Hays>>,
    /// Of each fact type, its conditions.
    of_type: HashMap<&'static str, Vec<usize>>,
}

/// A fact that a playbook asks for.
#[derive(Debug)]
struct Slot<'p> {
    /// The condition that it must meet by itself.
    condition: usize,
    /// Ways to it from what is bound.
    ways: Vec<Way<'p>>,
    /// Names of what is bound that the condition and the values of joins speak of.
    names: Vec<Arc<str>>,
}

/// What a condition says of a fact alone.
pub(super) struct Alone<'p> {
    fact: &'static str,
    /// All of these are true.
    parts: Vec<&'p Node>,
    /// They are the whole of the condition.
    whole: bool,
}

impl Alone<'_> {
    /// Nothing is asked of the fact alone.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Nothing but this is asked.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Whether it is so of an entry.
    pub(super) fn truth(&self, timeline: &Timeline, at: usize) -> Tri {
        let mut all = Tri::Yes;
        for part in &self.parts {
            match truth(part, alone(timeline, at, false)) {
                Tri::No => return Tri::No,
                Tri::Unknown => all = Tri::Unknown,
                Tri::Yes => {}
            }
        }
        all
    }

    /// Whether an entry says that it is not so.
    pub(super) fn is_denied(&self, timeline: &Timeline, at: usize) -> bool {
        let env = alone(timeline, at, true);
        self.parts.iter().any(|part| truth(part, env) == Tri::No)
    }
}

fn alone(timeline: &Timeline, at: usize, strict: bool) -> Env<'_> {
    Env {
        timeline,
        it: Some(at),
        bound: &Nothing,
        strict,
    }
}

/// The texts of one fact type that conditions search.
struct Hays {
    hays: Vec<Hay>,
    /// Of each condition that has such: the text, and the words of which it needs one.
    needs: HashMap<usize, (usize, Vec<usize>)>,
}

/// A text of each fact of a type, and the words that conditions look for in it.
struct Hay {
    text: Node,
    words: Option<AhoCorasick>,
    count: usize,
}

impl<'p> Network<'p> {
    pub(super) fn new(playbooks: &'p [Playbook]) -> Self {
        let mut making = Making::default();
        let mut all = Vec::with_capacity(playbooks.len());
        for playbook in playbooks {
            let mut slots: Vec<Slot<'p>> = Vec::new();
            playbook.each_bind(&mut |bind| {
                while slots.len() <= bind.slot {
                    slots.push(Slot {
                        condition: usize::MAX,
                        ways: Vec::new(),
                        names: Vec::new(),
                    });
                }
                if let Some(slot) = slots.get_mut(bind.slot) {
                    *slot = making.slot(bind);
                }
            });
            all.push(slots);
        }
        let mut of_type: HashMap<&'static str, Vec<usize>> = HashMap::new();
        for (number, condition) in making.conditions.iter().enumerate() {
            of_type.entry(condition.fact).or_default().push(number);
        }
        Self {
            playbooks,
            slots: all,
            keyed: making.keyed,
            hays: of_type
                .keys()
                .map(|fact| (*fact, OnceLock::new()))
                .collect(),
            of_type,
            conditions: making.conditions,
        }
    }

    fn slot(&self, playbook: usize, bind: &Bind) -> Option<&Slot<'p>> {
        self.slots.get(playbook)?.get(bind.slot)
    }

    /// The condition of a fact that a playbook asks for.
    fn of(&self, playbook: usize, bind: &Bind) -> usize {
        let slot = self.slot(playbook, bind);
        slot.map_or(usize::MAX, |slot| slot.condition)
    }

    fn hays(&self, fact: &'static str) -> Option<&Hays> {
        let conditions = self.of_type.get(fact)?;
        let make = || Hays::new(conditions, &self.conditions);
        Some(self.hays.get(fact)?.get_or_init(make))
    }
}

/// A network that is being put together.
#[derive(Default)]
struct Making<'p> {
    conditions: Vec<Alone<'p>>,
    known: HashMap<(&'static str, Arc<str>), usize>,
    keyed: Vec<Keyed<'p>>,
    known_keyed: HashMap<(&'static str, String), usize>,
}

impl<'p> Making<'p> {
    fn slot(&mut self, bind: &'p Bind) -> Slot<'p> {
        let fact = bind.fact.name;
        let mut parts = Vec::new();
        if let Some(filter) = &bind.filter {
            filter.node.conjuncts(&mut parts);
        }
        let (alone, rest): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.is_alone());
        let ways = rest
            .iter()
            .filter_map(|part| self.way(fact, part))
            .collect();
        let whole = rest.is_empty();
        let text = || text_of(whole, &alone);
        let key = bind.filter.as_ref().map_or_else(Arc::default, |filter| {
            Arc::clone(filter.alone.get_or_init(text))
        });
        let mut names = Vec::new();
        if let Some(filter) = &bind.filter {
            filter.node.names(&mut names);
        }
        for join in &bind.on {
            if let Some(JoinTo::Value(value)) = &join.to {
                value.node.names(&mut names);
            }
        }
        Slot {
            condition: self.condition(fact, alone, whole, key),
            ways,
            names,
        }
    }

    fn condition(
        &mut self,
        fact: &'static str,
        parts: Vec<&'p Node>,
        whole: bool,
        key: Arc<str>,
    ) -> usize {
        let next = self.conditions.len();
        let number = *self.known.entry((fact, key)).or_insert(next);
        if number == next {
            self.conditions.push(Alone { fact, parts, whole });
        }
        number
    }

    /// The way that a part of a condition shows.
    fn way(&mut self, fact: &'static str, part: &'p Node) -> Option<Way<'p>> {
        let mut branches = Vec::new();
        disjuncts(part, &mut branches);
        let branches = branches.into_iter();
        let each: Option<Vec<_>> = branches.map(|branch| self.branch(fact, branch)).collect();
        each.map(Way)
    }

    fn branch(&mut self, fact: &'static str, branch: &'p Node) -> Option<Branch<'p>> {
        let mut parts = Vec::new();
        branch.conjuncts(&mut parts);
        if let Some((of, to, how)) = parts.iter().find_map(|part| compared(part)) {
            let next = self.keyed.len();
            let key = (fact, format!("{how:?}{of:?}"));
            let number = *self.known_keyed.entry(key).or_insert(next);
            if number == next {
                self.keyed.push(Keyed { fact, of, how });
            }
            return Some(Branch::Equal(number, to));
        }
        let whole = parts.len();
        parts.retain(|part| part.is_alone());
        if parts.is_empty() {
            return None;
        }
        let whole = parts.len() == whole;
        let key = text_of(whole, &parts);
        Some(Branch::Alone(self.condition(fact, parts, whole, key)))
    }
}

fn text_of(whole: bool, parts: &[&Node]) -> Arc<str> {
    Arc::from(format!("{whole}{parts:?}"))
}

impl Hays {
    fn new(numbers: &[usize], conditions: &[Alone<'_>]) -> Self {
        let mut hays: Vec<(&Node, Vec<String>, HashMap<String, usize>)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut needs = HashMap::new();
        for number in numbers {
            let Some(condition) = conditions.get(*number) else {
                continue;
            };
            let found = condition.parts.iter().filter_map(|part| Needs::of(part));
            let best = found.max_by_key(|needs| {
                let shortest = needs.words.iter().map(String::len).min();
                (shortest, std::cmp::Reverse(needs.words.len()))
            });
            let Some(best) = best else { continue };
            let place = *places.entry(format!("{:?}", best.text)).or_insert_with(|| {
                hays.push((best.text, Vec::new(), HashMap::new()));
                hays.len() - 1
            });
            let Some((_, words, known)) = hays.get_mut(place) else {
                continue;
            };
            let mine = best.words.into_iter().map(|word| {
                *known.entry(word).or_insert_with_key(|word| {
                    words.push(word.clone());
                    words.len() - 1
                })
            });
            needs.insert(*number, (place, mine.collect()));
        }
        let hays = hays.into_iter().map(|(text, words, _)| Hay {
            text: text.clone(),
            count: words.len(),
            words: AhoCorasick::builder()
                .match_kind(MatchKind::Standard)
                .build(&words)
                .ok(),
        });
        Self {
            hays: hays.collect(),
            needs,
        }
    }
}

/// A text, and words of which it holds one where a condition is true, or may be.
struct Needs<'p> {
    text: &'p Node,
    words: Vec<String>,
}

impl<'p> Needs<'p> {
    fn of(node: &'p Node) -> Option<Self> {
        let long = |word: &String| (word.len() > 1).then(|| vec![word.clone()]);
        let (text, words) = match node {
            Node::Matches(text, pattern) => (&**text, pattern.needs()?.to_vec()),
            Node::Test(how, text, word) => match (how, &**word) {
                (TextTest::SamePath, _) => return None,
                (_, Node::Text(word)) => (&**text, long(word)?),
                _ => return None,
            },
            Node::Or(a, b) => {
                let (a, b) = (Self::of(a)?, Self::of(b)?);
                if format!("{:?}", a.text) != format!("{:?}", b.text) {
                    return None;
                }
                (a.text, [a.words, b.words].concat())
            }
            _ => return None,
        };
        let plain =
            |node: &Node| matches!(node, Node::Field(Var::It, _) | Node::Pseudo(Var::It, _));
        let searched = match text {
            Node::Map(TextMap::Lower, inner) => plain(inner),
            other => plain(other),
        };
        searched.then_some(Self { text, words })
    }
}

/// Of which entries a condition is true, and of which it may be.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// It is so.
    pub(super) yes: Vec<usize>,
    /// It is so, or it is not known.
    pub(super) possible: Vec<usize>,
}

/// What a timeline says to the conditions of a network, found out as they are asked.
pub(super) struct Memory<'a> {
    network: &'a Network<'a>,
    timeline: &'a Timeline,
    index: &'a Index<'a>,
    told: Vec<OnceCell<Told>>,
    /// Of each value that facts are looked up by.
    keyed: Vec<OnceCell<ByKey>>,
    /// Of each fact type, of each of its searched texts.
    found: RefCell<HashMap<&'static str, Rc<Vec<Found>>>>,
}

/// Where the words of a text were found.
struct Found {
    /// Of each word, the entries that have it.
    of_word: Vec<Vec<usize>>,
    /// The entries of which the text is not known.
    unknown: Vec<usize>,
}

impl<'a> Memory<'a> {
    pub(super) fn new(
        network: &'a Network<'a>,
        timeline: &'a Timeline,
        index: &'a Index<'a>,
    ) -> Self {
        Self {
            network,
            timeline,
            index,
            told: network.conditions.iter().map(|_| OnceCell::new()).collect(),
            keyed: network.keyed.iter().map(|_| OnceCell::new()).collect(),
            found: RefCell::default(),
        }
    }

    pub(super) fn timeline(&self) -> &'a Timeline {
        self.timeline
    }

    pub(super) fn index(&self) -> &'a Index<'a> {
        self.index
    }

    /// What a playbook asks of a fact alone; `None` where it is not one of the network's.
    pub(super) fn alone(&self, playbook: usize, bind: &Bind) -> Option<&'a Alone<'a>> {
        self.network.conditions.get(self.network.of(playbook, bind))
    }

    /// Names of what is bound that a playbook's question speaks of.
    pub(super) fn names(&self, playbook: usize, bind: &Bind) -> &'a [Arc<str>] {
        let slot = self.network.slot(playbook, bind);
        slot.map_or(&[], |slot| &slot.names)
    }

    /// Of which entries that is so.
    pub(super) fn told(&self, playbook: usize, bind: &Bind) -> &Told {
        self.told_of(self.network.of(playbook, bind))
    }

    fn told_of(&self, number: usize) -> &Told {
        static NONE: Told = Told {
            yes: Vec::new(),
            possible: Vec::new(),
        };
        let (Some(condition), Some(told)) =
            (self.network.conditions.get(number), self.told.get(number))
        else {
            return &NONE;
        };
        told.get_or_init(|| self.ask(number, condition))
    }

    /// The entries that a condition may be true of, by the best way from what is bound to them;
    /// `None` where there is none to fewer than so many.
    pub(super) fn led_to(
        &self,
        playbook: usize,
        bind: &Bind,
        env: Env<'_>,
        most: usize,
    ) -> Option<Cow<'_, [usize]>> {
        let slot = self.network.slot(playbook, bind)?;
        let ways = slot.ways.iter();
        let lists = ways.filter_map(|way| self.lists(way, env));
        let best = lists
            .map(|lists| (lists.iter().map(|list| list.len()).sum::<usize>(), lists))
            .min_by_key(|(count, _)| *count);
        best.filter(|(count, _)| *count < most)
            .map(|(_, lists)| together(&lists))
    }

    fn lists(&self, way: &Way<'_>, env: Env<'_>) -> Option<Vec<&[usize]>> {
        let each = way.0.iter().map(|branch| match branch {
            Branch::Equal(number, to) => {
                let keyed = self.network.keyed.get(*number)?;
                let by = self.keyed.get(*number)?.get_or_init(|| {
                    let all = self.index.named(keyed.fact, Within::Session);
                    ByKey::new(keyed, self.timeline, all)
                });
                by.of(to, keyed.how, env)
            }
            Branch::Alone(number) => Some(self.told_of(*number).yes.as_slice()),
        });
        each.collect()
    }

    fn ask(&self, number: usize, condition: &Alone<'a>) -> Told {
        let mut told = Told::default();
        let mut take = |at: usize| match condition.truth(self.timeline, at) {
            Tri::Yes => {
                told.yes.push(at);
                told.possible.push(at);
            }
            Tri::Unknown => told.possible.push(at),
            Tri::No => {}
        };
        let hays = self.network.hays(condition.fact);
        let needs = hays.and_then(|hays| hays.needs.get(&number));
        if let Some((hay, words)) = needs
            && let Some(found) = self.found(condition.fact)
            && let Some(found) = found.get(*hay)
        {
            let mut candidates = found.unknown.clone();
            for word in words {
                candidates.extend(found.of_word.get(*word).into_iter().flatten());
            }
            candidates.sort_unstable();
            candidates.dedup();
            candidates.into_iter().for_each(&mut take);
        } else {
            let all = self.index.named(condition.fact, Within::Session);
            all.iter().copied().for_each(&mut take);
        }
        told
    }

    /// Where the searched texts of a fact type have which words.
    fn found(&self, fact: &'static str) -> Option<Rc<Vec<Found>>> {
        if let Some(found) = self.found.borrow().get(fact) {
            return Some(Rc::clone(found));
        }
        let hays = &self.network.hays(fact)?.hays;
        let found: Vec<Found> = hays
            .iter()
            .map(|hay| hay.search(self.timeline, self.index.named(fact, Within::Session)))
            .collect();
        let found = Rc::new(found);
        self.found.borrow_mut().insert(fact, Rc::clone(&found));
        Some(found)
    }
}

impl Hay {
    fn search(&self, timeline: &Timeline, entries: &[usize]) -> Found {
        let mut found = Found {
            of_word: vec![Vec::new(); self.count],
            unknown: Vec::new(),
        };
        for at in entries {
            let text = value(&self.text, alone(timeline, *at, false));
            match (&self.words, &text) {
                (Some(words), Val::Text(text)) => {
                    for hit in words.find_overlapping_iter(text.as_bytes()) {
                        if let Some(list) = found.of_word.get_mut(hit.pattern().as_usize())
                            && list.last() != Some(at)
                        {
                            list.push(*at);
                        }
                    }
                }
                _ => found.unknown.push(*at),
            }
        }
        found
    }
}
