//! Rows whose source knows the types of their values: the same table, by every path, as from the
//! same rows as text; and what is said of one that is refused.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use load::{LoadOptions, LoadPath, Report};
use sources::batch::{Cells, TypedColumn, TypedColumns, TypedRow};
use sources::{
    Batch, Chunk, InputFacts, InputFile, ReadAs, Reader, Result, Row, Rows, Source, Value,
};
use testkit::Random;
use testkit::tables::server::{Db, Server};
use values::Zone;

const ROWS: usize = 20_000;

/// A column of the table, and what goes there.
const TABLE: &str = "id BIGINT PRIMARY KEY, small SMALLINT UNSIGNED, price DECIMAL(12,2) NOT NULL, \
    whole DECIMAL(20,0), weight DOUBLE, ratio FLOAT, day DATE, since DATETIME(6), seen TIMESTAMP(3) \
    NULL, span TIME(6), name VARCHAR(40) CHARACTER SET utf8mb4, code VARBINARY(8), shown VARCHAR(60) \
    CHARACTER SET latin1, KEY (day, small), UNIQUE KEY (name, id)";

/// Columns in memory, as a file of Parquet or Arrow would have them.
#[derive(Clone)]
struct Columns {
    rows: usize,
    columns: Arc<Vec<TypedColumn>>,
    facts: InputFacts,
    next: usize,
    ordinal: u64,
}

impl Columns {
    fn new(columns: Vec<TypedColumn>, rows: usize) -> Columns {
        let file = InputFile { path: PathBuf::from("rows.columns"), bytes: Some(rows as u64) };
        let facts = InputFacts::new(vec![file], "columns in memory");
        Columns { rows, columns: columns.into(), facts, next: 0, ordinal: 0 }
    }
}

impl Source for Columns {
    fn facts(&self) -> &InputFacts {
        &self.facts
    }

    fn begin(&mut self, read_as: ReadAs) -> Result<()> {
        self.facts.begin(read_as);
        (self.next, self.ordinal) = (0, 0);
        Ok(())
    }

    /// The bytes of a chunk are for its reader: how many rows it has.
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool> {
        chunk.clear();
        if self.next == self.rows {
            return Ok(false);
        }
        let rows_max = (self.facts.read_as.chunk_bytes / 256).clamp(1, 1000);
        let count = rows_max.min(self.rows - self.next);
        chunk.ordinal = self.ordinal;
        chunk.file = 0;
        chunk.first_record = Some(self.next as u64);
        chunk.bytes.extend_from_slice(&count.to_le_bytes());
        self.next += count;
        self.ordinal += 1;
        self.facts.bytes_read.store(self.next as u64, Ordering::Relaxed);
        Ok(true)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(ColumnReader { columns: Arc::clone(&self.columns) })
    }
}

struct ColumnReader {
    columns: Arc<Vec<TypedColumn>>,
}

impl Reader for ColumnReader {
    fn read(&mut self, chunk: &Chunk, batch: &mut Batch) -> Result<()> {
        let first = chunk.first_record.unwrap() as usize;
        let count = usize::from_le_bytes(chunk.bytes.as_slice().try_into().unwrap());
        let columns = self.columns.iter().map(|column| part(column, first, count));
        batch.typed().replace(count, columns.collect());
        Ok(())
    }
}

/// Some rows of a column.
fn part(column: &TypedColumn, first: usize, count: usize) -> TypedColumn {
    let rows = first..first + count;
    let cells = match &column.cells {
        Cells::Integer(cells) => Cells::Integer(cells[rows.clone()].to_vec()),
        Cells::Unsigned(cells) => Cells::Unsigned(cells[rows.clone()].to_vec()),
        Cells::Float(cells) => Cells::Float(cells[rows.clone()].to_vec()),
        Cells::Double(cells) => Cells::Double(cells[rows.clone()].to_vec()),
        Cells::Decimal { units, scale } => {
            Cells::Decimal { units: units[rows.clone()].to_vec(), scale: *scale }
        }
        Cells::Date(cells) => Cells::Date(cells[rows.clone()].to_vec()),
        Cells::Time(cells) => Cells::Time(cells[rows.clone()].to_vec()),
        Cells::DateTime(cells) => Cells::DateTime(cells[rows.clone()].to_vec()),
        Cells::Timestamp(cells) => Cells::Timestamp(cells[rows.clone()].to_vec()),
        Cells::Bytes { ends, bytes } => {
            let start = first.checked_sub(1).map_or(0, |before| ends[before]);
            let end = rows.clone().next_back().map_or(start, |last| ends[last]);
            let ends = ends[rows.clone()].iter().map(|end| end - start).collect();
            Cells::Bytes { ends, bytes: bytes[start..end].to_vec() }
        }
        _ => unreachable!("no other cells are made here"),
    };
    let is_valid = column.is_valid.get(rows).unwrap_or_default().to_vec();
    TypedColumn { is_valid, ..TypedColumn::from(cells) }
}

