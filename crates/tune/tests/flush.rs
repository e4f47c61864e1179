//! Variables of a flush, beside other flushes and beside loads that have set the same variables.

use server::facts::FLUSH_VARIABLES;
use testkit::TestServer;
use tune::{Class, Tuned, Wish};

/// Values of the variables of a flush, in their order.
fn values(server: &TestServer) -> Vec<f64> {
    let mut session = server.connect().unwrap();
    let value = |(name, _): (&str, &str)| {
        let text = session.query_text(&format!("SELECT @@GLOBAL.{name}")).unwrap();
        text.unwrap().parse().unwrap()
    };
    FLUSH_VARIABLES.into_iter().map(value).collect()
}

fn flushed() -> Vec<f64> {
    FLUSH_VARIABLES.into_iter().map(|(_, value)| value.parse().unwrap()).collect()
}

#[test]
fn the_last_of_two_flushes_puts_the_variables_back() {
    let Some(server) = TestServer::start() else { return };
    let state = tempfile::tempdir().unwrap();
    let state = state.path().join("inrush");
    server.script("SET GLOBAL innodb_io_capacity=321").unwrap();
    let before = values(&server);
    let first = Tuned::flush(&server.options(), &state).unwrap();
    let second = Tuned::flush(&server.options(), &state).unwrap();
    assert_eq!(values(&server), flushed());
    drop(first);
    assert_eq!(values(&server), flushed());
    assert_eq!(second.end(), Vec::<String>::new());
    assert_eq!(values(&server), before);
    let mut session = server.connect().unwrap();
    assert_eq!(tune::noted(&mut session, &state).unwrap(), None);
}

#[test]
fn a_flush_slows_no_server_down() {
    let Some(server) = TestServer::start() else { return };
    let state = tempfile::tempdir().unwrap();
    let state = state.path().join("inrush");
    let sql = "SET GLOBAL innodb_io_capacity_max=60000; SET GLOBAL innodb_io_capacity=50000";
    server.script(sql).unwrap();
    let before = values(&server);
    let flush = Tuned::flush(&server.options(), &state).unwrap();
    assert_eq!(values(&server), [60_000.0, 50_000.0, 0.0, 0.0]);
    assert_eq!(flush.end(), Vec::<String>::new());
    assert_eq!(values(&server), before);
}

#[test]
fn a_flush_leaves_a_load_the_variables_that_it_has_set() {
    let Some(server) = TestServer::start() else { return };
    let state = tempfile::tempdir().unwrap();
    let state = state.path().join("inrush");
    let sql = "SET GLOBAL innodb_max_dirty_pages_pct=50; SET GLOBAL innodb_io_capacity=150";
    server.script(sql).unwrap();
    let before = values(&server);
    let wish = Wish {
        class: Class::Safe,
        path: schema::LoadPath::Stream,
        bytes: None,
        state_dir: &state,
        what: "load into d.t",
    };
    let load = Tuned::begin(&server.options(), &wish).unwrap();
    let of_load = values(&server);
    assert_ne!(of_load, before);
    let flush = Tuned::flush(&server.options(), &state).unwrap();
    assert_eq!(values(&server), flushed());
    assert_eq!(flush.end(), Vec::<String>::new());
    assert_eq!(values(&server), of_load);
    // The load ends during a flush: the flush is the last, and nobody counts on the load's values.
    let flush = Tuned::flush(&server.options(), &state).unwrap();
    assert_eq!(load.end(), Vec::<String>::new());
    assert_eq!(values(&server), flushed());
    assert_eq!(flush.end(), Vec::<String>::new());
    assert_eq!(values(&server), before);
}

#[test]
fn a_flush_without_the_right_to_set_variables_changes_nothing() {
    let Some(server) = TestServer::start() else { return };
    let state = tempfile::tempdir().unwrap();
    let state = state.path().join("inrush");
    server.script("CREATE USER plain@localhost").unwrap();
    let before = values(&server);
    let plain = server::ConnectOptions { user: Some("plain".to_owned()), ..server.options() };
    let refused = Tuned::flush(&plain, &state).unwrap_err();
    assert_eq!(refused.errno(), Some(1227), "{refused}");
    assert_eq!(values(&server), before);
    let mut session = server.connect().unwrap();
    assert_eq!(tune::noted(&mut session, &state).unwrap(), None);
}
