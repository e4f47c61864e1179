//! The history of a table: the same statements on table `a` and on `b`.

use server::identifier::quote_text;

use crate::Random;
use crate::aged::family::{Column, Family};
use crate::aged::value::{Place, Values};
use crate::tables::server::{Db, Server};

/// Rows of an INSERT.
const ROWS: [usize; 4] = [1, 40, 100, 200];
/// The first INSERTs, of rows that fill some pages of each index, and rows of each.
const FIRST: usize = 8;
const FIRST_ROWS: usize = 250;

/// Two tables with one history.
pub struct Aged {
    /// Their family.
    pub family: &'static Family,
    /// Columns that rows are written to, as the tables are now.
    pub(crate) columns: Vec<Column>,
    /// Rows that were made up so far.
    pub(crate) serial: usize,
    /// How many of the family's alterations are made.
    alters: usize,
}

/// A reader that wants to see old rows, so that no record deleted meanwhile is purged.
pub struct Held {
    db: Db,
}

impl Held {
    /// Holds what is there now.
    pub fn new(server: &Server, db: &Db) -> Held {
        let mut db = server.session(&db.name);
        db.sql("START TRANSACTION WITH CONSISTENT SNAPSHOT");
        Held { db }
    }

    /// Needs it no longer.
    pub fn release(mut self) {
        self.db.sql("ROLLBACK");
    }
}

/// Waits until nothing is left to purge on a server where nobody holds anything.
pub fn purged(db: &mut Db) {
    db.sql("SET GLOBAL innodb_max_purge_lag_wait=0");
}

impl Aged {
    /// Makes the two tables, empty, in the database of the session.
    pub fn new(db: &mut Db, family: &'static Family) -> Aged {
        for sql in family.create {
            both(db, sql);
        }
        Aged { family, columns: family.columns.to_vec(), serial: 0, alters: 0 }
    }

    /// Fills them, in random order of every key.
    pub fn grow(&mut self, random: &mut Random, db: &mut Db) {
        for _ in 0..FIRST {
            self.insert(random, db, "INSERT IGNORE", FIRST_ROWS);
        }
    }

