use proptest::prelude::{ProptestConfig, any, prop, proptest};

use super::{TextLine, bytes_of, lines, plain};

fn texts(bytes: &[u8]) -> Vec<String> {
    lines(bytes).into_iter().map(|line| line.text).collect()
}

/// Each line with the bytes its span covers.
fn spanned(bytes: &[u8]) -> Vec<(String, String)> {
    let show = |line: &TextLine| {
        let shown = bytes_of(bytes, line.from, line.to);
        (
            line.text.clone(),
            String::from_utf8_lossy(shown).into_owned(),
        )
    };
    lines(bytes).iter().map(show).collect()
}

#[test]
fn plain_lines_keep_their_spans() {
    let pairs = spanned(b"one\n\ttwo\r\nlast");
    let want = [("one", "one\n"), ("\ttwo", "\ttwo\r\n"), ("last", "last")];
    assert_eq!(pairs.len(), 3);
    for (pair, want) in pairs.iter().zip(want) {
        assert_eq!((pair.0.as_str(), pair.1.as_str()), want);
    }
    let lines = lines(b"one\ntwo\r\n");
    assert!(!lines[0].crlf && lines[1].crlf);
}

#[test]
fn escapes_go_and_edits_are_applied() {
    let cases: &[(&str, &[&str])] = &[
        ("\x1b[31mred\x1b[0m done\r\n", &["red done"]),
        ("\x1b]0;title\x07prompt$ ls\n", &["prompt$ ls"]),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", &["link"]),
        ("abc\x08\x08X\n", &["aXc"]),
        (
            "\x1b[2K\x1b[1Gspin |\x1b[2K\x1b[1Gspin ok\r\n",
            &["spin ok"],
        ),
        ("12345\r\x1b[Kab\n", &["ab"]),
        ("12345\x1b[3D\x1b[Kx\n", &["12x"]),
        ("a\x1b[5Cb\n", &["a     b"]),
        ("\x1b[01;31m\x1b[Kerror\x1b[m\x1b[K: x\n", &["error: x"]),
        ("before\n\x1b[H\x1b[2J\x1b[3Jafter\n", &["before", "after"]),
        ("one\ntwo\n\x1b[2A\x1b[2Kuno\n\x1b[2Kdos\n", &["uno", "dos"]),
        ("", &[]),
        ("\n\n", &["", ""]),
    ];
    for (bytes, want) in cases {
        assert_eq!(texts(bytes.as_bytes()), *want, "{bytes:?}");
    }
}

#[test]
fn an_unfinished_title_does_not_swallow_the_rest() {
    assert_eq!(
        texts(b"\x1b]0;never ends\nnext\n"),
        ["0;never ends", "next"]
    );
}

#[test]
fn a_bar_is_one_line_with_its_first_and_last_states() {
    let mut bytes = b"start\n".to_vec();
    for step in 0..=100 {
        bytes.extend(format!("\rload: {step:3}%|## | {step}/100").bytes());
    }
    bytes.extend(b"\nend\n");
    let lines = lines(&bytes);
    assert_eq!(lines.len(), 3);
    let bar = &lines[1];
    assert_eq!(bar.text, "load: 100%|## | 100/100");
    assert_eq!(bar.rewrites, 100);
    assert_eq!(bar.states.len(), 8);
    assert_eq!(bar.states[0].text, "load:   0%|## | 0/100");
    assert_eq!(bar.states[7].text, bar.text);
    let state = &bar.states[6];
    let shown = bytes_of(&bytes, state.from, state.to);
    assert_eq!(shown, b"load:  99%|## | 99/100\r");
}

#[test]
fn states_are_shown_without_their_escapes() {
    let lines = lines(b"\r\x1b[32m10%\x1b[0m |a\r\x1b[K\x1b[32m20%\x1b[0m |b\n");
    let states: Vec<&str> = lines[0]
        .states
        .iter()
        .map(|state| state.text.as_str())
        .collect();
    assert_eq!(
        (states, lines[0].text.as_str()),
        (vec!["10% |a", "20% |b"], "20% |b")
    );
}

#[test]
fn lines_of_a_tailed_bar_begin_with_a_return() {
    let bytes = b"\rload:  12% | 2/16\n\rload:  19% | 3/16\n";
    let lines = lines(bytes);
    assert_eq!(lines.len(), 2);
    assert_eq!(
        (lines[1].text.as_str(), lines[1].rewrites),
        ("load:  19% | 3/16", 0)
    );
}

#[test]
fn a_message_over_a_bar_is_told_apart_from_it() {
    let lines = lines(b"load:  44%|####      | 7/16 [00:03<00:04]\rError: lost\n");
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].last_written().0, "Error: lost");
    assert!(lines[0].text.starts_with("Error: lost"));
}

#[test]
fn nested_bars_go_back_up() {
    let mut bytes = Vec::new();
    for step in 0..50 {
        bytes.extend(format!("\router {step}\nimage {}\x1b[A", step * 2).bytes());
    }
    bytes.extend(b"\r\n\r\nend\r\n");
    let lines = lines(&bytes);
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(texts, ["outer 49", "image 98", "end"]);
    assert!(lines[0].rewrites > 40);
}

