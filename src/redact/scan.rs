//! A text → the secrets in it, and what at its end may be the beginning of one.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, MatchKind};
use memchr::memmem;

use super::argv;
use super::names::{self, Strength, Written};
use super::rules::{Class, RULES, Rule};

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

pub(super) fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn is_blank_or_quote(byte: u8) -> bool {
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

/// How the text ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// More of it may come.
    More,
    /// It is all there is.
    Last,
    /// More may come, but it must be settled now.
    Cut,
}

/// A secret, or what may become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// Where it begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// By which rule.
    pub rule: &'static str,
    /// It reaches the end of a text that may go on.
    pub open: bool,
    /// What would end it.
    pub extent: Extent,
}

#[derive(Debug, Clone, Copy)]
enum Pattern {
    Token(usize),
    Name,
    Url,
    Tool,
}

/// Parts of names, in the order of `NAME_WORDS` first, then `://`, then tools, then beginnings.
const NAME_WORDS: &[&str] = &[
    "token",
    "secret",
    "pass",
    "pwd",
    "key",
    "credential",
    "creds",
    "auth",
    "cookie",
    "bearer",
    "sessionid",
    "_pw",
];

struct Automaton {
    finder: AhoCorasick,
    patterns: Vec<Pattern>,
}

static AUTOMATON: OnceLock<Automaton> = OnceLock::new();

fn automaton() -> &'static Automaton {
    AUTOMATON.get_or_init(|| {
        let mut literals: Vec<&str> = Vec::new();
        let mut patterns = Vec::new();
        for word in NAME_WORDS {
            literals.push(word);
            patterns.push(Pattern::Name);
        }
        literals.push("://");
        patterns.push(Pattern::Url);
        for tool in argv::SEEN_IN_TEXT {
            literals.push(tool);
            patterns.push(Pattern::Tool);
        }
        for (index, rule) in RULES.iter().enumerate() {
            literals.push(rule.begins);
            patterns.push(Pattern::Token(index));
        }
        let finder = AhoCorasickBuilder::new()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&literals)
            .or_else(|_| AhoCorasick::new([""; 0]));
        #[expect(
            clippy::expect_used,
            reason = "a fixed table, and an empty one, that tests build"
        )]
        let finder = finder.expect("the table of beginnings is small");
        Automaton { finder, patterns }
    })
}

/// Texts up to this size are searched word by word while there is no automaton yet.
const SHORT: usize = 4096;
/// So many of them; then the automaton is made, which costs as much as some hundred of them.
const FEW: u32 = 64;

/// The automaton, unless the text is short and certainly holds nothing: making the automaton takes
/// longer than most commands print.
fn settled(text: &[u8]) -> Option<&'static Automaton> {
    static SEEN: AtomicU32 = AtomicU32::new(0);
    if text.len() > SHORT || AUTOMATON.get().is_some() || SEEN.load(Ordering::Relaxed) > FEW {
        return Some(automaton());
    }
    SEEN.fetch_add(1, Ordering::Relaxed);
    let lower = text.to_ascii_lowercase();
    let has = |literal: &str| memmem::find(&lower, literal.as_bytes()).is_some();
    let any = NAME_WORDS
        .iter()
        .chain(argv::SEEN_IN_TEXT)
        .any(|word| has(word))
        || has("://")
        || RULES
            .iter()
            .any(|rule| memmem::find(text, rule.begins.as_bytes()).is_some());
    any.then(automaton)
}

