//! Where the pages of a tablespace come from: a file, or bytes in memory.

use std::io;

use crate::ids::{PAGE_SIZE, PageNo};
use crate::page::PageBytes;

/// Where pages come from. Callable from several threads at once.
pub trait PageSource: Sync {
    /// Reads consecutive pages, the first of which is `first`, until `buffer` is full.
    ///
    /// The length of `buffer` is a multiple of [`PAGE_SIZE`].
    fn read(&self, first: PageNo, buffer: &mut [u8]) -> io::Result<()>;
}

#[cfg(unix)]
impl PageSource for std::fs::File {
    fn read(&self, first: PageNo, buffer: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buffer, first.file_offset())
    }
}

impl PageSource for &[u8] {
    fn read(&self, first: PageNo, buffer: &mut [u8]) -> io::Result<()> {
        let pages = usize::try_from(first.file_offset())
            .ok()
            .and_then(|start| self.get(start..)?.get(..buffer.len()))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(pages);
        Ok(())
    }
}

impl PageSource for Vec<u8> {
    fn read(&self, first: PageNo, buffer: &mut [u8]) -> io::Result<()> {
        PageSource::read(&self.as_slice(), first, buffer)
    }
}

/// Why a tablespace could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The source failed.
    #[error("reading page {page_no}: {source}")]
    Source {
        /// First page asked for.
        page_no: u32,
        /// The source's error.
        source: io::Error,
    },
    /// A tablespace of another kind.
    #[error(
        "the file uses {what} (FSP_SPACE_FLAGS {flags:#x}), \
         but only tablespaces of MariaDB (full_crc32) and MySQL (8.0 and newer) with plain 16 KiB pages can be read"
    )]
    Unsupported {
        /// `FSP_SPACE_FLAGS`.
        flags: u32,
        /// Their meaning.
        what: &'static str,
    },
    /// The bytes are not those of a tablespace that this crate reads.
    #[error(transparent)]
    Format(#[from] crate::error::Error),
}

/// Room for a page.
pub fn page_buffer() -> Box<PageBytes> {
    Box::new([0; PAGE_SIZE])
}

/// Reads one page.
pub fn read_page(
    source: &dyn PageSource,
    page_no: u32,
    page: &mut PageBytes,
) -> Result<(), ReadError> {
    source.read(PageNo(page_no), page).map_err(|source| ReadError::Source { page_no, source })
}
