use super::{BadCase, read, read_noting};
use crate::event::{Event, Exit, Stream};
use crate::time::Micros;

fn ends(text: &str) -> Vec<(Exit, Option<i64>)> {
    read(text)
        .unwrap()
        .events
        .into_iter()
        .filter_map(|new| match new.event {
            Event::CommandEnded {
                exit, duration_us, ..
            } => Some((exit, duration_us)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_case_without_a_start_is_in_relative_time() {
    let session = read(
        "title: T\nkind: x.y\nsteps:\n- at: 1.5\n  command: ls\n  exit: 0\n  stdout: |\n    a\n",
    )
    .unwrap();
    let Event::SessionStarted {
        relative_time,
        title,
        ..
    } = &session.events[0].event
    else {
        panic!("{session:?}")
    };
    assert!(relative_time);
    assert!(title.is_some());
    assert_eq!(session.events[1].at, Micros(1_500_000));
    let Event::OutputRecorded {
        stream, content, ..
    } = &session.events[2].event
    else {
        panic!("{session:?}")
    };
    assert_eq!((*stream, content.len_bytes), (Stream::Stdout, 2));
    assert_eq!(session.events.len(), 4);
}

#[test]
fn a_start_reads_with_a_t_or_a_space_and_without_a_zone() {
    for started in [
        "2026-11-30T10:00:00Z",
        "2026-11-30 10:00:00Z",
        "2026-11-30 10:00:00",
        "'2026-11-30T12:00:00+02:00'",
    ] {
        let session = read(&format!(
            "started: {started}\nsteps:\n- {{at: 1, command: ls, exit: 0}}\n"
        ))
        .unwrap();
        assert_eq!(
            session.events[1].at.rfc3339(),
            "2026-11-30T10:00:01.000000Z"
        );
    }
}

#[test]
fn exits_are_numbers_signals_or_unknown() {
    let text = "steps:\n- {at: 0, took: 2, command: a, exit: 255}\n- {at: 1, command: b, exit: {signal: 9}}\n- {at: 2, command: c}\n- {at: 3, command: d, exit: {running: true}}\n";
    assert_eq!(
        ends(text),
        [
            (Exit::Code(255), Some(2_000_000)),
            (Exit::Signal(9), None),
            (Exit::Lost, None),
            (Exit::Running, None),
        ]
    );
}

#[test]
fn chunks_keep_their_order_and_times() {
    let text = "steps:\n- at: 5\n  took: 3\n  command: a\n  exit: 0\n  chunks:\n  - {at: 0.5, stream: stdout, text: 'one'}\n  - {at: 1, stream: stderr, text: 'e'}\n  - {at: 2, stream: stdout, text: 'two'}\n";
    let absolute = text
        .replace("at: 0.5", "at: 5.5")
        .replace("at: 1,", "at: 6,")
        .replace("at: 2,", "at: 7,");
    for text in [text, &absolute] {
        let session = read(text).unwrap();
        let Event::OutputRecorded {
            content, chunks, ..
        } = &session.events[2].event
        else {
            panic!("{session:?}")
        };
        assert_eq!(content.len_bytes, 6);
        let marks: Vec<_> = chunks
            .iter()
            .map(|mark| (mark.offset_bytes, mark.after_us))
            .collect();
        assert_eq!(marks, [(0, 500_000), (3, 2_000_000)]);
    }
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    assert_eq!(read(""), Err(BadCase::Empty));
    assert_eq!(read("# only a comment\n---\n"), Err(BadCase::Empty));
    assert_eq!(
        read("title: x\nsteps: []\n"),
        Err(BadCase::NoSteps { line: 2 })
    );
    let line = |text: &str| match read(text) {
        Err(BadCase::Syntax { line, problem, .. } | BadCase::Value { line, problem }) => {
            (line, problem)
        }
        other => panic!("{other:?}"),
    };
    let (at, problem) = line("steps:\n- at: 0\n  command: ls\n  exit: 0\n- at: 1\n");
    assert_eq!(at, 5, "{problem}");
    assert!(problem.contains("command"), "{problem}");
    let (at, problem) = line("steps:\n- at: 0\n  command: \"ls\n");
    assert!(at >= 3, "{at} {problem}");
    let (at, problem) = line("started: yesterday\nsteps:\n- {at: 0, command: ls}\n");
    assert_eq!(at, 1, "{problem}");
    let (at, problem) = line("steps:\n- {at: .nan, command: ls}\n");
    assert_eq!(at, 2, "{problem}");
    let (at, problem) = line("just words\n");
    assert_eq!(at, 1, "{problem}");
}

#[test]
fn what_is_no_case_is_said_in_our_words() {
    let step = "steps:\n- {at: 0, command: ls}\n";
    for (text, says) in [
        (
            format!("title: x\n{step}---\ntitle: y\n"),
            "a case file holds one",
        ),
        (
            format!("title: x\ntitle: y\n{step}"),
            "line 2, column 1: the key `title` stands here twice: keep one",
        ),
        (
            "- title: x\n".to_owned(),
            "keys with values should stand here",
        ),
        (
            "title: x\nsteps: none\n".to_owned(),
            "a list should stand here",
        ),
        ("title: [x]\nsteps: []\n".to_owned(), "a text"),
        ("title: x\n".to_owned(), "the key `steps` is missing"),
    ] {
        let problem = read(&text).unwrap_err().to_string();
        assert!(problem.contains(says), "{text}: {problem}");
        for jargon in [
            "from_str", "Policy", "mapping", "sequence", "scalar", "Option", "field",
        ] {
            assert!(!problem.contains(jargon), "{text}: {problem}");
        }
    }
}

#[test]
fn values_that_cannot_be_are_refused_in_plain_words() {
    for (step, says) in [
        ("exit: 99999", "0 to 255"),
        ("exit: -9", "0 to 255"),
        ("exit: maybe", "`exit` is a number"),
        ("exit: {signal: 99}", "no signal 99"),
        ("exit: {sig: 9}", "`exit` is a number"),
        ("exit: [1]", "`exit` is a number"),
        ("command: ''", "`command` is empty"),
        ("took: -1", "less than nothing"),
        ("chunks: [{at: 1, text: x}]", "a chunk needs"),
        (
            "chunks: [{at: 1, stream: err, text: x}]",
            "stdout, stderr or tty",
        ),
    ] {
        let command = if step.starts_with("command") {
            ""
        } else {
            "  command: ls\n"
        };
        let text = format!("steps:\n- at: 1\n{command}  {step}\n");
        let problem = read(&text).unwrap_err().to_string();
        assert!(problem.contains(says), "{step}: {problem}");
        for jargon in ["untagged", "variant", "visitor", "budget", "invalid type"] {
            assert!(!problem.contains(jargon), "{step}: {problem}");
        }
    }
    let missing = read("steps:\n- at: 1\n  comand: ls\n  exit: 0\n").unwrap_err();
    assert_eq!(
        missing.to_string(),
        "line 2: the step has no `command` (`comand` is not read)"
    );
}

#[test]
fn a_file_that_may_be_cut_off_is_noted() {
    let noted = |text: &str| {
        let (_, notes) = read_noting(text, &crate::redact::Marker::default()).unwrap();
        notes
    };
    let cut = noted("steps:\n- command: ls\n  stdout: abc");
    assert_eq!(cut.len(), 1, "{cut:?}");
    assert!(cut[0].0 == 3 && cut[0].1.contains("cut off"), "{cut:?}");
    assert_eq!(noted("steps:\n- command: ls\n  stdout: abc\n"), []);
    assert_eq!(noted("{\"steps\": [{\"command\": \"ls\"}]}"), []);
}

#[test]
fn slips_are_noted_and_other_keys_are_nobodys_business() {
    let text = "steps:\n- {at: -1, command: ls, exit: 0, Stdout: x, note: y, why: z}\n\
                - {command: ls, stdot: a, took: 1}\n";
    let (session, notes) = read_noting(text, &crate::redact::Marker::default()).unwrap();
    assert_eq!(session.events.len(), 5);
    let lines: Vec<u64> = notes.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 2, 3, 3], "{notes:?}");
    assert!(notes[0].1.contains("`Stdout`") && notes[0].1.contains("`stdout`"));
}
