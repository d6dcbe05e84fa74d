//! The line renderer: one stream of bytes to lines, without a screen of a fixed size.
//!
//! It knows what programs that write logs and progress bars use: CR, BS, LF, erase in line, cursor
//! up and down within the last [`WINDOW`] lines, column moves. It has no width, so nothing wraps.
//! The lines already put out are the window: going back up re-opens one of them.

use memchr::{memchr, memchr2};

use super::pieces::{Body, piece, string_sequence};
use super::{FIRST_STATES, LAST_STATES, MAX_LINE_BYTES, State, TextLine, bytes_of, decode, offset};

/// How many lines the cursor can go back up.
const WINDOW: usize = 64;
/// A line that is re-opened, or edited in its middle, is cut at this many characters: no terminal is
/// wider, and hostile output must not make us copy long lines again and again.
const EDIT_WIDTH: usize = 400;
/// A row of the slow path is no longer than this, in characters.
const MAX_ROW: usize = MAX_LINE_BYTES / 4;

/// Renders `bytes`, which begin at `base` in their stream, and appends their lines.
pub(super) fn render(bytes: &[u8], base: u64, out: &mut Vec<TextLine>) {
    render_within(bytes, base, out, 0);
}

/// Renders; `depth` counts renderings of a line's states within a rendering.
fn render_within(bytes: &[u8], base: u64, out: &mut Vec<TextLine>, depth: u8) {
    if bytes.is_empty() {
        return;
    }
    let first = out.len();
    let mut rows = Rows::new(out, bytes, base);
    rows.depth = depth;
    let mut parser = vte::Parser::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        if rows.is_fresh() {
            let length = memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
            let line = rest.get(..length).unwrap_or(rest);
            if let Some(body) = Body::of(line) {
                rows.push_plain(&body, base + offset(at), base + offset(at + length));
                at += length;
                continue;
            }
        }
        let length = piece(rest);
        rows.here = base + offset(at);
        rows.there = base + offset(at + length);
        if let Some(skipped) = string_sequence(rest) {
            at += skipped;
            continue;
        }
        parser.advance(&mut rows, rest.get(..length).unwrap_or(rest));
        at += length;
    }
    // A letter whose end never came is shown as one that is wrong; NUL does nothing else.
    parser.advance(&mut rows, b"\0");
    rows.finish(base + offset(bytes.len()));
    // A line gone back to reaches further than those after it began; spans must not decrease.
    let (mut begin, mut reach) = (base, base);
    for line in out.iter_mut().skip(first) {
        line.from = line.from.max(begin);
        line.to = line.to.max(reach).max(line.from);
        (begin, reach) = (line.from, line.to);
    }
}

struct Rows<'o> {
    out: &'o mut Vec<TextLine>,
    /// All bytes, and where they begin in their stream.
    bytes: &'o [u8],
    base: u64,
    depth: u8,
    /// The first line of this rendering.
    first: usize,
    /// The first line the cursor may go up to.
    top: usize,
    /// The line the cursor is in; `out.len()` for one not put out yet.
    at: usize,
    /// Its characters, when they are at hand.
    row: Vec<char>,
    /// They are: a line gone back to is only read when something is written in it.
    loaded: bool,
    column: usize,
    /// Where the line not put out yet begins.
    from: u64,
    /// Something was written in it.
    written: bool,
    /// The current line was returned to its start (`\r`, or erased) and not written since.
    returned: bool,
    /// How many CR came just before.
    after_cr: usize,
    rewrites: u32,
    states: Vec<State>,
    /// Where the current state begins, and how wide it is.
    state_from: u64,
    state_width: usize,
    cut: bool,
    /// The piece at work: where it begins and ends.
    here: u64,
    there: u64,
}

