//! Text as a YAML value: what is read back is what was written, byte for byte.

use std::fmt::Write;

/// A text as a YAML value under a key that is indented by `indent`.
///
/// Lines of plain text become a block; what a block cannot hold is quoted.
pub fn scalar(text: &str, indent: usize) -> String {
    if text.contains('\n') && fits_block(text) {
        return block(text, indent);
    }
    let printable = |c: char| !c.is_control() && !is_break(c);
    if text.contains(['"', '\\']) && text.chars().all(printable) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{1b}' => out.push_str("\\e"),
            c if printable(c) => out.push(c),
            c => {
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
        }
    }
    out.push('"');
    out
}

/// Characters that YAML takes for the end of a line, or for a mark of the file.
fn is_break(c: char) -> bool {
    matches!(
        c,
        '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
    )
}

fn fits_block(text: &str) -> bool {
    let plain = |c: char| c == '\n' || (!c.is_control() && !is_break(c));
    let starts_with_text = text.starts_with(|c: char| !c.is_whitespace());
    starts_with_text && text.chars().all(plain)
}

fn block(text: &str, indent: usize) -> String {
    let body = text.trim_end_matches('\n');
    let ends = text.len() - body.len();
    let mark = match ends {
        0 => "|-",
        1 => "|",
        _ => "|+",
    };
    let space = " ".repeat(indent + 2);
    let mut out = String::from(mark);
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            out.push_str(&space);
            out.push_str(line);
        }
    }
    // The last line's end is the key's own; `|+` keeps the rest.
    for _ in 1..ends {
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::scalar;

    fn read_back(text: &str) -> String {
        let yaml = format!("a:\n  - key: {}\n    next: 1\n", scalar(text, 4));
        let tree: serde_json::Value = serde_saphyr::from_str(&yaml)
            .unwrap_or_else(|error| panic!("{text:?}\n{yaml}\n{error}"));
        tree["a"][0]["key"].as_str().unwrap_or("no text").to_owned()
    }

    #[test]
    fn what_terminals_show_is_read_back() {
        for text in [
            "",
            "plain",
            "a: b # c",
            "two\nlines\n",
            "no end\nhere",
            "many ends\n\n\n",
            "\n\nfirst empty",
            " indented\nfirst",
            "trailing  \n spaces \n",
            "  50%|█████     | 5/10 [00:01<00:01]\r 100%\n",
            "\u{1b}[31mred\u{1b}[0m\n",
            "it's \"quoted\" \\ here",
            "tab\tin\nlines\t\n",
            "---\n...\n",
            "- a\n- b\n",
            "N",
            "no",
            "~",
            "{a}",
            "\u{85}\u{2028}\u{feff}\0",
            "# a\n# b\n",
            "a\n\n  b\n\nc",
        ] {
            assert_eq!(read_back(text), text);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_back(text in "([ a#:'\"\\\\\n\r\t-]|\\PC|\u{1b}|\u{7f}|\u{85}){0,40}") {
            prop_assert_eq!(read_back(&text), text);
        }
    }
}
