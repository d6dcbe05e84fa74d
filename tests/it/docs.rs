//! Pages that are written from the code say what the code says.

use std::path::Path;

/// A page is what its source says; with `CASEBOOK_WRITE_DOCS=1` it is written anew.
fn is_written_from(page: &str, source: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    if std::env::var_os("CASEBOOK_WRITE_DOCS").is_some() {
        std::fs::write(&path, wanted).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "{page} is not what {source} says; write it anew with \
         CASEBOOK_WRITE_DOCS=1 cargo nextest run --test it docs"
    );
}

#[test]
fn facts_are_told_as_the_types_have_them() {
    let wanted = casebook::fact::manual::manual();
    is_written_from("docs/facts.md", "src/fact/catalogue.rs", &wanted);
}

#[test]
fn kinds_are_told_as_the_table_has_them() {
    let wanted = casebook::playbook::known::manual();
    is_written_from("docs/kinds.md", "src/playbook/known.rs", &wanted);
}
