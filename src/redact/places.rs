//! Secrets by where they stand: in headers, addresses, keys and the words of programs.

use super::argv;
use super::extent::{Extent, is_blank_or_quote, is_line_end};
use super::rules::Class;
use super::scan::{End, Found, Scan};
use super::values::{self, Strength, Written};

impl Scan<'_> {
    /// `Authorization: Bearer …`
    pub(super) fn authorization(&mut self, name_end: usize) {
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
            if values::is_nothing(value) {
                return false;
            }
            if has_scheme {
                return value.len() >= 4 || cut;
            }
            cut || value.len() >= 8
                && values::is_secret(Strength::Medium, value, Written::Printed, quoted)
        });
    }

    /// `Bearer …` by itself.
    pub(super) fn bearer(&mut self, name_end: usize) {
        let at = self.blanks(name_end, 4);
        if at > name_end {
            self.candidate(at, Extent::Word, "auth", |value, cut| {
                !values::is_nothing(value)
                    && (value.len() >= 16 || cut && value.len() >= 8)
                    && value.iter().any(u8::is_ascii_digit)
            });
        }
    }

    /// `Cookie: a=b; c=d` whole, of `Set-Cookie: a=b; Path=/` the value.
    pub(super) fn cookie(&mut self, name_end: usize, set: bool) {
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
                    value.len() >= 4 && !values::is_nothing(value)
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
    pub(super) fn url(&mut self, at: usize) {
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
            !value.is_empty() && !values::is_nothing(value)
        } else {
            values::is_random(value)
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
    pub(super) fn private_key(&mut self, start: usize, stop: usize) {
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
    pub(super) fn tool(&mut self, at: usize) {
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
}
