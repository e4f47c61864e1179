//! MySQL's tablespaces: those of 9.7.4 in `testdata/mysql-9.7`, and those of the server that
//! INRUSH_TEST_MYSQLD names.

use std::ops::Range;
use std::sync::Mutex;

use innodb::allocator::Allocator;
use innodb::blob::BlobReference;
use innodb::cfg::{Cfg, CfgIndex, RowFormat};
use innodb::extent::state;
use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::layout::Layout;
use innodb::page::PageBytes;
use innodb::reader::{Record, SpaceReader};
use innodb::record::{RecordShape, TRX_ID_AND_ROLL_PTR};
use innodb::source::PageSource;
use innodb::space_format::{SpaceFormat, VersionStamp};
use innodb::space_map::SpaceMap;
use innodb::template::Template;
use innodb::value_reader::ValueReader;
use innodb::verify::{Context, Report, Writer, verify_space};

use crate::sample::{Field, build};

const FORMAT: SpaceFormat = SpaceFormat::MySql;

/// An exported table.
struct Exported {
    name: String,
    ibd: Vec<u8>,
    cfg: Vec<u8>,
    rows: u64,
}

impl Exported {
    fn stored(name: &str, rows: u64) -> Exported {
        let read = |suffix| std::fs::read(format!("testdata/mysql-9.7/{name}.{suffix}")).unwrap();
        Exported { name: name.to_owned(), ibd: read("ibd"), cfg: read("cfg"), rows }
    }

    fn cfg(&self) -> Cfg {
        Cfg::parse(&self.cfg).unwrap()
    }

    fn pages(&self) -> &[PageBytes] {
        self.ibd.as_chunks().0
    }

    /// Pages that were ever used, with their numbers.
    fn used_pages(&self) -> impl Iterator<Item = (usize, &PageBytes)> {
        self.pages().iter().enumerate().filter(|(_, page)| page.iter().any(|byte| *byte != 0))
    }

    fn verify(&self, cfg: Option<&Cfg>) -> Report {
        verify(&self.ibd, cfg, Writer::Server)
    }

