//! The literals of a dump's INSERTs: a column that takes one as it takes a field of a file gets the
//! value that the server makes of it, and the server takes it too.
//!
//! Each literal goes by itself into one column of one row, by the server; then all that are plain
//! go into another table, as one INSERT, by each of our ways. Rows that we refuse are not compared:
//! the server judges them.

use load::{LoadPath, RowRules};
use sources::dump::{SqlOptions, SqlReader, run_reader};
use sources::{Batch, Chunk, FieldKind, Isa, MultiByte, ReadAs, Reader};
use sql::{Literals, Syntax, Tuples};

use testkit::Random;
use testkit::tables::server::{Db, Server};

/// Column types, and what a scan has to let through.
const COLUMNS: [(&str, Literals); 40] = [
    ("TINYINT", Literals::Whole),
    ("SMALLINT UNSIGNED", Literals::Whole),
    ("MEDIUMINT", Literals::Whole),
    ("INT", Literals::Whole),
    ("BIGINT", Literals::Whole),
    ("BIGINT UNSIGNED", Literals::Whole),
    ("BOOL", Literals::Whole),
    ("DECIMAL(10,2)", Literals::Exact),
    ("DECIMAL(65,30)", Literals::Exact),
    ("DECIMAL(20,0) UNSIGNED", Literals::Exact),
    ("FLOAT", Literals::Real),
    ("FLOAT(7,3)", Literals::Real),
    ("DOUBLE", Literals::Real),
    ("DOUBLE(12,4)", Literals::Real),
    ("DOUBLE UNSIGNED", Literals::Real),
    ("DATE", Literals::Strings),
    ("TIME(3)", Literals::Strings),
    ("DATETIME(6)", Literals::Strings),
    ("TIMESTAMP NULL", Literals::Strings),
    ("YEAR", Literals::Year),
    ("BIT(1)", Literals::Binary),
    ("BIT(20)", Literals::Binary),
    ("BIT(64)", Literals::Binary),
    ("ENUM('a','1','2020','','\u{e9}')", Literals::Strings),
    ("SET('a','1','b','2','\u{e9}')", Literals::Strings),
    ("CHAR(10) CHARACTER SET latin1", Literals::Text),
    ("CHAR(30) CHARACTER SET utf8mb4", Literals::Text),
    ("VARCHAR(40) CHARACTER SET utf8mb3", Literals::Text),
    ("VARCHAR(40) CHARACTER SET ucs2", Literals::Strings),
    ("VARCHAR(40) CHARACTER SET ascii", Literals::Text),
    ("TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", Literals::Text),
    ("LONGTEXT CHARACTER SET latin1", Literals::Text),
    ("BINARY(8)", Literals::Bytes),
    ("VARBINARY(40)", Literals::Bytes),
    ("BLOB", Literals::Bytes),
    ("TEXT CHARACTER SET binary", Literals::Bytes),
    ("JSON", Literals::Text),
    ("UUID", Literals::Strings),
    ("INET4", Literals::Strings),
    ("INET6", Literals::Strings),
];

/// Literals tried in every column.
const LITERALS: [&str; 121] = [
    "NULL",
    "null",
    "TRUE",
    "False",
    "0",
    "1",
    "-1",
    "+1",
    "5",
    "12",
    "69",
    "70",
    "99",
    "127",
    "128",
    "255",
    "256",
    "1901",
    "2020",
    "2155",
    "2156",
    "0000",
    "0001",
    "0070",
    "00",
    "007",
    "-0",
    "+0",
    "-007",
    "65535",
    "65536",
    "2147483648",
    "-2147483649",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999",
    "1.5",
    "2.5",
    "-1.5",
    "-2.5",
    "0.5",
    "-0.5",
    "0.49999",
    "1.005",
    "1.995",
    "1.50",
    ".5",
    "5.",
    "-.5",
    "0.0",
    "-0.0",
    "-00.011",
    "00.5",
    "1e1",
    "1E5",
    "1.5e0",
    "2.5e0",
    "1e-3",
    "1e308",
    "1e400",
    "1.7976931348623157e308",
    "3.4e38",
    "1.2345678901234567",
    "0.1",
    "0.30000000000000004",
    "123456789.987654321",
    "16777217",
    "9007199254740993",
    "12345678901234567.5",
    "1.234567890123456789012345678901234",
    "20200101",
    "20200101123456",
    "101010",
    "''",
    "'a'",
    "'A '",
    "' a'",
    "'1'",
    "'2'",
    "'01'",
    "' 12'",
    "'12 '",
    "'1.5'",
    "'2.5e0'",
    "'1e1'",
    "'abc'",
    "'0000'",
    "'20'",
    "'a,b'",
    "'a,1'",
    "'2020-01-01'",
    "'2020-01-01 12:34:56.789'",
    "'12:34:56.7891'",
    "'0000-00-00'",
    "'2020-02-30'",
    "'\u{e9}'",
    "'\u{20ac}'",
    "_binary 'a'",
    "_binary '\u{e9}'",
    "_utf8mb4'a'",
    "_ucs2'ab'",
    "_latin1 '\u{e9}'",
    "x''",
    "x'41'",
    "x'e9'",
    "x'00'",
    "x'c3a9'",
    "0x41",
    "0x0",
    "0x123",
    "b'0'",
    "b'1'",
    "b'101'",
    "b'1000001'",
    "0b1111111111",
    "'{\\\"a\\\": [1, \\\"x\\\"]}'",
    "'123e4567-e89b-12d3-a456-426655440000'",
    "'192.168.0.1'",
];

