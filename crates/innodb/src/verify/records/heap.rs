//! The heap of a page: each byte of one record at most, deleted records on a list.

use super::Walk;
use super::header::at;
use crate::index_page::{HEAP, index_header, next_record};
use crate::page::u16_at;
use crate::record::RECORD_HEADER;
use crate::verify::corrupt::{Corrupt, Rule};
use crate::verify::plan::Extent;

impl Walk<'_> {
    /// Claims bytes for a record of a page whose records need not lie in order.
    pub(super) fn mark_bytes(&mut self, start: usize, end: usize) -> Result<(), Corrupt> {
        let mut at = start;
        while at < end {
            let in_word = (64 - at % 64).min(end - at);
            let mask = (u64::MAX >> (64 - in_word)) << (at % 64);
            let word = &mut self.scratch.bytes[at / 64];
            if *word & mask != 0 {
                let seen = format!("record at bytes {start} to {end} lies on another record");
                let expected = "bytes that no other record uses";
                return Err(self.corrupt(start, Rule::RecordBounds, seen, expected));
            }
            *word |= mask;
            at += in_word;
        }
        Ok(())
    }

    /// Deleted and purged records: with the others they make up the heap.
    pub(super) fn check_free_list(&mut self) -> Result<(), Corrupt> {
        let header = index_header(self.page);
        let mut origin = usize::from(header.free.get());
        let mut link = at::FREE;
        let mut freed = 0;
        let mut bytes = 0;
        while origin != 0 {
            if origin < HEAP + RECORD_HEADER || origin > self.heap_top {
                let seen = format!("list of deleted records goes to {origin}");
                let expected = format!("a record between {HEAP} and {}", self.heap_top);
                return Err(self.corrupt(link, Rule::FreeList, seen, expected));
            }
            let number = usize::from(u16_at(self.page, origin - 4) >> 3);
            self.take_heap_number(number, origin)?;
            bytes += self.claim_freed(origin)?;
            freed += 1;
            link = origin - 2;
            let next = u16_at(self.page, link);
            origin = if next == 0 { 0 } else { next_record(self.page, origin) };
        }
        if self.records + freed + 2 != self.heap_records {
            let seen = format!("PAGE_N_HEAP counts {} records", self.heap_records);
            let expected =
                format!("{} records, {freed} deleted records, infimum and supremum", self.records);
            return Err(self.corrupt(at::HEAP_RECORDS, Rule::FreeList, seen, expected));
        }
        let garbage = usize::from(header.garbage.get());
        if bytes > garbage || garbage > self.heap_top - HEAP {
            let seen = format!("PAGE_GARBAGE is {garbage}");
            let expected = format!("{bytes} or more, the bytes of deleted records");
            return Err(self.corrupt(at::GARBAGE, Rule::FreeList, seen, expected));
        }
        Ok(())
    }

    /// Claims the bytes of a deleted record and counts them.
    fn claim_freed(&mut self, origin: usize) -> Result<usize, Corrupt> {
        let (start, end) = match self.plan {
            None => (origin - RECORD_HEADER, origin),
            Some(plan) => match plan.extent(self.page, origin) {
                Some(Extent { start, end, .. }) if start >= HEAP && end <= self.heap_top => {
                    (start, end)
                }
                extent => return Err(self.out_of_bounds(origin, extent)),
            },
        };
        self.mark_bytes(start, end)?;
        Ok(end - start)
    }
}
