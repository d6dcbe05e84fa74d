//! Rebuilds when what is embedded changes: migrations, playbooks, templates, static files.

fn main() {
    for folder in ["migrations", "playbooks", "templates", "static"] {
        println!("cargo:rerun-if-changed={folder}");
    }
}
