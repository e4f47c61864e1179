//! Inputs and targets: several files, headers, column lists, modes.

use load::{Error, Mode};
use sources::{Dialect, FileSource, SourceOptions};

use testkit::tables::compare::same_rows;
use testkit::tables::server::{Db, Server};

const TABLE: &str = "CREATE TABLE b (
    id INT NOT NULL, `two words` VARCHAR(20) DEFAULT 'd\u{e9}f', `select` DECIMAL(6,2) NOT NULL DEFAULT 1.5,
    at TIMESTAMP NULL, e ENUM('x','y') NOT NULL, PRIMARY KEY (id), KEY (`two words`, at))
    ENGINE=InnoDB DEFAULT CHARSET=latin1";

/// All rows as one text.
fn rows(db: &mut Db) -> String {
    db.text(
        "SELECT COALESCE(GROUP_CONCAT(CONCAT_WS(':', id, HEX(`two words`), `select`, at, e) \
         ORDER BY id SEPARATOR ' '), '') FROM b",
    )
}

#[test]
fn files_are_one_after_the_other_and_each_has_its_header() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql(TABLE);
    let paths = vec![
        server.file(&db, "1.csv", "E,ID,Two Words\r\ny,3,c\r\nx,1,\"a\r\n\"\r\n"),
        server.file(&db, "2.csv", "E,ID,Two Words\n"),
        server.file(&db, "3.csv", "E,ID,Two Words\nx,2,NULL"),
    ];
    let mut options = server.options(&db, "b", paths);
    options.input.dialect = Dialect::csv();
    options.input.header = true;
    let report = server.load(&options).unwrap();
    assert_eq!((report.rows, report.sorted_input), (3, false));
    assert_eq!(rows(&mut db), "1:610D0A:1.50:x 2:1.50:x 3:63:1.50:y");
    // A file with other columns is not taken for one of these.
    options.input.files.push(server.file(&db, "4.csv", "id,e\n7,x\n"));
    options.mode = Mode::Replace;
    let error = server.load(&options).unwrap_err();
    assert!(error.to_string().contains("4.csv"), "{error}");
    assert_eq!(db.number("SELECT COUNT(*) FROM b"), 3);
}

#[test]
fn columns_that_are_left_out_get_their_default() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql(TABLE);
    db.sql(&TABLE.replace("TABLE b", "TABLE a"));
    let path = server.file(&db, "input", "skipped\n2\n1\n");
    let mut options = server.options(&db, "b", vec![path.clone()]);
    options.input.columns = Some(vec!["ID".to_owned()]);
    options.input.skip_lines = 1;
    server.load(&options).unwrap();
    db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE a IGNORE 1 LINES (id)", path.display()));
    same_rows(&mut db, "b", "a", &["PRIMARY", "two words"]);
    assert_eq!(rows(&mut db), "1:64E966:1.50:x 2:64E966:1.50:x");
}

#[test]
fn a_column_list_that_cannot_be_meant_is_an_error_before_anything_is_done() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql(&TABLE.replace("e ENUM", "u DATE NOT NULL, e ENUM"));
    let path = server.file(&db, "input", "id,u\n1,2024-01-01\n");
    let list = |names: &[&str]| Some(names.iter().map(|&name| name.to_owned()).collect());
    for (columns, reason) in [
        (list(&["id", "u", "nothing"]), "`nothing`"),
        (list(&["id", "u", "ID"]), "twice"),
        (list(&["id"]), "`u`"),
        (list(&["u"]), "`id`"),
    ] {
        let mut options = server.options(&db, "b", vec![path.clone()]);
        options.input.columns = columns;
        options.input.dialect = Dialect::csv();
        options.input.skip_lines = 1;
        let error = server.load(&options).unwrap_err();
        assert!(matches!(error, Error::Usage(_)), "{error}");
        assert_eq!(error.exit_status(), 2);
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(db.tables(), ["b"]);
    }
    // A default that is no constant is fine when the input has the column.
    db.sql("ALTER TABLE b MODIFY u VARCHAR(40) NOT NULL DEFAULT UUID()");
    let mut options = server.options(&db, "b", vec![path.clone()]);
    options.input.dialect = Dialect::csv();
    options.input.columns = list(&["id"]);
    options.input.skip_lines = 1;
    let error = server.load(&options).unwrap_err();
    assert!(error.to_string().to_lowercase().contains("uuid() can differ"), "{error}");
    options.input.columns = list(&["id", "u"]);
    assert_eq!(server.load(&options).unwrap().rows, 1);
    assert_eq!(db.text("SELECT u FROM b"), "2024-01-01");
}

