//! The empty tablespace a server made, from which a full one is built.
//!
//! Root pages, segments, ids and flags are the server's; only what lies between them is ours. A
//! file is taken as a template only if every page of it is understood and no page holds a row.
//!
//! Source: MariaDB 10.11, storage/innobase/fsp/fsp0fsp.cc, `fsp_header_init`; btr/btr0btr.cc,
//! `btr_create`.

use core::mem::size_of;

use crate::cfg::{Cfg, CfgIndex, RowFormat, index_type};
use crate::error::{Error, Result};
use crate::extent::{DESCRIPTORS, ExtentDescriptor, state};
use crate::ids::{FIL_NULL, IndexId, PAGE_SIZE, PAGES_PER_EXTENT, PAGES_PER_XDES, SpaceId};
use crate::index_page::{PAGE_HEADER, PageHeader};
use crate::list::ListNode;
use crate::order::KeyOrder;
use crate::page::{FilHeader, PageBytes, page_type, read_at};
use crate::record::RecordShape;
use crate::segment::{
    INODE_MAGIC, INODE_PAGE_NODE, INODES, INODES_PER_PAGE, SegmentHeader, SegmentInode,
};
use crate::space_format::{SpaceFormat, WrongChecksum};
use crate::space_header::{SPACE_HEADER, SpaceHeader};

/// An empty tablespace, checked.
#[derive(Clone, Debug)]
pub struct Template {
    /// Format of the file.
    pub format: SpaceFormat,
    /// Tablespace id of every page.
    pub space_id: SpaceId,
    /// The row format, which decides the part of an off-page column that stays in the record.
    pub row_format: RowFormat,
    /// Indexes in the order of the `.cfg` file, the clustered one first.
    pub indexes: Vec<TemplateIndex>,
    /// Page 0.
    pub(crate) space_page: Box<PageBytes>,
    /// Pages of segment inodes, with their numbers, ascending.
    pub(crate) inode_pages: Vec<(u32, Box<PageBytes>)>,
    /// MySQL: the only page of the dictionary, with its number. The server puts the table's own
    /// definition there at IMPORT.
    pub(crate) dictionary: Option<(u32, Box<PageBytes>)>,
    /// Two segments an index: top at `2 * index`, leaf after it. The dictionary's are the last.
    pub(crate) segments: Vec<TemplateSegment>,
}

/// An index of a [`Template`].
#[derive(Clone, Debug)]
pub struct TemplateIndex {
    /// Format of the tablespace.
    pub format: SpaceFormat,
    /// Name.
    pub name: String,
    /// Tablespace id.
    pub space_id: SpaceId,
    /// Id that its pages carry.
    pub id: IndexId,
    /// Its root page, which keeps its number.
    pub root: u32,
    /// True if rows are in this index.
    pub is_clustered: bool,
    /// Shape of its leaf records.
    pub shape: RecordShape,
    /// Segment of the root and the other non-leaf pages.
    pub top_segment: SegmentNo,
    /// Segment of the leaves; in a clustered index also of off-page columns.
    pub leaf_segment: SegmentNo,
    pub(crate) top_header: SegmentHeader,
    pub(crate) leaf_header: SegmentHeader,
    /// Order of its keys, as far as it is known without collations: for assertions.
    pub(crate) order: KeyOrder,
}

/// Position of a segment in its [`Template`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentNo(pub(crate) usize);

/// A segment of a [`Template`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct TemplateSegment {
    /// Its id in the file.
    pub(crate) id: u64,
    /// Where its inode is.
    pub(crate) inode_page: u32,
    pub(crate) inode_offset: usize,
    /// The root page in a top segment, none in a leaf segment.
    pub(crate) page: Option<u32>,
}

