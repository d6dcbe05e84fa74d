//! A text → the secrets in it, and what at its end may be the beginning of one.

use super::extent::{Extent, is_line_end};
use super::find::{self, What};
use super::names;
use super::rules::{Class, RULES, Rule};
use super::values::{self, Strength, Written};

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

/// Finds the secrets of a text.
pub(super) fn scan(text: &[u8], end: End, written: Written, found: &mut Vec<Found>) {
    let mut scan = Scan {
        text,
        end,
        written,
        found,
    };
    let mut name_end = 0;
    find::each(text, |hit| match hit.what {
        What::Token(rule) => scan.token(rule, hit.from, hit.to),
        What::Name if hit.from >= name_end && !is_other_word(text, hit.from, hit.to) => {
            name_end = scan.name(hit.from, hit.to);
        }
        What::Name => {}
        What::Url => scan.url(hit.to),
        What::Tool => {
            scan.tool(hit.from);
            scan.name(hit.from, hit.to); // `SSHPASS=…`
        }
    });
    if end == End::More {
        scan.partial_beginning();
    }
}

/// A text being read.
pub(super) struct Scan<'a> {
    pub(super) text: &'a [u8],
    pub(super) end: End,
    written: Written,
    pub(super) found: &'a mut Vec<Found>,
}

fn name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

impl Scan<'_> {
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    pub(super) fn before(&self, at: usize) -> u8 {
        at.checked_sub(1).map_or(0, |at| self.byte(at))
    }

    pub(super) fn slice(&self, from: usize, to: usize) -> &[u8] {
        self.text.get(from..to.max(from)).unwrap_or_default()
    }

    /// Notes a candidate, unless it turns out to be none. `accept` judges what is whole.
    pub(super) fn candidate(
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

    fn token(&mut self, rule: &'static Rule, from: usize, to: usize) {
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
    pub(super) fn run(
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
                            && values::is_base64_key(value)
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
    pub(super) fn separator(&self, name_end: usize) -> Option<(usize, u8)> {
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

    pub(super) fn blanks(&self, mut at: usize, most: usize) -> usize {
        let limit = at + most;
        while at < limit && matches!(self.byte(at), b' ' | b'\t') && at < self.text.len() {
            at += 1;
        }
        at
    }

    /// The quote a value opens with: where it begins then, and what ends it.
    pub(super) fn quote(&self, at: usize) -> Option<(usize, Extent)> {
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

    /// Whether the quote at a value's place closes the text that the name stands in, with nothing joined on to it:
    /// `read -p "Password: " x` asks for a value and holds none.
    fn closes(&self, start: usize, stop: usize, at: usize) -> bool {
        let quote = self.byte(at);
        if !matches!(quote, b'"' | b'\'') || matches!(self.byte(stop), b'"' | b'\'' | b'`' | b'\\')
        {
            return false;
        }
        if !matches!(
            self.byte(at + 1),
            b' ' | b'\t' | b'\n' | b'\r' | b',' | b';' | b')' | b']' | b'}'
        ) {
            return false;
        }
        let line = self.slice(start.saturating_sub(400), start);
        let begin = line
            .iter()
            .rposition(|byte| is_line_end(*byte))
            .map_or(0, |end| end + 1);
        let line = line.get(begin..).unwrap_or_default();
        let is_letter = |at: Option<usize>| {
            at.and_then(|at| line.get(at))
                .is_some_and(u8::is_ascii_alphanumeric)
        };
        let mut open = false;
        let mut escaped = false;
        for (place, byte) in line.iter().enumerate() {
            // The apostrophe of `don't` opens nothing.
            let within =
                quote == b'\'' && is_letter(place.checked_sub(1)) && is_letter(Some(place + 1));
            open ^= *byte == quote && !escaped && !within;
            escaped = *byte == b'\\' && !escaped;
        }
        open
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
                    return enough && !values::is_nothing(value);
                }
                values::is_secret(strength, value, written, quoted)
            }
        };
        if let Some((at, sign)) = self.separator(stop) {
            if self.closes(start, stop, at) {
                return;
            }
            if let Some((from, extent)) = self.quote(at) {
                return self.candidate(from, extent, rule, judge(true));
            }
            // `passwd: …`, `chpasswd: …`: mostly the program speaks.
            if sign == b':' && self.slice(start, stop).ends_with(b"passwd") {
                return self.candidate(at, Extent::Word, rule, move |value, cut| {
                    cut || values::is_secret(Strength::Medium, value, Written::Printed, false)
                });
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
                if word < self.text.len() && values::is_nothing_printed(self.slice(at, word)) {
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
        let accept = |value: &[u8], _cut: bool| !values::is_nothing(value) && value.len() >= 2;
        match self.quote(at) {
            Some((from, extent)) => self.candidate(from, extent, rule, accept),
            None => self.candidate(at, Extent::Line, rule, accept),
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
