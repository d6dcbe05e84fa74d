use super::super::lint::lint_all;
use super::super::testing::run_tests;
use super::super::{Playbook, load, shipped_texts};

fn all() -> Vec<Playbook> {
    let texts = shipped_texts();
    let loaded = texts.iter().map(|(name, text)| {
        load(name, text).unwrap_or_else(|faults| panic!("{name}: {faults:#?}"))
    });
    loaded.collect()
}

#[test]
fn every_shipped_playbook_loads_and_is_clean() {
    let faults: Vec<String> = lint_all(&all())
        .into_iter()
        .map(|(name, fault)| format!("{name}:{}: {}", fault.line, fault.message))
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn every_shipped_playbook_passes_its_own_tests() {
    let all = all();
    let failed: Vec<String> = all
        .iter()
        .flat_map(|playbook| run_tests(playbook, &all))
        .filter(|result| !result.passed)
        .map(|result| format!("{} ({}): {}", result.playbook, result.name, result.message))
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
}
