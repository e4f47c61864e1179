//! The rows that differ, where digests do.

use std::collections::{HashMap, HashSet};

use job::error::Error;
use job::options::LoadOptions;
use job::stop::Stop;
use server::Session;
use sources::{Row, Source};

use super::columns::{Columns, InputRows, Read, RowBytes};
use super::digest::Digest;
use super::report::{OtherRow, VerifyReport};
use super::table_rows::TableRows;
use crate::pass::{self, Take};
use crate::place::Here;
use crate::table;

/// Rows that are kept at most to be compared, of the parts that differ; at least those of one part are.
const ROWS_MAX: u64 = 1 << 18;
/// Rows of each kind that the report has.
const ROWS_TOLD: usize = 20;

/// The rows of the table, as a session shows them.
pub(crate) struct ShownRows<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) rows: &'a mut TableRows,
    /// Reads all of them.
    pub(crate) statement: &'a str,
}

/// Finds the rows of the parts that differ, as many as there is room for, and writes them down.
pub(crate) fn find(
    columns: &Columns,
    options: &LoadOptions,
    differing: &[(usize, u64)],
    source: &mut dyn Source,
    shown: ShownRows<'_>,
    report: &mut VerifyReport,
) -> Result<(), Error> {
    let ShownRows { session, rows, statement } = shown;
    let mut there = There::new(differing);
    report.are_all_told = there.parts.len() == differing.len();
    let mut bytes = RowBytes::default();
    session.for_each(statement, |row| {
        rows.read(&row, &mut bytes);
        let hash = Digest::hash(&bytes.bytes);
        if there.is_wanted(hash) {
            let same = there.rows.entry(hash).or_insert_with(|| Same {
                count: 0,
                key: bytes.key(&columns.key),
                text: rows.key_text(&row),
            });
            same.count += 1;
        }
        Ok(())
    })?;
    let mut search = Search {
        there,
        rows: InputRows::new(columns),
        bytes,
        key: &columns.key,
        options,
        missing: 0,
        first: Vec::new(),
        keys: HashMap::new(),
    };
    pass::again(source, &options.interrupt, &mut search).map_err(table::failed)?;
    search.tell(report);
    Ok(())
}

/// Rows of the table in the parts that differ.
struct There {
    parts: HashSet<usize>,
    rows: HashMap<u128, Same>,
}

/// Rows that are the same.
struct Same {
    count: u64,
    key: Vec<u8>,
    text: String,
}

impl There {
    fn new(differing: &[(usize, u64)]) -> There {
        let mut room = ROWS_MAX;
        let fits = |&&(_, rows): &&(usize, u64)| {
            let is_first = room == ROWS_MAX;
            let fits = rows <= room;
            room = room.saturating_sub(rows);
            fits || is_first
        };
        let parts = differing.iter().take_while(fits).map(|(part, _)| *part).collect();
        There { parts, rows: HashMap::new() }
    }

    fn is_wanted(&self, hash: u128) -> bool {
        self.parts.contains(&Digest::part(hash))
    }
}

/// The search for rows of the input that the table lacks.
struct Search<'a> {
    there: There,
    rows: InputRows<'a>,
    bytes: RowBytes,
    key: &'a [usize],
    options: &'a LoadOptions,
    missing: u64,
    first: Vec<OtherRow>,
    /// Keys of the rows that are missing: the place among the first of them, if they have one.
    keys: HashMap<Vec<u8>, Option<usize>>,
}

impl Take for Search<'_> {
    fn take<R: Row>(&mut self, row: R, here: Here<'_>) -> Result<(), Stop> {
        if self.rows.read(row, &mut self.bytes) != Read::Row {
            return Ok(());
        }
        let hash = Digest::hash(&self.bytes.bytes);
        if !self.there.is_wanted(hash) {
            return Ok(());
        }
        match self.there.rows.get_mut(&hash).filter(|same| same.count > 0) {
            Some(same) => same.count -= 1,
            None => {
                let is_told = self.first.len() < ROWS_TOLD;
                self.keys.insert(self.bytes.key(self.key), is_told.then_some(self.first.len()));
                self.missing += 1;
                if is_told {
                    let place = here.position(&self.options.input.files);
                    self.first.push(OtherRow {
                        place: Some(place.to_string()),
                        key: self.rows.key_text(row),
                    });
                }
            }
        }
        Ok(())
    }
}

impl Search<'_> {
    /// Rows of one key on both sides are one row with other values.
    fn tell(mut self, report: &mut VerifyReport) {
        let mut left: Vec<Same> =
            self.there.rows.into_values().filter(|same| same.count > 0).collect();
        left.sort_by(|a, b| a.key.cmp(&b.key));
        let mut changed: HashSet<usize> = HashSet::new();
        for Same { count, key, text } in left {
            match self.keys.remove(&key) {
                Some(told) => {
                    report.changed_rows += 1;
                    report.extra_rows += count - 1;
                    changed.extend(told);
                }
                None => {
                    report.extra_rows += count;
                    if report.first_extra.len() < ROWS_TOLD {
                        report.first_extra.push(OtherRow { place: None, key: text });
                    }
                }
            }
        }
        report.missing_rows = self.missing - report.changed_rows;
        for (at, row) in self.first.into_iter().enumerate() {
            match changed.contains(&at) {
                true => report.first_changed.push(row),
                false => report.first_missing.push(row),
            }
        }
    }
}
