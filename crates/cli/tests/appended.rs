//! Rows are merged with those that a table has: killed anywhere, looked at and written to meanwhile.

use std::os::unix::process::ExitStatusExt;
use std::time::Instant;

use server::Session;
use testkit::{TestServer, TestServerOptions};

use crate::partitioned::{BY_FOR_ONE, BY_FOR_TWO};
use crate::scene::{Mode, PLACES, SWAPPED, Scene, is_reached, swapped_from};
use crate::support::{
    Contents, Desk, PATIENCE, check_table, contents, finish, idle_connections, resume, run, start,
    wait_paused,
};

/// Between the staging table and the rows: the target is written out and held.
const EXPORT: [&str; 3] = ["export.begin", "export.held", "export.end"];

#[test]
fn a_load_killed_at_any_step_leaves_the_old_rows_or_all() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Append, 20_000);
    let before = EXPORT.iter().map(|place| (place, false));
    // Rows that are there are not compared.
    let places = PLACES
        .iter()
        .enumerate()
        .filter(|(_, place)| !place.starts_with("compare") && is_reached(server, place));
    let all = before.chain(places.map(|(at, place)| (place, at >= swapped_from())));
    for (place, is_new) in all {
        scene.reset();
        let killed = run(&mut scene.load_with(&format!("{place}=kill")));
        if place.starts_with("nowhere") {
            killed.done();
        } else {
            assert_eq!(killed.status.signal(), Some(9), "{place}: {killed:?}");
        }
        assert_eq!(scene.is_new(), is_new, "{place}");
        scene.again(place);
    }
}

#[test]
fn a_server_killed_at_any_step_comes_back_with_the_old_rows_or_all() {
    let options = TestServerOptions { durable: true, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    for place in ["export.held", "verify.end", "import.placed", "publish.begin", SWAPPED] {
        let mut scene = Scene::new(&server, Mode::Append, 5_000);
        let mut child = start(&mut scene.load_with(&format!("{place}=pause")));
        wait_paused(&mut child);
        server.kill_9().unwrap();
        resume(&child);
        let outcome = finish(child);
        server.restart().unwrap();
        scene.reconnect();
        assert_eq!(scene.is_new(), place == SWAPPED, "{place}: {outcome:?}");
        scene.again(place);
        let table = scene.table.clone();
        let more = format!("INSERT INTO {table} SELECT id - 5000000, id - 5000000, name, body");
        scene.session.exec(&format!("{more} FROM {table} WHERE id < 0 LIMIT 100")).unwrap();
        server.kill_9().unwrap();
        server.restart().unwrap();
        scene.reconnect();
        check_table(&mut scene.session, &table);
        assert_eq!(contents(&mut scene.session, &table).0, scene.new.0 + 100, "{place}");
    }
}

/// Waits until somebody waits for the table.
pub(crate) fn wait_for_waiter(session: &mut Session, statement: &str) {
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '{statement}%' \
         AND STATE='Waiting for table metadata lock'"
    );
    let begun = Instant::now();
    while session.query_text(&sql).unwrap().as_deref() != Some("1") {
        assert!(begun.elapsed() < PATIENCE, "{statement} never waited");
    }
}

#[test]
fn others_read_meanwhile_and_who_writes_goes_on_with_the_new_table() {
    let Some(server) = TestServer::start() else { return };
    for by in ["", BY_FOR_ONE, BY_FOR_TWO] {
        others_read_meanwhile(&server, by);
    }
}

fn others_read_meanwhile(server: &TestServer, by: &'static str) {
    let mut scene = Scene::of(server, Mode::Append, 3_000, by);
    let mut child = start(&mut scene.load_with("publish.begin=pause"));
    wait_paused(&mut child);
    assert!(!scene.is_new(), "readers see the old rows");
    let insert = format!("INSERT INTO {} VALUES (90000, -7, 'waited', NULL)", scene.table);
    let mut writer = server.connect().unwrap();
    let writing = std::thread::spawn(move || writer.exec(&insert).map(drop));
    wait_for_waiter(&mut scene.session, "INSERT INTO");
    assert!(!scene.is_new(), "readers see the old rows while somebody waits to write");
    resume(&child);
    finish(child).done();
    writing.join().unwrap().unwrap();
    let (table, session) = (scene.table.clone(), &mut scene.session);
    check_table(session, &table);
    assert_eq!(contents(session, &table).0, scene.new.0 + 1);
    session.exec(&format!("DELETE FROM {table} WHERE id=90000")).unwrap();
    assert!(scene.is_new());
}

