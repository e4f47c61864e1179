//! Archives, pipes and folders.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};

use flate2::write::GzEncoder;

use super::yard::{WAYS, Yard, same};
use crate::support::{finish, names, run, start};

#[test]
fn archives_and_pipes_are_replayed() {
    let Some(mut yard) = Yard::of(&["types", "code"]) else { return };
    let expected = yard.seen();
    let plain = yard.dump_all("plain.sql", &["--routines", "--events"]);
    let text = fs::read(&plain).unwrap();

    // Two archives in one file are one text; and the last semicolon is not missed.
    let end = text.iter().rposition(|&byte| byte == b';').unwrap();
    let half = end / 2;
    let mut packed = Vec::new();
    for part in [&text[..half], &text[half..end]] {
        let mut encoder = GzEncoder::new(&mut packed, flate2::Compression::fast());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap();
    }
    let packed = yard.home.file("dump", packed);
    // Its last line is missing too, then.
    yard.check("gzip", &packed, &["--partial"], &expected);

    let mut lines: Vec<u8> = vec![0xEF, 0xBB, 0xBF];
    lines.extend(&text);
    let marked = yard.home.file("marked.sql", lines);
    yard.check("with a byte order mark", &marked, &[], &expected);

    for way in WAYS {
        yard.wipe();
        let mut cat = Command::new("cat").arg(&plain).stdout(Stdio::piped()).spawn().unwrap();
        let mut command = yard.replay("-".as_ref(), &["--as", way]);
        let replay = start(command.stdin(cat.stdout.take().unwrap()));
        let outcome = finish(replay);
        cat.wait().unwrap();
        yard.compare(&format!("a pipe as {way}"), &outcome, &expected);
    }

    yard.wipe();
    let mut command = yard.replay("-".as_ref(), &[]);
    let outcome = run(command.stdin(File::open(&plain).unwrap()));
    yard.compare("a file as stdin", &outcome, &expected);
}

/// The system's own tables are in such a dump, and in use while it is replayed.
#[test]
fn every_database_of_a_server_is_replayed() {
    let Some(mut yard) = Yard::alone(&Yard::ZOO) else { return };
    // Statistics are counted anew; routines and events have the time in which they were made.
    let all = ["--all-databases", "--routines", "--events", "--skip-dump-date"];
    let counted = ["innodb_index_stats", "innodb_table_stats", "event", "proc"];
    let counted = counted.map(|table| format!("--ignore-table=mysql.{table}"));
    let counted = counted.iter().map(String::as_str);
    let stable: Vec<&str> = all.into_iter().chain(counted).collect();
    let expected = yard.seen();
    let system = fs::read(yard.dump("before.sql", &stable)).unwrap();
    let dump = yard.dump("all.sql", &all);
    for way in WAYS {
        yard.wipe();
        let outcome = run(&mut yard.replay(&dump, &["--as", way]));
        yard.compare(&format!("--all-databases as {way}"), &outcome, &expected);
        let again = fs::read(yard.dump("again.sql", &stable)).unwrap();
        same(&format!("the system's tables as {way}"), &again, &system);
    }
}

/// Rows as text that the server wrote, statements beside them; no word of the database.
#[test]
fn a_folder_of_tabs_is_replayed() {
    let Some(mut yard) = Yard::of(&["links"]) else { return };
    let database = yard.databases[0].clone();
    let folder = yard.home.path().join("tab");
    fs::create_dir(&folder).unwrap();
    let tab = format!("--tab={}", folder.display());
    // Triggers stand behind the line that ends the dump of their table.
    let trigger = "CREATE TRIGGER `tab t` BEFORE INSERT ON pair FOR EACH ROW SET NEW.z = NEW.z + 1";
    yard.session.exec(&format!("USE {database}")).unwrap();
    yard.session.exec(trigger).unwrap();
    let expected = yard.seen();
    yard.dump("nothing", &[&tab, &database]);
    for way in WAYS {
        yard.wipe();
        yard.make_databases();
        let outcome = run(&mut yard.replay(&folder, &["--as", way, "--into", &database]));
        yard.compare(&format!("--tab as {way}"), &outcome, &expected);
    }
    run(&mut yard.replay(&folder, &[])).refused(2, &["--into"]);
}

