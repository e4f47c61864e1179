//! Reports on a server's settings, and settings that are changed for a load and restored.

use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use disk::{journal, private};
use serde_json::Value;
use server::Session;
use testkit::{TestServer, TestServerOptions};

use crate::support::{Desk, Home, Outcome, finish, names, resume, run, signal, start, wait_paused};

#[test]
fn doctor_says_what_is_wrong_for_people_and_for_programs() {
    let Some(mut desk) = Desk::new() else { return };
    let doctor = |more: &[&str]| {
        let mut command = desk.home.inrush(["doctor", "--socket"]);
        command.arg(desk.server.socket()).args(["--user", "root"]).args(more);
        run(&mut command)
    };
    // Servers of tests sync nothing, which is dangerous.
    let text = doctor(&[]).done().out.clone();
    let direct = "direct: tables of this server are built as files and imported\n";
    assert!(text.starts_with(direct), "{text}");
    assert!(text.contains("DANGER   innodb_doublewrite\n  now    OFF\n"), "{text}");
    let json: Value = serde_json::from_str(&doctor(&["--json"]).done().out).unwrap();
    let findings = json["findings"].as_array().unwrap();
    let doublewrite = findings.iter().find(|finding| finding["what"] == "innodb_doublewrite");
    assert_eq!(doublewrite.unwrap()["weight"], "danger");
    assert_eq!(json["method"], "direct");
    assert!(json["data"]["file_system"].is_string() && json["disk"]["sync_ms"].is_f64(), "{json}");
    // Nothing is left behind, on the server or in its folder.
    assert_eq!(desk.files(), desk.server.database_files(&[]));
    assert_eq!(desk.rows("SHOW TABLES"), [""; 0]);
    let none = run(&mut desk.home.inrush(["doctor"]));
    none.refused(2, &["no server is named", "-S SOCKET or -h HOST"]);
}

/// The settings of a load here, with the values that the servers of these tests begin with, and the
/// values that are set.
const SETTINGS: [(&str, &str, &str); 4] = [
    ("innodb_max_dirty_pages_pct", "20.000000", "90.000000"),
    ("innodb_adaptive_hash_index", "ON", "OFF"),
    ("innodb_flush_log_at_trx_commit", "1", "2"),
    ("sync_binlog", "1", "0"),
];

/// A server of its own, with settings that no load likes, a table, and a home.
struct Yard {
    server: TestServer,
    session: Session,
    home: Home,
    file: PathBuf,
}

impl Yard {
    fn new() -> Option<Yard> {
        let extra = [
            "--innodb-max-dirty-pages-pct=20",
            "--innodb-adaptive-hash-index=ON",
            "--innodb-flush-log-at-trx-commit=1",
            "--log-bin=b",
            "--sync-binlog=1",
        ];
        let extra = extra.map(str::to_owned).to_vec();
        let server = TestServer::start_with(&TestServerOptions { extra, ..Default::default() })?;
        let mut session = server.connect().unwrap();
        session.exec("CREATE DATABASE d").unwrap();
        for table in ["t", "u"] {
            session.exec(&format!("CREATE TABLE d.{table} (a INT PRIMARY KEY, b INT)")).unwrap();
        }
        let home = Home::new();
        let file = home.file("rows.txt", "1\t1\n2\t2\n3\t3\n");
        Some(Yard { server, session, home, file })
    }

    /// `inrush load rows.txt --into d.t --tune=relaxed`, over and over.
    fn load(&self, home: &Home, more: &[&str]) -> Command {
        // Another file each time: the rows of a killed load of the same one may be in already.
        std::fs::write(&self.file, std::fs::read(&self.file).unwrap()).unwrap();
        let mut command = home.load(&self.server, "d.t", &self.file);
        command.args(["--path", "stream", "--mode", "replace", "--tune=relaxed"]).args(more);
        command
    }

    fn inrush(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.home.inrush(arguments);
        run(command.arg("--socket").arg(self.server.socket()).args(["--user", "root"]))
    }

