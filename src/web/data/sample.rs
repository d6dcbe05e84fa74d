//! Sample sessions, until the store is wired.

use std::sync::Arc;

use crate::diagnosis::{
    Claim, Diagnosis, Evidence, Finding, Hypothesis, LaunchView, PostconditionView, Scope,
    Severity, Status, Suggestion,
};
use crate::event::{Exit, Stream};
use crate::fact::{Fact, Gpu, LaunchState, Observed, Process, ProcessLook, Progress};
use crate::id::{CommandId, FindingId, SessionId};
use crate::shell::{Place, Tree, Tri};
use crate::time::Micros;
use crate::timeline::{Command, Entry, LaunchRecord, Met, Timeline};

use super::{
    CommandRow, FindingBrief, Found, Hit, Note, Output, PlaybookCard, PlaybookText, Recorded,
    SessionCard, Understanding,
};

#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) card: SessionCard,
    pub(super) commands: Vec<Recorded>,
    pub(super) notes: Vec<Note>,
    pub(super) understanding: Arc<Understanding>,
}

fn observed(fact: Fact, stream: Stream, from: u64, to: u64) -> Observed {
    Observed {
        fact,
        place: Place::default(),
        invocation: Some(0),
        stream: Some(stream),
        from,
        to,
    }
}

const SMI: &str = "\x1b[1mMon Nov 30 11:04:02 2026\x1b[0m
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|=========================================+========================+======================|
|   0  NVIDIA H200                    On  |   00000000:19:00.0 Off |                    0 |
| N/A   31C    P0             117W / 700W |    1127MiB / 143771MiB |      0%      Default |
|   1  NVIDIA H200                    On  |   00000000:3B:00.0 Off |                    0 |
| N/A   29C    P0             115W / 700W |    1127MiB / 143771MiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
";

