//! Secrets in command lines and output, masked before anything is kept.
//!
//! Only the value goes; in its place stands `__masked.RULE.xxxxxxxx__`: the rule that found it, and
//! eight hexadecimal digits of a keyed hash of it, so that equal secrets are seen to be equal and
//! nothing can be tried against them without the store's key. The form needs no quoting in a shell,
//! in YAML, in JSON or in an address, and is itself never taken for a secret.
//!
//! Two ways lead to a secret: how it begins (`rules.rs`), and what it stands beside (`names.rs` for
//! names, `argv.rs` for the words of programs, `places.rs` for headers, addresses and keys). `find.rs`
//! finds where one may begin, `scan.rs` reads on from there; `stream.rs` does so while the text is still
//! coming; `line.rs` adds what the shell's grammar knows of a command line.

mod argv;
mod extent;
mod find;
mod line;
mod names;
mod places;
mod rules;
mod scan;
mod stream;
mod values;
mod view;

use std::fmt;
use std::sync::Arc;

use extent::Extent;
use scan::{End, Found};
use values::Written;

pub use line::Known;
pub use stream::{HOLD_BYTES, Streamer};

/// What every mask begins with.
pub const MARK: &str = "__masked.";
const MARK_END: &str = "__";

/// Gives the key of fingerprints; asked only when something is masked.
pub trait Keys: Send + Sync {
    /// The store's key.
    fn key(&self) -> [u8; 32];
}

/// Keys that are no secret: for tests, and for text of which nothing is kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoKeys;

impl Keys for NoKeys {
    fn key(&self) -> [u8; 32] {
        [0; 32]
    }
}

/// Writes what stands in a secret's place.
#[derive(Clone)]
pub struct Marker(Arc<dyn Keys>);

impl Default for Marker {
    fn default() -> Self {
        Self(Arc::new(NoKeys))
    }
}

impl fmt::Debug for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Marker")
    }
}

impl Marker {
    /// A marker whose fingerprints are made with these keys.
    pub fn new(keys: Arc<dyn Keys>) -> Self {
        Self(keys)
    }

    fn mark(&self, rule: &str, value: &[u8]) -> String {
        let hash = blake3::keyed_hash(&self.0.key(), value).to_hex();
        let print = hash.get(..8).unwrap_or_default();
        format!("{MARK}{rule}.{print}{MARK_END}")
    }

    /// Masks a text that is whole: a note, a title, an output that was recorded elsewhere.
    pub fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// As [`Self::text`], of bytes.
    pub fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = Streamer::new(self.clone(), None);
        let mut out = Vec::with_capacity(bytes.len());
        // In pieces, so that an escape sequence without end costs no more than its share.
        for piece in bytes.chunks(1 << 20) {
            stream.push(piece, &mut out);
        }
        stream.finish(&mut out);
        out
    }

    /// Masks a command line, by what its programs mean, and says which secrets it held.
    pub fn line(&self, line: &str) -> Line {
        let mut read = Line {
            marker: self.clone(),
            text: String::new(),
            known: line::secrets(line),
        };
        read.text = read.apply(line);
        read
    }
}

/// A command line, masked.
#[derive(Debug, Clone)]
pub struct Line {
    marker: Marker,
    text: String,
    known: Vec<Known>,
}

impl Line {
    /// The line as it may be kept.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The secrets it held.
    pub fn known(&self) -> &[Known] {
        &self.known
    }

    /// Masks a part of the same line, such as one of its words.
    pub fn apply(&self, text: &str) -> String {
        let bytes = text.as_bytes();
        let mut found: Vec<Found> = Vec::new();
        scan::scan(bytes, End::Last, Written::Typed, &mut found);
        for known in &self.known {
            for (from, to) in line::places(bytes, known) {
                found.push(Found {
                    from,
                    to,
                    rule: known.rule,
                    open: false,
                    extent: Extent::Word,
                });
            }
        }
        found.sort_by_key(|found| (found.from, std::cmp::Reverse(found.to)));
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        let mut spans: Vec<Found> = Vec::new();
        for found in found {
            match spans.last_mut() {
                Some(last) if found.from < last.to => last.to = last.to.max(found.to),
                _ => spans.push(found),
            }
        }
        for span in spans {
            let (Some(plain), Some(secret)) =
                (text.get(at..span.from), text.get(span.from..span.to))
            else {
                // Never within a character: all rules cut at ASCII.
                continue;
            };
            out.push_str(plain);
            let value = self.value(secret);
            out.push_str(&self.marker.mark(span.rule, value.as_bytes()));
            at = span.to;
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }

    /// A secret as its program gets it, where its quoting is known, for its fingerprint.
    fn value<'a>(&'a self, written: &'a str) -> &'a str {
        let same = |known: &&Known| {
            line::places(written.as_bytes(), &known.bare()) == [(0, written.len())]
        };
        self.known.iter().find(same).map_or(written, Known::secret)
    }
}

/// Texts that hold a secret that was made up, each with that secret: one of each rule of the table.
/// For tests and fuzzing.
pub fn samples() -> Vec<(String, String)> {
    rules::RULES
        .iter()
        .map(|rule| {
            let (name, begins) = if rule.apart {
                (rule.begins, "")
            } else {
                ("", rule.begins)
            };
            let secret = format!("{begins}{}", rule.sample);
            (format!("see {name}{secret} there\n"), secret)
        })
        .collect()
}

/// Whether a text holds a mask: then it cannot be run as it stands.
pub fn holds_mask(text: &str) -> bool {
    text.contains(MARK)
}

#[cfg(test)]
mod tests;
