//! The same schema and files by LOAD DATA and by Inrush.

use std::collections::BTreeMap;
use std::fs::File;

use server::identifier::quote_name;
use testkit::schemas::shape::{ForeignKeyShape, TableShape};
use testkit::schemas::{Schema, Shape};
use testkit::tables::compare::{scan, show};
use testkit::tables::server::Db;
use testkit::{Random, TestServer};

use super::corpus::Corpus;
use crate::support::run;

/// The server's errors about a row without a parent, and about a parent that still has rows.
const NO_PARENT: u16 = 1452;
const HAS_CHILDREN: u16 = 1451;

/// The findings of several schemas.
#[derive(Default)]
struct Met {
    rows: usize,
    cascaded: u64,
    /// How often the server gave an error, by its number.
    refused: BTreeMap<u16, usize>,
}

/// The tables without the counters, of which it is told elsewhere.
pub(crate) fn definitions(db: &mut Db, shape: &Shape) -> Vec<String> {
    let tables = shape.tables.iter();
    tables
        .map(|table| {
            let sql = format!("SHOW CREATE TABLE {}", quote_name(&table.name));
            let text = db.rows(&sql)[0].text_lossy(1);
            let words = text.split(' ').filter(|word| !word.starts_with("AUTO_INCREMENT="));
            words.collect::<Vec<_>>().join(" ")
        })
        .collect()
}

pub(crate) fn counters(db: &mut Db) -> Vec<String> {
    let sql = format!(
        "SELECT CONVERT(TABLE_NAME USING utf8mb4), AUTO_INCREMENT FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA='{}' AND AUTO_INCREMENT IS NOT NULL ORDER BY 1",
        db.name
    );
    db.rows(&sql).iter().map(show).collect()
}

/// The rows in the order of an index; of tables that have no key of their own sorted, as hidden
/// numbers may have rows that are equal in another order.
fn rows(db: &mut Db, table: &TableShape, index: Option<&str>) -> Vec<String> {
    let rows = match table.is_partitioned {
        true => db.rows(&format!("SELECT * FROM {}", quote_name(&table.name))),
        false => scan(db, &table.name, index),
    };
    let mut rows: Vec<String> = rows.iter().map(show).collect();
    if table.is_partitioned || !table.has_primary_key {
        rows.sort();
    }
    rows
}

#[track_caller]
pub(crate) fn assert_same(ours: &mut Db, theirs: &mut Db, shape: &Shape, when: &str) -> usize {
    let mut count = 0;
    for table in &shape.tables {
        let ordered = table.ordered_indexes.iter().map(|index| Some(index.as_str()));
        let indexes: Vec<Option<&str>> = match table.is_partitioned {
            true => vec![None],
            false => [None].into_iter().chain(ordered).collect(),
        };
        for index in indexes {
            let (a, b) = (rows(ours, table, index), rows(theirs, table, index));
            let differ = a.iter().zip(&b).find(|(a, b)| a != b);
            assert_eq!(differ, None, "{when}: {} by {index:?}", table.name);
            assert_eq!(a.len(), b.len(), "{when}: {} by {index:?}", table.name);
            count += a.len();
        }
        let check = ours.rows(&format!("CHECK TABLE {} EXTENDED", quote_name(&table.name)));
        assert_eq!(check.last().unwrap().text_lossy(3), "OK", "{when}: {}", table.name);
    }
    count
}

pub(crate) fn load_data(db: &mut Db, corpus: &Corpus) {
    db.sql(&format!("SET foreign_key_checks={}", u8::from(!corpus.schema.is_unchecked())));
    for (path, rows) in corpus.rows.write(corpus.home.path()) {
        let sql = rows.load_data(&quote_name(&rows.table));
        db.session().load_local(&sql, File::open(path).unwrap()).unwrap();
        assert_eq!(db.warnings(), [], "{sql}");
    }
    db.sql("SET foreign_key_checks=1");
}

/// A statement that breaks a key, or has it do what it is for.
struct Change {
    sql: String,
    /// True if it deletes rows.
    deletes: bool,
}

/// Some for each foreign key, in any order.
fn changes(random: &mut Random, shape: &Shape) -> Vec<Change> {
    let mut all = Vec::new();
    for child in &shape.tables {
        for key in &child.foreign_keys {
            all.extend(changes_of(random, shape.table(&key.parent), child, key));
        }
    }
    random.shuffle(&mut all);
    all
}

