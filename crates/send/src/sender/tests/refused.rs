//! Rows that the server refuses, and rows with keys of others.

use testkit::TestServerOptions;

use super::*;

fn send(scene: &Scene, form: Form, batch: Batch, lines: &[&str]) -> Result<ChunkResult, Trouble> {
    scene.sender().send(&mut chunk(0, form, lines), batch, &mut Notes::default())
}

/// Every row that a CHECK refuses is found, whatever its place, and named with the server's words.
#[test]
fn refused_rows_are_found_one_by_one() {
    let Some(server) = TestServer::shared() else { return };
    let lines = ["0\ta", "1\ta", "2\tbad", "3\ta", "4\ta", "5\tbad", "6\tbad", "7\ta", "8\tbad"];
    for form in forms(server) {
        for batch in [BATCH, ONE_BATCH, Batch { rows: 1, bytes: 1 }] {
            let columns = format!("{COLUMNS}, CONSTRAINT good CHECK (b <> 'bad')");
            let mut scene = Scene::new(server, &columns, &NAMES, OnDuplicate::Fail);
            let mut notes = Notes::default();
            let sent = scene.sender().send(&mut chunk(0, form, &lines), batch, &mut notes).unwrap();
            assert_eq!(notes.was_asked_for_tuples, form == Form::Lines);
            assert_eq!(scene.rows(), ["0\ta", "1\ta", "3\ta", "4\ta", "7\ta"]);
            let at: Vec<u64> =
                sent.rejects.iter().map(|(_, reject)| reject.row.position.line).collect();
            assert_eq!(at, [3, 6, 7, 9]);
            assert_eq!(sent.rejects[0].1.raw, b"2\tbad\n");
            assert!(
                sent.rejects[0].1.row.reason.contains("good"),
                "{}",
                sent.rejects[0].1.row.reason
            );
            // The reasons outlive the connection.
            assert_eq!(scene.entries(), std::slice::from_ref(&sent.entry));
            assert_eq!((sent.entry.rows, sent.entry.refused.len()), (5, 4));
        }
    }
}

/// A number of the server's about the sender's session.
fn status(sender: &mut Sender, name: &str) -> u64 {
    let sql = format!("SHOW SESSION STATUS LIKE '{name}'");
    sender.session.as_mut().unwrap().query(&sql).unwrap()[0].number(1).unwrap()
}

/// The server names each of these rows. Each refusal once had all rows behind it sent again.
#[test]
fn rows_are_sent_a_few_times_however_many_are_refused() {
    let Some(server) = TestServer::shared() else { return };
    let text = "x".repeat(100);
    for nth in [20, 3, 1] {
        let number = |i| if i % nth == 0 { 1000 } else { 1 };
        let lines: Vec<String> = (0..2000).map(|i| format!("{}\t{text}", number(i))).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let columns = "a INT, b VARCHAR(100), c TINYINT AS (a) STORED";
        let mut scene = Scene::new(server, columns, &NAMES, OnDuplicate::Fail);
        scene.options.rejects_max = 2000;
        let mut sender = scene.sender();
        let mut chunk = chunk(0, Form::Tuples, &lines);
        let before = status(&mut sender, "Bytes_received");
        let sent = sender.send(&mut chunk, ONE_BATCH, &mut Notes::default()).unwrap();
        let bytes = status(&mut sender, "Bytes_received") - before;
        let refused = 2000_usize.div_ceil(nth);
        assert_eq!((sent.entry.rows as usize, sent.rejects.len()), (2000 - refused, refused));
        assert_eq!(scene.rows().len(), 2000 - refused);
        // Besides the rows there are some hundred bytes a statement, and the ledger's text.
        let most = 5 * chunk.text.len() + 1200 * refused;
        assert!(bytes <= most as u64, "{bytes} bytes for {} of text, {nth}", chunk.text.len());
    }
}

