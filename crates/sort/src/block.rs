//! A block of a spilled run, as bytes.
//!
//! ```text
//! offset size
//!      0    4  bytes of the body as stored
//!      4    4  bytes of the body as entries
//!      8    4  entries
//!     12    4  codec: 0 as they are, 1 zstd, 2 packed
//!     16    4  CRC-32C of the 16 bytes above and the body
//!     20       body
//! ```
//!
//! All integers little-endian. A packed body holds bare keys of one length as [`crate::pack`]
//! integers: number of spans (2 bytes), per span the number of its word (2 bytes), its shift and its
//! width (1 byte each), the bits the keys share (the key's length), then the integers, each in
//! as few whole bytes as hold its bits, big-endian.

use crate::keys::{Keys, Words};
use crate::pack::{Observer, Packing, Span, Word, word_count};

/// Bytes before the body.
pub(crate) const HEADER_LEN: usize = 20;

const RAW: u32 = 0;
const ZSTD: u32 = 1;
const PACKED: u32 = 2;

const ZSTD_LEVEL: i32 = 1;

// Five numbers of 4 bytes, the checksum last.
const _: () = assert!(HEADER_LEN == 5 * size_of::<u32>());

/// A field of a block that is not what it must be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) what: &'static str,
    pub(crate) seen: u64,
    pub(crate) expected: u64,
}

/// Makes stored blocks of entries.
pub(crate) struct BlockWriter {
    stride: Option<usize>,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    compressed: Vec<u8>,
}

impl BlockWriter {
    /// For bare keys of `stride` bytes, which are packed, or for any entries.
    pub(crate) fn new(stride: Option<usize>) -> BlockWriter {
        BlockWriter { stride, zstd: None, compressed: Vec::new() }
    }

    /// Appends a block of `count` ascending entries to `out`, with `zstd` compressed if that makes
    /// it smaller.
    pub(crate) fn write(
        &mut self,
        entries: &[u8],
        count: usize,
        zstd: bool,
        out: &mut Vec<u8>,
    ) -> std::io::Result<()> {
        debug_assert!(self.stride.is_none_or(|stride| entries.len() == count * stride));
        let start = out.len();
        out.extend_from_slice(&[0; HEADER_LEN]);
        let codec = match self.stride {
            Some(stride) => write_keys(entries, stride, out),
            None => self.write_entries(entries, zstd, out)?,
        };
        let body_len = out.len() - start - HEADER_LEN;
        for (i, number) in [body_len, entries.len(), count, codec as usize].into_iter().enumerate()
        {
            let number = u32::try_from(number).map_err(|_| std::io::ErrorKind::FileTooLarge)?;
            out[start + 4 * i..][..4].copy_from_slice(&number.to_le_bytes());
        }
        let checksum = checksum(&out[start..]);
        out[start + 16..start + HEADER_LEN].copy_from_slice(&checksum.to_le_bytes());
        Ok(())
    }

    fn write_entries(
        &mut self,
        entries: &[u8],
        zstd: bool,
        out: &mut Vec<u8>,
    ) -> std::io::Result<u32> {
        if zstd {
            let zstd = match &mut self.zstd {
                Some(zstd) => zstd,
                none => none.insert(zstd::bulk::Compressor::new(ZSTD_LEVEL)?),
            };
            self.compressed.clear();
            self.compressed.reserve_exact(zstd::compress_bound(entries.len()));
            let len = zstd.compress_to_buffer(entries, &mut self.compressed)?;
            if len < entries.len() / 8 * 7 {
                out.extend_from_slice(&self.compressed[..len]);
                return Ok(ZSTD);
            }
        }
        out.extend_from_slice(entries);
        Ok(RAW)
    }
}

fn write_keys(keys: &[u8], stride: usize, out: &mut Vec<u8>) -> u32 {
    let packing = Packing::of(keys, stride);
    if packing.bits <= u128::BITS && packed_width(&packing) < stride {
        push_packed(&packing, keys, out);
        return PACKED;
    }
    out.extend_from_slice(keys);
    RAW
}

/// Bytes of a stored block that begins with these, which have a header; None of fewer.
pub(crate) fn block_len(stored: &[u8]) -> Option<usize> {
    let header = stored.get(..HEADER_LEN)?.first_chunk()?;
    Some(HEADER_LEN + u32::from_le_bytes(*header) as usize)
}

/// Turns stored blocks back into entries.
pub(crate) struct BlockReader {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

/// A stored block whose checksum and lengths are right.
struct Stored<'a> {
    body: &'a [u8],
    entry_bytes: usize,
    count: usize,
    codec: u32,
}

