//! Rows for the tables of a schema, whose keys refer to rows that are there.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use server::identifier::quote_name;

use super::shape::{ColumnShape, ForeignKeyShape, Shape, TableShape};
use super::value;
use crate::Random;
use crate::tables::Db;

/// A value; NULL.
type Field = Option<Vec<u8>>;

/// Rows for all tables of a schema.
pub struct Rows {
    /// Those of each table, in the order in which they can be inserted.
    pub tables: Vec<TableRows>,
}

/// Rows for a table.
pub struct TableRows {
    /// The name of the table.
    pub table: String,
    /// The columns that are given.
    pub columns: Vec<String>,
    /// A field for each of them.
    pub rows: Vec<Vec<Field>>,
}

impl Rows {
    /// Up to `count` rows a table. The database of the session has the tables, and gets the rows.
    pub fn random(random: &mut Random, db: &mut Db, shape: &Shape, count: usize) -> Rows {
        let mut rows = Rows { tables: Vec::new() };
        for table in &shape.tables {
            let maker = Maker { table, shape, count, made: &rows.tables };
            let made = maker.make(random, db);
            rows.tables.push(made);
        }
        if shape.tables.iter().any(|table| shape.refers_ahead(table)) {
            while let Some((table, row)) = rows.orphan(shape) {
                rows.tables[table].rows.remove(row);
            }
        }
        rows
    }

    /// Writes a file a table into a folder: a header, tabs and backslashes. Gives the file and the rows
    /// of each.
    pub fn write(&self, folder: &Path) -> Vec<(PathBuf, &TableRows)> {
        let write = |number: usize, rows: &TableRows| {
            // A name that cannot be a file's, or would be taken for a file's of several.
            let has_point = rows.table.contains(['/', '.']);
            let name = if has_point { format!("other{number}") } else { rows.table.clone() };
            let path = folder.join(format!("{name}.txt"));
            fs::write(&path, rows.file()).unwrap();
            path
        };
        self.tables.iter().enumerate().map(|(at, rows)| (write(at, rows), rows)).collect()
    }

    /// A row, its table first, that refers to one that is not there: where tables refer to each other
    /// in a circle, it was to be made later, and was refused then.
    fn orphan(&self, shape: &Shape) -> Option<(usize, usize)> {
        self.tables.iter().enumerate().find_map(|(number, child)| {
            let table = shape.table(&child.table);
            table.foreign_keys.iter().find_map(|key| {
                let parent = self.tables.iter().find(|rows| rows.table == key.parent)?;
                let wanted = parent.positions(&key.parent_columns);
                let there: HashSet<Vec<&Field>> =
                    parent.rows.iter().map(|row| fields(row, &wanted)).collect();
                let names: Vec<String> =
                    key.columns.iter().map(|&at| table.columns[at].name.clone()).collect();
                let own = child.positions(&names);
                let row = child.rows.iter().position(|row| {
                    let fields = fields(row, &own);
                    fields.iter().all(|field| field.is_some()) && !there.contains(&fields)
                })?;
                Some((number, row))
            })
        })
    }
}

impl TableRows {
    /// The statement that loads its file into a table of this name.
    pub fn load_data(&self, table: &str) -> String {
        let columns: Vec<String> = self.columns.iter().map(|name| quote_name(name)).collect();
        format!(
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE {table} CHARACTER SET utf8mb4 IGNORE 1 LINES ({})",
            columns.join(", ")
        )
    }

    /// The text of its file.
    fn file(&self) -> Vec<u8> {
        let mut text = self.columns.join("\t").into_bytes();
        text.push(b'\n');
        for row in &self.rows {
            for (number, field) in row.iter().enumerate() {
                if number > 0 {
                    text.push(b'\t');
                }
                match field {
                    None => text.extend_from_slice(b"\\N"),
                    Some(bytes) => text.extend(bytes.iter().flat_map(|&byte| escaped(byte))),
                }
            }
            text.push(b'\n');
        }
        text
    }