pub(super) fn sessions() -> Vec<Sample> {
    let start = Micros::parse("2026-11-30T10:02:13Z").unwrap_or_default();
    let lines: Vec<(&str, &str, Exit, f64, i64, Vec<(Stream, String)>)> = vec![
        ("laptop", "git -C deploy log --oneline -3", Exit::Code(0), 0.02, 0, vec![(Stream::Stdout, "\x1b[33m4f1c2aa\x1b[m tp 8, tuned\n\x1b[33m91be0d2\x1b[m model path\n\x1b[33m0c77f01\x1b[m first\n".into())]),
        ("gpu01", "ssh root@gpu01 'nvidia-smi --query-gpu=index,memory.used --format=csv,noheader | head -4'", Exit::Code(0), 0.4, 12, vec![(Stream::Stdout, "0, 0 MiB\n1, 0 MiB\n2, 0 MiB\n3, 0 MiB\n".into())]),
        ("gpu01", "scp run_tp8_tuned.sh root@gpu01:/tmp/", Exit::Code(0), 0.6, 20, vec![]),
        ("gpu01", "ssh root@gpu01 'pkill -9 -f sglang; sleep 3\ncat > /root/run_tp8_tuned.sh << \"EOF\"\n#!/bin/bash\nexec python3 -m sglang.launch_server --model /models/glm5 --tp 8 --port 8000\nEOF\nchmod +x /root/run_tp8_tuned.sh\nnohup /root/run_tp8_tuned.sh > /root/sglang-server.log 2>&1 &'", Exit::Code(255), 0.1, 40, vec![]),
        ("gpu01", "ssh root@gpu01 'tail -3 /root/sglang-server.log'", Exit::Code(0), 0.3, 60, vec![(Stream::Stdout, "Loading safetensors checkpoint shards:  43% Completed | 71/163 [01:02<01:20,  1.15it/s]\r\x1b[KLoading safetensors checkpoint shards:  49% Completed | 80/163 [01:10<01:12,  1.15it/s]\n[2026-11-30 09:39:56] \x1b[31mERROR\x1b[0m Received sigquit from a child process. It usually means the child failed.\n<script>alert(\"hostile\")</script> & 'quotes'\n".into())]),
        ("gpu01", "ssh root@gpu01 'pgrep -fa sglang'", Exit::Code(0), 0.3, 75, vec![(Stream::Stdout, "1159 bash -c pgrep -fa sglang\n".into())]),
        ("gpu01", "ssh root@gpu01 'ls -l /root/run_tp8_tuned.sh'", Exit::Code(2), 0.3, 90, vec![(Stream::Stderr, "ls: cannot access '/root/run_tp8_tuned.sh': No such file or directory\n".into())]),
        ("gpu01", "ssh root@gpu01 'nvidia-smi'", Exit::Code(0), 0.9, 109, vec![(Stream::Stdout, SMI.into())]),
        ("gpu01", "ssh root@gpu01 'nohup /root/run_tp8_tuned.sh > /root/sglang-server.log 2>&1 &'", Exit::Code(0), 0.4, 200, vec![(Stream::Stdout, "PID=20411\n".into())]),
        ("gpu01", "ssh root@gpu01 'tail -1 /root/sglang-server.log'", Exit::Code(0), 0.3, 230, vec![(Stream::Stdout, "Loading safetensors checkpoint shards:  48% Completed | 78/163\n".into())]),
        ("gpu01", "ssh root@gpu01 'tail -1 /root/sglang-server.log'", Exit::Code(0), 0.3, 260, vec![(Stream::Stdout, "Loading safetensors checkpoint shards:  48% Completed | 78/163\n".into())]),
        ("gpu01", "ssh root@gpu01 'tail -1 /root/sglang-server.log'", Exit::Code(0), 0.3, 290, vec![(Stream::Stdout, "Loading safetensors checkpoint shards:  48% Completed | 78/163\n".into())]),
        ("gpu01", "ssh root@gpu01 'tail -1 /root/sglang-server.log'", Exit::Code(0), 0.3, 320, vec![(Stream::Stdout, "Loading safetensors checkpoint shards:  48% Completed | 78/163\n".into())]),
        ("gpu01", "ssh root@gpu01 'tail -300 /root/sglang-server.log'", Exit::Signal(2), 12.1, 350, vec![(Stream::Tty, (1..=300).map(|n| format!("[2026-11-30 10:0{}:11] \x1b[32mINFO\x1b[0m  worker {n} waits in futex_wait, load weight begin, avail mem=139.{n} GB\n", n % 10)).collect())]),
        ("gpu01", "ssh root@gpu01 'py-spy dump --pid 20411'", Exit::Running, 0.0, 400, vec![]),
    ];
    let mut commands = Vec::new();
    for (place, (host, line, exit, took, at, outputs)) in lines.into_iter().enumerate() {
        let number = u32::try_from(place + 1).unwrap_or(0);
        let bytes = outputs.iter().map(|(_, text)| text.len() as u64).sum();
        let mut facts = Vec::new();
        for (stream, text) in &outputs {
            let span = |part: &str| {
                text.find(part)
                    .map(|from| (from as u64, (from + part.len()) as u64))
            };
            if let Some((from, to)) = span("1159 bash -c pgrep -fa sglang") {
                facts.push(observed(
                    Fact::ProcessLook(ProcessLook {
                        tool: "pgrep".into(),
                        pattern: Some("sglang".into()),
                        full: true,
                        count: 0,
                        self_matches: 1,
                        ..ProcessLook::default()
                    }),
                    *stream,
                    from,
                    to,
                ));
                facts.push(observed(
                    Fact::Process(Process {
                        pid: 1159,
                        args: Some("bash -c pgrep -fa sglang".into()),
                        ..Process::default()
                    }),
                    *stream,
                    from,
                    to,
                ));
            }
            for index in 0..2_i64 {
                if let Some((from, _)) = span(&format!("|   {index}  NVIDIA H200")) {
                    facts.push(observed(
                        Fact::Gpu(Gpu {
                            index: Some(index),
                            name: Some("NVIDIA H200".into()),
                            memory_used_mib: Some(1127.0),
                            memory_total_mib: Some(143_771.0),
                            util_pct: Some(0.0),
                            ..Gpu::default()
                        }),
                        *stream,
                        from,
                        from + 170,
                    ));
                }
            }
            if let Some((from, to)) =
                span("48% Completed | 78/163").or_else(|| span("49% Completed | 80/163"))
            {
                facts.push(observed(
                    Fact::Progress(Progress {
                        label: "Loading safetensors checkpoint shards".into(),
                        percent: 48.0,
                        ..Progress::default()
                    }),
                    *stream,
                    from,
                    to,
                ));
            }
        }
        commands.push(Recorded {
            row: CommandRow {
                id: CommandId::new(),
                number,
                at: start.plus_us(at * 1_000_000),
                host: "laptop".into(),
                target_host: host.into(),
                line: line.into(),
                exit,
                took_s: (exit != Exit::Running).then_some(took),
                bytes,
            },
            cwd: Some("/home/anna/deploy".into()),
            user: Some("anna".into()),
            tree: Tree::default(),
            outputs: outputs
                .into_iter()
                .map(|(stream, text)| Output {
                    stream,
                    bytes: text.into_bytes(),
                    gaps: vec![],
                })
                .collect(),
            facts,
            complaints: vec![],
            unclaimed: vec![],
        });
    }
    let session = SessionId::new();
    let diagnosis = diagnosis(session, &commands);
    let timeline = timeline(&commands);
    let brief = |f: &Finding| FindingBrief {
        title: f.title.clone(),
        kind: f.kind.clone(),
        claim: f.claim,
        severity: f.severity,
        status: f.status,
    };
    let card = SessionCard {
        id: session,
        title: "GLM-5 bring-up".into(),
        automatic: false,
        relative: false,
        started: start,
        last: start.plus_us(400_000_000),
        ended: false,
        commands: commands.len() as u64,
        hosts: vec!["gpu01".into(), "laptop".into()],
        findings: diagnosis.findings.iter().map(brief).collect(),
    };
    let other = |title: &str, hosts: &[&str], commands: u64, days: i64| Sample {
        card: SessionCard {
            id: SessionId::new(),
            title: title.into(),
            started: start.plus_us(-days * 86_400_000_000),
            last: start.plus_us(-days * 86_000_000_000),
            commands,
            hosts: hosts.iter().map(|h| (*h).to_owned()).collect(),
            findings: if days == 2 {
                card.findings.iter().skip(1).cloned().collect()
            } else {
                vec![]
            },
            ..card.clone()
        },
        commands: vec![],
        notes: vec![],
        understanding: Arc::new(Understanding {
            timeline: Timeline::default(),
            diagnosis: Diagnosis {
                findings: vec![],
                launches: vec![],
                postconditions: vec![],
                next: vec![],
                ..diagnosis.clone()
            },
        }),
    };
    let mut all = vec![
        Sample {
            card: card.clone(),
            commands,
            notes: vec![Note {
                at: start.plus_us(120_000_000),
                text: "The script is not there at all.\nSo #4 did nothing <b>after</b> the kill."
                    .into(),
            }],
            understanding: Arc::new(Understanding {
                timeline,
                diagnosis: diagnosis.clone(),
            }),
        },
        other(
            "Payments API returns 502 behind the new proxy, only from the office network",
            &["web-3", "web-4", "lb-1", "db-2", "bastion"],
            148,
            1,
        ),
        other("Celery workers pick up nothing", &["worker-1"], 23, 2),
        other("disk full on ci-runner-7", &["ci-runner-7"], 9, 6),
    ];
    all[3].card.automatic = true;
    all
}

