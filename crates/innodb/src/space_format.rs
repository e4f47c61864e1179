//! The two formats of tablespaces, MariaDB's and MySQL's, and everything that sets them apart.
//!
//! ```text
//!          0            4               26           38          16376      16380
//! MariaDb  | 0          | summed .............................. , LSN low  | checksum |
//! MySql    | checksum   | summed ...... | not summed | summed .. | checksum | LSN low  |
//! ```
//!
//! The flags in page 0 say which format a file has. Extents, segments, B+tree pages and records are
//! alike in both.
//!
//! Source: MariaDB 10.11, storage/innobase/buf/buf0checksum.cc, full_crc32; include/fsp0types.h.
//! MySQL 9.7, storage/innobase/buf/checksum.cc; include/fsp0types.h, include/fil0fil.h.

use core::mem::{offset_of, size_of};
use zerocopy::byteorder::big_endian::{U32, U64};

use crate::error::Error;
use crate::extent::{DESCRIPTORS, DESCRIPTORS_PER_PAGE, ExtentDescriptor};
use crate::ids::{FIL_NULL, PAGE_SIZE};
use crate::page::{BODY, FilHeader, PageBytes, TRAILER, fil_header, page_type, u32_at, view};
use crate::source::ReadError;
use crate::space_header::{SPACE_HEADER, SpaceHeader};

/// The format of a tablespace with plain 16 KiB pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceFormat {
    /// MariaDB 10.5 and newer, `innodb_checksum_algorithm=full_crc32`.
    MariaDb,
    /// MySQL 8.0 and newer, `innodb_checksum_algorithm=crc32`, with dictionary pages (SDI).
    MySql,
}

/// The versions in page 0 of MySQL's files. MariaDB writes none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionStamp {
    /// `FIL_PAGE_SRV_VERSION`. The server that made the file: 90704 is 9.7.4.
    pub server: u32,
    /// `FIL_PAGE_SPACE_VERSION`. The tablespace format, 1.
    pub space: u32,
}

/// A checksum that is not that of its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongChecksum {
    /// Byte of the page at which it is stored.
    pub(crate) offset: usize,
    pub(crate) stored: u32,
    pub(crate) computed: u32,
}

/// `FSP_SPACE_FLAGS` of MariaDB's: full_crc32 marker (0x10) and 16 KiB pages (5), nothing else.
const FLAGS_MARIADB: u32 = 0x15;
/// `FSP_SPACE_FLAGS` of MySQL's: dictionary pages (bit 14); DYNAMIC rows have 0x21 besides.
const FLAGS_MYSQL: u32 = 0x4000;
const FLAGS_MYSQL_DYNAMIC: u32 = FLAGS_MYSQL | 0x21;

/// Last four bytes of a page.
const LAST: usize = PAGE_SIZE - size_of::<u32>();
/// Bytes that MySQL's checksum leaves out: `FIL_PAGE_FILE_FLUSH_LSN` and `FIL_PAGE_SPACE_ID`.
const NOT_SUMMED: core::ops::Range<usize> = 26..BODY;
/// Bytes of MySQL's encryption data (`Encryption::INFO_MAX_SIZE`), which follow the descriptors of page 0.
const ENCRYPTION_BYTES: usize = 115;
/// Byte of MySQL's page 0 at which the version of the dictionary pages is; their root page follows.
const DICTIONARY: usize =
    DESCRIPTORS + DESCRIPTORS_PER_PAGE as usize * size_of::<ExtentDescriptor>() + ENCRYPTION_BYTES;

const _: () = {
    assert!(LAST == TRAILER + size_of::<u32>());
    assert!(DICTIONARY == 10_505);
};

