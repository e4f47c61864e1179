//! Tables of every type and feature as the catalog describes them.

use schema::{
    DefaultValue, Feature, Generated, KeyEnd, Partition, PartitionBound, PartitionMethod,
    RowFormat, Storage, Table, TableName,
};
use server::identifier::{digest, quote_text};
use server::{ConnectOptions, Error, ServerFacts, Session};
use testkit::{TestServer, TestServerOptions};
use values::{Charset, SqlType, TextType};

fn read(session: &mut Session, database: &str, table: &str) -> Table {
    catalog::read(session, &TableName::new(database, table)).unwrap()
}

fn text(charset: Charset, collation: &str) -> TextType {
    TextType { charset, collation: collation.to_owned() }
}

#[test]
fn literals_survive_quotes_and_backslashes() {
    assert_eq!(quote_text("it's \\ \0"), "'it''s \\\\ \\0'");
}

#[test]
fn the_digest_of_a_name_never_changes() {
    assert_eq!(digest(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(digest(b"foobar"), 0x8594_4171_f739_67e8);
}

#[test]
fn every_type_is_described() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    let latin1 = || text(Charset::Latin1, "latin1_swedish_ci");
    let uca = || text(Charset::Utf8mb4, "utf8mb4_uca1400_ai_ci");
    let cases = [
        ("TINYINT UNSIGNED", SqlType::Integer { bytes: 1, unsigned: true }),
        ("BOOL", SqlType::Integer { bytes: 1, unsigned: false }),
        ("SMALLINT ZEROFILL", SqlType::Integer { bytes: 2, unsigned: true }),
        ("MEDIUMINT", SqlType::Integer { bytes: 3, unsigned: false }),
        ("INT", SqlType::Integer { bytes: 4, unsigned: false }),
        ("BIGINT UNSIGNED", SqlType::Integer { bytes: 8, unsigned: true }),
        ("DECIMAL(65,30)", SqlType::Decimal { precision: 65, scale: 30, unsigned: false }),
        ("NUMERIC", SqlType::Decimal { precision: 10, scale: 0, unsigned: false }),
        ("FLOAT", SqlType::Float { unsigned: false, digits: None }),
        ("FLOAT(7,3) UNSIGNED", SqlType::Float { unsigned: true, digits: Some((7, 3)) }),
        ("DOUBLE", SqlType::Double { unsigned: false, digits: None }),
        ("DOUBLE(10,2)", SqlType::Double { unsigned: false, digits: Some((10, 2)) }),
        ("DATE", SqlType::Date),
        ("TIME", SqlType::Time { digits: 0 }),
        ("TIME(6)", SqlType::Time { digits: 6 }),
        ("DATETIME(3)", SqlType::DateTime { digits: 3 }),
        ("TIMESTAMP(2) NULL", SqlType::Timestamp { digits: 2 }),
        ("YEAR", SqlType::Year),
        ("BIT", SqlType::Bit { bits: 1 }),
        ("BIT(64)", SqlType::Bit { bits: 64 }),
        ("CHAR(0)", SqlType::Char { chars: 0, text: latin1() }),
        ("CHAR(5)", SqlType::Char { chars: 5, text: latin1() }),
        (
            "CHAR(5) CHARACTER SET ascii COLLATE ascii_bin",
            SqlType::Char { chars: 5, text: text(Charset::Ascii, "ascii_bin") },
        ),
        (
            "VARCHAR(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_ai_ci",
            SqlType::VarChar { chars: 300, text: uca() },
        ),
        (
            "VARCHAR(9) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin",
            SqlType::VarChar { chars: 9, text: text(Charset::Utf8mb3, "utf8mb3_bin") },
        ),
        ("BINARY(3)", SqlType::Binary { bytes: 3 }),
        ("CHAR(3) CHARACTER SET binary", SqlType::Binary { bytes: 3 }),
        ("VARBINARY(300)", SqlType::VarBinary { bytes: 300 }),
        ("TINYTEXT", SqlType::Text { bytes_max: 255, text: latin1() }),
        ("TEXT", SqlType::Text { bytes_max: 65_535, text: latin1() }),
        ("MEDIUMTEXT", SqlType::Text { bytes_max: 16_777_215, text: latin1() }),
        ("LONGTEXT", SqlType::Text { bytes_max: 4_294_967_295, text: latin1() }),
        ("TINYBLOB", SqlType::Blob { bytes_max: 255 }),
        ("LONGBLOB", SqlType::Blob { bytes_max: 4_294_967_295 }),
        ("JSON", SqlType::json()),
        ("UUID", SqlType::Uuid),
        ("INET4", SqlType::Inet4),
        ("INET6", SqlType::Inet6),
        (
            "ENUM('a','b''c','d,e','\\\\x','(y)','')",
            SqlType::Enum {
                labels: ["a", "b'c", "d,e", "\\x", "(y)", ""].map(str::to_owned).into(),
                text: latin1(),
            },
        ),
        (
            // Beyond U+FFFF, where information_schema says `?`; and a real `?`.
            "ENUM('\u{1f600}','what?','\u{fc}') CHARACTER SET utf8mb4 COLLATE \
             utf8mb4_uca1400_ai_ci",
            SqlType::Enum {
                labels: ["\u{1f600}", "what?", "\u{fc}"].map(str::to_owned).into(),
                text: uca(),
            },
        ),
        (
            "SET('x','y?','\u{1f600}') CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_ai_ci",
            SqlType::Set {
                labels: ["x", "y?", "\u{1f600}"].map(str::to_owned).into(),
                text: uca(),
            },
        ),
    ];
    let list: Vec<String> =
        cases.iter().enumerate().map(|(i, (sql, _))| format!("c{i} {sql}")).collect();
    session.exec(&format!("CREATE TABLE {database}.t ({})", list.join(", "))).unwrap();
    let table = read(&mut session, &database, "t");
    assert_eq!(table.features(), []);
    assert!(table.not_built().is_empty());
    assert_eq!(table.columns.len(), cases.len());
    for (column, (sql, want)) in table.columns.iter().zip(&cases) {
        assert_eq!(&column.sql_type, want, "{sql}");
        assert!(column.nullable && column.default == DefaultValue::Null, "{sql}");
    }
    assert_eq!(table.row_format, RowFormat::Dynamic);
}

#[test]
fn defaults_are_the_bytes_a_load_would_read() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    let constant = |bytes: &[u8]| DefaultValue::Constant(bytes.to_vec());
    let cases = [
        ("INT", DefaultValue::Null),
        ("INT NOT NULL", DefaultValue::None),
        ("INT DEFAULT -5", constant(b"-5")),
        ("INT DEFAULT NULL", DefaultValue::Null),
        ("DOUBLE DEFAULT 1.1e-7", constant(b"0.00000011")),
        ("FLOAT DEFAULT 0.1", constant(b"0.1")),
        ("FLOAT DEFAULT -123456", constant(b"-123456")),
        ("FLOAT NOT NULL DEFAULT 2.5", constant(b"2.5")),
        ("FLOAT(9,3) DEFAULT 1.5", constant(b"1.500")),
        ("DECIMAL(10,4) ZEROFILL DEFAULT 5", constant(b"000005.0000")),
        ("BOOL DEFAULT TRUE", constant(b"1")),
        ("BIT(10) DEFAULT b'100000101'", constant(&[1, 5])),
        ("VARCHAR(20) DEFAULT 'it''s \\\\ \\n?'", constant(b"it's \\ \n?")),
        ("VARCHAR(4) DEFAULT ''", constant(b"")),
        ("VARCHAR(4) DEFAULT 'NULL'", constant(b"NULL")),
        (
            "VARCHAR(9) CHARACTER SET utf8mb4 DEFAULT '\u{1f600}?'",
            constant("\u{1f600}?".as_bytes()),
        ),
        ("VARCHAR(9) CHARACTER SET latin1 DEFAULT '\u{fc}'", constant("\u{fc}".as_bytes())),
        ("VARBINARY(9) NOT NULL DEFAULT x'00ff3f27'", constant(&[0, 255, 0x3f, 0x27])),
        ("BINARY(3) DEFAULT 'a'", constant(b"a\0\0")),
        ("BLOB DEFAULT x'00ff'", constant(&[0, 255])),
        ("TEXT DEFAULT 'a''b'", constant(b"a'b")),
        ("DATE DEFAULT '2020-02-03'", constant(b"2020-02-03")),
        ("TIME(6) DEFAULT '-12:00:00'", constant(b"-12:00:00.000000")),
        ("TIMESTAMP DEFAULT '2020-01-01 10:00:00'", constant(b"2020-01-01 10:00:00")),
        ("YEAR DEFAULT 2020", constant(b"2020")),
        ("ENUM('p','q') NOT NULL", constant(b"p")),
        ("ENUM('p','q') DEFAULT 'q'", constant(b"q")),
        ("ENUM('p','q')", DefaultValue::Null),
        ("SET('x','y') DEFAULT 'x,y'", constant(b"x,y")),
        ("JSON DEFAULT '{}'", constant(b"{}")),
        ("INT DEFAULT (1 + 2)", DefaultValue::Expression("(1 + 2)".to_owned())),
        ("VARCHAR(40) DEFAULT UUID()", DefaultValue::Expression("uuid()".to_owned())),
        (
            "DATETIME NOT NULL DEFAULT NOW()",
            DefaultValue::Expression("current_timestamp()".to_owned()),
        ),
        (
            "BIGINT NOT NULL DEFAULT NEXTVAL(s)",
            DefaultValue::Expression(format!("nextval(`{database}`.`s`)")),
        ),
    ];
    session.exec(&format!("USE {database}")).unwrap();
    session.exec("CREATE SEQUENCE s").unwrap();
    let list: Vec<String> =
        cases.iter().enumerate().map(|(i, (sql, _))| format!("c{i} {sql}")).collect();
    session.exec(&format!("CREATE TABLE t ({})", list.join(", "))).unwrap();
    let table = read(&mut session, &database, "t");
    assert_eq!(table.features(), []);
    assert!(table.not_built().is_empty());
    for (column, (sql, want)) in table.columns.iter().zip(&cases) {
        assert_eq!(&column.default, want, "{sql}");
    }
    let next = session.query_text("SELECT NEXTVAL(s)").unwrap();
    assert_eq!(next.as_deref(), Some("1"), "reading the catalog drew a number");
    assert!(session.query("SHOW TABLES").unwrap().len() == 2, "the copy is gone");
}

