//! Ties of a table to itself, on real servers.

use schema::TableName;
use server::{ConnectOptions, Error, Session};
use targets::identity::Identity;
use targets::{Lock, LockOptions, Names, StagingCopy, Transaction};
use testkit::{TestServer, TestServerOptions};

fn identity_for(session: Session, database: &str, table: &str) -> Identity {
    let name = TableName::new(database, table);
    let mut target = Lock::take(session, &name, &LockOptions::default()).unwrap();
    target.identity().unwrap()
}

fn features(reasons: &[server::Unsupported]) -> Vec<&'static str> {
    reasons.iter().map(|reason| reason.name()).collect()
}

#[test]
fn what_a_name_cannot_carry_over_ties_a_table_to_itself() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    session.exec(&format!("USE {database}")).unwrap();
    let elsewhere = server.dir().join("tmp");
    let data =
        format!("CREATE TABLE placed (a INT PRIMARY KEY) DATA DIRECTORY='{}'", elsewhere.display());
    for sql in [
        "CREATE TABLE parent (a INT PRIMARY KEY)",
        "CREATE TABLE child (a INT, FOREIGN KEY f (a) REFERENCES parent (a) ON DELETE CASCADE)",
        "CREATE TABLE watched (a INT)",
        "CREATE TRIGGER g BEFORE INSERT ON watched FOR EACH ROW SET NEW.a = 1",
        "CREATE TABLE watched_memory (a INT) ENGINE=MEMORY",
        "CREATE TRIGGER h BEFORE INSERT ON watched_memory FOR EACH ROW SET NEW.a = 1",
        "CREATE TABLE history (a INT) WITH SYSTEM VERSIONING",
        "INSERT INTO history VALUES (1)",
        "DELETE FROM history",
        "CREATE TABLE fresh (a INT) WITH SYSTEM VERSIONING",
        "CREATE VIEW seen AS SELECT * FROM watched",
        "CREATE SEQUENCE counter",
        "CREATE TABLE part (a INT) ENGINE=MyISAM",
        "CREATE TABLE merged (a INT) ENGINE=MERGE UNION=(part) INSERT_METHOD=LAST",
        &data,
    ] {
        session.exec(sql).unwrap();
    }
    // Tied by, refused for, without transactions.
    let cases: [(&str, &[&str], &[&str], bool); 11] = [
        ("parent", &["foreign key"], &[], false),
        ("child", &["foreign key"], &[], false),
        ("watched", &["trigger"], &[], false),
        ("watched_memory", &["trigger"], &[], true),
        ("history", &["system versioning"], &[], false),
        ("fresh", &[], &[], false),
        ("seen", &[], &["view"], false),
        ("counter", &[], &["sequence"], false),
        ("part", &[], &[], true),
        ("merged", &[], &["storage engine"], true),
        ("placed", &["DATA DIRECTORY"], &[], false),
    ];
    for (table, ties, refused, is_unsafe) in cases {
        let found = identity_for(server.connect().unwrap(), &database, table);
        assert_eq!(features(&found.ties), ties, "{table} {found:?}");
        assert_eq!(features(&found.refused), refused, "{table} {found:?}");
        assert_eq!(found.is_unsafe, is_unsafe, "{table}");
    }
    let name = TableName::new(database.as_str(), "parent");
    let mut parent = Lock::take(session, &name, &LockOptions::default()).unwrap();
    let cascades = parent.cascades().unwrap();
    assert_eq!(cascades.len(), 1);
    assert!(cascades[0].contains(".child by f (ON DELETE CASCADE)"), "{cascades:?}");
}

/// Engines that are doors to others, where the server has them.
#[test]
fn tables_of_other_servers_and_black_holes_are_refused() {
    let Some(server) = TestServer::start_with(&TestServerOptions::default()) else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    session.exec(&format!("USE {database}")).unwrap();
    session.exec("CREATE TABLE near (a INT) ENGINE=InnoDB").unwrap();
    let socket = server.socket().display();
    session
        .exec(&format!(
            "CREATE SERVER beyond FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'localhost', \
             USER 'root', DATABASE '{database}', SOCKET '{socket}')"
        ))
        .unwrap();
    for (library, table, ties, refused) in [
        (
            "ha_federatedx",
            "CREATE TABLE far (a INT) ENGINE=FEDERATED CONNECTION='beyond/near'",
            0,
            1,
        ),
        ("ha_blackhole", "CREATE TABLE hole (a INT) ENGINE=BLACKHOLE", 0, 1),
        ("ha_archive", "CREATE TABLE kept (a INT) ENGINE=ARCHIVE", 0, 0),
        (
            "ha_archive",
            "CREATE TABLE counted (a INT AUTO_INCREMENT PRIMARY KEY) ENGINE=ARCHIVE",
            0,
            1,
        ),
    ] {
        let name = table.split(' ').nth(2).unwrap();
        // A library that is there already is an error.
        let _ = session.exec(&format!("INSTALL SONAME '{library}'"));
        let made = session.exec(table);
        if let Err(error) = made {
            println!("skipped: {table}: {error}");
            continue;
        }
        let found = identity_for(server.connect().unwrap(), &database, name);
        assert_eq!((found.ties.len(), found.refused.len()), (ties, refused), "{table} {found:?}");
    }
}

