//! The machine loses its power, with the server's files, the journal and the temporary folder on one disk.
//!
//! A method runs once on a disk that remembers what was done to it ([`testkit::power`]). Each of many moments
//! gives a disk as it may be after a power cut there: the server starts on it, the tables are the old ones or the
//! new ones, and the same command leads to the new ones. Behind the end of the command they are the new ones.
//! `INRUSH_TEST_CUTS` says how many moments; `INRUSH_SEED` makes others of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use server::Session;
use testkit::power::{Files, Operations, PowerCut, PowerDisk};
use testkit::{Random, TestServer, TestServerOptions};

use crate::support::{COLUMNS, Contents, Home, check_table, contents, lines, names, run, tables};

const ROWS: u32 = 1_200;
/// Tables of the same columns. Rows of `child` refer to those of `r`.
const ALIKE: [&str; 5] = ["a", "b", "p", "r", "t"];
const ALL_TABLES: [&str; 6] = ["a", "b", "child", "p", "r", "t"];

/// The tables, the files for them, and what tables hold.
struct World {
    files: Files,
    home: Home,
    file: PathBuf,
    folder: PathBuf,
    dump: PathBuf,
    old: Contents,
    replaced: Contents,
    appended: Contents,
}

/// The state of the tables of a method between its begin and its end.
#[derive(Clone, Copy, PartialEq)]
enum Promise {
    /// All old or all new.
    Whole,
    /// Some new rows: the same command adds the others, each once.
    Continues,
}

struct Method {
    name: &'static str,
    /// Options of the load into `t`, or what is loaded in its place.
    arguments: &'static [&'static str],
    tables: &'static [&'static str],
    adds: bool,
    promise: Promise,
}

fn options(in_place: Option<PathBuf>) -> TestServerOptions {
    let extra =
        vec!["--innodb-log-file-size=4M".to_owned(), "--innodb-buffer-pool-size=16M".to_owned()];
    TestServerOptions { durable: true, extra, in_place, ..TestServerOptions::default() }
}

/// Made once: a database with tables of the same old rows.
fn world() -> Option<&'static World> {
    static WORLD: OnceLock<Option<World>> = OnceLock::new();
    WORLD.get_or_init(|| PowerDisk::is_possible().then(World::new).flatten()).as_ref()
}

impl World {
    fn new() -> Option<World> {
        let server = TestServer::start_with(&options(None))?;
        let mut session = server.connect().unwrap();
        let home = Home::new();
        let file = home.file("t.txt", lines(ROWS));
        let folder = home.path().join("folder");
        std::fs::create_dir(&folder).unwrap();
        for name in ["a.txt", "b.txt"] {
            std::fs::copy(&file, folder.join(name)).unwrap();
        }
        session.exec("CREATE DATABASE d CHARACTER SET latin1").unwrap();
        let old = "SELECT -seq, -seq * 3, CONCAT('old ', seq), IF(seq % 40, NULL, REPEAT('long ', 4000)) \
                   FROM d.seq_1_to_300";
        for table in ALIKE {
            session.exec(&format!("CREATE TABLE d.{table} {COLUMNS}")).unwrap();
        }
        let child = "CREATE TABLE d.child (a INT PRIMARY KEY, of_r INT, KEY (of_r), FOREIGN KEY (of_r) REFERENCES d.r (id)) ENGINE=InnoDB";
        session.exec(child).unwrap();
        session.exec("INSERT INTO d.child VALUES (1, NULL)").unwrap();
        session.exec("ALTER TABLE d.p DROP KEY n, ADD UNIQUE KEY n (n, id)").unwrap();
        session.exec("ALTER TABLE d.p PARTITION BY HASH (id) PARTITIONS 3").unwrap();
        for table in ALIKE {
            session.exec(&format!("INSERT INTO d.{table} {old}")).unwrap();
        }
        let mut filled = |rows: &str| {
            session.exec(&format!("CREATE TABLE d.reference {COLUMNS}")).unwrap();
            session.exec(&format!("INSERT INTO d.reference {rows}")).unwrap();
            let sql = "LOAD DATA LOCAL INFILE 'x' INTO TABLE d.reference";
            session.load_local(sql, std::fs::File::open(&file).unwrap()).unwrap();
            let seen = contents(&mut session, "d.reference");
            session.exec("DROP TABLE d.reference").unwrap();
            seen
        };
        let (appended, replaced) = (filled(old), filled(&format!("{old} LIMIT 0")));
        let old = contents(&mut session, "d.t");
        let dump = dump(&home, &mut session);
        drop(session);
        server.stop().unwrap();
        let mut files = Files::default();
        files.add(server.datadir(), "data");
        files.add_empty("state");
        files.add_empty("tmp");
        Some(World { files, home, file, folder, dump, old, replaced, appended })
    }
}

