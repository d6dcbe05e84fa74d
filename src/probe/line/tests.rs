use super::{Context, Seen, is_benign, is_notable, newest_us, read_lines};
use crate::fact::{Fact, Line};
use crate::probe::marks;
use crate::text::{self, TextLine};
use crate::time::Micros;

fn read(output: &str) -> Vec<Line> {
    let lines = text::lines(output.as_bytes());
    let lines: Vec<&TextLine> = lines.iter().collect();
    let context = Context {
        path: "/var/log/x.log",
        source: "log",
        program: "tail",
        year: None,
    };
    let context = Context {
        year: super::year_of(&lines),
        ..context
    };
    let marked = marks::of(&lines);
    read_lines(&marked, &context)
        .into_iter()
        .map(line)
        .collect()
}

fn line(seen: Seen) -> Line {
    match seen.fact {
        Fact::Line(line) => line,
        other => panic!("{other:?}"),
    }
}

#[test]
fn lines_of_a_kind_are_counted_once() {
    let facts = read("worker 1 exited with code 1\nok\nworker 2 exited with code 9\n");
    assert_eq!(facts.len(), 2);
    assert_eq!(
        (facts[0].count, facts[0].ordinal, facts[0].last_ordinal),
        (2, 0, 2)
    );
    assert_eq!(facts[0].text, "worker 1 exited with code 1");
}

#[test]
fn of_a_long_output_only_notable_lines_are_kept() {
    let mut output = String::new();
    for step in 0..500 {
        output.push_str("some step went by without much ado\n");
        if step % 100 == 0 {
            output.push_str("ERROR: lost the peer\n");
        }
    }
    let facts = read(&output);
    assert_eq!(facts.len(), 1);
    assert_eq!((facts[0].count, facts[0].level.as_str()), (5, "error"));
}

#[test]
fn the_first_and_the_last_kinds_are_kept() {
    let name = |at: usize| {
        let letter = |at: usize| b"abcdefghijklmnopqrstuvwxyz"[at % 26] as char;
        format!("{}{}", letter(at / 26), letter(at))
    };
    let output: String = (0..400)
        .map(|at| format!("error of kind {}\n", name(at)))
        .collect();
    let facts = read(&output);
    assert_eq!(facts.len(), 200);
    assert_eq!(facts[99].text, format!("error of kind {}", name(99)));
    assert_eq!(facts[199].text, format!("error of kind {}", name(399)));
}

#[test]
fn words_are_found_where_words_begin() {
    for text in [
        "RuntimeError: x",
        "an ERROR",
        "OOMKilled",
        "disk full",
        "reason: timed out",
        "NVRM: Xid (PCI",
        "listening on 80",
        "Killed",
        "EADDRINUSE",
        "The server is fired up and ready to roll!",
    ] {
        assert!(is_notable(text), "{text}");
    }
    for text in [
        "by default",
        "a block of clocks",
        "wonderful room",
        "step 12 loss 2.0",
        "terrain",
    ] {
        assert!(!is_notable(text), "{text}");
    }
}

#[test]
fn what_means_nothing_is_known() {
    for text in [
        "nohup: ignoring input",
        "gpu-a1:24037:24037 [0] NCCL INFO NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such file or directory No plugin found (libnccl-net.so), using internal implementation",
        "W1130 11:58:15.392000 1358 torch/distributed/run.py:851] *****************************************",
        "x.py:3: FutureWarning: `y` is deprecated",
        "summary: requests=20000 error_rate=0 errors=0 p99=812ms",
        "test net::refuses_when_permission_denied ... ok",
        "tests/test_io.py::test_no_space_left_on_device PASSED             [ 12%]",
        "test_timeout_error (t.test_net.NetTest.test_timeout_error) ... ok",
        "    --- PASS: TestConnectionRefused/tcp (0.01s)",
        "[       OK ] Alloc.OutOfMemory (3 ms)",
        "ok 12 - reports a missing file",
        "  ✓ throws an error on a bad port (5 ms)",
        "PASS src/errors.test.ts",
    ] {
        assert!(is_benign(text), "{text}");
    }
    for text in [
        "nohup: failed to run command './x': Permission denied",
        "(EngineCore pid=151) INFO 05-20 20:35:51 [shm_broadcast.py:681] No available shared memory broadcast block found in 60 seconds.",
        "RuntimeError: No CUDA GPUs are available",
        "10 errors",
        "not ok 12 - reports a missing file",
        "test net::refuses ... FAILED",
        "health check: PASSED to FAILED",
    ] {
        assert!(!is_benign(text), "{text}");
    }
}