impl Template {
    /// Reads an exported `.ibd` and the `.cfg` exported with it.
    ///
    /// Errors: [`Error::Unsupported`] for a table this crate does not write, [`Error::Template`] for a file that is not
    /// demonstrably empty, errors of [`RecordShape::leaf`].
    ///
    /// ```
    /// use innodb::{cfg::Cfg, template::Template};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cfg = Cfg::parse(&std::fs::read("testdata/mariadb-10.11/t.cfg")?)?;
    /// let template = Template::parse(&std::fs::read("testdata/mariadb-10.11/t.ibd")?, &cfg)?;
    /// assert_eq!(template.clustered().root, 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn parse(ibd: &[u8], cfg: &Cfg) -> Result<Template> {
        let row_format = cfg.row_format()?;
        check_cfg(cfg)?;
        let file = File::open(ibd)?;
        if file.format != cfg.format() {
            return Err(Error::Unsupported {
                what: "tablespace format",
                seen: format!("{:?} with a .cfg file of {:?}", file.format, cfg.format()),
                expected: "files of one server",
            });
        }
        let mut template = Template {
            format: file.format,
            space_id: file.space_id,
            row_format,
            indexes: Vec::with_capacity(cfg.indexes.len()),
            space_page: Box::new(*file.page(0)?),
            inode_pages: Vec::new(),
            dictionary: None,
            segments: Vec::with_capacity(2 * cfg.indexes.len()),
        };
        for index in &cfg.indexes {
            template.add_index(&file, cfg, index)?;
        }
        if let Some(root) = file.format.dictionary_root(&template.space_page) {
            template.add_dictionary(&file, root)?;
        }
        file.check_nothing_else(&template)?;
        Ok(template)
    }

    /// The clustered index.
    pub fn clustered(&self) -> &TemplateIndex {
        // `check_cfg` refuses a table without indexes.
        &self.indexes[0]
    }

    /// Every page of the template that stays in use, ascending.
    pub(crate) fn used_pages(&self) -> Vec<u32> {
        let roots = self.indexes.iter().map(|index| index.root);
        let inodes = self.inode_pages.iter().map(|(page_no, _)| *page_no);
        let dictionary = self.dictionary.iter().map(|(page_no, _)| *page_no);
        let mut pages: Vec<u32> =
            [0, 1].into_iter().chain(inodes).chain(roots).chain(dictionary).collect();
        pages.sort_unstable();
        pages
    }

    fn add_index(&mut self, file: &File<'_>, cfg: &Cfg, index: &CfgIndex) -> Result<()> {
        let header = file.empty_root(index)?;
        let number = self.segments.len();
        self.add_segments(file, index.root, &header)?;
        let shape = RecordShape::leaf(cfg, index)?;
        let key = &shape.fields[..shape.key_fields];
        let order = KeyOrder::new(cfg, &index.name, key, &|_, _| None, &mut Vec::new());
        self.indexes.push(TemplateIndex {
            format: self.format,
            name: index.name.clone(),
            space_id: self.space_id,
            id: index.id,
            root: index.root,
            is_clustered: index.is_clustered(),
            shape,
            order,
            top_segment: SegmentNo(number),
            leaf_segment: SegmentNo(number + 1),
            top_header: header.top_segment,
            leaf_header: header.leaf_segment,
        });
        Ok(())
    }

    /// Takes the segments that a root without other pages names, and the page of their inodes.
    fn add_segments(&mut self, file: &File<'_>, root: u32, header: &PageHeader) -> Result<()> {
        for (segment, page) in [(header.top_segment, Some(root)), (header.leaf_segment, None)] {
            let found = file.empty_segment(segment, root, page)?;
            if self.inode_pages.iter().all(|(page_no, _)| *page_no != found.inode_page) {
                let bytes = Box::new(*file.page(found.inode_page)?);
                self.inode_pages.push((found.inode_page, bytes));
                self.inode_pages.sort_unstable_by_key(|(page_no, _)| *page_no);
            }
            self.segments.push(found);
        }
        Ok(())
    }

    /// Takes the dictionary, if all of it is on its root page.
    fn add_dictionary(&mut self, file: &File<'_>, root: u32) -> Result<()> {
        let page = file.page(root)?;
        let page_type = frame(page).page_type.get();
        expect(root, "root page type of the dictionary", page_type, page_type::SDI)?;
        let header = read_at::<PageHeader>(page, PAGE_HEADER);
        expect(root, "level of the dictionary's root", header.level.get(), 0)?;
        self.add_segments(file, root, &header)?;
        self.dictionary = Some((root, Box::new(*page)));
        Ok(())
    }
}

