//! Files that others prepared: outputs never go through them, and no input leads out of its folder.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Desk, Home, finish, resume, run, start, wait_paused};

const PRECIOUS: &str = "precious\n";

/// A folder in which another user has put something under each name.
fn prepare(home: &Home) -> (PathBuf, PathBuf) {
    let folder = home.path().join("theirs");
    fs::create_dir(&folder).unwrap();
    let victim = home.file("victim", PRECIOUS);
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&victim, folder.join("soft")).unwrap();
    symlink(folder.join("nowhere"), folder.join("dangling")).unwrap();
    fs::hard_link(&victim, folder.join("hard")).unwrap();
    fs::hard_link(&victim, folder.join("rows.reasons.jsonl")).unwrap();
    symlink(&victim, folder.join("linked.reasons.jsonl")).unwrap();
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Only root can; without, the folder is as good as theirs.
    let _ = std::os::unix::fs::chown(&folder, Some(54_321), None);
    (folder, victim)
}

#[test]
fn outputs_are_new_files_that_nobody_prepared() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let file = desk.home.file("rows.txt", "1\n1\nx\n");
    let (folder, victim) = prepare(&desk.home);
    let common = ["--mode", "replace", "--rejects-max", "9", "--on-duplicate", "skip"];
    let refused = [
        ("soft", "it is a symbolic link"),
        ("dangling", "it is a symbolic link"),
        ("pipe", "it is a pipe"),
        ("linked", "it is a symbolic link"),
    ];
    for option in ["--rejects", "--duplicates", "--report"] {
        for (name, words) in refused {
            if name == "linked" && option == "--report" {
                continue;
            }
            let path = folder.join(name);
            let outcome =
                desk.load("t", &file, &[&common[..], &[option, path.to_str().unwrap()]].concat());
            outcome.refused(2, &[option, words]);
        }
        for name in ["hard", "rows"] {
            let path = folder.join(name);
            let outcome =
                desk.load("t", &file, &[&common[..], &[option, path.to_str().unwrap()]].concat());
            if (option, name) == ("--report", "hard") {
                outcome.refused(2, &[option, "it is not a report of Inrush"]);
                continue;
            }
            assert_eq!(outcome.code(), 3, "{option} {name}: {outcome:?}");
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{option} {name}");
            assert!(fs::metadata(&path).unwrap().len() > 0, "{option} {name}");
            fs::remove_file(&path).unwrap();
            fs::hard_link(&victim, folder.join("hard")).or_else(|_| fs::write(&path, "")).unwrap();
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), PRECIOUS, "{option}");
        assert!(!folder.join("nowhere").exists(), "{option}");
    }
    // A device and the output stay what they are.
    let outcome =
        desk.load("t", &file, &[&common[..], &["--rejects", "/dev/stdout", "--quiet"]].concat());
    assert_eq!(outcome.code(), 3);
    assert!(outcome.out.contains("x\n"), "{outcome:?}");
}

