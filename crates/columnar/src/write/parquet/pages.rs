//! Pages of a column chunk: each a head in Thrift and a body, compressed or not.
//!
//! Source: apache/parquet-format, parquet.thrift, PageHeader.

use std::io::{self, Write};

use flate2::write::GzEncoder;
use parquet::basic::{Compression, Encoding, GzipLevel, PageType, ZstdLevel};
use zstd::bulk::Compressor;
use zstd::zstd_safe::compress_bound;

use super::bits::push_zigzag;
use crate::guard::{Problem, problem};
use crate::written::Packing;

/// Level of zstd: higher ones take twice the time for files that are a few percent smaller.
pub(super) const ZSTD_LEVEL: i32 = 1;
pub(super) const GZIP_LEVEL: u32 = 4;

/// Kinds of fields of Thrift: a number of 32 bits, a struct, the end of one.
const NUMBER: u8 = 5;
const STRUCT: u8 = 12;
const STOP: u8 = 0;

/// Compresses bodies of pages.
pub(in crate::write) struct Packer {
    how: How,
    packed: Vec<u8>,
    /// Memory for a body before it is compressed.
    pub(super) body: Vec<u8>,
}

enum How {
    Nothing,
    Gzip,
    Zstd(Compressor<'static>),
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Packer of pages")
    }
}

impl Packer {
    pub(in crate::write) fn new(packing: Packing) -> Result<Packer, Problem> {
        let how = match packing {
            Packing::None => How::Nothing,
            Packing::Gzip => How::Gzip,
            Packing::Zstd => How::Zstd(Compressor::new(ZSTD_LEVEL).map_err(problem)?),
        };
        Ok(Packer { how, packed: Vec::new(), body: Vec::new() })
    }

    /// The compressed body.
    pub(super) fn pack(&mut self, body: &[u8]) -> io::Result<&[u8]> {
        let packed = &mut self.packed;
        packed.clear();
        match &mut self.how {
            How::Nothing => packed.extend_from_slice(body),
            How::Gzip => {
                let level = flate2::Compression::new(GZIP_LEVEL);
                let mut encoder = GzEncoder::new(std::mem::take(packed), level);
                encoder.write_all(body)?;
                *packed = encoder.finish()?;
            }
            How::Zstd(compressor) => {
                packed.reserve(compress_bound(body.len()));
                compressor.compress_to_buffer(body, packed)?;
            }
        }
        Ok(packed)
    }

    /// The name of the compression in files.
    pub(super) fn codec(&self) -> Result<Compression, Problem> {
        Ok(match self.how {
            How::Nothing => Compression::UNCOMPRESSED,
            How::Gzip => Compression::GZIP(GzipLevel::try_new(GZIP_LEVEL).map_err(problem)?),
            How::Zstd(_) => Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL).map_err(problem)?),
        })
    }
}

/// The description of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageHead {
    pub(super) page_type: PageType,
    pub(super) values: usize,
    pub(super) encoding: Encoding,
    /// Bytes of the body before and after its compression.
    pub(super) plain_bytes: usize,
    pub(super) packed_bytes: usize,
}

impl PageHead {
    /// Appends the head.
    ///
    /// Errors: a body that is longer than 2 GiB.
    pub(super) fn push(&self, out: &mut Vec<u8>) -> Result<(), Problem> {
        let PageHead { page_type, values, encoding, plain_bytes, packed_bytes } = *self;
        let number = |number: usize| i32::try_from(number).map_err(problem);
        let is_dictionary = page_type == PageType::DICTIONARY_PAGE;
        push_number(1, page_type as i32, out);
        push_number(1, number(plain_bytes)?, out);
        push_number(1, number(packed_bytes)?, out);
        // Field 5 describes a data page, field 7 a dictionary; the last one was field 3.
        let fields = if is_dictionary { 4 } else { 2 };
        out.push(fields << 4 | STRUCT);
        push_number(1, number(values)?, out);
        push_number(1, encoding as i32, out);
        if !is_dictionary {
            push_number(1, Encoding::RLE as i32, out);
            push_number(1, Encoding::RLE as i32, out);
        }
        out.extend_from_slice(&[STOP, STOP]);
        Ok(())
    }
}

/// Appends a number, whose field is so many after the one before.
fn push_number(fields: u8, number: i32, out: &mut Vec<u8>) {
    out.push(fields << 4 | NUMBER);
    push_zigzag(number.into(), out);
}
