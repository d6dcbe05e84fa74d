//! What the conditions of many playbooks have in common, worked out once for all of them.
//!
//! A condition over a fact falls into the part that speaks of the fact alone and the part that
//! compares it with what was bound before. The first part is the same question whoever asks it: each
//! distinct one is an [`Alone`] here, asked at most once of each fact of its type. Most of them look
//! for words in a text, and most texts hold none of these: the words of all conditions are looked
//! for in one pass ([`Hay`]), and only the facts with a word of a condition are asked that condition.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, MatchKind};

use super::eval::{Env, Nothing, Val, truth, value};
use super::expr::{Node, TextMap, TextTest, Var};
use super::index::{Index, Within};
use super::{Bind, Playbook};
use crate::shell::Tri;
use crate::timeline::Timeline;

/// The conditions of some playbooks, put together. It depends on them alone, so that one serves any
/// number of timelines.
pub(super) struct Network<'p> {
    pub(super) playbooks: &'p [Playbook],
    conditions: Vec<Alone<'p>>,
    /// Of each playbook, the condition of each of its facts.
    slots: Vec<Vec<usize>>,
    /// Of each fact type, what its texts are searched for.
    hays: HashMap<&'static str, OnceLock<Hays>>,
    /// Of each fact type, its conditions.
    of_type: HashMap<&'static str, Vec<usize>>,
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
        let mut network = Self {
            playbooks,
            conditions: Vec::new(),
            slots: Vec::with_capacity(playbooks.len()),
            hays: HashMap::new(),
            of_type: HashMap::new(),
        };
        let mut known: HashMap<(&'static str, Arc<str>), usize> = HashMap::new();
        for playbook in playbooks {
            let mut slots = Vec::new();
            playbook.each_bind(&mut |bind| {
                let mut parts = Vec::new();
                if let Some(filter) = &bind.filter {
                    filter.node.conjuncts(&mut parts);
                }
                let all = parts.len();
                parts.retain(|part| part.is_alone());
                let whole = parts.len() == all;
                let key = bind.filter.as_ref().map_or_else(Arc::default, |filter| {
                    let text = || Arc::from(format!("{whole}{parts:?}"));
                    Arc::clone(filter.alone.get_or_init(text))
                });
                let key = (bind.fact.name, key);
                let next = network.conditions.len();
                let number = *known.entry(key).or_insert(next);
                if number == next {
                    network.conditions.push(Alone {
                        fact: bind.fact.name,
                        parts,
                        whole,
                    });
                    network
                        .of_type
                        .entry(bind.fact.name)
                        .or_default()
                        .push(number);
                    network.hays.entry(bind.fact.name).or_default();
                }
                if slots.len() <= bind.slot {
                    slots.resize(bind.slot + 1, usize::MAX);
                }
                if let Some(slot) = slots.get_mut(bind.slot) {
                    *slot = number;
                }
            });
            network.slots.push(slots);
        }
        network
    }

    /// The condition of a fact that a playbook asks for.
    fn of(&self, playbook: usize, bind: &Bind) -> usize {
        let slots = self.slots.get(playbook).map_or(&[][..], Vec::as_slice);
        slots.get(bind.slot).copied().unwrap_or(usize::MAX)
    }

    fn hays(&self, fact: &'static str) -> Option<&Hays> {
        let conditions = self.of_type.get(fact)?;
        let make = || Hays::new(conditions, &self.conditions);
        Some(self.hays.get(fact)?.get_or_init(make))
    }
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

    /// Of which entries that is so.
    pub(super) fn told(&self, playbook: usize, bind: &Bind) -> &Told {
        static NONE: Told = Told {
            yes: Vec::new(),
            possible: Vec::new(),
        };
        let number = self.network.of(playbook, bind);
        let (Some(condition), Some(told)) =
            (self.network.conditions.get(number), self.told.get(number))
        else {
            return &NONE;
        };
        told.get_or_init(|| self.ask(number, condition))
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
