//! Evaluation of checked expressions in three values.
//!
//! Truth is Kleene's: `false && unknown` is false, `true || unknown` is true, everything else with
//! an unknown part is unknown. Arithmetic that has no answer (division by zero, overflow, a text
//! that is no number) is unknown as well; nothing here fails.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::expr::{Comparison, Expr, FieldRef, Node, Pseudo, Sum, TextMap, TextTest, Var};
use crate::fact::Fact;
use crate::fact::cover::same_path;
use crate::fact::value::Peek;
use crate::shell::Tri;
use crate::time::{Micros, human_duration};
use crate::timeline::{Entry, Timeline};

/// What names are bound to.
pub(super) trait Bindings {
    /// The entry bound to a name.
    fn entry(&self, name: &str) -> Option<usize>;
}

impl Bindings for BTreeMap<String, usize> {
    fn entry(&self, name: &str) -> Option<usize> {
        self.get(name).copied()
    }
}

impl Bindings for Vec<(Arc<str>, usize)> {
    fn entry(&self, name: &str) -> Option<usize> {
        let mut found = self.iter().rev().filter(|(known, _)| &**known == name);
        found.next().map(|(_, entry)| *entry)
    }
}

/// No names are bound.
pub(super) struct Nothing;

impl Bindings for Nothing {
    fn entry(&self, _: &str) -> Option<usize> {
        None
    }
}

/// Where an expression is evaluated.
#[derive(Clone, Copy)]
pub(super) struct Env<'a> {
    pub(super) timeline: &'a Timeline,
    /// The entry that is being looked at.
    pub(super) it: Option<usize>,
    pub(super) bound: &'a dyn Bindings,
    /// The word `unknown` in a field counts as not knowing. So it is judged whether a look *denies*
    /// something: one that could not tell denies nothing.
    pub(super) strict: bool,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Val<'a> {
    Unknown,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    Texts(&'a [String]),
    Ints(&'a [i64]),
    List(Vec<Val<'a>>),
}

impl<'a> From<Peek<'a>> for Val<'a> {
    fn from(peek: Peek<'a>) -> Self {
        match peek {
            Peek::Unknown => Self::Unknown,
            Peek::Bool(value) => Self::Bool(value),
            Peek::Int(value) => Self::Int(value),
            Peek::Float(value) => Self::Float(value),
            Peek::Text(value) => Self::Text(Cow::Borrowed(value)),
            Peek::Texts(value) => Self::Texts(value),
            Peek::Ints(value) => Self::Ints(value),
        }
    }
}

impl Val<'_> {
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "compared, not counted")]
            Self::Int(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    fn tri(&self) -> Tri {
        match self {
            Self::Bool(value) => (*value).into(),
            _ => Tri::Unknown,
        }
    }
}

/// The instant an entry speaks of: the start of its command for what the line says, its end for
/// what the output shows.
pub(super) fn instant(entry: &Entry) -> Micros {
    match entry.fact {
        Fact::Exit(_) | Fact::EchoedExit(_) | Fact::LaunchState(_) => entry.known,
        _ if entry.stream.is_none() => entry.at,
        _ => entry.known,
    }
}

impl Expr {
    /// Whether it is true.
    pub(super) fn truth(&self, env: Env<'_>) -> Tri {
        eval(&self.node, env).tri()
    }

    /// Its value.
    pub(super) fn value<'a>(&'a self, env: Env<'a>) -> Val<'a> {
        eval(&self.node, env)
    }
}

/// Whether a part of an expression is true.
pub(super) fn truth(node: &Node, env: Env<'_>) -> Tri {
    eval(node, env).tri()
}

/// The value of a part of an expression.
pub(super) fn value<'a>(node: &'a Node, env: Env<'a>) -> Val<'a> {
    eval(node, env)
}

fn entry_of<'a>(var: &Var, env: Env<'a>) -> Option<(usize, &'a Entry)> {
    let index = match var {
        Var::It => env.it,
        Var::Bound(name) => env.bound.entry(name),
    }?;
    env.timeline.entries.get(index).map(|entry| (index, entry))
}

