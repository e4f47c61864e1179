//! The same random changes to two tables.

use std::path::Path;

use server::identifier::quote_text;

use crate::Random;
use crate::tables::case::{Case, Line};
use crate::tables::column::{Column, Kind};
use crate::tables::server::Db;

/// Inserts, updates (of keys too), deletes, and a rollback, in tables `a` and `b`.
pub(crate) fn change(random: &mut Random, db: &mut Db, case: &Case, folder: &Path, rows: usize) {
    same_counters(db, case);
    let pick = Pick::new(&case.table.columns);
    let few = (rows / 4).clamp(3, 400);
    insert(random, db, case, folder, few, "REPLACE");
    both(db, &format!("DELETE FROM `{{}}` WHERE {}", pick.one_in(random, 5)));
    for _ in 0..4 {
        let column = &case.table.columns[random.below(case.table.columns.len())];
        if column.auto_increment {
            continue;
        }
        let value = literal(random, column);
        let which = pick.one_in(random, 23);
        both(db, &format!("UPDATE IGNORE `{{}}` SET `{}` = {value} WHERE {which}", column.name));
    }
    both(db, "BEGIN");
    both(db, "DELETE FROM `{}`");
    insert(random, db, case, folder, few, "IGNORE");
    both(db, "ROLLBACK");
    insert(random, db, case, folder, few, "IGNORE");
}

/// A statement for either table, whose name is the first `{}`; or some, which are one transaction. It
/// may be refused.
pub fn statements(random: &mut Random, case: &Case) -> Vec<String> {
    let columns = &case.table.columns;
    let pick = Pick::new(columns);
    let row = |random: &mut Random, verb: &str| {
        let value = |column: &Column| match column.auto_increment {
            true => "NULL".to_owned(),
            false => literal(random, column),
        };
        let values: Vec<String> = columns.iter().map(value).collect();
        format!("{verb} INTO `{{}}` VALUES ({})", values.join(", "))
    };
    match random.below(9) {
        0 | 1 => vec![row(random, "INSERT IGNORE")],
        2 | 3 => vec![row(random, "INSERT")],
        4 => vec![row(random, "REPLACE")],
        5 => vec![format!("DELETE FROM `{{}}` WHERE {}", pick.one_in(random, 40))],
        6 | 7 => {
            let column = random.below(columns.len());
            let column = &columns[column];
            if column.auto_increment {
                return Vec::new();
            }
            let (value, which) = (literal(random, column), pick.one_in(random, 20));
            vec![format!("UPDATE IGNORE `{{}}` SET `{}` = {value} WHERE {which}", column.name)]
        }
        _ => {
            let delete = format!("DELETE FROM `{{}}` WHERE {}", pick.one_in(random, 3));
            let insert = row(random, "INSERT IGNORE");
            let end = random.pick(&["ROLLBACK", "ROLLBACK", "COMMIT"]);
            vec!["BEGIN".to_owned(), delete, insert, end.to_owned()]
        }
    }
}

fn both(db: &mut Db, sql: &str) {
    if !sql.contains("{}") {
        db.sql(sql);
        return;
    }
    for table in ["a", "b"] {
        db.sql(&sql.replace("{}", table));
    }
}

/// Both tables go on with the same AUTO_INCREMENT value.
fn same_counters(db: &mut Db, case: &Case) {
    let Some(column) = case.table.auto_increment() else { return };
    let next = |table| {
        format!(
            "SELECT AUTO_INCREMENT FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME='{table}'"
        )
    };
    let (ours, theirs) = (db.text(&next("b")), db.text(&next("a")));
    assert_eq!(ours, theirs, "AUTO_INCREMENT, column {column}");
}

fn insert(random: &mut Random, db: &mut Db, case: &Case, folder: &Path, rows: usize, how: &str) {
    let path = folder.join("more");
    let lines: Vec<Line> = (0..rows).map(|number| case.line(random, 1_000_000 + number)).collect();
    let refused = case.refused(random, db, folder, &lines);
    let good = lines.iter().enumerate().filter(|(number, _)| !refused.contains(number));
    case.write(random, &path, &good.map(|(_, line)| line).collect::<Vec<_>>());
    for table in ["a", "b"] {
        db.sql(&case.format.load_data(&path, how, table, &case.names()));
    }
}

/// Picks rows by their contents, so that both tables lose or change the same.
struct Pick {
    digest: String,
}

impl Pick {
    fn new(columns: &[Column]) -> Pick {
        let hex = |column: &Column| format!("HEX(CAST(`{}` AS BINARY))", column.name);
        let list: Vec<String> = columns.iter().map(hex).collect();
        Pick { digest: format!("CRC32(CONCAT_WS('|', {}))", list.join(", ")) }
    }

    fn one_in(&self, random: &mut Random, parts: usize) -> String {
        format!("{} % {parts} = {}", self.digest, random.below(parts))
    }
}

/// A value of the column in SQL.
fn literal(random: &mut Random, column: &Column) -> String {
    if column.nullable && random.chance(4) {
        return "NULL".to_owned();
    }
    let value = column.value(random, column.charset);
    let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
    match column.kind {
        Kind::Text(_) => format!("_{} x'{hex}'", column.charset.name()),
        Kind::Bytes(_) | Kind::Bit(_) | Kind::Shape { .. } | Kind::Vector(_) => format!("x'{hex}'"),
        _ => quote_text(&String::from_utf8_lossy(&value)),
    }
}
