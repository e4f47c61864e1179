//! Every case of `made`: the tables that a dump makes through [`Tables`] are those that the server
//! makes of the same statements one after the other.
#![allow(clippy::unwrap_used)]

use server::identifier::quote_name;
use testkit::TestServer;

use super::*;

/// A replay's two sessions in a database of its own, set as mariadb-dump sets them.
fn sessions(server: &TestServer, database: &str) -> Sessions {
    let mut dump = server.connect().unwrap();
    dump.exec(&format!("USE `{database}`")).unwrap();
    dump.set(&[("foreign_key_checks", "0"), ("sql_mode", "NO_AUTO_VALUE_ON_ZERO")]).unwrap();
    Sessions { dump, own: server.connect().unwrap() }
}

fn options(atomic: bool) -> ReplayOptions {
    ReplayOptions {
        dump: "/dev/null".into(),
        into: None,
        tables: Vec::new(),
        exclude: Vec::new(),
        map_collation: Vec::new(),
        rows_as: crate::As::Rows,
        small_bytes_max: crate::options::SMALL_BYTES_MAX,
        atomic,
        force: false,
        partial: false,
        strict: false,
        show_changes: false,
        fresh: false,
        connections: None,
        threads: 1,
        memory_bytes_max: 1 << 28,
        temp_dir: std::env::temp_dir(),
        state_dir: std::env::temp_dir(),
        lock_wait_seconds: 5,
        stamps: None,
        tune: None,
        interrupt: server::Interrupt::default(),
    }
}

/// A table of a dump: its name, what CREATE TABLE says after it, its rows.
type TableCase<'a> = (&'a str, &'a str, &'a str);

