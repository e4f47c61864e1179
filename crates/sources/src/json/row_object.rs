//! Typed rows as objects of JSON, which a load of JSON Lines reads as the same values.

use values::push_base64;
use values::{Family, SqlType, Value, Zone};

use super::is_json;
use super::token::push_string;
use crate::batch::{LineForm, TypedColumn};
use crate::key::{ColumnKind, Key};

/// Digits that every program keeps of a number of JSON.
const SAFE_DIGITS: usize = 15;

/// The values of a field, as far as their objects differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValues {
    /// Bytes that are no text.
    Bytes,
    /// Documents of JSON.
    Documents,
    /// Numbers, texts and others.
    Others,
}

/// The form of a row's object.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectForm {
    fields: Vec<ObjectField>,
    /// The session's zone, whose clocks moments are written by.
    zone: Zone,
}

#[derive(Clone, Debug, PartialEq)]
struct ObjectField {
    name: Vec<u8>,
    form: FieldForm,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum FieldForm {
    /// The object lacks it.
    LeftOut,
    /// Bytes in base64.
    Base64,
    /// Text, or the digits of a number.
    Plain,
    /// A number, whose digits may be in bytes.
    Bits,
    /// A document, with numbers and texts in it.
    Document,
}

impl ObjectForm {
    /// The form for fields of these keys, which go to columns of these types. `values` says what fields have.
    pub fn new(
        keys: &[Key],
        columns: &[Option<SqlType>],
        zone: &Zone,
        values: impl Fn(usize) -> FieldValues,
    ) -> ObjectForm {
        let field = |(at, (key, column)): (usize, (&Key, &Option<SqlType>))| {
            let family = column.as_ref().map(SqlType::family);
            let has_bytes = values(at) == FieldValues::Bytes;
            let form = match (family, key.takes) {
                (None, _) | (_, ColumnKind::Nothing) => FieldForm::LeftOut,
                (Some(Family::Bytes | Family::CheckedBytes | Family::OpaqueBytes), _)
                    if has_bytes =>
                {
                    FieldForm::Base64
                }
                (_, ColumnKind::Bits) if !has_bytes => FieldForm::Bits,
                (_, ColumnKind::Json) => FieldForm::Document,
                _ if values(at) == FieldValues::Documents => FieldForm::Document,
                _ => FieldForm::Plain,
            };
            ObjectField { name: key.name.clone(), form }
        };
        let fields = keys.iter().zip(columns).enumerate().map(field).collect();
        ObjectForm { fields, zone: zone.clone() }
    }

