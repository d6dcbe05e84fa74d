//! What is remembered while a playbook is matched: of which entries its conditions are true, asked
//! at most once each, and only as far as a search came.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::Bind;
use super::eval::{Env, truth};
use super::expr::Node;
use crate::shell::Tri;
use crate::timeline::Timeline;

/// Which entries are walked over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Of {
    /// All of the list.
    All,
    /// Those that the condition may be true of: what it says of them alone is true.
    True,
    /// Those that it is not known to be false of.
    Possible,
    /// Those that say that it is not so.
    Denied,
}

/// What is known of a list of entries: the condition was asked from both ends inwards.
struct Told<'a> {
    list: &'a [usize],
    /// Entries before this place of the list were asked; those it is so of are in `early`.
    front: usize,
    early: Vec<usize>,
    /// Entries from this place on were asked; those it is so of are in `late`, the last first.
    back: usize,
    late: Vec<usize>,
}

impl Told<'_> {
    /// The first entry from `at` on.
    fn next(&mut self, at: usize, so: &dyn Fn(usize) -> bool) -> Option<usize> {
        let known = self.early.partition_point(|one| *one < at);
        if let Some(found) = self.early.get(known) {
            return Some(*found);
        }
        while self.front < self.back {
            let one = *self.list.get(self.front)?;
            self.front += 1;
            if so(one) {
                self.early.push(one);
                if one >= at {
                    return Some(one);
                }
            }
        }
        let after = self.late.partition_point(|one| *one >= at);
        self.late.get(after.checked_sub(1)?).copied()
    }

    /// The last entry before `at`.
    fn last(&mut self, at: usize, so: &dyn Fn(usize) -> bool) -> Option<usize> {
        let known = self.late.partition_point(|one| *one >= at);
        if let Some(found) = self.late.get(known) {
            return Some(*found);
        }
        while self.front < self.back {
            self.back -= 1;
            let one = *self.list.get(self.back)?;
            if so(one) {
                self.late.push(one);
                if one < at {
                    return Some(one);
                }
            }
        }
        let before = self.early.partition_point(|one| *one < at);
        self.early.get(before.checked_sub(1)?).copied()
    }
}

/// The parts of a condition that speak of the entry alone.
struct Alone<'p> {
    parts: Vec<&'p Node>,
    /// They are the whole of it.
    whole: bool,
}

type Lists<'a> = HashMap<(usize, usize, Of), Rc<RefCell<Told<'a>>>>;

/// What is known of the conditions of one playbook.
#[derive(Default)]
pub(super) struct Memo<'a> {
    lists: RefCell<Lists<'a>>,
    alone: RefCell<HashMap<usize, Rc<Alone<'a>>>>,
}

impl<'a> Memo<'a> {
    fn alone(&self, bind: &'a Bind) -> Rc<Alone<'a>> {
        let key = std::ptr::from_ref(bind).addr();
        let mut known = self.alone.borrow_mut();
        let alone = known.entry(key).or_insert_with(|| {
            let mut parts = Vec::new();
            if let Some(filter) = &bind.filter {
                filter.node.conjuncts(&mut parts);
            }
            let all = parts.len();
            parts.retain(|part| part.is_alone());
            let whole = parts.len() == all;
            Rc::new(Alone { parts, whole })
        });
        Rc::clone(alone)
    }

    /// Whether the condition speaks of the entry alone: then [`Of::True`] is all that it says.
    pub(super) fn is_alone(&self, bind: &'a Bind) -> bool {
        self.alone(bind).whole
    }

    /// A walk over entries of a list, between two of them.
    pub(super) fn walk(
        &self,
        timeline: &'a Timeline,
        bind: &'a Bind,
        list: &'a [usize],
        of: Of,
        (from, to): (usize, usize),
    ) -> Walk<'a> {
        let alone = self.alone(bind);
        let plain = match of {
            Of::All => true,
            Of::True | Of::Possible => alone.parts.is_empty(),
            Of::Denied => !alone.whole || alone.parts.is_empty(),
        };
        let told = (!plain).then(|| {
            let key = (std::ptr::from_ref(bind).addr(), list.as_ptr().addr(), of);
            let mut lists = self.lists.borrow_mut();
            let told = lists.entry(key).or_insert_with(|| {
                Rc::new(RefCell::new(Told {
                    list,
                    front: 0,
                    early: Vec::new(),
                    back: list.len(),
                    late: Vec::new(),
                }))
            });
            Rc::clone(told)
        });
        Walk {
            timeline,
            list,
            of,
            alone,
            told,
            from,
            to,
        }
    }
}

/// A walk over entries, from either end.
pub(super) struct Walk<'a> {
    timeline: &'a Timeline,
    list: &'a [usize],
    of: Of,
    alone: Rc<Alone<'a>>,
    told: Option<Rc<RefCell<Told<'a>>>>,
    from: usize,
    to: usize,
}

impl Walk<'_> {
    fn so(&self, at: usize) -> bool {
        let none: Vec<(Arc<str>, usize)> = Vec::new();
        let env = Env {
            timeline: self.timeline,
            it: Some(at),
            bound: &none,
            strict: self.of == Of::Denied,
        };
        let mut parts = self.alone.parts.iter().map(|part| truth(part, env));
        match self.of {
            Of::All => true,
            Of::True => parts.all(|part| part == Tri::Yes),
            Of::Possible => parts.all(|part| part != Tri::No),
            Of::Denied => parts.any(|part| part == Tri::No),
        }
    }

    /// The next entry, oldest first.
    pub(super) fn forward(&mut self) -> Option<usize> {
        let at = match &self.told {
            Some(told) => told.borrow_mut().next(self.from, &|at| self.so(at)),
            None => {
                let place = self.list.partition_point(|one| *one < self.from);
                self.list.get(place).copied()
            }
        };
        let at = at.filter(|at| *at < self.to)?;
        self.from = at + 1;
        Some(at)
    }

    /// The next entry, newest first.
    pub(super) fn backward(&mut self) -> Option<usize> {
        let at = match &self.told {
            Some(told) => told.borrow_mut().last(self.to, &|at| self.so(at)),
            None => {
                let place = self.list.partition_point(|one| *one < self.to);
                self.list.get(place.checked_sub(1)?).copied()
            }
        };
        let at = at.filter(|at| *at >= self.from)?;
        self.to = at;
        Some(at)
    }
}
