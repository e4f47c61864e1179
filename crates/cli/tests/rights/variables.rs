//! A server's variables change nothing: each command does what it does under the defaults, or refuses by the
//! variable's name.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use server::Session;
use testkit::{Random, TestServer, TestServerOptions};

use crate::support::{Home, Outcome, run};

/// Says how many random sets of variables are tried after each variable alone: `make soak`.
const SETS: &str = "INRUSH_VARIABLES";
/// Variables of a random set.
const PER_SET: usize = 5;

/// More columns than a limit of ten leaves, and defaults that the server computes.
const COLUMNS: &str = "(id INT NOT NULL, c1 INT, c2 INT, c3 INT, c4 INT, c5 INT, c6 INT, c7 INT, c8 INT, c9 INT, \
     c10 INT, name VARCHAR(40), share DECIMAL(20,10) DEFAULT (1/3), \
     month VARCHAR(20) DEFAULT (MONTHNAME('2024-05-01')), PRIMARY KEY (id)) ENGINE=InnoDB";
/// The same without such defaults, which a partitioned table cannot be built with.
const PARTITIONED: &str = "(id INT NOT NULL, c1 INT, c2 INT, c3 INT, c4 INT, c5 INT, c6 INT, c7 INT, c8 INT, c9 INT, \
     c10 INT, name VARCHAR(40), share INT DEFAULT 3, month VARCHAR(20) DEFAULT 'May', PRIMARY KEY (id)) \
     ENGINE=InnoDB PARTITION BY HASH (id) PARTITIONS 14";
const NAMES: &str = "id,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,name";

/// Values, all at once, of the variables that are known to bite.
const BITING: [(&str, &str); 34] = [
    ("alter_algorithm", "INSTANT"),
    ("autocommit", "0"),
    ("check_constraint_checks", "0"),
    ("completion_type", "RELEASE"),
    ("default_regex_flags", "EXTENDED"),
    ("default_storage_engine", "MyISAM"),
    ("default_week_format", "3"),
    ("div_precision_increment", "0"),
    ("enforce_storage_engine", "MyISAM"),
    ("explicit_defaults_for_timestamp", "0"),
    ("foreign_key_checks", "0"),
    ("group_concat_max_len", "4"),
    ("idle_transaction_timeout", "1"),
    ("innodb_lock_wait_timeout", "0"),
    ("innodb_strict_mode", "0"),
    ("interactive_timeout", "1"),
    ("lc_messages", "de_DE"),
    ("lc_time_names", "de_DE"),
    ("lock_wait_timeout", "0"),
    ("low_priority_updates", "1"),
    ("max_error_count", "0"),
    ("max_join_size", "1"),
    ("max_sort_length", "64"),
    ("max_statement_time", "0.0001"),
    ("old_mode", ""),
    ("sql_auto_is_null", "1"),
    ("sql_if_exists", "1"),
    ("sql_notes", "0"),
    ("sql_quote_show_create", "0"),
    ("sql_safe_updates", "1"),
    ("sql_select_limit", "10"),
    ("tx_isolation", "SERIALIZABLE"),
    ("tx_read_only", "1"),
    ("unique_checks", "0"),
];

/// Variables that stay the server's: rows are converted by it, and its new tables are what it makes of them.
const THE_SERVERS: [&str; 4] =
    ["sql_mode", "time_zone", "innodb_compression_default", "innodb_default_encryption_key_id"];

/// A server, and what the commands read and write.
struct Scene<'s> {
    server: &'s TestServer,
    session: Session,
    home: Home,
    database: String,
    first: PathBuf,
    second: PathBuf,
    dump: PathBuf,
}

