//! Archives of every format that is read: with all that its headers can say, in several members, cut
//! short and damaged.

use std::io::Write;

use flate2::{Compression, GzBuilder};
use liblzma::stream::{Check, Filters, LzmaOptions, Stream};
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

use crate::{Inputs, input};

/// The target's reading of an input: the dialect mysql, chunks of 16 bytes and more.
const HEAD: [u8; 4] = [0, 0, 3, 0];
/// The same with a header line, and one that is skipped.
const HEADER: [u8; 4] = [1, 0, 1, 5];

fn text() -> Vec<u8> {
    let line = |n: u32| format!("{n}\tname {}\t{}\n", n * 7919 % 50, "x".repeat(n as usize % 30));
    (0..40).map(line).collect::<String>().into_bytes()
}

pub(crate) fn inputs() -> Inputs {
    let all = [gzips(), zstds(), xzs(), lz4s(), bzip2s(), plain()];
    all.into_iter().flatten().collect()
}

/// An archive as it is, twice, with zeros and with something else behind it, cut short, and with one
/// byte in its middle and one at its end changed.
fn ends(format: &str, whole: &[u8]) -> Inputs {
    let name = |end: &str| format!("{format}_{end}");
    let changed = |at: usize| {
        let mut bytes = whole.to_vec();
        bytes[at] ^= 0x55;
        bytes
    };
    vec![
        input(&name("whole"), &HEAD, whole),
        input(&name("two_members_and_zeros"), &HEADER, &[whole, whole, &[0; 5]].concat()),
        input(&name("then_text"), &HEAD, &[whole, b"7\tx\n"].concat()),
        input(&name("cut_short"), &HEAD, &whole[..whole.len() - 5]),
        input(&name("damaged"), &HEAD, &changed(whole.len() / 2)),
        input(&name("wrong_sum"), &HEAD, &changed(whole.len() - 5)),
    ]
}

fn gzip(builder: GzBuilder, level: u32, text: &[u8]) -> Vec<u8> {
    let mut out = builder.write(Vec::new(), Compression::new(level));
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

fn gzips() -> Inputs {
    let named = GzBuilder::new().filename("a.csv").comment("c\u{e9}").extra(vec![1, 2, 3]).mtime(9);
    let mut inputs = ends("gzip", &gzip(GzBuilder::new(), 6, &text()));
    inputs.extend([
        input("gzip_named", &HEADER, &gzip(named, 9, &text())),
        input("gzip_stored", &HEAD, &gzip(GzBuilder::new(), 0, &text())),
        input("gzip_empty", &HEAD, &gzip(GzBuilder::new(), 6, b"")),
        input("gzip_of_zeros", &HEAD, &gzip(GzBuilder::new(), 9, &[0; 300_000])),
    ]);
    inputs
}

fn zstd(level: i32, text: &[u8], set: impl Fn(&mut zstd::Encoder<'_, Vec<u8>>)) -> Vec<u8> {
    let mut out = zstd::Encoder::new(Vec::new(), level).unwrap();
    set(&mut out);
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

fn zstds() -> Inputs {
    let summed = zstd(3, &text(), |out| out.include_checksum(true).unwrap());
    let sized = zstd(19, &text(), |out| {
        out.set_pledged_src_size(Some(text().len() as u64)).unwrap();
        out.include_contentsize(true).unwrap();
    });
    let wide = zstd(1, &text(), |out| out.window_log(27).unwrap());
    // A frame whose content is to be passed over.
    let skipped = [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3], &summed[..]].concat();
    // One that has to be read with a dictionary.
    let dictionary = [&[0x28, 0xb5, 0x2f, 0xfd, 0x21, 7, 4][..], &summed[6..]].concat();
    let mut inputs = ends("zstd", &summed);
    inputs.extend([
        input("zstd_sized", &HEADER, &sized),
        input("zstd_wide_window", &HEAD, &wide),
        input("zstd_skipped_frame", &HEAD, &skipped),
        input("zstd_dictionary", &HEAD, &dictionary),
        input("zstd_of_zeros", &HEAD, &zstd(3, &[0; 300_000], |_| ())),
    ]);
    inputs
}

fn xz(stream: Stream, text: &[u8]) -> Vec<u8> {
    let mut out = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

fn xzs() -> Inputs {
    let checked = |check| xz(Stream::new_easy_encoder(1, check).unwrap(), &text());
    let options = LzmaOptions::new_preset(1).unwrap();
    let mut filters = Filters::new();
    filters.x86().lzma2(&options);
    let filtered = Stream::new_stream_encoder(&filters, Check::Crc32).unwrap();
    let alone = Stream::new_lzma_encoder(&options).unwrap();
    let mut inputs = ends("xz", &checked(Check::Crc64));
    inputs.extend([
        input("xz_crc32", &HEADER, &checked(Check::Crc32)),
        input("xz_sha256", &HEAD, &checked(Check::Sha256)),
        input("xz_filtered", &HEAD, &xz(filtered, &text())),
        input("xz_lzma_alone", &HEAD, &xz(alone, &text())),
    ]);
    inputs
}

fn lz4(info: FrameInfo, text: &[u8]) -> Vec<u8> {
    let mut out = FrameEncoder::with_frame_info(info, Vec::new());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

fn lz4s() -> Inputs {
    let info = FrameInfo::new().block_size(BlockSize::Max64KB);
    let summed = info.clone().content_checksum(true).block_checksums(true);
    let sized = info.clone().content_size(Some(text().len() as u64));
    let linked = info.clone().block_mode(BlockMode::Linked);
    // More than two blocks, and the window behind one.
    let long = text().repeat(240);
    let random: Vec<u8> =
        (0..3000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut inputs = ends("lz4", &lz4(summed, &text()));
    inputs.extend([
        input("lz4_sized", &HEADER, &lz4(sized, &text())),
        input("lz4_linked", &HEAD, &lz4(linked, &long)),
        input("lz4_stored", &HEAD, &lz4(info, &random)),
    ]);
    inputs
}

fn bzip2s() -> Inputs {
    let packed = |level, text: &[u8]| {
        let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::new(level));
        out.write_all(text).unwrap();
        out.finish().unwrap()
    };
    let mut inputs = ends("bzip2", &packed(9, &text()));
    inputs.push(input("bzip2_of_zeros", &HEAD, &packed(1, &[0; 300_000])));
    inputs
}

/// Inputs that are no archive.
fn plain() -> Inputs {
    let words = "1\t\u{e9}t\u{e9}\t\u{1f600}\n2\t\\N\t\u{65e5}\n";
    let little: Vec<u8> = words.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = words.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let wide: Vec<u8> = words.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    vec![
        input("utf16_little", &HEAD, &[b"\xff\xfe", &little[..]].concat()),
        input("utf16_big_cut_in_a_pair", &HEAD, &[b"\xfe\xff", &big[..15]].concat()),
        input("utf32_little", &HEAD, &[b"\xff\xfe\0\0", &wide[..]].concat()),
    ]
}
