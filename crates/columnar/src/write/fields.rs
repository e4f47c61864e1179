//! Types of columns as types of Arrow.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, TimeUnit};
use values::{Charset, SqlType};

use crate::written::{WrittenColumn, is_geometry};

/// Key of the name of an extension type in the metadata of a field.
const EXTENSION: &str = "ARROW:extension:name";
/// Key of the metadata of an extension type.
const EXTENSION_METADATA: &str = "ARROW:extension:metadata";
/// Key of the SRID of a column.
const SRID: &str = "srid";
/// Digits of a decimal in 128 bits.
const DIGITS_128: u8 = 38;

/// The zone of moments.
pub(super) const UTC: &str = "UTC";

/// The field of a column.
pub(super) fn field(column: &WrittenColumn<'_>) -> Field {
    let field = Field::new(column.name, data_type(column.sql_type), column.is_nullable);
    let extension = |name: &str| {
        HashMap::from([
            (EXTENSION.to_owned(), name.to_owned()),
            (EXTENSION_METADATA.to_owned(), String::new()),
        ])
    };
    match column.sql_type {
        SqlType::Uuid => field.with_metadata(extension("arrow.uuid")),
        SqlType::Json(_) | SqlType::Document => field.with_metadata(extension("arrow.json")),
        sql_type if is_geometry(sql_type) => {
            field.with_metadata(HashMap::from([(SRID.to_owned(), column.srid.to_string())]))
        }
        _ => field,
    }
}

fn data_type(sql_type: &SqlType) -> DataType {
    match sql_type {
        SqlType::Integer { bytes: 1, unsigned: false } => DataType::Int8,
        SqlType::Integer { bytes: 2, unsigned: false } => DataType::Int16,
        SqlType::Integer { bytes: 3 | 4, unsigned: false } => DataType::Int32,
        SqlType::Integer { unsigned: false, .. } => DataType::Int64,
        SqlType::Integer { bytes: 1, unsigned: true } => DataType::UInt8,
        SqlType::Integer { bytes: 2, unsigned: true } => DataType::UInt16,
        SqlType::Integer { bytes: 3 | 4, unsigned: true } => DataType::UInt32,
        SqlType::Integer { unsigned: true, .. } => DataType::UInt64,
        SqlType::Decimal { precision, scale, .. } if *precision <= DIGITS_128 => {
            DataType::Decimal128(*precision, *scale as i8)
        }
        SqlType::Decimal { precision, scale, .. } => DataType::Decimal256(*precision, *scale as i8),
        SqlType::Float { .. } => DataType::Float32,
        SqlType::Double { .. } => DataType::Float64,
        SqlType::Year => DataType::UInt16,
        SqlType::Date => DataType::Date32,
        SqlType::Time { .. } => DataType::Duration(TimeUnit::Microsecond),
        SqlType::DateTime { .. } => DataType::Timestamp(TimeUnit::Microsecond, None),
        SqlType::Timestamp { .. } => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
        SqlType::Enum { .. } => {
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
        }
        SqlType::Char { text, .. } | SqlType::VarChar { text, .. } | SqlType::Text { text, .. }
            if text.charset == Charset::Binary =>
        {
            DataType::Binary
        }
        SqlType::Set { .. }
        | SqlType::Char { .. }
        | SqlType::VarChar { .. }
        | SqlType::Text { .. }
        | SqlType::Inet4
        | SqlType::Inet6
        | SqlType::Json(_)
        | SqlType::Document
        | SqlType::Opaque { is_text: true, .. } => DataType::Utf8,
        SqlType::Binary { bytes: 1.. } => match fixed_bytes(sql_type) {
            Some(bytes) => DataType::FixedSizeBinary(bytes),
            None => DataType::Binary,
        },
        SqlType::Uuid => DataType::FixedSizeBinary(16),
        SqlType::Bit { .. }
        | SqlType::Binary { .. }
        | SqlType::VarBinary { .. }
        | SqlType::Blob { .. }
        | SqlType::Geometry { .. }
        | SqlType::Vector { .. }
        | SqlType::Opaque { is_text: false, .. } => DataType::Binary,
    }
}

/// Bytes of each value of a BINARY column or of a UUID.
pub(super) fn fixed_bytes(sql_type: &SqlType) -> Option<i32> {
    match sql_type {
        SqlType::Binary { bytes } => i32::try_from(*bytes).ok().filter(|bytes| *bytes > 0),
        SqlType::Uuid => Some(16),
        _ => None,
    }
}

/// The labels of an ENUM, and the empty text of its error value behind them.
pub(super) fn labels(labels: &[String]) -> Arc<arrow_array::StringArray> {
    let all = labels.iter().map(String::as_str).chain([""]);
    Arc::new(arrow_array::StringArray::from_iter_values(all))
}
