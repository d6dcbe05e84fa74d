//! What a wrapped command, or those around it, could notice: each check does one thing with `$REC` in
//! front of a command and says what there was to see. With nothing in front, with `rec`, and with
//! other recorders, what is seen is compared.
//!
//! `rec` must show what bare shows in every check. Other recorders are measured when asked
//! (`CASEBOOK_PEERS=1 cargo test --test it conformance::peers`); what came of it is kept in
//! `conformance/peers.tsv`, from which `docs/fidelity.md` is written.

mod checks;
mod peers;
mod stage;

pub(crate) use checks::CHECKS;
pub(crate) use peers::measured;

use stage::{Runner, Seen, Stage};

/// Runs checks bare and recorded; all that differs is told at once.
fn as_bare(on_terminal: bool) {
    let mut differ = Vec::new();
    for check in CHECKS
        .iter()
        .filter(|check| check.on_terminal == on_terminal)
    {
        let see = |runner: &Runner| -> Seen { (check.look)(&mut Stage::new(runner)) };
        match see(&Runner::bare()) {
            Err(stage::Fault::CannotBeTried(why)) => eprintln!("not tried: {}: {why}", check.what),
            Err(fault) => differ.push(format!("F{} {}: bare: {fault}", check.row, check.what)),
            Ok(bare) => match see(&Runner::rec()) {
                Ok(seen) if seen == bare => {}
                seen => {
                    let seen = seen.unwrap_or_else(|fault| fault.to_string());
                    let (row, what) = (check.row, check.what);
                    differ.push(format!(
                        "F{row} {what}:\n    bare {bare:?}\n    rec  {seen:?}"
                    ));
                }
            },
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn without_a_terminal_all_is_as_bare() {
    as_bare(false);
}

#[test]
fn on_a_terminal_all_is_as_bare() {
    as_bare(true);
}

#[test]
fn checks_are_told_apart_by_what_they_say() {
    let names: std::collections::BTreeSet<&str> = CHECKS.iter().map(|check| check.what).collect();
    assert_eq!(names.len(), CHECKS.len());
}
