//! Where rows land: tables of every shape and engine hold after a load by statements what they
//! hold after LOAD DATA, and stay what they were but for their rows.

use load::{LoadOptions, LoadPath, Mode};
use server::ConnectOptions;

use testkit::tables::server::{Db, Server};

const PATHS: [LoadPath; 2] = [LoadPath::Stream, LoadPath::Insert];

/// A table `t`, what goes with it, and the input's lines.
struct Shape {
    what: &'static str,
    /// The first makes `{t}`, the others what refers to it.
    sql: &'static [&'static str],
    line: fn(u64) -> String,
    /// True if rows go straight into the table.
    whole: bool,
}

const SHAPES: [Shape; 13] = [
    Shape {
        what: "generated, invisible and checked columns",
        sql: &[
            "CREATE TABLE {t} (a INT PRIMARY KEY, b INT, v INT AS (a + b) VIRTUAL, s INT AS (a * 2) \
               STORED, i INT INVISIBLE DEFAULT 7, KEY v (v), KEY s (s), CHECK (b < 1000))",
        ],
        line: |n| format!("{n}\t{}\t\\N\t\\N", n % 100),
        whole: false,
    },
    Shape {
        what: "partitions",
        sql: &[
            "CREATE TABLE {t} (a INT PRIMARY KEY, b INT, KEY b (b)) PARTITION BY HASH (a) PARTITIONS 5",
        ],
        line: |n| format!("{n}\t{}", n % 100),
        whole: false,
    },
    Shape {
        what: "words and places",
        sql: &[
            "CREATE TABLE {t} (a INT PRIMARY KEY, b TEXT, c TEXT, FULLTEXT f (b), FULLTEXT g (c), KEY h (a))",
        ],
        line: |n| format!("{n}\tword{} here\tother{n}", n % 50),
        whole: false,
    },
    Shape {
        what: "an AUTO_INCREMENT column in a key of its own",
        sql: &[
            "CREATE TABLE {t} (a INT, n INT NOT NULL AUTO_INCREMENT, KEY a (a), KEY n (n)) AUTO_INCREMENT=500",
        ],
        line: |n| format!("{n}\t{}", n + 1),
        whole: false,
    },
    Shape {
        what: "MyISAM",
        sql: &["CREATE TABLE {t} (a INT PRIMARY KEY, b VARCHAR(20), KEY b (b)) ENGINE=MyISAM"],
        line: |n| format!("{n}\tx{}", n % 100),
        whole: false,
    },
    Shape {
        what: "Aria",
        sql: &["CREATE TABLE {t} (a INT PRIMARY KEY, b VARCHAR(20), KEY b (b)) ENGINE=Aria"],
        line: |n| format!("{n}\tx{}", n % 100),
        whole: false,
    },
    Shape {
        what: "MEMORY",
        sql: &["CREATE TABLE {t} (a INT PRIMARY KEY, b VARCHAR(20), KEY b (b)) ENGINE=MEMORY"],
        line: |n| format!("{n}\tx{}", n % 100),
        whole: false,
    },
    Shape {
        what: "page compression",
        sql: &["CREATE TABLE {t} (a INT PRIMARY KEY, b VARCHAR(20), KEY b (b)) PAGE_COMPRESSED=1"],
        line: |n| format!("{n}\tx{}", n % 100),
        whole: false,
    },
    Shape {
        what: "compressed pages",
        sql: &[
            "CREATE TABLE {t} (a INT PRIMARY KEY, b VARCHAR(20), KEY b (b)) ROW_FORMAT=COMPRESSED",
        ],
        line: |n| format!("{n}\tx{}", n % 100),
        whole: false,
    },
    Shape {
        what: "a foreign key of its own",
        sql: &[
            "CREATE TABLE {t} (a INT PRIMARY KEY, b INT, KEY b (b), CONSTRAINT {t}_f FOREIGN KEY (b) REFERENCES parent (a))",
        ],
        line: |n| format!("{n}\t{}", n % 10),
        whole: true,
    },
    Shape {
        what: "a table that refers to it",
        sql: &[
            "CREATE TABLE {t} (a INT PRIMARY KEY, b INT)",
            "CREATE TABLE {t}_child (a INT, CONSTRAINT {t}_c FOREIGN KEY (a) REFERENCES {t} (a))",
        ],
        line: |n| format!("{n}\t{}", n % 10),
        whole: true,
    },
    Shape {
        what: "a trigger",
        sql: &[
            "CREATE TABLE {t} (a INT PRIMARY KEY, b INT)",
            "CREATE TRIGGER {t}_g BEFORE INSERT ON {t} FOR EACH ROW SET NEW.b = NEW.b + NEW.a",
        ],
        line: |n| format!("{n}\t{}", n % 10),
        whole: true,
    },
    Shape {
        what: "history",
        sql: &[
            "CREATE TABLE {t} (a INT PRIMARY KEY, b INT, KEY b (b)) WITH SYSTEM VERSIONING",
            "INSERT INTO {t} VALUES (1, 1)",
            "DELETE FROM {t}",
        ],
        line: |n| format!("{n}\t{}", n % 10),
        whole: true,
    },
];

