//! Constant patterns of the probes.

use regex::Regex;

/// Compiles a pattern written in this program.
///
/// # Panics
/// When it is no pattern; a test of its module uses each.
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| panic!("constant pattern {text}: {error}"))
}