fn eval<'a>(node: &'a Node, env: Env<'a>) -> Val<'a> {
    match node {
        Node::Null => Val::Unknown,
        Node::Bool(value) => Val::Bool(*value),
        Node::Int(value) => Val::Int(*value),
        Node::Float(value) => Val::Float(*value),
        Node::Text(value) => Val::Text(Cow::Borrowed(value)),
        Node::List(items) => Val::List(items.iter().map(|item| eval(item, env)).collect()),
        Node::Field(var, field) => entry_of(var, env)
            .and_then(|(_, entry)| read(&entry.fact, *field))
            .filter(|value| !(env.strict && matches!(value, Peek::Text("unknown"))))
            .map_or(Val::Unknown, Val::from),
        Node::Pseudo(var, pseudo) => {
            entry_of(var, env).map_or(Val::Unknown, |(_, entry)| pseudo_field(*pseudo, entry, env))
        }
        Node::Not(a) => match eval(a, env) {
            Val::Bool(value) => Val::Bool(!value),
            _ => Val::Unknown,
        },
        Node::And(a, b) => both(a, b, env, false),
        Node::Or(a, b) => both(a, b, env, true),
        Node::Choose(test, a, b) => match eval(test, env) {
            Val::Bool(true) => eval(a, env),
            Val::Bool(false) => eval(b, env),
            _ => Val::Unknown,
        },
        Node::Compare(how, a, b) => compare(*how, &eval(a, env), &eval(b, env)),
        Node::IsNull(a, wanted) => Val::Bool((eval(a, env) == Val::Unknown) == *wanted),
        Node::In(item, list) => within(&eval(item, env), &eval(list, env)),
        Node::Sum(how, a, b) => sum(*how, eval(a, env), eval(b, env)),
        Node::Negate(a) => match eval(a, env) {
            Val::Int(value) => value.checked_neg().map_or(Val::Unknown, Val::Int),
            Val::Float(value) => Val::Float(-value),
            _ => Val::Unknown,
        },
        Node::Test(how, a, b) => match (eval(a, env), eval(b, env)) {
            (Val::Text(text), Val::Text(part)) => Val::Bool(match how {
                TextTest::Contains => text.contains(&*part),
                TextTest::StartsWith => text.starts_with(&*part),
                TextTest::EndsWith => text.ends_with(&*part),
                TextTest::SamePath => same_path(&text, &part),
            }),
            _ => Val::Unknown,
        },
        Node::Size(a) => size(&eval(a, env)),
        Node::Map(how, a) => map(*how, eval(a, env)),
        Node::Matches(a, pattern) => match eval(a, env) {
            Val::Text(text) => Val::Bool(pattern.is_in(&text)),
            _ => Val::Unknown,
        },
        Node::Capture(a, pattern) => match eval(a, env) {
            Val::Text(text) => pattern
                .capture(&text)
                .map_or(Val::Unknown, |part| Val::Text(Cow::Owned(part))),
            _ => Val::Unknown,
        },
        Node::First(items) => items
            .iter()
            .map(|item| eval(item, env))
            .find(|value| *value != Val::Unknown)
            .unwrap_or(Val::Unknown),
        Node::LookUp(table, key, column) => {
            let key = eval(key, env);
            if key == Val::Unknown {
                return Val::Unknown;
            }
            let found = table.look_up(&show(&key), *column);
            found.map_or(Val::Unknown, |text| Val::Text(Cow::Borrowed(text)))
        }
        Node::SecondsBetween(a, b) => match (entry_of(a, env), entry_of(b, env)) {
            (Some((_, a)), Some((_, b))) => Val::Float(instant(b).seconds_since(instant(a))),
            _ => Val::Unknown,
        },
        Node::FromAfter(a, b) => from_after(entry_of(a, env), entry_of(b, env)),
        Node::Bound(var) => Val::Bool(entry_of(var, env).is_some()),
    }
}

