//! Whose complaint is it: what programs, and the shells that run them, say on standard error.

use super::plan::Speaker;
use super::{Ctx, Fit, Probe, shellmsg};
use crate::fact::NotRun;
use crate::shell::{Invocation, RedirectTo, Tri};

/// How well a line fits as a complaint of this party.
pub(super) fn fit(line: &str, speaker: &Speaker<'_>, probe: &dyn Probe, ctx: &Ctx<'_>) -> Fit {
    let invocation = speaker.invocation;
    let program = invocation.program();
    // What Ctrl-C looks like where the terminal echoes it stands before the next word.
    let line = line.strip_prefix("^C").unwrap_or(line);
    if let Some(rest) = shellmsg::after_shell_prefix(line) {
        let line = invocation.line();
        let whole = !program.is_empty() && rest.trim_end().ends_with(line.as_str());
        let first = invocation
            .words
            .first()
            .map_or("", |word| word.text.as_str());
        let names_it = !program.is_empty()
            && (rest.starts_with(&format!("{first}:")) || rest.ends_with(&format!(": {first}")));
        let mentions = first.len() > 2 && rest.contains(first);
        let names_redirect = invocation.hop.is_none() && names_redirect(rest, invocation);
        return if whole || names_it || names_redirect {
            Fit::Surely
        } else if mentions {
            Fit::Likely
        } else {
            Fit::No
        };
    }
    let of_tls = line.contains("SSL") || line.contains("certificate");
    if program == "curl"
        && of_tls
        && line.starts_with("curl: ")
        && !invocation
            .args()
            .iter()
            .any(|word| word.text.contains("https:") || !word.literal)
    {
        return Fit::Hardly;
    }
    if program == "curl" && line.starts_with("curl: ") && !names_another(line, invocation) {
        // With `-s` alone it says nothing.
        return probe.complains(line, ctx);
    }
    if let Some(name) = named_object(line)
        && matches!(program, "kubectl" | "oc" | "k" | "systemctl")
    {
        let own = probe.complains(line, ctx);
        let bare = name.trim_end_matches(".service");
        let named = invocation
            .args()
            .iter()
            .any(|word| word.text.contains(bare));
        return if named { own } else { own.min(Fit::Hardly) };
    }
    if matches!(program, "docker" | "podman" | "nerdctl") && shellmsg::is_engine_line(line) {
        // Who only looks fails for want of the thing, or of the engine.
        let looks = invocation.args().first().is_some_and(|verb| {
            matches!(
                verb.text.as_str(),
                "ps" | "inspect" | "images" | "stats" | "logs" | "info"
            )
        });
        let of_a_start = [
            "mkdir ",
            "OCI runtime",
            "failed to create",
            "driver failed",
            "tls:",
            "pull",
        ]
        .iter()
        .any(|sign| line.contains(sign));
        return if looks && of_a_start {
            Fit::Hardly
        } else {
            Fit::Likely
        };
    }
    if !program.is_empty() {
        let word = invocation
            .words
            .first()
            .map_or("", |word| word.text.as_str());
        let inner = match program {
            "zcat" | "gunzip" | "zgrep" | "zless" => "gzip",
            "xzcat" | "unxz" => "xz",
            "bzcat" | "bunzip2" => "bzip2",
            "egrep" | "fgrep" => "grep",
            _ => program,
        };
        for name in [program, word, inner] {
            if let Some(rest) = line.strip_prefix(name)
                && (rest.starts_with(": ") || rest.starts_with(" error"))
            {
                return if names_another(rest, invocation) {
                    Fit::Likely
                } else {
                    Fit::Surely
                };
            }
        }
    }
    if invocation.hop.is_some() || invocation.program().is_empty() || speaker.passes_on {
        return Fit::No;
    }
    probe.complains(line, ctx)
}