fn cite(
    commands: &[Recorded],
    number: u32,
    says: &str,
    quote: &str,
    stream: Option<Stream>,
) -> Evidence {
    let id = commands
        .iter()
        .find(|c| c.row.number == number)
        .map_or_else(CommandId::new, |c| c.row.id);
    Evidence {
        command_id: id,
        number,
        line: String::new(),
        stream,
        from: 0,
        to: 0,
        quote: quote.into(),
        says: says.into(),
    }
}

fn suggestion(line: &str, safety: &str, why: &str) -> Suggestion {
    Suggestion {
        id: "n-1".into(),
        line: line.into(),
        safety: safety.into(),
        why: why.into(),
        cost: 1.0,
        playbook: String::new(),
    }
}

fn diagnosis(session: SessionId, commands: &[Recorded]) -> Diagnosis {
    let hypothesis = |id: &str, title: &str, probability, supports, against, refuted| Hypothesis {
        id: id.into(),
        title: title.into(),
        kind: None,
        probability,
        supports,
        against,
        refuted,
    };
    let e = |n, says: &str| cite(commands, n, says, "", None);
    let finding = |playbook: &str, kind: &str, claim, severity, status, title: &str| Finding {
        id: FindingId::derive(playbook, "x", "y"),
        playbook: playbook.into(),
        version: 1,
        kind: kind.into(),
        claim,
        severity,
        status,
        cause_of: vec![],
        title: title.into(),
        explains: String::new(),
        scope: Scope::default(),
        evidence: vec![],
        hypotheses: vec![],
        next: vec![],
        remedy: String::new(),
        since: Micros(0),
    };
    let mut first = finding(
        "launch-killed-its-own-shell",
        "process.self_match",
        Claim::Established,
        Severity::High,
        Status::Open,
        "pkill -f killed the shell that carried this command",
    );
    first.explains =
        "So nothing after it ran: no script, no launch. server.log is the last run's.".into();
    first.scope = Scope {
        host: Some("gpu01".into()),
        command: Some(4),
        ..Scope::default()
    };
    first.evidence = vec![
        cite(commands, 4, "ssh ended 255 and printed nothing", "", None),
        cite(
            commands,
            6,
            "only its own shell was found",
            "1159 bash -c pgrep -fa sglang",
            Some(Stream::Stdout),
        ),
        cite(
            commands,
            7,
            "the script is missing",
            "ls: cannot access '/root/run_tp8_tuned.sh': No such file or directory",
            Some(Stream::Stderr),
        ),
    ];
    first.remedy = "Relaunch with pkill -9 -f '[s]glang' in an ssh of its own. It ends every server whose command line holds sglang.".into();
    first.hypotheses = vec![
        hypothesis(
            "own",
            "the remote shell matched its own pattern",
            0.94,
            vec![
                e(4, "its command line holds \"sglang\""),
                e(
                    4,
                    "ssh ended 255 and printed nothing: as when the remote shell is killed",
                ),
                e(6, "pgrep saw only its own bash -c"),
                e(7, "/root/run_tp8_tuned.sh does not exist"),
            ],
            vec![],
            false,
        ),
        hypothesis(
            "heredoc",
            "the here-document was lost to quoting",
            0.03,
            vec![],
            vec![e(4, "it parses clean on the remote side")],
            false,
        ),
        hypothesis(
            "later",
            "it is still starting up",
            0.0,
            vec![],
            vec![e(8, "1.1 GiB on each GPU and no process of that name")],
            true,
        ),
        hypothesis("other", "other", 0.03, vec![], vec![], false),
    ];
    let mut second = finding(
        "load-stalled",
        "load.stalled",
        Claim::Suspected,
        Severity::Medium,
        Status::Open,
        "Loading has shown 48 % in four looks over 90 seconds",
    );
    second.scope = Scope {
        host: Some("gpu01".into()),
        launch: Some(9),
        path: Some("/root/sglang-server.log".into()),
        ..Scope::default()
    };
    second.evidence = vec![e(10, "48 %"), e(13, "48 %, the same line")];
    second.hypotheses = vec![
        hypothesis(
            "hung",
            "a worker waits for another one",
            0.55,
            vec![e(13, "the same line in four looks")],
            vec![],
            false,
        ),
        hypothesis(
            "slow",
            "it reads from a slow disk",
            0.3,
            vec![],
            vec![],
            false,
        ),
        hypothesis("other", "other", 0.15, vec![], vec![], false),
    ];
    let mut blind = finding(
        "head-hides-gpus",
        "look.blind",
        Claim::Observed,
        Severity::Low,
        Status::Open,
        "head -4 hides GPUs 4 to 7",
    );
    blind.scope.command = Some(2);
    blind.evidence = vec![e(2, "four lines of eight")];
    let mut healthy = finding(
        "exit-one-means-no",
        "session.benign",
        Claim::Established,
        Severity::Info,
        Status::Open,
        "The warning about fork in the tokenizer means nothing here",
    );
    healthy.evidence = vec![e(5, "it is printed by every run")];
    Diagnosis {
        format: 1,
        session,
        as_of: None,
        findings: vec![first, second, blind, healthy],
        launches: vec![LaunchView {
            id: "l-9".into(),
            command_id: CommandId::new(),
            number: 9,
            line: "/root/run_tp8_tuned.sh".into(),
            target_host: "gpu01".into(),
            log: Some("/root/sglang-server.log".into()),
            port: Some(8000),
            process: "running".into(),
            gpu: "steady".into(),
            log_state: "unchanged".into(),
            progress: "48 %, still for 1 m 30 s".into(),
            stage: Some("loading weights".into()),
            reached: Tri::Yes,
            since: None,
        }],
        postconditions: vec![
            PostconditionView {
                command_id: CommandId::new(),
                number: 4,
                line: String::new(),
                text: "the old server is gone, children too".into(),
                state: Met::Unchecked,
                evidence: vec![],
                probe: suggestion(
                    "ssh root@gpu01 'nvidia-smi --query-compute-apps=pid,used_memory --format=csv'",
                    "read-only",
                    "",
                ),
            },
            PostconditionView {
                command_id: CommandId::new(),
                number: 9,
                line: String::new(),
                text: "port 8000 listens".into(),
                state: Met::Unchecked,
                evidence: vec![],
                probe: suggestion("ssh root@gpu01 'ss -ltnp | grep :8000'", "read-only", ""),
            },
            PostconditionView {
                command_id: CommandId::new(),
                number: 4,
                line: String::new(),
                text: "/root/run_tp8_tuned.sh exists and is not empty".into(),
                state: Met::Unmet,
                evidence: vec![],
                probe: suggestion("", "", ""),
            },
        ],
        next: vec![
            suggestion(
                "ssh root@gpu01 'stat -c \"%y %n\" /root/sglang-server.log; date'",
                "read-only",
                "shows whether the log is older than #4: splits killed itself from heredoc lost",
            ),
            suggestion(
                "ssh root@gpu01 'py-spy dump --pid 20411'",
                "heavy read",
                "shows where each thread waits",
            ),
            suggestion(
                "ssh root@gpu01 \"pkill -9 -f '[s]glang'\"",
                "changes state",
                "ends what is left of the old server without matching itself",
            ),
        ],
    }
}

