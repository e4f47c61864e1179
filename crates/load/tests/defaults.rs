//! Columns that the input leaves out, or has NULL for: what LOAD DATA gives them at one moment.

use load::{Constant, Error, LoadPath};

use testkit::tables::compare::same_rows;
use testkit::tables::server::{Db, Server};

/// Types and DEFAULT expressions that are one value for all rows of a statement.
const EXPRESSIONS: [&str; 40] = [
    "TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6)",
    "TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP",
    "TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(3)",
    "TIMESTAMP(2) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)",
    "TIMESTAMP NULL DEFAULT (NOW() + INTERVAL 1 DAY)",
    "DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP",
    "DATETIME(4) DEFAULT CURRENT_TIMESTAMP(6)",
    "DATETIME(6) DEFAULT (UTC_TIMESTAMP(6))",
    "DATETIME DEFAULT (NOW() - INTERVAL 90 MINUTE)",
    "DATE DEFAULT (CURDATE())",
    "DATE DEFAULT (CURRENT_TIMESTAMP())",
    "DATE DEFAULT (CAST('2020-01-01' AS DATE))",
    "DATE DEFAULT (MAKEDATE(2020, 5))",
    "TIME(3) DEFAULT (CURTIME(3))",
    "YEAR DEFAULT (YEAR(NOW()))",
    "INT DEFAULT (1 + 2)",
    "INT DEFAULT (UNIX_TIMESTAMP())",
    "INT DEFAULT (CASE WHEN 1 > 2 THEN 3 ELSE 4 END)",
    "BIGINT UNSIGNED DEFAULT (18446744073709551614 + 1)",
    "DECIMAL(20,6) DEFAULT (UNIX_TIMESTAMP(NOW(6)))",
    "DECIMAL(30,20) DEFAULT (1/3)",
    "FLOAT DEFAULT (1/3)",
    "FLOAT(7,2) DEFAULT (1/3)",
    "DOUBLE DEFAULT (SQRT(2))",
    "DOUBLE DEFAULT (-1e300 / 3)",
    "BIT(20) DEFAULT (65 * 1000)",
    "BIT(64) DEFAULT (x'8000000000000001')",
    "VARCHAR(9) DEFAULT (CONCAT('a', 'b'))",
    "VARCHAR(9) CHARACTER SET utf8mb4 DEFAULT (REPEAT(CHAR(0xf09f9880 USING utf8mb4), 2))",
    "CHAR(9) CHARACTER SET latin1 DEFAULT (UPPER('\u{e9}t\u{e9}'))",
    "VARCHAR(30) DEFAULT (DATE_FORMAT(NOW(), '%Y-%m-%d'))",
    "TEXT DEFAULT (REPEAT('x', 20000))",
    "BLOB DEFAULT (UNHEX('00ff27'))",
    "BINARY(5) DEFAULT (UNHEX('00ff'))",
    "JSON DEFAULT (JSON_OBJECT('a', 1, 'b', JSON_ARRAY(1, NULL)))",
    "ENUM('p','q') NOT NULL DEFAULT (CONCAT('q', ''))",
    "SET('x','y') DEFAULT (CONCAT('x', ',y'))",
    "UUID DEFAULT (CONCAT('123e4567-e89b-12d3-a456-4266141740', '00'))",
    "INET6 DEFAULT (CONCAT('::', '1'))",
    "INT DEFAULT (NULLIF(1, 1))",
];

fn create(db: &mut Db, columns: &[String]) {
    for table in ["a", "b"] {
        let sql = format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, {}) ENGINE=InnoDB CHARACTER SET latin1",
            columns.join(", ")
        );
        db.sql(&sql);
    }
}

/// Loads table `a` by LOAD DATA at the moment at which `b` was.
fn load_data_then(db: &mut Db, path: &std::path::Path, columns: &str, moment: &str) {
    let unix = db.text(&format!("SELECT UNIX_TIMESTAMP({moment}) FROM b WHERE id = 1"));
    db.sql(&format!("SET timestamp={unix}"));
    db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE a ({columns})", path.display()));
    db.sql("SET timestamp=DEFAULT");
}