#[test]
fn keys_counter_format_and_odd_names() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    session.exec(&format!("USE {database}")).unwrap();
    session
        .exec(
            "CREATE TABLE `a-b.c``d \u{fc}` (id BIGINT AUTO_INCREMENT, `x``y` VARCHAR(30), \
             hidden INT INVISIBLE DEFAULT 3, PRIMARY KEY (id), UNIQUE u (`x``y`, id), \
             KEY k (`x``y`(5) DESC)) AUTO_INCREMENT=77 ROW_FORMAT=COMPACT \
             COMMENT='PERIOD FOR CHECK'",
        )
        .unwrap();
    let table = read(&mut session, &database, "a-b.c`d \u{fc}");
    assert_eq!(table.features(), []);
    assert!(table.not_built().is_empty());
    assert_eq!(table.row_format, RowFormat::Compact);
    assert_eq!(table.auto_increment, Some(77));
    assert!(table.columns[0].auto_increment && !table.columns[0].nullable);
    let names: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["id", "x`y", "hidden"]);
    let invisible: Vec<bool> = table.columns.iter().map(|c| c.is_invisible).collect();
    assert_eq!(invisible, [false, false, true]);
    let key = table.index("k").unwrap();
    assert_eq!(
        (key.unique, key.columns[0].prefix, key.columns[0].descending),
        (false, Some(5), true)
    );
    assert!(table.index("u").unwrap().unique && table.index("PRIMARY").unwrap().unique);
    session.exec("CREATE TABLE Case_x (a INT)").unwrap();
    let wrong_case = catalog::read(&mut session, &TableName::new(database.as_str(), "case_X"));
    assert!(matches!(wrong_case, Err(Error::NoTable(_))));
    let name = TableName::new(database.as_str(), "Case_x");
    assert!(catalog::exists(&mut session, &name).unwrap());
    assert!(catalog::is_empty(&mut session, &name).unwrap());
    session.exec("INSERT INTO Case_x VALUES (NULL)").unwrap();
    assert!(!catalog::is_empty(&mut session, &name).unwrap());
}

