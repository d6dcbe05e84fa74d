use super::*;

/// Texts as they are printed, and what in them must not stay.
const PRINTED: &[(&str, &str)] = &[
    ("HF_TOKEN=q7-secret-Value9", "q7-secret-Value9"),
    ("SSHPASS=hunter2\nHOME=/root", "hunter2"),
    ("export OPENAI_API_KEY='local-dev-7731'", "local-dev-7731"),
    ("PGPASSWORD=hunter2\nPATH=/usr/bin:/bin", "hunter2"),
    ("a\nMYSQL_ROOT_PASSWORD=Tr0ub4dor&3,x\nb", "Tr0ub4dor&3,x"),
    ("password: correcthorse9\nuser: bob", "correcthorse9"),
    (
        "db:\n  password: two words here\n  user: x",
        "two words here",
    ),
    ("  \"password\": \"p@ss w0rd!\",\n", "p@ss w0rd!"),
    (
        "{\\\"apiKey\\\":\\\"abcd1234efgh\\\",\\\"x\\\":1}",
        "abcd1234efgh",
    ),
    (
        "{'client_secret': 'Zx81-Qw92-Er03', 'a': 1}",
        "Zx81-Qw92-Er03",
    ),
    ("<password>fh38dkq1</password>", "fh38dkq1"),
    ("api_key = \"k3y-9f8e7d6c5b4a\"", "k3y-9f8e7d6c5b4a"),
    (
        "> Authorization: Bearer abcdef0123456789abcd\r\n> Host: x",
        "abcdef0123456789abcd",
    ),
    (
        "\"Authorization\": \"Basic dXNlcjpwYXNzd29yZA==\"",
        "dXNlcjpwYXNzd29yZA==",
    ),
    (
        "Authorization: Token 9f8e7d6c5b4a3f2e1d0c",
        "9f8e7d6c5b4a3f2e1d0c",
    ),
    (
        "got header Bearer 9f8e7d6c5b4a3f2e1d0c9988",
        "9f8e7d6c5b4a3f2e1d0c9988",
    ),
    (
        "Cookie: sid=31415926535; theme=dark\nAccept: *",
        "31415926535",
    ),
    (
        "Set-Cookie: sid=s3ss10nv4lue; Path=/; HttpOnly",
        "s3ss10nv4lue",
    ),
    ("X-Api-Key: 77aa88bb99cc00dd", "77aa88bb99cc00dd"),
    (
        "cloning https://bob:gh0stpw@git.example.com/x.git",
        "gh0stpw",
    ),
    (
        "postgres://svc:S3cr3t%21pw@db.internal:5432/app",
        "S3cr3t%21pw",
    ),
    ("redis://:r3d1spw@10.0.0.7:6379/0", "r3d1spw"),
    (
        "https://9f8e7d6c5b4a3f2e1d0c@github.com/a/b",
        "9f8e7d6c5b4a3f2e1d0c",
    ),
    (
        "http://10.0.0.7:8888/lab?token=5f3e2d1c0b9a88776655&x=1",
        "5f3e2d1c0b9a88776655",
    ),
    (
        "machine api.wandb.ai login user password 9f8e7d6c5b",
        "9f8e7d6c5b",
    ),
    (
        "[default]\naws_access_key_id = x\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz41KEYabc",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz41KEYabc",
    ),
    (
        "AKIAQ3EGRZ7YTWPLMK2X,wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz41KEYabc\n",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz41KEYabc",
    ),
    (
        "\"auths\": {\"nvcr.io\": {\"auth\": \"JG9hdXRodG9rZW46bnZhcGktYWJj\"}}",
        "JG9hdXRodG9rZW46bnZhcGktYWJj",
    ),
    (
        "HOME=/root\0DB_PASSWORD=some pass phrase\0TERM=xterm\0",
        "some pass phrase",
    ),
    (
        "root 12 0.0 python -m x HF_TOKEN=abc123def456 HOME=/root",
        "abc123def456",
    ),
    (
        "    - name: WANDB_API_KEY\n      value: 0a1b2c3d4e5f60718293\n",
        "0a1b2c3d4e5f60718293",
    ),
    (
        "{\"name\": \"DB_PASSWORD\", \"value\": \"b1gs3cr3t\"}",
        "b1gs3cr3t",
    ),
    (
        "    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURQ==\n",
        "LS0tLS1CRUdJTiBSU0EgUFJJVkFURQ==",
    ),
    ("bob 77 sshpass -p Sw0rdf1sh ssh gpu01", "Sw0rdf1sh"),
    ("+ mysql -u root -pSw0rdf1sh -e 'show tables'", "Sw0rdf1sh"),
    ("+ curl -s -u bob:Sw0rdf1sh http://x/", "Sw0rdf1sh"),
    (
        "vllm serve m --api-key my-local-key-1 --port 8000",
        "my-local-key-1",
    ),
    ("+ sshd --token 5f3e2d1c0b9a", "5f3e2d1c0b9a"),
    (
        "Pulling with password \"none\" and secret=\"Zk93jfkQ02\"",
        "Zk93jfkQ02",
    ),
    (
        "line\\nhf_qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3i\\nmore",
        "hf_qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3i",
    ),
    (
        "bob:$6$xyz12345$qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3iVb5XyM0HtK7gQzW2rEaCn9:19000:0",
        "qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3iVb5XyM0HtK7gQzW2rEaCn9",
    ),
    (
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\nQyNTUxOQAAACDxyz\n-----END OPENSSH PRIVATE KEY-----\n",
        "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW",
    ),
    (
        "\"private_key\": \"-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA\\n-----END PRIVATE KEY-----\\n\"",
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA",
    ),
];

