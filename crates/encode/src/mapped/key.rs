//! The key that a line has for an entity.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use schema::{Index, IndexColumn, IndexKind};
use sources::{
    Formats, LineFields, PickShape, Picked, PickedField, PickedRow, PickedRows, Row, Rows,
    TextRows, Value,
};

use super::column_values::ColumnValues;
use super::known::KnownValue;
use super::line_values::{self, OfRow};
use super::mapping::Mapping;
use super::resolved::{LineColumn, Lines, Resolved};
use crate::binding::BoundColumn;
use crate::column_source::Input;
use crate::inspected::Collations;
use crate::row_keys::{KeyPlan, KeyReader, NoKey};

/// How keys of lines are made: as the table's columns are, so that what is one to the server is one here.
#[derive(Clone, Debug)]
pub struct KeyOf {
    mapping: Arc<Mapping>,
    key: Vec<String>,
    plan: KeyPlan,
    formats: Arc<Formats>,
    /// Values of its columns, where lines are made of typed rows.
    values: ColumnValues,
}

impl KeyOf {
    /// By these columns of the rows of a mapping, of which a table's `bound` columns have the types.
    ///
    /// None if keys cannot be made of them here.
    pub fn new(
        mapping: Arc<Mapping>,
        key: &[String],
        bound: &[BoundColumn],
        collations: &Collations,
        formats: Formats,
        values: &ColumnValues,
    ) -> Option<KeyOf> {
        let column =
            |name: &String| IndexColumn { name: name.clone(), prefix: None, descending: false };
        let index = Index {
            name: "entity".to_owned(),
            unique: true,
            kind: IndexKind::BTree,
            columns: key.iter().map(column).collect(),
            without_overlaps: None,
        };
        let bound: Vec<BoundColumn> = bound.iter().map(or_null).collect();
        let bound: Vec<&BoundColumn> = bound.iter().collect();
        let plan = KeyPlan::new(&[&index], &bound, collations, true).plain();
        let columns = mapping.columns.as_ref();
        let is_key = |at: usize| {
            // Without columns it is not known here which fields a key has.
            columns
                .is_none_or(|columns| columns.get(at).is_some_and(|(name, _)| is_named(key, name)))
        };
        let values = values.of_key(is_key);
        let (key, formats) = (key.to_vec(), Arc::new(formats));
        plan.has(0).then(|| KeyOf { mapping, key, plan, formats, values })
    }

    /// The fields that the key of a line depends on.
    ///
    /// Errors: fields that lines do not have.
    pub fn fields(&self, lines: &Lines) -> sources::Result<Vec<usize>> {
        lines.find_all(self.mapping.key_field_names(&self.key))
    }

    /// Has all read that keys are made of.
    ///
    /// Errors: fields that lines do not have.
    pub fn add_to(&self, read: &mut LineFields, lines: &Lines) -> sources::Result<()> {
        read.add_texts(self.fields(lines)?);
        self.values.add_to(read, &Resolved::new(&self.mapping, lines)?);
        Ok(())
    }
}

/// True if a name is one of some columns'.
fn is_named(columns: &[String], name: &str) -> bool {
    columns.iter().any(|column| column.eq_ignore_ascii_case(name))
}

/// A line may lack the entity, also where its column is NOT NULL or would get a number for NULL.
fn or_null(bound: &BoundColumn) -> BoundColumn {
    let mut bound = BoundColumn { on_null: None, ..bound.clone() };
    bound.column.nullable = true;
    if let Input::AutoIncrement(Some(field)) = bound.input {
        bound.input = Input::Field(field);
    }
    bound
}

/// Makes the rows of lines one by one, with nothing of what is known of other rows: those columns are
/// NULL.
#[derive(Debug)]
pub struct LineRow {
    resolved: Resolved,
    picked: Picked,
    scratch: Vec<u8>,
}

/// The file that a line is in, and its number there.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineOrigin<'a> {
    /// Name of the file, without its folder.
    pub file_name: &'a [u8],
    /// Number of the line, from 1.
    pub line: u64,
}

impl LineRow {
    /// Errors: fields that lines do not have.
    pub fn new(
        mapping: &Mapping,
        lines: &Lines,
        formats: &Arc<Formats>,
        values: &ColumnValues,
    ) -> sources::Result<LineRow> {
        let mut resolved = Resolved::new(mapping, lines)?;
        if let Some(read) = lines.read() {
            values.give(&read, &mut resolved);
        }
        for field in &mut resolved.fields {
            if let PickedField::Made(made) = *field
                && matches!(
                    resolved.made[made],
                    LineColumn::Id(_) | LineColumn::Looked(_) | LineColumn::OwnId
                )
            {
                *field = PickedField::Nothing;
            }
        }
        let shape = PickShape { fields: resolved.fields.clone(), formats: Arc::clone(formats) };
        let made = resolved.made.iter().map(line_values::column).collect();
        let picked = Picked { shape: Arc::new(shape), rows: Vec::new(), made, ..Picked::default() };
        Ok(LineRow { resolved, picked, scratch: Vec::new() })
    }

