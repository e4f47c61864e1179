//! Whether a partition of the table takes a row: by the rules that loads build files of partitions by.
//!
//! A load tries these rules on the server before it uses them, in a table that it makes. A check makes
//! none.

use encode::binding::BoundColumn;
use encode::column_source::Input;
use encode::fault::RowFault;
use encode::field;
use encode::inspected::Inspected;
use encode::partition::{Router, Unplaced};
use schema::{PartitionMethod, Table};
use sources::Row;
use values::{Converter, Value};

/// Which partition takes a row.
#[derive(Clone, Debug)]
pub(crate) struct Partitions {
    router: Router,
    /// Of each column that the router looks at, its place among the columns that rows are judged by.
    columns: Vec<usize>,
}

/// Tells the partitions of rows, for one worker.
#[derive(Debug)]
pub(crate) struct Placer<'a> {
    partitions: &'a Partitions,
    columns: &'a [BoundColumn],
    converters: Vec<Converter>,
    /// What is stored of the columns, and whether it is NULL.
    stored: Vec<(Vec<u8>, bool)>,
    key: Vec<u8>,
    /// Rows of which it is not known whether a partition takes them.
    pub(crate) unknown: u64,
}

/// What there is of a value.
enum Seen {
    Stored,
    /// A number that is generated.
    Generated,
    /// One that its column does not take.
    Refused,
}

impl Partitions {
    /// Of a table of which rows are judged by these columns; none of one without partitions, or whose
    /// partitions take all rows.
    ///
    /// Errors: why that is not judged.
    pub(crate) fn of(
        table: &Table,
        inspected: &Inspected,
        columns: &[BoundColumn],
    ) -> Result<Option<Partitions>, String> {
        let Some(by) = &table.partitioning else { return Ok(None) };
        let takes_all = inspected.router.as_ref().is_some_and(Router::takes_all);
        if takes_all || by.method == Some(PartitionMethod::Key) {
            return Ok(None);
        }
        let not_judged = |why: &str| format!("which partition takes a row: {why}");
        let Some(router) = inspected.router.clone() else {
            let known = || inspected.unfit.iter().find(|why| why.starts_with("partitions by "));
            let why = by.unfit().or_else(|| known().map(String::as_str));
            return Err(not_judged(why.unwrap_or("what they are by is not known here")));
        };
        let place = |position: &usize| {
            let column = &table.columns[*position];
            let at = columns.iter().position(|bound| bound.column.name == column.name);
            let is_told = column.generated.is_none();
            let why = || not_judged(&format!("the server makes the values of `{}`", column.name));
            at.filter(|_| is_told).ok_or_else(why)
        };
        let columns = router.columns().iter().map(place).collect::<Result<_, _>>()?;
        Ok(Some(Partitions { router, columns }))
    }
}

impl<'a> Placer<'a> {
    pub(crate) fn new(partitions: &'a Partitions, columns: &'a [BoundColumn]) -> Placer<'a> {
        let of = |at: &usize| columns[*at].converter.clone();
        Placer {
            columns,
            converters: partitions.columns.iter().map(of).collect(),
            stored: vec![(Vec::new(), false); partitions.columns.len()],
            key: Vec::new(),
            unknown: 0,
            partitions,
        }
    }

    /// Why no partition takes a row. Values that their columns do not take are told of elsewhere, and
    /// numbers that are still to be generated are not known.
    pub(crate) fn fault<R: Row>(&mut self, row: R) -> Option<RowFault> {
        for at in 0..self.partitions.columns.len() {
            match self.see(at, row) {
                Seen::Stored => {}
                Seen::Refused => return None,
                Seen::Generated => {
                    self.unknown += 1;
                    return None;
                }
            }
        }
        let Placer { partitions, stored, key, .. } = self;
        let of = |at: usize| {
            let (bytes, is_null) = &stored[at];
            (!is_null).then_some(&bytes[..])
        };
        match partitions.router.place(of, key) {
            Ok(_) => None,
            Err(Unplaced::Unknown(_)) => {
                self.unknown += 1;
                None
            }
            Err(why) => Some(RowFault::unplaced(why)),
        }
    }

    fn see<R: Row>(&mut self, at: usize, row: R) -> Seen {
        let bound = &self.columns[self.partitions.columns[at]];
        let (stored, is_null) = &mut self.stored[at];
        stored.clear();
        if let Input::Constant(value) = &bound.input {
            stored.extend_from_slice(value.as_deref().unwrap_or_default());
            *is_null = value.is_none();
            return Seen::Stored;
        }
        let Some(field) = bound.input.field() else { return Seen::Generated };
        let mut scratch = Vec::new();
        let value = field::value(row, Some(field), &mut scratch);
        let is_numbered = matches!(bound.input, Input::AutoIncrement(_));
        if is_numbered && value == Value::Null {
            return Seen::Generated;
        }
        let on_null = || bound.on_null.as_deref();
        let nullable = bound.column.nullable;
        match field::store(value, &mut self.converters[at], nullable, on_null, stored) {
            // Of 0 the server makes a number, too, unless its mode says otherwise.
            Ok(_) if is_numbered && is_zero(stored) => Seen::Generated,
            Ok(null) => {
                *is_null = null;
                Seen::Stored
            }
            Err(_) => Seen::Refused,
        }
    }
}

/// Whether a stored number is 0: of signed ones the first bit is turned over.
fn is_zero(stored: &[u8]) -> bool {
    match stored {
        [first, rest @ ..] => matches!(first, 0 | 0x80) && rest.iter().all(|byte| *byte == 0),
        [] => true,
    }
}
