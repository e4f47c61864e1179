//! Views of others under names that a command takes for tables: whoever may create a view in one database
//! never has a function run with the rights of the account that loads.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use schema::TableName;
use server::{ConnectOptions, Session};
use targets::Names;
use testkit::TestServer;

use crate::support::{Home, Outcome, resume, run, start, wait_paused};

const KEYED: &str = "CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY b (b)) ENGINE=InnoDB";
const UNKEYED: &str = "CREATE TABLE t (a INT, b INT) ENGINE=InnoDB";
const DIVIDED: &str = "CREATE TABLE t (a INT PRIMARY KEY, b INT) ENGINE=InnoDB PARTITION BY \
                       RANGE (a) (PARTITION p0 VALUES LESS THAN (5), PARTITION p1 VALUES LESS THAN MAXVALUE)";
const NUMBERED: &str = "CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b INT) ENGINE=InnoDB";
const OLD: &str = "INSERT INTO t VALUES (1, 1)";
const ROWS: &str = "2\t2\n3\t3\n9\t9\n";
const DUMP: &str = "DROP TABLE IF EXISTS `t`;\n\
    CREATE TABLE `t` (`a` int PRIMARY KEY, `b` int) ENGINE=InnoDB;\n\
    INSERT INTO `t` VALUES (2,2),(3,3);\n";
const DUMPED_ROWS: &str = "INSERT INTO `t` VALUES (2,2),(3,3);\n";

/// One file into two tables; rows of `t` that are there are looked up.
const JOB: &str = r#"
into = "DATABASE"
[input]
files = ["t.tsv"]
columns = ["x", "y"]
[[table]]
name = "t"
columns = { b = "y" }
entity = { key = ["b"], id = "a" }
[[table]]
name = "u"
columns = { a = { id_of = "t" }, b = "x" }
"#;

/// Commands that change a table; DB is the database, FILE and HEADED hold rows, DUMP and PLAIN are dumps.
const COMMANDS: [(&str, &str); 15] = [
    (KEYED, "load FILE --into DB.t"),
    (KEYED, "load FILE --into DB.t --mode replace"),
    (UNKEYED, "load FILE --into DB.t --mode replace --path direct"),
    (KEYED, "load FILE --into DB.t --mode append --path direct"),
    (KEYED, "load FILE --into DB.t --mode replace --path stream"),
    (KEYED, "load FILE --into DB.t --mode append --path stream"),
    (UNKEYED, "load FILE --into DB.t --mode append --path insert"),
    (KEYED, "load FILE --into DB.t --mode append --path insert --atomic"),
    (DIVIDED, "load FILE --into DB.t --mode replace"),
    (NUMBERED, "load HEADED --into DB.t --create --header --mode append"),
    (NUMBERED, "load -c JOB --mode append"),
    (KEYED, "load t.tsv u.tsv --into DB --mode replace"),
    (KEYED, "load t.tsv u.tsv --into DB --mode append --each"),
    (KEYED, "replay DUMP --into DB"),
    (KEYED, "replay PLAIN --into DB"),
];

/// A database whose owner, mallory, may do anything there and nothing elsewhere. Her function leaves a row in
/// a table of another database when it runs with the rights of root.
struct Trap {
    server: &'static TestServer,
    root: Session,
    mallory: Session,
    home: Home,
    database: String,
    /// `database.table` with a row for each run of the function.
    trace: String,
}

