//! What the later stages of a pipeline do to the output of the first: `| head -4` cuts it,
//! `| grep X` keeps some lines, `| wc -l` counts them, `| awk '{print $2}'` keeps some columns.

use regex::Regex;

use super::words::Args;
use crate::shell::Invocation;

/// What the later stages do to the lines of the first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    /// Only so many lines from the start.
    pub head: Option<usize>,
    /// Only so many lines from the end.
    pub tail: Option<usize>,
    /// Only lines that match (or do not match) these.
    pub patterns: Vec<Pattern>,
    /// Only these columns, in this order.
    pub columns: Option<Columns>,
    /// The lines are counted, and the count is printed.
    pub counted: Option<Counted>,
    /// Lines are chosen by their number or by a range (`sed -n`, `awk NR==2`).
    pub chosen: bool,
    /// Lines come in another order.
    pub sorted: bool,
    /// A count stands in front of each line (`uniq -c`), or its number (`grep -n`, `nl`).
    pub numbered: bool,
    /// Lines are cut in their width or some bytes are changed (`cut -c`, `tr`, `sed s`).
    pub reshaped: bool,
    /// Lines are cut in their width (`cut -c`): what stands further right is not shown.
    pub narrowed: bool,
    /// A stage we know nothing of: what comes out may be anything.
    pub opaque: bool,
    /// The first line shown matches this (`grep -A3 X`: a match, and what comes after it).
    pub opens: Option<Pattern>,
}

/// A pattern that lines are kept or dropped by.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    /// As a regular expression in the syntax of the regex crate, flags in front.
    pub expression: String,
    /// Lines that match are dropped (`-v`).
    pub invert: bool,
    /// It, compiled; none when the pattern is not known (a variable) or not a good one.
    pub regex: Option<Regex>,
    /// Only the matching part is shown (`-o`).
    pub only_matching: bool,
    /// It stands behind what changed the lines, so that it can be tried on what came out.
    pub on_result: bool,
}

impl Pattern {
    /// Whether a line passes; `None` when that cannot be told.
    pub(crate) fn passes(&self, line: &str) -> Option<bool> {
        self.regex
            .as_ref()
            .map(|regex| regex.is_match(line) != self.invert)
    }
}

/// Columns that awk or cut prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Columns {
    /// Their numbers from 1; 0 stands for the whole line, and `None` for something unknown.
    pub fields: Vec<Option<usize>>,
    /// What parts them: blanks when `None`.
    pub separator: Option<String>,
    /// Other text may stand beside them, or more of them than are named.
    pub open: bool,
    /// It is `cut`, which passes on lines without a separator whole.
    pub cuts: bool,
}

impl Columns {
    /// Whether a line can be these columns of another.
    fn can_make(&self, line: &str) -> bool {
        if self.fields.contains(&Some(0)) {
            return true;
        }
        let most = self.fields.len();
        match self.separator.as_deref() {
            // One blank between two of them, though one be empty.
            None if !self.open && !self.fields.is_empty() => {
                line.split(' ').count() == most && !line.contains('\t') || line.is_empty()
            }
            None => self.open || line.split_whitespace().count() <= most,
            // awk parts what it prints by blanks, whatever parted what it read
            Some(by) if by.len() == 1 && !self.cuts => self.open || !line.contains(by),
            Some(by) if by.len() == 1 => self.open || line.split(by).count() <= most.max(1),
            Some(_) => true,
        }
    }
}

/// How lines are counted.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    /// The tool: `wc -l`, `grep -c`.
    pub tool: String,
    /// What: lines, words, bytes, matches.
    pub unit: &'static str,
    /// The pattern counted.
    pub pattern: Option<Pattern>,
}

/// Whether a program only passes on what it reads from a pipe.
pub(crate) fn is_filter(invocation: &Invocation) -> bool {
    match invocation.program() {
        "head" | "tail" | "sort" | "uniq" | "cut" | "wc" | "tee" | "less" | "more" | "column"
        | "tac" | "rev" | "nl" | "tr" | "fold" | "ts" | "cat" | "grep" | "egrep" | "fgrep"
        | "rg" | "awk" | "gawk" | "mawk" | "sed" | "jq" | "strings" | "od" | "xxd" | "hexdump"
        | "base64" | "fmt" | "paste" | "bc" | "yq" | "zcat" | "gunzip" => true,
        "python" | "python3" => invocation.args().windows(2).any(
            |pair| matches!(pair, [flag, what] if flag.text == "-m" && what.text == "json.tool"),
        ),
        _ => false,
    }
}

