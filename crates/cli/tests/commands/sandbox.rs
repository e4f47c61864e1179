//! `inrush sandbox`, and loads that are told of no server.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Home, Outcome, PATIENCE, names, run, signal};

/// Stops the sandbox of a home when the test ends, however it ends.
struct Guard<'a> {
    home: &'a Home,
    dir: Option<&'a str>,
}

impl Guard<'_> {
    fn sandbox(&self, words: &[&str]) -> Outcome {
        run(&mut self.command(words))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.home.inrush(["sandbox"]);
        command.args(words);
        if let Some(dir) = self.dir {
            command.args(["--sandbox", dir]);
        }
        command
    }

    /// The process that `path` names, if it names one.
    fn pid(&self) -> Option<u32> {
        let out = self.sandbox(&["path"]).done().out.clone();
        let status = out.lines().last().unwrap().to_owned();
        status.strip_prefix("status  running, process ").map(|pid| pid.parse().unwrap())
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let _ = self.command(&["stop"]).output();
    }
}

/// False, with a line printed, where no server is installed.
fn is_installed(outcome: &Outcome) -> bool {
    let missing = outcome.err.contains("was not found: install a MariaDB server");
    if missing {
        println!("skipped: no mariadbd");
    }
    !missing
}

#[test]
fn the_sandbox_holds_no_file_of_who_started_it() {
    let home = Home::new();
    let guard = Guard { home: &home, dir: None };
    let lock = home.path().join("lock");
    let program = guard.command(&["start"]);
    let mut shell = Command::new("bash");
    shell.args(["-c", "exec 9>\"$0\" 200>\"$0\"; exec \"$@\""]).arg(&lock);
    shell.arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    if !is_installed(&run(&mut shell)) {
        return;
    }
    let pid = guard.pid().unwrap();
    let files = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let held = files.filter_map(|file| fs::read_link(file.unwrap().path()).ok());
    assert!(!held.into_iter().any(|path| path == lock), "the server has {}", lock.display());
}

