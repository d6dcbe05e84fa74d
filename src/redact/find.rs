//! The places of a text where a secret may begin: all words that say so, found at once.
//!
//! Every word has three bytes or more. Five bits of each of three bytes (which is what letters have in
//! common, large or small) make an index into a table that says which words may begin there; most text
//! has none, and costs one look a byte.

use std::sync::OnceLock;

use super::argv;
use super::rules::{RULES, Rule};

/// Parts of names.
const NAME_WORDS: &[&str] = &[
    "token",
    "secret",
    "pass",
    "pwd",
    "key",
    "credential",
    "creds",
    "auth",
    "cookie",
    "bearer",
    "sessionid",
    "_pw",
];

/// What a word found says.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// A token begins with it.
    Token(&'static Rule),
    /// It is part of a name that may be one of a secret.
    Name,
    /// An address follows.
    Url,
    /// A program that takes secrets as words.
    Tool,
}

/// A word found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    /// Where it begins.
    pub from: usize,
    /// And ends.
    pub to: usize,
    /// What it says.
    pub what: What,
}

const SLOTS: usize = 1 << 15;

struct Table {
    /// For three bytes, which list of words may begin there; 0 for none.
    slots: Box<[u8; SLOTS]>,
    lists: Vec<Vec<(&'static [u8], What)>>,
}

impl Table {
    /// Gives those words of a list that stand at a place.
    fn matches(&self, entry: u8, text: &[u8], from: usize, take: &mut impl FnMut(Hit)) {
        let rest = text.get(from..).unwrap_or_default();
        for (word, what) in self.lists.get(usize::from(entry)).into_iter().flatten() {
            let Some(seen) = rest.get(..word.len()) else {
                continue;
            };
            let is = match what {
                What::Token(_) => seen == *word,
                _ => seen.eq_ignore_ascii_case(word),
            };
            if is {
                let to = from + word.len();
                take(Hit {
                    from,
                    to,
                    what: *what,
                });
            }
        }
    }
}

fn slot(three: &[u8]) -> usize {
    let [a, b, c] = three else { return 0 };
    usize::from(a & 31) | usize::from(b & 31) << 5 | usize::from(c & 31) << 10
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let names = NAME_WORDS.iter().map(|word| (*word, What::Name));
        let tools = argv::SEEN_IN_TEXT.iter().map(|word| (*word, What::Tool));
        let tokens = RULES.iter().map(|rule| (rule.begins, What::Token(rule)));
        let mut table = Table {
            slots: Box::new([0; SLOTS]),
            lists: vec![Vec::new()],
        };
        for (word, what) in names.chain([("://", What::Url)]).chain(tools).chain(tokens) {
            let word = word.as_bytes();
            let at = slot(word.get(..3).unwrap_or_default());
            let Some(entry) = table.slots.get_mut(at) else {
                continue;
            };
            if *entry == 0 {
                // A test counts the lists.
                *entry = u8::try_from(table.lists.len()).unwrap_or(0);
                table.lists.push(Vec::new());
            }
            if let Some(list) = table.lists.get_mut(usize::from(*entry)) {
                list.push((word, what));
            }
        }
        table
    })
}

/// Gives every word found, in order of where it begins.
pub(super) fn each(text: &[u8], mut take: impl FnMut(Hit)) {
    let table = table();
    let mut at = Place::default();
    while let Some(entry) = skip(&table.slots, text, &mut at) {
        if at.end >= 3 {
            table.matches(entry, text, at.end - 3, &mut take);
        }
    }
}

/// How far a text was looked through: its bytes, and the index that the last three make.
#[derive(Default)]
struct Place {
    end: usize,
    index: usize,
}

/// Goes on to the next three bytes that have a list. Sees every byte: written plainly, so that it keeps
/// up without optimisation too, and apart, so that nothing else wants its registers.
#[inline(never)]
fn skip(slots: &[u8; SLOTS], text: &[u8], at: &mut Place) -> Option<u8> {
    let (mut index, mut end) = (at.index, at.end);
    let mut entry = 0;
    while end < text.len() && entry == 0 {
        index = index >> 5 | ((text[end] & 31) as usize) << 10;
        end += 1;
        entry = slots[index];
    }
    *at = Place { end, index };
    (entry != 0).then_some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_its_list() {
        let table = table();
        assert!(table.lists.len() <= usize::from(u8::MAX));
        let words = NAME_WORDS.iter().chain(argv::SEEN_IN_TEXT).copied();
        for word in words.chain(RULES.iter().map(|rule| rule.begins)) {
            let mut found = 0;
            each(word.as_bytes(), |hit| {
                found += usize::from(hit.from == 0 && hit.to == word.len());
            });
            assert!(found > 0, "{word}");
        }
    }
}
