//! The Arrow types that columns of a Parquet file are read as.
//!
//! Texts are views, so that a dictionary of long ones is not copied for every row; values of dictionaries are read
//! plainly; INT96 is read in a unit that the caller chooses.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use parquet::basic::Type;
use parquet::schema::types::SchemaDescriptor;

/// The columns that have INT96, ascending.
pub(super) fn int96_columns(parquet: &SchemaDescriptor) -> Vec<usize> {
    let is_int96 = |leaf: &usize| parquet.column(*leaf).physical_type() == Type::INT96;
    let leaves = (0..parquet.num_columns()).filter(is_int96);
    let mut columns: Vec<usize> = leaves.map(|leaf| parquet.get_column_root_idx(leaf)).collect();
    columns.dedup();
    columns
}

/// The schema to read by, of the one that the file has, with INT96 in a unit.
pub(super) fn of(schema: &Schema, parquet: &SchemaDescriptor, unit: TimeUnit) -> Schema {
    let mut leaf = 0;
    let fields = schema.fields().iter().map(|field| read_as(field, &mut leaf, parquet, unit, true));
    Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone())
}

/// The field with its type changed. `leaf` is the next column of the Parquet schema.
fn read_as(
    field: &FieldRef,
    leaf: &mut usize,
    parquet: &SchemaDescriptor,
    unit: TimeUnit,
    top: bool,
) -> FieldRef {
    let mut inner = |field: &FieldRef| read_as(field, leaf, parquet, unit, false);
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        DataType::List(item) => DataType::List(inner(item)),
        DataType::LargeList(item) => DataType::LargeList(inner(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(inner(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(inner(entries), *sorted),
        other => {
            let at = *leaf;
            *leaf += 1;
            let is_int96 =
                at < parquet.num_columns() && parquet.column(at).physical_type() == Type::INT96;
            leaf_type(other, is_int96.then_some(unit), top)
        }
    };
    Arc::new(Field::clone(field).with_data_type(data_type))
}

fn leaf_type(data_type: &DataType, int96: Option<TimeUnit>, top: bool) -> DataType {
    match (data_type, int96) {
        (DataType::Timestamp(_, zone), Some(unit)) => DataType::Timestamp(unit, zone.clone()),
        (DataType::Dictionary(_, values), _) => leaf_type(values, int96, top),
        (DataType::Utf8 | DataType::LargeUtf8, _) if top => DataType::Utf8View,
        (DataType::Binary | DataType::LargeBinary, _) if top => DataType::BinaryView,
        (other, _) => other.clone(),
    }
}
