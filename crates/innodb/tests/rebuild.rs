//! The server decides: its own tables, built again by us, are its own pages, and it takes them.
//!
//! A table is filled by SQL and rebuilt by the server (`ALTER TABLE .. FORCE`, its sorted build).
//! Its records, read from its file, go through our builder into an empty staging table. Then
//! - every leaf and non-leaf page must equal the server's, but for ids and numbers,
//! - our verifier and innochecksum find nothing,
//! - the server imports the file; CHECK TABLE and CHECKSUM TABLE agree, also after the same
//!   changes to both tables, and after a restart.

use std::convert::Infallible;
use std::fs;
use std::process::Command;

use innodb::allocator::Allocator;
use innodb::blob::{BlobPages, OffPage, needs_off_page};
use innodb::cfg::Cfg;
use innodb::ids::PAGE_SIZE;
use innodb::layout::Layout;
use innodb::leaf::LeafBatch;
use innodb::page_fill::Fill;
use innodb::record::{DELETED, RECORD_HEADER, RecordWriter, SystemColumn, TRX_ID_AND_ROLL_PTR};
use innodb::template::{Template, TemplateIndex};
use innodb::tree::{IndexBuilder, Sealed};
use innodb::verify::{Context, Writer, verify_space};

use crate::cases::{CASES, Case, NARROW};
use crate::server::TestServer;
use testkit::tablespace::Source;

/// Leaves written at a time: small, so that every table takes many batches.
const BATCH_PAGES: usize = 7;

#[test]
fn tables_built_again_are_the_servers_own_pages_and_it_takes_them() {
    let Some(server) = TestServer::start() else { return };
    for case in &CASES {
        server.sql(&case.create());
        server.sql(&case.fill());
        server.sql(&format!("alter table p.{}_source force", case.name));
        let built = Built::new(&server, case.name, case.name, fill_of_server);
        built.compare(case);
        built.import(&server, &format!("{}_twin", case.name));
        assert_equal(&server, case.name, case.name);
        for table in ["source", "twin"] {
            server.sql(&case.change(&format!("{}_{table}", case.name)));
        }
        assert_equal(&server, case.name, case.name);
    }
    many_pages(&server, &NARROW);
    server.restart();
    for case in &CASES {
        assert_equal(&server, case.name, case.name);
    }
    assert_equal(&server, NARROW.name, "many");
}

/// As the server's sorted build with `innodb_fill_factor=100`, its default.
fn fill_of_server(is_clustered: bool) -> Fill {
    if is_clustered { Fill::default() } else { Fill::FULL }
}

/// Two rows a page: more than 16,384 pages, so a second pair of descriptor and bitmap pages.
fn many_pages(server: &TestServer, case: &Case) {
    let two = |is_clustered| match is_clustered {
        true => Fill { leaf_reserve_bytes: PAGE_SIZE, node_reserve_bytes: PAGE_SIZE / 2 },
        false => Fill::default(),
    };
    let built = Built::new(server, case.name, "many", two);
    assert!(built.ours.file.len() > 17_000 * PAGE_SIZE, "{} bytes", built.ours.file.len());
    built.import(server, "many_twin");
    assert_equal(server, case.name, "many");
    for table in ["narrow_source", "narrow_twin", "many_twin"] {
        server.sql(&case.change(table).replace("1000000", "2000000"));
    }
    assert_equal(server, case.name, "many");
}

fn assert_equal(server: &TestServer, source: &str, twin: &str) {
    let twin = format!("p.{twin}_twin");
    // While rows are purged, CHECK TABLE warns of index entries whose rows have just gone.
    server.sql("set global innodb_max_purge_lag_wait=0");
    let check = server.sql(&format!("check table {twin} extended"));
    assert_eq!(check, format!("{twin}\tcheck\tstatus\tOK\n"));
    let checksum = |table: &str| {
        let line = server.sql(&format!("checksum table {table}"));
        line.split('\t').nth(1).map(str::to_owned).unwrap()
    };
    assert_eq!(checksum(&twin), checksum(&format!("p.{source}_source")), "CHECKSUM of {twin}");
}

/// A table of the server, and the file built from its records.
struct Built {
    theirs: Source,
    their_cfg: Cfg,
    ours: Source,
    cfg: Cfg,
}