/// A dump of two tables that replaces them.
fn dump(home: &Home, session: &mut Session) -> PathBuf {
    let mut text = String::new();
    for table in ["a", "b"] {
        let made = session.query_row(&format!("SHOW CREATE TABLE d.{table}")).unwrap();
        text.push_str(&format!("DROP TABLE IF EXISTS `{table}`;\n{};\n", made.text(1).unwrap()));
        for some in lines(ROWS).lines().collect::<Vec<_>>().chunks(100) {
            let rows = some.iter().map(|line| {
                let fields: Vec<&str> = line.split('\t').collect();
                let body =
                    if fields[3] == "\\N" { "NULL".into() } else { format!("'{}'", fields[3]) };
                format!("({},{},'{}',{body})", fields[0], fields[1], fields[2])
            });
            let rows: Vec<String> = rows.collect();
            text.push_str(&format!("INSERT INTO `{table}` VALUES {};\n", rows.join(",")));
        }
    }
    home.file("dump.sql", text)
}

/// A server on a mounted disk, and what is asked of it.
struct Machine<'a> {
    world: &'a World,
    method: &'a Method,
    server: TestServer,
    disk: PowerDisk,
}

impl<'a> Machine<'a> {
    fn start(world: &'a World, method: &'a Method, files: Files) -> Machine<'a> {
        let disk = PowerDisk::mount(&format!("power-{}", method.name), files);
        let server = TestServer::start_with(&options(Some(disk.folder().join("data")))).unwrap();
        Machine { world, method, server, disk }
    }

    fn command(&self) -> Command {
        let World { home, file, folder, dump, .. } = self.world;
        let is_replay = self.method.name == "replay";
        let mut command = home.inrush([if is_replay { "replay" } else { "load" }]);
        match self.method.tables {
            _ if is_replay => command.arg(dump).args(["--into", "d"]),
            [table] => command.arg(file).args(["--into", &format!("d.{table}")]),
            _ => command.arg(folder).args(["--into", "d"]),
        };
        command.args(self.method.arguments).args(["--memory", "40M", "--threads", "2", "--socket"]);
        command.arg(self.server.socket());
        command.env("XDG_STATE_HOME", self.disk.folder().join("state"));
        command.env("TMPDIR", self.disk.folder().join("tmp"));
        command
    }

    fn new_contents(&self) -> &Contents {
        if self.method.adds { &self.world.appended } else { &self.world.replaced }
    }

    /// True if the tables are the new ones; panics if they are what they must not be.
    #[track_caller]
    fn look(&self, session: &mut Session, when: &str) -> bool {
        let mut seen = Vec::new();
        for table in self.method.tables {
            // A replay that is to be continued may have dropped a table.
            let is_there = tables(session, "d").iter().any(|name| name == table);
            if is_there || self.method.promise == Promise::Whole {
                seen.push(contents(session, &format!("d.{table}")));
                check_table(session, &format!("d.{table}"));
            }
        }
        let is_new = seen.len() == self.method.tables.len()
            && seen.iter().all(|seen| seen == self.new_contents());
        let is_old = seen.iter().all(|seen| *seen == self.world.old);
        let is_fine = is_new || is_old || self.method.promise == Promise::Continues;
        assert!(is_fine, "{when}: neither old nor new: {seen:?}");
        is_new
    }

    /// The same command again, and nothing but the tables is there.
    #[track_caller]
    fn again(&self, session: &mut Session, was_new: bool, when: &str) {
        let again = run(&mut self.command());
        let said = ["as a row of the table", "already has a row with this key"];
        let is_refused = again.code() == 1 && said.iter().any(|text| again.err.contains(text));
        let is_done = again.code() == 0 || self.method.adds && was_new && is_refused;
        assert!(is_done, "{when}: {again:?}");
        assert!(self.look(session, when), "{when}: {again:?}");
        assert_eq!(tables(session, "d"), ALL_TABLES, "{when}");
        let orphan = session.exec("INSERT INTO d.child VALUES (2, 123456789)").unwrap_err();
        assert_eq!(orphan.errno(), Some(1452), "{when}: {orphan}");
        let left = |name: &String| name.contains("inrush");
        let left: Vec<String> =
            names(&self.server.datadir().join("d")).into_iter().filter(left).collect();
        assert_eq!(left, [""; 0], "{when}");
    }

    fn lose_power(self) -> Operations {
        self.server.kill_9().unwrap();
        self.disk.unmount()
    }
}

/// The operations on the disk, and the numbers of them at which the command began and ended.
fn recorded(world: &World, method: &Method) -> (Operations, [usize; 2]) {
    let machine = Machine::start(world, method, world.files.clone());
    let begun = machine.disk.operations_done();
    run(&mut machine.command()).done();
    let ended = machine.disk.operations_done();
    let mut session = machine.server.connect().unwrap();
    assert!(machine.look(&mut session, method.name));
    (machine.lose_power(), [begun, ended])
}

