use proptest::prelude::{ProptestConfig, any, prop, proptest};

use super::{LogProbe, Output, What, read, recognise, recognise_pipe};
use crate::fact::{Count, Fact, LogLook, Search};
use crate::probe::line::Seen;
use crate::shell::{self, Invocation, Tri};
use crate::text::{self, TextLine};

/// The probe of a command line's first leaf that has one, its pipeline after it.
fn probe(line: &str) -> Option<LogProbe> {
    let tree = shell::parse(line);
    let pipeline = |one: &Invocation| one.pipe.map(|pipe| pipe.pipeline);
    tree.leaves().find_map(|first| {
        let later: Vec<&Invocation> = tree
            .leaves()
            .filter(|one| one.index > first.index)
            .filter(|one| pipeline(one).is_some() && pipeline(one) == pipeline(first))
            .collect();
        recognise(first, &later).or_else(|| recognise_pipe(first, &later))
    })
}

fn facts_of(line: &str, output: &str, ran: Tri, failed: bool) -> Vec<Seen> {
    let probe = probe(line).unwrap_or_else(|| panic!("not recognised: {line}"));
    let lines = text::lines(output.as_bytes());
    let lines: Vec<&TextLine> = lines.iter().collect();
    let output = Output {
        lines: &lines,
        stream: "stdout",
        ran,
        failed,
        year: None,
    };
    read(&probe, &output)
}

fn facts(line: &str, output: &str) -> Vec<Fact> {
    facts_of(line, output, Tri::Yes, false)
        .into_iter()
        .map(|seen| seen.fact)
        .collect()
}

fn look(line: &str, output: &str) -> LogLook {
    let look = facts(line, output).into_iter().find_map(|fact| match fact {
        Fact::LogLook(look) => Some(look),
        _ => None,
    });
    look.unwrap_or_else(|| panic!("no look: {line}"))
}

fn searches(line: &str, output: &str) -> Vec<Search> {
    let found = facts(line, output)
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::Search(search) => Some(search),
            _ => None,
        });
    found.collect()
}

fn names(line: &str, output: &str) -> Vec<&'static str> {
    facts(line, output).iter().map(Fact::name).collect()
}

#[test]
fn looks_are_recognised_with_their_place_and_part() {
    // (line, path, what a look of three lines shows: whole, end)
    let cases = [
        ("tail -5 /srv/x.log", "/srv/x.log", true, true),
        ("tail -n 3 /srv/x.log", "/srv/x.log", false, true),
        ("tail -n3 x.log", "x.log", false, true),
        ("tail /srv/x.log", "/srv/x.log", true, true),
        ("tail -n +1 x.log", "x.log", true, true),
        ("tail -c 300 x.log", "x.log", false, true),
        ("tail -f x.log", "x.log", false, true),
        ("cd /srv && tail -3 x.log", "/srv/x.log", false, true),
        ("cat ./x.log", "x.log", true, true),
        ("cat x.log | tail -80", "x.log", true, true),
        ("cat x.log | tail -3", "x.log", false, true),
        ("cat x.log | head -3", "x.log", false, false),
        ("head -20 x.log", "x.log", true, true),
        ("head -3 x.log | cut -c1-160", "x.log", false, false),
        ("sed -n 15,17p x.log", "x.log", false, false),
        ("sed -n '$p' x.log", "x.log", false, true),
        (
            "tail -c 400 x.log | tr '\\r' '\\n' | tail -n 2",
            "x.log",
            false,
            true,
        ),
        ("zcat x.log.1.gz | tail -3", "x.log.1.gz", false, true),
        ("less +G x.log", "x.log", false, false),
        ("tail -5 < x.log", "x.log", true, true),
        ("journalctl -u vpn -n 20", "vpn", true, true),
        ("journalctl -u vpn --no-pager", "vpn", true, true),
        ("journalctl -k -n 3", "dmesg", false, true),
        ("dmesg -T", "dmesg", true, true),
        ("dmesg | tail -2", "dmesg", false, true),
        ("docker logs --tail 2 web", "web", false, true),
        ("docker logs web --tail=20", "web", true, true),
        ("docker compose logs -n 3 web", "web", false, true),
        ("kubectl logs nemo-0 --tail=3", "nemo-0", false, true),
        (
            "kubectl -n llm logs nemo-0 -c main --previous",
            "nemo-0/main",
            true,
            true,
        ),
        ("oc logs deploy/vllm --tail=2", "deploy/vllm", false, true),
        ("tmux capture-pane -p -t train", "tmux:train", false, true),
        ("supervisorctl tail web stderr", "web stderr", false, true),
    ];
    for (line, path, whole, from_end) in cases {
        let look = look(line, "one\ntwo\nthree\n");
        assert_eq!(
            (look.path.as_str(), look.whole, look.from_end),
            (path, whole, from_end),
            "{line}"
        );
        assert_eq!(look.lines, 3, "{line}");
    }
}

