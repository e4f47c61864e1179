//! A tablespace for people to read: totals of the file, or one page in full.
//!
//! Data only; the command line prints it. Names of fields are the server's.
#![forbid(unsafe_code)]

mod fields;

use std::collections::BTreeMap;

use innodb::extent::{DESCRIPTORS, DESCRIPTORS_PER_PAGE, ExtentDescriptor, NODE, state};
use innodb::ids::{FIL_NULL, PAGE_SIZE, PAGES_PER_EXTENT, PageNo};
use innodb::index_page::{
    COMPACT_FLAG, DIRECTORY_END, HEAP, INFIMUM, PAGE_HEADER, PageHeader, SUPREMUM, next_record,
};
use innodb::list::{FilAddr, ListBase};
use innodb::lob::Part;
use innodb::page::{BODY, PageBytes, fil_header, page_type, u16_at, view};
use innodb::record::RECORD_HEADER;
use innodb::segment::{INODES, INODES_PER_PAGE, SegmentInode};
use innodb::source::{PageSource, ReadError, page_buffer, read_page};
use innodb::space_format::SpaceFormat;
use innodb::space_map::SpaceMap;
use innodb::verify::{Context, IndexReport, PageKind, PageSummary, RUN_PAGES, Report, Verifier};

use core::mem::offset_of;

use fields::{fil_fields, index_fields, part_fields, space_fields, trailer_fields};

/// Sums over a whole file.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The allocation structures.
    pub map: SpaceMap,
    /// Pages of each kind.
    pub kinds: BTreeMap<PageKind, u64>,
    /// Indexes, the clustered one first.
    pub indexes: Vec<IndexReport>,
    /// Bytes of off-page values.
    pub off_page_bytes: u64,
    /// The verifier's report, if requested.
    pub report: Option<Report>,
}

impl Survey {
    /// Reads every page of a file of `file_bytes` bytes; `verify` says whether to check them.
    ///
    /// Errors: a source that fails, a file that is not a tablespace this crate reads.
    ///
    /// ```
    /// use innodb::verify::Context;
    /// use inspect::Survey;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let file = std::fs::File::open("../innodb/testdata/mariadb-10.11/orders.ibd")?;
    /// let survey = Survey::read(&file, file.metadata()?.len(), Context::unknown(), true)?;
    /// for index in &survey.indexes {
    ///     println!("{}: {} records on {} pages", index.name, index.records(), index.pages());
    /// }
    /// assert!(survey.report.is_some_and(|report| report.violations.is_empty()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn read(
        source: &dyn PageSource,
        file_bytes: u64,
        context: Context<'_>,
        verify: bool,
    ) -> Result<Survey, ReadError> {
        let verifier = Verifier::new(source, file_bytes, context)?;
        let mut summaries = vec![PageSummary::default(); verifier.map().pages as usize];
        let mut worker = verifier.worker();
        let mut pages = vec![0; RUN_PAGES * PAGE_SIZE];
        for (run, summaries) in summaries.chunks_mut(RUN_PAGES).enumerate() {
            let page_no = (run * RUN_PAGES) as u32;
            let pages = &mut pages[..summaries.len() * PAGE_SIZE];
            source
                .read(PageNo(page_no), pages)
                .map_err(|source| ReadError::Source { page_no, source })?;
            match verify {
                true => worker.verify(PageNo(page_no), pages, summaries)?,
                false => verifier.summarise(PageNo(page_no), pages, summaries),
            }
        }
        let mut kinds = BTreeMap::new();
        for summary in &summaries {
            *kinds.entry(summary.kind).or_default() += 1;
        }
        let off_page = summaries.iter().filter(|summary| summary.kind == PageKind::OffPage);
        let off_page_bytes = off_page.map(|summary| u64::from(summary.records)).sum();
        let indexes = verifier.count(&summaries);
        let report = verify
            .then(|| verifier.finish(&summaries, vec![worker.into_findings()]))
            .transpose()?;
        Ok(Survey { map: verifier.map().clone(), kinds, indexes, off_page_bytes, report })
    }
}