/// Finds the secrets of a text.
pub(super) fn scan(text: &[u8], end: End, written: Written, found: &mut Vec<Found>) {
    let mut scan = Scan {
        text,
        end,
        written,
        found,
    };
    let Some(automaton) = settled(text) else {
        if end == End::More {
            scan.partial_beginning();
        }
        return;
    };
    let mut name_end = 0;
    for hit in automaton.finder.find_iter(text) {
        match automaton.patterns.get(hit.pattern().as_usize()) {
            Some(Pattern::Token(index)) => {
                if let Some(rule) = RULES.get(*index) {
                    scan.token(rule, hit.start(), hit.end());
                }
            }
            Some(Pattern::Name)
                if hit.start() >= name_end && !is_other_word(text, hit.start(), hit.end()) =>
            {
                name_end = scan.name(hit.start(), hit.end());
            }
            Some(Pattern::Name) | None => {}
            Some(Pattern::Url) => scan.url(hit.end()),
            Some(Pattern::Tool) => {
                scan.tool(hit.start());
                scan.name(hit.start(), hit.end()); // `SSHPASS=…`
            }
        }
    }
    if end == End::More {
        scan.partial_beginning();
    }
}

struct Scan<'a> {
    text: &'a [u8],
    end: End,
    written: Written,
    found: &'a mut Vec<Found>,
}

fn name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

