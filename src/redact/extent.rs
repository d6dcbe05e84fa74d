//! How far a secret reaches, once it has begun.

use super::rules::Class;

/// How far a secret reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// As long as its bytes are of a class.
    Run(Class),
    /// To a blank, a quote, or what sets words apart.
    Word,
    /// To a blank or a quote.
    Field,
    /// To this quote, unescaped, or the line's end.
    Quoted(u8),
    /// To this quote behind a backslash, or the line's end.
    Escaped(u8),
    /// To the line's end.
    Line,
    /// To a NUL or the line's end.
    Null,
    /// To this byte, a blank or a quote.
    Until(u8),
    /// A private key, to the line that ends it.
    Pem,
}

impl Extent {
    /// Where it ends, when it begins at `from`; the text's end when nothing ends it.
    pub(super) fn end(self, text: &[u8], from: usize) -> usize {
        let rest = text.get(from..).unwrap_or_default();
        let find = |ends: &dyn Fn(u8) -> bool| {
            rest.iter()
                .position(|byte| ends(*byte))
                .map_or(text.len(), |at| from + at)
        };
        match self {
            Self::Run(class) => find(&|byte| !class.holds(byte)),
            Self::Field => find(&is_blank_or_quote),
            Self::Until(stop) => find(&|byte| byte == stop || is_blank_or_quote(byte)),
            Self::Line => find(&|byte| is_line_end(byte) || byte == 0),
            Self::Null => find(&|byte| byte == 0 || byte == b'\n'),
            Self::Word => {
                let mut at = from;
                while let Some(byte) = text.get(at) {
                    let ends = is_blank_or_quote(*byte)
                        || matches!(
                            byte,
                            b',' | b';' | b'&' | b'|' | b')' | b'<' | b'>' | b']' | b'}'
                        );
                    let escape = *byte == b'\\'
                        && matches!(
                            text.get(at + 1),
                            Some(b'n' | b'r' | b't' | b'"' | b'\'' | b'u')
                        );
                    if ends || escape {
                        break;
                    }
                    at += 1;
                }
                at
            }
            Self::Quoted(quote) => {
                let mut at = from;
                while let Some(byte) = text.get(at) {
                    if *byte == quote || is_line_end(*byte) || *byte == 0 {
                        break;
                    }
                    at += if *byte == b'\\' && quote != b'\'' {
                        2
                    } else {
                        1
                    };
                }
                at.min(text.len())
            }
            Self::Escaped(quote) => {
                let mut at = from;
                while let Some(byte) = text.get(at) {
                    let closes = *byte == b'\\' && text.get(at + 1) == Some(&quote);
                    if closes || is_line_end(*byte) || *byte == 0 {
                        break;
                    }
                    at += 1;
                }
                at
            }
            Self::Pem => pem_end(text, from),
        }
    }
}

/// What ends a line, or takes the cursor back to its beginning.
pub(super) fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// What ends a word whichever way it is written.
pub(super) fn is_blank_or_quote(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0 | b'"' | b'\'' | b'`')
}

/// Where the text of a private key ends: at its last line, or at what cannot be part of one.
fn pem_end(text: &[u8], from: usize) -> usize {
    let mut at = from;
    let mut lines = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'-' if text
                .get(at..)
                .is_some_and(|rest| rest.starts_with(b"-----")) =>
            {
                break;
            }
            // Five dashes that are cut.
            b'-' if text
                .get(at..)
                .is_some_and(|rest| b"-----".starts_with(rest)) =>
            {
                return text.len();
            }
            b'\n' => lines += 1,
            b'\r' | b' ' | b'\t' | b'+' | b'/' | b'=' | b'\\' | b':' | b',' | b'-' | b'"'
            | b'>' | b'|' => {}
            byte if byte.is_ascii_alphanumeric() => {}
            _ => break,
        }
        if lines > 2000 {
            break;
        }
        at += 1;
    }
    at
}