/// Moments of a command, most of them beside a sync, and some behind its end.
fn moments(operations: &Operations, [begun, ended]: [usize; 2], random: &mut Random) -> Vec<usize> {
    let cuts = std::env::var("INRUSH_TEST_CUTS").map_or(30, |text| text.parse().unwrap());
    let syncs: Vec<usize> =
        operations.syncs().into_iter().filter(|at| (begun..ended).contains(at)).collect();
    let moment = |turn: usize| match turn % 10 {
        0 => ended,
        1..=3 => random.between(begun, ended - 1),
        _ => random.pick(&syncs),
    };
    (0..cuts).map(moment).collect()
}

fn cuts_power(method: &Method) {
    let Some(world) = world() else { return };
    let (operations, ends) = recorded(world, method);
    let mut random = Random::new(Random::seed_of_run());
    let (mut news, mut failed) = (0, 0);
    // A partitioned table cannot be opened where a kill of the server alone comes in its RENAME (10.11.19).
    let renames = operations.renames("p");
    for done in moments(&operations, ends, &mut random) {
        let done = if renames.contains(&done) { renames.end } else { done };
        // Behind its end the program has made sure of its RENAME itself.
        let cut = PowerCut { done, seed: random.next_u64(), keeps_renames: done < ends[1] };
        let survive = || survives(world, method, &operations, ends, &cut);
        match catch_unwind(AssertUnwindSafe(survive)) {
            Ok(is_new) => news += u32::from(is_new),
            // Its message is printed already.
            Err(_) => {
                println!("failed: {cut:?} of {ends:?}");
                failed += 1;
            }
        }
    }
    println!("{}: new already {news} times", method.name);
    assert_eq!(failed, 0, "{}: failed cuts", method.name);
}

/// True if the tables were new already.
fn survives(
    world: &World,
    method: &Method,
    operations: &Operations,
    [begun, ended]: [usize; 2],
    cut: &PowerCut,
) -> bool {
    let when = format!("{}: {cut:?}, of {begun} to {ended}", method.name);
    let machine = Machine::start(world, method, operations.after_power_cut(&world.files, cut));
    let mut session = machine.server.connect().unwrap();
    let is_new = machine.look(&mut session, &when);
    assert!(is_new || cut.done < ended, "{when}: done, and lost");
    machine.again(&mut session, is_new, &when);
    drop(session);
    machine.lose_power();
    is_new
}

#[test]
fn a_built_table_survives_power_cuts() {
    let arguments = &["--mode", "replace", "--path", "direct"];
    let promise = Promise::Whole;
    cuts_power(&Method { name: "built", arguments, tables: &["t"], adds: false, promise });
}

#[test]
fn a_merged_table_survives_power_cuts() {
    let arguments = &["--mode", "append", "--path", "direct"];
    let promise = Promise::Whole;
    cuts_power(&Method { name: "merged", arguments, tables: &["t"], adds: true, promise });
}

#[test]
fn built_partitions_survive_power_cuts() {
    let arguments = &["--mode", "replace", "--path", "direct"];
    let promise = Promise::Whole;
    cuts_power(&Method { name: "partitions", arguments, tables: &["p"], adds: false, promise });
}

#[test]
fn a_sent_table_survives_power_cuts() {
    let arguments = &["--mode", "replace", "--path", "stream"];
    let promise = Promise::Whole;
    cuts_power(&Method { name: "sent", arguments, tables: &["t"], adds: false, promise });
}

#[test]
fn one_transaction_survives_power_cuts() {
    let arguments = &["--mode", "append", "--path", "insert", "--atomic"];
    let promise = Promise::Whole;
    cuts_power(&Method { name: "transaction", arguments, tables: &["t"], adds: true, promise });
}

#[test]
fn rows_added_chunk_by_chunk_survive_power_cuts() {
    let arguments = &["--mode", "append", "--path", "insert"];
    let promise = Promise::Continues;
    cuts_power(&Method { name: "chunks", arguments, tables: &["t"], adds: true, promise });
}

#[test]
fn several_tables_survive_power_cuts() {
    let arguments = &["--mode", "replace", "--path", "direct"];
    let promise = Promise::Whole;
    cuts_power(&Method { name: "several", arguments, tables: &["a", "b"], adds: false, promise });
}

#[test]
fn a_replayed_dump_survives_power_cuts() {
    let arguments = &[];
    let promise = Promise::Continues;
    cuts_power(&Method { name: "replay", arguments, tables: &["a", "b"], adds: false, promise });
}

#[test]
fn a_table_that_others_refer_to_survives_power_cuts() {
    let arguments = &["--mode", "replace", "--path", "direct"];
    let promise = Promise::Whole;
    cuts_power(&Method { name: "parent", arguments, tables: &["r"], adds: false, promise });
}

#[test]
fn a_small_input_survives_power_cuts() {
    let arguments = &["--mode", "append"];
    let promise = Promise::Whole;
    cuts_power(&Method { name: "small", arguments, tables: &["t"], adds: true, promise });
}