#[test]
fn an_account_may_do_with_what_is_named_to_it() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut root = server.connect().unwrap();
    root.exec(&format!("CREATE TABLE {database}.t (a INT PRIMARY KEY, b INT, KEY b (b))")).unwrap();
    let user = format!("u_{database}");
    for sql in [
        format!("CREATE USER {user} IDENTIFIED BY 'pw'"),
        format!("GRANT SELECT, INSERT ON {database}.t TO {user}"),
    ] {
        root.exec(&sql).unwrap();
    }
    let options =
        ConnectOptions { user: Some(user), password: Some("pw".into()), ..server.options() };
    let mut tries = 0;
    let identity = loop {
        let found = identity_for(Session::connect(&options).unwrap(), &database, "t");
        let texts: Vec<String> = found.ties.iter().map(ToString::to_string).collect();
        let grants: Vec<&str> =
            texts.iter().filter_map(|text| Some(&text[text.find("GRANT")?..])).collect();
        if grants.is_empty() {
            break found;
        }
        tries += 1;
        assert!(tries < 4, "{texts:?}");
        for grant in grants {
            root.exec(grant.trim_end_matches(')')).unwrap();
        }
    };
    assert!(identity.ties.is_empty() && identity.refused.is_empty(), "{identity:?}");
    let name = TableName::new(database.as_str(), "t");
    let mut target =
        Lock::take(Session::connect(&options).unwrap(), &name, &LockOptions::default()).unwrap();
    target.cleanup_tables().unwrap();
    let copy =
        StagingCopy::create(&mut target, targets::secondary::Defer::NotUnique, false).unwrap();
    let name = target.names.staging.quoted();
    target.session.exec(&format!("INSERT INTO {name} VALUES (1, 2)")).unwrap();
    copy.finish(&mut target).unwrap();
    crate::publish(copy.filled(&mut target), schema::Mode::Insert);
}

#[test]
fn a_read_only_server_is_refused() {
    let Some(server) = TestServer::start_with(&TestServerOptions::default()) else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    session.exec(&format!("CREATE TABLE {database}.t (a INT)")).unwrap();
    session.exec("SET GLOBAL read_only=1").unwrap();
    let found = identity_for(server.connect().unwrap(), &database, "t");
    assert_eq!(features(&found.refused), ["read-only server"]);
    let name = TableName::new(database.as_str(), "t");
    let mut target = Lock::take(session, &name, &LockOptions::default()).unwrap();
    let begun = Transaction::begin(&mut target, schema::Mode::Append);
    assert!(matches!(begun, Err(Error::ReadOnly { .. })));
}

/// Another load drops the old table of a child, whose new one has the key by then.
#[test]
fn a_key_of_a_table_that_another_load_has_dropped_is_in_no_ones_way() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    session.exec(&format!("CREATE TABLE {database}.p (a INT PRIMARY KEY)")).unwrap();
    let old = Names::of(&TableName::new(database.as_str(), "c")).replaced.table;
    let key = format!("FOREIGN KEY f (a) REFERENCES {database}.p (a)");
    session.exec(&format!("CREATE DATABASE {old}")).unwrap();
    session.exec(&format!("CREATE TABLE {old}.c (a INT, {key})")).unwrap();
    let name = TableName::new(database.as_str(), "p");
    let mut target = Lock::take(server.connect().unwrap(), &name, &LockOptions::default()).unwrap();
    target.cleanup_tables().unwrap();
    session.exec(&format!("DROP DATABASE {old}")).unwrap();
    let copy =
        StagingCopy::create(&mut target, targets::secondary::Defer::NotUnique, false).unwrap();
    let name = target.names.staging.quoted();
    target.session.exec(&format!("INSERT INTO {name} VALUES (1)")).unwrap();
    copy.finish(&mut target).unwrap();
    crate::publish(copy.filled(&mut target), schema::Mode::Insert);
}
