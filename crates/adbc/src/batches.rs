//! Rows of a result as record batches.

use std::sync::Arc;

use adbc_core::error::{Error, Result, Status};
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use mysql::Value;

use crate::column::{self, Values};
use crate::errors::error;
use crate::result_set::{ResultColumn, ResultKind, text};

/// Rows and bytes of a batch.
const ROWS: usize = 65_536;
const BYTES: usize = 32 << 20;
/// Characters of a value in a message.
const SHOWN_CHARS_MAX: usize = 64;
/// Time zone of moments.
const UTC: &str = "UTC";

/// Rows of a result, with the types that the server describes.
#[derive(Default)]
pub(crate) struct Batches {
    columns: Vec<ResultColumn>,
    /// None until the time zone of moments is known.
    schema: Option<SchemaRef>,
    values: Vec<Box<dyn Values>>,
    /// Rows and bytes of the batch that is being filled.
    rows: usize,
    bytes: usize,
    /// Rows of the batches before.
    rows_before: usize,
    /// Batches that were not taken yet.
    arrays: Vec<Vec<ArrayRef>>,
}

impl Batches {
    /// Begins a result with these columns. `is_utc` is None if the time zone of the session is not known yet.
    ///
    /// Errors: values that the server sends rounded.
    pub(crate) fn begin(&mut self, columns: &[ResultColumn], is_utc: Option<bool>) -> Result<()> {
        if let Some(rounded) = columns.iter().find(|column| column.is_rounded) {
            return Err(error(
                Status::NotImplemented,
                format!(
                    "column {} is FLOAT, and the server rounds FLOAT in answers to this statement: \
                     begin the statement with SELECT, or read CAST(.. AS DOUBLE)",
                    rounded.name
                ),
            ));
        }
        self.columns = columns.to_vec();
        self.values = columns.iter().map(column::values).collect();
        let has_moments = columns.iter().any(|column| column.kind == ResultKind::Timestamp);
        let is_utc = is_utc.or((!has_moments).then_some(false));
        self.schema = is_utc.map(|is_utc| Arc::new(schema(columns, is_utc)));
        Ok(())
    }

    /// Adds a row.
    ///
    /// Errors: a value that the type of its column does not have.
    pub(crate) fn push(&mut self, row: &[Option<Value>]) -> Result<()> {
        for (at, values) in self.values.iter_mut().enumerate() {
            let value = text(row.get(at).and_then(Option::as_ref));
            if values.push(value.as_deref()).is_err() {
                return Err(self.unfit(at, &value.unwrap_or_default()));
            }
            self.bytes += value.map_or(0, |value| value.len());
        }
        self.rows += 1;
        if self.rows >= ROWS || self.bytes >= BYTES {
            self.cut();
        }
        Ok(())
    }

    fn cut(&mut self) {
        let arrays = self.values.iter_mut().map(|values| values.finish()).collect();
        self.arrays.push(arrays);
        self.rows_before += self.rows;
        (self.rows, self.bytes) = (0, 0);
    }

    fn unfit(&self, at: usize, value: &[u8]) -> Error {
        let Some(column) = self.columns.get(at) else {
            return error(
                Status::InvalidData,
                "the row has more fields than the result has columns",
            );
        };
        let shown: String = String::from_utf8_lossy(value).chars().take(SHOWN_CHARS_MAX).collect();
        let (advice, type_name) = match column.kind {
            ResultKind::Text => ("; read CAST(.. AS BINARY)", "text in UTF-8".to_owned()),
            ResultKind::Date | ResultKind::DateTime | ResultKind::Timestamp => (
                "; read CAST(.. AS CHAR), or NULLIF(.., ..)",
                column::field(column).data_type().to_string(),
            ),
            _ => ("; read CAST(.. AS CHAR)", column::field(column).data_type().to_string()),
        };
        error(
            Status::InvalidData,
            format!(
                "column {}, row {}: {shown:?} is no value of Arrow's type {type_name}{advice}",
                column.name,
                self.rows_before + self.rows + 1,
            ),
        )
    }

    /// True if the columns have moments whose time zone is not known yet.
    pub(crate) fn awaits_zone(&self) -> bool {
        !self.columns.is_empty() && self.schema.is_none()
    }

    /// The complete batches, once the schema is known.
    pub(crate) fn take(&mut self) -> Result<Vec<RecordBatch>> {
        let Some(schema) = &self.schema else { return Ok(Vec::new()) };
        let batch = |arrays: Vec<ArrayRef>| {
            let labelled = arrays.into_iter().zip(schema.fields());
            let arrays = labelled.map(|(array, field)| with_zone(array, field)).collect();
            Ok(RecordBatch::try_new(Arc::clone(schema), arrays)?)
        };
        self.arrays.drain(..).map(batch).collect()
    }

    /// The schema and the remaining batches. Values of TIMESTAMP are moments if the session's time zone is UTC, and
    /// have no time zone otherwise; `is_utc` counts if the time zone was not known before.
    pub(crate) fn finish(mut self, is_utc: bool) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        if self.rows > 0 {
            self.cut();
        }
        let of_columns = || Arc::new(schema(&self.columns, is_utc));
        let schema = Arc::clone(self.schema.get_or_insert_with(of_columns));
        Ok((schema, self.take()?))
    }
}

/// The schema of columns.
pub(crate) fn schema(columns: &[ResultColumn], is_utc: bool) -> Schema {
    let moment = DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into()));
    let field = |column: &ResultColumn| match column.kind {
        ResultKind::Timestamp if is_utc => {
            Field::new(&column.name, moment.clone(), column.is_nullable)
        }
        _ => column::field(column),
    };
    Schema::new(columns.iter().map(field).collect::<Vec<_>>())
}

fn with_zone(array: ArrayRef, field: &Field) -> ArrayRef {
    match (field.data_type(), array.as_primitive_opt::<TimestampMicrosecondType>()) {
        (DataType::Timestamp(_, Some(zone)), Some(moments)) => {
            Arc::new(moments.clone().with_timezone(Arc::clone(zone)))
        }
        _ => array,
    }
}
