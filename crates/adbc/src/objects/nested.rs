//! Objects as nested lists of Arrow, from the columns upwards.

use std::sync::Arc;

use adbc_core::error::{Result, Status};
use adbc_core::schemas::{
    COLUMN_SCHEMA, CONSTRAINT_SCHEMA, GET_OBJECTS_SCHEMA, OBJECTS_DB_SCHEMA_SCHEMA, TABLE_SCHEMA,
    USAGE_SCHEMA,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int16Array, Int32Array, ListArray, RecordBatch, StringArray,
    StructArray, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, FieldRef};

use super::{Column, Database, Key, Table};
use crate::errors::error;
use crate::result::{self, Reader};
use crate::shared::CATALOG;

/// A reader of one batch: one catalog, or none.
pub(super) fn reader(has_catalog: bool, databases: Option<Vec<Database>>) -> Result<Reader> {
    let schema = Arc::clone(&GET_OBJECTS_SCHEMA);
    let names: Vec<&str> = if has_catalog { vec![CATALOG] } else { Vec::new() };
    let counts: Vec<Option<usize>> =
        names.iter().map(|_| databases.as_ref().map(Vec::len)).collect();
    let all = databases.unwrap_or_default();
    let lists = list(&counts, databases_array(&all)?)?;
    let columns: Vec<ArrayRef> = vec![Arc::new(StringArray::from(names)), lists];
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
    Ok(result::reader(schema, vec![batch]))
}

fn databases_array(databases: &[Database]) -> Result<ArrayRef> {
    let names = texts(databases.iter().map(|one| Some(one.name.as_str())));
    let counts: Vec<_> = databases.iter().map(|one| one.tables.as_ref().map(Vec::len)).collect();
    let tables: Vec<&Table> =
        databases.iter().flat_map(|one| one.tables.iter().flatten()).collect();
    structs(&OBJECTS_DB_SCHEMA_SCHEMA, vec![names, list(&counts, tables_array(&tables)?)?])
}

fn tables_array(tables: &[&Table]) -> Result<ArrayRef> {
    let names = texts(tables.iter().map(|one| Some(one.name.as_str())));
    let kinds = texts(tables.iter().map(|one| Some(one.kind.as_str())));
    let counts: Vec<_> = tables.iter().map(|one| one.columns.as_ref().map(Vec::len)).collect();
    let columns: Vec<&Column> =
        tables.iter().flat_map(|one| one.columns.iter().flatten()).collect();
    let columns = list(&counts, columns_array(&columns)?)?;
    let counts: Vec<_> = tables.iter().map(|one| one.keys.as_ref().map(Vec::len)).collect();
    let keys: Vec<&Key> = tables.iter().flat_map(|one| one.keys.iter().flatten()).collect();
    structs(&TABLE_SCHEMA, vec![names, kinds, columns, list(&counts, keys_array(&keys)?)?])
}

fn columns_array(columns: &[&Column]) -> Result<ArrayRef> {
    let types = columns.iter().map(|one| Some(one.type_name.as_str()));
    let nullable = columns.iter().map(|one| Some(if one.is_nullable { "YES" } else { "NO" }));
    let flag = |is_set: fn(&Column) -> bool| -> ArrayRef {
        Arc::new(columns.iter().map(|one| Some(is_set(one))).collect::<BooleanArray>())
    };
    let known: [(&str, ArrayRef); 11] = [
        ("column_name", texts(columns.iter().map(|one| Some(one.name.as_str())))),
        (
            "ordinal_position",
            Arc::new(columns.iter().map(|one| Some(one.position)).collect::<Int32Array>()),
        ),
        ("remarks", texts(columns.iter().map(|one| one.comment.as_deref()))),
        ("xdbc_type_name", texts(types)),
        ("xdbc_column_size", Arc::new(columns.iter().map(|one| one.size).collect::<Int32Array>())),
        (
            "xdbc_decimal_digits",
            Arc::new(columns.iter().map(|one| one.scale).collect::<Int16Array>()),
        ),
        (
            "xdbc_char_octet_length",
            Arc::new(columns.iter().map(|one| one.octets).collect::<Int32Array>()),
        ),
        ("xdbc_is_nullable", texts(nullable)),
        ("xdbc_column_def", texts(columns.iter().map(|one| one.default.as_deref()))),
        ("xdbc_is_autoincrement", flag(|one| one.is_auto_increment)),
        ("xdbc_is_generatedcolumn", flag(|one| one.is_generated)),
    ];
    let DataType::Struct(fields) = &*COLUMN_SCHEMA else { return Err(unlike()) };
    let array = |field: &FieldRef| {
        let array = known.iter().find(|(name, _)| name == field.name());
        array.map_or_else(
            || new_null_array(field.data_type(), columns.len()),
            |one| Arc::clone(&one.1),
        )
    };
    structs(&COLUMN_SCHEMA, fields.iter().map(array).collect())
}

fn keys_array(keys: &[&Key]) -> Result<ArrayRef> {
    let names = texts(keys.iter().map(|one| Some(one.name.as_str())));
    let kinds = texts(keys.iter().map(|one| Some(one.kind)));
    let counts: Vec<_> = keys.iter().map(|one| Some(one.columns.len())).collect();
    let columns = keys.iter().flat_map(|one| one.columns.iter().map(|name| Some(name.as_str())));
    let columns = list(&counts, texts(columns))?;
    let counts: Vec<_> =
        keys.iter().map(|one| Some(one.referred.len()).filter(|count| *count > 0)).collect();
    let referred: Vec<_> = keys.iter().flat_map(|one| one.referred.iter()).collect();
    let usage = structs(
        &USAGE_SCHEMA,
        vec![
            texts(referred.iter().map(|_| Some(CATALOG))),
            texts(referred.iter().map(|one| Some(one.0.as_str()))),
            texts(referred.iter().map(|one| Some(one.1.as_str()))),
            texts(referred.iter().map(|one| Some(one.2.as_str()))),
        ],
    )?;
    structs(&CONSTRAINT_SCHEMA, vec![names, kinds, columns, list(&counts, usage)?])
}

fn texts<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(texts.collect::<StringArray>())
}

fn structs(data_type: &DataType, columns: Vec<ArrayRef>) -> Result<ArrayRef> {
    let DataType::Struct(fields) = data_type else { return Err(unlike()) };
    let length = columns.first().map_or(0, |column| column.len());
    Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, None, length)?))
}

/// Lists with so many items each; None is NULL.
fn list(counts: &[Option<usize>], items: ArrayRef) -> Result<ArrayRef> {
    let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(counts.iter().map(|count| count.unwrap_or_default()));
    let nulls = NullBuffer::from_iter(counts.iter().map(Option::is_some));
    Ok(Arc::new(ListArray::try_new(field, offsets, items, Some(nulls))?))
}

fn unlike() -> adbc_core::error::Error {
    error(Status::Internal, "the objects of ADBC are no structs")
}
