//! Random damages of a tablespace, with checksums made right.

use std::fmt;

use innodb::cfg::Cfg;
use innodb::ids::PAGE_SIZE;
use innodb::page::{PageBytes, page_type};
use innodb::record::{FieldSpan, RECORD_HEADER, RecordShape};
use innodb::space_format::SpaceFormat;
use testkit::Random;

/// A damage.
#[derive(Clone, Debug)]
pub(super) struct Damage {
    /// Kind of place, for the tally.
    pub(super) place: &'static str,
    /// Page, first byte, what was there and what is there now.
    pub(super) changes: Vec<(usize, usize, Vec<u8>, Vec<u8>)>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.place)?;
        for (page_no, at, old, new) in self.changes.iter().take(8) {
            write!(f, ", page {page_no} byte {at}: {old:02x?} became {new:02x?}")?;
        }
        Ok(())
    }
}

/// A sound file and the places of its structures.
pub(super) struct Space {
    pub(super) file: Vec<u8>,
    /// Pages in use.
    used: Vec<usize>,
    /// Index pages with records.
    index_pages: Vec<usize>,
    nodes: Vec<usize>,
    off_page: Vec<usize>,
    /// References to off-page values: page and byte.
    references: Vec<(usize, usize)>,
    /// Node pointers: page and the byte of the child's number.
    children: Vec<(usize, usize)>,
    /// Two lengths of a byte each in one record: page and bytes.
    lengths: Vec<(usize, [usize; 2])>,
}

/// Kinds of places; the more often one is named, the more damages it gets.
const PLACES: [Place; 23] = [
    Place::Anywhere,
    Place::FileHeader,
    Place::FileHeader,
    Place::PageHeader,
    Place::PageHeader,
    Place::SystemRecords,
    Place::RecordHeader,
    Place::RecordHeader,
    Place::RecordHeader,
    Place::RecordData,
    Place::Lengths,
    Place::Directory,
    Place::Directory,
    Place::SpaceHeader,
    Place::Extents,
    Place::Inodes,
    Place::Inodes,
    Place::Dictionary,
    Place::Dictionary,
    Place::OffPage,
    Place::Reference,
    Place::Child,
    Place::Pages,
];

#[derive(Clone, Copy, Debug)]
enum Place {
    Anywhere,
    FileHeader,
    PageHeader,
    SystemRecords,
    RecordHeader,
    RecordData,
    /// Two lengths of a record, one greater and the other less by as much.
    Lengths,
    Directory,
    SpaceHeader,
    Extents,
    Inodes,
    Dictionary,
    OffPage,
    Reference,
    Child,
    Pages,
}

impl Space {
    pub(super) fn new(file: Vec<u8>, cfg: &Cfg) -> Space {
        let mut space = Space {
            used: Vec::new(),
            index_pages: Vec::new(),
            nodes: Vec::new(),
            off_page: Vec::new(),
            references: Vec::new(),
            children: Vec::new(),
            lengths: Vec::new(),
            file,
        };
        let pages = space.file.as_chunks::<PAGE_SIZE>().0.to_vec();
        for (page_no, page) in pages.iter().enumerate() {
            if page.iter().all(|byte| *byte == 0) {
                continue;
            }
            space.used.push(page_no);
            match u16_at(page, 24) {
                page_type::INDEX => space.add_index_page(page_no, page, cfg),
                page_type::BLOB => space.off_page.push(page_no),
                _ => {}
            }
        }
        space
    }

    fn add_index_page(&mut self, page_no: usize, page: &PageBytes, cfg: &Cfg) {
        self.index_pages.push(page_no);
        let index = cfg.indexes.iter().find(|index| index.id.0.to_be_bytes() == page[66..74]);
        let shape = RecordShape::leaf(cfg, index.unwrap()).unwrap();
        let is_node = u16_at(page, 64) > 0;
        let shape = if is_node { shape.to_node() } else { shape };
        if is_node {
            self.nodes.push(page_no);
        }
        let mut spans: Vec<FieldSpan> = Vec::new();
        for origin in origins(page) {
            let record = shape.spans(page, origin, &mut spans).unwrap();
            if is_node {
                self.children.push((page_no, record.end - 4));
            }
            let lengths = lengths(&shape, origin, &spans);
            self.lengths.extend(lengths.windows(2).map(|two| (page_no, [two[0], two[1]])));
            let external = spans.iter().filter(|span| span.is_external);
            self.references.extend(external.map(|span| (page_no, span.start + span.len - 20)));
        }
    }

