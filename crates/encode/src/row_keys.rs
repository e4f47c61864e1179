//! The keys of rows, from their fields: just the columns that some key has.
//!
//! Keys are those of the direct path (`values::key`): memcmp orders them as the server orders the
//! index, and equal ones are equal to the server.

use schema::{Column, Index};
use sources::Row;
use values::key::KeyPart;
use values::{Converter, SqlType, Value};

use crate::binding::{BoundColumn, Cut};
use crate::column_source::Input;
use crate::field;
use crate::inspected::{Collations, collation_of};

/// How the keys of an index are made.
#[derive(Clone, Debug)]
struct IndexKey {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    /// Index into the key columns.
    column: usize,
    cut: Option<Cut>,
    part: KeyPart,
}

/// Facts about the indexes of a table.
#[derive(Clone, Debug, Default)]
pub struct KeyPlan {
    columns: Vec<KeyColumn>,
    /// In the order they were asked for; none where keys cannot be made here.
    indexes: Vec<Option<IndexKey>>,
}

/// A column that some key has.
#[derive(Clone, Debug)]
struct KeyColumn {
    name: String,
    input: Input,
    nullable: bool,
    on_null: Option<Vec<u8>>,
    converter: Converter,
    sql_type: SqlType,
    /// True if a 0 in it is a value, if it is AUTO_INCREMENT.
    zero_is_value: bool,
}

/// Why a row has no key in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoKey {
    /// A part is NULL: equal to nothing.
    Null,
    /// It has one, but it cannot be told here: a number that is yet to be generated, a text that
    /// its collation does not order.
    Unknown,
}

impl KeyPlan {
    /// Plans the keys of some indexes of a table, `columns` being those of the table whose values
    /// follow from the input alone, `zero_is_value` whether NO_AUTO_VALUE_ON_ZERO is set.
    pub fn new(
        indexes: &[&Index],
        columns: &[&BoundColumn],
        collations: &Collations,
        zero_is_value: bool,
    ) -> KeyPlan {
        let mut plan = KeyPlan::default();
        for index in indexes {
            let before = plan.columns.len();
            let parts = index.columns.iter().map(|wanted| {
                let bound = columns.iter().find(|bound| bound.column.name == wanted.name)?;
                let column = plan.column(bound, zero_is_value);
                part(column, &bound.column, wanted.prefix, wanted.descending, collations)
            });
            let parts: Option<Vec<Part>> = parts.collect();
            if parts.is_none() {
                plan.columns.truncate(before);
            }
            plan.indexes.push(parts.map(|parts| IndexKey { parts }));
        }
        plan
    }

    /// Plans no keys, but these columns alone, each once: what [`KeyReader::stored`] gives of each, by its
    /// place among them.
    pub fn of_columns(columns: &[&BoundColumn], zero_is_value: bool) -> KeyPlan {
        let mut plan = KeyPlan::default();
        for bound in columns {
            plan.column(bound, zero_is_value);
        }
        plan
    }

    /// True if the keys of an index can be made here.
    pub fn has(&self, index: usize) -> bool {
        matches!(self.indexes.get(index), Some(Some(_)))
    }

    /// Number of indexes.
    pub fn index_count(&self) -> usize {
        self.indexes.len()
    }

    /// True if each row of the input gets a new number that is part of an index's keys.
    pub fn always_generates(&self, index: usize) -> bool {
        self.index_columns(index).any(|column| matches!(column.input, Input::AutoIncrement(None)))
    }

    /// Bytes of each key of an index, if they are all of one length.
    pub fn fixed_len(&self, index: usize) -> Option<usize> {
        let key = self.indexes.get(index)?.as_ref()?;
        key.parts.iter().map(|part| part.part.fixed_len(None)).sum()
    }

    /// The same keys without what says whether a part is NULL, all parts ascending: as keys of other
    /// tables are compared with them.
    pub fn plain(mut self) -> KeyPlan {
        for key in self.indexes.iter_mut().flatten() {
            key.parts.iter_mut().for_each(|part| part.part = part.part.plain());
        }
        self
    }

    /// The columns of an index's keys with their types and what is made of them; none where a part is
    /// the beginning of a value, which does not tell the value.
    pub fn whole_parts(&self, index: usize) -> Option<Vec<(&str, &SqlType, &KeyPart)>> {
        let key = self.indexes.get(index)?.as_ref()?;
        let whole = key.parts.iter().map(|part| {
            let KeyColumn { name, sql_type, .. } = &self.columns[part.column];
            part.cut.is_none().then_some((name.as_str(), sql_type, &part.part))
        });
        whole.collect()
    }

    fn index_columns(&self, index: usize) -> impl Iterator<Item = &KeyColumn> {
        let parts = self.indexes.get(index).and_then(Option::as_ref);
        parts.into_iter().flat_map(|key| &key.parts).map(|part| &self.columns[part.column])
    }

    fn column(&mut self, bound: &BoundColumn, zero_is_value: bool) -> usize {
        let BoundColumn { column, input, on_null, converter } = bound;
        let is_same = |known: &KeyColumn| known.name == column.name;
        self.columns.iter().position(is_same).unwrap_or_else(|| {
            self.columns.push(KeyColumn {
                name: column.name.clone(),
                input: input.clone(),
                nullable: column.nullable,
                on_null: on_null.clone(),
                converter: converter.clone(),
                sql_type: column.sql_type.clone(),
                zero_is_value,
            });
            self.columns.len() - 1
        })
    }
}

