//! Foreign keys of all types: which rows refer to a parent, the direct path says as the server does,
//! and without asking it row by row.

use server::Session;
use testkit::TestServer;

use crate::support::{Home, run};

/// A type of a child, that of its parent, keys of the parent, and what children refer to, as both
/// SQL and files write it.
type Key = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

/// Keys that are compared where they are read from the server too.
const READ: [Key; 21] = [
    (
        "VARCHAR(20) COLLATE utf8mb4_general_ci",
        "VARCHAR(50) COLLATE utf8mb4_general_ci",
        &["one", "Zwei ", "drei"],
        &["ONE", "óne", "zwei", "Zwei   ", "on", "dreizehn"],
    ),
    ("VARCHAR(9)", "VARCHAR(9)", &["One", "two "], &["One", "two  ", "two", "one"]),
    (
        "VARCHAR(9) COLLATE utf8mb4_nopad_bin",
        "VARCHAR(9) COLLATE utf8mb4_nopad_bin",
        &["a", "b "],
        &["a", "b ", "a ", "b"],
    ),
    (
        "VARCHAR(30) COLLATE utf8mb4_unicode_ci",
        "VARCHAR(12) COLLATE utf8mb4_unicode_ci",
        &["Straße", "æ"],
        &["STRASSE", "Æ", "strase"],
    ),
    (
        "VARCHAR(9) COLLATE uca1400_ai_ci",
        "VARCHAR(9) COLLATE uca1400_ai_ci",
        &["resume", "Ångström"],
        &["résumé", "ANGSTROM", "resum"],
    ),
    (
        "CHAR(8) CHARACTER SET latin1",
        "CHAR(5) CHARACTER SET latin1",
        &["aa", "Bé"],
        &["AA", "bé", "aa   ", "a"],
    ),
    (
        "CHAR(4) COLLATE utf8mb4_general_ci",
        "VARCHAR(9) COLLATE utf8mb4_general_ci",
        &["ä", "bc  "],
        &["A", "BC", "b"],
    ),
    (
        "CHAR(6) COLLATE utf8mb4_unicode_nopad_ci",
        "CHAR(6) COLLATE utf8mb4_unicode_nopad_ci",
        &["de", "fg"],
        &["DE", "f"],
    ),
    (
        "VARCHAR(9) CHARACTER SET utf16 COLLATE utf16_general_ci",
        "VARCHAR(9) CHARACTER SET utf16 COLLATE utf16_general_ci",
        &["h\u{1f600}", "ij"],
        &["IJ", "h\u{1f600} ", "i"],
    ),
    ("BINARY(4)", "BINARY(4)", &["ab", "cd\\0e"], &["ab", "ab\\0", "cd\\0e", "AB"]),
    ("VARBINARY(9)", "VARBINARY(20)", &["ab", "a\\0"], &["ab", "a\\0", "a"]),
    ("DECIMAL(10,2)", "DECIMAL(10,2)", &["1.5", "-3", "0"], &["1.50", "-3.00", "0", "1.51"]),
    ("DATE", "DATE", &["2024-02-29", "1000-01-01"], &["2024-02-29", "2024-02-28"]),
    (
        "DATETIME(3)",
        "DATETIME(3)",
        &["2024-02-29 01:02:03.5", "9999-12-31 23:59:59"],
        &["2024-02-29 01:02:03.500", "2024-02-29 01:02:03"],
    ),
    (
        "TIME(6)",
        "TIME(6)",
        &["-00:00:01.5", "838:59:59"],
        &["838:59:59", "-00:00:01.500000", "00:00:01.5"],
    ),
    ("ENUM('x','y','z')", "ENUM('x','y','z')", &["z", "x"], &["x", "y"]),
    ("SET('a','b','c')", "SET('a','b','c')", &["a,c", "b"], &["c,a", "b", "a"]),
    ("BIT(9)", "BIT(9)", &["a", "\\0"], &["a", "\\0", "b"]),
    (
        "UUID",
        "UUID",
        &["01234567-89ab-4def-8123-456789abcdef", "ff234567-89ab-1def-8123-456789abcdef"],
        &["FF234567-89AB-1DEF-8123-456789ABCDEF", "01234567-89ab-4def-8123-456789abcdee"],
    ),
    ("INET6", "INET6", &["::1", "2001:db8::ff00:42:8329"], &["0:0::1", "::2"]),
    ("INET4", "INET4", &["10.0.0.1", "192.168.1.255"], &["192.168.1.255", "10.0.0.2"]),
];

