//! Writing records, field by field.

use super::{EXTERNAL, FieldShape, NOT_NULLABLE, RECORD_HEADER, RecordShape, TWO_BYTES};

/// Writes records into one buffer that it keeps: no allocation per record once warm.
///
/// For each record: [`begin`](Self::begin); for each field append its stored bytes to
/// [`data`](Self::data) and call [`end_field`](Self::end_field); [`finish`](Self::finish).
///
/// ```
/// use innodb::{cfg::Cfg, record::{RecordShape, RecordWriter}};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let cfg = Cfg::parse(&std::fs::read("testdata/mariadb-10.11/t.cfg")?)?;
/// // An index of CHAR(4) and the primary key, an INT.
/// let shape = RecordShape::leaf(&cfg, &cfg.indexes[3])?;
/// let mut writer = RecordWriter::new(&shape);
/// writer.begin();
/// for field in [&b"char"[..], &7_u32.to_be_bytes()] {
///     writer.data().extend_from_slice(field);
///     writer.end_field(false, false);
/// }
/// let record = writer.finish();
/// assert_eq!(record.bytes[record.origin..], *b"char\0\0\0\x07");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RecordWriter {
    shape: RecordShape,
    /// `header_bytes_max` bytes, then the data.
    bytes: Vec<u8>,
    /// Fields ended so far.
    field: usize,
    /// First byte of the lengths written so far.
    start: usize,
    /// End of the field ended last.
    end: usize,
    fields: Vec<WrittenField>,
    /// Fields, from the first, that end at the same byte in every record.
    constant_fields: usize,
}

/// Bytes that a short text is copied by: quicker than a copy of unknown size.
const COPIED_TOGETHER: usize = 16;
/// Bytes up to which it is.
const CHUNKED_MAX: usize = 256;

/// A field of a [`RecordWriter`]: its shape, close together, and how it came out.
#[derive(Clone, Copy, Debug)]
struct WrittenField {
    /// Byte of the writer's buffer at which it ends.
    end: usize,
    fixed_len: u32,
    null_bit: u16,
    big: bool,
    is_null: bool,
    is_external: bool,
}

/// A record, complete but for what its page decides: heap number, owned count, next record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedRecord<'a> {
    /// Lengths, nulls, header (zero), data.
    pub bytes: &'a [u8],
    /// Byte at which the data starts.
    pub origin: usize,
}

impl RecordWriter {
    /// A writer of records of `shape`.
    pub fn new(shape: &RecordShape) -> RecordWriter {
        let mut fields: Vec<_> = shape.fields.iter().map(WrittenField::new).collect();
        let is_constant =
            |field: &&mut WrittenField| field.fixed_len > 0 && field.null_bit == NOT_NULLABLE;
        let (mut end, mut constant_fields) = (shape.header_bytes_max, 0);
        for field in fields.iter_mut().take_while(is_constant) {
            end += field.fixed_len as usize;
            field.end = end;
            constant_fields += 1;
        }
        RecordWriter {
            bytes: vec![0; shape.header_bytes_max],
            field: 0,
            start: 0,
            end: shape.header_bytes_max,
            fields,
            constant_fields,
            shape: shape.clone(),
        }
    }

    /// The shape of the records.
    pub fn shape(&self) -> &RecordShape {
        &self.shape
    }

    /// Forgets the record written before and starts the next.
    #[inline]
    pub fn begin(&mut self) {
        let origin = self.shape.header_bytes_max;
        let nulls_end = origin - RECORD_HEADER;
        self.start = nulls_end - self.shape.null_bytes;
        self.bytes.truncate(origin);
        self.bytes[self.start..nulls_end].fill(0);
        self.field = 0;
        self.end = origin;
    }