#[test]
fn what_is_no_look_into_a_log_is_left_to_others() {
    for line in [
        "cat /proc/meminfo",
        "ps aux",
        "cat",
        "docker ps",
        "kubectl get pods",
        "awk '{print $2}' x.log",
        "sed -i s/a/b/ x.log",
        "journalctl --disk-usage",
        "head -5",
        "ls -l x.log",
    ] {
        assert!(probe(line).is_none(), "{line}");
    }
}

#[test]
fn silence_is_a_fact_only_of_what_ran() {
    let empty = look("tail -20 /srv/agent.log", "");
    assert!(empty.empty && empty.whole && empty.last_line.is_none());
    assert!(facts_of("tail -5 x.log", "", Tri::Unknown, false).is_empty());
    assert!(facts_of("tail -5 x.log", "", Tri::Yes, true).is_empty());
    let refused = facts(
        "tail -2 x.log",
        "tail: cannot open 'x.log' for reading: No such file or directory\n",
    );
    assert!(
        refused.iter().all(|fact| fact.name() == "line"),
        "{refused:?}"
    );
    let dmesg = facts(
        "dmesg | tail -3",
        "dmesg: read kernel buffer failed: Operation not permitted\n",
    );
    assert!(dmesg.iter().all(|fact| fact.name() == "line"), "{dmesg:?}");
    assert_eq!(searches("grep -i panic x.log", "")[0].found, Some(0));
}

#[test]
fn a_look_says_what_it_showed() {
    let hup = look("cat train.out", "nohup: ignoring input\n");
    assert!(hup.only_nohup && !hup.empty);
    let pointer = look(
        "head -c 60 /m/model-00001.safetensors",
        "version https://git-lfs.github.com/spec/v1\noid sha256:4ae3f1\n",
    );
    assert!(pointer.lfs_pointer);
    let script = look(
        "cat /opt/vlm/start.sh",
        "#!/usr/bin/env bash\r\nset -e\r\nexec python3 x.py\r\n",
    );
    assert!(script.script && script.crlf);
    let part = "cd /srv/books\npython3 -u books.py --port $PORT &\necho $! > run/books.pid\n";
    assert!(look("tail -n 3 /srv/books/bin/start", part).script);
    assert!(!look("tail -n 3 /srv/books/log/start", part).script);
    let timed = look(
        "tail -2 x.log",
        "[2026-11-30 10:00:02] a\n[2026-11-30 10:00:01] b\n",
    );
    assert_eq!(
        timed.newest_us,
        Some(
            crate::time::Micros::parse("2026-11-30T10:00:02Z")
                .unwrap()
                .0
        )
    );
    assert_eq!(timed.last_line.as_deref(), Some("[2026-11-30 10:00:01] b"));
    let (one, same) = (
        look("tail -2 x.log", "a\nb\n"),
        look("tail -2 x.log", "a\nb\n"),
    );
    assert_eq!(one.digest, same.digest);
    assert_ne!(one.digest, look("tail -2 x.log", "a\nc\n").digest);
}

#[test]
fn trouble_is_read_out_of_logs_and_not_out_of_scripts() {
    let trouble =
        "Traceback (most recent call last):\n  File \"x.py\", line 1, in f\nValueError: no\n";
    assert!(names("tail -5 x.log", trouble).contains(&"traceback"));
    assert_eq!(
        names("cat x.sh", "#!/bin/bash\necho error: failed\nexit 1\n"),
        ["log_look", "script_step", "script_step"]
    );
    assert_eq!(
        names(
            "cat config.json",
            "{\"on_error\": \"fail\", \"retries\": 3}\n"
        ),
        ["log_look"]
    );
    assert_eq!(
        names("cat /etc/app.conf", "[app]\nlog_level=error\ntimeout=3\n"),
        ["log_look"]
    );
    assert!(names("cat x", "{\"level\":\"error\",\"msg\":\"x\"}\n").contains(&"line"));
}

#[test]
fn a_healthy_start_shows_bars_and_stages() {
    let output = "[2026-11-30 10:47:03 TP1] Load weight begin. avail mem=138.37 GB\n\rLoading safetensors checkpoint shards:   6% Completed | 1/16 [00:01<00:23,  1.58s/it]\n\rLoading safetensors checkpoint shards:  12% Completed | 2/16 [00:03<00:21,  1.56s/it]\n";
    let names = names("tail -5 /root/srv/server.log", output);
    for name in ["log_look", "line", "progress", "stage"] {
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
fn several_files_of_tail_are_told_apart() {
    let output = "==> a.log <==\none\n\n==> b.log <==\nerror: two\n";
    let looks: Vec<(String, i64)> = facts("tail -n 2 /v/a.log /v/b.log", output)
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::LogLook(look) => Some((look.path, look.lines)),
            _ => None,
        })
        .collect();
    assert_eq!(
        looks,
        [("/v/a.log".to_owned(), 1), ("/v/b.log".to_owned(), 1)]
    );
}

