//! Rows that were refused: their bytes to one file, the reasons to another.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use job::error::Error;
use job::position::{Position, RefusedRow};
use job::report::RejectTally;
use job::row_log::{LogForm, LogKind, RowLog};
use schema::Column;
use serde::Serialize;
use sources::{Row, Source};
use values::{Reason, Value};

use crate::binding::Binding;
use crate::column_source::Input;
use crate::fault::{FaultKind, RowFault};
use crate::field;

/// Longest part of a value that is repeated in a reason, in bytes.
const VALUE_BYTES_MAX: usize = 200;

/// A refused row.
#[derive(Clone, Debug)]
pub struct Reject {
    /// The row, and its first fault.
    pub row: RefusedRow,
    /// The reason, the same for all rows that are at fault in that way.
    pub class: String,
    /// Its other faults.
    pub also: Vec<Also>,
    /// The row as it is in the file, terminator included.
    pub raw: Vec<u8>,
}

/// One more fault of a row.
#[derive(Clone, Debug, Serialize)]
pub struct Also {
    /// Field of the line, from 1.
    pub field: Option<usize>,
    /// Column the field goes to.
    pub column: Option<String>,
    /// Cell of a sheet, such as B7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// The value, cut.
    pub value: Option<String>,
    /// Why it is refused.
    pub reason: String,
}

/// The field and its fault, as reports show them: ``field 2 `price` "x": not a number``.
impl fmt::Display for Also {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.cell, self.field) {
            (Some(cell), _) => write!(f, "cell {cell} ")?,
            (None, Some(field)) => write!(f, "field {field} ")?,
            (None, None) => {}
        }
        if let Some(column) = &self.column {
            write!(f, "`{column}` ")?;
        }
        let reason = &self.reason;
        // The reason of keys, conditions and rules does not begin with the value.
        match self.value.as_ref().filter(|_| !reason.starts_with('"')) {
            Some(value) if value.starts_with('(') => write!(f, "{value}: {reason}"),
            Some(value) => write!(f, "{value:?}: {reason}"),
            None => write!(f, "{reason}"),
        }
    }
}

impl Also {
    /// The description of `fault` of `column`.
    pub fn new<R: Row>(fault: &RowFault, row: R, column: Option<&Column>) -> Also {
        let value = field::written(row, fault.field);
        let reason = match (&fault.kind, &value, column) {
            (FaultKind::Value(reason), Some(value), Some(column)) => {
                // The reason counts in what the format has left of the text: without blanks at its ends.
                let mut scratch = Vec::new();
                let blanks = match field::value(row, fault.field, &mut scratch) {
                    Value::Bytes(read) => {
                        value.windows(read.len().max(1)).position(|at| at == read)
                    }
                    _ => None,
                };
                let reason = reason.moved(blanks.unwrap_or(0));
                let format = fault.field.and_then(|field| row.format(field));
                let explained = reason.explain(value, &column.sql_type);
                match format.filter(|_| reason == Reason::NotInFormat) {
                    Some(format) => format!("{explained}: {format}"),
                    None => explained.to_string(),
                }
            }
            (kind, ..) => kind.to_string(),
        };
        Also {
            field: fault.field.and_then(|field| row.line_field(field)).map(|field| field + 1),
            column: column.map(|column| column.name.clone()),
            cell: None,
            value: value.as_deref().map(Reject::cut),
            reason,
        }
    }

    /// Other faults of a row that is rejected for `fault`.
    #[cold]
    pub fn all<R: Row>(binding: &Binding, fault: &RowFault, row: R) -> Vec<Also> {
        let mut also = Vec::new();
        if !fault.has_fields() {
            return also;
        }
        let (mut scratch, mut stored) = (Vec::new(), Vec::new());
        for (index, bound) in binding.columns.iter().enumerate() {
            let Input::Field(field) = bound.input else { continue };
            if fault.column == Some(index) || field >= row.field_count() {
                continue;
            }
            stored.clear();
            let (nullable, on_null) = (bound.column.nullable, || bound.on_null.as_deref());
            let value = row.value(field, &mut scratch);
            let converter = &mut bound.converter.clone();
            if let Err(kind) = field::store(value, converter, nullable, on_null, &mut stored) {
                let more = RowFault { field: Some(field), column: Some(index), kind };
                also.push(Also::new(&more, row, Some(&bound.column)));
            }
        }
        also
    }
}

