//! COMPACT and DYNAMIC records: their shape, writing them, and finding their fields.
//!
//! ```text
//!   start                                        origin                end
//!   | lengths, last field first | nulls | header | field 0 | field 1 .. |
//! ```
//!
//! Bytes before the origin are read backwards. `nulls` has a bit for each nullable field of the index, set for NULL,
//! lowest bit of the byte next to the header first. A length is there for each field of varying length that is not
//! NULL: one byte, or two where the column can be long (nearer the header `0x80 | external 0x40 | length >> 8`, then
//! `length & 255`). A node pointer has the key fields only, then the 4-byte number of the child, but a leaf's nulls.
//!
//! Source: MariaDB 10.11, storage/innobase/rem/rem0rec.cc; include/rem0rec.h.

use crate::cfg::{Cfg, CfgField, CfgIndex, altered, mtype};
use crate::error::{Error, Result};
use crate::ids::{FIL_NULL, PAGE_SIZE};

mod writer;

pub use writer::{EncodedRecord, RecordWriter};

/// Bytes of the fixed part of a record's header (`REC_N_NEW_EXTRA_BYTES`).
pub const RECORD_HEADER: usize = 5;
/// Bytes of the child page number that ends a node pointer.
pub const CHILD: usize = 4;
/// Bytes of DB_TRX_ID.
pub const TRX_ID_BYTES: usize = 6;
/// Bytes of DB_ROLL_PTR.
pub const ROLL_PTR_BYTES: usize = 7;
/// Bytes of DB_ROW_ID, the key of a table without one.
pub const ROW_ID_BYTES: usize = 6;
/// DB_TRX_ID and DB_ROLL_PTR of a row that every transaction sees: 0, and "insert".
pub const TRX_ID_AND_ROLL_PTR: [u8; TRX_ID_BYTES + ROLL_PTR_BYTES] =
    [0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0];

/// Info bit: leftmost node pointer of its level (`REC_INFO_MIN_REC_FLAG`).
pub const MIN_RECORD: u8 = 0x10;
/// Info bit: deleted, not yet purged (`REC_INFO_DELETED_FLAG`).
pub const DELETED: u8 = 0x20;
/// Info bit of MySQL: the version of the row is before the header.
pub(crate) const VERSIONED: u8 = 0x40;

/// Most fields of a record (`REC_MAX_N_FIELDS`).
const FIELDS_MAX: usize = 1_023;
/// Bit of a length byte: another byte follows.
pub(crate) const TWO_BYTES: u8 = 0x80;
/// Bit of a length byte: the field goes on off page.
pub(crate) const EXTERNAL: u8 = 0x40;
/// [`FieldShape::null_bit`] of a NOT NULL field.
pub(crate) const NOT_NULLABLE: u16 = u16::MAX;

/// Low three bits of a record's heap number: what kind of record it is.
pub mod status {
    /// Record of a leaf.
    pub const LEAF: u16 = 0;
    /// Node pointer.
    pub const NODE: u16 = 1;
    /// First record of every page.
    pub const INFIMUM: u16 = 2;
    /// Last record of every page.
    pub const SUPREMUM: u16 = 3;
}

/// System columns, which InnoDB adds to the clustered index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemColumn {
    /// `DB_ROW_ID`, 6 bytes: the key of a table without one.
    RowId,
    /// `DB_TRX_ID`, 6 bytes.
    TrxId,
    /// `DB_ROLL_PTR`, 7 bytes.
    RollPtr,
}

/// How one field of an index is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldShape {
    /// Position in [`Cfg::columns`].
    pub column: usize,
    /// Longest prefix in bytes; 0 is the whole column.
    pub prefix_len: u32,
    /// Bytes of a value, or 0 if they vary.
    pub fixed_len: u32,
    /// Most bytes of a value of varying length.
    pub len_max: u32,
    /// True if the field can be NULL.
    pub nullable: bool,
    /// True if its length may take two bytes; then it can also be stored off page.
    pub big: bool,
    /// True if larger values come first.
    pub descending: bool,
    /// Set for a system column.
    pub system: Option<SystemColumn>,
    /// Bit of the null bitmap, or `u16::MAX`.
    pub(crate) null_bit: u16,
}

