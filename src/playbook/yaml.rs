//! YAML with places: a tree in which every value and key knows its line and column.
//!
//! serde-saphyr parses; the tree is decoded by hand (`load.rs`), so that one reading gives every
//! fault with its place and the nearest known name.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::Fault;
use super::language::{self, Word};
use super::nearest::{meant, nearest};

/// A place in a text: line and column, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct At {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// A value with its place.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) at: At,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) at: At,
    pub(super) text: String,
}

fn place(location: serde_saphyr::Location) -> At {
    At {
        line: usize::try_from(location.line()).unwrap_or(0).max(1),
        column: usize::try_from(location.column()).unwrap_or(0).max(1),
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Kind>::deserialize(deserializer)?;
        Ok(Self {
            at: place(spanned.referenced),
            kind: spanned.value,
        })
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Int(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Kind, E> {
        Ok(Kind::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Kind, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = access.next_element()? {
            list.push(item);
        }
        Ok(Kind::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Kind, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = access.next_key::<Spanned<String>>()? {
            let key = Key {
                at: place(key.referenced),
                text: key.value,
            };
            map.push((key, access.next_value()?));
        }
        Ok(Kind::Map(map))
    }
}

/// Parses a text into a tree.
pub(super) fn parse(text: &str) -> Result<Node, Fault> {
    // A key that is written twice is ours to report, with both places.
    let options = serde_saphyr::options! {
        with_snippet: false,
        strict_booleans: true,
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::PassThrough,
    };
    serde_saphyr::from_str_with_options::<Node>(text, options).map_err(|error| {
        let at = error
            .location()
            .map(place)
            .unwrap_or(At { line: 1, column: 1 });
        let message = error.without_snippet().to_string();
        let message = message.lines().next().unwrap_or("not YAML").to_owned();
        let hint = hint(&message, text, at);
        Fault {
            line: at.line,
            column: at.column,
            message,
            hint,
        }
    })
}

fn hint(message: &str, text: &str, at: At) -> Option<String> {
    let line = text.lines().nth(at.line.saturating_sub(1)).unwrap_or("");
    if line.trim_start_matches(' ').starts_with('\t') {
        return Some("YAML is indented with spaces, not tabs".to_owned());
    }
    if message.contains("mapping values") {
        return Some("quote a text that holds `: `".to_owned());
    }
    None
}

impl Node {
    /// The entries of a map; none of anything else.
    pub(super) fn entries(&self) -> &[(Key, Self)] {
        match &self.kind {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }

    /// A key of a map and its value.
    pub(super) fn key(&self, wanted: &str) -> Option<(&Key, &Self)> {
        let found = self.entries().iter().find(|(key, _)| key.text == wanted);
        found.map(|(key, node)| (key, node))
    }

    /// Its text, when it is one.
    pub(super) fn as_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a list; none of anything else.
    pub(super) fn items(&self) -> &[Self] {
        match &self.kind {
            Kind::List(list) => list,
            _ => &[],
        }
    }

    /// A text, or those of a list, with their places.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, At)> {
        let one = self.as_text().map(|text| (text, self.at));
        let many = self.items().iter();
        let many = many.filter_map(|node| Some((node.as_text()?, node.at)));
        one.into_iter().chain(many)
    }
}

impl Kind {
    /// What it is, in words.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Int(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// Collects faults while a tree is decoded.
#[derive(Debug, Default)]
pub(super) struct Faults(pub(super) Vec<Fault>);

impl Faults {
    pub(super) fn add(&mut self, at: At, message: impl Into<String>) {
        self.hinted(at, message, None);
    }

    pub(super) fn hinted(&mut self, at: At, message: impl Into<String>, hint: Option<String>) {
        self.0.push(Fault {
            line: at.line,
            column: at.column,
            message: message.into(),
            hint,
        });
    }

    /// The values of a map: a fault for every key that it does not have, for one that is written
    /// twice, and for one that is needed and missing.
    pub(super) fn fields<'n>(&mut self, node: &'n Node, map: &'static language::Map) -> Fields<'n> {
        let what = map.what;
        let Kind::Map(entries) = &node.kind else {
            let message = format!("{what} is a map, this is {}", node.kind.name());
            let example = map.keys.iter().find(|key| key.needed);
            let hint = example.map(|key| format!("it has keys: `{}: …`", key.name));
            self.hinted(node.at, message, hint);
            return Fields {
                at: node.at,
                entries: &[],
                map,
                is_map: false,
            };
        };
        let fields = Fields {
            at: node.at,
            entries,
            map,
            is_map: true,
        };
        self.twice(entries);
        for (key, _) in entries {
            if map.names().any(|name| name == key.text) {
                continue;
            }
            let hint = fields.meant(&key.text).map_or_else(
                || {
                    let names: Vec<_> = map.names().collect();
                    format!("keys of {what}: {}", names.join(", "))
                },
                meant,
            );
            let message = format!("{what} has no key `{}`", key.text);
            self.hinted(key.at, message, Some(hint));
        }
        for key in map.keys.iter().filter(|key| key.needed) {
            if fields.get(key.name).is_none() {
                let message = format!("{what} needs `{}`", key.name);
                self.hinted(node.at, message, Some(key.doc.to_owned()));
            }
        }
        fields
    }

    /// A fault for every key that is written twice in a map.
    pub(super) fn twice(&mut self, entries: &[(Key, Node)]) {
        for (place, (key, _)) in entries.iter().enumerate() {
            let before = entries.iter().take(place);
            let Some((first, _)) = before.rev().find(|(other, _)| other.text == key.text) else {
                continue;
            };
            let message = format!(
                "`{}` is written twice, first on line {}",
                key.text, first.at.line
            );
            let hint = "keep one of them; what belongs together stands under one key".to_owned();
            self.hinted(key.at, message, Some(hint));
        }
    }

    pub(super) fn text<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        match &node.kind {
            Kind::Text(text) => Some(text),
            other => {
                let hint = matches!(other, Kind::Int(_) | Kind::Float(_) | Kind::Bool(_))
                    .then(|| "put it in quotes".to_owned());
                let message = format!("{what} is a text, this is {}", other.name());
                self.hinted(node.at, message, hint);
                None
            }
        }
    }

    pub(super) fn number(&mut self, node: &Node, what: &str) -> Option<f64> {
        match node.kind {
            #[expect(clippy::cast_precision_loss, reason = "small numbers that people type")]
            Kind::Int(value) => Some(value as f64),
            Kind::Float(value) => Some(value),
            _ => {
                let message = format!("{what} is a number, this is {}", node.kind.name());
                let hint = "write it in digits, without quotes: `0.3`".to_owned();
                self.hinted(node.at, message, Some(hint));
                None
            }
        }
    }

    pub(super) fn whole(&mut self, node: &Node, what: &str) -> Option<i64> {
        if let Kind::Int(value) = node.kind {
            return Some(value);
        }
        let message = format!("{what} is a whole number, this is {}", node.kind.name());
        let hint = "write it in digits, without quotes: `1`".to_owned();
        self.hinted(node.at, message, Some(hint));
        None
    }

    pub(super) fn truth(&mut self, node: &Node, what: &str) -> Option<bool> {
        if let Kind::Bool(value) = node.kind {
            return Some(value);
        }
        let message = format!("{what} is true or false, this is {}", node.kind.name());
        let hint = "write `true` or `false`, without quotes".to_owned();
        self.hinted(node.at, message, Some(hint));
        None
    }

    pub(super) fn list<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Node] {
        match &node.kind {
            Kind::List(list) => list,
            other => {
                let message = format!("{what} is a list, this is {}", other.name());
                self.hinted(
                    node.at,
                    message,
                    Some("begin each item with `- `".to_owned()),
                );
                &[]
            }
        }
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(
        &mut self,
        node: &Node,
        what: &str,
        words: &[Word<T>],
    ) -> Option<T> {
        let text = self.text(node, what)?;
        if let Some((_, value, _)) = words.iter().find(|(word, ..)| *word == text) {
            return Some(*value);
        }
        let names: Vec<_> = words.iter().map(|(word, ..)| *word).collect();
        let hint = nearest(text, names.iter().copied())
            .map_or_else(|| format!("one of {}", names.join(", ")), meant);
        self.hinted(node.at, format!("`{text}` is no {what}"), Some(hint));
        None
    }
}

/// A map's values by key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'n> {
    pub(super) at: At,
    entries: &'n [(Key, Node)],
    map: &'static language::Map,
    /// It was a map at all; if not, that has been said.
    pub(super) is_map: bool,
}

impl<'n> Fields<'n> {
    /// The value of a key; that of a misspelt one where it is the likeliest to be meant, so that one
    /// wrong letter is one fault.
    pub(super) fn get(&self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|(_, node)| node)
    }

    /// A key and its value, as [`Fields::get`].
    pub(super) fn entry(&self, key: &str) -> Option<(&'n Key, &'n Node)> {
        let exact = self.entries.iter().find(|(known, _)| known.text == key);
        let meant = || {
            let mut entries = self.entries.iter();
            entries.find(|(known, _)| self.meant(&known.text) == Some(key))
        };
        exact.or_else(meant).map(|(key, node)| (key, node))
    }

    /// The key that a misspelt one stands for.
    fn meant(&self, wrong: &str) -> Option<&'static str> {
        if self.map.names().any(|name| name == wrong) {
            return None;
        }
        nearest(wrong, self.map.names())
    }
}

/// Lines of a text, to turn an offset within a value into a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a>(pub(super) &'a str);

impl Source<'_> {
    /// The place of a byte within a text value that stands at `at`.
    ///
    /// The source is walked as YAML reads it: escapes and doubled quotes give one character, a line
    /// break and the indentation after it give one.
    pub(super) fn within(&self, at: At, value: &str, offset: usize) -> At {
        let wanted = value
            .get(..offset.min(value.len()))
            .map_or(0, |before| before.chars().count());
        let mut walk = Walk::new(self.0, at);
        match walk.peek() {
            // The place of a block is its header's or its first line's.
            Some('|' | '>') => {
                while !matches!(walk.step(), None | Some('\n')) {}
                walk.blanks();
                walk.block(wanted);
            }
            _ if self.in_block(at) => walk.block(wanted),
            Some(quote @ ('"' | '\'')) => {
                walk.step();
                walk.flow(wanted, Some(quote));
            }
            _ => walk.flow(wanted, None),
        }
        walk.at
    }
}

