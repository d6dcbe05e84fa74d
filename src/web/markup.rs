//! Text that is already HTML, made only by this module's own escaping.

use std::fmt;

use askama::filters::HtmlSafe;

/// HTML that templates write as it is.
///
/// There is no public way to make one from a text: it grows by [`Markup::text`], which escapes, and
/// by [`Markup::tag`], which takes only texts known at compile time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markup(String);

impl Markup {
    /// Appends a text, escaped.
    pub fn text(&mut self, text: &str) {
        for character in text.chars() {
            self.character(character);
        }
    }

    /// Appends a character, escaped. Characters that turn the reading direction or draw nothing are
    /// shown by their number: they could make a command look like another one.
    pub fn character(&mut self, character: char) {
        match character {
            '&' => self.0.push_str("&#38;"),
            '<' => self.0.push_str("&#60;"),
            '>' => self.0.push_str("&#62;"),
            '"' => self.0.push_str("&#34;"),
            '\'' => self.0.push_str("&#39;"),
            '\t' | '\n' => self.0.push(character),
            hidden if is_hidden(hidden) => {
                let number = u32::from(hidden);
                self.0.push_str("<i class=\"u\">");
                self.0.push_str(&format!("U+{number:04X}"));
                self.0.push_str("</i>");
            }
            shown => self.0.push(shown),
        }
    }

    /// Appends HTML that is written in this program.
    pub fn tag(&mut self, html: &'static str) {
        self.0.push_str(html);
    }

    /// Appends a number.
    pub fn number(&mut self, number: usize) {
        self.0.push_str(&number.to_string());
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The HTML.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes what comrak made of a Markdown text with raw HTML off (see [`super::postmortem`]).
    pub(super) fn of_comrak(html: String) -> Self {
        Self(html)
    }
}

/// Controls, direction marks and invisible characters.
fn is_hidden(character: char) -> bool {
    matches!(character,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{61c}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A recorded text as HTML, with hidden characters shown.
pub fn plain(text: &str) -> Markup {
    let mut markup = Markup::default();
    markup.text(text);
    markup
}

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Markup {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_text_around_is_shown_by_number() {
        assert_eq!(
            plain("a\u{202e}<b>").as_str(),
            "a<i class=\"u\">U+202E</i>&#60;b&#62;"
        );
    }
}
