//! Every case file under `tests/fixtures/sessions`, the whole way from its steps to its diagnosis.
//!
//! A case names its `kind`: that one, or one of `also`, must stand first. A healthy case (`negative`)
//! must not be accused. Those that are not right yet stand in `known-misses.txt`; one that became
//! right must leave that list.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use casebook::diagnosis::{Diagnosis, Finding, Severity, Status, kinds};
use casebook::import::case;
use casebook::playbook::{Claim, shipped};
use casebook::projection::{self, fold, judge};
use casebook::store::{Store, StoreError, block_on};
use casebook::time::Micros;
use serde::Deserialize;

/// What a case says of itself.
#[derive(Deserialize)]
struct Truth {
    kind: Option<String>,
    #[serde(default)]
    also: Vec<String>,
    #[serde(default)]
    negative: bool,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sessions")
}

/// The case files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            found.push(path);
        }
    }
    found.sort();
    found
}

async fn diagnose(store: &Store, text: &str) -> Result<Diagnosis, StoreError> {
    let case = case::read(text).unwrap();
    let session = case.session;
    store.append(session, case.events, None).await?;
    fold::catch_up(store).await?;
    let view = projection::session(store, session).await?;
    judge::diagnose(store, &view, shipped(), Micros::now()).await
}

/// What is wrong with a diagnosis, if anything.
fn fault(truth: &Truth, diagnosis: &Diagnosis) -> Option<String> {
    let kind = truth.kind.as_ref()?;
    let right = |finding: &Finding| finding.kind == *kind || truth.also.contains(&finding.kind);
    let findings = &diagnosis.findings;
    if truth.negative {
        let accuser = findings.iter().find(|finding| accuses(finding))?;
        return Some(format!("healthy, accused by {}", accuser.playbook));
    }
    let first = findings.first();
    if first.is_some_and(right) {
        return None;
    }
    let got = first.map_or("nothing", |finding| &finding.kind);
    Some(format!("{kind} wanted first, {got} found"))
}

fn accuses(finding: &Finding) -> bool {
    matches!(finding.status, Status::Open | Status::Confirmed)
        && finding.claim >= Claim::Suspected
        && finding.severity >= Severity::Medium
        && !kinds::harmless(&finding.kind)
}

/// Evidence stands behind every finding, and what it quotes is there.
fn well_founded(diagnosis: &Diagnosis) {
    for finding in &diagnosis.findings {
        assert!(!finding.evidence.is_empty(), "no evidence: {finding:#?}");
        assert!(!finding.playbook.is_empty() && finding.version > 0);
        let sum: f64 = finding.hypotheses.iter().map(|one| one.probability).sum();
        assert!(
            finding.hypotheses.is_empty() || (sum - 1.0).abs() < 1e-6,
            "beliefs sum to {sum}: {}",
            finding.title
        );
    }
}

#[test]
fn every_case_is_told_apart() {
    let folder = folder();
    let misses = fs::read_to_string(folder.join("known-misses.txt")).unwrap();
    let misses: BTreeSet<&str> = misses
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
        .collect();
    let all = files(&folder);
    assert!(all.len() > 15);
    let queue = Mutex::new(all.iter());
    let faults: Mutex<Vec<(String, Option<String>)>> = Mutex::new(Vec::new());
    let work = || {
        let home = tempfile::tempdir().unwrap();
        block_on(async {
            let store = Store::open(home.path()).await.unwrap();
            loop {
                let Some(path) = queue.lock().unwrap().next() else {
                    break;
                };
                let text = fs::read_to_string(path).unwrap();
                let truth: Truth = serde_saphyr::from_str(&text).unwrap();
                let diagnosis = diagnose(&store, &text).await.unwrap();
                well_founded(&diagnosis);
                let name = path.strip_prefix(&folder).unwrap().display().to_string();
                faults
                    .lock()
                    .unwrap()
                    .push((name, fault(&truth, &diagnosis)));
            }
            store.close().await;
        })
        .unwrap();
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, |many| many.get().min(4)) {
            scope.spawn(work);
        }
    });
    let mut faults = faults.into_inner().unwrap();
    faults.sort();
    let mut said = Vec::new();
    for (name, fault) in &faults {
        match (fault, misses.contains(name.as_str())) {
            (Some(fault), false) => said.push(format!("{name}: {fault}")),
            (None, true) => said.push(format!("{name}: right now, take it off known-misses.txt")),
            _ => {}
        }
    }
    for name in misses {
        if !faults.iter().any(|(known, _)| known == name) {
            said.push(format!("{name}: in known-misses.txt, and no such case"));
        }
    }
    assert_eq!(faults.len(), all.len());
    assert!(said.is_empty(), "\n{}\n", said.join("\n"));
}

/// The steps of a case up to one of them, as a case of its own.
fn first_steps(text: &str, many: usize) -> String {
    let mut steps = 0;
    let mut kept = String::new();
    for line in text.lines() {
        steps += usize::from(line.starts_with("- at:"));
        if steps > many {
            break;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

#[test]
fn an_hour_in_which_nothing_is_wrong_accuses_nobody_on_the_way() {
    let folder = folder();
    let mut said = Vec::new();
    for name in [
        "made-healthy-hour-laptop",
        "made-healthy-hour-gpu",
        "made-healthy-hour-cluster",
    ] {
        let text = fs::read_to_string(folder.join(format!("{name}.yaml"))).unwrap();
        let steps = text
            .lines()
            .filter(|line| line.starts_with("- at:"))
            .count();
        assert!(steps > 15, "{name}: {steps} steps");
        let home = tempfile::tempdir().unwrap();
        block_on(async {
            let store = Store::open(home.path()).await.unwrap();
            for many in 1..=steps {
                let diagnosis = diagnose(&store, &first_steps(&text, many)).await.unwrap();
                let accusers = diagnosis.findings.iter().filter(|finding| accuses(finding));
                said.extend(
                    accusers.map(|finding| {
                        format!("{name} after {many} commands: {}", finding.playbook)
                    }),
                );
            }
            store.close().await;
        })
        .unwrap();
    }
    assert!(said.is_empty(), "\n{}\n", said.join("\n"));
}
