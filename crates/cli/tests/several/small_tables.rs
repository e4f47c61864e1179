//! Small tables get their rows in one transaction: all of them, or none, whatever happens.

use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt;

use testkit::{TestServer, TestServerOptions};

use super::yard::Yard;
use crate::scene::Mode;
use crate::support::{Desk, Home, Outcome, finish, resume, run, start, wait_paused};

const KILL: i32 = 9;
/// Rows of the tables of a yard.
const FEW: [u32; 3] = [30, 400, 100];

fn yard(server: &TestServer) -> Yard<'_> {
    Yard::of(server, Mode::Insert, FEW)
}

/// The report, or the plan, of a command.
#[track_caller]
fn json(outcome: &Outcome) -> serde_json::Value {
    serde_json::from_str(&outcome.done().out).unwrap()
}

fn words(tables: &serde_json::Value, key: &str) -> Vec<String> {
    let of_one = |table: &serde_json::Value| table[key].as_str().unwrap_or_default().to_owned();
    tables["tables"].as_array().unwrap().iter().map(of_one).collect()
}

#[test]
fn small_tables_get_their_rows_by_one_transaction_and_plan_says_so() {
    let Some(server) = TestServer::shared() else { return };
    let mut yard = yard(server);
    let cache = yard.home.path().join("cache");
    let mut plan = yard.home.inrush(["plan", "--json", "--into", &yard.database, "--socket"]);
    plan.env("XDG_CACHE_HOME", &cache);
    let plan = json(&run(plan.arg(server.socket()).arg(yard.folder())));
    assert!(!yard.is_new());
    let mut load = yard.command();
    load.env("XDG_CACHE_HOME", &cache);
    let report = json(&run(load.args(["--path", "auto", "--json"])));
    // No order of keys was learned.
    assert!(!cache.exists());
    for told in [&plan, &report] {
        assert_eq!(words(told, "path"), ["stream"; 3]);
        assert!(words(told, "why").iter().all(|why| why.contains("the input is small")));
    }
    assert!(words(&plan, "destination").iter().all(|why| why.contains("one transaction")));
    for table in report["tables"].as_array().unwrap() {
        assert_eq!(table["logical"]["destination"], "transaction", "{table}");
        assert_eq!(table["warnings"].as_array().unwrap().len(), 0, "{table}");
    }
    assert_eq!(report["rows"].as_u64(), Some(u64::from(FEW.iter().sum::<u32>())));
    assert_eq!(report["atomic"], true);
    assert!(yard.is_new());
    yard.clean("after it");
}

/// The ledger of an interrupted append whose rows are gone goes with the load that fills the table anew, or the
/// append would take rows for loaded that are not there.
#[test]
fn ledgers_of_rows_that_are_gone_go_with_the_load() {
    let Some(server) = TestServer::shared() else { return };
    let mut yard = yard(server);
    let file = yard.home.file("c.txt", "900001\t1\ta\tb\n");
    let mut append = yard.home.load(server, &format!("{}.c", yard.database), &file);
    append.args(["--mode", "append", "--path", "stream"]);
    let killed = run(append.env("INRUSH_FAILPOINT", "rows.end=kill"));
    assert_eq!(killed.status.signal(), Some(KILL), "{killed:?}");
    let mut session = server.connect().unwrap();
    let ledgers = format!("SHOW TABLES FROM `{}` LIKE '\\_inrush%'", yard.database);
    assert_eq!(session.query(&ledgers).unwrap().len(), 1);
    session.exec(&format!("DELETE FROM `{}`.c", yard.database)).unwrap();
    json(&run(yard.command().args(["--path", "auto", "--json"])));
    assert!(yard.is_new());
    assert_eq!(session.query(&ledgers).unwrap().len(), 0);
}