fn check_cfg(cfg: &Cfg) -> Result<()> {
    let unsupported = |what, seen, expected| Err(Error::Unsupported { what, seen, expected });
    if !cfg.has_supported_page_size() {
        return unsupported("page size", cfg.page_size.to_string(), "16384");
    }
    if cfg.clustered().is_none() {
        return unsupported("the first index", "not clustered".into(), "a clustered index");
    }
    for index in &cfg.indexes {
        let kind = match index.type_bits {
            bits if bits & index_type::FULLTEXT != 0 => "FULLTEXT",
            bits if bits & index_type::SPATIAL != 0 => "SPATIAL",
            bits if bits & index_type::VIRTUAL != 0 => "on a virtual column",
            bits if bits & index_type::CORRUPT != 0 => "marked corrupt",
            bits if bits & !(index_type::CLUSTERED | index_type::UNIQUE) != 0 => "of unknown type",
            _ => continue,
        };
        let seen = format!("{kind} (type {:#x}, index {})", index.type_bits, index.name);
        return unsupported("an index", seen, "ordinary B-tree indexes");
    }
    Ok(())
}

/// The template file, each page of it whole.
struct File<'a> {
    format: SpaceFormat,
    pages: &'a [PageBytes],
    space_id: SpaceId,
}

impl<'a> File<'a> {
    /// Checks what holds for every page, and the space header.
    fn open(ibd: &'a [u8]) -> Result<File<'a>> {
        let (pages, rest) = ibd.as_chunks::<PAGE_SIZE>();
        if !rest.is_empty() || pages.is_empty() {
            let expected = format!("a multiple of {PAGE_SIZE}");
            return Err(bad(0, "file size", ibd.len().to_string(), expected));
        }
        // The flags say how to read everything else, its checksum included.
        let header = space_header(&pages[0]);
        let format = SpaceFormat::of_flags(header.flags.get()).map_err(|_| Error::Unsupported {
            what: "tablespace format",
            seen: format!("flags {:#x}", header.flags.get()),
            expected: "16 KiB pages with innodb_checksum_algorithm=full_crc32 (flags 0x15)",
        })?;
        let file = File { format, pages, space_id: SpaceId(header.space_id.get()) };
        for (page_no, page) in pages.iter().enumerate() {
            file.check_frame(page_no as u32, page)?;
        }
        file.check_space_header()?;
        Ok(file)
    }

    fn check_frame(&self, page_no: u32, page: &PageBytes) -> Result<()> {
        if page_no != 0 && page.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        let frame = frame(page);
        let key_version = self.format.key_version(page);
        if key_version != 0 {
            return Err(Error::Unsupported {
                what: "encryption",
                seen: format!("key version {key_version} on page {page_no}"),
                expected: "an unencrypted table",
            });
        }
        if let Err(WrongChecksum { stored, computed, .. }) = self.format.check(page) {
            return expect(page_no, "checksum", stored, computed);
        }
        expect(page_no, "page number", frame.page_no.get(), page_no)?;
        expect(page_no, "space id", frame.space_id.get(), self.space_id.0)
    }

    fn check_space_header(&self) -> Result<()> {
        let header = space_header(&self.pages[0]);
        expect(0, "page type", frame(&self.pages[0]).page_type.get(), page_type::FSP_HDR)?;
        expect(0, "size in pages", header.size_pages.get() as usize, self.pages.len())?;
        // One descriptor page describes it all: enough for a thousand indexes.
        if self.pages.len() > PAGES_PER_XDES as usize {
            let expected = format!("up to {PAGES_PER_XDES} pages");
            return Err(bad(0, "size in pages", self.pages.len().to_string(), expected));
        }
        Ok(())
    }

    fn page(&self, page_no: u32) -> Result<&'a PageBytes> {
        self.pages.get(page_no as usize).ok_or_else(|| {
            let expected = format!("below {}", self.pages.len());
            bad(page_no, "page number", page_no.to_string(), expected)
        })
    }