/// LOAD DATA LOCAL would load all of these rows, changed.
#[test]
fn a_value_that_the_server_would_bend_is_refused() {
    let Some(server) = TestServer::shared() else { return };
    let lines = ["1\tone", "2\tlonger than ten", "99999999999\tx", "4\tfour"];
    for (form, rule) in [
        (Form::Lines, OnDuplicate::Fail),
        (Form::Tuples, OnDuplicate::Fail),
        (Form::Lines, OnDuplicate::Skip),
        (Form::Tuples, OnDuplicate::Skip),
        (Form::Lines, OnDuplicate::Replace),
        (Form::Tuples, OnDuplicate::Update),
        (Form::Values, OnDuplicate::Fail),
        (Form::Values, OnDuplicate::Skip),
        (Form::Values, OnDuplicate::Replace),
        (Form::Values, OnDuplicate::Update),
    ] {
        if !forms(server).contains(&form) {
            continue;
        }
        let mut scene = Scene::new(server, COLUMNS, &NAMES, rule);
        let sent = send(&scene, form, ONE_BATCH, &lines).unwrap();
        assert_eq!(scene.rows(), ["1\tone", "4\tfour"], "{form:?} {rule:?}");
        let errors: Vec<u16> = sent.entry.refused.iter().map(|row| row.errno).collect();
        assert_eq!(errors, [1406, 1264], "{form:?} {rule:?}");
        assert_eq!(sent.rejects[1].1.row.position.to_string(), "rows.tsv line 3 (byte 24)");
        assert!(
            !sent.rejects[1].1.row.reason.contains("at row"),
            "{}",
            sent.rejects[1].1.row.reason
        );
        let named: Vec<_> =
            sent.rejects.iter().map(|(_, reject)| reject.row.column.as_deref()).collect();
        assert_eq!(named, [Some("b"), Some("a")], "{form:?} {rule:?}");
    }
}

#[test]
fn rows_without_a_parent_are_refused_and_not_skipped() {
    let Some(server) = TestServer::shared() else { return };
    for (form, rule) in [
        (Form::Lines, OnDuplicate::Fail),
        (Form::Lines, OnDuplicate::Skip),
        (Form::Tuples, OnDuplicate::Skip),
        (Form::Tuples, OnDuplicate::Replace),
        (Form::Values, OnDuplicate::Fail),
        (Form::Values, OnDuplicate::Skip),
    ] {
        if !forms(server).contains(&form) {
            continue;
        }
        let columns = "a INT PRIMARY KEY, b INT, FOREIGN KEY (b) REFERENCES t (a)";
        let mut scene = Scene::new(server, columns, &NAMES, rule);
        let sent = send(&scene, form, ONE_BATCH, &["1\t\\N", "2\t1", "3\t9", "4\t2"]).unwrap();
        assert_eq!(scene.rows(), ["1\t\\N", "2\t1", "4\t2"], "{form:?} {rule:?}");
        assert_eq!(sent.entry.refused.len(), 1);
        assert_eq!(sent.entry.refused[0].errno, 1452);
    }
}

#[test]
fn a_duplicate_ends_the_load_and_is_named() {
    let Some(server) = TestServer::shared() else { return };
    for form in forms(server) {
        let mut scene = Scene::new(server, COLUMNS, &NAMES, OnDuplicate::Fail);
        let insert = format!("INSERT INTO {} VALUES (3, 'old')", scene.target.quoted());
        scene.session.exec(&insert).unwrap();
        let trouble = send(&scene, form, ONE_BATCH, &["1\ta", "2\tb", "3\tc", "4\td"]);
        let Err(Trouble::Duplicate { position, message }) = trouble else { panic!("{trouble:?}") };
        assert_eq!(position.line, 3);
        let key = message.strip_prefix("Duplicate entry '3' for key '").unwrap();
        // MySQL names the table too.
        assert!(["PRIMARY'", "t.PRIMARY'"].contains(&key), "{message}");
        assert_eq!(scene.rows(), ["3\told"]);
        assert!(scene.entries().is_empty());
    }
}

