//! Values of a column until they are an array.

mod plain;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
    DurationMicrosecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, FixedSizeBinaryArray, Int32Array, PrimitiveArray,
    StringArray,
};
use arrow_buffer::{Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer, i256};
use values::decode::units::{self, DecimalUnits, NoUnits};
use values::decode::{Decoder, Undecoded};
use values::{Charset, SqlType};

use super::fill::Fill;
use super::{fields, texts};
use crate::Kind;
use crate::guard::Problem;
use crate::written::{BadCell, WrittenColumn, is_geometry};

pub(super) use plain::{Order, Plain};

/// Bytes of the SRID before the well-known binary of a geometry.
const SRID_BYTES: usize = 4;
/// Digits of a decimal in 64 bits.
const NARROW_DIGITS: u8 = 18;
/// Columns of longer values have no dictionary.
const DICTIONARY_BYTES_MAX: u32 = 0xffff;

/// Values of a column.
#[derive(Debug)]
pub(super) struct Column {
    sql_type: SqlType,
    cells: Cells,
    nulls: NullBufferBuilder,
    /// Decodes stored values whose numbers are made of their text.
    decoder: Option<Decoder>,
    scratch: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Cells {
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    UInt8(Vec<u8>),
    UInt16(Vec<u16>),
    UInt32(Vec<u32>),
    UInt64(Vec<u64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Year(Vec<u16>),
    Date(Vec<i32>),
    /// With so many digits of the second; so below.
    Time(Vec<i64>, u8),
    DateTime(Vec<i64>, u8),
    Timestamp(Vec<i64>, u8),
    /// With its scale; so below.
    Decimal(Vec<i128>, DecimalUnits, u8),
    /// Up to 18 digits in Parquet, which has them in 64 bits.
    Narrow(Vec<i64>, DecimalUnits, u8),
    Wide(Vec<i256>, u8),
    Uuid(Vec<u8>),
    /// So many bytes each.
    Fixed(Vec<u8>, i32),
    Labels(Vec<i32>, Arc<Labels>),
    Bytes(Bytes),
}

/// The labels of an ENUM.
#[derive(Debug)]
struct Labels {
    array: Arc<StringArray>,
    numbers: HashMap<Vec<u8>, i32>,
    /// How many the column declares.
    count: i32,
}

/// Values of varying length.
#[derive(Clone, Debug)]
struct Bytes {
    bytes: Vec<u8>,
    /// Where the first begins, and where each ends.
    ends: Vec<i32>,
    is_text: bool,
    /// The SRID of geometries, which is before each of them.
    srid: Option<u32>,
}

impl Clone for Column {
    /// The same values. NULLs are not noted any more.
    fn clone(&self) -> Column {
        Column {
            sql_type: self.sql_type.clone(),
            cells: self.cells.clone(),
            nulls: NullBufferBuilder::new(0),
            decoder: self.decoder.clone(),
            scratch: Vec::new(),
        }
    }
}

impl Column {
    pub(super) fn new(column: &WrittenColumn<'_>, kind: Kind) -> Result<Column, Problem> {
        Ok(Column {
            sql_type: column.sql_type.clone(),
            cells: Cells::new(column, kind)?,
            nulls: NullBufferBuilder::new(0),
            decoder: Decoder::new(column.sql_type),
            scratch: Vec::new(),
        })
    }

    /// True if values may be so long that a dictionary of them takes more than it saves.
    pub(super) fn is_long(&self) -> bool {
        let is_long = |bytes| bytes > DICTIONARY_BYTES_MAX;
        self.sql_type.long_bytes_max().is_some_and(is_long)
            || matches!(self.sql_type, SqlType::Opaque { .. })
    }

    /// Bytes of the values.
    pub(super) fn bytes(&self) -> usize {
        match &self.cells {
            Cells::Int8(to) => to.len(),
            Cells::UInt8(to) | Cells::Uuid(to) | Cells::Fixed(to, _) => to.len(),
            Cells::Int16(to) => 2 * to.len(),
            Cells::UInt16(to) | Cells::Year(to) => 2 * to.len(),
            Cells::Int32(to) | Cells::Date(to) | Cells::Labels(to, _) => 4 * to.len(),
            Cells::UInt32(to) => 4 * to.len(),
            Cells::Float(to) => 4 * to.len(),
            Cells::Int64(to) | Cells::Narrow(to, ..) => 8 * to.len(),
            Cells::Time(to, _) | Cells::DateTime(to, _) | Cells::Timestamp(to, _) => 8 * to.len(),
            Cells::UInt64(to) => 8 * to.len(),
            Cells::Double(to) => 8 * to.len(),
            Cells::Decimal(to, ..) => 16 * to.len(),
            Cells::Wide(to, _) => 32 * to.len(),
            Cells::Bytes(to) => to.bytes.len() + 4 * to.ends.len(),
        }
    }

    /// Appends stored values.
    #[inline]
    pub(super) fn stored<'v>(
        &mut self,
        values: impl Iterator<Item = Option<&'v [u8]>>,
    ) -> Result<(), (usize, BadCell)> {
        use units::integer;
        let Column { cells, nulls, decoder, scratch, .. } = self;
        let to = Fill { values, nulls };
        match cells {
            Cells::Int8(all) => to.fill(all, |v| Ok(integer::<1>(v, false)? as i8)),
            Cells::Int16(all) => to.fill(all, |v| Ok(integer::<2>(v, false)? as i16)),
            Cells::Int32(all) => to.fill(all, |v| Ok(three_or_four(v, false)? as i32)),
            Cells::Int64(all) => to.fill(all, |v| Ok(integer::<8>(v, false)?)),
            Cells::UInt8(all) => to.fill(all, |v| Ok(integer::<1>(v, true)? as u8)),
            Cells::UInt16(all) => to.fill(all, |v| Ok(integer::<2>(v, true)? as u16)),
            Cells::UInt32(all) => to.fill(all, |v| Ok(three_or_four(v, true)? as u32)),
            Cells::UInt64(all) => to.fill(all, |v| Ok(integer::<8>(v, true)? as u64)),
            Cells::Float(all) => to.fill(all, |v| Ok(f32::from_le_bytes(array(v)?))),
            Cells::Double(all) => to.fill(all, |v| Ok(f64::from_le_bytes(array(v)?))),
            Cells::Year(all) => to.fill(all, |v| Ok(units::year(v)?)),
            Cells::Date(all) => to.fill(all, |v| Ok(units::date(v)?)),
            Cells::Time(all, digits) => to.fill(all, |v| Ok(units::time(v, *digits)?)),
            Cells::DateTime(all, digits) => to.fill(all, |v| Ok(units::datetime(v, *digits)?)),
            Cells::Timestamp(all, digits) => to.fill(all, |v| Ok(units::timestamp(v, *digits)?)),
            Cells::Decimal(all, units, _) => to.fill(all, |v| Ok(units.read(v)?)),
            Cells::Narrow(all, units, _) => to.fill(all, |v| Ok(units.read(v)? as i64)),
            Cells::Wide(all, scale) => {
                to.fill(all, |v| texts::wide_decimal(decoded(decoder, v, scratch)?, *scale))
            }
            Cells::Uuid(all) => to.append(all, 16, |v| texts::uuid(decoded(decoder, v, scratch)?)),
            Cells::Fixed(all, bytes) => to.append(all, *bytes as usize, Ok),
            Cells::Labels(all, labels) => to.fill(all, |v| labels.stored(v)),
            Cells::Bytes(Bytes { bytes, ends, srid, .. }) => {
                to.extend(ends, bytes, |v, out| match decoder {
                    Some(decoder) => push_text(decoder, without_srid(v, *srid)?, out),
                    None => Err(BadCell::NotStored),
                })
            }
        }
    }

    /// Appends a value as the server sends it.
    pub(super) fn sent(&mut self, value: Option<&[u8]>) -> Result<(), BadCell> {
        use texts::number;
        let Column { cells, nulls, .. } = self;
        let to = Fill { values: std::iter::once(value), nulls };
        let done = match cells {
            Cells::Int8(all) => to.fill(all, number),
            Cells::Int16(all) => to.fill(all, number),
            Cells::Int32(all) => to.fill(all, number),
            Cells::Int64(all) => to.fill(all, number),
            Cells::UInt8(all) => to.fill(all, number),
            Cells::UInt16(all) | Cells::Year(all) => to.fill(all, number),
            Cells::UInt32(all) => to.fill(all, number),
            Cells::UInt64(all) => to.fill(all, number),
            // The server sends the digits of the same number of eight bytes.
            Cells::Float(all) => to.fill(all, |v| Ok(number::<f64>(v)? as f32)),
            Cells::Double(all) => to.fill(all, number),
            Cells::Date(all) => to.fill(all, texts::date),
            Cells::Time(all, _) => to.fill(all, texts::time),
            Cells::DateTime(all, _) | Cells::Timestamp(all, _) => to.fill(all, texts::moment),
            Cells::Decimal(all, _, scale) => to.fill(all, |v| texts::decimal(v, *scale)),
            Cells::Narrow(all, _, scale) => to.fill(all, |v| Ok(texts::decimal(v, *scale)? as i64)),
            Cells::Wide(all, scale) => to.fill(all, |v| texts::wide_decimal(v, *scale)),
            Cells::Uuid(all) => to.append(all, 16, texts::uuid),
            Cells::Fixed(all, bytes) => to.append(all, *bytes as usize, Ok),
            Cells::Labels(all, labels) => to.fill(all, |v| labels.sent(v)),
            Cells::Bytes(Bytes { bytes, ends, srid, .. }) => to.extend(ends, bytes, |v, out| {
                out.extend_from_slice(without_srid(v, *srid)?);
                Ok(())
            }),
        };
        done.map_err(|(_, bad)| bad)
    }

    /// Takes the values as an array.
    ///
    /// Errors: texts that are none.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, BadCell> {
        let Column { sql_type, cells, nulls, .. } = self;
        let nulls = nulls.finish();
        Ok(match cells {
            Cells::Int8(to) => primitive::<Int8Type>(to, nulls),
            Cells::Int16(to) => primitive::<Int16Type>(to, nulls),
            Cells::Int32(to) => primitive::<Int32Type>(to, nulls),
            Cells::Int64(to) => primitive::<Int64Type>(to, nulls),
            Cells::UInt8(to) => primitive::<UInt8Type>(to, nulls),
            Cells::UInt16(to) | Cells::Year(to) => primitive::<UInt16Type>(to, nulls),
            Cells::UInt32(to) => primitive::<UInt32Type>(to, nulls),
            Cells::UInt64(to) => primitive::<UInt64Type>(to, nulls),
            Cells::Float(to) => primitive::<Float32Type>(to, nulls),
            Cells::Double(to) => primitive::<Float64Type>(to, nulls),
            Cells::Date(to) => primitive::<Date32Type>(to, nulls),
            Cells::Time(to, _) => primitive::<DurationMicrosecondType>(to, nulls),
            Cells::DateTime(to, _) => primitive::<TimestampMicrosecondType>(to, nulls),
            Cells::Timestamp(to, _) => {
                let array = PrimitiveArray::<TimestampMicrosecondType>::new(taken(to), nulls);
                Arc::new(array.with_timezone(fields::UTC))
            }
            Cells::Decimal(to, ..) => {
                decimal(PrimitiveArray::<Decimal128Type>::new(taken(to), nulls), sql_type)?
            }
            Cells::Narrow(to, ..) => {
                decimal(PrimitiveArray::<Decimal64Type>::new(taken(to), nulls), sql_type)?
            }
            Cells::Wide(to, _) => {
                decimal(PrimitiveArray::<Decimal256Type>::new(taken(to), nulls), sql_type)?
            }
            Cells::Uuid(to) => fixed(to, 16, nulls)?,
            Cells::Fixed(to, bytes) => fixed(to, *bytes, nulls)?,
            Cells::Labels(to, labels) => {
                let numbers = Int32Array::new(taken(to), nulls);
                let labels = Arc::clone(&labels.array) as ArrayRef;
                let array = DictionaryArray::try_new(numbers, labels);
                Arc::new(array.map_err(|_| BadCell::NotStored)?)
            }
            Cells::Bytes(bytes) => bytes.finish(nulls)?,
        })
    }
}