impl Filter {
    /// Adds what a later stage does.
    pub(crate) fn add(&mut self, stage: &Invocation) {
        if !matches!(stage.program(), "head" | "tee" | "less" | "more" | "cat") {
            self.opens = None;
        }
        match stage.program() {
            "head" => self.add_head(stage),
            "tail" => self.add_tail(stage),
            "grep" | "egrep" | "fgrep" | "rg" => self.add_grep(stage),
            "awk" | "gawk" | "mawk" => self.add_awk(stage),
            "sed" => self.add_sed(stage),
            "cut" => self.add_cut(stage),
            "wc" => self.add_wc(stage),
            "sort" | "tac" => self.sorted = true,
            "uniq" => self.numbered |= Args::of(stage, "f s w").has(&["c", "count"]),
            "nl" => self.numbered = true,
            "ts" => {
                self.numbered = true;
                self.reshaped = true;
            }
            "tr" => {
                // Blanks made one leave a word as it is.
                let squeezes = Args::of(stage, "").has(&["s", "squeeze-repeats"])
                    && !Args::of(stage, "").has(&["d", "delete"]);
                for pattern in &mut self.patterns {
                    pattern.on_result |= squeezes && !pattern.expression.contains([' ', '\\']);
                }
                self.reshaped = true;
            }
            "column" | "fold" | "fmt" => self.reshaped = true,
            "cat" => self.numbered |= Args::of(stage, "").has(&["n", "number", "b"]),
            "tee" | "less" | "more" => {}
            _ => self.opaque = true,
        }
    }

    /// The patterns that lines must match, joined when there are several; the first is enough for
    /// coverage.
    pub(crate) fn wanted(&self) -> Option<&Pattern> {
        self.patterns.iter().find(|pattern| !pattern.invert)
    }

