//! What people type into a search: words, "phrases", and filters such as `host:gpu01`.
//!
//! Every part must hold. A word with marks in it (`/root/x.log`) is a phrase; a flag (`--tp`) is
//! looked for as a flag first. Anything that is no known filter is text; a known filter with a value
//! that cannot be is refused, as its silence would be taken for an answer.

use std::ops::Bound;

use tantivy::Term;
use tantivy::query::{
    AllQuery, BooleanQuery, EmptyQuery, InvertedIndexRangeQuery, Occur, PhraseQuery, Query,
    RangeQuery, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};

use super::Fields;
use super::tokens::{flags, is_flag, words};
use crate::time::Micros;

/// Why a query is refused: what is wrong, and what to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadQuery {
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub hint: String,
}

/// A search, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Asked {
    pub(super) texts: Vec<Text>,
    filters: Vec<Filter>,
}

/// Words that stand side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) words: Vec<String>,
    /// The last word is only begun (`sglan*`).
    begun: bool,
    flag: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Filter {
    key: Key,
    values: Vec<String>,
    not: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Host,
    Exit,
    Program,
    Kind,
    Session,
    Since,
    Until,
}

const KEYS: [(&str, Key); 7] = [
    ("host", Key::Host),
    ("exit", Key::Exit),
    ("program", Key::Program),
    ("kind", Key::Kind),
    ("session", Key::Session),
    ("since", Key::Since),
    ("until", Key::Until),
];

/// Takes a search apart. `now`: what `since:2h` counts from.
pub(super) fn parse(query: &str, now: Micros) -> Result<Asked, BadQuery> {
    let mut asked = Asked::default();
    let mut marks: Vec<String> = Vec::new();
    for word in split(query)? {
        if let Some(filter) = filter(&word)? {
            for value in &filter.values {
                filter.key.check(value, now)?;
            }
            asked.filters.push(filter);
            continue;
        }
        let text = word.text();
        let parts = words(text);
        if parts.is_empty() {
            // `error *` means what `error` does; marks alone are answered below.
            marks.push(text.to_owned());
            continue;
        }
        let flag = (!word.quoted && is_flag(text)).then(|| text.to_lowercase());
        asked.texts.push(Text {
            begun: !word.quoted && text.ends_with('*'),
            words: parts,
            flag,
        });
    }
    if asked.texts.is_empty() && asked.filters.is_empty() && !marks.is_empty() {
        return Err(BadQuery {
            problem: format!("`{}` holds no word to look for", marks.join(" ")),
            hint: "write words, letters or digits; marks alone are not searched".to_owned(),
        });
    }
    Ok(asked)
}

/// A piece of a query: `plain`, `"quoted"` or `key:"quoted"`.
struct Piece {
    text: String,
    quoted: bool,
    /// Where the quoted part begins.
    quote_at: usize,
}

impl Piece {
    fn text(&self) -> &str {
        &self.text
    }
}

fn split(query: &str) -> Result<Vec<Piece>, BadQuery> {
    let mut pieces = Vec::new();
    let mut current: Option<Piece> = None;
    let mut inside = false;
    for c in query.chars() {
        match c {
            '"' => {
                let piece = current.get_or_insert_with(|| Piece {
                    text: String::new(),
                    quoted: false,
                    quote_at: 0,
                });
                if !inside && !piece.quoted {
                    piece.quoted = true;
                    piece.quote_at = piece.text.len();
                }
                inside = !inside;
            }
            c if c.is_whitespace() && !inside => pieces.extend(current.take()),
            c => current
                .get_or_insert_with(|| Piece {
                    text: String::new(),
                    quoted: false,
                    quote_at: 0,
                })
                .text
                .push(c),
        }
    }
    // A quote somewhere inside a pasted word opens nothing.
    let opened = |piece: &Piece| {
        let before = piece.text.get(..piece.quote_at).unwrap_or("");
        before.is_empty() || before.ends_with(':')
    };
    if inside && current.as_ref().is_some_and(opened) {
        return Err(BadQuery {
            problem: "a quote is not closed".to_owned(),
            hint: r#"write a phrase as "out of memory", with a quote at both ends"#.to_owned(),
        });
    }
    pieces.extend(current);
    Ok(pieces)
}