#[test]
fn others_write_while_rows_are_read_and_numbers_go_on_behind_theirs() {
    let Some(mut desk) = Desk::new() else { return };
    let table = "id INT AUTO_INCREMENT PRIMARY KEY, n INT, KEY (n)";
    desk.exec(&format!("CREATE TABLE t ({table})"));
    desk.exec("INSERT INTO t (n) VALUES (1), (2), (3)");
    let mut load = |rows: &str, meanwhile: &str| {
        let file = desk.home.file("rows", rows);
        let mut command = desk.home.load(desk.server, &desk.table("t"), &file);
        command.args(["--mode", "append"]).env("INRUSH_FAILPOINT", "export.begin=pause");
        let mut child = start(&mut command);
        wait_paused(&mut child);
        // Whoever had to wait would wait for ever.
        desk.exec(meanwhile);
        resume(&child);
        finish(child).done();
        (desk.rows("SELECT CONCAT(id, ' ', n) FROM t ORDER BY id"), desk.home.journal())
    };
    let steps = |journal: &[String], step: &str| journal.iter().filter(|at| *at == step).count();
    // Numbers that were given out before the other's row had its own.
    let (rows, journal) = load("\\N\t8\n\\N\t9\n", "INSERT INTO t VALUES (6, 7)");
    assert_eq!(rows, ["1 1", "2 2", "3 3", "6 7", "7 8", "8 9"]);
    assert_eq!((steps(&journal, "rows.begin"), steps(&journal, "export.begin")), (2, 1));
    // Rows that bring theirs are not read again.
    let (rows, journal) = load("20\t10\n21\t11\n", "INSERT INTO t VALUES (100, 12)");
    assert_eq!(rows[6..], ["20 10", "21 11", "100 12"]);
    assert_eq!((steps(&journal, "rows.begin"), steps(&journal, "export.begin")), (1, 1));
    desk.exec("INSERT INTO t (n) VALUES (13)");
    assert_eq!(desk.rows("SELECT id FROM t WHERE n=13"), ["101"]);
}

/// Rows that are numbered anew may belong to another partition than the one that was held for them.
#[test]
fn numbers_that_others_move_on_may_be_another_partitions() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, n INT) PARTITION BY RANGE (id) \
         (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE)",
    );
    desk.exec("INSERT INTO t (n) VALUES (1), (2), (3)");
    let file = desk.home.file("rows", "\\N\t8\n\\N\t9\n");
    let mut command = desk.home.load(desk.server, &desk.table("t"), &file);
    command.args(["--mode", "append", "--path", "direct"]);
    command.env("INRUSH_FAILPOINT", "export.begin=pause");
    let mut child = start(&mut command);
    wait_paused(&mut child);
    desk.exec("INSERT INTO t VALUES (20, 7)");
    resume(&child);
    finish(child).refused(1, &["with the next numbers the rows belong to other partitions"]);
    assert_eq!(desk.rows("SELECT id FROM t ORDER BY id"), ["1", "2", "3", "20"]);
    command.env_remove("INRUSH_FAILPOINT");
    run(&mut command).done();
    assert_eq!(desk.rows("SELECT id FROM t PARTITION (p1) ORDER BY id"), ["20", "21", "22"]);
}

