//! lineitem as the stages take it: rows to stored values, those to records and keys.
//!
//! Written for one table, with the public parts of the crates: what a column, a key and a record
//! of it are is here, how they are made is theirs.

use innodb::record::{
    ROLL_PTR_BYTES, RecordWriter, SystemColumn, TRX_ID_AND_ROLL_PTR, TRX_ID_BYTES,
};
use innodb::template::TemplateIndex;
use sources::{Row, Rows, Visit};
use values::{Charset, ConvertOptions, Converter, KeyPart, SqlType, TextType};

use crate::error::Error;
use crate::tpch::Table;

/// Columns of each secondary key, the primary key after them.
pub(crate) const SECONDARY_KEYS: [&[usize]; 2] = [&[1, 2, 0, 3], &[10, 0, 3]];

/// Column types in table order, of `schema/lineitem.sql`.
fn sql_types() -> Vec<SqlType> {
    let int = SqlType::Integer { bytes: 4, unsigned: false };
    let decimal = SqlType::Decimal { precision: 10, scale: 2, unsigned: false };
    let text = || TextType { charset: Charset::Latin1, collation: "latin1_swedish_ci".to_owned() };
    let char = |chars| SqlType::Char { chars, text: text() };
    let mut types = vec![int; 4];
    types.extend(vec![decimal; 4]);
    types.extend([char(1), char(1), SqlType::Date, SqlType::Date, SqlType::Date]);
    types.extend([char(25), char(10), SqlType::VarChar { chars: 44, text: text() }]);
    types
}

/// Stored values of some rows, one after the other.
#[derive(Default)]
pub(crate) struct Stored {
    bytes: Vec<u8>,
    /// Byte at which each value ends; as many a row as columns.
    ends: Vec<u32>,
}

/// Encoded records of some rows, one after the other.
#[derive(Default)]
pub(crate) struct Records {
    bytes: Vec<u8>,
    /// Byte at which each ends, and bytes before its origin.
    ends: Vec<(u32, u16)>,
}

/// Text to stored values.
pub(crate) struct Columns {
    converters: Vec<Converter>,
    scratch: Vec<u8>,
}

impl Columns {
    pub(crate) fn new() -> Result<Columns, Error> {
        let options = ConvertOptions { file_charset: Charset::Latin1, ..ConvertOptions::default() };
        let names = Table::LineItem.file_columns();
        let converters = names.iter().zip(sql_types()).map(|(name, sql_type)| {
            Converter::new(name, &sql_type, &options).map_err(Error::stage("convert"))
        });
        Ok(Columns { converters: converters.collect::<Result<_, _>>()?, scratch: Vec::new() })
    }

    /// Overwrites `stored` with the values of all rows of a chunk.
    fn convert<R: Rows>(&mut self, rows: R, stored: &mut Stored) -> Result<(), Error> {
        stored.bytes.clear();
        stored.ends.clear();
        for row in rows.iter() {
            for (field, converter) in self.converters.iter_mut().enumerate() {
                let value = row.value(field, &mut self.scratch);
                let is_value = converter.convert_value(value, &mut stored.bytes);
                if !is_value.map_err(Error::stage("convert"))? {
                    return Err(Error::stage("convert")("a field is NULL"));
                }
                stored.ends.push(stored.bytes.len() as u32);
            }
        }
        Ok(())
    }

    fn count(&self) -> usize {
        self.converters.len()
    }

    /// Rows of `stored`.
    pub(crate) fn rows(&self, stored: &Stored) -> usize {
        stored.ends.len() / self.count()
    }
}

/// Converts the rows of a batch.
pub(crate) struct Converting<'a> {
    pub(crate) columns: &'a mut Columns,
    pub(crate) stored: &'a mut Stored,
}

impl Visit for Converting<'_> {
    type Output = Result<(), Error>;

    fn rows<R: Rows>(self, rows: R) -> Result<(), Error> {
        self.columns.convert(rows, self.stored)
    }
}

