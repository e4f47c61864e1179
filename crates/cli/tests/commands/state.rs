//! The folder of journals: never one that somebody else could have put something into.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use load::journal::{Event, Journal};

use crate::support::{Desk, names, run};

#[test]
fn without_a_home_the_state_folder_has_to_be_named() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let file = desk.home.file("rows.txt", "1\n2\n");
    let dump = desk.home.file("dump.sql", "SELECT 1;\n");
    let homeless = |desk: &Desk, is_replay: bool| {
        let mut command = match is_replay {
            false => desk.home.load(desk.server, &desk.table("t"), &file),
            true => desk.home.inrush(["replay"]),
        };
        if is_replay {
            command.arg(&dump).arg("--socket").arg(desk.server.socket());
        }
        command.env_remove("HOME").env_remove("XDG_STATE_HOME");
        command
    };
    for is_replay in [false, true] {
        run(&mut homeless(&desk, is_replay)).refused(2, &["HOME", "--state-dir"]);
        // A variable that says nothing is none.
        run(homeless(&desk, is_replay).env("HOME", "")).refused(2, &["--state-dir"]);
        assert_eq!(desk.home.temp_files(), [""; 0]);
        let state = desk.home.path().join("named");
        run(homeless(&desk, is_replay).arg("--state-dir").arg(&state)).done();
    }
    assert_eq!(names(&desk.home.path().join("named/jobs")).len(), 1);
    assert_eq!(desk.rows("SELECT * FROM t"), ["1", "2"]);
}

#[test]
fn a_state_folder_that_others_could_have_made_is_refused() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let file = desk.home.file("rows.txt", "1\n2\n");
    let load = |desk: &Desk, state: &Path| {
        let mut load = desk.home.load(desk.server, &desk.table("t"), &file);
        load.args(["--mode", "replace", "--state-dir"]).arg(state);
        run(&mut load)
    };
    let home = desk.home.path().to_owned();
    let at = |name: &str| home.join(name);
    let mut ended = Journal::create(&at("theirs")).unwrap();
    ended.write("job", Event::End, "db.t").unwrap();
    for number in 1..120 {
        fs::copy(ended.path(), at(&format!("theirs/jobs/{number}-1-0.jsonl"))).unwrap();
    }
    // A link, a folder of jobs that is one, and a folder that others may write to.
    symlink(at("theirs"), at("link")).unwrap();
    fs::create_dir(at("mine")).unwrap();
    symlink(at("theirs/jobs"), at("mine/jobs")).unwrap();
    fs::create_dir(at("open")).unwrap();
    fs::set_permissions(at("open"), fs::Permissions::from_mode(0o777)).unwrap();
    for (state, seen) in
        [("link", "a symbolic link"), ("mine", "a symbolic link"), ("open", "go-w")]
    {
        load(&desk, &at(state)).refused(1, &["creating the journal in", seen, "--state-dir"]);
    }
    assert_eq!(names(&at("theirs/jobs")).len(), 120, "nothing of others is removed");
    assert_eq!(desk.rows("SELECT * FROM t"), [""; 0]);
    assert_eq!(load(&desk, &at("new")).code(), 0);
}

#[test]
fn a_replay_believes_no_journal_of_others_and_writes_into_no_file_of_theirs() {
    let Some(desk) = Desk::new() else { return };
    let dump = desk.home.file("dump.sql", "SELECT 1;\n");
    let replay = |state: &Path| {
        let mut replay = desk.home.inrush(["replay"]);
        replay.arg(&dump).arg("--socket").arg(desk.server.socket());
        run(replay.args(["--into", &desk.database, "--state-dir"]).arg(state))
    };
    let home = desk.home.path().to_owned();
    let at = |name: &str| home.join(name);
    // Where its journal is: one that is stopped at its first line leaves it.
    let mut killed = desk.home.inrush(["replay"]);
    killed.arg(&dump).arg("--socket").arg(desk.server.socket());
    killed.args(["--into", &desk.database, "--state-dir"]).arg(at("state"));
    run(killed.env("INRUSH_FAILPOINT", "replay.journal=kill"));
    let journal = at("state/replays").join(&names(&at("state/replays"))[0]);
    fs::remove_file(&journal).unwrap();
    fs::write(at("victim"), "precious").unwrap();
    symlink(at("victim"), &journal).unwrap();
    replay(&at("state")).refused(1, &["a symbolic link"]);
    assert_eq!(fs::read_to_string(at("victim")).unwrap(), "precious");
    fs::remove_file(&journal).unwrap();
    fs::write(&journal, "forged").unwrap();
    fs::set_permissions(&journal, fs::Permissions::from_mode(0o666)).unwrap();
    replay(&at("state")).refused(1, &["users other than its owner may write to it (mode 0666)"]);
    fs::remove_file(&journal).unwrap();
    assert_eq!(replay(&at("state")).code(), 0);
}