    fn push(&self, form: FieldForm, value: Value<'_>, line: &mut Vec<u8>) {
        let mut text = Vec::new();
        let value = value.in_zone(&self.zone);
        let Some(bytes) = value.text(&mut text) else {
            return line.extend_from_slice(b"null");
        };
        match (form, value) {
            (FieldForm::Bits, Value::Bytes(bits)) => {
                let number =
                    bits.iter().fold(0, |number: u64, byte| number << 8 | u64::from(*byte));
                line.extend_from_slice(number.to_string().as_bytes());
            }
            (FieldForm::Base64, Value::Bytes(_)) => push_quoted_base64(bytes, line),
            (FieldForm::Document | FieldForm::Bits, _) if is_json(bytes) => {
                // Line ends of JSON are between its values.
                line.extend(bytes.iter().map(|byte| match byte {
                    b'\n' | b'\r' => b' ',
                    byte => *byte,
                }));
            }
            (_, Value::Integer(_) | Value::Unsigned(_) | Value::Double(_) | Value::Decimal(_))
                if is_safe(bytes, value) =>
            {
                line.extend_from_slice(bytes);
            }
            _ if std::str::from_utf8(bytes).is_err() => push_quoted_base64(bytes, line),
            _ => push_string(bytes, line),
        }
    }
}

impl LineForm for ObjectForm {
    fn line(&self, columns: &[TypedColumn], row: usize) -> Vec<u8> {
        let mut line = b"{".to_vec();
        for (field, column) in self.fields.iter().zip(columns) {
            if field.form == FieldForm::LeftOut {
                continue;
            }
            if line.len() > 1 {
                line.extend_from_slice(b", ");
            }
            push_string(&field.name, &mut line);
            line.extend_from_slice(b": ");
            self.push(field.form, column.value(row), &mut line);
        }
        line.extend_from_slice(b"}\n");
        line
    }
}

fn push_quoted_base64(bytes: &[u8], line: &mut Vec<u8>) {
    line.push(b'"');
    push_base64(bytes, line);
    line.push(b'"');
}

/// True if every program reads a number of JSON as this one.
fn is_safe(text: &[u8], value: Value<'_>) -> bool {
    let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
    is_json(text) && (digits <= SAFE_DIGITS || matches!(value, Value::Double(_)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use values::Reason;

    use super::*;
    use crate::batch::{Cells, RefusedCell};
    use crate::key::MissingValue;

    /// A value in a field `n` of a column of this type.
    fn object(cells: Cells, sql_type: SqlType, takes: ColumnKind, values: FieldValues) -> String {
        let key = Key { name: b"n\"".to_vec(), pointer: None, takes, absent: MissingValue::Null };
        let zone = Zone::parse("+02:00").unwrap();
        let form = ObjectForm::new(&[key], &[Some(sql_type)], &zone, |_| values);
        String::from_utf8(form.line(&[TypedColumn::from(cells)], 0)).unwrap()
    }

    fn bytes(text: &[u8]) -> Cells {
        Cells::Bytes { ends: vec![text.len()], bytes: text.to_vec() }
    }

    #[test]
    fn values_are_written_exactly() {
        use ColumnKind::{Bits, Json, Values};
        use FieldValues::{Documents, Others};
        let integer = SqlType::Integer { bytes: 8, unsigned: false };
        let blob = SqlType::VarBinary { bytes: 9 };
        let decimal = |units: i128| Cells::Decimal { units: vec![units], scale: 2 };
        for (cells, sql_type, takes, values, expected) in [
            (Cells::Null(1), integer.clone(), Values, Others, "null"),
            (Cells::Integer(vec![-7]), integer.clone(), Values, Others, "-7"),
            (
                Cells::Unsigned(vec![u64::MAX]),
                integer.clone(),
                Values,
                Others,
                "\"18446744073709551615\"",
            ),
            (
                Cells::Unsigned(vec![u64::MAX]),
                SqlType::Document,
                Json,
                Others,
                "18446744073709551615",
            ),
            (decimal(-5), integer.clone(), Values, Others, "-0.05"),
            (
                decimal(12_345_678_901_234_567),
                integer.clone(),
                Values,
                Others,
                "\"123456789012345.67\"",
            ),
            (Cells::Double(vec![0.1]), integer.clone(), Values, Others, "0.1"),
            (Cells::Timestamp(vec![0]), integer.clone(), Values, Others, "\"1970-01-01 02:00:00\""),
            (
                bytes(b"a\n\"\xc3\xa9\x01"),
                integer.clone(),
                Values,
                Others,
                "\"a\\n\\\"\u{e9}\\u0001\"",
            ),
            (bytes(b"\xff\x00a"), blob.clone(), Values, FieldValues::Bytes, "\"/wBh\""),
            (bytes(b"abcd"), blob, Values, FieldValues::Bytes, "\"YWJjZA==\""),
            (bytes(b"abcd"), integer.clone(), Values, FieldValues::Bytes, "\"abcd\""),
            (bytes(b"{\"a\":\n1}"), SqlType::Document, Json, Others, "{\"a\": 1}"),
            (bytes(b"[1]"), integer.clone(), Values, Documents, "[1]"),
            (bytes(b"{a}"), SqlType::Document, Json, Others, "\"{a}\""),
            (bytes(b"\x01\x02"), integer, Bits, Others, "258"),
        ] {
            let line = object(cells, sql_type, takes, values);
            assert_eq!(line, format!("{{\"n\\\"\": {expected}}}\n"));
        }
    }

    #[test]
    fn fields_that_are_left_out_are_not_written_and_refused_ones_are() {
        let key = |name: &[u8], takes| Key {
            name: name.to_vec(),
            pointer: None,
            takes,
            absent: MissingValue::Null,
        };
        let keys = [key(b"@", ColumnKind::Nothing), key(b"d", ColumnKind::Values)];
        let columns = [None, Some(SqlType::Double { unsigned: false, digits: None })];
        let form = ObjectForm::new(&keys, &columns, &Zone::UTC, |_| FieldValues::Others);
        let refused = RefusedCell { row: 0, text: b"NaN".to_vec(), reason: Reason::NotANumber };
        let number = Cells::Double(vec![f64::NAN]);
        let number = TypedColumn { refused: vec![refused], ..TypedColumn::from(number) };
        let line = form.line(&[TypedColumn::from(Cells::Null(1)), number], 0);
        assert_eq!(line, b"{\"d\": \"NaN\"}\n");
    }
}