/// Somebody has not committed a row of the last table: writers to the first one go on meanwhile.
#[test]
fn who_writes_to_one_table_does_not_wait_for_another() {
    let Some(server) = TestServer::shared() else { return };
    let mut yard = yard(server);
    let into = |table: &str| {
        format!("INSERT INTO {}.{table} VALUES (1000000, 2, 'mine', 'too')", yard.database)
    };
    let (mut holder, mut writer) = (server.connect().unwrap(), server.connect().unwrap());
    holder.exec("START TRANSACTION").unwrap();
    holder.exec(&into("c")).unwrap();
    let load = start(yard.command().args(["--path", "auto", "--json"]));
    std::thread::sleep(std::time::Duration::from_secs(3));
    writer.exec("SET innodb_lock_wait_timeout=5").unwrap();
    for table in ["a", "b", "a"] {
        writer.exec("START TRANSACTION").unwrap();
        writer.exec(&into(table)).unwrap();
        writer.exec("ROLLBACK").unwrap();
    }
    holder.exec("ROLLBACK").unwrap();
    json(&finish(load));
    assert!(yard.is_new());
    yard.clean("after it");
}

/// Where the tables are large, old rows are replaced, or somebody has said so.
#[test]
fn other_tables_are_built_as_ever() {
    let Some(server) = TestServer::shared() else { return };
    // MySQL takes longer to build a table.
    let many = if server.is_mysql() { 80_000 } else { 20_000 };
    for (mode, rows, more) in [
        (Mode::Insert, [300, many, 3_000], "auto"),
        (Mode::Replace, FEW, "auto"),
        (Mode::Insert, FEW, "direct"),
    ] {
        let mut yard = Yard::of(server, mode, rows);
        let report = json(&run(yard.command().args(["--path", more, "--json"])));
        assert_eq!(words(&report, "path"), ["direct"; 3], "{mode:?} {rows:?}");
        assert!(yard.is_new());
    }
    let yard = yard(server);
    let report = run(yard
        .home
        .load(server, &yard.database, &yard.folder().join("a.txt"))
        .args(["--path", "auto", "--json"]));
    // One small table alone goes in as several do.
    assert_eq!(words(&json(&report), "path"), ["stream"]);
}

#[test]
fn a_bad_row_in_the_last_small_file_leaves_every_table_empty() {
    let Some(server) = TestServer::shared() else { return };
    let mut yard = yard(server);
    let last = yard.folder().join("a.txt");
    let mut text = std::fs::read_to_string(&last).unwrap();
    text.push_str("x\t1\tn\tb\n");
    std::fs::write(&last, text).unwrap();
    let refused = run(yard.command().args(["--path", "auto"]));
    refused.refused(1, &[&format!("{}.a: ", yard.database), "line 31", "none of the 3 tables"]);
    assert!(!yard.is_new());
    yard.clean("after a bad row");
    let loaded = run(yard.command().args(["--path", "auto", "--rejects-max", "1"]));
    assert_eq!(loaded.code(), 3, "{loaded:?}");
    assert!(yard.is_new(), "all but the bad row");
    yard.clean("with a rejected row");
}

/// Rows with one key show themselves to the server alone.
#[test]
fn two_rows_with_one_key_leave_every_small_table_empty() {
    let Some(server) = TestServer::shared() else { return };
    let mut yard = yard(server);
    let last = yard.folder().join("a.txt");
    let mut text = std::fs::read_to_string(&last).unwrap();
    writeln!(text, "7\t999999\tn\tb").unwrap();
    std::fs::write(&last, text).unwrap();
    let refused = run(yard.command().args(["--path", "auto"]));
    refused.refused(1, &[&format!("{}.a: ", yard.database), "line 31", "none of the 3 tables"]);
    assert!(!yard.is_new());
    yard.clean("after a duplicate");
}

#[test]
fn small_tables_killed_at_any_step_are_all_empty_or_all_full() {
    let Some(server) = TestServer::shared() else { return };
    let mut yard = yard(server);
    for (place, is_new) in [
        ("inspect.end", false),
        ("b.rows.begin", false),
        ("b.rows.end", false),
        ("a.rows.end", false),
        ("publish.begin", false),
        ("publish.commit", false),
        ("publish.committed", true),
        ("job.end", true),
    ] {
        yard.reset();
        let killed = run(yard.load_with(&format!("{place}=kill")).args(["--path", "auto"]));
        assert_eq!(killed.status.signal(), Some(KILL), "{place}: {killed:?}");
        assert_eq!(yard.is_new_when_settled(), is_new, "{place}");
        yard.again(place);
    }
}