#[test]
fn features_of_tables_are_refused_by_name() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    session.exec(&format!("USE {database}")).unwrap();
    for sql in [
        "CREATE TABLE parent (a INT PRIMARY KEY)",
        "CREATE TABLE child (a INT, FOREIGN KEY (a) REFERENCES parent (a))",
        "CREATE TABLE part (a INT PRIMARY KEY) PARTITION BY RANGE (a) SUBPARTITION BY HASH (a) \
         (PARTITION p VALUES LESS THAN MAXVALUE)",
        "CREATE TABLE virt (a INT, b INT AS (a + 1))",
        "CREATE TABLE stor (a INT, b INT AS (a + 1) STORED)",
        "CREATE TABLE chk (a INT, CONSTRAINT c CHECK (a > 1))",
        "CREATE TABLE chk_column (a INT CHECK (a > 1))",
        "CREATE TABLE chk_json (a LONGTEXT CHECK (JSON_VALID(a)))",
        "CREATE TABLE trg (a INT)",
        "CREATE TRIGGER tr BEFORE INSERT ON trg FOR EACH ROW SET NEW.a = 1",
        "CREATE TABLE ft (a TEXT, FULLTEXT (a))",
        "CREATE TABLE sp (a POINT NOT NULL, SPATIAL INDEX (a))",
        "CREATE TABLE comp (a INT) ROW_FORMAT=COMPRESSED",
        "CREATE TABLE redu (a INT) ROW_FORMAT=REDUNDANT",
        "CREATE TABLE pagec (a INT) PAGE_COMPRESSED=1",
        "CREATE TABLE vers (a INT) WITH SYSTEM VERSIONING",
        "CREATE TABLE peri (s DATE, e DATE, PERIOD FOR p (s, e))",
        "CREATE TABLE overl (a INT, s DATE, e DATE, PERIOD FOR p (s, e), \
         UNIQUE (a, p WITHOUT OVERLAPS))",
        "CREATE TABLE colc (a VARCHAR(9) COMPRESSED)",
        "CREATE TABLE geo (a GEOMETRY)",
        "CREATE TABLE fltd (a INT, b FLOAT DEFAULT 1.5, c FLOAT DEFAULT 16777216)",
        "CREATE TABLE fltn (a FLOAT NOT NULL DEFAULT 0.1234567)",
        "CREATE TABLE mine (a INT) ENGINE=MyISAM",
        "CREATE TABLE longu (a BLOB UNIQUE)",
        "CREATE VIEW vie AS SELECT 1",
        "CREATE SEQUENCE seq",
        "SET GLOBAL mysql56_temporal_format=OFF",
        "CREATE TABLE old (a DATETIME)",
        "SET GLOBAL mysql56_temporal_format=ON",
    ] {
        session.exec(sql).unwrap();
    }
    let elsewhere = server.dir().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    session
        .exec(&format!("CREATE TABLE dird (a INT) DATA DIRECTORY='{}'", elsewhere.display()))
        .unwrap();
    for (table, features) in [
        ("part", &["partitions"][..]),
        ("virt", &["generated column"]),
        ("stor", &["generated column"]),
        ("chk", &["CHECK constraint"]),
        ("chk_column", &["CHECK constraint"]),
        ("chk_json", &["CHECK constraint"]),
        ("trg", &["trigger"]),
        ("ft", &["FULLTEXT index"]),
        ("sp", &["column type", "SPATIAL index"]),
        ("comp", &["ROW_FORMAT=COMPRESSED"]),
        ("redu", &["ROW_FORMAT=REDUNDANT"]),
        ("pagec", &["page compression"]),
        ("vers", &["system versioning"]),
        ("peri", &["application-time period"]),
        ("overl", &["application-time period", "WITHOUT OVERLAPS"]),
        ("colc", &["COMPRESSED column"]),
        ("geo", &["column type"]),
        ("fltd", &["FLOAT default of more than 6 digits"]),
        ("fltn", &["FLOAT default of more than 6 digits"]),
        ("mine", &["storage engine"]),
        ("longu", &["UNIQUE on a long column"]),
        ("vie", &["view"]),
        ("seq", &["sequence"]),
        ("old", &["mariadb-5.3 temporal format"]),
        ("dird", &["DATA DIRECTORY"]),
    ] {
        let described = read(&mut session, &database, table);
        let found: Vec<&str> = described.features().iter().map(Feature::name).collect();
        for feature in features {
            assert!(found.contains(feature), "{table}: {found:?}");
        }
        assert!(found.len() <= features.len() + 1, "{table}: {found:?}");
        assert!(!described.not_built().is_empty(), "{table}");
    }
    for table in ["parent", "child"] {
        assert!(read(&mut session, &database, table).not_built().is_empty(), "{table}");
    }
    // All columns are described nevertheless.
    let virt = read(&mut session, &database, "virt");
    let generated: Vec<_> = virt.columns.iter().map(|column| column.generated).collect();
    assert_eq!(generated, [None, Some(Generated::Virtual)]);
    let opaque = SqlType::Opaque { declared: "geometry".to_owned(), is_text: false };
    assert_eq!(read(&mut session, &database, "geo").columns[0].sql_type, opaque);
    let old = read(&mut session, &database, "old");
    assert_eq!(old.columns[0].sql_type, SqlType::DateTime { digits: 0 });
    assert!(matches!(old.columns[0].storage, Storage::OldTemporal(_)));
}