#[test]
fn a_full_screen_program_leaves_its_last_screen() {
    let bytes = b"$ less log\r\n\x1b[?1049h\x1b[Hfirst page\x1b[2;1Hsecond\x1b[H\x1b[Jlast page\
        \x1b[2;1Herror: x\x1b[?1049l$ \r\n";
    assert_eq!(texts(bytes), ["$ less log", "last page", "error: x", "$ "]);
}

#[test]
fn a_screen_without_the_alternate_one_is_drawn_too() {
    let bytes = b"\x1b[H\x1b[2Jtop 1\r\nload 0.1\r\n\x1b[Htop 2\x1b[K\r\n\r\n\x1b[Htop 3\x1b[K\r\n";
    assert_eq!(texts(bytes), ["top 3", "load 0.1"]);
}

#[test]
fn a_screen_cleared_before_it_was_left_is_shown_as_it_was() {
    let bytes = b"\x1b[?1049h\x1b[Hwatched\x1b[3;1Hvalue 7\x1b[H\x1b[2J\x1b[?1049l";
    assert_eq!(texts(bytes), ["watched", "", "value 7"]);
}

#[test]
fn long_lines_are_cut_but_keep_their_span() {
    let mut bytes = vec![b'x'; 300_000];
    bytes.extend(b"\n\x1b[1m");
    bytes.extend(vec![b'y'; 300_000]);
    let lines = lines(&bytes);
    assert_eq!(lines.len(), 2);
    assert!(
        lines
            .iter()
            .all(|line| line.cut && line.text.len() <= super::MAX_LINE_BYTES)
    );
    assert_eq!((lines[0].to, lines[1].to), (300_001, bytes.len() as u64));
}

#[test]
fn plain_text_ends_as_the_stream_did() {
    assert_eq!(plain(b"\x1b[1ma\x1b[0m\nb"), "a\nb");
    assert_eq!(plain(b"a\n"), "a\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn spans_are_monotone_and_leave_no_hole(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "a", "bc ", "\n", "\r", "\r\n", "\x1b[A", "\x1b[2A", "\x1b[B", "\x1b[K", "\x1b[2K",
            "\x1b[1K", "\x1b[J", "\x1b[2J", "\x1b[H", "\x1b[3;4H", "\x1b[1G", "\x08", "\t", "\x1b[31m",
            "\x1b]0;t\x07", "\x1b]", "\x1bP", "é", "█", "\x1b[?1049h", "\x1b[?1049l", "\x1b[9C", "\x1b[3P",
            "\x0c", "\x1bM", "\x1bE", "\x1bc", "\x1b[5@",
        ]), 0..60),
    ) {
        check(pieces.concat().as_bytes());
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&bytes);
    }
}

fn check(bytes: &[u8]) {
    let lines = lines(bytes);
    let mut reach = None;
    for line in &lines {
        assert!(line.from <= line.to && line.to <= bytes.len() as u64);
        if let Some((from, to)) = reach {
            assert!(line.from >= from && line.to >= to, "{lines:?}");
        }
        reach = Some((line.from, line.to));
        for state in &line.states {
            assert!(state.from <= state.to && state.to <= bytes.len() as u64);
        }
    }
    let _text = plain(bytes);
}

#[test]
fn a_letter_cut_at_the_end_is_shown_as_wrong() {
    for bytes in [
        &b"a\xc7"[..],
        b"\x1b[1ma\xc7",
        b"a\x00\xc7",
        b"a\xe2\x82\x1b[0m",
    ] {
        assert_eq!(texts(bytes), ["a\u{fffd}"], "{bytes:?}");
    }
    assert_eq!(texts(b"\0\xc7"), ["\u{fffd}"]);
}

#[test]
fn no_state_of_a_line_holds_an_escape() {
    for bytes in [
        &b"\xb9\r\xf3\x1b\x1b\x1b\""[..],
        b"10 %\r20 %\xe2\x1b\x1b(",
        b"a\x1b[G\x1b[31mb\x1b[G\x1b[32mc\x1b[G\x1b[33md\x1b[G\x1b[34me",
    ] {
        for line in lines(bytes) {
            let shown = line
                .states
                .iter()
                .map(|state| &state.text)
                .chain([&line.text]);
            assert!(
                shown.into_iter().all(|text| !text.contains('\x1b')),
                "{line:?}"
            );
        }
    }
}

#[test]
fn a_line_gone_back_to_through_broken_escapes_keeps_its_span() {
    check(b"\xff]\x01\r\r\x1b\x0bM\xab\x01\0\x1bM\x1b\x0b\tM\x96\x0b\n]");
    check(b"\x1b\x01\x1b\x82[\x1b\x0c\x0b\x0b\t[f\x8d(\0\0\x008\x0e\x8e\x03[\x19\x1b[f?\t\r[\0\x0b[\x1b");
}