/// Lines as they are printed that hold no secret.
const PLAIN: &[&str] = &[
    "INFO 11-30 10:00:01 metrics.py:341] Avg prompt throughput: 512.0 tokens/s, Avg generation throughput: 31.4 tokens/s",
    "max_tokens=4096, max_num_batched_tokens=8192, pad_token_id=151643, eos_token='<|im_end|>', bos_token: \"<s>\"",
    "tokenizer='meta-llama/Llama-3', tokenizer_mode=auto, skip_tokenizer_init=False, tokenizer_revision=None",
    "api_key=None, hf_token=None, ssl_keyfile=None, ssl_certfile=None, password=null, token: null",
    "password=***, password=<redacted>, PASSWORD=${DB_PASSWORD}, token=$HF_TOKEN, secret={{ .Values.secret }}",
    "AUTH=none AUTH_TYPE=basic KEY=fast KEY=value SSH_AUTH_SOCK=/tmp/ssh-XX/agent.1 XAUTHORITY=/root/.Xauthority",
    "--- PASS: TestServe (0.02s)\nPASS\nok  \tx\t0.2s\ntests/a.py PASSED [ 50%]\nPASS: 12 FAIL: 0\nPASS=12",
    "commit 3fa85f6457174562b3fc2c963f66afa6d0c1b2a3\nDigest: sha256:3fa85f6457174562b3fc2c963f66afa63fa85f6457174562b3fc2c963f66afa6",
    "GPU 0: NVIDIA H200 (UUID: GPU-3fa85f64-5717-4562-b3fc-2c963f66afa6) TORCH_CUDA_ARCH_LIST=8.0;9.0+PTX sm_90a",
    "request_id=cmpl-3fa85f6457174562b3fc2c963f66afa6 key=value cache_key: vllm-0.6.3 sort_key=name primary_key=id",
    "PWD=/root/work\nOLDPWD=/root\n_=/usr/bin/env\nKEYTIMEOUT=1",
    "Enter password: \nPassword: \n[sudo] password for bob: \nroot@gpu01's password: \nPermission denied (publickey,password).",
    "usage: x [--token TOKEN] [--password PASSWORD] [--api-key KEY]\n  --password string   the password\n  --token <token>  token to use",
    "Token indices sequence length is longer than the specified maximum sequence length",
    "KeyError: 'model.layers.0.self_attn.k_proj.weight'\nkeys: ['a', 'b']\nkey_cache shape [1024, 16]",
    "token = os.environ[\"HF_TOKEN\"]\npassword = getpass.getpass()\napi_key: Optional[str] = None\ntoken: str,",
    "http://localhost:8000/v1 http://[::1]:8000 https://example.com:8443/a@b mailto:bob@example.com git@github.com:a/b.git",
    "ssh://git@github.com/a/b.git https://user@example.com/path",
    "-----BEGIN CERTIFICATE-----\nMIIDXTCCAkWgAwIBAgIJAKL0UG+mRkSvMA0GCSqGSIb3DQEBCwUAMEUxCzAJBgNVBAYT\n-----END CERTIFICATE-----",
    "expected -----BEGIN PRIVATE KEY----- at the top\nTraceback (most recent call last):",
    "sk-learn sk-estimator-doc-link task-3fa85f6457174562b3fc hf_transfer hf_hub_download npm_config_cache pypi-server",
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7 bob@host",
    "Loading safetensors checkpoint shards:  48% Completed | 43/90 [02:10<02:21,  3.0s/it]\r",
    "first token latency: 213.5 ms, time per output token: 23.5 ms, next_token: 1234, token: 17",
    "passed=12 bypass=true compass: north passes: 3 passthrough=on password_file=/run/secrets/pw PasswordAuthentication yes",
    "secretName: vllm-hf-token\nsecretKeyRef:\n  key: token\n  name: hf-secret",
    "Secret \"vllm-hf-token\" not found; error: secrets \"x\" is forbidden",
    "auth: enabled\nauthenticated=true author: Bob authority=x\nAuthorization: enabled",
    "cookie: none\nCookies enabled\nkey: a\nkeys=3 monkey=1 turkey: 2",
    "export HF_TOKEN=\nHF_TOKEN=\"\"\nexport PASSWORD=\"$1\"",
    "Bearer token is missing\nbearer of bad news and so on",
    "$1$ costs $5$ or $6$ in shell",
    "passwd:         files systemd\ngroup: files\npasswd: user 'x' does not exist\nchpasswd: (line 1) failed",
    "credential.helper=store\npassword_encryption = scram-sha-256\nTESTS_PASS=12\napi_key_env=OPENAI_API_KEY",
];