/// Words of features are those of before there were types.
#[test]
fn features_are_told_in_words_and_in_order() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    session.exec(&format!("USE {database}")).unwrap();
    for sql in [
        "CREATE TABLE parent (a INT PRIMARY KEY)",
        "CREATE TABLE much (a INT AUTO_INCREMENT PRIMARY KEY, b INT AS (a + 1), g POINT NOT NULL, \
         t TEXT, z VARCHAR(9) COMPRESSED, s DATE, e DATE, u BLOB UNIQUE, PERIOD FOR p (s, e), \
         UNIQUE k (a, p WITHOUT OVERLAPS), FULLTEXT f (t), SPATIAL sp (g), \
         CONSTRAINT c CHECK (s > '2000-01-01')) PAGE_COMPRESSED=1",
        "CREATE TABLE mine (a INT CHECK (a > 1)) ENGINE=MyISAM",
        "CREATE TRIGGER tr BEFORE INSERT ON mine FOR EACH ROW SET NEW.a = 2",
        "CREATE TABLE part (a INT PRIMARY KEY) PARTITION BY LINEAR HASH (a) PARTITIONS 2",
    ] {
        session.exec(sql).unwrap();
    }
    let words = |table: &Table| -> Vec<String> {
        table.features().iter().map(ToString::to_string).collect()
    };
    let much = read(&mut session, &database, "much");
    assert_eq!(
        words(&much),
        [
            "generated column (b)",
            "column type (column g: point)",
            "COMPRESSED column (column z: varchar(9) /*M!100301 COMPRESSED*/)",
            "page compression (page_compressed=1)",
            "application-time period (PERIOD FOR `p` (`s`, `e`))",
            "WITHOUT OVERLAPS (UNIQUE KEY `k` (`a`,`p` WITHOUT OVERLAPS))",
            "UNIQUE on a long column (index u)",
            "SPATIAL index (index sp)",
            "FULLTEXT index (index f)",
            // The period's own.
            "CHECK constraint (p: `s` < `e`)",
            "CHECK constraint (c: `s` > '2000-01-01')",
        ]
    );
    let mine = read(&mut session, &database, "mine");
    let expected = ["storage engine (MyISAM)", "trigger (tr)", "CHECK constraint (a: `a` > 1)"];
    assert_eq!(words(&mine), expected);
    let part = read(&mut session, &database, "part");
    assert_eq!(words(&part), ["partitions (partitioned table)"]);
    assert!(part.not_built().is_empty());
    let by = part.partitioning.unwrap();
    assert_eq!((by.method, by.is_linear), (Some(PartitionMethod::Hash), true));
    assert_eq!((by.expression.as_str(), by.partitions.len()), ("`a`", 2));
    let list = "CREATE TABLE list (a INT, b DATE) PARTITION BY LIST COLUMNS (a, b) (PARTITION p VALUES IN \
                ((1, '2010-01-01'), (2, NULL)), PARTITION d DEFAULT)";
    session.exec(list).unwrap();
    let by = read(&mut session, &database, "list").partitioning.unwrap();
    assert_eq!((by.method, by.by_columns), (Some(PartitionMethod::List), true));
    let partition = |name: &str, bound| Partition { name: name.to_owned(), bound };
    let values = PartitionBound::Values("(1,'2010-01-01'),(2,NULL)".to_owned());
    let expected = [partition("p", values), partition("d", PartitionBound::Default)];
    assert_eq!((by.partitions.as_slice(), by.oddity), (&expected[..], None));
}