impl Trap {
    fn new() -> Option<Trap> {
        let server = TestServer::shared()?;
        let (database, other) = (server.database().unwrap(), server.database().unwrap());
        let mut root = server.connect().unwrap();
        let (account, trace) = (format!("m_{database}"), format!("{other}.trace"));
        // Of an engine without transactions, so that no ROLLBACK takes a row back.
        root.exec(&format!("CREATE TABLE {trace} (who TEXT) ENGINE=MyISAM")).unwrap();
        root.exec(&format!("CREATE USER {account}@localhost")).unwrap();
        root.exec(&format!("GRANT ALL ON {database}.* TO {account}@localhost")).unwrap();
        let options = ConnectOptions { user: Some(account), password: None, ..server.options() };
        let mut mallory = Session::connect(&options).unwrap();
        mallory.exec(&format!("USE {database}")).unwrap();
        mallory.set_lock_wait(Duration::from_secs(1)).unwrap();
        let body = format!("BEGIN INSERT INTO {trace} VALUES (CURRENT_USER()); RETURN 1; END");
        let function = "CREATE FUNCTION f() RETURNS INT MODIFIES SQL DATA SQL SECURITY INVOKER";
        mallory.exec(&format!("{function} {body}")).unwrap();
        let home = Home::new();
        for (name, text) in [("FILE", ROWS), ("t.tsv", ROWS), ("u.tsv", ROWS)] {
            home.file(name, text);
        }
        home.file("HEADED", format!("a\tb\n{ROWS}"));
        home.file("JOB", JOB.replace("DATABASE", &database));
        home.file("DUMP", DUMP);
        home.file("PLAIN", DUMPED_ROWS);
        Some(Trap { server, root, mallory, home, database, trace })
    }

    /// Makes the tables anew, with a row or empty, and removes whatever else there is.
    fn reset(&mut self, definition: &str, has_rows: bool) {
        let (sql, kinds) = ("SHOW FULL TABLES", ["TABLE", "VIEW"]);
        for row in self.mallory.query(sql).unwrap() {
            let kind = kinds[usize::from(row.text(1).unwrap() == "VIEW")];
            self.mallory.exec(&format!("DROP {kind} `{}`", row.text(0).unwrap())).unwrap();
        }
        self.mallory.exec(definition).unwrap();
        self.mallory.exec("CREATE TABLE u LIKE t").unwrap();
        if has_rows {
            self.mallory.exec(OLD).unwrap();
            self.mallory.exec("INSERT INTO u SELECT * FROM t").unwrap();
        }
        let _ = fs::remove_dir_all(self.home.path().join("state"));
    }

    fn command(&self, words: &str) -> std::process::Command {
        let words = words.replace("DB", &self.database);
        let mut command = self.home.inrush(words.split(' '));
        command.arg("--socket").arg(self.server.socket());
        if words.starts_with("load") {
            command.args(["--threads", "2", "--memory", "60M"]);
        }
        if let Some(user) = self.server.options().user {
            command.args(["--user", &user]);
        }
        command
    }

    /// Puts a view in the place of a table, whose rows the view shows and takes; false where the table is held.
    fn replace(&mut self, table: &str) -> bool {
        let moved = format!("RENAME TABLE `{table}` TO `moved_{table:.50}`");
        let select = format!("SELECT * FROM `moved_{table:.50}` WHERE f() = 1");
        let view = format!("CREATE SQL SECURITY INVOKER VIEW `{table}` AS {select}");
        self.mallory.exec(&moved).is_ok()
            && self.mallory.exec(&format!("{view} WITH CHECK OPTION")).is_ok()
    }

    /// Names of tables, of `t` and those that the program has made.
    fn tables(&mut self) -> Vec<String> {
        let sql = "SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'";
        let rows = self.mallory.query(sql).unwrap();
        let names = rows.iter().map(|row| row.text(0).unwrap());
        names.filter(|name| name == "t" || name.starts_with("_inrush_")).collect()
    }

    /// Asserts that the function has not run, and that the program has ended in order.
    #[track_caller]
    fn safe(&mut self, outcome: &Outcome, when: &str) {
        let trace = self.root.query(&format!("SELECT who FROM {}", self.trace)).unwrap();
        assert!(trace.is_empty(), "{when}: f ran {} times: {outcome:?}", trace.len());
        assert!(matches!(outcome.code(), 0..=3), "{when}: {outcome:?}");
        assert!(!outcome.err.contains("panicked"), "{when}: {outcome:?}");
    }
}

/// Names that loads of `t` use, whoever loads.
fn foreseeable(database: &str) -> Vec<String> {
    let names = Names::of(&TableName::new(database, "t"));
    let all = [
        names.ledger,
        names.extended,
        names.emptied,
        names.replaced,
        names.staging,
        names.row_ids,
        names.appends,
    ];
    all.into_iter().map(|name| name.table).collect()
}