    fn value(&mut self, name: &str) -> String {
        self.session
            .query_row(&format!("SHOW GLOBAL VARIABLES LIKE '{name}'"))
            .unwrap()
            .text_lossy(1)
    }

    #[track_caller]
    fn assert_set(&mut self) {
        for (name, _, set) in SETTINGS {
            assert_eq!(self.value(name), set, "{name}");
        }
    }

    #[track_caller]
    fn assert_put_back(&mut self) {
        for (name, before, _) in SETTINGS {
            assert_eq!(self.value(name), before, "{name}");
        }
        assert_eq!(self.noted(), [""; 0]);
    }

    /// The journal's entries.
    fn noted(&self) -> Vec<String> {
        let all = names(&self.home.path().join("state/inrush/tuned"));
        all.into_iter().filter(|name| name.ends_with(".json")).collect()
    }

    /// Notes another connection for the load that was killed.
    fn set_connection(&self, session: &Session) {
        self.set_user(session.id(), Some(&session.mark().lock));
    }

    /// Notes another number for the connection of the load that was killed, and perhaps another lock.
    fn set_user(&self, connection: u64, lock: Option<&str>) {
        let folder = private::open(&self.home.path().join("state/inrush/tuned")).unwrap();
        let name = &self.noted()[0];
        let mut noted = journal::read::<tune::Entry>(&folder, name.as_ref()).unwrap().remove(0);
        let user = &mut noted.what.users[0];
        user.connection = connection;
        user.lock = lock.map_or(user.lock.clone(), str::to_owned);
        journal::replace(&folder, name.as_ref(), &noted.what).unwrap();
    }

    /// A load that waits at the end of the time for which it has set variables.
    fn paused(&self, into: &str) -> Child {
        let mut command = self.load(&self.home, &["--into", into]);
        let mut child = start(command.env("INRUSH_FAILPOINT", "tune.end=pause"));
        wait_paused(&mut child);
        child
    }
}

#[test]
fn settings_are_put_back_after_success_failure_and_a_signal() {
    let Some(mut yard) = Yard::new() else { return };
    let plain = run(&mut yard.load(&yard.home, &[]));
    let note = "note: --tune: set until the last load that uses them ends: innodb_";
    assert!(plain.done().out.contains(note), "{plain:?}");
    assert!(plain.out.contains("sync_binlog=0 (was 1)"), "{plain:?}");
    yard.assert_put_back();
    // What gives up nothing leaves commits as they are.
    let mut safe = yard.load(&yard.home, &["--tune"]);
    let out = run(&mut safe).done().out.clone();
    assert!(out.contains("innodb_max_dirty_pages_pct=90") && !out.contains("sync_binlog"), "{out}");
    // A load on the direct path has nothing to set.
    let direct = run(&mut yard.load(&yard.home, &["--path", "direct", "--unlogged"]));
    assert!(!direct.done().out.contains("--tune"), "{direct:?}");
    yard.assert_put_back();

    let files = ["t.txt", "u.txt"].map(|name| yard.home.file(name, "4\t4\n"));
    let mut both = yard.load(&yard.home, &["--into", "d"]);
    let both = run(both.args(&files[1..]).args(["--map", "rows.txt=t"]));
    assert!(both.done().out.contains("sync_binlog=0 (was 1)"), "{both:?}");
    yard.assert_put_back();

    let bad = yard.home.file("bad.txt", "1\tx\n");
    let mut failed = yard.home.load(&yard.server, "d.t", &bad);
    failed.args(["--path", "stream", "--mode", "replace", "--tune=relaxed"]);
    assert_eq!(run(&mut failed).code(), 1);
    yard.assert_put_back();

    let mut stopped = yard.load(&yard.home, &[]);
    let mut child = start(stopped.env("INRUSH_FAILPOINT", "rows.begin=pause"));
    wait_paused(&mut child);
    yard.assert_set();
    signal(child.id(), "-INT");
    resume(&child);
    finish(child).refused(1, &["stopped by SIGINT", "d.t is unchanged"]);
    yard.assert_put_back();
}

