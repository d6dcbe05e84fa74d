//! `docs/fidelity.md`: what a wrapped command must not notice, and the test that shows that it does
//! not. The page is written from this table, which is checked against the tests there are.

use std::fmt::Write;
use std::path::Path;

use crate::conformance::{CHECKS, measured};

/// A row: its number, the problem, the tests (`file::name`), and a remark where one is needed.
type Row = (u32, &'static str, &'static [&'static str], &'static str);

const T: &str = "tests/it/";

const ROWS: &[Row] = &[
    (
        1,
        "Each of descriptors 0, 1 and 2 stays what it was, a terminal or not, in all eight combinations",
        &["fidelity_tty::terminals_stay_terminals_and_pipes_pipes"],
        "",
    ),
    (
        2,
        "Bytes pass unchanged; standard output and error stay apart, and in order where they are one file",
        &[
            "fidelity::every_byte_passes_and_is_kept_and_streams_stay_apart",
            "conformance::without_a_terminal_all_is_as_bare",
        ],
        "",
    ),
    (
        3,
        "Input from a pipe or file is the command's: what it does not read is left for the next one",
        &[
            "conformance::without_a_terminal_all_is_as_bare",
            "conformance::on_a_terminal_all_is_as_bare",
        ],
        "",
    ),
    (
        4,
        "The end of input reaches the command, on a terminal too; closed input stays closed",
        &[
            "fidelity::end_of_file_comes_as_bare",
            "fidelity::descriptors_are_inherited_or_closed_as_they_were",
            "fidelity_tty::keys_and_end_of_file_reach_the_command",
        ],
        "",
    ),
    (
        5,
        "The exit code is the command's; 126 and 127 as in a shell",
        &[
            "fidelity::exit_codes_pass_through",
            "fidelity::what_cannot_be_started_ends_as_in_a_shell",
            "fidelity_tty::exit_codes_and_signals_pass_through",
        ],
        "",
    ),
    (
        6,
        "A command that a signal killed is seen to have been killed by it; Ctrl-C ends the loop around it",
        &[
            "fidelity::a_death_by_signal_is_one",
            "fidelity_tty::ctrl_c_ends_the_command_and_the_loop_around_it",
        ],
        "",
    ),
    (
        7,
        "Signals sent to `rec` reach the command; `timeout` leaves nothing behind",
        &[
            "fidelity::signals_reach_the_command",
            "fidelity::timeout_ends_it_and_leaves_nothing_behind",
        ],
        "",
    ),
    (
        8,
        "Ctrl-Z, `fg`, `bg` and jobs in the background are the shell's business, as bare",
        &[
            "fidelity_tty::stopping_and_going_on_is_the_shells_business",
            "fidelity_tty::in_the_background_it_touches_nothing_until_it_may",
            "fidelity_tty::a_job_that_waits_for_the_terminal_dies_of_a_kill",
        ],
        "",
    ),
    (
        9,
        "The window has its size, and a change of it is passed on",
        &["fidelity_tty::the_window_size_is_passed_on_and_recorded"],
        "",
    ),
    (
        10,
        "The terminal gets its modes back, whatever is killed",
        &[
            "fidelity_tty::the_terminal_is_given_back_as_it_was",
            "fidelity_tty::a_killed_recorder_leaves_the_modes_as_they_were",
            "fidelity_tty::where_the_shim_was_killed_too_the_next_rec_puts_the_modes_back",
        ],
        "So what a command sets on its terminal (`rec stty -echo`) does not outlive it, which bare it would.",
    ),
    (
        11,
        "What the command leaves in the background does not hold it up, and readers see the end when they would have",
        &[
            "fidelity::end_of_file_comes_as_bare",
            "fidelity_tty::what_is_left_behind_lives_on_and_is_heard",
        ],
        "",
    ),
    (
        12,
        "`nohup … &` over ssh keeps ssh open exactly as bare",
        &["fidelity_programs::a_launch_that_keeps_ssh_open_does_so_as_bare"],
        "",
    ),
    (
        13,
        "Output without end takes bounded memory, and the middle of it becomes a gap",
        &[
            "src/capture/keep/tests.rs::the_middle_of_much_output_is_a_gap",
            "bad_input::a_very_long_line_is_bounded",
        ],
        "Rates and peak memory are in benchmarks.md.",
    ),
    (
        14,
        "A slow reader slows the command, a slow disk does not",
        &["fidelity_programs::a_reader_that_does_not_read_stops_the_command"],
        "A disk that stops needs a frozen file system, which a test may not make here: the writer's patience is shown by the code alone.",
    ),
    (
        15,
        "A full, read-only or missing home costs one line, or none with `--quiet`",
        &[
            "fidelity::without_a_place_for_records_the_command_runs_all_the_same",
            "fidelity::a_file_size_limit_hurts_the_record_alone",
            "mishaps::a_full_disk_is_told_in_words_and_stops_no_command",
            "bad_input::a_home_that_can_only_be_read_is_read",
        ],
        "A disk that is full under the command's own output reaches it as a broken pipe, and not as an error of its own write.",
    ),
    (
        16,
        "Programs that draw on the whole screen work, and leave their last screen as text",
        &[
            "fidelity_programs::programs_that_draw_on_a_terminal_work",
            "src/text/tests.rs::a_full_screen_program_leaves_its_last_screen",
        ],
        "",
    ),
    (
        17,
        "A password typed without an echo is nowhere",
        &["fidelity_programs::what_is_typed_unseen_is_nowhere"],
        "Input is never recorded.",
    ),
    (
        18,
        "A recorder within a recorder: linked, and what both saw is kept once",
        &[
            "fidelity::nested_recorders_know_each_other",
            "fidelity::what_nested_recorders_saw_is_kept_once",
        ],
        "Kept once where both records are taken in together, as they are when the outer command ended before anybody looked.",
    ),
    (
        19,
        "Without terminal, home or environment it is silent",
        &["fidelity_programs::without_an_environment_it_is_silent"],
        "",
    ),
    (
        20,
        "sudo within: output, error and exit as bare",
        &["conformance::without_a_terminal_all_is_as_bare"],
        "Whose home a `sudo rec` writes to is root's unless REC_HOME says otherwise; a second account is not made for a test.",
    ),
    (
        21,
        "ssh's 255 is told apart by what ssh printed",
        &["cases::every_case_is_told_apart"],
        "`rec` reads what is there and asks ssh for nothing more.",
    ),
    (
        22,
        "A connection that stays open for later does not hold the command",
        &["fidelity_programs::a_connection_that_stays_does_not_hold_the_command"],
        "",
    ),
    (
        23,
        "No program gets a word that was not typed",
        &["fidelity_programs::a_program_gets_the_words_it_was_given_and_no_more"],
        "",
    ),
    (
        24,
        "A query of the terminal and its answer pass; nothing of ours is sent",
        &["conformance::on_a_terminal_all_is_as_bare"],
        "",
    ),
    (
        25,
        "A key's echo comes as fast as through other recorders",
        &[],
        "A time, and so a benchmark: benchmarks.md, not a test.",
    ),
    (
        26,
        "Inside tmux, and tmux inside",
        &["fidelity_programs::programs_that_draw_on_a_terminal_work"],
        "",
    ),
    (
        27,
        "Environment, limits, signal masks, descriptors and folder are inherited",
        &[
            "fidelity::process_state_is_inherited",
            "fidelity::only_rec_variables_are_added_and_the_order_stays",
            "fidelity::descriptors_are_inherited_or_closed_as_they_were",
        ],
        "Allowed to differ: session and process group, the terminal's name, `REC_*`, pipes in place of files where a stream is recorded.",
    ),
    (
        28,
        "Words are passed as given, never through a shell",
        &[
            "fidelity::argv_is_exact",
            "fidelity::what_cannot_be_started_ends_as_in_a_shell",
        ],
        "",
    ),
    (
        29,
        "Letters cut between two writes stay whole; bytes that are no text are kept",
        &[
            "fidelity_programs::letters_cut_between_writes_stay_whole",
            "bad_input::bytes_that_are_no_text_are_kept_as_they_came",
        ],
        "",
    ),
    (
        30,
        "A progress bar is one line of text; its bytes are kept",
        &["src/text/tests.rs::a_bar_is_one_line_with_its_first_and_last_states"],
        "",
    ),
    (
        31,
        "A terminal that is closed hangs the command up, and its last words are kept",
        &["fidelity_tty::a_hung_up_terminal_hangs_the_command_up"],
        "",
    ),
    (
        32,
        "Many recorders at once get numbers of their own, and all is taken in",
        &[
            "fidelity::many_at_once_get_numbers_of_their_own",
            "store::many_open_first_and_append_at_once_and_all_is_there",
        ],
        "",
    ),
    (
        33,
        "`kill -9` at any moment: what was shown is on record, and the store opens",
        &[
            "kills::killed_at_any_moment_what_was_shown_is_on_record_and_the_store_opens",
            "fidelity::a_killed_recorder_leaves_what_was_shown",
            "fidelity_tty::a_killed_recorder_gives_the_terminal_back_and_hangs_the_command_up",
        ],
        "Thirty rounds in the gate, a thousand with `./check --long`.",
    ),
    (
        34,
        "A clock that steps makes no negative time",
        &["fidelity::a_clock_that_steps_back_makes_no_negative_time"],
        "Durations and the moments of output come from a clock that does not step (`Instant`); wall time is a label.",
    ),
    (
        35,
        "A remote clock is never mixed with ours",
        &[],
        "There are no remote marks yet (`rec shell` is not built); remote times are compared through a measured offset only.",
    ),
    (
        36,
        "Something interactive without a terminal behaves as bare",
        &[
            "fidelity_programs::a_program_gets_the_words_it_was_given_and_no_more",
            "fidelity_tty::a_pipeline_on_a_terminal_keeps_its_line_ends",
        ],
        "",
    ),
    (
        37,
        "`rec` itself prints nothing on standard output, and on standard error only hints and failures",
        &[
            "fidelity::exit_codes_pass_through",
            "fidelity_tty::bytes_on_a_terminal_are_those_of_bare",
            "fidelity_tty::a_line_that_will_hurt_itself_is_told_on_a_terminal_unless_nobody_wants_it",
        ],
        "",
    ),
    (
        38,
        "Inherited descriptors keep their mode",
        &["conformance::without_a_terminal_all_is_as_bare"],
        "",
    ),
    (
        39,
        "A child left in the background on a terminal lives on, and its output still comes",
        &["fidelity_tty::what_is_left_behind_lives_on_and_is_heard"],
        "",
    ),
];

/// Where a test lies, and its name.
fn place(test: &str) -> (String, &str) {
    let (file, name) = test.rsplit_once("::").unwrap();
    if file.starts_with("src/") {
        (file.to_owned(), name)
    } else {
        (format!("{T}{file}.rs"), name)
    }
}

/// The checks that are done with nothing in front of a command, with `rec`, and with others.
fn beside_others() -> String {
    let measured = measured();
    let mut text = String::from(
        "\n## Beside other recorders\n\n\
         Each check does one thing with nothing in front of a command and with a recorder, and compares what there is\n\
         to see: `yes` where that is the same, byte for byte, `hangs` where it does not come within six seconds, `-` where it\n\
         could not be tried. For `rec` it is a test (`conformance`); the others were measured by the same code, with\n\
         the words their manuals give for recording one command:\n\
         `CASEBOOK_PEERS=1 cargo test --test it conformance::peers` measures whichever is installed.\n\n\
         | | what holds when nothing is noticed | rec",
    );
    for peer in &measured.peers {
        write!(text, " | {peer}").unwrap();
    }
    text.push_str(" |\n|---|---|---");
    text.push_str(&"|---".repeat(measured.peers.len()));
    text.push_str("|\n");
    let mut passed = vec![0; measured.peers.len()];
    for (check, (what, verdicts)) in CHECKS.iter().zip(&measured.checks) {
        assert_eq!(check.what, what);
        writeln!(
            text,
            "| F{} | {what} | yes | {} |",
            check.row,
            verdicts.join(" | ")
        )
        .unwrap();
        for (count, verdict) in passed.iter_mut().zip(verdicts) {
            *count += u32::from(verdict == "yes");
        }
    }
    write!(text, "| | of {} | {}", CHECKS.len(), CHECKS.len()).unwrap();
    for count in passed {
        write!(text, " | {count}").unwrap();
    }
    text.push_str(" |\n");
    text
}

#[test]
fn every_row_names_a_test_that_exists_or_says_why_there_is_none() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut page = String::from(
        "# Fidelity\n\nThe wrapped command must not be able to tell. Each row is a way in which it could, and the test\n\
         that runs it bare and recorded, or looks at what is left. A row of `conformance` has its checks below. Run them with\n\
         `cargo nextest run --test it fidelity conformance mishaps kills`.\n\n\
         Written from `tests/it/fidelity_table.rs`, which checks that each test named here exists.\n\n\
         | | what the command could notice | shown by |\n|---|---|---|\n",
    );
    for (at, (number, problem, tests, remark)) in (1..).zip(ROWS) {
        assert_eq!(*number, at);
        assert!(
            !tests.is_empty() || !remark.is_empty(),
            "row {number} says nothing"
        );
        let mut shown: Vec<String> = Vec::new();
        for test in *tests {
            let (file, name) = place(test);
            let source = std::fs::read_to_string(root.join(&file)).unwrap();
            let is_test = source
                .split("#[test]\n")
                .skip(1)
                .any(|rest| rest.trim_start().starts_with(&format!("fn {name}(")));
            assert!(is_test, "row {number}: {file} has no test {name}");
            shown.push(format!("[`{name}`](../{file})"));
        }
        if !remark.is_empty() {
            shown.push((*remark).to_owned());
        }
        writeln!(page, "| F{number} | {problem} | {} |", shown.join("<br>")).unwrap();
    }
    assert_eq!(ROWS.len(), 39);
    page.push_str(&beside_others());
    let path = root.join("docs/fidelity.md");
    if std::env::var_os("CASEBOOK_WRITE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
        return;
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == page,
        "docs/fidelity.md is not what tests/it/fidelity_table.rs says; write it anew with \
         CASEBOOK_WRITE_DOCS=1 cargo nextest run --test it every_row"
    );
}