/// Rows that the server leaves out were a note, with exit status 0.
#[test]
fn delimited_rows_that_force_leaves_out_are_listed() {
    let Some(mut yard) = Yard::new(&["tab"]) else { return };
    let database = yard.databases[0].clone();
    let folder = yard.home.path().join("tab");
    std::fs::create_dir(&folder).unwrap();
    let table = "CREATE TABLE `t` (`a` varchar(9) COLLATE utf8mb4_general_ci, UNIQUE KEY (`a`)) \
                 ENGINE=InnoDB;\n";
    std::fs::write(folder.join("t.sql"), format!("DROP TABLE IF EXISTS `t`;\n{table}")).unwrap();
    std::fs::write(folder.join("t.txt"), "x\nX\ny\n").unwrap();
    let outcome = run(&mut yard.replay(&folder, &["--into", &database]));
    outcome.refused(1, &["t.txt"]);
    let outcome = run(&mut yard.replay(&folder, &["--into", &database, "--force"]));
    assert_eq!(outcome.code(), 3, "{outcome:?}");
    assert!(outcome.out.contains("rows share a key"), "{outcome:?}");
    let sql = format!("SELECT COUNT(*) FROM {database}.t");
    assert_eq!(yard.session.query_row(&sql).unwrap().text_lossy(0), "2");
    // Values that are changed are counted as those of INSERTs.
    std::fs::write(folder.join("t.txt"), "x\n0123456789\n").unwrap();
    let outcome = run(&mut yard.replay(&folder, &["--into", &database, "--force"]));
    outcome.done();
    assert!(outcome.out.contains("the server changed 1 value in"), "{outcome:?}");
}

