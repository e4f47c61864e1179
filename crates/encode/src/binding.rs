//! How the fields of a line become the fields of each index.
//!
//! Made once before a load from the server's view of the table (its `.cfg` and
//! catalog) and the column list; then read by every worker.

use catalog::Moment;
use innodb::cfg::{Cfg, CfgIndex};
use innodb::record::{RecordShape, RecordWriter, SystemColumn, TRX_ID_AND_ROLL_PTR, TRX_ID_BYTES};
use job::error::Error;
use schema::Column;
use values::key::KeyPart;
use values::{Charset, ConvertOptions, Converter, SqlType};

use crate::column_source::{self, Input};
use crate::fields::InputFields;
use crate::partition::{Collations, Router, Unplaced, collation_of};

/// One column of the table.
#[derive(Clone, Debug)]
pub struct BoundColumn {
    /// As the server has it.
    pub column: Column,
    /// Where its values come from.
    pub input: Input,
    /// The value in place of NULL, if the column is NOT NULL: the time of a TIMESTAMP.
    pub on_null: Option<Vec<u8>>,
    /// Bound to type and character sets; workers clone it.
    pub converter: Converter,
}

/// Bytes of DB_ROW_ID.
const ROW_ID_BYTES: u32 = 6;

/// How much of a value an index keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The first bytes.
    Bytes(usize),
    /// The first characters.
    Chars(Charset, usize),
}

impl Cut {
    /// A prefix of so many characters, or bytes for binary types.
    pub(crate) fn of_chars(sql_type: &SqlType, length: usize) -> Cut {
        match sql_type.charset() {
            Some(charset) if charset.char_bytes_max() > 1 => Cut::Chars(charset, length),
            _ => Cut::Bytes(length),
        }
    }

    /// A prefix of `bytes` bytes, which stands for whole characters where they vary in width.
    fn of_bytes(sql_type: &SqlType, bytes: usize) -> Cut {
        let char_bytes = sql_type.charset().map_or(1, Charset::char_bytes_max);
        Cut::of_chars(sql_type, bytes / char_bytes)
    }

    /// Bytes or characters that are kept.
    pub(crate) fn length(self) -> usize {
        let (Cut::Bytes(length) | Cut::Chars(_, length)) = self;
        length
    }

    /// The part of `stored` that is kept.
    pub fn of(self, stored: &[u8]) -> &[u8] {
        match self {
            Cut::Bytes(bytes) => &stored[..stored.len().min(bytes)],
            Cut::Chars(charset, chars) => &stored[..charset.prefix_bytes(stored, chars)],
        }
    }
}

/// The bytes that are appended for one field of a clustered record.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Convert the input of this column.
    Convert(usize),
    /// Copy what was converted aside, cut to the index prefix.
    Prefix(usize, Cut),
    /// Copy what was converted aside.
    Copy(usize),
    /// The hidden row id.
    RowId,
    /// DB_TRX_ID or DB_ROLL_PTR: constants.
    System(SystemColumn),
}

/// The clustered index.
#[derive(Clone, Debug)]
pub struct ClusteredBinding {
    /// Its name.
    pub name: String,
    /// How its records are laid out.
    pub shape: RecordShape,
    /// The steps that make a record, field by field.
    pub steps: Vec<Step>,
    /// Columns to convert aside first, because a prefix of them comes before the whole.
    pub aside: Vec<usize>,
    /// How its key is made, part by part.
    pub key: Vec<KeyPart>,
    /// The key is this many bytes of the record's data as they are: fixed width, NOT NULL, ascending.
    pub key_is_data: Option<usize>,
    /// True if the key is DB_ROW_ID.
    pub has_row_id: bool,
}

/// One field of a secondary record: a field of the clustered record, perhaps cut.
#[derive(Clone, Copy, Debug)]
pub struct SecondaryField {
    /// Number of the field in the clustered record.
    pub clustered_field: usize,
    /// How much of it is kept; None for all.
    pub cut: Option<Cut>,
}

