//! Columns that the input lacks, or that are the server's own.

use super::{Bench, row};

#[test]
fn left_out_columns_get_their_defaults() {
    let table = "(id INT, a INT NOT NULL DEFAULT 7, b VARCHAR(9) DEFAULT 'it''s', c INT, \
                 d ENUM('x','y') NOT NULL, e BINARY(3) DEFAULT x'00ff41', f FLOAT DEFAULT 1.5, \
                 g INT DEFAULT (3 + 4), h INT DEFAULT 5 INVISIBLE, `i``j` BIT(9) DEFAULT b'101', \
                 k DATETIME(2) DEFAULT '2020-02-03 04:05:06.789')";
    let Some(bench) = Bench::new("utf8mb4", table) else { return };
    bench.columns(&["@x", "c", "id"]).compare(&[
        row(&["x", "1", "1"]),
        row(&["", "NULL", "2"]),
        row(&["NULL", "y", "3"]),
        row(&["z", "2"]),
        row(&["z", "2", "4", ""]),
        row(&["z", "2", "4", "5"]),
    ]);
    let Some(bench) = Bench::new("utf8mb4", table) else { return };
    bench.columns(&["id", "h", "@x"]).compare(&[row(&["1", "2", ""]), row(&["2", "3"])]);
}

#[test]
fn invisible_columns_are_left_out_unless_named() {
    let table = "(id INT, a INT DEFAULT 3 INVISIBLE, b INT)";
    let Some(mut bench) = Bench::new("utf8mb4", table) else { return };
    bench.compare(&[row(&["1", "2"]), row(&["1", "2", "3"])]);
}

/// LOAD DATA converts what the file has for them, and throws it away.
#[test]
fn values_of_generated_columns_are_looked_at_and_not_sent() {
    let table = "(id INT, v INT AS (id + 1) VIRTUAL, s VARCHAR(3) AS (CONCAT(id, 'x')) STORED, \
                 b INT, UNIQUE (v))";
    let rows = [
        row(&["1", "2", "1x", "5"]),
        row(&["2", "99", "abc", "5"]),
        row(&["3", "junk", "abc", "5"]),
        row(&["4", "NULL", "NULL", "NULL"]),
        row(&["5", "1", "abcd", "5"]),
        row(&["6", "1", "abc"]),
        row(&["7", "1", "abc", "5", "6"]),
    ];
    let Some(mut bench) = Bench::new("utf8mb4", table) else { return };
    bench.compare(&rows);
    let Some(bench) = Bench::new("utf8mb4", table) else { return };
    bench.columns(&["b", "id"]).compare(&[row(&["1", "2"]), row(&["NULL", "3"])]);
}

#[test]
fn rows_without_any_column_are_rows() {
    let table = "(id INT DEFAULT 4, b INT DEFAULT 5)";
    let Some(bench) = Bench::new("utf8mb4", table) else { return };
    bench.columns(&["@x", "@y"]).compare(&[row(&["1", "2"]), row(&["3"]), row(&["1", "2", "3"])]);
}

/// All rows of a load have one moment, which no file can have told.
#[test]
fn the_moment_is_one_for_all_rows() {
    let table = "(id INT, a TIMESTAMP(3) NOT NULL, b TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, \
                 c DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6), d TIMESTAMP NULL DEFAULT NULL)";
    for zone in ["+00:00", "Europe/Berlin", "-09:30"] {
        let Some(bench) = Bench::new("latin1", table) else { return };
        let mut bench = bench.columns(&["id", "a", "d"]);
        if bench.session.exec(&format!("SET time_zone='{zone}'")).is_err() {
            // A server without names of zones.
            continue;
        }
        let rows: Vec<_> = (0..99).map(|id| row(&[&id.to_string(), "NULL", "NULL"])).collect();
        assert_eq!(bench.ours(&rows), Vec::<usize>::new());
        let moments = |name: &str, column: &str| format!("SELECT {column} AS t FROM `{name}`");
        let all: Vec<String> = ["lines", "tuples"]
            .iter()
            .flat_map(|name| ["a", "c"].map(|column| moments(name, column)))
            .collect();
        let sql = format!(
            "SELECT COUNT(DISTINCT LEFT(t, 19)), MIN(ABS(TIMESTAMPDIFF(SECOND, t, NOW())) < 60) \
             FROM ({}) AS q",
            all.join(" UNION ALL ")
        );
        // Each form of `ours` is of the same moment.
        let seen = bench.session.query_row(&sql).unwrap();
        assert_eq!((seen.text(0).unwrap(), seen.text(1).unwrap()), ("1".into(), "1".into()));
        let sql = "SELECT COUNT(*) FROM `lines` WHERE d IS NULL AND b = LEFT(a, 19)";
        assert_eq!(bench.session.query_text(sql).unwrap().as_deref(), Some("99"));
    }
}
