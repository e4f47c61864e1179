//! Rights that are missing and settings that stand in the way: named, with what would help.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use testkit::{TestServer, TestServerOptions};

use crate::scene::{Mode, Scene};
use crate::support::{Home, Outcome, finish, names, resume, run, start, wait_paused};

/// Somebody who owns nothing.
const NOBODY: u32 = 65_534;

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The same load by an account that the administrator made.
fn by(scene: &Scene<'_>, account: &str) -> Command {
    let mut load = scene.command();
    load.args(["--user", account]).env("MYSQL_PWD", "sw0rdfish-1177");
    load
}

#[track_caller]
fn refused(scene: &mut Scene<'_>, outcome: &Outcome, words: &[&str]) {
    outcome.refused(2, &["cannot be loaded by the direct path: "]);
    for word in words {
        assert!(outcome.err.contains(word), "{word:?} is not in {outcome:?}");
    }
    assert!(!outcome.err.contains("sw0rdfish"));
    assert!(!scene.is_new());
    scene.clean("refused");
}

#[test]
fn missing_privileges_are_named_as_the_grant_that_gives_them() {
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::new(&server, Mode::Replace, 500);
    let user = "modest";
    scene
        .session
        .exec(&format!("CREATE USER {user}@localhost IDENTIFIED BY 'sw0rdfish-1177'"))
        .unwrap();
    let database = scene.database.clone();
    let no_table = run(&mut by(&scene, user));
    no_table.refused(2, &["command denied", "the account needs: GRANT SELECT ON"]);
    scene.session.exec(&format!("GRANT SELECT ON {database}.* TO {user}@localhost")).unwrap();
    let outcome = run(&mut by(&scene, user));
    let on_server = "GRANT RELOAD, SUPER, PROCESS ON *.* TO `modest`@`localhost`";
    let on_database = format!(
        "GRANT INSERT, CREATE, ALTER, DROP, LOCK TABLES ON `{database}`.* TO `modest`@`localhost`"
    );
    refused(&mut scene, &outcome, &[on_server, &on_database]);
    scene.session.exec(on_server).unwrap();
    let outcome = run(&mut by(&scene, user));
    assert!(!outcome.err.contains("RELOAD"), "{outcome:?}");
    refused(&mut scene, &outcome, &[&on_database]);
    // With what was asked for, and no more, it works.
    scene.session.exec(&on_database).unwrap();
    run(&mut by(&scene, user)).done();
    assert!(scene.is_new());
    scene.clean("by a modest account");
    scene.reset();
    // And it may not write to a server that turns read-only, not even to clean up.
    let mut load = by(&scene, user);
    let mut child = start(load.env("INRUSH_FAILPOINT", "publish.begin=pause"));
    wait_paused(&mut child);
    scene.session.exec("SET GLOBAL read_only=1").unwrap();
    resume(&child);
    let outcome = finish(child);
    scene.session.exec("SET GLOBAL read_only=0").unwrap();
    outcome.refused(1, &["the server became read-only", "step publish: ", "is unchanged"]);
    assert!(!scene.is_new());
    scene.again("after the server was read-only");
}

/// The default is read from a temporary copy of the table, which an export does not need.
#[test]
fn a_table_with_a_binary_default_is_exported_by_whoever_may_only_read() {
    let Some(server) = TestServer::start() else { return };
    let (mut root, home) = (server.connect().unwrap(), Home::new());
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY, b VARBINARY(9) DEFAULT 'x') ENGINE=InnoDB",
        "INSERT INTO d.t (a) VALUES (1)",
        "CREATE USER one@localhost IDENTIFIED BY 'sw0rdfish-1177'",
        "GRANT SELECT, INSERT, CREATE, ALTER, DROP, LOCK TABLES ON d.* TO one@localhost",
    ] {
        root.exec(sql).unwrap();
    }
    let command = |name: &str, more: &[&str]| {
        let mut command = home.inrush([name]);
        command.args(more).args(["--user", "one", "--socket"]).arg(server.socket());
        run(command.env("MYSQL_PWD", "sw0rdfish-1177"))
    };
    let (out, rows) = (home.path().join("out.tsv"), home.file("rows.txt", "2\n"));
    command("export", &["d.t", "-o", out.to_str().unwrap()]).done();
    assert!(fs::read_to_string(&out).unwrap().contains("1\tx"));
    let into = [rows.to_str().unwrap(), "--into", "d.t", "--mode", "append", "--columns", "a"];
    let outcome = command("load", &into);
    let grant = "GRANT CREATE TEMPORARY TABLES ON `d`.* TO `one`@`localhost`";
    assert!(outcome.code() == 0 || outcome.err.contains(grant), "{outcome:?}");
}