/// How the record of a secondary entry is had back after the sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The key's bytes are the record's data.
    KeyIsData,
    /// Every field can be read back from the fixed-width key.
    KeyReadsBack,
    /// The record travels with the key.
    WithRecord,
}

/// A secondary index.
#[derive(Clone, Debug)]
pub struct SecondaryBinding {
    /// Its name.
    pub name: String,
    /// How its records are laid out.
    pub shape: RecordShape,
    /// Its fields in order.
    pub fields: Vec<SecondaryField>,
    /// How its key is made, part by part.
    pub key: Vec<KeyPart>,
    /// The part of an entry that goes through the sort.
    pub entry: Entry,
    /// Bytes of each key, if constant.
    pub key_len: Option<usize>,
    /// Fields, from the first, that must be unique unless one is NULL; 0 if it is not UNIQUE.
    pub unique_fields: usize,
}

/// The whole table.
#[derive(Clone, Debug)]
pub struct Binding {
    /// All columns in table order.
    pub columns: Vec<BoundColumn>,
    /// The clustered index.
    pub clustered: ClusteredBinding,
    /// The others, in the order of the `.cfg`.
    pub secondaries: Vec<SecondaryBinding>,
    /// Fields of a whole line, and those that it must have.
    pub fields_per_row: usize,
    /// Fields that a line must have.
    pub fields_needed: usize,
    /// Position of the AUTO_INCREMENT column.
    pub auto_increment: Option<usize>,
    /// Which partition takes a row, of a table that has any.
    pub partitions: Option<PartitionBinding>,
}

/// How a row's partition is told.
#[derive(Clone, Debug)]
pub struct PartitionBinding {
    /// By columns of the table.
    pub router: Router,
    /// The fields of the clustered record that have these columns.
    fields: Vec<usize>,
}

impl PartitionBinding {
    /// The partition of a clustered record. `key` is overwritten.
    #[inline]
    pub(crate) fn place(
        &self,
        record: &RecordWriter,
        key: &mut Vec<u8>,
    ) -> Result<usize, Unplaced> {
        self.router.place(|at| record.field(self.fields[at]), key)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.router.partitions().len()
    }
}

/// The parts of the binding.
pub struct Parts<'a> {
    /// As [`bind_columns`] gives them.
    pub columns: Vec<BoundColumn>,
    /// The server's description of the table's file.
    pub cfg: &'a Cfg,
    /// Columns that the fields of a line go to.
    pub fields: &'a InputFields,
    /// By which keys are ordered, by name.
    pub collations: &'a Collations,
    /// Which partition takes a row, of a table that has any.
    pub router: Option<&'a Router>,
}

impl Binding {
    /// Joins catalog, `.cfg` and column list.
    pub fn new(parts: Parts<'_>) -> Result<Binding, Error> {
        let (clustered_index, secondary_indexes) = parts
            .cfg
            .indexes
            .split_first()
            .ok_or_else(|| Error::Usage("the table's .cfg lists no index".to_owned()))?;
        let by_cfg = columns_by_cfg(&parts)?;
        let context = Context { parts: &parts, columns: &parts.columns, by_cfg: &by_cfg };
        let clustered = context.clustered(clustered_index)?;
        let field_of_column = field_of_column(&clustered, parts.columns.len());
        let secondaries = secondary_indexes
            .iter()
            .map(|index| context.secondary(index, &clustered, &field_of_column))
            .collect::<Result<Vec<_>, Error>>()?;
        let partitions = parts.router.map(|router| PartitionBinding {
            fields: router.columns().iter().map(|&column| field_of_column[column]).collect(),
            router: router.clone(),
        });
        Ok(Binding {
            partitions,
            auto_increment: parts.columns.iter().position(|column| column.column.auto_increment),
            fields_per_row: parts.fields.columns.len(),
            fields_needed: parts.fields.needed(),
            columns: parts.columns,
            clustered,
            secondaries,
        })
    }

    /// A secondary index by its number; none of 0, the clustered one.
    pub fn secondary(&self, index: usize) -> Option<&SecondaryBinding> {
        index.checked_sub(1).map(|at| &self.secondaries[at])
    }

