//! Expressions: CEL in syntax, checked against the fact catalogue, three-valued.

/// A checked expression.
#[derive(Debug, Clone)]
pub struct Expr {}