    /// Every record of an index that is not deleted.
    fn for_each_record(&self, cfg: &Cfg, index: &CfgIndex, mut each: impl FnMut(&Record<'_>)) {
        let reader = SpaceReader::open(&self.ibd, self.ibd.len() as u64).unwrap();
        let shape = RecordShape::leaf(cfg, index).unwrap();
        let mut records = reader.records(PageNo(index.root), &shape).unwrap();
        while let Some(record) = records.advance().unwrap() {
            if !record.is_deleted {
                each(&record);
            }
        }
    }

    /// The off-page values of the clustered index, with what the record keeps of them.
    fn long_values(&self) -> Vec<Vec<u8>> {
        let (cfg, mut reader, mut values) = (self.cfg(), ValueReader::default(), Vec::new());
        self.for_each_record(&cfg, &cfg.indexes[0], |record| {
            for (at, span) in record.fields.iter().enumerate().filter(|(_, of)| of.is_external) {
                let field = record.field(at).unwrap();
                let reference = BlobReference::at_end(field).unwrap();
                let mut value = field[..span.len - size_of::<BlobReference>()].to_vec();
                reader.read(FORMAT, &self.ibd, &reference, &mut value).unwrap();
                values.push(value);
            }
        });
        values
    }
}

fn tables() -> [Exported; 3] {
    [("fresh", 0), ("items", 67), ("compact", 3)].map(|(name, rows)| Exported::stored(name, rows))
}

#[track_caller]
fn verify(ibd: &Vec<u8>, cfg: Option<&Cfg>, writer: Writer) -> Report {
    let context = Context { writer, cfg, collations: &|_, _| None };
    verify_space(ibd, ibd.len() as u64, context).unwrap()
}

#[track_caller]
fn assert_clean(report: &Report) {
    let first = report.violations.kept().iter().take(5).map(ToString::to_string);
    let first: Vec<_> = first.collect();
    assert!(first.is_empty(), "{first:#?}");
}

/// The page, sealed anew.
fn resealed(page: &PageBytes) -> PageBytes {
    let mut page = *page;
    page[..4].fill(0xEE);
    page[PAGE_SIZE - 8..PAGE_SIZE - 4].fill(0xEE);
    FORMAT.seal(&mut page);
    page
}

/// Rules of every table that a server exported.
fn assert_understood(table: &Exported) {
    let (name, cfg) = (&table.name, table.cfg());
    assert_eq!(SpaceFormat::of_first_page(&table.ibd), Some(FORMAT), "{name}");
    assert_eq!(cfg.format(), FORMAT, "{name}");
    assert!(cfg.to_bytes() == table.cfg, "{name}.cfg is written back as it was");
    for (page_no, page) in table.used_pages() {
        assert!(FORMAT.is_intact(page), "{name} page {page_no}");
        assert!(!SpaceFormat::MariaDb.is_intact(page), "{name} page {page_no}");
        assert!(resealed(page) == *page, "{name} page {page_no}");
    }
    for report in [table.verify(Some(&cfg)), table.verify(None)] {
        assert_clean(&report);
        assert_eq!(report.indexes.len(), cfg.indexes.len(), "{name}");
        assert!(report.indexes.iter().all(|index| index.records() == table.rows), "{name}");
    }
    for index in &cfg.indexes {
        let mut rows = 0;
        table.for_each_record(&cfg, index, |_| rows += 1);
        assert_eq!(rows, table.rows, "{name} {}", index.name);
    }
}

#[test]
fn files_of_the_server_are_understood() {
    tables().iter().for_each(assert_understood);
}

#[test]
fn one_changed_bit_is_told_wherever_it_is() {
    /// Bytes outside the checksum: the flush LSN, which nobody reads, and the number of the tablespace.
    const FLUSH_LSN: core::ops::Range<usize> = 26..34;
    const SPACE_ID: core::ops::Range<usize> = 34..38;
    for table in tables() {
        for (page_no, page) in table.used_pages() {
            let (mut page, name) = (*page, &table.name);
            // Every byte of the frame, and some of the body.
            let frame = (0..200).chain(PAGE_SIZE - 100..PAGE_SIZE);
            for at in frame.chain((200..PAGE_SIZE - 100).step_by(611)) {
                page[at] ^= 1 << (at % 8);
                let is_summed = !FLUSH_LSN.contains(&at) && !SPACE_ID.contains(&at);
                assert_eq!(FORMAT.is_intact(&page), !is_summed, "{name} page {page_no} byte {at}");
                page[at] ^= 1 << (at % 8);
            }
            let mut changed = table.ibd.clone();
            changed[page_no * PAGE_SIZE + SPACE_ID.start + 2] ^= 1;
            let report = verify(&changed, None, Writer::Server);
            assert!(!report.violations.is_empty(), "{name} page {page_no}");
        }
    }
}

#[test]
fn page_0_says_who_made_the_file() {
    for table in tables() {
        let stamp = VersionStamp { server: 90_704, space: 1 };
        assert_eq!(FORMAT.version_stamp(&table.pages()[0]), Some(stamp));
    }
}

#[test]
fn a_cfg_says_what_show_create_says() {
    let [fresh, items, compact] = tables().map(|table| table.cfg());
    let names = |cfg: &Cfg| -> Vec<_> {
        cfg.indexes.iter().map(|index| (index.name.clone(), index.root)).collect()
    };
    assert_eq!((fresh.table.as_str(), fresh.autoinc), ("p/fresh", 501));
    assert_eq!(names(&fresh), [("PRIMARY".into(), 4), ("name".into(), 5)]);
    assert!(fresh.indexes[1].is_unique() && fresh.indexes[1].fields[0].descending);
    assert_eq!(fresh.row_format(), Ok(RowFormat::Dynamic));
    assert_eq!(compact.row_format(), Ok(RowFormat::Compact));
    let fields = &items.indexes[1].fields;
    let fields: Vec<_> = fields.iter().map(|of| (of.name.as_str(), of.descending)).collect();
    assert_eq!(fields, [("name", false), ("price", true), ("id", false)]);
    for cfg in [&fresh, &items, &compact] {
        let mysql = cfg.mysql.as_ref().unwrap();
        assert!(mysql.is_plain());
        assert_eq!(mysql.columns.len(), cfg.columns.len());
        let dictionary = mysql.dictionary.as_ref().unwrap();
        assert_eq!((dictionary.name.as_str(), dictionary.root), ("CLUST_IND_SDI", 3));
    }
}

#[test]
fn a_cfg_cut_anywhere_is_an_error() {
    let [_, items, _] = tables();
    for len in 0..items.cfg.len() {
        assert!(Cfg::parse(&items.cfg[..len]).is_err(), "cut at {len}");
    }
}

/// MySQL 8.0 and 8.4 write version 7, by their sources: one byte for each row version, all ones for none. 9.7 reads it,
/// as `a_server_imports_a_built_file` shows.
#[test]
fn a_cfg_of_version_7_says_the_same_with_shorter_row_versions() {
    for table in tables() {
        let mut cfg = table.cfg();
        cfg.mysql.as_mut().unwrap().file_version = 7;
        let older = cfg.to_bytes();
        assert_eq!(older.len() + 2 * cfg.columns.len(), table.cfg.len(), "{}", table.name);
        assert_eq!(older[..4], [0, 0, 0, 7]);
        assert_eq!(Cfg::parse(&older), Ok(cfg.clone()));
        for len in 0..older.len() {
            assert!(Cfg::parse(&older[..len]).is_err(), "{} cut at {len}", table.name);
        }
        cfg.mysql.as_mut().unwrap().columns[1].version_added = 64;
        assert_eq!(Cfg::parse(&cfg.to_bytes()), Ok(cfg));
    }
}

#[test]
fn long_values_are_read_over_all_their_pages() {
    let [_, items, compact] = tables();
    assert!(items.long_values() == [b"0123456789abcdef".repeat(10_200)]);
    assert!(compact.long_values() == [b"compact ".repeat(3_000)]);
}

#[test]
fn a_long_value_with_a_part_lost_or_taken_twice_is_told() {
    let [_, items, _] = tables();
    let cfg = items.cfg();
    let first = items.pages().iter().position(|page| page[24..26] == [0, 24]).unwrap();
    // Page of the second of the entries, of 60 bytes from byte 96 on.
    let second = 96 + 60 + 48;
    for (at, bytes, expected) in [
        (second, &[0, 0, 0, 4][..], "leads to page 4, an index page"),
        (second, &[0, 0, 0xFF, 0], "leads to page 65280, outside the file"),
        (second, &(first as u32).to_be_bytes(), "a second time"),
        // The next entry of the first: none; outside the pages of entries; on a page of another kind.
        (96 + 6, &[0xFF; 6], "has 15680 bytes"),
        (96 + 6, &[0, 0, 0, first as u8, 0x3F, 0xFF], "an entry of its index on the page"),
        (96 + 6, &[0, 0, 0, 4, 0, 96], "an entry of its index on the page"),
    ] {
        let mut ibd = items.ibd.clone();
        let page = &mut ibd.as_chunks_mut().0[first];
        page[at..at + bytes.len()].copy_from_slice(bytes);
        FORMAT.seal(page);
        let report = verify(&ibd, Some(&cfg), Writer::Server);
        let told = report.violations.kept().iter().map(ToString::to_string);
        let told: Vec<_> = told.collect();
        assert!(told.iter().any(|told| told.contains(expected)), "{expected}: {told:#?}");
    }
}

#[test]
fn files_of_two_servers_make_no_template() {
    let [fresh, ..] = tables();
    let mariadb = std::fs::read("testdata/mariadb-10.11/t.ibd").unwrap();
    let error = Template::parse(&mariadb, &fresh.cfg()).unwrap_err().to_string();
    assert!(error.contains("MariaDb with a .cfg file of MySql"), "{error}");
}

#[test]
fn an_empty_table_is_laid_out_as_the_server_did() {
    let [fresh, ..] = tables();
    let template = Template::parse(&fresh.ibd, &fresh.cfg()).unwrap();
    let allocator = Allocator::new(&template);
    for (page_no, page) in Layout::new(&template, &allocator).pages() {
        let mut expected = fresh.pages()[page_no.0 as usize];
        // Ours have no LSN, and the file ends with the last page that is used, or the seventh.
        expected[16..24].fill(0);
        expected[PAGE_SIZE - 4..].fill(0);
        if page_no == PageNo(0) {
            expected[46..50].copy_from_slice(&7_u32.to_be_bytes());
        }
        assert!(resealed(&expected) == *page, "{page_no:?}");
    }
}

/// Rows of table `fresh`, with values that go off page.
const ROWS: u32 = 3_000;

fn note(id: u32) -> Vec<u8> {
    let len = if id % 500 == 7 { 40_000 } else { id as usize % 50 };
    vec![b'a' + (id % 26) as u8; len]
}

fn name(id: u32) -> Vec<u8> {
    format!("{:05}", 99_999 - id).into_bytes()
}

/// A file with rows, built from the empty table `fresh`.
fn built(fresh: &Exported) -> Vec<u8> {
    let cfg = fresh.cfg();
    let template = Template::parse(&fresh.ibd, &cfg).unwrap();
    let mut allocator = Allocator::new(&template);
    let mut file = Vec::new();
    for index in &template.indexes {
        let row = |id: u32| -> Vec<Field> {
            let value = |name: &str| match name {
                "id" => id.to_be_bytes().to_vec(),
                "DB_TRX_ID" => TRX_ID_AND_ROLL_PTR[..6].to_vec(),
                "DB_ROLL_PTR" => TRX_ID_AND_ROLL_PTR[6..].to_vec(),
                "name" => self::name(id),
                _ => note(id),
            };
            let fields = index.shape.fields.iter();
            fields.map(|field| Some(value(&cfg.columns[field.column].name))).collect()
        };
        let rows: Vec<_> = (1..=ROWS).map(row).collect();
        build(&template, index, &rows, &mut allocator, &mut file);
    }
    let layout = Layout::new(&template, &allocator);
    file.resize(layout.size_bytes() as usize, 0);
    for (page_no, page) in layout.pages() {
        file[page_no.file_offset() as usize..][..PAGE_SIZE].copy_from_slice(&page[..]);
    }
    file
}

#[test]
fn a_built_file_keeps_every_rule() {
    let [fresh, ..] = tables();
    let (cfg, ibd) = (fresh.cfg(), built(&fresh));
    let report = verify(&ibd, Some(&cfg), Writer::Loader);
    assert_clean(&report);
    assert!(report.indexes.iter().all(|index| index.records() == u64::from(ROWS)));
    assert!(report.indexes[0].levels.len() > 1);
    let built = Exported { ibd, rows: ROWS.into(), ..fresh };
    assert!(built.used_pages().all(|(_, page)| FORMAT.is_intact(page)));
    let long: Vec<_> = (1..=ROWS).map(note).filter(|note| note.len() > 8_000).collect();
    assert!(built.long_values() == long);
}

/// A file, and the pages of each reading of it.
struct Readings<'a>(&'a Vec<u8>, Mutex<Vec<Range<usize>>>);

