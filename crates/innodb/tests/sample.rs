//! A tablespace built in memory for the verifier: four trees of two or three levels, NULLs,
//! off-page values, whole extents.

use std::cmp::Ordering;
use std::convert::Infallible;
use std::sync::Arc;

use innodb::allocator::Allocator;
use innodb::blob::{BlobPages, OffPage, needs_off_page};
use innodb::cfg::Cfg;
use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::layout::Layout;
use innodb::leaf::LeafBatch;
use innodb::page::PageBytes;
use innodb::page_fill::Fill;
use innodb::record::{RecordWriter, TRX_ID_AND_ROLL_PTR};
use innodb::space_format::SpaceFormat;
use innodb::template::{Template, TemplateIndex};
use innodb::tree::IndexBuilder;
use innodb::verify::{
    Compare, Context, Early, EarlyWorker, Edges, PageSummary, Report, Verifier, Writer,
    verify_space,
};

/// Few records a page, so that a small file has many pages and levels.
pub(crate) const FILL: Fill = Fill { leaf_reserve_bytes: 15_000, node_reserve_bytes: 15_600 };
const ROWS: u32 = 3_000;

/// A file and what its `.cfg` says.
#[derive(Clone)]
pub(crate) struct Image {
    pub(crate) file: Vec<u8>,
    pub(crate) cfg: Cfg,
    pub(crate) writer: Writer,
}

pub(crate) type Field = Option<Vec<u8>>;

/// Text of the tests: bytes, padded with spaces.
fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let len = a.len().max(b.len());
    let padded = |text: &[u8]| [text, &vec![b' '; len - text.len()]].concat();
    padded(a).cmp(&padded(b))
}

/// Collations of the columns of the tests, as far as ASCII text in lower case goes.
pub(crate) fn collations(collation: u32, _: bool) -> Option<Compare> {
    matches!(collation, 8 | 45).then(|| Arc::new(compare) as Compare)
}

impl Image {
    /// A table `t` of `testdata/mariadb-10.11` with 3,000 rows, as a loader builds it.
    pub(crate) fn built() -> Image {
        let cfg = Cfg::parse(include_bytes!("../testdata/mariadb-10.11/t.cfg")).unwrap();
        let ibd = include_bytes!("../testdata/mariadb-10.11/t.ibd");
        let template = Template::parse(ibd, &cfg).unwrap();
        let mut file = Vec::new();
        let mut allocator = Allocator::new(&template);
        let rows: Vec<Row> = (0..ROWS).map(Row::new).collect();
        for index in &template.indexes {
            let mut records: Vec<Vec<Field>> = rows.iter().map(|row| row.fields(index)).collect();
            if !index.is_clustered {
                records.sort_by(|a, b| index_order(index, a, b));
            }
            build(&template, index, &records, &mut allocator, &mut file);
        }
        let layout = Layout::new(&template, &allocator);
        for (page_no, page) in layout.pages() {
            put(&mut file, page_no.file_offset(), &page[..]);
        }
        file.resize(layout.size_bytes() as usize, 0);
        Image { file, cfg, writer: Writer::Loader }
    }

    /// Table `orders` of `testdata/mariadb-10.11`, written by a server.
    pub(crate) fn of_server() -> Image {
        let cfg = Cfg::parse(include_bytes!("../testdata/mariadb-10.11/orders.cfg")).unwrap();
        let file = include_bytes!("../testdata/mariadb-10.11/orders.ibd").to_vec();
        Image { file, cfg, writer: Writer::Server }
    }

