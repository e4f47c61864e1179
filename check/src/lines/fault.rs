//! What is wrong with a line, in words.

use encode::fault::FaultKind;
use encode::mapped::{Lines, Lookup};
use encode::rejects::{Also, Reject};
use sources::{Row, TextRow, Value};

/// Something that is wrong with a line, and what it has in common with others.
pub(super) type Fault = (Also, String);

/// The line has other fields than it should.
#[cold]
pub(super) fn misfit(line: TextRow<'_>, expected: usize) -> Fault {
    if line.is_unclosed() {
        return of_line(FaultKind::Unclosed.to_string());
    }
    let seen = line.field_count();
    let what = if seen < expected {
        "the line has too few fields"
    } else {
        "the line has too many fields"
    };
    let fields = if seen == 1 { "field" } else { "fields" };
    let (also, _) = of_line(format!("the line has {seen} {fields}, expected {expected}"));
    (also, what.to_owned())
}

/// It refers to a row that is not there.
#[cold]
pub(super) fn not_there(lookup: &Lookup, lines: &Lines, line: TextRow<'_>) -> Fault {
    let field = lines.find(&lookup.field).ok();
    let reason = missing(lookup);
    let also = Also {
        field: field.map(|field| field + 1),
        column: Some(lookup.field.clone()),
        value: field.and_then(|field| text(line, field)),
        reason: reason.clone(),
    };
    (also, reason)
}

/// That there is no such row of a table.
pub(super) fn missing(lookup: &Lookup) -> String {
    format!("{} has no row with that {}", lookup.table, lookup.key)
}

/// A column must have the id of a row that the line does not have.
#[cold]
pub(super) fn no_row(table: &str, column: &str) -> Fault {
    let reason = "NULL, but the column is NOT NULL: the line has no such row";
    let column = Some(format!("{table}.{column}"));
    let also = Also { field: None, column, value: None, reason: reason.to_owned() };
    (also, reason.to_owned())
}

/// It says something else of a row than the first line that has the row.
#[cold]
pub(super) fn says_else(table: &str) -> Fault {
    of_line(format!("says something else of a row of {table} than the first line that has it"))
}

fn of_line(reason: String) -> Fault {
    (Also { field: None, column: None, value: None, reason: reason.clone() }, reason)
}

/// A field for people.
fn text(line: TextRow<'_>, field: usize) -> Option<String> {
    match line.value(field, &mut Vec::new()) {
        Value::Bytes(text) => Some(Reject::cut(text)),
        _ => None,
    }
}
