//! Two tables that should be the same: through every index, by stored bytes, page by page.

use std::collections::HashMap;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::learn::{self, CollationCache};
use innodb::cfg::{Cfg, CfgIndex};
use innodb::ids::PAGE_SIZE;
use innodb::index_page::{PAGE_HEADER, PageHeader};
use innodb::record::{DELETED, RECORD_HEADER, RecordShape, SystemColumn};
use innodb::space_format::SpaceFormat;
use innodb::verify::{Compare, Context, Report, Writer, collation_of, verify_space};
use server::Row;
use values::Collation;

use crate::tables::server::{Db, Server};
use crate::tablespace::Source;

/// Purge is done with a test's changes within this time.
const PURGE: Duration = Duration::from_secs(20);

/// Fields of one record: NULL, or the stored bytes.
type Stored = Vec<Option<Vec<u8>>>;

/// The server's opinion of a table. Purge comes behind changes, and until it has, and while it
/// does, CHECK TABLE has remarks about records that are marked as deleted, of tables that the
/// server filled as of ours; they are given the time to go.
pub fn verdict(db: &mut Db, table: &str) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let check = db.rows(&format!("CHECK TABLE `{table}` EXTENDED"));
        let verdict: Vec<String> = check.iter().map(|row| row.text_lossy(3)).collect();
        if verdict == ["OK"] || begun.elapsed() > PURGE {
            return verdict;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Every row through every index, in its order, and the server's opinion of `ours`.
#[track_caller]
pub fn same_rows(db: &mut Db, ours: &str, theirs: &str, indexes: &[&str]) {
    assert_eq!(verdict(db, ours), ["OK"], "CHECK TABLE {ours} EXTENDED");
    let sums = db.rows(&format!("CHECKSUM TABLE `{ours}`, `{theirs}`"));
    assert_eq!(sums[0].text_lossy(1), sums[1].text_lossy(1), "CHECKSUM of {ours} and {theirs}");
    same_scans(db, ours, theirs, indexes);
}

/// Every row through every index, in its order.
#[track_caller]
pub fn same_scans(db: &mut Db, ours: &str, theirs: &str, indexes: &[&str]) {
    for index in [None].into_iter().chain(indexes.iter().copied().map(Some)) {
        let our_rows = scan(db, ours, index);
        let their_rows = scan(db, theirs, index);
        let pairs = || our_rows.iter().zip(&their_rows);
        if let Some(at) = pairs().position(|(a, b)| !same_values(a, b)) {
            let (a, b) = (show(&our_rows[at]), show(&their_rows[at]));
            panic!("row {at} through {index:?}:\n  ours   {a}\n  theirs {b}");
        }
        assert_eq!(our_rows.len(), their_rows.len(), "rows through {index:?}");
    }
}

/// All rows in the order of an index, or of the clustered one. Prefix indexes serve no ORDER BY,
/// but HANDLER reads any.
pub fn scan(db: &mut Db, table: &str, index: Option<&str>) -> Vec<Row> {
    let by = index.map_or(String::new(), |name| format!("`{name}`"));
    db.sql(&format!("HANDLER `{table}` OPEN"));
    let rows = db.rows(&format!("HANDLER `{table}` READ {by} FIRST LIMIT 1000000000"));
    db.sql(&format!("HANDLER `{table}` CLOSE"));
    rows
}

fn same_values(a: &Row, b: &Row) -> bool {
    a.len() == b.len() && (0..a.len()).all(|column| a.bytes(column) == b.bytes(column))
}

/// A row for people, its fields escaped.
pub fn show(row: &Row) -> String {
    let field = |at| row.bytes(at).map_or("NULL".to_owned(), |b| b.escape_ascii().to_string());
    let fields: Vec<String> = (0..row.len()).map(field).collect();
    let text = fields.join(" | ");
    text.chars().take(600).collect()
}

/// A table's files as the server exports them.
pub struct Exported {
    /// The tablespace.
    pub source: Source,
    /// Its `.cfg`.
    pub cfg: Cfg,
}

impl Exported {
    /// Exports a table of the database.
    pub fn new(server: &Server, db: &mut Db, table: &str) -> Exported {
        Exported::files(server, db, table, &[]).remove(0)
    }

    /// Exports a table with these partitions; a file each, or one if it has none.
    pub fn files(server: &Server, db: &mut Db, table: &str, partitions: &[&str]) -> Vec<Exported> {
        let folder = server.test_server().datadir().join(&db.name);
        let parts = partitions.iter().map(|partition| format!("{table}#P#{partition}"));
        let mut names: Vec<String> = parts.collect();
        if names.is_empty() {
            names.push(table.to_owned());
        }
        db.sql(&format!("FLUSH TABLES `{table}` FOR EXPORT"));
        let read = |name: &String| {
            let file = std::fs::read(folder.join(format!("{name}.ibd"))).unwrap();
            let cfg = std::fs::read(folder.join(format!("{name}.cfg"))).unwrap();
            Exported { source: Source { file }, cfg: Cfg::parse(&cfg).unwrap() }
        };
        let exported = names.iter().map(read).collect();
        db.sql("UNLOCK TABLES");
        exported
    }

    /// No structural rule is broken, and the server's own tool finds nothing either; what is there.
    #[track_caller]
    pub fn verify(&self, db: &mut Db, folder: &Path) -> Report {
        let collations = self.collations(db);
        let known = |id: u32, is_trimmed: bool| -> Option<Compare> {
            let collation = Arc::clone(collations.get(&id)?);
            Some(match is_trimmed {
                true => Arc::new(move |a: &[u8], b: &[u8]| collation.compare_trimmed(a, b)),
                false => Arc::new(move |a: &[u8], b: &[u8]| collation.compare(a, b)),
            })
        };
        let context = Context { writer: Writer::Server, cfg: Some(&self.cfg), collations: &known };
        let size = self.source.file.len() as u64;
        let report = verify_space(&self.source.file, size, context).unwrap();
        let broken: Vec<String> =
            report.violations.kept().iter().take(5).map(ToString::to_string).collect();
        assert!(report.violations.is_empty(), "{broken:#?}");
        assert!(report.unchecked.is_empty(), "{:?}", report.unchecked);
        let copy = folder.join("exported.ibd");
        std::fs::write(&copy, &self.source.file).unwrap();
        let output = Command::new("innochecksum").arg(&copy).output();
        // Not in every package of the server.
        if let Ok(output) = output {
            assert!(output.status.success(), "innochecksum: {output:?}");
        }
        report
    }

    fn collations(&self, db: &mut Db) -> HashMap<u32, Arc<Collation>> {
        let mut known = HashMap::new();
        for id in self.cfg.columns.iter().filter_map(collation_of) {
            // Before 10.10 a collation has one name, which is its character set's too.
            let (name, table) = match db.session().version().series() >= (10, 10) {
                true => ("FULL_COLLATION_NAME", "COLLATION_CHARACTER_SET_APPLICABILITY"),
                false => ("COLLATION_NAME", "COLLATIONS"),
            };
            let name =
                db.text(&format!("SELECT {name} FROM information_schema.{table} WHERE ID={id}"));
            let cache = CollationCache::of_user();
            let Ok(collation) = learn::collation(db.session(), &name, &cache) else { continue };
            known.insert(id, collation);
        }
        known
    }

    /// Records of every index, by its name, in order: what is stored, less transactions, hidden
    /// row ids and the places of off-page values.
    pub fn stored(&self) -> HashMap<String, Vec<Stored>> {
        self.cfg.indexes.iter().map(|index| (index.name.clone(), self.records(index))).collect()
    }

    fn records(&self, index: &CfgIndex) -> Vec<Stored> {
        let shape = RecordShape::leaf(&self.cfg, index).unwrap();
        let leaves = self.source.levels(index.root, &shape.to_node()).pop().unwrap();
        let mut records = Vec::new();
        let mut spans = Vec::new();
        for page_no in leaves {
            for origin in self.source.origins(page_no) {
                let page = self.source.page(page_no);
                if page[origin - RECORD_HEADER] & DELETED != 0 {
                    continue;
                }
                shape.spans(page, origin, &mut spans).unwrap();
                let fields = shape.fields.iter().zip(&spans);
                records.push(
                    fields
                        .filter(|(field, _)| field.system.is_none())
                        .map(|(_, span)| self.source.value(page_no, span))
                        .collect(),
                );
            }
        }
        records
    }

    /// Leaf and non-leaf pages of every index equal those of `theirs`, what must differ masked.
    #[track_caller]
    pub fn same_pages(&self, theirs: &Exported) {
        for ours in &self.cfg.indexes {
            let name = &ours.name;
            let their_index = theirs.cfg.indexes.iter().find(|index| index.name == *name).unwrap();
            let shape = RecordShape::leaf(&self.cfg, ours).unwrap();
            let our_levels = self.source.levels(ours.root, &shape.to_node());
            let their_levels = theirs.source.levels(their_index.root, &shape.to_node());
            let counts = |levels: &[Vec<u32>]| levels.iter().map(Vec::len).collect::<Vec<_>>();
            assert_eq!(counts(&our_levels), counts(&their_levels), "pages of {name} by level");
            for (our_page, their_page) in our_levels.concat().iter().zip(their_levels.concat()) {
                let our_bytes = masked(&self.source, *our_page, &shape);
                let their_bytes = masked(&theirs.source, their_page, &shape);
                let differs = our_bytes.iter().zip(&their_bytes).position(|(a, b)| a != b);
                let place = format!("{name}: our page {our_page}, their page {their_page}");
                assert_eq!(differs, None, "first different byte of {place}");
            }
        }
    }
}

/// Stored bytes of every index are the same.
#[track_caller]
pub fn same_stored(ours: &Exported, theirs: &Exported) {
    let (our_indexes, mut their_indexes) = (ours.stored(), theirs.stored());
    for (name, our_records) in our_indexes {
        let their_records = their_indexes.remove(&name).unwrap();
        assert_eq!(our_records.len(), their_records.len(), "records of {name}");
        for (at, (a, b)) in our_records.iter().zip(&their_records).enumerate() {
            assert!(a == b, "record {at} of {name}:\n  ours   {}\n  theirs {}", text(a), text(b));
        }
    }
}

fn text(record: &Stored) -> String {
    let field = |field: &Option<Vec<u8>>| match field {
        None => "NULL".to_owned(),
        Some(bytes) => bytes.escape_ascii().to_string(),
    };
    record.iter().map(field).collect::<Vec<_>>().join(" | ").chars().take(800).collect()
}

/// As [`Source::masked`], hidden row ids too: the server counts them over all its tables.
fn masked(source: &Source, page_no: u32, leaf: &RecordShape) -> Vec<u8> {
    let mut page = source.masked(page_no, leaf);
    assert_eq!(page.len(), PAGE_SIZE);
    if SpaceFormat::of_first_page(source.page(0)) == Some(SpaceFormat::MySql) {
        // Its index builds note the last record as the last one inserted; pages of ours note none, as MariaDB's.
        page[offset_of!(PageHeader, last_insert) + PAGE_HEADER..][..4].fill(0);
    }
    let has_row_id = |shape: &RecordShape| {
        shape.fields.iter().any(|field| matches!(field.system, Some(SystemColumn::RowId)))
    };
    if has_row_id(leaf) {
        let is_leaf = source.page(page_no)[64..66] == [0, 0];
        let node = leaf.to_node();
        let shape = if is_leaf { leaf } else { &node };
        let mut spans = Vec::new();
        for origin in source.origins(page_no) {
            shape.spans(source.page(page_no), origin, &mut spans).unwrap();
            for (field, span) in shape.fields.iter().zip(&spans) {
                if matches!(field.system, Some(SystemColumn::RowId)) {
                    page[span.start..span.start + span.len].fill(0);
                }
            }
        }
    }
    page
}