    /// Whether a line can have come through; `None` when that cannot be told.
    pub(crate) fn passes(&self, line: &str) -> Option<bool> {
        if let Some(columns) = &self.columns
            && !self.numbered
            && !self.reshaped
            && !self.opaque
            && !columns.can_make(line)
        {
            return Some(false);
        }
        let whole = self.columns.is_none() && !self.reshaped && !self.opaque;
        let mut all = whole.then_some(true);
        for pattern in &self.patterns {
            if !whole && (!pattern.on_result || self.opaque) {
                continue;
            }
            match pattern.passes(line) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => all = None,
            }
        }
        all
    }

    /// Lines stand as the first stage printed them.
    pub(crate) fn keeps_lines(&self) -> bool {
        self.columns.is_none() && !self.reshaped && !self.opaque && self.counted.is_none()
    }

    /// Lines at the start may be missing.
    pub(crate) fn may_lose_start(&self) -> bool {
        !self.patterns.is_empty()
            || self.tail.is_some()
            || self.chosen
            || self.sorted
            || self.opaque
    }

    /// Some of the lines were cut away, given how many came through. `head -4` that shows three
    /// lines cut nothing.
    pub(crate) fn cut(&self, shown: usize) -> bool {
        self.chosen
            || self.opaque
            || self.head.is_some_and(|head| shown >= head)
            || self.tail.is_some_and(|tail| shown >= tail)
    }

    fn add_head(&mut self, stage: &Invocation) {
        let args = Args::of(stage, "n lines c bytes");
        if args.has(&["c", "bytes"]) {
            self.chosen = true;
            self.reshaped = true;
            return;
        }
        match args.value(&["n", "lines"]) {
            Some(value) => match value.parse::<i64>() {
                Ok(lines) if lines >= 0 => self.keep_head(usize::try_from(lines).unwrap_or(10)),
                _ => self.chosen = true,
            },
            None => self.keep_head(short_number(stage).unwrap_or(10)),
        }
    }

    fn keep_head(&mut self, lines: usize) {
        self.head = Some(self.head.map_or(lines, |head| head.min(lines)));
    }

    fn add_tail(&mut self, stage: &Invocation) {
        let args = Args::of(stage, "n lines c bytes s pid");
        if args.has(&["c", "bytes"]) {
            self.chosen = true;
            self.reshaped = true;
            return;
        }
        let lines = match args.value(&["n", "lines"]) {
            Some(value) if value.starts_with('+') => {
                self.chosen = true;
                return;
            }
            Some(value) => value.trim_start_matches('-').parse().ok(),
            None => Some(short_number(stage).unwrap_or(10)),
        };
        match lines {
            Some(lines) => self.tail = Some(self.tail.map_or(lines, |tail: usize| tail.min(lines))),
            None => self.chosen = true,
        }
    }

    fn add_grep(&mut self, stage: &Invocation) {
        let args = Args::of(
            stage,
            "e regexp f file m max-count A B C after-context before-context context color",
        );
        let pattern = grep_pattern(stage, &args);
        if args.has(&["c", "count"]) {
            self.counted = Some(Counted {
                tool: "grep -c".to_owned(),
                unit: "matches",
                pattern,
            });
            return;
        }
        if args.has(&["q", "quiet", "silent"]) {
            self.head = Some(0);
        }
        if let Some(max) = args
            .value(&["m", "max-count"])
            .and_then(|max| max.parse().ok())
        {
            self.keep_head(max);
        }
        if args.has(&["n", "line-number"]) {
            self.numbered = true;
        }
        let before = args.has(&["B", "C", "before-context", "context"]);
        let context = before || args.has(&["A", "after-context"]);
        match pattern {
            Some(pattern) if context => {
                let plain = !pattern.invert && self.columns.is_none() && !self.reshaped;
                self.opens = (plain && !before).then_some(pattern);
                self.chosen = true;
            }
            Some(mut pattern) => {
                // What `-o` shows is changed after the pattern, and matches it.
                pattern.on_result = self.columns.is_some() || self.reshaped;
                self.reshaped |= pattern.only_matching;
                self.patterns.push(pattern);
            }
            None => self.chosen = true,
        }
    }

    fn add_awk(&mut self, stage: &Invocation) {
        let args = Args::of(stage, "F f v");
        let Some(program) = args.first() else {
            self.opaque = true;
            return;
        };
        let (condition, action) = match program.split_once('{') {
            Some((condition, action)) => {
                (condition.trim(), action.trim_end().trim_end_matches('}'))
            }
            None => (program.trim(), "print"),
        };
        if program.contains("END") {
            self.opaque = true;
            return;
        }
        let mut known = true;
        for part in condition
            .split("&&")
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let (invert, bare) = match part.strip_prefix('!') {
                Some(rest) => (true, rest.trim()),
                None => (false, part),
            };
            match bare
                .strip_prefix('/')
                .and_then(|rest| rest.strip_suffix('/'))
            {
                Some(expression) => self
                    .patterns
                    .push(pattern_of(expression.to_owned(), invert)),
                None => known = false,
            }
        }
        self.chosen |= !known;
        match printed_fields(action) {
            Some(fields) if fields == [Some(0)] => {}
            Some(fields) => {
                self.columns = Some(Columns {
                    fields,
                    separator: args
                        .value(&["F"])
                        .filter(|by| *by != " ")
                        .map(str::to_owned),
                    open: action.contains('"') || self.columns.is_some(),
                    cuts: false,
                });
            }
            None => self.opaque = true,
        }
    }

    fn add_sed(&mut self, stage: &Invocation) {
        let args = Args::of(stage, "e expression f file");
        if args.has(&["n", "quiet", "silent"]) {
            self.chosen = true;
            let script = args
                .value(&["e", "expression"])
                .or(args.first())
                .unwrap_or("");
            let one = script
                .strip_suffix('p')
                .and_then(|line| line.parse::<usize>().ok());
            if one.is_some() {
                self.head = Some(1);
            } else if let Some((from, to)) = script
                .strip_suffix('p')
                .and_then(|range| range.split_once(','))
                && let (Ok(from), Ok(to)) = (from.parse::<usize>(), to.parse::<usize>())
            {
                self.head = Some((to + 1).saturating_sub(from));
            }
        } else if args.first().is_some_and(|script| script.ends_with('d')) {
            self.chosen = true;
        } else {
            self.reshaped = true;
        }
    }

    fn add_cut(&mut self, stage: &Invocation) {
        let args = Args::of(
            stage,
            "d delimiter f fields c characters b bytes output-delimiter",
        );
        match args.value(&["f", "fields"]) {
            Some(list) => {
                let fields = list.split(',').map(|one| one.parse().ok()).collect();
                let separator = args.value(&["d", "delimiter"]).unwrap_or("\t").to_owned();
                self.columns = Some(Columns {
                    fields,
                    separator: Some(separator),
                    open: list.contains('-') || self.columns.is_some(),
                    cuts: true,
                });
            }
            None => {
                self.reshaped = true;
                self.narrowed = true;
            }
        }
    }

    /// The search stands behind a cut in the width: a line that holds its word may not have met it.
    pub(crate) fn searches_narrowed(&self) -> bool {
        self.narrowed && self.wanted().is_some_and(|pattern| pattern.on_result)
    }

    fn add_wc(&mut self, stage: &Invocation) {
        let args = Args::of(stage, "");
        let (tool, unit) = if args.has(&["w", "words"]) {
            ("wc -w", "words")
        } else if args.has(&["c", "bytes", "m", "chars"]) {
            ("wc -c", "bytes")
        } else {
            ("wc -l", "lines")
        };
        self.counted = Some(Counted {
            tool: tool.to_owned(),
            unit,
            pattern: None,
        });
    }
}

