//! The command line: options and mistakes, help.

use std::path::Path;

use crate::support::{Desk, Home, run, tables};

/// Everything here is refused with the table as it was, before a staging table is made.
#[test]
fn every_mistake_is_one_sentence_before_anything_is_done() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b INT NOT NULL, c INT NULL DEFAULT 7)");
    desk.exec("INSERT INTO t VALUES (1, 2, 3)");
    let file = desk.home.file("rows.txt", "1\t2\t3\n");
    let ddl = desk.home.file("t.sql", "CREATE TABLE other (a INT)");
    let no_sql = desk.home.file("no.sql", "-- nothing\n");
    let bad_sql = desk.home.file("bad.sql", "CREATE TABLE new (a INTT)");
    let (ddl, no_sql) = (ddl.to_str().unwrap(), no_sql.to_str().unwrap());
    let (file_text, bad_sql) = (file.to_str().unwrap(), bad_sql.to_str().unwrap());
    let into = desk.table("t");
    let (missing, new) = (desk.table("missing"), desk.table("new"));
    let cases: &[(&[&str], &[&str])] = &[
        (&["--columns", "a,b,d"], &["the table has no column `d`, only `a`, `b`, `c`"]),
        (&["--columns", "a,b,A"], &["column `A` is given twice"]),
        (&["--columns", "a,c"], &["column `b` is not in the input", "NOT NULL without a DEFAULT"]),
        (&["--header"], &["the header names `1`, `2`, `3`, but the table has only"]),
        (&["--memory", "1M"], &["--memory 1 MiB is too small: at least 28 MiB"]),
        (&["--memory", "much"], &["\"much\" is not a size; 512M or 4G is expected"]),
        (&["--threads", "0"], &["--threads must be at least 1"]),
        (&["--fill", "101"], &["--fill 101 is not between 50 and 100"]),
        (&["--temp-dir", "/no/where"], &["--temp-dir, /no/where, does not exist"]),
        (&["--temp-dir", file_text], &["--temp-dir", "is not a folder"]),
        (&["--rejects", "/no/where/x"], &["the folder of --rejects, /no/where, does not exist"]),
        (&["--rejects", file_text], &["--rejects", "would overwrite the input"]),
        (&["--rejects", "/tmp"], &["--rejects /tmp: it is a directory"]),
        (&["--duplicates", "/tmp/x"], &["--duplicates needs --on-duplicate skip or replace"]),
        (&["--on-duplicate", "ignore"], &["--on-duplicate", "fail", "skip", "replace"]),
        (
            &["--on-duplicate", "skip", "--duplicates", file_text],
            &["--duplicates", "would overwrite the input"],
        ),
        (
            &["--on-duplicate", "skip", "--rejects", "/tmp/x", "--duplicates", "/tmp/./x"],
            &["--rejects /tmp/x and --duplicates /tmp/./x would both write to one file"],
        ),
        (&["--fields-enclosed-by", "ab"], &["--fields-enclosed-by \"ab\" is more than one byte"]),
        (&["--mode", "upsert"], &["invalid value 'upsert'", "insert, append, replace"]),
        (&["--charset", "klingon"], &["invalid value 'klingon'", "latin1", "koi8r"]),
        (&["--dialect", "xml"], &["invalid value 'xml'", "csv"]),
        (&["--path", "steam"], &["invalid value 'steam'"]),
        (&["--rejects-max", "-1"], &["--rejects-max"]),
        (&["--no-such-option"], &["unexpected argument '--no-such-option'"]),
        (&["--sandbox", "/x"], &["--sandbox and a server's address name two servers"]),
        (&["--defaults-file", "/no/where"], &["reading /no/where"]),
        (&["--ddl", "/no/where"], &["reading --ddl /no/where"]),
        (&["-psecret"], &["-p takes no value"]),
        (&["--password=secret"], &["-p takes no value"]),
    ];
    for (more, parts) in cases {
        let outcome = desk.load("t", &file, &[&["--mode", "replace"], *more].concat());
        outcome.refused(2, parts);
        assert!(!outcome.err.contains("secret"), "{outcome:?}");
    }
    // The target itself.
    let missing_hint = "does not exist; --ddl FILE or --create creates it";
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("t", &[], &["does not exist: t.", "--map PATTERN=TABLE"]),
        ("a.b.c", &[], &["is not a table name"]),
        (&missing, &[], &["missing", missing_hint]),
        ("nodb.t", &[], &["nodb.t", missing_hint]),
        (&missing, &["--ddl", ddl], &["--ddl creates", ".other, not", ".missing"]),
        (&missing, &["--ddl", no_sql], &["--ddl contains no CREATE TABLE"]),
        (
            &new,
            &["--ddl", bad_sql],
            &["creating ", ".new: server error ", "INTT", "--types and --ddl"],
        ),
    ];
    for (into, more, parts) in cases {
        run(desk.home.load(desk.server, into, &file).args(*more)).refused(2, parts);
    }
    // The files.
    for (name, parts) in [("/no/file", "opening /no/file"), ("/tmp", "/tmp is a directory")] {
        run(&mut desk.home.load(desk.server, &into, Path::new(name))).refused(2, &[parts]);
    }
    let mut both = desk.home.load(desk.server, &new, Path::new("-"));
    let both = run(both.args(["--ddl", "/dev/stdin"]));
    both.refused(2, &["--ddl and the input cannot both be the standard input"]);
    run(&mut desk.home.inrush(["load"])).refused(2, &["--into <DB.TABLE|DB> <FILE>..."]);
    run(&mut desk.home.inrush(["laod"])).refused(2, &["unrecognized subcommand", "'load'"]);
    assert_eq!(desk.rows("SELECT * FROM t"), ["1|2|3"]);
    assert_eq!(desk.files(), desk.server.database_files(&["t"]));
    let database = desk.database.clone();
    assert_eq!(tables(&mut desk.session, &database), ["t"]);
    assert_eq!(desk.home.temp_files(), [""; 0]);
}

