//! Values of columns, where lines are made of typed rows or of JSON's records: each column gets what it would get if
//! the rows were loaded into its table alone.

use sources::{ColumnKind, LineFields, LineValue, MissingValue, PickedField, ReadAs};
use values::SqlType;

use super::mapping::Mapping;
use super::resolved::{Lines, Resolved};
use crate::json_keys;

/// Values that the columns of a mapping take from a field, in the order of columns; none of a column that takes texts, or
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct ColumnValues(Vec<Option<ColumnValue>>);

#[derive(Clone, Debug)]
struct ColumnValue {
    sql_type: SqlType,
    takes: ColumnKind,
    absent: MissingValue,
}

impl ColumnValues {
    /// Values for the columns of a table, whose rows are read in this way. Fields with a format are read as texts.
    pub fn of(read_as: &ReadAs) -> ColumnValues {
        let value = |(at, sql_type): (usize, &Option<SqlType>)| {
            let sql_type = sql_type.clone().filter(|_| read_as.formats.text(at).is_none())?;
            let key = read_as.keys.get(at);
            let takes = key.map_or_else(|| json_keys::takes(&sql_type), |key| key.takes);
            let absent = key.map_or(MissingValue::Null, |key| key.absent.clone());
            Some(ColumnValue { sql_type, takes, absent })
        };
        ColumnValues(read_as.columns.iter().enumerate().map(value).collect())
    }

    /// That of one column, which is NULL where a record lacks the field.
    pub fn of_type(sql_type: &SqlType) -> ColumnValues {
        let (takes, absent) = (json_keys::takes(sql_type), MissingValue::Null);
        ColumnValues(vec![Some(ColumnValue { sql_type: sql_type.clone(), takes, absent })])
    }

    /// Only those of columns of a key, which are NULL where a record lacks the field.
    pub(super) fn of_key(&self, is_key: impl Fn(usize) -> bool) -> ColumnValues {
        let value = |(at, value): (usize, &Option<ColumnValue>)| {
            let value = value.clone().filter(|_| is_key(at))?;
            Some(ColumnValue { absent: MissingValue::Null, ..value })
        };
        ColumnValues(self.0.iter().enumerate().map(value).collect())
    }

    fn value(&self, at: usize, field: usize) -> Option<LineValue> {
        let ColumnValue { sql_type, takes, absent } = self.0.get(at)?.clone()?;
        Some(LineValue { field, sql_type, takes, absent })
    }

    /// Has these read, and the texts of fields that have none.
    pub(super) fn add_to(&self, read: &mut LineFields, resolved: &Resolved) {
        for (at, picked) in resolved.fields.iter().enumerate() {
            let PickedField::Field(field) = *picked else { continue };
            match self.value(at, field) {
                Some(value) => read.add_value(value),
                None => read.add_texts([field]),
            }
        }
    }

    /// Has all read that rows of a mapping are made of.
    ///
    /// Errors: fields that lines do not have.
    pub fn add_row_to(
        &self,
        read: &mut LineFields,
        mapping: &Mapping,
        lines: &Lines,
    ) -> sources::Result<()> {
        let resolved = Resolved::new(mapping, lines)?;
        resolved.add_texts(read);
        self.add_to(read, &resolved);
        Ok(())
    }

    /// Gives columns the values that are read, in place of texts.
    pub(super) fn give(&self, read: &LineFields, resolved: &mut Resolved) {
        for (at, picked) in resolved.fields.iter_mut().enumerate() {
            if let PickedField::Field(field) = *picked
                && let Some(value) = self.value(at, field)
                && let Some(value) = read.find(&value)
            {
                *picked = PickedField::Typed { field, value };
            }
        }
    }
}
