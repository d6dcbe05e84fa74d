//! Lines that are about to hurt themselves, and near misses: a table, and what holds for all of it.

use std::fmt::Write;

use super::super::parse;
use super::super::tests::lines::rows;
use super::{MAX_WARNED_BYTES, warnings};

const TABLE: &str = include_str!("../../../tests/fixtures/shell/warnings.txt");

#[test]
fn what_hurts_itself_is_told_and_near_misses_are_not() {
    let mut wrong = String::new();
    for row in rows(TABLE) {
        let mut actual = String::new();
        for warning in warnings(&parse(&row.line)) {
            writeln!(actual, "  {}", warning.kind).unwrap();
            if let Some(instead) = &warning.instead {
                writeln!(actual, "    {}", instead.replace('\n', "␤")).unwrap();
            }
        }
        if actual != row.expected {
            write!(wrong, "$ {}\n{actual}", row.line.replace('\n', "\n> ")).unwrap();
        }
    }
    assert!(wrong.is_empty(), "these came out otherwise:\n{wrong}");
}

#[test]
fn what_is_to_be_typed_instead_is_safe() {
    for row in rows(TABLE) {
        for warning in warnings(&parse(&row.line)) {
            let instead = warning.instead.as_deref().unwrap_or("true");
            let tree = parse(instead);
            assert!(
                tree.complaints.is_empty(),
                "{instead}: {:?}",
                tree.complaints
            );
            assert_eq!(warnings(&tree), [], "{instead}");
            assert!(!warning.text.contains('\n') && !warning.text.ends_with('.'));
        }
    }
}

#[test]
fn a_long_line_is_left_alone() {
    let line = format!("ssh h 'pkill -f x; {}'", "y ".repeat(MAX_WARNED_BYTES / 2));
    assert_eq!(warnings(&parse(&line)), []);
}
