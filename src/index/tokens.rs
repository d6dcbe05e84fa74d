//! How text is cut into words for the search index, and queries with it.
//!
//! A word is a run of letters, digits and underscores, in lower case: `/root/x.log` is three words
//! that stand side by side, so that a phrase finds it. A flag (`--tp`, `--tp=8`) is kept whole
//! beside them.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// The name the index knows the words' tokenizer by.
pub(super) const WORDS: &str = "words";
/// Longer runs are hashes and encoded data that nobody types.
const WORD_MAX: usize = 80;

/// Cuts text into words.
#[derive(Clone, Default)]
pub(super) struct Words {
    token: Token,
}

pub(super) struct WordStream<'a> {
    rest: Cut<'a>,
    token: &'a mut Token,
}

/// Words of a text with where they stand, in bytes.
pub(super) struct Cut<'a> {
    text: &'a str,
    at: usize,
}

/// Cuts a text into words, as written.
pub(super) fn cut(text: &str) -> Cut<'_> {
    Cut { text, at: 0 }
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl<'a> Iterator for Cut<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.text.get(self.at..)?;
        let begin = self.at + rest.find(in_word)?;
        let word = self.text.get(begin..)?;
        let len = word.find(|c| !in_word(c)).unwrap_or(word.len());
        self.at = begin + len;
        Some((begin, word.get(..len)?))
    }
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        WordStream {
            rest: cut(text),
            token: &mut self.token,
        }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        for (begin, word) in self.rest.by_ref() {
            // A word that is left out still takes its place, so that no phrase spans it.
            self.token.position = self.token.position.wrapping_add(1);
            if word.len() > WORD_MAX {
                continue;
            }
            self.token.offset_from = begin;
            self.token.offset_to = begin + word.len();
            self.token.text.clear();
            lower(word, &mut self.token.text);
            return true;
        }
        false
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

fn lower(word: &str, into: &mut String) {
    if word.is_ascii() {
        into.push_str(word);
        into.make_ascii_lowercase();
    } else {
        into.extend(word.chars().flat_map(char::to_lowercase));
    }
}

/// The words of a text, in lower case.
pub(super) fn words(text: &str) -> Vec<String> {
    cut(text)
        .map(|(_, word)| {
            let mut lowered = String::with_capacity(word.len());
            lower(word, &mut lowered);
            lowered
        })
        .collect()
}

/// The flags of a text: words that begin with a dash, whole and up to an equals sign.
pub(super) fn flags(text: &str) -> Vec<String> {
    let mut flags = Vec::new();
    let ends = |c: char| c.is_whitespace() || "'\"`;|&()<>{}[],".contains(c);
    for word in text.split(ends) {
        if !is_flag(word) || word.len() > WORD_MAX {
            continue;
        }
        let word = word.to_lowercase();
        if let Some((name, _)) = word.split_once('=') {
            flags.push(name.to_owned());
        }
        flags.push(word);
    }
    flags.sort();
    flags.dedup();
    flags
}

/// Whether a word is a flag: dashes, then a letter or digit.
pub(super) fn is_flag(word: &str) -> bool {
    word.starts_with('-')
        && word
            .trim_start_matches('-')
            .starts_with(|c: char| c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::{flags, words};

    #[test]
    fn paths_numbers_and_names_are_cut_where_people_expect() {
        assert_eq!(words("/root/X.log"), ["root", "x", "log"]);
        assert_eq!(
            words("Error: 802 ibv_modify_qp"),
            ["error", "802", "ibv_modify_qp"]
        );
        assert_eq!(words("…é—Ü"), ["é", "ü"]);
        assert!(words(" -- ").is_empty());
    }

    #[test]
    fn flags_are_kept_whole() {
        assert_eq!(
            flags("ssh h 'serve --tp=8 -m x --port 80' -- -"),
            ["--port", "--tp", "--tp=8", "-m"]
        );
    }
}
