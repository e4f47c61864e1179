//! Parts of the input, to guess from what it is.
//!
//! Small input is taken whole. The start, the middle and the end of a large plain file are taken; of
//! compressed files and pipes only the start, because the rest costs reading all of it.

use std::path::{Path, PathBuf};

use unpack::Compression;

use crate::bytes::encoding::{Encoding, Unit};
use crate::bytes::input::{self, Input, KeptPipes};
use crate::bytes::text::{self, Text, TextOptions};
use crate::error::Result;

/// Text that is looked at in all.
const SAMPLE_BYTES: usize = 32 << 20;
/// Least of each file, where there are many; of more than fit so, the last are not looked at.
const FILE_BYTES_MIN: usize = 256 << 10;
/// Memory for a byte of the sample, in bytes: itself, and its place in the table of rows and fields if it may end one.
const PLAIN_COST: usize = 2;
const END_COST: usize = 34;
/// Bytes per read.
const READ_BYTES: usize = 1 << 20;
/// Text that tells UTF-16 without a mark.
const HEAD_BYTES: usize = 4096;

/// The sampled parts of an input.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// In the order of the input.
    pub parts: Vec<Part>,
    /// True if that is all of the input.
    pub is_whole: bool,
    /// How the first file is compressed.
    pub compression: Option<Compression>,
    /// How the first file is encoded: what must be said to read it so, [`Encoding::ByMark`] if nothing must.
    pub encoding: Encoding,
    /// True if the files' own byte order marks tell that they are UTF-16 or UTF-32.
    pub is_marked: bool,
    /// The pipes among the inputs.
    pub kept: KeptPipes,
    /// Memory that looking at more may take.
    cost_left: usize,
}

/// Text of one place.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Index of the file.
    pub file: usize,
    /// The text; in the middle of a file it begins and ends anywhere.
    pub bytes: Vec<u8>,
    /// It begins where the file begins.
    pub is_start: bool,
    /// It ends where the file ends.
    pub is_end: bool,
}

impl Sample {
    /// Reads parts of these inputs, so much that examining them takes about `memory_bytes`. Pipes in `kept` begin
    /// with the bytes that were read before; the sample keeps all of its pipes.
    ///
    /// Errors: as reading all of them.
    pub fn take(
        paths: &[PathBuf],
        kept: &KeptPipes,
        encoding: Encoding,
        temp_dir: &Path,
        memory_bytes: u64,
    ) -> Result<Sample> {
        input::check_pipes(paths)?;
        let memory_bytes = usize::try_from(memory_bytes).unwrap_or(usize::MAX);
        let mut sample =
            Sample { is_whole: true, encoding, cost_left: memory_bytes, ..Sample::default() };
        let sample_bytes = SAMPLE_BYTES.min(memory_bytes / 4).max(FILE_BYTES_MIN);
        let share = (sample_bytes / paths.len().max(1)).max(FILE_BYTES_MIN);
        for (file, path) in paths.iter().enumerate() {
            let taken: usize = sample.parts.iter().map(|part| part.bytes.len()).sum();
            if taken >= sample_bytes || sample.cost_left == 0 {
                sample.is_whole = false;
                break;
            }
            let input = kept.find(path, temp_dir)?;
            if file == 0 {
                sample.look(&input)?;
            }
            sample.take_file(&input, file, share)?;
            sample.kept.keep(&input);
        }
        Ok(sample)
    }

    fn options(&self) -> TextOptions {
        TextOptions { encoding: self.encoding, unpack_bytes_max: usize::MAX }
    }

    /// Sees what the first file is.
    fn look(&mut self, input: &Input) -> Result<()> {
        if input.bytes().is_some() {
            self.compression = text::look(&input.open()?)?.0;
        }
        let mut text = Text::open(input, self.options())?;
        self.is_marked = text.mark_bytes() > 0;
        if self.encoding == Encoding::ByMark && text.unit() == Unit::Byte {
            let mut head = Vec::new();
            text.read(&mut head, HEAD_BYTES)?;
            self.encoding = wide(&head).unwrap_or(Encoding::ByMark);
        }
        Ok(())
    }

    fn take_file(&mut self, input: &Input, file: usize, share: usize) -> Result<()> {
        let mut text = Text::open(input, self.options())?;
        let is_plain = !text.is_packed() && text.unit() == Unit::Byte;
        let large = input.bytes().filter(|&bytes| is_plain && bytes > share as u64);
        let size = if large.is_some() { share / 2 } else { share };
        // A buffer of the file's own size: to zero a larger one would take longer than to read a small file.
        let whole = input.bytes().filter(|_| is_plain && large.is_none());
        let at_once = whole.map_or(READ_BYTES, |bytes| READ_BYTES.min(bytes as usize + 1));
        let mut start = Part { file, is_start: true, ..Part::default() };
        while start.bytes.len() < size && !start.is_end {
            let seen = start.bytes.len();
            text.read(&mut start.bytes, at_once.min(size - seen).max(4))?;
            start.is_end = start.bytes.len() == seen;
        }
        if !start.is_end {
            // Nothing behind it would be its end too.
            let seen = start.bytes.len();
            text.read(&mut start.bytes, 4)?;
            start.is_end = start.bytes.len() == seen;
        }
        self.add(start);
        if let (Some(bytes), Some(mut raw)) = (large, text.into_raw()) {
            for (position, is_end) in [(bytes / 2, false), (bytes - share as u64 / 4, true)] {
                raw.seek(position);
                let mut part = Part { file, is_end, ..Part::default() };
                part.bytes.resize(share / 4, 0);
                let size = raw.fill(&mut part.bytes)?;
                part.bytes.truncate(size);
                self.add(part);
            }
            self.is_whole = false;
        }
        Ok(())
    }

