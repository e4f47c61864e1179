//! Text compressed by whoever makes it: each piece by itself, in any thread.
//!
//! Members of gzip and frames of zstd may stand one behind the other in a file, and are read as one text. So
//! the one who writes the files has nothing to compress, but the pieces of a chunk where a file is cut.

use std::io::{self, Write};

use flate2::write::GzEncoder;
use zstd::bulk::Compressor;
use zstd::zstd_safe::{CParameter, compress_bound};

use crate::options::Compression;

/// Level of zstd and gzip: what their programs take by default, and less for gzip, which is slow.
const ZSTD_LEVEL: i32 = 3;
const GZIP_LEVEL: u32 = 4;

/// Compresses pieces of text.
pub(crate) struct Packer {
    how: How,
}

enum How {
    Plain,
    Gzip,
    Zstd(Compressor<'static>),
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.how {
            How::Plain => "Packer of nothing",
            How::Gzip => "Packer of gzip",
            How::Zstd(_) => "Packer of zstd",
        })
    }
}

impl Packer {
    /// Errors: memory that zstd does not get.
    pub(crate) fn new(compression: Compression) -> io::Result<Packer> {
        let how = match compression {
            Compression::None => How::Plain,
            Compression::Gzip => How::Gzip,
            Compression::Zstd => {
                let mut compressor = Compressor::new(ZSTD_LEVEL)?;
                compressor.set_parameter(CParameter::ChecksumFlag(true))?;
                How::Zstd(compressor)
            }
        };
        Ok(Packer { how })
    }

    /// The bytes that stand for `text` in a file: the text itself, or what is made of it in `packed`, which is
    /// cleared first. Nothing, compressed, is some bytes.
    pub(crate) fn pack<'t>(
        &mut self,
        text: &'t [u8],
        packed: &'t mut Vec<u8>,
    ) -> io::Result<&'t [u8]> {
        packed.clear();
        match &mut self.how {
            How::Plain => return Ok(text),
            How::Gzip => {
                let level = flate2::Compression::new(GZIP_LEVEL);
                let mut encoder = GzEncoder::new(std::mem::take(packed), level);
                encoder.write_all(text)?;
                *packed = encoder.finish()?;
            }
            How::Zstd(compressor) => {
                packed.reserve(compress_bound(text.len()));
                compressor.compress_to_buffer(text, packed)?;
            }
        }
        Ok(packed)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pieces_one_behind_the_other_are_one_text() {
        let pieces = [&b"one "[..], b"", b"two ", &[b'x'; 100_000]];
        for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
            let mut packer = Packer::new(compression).unwrap();
            let (mut file, mut packed) = (Vec::new(), Vec::new());
            for piece in pieces {
                file.extend_from_slice(packer.pack(piece, &mut packed).unwrap());
            }
            let text = match compression {
                Compression::None => file,
                Compression::Gzip => {
                    let mut text = Vec::new();
                    let mut decoder = flate2::read::MultiGzDecoder::new(&*file);
                    io::Read::read_to_end(&mut decoder, &mut text).unwrap();
                    text
                }
                Compression::Zstd => zstd::stream::decode_all(&*file).unwrap(),
            };
            assert_eq!(text, pieces.concat(), "{compression:?}");
        }
    }
}