fn changes_of(
    random: &mut Random,
    parent: &TableShape,
    child: &TableShape,
    key: &ForeignKeyShape,
) -> [Change; 3] {
    let names: Vec<String> = child.columns.iter().map(|column| quote_name(&column.name)).collect();
    let column = &child.columns[key.columns[0]];
    let (own, its) = (quote_name(&column.name), quote_name(&key.parent_columns[0]));
    let (child, parent) = (quote_name(&child.name), quote_name(&parent.name));
    let elsewhere = match column.kind.as_str() {
        "date" => "'2099-12-31'",
        "datetime" | "timestamp" => "'2037-01-01 00:00:00'",
        "enum" | "set" | "year" => "2",
        "uuid" => "'ffffffff-0000-0000-0000-000000000000'",
        "inet6" => "'ffff::1'",
        "bit" => "b'1111111'",
        "char" | "varchar" | "binary" | "varbinary" => "'zz'",
        _ => "119",
    };
    let row = random.below(20);
    let referred =
        format!("(SELECT a FROM (SELECT {its} a FROM {parent} ORDER BY 1 LIMIT {row}, 1) x)");
    let order = names.join(", ");
    let orphan = format!(
        "UPDATE {child} SET {own}={elsewhere} WHERE {own} IS NOT NULL ORDER BY {order} LIMIT 1"
    );
    let delete = format!("DELETE FROM {parent} WHERE {its}={referred}");
    let update = format!("UPDATE {parent} SET {its}={elsewhere} WHERE {its}={referred}");
    [(orphan, false), (delete, true), (update, false)].map(|(sql, deletes)| Change { sql, deletes })
}

/// Does the same to both, one change after the other, and looks at all rows at the end.
fn change(ours: &mut Db, theirs: &mut Db, corpus: &Corpus, random: &mut Random, met: &mut Met) {
    let before = count(ours, &corpus.shape);
    let mut deleted = 0;
    for change in changes(random, &corpus.shape) {
        let done = [ours.try_sql(&change.sql), theirs.try_sql(&change.sql)];
        let said = done.map(|done| match done {
            Ok(done) => Ok(done.affected_rows),
            Err(error) => Err(error.errno().unwrap_or_else(|| panic!("{error}"))),
        });
        assert_eq!(said[0], said[1], "{}: {}", corpus.schema.name, change.sql);
        match said[0] {
            Ok(rows) if change.deletes => deleted += rows,
            Ok(_) => {}
            Err(errno) => *met.refused.entry(errno).or_default() += 1,
        }
    }
    met.cascaded += before - deleted - count(ours, &corpus.shape);
    assert_same(ours, theirs, &corpus.shape, &format!("{}, changed", corpus.schema.name));
}

fn count(db: &mut Db, shape: &Shape) -> u64 {
    let tables = shape.tables.iter();
    tables
        .map(|table| db.number(&format!("SELECT COUNT(*) FROM {}", quote_name(&table.name))))
        .sum()
}

/// One schema from beginning to end, its tables taken for large or for small ones.
fn one(
    server: &'static TestServer,
    schema: Schema,
    size: &str,
    seed: u64,
    count: usize,
    met: &mut Met,
) {
    let random = &mut Random::new(seed);
    let corpus = Corpus::new(server, schema, random, count);
    let name = corpus.schema.name.clone();
    let (mut ours, mut theirs) = (corpus.database(), corpus.database());
    let before = definitions(&mut ours, &corpus.shape);
    let mut load = corpus.inrush("load", &ours);
    let loaded = run(load.arg("--json").env("INRUSH_FAILPOINT", format!("tables={size}")));
    assert_eq!(loaded.code(), 0, "{name}, {size}, seed {seed}: {loaded:?}");
    load_data(&mut theirs, &corpus);
    met.rows += assert_same(&mut ours, &mut theirs, &corpus.shape, &format!("{name}, seed {seed}"));
    assert_eq!(definitions(&mut ours, &corpus.shape), before, "{name}");
    assert_eq!(counters(&mut ours), counters(&mut theirs), "{name}, seed {seed}");
    change(&mut ours, &mut theirs, &corpus, random, met);
    for db in [&mut ours, &mut theirs] {
        let sql = format!("DROP DATABASE {}", db.name);
        db.sql(&sql);
    }
}

#[test]
fn tables_of_applications_are_those_of_load_data() {
    let Some(server) = TestServer::shared() else { return };
    let mut met = Met::default();
    for name in ["shop", "names", "circle", "saas", "widths", "insurance", "mixed_charsets"] {
        one(server, Schema::named(name), "large", 1, 60, &mut met);
    }
    for name in ["names", "insurance"] {
        one(server, Schema::named(name), "small", 2, 30, &mut met);
    }
    met.check();
}

#[test]
#[ignore = "minutes long; make soak runs it"]
fn tables_of_all_schemas_are_those_of_load_data() {
    let Some(server) = TestServer::shared() else { return };
    let mut met = Met::default();
    for (seed, schema) in (Random::seed_of_run()..).zip(Schema::all()) {
        let size = if seed.is_multiple_of(2) { "large" } else { "small" };
        one(server, schema, size, seed, 300, &mut met);
    }
    met.check();
}

impl Met {
    /// Keys were broken on both sides of them, and cascades removed rows.
    fn check(&self) {
        println!("{} rows, {} by cascades, refused {:?}", self.rows, self.cascaded, self.refused);
        for errno in [NO_PARENT, HAS_CHILDREN] {
            assert!(self.refused.contains_key(&errno), "{errno}: {:?}", self.refused);
        }
        assert!(self.rows > 0 && self.cascaded > 0);
    }
}
