//! Rows of a table that was altered with ALGORITHM=INSTANT, as rows of the table that it is now.
//!
//! `testdata/mariadb-10.11/README.md` and `testdata/mysql-9.7/README.md` have the statements that made the files.

use innodb::cfg::{Cfg, NO_VERSION};
use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::index_page::INFIMUM;
use innodb::instant::{OldLayout, Rewriter, is_altered};
use innodb::leaves::{LeafPointers, read_leaves};
use innodb::page::AlignedPage;
use innodb::record::{RECORD_HEADER, RecordShape};
use innodb::source::ReadError;
use innodb::space_format::SpaceFormat;
use innodb::verify::{Context, verify_space};

const IBD: &[u8] = include_bytes!("../testdata/mariadb-10.11/altered.ibd");
const OLD: &[u8] = include_bytes!("../testdata/mariadb-10.11/altered.cfg");
const NEW: &[u8] = include_bytes!("../testdata/mariadb-10.11/altered-like.cfg");

const MYSQL_IBD: &[u8] = include_bytes!("../testdata/mysql-9.7/altered.ibd");
const MYSQL_CFG: &[u8] = include_bytes!("../testdata/mysql-9.7/altered.cfg");

/// A field: NULL, its bytes, or those of a reference to an off-page value.
type Field = Option<Vec<u8>>;

fn shape() -> (Cfg, RecordShape) {
    let new = Cfg::parse(NEW).unwrap();
    let shape = RecordShape::leaf(&new, &new.indexes[0]).unwrap();
    (new, shape)
}

/// All rows of MariaDB's file, by name of their columns.
fn rows(file: &[u8]) -> Result<Vec<Vec<(String, Field)>>, ReadError> {
    let (new, shape) = shape();
    rows_of(file, &Cfg::parse(OLD).unwrap(), new, shape)
}

/// All rows of MySQL's file.
fn mysql_rows(file: &[u8], old: &Cfg) -> Result<Vec<Vec<(String, Field)>>, ReadError> {
    let shape = RecordShape::new_rows(old, &old.indexes[0])?;
    rows_of(file, old, old.clone(), shape)
}

fn rows_of(
    file: &[u8],
    old: &Cfg,
    new: Cfg,
    shape: RecordShape,
) -> Result<Vec<Vec<(String, Field)>>, ReadError> {
    let pages = (file.len() / PAGE_SIZE) as u32;
    let source = &file;
    let Some(layout) = OldLayout::read(source, old, &new, &shape, pages)? else {
        return Ok(Vec::new());
    };
    let root = PageNo(old.indexes[0].root);
    let node = layout.node_shape(&shape);
    let mut pointers = LeafPointers::with_node(source, root, node, pages)?;
    let (mut read, mut order) = (vec![AlignedPage::ZERO], Vec::new());
    let (mut page, mut live, mut spans) = (AlignedPage::ZERO, Vec::new(), Vec::new());
    let mut rewriter = Rewriter::new(&layout, &shape, PAGE_SIZE);
    let mut rows = Vec::new();
    while let Some(leaf) = pointers.advance()?.map(|pointer| pointer.leaf) {
        read_leaves(source, &[leaf], &mut read, &mut order)?;
        rewriter.begin();
        while rewriter.advance(leaf, &read[0].0, &mut page.0, &mut live)? {
            for record in &live {
                let bytes = record.bytes(&page.0);
                shape.spans(bytes, record.origin(), &mut spans)?;
                let named = shape.fields.iter().zip(&spans).map(|(field, span)| {
                    let value = span.of(bytes).map(<[u8]>::to_vec);
                    (new.columns[field.column].name.clone(), value)
                });
                rows.push(named.collect());
            }
        }
    }
    Ok(rows)
}

fn int(value: i32) -> Field {
    Some(((value as u32) ^ 1 << 31).to_be_bytes().to_vec())
}

fn text(value: &str) -> Field {
    Some(value.as_bytes().to_vec())
}