/// One command, and what it left; or its words, where it refused.
type Result = (&'static str, std::result::Result<String, String>);

impl Scene<'_> {
    fn new(server: &TestServer) -> Scene<'_> {
        let database = server.database().unwrap();
        let mut session = server.connect().unwrap();
        session.exec(&format!("USE {database}")).unwrap();
        let home = Home::new();
        let line = |id: u32| format!("{id},{},2,3,4,5,6,7,8,9,10,n {}\n", id % 7, id * 7_919 % 300);
        let text =
            |ids: std::ops::Range<u32>| ids.fold(format!("{NAMES}\n"), |text, id| text + &line(id));
        let first = home.file("first.csv", text(0..300));
        let second = home.file("second.csv", text(300..420));
        let mut dump = "SET NAMES utf8mb4;\nDROP TABLE IF EXISTS `d`, `e`;\n\
             CREATE TABLE `d` (`id` INT PRIMARY KEY, `w` VARCHAR(20), `at` TIMESTAMP, KEY (`w`));\n\
             START TRANSACTION;\n"
            .to_owned();
        for id in 0..40 {
            writeln!(
                dump,
                "INSERT INTO `d` VALUES ({id},'w{}','2024-01-01 00:00:00'),({},'x',NULL);",
                id % 3,
                id + 1_000
            )
            .unwrap();
        }
        dump += "COMMIT;\nSET @@SESSION.group_concat_max_len=1000;\n\
             CREATE TABLE `e` AS SELECT 1/3 AS third, MONTHNAME('2024-05-01') AS month, COUNT(*) AS n, \
             (SELECT COUNT(*) FROM (SELECT id FROM `d`) AS x) AS m, \
             GROUP_CONCAT(id ORDER BY id) AS ids FROM `d`;\nUPDATE `d` SET w='y' WHERE w='x';\n";
        let dump = home.file("dump.sql", dump);
        Scene { server, session, home, database, first, second, dump }
    }

    fn make(&mut self, table: &str, shape: &str) {
        self.session.exec(&format!("DROP TABLE IF EXISTS {table}")).unwrap();
        self.session.exec(&format!("CREATE TABLE {table} {shape}")).unwrap();
    }

    /// The rows that a command left in a table.
    fn rows(&mut self, outcome: &Outcome, tables: &[&str]) -> std::result::Result<String, String> {
        if outcome.code() != 0 {
            return Err(format!("{outcome:?}"));
        }
        let mut text = String::new();
        for table in tables {
            let rows = self.session.query(&format!("SELECT * FROM {table} ORDER BY 1")).unwrap();
            writeln!(text, "{rows:?}").unwrap();
            let made = self.session.query_row(&format!("SHOW CREATE TABLE {table}")).unwrap();
            writeln!(text, "{}", made.text(1).unwrap()).unwrap();
        }
        Ok(text)
    }

    fn load(&mut self, table: &str, is_second: bool, more: &[&str]) -> Outcome {
        let file = if is_second { &self.second } else { &self.first };
        let into = format!("{}.{table}", self.database);
        run(self.home.load(self.server, &into, file).args(["--header"]).args(more))
    }

    fn other(&self, command: &str, more: &[&str]) -> Outcome {
        let user = self.server.options().user_name();
        let mut command = self.home.inrush([command]);
        command.args(more).arg("--socket").arg(self.server.socket()).args(["--user", &user]);
        run(&mut command)
    }

    fn export(&mut self, path: &str) -> std::result::Result<String, String> {
        let to = self.home.path().join(format!("out-{path}.csv"));
        let _ = fs::remove_file(&to);
        let table = format!("{}.a", self.database);
        let outcome = self.other("export", &[&table, "--path", path, "-o", to.to_str().unwrap()]);
        match outcome.code() {
            0 => {
                let text = fs::read_to_string(&to).unwrap();
                let mut lines: Vec<&str> = text.lines().collect();
                lines.sort_unstable();
                Ok(lines.join("\n"))
            }
            _ => Err(format!("{outcome:?}")),
        }
    }

    /// All commands, one after the other.
    fn commands(&mut self) -> Vec<Result> {
        let mut all = Vec::new();
        self.make("a", PARTITIONED);
        let outcome = self.load("a", false, &[]);
        all.push(("direct", self.rows(&outcome, &["a"])));
        self.make("b", COLUMNS);
        let outcome = self.load("b", false, &["--path", "auto", "--mode", "replace"]);
        all.push(("auto", self.rows(&outcome, &["b"])));
        let outcome = self.load("b", false, &["--path", "stream", "--mode", "replace"]);
        all.push(("stream", self.rows(&outcome, &["b"])));
        let outcome = self.load("b", true, &["--path", "stream", "--mode", "append"]);
        all.push(("append", self.rows(&outcome, &["b"])));
        self.make("c", COLUMNS);
        let outcome = self.load("c", false, &["--path", "insert"]);
        all.push(("insert", self.rows(&outcome, &["c"])));
        all.push(("export by select", self.export("select")));
        all.push(("export direct", self.export("direct")));
        let (table, file) = (format!("{}.b", self.database), self.first.clone());
        let file = file.to_str().unwrap();
        let outcome = self.other("verify", &[file, "--into", &table, "--header", "--json"]);
        let found: serde_json::Value = serde_json::from_str(&outcome.out).unwrap_or_default();
        all.push(match found["table_rows"].as_u64() {
            Some(rows) => ("verify", Ok(format!("{rows} {}", found["extra_rows"]))),
            None => ("verify", Err(format!("{outcome:?}"))),
        });
        let dump = self.dump.clone();
        let outcome = self.other("replay", &[dump.to_str().unwrap(), "--into", &self.database]);
        all.push(("replay", self.rows(&outcome, &["d", "e"])));
        all
    }

    /// Runs all under other values of the server's variables, without those that cannot be set; what is not as
    /// it was.
    fn under(&mut self, values: &[(String, String)], expected: &[Result]) -> Vec<String> {
        let mut set: Vec<(String, String, String)> = Vec::new();
        for (name, value) in values {
            let before = self.session.query_text(&format!("SELECT @@GLOBAL.{name}"));
            let Ok(before) = before else { continue };
            let before = before.as_deref().map_or_else(|| "NULL".to_owned(), literal);
            if self.session.exec(&format!("SET GLOBAL {name}={}", literal(value))).is_ok() {
                set.push((name.clone(), value.clone(), before));
            }
        }
        let results = self.commands();
        for (name, _, before) in &set {
            self.session.exec(&format!("SET GLOBAL {name}={before}")).unwrap();
        }
        let mut wrong = Vec::new();
        for ((command, result), (_, expected)) in results.iter().zip(expected) {
            let is_named = |words: &String| set.iter().any(|(name, ..)| words.contains(name));
            if result != expected && !result.as_ref().is_err_and(is_named) {
                wrong.push(format!("{command} under {set:?}: {result:?}"));
            }
        }
        wrong
    }
}