const ROWS: u64 = 3000;

fn make(db: &mut Db, shape: &Shape, table: &str) {
    for sql in shape.sql {
        db.sql(&sql.replace("{t}", table));
    }
}

fn options(server: &Server, db: &Db, path: LoadPath, shape: &Shape) -> LoadOptions {
    let text: String = (0..ROWS).map(|n| (shape.line)(n) + "\n").collect();
    let mut options = server.options(db, "t", vec![server.file(db, "input", text)]);
    options.path = path;
    options
}

fn definition(db: &mut Db, table: &str) -> String {
    let rows = db.rows(&format!("SHOW CREATE TABLE {table}"));
    let text = rows[0].text_lossy(1).replace(table, "T");
    let (head, tail) = text.split_once(" AUTO_INCREMENT=").unwrap_or((&text, ""));
    format!("{head}{}", tail.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn same(a: &server::Row, b: &server::Row) -> bool {
    a.len() == b.len() && (0..a.len()).all(|column| a.bytes(column) == b.bytes(column))
}

#[test]
fn a_table_of_any_shape_gets_the_rows_of_load_data_and_stays_what_it_was() {
    let Some(server) = Server::get() else { return };
    for shape in &SHAPES {
        for path in PATHS {
            let mut db = server.database();
            db.sql("CREATE TABLE parent (a INT PRIMARY KEY)");
            db.sql("INSERT INTO parent SELECT seq FROM seq_0_to_9");
            make(&mut db, shape, "t");
            make(&mut db, shape, "theirs");
            let (before, tables) = (definition(&mut db, "t"), db.tables());
            let options = options(&server, &db, path, shape);
            let report = server.load(&options).unwrap_or_else(|e| panic!("{}: {e}", shape.what));
            assert_eq!((report.rows, report.path), (ROWS, path.name()), "{}", shape.what);
            db.sql(&format!(
                "LOAD DATA INFILE '{}' INTO TABLE theirs",
                options.input.files[0].display()
            ));
            let rows =
                |db: &mut Db, table: &str| db.rows(&format!("SELECT * FROM {table} ORDER BY a"));
            let (ours, theirs) = (rows(&mut db, "t"), rows(&mut db, "theirs"));
            assert_eq!(ours.len(), theirs.len(), "{} {path:?}", shape.what);
            let other = ours.iter().zip(&theirs).find(|(ours, theirs)| !same(ours, theirs));
            assert!(other.is_none(), "{} {path:?}: {other:?}", shape.what);
            assert_eq!(definition(&mut db, "t"), before, "{}", shape.what);
            assert_eq!(db.tables(), tables, "{}", shape.what);
            assert_eq!(db.text("CHECK TABLE t"), format!("{}.t", db.name));
            let destination = report.logical.as_ref().unwrap().destination;
            assert_eq!(destination == "transaction", shape.whole, "{} {destination}", shape.what);
        }
    }
}

#[test]
fn replacing_rows_keeps_history_and_spares_the_rows_of_others() {
    let Some(server) = Server::get() else { return };
    let history = SHAPES.iter().find(|shape| shape.what == "history").unwrap();
    let mut db = server.database();
    make(&mut db, history, "t");
    db.sql("INSERT INTO t VALUES (99999, 1)");
    let mut options = options(&server, &db, LoadPath::Stream, history);
    options.mode = Mode::Replace;
    server.load(&options).unwrap();
    assert_eq!(db.number("SELECT COUNT(*) FROM t"), ROWS);
    assert_eq!(db.number("SELECT COUNT(*) FROM t FOR SYSTEM_TIME ALL WHERE a IN (1, 99999)"), 3);

    let mut db = server.database();
    db.sql("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    db.sql("CREATE TABLE child (a INT, FOREIGN KEY f (a) REFERENCES t (a) ON DELETE CASCADE)");
    db.sql("INSERT INTO t VALUES (1, 1)");
    db.sql("INSERT INTO child VALUES (1)");
    let mut options = self::options(&server, &db, LoadPath::Stream, history);
    options.mode = Mode::Replace;
    let error = server.load(&options).unwrap_err().to_string();
    assert!(error.contains("child by f (ON DELETE CASCADE)"), "{error}");
    assert_eq!(db.number("SELECT COUNT(*) FROM child"), 1);
}

#[test]
fn a_row_that_refers_to_nothing_is_refused_and_nothing_is_in() {
    let Some(server) = Server::get() else { return };
    for path in PATHS {
        let mut db = server.database();
        db.sql("CREATE TABLE parent (a INT PRIMARY KEY)");
        db.sql("INSERT INTO parent VALUES (1), (2)");
        db.sql(
            "CREATE TABLE t (a INT PRIMARY KEY, b INT, FOREIGN KEY f (b) REFERENCES parent (a))",
        );
        let text: String =
            (0..500).map(|n| format!("{n}\t{}\n", if n == 250 { 7 } else { 1 })).collect();
        let mut options = server.options(&db, "t", vec![server.file(&db, "input", text)]);
        options.path = path;
        let error = server.load(&options).unwrap_err().to_string();
        assert!(error.contains("line 251") && error.contains("foreign key"), "{error}");
        assert_eq!(db.number("SELECT COUNT(*) FROM t"), 0);
        options.rows.rejects_max = 1;
        let report = server.load(&options).unwrap();
        assert_eq!((report.rows, report.rejects), (499, 1));
        assert_eq!(db.tables(), ["parent", "t"]);
    }
}

#[test]
fn what_cannot_be_taken_back_is_refused_by_name() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    for (sql, mode, reason) in [
        ("CREATE VIEW t AS SELECT 1 AS a", Mode::Insert, "view"),
        ("CREATE SEQUENCE t", Mode::Insert, "sequence"),
        ("CREATE TABLE t (a INT) ENGINE=MyISAM", Mode::Append, "MyISAM has no transactions"),
        ("CREATE TABLE t (a INT) ENGINE=MERGE", Mode::Insert, "no transactions"),
    ] {
        db.sql(sql);
        let mut options = server.options(&db, "t", vec![server.file(&db, "input", "1\n")]);
        options.path = LoadPath::Stream;
        options.mode = mode;
        let error = server.load(&options).unwrap_err().to_string();
        assert!(error.contains(reason), "{sql}: {error}");
        let kind = sql.split(' ').nth(1).unwrap();
        db.sql(&format!("DROP {kind} t"));
    }
}

#[test]
fn an_account_that_may_only_insert_loads_in_one_transaction() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let user = format!("modest_{}", db.name);
    db.sql("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20), KEY b (b))");
    db.sql(&format!("CREATE USER {user} IDENTIFIED BY 'pw-7130'"));
    db.sql(&format!("GRANT SELECT ON {}.t TO {user}", db.name));
    let connect = ConnectOptions {
        user: Some(user.clone()),
        password: Some("pw-7130".into()),
        ..server.connect_options()
    };
    let text: String = (0..500).map(|n| format!("{n}\tx{n}\n")).collect();
    for path in PATHS {
        let mut options = server.options(&db, "t", vec![server.file(&db, "input", &text)]);
        options.path = path;
        db.sql(&format!("REVOKE ALL PRIVILEGES, GRANT OPTION FROM {user}"));
        db.sql(&format!("GRANT SELECT ON {}.t TO {user}", db.name));
        let error = load::load(&connect, &options, None, &()).unwrap_err().to_string();
        let grant = format!("GRANT INSERT ON `{}`.`t` TO `{user}`@`%`", db.name);
        assert!(error.contains(&grant), "{error}");
        db.sql(&grant);
        let report = load::load(&connect, &options, None, &()).unwrap();
        assert_eq!((report.rows, report.logical.unwrap().destination), (500, "transaction"));
        options.mode = Mode::Replace;
        let error = load::load(&connect, &options, None, &()).unwrap_err().to_string();
        assert!(error.contains(&grant.replace("INSERT", "DELETE")), "{error}");
        assert_eq!(db.number("SELECT COUNT(*) FROM t"), 500);
        // As the report of the load had it.
        for grant in [
            format!(
                "GRANT CREATE, ALTER, DROP, SELECT, INSERT, LOCK TABLES ON {}.* TO {user}",
                db.name
            ),
            format!("GRANT PROCESS ON *.* TO {user}"),
        ] {
            db.sql(&grant);
        }
        let report = load::load(&connect, &options, None, &()).unwrap();
        assert_eq!((report.rows, report.logical.unwrap().destination), (500, "staging"));
        db.sql("DELETE FROM t");
        assert_eq!(db.tables(), ["t"]);
    }
    db.sql(&format!("DROP USER {user}"));
}

#[test]
fn a_table_placed_elsewhere_stays_there() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let folder = server.folder(&format!("{}-data", db.name));
    db.sql(&format!("CREATE TABLE t (a INT PRIMARY KEY) DATA DIRECTORY='{}'", folder.display()));
    let mut options = server.options(&db, "t", vec![server.file(&db, "input", "1\n2\n")]);
    options.path = LoadPath::Stream;
    let report = server.load(&options).unwrap();
    assert_eq!((report.rows, report.logical.unwrap().destination), (2, "transaction"));
    assert!(folder.join(&db.name).join("t.ibd").exists());
    assert_eq!(db.tables(), ["t"]);
}