impl Source<'_> {
    /// The line of a place is the first of a block: the one above it ends with its header.
    fn in_block(&self, at: At) -> bool {
        let line = |number: usize| number.checked_sub(1).and_then(|at| self.0.lines().nth(at));
        let before = line(at.line).map_or("", |line| {
            let end = line.char_indices().nth(at.column.saturating_sub(1));
            end.and_then(|(end, _)| line.get(..end)).unwrap_or(line)
        });
        let above = (1..at.line).rev().filter_map(line);
        let above = above.map(str::trim_end).find(|line| !line.is_empty());
        let header = above.and_then(|line| line.rsplit([' ', ':']).next());
        let marks = |c: char| matches!(c, '+' | '-' | '0'..='9');
        before.trim_start().is_empty()
            && header.is_some_and(|header| matches!(header.trim_end_matches(marks), "|" | ">"))
    }
}

/// Walks a source character by character and knows where it is.
struct Walk<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    at: At,
}

impl<'a> Walk<'a> {
    fn new(source: &'a str, at: At) -> Self {
        let lines: usize = source
            .split_inclusive('\n')
            .take(at.line.saturating_sub(1))
            .map(str::len)
            .sum();
        let mut walk = Self {
            rest: source.get(lines..).unwrap_or("").chars().peekable(),
            at: At {
                line: at.line,
                column: 1,
            },
        };
        while walk.at.column < at.column && !matches!(walk.peek(), None | Some('\n')) {
            walk.step();
        }
        walk
    }

