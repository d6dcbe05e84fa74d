//! Paths as far as a command line tells them: working directories joined, dots taken out.

/// The working directory after `cd target`. `None`: it cannot be told.
pub(super) fn enter(cwd: Option<&str>, target: Option<&str>, home: Option<&str>) -> Option<String> {
    match target {
        None | Some("" | "~") => Some("~".to_owned()),
        Some("-") => None,
        Some(target) if target.starts_with(['/', '~', '$']) => Some(tidy(target)),
        Some(target) => match cwd.or(home) {
            Some(base) => Some(tidy(&format!("{base}/{target}"))),
            None => Some(tidy(target)),
        },
    }
}

/// A path made independent of the working directory, or `None` when that is not known. The home
/// of a user who is not root stays `~`.
pub(super) fn resolve(
    path: &str,
    cwd: Option<&str>,
    home: Option<&str>,
    user: Option<&str>,
) -> Option<String> {
    let unknown = |text: &str| text.contains(['$', '`', '*', '?', '\n']) || text.contains("(");
    if path.is_empty() || unknown(path) {
        return None;
    }
    let whole = if path.starts_with(['/', '~']) {
        tidy(path)
    } else {
        let base = cwd.or(home)?;
        if unknown(base) || !base.starts_with(['/', '~']) {
            return None;
        }
        tidy(&format!("{base}/{path}"))
    };
    match whole.strip_prefix('~') {
        Some(rest) if user == Some("root") && (rest.is_empty() || rest.starts_with('/')) => {
            Some(format!("/root{rest}"))
        }
        _ => Some(whole),
    }
}

/// A path without `.`, `//` and, where that is sure, `..`.
pub(super) fn tidy(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts
                .last()
                .is_some_and(|last| *last != ".." && !last.starts_with(['~', '$'])) =>
            {
                parts.pop();
            }
            ".." if path.starts_with('/') && parts.is_empty() => {}
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (path.starts_with('/'), joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::{enter, resolve, tidy};

    #[test]
    fn paths_are_joined_and_tidied() {
        assert_eq!(tidy("/a//b/./c/../d"), "/a/b/d");
        assert_eq!(tidy("../x"), "../x");
        assert_eq!(tidy("~/.."), "~/..");
        assert_eq!(
            enter(Some("/srv"), Some("x"), None).as_deref(),
            Some("/srv/x")
        );
        assert_eq!(enter(None, Some("x"), Some("~")).as_deref(), Some("~/x"));
        assert_eq!(enter(Some("/srv"), Some("-"), None), None);
        assert_eq!(
            resolve("run.log", None, Some("/root"), None).as_deref(),
            Some("/root/run.log")
        );
        assert_eq!(
            resolve("run.log", None, Some("~"), None).as_deref(),
            Some("~/run.log")
        );
        assert_eq!(resolve("run.log", None, None, None), None);
        assert_eq!(
            resolve("./run.log", Some("/srv"), None, None).as_deref(),
            Some("/srv/run.log")
        );
        assert_eq!(resolve("$D/run.log", Some("/srv"), None, None), None);
        assert_eq!(resolve("run.log", Some("$D"), None, None), None);
    }
}
