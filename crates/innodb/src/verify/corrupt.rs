//! The verifier's report of a broken rule.

use core::fmt;

use crate::ids::PageNo;

/// One broken rule: where, what was seen, what was expected. Displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corrupt {
    /// Page that breaks the rule.
    pub page: PageNo,
    /// Byte of that page, where one byte is to blame.
    pub offset: Option<usize>,
    /// The rule.
    pub rule: Rule,
    /// The page's contents.
    pub seen: String,
    /// The rule's demand.
    pub expected: String,
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {}", self.page.0)?;
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        write!(f, ": {}; expected {}", self.seen, self.expected)
    }
}

impl Corrupt {
    #[cold]
    pub(crate) fn at(
        page: u32,
        offset: usize,
        rule: Rule,
        seen: impl Into<String>,
        expected: impl Into<String>,
    ) -> Corrupt {
        let (seen, expected) = (seen.into(), expected.into());
        Corrupt { page: PageNo(page), offset: Some(offset), rule, seen, expected }
    }

    #[cold]
    pub(crate) fn page(
        page: u32,
        rule: Rule,
        seen: impl Into<String>,
        expected: impl Into<String>,
    ) -> Corrupt {
        let (seen, expected) = (seen.into(), expected.into());
        Corrupt { page: PageNo(page), offset: None, rule, seen, expected }
    }
}

/// The rules, grouped as the verifier checks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// The file is a whole number of pages, as many as the space header says.
    FileSize,
    /// The CRC-32C of the page is right.
    Checksum,
    /// The page is not encrypted.
    Encrypted,
    /// The page carries its own number.
    PageNumber,
    /// The page carries the number of its space.
    SpaceId,
    /// The two copies of the log sequence number agree; 0 in a file built for import.
    Lsn,
    /// The type of the page fits its place and owner.
    PageType,
    /// A free page of a file built for import is all zero; a used page never is.
    FreePage,
    /// Flags of the space are those of the format.
    SpaceFlags,
    /// Initialised descriptors reach as far as the free limit says.
    FreeLimit,
    /// State, owner and bitmap of an extent agree.
    Extent,
    /// A list on disk is well linked, complete, and counts right.
    List,
    /// Counts of used pages in the space header and the inodes are right.
    UsedCount,
    /// A segment inode is sane and belongs to one half of one index.
    Segment,
    /// Every used page belongs to exactly one owner.
    PageOwner,
    /// The change buffer bitmap asks for nothing.
    ChangeBuffer,
    /// Header of an index page.
    PageHeader,
    /// Infimum and supremum.
    SystemRecord,
    /// The records of a page are a chain from infimum to supremum.
    RecordChain,
    /// Heap numbers are unique and in range.
    HeapNumber,
    /// A record lies in the heap and on no other record.
    RecordBounds,
    /// Kind and info bits of a record fit its page.
    RecordStatus,
    /// Exactly the leftmost node pointer of a level is marked as its minimum.
    MinRecord,
    /// No record is marked as deleted in a file built for import.
    DeleteMark,
    /// Directory slots point at the records that own the right number of records.
    Directory,
    /// Deleted records of a page are a chain.
    FreeList,
    /// DB_TRX_ID and DB_ROLL_PTR are those of rows visible to all.
    SystemColumn,
    /// Records ascend by the key of the index.
    Order,
    /// A unique key occurs once.
    Unique,
    /// A reference to an off-page value is well formed.
    Reference,
    /// A page of an off-page value is well formed, and its chain has the length referenced.
    OffPage,
    /// The root of an index is where the dictionary says and has no siblings.
    Root,
    /// A child is one level below its parent.
    Level,
    /// Siblings point at each other, in the order of their node pointers.
    Sibling,
    /// Every page of a tree but the root is pointed at once, by a key not above its first.
    NodePointer,
    /// All indexes have the same number of records.
    RecordCount,
}

/// Violations found, at most a few of them kept.
#[derive(Clone, Debug)]
pub struct Violations {
    kept: Vec<Corrupt>,
    count: u64,
}

/// Violations kept; a broken file can have millions.
const KEPT_MAX: usize = 1_000;

impl Default for Violations {
    fn default() -> Violations {
        Violations::new()
    }
}

impl Violations {
    /// None yet.
    pub fn new() -> Violations {
        Violations { kept: Vec::new(), count: 0 }
    }

    /// Adds one.
    pub fn push(&mut self, corrupt: Corrupt) {
        self.count += 1;
        if self.kept.len() < KEPT_MAX {
            self.kept.push(corrupt);
        }
    }

    /// Adds those there are.
    pub(crate) fn push_all(&mut self, corrupt: impl IntoIterator<Item = Corrupt>) {
        corrupt.into_iter().for_each(|corrupt| self.push(corrupt));
    }

    /// Adds another's.
    pub fn extend(&mut self, other: Violations) {
        self.count += other.count;
        let room = KEPT_MAX - self.kept.len();
        self.kept.extend(other.kept.into_iter().take(room));
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many there are, kept or not.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first thousand or so.
    pub fn kept(&self) -> &[Corrupt] {
        &self.kept
    }

    /// Sorts those kept by page.
    pub(crate) fn sort(&mut self) {
        self.kept.sort_by_key(|corrupt| (corrupt.page, corrupt.offset));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_reads_as_a_sentence() {
        let at = Corrupt::at(7, 54, Rule::PageHeader, "PAGE_N_RECS is 12", "13");
        assert_eq!(at.to_string(), "page 7, byte 54: PAGE_N_RECS is 12; expected 13");
        let page = Corrupt::page(8, Rule::FreePage, "page is all zero", "a used page");
        assert_eq!(page.to_string(), "page 8: page is all zero; expected a used page");
    }
}