#[test]
fn a_server_that_does_not_answer_is_named() {
    let home = Home::new();
    let file = home.file("rows.txt", "1\n");
    let load = ["load", file.to_str().unwrap(), "--into", "d.t"];
    let socket = run(home.inrush(load).args(["-S", "/no/where.sock", "-u", "me"]));
    socket.refused(1, &["connecting to /no/where.sock as user me: "]);
    let port = run(home.inrush(load).args(["-h", "127.0.0.1", "-P", "1"]));
    port.refused(1, &["connecting to 127.0.0.1:1 as user ", "refused"]);
}

#[test]
fn field_options_are_read_as_in_load_data() {
    let Some(mut desk) = Desk::new() else { return };
    let columns = "a INT PRIMARY KEY, b VARCHAR(20), c VARCHAR(20) DEFAULT 'none'";
    let two = &["--columns", "a,b"];
    let cases: &[(&[u8], &[&str], &[&str])] = &[
        (b"1\tx\\ty\\\\\n2\t\\N\n", two, &["1|x\ty\\|none", "2||none"]),
        (b"b;1\n", &["--fields-terminated-by", ";", "--columns", "b,a"], &["1|b|none"]),
        (b"1||x\n", &["--fields-terminated-by", "||", two[0], two[1]], &["1|x|none"]),
        (
            b"1;'x;''y'\r\n2;z\r\n",
            &[
                "--fields-terminated-by=;",
                "--fields-enclosed-by",
                "'",
                "--lines-terminated-by",
                "\\r\\n",
                two[0],
                two[1],
            ],
            &["1|x;'y|none", "2|z|none"],
        ),
        (b"'1'\tx\n", &["--fields-optionally-enclosed-by='", two[0], two[1]], &["1|x|none"]),
        (b"1\tx\\y\n", &["--fields-escaped-by", "", two[0], two[1]], &["1|x\\y|none"]),
        (b"1\tx^\ty\n", &["--fields-escaped-by", "^", two[0], two[1]], &["1|x\ty|none"]),
        (b"1\0x\n", &["--fields-terminated-by", "\\0", two[0], two[1]], &["1|x|none"]),
        (b"1-x\n", &["--fields-terminated-by", "-", two[0], two[1]], &["1|x|none"]),
        (b"1\tx$2\ty$", &["--lines-terminated-by", "$", two[0], two[1]], &["1|x|none", "2|y|none"]),
        (b"# no\n>1\tx\n", &["--lines-starting-by", ">", two[0], two[1]], &["1|x|none"]),
        (b"c,a,b\n\"1\n2\",7,\"x\"\"\"\n", &["--dialect", "csv", "--header"], &["7|x\"|1\n2"]),
        (
            b"\xef\xbb\xbf1,x\r\n2,y",
            &["--dialect", "csv", two[0], two[1]],
            &["1|x|none", "2|y|none"],
        ),
        (
            b"1,x\r\n2,y\r\n",
            &["--dialect", "csv", "--lines-terminated-by", "\\r\\n", two[0], two[1]],
            &["1|x|none", "2|y|none"],
        ),
        (b"1|x|\n", &["--dialect", "tbl", two[0], two[1]], &["1|x|none"]),
        (b"1\tx\\n\n", &["--dialect", "tsv", two[0], two[1]], &["1|x\\n|none"]),
        (b"no\nno\n1\tx\ty\n", &["--skip-lines", "2"], &["1|x|y"]),
        (b"1\t\xe9\n", &["--charset", "latin1", two[0], two[1]], &["1|\u{e9}|none"]),
        (b"1\t\xc3\xa9\n", two, &["1|\u{e9}|none"]),
        (b"", &[], &[]),
    ];
    for (text, more, expected) in cases {
        let seen = desk.load_text(columns, text, more);
        assert_eq!(&seen, expected, "{more:?}");
    }
}

