//! Ways from what is bound to the facts that a condition may be true of.
//!
//! A condition that compares a field with something bound (`R.program == N.program`) is true of few
//! facts, and they can be looked up by that value instead of being asked one after the other. Where
//! it is one of several (`a && x == N.x || b`), those of each are put together. A way holds every
//! fact of which the condition is true and perhaps more: the condition itself is still asked.

use std::borrow::Cow;
use std::collections::HashMap;

use super::eval::{Env, Nothing, Val, value};
use super::expr::{Comparison, Node, TextTest, Var};
use crate::fact::cover::last_part;
use crate::timeline::Timeline;

/// A way: entries that one of these leads to.
#[derive(Debug)]
pub(super) struct Way<'p>(pub(super) Vec<Branch<'p>>);

/// What leads to entries.
#[derive(Debug)]
pub(super) enum Branch<'p> {
    /// A value of theirs, which is that of something bound: the number of the [`Keyed`] and the
    /// expression of what is bound.
    Equal(usize, &'p Node),
    /// What is so of them alone: the number of the condition.
    Alone(usize),
}

/// Facts of a type by a value that each has.
#[derive(Debug)]
pub(super) struct Keyed<'p> {
    pub(super) fact: &'static str,
    /// The value, of the fact alone.
    pub(super) of: &'p Node,
    pub(super) how: How,
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// They are equal.
    Whole,
    /// The last parts of two paths are.
    LastPart,
}

/// What is compared with what in a part of a condition: a value of the fact alone, and one that
/// does not speak of it.
pub(super) fn compared(part: &Node) -> Option<(&Node, &Node, How)> {
    let (of, to, how) = match part {
        Node::Compare(Comparison::Equal, a, b) => (a, b, How::Whole),
        Node::Test(TextTest::SamePath, a, b) => (a, b, How::LastPart),
        _ => return None,
    };
    let one = |of: &Node, to: &Node| of.is_alone() && speaks_of_it(of) && !speaks_of_it(to);
    if one(of, to) {
        Some((of, to, how))
    } else {
        one(to, of).then_some((to, of, how))
    }
}

/// It speaks of the fact that is being looked at.
fn speaks_of_it(node: &Node) -> bool {
    let mut speaks = false;
    node.walk(&mut |node| {
        speaks |= match node {
            Node::Field(var, _) | Node::Pseudo(var, _) | Node::Bound(var) => *var == Var::It,
            Node::SecondsBetween(a, b) | Node::FromAfter(a, b) => *a == Var::It || *b == Var::It,
            _ => false,
        };
    });
    speaks
}

/// The parts of which one must be true, where it is `a || b || …`.
pub(super) fn disjuncts<'p>(node: &'p Node, out: &mut Vec<&'p Node>) {
    match node {
        Node::Or(a, b) => {
            disjuncts(a, out);
            disjuncts(b, out);
        }
        other => out.push(other),
    }
}

/// A value to look up by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Text(String),
    /// A number, as the bits of the nearest double: equal numbers have equal keys.
    Number(u64),
    Bool(bool),
}

impl Key {
    /// The key of a value; `None` where it has none that could be looked up.
    fn of(value: &Val<'_>, how: How) -> Option<Self> {
        Some(match (value, how) {
            (Val::Text(text), How::LastPart) => Self::Text(last_part(text).to_owned()),
            (Val::Text(text), How::Whole) => Self::Text(text.clone().into_owned()),
            (Val::Bool(value), How::Whole) => Self::Bool(*value),
            // Zero has two signs.
            (number, How::Whole) => Self::Number((number.number()? + 0.0).to_bits()),
            _ => return None,
        })
    }
}

/// Entries by their keys.
#[derive(Debug, Default)]
pub(super) struct ByKey {
    by: HashMap<Key, Vec<usize>>,
    /// Some have a value that cannot be looked up.
    other: bool,
}

impl ByKey {
    pub(super) fn new(keyed: &Keyed<'_>, timeline: &Timeline, entries: &[usize]) -> Self {
        let mut out = Self::default();
        for at in entries {
            let value = value(keyed.of, alone(timeline, *at));
            if value == Val::Unknown {
                continue;
            }
            match Key::of(&value, keyed.how) {
                Some(key) => out.by.entry(key).or_default().push(*at),
                None => out.other = true,
            }
        }
        out
    }

    /// The entries whose value is that of an expression, in order; `None` where they cannot be told.
    pub(super) fn of(&self, to: &Node, how: How, env: Env<'_>) -> Option<&[usize]> {
        if self.other {
            return None;
        }
        let value = value(to, env);
        if value == Val::Unknown {
            return Some(&[]);
        }
        let key = Key::of(&value, how)?;
        Some(self.by.get(&key).map_or(&[], Vec::as_slice))
    }
}

fn alone(timeline: &Timeline, at: usize) -> Env<'_> {
    Env {
        timeline,
        it: Some(at),
        bound: &Nothing,
        strict: false,
    }
}

/// Lists of entries in order, put together in order.
pub(super) fn together<'a>(lists: &[&'a [usize]]) -> Cow<'a, [usize]> {
    match lists {
        [] => Cow::Borrowed(&[]),
        [one] => Cow::Borrowed(one),
        several => {
            let mut all = several.concat();
            all.sort_unstable();
            all.dedup();
            Cow::Owned(all)
        }
    }
}
