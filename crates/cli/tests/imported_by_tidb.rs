//! `--path import`: TiDB imports a file of the rows. The TiDB is the simulated one: TiKV was not there to test with.

use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

use testkit::proxy::{Fate, Request};
use testkit::stand_in::{Engine, ImportEnd, StandIn};

use crate::support::{Home, Outcome, finish, names, resume, run, signal, start, wait_paused};

const TABLE: &str = " (\n  `a` int(11) NOT NULL,\n  `b` varchar(20) DEFAULT NULL,\n  PRIMARY KEY (`a`),\n  \
     KEY `b` (`b`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin";
const OLD: [&str; 1] = ["9 old"];
const ROWS: &str = "1,one\n2,\"two\tand\\more\"\n3,\n4,\"a \"\"b\"\"\nc\"\n5,\\N\n";
const SHOWN: [&str; 5] = ["1 one", "2 two\tand\\more", "3 NULL", "4 a \"b\"\nc", "5 \\N"];

struct Case {
    home: Home,
    server: StandIn,
    file: PathBuf,
}

impl Case {
    fn new() -> Case {
        let home = Home::new();
        let engine = Engine::TiDb { release: (8, 5), bytes: 1 << 30 };
        let server = StandIn::start_as(home.path().join("socket"), engine);
        server.make("t", TABLE, None, &OLD.map(str::to_owned));
        let file = home.file("t.csv", ROWS);
        Case { home, server, file }
    }

    fn command(&self, path: &str) -> Command {
        let mut command = self.home.inrush(["load"]);
        command.arg(&self.file).args(["--into", "model.t", "--mode", "replace", "--path", path]);
        command.args(["--dialect", "csv", "--threads", "2", "--memory", "40M", "--socket"]);
        command.arg(self.server.socket());
        command
    }

    fn load(&self, more: &[&str]) -> Outcome {
        run(self.command("import").args(more))
    }

    /// All is as before, and nothing is left.
    #[track_caller]
    fn is_as_before(&self, outcome: &Outcome) {
        self.server.settle();
        assert_eq!(self.server.tables(), ["t"], "{outcome:?}");
        assert_eq!(self.server.rows("t").unwrap(), OLD, "{outcome:?}");
        self.is_clean(outcome);
    }

    #[track_caller]
    fn is_loaded(&self, outcome: &Outcome) {
        outcome.done();
        self.server.settle();
        assert_eq!(self.server.tables(), ["t"], "{outcome:?}");
        assert_eq!(self.server.rows("t").unwrap(), SHOWN, "{outcome:?}");
        self.is_clean(outcome);
    }

    #[track_caller]
    fn is_clean(&self, outcome: &Outcome) {
        assert_eq!(self.home.temp_files(), Vec::<String>::new(), "{outcome:?}");
        assert_eq!(self.server.unknown(), Vec::<String>::new(), "{outcome:?}");
        assert_eq!(self.server.broken(), Vec::<String>::new(), "{outcome:?}");
    }

    /// Kills a load whose job runs.
    #[track_caller]
    fn kill(&self) {
        self.server.end_imports(ImportEnd::Never);
        let killed = run(self.command("import").env("INRUSH_FAILPOINT", "import.started=kill"));
        assert_eq!(killed.status.signal(), Some(9), "{killed:?}");
        self.server.settle();
        assert_eq!(self.server.tables().len(), 2);
        self.server.end_imports(ImportEnd::Finished);
    }
}

#[test]
fn tidb_imports_the_rows_into_the_new_table() {
    let case = Case::new();
    let loaded = case.load(&["--json"]);
    case.is_loaded(&loaded);
    for part in ["\"path\": \"import\"", "\"destination\": \"staging\"", "\"import\""] {
        assert!(loaded.out.replace("\":\"", "\": \"").contains(part), "{part} {loaded:?}");
    }
    // Lines of one field, also empty ones.
    std::fs::write(&case.file, "2\n1\n").unwrap();
    case.load(&["--columns", "a"]).done();
    assert_eq!(case.server.rows("t").unwrap(), ["1", "2"]);
    // A bad line is found before.
    std::fs::write(&case.file, format!("{ROWS}6\n")).unwrap();
    case.load(&[]).refused(1, &["t.csv line 7", "2 expected"]);
    assert_eq!(case.load(&["--rejects-max", "1"]).code(), 3);
    assert_eq!(case.server.rows("t").unwrap(), SHOWN);
    // Nothing to import.
    std::fs::write(&case.file, "").unwrap();
    case.load(&["--allow-empty"]).done();
    assert_eq!(case.server.rows("t").unwrap(), Vec::<String>::new());
}

#[test]
fn a_job_that_does_not_import_all_rows_publishes_nothing() {
    let case = Case::new();
    for (end, words) in [
        (ImportEnd::Failed, "ended as failed: [types:1292]Truncated incorrect DOUBLE value: 'x'"),
        (ImportEnd::Cancelled, "ended as cancelled: cancelled by user"),
        (ImportEnd::Short, "imported 4 of 5 rows"),
    ] {
        case.server.end_imports(end);
        let failed = case.load(&[]);
        failed.refused(1, &[words, "--path stream sends them"]);
        case.is_as_before(&failed);
    }
    case.server.end_imports(ImportEnd::Finished);
    std::fs::write(&case.file, "1,one\n1,two\n").unwrap();
    let twice = case.load(&[]);
    twice.refused(1, &["ErrChecksumMismatch", "--path stream"]);
    case.is_as_before(&twice);
}