#[test]
fn settings_that_a_killed_load_left_are_put_back_by_the_next_command() {
    let Some(mut yard) = Yard::new() else { return };
    let most = SETTINGS.len();
    let steps = (1..=most).flat_map(|n| [format!("tune.set.{n}"), format!("tune.restored.{n}")]);
    let places = ["tune.noted", "rows.begin", "tune.end"].map(str::to_owned);
    for place in places.into_iter().chain(steps) {
        let mut load = yard.load(&yard.home, &[]);
        let killed = run(load.env("INRUSH_FAILPOINT", format!("{place}=kill")));
        assert_eq!(killed.code(), -1, "{place}: {killed:?}");
        assert_eq!(yard.noted().len(), 1, "{place}");
        // Whichever command it is.
        let next = match place.as_str() {
            "tune.set.1" => run(&mut yard.load(&yard.home, &["--tune"])),
            "tune.set.2" => {
                yard.inrush(&["plan", "rows.txt", "--into", "d.t", "--mode", "replace"])
            }
            _ => yard.inrush(&["tune", "--show"]),
        };
        assert_eq!(next.code(), 0, "{place}: {next:?}");
        let told = next.err.contains("note: restored settings of a killed load");
        assert!(told, "{place}: {next:?}");
        yard.assert_put_back();
    }
    // A server that was started again has its own.
    let mut load = yard.load(&yard.home, &[]);
    assert_eq!(run(load.env("INRUSH_FAILPOINT", "tune.end=kill")).code(), -1);
    yard.assert_set();
    std::thread::sleep(Duration::from_millis(1_100));
    yard.server.restart().unwrap();
    yard.session = yard.server.connect().unwrap();
    yard.session.exec("SET GLOBAL sync_binlog=0").unwrap();
    let next = yard.inrush(&["tune"]);
    assert!(
        next.done().err.contains("the server was restarted since its variables were set for a"),
        "{next:?}"
    );
    assert_eq!((yard.value("sync_binlog").as_str(), yard.noted().len()), ("0", 0));
}

#[test]
fn of_two_loads_the_last_one_puts_back_what_was_there_before_both() {
    let Some(mut yard) = Yard::new() else { return };
    let (one, two) = (yard.paused("d.t"), yard.paused("d.u"));
    yard.assert_set();
    let shown = yard.inrush(&["tune"]);
    assert_eq!(shown.done().out.matches("used by   load into d.").count(), 2, "{shown:?}");
    resume(&one);
    finish(one).done();
    yard.assert_set();
    resume(&two);
    finish(two).done();
    yard.assert_put_back();

    // The one that has set them is killed; the other is still at work.
    let (mut one, two) = (yard.paused("d.t"), yard.paused("d.u"));
    one.kill().unwrap();
    one.wait().unwrap();
    yard.inrush(&["tune"]).done();
    yard.assert_set();
    yard.session.exec("SET GLOBAL sync_binlog=7").unwrap();
    resume(&two);
    let outcome = finish(two);
    let changed =
        "warning: sync_binlog stays 7: somebody else set it during the load; it was 1 before";
    assert!(outcome.done().err.contains(changed), "{outcome:?}");
    assert_eq!((yard.value("sync_binlog").as_str(), yard.noted().len()), ("7", 0));
    yard.session.exec("SET GLOBAL sync_binlog=1").unwrap();
    yard.assert_put_back();

    // A load of somebody whose journal is elsewhere would take what is set for what was there.
    let elsewhere = Home::new();
    let one = yard.paused("d.t");
    let other = run(&mut yard.load(&elsewhere, &["--into", "d.u"]));
    assert!(other.done().out.contains("note: nothing was set: connection "), "{other:?}");
    yard.assert_set();
    resume(&one);
    finish(one).done();
    yard.assert_put_back();
}