/// One page, taken apart.
#[derive(Clone, Debug)]
pub struct PageView {
    /// Number.
    pub page_no: u32,
    /// Its kind, by its type.
    pub kind: PageKind,
    /// Header fields in the order of their bytes, and the trailer.
    pub fields: Vec<Field>,
    /// The checksum its bytes should have.
    pub checksum: u32,
    /// Directory slots of an index page, infimum first.
    pub slots: Vec<Slot>,
    /// Records of an index page, infimum first, as far as their chain is sound.
    pub records: Vec<RecordView>,
    /// Why the records end early.
    pub broken: Option<String>,
    /// Extents of a descriptor page that are initialised.
    pub extents: Vec<ExtentView>,
    /// Segments of an inode page.
    pub segments: Vec<SegmentView>,
    /// First bytes of the body of a page of any other type.
    pub bytes: Vec<u8>,
}

/// A field of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Byte of the page.
    pub offset: usize,
    /// The server's name.
    pub name: &'static str,
    /// Value.
    pub value: FieldValue,
}

/// Value of a [`Field`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// A count, number or size.
    Number(u64),
    /// Bits.
    Bits(u32),
    /// A checksum: [`PageView::checksum`] on a sound page.
    Checksum(u32),
    /// A page, or none.
    Page(u32),
    /// A place in a page, or none.
    Address(FilAddr),
    /// A list of extents or pages.
    List(ListBase),
}

/// A directory slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Origin of the record it points to.
    pub origin: usize,
    /// Records that record owns, itself included.
    pub owned: u8,
}

/// A record of an index page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordView {
    /// First byte of its data.
    pub origin: usize,
    /// Heap number.
    pub heap_number: u16,
    /// 0 leaf, 1 node pointer, 2 infimum, 3 supremum.
    pub status: u8,
    /// Info bits: 0x10 minimum of its level, 0x20 deleted.
    pub info: u8,
    /// Records it owns, 0 for none.
    pub owned: u8,
    /// Origin of the next record.
    pub next: usize,
    /// The first bytes of its data.
    pub bytes: Vec<u8>,
}

/// An extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtentView {
    /// First page.
    pub first_page: u32,
    /// See [`state`].
    pub state: u32,
    /// Segment that owns it, else 0.
    pub segment_id: u64,
    /// Used pages.
    pub used: u32,
    /// Extent before it on its list.
    pub prev: FilAddr,
    /// Extent after it on its list.
    pub next: FilAddr,
}

/// A segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentView {
    /// Byte of the page.
    pub offset: usize,
    /// Id.
    pub id: u64,
    /// Used pages of the extents with some free pages.
    pub not_full_used: u32,
    /// Extents without a used page, with some, and without a free page.
    pub lists: [ListBase; 3],
    /// Pages owned singly.
    pub fragments: Vec<u32>,
}

/// Data bytes shown of a record.
const RECORD_BYTES: usize = 16;
/// Bytes shown of a page of no structure.
const BODY_BYTES: usize = 256;

impl PageView {
    /// Takes a page apart. Any bytes can be given; what is no tablespace of MySQL is read as one of MariaDB.
    ///
    /// Errors: a source that fails.
    ///
    /// ```
    /// use innodb::{ids::PageNo, verify::PageKind};
    /// use inspect::PageView;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let file = std::fs::File::open("../innodb/testdata/mariadb-10.11/orders.ibd")?;
    /// let page = PageView::read(&file, PageNo(3))?;
    /// assert_eq!(page.kind, PageKind::Index);
    /// assert!(page.broken.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn read(source: &dyn PageSource, page_no: PageNo) -> Result<PageView, ReadError> {
        let mut page = page_buffer();
        read_page(source, 0, &mut page)?;
        let format = SpaceFormat::of_first_page(&page[..]).unwrap_or(SpaceFormat::MariaDb);
        read_page(source, page_no.0, &mut page)?;
        Ok(PageView::of(format, page_no.0, &page))
    }

    fn of(format: SpaceFormat, page_no: u32, page: &PageBytes) -> PageView {
        let mut view = PageView {
            page_no,
            kind: PageKind::of(format, fil_header(page).page_type.get()),
            fields: fil_fields(format, page),
            checksum: format.checksum(page),
            slots: Vec::new(),
            records: Vec::new(),
            broken: None,
            extents: Vec::new(),
            segments: Vec::new(),
            bytes: Vec::new(),
        };
        match view.kind {
            PageKind::SpaceHeader => {
                view.fields.extend(space_fields(page));
                view.extents = extents(page_no, page);
            }
            PageKind::Descriptors => view.extents = extents(page_no, page),
            PageKind::Inodes => view.segments = segments(page),
            PageKind::Index | PageKind::RTree => view.add_records(page),
            PageKind::Dictionary if fil_header(page).page_type.get() == page_type::SDI => {
                view.add_records(page);
            }
            PageKind::OffPage => {
                view.fields.extend(part_fields(page));
                let data = Part::of(page).map_or(BODY, |part| part.room.start);
                view.bytes = page[data..data + BODY_BYTES].to_vec();
            }
            _ => view.bytes = page[BODY..BODY + BODY_BYTES].to_vec(),
        }
        view.fields.extend(trailer_fields(format, page));
        view
    }

    fn add_records(&mut self, page: &PageBytes) {
        self.fields.extend(index_fields(page));
        self.slots = slots(page);
        (self.records, self.broken) = records(page);
    }
}