/// `-5` of `head -5`.
fn short_number(stage: &Invocation) -> Option<usize> {
    stage
        .args()
        .iter()
        .find_map(|word| word.text.strip_prefix('-')?.parse().ok())
}

/// The fields that an awk action prints: `print $2,$3` gives 2 and 3, `print` the whole line.
fn printed_fields(action: &str) -> Option<Vec<Option<usize>>> {
    let action = action.trim().trim_end_matches(';').trim();
    let list = action.strip_prefix("print")?;
    if list.starts_with('f') || list.contains('{') {
        return None;
    }
    let list = list.trim();
    if list.is_empty() {
        return Some(vec![Some(0)]);
    }
    let mut fields = Vec::new();
    for part in list
        .split([',', ' '])
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        if part.starts_with('"') {
            continue;
        }
        let field = part.strip_prefix('$')?;
        fields.push(field.parse().ok());
    }
    Some(fields)
}

/// The pattern of a grep.
pub(crate) fn grep_pattern(stage: &Invocation, args: &Args<'_>) -> Option<Pattern> {
    let given: Vec<&str> = args.values(&["e", "regexp"]).collect();
    let written: Vec<&str> = if given.is_empty() {
        if args.has(&["f", "file"]) {
            return None;
        }
        vec![args.first()?]
    } else {
        given
    };
    let program = stage.program();
    let fixed = program == "fgrep" || args.has(&["F", "fixed-strings"]);
    let extended = matches!(program, "egrep" | "rg")
        || args.has(&["E", "P", "extended-regexp", "perl-regexp"]);
    let mut expression = written
        .iter()
        .map(|one| {
            if fixed {
                regex::escape(one)
            } else if extended {
                (*one).to_owned()
            } else {
                from_basic(one)
            }
        })
        .collect::<Vec<_>>()
        .join("|");
    if args.has(&["x", "line-regexp"]) {
        expression = format!("^(?:{expression})$");
    } else if args.has(&["w", "word-regexp"]) {
        expression = format!(r"\b(?:{expression})\b");
    }
    if args.has(&["i", "ignore-case", "y"]) {
        expression = format!("(?i){expression}");
    }
    let mut pattern = pattern_of(expression, args.has(&["v", "invert-match"]));
    pattern.only_matching = args.has(&["o", "only-matching"]);
    Some(pattern)
}

fn pattern_of(expression: String, invert: bool) -> Pattern {
    Pattern {
        regex: Regex::new(&expression).ok(),
        expression,
        invert,
        only_matching: false,
        on_result: false,
    }
}

/// A basic regular expression (grep without `-E`) in extended syntax: `\|`, `\(`, `\+` are operators,
/// the bare ones are letters.
pub(crate) fn from_basic(basic: &str) -> String {
    let mut out = String::with_capacity(basic.len() + 8);
    let mut chars = basic.chars().peekable();
    let mut in_brackets = false;
    while let Some(c) = chars.next() {
        if in_brackets {
            in_brackets = c != ']' || out.ends_with('[') || out.ends_with("[^");
            if c == '\\' || (c == '[' && chars.peek() != Some(&':')) {
                out.push('\\');
            }
            out.push(c);
            continue;
        }
        match c {
            '[' => {
                in_brackets = true;
                out.push(c);
            }
            '\\' => match chars.next() {
                Some(next @ ('|' | '(' | ')' | '{' | '}' | '+' | '?')) => out.push(next),
                Some('<' | '>') => out.push_str(r"\b"),
                Some(next) => {
                    out.push('\\');
                    out.push(next);
                }
                None => out.push_str(r"\\"),
            },
            '|' | '(' | ')' | '{' | '}' | '+' | '?' => {
                out.push('\\');
                out.push(c);
            }
            '*' if out.is_empty() => out.push_str(r"\*"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_patterns_become_extended_ones() {
        assert_eq!(from_basic(r"a\|b+"), r"a|b\+");
        assert_eq!(from_basic(r"[s]erver.py"), "[s]erver.py");
        assert_eq!(from_basic(r"router\["), r"router\[");
        assert_eq!(from_basic(r"f(x)"), r"f\(x\)");
    }

    #[test]
    fn awk_prints_columns() {
        assert_eq!(printed_fields("print $2,$3"), Some(vec![Some(2), Some(3)]));
        assert_eq!(printed_fields("print"), Some(vec![Some(0)]));
        assert_eq!(printed_fields("print $NF"), Some(vec![None]));
        assert_eq!(printed_fields("n=NR"), None);
    }
}