/// Literals made up: numbers of every length, strings with everything that has to be undone.
fn made_up(random: &mut Random) -> String {
    let digits = |random: &mut Random, most: usize| -> String {
        (0..random.between(1, most)).map(|_| random.pick(&['0', '1', '5', '9', '4'])).collect()
    };
    let most = random.pick(&[3, 10, 20, 40, 70]);
    let sign = random.pick(&["", "", "-", "+"]);
    match random.below(8) {
        0 | 1 => format!("{sign}{}", digits(random, most)),
        2 | 3 => format!("{sign}{}.{}", digits(random, most), digits(random, most)),
        4 => format!(
            "{sign}{}.{}e{}{}",
            digits(random, 5),
            digits(random, 15),
            random.pick(&["", "-", "+"]),
            digits(random, 2)
        ),
        _ => {
            let pieces = [
                "a", "B", " ", "''", "\\'", "\"", "\\\"", "\\\\", "\\n", "\\t", "\\0", "\\Z",
                "\\b", "\\r", "\\N", "\\%", "\\_", "%", "\\x", ",", "(", ")", "\n", "1", "-",
                "\u{e9}",
            ];
            let count = random.below(9);
            let text: String = (0..count).map(|_| random.pick(&pieces)).collect();
            format!("'{text}'")
        }
    }
}

/// In the character set of the session: é and the euro sign are all that is no ASCII.
fn encoded(text: &str, charset: &str) -> Vec<u8> {
    match charset {
        "latin1" => text.replace('\u{20ac}', "?").chars().map(|c| c as u8).collect(),
        _ => text.as_bytes().to_vec(),
    }
}

