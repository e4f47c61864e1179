//! The messages of an Arrow file or stream: where record batches and dictionaries are, and how large they become.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::{Block, MessageHeader, RecordBatch};
use arrow_ipc::{root_as_footer, root_as_message};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use locks::Mutex;
use sources::InputBytes;

use super::Head;
use crate::file::fingerprint;
use crate::guard::{Problem, problem};

const MAGIC: &[u8] = b"ARROW1";
/// The magic and what fills it up to the first message.
const MAGIC_BYTES: u64 = 8;
/// Length of the footer and the magic, at the end.
const TRAILER_BYTES: u64 = 10;
/// Sign and length before a message; old streams lack the sign.
const PREFIX_BYTES: u64 = 8;
const CONTINUES: [u8; 4] = [0xff; 4];
/// Most bytes that fill a file up between its last message and its footer, the marker of the stream's end among them.
/// No file is as small.
const FILL_BYTES_MAX: u64 = 256;
/// Most bytes of a footer or of a message's metadata.
const METADATA_BYTES_MAX: u64 = 256 << 20;

/// A message that has rows or a dictionary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stored {
    /// Where it is.
    pub(super) block: Block,
    /// Rows of a record batch.
    pub(super) rows: u64,
    /// True if its buffers are compressed.
    pub(super) is_packed: bool,
    /// Bytes of its buffers, once unpacked.
    pub(super) unpacked_bytes: u64,
    /// Fingerprint of its metadata, which has sizes and numbers of NULL.
    pub(super) fingerprint: u64,
    /// Dictionaries before it that are not of its stream, and all before it.
    pub(super) dictionaries: (usize, usize),
    /// The number of a dictionary; none of a record batch.
    id: Option<i64>,
    /// True of a dictionary that continues the one before it of its number.
    is_delta: bool,
}

impl Stored {
    /// Byte of the file at which it ends.
    pub(super) fn end(&self) -> u64 {
        self.block.offset() as u64 + self.bytes()
    }

    /// Its size in the file.
    pub(super) fn bytes(&self) -> u64 {
        self.block.metaDataLength() as u64 + self.block.bodyLength() as u64
    }

    /// Bytes of the file in which its buffers are.
    pub(super) fn body(&self) -> Range<u64> {
        self.end() - self.block.bodyLength() as u64..self.end()
    }
}

/// The messages of a file.
pub(super) struct Messages {
    input: InputBytes,
    /// Size of a file; a pipe's is not known.
    bytes: Option<u64>,
    /// True if dictionaries have dictionaries.
    has_nested: bool,
    found: Mutex<MessageIndex>,
}

/// The messages that were examined.
#[derive(Default)]
struct MessageIndex {
    /// The byte at which each stream begins, and its head, whose dictionaries may have other numbers than those of
    /// the others. A file has one.
    heads: Vec<(u64, Head)>,
    batches: Vec<Stored>,
    dictionaries: Vec<Stored>,
    /// Their places, by number.
    places: BTreeMap<i64, Vec<usize>>,
    /// Blocks that a footer names and that were not examined yet.
    named: std::vec::IntoIter<Block>,
    /// Where the next message of a stream begins; None at the end of the last one, and in a file.
    next: Option<u64>,
    /// Dictionaries of the streams before this one.
    earlier_dictionaries: usize,
}

/// The content at a place in a stream.
enum Item {
    /// The metadata of a message, and where it begins behind its prefix.
    Message(Vec<u8>, u64),
    /// The marker of the stream's end, and where that ends.
    Marker(u64),
    /// The end of the input.
    End,
}

impl MessageIndex {
    fn push_dictionary(&mut self, stored: Stored) {
        let places = self.places.entry(stored.id.unwrap_or_default()).or_default();
        places.push(self.dictionaries.len());
        self.dictionaries.push(stored);
    }

    /// The last of each number among the dictionaries from `first` up to `end`, with those that continue it; in their
    /// order.
    fn not_replaced(&self, first: usize, end: usize) -> Vec<Stored> {
        let mut used = Vec::new();
        for places in self.places.values() {
            let behind = |bound| places.partition_point(|&place| place < bound);
            let before = &places[behind(first)..behind(end)];
            let is_whole = |&place: &usize| !self.dictionaries[place].is_delta;
            let first = before.iter().rposition(is_whole).unwrap_or(0);
            used.extend_from_slice(&before[first..]);
        }
        used.sort_unstable();
        used.into_iter().map(|place| self.dictionaries[place]).collect()
    }
}

