//! Compressed input of every kind: the same text, or an error with a place.

use std::io::Write;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use sources::{
    Chunk, Compression, Dialect, Encoding, Error, FileSource, Source, SourceExt as _, SourceOptions,
};

use crate::support::write;

const KINDS: [Compression; 5] =
    [Compression::Gzip, Compression::Zstd, Compression::Lz4, Compression::Bzip2, Compression::Xz];

/// One member of this kind that holds `text`.
fn pack(kind: Compression, text: &[u8]) -> Vec<u8> {
    match kind {
        Compression::Gzip => {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(text).unwrap();
            packer.finish().unwrap()
        }
        Compression::Zstd => {
            let mut packer = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
            packer.include_checksum(true).unwrap();
            packer.write_all(text).unwrap();
            packer.finish().unwrap()
        }
        Compression::Lz4 => pack_lz4(text, true),
        Compression::Bzip2 => {
            let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            packer.write_all(text).unwrap();
            packer.finish().unwrap()
        }
        Compression::Xz => {
            let mut packer = liblzma::write::XzEncoder::new(Vec::new(), 0);
            packer.write_all(text).unwrap();
            packer.finish().unwrap()
        }
        _ => unreachable!(),
    }
}

fn pack_lz4(text: &[u8], linked: bool) -> Vec<u8> {
    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    let mode = if linked { BlockMode::Linked } else { BlockMode::Independent };
    let info = FrameInfo::new()
        .block_mode(mode)
        .block_size(BlockSize::Max64KB)
        .block_checksums(linked)
        .content_checksum(true)
        .content_size((!linked).then_some(text.len() as u64));
    let mut packer = FrameEncoder::with_frame_info(info, Vec::new());
    packer.write_all(text).unwrap();
    packer.finish().unwrap()
}

fn options(chunk_bytes: usize) -> SourceOptions {
    SourceOptions { chunk_bytes, ahead_bytes: 1, ..SourceOptions::default() }
}

/// All text of some files, which must be read to their last byte.
fn read(paths: &[PathBuf], options: SourceOptions) -> Result<Vec<u8>, Error> {
    let mut source = FileSource::new(paths, &Dialect::mysql(), options)?;
    let text = drain(&mut source)?;
    assert_eq!(Some(source.bytes_read()), source.facts().bytes_total);
    Ok(text)
}

fn drain(source: &mut FileSource) -> Result<Vec<u8>, Error> {
    let mut chunk = Chunk::default();
    let (mut text, mut file, mut offset, mut line) = (Vec::new(), 0, 0, 1);
    while source.next_chunk(&mut chunk)? {
        if chunk.file != file {
            (file, offset, line) = (chunk.file, 0, 1);
        }
        assert_eq!((chunk.offset, chunk.first_line), (offset, line));
        offset += chunk.bytes.len() as u64;
        line += chunk.bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        text.extend_from_slice(&chunk.bytes);
    }
    Ok(text)
}

fn read_bytes(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let folder = tempfile::tempdir().unwrap();
    read(&[write(&folder, "a", bytes)], options(1000))
}

/// Lines that compress about as other text does.
fn lines(count: u32) -> Vec<u8> {
    let line = |n: u32| format!("{n}\tname {}\t{:x}\n", n % 97, n.wrapping_mul(2_654_435_761));
    (0..count).map(line).collect::<String>().into_bytes()
}

#[test]
fn every_kind_gives_the_text_that_went_in() {
    let folder = tempfile::tempdir().unwrap();
    for kind in KINDS {
        for text in [lines(40_000), lines(1), Vec::new()] {
            let packed = pack(kind, &text);
            assert_eq!(Compression::of(&packed), Some(kind));
            let path = write(&folder, "a.csv", &packed);
            for chunk_bytes in [500, 1 << 20] {
                let mut source = FileSource::new(
                    std::slice::from_ref(&path),
                    &Dialect::mysql(),
                    options(chunk_bytes),
                )
                .unwrap();
                for _ in 0..2 {
                    assert!(drain(&mut source).unwrap() == text, "{kind}");
                    assert_eq!(source.bytes_read(), packed.len() as u64, "{kind}");
                    source.restart().unwrap();
                }
            }
        }
    }
    let text = lines(40_000);
    assert!(read_bytes(&pack_lz4(&text, false)).unwrap() == text);
}