#[test]
fn foreign_keys_say_which_tables_they_join() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    session.exec(&format!("USE {database}")).unwrap();
    for sql in [
        "CREATE TABLE `p x` (a INT PRIMARY KEY, b INT, CONSTRAINT own FOREIGN KEY (b) \
         REFERENCES `p x` (a))",
        "CREATE TABLE `k.\u{f6}` (a INT, CONSTRAINT far FOREIGN KEY (a) REFERENCES `p x` (a))",
    ] {
        session.exec(sql).unwrap();
    }
    let user = format!("k_{database}");
    for sql in [
        format!("CREATE USER {user} IDENTIFIED BY 'pw'"),
        format!("GRANT ALL PRIVILEGES ON {database}.* TO {user}"),
    ] {
        session.exec(&sql).unwrap();
    }
    let mut options = server.options();
    (options.user, options.password) = (Some(user), Some("pw".into()));
    // The dictionary, and what an account without PROCESS may see.
    for (mut session, prefix) in
        [(session, format!("{database}/")), (Session::connect(&options).unwrap(), String::new())]
    {
        let (parent, child) = ("p x", "k.\u{f6}");
        let described = read(&mut session, &database, parent);
        assert!(described.refers_to_itself());
        let mut keys = described.foreign_keys;
        keys.sort_by(|a, b| a.name.cmp(&b.name));
        let seen: Vec<_> = keys.iter().map(|key| (key.to_string(), key.end)).collect();
        let far = format!("{prefix}far");
        let refers = format!("{far} refers to this table");
        assert_eq!(seen, [(refers, KeyEnd::Parent), (format!("{prefix}own"), KeyEnd::Both)]);
        let others: Vec<_> = keys.into_iter().map(|key| key.other.unwrap().table).collect();
        assert_eq!(others, [child, parent]);
        let described = read(&mut session, &database, child);
        assert!(!described.refers_to_itself());
        let key = &described.foreign_keys[0];
        assert_eq!((key.to_string(), key.end), (far, KeyEnd::Child));
        assert_eq!(key.other, Some(TableName::new(database.as_str(), parent)));
    }
}

