//! `curl` and `wget`: what was asked, and what came back.
//!
//! Sources: curl 7.5x to 8.x (`--write-out`, exit codes of curl(1)), wget 1.2x;
//! `tests/fixtures/probes/curl`.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;

use super::pattern::pattern;
use super::words::{Args, int};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink};
use crate::event::Stream;
use crate::fact::Http;
use crate::shell::{Invocation, Tri};

const CURL_VALUED: &str = "A user-agent b cookie c cookie-jar d data data-raw data-binary data-urlencode data-ascii json D dump-header e referer E cert F form H header K config m max-time o output P Q r range t T upload-file u user U w write-out x proxy X request y Y z C connect-timeout retry retry-delay retry-max-time resolve cacert cert key interface noproxy unix-socket url limit-rate max-redirs connect-to socks5 socks5-hostname output-dir ciphers tls-max proxy-header dns-servers";

/// The start of a body that is kept.
const BODY_BYTES: usize = 2_000;

/// JSON or markup begins, or goes on, here.
fn is_document(start: &str) -> bool {
    let mut chars = start.chars();
    let first = chars.next();
    let next = chars.find(|ch| !ch.is_whitespace());
    match first {
        Some('{') => matches!(next, None | Some('"' | '}' | '{')),
        Some('[') => {
            // `["x"] == y` is a condition of some configuration.
            let closed = start.split_once("\"]").map_or("", |(_, rest)| rest.trim());
            matches!(next, None | Some('"' | '{' | ']'))
                && (closed.is_empty() || closed.starts_with([',', ']', '}']))
        }
        Some('<') => {
            next.is_some_and(|ch| matches!(ch, '!' | '/' | '?') || ch.is_ascii_alphabetic())
        }
        _ => false,
    }
}

/// A line of Prometheus' exposition format: `name{label="x"} 0`, `# HELP name …`.
fn is_exposition(line: &str) -> bool {
    static SAMPLE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^(?:# (?:HELP|TYPE) [a-z_]\w+ |[a-z_]\w*_\w+(?:\{.*\})? -?[\d.]+(?:e[+-]?\d+)?$)")
    });
    SAMPLE.is_match(line)
}

/// The name of a header: with a dash, or one of those without.
fn is_header_name(name: &str) -> bool {
    const BARE: &[&str] = &[
        "date",
        "server",
        "connection",
        "location",
        "vary",
        "via",
        "etag",
        "age",
        "expires",
        "allow",
        "pragma",
        "upgrade",
        "link",
        "refresh",
        "trailer",
        "warning",
        "p3p",
        "nel",
        "status",
        "cookie",
        "origin",
        "host",
        "priority",
        "alt",
        "traceparent",
        "forwarded",
    ];
    let plain = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic());
    plain && first && (name.contains('-') || BARE.contains(&name.to_ascii_lowercase().as_str()))
}

/// A line of a log of JSON records.
fn is_log_record(start: &str) -> bool {
    let says = ["\"msg\":", "\"message\":", "\"event\":"];
    let how = ["\"level\":", "\"severity\":", "\"levelname\":", "\"lvl\":"];
    let has = |names: &[&str]| names.iter().any(|name| start.contains(name));
    has(&says) && has(&how)
}

/// A URL in its parts.
fn parts(url: &str) -> (String, Option<i64>, String) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(at);
    let authority = authority.rsplit('@').next().unwrap_or(authority);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, int(port)),
        _ => (authority, None),
    };
    let default = match scheme {
        "https" => Some(443),
        "http" => Some(80),
        _ => None,
    };
    let path = if path.is_empty() { "/" } else { path };
    (
        host.to_owned(),
        port.or(default.filter(|_| !authority.contains('$'))),
        path.to_owned(),
    )
}

/// How a curl was asked.
struct Ask<'a> {
    urls: Vec<&'a str>,
    /// The body does not come on standard output.
    to_file: bool,
    head: bool,
    include: bool,
    fails: bool,
    format: Option<String>,
}

