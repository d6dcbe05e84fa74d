//! Pages that are written from the code say what the code says.

use std::path::Path;

/// `docs/facts.md` is what the fact types say; with `CASEBOOK_WRITE_DOCS=1` it is written anew.
#[test]
fn facts_are_told_as_the_types_have_them() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/facts.md");
    let wanted = casebook::fact::manual::manual();
    if std::env::var_os("CASEBOOK_WRITE_DOCS").is_some() {
        std::fs::write(&path, wanted).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/facts.md is not what src/fact/catalogue.rs says; write it anew with \
         CASEBOOK_WRITE_DOCS=1 cargo nextest run --test it docs"
    );
}

/// `docs/kinds.md` is what the table of kinds says; written anew the same way.
#[test]
fn kinds_are_told_as_the_table_has_them() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/kinds.md");
    let wanted = casebook::playbook::known::manual();
    if std::env::var_os("CASEBOOK_WRITE_DOCS").is_some() {
        std::fs::write(&path, wanted).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/kinds.md is not what src/playbook/known.rs says; write it anew with \
         CASEBOOK_WRITE_DOCS=1 cargo nextest run --test it docs"
    );
}