/// How the records of one index, leaf or non-leaf, are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordShape {
    /// Fields in order. Those of a node pointer are the key; its child page follows them.
    pub fields: Vec<FieldShape>,
    /// Fields, from the first, that a node pointer keeps.
    pub key_fields: usize,
    /// Bytes of the null bitmap; the same for leaf and node pointer.
    pub null_bytes: usize,
    /// Most bytes before the origin.
    pub header_bytes_max: usize,
    /// True if records are node pointers, which end with [`CHILD`] bytes.
    pub is_node: bool,
}

impl RecordShape {
    /// Shape of the leaf records of `index`.
    ///
    /// Errors: [`Error::UnknownColumn`] for a virtual column, [`Error::Unsupported`] for a table of MySQL
    /// with instant columns, [`Error::Cfg`] for a file that contradicts itself.
    pub fn leaf(cfg: &Cfg, index: &CfgIndex) -> Result<RecordShape> {
        match cfg.mysql.as_ref().filter(|_| index.is_clustered() && cfg.has_row_versions()) {
            Some(mysql) => Err(altered("row version", mysql.row_version)),
            None => RecordShape::of_index(cfg, index),
        }
    }

    /// Shape of new records of a clustered index whose old records may have other shapes.
    ///
    /// Errors: as of [`RecordShape::leaf`].
    pub fn new_rows(cfg: &Cfg, clustered: &CfgIndex) -> Result<RecordShape> {
        let mut index = clustered.clone();
        index.fields.retain(|field| cfg.column_position(&field.name).is_some());
        let columns = index.fields.iter().filter_map(|field| cfg.column_position(&field.name));
        index.n_nullable = columns.filter(|at| cfg.columns[*at].is_nullable()).count() as u32;
        RecordShape::of_index(cfg, &index)
    }

    fn of_index(cfg: &Cfg, index: &CfgIndex) -> Result<RecordShape> {
        if index.fields.len() > FIELDS_MAX {
            let (seen, expected) = (index.fields.len().to_string(), format!("up to {FIELDS_MAX}"));
            return Err(contradiction("fields of an index", seen, expected));
        }
        let mut null_bits = 0;
        let mut fields = Vec::with_capacity(index.fields.len());
        for field in &index.fields {
            fields.push(field_shape(cfg, index, field, &mut null_bits)?);
        }
        if u32::from(null_bits) != index.n_nullable {
            let (seen, expected) = (index.n_nullable.to_string(), null_bits.to_string());
            return Err(contradiction("nullable fields of an index", seen, expected));
        }
        // A clustered key is unique by itself; a secondary node pointer needs every field.
        let key_fields = if index.is_clustered() { index.n_uniq as usize } else { fields.len() };
        if key_fields > fields.len() {
            let (seen, expected) = (key_fields.to_string(), format!("at most {}", fields.len()));
            return Err(contradiction("unique fields of an index", seen, expected));
        }
        Ok(RecordShape::of(fields, key_fields, usize::from(null_bits).div_ceil(8), false))
    }

    /// Shape of the node pointers to leaves of this shape.
    pub fn to_node(&self) -> RecordShape {
        let fields = self.fields[..self.key_fields].to_vec();
        RecordShape::of(fields, self.key_fields, self.null_bytes, true)
    }

    /// Shape of fields of so many bytes, 0 if they vary, that are never NULL.
    pub(crate) fn plain(bytes: &[u32], key_fields: usize) -> RecordShape {
        let field = |&fixed_len| FieldShape {
            column: 0,
            prefix_len: 0,
            fixed_len,
            len_max: u32::MAX,
            nullable: false,
            big: fixed_len == 0,
            descending: false,
            system: None,
            null_bit: NOT_NULLABLE,
        };
        RecordShape::of(bytes.iter().map(field).collect(), key_fields, 0, false)
    }