impl<'a> Ask<'a> {
    fn of(invocation: &'a Invocation) -> Self {
        let args = Args::of(invocation, CURL_VALUED);
        let mut urls: Vec<&str> = args.texts().collect();
        urls.extend(args.values(&["url"]));
        let output = args.value(&["o", "output"]);
        let format = args
            .value(&["w", "write-out"])
            .filter(|format| !format.starts_with('@'))
            .map(|format| {
                format
                    .replace("\\n", "\n")
                    .replace("\\t", "\t")
                    .replace("\\r", "")
            });
        Self {
            urls,
            to_file: output.is_some_and(|to| to != "-") || args.has(&["O", "remote-name"]),
            head: args.has(&["I", "head"]),
            include: args.has(&["i", "include"]),
            fails: args.has(&["f", "fail", "fail-with-body"]),
            format,
        }
    }

    /// The lines that `--write-out` ends with.
    fn format_lines(&self) -> Vec<&str> {
        self.format.as_deref().map_or_else(Vec::new, |format| {
            format
                .trim_start_matches('\n')
                .trim_end_matches('\n')
                .split('\n')
                .filter(|line| !line.is_empty())
                .collect()
        })
    }
}

/// A regular expression for a piece of a `--write-out` format.
fn expression(format: &str) -> String {
    let mut out = String::new();
    let mut rest = format;
    let mut coded = false;
    while let Some(at) = rest.find("%{") {
        let (text, variable) = rest.split_at(at);
        out.push_str(&regex::escape(text));
        let Some(end) = variable.find('}') else {
            rest = variable;
            break;
        };
        let name = variable.get(2..end).unwrap_or("");
        match name {
            "http_code" | "response_code" if !coded => {
                coded = true;
                out.push_str(r"(?P<code>000|[1-5]\d\d)");
            }
            "http_code" | "response_code" | "http_connect" => out.push_str(r"\d{3}"),
            name if name.starts_with("time_") => out.push_str(r"\d+[.,]\d+"),
            name if name.starts_with("size_")
                || name.starts_with("num_")
                || name.ends_with("_port")
                || name == "exitcode" =>
            {
                out.push_str(r"\d+");
            }
            _ => out.push_str("[^\n]*?"),
        }
        rest = variable.get(end + 1..).unwrap_or("");
    }
    let _ = write!(out, "{}", regex::escape(rest));
    out
}

/// What an exit code of curl means.
fn outcome_of_code(code: i64, message: &str) -> &'static str {
    if message.contains("No route to host")
        || message.contains("Network is unreachable")
        || message.contains("Network unreachable")
    {
        return "unreachable";
    }
    match code {
        0 => "ok",
        5 | 6 => "dns",
        7 if message.contains("timed out") || message.contains("Timeout") => "timeout",
        7 => "refused",
        22 => "http_error",
        28 => "timeout",
        35 | 51 | 53 | 54 | 58 | 59 | 60 | 66 | 77 | 80 | 82 | 83 | 90 | 91 => "tls",
        52 => "empty",
        55 | 56 | 92 | 16 | 18 => "reset",
        _ => "unknown",
    }
}

/// `curl`.
pub(super) struct Curl;