/// Keys that the server compares, but for parents of the same command.
const ASKED: [Key; 9] = [
    (
        "TIMESTAMP(2) NULL",
        "TIMESTAMP(2) NULL",
        &["2024-10-27 02:30:00", "2024-01-01 00:00:00.25"],
        &["2024-01-01 00:00:00.25", "2024-01-01 00:00:00"],
    ),
    // Of other types, whose bytes are compared all the same.
    ("DECIMAL(10,2)", "DECIMAL(11,2)", &["1.5", "-2"], &["1.50", "-2", "2"]),
    ("DECIMAL(9,2)", "DECIMAL(12,2)", &["1.5"], &["1.5"]),
    ("DATETIME", "DATETIME(3)", &["2024-01-01 00:00:00"], &["2024-01-01 00:00:00"]),
    ("ENUM('x','y','z')", "ENUM('z','x','y')", &["x", "z"], &["y", "x", "z"]),
    ("YEAR", "YEAR", &["2024", "1901"], &["2024", "1999"]),
    ("DOUBLE", "DOUBLE", &["0.1", "-0"], &["0.1", "0", "0.10000000000000002"]),
    ("FLOAT", "FLOAT", &["0.1", "1e30"], &["0.1", "1e30", "0.1000001"]),
    (
        "CHAR(4) COLLATE utf8mb4_nopad_bin",
        "CHAR(6) COLLATE utf8mb4_nopad_bin",
        &["de", "fg"],
        &["de", "f"],
    ),
];

struct Family<'a> {
    server: &'a TestServer,
    session: Session,
    home: Home,
    database: String,
    keys: &'a [Key],
}

/// A row of the child with one key.
fn row(id: usize, keys: usize, at: usize, value: &str) -> String {
    let fields = (0..keys).map(|key| if key == at { value } else { "\\N" });
    format!("{id}\t{}\n", fields.collect::<Vec<_>>().join("\t"))
}