    fn positions(&self, columns: &[String]) -> Vec<usize> {
        let at = |name: &String| self.columns.iter().position(|column| column == name).unwrap();
        columns.iter().map(at).collect()
    }
}

fn fields<'a>(row: &'a [Field], positions: &[usize]) -> Vec<&'a Field> {
    positions.iter().map(|&at| &row[at]).collect()
}

fn escaped(byte: u8) -> Vec<u8> {
    match byte {
        0 => b"\\0".to_vec(),
        b'\t' => b"\\t".to_vec(),
        b'\n' => b"\\n".to_vec(),
        b'\\' => b"\\\\".to_vec(),
        byte => vec![byte],
    }
}

/// Makes the rows of one table.
struct Maker<'a> {
    table: &'a TableShape,
    shape: &'a Shape,
    count: usize,
    /// Those of the tables before it.
    made: &'a [TableRows],
}

/// A row's value for a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowValue {
    Value,
    /// The server counts.
    Counted,
    /// Not at all.
    Nothing,
}

impl Maker<'_> {
    fn make(&self, random: &mut Random, db: &mut Db) -> TableRows {
        let given: Vec<RowValue> =
            self.table.columns.iter().map(|column| self.given(random, column)).collect();
        let is_given = |at: &usize| given[*at] != RowValue::Nothing;
        let positions: Vec<usize> = (0..given.len()).filter(is_given).collect();
        let columns: Vec<String> =
            positions.iter().map(|&at| self.table.columns[at].name.clone()).collect();
        let quoted: Vec<String> = columns.iter().map(|name| quote_name(name)).collect();
        let into = format!("INSERT INTO {} ({})", quote_name(&self.table.name), quoted.join(", "));
        let mut made = TableRows { table: self.table.name.clone(), columns, rows: Vec::new() };
        let refers_ahead = self.shape.refers_ahead(self.table);
        db.sql(&format!("SET foreign_key_checks={}", u8::from(!refers_ahead)));
        db.sql("BEGIN");
        for number in 0..self.count {
            let Some(row) = self.row(random, &given, &made, number) else { continue };
            let row: Vec<Field> = positions.iter().map(|&at| row[at].clone()).collect();
            let values: Vec<String> = row.iter().map(literal).collect();
            if db.try_sql(&format!("{into} VALUES ({})", values.join(", "))).is_ok() {
                made.rows.push(row);
            }
        }
        db.sql("COMMIT");
        db.sql("SET foreign_key_checks=1");
        let has_order = self.table.foreign_keys.iter().any(|key| key.parent == self.table.name);
        if !has_order && random.chance(2) {
            random.shuffle(&mut made.rows);
        }
        made
    }

    fn given(&self, random: &mut Random, column: &ColumnShape) -> RowValue {
        let name = &column.name;
        let is_own = |key: &ForeignKeyShape| {
            key.columns.iter().any(|&at| self.table.columns[at].name == *name)
        };
        let is_referenced = self.shape.is_referenced(&self.table.name, name);
        let is_needed =
            column.is_in_key || is_referenced || self.table.foreign_keys.iter().any(is_own);
        match () {
            () if column.is_generated => RowValue::Nothing,
            () if column.is_auto_increment && !is_referenced && random.chance(2) => {
                RowValue::Counted
            }
            () if !is_needed && column.has_constant_default && random.chance(4) => {
                RowValue::Nothing
            }
            () => RowValue::Value,
        }
    }

    /// A field for each column; none where it would have to refer to a row and there is none.
    fn row(
        &self,
        random: &mut Random,
        given: &[RowValue],
        made: &TableRows,
        number: usize,
    ) -> Option<Vec<Field>> {
        let columns = &self.table.columns;
        let mut row: Vec<Field> = vec![None; columns.len()];
        let mut is_set = vec![false; columns.len()];
        let mut to_itself = Vec::new();
        for key in &self.table.foreign_keys {
            let is_null = self.table.may_be_null(key) && random.chance(6);
            match self.referred(random, key, made, &row, &is_set) {
                Some(referred) if !is_null => {
                    for (&at, field) in key.columns.iter().zip(referred) {
                        row[at] = field;
                        is_set[at] = true;
                    }
                }
                _ if self.table.may_be_null(key) => {
                    for &at in key.columns.iter().filter(|&&at| columns[at].nullable) {
                        row[at] = None;
                        is_set[at] = true;
                    }
                }
                _ if key.parent == self.table.name => to_itself.push(key),
                _ if self.is_ahead(key) => {
                    row[key.columns[0]] = Some((random.below(self.count) + 1).to_string().into());
                    is_set[key.columns[0]] = true;
                }
                _ => return None,
            }
        }
        for (at, column) in
            columns.iter().enumerate().filter(|(at, _)| given[*at] == RowValue::Value)
        {
            let is_null = column.nullable && (column.kind == "point" || random.chance(7));
            if !is_set[at] && !is_null {
                row[at] = Some(value::value(random, column, number));
            }
        }
        for key in to_itself {
            for (&at, name) in key.columns.iter().zip(&key.parent_columns) {
                let parent = columns.iter().position(|column| column.name == *name).unwrap();
                row[at] = row[parent].clone();
            }
        }
        Some(row)
    }

    fn is_ahead(&self, key: &ForeignKeyShape) -> bool {
        self.made.iter().all(|rows| rows.table != key.parent)
    }

    /// Values of a key that refers to a row, any that agrees with the columns that are set.
    fn referred(
        &self,
        random: &mut Random,
        key: &ForeignKeyShape,
        made: &TableRows,
        row: &[Field],
        is_set: &[bool],
    ) -> Option<Vec<Field>> {
        let parent = match key.parent == self.table.name {
            true => made,
            false => self.made.iter().find(|rows| rows.table == key.parent)?,
        };
        let positions = parent.positions(&key.parent_columns);
        let fits = |found: &&Vec<Field>| {
            key.columns.iter().zip(&positions).all(|(&own, &its)| {
                found[its].is_some() && (!is_set[own] || row[own] == found[its])
            })
        };
        let found: Vec<&Vec<Field>> = parent.rows.iter().filter(fits).collect();
        let found = if found.is_empty() { return None } else { found[random.below(found.len())] };
        let fields = key.columns.iter().zip(&positions).map(|(&own, &its)| {
            let is_text = self.table.columns[own].kind.ends_with("char") && !is_set[own];
            // Equal for many collations, and else refused.
            let is_other = is_text && random.chance(5);
            found[its]
                .clone()
                .map(|bytes| if is_other { bytes.to_ascii_uppercase() } else { bytes })
        });
        Some(fields.collect())
    }
}

impl Shape {
    /// True if a table has to refer to rows of one behind it.
    fn refers_ahead(&self, table: &TableShape) -> bool {
        let place = |name: &str| self.tables.iter().position(|table| table.name == name);
        let mut keys = table.foreign_keys.iter();
        keys.any(|key| !table.may_be_null(key) && place(&key.parent) > place(&table.name))
    }
}

/// A value as a literal that is text, or the same bytes.
fn literal(field: &Field) -> String {
    match field.as_deref() {
        None => "NULL".to_owned(),
        Some(bytes) if bytes.iter().all(|byte| (0x20..0x7f).contains(byte) && *byte != b'\\') => {
            server::identifier::quote_text(&String::from_utf8_lossy(bytes))
        }
        Some(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            match bytes.iter().any(|byte| *byte < 0x20 && *byte != b'\t') {
                // Of BIT.
                true => format!("x'{hex}'"),
                false => format!("_utf8mb4 x'{hex}'"),
            }
        }
    }
}