#[test]
fn members_files_and_padding_are_one_text() {
    let (one, two) = (lines(9000), lines(3));
    let both = [&one[..], &two].concat();
    for kind in KINDS {
        let (first, second) = (pack(kind, &one), pack(kind, &two));
        let empty = pack(kind, b"");
        let zeros = vec![0; 300_000];
        for bytes in [
            [&first[..], &second].concat(),
            [&empty[..], &first, &empty, &second, &empty].concat(),
            [&first[..], &second, &zeros].concat(),
            [&first[..], &[0; 5], &second].concat(),
        ] {
            assert!(read_bytes(&bytes).unwrap() == both, "{kind}");
        }
    }
    // Many small members, as bgzip makes them, across the ends of pieces.
    let members: Vec<u8> =
        both.chunks(777).flat_map(|part| pack(Compression::Gzip, part)).collect();
    assert!(read_bytes(&members).unwrap() == both);
    // A skippable frame of zstd.
    let skipped = [b"\x53\x2a\x4d\x18\x03\0\0\0abc", &pack(Compression::Zstd, &two)[..]].concat();
    assert!(read_bytes(&skipped).unwrap() == two);
    // Files of all kinds, one after the other.
    let folder = tempfile::tempdir().unwrap();
    let mut paths: Vec<PathBuf> =
        KINDS.iter().map(|&kind| write(&folder, &kind.to_string(), &pack(kind, &one))).collect();
    paths.insert(2, write(&folder, "plain", &two));
    paths.insert(0, write(&folder, "empty", b""));
    let expected = [&one[..], &one, &two, &one, &one, &one].concat();
    assert!(read(&paths, options(1 << 16)).unwrap() == expected);
}

/// The place and the reason are in the message; nothing is taken for the end.
#[test]
fn an_archive_cut_short_anywhere_is_an_error() {
    for kind in KINDS {
        let packed = [pack(kind, &lines(30)), pack(kind, &lines(20))].concat();
        let first = pack(kind, &lines(30)).len();
        for size in 10..packed.len() {
            let outcome = read_bytes(&packed[..size]);
            if size == first {
                assert!(outcome.unwrap() == lines(30));
                continue;
            }
            let error = outcome.expect_err(&format!("{kind} cut to {size} bytes"));
            let Error::Archive { offset, compression, ref problem, .. } = error else {
                panic!("{error}");
            };
            assert_eq!(compression, kind.name());
            assert!(offset <= size as u64);
            assert!(problem.starts_with("cut short") || size < first + 10, "{size}: {error}");
        }
    }
}

#[test]
fn what_follows_an_archive_and_is_none_is_an_error() {
    for kind in KINDS {
        let packed = pack(kind, &lines(30));
        let error = read_bytes(&[&packed[..], b"1\tmore\tlines\n"].concat()).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Archive { offset, .. } if offset == packed.len() as u64));
        assert!(text.contains(&format!("byte {}: the {kind} data is damaged", packed.len())));
        assert!(
            text.contains("followed by other bytes (an unfinished copy, or appended data?"),
            "{text}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Some bytes of a header mean nothing to us; no other text may come out.
    #[test]
    fn a_wrong_bit_is_never_another_text(
        kind in 0..KINDS.len(), at in any::<prop::sample::Index>(), bit in 0..8u32,
    ) {
        let text = lines(200);
        let mut packed = pack(KINDS[kind], &text);
        let at = at.index(packed.len() - 10) + 10;
        packed[at] ^= 1u8 << bit;
        match read_bytes(&packed) {
            Ok(seen) => prop_assert_eq!(seen, text),
            Err(error) => prop_assert!(matches!(error, Error::Archive { .. }), "{}", error),
        }
    }

    #[test]
    fn bytes_that_only_begin_as_an_archive_are_an_error(
        kind in 0..KINDS.len(), rest in prop::collection::vec(any::<u8>(), 1..300),
    ) {
        let start = pack(KINDS[kind], &lines(9));
        let bytes = [&start[..20], &rest].concat();
        if let Ok(text) = read_bytes(&bytes) {
            prop_assert_eq!(text, lines(9));
        }
    }
}