fn literal(value: &str) -> String {
    if value.parse::<f64>().is_ok() { value.to_owned() } else { format!("'{value}'") }
}

/// Each variable of a session of this server, with values that it has not.
fn others(session: &mut Session) -> Vec<(String, String)> {
    let rows = session
        .query(
            "SELECT LOWER(VARIABLE_NAME), GLOBAL_VALUE, VARIABLE_TYPE, ENUM_VALUE_LIST, \
             NUMERIC_MIN_VALUE, NUMERIC_MAX_VALUE FROM information_schema.SYSTEM_VARIABLES \
             WHERE VARIABLE_SCOPE = 'SESSION' ORDER BY 1",
        )
        .unwrap();
    let mut all = Vec::new();
    for row in rows {
        let text = |column| row.text_or_null(column).unwrap().unwrap_or_default();
        let name = text(0);
        if THE_SERVERS.contains(&name.as_str()) {
            continue;
        }
        let values: Vec<String> = match text(2).as_str() {
            "BOOLEAN" | "ENUM" => text(3).split(',').map(str::to_owned).collect(),
            "SET" => vec![String::new(), text(3)],
            "VARCHAR" if name.contains("engine") => vec!["MyISAM".to_owned()],
            "VARCHAR" | "FLAGSET" => Vec::new(),
            _ => {
                let half = text(5).parse::<f64>().unwrap_or(2.0) / 2.0;
                vec![text(4), format!("{half:.0}"), text(5)]
            }
        };
        let other = |value: &String| *value != text(1);
        all.extend(values.into_iter().filter(other).map(|value| (name.clone(), value)));
    }
    all
}