    /// Damages `file`, a copy of this space's.
    pub(super) fn damage(&self, random: &mut Random, file: &mut [u8]) -> Damage {
        let place = random.pick(&PLACES);
        let (name, changed) = match place {
            Place::Pages => ("pages", self.damage_pages(random, file)),
            Place::Lengths if !self.lengths.is_empty() => {
                let (page_no, places) = random.pick(&self.lengths);
                let [less, more] = places.map(|at| page_no * PAGE_SIZE + at);
                let (less, more) = if random.chance(2) { (less, more) } else { (more, less) };
                let by = random.below(usize::from(file[less].min(127 - file[more])) + 1) as u8;
                file[less] -= by;
                file[more] += by;
                ("two lengths", vec![page_no])
            }
            place => {
                let times = if random.chance(4) { random.between(2, 4) } else { 1 };
                let (mut name, mut changed, mut fixed) = ("", Vec::new(), None);
                for _ in 0..times {
                    let (of, page_no, from, to) = self.place(place, random, fixed);
                    // More damages of one kind are mostly on one page.
                    (name, fixed) = (of, (!random.chance(4)).then_some(page_no));
                    self.change(random, file, page_no, from, to);
                    changed.push(page_no);
                }
                (name, changed)
            }
        };
        let (pages, _) = file.as_chunks_mut::<PAGE_SIZE>();
        for page_no in changed {
            if pages[page_no].iter().any(|byte| *byte != 0) {
                SpaceFormat::MySql.seal(&mut pages[page_no]);
            }
        }
        Damage { place: name, changes: self.changes(file) }
    }

    /// Runs of bytes that differ, but for checksums.
    fn changes(&self, file: &[u8]) -> Vec<(usize, usize, Vec<u8>, Vec<u8>)> {
        let mut changes: Vec<(usize, usize, Vec<u8>, Vec<u8>)> = Vec::new();
        for (page_no, (old, new)) in
            self.file.chunks(PAGE_SIZE).zip(file.chunks(PAGE_SIZE)).enumerate()
        {
            if old == new {
                continue;
            }
            let sums = [0..4, PAGE_SIZE - 8..PAGE_SIZE - 4];
            let differs = (0..PAGE_SIZE)
                .filter(|at| old[*at] != new[*at] && !sums.iter().any(|sum| sum.contains(at)));
            for at in differs.take(40) {
                match changes.last_mut() {
                    Some((page, from, before, after))
                        if *page == page_no && *from + before.len() == at =>
                    {
                        before.push(old[at]);
                        after.push(new[at]);
                    }
                    _ => changes.push((page_no, at, vec![old[at]], vec![new[at]])),
                }
            }
        }
        changes
    }

    /// Name, page and bytes of a random place of a kind.
    fn place(
        &self,
        place: Place,
        random: &mut Random,
        fixed: Option<usize>,
    ) -> (&'static str, usize, usize, usize) {
        let of_used = |random: &mut Random| fixed.unwrap_or_else(|| random.pick(&self.used));
        let of_index = |random: &mut Random| match fixed {
            Some(page_no) if self.index_pages.contains(&page_no) => page_no,
            _ if !self.nodes.is_empty() && random.chance(3) => random.pick(&self.nodes),
            _ => random.pick(&self.index_pages),
        };
        match place {
            Place::Anywhere | Place::Pages => ("anywhere", of_used(random), 0, PAGE_SIZE),
            Place::FileHeader => ("file header", of_used(random), 0, 38),
            Place::PageHeader => ("page header", of_index(random), 38, 94),
            Place::SystemRecords => ("system records", of_index(random), 94, 120),
            Place::RecordHeader | Place::RecordData | Place::Lengths => {
                let page_no = of_index(random);
                let page = self.page(page_no);
                let origins = origins(page);
                if origins.is_empty() {
                    return ("system records", page_no, 94, 120);
                }
                let origin = random.pick(&origins);
                match place {
                    Place::RecordHeader if random.chance(2) => {
                        ("record lengths", page_no, origin - 9, origin - 5)
                    }
                    Place::RecordHeader => ("record header", page_no, origin - 5, origin),
                    _ => ("record data", page_no, origin, origin + 24),
                }
            }
            Place::Directory => {
                let page_no = of_index(random);
                let slots = usize::from(u16_at(self.page(page_no), 38));
                ("directory", page_no, PAGE_SIZE - 8 - 2 * slots, PAGE_SIZE - 8)
            }
            Place::SpaceHeader => match random.chance(6) {
                true => ("space header's end", 0, 10_390, 10_600),
                false => ("space header", 0, 38, 150),
            },
            Place::Extents => {
                ("extents", 0, 150, 150 + 40 * (self.file.len() / PAGE_SIZE / 64 + 1))
            }
            Place::Inodes => {
                let page = self.page(2);
                let inodes = page[50..].chunks(192).position(|inode| inode[..8] == [0; 8]).unwrap();
                ("inodes", 2, 38, 50 + 192 * inodes)
            }
            Place::Dictionary => match random.below(3) {
                0 => ("dictionary header", 3, 38, 120),
                1 => ("dictionary header", 3, 0, 38),
                _ => {
                    let top = usize::from(u16_at(self.page(3), 40));
                    ("dictionary records", 3, 99, top.max(130))
                }
            },
            Place::OffPage if self.off_page.is_empty() => ("anywhere", of_used(random), 38, 500),
            Place::OffPage => {
                let page_no = match fixed {
                    Some(page_no) if self.off_page.contains(&page_no) => page_no,
                    _ => random.pick(&self.off_page),
                };
                ("off-page header", page_no, 38, 46)
            }
            Place::Reference if self.references.is_empty() => {
                ("anywhere", of_used(random), 38, 500)
            }
            Place::Reference => {
                let (page_no, at) = random.pick(&self.references);
                ("reference", page_no, at, at + 20)
            }
            Place::Child if self.children.is_empty() => ("page header", of_index(random), 38, 94),
            Place::Child => {
                let (page_no, at) = random.pick(&self.children);
                ("child", page_no, at, at + 4)
            }
        }
    }