impl<'o> Rows<'o> {
    fn new(out: &'o mut Vec<TextLine>, bytes: &'o [u8], base: u64) -> Self {
        let top = out.len();
        Self {
            out,
            bytes,
            base,
            depth: 0,
            first: top,
            top,
            at: top,
            row: Vec::new(),
            loaded: true,
            column: 0,
            from: base,
            written: false,
            returned: false,
            after_cr: 0,
            rewrites: 0,
            states: Vec::new(),
            state_from: base,
            state_width: 0,
            cut: false,
            here: base,
            there: base,
        }
    }

    /// At the start of a line that holds nothing yet, below all others.
    fn is_fresh(&self) -> bool {
        self.at == self.out.len() && self.row.is_empty() && self.column == 0 && !self.written
    }

    fn push_plain(&mut self, body: &Body<'_>, from: u64, to: u64) {
        let (text, cut) = decode(&body.text);
        // Escapes just before (a colour that was set, a row of nothing) belong to this line.
        let from = self.from.min(from);
        self.out.push(TextLine {
            text,
            from,
            to,
            cut,
            crlf: body.returns > 0,
            double_cr: body.returns > 1,
            ..TextLine::default()
        });
        self.at = self.out.len();
        self.begin_row(to);
    }

    /// Forgets the current row; the next one begins at `from`.
    fn begin_row(&mut self, from: u64) {
        self.row.clear();
        self.loaded = true;
        self.column = 0;
        self.from = from;
        self.written = false;
        self.begin_states(from);
        self.cut = false;
    }

    fn begin_states(&mut self, from: u64) {
        self.returned = false;
        self.after_cr = 0;
        self.rewrites = 0;
        self.states.clear();
        self.state_from = from;
        self.state_width = 0;
    }

    /// Brings the characters of a line gone back to at hand.
    fn load(&mut self) {
        if self.loaded {
            return;
        }
        self.row.clear();
        if let Some(line) = self.out.get_mut(self.at) {
            self.row.extend(line.text.chars().take(EDIT_WIDTH));
            self.states = std::mem::take(&mut line.states);
            self.rewrites = line.rewrites;
            self.cut = line.cut || line.text.len() > EDIT_WIDTH;
        }
        self.loaded = true;
        self.state_from = self.here;
        self.state_width = 0;
        // Its old text is a state of it; what comes now rewrites it.
        if self.states.is_empty()
            && let Some(line) = self.out.get(self.at)
            && !line.text.trim().is_empty()
        {
            self.keep(State {
                text: line.text.trim_end().to_owned(),
                from: line.from,
                to: line.to,
            });
        }
        self.rewrites = self.rewrites.saturating_add(1);
    }

    fn keep(&mut self, state: State) {
        self.states.push(state);
        if self.states.len() > FIRST_STATES + LAST_STATES {
            self.states.remove(FIRST_STATES);
        }
    }

    /// Ends the current state of the row, if it holds anything.
    fn close_state(&mut self, to: u64) {
        // Most states are dropped again: their text is made of their bytes when the row is done.
        if self.state_width > 0 && self.state_from < to {
            self.keep(State {
                text: String::new(),
                from: self.state_from,
                to,
            });
        }
        self.state_from = to;
        self.state_width = 0;
    }

    /// The cursor is back at the row's start; what is written next rewrites it.
    fn back_to_start(&mut self) {
        self.column = 0;
        if self.loaded && self.state_width > 0 {
            self.returned = true;
        }
    }

    fn before_write(&mut self) {
        self.load();
        if self.returned {
            self.returned = false;
            self.close_state(self.here);
            self.rewrites = self.rewrites.saturating_add(1);
        }
        self.after_cr = 0;
        self.written = true;
    }

    fn put(&mut self, ch: char) {
        if self.column >= MAX_ROW {
            self.cut = true;
            return;
        }
        while self.row.len() < self.column {
            self.row.push(' ');
        }
        match self.row.get_mut(self.column) {
            Some(cell) => *cell = ch,
            None => self.row.push(ch),
        }
        self.column += 1;
        self.state_width = self.state_width.max(self.column);
    }