#[test]
fn a_view_under_a_name_of_ours_is_refused_by_name_and_not_read() {
    let Some(mut trap) = Trap::new() else { return };
    let view =
        "SELECT f() AS job, '{}' AS note, f() AS ordinal, f() AS row_count, f() AS state, f() AS a";
    let ways = [
        "load FILE --into DB.t --mode replace",
        "load FILE --into DB.t --mode append --path stream",
        "load t.tsv u.tsv --into DB --mode replace",
    ];
    for (at, name) in foreseeable(&trap.database).iter().enumerate() {
        trap.reset(KEYED, at % 2 == 0);
        let create = format!("CREATE SQL SECURITY INVOKER VIEW `{name}` AS {view}");
        trap.mallory.exec(&create).unwrap();
        let words = ways[at % ways.len()];
        let refused = run(&mut trap.command(words));
        trap.safe(&refused, &format!("{words} with {name}"));
        refused.refused(
            refused.code(),
            &[&format!("{}.{name} is a view", trap.database), "DROP VIEW"],
        );
        assert_ne!(refused.code(), 0, "{name}: {refused:?}");
        // The view is still there.
        trap.mallory.exec(&format!("DROP VIEW `{name}`")).unwrap();
    }
    run(&mut trap.command(ways[0])).done();
    let name = &foreseeable(&trap.database)[0];
    trap.mallory.exec(&format!("CREATE SEQUENCE `{name}`")).unwrap();
    let refused = run(&mut trap.command(ways[0]));
    let words = format!("{}.{name} is a sequence", trap.database);
    refused.refused(refused.code(), &[&words, "DROP SEQUENCE"]);
}

#[test]
fn no_command_that_changes_a_table_writes_to_a_view_in_its_place() {
    let Some(mut trap) = Trap::new() else { return };
    for (definition, words) in COMMANDS {
        trap.reset(definition, true);
        assert!(trap.replace("t"), "{words}");
        let outcome = run(&mut trap.command(words));
        trap.safe(&outcome, words);
        // A dump that drops the table finds none, and makes it.
        let is_refused = outcome.code() != 0 && outcome.err.contains("view");
        assert!(is_refused || words.contains("DUMP"), "{words}: {outcome:?}");
    }
}

#[test]
fn a_table_that_turns_into_a_view_meanwhile_is_neither_read_nor_written_to() {
    let Some(mut trap) = Trap::new() else { return };
    let cases: [(&str, &str, &[&str]); 5] = [
        (
            UNKEYED,
            "load FILE --into DB.t --mode replace --path direct",
            &["inspect.end", "staging.created", "import.end", "publish.begin", "publish.swapped"],
        ),
        (
            KEYED,
            "load FILE --into DB.t --mode append --path stream",
            &["inspect.end", "ledger.created", "chunk.0.read", "chunk.0.loaded"],
        ),
        (
            KEYED,
            "load FILE --into DB.t --mode append --path insert --atomic",
            &["inspect.end", "chunk.0.read", "chunk.0.loaded"],
        ),
        (
            KEYED,
            "load FILE --into DB.t --mode replace --path insert",
            &["inspect.end", "chunk.0.read", "chunk.0.loaded", "publish.begin", "publish.swapped"],
        ),
        (KEYED, "load FILE --into DB.t --path stream", &["inspect.end", "publish.swapped"]),
    ];
    for (definition, words, places) in cases {
        for place in places {
            trap.reset(definition, words.contains("--mode"));
            let mut command = trap.command(words);
            let mut child = start(command.env("INRUSH_FAILPOINT", format!("{place}=pause")));
            wait_paused(&mut child);
            let replaced: Vec<String> =
                trap.tables().into_iter().filter(|table| trap.replace(table)).collect();
            resume(&child);
            let outcome = crate::support::finish(child);
            trap.safe(&outcome, &format!("{words} at {place}, with {replaced:?}"));
        }
    }
}

