//! A random table with a file for it, and what the server makes of the file.
//!
//! Left out is NULL for a TIMESTAMP NOT NULL, which becomes the time it is: [`crate::defaults`]
//! has that.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use load::{LoadOptions, Memory};
use server::version::Flavor;
use values::Charset;

use crate::Random;
use crate::tables::column::Kind;
use crate::tables::format::{Format, Written};
use crate::tables::oracle;
use crate::tables::server::Db;
use crate::tables::shape;
use crate::tables::table::{KeyKind, Table};
use crate::tables::value::Field;

/// The fields of a row of a file.
pub type Line = Vec<Field>;

/// A table, and how files for it are written.
pub struct Case {
    /// The table, which is there as `a` and as `b`.
    pub table: Table,
    /// How its files are written.
    pub format: Format,
    /// Columns of the fields of a line, as positions in the table.
    fields: Vec<usize>,
}

/// How the rows of a file are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// As the clustered index has them.
    Sorted,
    /// So at first, or but for one row.
    PartlySorted,
    /// In any order.
    Shuffled,
}

/// True if a UNIQUE key of the table `b` is too long for an ordered index, which is not built.
fn has_hash_index(db: &mut Db) -> bool {
    let of_table = "TABLE_SCHEMA=DATABASE() AND TABLE_NAME='b'";
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.STATISTICS WHERE {of_table} AND INDEX_TYPE='HASH'"
    );
    db.number(&sql) > 0
}

/// True if the server has VECTOR columns, and shapes whose bytes a load judges as it does.
fn has_vectors(db: &mut Db) -> bool {
    let version = db.session().version();
    version.flavor == Flavor::MySql && version.series() >= (9, 0)
}

/// True if the server has no remark about the table that it made, but for those of MySQL that some types may be
/// gone one day.
fn is_taken_as_it_is(db: &mut Db) -> bool {
    const DEPRECATED: [u16; 2] = [1287, 1681];
    const DEPRECATED_CHARSET: [u16; 2] = [3719, 3778];
    let may_stay = |code: &u16| [DEPRECATED, DEPRECATED_CHARSET].concat().contains(code);
    db.warnings().iter().all(|(code, _)| may_stay(code))
}

/// Rows sorted out by the server.
pub struct Sorted {
    /// Rows that load, as they are arranged in the file.
    pub good: Vec<Line>,
    /// True if these are in the order of the clustered index, if that is known.
    pub in_order: Option<bool>,
    /// Rows whose values strict mode refuses.
    pub bad: Vec<Line>,
    /// Rows with a key that a row before them has.
    pub duplicates: Vec<Line>,
}

impl Case {
    /// A table that the server takes; created as `a` and as `b`.
    pub fn random(random: &mut Random, db: &mut Db) -> Case {
        Case::random_with(random, db, |_, _| ())
    }

    /// The same, its table changed before it is created.
    pub fn random_with(
        random: &mut Random,
        db: &mut Db,
        change: impl Fn(&mut Random, &mut Table),
    ) -> Case {
        for _ in 0..1000 {
            let mut table = Table::random(random);
            change(random, &mut table);
            if has_vectors(db) && random.chance(3) {
                shape::add_columns(random, &mut table);
            }
            // Keys too long, rows too wide, defaults that do not fit.
            let sql = table.sql("b", true, "");
            // 10.5 does not sort the letter NUL in these as it compares it, so they cannot be keys of built tables.
            let is_sorted =
                db.session().version().series() >= (10, 6) || !sql.contains("_general_nopad_ci");
            let created = is_sorted && db.try_sql(&sql).is_ok();
            if created && is_taken_as_it_is(db) && !has_hash_index(db) {
                db.sql(&table.sql("a", true, ""));
                let mut format = Format::random(random);
                if shape::has_vector(&table) {
                    format.charset = Charset::Binary;
                }
                let fields = fields(random, &table);
                return Case { table, format, fields };
            }
            db.sql("DROP TABLE IF EXISTS b");
        }
        panic!("no table in a thousand was taken");
    }

    /// Names of the columns in the file.
    pub fn names(&self) -> Vec<&str> {
        self.fields.iter().map(|&column| self.table.columns[column].name.as_str()).collect()
    }