    /// Where the bytes of the open field go: append only.
    #[inline]
    pub fn data(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Bytes appended since the last field ended.
    #[inline]
    pub fn open_len(&self) -> usize {
        self.bytes.len() - self.end
    }

    /// Ends the open field. A NULL field has no bytes; the bytes of an external one end with its 20-byte reference.
    ///
    /// # Panics
    /// If the bytes cannot be of this field: a fixed field of another length, more than 255 bytes
    /// in a short column, NULL in a NOT NULL field. That is a bug of the caller.
    #[inline]
    pub fn end_field(&mut self, is_null: bool, is_external: bool) {
        let end = self.bytes.len();
        debug_assert!(end >= self.end, "bytes are appended only");
        let len = end - self.end;
        self.end = end;
        let field = &mut self.fields[self.field];
        (field.end, field.is_null, field.is_external) = (end, is_null, is_external);
        let WrittenField { fixed_len, null_bit, big, .. } = *field;
        self.field += 1;
        if is_null {
            assert!(null_bit != NOT_NULLABLE && len == 0, "NULL in a NOT NULL field, or bytes");
            let at = self.shape.header_bytes_max - RECORD_HEADER - 1;
            self.bytes[at - usize::from(null_bit / 8)] |= 1 << (null_bit % 8);
        } else if fixed_len == 0 {
            self.push_length(len, big, is_external);
        } else {
            assert!(len == fixed_len as usize, "a fixed field of another length");
        }
    }

    /// Appends and ends consecutive fields of fixed length, none of them NULL: `bytes` are all of theirs.
    ///
    /// # Panics
    /// If there are more or fewer bytes than the fields have. That is a bug of the caller.
    #[inline]
    pub fn put_run(&mut self, bytes: &[u8], fields: usize) {
        debug_assert_eq!(self.open_len(), 0, "a field is ended before others are put");
        self.bytes.extend_from_slice(bytes);
        let last = self.field + fields;
        // What is known of the others is the same in every record.
        if last > self.constant_fields {
            let mut end = self.end;
            for field in &mut self.fields[self.field..last] {
                debug_assert!(field.fixed_len > 0, "a field of fixed length");
                end += field.fixed_len as usize;
                (field.end, field.is_null, field.is_external) = (end, false, false);
            }
        }
        (self.field, self.end) = (last, self.bytes.len());
        assert!(self.fields[last - 1].end == self.end, "a run has the bytes of its fields");
    }

    /// Appends and ends a field of fixed length, at most eight bytes: the first bytes of the big-endian
    /// number; `None` is NULL.
    ///
    /// # Panics
    /// For a field of another kind, or NULL in a NOT NULL field. That is a bug of the caller.
    #[inline]
    pub fn put_number(&mut self, value: Option<u64>) {
        debug_assert_eq!(self.open_len(), 0, "a field is ended before another is put");
        let field = &mut self.fields[self.field];
        if let Some(value) = value {
            let len = field.fixed_len as usize;
            assert!(len.wrapping_sub(1) < 8, "a field of one to eight bytes");
            // Eight bytes always, then the surplus off again.
            self.bytes.extend_from_slice(&value.to_be_bytes());
            self.end += len;
            self.bytes.truncate(self.end);
        } else {
            assert!(field.null_bit != NOT_NULLABLE, "NULL in a NOT NULL field");
            let nulls = self.shape.header_bytes_max - RECORD_HEADER - 1;
            self.bytes[nulls - usize::from(field.null_bit / 8)] |= 1 << (field.null_bit % 8);
        }
        (field.end, field.is_null, field.is_external) = (self.end, value.is_none(), false);
        self.field += 1;
    }

    /// Appends and ends a field of varying length: the first `len` of `bytes`, filled up with `pad`
    /// to `least` bytes. Further bytes in `bytes` make the copy quicker, and are not kept.
    #[inline]
    pub fn put_text(&mut self, bytes: &[u8], len: usize, least: usize, pad: u8) {
        let end = self.bytes.len() + len;
        let (chunks, _) = bytes.as_chunks::<COPIED_TOGETHER>();
        match chunks.get(..len.div_ceil(COPIED_TOGETHER)) {
            Some(chunks) if len <= CHUNKED_MAX => {
                for chunk in chunks {
                    self.bytes.extend_from_slice(chunk);
                }
                self.bytes.truncate(end);
            }
            _ => self.bytes.extend_from_slice(&bytes[..len]),
        }
        if len < least {
            self.bytes.resize(end - len + least, pad);
        }
        self.end_field(false, false);
    }

    #[inline]
    fn push_length(&mut self, len: usize, big: bool, is_external: bool) {
        self.start -= 1;
        if !big || (len < 128 && !is_external) {
            assert!(len <= 255 && !is_external, "a short column with a long value");
            self.bytes[self.start] = len as u8;
        } else {
            // A length above 14 bits cannot be written; such a record is too large for a page
            // and is written again with the field off page.
            let external = if is_external { EXTERNAL } else { 0 };
            self.bytes[self.start] = TWO_BYTES | external | (len >> 8) as u8 & 0x3F;
            self.start -= 1;
            self.bytes[self.start] = len as u8;
        }
    }

    /// The record, once every field has ended.
    #[inline]
    pub fn finish(&self) -> EncodedRecord<'_> {
        debug_assert!(self.field == self.shape.fields.len(), "a record without all its fields");
        EncodedRecord {
            bytes: &self.bytes[self.start..],
            origin: self.shape.header_bytes_max - self.start,
        }
    }

    /// The stored bytes of field `index` of the record so far; `None` for NULL.
    pub fn field(&self, index: usize) -> Option<&[u8]> {
        let start = match index.checked_sub(1) {
            None => self.shape.header_bytes_max,
            Some(before) => self.fields[before].end,
        };
        let field = &self.fields[index];
        (!field.is_null).then(|| &self.bytes[start..field.end])
    }

    /// Eight bytes from the start of field `index` of the record so far: its own, what follows it, and
    /// zeros where nothing does.
    #[inline]
    pub fn eight_from(&self, index: usize) -> [u8; 8] {
        let start = match index.checked_sub(1) {
            None => self.shape.header_bytes_max,
            Some(before) => self.fields[before].end,
        };
        let rest = &self.bytes[start..];
        match rest.first_chunk::<8>() {
            Some(eight) => *eight,
            None => {
                let mut eight = [0; 8];
                eight[..rest.len()].copy_from_slice(rest);
                eight
            }
        }
    }

    /// True if field `index` of the record so far is external.
    pub fn is_external(&self, index: usize) -> bool {
        self.fields[index].is_external
    }
}

impl WrittenField {
    fn new(shape: &FieldShape) -> WrittenField {
        WrittenField {
            end: 0,
            fixed_len: shape.fixed_len,
            null_bit: shape.null_bit,
            big: shape.big,
            is_null: false,
            is_external: false,
        }
    }
}