    fn empty_root(&self, index: &CfgIndex) -> Result<PageHeader> {
        let page_no = index.root;
        let page = self.page(page_no)?;
        let frame = frame(page);
        expect(page_no, "root page type", frame.page_type.get(), page_type::INDEX)?;
        expect(page_no, "left sibling of a root", frame.prev.get(), FIL_NULL)?;
        expect(page_no, "right sibling of a root", frame.next.get(), FIL_NULL)?;
        let header = read_at::<PageHeader>(page, PAGE_HEADER);
        expect(page_no, "index id", header.index_id.get(), index.id.0)?;
        expect(page_no, "level of an empty root", header.level.get(), 0)?;
        expect(page_no, "records of an empty root", header.records.get(), 0)?;
        Ok(header)
    }

    fn empty_segment(
        &self,
        header: SegmentHeader,
        root: u32,
        page: Option<u32>,
    ) -> Result<TemplateSegment> {
        let (inode_page, offset) = (header.page_no.get(), usize::from(header.offset.get()));
        let bytes = self.page(inode_page)?;
        expect(inode_page, "inode page type", frame(bytes).page_type.get(), page_type::INODE)?;
        let step = size_of::<SegmentInode>();
        let index = offset.wrapping_sub(INODES) / step;
        if index >= INODES_PER_PAGE || offset != INODES + index * step {
            let expected = "the start of an inode".to_owned();
            return Err(bad(root, "segment inode offset", offset.to_string(), expected));
        }
        let inode = read_at::<SegmentInode>(bytes, offset);
        let magic = inode.magic.get();
        expect(inode_page, "segment inode magic", magic, INODE_MAGIC)?;
        for (what, list) in [
            ("free extents of a segment", inode.free),
            ("partly used extents of a segment", inode.not_full),
            ("full extents of a segment", inode.full),
        ] {
            expect(inode_page, what, list.count.get(), 0)?;
        }
        for (slot, fragment) in inode.fragments.iter().enumerate() {
            let expected = if slot == 0 { page.unwrap_or(FIL_NULL) } else { FIL_NULL };
            expect(inode_page, "single page of a segment", fragment.get(), expected)?;
        }
        let id = inode.segment_id.get();
        Ok(TemplateSegment { id, inode_page, inode_offset: offset, page })
    }

    /// Checks that the template explains every used page, extent and inode of the file.
    fn check_nothing_else(&self, template: &Template) -> Result<()> {
        self.check_inode_pages(template)?;
        let used = template.used_pages();
        for pair in used.windows(2) {
            if pair[0] == pair[1] {
                let expected = "each page once".to_owned();
                return Err(bad(pair[0], "use of a page", "twice".into(), expected));
            }
        }
        for extent in 0..(self.pages.len() as u32).div_ceil(PAGES_PER_EXTENT) {
            self.check_extent(extent, &used)?;
        }
        Ok(())
    }