impl<'a> Stored<'a> {
    fn parse(stored: &'a [u8]) -> Result<Stored<'a>, Damage> {
        check("block length", stored.len().min(HEADER_LEN), HEADER_LEN)?;
        let number = |i: usize| {
            u32::from_le_bytes(stored[4 * i..][..4].try_into().unwrap_or_default()) as usize
        };
        check("checksum", number(4), checksum(stored) as usize)?;
        let body = &stored[HEADER_LEN..];
        check("body length", body.len(), number(0))?;
        Ok(Stored { body, entry_bytes: number(1), count: number(2), codec: number(3) as u32 })
    }
}

fn check(what: &'static str, seen: usize, expected: usize) -> Result<(), Damage> {
    if seen == expected {
        return Ok(());
    }
    Err(Damage { what, seen: seen as u64, expected: expected as u64 })
}

impl BlockReader {
    pub(crate) fn new() -> BlockReader {
        BlockReader { zstd: None }
    }

    /// Replaces `entries` with those of the block `stored`, which is exactly one block.
    pub(crate) fn read(&mut self, stored: &[u8], entries: &mut Vec<u8>) -> Result<(), Damage> {
        let stored = Stored::parse(stored)?;
        entries.clear();
        entries.reserve_exact(stored.entry_bytes);
        match stored.codec {
            RAW => entries.extend_from_slice(stored.body),
            ZSTD => self.decompress(stored.body, stored.entry_bytes, entries),
            codec => return check("codec", codec as usize, ZSTD as usize),
        }
        check("length of entries", entries.len(), stored.entry_bytes)
    }

    /// The same for a block of bare keys.
    pub(crate) fn read_keys(&mut self, stored: &[u8], keys: &mut Keys) -> Result<(), Damage> {
        let stored = Stored::parse(stored)?;
        let key_len = keys.packing.key_len;
        match stored.codec {
            RAW => {
                let mut bytes = keys.take_plain();
                bytes.clear();
                bytes.extend_from_slice(stored.body);
                keys.words = Words::Plain(bytes);
            }
            PACKED => read_packed(stored.body, stored.count, keys).ok_or(Damage {
                what: "packed keys",
                seen: 0,
                expected: stored.count as u64,
            })?,
            codec => return check("codec", codec as usize, PACKED as usize),
        }
        check("number of keys", keys.len(), stored.count)?;
        check("length of entries", keys.len() * key_len, stored.entry_bytes)
    }

    /// Leaves `entries` short if the body does not decompress: the caller compares lengths.
    fn decompress(&mut self, body: &[u8], len: usize, entries: &mut Vec<u8>) {
        if self.zstd.is_none() {
            self.zstd = zstd::bulk::Decompressor::new().ok();
        }
        let Some(zstd) = &mut self.zstd else { return };
        entries.resize(len, 0);
        let read = zstd.decompress_to_buffer(body, entries.as_mut_slice()).unwrap_or(0);
        entries.truncate(read);
    }
}

/// CRC-32C of a stored block but for the checksum itself.
fn checksum(stored: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&stored[..16]), &stored[HEADER_LEN..])
}

/// Bytes of one packed key.
fn packed_width(packing: &Packing) -> usize {
    packing.bits.div_ceil(8) as usize
}

fn push_packed(packing: &Packing, keys: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(packing.spans.len() as u16).to_le_bytes());
    for span in &packing.spans {
        out.extend_from_slice(&(span.word as u16).to_le_bytes());
        out.push(span.shift as u8);
        out.push(span.width as u8);
    }
    let template = out.len();
    out.resize(template + packing.key_len, 0);
    packing.unpack_one(0_u64, &mut out[template..]);
    let width = packed_width(packing);
    if packing.bits <= u64::BITS {
        let mut words: Vec<u64> = Vec::with_capacity(keys.len() / packing.key_len);
        packing.pack(keys, &mut words);
        // Each word is written whole and the next one over its tail.
        let start = out.len();
        out.resize(start + words.len() * width + 8, 0);
        let mut at = start;
        for word in words {
            let bytes = word.wrapping_shl(64 - 8 * width as u32).to_be_bytes();
            out[at..at + 8].copy_from_slice(&bytes);
            at += width;
        }
        out.truncate(at);
    } else {
        let mut words: Vec<u128> = Vec::with_capacity(keys.len() / packing.key_len);
        packing.pack(keys, &mut words);
        for word in words {
            out.extend_from_slice(&word.to_be_bytes()[16 - width..]);
        }
    }
}

