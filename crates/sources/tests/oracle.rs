//! The server decides: random nasty files through LOAD DATA and through us, field by field.
//!
//! Each file goes into two tables whose columns differ in their default. A field the server did
//! not find is NULL in the one with DEFAULT NULL and an empty string in the other, a NULL field is
//! NULL in both; so the number of fields of each row is compared too.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use sources::{Dialect, Isa};
use testkit::{TestServer, TestServerOptions};

use crate::paths::nasty;
use crate::support::{Table, dialects, read_from, scan};

const FILES_PER_DIALECT: usize = 60;

/// A private server that ends with the test.
pub(crate) struct Server {
    server: TestServer,
    pub(crate) folder: tempfile::TempDir,
}

impl Server {
    /// None, with a line why, if no server is installed.
    pub(crate) fn start() -> Option<Server> {
        let extra = vec!["--secure-file-priv=".to_owned()];
        let options = TestServerOptions { extra, ..TestServerOptions::default() };
        let server = TestServer::start_with(&options)?;
        Some(Server { server, folder: tempfile::tempdir().unwrap() })
    }

    /// A client program, connected to the server.
    pub(crate) fn client(&self, program: &str) -> Command {
        self.server.client(program)
    }

    pub(crate) fn test_server(&self) -> &TestServer {
        &self.server
    }

    /// The output of mariadb-dump.
    pub(crate) fn dump(&self, arguments: &[&str]) -> Vec<u8> {
        let output = self.client("mariadb-dump").args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// The output of the statements.
    pub(crate) fn sql(&self, script: &str) -> String {
        self.server.script(script).unwrap_or_else(|error| panic!("{error}"))
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02X}").unwrap();
        text
    })
}

/// Statements that load the file and print each row, fields separated by commas: hex digits, `~`
/// for NULL, `-` for a field that is not there.
fn load(path: &Path, dialect: &Dialect, charset: &str, skip_lines: usize, shape: Shape) -> String {
    let byte = |byte: Option<u8>| byte.map_or("''".to_owned(), |byte| format!("X'{byte:02X}'"));
    let columns: Vec<_> = (0..shape.columns).map(|column| format!("c{column}")).collect();
    let mut script = String::new();
    for (table, default) in [("a", "NULL"), ("b", "'d'")] {
        let definitions: String = columns
            .iter()
            .map(|column| format!(", {column} VARBINARY({}) DEFAULT {default}", shape.bytes_max))
            .collect();
        writeln!(
            script,
            "CREATE OR REPLACE TABLE t.{table} (id INT AUTO_INCREMENT PRIMARY KEY{definitions}) \
             ENGINE=MyISAM;\n\
             LOAD DATA INFILE '{}' INTO TABLE t.{table} CHARACTER SET {charset} \
             FIELDS TERMINATED BY X'{}' ENCLOSED BY {} ESCAPED BY {} \
             LINES STARTING BY X'{}' TERMINATED BY X'{}' IGNORE {skip_lines} LINES ({});",
            path.display(),
            hex(&dialect.fields_terminated_by),
            byte(dialect.enclosed_by),
            byte(dialect.escaped_by),
            hex(&dialect.lines_starting_by),
            hex(&dialect.lines_terminated_by),
            columns.join(", "),
        )
        .unwrap();
    }
    let shown: String = columns
        .iter()
        .map(|c| format!(", IF(b.{c} IS NULL, '~', IF(a.{c} IS NULL, '-', HEX(a.{c})))"))
        .collect();
    writeln!(
        script,
        "SELECT 'file';\n\
         SELECT CONCAT_WS(',', 'row'{shown}) FROM t.a JOIN t.b USING (id) ORDER BY id;"
    )
    .unwrap();
    script
}

/// How wide the tables must be.
#[derive(Clone, Copy)]
struct Shape {
    columns: usize,
    bytes_max: usize,
}

impl Shape {
    /// More columns than any row has, so that the server never skips to a line end: it does not
    /// look at quotes then.
    fn of(table: &Table) -> Shape {
        let columns = table.iter().map(Vec::len).max().unwrap_or(0) + 2;
        let bytes = table.iter().flatten().flatten().map(Vec::len).max().unwrap_or(0) + 20;
        Shape { columns, bytes_max: bytes }
    }

    fn fits(self) -> bool {
        self.columns * (self.bytes_max + 2) < 60_000 && self.columns < 1000
    }
}

/// Our rows as the server prints them.
fn show(table: &Table, shape: Shape) -> Vec<String> {
    let row = |row: &Vec<Option<Vec<u8>>>| {
        let values = row.iter().map(|value| value.as_ref().map_or("~".to_owned(), |v| hex(v)));
        let missing = (row.len()..shape.columns).map(|_| "-".to_owned());
        values.chain(missing).fold("row".to_owned(), |text, value| text + "," + &value)
    };
    table.iter().map(row).collect()
}

#[test]
fn load_data_finds_the_same_fields() {
    let Some(server) = Server::start() else {
        return;
    };
    server.sql("CREATE DATABASE t;");
    let mut runner = TestRunner::deterministic();
    let mut compared = 0;
    // LF or CRLF is our own rule; a separator at the line end the server takes for a field.
    let comparable = dialects().into_iter().filter(|(_, dialect)| !dialect.any_newline);
    for (name, dialect) in comparable {
        let mut script = "SET sql_mode = '';\n".to_owned();
        let mut expected = Vec::new();
        for number in 0..FILES_PER_DIALECT {
            let bytes = nasty().new_tree(&mut runner).unwrap().current();
            let path = server.folder.path().join(format!("{number}"));
            fs::write(&path, &bytes).unwrap();
            let skip_lines = number % 3;
            let table = match skip_lines {
                0 => scan(&dialect, &bytes, Isa::best()),
                _ => match read_from(&path, &dialect, skip_lines as u64) {
                    Ok(table) => table,
                    Err(_) => continue, // a quote that is not closed
                },
            };
            let shape = Shape::of(&table);
            if shape.fits() {
                let charset = ["binary", "utf8mb4", "latin1"][number % 3];
                script += &load(&path, &dialect, charset, skip_lines, shape);
                expected.push((bytes, show(&table, shape)));
            }
        }
        let text = server.sql(&script);
        let seen: Vec<Vec<&str>> =
            text.split("file\n").skip(1).map(|part| part.lines().collect()).collect();
        assert_eq!(seen.len(), expected.len());
        for (seen, (bytes, expected)) in seen.iter().zip(&expected) {
            assert_eq!(seen, expected, "{name}: {}", bytes.escape_ascii());
            compared += 1;
        }
    }
    assert!(compared > 500, "only {compared} files were compared");
}