/// Each rule leaves the rows of LOAD DATA with IGNORE or REPLACE, or of the same INSERTs, for rows
/// with one key.
#[test]
fn each_rule_leaves_the_rows_that_it_should() {
    let Some(server) = TestServer::shared() else { return };
    let lines = ["1\tnew", "2\tnew", "1\tlast", "5\tnew"];
    let both = forms(server);
    let both = both.as_slice();
    let skipped = ["1\told", "2\tnew", "3\told", "5\tnew"];
    let taken = ["1\tlast", "2\tnew", "3\told", "5\tnew"];
    let cases = [
        (OnDuplicate::Skip, both, skipped, (2, 2)),
        (OnDuplicate::Replace, both, taken, (4, 2)),
        (OnDuplicate::Update, &both[1..], taken, (4, 2)),
    ];
    for (rule, of_rule, expected, counts) in cases {
        for &form in of_rule {
            for batch in [BATCH, ONE_BATCH, Batch { rows: 1, bytes: 1 }] {
                let mut scene = Scene::new(server, COLUMNS, &NAMES, rule);
                let table = scene.target.quoted();
                let insert = format!("INSERT INTO {table} VALUES (1, 'old'), (3, 'old')");
                scene.session.exec(&insert).unwrap();
                let (mut chunk, mut notes) = (chunk(0, form, &lines), Notes::default());
                let sent = scene.sender().send(&mut chunk, batch, &mut notes).unwrap();
                assert_eq!(scene.rows(), expected, "{rule:?} {form:?} {batch:?}");
                let seen = (sent.entry.rows, sent.entry.duplicates);
                assert_eq!(seen, counts, "{rule:?} {form:?} {batch:?}");
                assert!(sent.rejects.is_empty() && !notes.was_asked_for_tuples);
                assert_eq!(scene.entries(), [sent.entry]);
            }
        }
    }
}

/// A row that changes nothing has met another all the same; so has one of a statement of its own.
#[test]
fn rows_that_update_nothing_are_told_from_new_ones() {
    let Some(server) = TestServer::shared() else { return };
    for &form in forms(server).iter().filter(|&&form| form != Form::Lines) {
        for batch in [BATCH, ONE_BATCH, Batch { rows: 1, bytes: 1 }] {
            let mut scene = Scene::new(server, COLUMNS, &NAMES, OnDuplicate::Update);
            let table = scene.target.quoted();
            let insert = format!("INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c')");
            scene.session.exec(&insert).unwrap();
            let sent = send(&scene, form, batch, &["1\ta", "2\tb", "3\tx", "4\td"]).unwrap();
            assert_eq!(scene.rows(), ["1\ta", "2\tb", "3\tx", "4\td"]);
            let seen = (sent.entry.rows, sent.entry.duplicates);
            assert_eq!(seen, (4, 3), "{form:?} {batch:?}");
        }
    }
}

/// The server counts rows that triggers wrote with those of a bulk INSERT.
#[test]
fn rows_that_triggers_write_are_not_counted() {
    let Some(server) = TestServer::shared() else { return };
    let rules = [
        (OnDuplicate::Fail, ["2\tb", "3\tc"], (2, 0)),
        (OnDuplicate::Skip, ["1\tb", "3\tc"], (1, 1)),
        (OnDuplicate::Replace, ["1\tb", "3\tc"], (2, 1)),
        (OnDuplicate::Update, ["1\tb", "3\tc"], (2, 1)),
    ];
    for form in forms(server) {
        for (rule, lines, counts) in rules {
            if form == Form::Lines && rule == OnDuplicate::Update {
                continue;
            }
            let mut scene = Scene::new(server, COLUMNS, &NAMES, rule);
            let table = scene.target.quoted();
            let log = TableName::new(scene.target.database.clone(), "log").quoted();
            let of = |name: &str| TableName::new(scene.target.database.clone(), name).quoted();
            for sql in [
                format!("CREATE TABLE {log} (a INT)"),
                format!("INSERT INTO {table} VALUES (1, 'a')"),
                format!(
                    "CREATE TRIGGER {} AFTER INSERT ON {table} FOR EACH ROW INSERT INTO {log} \
                     VALUES (1), (2)",
                    of("tr")
                ),
            ] {
                scene.session.exec(&sql).unwrap();
            }
            let sent = send(&scene, form, ONE_BATCH, &lines).unwrap();
            let seen = (sent.entry.rows, sent.entry.duplicates);
            assert_eq!(seen, counts, "{form:?} {rule:?}");
        }
    }
}