fn pseudo_field<'a>(pseudo: Pseudo, entry: &'a Entry, env: Env<'a>) -> Val<'a> {
    let command = env.timeline.commands.get(entry.command);
    let text = |text: &'a str| Val::Text(Cow::Borrowed(text));
    match pseudo {
        Pseudo::Host => text(&entry.host),
        Pseudo::TargetHost => command.map_or(Val::Unknown, |command| text(command.target_host())),
        Pseudo::Container => entry.container.as_deref().map_or(Val::Unknown, text),
        Pseudo::CommandNumber => command.map_or(Val::Unknown, |c| Val::Int(i64::from(c.number))),
        Pseudo::CommandLine => command.map_or(Val::Unknown, |command| text(&command.line)),
        Pseudo::AgeS => Val::Float(env.timeline.as_of.seconds_since(instant(entry))),
        Pseudo::AtS => Val::Float(instant(entry).seconds_since(Micros(0))),
        Pseudo::Stream => entry
            .stream
            .map_or(Val::Unknown, |stream| text(stream.name())),
        Pseudo::HasLaunch => Val::Bool(entry.launch.is_some()),
    }
}

/// A field of a fact; of one of another type than the field is of, the field of that name.
fn read(fact: &Fact, field: FieldRef) -> Option<Peek<'_>> {
    if std::ptr::eq(fact.name(), field.fact) {
        fact.peek_at(field.number)
    } else {
        fact.peek(field.name)
    }
}

/// `&&` (deciding value false) and `||` (true).
fn both<'a>(a: &'a Node, b: &'a Node, env: Env<'a>, deciding: bool) -> Val<'a> {
    let a = eval(a, env);
    if a == Val::Bool(deciding) {
        return a;
    }
    let b = eval(b, env);
    if b == Val::Bool(deciding) {
        return b;
    }
    match (a, b) {
        (Val::Bool(_), Val::Bool(_)) => Val::Bool(!deciding),
        _ => Val::Unknown,
    }
}

fn order(a: &Val<'_>, b: &Val<'_>) -> Option<Ordering> {
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
        (Val::Text(a), Val::Text(b)) => Some(a.cmp(b)),
        (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
        _ => a.number()?.partial_cmp(&b.number()?),
    }
}

fn compare<'a>(how: Comparison, a: &Val<'_>, b: &Val<'_>) -> Val<'a> {
    if *a == Val::Unknown || *b == Val::Unknown {
        return Val::Unknown;
    }
    let Some(order) = order(a, b) else {
        return match how {
            Comparison::Equal => Val::Bool(a == b),
            Comparison::NotEqual => Val::Bool(a != b),
            _ => Val::Unknown,
        };
    };
    Val::Bool(match how {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessEqual => order.is_le(),
        Comparison::More => order.is_gt(),
        Comparison::MoreEqual => order.is_ge(),
    })
}

fn within<'a>(item: &Val<'_>, list: &Val<'_>) -> Val<'a> {
    match (item, list) {
        (Val::Unknown, _) | (_, Val::Unknown) => Val::Unknown,
        (Val::Text(text), Val::Texts(list)) => Val::Bool(list.iter().any(|one| one == text)),
        (_, Val::Ints(list)) => Val::Bool(
            list.iter()
                .any(|one| order(item, &Val::Int(*one)).is_some_and(Ordering::is_eq)),
        ),
        (_, Val::List(list)) => {
            let mut unknown = false;
            for one in list {
                match compare(Comparison::Equal, item, one) {
                    Val::Bool(true) => return Val::Bool(true),
                    Val::Unknown => unknown = true,
                    _ => {}
                }
            }
            if unknown {
                Val::Unknown
            } else {
                Val::Bool(false)
            }
        }
        _ => Val::Unknown,
    }
}