    fn of(
        fields: Vec<FieldShape>,
        key_fields: usize,
        null_bytes: usize,
        is_node: bool,
    ) -> RecordShape {
        let lengths: usize = fields.iter().map(FieldShape::length_bytes_max).sum();
        let header_bytes_max = RECORD_HEADER + null_bytes + lengths;
        RecordShape { fields, key_fields, null_bytes, header_bytes_max, is_node }
    }

    /// Appends the node pointer of a leaf record, without its child page, to `out`; gives the
    /// bytes before its origin.
    ///
    /// `record` is as [`RecordWriter::finish`] gives it. Errors: [`Error::Corrupt`] if it is not.
    pub fn append_node_key(
        &self,
        record: &[u8],
        origin: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize> {
        debug_assert!(!self.is_node, "a node pointer is made of a leaf record");
        let nulls_start = origin - RECORD_HEADER - self.null_bytes;
        let mut cursor = Cursor { bytes: record, origin, lengths: nulls_start, data: origin };
        let mut null_count = 0;
        for field in &self.fields[..self.key_fields] {
            null_count += usize::from(field.nullable);
            cursor.next(field)?;
        }
        out.extend_from_slice(&record[cursor.lengths..nulls_start]);
        let nulls = out.len();
        out.extend_from_slice(&record[nulls_start..origin]);
        // Bits of fields that are not in the key stay clear; lowest bit is the byte at the end.
        for (index, byte) in out[nulls..nulls + self.null_bytes].iter_mut().rev().enumerate() {
            let kept = null_count.saturating_sub(index * 8).min(8);
            *byte &= ((1u16 << kept) - 1) as u8;
        }
        let header = out.len() - (nulls - (nulls_start - cursor.lengths));
        out.extend_from_slice(&record[origin..cursor.data]);
        Ok(header)
    }

    /// Finds the fields of the record whose origin is byte `origin` of `page`.
    ///
    /// `spans` is cleared first and has one entry a field. Any bytes can be given: a field that
    /// leaves `page` is [`Error::Corrupt`].
    pub fn spans(
        &self,
        page: &[u8],
        origin: usize,
        spans: &mut Vec<FieldSpan>,
    ) -> Result<RecordSpan> {
        spans.clear();
        let lengths = match origin.checked_sub(RECORD_HEADER + self.null_bytes) {
            Some(lengths) if origin <= page.len() => lengths,
            _ => return Err(corrupt(page, origin, "record origin", origin as u64, "on the page")),
        };
        let mut cursor = Cursor { bytes: page, origin, lengths, data: origin };
        for field in &self.fields {
            spans.push(cursor.next(field)?);
        }
        let end = cursor.data + if self.is_node { CHILD } else { 0 };
        if end > page.len() {
            return Err(corrupt(page, origin, "child page end", end as u64, "on the page"));
        }
        Ok(RecordSpan { start: cursor.lengths, origin, end })
    }
}

fn field_shape(
    cfg: &Cfg,
    index: &CfgIndex,
    field: &CfgField,
    null_bits: &mut u16,
) -> Result<FieldShape> {
    let unknown = || Error::UnknownColumn { index: index.name.clone(), column: field.name.clone() };
    let position = cfg.column_position(&field.name).ok_or_else(unknown)?;
    let column = &cfg.columns[position];
    let nullable = column.is_nullable();
    let null_bit = if nullable { *null_bits } else { NOT_NULLABLE };
    *null_bits += u16::from(nullable);
    let system = match field.name.as_str() {
        _ if column.mtype != mtype::SYS => None,
        "DB_ROW_ID" => Some(SystemColumn::RowId),
        "DB_TRX_ID" => Some(SystemColumn::TrxId),
        "DB_ROLL_PTR" => Some(SystemColumn::RollPtr),
        _ => None,
    };
    Ok(FieldShape {
        column: position,
        prefix_len: field.prefix_len,
        fixed_len: field.fixed_len,
        len_max: column.len_max(field.prefix_len),
        nullable,
        big: column.is_big(),
        descending: field.descending,
        system,
        null_bit,
    })
}

impl FieldShape {
    fn length_bytes_max(&self) -> usize {
        match (self.fixed_len, self.big) {
            (0, true) => 2,
            (0, false) => 1,
            _ => 0,
        }
    }
}

/// Where a field of a record is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldSpan {
    /// First byte.
    pub start: usize,
    /// Bytes in the record; of an external field its local prefix and the 20-byte reference.
    pub len: usize,
    /// True if the field is NULL.
    pub is_null: bool,
    /// True if the value goes on off page.
    pub is_external: bool,
}