    /// Puts the current row where it belongs, with its end at `to`.
    fn store(&mut self, to: u64, returns: usize) {
        if !self.loaded {
            return;
        }
        let mut text: String = self.row.iter().collect();
        if self.rewrites > 0 {
            self.close_state(to);
            text.truncate(text.trim_end().len());
        }
        let mut states = Vec::new();
        if self.rewrites > 0 {
            states = std::mem::take(&mut self.states);
            for state in &mut states {
                self.write_out(state);
            }
            states.retain(|state| !state.text.is_empty());
        }
        match self.out.get_mut(self.at) {
            Some(line) => {
                line.text = text;
                line.to = line.to.max(to);
                line.rewrites = self.rewrites;
                line.states = states;
                line.cut = self.cut;
            }
            None => self.out.push(TextLine {
                text,
                from: self.from,
                to,
                rewrites: self.rewrites,
                states,
                cut: self.cut,
                crlf: returns > 0,
                double_cr: returns > 1,
            }),
        }
    }

    /// Makes a state's text of its bytes.
    fn write_out(&self, state: &mut State) {
        if !state.text.is_empty() {
            return;
        }
        let bytes = bytes_of(
            self.bytes,
            state.from.saturating_sub(self.base),
            state.to.saturating_sub(self.base),
        );
        let end = bytes.len().min(MAX_LINE_BYTES);
        let mut lines = Vec::new();
        // What is inside a state has no return and no line of its own but its last.
        let mut inside = bytes.get(..end).unwrap_or(bytes).trim_ascii_end();
        while let Some(shorter) = inside.strip_prefix(b"\r") {
            inside = shorter;
        }
        let text = if self.depth < 2 && memchr2(b'\r', b'\n', inside).is_none() {
            render_within(inside, 0, &mut lines, self.depth + 1);
            lines.pop().map(|line| line.text).unwrap_or_default()
        } else {
            let last = inside.rsplit(|byte| matches!(byte, b'\r' | b'\n')).next();
            let mut text = decode(last.unwrap_or_default()).0;
            text.retain(|char| char == '\t' || !char.is_control());
            text
        };
        text.trim_end().clone_into(&mut state.text);
    }

    fn line_feed(&mut self) {
        let fresh = self.at >= self.out.len();
        self.store(self.there, self.after_cr);
        self.at += 1;
        if self.at < self.out.len() {
            self.go_to(self.at);
        } else if fresh {
            self.begin_row(self.there);
        } else {
            // Below the last line put out: what follows is new.
            let from = self.out.last().map_or(self.there, |line| line.to);
            self.begin_row(from.max(self.there));
        }
        self.column = 0;
    }

    /// Moves the cursor to another line of the window, or to the one not put out yet.
    fn go_to(&mut self, at: usize) {
        self.at = at;
        self.row.clear();
        self.loaded = at >= self.out.len();
        self.begin_states(self.there);
        self.cut = false;
    }

    fn up(&mut self, lines: usize) {
        // An empty row below all others need not be put out: it is there to come back to.
        if self.at < self.out.len() || self.written {
            self.store(self.here, 0);
        }
        if self.out.len() == self.top {
            return;
        }
        let floor = self.top.max(self.out.len().saturating_sub(WINDOW));
        self.go_to(self.at.saturating_sub(lines.max(1)).max(floor));
    }

    fn down(&mut self, lines: usize) {
        let column = self.column;
        for _ in 0..lines.clamp(1, WINDOW) {
            if self.at >= self.out.len() {
                break;
            }
            self.store(self.here, 0);
            let at = self.at + 1;
            self.go_to(at);
            if at >= self.out.len() {
                self.begin_row(self.here);
            }
        }
        self.column = column;
    }

    /// A page of its own begins: nothing above it can be reached any more.
    fn new_page(&mut self) {
        if self.at < self.out.len() || !self.row.is_empty() {
            self.store(self.here, 0);
            self.at = self.out.len();
            self.begin_row(self.here);
        }
        self.top = self.out.len();
        self.column = 0;
    }

