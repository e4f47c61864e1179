//! The payload of a sorted key, and records restored from it.

use innodb::record::{EncodedRecord, RECORD_HEADER, RecordWriter};
use values::key::KeyPart;

use crate::binding::{Entry, SecondaryBinding};

/// Bytes of the two lengths that precede a record in a sorted entry.
const ENTRY_HEADER: usize = 4;

/// Writes what follows the key of a sorted entry: lengths, then the record.
pub fn pack(payload: &mut Vec<u8>, unique_len: usize, record: EncodedRecord<'_>) {
    // Keys have at most 3,072 bytes of columns, whose weights take at most 18 times that.
    assert!(unique_len <= usize::from(u16::MAX) && record.origin <= usize::from(u16::MAX));
    payload.extend_from_slice(&(unique_len as u16).to_ne_bytes());
    payload.extend_from_slice(&(record.origin as u16).to_ne_bytes());
    payload.extend_from_slice(record.bytes);
}

/// Reads what [`pack`] wrote: bytes of the unique key (0 for none), and the record.
pub fn unpack(payload: &[u8]) -> (usize, EncodedRecord<'_>) {
    let number = |at: usize| usize::from(u16::from_ne_bytes([payload[at], payload[at + 1]]));
    (number(0), EncodedRecord { bytes: &payload[ENTRY_HEADER..], origin: number(2) })
}

/// Rebuilds the records of a secondary index from its sorted entries.
#[derive(Debug)]
pub struct Rebuilder {
    entry: Entry,
    parts: Vec<(KeyPart, usize)>,
    writer: RecordWriter,
    plain: Vec<u8>,
}

impl Rebuilder {
    /// For the entries of an index.
    pub fn new(index: &SecondaryBinding) -> Rebuilder {
        let widths = index.shape.fields.iter().map(|field| field.fixed_len as usize);
        Rebuilder {
            entry: index.entry,
            parts: index.key.iter().cloned().zip(widths).collect(),
            writer: RecordWriter::new(&index.shape),
            plain: vec![0; RECORD_HEADER],
        }
    }

    /// The record of an entry.
    #[inline]
    pub fn record<'a>(&'a mut self, key: &[u8], payload: &'a [u8]) -> EncodedRecord<'a> {
        match self.entry {
            Entry::WithRecord => unpack(payload).1,
            Entry::KeyIsData => {
                self.plain.truncate(RECORD_HEADER);
                self.plain.extend_from_slice(key);
                EncodedRecord { bytes: &self.plain, origin: RECORD_HEADER }
            }
            Entry::KeyReadsBack => self.read_back(key),
        }
    }

    fn read_back(&mut self, mut key: &[u8]) -> EncodedRecord<'_> {
        self.writer.begin();
        for (part, width) in &self.parts {
            let (used, is_null) = part.read_back(key, *width, self.writer.data());
            self.writer.end_field(is_null, false);
            key = &key[used..];
        }
        self.writer.finish()
    }
}