/// The object that a manager speaks of: `pods "web-0" not found`, `Job for web.service failed`, `Unit
/// web.service could not be found`.
fn named_object(said: &str) -> Option<&str> {
    if let Some((_, rest)) = said.split_once(" \"")
        && let Some((name, after)) = rest.split_once('"')
    {
        let unit = name.strip_prefix("systemctl status ");
        return match unit {
            Some(unit) => Some(unit),
            None => after.starts_with(" not found").then_some(name),
        };
    }
    let rest = [
        "Job for ",
        "Unit ",
        "Failed to start ",
        "Failed to stop ",
        "Failed to restart ",
    ]
    .iter()
    .find_map(|start| said.strip_prefix(start))?;
    rest.split([' ', ':'])
        .next()
        .filter(|name| name.contains('.'))
}

/// Whether a program's complaint names a file that the invocation does not.
fn names_another(said: &str, invocation: &Invocation) -> bool {
    let host = ["resolve host: ", "connect to ", "Connection to "]
        .iter()
        .find_map(|before| said.split_once(before))
        .and_then(|(_, rest)| rest.split([' ', ',', ':']).next());
    let quoted = said
        .split_once(['\'', '‘'])
        .and_then(|(_, rest)| rest.split(['\'', '’']).next())
        .filter(|name| name.contains(['/', '.']));
    let kind = said
        .split_once("resource type \"")
        .and_then(|(_, rest)| rest.split('"').next());
    // `grep: .bash_profile: No such file or directory`
    let before_reason = [
        "No such file or directory",
        "Permission denied",
        "Is a directory",
    ]
    .iter()
    .find_map(|reason| said.trim_end().strip_suffix(reason)?.strip_suffix(": "))
    .and_then(|front| front.rsplit(": ").next())
    .map(|name| name.trim_start_matches(": "))
    .filter(|name| !name.is_empty() && !name.contains([' ', '\'', '‘']));
    let mut paths = said
        .split([' ', '\'', '"', '‘', '’', ':'])
        .filter(|word| word.len() > 1 && word.starts_with(['/', '~']))
        .chain(before_reason)
        .chain(quoted)
        .chain(host)
        .chain(kind)
        .peekable();
    if paths.peek().is_none() {
        return false;
    }
    let known = |path: &str| {
        invocation.args().iter().any(|word| {
            let shown = word.text.split(['*', '?', '$', '`', '[', '{']).next();
            if word.text.contains(['$', '`']) && shown == Some("") {
                return true;
            }
            word.text.contains(['*', '?', '$', '`', '{'])
                && shown.is_some_and(|start| path.starts_with(start.trim_start_matches('~')))
                || {
                    let own = word.text.trim_start_matches('~').trim_end_matches('/');
                    !own.is_empty() && (path.contains(own) || own.contains(path))
                }
        })
    };
    !paths.any(known)
}

/// `bash: /server.log: Permission denied`: the redirection could not be made, so the command did not
/// run.
pub(super) fn redirect_failed(line: &str, invocation: &Invocation) -> Option<NotRun> {
    let rest = shellmsg::after_shell_prefix(line)?.trim_end();
    let why = [
        "Permission denied",
        "No such file or directory",
        "Is a directory",
        "Read-only file system",
        "No space left on device",
        "cannot create",
    ];
    let failed = why.iter().any(|why| rest.ends_with(why)) && invocation.hop.is_none();
    let program = invocation.program();
    (failed
        && !program.is_empty()
        && !rest.starts_with(program)
        && names_redirect(rest, invocation))
    .then(|| NotRun {
        program: invocation
            .words
            .first()
            .map_or("", |word| word.text.as_str())
            .to_owned(),
        why: "redirect".to_owned(),
        text: line.to_owned(),
        path: String::new(),
        old: Tri::Unknown,
    })
}

/// Whether a text names a file that the invocation's output or input is redirected to.
pub(super) fn names_redirect(text: &str, invocation: &Invocation) -> bool {
    invocation
        .redirects
        .iter()
        .any(|redirect| match &redirect.to {
            RedirectTo::Truncate { path }
            | RedirectTo::Append { path }
            | RedirectTo::Read { path } => {
                let end = path.text.rsplit(['$', '}']).next().unwrap_or("");
                let end = end.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
                let known = if path.literal {
                    path.text.as_str()
                } else {
                    end
                };
                !known.is_empty() && text.contains(known)
            }
            _ => false,
        })
}