impl PageSource for Readings<'_> {
    fn read(&self, first: PageNo, buffer: &mut [u8]) -> std::io::Result<()> {
        let first_page = first.0 as usize;
        self.1.lock().unwrap().push(first_page..first_page + buffer.len() / PAGE_SIZE);
        self.0.read(first, buffer)
    }
}

/// The first page of each value was read once more at the end.
#[test]
fn pages_of_chained_values_are_read_once() {
    let [fresh, ..] = tables();
    let (cfg, ibd) = (fresh.cfg(), built(&fresh));
    let source = Readings(&ibd, Mutex::default());
    let context = Context { writer: Writer::Loader, cfg: Some(&cfg), ..Context::unknown() };
    let report = verify_space(&source, ibd.len() as u64, context).unwrap();
    assert!(report.violations.is_empty());
    let readings = source.1.into_inner().unwrap();
    let times = |page: usize| readings.iter().filter(|pages| pages.contains(&page)).count();
    let is_value = |page: &usize| ibd[page * PAGE_SIZE + 24..][..2] == [0, 10];
    let values: Vec<usize> = (0..ibd.len() / PAGE_SIZE).filter(is_value).collect();
    // The page behind the roots is also read when the file is opened.
    let again = values.iter().filter(|page| times(**page) > 1).count();
    assert!(values.len() > 10 && again <= 1, "{again} of {}", values.len());
}