fn filter(piece: &Piece) -> Result<Option<Filter>, BadQuery> {
    let Some((key, value)) = piece.text.split_once(':') else {
        return Ok(None);
    };
    // `"host:x"` in quotes is text.
    if piece.quoted && piece.quote_at <= key.len() {
        return Ok(None);
    }
    let (key, not) = match key.strip_prefix('-') {
        Some(rest) => (rest, true),
        None => (key, false),
    };
    let key = key.to_ascii_lowercase();
    let Some((name, key)) = KEYS.iter().find(|(name, _)| *name == key) else {
        return Ok(None);
    };
    let values: Vec<String> = value
        .split(',')
        .map(|value| value.trim().to_lowercase())
        .filter(|value| !value.is_empty())
        .collect();
    if values.is_empty() {
        return Err(BadQuery {
            problem: format!("`{name}:` has no value"),
            hint: format!("write it without a blank, `{name}:VALUE`; as text, in quotes"),
        });
    }
    Ok(Some(Filter {
        key: *key,
        values,
        not,
    }))
}

impl Filter {
    /// As it would be typed.
    fn shown(&self) -> String {
        let name = KEYS
            .iter()
            .find(|(_, key)| *key == self.key)
            .map_or("", |(name, _)| name);
        format!("{name}:{}", self.values.join(","))
    }

    fn build(&self, fields: &Fields, now: Micros) -> BooleanQuery {
        let any = self.values.iter();
        BooleanQuery::new(
            any.map(|value| (Occur::Should, self.key.build(fields, value, now)))
                .collect(),
        )
    }
}

impl Asked {
    /// Some text asks for a flag, and a looser search without flags makes sense.
    pub(super) fn has_flags(&self) -> bool {
        self.texts.iter().any(|text| text.flag.is_some())
    }

    /// The filters that take something in, as typed, each with a query of its own.
    pub(super) fn alone<'a>(
        &'a self,
        fields: &'a Fields,
        now: Micros,
    ) -> impl Iterator<Item = (String, BooleanQuery)> + 'a {
        self.filters
            .iter()
            .filter(|filter| !filter.not)
            .map(move |filter| (filter.shown(), filter.build(fields, now)))
    }

    /// Replaces `session:last`.
    pub(super) fn name_last_session(&mut self, last: Option<&str>) {
        for filter in &mut self.filters {
            if filter.key == Key::Session {
                for value in filter.values.iter_mut().filter(|value| *value == "last") {
                    *value = last.unwrap_or("none").to_owned();
                }
            }
        }
    }

    /// The query for the index. `flags`: flags have to be flags; else their words are enough.
    pub(super) fn build(&self, fields: &Fields, now: Micros, flags: Flags) -> Box<dyn Query> {
        let mut parts: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for text in &self.texts {
            parts.push((Occur::Must, text.build(fields, flags)));
        }
        for filter in &self.filters {
            let occur = if filter.not {
                Occur::MustNot
            } else {
                Occur::Must
            };
            parts.push((occur, Box::new(filter.build(fields, now))));
        }
        if parts.iter().all(|(occur, _)| *occur == Occur::MustNot) {
            parts.push((Occur::Must, Box::new(AllQuery)));
        }
        Box::new(BooleanQuery::new(parts))
    }
}

/// How strictly flags are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flags {
    Strict,
    Loose,
}

impl Text {
    /// Whether these words of a line hold this text, side by side.
    pub(super) fn is_in(&self, line: &[String]) -> bool {
        let Some((last, before)) = self.words.split_last() else {
            return false;
        };
        line.windows(self.words.len()).any(|window| {
            window.split_last().is_some_and(|(end, start)| {
                start == before && (end == last || self.begun && end.starts_with(last.as_str()))
            })
        })
    }

