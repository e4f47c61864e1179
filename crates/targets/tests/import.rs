//! The direct path's steps, with a file the server itself exported in place of a built one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use schema::{Mode, TableName};
use server::{ConnectOptions, Error, Session};
use targets::import::{Building, Imported, Placed};
use targets::relations::KeyChecks;
use targets::staging_table::{Discarded, Exported, StagingTable, Template};
use targets::{Direct, Keeper, Lock, LockOptions, Names};
use testkit::{TestServer, TestServerOptions};

const COLUMNS: &str = "(a INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(20) DEFAULT 'x', KEY (b)) \
                       COMMENT='kept' AUTO_INCREMENT=50";

/// A database with an empty table `t`, and a table `made` with 100 rows, exported.
struct Setup {
    database: String,
    made: Template,
}

fn setup(server: &TestServer) -> Setup {
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    session.exec(&format!("USE {database}")).unwrap();
    session.exec(&format!("CREATE TABLE t {COLUMNS}")).unwrap();
    session.exec(&format!("CREATE TABLE made {COLUMNS}")).unwrap();
    session.exec("INSERT INTO made SELECT seq, seq * 7 % 31 FROM seq_1_to_100").unwrap();
    session.exec("FLUSH TABLES made FOR EXPORT").unwrap();
    let read = |extension: &str| {
        std::fs::read(server.datadir().join(&database).join(format!("made.{extension}"))).unwrap()
    };
    let made = Template { ibd: read("ibd"), cfg: read("cfg") };
    session.exec("UNLOCK TABLES").unwrap();
    Setup { database, made }
}

impl Setup {
    fn target(&self, server: &TestServer) -> Lock {
        self.try_target(server).unwrap()
    }

    fn try_target(&self, server: &TestServer) -> server::Result<Lock> {
        let options = LockOptions { lock_wait: Duration::from_secs(20), ..LockOptions::default() };
        let name = TableName::new(self.database.as_str(), "t");
        Lock::take(server.connect().unwrap(), &name, &options)
    }

    fn count(&self, session: &mut Session) -> u64 {
        let sql = format!("SELECT COUNT(*) FROM {}.t", self.database);
        session.query_row(&sql).unwrap().number(0).unwrap()
    }
}

/// Bytes of a page, and where in it a tablespace's number stands: in every header, and in page 0
/// and the root pages once more.
const PAGE: usize = 16_384;
const SPACE_ID: usize = 34;

/// The file of `made` under the tablespace number of the staging table: what a builder would write.
fn built(made: &Template, template: &Template) -> Vec<u8> {
    let number = &template.ibd[SPACE_ID..][..4];
    let mut file = made.ibd.clone();
    for (at, page) in file.chunks_mut(PAGE).enumerate() {
        let used = page.iter().any(|&byte| byte != 0);
        let index_page = page[24..26] == [0x45, 0xbf];
        let places: &[usize] = match (used, at, index_page) {
            (false, ..) => continue,
            (_, 0, _) => &[SPACE_ID, 38],
            (.., true) => &[SPACE_ID, 74, 84],
            _ => &[SPACE_ID],
        };
        for &place in places {
            page[place..place + 4].copy_from_slice(number);
        }
        let checksum = crc32c::crc32c(&page[..PAGE - 4]).to_be_bytes();
        page[PAGE - 4..].copy_from_slice(&checksum);
    }
    file
}