    /// True if the number of the line is part of its row.
    pub fn has_line_number(&self) -> bool {
        self.resolved.made.iter().any(|made| matches!(made, LineColumn::Line))
    }

    /// The row that a line is; none if it is none of the table's.
    #[inline]
    pub fn of<'r>(
        &'r mut self,
        lines: TextRows<'r>,
        index: usize,
        origin: LineOrigin<'_>,
    ) -> Option<PickedRow<'r>> {
        let LineRow { resolved, picked, scratch } = self;
        let line = lines.row(index);
        if !resolved.when.is_met(line, scratch) {
            return None;
        }
        line_values::clear(picked);
        picked.rows.push(index as u32);
        for (made, column) in resolved.made.iter().zip(&mut picked.made) {
            line_values::push(made, column, line, &origin, scratch);
        }
        Some(PickedRows::new(lines, picked).row(0))
    }
}

impl OfRow for LineOrigin<'_> {
    fn known(&self, _number: usize) -> Option<KnownValue<'_>> {
        None
    }

    fn own_id(&self) -> Option<u64> {
        None
    }

    fn file_name(&self) -> &[u8] {
        self.file_name
    }

    fn line(&self) -> u64 {
        self.line
    }
}

/// Makes keys of lines, for one reader.
#[derive(Debug)]
pub struct LineKeys {
    row: LineRow,
    reader: KeyReader,
    key: Vec<u8>,
}

/// Why a line has no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyless {
    /// It has no such row: it is not one of those that are meant, or a part of the key is NULL.
    NoRow,
    /// A value that its column does not take.
    Refused,
    /// How its collation orders it is not known.
    Unordered,
}

impl LineKeys {
    /// Errors: fields that lines do not have.
    pub fn new(of: &KeyOf, lines: &Lines) -> sources::Result<LineKeys> {
        Ok(LineKeys {
            row: LineRow::new(&of.mapping, lines, &of.formats, &of.values)?,
            reader: KeyReader::new(of.plan.clone()),
            key: Vec::new(),
        })
    }

    /// The key of a line.
    ///
    /// Errors: why it has none.
    pub fn of(&mut self, lines: TextRows<'_>, index: usize) -> Result<&[u8], Keyless> {
        let LineKeys { row, reader, key } = self;
        let row = row.of(lines, index, LineOrigin::default()).ok_or(Keyless::NoRow)?;
        push(reader, row, key)?;
        Ok(key)
    }
}

/// The keys of rows that are no lines: a table's own, of the columns in the order of the mapping.
#[derive(Debug)]
pub struct RowKeys {
    reader: KeyReader,
    key: Vec<u8>,
}

impl RowKeys {
    /// The same keys as those of lines.
    pub fn new(of: &KeyOf) -> RowKeys {
        RowKeys { reader: KeyReader::new(of.plan.clone()), key: Vec::new() }
    }

    /// The key of a row.
    ///
    /// Errors: why it has none.
    pub fn of<R: Row>(&mut self, row: R) -> Result<&[u8], Keyless> {
        push(&mut self.reader, row, &mut self.key)?;
        Ok(&self.key)
    }
}

/// A row that is no line: a value a column.
#[derive(Clone, Copy, Debug)]
pub struct GivenRow<'a>(pub &'a [Option<&'a [u8]>]);

impl Row for GivenRow<'_> {
    fn field_count(self) -> usize {
        self.0.len()
    }

    fn has_fields_for(self, needed: usize, columns: usize) -> bool {
        (needed..=columns).contains(&self.0.len())
    }

    fn value<'v>(self, field: usize, _scratch: &'v mut Vec<u8>) -> Value<'v>
    where
        Self: 'v,
    {
        self.0[field].map_or(Value::Null, Value::Bytes)
    }

    fn start(self) -> usize {
        0
    }

    fn span(self) -> Range<usize> {
        0..1
    }

    fn raw<'v>(self) -> Cow<'v, [u8]>
    where
        Self: 'v,
    {
        Cow::Borrowed(b"")
    }
}

fn push<R: Row>(reader: &mut KeyReader, row: R, key: &mut Vec<u8>) -> Result<(), Keyless> {
    key.clear();
    if !reader.read(row) {
        // A NULL decides, wherever it is.
        return Err(if reader.has_null(row) { Keyless::NoRow } else { Keyless::Refused });
    }
    reader.push(0, key).map_err(|why| match why {
        NoKey::Null => Keyless::NoRow,
        NoKey::Unknown => Keyless::Unordered,
    })
}
