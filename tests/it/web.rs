//! The pages over a real server on an ephemeral loopback port, in a home of their own.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use casebook::event::{ContentKind, Event, Exit, NewContent, NewEvent};
use casebook::id::{CommandId, SessionId};
use casebook::import::case;
use casebook::store::Store;
use casebook::time::Micros;
use casebook::web::{ServeOptions, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server with one session in its home.
struct Site {
    address: SocketAddr,
    session: SessionId,
    store: Store,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
    _home: tempfile::TempDir,
}

/// An answer.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

const HOSTILE: &str = r##"
title: "Hostile <script>alert(1)</script> & 'friends'"
steps:
  - at: 0
    command: "ssh root@gpu01 'echo \"<img src=x onerror=alert(2)>\" > /tmp/x'"
    exit: 0
    took: 0.2
    stdout: "plain \e[31mred\e[0m <script>alert(3)</script> \e]0;<b>title</b>\a \"q\" 'q'\nrow two\r\e[Knew two\n"
    stderr: "</div><style>*{display:none}</style>\n"
  - at: 4
    command: "ssh root@gpu01 'pgrep -fa server.py'"
    exit: 1
    took: 0.1
    stdout: ""
  - at: 8
    command: "tail -f /var/log/x"
    exit: {signal: 9}
"##;

impl Site {
    async fn start(token: Option<&str>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path()).await.unwrap();
        let case = case::read(HOSTILE).unwrap();
        let session = case.session;
        store.append(session, case.events, None).await.unwrap();
        casebook::projection::fold::catch_up(&store).await.unwrap();
        let server = Server::bind(ServeOptions {
            home: home.path().to_owned(),
            listen: "127.0.0.1:0".parse().unwrap(),
            token: token.map(str::to_owned),
            own_playbooks: None,
            names: Vec::new(),
        })
        .await
        .unwrap();
        let address = server.address();
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(async move {
            let until = async move {
                let _ = stopped.await;
            };
            server.run(until).await.unwrap();
        });
        Self {
            address,
            session,
            store,
            stop,
            running,
            _home: home,
        }
    }

    /// Sends a request; `more` are further header lines.
    async fn ask(&self, method: &str, path: &str, more: &[&str], body: &str) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !more.iter().any(|line| line.starts_with("Host:")) {
            let _ = write!(head, "Host: {}\r\n", self.address);
        }
        for line in more {
            let _ = write!(head, "{line}\r\n");
        }
        if !body.is_empty() {
            let kind = "application/x-www-form-urlencoded";
            let _ = write!(
                head,
                "Content-Type: {kind}\r\nContent-Length: {}\r\n",
                body.len()
            );
        }
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!("{head}\r\n{body}");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Answer {
            status: status.unwrap_or(0),
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "").await
    }

    fn at(&self, rest: &str) -> String {
        format!("/s/{}{rest}", self.session)
    }

    async fn stop(self) {
        let _ = self.stop.send(());
        let ended = tokio::time::timeout(Duration::from_secs(20), self.running).await;
        ended.expect("the server ends when it is asked to").unwrap();
        self.store.close().await;
    }
}

fn on_a_runtime(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(test);
}

/// No recorded text became markup, and nothing inline is there that the policy would have to stop.
fn is_clean(body: &str) {
    for bad in [
        "<script>",
        "<img",
        "onerror=alert(2)>",
        "<b>title",
        "</div><style>",
        " style=",
        "javascript:",
    ] {
        assert!(!body.contains(bad), "{bad} in\n{body}");
    }
}

