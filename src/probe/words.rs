//! The words of an invocation as options and operands, and small readers of text that all probes
//! share.

use crate::shell::{Invocation, Word};

/// The options and operands of an invocation.
pub(crate) struct Args<'a> {
    options: Vec<(&'a str, Option<&'a str>)>,
    /// What is no option.
    pub operands: Vec<&'a Word>,
}

impl<'a> Args<'a> {
    /// Splits the words after the program; `valued` names the options that take a value, long and
    /// short, parted by spaces (`"p pid o format"`).
    pub(crate) fn of(invocation: &'a Invocation, valued: &str) -> Self {
        Self::split(invocation.args(), valued)
    }

    /// The same for any list of words.
    pub(crate) fn split(words: &'a [Word], valued: &str) -> Self {
        let takes = |name: &str| valued.split(' ').any(|one| one == name);
        let mut args = Self {
            options: Vec::new(),
            operands: Vec::new(),
        };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let text = word.text.as_str();
            if text == "--" {
                args.operands.extend(rest);
                break;
            }
            if let Some(long) = text.strip_prefix("--") {
                match long.split_once('=') {
                    Some((name, value)) => args.options.push((name, Some(value))),
                    None if takes(long) => {
                        let value = rest.next().map(|word| word.text.as_str());
                        args.options.push((long, value));
                    }
                    None => args.options.push((long, None)),
                }
            } else if text.len() > 1
                && let Some(cluster) = text.strip_prefix('-')
            {
                for (at, letter) in cluster.char_indices() {
                    let end = at + letter.len_utf8();
                    let name = &cluster[at..end];
                    if takes(name) {
                        let value = if end < cluster.len() {
                            Some(&cluster[end..])
                        } else {
                            rest.next().map(|word| word.text.as_str())
                        };
                        args.options.push((name, value));
                        break;
                    }
                    args.options.push((name, None));
                }
            } else {
                args.operands.push(word);
            }
        }
        args
    }

    /// One of these options was given.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(name))
    }

    /// The last value of one of these options.
    pub(crate) fn value(&self, names: &[&str]) -> Option<&'a str> {
        self.values(names).last()
    }

    /// All values of these options.
    pub(crate) fn values(&self, names: &[&str]) -> impl DoubleEndedIterator<Item = &'a str> {
        self.options
            .iter()
            .filter(move |(name, _)| names.contains(name))
            .filter_map(|(_, value)| *value)
    }

    /// The operands' texts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &'a str> {
        self.operands.iter().map(|word| word.text.as_str())
    }

    /// The first operand's text.
    pub(crate) fn first(&self) -> Option<&'a str> {
        self.texts().next()
    }
}

/// A whole number at the start of a text, and what follows it.
pub(crate) fn leading_int(text: &str) -> Option<(i64, &str)> {
    let text = text.trim_start();
    let end = text
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || (*at == 0 && *c == '-')))
        .map_or(text.len(), |(at, _)| at);
    let number = text[..end].parse().ok()?;
    Some((number, &text[end..]))
}

/// A text that is one whole number and nothing else.
pub(crate) fn int(text: &str) -> Option<i64> {
    text.trim().parse().ok()
}

/// A number with its unit behind it (`3509 MiB`, `63 %`, `124.07 W`, `29C`): the number.
pub(crate) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || *c == '.' || (*at == 0 && *c == '-')))
        .map_or(text.len(), |(at, _)| at);
    text[..end].parse().ok()
}

/// A size as `ls -h`, `du -h`, `df -h`, `free -h` print it (`1.4T`, `23K`, `658Mi`, `0B`, `26G`), in
/// bytes; powers of 1024. A bare number is taken times `unit_bytes`.
pub(crate) fn size_bytes(text: &str, unit_bytes: f64) -> Option<f64> {
    let text = text.trim();
    let value = number(text)?;
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let unit = unit
        .strip_suffix("iB")
        .or(unit.strip_suffix('i'))
        .unwrap_or(unit);
    let unit = if unit.len() > 1 {
        unit.strip_suffix('B').unwrap_or(unit)
    } else {
        unit
    };
    let factor = match unit {
        "" => unit_bytes,
        "B" => 1.0,
        "K" | "k" => 1024.0,
        "M" | "m" => 1024.0 * 1024.0,
        "G" | "g" => 1024.0_f64.powi(3),
        "T" | "t" => 1024.0_f64.powi(4),
        "P" => 1024.0_f64.powi(5),
        _ => return None,
    };
    Some(value * factor)
}

/// A time as ps prints it: `[[DD-]HH:]MM:SS[.hh]`, in seconds.
pub(crate) fn clock_seconds(text: &str) -> Option<f64> {
    let (days, text) = match text.trim().split_once('-') {
        Some((days, rest)) => (days.parse::<f64>().ok()?, rest),
        None => (0.0, text.trim()),
    };
    if !text.contains(':') {
        return None;
    }
    let mut seconds = 0.0;
    for part in text.split(':') {
        seconds = seconds * 60.0 + part.parse::<f64>().ok().filter(|part| *part >= 0.0)?;
    }
    Some(days * 86_400.0 + seconds)
}