#[test]
fn a_first_load_makes_server_and_table_and_later_commands_find_them() {
    let home = Home::new();
    let guard = Guard { home: &home, dir: None };
    let file = home.file("fruit.csv", "id,name\n2,pear\n1,\"apple, red\"\n");
    let ddl = home.file("fruit.sql", "CREATE TABLE fruit (id INT PRIMARY KEY, name VARCHAR(20));");
    let words = [file.to_str().unwrap(), "--into", "shop.fruit", "--header"];
    let load = |command: &str, more: &[&str]| {
        run(home.inrush([command]).args(words).args(more).args(["--memory", "40M"]))
    };
    let ddl = ["--ddl", ddl.to_str().unwrap()];
    let folder = home.path().join("data/inrush/sandbox");

    // What cannot work makes no server, and neither does a plan.
    load("load", &[]).refused(2, &["shop.fruit does not exist; --ddl FILE or --create creates it"]);
    load("load", &["--ddl", "no.sql"]).refused(2, &["reading --ddl no.sql"]);
    load("load", &[ddl[0], ddl[1], "--temp-dir", "no"]).refused(2, &["--temp-dir, no, does not"]);
    let plan = load("plan", &ddl);
    let place = format!("server a sandbox, which would be created in {}", folder.display());
    assert!(plan.done().out.contains(&place), "{plan:?}");
    assert!(guard.sandbox(&["path"]).done().out.ends_with("status  not created yet\n"));
    assert!(guard.sandbox(&["stop"]).done().out.starts_with("there is no sandbox in "));
    assert!(!folder.exists());

    let first = load("load", &ddl);
    if !is_installed(&first) {
        return;
    }
    assert!(first.done().err.starts_with("creating a private MariaDB in "), "{first:?}");
    assert!(first.out.starts_with("shop.fruit: 2 rows loaded"), "{first:?}");
    assert!(!first.out.contains("backup"), "{first:?}");
    assert!(first.out.lines().next().unwrap().ends_with(", on sandbox"), "{first:?}");
    let pid = guard.pid().expect("it outlives the load");
    let select = ["sql", "SELECT * FROM shop.fruit ORDER BY id"];
    assert_eq!(guard.sandbox(&select).done().out, "id\tname\n1\tapple, red\n2\tpear\n");
    load("load", &[]).refused(2, &["the table is not empty"]);
    load("load", &["--mode", "replace", "--quiet"]).done();
    assert_eq!(guard.pid(), Some(pid), "one server for all");
    let start = guard.sandbox(&["start"]);
    assert!(start.done().out.contains(&format!("process {pid}")), "{start:?}");

    // A crash leaves pid file and socket behind; the next command starts it again.
    signal(pid, "-9");
    let begun = Instant::now();
    while guard.pid().is_some() {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(names(&folder).contains(&"server.pid".to_owned()));
    assert_eq!(guard.sandbox(&select).done().out, "id\tname\n1\tapple, red\n2\tpear\n");
    assert!(guard.pid().is_some_and(|again| again != pid));

    // A plan leaves a sandbox that was stopped as it was.
    assert!(guard.sandbox(&["stop"]).done().out.starts_with("stopped; its data stays in "));
    assert!(guard.sandbox(&["stop"]).done().out.starts_with("was not running; "));
    load("plan", &["--mode", "replace"]).done();
    assert!(guard.sandbox(&["path"]).done().out.ends_with("status  stopped\n"));
    let again = load("load", &["--mode", "replace"]);
    assert!(again.done().err.starts_with("starting the private MariaDB in "), "{again:?}");
}

#[test]
fn a_sandbox_in_a_folder_of_its_own_takes_sql_from_stdin_and_reports_errors() {
    let home = Home::new();
    let dir = home.path().join("box");
    let dir = dir.to_str().unwrap();
    let guard = Guard { home: &home, dir: Some(dir) };
    // Programs are found without PATH, too.
    let start = run(guard.command(&["start"]).env("PATH", ""));
    if !is_installed(&start) {
        return;
    }
    assert!(start.done().out.contains(&format!("folder  {dir}\n")), "{start:?}");
    let script =
        home.file("x.sql", "CREATE DATABASE d; CREATE TABLE d.t (a INT);\nSHOW TABLES FROM d;");
    let mut sql = guard.command(&["sql"]);
    let out = run(sql.stdin(fs::File::open(script).unwrap()));
    assert_eq!(out.done().out, "Tables_in_d\nt\n");
    let wrong = guard.sandbox(&["sql", "SELEC 1"]);
    assert_eq!(wrong.code(), 1, "{wrong:?}");
    assert!(wrong.err.contains("ERROR 1064"), "{wrong:?}");
    let file = home.file("rows", "1\n2\n");
    let load =
        ["load", file.to_str().unwrap(), "--into", "d.t", "--sandbox", dir, "--memory", "40M"];
    run(&mut home.inrush(load)).done();
    assert_eq!(guard.sandbox(&["sql", "SELECT SUM(a) s FROM d.t"]).done().out, "s\n3\n");
    assert!(!home.path().join("data").exists(), "the usual sandbox was not touched");
}

/// A command whose input stays open.
fn begin(mut command: Command) -> Child {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn wait_for(is_true: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_true() {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Has a client create a database, and waits for it.
fn create(client: &mut Child, data: &Path, name: &str) {
    writeln!(client.stdin.as_mut().unwrap(), "CREATE DATABASE {name};").unwrap();
    wait_for(|| data.join(name).exists());
}

#[test]
fn a_command_stops_no_sandbox_that_another_command_uses() {
    let home = Home::new();
    let guard = Guard { home: &home, dir: None };
    if !is_installed(&guard.sandbox(&["sql", "CREATE DATABASE d; CREATE TABLE d.t (a INT)"])) {
        return;
    }
    let data = home.path().join("data/inrush/sandbox/data");
    let starters = [vec!["sandbox", "run"], vec!["verify", "-", "--into", "d.t"]];
    for (number, words) in starters.into_iter().enumerate() {
        guard.sandbox(&["stop"]).done();
        let mut first = begin(home.inrush(words));
        wait_for(|| guard.pid().is_some());
        let mut client = begin(guard.command(&["sql"]));
        create(&mut client, &data, &format!("before{number}"));
        drop(first.stdin.take());
        first.wait().unwrap();
        create(&mut client, &data, &format!("after{number}"));
        drop(client.stdin.take());
        assert!(client.wait().unwrap().success());
        assert_eq!(guard.pid(), None, "the last user stops it");
    }
}

#[test]
fn a_missing_server_or_folder_is_a_clear_error() {
    let home = Home::new();
    let dir = home.path().join("box");
    let start = |variable: &str, dir: &str| {
        let mut command = home.inrush(["sandbox", "start", "--sandbox", dir]);
        run(command.env("INRUSH_MARIADBD", variable))
    };
    let dir = dir.to_str().unwrap();
    let last_line_refused = |outcome: Outcome, code: i32, part: &str| {
        assert_eq!(outcome.code(), code, "{outcome:?}");
        let last = outcome.err.lines().last().unwrap();
        assert!(last.starts_with("inrush: ") && last.contains(part), "{outcome:?}");
    };
    let wrong = start("/no/mariadbd", dir);
    last_line_refused(wrong, 2, "INRUSH_MARIADBD names /no/mariadbd, which cannot be run: No such");
    last_line_refused(
        start("/bin/true", dir),
        2,
        "/bin/true --version prints \"\", which is not a server's version",
    );
    let file = home.file("file", "");
    last_line_refused(start("", file.to_str().unwrap()), 1, "file");
    let mut homeless = home.inrush(["sandbox", "path"]);
    let homeless = run(homeless.env_remove("HOME").env_remove("XDG_DATA_HOME"));
    homeless.refused(2, &["neither XDG_DATA_HOME nor HOME is set: use --sandbox DIR"]);
}
