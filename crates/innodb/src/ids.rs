//! Numbers that must not be mixed, each with a type of its own.

/// Size of every page this crate reads and writes, in bytes.
pub const PAGE_SIZE: usize = 16_384;
/// Pages in an extent: 1 MiB.
pub const PAGES_PER_EXTENT: u32 = 64;
/// Pages described by one descriptor page, itself included.
pub const PAGES_PER_XDES: u32 = 16_384;
/// "No page" in every 4-byte page number field (`FIL_NULL`).
pub const FIL_NULL: u32 = 0xFFFF_FFFF;

const _: () = {
    assert!(PAGE_SIZE * PAGES_PER_EXTENT as usize == 1 << 20);
    assert!(PAGES_PER_XDES.is_multiple_of(PAGES_PER_EXTENT));
};

/// Number of a page in its space; page `n` starts at byte `n * PAGE_SIZE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageNo(pub u32);

/// Number of a tablespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(pub u32);

/// Number of an index, unique in a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexId(pub u64);

impl PageNo {
    /// Byte of the file at which the page starts.
    pub fn file_offset(self) -> u64 {
        u64::from(self.0) * PAGE_SIZE as u64
    }
}
