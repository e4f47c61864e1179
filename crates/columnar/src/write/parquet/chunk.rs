//! A column of row groups: values to pages, by a dictionary as long as they repeat.
//!
//! ```text
//! stored bytes -> known to the dictionary  -> number of the value  \
//!              -> new                      -> decoded, and number   > page, compressed if that saves
//! values that do not repeat                -> decoded              /
//! ```
//!
//! Whole numbers and lengths of texts that have no dictionary are [differences](super::delta) of a few bits.

use parquet::basic::{Compression, Encoding, PageType, Type};
use parquet::schema::types::ColumnDescPtr;

use super::bits::{index_width, push_runs};
use super::delta::push_deltas;
use super::dictionary::Dictionary;
use super::encoded_chunk::{EncodedChunk, Totals};
use super::levels::Levels;
use super::pages::{Packer, PageHead};
use super::statistics::Bounds;
use crate::write::WriteError;
use crate::write::cells::{Column, Plain};
use crate::written::BadCell;

/// Most rows of a page, and rows after which it is known whether values repeat.
const PAGE_ROWS: usize = 20 << 10;
const TRIAL_ROWS: usize = 4 << 10;
/// Most values of a dictionary. Their numbers have 16 bits, also those of the leaf by which there are more.
const DICTIONARY_VALUES: usize = 32 << 10;
/// Part of a page that compression has to save.
const SAVED_MIN: usize = 12;

/// Bytes that a column takes, about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) page: usize,
    pub(super) dictionary: usize,
}

/// Encodes the chunks of a column, one after the other.
#[derive(Debug)]
pub(in crate::write) struct ChunkEncoder {
    descriptor: ColumnDescPtr,
    is_nullable: bool,
    /// True if each chunk begins with a dictionary, and if the page at hand has one.
    may_repeat: bool,
    is_indexed: bool,
    /// True if it is known whether values of the chunk repeat.
    is_tried: bool,
    /// True if values wait for the end of the row group.
    waits: bool,
    room: Room,
    levels: Levels,
    /// The values of the page: as numbers in the dictionary, or themselves.
    numbers: Vec<u16>,
    values: Column,
    /// Bytes of the values that are numbers, as they came.
    read_bytes: usize,
    dictionary: Dictionary,
    entries: Column,
    /// Memory for values on their way.
    plain: Plain,
    bounds: Bounds,
    chunk: EncodedChunk,
    totals: Totals,
}

impl ChunkEncoder {
    /// An encoder whose values are pages at the end of the row group only, if it `waits`: then memory has one dictionary
    /// at a time.
    pub(super) fn new(
        column: &Column,
        descriptor: ColumnDescPtr,
        room: Room,
        waits: bool,
    ) -> ChunkEncoder {
        let may_repeat = !column.is_long();
        ChunkEncoder {
            is_nullable: descriptor.max_def_level() > 0,
            descriptor,
            may_repeat,
            is_indexed: may_repeat && !waits,
            is_tried: false,
            waits,
            room,
            levels: Levels::default(),
            numbers: Vec::new(),
            values: column.clone(),
            read_bytes: 0,
            dictionary: Dictionary::new(),
            entries: column.clone(),
            plain: column.plain(),
            bounds: Bounds::default(),
            chunk: EncodedChunk::default(),
            totals: Totals::default(),
        }
    }

