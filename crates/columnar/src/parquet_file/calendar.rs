//! Spark's old calendar: days before October 1582 and times before 1900 that are others in ours.
//!
//! Source: Apache Spark 3.5, `sql/core/.../parquet/ParquetFileFormat` and `RebaseDateTime`.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::basic::Type;

use crate::cells::OLD_CALENDAR;
use crate::guard::Problem;

/// Keys in the footer: days and times are of the old calendar, and those of INT96.
const OLD_TIMES: &str = "org.apache.spark.legacyDateTime";
const OLD_INT96: &str = "org.apache.spark.legacyINT96";

/// The columns of a file; a mark on those of the old calendar.
///
/// Errors: such values inside of lists and structs.
pub(super) fn marked(metadata: &ArrowReaderMetadata) -> Result<SchemaRef, Problem> {
    let file = metadata.metadata().file_metadata();
    let pairs = file.key_value_metadata().map_or(&[][..], Vec::as_slice);
    let has_key = |key: &str| pairs.iter().any(|pair| pair.key == key);
    let (old_times, old_int96) = (has_key(OLD_TIMES), has_key(OLD_INT96));
    let schema = metadata.schema();
    if !old_times && !old_int96 {
        return Ok(Arc::clone(schema));
    }
    let parquet = metadata.parquet_schema();
    let is_old = |column: usize| {
        let mut leaves =
            (0..parquet.num_columns()).filter(|leaf| parquet.get_column_root_idx(*leaf) == column);
        leaves.any(|leaf| match parquet.column(leaf).physical_type() {
            Type::INT96 => old_int96,
            _ => old_times,
        })
    };
    let mut fields: Vec<FieldRef> = Vec::with_capacity(schema.fields().len());
    for (column, field) in schema.fields().iter().enumerate() {
        fields.push(match (is_old(column), has_times(field.data_type())) {
            (true, true) if field.data_type().is_nested() => {
                return Err(format!(
                    "column `{}` has times in lists or structs that Spark wrote in its old calendar; write the file \
                     again with spark.sql.parquet.datetimeRebaseModeInWrite=CORRECTED",
                    field.name()
                ));
            }
            (true, true) => Arc::new(with_mark(field)),
            _ => Arc::clone(field),
        });
    }
    let fields: Fields = fields.into();
    Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

fn with_mark(field: &Field) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(OLD_CALENDAR.to_owned(), String::new());
    field.clone().with_metadata(metadata)
}

/// True if values have days or times.
fn has_times(data_type: &DataType) -> bool {
    match data_type {
        DataType::Date32 | DataType::Timestamp(..) => true,
        DataType::Struct(fields) => fields.iter().any(|field| has_times(field.data_type())),
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            has_times(field.data_type())
        }
        DataType::Map(field, _) => has_times(field.data_type()),
        _ => false,
    }
}
