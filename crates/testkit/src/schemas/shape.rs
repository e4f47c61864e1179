//! The server's description of the tables of a database: columns, keys, references.

use server::identifier::quote_text;

use crate::tables::Db;

/// The tables of a database, in an order in which parents come before children as far as they can.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Each table.
    pub tables: Vec<TableShape>,
}

/// A table.
#[derive(Clone, Debug)]
pub struct TableShape {
    /// Its name.
    pub name: String,
    /// All columns in their order.
    pub columns: Vec<ColumnShape>,
    /// The foreign keys in the order of their names.
    pub foreign_keys: Vec<ForeignKeyShape>,
    /// Indexes that keep rows in an order.
    pub ordered_indexes: Vec<String>,
    /// True if it has a primary key.
    pub has_primary_key: bool,
    /// True if its rows are in partitions.
    pub is_partitioned: bool,
}

/// A column.
#[derive(Clone, Debug)]
pub struct ColumnShape {
    /// Its name.
    pub name: String,
    /// Its type without width and attributes: `varchar`.
    pub kind: String,
    /// All of its type: `int(10) unsigned`, `enum('a','b')`.
    pub declared: String,
    /// Characters or bytes, of text.
    pub length: usize,
    /// Digits of a number, and those of them behind the point.
    pub digits: (usize, usize),
    /// True if it accepts NULL.
    pub nullable: bool,
    /// True if the server computes it.
    pub is_generated: bool,
    /// True if the server counts it.
    pub is_auto_increment: bool,
    /// True if it has a default that is always the same.
    pub has_constant_default: bool,
    /// True if it alone is a primary or unique key.
    pub is_unique: bool,
    /// True if it is a part of a primary or unique key.
    pub is_in_key: bool,
    /// True if it may hold JSON only.
    pub is_json: bool,
    /// Literals of a CHECK.
    pub words: Vec<String>,
}

/// A foreign key.
#[derive(Clone, Debug)]
pub struct ForeignKeyShape {
    /// Its name.
    pub name: String,
    /// Positions of its columns.
    pub columns: Vec<usize>,
    /// The table that it refers to.
    pub parent: String,
    /// Names of the columns that it refers to.
    pub parent_columns: Vec<String>,
}