#[test]
fn the_server_states_why_it_is_unfit() {
    let options = TestServerOptions {
        extra: ["--log-bin=b", "--read-only=1", "--innodb-file-per-table=0", "--server-id=1"]
            .map(str::to_owned)
            .into(),
        ..TestServerOptions::default()
    };
    let Some(server) = TestServer::start_with(&options) else { return };
    let mut session = server.connect().unwrap();
    session.exec("CREATE USER bob IDENTIFIED VIA mysql_native_password USING ''").unwrap();
    session.exec("GRANT SELECT ON mysql.* TO bob").unwrap();
    session.exec("SET GLOBAL innodb_compression_default=1").unwrap();
    let features = |session: &mut Session| {
        let facts = ServerFacts::read(session).unwrap();
        facts.unsupported("mysql").iter().map(|u| u.name()).collect::<Vec<_>>()
    };
    assert_eq!(
        features(&mut session),
        ["binary log", "read-only server", "shared tablespace", "page compression"]
    );
    let mut options = server.options();
    options.user = Some("bob".to_owned());
    let mut bob = Session::connect(&options).unwrap();
    assert!(features(&mut bob).contains(&"privileges"));
}

#[test]
fn a_usual_server_is_fit_and_its_folder_is_found() {
    let Some(server) = TestServer::shared() else { return };
    let mut session = server.connect().unwrap();
    session.exec("CREATE DATABASE IF NOT EXISTS `odd-\u{fc}`").unwrap();
    let facts = ServerFacts::read(&mut session).unwrap();
    assert_eq!(facts.unsupported("odd-\u{fc}"), []);
    let found = facts.database_dir(&mut session, "odd-\u{fc}").unwrap().unwrap();
    assert!(found.path.join("db.opt").exists(), "{found:?}");
    let missing = facts.database_dir(&mut session, "nowhere").unwrap().unwrap_err();
    assert_eq!(missing.name(), "data directory");
}

