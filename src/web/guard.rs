//! Who may read: the Host and Origin of a request, the token, and the headers of every answer.
//!
//! Pages hold what people typed and servers printed, so a web site that the same browser visits must
//! not be able to read or change them. A name that resolves to this machine (DNS rebinding) is caught
//! by its Host, a form on another site by its Origin, and what recorded text might do in a page by the
//! content policy.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::login;

/// The content policy of every page: own files only, nothing inline, no frames.
pub const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; \
     base-uri 'none'";

/// The cookie that holds the token.
const COOKIE: &str = "rec_token";

/// Who may read.
#[derive(Debug, Clone)]
pub struct Guard {
    names: Arc<[String]>,
    any_address: bool,
    token: Option<blake3::Hash>,
}

impl Guard {
    /// Takes requests for that address (and these names), with the token where there is one.
    pub fn new(listen: SocketAddr, names: &[String], token: Option<&str>) -> Self {
        let mut known: Vec<String> = ["localhost", "127.0.0.1", "::1"]
            .map(str::to_owned)
            .to_vec();
        known.extend(names.iter().map(|name| name.to_ascii_lowercase()));
        if !listen.ip().is_loopback() {
            known.extend(node().map(|name| name.to_ascii_lowercase()));
        }
        known.push(listen.ip().to_string());
        Self {
            names: known.into(),
            any_address: listen.ip().is_unspecified(),
            token: token.map(|token| blake3::hash(token.as_bytes())),
        }
    }

    fn knows_host(&self, host: &str) -> bool {
        let name = host_name(host).to_ascii_lowercase();
        self.names.contains(&name)
            || (self.any_address && name.parse::<IpAddr>().is_ok())
            || name
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }

    /// Whether that is the token (compared in constant time); true where none is asked for.
    pub fn is_token(&self, given: &str) -> bool {
        self.token
            .is_none_or(|token| token == blake3::hash(given.as_bytes()))
    }

    fn has_token(&self, headers: &HeaderMap) -> bool {
        if self.token.is_none() {
            return true;
        }
        let bearer = text(headers, &header::AUTHORIZATION)
            .and_then(|value| value.strip_prefix("Bearer "))
            .map(str::trim);
        let cookies = text(headers, &header::COOKIE).unwrap_or_default();
        let cookie = cookies
            .split(';')
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(name, _)| *name == COOKIE)
            .map(|(_, value)| value);
        [bearer, cookie]
            .into_iter()
            .flatten()
            .any(|given| self.is_token(given))
    }
}

/// This machine's name.
fn node() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// What to put into a browser to reach an address: of all addresses, this machine's name.
pub fn reached_at(address: SocketAddr) -> String {
    if !address.ip().is_unspecified() {
        return address.to_string();
    }
    let port = address.port();
    match node() {
        Some(name) => format!("{name}:{port}"),
        None => format!("localhost:{port}"),
    }
}

/// The cookie that lets a browser in.
pub fn cookie(token: &str) -> String {
    format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000")
}

/// A fresh token: 256 random bits in hex.
///
/// # Errors
/// When the system has no randomness to give.
pub fn fresh_token() -> std::io::Result<String> {
    use std::io::Read as _;
    let mut bytes = [0_u8; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The name in `name:port`, `[::1]:port` or a bare name.
fn host_name(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or(rest);
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

/// Whether a request that changes something comes from one of our own pages (or from no browser).
fn is_same_origin(headers: &HeaderMap, host: &str) -> bool {
    let site = text(headers, &HeaderName::from_static("sec-fetch-site"));
    if site.is_some_and(|site| site != "same-origin" && site != "none") {
        return false;
    }
    match headers.get(header::ORIGIN) {
        None => true,
        Some(origin) => origin
            .to_str()
            .ok()
            .and_then(|origin| origin.split_once("://"))
            .is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host)),
    }
}

/// Lets a request pass, or answers it; then sets the headers of the answer.
pub async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match refuse(&guard, &request) {
        Some(answer) => answer,
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn refuse(guard: &Guard, request: &Request) -> Option<Response> {
    let headers = request.headers();
    let host = text(headers, &header::HOST).unwrap_or_default();
    if !guard.knows_host(host) {
        return Some(
            (
                StatusCode::MISDIRECTED_REQUEST,
                "This server does not answer to that host name. Use localhost, or start it with \
                 that name: rec serve --name NAME\n",
            )
                .into_response(),
        );
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    if changes && !is_same_origin(headers, host) {
        return Some(
            (
                StatusCode::FORBIDDEN,
                "This request comes from another site. Nothing was changed.\n",
            )
                .into_response(),
        );
    }
    let path = request.uri().path();
    let is_open = path == "/login" || path.starts_with("/static/");
    if !is_open && !guard.has_token(headers) {
        return Some(login::ask(StatusCode::UNAUTHORIZED, ""));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(listen: &str, token: Option<&str>) -> Guard {
        Guard::new(listen.parse().unwrap(), &[], token)
    }

    #[test]
    fn only_names_of_this_machine_are_known() {
        let guard = guard("127.0.0.1:7373", None);
        for good in ["localhost:7373", "127.0.0.1", "[::1]:9", "LOCALHOST"] {
            assert!(guard.knows_host(good), "{good}");
        }
        for bad in [
            "",
            "evil.example:7373",
            "localhost.evil.example",
            "10.0.0.1",
        ] {
            assert!(!guard.knows_host(bad), "{bad}");
        }
    }

    #[test]
    fn a_link_leads_somewhere() {
        let at = |text: &str| reached_at(text.parse().unwrap());
        assert_eq!(at("127.0.0.1:7"), "127.0.0.1:7");
        for all in ["0.0.0.0:7373", "[::]:7373"] {
            let link = at(all);
            assert!(
                !link.starts_with("0.0.0.0") && !link.starts_with("[::]"),
                "{link}"
            );
            assert!(guard(all, None).knows_host(&link), "{link}");
        }
    }

    #[test]
    fn the_origin_must_be_the_host_itself() {
        let mut headers = HeaderMap::new();
        assert!(is_same_origin(&headers, "localhost:1"));
        for (origin, same) in [
            ("http://localhost:1", true),
            ("http://localhost:2", false),
            ("null", false),
            ("http://evil.example", false),
        ] {
            headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
            assert_eq!(is_same_origin(&headers, "localhost:1"), same, "{origin}");
        }
        headers.insert(
            header::ORIGIN,
            HeaderValue::from_static("http://localhost:1"),
        );
        headers.insert("sec-fetch-site", HeaderValue::from_static("cross-site"));
        assert!(!is_same_origin(&headers, "localhost:1"));
    }

    #[test]
    fn a_token_is_taken_from_cookie_or_bearer() {
        let guard = guard("0.0.0.0:7373", Some("secret"));
        let mut headers = HeaderMap::new();
        assert!(!guard.has_token(&headers));
        headers.insert(
            header::COOKIE,
            HeaderValue::from_static("a=b; rec_token=secret"),
        );
        assert!(guard.has_token(&headers));
        headers.insert(header::COOKIE, HeaderValue::from_static("rec_token=other"));
        assert!(!guard.has_token(&headers));
        headers.insert(
            header::AUTHORIZATION,
            HeaderValue::from_static("Bearer secret"),
        );
        assert!(guard.has_token(&headers));
    }
}
