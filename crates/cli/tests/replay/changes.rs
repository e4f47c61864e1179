//! Values that the server changes, as the client lets it without a word.

use super::yard::{WAYS, Yard};
use crate::support::run;

const DUMP: &str = "
SET sql_mode = '';
DROP TABLE IF EXISTS t, u;
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, name VARCHAR(3), n TINYINT, e ENUM('a','b'), d DATE);
INSERT INTO t VALUES (1, 'abcdef', 1, 'a', '2020-01-01'), (2, 'abc', 300, 'a', '2020-01-01');
INSERT INTO t VALUES (3, 'abc', 1, 'zz', '2020-01-01'), (4, 'x', 1, 'a', '2020-02-31');
CREATE TABLE u (id INT NOT NULL PRIMARY KEY, name VARCHAR(3));
INSERT INTO u VALUES (1, 'abc'), (2, NULL);
UPDATE t SET n = -1000 WHERE id = 1;
";

#[test]
fn values_that_the_server_changes_are_counted_and_told() {
    let Some(mut yard) = Yard::new(&["changes"]) else { return };
    let database = yard.databases[0].clone();
    let dump = yard.home.file("changes.sql", DUMP);
    yard.client(Some(&database), &dump).unwrap();
    let expected = yard.seen();
    for way in WAYS {
        // The second time small tables go the ways of large ones.
        for more in [&[][..], &["--small", "1"]] {
            let mut arguments = vec!["--as", way, "--into", &database, "--fresh"];
            arguments.extend(more);
            let when = format!("{arguments:?}");
            yard.wipe();
            yard.make_databases();
            let first = run(&mut yard.replay(&dump, &arguments));
            yard.compare(&when, &first, &expected);
            let counted = format!("the server changed 4 values in {database}.t, ");
            let parts = [
                counted.as_str(),
                "in the rows from line 5: Data truncated for column 'name' at row 1 (warning 1265)",
                "and 3 more; --show-changes shows all, --strict fails instead",
                "the server changed 1 value in other statements, ",
                "in the rows from line 9: Out of range value for column 'n' at row 1",
            ];
            for part in parts {
                assert!(first.out.contains(part), "{when}: {part}: {first:?}");
            }
            assert!(!first.out.contains(&format!("{database}.u, ")), "{when}: {first:?}");

            let all = run(yard.replay(&dump, &arguments).args(["--show-changes"]));
            for column in ["name", "n", "e", "d"] {
                let told = format!("for column '{column}' at row ");
                assert!(all.done().out.contains(&told), "{when}: {all:?}");
            }
            assert!(!all.out.contains("--show-changes"), "{when}: {all:?}");

            yard.wipe();
            yard.make_databases();
            let strict = run(yard.replay(&dump, &arguments).args(["--strict"]));
            strict.refused(1, &["--strict: the server would change ", "column 'name' at row 1"]);
            let tables = yard.session.query(&format!("SHOW TABLES FROM `{database}`")).unwrap();
            assert!(tables.is_empty(), "{when}: {tables:?}");
        }
    }
}

#[test]
fn all_changes_are_counted_where_the_server_keeps_few_of_them() {
    let Some(yard) = Yard::new(&["many"]) else { return };
    let database = yard.databases[0].clone();
    let rows: Vec<String> = (0..500).map(|id| format!("({id}, 'abcdef')")).collect();
    let text = format!(
        "SET sql_mode = '';\nDROP TABLE IF EXISTS t;\nCREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(3));\nINSERT INTO t VALUES {};\n",
        rows.join(", ")
    );
    let dump = yard.home.file("many.sql", text);
    let told = |more: &[&str]| {
        let replay = run(yard.replay(&dump, &["--into", &database, "--fresh"]).args(more));
        let report: serde_json::Value = serde_json::from_str(&replay.done().out).unwrap();
        let changes = &report["tables"][0]["changes"];
        (changes["count"].as_u64().unwrap(), changes["told"].as_array().unwrap().len())
    };
    assert_eq!(told(&["--json"]), (500, 1));
    assert_eq!(told(&["--json", "--show-changes"]), (500, 500));
}

/// Each dump of mariadb-dump has the values of generated columns: `--strict` refused all of them.
#[test]
fn values_of_generated_columns_are_no_changes() {
    let Some(mut yard) = Yard::new(&["generated"]) else { return };
    let database = yard.databases[0].clone();
    yard.session.exec(&format!("USE `{database}`")).unwrap();
    let sql =
        "CREATE TABLE g (a INT PRIMARY KEY, b INT AS (a + 1) STORED, c INT AS (b * 2) VIRTUAL)";
    yard.session.exec(sql).unwrap();
    yard.session.exec("INSERT INTO g (a) SELECT seq FROM seq_1_to_100").unwrap();
    let expected = yard.seen();
    let dump = yard.dump_all("generated.sql", &[]);
    for way in WAYS {
        for more in [&[][..], &["--small", "1"]] {
            yard.wipe();
            let outcome = run(yard.replay(&dump, &["--as", way, "--strict"]).args(more));
            yard.compare(&format!("{way} {more:?}"), &outcome, &expected);
            assert!(!outcome.out.contains("the server changed"), "{outcome:?}");
        }
    }
}