#[test]
fn a_table_is_left_as_it_is_that_there_are_no_rows_for() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, n INT, KEY (n))");
    desk.exec("INSERT INTO t VALUES (1, 1), (2, 2)");
    let files = desk.files();
    let number = "SELECT SPACE FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME LIKE '%/t' \
                  AND NAME LIKE CONCAT(DATABASE(), '/%')";
    let space = desk.rows(number);
    let cases: [(&str, &[&str]); 5] = [
        ("", &[]),
        ("1\t5\n2\t5\n", &["--on-duplicate", "skip"]),
        ("x\t5\n", &["--rejects-max", "1"]),
        // Numbers of rows that are refused.
        ("50\tx\n", &["--rejects-max", "1"]),
        ("\\N\tx\n", &["--rejects-max", "1"]),
    ];
    for (text, more) in cases {
        let file = desk.home.file("rows", text);
        let outcome = desk.load("t", &file, &[&["--mode", "append"][..], more].concat());
        assert_eq!(outcome.code(), if more.contains(&"1") { 3 } else { 0 }, "{outcome:?}");
        assert!(outcome.out.contains("0 rows"), "{outcome:?}");
        assert_eq!(desk.rows("SELECT CONCAT(id, n) FROM t ORDER BY id"), ["11", "22"]);
        assert_eq!((desk.files(), desk.rows(number)), (files.clone(), space.clone()), "{text:?}");
    }
}

#[test]
fn a_load_that_no_longer_holds_the_table_changes_nothing() {
    let Some(server) = TestServer::start() else { return };
    for by in ["", BY_FOR_ONE, BY_FOR_TWO] {
        no_longer_held(&server, by);
    }
}

fn no_longer_held(server: &TestServer, by: &'static str) {
    let mut scene = Scene::of(server, Mode::Append, 2_000, by);
    let mut child = start(&mut scene.load_with("verify.end=pause"));
    wait_paused(&mut child);
    // Nobody can write; then its connections end, but for the one that works.
    for id in idle_connections(&mut scene.session) {
        // One may be gone already.
        let _ = scene.session.exec(&format!("KILL {id}"));
    }
    let insert = format!("INSERT INTO {} VALUES (90000, -7, 'between', NULL)", scene.table);
    scene.session.exec(&insert).unwrap();
    resume(&child);
    finish(child).refused(1, &[]);
    let delete = format!("DELETE FROM {} WHERE id=90000 AND name='between'", scene.table);
    scene.session.exec(&delete).unwrap();
    assert!(!scene.is_new(), "the row that came between is there, and nothing of the load");
    scene.again("after losing the table");
}

#[test]
fn a_row_with_a_key_that_is_there_fails_the_load() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Append, 2_000);
    let text = std::fs::read_to_string(&scene.file).unwrap();
    let rows = [
        ("-5\t99999999\tx\t\\N", "line 2001 (byte", "`PRIMARY` key as a row of the table: (-5)"),
        ("-9999999\t-15\tx\t\\N", "line 2001 (byte", "`n` key as a row of the table: (-15)"),
    ];
    for (row, place, key) in rows {
        std::fs::write(&scene.file, format!("{text}{row}\n")).unwrap();
        run(&mut scene.command()).refused(1, &[place, key]);
        assert!(!scene.is_new());
        scene.clean(row);
    }
    std::fs::write(&scene.file, &text).unwrap();
    run(&mut scene.command()).done();
    assert!(scene.is_new());
}

/// Adds rows with keys of others: of old rows, by either index; of rows that were deleted; of the
/// input's own rows, one of which meets an old one first. Gives how many.
fn add_known_keys(scene: &Scene<'_>) -> u64 {
    let mut text = std::fs::read_to_string(&scene.file).unwrap();
    for row in 1..=600 {
        let (id, n) = match row % 6 {
            0 => (-row, 50_000_000 + row),
            1 => (60_000_000 + row, -row * 3),
            2 => (-row, -(row + 1) * 3),
            3 => (row, 70_000_000 + row),
            4 => (80_000_000 + row / 12, 90_000_000 + row),
            _ => (80_000_000 + row, -row * 3),
        };
        text.push_str(&format!("{id}\t{n}\tagain {row}\t\\N\n"));
    }
    std::fs::write(&scene.file, &text).unwrap();
    600
}

/// The table's contents after LOAD DATA of the same file. It is as before then.
fn loaded_by_the_server(scene: &mut Scene<'_>, rule: &str) -> Contents {
    let sql = format!("LOAD DATA LOCAL INFILE 'x' {rule} INTO TABLE {}", scene.table);
    scene.session.load_local(&sql, std::fs::File::open(&scene.file).unwrap()).unwrap();
    let expected = contents(&mut scene.session, &scene.table);
    scene.reset();
    expected
}