impl Cells {
    fn new(column: &WrittenColumn<'_>, kind: Kind) -> Result<Cells, Problem> {
        let WrittenColumn { name, sql_type, srid, .. } = column;
        Ok(match sql_type {
            SqlType::Integer { bytes, unsigned } => Cells::integers(*bytes, *unsigned),
            SqlType::Decimal { precision, scale, .. } => {
                match DecimalUnits::new(*precision, *scale) {
                    Some(units) if kind == Kind::Parquet && *precision <= NARROW_DIGITS => {
                        Cells::Narrow(Vec::new(), units, *scale)
                    }
                    Some(units) => Cells::Decimal(Vec::new(), units, *scale),
                    None => Cells::Wide(Vec::new(), *scale),
                }
            }
            SqlType::Float { .. } => Cells::Float(Vec::new()),
            SqlType::Double { .. } => Cells::Double(Vec::new()),
            SqlType::Year => Cells::Year(Vec::new()),
            SqlType::Date => Cells::Date(Vec::new()),
            SqlType::Time { digits } => Cells::Time(Vec::new(), *digits),
            SqlType::DateTime { digits } => Cells::DateTime(Vec::new(), *digits),
            SqlType::Timestamp { digits } => Cells::Timestamp(Vec::new(), *digits),
            SqlType::Uuid => Cells::Uuid(Vec::new()),
            SqlType::Enum { labels, .. } => {
                let problem = || format!("column `{name}` has too many labels");
                let labels = Labels::new(labels).ok_or_else(problem)?;
                Cells::Labels(Vec::new(), Arc::new(labels))
            }
            SqlType::Binary { .. } => match fields::fixed_bytes(sql_type) {
                Some(bytes) => Cells::Fixed(Vec::new(), bytes),
                None => Cells::Bytes(Bytes::new(false, None)),
            },
            SqlType::Char { text, .. }
            | SqlType::VarChar { text, .. }
            | SqlType::Text { text, .. } => {
                Cells::Bytes(Bytes::new(text.charset != Charset::Binary, None))
            }
            SqlType::Set { .. }
            | SqlType::Inet4
            | SqlType::Inet6
            | SqlType::Json(_)
            | SqlType::Document
            | SqlType::Opaque { is_text: true, .. } => Cells::Bytes(Bytes::new(true, None)),
            SqlType::Bit { .. }
            | SqlType::VarBinary { .. }
            | SqlType::Blob { .. }
            | SqlType::Geometry { .. }
            | SqlType::Vector { .. }
            | SqlType::Opaque { is_text: false, .. } => {
                Cells::Bytes(Bytes::new(false, is_geometry(sql_type).then_some(*srid)))
            }
        })
    }