    /// A random row; `number` makes given AUTO_INCREMENT values ascend.
    pub fn line(&self, random: &mut Random, number: usize) -> Line {
        self.fields
            .iter()
            .map(|&position| {
                let column = &self.table.columns[position];
                let has_null = self.format.has_null();
                if column.auto_increment {
                    return match random.below(3) {
                        0 => Some(format!("{}", 1 + number * 3).into_bytes()),
                        1 if has_null => None,
                        _ => Some(b"0".to_vec()),
                    };
                }
                if column.nullable && has_null && random.chance(5) {
                    return None;
                }
                if let Kind::Shape { .. } | Kind::Vector(_) = column.kind {
                    return Some(shape::tamed(random, &column.kind, |value| {
                        self.format.tame(value)
                    }));
                }
                let mut value = column.value(random, self.format.charset);
                self.format.tame(&mut value);
                Some(value)
            })
            .collect()
    }

    /// A row of which something may be wrong.
    pub fn bad_line(&self, random: &mut Random, number: usize) -> Line {
        let mut line = self.line(random, number);
        let at = random.below(line.len());
        // Where a separator ends the line, LOAD DATA counts fields with the help of `@rest`, so
        // one more or less goes unnoticed.
        let counts = !self.format.dialect.trailing_separator;
        match random.below(12) {
            0 if counts && line.len() > 1 => drop(line.pop()),
            1 if counts => {
                let one_more = random.pick(&[b"one more".as_slice(), b"", b" "]);
                line.push(Some(one_more.to_vec()));
            }
            // To a TIMESTAMP that is NOT NULL the server gives the time it is: see the module.
            2 if self.format.has_null() && !self.is_timestamp(at) => line[at] = None,
            _ => {
                let column = &self.table.columns[self.fields[at]];
                if !column.auto_increment {
                    let mut value = column.bad_value(random, self.format.charset);
                    self.format.tame(&mut value);
                    line[at] = Some(value);
                }
            }
        }
        line
    }

    fn is_timestamp(&self, field: usize) -> bool {
        matches!(self.table.columns[self.fields[field]].kind, Kind::Timestamp)
    }

    /// Writes rows to a file.
    pub fn write(&self, random: &mut Random, path: &Path, rows: &[&Line]) -> Written {
        let written = self.format.write(random, &self.names(), rows);
        std::fs::write(path, &written.bytes).unwrap();
        written
    }

    /// Has the server sort rows out.
    pub fn sort_out(
        &self,
        random: &mut Random,
        db: &mut Db,
        folder: &Path,
        lines: Vec<Line>,
        arrangement: Arrangement,
    ) -> Sorted {
        let (taken, bad) = self.part(random, db, folder, lines);
        let mut order = self.order(random, db, folder, &taken);
        let kept: BTreeSet<usize> = order.iter().copied().collect();
        let duplicates =
            (0..taken.len()).filter(|row| !kept.contains(row)).map(|row| taken[row].clone());
        let duplicates = duplicates.collect();
        let clustered = order.clone();
        let in_order = if self.table.auto_increment().is_some() {
            // Values that are generated depend on the rows before.
            order.sort_unstable();
            None
        } else {
            arrangement.apply(random, &mut order);
            Some(order == clustered || !self.has_clustered_key())
        };
        Sorted {
            in_order,
            good: order.iter().map(|&row| taken[row].clone()).collect(),
            bad,
            duplicates,
        }
    }

    /// Has the server part rows into those whose values it takes and those it refuses.
    pub fn part(
        &self,
        random: &mut Random,
        db: &mut Db,
        folder: &Path,
        lines: Vec<Line>,
    ) -> (Vec<Line>, Vec<Line>) {
        let refused = self.refused(random, db, folder, &lines);
        let pick = |numbers: &BTreeSet<usize>, inside: bool| -> Vec<Line> {
            let rows = lines.iter().enumerate();
            rows.filter(|(n, _)| numbers.contains(n) == inside).map(|(_, l)| l.clone()).collect()
        };
        (pick(&refused, false), pick(&refused, true))
    }