impl<'a> Family<'a> {
    /// Each key has a parent of its own; the child has all of them.
    fn new(server: &'a TestServer, keys: &'a [Key]) -> Family<'a> {
        let (database, home) = (server.database().unwrap(), Home::new());
        let mut session = server.connect().unwrap();
        session.exec(&format!("USE {database}")).unwrap();
        std::fs::create_dir(home.path().join("rows")).unwrap();
        let default = "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin";
        let (mut columns, mut constraints) = (String::new(), String::new());
        for (at, (child, parent, values, _)) in keys.iter().enumerate() {
            session
                .exec(&format!("CREATE TABLE p{at} (k {parent}, UNIQUE KEY (k)) {default}"))
                .unwrap();
            columns += &format!(", k{at} {child}");
            constraints += &format!(", CONSTRAINT f{at} FOREIGN KEY (k{at}) REFERENCES p{at} (k)");
            for value in *values {
                session.exec(&format!("INSERT INTO p{at} VALUES ('{value}')")).unwrap();
            }
            let rows: Vec<String> = values.iter().map(|value| format!("{value}\n")).collect();
            home.file(&format!("rows/p{at}.txt"), rows.concat());
        }
        let sql = format!("CREATE TABLE c (id INT PRIMARY KEY{columns}{constraints}) {default}");
        session.exec(&sql).unwrap();
        Family { server, session, home, database, keys }
    }

    /// Rows that the server takes, and some that it does not, each with its key's number.
    fn judged(&mut self) -> (Vec<String>, Vec<(usize, String)>) {
        let (mut taken, mut refused) = (Vec::new(), Vec::new());
        for (at, (_, _, _, candidates)) in self.keys.iter().enumerate() {
            let mut is_refused = false;
            for value in *candidates {
                let id = taken.len();
                let done = self
                    .session
                    .exec(&format!("INSERT INTO c (id, k{at}) VALUES ({id}, '{value}')"));
                let text = row(id, self.keys.len(), at, value);
                match done {
                    Ok(_) => taken.push(text),
                    Err(error) if error.errno() == Some(1452) => {
                        let text = row(1000, self.keys.len(), at, value);
                        if !std::mem::replace(&mut is_refused, true) {
                            refused.push((at, text));
                        }
                    }
                    Err(error) => panic!("{at} {value}: {error}"),
                }
            }
        }
        self.session.exec("DELETE FROM c").unwrap();
        (taken, refused)
    }

    /// How often the server was asked to compare keys with their parents, since the last time.
    fn asked(&mut self) -> String {
        let sql = "SELECT COUNT(*) FROM mysql.general_log WHERE argument LIKE '%join_cache_level=0%' \
                   AND argument NOT LIKE '%general_log%'";
        let count = self.session.query_text(sql).unwrap().unwrap();
        self.session.exec("TRUNCATE TABLE mysql.general_log").unwrap();
        count
    }

    fn check(&mut self, asked: usize) {
        let (taken, refused) = self.judged();
        let (into, rows) =
            (format!("{}.c", self.database), self.home.file("c.txt", taken.concat()));
        let replace = ["--mode", "replace", "--path", "direct"];
        self.asked();
        run(self.home.load(self.server, &into, &rows).args(replace)).done();
        assert_eq!(self.asked(), asked.to_string(), "read from the server");
        for (at, more) in refused.iter().step_by(2) {
            let rows = self.home.file("c.txt", [&taken.concat()[..], more].concat());
            let failed = run(self.home.load(self.server, &into, &rows).args(replace));
            assert_eq!(failed.code(), 1, "{more}: {failed:?}");
            failed.refused(1, &[&format!("`f{at}` (k{at})")]);
        }
        // With parents that are built by the same command.
        self.home.file("rows/c.txt", taken.concat());
        let folder = self.home.path().join("rows");
        self.asked();
        run(self.home.load(self.server, &self.database, &folder).args(replace)).done();
        // Those of unlike types are compared by the server there too.
        let unlike = self.keys.iter().filter(|(own, other, ..)| {
            own != other
                && !own.starts_with("VAR")
                && (own.contains("nopad") || !own.contains("CHAR"))
        });
        assert_eq!(self.asked(), unlike.count().to_string(), "built");
        let more: Vec<&str> = refused.iter().map(|(_, more)| more.as_str()).collect();
        self.home.file("rows/c.txt", [&taken.concat()[..], more[more.len() / 2]].concat());
        let failed = run(self.home.load(self.server, &self.database, &folder).args(replace));
        failed.refused(1, &[&format!("`f{}`", refused[refused.len() / 2].0)]);
        let sql = format!("SELECT COUNT(*) FROM {}.c", self.database);
        assert_eq!(self.session.query_text(&sql).unwrap(), Some(taken.len().to_string()));
    }
}

fn logging() -> Option<TestServer> {
    let server = TestServer::start()?;
    server.script("SET GLOBAL log_output='TABLE'; SET GLOBAL general_log=1").unwrap();
    Some(server)
}

#[test]
fn keys_of_all_types_are_compared_as_the_server_does() {
    let Some(server) = logging() else { return };
    Family::new(&server, &READ).check(0);
}

#[test]
fn keys_that_are_not_shown_exactly_are_compared_by_the_server() {
    let Some(server) = logging() else { return };
    Family::new(&server, &ASKED).check(ASKED.len());
}
