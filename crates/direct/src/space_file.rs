//! The tablespace file while it is being built.
//!
//! IMPORT TABLESPACE opens the file without O_DIRECT, reads 1 MiB at a time through the page cache, writes it
//! back there and syncs the file once at its end (`fil_iterate` and `fil_tablespace_iterate` in the server's
//! storage/innobase/row/row0import.cc; seen by `strace` on 10.11.19 and 11.8.6). So pages that are still in
//! the cache by then are never read from the disk, and are written to it once: nothing is synced before.
//! Pages that the machine has no room to keep are written around the cache, which would otherwise push other
//! things out and hand the pages to the disk all the same.

use std::io;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use disk::File;
use disk::size::show;
use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::page::{AlignedPage, FilHeader};
use innodb::source::PageSource;
use job::error::Error;
use job::space::{free_bytes, kept_bytes};
use locks::Mutex;

/// The alignment of addresses for O_DIRECT: [`AlignedPage`]'s.
const ALIGNMENT: usize = align_of::<AlignedPage>();
/// Bytes of all files after which the free space is read again.
const SPACE_STEP: u64 = 64 << 20;
/// Pages that are copied at once when a caller's bytes are not aligned.
const BOUNCE_PAGES: usize = 16;

/// A file that several threads write at places that do not overlap.
#[derive(Debug)]
pub(crate) struct SpaceFile {
    file: File,
    path: PathBuf,
    /// The file opened again for what the cache has no room for; none where that cannot be done.
    around_cache: Option<File>,
    /// Bytes that may stay in the cache, of all files that are built together.
    cached_bytes_max: u64,
    /// Bytes written to this file.
    written_bytes: AtomicU64,
    /// Bytes written to all of them.
    all_bytes: Arc<AtomicU64>,
    /// Held while pages are written into the cache.
    turn: Mutex<()>,
    /// Bytes that stay free on the disk.
    kept_bytes: u64,
    /// Where the first page is that was written around the cache. Pages are written roughly in the
    /// order of their numbers, so nearly all after it were too.
    around_from: AtomicU64,
}

impl SpaceFile {
    /// An open, empty file, of which `cached_bytes_max` bytes may stay in the page cache.
    pub(crate) fn new(file: File, path: PathBuf, cached_bytes_max: u64) -> SpaceFile {
        SpaceFile::beside(file, path, cached_bytes_max, Arc::default())
    }

    /// An open file whose pages are written in place, around the page cache: that takes no room.
    pub(crate) fn in_place(file: File, path: PathBuf) -> SpaceFile {
        SpaceFile { kept_bytes: 0, ..SpaceFile::new(file, path, 0) }
    }

    /// The same of one of several that are built together: `cached_bytes_max` and the bytes that were
    /// written are those of all.
    pub(crate) fn beside(
        file: File,
        path: PathBuf,
        cached_bytes_max: u64,
        all_bytes: Arc<AtomicU64>,
    ) -> SpaceFile {
        let around_cache = file.open_around_cache().ok();
        let kept_bytes = free_bytes(folder_of(&path)).map_or(0, kept_bytes);
        SpaceFile {
            file,
            path,
            around_cache,
            cached_bytes_max,
            written_bytes: AtomicU64::new(0),
            all_bytes,
            turn: Mutex::new(()),
            kept_bytes,
            around_from: AtomicU64::new(u64::MAX),
        }
    }

    /// Writes whole pages, each of `writes` at its offset.
    ///
    /// File systems let one thread at a time write to a file in the cache, and others that want to
    /// use up their processors' time meanwhile. So they wait here, and for all writes at once: that
    /// way the threads come to write at different times and mostly need not wait.
    pub(crate) fn write_all<'b>(
        &self,
        writes: impl Iterator<Item = (u64, &'b [u8])>,
    ) -> Result<(), Error> {
        let is_cached = self.all_bytes.load(Ordering::Relaxed) < self.cached_bytes_max;
        let _turn = is_cached.then(|| self.turn.lock());
        for (offset, bytes) in writes {
            self.write_pages(offset, bytes)?;
        }
        Ok(())
    }