#[test]
fn a_server_killed_while_small_tables_are_loaded_has_all_empty_or_all_full_ones() {
    let options = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    for (place, is_new) in
        [("c.rows.begin", false), ("publish.commit", false), ("publish.committed", true)]
    {
        let mut yard = yard(&server);
        let command = &mut yard.load_with(&format!("{place}=pause"));
        let mut child = start(command.args(["--path", "auto"]));
        wait_paused(&mut child);
        server.kill_9().unwrap();
        resume(&child);
        let outcome = finish(child);
        server.restart().unwrap_or_else(|error| panic!("{place}: {error}"));
        yard.reconnect();
        assert_eq!(outcome.code(), i32::from(!is_new), "{place}: {outcome:?}");
        assert_eq!(yard.is_new(), is_new, "{place}");
        yard.again(place);
    }
}

#[test]
fn rows_that_come_into_a_small_table_meanwhile_stop_the_load_of_all() {
    let Some(server) = TestServer::shared() else { return };
    let mut yard = yard(server);
    let alter = "ALTER TABLE {}.a ADD COLUMN late INT";
    for (sql, said) in [
        ("INSERT INTO {}.a VALUES (1, 2, 'mine', 'too')", "no longer empty"),
        (alter, "definition changed during the load"),
    ] {
        yard.reset();
        let command = &mut yard.load_with("transaction.begin=pause");
        let mut child = start(command.args(["--path", "auto"]));
        wait_paused(&mut child);
        yard.session.exec(&sql.replace("{}", &yard.database)).unwrap();
        resume(&child);
        let refused = finish(child);
        refused.refused(1, &[&format!("{}.a", yard.database), said, "none of the 3 tables"]);
        let count = format!("SELECT COUNT(*) FROM {0}.b", yard.database);
        assert_eq!(yard.session.query_text(&count).unwrap().as_deref(), Some("0"));
        yard.clean("after others");
    }
}

/// Parents come first, though their file is the smaller one; circles are built, since no order suits them.
#[test]
fn small_tables_with_foreign_keys_get_their_rows_by_one_transaction_too() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE shop (id INT PRIMARY KEY)");
    desk.exec(
        "CREATE TABLE sale (id INT PRIMARY KEY, shop INT, \
         CONSTRAINT of_shop FOREIGN KEY (shop) REFERENCES shop (id))",
    );
    // The tables are emptied behind each load, in any order.
    desk.exec("SET foreign_key_checks=0");
    std::fs::create_dir(desk.home.path().join("in")).unwrap();
    desk.home.file("in/shop.txt", "7\n8\n");
    desk.home.file("in/sale.txt", "1\t7\n2\t\\N\n3\t9\n4\t8\n");
    let load = |desk: &mut Desk, more: &[&str]| {
        let mut command = desk.home.inrush(["load", "--json", "--into", &desk.database, "in"]);
        let outcome = run(command.arg("--socket").arg(desk.server.socket()).args(more));
        let counts = desk.rows("SELECT (SELECT COUNT(*) FROM shop), (SELECT COUNT(*) FROM sale)");
        desk.exec("DELETE FROM sale");
        desk.exec("DELETE FROM shop");
        (outcome, counts)
    };
    let (refused, counts) = load(&mut desk, &[]);
    refused.refused(1, &["sale.txt line 3", "of_shop", "none of the 2 tables"]);
    assert_eq!(counts, ["0|0"]);
    let (loaded, counts) = load(&mut desk, &["--rejects-max", "1"]);
    assert_eq!((loaded.code(), counts), (3, vec!["2|3".to_owned()]), "{loaded:?}");
    let report: serde_json::Value = serde_json::from_str(&loaded.out).unwrap();
    assert_eq!(words(&report, "path"), ["stream"; 2]);
    assert!(words(&report, "target")[1].ends_with(".sale"), "{report}");
    let (unchecked, counts) = load(&mut desk, &["--no-foreign-key-checks"]);
    assert!(unchecked.done().out.contains("foreign keys were not checked"), "{unchecked:?}");
    assert_eq!(counts, ["2|4"]);

    desk.exec("ALTER TABLE shop ADD COLUMN best INT, ADD FOREIGN KEY (best) REFERENCES sale (id)");
    desk.home.file("in/shop.txt", "7\t4\n8\t1\n");
    desk.home.file("in/sale.txt", "1\t7\n4\t8\n");
    assert_eq!(words(&json(&load(&mut desk, &["--mode", "insert"]).0), "path"), ["direct"; 2]);
}

