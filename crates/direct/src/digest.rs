//! Rows in any order, as one number: what was read of the input beside what the server has adopted.

use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::page::{BODY, PageBytes};
use twox_hash::XxHash3_64;

/// Bytes at the end of a page that are not its content.
const TRAILER: usize = 8;

/// How many rows, and pages of their long values, and the sum of the hashes of all. Other rows have
/// another one, but for one in 2^64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    pub(crate) rows: u64,
    pages: u64,
    sum: u64,
}

impl Digest {
    /// Takes in a row: its clustered record as it was encoded.
    #[inline]
    pub(crate) fn add_row(&mut self, record: &[u8]) {
        self.rows += 1;
        self.sum = self.sum.wrapping_add(XxHash3_64::oneshot(record));
    }

    /// Takes in a page of an off-page value.
    pub(crate) fn add_page(&mut self, page_no: PageNo, page: &PageBytes) {
        let content = &page[BODY..PAGE_SIZE - TRAILER];
        self.pages += 1;
        self.sum =
            self.sum.wrapping_add(XxHash3_64::oneshot_with_seed(u64::from(page_no.0), content));
    }

    /// True if there are pages of long values.
    pub(crate) fn has_pages(&self) -> bool {
        self.pages > 0
    }

    /// Takes in all of another, which is empty then.
    pub(crate) fn take(&mut self, other: &mut Digest) {
        let Digest { rows, pages, sum } = std::mem::take(other);
        self.rows += rows;
        self.pages += pages;
        self.sum = self.sum.wrapping_add(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[&[u8]], pages: &[(u32, u8)]) -> Digest {
        let mut digest = Digest::default();
        rows.iter().for_each(|row| digest.add_row(row));
        for (page_no, byte) in pages {
            digest.add_page(PageNo(*page_no), &[*byte; PAGE_SIZE]);
        }
        digest
    }

    #[test]
    fn order_does_not_count_and_all_else_does() {
        let mut parts = of(&[b"b"], &[(4, 1)]);
        parts.take(&mut of(&[b"a"], &[(5, 2)]));
        assert_eq!(parts, of(&[b"a", b"b"], &[(5, 2), (4, 1)]));
        for other in [
            of(&[b"a", b"c"], &[(5, 2), (4, 1)]),
            of(&[b"a", b"b", b"b"], &[(5, 2), (4, 1)]),
            of(&[b"a"], &[(5, 2), (4, 1)]),
            of(&[b"a", b"b"], &[(5, 1), (4, 2)]),
            of(&[b"a", b"b"], &[(5, 2)]),
        ] {
            assert_ne!(parts, other);
        }
    }
}