fn masked_in(pieces: &[&[u8]]) -> Vec<u8> {
    let mut stream = Streamer::new(Marker::default(), Some(80));
    let mut out = Vec::new();
    for piece in pieces {
        stream.push(piece, &mut out);
    }
    stream.finish(&mut out);
    out
}

fn holds(text: &[u8], what: &str) -> bool {
    memchr::memmem::find(text, what.as_bytes()).is_some()
}

/// The bytes without escape sequences and line ends.
fn bare(bytes: &[u8]) -> Vec<u8> {
    let mut view = view::View::default();
    view.read(&[], bytes, view::Escape::None);
    view.text.retain(|byte| !matches!(byte, b'\r' | b'\n'));
    view.text
}

/// Every text that holds a secret, with the part that must go.
fn samples() -> Vec<(String, String)> {
    let printed = PRINTED
        .iter()
        .map(|(text, secret)| ((*text).to_owned(), (*secret).to_owned()));
    super::samples().into_iter().chain(printed).collect()
}

#[test]
fn each_sample_is_masked_however_it_is_cut() {
    for (text, secret) in samples() {
        let bytes = text.as_bytes();
        let whole = masked_in(&[bytes]);
        let shown = String::from_utf8_lossy(&whole).into_owned();
        assert!(!holds(&whole, &secret), "{text}\n{shown}");
        assert!(shown.contains(MARK), "{shown}");
        for at in 1..bytes.len() {
            let (left, right) = bytes.split_at(at);
            let cut = masked_in(&[left, right]);
            assert_eq!(
                String::from_utf8_lossy(&cut),
                shown,
                "cut at {at}: {left:?}"
            );
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(
            String::from_utf8_lossy(&masked_in(&single)),
            shown,
            "byte by byte"
        );
    }
}

#[test]
fn each_sample_is_masked_with_colours_in_it() {
    for (text, secret) in samples() {
        let bytes = text.as_bytes();
        let begin = text.find(&secret).unwrap();
        for at in begin..=begin + secret.len() {
            let (left, right) = bytes.split_at(at);
            for colour in [
                &b"\x1b[1;31m"[..],
                b"\x1b[0m\x1b]8;;x\x07",
                b"\x07",
                b"\x1b[m\x0f",
                b"\x1b(B",
            ] {
                let with = [left, colour, right].concat();
                let out = masked_in(&[&with]);
                assert!(
                    !holds(&bare(&out), &secret),
                    "at {at} of {text}: {}",
                    String::from_utf8_lossy(&out)
                );
                assert!(
                    memchr::memmem::find(&out, colour).is_some(),
                    "the colour went: {text}"
                );
                let halves = with.split_at(left.len() + colour.len() / 2);
                assert_eq!(masked_in(&[halves.0, halves.1]), out, "{text}");
            }
        }
    }
}

#[test]
fn each_sample_is_masked_where_a_terminal_wraps_it() {
    for (text, secret) in samples() {
        // Where line ends or NULs are part of it, it is not one line that was wrapped.
        if text.trim_end().contains(['\n', '\r', '\0']) {
            continue;
        }
        let begin = text.find(&secret).unwrap();
        for inside in 1..secret.len().min(79) {
            // The line wraps `inside` bytes into the secret.
            let telling = [1, 2, 3, 7, 20, 54].contains(&inside) || inside + 1 == secret.len();
            if begin + inside > 79 || !telling {
                continue;
            }
            let pad = 80 - (begin + inside);
            let line = format!("{} {text}", "x".repeat(pad - 1));
            for end in ["\r\n", "\n", " \r"] {
                let rows: Vec<&str> = line
                    .as_bytes()
                    .chunks(80)
                    .map(|row| std::str::from_utf8(row).unwrap())
                    .collect();
                let wrapped = rows.join(end);
                let out = masked_in(&[wrapped.as_bytes()]);
                let shown = String::from_utf8_lossy(&out);
                let joined = bare(wrapped.replace(" \r", "").as_bytes());
                let left = bare(shown.replace(" \r", "").as_bytes());
                assert!(
                    holds(&joined, &secret) && !holds(&left, &secret),
                    "{inside} {end:?} of {wrapped}\n{shown}"
                );
                let (half, first) = secret.split_at(inside);
                let longest = if first.len() > half.len() {
                    first
                } else {
                    half
                };
                assert!(
                    longest.len() < 9 || !shown.contains(longest),
                    "{inside} of {wrapped}\n{shown}"
                );
                let single: Vec<&[u8]> = wrapped.as_bytes().chunks(1).collect();
                assert_eq!(
                    String::from_utf8_lossy(&masked_in(&single)),
                    shown,
                    "{wrapped}"
                );
            }
        }
    }
}

/// A prompt, in quotes, asks for a secret and holds none.
const PROMPTS: &[&str] = &[
    "read -p \"Password: \" x; restart-it now; echo done",
    "printf \"Enter password: \"; ls /srv",
    "raise ValueError(\"bad password: \", user_name, retry_count)",
    "def unix_getpass(prompt='Password: ', stream=None):",
    "<input label=\"Password:\" type=\"text\" name=\"loginfield\">",
];

#[test]
fn a_prompt_in_quotes_is_no_secret() {
    for text in PROMPTS {
        assert_eq!(Marker::default().text(text), *text);
        assert_eq!(Marker::default().line(text).text(), *text);
        let mut stream = Streamer::new(Marker::default(), None);
        let mut out = Vec::new();
        for byte in text.as_bytes() {
            stream.push(&[*byte], &mut out);
        }
        stream.finish(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), *text);
    }
    for text in [
        "printf 'password: 'Hunter2x9Q' ok'",
        "{\"password\": \"Hunter2x9Q\", \"a\": 1}",
        "dict(password=\"Hunter2x9Q\", b=2)",
        "don't say password: 'Hunter2x9Q'",
        "it isn't there: password: ';Hunter2x9Q'",
    ] {
        let masked = Marker::default().text(text);
        assert!(!masked.contains("Hunter2x9Q"), "{masked}");
    }
}