/// None if the body is not one of packed keys.
fn read_packed(body: &[u8], count: usize, keys: &mut Keys) -> Option<()> {
    let (packing, body) = read_packing(body, keys.packing.key_len)?;
    let width = packed_width(&packing);
    if body.len() != count * width {
        return None;
    }
    let words = std::mem::replace(&mut keys.words, Words::Plain(Vec::new()));
    keys.words = if width <= 8 {
        let mut narrow = if let Words::Narrow(words) = words { words } else { Vec::new() };
        narrow.clear();
        narrow.reserve_exact(count);
        narrow.extend((0..count).map(|i| match body.get(i * width..i * width + 8) {
            Some(bytes) if width > 0 => {
                u64::from_be_bytes(bytes.try_into().unwrap_or_default()) >> (64 - 8 * width)
            }
            _ => read_word(&body[i * width..][..width]),
        }));
        Words::Narrow(narrow)
    } else {
        let mut wide = if let Words::Wide(words) = words { words } else { Vec::new() };
        wide.clear();
        wide.reserve_exact(count);
        wide.extend(body.chunks_exact(width).map(read_word::<u128>));
        Words::Wide(wide)
    };
    keys.packing = packing;
    Some(())
}

fn read_word<W: Word>(bytes: &[u8]) -> W {
    bytes.iter().fold(W::default(), |word, &byte| word.append(8, u64::from(byte)))
}

fn read_packing(body: &[u8], key_len: usize) -> Option<(Packing, &[u8])> {
    let (count, rest) = body.split_at_checked(2)?;
    let count = usize::from(u16::from_le_bytes([count[0], count[1]]));
    let (spans, rest) = rest.split_at_checked(4 * count)?;
    let spans: Vec<Span> = spans
        .chunks_exact(4)
        .map(|span| Span {
            word: usize::from(u16::from_le_bytes([span[0], span[1]])),
            shift: u32::from(span[2]),
            width: u32::from(span[3]),
        })
        .collect();
    let sound = |span: &Span| {
        span.word < word_count(key_len) && span.width >= 1 && span.shift + span.width <= 64
    };
    let (template, words) = rest.split_at_checked(key_len)?;
    if !spans.iter().all(sound) {
        return None;
    }
    let mut observer = Observer::new(key_len);
    observer.observe(template);
    let packing = Packing::new(key_len, spans, observer.packing().fixed);
    (packing.bits <= u128::BITS).then_some((packing, words))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn round_trip(stride: Option<usize>, zstd: bool, entries: &[u8]) -> Vec<u8> {
        let mut stored = Vec::new();
        let count = entries.len() / stride.unwrap_or(1);
        BlockWriter::new(stride).write(entries, count, zstd, &mut stored).unwrap();
        let mut read = vec![7; 3];
        match stride {
            Some(stride) => {
                let mut keys = Keys::empty(stride);
                BlockReader::new().read_keys(&stored, &mut keys).unwrap();
                read.clear();
                keys.unpack(0..keys.len(), &mut read);
            }
            None => BlockReader::new().read(&stored, &mut read).unwrap(),
        }
        assert_eq!(read, entries);
        stored
    }

    fn codec(stored: &[u8]) -> u32 {
        u32::from_le_bytes(stored[12..16].try_into().unwrap())
    }

    #[test]
    fn bare_keys_are_packed() {
        let keys: Vec<u8> =
            (0..1000_u64).flat_map(|i| [[7; 8], (i * i).to_be_bytes()].concat()).collect();
        let stored = round_trip(Some(16), false, &keys);
        assert_eq!(codec(&stored), PACKED);
        assert!(stored.len() < 3100, "20 bits of 128 differ: {} bytes", stored.len());
    }

    #[test]
    fn a_block_of_equal_keys_is_packed_to_nothing() {
        let stored = round_trip(Some(11), false, &[3; 11 * 50]);
        assert_eq!(stored.len(), HEADER_LEN + 2 + 11);
    }

    #[test]
    fn entries_that_do_not_compress_are_stored_as_they_are() {
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(5000)
        .collect();
        assert_eq!(codec(&round_trip(None, true, &noise)), RAW);
        assert_eq!(codec(&round_trip(None, true, &[9; 5000])), ZSTD);
        assert_eq!(codec(&round_trip(None, false, &[9; 5000])), RAW);
        assert_eq!(codec(&round_trip(Some(40), false, &noise)), RAW, "too many bits to pack");
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let keys: Vec<u8> = (0..40_u32).flat_map(u32::to_be_bytes).collect();
        let stored = round_trip(Some(4), false, &keys);
        let mut read = Keys::empty(4);
        for bit in 0..stored.len() * 8 {
            let mut damaged = stored.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(BlockReader::new().read_keys(&damaged, &mut read).is_err(), "bit {bit}");
        }
        assert!(BlockReader::new().read_keys(&stored[..10], &mut read).is_err());
    }
}
