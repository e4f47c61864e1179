//! Schemas in the styles of real applications, and rows for them that respect their keys.
//!
//! ```text
//! schemas/*.sql -> Schema -> create in a database -> shape: what the server says of its tables
//!                                                 -> rows (value): parents first, a file a table
//!                                                 -> changes: statements for tables that have rows
//! ```
//!
//! A schema is a plain file of statements, for any client. Comments in it for tests are described in
//! [`Schema`]. Rows are random, and each is tried on the server, with all keys and checks on: refused ones
//! are left out. So LOAD DATA accepts all rows in the files of [`Rows`].

pub mod changes;
pub mod rows;
pub mod shape;
mod value;

use std::fs;
use std::path::Path;

use crate::tables::Db;

pub use rows::Rows;
pub use shape::Shape;

/// Statements that make the tables of an application.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The name of its file.
    pub name: String,
    /// Its statements and comments.
    pub text: String,
}

impl Schema {
    /// All there are, in the order of their names.
    pub fn all() -> Vec<Schema> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
        let mut all: Vec<Schema> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "sql"))
            .map(|path| Schema {
                name: path.file_stem().unwrap().to_string_lossy().into_owned(),
                text: fs::read_to_string(&path).unwrap(),
            })
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The schema of this name.
    pub fn named(name: &str) -> Schema {
        Schema::all().into_iter().find(|schema| schema.name == name).unwrap()
    }

    /// Makes its tables in the database of a session.
    #[track_caller]
    pub fn create(&self, db: &mut Db) {
        for statement in statements(&self.text) {
            db.sql(&statement);
        }
    }

    /// `-- unchecked`: there is no order in which the rows can come with the checks on, since two
    /// tables need each other's.
    pub fn is_unchecked(&self) -> bool {
        self.said("unchecked").is_some()
    }

    /// `-- each`: its tables cannot be published together, since one has to stay itself.
    pub fn is_each(&self) -> bool {
        self.said("each").is_some()
    }

    /// `-- sent TABLE: REASON, REASON`: the tables that cannot be built, and the names of the reasons.
    /// All others can.
    pub fn sent(&self) -> Vec<(String, Vec<String>)> {
        let lines = self.text.lines().filter_map(|line| line.strip_prefix("-- sent "));
        lines
            .map(|line| {
                let (table, reasons) = line.rsplit_once(": ").unwrap();
                (table.to_owned(), reasons.split(", ").map(str::to_owned).collect())
            })
            .collect()
    }

    fn said(&self, word: &str) -> Option<&str> {
        self.text.lines().find(|line| line.strip_prefix("-- ") == Some(word))
    }
}

/// The statements of a script, as the client takes them apart: each ends at the end of a line, with a
/// semicolon or what DELIMITER says.
fn statements(text: &str) -> Vec<String> {
    let (mut found, mut open, mut end) = (Vec::new(), String::new(), ";".to_owned());
    for line in text.lines().filter(|line| !line.starts_with("--")) {
        if let Some(delimiter) = line.strip_prefix("DELIMITER ") {
            end = delimiter.to_owned();
            continue;
        }
        open.push_str(line);
        open.push('\n');
        if let Some(statement) = open.trim_end().strip_suffix(&end) {
            found.push(statement.to_owned());
            open.clear();
        }
    }
    assert!(open.trim().is_empty(), "a statement without an end: {open}");
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_where_the_client_ends_them() {
        let text = "-- a; comment;\nCREATE TABLE t (\n  a INT);\nDELIMITER //\nCREATE TRIGGER x\n\
             BEGIN\n  SET @a = 1;\nEND//\nDELIMITER ;\nDROP TABLE t;\n";
        assert_eq!(
            statements(text),
            [
                "CREATE TABLE t (\n  a INT)",
                "CREATE TRIGGER x\nBEGIN\n  SET @a = 1;\nEND",
                "DROP TABLE t"
            ]
        );
    }

    #[test]
    fn a_schema_says_how_it_can_be_loaded() {
        let text =
            "-- A shop.\n-- each\n-- sent a b: CHECK constraint, FULLTEXT index\n".to_owned();
        let schema = Schema { name: "x".to_owned(), text };
        assert!(schema.is_each() && !schema.is_unchecked());
        let reasons = ["CHECK constraint", "FULLTEXT index"].map(str::to_owned).to_vec();
        assert_eq!(schema.sent(), [("a b".to_owned(), reasons)]);
        assert!(Schema::all().len() >= 40);
    }
}