impl Reject {
    /// The row at `position`, refused for `fault`, of whose columns `column` is the one at fault.
    #[cold]
    pub fn new<R: Row>(
        fault: &RowFault,
        row: R,
        column: Option<&Column>,
        position: Position,
    ) -> Reject {
        let Also { field, column, value, reason, .. } = Also::new(fault, row, column);
        Reject {
            row: RefusedRow { position, field, column, value, reason },
            class: fault.kind.class(),
            also: Vec::new(),
            raw: row.raw().into_owned(),
        }
    }

    /// The value as text for people: cut, and what is not UTF-8 replaced.
    pub fn cut(value: &[u8]) -> String {
        let mut text =
            String::from_utf8_lossy(&value[..value.len().min(VALUE_BYTES_MAX)]).into_owned();
        if value.len() > VALUE_BYTES_MAX {
            text.push_str("...");
        }
        text
    }
}

#[derive(Serialize)]
struct ReasonLine<'a> {
    file: &'a str,
    line: u64,
    byte: Option<u64>,
    field: Option<usize>,
    column: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<String>,
    value: Option<&'a str>,
    reason: &'a str,
    #[serde(skip_serializing_if = "<[Also]>::is_empty")]
    also: &'a [Also],
}

/// The form of files of rows of `source`.
///
/// Errors: reading the start of the first file.
pub fn form(source: &mut dyn Source) -> Result<LogForm, Error> {
    Ok(LogForm { head: source.start()?.text, row_end: source.facts().row_end.clone() })
}

/// How many rows are at fault, by column and class.
#[derive(Clone, Debug, Default)]
pub struct FaultCounts(BTreeMap<(Option<String>, String), u64>);

impl FaultCounts {
    /// So many more rows.
    pub fn add(&mut self, column: Option<String>, class: String, rows: u64) {
        *self.0.entry((column, class)).or_default() += rows;
    }

    /// All that another has.
    pub fn add_all(&mut self, other: FaultCounts) {
        other.0.into_iter().for_each(|((column, class), rows)| self.add(column, class, rows));
    }

    /// All of them, most first.
    pub fn tally(&self) -> Vec<RejectTally> {
        let kinds = self.0.iter().filter(|(_, rows)| **rows > 0);
        let kind = |((column, reason), &rows): (&(Option<String>, String), &u64)| RejectTally {
            column: column.clone(),
            reason: reason.clone(),
            rows,
        };
        let mut tally: Vec<RejectTally> = kinds.map(kind).collect();
        tally.sort_by_key(|kind| std::cmp::Reverse(kind.rows));
        tally
    }
}

/// Counts refused rows and writes them down, in input order.
#[derive(Debug)]
pub struct Rejects {
    count: u64,
    max: u64,
    counts: FaultCounts,
    files: Option<RowLog>,
    path: Option<PathBuf>,
}

impl Rejects {
    /// Begins empty files at `path` and beside it, replacing what is there.
    pub fn create(path: Option<&Path>, max: u64, form: &LogForm) -> Result<Rejects, Error> {
        let create = |path| RowLog::create(LogKind::Rejects, path, form);
        let files = path.map(create).transpose()?;
        let path = path.map(Path::to_owned);
        Ok(Rejects { count: 0, max, counts: FaultCounts::default(), files, path })
    }

    /// How many there were of each kind, most first.
    pub fn tally(&self) -> Vec<RejectTally> {
        self.counts.tally()
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many are tolerated.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Takes one row; an error when it is one too many.
    pub fn push(&mut self, reject: &Reject) -> Result<(), Error> {
        self.count += 1;
        let RefusedRow { position, field, column, value, reason } = &reject.row;
        self.counts.add(column.clone(), reject.class.clone(), 1);
        if let Some(files) = &mut self.files {
            let reason = ReasonLine {
                file: &position.file.to_string_lossy(),
                line: position.line,
                byte: position.offset,
                field: *field,
                column: column.as_deref(),
                part: position.part.as_ref().map(|part| part.name.as_str()),
                cell: position.cell(*field),
                value: value.as_deref(),
                reason,
                also: &reject.also,
            };
            files.write(&reject.raw, &reason)?;
        }
        if self.count > self.max {
            self.flush()?;
            return Err(Error::Rejected {
                rejects: self.count,
                rejects_max: self.max,
                last: Box::new(reject.row.clone()),
                kept: self.path.clone(),
            });
        }
        Ok(())
    }

    /// Writes everything to the disk, and waits for it.
    pub fn flush(&mut self) -> Result<(), Error> {
        match &mut self.files {
            Some(files) => files.flush(),
            None => Ok(()),
        }
    }
}
