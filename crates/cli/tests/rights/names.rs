//! Names that SQL, a shell or a file system could trip over.

use crate::support::{Desk, run};

/// Tables and databases are loaded by these names.
const NAMES: [&str; 23] = [
    "two words",
    "do.t",
    "back`quote",
    "quo'te",
    "double\"quote",
    "back\\slash",
    "sla/sh",
    "dash-es",
    "#sql-1",
    "per%cent_",
    "do$llar",
    "123",
    "1e5",
    "@002d",
    "..",
    "con",
    "UPPER and lower",
    "semi;colon, (paren) -- dash /* x */",
    "\u{fc}ml\u{e4}ut",
    "\u{65e5}\u{672c}\u{8a9e}",
    "tab\there",
    "line\n``break",
    "_inrush_new_0123456789abcdef_t",
];

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Loads two rows into a table of this name, twice, and looks at what is there.
fn load(desk: &mut Desk, database: &str, table: &str) {
    let full = format!("{}.{}", quoted(database), quoted(table));
    desk.exec(&format!("CREATE TABLE {full} (a INT PRIMARY KEY, b VARCHAR(9), KEY (b))"));
    let file = desk.home.file("rows.txt", "1\tx\n2\ty\n");
    for mode in ["insert", "replace"] {
        let outcome = run(desk.home.load(desk.server, &full, &file).args(["--mode", mode]));
        assert_eq!(outcome.code(), 0, "{full}: {outcome:?}");
        assert_eq!(desk.rows(&format!("SELECT b FROM {full} ORDER BY a")), ["x", "y"], "{full}");
    }
    let left = desk.rows(&format!("SHOW TABLES FROM {}", quoted(database)));
    assert_eq!(left, [table], "{full}");
    desk.exec(&format!("DROP TABLE {full}"));
}

#[test]
fn tables_of_any_name_are_loaded() {
    let Some(mut desk) = Desk::new() else { return };
    let database = desk.database.clone();
    let long = ["x".repeat(64), "\u{e9}".repeat(64)];
    for table in NAMES.into_iter().chain(long.iter().map(String::as_str)) {
        load(&mut desk, &database, table);
    }
}

#[test]
fn databases_of_any_name_are_loaded() {
    let Some(mut desk) = Desk::new() else { return };
    let long = ["d".repeat(64), "\u{e9}".repeat(40)];
    for database in NAMES.into_iter().chain(long.iter().map(String::as_str)) {
        // Other tests of this process make theirs too.
        let create = format!("CREATE DATABASE {} CHARSET utf8mb4", quoted(database));
        desk.exec(&create);
        load(&mut desk, database, "t");
        desk.exec(&format!("DROP DATABASE {}", quoted(database)));
    }
}

/// Without case in names: the table is found, and locked, under whatever spelling.
#[test]
fn a_server_without_case_in_names_finds_its_tables() {
    use testkit::{TestServer, TestServerOptions};
    let datadir = vec!["--lower-case-table-names=1".to_owned()];
    let options = TestServerOptions { datadir, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    let home = crate::support::Home::new();
    let mut session = server.connect().unwrap();
    session.exec("CREATE DATABASE Shop").unwrap();
    session.exec("CREATE TABLE Shop.Orders (a INT PRIMARY KEY)").unwrap();
    let file = home.file("rows.txt", "1\n2\n");
    for into in ["Shop.Orders", "shop.orders", "SHOP.oRDERS"] {
        run(home.load(&server, into, &file).args(["--mode", "replace"])).done();
    }
    let count = session.query_text("SELECT COUNT(*) FROM shop.orders").unwrap();
    assert_eq!(count.as_deref(), Some("2"));
    assert_eq!(crate::support::tables(&mut session, "shop"), ["orders"]);
}

/// Names of tables, columns, keys and parents with a line break: definitions are read by lines.
#[test]
fn a_line_break_in_any_name_of_a_table_is_no_change_of_it() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE `p\nq` (`i\nd` INT PRIMARY KEY)");
    desk.exec("INSERT INTO `p\nq` VALUES (1), (2)");
    desk.exec(
        "CREATE TABLE `c\nd` (`a\n KEY x` INT PRIMARY KEY, b INT, `e\nf` INT, KEY `k\n) ENGINE=X` (`e\nf`), \
         KEY l (b), CONSTRAINT `f\nk` FOREIGN KEY (b) REFERENCES `p\nq` (`i\nd`)) \
         COMMENT 'it''s\na comment'",
    );
    let full = format!("{}.`c\nd`", desk.database);
    let file = desk.home.file("rows.txt", "1\t1\t1\n2\t2\t2\n");
    for mode in ["insert", "replace"] {
        run(desk.home.load(desk.server, &full, &file).args(["--mode", mode])).done();
    }
    let more = desk.home.file("more.txt", "3\t2\t3\n");
    // Rows that are added to a table with foreign keys are sent to MySQL.
    let path = if desk.server.is_mysql() { "stream" } else { "direct" };
    let mut load = desk.home.load(desk.server, &full, &more);
    run(load.args(["--mode", "append", "--path", path])).done();
    assert_eq!(desk.rows("SELECT COUNT(*) FROM `c\nd` FORCE INDEX (l)"), ["3"]);
    let orphan = desk.home.file("orphan.txt", "4\t9\t3\n");
    let refused = run(desk.home.load(desk.server, &full, &orphan).args(["--mode", "replace"]));
    assert_eq!(refused.code(), 1, "{refused:?}");
    let parent = format!("{}.`p\nq`", desk.database);
    let rows = desk.home.file("parent.txt", "1\n2\n3\n");
    run(desk.home.load(desk.server, &parent, &rows).args(["--mode", "replace"])).done();
    let keys = desk.rows("SHOW CREATE TABLE `c\nd`");
    assert!(keys[0].contains("REFERENCES `p\nq` (`i\nd`)"), "{keys:?}");
}