    fn build(&self, fields: &Fields, flags: Flags) -> Box<dyn Query> {
        if let (Some(flag), Flags::Strict) = (&self.flag, flags) {
            return exact(fields.flag, flag);
        }
        let Some((last, before)) = self.words.split_last() else {
            return Box::new(EmptyQuery);
        };
        let term = |word: &String| Term::from_field_text(fields.text, word);
        match (before.is_empty(), self.begun) {
            (true, false) => Box::new(TermQuery::new(term(last), IndexRecordOption::Basic)),
            (true, true) => begins(fields.text, last),
            (false, true) => {
                let terms = self.words.iter().map(term).collect();
                Box::new(tantivy::query::PhrasePrefixQuery::new(terms))
            }
            (false, false) => Box::new(PhraseQuery::new(self.words.iter().map(term).collect())),
        }
    }
}

fn exact(field: Field, value: &str) -> Box<dyn Query> {
    Box::new(TermQuery::new(
        Term::from_field_text(field, value),
        IndexRecordOption::Basic,
    ))
}

/// Every term that begins so.
fn begins(field: Field, value: &str) -> Box<dyn Query> {
    Box::new(InvertedIndexRangeQuery::new(
        Bound::Included(Term::from_field_text(field, value)),
        Bound::Excluded(Term::from_field_text(field, &format!("{value}\u{10ffff}"))),
    ))
}

impl Key {
    /// Refuses what cannot be: it would only ever find nothing.
    fn check(self, value: &str, now: Micros) -> Result<(), BadQuery> {
        let bad = |problem: String, hint: &str| {
            Err(BadQuery {
                problem,
                hint: hint.to_owned(),
            })
        };
        match self {
            Self::Exit if !is_exit_word(exit_word(value)) => bad(
                format!("`exit:{value}` is no way to end"),
                "write a number, `ok`, `fail`, `signal`, `signal9`, `lost`, `running` or `stopped`",
            ),
            Self::Since | Self::Until if instant(value, now).is_none() => bad(
                format!("`{value}` is no time"),
                "write a time ago (`30m`, `2h`, `3d`, `1w`), a day (`2026-11-30`) or a time \
                 (`2026-11-30T10:00`)",
            ),
            _ => Ok(()),
        }
    }

    fn build(self, fields: &Fields, value: &str, now: Micros) -> Box<dyn Query> {
        let field = match self {
            Self::Host => fields.host,
            Self::Program => fields.program,
            Self::Kind => fields.kind,
            Self::Session => {
                let value = match value.strip_prefix("s-") {
                    Some(_) => value.to_owned(),
                    None => format!("s-{value}"),
                };
                return begins(fields.session, &value);
            }
            Self::Exit => return exact(fields.exit, exit_word(value)),
            Self::Since | Self::Until => {
                let Some(at) = instant(value, now) else {
                    return Box::new(EmptyQuery);
                };
                let at = Bound::Included(Term::from_field_i64(fields.at, at.0));
                let (from, to) = match self {
                    Self::Since => (at, Bound::Unbounded),
                    _ => (Bound::Unbounded, at),
                };
                return Box::new(RangeQuery::new(from, to));
            }
        };
        match value.strip_suffix('*') {
            Some(start) => begins(field, start),
            None => exact(field, value),
        }
    }
}

/// The word that the index holds for an exit.
fn exit_word(value: &str) -> &str {
    match value {
        "failed" | "nonzero" | "!0" | "error" => "fail",
        "success" => "ok",
        value => value,
    }
}

fn is_exit_word(word: &str) -> bool {
    matches!(
        word,
        "ok" | "fail" | "signal" | "lost" | "running" | "stopped"
    ) || word
        .strip_prefix("signal")
        .unwrap_or(word)
        .parse::<i32>()
        .is_ok()
}

/// A moment: a time ago (`2h`, `3d`, `1w`), a day, or a time.
fn instant(value: &str, now: Micros) -> Option<Micros> {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = value.get(digits.len()..)?;
    if let Ok(count) = digits.parse::<i64>() {
        let seconds = match unit {
            "s" | "sec" => 1,
            "m" | "min" => 60,
            "h" | "hr" => 3_600,
            "d" => 86_400,
            "w" => 7 * 86_400,
            _ => return None,
        };
        let us = count.checked_mul(seconds)?.checked_mul(1_000_000)?;
        return Some(now.plus_us(us.checked_neg()?));
    }
    let value = value.to_ascii_uppercase();
    Micros::parse(&value)
        .or_else(|_| Micros::parse(&format!("{value}Z")))
        .or_else(|_| Micros::parse(&format!("{value}T00:00:00Z")))
        .ok()
}