    fn page(&self, page_no: usize) -> &PageBytes {
        &self.file.as_chunks().0[page_no]
    }

    /// Changes some bytes from `from` to `to`.
    fn change(&self, random: &mut Random, file: &mut [u8], page_no: usize, from: usize, to: usize) {
        let pages = file.len() / PAGE_SIZE;
        let page = &mut file[page_no * PAGE_SIZE..][..PAGE_SIZE];
        let at = random.between(from, to - 1);
        let wide = |bytes: usize| at.min(PAGE_SIZE - bytes);
        match random.below(9) {
            0 | 1 => page[at] ^= 1 << random.below(8),
            2 => page[at] = random.next_u64() as u8,
            3 => page[at] = page[at].wrapping_add(1),
            4 => page[at] = page[at].wrapping_sub(1),
            5 => {
                let at = wide(4);
                let value = random.pick(&[0, u32::MAX, 1, random_page(pages)]);
                page[at..at + 4].copy_from_slice(&value.to_be_bytes());
            }
            6 => {
                let at = wide(4);
                let value = random.below(pages) as u32;
                page[at..at + 4].copy_from_slice(&value.to_be_bytes());
            }
            7 => {
                let (at, other) = (wide(2), random.between(from, to - 1).min(PAGE_SIZE - 2));
                page.copy_within(other..other + 2, at);
            }
            _ => {
                let other = random.between(from, to - 1);
                page.swap(at, other);
            }
        }
    }

    /// Damages whole pages, or parts of them.
    fn damage_pages(&self, random: &mut Random, file: &mut [u8]) -> Vec<usize> {
        let (a, b) = (random.pick(&self.used), random.pick(&self.used));
        let (pages, _) = file.as_chunks_mut::<PAGE_SIZE>();
        let (page_a, page_b) = (pages[a], pages[b]);
        match random.below(6) {
            0 => pages[a] = [0; PAGE_SIZE],
            1 => pages[a] = page_b,
            // Contents without the numbers.
            2 => pages[a][38..].copy_from_slice(&page_b[38..]),
            3 => (pages[a], pages[b]) = (page_b, page_a),
            4 => {
                pages[a][16..].copy_from_slice(&page_b[16..]);
                pages[b][16..].copy_from_slice(&page_a[16..]);
            }
            _ => {
                let from = random.below(PAGE_SIZE / 512) * 512;
                pages[a][from..from + 512].copy_from_slice(&page_b[from..from + 512]);
            }
        }
        vec![a, b]
    }
}

/// Bytes of the lengths of a record that have a byte each.
fn lengths(shape: &RecordShape, origin: usize, spans: &[FieldSpan]) -> Vec<usize> {
    let mut at = origin - RECORD_HEADER - shape.null_bytes;
    let mut places = Vec::new();
    for (field, span) in shape.fields.iter().zip(spans) {
        if field.fixed_len > 0 || span.is_null {
            continue;
        }
        let is_long = span.is_external || (field.big && span.len > 127);
        at -= if is_long { 2 } else { 1 };
        if !is_long && span.len < 128 {
            places.push(at);
        }
    }
    places
}

/// Numbers near the end of the file.
fn random_page(pages: usize) -> u32 {
    pages as u32
}

/// Origins of the records of an index page.
fn origins(page: &PageBytes) -> Vec<usize> {
    let (mut at, mut origins) = (99, Vec::new());
    loop {
        at = usize::from((at as u16).wrapping_add(u16_at(page, at - 2)));
        if at == 112 {
            return origins;
        }
        origins.push(at);
    }
}

fn u16_at(page: &PageBytes, at: usize) -> u16 {
    u16::from_be_bytes([page[at], page[at + 1]])
}
