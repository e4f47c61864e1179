//! Kinds of files with typed columns, known by their first bytes.

use std::path::{Path, PathBuf};

use sources::{Error, Result, remote};

/// A kind of file with typed columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow's IPC, a file or a stream; Feather of version 2.
    Arrow,
    /// A workbook of Excel or OpenDocument.
    Excel,
}

/// Bytes that are enough to know every kind.
const HEAD_BYTES: usize = 64;
/// Most bytes of the first message of a stream, which has the schema.
const SCHEMA_BYTES_MAX: u32 = 64 << 20;

/// First bytes of older workbooks, and of those that have a password.
pub(crate) const OLE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
/// First bytes of a zip archive; the place of the name of its first file, and names that workbooks begin with.
pub(crate) const ZIP: &[u8] = b"PK\x03\x04";
const ZIP_NAME: usize = 30;
const WORKBOOK_FILES: [&[u8]; 5] = [
    b"[Content_Types].xml",
    b"_rels/.rels",
    b"xl/",
    b"docProps/",
    b"mimetypeapplication/vnd.oasis",
];

/// True if a zip archive that begins so has a workbook; archives of other files have other names.
fn is_workbook(head: &[u8]) -> bool {
    let name = head.get(ZIP_NAME..).unwrap_or_default();
    head.starts_with(ZIP) && WORKBOOK_FILES.iter().any(|file| name.starts_with(file))
}

impl Kind {
    /// The kind of a file that begins so; None for everything else.
    pub fn of(head: &[u8]) -> Option<Kind> {
        // The names of a text's columns may begin with these letters, but no text with such bytes behind them.
        if head.starts_with(b"PAR1\x15") || head.starts_with(b"PARE\x15") {
            return Some(Kind::Parquet);
        }
        if head.starts_with(b"ARROW1\0\0") {
            return Some(Kind::Arrow);
        }
        if head.starts_with(OLE) || is_workbook(head) {
            return Some(Kind::Excel);
        }
        // A stream: no text begins with these four bytes.
        let length = head.strip_prefix(&[0xff; 4])?.first_chunk().copied()?;
        let length = u32::from_le_bytes(length);
        (length > 0 && length <= SCHEMA_BYTES_MAX && length % 8 == 0).then_some(Kind::Arrow)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Parquet => "Parquet",
            Kind::Arrow => "Arrow",
            Kind::Excel => "Excel",
        }
    }

    /// The kind of these files, if they are of one; pipes are not looked into.
    ///
    /// Errors: some files are of a kind, and others of none or of another.
    pub fn of_files(paths: &[PathBuf]) -> Result<Option<Kind>> {
        let mut files = paths.iter().filter(|path| remote::is_looked_at(path));
        let Some(first) = files.next() else { return Ok(None) };
        let kind = Kind::of_file(first);
        let Some(other) = files.find(|path| Kind::of_file(path) != kind) else { return Ok(kind) };
        let name = |path: &Path| match Kind::of_file(path) {
            Some(Kind::Parquet) => format!("{} is a Parquet file", path.display()),
            Some(kind) => format!("{} is an {} file", path.display(), kind.name()),
            None => format!("{} is not", path.display()),
        };
        let (first, other) = if kind.is_some() { (first, other) } else { (other, first) };
        Err(Error::Dialect(format!(
            "{}, {}; load files of each format separately",
            name(first),
            name(other)
        )))
    }

    fn of_file(path: &Path) -> Option<Kind> {
        let mut head = [0; HEAD_BYTES];
        let size = remote::head(path, &mut head)?;
        Kind::of(&head[..size])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_their_first_bytes() {
        for (head, kind) in [
            (b"PAR1\x15\x04\x15\x10".as_slice(), Some(Kind::Parquet)),
            (b"ARROW1\0\0", Some(Kind::Arrow)),
            (b"\xff\xff\xff\xff\x10\x01\0\0", Some(Kind::Arrow)),
            (b"\xff\xff\xff\xff\x11\x01\0\0", None),
            (b"\xff\xff\xff\xff", None),
            (b"PAR1,PAR2", None),
            (b"", None),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", Some(Kind::Excel)),
            (b"PK\x03\x0400000000000000000000000000[Content_Types].xml", Some(Kind::Excel)),
            (b"PK\x03\x0400000000000000000000000000orders.csv", None),
        ] {
            assert_eq!(Kind::of(head), kind, "{}", head.escape_ascii());
        }
    }
}