impl Probe for Curl {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "curl"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let ask = Ask::of(ctx.invocation);
        let last: Vec<Regex> = ask
            .format_lines()
            .iter()
            .filter_map(|line| Regex::new(&format!("(?:^|[^0-9]){}$", expression(line))).ok())
            .collect();
        let whole: Vec<Regex> = ask
            .format_lines()
            .iter()
            .filter_map(|line| Regex::new(&format!("^{}$", expression(line))).ok())
            .collect();
        let lines = last.len() * ask.urls.len().max(1);
        let (to_file, headers) = (ask.to_file, ask.head || ask.include);
        let metrics = ask.urls.iter().any(|url| url.contains("metrics"));
        let silent = to_file && lines == 0 && !headers;
        let fit = move |line: &str, nth: usize| {
            // What takes any text tells nothing.
            let tells = |regex: &Regex| regex.is_match(line) && !regex.is_match("\u{1} \u{1}");
            if whole.iter().any(tells) {
                return Fit::Surely;
            }
            if headers
                && (line.starts_with("HTTP/")
                    || line
                        .split_once(':')
                        .is_some_and(|(name, _)| is_header_name(name)))
            {
                return Fit::Surely;
            }
            if to_file {
                return Fit::No;
            }
            if is_exposition(line) {
                return if metrics { Fit::Surely } else { Fit::Likely };
            }
            let start = line.trim_start();
            if start.starts_with("{\"") && is_log_record(start) {
                // Where the answer's own end is known, this is not it.
                if last.is_empty() || last.iter().any(tells) {
                    Fit::Perhaps
                } else {
                    Fit::Hardly
                }
            } else if super::line::time_of(line, Some(2000)).is_some() {
                Fit::Hardly // of a log
            } else if last.iter().any(tells) || is_document(if nth == 0 { line } else { start }) {
                Fit::Likely
            } else {
                Fit::Perhaps
            }
        };
        if silent {
            let mut grammar = Grammar::any(fit);
            grammar.max = Some(0);
            grammar
        } else if to_file && !headers {
            Grammar::exactly(lines, fit)
        } else {
            Grammar::at_least(lines, fit)
        }
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let ask = Ask::of(ctx.invocation);
        let mut answer = Answer::default();
        let mut shown = Vec::new();
        for line in lines {
            if !answer.of_stderr(line) {
                shown.push(line.clone());
            }
        }
        if ask.urls.len() > 1 && ask.to_file {
            several(&ask, &shown, sink);
            return;
        }
        // A loop asks again and again: with the body thrown away, each line is an answer.
        let per_line = ask.to_file && ask.format_lines().len() == 1 && shown.len() > 1;
        let rounds: Vec<Vec<Shown>> = if per_line {
            shown.into_iter().map(|line| vec![line]).collect()
        } else {
            vec![shown]
        };
        for round in rounds {
            let mut answer = answer.clone();
            answer.of_stdout(&round, &ask);
            let span: Vec<Shown> = if round.is_empty() {
                lines.to_vec()
            } else {
                round
            };
            finish(answer, &ask, &span, ctx, sink);
        }
    }

    fn complains(&self, line: &str, ctx: &Ctx<'_>) -> Fit {
        let args = Args::of(ctx.invocation, CURL_VALUED);
        let talks = args.has(&["v", "verbose", "trace", "trace-ascii"]);
        let meter = line.contains("--:--:--")
            || line.starts_with("  % Total")
            || line.starts_with("            ");
        let silent = args.has(&["s", "silent"]) && !args.has(&["S", "show-error"]);
        let of_tls = [
            "More details here: https://curl.",
            "curl failed to verify",
            "establish a secure connection",
            "how to fix it, please visit",
        ];
        let error = line.starts_with("curl: ") || of_tls.iter().any(|one| line.starts_with(one));
        (error && !silent || (talks || meter) && self.is_chatter(line)).into()
    }

    fn is_chatter(&self, line: &str) -> bool {
        let starts = [
            "* ",
            "> ",
            "< ",
            "{ [",
            "} [",
            "  % Total",
            "                                 Dload",
        ];
        starts.iter().any(|start| line.starts_with(start))
            || matches!(line.trim_end(), ">" | "<" | "*")
            || line.contains("--:--:--")
    }

    fn reads_silence(&self) -> bool {
        true
    }
}

/// What came back, as far as it was seen.
#[derive(Debug, Clone, Default)]
struct Answer {
    code: Option<i64>,
    message: String,
    status: Option<i64>,
    body: Option<String>,
}

