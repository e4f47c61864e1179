//! Secrets in odd places: in statements, expressions, hosts and URLs. None is printed or kept.

use std::fs;

use super::password::mentions;
use crate::support::{Desk, Home, Outcome, run};

const SECRET: &str = "s3cr3t-XYZ";

/// Dumps that fail, are cut, or are passed over, each with the secret.
const DUMPS: [&str; 21] = [
    "CREATE USER nobody@x IDENTIFIED BY 's3cr3t-XYZ",
    "INSERT INTO t VALUES (1);\nCREATE USER nobody@x IDENTIFIED BY\n\n\n's3cr3t-XYZ",
    "CREATE USER IDENTIFIED BY 's3cr3t-XYZ' BOGUS;",
    "CREATE USER nobody@x IDENTIFIED VIA bogus USING 's3cr3t-XYZ';",
    "ALTER USER nobody_here@x IDENTIFIED BY 's3cr3t-XYZ';",
    "SET PASSWORD FOR nobody_here@x = 's3cr3t-XYZ';",
    "SET PASSWORD = PASSWORD('s3cr3t-XYZ') BOGUS;",
    "GRANT ALL ON *.* TO IDENTIFIED BY PASSWORD 's3cr3t-XYZ';",
    "CHANGE MASTER TO BOGUS=1, MASTER_PASSWORD='s3cr3t-XYZ';",
    "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (PASSWORD 's3cr3t-XYZ', BOGUS BOGUS);",
    "CREATE TABLE c (a BOGUS) ENGINE=FEDERATED CONNECTION='mysql://u:s3cr3t-XYZ@h/d/t';",
    "CREATE TABLE c (a INT) ENGINE=NONE CONNECTION='mysql://u:s3cr3t-XYZ@h/d/t",
    "INSERT INTO `mysql`.`global_priv` VALUES ('h', '{\"authentication_string\":\"s3cr3t-XYZ\"}', 1, 2);",
    "INSERT INTO global_priv VALUES ('s3cr3t-XYZ' BOGUS);",
    "INSERT INTO t VALUES (1, 's3cr3t-XYZ' BOGUS);",
    "DO AES_ENCRYPT('a', 's3cr3t-XYZ', BOGUS(1));",
    "SELECT ENCODE('a', 's3cr3t-XYZ') FROM nowhere;",
    "system mysql -ps3cr3t-XYZ;\n",
    "-- s3cr3t-XYZ\nBOGUS 1;",
    "/* s3cr3t-XYZ */ BOGUS 1 -- s3cr3t-XYZ\n;",
    "SET @a = 's3cr3t-XYZ'; SET GLOBAL wsrep_sst_auth = 'u:s3cr3t-XYZ' BOGUS;",
];

/// Asserts that a command was refused, or failed, and that the secret is in nothing of it.
#[track_caller]
fn silent(home: &Home, outcome: &Outcome, what: &str) {
    assert!(!mentions(home, outcome, SECRET), "{what}: {outcome:?}");
}

#[test]
fn statements_of_a_dump_are_shown_without_their_texts() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT)");
    for dump in DUMPS {
        let file = desk.home.file("dump.sql", dump);
        for more in [&[][..], &["--force"], &["--json"], &["--dry-run"]] {
            let mut command = desk.home.inrush(["replay", file.to_str().unwrap()]);
            command.args(["--into", &desk.database]).args(more);
            command.arg("--socket").arg(desk.server.socket());
            let outcome = run(&mut command);
            let fails = more.is_empty() && !dump.starts_with("INSERT INTO t VALUES (1);");
            assert!(!fails || outcome.code() != 0, "{dump}: {outcome:?}");
            silent(&desk.home, &outcome, dump);
        }
        silent(&desk.home, &run(&mut desk.home.inrush(["jobs"])), dump);
    }
    // The statement is named all the same, so that a person finds it.
    let file = desk.home.file("dump.sql", DUMPS[4]);
    let mut command = desk.home.inrush(["replay", file.to_str().unwrap(), "--into", "x"]);
    let outcome = run(command.arg("--socket").arg(desk.server.socket()));
    outcome.refused(1, &["line 1", "ALTER USER nobody_here@x IDENTIFIED BY '..'"]);
}

#[test]
fn keys_in_expressions_are_in_no_journal_and_no_report() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b VARBINARY(40), password VARCHAR(40))");
    let file = desk.home.file("rows.txt", "1\n2\n");
    let report = desk.home.path().join("state/report.html");
    let report = report.to_str().unwrap();
    let key = "b=HEX(AES_ENCRYPT('x', 's3cr3t-XYZ'))";
    let common = ["--columns", "a", "--mode", "replace", "--report", report];
    let command = desk.home.load(desk.server, &desk.table("t"), &file);
    let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let load = |more: &[&str]| {
        run(desk.home.inrush(&arguments).args(common).args(["--path", "stream"]).args(more))
    };
    load(&["--set-sql", key]).done();
    let failed = [
        load(&["--set-sql", "b=AES_ENCRYPT('x', 's3cr3t-XYZ', BOGUS(1))"]),
        load(&["--set", "password=s3cr3t-XYZ", "--set-sql", "b=BOGUS(1)"]),
        load(&["--set-sql", "b=CONCAT('s3cr3t-XYZ' BOGUS)"]),
        load(&["--set-sql", "b=AES_ENCRYPT('x', 's3cr3t-XYZ')"]),
        load(&["--set-sql", "AES_ENCRYPT('x', 's3cr3t-XYZ')"]),
        load(&["--set-sql", key, "--columns", "a,nowhere"]),
        load(&["--set-sql", key, "--json", "--columns", "a,nowhere"]),
    ];
    for outcome in &failed {
        assert_ne!(outcome.code(), 0, "{outcome:?}");
        silent(&desk.home, outcome, "failed");
    }
    // One that was killed when its journal had begun.
    let mut command = desk.home.inrush(&arguments);
    command.args(common).args(["--path", "stream", &format!("--set-sql={key}")]);
    assert_ne!(run(command.env("INRUSH_FAILPOINT", "rows.begin=kill")).code(), 0);
    let jobs = run(&mut desk.home.inrush(["jobs"]));
    silent(&desk.home, &jobs, "jobs");
    let killed = load::jobs::list(&desk.home.path().join("state/inrush")).unwrap().0;
    let name = &killed.first().unwrap().name;
    let job = run(&mut desk.home.inrush(["jobs", "show", name]));
    silent(&desk.home, &job, "job");
    assert!(job.out.contains("'--set-sql=b=(not shown)'"), "{job:?}");
    let resumed = run(&mut desk.home.inrush(["resume", name]));
    resumed.refused(2, &["the value may be a secret; type the command again"]);
    silent(&desk.home, &resumed, "resume");
    load(&["--set-sql", key]).done();
    assert_eq!(desk.rows("SELECT AES_DECRYPT(UNHEX(b), 's3cr3t-XYZ') FROM t"), ["x", "x"]);
}

