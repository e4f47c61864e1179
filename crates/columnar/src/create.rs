//! Columns of a new table, from the columns of files and a look at their first rows.

#[cfg(feature = "excel")]
use std::any::Any;
use std::path::PathBuf;

use arrow_schema::{DataType, Field, TimeUnit};
use sources::batch::Cells;
use sources::{Batch, Chunk, Reader, Result, Source, Value};
use values::SqlType;

#[cfg(feature = "excel")]
use crate::excel;
use crate::fit::{Class, class};
use crate::guard::Problem;
use crate::guess::{ColumnGuess, TableGuess};
use crate::kind::Kind;
use crate::options::ColumnarOptions;
use crate::source::ColumnarSource;

/// Rows that are looked at.
const ROWS_MAX: u64 = 200_000;
/// Digits that DECIMAL has, and those of them behind the point.
const DIGITS_MAX: u8 = 65;
const SCALE_MAX: i8 = 38;
/// Characters of a VARCHAR for texts of at most half as many, and the bytes of a VARBINARY.
const WIDTH: usize = 255;
/// The last moment of a TIMESTAMP on every server, in microseconds.
const MOMENT_MAX: i64 = 2_147_483_647_000_000;

/// Sizes of the values that were looked at.
#[derive(Clone, Copy, Debug, Default)]
struct ValueSizes {
    chars_max: usize,
    bytes_max: usize,
    /// There is a moment that no TIMESTAMP has.
    is_far: bool,
}

/// Guesses the columns of a table for these files.
///
/// Errors: reading; a type that no column takes, with its name.
pub(crate) fn guess(kind: Kind, paths: &[PathBuf], options: ColumnarOptions) -> Result<TableGuess> {
    let mut source = ColumnarSource::new(kind, paths, options)?;
    #[cfg(feature = "excel")]
    if kind == Kind::Excel {
        return sheet_guess(&source);
    }
    let schema = source.schema()?;
    let mut classes = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let of_field = class(field);
        classes.push(of_field.map_err(|problem| source.column_error(field.name(), problem))?);
    }
    let is_looked_at = |class: &Class| matches!(class, Class::Text | Class::Moment);
    let looked_at: Vec<bool> = classes.iter().map(is_looked_at).collect();
    let (seen, rows, is_whole) = look(&mut source, &looked_at)?;
    let mut columns = Vec::with_capacity(classes.len());
    for ((field, class), seen) in schema.fields().iter().zip(classes).zip(seen) {
        let column = column(field, class, seen);
        columns.push(column.map_err(|problem| source.column_error(field.name(), problem))?);
    }
    Ok(TableGuess { columns, rows, is_whole, kept: source.kept() })
}

/// The columns for sheets, by all of their cells.
#[cfg(feature = "excel")]
fn sheet_guess(source: &ColumnarSource) -> Result<TableGuess> {
    let (schema, shared) = (source.schema()?, source.shared());
    let mut seen = vec![excel::CellStatistics::default(); schema.fields().len()];
    let mut rows = 0;
    for index in 0..shared.files.len() {
        let open = shared.open(index as u32)?;
        let wanted: Vec<usize> = (0..seen.len()).collect();
        let file: &dyn Any = &*open.file;
        let file = file.downcast_ref::<excel::ExcelFile>();
        rows += file.map_or(0, |file| excel::examine(file, &open.columns(&wanted), &mut seen));
    }
    let fields = schema.fields().iter().zip(seen);
    let columns = fields.map(|(field, seen)| seen.column(field.name())).collect();
    Ok(TableGuess { columns, rows, is_whole: true, kept: source.kept() })
}

/// Looks at some columns of the first rows; the number of these rows, and whether they are all.
fn look(source: &mut ColumnarSource, looked_at: &[bool]) -> Result<(Vec<ValueSizes>, u64, bool)> {
    source.read_only(looked_at);
    let mut seen = vec![ValueSizes::default(); looked_at.len()];
    let (mut chunk, mut batch) = (Chunk::default(), Batch::new());
    let mut reader: Box<dyn Reader> = source.reader();
    let mut rows = 0;
    while rows < ROWS_MAX {
        if !source.next_chunk(&mut chunk)? {
            return Ok((seen, rows, true));
        }
        reader.read(&chunk, &mut batch)?;
        rows += batch.len() as u64;
        for (seen, column) in seen.iter_mut().zip(batch.typed().columns()) {
            if matches!(column.cells, Cells::Null(_)) {
                continue;
            }
            (0..column.cells.len()).for_each(|row| seen.take(column.value(row)));
        }
    }
    Ok((seen, rows, !source.next_chunk(&mut chunk)?))
}

impl ValueSizes {
    fn take(&mut self, value: Value<'_>) {
        match value {
            Value::Bytes(text) => {
                self.bytes_max = self.bytes_max.max(text.len());
                // Bytes that begin no character of UTF-8 are left out.
                if text.len() > self.chars_max {
                    let chars = text.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
                    self.chars_max = self.chars_max.max(chars);
                }
            }
            Value::Timestamp(micros) => self.is_far |= !(1..=MOMENT_MAX).contains(&micros),
            _ => {}
        }
    }