/// Replays a dump of these tables as a conductor does.
fn replay(tables: &mut Tables, sessions: &mut Sessions, database: &str, dump: &[TableCase<'_>]) {
    for (name, body, rows) in dump {
        let table = TableName::new(database, *name);
        assert!(tables.hold_drop(sessions, &table, true).unwrap(), "{name}");
        let create = format!("CREATE TABLE {} {body}", quote_name(name));
        let created = tables.create(sessions, create.as_bytes(), &table, false).unwrap();
        assert_eq!(created, Created::StagingTable, "{create}");
        let staging = tables.staging(&table).unwrap().clone();
        insert(sessions, &staging.name, rows);
        tables.publish(sessions, &[table]).unwrap();
    }
}

fn insert(sessions: &mut Sessions, table: &TableName, rows: &str) {
    if !rows.is_empty() {
        sessions.dump.exec(&format!("INSERT INTO {} VALUES {rows}", table.quoted())).unwrap();
    }
}

/// Definitions and rows of all tables of a database.
fn contents(own: &mut Session, database: &str) -> Vec<String> {
    let mut all = Vec::new();
    for name in leftovers::names(own, database).unwrap() {
        let create = own.query_row(&format!("SHOW CREATE TABLE {}", name.quoted())).unwrap();
        let rows = own.query(&format!("SELECT * FROM {} ORDER BY 1", name.quoted())).unwrap();
        let rows: Vec<String> = rows
            .iter()
            .map(|row| (0..row.len()).map(|c| row.text_lossy(c)).collect::<Vec<_>>().join("|"))
            .collect();
        all.push(format!("{}\n{}", create.text_lossy(1), rows.join("\n")));
    }
    all.sort();
    all
}

/// The same statements one after the other, as a client runs them.
fn serial(server: &TestServer, before: &str, dump: &[TableCase<'_>]) -> Vec<String> {
    let database = server.database().unwrap();
    let mut sessions = sessions(server, &database);
    script(&mut sessions.dump, before);
    for (name, body, rows) in dump {
        sessions.dump.exec(&format!("DROP TABLE IF EXISTS {}", quote_name(name))).unwrap();
        sessions.dump.exec(&format!("CREATE TABLE {} {body}", quote_name(name))).unwrap();
        insert(&mut sessions, &TableName::new(&*database, *name), rows);
    }
    contents(&mut sessions.own, &database)
}

fn script(session: &mut Session, sql: &str) {
    for statement in sql.split(';').filter(|text| !text.trim().is_empty()) {
        session.exec(statement).unwrap();
    }
}

/// Replays a dump into a database where `before` was run, and compares with [`serial`].
fn made(before: &str, dump: &[TableCase<'_>]) {
    if let Some(server) = TestServer::shared() {
        made_on(server, before, dump);
    }
}

fn made_on(server: &TestServer, before: &str, dump: &[TableCase<'_>]) {
    let expected = serial(server, before, dump);
    for atomic in [false, true] {
        let database = server.database().unwrap();
        let mut sessions = sessions(server, &database);
        script(&mut sessions.dump, before);
        let mut tables = Tables::new(&options(atomic));
        replay(&mut tables, &mut sessions, &database, dump);
        tables.finish(&mut sessions).unwrap();
        assert_eq!(contents(&mut sessions.own, &database), expected, "atomic: {atomic}");
        assert!(tables.bare.is_empty() && tables.entries.is_empty());
    }
}

const PARENT: TableCase<'_> = ("p", "(`id` int PRIMARY KEY, `x` int) ENGINE=InnoDB", "(1,1),(2,2)");
const CHILD: TableCase<'_> = (
    "c",
    "(`id` int PRIMARY KEY, `a` int, KEY `k` (`a`), CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `p` \
     (`id`) ON DELETE CASCADE) ENGINE=InnoDB",
    "(10,1),(11,2)",
);

#[test]
fn tables_and_their_foreign_keys_are_made_in_an_empty_database() {
    made("", &[CHILD, PARENT]);
}

#[test]
fn cycles_references_to_itself_and_unnamed_keys_are_made() {
    made(
        "",
        &[
            (
                "a",
                "(`id` int PRIMARY KEY, `b` int, `me` int, KEY (`b`), FOREIGN KEY (`me`) \
                 REFERENCES `a` (`id`), CONSTRAINT `to``b` FOREIGN KEY (`b`) REFERENCES `b` (`id`) \
                 ON UPDATE SET NULL) ENGINE=InnoDB",
                "(1,1,2),(2,NULL,1)",
            ),
            (
                "b",
                "(`id` int PRIMARY KEY, `a` int, KEY `x` (`id`,`a`), FOREIGN KEY `name` (`a`) \
                 REFERENCES `a` (`id`), FOREIGN KEY (`a`,`id`) REFERENCES `nowhere` (`x`,`y`), \
                 KEY (`a`,`id`)) ENGINE=InnoDB",
                "(1,1),(9,9)",
            ),
        ],
    );
}

/// Tables with named foreign keys to each other, to themselves and to a missing table, with and without an index.
const CYCLE: [TableCase<'_>; 2] = [
    (
        "a",
        "(`id` int PRIMARY KEY, `b` int, `me` int, KEY (`b`), CONSTRAINT `a_ibfk_1` FOREIGN KEY (`me`) \
         REFERENCES `a` (`id`), CONSTRAINT `to``b` FOREIGN KEY (`b`) REFERENCES `b` (`id`) \
         ON UPDATE SET NULL) ENGINE=InnoDB",
        "(1,1,2),(2,NULL,1)",
    ),
    (
        "b",
        "(`id` int PRIMARY KEY, `a` int, CONSTRAINT `b_a` FOREIGN KEY (`a`) REFERENCES `a` (`id`) ON \
         DELETE RESTRICT, CONSTRAINT `b_n` FOREIGN KEY (`id`,`a`) REFERENCES `nowhere` (`x`,`y`)) \
         ENGINE=InnoDB",
        "(1,1),(9,9)",
    ),
];

#[test]
fn named_keys_of_new_tables_are_made_with_them() {
    made("", &CYCLE);
    made("", &[CYCLE[1], CYCLE[0]]);
    // The parent is replaced behind its new child.
    made("CREATE TABLE p (id int PRIMARY KEY) ENGINE=InnoDB", &[CHILD, PARENT]);
    made("CREATE TABLE b (id int PRIMARY KEY, x int) ENGINE=InnoDB", &CYCLE);
}

/// Statements that foreign keys of [`CYCLE`] have something to say to, and the errors of the server.
fn judged(session: &mut Session, database: &str) -> Vec<Option<u16>> {
    let statements = [
        "INSERT INTO a VALUES (3,1,1)",
        "INSERT INTO a VALUES (5,77,1)",
        "INSERT INTO a VALUES (6,1,77)",
        "DELETE FROM a WHERE id=2",
        "DELETE FROM a WHERE id=1",
        "UPDATE b SET id=7 WHERE id=1",
        "INSERT INTO b VALUES (11,77)",
        "DROP TABLE a",
        "DROP TABLE b",
    ];
    session.exec(&format!("USE `{database}`")).unwrap();
    statements.map(|sql| session.exec(sql).err().and_then(|error| error.errno())).to_vec()
}

fn judged_alike(server: &TestServer, dump: &[TableCase<'_>]) {
    let [one, other] = [(); 2].map(|()| {
        let database = server.database().unwrap();
        (sessions(server, &database), database)
    });
    let (mut by_client, client) = one;
    let (mut by_replay, replayed) = other;
    for (name, body, rows) in dump {
        by_client.dump.exec(&format!("CREATE TABLE {} {body}", quote_name(name))).unwrap();
        insert(&mut by_client, &TableName::new(&*client, *name), rows);
    }
    let mut tables = Tables::new(&options(false));
    replay(&mut tables, &mut by_replay, &replayed, dump);
    tables.finish(&mut by_replay).unwrap();
    let expected = judged(&mut by_client.own, &client);
    assert!(expected.iter().flatten().count() >= 5, "{expected:?}");
    assert_eq!(judged(&mut by_replay.own, &replayed), expected);
}

#[test]
fn keys_that_came_before_their_parents_are_kept() {
    let Some(server) = TestServer::shared() else { return };
    judged_alike(server, &CYCLE);
    judged_alike(server, &[CYCLE[1], CYCLE[0]]);
}

#[test]
fn a_key_that_does_not_fit_its_parent_keeps_no_table_from_its_place() {
    let Some(server) = TestServer::start() else { return };
    let database = server.database().unwrap();
    let mut sessions = sessions(&server, &database);
    let mut tables = Tables::new(&options(false));
    let parent = ("p", "(`id` bigint PRIMARY KEY) ENGINE=InnoDB", "(1),(2)");
    replay(&mut tables, &mut sessions, &database, &[CHILD, parent]);
    tables.finish(&mut sessions).unwrap();
    let [(table, error)] = &tables.take_refused()[..] else { panic!("the key was not refused") };
    let error = error.to_string();
    assert_eq!(table.table, "c");
    assert!(error.contains("`f`") || error.contains("'f'"), "{error}");
    let rows = |own: &mut Session, table| {
        let sql = format!("SELECT COUNT(*) FROM `{database}`.{table}");
        own.query_row(&sql).unwrap().number::<u64>(0).unwrap()
    };
    assert_eq!((rows(&mut sessions.own, "p"), rows(&mut sessions.own, "c")), (2, 2));
}

#[test]
fn keys_that_a_new_table_has_can_come_later() {
    let Some(server) = TestServer::start() else { return };
    let expected = serial(&server, "", &CYCLE);
    let database = server.database().unwrap();
    let mut sessions = sessions(&server, &database);
    let mut tables = Tables::new(&options(false));
    for (name, shape, _) in CYCLE {
        let name = TableName::new(database.as_str(), name);
        let text = format!("CREATE TABLE {} {shape}", name.quoted());
        tables.create(&mut sessions, text.as_bytes(), &name, false).unwrap();
        let staging = tables.staging(&name).unwrap().name.clone();
        let sql = format!("SHOW CREATE TABLE {}", staging.quoted());
        let made = sessions.own.query_row(&sql).unwrap().text(1).unwrap();
        assert_eq!(made.matches("FOREIGN KEY").count(), 2, "{made}");
        for _ in 0..2 {
            tables.keys_later(&mut sessions, &name).unwrap();
        }
        let bare = sessions.own.query_row(&sql).unwrap().text(1).unwrap();
        assert!(!bare.contains("FOREIGN KEY") && bare.contains("KEY `"), "{bare}");
        tables.staging(&name).unwrap().clone().remake(&mut sessions.own).unwrap();
    }
    for (name, _, rows) in CYCLE {
        let into = tables.staging(&TableName::new(database.as_str(), name)).unwrap().name.clone();
        insert(&mut sessions, &into, rows);
    }
    tables.finish(&mut sessions).unwrap();
    assert_eq!(contents(&mut sessions.own, &database), expected);
}

#[test]
fn old_tables_of_the_same_names_and_keys_are_replaced() {
    let before = "CREATE TABLE p (id int PRIMARY KEY) ENGINE=InnoDB; INSERT INTO p VALUES (7); \
        CREATE TABLE c (id int PRIMARY KEY, a int, CONSTRAINT f FOREIGN KEY (a) REFERENCES p (id)) \
        ENGINE=InnoDB; INSERT INTO c VALUES (5, 7); \
        CREATE TRIGGER t BEFORE INSERT ON c FOR EACH ROW SET NEW.a = 0";
    made(before, &[CHILD, PARENT]);
    made(before, &[PARENT, CHILD]);
    made(before, &[CHILD]);
}

#[test]
fn children_that_the_dump_does_not_make_refer_to_the_new_table() {
    let before = "CREATE TABLE p (id int PRIMARY KEY) ENGINE=InnoDB; INSERT INTO p VALUES (1); \
        CREATE TABLE other (id int PRIMARY KEY, a int, CONSTRAINT o FOREIGN KEY (a) REFERENCES p (id) \
        ON DELETE CASCADE) ENGINE=InnoDB; INSERT INTO other VALUES (5, 1)";
    made(before, &[PARENT]);
    made(before, &[PARENT, CHILD]);
    // And still do what they are for.
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut sessions = sessions(server, &database);
    script(&mut sessions.dump, before);
    let mut tables = Tables::new(&options(false));
    replay(&mut tables, &mut sessions, &database, &[PARENT]);
    tables.finish(&mut sessions).unwrap();
    let own = &mut sessions.own;
    own.exec(&format!("USE `{database}`")).unwrap();
    assert_eq!(own.exec("INSERT INTO other VALUES (6, 9)").unwrap_err().errno(), Some(1452));
    own.exec("DELETE FROM p WHERE id=1").unwrap();
    assert!(own.query("SELECT * FROM other").unwrap().is_empty());
}

#[test]
fn tables_of_all_kinds_are_the_same_under_the_other_name() {
    made(
        "",
        &[
            ("a`b", "(`x``y` int COMMENT 'it''s; CREATE TABLE t (') ENGINE=MyISAM", "(1)"),
            ("z", "(a datetime NOT NULL DEFAULT '0000-00-00 00:00:00') ENGINE=Aria", ""),
            ("\u{fc}\u{20ac} x", "(a int, g int AS (a+1) VIRTUAL, KEY (g)) ENGINE=InnoDB", ""),
            ("v", "(a int) ENGINE=InnoDB WITH SYSTEM VERSIONING", "(1)"),
            ("n", "(a int AUTO_INCREMENT KEY) ENGINE=InnoDB AUTO_INCREMENT=77", "(5)"),
            (
                "h",
                "(a int) ENGINE=InnoDB PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (9) \
                 ENGINE = InnoDB, PARTITION p1 VALUES LESS THAN MAXVALUE ENGINE = InnoDB)",
                "(1),(10)",
            ),
        ],
    );
}

#[test]
fn what_has_the_name_already_decides() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut sessions = sessions(server, &database);
    let mut tables = Tables::new(&options(false));
    script(
        &mut sessions.dump,
        "CREATE VIEW v AS SELECT 1 AS a; CREATE SEQUENCE s; CREATE TABLE t (a int) ENGINE=InnoDB",
    );
    let named = |name: &str| TableName::new(&*database, name);
    let mut create = |name: &str, if_not_exists| {
        let text = format!("CREATE TABLE {name} (a int) ENGINE=InnoDB");
        tables.create(&mut sessions, text.as_bytes(), &named(name), if_not_exists).unwrap()
    };
    assert!(matches!(create("v", false), Created::AsItIs(_)));
    assert!(matches!(create("s", false), Created::AsItIs(_)));
    assert!(matches!(create("t", false), Created::AsItIs(_)));
    assert_eq!(create("t", true), Created::Exists);
    assert_eq!(create("fresh", true), Created::StagingTable);
    for name in ["v", "s"] {
        assert!(!tables.hold_drop(&mut sessions, &named(name), true).unwrap(), "{name}");
    }
    // A DROP whose CREATE does not come is done in the end.
    assert!(tables.hold_drop(&mut sessions, &named("t"), true).unwrap());
    tables.finish(&mut sessions).unwrap();
    assert_eq!(kind(&mut sessions.own, &named("t"), false).unwrap(), Kind::Nothing);
    assert_eq!(kind(&mut sessions.own, &named("fresh"), false).unwrap(), Kind::Table);
}

#[test]
fn a_wrong_create_costs_no_table() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut sessions = sessions(server, &database);
    let mut tables = Tables::new(&options(false));
    let table = TableName::new(&*database, "t");
    script(&mut sessions.dump, "CREATE TABLE t (a int) ENGINE=InnoDB; INSERT INTO t VALUES (1)");
    assert!(tables.hold_drop(&mut sessions, &table, true).unwrap());
    let wrong = b"CREATE TABLE t (a nonsense)";
    assert!(tables.create(&mut sessions, wrong, &table, false).is_err());
    tables.abandon(&mut sessions.own);
    assert_eq!(contents(&mut sessions.own, &database).len(), 1);
    // Where there is none to lose, the server says it of the dump's own words.
    let fresh = TableName::new(&*database, "u");
    let created = tables.create(&mut sessions, b"CREATE TABLE u (a nonsense)", &fresh, false);
    assert!(matches!(created.unwrap(), Created::AsItIs(_)));
}

#[test]
fn a_staging_is_made_anew_as_it_was() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut sessions = sessions(server, &database);
    let mut tables = Tables::new(&options(false));
    let table = TableName::new(&*database, "t");
    let text = "CREATE TABLE t (a int AUTO_INCREMENT KEY, b blob DEFAULT x'ff00', \
        d date DEFAULT '0000-00-00', KEY (d)) ENGINE=InnoDB AUTO_INCREMENT=9";
    tables.create(&mut sessions, text.as_bytes(), &table, false).unwrap();
    let staging = tables.staging(&table).unwrap().clone();
    let before = contents(&mut sessions.own, &database);
    let name = staging.name.quoted();
    script(
        &mut sessions.own,
        &format!("INSERT INTO {name} (b) VALUES (1); ALTER TABLE {name} DROP KEY d"),
    );
    staging.remake(&mut sessions.own).unwrap();
    assert_eq!(contents(&mut sessions.own, &database), before);
    tables.abandon(&mut sessions.own);
    assert!(contents(&mut sessions.own, &database).is_empty());
}

#[test]
fn what_a_killed_replay_left_goes_but_not_what_one_that_runs_made() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let before = "CREATE TABLE p (id int PRIMARY KEY) ENGINE=InnoDB; \
        CREATE TABLE other (id int PRIMARY KEY, a int, FOREIGN KEY (a) REFERENCES p (id)) ENGINE=InnoDB";
    let (table, unmade) = (TableName::new(&*database, "p"), TableName::new(&*database, "u"));
    {
        let mut killed = sessions(server, &database);
        script(&mut killed.dump, before);
        let mut tables = Tables::new(&options(false));
        tables.hold_drop(&mut killed, &table, true).unwrap();
        for (name, body) in [("p", PARENT.1), ("u", PARENT.1)] {
            let text = format!("CREATE TABLE {name} {body}");
            let name = TableName::new(&*database, name);
            tables.create(&mut killed, text.as_bytes(), &name, false).unwrap();
        }
        // Killed right after the RENAME of the one, before that of the other.
        let rename = format!(
            "RENAME TABLE {} TO {}, {} TO {}",
            table.quoted(),
            staging_table::aside_of(&table).quoted(),
            staging_table::name_of(&table).quoted(),
            table.quoted()
        );
        killed.own.exec(&rename).unwrap();
        // While it runs, nobody takes it for dead.
        let mut other = sessions(server, &database);
        let mut next = Tables::new(&options(false));
        next.clean(&mut other.own, &database).unwrap();
        // Nor is a table put aside dropped beside whoever works at it.
        for left in [staging_table::name_of(&unmade), staging_table::aside_of(&table)] {
            assert_eq!(kind(&mut other.own, &left, false).unwrap(), Kind::Table, "{left}");
        }
    }
    let mut sessions = sessions(server, &database);
    // The server has to notice first that the connections are gone.
    for left in [&table, &unmade] {
        while sessions.own.lock_holder(&targets::Names::of(left).lock).unwrap().is_some() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
    let mut tables = Tables::new(&options(false));
    tables.clean(&mut sessions.own, &database).unwrap();
    let mut names = leftovers::names(&mut sessions.own, &database).unwrap();
    // They come as the file system lists them.
    names.sort();
    assert_eq!(names, [TableName::new(&*database, "other"), table.clone()]);
    let own = &mut sessions.own;
    assert!(has_children(own, &table).unwrap());
    assert!(!has_children(own, &staging_table::aside_of(&table)).unwrap());
}

#[test]
fn checks_that_are_on_leave_foreign_keys_to_the_dump() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut sessions = sessions(server, &database);
    sessions.dump.set(&[("foreign_key_checks", "1")]).unwrap();
    let mut tables = Tables::new(&options(false));
    let (parent, child) = (TableName::new(&*database, "p"), TableName::new(&*database, "c"));
    let text = format!("CREATE TABLE c {}", CHILD.1);
    let created = tables.create(&mut sessions, text.as_bytes(), &child, false).unwrap();
    assert!(matches!(created, Created::AsItIs(_)));
    script(&mut sessions.dump, &format!("CREATE TABLE p {}; {text}", PARENT.1));
    assert!(!tables.hold_drop(&mut sessions, &parent, true).unwrap());
    assert!(tables.hold_drop(&mut sessions, &child, true).unwrap());
}

