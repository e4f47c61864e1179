//! INSERT statements, which mean the same on every server: text as text, bytes in hexadecimal digits.

use schema::{TableName, quote_name};

use super::{Field, Kind};

/// The statements of one table.
#[derive(Debug)]
pub(crate) struct Insert {
    pub(crate) prelude: Vec<u8>,
    /// `INSERT INTO t (..) VALUES`.
    pub(crate) head: Vec<u8>,
    kinds: Vec<Kind>,
}

impl Insert {
    pub(crate) fn new(table: &TableName, fields: &[Field], time_zone: &str) -> Insert {
        let names: Vec<String> = fields.iter().map(|field| quote_name(&field.name)).collect();
        let (table, names) = (quote_name(&table.table), names.join(","));
        // Dates and numbers are taken as they are, whatever the server is set to.
        let prelude = format!(
            "SET NAMES utf8mb4;\nSET time_zone='{time_zone}';\n\
             SET sql_mode='STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES';\n"
        );
        Insert {
            prelude: prelude.into_bytes(),
            head: format!("INSERT INTO {table} ({names}) VALUES\n").into_bytes(),
            kinds: fields.iter().map(|field| field.kind).collect(),
        }
    }

    #[inline]
    pub(crate) fn value(&self, field: usize, value: Option<&[u8]>, out: &mut Vec<u8>) {
        if field > 0 {
            out.push(b',');
        }
        let Some(value) = value else {
            out.extend_from_slice(b"NULL");
            return;
        };
        match self.kinds[field] {
            Kind::Number => out.extend_from_slice(value),
            Kind::Clock => {
                out.push(b'\'');
                out.extend_from_slice(value);
                out.push(b'\'');
            }
            Kind::Text | Kind::Json => push_text(value, out),
            Kind::Bytes | Kind::Bits if value.is_empty() => out.extend_from_slice(b"''"),
            Kind::Bytes | Kind::Bits => push_hex(value, out),
        }
    }
}

fn push_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for &byte in text {
        let letter = match byte {
            0 => b'0',
            b'\n' => b'n',
            b'\r' => b'r',
            0x1a => b'Z',
            b'\'' | b'\\' => byte,
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
    out.push(b'\'');
}

fn push_hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(b"0x");
    out.reserve(2 * bytes.len());
    for byte in bytes {
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn values_are_literals() {
        let kinds = [Kind::Number, Kind::Clock, Kind::Text, Kind::Bytes, Kind::Bytes, Kind::Bits];
        let field = |(at, kind)| Field { name: format!("`{at}"), kind };
        let fields: Vec<Field> = kinds.into_iter().enumerate().map(field).collect();
        let insert = Insert::new(&TableName::new("d", "t"), &fields, "+00:00");
        assert!(insert.head.starts_with(b"INSERT INTO `t` (```0`,```1`"));
        let values: [&[u8]; 6] =
            [b"-1.5", b"0000-00-00", b"it's\\\n\0\x1a", b"\x00\xff", b"", b"\x05"];
        let mut out = Vec::new();
        for (at, value) in values.into_iter().enumerate() {
            insert.value(at, Some(value), &mut out);
        }
        insert.value(1, None, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "-1.5,'0000-00-00','it\\'s\\\\\\n\\0\\Z',0x00FF,'',0x05,NULL"
        );
    }
}