    /// Appends stored values.
    #[inline]
    pub(in crate::write) fn stored<'v>(
        &mut self,
        values: impl Iterator<Item = Option<&'v [u8]>>,
    ) -> Result<(), (usize, BadCell)> {
        let before = self.levels.rows;
        let done = if self.is_indexed {
            self.index(values, |entries, value| {
                entries.stored(std::iter::once(Some(value))).map_err(|(_, bad)| bad)
            })
        } else {
            self.values.stored(Present { values, levels: &mut self.levels })
        };
        done.map_err(|(_, bad)| (self.levels.rows - before - 1, bad))
    }

    /// Appends a value as the server sends it.
    pub(in crate::write) fn sent(&mut self, value: Option<&[u8]>) -> Result<(), BadCell> {
        if self.is_indexed {
            let done =
                self.index(std::iter::once(value), |entries, value| entries.sent(Some(value)));
            return done.map_err(|(_, bad)| bad);
        }
        if self.levels.push(value.is_some()) { self.values.sent(value) } else { Ok(()) }
    }

    /// Appends the numbers of values, and reads those that the dictionary does not have.
    #[inline(always)]
    fn index<'v>(
        &mut self,
        values: impl Iterator<Item = Option<&'v [u8]>>,
        read: impl Fn(&mut Column, &'v [u8]) -> Result<(), BadCell>,
    ) -> Result<(), (usize, BadCell)> {
        let ChunkEncoder { levels, dictionary, entries, numbers, read_bytes, .. } = self;
        for value in (Present { values, levels }) {
            let Some(value) = value else { continue };
            *read_bytes += value.len();
            let (number, is_new) = dictionary.number(value);
            if is_new {
                assert!(number <= usize::from(u16::MAX), "more values at once than a leaf has");
                read(entries, value).map_err(|bad| (0, bad))?;
            }
            numbers.push(number as u16);
        }
        Ok(())
    }

    /// Bytes of memory that the chunk takes.
    pub(in crate::write) fn bytes(&self) -> usize {
        let page = 2 * self.numbers.len() + self.values.bytes();
        self.chunk.bytes() + page + self.dictionary.bytes() + self.entries.bytes()
    }

    /// Bytes of the values in their plain form, about.
    pub(in crate::write) fn value_bytes(&self) -> usize {
        self.totals.value_bytes + self.indexed_bytes() + self.values.bytes()
    }

    /// The same of those that are numbers of the dictionary.
    fn indexed_bytes(&self) -> usize {
        self.form_bytes(self.numbers.len(), self.read_bytes)
    }

    /// The same of those in `plain`.
    fn plain_bytes(&self) -> usize {
        self.form_bytes(self.plain.len(), self.plain.bytes())
    }

    fn form_bytes(&self, count: usize, bytes: usize) -> usize {
        match self.descriptor.physical_type() {
            Type::INT32 | Type::FLOAT => 4 * count,
            Type::BYTE_ARRAY => 4 * count + bytes,
            Type::FIXED_LEN_BYTE_ARRAY => bytes,
            _ => 8 * count,
        }
    }

    /// Ends rows: the page too, if it is full.
    pub(in crate::write) fn end_rows(&mut self, packer: &mut Packer) -> Result<(), WriteError> {
        if self.waits {
            return Ok(());
        }
        let (rows, values) = (self.levels.rows, self.numbers.len());
        if self.is_indexed {
            let entries = self.dictionary.len();
            if !self.is_tried && self.totals.is_empty() && values >= TRIAL_ROWS {
                self.is_tried = true;
                let is_short = self.indexed_bytes() <= 2 * self.room.page;
                if is_short && (4 * entries > 3 * values || self.are_near(packer)?) {
                    return self.give_up_dictionary(packer);
                }
            }
            if entries > DICTIONARY_VALUES
                || self.dictionary.bytes() + self.entries.bytes() > self.room.dictionary
            {
                self.end_page(packer)?;
                self.is_indexed = false;
                // The values are enough for the page of the dictionary.
                self.dictionary.clear();
            }
        }
        if rows >= PAGE_ROWS || 2 * values + self.values.bytes() >= self.room.page {
            self.end_page(packer)?;
        }
        Ok(())
    }

    /// True if the values so far take fewer bytes as differences than as numbers of the dictionary.
    fn are_near(&self, packer: &mut Packer) -> Result<bool, WriteError> {
        if !matches!(self.descriptor.physical_type(), Type::INT32 | Type::INT64) {
            return Ok(false);
        }
        let mut entries = self.entries.plain();
        let taken = self.entries.clone().take_plain(&mut entries, self.value_len());
        taken.map_err(WriteError::of_cell)?;
        let Plain::Numbers(entries) = entries else { return Ok(false) };
        let number = |at: usize| entries[usize::from(self.numbers[at])];
        packer.body.clear();
        push_deltas(self.numbers.len(), number, self.is_narrow(), &mut packer.body);
        let index_bits = index_width(self.dictionary.len()) as usize * self.numbers.len();
        Ok(8 * packer.body.len() <= index_bits)
    }

    /// Ends the first page of a chunk without the dictionary, which saves nothing.
    fn give_up_dictionary(&mut self, packer: &mut Packer) -> Result<(), WriteError> {
        self.is_indexed = false;
        let mut entries = self.entries.plain();
        self.entries.take_plain(&mut entries, self.value_len()).map_err(WriteError::of_cell)?;
        self.plain.expand(&entries, &self.numbers);
        self.dictionary.clear();
        self.numbers.clear();
        self.read_bytes = 0;
        self.end_plain_page(packer)
    }

    fn end_page(&mut self, packer: &mut Packer) -> Result<(), WriteError> {
        if self.levels.rows == 0 {
            return Ok(());
        }
        // A page without any value needs no dictionary, which may have none either.
        if !self.is_indexed || self.numbers.is_empty() {
            let len = self.value_len();
            self.values.take_plain(&mut self.plain, len).map_err(WriteError::of_cell)?;
            return self.end_plain_page(packer);
        }
        self.end_indexed_page(packer)
    }

    /// Ends a page of numbers of the dictionary.
    fn end_indexed_page(&mut self, packer: &mut Packer) -> Result<(), WriteError> {
        let mut body = self.begin_body(packer)?;
        let width = index_width(self.dictionary.len());
        body.push(width as u8);
        push_runs(&self.numbers, width, &mut body);
        self.totals.value_bytes += self.indexed_bytes();
        self.numbers.clear();
        self.read_bytes = 0;
        self.push_page(Encoding::RLE_DICTIONARY, body, packer)
    }

    /// Ends a page of the values in `plain`.
    fn end_plain_page(&mut self, packer: &mut Packer) -> Result<(), WriteError> {
        let mut body = self.begin_body(packer)?;
        self.bounds.take(&self.plain, self.values.order());
        self.totals.value_bytes += self.plain_bytes();
        let encoding = self.encoding();
        match (&self.plain, encoding) {
            (Plain::Numbers(numbers), Encoding::DELTA_BINARY_PACKED) => {
                push_deltas(numbers.len(), |at| numbers[at], self.is_narrow(), &mut body);
            }
            (Plain::Bytes(bytes, ends), Encoding::DELTA_LENGTH_BYTE_ARRAY) => {
                let len = |at: usize| i64::from(ends[at + 1] - ends[at]);
                push_deltas(self.plain.len(), len, true, &mut body);
                body.extend_from_slice(bytes);
            }
            (plain, _) => push_plain(plain, self.descriptor.physical_type(), &mut body),
        }
        self.push_page(encoding, body, packer)
    }

    /// The encoding of values without a dictionary.
    fn encoding(&self) -> Encoding {
        match self.descriptor.physical_type() {
            _ if self.plain.len() == 0 => Encoding::PLAIN,
            Type::INT32 | Type::INT64 => Encoding::DELTA_BINARY_PACKED,
            Type::BYTE_ARRAY => Encoding::DELTA_LENGTH_BYTE_ARRAY,
            _ => Encoding::PLAIN,
        }
    }

    /// Ends the only page of a chunk whose values waited. The values of a dictionary are in `plain` then.
    fn end_waiting_page(&mut self, packer: &mut Packer) -> Result<(), WriteError> {
        let len = self.value_len();
        self.values.take_plain(&mut self.plain, len).map_err(WriteError::of_cell)?;
        match self.distinct() {
            Some(entries) => {
                self.read_bytes = self.plain.bytes();
                self.plain = entries;
                self.end_indexed_page(packer)
            }
            None => {
                self.numbers.clear();
                self.end_plain_page(packer)
            }
        }
    }

    /// The different values of `plain`, with their numbers in `numbers`; none if too few repeat.
    fn distinct(&mut self) -> Option<Plain> {
        let count = self.plain.len();
        if !self.may_repeat || count == 0 {
            return None;
        }
        let mut entries = self.values.plain();
        for at in 0..count {
            let (number, is_new) = match &self.plain {
                Plain::Numbers(numbers) => self.dictionary.number(&numbers[at].to_le_bytes()),
                Plain::Bytes(bytes, ends) => {
                    self.dictionary.number(Plain::bytes_of(bytes, ends, at))
                }
            };
            if is_new && 4 * number > 3 * count.min(DICTIONARY_VALUES) {
                return None;
            }
            if is_new {
                entries.push(&self.plain, at);
            }
            self.numbers.push(number as u16);
        }
        Some(entries)
    }

    /// The body of a page: the levels, behind which its values go.
    fn begin_body(&mut self, packer: &mut Packer) -> Result<Vec<u8>, WriteError> {
        let mut body = std::mem::take(&mut packer.body);
        body.clear();
        if self.is_nullable {
            self.levels.encode(&mut body);
        } else if self.levels.nulls > 0 {
            return Err(WriteError::Internal(format!("{} has NULL", self.descriptor.name())));
        }
        Ok(body)
    }

    /// Appends a page.
    fn push_page(
        &mut self,
        encoding: Encoding,
        body: Vec<u8>,
        packer: &mut Packer,
    ) -> Result<(), WriteError> {
        let mut packed = body.as_slice();
        if self.totals.is_packed != Some(false) {
            let less = packer.pack(&body).map_err(WriteError::internal)?;
            // The first page decides, unless it is mostly NULL.
            let is_sparse = 2 * self.levels.nulls > self.levels.rows;
            // Numbers of texts do not show how much of the texts compression saves.
            let is_of_texts =
                encoding == Encoding::RLE_DICTIONARY && matches!(self.plain, Plain::Bytes(..));
            let saves =
                is_sparse || is_of_texts || less.len() + body.len() / SAVED_MIN < body.len();
            if *self.totals.is_packed.get_or_insert(saves) {
                packed = less;
            }
        }
        let head = PageHead {
            page_type: PageType::DATA_PAGE,
            values: self.levels.rows,
            encoding,
            plain_bytes: body.len(),
            packed_bytes: packed.len(),
        };
        self.totals.push_page(&head, &mut self.chunk.pages, packed)?;
        self.totals.nulls += self.levels.nulls;
        self.levels.clear();
        packer.body = body;
        Ok(())
    }

    /// Ends the chunk.
    pub(super) fn take(&mut self, packer: &mut Packer) -> Result<EncodedChunk, WriteError> {
        if self.waits {
            self.end_waiting_page(packer)?;
        } else {
            self.end_page(packer)?;
        }
        if self.totals.is_indexed() {
            if !self.waits {
                let len = self.value_len();
                self.entries.take_plain(&mut self.plain, len).map_err(WriteError::of_cell)?;
            }
            self.bounds.take(&self.plain, self.values.order());
            self.push_dictionary(packer)?;
        }
        let statistics = self.bounds.statistics(
            self.descriptor.physical_type(),
            self.values.order(),
            self.values.is_text(),
            self.totals.nulls as u64,
        );
        let codec = match self.totals.is_packed {
            Some(true) => packer.codec()?,
            _ => Compression::UNCOMPRESSED,
        };
        self.chunk.close(&self.descriptor, &self.totals, codec, statistics)?;
        self.dictionary.clear();
        if self.waits {
            // Their memory is for the next column.
            (self.dictionary, self.numbers) = (Dictionary::new(), Vec::new());
        }
        self.bounds.clear();
        self.is_indexed = self.may_repeat && !self.waits;
        self.is_tried = false;
        self.totals = Totals::default();
        Ok(std::mem::take(&mut self.chunk))
    }

    /// Goes on in the memory of a chunk that is written.
    pub(in crate::write) fn reuse(&mut self, chunk: EncodedChunk) {
        self.chunk.reuse(chunk);
    }

    fn push_dictionary(&mut self, packer: &mut Packer) -> Result<(), WriteError> {
        let mut body = std::mem::take(&mut packer.body);
        body.clear();
        push_plain(&self.plain, self.descriptor.physical_type(), &mut body);
        let packed: &[u8] = match self.totals.is_packed {
            Some(true) => packer.pack(&body).map_err(WriteError::internal)?,
            _ => &body,
        };
        let head = PageHead {
            page_type: PageType::DICTIONARY_PAGE,
            values: self.plain.len(),
            encoding: Encoding::PLAIN,
            plain_bytes: body.len(),
            packed_bytes: packed.len(),
        };
        self.totals.push_page(&head, &mut self.chunk.dictionary, packed)?;
        packer.body = body;
        Ok(())
    }

    /// True if the file has the numbers in 32 bits.
    fn is_narrow(&self) -> bool {
        is_narrow(self.descriptor.physical_type())
    }

    /// Bytes of each value, where all have as many.
    fn value_len(&self) -> usize {
        match self.descriptor.physical_type() {
            Type::FIXED_LEN_BYTE_ARRAY => self.descriptor.type_length().max(0) as usize,
            _ => 0,
        }
    }
}

