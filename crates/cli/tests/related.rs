//! Loads of tables with foreign keys beside applications that write to these tables, and beside each other: nobody
//! waits for a load that waits for somebody.

use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use server::Session;
use testkit::TestServer;

use crate::support::{Desk, Home, Outcome, PATIENCE, finish, run, start};

/// Old loads kept others waiting for all of their 60 s; a turn takes one.
const LONG: Duration = Duration::from_secs(30);

/// A parent with rows 1 to 9, and a child with a row.
const SCHEMA: &str = "\
    USE `@`; CREATE TABLE p (a INT PRIMARY KEY) ENGINE=InnoDB; \
    CREATE TABLE c (a INT PRIMARY KEY, b INT, KEY (b), FOREIGN KEY (b) REFERENCES p (a)) \
        ENGINE=InnoDB; \
    CREATE VIEW v AS SELECT a FROM p; \
    CREATE TABLE u (a INT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB; \
    INSERT INTO p VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9); INSERT INTO c VALUES (1, 1)";

struct Shop<'a> {
    server: &'a TestServer,
    session: Session,
    home: Home,
    database: String,
}

impl<'a> Shop<'a> {
    fn new(server: &'a TestServer) -> Shop<'a> {
        let database = server.database().unwrap();
        server.script(&SCHEMA.replace('@', &database)).unwrap();
        let mut shop =
            Shop { server, session: server.connect().unwrap(), home: Home::new(), database };
        shop.session = shop.connect();
        shop
    }

    fn connect(&self) -> Session {
        let mut session = self.server.connect().unwrap();
        session.exec(&format!("USE {}", self.database)).unwrap();
        session
    }

    /// A load of rows that begin at `first` into one of the tables.
    fn load(&self, table: &str, first: u32, mode: &str) -> Command {
        let mut text = String::new();
        for row in first..first + 2_000 {
            text += &if table == "p" { format!("{row}\n") } else { format!("{row}\t1\n") };
        }
        self.load_text(table, &text, mode)
    }

    fn load_text(&self, table: &str, text: &str, mode: &str) -> Command {
        let file = self.home.file(&format!("{table}-{mode}"), text);
        let mut command = self.home.load(self.server, &format!("{}.{table}", self.database), &file);
        command.args(["--mode", mode]);
        command
    }

    fn count(&mut self, sql: &str) -> u64 {
        self.session.query_row(sql).unwrap().number(0).unwrap()
    }

    /// Rows of the child without a parent.
    fn orphans(&mut self) -> u64 {
        self.count("SELECT COUNT(*) FROM c LEFT JOIN p ON p.a=c.b WHERE p.a IS NULL")
    }
}

/// Reads what a load says until it waits for a lock; gives the rest.
fn wait_until_it_waits(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let line = said.find(|line| line.contains("waiting for a lock on "));
    assert!(line.is_some(), "the load never waited");
    said
}

#[test]
fn a_transaction_that_a_load_waits_for_never_waits_for_the_load() {
    let Some(server) = TestServer::start() else { return };
    let (parent, child) = ("INSERT INTO p VALUES (10)", "INSERT INTO c VALUES (10, 1)");
    for (first, second, table, mode) in [
        (parent, child, "c", "append"),
        (child, parent, "c", "append"),
        (child, parent, "p", "append"),
        (parent, child, "p", "append"),
        (child, parent, "c", "replace"),
        (parent, child, "c", "replace"),
        // The load waits for a reader of one table, who waits for another that the load has.
        ("SELECT COUNT(*) FROM c", parent, "c", "append"),
        ("SELECT COUNT(*) FROM c", "INSERT INTO v VALUES (10)", "c", "append"),
        ("SELECT COUNT(*) FROM c", parent, "c", "replace"),
    ] {
        let when = format!("{first}, {second}, {mode} {table}");
        let mut shop = Shop::new(&server);
        let (mut other, mut third) = (shop.connect(), shop.connect());
        other.exec("START TRANSACTION").unwrap();
        other.exec(first).unwrap();
        let mut load = start(&mut shop.load(table, 100_000, mode));
        let rest = wait_until_it_waits(&mut load);
        let begun = Instant::now();
        // It has a table that the load waits for, and gets another that the load has.
        other.exec(second).unwrap_or_else(|error| panic!("{when}: {error}"));
        third.exec("INSERT INTO c VALUES (11, 1)").unwrap();
        assert!(begun.elapsed() < LONG, "{when}: {:?}", begun.elapsed());
        other.exec("COMMIT").unwrap();
        let rest: Vec<String> = rest.collect();
        assert_eq!(finish(load).code(), 0, "{when}: {rest:?}");
        assert_eq!(shop.orphans(), 0, "{when}");
        let rows = shop.count(&format!("SELECT COUNT(*) FROM {table}"));
        let kept = match (table, mode) {
            ("p", _) => 10,
            // The row of the schema, that of the third, and that of the transaction.
            (_, "append") if [first, second].contains(&child) => 3,
            (_, "append") => 2,
            _ => 0,
        };
        assert_eq!(rows, 2_000 + kept, "{when}");
    }
}

/// A transaction that has read the table and is open keeps a merge from its place.
#[test]
fn a_merge_that_others_wait_for_lets_them_go_on() {
    let Some(server) = TestServer::start() else { return };
    let text: String = (1..=2_000).map(|row| format!("{row}\n")).collect();
    // Input that can be read again is merged again, when the reader has ended.
    for (path, is_pipe, loaded) in
        [("direct", false, 2_000), ("direct", true, 0), ("auto", false, 2_000)]
    {
        let when = format!("{path}, a pipe: {is_pipe}");
        let mut shop = Shop::new(&server);
        let mut reader = shop.connect();
        reader.exec("START TRANSACTION").unwrap();
        assert_eq!(reader.query("SELECT * FROM u").unwrap().len(), 0);
        let mut writer = shop.connect();
        shop.session.exec("INSERT INTO u VALUES (5000)").unwrap();
        let mut command = shop.load_text("u", &text, "append");
        if is_pipe {
            let into = format!("{}.u", shop.database);
            command = shop.home.load(&server, &into, Path::new("-"));
            command.args(["--mode", "append"]);
        }
        command.args(["--path", path]).stdin(Stdio::piped());
        let mut load = start(&mut command);
        let mut input = load.stdin.take().unwrap();
        // Less than a pipe has room for.
        input.write_all(if is_pipe { text.as_bytes() } else { &[] }).unwrap();
        drop(input);
        let rest = (path == "direct").then(|| wait_until_it_waits(&mut load));
        let begun = Instant::now();
        writer.exec("INSERT INTO u VALUES (6000)").unwrap();
        assert!(begun.elapsed() < LONG, "{when}: {:?}", begun.elapsed());
        // Nobody waits for the last attempt.
        reader.exec("COMMIT").unwrap();
        let rest: Vec<String> = rest.map_or_else(Vec::new, Iterator::collect);
        let outcome = finish(load);
        assert_eq!(outcome.code(), i32::from(loaded == 0), "{when}: {rest:?} {outcome:?}");
        let said = format!("{rest:?} {outcome:?}");
        let is_merged_again = said.contains("the rows were merged ");
        assert_eq!(is_merged_again, path == "direct" && !is_pipe, "{when}: {said}");
        assert_eq!(said.contains("while others waited for the load"), is_pipe, "{when}: {said}");
        assert_eq!(shop.count("SELECT COUNT(*) FROM u"), 2 + loaded, "{when}: {said}");
    }
}

/// An open transaction keeps each attempt to replace the table from its end, and writers behind that attempt.
#[test]
fn the_report_has_the_longest_wait_of_others() {
    let Some(server) = TestServer::start() else { return };
    let shop = Shop::new(&server);
    let (mut holder, view) = (shop.connect(), &shop);
    holder.exec("START TRANSACTION").unwrap();
    assert_eq!(holder.query("SELECT * FROM u").unwrap().len(), 0);
    let text: String = (100_001..=102_000).map(|row| format!("{row}\n")).collect();
    let mut load = view.load_text("u", &text, "append");
    let is_over = AtomicBool::new(false);
    let (outcome, longest) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let (mut session, mut longest) = (view.connect(), Duration::ZERO);
            while !is_over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                session.exec("INSERT INTO u VALUES (NULL)").unwrap();
                longest = longest.max(begun.elapsed());
                if longest > Duration::from_millis(500) {
                    holder.exec("COMMIT").unwrap();
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            longest
        });
        let outcome = run(load.args(["--path", "direct", "--json"]));
        is_over.store(true, Ordering::Relaxed);
        (outcome, writer.join().unwrap())
    });
    let report: serde_json::Value = serde_json::from_str(&outcome.done().out).unwrap();
    let waited = report["writers_waited_seconds"].as_f64().unwrap();
    // The writer's clock has the way to the server and its turn on the processor, too.
    assert!(waited > 0.3 && longest.as_secs_f64() < waited + 2.0, "{waited}, {longest:?}");
    assert!(waited < 5.0, "a turn takes a second: {waited}");
    assert!(report["readers_waited_seconds"].as_f64().unwrap() <= waited, "{report}");
}

