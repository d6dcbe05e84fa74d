//! Templates: text with holes (`{{K.host}}`) that are expressions.

/// A text with holes.
#[derive(Debug, Clone, Default)]
pub struct Template {}
