//! A file that is written around the page cache, in blocks whose memory, size and place the disk takes as they are.
//!
//! ```text
//! text of any length -> | block of 1 MiB | -> disk       the rest of it at the end -> page cache
//! ```
//!
//! An export is on the disk when it ends. Through the cache, each byte takes a page of memory, and the wait for the
//! disk begins when all rows are read. Around it the disk writes while threads read rows, and the pages of tables,
//! which other users need, stay in memory.

use std::io::ErrorKind::{InvalidInput, Unsupported};
use std::io::{self, Write};

use disk::File;
use innodb::ids::PAGE_SIZE;
use innodb::page::AlignedPage;

/// Pages of a block.
const BLOCK_PAGES: usize = (1 << 20) / PAGE_SIZE;

/// A file that is written from its beginning to its end.
#[derive(Debug)]
pub(crate) struct AlignedFile {
    file: File,
    /// The file opened again; none if the file system has no way around the cache.
    around_cache: Option<File>,
    block: Vec<AlignedPage>,
    /// Bytes of the block that wait to be written, and bytes of the file before them.
    waiting: usize,
    written: u64,
}

impl AlignedFile {
    /// An empty file.
    pub(crate) fn new(file: File) -> AlignedFile {
        let around_cache = file.open_around_cache().ok();
        let block = vec![AlignedPage::ZERO; BLOCK_PAGES];
        AlignedFile { file, around_cache, block, waiting: 0, written: 0 }
    }

    /// The file with all bytes that were written, some of which the disk may not have yet.
    pub(crate) fn finish(self) -> io::Result<File> {
        let rest = &AlignedPage::bytes_of(&self.block)[..self.waiting];
        self.file.write_all_at(rest, self.written)?;
        Ok(self.file)
    }

    fn write_block(&mut self) -> io::Result<()> {
        let block = AlignedPage::bytes_of(&self.block);
        let written = match &self.around_cache {
            Some(around) => around.write_all_at(block, self.written),
            None => self.file.write_all_at(block, self.written),
        };
        match written {
            // A file system may take the flag and refuse the transfer.
            Err(error) if matches!(error.kind(), InvalidInput | Unsupported) => {
                self.around_cache = None;
                self.file.write_all_at(block, self.written)?;
            }
            written => written?,
        }
        self.written += block.len() as u64;
        self.waiting = 0;
        Ok(())
    }
}

impl Write for AlignedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let free = &mut AlignedPage::bytes_of_mut(&mut self.block)[self.waiting..];
        let copied = bytes.len().min(free.len());
        free[..copied].copy_from_slice(&bytes[..copied]);
        self.waiting += copied;
        if copied == free.len() {
            self.write_block()?;
        }
        Ok(copied)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_of_every_length_have_all_bytes_in_order() {
        // The folder for temporary files may have no way around the cache.
        let folder = tempfile::tempdir_in(".").unwrap();
        let block = BLOCK_PAGES * PAGE_SIZE;
        for len in [0, 1, block - 1, block, block + 1, 3 * block, 3 * block + 4711] {
            let bytes: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
            for piece in [7777, block, 2 * block + 5] {
                let path = folder.path().join(format!("{len}.{piece}"));
                let file = std::fs::File::create_new(&path).unwrap();
                let mut file = AlignedFile::new(File::new(file, "test"));
                if piece == block {
                    // As on a file system that has no way around the cache.
                    file.around_cache = None;
                }
                bytes.chunks(piece).for_each(|piece| file.write_all(piece).unwrap());
                file.finish().unwrap();
                assert!(std::fs::read(&path).unwrap() == bytes, "{len} bytes, {piece} at once");
            }
        }
    }
}