impl Built {
    /// Builds `p.<twin>_twin`, which is created here, from `p.<source>_source`.
    fn new(server: &TestServer, source: &str, twin: &str, fill: fn(bool) -> Fill) -> Built {
        server.sql(&format!("create table p.{twin}_twin like p.{source}_source"));
        let (theirs, their_cfg) = server.export(&format!("{source}_source"));
        let (template_ibd, cfg) = server.export(&format!("{twin}_twin"));
        let theirs = Source { file: theirs };
        let their_cfg = Cfg::parse(&their_cfg).unwrap();
        let mut cfg = Cfg::parse(&cfg).unwrap();
        let template = Template::parse(&template_ibd, &cfg).unwrap();
        cfg.autoinc = their_cfg.autoinc;

        let mut build =
            Build { template: &template, allocator: Allocator::new(&template), file: Vec::new() };
        let autoinc = cfg.autoinc.saturating_sub(1);
        for (index, their_index) in template.indexes.iter().zip(&their_cfg.indexes) {
            let fill = fill(index.is_clustered);
            build.index(&theirs, their_index.root, index, fill, autoinc);
        }
        let layout = Layout::new(&template, &build.allocator);
        let pages: Vec<_> = layout.pages().collect();
        let size = usize::try_from(layout.size_bytes()).unwrap();
        assert!(build.file.len() <= size);
        for (page_no, page) in pages {
            build.write(page_no.file_offset(), &page[..]);
        }
        build.file.resize(size, 0);
        // Text is compared by the server later, with the collations that it has.
        let context = Context { writer: Writer::Loader, cfg: Some(&cfg), collations: &|_, _| None };
        let report = verify_space(&build.file, size as u64, context).unwrap();
        let first = report.violations.kept().first().map(ToString::to_string);
        assert!(report.violations.is_empty(), "{twin}: {first:?}");
        Built { theirs, their_cfg, ours: Source { file: build.file }, cfg }
    }

    /// Every page of every tree equals the server's.
    fn compare(&self, case: &Case) {
        let mut levels_max = 0;
        for (ours, theirs) in self.cfg.indexes.iter().zip(&self.their_cfg.indexes) {
            let shape = innodb::record::RecordShape::leaf(&self.cfg, ours).unwrap();
            let our_levels = self.ours.levels(ours.root, &shape.to_node());
            let their_levels = self.theirs.levels(theirs.root, &shape.to_node());
            let counts = |levels: &[Vec<u32>]| levels.iter().map(Vec::len).collect::<Vec<_>>();
            assert_eq!(counts(&our_levels), counts(&their_levels), "{} {}", case.name, ours.name);
            levels_max = levels_max.max(our_levels.len());
            for (our_page, their_page) in our_levels.concat().iter().zip(their_levels.concat()) {
                let ours_masked = self.ours.masked(*our_page, &shape);
                let theirs_masked = self.theirs.masked(their_page, &shape);
                let differs = ours_masked.iter().zip(&theirs_masked).position(|(a, b)| a != b);
                assert_eq!(
                    differs, None,
                    "{} {}: our page {our_page}, theirs {their_page}",
                    case.name, ours.name
                );
            }
        }
        assert!(levels_max >= case.levels_min, "{} has {levels_max} levels", case.name);
    }

    fn import(&self, server: &TestServer, table: &str) {
        let file = server.folder().join("ours.ibd");
        fs::write(&file, &self.ours.file).unwrap();
        // Not in every package of the server.
        if let Ok(output) = Command::new("innochecksum").arg(&file).output() {
            assert!(output.status.success(), "innochecksum: {output:?}");
        }
        server.sql(&format!("alter table p.{table} discard tablespace"));
        let place = |suffix| server.data().join("p").join(format!("{table}.{suffix}"));
        fs::rename(&file, place("ibd")).unwrap();
        fs::write(place("cfg"), self.cfg.to_bytes()).unwrap();
        server.sql(&format!("alter table p.{table} import tablespace"));
        fs::remove_file(place("cfg")).unwrap();
    }
}

/// A file being built, in memory.
struct Build<'a> {
    template: &'a Template,
    allocator: Allocator,
    file: Vec<u8>,
}