#[test]
fn rows_with_keys_that_are_there_replace_these_as_load_data_does() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Append, 3_000);
    add_known_keys(&scene);
    let table = scene.table.clone();
    let expected = loaded_by_the_server(&mut scene, "REPLACE");
    scene.more = vec!["--on-duplicate", "replace"];
    let report = run(&mut scene.command());
    report.done();
    assert_eq!(contents(&mut scene.session, &table), expected, "{report:?}");
    check_table(&mut scene.session, &table);
    assert!(report.out.contains("row(s) of the table were replaced"), "{report:?}");
    scene.clean("after replacing");
    if server.lacks("direct path for tables that others refer to") {
        return;
    }
    // What refers to rows, and would be left behind by one that is gone.
    let child = format!("{table}_child");
    let create = format!("CREATE TABLE {child} (id INT, FOREIGN KEY (id) REFERENCES {table} (id))");
    scene.session.exec(&create).unwrap();
    let reason = "--on-duplicate replace removes rows that other tables may refer to";
    run(&mut scene.command()).refused(2, &[reason]);
    scene.session.exec(&format!("DROP TABLE {child}")).unwrap();
}

#[test]
fn rows_with_keys_that_are_there_change_these_as_insert_does() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Append, 3_000);
    add_known_keys(&scene);
    let table = scene.table.clone();
    scene.more = vec!["--on-duplicate", "update"];
    run(&mut scene.command()).refused(2, &["2 unique keys", "only INSERT supports"]);
    let one_key = format!("ALTER TABLE {table} DROP KEY n, ADD KEY n (n)");
    scene.session.exec(&one_key).unwrap();
    let staged = format!("{table}_staged");
    scene.session.exec(&format!("CREATE TABLE {staged} AS SELECT * FROM {table} LIMIT 0")).unwrap();
    let sql = format!("LOAD DATA LOCAL INFILE 'x' INTO TABLE {staged}");
    scene.session.load_local(&sql, std::fs::File::open(&scene.file).unwrap()).unwrap();
    let changes = "n=VALUES(n), name=VALUES(name), body=VALUES(body)";
    let insert =
        format!("INSERT INTO {table} SELECT * FROM {staged} ON DUPLICATE KEY UPDATE {changes}");
    scene.session.exec(&insert).unwrap();
    let expected = contents(&mut scene.session, &table);
    scene.session.exec(&format!("DROP TABLE {staged}")).unwrap();
    scene.reset();
    scene.session.exec(&one_key).unwrap();
    scene.more = vec!["--on-duplicate", "update", "--columns", "id,n,name,@body"];
    run(&mut scene.command()).refused(2, &["keeps `body` of existing rows"]);
    scene.more = vec!["--on-duplicate", "update"];
    let report = run(&mut scene.command());
    report.done();
    assert_eq!(contents(&mut scene.session, &table), expected, "{report:?}");
    check_table(&mut scene.session, &table);
}

/// Numbers and moments that the load counts for new rows are no values of the input.
#[test]
fn a_row_that_is_there_keeps_the_columns_that_the_input_has_no_field_for() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, email VARCHAR(9) NOT NULL UNIQUE, v INT, \
         w INT DEFAULT 5, made DATETIME DEFAULT CURRENT_TIMESTAMP, \
         seen TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)",
    );
    let old =
        "(7, 'a', 1, 9, '2020-01-01', '2020-01-02'), (8, 'b', 2, 9, '2020-01-01', '2020-01-02')";
    desk.exec(&format!("INSERT INTO t VALUES {old}"));
    let file = desk.home.file("rows.csv", "email,v\na,11\nc,3\nb,2\n");
    let more = ["--header", "--dialect", "csv", "--mode", "append", "--on-duplicate", "update"];
    desk.load("t", &file, &[&more[..], &["--path", "insert"]].concat()).done();
    let rows = desk.rows(
        "SELECT IF(id > 8, 'new', id), email, v, w, made > '2020-01-01', seen > '2020-01-02' \
         FROM t ORDER BY email",
    );
    assert_eq!(rows, ["7|a|11|9|0|1", "8|b|2|9|0|0", "new|c|3|5|1|1"]);
}

