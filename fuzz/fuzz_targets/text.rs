//! Any bytes are a terminal's: they become lines without a panic and in bounded work, no line holds
//! an escape, each says which bytes it shows, and text without controls is left as it is.

#![no_main]

use casebook::text::{MAX_LINE_BYTES, lines, plain};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let shown = lines(bytes);
    let len = bytes.len() as u64;
    let mut reach = (0, 0);
    for line in &shown {
        assert!(line.from <= line.to && line.to <= len);
        assert!(line.from >= reach.0 && line.to >= reach.1, "spans go back");
        reach = (line.from, line.to);
        assert!(line.text.len() <= MAX_LINE_BYTES);
        assert!(!line.text.contains(['\x1b', '\n', '\r']), "{:?}", line.text);
        for state in &line.states {
            assert!(state.from <= state.to && state.to <= len);
        }
        let (text, from, to) = line.last_written();
        assert!(from <= to && to <= len && !text.contains(['\x1b', '\n', '\r']));
    }
    assert!(shown.is_empty() || reach.1 == len || bytes.contains(&0x1b), "bytes without a line");
    let text = plain(bytes);
    // Nothing grows out of nothing: a line of blanks may be drawn by a cursor that moved right.
    assert!(text.len() <= bytes.len() * 3 + shown.len() * MAX_LINE_BYTES);
    let controls = |byte: &u8| (*byte < b' ' && *byte != b'\n' && *byte != b'\t') || *byte == 0x7f;
    if !bytes.iter().any(controls) && bytes.len() < MAX_LINE_BYTES {
        let same = String::from_utf8_lossy(bytes);
        // C1 controls in UTF-8 are controls as well.
        if !same.contains(|char| ('\u{80}'..='\u{9f}').contains(&char)) {
            assert_eq!(text, same);
        }
    }
});
