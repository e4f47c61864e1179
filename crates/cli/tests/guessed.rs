//! Files of tables that exist are read as they are written, and the load says so.

use crate::support::{Desk, Outcome, run};

const PRICES: &str = "(article VARCHAR(20), day DATE, price DECIMAL(8,2), available TINYINT, left_over INT, \
                      code VARCHAR(9))";
const PRICES_FILE: &str = "article;day;price;available;left_over;code\n\
    lamp;31.12.2026;1.234,50;yes;7;NA\nchair;01.02.2026;0,5;no;NA;007\n";

impl Desk {
    fn guessed(&self, file: &str, text: &str, more: &[&str]) -> Outcome {
        let file = self.home.file(file, text);
        self.load("t", &file, &[&["--mode", "replace"], more].concat())
    }
}

#[test]
fn a_first_line_of_column_names_is_a_header() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (name VARCHAR(9), town VARCHAR(9) DEFAULT 'x', n INT DEFAULT 1)");
    for (file, text, rows) in [
        ("a.csv", "name,town,n\nAnn,Rome,2\n", "Ann|Rome|2"),
        ("b.csv", "\"Town\", NAME \nRome,Ann\n", "Ann|Rome|1"),
        ("c.tsv", "name\ttown\nAnn\tRome\n", "Ann|Rome|1"),
        ("d.txt", "name\ttown\tn\nAnn\tRome\t3\n", "Ann|Rome|3"),
        ("e.tbl", "n|name|\n4|Ann|\n", "Ann|x|4"),
        ("f.csv", "name\nAnn\n", "Ann|x|1"),
        // Another line is a row.
        ("g.csv", "name,towns,1\n", "name|towns|1"),
        ("h.csv", "name,name,1\n", "name|name|1"),
    ] {
        let loaded = desk.guessed(file, text, &[]);
        assert_eq!(desk.rows("SELECT * FROM t"), [rows], "{file}: {loaded:?}");
        let told =
            "is read with --header, guessed from the first rows; --no-guess turns guesses off";
        let is_header = !text.contains("name,towns") && !text.contains("name,name");
        assert_eq!(loaded.done().err.contains(told), is_header, "{file}: {loaded:?}");
    }
    // Lines above a header are skipped with it.
    let text = "Customers of 2026\n\nname;town;n\nAnn;Rome;2\nBob;Bonn;3\n";
    let loaded = desk.guessed("i.csv", text, &[]);
    assert!(loaded.done().err.contains("--skip-lines 2 --header, guessed"), "{loaded:?}");
    assert_eq!(desk.rows("SELECT * FROM t ORDER BY n"), ["Ann|Rome|2", "Bob|Bonn|3"]);
    // Options that say how the file is cut say all.
    let text = "name,town,n\nAnn,Rome,2\n";
    desk.guessed("a.csv", text, &["--no-guess"]).refused(1, &["line 1", "`n`", "\"n\" is not INT"]);
    desk.guessed("a.csv", text, &["--dialect", "csv"]).refused(1, &["line 1"]);
    desk.guessed("a.csv", text, &["--columns", "name,town,n"]).refused(1, &["line 1"]);
    desk.guessed("a.csv", text, &["--fields-terminated-by", ","]).refused(1, &["line 1"]);
    desk.guessed("a.csv", "made today\nname,n\nAnn,2\n", &["--skip-lines", "1"]).done();
    assert_eq!(desk.rows("SELECT * FROM t"), ["Ann|x|2"]);
    let page = "<html>\n<body>404 Not found</body>\n</html>\n";
    desk.guessed("page.csv", page, &[]).refused(2, &["page.csv is an HTML page"]);
}

#[test]
fn a_file_of_another_dialect_is_read_where_its_own_would_be_refused() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(&format!("CREATE TABLE t {PRICES}"));
    let rows = ["chair|2026-02-01|0.50|0||007", "lamp|2026-12-31|1234.50|1|7|NA"];
    let words = "--dialect csv --fields-terminated-by ';' --header --format-of day=%d.%m.%Y --format-of \
                 price=decimal-comma --format-of available=yes-no --format-of left_over=null:NA";
    for file in ["a.csv", "a.txt"] {
        let loaded = desk.guessed(file, PRICES_FILE, &[]);
        let err = &loaded.done().err;
        assert!(err.contains("is read with --dialect"), "{loaded:?}");
        assert!(err.contains("--format-of left_over=null:NA"), "{loaded:?}");
        assert_eq!(desk.rows("SELECT * FROM t ORDER BY article"), rows, "{file}");
        if file == "a.csv" {
            assert!(err.contains(&words.replace(" --dialect csv", "")[14..]), "{loaded:?}");
        }
    }
    // Typed options are not guessed.
    let more = ["--format-of", "day=%d.%m.%Y", "--decimal-comma"];
    let loaded = desk.guessed("a.csv", PRICES_FILE, &more);
    assert!(!loaded.done().err.contains("--format-of price"), "{loaded:?}");
    assert!(!loaded.err.contains("--format-of day"), "{loaded:?}");
    assert_eq!(desk.rows("SELECT * FROM t ORDER BY article"), rows);
    // Without a header the fields are those of the table.
    let (_, text) = PRICES_FILE.split_once('\n').unwrap();
    desk.guessed("b.csv", text, &[]).done();
    assert_eq!(desk.rows("SELECT * FROM t ORDER BY article"), rows);
    // Checks and comparisons read as loads do.
    for words in [&["check", "--mode", "replace"][..], &["verify"]] {
        let mut command = desk.home.inrush(words);
        command.arg(desk.home.path().join("a.csv")).args(["--into", &desk.table("t"), "--socket"]);
        let outcome = run(command.arg(desk.server.socket()).args(["--user", "root"]));
        assert!(outcome.done().err.contains("is read with --dialect"), "{outcome:?}");
    }
}