#[test]
fn variables_that_are_known_to_bite_change_nothing() {
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::new(&server);
    let expected = scene.commands();
    for (command, result) in &expected {
        assert!(result.is_ok(), "{command}: {result:?}");
    }
    let biting = BITING.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(scene.under(&biting, &expected), [""; 0]);
}

#[test]
fn new_tables_of_another_row_format_or_engine_leave_the_choice_to_auto() {
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::new(&server);
    scene.make("b", COLUMNS);
    scene.session.exec("SET GLOBAL innodb_default_row_format=compact").unwrap();
    let outcome = scene.load("b", false, &["--path", "auto", "--mode", "replace"]);
    outcome.done();
    assert_eq!(scene.session.query_text("SELECT COUNT(*) FROM b").unwrap().as_deref(), Some("300"));
    let outcome = scene.load("b", false, &["--mode", "replace"]);
    outcome.refused(2, &["b is Dynamic, but innodb_default_row_format creates Compact"]);
    scene.session.exec("SET GLOBAL innodb_default_row_format=dynamic").unwrap();
    // The account of a test may set what the server enforces; others are told of it.
    scene.session.exec("SET GLOBAL enforce_storage_engine=MyISAM").unwrap();
    scene.load("b", false, &["--mode", "replace"]).done();
    scene.session.exec("CREATE USER modest@localhost").unwrap();
    let all = "SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, LOCK TABLES, RELOAD, PROCESS";
    scene.session.exec(&format!("GRANT {all} ON *.* TO modest@localhost")).unwrap();
    let outcome =
        scene.load("b", false, &["--path", "auto", "--mode", "replace", "--user", "modest"]);
    outcome.refused(2, &["enforce_storage_engine is MyISAM"]);
}

#[test]
fn a_server_without_accounts_is_loaded() {
    let extra = vec!["--skip-grant-tables".to_owned()];
    let options = TestServerOptions { extra, ..TestServerOptions::default() };
    let Some(server) = TestServer::start_with(&options) else { return };
    let mut scene = Scene::new(&server);
    for (command, result) in scene.commands() {
        assert!(result.is_ok(), "{command}: {result:?}");
    }
}

/// A trigger of the table's may set variables of the session that its rows come by.
#[test]
fn a_variable_that_a_trigger_changes_ends_the_load() {
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::new(&server);
    scene.make("c", COLUMNS);
    let trigger = "CREATE TRIGGER g BEFORE INSERT ON c FOR EACH ROW SET SESSION sql_select_limit=7";
    scene.session.exec(trigger).unwrap();
    let outcome = scene.load("c", false, &["--path", "insert"]);
    assert_ne!(outcome.code(), 0, "{outcome:?}");
    assert!(outcome.err.contains("sql_select_limit is 7"), "{outcome:?}");
    assert_eq!(scene.session.query_text("SELECT COUNT(*) FROM c").unwrap().as_deref(), Some("0"));
}

/// Each variable alone, then random sets: minutes, so only where `INRUSH_VARIABLES` says how many sets.
#[test]
fn no_variable_of_a_session_changes_a_command() {
    let Some(sets) = std::env::var(SETS).ok().and_then(|text| text.parse::<usize>().ok()) else {
        return;
    };
    let Some(server) = TestServer::start() else { return };
    let mut scene = Scene::new(&server);
    let expected = scene.commands();
    let others = others(&mut scene.session);
    let mut wrong = Vec::new();
    for one in &others {
        wrong.extend(scene.under(std::slice::from_ref(one), &expected));
    }
    let mut random = Random::new(Random::seed_of_run());
    for _ in 0..sets {
        let set = (0..PER_SET).map(|_| others[random.below(others.len())].clone());
        wrong.extend(scene.under(&set.collect::<Vec<_>>(), &expected));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