    /// Takes a part, or the beginning of it that there is memory for.
    fn add(&mut self, mut part: Part) {
        let cost = |byte: &u8| match byte.is_ascii_alphanumeric() || !byte.is_ascii() {
            true => PLAIN_COST,
            false => END_COST,
        };
        let fits = part.bytes.iter().position(|byte| {
            let left = self.cost_left.checked_sub(cost(byte));
            self.cost_left = left.unwrap_or(0);
            left.is_none()
        });
        if let Some(size) = fits {
            part.bytes.truncate(size);
            part.bytes.shrink_to_fit();
            part.is_end = false;
        }
        self.is_whole &= part.is_start && part.is_end;
        self.parts.push(part);
    }
}

/// UTF-16 without a mark, by the zeros beside its ASCII.
fn wide(head: &[u8]) -> Option<Encoding> {
    let pairs = head.len() / 2;
    let zeros = |from: usize| head.iter().skip(from).step_by(2).filter(|&&byte| byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    if pairs < 2 {
        return None;
    }
    // Half of the characters are ASCII, and next to none is U+xx00.
    match (even * 2 >= pairs, odd * 2 >= pairs) {
        (true, false) if odd * 20 <= pairs => Some(Encoding::Utf16),
        (false, true) if even * 20 <= pairs => Some(Encoding::Utf16Le),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sample(files: &[&[u8]]) -> Sample {
        let folder = tempfile::tempdir().unwrap();
        let write = |(index, bytes): (usize, &&[u8])| {
            let path = folder.path().join(index.to_string());
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let paths: Vec<PathBuf> = files.iter().enumerate().map(write).collect();
        let kept = KeptPipes::default();
        Sample::take(&paths, &kept, Encoding::ByMark, folder.path(), 4 << 30).unwrap()
    }

    #[test]
    fn small_files_are_taken_whole_and_large_ones_at_three_places() {
        let small = sample(&[b"a\n", b"", b"b"]);
        assert!(small.is_whole);
        let texts: Vec<&[u8]> = small.parts.iter().map(|part| &part.bytes[..]).collect();
        assert_eq!(texts, [&b"a\n"[..], b"", b"b"]);
        let bytes: Vec<u8> = (0..SAMPLE_BYTES + 999).map(|at| (at % 251) as u8).collect();
        let large = sample(&[&bytes]);
        assert!(!large.is_whole);
        let places: Vec<(usize, bool, bool)> =
            large.parts.iter().map(|part| (part.bytes.len(), part.is_start, part.is_end)).collect();
        let quarter = SAMPLE_BYTES / 4;
        assert_eq!(
            places,
            [(2 * quarter + 4, true, false), (quarter, false, false), (quarter, false, true)]
        );
        assert!(bytes.starts_with(&large.parts[0].bytes[..2 * quarter]));
        assert!(bytes.ends_with(&large.parts[2].bytes));
        assert!(sample(&[&bytes[..SAMPLE_BYTES]]).is_whole);
    }

    #[test]
    fn little_memory_is_for_little_text_and_less_of_short_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for (line, most) in
            [(&b"1\n"[..], 1 << 20), (b"one long line of many words and letters\n", 4 << 20)]
        {
            std::fs::write(&path, line.repeat((16 << 20) / line.len())).unwrap();
            let paths = [path.clone()];
            let kept = KeptPipes::default();
            let sample = Sample::take(&paths, &kept, Encoding::ByMark, folder.path(), 16 << 20);
            let sample = sample.unwrap();
            let bytes: usize = sample.parts.iter().map(|part| part.bytes.len()).sum();
            assert!(bytes <= most && bytes >= most / 8, "{bytes}");
            assert!(!sample.is_whole && sample.parts[0].is_start);
        }
    }

    #[test]
    fn of_very_many_files_the_first_are_taken() {
        let file = vec![b'a'; FILE_BYTES_MIN];
        let fit = SAMPLE_BYTES / FILE_BYTES_MIN;
        for (files, is_whole) in [(fit, true), (fit + 2, false)] {
            let sample = sample(&vec![&file[..]; files]);
            assert_eq!((sample.parts.len(), sample.is_whole), (fit, is_whole));
        }
    }

    #[test]
    fn utf_16_is_known_by_mark_or_by_zeros() {
        let words: Vec<u8> = "a,b\n1,\u{e9}\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let plain = sample(&[&words]);
        assert_eq!((plain.encoding, plain.is_marked), (Encoding::Utf16Le, false));
        assert_eq!(plain.parts[0].bytes, "a,b\n1,\u{e9}\n".as_bytes());
        let marked = sample(&[&[b"\xff\xfe", &words[..]].concat()]);
        assert_eq!((marked.encoding, marked.is_marked), (Encoding::ByMark, true));
        assert_eq!(sample(&[b"a,b\n1,2\n"]).encoding, Encoding::ByMark);
    }
}
