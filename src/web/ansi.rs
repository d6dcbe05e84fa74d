//! Terminal output → lines of HTML: colours as classes, everything else escaped.
//!
//! A line is what a terminal of unlimited width would show of it in the end: `\r` and backspace go
//! back, erasing erases, cursor movement within the line is followed. Movement between lines, titles
//! and hyperlinks are dropped. Raw bytes keep their place: every line knows its byte range in the
//! stream, so that a fact's span can be found again.

use vte::{Params, Parser, Perform};

use super::markup::Markup;

/// Characters of a line that are shown; the rest is counted.
const WIDTH: usize = 4_000;

/// A line of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number in the stream, from 1.
    pub number: usize,
    /// Its first byte.
    pub from: u64,
    /// One past its last byte, the line feed included.
    pub to: u64,
    /// What it shows.
    pub html: Markup,
    /// Characters that were not kept because the line is too long.
    pub cut: usize,
}

/// Where the lines of a stream begin: cheap, for choosing which to render.
pub fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![0];
    starts.extend(
        bytes
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(place, _)| place + 1),
    );
    if starts.last() == Some(&bytes.len()) {
        starts.pop();
    }
    starts
}

/// Renders a stretch of a stream. `offset` is where it lies in its stream, `first` the number of its
/// first line.
pub fn render(bytes: &[u8], offset: u64, first: usize) -> Vec<Line> {
    let mut parser = Parser::new();
    let mut row = Row::default();
    let mut lines = Vec::new();
    let mut at = offset;
    for raw in bytes.split_inclusive(|byte| *byte == b'\n') {
        let shown = raw.strip_suffix(b"\n").unwrap_or(raw);
        parser.advance(&mut row, shown);
        let to = at + raw.len() as u64;
        lines.push(Line {
            number: first + lines.len(),
            from: at,
            to,
            html: row.html(),
            cut: row.cut,
        });
        row.next_line();
        at = to;
    }
    lines
}

/// How a character is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Style {
    front: Option<u8>,
    back: Option<u8>,
    bold: bool,
    faint: bool,
    italic: bool,
    underline: bool,
    struck: bool,
    reverse: bool,
}

const FRONT: [&str; 16] = [
    "f0 ", "f1 ", "f2 ", "f3 ", "f4 ", "f5 ", "f6 ", "f7 ", "f8 ", "f9 ", "f10 ", "f11 ", "f12 ",
    "f13 ", "f14 ", "f15 ",
];
const BACK: [&str; 16] = [
    "g0 ", "g1 ", "g2 ", "g3 ", "g4 ", "g5 ", "g6 ", "g7 ", "g8 ", "g9 ", "g10 ", "g11 ", "g12 ",
    "g13 ", "g14 ", "g15 ",
];

impl Style {
    fn open(self, markup: &mut Markup) {
        markup.tag("<span class=\"");
        if let Some(class) = self.front.and_then(|colour| FRONT.get(usize::from(colour))) {
            markup.tag(class);
        }
        if let Some(class) = self.back.and_then(|colour| BACK.get(usize::from(colour))) {
            markup.tag(class);
        }
        for (is_set, class) in [
            (self.bold, "sb "),
            (self.faint, "sf "),
            (self.italic, "si "),
            (self.underline, "su "),
            (self.struck, "ss "),
            (self.reverse, "sv "),
        ] {
            if is_set {
                markup.tag(class);
            }
        }
        markup.tag("\">");
    }

    fn select(&mut self, codes: &[u16]) {
        let mut rest = codes.iter().copied();
        while let Some(code) = rest.next() {
            match code {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.faint = true,
                3 => self.italic = true,
                4 => self.underline = true,
                7 => self.reverse = true,
                9 => self.struck = true,
                22 => (self.bold, self.faint) = (false, false),
                23 => self.italic = false,
                24 => self.underline = false,
                27 => self.reverse = false,
                29 => self.struck = false,
                30..=37 => self.front = u8::try_from(code - 30).ok(),
                38 => self.front = extended(&mut rest),
                39 => self.front = None,
                40..=47 => self.back = u8::try_from(code - 40).ok(),
                48 => self.back = extended(&mut rest),
                49 => self.back = None,
                90..=97 => self.front = u8::try_from(code - 82).ok(),
                100..=107 => self.back = u8::try_from(code - 92).ok(),
                _ => {}
            }
        }
    }
}