#[test]
fn another_user_of_the_machine_is_told_whose_the_files_are() {
    let Some(server) = TestServer::start() else { return };
    if Command::new("id").arg("-u").output().unwrap().stdout != b"0\n" {
        println!("skipped: only root can run a program as somebody else");
        return;
    }
    let mut scene = Scene::new(&server, Mode::Replace, 500);
    let grant = "GRANT ALL ON *.* TO other@localhost IDENTIFIED BY 'sw0rdfish-1177'";
    scene.session.exec(grant).unwrap();
    // The program and its folders where that user can get at them.
    let program = scene.home.path().join("inrush");
    // By another process: while one that a neighbouring test starts holds a file open for writing
    // that is ours, nobody can run it.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_inrush")).arg(&program).status();
    assert!(copied.unwrap().success());
    // Nobody takes over a folder of journals that is somebody else's.
    let state = scene.home.path().join("their-state");
    std::fs::create_dir(&state).unwrap();
    for folder in [scene.home.path(), &scene.home.temp_dir(), &state] {
        allow(folder, 0o777);
    }
    allow(server.dir(), 0o755);
    let folder = server.datadir().join(&scene.database);
    let load = || {
        let load = by(&scene, "other");
        let mut command = Command::new(&program);
        command.args(load.get_args()).current_dir(scene.home.path()).uid(NOBODY).gid(NOBODY);
        for (name, value) in load.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        run(command.env("XDG_STATE_HOME", &state))
    };
    let unreachable = "is inaccessible from here: Permission denied";
    let unwritable = "is not writable: Permission denied";
    let cases = [
        (0o700, 0o700, [unreachable, "run as root or as the server's user"]),
        (0o755, 0o755, [unwritable, "run as root or as user 0"]),
        (0o755, 0o777, ["belongs to user 0", "run as root or as that user"]),
    ];
    let mut outcomes = Vec::new();
    for (datadir, database, words) in cases {
        allow(server.datadir(), datadir);
        allow(&folder, database);
        outcomes.push((load(), words));
    }
    for (outcome, words) in outcomes {
        refused(&mut scene, &outcome, &words);
    }
    allow(&folder, 0o700);
    scene.again("as root");
}

#[test]
fn a_database_without_its_folder_is_refused() {
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::new(&server, Mode::Replace, 500);
    let (folder, away) = (server.datadir().join(&scene.database), server.dir().join("away"));
    // The server has the table open and does not miss the folder.
    fs::rename(&folder, &away).unwrap();
    let outcome = run(&mut scene.command());
    fs::rename(&away, &folder).unwrap();
    outcome.refused(2, &[&scene.table]);
    assert_eq!(names(&folder), server.database_files(&["t"]));
    scene.again("with its folder");
}

