//! Servers whose tables leave traces of themselves that are in the way of others.

use load::{LoadOptions, LoadPath, Mode};
use testkit::TestServer;

/// Statistics of a table that is dropped while they are not kept stay under its name.
#[test]
fn a_table_is_replaced_where_statistics_of_another_have_its_name() {
    let Some(server) = TestServer::start() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    let input = server.dir().join("input");
    std::fs::write(&input, "1\n2\n3\n").unwrap();
    for path in [LoadPath::Direct, LoadPath::Stream] {
        session.exec(&format!("CREATE OR REPLACE TABLE {database}.t (a INT PRIMARY KEY)")).unwrap();
        for is_kept in ["ON", "OFF", "ON", "ON"] {
            session.exec(&format!("SET GLOBAL innodb_stats_persistent={is_kept}")).unwrap();
            // So that there are statistics to be kept of the table itself.
            session.query(&format!("ANALYZE TABLE {database}.t")).unwrap();
            let mut options = LoadOptions::new(vec![input.clone()], &database, "t");
            options.state_dir = server.dir().join("state");
            (options.path, options.mode) = (path, Mode::Replace);
            let report = load::load(&server.options(), &options, None, &());
            assert_eq!(report.unwrap().rows, 3, "{path:?} {is_kept}");
        }
        let tables = session.query(&format!("SHOW TABLES FROM {database}")).unwrap();
        assert_eq!(tables.len(), 1);
    }
}

/// The server's copy of an InnoDB table lacks an option of it that means nothing.
#[test]
fn a_table_with_an_option_that_the_server_forgets_is_loaded() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    let columns = "(a INT PRIMARY KEY, b INT, KEY b (b)) ENGINE=InnoDB";
    let table = format!("{database}.t");
    session.exec(&format!("CREATE TABLE {table} {columns} PAGE_CHECKSUM=1")).unwrap();
    let made = |session: &mut server::Session| {
        session.query_row(&format!("SHOW CREATE TABLE {table}")).unwrap().text(1).unwrap()
    };
    let before = made(&mut session);
    assert!(before.contains("PAGE_CHECKSUM=1"));
    let input = std::env::temp_dir().join(format!("inrush-forgotten-{}", std::process::id()));
    std::fs::write(&input, "1\t2\n3\t4\n").unwrap();
    for path in [LoadPath::Direct, LoadPath::Stream, LoadPath::Auto] {
        let mut options = LoadOptions::new(vec![input.clone()], &database, "t");
        options.state_dir = server.dir().join("state");
        (options.path, options.mode) = (path, Mode::Replace);
        let report = load::load(&server.options(), &options, None, &()).unwrap();
        assert_eq!(report.rows, 2, "{path:?}");
        assert_eq!(made(&mut session), before, "{path:?}");
    }
    std::fs::remove_file(input).unwrap();
}