#[test]
fn plain_lines_stay() {
    for line in PLAIN {
        for text in [
            (*line).to_owned(),
            format!("{line}\n"),
            format!("  {line} x\n"),
        ] {
            assert_eq!(Marker::default().text(&text), text);
        }
    }
}

#[test]
fn what_is_masked_once_is_masked_for_good() {
    for (text, _) in samples() {
        let once = Marker::default().text(&text);
        assert_eq!(Marker::default().text(&once), once);
    }
}

#[test]
fn equal_secrets_have_equal_prints_and_keys_part_them() {
    struct Other;
    impl Keys for Other {
        fn key(&self) -> [u8; 32] {
            [7; 32]
        }
    }
    let print = |text: &str| {
        let at = text.rfind("__").unwrap();
        text[at - 8..at].to_owned()
    };
    let one = Marker::default().text("HF_TOKEN=hf_qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3i");
    let two = Marker::default().text("saw hf_qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3i");
    let other = Marker::new(Arc::new(Other)).text("saw hf_qT7vYh2LmZx9RkBw4NcJd8FsGp1Ue6Ao3i");
    assert_eq!(print(&one), print(&two));
    assert_ne!(print(&two), print(&other));
}

#[test]
fn ordinary_text_does_not_wait() {
    for text in PLAIN.iter().map(|line| format!("{line}\n")) {
        let mut stream = Streamer::new(Marker::default(), Some(100));
        let mut out = Vec::new();
        stream.push(text.as_bytes(), &mut out);
        assert!(!stream.is_holding(), "{text}");
        assert_eq!(String::from_utf8_lossy(&out), text);
    }
    for text in [
        "bob@host:~$ ",
        "Password: ",
        "100% |####| 12/12",
        "\x1b[32mok\x1b[0m",
        "done.",
    ] {
        let mut stream = Streamer::new(Marker::default(), None);
        let mut out = Vec::new();
        stream.push(text.as_bytes(), &mut out);
        assert!(!stream.is_holding(), "{text}");
    }
}

#[test]
fn a_cut_in_a_secret_masks_all_of_it() {
    for (text, secret) in samples() {
        let begin = text.find(&secret).unwrap();
        for inside in [secret.len() / 2, secret.len().saturating_sub(1)] {
            let (left, right) = text.as_bytes().split_at(begin + inside);
            let mut stream = Streamer::new(Marker::default(), None);
            let mut out = Vec::new();
            stream.push(left, &mut out);
            stream.release(&mut out);
            assert!(!stream.is_holding());
            stream.push(right, &mut out);
            stream.finish(&mut out);
            let shown = String::from_utf8_lossy(&out);
            assert!(!shown.contains(&secret), "{shown}");
            let tail = &secret[inside..];
            assert!(
                tail.len() < 12 || !shown.contains(tail),
                "{inside} {text}\n{shown}"
            );
        }
    }
}

#[test]
fn a_very_long_secret_does_not_wait_for_ever() {
    let mut stream = Streamer::new(Marker::default(), None);
    let mut out = Vec::new();
    stream.push(b"password: \"", &mut out);
    for _ in 0..64 {
        stream.push(&[b'z'; 4096], &mut out);
    }
    stream.push(b"\", user: \"bob\"\n", &mut out);
    stream.finish(&mut out);
    let shown = String::from_utf8_lossy(&out);
    assert!(
        shown.starts_with("password: \"__masked.") && shown.ends_with("\", user: \"bob\"\n"),
        "{shown}"
    );
    assert!(!shown.contains("zz"));
}

#[test]
fn after_a_gap_the_rest_of_a_token_is_masked() {
    let mut stream = Streamer::new(Marker::default(), None);
    let mut out = Vec::new();
    stream.push(b"see hf_qT7vYh2LmZx9RkBw4NcJ", &mut out);
    stream.gap(&mut out);
    stream.push(b"d8FsGp1Ue6Ao3iQ9d8FsGp1Ue6 and so on\n", &mut out);
    stream.finish(&mut out);
    let shown = String::from_utf8_lossy(&out);
    assert!(
        !shown.contains("qT7v") && !shown.contains("Gp1U"),
        "{shown}"
    );
    assert!(shown.ends_with(" and so on\n"));
}

