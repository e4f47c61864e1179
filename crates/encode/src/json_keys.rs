//! Fields of JSON's records: which columns they go to, and what stands for one that a record lacks.

use std::collections::HashSet;

use job::options::{OnDuplicate, RowOptions};
use schema::{Column, DefaultValue, Table};
use sources::{ColumnKind, Key, MissingValue, Pointer};
use values::{Family, SqlType, Value, Zone};

use crate::fields::InputFields;

/// Adds the columns that no field of the first records goes to: later records may have them. Not added are columns
/// that every record must have, and defaults that differ from row to row. Updates of existing rows would set moments
/// anew.
pub(crate) fn add_columns(fields: &mut InputFields, table: &Table, rows: &RowOptions) {
    for (at, column) in missing(fields, table, rows) {
        let has_default = match column.default {
            DefaultValue::Null | DefaultValue::Constant(_) | DefaultValue::ConstantUtc(_) => true,
            DefaultValue::Expression(_) => {
                rows.on_duplicate != OnDuplicate::Update
                    && catalog::default_moment_digits(column).is_some()
            }
            DefaultValue::None | DefaultValue::Stored(_) => false,
        };
        if has_default || column.auto_increment {
            fields.columns.push(Some(at));
        }
    }
}

/// The names of the columns that no record may have, because neither a field nor [`add_columns`] goes to them.
pub(crate) fn late_names(fields: &InputFields, table: &Table, rows: &RowOptions) -> Vec<Vec<u8>> {
    let missing = missing(fields, table, rows).into_iter();
    missing.map(|(_, column)| column.name.clone().into_bytes()).collect()
}

/// The columns that the input may have values for, and that no field goes to.
fn missing<'t>(
    fields: &InputFields,
    table: &'t Table,
    rows: &RowOptions,
) -> Vec<(usize, &'t Column)> {
    let is_missing = |(at, column): &(usize, &Column)| {
        let has_field = fields.columns.contains(&Some(*at));
        column.generated.is_none() && !has_field && !rows.has_constant(&column.name)
    };
    table.columns.iter().enumerate().filter(is_missing).collect()
}

/// The names of fields of which no two differ by case and by blanks at their ends alone, unless columns have both.
pub(crate) fn distinct(names: Vec<String>, table: &Table) -> Vec<String> {
    let plain = |name: &String| name.trim().to_ascii_lowercase();
    let is_column =
        |name: &String| table.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
    let mut seen: HashSet<String> =
        names.iter().filter(|name| is_column(name)).map(plain).collect();
    names.into_iter().filter(|name| is_column(name) || seen.insert(plain(name))).collect()
}

/// The names of fields with those that have pointers; fields that pointers lead through are left out unless they are
/// columns themselves.
pub(crate) fn with_pointers(
    names: Vec<String>,
    pointers: &[(String, Pointer)],
    table: &Table,
) -> Vec<String> {
    let is_column =
        |name: &str| table.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
    let is_kept = |name: &String| {
        let has_pointer = pointers.iter().any(|(column, _)| column.eq_ignore_ascii_case(name));
        let is_way = pointers.iter().any(|(_, pointer)| pointer.field() == name.as_bytes());
        !has_pointer && (!is_way || is_column(name))
    };
    let columns = pointers.iter().map(|(column, _)| column.clone());
    names.into_iter().filter(is_kept).chain(columns).collect()
}

/// The fields that a reader looks for, `names` being those of the first of them; the others have the names of their
/// columns. `columns` have their defaults evaluated, as far as that was possible.
pub(crate) fn keys(
    fields: &InputFields,
    names: &[String],
    pointers: &[(String, Pointer)],
    columns: &[Column],
    zone: &Zone,
) -> Vec<Key> {
    let key = |(at, column): (usize, &Option<usize>)| {
        let column = column.map(|column| &columns[column]);
        let name = names.get(at).or(column.map(|column| &column.name));
        let has = |name: &str| column.is_some_and(|column| column.name.eq_ignore_ascii_case(name));
        let pointer = pointers.iter().find(|(name, _)| has(name));
        Key {
            pointer: pointer.map(|(_, pointer)| pointer.clone()),
            name: name.map(|name| name.as_bytes().to_vec()).unwrap_or_default(),
            takes: column.map_or(ColumnKind::Nothing, |column| takes(&column.sql_type)),
            absent: column.map_or(MissingValue::Null, |column| absent(column, zone)),
        }
    };
    fields.columns.iter().enumerate().map(key).collect()
}

/// The kind of values that a column takes from a record.
pub(crate) fn takes(sql_type: &SqlType) -> ColumnKind {
    match sql_type.family() {
        Family::Json(_) | Family::Document => ColumnKind::Json,
        Family::Bits => ColumnKind::Bits,
        Family::Year => ColumnKind::Years,
        _ if sql_type.is_text() => ColumnKind::Text,
        _ => ColumnKind::Values,
    }
}

fn absent(column: &Column, zone: &Zone) -> MissingValue {
    match &column.default {
        // NULL has the next number.
        _ if column.auto_increment => MissingValue::Null,
        // NULL in a column that is NOT NULL: the record is refused, or gets what LOAD DATA makes of it.
        DefaultValue::None | DefaultValue::Null => MissingValue::Null,
        DefaultValue::Constant(text) => MissingValue::Text(text.clone()),
        DefaultValue::ConstantUtc(text) => {
            Value::local_text(text, zone).map_or(MissingValue::Unknown, MissingValue::Text)
        }
        DefaultValue::Expression(_) | DefaultValue::Stored(_) => MissingValue::Unknown,
    }
}