#[test]
fn prepared_transactions_are_waited_for_if_they_touch_the_tables_and_named() {
    let Some(server) = TestServer::start() else { return };
    let mut shop = Shop::new(&server);
    let prepare = |shop: &Shop<'_>, id: &str, sql: &str| {
        let mut session = shop.connect();
        for sql in [&format!("XA START '{id}'"), sql, &format!("XA END '{id}'")] {
            session.exec(sql).unwrap();
        }
        session.exec(&format!("XA PREPARE '{id}'")).unwrap();
    };
    prepare(&shop, "elsewhere", "INSERT INTO u VALUES (1)");
    for is_restarted in [false, true] {
        if is_restarted {
            server.kill_9().unwrap();
            server.restart().unwrap();
            shop.session = shop.connect();
        }
        for (table, mode) in [("c", "append"), ("p", "append"), ("c", "replace")] {
            let first = if is_restarted { 200_000 } else { 100_000 };
            run(&mut shop.load(table, first, mode)).done();
        }
    }
    // On a table that the loaded one refers to: nobody who writes to another waits meanwhile.
    prepare(&shop, "coordinator", "INSERT INTO p VALUES (50)");
    for is_restarted in [false, true] {
        if is_restarted {
            server.kill_9().unwrap();
            server.restart().unwrap();
            shop.session = shop.connect();
        }
        for (table, mode) in [("c", "append"), ("p", "append"), ("c", "replace"), ("p", "replace")]
        {
            let mut command = shop.load(table, 300_000, mode);
            let outcome = run(command.args(["--lock-wait", "2"]));
            let named = ["no lock on ", ".p within 2 s", "'coordinator'", ", for "];
            outcome.refused(1, &named);
        }
    }
    shop.session.exec("XA ROLLBACK 'coordinator'").unwrap();
    run(&mut shop.load("c", 300_000, "append")).done();
    shop.session.exec("XA ROLLBACK 'elsewhere'").unwrap();
}