#[test]
fn an_input_that_an_input_names_is_in_its_folder() {
    let Some(mut desk) = Desk::new() else { return };
    let victim = desk.home.file("victim.dat", "1\tprecious\n");
    let dump = desk.home.path().join("dump");
    fs::create_dir(&dump).unwrap();
    let file = |name: &str, text: &str| fs::write(dump.join(name), text).unwrap();
    file(
        "metadata",
        "Started dump at: 2024-01-01 00:00:00\nFinished dump at: 2024-01-01 00:00:01\n",
    );
    file("d-schema-create.sql", "CREATE DATABASE `d`;\n");
    file("d.t-schema.sql", "CREATE TABLE `t` (a INT, b VARCHAR(20));\n");
    file(
        "d.t.00000.sql",
        "LOAD DATA LOCAL INFILE 'd.t.00000.dat' INTO TABLE `t` CHARACTER SET utf8mb4 FIELDS \
         TERMINATED BY '\\t' LINES TERMINATED BY '\\n' (`a`,`b`);\n",
    );
    let replay = |desk: &Desk, path: &Path| {
        let mut command = desk.home.inrush(["replay", path.to_str().unwrap()]);
        run(command
            .args(["--into", &desk.database, "--fresh", "--socket"])
            .arg(desk.server.socket()))
    };
    symlink(&victim, dump.join("d.t.00000.dat")).unwrap();
    replay(&desk, &dump).refused(2, &["d.t.00000.dat is a link to", "only files in the folder"]);
    assert!(desk.rows("SHOW TABLES").is_empty());
    // A link within the folder leads nowhere else.
    fs::rename(dump.join("d.t.00000.dat"), desk.home.path().join("old")).unwrap();
    file("own", "1\tmine\n");
    symlink("own", dump.join("d.t.00000.dat")).unwrap();
    replay(&desk, &dump).done();
    assert_eq!(desk.rows("SELECT * FROM t"), ["1|mine"]);
    // A link that takes the place of a file after the folder was listed.
    fs::remove_file(dump.join("d.t.00000.dat")).unwrap();
    file("d.t.00000.dat", "1\tmine\n");
    desk.exec("DROP TABLE t");
    let mut command = desk.home.inrush(["replay", dump.to_str().unwrap()]);
    command.args(["--into", &desk.database, "--fresh", "--socket"]).arg(desk.server.socket());
    command.env("INRUSH_FAILPOINT", "thread.progress=pause");
    let mut child = start(&mut command);
    wait_paused(&mut child);
    fs::remove_file(dump.join("d.t.00000.dat")).unwrap();
    symlink(&victim, dump.join("d.t.00000.dat")).unwrap();
    resume(&child);
    let outcome = finish(child);
    assert_ne!(outcome.code(), 0, "{outcome:?}");
    assert!(outcome.err.contains("it is a link out of its folder"), "{outcome:?}");
}

#[test]
fn a_folder_of_others_has_no_link_out_of_it() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let victim = desk.home.file("victim", "1\n");
    let folder = desk.home.path().join("theirs");
    fs::create_dir(&folder).unwrap();
    symlink(&victim, folder.join("t.txt")).unwrap();
    let load = |desk: &Desk| {
        let mut command = desk.home.inrush(["load", folder.to_str().unwrap()]);
        command.args(["--into", &desk.database, "--mode", "replace", "--socket"]);
        run(command.arg(desk.server.socket()))
    };
    load(&desk).done();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    load(&desk).refused(2, &["t.txt is a link out of a folder to which other users may write"]);
}

/// Files and folders at or below a path to which others may write.
fn open_to_others(path: &Path, found: &mut Vec<PathBuf>) {
    let metadata = fs::symlink_metadata(path).unwrap();
    if !metadata.is_symlink() && metadata.permissions().mode() & 0o022 != 0 {
        found.push(path.to_owned());
    }
    if metadata.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| open_to_others(&entry.unwrap().path(), found));
    }
}

#[test]
fn no_umask_opens_a_file_of_ours_to_others() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(200), KEY (b))");
    let rows: String = (0..40_000).map(|id| format!("{id}\t{id:0>180}\n")).collect();
    let file = desk.home.file("rows.txt", format!("{rows}x\ty\n"));
    let out = desk.home.path().join("out");
    fs::create_dir(&out).unwrap();
    let path = |name: &str| out.join(name).to_str().unwrap().to_owned();
    let under_umask = |command: &Command, failpoint: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "umask 000; exec \"$0\" \"$@\""]).arg(command.get_program());
        shell.args(command.get_args());
        shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.env("INRUSH_FAILPOINT", failpoint);
        shell
    };
    let mut load = desk.home.load(desk.server, &desk.table("t"), &file);
    load.args(["--rejects-max", "9", "--mode", "replace"]);
    load.args(["--rejects", &path("rejects"), "--report", &path("report.html")]);
    let mut export = desk.home.inrush(["export", &desk.table("t"), "-o", &path("exported/")]);
    export.arg("--socket").arg(desk.server.socket());
    let mut found = Vec::new();
    let mut child = start(&mut under_umask(&load, "verify.begin=pause"));
    wait_paused(&mut child);
    open_to_others(desk.home.path(), &mut found);
    resume(&child);
    assert_eq!(finish(child).code(), 3);
    run(&mut under_umask(&export, "")).done();
    open_to_others(desk.home.path(), &mut found);
    assert!(found.is_empty(), "{found:?}");
}
