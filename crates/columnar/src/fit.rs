//! Which columns of a table take which values of a file: pairs that can be exact, and the others, which are refused
//! before anything is loaded.

use arrow_schema::{DataType, Field};
use values::{Family, SqlType};

use crate::guard::Problem;
use crate::written::is_geometry;

/// Key and name of the extension type of UUIDs.
const EXTENSION: &str = "ARROW:extension:name";
const UUID: &str = "arrow.uuid";
/// Key of the coordinate system of geometries, as exports write it.
pub(crate) const SRID: &str = "srid";

/// Kinds of values that a file's columns have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// NULL in every row.
    Null,
    /// Truth values and whole numbers.
    Integer,
    /// Other numbers.
    Number,
    /// Days.
    Date,
    /// Times of a day, and durations.
    Time,
    /// Dates with times, in no zone.
    DateTime,
    /// Moments.
    Moment,
    /// Texts, or bytes that may be one.
    Text,
    /// UUIDs in 16 bytes.
    Uuid,
    /// Lists, structs and maps, which become JSON.
    Nested,
}

/// The class of a column.
///
/// Errors: values that no column takes.
pub(crate) fn class(field: &Field) -> Result<Class, Problem> {
    use DataType::*;
    Ok(match field.data_type() {
        Null => Class::Null,
        Boolean | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => Class::Integer,
        Float16 | Float32 | Float64 => Class::Number,
        Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => Class::Number,
        Date32 | Date64 => Class::Date,
        Time32(_) | Time64(_) | Duration(_) => Class::Time,
        Timestamp(_, None) => Class::DateTime,
        Timestamp(_, Some(_)) => Class::Moment,
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView => Class::Text,
        FixedSizeBinary(16) if is_uuid(field) => Class::Uuid,
        FixedSizeBinary(_) => Class::Text,
        Dictionary(_, values) => return class(&of_type(field, values)),
        RunEndEncoded(_, values) => return class(values),
        List(item)
        | LargeList(item)
        | FixedSizeList(item, _)
        | ListView(item)
        | LargeListView(item) => return nested(item),
        Struct(fields) => {
            fields.iter().try_for_each(|field| nested(field).map(drop))?;
            Class::Nested
        }
        Map(entries, _) => {
            let Struct(fields) = entries.data_type() else {
                return Err("its map has no keys and values".to_owned());
            };
            let is_text = matches!(
                fields.first().map(|key| key.data_type()),
                Some(Utf8 | LargeUtf8 | Utf8View)
            );
            if !is_text {
                return Err("the keys of its maps are no texts, as JSON needs them".to_owned());
            }
            return nested(entries);
        }
        Interval(_) | Union(..) => {
            return Err(format!("its type {} is not supported", field.data_type()));
        }
    })
}

/// A field whose values are inside of lists, structs or maps.
fn nested(field: &Field) -> Result<Class, Problem> {
    let is_bytes = matches!(
        field.data_type(),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView
    ) || matches!(field.data_type(), DataType::FixedSizeBinary(_))
        && !is_uuid(field);
    if is_bytes {
        return Err(format!("`{}` in it has bytes, which JSON cannot have", field.name()));
    }
    class(field).map(|_| Class::Nested)
}

/// The same field with another type.
fn of_type(field: &Field, data_type: &DataType) -> Field {
    field.clone().with_data_type(data_type.clone())
}

/// True if the values of a field are bytes, and no texts.
pub(crate) fn is_bytes(field: &Field) -> bool {
    use DataType::*;
    match field.data_type() {
        Dictionary(_, values) => is_bytes(&of_type(field, values)),
        RunEndEncoded(_, values) => is_bytes(values),
        other => matches!(other, Binary | LargeBinary | BinaryView | FixedSizeBinary(_)),
    }
}

/// True if the values of a field are UUIDs in 16 bytes.
pub(crate) fn is_uuid(field: &Field) -> bool {
    field.metadata().get(EXTENSION).is_some_and(|name| name == UUID)
}

/// The number of the coordinate system of a field's geometries, or the name of one without a number; None of a field
/// that has none.
pub(crate) fn srid(field: &Field) -> Option<&str> {
    field.metadata().get(SRID).map(String::as_str)
}

/// Refuses a column of a table that cannot take values of a field exactly.
///
/// Errors: the reason.
pub(crate) fn check(field: &Field, sql_type: &SqlType) -> Result<(), Problem> {
    use Family as F;
    let class = class(field)?;
    if let (true, Some(srid)) = (is_geometry(sql_type), srid(field))
        && srid.parse::<u32>().is_err()
    {
        return Err(format!(
            "its coordinate system is {srid}, which has no SRID; convert the file to another"
        ));
    }
    let family = sql_type.family();
    let is_number = matches!(family, F::Integer | F::Decimal | F::Real);
    // Labels are texts: what a number means there, is ambiguous.
    let is_text = matches!(family, F::Text(_) | F::Bytes);
    let is_time = matches!(sql_type, SqlType::Time { .. });
    let is_json = matches!(family, F::Json(_) | F::Document);
    let fits = match class {
        Class::Null | Class::Text => true,
        Class::Integer => is_number || is_text || is_json || matches!(family, F::Year | F::Bits),
        Class::Number => is_number || is_text || is_json,
        Class::Date | Class::DateTime => {
            is_text || (family == F::Temporal && !is_time) || family == F::Moment
        }
        Class::Moment => {
            is_text || matches!(sql_type, SqlType::DateTime { .. } | SqlType::Timestamp { .. })
        }
        Class::Time => is_text || is_time,
        Class::Uuid => is_text || matches!(sql_type, SqlType::Uuid),
        Class::Nested => is_json || is_text,
    };
    match fits {
        true => Ok(()),
        false => Err(format!(
            "its type is {}, whose values {sql_type} cannot store exactly; change the column of the table, or \
             convert the file",
            field.data_type()
        )),
    }
}