#[test]
fn a_replay_that_goes_on_adds_keys_that_are_missing() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut sessions = sessions(server, &database);
    let mut tables = Tables::new(&options(false));
    replay(&mut tables, &mut sessions, &database, &[CHILD, PARENT]);
    // Killed before the keys; another goes on, twice.
    for _ in 0..2 {
        let mut tables = Tables::new(&options(false));
        for (name, body, _) in [CHILD, PARENT] {
            let text = format!("CREATE TABLE {name} {body}");
            let table = TableName::new(&*database, name);
            tables.pass_over(&mut sessions, text.as_bytes(), &table).unwrap();
        }
        tables.finish(&mut sessions).unwrap();
    }
    assert_eq!(contents(&mut sessions.own, &database), serial(server, "", &[CHILD, PARENT]));
}

#[test]
fn on_mysql_too_children_follow_and_keys_come_back() {
    let Some(server) = TestServer::mysql(Vec::new()) else { return };
    made_on(&server, "", &[CHILD, PARENT]);
    made_on(&server, "", &CYCLE);
    judged_alike(&server, &CYCLE);
    let before = "CREATE TABLE p (id int PRIMARY KEY) ENGINE=InnoDB; INSERT INTO p VALUES (1); \
        CREATE TABLE other (id int PRIMARY KEY, a int, CONSTRAINT o FOREIGN KEY (a) REFERENCES p (id) \
        ON DELETE CASCADE) ENGINE=InnoDB; INSERT INTO other VALUES (5, 1); \
        CREATE TABLE c (id int PRIMARY KEY, a int, CONSTRAINT f FOREIGN KEY (a) REFERENCES p (id)) \
        ENGINE=InnoDB; INSERT INTO c VALUES (5, 1)";
    made_on(&server, before, &[PARENT]);
    made_on(&server, before, &[PARENT, CHILD]);
    let checked = "(`a` int, CONSTRAINT `positive` CHECK (`a` > 0)) ENGINE=InnoDB";
    made_on(&server, "", &[("t", checked, "(1)")]);
}

#[test]
fn another_load_of_a_table_is_waited_for_as_long_as_for_locks() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut sessions = sessions(server, &database);
    let table = TableName::new(&*database, "t");
    let mut load = server.connect().unwrap();
    assert!(load.lock_name(&Names::of(&table).lock, Duration::ZERO).unwrap());
    let load = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(6));
        drop(load);
    });
    let mut tables = Tables::new(&ReplayOptions { lock_wait_seconds: 60, ..options(false) });
    replay(&mut tables, &mut sessions, &database, &[("t", "(a INT) ENGINE=InnoDB", "(1)")]);
    load.join().unwrap();
}