#[test]
fn titles_and_links_are_masked() {
    let text = "\x1b]0;export HF_TOKEN=abc123def456\x07ok \x1b]8;;https://a:pw99@h/\x1b\\link\x1b]8;;\x1b\\\n";
    let whole = masked_in(&[text.as_bytes()]);
    let shown = String::from_utf8_lossy(&whole);
    assert!(
        !shown.contains("abc123") && !shown.contains("pw99") && shown.contains("link"),
        "{shown}"
    );
    let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
    assert_eq!(masked_in(&single), whole);
}

/// Command lines, and what in them must not stay.
const LINES: &[(&str, &[&str])] = &[
    (
        "mysql -h db -u root -pHunter2x -e 'select 1'",
        &["Hunter2x"],
    ),
    ("mysqldump -p'it is $ecret' app", &["it is $ecret"]),
    ("curl -u bob:Hunter2x http://h/", &["Hunter2x"]),
    ("curl -sSu bob:Hunter2x http://h/", &["Hunter2x"]),
    (
        "curl -H 'Authorization: Bearer abcdefgh' http://h/",
        &["abcdefgh"],
    ),
    (
        "curl -H \"X-Api-Key: abcdefgh\" -b 'sid=abc123' http://h/",
        &["abcdefgh", "abc123"],
    ),
    ("curl -H Cookie:sid=abc123 h", &["abc123"]),
    (
        "wget --password=Hunter2x --header='Authorization: Basic YWJjOmRlZg==' http://h/",
        &["Hunter2x", "YWJjOmRlZg=="],
    ),
    (
        "sshpass -p Hunter2x ssh root@gpu01 nvidia-smi",
        &["Hunter2x"],
    ),
    (
        "sshpass -pHunter2x ssh root@gpu01 nvidia-smi",
        &["Hunter2x"],
    ),
    (
        "docker login -u '$oauthtoken' -p Hunter2x nvcr.io",
        &["Hunter2x"],
    ),
    ("podman login --password Hunter2x quay.io", &["Hunter2x"]),
    ("helm registry login -u a -p Hunter2x r.io", &["Hunter2x"]),
    ("redis-cli -h r -a Hunter2x ping", &["Hunter2x"]),
    (
        "psql postgresql://svc:Hunter2x@db/app -c 'select 1'",
        &["Hunter2x"],
    ),
    ("psql 'host=db user=svc password=Hunter2x'", &["Hunter2x"]),
    ("openssl rsa -in k.pem -passin pass:Hunter2x", &["Hunter2x"]),
    ("htpasswd -b -c f bob Hunter2x", &["Hunter2x"]),
    ("htpasswd -nb bob Hunter2x", &["Hunter2x"]),
    (
        "kubectl create secret generic s --from-literal=hf=Hunter2x --from-literal k=Other9",
        &["Hunter2x", "Other9"],
    ),
    (
        "vault kv put secret/app x=Hunter2x y=Other9",
        &["Hunter2x", "Other9"],
    ),
    (
        "vault write auth/userpass/users/bob policy=Hunter2x",
        &["Hunter2x"],
    ),
    (
        "aws configure set aws_secret_access_key Hunter2x/abc",
        &["Hunter2x"],
    ),
    (
        "wandb login --relogin 0123456789abcdef0123456789abcdef01234567",
        &["0123456789abcdef"],
    ),
    ("huggingface-cli login --token Hunter2x-abc", &["Hunter2x"]),
    ("hf auth login --token Hunter2x-abc", &["Hunter2x"]),
    (
        "npm config set //registry.npmjs.org/:_authToken Hunter2x-abc",
        &["Hunter2x"],
    ),
    (
        "npm config set //registry.npmjs.org/:_authToken=Hunter2x-abc",
        &["Hunter2x"],
    ),
    ("vllm serve m --api-key Hunter2x --port 8000", &["Hunter2x"]),
    (
        "x --secret Hunter2x --client-secret=Other9z",
        &["Hunter2x", "Other9z"],
    ),
    ("HF_TOKEN=Hunter2x python a.py", &["Hunter2x"]),
    ("export WANDB_API_KEY=Hunter2x; python a.py", &["Hunter2x"]),
    ("env DB_PASSWORD=Hunter2x ./run", &["Hunter2x"]),
    (
        "docker run -e HF_TOKEN=Hunter2x --env=PGPASSWORD=Other9 -p 8000:8000 img",
        &["Hunter2x", "Other9"],
    ),
    (
        "ssh gpu01 'export HF_TOKEN=Hunter2x; nohup ./run.sh &'",
        &["Hunter2x"],
    ),
    (
        "ssh gpu01 \"bash -c 'mysql -pHunter2x -e \\\"select 1\\\"'\"",
        &["Hunter2x"],
    ),
    (
        "bash -c \"ssh h \\\"DB_PASS=Hunter2x ./x\\\"\"",
        &["Hunter2x"],
    ),
    ("echo Hunter2x | sudo -S systemctl restart x", &["Hunter2x"]),
    ("ssh h 'echo Hunter2x | sudo -S ls'", &["Hunter2x"]),
    ("printf '%s\\n' Hunter2x | sudo -S ls", &["Hunter2x"]),
    (
        "docker login -u bob --password-stdin <<< Hunter2x",
        &["Hunter2x"],
    ),
    (
        "echo Hunter2x | docker login -u bob --password-stdin",
        &["Hunter2x"],
    ),
    ("echo 'bob:Hunter2x' | chpasswd", &["Hunter2x"]),
    (
        "cat > .env << 'END'\nHF_TOKEN=Hunter2x\nPORT=8000\nEND",
        &["Hunter2x"],
    ),
    (
        "ssh h 'cat > run.sh << END\nexport DB_PASSWORD=Hunter2x\n./serve\nEND'",
        &["Hunter2x"],
    ),
    (
        "git clone https://bob:Hunter2x@github.com/a/b",
        &["Hunter2x"],
    ),
    (
        "pip install --index-url https://__token__:Hunter2x@pypi.example.com/simple x",
        &["Hunter2x"],
    ),
    (
        "mc alias set s3 http://minio:9000 admin Hunter2x",
        &["Hunter2x"],
    ),
    ("gh secret set NAME --body Hunter2x", &["Hunter2x"]),
    ("smbclient -U bob%Hunter2x //h/s", &["Hunter2x"]),
    ("ldapsearch -D cn=a -w Hunter2x", &["Hunter2x"]),
    ("ipmitool -H h -U a -P Hunter2x power status", &["Hunter2x"]),
    ("mongosh --username a -p Hunter2x", &["Hunter2x"]),
    ("sqlplus scott/Hunter2x@orcl", &["Hunter2x"]),
    ("tailscale up --authkey Hunter2x-abc", &["Hunter2x"]),
    (
        "sudo -u svc env API_TOKEN='Hunter2x y' ./x",
        &["Hunter2x y"],
    ),
    ("PASSWORD=Hunter2x\\ y ./x", &["Hunter2x"]),
    ("mysql -p'it'\\''s' -e x", &["it'\\''s", "-p'it"]),
    ("curl https://h/?api_key=Hunter2x&x=1", &["Hunter2x"]),
    ("curl -d '{\"password\": \"Hunter2x\"}' h", &["Hunter2x"]),
    (
        "kubectl -n x exec p -- env TOKEN=Hunter2x ls",
        &["Hunter2x"],
    ),
    (
        "tmux new -d 'HF_TOKEN=Hunter2x vllm serve m'",
        &["Hunter2x"],
    ),
    (
        "curl -H 'Authorization: Bearer sk-local-1' http://h/v1/models",
        &["sk-local-1"],
    ),
    ("x --password=Hunter2x", &["Hunter2x"]),
    ("SSHPASS=Hunter2x sshpass -e ssh h ls", &["Hunter2x"]),
    ("PASSWORD=secret ./x", &["PASSWORD=secret"]),
];