impl SpaceFormat {
    /// The format of the file that begins with this page; none of a file that cannot be read.
    ///
    /// ```
    /// use innodb::space_format::SpaceFormat;
    ///
    /// let file = std::fs::read("testdata/mysql-9.7/fresh.ibd")?;
    /// assert_eq!(SpaceFormat::of_first_page(&file), Some(SpaceFormat::MySql));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn of_first_page(page: &[u8]) -> Option<SpaceFormat> {
        SpaceFormat::with_header(page.first_chunk()?).map(|(format, _)| format).ok()
    }

    /// The format of the file that begins with this page, and its space header.
    ///
    /// Errors: a page that is not the first of a file; a format that this crate does not read.
    pub(crate) fn with_header(page: &PageBytes) -> Result<(SpaceFormat, SpaceHeader), ReadError> {
        let page_type = fil_header(page).page_type.get();
        if page_type != page_type::FSP_HDR {
            let (what, seen) = ("FIL_PAGE_TYPE", page_type.into());
            let expected = "8, that of a space header".to_owned();
            return Err(Error::Corrupt { page_no: 0, offset: 24, what, seen, expected }.into());
        }
        let header: SpaceHeader = *view(page, SPACE_HEADER);
        let flags = header.flags.get();
        match SpaceFormat::of_flags(flags) {
            Ok(format) => Ok((format, header)),
            Err(what) => Err(ReadError::Unsupported { flags, what }),
        }
    }

    /// The format that `FSP_SPACE_FLAGS` stand for; else the property that sets the tablespace apart.
    pub(crate) fn of_flags(flags: u32) -> Result<SpaceFormat, &'static str> {
        match flags {
            FLAGS_MARIADB => Ok(SpaceFormat::MariaDb),
            FLAGS_MYSQL | FLAGS_MYSQL_DYNAMIC => Ok(SpaceFormat::MySql),
            _ => Err(flags_name(flags)),
        }
    }

    /// The checksum that belongs to a page with these bytes.
    #[inline]
    pub fn checksum(self, page: &PageBytes) -> u32 {
        match self {
            SpaceFormat::MariaDb => crc32c::crc32c(&page[..LAST]),
            SpaceFormat::MySql => {
                crc32c::crc32c(&page[size_of::<u32>()..NOT_SUMMED.start])
                    ^ crc32c::crc32c(&page[NOT_SUMMED.end..TRAILER])
            }
        }
    }

    /// Writes the checksum of a page whose every other byte is final.
    #[inline]
    pub fn seal(self, page: &mut PageBytes) {
        let sum = self.checksum(page).to_be_bytes();
        for offset in self.checksum_offsets() {
            page[*offset..*offset + sum.len()].copy_from_slice(&sum);
        }
    }

    /// True if a page is as it was sealed. A page of zeros, which was never used, is not.
    pub fn is_intact(self, page: &PageBytes) -> bool {
        self.check(page).is_ok() && fil_header(page).lsn.get() as u32 == self.lsn_low(page)
    }

    /// Gives a page another LSN. A page of zeros, which was never used, stays as it is: false.
    ///
    /// Errors: a page whose checksum is wrong; an encrypted page. It stays as it is.
    pub fn stamp(self, page: &mut PageBytes, lsn: u64) -> Result<bool, Error> {
        let page_no = fil_header(page).page_no.get();
        if let Err(error) = self.expect_intact(page_no, page) {
            return if page.iter().all(|byte| *byte == 0) { Ok(false) } else { Err(error) };
        }
        if self.key_version(page) != 0 {
            let (what, seen) = ("FIL_PAGE_SPACE_OR_CHKSUM", self.key_version(page).into());
            let expected = "0, because the table is not encrypted".to_owned();
            return Err(Error::Corrupt { page_no, offset: 0, what, seen, expected });
        }
        let (at, low) = (offset_of!(FilHeader, lsn), self.lsn_low_offset());
        page[at..at + size_of::<U64>()].copy_from_slice(&lsn.to_be_bytes());
        page[low..low + size_of::<U32>()].copy_from_slice(&(lsn as u32).to_be_bytes());
        self.seal(page);
        Ok(true)
    }

    /// True if the server wants its tablespace's number in every page of a file before it is imported: MySQL does
    /// not start if pages of two files have one number.
    /// Source: MySQL 9.7, storage/innobase/fil/fil0fil.cc, `Fil_system::get_tablespace_id`.
    pub fn is_numbered_throughout(self) -> bool {
        match self {
            SpaceFormat::MariaDb => false,
            SpaceFormat::MySql => true,
        }
    }

    /// Gives a page behind the first the number of another tablespace, if the server wants that. A page of zeros,
    /// which was never used, stays as it is. The number is not in the checksum.
    pub fn renumber_other(self, page: &mut PageBytes, space_id: u32) {
        if self.is_numbered_throughout() && page.iter().any(|byte| *byte != 0) {
            let at = offset_of!(FilHeader, space_id);
            page[at..at + size_of::<U32>()].copy_from_slice(&space_id.to_be_bytes());
        }
    }

    /// Refuses a page `page_no` with a wrong checksum.
    pub(crate) fn expect_intact(self, page_no: u32, page: &PageBytes) -> Result<(), Error> {
        self.check(page).map_err(|WrongChecksum { offset, stored, computed }| {
            let expected = format!("{computed:#x}, that of its contents");
            Error::Corrupt { page_no, offset, what: "checksum", seen: stored.into(), expected }
        })
    }

    /// Compares every stored checksum with that of the page.
    #[inline]
    pub(crate) fn check(self, page: &PageBytes) -> Result<(), WrongChecksum> {
        let computed = self.checksum(page);
        for &offset in self.checksum_offsets() {
            let stored = u32_at(page, offset);
            if stored != computed {
                return Err(WrongChecksum { offset, stored, computed });
            }
        }
        Ok(())
    }

    /// Bytes of a page at which its checksum is stored.
    pub(crate) fn checksum_offsets(self) -> &'static [usize] {
        match self {
            SpaceFormat::MariaDb => &[LAST],
            SpaceFormat::MySql => &[0, TRAILER],
        }
    }

    /// Byte of a page at which the low half of its LSN is repeated.
    pub(crate) fn lsn_low_offset(self) -> usize {
        match self {
            SpaceFormat::MariaDb => TRAILER,
            SpaceFormat::MySql => LAST,
        }
    }

    /// The low half of the LSN, as the trailer repeats it.
    pub(crate) fn lsn_low(self, page: &PageBytes) -> u32 {
        u32_at(page, self.lsn_low_offset())
    }

    /// Number of the key by which a page is encrypted; 0 for a plain one.
    pub(crate) fn key_version(self, page: &PageBytes) -> u32 {
        match self {
            SpaceFormat::MariaDb => fil_header(page).key_version_or_checksum.get(),
            // The flags of page 0 say so of the whole file.
            SpaceFormat::MySql => 0,
        }
    }

    /// Pages of the smallest file that the server opens: with less MySQL ends itself at an IMPORT.
    /// Source: MySQL 9.7, storage/innobase/include/fil0fil.h, `FIL_IBD_FILE_INITIAL_SIZE`; a file of five pages
    /// tried on 9.7.4. MariaDB 10.11, storage/innobase/include/fil0fil.h.
    pub(crate) fn pages_min(self) -> u32 {
        match self {
            SpaceFormat::MariaDb => 4,
            SpaceFormat::MySql => 7,
        }
    }

    /// Number that pages of no index have for each neighbour.
    pub(crate) fn no_neighbour(self) -> u32 {
        match self {
            SpaceFormat::MariaDb => FIL_NULL,
            SpaceFormat::MySql => 0,
        }
    }

    /// True if off-page values may be lists of parts (`lob.rs`), not only chains of pages.
    pub(crate) fn has_lobs(self) -> bool {
        match self {
            SpaceFormat::MariaDb => false,
            SpaceFormat::MySql => true,
        }
    }

    /// True if the clustered root has the last AUTO_INCREMENT value (`PAGE_ROOT_AUTO_INC`). MySQL keeps
    /// it in its dictionary, and the `.cfg` has the next.
    pub(crate) fn has_counter_in_root(self) -> bool {
        match self {
            SpaceFormat::MariaDb => true,
            SpaceFormat::MySql => false,
        }
    }

    /// Root of the dictionary pages, which page 0 names.
    pub(crate) fn dictionary_root(self, first_page: &PageBytes) -> Option<u32> {
        match self {
            SpaceFormat::MariaDb => None,
            SpaceFormat::MySql => Some(u32_at(first_page, DICTIONARY + size_of::<u32>())),
        }
    }

    /// The versions in page 0, where a page has its neighbours.
    pub fn version_stamp(self, first_page: &PageBytes) -> Option<VersionStamp> {
        let header = fil_header(first_page);
        match self {
            SpaceFormat::MariaDb => None,
            SpaceFormat::MySql => {
                Some(VersionStamp { server: header.prev.get(), space: header.next.get() })
            }
        }
    }
}