/// Among more warnings than the server tells of, one may be of something else. Rows that are refused are found among
/// the duplicates. Each duplicate once took two statements.
#[test]
fn many_duplicates_are_skipped_by_few_statements() {
    let Some(server) = TestServer::shared() else { return };
    for form in forms(server) {
        for refused in [0, 3] {
            let line = |i| match (20_000..20_000 + refused).contains(&i) {
                true => "7\tlonger than ten".to_owned(),
                false => format!("{}\tx", i / 70),
            };
            let lines: Vec<String> = (0..70_000).map(line).collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let mut scene = Scene::new(server, COLUMNS, &NAMES, OnDuplicate::Skip);
            let mut sender = scene.sender();
            let before = status(&mut sender, "Questions");
            let mut chunk = chunk(0, form, &lines);
            let sent = sender.send(&mut chunk, ONE_BATCH, &mut Notes::default()).unwrap();
            let statements = status(&mut sender, "Questions") - before;
            let duplicates = 69_000 - refused as u64;
            assert_eq!((sent.entry.rows, sent.entry.duplicates), (1000, duplicates), "{form:?}");
            assert_eq!((sent.rejects.len(), scene.rows().len()), (refused, 1000));
            assert!(statements < 300, "{statements} statements, {form:?}, {refused} refused");
        }
    }
}

#[test]
fn one_row_too_many_that_is_refused_ends_it() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, COLUMNS, &NAMES, OnDuplicate::Fail);
    scene.options.rejects_max = 1;
    let lines: Vec<String> = (0..1000).map(|i| format!("{i}\tlonger than ten")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let trouble = send(&scene, Form::Tuples, ONE_BATCH, &lines);
    let Err(Trouble::Rejected(rejects)) = trouble else { panic!("{trouble:?}") };
    let at: Vec<u64> = rejects.iter().map(|(_, reject)| reject.row.position.line).collect();
    assert_eq!(at, [1, 2]);
    assert!(scene.rows().is_empty() && scene.entries().is_empty());
}

#[test]
fn statements_keep_within_what_the_server_takes() {
    let options = TestServerOptions {
        extra: vec!["--max-allowed-packet=16384".to_owned()],
        ..TestServerOptions::default()
    };
    let Some(server) = TestServer::start_with(&options) else { return };
    let mut scene = Scene::new(&server, "a INT PRIMARY KEY, b TEXT", &NAMES, OnDuplicate::Fail);
    let (long, longer) = ("x".repeat(9000), "y".repeat(17_000));
    let lines: Vec<String> =
        (0..9).map(|i| format!("{i}\t{}", if i == 5 { &longer } else { &long })).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let sent = send(&scene, Form::Tuples, ONE_BATCH, &lines).unwrap();
    assert_eq!(scene.rows().len(), 8);
    assert_eq!(sent.rejects.len(), 1);
    assert!(
        sent.rejects[0].1.row.reason.contains("max_allowed_packet"),
        "{}",
        sent.rejects[0].1.row.reason
    );
    assert_eq!(sent.rejects[0].1.row.position.line, 6);
}

/// The list of refused rows is longer than a statement may be.
#[test]
fn refused_rows_are_written_down_by_statements_that_the_server_takes() {
    let options = TestServerOptions {
        extra: vec!["--max-allowed-packet=16384".to_owned()],
        ..TestServerOptions::default()
    };
    let Some(server) = TestServer::start_with(&options) else { return };
    let columns = format!("{COLUMNS}, CONSTRAINT good CHECK (b <> 'bad')");
    let mut scene = Scene::new(&server, &columns, &NAMES, OnDuplicate::Fail);
    let line = |i| format!("{i}\t{}", if i % 2 == 0 { "bad" } else { "good" });
    let lines: Vec<String> = (0..1000).map(line).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    for ordinal in 0..2 {
        let mut chunk = chunk(ordinal, Form::Tuples, &lines);
        let mut notes = Notes::default();
        let sent = scene.sender().send(&mut chunk, ONE_BATCH, &mut notes).unwrap();
        assert!(notes.causes.is_empty());
        assert_eq!((sent.entry.refused.len(), scene.rows().len()), (500, 500));
        assert_eq!(scene.entries()[ordinal as usize], sent.entry);
        // A second run finds them all.
        let again = scene.sender().send(&mut chunk, ONE_BATCH, &mut notes).unwrap();
        assert!(again.was_loaded);
        assert_eq!((again.entry, again.rejects.len()), (sent.entry, 500));
        scene.session.exec(&format!("DELETE FROM {}", scene.target.quoted())).unwrap();
    }
    scene.ledger.require(&mut scene.session, Totals { chunks: 2, rows: 1000 }).unwrap();
    let loaded = scene.ledger.loaded(&mut scene.session).unwrap();
    assert!(loaded.len() == 2 && loaded.values().all(|chunk| chunk.has_rejects));
}