#[test]
fn rows_of_before_and_since_have_the_columns_of_now() {
    assert!(is_altered(&IBD, &Cfg::parse(OLD).unwrap()).unwrap());
    let rows = rows(IBD).unwrap();
    let value = |row: usize, name: &str| {
        let field = rows[row].iter().find(|(column, _)| column == name);
        field.unwrap_or_else(|| panic!("{name} of {:?}", rows[row])).1.clone()
    };
    // Row c is deleted, and a transaction that reads on has kept it in the file.
    let keys: Vec<Field> = (0..rows.len()).map(|row| value(row, "k")).collect();
    assert_eq!(keys, ["a", "aa", "b", "d"].map(text));
    // DATETIME 2020-01-02 03:04:05 and 2021-01-01 00:00:00.
    let (added, given) = ([0x99, 0xA5, 0x44, 0x31, 0x05], [0x99, 0xA8, 0x82, 0, 0]);
    assert_eq!([value(0, "d"), value(2, "d")], [Some(added.to_vec()), Some(added.to_vec())]);
    assert_eq!(value(3, "d"), Some(given.to_vec()));
    for row in [0, 1] {
        let numbers = (2..=8).map(|number| value(row, &format!("n{number}")));
        assert!(numbers.eq((2..=8).map(int)), "row {row}");
    }
    assert_eq!([value(2, "n2"), value(3, "n2"), value(3, "n8")], [None, None, int(8)]);
    // Of 20,000 bytes, which DYNAMIC stores off page whole.
    assert_eq!(value(0, "kept").map(|reference| reference.len()), Some(20));
    assert_eq!(
        [value(1, "kept"), value(2, "kept"), value(3, "kept")],
        [text("kept"), None, text("k")]
    );
    let unchanged = (0..4).map(|row| value(row, "s"));
    assert!(unchanged.eq(["before", "between", "nulls", "since"].map(text)));
    let added = (0..4).map(|row| value(row, "t"));
    assert!(added.eq(["added", "added", "added", "other"].map(text)));
    assert_eq!([value(0, "z"), value(3, "z")], [None, int(9)]);
    assert!(rows.iter().flatten().all(|(name, _)| name != "gone" && name != "n1"));
}

#[test]
fn the_description_of_the_file_is_like_that_of_the_table() {
    let (old, (new, _)) = (Cfg::parse(OLD).unwrap(), shape());
    assert_eq!(new.indexes_of_like(&old, true), Some(vec![0, 1]));
    assert_eq!(new.indexes_of_like(&old, false), None);
    // As after DROP INDEX of an index of a prefix.
    let mut other = new.clone();
    (other.columns[0].ord_part, other.columns[0].max_prefix) = (0, 10);
    assert_ne!(other.columns, new.columns);
    assert_eq!(other.indexes_of_like(&old, true), Some(vec![0, 1]));
    other.columns[0].len += 1;
    assert_eq!(other.indexes_of_like(&old, true), None);
    let mut other = new.clone();
    other.indexes[0].fields[3].fixed_len += 1;
    assert_eq!(other.indexes_of_like(&old, true), None);
}

/// Whatever byte of a page is wrong below its checksum, rows come out or an error does.
#[test]
fn a_damaged_file_is_an_error_or_other_rows() {
    let mut file = IBD.to_vec();
    // The root, which is the only leaf, and the pages of off-page values: one of them describes fields.
    let places = 3 * PAGE_SIZE..file.len();
    damage(&mut file, places, rows);
    let (mut file, old) = (MYSQL_IBD.to_vec(), Cfg::parse(MYSQL_CFG).unwrap());
    damage(&mut file, 4 * PAGE_SIZE..5 * PAGE_SIZE, |file| mysql_rows(file, &old));
}

fn damage<T>(
    file: &mut [u8],
    places: core::ops::Range<usize>,
    rows: impl Fn(&[u8]) -> Result<T, ReadError>,
) {
    let mut errors = 0;
    for at in places {
        let sound = file[at];
        // What nobody reads is zero for the most part.
        if sound == 0 && at % 251 != 0 {
            continue;
        }
        for damaged in [0xFF, sound ^ 1, sound] {
            file[at] = damaged;
            reseal(file, at / PAGE_SIZE);
            errors += usize::from(rows(file).is_err());
        }
    }
    assert!(errors > 20, "{errors}");
}

/// Gives a page the checksum of its contents.
fn reseal(file: &mut [u8], page_no: usize) {
    let format = SpaceFormat::of_first_page(file).unwrap();
    let (pages, _) = file.as_chunks_mut::<PAGE_SIZE>();
    format.seal(&mut pages[page_no]);
}