fn timeline(commands: &[Recorded]) -> Timeline {
    let mut timeline = Timeline {
        commands: commands
            .iter()
            .map(|c| Command {
                id: c.row.id,
                number: c.row.number,
                line: c.row.line.clone(),
                host: c.row.host.clone(),
                at: c.row.at,
                took_s: c.row.took_s,
                exit: c.row.exit,
                tree: Tree::default(),
                facts: c.facts.clone(),
                stdout_bytes: 0,
                stderr_bytes: 0,
                tty_bytes: 0,
            })
            .collect(),
        ..Timeline::default()
    };
    let state = |command: usize, state: LaunchState| Entry {
        command,
        fact: Fact::LaunchState(state),
        host: "gpu01".into(),
        container: None,
        invocation: None,
        stream: None,
        from: 0,
        to: 0,
        launch: Some(0),
        at: Micros(0),
        known: Micros(0),
    };
    timeline.entries = vec![
        state(
            9,
            LaunchState {
                process: "running".into(),
                log: "fresh".into(),
                ..LaunchState::default()
            },
        ),
        state(
            10,
            LaunchState {
                process: "running".into(),
                log: "unchanged".into(),
                log_still_looks: 2,
                ..LaunchState::default()
            },
        ),
        state(
            14,
            LaunchState {
                process: "running".into(),
                log: "unchanged".into(),
                log_still_looks: 4,
                ..LaunchState::default()
            },
        ),
    ];
    timeline.launches = vec![LaunchRecord {
        command: 8,
        entry: 0,
        host: "gpu01".into(),
        container: None,
        epoch_end: 3,
        state: Some(2),
    }];
    timeline
}