/// A path without trailing slashes (but `/` stays).
pub(crate) fn plain_path(path: &str) -> &str {
    let plain = path.trim_end_matches('/');
    if plain.is_empty() { path } else { plain }
}

/// A path joined to a folder.
pub(crate) fn join(dir: &str, name: &str) -> String {
    if name.starts_with('/') || dir.is_empty() || dir == "." {
        name.to_owned()
    } else {
        format!("{}/{name}", plain_path(dir).trim_end_matches('/'))
    }
}

/// A path as written, with the invocation's folder in front where that is known and the path is
/// relative to it.
pub(crate) fn resolved(invocation: &Invocation, path: &str) -> String {
    match &invocation.cwd {
        Some(cwd)
            if !path.starts_with('/')
                && !path.starts_with('~')
                && !path.starts_with('$')
                && !path.is_empty() =>
        {
            let mut rest = path;
            while let Some(shorter) = rest.strip_prefix("./") {
                rest = shorter;
            }
            if rest == "." {
                plain_path(cwd).to_owned()
            } else {
                join(cwd, rest)
            }
        }
        _ => path.to_owned(),
    }
}

/// Columns parted by blanks, each with the byte it starts at.
pub(crate) fn fields(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        match (c.is_whitespace(), start) {
            (true, Some(from)) => {
                found.push((from, &text[from..at]));
                start = None;
            }
            (false, None) => start = Some(at),
            _ => {}
        }
    }
    if let Some(from) = start {
        found.push((from, &text[from..]));
    }
    found
}

/// The text after the first `count` columns parted by blanks.
pub(crate) fn after_fields(text: &str, count: usize) -> &str {
    fields(text)
        .get(count)
        .map_or("", |(at, _)| text.get(*at..).unwrap_or(""))
}

/// The text after the first `count` columns, when there is any.
pub(crate) fn words_after(text: &str, count: usize) -> Option<&str> {
    Some(after_fields(text, count)).filter(|rest| !rest.is_empty())
}

/// A whole number from a float that is one.
#[expect(clippy::cast_possible_truncation, reason = "bounded by the check")]
pub(crate) fn whole(value: f64) -> Option<i64> {
    (value.is_finite() && value.abs() < 9.0e18).then_some(value.round() as i64)
}

/// A count as a fact holds it.
pub(crate) fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// What a quoted name in a message names: `'x'`, `‘x’`, `` `x' `` or `"x"`.
pub(crate) fn quoted(text: &str) -> Option<&str> {
    let (open, from) = text
        .char_indices()
        .find(|(_, c)| matches!(c, '\'' | '‘' | '`' | '"'))
        .map(|(at, c)| (c, at + c.len_utf8()))?;
    let close: &[char] = match open {
        '‘' => &['’'],
        '"' => &['"'],
        _ => &['\''],
    };
    let rest = &text[from..];
    rest.find(close).map(|to| &rest[..to])
}

/// Whether a name is what a shell pattern (`*.log`, `shard-0?`) stands for, or the pattern itself.
pub(crate) fn glob_matches(pattern: &str, name: &str) -> bool {
    if pattern == name {
        return true;
    }
    if !pattern.contains(['*', '?']) {
        return false;
    }
    let expression: String = pattern
        .chars()
        .map(|c| match c {
            '*' => "[^/]*".to_owned(),
            '?' => "[^/]".to_owned(),
            other => regex::escape(other.encode_utf8(&mut [0; 4])),
        })
        .collect();
    regex::Regex::new(&format!("^{expression}$")).is_ok_and(|regex| regex.is_match(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_1024() {
        assert_eq!(size_bytes("1.5K", 1.0), Some(1536.0));
        assert_eq!(size_bytes("658Mi", 1.0), Some(658.0 * 1_048_576.0));
        assert_eq!(size_bytes("0B", 1.0), Some(0.0));
        assert_eq!(size_bytes("12", 1024.0), Some(12_288.0));
        assert_eq!(size_bytes("none", 1.0), None);
    }

    #[test]
    fn times_of_ps_have_up_to_four_parts() {
        assert_eq!(clock_seconds("00:14"), Some(14.0));
        assert_eq!(clock_seconds("1-02:11:09"), Some(94_269.0));
        assert_eq!(clock_seconds("0:29.33"), Some(29.33));
        assert_eq!(clock_seconds("14"), None);
    }

    #[test]
    fn names_in_messages_have_many_quotes() {
        assert_eq!(quoted("cannot access 'a b': No"), Some("a b"));
        assert_eq!(quoted("cannot stat ‘x’: No"), Some("x"));
        assert_eq!(quoted("none"), None);
    }
}