impl Shape {
    /// Reads the database of a session.
    pub fn read(db: &mut Db) -> Shape {
        let schema = quote_text(&db.name);
        let names = db.rows(&format!(
            "SELECT CONVERT(TABLE_NAME USING utf8mb4), CREATE_OPTIONS LIKE '%partitioned%' \
             FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA={schema} AND TABLE_TYPE='BASE TABLE' ORDER BY 1"
        ));
        let tables = names.iter().map(|row| TableShape {
            name: row.text_lossy(0),
            columns: Vec::new(),
            foreign_keys: Vec::new(),
            ordered_indexes: Vec::new(),
            has_primary_key: false,
            is_partitioned: row.text_lossy(1) == "1",
        });
        let mut shape = Shape { tables: tables.collect() };
        shape.read_columns(db, &schema);
        shape.read_indexes(db, &schema);
        shape.read_checks(db, &schema);
        shape.read_foreign_keys(db, &schema);
        shape.tables = parents_first(std::mem::take(&mut shape.tables));
        shape
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> &TableShape {
        self.tables.iter().find(|table| table.name == name).unwrap()
    }

    /// True if foreign keys, those of the table itself too, refer to a column.
    pub fn is_referenced(&self, table: &str, column: &str) -> bool {
        let mut keys = self.tables.iter().flat_map(|table| &table.foreign_keys);
        keys.any(|key| key.parent == table && key.parent_columns.iter().any(|c| c == column))
    }

    fn read_columns(&mut self, db: &mut Db, schema: &str) {
        let rows = db.rows(&format!(
            "SELECT CONVERT(TABLE_NAME USING utf8mb4), CONVERT(COLUMN_NAME USING utf8mb4), DATA_TYPE, \
             CONVERT(COLUMN_TYPE USING utf8mb4), IFNULL(CHARACTER_MAXIMUM_LENGTH, 0), \
             IFNULL(NUMERIC_PRECISION, 0), IFNULL(NUMERIC_SCALE, 0), IS_NULLABLE='YES', \
             EXTRA LIKE '%GENERATED%', EXTRA LIKE '%auto_increment%', \
             COLUMN_DEFAULT IS NOT NULL AND COLUMN_DEFAULT NOT LIKE '%(%' \
             FROM information_schema.COLUMNS WHERE TABLE_SCHEMA={schema} ORDER BY ORDINAL_POSITION"
        ));
        for row in rows {
            let is = |at: usize| row.text_lossy(at) == "1";
            let column = ColumnShape {
                name: row.text_lossy(1),
                kind: row.text_lossy(2),
                declared: row.text_lossy(3),
                length: row.number(4).unwrap(),
                digits: (row.number(5).unwrap(), row.number(6).unwrap()),
                nullable: is(7),
                is_generated: is(8),
                is_auto_increment: is(9),
                has_constant_default: is(10),
                is_unique: false,
                is_in_key: false,
                is_json: row.text_lossy(2) == "json",
                words: Vec::new(),
            };
            if let Some(table) = self.find(&row.text_lossy(0)) {
                table.columns.push(column);
            }
        }
    }

    fn read_indexes(&mut self, db: &mut Db, schema: &str) {
        let rows = db.rows(&format!(
            "SELECT CONVERT(TABLE_NAME USING utf8mb4), CONVERT(INDEX_NAME USING utf8mb4), \
             NON_UNIQUE, INDEX_TYPE, GROUP_CONCAT(CONVERT(COLUMN_NAME USING utf8mb4) \
             SEPARATOR '\\n') FROM information_schema.STATISTICS WHERE TABLE_SCHEMA={schema} \
             GROUP BY 1, 2, 3, 4 ORDER BY 1, 2"
        ));
        for row in rows {
            let Some(table) = self.find(&row.text_lossy(0)) else { continue };
            let (name, columns) = (row.text_lossy(1), row.text_lossy(4));
            let parts: Vec<&str> = columns.split('\n').collect();
            if row.text_lossy(2) == "0" {
                for column in table.columns.iter_mut().filter(|c| parts.contains(&&*c.name)) {
                    column.is_in_key = true;
                    column.is_unique |= parts.len() == 1;
                }
            }
            table.has_primary_key |= name == "PRIMARY";
            if row.text_lossy(3) == "BTREE" {
                table.ordered_indexes.push(name);
            }
        }
    }

    /// The texts of checks, as far as they say what values may be.
    fn read_checks(&mut self, db: &mut Db, schema: &str) {
        let rows = db.rows(&format!(
            "SELECT CONVERT(TABLE_NAME USING utf8mb4), CONVERT(CHECK_CLAUSE USING utf8mb4) \
             FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA={schema}"
        ));
        for row in rows {
            let clause = row.text_lossy(1);
            let Some(table) = self.find(&row.text_lossy(0)) else { continue };
            for column in &mut table.columns {
                if clause.contains(&format!("json_valid(`{}`)", column.name)) {
                    column.is_json = true;
                } else if clause.contains(&format!("`{}` in (", column.name)) {
                    column.words = quoted(&clause);
                }
            }
        }
    }

    fn read_foreign_keys(&mut self, db: &mut Db, schema: &str) {
        let rows = db.rows(&format!(
            "SELECT CONVERT(TABLE_NAME USING utf8mb4), CONVERT(CONSTRAINT_NAME USING utf8mb4), \
             CONVERT(COLUMN_NAME USING utf8mb4), CONVERT(REFERENCED_TABLE_NAME USING utf8mb4), \
             CONVERT(REFERENCED_COLUMN_NAME USING utf8mb4) \
             FROM information_schema.KEY_COLUMN_USAGE \
             WHERE TABLE_SCHEMA={schema} AND REFERENCED_TABLE_NAME IS NOT NULL \
             ORDER BY 1, 2, ORDINAL_POSITION"
        ));
        for row in rows {
            let Some(table) = self.find(&row.text_lossy(0)) else { continue };
            let (name, column) = (row.text_lossy(1), row.text_lossy(2));
            let column = table.columns.iter().position(|c| c.name == column).unwrap();
            match table.foreign_keys.last_mut().filter(|key| key.name == name) {
                Some(key) => {
                    key.columns.push(column);
                    key.parent_columns.push(row.text_lossy(4));
                }
                None => table.foreign_keys.push(ForeignKeyShape {
                    name,
                    columns: vec![column],
                    parent: row.text_lossy(3),
                    parent_columns: vec![row.text_lossy(4)],
                }),
            }
        }
    }

    fn find(&mut self, name: &str) -> Option<&mut TableShape> {
        self.tables.iter_mut().find(|table| table.name == name)
    }
}

impl TableShape {
    /// True if a foreign key can be left empty.
    pub fn may_be_null(&self, key: &ForeignKeyShape) -> bool {
        key.columns.iter().any(|&column| self.columns[column].nullable)
    }
}

/// Texts in quotes.
pub(super) fn quoted(text: &str) -> Vec<String> {
    text.split('\'').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Parents before children; in a circle those first whose keys to the others may be empty.
fn parents_first(mut left: Vec<TableShape>) -> Vec<TableShape> {
    let mut done: Vec<TableShape> = Vec::new();
    while !left.is_empty() {
        let waits = |table: &TableShape, if_null: bool| {
            let mut keys = table.foreign_keys.iter().filter(|key| key.parent != table.name);
            keys.any(|key| {
                let is_open = left.iter().any(|other| other.name == key.parent);
                is_open && !(if_null && table.may_be_null(key))
            })
        };
        let ready = left.iter().position(|table| !waits(table, false));
        let at = ready.or_else(|| left.iter().position(|table| !waits(table, true)));
        done.push(left.remove(at.unwrap_or(0)));
    }
    done
}