/// Command lines that hold no secret.
const PLAIN_LINES: &[&str] = &[
    "ssh root@gpu01 'pkill -9 -f sglang; sleep 3; nohup ./run.sh > server.log 2>&1 &'",
    "docker run -p 8000:8000 -e HF_TOKEN=$HF_TOKEN -e HF_TOKEN img --max-tokens 4096",
    "docker run -e HF_TOKEN=\"$HF_TOKEN\" img",
    "vllm serve m --tokenizer t --max-num-batched-tokens 8192 --kv-cache-dtype fp8 --api-key $KEY",
    "mkdir -p a/b && tar -czf x.tgz a -C /tmp && grep -c key x.log",
    "curl -s http://localhost:8000/v1/models -H \"Authorization: Bearer $TOKEN\"",
    "curl -u bob http://h/ && curl -b cookies.txt h",
    "grep -E 'token|password|secret' server.log | tail -5",
    "git log --author=bob --pretty=format:%h -n 5 && git show 3fa85f6457174562b3fc2c963f66afa6d0c1b2a3",
    "python -c 'print(tok.pad_token_id, tok.eos_token)'",
    "mysql -p -e 'select 1' -P 3306",
    "kubectl get secret hf -o yaml",
    "cat /proc/1/environ | tr '\\0' '\\n'",
    "ssh -i ~/.ssh/id_rsa -p 2222 h ls",
    "export PYTHONPATH=/x KEY=fast MODE=auth AUTH=none",
    "echo hello | sudo tee /etc/x",
    "nvidia-smi --query-gpu=index,memory.used --format=csv",
    "ssh-keygen -t ed25519 -f key && export KUBECONFIG=/root/.kube/config",
    "openssl x509 -in cert.pem -noout -text",
    "vault status && vault kv get secret/app",
    "helm upgrade x ./c --set image.tag=v1 --set replicas=2",
    "CUDA_VISIBLE_DEVICES=0,1 TORCH_CUDA_ARCH_LIST='8.0;9.0' python train.py --seed 1",
];

