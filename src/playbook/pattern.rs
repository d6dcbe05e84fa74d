//! Patterns of conditions: parsed when a playbook is loaded, built when they are first asked, and
//! the texts without one of which they cannot match.

use std::fmt;
use std::sync::{Arc, OnceLock};

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind};

/// The most memory that a pattern may take, in bytes.
const MOST_BYTES: usize = 1 << 20;
/// Literals shorter than this stand in too many texts to be looked for.
const SHORT: usize = 2;
/// More alternatives than this are not looked for one by one.
const MANY: usize = 128;

/// A regular expression.
#[derive(Clone)]
pub(super) struct Pattern(Arc<Inner>);

struct Inner {
    text: String,
    built: OnceLock<Result<Regex, String>>,
    needs: OnceLock<Option<Vec<String>>>,
}

impl fmt::Debug for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Pattern({:?})", self.0.text)
    }
}

impl Pattern {
    /// A pattern, parsed but not built. It takes a tenth of the time, and most patterns of most
    /// playbooks are never asked.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        regex_syntax::parse(text).map_err(|error| last_line(&error.to_string()))?;
        Ok(Self(Arc::new(Inner {
            text: text.to_owned(),
            built: OnceLock::new(),
            needs: OnceLock::new(),
        })))
    }

    /// Builds it.
    ///
    /// # Errors
    /// It would take too much memory.
    pub(super) fn build(&self) -> Result<&Regex, String> {
        let build = || {
            let built = RegexBuilder::new(&self.0.text)
                .size_limit(MOST_BYTES)
                .build();
            built.map_err(|error| last_line(&error.to_string()))
        };
        self.0
            .built
            .get_or_init(build)
            .as_ref()
            .map_err(Clone::clone)
    }

    /// Whether a text has it; a pattern that cannot be built is in none.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.build().is_ok_and(|regex| regex.is_match(text))
    }

    /// The first group that took part in the first match.
    pub(super) fn capture(&self, text: &str) -> Option<String> {
        let groups = self.build().ok()?.captures(text)?;
        let first = groups.iter().skip(1).flatten().next()?;
        Some(first.as_str().to_owned())
    }

    /// How many groups it has.
    pub(super) fn groups(&self) -> usize {
        let hir = regex_syntax::parse(&self.0.text);
        hir.map_or(0, |hir| hir.properties().explicit_captures_len())
    }

    /// Texts of which at least one stands in everything it matches; `None` where there are none, or
    /// too many, or too short ones.
    pub(super) fn needs(&self) -> Option<&[String]> {
        let find = || {
            let hir = regex_syntax::parse(&self.0.text).ok()?;
            let found = literals(&hir)?;
            worth(&found).map(|_| found)
        };
        self.0.needs.get_or_init(find).as_deref()
    }
}

fn last_line(message: &str) -> String {
    let last = message.lines().last().unwrap_or("bad pattern");
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

/// How well a set of literals tells: its shortest counts. `None`: not worth looking for.
fn worth(literals: &[String]) -> Option<usize> {
    let shortest = literals.iter().map(String::len).min()?;
    (shortest >= SHORT && literals.len() <= MANY).then_some(shortest)
}

/// Texts of which at least one stands in everything that an expression matches.
fn literals(hir: &Hir) -> Option<Vec<String>> {
    match hir.kind() {
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            Some(vec![text.to_owned()])
        }
        HirKind::Capture(inner) => literals(&inner.sub),
        HirKind::Repetition(inner) if inner.min > 0 => literals(&inner.sub),
        HirKind::Concat(parts) => parts
            .iter()
            .filter_map(literals)
            .filter(|found| worth(found).is_some())
            .max_by_key(|found| worth(found)),
        HirKind::Alternation(parts) => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(literals(part)?);
            }
            all.sort_unstable();
            all.dedup();
            Some(all)
        }
        HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) | HirKind::Repetition(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(text: &str) -> Option<Vec<String>> {
        Pattern::new(text).unwrap().needs().map(<[String]>::to_vec)
    }

    fn texts(list: &[&str]) -> Option<Vec<String>> {
        Some(list.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn what_every_match_holds_is_found() {
        assert_eq!(needs("out of memory"), texts(&["out of memory"]));
        assert_eq!(needs("^(grep|ack)$"), texts(&["ack", "grep"]));
        assert_eq!(
            needs("[1-9][0-9]* (failed|build failed)"),
            texts(&["build failed", "failed"])
        );
        assert_eq!(needs("xid.*: 79[^0-9]"), texts(&[": 79"]));
        assert_eq!(needs("(no space left)?[0-9]+"), None);
        assert_eq!(needs("a|out of memory"), None, "too short to look for");
        assert_eq!(needs("(?i)error"), None);
    }

    #[test]
    fn a_pattern_that_is_wrong_or_too_big_says_so() {
        assert!(Pattern::new("(").is_err());
        let big = Pattern::new("(a{1000}){1000}").unwrap();
        assert!(big.build().is_err());
        assert!(!big.is_in(&"a".repeat(100)));
    }

    #[test]
    fn groups_are_counted_and_captured() {
        let pattern = Pattern::new("port=([0-9]+)|:([0-9]+)").unwrap();
        assert_eq!(pattern.groups(), 2);
        assert_eq!(pattern.capture("at :80").as_deref(), Some("80"));
        assert_eq!(pattern.capture("at"), None);
    }
}