impl Messages {
    /// Opens an input at whose start or end the schema is.
    pub(super) fn open(input: InputBytes) -> Result<(Messages, SchemaRef), Problem> {
        let mut magic = [0; MAGIC.len()];
        let size = input.read_at(0, &mut magic).map_err(problem)?;
        let is_file = size == MAGIC.len() && magic == MAGIC;
        let bytes = input.known_size();
        let mut messages = Messages { input, bytes, has_nested: false, found: Mutex::default() };
        let (head, mut index) = match is_file {
            true => messages.read_footer()?,
            false => {
                let (head, next) = messages.read_schema(0)?;
                (head, MessageIndex { next: Some(next), ..MessageIndex::default() })
            }
        };
        let schema = Arc::clone(&head.schema);
        messages.has_nested = has_nested(&schema);
        index.heads.push((0, head));
        messages.found = Mutex::new(index);
        Ok((messages, schema))
    }

    /// As [`crate::file::TypedFile::description_bytes`].
    pub(super) fn description_bytes(&self) -> u64 {
        let found = self.found.lock();
        let schemas: usize = found.heads.iter().map(|(_, head)| head.schema.fields().size()).sum();
        let messages = found.batches.len() + found.dictionaries.len();
        let blocks = size_of_val(found.named.as_slice());
        (schemas + messages * size_of::<Stored>() + blocks) as u64
    }

    pub(super) fn input(&self) -> &InputBytes {
        &self.input
    }

    fn read_footer(&mut self) -> Result<(Head, MessageIndex), Problem> {
        let bytes = self.input.size().map_err(problem)?;
        self.bytes = Some(bytes);
        if bytes < MAGIC_BYTES + TRAILER_BYTES {
            return Err("the file is cut off".to_owned());
        }
        let trailer = self.bytes_at(bytes - TRAILER_BYTES, TRAILER_BYTES)?;
        let (length, magic) = trailer.split_at(4);
        if magic != MAGIC {
            return Err("the file is cut off: no footer is at its end".to_owned());
        }
        let length = i32::from_le_bytes(length.try_into().map_err(problem)?);
        let length = u64::try_from(length).map_err(|_| "the footer's length is negative")?;
        let start = (bytes - TRAILER_BYTES).checked_sub(length).ok_or("the footer is damaged")?;
        let footer = self.bytes_at(start, length)?;
        let footer = root_as_footer(&footer).map_err(|error| format!("footer: {error}"))?;
        let schema = footer.schema().ok_or("the footer has no schema")?;
        if !schema.endianness().equals_to_target_endianness() {
            return Err("its numbers are big-endian, which is not supported".to_owned());
        }
        let head = Head {
            schema: Arc::new(try_fb_to_schema(schema).map_err(problem)?),
            version: footer.version(),
        };
        let mut found = MessageIndex::default();
        let named: Vec<Block> = footer.recordBatches().into_iter().flatten().copied().collect();
        let dictionaries: Vec<Block> =
            footer.dictionaries().into_iter().flatten().copied().collect();
        self.check_footer(start, named.iter().chain(&dictionaries))?;
        for block in dictionaries {
            found.push_dictionary(self.stored(block, (0, 0))?);
        }
        found.named = named.into_iter();
        Ok((head, found))
    }