#[test]
fn modes_say_what_becomes_of_the_rows_before() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let path = server.file(&db, "input", "1\ta\t1\t\\N\tx\n2\tb\t2\t\\N\ty\n");
    let mut options = server.options(&db, "b", vec![path]);
    // The table is made, and its database, if they are missing.
    assert!(server.load(&options).is_err());
    options.ddl = Some(format!("{TABLE};\n"));
    assert_eq!(server.load(&options).unwrap().rows, 2);
    let loaded = rows(&mut db);
    assert_eq!(loaded, "1:61:1.00:x 2:62:2.00:y");

    let error = server.load(&options).unwrap_err();
    assert!(matches!(error, Error::Unfit { .. }), "{error}");
    assert!(error.to_string().contains("not empty"), "{error}");
    assert_eq!(error.exit_status(), 2);
    assert_eq!(rows(&mut db), loaded);
    options.mode = Mode::Append;
    let error = server.load(&options).unwrap_err();
    assert!(matches!(error, Error::KeyTaken { .. }), "{error}");
    assert_eq!(error.exit_status(), 1);
    assert_eq!(rows(&mut db), loaded);
    db.sql("INSERT INTO b (id, e) VALUES (77, 1)");
    options.mode = Mode::Replace;
    assert_eq!(server.load(&options).unwrap().rows, 2);
    assert_eq!(rows(&mut db), loaded);
    assert_eq!(db.tables(), ["b"]);
    // Nothing to load replaces by nothing.
    options.input.files = vec![server.file(&db, "empty", "")];
    assert_eq!(server.load(&options).unwrap().rows, 0);
    assert_eq!(rows(&mut db), "");
    options.mode = Mode::Append;
    options.input.files = vec![server.file(&db, "input", "5\ta\t1\t\\N\tx\n")];
    assert_eq!(server.load(&options).unwrap().rows, 1);
}

/// Comments, options and grants of a table stay; rows of other tables are not touched.
#[test]
fn comments_options_and_grants_stay() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql(
        "CREATE TABLE b (id INT COMMENT 'the id' PRIMARY KEY, v INT INVISIBLE, KEY k (v) COMMENT 'key') \
         ENGINE=InnoDB COMMENT='of all' STATS_PERSISTENT=1 STATS_AUTO_RECALC=0 CHARSET=utf8mb4",
    );
    let user = format!("'reader_{}'@'localhost'", db.name);
    db.sql(&format!("CREATE USER {user}"));
    db.sql(&format!("GRANT SELECT (id) ON b TO {user}"));
    let created = db.rows("SHOW CREATE TABLE b")[0].text_lossy(1);
    let grants = |db: &mut Db| -> Vec<String> {
        db.rows(&format!("SHOW GRANTS FOR {user}")).iter().map(|row| row.text_lossy(0)).collect()
    };
    let granted = grants(&mut db);
    let path = server.file(&db, "input", "1\t10\n2\t20\n");
    let mut options = server.options(&db, "b", vec![path]);
    options.input.columns = Some(vec!["id".to_owned(), "v".to_owned()]);
    server.load(&options).unwrap();
    options.mode = Mode::Replace;
    server.load(&options).unwrap();
    assert_eq!(db.rows("SHOW CREATE TABLE b")[0].text_lossy(1), created);
    assert_eq!(grants(&mut db), granted);
    assert_eq!(db.text("SELECT GROUP_CONCAT(id, v ORDER BY v) FROM b"), "110,220");
    db.sql(&format!("DROP USER {user}"));
}

/// Names that need quotes in SQL, and other letters in file names.
#[test]
fn odd_names_are_names() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let database = format!("{}-\u{e9} `x", db.name);
    let quoted = server::identifier::quote_name(&database);
    db.sql(&format!("CREATE DATABASE {quoted}"));
    db.sql(&format!("USE {quoted}"));
    for (number, table) in
        ["a/b.c", "sel`ect", "\u{4e2d} \u{d6}", "#sql", "t'\"\\", "UPPER"].iter().enumerate()
    {
        let name = server::identifier::quote_name(table);
        db.sql(&format!(
            "CREATE TABLE {name} (`i d` INT PRIMARY KEY, `k``\u{e9}` CHAR(5) UNIQUE, KEY `a key` (`k``\u{e9}`(2)))"
        ));
        let path = server.file(&db, "input", "k`\u{e9},i d\nx,2\ny,1\n");
        let mut options = server.options(&db, table, vec![path]);
        options.database.clone_from(&database);
        options.input.dialect = Dialect::csv();
        options.input.header = true;
        let report = server.load(&options).unwrap_or_else(|error| panic!("{table}: {error}"));
        assert_eq!(report.rows, 2);
        assert_eq!(db.text(&format!("CHECK TABLE {name} EXTENDED")), format!("{database}.{table}"));
        assert_eq!(db.number(&format!("SELECT COUNT(*) FROM {name}")), 2);
        assert_eq!(db.tables().len(), number + 1);
    }
    db.sql(&format!("DROP DATABASE {quoted}"));
}

