//! Zip archives of workbooks, examined before they are believed: sizes of their files, and the kind of workbook.

use std::collections::HashMap;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::Event;
use sources::InputBytes;
use zip::ZipArchive;

use super::xml_scan::XmlScan;
use crate::guard::{Problem, problem};
use face::option::MEMORY;

/// Bytes that are read at once of the input, and those of a file that are unpacked at once.
const READ_BYTES: usize = 64 << 10;
const UNPACKED_BYTES: usize = 64 << 10;
/// Memory for a byte of the files that are kept whole, for a text of those, and for another tag with its copies.
const KEPT_FACTOR: u64 = 4;
const TEXT_BYTES: u64 = 40;
const TAG_BYTES: u64 = 512;
/// Memory for a text that a file says it has.
const COUNTED_BYTES: u64 = 24;
/// Bytes that are unpacked of all files.
const ALL_BYTES_MAX: u64 = 64 << 30;

/// The answer to a workbook with a password.
pub(super) const PASSWORD: &str = "the workbook has a password; save a copy without it";
/// Files with the relationships of an Excel workbook, with the sheets of OpenDocument, and of such with a password.
const RELATIONSHIPS: &str = "_rels/.rels";
const CONTENT: &str = "content.xml";
const MANIFEST: &str = "meta-inf/manifest.xml";
const ENCRYPTED: &str = "encrypted-package";

/// Kinds of workbooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkbookKind {
    Xlsx,
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

/// The kind of a zip archive with a workbook whose files are as large as they may be, and the memory for what readers
/// keep of them.
///
/// Errors: an archive that is damaged, or has no workbook; files that take more memory than there is.
pub(super) fn check(
    input: &Arc<InputBytes>,
    bytes: u64,
    memory_bytes: u64,
) -> Result<(WorkbookKind, u64), Problem> {
    let archive = ZipArchive::new(reader(input, bytes))
        .map_err(|error| format!("the zip archive is damaged or cut off ({error})"))?;
    if archive.offset() > 0 {
        return Err(format!(
            "another workbook begins at byte {}, and rows before it would be missing; load files that were joined one \
             by one",
            archive.offset()
        ));
    }
    let mut files = HashMap::<String, Vec<usize>>::new();
    for (index, name) in archive.file_names().enumerate() {
        files.entry(normal(&name.map_err(problem)?)).or_default().push(index);
    }
    let is_excel = files.contains_key(RELATIONSHIPS);
    if !is_excel && !files.contains_key(CONTENT) {
        return Err(match files.contains_key(ENCRYPTED) {
            true => PASSWORD.to_owned(),
            false => "the zip archive has no workbook in it".to_owned(),
        });
    }
    let mut check =
        ArchiveCheck { archive, files, memory_bytes, is_excel, kept: 0, all: 0, longest: 0 };
    if is_excel {
        check.excel()?;
        return Ok((WorkbookKind::Xlsx, check.kept));
    }
    check.file(MANIFEST, Kept::Tags)?;
    check.file(CONTENT, Kept::Nothing)?;
    Ok((WorkbookKind::Ods, check.kept))
}

/// Names as readers compare them.
fn normal(name: &str) -> String {
    name.replace('\\', "/").to_ascii_lowercase()
}

/// The contents of a file that readers keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// Cells are read one after the other.
    Nothing,
    Texts,
    Tags,
}

/// An archive that is being examined: only the files that readers read.
struct ArchiveCheck {
    archive: ZipArchive<BufReader<InputReader>>,
    /// Indices of the files by their names, as readers compare these.
    files: HashMap<String, Vec<usize>>,
    memory_bytes: u64,
    is_excel: bool,
    kept: u64,
    all: u64,
    /// Bytes of the longest tag: a reader may copy it for each of the other tags.
    longest: u64,
}

impl ArchiveCheck {
    /// Examines the files that a reader of Excel's workbooks reads.
    ///
    /// Source: calamine 0.38, xlsx/mod.rs, `Xlsx::new` and those that it calls.
    fn excel(&mut self) -> Result<(), Problem> {
        self.file(RELATIONSHIPS, Kept::Tags)?;
        for (kind, workbook) in self.targets(RELATIONSHIPS)? {
            if kind != "officeDocument" {
                continue;
            }
            let workbook = unescape(&workbook).map_err(problem)?;
            if workbook.ends_with(".bin") {
                return Err("it is a binary workbook (.xlsb); save it as .xlsx".to_owned());
            }
            let (folder, name) = match workbook.rfind('/') {
                Some(slash) => workbook.split_at(slash + 1),
                None => ("", &*workbook),
            };
            let folder = folder.strip_prefix('/').unwrap_or(folder);
            let relationships = format!("{folder}_rels/{name}.rels");
            self.file(&relationships, Kept::Tags)?;
            self.file(&format!("{folder}{name}"), Kept::Tags)?;
            self.file(&format!("{folder}styles.xml"), Kept::Tags)?;
            self.file(&format!("{folder}theme/theme1.xml"), Kept::Tags)?;
            let texts = format!("{folder}sharedStrings.xml");
            self.file(&texts, Kept::Texts)?;
            self.texts(&texts)?;
            for (kind, sheet) in self.targets(&relationships)? {
                if kind.ends_with("sheet") {
                    let path = format!("{folder}{sheet}");
                    self.file(sheet.strip_prefix('/').unwrap_or(&path), Kept::Nothing)?;
                }
            }
        }
        Ok(())
    }