#[test]
fn plain_literals_are_what_inserts_make_of_them() {
    let Some(server) = Server::get() else { return };
    let mut random = Random::new(Random::seed_of_run());
    let mut literals: Vec<String> = LITERALS.map(str::to_owned).into();
    literals.extend((0..120).map(|_| made_up(&mut random)));
    let mut wrong = Vec::new();
    for charset in ["utf8mb4", "latin1", "binary"] {
        for sql_mode in ["NO_AUTO_VALUE_ON_ZERO", "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE"]
        {
            wrong.extend(check(&server, &literals, charset, sql_mode));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

fn check(server: &Server, literals: &[String], charset: &str, sql_mode: &str) -> Vec<String> {
    let mut db = server.database();
    let columns: Vec<String> =
        COLUMNS.iter().enumerate().map(|(at, (kind, _))| format!("c{at} {kind} NULL")).collect();
    let columns = columns.iter().map(|column| column.replace(" NULL NULL", " NULL"));
    let definition = columns.collect::<Vec<_>>().join(", ");
    db.sql("SET foreign_key_checks=0");
    for table in ["a", "b"] {
        db.sql(&format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, {definition}) ENGINE=InnoDB CHARSET=utf8mb4"
        ));
    }
    let mut wrong = Vec::new();
    let path = insert_all(server, &mut db, literals, charset, sql_mode);
    for way in [LoadPath::Direct, LoadPath::Stream, LoadPath::Insert] {
        db.sql("TRUNCATE b");
        let mut options = server.options(&db, "b", Vec::new());
        options.path = way;
        options.rows.rules = RowRules::Insert;
        options.input.charset = charset.to_owned();
        options.rows.sql_mode = Some(sql_mode.to_owned());
        options.rows.rejects_max = 1_000_000;
        let mut reader =
            SqlReader::open(std::slice::from_ref(&path), SqlOptions::default()).unwrap();
        reader.next().unwrap().unwrap();
        let (run, handback) = reader.into_run(ReadAs::default()).unwrap();
        load::load_from(&server.connect_options(), &options, Box::new(run), None, &())
            .unwrap_or_else(|error| panic!("{way:?} {charset} {sql_mode}: {error}"));
        assert!(handback.wait().unwrap().next().unwrap().is_none());
        wrong.extend(compare(&mut db, literals, &format!("{way:?} {charset} {sql_mode}")));
    }
    wrong
}

/// Puts each literal into each column of `a`, a row each; writes those that are plain to a dump for
/// `b`.
fn insert_all(
    server: &Server,
    db: &mut Db,
    literals: &[String],
    charset: &str,
    sql_mode: &str,
) -> std::path::PathBuf {
    let mut reader = reader();
    let mut dump = b"INSERT INTO b VALUES ".to_vec();
    let mut is_first = true;
    db.sql(&format!("SET NAMES {charset}, sql_mode='{sql_mode}', autocommit=0"));
    for (column, (kind, _)) in COLUMNS.iter().enumerate() {
        for (number, literal) in literals.iter().enumerate() {
            let id = column * 1000 + number;
            let mut row = vec![id.to_string().into_bytes()];
            row.resize(COLUMNS.len() + 1, b"NULL".to_vec());
            row[column + 1] = encoded(literal, charset);
            let tuple = [&b"("[..], &row.join(&b","[..]), b")"].concat();
            let insert = [b"INSERT INTO a VALUES ", tuple.as_slice()].concat();
            let _ = db.session().exec_bytes(&insert);
            if is_plain(&mut *reader, &tuple) {
                dump.extend_from_slice(if is_first { b"" } else { b",\n" });
                dump.extend_from_slice(&tuple);
                is_first = false;
            } else {
                assert!(!literal.starts_with('\'') && literal != "NULL", "{kind} {literal}");
            }
        }
    }
    db.sql("COMMIT");
    db.sql("SET NAMES utf8mb4, sql_mode='', autocommit=1, character_set_results=NULL");
    dump.extend_from_slice(b";\n");
    server.file(db, "dump", dump)
}

fn reader() -> Box<dyn Reader> {
    let syntax = Syntax { characters: MultiByte::None, ..Syntax::default() };
    let tuples = Tuples { head: Vec::new(), syntax };
    let kinds = COLUMNS.iter().map(|(_, literals)| FieldKind::of_literals(*literals));
    let fields: Vec<_> =
        [FieldKind::of_literals(Literals::Exact)].into_iter().chain(kinds).collect();
    run_reader(tuples.into(), fields.into(), Vec::new(), Isa::best())
}

fn is_plain(reader: &mut dyn Reader, tuple: &[u8]) -> bool {
    let chunk = Chunk { bytes: tuple.to_vec(), ..Chunk::default() };
    reader.read(&chunk, &mut Batch::new()).is_ok()
}

/// Every row of `b` is in `a`, the same.
fn compare(db: &mut Db, literals: &[String], what: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (column, (kind, _)) in COLUMNS.iter().enumerate() {
        let (first, last) = (column * 1000, column * 1000 + 999);
        let rows =
            db.number(&format!("SELECT COUNT(*) FROM b WHERE id BETWEEN {first} AND {last}"));
        assert!(rows >= 2, "{what}: {rows} rows of {kind}");
        let sql = format!(
            "SELECT b.id, a.id IS NULL, HEX(a.c{column}), HEX(b.c{column}), a.c{column}, b.c{column} FROM b \
             LEFT JOIN a USING (id) WHERE b.id BETWEEN {first} AND {last} AND (a.id IS NULL OR \
             NOT (a.c{column} <=> b.c{column} AND BINARY a.c{column} <=> BINARY b.c{column}))"
        );
        for row in db.rows(&sql) {
            let id: usize = row.number(0).unwrap();
            wrong.push(format!(
                "{what}: {kind} {}: {} {} / {}: {} / {}",
                literals[id - first],
                row.text_lossy(1),
                row.text_lossy(2),
                row.text_lossy(3),
                row.text_lossy(4),
                row.text_lossy(5)
            ));
        }
    }
    wrong
}