/// Rows of MySQL from before and after each of three ALTER TABLEs.
#[test]
fn rows_of_each_version_have_the_columns_of_now() {
    let old = Cfg::parse(MYSQL_CFG).unwrap();
    assert!(is_altered(&MYSQL_IBD, &old).unwrap() && old.has_row_versions());
    assert!(RecordShape::leaf(&old, &old.indexes[0]).is_err());
    assert!(RecordShape::leaf(&old, &old.indexes[1]).is_ok());
    let rows = mysql_rows(MYSQL_IBD, &old).unwrap();
    let names: Vec<&str> = rows[0].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..3], ["k", "DB_TRX_ID", "DB_ROLL_PTR"]);
    assert_eq!(names[3..], ["z", "d", "aa", "c", "l", "b", "n"]);
    let (added, given) = ([0x99, 0xA5, 0x44, 0x31, 0x05], [0x99, 0xA8, 0x82, 0, 0]);
    let added = || Some(added.to_vec());
    let expected = [
        [text("a"), int(7), added(), int(1), text("first"), None, None, None],
        [text("b"), int(8), added(), int(1), text("second"), text("long"), None, None],
        [text("c"), int(9), added(), int(3), None, text("short"), text("again"), None],
        [
            text("d"),
            int(10),
            Some(given.to_vec()),
            int(4),
            text("third"),
            None,
            text("b"),
            text("n"),
        ],
    ];
    assert_eq!(rows.len(), expected.len());
    for (row, expected) in rows.iter().zip(expected) {
        let values = row[..1].iter().chain(&row[3..]);
        for ((name, value), expected) in values.zip(expected) {
            match expected.as_deref() {
                // Of 20,000 and 9,000 bytes, which DYNAMIC stores off page whole.
                Some(b"long" | b"n") => assert_eq!(value.as_ref().map(Vec::len), Some(20)),
                _ => assert_eq!(*value, expected, "{name} of {row:?}"),
            }
        }
    }
}

#[test]
fn a_description_of_dropped_columns_cut_anywhere_is_an_error() {
    for len in 0..MYSQL_CFG.len() {
        assert!(Cfg::parse(&MYSQL_CFG[..len]).is_err(), "cut at {len}");
    }
}

/// Versions are no damage, known from a `.cfg` or not.
#[test]
fn rows_of_several_versions_break_no_rule() {
    let old = Cfg::parse(MYSQL_CFG).unwrap();
    for cfg in [Some(&old), None] {
        let context = Context { cfg, ..Context::unknown() };
        let report = verify_space(&MYSQL_IBD, MYSQL_IBD.len() as u64, context).unwrap();
        assert!(report.violations.is_empty(), "{report:#?}");
        assert_eq!(report.is_altered, cfg.is_some());
        assert_eq!(report.indexes[0].records(), 4);
    }
}

/// Also where no column has a default of then: it was dropped since.
#[test]
fn a_row_that_says_how_many_fields_it_has_is_refused() {
    let (mut file, old) = (MYSQL_IBD.to_vec(), Cfg::parse(MYSQL_CFG).unwrap());
    let leaf: &mut [u8] = &mut file[4 * PAGE_SIZE..5 * PAGE_SIZE];
    let first = INFIMUM + usize::from(u16::from_be_bytes([leaf[INFIMUM - 2], leaf[INFIMUM - 1]]));
    leaf[first - RECORD_HEADER] |= 0x80;
    reseal(&mut file, 4);
    let error = mysql_rows(&file, &old).unwrap_err().to_string();
    assert!(error.contains("fields on the page"), "{error}");
}

/// MySQL before 8.0.29 wrote the number of fields into rows; rows from before the ALTER TABLE have fewer fields.
#[test]
fn a_column_with_a_default_and_no_version_is_refused() {
    let mut old = Cfg::parse(MYSQL_CFG).unwrap();
    let mysql = old.mysql.as_mut().unwrap();
    mysql.columns.iter_mut().for_each(|column| column.version_added = NO_VERSION);
    let error = mysql_rows(MYSQL_IBD, &old).unwrap_err().to_string();
    assert!(error.contains("that of MySQL before 8.0.29"), "{error}");
    let mysql = old.mysql.as_mut().unwrap();
    (mysql.row_version, mysql.total_columns) = (0, mysql.current_columns);
    mysql.initial_columns = mysql.current_columns;
    assert!(!mysql.is_plain());
}
