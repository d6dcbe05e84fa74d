//! Files that say how names are resolved: `/etc/hosts` and `/etc/resolv.conf`, shown whole or in part.
//!
//! Source: `hosts(5)`, `resolv.conf(5)`.

use std::net::IpAddr;

use super::line::Seen;
use crate::fact::Setting;
use crate::text::TextLine;

/// More names than this are a list of what to block, and no help.
const MAX_NAMES: usize = 200;

/// Whether a path is one of these files.
pub(super) fn is_about_names(path: &str) -> bool {
    ["/etc/hosts", "/etc/resolv.conf"].contains(&path)
}

/// The entries in lines of these files.
pub(super) fn read(lines: &[&TextLine]) -> Vec<Seen> {
    let mut seen = Vec::new();
    for line in lines {
        for setting in entries(&line.text) {
            if seen.len() == MAX_NAMES {
                return seen;
            }
            seen.push(Seen {
                fact: setting.into(),
                from: line.from,
                to: line.to,
            });
        }
    }
    seen
}

fn entries(text: &str) -> Vec<Setting> {
    let text = text.split('#').next().unwrap_or("");
    let mut words = text.split_whitespace();
    let Some(first) = words.next() else {
        return Vec::new();
    };
    let setting = |tool: &str, name: &str, value: &str| Setting {
        tool: tool.to_owned(),
        name: name.to_owned(),
        value: value.to_owned(),
    };
    if let Some(address) = address(first) {
        return words
            .filter(|name| name.starts_with(|c: char| c.is_ascii_alphanumeric()))
            .map(|name| setting("hosts", name, address))
            .collect();
    }
    let keyword = after_prefix(first);
    if matches!(keyword, "nameserver" | "search" | "domain" | "options") {
        return words
            .map(|value| setting("resolv.conf", keyword, value))
            .collect();
    }
    Vec::new()
}

/// An address, perhaps behind a number or name that grep put before it.
fn address(word: &str) -> Option<&str> {
    let mut rest = word;
    loop {
        if rest.parse::<IpAddr>().is_ok() {
            return Some(rest);
        }
        let at = rest.find([':', '-'])?;
        rest = rest.get(at + 1..)?;
    }
}

fn after_prefix(word: &str) -> &str {
    word.rsplit([':', '-']).next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(String, String)> {
        entries(text)
            .into_iter()
            .map(|one| (one.name, one.value))
            .collect()
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn each_name_of_a_line_has_its_address() {
        let both = [pair("db.corp", "10.2.0.9"), pair("db", "10.2.0.9")];
        for line in [
            "10.2.0.9 db.corp db",
            "10.2.0.9\tdb.corp\tdb # until the move",
            "7:10.2.0.9 db.corp db",
            "7-10.2.0.9 db.corp db",
            "/etc/hosts:7:10.2.0.9 db.corp db",
        ] {
            assert_eq!(of(line), both, "{line}");
        }
        assert_eq!(of("::1 localhost"), [pair("localhost", "::1")]);
        assert_eq!(of("3:::1 localhost"), [pair("localhost", "::1")]);
    }

    #[test]
    fn resolvers_are_named() {
        assert_eq!(of("nameserver 10.2.0.2"), [pair("nameserver", "10.2.0.2")]);
        assert_eq!(
            of("1:search corp lan"),
            [pair("search", "corp"), pair("search", "lan")]
        );
    }

    #[test]
    fn comments_and_other_lines_say_nothing() {
        for line in [
            "# 10.2.0.9 db.corp",
            "",
            "hosts: files dns",
            "10.2.0.9",
            "No such file",
        ] {
            assert_eq!(of(line), [], "{line}");
        }
    }
}