fn slots(page: &PageBytes) -> Vec<Slot> {
    let header: &PageHeader = view(page, PAGE_HEADER);
    let count = usize::from(header.directory_slots.get()).min((DIRECTORY_END - HEAP) / 2);
    let slot = |slot: usize| {
        let origin = usize::from(u16_at(page, DIRECTORY_END - 2 * (slot + 1)));
        let owned = match (RECORD_HEADER..PAGE_SIZE).contains(&origin) {
            true => page[origin - RECORD_HEADER] & 0x0F,
            false => 0,
        };
        Slot { origin, owned }
    };
    (0..count).map(slot).collect()
}

/// The records in key order, and why they end before the supremum if they do.
fn records(page: &PageBytes) -> (Vec<RecordView>, Option<String>) {
    let header: &PageHeader = view(page, PAGE_HEADER);
    if header.heap_records.get() & COMPACT_FLAG == 0 {
        return (Vec::new(), Some("records of ROW_FORMAT=REDUNDANT are not shown".into()));
    }
    let records_max = usize::from(header.heap_records.get() & !COMPACT_FLAG).max(2);
    let mut records = vec![record(page, INFIMUM)];
    let mut origin = INFIMUM;
    while origin != SUPREMUM {
        let next = next_record(page, origin);
        if !(SUPREMUM..=DIRECTORY_END).contains(&next) || records.len() >= records_max {
            let broken = format!("record at {origin} is followed by {next}, which is no record");
            return (records, Some(broken));
        }
        records.push(record(page, next));
        origin = next;
    }
    (records, None)
}

fn record(page: &PageBytes, origin: usize) -> RecordView {
    let number = u16_at(page, origin - 4);
    let info = page[origin - RECORD_HEADER];
    RecordView {
        origin,
        heap_number: number >> 3,
        status: (number & 7) as u8,
        info: info & 0xF0,
        owned: info & 0x0F,
        next: next_record(page, origin),
        bytes: page[origin..(origin + RECORD_BYTES).min(PAGE_SIZE)].to_vec(),
    }
}

fn extents(page_no: u32, page: &PageBytes) -> Vec<ExtentView> {
    let mut extents = Vec::new();
    for index in 0..DESCRIPTORS_PER_PAGE {
        let offset = DESCRIPTORS + index as usize * size_of::<ExtentDescriptor>();
        let extent: &ExtentDescriptor = view(page, offset);
        if extent.state.get() == state::NOT_INITED {
            continue;
        }
        extents.push(ExtentView {
            first_page: page_no.saturating_add(index * PAGES_PER_EXTENT),
            state: extent.state.get(),
            segment_id: extent.segment_id.get(),
            used: (0..PAGES_PER_EXTENT).filter(|page| !extent.is_free(*page)).count() as u32,
            prev: extent.node.prev,
            next: extent.node.next,
        });
    }
    debug_assert!(NODE == offset_of!(ExtentDescriptor, node), "addresses point at the node");
    extents
}

