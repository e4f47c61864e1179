//! Bound data as an Arrow stream, in parts that the program can hold.

use std::io::BufWriter;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeBinaryArray, LargeStringArray, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use crate::program::WriteError;
use crate::result::Reader;

/// Bytes of a part. The program holds some parts at once.
const PART_BYTES: usize = 8 << 20;
const PART_ROWS_MIN: usize = 1024;

/// Writes all batches, and behind them the end mark: the program loads no stream without it.
///
/// Small batches wait in the buffer for others, so each batch begins with a look at the program.
pub(super) fn write(
    input: &mut BufWriter<UnixStream>,
    data: Reader,
    takes_input: &dyn Fn() -> bool,
) -> Result<(), WriteError> {
    let schema = plain_schema(&data.schema());
    let mut writer = StreamWriter::try_new(input, &schema)?;
    for batch in data {
        let batch = batch.map_err(WriteError::of_data)?;
        if !takes_input() {
            return Err(WriteError::Closed);
        }
        let bytes_per_row = batch.get_array_memory_size() / batch.num_rows().max(1);
        let rows = (PART_BYTES / bytes_per_row.max(1)).max(PART_ROWS_MIN);
        let dictionaries = batch.columns().iter().map(plain_dictionary).collect::<Vec<_>>();
        for start in (0..batch.num_rows()).step_by(rows) {
            let count = rows.min(batch.num_rows() - start);
            let part = dictionaries.iter().map(|column| plain(&column.slice(start, count)));
            let part = RecordBatch::try_new(Arc::clone(&schema), part.collect());
            writer.write(&part.map_err(WriteError::of_data)?)?;
        }
    }
    writer.finish()?;
    Ok(())
}

impl WriteError {
    /// An error of the data, whatever its kind is: the data may itself come from a file.
    fn of_data(cause: ArrowError) -> WriteError {
        WriteError::from(match cause {
            ArrowError::IoError(words, _) => ArrowError::ExternalError(words.into()),
            cause => cause,
        })
    }
}

/// The schema with texts and bytes in place of views: views of a part would be sent with the bytes of the
/// whole batch.
fn plain_schema(schema: &SchemaRef) -> SchemaRef {
    let field = |field: &Arc<Field>| {
        let data_type = plain_type(field.data_type());
        Arc::new(field.as_ref().clone().with_data_type(data_type))
    };
    let fields = schema.fields().iter().map(field).collect::<Vec<_>>();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::LargeUtf8,
        DataType::BinaryView => DataType::LargeBinary,
        DataType::Dictionary(key, value) => {
            DataType::Dictionary(key.clone(), Box::new(plain_type(value)))
        }
        other => other.clone(),
    }
}

fn plain(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().iter().collect::<LargeStringArray>()),
        DataType::BinaryView => {
            Arc::new(array.as_binary_view().iter().collect::<LargeBinaryArray>())
        }
        _ => Arc::clone(array),
    }
}

/// A dictionary with plain values. Parts of a batch share it, so that it is sent once.
fn plain_dictionary(array: &ArrayRef) -> ArrayRef {
    match array.as_any_dictionary_opt() {
        Some(dictionary) => dictionary.with_values(plain(dictionary.values())),
        None => Arc::clone(array),
    }
}
