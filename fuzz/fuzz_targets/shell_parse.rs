//! Any text is a command line: it parses in bounded work, the tree holds together, and what is asked
//! of a tree is answered.
#![no_main]

use casebook::shell;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let tree = shell::parse(text);
    assert!(tree.invocations.len() <= 4096 && tree.complaints.len() <= 64);
    for (at, one) in tree.invocations.iter().enumerate() {
        assert_eq!(one.index, at);
        assert!(one.parent.is_none_or(|parent| parent < at));
        assert!(one.shell < tree.shells.len());
        tree.outflow(at);
        assert!(tree.hop_chain(at).len() <= 128);
    }
    for index in tree.launches.iter().map(|launch| launch.invocation) {
        assert!(index < tree.invocations.len());
    }
    for warning in shell::warnings::warnings(&tree) {
        if let Some(instead) = warning.instead {
            let again = shell::parse(&instead);
            assert!(again.complaints.is_empty());
            assert_eq!(shell::warnings::warnings(&again), []);
        }
    }
    // A text through one more shell is the same text.
    let word = text.get(..text.floor_char_boundary(200)).unwrap_or("");
    if !word.contains(['\0', '\u{f8f0}', '\u{f8f1}']) {
        let line = format!(
            "ssh h {}",
            shell::quote::quote(&shell::quote::join(&["p".to_owned(), word.to_owned()]))
        );
        let read = shell::parse(&line);
        let leaf = read.leaves().last().and_then(|one| one.words.get(1));
        assert_eq!(leaf.map(|word| word.text.as_str()), Some(word));
    }
    shell::safety::safety(text);
});
