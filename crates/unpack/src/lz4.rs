//! LZ4 frames, block by block with `lz4_flex`.
//!
//! Its own frame reader takes an end of input between two blocks for the end of the frame, so
//! what holds the blocks together is read here. Source: `lz4_Frame_format.md` of the LZ4 project,
//! version 1.6.
//!
//! ```text
//! magic 4 | FLG 1 | BD 1 | content size 0 or 8 | dictionary 0 or 4 | header checksum 1
//! block:  size 4, top bit: stored as is | data | checksum 0 or 4
//! end:    size 0 | content checksum 0 or 4
//! ```

use std::hash::Hasher;

use lz4_flex::block::decompress_into_with_dict;
use twox_hash::XxHash32;

use super::{Codec, Feed, Packed, Problem, Step};

/// How far a block that is linked to those before it reaches back.
const WINDOW_BYTES: usize = 64 << 10;
/// Top bit of a block's size: stored as it is.
const STORED: u32 = 1 << 31;
/// Block sizes by their code in BD.
const BLOCK_BYTES: [usize; 8] = [0, 0, 0, 0, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
/// Magic, FLG, BD, header checksum.
const MAGIC_BYTES: usize = 4;

pub(super) struct Lz4 {
    frame: Frame,
    packed: Vec<u8>,
    /// Up to [`WINDOW_BYTES`] before the block, at the end of that space, then the block.
    text: Vec<u8>,
    window: usize,
    /// Bytes of the block that were given out, and its size.
    given: usize,
    filled: usize,
    hasher: XxHash32,
}

/// A frame's header.
#[derive(Default)]
struct Frame {
    linked: bool,
    block_checksums: bool,
    content_checksum: bool,
    content_bytes: Option<u64>,
    block_bytes_max: usize,
    /// Bytes of text so far.
    made: u64,
}

impl Lz4 {
    pub(super) fn new() -> Lz4 {
        Lz4 {
            frame: Frame::default(),
            packed: Vec::new(),
            text: vec![0; WINDOW_BYTES],
            window: 0,
            given: 0,
            filled: 0,
            hasher: XxHash32::with_seed(0),
        }
    }

    fn read_header<R: Packed>(&mut self, feed: &mut Feed<R>) -> Result<(), Problem<R::Error>> {
        let mut header = Vec::new();
        take(feed, MAGIC_BYTES, &mut Vec::new())?;
        take(feed, 2, &mut header)?;
        let (flags, block) = (header[0], header[1]);
        if flags >> 6 != 1 || flags & 2 != 0 || block & 0x8f != 0 {
            return Err(unsupported("of an unknown version; unpack the file first"));
        }
        if flags & 1 != 0 {
            return Err(unsupported(
                "compressed with a dictionary, which is not supported; unpack the file first",
            ));
        }
        if flags & 8 != 0 {
            take(feed, 8, &mut header)?;
        }
        let mut checksum = Vec::new();
        take(feed, 1, &mut checksum)?;
        if (hash(&header) >> 8) as u8 != checksum[0] {
            return Err(corrupt("different from its header's checksum"));
        }
        let content = header.get(2..10).and_then(|bytes| bytes.try_into().ok());
        let block_bytes_max = BLOCK_BYTES[usize::from(block >> 4)];
        if block_bytes_max == 0 {
            return Err(corrupt("of an unknown block size"));
        }
        self.frame = Frame {
            linked: flags & 32 == 0,
            block_checksums: flags & 16 != 0,
            content_checksum: flags & 4 != 0,
            content_bytes: content.map(u64::from_le_bytes),
            block_bytes_max,
            made: 0,
        };
        self.text.resize(WINDOW_BYTES + block_bytes_max, 0);
        Ok(())
    }

    /// Reads and undoes one block; false at the end of the frame.
    fn read_block<R: Packed>(&mut self, feed: &mut Feed<R>) -> Result<bool, Problem<R::Error>> {
        let size = take_u32(feed)?;
        if size == 0 {
            return self.end(feed).map(|()| false);
        }
        let bytes = (size & !STORED) as usize;
        if bytes > self.frame.block_bytes_max {
            return Err(corrupt("a block is larger than its header allows"));
        }
        self.packed.clear();
        take(feed, bytes, &mut self.packed)?;
        if self.frame.block_checksums && take_u32(feed)? != hash(&self.packed) {
            return Err(corrupt("different from a block's checksum"));
        }
        self.slide();
        let (window, block) = self.text.split_at_mut(WINDOW_BYTES);
        self.filled = if size & STORED != 0 {
            block[..bytes].copy_from_slice(&self.packed);
            bytes
        } else {
            let window = &window[WINDOW_BYTES - self.window..];
            let block = &mut block[..self.frame.block_bytes_max];
            decompress_into_with_dict(&self.packed, block, window)
                .map_err(|error| Problem::Corrupt(format!("an invalid block ({error})")))?
        };
        self.given = 0;
        self.frame.made += self.filled as u64;
        if self.frame.content_checksum {
            self.hasher.write(&self.text[WINDOW_BYTES..WINDOW_BYTES + self.filled]);
        }
        Ok(true)
    }

    /// Moves the block before into the window, if the next one may refer to it.
    fn slide(&mut self) {
        if !self.frame.linked {
            self.window = 0;
            return;
        }
        let end = WINDOW_BYTES + self.filled;
        self.text.copy_within(end - WINDOW_BYTES..end, 0);
        self.window = (self.window + self.filled).min(WINDOW_BYTES);
        self.filled = 0;
    }

    fn end<R: Packed>(&mut self, feed: &mut Feed<R>) -> Result<(), Problem<R::Error>> {
        if self.frame.content_checksum && take_u32(feed)? != self.hasher.finish() as u32 {
            return Err(corrupt("different from its checksum"));
        }
        match self.frame.content_bytes {
            Some(bytes) if bytes != self.frame.made => {
                Err(corrupt("different from the size in its header"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: Packed> Codec<R> for Lz4 {
    fn begin(&mut self) -> Result<(), Problem<R::Error>> {
        self.frame.block_bytes_max = 0;
        self.hasher = XxHash32::with_seed(0);
        (self.window, self.given, self.filled) = (0, 0, 0);
        Ok(())
    }

    fn step(&mut self, feed: &mut Feed<R>, out: &mut [u8]) -> Result<Step, Problem<R::Error>> {
        if self.frame.block_bytes_max == 0 {
            self.read_header(feed)?;
        }
        // A block may be empty.
        while self.given == self.filled {
            if !self.read_block(feed)? {
                return Ok(Step { made: 0, ended: true });
            }
        }
        let made = (self.filled - self.given).min(out.len());
        let start = WINDOW_BYTES + self.given;
        out[..made].copy_from_slice(&self.text[start..start + made]);
        self.given += made;
        Ok(Step { made, ended: false })
    }
}

fn corrupt<E>(what: &str) -> Problem<E> {
    Problem::Corrupt(what.to_owned())
}

fn unsupported<E>(what: &str) -> Problem<E> {
    Problem::Unsupported(what.to_owned())
}

fn hash(bytes: &[u8]) -> u32 {
    XxHash32::oneshot(0, bytes)
}

/// Appends exactly `size` bytes to `bytes`.
fn take<R: Packed>(
    feed: &mut Feed<R>,
    size: usize,
    bytes: &mut Vec<u8>,
) -> Result<(), Problem<R::Error>> {
    let mut left = size;
    while left > 0 {
        feed.fill()?;
        if feed.is_at_end() {
            return Err(Problem::CutShort);
        }
        let part = left.min(feed.bytes().len());
        bytes.extend_from_slice(&feed.bytes()[..part]);
        feed.consume(part);
        left -= part;
    }
    Ok(())
}

fn take_u32<R: Packed>(feed: &mut Feed<R>) -> Result<u32, Problem<R::Error>> {
    let mut bytes = Vec::with_capacity(4);
    take(feed, 4, &mut bytes)?;
    Ok(bytes.try_into().map_or(0, u32::from_le_bytes))
}