impl Stored {
    /// Value of `column` of `row`, where rows have `columns` columns.
    #[inline]
    fn value(&self, row: usize, columns: usize, column: usize) -> &[u8] {
        let at = row * columns + column;
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.bytes[start..self.ends[at] as usize]
    }
}

/// Stored values to clustered records and secondary keys.
pub(crate) struct Encoder {
    columns: usize,
    clustered: RecordWriter,
    keys: [Vec<(usize, KeyPart)>; 2],
}

impl Encoder {
    /// For records of the clustered index of a template.
    pub(crate) fn new(columns: &Columns, clustered: &TemplateIndex) -> Encoder {
        let types = sql_types();
        let part = |&column: &usize| (column, KeyPart::new(&types[column], None, false, false));
        Encoder {
            columns: columns.count(),
            clustered: RecordWriter::new(&clustered.shape),
            keys: SECONDARY_KEYS.map(|columns| columns.iter().map(part).collect()),
        }
    }

    /// Overwrites `records` with the clustered records of all rows.
    pub(crate) fn encode(&mut self, stored: &Stored, records: &mut Records) {
        records.clear();
        let writer = &mut self.clustered;
        let fields = writer.shape().fields.clone();
        for row in 0..stored.ends.len() / self.columns {
            writer.begin();
            for field in &fields {
                let value = match field.system {
                    Some(SystemColumn::TrxId) => &TRX_ID_AND_ROLL_PTR[..TRX_ID_BYTES],
                    Some(SystemColumn::RollPtr) => &TRX_ID_AND_ROLL_PTR[TRX_ID_BYTES..],
                    _ => stored.value(row, self.columns, field.column),
                };
                writer.data().extend_from_slice(value);
                writer.end_field(false, false);
            }
            let record = writer.finish();
            records.push(record.bytes, record.origin);
        }
    }

    /// Overwrites `key` with the key of `row` in secondary index `slot`.
    pub(crate) fn key(
        &self,
        stored: &Stored,
        row: usize,
        slot: usize,
        key: &mut Vec<u8>,
    ) -> Result<(), Error> {
        key.clear();
        for (column, part) in &self.keys[slot] {
            let value = stored.value(row, self.columns, *column);
            part.push(Some(value), key).map_err(Error::stage("sort"))?;
        }
        Ok(())
    }
}

/// Sorted keys of fixed width to secondary records, whose data they are.
pub(crate) struct SecondaryEncoder {
    writer: RecordWriter,
    widths: Vec<usize>,
}

impl SecondaryEncoder {
    pub(crate) fn new(index: &TemplateIndex) -> SecondaryEncoder {
        let widths = index.shape.fields.iter().map(|field| field.fixed_len as usize).collect();
        SecondaryEncoder { writer: RecordWriter::new(&index.shape), widths }
    }

    /// Bytes of a key.
    pub(crate) fn key_len(&self) -> usize {
        self.widths.iter().sum()
    }

    /// The record of a key, and the bytes before its origin.
    pub(crate) fn record(&mut self, key: &[u8]) -> (&[u8], usize) {
        self.writer.begin();
        let mut rest = key;
        for &width in &self.widths {
            let (value, after) = rest.split_at(width);
            self.writer.data().extend_from_slice(value);
            self.writer.end_field(false, false);
            rest = after;
        }
        let record = self.writer.finish();
        (record.bytes, record.origin)
    }
}

impl Records {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn push(&mut self, record: &[u8], origin: usize) {
        self.bytes.extend_from_slice(record);
        self.ends.push((self.bytes.len() as u32, origin as u16));
    }

    /// Bytes of all records.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Records and the bytes before their origins.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], usize)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&(end, _)| end));
        starts.zip(&self.ends).map(|(start, &(end, origin))| {
            (&self.bytes[start as usize..end as usize], usize::from(origin))
        })
    }
}

const _: () = assert!(TRX_ID_BYTES + ROLL_PTR_BYTES == TRX_ID_AND_ROLL_PTR.len());
