//! Rows that are added to an aged table, as a text file.

use std::path::Path;

use crate::Random;
use crate::aged::history::{Aged, tried, tuple};
use crate::aged::value::{Place, Values};
use crate::tables::server::Db;

/// A row of a file, its fields in the order of [`Aged::columns`]; None is NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    fields: Vec<Option<String>>,
}

/// Writes rows as LOAD DATA's defaults read them.
pub fn write(path: &Path, lines: &[Line]) {
    let mut text = String::new();
    for line in lines {
        let fields: Vec<&str> =
            line.fields.iter().map(|field| field.as_deref().unwrap_or("\\N")).collect();
        // No value has a character that would need a backslash.
        text.push_str(&fields.join("\t"));
        text.push('\n');
    }
    std::fs::write(path, text).unwrap();
}

impl Aged {
    /// Up to `count` new rows that both tables take: some between the old ones, a run of them behind,
    /// in random order. They are tried in a transaction that is rolled back.
    pub fn lines(&mut self, random: &mut Random, db: &mut Db, count: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        db.sql("BEGIN");
        for number in 0..count {
            let place = if number < count / 2 { Place::Among } else { Place::Behind };
            let line = Line { fields: self.row(random, place) };
            if self.tried_line(db, "INSERT", &line).is_ok() {
                lines.push(line);
            }
        }
        db.sql("ROLLBACK");
        random.shuffle(&mut lines);
        lines
    }

    /// The same with rows among them that have a key of a row that is there, of each key of the table;
    /// None where the table has no such key, or no such row.
    pub fn lines_with_duplicates(
        &mut self,
        random: &mut Random,
        db: &mut Db,
        count: usize,
    ) -> Option<Vec<Line>> {
        let mut lines = self.lines(random, db, count);
        let new = lines.len();
        for key in self.family.keys {
            let known = key.iter().map(|column| format!("{column} IS NOT NULL"));
            let known: Vec<String> = known.collect();
            // The file is in UTF-8, whatever the columns are in.
            let values = key.iter().map(|column| format!("CONVERT({column} USING utf8mb4)"));
            let values: Vec<String> = values.collect();
            let old = db.rows(&format!(
                "SELECT {} FROM a WHERE {} AND n % 5 = {} LIMIT 7",
                values.join(", "),
                known.join(" AND "),
                random.below(5)
            ));
            for row in old {
                let mut fields = self.row(random, Place::Behind);
                for (at, column) in key.iter().enumerate() {
                    let place = self.columns.iter().position(|known| known.name == *column);
                    fields[place.unwrap()] = Some(row.text_lossy(at));
                }
                let line = Line { fields };
                // Not for a row that refers to one which is not there.
                db.sql("BEGIN");
                if self.tried_line(db, "REPLACE", &line).is_ok() {
                    lines.push(line);
                }
                db.sql("ROLLBACK");
            }
        }
        let has_duplicates = lines.len() > new;
        random.shuffle(&mut lines);
        has_duplicates.then_some(lines)
    }

    /// True if the server numbers the rows.
    pub fn is_numbered(&self) -> bool {
        self.columns.iter().any(|column| matches!(column.values, Values::Numbered))
    }

    fn tried_line(&self, db: &mut Db, verb: &str, line: &Line) -> Result<u64, Option<u16>> {
        let columns = self.columns().join(", ");
        tried(db, &format!("{verb} INTO {{}} ({columns}) VALUES {}", tuple(&line.fields)))
    }
}
