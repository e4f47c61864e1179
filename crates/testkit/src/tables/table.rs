//! Random tables: columns, and every kind of key over them.

use crate::Random;
use crate::tables::column::{Column, Kind};

/// A random table.
#[derive(Clone, Debug)]
pub struct Table {
    /// In the order of CREATE TABLE.
    pub columns: Vec<Column>,
    /// In the order of CREATE TABLE.
    pub keys: Vec<Key>,
    row_format: &'static str,
}

/// The purpose of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// PRIMARY KEY.
    Primary,
    /// UNIQUE KEY.
    Unique,
    /// KEY.
    Plain,
}

/// A key of a random table.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name; `PRIMARY` for that one.
    pub name: String,
    /// Its purpose.
    pub kind: KeyKind,
    /// Its columns, in order.
    pub parts: Vec<Part>,
}

/// A column in a key.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its position in the table.
    pub column: usize,
    prefix: Option<usize>,
    descending: bool,
}

impl Table {
    /// A table that most servers take.
    pub fn random(random: &mut Random) -> Table {
        let count = random.pick(&[1, 2, 3, 5, 5, 8, 8, 12]);
        let mut long = 0;
        let mut columns: Vec<Column> = (0..count)
            .map(|number| {
                let column = Column::random(random, format!("c{number}"), long < 4);
                long += usize::from(column.is_long());
                column
            })
            .collect();
        let mut keys = Vec::new();
        if random.chance(6) {
            keys.push(auto_increment(random, &mut columns));
        }
        let has_primary = keys.iter().any(|key| key.kind == KeyKind::Primary);
        if !has_primary && !random.chance(5) {
            let parts = parts(random, &columns, true);
            for part in &parts {
                make_not_null(&mut columns[part.column]);
            }
            // A key that few rows share is worth more than one that most break.
            if parts.len() == 1 {
                columns[parts[0].column].spread = 1_000_000_000;
            }
            keys.push(Key { name: "PRIMARY".to_owned(), kind: KeyKind::Primary, parts });
        }
        for number in 0..random.pick(&[0, 1, 1, 2, 3, 5]) {
            let is_unique = random.chance(4);
            let parts = parts(random, &columns, is_unique);
            let kind = if is_unique { KeyKind::Unique } else { KeyKind::Plain };
            keys.push(Key { name: format!("k{number}"), kind, parts });
        }
        let row_format = random.pick(&["DYNAMIC", "DYNAMIC", "COMPACT"]);
        Table { columns, keys, row_format }
    }

    /// CREATE TABLE, perhaps without its keys; `extra` are further columns.
    pub fn sql(&self, name: &str, with_keys: bool, extra: &str) -> String {
        let mut lines: Vec<String> = self.columns.iter().map(Column::sql).collect();
        if !extra.is_empty() {
            lines.push(extra.to_owned());
        }
        if with_keys {
            lines.extend(self.keys.iter().map(|key| key.sql(&self.columns)));
        }
        format!(
            "CREATE TABLE `{name}` (\n  {}\n) ENGINE=InnoDB ROW_FORMAT={}",
            lines.join(",\n  "),
            self.row_format
        )
    }

    /// Name of its AUTO_INCREMENT column.
    pub fn auto_increment(&self) -> Option<&str> {
        let column = self.columns.iter().find(|column| column.auto_increment)?;
        Some(&column.name)
    }
}

impl Key {
    /// True if the server clusters the table by it, unless another such key comes before.
    pub fn is_clustered_candidate(&self, columns: &[Column]) -> bool {
        match self.kind {
            KeyKind::Primary => true,
            KeyKind::Unique => self
                .parts
                .iter()
                .all(|part| part.prefix.is_none() && !columns[part.column].nullable),
            KeyKind::Plain => false,
        }
    }

    /// True if it has a part of a column's values only.
    pub fn has_prefix(&self) -> bool {
        self.parts.iter().any(|part| part.prefix.is_some())
    }

    fn sql(&self, columns: &[Column]) -> String {
        let parts: Vec<String> = self.parts.iter().map(|part| part.sql(columns)).collect();
        let head = match self.kind {
            KeyKind::Primary => "PRIMARY KEY".to_owned(),
            KeyKind::Unique => format!("UNIQUE KEY `{}`", self.name),
            KeyKind::Plain => format!("KEY `{}`", self.name),
        };
        format!("{head} ({})", parts.join(", "))
    }
}

impl Part {
    fn sql(&self, columns: &[Column]) -> String {
        let prefix = self.prefix.map_or(String::new(), |length| format!("({length})"));
        let order = if self.descending { " DESC" } else { "" };
        format!("`{}`{prefix}{order}", columns[self.column].name)
    }
}

/// One to four different columns, more different values wanted for a unique key.
fn parts(random: &mut Random, columns: &[Column], is_unique: bool) -> Vec<Part> {
    let mut order: Vec<usize> = (0..columns.len()).collect();
    random.shuffle(&mut order);
    if is_unique {
        order.sort_by_key(|&column| columns[column].spread < 1000);
    }
    let count = random.pick(&[1, 1, 2, 2, 3, 4]).min(columns.len());
    let part = |&column: &usize| Part {
        prefix: prefix(random, &columns[column]),
        descending: random.chance(4),
        column,
    };
    order[..count].iter().map(part).collect()
}

fn prefix(random: &mut Random, column: &Column) -> Option<usize> {
    let most = match column.kind {
        Kind::Text(most) | Kind::Bytes(most) => most,
        Kind::Json => 100,
        _ => return None,
    };
    if most < 2 || !column.is_long() && random.chance(2) {
        return None;
    }
    // The whole length is no prefix.
    Some(random.pick(&[1, 2, 5, 20, 60, 180]).min(if column.is_long() { most } else { most - 1 }))
}

fn make_not_null(column: &mut Column) {
    column.nullable = false;
    column.default.take_if(|default| default == "NULL");
}

/// Makes the last column an AUTO_INCREMENT one, and a key of it.
fn auto_increment(random: &mut Random, columns: &mut [Column]) -> Key {
    let last = columns.len() - 1;
    let column = &mut columns[last];
    make_not_null(column);
    column.default = None;
    column.auto_increment = true;
    let unsigned = random.chance(2);
    let (bytes, name) = random.pick(&[(4, "INT"), (8, "BIGINT"), (8, "DOUBLE"), (4, "FLOAT")]);
    column.declaration = if unsigned { format!("{name} UNSIGNED") } else { name.to_owned() };
    column.kind = Kind::Integer { bytes, unsigned };
    let (kind, name) = random.pick(&[(KeyKind::Primary, "PRIMARY"), (KeyKind::Plain, "ai")]);
    let parts = vec![Part { column: last, prefix: None, descending: false }];
    Key { name: name.to_owned(), kind, parts }
}