impl Build<'_> {
    fn write(&mut self, offset: u64, bytes: &[u8]) {
        let start = usize::try_from(offset).unwrap();
        if self.file.len() < start + bytes.len() {
            self.file.resize(start + bytes.len(), 0);
        }
        let place = &mut self.file[start..start + bytes.len()];
        assert!(place.iter().all(|byte| *byte == 0), "bytes {offset} written twice");
        place.copy_from_slice(bytes);
    }

    fn write_all(&mut self, sealed: &Sealed<'_>) {
        for (offset, bytes) in sealed.writes() {
            self.write(offset, bytes);
        }
    }

    /// Builds one index from the leaves of the tree at `root` of `source`.
    fn index(
        &mut self,
        source: &Source,
        root: u32,
        index: &TemplateIndex,
        fill: Fill,
        autoinc: u64,
    ) {
        let mut builder = IndexBuilder::new(index, fill);
        let mut batch = LeafBatch::new(index, fill, BATCH_PAGES + 1);
        let mut encoder = Encoder::new(index, self.template);
        let leaves = source.levels(root, &index.shape.to_node()).pop().unwrap();
        for page_no in leaves {
            // What purge had not reached yet at the export is still there, marked deleted.
            let live = |origin: &usize| source.page(page_no)[origin - RECORD_HEADER] & DELETED == 0;
            for origin in source.origins(page_no).into_iter().filter(live) {
                encoder.push(self, source, page_no, origin, &mut batch);
            }
            if batch.pages() > BATCH_PAGES {
                let appended = builder.append_closed(&mut batch, &mut self.allocator).unwrap();
                self.write_all(&appended.seal());
            }
        }
        let appended = builder.append(&mut batch, &mut self.allocator).unwrap();
        self.write_all(&appended.seal());
        for page in builder.finish(autoinc, &mut self.allocator).unwrap() {
            self.write(page.page_no.file_offset(), &page.bytes[..]);
        }
    }
}

/// Writes records again, field by field, as a loader does.
struct Encoder<'a> {
    index: &'a TemplateIndex,
    writer: RecordWriter,
    off_page: OffPage,
    blobs: BlobPages,
}

impl<'a> Encoder<'a> {
    fn new(index: &'a TemplateIndex, template: &Template) -> Encoder<'a> {
        Encoder {
            index,
            writer: RecordWriter::new(&index.shape),
            off_page: OffPage::new(&index.shape, template.row_format, template.space_id),
            blobs: BlobPages::new(template.format),
        }
    }

    fn push(
        &mut self,
        build: &mut Build<'_>,
        source: &Source,
        page_no: u32,
        origin: usize,
        batch: &mut LeafBatch,
    ) {
        let mut spans = Vec::new();
        self.index.shape.spans(source.page(page_no), origin, &mut spans).unwrap();
        self.writer.begin();
        for (field, span) in self.index.shape.fields.iter().zip(&spans) {
            let value = match field.system {
                Some(SystemColumn::TrxId) => Some(TRX_ID_AND_ROLL_PTR[..6].to_vec()),
                Some(SystemColumn::RollPtr) => Some(TRX_ID_AND_ROLL_PTR[6..].to_vec()),
                _ => source.value(page_no, span),
            };
            self.writer.data().extend_from_slice(value.as_deref().unwrap_or_default());
            self.writer.end_field(value.is_none(), false);
        }
        let record = self.writer.finish();
        if !needs_off_page(record.bytes.len()) {
            return batch.push(record.bytes, record.origin).unwrap();
        }
        let (pages, segment) = (self.off_page.plan(&self.writer).unwrap(), self.index.leaf_segment);
        let mut ranges = Vec::new();
        build.allocator.allocate(segment, pages as u32, &mut ranges).unwrap();
        let mut numbers = ranges.into_iter().flatten();
        let mut keep = |_: &BlobPages| Ok::<bool, Infallible>(false);
        let moved =
            self.off_page.move_fields(&self.writer, &mut numbers, &mut self.blobs, &mut keep);
        let record = moved.unwrap();
        batch.push(record.bytes, record.origin).unwrap();
        for (offset, bytes) in self.blobs.writes() {
            build.write(offset, bytes);
        }
        self.blobs.clear();
    }
}