    fn check_inode_pages(&self, template: &Template) -> Result<()> {
        let header = space_header(&self.pages[0]);
        // Each is any number that fits 32 bits: their sum need not.
        let counts = [header.inodes_full.count.get(), header.inodes_free.count.get()];
        let listed: u64 = counts.into_iter().map(u64::from).sum();
        expect(0, "pages of segment inodes", listed, template.inode_pages.len() as u64)?;
        let mut inodes: Vec<u64> = Vec::new();
        for (page_no, page) in &template.inode_pages {
            // The lists are kept as they are, so they must at least stay in the file.
            let ListNode { prev, next } = read_at::<ListNode>(page, INODE_PAGE_NODE);
            for addr in [prev, next] {
                if !addr.is_null() {
                    self.page(addr.page_no.get())?;
                }
            }
            for index in 0..INODES_PER_PAGE {
                let inode =
                    read_at::<SegmentInode>(page, INODES + index * size_of::<SegmentInode>());
                if inode.segment_id.get() != 0 {
                    inodes.push(inode.segment_id.get());
                }
            }
            expect(*page_no, "page type", frame(page).page_type.get(), page_type::INODE)?;
        }
        let mut known: Vec<u64> = template.segments.iter().map(|segment| segment.id).collect();
        known.sort_unstable();
        inodes.sort_unstable();
        if inodes != known {
            return Err(bad(0, "segments", format!("{inodes:?}"), format!("{known:?}")));
        }
        Ok(())
    }

    fn check_extent(&self, extent: u32, used: &[u32]) -> Result<()> {
        let at = DESCRIPTORS + extent as usize * size_of::<ExtentDescriptor>();
        let descriptor = read_at::<ExtentDescriptor>(&self.pages[0], at);
        let state = descriptor.state.get();
        if !matches!(state, state::NOT_INITED | state::FREE | state::FREE_FRAG | state::FULL_FRAG) {
            let expected = "no extent owned by a segment".to_owned();
            return Err(bad(0, "extent state", format!("{state} of extent {extent}"), expected));
        }
        for index in 0..PAGES_PER_EXTENT {
            let page_no = extent * PAGES_PER_EXTENT + index;
            let is_used = state != state::NOT_INITED && !descriptor.is_free(index);
            if is_used != used.binary_search(&page_no).is_ok() {
                let (seen, expected) = if is_used { ("used", "free") } else { ("free", "used") };
                return Err(bad(page_no, "allocation of the page", seen.into(), expected.into()));
            }
        }
        Ok(())
    }
}

fn frame(page: &PageBytes) -> FilHeader {
    read_at(page, 0)
}

fn space_header(page: &PageBytes) -> SpaceHeader {
    read_at(page, SPACE_HEADER)
}

fn bad(page_no: u32, what: &'static str, seen: String, expected: String) -> Error {
    Error::Template { page_no, what, seen, expected }
}

