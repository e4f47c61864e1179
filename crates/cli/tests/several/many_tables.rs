//! Many small tables in one transaction: all full, or all empty.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use crate::support::{Desk, finish, resume, run, signal, start, wait_paused};

const KILL: i32 = 9;
const TABLES: usize = 20;
const ROWS: usize = 50;

/// Tables `t00`, `t01`, .. and a folder with their files.
struct Many {
    desk: Desk,
}

impl Many {
    fn new() -> Option<Many> {
        let mut desk = Desk::new()?;
        std::fs::create_dir(desk.home.path().join("in")).unwrap();
        for at in 0..TABLES {
            desk.exec(&format!("CREATE TABLE t{at:02} (id INT PRIMARY KEY, v VARCHAR(9))"));
        }
        let many = Many { desk };
        (0..TABLES).for_each(|at| many.file(at, ""));
        Some(many)
    }

    /// The file of a table, with a line behind its rows.
    fn file(&self, at: usize, last: &str) {
        let rows: String = (0..ROWS).map(|id| format!("{id}\tof {at}\n")).collect();
        self.desk.home.file(&format!("in/t{at:02}.txt"), rows + last);
    }

    fn command(&self, failpoint: &str) -> Command {
        let mut command = self.desk.home.inrush(["load", "--into", &self.desk.database, "in"]);
        command.arg("--socket").arg(self.desk.server.socket()).env("INRUSH_FAILPOINT", failpoint);
        command
    }

    /// Counts the rows of all tables, each of which has those of its file.
    fn rows(&mut self) -> usize {
        let one = |at| format!("SELECT COUNT(*) n FROM t{at:02} WHERE v = 'of {at}'");
        let all: Vec<String> = (0..TABLES).map(one).collect();
        let sql = format!("SELECT SUM(n) FROM ({}) x", all.join(" UNION ALL "));
        self.desk.rows(&sql)[0].parse().unwrap()
    }

    /// All tables are empty; a load fills them, and they are emptied again.
    #[track_caller]
    fn check_empty_and_load(&mut self, when: &str) {
        assert_eq!(self.rows(), 0, "{when}");
        let loaded = run(&mut self.command(""));
        assert!(loaded.done().out.contains("stream transaction"), "{when}: {loaded:?}");
        assert_eq!(self.rows(), TABLES * ROWS, "{when}");
        (0..TABLES).for_each(|at| self.desk.exec(&format!("TRUNCATE t{at:02}")));
    }
}

#[test]
fn many_small_tables_are_all_empty_behind_an_error_in_one() {
    let Some(mut many) = Many::new() else { return };
    many.check_empty_and_load("at first");
    for (at, last, why) in [
        (0, "x\ty\n", "\"x\" is not INT"),
        (7, "x\ty\n", "\"x\" is not INT"),
        (8, "1\ty\n", "PRIMARY"),
        (19, "100\tlonger than nine\n", "too long"),
    ] {
        many.file(at, last);
        let refused = run(&mut many.command(""));
        let file = format!("t{at:02}.txt line {}", ROWS + 1);
        refused.refused(1, &[&file, why, "none of the 20 tables"]);
        many.file(at, "");
        many.check_empty_and_load(why);
    }
    // Both are named.
    many.file(7, "x\ty\n");
    many.file(8, "x\ty\n");
    let refused = run(&mut many.command(""));
    refused.refused(1, &["t07.txt line 51", "t08.txt line 51", "none of the 20 tables"]);
    many.file(7, "");
    many.file(8, "");
    many.check_empty_and_load("two errors");
}

#[test]
fn many_small_tables_are_all_empty_behind_kills_and_panics() {
    let Some(mut many) = Many::new() else { return };
    for point in
        ["transaction.begin", "t00.rows.begin", "t09.rows.begin", "t09.rows.end", "t19.rows.end"]
    {
        let killed = run(&mut many.command(&format!("{point}=kill")));
        assert_eq!(killed.status.signal(), Some(KILL), "{point}: {killed:?}");
        many.check_empty_and_load(point);
        run(&mut many.command(&format!("{point}=panic"))).refused(1, &["20 tables"]);
        many.check_empty_and_load(point);
    }
    run(&mut many.command("thread.connection=panic")).refused(1, &["20 tables"]);
    many.check_empty_and_load("connection");
}

#[test]
fn many_small_tables_are_all_empty_behind_signals_and_lost_connections() {
    let Some(mut many) = Many::new() else { return };
    // Nobody else's connections are ended.
    let user = format!("of_{}", many.desk.database);
    many.desk.exec(&format!("CREATE USER {user}@localhost"));
    many.desk.exec(&format!("GRANT ALL ON *.* TO {user}@localhost"));
    for (point, is_signal) in
        [("t09.rows.begin", true), ("t10.rows.begin", true), ("t09.rows.begin", false)]
    {
        let mut child = start(many.command(&format!("{point}=pause")).args(["--user", &user]));
        wait_paused(&mut child);
        if is_signal {
            signal(child.id(), "-INT");
        } else {
            let sql = "SELECT ID FROM information_schema.PROCESSLIST WHERE USER=";
            for id in many.desk.rows(&format!("{sql}'{user}'")) {
                many.desk.exec(&format!("KILL {id}"));
            }
        }
        resume(&child);
        finish(child).refused(1, &["20 tables"]);
        many.check_empty_and_load(point);
    }
    many.desk.exec(&format!("DROP USER {user}@localhost"));
}