#[test]
fn endings_of_file_names_choose_the_dialect_and_files_are_joined() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(9))");
    for (name, text) in
        [("x.csv", "1,\"a\"\n"), ("x.tsv", "1\ta\n"), ("x.tbl", "1|a|\n"), ("x", "1\ta\n")]
    {
        let file = desk.home.file(name, text);
        desk.load("t", &file, &["--mode", "replace"]).done();
        assert_eq!(desk.rows("SELECT * FROM t"), ["1|a"], "{name}");
    }
    let (one, two) = (desk.home.file("1.csv", "b,a\nx,2"), desk.home.file("2.csv", "b,a\ny,1\n"));
    let more = ["--mode", "replace", "--header", two.to_str().unwrap()];
    desk.load("t", &one, &more).done();
    assert_eq!(desk.rows("SELECT * FROM t"), ["1|y", "2|x"]);
}

#[test]
fn help_explains_every_option_of_every_command() {
    let home = Home::new();
    let commands = [
        "",
        "load",
        "plan",
        "check",
        "verify",
        "doctor",
        "tune",
        "sniff",
        "inspect",
        "sandbox",
        "sandbox start",
        "sandbox sql",
        "replay",
        "export",
        "resume",
        "jobs",
        "jobs show",
        "jobs clean",
    ];
    for command in commands {
        for option in ["--help", "--help-all"] {
            let words = command.split_whitespace().chain([option]);
            let help = run(&mut home.inrush(words));
            assert_eq!((help.code(), help.err.as_str()), (0, ""), "{command}");
            testkit::program::check_help(&help.out);
            if option == "--help-all" {
                let words = ["help"].into_iter().chain(command.split_whitespace());
                assert_eq!(run(&mut home.inrush(words)).done().out, help.out);
            }
        }
        let words = ["help", "--man"].into_iter().chain(command.split_whitespace());
        assert!(run(&mut home.inrush(words)).done().out.starts_with(".TH inrush"));
    }
    run(&mut home.inrush(["help", "loud"])).refused(2, &["inrush has no command loud"]);
    let version = run(&mut home.inrush(["--version"]));
    assert!(version.done().out.starts_with("inrush "), "{version:?}");
    let nothing = run(&mut home.inrush::<&str>([]));
    assert_eq!(nothing.code(), 2);
    assert!(nothing.err.contains("Usage: inrush <COMMAND>"), "{nothing:?}");
}