#[test]
fn a_name_that_a_transaction_holds_stays_a_tables_until_its_end() {
    let Some(mut trap) = Trap::new() else { return };
    trap.reset(KEYED, true);
    let (t, u) = (TableName::new(&*trap.database, "t"), TableName::new(&*trap.database, "u"));
    trap.root.exec("START TRANSACTION").unwrap();
    trap.root.hold_tables(&[&u, &t]).unwrap();
    assert!(!trap.replace("t") && !trap.replace("u"));
    trap.root.exec(&format!("INSERT INTO {} VALUES (5, 5)", t.quoted())).unwrap();
    trap.root.exec("COMMIT").unwrap();
    assert!(trap.replace("t"));
    let view = format!("{}.t is a view", trap.database);
    let held = trap.root.hold_tables(&[&u, &t]).unwrap_err();
    assert!(held.to_string().starts_with(&view), "{held}");
    let insert = format!("INSERT INTO {} VALUES (6, 6)", t.quoted());
    let written = trap.root.write_to(&t, |session| session.exec(&insert)).unwrap_err();
    assert!(written.to_string().starts_with(&view), "{written}");
    let read = catalog::is_empty(&mut trap.root, &t).unwrap_err();
    assert!(read.to_string().starts_with(&view), "{read}");
    let ran = trap.root.query(&format!("SELECT who FROM {}", trap.trace)).unwrap();
    assert!(ran.is_empty());
    // The trap is one.
    trap.root.exec(&insert).unwrap();
    assert_eq!(trap.root.query(&format!("SELECT who FROM {}", trap.trace)).unwrap().len(), 1);
}

/// Loads that come to their end whatever rows there are.
const RACED: [&str; 4] = [
    "load FILE --into DB.t --mode append --path insert",
    "load FILE --into DB.t --mode append --path stream",
    "load FILE --into DB.t --mode append --path insert --atomic",
    "load FILE --into DB.t --mode replace --path insert",
];

/// Loads while the table is a view now and then.
fn race(seconds: u64) {
    let Some(mut trap) = Trap::new() else { return };
    trap.reset(UNKEYED, true);
    let again = ConnectOptions { ..trap.mallory.options().clone() };
    let (over, database) = (Arc::new(AtomicBool::new(false)), trap.database.clone());
    let swapper = std::thread::spawn({
        let over = Arc::clone(&over);
        move || {
            let mut mallory = Session::connect(&again).unwrap();
            mallory.exec(&format!("USE {database}")).unwrap();
            mallory.set_lock_wait(Duration::from_secs(1)).unwrap();
            let view = "CREATE SQL SECURITY INVOKER VIEW v AS SELECT * FROM w WHERE f() = 1";
            mallory.exec("CREATE TABLE w LIKE t").unwrap();
            mallory.exec(&format!("{view} WITH CHECK OPTION")).unwrap();
            let wait = |millis| std::thread::sleep(Duration::from_millis(millis));
            for round in 0_u64.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                // A load that begins while the view is there ends at once: the table is there for longer.
                let is_view = mallory.exec("RENAME TABLE t TO away, v TO t").is_ok();
                wait(round * 3 % 4);
                let _ = mallory.exec("RENAME TABLE t TO v, away TO t");
                wait(round * 17 % 50);
                if !is_view {
                    // A load has put the view aside, or made the table anew.
                    for sql in ["DROP TABLE IF EXISTS away", "CREATE TABLE IF NOT EXISTS t LIKE w"]
                    {
                        let _ = mallory.exec(sql);
                    }
                    for row in mallory.query("SHOW FULL TABLES LIKE '\\_inrush\\_%'").unwrap() {
                        let name = row.text(0).unwrap();
                        let _ = mallory.exec(&format!("DROP VIEW IF EXISTS `{name}`"));
                    }
                    let _ = mallory.exec(&format!("{view} WITH CHECK OPTION"));
                }
            }
        }
    });
    let (begun, mut count) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_secs(seconds) {
        let words = RACED[count % RACED.len()];
        let outcome = run(&mut trap.command(words));
        trap.safe(&outcome, &format!("load {count}, {words}"));
        count += 1;
    }
    over.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    println!("{count} loads");
}

#[test]
fn a_table_that_is_swapped_for_a_view_all_the_time_runs_no_function() {
    race(5);
}

#[test]
#[ignore = "takes a minute: make soak"]
fn a_table_that_is_swapped_for_a_view_for_a_minute_runs_no_function() {
    race(60);
}