impl Scan<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    fn before(&self, at: usize) -> u8 {
        at.checked_sub(1).map_or(0, |at| self.byte(at))
    }

    fn slice(&self, from: usize, to: usize) -> &[u8] {
        self.text.get(from..to.max(from)).unwrap_or_default()
    }

    /// Notes a candidate, unless it turns out to be none. `accept` judges what is whole.
    fn candidate(
        &mut self,
        from: usize,
        extent: Extent,
        rule: &'static str,
        accept: impl Fn(&[u8], bool) -> bool,
    ) {
        let mut to = extent.end(self.text, from);
        let touches = to == self.text.len();
        if touches && self.end == End::More {
            if from <= to {
                self.found.push(Found {
                    from,
                    to,
                    rule,
                    open: true,
                    extent,
                });
            }
            return;
        }
        match extent {
            Extent::Line | Extent::Null | Extent::Field => {
                while to > from && matches!(self.byte(to - 1), b' ' | b'\t' | b',' | b';' | b'\r') {
                    to -= 1;
                }
            }
            Extent::Run(Class::Dotted | Class::Crypt) => {
                while to > from && matches!(self.byte(to - 1), b'.' | b',') {
                    to -= 1;
                }
            }
            _ => {}
        }
        let cut = touches && self.end == End::Cut;
        if to > from && accept(self.slice(from, to), cut) {
            self.found.push(Found {
                from,
                to,
                rule,
                open: cut,
                extent,
            });
        }
    }

    /// Whether a beginning may stand here: not within a word, unless an escape ends just before.
    fn is_boundary(&self, at: usize, dashes: bool) -> bool {
        let before = self.before(at);
        if !before.is_ascii_alphanumeric() {
            return !(dashes && matches!(before, b'-' | b'_'));
        }
        let back = |count: usize| at.checked_sub(count).map_or(0, |at| self.byte(at));
        (back(2) == b'\\' && matches!(before, b'n' | b'r' | b't'))
            || (back(3) == b'%' && back(2).is_ascii_hexdigit() && before.is_ascii_hexdigit())
            || (back(6) == b'\\' && back(5) == b'u')
    }

    fn token(&mut self, rule: &Rule, from: usize, to: usize) {
        if self.slice(from, to) != rule.begins.as_bytes() {
            return;
        }
        let dashes = matches!(rule.begins, "sk-" | "SG." | "r8_" | "rpa_" | "npm_");
        if rule
            .begins
            .as_bytes()
            .first()
            .is_some_and(u8::is_ascii_alphanumeric)
            && !rule.apart
            && !self.is_boundary(from, dashes)
        {
            return;
        }
        let begins = if rule.apart { to } else { from };
        let skip = to - begins;
        let (min, max) = rule.len;
        let check = rule.check;
        let id = match rule.id {
            "sk-key"
                if self
                    .text
                    .get(from..)
                    .is_some_and(|rest| rest.starts_with(b"sk-ant-")) =>
            {
                "anthropic-key"
            }
            id => id,
        };
        let extent = Extent::Run(rule.class);
        if rule.apart {
            self.candidate(begins, extent, id, |value, cut| {
                value.len() >= min || cut && value.len() >= 8
            });
        } else {
            // The class must hold the beginning too, for the run to pass over it.
            let end = extent.end(self.text, to);
            self.run(begins, end, extent, id, |value, cut| {
                let rest = value.get(skip..).unwrap_or_default();
                let whole = rest.len() >= min && rest.len() <= max && check(rest);
                (whole || cut && rest.len() >= 8)
                    && !rest.iter().all(|byte| byte.eq_ignore_ascii_case(&b'x'))
            });
        }
        if rule.id == "aws-key-id" {
            self.neighbour(to + 16);
        }
    }

    /// As [`Self::candidate`], with the end known.
    fn run(
        &mut self,
        from: usize,
        to: usize,
        extent: Extent,
        rule: &'static str,
        accept: impl Fn(&[u8], bool) -> bool,
    ) {
        let touches = to == self.text.len();
        if touches && self.end == End::More {
            self.found.push(Found {
                from,
                to,
                rule,
                open: true,
                extent,
            });
            return;
        }
        let mut to = to;
        if matches!(extent, Extent::Run(Class::Dotted | Class::Crypt)) {
            while to > from && matches!(self.byte(to - 1), b'.' | b',') {
                to -= 1;
            }
        }
        let cut = touches && self.end == End::Cut;
        if accept(self.slice(from, to), cut) {
            self.found.push(Found {
                from,
                to,
                rule,
                open: cut,
                extent,
            });
        }
    }

    /// The secret that stands near an AWS key id: 40 characters of base64.
    fn neighbour(&mut self, from: usize) {
        let limit = self.text.len().min(from + 256);
        let holds = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        let mut at = from;
        while at < limit {
            if !holds(self.byte(at)) {
                at += 1;
                continue;
            }
            let to = (at..self.text.len())
                .find(|place| !holds(self.byte(*place)))
                .unwrap_or(self.text.len());
            if to - at >= 40 || to == self.text.len() {
                self.run(
                    at,
                    to,
                    Extent::Run(Class::Base64),
                    "aws-secret",
                    |value, cut| {
                        (value.len() == 40 || cut && value.len() >= 16)
                            && names::is_base64_key(value)
                    },
                );
            }
            at = to;
        }
    }

    /// A name with a secret word in it: what stands after it. Returns where the name ends.
    fn name(&mut self, from: usize, to: usize) -> usize {
        if self.slice(from, to) == b"KEY" && self.slice(0, from).ends_with(b"PRIVATE ") {
            self.private_key(from, to);
            return to;
        }
        let lowest = from.saturating_sub(names::NAME_MAX);
        let mut start = from;
        while start > lowest && name_byte(self.before(start)) {
            start -= 1;
        }
        let highest = self.text.len().min(to + names::NAME_MAX);
        let mut stop = to;
        while stop < highest && name_byte(self.byte(stop)) {
            stop += 1;
        }
        let mut dashes = 0;
        while start < from && matches!(self.byte(start), b'-' | b'.') {
            dashes += usize::from(self.byte(start) == b'-');
            start += 1;
        }
        let name = self.slice(start, stop).to_ascii_lowercase();
        match name.as_slice() {
            b"cookie" | b"set-cookie" | b"cookie2" => self.cookie(stop, name.starts_with(b"set")),
            b"authorization"
            | b"proxy-authorization"
            | b"x-authorization"
            | b"x-forwarded-authorization" => {
                self.authorization(stop);
            }
            b"bearer" => self.bearer(stop),
            _ if !self.leads_to_value(start, stop, dashes) => {}
            _ => {
                if let Some((strength, rule)) = names::strength(self.slice(start, stop)) {
                    self.named(start, stop, dashes, strength, rule);
                }
            }
        }
        stop
    }

    /// Whether what follows a name can be a value's beginning at all: asked before the name is read.
    fn leads_to_value(&self, start: usize, stop: usize, dashes: usize) -> bool {
        match self.byte(stop) {
            b'=' | b':' | b'"' | b'\'' | b'\\' | b'`' | b']' | b'>' => true,
            b',' | b'\n' | b'\r' => self.slice(start.saturating_sub(16), start).contains(&b':'),
            b' ' | b'\t' => {
                let next = self.byte(self.blanks(stop, 24));
                matches!(next, b'=' | b':')
                    || dashes > 0
                    || name_is(self.slice(start, stop), b"password")
            }
            _ => false,
        }
    }

    /// Passes what stands between a name and its value: where the value begins, and by which sign.
    fn separator(&self, name_end: usize) -> Option<(usize, u8)> {
        let mut at = name_end;
        if self.byte(at) == b'\\' && matches!(self.byte(at + 1), b'"' | b'\'') {
            at += 2;
        } else if matches!(self.byte(at), b'"' | b'\'' | b'`') {
            at += 1;
        }
        // `password[prod] = …`, `['password'] = …`
        if self.byte(at) == b']' {
            at += 1;
        }
        at = self.blanks(at, 24);
        let sign = self.byte(at);
        match sign {
            b'=' if self.byte(at + 1) == b'=' => return None,
            b'=' => at += 1 + usize::from(self.byte(at + 1) == b'>'),
            b':' if self.byte(at + 1) == b':' => return None,
            b':' => at += 1 + usize::from(self.byte(at + 1) == b'='),
            _ => return None,
        }
        Some((self.blanks(at, 24), sign))
    }

    fn blanks(&self, mut at: usize, most: usize) -> usize {
        let limit = at + most;
        while at < limit && matches!(self.byte(at), b' ' | b'\t') && at < self.text.len() {
            at += 1;
        }
        at
    }

    /// The quote a value opens with: where it begins then, and what ends it.
    fn quote(&self, at: usize) -> Option<(usize, Extent)> {
        let mut at = at;
        if matches!(self.byte(at), b'b' | b'u' | b'r' | b'f')
            && matches!(self.byte(at + 1), b'"' | b'\'')
        {
            at += 1; // a literal of Python
        }
        match (self.byte(at), self.byte(at + 1)) {
            (quote @ (b'"' | b'\''), _) => Some((at + 1, Extent::Quoted(quote))),
            (b'\\', quote @ (b'"' | b'\'')) => Some((at + 2, Extent::Escaped(quote))),
            _ => None,
        }
    }

    /// Whether only blanks (and a list's dash, a diff's sign) stand before this on its line.
    fn is_first(&self, start: usize) -> bool {
        let mut at = start;
        while at > 0 && start - at < 80 {
            match self.before(at) {
                b' ' | b'\t' | b'-' | b'+' | b'>' | b'"' | b'\'' | b'#' => at -= 1,
                byte => return is_line_end(byte) || byte == 0,
            }
        }
        at == 0
    }

    fn named(
        &mut self,
        start: usize,
        stop: usize,
        dashes: usize,
        strength: Strength,
        rule: &'static str,
    ) {
        let written = self.written;
        let judge = |quoted: bool| {
            move |value: &[u8], cut: bool| {
                if cut {
                    let enough = strength == Strength::Strong || value.len() >= 6;
                    return enough && !names::is_nothing(value);
                }
                names::is_secret(strength, value, written, quoted)
            }
        };
        if let Some((at, sign)) = self.separator(stop) {
            if let Some((from, extent)) = self.quote(at) {
                return self.candidate(from, extent, rule, judge(true));
            }
            let before = self.before(start);
            let exported = self.slice(0, start).ends_with(b"export ")
                || self.slice(0, start).ends_with(b"setenv ");
            let own_line = self.is_first(start) || exported;
            let extent = match sign {
                b'=' if start > 0 && before == 0 => Extent::Null,
                b'=' if own_line && self.written == Written::Printed => Extent::Field,
                b':' if own_line && strength == Strength::Strong && at > stop + 1 => Extent::Line,
                b'=' if self.slice(0, start).ends_with(b"?") || before == b'&' => {
                    Extent::Until(b'&')
                }
                _ => Extent::Word,
            };
            if extent == Extent::Line {
                // `password: required for …` says something; `password: two words` is one.
                let word = Extent::Word.end(self.text, at);
                if word < self.text.len() && names::is_nothing_printed(self.slice(at, word)) {
                    return;
                }
            }
            return self.candidate(at, extent, rule, judge(false));
        }
        let after = self.byte(stop);
        // `<password>…</password>`
        if after == b'>' && self.before(start) == b'<' {
            return self.candidate(stop + 1, Extent::Until(b'<'), rule, judge(true));
        }
        // `--password …`, in a list of processes or a line of a script
        let at = self.blanks(stop, 8);
        if dashes > 0 && at > stop {
            if let Some((from, extent)) = self.quote(at) {
                return self.candidate(from, extent, rule, judge(true));
            }
            let placeholder = move |value: &[u8], cut: bool| {
                let name = value
                    .iter()
                    .all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
                let prose = value
                    .iter()
                    .all(|byte| byte.is_ascii_lowercase() || *byte == b'.');
                let help = written == Written::Printed && (name || (prose && value.len() < 4));
                !help && !value.starts_with(b"-") && judge(false)(value, cut)
            };
            return self.candidate(at, Extent::Word, rule, placeholder);
        }
        // `.netrc`: `machine … login … password …`
        if at > stop {
            let near = self.slice(start.saturating_sub(256), start);
            let has = |word: &[u8]| near.windows(word.len()).any(|window| window == word);
            if name_is(self.slice(start, stop), b"password")
                && has(b"login ")
                && (has(b"machine ") || has(b"default"))
            {
                return self.candidate(at, Extent::Field, rule, judge(false));
            }
        }
        self.name_and_value(start, stop, rule);
    }

    /// `name: HF_TOKEN`, then `value: …`, as lists of variables are written in YAML and JSON.
    fn name_and_value(&mut self, start: usize, stop: usize, rule: &'static str) {
        let head = self.slice(start.saturating_sub(16), start);
        let head = trim_back(head, b"\"' ");
        let Some(head) = head.strip_suffix(b":").map(|head| trim_back(head, b"\"'")) else {
            return;
        };
        if !(head.ends_with(b"name")
            || head.ends_with(b"Name")
            || head.ends_with(b"key")
            || head.ends_with(b"Key"))
        {
            return;
        }
        let mut at = stop;
        let limit = self.text.len().min(stop + 128);
        while at < limit
            && matches!(
                self.byte(at),
                b'"' | b'\'' | b',' | b' ' | b'\t' | b'\r' | b'\n'
            )
        {
            at += 1;
        }
        let rest = self.text.get(at..).unwrap_or_default();
        if !(rest.starts_with(b"value") || rest.starts_with(b"Value")) {
            return;
        }
        let Some((at, b':')) = self.separator(at + 5) else {
            return;
        };
        let accept = |value: &[u8], _cut: bool| !names::is_nothing(value) && value.len() >= 2;
        match self.quote(at) {
            Some((from, extent)) => self.candidate(from, extent, rule, accept),
            None => self.candidate(at, Extent::Line, rule, accept),
        }
    }

    /// `Authorization: Bearer …`
    fn authorization(&mut self, name_end: usize) {
        let Some((mut at, _)) = self.separator(name_end) else {
            return;
        };
        let (mut extent, mut quoted) = (Extent::Line, false);
        if let Some((from, found)) = self.quote(at) {
            (at, extent, quoted) = (from, found, true);
        }
        let word = Class::Dashed;
        let scheme_end = Extent::Run(word).end(self.text, at);
        let schemes: &[&[u8]] = &[
            b"bearer",
            b"basic",
            b"token",
            b"apikey",
            b"api-key",
            b"key",
            b"digest",
            b"negotiate",
            b"ntlm",
            b"aws4-hmac-sha256",
            b"bot",
            b"sso-key",
            b"hawk",
            b"glpat",
            b"splunk",
            b"oauth",
        ];
        let scheme = self.slice(at, scheme_end).to_ascii_lowercase();
        if scheme_end == self.text.len() && self.end == End::More {
            // Not known yet whether it is the scheme or the secret.
            let extent = Extent::Run(word);
            self.found.push(Found {
                from: at,
                to: scheme_end,
                rule: "auth",
                open: true,
                extent,
            });
            return;
        }
        let has_scheme = schemes.contains(&scheme.as_slice()) && self.byte(scheme_end) == b' ';
        let long = has_scheme
            && matches!(
                scheme.as_slice(),
                b"digest" | b"aws4-hmac-sha256" | b"hawk" | b"oauth"
            );
        if has_scheme {
            at = self.blanks(scheme_end, 8);
        }
        // In a line of shell or a log, the header ends with its word.
        let extent = match extent {
            Extent::Line if !long => Extent::Word,
            Extent::Quoted(_) | Extent::Escaped(_) if !quoted => Extent::Word,
            other => other,
        };
        self.candidate(at, extent, "auth", move |value, cut| {
            if names::is_nothing(value) {
                return false;
            }
            if has_scheme {
                return value.len() >= 4 || cut;
            }
            cut || value.len() >= 8
                && names::is_secret(Strength::Medium, value, Written::Printed, quoted)
        });
    }

    /// `Bearer …` by itself.
    fn bearer(&mut self, name_end: usize) {
        let at = self.blanks(name_end, 4);
        if at > name_end {
            self.candidate(at, Extent::Word, "auth", |value, cut| {
                !names::is_nothing(value)
                    && (value.len() >= 16 || cut && value.len() >= 8)
                    && value.iter().any(u8::is_ascii_digit)
            });
        }
    }

    /// `Cookie: a=b; c=d` whole, of `Set-Cookie: a=b; Path=/` the value.
    fn cookie(&mut self, name_end: usize, set: bool) {
        let Some((mut at, b':')) = self.separator(name_end) else {
            return;
        };
        let mut extent = Extent::Line;
        if let Some((from, found)) = self.quote(at) {
            (at, extent) = (from, found);
        }
        if set {
            let name_end = Extent::Until(b'=').end(self.text, at);
            if self.byte(name_end) == b'=' {
                self.candidate(name_end + 1, Extent::Until(b';'), "cookie", |value, _| {
                    value.len() >= 4 && !names::is_nothing(value)
                });
            }
            return;
        }
        // The quote around the whole header, in a line of shell.
        if extent == Extent::Line {
            let line = Extent::Line.end(self.text, at);
            if let Some(quote) = self
                .slice(at, line)
                .iter()
                .find(|byte| matches!(byte, b'"' | b'\''))
            {
                extent = Extent::Quoted(*quote);
            }
        }
        self.candidate(at, extent, "cookie", |value, cut| {
            cut || value.contains(&b'=') && value.len() >= 6
        });
    }

    /// `scheme://user:password@host`
    fn url(&mut self, at: usize) {
        let stop = |byte: u8| {
            is_blank_or_quote(byte)
                || matches!(
                    byte,
                    b'/' | b'?' | b'#' | b'<' | b'>' | b'\\' | b')' | b']' | b'}'
                )
        };
        let mut to = at;
        let mut host = None;
        while to < self.text.len() && to - at < 4096 && !stop(self.byte(to)) {
            if self.byte(to) == b'@' {
                host = Some(to);
            }
            to += 1;
        }
        let touches = to == self.text.len();
        let user = self.slice(at, host.unwrap_or(to));
        let colon = user.iter().position(|byte| *byte == b':');
        let from = colon.map_or(at, |colon| at + colon + 1);
        let extent = Extent::Until(b'@');
        let rule = "url-password";
        if touches && self.end == End::More && to > from {
            self.found.push(Found {
                from,
                to,
                rule,
                open: true,
                extent,
            });
            return;
        }
        let Some(host) = host else {
            // At a cut, what may be a password counts as one; a port is none.
            let value = self.slice(from, to);
            let port = value.iter().all(u8::is_ascii_digit);
            if touches && self.end == End::Cut && colon.is_some() && !port && value.len() >= 4 {
                self.found.push(Found {
                    from,
                    to,
                    rule,
                    open: true,
                    extent,
                });
            }
            return;
        };
        let value = self.slice(from, host);
        let secret = if colon.is_some() {
            !value.is_empty() && !names::is_nothing(value)
        } else {
            names::is_random(value)
        };
        if secret {
            self.found.push(Found {
                from,
                to: host,
                rule,
                open: false,
                extent,
            });
        }
    }

    /// `-----BEGIN … PRIVATE KEY-----`: all up to the line that ends it.
    fn private_key(&mut self, start: usize, stop: usize) {
        let line = self.slice(start.saturating_sub(48), start);
        if !line.windows(10).any(|window| window == b"-----BEGIN") {
            return;
        }
        let rest = self.text.get(stop..).unwrap_or_default();
        let mut at = if rest.starts_with(b"-----") {
            stop + 5
        } else if rest.starts_with(b" BLOCK-----") {
            stop + 11
        } else {
            return;
        };
        while matches!(self.byte(at), b'\n' | b'\r' | b' ' | b'\t') && at < self.text.len() {
            at += 1;
        }
        if self.byte(at) == b'\\' && matches!(self.byte(at + 1), b'n' | b'r') {
            at += 2;
        }
        let mut to = Extent::Pem.end(self.text, at);
        if to == self.text.len() && self.end == End::More {
            self.found.push(Found {
                from: at,
                to,
                rule: "private-key",
                open: true,
                extent: Extent::Pem,
            });
            return;
        }
        let cut = to == self.text.len() && self.end == End::Cut;
        let ended = self
            .text
            .get(to..)
            .is_some_and(|rest| rest.starts_with(b"-----END"));
        if !ended && !cut {
            // Something else broke it off: only whole lines of key are one.
            let value = self.slice(at, to);
            let lines = value
                .iter()
                .rposition(|byte| *byte == b'\n')
                .unwrap_or(value.len());
            to = at + lines;
        }
        while to > at && matches!(self.byte(to - 1), b'\n' | b'\r' | b' ' | b'\t') && !cut {
            to -= 1;
        }
        if ended && self.slice(at, to).ends_with(b"\\n") {
            to -= 2;
        }
        let value = self.slice(at, to);
        let run = value
            .split(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')))
            .map(<[u8]>::len)
            .max()
            .unwrap_or(0);
        if (ended && run >= 16) || run >= 40 {
            self.found.push(Found {
                from: at,
                to,
                rule: "private-key",
                open: cut,
                extent: Extent::Pem,
            });
        }
    }

    /// A program that takes a secret as a word, in a line of text.
    fn tool(&mut self, at: usize) {
        let before = self.before(at);
        if before.is_ascii_alphanumeric() || matches!(before, b'_' | b'-' | b'.') {
            return;
        }
        let mut words: Vec<(usize, usize, bool)> = Vec::new();
        let mut place = at;
        while words.len() < 48 {
            place = self.blanks(place, 64);
            let byte = self.byte(place);
            if place >= self.text.len() || is_line_end(byte) || byte == 0 {
                break;
            }
            if matches!(byte, b';' | b'|' | b'&' | b'<' | b'>' | b')') {
                break;
            }
            let (from, to, quoted) = match byte {
                b'"' | b'\'' => {
                    let to = Extent::Quoted(byte).end(self.text, place + 1);
                    (place + 1, to, true)
                }
                _ => (place, Extent::Word.end(self.text, place), false),
            };
            if to <= from && !quoted {
                break;
            }
            words.push((from, to, quoted));
            place = to + usize::from(quoted);
        }
        let texts: Vec<&str> = words
            .iter()
            .map_while(|(from, to, _)| std::str::from_utf8(self.slice(*from, *to)).ok())
            .collect();
        let mut hits = Vec::new();
        argv::of_words(&texts, false, &mut hits);
        for hit in hits {
            let Some((from, to, quoted)) = words.get(hit.word).copied() else {
                continue;
            };
            let extent = if quoted {
                Extent::Quoted(self.before(from))
            } else {
                Extent::Word
            };
            let whole = to == from + hit.to;
            let touches = whole && to == self.text.len();
            if touches && self.end == End::More {
                self.found.push(Found {
                    from: from + hit.from,
                    to,
                    rule: hit.rule,
                    open: true,
                    extent,
                });
            } else {
                let open = touches && self.end == End::Cut;
                self.found.push(Found {
                    from: from + hit.from,
                    to: from + hit.to,
                    rule: hit.rule,
                    open,
                    extent,
                });
            }
        }
    }

    /// The first bytes of a beginning, at the very end of the text.
    fn partial_beginning(&mut self) {
        let tail = self.text.len().saturating_sub(LONGEST_BEGINNING);
        let mut from = self.text.len();
        for at in (tail..self.text.len()).rev() {
            let rest = self.text.get(at..).unwrap_or_default();
            // No beginning holds one of these, so none reaches over it.
            let Some(first) = rest.first().filter(|byte| byte.is_ascii_graphic()) else {
                break;
            };
            let begins = |rule: &&Rule| {
                let dashes = matches!(rule.begins, "sk-" | "SG." | "r8_" | "rpa_" | "npm_");
                let word = rule
                    .begins
                    .as_bytes()
                    .first()
                    .is_some_and(u8::is_ascii_alphanumeric);
                rule.begins.as_bytes().first() == Some(first)
                    && !rule.apart
                    && rule.begins.len() > rest.len()
                    && rule.begins.as_bytes().starts_with(rest)
                    && (!word || self.is_boundary(at, dashes))
            };
            if RULES.iter().any(|rule| begins(&rule)) {
                from = at;
            }
        }
        if from < self.text.len() {
            self.found.push(Found {
                from,
                to: self.text.len(),
                rule: "",
                open: true,
                extent: Extent::Run(Class::Dashed),
            });
        }
    }
}

/// `tokens`, `tokenizer`, `keys`, `passed`: words that begin as a name's part does and mean another
/// thing.
fn is_other_word(text: &[u8], from: usize, to: usize) -> bool {
    let word = text.get(from..to).unwrap_or_default();
    let next = text.get(to).copied().unwrap_or(0).to_ascii_lowercase();
    match word.len() {
        5 if name_is(word, b"token") => matches!(next, b's' | b'i'),
        3 if name_is(word, b"key") => next.is_ascii_alphabetic(),
        4 if name_is(word, b"pass") => matches!(next, b'e' | b'i'),
        _ => false,
    }
}

const LONGEST_BEGINNING: usize = 26;

fn name_is(name: &[u8], word: &[u8]) -> bool {
    name.eq_ignore_ascii_case(word)
}

fn trim_back<'a>(mut text: &'a [u8], bytes: &[u8]) -> &'a [u8] {
    while let Some((last, rest)) = text.split_last() {
        if !bytes.contains(last) {
            break;
        }
        text = rest;
    }
    text
}