    /// Fields of the clustered record that must be unique in an index, unless one is NULL.
    pub fn unique_fields(&self, index: usize) -> impl Iterator<Item = usize> {
        let secondary = self.secondary(index);
        let fields =
            secondary.map_or(self.clustered.shape.key_fields, |secondary| secondary.unique_fields);
        (0..fields)
            .map(move |at| secondary.map_or(at, |secondary| secondary.fields[at].clustered_field))
    }

    /// Column that a field of the clustered record belongs to.
    pub fn column_of_clustered_field(&self, field: usize) -> Option<usize> {
        match *self.clustered.steps.get(field)? {
            Step::Convert(column) | Step::Prefix(column, _) | Step::Copy(column) => Some(column),
            Step::RowId | Step::System(_) => None,
        }
    }
}

/// Says for each column of the table that `is_bound` (by its position) where its value comes from
/// and how it is converted.
///
/// Errors are the user's: a default that cannot be stored.
pub fn bind_columns(
    columns: &[Column],
    fields: &InputFields,
    convert: &ConvertOptions,
    label_collations: &Collations,
    moment: Option<&Moment>,
    is_bound: impl Fn(usize) -> bool,
) -> Result<Vec<BoundColumn>, Error> {
    let bound = columns.iter().enumerate().filter(|(position, _)| is_bound(*position));
    bound
        .map(|(position, column)| {
            let field = fields.field_of(position);
            let label_text = column.sql_type.label_text();
            let labels = label_text.and_then(|text| label_collations.get(&text.collation).cloned());
            Ok(BoundColumn {
                input: column_source::input(convert, column, field)?,
                on_null: column_source::on_null(convert, column, moment)?,
                converter: Converter::with_collation(
                    &column.name,
                    &column.sql_type,
                    convert,
                    labels,
                )?,
                column: column.clone(),
            })
        })
        .collect()
}

/// Column of the table for each column of the `.cfg`; `None` for system columns.
fn columns_by_cfg(parts: &Parts<'_>) -> Result<Vec<Option<usize>>, Error> {
    let columns = &parts.columns;
    let user = parts.cfg.columns.len().saturating_sub(3);
    let by_name = |name: &str| columns.iter().position(|column| column.column.name == name);
    let found: Vec<_> = parts.cfg.columns.iter().map(|column| by_name(&column.name)).collect();
    if user != columns.len() || found[..user].iter().any(Option::is_none) {
        return Err(Error::Usage(
            "the table changed during its inspection: catalog and exported .cfg differ; load again"
                .to_owned(),
        ));
    }
    Ok(found)
}

/// Field of the clustered record that has each column in full.
fn field_of_column(clustered: &ClusteredBinding, columns: usize) -> Vec<usize> {
    let mut fields = vec![usize::MAX; columns];
    for (field, step) in clustered.steps.iter().enumerate() {
        if let Step::Convert(column) | Step::Copy(column) = *step {
            fields[column] = field;
        }
    }
    fields
}

struct Context<'a> {
    parts: &'a Parts<'a>,
    columns: &'a [BoundColumn],
    by_cfg: &'a [Option<usize>],
}