/// `38;5;N` and `38;2;R;G;B`, brought to the nearest of sixteen.
fn extended(rest: &mut impl Iterator<Item = u16>) -> Option<u8> {
    match rest.next()? {
        5 => match rest.next()? {
            basic @ 0..=15 => u8::try_from(basic).ok(),
            cube @ 16..=231 => {
                let cube = cube - 16;
                Some(nearest(cube / 36 * 51, cube / 6 % 6 * 51, cube % 6 * 51))
            }
            grey => {
                let level = (grey.min(255) - 232) * 10 + 8;
                Some(nearest(level, level, level))
            }
        },
        2 => {
            let (red, green, blue) = (rest.next()?, rest.next()?, rest.next()?);
            Some(nearest(red, green, blue))
        }
        _ => None,
    }
}

fn nearest(red: u16, green: u16, blue: u16) -> u8 {
    let top = red.max(green).max(blue);
    if top < 64 {
        return 0;
    }
    let half = top / 2;
    let hue = u8::from(red > half) | u8::from(green > half) << 1 | u8::from(blue > half) << 2;
    match (hue, top) {
        (7, 0..=160) => 8,
        (_, 201..) => hue + 8,
        _ => hue,
    }
}

/// The line being drawn.
#[derive(Default)]
struct Row {
    cells: Vec<(char, Style)>,
    column: usize,
    style: Style,
    cut: usize,
}

impl Row {
    fn next_line(&mut self) {
        self.cells.clear();
        self.column = 0;
        self.cut = 0;
    }

    fn html(&self) -> Markup {
        let mut markup = Markup::default();
        let mut open: Option<Style> = None;
        let end = self
            .cells
            .iter()
            .rposition(|(character, style)| *character != ' ' || *style != Style::default())
            .map_or(0, |last| last + 1);
        for (character, style) in self.cells.iter().take(end) {
            if open.unwrap_or_default() != *style {
                if open.is_some() {
                    markup.tag("</span>");
                }
                open = (*style != Style::default()).then_some(*style);
                if let Some(style) = open {
                    style.open(&mut markup);
                }
            }
            markup.character(*character);
        }
        if open.is_some() {
            markup.tag("</span>");
        }
        markup
    }

    fn erase(&mut self, how: u16) {
        match how {
            0 => self.cells.truncate(self.column),
            1 => {
                let upto = (self.column + 1).min(self.cells.len());
                for cell in self.cells.iter_mut().take(upto) {
                    *cell = (' ', Style::default());
                }
            }
            _ => self.cells.clear(),
        }
    }
}