/// Random values for the columns of [`TABLE`]; every seventh is NULL where that may be.
fn columns() -> Columns {
    let mut random = Random::new(7);
    let mut numbers = |below: usize| -> Vec<i64> {
        (0..ROWS).map(|_| i64::try_from(random.below(below)).unwrap()).collect()
    };
    let texts = |texts: Vec<Vec<u8>>| {
        let mut bytes = Vec::new();
        let ends = texts.iter().map(|text| {
            bytes.extend_from_slice(text);
            bytes.len()
        });
        Cells::Bytes { ends: ends.collect(), bytes }
    };
    let second = 1_000_000;
    let moments: Vec<i64> = numbers(2_000_000_000).iter().map(|s| s * second + 123_000).collect();
    let names = numbers(900).iter().map(|n| format!("n\u{e9}\t{n}\\").into_bytes()).collect();
    let codes = numbers(1 << 40).iter().map(|n| n.to_be_bytes()[3..].to_vec()).collect();
    let cells = vec![
        Cells::Integer((0..ROWS as i64).map(|id| id * 3 - 1000).collect()),
        Cells::Unsigned(numbers(65_536).iter().map(|&n| n as u64).collect()),
        Cells::Decimal {
            units: numbers(1 << 33).iter().map(|&n| i128::from(n) - (1 << 32)).collect(),
            scale: 2,
        },
        Cells::Integer(numbers(1 << 60)),
        Cells::Double(numbers(1 << 50).iter().map(|&n| n as f64 / 1024.0 - 1e9).collect()),
        Cells::Float(numbers(1 << 20).iter().map(|&n| n as f32 / 64.0).collect()),
        Cells::Date(numbers(30_000).iter().map(|&n| n as i32 - 5000).collect()),
        Cells::DateTime(numbers(4_000_000_000).iter().map(|&n| n * second - n % second).collect()),
        Cells::Timestamp(moments.clone()),
        Cells::Time(numbers(1 << 40).iter().map(|&n| n - (1 << 39)).collect()),
        texts(names),
        texts(codes),
        // What a column makes of another type is its text.
        Cells::DateTime(moments),
    ];
    let columns = cells.into_iter().enumerate().map(|(index, cells)| {
        let is_valid = (0..ROWS).map(|row| (row + index) % 7 > 0).collect();
        let is_valid = if matches!(index, 0 | 2) { Vec::new() } else { is_valid };
        TypedColumn { is_valid, ..TypedColumn::from(cells) }
    });
    Columns::new(columns.collect(), ROWS)
}

/// The same rows as LOAD DATA reads them, moments in this zone.
fn text(columns: &Columns, zone: &Zone) -> Vec<u8> {
    let mut all = TypedColumns::default();
    all.replace(columns.rows, columns.columns.to_vec());
    let (mut lines, mut scratch, mut text) = (Vec::new(), Vec::new(), Vec::new());
    let mut line = |row: TypedRow<'_>| {
        for field in 0..row.field_count() {
            let value: Value<'_> = row.value(field, &mut scratch);
            match value.in_zone(zone).text(&mut text) {
                None => lines.extend_from_slice(b"\\N"),
                Some(text) => {
                    for &byte in text {
                        if matches!(byte, b'\\' | b'\t' | b'\n') {
                            lines.push(b'\\');
                        }
                        lines.push(byte);
                    }
                }
            }
            lines.push(if field + 1 == row.field_count() { b'\n' } else { b'\t' });
        }
    };
    all.rows().iter().for_each(&mut line);
    lines
}

fn load(server: &Server, options: &LoadOptions, source: &Columns) -> Report {
    let source = Box::new(source.clone());
    load::load_from(&server.connect_options(), options, source, None, &()).unwrap()
}

fn checksum(db: &mut Db, table: &str) -> String {
    db.sql(&format!("CHECK TABLE {table} EXTENDED"));
    db.rows(&format!("CHECKSUM TABLE {table}"))[0].text(1).unwrap()
}