    /// Numbers of the rows whose values the server refuses.
    pub(crate) fn refused(
        &self,
        random: &mut Random,
        db: &mut Db,
        folder: &Path,
        lines: &[Line],
    ) -> BTreeSet<usize> {
        let path = folder.join("scratch");
        self.write(random, &path, &lines.iter().collect::<Vec<_>>());
        let remarks = oracle::remarks(db, &self.table, &self.format, &path, &self.names());
        let mut refused = remarks.refused;
        for row in remarks.doubtful {
            self.write(random, &path, &[&lines[row]]);
            if !oracle::is_taken(db, &self.format, &path, &self.names()) {
                refused.insert(row);
            }
        }
        refused
    }

    /// Rows that the keys let in, the first of each key, in the order of the clustered index.
    pub fn order(
        &self,
        random: &mut Random,
        db: &mut Db,
        folder: &Path,
        taken: &[Line],
    ) -> Vec<usize> {
        let path = folder.join("scratch");
        self.write(random, &path, &taken.iter().collect::<Vec<_>>());
        oracle::order(db, &self.table, &self.format, &path, &self.names())
    }

    /// True if rows can have keys in common.
    pub fn has_unique_key(&self) -> bool {
        self.table.keys.iter().any(|key| key.kind != KeyKind::Plain)
    }

    /// Options of the load of `paths`.
    pub fn options(&self, mut options: LoadOptions, paths: Vec<PathBuf>) -> LoadOptions {
        options.input.files = paths;
        options.input.dialect = self.format.dialect.clone();
        options.input.charset = self.format.charset.name().to_owned();
        options.input.header = self.format.header;
        options.input.skip_lines = self.format.skip_lines;
        if !options.input.header || self.fields.len().is_multiple_of(2) {
            options.input.columns =
                Some(self.names().iter().map(|&name| name.to_owned()).collect());
        }
        options
    }

    /// True if the program reads each field as LOAD DATA does. Of tab-separated text it does not: there an empty field
    /// is NULL in columns of numbers.
    pub fn is_read_alike(&self) -> bool {
        let dialect = &self.format.dialect;
        !dialect.any_newline || dialect.enclosed_by.is_some() || dialect.trailing_separator
    }

    /// True if rows are stored by a key of their own: not a hidden number.
    pub fn has_clustered_key(&self) -> bool {
        self.table.keys.iter().any(|key| key.is_clustered_candidate(&self.table.columns))
    }
}

impl Arrangement {
    /// One of them.
    pub fn random(random: &mut Random) -> Arrangement {
        random.pick(&[Arrangement::Sorted, Arrangement::PartlySorted, Arrangement::Shuffled])
    }

    fn apply<T>(self, random: &mut Random, rows: &mut [T]) {
        match self {
            Arrangement::Sorted => {}
            Arrangement::Shuffled => random.shuffle(rows),
            // One late row is the hardest: all before it was built in vain.
            Arrangement::PartlySorted if rows.len() > 1 && random.chance(2) => {
                let last = rows.len() - 1;
                rows.swap(random.below(last), last);
            }
            Arrangement::PartlySorted => {
                let from = random.below(rows.len() + 1);
                random.shuffle(&mut rows[from..]);
            }
        }
    }
}

/// All columns in order; or some of them, in any order.
fn fields(random: &mut Random, table: &Table) -> Vec<usize> {
    let mut fields: Vec<usize> = (0..table.columns.len()).collect();
    if random.chance(2) {
        return fields;
    }
    random.shuffle(&mut fields);
    let is_key = |column: usize| {
        table.keys.iter().any(|key| key.parts.iter().any(|part| part.column == column))
    };
    fields.retain(|&position| {
        let column = &table.columns[position];
        let may_go = column.is_optional() && (!is_key(position) || column.auto_increment);
        !(may_go && random.chance(2))
    });
    if fields.is_empty() { vec![0] } else { fields }
}

/// Shares so small that a few hundred rows make chunks, hand-overs, runs, spills and ranges.
pub fn tiny_shares(random: &mut Random, stores: usize) -> Memory {
    let threads = random.between(1, 4);
    Memory {
        threads,
        chunk_bytes: random.pick(&[100, 3_000, 40_000]),
        record_bytes_max: 8 << 20,
        batch_bytes: random.pick(&[0, 40_000, 400_000]),
        entry_bytes: random.pick(&[500, 20_000, 200_000]),
        run_bytes: random.pick(&[300 << 10, 2 << 20]) * threads * stores,
    }
}