#[test]
fn a_message_written_over_a_bar_is_read() {
    let facts = read("load:  44%|####      | 7/16 [00:03<00:04,  1.8it/s]\rError: lost\n");
    assert_eq!(facts.len(), 1);
    assert_eq!(facts[0].text, "Error: lost");
}

#[test]
fn times_without_a_year_take_it_from_their_neighbours() {
    let facts = read("2026-11-30 10:00:00 up\nNov 30 12:07:34 host x[1]: error\n");
    let want = Micros::parse("2026-11-30T12:07:34Z").unwrap().0;
    assert_eq!(facts[1].time_us, Some(want));
    let alone = read("Nov 30 12:07:34 host x[1]: error\n");
    assert_eq!(alone[0].time_us, None);
}

#[test]
fn the_newest_time_is_found() {
    let lines = text::lines(b"[2026-11-30 10:00:02] a\n[2026-11-30 10:00:01 TP1] b\nno time\n");
    let lines: Vec<&TextLine> = lines.iter().collect();
    let want = Micros::parse("2026-11-30T10:00:02Z").unwrap().0;
    assert_eq!(newest_us(&lines, None), Some(want));
}

/// Every sample of `tests/fixtures/logs/formats.txt`: level, time, who says it, message.
#[test]
fn the_usual_formats_are_read() {
    let samples = include_str!("../../../tests/fixtures/logs/formats.txt");
    let mut wrong = Vec::new();
    let (mut name, mut sample) = ("", "");
    for row in samples.lines() {
        if let Some(format) = row.strip_prefix("## ") {
            name = format;
        } else if let Some(wanted) = row.strip_prefix("< ") {
            let wanted: Vec<&str> = wanted.splitn(4, " | ").collect();
            let [level, time, who, message] = wanted.as_slice() else {
                panic!("{row}");
            };
            let head = super::read_head(sample);
            let or_none = |text: &str| {
                if text.is_empty() {
                    "-".to_owned()
                } else {
                    text.to_owned()
                }
            };
            let found = [
                or_none(head.level),
                super::time_of(sample, Some(2026))
                    .map_or("-".to_owned(), |micros| micros.to_string()),
                or_none(head.worker.as_deref().unwrap_or("")),
            ];
            let time = match *time {
                "-" => "-".to_owned(),
                time => Micros::parse(time).unwrap().0.to_string(),
            };
            if found != [(*level).to_owned(), time, (*who).to_owned()]
                || *message != "-" && sample.get(head.body..) != Some(message)
            {
                wrong.push(format!(
                    "{name}: {sample}\n  {found:?} {:?}",
                    sample.get(head.body..)
                ));
            }
        } else if !row.starts_with("# ") && !row.is_empty() {
            sample = row;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn seconds_since_1970_are_times() {
    for line in [
        "1786342981: Error: Address already in use",
        "1786342981.000    45 10.0.0.9 TCP_MISS/503 0 GET http://h/ - HIER_NONE/-",
        "[1786342981] SERVICE ALERT: db;load;CRITICAL;HARD;4;load is high",
    ] {
        let facts = read(line);
        assert_eq!(facts[0].time_us, Some(1_786_342_981_000_000), "{line}");
    }
    for line in [
        "1786342981 bytes read, error",
        "9786342981: error",
        "17863429: error",
    ] {
        assert_eq!(read(line)[0].time_us, None, "{line}");
    }
    assert_eq!(read("1786342981: Error: in use")[0].level, "error");
}
