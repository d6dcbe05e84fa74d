//! Facts: typed observations, and the catalogue that playbooks are checked against.
//!
//! A fact says what one look showed: a process, a GPU, the end of a log, a port. Its fields carry
//! their units in their names; an `Option` that is `None` means *this look could not tell*, never
//! "no". What was seen to be absent is a fact of its own (a [`ProcessLook`] with its pattern and a
//! count of 0, a [`File`] with `exists: no`). The types are made by one macro, so that the structs,
//! the catalogue ([`CATALOGUE`]) and `docs/facts.md` cannot disagree. Facts come from
//! [`crate::probe`] (output) and [`crate::timeline`] (command lines, and what follows over time).

mod catalogue;
pub mod cover;
pub mod pattern;
pub mod manual;
pub mod value;

use serde::{Deserialize, Serialize};

pub use catalogue::*;

use crate::event::Stream;
use crate::shell::Place;

/// A fact in its place: where it was seen, and in which bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// What was seen.
    #[serde(flatten)]
    pub fact: Fact,
    /// Where it was seen.
    pub place: Place,
    /// The invocation whose output it was read from, an index into the command's tree.
    pub invocation: Option<usize>,
    /// The stream it was read from; `None` for facts of the command line itself.
    pub stream: Option<Stream>,
    /// First byte in that stream.
    pub from: u64,
    /// One past its last byte.
    pub to: u64,
}

/// The type of a field, as expressions see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldType {
    /// UTF-8 text.
    Text,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// True or false.
    Bool,
    /// `yes`, `no` or `unknown`, compared as text.
    Tri,
    /// A list of texts.
    TextList,
    /// A list of whole numbers.
    IntList,
}

/// A field of a fact type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Its name, with its unit.
    pub name: &'static str,
    /// Its type.
    pub ty: FieldType,
    /// It may be unknown.
    pub optional: bool,
    /// What it holds.
    pub doc: &'static str,
}

/// A fact type: what playbooks may bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FactType {
    /// Its name in playbooks and JSON.
    pub name: &'static str,
    /// What it says.
    pub doc: &'static str,
    /// Which looks it comes from.
    pub source: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
}

impl FactType {
    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// The fact type of that name.
pub fn fact_type(name: &str) -> Option<&'static FactType> {
    CATALOGUE.iter().find(|ty| ty.name == name)
}
