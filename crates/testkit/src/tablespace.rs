//! A tablespace the server wrote, read just far enough to build it again and to compare.

use innodb::blob::{BLOB_DATA, BlobHeader, BlobReference};
use innodb::ids::{FIL_NULL, PAGE_SIZE};
use innodb::index_page::{INFIMUM, PAGE_HEADER, PageHeader, SUPREMUM};
use innodb::page::{BODY, FilHeader, page_type};
use innodb::record::{FieldSpan, RecordShape, SystemColumn};
use innodb::space_format::SpaceFormat;
use innodb::value_reader::ValueReader;
use zerocopy::FromBytes;

/// A tablespace in memory.
pub struct Source {
    /// All its pages.
    pub file: Vec<u8>,
}

impl Source {
    /// The bytes of a page.
    pub fn page(&self, page_no: u32) -> &[u8] {
        &self.file[page_no as usize * PAGE_SIZE..][..PAGE_SIZE]
    }

    fn page_type(&self, page_no: u32) -> u16 {
        FilHeader::read_from_prefix(self.page(page_no)).unwrap().0.page_type.get()
    }

    fn level(&self, page_no: u32) -> u16 {
        PageHeader::read_from_prefix(&self.page(page_no)[PAGE_HEADER..]).unwrap().0.level.get()
    }

    /// Origins of the records of a page.
    pub fn origins(&self, page_no: u32) -> Vec<usize> {
        let page = self.page(page_no);
        let (mut origin, mut origins) = (INFIMUM, Vec::new());
        loop {
            let next = u16::from_be_bytes([page[origin - 2], page[origin - 1]]);
            origin = usize::from((origin as u16).wrapping_add(next));
            if origin == SUPREMUM {
                return origins;
            }
            origins.push(origin);
        }
    }

    /// Pages of a tree, level by level from the root, each from left to right.
    pub fn levels(&self, root: u32, node: &RecordShape) -> Vec<Vec<u32>> {
        let (mut levels, mut leftmost) = (Vec::new(), root);
        loop {
            let (mut pages, mut page_no) = (Vec::new(), leftmost);
            while page_no != FIL_NULL {
                pages.push(page_no);
                let frame = FilHeader::read_from_prefix(self.page(page_no)).unwrap().0;
                page_no = frame.next.get();
            }
            levels.push(pages);
            if self.level(leftmost) == 0 {
                return levels;
            }
            let first = self.origins(leftmost)[0];
            let end = node.spans(self.page(leftmost), first, &mut Vec::new()).unwrap().end;
            let child = &self.page(leftmost)[end - 4..end];
            leftmost = u32::from_be_bytes(child.try_into().unwrap());
        }
    }

    /// The value of a field, off-page part included; `None` for NULL.
    pub fn value(&self, page_no: u32, span: &FieldSpan) -> Option<Vec<u8>> {
        let mut value = span.of(self.page(page_no))?.to_vec();
        if span.is_external {
            let reference = value.split_off(value.len() - 20);
            let reference = BlobReference::read_from_bytes(&reference).unwrap();
            let (mut next, local) = (reference.page_no.get(), value.len());
            if next != FIL_NULL && self.page_type(next) == page_type::LOB_FIRST {
                let (mut reader, format) = (ValueReader::default(), SpaceFormat::MySql);
                reader.read(format, &self.file, &reference, &mut value).unwrap();
                return Some(value);
            }
            while next != FIL_NULL {
                let page = self.page(next);
                let header = BlobHeader::read_from_prefix(&page[BODY..]).unwrap().0;
                value.extend_from_slice(&page[BLOB_DATA..][..header.part_len.get() as usize]);
                next = header.next.get();
            }
            // The upper bits say who owns it: REPLACE may have updated a row in place.
            assert_eq!((value.len() - local) as u32, reference.len.get() as u32);
        }
        Some(value)
    }

    /// A page of a tree without what may differ: page numbers, LSN, space id, index id, max trx
    /// id, segment headers, checksum, and in records transaction, child page and off-page place.
    pub fn masked(&self, page_no: u32, leaf: &RecordShape) -> Vec<u8> {
        let mut page = self.page(page_no).to_vec();
        for range in [0..24, 26..38, 56..64, 66..94, PAGE_SIZE - 8..PAGE_SIZE] {
            page[range].fill(0);
        }
        let level = self.level(page_no);
        let node = leaf.to_node();
        let shape = if level == 0 { leaf } else { &node };
        let mut spans = Vec::new();
        for origin in self.origins(page_no) {
            let record = shape.spans(self.page(page_no), origin, &mut spans).unwrap();
            if level != 0 {
                page[record.end - 4..record.end].fill(0);
            }
            for (field, span) in shape.fields.iter().zip(&spans) {
                let end = span.start + span.len;
                match field.system {
                    Some(SystemColumn::TrxId | SystemColumn::RollPtr) => {
                        page[span.start..end].fill(0);
                    }
                    _ if span.is_external => page[end - 20..end - 12].fill(0),
                    _ => {}
                }
            }
        }
        page
    }
}
