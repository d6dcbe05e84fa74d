//! Values of fields, as expressions see them.

use serde::Serialize;

use super::FieldType;
use crate::shell::Tri;

/// A value: of one of the field types, or unknown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// This look could not tell.
    Unknown,
    /// Nothing there, and known to be so (`null` in expressions).
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Value>),
}

/// A value, borrowed from its fact: what expressions read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Peek<'a> {
    /// This look could not tell.
    Unknown,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(&'a str),
    /// A list of texts.
    Texts(&'a [String]),
    /// A list of whole numbers.
    Ints(&'a [i64]),
}

/// What a field of a fact may be: its type, and its value for expressions.
pub trait FieldValue {
    /// The type.
    const TYPE: FieldType;
    /// It may be unknown.
    const OPTIONAL: bool = false;
    /// The value.
    fn value(&self) -> Value;
    /// The value, borrowed.
    fn peek(&self) -> Peek<'_>;
}

impl FieldValue for String {
    const TYPE: FieldType = FieldType::Text;
    fn value(&self) -> Value {
        Value::Text(self.clone())
    }
    fn peek(&self) -> Peek<'_> {
        Peek::Text(self)
    }
}

impl FieldValue for i64 {
    const TYPE: FieldType = FieldType::Int;
    fn value(&self) -> Value {
        Value::Int(*self)
    }
    fn peek(&self) -> Peek<'_> {
        Peek::Int(*self)
    }
}

impl FieldValue for f64 {
    const TYPE: FieldType = FieldType::Float;
    fn value(&self) -> Value {
        Value::Float(*self)
    }
    fn peek(&self) -> Peek<'_> {
        Peek::Float(*self)
    }
}

impl FieldValue for bool {
    const TYPE: FieldType = FieldType::Bool;
    fn value(&self) -> Value {
        Value::Bool(*self)
    }
    fn peek(&self) -> Peek<'_> {
        Peek::Bool(*self)
    }
}

impl FieldValue for Tri {
    const TYPE: FieldType = FieldType::Tri;
    fn value(&self) -> Value {
        Value::Text(self.name().to_owned())
    }
    fn peek(&self) -> Peek<'_> {
        Peek::Text(self.name())
    }
}

impl FieldValue for Vec<String> {
    const TYPE: FieldType = FieldType::TextList;
    fn value(&self) -> Value {
        Value::List(self.iter().cloned().map(Value::Text).collect())
    }
    fn peek(&self) -> Peek<'_> {
        Peek::Texts(self)
    }
}

impl FieldValue for Vec<i64> {
    const TYPE: FieldType = FieldType::IntList;
    fn value(&self) -> Value {
        Value::List(self.iter().copied().map(Value::Int).collect())
    }
    fn peek(&self) -> Peek<'_> {
        Peek::Ints(self)
    }
}

impl<T: FieldValue> FieldValue for Option<T> {
    const TYPE: FieldType = T::TYPE;
    const OPTIONAL: bool = true;
    fn value(&self) -> Value {
        self.as_ref().map_or(Value::Unknown, FieldValue::value)
    }
    fn peek(&self) -> Peek<'_> {
        self.as_ref().map_or(Peek::Unknown, FieldValue::peek)
    }
}