/// How far a load has come.
enum At<'d> {
    Nothing,
    StagingTable(StagingTable<'d>),
    Exported(Exported<'d>, Vec<u8>),
    Discarded(Discarded<'d>, Vec<u8>),
    Building(Building<'d>, Vec<u8>),
    Built(Building<'d>),
    Placed(Placed<'d>),
    Imported(Imported<'d>),
}

/// The steps before the swap, in order; runs the first `count` of them.
const STEPS: usize = 7;
fn run<'d>(direct: &'d mut Direct<'_>, made: &Template, count: usize) -> At<'d> {
    if count == 0 {
        return At::Nothing;
    }
    let mut at = At::StagingTable(direct.create_staging().unwrap());
    for _ in 1..count {
        at = match at {
            At::Nothing => unreachable!(),
            At::StagingTable(staging) => {
                let (template, exported) = staging.export_template().unwrap();
                At::Exported(exported, built(made, &template))
            }
            At::Exported(exported, file) => At::Discarded(exported.discard().unwrap(), file),
            At::Discarded(discarded, file) => {
                At::Building(discarded.create_build_file().unwrap().1, file)
            }
            At::Building(building, file) => {
                std::fs::write(building.path(), &file).unwrap();
                At::Built(building)
            }
            At::Built(building) => At::Placed(building.place(&made.cfg).unwrap()),
            At::Placed(placed) => At::Imported(placed.import(None).unwrap()),
            At::Imported(_) => unreachable!(),
        };
    }
    at
}

/// All steps before the swap.
fn imported<'d>(direct: &'d mut Direct<'_>, made: &Template) -> Imported<'d> {
    match run(direct, made, STEPS) {
        At::Imported(imported) => imported,
        _ => unreachable!(),
    }
}

fn ours(server: &TestServer, database: &str) -> Vec<String> {
    let entries = std::fs::read_dir(server.datadir().join(database)).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("_inrush"))
        .collect()
}

#[test]
fn a_whole_load_keeps_grants_comment_and_counter() {
    let Some(server) = TestServer::shared() else { return };
    let setup = setup(server);
    let database = &setup.database;
    let mut session = server.connect().unwrap();
    session.exec(&format!("CREATE USER u_{database}")).unwrap();
    session.exec(&format!("GRANT SELECT ON {database}.t TO u_{database}")).unwrap();
    let before = catalog::read(&mut session, &TableName::new(database.as_str(), "t")).unwrap();

    let mut lock = setup.target(server);
    let mut direct = Direct::new(&mut lock);
    assert_eq!(direct.cleanup().unwrap(), Vec::<String>::new());
    let mut imported = imported(&mut direct, &setup.made);
    assert!(matches!(imported.check_indexes(0), Err(Error::Count { found: 1, .. })));
    imported.check_indexes(100).unwrap();
    assert_eq!(setup.count(&mut session), 0, "published too early");
    crate::publish(imported.filled(), Mode::Insert);

    assert_eq!(setup.count(&mut session), 100);
    let same = format!("SELECT COUNT(*) FROM {database}.t NATURAL JOIN {database}.made");
    assert_eq!(session.query_text(&same).unwrap().as_deref(), Some("100"));
    let after = catalog::read(&mut session, &TableName::new(database.as_str(), "t")).unwrap();
    assert_eq!(after.definition, before.definition);
    assert!(after.definition.contains("COMMENT='kept'"));
    assert_eq!(after.auto_increment, Some(101));
    let check = session.query_row(&format!("CHECK TABLE {database}.t EXTENDED")).unwrap();
    assert_eq!(check.text(3).unwrap(), "OK");
    assert_eq!(ours(server, database), Vec::<String>::new());
    let grants = session.query(&format!("SHOW GRANTS FOR u_{database}")).unwrap();
    assert!(grants.iter().any(|row| row.text(0).unwrap().contains("`.`t`")));
    let tables = session.query(&format!("SHOW TABLES FROM {database}")).unwrap();
    assert_eq!(tables.len(), 2);
}

#[test]
fn a_load_killed_after_any_step_is_cleaned_up() {
    let Some(server) = TestServer::shared() else { return };
    let setup = setup(server);
    let mut session = server.connect().unwrap();
    for steps in 0..=STEPS {
        let mut lock = setup.target(server);
        run(&mut Direct::new(&mut lock), &setup.made, steps);
        drop(lock);
        let mut lock = setup.target(server);
        let mut direct = Direct::new(&mut lock);
        let removed = direct.cleanup().unwrap();
        assert_eq!(removed.is_empty(), steps == 0, "after {steps} steps: {removed:?}");
        assert_eq!(direct.cleanup().unwrap(), Vec::<String>::new());
        assert_eq!(ours(server, &setup.database), Vec::<String>::new());
        assert_eq!(setup.count(&mut session), 0);
    }
    // After the swap the target is new, and cleaning up keeps it so.
    for mode in [Mode::Insert, Mode::Replace] {
        let mut lock = setup.target(server);
        imported(&mut Direct::new(&mut lock), &setup.made)
            .filled()
            .publish(mode, KeyChecks::Rows)
            .unwrap();
        drop(lock);
        let removed = Direct::new(&mut setup.target(server)).cleanup().unwrap();
        assert_eq!(removed.len(), 1, "{removed:?}");
        assert_eq!(setup.count(&mut session), 100);
    }
}

#[test]
fn a_server_killed_after_any_step_is_cleaned_up() {
    let options = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    let setup = setup(&server);
    for steps in 1..=STEPS {
        let mut lock = setup.target(&server);
        let mut direct = Direct::new(&mut lock);
        let at = run(&mut direct, &setup.made, steps);
        server.kill_9().unwrap();
        server.restart().unwrap();
        drop(at);
        drop(lock);
        let mut lock = setup.target(&server);
        let removed = Direct::new(&mut lock).cleanup().unwrap();
        assert!(!removed.is_empty(), "after {steps} steps");
        assert_eq!(ours(&server, &setup.database), Vec::<String>::new());
        assert_eq!(setup.count(&mut server.connect().unwrap()), 0);
    }
    let mut target = setup.target(&server);
    imported(&mut Direct::new(&mut target), &setup.made)
        .filled()
        .publish(Mode::Insert, KeyChecks::Rows)
        .unwrap();
    server.kill_9().unwrap();
    server.restart().unwrap();
    let removed = Direct::new(&mut setup.target(&server)).cleanup().unwrap();
    assert_eq!(removed.len(), 1, "{removed:?}");
    // Without a checkpoint after the DISCARD the table is empty here: see src/target/checkpoint.rs.
    let mut session = server.connect().unwrap();
    assert_eq!(setup.count(&mut session), 100);
    let table = target.table.name.quoted();
    let check = session.query_row(&format!("CHECK TABLE {table} EXTENDED")).unwrap();
    assert_eq!(check.text(3).unwrap(), "OK");
    session.exec(&format!("UPDATE {table} SET b = CONCAT(b, 'y')")).unwrap();
    server.kill_9().unwrap();
    server.restart().unwrap();
    let mut session = server.connect().unwrap();
    let changed = format!("SELECT COUNT(*) FROM {table} FORCE INDEX (b) WHERE b LIKE '%y'");
    assert_eq!(session.query_text(&changed).unwrap().as_deref(), Some("100"));
}

#[test]
fn a_second_load_of_the_same_table_is_busy() {
    let Some(server) = TestServer::shared() else { return };
    let setup = setup(server);
    let first = setup.target(server);
    match setup.try_target(server) {
        Err(Error::Busy { holder, .. }) => assert_eq!(holder, first.session.id()),
        other => panic!("{other:?}"),
    }
    drop(first);
    setup.target(server);
}

/// 200 tables were waited for 200 times as long, while other loads waited for those that were taken.
#[test]
fn several_tables_are_waited_for_as_long_as_one() {
    let Some(server) = TestServer::shared() else { return };
    let setup = setup(server);
    let names = ["made", "t"].map(|table| TableName::new(setup.database.as_str(), table));
    let (told, heard) = std::sync::mpsc::channel();
    let load_wait = Duration::from_secs(60);
    let options = LockOptions { load_wait, told: Some(told), ..LockOptions::default() };
    let mut holders = names.clone().map(|name| {
        let mut holder = server.connect().unwrap();
        assert!(holder.lock_name(&Names::of(&name).lock, Duration::ZERO).unwrap());
        Some(holder)
    });
    let seconds: Vec<u64> = std::thread::scope(|scope| {
        let (session, names) = (server.connect().unwrap(), &names);
        let load = scope.spawn(move || Keeper::take(session, names, &options).map(drop));
        // Each holder goes when its table is waited for.
        let mut seconds = Vec::new();
        for (line, holder) in heard.iter().zip(&mut holders) {
            let (_, rest): (_, &str) = line.split_once("at most ").unwrap();
            seconds.push(rest.split(' ').next().unwrap().parse().unwrap());
            *holder = None;
        }
        load.join().unwrap().unwrap();
        seconds
    });
    assert!(seconds[0] == 60 && seconds[1] <= 55, "{seconds:?}");
}

#[test]
fn rows_that_came_meanwhile_stop_an_insert_and_go_with_a_replace() {
    let Some(server) = TestServer::shared() else { return };
    let setup = setup(server);
    let mut session = server.connect().unwrap();
    let mut lock = setup.target(server);
    let mut direct = Direct::new(&mut lock);
    let mut filled = imported(&mut direct, &setup.made).filled();
    session.exec(&format!("INSERT INTO {}.t (b) VALUES ('mine')", setup.database)).unwrap();
    assert!(matches!(filled.publish(Mode::Insert, KeyChecks::Rows), Err(Error::NotEmpty(_))));
    assert_eq!(setup.count(&mut session), 1);
    crate::publish(filled, Mode::Replace);
    assert_eq!(setup.count(&mut session), 100);
}

#[test]
fn a_target_altered_meanwhile_is_left_alone() {
    let Some(server) = TestServer::shared() else { return };
    let setup = setup(server);
    let mut session = server.connect().unwrap();
    session.exec(&format!("USE {}", setup.database)).unwrap();
    for (change, back) in [
        ("ALTER TABLE t COMMENT='other'", "ALTER TABLE t COMMENT='kept'"),
        ("CREATE INDEX i ON t (a, b)", "DROP INDEX i ON t"),
        ("CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.b='y'", "DROP TRIGGER g"),
        ("CREATE TABLE child (a INT, FOREIGN KEY (a) REFERENCES t (a))", "DROP TABLE child"),
    ] {
        let mut lock = setup.target(server);
        let mut direct = Direct::new(&mut lock);
        let mut filled = imported(&mut direct, &setup.made).filled();
        session.exec(change).unwrap();
        assert!(
            matches!(filled.publish(Mode::Replace, KeyChecks::Rows), Err(Error::Altered { .. })),
            "{change}"
        );
        session.exec(back).unwrap();
        direct.cleanup().unwrap();
    }
}

#[test]
fn a_lock_that_does_not_come_names_its_holder() {
    let Some(server) = TestServer::shared() else { return };
    let setup = setup(server);
    let options = LockOptions { lock_wait: Duration::from_secs(1), ..LockOptions::default() };
    let name = TableName::new(setup.database.as_str(), "t");
    let mut lock = Lock::take(server.connect().unwrap(), &name, &options).unwrap();
    let mut direct = Direct::new(&mut lock);
    let mut filled = imported(&mut direct, &setup.made).filled();
    let mut session = server.connect().unwrap();
    session.exec("START TRANSACTION").unwrap();
    assert_eq!(setup.count(&mut session), 0);
    match filled.publish(Mode::Insert, KeyChecks::Rows) {
        Err(Error::LockWait { holders, seconds: 1, .. }) => {
            let wanted = format!("connection {} of", session.id());
            assert!(holders.iter().any(|text| text.starts_with(&wanted)), "{holders:?}");
        }
        other => panic!("{other:?}"),
    }
    session.exec("COMMIT").unwrap();
    filled.publish(Mode::Insert, KeyChecks::Rows).unwrap();
}

/// Statements of the connection that watches the swap are killed while it waits for the moment.
#[test]
fn a_watcher_that_fails_leaves_the_swap_undone_or_says_it_is_done() {
    let Some(server) = TestServer::start_with(&TestServerOptions::default()) else { return };
    let setup = setup(&server);
    let mut session = server.connect().unwrap();
    let (mut failed, mut round) = (0, 0);
    while failed < 2 && round < 60 {
        round += 1;
        let mut lock = setup.target(&server);
        let mut direct = Direct::new(&mut lock);
        direct.cleanup().unwrap();
        let mut filled = imported(&mut direct, &setup.made).filled();
        let watcher = filled.lock.second_connection().unwrap();
        let renames = format!(
            "SELECT 1 FROM information_schema.PROCESSLIST WHERE ID={} AND INFO LIKE 'RENAME%'",
            filled.lock.session.id()
        );
        let ended = AtomicBool::new(false);
        let published = std::thread::scope(|scope| {
            let (ended, session) = (&ended, &mut session);
            scope.spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    if session.query_text(&renames).unwrap().is_none() {
                        continue;
                    }
                    for _ in 0..100 {
                        let _ = session.exec(&format!("KILL QUERY {watcher}"));
                    }
                    return;
                }
            });
            let published = filled.publish(Mode::Replace, KeyChecks::Rows).map(drop);
            ended.store(true, Ordering::Relaxed);
            published
        });
        drop(lock);
        let count = setup.count(&mut session);
        let swapped = published.is_ok();
        assert_eq!(count, if swapped { 100 } else { 0 }, "round {round}: {published:?}");
        failed += u32::from(!swapped);
        session.exec(&format!("DELETE FROM {}.t", setup.database)).unwrap();
    }
    println!("{failed} of {round} disturbed");
    assert!(failed > 0, "nothing was tested");
}

#[test]
fn no_insert_is_lost_in_the_swap() {
    let Some(server) = TestServer::shared() else { return };
    let setup = setup(server);
    let insert = format!("INSERT INTO {}.t (b) VALUES ('w')", setup.database);
    let delete = format!("DELETE FROM {}.t", setup.database);
    let mut session = server.connect().unwrap();
    let (mut stopped, mut swapped) = (0, 0);
    // When the writers begin: about when the swap is, however long it takes here.
    let mut delay = Duration::ZERO;
    for round in 0..40 {
        let mut lock = setup.target(server);
        let mut direct = Direct::new(&mut lock);
        direct.cleanup().unwrap();
        let mut filled = imported(&mut direct, &setup.made).filled();
        let (go, written) = (AtomicBool::new(true), AtomicU64::new(0));
        let published = std::thread::scope(|scope| {
            for _ in 0..3 {
                let mut session = server.connect().unwrap();
                let (go, written, insert) = (&go, &written, &insert);
                scope.spawn(move || {
                    std::thread::sleep(delay);
                    while go.load(Ordering::Relaxed) {
                        session.exec(insert).unwrap();
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let published = filled.publish(Mode::Insert, KeyChecks::Rows);
            std::thread::sleep(Duration::from_millis(5));
            go.store(false, Ordering::Relaxed);
            published
        });
        let (written, count) = (written.into_inner(), setup.count(&mut session));
        match published {
            Ok(mut done) => {
                swapped += 1;
                delay = delay * 3 / 4;
                done.drop_old(filled.lock).unwrap();
                assert_eq!(count, written + 100, "round {round}");
            }
            Err(Error::NotEmpty(_)) => {
                stopped += 1;
                delay = delay * 2 + Duration::from_micros(400);
                assert_eq!(count, written, "round {round}");
            }
            Err(e) => panic!("{e}"),
        }
        drop(lock);
        session.exec(&delete).unwrap();
    }
    println!("{swapped} swapped, {stopped} stopped");
    assert!(swapped > 0 && stopped > 0, "{swapped} swapped, {stopped} stopped: nothing was tested");
}

#[test]
fn an_offset_beyond_the_step_is_refused_where_there_is_a_counter() {
    let Some(server) = TestServer::shared() else { return };
    let setup = setup(server);
    let mut session = server.connect().unwrap();
    session.exec(&format!("CREATE TABLE {}.plain (a INT)", setup.database)).unwrap();
    for (step, table, refused) in [
        ("auto_increment_offset=3", "t", true),
        ("auto_increment_offset=3", "plain", false),
        ("auto_increment_increment=2", "t", false),
        ("auto_increment_increment=3, auto_increment_offset=3", "t", false),
    ] {
        let mut session = server.connect().unwrap();
        session.exec(&format!("SET SESSION {step}")).unwrap();
        let name = TableName::new(setup.database.as_str(), table);
        let target = Lock::take(session, &name, &LockOptions::default()).unwrap();
        let features: Vec<&str> = target.unsupported.iter().map(|u| u.name()).collect();
        let expected: &[&str] = if refused { &["AUTO_INCREMENT step"] } else { &[] };
        assert_eq!(features, expected, "{step} {table}");
    }
}

#[test]
fn a_file_with_another_tablespaces_number_is_not_placed() {
    let Some(server) = TestServer::shared() else { return };
    let setup = setup(server);
    let mut lock = setup.target(server);
    let mut direct = Direct::new(&mut lock);
    let At::Building(building, _) = run(&mut direct, &setup.made, 4) else { unreachable!() };
    std::fs::write(building.path(), &setup.made.ibd).unwrap();
    assert!(matches!(building.place(&setup.made.cfg), Err(Error::ForeignFile { .. })));
    direct.cleanup().unwrap();
}

#[test]
fn files_that_stay_are_a_remark_of_a_load_that_needs_no_files() {
    let Some(server) = TestServer::shared() else { return };
    let setup = setup(server);
    let mut lock = setup.target(server);
    let build = lock.build_path().unwrap();
    std::os::unix::fs::symlink("/nowhere", &build).unwrap();
    assert_eq!(lock.cleanup_tables().unwrap(), Vec::<String>::new());
    let [remark] = &lock.remarks[..] else { panic!("{:?}", lock.remarks) };
    assert!(remark.starts_with("files of a killed load stay: "), "{remark}");
    assert!(remark.contains(&build.display().to_string()), "{remark}");
    std::fs::remove_file(&build).unwrap();
}

#[test]
fn another_servers_folder_is_found_out() {
    let Some(server) = TestServer::shared() else { return };
    let setup = setup(server);
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::create_dir(elsewhere.path().join(&setup.database)).unwrap();
    let datadir = Some(elsewhere.path().to_owned());
    let connect = ConnectOptions { datadir, ..server.options() };
    let name = TableName::new(setup.database.as_str(), "t");
    let session = Session::connect(&connect).unwrap();
    let mut lock = Lock::take(session, &name, &LockOptions::default()).unwrap();
    let mut direct = Direct::new(&mut lock);
    let staging = direct.create_staging().unwrap();
    assert!(matches!(staging.export_template(), Err(Error::Unsupported { .. })));
    direct.cleanup().unwrap();
    // A load into a table of the same name that runs on the other server keeps its files.
    let theirs = direct.lock.build_path().unwrap();
    std::fs::write(&theirs, "being built").unwrap();
    assert_eq!(direct.lock.cleanup_tables().unwrap(), Vec::<String>::new());
    assert!(direct.lock.remarks.is_empty() && theirs.exists(), "{:?}", direct.lock.remarks);
    match direct.cleanup() {
        Err(Error::Unsupported { reasons, .. }) => {
            assert!(
                reasons[0]
                    .to_string()
                    .contains("on this machine does not belong to the server, which runs on"),
                "{reasons:?}"
            );
        }
        other => panic!("{other:?}"),
    }
    assert!(direct.abandon().is_err());
    assert_eq!(std::fs::read(&theirs).unwrap(), b"being built");
    let mut session = server.connect().unwrap();
    let tables = session.query(&format!("SHOW TABLES FROM {}", setup.database)).unwrap();
    assert_eq!(tables.len(), 2);
}

#[test]
fn a_missing_target_with_a_table_put_aside_is_a_question() {
    let Some(server) = TestServer::shared() else { return };
    let setup = setup(server);
    let target = setup.target(server);
    let (name, aside) = (target.table.name.quoted(), target.names.replaced.quoted());
    let mut session = server.connect().unwrap();
    session.exec(&format!("RENAME TABLE {name} TO {aside}")).unwrap();
    drop(target);
    assert!(matches!(setup.try_target(server), Err(Error::Leftover(_))));
    session.exec(&format!("RENAME TABLE {aside} TO {name}")).unwrap();
    setup.target(server);
}
