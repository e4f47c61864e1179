//! Compressed input to text, member after member, to the last byte.
//!
//! An input is one or more members (gzip's word; frames of zstd and lz4, streams of bzip2 and xz),
//! each with its own end and checksum. A member that is cut short, or bytes behind the last one
//! that are no member, are errors: what they would have been is unknown. Zero bytes between and
//! behind members are padding.

#![forbid(unsafe_code)]

#[cfg(feature = "bzip2")]
mod bzip2;
#[cfg(feature = "gzip")]
mod gzip;
#[cfg(feature = "lz4")]
mod lz4;
#[cfg(feature = "xz")]
mod xz;
#[cfg(feature = "zstd")]
mod zstd;

mod compression;

pub use self::compression::{Compression, HEAD_BYTES, not_text};

/// Compressed bytes per read call.
const FEED_BYTES: usize = 128 << 10;
/// Longest first bytes of a member.
const MAGIC_BYTES: usize = 10;

/// Compressed bytes from somewhere.
pub trait Packed {
    /// Why they cannot be read.
    type Error;

    /// The next bytes; 0 at the end.
    ///
    /// Errors: reading.
    fn read(&mut self, out: &mut [u8]) -> Result<usize, Self::Error>;
}

/// The result of one step of a codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    /// Bytes of text written.
    made: usize,
    /// The member ended with what was consumed.
    ended: bool,
}

/// Takes one member apart after the other.
trait Codec<R: Packed>: Send {
    /// A member begins.
    fn begin(&mut self) -> Result<(), Problem<R::Error>>;

    /// Consumes bytes of `feed` and writes text to `out`. Neither is a sign of an input cut short,
    /// if the feed is at its end.
    fn step(&mut self, feed: &mut Feed<R>, out: &mut [u8]) -> Result<Step, Problem<R::Error>>;
}

/// Why an input cannot be taken apart further.
#[derive(Debug)]
pub enum Problem<E> {
    /// The bytes are wrong; in the words of the codec.
    Corrupt(String),
    /// The input ends in a member.
    CutShort,
    /// Sound data that this build, or the memory, cannot unpack; in the words of the codec.
    Unsupported(String),
    /// Reading failed.
    Read(E),
}

impl<E> From<E> for Problem<E> {
    fn from(error: E) -> Problem<E> {
        Problem::Read(error)
    }
}

/// A compressed input being taken apart.
pub struct Decompressor<R: Packed> {
    compression: Compression,
    codec: Box<dyn Codec<R>>,
    feed: Feed<R>,
    in_member: bool,
}

impl<R: Packed> Decompressor<R> {
    /// Begins at the first byte of `packed`, which is of this kind.
    ///
    /// Errors: this program was built without it. The input is given back.
    pub fn new(
        packed: R,
        compression: Compression,
        memory_bytes_max: usize,
    ) -> Result<Decompressor<R>, (R, Problem<R::Error>)> {
        match codec(compression, memory_bytes_max) {
            Ok(codec) => {
                Ok(Decompressor { compression, codec, feed: Feed::new(packed), in_member: false })
            }
            Err(problem) => Err((packed, problem)),
        }
    }

    /// How it is compressed.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// The compressed bytes.
    pub fn packed(&self) -> &R {
        &self.feed.packed
    }

    /// The next bytes of text; 0 at the end of the input.
    ///
    /// Errors: reading; a damaged input.
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize, Problem<R::Error>> {
        loop {
            if !self.in_member {
                if !self.find_member()? {
                    return Ok(0);
                }
                self.codec.begin()?;
                self.in_member = true;
            }
            self.feed.fill()?;
            let consumed = self.feed.consumed;
            let step = self.codec.step(&mut self.feed, out)?;
            self.in_member = !step.ended;
            if step.made > 0 {
                return Ok(step.made);
            }
            if !step.ended && self.feed.consumed == consumed {
                return Err(match self.feed.is_at_end() {
                    true => Problem::CutShort,
                    false => Problem::Corrupt("is invalid".to_owned()),
                });
            }
        }
    }