/// LOAD DATA reserves numbers of InnoDB in chunks that grow, and those of other engines one by one.
#[test]
fn numbers_go_on_where_they_do_behind_load_data() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let lines: String = (1..200).map(|n| format!("\\N\t{n}\n")).collect();
    let file = server.file(&db, "lines", format!("\\N\t\\N\n{lines}"));
    db.sql("CREATE TABLE seen (n INT)");
    db.sql("CREATE TABLE p (n INT PRIMARY KEY) ENGINE=InnoDB");
    db.sql("INSERT INTO p SELECT seq FROM seq_1_to_200");
    let trigger =
        "CREATE TRIGGER of_{t} AFTER INSERT ON {t} FOR EACH ROW INSERT INTO seen VALUES (NEW.a)";
    for (engine, more) in [
        ("InnoDB", None),
        ("InnoDB", Some(trigger)),
        // Of each of these rows go into the table itself.
        ("InnoDB", Some("ALTER TABLE {t} ADD FOREIGN KEY (b) REFERENCES p (n)")),
        ("InnoDB", Some("ALTER TABLE {t} ADD FOREIGN KEY (b) REFERENCES {t} (a)")),
        (
            "InnoDB",
            Some("CREATE TABLE of_{t} (n INT, FOREIGN KEY (n) REFERENCES {t} (a)) ENGINE=InnoDB"),
        ),
        ("MyISAM", None),
        ("Aria", None),
        ("MEMORY", None),
    ] {
        db.sql("DROP TABLE IF EXISTS of_theirs, of_ours, theirs, ours");
        for table in ["theirs", "ours"] {
            let columns = "a INT AUTO_INCREMENT PRIMARY KEY, b INT";
            db.sql(&format!("CREATE TABLE {table} ({columns}) ENGINE={engine}"));
            if let Some(more) = more {
                db.sql(&more.replace("{t}", table));
            }
        }
        db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE theirs", file.display()));
        let mut options = server.options(&db, "ours", vec![file.clone()]);
        options.path = LoadPath::Stream;
        server.load(&options).unwrap();
        let mut next = |table: &str| {
            db.number(&format!(
                "SELECT AUTO_INCREMENT FROM information_schema.TABLES \
                 WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME='{table}'"
            ))
        };
        assert_eq!(next("ours"), next("theirs"), "{engine}, {more:?}");
    }
}
