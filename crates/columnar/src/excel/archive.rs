//! Zip archives of workbooks, examined before they are believed: sizes of their files, and the kind of workbook.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use sources::InputBytes;
use zip::ZipArchive;

use crate::guard::{Problem, problem};
use face::option::MEMORY;

/// Bytes that are read at once of the input, and those of a file that are unpacked at once.
const READ_BYTES: usize = 64 << 10;
const UNPACKED_BYTES: usize = 64 << 10;
/// Longest text or tag: a cell has at most 32,767 characters.
const TEXT_BYTES_MAX: u64 = 4 << 20;
/// Memory for a byte of the files that are kept whole, such as texts, and for one of the styles.
const KEPT_FACTOR: u64 = 4;
const STYLES_FACTOR: u64 = 64;
/// Bytes that are unpacked of all files.
const ALL_BYTES_MAX: u64 = 64 << 30;

/// Kinds of workbooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkbookKind {
    Xlsx,
    Xlsb,
    Xls,
    Ods,
}

/// An input as the reader of workbooks reads it.
pub(super) struct InputReader {
    input: Arc<InputBytes>,
    bytes: u64,
    at: u64,
}

/// The input from its start on.
pub(super) fn reader(input: &Arc<InputBytes>, bytes: u64) -> BufReader<InputReader> {
    let reader = InputReader { input: Arc::clone(input), bytes, at: 0 };
    BufReader::with_capacity(READ_BYTES, reader)
}

impl Read for InputReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.bytes.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let size = out.len().min(left);
        let read = self.input.read_at(self.at, &mut out[..size]).map_err(io::Error::other)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for InputReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.bytes.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        let at = at.ok_or_else(|| io::Error::other("a place before the file"))?;
        self.at = at;
        Ok(at)
    }
}

/// The kind of a zip archive with a workbook, whose files are as large as they may be.
///
/// Errors: an archive that is damaged, or has no workbook; files that take more memory than there is.
pub(super) fn check(
    input: &Arc<InputBytes>,
    bytes: u64,
    memory_bytes: u64,
) -> Result<WorkbookKind, Problem> {
    let mut archive = ZipArchive::new(reader(input, bytes))
        .map_err(|error| format!("the zip archive is damaged or cut off ({error})"))?;
    let (mut kind, mut kept, mut all) = (None, 0u64, 0u64);
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).map_err(problem)?;
        let name = file.name().map_err(problem)?.to_ascii_lowercase();
        kind = kind.or(match name.as_str() {
            "xl/workbook.xml" => Some(WorkbookKind::Xlsx),
            "xl/workbook.bin" => Some(WorkbookKind::Xlsb),
            "content.xml" => Some(WorkbookKind::Ods),
            _ => None,
        });
        let is_xml = name.ends_with(".xml") || name.ends_with(".rels");
        if !is_xml && !name.ends_with(".bin") {
            continue;
        }
        let is_sheet = name.contains("worksheets/") || name == "content.xml";
        let factor = match name.ends_with("styles.xml") {
            true => STYLES_FACTOR,
            false => KEPT_FACTOR,
        };
        let left = (memory_bytes - kept) / factor;
        let most = if is_sheet { ALL_BYTES_MAX - all } else { left.min(ALL_BYTES_MAX - all) };
        let size = unpacked_bytes(&mut file, is_xml, most)
            .map_err(|problem| format!("{name}: {problem}"))?;
        all += size;
        kept += if is_sheet { 0 } else { size * factor };
    }
    kind.ok_or_else(|| "the zip archive has no workbook in it".to_owned())
}

/// The size of a file of an archive, unpacked.
///
/// Errors: one that is damaged, larger than `most`, or has a text or tag that no workbook has.
fn unpacked_bytes(file: &mut impl Read, is_xml: bool, most: u64) -> Result<u64, Problem> {
    let mut piece = vec![0; UNPACKED_BYTES];
    let (mut bytes, mut text_bytes) = (0u64, 0u64);
    loop {
        let size = file.read(&mut piece).map_err(problem)?;
        if size == 0 {
            return Ok(bytes);
        }
        bytes += size as u64;
        if bytes > most {
            return Err(format!(
                "it has more than {} MiB when it is unpacked, which is all that memory is left for: use more {MEMORY}",
                most >> 20
            ));
        }
        let is_tag = |byte: &u8| *byte == b'<';
        text_bytes = match piece[..size].iter().rposition(is_tag) {
            Some(last) => (size - last) as u64,
            None => text_bytes + size as u64,
        };
        if is_xml && text_bytes > TEXT_BYTES_MAX {
            return Err("it has a text that is longer than a cell's".to_owned());
        }
    }
}