#[test]
fn expressions_are_evaluated_once_for_all_rows() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("SET NAMES utf8mb4");
    let columns: Vec<String> =
        EXPRESSIONS.iter().enumerate().map(|(at, sql)| format!("c{at} {sql}")).collect();
    create(&mut db, &columns);
    let path = server.file(&db, "input", "1\n2\n3\n");
    let mut options = server.options(&db, "b", vec![path.clone()]);
    options.input.columns = Some(vec!["id".to_owned()]);
    let before = db.text("SELECT NOW(6)");
    server.load(&options).unwrap();
    let moment = db.text("SELECT c0 FROM b WHERE id=2");
    assert!((before..=db.text("SELECT NOW(6)")).contains(&moment), "{moment}");
    load_data_then(&mut db, &path, "id", "c0");
    db.sql("SET character_set_results=NULL");
    same_rows(&mut db, "b", "a", &["PRIMARY"]);
    let tables = db.tables();
    assert_eq!(tables, ["a", "b"], "nothing is left over");
}

#[test]
fn what_is_not_one_value_for_all_rows_is_refused_by_name() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let path = server.file(&db, "input", "1\n");
    for (column, part) in [
        ("VARCHAR(40) DEFAULT (UUID())", "uuid() can differ"),
        ("UUID DEFAULT UUID()", "uuid() can differ"),
        ("DOUBLE DEFAULT (1 + RAND())", "rand() can differ"),
        ("INT DEFAULT (id + 1)", "`id` (another column)"),
        ("DATETIME DEFAULT (SYSDATE())", "sysdate() can differ"),
        ("TINYINT DEFAULT (200 + MINUTE(NOW()))", "Out of range value"),
        ("INT DEFAULT (1 / (MINUTE(NOW()) - MINUTE(NOW())))", "Division by 0"),
        ("VARCHAR(2) DEFAULT (CONCAT(CURDATE(), ''))", "Data truncated"),
    ] {
        db.sql("DROP TABLE IF EXISTS a, b");
        create(&mut db, &[format!("v {column}")]);
        let mut options = server.options(&db, "b", vec![path.clone()]);
        options.input.columns = Some(vec!["id".to_owned()]);
        let error = server.load(&options).unwrap_err();
        assert!(matches!(error, Error::Unfit { .. }), "{column}: {error}");
        let text = error.to_string();
        assert!(text.contains(part) && text.contains("`v`"), "{column}: {text}");
        assert_eq!(db.text("SELECT COUNT(*) FROM b"), "0");
    }
}

/// A load knows values: whoever gives it expressions asks for them before, once for all its tables.
#[test]
fn an_expression_whose_value_nobody_asked_for_is_refused() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    create(&mut db, &["v VARCHAR(9)".to_owned()]);
    let path = server.file(&db, "input", "1\n2\n");
    let mut options = server.options(&db, "b", vec![path]);
    options.input.columns = Some(vec!["id".to_owned()]);
    options.rows.constants = vec![Constant::expression("v", "CONCAT('a', 'b')")];
    let error = server.load(&options).unwrap_err();
    assert!(
        error.to_string().contains("column v: the value of CONCAT('..', '..') was not evaluated"),
        "{error}"
    );

    let connect = server.connect_options();
    load::evaluate_expressions(&connect, std::slice::from_mut(&mut options)).unwrap();
    server.load(&options).unwrap();
    assert_eq!(db.text("SELECT GROUP_CONCAT(id, v ORDER BY id) FROM b"), "1ab,2ab");
}