impl Answer {
    /// Takes a line of standard error (or of a terminal) that is curl's own talk.
    fn of_stderr(&mut self, line: &Shown) -> bool {
        let text = line.text.as_str();
        if let Some(rest) = text.strip_prefix("curl: (")
            && let Some((code, message)) = rest.split_once(") ")
        {
            self.code = int(code);
            message.clone_into(&mut self.message);
            if let Some(status) = message
                .rsplit("error: ")
                .next()
                .and_then(|rest| int(rest.get(..3)?))
                .filter(|_| message.contains("returned error"))
            {
                self.status = Some(status);
            }
            return true;
        }
        if let Some(rest) = text.strip_prefix("< HTTP/") {
            self.status = rest.split_whitespace().nth(1).and_then(int).or(self.status);
            return true;
        }
        line.stream == Stream::Stderr
            || ["* ", "> ", "< ", "{ [", "} ["]
                .iter()
                .any(|start| text.starts_with(start))
            || text.starts_with("  % Total")
            || text.contains("Dload  Upload")
            || text.contains("--:--:--")
    }

    fn of_stdout(&mut self, lines: &[Shown], ask: &Ask<'_>) {
        let mut text = lines
            .iter()
            .map(|line| line.text.as_str())
            .collect::<Vec<_>>()
            .join("\n");
        if let Some(format) = &ask.format {
            let lead = if format.starts_with('\n') { "\n?" } else { "" };
            let pattern = format!(r"(?s){lead}{}\n*$", expression(format.trim_matches('\n')));
            if let Some(found) = Regex::new(&pattern).ok().and_then(|regex| {
                regex.captures(&text).map(|found| {
                    let code = found.name("code").and_then(|code| int(code.as_str()));
                    (code, found.get(0).map_or(0, |all| all.start()))
                })
            }) {
                self.status = found.0.or(self.status);
                text.truncate(found.1);
            }
        }
        if ask.head || ask.include {
            for line in text.lines() {
                if let Some(rest) = line.strip_prefix("HTTP/") {
                    self.status = rest.split_whitespace().nth(1).and_then(int).or(self.status);
                }
            }
        }
        if !ask.to_file && !ask.head && !text.trim().is_empty() {
            let mut end = text.len().min(BODY_BYTES);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            self.body = Some(text.trim_end_matches('\n').to_owned());
        }
    }
}

fn finish(mut answer: Answer, ask: &Ask<'_>, span: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
    let Some(url) = ask.urls.first() else { return };
    let code = answer
        .code
        .or(ctx.exit.map(i64::from))
        .filter(|code| *code < 126);
    if answer.status.is_none()
        && let Some(body) = &answer.body
    {
        answer.status = status_in_body(body);
    }
    let outcome = match (code, answer.status) {
        (Some(code), _) if code != 0 && code != 22 && code != 23 => {
            outcome_of_code(code, &answer.message)
        }
        (_, Some(0)) => "unknown",
        (_, Some(status)) if status >= 400 => "http_error",
        (_, Some(_)) => "ok",
        (Some(22), None) => "http_error",
        (Some(0 | 23), None) => "ok",
        _ if answer.body.is_some() => "ok",
        _ => match ctx.failed {
            Tri::No => "ok",
            Tri::Yes if ask.fails || ctx.ran == Tri::Yes => "unknown",
            _ => return,
        },
    };
    let none = matches!(
        outcome,
        "refused" | "timeout" | "dns" | "tls" | "unreachable"
    );
    let (host, port, path) = parts(url);
    sink.lines(
        span,
        Http {
            url: (*url).to_owned(),
            host,
            port,
            path,
            status: answer.status.or(none.then_some(0)),
            outcome: outcome.to_owned(),
            body: answer.body,
        },
    );
}

/// A status that an error body names: `{"error":{"code":503,…`.
fn status_in_body(body: &str) -> Option<i64> {
    let json: serde_json::Value = serde_json::from_str(body.trim()).ok()?;
    let error = json.get("error")?;
    error
        .get("code")
        .or(json.get("status"))
        .and_then(serde_json::Value::as_i64)
        .filter(|status| (400..600).contains(status))
}

