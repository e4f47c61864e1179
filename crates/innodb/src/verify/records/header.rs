//! The page header, infimum and supremum.

use core::mem::{offset_of, size_of};

use super::{Walk, slot_offset};
use crate::index_page::{
    DIRECTORY_END, HEAP, INFIMUM, NO_DIRECTION, PAGE_HEADER, PageHeader, SUPREMUM,
};
use crate::page::page_type;
use crate::record::RECORD_HEADER;
use crate::verify::Writer;
use crate::verify::corrupt::{Corrupt, Rule};

/// Bytes of an index page, for messages.
pub(super) mod at {
    use super::{PAGE_HEADER, PageHeader, offset_of, size_of};

    pub(in super::super) const SLOTS: usize = PAGE_HEADER + offset_of!(PageHeader, directory_slots);
    pub(in super::super) const HEAP_TOP: usize = PAGE_HEADER + offset_of!(PageHeader, heap_top);
    pub(in super::super) const HEAP_RECORDS: usize =
        PAGE_HEADER + offset_of!(PageHeader, heap_records);
    pub(in super::super) const FREE: usize = PAGE_HEADER + offset_of!(PageHeader, free);
    pub(in super::super) const GARBAGE: usize = PAGE_HEADER + offset_of!(PageHeader, garbage);
    pub(super) const LAST_INSERT: usize = PAGE_HEADER + offset_of!(PageHeader, last_insert);
    pub(super) const RECORDS: usize = PAGE_HEADER + offset_of!(PageHeader, records);
    pub(super) const LEVEL: usize = PAGE_HEADER + offset_of!(PageHeader, level);
    pub(super) const SEGMENTS: usize = PAGE_HEADER + offset_of!(PageHeader, leaf_segment);
    pub(super) const INFIMUM_START: usize = PAGE_HEADER + size_of::<PageHeader>();
    pub(in super::super) const SUPREMUM_START: usize = INFIMUM_START + 13;
}

const _: () = assert!(at::SUPREMUM_START + 13 == HEAP);

/// Levels above the leaves a tree may have (`BTR_MAX_NODE_LEVEL`).
const LEVEL_MAX: u16 = 50;

impl Walk<'_> {
    pub(super) fn check_header(&self, header: &PageHeader) -> Result<(), Corrupt> {
        let bad = |offset, seen: String, expected: &str| {
            Err(self.corrupt(offset, Rule::PageHeader, seen, expected))
        };
        let directory = DIRECTORY_END.saturating_sub(2 * self.slots);
        if self.slots < 2 || directory < HEAP {
            let seen = format!("PAGE_N_DIR_SLOTS is {}", self.slots);
            return bad(at::SLOTS, seen, "2 or more, as many as fit");
        }
        if self.heap_top < HEAP || self.heap_top > directory {
            let expected = format!("{HEAP} to {directory}, where the directory starts");
            return bad(at::HEAP_TOP, format!("PAGE_HEAP_TOP is {}", self.heap_top), &expected);
        }
        if self.heap_records < 2 || self.heap_records > 2 + (self.heap_top - HEAP) / RECORD_HEADER {
            let seen = format!("PAGE_N_HEAP counts {} records", self.heap_records);
            return bad(at::HEAP_RECORDS, seen, "2 or more, as many as fit the heap");
        }
        let level = header.level.get();
        if level > LEVEL_MAX {
            return bad(at::LEVEL, format!("PAGE_LEVEL is {level}"), "50 or less");
        }
        let in_heap = self.heap_records - 2;
        let built = self.writer == Writer::Loader;
        if self.records > in_heap || built && self.records != in_heap {
            let expected = format!("{in_heap}, the records of the heap");
            return bad(at::RECORDS, format!("PAGE_N_RECS is {}", self.records), &expected);
        }
        if self.records == 0 && self.page_no != self.rules.root {
            return bad(at::RECORDS, "page has no record".into(), "one or more outside the root");
        }
        if built && (header.free.get(), header.garbage.get()) != (0, 0) {
            let (free, garbage) = (header.free.get(), header.garbage.get());
            let seen = format!("PAGE_FREE is {free} and PAGE_GARBAGE {garbage}");
            return bad(at::FREE, seen, "0 and 0 in a page built in order");
        }
        // The server looks for the place of the next record there first.
        let hints =
            (header.last_insert.get(), header.direction.get(), header.direction_count.get());
        if built && hints != (0, NO_DIRECTION, 0) {
            let (last, direction, count) = hints;
            let seen =
                format!("PAGE_LAST_INSERT is {last}, PAGE_DIRECTION {direction}, {count} times");
            return bad(at::LAST_INSERT, seen, "0, 5 and 0 in a page built in order");
        }
        let segments = &self.page[at::SEGMENTS..at::INFIMUM_START];
        if built && self.page_no != self.rules.root && segments.iter().any(|byte| *byte != 0) {
            return bad(at::SEGMENTS, "segment headers".into(), "zeros outside the root");
        }
        Ok(())
    }

    pub(super) fn check_system_records(&self) -> Result<(), Corrupt> {
        // A clustered root that was altered instantly keeps other things in the place of the names.
        let has_names =
            self.page_no != self.rules.root || self.rules.root_type != page_type::INSTANT;
        let infimum = &self.page[at::INFIMUM_START..at::SUPREMUM_START];
        if infimum[..3] != [0x01, 0x00, 0x02] || has_names && infimum[5..] != *b"infimum\0" {
            let seen = format!("infimum is {infimum:02x?}");
            let expected = "01 00 02, the next record, \"infimum\" and 00";
            return Err(self.corrupt(at::INFIMUM_START, Rule::SystemRecord, seen, expected));
        }
        let supremum = &self.page[at::SUPREMUM_START..HEAP];
        if supremum[0] & 0xF0 != 0
            || supremum[1..5] != *b"\0\x0B\0\0"
            || has_names && supremum[5..] != *b"supremum"
        {
            let seen = format!("supremum is {supremum:02x?}");
            let expected = "the owned count, 00 0b 00 00 and \"supremum\"";
            return Err(self.corrupt(at::SUPREMUM_START, Rule::SystemRecord, seen, expected));
        }
        for (slot, origin) in [(0, INFIMUM), (self.slots - 1, SUPREMUM)] {
            if self.slot_origin(slot) != origin {
                let seen = format!("directory slot {slot} is {}", self.slot_origin(slot));
                return Err(self.corrupt(
                    slot_offset(slot),
                    Rule::Directory,
                    seen,
                    origin.to_string(),
                ));
            }
        }
        Ok(())
    }
}