fn expect<T: PartialEq + ToString>(
    page_no: u32,
    what: &'static str,
    seen: T,
    expected: T,
) -> Result<()> {
    if seen == expected {
        return Ok(());
    }
    Err(bad(page_no, what, seen.to_string(), expected.to_string()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const CFG: &[u8] = include_bytes!("../testdata/mariadb-10.11/t.cfg");
    const IBD: &[u8] = include_bytes!("../testdata/mariadb-10.11/t.ibd");

    fn parse(change: impl FnOnce(&mut Cfg, &mut Vec<u8>)) -> Result<Template> {
        let (mut cfg, mut ibd) = (Cfg::parse(CFG).unwrap(), IBD.to_vec());
        change(&mut cfg, &mut ibd);
        Template::parse(&ibd, &cfg)
    }

    /// The error about a file with `bytes` at `at` of a page, its checksum right again.
    fn patched(page_no: usize, at: usize, bytes: &[u8]) -> String {
        let result = parse(|_, ibd| {
            let page = &mut ibd.as_chunks_mut().0[page_no];
            page[at..at + bytes.len()].copy_from_slice(bytes);
            SpaceFormat::MariaDb.seal(page);
        });
        result.unwrap_err().to_string()
    }

    #[test]
    fn an_empty_table_is_a_template() {
        let template = parse(|_, _| {}).unwrap();
        assert_eq!(template.space_id, SpaceId(5));
        assert_eq!(template.row_format, RowFormat::Dynamic);
        let roots: Vec<u32> = template.indexes.iter().map(|index| index.root).collect();
        assert_eq!(roots, [3, 4, 5, 6]);
        assert_eq!(template.used_pages(), [0, 1, 2, 3, 4, 5, 6]);
        let ids: Vec<u64> = template.segments.iter().map(|segment| segment.id).collect();
        assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn what_is_not_an_empty_table_is_refused_and_named() {
        for (page_no, at, bytes, expected) in [
            (0, 54, &[0, 0, 0, 0x35][..], "tablespace format is flags 0x35"),
            (0, 46, &[0, 0, 0, 8], "template page 0: size in pages is 8, expected 7"),
            (3, 0, &[0, 0, 0, 1], "encryption is key version 1 on page 3"),
            (4, 4, &[0, 0, 0, 9], "template page 4: page number is 9, expected 4"),
            (4, 37, &[9], "template page 4: space id is 9, expected 5"),
            (3, 24, &[0, 18], "template page 3: root page type is 18, expected 17855"),
            (5, 12, &[0, 0, 0, 6], "right sibling of a root is 6"),
            (5, 55, &[1], "records of an empty root is 1, expected 0"),
            (5, 65, &[1], "level of an empty root is 1, expected 0"),
            (5, 73, &[1], "index id is 1, expected 25"),
            (5, 83, &[51], "segment inode offset is 819, expected the start of an inode"),
            (5, 81, &[99], "page number is 99, expected below 7"),
            (2, 50 + 60, &[0], "segment inode magic"),
            (2, 50 + 192 + 31, &[1], "partly used extents of a segment is 1, expected 0"),
            (2, 50 + 192 + 64, &[0, 0, 0, 9], "single page of a segment is 9"),
            (2, 50 + 192 * 20 + 7, &[77], "segments is [1, 2, 3, 4, 5, 6, 7, 8, 77]"),
            (0, 38 + 80, &[0xff; 4], "pages of segment inodes is 4294967296, expected 1"),
            (0, 150 + 23, &[4], "extent state is 4 of extent 0"),
            (0, 150 + 25, &[0xAA], "template page 7: allocation of the page is used"),
            (0, 150 + 25, &[0xFA], "template page 6: allocation of the page is free"),
        ] {
            let seen = patched(page_no, at, bytes);
            assert!(seen.contains(expected), "page {page_no}, byte {at}: {seen}");
        }
        let flipped = parse(|_, ibd| ibd[5 * PAGE_SIZE + 5_000] ^= 1).unwrap_err().to_string();
        assert!(flipped.contains("template page 5: checksum is"), "{flipped}");
        let cut = parse(|_, ibd| ibd.truncate(100)).unwrap_err().to_string();
        assert!(cut.contains("file size is 100"), "{cut}");
    }

    #[test]
    fn a_table_of_another_kind_is_refused_and_named() {
        let refused =
            |change: &dyn Fn(&mut Cfg)| parse(|cfg, _| change(cfg)).unwrap_err().to_string();
        let seen = refused(&|cfg| cfg.page_size = 8_192);
        assert!(seen.contains("page size is 8192"), "{seen}");
        for (bits, kind) in [(32, "FULLTEXT"), (64, "SPATIAL"), (128, "on a virtual column")] {
            let seen = refused(&|cfg| cfg.indexes[1].type_bits |= bits);
            assert!(seen.contains(kind) && seen.contains("index ka"), "{seen}");
        }
        let seen = refused(&|cfg| cfg.table_flags = 0);
        assert!(seen.contains("ROW_FORMAT=REDUNDANT"), "{seen}");
        let seen = refused(&|cfg| cfg.indexes.clear());
        assert!(seen.contains("the first index is not clustered"), "{seen}");
    }

    #[test]
    fn any_damage_is_an_error_and_never_a_panic() {
        for at in (0..IBD.len()).filter(|at| at % PAGE_SIZE < 600) {
            for byte in [0, 0xFF] {
                let _ = parse(|_, ibd| {
                    ibd[at] = byte;
                    ibd.as_chunks_mut()
                        .0
                        .iter_mut()
                        .for_each(|page| SpaceFormat::MariaDb.seal(page));
                });
            }
        }
    }
}
