//! Random statements for any tables: what a program does to them afterwards.

use server::identifier::quote_name;

use super::shape::{ColumnShape, Shape, TableShape};
use crate::Random;
use crate::tables::Db;

/// Rows of a table whose values go into others.
const SAMPLES: usize = 40;
const INTEGERS: [&str; 5] = ["tinyint", "smallint", "mediumint", "int", "bigint"];
const BYTES: [&str; 6] = ["binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"];
const TEXTS: [&str; 6] = ["char", "varchar", "tinytext", "text", "mediumtext", "longtext"];

/// So many statements for the tables of a database, some of them in transactions, which are whole. Values
/// are mostly those of the rows that are there. Some statements the server refuses.
pub fn statements(random: &mut Random, db: &mut Db, shape: &Shape, count: usize) -> Vec<String> {
    let makers: Vec<Maker> = shape.tables.iter().map(|table| Maker::new(db, table)).collect();
    let mut statements = Vec::new();
    while statements.len() < count {
        let maker = &makers[random.below(makers.len())];
        maker.push(random, &mut statements);
    }
    statements
}

/// Makes statements for a table.
struct Maker<'a> {
    name: String,
    /// Those to which values can be given.
    columns: Vec<&'a ColumnShape>,
    /// A literal for each of some rows.
    samples: Vec<Vec<String>>,
    /// A number of a row that follows from its values alone.
    digest: String,
}

impl<'a> Maker<'a> {
    fn new(db: &mut Db, table: &'a TableShape) -> Maker<'a> {
        let name = quote_name(&table.name);
        let columns: Vec<_> = table.columns.iter().filter(|column| !column.is_generated).collect();
        let hex =
            |column: &&ColumnShape| format!("HEX(CAST({} AS BINARY))", quote_name(&column.name));
        let digest: Vec<String> = columns.iter().map(hex).collect();
        let digest = format!("CRC32(CONCAT_WS('|', {}))", digest.join(", "));
        let literals: Vec<String> = columns.iter().map(|column| literal(column)).collect();
        let sql =
            format!("SELECT {} FROM {name} ORDER BY {digest} LIMIT {SAMPLES}", literals.join(", "));
        let rows = db.rows(&sql);
        let samples = rows.iter().map(|row| (0..row.len()).map(|at| row.text_lossy(at)).collect());
        Maker { samples: samples.collect(), name, columns, digest }
    }

    fn push(&self, random: &mut Random, statements: &mut Vec<String>) {
        match random.below(9) {
            0 | 1 => statements.push(self.row(random, "INSERT IGNORE")),
            2 | 3 => statements.push(self.row(random, "INSERT")),
            4 => statements.push(self.row(random, "REPLACE")),
            5 => statements.push(self.delete(random, 30)),
            6 | 7 => statements.push(self.update(random)),
            _ => {
                let end = random.pick(&["ROLLBACK", "ROLLBACK", "COMMIT"]);
                let (delete, insert) = (self.delete(random, 3), self.row(random, "INSERT IGNORE"));
                statements.extend(["BEGIN".to_owned(), delete, insert, end.to_owned()]);
            }
        }
    }

    fn row(&self, random: &mut Random, verb: &str) -> String {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        let row = random.below(self.samples.len().max(1));
        for (at, column) in self.columns.iter().enumerate() {
            names.push(quote_name(&column.name));
            values.push(match column.is_auto_increment && !random.chance(4) {
                true => "NULL".to_owned(),
                false => self.value(random, at, row),
            });
        }
        format!("{verb} INTO {} ({}) VALUES ({})", self.name, names.join(", "), values.join(", "))
    }

    /// A value for a column: mostly that of a row.
    fn value(&self, random: &mut Random, at: usize, row: usize) -> String {
        let column = self.columns[at];
        if INTEGERS.contains(&&*column.kind) && random.chance(5) {
            return random.below(120).to_string();
        }
        let row = if random.chance(5) { random.below(self.samples.len().max(1)) } else { row };
        let sample = self.samples.get(row).map_or("NULL", |sample| &sample[at]);
        match TEXTS.contains(&&*column.kind) && random.chance(4) {
            true => format!("CONCAT({sample}, {})", random.below(99)),
            false => sample.to_owned(),
        }
    }

    fn delete(&self, random: &mut Random, parts: usize) -> String {
        format!("DELETE FROM {} WHERE {}", self.name, self.one_in(random, parts))
    }

    fn update(&self, random: &mut Random) -> String {
        let at = random.below(self.columns.len());
        let row = random.below(self.samples.len().max(1));
        let (column, value) = (quote_name(&self.columns[at].name), self.value(random, at, row));
        let which = self.one_in(random, 20);
        format!("UPDATE IGNORE {} SET {column}={value} WHERE {which}", self.name)
    }

    /// Picks rows by their values, so that equal tables lose or change the same.
    fn one_in(&self, random: &mut Random, parts: usize) -> String {
        format!("{} % {parts} = {}", self.digest, random.below(parts))
    }
}

/// SQL that gives a value of a column as SQL.
fn literal(column: &ColumnShape) -> String {
    let name = quote_name(&column.name);
    let text = match &*column.kind {
        "bit" => format!("{name}+0"),
        kind if BYTES.contains(&kind) => format!("CONCAT('x\\'', HEX({name}), '\\'')"),
        _ => format!("CONCAT('_utf8mb4 x\\'', HEX(CONVERT({name} USING utf8mb4)), '\\'')"),
    };
    format!("IFNULL({text}, 'NULL')")
}