#[test]
fn searches_and_counts_are_read() {
    let found = searches(
        "grep -n Errno /opt/llm/glm.log",
        "20:OSError: [Errno 98] x\n",
    );
    assert_eq!(
        (found[0].of.as_str(), found[0].found),
        ("/opt/llm/glm.log", Some(1))
    );
    let found = searches(
        "dmesg -T | grep -i xid | tail -2",
        "[Tue Mar  4 09:01:12 2025] NVRM: Xid (PCI:0000:c3:00): 79\n",
    );
    assert_eq!(
        (found[0].of.as_str(), found[0].found, found[0].ignore_case),
        ("dmesg", Some(1), true)
    );
    let found = searches(
        "docker info 2>/dev/null | grep -i cgroup",
        " Cgroup Driver: systemd\n Cgroup Version: 2\n",
    );
    assert_eq!(
        (found[0].of.as_str(), found[0].found),
        ("docker info", Some(2))
    );
    let context = searches(
        "grep -n -m1 -B2 -A1 Traceback x.log",
        "10-a\n11-b\n12:Traceback x\n13-c\n",
    );
    assert_eq!(context[0].found, Some(1));
    assert!(searches("grep Error x.log", "")[0].narrow);

    let counts: Vec<Count> = facts("grep -ciE 'error|traceback' /opt/rr2/rerank.log", "2\n")
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::Count(count) => Some(count),
            _ => None,
        })
        .collect();
    assert_eq!(
        (counts[0].of.as_str(), counts[0].count),
        ("/opt/rr2/rerank.log", 2)
    );
    assert_eq!(
        searches("grep -c 'fired up' x.log", "1\n")[0].found,
        Some(1)
    );
    assert_eq!(
        searches("sudo dmesg | grep -i -c oom", "0\n")[0].of,
        "dmesg"
    );
}

#[test]
fn matches_keep_their_numbers_in_the_file() {
    let lines: Vec<(i64, String)> = facts("grep -nE 'Error|boot' x.log", "1:boot\n6:OSError: x\n")
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::Line(line) => Some((line.ordinal, line.text)),
            _ => None,
        })
        .collect();
    assert_eq!(
        lines,
        [(0, "boot".to_owned()), (5, "OSError: x".to_owned())]
    );
    assert!(
        names(
            "grep 'fired up' x.log",
            "The server is fired up and ready to roll!\n"
        )
        .contains(&"stage")
    );
}

#[test]
fn lines_are_told_from_those_of_others() {
    let count = probe("grep -c error x.log").unwrap();
    assert!(count.fits("12") && !count.fits("root 12 x") && count.most_lines() == Some(1));
    let search = probe("grep -i error x.log | head -5").unwrap();
    assert!(
        search.fits("RuntimeError") && !search.fits("all well") && search.most_lines() == Some(5)
    );
    assert!(matches!(search.what, What::Search(_)));
    assert_eq!(probe("tail -n 2 a b").unwrap().most_lines(), Some(8));
}

#[test]
fn of_a_very_long_log_the_start_and_the_end_are_read() {
    let mut output = "x\n".repeat(40_000);
    output.push_str("ValueError: no\n");
    let ordinal = facts("cat x.log", &output)
        .into_iter()
        .find_map(|fact| match fact {
            Fact::Traceback(trace) => Some(trace.ordinal),
            _ => None,
        });
    assert_eq!(ordinal, Some(40_000));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn anything_is_read(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "Traceback (most recent call last):\n", "  File \"x\", line 1, in f\n", "ValueError: é\n",
            "During handling of the above exception, another exception occurred:\n", "\tat a.B(C.java:1)\n",
            "Caused by: x.Y: z\n", "panic: x\n", "goroutine 1 [running]:\n", "[rank1]: ", "(a pid=1) ",
            "2026-11-30 10:00:00", "[2026-11-30 10:00:00 ", "] ", "ERROR ", "12%|█▏| 1/9 [00:01<00:02, 1.0s/it]",
            "\r", "\n", "é", "E1130 11:58:23.742000 1 a.py:1] ", "step 1/2", "{\"level\":50}", "nohup: ", "# ",
            "thread 'm' panicked at x:1:2:\n", "terminate called recursively\n", "12:", "==> x <==\n", "--\n",
        ]), 0..30),
    ) {
        check(pieces.concat().as_bytes());
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&bytes);
    }
}

fn check(bytes: &[u8]) {
    let output = String::from_utf8_lossy(bytes);
    for line in [
        "tail -5 x.log",
        "grep -n -C1 x a b",
        "cat x.json | tail -2",
        "docker info | grep -c x",
    ] {
        let length = output.len() as u64;
        for seen in facts_of(line, &output, Tri::Yes, false) {
            assert!(seen.from <= seen.to && seen.to <= length, "{seen:?}");
        }
    }
}