/// Types, and expressions whose values they get: 5 is not the text `5`.
const VALUES: [(&str, &str); 24] = [
    ("BIT(8)", "5"),
    ("BIT(8)", "'5'"),
    ("BIT(8)", "b'101'"),
    ("BIT(8)", "200"),
    ("BIT(10)", "0"),
    ("BIT(64)", "18446744073709551615"),
    ("BIT(1)", "TRUE"),
    ("YEAR", "0"),
    ("YEAR", "'0'"),
    ("YEAR", "0.0"),
    ("YEAR", "5"),
    ("YEAR", "YEAR('1999-12-31')"),
    ("ENUM('2','1')", "2"),
    ("ENUM('2','1')", "'2'"),
    ("ENUM('2','1')", "1 + 0"),
    ("SET('2','1','x')", "5"),
    ("SET('2','1','x')", "'2'"),
    ("SET('2','1','x')", "0"),
    ("INT", "7"),
    ("VARCHAR(9)", "0"),
    ("DECIMAL(9,2)", "5.5"),
    ("DOUBLE", "1e3 / 7"),
    ("DATE", "20260102"),
    ("VARBINARY(9)", "UNHEX('0041')"),
];

#[test]
fn values_of_expressions_are_stored_as_load_data_sets_them() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let names = || (0..VALUES.len()).map(|at| format!("c{at}"));
    let pairs = || names().zip(VALUES);
    let columns: Vec<String> = pairs().map(|(name, (sql, _))| format!("{name} {sql}")).collect();
    create(&mut db, &columns);
    let path = server.file(&db, "input", "1\n2\n");
    let set: Vec<String> = pairs().map(|(name, (_, value))| format!("{name}={value}")).collect();
    let set = set.join(", ");
    db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE a (id) SET {set}", path.display()));
    for way in [LoadPath::Direct, LoadPath::Stream, LoadPath::Insert] {
        db.sql("TRUNCATE b");
        let mut options = server.options(&db, "b", vec![path.clone()]);
        options.path = way;
        options.input.columns = Some(vec!["id".to_owned()]);
        options.rows.constants =
            pairs().map(|(name, (_, value))| Constant::expression(name, value)).collect();
        load::evaluate_expressions(&server.connect_options(), std::slice::from_mut(&mut options))
            .unwrap();
        server.load(&options).unwrap();
        same_rows(&mut db, "b", "a", &["PRIMARY"]);
    }
}

#[test]
fn numbers_that_load_data_refuses_are_refused() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let path = server.file(&db, "input", "1\n");
    for (sql_type, value, part) in [
        ("BIT(8)", "300", "the value is too long: BIT(8)"),
        ("ENUM('2','1')", "0", "the number is no value of ENUM"),
        ("ENUM('2','0')", "3", "the number is no value of ENUM"),
        ("SET('a')", "2", "the number is no value of SET"),
        ("TINYINT", "200", "the value is out of range: TINYINT"),
    ] {
        db.sql("DROP TABLE IF EXISTS a, b");
        create(&mut db, &[format!("v {sql_type}")]);
        let load = format!("LOAD DATA INFILE '{}' INTO TABLE a (id) SET v={value}", path.display());
        assert!(db.try_sql(&load).is_err(), "{sql_type} {value}");
        let mut options = server.options(&db, "b", vec![path.clone()]);
        options.input.columns = Some(vec!["id".to_owned()]);
        options.rows.constants = vec![Constant::expression("v", value)];
        load::evaluate_expressions(&server.connect_options(), std::slice::from_mut(&mut options))
            .unwrap();
        let error = server.load(&options).unwrap_err().to_string();
        assert!(error.contains(part), "{sql_type} {value}: {error}");
    }
}

/// The digits of an option are a number of a BIT, and a text of all other columns.
#[test]
fn digits_of_an_option_are_the_number_of_a_bit() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    create(&mut db, &["f BIT(8)".to_owned(), "t BIT(8)".to_owned(), "e ENUM('2','1')".to_owned()]);
    let path = server.file(&db, "input", "1\n");
    for way in [LoadPath::Direct, LoadPath::Stream, LoadPath::Insert] {
        db.sql("TRUNCATE b");
        let mut options = server.options(&db, "b", vec![path.clone()]);
        options.path = way;
        options.input.columns = Some(vec!["id".to_owned()]);
        options.input.charset = "latin1".to_owned();
        let set = [("f", "200"), ("t", "A"), ("e", "2")];
        options.rows.constants = set.map(|(name, text)| Constant::text(name, text)).into();
        server.load(&options).unwrap();
        assert_eq!(db.text("SELECT CONCAT_WS(' ', f+0, t+0, e+0) FROM b"), "200 65 1");
    }
}