impl FieldSpan {
    /// The stored bytes; `None` for NULL.
    #[inline]
    pub fn of<'a>(&self, page: &'a [u8]) -> Option<&'a [u8]> {
        (!self.is_null).then(|| &page[self.start..self.start + self.len])
    }
}

/// Where a whole record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSpan {
    /// First byte of its lengths.
    pub start: usize,
    /// First byte of its data.
    pub origin: usize,
    /// Byte after its data.
    pub end: usize,
}

/// Walks a record outwards from its origin, both ways at once.
struct Cursor<'a> {
    bytes: &'a [u8],
    origin: usize,
    /// Lengths before this byte are unread.
    lengths: usize,
    /// Data from this byte on is unread.
    data: usize,
}

impl Cursor<'_> {
    #[inline]
    fn next(&mut self, field: &FieldShape) -> Result<FieldSpan> {
        let start = self.data;
        if self.is_null(field) {
            return Ok(FieldSpan { start, len: 0, is_null: true, is_external: false });
        }
        let (len, is_external) = match field.fixed_len {
            0 => self.length(field.big)?,
            len => (len as usize, false),
        };
        self.data += len;
        if self.data > self.bytes.len() {
            return Err(corrupt(self.bytes, start, "field length", len as u64, "inside the page"));
        }
        Ok(FieldSpan { start, len, is_null: false, is_external })
    }

    #[inline]
    fn is_null(&self, field: &FieldShape) -> bool {
        // The bitmap was checked to be inside `bytes` before the walk began.
        field.nullable
            && self.bytes[self.origin - RECORD_HEADER - 1 - usize::from(field.null_bit / 8)]
                & (1 << (field.null_bit % 8))
                != 0
    }

    #[inline]
    fn length(&mut self, big: bool) -> Result<(usize, bool)> {
        let first = self.length_byte()?;
        if !big || first & TWO_BYTES == 0 {
            return Ok((usize::from(first), false));
        }
        let second = self.length_byte()?;
        let len = usize::from(first & !(TWO_BYTES | EXTERNAL)) << 8 | usize::from(second);
        Ok((len, first & EXTERNAL != 0))
    }

    #[inline]
    fn length_byte(&mut self) -> Result<u8> {
        let Some(at) = self.lengths.checked_sub(1) else {
            return Err(corrupt(self.bytes, 0, "record start", 0, "after the page start"));
        };
        self.lengths = at;
        Ok(self.bytes[at])
    }
}

fn contradiction(what: &'static str, seen: String, expected: String) -> Error {
    Error::Cfg { offset: 0, what, seen, expected }
}