/// Faults that MySQL 9.7.4 ends itself for, during IMPORT or when the page is used, or that nothing else shows.
#[test]
fn damages_that_end_the_server_are_told() {
    let [fresh, ..] = tables();
    let (cfg, sound) = (fresh.cfg(), built(&fresh));
    let reference = reference(&sound);
    // Row 49 has 49 bytes of text, and a name of 5 bytes.
    let row = [&49_u32.to_be_bytes()[..], &TRX_ID_AND_ROLL_PTR].concat();
    let row = sound.windows(row.len()).position(|bytes| bytes == row).unwrap();
    assert_eq!(sound[row - 8..row - 6], [49, 5]);
    let place = |page_no: usize, at: usize| page_no * PAGE_SIZE + at;
    let cases: [(usize, &[u8], &str); 12] = [
        // The dictionary: PAGE_N_DIR_SLOTS, PAGE_HEAP_TOP, PAGE_N_HEAP, PAGE_N_RECS, the level, a sibling, a
        // segment, the first record's heap number.
        (place(3, 38), &[0, 96], "directory slot 95 is 0"),
        (place(3, 40), &[0xD1], "PAGE_HEAP_TOP is"),
        (place(3, 43), &[12], "PAGE_N_HEAP counts 12 records"),
        (place(3, 54), &[2, 0], "PAGE_N_RECS is 512"),
        (place(3, 64), &[0, 1], "dictionary page of index 0xffffffffffffffff, level 1"),
        (place(3, 12), &[0, 0, 0, 9], "with siblings 4294967295 and 9"),
        (place(3, 82), &[0, 51], "names a segment twice, or another index's"),
        (place(3, 98), &[2], "record has heap number"),
        // The root of the dictionary that page 0 names.
        (place(0, 10_512), &[5], "belongs to no index"),
        // A leaf's last insert, and a chain of pages that is taken for a list of parts.
        (place(4, 48), &[0, 99], "PAGE_LAST_INSERT is 99"),
        (reference + 8, &[8], "off-page value starts at byte 134217766"),
        // A name of 41 bytes in a column of 40.
        (row - 8, &[13, 41], "has a value longer than its column"),
    ];
    let mut untold = Vec::new();
    for (at, bytes, expected) in cases {
        let mut ibd = sound.clone();
        ibd[at..at + bytes.len()].copy_from_slice(bytes);
        FORMAT.seal(&mut ibd.as_chunks_mut().0[at / PAGE_SIZE]);
        let report = verify(&ibd, Some(&cfg), Writer::Loader);
        let told: Vec<_> = report.violations.kept().iter().map(ToString::to_string).collect();
        if !told.iter().any(|told| told.contains(expected)) {
            untold.push((expected, told));
        }
    }
    assert!(untold.is_empty(), "{untold:#?}");
}

