//! Errors of this crate: one enum, one sentence each.

/// Errors of this crate.
///
/// Nothing here is caused by a row of the user's data; those never reach this crate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A `.cfg` file that ends too early, goes on too long, or holds an impossible value.
    #[error(".cfg file, byte {offset}: {what} is {seen}, expected {expected}")]
    Cfg {
        /// Byte of the file.
        offset: usize,
        /// Field of the file.
        what: &'static str,
        /// The file's contents.
        seen: String,
        /// The expected contents.
        expected: String,
    },
    /// The table uses something this crate does not write.
    #[error("{what} is {seen}, but only {expected} can be written directly")]
    Unsupported {
        /// Property of the table or tablespace.
        what: &'static str,
        /// Its value.
        seen: String,
        /// The supported value.
        expected: &'static str,
    },
    /// A template tablespace that is not demonstrably empty and understood.
    #[error("template page {page_no}: {what} is {seen}, expected {expected}")]
    Template {
        /// Page of the file.
        page_no: u32,
        /// Field of the page.
        what: &'static str,
        /// The page's contents.
        seen: String,
        /// The contents of an empty table there.
        expected: String,
    },
    /// An index names a column that the `.cfg` file does not list, as for virtual columns.
    #[error("index {index} has a column {column} that the .cfg file does not list")]
    UnknownColumn {
        /// Name of the index.
        index: String,
        /// Name of the column.
        column: String,
    },
    /// A page whose bytes contradict the format.
    #[error("page {page_no}, byte {offset}: {what} is {seen}, expected {expected}")]
    Corrupt {
        /// Page of the file; `FIL_NULL` when bytes were parsed outside a file.
        page_no: u32,
        /// Byte of the page.
        offset: usize,
        /// Field or structure.
        what: &'static str,
        /// The page's value.
        seen: u64,
        /// The format's demand.
        expected: String,
    },
    /// A record that does not fit a page, and has no column left to store off page.
    #[error("a record of {bytes} bytes does not fit a page, which has room for {bytes_max}")]
    RecordTooLarge {
        /// Bytes of the record, header included.
        bytes: usize,
        /// Most bytes it may have.
        bytes_max: usize,
    },
    /// The tablespace would have more pages than a page number can count.
    #[error("the tablespace would need more than {pages_max} pages")]
    SpaceFull {
        /// Most pages a tablespace can have.
        pages_max: u32,
    },
}

/// Result of this crate.
pub type Result<T> = core::result::Result<T, Error>;