    fn integers(bytes: u8, unsigned: bool) -> Cells {
        match (bytes, unsigned) {
            (1, false) => Cells::Int8(Vec::new()),
            (2, false) => Cells::Int16(Vec::new()),
            (3 | 4, false) => Cells::Int32(Vec::new()),
            (_, false) => Cells::Int64(Vec::new()),
            (1, true) => Cells::UInt8(Vec::new()),
            (2, true) => Cells::UInt16(Vec::new()),
            (3 | 4, true) => Cells::UInt32(Vec::new()),
            (_, true) => Cells::UInt64(Vec::new()),
        }
    }
}

impl Labels {
    fn new(labels: &[String]) -> Option<Labels> {
        let number = |(at, label): (usize, &String)| {
            Some((label.clone().into_bytes(), i32::try_from(at).ok()?))
        };
        // The first of equal labels is the one that the server means.
        let numbers = labels.iter().enumerate().rev().map(number).collect::<Option<_>>()?;
        let count = i32::try_from(labels.len()).ok()?;
        Some(Labels { array: fields::labels(labels), numbers, count })
    }

    /// The place of a stored label; that of the empty text for the error value 0.
    #[inline]
    fn stored(&self, stored: &[u8]) -> Result<i32, BadCell> {
        let number = match *stored {
            [number] => i32::from(number),
            [high, low] => i32::from(high) << 8 | i32::from(low),
            _ => return Err(BadCell::NotStored),
        };
        match number {
            0 => Ok(self.count),
            number if number <= self.count => Ok(number - 1),
            _ => Err(BadCell::NotStored),
        }
    }