#[test]
fn windows_beyond_the_memory_are_refused_with_a_hint() {
    let mut packer = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    packer.long_distance_matching(true).unwrap();
    packer.window_log(25).unwrap();
    packer.write_all(&lines(2_000_000)).unwrap();
    let long = packer.finish().unwrap();
    let xz = pack_xz(9, &lines(10));
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [("zstd", long), ("xz", xz)] {
        let path = [write(&folder, name, &bytes)];
        assert!(read(&path, options(1 << 20)).is_ok(), "{name}");
        let limited = SourceOptions { unpack_bytes_max: 9 << 20, ..options(1 << 20) };
        let error = read(&path, limited).unwrap_err().to_string();
        assert!(error.contains("use more --memory"), "{error}");
    }
}

fn pack_xz(preset: u32, text: &[u8]) -> Vec<u8> {
    let mut packer = liblzma::write::XzEncoder::new(Vec::new(), preset);
    packer.write_all(text).unwrap();
    packer.finish().unwrap()
}

#[test]
fn archives_of_files_are_named() {
    let mut tar = vec![0; 600];
    tar[257..263].copy_from_slice(b"ustar\0");
    let packed_tar = pack(Compression::Gzip, &tar);
    for (bytes, what) in [
        (&b"PK\x03\x04rest"[..], "a zip archive; unpack it first"),
        (&tar, "a tar archive"),
        (&packed_tar, "a tar archive"),
    ] {
        let error = read_bytes(bytes).unwrap_err();
        assert!(matches!(error, Error::NotText { .. }));
        assert!(error.to_string().contains(what), "{error}");
    }
}

/// UTF-16 in an archive: rows are UTF-8, places those of the unpacked file.
#[test]
fn places_in_utf_16_are_those_of_the_file() {
    let text = "id\tname\n1\tb\u{e9}\u{20ac}\n2\t\u{1f600}\n3\tc\n";
    let words =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let marked = [b"\xff\xfe", &words(text)[..]].concat();
    let folder = tempfile::tempdir().unwrap();
    for bytes in [marked.clone(), pack(Compression::Xz, &marked)] {
        let path = write(&folder, "a", &bytes);
        for chunk_bytes in [1, 20, 1000] {
            let options = SourceOptions { header: true, ..options(chunk_bytes) };
            let mut source =
                FileSource::new(std::slice::from_ref(&path), &Dialect::mysql(), options).unwrap();
            assert_eq!(source.header().unwrap().unwrap(), ["id", "name"]);
            let mut chunk = Chunk::default();
            let mut seen = String::from("id\tname\n");
            while source.next_chunk(&mut chunk).unwrap() {
                for (at, _) in String::from_utf8(chunk.bytes.clone()).unwrap().char_indices() {
                    let before = seen.clone() + std::str::from_utf8(&chunk.bytes[..at]).unwrap();
                    assert_eq!(chunk.offset_at(at), 2 + words(&before).len() as u64);
                }
                seen.push_str(std::str::from_utf8(&chunk.bytes).unwrap());
            }
            assert_eq!(seen, text);
            assert_eq!(source.bytes_read(), bytes.len() as u64);
        }
    }
    // Without a mark the caller says what it is.
    let path = write(&folder, "le", &words(text));
    let told = SourceOptions { encoding: Encoding::Utf16Le, ..options(1000) };
    assert_eq!(read(&[path], told).unwrap(), text.as_bytes());
}

#[test]
fn what_unpacking_takes_is_known_before() {
    let folder = tempfile::tempdir().unwrap();
    let plain = write(&folder, "plain", b"1\n");
    let need = |paths: &[&Path]| {
        let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
        FileSource::unpack_bytes(&paths, Encoding::ByMark).unwrap()
    };
    assert_eq!(need(&[&plain]), None);
    let marked = write(&folder, "marked", b"\xfe\xff\x001");
    assert_eq!(need(&[&plain, &marked]), Some(0));
    let packed = write(&folder, "packed", &pack(Compression::Bzip2, b"1\n"));
    assert!(need(&[&plain, &packed, &marked]).unwrap() >= 4 << 20);
    assert_eq!(FileSource::compression(&packed).unwrap(), Some(Compression::Bzip2));
}