/// Texts of an option, with the `sql_mode` and the character set of the file.
const TEXTS: [(&str, &str, &str, &str); 14] = [
    ("DATETIME", "2026-01-01 10:00:00.7", "TIME_ROUND_FRACTIONAL", "utf8mb4"),
    ("DATETIME", "2026-01-01 10:00:00.7", "", "utf8mb4"),
    ("TIMESTAMP(2) NULL", "2026-12-31 23:59:59.999", "TIME_ROUND_FRACTIONAL", "latin1"),
    ("TIME(1)", "10:00:00.77", "TIME_ROUND_FRACTIONAL", "utf8mb4"),
    ("DATE", "2026-02-31", "ALLOW_INVALID_DATES", "utf8mb4"),
    ("DATE", "2026-02-31", "", "utf8mb4"),
    ("ENUM('Österreich','x') CHARACTER SET utf8mb4", "ÖSTERREICH", "", "utf8mb4"),
    ("ENUM('Österreich','x') COLLATE utf8mb4_bin", "ÖSTERREICH", "", "utf8mb4"),
    ("SET('a','Österreich') CHARACTER SET latin1", "österreich,A", "", "utf8mb4"),
    ("UUID", "123e4567-e89b-12d3-a456-426614174000", "", "binary"),
    ("UUID", "017f22e279b07cc398c4dc0c0c07398f", "", "binary"),
    ("UUID", "0123456789abcdef", "", "binary"),
    ("INET4", "10.0.0.7", "", "binary"),
    ("INET6", "::ffff:1.2.3.4", "", "binary"),
];

#[test]
fn texts_of_options_are_stored_as_load_data_sets_them() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let path = server.file(&db, "input", "1\n2\n");
    for (sql_type, text, mode, charset) in TEXTS {
        db.sql("DROP TABLE IF EXISTS a, b");
        db.sql(&format!("SET NAMES utf8mb4, sql_mode='STRICT_TRANS_TABLES,{mode}'"));
        create(&mut db, &[format!("v {sql_type}")]);
        let theirs = db.try_sql(&format!(
            "LOAD DATA INFILE '{}' INTO TABLE a CHARACTER SET {charset} (id) SET v='{text}'",
            path.display()
        ));
        for way in [LoadPath::Direct, LoadPath::Stream, LoadPath::Insert] {
            db.sql("TRUNCATE b");
            let mut options = server.options(&db, "b", vec![path.clone()]);
            options.path = way;
            options.input.columns = Some(vec!["id".to_owned()]);
            options.input.charset = charset.to_owned();
            options.rows.sql_mode = Some(mode.to_owned());
            options.rows.constants = vec![Constant::text("v", text)];
            let ours = server.load(&options);
            let what = format!("{sql_type} {text} {way:?}: {theirs:?} {ours:?}");
            assert_eq!(ours.is_ok(), theirs.is_ok(), "{what}");
            same_rows(&mut db, "b", "a", &["PRIMARY"]);
        }
    }
}

/// A TIMESTAMP that is NOT NULL takes NULL as the time of the load.
#[test]
fn null_in_a_timestamp_is_the_time_it_is() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let columns = [
        "t TIMESTAMP NOT NULL",
        "u TIMESTAMP(6) NOT NULL DEFAULT '2001-02-03'",
        "n TIMESTAMP(3) NULL",
        "KEY (u, t)",
    ];
    create(&mut db, &columns.map(str::to_owned));
    let path = server.file(
        &db,
        "input",
        "1\t\\N\t\\N\t\\N\n2\t2020-01-01\t\\N\t\\N\n3\t\\N\t2020-01-01\t2020-01-01\n",
    );
    server.load(&server.options(&db, "b", vec![path.clone()])).unwrap();
    load_data_then(&mut db, &path, "id, t, u, n", "u");
    same_rows(&mut db, "b", "a", &["PRIMARY", "u"]);
}