#[test]
fn every_page_renders_and_escapes_what_was_recorded() {
    on_a_runtime(async {
        let site = Site::start(None).await;
        let paths = [
            "/".to_owned(),
            site.at(""),
            site.at("?exit=bad"),
            site.at("?q=%3Cscript%3E%22%27&host=gpu01"),
            site.at("/rows?after=1"),
            site.at("/rows?only=2"),
            site.at("/know"),
            site.at("/1"),
            site.at("/1/opened"),
            site.at("/postmortem"),
            "/search".to_owned(),
            "/search?q=%3Cscript%3Ealert%3C%2Fscript%3E".to_owned(),
            "/search?q=pgrep".to_owned(),
            "/playbooks".to_owned(),
            "/login".to_owned(),
        ];
        for path in &paths {
            let answer = site.get(path).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
            assert!(answer.head.contains("content-type: text/html"), "{path}");
            is_clean(&answer.body);
        }
        let page = site.get(&site.at("")).await.body;
        assert!(page.contains("Hostile &#60;script&#62;alert(1)"));
        for mark in ["✓", "✗ 1", "⚡\u{fe0e} 9"] {
            assert!(page.contains(mark), "{mark}");
        }
        let found = site.get("/search?q=pgrep").await.body;
        assert!(found.contains("<mark>pgrep</mark>") && found.contains(&site.at("/2")));
        let failed = site.get(&site.at("?exit=bad")).await.body;
        assert!(failed.contains("id=\"c2\"") && !failed.contains("id=\"c1\""));
        let new = site.get(&site.at("/rows?after=2")).await.body;
        assert!(new.contains("id=\"c3\"") && !new.contains("id=\"c2\""));
        site.stop().await;
    });
}

#[test]
fn output_keeps_its_colours_its_lines_and_its_streams() {
    on_a_runtime(async {
        let site = Site::start(None).await;
        let body = site.get(&site.at("/1")).await.body;
        assert!(body.contains("<span class=\"f1 \">red</span>"));
        assert!(body.contains("id=\"o1-stdout-2\" data-n=\"2\">new two</div>"));
        assert!(body.contains("<section class=\"stream stderr\""));
        assert!(body.contains("&#60;/div&#62;&#60;style&#62;"));
        let raw = site.get(&site.at("/1/raw/stderr")).await;
        assert!(raw.head.contains("content-type: application/octet-stream"));
        assert!(raw.head.contains("content-disposition: attachment"));
        assert!(raw.body.starts_with("</div>"));
        let to = site.get(&site.at("/1?at=stdout:70")).await;
        assert_eq!(to.status, 303);
        assert!(to.head.contains("/1#o1-stdout-"));
        site.stop().await;
    });
}

#[test]
fn every_answer_carries_the_strict_policy() {
    on_a_runtime(async {
        let site = Site::start(None).await;
        for path in ["/", "/static/rec.css", "/nothing", "/s/s-none"] {
            let head = site.get(path).await.head;
            assert!(
                head.contains("content-security-policy: default-src 'none'; script-src 'self'")
            );
            assert!(!head.contains("unsafe-"));
            assert!(head.contains("x-content-type-options: nosniff"));
            assert!(head.contains("referrer-policy: no-referrer"));
        }
        site.stop().await;
    });
}

#[test]
fn what_is_not_there_gets_a_page_that_helps() {
    on_a_runtime(async {
        let site = Site::start(None).await;
        for path in [
            "/nothing".to_owned(),
            "/s/s-zzzzzz".to_owned(),
            site.at("/99"),
            site.at("/1/raw/other"),
            "/playbooks/none".to_owned(),
            "/static/..%2fCargo.toml".to_owned(),
        ] {
            let answer = site.get(&path).await;
            assert_eq!(answer.status, 404, "{path}");
            assert!(answer.body.contains("href=\"/search\""), "{path}");
        }
        site.stop().await;
    });
}

#[test]
fn pages_of_a_database_that_is_gone_say_so() {
    on_a_runtime(async {
        let site = Site::start(None).await;
        assert_eq!(site.get("/").await.status, 200);
        std::fs::remove_file(site.store.path()).unwrap();
        let answer = site.get("/").await;
        assert_eq!(answer.status, 503);
        assert!(
            answer.body.contains("removed or replaced"),
            "{}",
            answer.body
        );
        assert_eq!(site.get("/static/nothing").await.status, 404);
        site.stop().await;
    });
}