/// The part of a key that a column is; none if its collation is not known.
fn part(
    position: usize,
    column: &Column,
    prefix: Option<u32>,
    descending: bool,
    collations: &Collations,
) -> Option<Part> {
    let Column { sql_type, nullable, .. } = column;
    let collation = collation_of(sql_type, collations).ok()?;
    let part = KeyPart::new(sql_type, collation, *nullable, descending);
    let cut = prefix.map(|length| Cut::of_chars(sql_type, length as usize));
    let part = match cut {
        Some(cut) => part.with_prefix(cut.length()),
        None => part,
    };
    Some(Part { column: position, cut, part })
}

/// The columns of a table whose values follow from the input alone: all but the generated ones.
pub fn plain_columns(columns: &[BoundColumn]) -> Vec<&BoundColumn> {
    columns.iter().filter(|bound| bound.column.generated.is_none()).collect()
}

/// Reads the keys of rows, for one worker.
#[derive(Clone, Debug)]
pub struct KeyReader {
    plan: KeyPlan,
    /// One a key column: what the row at hand has in it.
    stored: Vec<Stored>,
    scratch: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
struct Stored {
    bytes: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Value,
    Null,
    /// A number that is yet to be generated.
    Generated,
}

impl KeyReader {
    /// A reader of the rows that it was planned for.
    pub fn new(plan: KeyPlan) -> KeyReader {
        let stored = vec![Stored::default(); plan.columns.len()];
        KeyReader { plan, stored, scratch: Vec::new() }
    }

    /// Converts what keys are made of. False if the row will be refused: then it has no keys.
    #[inline]
    pub fn read<R: Row>(&mut self, row: R) -> bool {
        for (column, stored) in self.plan.columns.iter_mut().zip(&mut self.stored) {
            stored.bytes.clear();
            match column.read(row, &mut self.scratch, &mut stored.bytes) {
                Some(state) => stored.state = state,
                None => return false,
            }
        }
        true
    }

    /// True if a column that keys are made of is NULL in a row.
    #[cold]
    pub fn has_null<R: Row>(&mut self, row: R) -> bool {
        let KeyReader { plan, scratch, .. } = self;
        let mut is_null = |column: &mut KeyColumn| {
            column.read(row, scratch, &mut Vec::new()) == Some(State::Null)
        };
        plan.columns.iter_mut().any(&mut is_null)
    }

    /// Appends the row's key in index `index` of the plan. Without one, `out` is as before.
    #[inline]
    pub fn push(&self, index: usize, out: &mut Vec<u8>) -> Result<(), NoKey> {
        let start = out.len();
        let Some(Some(key)) = self.plan.indexes.get(index) else { return Err(NoKey::Unknown) };
        let mut no_key = None;
        for part in &key.parts {
            let Stored { bytes, state } = &self.stored[part.column];
            let pushed = match state {
                State::Value => {
                    let cut = part.cut.map_or(bytes.as_slice(), |cut| cut.of(bytes));
                    part.part.push(Some(cut), out).map_err(|_| NoKey::Unknown)
                }
                State::Null => Err(NoKey::Null),
                State::Generated => Err(NoKey::Unknown),
            };
            match pushed {
                // A NULL decides, wherever it is.
                Err(why) if no_key != Some(NoKey::Null) => no_key = Some(why),
                _ => {}
            }
        }
        match no_key {
            None => Ok(()),
            Some(why) => {
                out.truncate(start);
                Err(why)
            }
        }
    }

    /// Number of columns in the plan.
    pub fn columns(&self) -> usize {
        self.plan.columns.len()
    }

    /// The row's stored bytes in a column of the plan, None being NULL.
    ///
    /// Errors: a number that is yet to be generated.
    #[inline]
    pub fn stored(&self, column: usize) -> Result<Option<&[u8]>, NoKey> {
        let Stored { bytes, state } = &self.stored[column];
        match state {
            State::Value => Ok(Some(bytes)),
            State::Null => Ok(None),
            State::Generated => Err(NoKey::Unknown),
        }
    }

    /// True if the row's key in index `index` has a number that is yet to be generated.
    pub fn is_generated(&self, index: usize) -> bool {
        let key = self.plan.indexes.get(index).and_then(Option::as_ref);
        let is_generated = |part: &Part| self.stored[part.column].state == State::Generated;
        key.is_some_and(|key| key.parts.iter().any(is_generated))
    }
}

impl KeyColumn {
    /// Appends the stored value; none if the row will be refused.
    #[inline]
    fn read<R: Row>(&mut self, row: R, scratch: &mut Vec<u8>, out: &mut Vec<u8>) -> Option<State> {
        let (field, is_numbered) = match &self.input {
            Input::Field(field) => (*field, false),
            Input::AutoIncrement(Some(field)) => (*field, true),
            Input::AutoIncrement(None) => return Some(State::Generated),
            Input::Constant(None) => return Some(State::Null),
            Input::Constant(Some(stored)) => {
                out.extend_from_slice(stored);
                return Some(State::Value);
            }
        };
        if field >= row.field_count() {
            return None;
        }
        let value = row.value(field, scratch);
        if is_numbered && value == Value::Null {
            return Some(State::Generated);
        }
        let on_null = || self.on_null.as_deref();
        let is_null = field::store(value, &mut self.converter, self.nullable, on_null, out).ok()?;
        let is_generated = is_numbered && !self.zero_is_value && self.may_be_zero(out);
        Some(match (is_null, is_generated) {
            (true, _) => State::Null,
            (false, true) => State::Generated,
            (false, false) => State::Value,
        })
    }

    /// True if the server may generate another number for a stored one: 0. The sign bit of integers
    /// is inverted; for other types it is not worth knowing which values round to 0.
    fn may_be_zero(&self, stored: &[u8]) -> bool {
        let SqlType::Integer { unsigned, .. } = self.sql_type else { return true };
        let first_of_zero = if unsigned { 0 } else { 0x80 };
        stored.iter().enumerate().all(|(at, &byte)| byte == if at == 0 { first_of_zero } else { 0 })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