/// Applications that write to both tables, each transaction in one order, until it is dropped.
struct Writers {
    is_over: AtomicBool,
    done: AtomicU64,
    failed: AtomicU64,
    longest_ms: AtomicU64,
}

impl Writers {
    /// Transactions of one application, about so many a second, with keys from `first` on.
    fn work(&self, shop: &Shop<'_>, first: u32, pause: Duration, is_parent_first: bool) {
        let mut session = shop.connect();
        let mut key = first;
        while !self.is_over.load(Ordering::Relaxed) {
            key += 1;
            let parent = format!("INSERT INTO p VALUES ({key})");
            let child = format!("INSERT INTO c VALUES ({key}, 1)");
            let both = if is_parent_first { [parent, child] } else { [child, parent] };
            let begun = Instant::now();
            let mut transaction = || -> server::error::Result<()> {
                session.exec("START TRANSACTION")?;
                both.iter().try_for_each(|sql| session.exec(sql).map(drop))?;
                session.exec("COMMIT").map(drop)
            };
            let ended = transaction();
            let took = u64::try_from(begun.elapsed().as_millis()).unwrap();
            self.longest_ms.fetch_max(took, Ordering::Relaxed);
            match ended {
                Ok(()) => drop(self.done.fetch_add(1, Ordering::Relaxed)),
                Err(error) if matches!(error.errno(), Some(1205 | 1213)) => {
                    self.failed.fetch_add(1, Ordering::Relaxed);
                    session.exec("ROLLBACK").unwrap();
                }
                Err(error) => panic!("{error}"),
            }
            std::thread::sleep(pause);
        }
    }
}

