//! The fallback for text that is not complete shell: words and separators only, so that program
//! and arguments are still known.

use super::build::Field;

/// A command found without a grammar.
#[derive(Debug, Default)]
pub(super) struct CrudeCommand {
    pub fields: Vec<Field>,
    pub more_follows: bool,
}

/// Splits a text at `;`, `&`, `|` and line ends outside quotes, and each part into words. An
/// unterminated quote runs to the end. Redirections and words of the grammar are left out.
pub(super) fn commands(text: &str) -> Vec<CrudeCommand> {
    let mut out: Vec<CrudeCommand> = Vec::new();
    let mut command = CrudeCommand::default();
    let mut word: Option<Field> = None;
    let mut target = false;
    let mut chars = text.chars().peekable();
    let end_word = |word: &mut Option<Field>, command: &mut CrudeCommand, target: &mut bool| {
        let Some(field) = word.take() else { return };
        let keyword = command.fields.is_empty() && !field.quoted && is_keyword(&field.text);
        if !std::mem::take(target) && !keyword {
            command.fields.push(field);
        }
    };
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\r' => end_word(&mut word, &mut command, &mut target),
            ';' | '|' | '\n' | '(' | ')' => {
                end_word(&mut word, &mut command, &mut target);
                target = false;
                out.push(std::mem::take(&mut command));
            }
            '&' if chars.peek() != Some(&'>') && !word_is_redirect(word.as_ref()) => {
                end_word(&mut word, &mut command, &mut target);
                target = false;
                out.push(std::mem::take(&mut command));
            }
            '>' | '<' => {
                if word
                    .as_ref()
                    .is_some_and(|field| field.text.parse::<u32>().is_ok())
                {
                    word = None;
                }
                end_word(&mut word, &mut command, &mut target);
                while matches!(chars.peek(), Some('>' | '<' | '&' | '-' | '|')) {
                    chars.next();
                }
                target = true;
            }
            '\'' | '"' => {
                let field = word.get_or_insert_with(|| Field::plain(""));
                field.quoted = true;
                while let Some(inner) = chars.next() {
                    if inner == c {
                        break;
                    }
                    field.quoted_blank |= inner.is_whitespace();
                    field.literal &= c == '\'' || !matches!(inner, '$' | '`');
                    match (inner, chars.peek()) {
                        ('\\', Some(&next))
                            if c == '"' && matches!(next, '"' | '\\' | '$' | '`') =>
                        {
                            field.text.push(next);
                            chars.next();
                        }
                        _ => field.text.push(inner),
                    }
                }
            }
            '\\' => {
                let field = word.get_or_insert_with(|| Field::plain(""));
                field.text.extend(chars.next().filter(|next| *next != '\n'));
            }
            c => {
                let field = word.get_or_insert_with(|| Field::plain(""));
                field.literal &= !matches!(c, '$' | '`' | '*' | '?' | '[' | '{');
                field.text.push(c);
            }
        }
    }
    end_word(&mut word, &mut command, &mut target);
    out.push(command);
    out.retain(|command| !command.fields.is_empty());
    let count = out.len();
    for (number, command) in out.iter_mut().enumerate() {
        command.more_follows = number + 1 < count;
    }
    out
}

fn word_is_redirect(word: Option<&Field>) -> bool {
    word.is_some_and(|field| field.text.ends_with('>'))
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "if" | "then"
            | "else"
            | "elif"
            | "fi"
            | "while"
            | "until"
            | "do"
            | "done"
            | "{"
            | "}"
            | "!"
            | "time"
            | "esac"
    )
}