#[test]
fn rows_with_keys_that_are_there_are_skipped_as_load_data_skips_them() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, Mode::Append, 3_000);
    let left_out = add_known_keys(&scene);
    let table = scene.table.clone();
    let expected = loaded_by_the_server(&mut scene, "IGNORE");
    let log = scene.home.file("left_out", "");
    scene.more = vec!["--on-duplicate", "skip"];
    let mut command = scene.command();
    let report = run(command.arg("--duplicates").arg(&log));
    report.done();
    assert_eq!(contents(&mut scene.session, &table), expected, "{report:?}");
    check_table(&mut scene.session, &table);
    let logged = std::fs::read_to_string(&log).unwrap().lines().count() as u64;
    assert_eq!(scene.old.0 + 3_000 + left_out - logged, expected.0);
    let reasons = std::fs::read_to_string(format!("{}.reasons.jsonl", log.display())).unwrap();
    assert!(reasons.contains("skipped for a row of the table, which has the same `n` key"));
    assert!(reasons.contains("skipped for a row of the table, which has the same `PRIMARY` key"));
    scene.clean("after skipping");
}

#[test]
fn rows_that_cannot_be_merged_are_sent() {
    let Some(server) = TestServer::shared() else { return };
    if server.lacks("column with a long value that is added instantly") {
        return;
    }
    let mut scene = Scene::new(server, Mode::Append, 1_000);
    let add =
        format!("ALTER TABLE {} ADD COLUMN more TEXT DEFAULT (REPEAT('long', 5000))", scene.table);
    scene.session.exec(&format!("{add}, ALGORITHM=INSTANT")).unwrap();
    scene.more = vec!["--columns", "id,n,name,body"];
    let because = "value of an added column";
    run(&mut scene.command()).refused(1, &["cannot be merged", because, "--path stream"]);
    let drop = format!("ALTER TABLE {} DROP COLUMN more, FORCE", scene.table);
    scene.session.exec(&drop).unwrap();
    assert!(!scene.is_new());
    scene.more = vec!["--max-write-block", "0"];
    run(&mut scene.command()).refused(2, &["--max-write-block allows 0 s", "merging with the "]);
    scene.more.clear();
    run(&mut scene.command()).done();
    assert!(scene.is_new());
}

/// InnoDB gives an index no prefix of a key's column that it has as a whole.
#[test]
fn rows_are_replaced_whose_key_is_a_prefix_of_a_column_of_an_index() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(
        "CREATE TABLE t (name VARCHAR(50) CHARACTER SET utf8mb4 NOT NULL, v INT, PRIMARY KEY (name(10)), \
         KEY k (name), KEY vn (v, name))",
    );
    let name = |row: u32| format!("{row:05} \u{e4}\u{f6}\u{20ac} and much more than ten");
    let text: String = (0..2_000).map(|row| format!("{}\t{row}\n", name(row))).collect();
    let file = desk.home.file("rows.txt", text);
    desk.load("t", &file, &[]).done();
    let again: String =
        (500..600).map(|row| format!("{} again\t{}\n", name(row), row + 5_000)).collect();
    let file = desk.home.file("again.txt", again);
    let report = desk.load("t", &file, &["--mode", "append", "--on-duplicate", "replace"]);
    report.done();
    assert!(report.out.contains("100 row(s) of the table were replaced"), "{report:?}");
    for index in ["PRIMARY", "k", "vn"] {
        let rows = desk.rows(&format!(
            "SELECT CONCAT_WS('|', COUNT(name), SUM(v), SUM(name LIKE '%again')) FROM t FORCE INDEX ({index}) \
             WHERE name > '' OR v > 0",
        ));
        assert_eq!(rows, ["2000|2499000|100"], "{index}");
    }
    assert_eq!(desk.rows("CHECK TABLE t EXTENDED").len(), 1);
}