/// 200 transactions a second by eight connections, while loads of every kind go on for so many rounds.
fn under_load(rounds: u32) {
    let Some(server) = TestServer::start() else { return };
    for orders in [[true; 8], [false; 8], [true, false, true, false, true, false, true, false]] {
        let mut shop = Shop::new(&server);
        let writers = Writers {
            is_over: AtomicBool::new(false),
            done: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            longest_ms: AtomicU64::new(0),
        };
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let (writers, view) = (&writers, &shop);
            for (at, is_parent_first) in (1..).zip(orders) {
                let pause = Duration::from_millis(38);
                scope.spawn(move || writers.work(view, at * 1_000_000, pause, is_parent_first));
            }
            let ended: Vec<Outcome> = (0..rounds)
                .flat_map(|round| {
                    [(round, "c", "append"), (round, "p", "append"), (round, "c", "replace")]
                })
                .map(|(round, table, mode)| {
                    run(&mut view.load(table, 100_000_000 + round * 10_000, mode))
                })
                .collect();
            writers.is_over.store(true, Ordering::Relaxed);
            for outcome in &ended {
                outcome.done();
            }
        });
        assert_eq!(shop.orphans(), 0);
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (done, failed) = (of(&writers.done), of(&writers.failed));
        // No row of theirs is lost by a merge.
        let parents = 9 + done + u64::from(rounds) * 2_000;
        assert_eq!(shop.count("SELECT COUNT(*) FROM p"), parents, "{orders:?}");
        let (longest, seconds) = (of(&writers.longest_ms), begun.elapsed().as_secs_f64());
        println!("{done} transactions in {seconds:.1} s, {failed} failed, longest {longest} ms");
        // One may always be unlucky.
        assert!(failed <= 1 + done / 1_000, "{failed} of {done} failed, {orders:?}");
        assert!(u128::from(longest) < LONG.as_millis(), "{longest} ms");
    }
}

#[test]
fn loads_among_transactions_of_both_tables_succeed() {
    under_load(1);
}

#[test]
#[ignore = "a minute or more; make test-more runs it"]
fn loads_among_transactions_of_both_tables_succeed_again_and_again() {
    under_load(12);
}

#[test]
fn loads_of_related_tables_at_once_all_work() {
    let Some(desk) = Desk::new() else { return };
    for modes in [
        [("p", "append"), ("c", "append")],
        [("p", "replace"), ("c", "append")],
        [("p", "append"), ("c", "replace")],
        [("p", "replace"), ("c", "replace")],
    ] {
        let mut shop = Shop::new(desk.server);
        let loads: Vec<Child> = modes
            .iter()
            .map(|&(table, mode)| {
                // The rows that are there are among those that replace them.
                let first = if mode == "replace" { 1 } else { 100_000 };
                start(&mut shop.load(table, first, mode))
            })
            .collect();
        let begun = Instant::now();
        for (load, which) in loads.into_iter().zip(modes) {
            let outcome = finish(load);
            assert_eq!(outcome.code(), 0, "{which:?} of {modes:?}: {outcome:?}");
        }
        assert!(begun.elapsed() < PATIENCE);
        assert_eq!(shop.orphans(), 0, "{modes:?}");
    }
}