#[test]
fn settings_are_held_until_somebody_has_them_put_back() {
    let Some(mut yard) = Yard::new() else { return };
    let json = |outcome: &Outcome| serde_json::from_str::<Value>(&outcome.done().out).unwrap();
    let shown = json(&yard.inrush(&["tune", "--show", "--json"]));
    assert_eq!(shown["set"], Value::Array(Vec::new()));
    assert!(shown["could_be_set"][1]["changes"].to_string().contains("sync_binlog"), "{shown}");
    yard.inrush(&["tune", "--apply"]).done();
    assert_eq!(yard.value("innodb_max_dirty_pages_pct"), "90.000000");
    assert_eq!(yard.value("sync_binlog"), "1");
    // A load that gives up more puts only that back.
    run(&mut yard.load(&yard.home, &[])).done();
    assert_eq!(yard.value("innodb_max_dirty_pages_pct"), "90.000000");
    assert_eq!(yard.value("sync_binlog"), "1");
    let held = yard.inrush(&["tune"]);
    assert!(
        held.done().out.contains("=90, was 20.000000, until inrush tune --restore"),
        "{held:?}"
    );
    yard.session.exec("SET GLOBAL innodb_max_dirty_pages_pct=33").unwrap();
    let changed = yard.inrush(&["tune"]);
    let told =
        "=90, was 20.000000, until inrush tune --restore; somebody else has set 33.000000 since";
    assert!(changed.done().out.contains(told), "{changed:?}");
    assert_eq!(changed.out.matches("innodb_max_dirty_pages_pct=").count(), 1, "{changed:?}");
    yard.session.exec("SET GLOBAL innodb_max_dirty_pages_pct=90").unwrap();
    let back = json(&yard.inrush(&["tune", "--restore", "--json"]));
    assert_eq!(back["set"], Value::Array(Vec::new()));
    yard.assert_put_back();

    // An account without the right gets what it may, and the rest as advice.
    yard.session.exec("CREATE USER few@localhost").unwrap();
    yard.session.exec("GRANT ALL ON d.* TO few@localhost").unwrap();
    let few = run(&mut yard.load(&yard.home, &["--user", "few"]));
    let advice =
        "note: sync_binlog=0 was not set: the account needs SUPER: SET GLOBAL sync_binlog=0";
    assert!(few.done().out.contains(advice), "{few:?}");
    yard.assert_put_back();

    let mut few = yard.home.inrush(["tune", "--apply", "--user", "few", "--socket"]);
    let few = run(few.arg(yard.server.socket()));
    few.refused(1, &["no variable was set"]);
    assert!(few.out.contains("was not set: the account needs SUPER"), "{few:?}");
    yard.assert_put_back();

    // A word that loses data is typed, not inherited.
    let inherited = run(yard.load(&yard.home, &[]).env("INRUSH_TUNE", "unsafe"));
    inherited.done();
    let mut plain = yard.home.load(&yard.server, "d.t", &yard.file);
    let refused = run(plain.env("INRUSH_TUNE", "unsafe"));
    refused.refused(2, &["--tune=unsafe works on the command line only", "may not start again"]);
    run(&mut yard.load(&yard.home, &["--tune=unsafe"])).done();
    yard.assert_put_back();

    let dump = yard.home.file("dump.sql", "CREATE TABLE r (a INT);\nINSERT INTO r VALUES (1);\n");
    let mut replay = yard.home.inrush(["replay"]);
    replay.arg(dump).args(["--into", "d", "--tune=relaxed", "--socket"]).arg(yard.server.socket());
    let replayed = run(replay.args(["--user", "root"]));
    assert!(replayed.done().out.contains("sync_binlog=0 (was 1)"), "{replayed:?}");
    yard.assert_put_back();
}