#[test]
fn another_host_name_and_another_origin_are_refused() {
    on_a_runtime(async {
        let site = Site::start(None).await;
        let host = ["Host: evil.example"];
        assert_eq!(site.ask("GET", "/", &host, "").await.status, 421);
        let local = ["Host: localhost:1234"];
        assert_eq!(site.ask("GET", "/", &local, "").await.status, 200);
        let notes = site.at("/notes");
        for foreign in [
            "Origin: http://evil.example",
            "Origin: null",
            "Sec-Fetch-Site: cross-site",
        ] {
            let answer = site.ask("POST", &notes, &[foreign], "text=x").await;
            assert_eq!(answer.status, 403, "{foreign}");
        }
        let own = format!("Origin: http://{}", site.address);
        let answer = site
            .ask("POST", &notes, &[&own], "text=a+%3Cb%3E+note")
            .await;
        assert_eq!(answer.status, 303);
        let page = site.get(&site.at("")).await.body;
        assert!(page.contains("a &#60;b&#62; note"));
        site.stop().await;
    });
}

#[test]
fn a_token_opens_the_pages_and_nothing_else_does() {
    on_a_runtime(async {
        let site = Site::start(Some("abc123")).await;
        let asked = site.get("/").await;
        assert_eq!(asked.status, 401);
        assert!(asked.body.contains("asks for its token"));
        assert!(!asked.body.contains("Hostile"));
        assert_eq!(site.get(&site.at("/1/raw/stdout")).await.status, 401);
        let wrong = site.ask("POST", "/login", &[], "token=nope").await;
        assert_eq!(wrong.status, 401);
        let right = site.ask("POST", "/login", &[], "token=abc123").await;
        assert_eq!(right.status, 303);
        assert!(
            right
                .head
                .contains("rec_token=abc123; path=/; httponly; samesite=strict")
        );
        for header in ["Cookie: rec_token=abc123", "Authorization: Bearer abc123"] {
            assert_eq!(site.ask("GET", "/", &[header], "").await.status, 200);
        }
        site.stop().await;
    });
}

#[test]
fn static_files_are_asked_for_once() {
    on_a_runtime(async {
        let site = Site::start(None).await;
        let first = site.get("/static/rec.js").await;
        assert_eq!(first.status, 200);
        let etag = first
            .head
            .lines()
            .find_map(|line| line.strip_prefix("etag: "));
        let again = format!("If-None-Match: {}", etag.unwrap());
        let second = site.ask("GET", "/static/rec.js", &[&again], "").await;
        assert_eq!((second.status, second.body.as_str()), (304, ""));
        site.stop().await;
    });
}

#[test]
fn an_open_page_is_told_of_a_new_command_and_let_go_when_the_server_stops() {
    on_a_runtime(async {
        let site = Site::start(None).await;
        let mut stream = TcpStream::connect(site.address).await.unwrap();
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n\r\n",
            site.at("/events"),
            site.address
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut heard = read_until(&mut stream, "event: hello").await;
        assert!(heard.contains("text/event-stream"));

        let line = NewContent::new(ContentKind::Line, "uptime");
        let command = CommandId::new();
        let started = NewEvent {
            at: Micros(9_000_000),
            event: Event::CommandStarted {
                command,
                number: 4,
                line: line.reference(),
                cwd: None,
                host: "laptop".to_owned(),
                user: None,
                terminals: None,
                parent: None,
                recorder: "test".to_owned(),
            },
            contents: vec![line],
        };
        site.store
            .append(site.session, vec![started], None)
            .await
            .unwrap();
        heard = read_until(&mut stream, "event: changed").await;
        assert!(heard.contains("data: "));
        let rows = site.get(&site.at("/rows?after=3")).await.body;
        assert!(rows.contains("id=\"c4\"") && rows.contains("data-running"));

        // Its end is news as well.
        let ended = Event::CommandEnded {
            command,
            exit: Exit::Code(0),
            duration_us: Some(10),
        };
        let ended = NewEvent::bare(Micros(9_100_000), ended);
        site.store
            .append(site.session, vec![ended], None)
            .await
            .unwrap();
        read_until(&mut stream, "event: changed").await;
        let rows = site.get(&site.at("/rows?only=4")).await.body;
        assert!(!rows.contains("data-running"));

        site.stop().await;
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest));
        closed
            .await
            .expect("the stream ends with the server")
            .unwrap();
    });
}

async fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut heard = String::new();
    let reading = async {
        let mut bytes = [0_u8; 4096];
        while !heard.contains(wanted) || !heard.ends_with("\n\n") && !heard.ends_with("\r\n") {
            let count = stream.read(&mut bytes).await.unwrap();
            assert!(count > 0, "closed after {heard}");
            heard.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reading)
        .await
        .unwrap_or_else(|_| panic!("no `{wanted}` came"));
    heard
}

#[test]
fn an_address_that_does_not_read_gets_a_page() {
    on_a_runtime(async {
        let site = Site::start(None).await;
        let paths = ["/s/%ff", "/s/%ff/1", "/playbooks/%ff", "/s/x/1/raw/%ff"];
        for path in paths.map(str::to_owned) {
            let answer = site.get(&path).await;
            assert_eq!(answer.status, 400, "{path}");
            assert!(
                answer.body.contains("does not read"),
                "{path}: {}",
                answer.body
            );
            assert!(answer.body.contains("href=\"/search\""), "{path}");
        }
        site.stop().await;
    });
}

#[test]
fn an_address_that_cannot_be_listened_on_says_why() {
    on_a_runtime(async {
        let home = tempfile::tempdir().unwrap();
        let refused = async |listen: SocketAddr| {
            let server = Server::bind(ServeOptions {
                home: home.path().to_owned(),
                listen,
                token: None,
                own_playbooks: None,
                names: Vec::new(),
            });
            server.await.unwrap_err().to_string()
        };
        // Kept for documentation: no machine has it.
        let said = refused("192.0.2.1:80".parse().unwrap()).await;
        assert!(said.contains("this machine has no such address"), "{said}");
        let other = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let said = refused(other.local_addr().unwrap()).await;
        assert!(said.contains("something listens there already"), "{said}");
    });
}

#[test]
fn an_empty_home_teaches_the_one_command() {
    on_a_runtime(async {
        let home = tempfile::tempdir().unwrap();
        let server = Server::bind(ServeOptions {
            home: home.path().join("new"),
            listen: "127.0.0.1:0".parse().unwrap(),
            token: None,
            own_playbooks: None,
            names: Vec::new(),
        })
        .await
        .unwrap();
        let store = Store::open(&home.path().join("new")).await.unwrap();
        let address = server.address();
        assert_eq!(server.url(), format!("http://{address}/"));
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(async move {
            let until = async move {
                let _ = stopped.await;
            };
            server.run(until).await.unwrap();
        });
        let site = Site {
            address,
            session: SessionId::new(),
            store,
            stop,
            running,
            _home: home,
        };
        let body = site.get("/").await.body;
        assert!(body.contains("Nothing is recorded yet"));
        assert!(body.contains("data-copy=\"rec ssh"));
        site.stop().await;
    });
}

#[test]
fn a_server_beyond_this_machine_makes_a_token() {
    on_a_runtime(async {
        let home = tempfile::tempdir().unwrap();
        let server = Server::bind(ServeOptions {
            home: home.path().to_owned(),
            listen: "0.0.0.0:0".parse().unwrap(),
            token: None,
            own_playbooks: None,
            names: Vec::new(),
        })
        .await
        .unwrap();
        let url = server.url();
        assert!(!url.contains("//0.0.0.0"), "{url} leads nowhere");
        let token = url.split("token=").nth(1).unwrap();
        assert_eq!(token.len(), 64);
    });
}

#[test]
fn templates_never_switch_escaping_off() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    for folder in [root.clone(), root.join("partials")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for bad in [
                "|safe",
                "| safe",
                "autoescape",
                "style=\"",
                "onclick",
                "<script>",
            ] {
                assert!(!text.contains(bad), "{bad} in {}", path.display());
            }
        }
    }
}