    fn context(&self) -> Context<'_> {
        Context { writer: self.writer, cfg: Some(&self.cfg), collations: &collations }
    }

    pub(crate) fn verify(&self) -> Report {
        verify_space(&self.file, self.file.len() as u64, self.context()).unwrap()
    }

    /// As [`Image::verify`], of a built file whose pages were verified while it was built: in runs of up to
    /// `run_pages` pages, every second one late, each `left_out`th not at all, by two workers.
    pub(crate) fn verify_early(&self, run_pages: usize, left_out: usize) -> Report {
        let empty: &[u8] = include_bytes!("../testdata/mariadb-10.11/t.ibd");
        let early = Early::new(&empty, empty.len() as u64, self.context()).unwrap();
        let mut summaries = vec![PageSummary::default(); self.pages() as usize];
        let mut workers = [early.worker(), early.worker()];
        let mut edges = Edges::default();
        let runs = summaries.chunks_mut(run_pages).enumerate();
        let (soon, late): (Vec<_>, Vec<_>) = runs.partition(|(run, _)| run % 2 == 0);
        for (run, summaries) in soon.into_iter().chain(late) {
            if run % left_out == 1 {
                continue;
            }
            let first = run * run_pages;
            let pages = &self.file[first * PAGE_SIZE..][..summaries.len() * PAGE_SIZE];
            let worker = &mut workers[run / 3 % 2];
            worker.verify(PageNo(first as u32), pages, summaries);
            edges.take(worker);
        }
        let bytes = self.file.len() as u64;
        let verifier = Verifier::new(&self.file, bytes, self.context()).unwrap();
        if !early.is_of(&verifier) {
            return self.verify();
        }
        let mut findings = vec![edges.finish(&early, &self.file, self.pages()).unwrap()];
        findings.extend(workers.map(EarlyWorker::into_findings));
        let mut worker = verifier.worker();
        worker.complete(PageNo(0), &mut vec![0; self.file.len()], &mut summaries).unwrap();
        findings.push(worker.into_findings());
        verifier.finish(&summaries, findings).unwrap()
    }

    pub(crate) fn page(&self, page_no: u32) -> &[u8] {
        &self.file[page_no as usize * PAGE_SIZE..][..PAGE_SIZE]
    }

    pub(crate) fn page_mut(&mut self, page_no: u32) -> &mut PageBytes {
        &mut self.file.as_chunks_mut().0[page_no as usize]
    }

    pub(crate) fn seal(&mut self, page_no: u32) {
        SpaceFormat::MariaDb.seal(self.page_mut(page_no));
    }

    pub(crate) fn u16(&self, page_no: u32, offset: usize) -> u16 {
        u16::from_be_bytes(self.page(page_no)[offset..offset + 2].try_into().unwrap())
    }

    pub(crate) fn u32(&self, page_no: u32, offset: usize) -> u32 {
        u32::from_be_bytes(self.page(page_no)[offset..offset + 4].try_into().unwrap())
    }

    /// Writes bytes into a page and makes its checksum right.
    pub(crate) fn set(&mut self, page_no: u32, offset: usize, bytes: &[u8]) {
        self.page_mut(page_no)[offset..offset + bytes.len()].copy_from_slice(bytes);
        self.seal(page_no);
    }

    pub(crate) fn pages(&self) -> u32 {
        (self.file.len() / PAGE_SIZE) as u32
    }

    /// Pages of a type.
    pub(crate) fn of_type(&self, page_type: u16) -> Vec<u32> {
        (0..self.pages()).filter(|page_no| self.u16(*page_no, 24) == page_type).collect()
    }

    /// Pages of one level of an index, by number; `index` counts from 0, the clustered one.
    pub(crate) fn level(&self, index: usize, level: u16) -> Vec<u32> {
        let id = self.cfg.indexes[index].id.0.to_be_bytes();
        let mut pages = self.of_type(0x45BF);
        pages
            .retain(|page_no| self.page(*page_no)[66..74] == id && self.u16(*page_no, 64) == level);
        pages
    }

    /// Origins of the records of a page.
    pub(crate) fn origins(&self, page_no: u32) -> Vec<usize> {
        let mut origins = Vec::new();
        let mut origin = 99;
        loop {
            origin = (origin + usize::from(self.u16(page_no, origin - 2))) % PAGE_SIZE;
            if origin == 112 {
                return origins;
            }
            origins.push(origin);
        }
    }
}

/// A row of table `t`.
struct Row {
    id: Vec<u8>,
    a: Field,
    b: Field,
    c: Vec<u8>,
    d: Field,
    e: Field,
}

