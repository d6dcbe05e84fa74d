//! YAML with places: a tree in which every value and key knows its line and column.
//!
//! serde-saphyr parses; the tree is decoded by hand (`load.rs`), so that one reading gives every
//! fault with its place and the nearest known name.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::Fault;
use super::nearest::nearest;

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
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
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

    /// The values of a map under the keys that are allowed; a fault for every other key.
    pub(super) fn fields<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        allowed: &[&str],
    ) -> Fields<'n> {
        let Kind::Map(entries) = &node.kind else {
            let message = format!("{what} is a map, this is {}", node.kind.name());
            self.add(node.at, message);
            return Fields {
                at: node.at,
                entries: &[],
                is_map: false,
            };
        };
        for (key, _) in entries {
            if !allowed.contains(&key.text.as_str()) {
                let hint = nearest(&key.text, allowed.iter().copied()).map_or_else(
                    || format!("keys of {what}: {}", allowed.join(", ")),
                    |near| format!("did you mean `{near}`?"),
                );
                self.hinted(
                    key.at,
                    format!("{what} has no key `{}`", key.text),
                    Some(hint),
                );
            }
        }
        Fields {
            at: node.at,
            entries,
            is_map: true,
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
                self.add(node.at, message);
                None
            }
        }
    }

    pub(super) fn whole(&mut self, node: &Node, what: &str) -> Option<i64> {
        if let Kind::Int(value) = node.kind {
            return Some(value);
        }
        let message = format!("{what} is a whole number, this is {}", node.kind.name());
        self.add(node.at, message);
        None
    }

    pub(super) fn truth(&mut self, node: &Node, what: &str) -> Option<bool> {
        if let Kind::Bool(value) = node.kind {
            return Some(value);
        }
        let message = format!("{what} is true or false, this is {}", node.kind.name());
        self.add(node.at, message);
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
        words: &[(&str, T)],
    ) -> Option<T> {
        let text = self.text(node, what)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let names: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        let hint = nearest(text, names.iter().copied()).map_or_else(
            || format!("one of {}", names.join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        self.hinted(node.at, format!("`{text}` is no {what}"), Some(hint));
        None
    }
}

/// A map's values by key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'n> {
    pub(super) at: At,
    entries: &'n [(Key, Node)],
    /// It was a map at all; if not, that has been said.
    pub(super) is_map: bool,
}

impl<'n> Fields<'n> {
    pub(super) fn get(&self, key: &str) -> Option<&'n Node> {
        let found = self.entries.iter().find(|(known, _)| known.text == key);
        found.map(|(_, node)| node)
    }

    /// The value of a key that must be there.
    pub(super) fn need(&self, key: &str, what: &str, faults: &mut Faults) -> Option<&'n Node> {
        let found = self.get(key);
        if found.is_none() && self.is_map {
            faults.add(self.at, format!("{what} needs `{key}`"));
        }
        found
    }
}

/// Lines of a text, to turn an offset within a value into a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a>(pub(super) &'a str);

impl Source<'_> {
    /// The place of a character within a text value that stands at `at`.
    pub(super) fn within(&self, at: At, value: &str, offset: usize) -> At {
        let before: String = value.chars().take(offset).collect();
        let rows = before.matches('\n').count();
        let column = before.chars().rev().take_while(|c| *c != '\n').count();
        let line = self.0.lines().nth(at.line.saturating_sub(1)).unwrap_or("");
        let first = line.chars().nth(at.column.saturating_sub(1));
        if matches!(first, Some('|' | '>')) {
            // The place is the header's: the text begins on the next line.
            let below = self.0.lines().nth(at.line).unwrap_or("");
            let indent = below.chars().take_while(|c| *c == ' ').count();
            return At {
                line: at.line + 1 + rows,
                column: indent + column + 1,
            };
        }
        if rows > 0 {
            let row = self.0.lines().nth(at.line + rows - 1).unwrap_or("");
            let indent = row.chars().take_while(|c| *c == ' ').count();
            return At {
                line: at.line + rows,
                column: indent + column + 1,
            };
        }
        let quote = usize::from(matches!(first, Some('"' | '\'')));
        At {
            line: at.line,
            column: at.column + quote + column,
        }
    }
}