/// Gives the first page of a file the number of another tablespace, and its checksum. IMPORT writes
/// that number into all other pages; before it, MariaDB looks for it in this one alone, and MySQL in all
/// ([`SpaceFormat::renumber_other`]).
///
/// Errors: a page that is not the first of a file this crate reads; it stays as it is.
pub fn renumber(page: &mut PageBytes, space_id: u32) -> Result<SpaceFormat, ReadError> {
    let (format, _) = SpaceFormat::with_header(page)?;
    for at in [offset_of!(FilHeader, space_id), SPACE_HEADER + offset_of!(SpaceHeader, space_id)] {
        page[at..at + size_of::<U32>()].copy_from_slice(&space_id.to_be_bytes());
    }
    format.seal(page);
    Ok(format)
}

/// Property that keeps a tablespace from being read.
fn flags_name(flags: u32) -> &'static str {
    /// full_crc32, and in such a space the page size and the page compression.
    const FULL_CRC32: u32 = 0x10;
    const FULL_CRC32_PAGE_SIZE: u32 = 0x0F;
    const FULL_CRC32_COMPRESSED: u32 = 0xE0;
    /// In a space of another kind: the page size of ROW_FORMAT=COMPRESSED, another page size.
    const ZIP: u32 = 0x1E;
    const OTHER_PAGE_SIZE: u32 = 0x3C0;
    /// In one of MySQL's.
    const ENCRYPTION: u32 = 0x2000;
    const SHARED: u32 = 0x800;
    match flags {
        _ if flags & FULL_CRC32 != 0 && flags & FULL_CRC32_COMPRESSED != 0 => "page compression",
        _ if flags & FULL_CRC32 != 0 && flags & FULL_CRC32_PAGE_SIZE != 5 => "another page size",
        _ if flags & FULL_CRC32 != 0 => "unknown flags",
        _ if flags & ZIP != 0 => "ROW_FORMAT=COMPRESSED",
        _ if flags & OTHER_PAGE_SIZE != 0 => "another page size",
        _ if flags & FLAGS_MYSQL != 0 && flags & ENCRYPTION != 0 => "encryption",
        _ if flags & FLAGS_MYSQL != 0 && flags & SHARED != 0 => "a file of several tables",
        _ if flags & FLAGS_MYSQL != 0 => "unknown flags",
        _ => "innodb_checksum_algorithm other than full_crc32",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MARIADB: &[u8] = include_bytes!("../testdata/mariadb-10.11/orders.ibd");
    const MYSQL: &[u8] = include_bytes!("../testdata/mysql-9.7/items.ibd");

    #[test]
    fn the_flags_of_servers_files_say_their_format() {
        assert_eq!(SpaceFormat::of_first_page(MARIADB), Some(SpaceFormat::MariaDb));
        assert_eq!(SpaceFormat::of_first_page(MYSQL), Some(SpaceFormat::MySql));
        assert_eq!(SpaceFormat::of_first_page(&MYSQL[PAGE_SIZE..]), None);
        assert_eq!(SpaceFormat::of_first_page(&MYSQL[..100]), None);
        // As MySQL 9.7.4 writes them.
        for (flags, name) in [
            (0x4029, "ROW_FORMAT=COMPRESSED"),
            (0x6021, "encryption"),
            (0x4121, "another page size"),
            (0x0021, "innodb_checksum_algorithm other than full_crc32"),
        ] {
            assert_eq!(SpaceFormat::of_flags(flags), Err(name), "{flags:#x}");
        }
    }

    #[test]
    fn page_0_of_mysql_has_versions_and_the_root_of_the_dictionary() {
        let (mysql, mariadb) = (MYSQL.first_chunk().unwrap(), MARIADB.first_chunk().unwrap());
        let stamp = VersionStamp { server: 90_704, space: 1 };
        assert_eq!(SpaceFormat::MySql.version_stamp(mysql), Some(stamp));
        assert_eq!(SpaceFormat::MySql.dictionary_root(mysql), Some(3));
        assert_eq!(SpaceFormat::MariaDb.version_stamp(mariadb), None);
        assert_eq!(SpaceFormat::MariaDb.dictionary_root(mariadb), None);
    }

    #[test]
    fn a_stamped_page_differs_in_its_lsn_and_checksum_alone() {
        let lsn = 0x0123_4567_89AB_CDEF;
        for path in ["testdata/mariadb-10.11/orders.ibd", "testdata/mysql-9.7/items.ibd"] {
            let file = std::fs::read(path).unwrap();
            let before: &PageBytes = file.first_chunk().unwrap();
            let format = SpaceFormat::of_first_page(before).unwrap();
            let mut page = *before;
            assert_eq!(format.stamp(&mut page, lsn), Ok(true));
            assert_eq!(FilHeader::parse(&page).unwrap().lsn.get(), lsn);
            assert_eq!(format.lsn_low(&page), 0x89AB_CDEF);
            assert!(format.is_intact(&page));
            let mut changed: Vec<usize> = (16..24).chain(TRAILER..PAGE_SIZE).collect();
            changed.extend(format.checksum_offsets().iter().flat_map(|at| *at..at + 4));
            let differs = (0..PAGE_SIZE).filter(|&at| page[at] != before[at]);
            assert!(differs.into_iter().all(|at| changed.contains(&at)), "{path}");
            let stamped = page;
            page[5_000] ^= 1;
            let damaged = page;
            assert!(format.stamp(&mut page, 7).is_err());
            assert_eq!(page, damaged);
            page = stamped;
            assert_eq!(format.stamp(&mut page, fil_header(before).lsn.get()), Ok(true));
            assert_eq!(page, *before);
            let mut unused = [0; PAGE_SIZE];
            assert_eq!(format.stamp(&mut unused, lsn), Ok(false));
            assert_eq!(unused, [0; PAGE_SIZE]);
        }
        let mut encrypted: PageBytes = *MARIADB.first_chunk().unwrap();
        encrypted[3] = 1;
        SpaceFormat::MariaDb.seal(&mut encrypted);
        assert!(SpaceFormat::MariaDb.stamp(&mut encrypted, lsn).is_err());
    }

    #[test]
    fn a_renumbered_page_differs_in_its_number_and_checksum_alone() {
        for path in ["testdata/mariadb-10.11/orders.ibd", "testdata/mysql-9.7/items.ibd"] {
            let file = std::fs::read(path).unwrap();
            let before: &PageBytes = file.first_chunk().unwrap();
            let format = SpaceFormat::of_first_page(before).unwrap();
            let mut page = *before;
            renumber(&mut page, 4_711).unwrap();
            assert_eq!(FilHeader::parse(&page).unwrap().space_id.get(), 4_711);
            assert!(format.is_intact(&page));
            let mut changed: Vec<usize> = (34..42).collect();
            for at in format.checksum_offsets() {
                changed.extend(*at..at + 4);
            }
            let differs = (0..PAGE_SIZE).filter(|&at| page[at] != before[at]);
            assert!(differs.into_iter().all(|at| changed.contains(&at)), "{path}");
            let old = FilHeader::parse(before).unwrap().space_id.get();
            renumber(&mut page, old).unwrap();
            assert_eq!(page, *before);
            let mut other: PageBytes = *file[4 * PAGE_SIZE..].first_chunk().unwrap();
            format.renumber_other(&mut other, 4_711);
            let now = FilHeader::parse(&other).unwrap().space_id.get();
            assert_eq!(now, if format == SpaceFormat::MySql { 4_711 } else { old });
            assert!(format.is_intact(&other));
            let mut unused = [0; PAGE_SIZE];
            format.renumber_other(&mut unused, 4_711);
            assert_eq!(unused, [0; PAGE_SIZE]);
        }
    }
}
