//! Expressions: CEL in syntax, checked against the fact catalogue, three-valued.
//!
//! The cel crate parses; `check.rs` turns its tree into the small typed one that stands here, or
//! says what is wrong and where. Evaluation is `eval.rs`'s: a field that its look could not tell is
//! *unknown*, and unknown goes through every operator but `== null`, `!= null` and `has()`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use super::pattern::Pattern;
use super::tables::Table;
use crate::fact::{FactType, FieldType};

/// A checked expression.
#[derive(Debug, Clone)]
pub struct Expr {
    pub(super) node: Node,
    /// Its type.
    pub(super) ty: Ty,
    /// Its text.
    pub(super) source: Arc<str>,
    /// What it says of the fact alone, as a text to tell it by.
    pub(super) alone: OnceLock<Arc<str>>,
}

impl Expr {
    /// The expression as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Calls `each` with every comparison of a field with a text literal.
    pub(super) fn literals(&self, each: &mut dyn FnMut(&'static str, &'static str, &str)) {
        self.node.walk(&mut |node| match node {
            Node::Compare(_, left, right) => {
                if let (Node::Field(_, field), Node::Text(text)) = (&**left, &**right) {
                    each(field.name, field.doc, text);
                }
            }
            Node::In(left, right) => {
                if let (Node::Field(_, field), Node::List(items)) = (&**left, &**right) {
                    for item in items {
                        if let Node::Text(text) = item {
                            each(field.name, field.doc, text);
                        }
                    }
                }
            }
            _ => {}
        });
    }
}

/// The type of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ty {
    Bool,
    Int,
    Float,
    Text,
    Tri,
    Texts,
    Numbers,
    Null,
}

impl Ty {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Int => "a whole number",
            Self::Float => "a number",
            Self::Text => "a text",
            Self::Tri => "yes, no or unknown",
            Self::Texts => "a list of texts",
            Self::Numbers => "a list of numbers",
            Self::Null => "null",
        }
    }

    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Int | Self::Float)
    }

    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Tri)
    }
}

impl From<FieldType> for Ty {
    fn from(ty: FieldType) -> Self {
        match ty {
            FieldType::Text => Self::Text,
            FieldType::Int => Self::Int,
            FieldType::Float => Self::Float,
            FieldType::Bool => Self::Bool,
            FieldType::Tri => Self::Tri,
            FieldType::TextList => Self::Texts,
            FieldType::IntList => Self::Numbers,
        }
    }
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Var {
    /// The fact that is being looked at.
    It,
    /// A fact bound before.
    Bound(Arc<str>),
}

/// What every entry has besides its fact's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pseudo {
    Host,
    TargetHost,
    Container,
    CommandNumber,
    CommandLine,
    AgeS,
    AtS,
    Stream,
    HasLaunch,
}