impl Row {
    fn new(id: u32) -> Row {
        let mixed = id.wrapping_mul(2_654_435_761);
        Row {
            id: id.to_be_bytes().to_vec(),
            a: (!id.is_multiple_of(7)).then(|| format!("name {mixed:010}").into_bytes()),
            b: (!id.is_multiple_of(5)).then(|| vec![b'a' + (mixed % 26) as u8; (id % 30) as usize]),
            c: format!("{:04}", mixed % 1_000).into_bytes(),
            d: (!id.is_multiple_of(3))
                .then(|| vec![b'd'; if id % 100 == 1 { 20_000 + id as usize } else { 9 }]),
            e: (!id.is_multiple_of(4)).then(|| mixed.to_be_bytes().repeat(2)[..5].to_vec()),
        }
    }

    /// The fields of a record of an index, in the order of its `.cfg`.
    fn fields(&self, index: &TemplateIndex) -> Vec<Field> {
        let (trx_id, roll_ptr) = TRX_ID_AND_ROLL_PTR.split_at(6);
        let id = Some(self.id.clone());
        let c = Some(self.c.clone());
        let prefix = self.b.clone().map(|mut b| {
            b.truncate(10);
            b
        });
        match index.name.as_str() {
            "ka" => vec![self.a.clone(), id],
            "kb" => vec![prefix, self.e.clone(), id],
            "kc" => vec![c, id],
            _ => vec![
                id,
                Some(trx_id.to_vec()),
                Some(roll_ptr.to_vec()),
                self.a.clone(),
                self.b.clone(),
                c,
                self.d.clone(),
                self.e.clone(),
            ],
        }
    }
}

fn index_order(index: &TemplateIndex, a: &[Field], b: &[Field]) -> Ordering {
    for (shape, (a, b)) in index.shape.fields.iter().zip(a.iter().zip(b)) {
        let ordering = match (a, b) {
            (Some(a), Some(b)) if shape.fixed_len == 0 => compare(a, b),
            (a, b) => a.cmp(b),
        };
        match ordering {
            Ordering::Equal => {}
            other if shape.descending => return other.reverse(),
            other => return other,
        }
    }
    Ordering::Equal
}

fn put(file: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let start = offset as usize;
    if file.len() < start + bytes.len() {
        file.resize(start + bytes.len(), 0);
    }
    file[start..start + bytes.len()].copy_from_slice(bytes);
}

pub(crate) fn build(
    template: &Template,
    index: &TemplateIndex,
    records: &[Vec<Field>],
    allocator: &mut Allocator,
    file: &mut Vec<u8>,
) {
    let mut builder = IndexBuilder::new(index, FILL);
    let mut batch = LeafBatch::new(index, FILL, 8);
    let mut writer = RecordWriter::new(&index.shape);
    let mut off_page = OffPage::new(&index.shape, template.row_format, template.space_id);
    let mut blobs = BlobPages::new(template.format);
    for fields in records {
        writer.begin();
        for field in fields {
            writer.data().extend_from_slice(field.as_deref().unwrap_or_default());
            writer.end_field(field.is_none(), false);
        }
        let record = writer.finish();
        if needs_off_page(record.bytes.len()) {
            let pages = off_page.plan(&writer).unwrap();
            let mut ranges = Vec::new();
            allocator.allocate(index.leaf_segment, pages as u32, &mut ranges).unwrap();
            let mut numbers = ranges.into_iter().flatten();
            let mut keep = |_: &BlobPages| Ok::<bool, Infallible>(false);
            let moved = off_page.move_fields(&writer, &mut numbers, &mut blobs, &mut keep);
            let record = moved.unwrap();
            batch.push(record.bytes, record.origin).unwrap();
        } else {
            batch.push(record.bytes, record.origin).unwrap();
        }
    }
    for (offset, bytes) in blobs.writes() {
        put(file, offset, bytes);
    }
    for (offset, bytes) in builder.append(&mut batch, allocator).unwrap().seal().writes() {
        put(file, offset, bytes);
    }
    for page in builder.finish(0, allocator).unwrap() {
        put(file, page.page_no.file_offset(), &page.bytes[..]);
    }
}