    fn peek(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    fn step(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        if c == '\n' {
            self.at.line += 1;
            self.at.column = 1;
        } else {
            self.at.column += 1;
        }
        Some(c)
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.step();
        }
    }

    /// A block, from its first line on: each line stands behind the indentation of the first.
    fn block(&mut self, mut wanted: usize) {
        let indent = self.at.column;
        while wanted > 0 {
            if self.step().is_none() {
                return;
            }
            if self.at.column == 1 {
                while self.at.column < indent && self.peek() == Some(' ') {
                    self.step();
                }
            }
            wanted -= 1;
        }
    }

    /// A plain or quoted text: line breaks are folded.
    fn flow(&mut self, mut wanted: usize, quote: Option<char>) {
        while wanted > 0 {
            match (quote, self.peek()) {
                (_, None) => return,
                (Some('"'), Some('\\')) => {
                    self.step();
                    let digits = match self.step() {
                        Some('x') => 2,
                        Some('u') => 4,
                        Some('U') => 8,
                        // A line break behind a backslash is none.
                        Some('\n') => {
                            self.blanks();
                            continue;
                        }
                        _ => 0,
                    };
                    for _ in 0..digits {
                        self.step();
                    }
                }
                (Some('\''), Some('\'')) => {
                    self.step();
                    self.step();
                }
                (_, Some('\n')) => {
                    self.step();
                    self.blanks();
                    // Each empty line is a line break; else the break is a space.
                    let mut empty = 0;
                    while self.peek() == Some('\n') {
                        self.step();
                        self.blanks();
                        empty += 1;
                    }
                    wanted = wanted.saturating_sub(std::cmp::max(empty, 1));
                    continue;
                }
                _ => {
                    self.step();
                }
            }
            wanted -= 1;
        }
    }
}
