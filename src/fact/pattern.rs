//! Patterns of looks (`pgrep -f X`, `pkill X`), each compiled once.

use std::cell::RefCell;
use std::collections::HashMap;

use regex::Regex;

/// Patterns kept, at most.
const MOST: usize = 512;

thread_local! {
    /// What was compiled: it changes no answer, only how long one takes.
    static KNOWN: RefCell<HashMap<String, Option<Regex>>> = RefCell::default();
}

/// Whether a pattern is found in a text; `None` when it is no pattern.
pub fn found(pattern: &str, text: &str) -> Option<bool> {
    if !pattern.contains(|c: char| "\\.+*?()|[]{}^$".contains(c)) {
        return Some(text.contains(pattern));
    }
    KNOWN.with_borrow_mut(|known| {
        if let Some(regex) = known.get(pattern) {
            return regex.as_ref().map(|regex| regex.is_match(text));
        }
        if known.len() >= MOST {
            known.clear();
        }
        let regex = Regex::new(pattern).ok();
        let answer = regex.as_ref().map(|regex| regex.is_match(text));
        known.insert(pattern.to_owned(), regex);
        answer
    })
}

#[cfg(test)]
mod tests {
    use super::found;

    #[test]
    fn patterns_and_plain_texts_are_found() {
        assert_eq!(found("serve", "python serve.py"), Some(true));
        assert_eq!(found("[s]erve", "python serve.py"), Some(true));
        assert_eq!(found("^serve", "python serve.py"), Some(false));
        assert_eq!(found("serve(", "serve("), None);
        assert_eq!(found("serve(", "serve("), None, "asked again");
    }
}
