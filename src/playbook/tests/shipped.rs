use super::super::lint::lint_all;
use super::super::testing::run_tests;
use super::super::{Engine, Playbook, load, shipped_texts};

/// A playbook that uses most of the language, and its own tests.
const FIXTURE: &str = include_str!("../../../tests/fixtures/playbooks/killed-its-own-shell.yaml");

#[test]
fn a_playbook_is_loaded_linted_and_tested_the_whole_way() {
    let playbook = load("fixture", FIXTURE).unwrap_or_else(|faults| panic!("{faults:#?}"));
    let all = [playbook];
    assert_eq!(lint_all(&all), []);
    for result in run_tests(&all[0], &Engine::new(&all)) {
        assert!(result.passed, "{result:?}");
    }
}

/// The manual's own example is loaded, linted and tested.
#[test]
fn the_manual_is_true() {
    const MANUAL: &str = include_str!("../../../docs/playbooks.md");
    let (_, rest) = MANUAL.split_once("Checked:\n\n```yaml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let playbook = load("manual", text).unwrap_or_else(|faults| panic!("{faults:#?}"));
    let all = [playbook];
    assert_eq!(lint_all(&all), []);
    for result in run_tests(&all[0], &Engine::new(&all)) {
        assert!(result.passed, "{result:?}");
    }
}

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
    let engine = Engine::new(&all);
    let failed: Vec<String> = all
        .iter()
        .flat_map(|playbook| run_tests(playbook, &engine))
        .filter(|result| !result.passed)
        .map(|result| format!("{} ({}): {}", result.playbook, result.name, result.message))
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
}
