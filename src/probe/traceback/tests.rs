use super::read;
use crate::fact::{Fact, Traceback};
use crate::probe::line::Context;
use crate::probe::marks;
use crate::text::{self, TextLine};

fn traces(output: &str) -> Vec<Traceback> {
    let lines = text::lines(output.as_bytes());
    let lines: Vec<&TextLine> = lines.iter().collect();
    read(&marks::of(&lines), &Context::default())
        .into_iter()
        .map(|seen| match seen.fact {
            Fact::Traceback(traceback) => traceback,
            other => panic!("{other:?}"),
        })
        .collect()
}

/// Each fixture of `tests/fixtures/logs/traceback/`: the output, a line `=====`, and one line a trace:
/// `exception | message | cause | frame`.
#[test]
fn fixtures_are_read_as_they_say() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/logs/traceback");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let fixture = std::fs::read_to_string(&path).unwrap();
        let (output, want) = fixture.split_once("=====\n").unwrap();
        let got: Vec<String> = traces(output)
            .iter()
            .map(|trace| {
                let optional = |text: &Option<String>| text.clone().unwrap_or_default();
                format!(
                    "{} | {} | {} | {}",
                    trace.exception,
                    trace.message.replace('\n', "\\n"),
                    optional(&trace.cause),
                    optional(&trace.frame)
                )
            })
            .collect();
        let got: Vec<&str> = got.iter().map(|line| line.trim_end()).collect();
        let want: Vec<&str> = want.lines().map(str::trim_end).collect();
        assert_eq!(got, want, "{}", path.display());
        count += 1;
    }
    assert!(count >= 12);
}

#[test]
fn the_span_covers_the_trace() {
    let output = "before\nTraceback (most recent call last):\n  File \"x.py\", line 1, in f\n    g()\nValueError: no\nafter\n";
    let lines = text::lines(output.as_bytes());
    let lines: Vec<&TextLine> = lines.iter().collect();
    let seen = read(&marks::of(&lines), &Context::default());
    let shown = text::bytes_of(output.as_bytes(), seen[0].from, seen[0].to);
    let shown = std::str::from_utf8(shown).unwrap();
    assert!(
        shown.starts_with("Traceback") && shown.ends_with("ValueError: no\n"),
        "{shown}"
    );
}

#[test]
fn one_that_repeats_is_given_once() {
    let one = "Traceback (most recent call last):\n  File \"x.py\", line 1, in f\nOSError: [Errno 24] Too many open files\n";
    let traces = traces(&one.repeat(500));
    assert_eq!((traces.len(), traces[0].ordinal), (1, 1499));
}

#[test]
fn ordinary_lines_are_no_traceback() {
    for output in [
        "INFO: all well\nready\n",
        "FutureWarning: x\n",
        "  look at this\n",
        "Error count: 3\n",
        "panic: button pressed\n",
    ] {
        assert_eq!(traces(output), [], "{output}");
    }
}