    fn sent(&self, label: &[u8]) -> Result<i32, BadCell> {
        match self.numbers.get(label) {
            Some(number) => Ok(*number),
            None if label.is_empty() => Ok(self.count),
            None => Err(BadCell::NotStored),
        }
    }
}

impl Bytes {
    fn new(is_text: bool, srid: Option<u32>) -> Bytes {
        Bytes { bytes: Vec::new(), ends: vec![0], is_text, srid }
    }

    fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef, BadCell> {
        let room = Vec::with_capacity(self.bytes.len());
        let bytes = Buffer::from_vec(std::mem::replace(&mut self.bytes, room));
        let mut ends = Vec::with_capacity(self.ends.len());
        ends.push(0);
        let ends = OffsetBuffer::new(std::mem::replace(&mut self.ends, ends).into());
        Ok(match self.is_text {
            true => {
                let array = StringArray::try_new(ends, bytes, nulls);
                Arc::new(array.map_err(|_| BadCell::NoText)?)
            }
            false => {
                let array = BinaryArray::try_new(ends, bytes, nulls);
                Arc::new(array.map_err(|_| BadCell::NotStored)?)
            }
        })
    }
}

#[inline(always)]
fn push_text(decoder: &Decoder, stored: &[u8], out: &mut Vec<u8>) -> Result<(), BadCell> {
    let start = out.len();
    if let Some(text) = decoder.as_text(stored) {
        if push_bytes(text.bytes, out) || text.is_utf8 {
            return Ok(());
        }
        out.truncate(start);
    }
    Ok(decoder.decode(stored, out)?)
}