/// Names of pseudo-fields: a fact's own field of the same name comes first, so each that may be
/// hidden has a second, longer name.
pub(super) const PSEUDO: &[(&str, Pseudo, Ty)] = &[
    ("host", Pseudo::Host, Ty::Text),
    ("on_host", Pseudo::Host, Ty::Text),
    ("target_host", Pseudo::TargetHost, Ty::Text),
    ("container", Pseudo::Container, Ty::Text),
    ("in_container", Pseudo::Container, Ty::Text),
    ("command", Pseudo::CommandNumber, Ty::Int),
    ("command_number", Pseudo::CommandNumber, Ty::Int),
    ("line", Pseudo::CommandLine, Ty::Text),
    ("command_line", Pseudo::CommandLine, Ty::Text),
    ("age_s", Pseudo::AgeS, Ty::Float),
    ("seen_ago_s", Pseudo::AgeS, Ty::Float),
    ("at_s", Pseudo::AtS, Ty::Float),
    ("stream", Pseudo::Stream, Ty::Text),
    ("has_launch", Pseudo::HasLaunch, Ty::Bool),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    More,
    MoreEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sum {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextTest {
    Contains,
    StartsWith,
    EndsWith,
    SamePath,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextMap {
    Lower,
    Trim,
    BaseName,
    DirName,
    Int,
    Float,
    Text,
    Duration,
}

#[derive(Debug, Clone)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Field(Var, FieldRef),
    Pseudo(Var, Pseudo),
    Not(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Choose(Box<Node>, Box<Node>, Box<Node>),
    Compare(Comparison, Box<Node>, Box<Node>),
    IsNull(Box<Node>, bool),
    In(Box<Node>, Box<Node>),
    Sum(Sum, Box<Node>, Box<Node>),
    Negate(Box<Node>),
    Test(TextTest, Box<Node>, Box<Node>),
    Size(Box<Node>),
    Map(TextMap, Box<Node>),
    Matches(Box<Node>, Pattern),
    Capture(Box<Node>, Pattern),
    First(Vec<Node>),
    /// What a column of a table says of a key.
    LookUp(&'static Table, Box<Node>, usize),
    SecondsBetween(Var, Var),
    FromAfter(Var, Var),
    Bound(Var),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct FieldRef {
    /// Its fact type.
    pub(super) fact: &'static str,
    /// Its number there.
    pub(super) number: usize,
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
}

impl Node {
    /// The parts that must all be true, where it is `a && b && …`.
    pub(super) fn conjuncts<'n>(&'n self, out: &mut Vec<&'n Self>) {
        match self {
            Self::And(a, b) => {
                a.conjuncts(out);
                b.conjuncts(out);
            }
            other => out.push(other),
        }
    }

    /// It speaks of the fact being looked at and of nothing that is bound.
    pub(super) fn is_alone(&self) -> bool {
        let mut alone = true;
        let it = |var: &Var| *var == Var::It;
        self.walk(&mut |node| {
            alone &= match node {
                Self::Field(var, _) | Self::Pseudo(var, _) | Self::Bound(var) => it(var),
                Self::SecondsBetween(a, b) | Self::FromAfter(a, b) => it(a) && it(b),
                _ => true,
            }
        });
        alone
    }

    /// Names of what is bound that it speaks of, each once.
    pub(super) fn names(&self, out: &mut Vec<Arc<str>>) {
        let mut add = |var: &Var| {
            if let Var::Bound(name) = var
                && !out.contains(name)
            {
                out.push(Arc::clone(name));
            }
        };
        self.walk(&mut |node| match node {
            Self::Field(var, _) | Self::Pseudo(var, _) | Self::Bound(var) => add(var),
            Self::SecondsBetween(a, b) | Self::FromAfter(a, b) => {
                add(a);
                add(b);
            }
            _ => {}
        });
    }

    pub(super) fn walk(&self, each: &mut dyn FnMut(&Self)) {
        each(self);
        match self {
            Self::List(items) | Self::First(items) => {
                for item in items {
                    item.walk(each);
                }
            }
            Self::Not(a) | Self::IsNull(a, _) | Self::Negate(a) | Self::Size(a) => a.walk(each),
            Self::Map(_, a) | Self::Matches(a, _) | Self::Capture(a, _) | Self::LookUp(_, a, _) => {
                a.walk(each);
            }
            Self::And(a, b) | Self::Or(a, b) | Self::In(a, b) => {
                a.walk(each);
                b.walk(each);
            }
            Self::Compare(_, a, b) | Self::Sum(_, a, b) | Self::Test(_, a, b) => {
                a.walk(each);
                b.walk(each);
            }
            Self::Choose(a, b, c) => {
                a.walk(each);
                b.walk(each);
                c.walk(each);
            }
            _ => {}
        }
    }
}

/// What names mean at the place of an expression.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names<'a> {
    /// The type of `it`, where there is one.
    pub(super) it: Option<&'static FactType>,
    /// The name that the fact being looked at will be bound to: the same as `it`.
    pub(super) own: Option<&'a str>,
    /// What was bound before.
    pub(super) bound: &'a BTreeMap<Arc<str>, &'static FactType>,
    /// What would be bound before if it were right.
    pub(super) lost: &'a Lost,
    /// Its patterns are known to build, and are built when they are first asked.
    pub(super) trusted: bool,
}

/// Names whose steps did not read: what is said of them is neither right nor wrong.
#[derive(Debug, Clone, Default)]
pub(super) struct Lost {
    /// The names.
    pub(super) names: BTreeSet<Arc<str>>,
    /// The steps did not read at all: it may be any name.
    pub(super) all: bool,
}

impl Lost {
    pub(super) fn has(&self, name: &str) -> bool {
        self.all || self.names.contains(name)
    }
}

/// Something wrong in an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    /// Where, in bytes from its start.
    pub(super) offset: usize,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}