/// A table that keeps what a transaction has put into it cannot be loaded a chunk at a time.
#[test]
fn rows_that_cannot_be_undone_end_the_load() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, COLUMNS, &NAMES, OnDuplicate::Fail);
    let table = scene.target.quoted();
    scene.session.exec(&format!("ALTER TABLE {table} ENGINE=MyISAM")).unwrap();
    let trouble = send(&scene, Form::Lines, ONE_BATCH, &["1\ta", "2\tlonger than ten"]);
    assert!(matches!(trouble, Err(Trouble::Failed(Error::NotRolledBack { .. }))), "{trouble:?}");
}

/// In a transaction of others, a chunk alone is undone and sent again.
#[test]
fn a_savepoint_undoes_a_chunk_alone() {
    let Some(server) = TestServer::shared() else { return };
    let mut scene = Scene::new(server, COLUMNS, &NAMES, OnDuplicate::Fail);
    for savepoints in [true, false] {
        scene.options.commit = Commit::Whole { savepoints };
        let mut session = server.connect().unwrap();
        session.exec("START TRANSACTION").unwrap();
        let mut sender = Sender::with(session, &Arc::new(scene.options.clone())).unwrap();
        let mut send = |ordinal, lines: &[&str]| {
            let mut chunk = chunk(ordinal, Form::Lines, lines);
            sender.send(&mut chunk, BATCH, &mut Notes::default())
        };
        send(0, &["1\ta"]).unwrap();
        let second = send(1, &["2\tb", "3\tlonger than ten"]);
        if !savepoints {
            assert!(matches!(second, Err(Trouble::Failed(Error::Internal(_)))), "{second:?}");
            continue;
        }
        assert_eq!(second.unwrap().rejects.len(), 1);
        sender.into_session().unwrap().exec("COMMIT").unwrap();
        assert_eq!(scene.rows(), ["1\ta", "2\tb"]);
        scene.session.exec(&format!("TRUNCATE {}", scene.target.quoted())).unwrap();
    }
}

/// The server has error 1467 for a counter without values, and for a wait for the counter's lock. LOAD DATA that took as
/// long as `--lock-wait` was sent again for ever.
#[test]
fn a_full_counter_behind_a_slow_statement_is_no_lock() {
    let Some(server) = TestServer::shared() else { return };
    let columns = "a BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, b VARCHAR(10)";
    let mut scene = Scene::new(server, columns, &NAMES, OnDuplicate::Fail);
    scene.options.lock_wait = Duration::from_secs(1);
    let table = scene.target.quoted();
    let slow = format!(
        "CREATE TRIGGER {}.slow BEFORE INSERT ON {table} FOR EACH ROW \
         SET @slow = IF(NEW.b = 'slow', SLEEP(1.2), 0)",
        scene.target.database
    );
    scene.session.exec(&slow).unwrap();
    scene
        .session
        .exec(&format!("ALTER TABLE {table} AUTO_INCREMENT=18446744073709551615"))
        .unwrap();
    let mut notes = Notes::default();
    let mut chunk = chunk(0, Form::Lines, &["5\tslow", "0\tb"]);
    let batch = Batch { rows: 1, ..BATCH };
    let sent = scene.sender().send(&mut chunk, batch, &mut notes).unwrap();
    assert_eq!((sent.rejects.len(), notes.causes.len()), (1, 0), "{:?}", sent.rejects);
    assert_eq!(scene.rows(), ["5\tslow"]);
}