#[test]
fn a_signal_stops_the_load_of_small_tables() {
    let Some(server) = TestServer::shared() else { return };
    let mut yard = yard(server);
    let command = &mut yard.load_with("c.rows.begin=pause");
    let mut child = start(command.args(["--path", "auto"]));
    wait_paused(&mut child);
    crate::support::signal(child.id(), "-INT");
    resume(&child);
    finish(child).refused(1, &["stopped by SIGINT during", "the 3 tables of"]);
    assert!(!yard.is_new_when_settled());
    yard.clean("after a signal");
}

/// The figures of docs/benchmarks.md, on a server that syncs at each commit.
#[test]
#[ignore = "a measurement"]
fn small_tables_measured() {
    let options = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    println!("| rows a table | direct, ms | one transaction, ms |\n| --- | --- | --- |");
    for rows in [1, 10, 100, 1_000, 2_000, 4_000, 10_000, 100_000] {
        let tables = (200_000 / rows).clamp(4, 100);
        let lots = Lots::new(&server, tables, rows);
        let times = ["direct", "auto"].map(|path| lots.further_ms(path));
        println!("| {rows} | {:.1} | {:.1} |", times[0], times[1]);
        match rows {
            1..=100 => assert!(times[1] < times[0], "{rows}: {times:?}"),
            100_000 => assert!(times[0] < times[1], "{rows}: {times:?}"),
            _ => {}
        }
    }
}

/// Tables of the same rows, of some 39 bytes each.
struct Lots<'a> {
    server: &'a TestServer,
    home: Home,
    database: String,
    tables: usize,
}

impl Lots<'_> {
    fn new(server: &TestServer, tables: usize, rows: usize) -> Lots<'_> {
        let home = Home::new();
        let day = |n: usize| n % 28 + 1;
        let row = |n: usize| {
            format!("{n}\t{}\tname {n} {}\t2024-01-{:02}\t{n}.25\n", n % 997, n * 7, day(n))
        };
        let text: String = (1..=rows).map(row).collect();
        (0..tables).for_each(|table| drop(home.file(&format!("t{table}.txt"), &text)));
        Lots { server, home, database: server.database().unwrap(), tables }
    }

    /// The time of each table after the second: the least of some rounds.
    fn further_ms(&self, path: &str) -> f64 {
        let least = |count| (0..5).map(|_| self.round(count, path)).fold(f64::MAX, f64::min);
        (least(self.tables) - least(2)) / (self.tables - 2) as f64
    }

    /// Milliseconds of one command.
    fn round(&self, count: usize, path: &str) -> f64 {
        let mut session = self.server.connect().unwrap();
        let Lots { server, home, database, .. } = self;
        let mut command = home.inrush(["load", "--json", "--into", database, "--path", path]);
        command.arg("--socket").arg(server.socket()).env("INRUSH_FAILPOINT", "tables=small");
        for table in 0..count {
            let name = format!("{database}.t{table}");
            session.exec(&format!("DROP TABLE IF EXISTS {name}")).unwrap();
            let columns = "id INT PRIMARY KEY, k INT NOT NULL, name VARCHAR(60), d DATE, \
                 price DECIMAL(10,2), KEY k (k)";
            session.exec(&format!("CREATE TABLE {name} ({columns}) ENGINE=InnoDB")).unwrap();
            command.arg(home.path().join(format!("t{table}.txt")));
        }
        let report = json(&run(&mut command));
        let expected = if path == "direct" { "direct" } else { "stream" };
        assert!(words(&report, "path").iter().all(|path| path == expected), "{report}");
        report["seconds"].as_f64().unwrap() * 1e3
    }
}