/// Rows of a file that was lost were missing without a word.
#[test]
fn a_file_of_rows_that_a_folder_of_mydumper_lacks_is_a_warning() {
    let Some(yard) = Yard::new(&["lost"]) else { return };
    let database = yard.databases[0].clone();
    let folder = yard.home.path().join("lost");
    std::fs::create_dir(&folder).unwrap();
    let metadata = "# Started dump at: 2026-01-01\n[`d`.`t`]\nreal_table_name=t\nrows = 3\n\
         [`d`.`u`]\nreal_table_name=u\nrows = 0\n# Finished dump at: 2026-01-01\n";
    let table = |name: &str| format!("CREATE TABLE `{name}` (`a` int) ENGINE=InnoDB;\n");
    for (name, text) in [
        ("metadata", metadata.to_owned()),
        ("d-schema-create.sql", "CREATE DATABASE `d`;\n".to_owned()),
        ("d.t-schema.sql", table("t")),
        ("d.u-schema.sql", table("u")),
        ("d.t.00000.sql", "INSERT INTO `t` VALUES (1),(2);\n".to_owned()),
        ("d.t.00001.sql", "INSERT INTO `t` VALUES (3);\n".to_owned()),
        ("d.u.00000.dat", "1\n".to_owned()),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let replay = || run(&mut yard.replay(&folder, &["--into", &database, "--fresh"]));
    let outcome = replay();
    assert_eq!(outcome.code(), 3, "{outcome:?}");
    assert!(outcome.out.contains("d.u.00000.sql, which loads them, is missing"), "{outcome:?}");
    let mut drop = yard.server().connect().unwrap();
    drop.exec(&format!("DROP TABLE {database}.t, {database}.u")).unwrap();
    run(&mut yard.replay(&folder, &["--into", &database, "--fresh", "--partial"])).done();
    assert!(!outcome.out.contains("metadata counts"), "{outcome:?}");
    std::fs::remove_file(folder.join("d.t.00001.sql")).unwrap();
    std::fs::remove_file(folder.join("d.u.00000.dat")).unwrap();
    drop.exec(&format!("DROP TABLE {database}.t, {database}.u")).unwrap();
    let outcome = replay();
    assert_eq!(outcome.code(), 3, "{outcome:?}");
    let words = "t has 2 rows of the dump, but its metadata counts 3";
    assert!(outcome.out.contains(words), "{outcome:?}");
}

/// All rows were added once more, since these dumps say CREATE TABLE IF NOT EXISTS.
#[test]
fn a_folder_that_is_replayed_twice_adds_no_rows_twice() {
    let Some(mut yard) = Yard::new(&["twice"]) else { return };
    let database = yard.databases[0].clone();
    let folder = yard.home.path().join("twice");
    fs::create_dir(&folder).unwrap();
    let table = "CREATE TABLE IF NOT EXISTS `t` (`a` int) ENGINE=InnoDB;\n";
    for (name, text) in [
        ("metadata", "# Started dump at: 2026-01-01\n# Finished dump at: 2026-01-01\n"),
        ("d-schema-create.sql", "CREATE DATABASE IF NOT EXISTS `d`;\n"),
        ("d.t-schema.sql", table),
        ("d.t.00000.sql", "INSERT INTO `t` VALUES (1),(2);\n"),
        ("d.t.00001.sql", "INSERT INTO `t` VALUES (3);\n"),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    let count = format!("SELECT COUNT(*) FROM {database}.t");
    for way in WAYS {
        for (prepared, code) in [("DROP TABLE IF EXISTS", 0), ("", 1), ("TRUNCATE", 0)] {
            if !prepared.is_empty() {
                yard.session.exec(&format!("{prepared} {database}.t")).unwrap();
            }
            let outcome = run(&mut yard.replay(&folder, &["--into", &database, "--as", way]));
            assert_eq!(outcome.code(), code, "{way} {prepared}: {outcome:?}");
            let is_told = outcome.err.contains("t existed before this replay and has rows");
            assert_eq!(is_told, code == 1, "{way} {prepared}: {outcome:?}");
            let rows = yard.session.query_row(&count).unwrap().text_lossy(0);
            assert_eq!(rows, "3", "{way} {prepared}");
        }
    }
}

/// Such a table was left out without a word.
#[test]
fn a_definition_that_mydumper_could_not_write_is_told() {
    let Some(yard) = Yard::new(&["unwritten"]) else { return };
    let database = yard.databases[0].clone();
    let folder = yard.home.path().join("unwritten");
    fs::create_dir(&folder).unwrap();
    for (name, text) in [
        ("metadata", "# Started dump at: 2026-01-01\n# Finished dump at: 2026-01-01\n"),
        ("d-schema-create.sql", "CREATE DATABASE IF NOT EXISTS `d`;\n"),
        ("d.t-schema.sql", "/*!40101 SET NAMES binary*/;\nCREATE TABLE `t` (`a` int);\n"),
        ("d.u-schema.sql", "/*!40101 SET NAMES binary*/;\n"),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    let outcome = run(&mut yard.replay(&folder, &["--into", &database]));
    assert_eq!(outcome.code(), 3, "{outcome:?}");
    let told = "mydumper failed there, and its table is not in the dump (--partial accepts it)";
    assert!(outcome.out.contains(told), "{outcome:?}");
    yard.server().connect().unwrap().exec(&format!("DROP TABLE {database}.t")).unwrap();
    let known = run(&mut yard.replay(&folder, &["--into", &database, "--partial", "--fresh"]));
    assert!(known.done().out.contains("d.u-schema.sql has no CREATE TABLE"), "{known:?}");
    assert!(!outcome.out.contains("d.t-schema.sql"), "{outcome:?}");
}

/// Rows that `--insert-ignore` or `--replace` of mydumper left to the server were taken for a lost file.
#[test]
fn rows_that_share_keys_are_no_lost_file_of_mydumper() {
    let Some(mut yard) = Yard::new(&["shared"]) else { return };
    let database = yard.databases[0].clone();
    let folder = yard.home.path().join("shared");
    std::fs::create_dir(&folder).unwrap();
    let metadata = "# Started dump at: 2026-01-01\n[`d`.`t`]\nreal_table_name=t\nrows = 600\n\
         # Finished dump at: 2026-01-01\n";
    let table =
        "DROP TABLE IF EXISTS `t`;\nCREATE TABLE `t` (`a` int PRIMARY KEY) ENGINE=InnoDB;\n";
    std::fs::write(folder.join("metadata"), metadata).unwrap();
    std::fs::write(folder.join("d-schema-create.sql"), "CREATE DATABASE `d`;\n").unwrap();
    std::fs::write(folder.join("d.t-schema.sql"), table).unwrap();
    let rows: Vec<String> = (0..600).map(|row| format!("({})", row / 2)).collect();
    for verb in ["INSERT IGNORE", "REPLACE"] {
        let text = format!("{verb} INTO `t` VALUES {};\n", rows.join(","));
        std::fs::write(folder.join("d.t.00000.sql"), text).unwrap();
        for way in WAYS {
            let more = ["--into", &database, "--as", way, "--small", "1000", "--fresh"];
            let outcome = run(&mut yard.replay(&folder, &more));
            outcome.done();
            assert!(!outcome.out.contains("metadata counts"), "{verb} {way}: {outcome:?}");
            let count = format!("SELECT COUNT(*) FROM {database}.t");
            assert_eq!(yard.session.query_row(&count).unwrap().text_lossy(0), "300");
        }
    }
}

#[test]
fn a_folder_of_mydumper_is_replayed() {
    let Some(mut yard) = Yard::of(&["links"]) else { return };
    let expected = yard.seen();
    for style in [&["--rows", "60"][..], &["--compress", "--complete-insert", "--no-locks"]] {
        let folder = yard.home.path().join(format!("mydumper {}", style.len()));
        let list = format!("^({})\\.", yard.databases.join("|").replace('`', "."));
        let what = ["--routines", "--triggers", "--events", "--regex", &list];
        if !yard.server().mydumper(&folder, &[&what, style].concat()) {
            return;
        }
        yard.check(&format!("mydumper {}", style.join(" ")), &folder, &[], &expected);
    }
}

/// Its rows are one run, which the fastest path takes: the table has no others when it begins.
#[test]
fn rows_that_mydumper_split_are_loaded_as_one() {
    let Some(mut yard) = Yard::new(&["split"]) else { return };
    let database = yard.databases[0].clone();
    let make = format!(
        "CREATE TABLE `{database}`.t (id INT PRIMARY KEY, a VARCHAR(200), b BLOB, c TIMESTAMP NULL, \
         KEY (a)) CHARACTER SET utf8mb4"
    );
    yard.session.exec(&format!("USE `{database}`")).unwrap();
    yard.session.exec(&make).unwrap();
    let fill = format!(
        "INSERT INTO `{database}`.t SELECT seq, CONCAT('it''s; \\\\ ', REPEAT('x(),', seq % 40)), \
         UNHEX(MD5(seq)), FROM_UNIXTIME(seq * 10000) FROM seq_1_to_40000"
    );
    yard.session.exec(&fill).unwrap();
    let expected = yard.seen();
    for pack in [&[][..], &["--compress"]] {
        let folder = yard.home.path().join(format!("split {}", pack.len()));
        let what = ["--rows", "10000", "--database", &database];
        if !yard.server().mydumper(&folder, &[&what, pack].concat()) {
            return;
        }
        let files = names(&folder).into_iter().filter(|name| name.contains(".t.0")).count();
        assert!(files > 1, "{:?}", names(&folder));
        yard.wipe();
        let outcome = run(&mut yard.replay(&folder, &["--json"]));
        let report: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
        yard.compare("split rows", &outcome, &expected);
        let table = &report["tables"][0];
        assert_eq!((&table["way"], &table["rows"]), (&"direct".into(), &40000.into()), "{table}");
    }
}