#[test]
fn typed_rows_are_loaded_as_the_same_rows_as_text() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let columns = columns();
    let zone = Zone::parse(&db.text("SELECT @@time_zone")).unwrap();
    let path = server.file(&db, "rows.tsv", text(&columns, &zone));
    db.sql(&format!("CREATE TABLE a ({TABLE})"));
    db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE a CHARACTER SET utf8mb4", path.display()));
    let expected = checksum(&mut db, "a");
    for path in [LoadPath::Direct, LoadPath::Stream, LoadPath::Insert] {
        db.sql(&format!("CREATE OR REPLACE TABLE b ({TABLE})"));
        let options = LoadOptions { path, ..server.options(&db, "b", Vec::new()) };
        let report = load(&server, &options, &columns);
        assert_eq!(report.rows, ROWS as u64, "{path:?}");
        assert_eq!(checksum(&mut db, "b"), expected, "{path:?}");
    }
}

#[test]
fn typed_rows_out_of_key_order_are_sorted_on_the_direct_path() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let ids = Cells::Integer((0..ROWS as i64).map(|row| row * 7919 % ROWS as i64).collect());
    let halves = Cells::Double((0..ROWS).map(|row| row as f64 / 2.0).collect());
    let column = |cells| TypedColumn::from(cells);
    let columns = Columns::new(vec![column(ids), column(halves)], ROWS);
    db.sql("CREATE TABLE b (id INT PRIMARY KEY, half DOUBLE, KEY (half))");
    for path in [LoadPath::Direct, LoadPath::Stream] {
        let mode = load::Mode::Replace;
        let mut options = LoadOptions { path, mode, ..server.options(&db, "b", vec![]) };
        options.limits.sort_input = Some(true);
        assert_eq!(load(&server, &options, &columns).rows, ROWS as u64);
        let wrong = "SELECT COUNT(*) FROM b WHERE id <> MOD(2 * half * 7919, 20000)";
        assert_eq!(db.number(wrong), 0, "{path:?}");
    }
}

#[test]
fn a_typed_row_that_is_refused_is_told_by_its_number() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let mut numbers: Vec<i64> = (0..3000).collect();
    numbers[2500] = 1 << 40;
    let column = |cells| TypedColumn::from(cells);
    let dates = Cells::Date(vec![19_782; 3000]);
    let columns = Columns::new(vec![column(Cells::Integer(numbers)), column(dates)], 3000);
    for path in [LoadPath::Direct, LoadPath::Stream] {
        db.sql("CREATE OR REPLACE TABLE b (id INT PRIMARY KEY, day DATE)");
        let rejects = server.folder(&format!("{}_rejects", db.name)).join("rejects");
        let mut options = LoadOptions { path, ..server.options(&db, "b", Vec::new()) };
        options.rows.rejects = Some(rejects.clone());
        options.rows.rejects_max = 1;
        let report = load(&server, &options, &columns);
        assert_eq!((report.rows, report.rejects), (2999, 1), "{path:?}");
        let row = std::fs::read_to_string(&rejects).unwrap();
        assert_eq!(row, "1099511627776\t2024-02-29\n", "{path:?}");
        let reason = std::fs::read_to_string(rejects.with_extension("reasons.jsonl")).unwrap();
        let wanted = "{\"file\":\"rows.columns\",\"line\":2501,\"byte\":null,\"field\":1,\
             \"column\":\"id\",\"value\":\"1099511627776\",";
        assert!(reason.starts_with(wanted), "{reason}");
    }
}

/// Rows without a parent can be rejected by the server alone, which takes a second look at the input.
#[test]
fn a_source_that_is_read_once_is_not_read_again_as_a_file_of_its_name() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let path = server.file(&db, "named.tsv", "7\t1\n");
    db.sql("CREATE TABLE parent (id INT PRIMARY KEY)");
    db.sql("INSERT INTO parent VALUES (1)");
    db.sql("CREATE TABLE b (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id))");
    let column = |cells| TypedColumn::from(cells);
    let columns = [vec![1, 2], vec![1, 99]].map(|cells| column(Cells::Integer(cells)));
    let mut columns = Columns::new(columns.into(), 2);
    columns.facts.files = vec![InputFile { path, bytes: Some(2) }];
    let mut options = server.options(&db, "b", Vec::new());
    options.rows.rejects_max = 1;
    let source = Box::new(columns);
    let error = load::load_from(&server.connect_options(), &options, source, None, &());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("99"), "{error}");
    assert_eq!(db.number("SELECT COUNT(*) FROM b"), 0);
}
