//! Errors for people: words, hints, exit code. The one place where they are put on standard error.

use std::fmt;

use crate::capture::sys::words;
use crate::diagnosis::words::tame;
use crate::export::jsonl::ExportError;
use crate::index::IndexError;
use crate::projection::IngestError;
use crate::projection::forget::ForgetError;
use crate::store::{RestoreError, StoreError};

/// Whose fault it is, which decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The way it was asked: exit 2.
    Usage,
    /// Anything else of ours: exit 1.
    Ours,
}

/// A failure of a verb, with what to do about it.
#[derive(Debug)]
pub struct CommandError {
    /// Whose fault.
    pub kind: Kind,
    /// What happened and where.
    pub source: anyhow::Error,
    /// What to do.
    pub hints: Vec<String>,
}

impl CommandError {
    /// The way it was asked was wrong.
    pub fn usage(text: impl fmt::Display) -> Self {
        Self {
            kind: Kind::Usage,
            source: anyhow::anyhow!("{text}"),
            hints: Vec::new(),
        }
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        if !self.hints.contains(&text) {
            self.hints.push(text);
        }
        self
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        match self.kind {
            Kind::Usage => 2,
            Kind::Ours => 1,
        }
    }

    /// The message as it stands on standard error, hints below.
    pub fn render(&self) -> String {
        let mut text = format!("rec: {}", self.source);
        let mut last = self.source.to_string();
        for cause in self.source.chain().skip(1) {
            // The system's words, without its numbers.
            let cause = match cause.downcast_ref() {
                Some(refusal) => words(refusal),
                None => cause.to_string(),
            };
            if !last.contains(&cause) {
                text.push_str(": ");
                text.push_str(&cause);
            }
            last = cause;
        }
        for hint in &self.hints {
            text.push_str("\n     ");
            text.push_str(hint);
        }
        text
    }
}

impl<E: Into<anyhow::Error>> From<E> for CommandError {
    fn from(error: E) -> Self {
        let source = error.into();
        let hints = match source.downcast_ref() {
            Some(StoreError::NotFound { what, .. }) => where_to_look(what),
            _ => Vec::new(),
        };
        Self {
            kind: Kind::Ours,
            source,
            hints,
        }
    }
}

/// A text as it may stand on a terminal: its lines stay, and nothing in them steers. Everything that
/// goes to standard error goes through here.
pub fn plain(text: &str) -> String {
    text.split('\n').map(tame).collect::<Vec<_>>().join("\n")
}

/// What is wrong with the database, where an error says that it is damaged.
pub fn damage(error: &CommandError) -> Option<&str> {
    fn of(error: &StoreError) -> Option<&str> {
        match error {
            StoreError::Damaged { why, .. } => Some(why),
            _ => None,
        }
    }
    // Errors that hand another's words on stand before it in the chain, and hide it.
    error.source.chain().find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<StoreError>() {
            return of(error);
        }
        if let Some(IngestError::Store(error)) = cause.downcast_ref() {
            return of(error);
        }
        if let Some(IndexError::Store(error)) = cause.downcast_ref() {
            return of(error);
        }
        if let Some(ForgetError::Store(error)) = cause.downcast_ref() {
            return of(error);
        }
        if let Some(ExportError::Store(error)) = cause.downcast_ref() {
            return of(error);
        }
        match cause.downcast_ref() {
            Some(RestoreError::Store(error)) => of(error),
            _ => None,
        }
    })
}

/// What lists the names of such things.
fn where_to_look(what: &str) -> Vec<String> {
    let words = match what {
        "session" => "`rec sessions` lists them",
        "command" => "`rec timeline` lists a session's; `rec show N --session S` takes another's",
        "finding" => "`rec why` lists them",
        _ => return Vec::new(),
    };
    vec![words.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_said_steers_the_terminal() {
        assert_eq!(
            plain("rec: no\u{1b}[31m\u{202e}\n     tab\there"),
            "rec: no\u{fffd}[31m\u{fffd}\n     tab here"
        );
    }

    #[test]
    fn says_each_cause_once_and_the_hint_below() {
        let inner = std::io::Error::other("disk on fire");
        let error = CommandError::from(anyhow::Error::new(inner).context("cannot open rec.db"))
            .hint("put it out");
        assert_eq!(
            error.render(),
            "rec: cannot open rec.db: disk on fire\n     put it out"
        );
    }
}