    /// A type for so many bytes and room for four times as many.
    fn long_type(self, names: [&'static str; 3]) -> &'static str {
        match self.bytes_max.saturating_mul(4) {
            0..=0xffff => names[0],
            0x1_0000..=0xff_ffff => names[1],
            _ => names[2],
        }
    }
}

fn column(field: &Field, class: Class, seen: ValueSizes) -> Result<ColumnGuess, Problem> {
    let data_type = match field.data_type() {
        DataType::Dictionary(_, values) => values,
        DataType::RunEndEncoded(_, values) => values.data_type(),
        data_type => data_type,
    };
    let mut long_type = None;
    let sql_type = match (class, data_type) {
        (Class::Null, _) => format!("VARCHAR({WIDTH})"),
        (Class::Uuid, _) => SqlType::Uuid.to_string(),
        (Class::Nested, _) => "JSON".to_owned(),
        (Class::Text, _) if is_json(field) => "JSON".to_owned(),
        (Class::Text, DataType::FixedSizeBinary(bytes)) if *bytes <= 255 => {
            format!("BINARY({bytes})")
        }
        (Class::Text, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
            let text = seen.long_type(["TEXT", "MEDIUMTEXT", "LONGTEXT"]);
            long_type = Some(text);
            match seen.chars_max * 2 <= WIDTH {
                true => format!("VARCHAR({WIDTH})"),
                false => text.to_owned(),
            }
        }
        (Class::Text, _) => match seen.bytes_max * 2 <= WIDTH {
            true => format!("VARBINARY({WIDTH})"),
            false => seen.long_type(["BLOB", "MEDIUMBLOB", "LONGBLOB"]).to_owned(),
        },
        (Class::Moment, DataType::Timestamp(unit, _)) => {
            with_digits(if seen.is_far { "DATETIME" } else { "TIMESTAMP" }, *unit)
        }
        (_, other) => fixed(other)?,
    };
    Ok(ColumnGuess {
        name: field.name().clone(),
        sql_type,
        long_type,
        is_empty: class == Class::Null,
    })
}

/// The type for values of fixed width.
fn fixed(data_type: &DataType) -> Result<String, Problem> {
    use DataType::*;
    let integer = |bytes, unsigned| SqlType::Integer { bytes, unsigned }.to_string();
    Ok(match data_type {
        Boolean => "TINYINT(1)".to_owned(),
        Int8 => integer(1, false),
        Int16 => integer(2, false),
        Int32 => integer(4, false),
        Int64 => integer(8, false),
        UInt8 => integer(1, true),
        UInt16 => integer(2, true),
        UInt32 => integer(4, true),
        UInt64 => integer(8, true),
        Float16 | Float32 => "FLOAT".to_owned(),
        Float64 => "DOUBLE".to_owned(),
        Decimal32(digits, scale)
        | Decimal64(digits, scale)
        | Decimal128(digits, scale)
        | Decimal256(digits, scale) => return decimal(*digits, *scale),
        Date32 | Date64 => "DATE".to_owned(),
        Time32(unit) | Time64(unit) | Duration(unit) => with_digits("TIME", *unit),
        Timestamp(unit, _) => with_digits("DATETIME", *unit),
        other => return Err(format!("its type {other} is not supported")),
    })
}

fn decimal(digits: u8, scale: i8) -> Result<String, Problem> {
    let digits = match scale {
        scale if scale < 0 => digits.saturating_add(scale.unsigned_abs()),
        scale => digits.max(scale.unsigned_abs()),
    };
    match digits <= DIGITS_MAX && scale <= SCALE_MAX {
        true => Ok(format!("DECIMAL({digits},{})", scale.max(0))),
        false => Err(format!(
            "its numbers have {digits} digits, {} of them behind the point; a DECIMAL has {DIGITS_MAX} and \
             {SCALE_MAX} at most",
            scale.max(0)
        )),
    }
}

fn with_digits(name: &str, unit: TimeUnit) -> String {
    match unit {
        TimeUnit::Second => name.to_owned(),
        TimeUnit::Millisecond => format!("{name}(3)"),
        TimeUnit::Microsecond | TimeUnit::Nanosecond => format!("{name}(6)"),
    }
}

/// True if a text is JSON.
fn is_json(field: &Field) -> bool {
    field.metadata().get("ARROW:extension:name").is_some_and(|name| name == "arrow.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guessed(data_type: DataType, seen: ValueSizes) -> Result<String, Problem> {
        let field = Field::new("c", data_type, true);
        column(&field, class(&field)?, seen).map(|column| column.sql_type)
    }

    #[test]
    fn columns_have_the_types_of_their_values() {
        let text = |chars_max| ValueSizes { chars_max, bytes_max: chars_max, is_far: false };
        let none = ValueSizes::default();
        for (data_type, seen, expected) in [
            (DataType::Boolean, none, "TINYINT(1)"),
            (DataType::UInt32, none, "INT UNSIGNED"),
            (DataType::Decimal128(10, 2), none, "DECIMAL(10,2)"),
            (DataType::Decimal128(5, -2), none, "DECIMAL(7,0)"),
            (DataType::Decimal256(65, 30), none, "DECIMAL(65,30)"),
            (DataType::Utf8, text(127), "VARCHAR(255)"),
            (DataType::Utf8View, text(128), "TEXT"),
            (DataType::LargeUtf8, text(1 << 22), "LONGTEXT"),
            (DataType::Binary, text(20), "VARBINARY(255)"),
            (DataType::FixedSizeBinary(8), none, "BINARY(8)"),
            (DataType::Timestamp(TimeUnit::Nanosecond, None), none, "DATETIME(6)"),
            (DataType::Timestamp(TimeUnit::Second, Some("UTC".into())), none, "TIMESTAMP"),
            (DataType::Time32(TimeUnit::Millisecond), none, "TIME(3)"),
            (DataType::Null, none, "VARCHAR(255)"),
        ] {
            assert_eq!(guessed(data_type, seen).as_deref(), Ok(expected));
        }
        assert!(guessed(DataType::Decimal256(70, 2), none).is_err());
    }
}