#[test]
fn json_is_known_in_another_character_set_and_under_another_collation() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    let json = |charset, collation| SqlType::Json(text(charset, collation));
    let make = "LONGTEXT CHECK (JSON_VALID(j))";
    for (declared, options, then, want) in [
        ("JSON", "CHARSET=utf8mb4", "FORCE", SqlType::json()),
        (
            "JSON",
            "CHARSET=utf8mb4",
            "CONVERT TO CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci",
            json(Charset::Utf8mb3, "utf8mb3_general_ci"),
        ),
        (
            make,
            "CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci",
            "FORCE",
            json(Charset::Utf8mb4, "utf8mb4_unicode_ci"),
        ),
    ] {
        session
            .exec(&format!("CREATE OR REPLACE TABLE {database}.j (j {declared}) {options}"))
            .unwrap();
        session.exec(&format!("ALTER TABLE {database}.j {then}")).unwrap();
        let table = read(&mut session, &database, "j");
        assert_eq!(table.columns[0].sql_type, want, "{declared} {options} {then}");
        assert_eq!(table.features(), [], "{declared} {options} {then}");
    }
    // What is looked at are bytes of UTF-8, as far as a LONGTEXT goes.
    for declared in ["LONGTEXT CHARACTER SET latin1", "TEXT CHARACTER SET utf8mb4"] {
        let table = format!("{database}.j");
        let check = "CHECK (JSON_VALID(j))";
        session.exec(&format!("CREATE OR REPLACE TABLE {table} (j {declared} {check})")).unwrap();
        let table = read(&mut session, &database, "j");
        assert_eq!(table.checks.len(), 1, "{declared}");
    }
}