/// Several URLs with their bodies thrown away: a line each.
fn several(ask: &Ask<'_>, shown: &[Shown], sink: &mut Sink<'_>) {
    if shown.len() != ask.urls.len() {
        return;
    }
    for (line, url) in shown.iter().zip(&ask.urls) {
        let mut answer = Answer::default();
        answer.of_stdout(std::slice::from_ref(line), ask);
        let Some(status) = answer.status else {
            continue;
        };
        let (host, port, path) = parts(url);
        let outcome = match status {
            0 => "unknown",
            status if status >= 400 => "http_error",
            _ => "ok",
        };
        sink.line(
            line,
            Http {
                url: (*url).to_owned(),
                host,
                port,
                path,
                status: Some(status),
                outcome: outcome.to_owned(),
                body: None,
            },
        );
    }
}

/// `wget`.
pub(super) struct Wget;

impl Probe for Wget {
    fn recognises(&self, invocation: &Invocation) -> bool {
        invocation.program() == "wget"
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        // Without -q its own talk stands between; whatever else comes is the answer.
        let args = Args::of(
            ctx.invocation,
            "O output-document o output-file T timeout t tries header post-data U e",
        );
        let quiet = args.has(&["q", "quiet", "nv", "no-verbose"]);
        Grammar::any(move |line: &str, _: usize| {
            if is_document(line.trim_start()) || is_exposition(line) {
                Fit::Likely
            } else if quiet {
                Fit::Perhaps
            } else {
                Fit::Hardly
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let args = Args::of(
            ctx.invocation,
            "O output-document o output-file T timeout t tries header post-data U e",
        );
        let Some(url) = args.first() else { return };
        let mut status = None;
        let mut outcome = None;
        let mut body = String::new();
        for line in lines {
            let text = line.text.as_str();
            if let Some((_, rest)) = text.split_once("awaiting response... ") {
                status = rest.split_whitespace().next().and_then(int);
            } else if let Some((_, rest)) = text.split_once("HTTP/1.") {
                status = rest.split_whitespace().nth(1).and_then(int).or(status);
            }
            for (sign, meaning) in [
                ("Connection refused", "refused"),
                ("timed out", "timeout"),
                ("unable to resolve", "dns"),
                ("bad address", "dns"),
                ("No route to host", "unreachable"),
                ("Network is unreachable", "unreachable"),
                ("certificate", "tls"),
                ("ERROR 4", "http_error"),
                ("ERROR 5", "http_error"),
            ] {
                if line.stream != Stream::Stdout && text.contains(sign) {
                    outcome = Some(meaning);
                }
            }
            if line.stream == Stream::Stdout && body.len() < BODY_BYTES {
                body.push_str(text);
                body.push('\n');
            }
        }
        let outcome = match (outcome, status, ctx.exit) {
            (Some(outcome), _, _) => outcome,
            (None, Some(status), _) if status >= 400 => "http_error",
            (None, Some(_), _) | (None, None, Some(0)) => "ok",
            (None, None, Some(8)) => "http_error",
            (None, None, Some(5)) => "tls",
            (None, None, Some(_)) => "unknown",
            (None, None, None) if !body.is_empty() => "ok",
            _ => return,
        };
        let (host, port, path) = parts(url);
        sink.lines(
            lines,
            Http {
                url: url.to_owned(),
                host,
                port,
                path,
                status,
                outcome: outcome.to_owned(),
                body: (!body.is_empty()).then(|| body.trim_end().to_owned()),
            },
        );
    }

    fn complains(&self, line: &str, _ctx: &Ctx<'_>) -> Fit {
        let known = [
            "--",
            "Resolving ",
            "Connecting to ",
            "HTTP request sent",
            "Length: ",
            "Saving to: ",
            "Reusing ",
            "Remote file exists",
            "wget: ",
        ];
        known.iter().any(|start| line.starts_with(start)).into()
    }

    fn reads_silence(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_parts() {
        assert_eq!(
            parts("localhost:8080/v1/models"),
            ("localhost".into(), Some(8080), "/v1/models".into())
        );
        assert_eq!(parts("https://a.b"), ("a.b".into(), Some(443), "/".into()));
        assert_eq!(
            parts("http://[::1]:9/x"),
            ("[::1]".into(), Some(9), "/x".into())
        );
        assert_eq!(parts("http://h:$PORT/"), ("h".into(), None, "/".into()));
    }
}
