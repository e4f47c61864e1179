//! Tables with foreign keys, by the direct path: keys and rules stay as they are, in both directions,
//! and no row is left that refers to nothing.

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use schema::TableName;
use server::Session;
use targets::Names;
use testkit::{TestServer, TestServerOptions, dialect};

use crate::support::{
    Home, MERGED_CHILDREN, Outcome, check_table, finish, names, resume, run, start, tables,
    wait_paused,
};

/// A parent, a table that refers to it and to itself, and children of that one in two databases.
const SCHEMA: &str = "\
    CREATE DATABASE `@-2`; USE `@`; \
    CREATE TABLE p (a INT UNSIGNED, b VARCHAR(20) COLLATE utf8mb4_general_ci, PRIMARY KEY (a, b)) \
        ENGINE=InnoDB DEFAULT CHARSET=utf8mb4; \
    CREATE TABLE t (id INT PRIMARY KEY, pa INT UNSIGNED, pb VARCHAR(30) COLLATE utf8mb4_general_ci, \
        up INT, word VARCHAR(10), UNIQUE KEY w (word), \
        CONSTRAINT `Named ``one` FOREIGN KEY (pa, pb) REFERENCES p (a, b) ON DELETE SET NULL, \
        FOREIGN KEY (up) REFERENCES t (id) ON DELETE CASCADE) ENGINE=InnoDB \
        DEFAULT CHARSET=utf8mb4; \
    CREATE TABLE c (id INT AUTO_INCREMENT PRIMARY KEY, t_id INT, \
        CONSTRAINT c_t FOREIGN KEY (t_id) REFERENCES t (id) ON DELETE CASCADE) ENGINE=InnoDB; \
    CREATE TABLE `@-2`.e (word VARCHAR(10), \
        FOREIGN KEY (word) REFERENCES `@`.t (word) ON UPDATE CASCADE) ENGINE=InnoDB \
        DEFAULT CHARSET=utf8mb4; \
    INSERT INTO p VALUES (1, 'one'), (2, 'two'); \
    INSERT INTO t VALUES (1, 1, 'one', NULL, 'x'), (2, NULL, 'two', 1, 'y'); \
    INSERT INTO c (t_id) VALUES (1), (2), (NULL); INSERT INTO `@-2`.e VALUES ('y')";
/// Rows that keep all keys: cases and accents are equal in the collation, and keys with a NULL refer
/// to nothing.
const ROWS: &str = "5\t1\tÓNE\t2\tv\n1\t2\tTwo\t\\N\tx\n2\t\\N\tnone\t1\ty\n3\t7\t\\N\t3\t\\N\n";

/// The rows of the schema.
const OLD: &str = "1\t1\tone\t\\N\tx\n2\t\\N\ttwo\t1\ty\n";

struct Family<'a> {
    server: &'a TestServer,
    session: Session,
    home: Home,
    database: String,
}