/// Answers about many tables at once equal those about one.
#[test]
fn foreign_keys_of_many_tables_are_those_of_each() {
    let Some(server) = TestServer::shared() else { return };
    let (database, other) = (server.database().unwrap(), server.database().unwrap());
    let mut session = server.connect().unwrap();
    let make = format!(
        "CREATE TABLE {database}.p (a INT PRIMARY KEY); \
         CREATE TABLE {database}.P (a INT PRIMARY KEY, FOREIGN KEY (a) REFERENCES p (a)); \
         CREATE TABLE {database}.`k-\u{e4}` (a INT PRIMARY KEY, b INT, FOREIGN KEY (b) REFERENCES `k-\u{e4}` (a), \
         FOREIGN KEY (a) REFERENCES p (a)); \
         CREATE TABLE {other}.c (a INT PRIMARY KEY, FOREIGN KEY (a) REFERENCES {database}.`k-\u{e4}` (a)); \
         CREATE TABLE {database}.free (a INT PRIMARY KEY)"
    );
    server.script(&make).unwrap();
    let names = ["p", "P", "k-\u{e4}", "free", "nowhere"];
    let names = names.map(|name| TableName::new(database.as_str(), name));
    let narrow = format!(
        "CREATE USER {database}@localhost; GRANT SELECT, REFERENCES ON {database}.* TO {database}@localhost"
    );
    server.script(&narrow).unwrap();
    let options = ConnectOptions { user: Some(database.clone()), ..session.options().clone() };
    let mut narrow = Session::connect(&options).unwrap();
    for session in [&mut session, &mut narrow] {
        let all = catalog::foreign_keys_of(session, &names).unwrap();
        for (at, name) in names.iter().enumerate() {
            let keys = catalog::foreign_keys(session, name).unwrap();
            assert_eq!(all[name], keys, "{name}");
            assert_eq!(keys.is_empty(), at > 2, "{name}: {keys:?}");
        }
    }
}

#[test]
fn a_table_of_many_is_what_it_is_alone() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database().unwrap();
    let mut session = server.connect().unwrap();
    // More than a question names, the last of them by a question of its own.
    let plain: Vec<String> = (0..59).map(|number| format!("n{number:02}")).collect();
    let mut make: String =
        plain.iter().map(|table| format!("CREATE TABLE {table} (a INT); ")).collect();
    make += "CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(9) DEFAULT 'x', j JSON, \
             KEY k (b(3), a DESC), CHECK (b <> 'q')); \
             CREATE TABLE T (b BIT(3), a INT REFERENCES t (a)) ENGINE=InnoDB; \
             CREATE TRIGGER g BEFORE INSERT ON T FOR EACH ROW SET NEW.a=1; \
             CREATE TABLE `k-\u{e4}'` (a INT) ENGINE=MyISAM; \
             CREATE TABLE parts (a INT) PARTITION BY HASH (a) PARTITIONS 3; \
             CREATE VIEW v AS SELECT a FROM t; CREATE TABLE z (a INT)";
    server.script(&format!("USE {database}; {make}")).unwrap();
    let named = ["t", "T", "k-\u{e4}'", "parts", "v", "z"].map(str::to_owned);
    let names = plain.into_iter().chain(named);
    let names: Vec<TableName> =
        names.map(|table| TableName::new(database.as_str(), table)).collect();
    let mut asked = catalog::CatalogCache::default();
    asked.define(&mut session, &names.iter().collect::<Vec<_>>()).unwrap();
    let nowhere = TableName::new(database.as_str(), "nowhere");
    let error = asked.define(&mut session, &[&names[0], &nowhere, &names[1]]).unwrap_err();
    assert_eq!(error.errno(), Some(1146), "{error}");
    asked.ask(&mut session).unwrap();
    for name in &names {
        let alone = format!("{:?}", catalog::read(&mut session, name).unwrap());
        let among = catalog::read_among(&mut session, name, &asked).unwrap();
        assert_eq!(format!("{among:?}"), alone, "{name}");
    }
    // What was altered since is asked about again.
    session.exec(&format!("ALTER TABLE {database}.z ADD COLUMN b INT")).unwrap();
    let mut confirmed = asked.clone();
    confirmed.confirm(&mut session).unwrap();
    let z = catalog::read_among(&mut session, &names[64], &confirmed).unwrap();
    assert_eq!(z.columns.len(), 2);
    let z = catalog::read_among(&mut session, &names[64], &asked).unwrap();
    assert_eq!(z.columns.len(), 2);
}
