//! Text put together for a terminal: wrapping, lines, and nothing that steers it.

/// Columns a text takes: characters, which is right for all but wide scripts.
pub(super) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a text into lines of at most `width` columns, at spaces; a longer word stays whole.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && columns(&line) + 1 + columns(word) > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Lines of text being put together.
#[derive(Debug, Default)]
pub(super) struct Page {
    out: String,
}

impl Page {
    /// Adds a line.
    pub(super) fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    /// Adds an empty line, unless one stands there or nothing does.
    pub(super) fn gap(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// The text.
    pub(super) fn text(self) -> String {
        self.out
    }
}
