//! What is wrong in an expression before it is read: brackets, quotes, size; and words for what the
//! parser says.

use super::Problem;

/// The first bracket or quote that has no other half.
pub(super) fn unbalanced(text: &str) -> Option<Problem> {
    let problem = |offset, message: String, hint: String| {
        Some(Problem {
            offset,
            message,
            hint: Some(hint),
        })
    };
    let mut open: Vec<(usize, char, char)> = Vec::new();
    let mut chars = text.char_indices();
    let mut before = ' ';
    while let Some((at, c)) = chars.next() {
        let closing = match c {
            '(' => Some(')'),
            '[' => Some(']'),
            '{' => Some('}'),
            _ => None,
        };
        if let Some(closing) = closing {
            open.push((at, c, closing));
        }
        match c {
            ')' | ']' | '}' => match open.pop() {
                Some((_, _, closing)) if closing == c => {}
                Some((_, opening, closing)) => {
                    return problem(
                        at,
                        format!("`{c}` does not close the `{opening}` before it"),
                        format!("write `{closing}` here, or close that first"),
                    );
                }
                None => {
                    return problem(
                        at,
                        format!("this `{c}` closes nothing"),
                        "take it out, or open it before".to_owned(),
                    );
                }
            },
            '\'' | '"' => {
                let raw = matches!(before, 'r' | 'R');
                let mut closed = false;
                while let Some((_, inner)) = chars.next() {
                    if inner == '\\' && !raw {
                        chars.next();
                    } else if inner == c {
                        closed = true;
                        break;
                    }
                }
                if !closed {
                    return problem(
                        at,
                        format!("this {c} is never closed"),
                        format!("add a {c} at the end of the text"),
                    );
                }
            }
            _ => {}
        }
        before = c;
    }
    let (at, opening, closing) = *open.first()?;
    let missing: String = open.iter().rev().map(|(_, _, closing)| *closing).collect();
    let message = if open.len() == 1 {
        format!("this `{opening}` is never closed")
    } else {
        format!("{} brackets are never closed, this one first", open.len())
    };
    let hint = if open.len() == 1 {
        format!("add `{closing}`")
    } else {
        format!("add `{missing}`")
    };
    problem(at, message, hint)
}

/// What is too much for one expression: the parser and all that walks its tree recurse, so length
/// and nesting are bounded before it begins.
pub(super) fn too_much(text: &str) -> Option<String> {
    const LONGEST: usize = 4_096;
    const DEEPEST: usize = 8;
    const MOST: usize = 180;
    if text.len() > LONGEST {
        return Some(format!("this expression is longer than {LONGEST} bytes"));
    }
    let (mut depth, mut operators) = (0_usize, 0_usize);
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, '!' | '-' | '+' | '*' | '/' | '%' | '?') => operators += 3,
            (None, '.') => operators += 1,
            _ => {}
        }
        if depth > DEEPEST {
            return Some(format!("this expression is nested deeper than {DEEPEST}"));
        }
    }
    (operators > MOST).then(|| "this expression has too many operators".to_owned())
}

pub(super) fn syntax_problems(text: &str, errors: &cel::ParseErrors) -> Vec<Problem> {
    let first = errors.errors.first();
    let (line, column) = first.map_or((1, 0), |error| error.pos);
    let mut offset = 0;
    for (index, row) in text.split_inclusive('\n').enumerate() {
        if isize::try_from(index + 1).is_ok_and(|number| number == line) {
            break;
        }
        offset += row.len();
    }
    offset += usize::try_from(column.max(1) - 1).unwrap_or(0);
    let hint = syntax_hint(text);
    let message = first.map_or("syntax error", |error| error.msg.as_str());
    let message = message.strip_prefix("Syntax error: ").unwrap_or(message);
    vec![Problem {
        offset: offset.min(text.len()),
        message: format!("syntax: {message}"),
        hint,
    }]
}

/// A hint for what people write by habit.
fn syntax_hint(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let lone_equals = bytes.iter().enumerate().any(|(at, byte)| {
        *byte == b'='
            && bytes.get(at + 1) != Some(&b'=')
            && (at == 0 || !matches!(bytes.get(at - 1), Some(b'=' | b'!' | b'<' | b'>')))
    });
    let has = |word: &str| text.split_whitespace().any(|part| part == word);
    if lone_equals {
        Some("equality is written `==`".to_owned())
    } else if has("and") {
        Some("`and` is written `&&`".to_owned())
    } else if has("or") {
        Some("`or` is written `||`".to_owned())
    } else if has("not") {
        Some("`not` is written `!`".to_owned())
    } else {
        None
    }
}
