//! Sessions for other programs and people: one file a format under `export/`.

pub mod jsonl;
pub mod markdown;