/// Without a list the fields go to the visible columns, as with LOAD DATA.
#[test]
fn invisible_columns_are_left_out_unless_they_are_named() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE b (id INT PRIMARY KEY, i INT INVISIBLE DEFAULT 9, v INT) ENGINE=InnoDB");
    db.sql("CREATE TABLE a LIKE b");
    let path = server.file(&db, "input", "1\t2\n");
    let mut options = server.options(&db, "b", vec![path.clone()]);
    server.load(&options).unwrap();
    db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE a", path.display()));
    same_rows(&mut db, "b", "a", &["PRIMARY"]);
    options.mode = Mode::Replace;
    options.input.columns = Some(vec!["id".to_owned(), "i".to_owned()]);
    server.load(&options).unwrap();
    assert_eq!(db.text("SELECT CONCAT_WS(',', id, i, v) FROM b"), "1,2");
}

/// A gzip of the rows is the rows, counted as it is; in any order, so that it is read twice.
#[test]
fn compressed_input_is_the_same_rows() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    db.sql("CREATE TABLE b (id INT PRIMARY KEY, v VARCHAR(20), KEY (v))");
    db.sql("CREATE TABLE a LIKE b");
    let line = |n: u32| format!("{}\tvalue {n}\n", n * 7919 % 50_000);
    let text: String = (0..50_000).map(line).collect();
    let plain = server.file(&db, "plain", &text);
    db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE a", plain.display()));
    let packed = zstd(&text.as_bytes()[..300_000]);
    let packed = [packed, zstd(&text.as_bytes()[300_000..])].concat();
    let path = server.file(&db, "packed", &packed);
    let mut options = server.options(&db, "b", vec![path.clone()]);
    let report = server.load(&options).unwrap();
    assert_eq!(
        (report.rows, report.bytes, report.sorted_input),
        (50_000, packed.len() as u64, false)
    );
    same_rows(&mut db, "b", "a", &["PRIMARY", "v"]);
    // Cut short, it is no rows.
    options.mode = Mode::Replace;
    std::fs::write(&path, &packed[..packed.len() - 1]).unwrap();
    let error = server.load(&options).unwrap_err();
    assert!(error.to_string().contains("the zstd data is cut short"), "{error}");
    assert_eq!(error.exit_status(), 1);
    same_rows(&mut db, "b", "a", &["PRIMARY", "v"]);
    assert_eq!(db.tables(), ["a", "b"]);
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap()
}

#[test]
fn a_source_of_somebody_elses_loads_as_files_do() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let text: String = (0..5000).map(|id| format!("{},{id},t{id}\n", id % 7)).collect();
    let paths = [server.file(&db, "1.csv", format!("A,id,t\n{text}"))];
    let names = ["x", "y", "z"];
    for name in names {
        db.sql(&format!("CREATE TABLE {name} (id INT PRIMARY KEY, t TEXT, a INT)"));
    }
    let load = |name: &str| {
        // Plain files take no memory besides the chunks.
        let options = SourceOptions {
            header: true,
            chunk_bytes: 100,
            ahead_bytes: 0,
            unpack_bytes_max: 0,
            ..SourceOptions::default()
        };
        let source = FileSource::new(&paths, &Dialect::csv(), options).unwrap();
        // What these files are, only the source knows.
        let options = server.options(&db, name, Vec::new());
        load::load_from(&server.connect_options(), &options, Box::new(source), None, &()).unwrap()
    };
    // Several at once in one process.
    std::thread::scope(|scope| {
        let loads = names.map(|name| scope.spawn(move || load(name)));
        for load in loads {
            assert_eq!(load.join().unwrap().rows, 5000);
        }
    });
    for name in names {
        let found = db.text(&format!(
            "SELECT CONCAT_WS(' ', COUNT(*), SUM(a = id % 7), SUM(t = CONCAT('t', id))) FROM {name}"
        ));
        assert_eq!(found, "5000 5000 5000", "{name}");
    }
}