fn segments(page: &PageBytes) -> Vec<SegmentView> {
    let mut segments = Vec::new();
    for slot in 0..INODES_PER_PAGE {
        let offset = INODES + slot * size_of::<SegmentInode>();
        let inode: &SegmentInode = view(page, offset);
        if inode.segment_id.get() == 0 {
            continue;
        }
        let fragments = inode.fragments.iter().map(|page_no| page_no.get());
        segments.push(SegmentView {
            offset,
            id: inode.segment_id.get(),
            not_full_used: inode.not_full_used.get(),
            lists: [inode.free, inode.not_full, inode.full],
            fragments: fragments.filter(|page_no| *page_no != FIL_NULL).collect(),
        });
    }
    segments
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const IBD: &[u8] = include_bytes!("../../innodb/testdata/mariadb-10.11/t.ibd");

    fn mysql(name: &str) -> Vec<u8> {
        std::fs::read(format!("../innodb/testdata/mysql-9.7/{name}.ibd")).unwrap()
    }

    #[test]
    fn an_empty_table_is_told_page_by_page() {
        let survey = Survey::read(&IBD, IBD.len() as u64, Context::unknown(), true).unwrap();
        assert!(survey.report.unwrap().violations.is_empty());
        assert_eq!(survey.kinds[&PageKind::Index], 4);
        assert_eq!(survey.indexes.len(), 4);
        let first = PageView::read(&IBD, PageNo(0)).unwrap();
        let size = first.fields.iter().find(|field| field.name == "FSP_SIZE").unwrap();
        assert_eq!((size.offset, size.value), (46, FieldValue::Number(survey.map.pages.into())));
        assert_eq!((first.extents.len(), first.extents[0].state), (1, state::FREE_FRAG));
        let inodes = PageView::read(&IBD, PageNo(2)).unwrap();
        assert_eq!(inodes.segments.len(), 8);
        let root = PageView::read(&IBD, PageNo(3)).unwrap();
        let origins: Vec<_> = root.records.iter().map(|record| record.origin).collect();
        assert_eq!((origins, root.broken), (vec![INFIMUM, SUPREMUM], None));
    }

    #[test]
    fn page_0_of_mysql_has_names_of_its_own() {
        for (name, flags) in [("fresh", 0x4021), ("items", 0x4021), ("compact", 0x4000)] {
            let view = PageView::read(&mysql(name), PageNo(0)).unwrap();
            let value = |name| {
                let field = view.fields.iter().find(|field| field.name == name);
                field.map(|field| (field.offset, field.value))
            };
            assert_eq!(value("FSP_SPACE_FLAGS"), Some((54, FieldValue::Bits(flags))));
            assert_eq!(value("FIL_PAGE_SRV_VERSION"), Some((8, FieldValue::Number(90_704))));
            assert_eq!(value("FIL_PAGE_SPACE_VERSION"), Some((12, FieldValue::Number(1))));
            let checksum = FieldValue::Checksum(view.checksum);
            assert_eq!(value("FIL_PAGE_SPACE_OR_CHKSUM"), Some((0, checksum)));
            assert_eq!(value("FIL_PAGE_END_LSN_OLD_CHKSUM"), Some((16_376, checksum)));
            assert_eq!(value("FIL_PAGE_PREV"), None);
        }
    }

    #[test]
    fn pages_of_long_values_are_counted() {
        let items = mysql("items");
        let survey = Survey::read(&items, items.len() as u64, Context::unknown(), true).unwrap();
        assert_eq!(survey.off_page_bytes, 163_200);
        assert_eq!(survey.kinds[&PageKind::OffPage], 11);
        assert_eq!(survey.kinds[&PageKind::OffPageIndex], 1);
        assert_eq!(survey.kinds[&PageKind::Dictionary], 1);
    }

    proptest! {
        #[test]
        fn any_page_can_be_shown(
            bytes in proptest::collection::vec(any::<u8>(), PAGE_SIZE),
            page_type in prop_oneof![Just(17_855_u16), Just(3), Just(8), Just(9), Just(10), 18_u16..25, any::<u16>()],
        ) {
            let mut page = page_buffer();
            page.copy_from_slice(&bytes);
            page[24..26].copy_from_slice(&page_type.to_be_bytes());
            PageView::of(SpaceFormat::MariaDb, 7, &page);
            PageView::of(SpaceFormat::MySql, 7, &page);
        }
    }
}