    /// Refuses a footer that does not follow the messages that it names: those would be looked for in another file.
    fn check_footer<'b>(
        &self,
        footer: u64,
        blocks: impl Iterator<Item = &'b Block>,
    ) -> Result<(), Problem> {
        let end = |block: &Block| {
            let size = i64::from(block.metaDataLength()).saturating_add(block.bodyLength());
            block.offset().saturating_add(size)
        };
        let end = match blocks.map(end).max() {
            Some(end) => u64::try_from(end).unwrap_or(footer),
            None => self.read_schema(MAGIC_BYTES).map_or(footer, |(_, end)| end),
        };
        match footer.saturating_sub(end) {
            0..=FILL_BYTES_MAX => Ok(()),
            bytes => Err(format!(
                "the file has {bytes} bytes that are no part of it before its footer; load files that were \
                 joined one by one"
            )),
        }
    }

    /// Reads the schema that a stream begins with at this byte; gives also where the next message begins.
    fn read_schema(&self, at: u64) -> Result<(Head, u64), Problem> {
        let Item::Message(metadata, start) = self.item(at)? else {
            return Err("the stream is empty".to_owned());
        };
        let message = root_as_message(&metadata).map_err(problem)?;
        let schema = message.header_as_schema().ok_or("the stream does not begin with a schema")?;
        if !schema.endianness().equals_to_target_endianness() {
            return Err("its numbers are big-endian, which is not supported".to_owned());
        }
        let head = Head {
            schema: Arc::new(try_fb_to_schema(schema).map_err(problem)?),
            version: message.version(),
        };
        let body = u64::try_from(message.bodyLength()).map_err(problem)?;
        Ok((head, start.saturating_add(metadata.len() as u64).saturating_add(body)))
    }

    /// Bytes of the file, all of which must be there.
    fn bytes_at(&self, at: u64, length: u64) -> Result<Vec<u8>, Problem> {
        if length > METADATA_BYTES_MAX
            || self.bytes.is_some_and(|all| at.saturating_add(length) > all)
        {
            return Err("a length goes on behind the end of the file".to_owned());
        }
        let mut out = vec![0; length as usize];
        self.fill(at, &mut out)?;
        Ok(out)
    }

    /// Reads on behind the end of a stream with a schema: the head of another one and where its next message begins;
    /// None if nothing follows.
    ///
    /// Errors: bytes that are no stream; a stream with other columns.
    fn next_stream(&self, end: u64, schema: &Schema) -> Result<Option<(Head, u64)>, Problem> {
        if self.input.read_at(end, &mut [0]).map_err(problem)? == 0 {
            return Ok(None);
        }
        let (head, next) = self.read_schema(end).map_err(|why| {
            format!(
                "a stream ends after {end} bytes, behind which are others that are no stream: {why}"
            )
        })?;
        match difference(schema.fields(), head.schema.fields()) {
            None => Ok(Some((head, next))),
            Some(difference) => Err(format!(
                "the stream that begins at byte {end} has other columns than the first one: {difference}; load it by \
                 itself"
            )),
        }
    }

    /// The item at a byte of a stream.
    fn item(&self, at: u64) -> Result<Item, Problem> {
        let mut prefix = [0; PREFIX_BYTES as usize];
        let size = self.input.read_at(at, &mut prefix).map_err(problem)?;
        let (first, second) = prefix.split_at(4);
        let (length, start) = match (size, first == CONTINUES) {
            // A writer that died leaves a pipe without the marker; some writers leave it out of files.
            (0, _) if at > 0 && self.bytes.is_none() => {
                return Err(
                    "the stream ends without its end marker, so rows may be missing".to_owned()
                );
            }
            (0, _) => return Ok(Item::End),
            (8, true) => (second, at + 8),
            (4.., false) => (first, at + 4),
            _ => return Err("the stream is cut off".to_owned()),
        };
        let length = i32::from_le_bytes(length.try_into().map_err(problem)?);
        match u64::try_from(length).map_err(|_| "a message's length is negative")? {
            0 => Ok(Item::Marker(start)),
            length => Ok(Item::Message(self.bytes_at(start, length)?, start)),
        }
    }

    /// The record batch of this index; None behind the last.
    pub(super) fn batch(&self, index: usize) -> Result<Option<Stored>, Problem> {
        let mut found = self.found.lock();
        while found.batches.len() <= index {
            let dictionaries = (found.earlier_dictionaries, found.dictionaries.len());
            if let Some(block) = found.named.next() {
                found.batches.push(self.stored(block, dictionaries)?);
                continue;
            }
            let Some(at) = found.next else { return Ok(None) };
            let (metadata, start) = match self.item(at)? {
                Item::Message(metadata, start) => (metadata, start),
                Item::Marker(end) => {
                    let (_, first) = found.heads.first().ok_or("it has no schema")?;
                    let following = self.next_stream(end, &first.schema)?;
                    found.next = following.as_ref().map(|(_, next)| *next);
                    found.heads.extend(following.map(|(head, _)| (end, head)));
                    found.earlier_dictionaries = dictionaries.1;
                    continue;
                }
                Item::End => {
                    found.next = None;
                    return Ok(None);
                }
            };
            let message = root_as_message(&metadata).map_err(problem)?;
            let length = i32::try_from(start - at + metadata.len() as u64).map_err(problem)?;
            let block = Block::new(at as i64, length, message.bodyLength());
            let kind = message.header_type();
            let stored = self.stored(block, dictionaries)?;
            found.next = Some(stored.end());
            match kind {
                MessageHeader::RecordBatch => found.batches.push(stored),
                MessageHeader::DictionaryBatch => found.push_dictionary(stored),
                _ => return Err("the stream has a message that is no record batch".to_owned()),
            }
        }
        Ok(found.batches.get(index).copied())
    }

    /// The head of the stream that a record batch is in.
    pub(super) fn head(&self, batch: &Stored) -> Option<Head> {
        let found = self.found.lock();
        let at = batch.block.offset() as u64;
        found.heads.iter().rfind(|(begin, _)| *begin <= at).map(|(_, head)| head.clone())
    }

    /// The dictionaries that its stream has for a record batch: it may replace them with each.
    pub(super) fn dictionaries(&self, batch: &Stored) -> Vec<Stored> {
        let found = self.found.lock();
        let (first, end) = batch.dictionaries;
        match self.has_nested {
            true => found.dictionaries[first..end].to_vec(),
            false => found.not_replaced(first, end),
        }
    }

    /// Bytes that the largest record batch of a file takes, packed and unpacked.
    pub(super) fn largest(&self) -> Result<u64, Problem> {
        if self.bytes.is_none() {
            return Ok(0);
        }
        let (mut index, mut largest) = (0, 0);
        while let Some(stored) = self.batch(index)? {
            largest = largest.max(stored.bytes().saturating_add(stored.unpacked_bytes));
            index += 1;
        }
        Ok(largest)
    }

    /// Examines the message of a block, and what it claims.
    fn stored(&self, block: Block, dictionaries: (usize, usize)) -> Result<Stored, Problem> {
        let size = |size: i64| u64::try_from(size).map_err(|_| "a size or place is negative");
        let (at, body) = (size(block.offset())?, size(block.bodyLength())?);
        let length = size(i64::from(block.metaDataLength()))?;
        let end = at.saturating_add(length).saturating_add(body);
        if self.bytes.is_some_and(|bytes| end > bytes) || end > i64::MAX as u64 {
            return Err("a record batch goes on behind the end of the file".to_owned());
        }
        let metadata = self.bytes_at(at, length)?;
        let message = root_as_message(without_prefix(&metadata)).map_err(problem)?;
        let dictionary = message.header_as_dictionary_batch();
        let batch = match dictionary {
            Some(dictionary) => dictionary.data(),
            None => message.header_as_record_batch(),
        };
        let id = dictionary.map(|dictionary| dictionary.id());
        let is_delta = dictionary.is_some_and(|dictionary| dictionary.isDelta());
        let batch = batch.ok_or("a message has no rows")?;
        let rows = size(batch.length())?;
        let is_packed = batch.compression().is_some();
        let unpacked_bytes = self.unpacked(batch, at + length, body)?;
        let fingerprint = fingerprint(at, &metadata);
        Ok(Stored {
            block,
            rows,
            is_packed,
            unpacked_bytes,
            fingerprint,
            dictionaries,
            id,
            is_delta,
        })
    }

    /// Bytes of a batch's buffers once they are unpacked, as they claim.
    fn unpacked(&self, batch: RecordBatch<'_>, body: u64, size: u64) -> Result<u64, Problem> {
        if batch.compression().is_none() {
            return Ok(size);
        }
        let mut bytes = 0u64;
        for buffer in batch.buffers().into_iter().flatten() {
            let (offset, length) = (buffer.offset() as u64, buffer.length() as u64);
            if offset.saturating_add(length) > size {
                return Err("a buffer goes on behind the end of its record batch".to_owned());
            }
            if length < 8 {
                continue;
            }
            let claimed = self.bytes_at(body + offset, 8)?;
            let claimed = i64::from_le_bytes(claimed.as_slice().try_into().map_err(problem)?);
            // -1 says that it is not packed.
            bytes = bytes.saturating_add(u64::try_from(claimed).unwrap_or(length));
        }
        Ok(bytes)
    }

    /// All bytes of a message.
    pub(super) fn read(&self, stored: &Stored) -> Result<Buffer, Problem> {
        let mut out = vec![0; usize::try_from(stored.bytes()).map_err(problem)?];
        self.fill(stored.block.offset() as u64, &mut out)?;
        Ok(Buffer::from_vec(out))
    }

    /// Gives the description of a record batch, without its buffers.
    pub(super) fn described<T>(
        &self,
        stored: &Stored,
        work: impl FnOnce(RecordBatch<'_>) -> T,
    ) -> Result<T, Problem> {
        let length = stored.block.metaDataLength() as u64;
        let metadata = self.bytes_at(stored.block.offset() as u64, length)?;
        let message = root_as_message(without_prefix(&metadata)).map_err(problem)?;
        Ok(work(message.header_as_record_batch().ok_or("a message has no rows")?))
    }

    /// Reads bytes of the file, all of which must be there.
    pub(super) fn fill(&self, at: u64, out: &mut [u8]) -> Result<(), Problem> {
        match self.input.read_at(at, out).map_err(problem)? == out.len() {
            true => Ok(()),
            false => Err("the file is cut off".to_owned()),
        }
    }
}