impl<'a> Family<'a> {
    fn new(server: &'a TestServer) -> Family<'a> {
        let database = server.database().unwrap();
        let session = server.connect().unwrap();
        server.script(&SCHEMA.replace('@', &database)).unwrap();
        Family { server, session, home: Home::new(), database }
    }

    fn name(&self, table: &str) -> String {
        match table {
            "e" => format!("`{}-2`.e", self.database),
            table => format!("{}.{table}", self.database),
        }
    }

    fn load(&self, text: &str, more: &[&str]) -> Outcome {
        let file = self.home.file("rows", text);
        run(self.home.load(self.server, &self.name("t"), &file).args(more))
    }

    /// SHOW CREATE TABLE of all, and what InnoDB's dictionary has of their keys.
    fn definitions(&mut self) -> Vec<String> {
        let mut found = Vec::new();
        for table in ["p", "t", "c", "e"] {
            let row = self.session.query_row(&format!("SHOW CREATE TABLE {}", self.name(table)));
            let text = row.unwrap().text(1).unwrap();
            // A row that is refused uses up a number.
            let counter = text.find(" AUTO_INCREMENT=").map(|at| {
                let digits = text[at + 16..].chars().take_while(char::is_ascii_digit).count();
                at..at + 16 + digits
            });
            found.push(match counter {
                Some(counter) => [&text[..counter.start], &text[counter.end..]].concat(),
                None => text,
            });
        }
        let rows = dialect::query(
            &mut self.session,
            "SELECT CONCAT_WS(' ', ID, FOR_NAME, REF_NAME, N_COLS, TYPE) \
             FROM information_schema.INNODB_SYS_FOREIGN",
        );
        let rows = rows.unwrap();
        // MySQL has them in the order in which they were made.
        let mut keys: Vec<String> = rows.iter().map(|row| row.text(0).unwrap()).collect();
        keys.sort_unstable();
        // InnoDB's name of the second database: MySQL's is as it is.
        let own = ["/", "@", "-"].map(|end| format!("{}{end}", self.database));
        found.extend(keys.into_iter().filter(|key| own.iter().any(|own| key.starts_with(own))));
        found
    }

    fn rows(&mut self, table: &str) -> Vec<String> {
        let sql = format!("SELECT * FROM {} ORDER BY 1", self.name(table));
        let rows = self.session.query(&sql).unwrap();
        let text = |row: &server::Row| {
            let width = row.len();
            (0..width)
                .map(|at| row.text_or_null(at).unwrap().unwrap_or_else(|| "NULL".to_owned()))
                .collect::<Vec<_>>()
                .join(",")
        };
        rows.iter().map(text).collect()
    }

    /// Nothing of a load's is left, and the tables are sound.
    fn check(&mut self, when: &str) {
        assert_eq!(tables(&mut self.session, &self.database), ["c", "p", "t"], "{when}");
        let sql = "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA \
                   WHERE SCHEMA_NAME LIKE '\\_inrush%\\_t'";
        let ours = Names::of(&TableName::new(self.database.as_str(), "t"));
        let left = self.session.query(sql).unwrap();
        let is_ours =
            |row: &server::Row| row.text(0).unwrap().contains(&ours.staging.table[12..29]);
        assert!(!left.iter().any(is_ours), "{when}");
        for table in ["t", "c", "e"] {
            let name = self.name(table);
            check_table(&mut self.session, &name);
        }
        let folder = self.server.datadir().join(&self.database);
        let files = names(&folder);
        assert!(files.iter().all(|file| !file.starts_with("_inrush")), "{when}: {files:?}");
    }

    fn refuses(&mut self, sql: &str) {
        let sql = sql.replace('@', &self.database);
        let refused = self.session.exec(&sql);
        let errno = refused.err().and_then(|error| error.errno());
        assert!(matches!(errno, Some(1451 | 1452)), "{sql}: {errno:?}");
    }
}

#[test]
fn keys_stay_as_they_are_in_both_directions() {
    let Some(server) = TestServer::shared() else { return };
    let mut family = Family::new(server);
    let before = family.definitions();
    let loaded = family.load(ROWS, &["--mode", "replace", "--path", "direct"]);
    assert!(loaded.done().out.contains(", direct build"), "{loaded:?}");
    family.check("loaded");
    assert_eq!(family.definitions(), before);

    // The same rows by LOAD DATA.
    let (loaded, database) = (family.rows("t"), family.database.clone());
    let file = family.home.file("rows", ROWS);
    family.session.exec(&format!("UPDATE {database}.t SET up=NULL")).unwrap();
    let script = format!(
        "SET foreign_key_checks=0; USE {database}; CREATE TABLE l LIKE t; LOAD DATA LOCAL INFILE '{}' INTO TABLE l \
         CHARACTER SET utf8mb4",
        file.display()
    );
    server.script(&script).unwrap();
    assert_eq!(family.rows("l"), loaded);
    family.session.exec(&format!("DROP TABLE {database}.l")).unwrap();

    // What breaks a key is refused, and rules are followed.
    for sql in [
        "INSERT INTO @.t VALUES (9, 9, 'one', NULL, NULL)",
        "INSERT INTO @.t VALUES (9, NULL, NULL, 77, NULL)",
        "INSERT INTO @.c (t_id) VALUES (9)",
        "INSERT INTO `@-2`.e VALUES ('n')",
        "DELETE FROM @.t WHERE id=2",
    ] {
        family.refuses(sql);
    }
    let mut exec = |sql: &str| family.session.exec(&sql.replace('@', &database)).unwrap();
    exec("INSERT INTO @.c (t_id) VALUES (5)");
    exec("UPDATE @.t SET word='z' WHERE id=2");
    exec("DELETE FROM @.t WHERE id=1");
    exec("DELETE FROM @.p WHERE a=1");
    assert_eq!(family.rows("e"), ["z"]);
    // The row that MySQL refused has used up no number.
    let last = if server.is_mysql() { "4,5" } else { "5,5" };
    assert_eq!(family.rows("c"), ["2,2", "3,NULL", last]);
    let left = ["2,NULL,none,NULL,z", "3,7,NULL,NULL,NULL", "5,NULL,NULL,NULL,v"];
    assert_eq!(family.rows("t"), left);
    family.check("after");
}

#[test]
fn an_empty_table_is_filled_and_its_children_are_its_own() {
    let Some(server) = TestServer::shared() else { return };
    let mut family = Family::new(server);
    let database = family.database.clone();
    for table in ["e", "c", "t"] {
        let name = family.name(table);
        family.session.exec(&format!("DELETE FROM {name}")).unwrap();
    }
    let before = family.definitions();
    assert!(family.load(ROWS, &["--path", "direct"]).done().out.contains(", direct build"));
    family.check("loaded");
    assert_eq!(family.definitions(), before);
    family.refuses("INSERT INTO @.c (t_id) VALUES (9)");
    family.session.exec(&format!("INSERT INTO {database}.c (t_id) VALUES (5)")).unwrap();
}

#[test]
fn rows_without_a_parent_fail_the_load() {
    let Some(server) = TestServer::shared() else { return };
    let mut family = Family::new(server);
    let (before, rows) = (family.definitions(), family.rows("t"));
    let replace = ["--mode", "replace", "--path", "direct"];
    let orphan = "1\t1\tone\t\\N\tx\n2\t1\ttwo\t\\N\ty\n3\t4\tfour\t\\N\tz\n";
    let failed = family.load(orphan, &replace);
    let said =
        ["foreign key `Named `one`", "(pa, pb)", "(1, two), (4, four)", "nothing was loaded"];
    failed.refused(1, &said);
    let failed = family.load("1\t\\N\t\\N\t\\N\tx\n2\t\\N\t\\N\t3\ty\n", &replace);
    failed.refused(1, &["`t_ibfk_1` (up)", "(3)"]);
    // Rows of other tables would refer to nothing.
    let failed = family.load("1\t\\N\t\\N\t\\N\tx\n3\t\\N\t\\N\t\\N\ty\n", &replace);
    failed.refused(1, &["foreign key `c_t` (t_id)", "(2)", "delete the rows"]);
    let failed = family.load("1\t\\N\t\\N\t\\N\tx\n2\t\\N\t\\N\t\\N\tn\n", &replace);
    failed.refused(1, &["e_ibfk_1", "(y)"]);
    family.check("failed");
    assert_eq!((family.definitions(), family.rows("t")), (before.clone(), rows));

    // Whoever says so has them all the same.
    let unchecked = [&replace[..], &["--no-foreign-key-checks"]].concat();
    let loaded = family.load(orphan, &unchecked);
    assert!(loaded.done().out.contains("foreign keys were not checked"), "{loaded:?}");
    family.check("unchecked");
    assert_eq!(family.definitions(), before);
    assert_eq!(family.rows("t").len(), 3);
    family.refuses("INSERT INTO @.t VALUES (9, 9, 'one', NULL, NULL)");
}

/// As by LOAD DATA: rows that are there are not looked at again, whatever they refer to.
#[test]
fn of_rows_that_are_added_only_the_new_ones_need_a_parent() {
    let Some(server) = TestServer::shared() else { return };
    if server.lacks(MERGED_CHILDREN) {
        return;
    }
    let mut family = Family::new(server);
    let table = family.name("t");
    let orphan = format!("INSERT INTO {table} VALUES (50, 9, 'nine', NULL, 'z')");
    family.session.exec(&format!("SET STATEMENT foreign_key_checks=0 FOR {orphan}")).unwrap();
    let before = family.definitions();
    let append = ["--mode", "append", "--path", "direct"];
    let loaded =
        family.load("60\t1\tÓNE\t\\N\tv\n61\t2\ttwo\t60\tu\n62\t9\t\\N\t\\N\t\\N\n", &append);
    assert!(loaded.done().out.contains(", direct "), "{loaded:?}");
    assert_eq!(family.rows("t").len(), 6);
    family.check("appended");
    let rows = family.rows("t");
    let failed = family.load("70\t1\tone\t\\N\ta\n71\t8\teight\t\\N\tb\n", &append);
    failed.refused(1, &["foreign key `Named `one`", "(8, eight)", "nothing was loaded"]);
    family.check("failed");
    assert_eq!((family.definitions(), family.rows("t")), (before, rows));
    family.refuses("INSERT INTO @.t VALUES (99, 9, 'one', NULL, NULL)");
}

#[test]
fn rows_without_a_parent_are_refused_one_by_one_where_they_may_be() {
    let Some(server) = TestServer::shared() else { return };
    let mut family = Family::new(server);
    for table in ["e", "c", "t"] {
        let name = family.name(table);
        family.session.exec(&format!("DELETE FROM {name}")).unwrap();
    }
    let before = family.definitions();
    let rows = "1\t1\tone\t\\N\tx\n3\t4\tfour\t\\N\tz\n2\t2\ttwo\t1\ty\n";
    let refused = family.home.path().join("refused");
    let rejects = ["--rejects-max", "3", "--rejects", refused.to_str().unwrap()];
    let loaded = family.load(rows, &[&["--path", "auto", "--verbose"], &rejects[..]].concat());
    assert_eq!(loaded.code(), 3, "{loaded:?}");
    assert!(loaded.out.contains(", stream ") && loaded.out.contains("(4, four)"), "{loaded:?}");
    assert_eq!(std::fs::read_to_string(&refused).unwrap(), "3\t4\tfour\t\\N\tz\n");
    assert_eq!(family.rows("t").len(), 2);
    assert_eq!(family.definitions(), before);
    family.check("sent");
}

/// Places of a publication, in order; from the marked one on the table is new.
const PLACES: [&str; 7] = [
    "publish.begin",
    "publish.prepared",
    "publish.queued",
    "publish.moved",
    "publish.dropped",
    "keys.begin",
    "publish.end",
];

/// The places of a server, each with whether the table is new. One connection does it all on MySQL, which queues behind
/// nobody.
fn places(server: &TestServer) -> impl Iterator<Item = (&'static str, bool)> {
    let is_mysql = server.is_mysql();
    let places = PLACES.into_iter().enumerate().map(|(at, place)| (place, at >= 3));
    places.filter(move |(place, _)| !(is_mysql && *place == "publish.queued"))
}

#[test]
fn a_load_killed_while_it_is_published_leaves_old_rows_or_new_ones_and_all_keys() {
    let Some(server) = TestServer::shared() else { return };
    let mut family = Family::new(server);
    let (before, old) = (family.definitions(), family.rows("t"));
    let replace = ["--mode", "replace", "--path", "direct"];
    family.load(ROWS, &replace).done();
    let new = family.rows("t");
    for (place, is_new) in places(server) {
        let file = family.home.file("rows", OLD);
        run(family.home.load(server, &family.name("t"), &file).args(replace)).done();
        assert_eq!(family.rows("t"), old, "{place}");
        let file = family.home.file("rows", ROWS);
        let mut load = family.home.load(server, &family.name("t"), &file);
        let killed = run(load.args(replace).env("INRUSH_FAILPOINT", format!("{place}=kill")));
        assert_eq!(killed.status.signal(), Some(9), "{place}: {killed:?}");
        // A RENAME that waits may be done without whoever asked for it.
        let rows = family.rows("t");
        assert!(rows == new || (!is_new && rows == old), "{place}: {rows:?}");
        family.load(ROWS, &replace).done();
        assert_eq!(family.rows("t"), new, "{place}");
        family.check(place);
        assert_eq!(family.definitions(), before, "{place}");
        family.refuses("INSERT INTO @.c (t_id) VALUES (9)");
    }
}

/// The same where the server is killed, with the load still running.
#[test]
fn a_server_killed_while_a_table_is_published_has_old_rows_or_new_ones_and_all_keys() {
    let options = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    let server = &server;
    let mut family = Family::new(server);
    let (before, old) = (family.definitions(), family.rows("t"));
    let replace = ["--mode", "replace", "--path", "direct"];
    family.load(ROWS, &replace).done();
    let new = family.rows("t");
    for (place, is_new) in places(server) {
        family.load(OLD, &replace).done();
        assert_eq!(family.rows("t"), old, "{place}");
        let file = family.home.file("rows", ROWS);
        let mut load = family.home.load(server, &family.name("t"), &file);
        let pause = format!("{place}=pause");
        let mut child = start(load.args(replace).env("INRUSH_FAILPOINT", pause));
        wait_paused(&mut child);
        server.kill_9().unwrap();
        server.restart().unwrap();
        family.session = server.connect().unwrap();
        let rows = family.rows("t");
        assert!(rows == new || (!is_new && rows == old), "{place}: {rows:?}");
        // It comes by the place again.
        while child.try_wait().unwrap().is_none() {
            resume(&child);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let outcome = finish(child);
        // All rows are loaded, perhaps with keys left, or none.
        let is_loaded = matches!(outcome.code(), 0 | 4);
        assert_eq!(family.rows("t") == new, is_loaded, "{place}: {outcome:?}");
        family.load(ROWS, &replace).done();
        assert_eq!(family.rows("t"), new, "{place}");
        family.check(place);
        assert_eq!(family.definitions(), before, "{place}");
        family.refuses("INSERT INTO @.c (t_id) VALUES (9)");
    }
}

/// Where the journal cannot be written behind the RENAME, the old table stays as the proof, and rows of others
/// refer to it still.
#[test]
fn keys_that_a_full_state_folder_leaves_at_the_old_table_are_told() {
    let Some(server) = TestServer::shared() else { return };
    let mut family = Family::new(server);
    let before = family.definitions();
    let replace = ["--mode", "replace", "--path", "direct"];
    let file = family.home.file("rows", ROWS);
    let log = family.home.path().join("operations");
    let load = |family: &Family<'_>, variable: &str, value: &str| {
        let mut load = family.home.load(server, &family.name("t"), &file);
        run(load.args(replace).env(variable, value))
    };
    load(&family, "INRUSH_FAULT_LOG", log.to_str().unwrap()).done();
    let log = std::fs::read_to_string(log).unwrap();
    let written = log.lines().enumerate().filter(|(_, line)| line.starts_with("write journal"));
    let written: Vec<usize> = written.map(|(at, _)| at + 1).collect();
    // Behind `publish begin` come its end, that of the job, and the line that closes it.
    let full = format!("{}:enospc", written[written.len() - 3]);
    let left = load(&family, "INRUSH_FAULT", &full);
    assert_eq!(left.code(), 4, "{left:?}");
    assert!(left.err.contains("the journal could not be written"), "{left:?}");
    family.load(ROWS, &replace).done();
    family.check("after");
    assert_eq!(family.definitions(), before);
    family.refuses("INSERT INTO @.c (t_id) VALUES (9)");
}

/// Two tables that need each other's rows, one that refers to both by several columns, and one that
/// is not loaded.
const CIRCLE: &str = "\
    USE `@`; CREATE TABLE store (id SMALLINT UNSIGNED PRIMARY KEY, head INT NOT NULL) ENGINE=InnoDB; \
    CREATE TABLE staff (id INT, store SMALLINT UNSIGNED NOT NULL, chief INT, PRIMARY KEY (id), \
        UNIQUE KEY both_of (store, id), CONSTRAINT works_at FOREIGN KEY (store) REFERENCES store (id), \
        CONSTRAINT obeys FOREIGN KEY (chief) REFERENCES staff (id)) ENGINE=InnoDB; \
    ALTER TABLE store ADD CONSTRAINT led_by FOREIGN KEY (head) REFERENCES staff (id); \
    CREATE TABLE rent (id BIGINT PRIMARY KEY, at SMALLINT UNSIGNED, by_whom INT, code CHAR(3), \
        KEY (by_whom), CONSTRAINT rented FOREIGN KEY (at, by_whom) REFERENCES staff (store, id), \
        CONSTRAINT coded FOREIGN KEY (code) REFERENCES code (code)) ENGINE=InnoDB; \
    CREATE TABLE code (code CHAR(3) PRIMARY KEY) ENGINE=InnoDB; \
    CREATE TABLE note (id INT PRIMARY KEY, rent BIGINT, FOREIGN KEY (rent) REFERENCES rent (id)) \
        ENGINE=InnoDB";

#[test]
fn tables_that_refer_to_each_other_take_their_places_together() {
    let Some(server) = TestServer::shared() else { return };
    let (database, home) = (server.database().unwrap(), Home::new());
    let mut session = server.connect().unwrap();
    server
        .script(&format!("SET foreign_key_checks=0; {}", CIRCLE.replace('@', &database)))
        .unwrap();
    let mut definitions = || -> Vec<String> {
        let show = |table: &&str| {
            let row = session.query_row(&format!("SHOW CREATE TABLE {database}.{table}")).unwrap();
            row.text(1).unwrap()
        };
        ["store", "staff", "rent", "code", "note"].iter().map(show).collect()
    };
    let before = definitions();
    std::fs::create_dir(home.path().join("rows")).unwrap();
    let file = |name: &str, text: &str| {
        home.file(&format!("rows/{name}.txt"), text);
    };
    file("store", "1\t10\n2\t20\n");
    file("staff", "10\t1\t20\n20\t2\t\\N\n21\t2\t20\n");
    let rents: String = (0..3000).map(|id| format!("{id}\t2\t{}\ta\n", 20 + id % 2)).collect();
    file("rent", &rents);
    file("code", "A\nb\n");
    let load =
        |more: &[&str]| run(home.load(server, &database, &home.path().join("rows")).args(more));
    load(&["--path", "direct"]).done();
    assert_eq!(definitions(), before);
    let counts = |session: &mut Session| {
        let sql = format!(
            "SELECT CONCAT_WS(',', (SELECT COUNT(*) FROM {database}.store), (SELECT COUNT(*) FROM \
             {database}.staff), (SELECT COUNT(*) FROM {database}.rent), (SELECT COUNT(*) FROM \
             {database}.code))"
        );
        session.query_text(&sql).unwrap().unwrap()
    };
    let mut session = server.connect().unwrap();
    assert_eq!(counts(&mut session), "2,3,3000,2");
    session.exec(&format!("INSERT INTO {database}.note VALUES (1, 7)")).unwrap();

    // One row of one of them that refers to nothing, and all are as they were.
    for (table, rows, said) in [
        ("rent", "7\t1\t20\ta\n", "(1, 20)"),
        ("rent", "7\t2\t20\tc\n", "(c)"),
        ("staff", "10\t1\t30\n20\t2\t\\N\n21\t2\t20\n", "`obeys` (chief)"),
        ("store", "1\t10\n", "`works_at` (store)"),
        ("rent", "8\t2\t20\tb\n", "`note_ibfk_1` (rent)"),
    ] {
        let path = home.path().join(format!("rows/{table}.txt"));
        let good = std::fs::read(&path).unwrap();
        std::fs::write(&path, rows).unwrap();
        load(&["--mode", "replace", "--path", "direct"]).refused(1, &[said, "foreign key"]);
        assert_eq!(counts(&mut session), "2,3,3000,2", "{said}");
        std::fs::write(&path, good).unwrap();
    }
    load(&["--mode", "replace", "--path", "direct"]).done();
    assert_eq!(counts(&mut session), "2,3,3000,2");
    assert_eq!(tables(&mut session, &database), ["code", "note", "rent", "staff", "store"]);
    for sql in [
        format!("DELETE FROM {database}.staff WHERE id=10"),
        format!("DELETE FROM {database}.rent WHERE id=7"),
        format!("INSERT INTO {database}.note VALUES (2, 9999)"),
        format!("INSERT INTO {database}.rent VALUES (9999, 1, 20, 'a')"),
        format!("UPDATE {database}.code SET code='z' WHERE code='a'"),
    ] {
        let errno = session.exec(&sql).err().and_then(|error| error.errno());
        assert!(matches!(errno, Some(1451 | 1452)), "{sql}: {errno:?}");
    }
    for table in ["store", "staff", "rent", "code", "note"] {
        check_table(&mut session, &format!("{database}.{table}"));
    }
}

/// Ends what others do, also when something fails.
struct Ends<'e>(&'e AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Counts rows of a family that refer to nothing.
fn orphans(session: &mut Session, database: &str) -> String {
    let sql = format!(
        "SELECT (SELECT COUNT(*) FROM {database}.c LEFT JOIN {database}.t ON t.id=c.t_id \
         WHERE c.t_id IS NOT NULL AND t.id IS NULL) + (SELECT COUNT(*) FROM {database}.t \
         LEFT JOIN {database}.p ON (p.a, p.b)=(t.pa, t.pb) WHERE t.pa IS NOT NULL AND t.pb IS NOT NULL \
         AND p.a IS NULL)"
    );
    session.query_text(&sql).unwrap().unwrap()
}

/// The server locks a table with those whose rows follow its own: connections that hold one each would
/// wait for each other, as long as they may.
#[test]
fn a_table_takes_its_place_at_once_whose_children_refer_to_each_other_or_it_to_them() {
    let Some(server) = TestServer::shared() else { return };
    let schemas = [
        "CREATE TABLE t (id INT PRIMARY KEY, one INT); CREATE TABLE one (id INT PRIMARY KEY, t INT, \
         FOREIGN KEY (t) REFERENCES t (id)); CREATE TABLE two (id INT PRIMARY KEY, t INT, one INT, \
         FOREIGN KEY (t) REFERENCES t (id), FOREIGN KEY (one) REFERENCES one (id))",
        "CREATE TABLE t (id INT PRIMARY KEY, one INT); CREATE TABLE one (id INT PRIMARY KEY, t INT, \
         FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE); ALTER TABLE t ADD FOREIGN KEY (one) \
         REFERENCES one (id) ON DELETE SET NULL; CREATE TABLE two (id INT PRIMARY KEY, t INT, \
         FOREIGN KEY (t) REFERENCES t (id))",
        "CREATE TABLE middle (id INT PRIMARY KEY, one INT); CREATE TABLE t (id INT PRIMARY KEY, \
         one INT, FOREIGN KEY (one) REFERENCES middle (id)); CREATE TABLE one (id INT PRIMARY KEY, \
         t INT, FOREIGN KEY (t) REFERENCES t (id)); ALTER TABLE middle ADD FOREIGN KEY (one) \
         REFERENCES one (id) ON DELETE CASCADE; CREATE TABLE two (id INT PRIMARY KEY, t INT, \
         FOREIGN KEY (t) REFERENCES t (id))",
    ];
    for schema in schemas {
        let database = server.database().unwrap();
        server.script(&format!("USE {database}; {schema}")).unwrap();
        let mut session = server.connect().unwrap();
        session.exec(&format!("USE {database}")).unwrap();
        session.exec("INSERT INTO t VALUES (1, NULL), (2, NULL)").unwrap();
        session.exec("INSERT INTO one (id, t) VALUES (1, 1), (2, 2)").unwrap();
        session.exec("INSERT INTO two (id, t) VALUES (1, 1)").unwrap();
        let home = Home::new();
        let file = home.file("rows", "1\t\\N\n2\t\\N\n3\t\\N\n");
        let mut command = home.load(server, &format!("{database}.t"), &file);
        let begun = Instant::now();
        run(command.args(["--mode", "replace", "--lock-wait", "120"])).done();
        assert!(begun.elapsed().as_secs() < 60, "it waited for itself: {schema}");
        for (change, errno) in [("UPDATE one SET t=4", 1452), ("UPDATE one SET t=3", 0)] {
            let outcome = session.exec(change).map(drop);
            assert_eq!(outcome.map_or_else(|error| error.errno().unwrap(), |()| 0), errno);
        }
        check_table(&mut session, &format!("{database}.t"));
    }
}

#[test]
fn rows_of_other_tables_that_come_and_go_meanwhile_never_refer_to_nothing() {
    // Other loads would wait for what waits here.
    let Some(server) = TestServer::start() else { return };
    let server = &server;
    let mut family = Family::new(server);
    let database = family.database.clone();
    let e = family.name("e");
    family.session.exec(&format!("DELETE FROM {e}")).unwrap();
    let is_over = AtomicBool::new(false);
    let disturb = |statements: &[&str]| {
        let mut session = server.connect().unwrap();
        while !is_over.load(Ordering::Relaxed) {
            for sql in statements {
                match session.exec(&sql.replace('@', &database)) {
                    Ok(_) => {}
                    // For a key, or to end a circle of waits.
                    Err(error) if matches!(error.errno(), Some(1451 | 1452 | 1205 | 1213)) => {}
                    Err(error) => panic!("{sql}: {error}"),
                }
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| disturb(&["INSERT INTO @.c (t_id) VALUES (2)", "DELETE FROM @.c"]));
        scope.spawn(|| {
            disturb(&["DELETE FROM @.p WHERE a=2", "INSERT IGNORE INTO @.p VALUES (2, 'two')"]);
        });
        let _ends = Ends(&is_over);
        let (mut loaded, mut failed) = (0, 0);
        let mut session = server.connect().unwrap();
        for round in 0..12 {
            // With the rows that the others want, and without.
            let rows = if round % 2 == 0 {
                "1\t2\ttwo\t\\N\tx\n2\t2\ttwo\t\\N\ty\n"
            } else {
                "1\t2\ttwo\t\\N\tx\n"
            };
            let outcome = family.load(rows, &["--mode", "replace", "--path", "direct"]);
            match outcome.code() {
                0 => loaded += 1,
                _ => {
                    outcome.refused(1, &["foreign key"]);
                    failed += 1;
                }
            }
            assert_eq!(orphans(&mut session, &database), "0", "{round}: {outcome:?}");
        }
        assert!(loaded > 0, "{failed}");
    });
    family.check("disturbed");
}

#[test]
fn a_chain_of_many_tables_is_published_and_nothing_is_left() {
    const TABLES: usize = 10;
    let Some(server) = TestServer::shared() else { return };
    let (database, home) = (server.database().unwrap(), Home::new());
    let mut session = server.connect().unwrap();
    std::fs::create_dir(home.path().join("rows")).unwrap();
    for at in 0..TABLES {
        let key = match at {
            0 => String::new(),
            _ => format!(", FOREIGN KEY (p) REFERENCES t{} (id)", at - 1),
        };
        session.exec(&format!("USE {database}")).unwrap();
        let sql = format!("CREATE TABLE t{at} (id INT PRIMARY KEY, p INT{key}) ENGINE=InnoDB");
        session.exec(&sql).unwrap();
        home.file(&format!("rows/t{at}.txt"), "1\t1\n2\t1\n");
    }
    for mode in ["insert", "replace"] {
        let mut load = home.load(server, &database, &home.path().join("rows"));
        let loaded = run(load.args(["--path", "direct", "--mode", mode]));
        assert!(!loaded.done().err.contains("warning"), "{loaded:?}");
        let names: Vec<String> = (0..TABLES).map(|at| format!("t{at}")).collect();
        assert_eq!(tables(&mut session, &database), names, "{mode}");
        for table in &names {
            let ours = Names::of(&TableName::new(database.as_str(), table.as_str()));
            let sql = format!(
                "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME IN ('{}','{}','{}')",
                ours.staging.table, ours.replaced.table, ours.emptied.table
            );
            assert_eq!(session.query_text(&sql).unwrap(), None, "{mode} {table}");
        }
    }
    let refused = session.exec("DELETE FROM t3 WHERE id=1");
    assert_eq!(refused.err().and_then(|error| error.errno()), Some(1451));
}