#[test]
fn settings_in_the_way_are_named() {
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::new(&server, Mode::Replace, 500);
    for (name, value, back, words) in [
        ("innodb_file_per_table", "0", "1", "shared tablespace (innodb_file_per_table is off"),
        ("read_only", "1", "0", "read-only server (read_only is set)"),
        ("innodb_checksum_algorithm", "crc32", "full_crc32", "innodb_checksum_algorithm is crc32"),
        ("innodb_compression_default", "1", "0", "page compression"),
    ] {
        scene.session.exec(&format!("SET GLOBAL {name}={value}")).unwrap();
        let outcome = run(&mut scene.command());
        scene.session.exec(&format!("SET GLOBAL {name}={back}")).unwrap();
        refused(&mut scene, &outcome, &[words]);
    }
    // Where the table does not say, the setting of the day does.
    for (format, word) in [("compact", "Compact"), ("redundant", "Redundant")] {
        let set = format!("SET GLOBAL innodb_default_row_format={format}");
        scene.session.exec(&set).unwrap();
        let outcome = run(&mut scene.command());
        scene.session.exec("SET GLOBAL innodb_default_row_format=dynamic").unwrap();
        let table = &scene.table;
        let words = format!("{table} is Dynamic, but innodb_default_row_format creates {word}");
        refused(
            &mut scene,
            &outcome,
            &[&words, "tables: change that variable, or give the table a ROW_FORMAT"],
        );
    }
    // Another checksum only matters for the files that are made now.
    scene.session.exec("SET GLOBAL innodb_checksum_algorithm=strict_full_crc32").unwrap();
    scene.again("with strict checksums");
}

#[test]
fn servers_that_take_no_rows_are_named() {
    for (extra, words) in [
        (vec!["--innodb-force-recovery=1"], "read-only server (innodb_force_recovery is set)"),
        (vec!["--wsrep-on=1", "--binlog-format=ROW"], "Galera (wsrep_on is set)"),
    ] {
        let options = TestServerOptions::default();
        let Some(server) = TestServer::start_with(&options) else { return };
        let mut scene = Scene::new(&server, Mode::Replace, 200);
        drop(std::mem::replace(&mut scene.session, server.connect().unwrap()));
        let extra = extra.into_iter().map(str::to_owned).collect();
        server.restart_with(extra).unwrap();
        scene.reconnect();
        let outcome = run(&mut scene.command());
        refused(&mut scene, &outcome, &[words]);
        // Rows could be sent there, and would go on to others.
        let mut plan = scene.home.inrush(["plan", "--mode", "replace", "--path", "auto", "--into"]);
        plan.arg(&scene.table).arg(&scene.file).arg("--socket").arg(server.socket());
        let planned = run(plan.args(["--user", "root"])).out;
        let is_galera = words.starts_with("Galera");
        assert_eq!(
            planned.contains("note: Galera: all nodes get the rows"),
            is_galera,
            "{planned}"
        );
    }
}

/// A swap would leave the keys of other tables at the old one.
#[test]
fn foreign_keys_of_other_databases_stop_a_load_by_whoever_does_not_see_them() {
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::new(&server, Mode::Insert, 50);
    let (database, other) = (scene.database.clone(), server.database().unwrap());
    let Scene { session, table, .. } = &mut scene;
    session
        .exec(&format!(
            "CREATE TABLE {other}.child (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES {table} (id))"
        ))
        .unwrap();
    session.exec("CREATE USER narrow@localhost IDENTIFIED BY 'sw0rdfish-1177'").unwrap();
    session.exec("GRANT RELOAD, SUPER ON *.* TO narrow@localhost").unwrap();
    session.exec(&format!("GRANT ALL PRIVILEGES ON {database}.* TO narrow@localhost")).unwrap();
    let outcome = run(&mut by(&scene, "narrow"));
    outcome.refused(2, &["GRANT PROCESS ON *.* TO `narrow`@`localhost`"]);
    scene.session.exec("GRANT PROCESS ON *.* TO narrow@localhost").unwrap();
    let outcome = run(&mut by(&scene, "narrow"));
    let missing = format!("GRANT SELECT, LOCK TABLES ON `{other}`.* TO `narrow`@`localhost`");
    outcome.refused(2, &[&missing]);
    assert!(!scene.is_new());
    scene.clean("refused");
    scene.session.exec(&missing).unwrap();
    run(&mut by(&scene, "narrow")).done();
    assert!(scene.is_new());
    // The child's key is what it was.
    let keys = format!("SHOW CREATE TABLE {other}.child");
    let keys = scene.session.query_row(&keys).unwrap().text(1).unwrap();
    assert!(keys.contains(&format!("REFERENCES `{database}`.`t` (`id`)")), "{keys}");
    scene.clean("loaded");
}
