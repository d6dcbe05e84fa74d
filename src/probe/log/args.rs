//! Options of the tools that show logs.

use crate::shell::Invocation;

/// Options and operands of an invocation.
#[derive(Debug, Default)]
pub(super) struct Args<'a> {
    /// Names without dashes, with their values.
    options: Vec<(&'a str, Option<&'a str>)>,
    /// What is no option.
    pub(super) operands: Vec<&'a str>,
}

impl<'a> Args<'a> {
    /// Reads the words after the program, `skip` of them left out (a verb). `valued` names the options
    /// that take a value, parted by blanks: single letters are short ones.
    pub(super) fn of(invocation: &'a Invocation, skip: usize, valued: &str) -> Self {
        let takes = |name: &str| valued.split(' ').any(|one| one == name);
        let mut args = Self::default();
        let mut words = invocation
            .args()
            .iter()
            .skip(skip)
            .map(|word| word.text.as_str());
        let mut plain = false;
        while let Some(word) = words.next() {
            if plain || !word.starts_with('-') || word == "-" {
                args.operands.push(word);
            } else if word == "--" {
                plain = true;
            } else if let Some(long) = word.strip_prefix("--") {
                match long.split_once('=') {
                    Some((name, value)) => args.options.push((name, Some(value))),
                    None => {
                        let value = if takes(long) { words.next() } else { None };
                        args.options.push((long, value));
                    }
                }
            } else {
                args.cluster(word.strip_prefix('-').unwrap_or(word), &takes, &mut words);
            }
        }
        args
    }

    /// `-rn`, `-n5`, `-n 5`, `-5`.
    fn cluster(
        &mut self,
        cluster: &'a str,
        takes: &dyn Fn(&str) -> bool,
        words: &mut dyn Iterator<Item = &'a str>,
    ) {
        if cluster.starts_with(|ch: char| ch.is_ascii_digit()) {
            self.options.push(("", Some(cluster)));
            return;
        }
        for (at, letter) in cluster.char_indices() {
            let end = at + letter.len_utf8();
            let (Some(name), Some(rest)) = (cluster.get(at..end), cluster.get(end..)) else {
                return;
            };
            if takes(name) {
                let value = if rest.is_empty() {
                    words.next()
                } else {
                    Some(rest)
                };
                self.options.push((name, value));
                return;
            }
            self.options.push((name, None));
        }
    }

    /// One of these options was given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(name))
    }

    /// The last value of one of these options.
    pub(super) fn value(&self, names: &[&str]) -> Option<&'a str> {
        self.values(names).last()
    }

    /// All values of these options.
    pub(super) fn values(&self, names: &[&str]) -> impl Iterator<Item = &'a str> {
        self.options
            .iter()
            .filter(move |(name, _)| names.contains(name))
            .filter_map(|(_, value)| *value)
    }
}
