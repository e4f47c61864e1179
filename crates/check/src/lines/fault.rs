//! Faults of a line, in words.

use encode::fault::FaultKind;
use encode::mapped::{Lines, Lookup};
use encode::rejects::Also;
use sources::{Row as _, TextRow};

use crate::fault::{self, Fault};

/// The faults of the current line. One of its row of an entity has the number of the table, and makes it a bad
/// line if the row is made from it. The others make it one in any case.
#[derive(Default)]
pub(super) struct Faults(Vec<(Option<usize>, Fault)>);

impl Faults {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// One more; `entity` is the table whose row has it, where it counts only if that is made from the line.
    pub(super) fn push(&mut self, entity: Option<usize>, fault: Fault) {
        self.0.push((entity, fault));
    }

    /// True if the line is bad whatever others are.
    pub(super) fn has_of_line(&self) -> bool {
        self.0.iter().any(|(entity, _)| entity.is_none())
    }

    /// True if the row of an entity has one.
    pub(super) fn has_of(&self, table: usize) -> bool {
        self.0.iter().any(|(entity, _)| *entity == Some(table))
    }

    /// True if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, those of entities last. One field may go to several tables: that is said once.
    pub(super) fn drain(&mut self) -> Vec<Fault> {
        let mut all: Vec<Fault> = Vec::new();
        self.0.sort_by_key(|(entity, _)| entity.is_some());
        for (_, fault) in self.0.drain(..) {
            let (also, _) = &fault;
            let is_same = |(told, _): &Fault| {
                told.field.is_some() && told.field == also.field && told.reason == also.reason
            };
            if !all.iter().any(is_same) {
                all.push(fault);
            }
        }
        all
    }
}

/// The line has other fields than it should.
#[cold]
pub(super) fn misfit(line: TextRow<'_>, expected: usize) -> Fault {
    if line.is_unclosed() {
        return of_line(FaultKind::Unclosed.to_string());
    }
    if let Some(problem) = line.broken() {
        return of_line(problem.to_owned());
    }
    let seen = if line.is_blank() { 0 } else { line.field_count() };
    let fields = if seen == 1 { "field" } else { "fields" };
    let what = match seen {
        0 => format!("the line is blank; {expected} fields expected"),
        _ => format!("the line has {seen} {fields}; {expected} expected"),
    };
    (of_line(what).0, FaultKind::FieldCount { seen, expected }.class())
}

/// It refers to a row that is not there.
#[cold]
pub(super) fn not_there(lookup: &Lookup, lines: &Lines, line: TextRow<'_>) -> Fault {
    let (field, reason) = (lines.find(&lookup.field).ok(), missing(lookup));
    (fault::of_field(line, field, lookup.field.clone(), reason.clone()), reason)
}

/// It refers to a row whose value a column cannot have.
#[cold]
pub(super) fn unusable(lookup: &Lookup, reason: &str, lines: &Lines, line: TextRow<'_>) -> Fault {
    let field = lines.find(&lookup.field).ok();
    let what = format!("{} of {}", lookup.take, lookup.table);
    let told = format!("{what} is not stored in column {reason}");
    (fault::of_field(line, field, lookup.field.clone(), told), format!("{what} is not stored"))
}

/// That there is no such row of a table.
pub(super) fn missing(lookup: &Lookup) -> String {
    format!("{} has no row with this {}", lookup.table, lookup.key)
}

/// A column must have the id of a row that the line does not have.
#[cold]
pub(super) fn no_row(table: &str, column: &str) -> Fault {
    let reason = "NULL, but the column is NOT NULL: the line has no row whose id the column needs";
    let column = Some(format!("{table}.{column}"));
    let also = Also { field: None, column, cell: None, value: None, reason: reason.to_owned() };
    (also, reason.to_owned())
}

/// It says something else of a row than the first line that has the row.
#[cold]
pub(super) fn says_else(table: &str) -> Fault {
    of_line(format!("differs from the first line with the same row of {table}"))
}

/// Something that is wrong with the line as a whole.
pub(super) fn of_line(reason: String) -> Fault {
    let also = Also { field: None, column: None, cell: None, value: None, reason: reason.clone() };
    (also, reason)
}
