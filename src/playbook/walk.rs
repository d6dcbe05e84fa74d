//! A walk over the entries that may meet a condition, from either end.

use std::borrow::Cow;

use super::Bind;
use super::eval::Env;
use super::network::{Alone, Memory, Told};
use crate::timeline::Timeline;

/// Which entries are walked over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// What is asked of an entry of the list that is walked.
enum Ask<'a> {
    /// Nothing.
    Nothing,
    /// To be one of these.
    Among(&'a [usize]),
    /// To deny it.
    Denial(&'a Alone<'a>),
}

/// A walk over entries, from either end.
pub(super) struct Walk<'a> {
    timeline: &'a Timeline,
    list: Cow<'a, [usize]>,
    ask: Ask<'a>,
    from: usize,
    to: usize,
}

impl<'a> Walk<'a> {
    /// A walk over entries of a list, between two of them. The list holds what is joined to what was
    /// bound before, and perhaps more; a walk may go over entries that it does not hold. So the caller
    /// compares what joins them.
    pub(super) fn new(
        memory: &'a Memory<'a>,
        (playbook, bind): (usize, &Bind),
        list: &'a [usize],
        of: Of,
        (from, to): (usize, usize),
        env: Env<'_>,
    ) -> Self {
        let plain = |ask| Self {
            timeline: memory.timeline(),
            list: Cow::Borrowed(list),
            ask,
            from,
            to,
        };
        let Some(alone) = memory.alone(playbook, bind) else {
            return plain(Ask::Nothing);
        };
        let told: Option<fn(&Told) -> &[usize]> = match of {
            Of::Denied if alone.is_whole() && !alone.is_empty() => {
                return plain(Ask::Denial(alone));
            }
            Of::All | Of::Denied => return plain(Ask::Nothing),
            Of::True | Of::Possible if alone.is_empty() => None,
            Of::True => Some(|told| &told.yes),
            Of::Possible => Some(|told| &told.possible),
        };
        let told = told.map(|of| of(memory.told(playbook, bind)));
        let fewest = told.map_or(list.len(), |told| told.len().min(list.len()));
        // What is unknown leads nowhere, so a way holds all that is true and not all that may be.
        if of == Of::True
            && let Some(led) = memory.led_to(playbook, bind, env, fewest)
        {
            return Self {
                list: led,
                ..plain(told.map_or(Ask::Nothing, Ask::Among))
            };
        }
        match told {
            Some(told) if told.len() <= list.len() => Self {
                list: Cow::Borrowed(told),
                ..plain(Ask::Nothing)
            },
            Some(told) => plain(Ask::Among(told)),
            None => plain(Ask::Nothing),
        }
    }

    fn so(&self, at: usize) -> bool {
        match self.ask {
            Ask::Nothing => true,
            Ask::Among(told) => told.binary_search(&at).is_ok(),
            Ask::Denial(alone) => alone.is_denied(self.timeline, at),
        }
    }

    /// The next entry, oldest first.
    pub(super) fn forward(&mut self) -> Option<usize> {
        let place = self.list.partition_point(|one| *one < self.from);
        let rest = self.list.get(place..)?.iter().copied();
        let found = rest.take_while(|at| *at < self.to).find(|at| self.so(*at));
        self.from = found.map_or(self.to, |at| at + 1);
        found
    }

    /// The next entry, newest first.
    pub(super) fn backward(&mut self) -> Option<usize> {
        let place = self.list.partition_point(|one| *one < self.to);
        let rest = self.list.get(..place)?.iter().rev().copied();
        let found = rest
            .take_while(|at| *at >= self.from)
            .find(|at| self.so(*at));
        self.to = found.unwrap_or(self.from);
        found
    }
}
