//! The payload of a sorted key, and records restored from it.

use innodb::record::{EncodedRecord, RECORD_HEADER, RecordWriter};
use values::key::KeyPart;

use crate::binding::{Entry, SecondaryBinding};

/// Bytes of the two lengths that precede a record in a sorted entry, in one number.
const ENTRY_HEADER: usize = 4;
/// Bits of the lower length, the origin's: lengths and NULL marks of 1,017 fields take 2,200 bytes. The others are
/// those of the unique key: 3,072 bytes of columns may have 18 weights of 2 bytes a character on each of several levels.
const ORIGIN_BITS: u32 = 12;

/// Writes what follows the key of a sorted entry: lengths, then the record.
pub fn pack(payload: &mut Vec<u8>, unique_len: usize, record: EncodedRecord<'_>) {
    assert!(unique_len >> (u32::BITS - ORIGIN_BITS) == 0 && record.origin >> ORIGIN_BITS == 0);
    let lengths = (unique_len as u32) << ORIGIN_BITS | record.origin as u32;
    payload.extend_from_slice(&lengths.to_ne_bytes());
    payload.extend_from_slice(record.bytes);
}

/// Reads what [`pack`] wrote: bytes of the unique key (0 for none), and the record.
pub fn unpack(payload: &[u8]) -> (usize, EncodedRecord<'_>) {
    let lengths = u32::from_ne_bytes([payload[0], payload[1], payload[2], payload[3]]);
    let origin = (lengths & ((1 << ORIGIN_BITS) - 1)) as usize;
    let bytes = &payload[ENTRY_HEADER..];
    ((lengths >> ORIGIN_BITS) as usize, EncodedRecord { bytes, origin })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_longer_than_64_kib_are_packed() {
        // U+FDFA has 18 weights a level: 768 of them on three levels.
        for unique_len in [0, 1, 0xFFFF, 768 * 18 * 2 * 3, (1 << 20) - 1] {
            for origin in [RECORD_HEADER, 2_200] {
                let bytes = vec![7; origin + 3];
                let mut payload = Vec::new();
                pack(&mut payload, unique_len, EncodedRecord { bytes: &bytes, origin });
                let (unique, record) = unpack(&payload);
                assert_eq!((unique, record.origin, record.bytes), (unique_len, origin, &bytes[..]));
            }
        }
    }
}