    /// Compressed bytes used so far.
    pub fn consumed(&self) -> u64 {
        self.feed.consumed
    }

    /// Goes to the first byte of the next member; false at the end of the input.
    fn find_member(&mut self) -> Result<bool, Problem<R::Error>> {
        loop {
            self.feed.fill_to(MAGIC_BYTES)?;
            let bytes = self.feed.bytes();
            if bytes.is_empty() {
                return Ok(false);
            }
            if self.compression.begins(bytes) {
                return Ok(true);
            }
            let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
            if zeros == 0 {
                return Err(match self.feed.is_cut_magic(self.compression) {
                    true => Problem::CutShort,
                    false => Problem::Corrupt(
                        "followed by other bytes (an unfinished copy, or appended data?)"
                            .to_owned(),
                    ),
                });
            }
            self.feed.consume(zeros);
        }
    }
}

fn codec<R: Packed>(
    compression: Compression,
    memory_bytes_max: usize,
) -> Result<Box<dyn Codec<R>>, Problem<R::Error>> {
    let _ = memory_bytes_max;
    #[allow(unreachable_patterns, reason = "each kind is a feature")]
    match compression {
        #[cfg(feature = "gzip")]
        Compression::Gzip => Ok(Box::new(gzip::Gzip::new())),
        #[cfg(feature = "zstd")]
        Compression::Zstd => Ok(Box::new(zstd::Zstd::new(memory_bytes_max)?)),
        #[cfg(feature = "lz4")]
        Compression::Lz4 => Ok(Box::new(lz4::Lz4::new())),
        #[cfg(feature = "bzip2")]
        Compression::Bzip2 => Ok(Box::new(bzip2::Bzip2::new())),
        #[cfg(feature = "xz")]
        Compression::Xz => Ok(Box::new(xz::Xz::new(memory_bytes_max)?)),
        _ => Err(Problem::Unsupported(
            "of a kind that this build does not support; unpack the file first".to_owned(),
        )),
    }
}

/// Compressed bytes on their way from an input to a codec.
struct Feed<R> {
    packed: R,
    buffer: Vec<u8>,
    /// Begin of the bytes of the buffer that are not consumed yet.
    start: usize,
    end: usize,
    /// Nothing more comes.
    ended: bool,
    consumed: u64,
}

impl<R: Packed> Feed<R> {
    fn new(packed: R) -> Feed<R> {
        Feed { packed, buffer: vec![0; FEED_BYTES], start: 0, end: 0, ended: false, consumed: 0 }
    }

    /// The bytes that are not consumed.
    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// True if everything is consumed and nothing more comes.
    fn is_at_end(&self) -> bool {
        self.ended && self.start == self.end
    }

    fn consume(&mut self, size: usize) {
        self.start += size;
        self.consumed += size as u64;
    }

    /// Reads more if nothing is there.
    fn fill(&mut self) -> Result<(), R::Error> {
        self.fill_to(1)
    }

    /// Reads until `size` bytes are there, or all that come.
    fn fill_to(&mut self, size: usize) -> Result<(), R::Error> {
        while self.end - self.start < size && !self.ended {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            let read = self.packed.read(&mut self.buffer[self.end..])?;
            self.end += read;
            self.ended = read == 0;
        }
        Ok(())
    }

    /// True if the remaining bytes, to the end, may be the beginning of a member's first bytes.
    fn is_cut_magic(&self, compression: Compression) -> bool {
        let bytes = self.bytes();
        let whole: &[u8] = match compression {
            Compression::Gzip => b"\x1f\x8b\x08",
            Compression::Zstd => b"\x28\xb5\x2f\xfd",
            Compression::Lz4 => b"\x04\x22\x4d\x18",
            Compression::Bzip2 => b"BZh",
            Compression::Xz => b"\xfd7zXZ\0",
        };
        bytes.len() < MAGIC_BYTES && (whole.starts_with(bytes) || bytes.starts_with(whole))
    }
}
