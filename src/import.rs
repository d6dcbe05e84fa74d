//! Other people's recordings as events.
//!
//! One file a format under `import/`. Each reads a text and gives a [`crate::event::NewSession`];
//! nothing here writes to the store. Importing the same file twice makes two sessions: a case file
//! has no identity of its own. Our own export has, and is taken in once ([`jsonl`]).

pub mod case;
pub mod jsonl;
