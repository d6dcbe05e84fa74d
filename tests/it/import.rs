//! Case files into sessions.

use std::path::Path;

use casebook::event::Exit;
use casebook::import::case;
use casebook::projection;
use casebook::store::{Store, StoreError, block_on};
use casebook::time::Micros;

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/sessions")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_case_becomes_a_session_with_its_commands() {
    let home = tempfile::tempdir().unwrap();
    block_on(async {
        let store = Store::open(home.path()).await?;
        let case = case::read(&fixture("self-match.yaml")).unwrap();
        let id = case.session;
        store.append(id, case.events, None).await?;
        assert_eq!(store.find_session("last").await?, id);

        let view = projection::session(&store, id).await?;
        assert_eq!(view.title.as_deref(), Some("The launch that never was"));
        assert!(view.relative_time);
        assert_eq!(view.commands.len(), 3);
        let first = &view.commands[0];
        assert_eq!((first.number, first.host.as_str()), (1, "laptop"));
        assert_eq!(first.at, Micros(0));
        assert_eq!(first.exit, Exit::Code(255));
        assert!(first.line.starts_with("ssh gpu-7 'pkill -9 -f"));
        let last = &view.commands[2];
        assert_eq!(last.took_s, Some(0.25));
        assert_eq!(last.stdout_bytes, 19);
        assert_eq!(last.host, case::UNNAMED_HOST);
        assert_eq!(view.as_of(Micros::now()), Micros(9_250_000));

        let row = store.session_row(id).await?.unwrap();
        assert_eq!((row.commands, row.relative_time), (3, true));
        store.close().await;
        Ok::<_, StoreError>(())
    })
    .unwrap()
    .unwrap();
}

#[test]
fn the_log_alone_gives_the_same_session() {
    let home = tempfile::tempdir().unwrap();
    block_on(async {
        let store = Store::open(home.path()).await?;
        let case = case::read(&fixture("self-match.yaml")).unwrap();
        let id = case.session;
        store.append(id, case.events, None).await?;
        let from_log = projection::session_from_log(&store, id).await?;
        let mut whole = projection::session(&store, id).await?;
        for command in &mut whole.commands {
            command.facts.clear();
        }
        assert_eq!(from_log, whole);
        store.close().await;
        Ok::<_, StoreError>(())
    })
    .unwrap()
    .unwrap();
}
