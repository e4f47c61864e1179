//! Settings of a server that was restarted since.

use server::Session;
use testkit::TestServer;
use tune::{Class, Tuned, Wish};

/// Holds the settings of a class, as `inrush tune --apply` does.
fn apply(server: &TestServer, state_dir: &std::path::Path, class: Class) {
    let path = schema::LoadPath::Stream;
    let wish = Wish { class, path, bytes: None, state_dir, what: "inrush tune --apply" };
    Tuned::begin(&server.options(), &wish).unwrap().hold(class).unwrap();
}

fn redo_log(session: &mut Session) -> String {
    let sql = "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_enabled'";
    session.query_row(sql).unwrap().text_lossy(1)
}

/// MySQL notes in the log's header that the log is off. A crash then would leave a server that does not start.
#[test]
fn a_redo_log_that_stays_off_over_a_restart_is_switched_on() {
    let Some(server) = TestServer::mysql(Vec::new()) else { return };
    let state = tempfile::tempdir().unwrap();
    let state = state.path().join("inrush");
    for is_released in [true, false] {
        apply(&server, &state, Class::Unsafe);
        server.restart().unwrap();
        let mut session = server.connect().unwrap();
        assert_eq!(redo_log(&mut session), "OFF");
        let told = match is_released {
            true => tune::release(&mut session, &state).unwrap().0,
            // As the next command of any kind does.
            false => tune::recover(&server.options(), &state).unwrap(),
        };
        assert_eq!(redo_log(&mut session), "ON", "{told:?}");
        assert!(told[0].contains("was restarted") && told[0].ends_with("is on again"), "{told:?}");
        assert_eq!(tune::noted(&mut session, &state).unwrap(), None);
    }
}

#[test]
fn settings_that_a_restart_has_ended_are_not_told() {
    let Some(server) = TestServer::start() else { return };
    let state = tempfile::tempdir().unwrap();
    let state = state.path().join("inrush");
    server.script("SET GLOBAL innodb_max_dirty_pages_pct=20").unwrap();
    apply(&server, &state, Class::Safe);
    let mut session = server.connect().unwrap();
    assert!(!tune::noted(&mut session, &state).unwrap().unwrap().changes.is_empty());
    server.restart().unwrap();
    let mut session = server.connect().unwrap();
    assert_eq!(tune::noted(&mut session, &state).unwrap().unwrap().changes, []);
}

#[test]
fn the_right_to_switch_off_the_redo_log_is_named() {
    let Some(server) = TestServer::mysql(Vec::new()) else { return };
    let state = tempfile::tempdir().unwrap();
    let state = state.path().join("inrush");
    let grant = "GRANT PROCESS, SYSTEM_VARIABLES_ADMIN ON *.* TO plain@localhost";
    server.script(&format!("CREATE USER plain@localhost; {grant}")).unwrap();
    let plain = server::ConnectOptions { user: Some("plain".to_owned()), ..server.options() };
    let (class, path, what) = (Class::Unsafe, schema::LoadPath::Stream, "load into d.t");
    let wish = Wish { class, path, bytes: None, state_dir: &state, what };
    let tuned = Tuned::begin(&plain, &wish).unwrap();
    let named = "needs INNODB_REDO_LOG_ENABLE: ALTER INSTANCE DISABLE INNODB REDO_LOG";
    assert!(tuned.notes.iter().any(|note| note.contains(named)), "{:?}", tuned.notes);
}