#[test]
fn values_that_their_columns_refuse_are_in_no_message_journal_and_report() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE t (a INT PRIMARY KEY, b INT, password VARCHAR(40))");
    let file = desk.home.file("rows.txt", "1\t2\n");
    let report = desk.home.path().join("state/report.html");
    let value = "password=s3cr3t-XYZ, and more characters than there is room for";
    let hidden = "--set password=(not shown)";
    for (columns, more, words) in [
        ("a,b", &["--set", value][..], &[hidden, ": the value is too long: VARCHAR(40)"][..]),
        ("a,password", &["--set", "password=s3cr3t-XYZ"], &[hidden, "the input has this column"]),
        ("a,b", &["--set", "password=s3cr3t-XYZü", "--charset", "latin1"], &[hidden, "be ASCII"]),
        (
            "a,@x",
            &["--set-sql", "b=CONCAT('s3cr3t-', 'XYZ')"],
            &["--set-sql b=(not shown): the value is not a number: INT"],
        ),
        (
            "a,b",
            &["--set-sql", "nowhere=CONCAT('s3cr3t-', 'XYZ')"],
            &["--set-sql nowhere=(not shown): the table has no such column"],
        ),
    ] {
        for json in [&[][..], &["--json"]] {
            let mut command = desk.home.load(desk.server, &desk.table("t"), &file);
            command.args(["--columns", columns, "--report", report.to_str().unwrap()]);
            let outcome = run(command.args(more).args(json));
            outcome.refused(2, words);
            silent(&desk.home, &outcome, &more.join(" "));
        }
    }
}

#[test]
fn passwords_of_hosts_and_urls_are_refused_and_not_repeated() {
    let home = Home::new();
    home.file("rows.txt", "1\n");
    home.file("job.toml", "into = \"d\"\nx = \"AES_ENCRYPT(a,'s3cr3t-XYZ')\n");
    home.file("host.cnf", "[client]\nhost = mysql://u:s3cr3t-XYZ@h\n");
    home.file("password.cnf", "[inrush]\npassword s3cr3t-XYZ\npasword = s3cr3t-XYZ\n");
    let load = ["load", "rows.txt", "--into", "d.t"];
    let host = "--host takes a host without an account and without a password";
    for (more, words) in [
        (&["--host", "mysql://u:s3cr3t-XYZ@h"][..], host),
        (&["--host=u:s3cr3t-XYZ@h"], host),
        (&["-hu:s3cr3t-XYZ@h"], host),
        (&["-h", "u:s3cr3t-XYZ@h"], host),
        (&["--replica", "u:s3cr3t-XYZ@h", "--host", "h"], "--replica takes a host without"),
        (&["--replica=mysql://u:s3cr3t-XYZ@h:1"], "--replica takes a host without"),
        (&["--shard", "s=u:s3cr3t-XYZ@h"], "--shard takes a host without"),
        (&["https://u:s3cr3t-XYZ@h/rows.csv"], "a URL with a password"),
        (&["--report=https://u:s3cr3t-XYZ@h/x"], "a URL with a password"),
        (&["-ps3cr3t-XYZ"], "-p takes no value"),
        (&["--password=s3cr3t-XYZ"], "-p takes no value"),
        (&["--passwd=s3cr3t-XYZ"], "--passwd"),
        (&["--defaults-file", "host.cnf"], host),
        (&["--defaults-file", "password.cnf"], "password"),
        (&["-c", "job.toml"], "job.toml line 2"),
    ] {
        let outcome = run(home.inrush(load).args(more).current_dir(home.path()));
        outcome.refused(2, &[words]);
        silent(&home, &outcome, &more.join(" "));
    }
    let environment = [
        ("INRUSH_REPLICA", "u:s3cr3t-XYZ@h"),
        ("MYSQL_HOST", "u:s3cr3t-XYZ@h"),
        ("INRUSH_PASSWORD", SECRET),
    ];
    for (name, value) in environment {
        let outcome = run(home.inrush(load).env(name, value).current_dir(home.path()));
        assert_eq!(outcome.code(), 2, "{name}: {outcome:?}");
        silent(&home, &outcome, name);
    }
    assert!(!fs::exists(home.path().join("state/inrush/jobs")).unwrap());
}