/// The first column of a stream that another one does not have as it is, in words.
fn difference(first: &Fields, other: &Fields) -> Option<String> {
    let count = first.len().max(other.len());
    let mut pairs = (0..count).map(|at| (first.get(at), other.get(at)));
    let (first, other) = pairs.find(|(first, other)| first != other)?;
    let column = |field: &FieldRef| format!("\"{}\" {}", field.name(), field.data_type());
    let looks_same = first.map(column) == other.map(column);
    let shown = |field: Option<&FieldRef>| match field {
        None => "nothing".to_owned(),
        Some(field) if looks_same => {
            let null = if field.is_nullable() { "nullable" } else { "not nullable" };
            format!("{} ({null}, metadata {:?})", column(field), field.metadata())
        }
        Some(field) => column(field),
    };
    Some(format!("{} in place of {}", shown(other), shown(first)))
}

/// True if values of a dictionary may have dictionaries of their own, which each reads when it is read.
fn has_nested(schema: &Schema) -> bool {
    let is_nested = |field: &&Field| match field.data_type() {
        DataType::Dictionary(_, values) => {
            values.is_nested() || matches!(**values, DataType::Dictionary(..))
        }
        _ => false,
    };
    schema.flattened_fields().iter().any(is_nested)
}

/// The metadata of a message behind its prefix.
fn without_prefix(metadata: &[u8]) -> &[u8] {
    let skipped = if metadata.starts_with(&CONTINUES) { 8 } else { 4 };
    metadata.get(skipped..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries_that_others_replace_are_left_out() {
        let stored = |(at, &(id, is_delta)): (usize, &(i64, bool))| Stored {
            block: Block::new(at as i64, 0, 0),
            rows: 1,
            is_packed: false,
            unpacked_bytes: 0,
            fingerprint: 0,
            dictionaries: (0, 0),
            id: Some(id),
            is_delta,
        };
        for (dictionaries, expected) in [
            (&[][..], &[][..]),
            (&[(1, false), (2, false)], &[0, 1]),
            (&[(1, false), (2, false), (1, false), (1, false)], &[1, 3]),
            (&[(1, false), (1, true), (2, false), (1, true)], &[0, 1, 2, 3]),
            (&[(1, false), (1, true), (1, false), (1, true), (2, false)], &[2, 3, 4]),
        ] {
            let mut index = MessageIndex::default();
            dictionaries.iter().enumerate().map(stored).for_each(|it| index.push_dictionary(it));
            // Behind the record batch.
            index.push_dictionary(stored((99, &(1, false))));
            let used = index.not_replaced(0, dictionaries.len());
            let places: Vec<i64> = used.iter().map(|it| it.block.offset()).collect();
            assert_eq!(places, expected, "{dictionaries:?}");
        }
    }
}