#[test]
fn secrets_of_command_lines_are_masked() {
    // The shape stays: as many invocations, the same programs.
    let programs = |line: &str| -> Vec<String> {
        let tree = crate::shell::parse(line);
        tree.invocations
            .iter()
            .map(|it| it.program().to_owned())
            .collect()
    };
    let mut faults = Vec::new();
    for (line, secrets) in LINES {
        let masked = Marker::default().line(line);
        let again = Marker::default().line(masked.text());
        let shown = masked.text();
        if secrets.iter().any(|secret| shown.contains(secret)) || !shown.contains(MARK) {
            faults.push(format!("left:  {line}\n    -> {shown}"));
        } else if again.text() != shown {
            faults.push(format!(
                "twice: {line}\n    -> {shown}\n    -> {}",
                again.text()
            ));
        } else if programs(shown) != programs(line) {
            faults.push(format!("shape: {line}\n    -> {shown}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn plain_command_lines_stay() {
    let masked: Vec<String> = PLAIN_LINES
        .iter()
        .map(|line| Marker::default().line(line).text().to_owned())
        .filter(|text| !PLAIN_LINES.contains(&text.as_str()))
        .collect();
    assert!(masked.is_empty(), "{}", masked.join("\n"));
}

#[test]
fn secrets_of_the_line_are_masked_in_the_output() {
    let line = Marker::default().line("echo Hunter2x-9 | sudo -S ls");
    let mut stream = Streamer::new(Marker::default(), None);
    stream.expect(line.known());
    let text = b"[x] + echo Hunter2x-9\nok Hunter2";
    let mut out = Vec::new();
    for byte in text {
        stream.push(&[*byte], &mut out);
    }
    stream.finish(&mut out);
    let shown = String::from_utf8_lossy(&out);
    assert!(
        !shown.contains("Hunter2x-9") && shown.ends_with("ok Hunter2"),
        "{shown}"
    );
    assert_eq!(
        line.apply("Hunter2x-9"),
        shown[11..].split('\n').next().unwrap()
    );
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    /// Texts from pieces that matter: secrets, beginnings of secrets, names, escapes, line ends.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let all: Vec<Vec<u8>> = samples()
            .into_iter()
            .flat_map(|(text, secret)| [text.into_bytes(), secret.into_bytes()])
            .collect();
        let piece = prop_oneof![
            3 => proptest::sample::select(all),
            2 => proptest::sample::select(PLAIN.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>()),
            2 => proptest::sample::select(
                ["\n", "\r\n", "\r", " ", "\t", "\x1b[31m", "\x1b[0m", "\x1b]0;t\x07", "\x1b", "\"", "'", "\\",
                 "=", ": ", "hf_", "sk-", "password", "token=", "Bearer ", "-----BEGIN RSA PRIVATE KEY-----", "://u:",
                 "@", "\0", "é", "\x08", "--token ", "Cookie: ", "AKIA", "-----END", " \r", "\x1b]", ", ", "&", ";"]
                .map(|text| text.as_bytes().to_vec()).to_vec()),
            1 => (1_usize..90).prop_map(|count| vec![b'x'; count]),
            1 => proptest::collection::vec(any::<u8>(), 0..8),
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn how_it_comes_does_not_matter(text in text(), cuts in proptest::collection::vec(0_usize..4000, 0..12)) {
            let whole = masked_in(&[&text]);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (text.len() + 1)).collect();
            cuts.push(text.len());
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut at = 0;
            for cut in cuts {
                pieces.push(&text[at..cut]);
                at = cut;
            }
            let cut = masked_in(&pieces);
            prop_assert_eq!(String::from_utf8_lossy(&cut), String::from_utf8_lossy(&whole));
        }

        #[test]
        fn what_is_not_masked_stays(text in text()) {
            let out = masked_in(&[&text]);
            // Without its masks, what came out is a part of what went in, in order.
            let mut at = 0;
            let mut rest = &out[..];
            while let Some(byte) = rest.first() {
                if let Some(mask) = mask_len(rest) {
                    rest = &rest[mask..];
                    continue;
                }
                match text[at..].iter().position(|own| own == byte) {
                    Some(step) => at += step + 1,
                    None => prop_assert!(false, "{} is not of {}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&text)),
                }
                rest = &rest[1..];
            }
            if !holds(&out, MARK) {
                prop_assert_eq!(&out, &text);
            }
        }
    }

    fn mask_len(text: &[u8]) -> Option<usize> {
        let rest = text.strip_prefix(MARK.as_bytes())?;
        let name = rest.iter().position(|byte| *byte == b'.')?;
        rest.get(name + 9..)?
            .starts_with(b"__")
            .then_some(MARK.len() + name + 11)
    }
}

/// Server-like log without secrets, `bytes` long.
fn server_log(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut out: Vec<u8> = Vec::with_capacity(bytes + 4096);
    while out.len() < bytes {
        let (a, b, c) = (next(), next(), next());
        let line = match a % 16 {
            0 => format!(
                "INFO 11-30 10:{:02}:{:02} metrics.py:341] Avg prompt throughput: {}.{} tokens/s, Running: {} reqs, GPU KV cache usage: {}.{}%\n",
                b % 60,
                c % 60,
                b % 900,
                c % 10,
                b % 99,
                c % 99,
                b % 10
            ),
            1 => format!(
                "INFO:     10.0.{}.{}:{} - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n",
                b % 255,
                c % 255,
                1024 + c % 60000
            ),
            2 => format!(
                "DEBUG [engine] request_id=cmpl-{b:016x}{c:016x} prompt_tokens={} max_tokens={} stop_token_ids=[{}] key=blk_{:x}\n",
                b % 4096,
                c % 8192,
                b % 150_000,
                c
            ),
            3 => format!(
                "commit {b:016x}{c:016x}{:08x}\nImage: nvcr.io/nvidia/pytorch@sha256:{b:016x}{c:016x}{a:016x}{b:016x}\n",
                a & 0xffff_ffff
            ),
            4 => format!(
                "GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}, {} MiB, {} %\n",
                b & 0xffff_ffff,
                c & 0xffff,
                a & 0xffff,
                b & 0xffff,
                c & 0xffff_ffff_ffff,
                b % 81_559,
                c % 100
            ),
            5 => format!(
                "\rLoading safetensors checkpoint shards: {:3}% Completed | {}/{} [{:02}:{:02}<{:02}:{:02}, {}.{:02}s/it]",
                b % 100,
                b % 90,
                90,
                b % 60,
                c % 60,
                c % 60,
                b % 60,
                b % 9,
                c % 100
            ),
            6 => {
                use base64::Engine;
                let noise: Vec<u8> = (0..6 + b % 20).flat_map(|_| next().to_le_bytes()).collect();
                format!(
                    "blob {}\n",
                    base64::engine::general_purpose::STANDARD.encode(noise)
                )
            }
            7 => format!(
                "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate {}.{:02} GiB. GPU {} has a total capacity of 79.15 GiB\n",
                b % 40,
                c % 100,
                a % 8
            ),
            8 => format!(
                "\x1b[1;36m(APIServer pid={})\x1b[0;0m INFO args: model='m{}', tokenizer='t', api_key=None, hf_token=None, seed={}, tensor_parallel_size=8, pad_token_id={}\n",
                b % 99_999,
                c % 9,
                c % 1000,
                b % 150_000
            ),
            9 => format!(
                "tests/test_{}.py::test_auth[{}] PASSED [{:3}%]\n--- PASS: TestToken{} (0.{:02}s)\n",
                b % 100,
                c % 100,
                b % 100,
                c % 10,
                b % 100
            ),
            10 => format!(
                "{{\"level\":\"info\",\"ts\":{}.{:03},\"msg\":\"cache\",\"key\":\"prefix:{c:x}\",\"tokens\":{},\"auth\":\"none\",\"url\":\"http://10.1.{}.{}:8000/health\"}}\n",
                b % 2_000_000_000,
                c % 1000,
                b % 5000,
                b % 255,
                c % 255
            ),
            11 => format!(
                "NCCL INFO Channel {:02}/0 : {}[{}] -> {}[{}] via P2P/CUMEM/read comm 0x{b:x} commHash 0x{c:x}\n",
                b % 32,
                b % 8,
                c % 8,
                c % 8,
                b % 8
            ),
            12 => format!(
                "| {:>3}  NVIDIA H200  On | 00000000:{:02X}:00.0 Off | {:>6}MiB / 143771MiB | {:>3}% Default |\n",
                b % 8,
                c & 0xff,
                b % 143_771,
                c % 100
            ),
            13 => format!(
                "token {} of {}: first_token_ms={} next_token={} eos_token_id={} session {b:016x}\n",
                b % 100,
                c % 1000,
                b % 900,
                c % 150_000,
                b % 150_000
            ),
            14 => format!(
                "Traceback (most recent call last):\n  File \"/opt/venv/lib/python3.12/site-packages/vllm/engine/llm_engine.py\", line {}, in step\nKeyError: 'model.layers.{}.self_attn.k_proj.weight'\n",
                b % 2000,
                c % 90
            ),
            _ => format!(
                "systemd[1]: session-{}.scope: Deactivated successfully. CUDA_ARCH_LIST=8.0;9.0+PTX trace_id={b:016x}{c:016x} {:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}\n",
                b % 99,
                a & 0xffff_ffff,
                b & 0xffff,
                c & 0xfff,
                a & 0xfff,
                b & 0xffff_ffff_ffff
            ),
        };
        out.extend_from_slice(line.as_bytes());
    }
    out
}

#[test]
fn a_server_log_holds_no_secrets() {
    let long = std::env::var_os("CASEBOOK_LONG").is_some();
    let log = server_log(if long { 100 << 20 } else { 10 << 20 });
    let mut stream = Streamer::new(Marker::default(), Some(80));
    let mut out = Vec::with_capacity(log.len());
    let began = std::time::Instant::now();
    for piece in log.chunks(64 << 10) {
        stream.push(piece, &mut out);
    }
    stream.finish(&mut out);
    let took = began.elapsed();
    #[expect(clippy::cast_precision_loss, reason = "for show")]
    let rate = log.len() as f64 / took.as_secs_f64() / 1e6;
    println!("{rate:.0} MB/s");
    if out != log {
        let at = memchr::memmem::find(&out, MARK.as_bytes()).unwrap_or(0);
        let around = &out[at.saturating_sub(120)..out.len().min(at + 120)];
        panic!("masked in plain text: {}", String::from_utf8_lossy(around));
    }
}