#[test]
fn readings_that_work_and_values_with_two_meanings_stay() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (day DATE, amount DECIMAL(9,3), note VARCHAR(20))");
    let refused = desk.guessed("a.csv", "01/02/2026,1,x\n03/04/2026,2,y\n", &[]);
    refused.refused(1, &["`day`"]);
    let note = "note: dates of `day` can be read in more than one order of day, month and year: --format-of day=";
    assert!(refused.err.contains(&format!("{note}%d/%m/%Y sets")), "{refused:?}");
    // The server reads such a date, and not as it was meant.
    let loaded = desk.guessed("y.csv", "31.12.26,1,x\n30.11.25,2,y\n", &[]);
    assert!(loaded.done().err.contains(&format!("{note}%d.%m.%y sets")), "{loaded:?}");
    assert_eq!(desk.rows("SELECT day FROM t ORDER BY amount"), ["2031-12-26", "2030-11-25"]);
    desk.guessed("b.txt", "2026-01-01\t1,234\tx\n", &[]).refused(1, &["`amount`"]);
    // Texts that look like something else stay texts, and a semicolon in them is one.
    let loaded = desk.guessed("c.csv", "2026-01-01,1,31.12.2026;NA\n2026-01-02,2,yes;NA\n", &[]);
    assert!(!loaded.done().err.contains("is read with"), "{loaded:?}");
    assert_eq!(desk.rows("SELECT note FROM t ORDER BY day"), ["31.12.2026;NA", "yes;NA"]);
    // LOAD DATA's own rule.
    desk.guessed("d.txt", "2026-01-01\t\tx\n", &[]).refused(1, &["`amount`"]);
    // A table of one column keeps lines as they are.
    desk.exec("CREATE TABLE one (line VARCHAR(20))");
    let file = desk.home.file("lines.txt", "a;b\nc;d\n");
    let loaded = desk.load("one", &file, &[]);
    assert!(!loaded.done().err.contains("is read with"), "{loaded:?}");
    assert_eq!(desk.rows("SELECT * FROM one ORDER BY 1"), ["a;b", "c;d"]);
}

#[test]
fn utf16_without_a_mark_is_refused_and_a_kept_cr_is_told() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (name VARCHAR(20), town VARCHAR(20))");
    let utf16 = "A\0n\0n\0,\0R\0o\0m\0e\0";
    let refused = desk.guessed("a.csv", utf16, &[]);
    refused
        .refused(2, &["a.csv is in UTF-16 without a byte order mark; --charset utf16le reads it"]);
    desk.guessed("a.csv", &utf16.replace(',', ";"), &[]).refused(2, &["a.csv is in UTF-16"]);
    desk.guessed("a.csv", utf16, &["--charset", "utf16le"]).done();
    assert_eq!(desk.rows("SELECT * FROM t"), ["Ann|Rome"]);
    desk.guessed("b.csv", "A\0nn,Rome and Athens\n", &[]).done();
    assert_eq!(desk.rows("SELECT HEX(name) FROM t"), ["41006E6E"]);
    // LOAD DATA keeps the CR, too.
    let text = "name\ttown\r\nAnn\tRome\r\n";
    let loaded = desk.guessed("c.txt", text, &[]);
    let note = "c.txt ends with CR LF, and `town` keeps the CR; --lines-terminated-by '\\r\\n' --header leaves it out";
    assert!(loaded.done().err.contains(note), "{loaded:?}");
    assert_eq!(desk.rows("SELECT HEX(town) FROM t"), ["526F6D650D"]);
    let typed = ["--lines-terminated-by", "\\r\\n", "--header"];
    assert!(!desk.guessed("c.txt", text, &typed).done().err.contains("keeps the CR"));
    assert_eq!(desk.rows("SELECT HEX(town) FROM t"), ["526F6D65"]);
    assert!(!desk.guessed("d.csv", "Ann,Rome\r\n", &[]).done().err.contains("keeps the CR"));
}

#[test]
fn a_header_of_a_later_file_is_told() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (name VARCHAR(20), town VARCHAR(20))");
    let rows = desk.home.file("a.csv", "Ann,Rome\n");
    let header = desk.home.file("b.csv", "name,town\nBob,Bonn\n");
    let later = header.to_str().unwrap();
    let loaded = desk.load("t", &rows, &[later]);
    let note = "b.csv names columns and is read as a row";
    assert!(loaded.done().err.contains(note), "{loaded:?}");
    assert_eq!(desk.rows("SELECT COUNT(*) FROM t"), ["3"]);
    let loaded = desk.load("t", &rows, &["--mode", "replace", later, "--no-guess"]);
    assert!(!loaded.done().err.contains(note), "{loaded:?}");
}