/// Appends bytes, by copies whose length does not vary; true if all are ASCII.
#[inline(always)]
fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    const BLOCK: usize = 16;
    let Some(last) = bytes.last_chunk::<BLOCK>() else {
        out.extend_from_slice(bytes);
        return bytes.is_ascii();
    };
    let end = out.len() + bytes.len();
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let mut all = u128::from_ne_bytes(*last);
    for block in blocks {
        all |= u128::from_ne_bytes(*block);
        out.extend_from_slice(block);
    }
    out.truncate(end - BLOCK);
    out.extend_from_slice(last);
    all.to_ne_bytes().is_ascii()
}

/// The text of a stored value.
fn decoded<'s>(
    decoder: &Option<Decoder>,
    stored: &[u8],
    scratch: &'s mut Vec<u8>,
) -> Result<&'s [u8], BadCell> {
    scratch.clear();
    decoder.as_ref().ok_or(BadCell::NotStored)?.decode(stored, scratch)?;
    Ok(scratch)
}

/// MEDIUMINT and INT are integers of four bytes.
#[inline(always)]
fn three_or_four(stored: &[u8], unsigned: bool) -> Result<i64, NoUnits> {
    match stored.len() {
        3 => units::integer::<3>(stored, unsigned),
        _ => units::integer::<4>(stored, unsigned),
    }
}

#[inline(always)]
fn array<const N: usize>(stored: &[u8]) -> Result<[u8; N], BadCell> {
    stored.try_into().map_err(|_| BadCell::NotStored)
}

/// The well-known binary of a geometry, all values of which have this SRID; other bytes as they are.
fn without_srid(value: &[u8], srid: Option<u32>) -> Result<&[u8], BadCell> {
    let Some(expected) = srid else { return Ok(value) };
    let (srid, rest) = value.split_first_chunk::<SRID_BYTES>().ok_or(BadCell::NotStored)?;
    match u32::from_le_bytes(*srid) {
        srid if srid == expected => Ok(rest),
        srid => Err(BadCell::Srid(srid)),
    }
}

/// Takes the values, and leaves room for as many.
fn taken<T: arrow_buffer::ArrowNativeType>(to: &mut Vec<T>) -> ScalarBuffer<T> {
    let room = Vec::with_capacity(to.len());
    std::mem::replace(to, room).into()
}

fn primitive<T: ArrowPrimitiveType>(
    to: &mut Vec<T::Native>,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(taken(to), nulls))
}

fn decimal<T: DecimalType>(
    array: PrimitiveArray<T>,
    sql_type: &SqlType,
) -> Result<ArrayRef, BadCell> {
    let SqlType::Decimal { precision, scale, .. } = sql_type else {
        return Err(BadCell::NotStored);
    };
    let array = array.with_precision_and_scale(*precision, *scale as i8);
    Ok(Arc::new(array.map_err(|_| BadCell::NotStored)?))
}

fn fixed(to: &mut Vec<u8>, bytes: i32, nulls: Option<NullBuffer>) -> Result<ArrayRef, BadCell> {
    let array = FixedSizeBinaryArray::try_new(bytes, taken(to).into_inner(), nulls);
    Ok(Arc::new(array.map_err(|_| BadCell::NotStored)?))
}

impl From<NoUnits> for BadCell {
    fn from(no: NoUnits) -> BadCell {
        match no {
            NoUnits::NotStored => BadCell::NotStored,
            NoUnits::NoDay => BadCell::NoDay,
        }
    }
}

impl From<Undecoded> for BadCell {
    fn from(no: Undecoded) -> BadCell {
        match no {
            Undecoded::NotStored => BadCell::NotStored,
            Undecoded::NoText => BadCell::NoText,
        }
    }
}