#[test]
fn a_load_that_is_stopped_cancels_its_job() {
    let case = Case::new();
    case.server.end_imports(ImportEnd::Never);
    let mut child = start(case.command("import").env("INRUSH_FAILPOINT", "import.started=pause"));
    wait_paused(&mut child);
    signal(child.id(), "-INT");
    resume(&child);
    let stopped = finish(child);
    stopped.refused(1, &["stopped"]);
    case.is_as_before(&stopped);
}

#[test]
fn the_next_load_cancels_the_job_of_a_killed_one_whatever_its_path() {
    for path in ["import", "stream"] {
        let case = Case::new();
        case.kill();
        assert_eq!(case.home.temp_files().len(), 1);
        let next = run(&mut case.command(path));
        if path == "stream" {
            // Only loads of the same kind look for folders of killed ones.
            std::fs::remove_dir_all(case.home.temp_dir()).unwrap();
            std::fs::create_dir(case.home.temp_dir()).unwrap();
        }
        case.is_loaded(&next);
    }
}

#[test]
fn a_connection_that_is_lost_while_the_job_runs_is_made_again() {
    let case = Case::new();
    let mut lost = 0;
    case.server.judge(move |request: &Request| {
        let is_look = request.text.starts_with(b"SHOW IMPORT JOB ");
        lost += usize::from(is_look);
        if is_look && lost < 4 { Fate::LostBefore } else { Fate::Done }
    });
    let loaded = case.load(&[]);
    case.server.let_pass();
    case.is_loaded(&loaded);
    // The answer to the statement does not come, and the job that it has started is cancelled.
    case.server.end_imports(ImportEnd::Never);
    case.server.make("t", TABLE, None, &OLD.map(str::to_owned));
    case.server.judge(|request: &Request| match request.text.starts_with(b"IMPORT INTO ") {
        true => Fate::LostAfter,
        false => Fate::Done,
    });
    let failed = case.load(&[]);
    case.server.let_pass();
    assert_eq!(failed.code(), 1, "{failed:?}");
    case.is_as_before(&failed);
}

#[test]
fn a_store_or_an_account_that_cannot_import_is_refused_before_anything_is_done() {
    let case = Case::new();
    let unistore = "Release Version: v8.5.0-alpha\nEdition: Community\nStore: unistore";
    case.server.tell("SELECT tidb_version()", &[unistore]);
    let grants = ["GRANT SELECT,INSERT,CREATE,DROP,ALTER,LOCK TABLES ON `model`.* TO 'u'@'%'"];
    case.server.tell("SHOW GRANTS", &grants);
    let refused = case.load(&[]);
    let words = [
        "IMPORT INTO needs the store tikv; that of this TiDB is unistore",
        "GRANT FILE ON *.* TO",
        "GRANT UPDATE, DELETE ON `model`.* TO",
        "--path auto chooses another method",
    ];
    refused.refused(2, &words);
    case.is_as_before(&refused);
    let mut plan = case.command("import");
    let arguments: Vec<_> = plan.get_args().skip(1).map(ToOwned::to_owned).collect();
    plan = case.home.inrush(["plan"]);
    let plan = run(plan.args(arguments));
    assert!(plan.out.contains("needs the store tikv"), "{plan:?}");
    let latin1 = case.load(&["--charset", "latin1"]);
    latin1.refused(2, &["is in UTF-8, but the input is in latin1"]);
    case.is_as_before(&latin1);
}

#[test]
fn several_tables_and_duplicates_are_refused() {
    let case = Case::new();
    let skips = case.load(&["--on-duplicate", "skip"]);
    skips.refused(2, &["cannot resolve duplicates, as --on-duplicate skip requires"]);
    case.is_as_before(&skips);
    case.server.make("u", TABLE, None, &[]);
    let other = case.home.file("u.csv", ROWS);
    let mut both = case.home.inrush(["load"]);
    both.args([&case.file, &other]).args(["--into", "model", "--path", "import", "--mode"]);
    both.args(["replace", "--dialect", "csv", "--socket"]).arg(case.server.socket());
    let refused = run(&mut both);
    refused.refused(2, &["--path import loads one table in a command"]);
    assert_eq!(case.server.rows("t").unwrap(), OLD);
    assert_eq!(case.server.tables(), ["t", "u"]);
}

#[test]
fn a_plan_names_the_path_that_is_requested() {
    let case = Case::new();
    case.server.tell("SHOW SLAVE STATUS", &[]);
    let arguments: Vec<_> =
        case.command("import").get_args().skip(1).map(ToOwned::to_owned).collect();
    let plan = run(case.home.inrush(["plan"]).args(arguments));
    for words in ["loads with the import path", "IMPORT INTO reads a copy of the rows as text in"] {
        assert!(plan.done().out.contains(words), "{words} {plan:?}");
    }
    case.is_as_before(&plan);
}

#[test]
fn a_server_of_another_user_gets_the_file_if_root_loads() {
    let case = Case::new();
    let is_root = std::fs::metadata(case.home.path()).unwrap().uid() == 0;
    if !is_root {
        return;
    }
    chown(case.server.socket(), Some(12), None).unwrap();
    case.kill();
    let folder = names(&case.home.temp_dir()).remove(0);
    let folder = case.home.temp_dir().join(folder);
    for path in [&folder, &folder.join("rows.csv")] {
        assert_eq!(std::fs::metadata(path).unwrap().uid(), 12, "{path:?}");
    }
    let next = case.load(&[]);
    case.is_loaded(&next);
}