#[test]
fn a_killed_load_goes_on_as_it_was_guessed() {
    let Some(mut desk) = Desk::new() else { return };
    let rows: String = (0..200_000).map(|id| format!("{id};31.12.2026\n")).collect();
    let file = desk.home.file("a.csv", ["id;day\n", &rows].concat());
    for by_resume in [true, false] {
        desk.exec("DROP TABLE IF EXISTS t");
        desk.exec("CREATE TABLE t (id INT, day DATE)");
        let mut command = desk.home.load(desk.server, &desk.table("t"), &file);
        command.args(["--mode", "append", "--path", "stream", "--memory", "30M"]);
        let killed = run(command.env("INRUSH_FAILPOINT", "chunk.1.loaded=kill"));
        assert_ne!(killed.code(), 0, "{killed:?}");
        let jobs = load::jobs::list(&desk.home.path().join("state/inrush")).unwrap().0;
        let resumed = match by_resume {
            true => run(&mut desk.home.inrush(["resume", &jobs[0].name])),
            false => run(command.env_remove("INRUSH_FAILPOINT")),
        };
        resumed.done();
        let sums = desk.rows("SELECT COUNT(*), SUM(id), MIN(day), MAX(day) FROM t");
        assert_eq!(sums, ["200000|19999900000|2026-12-31|2026-12-31"]);
        // The same command once more adds the rows once more, or says that they are there.
        assert_eq!(desk.files().iter().filter(|name| name.contains("ledger")).count(), 0);
    }
}

#[test]
fn tables_of_a_folder_have_headers_together() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE a (id INT, day DATE)");
    desk.exec("CREATE TABLE b (id INT, name VARCHAR(9))");
    let folder = desk.home.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    let load = |desk: &Desk| {
        let mut command = desk.home.load(desk.server, &desk.database, &folder);
        run(command.args(["--mode", "replace", "--path", "auto"]))
    };
    std::fs::write(folder.join("a.csv"), "id,day\n1,31.12.2026\n").unwrap();
    std::fs::write(folder.join("b.csv"), "id,name\n1,x\n").unwrap();
    let loaded = load(&desk);
    let told = "note: the files are read with --header --format-of a.day=%d.%m.%Y, guessed";
    assert!(loaded.done().err.contains(told), "{loaded:?}");
    assert_eq!(desk.rows("SELECT * FROM a, b"), ["1|2026-12-31|1|x"]);
    std::fs::write(folder.join("b.csv"), "2,x\n").unwrap();
    load(&desk).refused(1, &["a.csv line 1", "\"id\" is not INT"]);
}

#[test]
fn lines_of_exports_have_no_fields_for_generated_columns() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(
        "CREATE TABLE t (id INT PRIMARY KEY, twice INT AS (n * 2) STORED, n INT, name VARCHAR(9), \
         more INT AS (n + 1))",
    );
    desk.exec("CREATE TABLE u (id INT)");
    let rows = ["1|4|2|a,b|3", "2|||x|"];
    for (file, text) in [("t.txt", "1\t2\ta,b\n2\t\\N\tx\n"), ("t.csv", "1,2,\"a,b\"\n2,,x\n")] {
        let loaded = desk.guessed(file, text, &["--path", "auto"]);
        let told = "has fields for all columns but the generated ones, as exports: id, n, name";
        assert!(loaded.done().err.contains(told), "{loaded:?}");
        assert_eq!(desk.rows("SELECT * FROM t ORDER BY id"), rows, "{file}");
        desk.guessed(file, text, &["--no-guess", "--path", "auto"])
            .refused(1, &["the line has 3 fields; 5 expected"]);
    }
    desk.guessed("t.txt", "1\t2\n", &["--path", "auto"])
        .refused(1, &["the line has 2 fields; 5 expected"]);
    desk.guessed("t.txt", "1\t2\ta\tb\n", &["--path", "auto"])
        .refused(1, &["the line has 4 fields; 5 expected"]);
    // A folder of a database.
    let (folder, name) = (desk.home.path().join("all"), desk.table("t"));
    let database = name.split('.').next().unwrap();
    let mut export = desk.home.inrush(["export", database, "-o"]);
    run(export.arg(format!("{}/", folder.display())).arg("--socket").arg(desk.server.socket()))
        .done();
    desk.exec("INSERT INTO u VALUES (5)");
    let mut load = desk.home.inrush(["load"]);
    load.arg(&folder).args(["--into", database, "--mode", "replace", "--allow-empty", "--socket"]);
    let loaded = run(load.arg(desk.server.socket()));
    assert!(loaded.done().err.contains("t.txt has fields for all columns but"), "{loaded:?}");
    assert_eq!(desk.rows("SELECT * FROM t ORDER BY id"), rows);
    assert_eq!(desk.rows("SELECT * FROM u"), [""; 0]);
}