/// `sql_mode` has a say in defaults as in the input.
#[test]
fn zero_dates_are_defaults_where_the_server_takes_them() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let path = server.file(&db, "input", "1\n");
    for column in [
        "TIMESTAMP NOT NULL DEFAULT '0000-00-00'",
        "DATE NOT NULL DEFAULT '2024-00-00'",
        "DATETIME DEFAULT '0000-00-00'",
        "DATE DEFAULT '2024-02-31'",
        "TIME DEFAULT '00:00:00'",
        "DATETIME(1) DEFAULT '2024-01-01 00:00:00.9'",
    ] {
        for mode in ["", "NO_ZERO_DATE", "NO_ZERO_IN_DATE", "ALLOW_INVALID_DATES", "TRADITIONAL"] {
            db.sql("DROP TABLE IF EXISTS a, b");
            db.sql("SET sql_mode='ALLOW_INVALID_DATES'");
            create(&mut db, &[format!("v {column}")]);
            let mut options = server.options(&db, "b", vec![path.clone()]);
            options.input.columns = Some(vec!["id".to_owned()]);
            options.rows.sql_mode = Some(mode.to_owned());
            db.sql(&format!("SET sql_mode='STRICT_TRANS_TABLES,{mode}'"));
            let load = format!("LOAD DATA INFILE '{}' INTO TABLE a (id)", path.display());
            let theirs = db.try_sql(&load);
            let ours = server.load(&options);
            let what = format!("{column} {mode}: {theirs:?} {ours:?}");
            assert_eq!(ours.is_ok(), theirs.is_ok(), "{what}");
            same_rows(&mut db, "b", "a", &["PRIMARY"]);
        }
    }
}

/// TIMESTAMP values and defaults are local times of the zone that is asked for.
#[test]
fn a_time_zone_can_be_given() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let columns = [
        "t TIMESTAMP NULL",
        "u TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)",
        "v TIMESTAMP NOT NULL DEFAULT '2001-02-03 04:05:06'",
        "d DATETIME(6) DEFAULT (NOW(6))",
    ];
    create(&mut db, &columns.map(str::to_owned));
    let input = "1\t2020-01-01 00:00:00\n2\t2038-01-19 12:14:07\n";
    let path = server.file(&db, "input", input);
    for zone in ["+09:00", "-11:30", "SYSTEM"] {
        db.sql("TRUNCATE a");
        db.sql("TRUNCATE b");
        let mut options = server.options(&db, "b", vec![path.clone()]);
        options.input.columns = Some(vec!["id".to_owned(), "t".to_owned()]);
        options.rows.time_zone = Some(zone.to_owned());
        options.rows.rejects_max = 2;
        let report = server.load(&options).unwrap();
        db.sql(&format!("SET time_zone='{zone}'"));
        let unix = db.text("SELECT UNIX_TIMESTAMP(u) FROM b WHERE id=1");
        db.sql(&format!("SET timestamp={unix}"));
        let load = |db: &mut Db, row: &str| {
            let path = server.file(db, "row", row);
            let sql = format!("LOAD DATA INFILE '{}' INTO TABLE a (id, t)", path.display());
            u64::from(db.try_sql(&sql).is_ok())
        };
        // The second is too late for some zones and servers.
        let rows = input.lines().map(|row| load(&mut db, row)).sum::<u64>();
        db.sql("SET timestamp=DEFAULT");
        assert_eq!(report.rows, rows, "{zone}");
        same_rows(&mut db, "b", "a", &["PRIMARY"]);
    }
    let mut options = server.options(&db, "b", vec![path]);
    options.rows.time_zone = Some("Europe/Atlantis".to_owned());
    let error = server.load(&options).unwrap_err().to_string();
    assert!(error.contains("does not know the time zone Europe/Atlantis: "), "{error}");
}