/// Values of rows, each of which is noted; those of NULLs are left out.
struct Present<'l, I> {
    values: I,
    levels: &'l mut Levels,
}

impl<'v, I: Iterator<Item = Option<&'v [u8]>>> Iterator for Present<'_, I> {
    type Item = Option<&'v [u8]>;

    #[inline(always)]
    fn next(&mut self) -> Option<Option<&'v [u8]>> {
        loop {
            let value = self.values.next()?;
            if self.levels.push(value.is_some()) {
                return Some(value);
            }
        }
    }
}

fn is_narrow(physical: Type) -> bool {
    matches!(physical, Type::INT32 | Type::FLOAT)
}

/// Appends values in the encoding PLAIN: bytes of varying length behind that.
fn push_plain(values: &Plain, physical: Type, out: &mut Vec<u8>) {
    match values {
        Plain::Numbers(numbers) if is_narrow(physical) => {
            out.extend(numbers.iter().flat_map(|number| (*number as i32).to_le_bytes()));
        }
        Plain::Numbers(numbers) => {
            out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        }
        Plain::Bytes(bytes, _) if physical == Type::FIXED_LEN_BYTE_ARRAY => {
            out.extend_from_slice(bytes);
        }
        Plain::Bytes(bytes, ends) => {
            out.reserve(bytes.len() + 4 * ends.len());
            for pair in ends.windows(2) {
                out.extend_from_slice(&(pair[1] - pair[0]).to_le_bytes());
                out.extend_from_slice(&bytes[pair[0] as usize..pair[1] as usize]);
            }
        }
    }
}