/// The flags of a text, for the index.
pub(super) fn flags_of(text: &str) -> Vec<String> {
    flags(text)
}

#[cfg(test)]
mod tests {
    use super::{Asked, BadQuery, Key, instant};
    use crate::time::Micros;

    fn read(query: &str) -> Result<Asked, BadQuery> {
        super::parse(query, Micros(0))
    }

    fn parse(query: &str) -> Asked {
        read(query).unwrap()
    }

    #[test]
    fn words_phrases_and_filters_are_told_apart() {
        let asked = parse(r#"pgrep host:gpu01 "out of memory" --tp /root/x.log foo:bar"#);
        let words: Vec<Vec<&str>> = asked
            .texts
            .iter()
            .map(|text| text.words.iter().map(String::as_str).collect())
            .collect();
        assert_eq!(
            words,
            [
                vec!["pgrep"],
                vec!["out", "of", "memory"],
                vec!["tp"],
                vec!["root", "x", "log"],
                vec!["foo", "bar"],
            ]
        );
        assert_eq!(asked.texts[2].flag.as_deref(), Some("--tp"));
        assert_eq!(asked.filters.len(), 1);
        assert_eq!(asked.filters[0].key, Key::Host);
    }

    #[test]
    fn a_filter_may_be_quoted_refused_or_hold_several() {
        let asked = parse(r#"-host:a,b program:"my prog" "host:c" ":" """#);
        assert_eq!(asked.filters.len(), 2);
        assert!(asked.filters[0].not);
        assert_eq!(asked.filters[0].values, ["a", "b"]);
        assert_eq!(asked.filters[1].values, ["my prog"]);
        assert_eq!(asked.texts.len(), 1);
    }

    #[test]
    fn what_could_only_find_nothing_is_refused() {
        for (query, says) in [
            ("\"unclosed phrase", "quote"),
            ("host:", "`host:` has no value"),
            ("exit: 3", "`exit:` has no value"),
            ("exit:abc", "`exit:abc`"),
            ("-exit:1,x", "`exit:x`"),
            ("since:foo", "`foo` is no time"),
            ("until:yesterday", "`yesterday` is no time"),
        ] {
            let refused = read(query).unwrap_err();
            assert!(refused.problem.contains(says), "{query}: {refused:?}");
        }
        for query in [
            "exit:signal9 exit:!0 exit:-1 exit:error",
            "since:2h until:2026-11-30",
            "error: 802",
            "kind:anything",
            "\"exit: abc\"",
        ] {
            read(query).unwrap();
        }
    }

    #[test]
    fn marks_alone_are_no_search() {
        for query in ["(((", "*", "- *", "\"::\""] {
            let refused = super::parse(query, Micros(0)).unwrap_err();
            assert!(refused.problem.ends_with("holds no word to look for"));
        }
        assert_eq!(parse("error *"), parse("error"));
        assert!(super::parse("host:gpu01 *", Micros(0)).is_ok());
    }

    #[test]
    fn moments_are_read_as_people_write_them() {
        let now = Micros::parse("2026-11-30T12:00:00Z").unwrap();
        let at = |value| instant(value, now).map(Micros::rfc3339);
        assert_eq!(at("2h").as_deref(), Some("2026-11-30T10:00:00.000000Z"));
        assert_eq!(at("1w").as_deref(), Some("2026-11-23T12:00:00.000000Z"));
        let day = Some("2026-11-29T00:00:00.000000Z");
        assert_eq!(at("2026-11-29").as_deref(), day);
        assert_eq!(at("2026-11-29t00:00").as_deref(), day);
        assert_eq!(at("soon"), None);
        assert_eq!(at("99999999999999999w"), None);
    }
}
