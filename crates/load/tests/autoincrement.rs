//! Generated AUTO_INCREMENT values: those LOAD DATA gives, and continued by the next INSERT.

use load::{LoadOptions, Memory, Mode};

use testkit::tables::compare::{same_rows, scan};
use testkit::tables::server::{Db, Server};

/// A table, the columns in the file, and the file's values of the AUTO_INCREMENT column.
struct Case {
    name: &'static str,
    table: &'static str,
    columns: &'static [&'static str],
    /// Repeated as often as there are rows; the columns that are not `id` get the row's number.
    ids: &'static [&'static str],
}

const SIGNED: &str = "CREATE TABLE b (id INT AUTO_INCREMENT PRIMARY KEY, v INT) ENGINE=InnoDB";
const UNSIGNED: &str =
    "CREATE TABLE b (v INT, id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, KEY (id)) ENGINE=InnoDB";
const FROM_100: &str = "CREATE TABLE b (id SMALLINT UNSIGNED AUTO_INCREMENT, v INT, PRIMARY KEY (v DESC, id), KEY (id)) \
     ENGINE=InnoDB AUTO_INCREMENT=100";

const CASES: [Case; 12] = [
    Case { name: "absent", table: SIGNED, columns: &["v"], ids: &[] },
    Case { name: "NULL", table: SIGNED, columns: &["id", "v"], ids: &["\\N"] },
    Case { name: "zero", table: UNSIGNED, columns: &["id", "v"], ids: &["0"] },
    Case { name: "zeros", table: UNSIGNED, columns: &["v", "id"], ids: &["\\N", "0", "0.4", "-0"] },
    Case { name: "from 100", table: FROM_100, columns: &["v"], ids: &[] },
    Case { name: "given", table: SIGNED, columns: &["id", "v"], ids: &["7", "3", "40", "-5"] },
    Case {
        name: "gap",
        table: SIGNED,
        columns: &["id", "v"],
        ids: &["\\N", "5000", "\\N", "\\N", "0"],
    },
    Case { name: "low", table: FROM_100, columns: &["id", "v"], ids: &["\\N", "5", "\\N", "50"] },
    Case {
        name: "low key",
        table: UNSIGNED,
        columns: &["id", "v"],
        ids: &["9", "0", "2", "\\N", "2"],
    },
    Case { name: "negative", table: SIGNED, columns: &["id", "v"], ids: &["-3", "\\N", "0", "-1"] },
    Case {
        name: "largest",
        table: UNSIGNED,
        columns: &["id", "v"],
        ids: &["1", "\\N", "9223372036854775806"],
    },
    Case { name: "none", table: SIGNED, columns: &["id", "v"], ids: &["2147483647"] },
];

impl Case {
    /// The file; given values occur once only where they must be different.
    fn file(&self, rows: usize) -> String {
        let once = self.table == SIGNED || self.name == "largest";
        let id = |row: usize| match self.ids.get(row) {
            Some(id) => *id,
            None if once => "\\N",
            None => self.ids[row % self.ids.len()],
        };
        let line = |row: usize| {
            let field = |column: &&str| match *column {
                "id" => id(row).to_owned(),
                _ => row.to_string(),
            };
            self.columns.iter().map(field).collect::<Vec<_>>().join("\t") + "\n"
        };
        (0..rows).map(line).collect()
    }
}

fn options(server: &Server, db: &Db, case: &Case, file: &str) -> LoadOptions {
    let mut options = server.options(db, "b", vec![server.file(db, "input", file)]);
    options.input.columns = Some(case.columns.iter().map(|&name| name.to_owned()).collect());
    options.limits.shares = Some(Memory {
        threads: 3,
        chunk_bytes: 50,
        record_bytes_max: 1 << 20,
        batch_bytes: 0,
        entry_bytes: 100,
        run_bytes: 4 << 20,
    });
    options
}

#[test]
fn generated_values_are_those_of_load_data() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    for case in &CASES {
        // A row more than the list would be generated past the end of the type.
        let rows = if case.name == "none" { &[0, 1][..] } else { &[0, 1, 2, 4, 5, 700] };
        for &rows in rows {
            if case.name == "largest" && rows > 3 {
                continue;
            }
            let what = format!("{}, {rows} rows", case.name);
            println!("{what}");
            db.sql("DROP TABLE IF EXISTS a, b");
            db.sql(case.table);
            db.sql(&case.table.replace("TABLE b", "TABLE a"));
            let options = options(&server, &db, case, &case.file(rows));
            let load = format!(
                "LOAD DATA INFILE '{}' INTO TABLE a ({})",
                options.input.files[0].display(),
                case.columns.join(",")
            );
            db.sql(&load);
            server.load(&options).unwrap_or_else(|error| panic!("{what}: {error}"));
            same_rows(&mut db, "b", "a", &[]);
            if case.name == "none" {
                continue;
            }
            continued(&mut db, &what);
        }
    }
}

/// The next value is the one that LOAD DATA's table goes on with.
fn continued(db: &mut Db, what: &str) {
    for table in ["a", "b"] {
        db.sql(&format!("INSERT INTO {table} (v) VALUES (-1)"));
    }
    let next = |db: &mut Db, table: &str| db.text(&format!("SELECT id FROM {table} WHERE v=-1"));
    assert_eq!(next(db, "b"), next(db, "a"), "{what}");
}

/// An emptied table goes on where it was; so does one that is replaced.
#[test]
fn values_go_on_where_the_table_was() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let case = &CASES[0];
    db.sql(SIGNED);
    db.sql("INSERT INTO b (v) VALUES (1), (2), (3)");
    db.sql("DELETE FROM b");
    db.sql("CREATE TABLE a LIKE b");
    db.sql("INSERT INTO a (v) VALUES (1), (2), (3)");
    db.sql("DELETE FROM a");
    let mut options = options(&server, &db, case, &case.file(5));
    db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE a (v)", options.input.files[0].display()));
    server.load(&options).unwrap();
    same_rows(&mut db, "b", "a", &["PRIMARY"]);
    options.mode = Mode::Replace;
    // LOAD DATA takes numbers in blocks, and leaves the rest of the last one unused.
    for (keeps, first) in [(true, 11), (false, 1), (true, 8)] {
        options.keep_auto_increment = keeps;
        server.load(&options).unwrap();
        let rows = scan(&mut db, "b", None);
        let ids: Vec<u64> = rows.iter().map(|row| row.number(0).unwrap()).collect();
        assert_eq!(ids, (first..first + 5).collect::<Vec<u64>>(), "{keeps}");
    }
}

/// When the type has no value left, both sides stop, and nothing is loaded.
#[test]
fn a_type_without_further_values_stops_the_load() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let case = &CASES[0];
    db.sql("CREATE TABLE b (id TINYINT AUTO_INCREMENT PRIMARY KEY, v INT) ENGINE=InnoDB");
    db.sql("CREATE TABLE a LIKE b");
    for (rows, fits) in [(127, true), (128, false)] {
        db.sql("TRUNCATE a");
        db.sql("TRUNCATE b");
        let options = options(&server, &db, case, &case.file(rows));
        let load =
            format!("LOAD DATA INFILE '{}' INTO TABLE a (v)", options.input.files[0].display());
        assert_eq!(db.try_sql(&load).is_ok(), fits, "{rows}");
        let outcome = server.load(&options);
        assert_eq!(outcome.is_ok(), fits, "{rows}: {outcome:?}");
        same_rows(&mut db, "b", "a", &["PRIMARY"]);
    }
}