fn sum<'a>(how: Sum, a: Val<'a>, b: Val<'a>) -> Val<'a> {
    match (how, a, b) {
        (Sum::Add, Val::Text(a), Val::Text(b)) => Val::Text(Cow::Owned(format!("{a}{b}"))),
        (how, Val::Int(a), Val::Int(b)) if how != Sum::Divide => {
            let value = match how {
                Sum::Add => a.checked_add(b),
                Sum::Subtract => a.checked_sub(b),
                Sum::Multiply => a.checked_mul(b),
                Sum::Divide | Sum::Modulo => a.checked_rem(b),
            };
            value.map_or(Val::Unknown, Val::Int)
        }
        (how, a, b) => {
            let (Some(a), Some(b)) = (a.number(), b.number()) else {
                return Val::Unknown;
            };
            let value = match how {
                Sum::Add => a + b,
                Sum::Subtract => a - b,
                Sum::Multiply => a * b,
                Sum::Divide => a / b,
                Sum::Modulo => a % b,
            };
            if value.is_finite() {
                Val::Float(value)
            } else {
                Val::Unknown
            }
        }
    }
}

fn size<'a>(value: &Val<'_>) -> Val<'a> {
    let size = match value {
        Val::Text(text) => text.chars().count(),
        Val::Texts(list) => list.len(),
        Val::Ints(list) => list.len(),
        Val::List(list) => list.len(),
        _ => return Val::Unknown,
    };
    Val::Int(i64::try_from(size).unwrap_or(i64::MAX))
}

fn map(how: TextMap, value: Val<'_>) -> Val<'_> {
    match (how, value) {
        (TextMap::Lower, Val::Text(text)) => Val::Text(Cow::Owned(text.to_lowercase())),
        (TextMap::Trim, Val::Text(text)) => Val::Text(Cow::Owned(text.trim().to_owned())),
        (TextMap::BaseName, Val::Text(text)) => {
            let name = text.trim_end_matches('/').rsplit('/').next().unwrap_or("");
            Val::Text(Cow::Owned(name.to_owned()))
        }
        (TextMap::DirName, Val::Text(text)) => {
            let dir = match text.trim_end_matches('/').rsplit_once('/') {
                Some(("", _)) => "/",
                Some((dir, _)) => dir,
                None => ".",
            };
            Val::Text(Cow::Owned(dir.to_owned()))
        }
        (TextMap::Int, Val::Text(text)) => text.trim().parse().map_or(Val::Unknown, Val::Int),
        (TextMap::Int, Val::Int(value)) => Val::Int(value),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "int() cuts the fraction off"
        )]
        (TextMap::Int, Val::Float(value)) => Val::Int(value as i64),
        (TextMap::Float, Val::Text(text)) => match text.trim().parse::<f64>() {
            Ok(value) if value.is_finite() => Val::Float(value),
            _ => Val::Unknown,
        },
        (TextMap::Duration, value) => value.number().map_or(Val::Unknown, |seconds| {
            Val::Text(Cow::Owned(human_duration(seconds)))
        }),
        (TextMap::Float, value) => value.number().map_or(Val::Unknown, Val::Float),
        (TextMap::Text, Val::Unknown) => Val::Unknown,
        (TextMap::Text, value) => Val::Text(Cow::Owned(show(&value))),
        _ => Val::Unknown,
    }
}

/// Whether what `a` shows came after what `b` is about.
fn from_after<'a>(a: Option<(usize, &Entry)>, b: Option<(usize, &Entry)>) -> Val<'a> {
    let (Some((at, a)), Some((since, b))) = (a, b) else {
        return Val::Unknown;
    };
    if a.command != b.command {
        return Val::Bool(at > since);
    }
    match (a.invocation, b.invocation) {
        (Some(a), Some(b)) => Val::Bool(a > b),
        _ => Val::Unknown,
    }
}

/// A value in words.
pub(super) fn show(value: &Val<'_>) -> String {
    match value {
        Val::Unknown => "?".to_owned(),
        Val::Bool(value) => value.to_string(),
        Val::Int(value) => value.to_string(),
        Val::Float(value) if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}"),
        Val::Float(value) => format!("{value:.1}"),
        Val::Text(text) => text.clone().into_owned(),
        Val::Texts(list) => list.join(", "),
        Val::Ints(list) => {
            let texts: Vec<_> = list.iter().map(ToString::to_string).collect();
            texts.join(", ")
        }
        Val::List(list) => list.iter().map(show).collect::<Vec<_>>().join(", "),
    }
}