    /// Writes all of `bytes`, which are whole pages, at `offset`.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.write_all(std::iter::once((offset, bytes)))
    }

    fn write_pages(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.written_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let before = self.all_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if before / SPACE_STEP != (before + bytes.len() as u64) / SPACE_STEP {
            self.check_space()?;
        }
        let is_cached = before + bytes.len() as u64 <= self.cached_bytes_max;
        let written = match self.around_cache.as_ref().filter(|_| !is_cached) {
            None => self.file.write_all_at(bytes, offset),
            Some(around) => {
                self.around_from.fetch_min(offset, Ordering::Relaxed);
                self.write_around(around, offset, bytes)
            }
        };
        written.map_err(Error::io("writing", &self.path))
    }

    /// Stops a load that would take the last room from the server.
    fn check_space(&self) -> Result<(), Error> {
        let free_bytes = free_bytes(folder_of(&self.path))?;
        if free_bytes >= self.kept_bytes {
            return Ok(());
        }
        let (free, kept) = (show(free_bytes), show(self.kept_bytes));
        let text = format!("{free} are left on the disk, and {kept} stay free for the server");
        let full = io::Error::new(io::ErrorKind::StorageFull, text);
        Err(Error::io("writing", &self.path)(full))
    }

    fn write_around(&self, around: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if is_aligned(bytes) {
            return match around.write_all_at(bytes, offset) {
                // A file system may take the flag and refuse the transfer.
                Err(error) if refuses_direct(&error) => self.file.write_all_at(bytes, offset),
                outcome => outcome,
            };
        }
        let mut bounce = vec![AlignedPage::ZERO; BOUNCE_PAGES.min(bytes.len() / PAGE_SIZE)];
        let mut offset = offset;
        for part in bytes.chunks(BOUNCE_PAGES * PAGE_SIZE) {
            let aligned = &mut AlignedPage::bytes_of_mut(&mut bounce)[..part.len()];
            aligned.copy_from_slice(part);
            self.write_around(around, offset, aligned)?;
            offset += part.len() as u64;
        }
        Ok(())
    }

    /// The page number that a page in the cache has in its header; none of one that was written around
    /// the cache, which would have to be read from the disk for it.
    pub(crate) fn cached_number(&self, page_no: PageNo) -> io::Result<Option<u32>> {
        let offset = page_no.file_offset();
        if offset >= self.around_from.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut number = [0; 4];
        self.file.read_exact_at(&mut number, offset + offset_of!(FilHeader, page_no) as u64)?;
        Ok(Some(u32::from_be_bytes(number)))
    }

    /// Empties the file, which is then written anew.
    pub(crate) fn clear(&self) -> Result<(), Error> {
        let written = self.written_bytes.swap(0, Ordering::Relaxed);
        self.all_bytes.fetch_sub(written, Ordering::Relaxed);
        self.around_from.store(u64::MAX, Ordering::Relaxed);
        self.set_size(0)
    }

    /// Sets the size; what was never written is a hole of zeros.
    pub(crate) fn set_size(&self, bytes: u64) -> Result<(), Error> {
        self.file.set_len(bytes).map_err(Error::io("setting the size of", &self.path))
    }

    /// Takes room for the first `bytes` bytes, holes included: the server writes them too, and
    /// when its disk is full it says no more than "I/O error".
    pub(crate) fn allocate(&self, bytes: u64) -> Result<(), Error> {
        self.file.allocate(bytes).map_err(Error::io("allocating space for", &self.path))
    }

    /// Waits until its bytes are on the disk.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        self.file.sync_data().map_err(Error::io("syncing", &self.path))
    }

    /// Size of the file now.
    pub(crate) fn size(&self) -> Result<u64, Error> {
        let metadata = self.file.metadata().map_err(Error::io("looking at", &self.path))?;
        Ok(metadata.len())
    }

    /// The open file.
    pub(crate) fn into_file(self) -> File {
        self.file
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl PageSource for SpaceFile {
    /// Reading around the cache what is in it would have it written first.
    fn read(&self, first: PageNo, buffer: &mut [u8]) -> io::Result<()> {
        let offset = first.file_offset();
        let is_around = offset >= self.around_from.load(Ordering::Relaxed);
        match self.around_cache.as_ref().filter(|_| is_around && is_aligned(buffer)) {
            None => self.file.read_exact_at(buffer, offset),
            Some(around) => match around.read_exact_at(buffer, offset) {
                Err(error) if refuses_direct(&error) => self.file.read_exact_at(buffer, offset),
                outcome => outcome,
            },
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn is_aligned(bytes: &[u8]) -> bool {
    bytes.as_ptr().addr().is_multiple_of(ALIGNMENT) && bytes.len().is_multiple_of(PAGE_SIZE)
}

fn refuses_direct(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn write_and_read(cached_pages_max: u64) {
        let folder = tempfile::tempdir_in(".").unwrap();
        let path = folder.path().join("space");
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let open = disk::open(&options, &path, "space").unwrap();
        let file = SpaceFile::new(open, path, cached_pages_max * PAGE_SIZE as u64);
        let pages: Vec<AlignedPage> =
            (0..40).map(|page| AlignedPage([page as u8; PAGE_SIZE])).collect();
        let bytes = AlignedPage::bytes_of(&pages);
        let mut shifted = vec![0];
        shifted.extend_from_slice(bytes);
        let mut back = vec![0; 1 + bytes.len()];
        for _ in 0..2 {
            file.write(0, bytes).unwrap();
            file.write(bytes.len() as u64, &shifted[1..]).unwrap();
            assert_eq!(file.size().unwrap(), 2 * bytes.len() as u64);
            for first in [0, 40] {
                file.read(PageNo(first), &mut back[1..]).unwrap();
                assert_eq!(&back[1..], bytes);
                let mut aligned = vec![AlignedPage::ZERO; 40];
                file.read(PageNo(first), AlignedPage::bytes_of_mut(&mut aligned)).unwrap();
                assert_eq!(AlignedPage::bytes_of(&aligned), bytes);
            }
            file.clear().unwrap();
            assert_eq!(file.size().unwrap(), 0);
        }
    }

    #[test]
    fn a_disk_is_not_filled_to_the_last_byte() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let path = folder.path().join("space");
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let open = disk::open(&options, &path, "space").unwrap();
        let mut file = SpaceFile::new(open, path, u64::MAX);
        let page = vec![1; PAGE_SIZE];
        file.all_bytes.store(SPACE_STEP - 1, Ordering::Relaxed);
        file.write(0, &page).unwrap();
        file.kept_bytes = u64::MAX;
        file.write(0, &page).unwrap();
        file.all_bytes.store(SPACE_STEP - 1, Ordering::Relaxed);
        let error = file.write(0, &page).unwrap_err().to_string();
        assert!(error.contains("stay free for the server; free some space there"), "{error}");
        // Pages that are there already take no room.
        let file = SpaceFile::in_place(file.file, file.path);
        assert_eq!(file.kept_bytes, 0);
        file.all_bytes.store(SPACE_STEP - 1, Ordering::Relaxed);
        file.write(0, AlignedPage::bytes_of(&[AlignedPage::ZERO])).unwrap();
    }

    #[test]
    fn pages_come_back_as_written_whether_cached_or_not() {
        for cached_pages_max in [0, 40, 100] {
            write_and_read(cached_pages_max);
        }
    }
}