    /// Indices of the files that have a name, as readers find them.
    fn find(&self, name: &str) -> Vec<usize> {
        self.files.get(&normal(name)).cloned().unwrap_or_default()
    }

    /// Examines a file, if there is one of this name.
    ///
    /// Errors: one that is damaged, is too large, or has a text or tag that no workbook has.
    fn file(&mut self, name: &str, kept: Kept) -> Result<(), Problem> {
        for index in self.find(name) {
            self.scan(index, kept).map_err(|problem| format!("{name}: {problem}"))?;
        }
        Ok(())
    }

    fn scan(&mut self, index: usize, kept: Kept) -> Result<(), Problem> {
        let mut file = self.archive.by_index(index).map_err(problem)?;
        let mut scan = XmlScan::new(self.is_excel);
        let (mut piece, mut bytes) = (vec![0; UNPACKED_BYTES], 0);
        loop {
            let size = file.read(&mut piece).map_err(problem)?;
            bytes += size as u64;
            scan.feed(&piece[..size])?;
            let longest = self.longest.max(scan.longest);
            let kept_bytes = match kept {
                Kept::Nothing => 0,
                Kept::Texts => bytes * KEPT_FACTOR / 2 + scan.tags * TEXT_BYTES,
                Kept::Tags => {
                    bytes * KEPT_FACTOR + scan.tags.saturating_mul(TAG_BYTES + 2 * longest)
                }
            };
            if self.kept.saturating_add(kept_bytes) > self.memory_bytes
                || self.all + bytes > ALL_BYTES_MAX
            {
                return Err(too_large(self.memory_bytes));
            }
            if size == 0 {
                self.kept += kept_bytes;
                self.all += bytes;
                self.longest = if kept == Kept::Tags { longest } else { self.longest };
                return Ok(());
            }
        }
    }

    /// Counts the memory for as many shared texts as a file says it has.
    fn texts(&mut self, name: &str) -> Result<(), Problem> {
        for index in self.find(name) {
            let mut count = 0;
            each_tag(&mut self.archive, index, "sst", true, |key, value| {
                if key == "uniqueCount" {
                    count = value.parse::<u64>().map_err(problem)?;
                }
                Ok(())
            })?;
            self.kept = self.kept.saturating_add(count.saturating_mul(COUNTED_BYTES));
            if self.kept > self.memory_bytes {
                return Err(format!("{name}: {}", too_large(self.memory_bytes)));
            }
        }
        Ok(())
    }

    /// Kinds and targets of the relationships in a file that was examined.
    fn targets(&mut self, name: &str) -> Result<Vec<(String, String)>, Problem> {
        let mut targets: Vec<(String, String)> = Vec::new();
        for index in self.find(name) {
            each_tag(&mut self.archive, index, "Relationship", false, |key, value| {
                match (key, targets.last_mut()) {
                    ("", _) => targets.push((String::new(), String::new())),
                    ("Type", Some((kind, _))) => {
                        *kind = value.rsplit('/').next().unwrap_or_default().to_owned();
                    }
                    ("Target", Some((_, target))) => *target = value.to_owned(),
                    _ => {}
                }
                Ok(())
            })?;
        }
        Ok(targets)
    }
}

/// Reads all tags of a name in a file, or the first one: each without a key, then its attributes.
fn each_tag(
    archive: &mut ZipArchive<BufReader<InputReader>>,
    index: usize,
    name: &str,
    is_first: bool,
    mut take: impl FnMut(&str, &str) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let file = archive.by_index(index).map_err(problem)?;
    let mut xml = Reader::from_reader(BufReader::with_capacity(READ_BYTES, file));
    xml.config_mut().check_end_names = false;
    let mut piece = Vec::new();
    loop {
        match xml.read_event_into(&mut piece).map_err(problem)? {
            Event::Start(tag) | Event::Empty(tag) if tag.local_name().as_ref() == name => {
                take("", "")?;
                for attribute in tag.attributes() {
                    let attribute = attribute.map_err(problem)?;
                    take(attribute.key.as_ref(), &attribute.value)?;
                }
                if is_first {
                    return Ok(());
                }
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
        piece.clear();
    }
}

fn too_large(memory_bytes: u64) -> Problem {
    format!(
        "reading it takes more than the {} MiB that are left for it: use more {MEMORY}",
        memory_bytes >> 20
    )
}