#[test]
fn a_statement_of_a_killed_load_is_ended_before_its_variable_is_put_back() {
    let Some(mut yard) = Yard::new() else { return };
    let mut load = yard.load(&yard.home, &[]);
    assert_eq!(run(load.env("INRUSH_FAILPOINT", "tune.noted=kill")).code(), -1);
    // The server goes on with the last SET of a process that is gone.
    let mut gone = yard.server.connect().unwrap();
    gone.query_row("SELECT GET_LOCK('inrush.tune.3', 0)").unwrap();
    yard.set_connection(&gone);
    let setting = std::thread::spawn(move || {
        let slow = "SET GLOBAL sync_binlog=(SELECT SLEEP(4))";
        gone.exec(slow).is_err()
    });
    let begun = "SELECT 1 FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SET GLOBAL sync%'";
    while yard.session.query_text(begun).unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    yard.inrush(&["tune", "--restore"]).done();
    assert!(setting.join().unwrap(), "it was not ended");
    yard.assert_put_back();
}

#[test]
fn a_stranger_that_has_the_number_of_a_killed_load_is_left_alone() {
    let Some(mut yard) = Yard::new() else { return };
    let mut load = yard.load(&yard.home, &[]);
    assert_eq!(run(load.env("INRUSH_FAILPOINT", "tune.end=kill")).code(), -1);
    yard.assert_set();
    let mut stranger = yard.server.connect().unwrap();
    yard.set_user(stranger.id(), None);
    let begun = Instant::now();
    yard.inrush(&["tune", "--restore"]).done();
    assert!(begun.elapsed() < Duration::from_secs(6), "it waited for a stranger");
    yard.assert_put_back();
    stranger.query_row("SELECT 1").unwrap();
}

/// As one account may not end the connection of another.
#[test]
fn the_note_stays_while_a_statement_of_a_killed_load_cannot_be_ended() {
    let Some(mut yard) = Yard::new() else { return };
    for sql in ["CREATE USER few@localhost", "GRANT BINLOG ADMIN ON *.* TO few@localhost"] {
        yard.session.exec(sql).unwrap();
    }
    let mut load = yard.load(&yard.home, &[]);
    assert_eq!(run(load.env("INRUSH_FAILPOINT", "tune.end=kill")).code(), -1);
    yard.assert_set();
    let mut gone = yard.server.connect().unwrap();
    gone.query_row("SELECT GET_LOCK('inrush.tune.3', 0)").unwrap();
    yard.set_connection(&gone);
    let mut few = yard.home.inrush(["tune", "--restore", "--user", "few", "--socket"]);
    let kept = run(few.arg(yard.server.socket()));
    let said = format!("stay for now: its connection {} still executes a statement", gone.id());
    kept.refused(1, &["variables are still set"]);
    assert!(format!("{}{}", kept.out, kept.err).contains(&said), "{kept:?}");
    yard.assert_set();
    assert_eq!(yard.noted().len(), 1);
    drop(gone);
    yard.inrush(&["tune", "--restore"]).done();
    yard.assert_put_back();
}

#[test]
fn tune_apply_says_that_it_sets_nothing_beside_a_load_of_another_state_folder() {
    let Some(mut yard) = Yard::new() else { return };
    let load = yard.paused("d.t");
    let elsewhere = Home::new();
    let mut apply = elsewhere.inrush(["tune", "--apply", "--user", "root", "--socket"]);
    let begun = Instant::now();
    let applied = run(apply.arg(yard.server.socket()));
    applied.refused(1, &["no variable was set"]);
    assert!(applied.out.contains("nothing was set: connection "), "{applied:?}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    // Nor does a load that sets nothing keep others of its folder waiting.
    let mut other = yard.load(&elsewhere, &["--into", "d.u"]);
    let mut other = start(other.env("INRUSH_FAILPOINT", "rows.begin=pause"));
    wait_paused(&mut other);
    let mut apply = elsewhere.inrush(["tune", "--apply", "--user", "root", "--socket"]);
    run(apply.arg(yard.server.socket())).refused(1, &["no variable was set"]);
    assert!(begun.elapsed() < Duration::from_secs(90), "{:?}", begun.elapsed());
    resume(&other);
    finish(other).done();
    resume(&load);
    finish(load).done();
    yard.assert_put_back();
}