pub(super) fn search(sessions: &[Sample], query: &str) -> Found {
    let mut hits = Vec::new();
    let words: Vec<&str> = query
        .split_whitespace()
        .filter(|w| !w.contains(':'))
        .collect();
    for session in sessions {
        for command in &session.commands {
            for output in &command.outputs {
                let text = String::from_utf8_lossy(&output.bytes);
                if let Some(line) = text
                    .lines()
                    .find(|line| words.iter().all(|w| line.contains(w)))
                {
                    hits.push(Hit {
                        session: session.card.id,
                        title: session.card.title.clone(),
                        number: command.row.number,
                        at: command.row.at,
                        relative: false,
                        target_host: command.row.target_host.clone(),
                        line: command.row.line.clone(),
                        exit: command.row.exit,
                        stream: Some(output.stream),
                        from: text.find(line).unwrap_or(0) as u64,
                        snippet: line.into(),
                    });
                }
            }
        }
    }
    Found {
        took_ms: 3.0,
        total: hits.len() as u64,
        hits,
    }
}

pub(super) fn playbook() -> PlaybookText {
    PlaybookText {
        card: PlaybookCard { id: "launch-killed-its-own-shell".into(), title: "pkill -f killed the shell that carried this command on {{K.target_host}}".into(), kind: "process.self_match".into(), severity: Severity::High, version: 1, own: false, tests: 3, problems: 1 },
        text: "# Matches a pkill -f that hits the shell it runs in.\nid: launch-killed-its-own-shell\nversion: 1\nkind: process.self_match\nseverity: high\nwhen:\n  steps:\n    - { as: K, fact: kill, where: \"K.full && K.hits_own_shell != 'no'\" }\n".into(),
        lint: vec![(8, "no `unless`: a kill that printed something after it would fire too".into())],
        tests: vec![("fires: kill then heredoc".into(), true, String::new()), ("near miss: pattern in brackets".into(), true, String::new()), ("healthy twin".into(), false, "fired once, expected none".into())],
        references: vec![("pkill(1), procps 4.0: a process never matches itself, but its parent shell may".into(), "https://man7.org/linux/man-pages/man1/pgrep.1.html".into())],
    }
}