impl Perform for Row {
    fn print(&mut self, character: char) {
        if self.column >= WIDTH {
            self.cut += 1;
            return;
        }
        if self.column > self.cells.len() {
            self.cells.resize(self.column, (' ', Style::default()));
        }
        match self.cells.get_mut(self.column) {
            Some(cell) => *cell = (character, self.style),
            None => self.cells.push((character, self.style)),
        }
        self.column += 1;
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\r' => {
                self.column = 0;
                self.cut = 0;
            }
            0x08 => self.column = self.column.saturating_sub(1),
            b'\t' => {
                let stop = (self.column / 8 + 1) * 8;
                while self.column < stop.min(WIDTH) {
                    if self.column >= self.cells.len() {
                        self.cells.push((' ', self.style));
                    }
                    self.column += 1;
                }
            }
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, marks: &[u8], _ignore: bool, action: char) {
        let codes: Vec<u16> = params.iter().flatten().copied().collect();
        let first = codes.first().copied().unwrap_or(0);
        let steps = usize::from(first.max(1));
        match action {
            'm' if marks.is_empty() => self.style.select(&codes),
            'K' => self.erase(first),
            'C' => self.column = (self.column + steps).min(WIDTH),
            'D' => self.column = self.column.saturating_sub(steps),
            'G' => self.column = (steps - 1).min(WIDTH),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn html(bytes: &[u8]) -> String {
        render(bytes, 0, 1)
            .iter()
            .map(|line| line.html.as_str().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn colours_become_classes() {
        assert_eq!(
            html(b"a \x1b[1;31mred\x1b[0m b"),
            "a <span class=\"f1 sb \">red</span> b"
        );
        assert_eq!(
            html(b"\x1b[38;2;250;20;20mx"),
            "<span class=\"f9 \">x</span>"
        );
        assert_eq!(html(b"\x1b[38;5;999mx"), "<span class=\"f15 \">x</span>");
    }

    #[test]
    fn a_bar_shows_its_last_state() {
        assert_eq!(html(b" 10%|#   |\r 90%|### |\n"), " 90%|### |");
        assert_eq!(html(b"long text\r\x1b[Kab"), "ab");
    }

    #[test]
    fn markup_in_output_is_text() {
        assert_eq!(
            html(b"<script>alert('1')</script>\x1b]8;;javascript:x\x07link"),
            "&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;link"
        );
    }

    #[test]
    fn lines_keep_their_bytes() {
        let lines = render(b"one\ntwo\n", 100, 7);
        assert_eq!((lines[1].from, lines[1].to, lines[1].number), (104, 108, 8));
        assert_eq!(line_starts(b"one\ntwo\n"), [0, 4]);
        assert_eq!(line_starts(b"one\ntwo"), [0, 4]);
    }

    /// All tags of a text, by our own reading: only ours may be there.
    fn only_our_tags(html: &str) -> bool {
        let mut depth = 0_i32;
        let mut rest = html;
        while let Some(place) = rest.find('<') {
            rest = &rest[place..];
            let Some(end) = rest.find('>') else {
                return false;
            };
            let tag = &rest[..=end];
            let known = match tag {
                "</span>" | "</i>" => {
                    depth -= 1;
                    true
                }
                "<i class=\"u\">" => {
                    depth += 1;
                    true
                }
                _ => {
                    depth += 1;
                    tag.strip_prefix("<span class=\"")
                        .and_then(|tag| tag.strip_suffix("\">"))
                        .is_some_and(|classes| {
                            classes
                                .chars()
                                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == ' ')
                        })
                }
            };
            if !known || depth < 0 {
                return false;
            }
            rest = &rest[end + 1..];
        }
        depth == 0 && !html.contains(['"', '\'']) | html.contains("class=")
    }

    proptest! {
        #[test]
        fn nothing_escapes_from_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            for line in render(&bytes, 0, 1) {
                prop_assert!(only_our_tags(line.html.as_str()), "{}", line.html.as_str());
            }
        }

        #[test]
        fn nothing_escapes_from_hostile_text(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("<script>".to_owned()), Just("\x1b[".to_owned()), Just("31m".to_owned()),
                    Just("\">".to_owned()), Just("'".to_owned()), Just("\x1b]0;".to_owned()),
                    Just("\r".to_owned()), Just("\n".to_owned()), Just("&lt;".to_owned()),
                    Just("\x1b[38;5;".to_owned()), Just("\u{202e}".to_owned()), ".{0,6}",
                ],
                0..40,
            )
        ) {
            let text = parts.concat();
            let lines = render(text.as_bytes(), 0, 1);
            for line in &lines {
                prop_assert!(only_our_tags(line.html.as_str()), "{}", line.html.as_str());
            }
            let total: u64 = lines.iter().map(|line| line.to - line.from).sum();
            prop_assert_eq!(total, text.len() as u64);
        }
    }
}
