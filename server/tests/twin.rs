//! The twins of the logical path: made, filled by statements, brought back to shape, swapped in.

use server::catalog::Table;
use server::import::Target;
use server::publish::Mode;
use server::secondary::Defer;
use server::testing::TestServer;
use server::{Error, Session, TableName, TargetOptions};

fn target(server: &TestServer, database: &str, table: &str) -> Target {
    let name = TableName::new(database, table);
    Target::lock(server.connect().unwrap(), &name, &TargetOptions::default()).unwrap()
}

fn create(session: &mut Session, database: &str) -> String {
    let text = session.query_row(&format!("SHOW CREATE TABLE {database}.t")).unwrap();
    let text = text.text(1).unwrap();
    let (head, tail) = text.split_once(" AUTO_INCREMENT=").unwrap_or((&text, ""));
    format!("{head}{}", tail.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn leftovers(session: &mut Session, database: &str) -> Vec<String> {
    let sql = format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA='{database}' \
         AND TABLE_NAME LIKE '\\_inrush%'"
    );
    session.query(&sql).unwrap().iter().map(|row| row.text(0).unwrap()).collect()
}

/// Tables of every kind that a twin can stand in for, the indexes left for later, and a row.
const SHAPES: [(&str, &[&str], &str); 13] = [
    (
        "(a INT PRIMARY KEY, b INT, c INT, KEY b (b), KEY cb (c, b) COMMENT 'it''s, so')",
        &["b", "cb"],
        "1, 2, 3",
    ),
    ("(a INT PRIMARY KEY, b INT, UNIQUE KEY u (b), KEY k (b DESC))", &["k"], "1, 2"),
    (
        "(a INT, n INT AUTO_INCREMENT, b INT, KEY a (a), KEY n (n), KEY b (b)) AUTO_INCREMENT=70",
        &["b"],
        "1, NULL, 2",
    ),
    (
        "(a INT PRIMARY KEY, t TEXT, u TEXT, b INT, FULLTEXT f (t), FULLTEXT g (u), KEY b (b))",
        &["b", "f", "g"],
        "1, 'x', 'y', 2",
    ),
    ("(a INT PRIMARY KEY, p POINT NOT NULL, SPATIAL KEY s (p))", &["s"], "1, POINT(1, 2)"),
    (
        "(a INT, b INT AS (a + 1) VIRTUAL, c INT AS (a * 2) STORED, KEY b (b), KEY c (c), CHECK (a > 0))",
        &["b", "c"],
        "1, DEFAULT, DEFAULT",
    ),
    (
        "(a INT, b INT, KEY b (b)) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (9), PARTITION q VALUES LESS THAN MAXVALUE)",
        &["b"],
        "1, 2",
    ),
    ("(a INT PRIMARY KEY, b INT, KEY b (b)) WITH SYSTEM VERSIONING", &["b"], "1, 2"),
    (
        "(a INT PRIMARY KEY, b INT, KEY b (b)) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8",
        &["b"],
        "1, 2",
    ),
    ("(a INT PRIMARY KEY, b TEXT, UNIQUE KEY h (b), KEY k (a, b(5)))", &["k"], "1, 'x'"),
    (
        "(a INT AUTO_INCREMENT PRIMARY KEY, b INT, KEY b (b)) ENGINE=MyISAM ROW_FORMAT=FIXED AUTO_INCREMENT=70",
        &["b"],
        "1, 2",
    ),
    ("(a INT PRIMARY KEY, b INT, KEY b (b)) ENGINE=Aria TRANSACTIONAL=0", &["b"], "1, 2"),
    ("(a INT PRIMARY KEY, b INT, KEY b (b) USING BTREE) ENGINE=MEMORY", &["b"], "1, 2"),
];

#[test]
fn a_filled_twin_becomes_the_very_table_the_target_was() {
    let Some(server) = TestServer::shared() else { return };
    for (shape, deferred, row) in SHAPES {
        let database = server.database().unwrap();
        let mut session = server.connect().unwrap();
        session.exec(&format!("CREATE TABLE {database}.t {shape}")).unwrap();
        let before = create(&mut session, &database);
        let mut target = target(server, &database, "t");
        let identity = target.identity().unwrap();
        assert!(identity.ties.is_empty() && identity.refused.is_empty(), "{shape} {identity:?}");
        target.create_twin(Defer::NotUnique, identity.is_unsafe).unwrap();
        assert_eq!(target.deferred(), deferred, "{shape}");
        let twin = target.names.shadow.clone();
        let engine = Table::read(&mut session, &twin).unwrap().engine;
        assert_eq!(engine, "InnoDB", "{shape}");
        session.exec(&format!("INSERT INTO {} VALUES ({row})", twin.quoted())).unwrap();
        let early = target.publish(Mode::Insert);
        assert!(matches!(early, Err(Error::Altered { .. })), "{shape}: {early:?}");
        target.finish_twin().unwrap();
        target.finish_twin().unwrap();
        target.publish(Mode::Insert).unwrap();
        target.drop_old(Mode::Insert).unwrap();
        assert_eq!(create(&mut session, &database), before);
        let rows = session.query(&format!("SELECT * FROM {database}.t")).unwrap();
        assert_eq!(rows.len(), 1, "{shape}");
        if shape.contains("AUTO_INCREMENT=70") {
            let next = Table::read(&mut session, &target.table.name).unwrap().auto_increment;
            assert!(next.is_some_and(|next| next >= 70), "{shape}: {next:?}");
        }
        assert!(leftovers(&mut session, &database).is_empty(), "{shape}");
    }
}