    /// Names of the columns that rows are written to.
    pub fn columns(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.to_owned()).collect()
    }

    /// So many statements: rows inserted, changed, deleted, committed or not.
    pub fn live(&mut self, random: &mut Random, db: &mut Db, statements: usize) {
        for number in 0..statements {
            if number % 8 == 7 {
                self.alter(db);
            }
            if random.chance(8) {
                both(db, "BEGIN");
                for _ in 0..random.between(1, 4) {
                    self.statement(random, db);
                }
                both(db, random.pick(&["ROLLBACK", "ROLLBACK", "COMMIT"]));
            } else {
                self.statement(random, db);
            }
        }
    }

    /// Deletes rows everywhere, and those of one time.
    pub fn thin_out(&mut self, random: &mut Random, db: &mut Db) {
        both(db, &format!("DELETE FROM {{}} WHERE n % 6 = {}", random.below(6)));
        let from = random.below(self.serial.max(1));
        let to = from + self.serial / 15;
        both(db, &format!("DELETE FROM {{}} WHERE n BETWEEN {from} AND {to}"));
    }

    /// Leaves the pages of a dropped index in the files, until they are purged.
    pub fn drop_an_index(&self, db: &mut Db) {
        both(db, "CREATE INDEX dropped ON {} (n)");
        both(db, "DROP INDEX dropped ON {}");
    }

    fn statement(&mut self, random: &mut Random, db: &mut Db) {
        match random.below(20) {
            0..8 => {
                let rows = random.pick(&ROWS);
                self.insert(random, db, "INSERT IGNORE", rows);
            }
            8 => self.insert(random, db, "REPLACE", ROWS[1]),
            9..13 => self.update(random, db),
            13 | 14 => self.count_up(random, db),
            15 => self.delete_range(random, db),
            16 => self.delete_some(random, db, 9),
            _ if !self.family.others.is_empty() => {
                let sql = random.pick(self.family.others);
                both(db, &sql.replace("{number}", &random.below(50).to_string()));
            }
            _ => self.delete_some(random, db, 40),
        }
    }

    fn insert(&mut self, random: &mut Random, db: &mut Db, verb: &str, rows: usize) {
        let rows: Vec<String> = (0..rows)
            .map(|_| {
                let row = self.row(random, Place::Among);
                tuple(&row)
            })
            .collect();
        let columns = self.columns().join(", ");
        both(db, &format!("{verb} INTO {{}} ({columns}) VALUES {}", rows.join(", ")));
    }

    /// The fields of a new row.
    pub(crate) fn row(&mut self, random: &mut Random, place: Place) -> Vec<Option<String>> {
        self.serial += 1;
        let value = |column: &Column| column.values.value(random, place, self.serial);
        self.columns.iter().map(value).collect()
    }

    /// Gives some rows one value; of those that share a key then, the first gets it.
    fn update(&self, random: &mut Random, db: &mut Db) {
        let column = random.pick(&self.columns);
        if !column.values.may_change() {
            return;
        }
        let value = literal(column.values.value(random, Place::Among, 0).as_deref());
        let parts = random.pick(&[11, 53, 211]);
        let part = random.below(parts);
        both(
            db,
            &format!("UPDATE IGNORE {{}} SET {} = {value} WHERE n % {parts} = {part}", column.name),
        );
    }

    fn count_up(&self, random: &mut Random, db: &mut Db) {
        let column = random.pick(&self.columns);
        if !column.values.is_number() {
            return;
        }
        let (name, step) = (column.name, random.between(1, 9));
        let part = random.below(17);
        both(db, &format!("UPDATE IGNORE {{}} SET {name} = {name} + {step} WHERE n % 17 = {part}"));
    }

    /// Deletes rows that are neighbours by a column, so that pages are merged.
    fn delete_range(&self, random: &mut Random, db: &mut Db) {
        let column = random.pick(&self.columns);
        let (Values::Number(below) | Values::NumberOrNull(below)) = column.values else { return };
        let from = random.below(below);
        let (name, to) = (column.name, from + below / 20);
        both(db, &format!("DELETE FROM {{}} WHERE {name} BETWEEN {from} AND {to}"));
    }

    fn delete_some(&self, random: &mut Random, db: &mut Db, parts: usize) {
        let part = random.below(parts);
        both(db, &format!("DELETE FROM {{}} WHERE n % {parts} = {part}"));
    }

    /// Makes the next of the family's alterations, if there is one.
    fn alter(&mut self, db: &mut Db) {
        let Some(alter) = self.family.alters.get(self.alters) else { return };
        self.alters += 1;
        both(db, alter.sql);
        self.columns.retain(|column| Some(column.name) != alter.dropped);
        self.columns.extend(alter.added);
    }
}

/// A row as VALUES has it.
pub(crate) fn tuple(fields: &[Option<String>]) -> String {
    let values: Vec<String> = fields.iter().map(|field| literal(field.as_deref())).collect();
    format!("({})", values.join(", "))
}

fn literal(value: Option<&str>) -> String {
    value.map_or("NULL".to_owned(), quote_text)
}

/// Runs a statement for table `a` and for `b`, which may refuse it for a key.
#[track_caller]
fn both(db: &mut Db, sql: &str) {
    match sql.contains("{}") {
        true => _ = tried(db, sql),
        false => _ = db.sql(sql),
    }
}

/// Runs a statement for table `a` and for `b`: rows changed, or the error that both gave.
#[track_caller]
pub(crate) fn tried(db: &mut Db, sql: &str) -> Result<u64, Option<u16>> {
    let [ours, theirs] = ["b", "a"].map(|table| {
        let outcome = db.try_sql(&sql.replace("{}", table));
        outcome.map(|done| done.affected_rows).map_err(|error| {
            // A key that is there, that other rows need, or that is not there.
            assert!(matches!(error.errno(), Some(1062 | 1451 | 1452)), "{sql}: {error}");
            error.errno()
        })
    });
    assert_eq!(ours, theirs, "{sql}");
    ours
}