/// Byte of the file at which the first reference to an off-page value is.
fn reference(ibd: &[u8]) -> usize {
    let first = ibd.chunks(PAGE_SIZE).position(|page| page[24..26] == [0, 10]).unwrap();
    let mut reference = ibd[34..38].to_vec();
    reference.extend((first as u32).to_be_bytes());
    reference.extend(38_u32.to_be_bytes());
    ibd.windows(reference.len()).position(|bytes| bytes == reference).unwrap()
}

/// A MySQL of the test's own with a database `p`.
struct Server {
    server: testkit::TestServer,
}

impl Server {
    fn start() -> Option<Server> {
        let server = testkit::TestServer::mysql(Vec::new())?;
        server.connect().unwrap().exec("CREATE DATABASE p").unwrap();
        Some(Server { server })
    }

    fn exec(&self, statements: &[&str]) {
        let mut session = self.server.connect().unwrap();
        session.exec("USE p").unwrap();
        for sql in statements {
            session.exec(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    }

    fn text(&self, sql: &str) -> String {
        let mut session = self.server.connect().unwrap();
        session.exec("USE p").unwrap();
        session.query_row(sql).unwrap().text_lossy(0)
    }

    fn path(&self, table: &str, suffix: &str) -> std::path::PathBuf {
        self.server.datadir().join("p").join(format!("{table}.{suffix}"))
    }

    fn export(&self, table: &str) -> Exported {
        let rows = self.text(&format!("SELECT COUNT(*) FROM {table}")).parse().unwrap();
        let mut session = self.server.connect().unwrap();
        session.exec("USE p").unwrap();
        session.exec(&format!("FLUSH TABLES {table} FOR EXPORT")).unwrap();
        let read = |suffix| std::fs::read(self.path(table, suffix)).unwrap();
        let exported =
            Exported { name: table.to_owned(), ibd: read("ibd"), cfg: read("cfg"), rows };
        session.exec("UNLOCK TABLES").unwrap();
        exported
    }
}

/// From 256 MB on there is an extent that begins with the space's own pages, and MySQL lends it to a segment.
#[test]
fn a_file_with_a_leased_extent_is_understood() {
    let Some(server) = Server::start() else { return };
    server.exec(&[
        "CREATE TABLE large (id INT AUTO_INCREMENT PRIMARY KEY, body VARCHAR(8000)) CHARSET latin1",
        "SET cte_max_recursion_depth=100000",
        "INSERT INTO large (body) WITH RECURSIVE s AS \
         (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < 40000) SELECT REPEAT('x', 7400) FROM s",
    ]);
    let table = server.export("large");
    let size = table.ibd.len() as u64;
    let map = SpaceMap::read(&table.ibd, size).unwrap();
    let states = map.extents.iter().map(|extent| extent.state.get());
    assert!(states.collect::<Vec<_>>().contains(&state::LEASED), "otherwise nothing is tested");
    assert_understood(&table);
    let report = verify(&table.ibd, Some(&table.cfg()), Writer::Loader);
    assert!(!report.violations.is_empty(), "we never build such a file");
}

#[test]
fn files_of_a_server_are_understood_after_changes_too() {
    let Some(server) = Server::start() else { return };
    for format in ["DYNAMIC", "COMPACT"] {
        server.exec(&[
            "DROP TABLE IF EXISTS t",
            &format!(
                "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(70), doc JSON, body LONGBLOB, \
                 KEY (name DESC)) ROW_FORMAT={format}"
            ),
            "SET cte_max_recursion_depth=10000",
            "INSERT INTO t WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < 4000) \
             SELECT n, SHA2(n, 256), JSON_OBJECT('n', n, 'pad', REPEAT('p', IF(n % 97, 10, 30000))), \
             IF(n % 211, NULL, REPEAT(SHA2(n, 256), n * 5)) FROM s",
        ]);
        assert_understood(&server.export("t"));
        server.exec(&[
            "UPDATE t SET doc = JSON_SET(doc, '$.n', id + 1) WHERE id % 194 = 0",
            "UPDATE t SET doc = JSON_REPLACE(doc, '$.pad', REPEAT('q', 29000)) WHERE id % 97 = 0",
            "UPDATE t SET body = REPEAT('z', id * 50) WHERE id % 422 = 0",
            "DELETE FROM t WHERE id % 5 = 0",
            "UPDATE t SET name = REVERSE(name) WHERE id % 3 = 0",
        ]);
        let table = server.export("t");
        assert_understood(&table);
        let sum: usize = table.long_values().iter().map(Vec::len).sum();
        let (json, blob) = ("SUM(IF(id % 97, 0, JSON_STORAGE_SIZE(doc)))", "SUM(LENGTH(body))");
        let total = |sum| server.text(&format!("SELECT {sum} FROM t")).parse::<usize>().unwrap();
        let expected = total(json) + total(blob);
        assert_eq!(sum, expected, "{format}");
    }
}

/// Each version of the `.cfg` file: MySQL 9.7 writes 8, and reads 7.
#[test]
fn a_server_imports_a_built_file() {
    let Some(server) = Server::start() else { return };
    for file_version in [8, 7] {
        server.exec(&[
            "DROP TABLE IF EXISTS fresh",
            "CREATE TABLE fresh (id INT UNSIGNED NOT NULL AUTO_INCREMENT, \
             name VARCHAR(40) CHARACTER SET latin1 NOT NULL, note TEXT, \
             PRIMARY KEY (id), UNIQUE KEY name (name DESC))",
        ]);
        import_built(&server, file_version);
    }
}

fn import_built(server: &Server, file_version: u32) {
    let fresh = server.export("fresh");
    assert_understood(&fresh);
    let ibd = built(&fresh);
    assert_clean(&verify(&ibd, Some(&fresh.cfg()), Writer::Loader));
    server.exec(&["ALTER TABLE fresh DISCARD TABLESPACE"]);
    std::fs::write(server.path("fresh", "ibd"), &ibd).unwrap();
    // The counter is in this file alone.
    let mut cfg = Cfg { autoinc: u64::from(ROWS) + 1, ..fresh.cfg() };
    cfg.mysql.as_mut().unwrap().file_version = file_version;
    std::fs::write(server.path("fresh", "cfg"), cfg.to_bytes()).unwrap();
    server.exec(&["ALTER TABLE fresh IMPORT TABLESPACE"]);
    let bytes: usize = (1..=ROWS).map(|id| note(id).len()).sum();
    assert_eq!(server.text("SELECT SUM(LENGTH(note)) FROM fresh"), bytes.to_string());
    let by_name = "SELECT COUNT(*) FROM fresh FORCE INDEX (name) WHERE name > '0'";
    assert_eq!(server.text(by_name), ROWS.to_string());
    let mut session = server.server.connect().unwrap();
    let check = session.query_row("CHECK TABLE p.fresh EXTENDED").unwrap();
    assert_eq!(check.text_lossy(3), "OK");
    server.exec(&["INSERT INTO fresh (name, note) SELECT CONCAT('x', id), note FROM fresh"]);
    let after = server.export("fresh");
    assert_eq!(after.rows, 2 * u64::from(ROWS));
    assert_understood(&after);
}