    fn erase_line(&mut self, how: usize) {
        self.load();
        match how {
            0 if self.column == 0 => {
                self.erased();
                self.row.clear();
            }
            0 => {
                self.row.truncate(self.column);
                self.state_width = self.state_width.min(self.column);
            }
            1 => {
                let end = (self.column + 1).min(EDIT_WIDTH);
                for cell in self.row.iter_mut().take(end) {
                    *cell = ' ';
                }
            }
            _ => {
                self.erased();
                self.row.clear();
            }
        }
    }

    /// The row's text goes: it was a state.
    fn erased(&mut self) {
        if self.state_width > 0 {
            self.close_state(self.here);
            self.rewrites = self.rewrites.saturating_add(1);
        }
        self.returned = false;
    }

    fn erase_below(&mut self) {
        self.erase_line(0);
        for line in self.out.iter_mut().skip(self.at + 1) {
            line.text.clear();
        }
    }

    fn edit(&mut self, how: char, count: usize) {
        self.load();
        self.row.truncate(EDIT_WIDTH);
        let count = count.clamp(1, EDIT_WIDTH);
        let column = self.column.min(self.row.len());
        match how {
            'P' => {
                let end = (column + count).min(self.row.len());
                self.row.drain(column..end);
            }
            '@' => {
                self.row
                    .splice(column..column, std::iter::repeat_n(' ', count));
            }
            _ => {
                for cell in self.row.iter_mut().skip(column).take(count) {
                    *cell = ' ';
                }
            }
        }
    }

    fn finish(mut self, end: u64) {
        let dirty = self.loaded && (!self.row.is_empty() || self.rewrites > 0);
        if self.at < self.out.len() || dirty {
            self.store(end, 0);
        }
        if self.out.len() > self.first
            && let Some(last) = self.out.last_mut()
        {
            last.to = end;
        }
    }
}

impl vte::Perform for Rows<'_> {
    fn print(&mut self, ch: char) {
        if ch == '\u{7f}' {
            return;
        }
        if self.returned || self.after_cr > 0 || !self.loaded || !self.written {
            self.before_write();
        }
        self.put(ch);
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' | 0x0b | 0x0c => self.line_feed(),
            b'\r' => {
                self.back_to_start();
                self.after_cr += 1;
            }
            0x08 => self.column = self.column.saturating_sub(1),
            b'\t' => {
                self.before_write();
                self.put('\t');
            }
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &vte::Params, inter: &[u8], _ignore: bool, action: char) {
        if !inter.is_empty() {
            return;
        }
        let count = params
            .iter()
            .next()
            .and_then(|param| param.first())
            .map_or(0, |&count| usize::from(count));
        match action {
            'K' => self.erase_line(count),
            'J' if count == 0 => self.erase_below(),
            'J' if count >= 2 => self.new_page(),
            'H' | 'f' => self.new_page(),
            'G' | '`' if count <= 1 => self.back_to_start(),
            'G' | '`' => self.column = count.min(MAX_ROW) - 1,
            'A' => self.up(count),
            'B' => self.down(count),
            'C' => self.column = (self.column + count.max(1)).min(MAX_ROW),
            'D' => {
                self.column = self.column.saturating_sub(count.max(1));
                if self.column == 0 {
                    self.back_to_start();
                }
            }
            'E' => {
                self.down(count);
                self.back_to_start();
            }
            'F' => {
                self.up(count);
                self.back_to_start();
            }
            'P' | '@' | 'X' => self.edit(action, count),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, inter: &[u8], _ignore: bool, byte: u8) {
        match (inter, byte) {
            ([], b'E') => self.line_feed(),
            ([], b'D') => self.down(1),
            ([], b'M') => self.up(1),
            ([], b'c') => self.new_page(),
            _ => {}
        }
    }
}