impl Context<'_> {
    fn clustered(&self, index: &CfgIndex) -> Result<ClusteredBinding, Error> {
        let shape = RecordShape::leaf(self.parts.cfg, index)?;
        let mut steps = Vec::with_capacity(shape.fields.len());
        let mut aside = Vec::new();
        for field in &shape.fields {
            let column = self.by_cfg[field.column];
            steps.push(match (column, field.system) {
                (Some(column), _) if field.prefix_len > 0 => {
                    aside.push(column);
                    Step::Prefix(column, self.cut(column, field.prefix_len))
                }
                (Some(column), _) => Step::Convert(column),
                (None, Some(SystemColumn::RowId)) => Step::RowId,
                (None, Some(system)) => Step::System(system),
                (None, None) => return Err(unknown_field(index)),
            });
        }
        for step in &mut steps {
            if let Step::Convert(column) = *step
                && aside.contains(&column)
            {
                *step = Step::Copy(column);
            }
        }
        let key = (0..shape.key_fields)
            .map(|field| self.key_part(&shape, field))
            .collect::<Result<Vec<_>, Error>>()?;
        let plain =
            key.iter().zip(&shape.fields).all(|(part, field)| is_data(part) && field.fixed_len > 0);
        let key_bytes =
            shape.fields[..shape.key_fields].iter().map(|field| field.fixed_len as usize).sum();
        Ok(ClusteredBinding {
            name: index.name.clone(),
            has_row_id: matches!(steps.first(), Some(Step::RowId)),
            key_is_data: plain.then_some(key_bytes),
            shape,
            steps,
            aside,
            key,
        })
    }

    fn secondary(
        &self,
        index: &CfgIndex,
        clustered: &ClusteredBinding,
        field_of_column: &[usize],
    ) -> Result<SecondaryBinding, Error> {
        let shape = RecordShape::leaf(self.parts.cfg, index)?;
        let mut fields = Vec::with_capacity(shape.fields.len());
        for field in &shape.fields {
            let column = self.by_cfg[field.column];
            let clustered_field = match column {
                Some(column) => field_of_column[column],
                None => clustered
                    .steps
                    .iter()
                    .position(|step| matches!(step, Step::RowId))
                    .ok_or_else(|| unknown_field(index))?,
            };
            let cut = column
                .filter(|_| field.prefix_len > 0)
                .map(|column| self.cut(column, field.prefix_len));
            fields.push(SecondaryField { clustered_field, cut });
        }
        let key = (0..fields.len())
            .map(|field| self.key_part(&shape, field))
            .collect::<Result<Vec<_>, Error>>()?;
        let fixed = |(part, field): (&KeyPart, &innodb::record::FieldShape)| {
            (part.invertible() && field.fixed_len > 0)
                .then_some(field.fixed_len as usize + usize::from(part.nullable))
        };
        let key_len: Option<usize> = key.iter().zip(&shape.fields).map(fixed).sum();
        let entry = match key_len {
            Some(_) if key.iter().all(is_data) => Entry::KeyIsData,
            Some(_) => Entry::KeyReadsBack,
            None => Entry::WithRecord,
        };
        let unique_fields = if index.is_unique() { index.n_user as usize } else { 0 };
        Ok(SecondaryBinding {
            name: index.name.clone(),
            shape,
            fields,
            key,
            entry,
            key_len,
            unique_fields,
        })
    }

    fn key_part(&self, shape: &RecordShape, field: usize) -> Result<KeyPart, Error> {
        let field = &shape.fields[field];
        let Some(column) = self.by_cfg[field.column] else {
            let row_id = SqlType::Binary { bytes: ROW_ID_BYTES };
            return Ok(KeyPart::new(&row_id, None, false, field.descending));
        };
        let sql_type = &self.columns[column].column.sql_type;
        let collation = collation_of(sql_type, self.parts.collations).map_err(|name| {
            Error::Usage(format!("collation {name} of a key column was not learned"))
        })?;
        let part = KeyPart::new(sql_type, collation, field.nullable, field.descending);
        Ok(match field.prefix_len {
            0 => part,
            bytes => part.with_prefix(self.cut(column, bytes).length()),
        })
    }

    /// How a prefix of `bytes` bytes of a column is cut: whole characters where they vary in width.
    fn cut(&self, column: usize, bytes: u32) -> Cut {
        Cut::of_bytes(&self.columns[column].column.sql_type, bytes as usize)
    }
}

/// The bytes of a system column in every record.
pub(crate) fn system_bytes(system: SystemColumn) -> &'static [u8] {
    let (trx_id, roll_ptr) = TRX_ID_AND_ROLL_PTR.split_at(TRX_ID_BYTES);
    match system {
        SystemColumn::TrxId => trx_id,
        SystemColumn::RollPtr => roll_ptr,
        SystemColumn::RowId => &[],
    }
}

fn is_data(part: &KeyPart) -> bool {
    part.invertible() && !part.nullable && !part.descending
}

fn unknown_field(index: &CfgIndex) -> Error {
    Error::Usage(format!("index `{}` has a field that is no stored column", index.name))
}