#[cold]
fn corrupt(page: &[u8], offset: usize, what: &'static str, seen: u64, expected: &str) -> Error {
    // A whole page says which it is; anything else is a record on its own.
    let page_no = match (page.len(), page.get(4..8)) {
        (PAGE_SIZE, Some(&[a, b, c, d])) => u32::from_be_bytes([a, b, c, d]),
        _ => FIL_NULL,
    };
    Error::Corrupt { page_no, offset, what, seen, expected: expected.to_owned() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CFG: &[u8] = include_bytes!("../testdata/mariadb-10.11/t.cfg");

    fn cfg() -> Cfg {
        Cfg::parse(CFG).unwrap()
    }

    fn write(writer: &mut RecordWriter, fields: &[Option<&[u8]>]) -> (Vec<u8>, usize) {
        writer.begin();
        for field in fields {
            writer.data().extend_from_slice(field.unwrap_or_default());
            writer.end_field(field.is_none(), false);
        }
        let record = writer.finish();
        let written = (record.bytes.to_vec(), record.origin);
        assert_eq!(put(writer, fields), written);
        written
    }

    /// The same: runs of fields of fixed length, short fields as numbers, texts with what follows them.
    fn put(writer: &mut RecordWriter, fields: &[Option<&[u8]>]) -> (Vec<u8>, usize) {
        writer.begin();
        let shapes = writer.shape().fields.clone();
        let mut run: (Vec<u8>, usize) = (Vec::new(), 0);
        for (shape, field) in shapes.iter().zip(fields) {
            if shape.fixed_len > 0 && shape.null_bit == NOT_NULLABLE {
                run = ([&run.0[..], field.unwrap_or_default()].concat(), run.1 + 1);
                continue;
            }
            if run.1 > 0 {
                writer.put_run(&run.0, run.1);
                run = (Vec::new(), 0);
            }
            match (field, shape.fixed_len) {
                (_, 1..=8) => {
                    let mut number = [0xEE; 8];
                    let bytes = field.unwrap_or_default();
                    number[..bytes.len()].copy_from_slice(bytes);
                    writer.put_number(field.map(|_| u64::from_be_bytes(number)));
                }
                (Some(bytes), 0) => {
                    let spaces = bytes.iter().rev().take_while(|byte| **byte == b' ').count();
                    let len = bytes.len() - spaces;
                    let followed = [&bytes[..len], &b"what follows"[..len % 12]].concat();
                    writer.put_text(&followed, len, bytes.len(), b' ');
                }
                _ => {
                    writer.data().extend_from_slice(field.unwrap_or_default());
                    writer.end_field(field.is_none(), false);
                }
            }
        }
        if run.1 > 0 {
            writer.put_run(&run.0, run.1);
        }
        for (index, field) in fields.iter().enumerate() {
            assert_eq!(writer.field(index), *field);
            let eight = writer.eight_from(index);
            let known = field.map_or(0, <[u8]>::len).min(8);
            assert_eq!(eight[..known], field.unwrap_or_default()[..known]);
        }
        let record = writer.finish();
        (record.bytes.to_vec(), record.origin)
    }

    #[test]
    fn shapes_follow_the_cfg() {
        let cfg = cfg();
        let leaf = RecordShape::leaf(&cfg, &cfg.indexes[0]).unwrap();
        assert_eq!((leaf.fields.len(), leaf.key_fields, leaf.null_bytes), (8, 1, 1));
        // header, null byte, a 1, b 2, d 2
        assert_eq!(leaf.header_bytes_max, 5 + 1 + 1 + 2 + 2);
        assert_eq!(leaf.fields[1].system, Some(SystemColumn::TrxId));
        assert_eq!(leaf.fields[2].system, Some(SystemColumn::RollPtr));
        let node = leaf.to_node();
        assert_eq!((node.fields.len(), node.null_bytes, node.header_bytes_max), (1, 1, 6));

        let kb = RecordShape::leaf(&cfg, &cfg.indexes[2]).unwrap().to_node();
        assert_eq!((kb.fields.len(), kb.null_bytes), (3, 1));
        assert!(kb.fields[0].descending && kb.fields[0].big && kb.fields[0].prefix_len == 40);
    }

    #[test]
    fn a_virtual_column_is_named() {
        let mut cfg = cfg();
        cfg.indexes[1].fields[0].name = "v".into();
        let text = RecordShape::leaf(&cfg, &cfg.indexes[1]).unwrap_err().to_string();
        assert_eq!(text, "index ka has a column v that the .cfg file does not list");
    }

    #[test]
    fn a_record_in_hex() {
        let cfg = cfg();
        let mut writer = RecordWriter::new(&RecordShape::leaf(&cfg, &cfg.indexes[0]).unwrap());
        let long = [b'x'; 200];
        let (bytes, origin) = write(
            &mut writer,
            &[
                Some(&[0, 0, 0, 7]),
                Some(&TRX_ID_AND_ROLL_PTR[..6]),
                Some(&TRX_ID_AND_ROLL_PTR[6..]),
                Some(b"ab"),
                Some(&long),
                Some(b"cccc"),
                None,
                None,
            ],
        );
        // b: 0x80 | 0, then 200 (before it, as lengths go backwards); a: 2; nulls: d and e
        assert_eq!(bytes[..9], [200, 0x80, 2, 0b1100, 0, 0, 0, 0, 0]);
        assert_eq!(origin, 9);
        assert_eq!(&bytes[origin..origin + 4], &[0, 0, 0, 7]);
        assert_eq!(&bytes[bytes.len() - 4..], b"cccc");

        let mut key = Vec::new();
        let key_origin = writer.shape().append_node_key(&bytes, origin, &mut key).unwrap();
        assert_eq!((key, key_origin), (vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 7], 6));
    }

    #[test]
    fn a_record_without_lengths_and_nulls() {
        let cfg = cfg();
        let mut shape = RecordShape::leaf(&cfg, &cfg.indexes[0]).unwrap();
        shape = RecordShape::of(shape.fields[..3].to_vec(), 1, 0, false);
        let fields = [&[0, 0, 0, 7][..], &TRX_ID_AND_ROLL_PTR[..6], &TRX_ID_AND_ROLL_PTR[6..]];
        let (bytes, origin) = write(&mut RecordWriter::new(&shape), &fields.map(Some));
        assert_eq!((bytes.len(), origin), (5 + 4 + 13, 5));
    }

    #[test]
    fn a_secondary_node_pointer_keeps_nulls_and_lengths() {
        let cfg = cfg();
        let mut writer = RecordWriter::new(&RecordShape::leaf(&cfg, &cfg.indexes[2]).unwrap());
        let (bytes, origin) = write(&mut writer, &[Some(b"abc"), None, Some(&[0, 0, 0, 9])]);
        let mut key = b"before".to_vec();
        let key_origin = writer.shape().append_node_key(&bytes, origin, &mut key).unwrap();
        assert_eq!((&key[6..], key_origin), (&bytes[..], origin));
    }

    proptest! {
        #[test]
        fn fields_written_are_fields_found(
            a in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..20)),
            b in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..600)),
            d in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..300)),
            e in proptest::option::of(proptest::collection::vec(any::<u8>(), 5..=5)),
            external in any::<bool>(),
        ) {
            let cfg = cfg();
            let shape = RecordShape::leaf(&cfg, &cfg.indexes[0]).unwrap();
            let mut writer = RecordWriter::new(&shape);
            let fields = [
                Some(&b"keyy"[..]), Some(b"trx_id"), Some(b"roll_pt"),
                a.as_deref(), b.as_deref(), Some(b"char"), d.as_deref(), e.as_deref(),
            ];
            writer.begin();
            for (index, field) in fields.iter().enumerate() {
                writer.data().extend_from_slice(field.unwrap_or_default());
                writer.end_field(field.is_none(), external && index == 6 && field.is_some());
            }
            if !external {
                let record = writer.finish();
                let written = (record.bytes.to_vec(), record.origin);
                prop_assert_eq!(put(&mut writer, &fields), written);
            }
            let record = writer.finish();
            let mut spans = Vec::new();
            let whole = shape.spans(record.bytes, record.origin, &mut spans).unwrap();
            prop_assert_eq!((whole.start, whole.end), (0, record.bytes.len()));
            for (index, (span, field)) in spans.iter().zip(fields).enumerate() {
                prop_assert_eq!(span.of(record.bytes), field);
                prop_assert_eq!(writer.field(index), field);
                prop_assert_eq!(span.is_external, external && index == 6 && field.is_some());
            }
        }

        #[test]
        fn any_bytes_are_fields_or_an_error(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            origin in 0usize..220,
        ) {
            let cfg = cfg();
            for index in &cfg.indexes {
                let leaf = RecordShape::leaf(&cfg, index).unwrap();
                for shape in [leaf.to_node(), leaf] {
                    let mut spans = Vec::new();
                    if let Ok(whole) = shape.spans(&bytes, origin, &mut spans) {
                        prop_assert!(whole.end <= bytes.len());
                        for span in spans {
                            span.of(&bytes);
                        }
                    }
                }
            }
        }
    }
}
