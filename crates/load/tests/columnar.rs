//! Files of Parquet and Arrow: the same tables as LOAD DATA makes of the same values in text, and nothing that
//! a column would change.
//!
//! `INRUSH_CASES=n` tries n pairs of a file's type and a column's type, of all that there are.

mod matching;
mod random_tables;
mod values_of_types;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use columnar::{ColumnarOptions, Kind};
use load::{Error, LoadOptions, LoadPath, Mode};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use sources::{Batch, Chunk, Row, Rows, Value, Visit};
use testkit::Random;
use testkit::tables::server::{Db, Server};
use values::Zone;

use self::values_of_types::{COLUMNS, arrays};

const PAIRS: usize = 60;
/// Refused rows of a pair that LOAD DATA is asked about.
const REFUSED_TRIED: usize = 4;

fn write(path: &Path, batch: &RecordBatch, rows_of_group: usize) {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(rows_of_group));
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties.build())).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// Rows with a number each.
fn numbered(values: &ArrayRef) -> RecordBatch {
    let ids: Int64Array = (1..=values.len() as i64).collect();
    let columns = [("id", Arc::new(ids) as ArrayRef, false), ("v", Arc::clone(values), true)];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// The values of a file's fields, as text in a zone; none of NULL.
struct Texts<'z>(&'z Zone);

impl Visit for Texts<'_> {
    type Output = Vec<Vec<Option<Vec<u8>>>>;

    fn rows<R: Rows>(self, rows: R) -> Self::Output {
        let text = |row: R::Row, field| {
            let (mut scratch, mut text) = (Vec::new(), Vec::new());
            let value: Value<'_> = row.value(field, &mut scratch);
            value.in_zone(self.0).text(&mut text).map(<[u8]>::to_vec)
        };
        rows.iter()
            .map(|row| (0..row.field_count()).map(|field| text(row, field)).collect())
            .collect()
    }
}

fn texts(path: &Path, zone: &Zone) -> Vec<Vec<Option<Vec<u8>>>> {
    let paths = [path.to_owned()];
    let options = ColumnarOptions::default();
    let mut source = columnar::open(Kind::Parquet, &paths, options).unwrap();
    let (mut reader, mut chunk, mut batch) = (source.reader(), Chunk::default(), Batch::new());
    let mut rows = Vec::new();
    while source.next_chunk(&mut chunk).unwrap() {
        reader.read(&chunk, &mut batch).unwrap();
        rows.extend(batch.visit(&chunk, Texts(zone)));
    }
    rows
}

/// A line of LOAD DATA's own dialect.
fn line(fields: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut line = Vec::new();
    for field in fields {
        match field {
            None => line.extend_from_slice(b"\\N"),
            Some(text) => {
                for byte in text {
                    match byte {
                        b'\t' | b'\n' | b'\\' => line.extend_from_slice(&[b'\\', *byte]),
                        0 => line.extend_from_slice(b"\\0"),
                        byte => line.push(*byte),
                    }
                }
            }
        }
        line.push(b'\t');
    }
    line.pop();
    line.push(b'\n');
    line
}

/// Loads rows in text into a column of this type; whether the server takes them.
fn load_data(server: &Server, db: &mut Db, lines: &[u8], sql_type: &str) -> bool {
    let path = server.file(db, "rows.tsv", lines);
    // MySQL reads bytes of no character set only as such.
    let is_binary =
        ["BIT", "BINARY", "VARBINARY", "BLOB"].iter().any(|it| sql_type.starts_with(it));
    let charset = if is_binary { "binary" } else { "utf8mb4" };
    let path = path.display();
    let sql = format!("LOAD DATA INFILE '{path}' INTO TABLE a CHARACTER SET {charset}");
    db.try_sql(&sql).is_ok()
}

/// A value's text without what changes nothing: zeros behind a point, a time that is midnight.
fn plain(text: &str) -> String {
    let text = text.strip_suffix(" 00:00:00").unwrap_or(text);
    match text.contains('.') {
        true => {
            let text = text.trim_end_matches('0').trim_end_matches('.');
            text.strip_suffix(" 00:00:00").unwrap_or(text).to_owned()
        }
        false => text.to_owned(),
    }
}

/// True for two texts of one real number.
fn is_same_number(one: &str, other: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    (one.contains('e') || other.contains('e')) && number(one) == number(other)
}

/// Rows that a load refused, by its file of reasons.
fn refused(rejects: &Path) -> BTreeSet<usize> {
    let reasons = rejects.with_extension("reasons.jsonl");
    let text = std::fs::read_to_string(reasons).unwrap_or_default();
    let line = |reason: &str| {
        let (_, rest) = reason.split_once("\"line\":")?;
        rest.split(',').next()?.parse().ok()
    };
    text.lines().filter_map(line).collect()
}

/// Loads a pair; a word for the outcome, or what is wrong.
fn pair(
    server: &Server,
    db: &mut Db,
    zone: &Zone,
    name: &str,
    of: &ArrayRef,
    sql_type: &str,
) -> Result<&'static str, String> {
    let path = server.folder(&db.name).join("v.parquet");
    write(&path, &numbered(of), 5);
    for table in ["a", "b"] {
        db.sql(&format!("DROP TABLE IF EXISTS {table}"));
        let sql = format!("CREATE TABLE {table} (id BIGINT PRIMARY KEY, v {sql_type} NULL)");
        if db.try_sql(&sql).is_err() {
            return Ok("no type of this server");
        }
    }
    let rejects = server.folder(&db.name).join("rejects");
    let _ = std::fs::remove_file(rejects.with_extension("reasons.jsonl"));
    let mut options: LoadOptions = server.options(db, "b", vec![path.clone()]);
    options.rows.rejects = Some(rejects.clone());
    options.rows.rejects_max = u64::MAX;
    if sql_type == "GEOMETRY" {
        // Is not built, so its rows are sent.
        options.path = LoadPath::Stream;
    }
    match server.load(&options) {
        Ok(_) => {}
        Err(Error::Usage(text)) if text.contains("cannot store exactly") => return Ok("refused"),
        Err(error) => return Err(format!("{error}")),
    }
    // A DATETIME gets moments in UTC.
    let zone = if sql_type.starts_with("DATETIME") { &Zone::UTC } else { zone };
    let (mut rows, refused) = (texts(&path, zone), refused(&rejects));
    if sql_type == "YEAR" && !of.data_type().is_string() {
        // The number 0 is the year 0000, and the text 0 the year 2000.
        let zero = |value: &Option<Vec<u8>>| value.as_deref() == Some(b"0");
        rows.iter_mut().filter(|row| zero(&row[1])).for_each(|row| row[1] = Some(b"0000".to_vec()));
    }
    let is_refused = |row: &usize| refused.contains(&(row + 1));
    let kept: Vec<usize> = (0..rows.len()).filter(|row| !is_refused(row)).collect();
    if sql_type.starts_with("BIT") && (of.data_type().is_integer() || name == "bool") {
        // The text of a number is other bits, so the numbers themselves are compared.
        for row in kept {
            let Some(text) = &rows[row][1] else { continue };
            let text = String::from_utf8_lossy(text);
            let seen = db.number(&format!("SELECT v+0 FROM b WHERE id={}", row + 1));
            if seen.to_string() != text {
                return Err(format!("{text} became {seen}"));
            }
        }
        return Ok("exact");
    }
    let lines: Vec<u8> = kept.iter().flat_map(|row| line(&rows[*row])).collect();
    if !load_data(server, db, &lines, sql_type) {
        return Err("LOAD DATA refuses rows that were loaded".to_owned());
    }
    let sums: Vec<String> = ["a", "b"].map(|table| db.text(&format!(
        "SELECT CONCAT(COUNT(*), ' ', COALESCE(SUM(CRC32(CONCAT_WS(',', id, HEX(v)))), 0)) FROM {table}"
    ))).into();
    if sums[0] != sums[1] {
        return Err("the tables differ".to_owned());
    }
    let is_real = sql_type.starts_with("FLOAT") || sql_type.starts_with("DOUBLE");
    // What a text means, its column decides.
    let is_text = !of.data_type().is_numeric() && !of.data_type().is_temporal() && name != "bool";
    for row in kept.into_iter().filter(|_| !is_real && !is_text) {
        let Some(text) = &rows[row][1] else { continue };
        let seen = db.text(&format!("SELECT v FROM b WHERE id={}", row + 1));
        if let Ok(text) = std::str::from_utf8(text)
            && plain(text) != plain(seen.trim_end_matches('\0'))
            && plain(text).trim_end() != plain(&seen)
            && !is_same_number(text, &seen)
        {
            return Err(format!("{text:?} became {seen:?}"));
        }
    }
    for row in refused.into_iter().take(REFUSED_TRIED) {
        let text =
            String::from_utf8_lossy(rows[row - 1][1].as_deref().unwrap_or_default()).into_owned();
        db.sql("TRUNCATE a");
        if load_data(server, db, &line(&rows[row - 1]), sql_type) {
            let seen = db.text("SELECT v FROM a");
            let is_word = ["NaN", "inf", "-inf"].contains(&text.as_str());
            let is_short_year = sql_type == "YEAR" && text.len() < 3;
            // Digits below microseconds, and times of days that have none, are refused whatever the column is.
            let is_narrow = ["time64(ns)", "timestamp(ns)", "date64"].contains(&name);
            let is_known = is_word || is_short_year || is_real || is_narrow;
            if plain(&seen) == plain(&text) && !is_known {
                return Err(format!("{text:?} was refused, and LOAD DATA keeps it"));
            }
        }
    }
    Ok("exact")
}

/// Parquet asked for 516M of 8G, and for 68M of 1G, where 36M were enough.
#[test]
fn the_least_memory_of_a_plan_is_enough_and_does_not_grow_with_the_memory() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let values: ArrayRef = Arc::new((0..40_000).map(|row| row % 977).collect::<Int64Array>());
    let parquet = server.folder(&db.name).join("b.parquet");
    write(&parquet, &numbered(&values), 10_000);
    let rows: String = (0..40_000).map(|row| format!("{row}\t{}\n", row % 977)).collect();
    let packed = server.file(&db, "b.zst", zstd::encode_all(rows.as_bytes(), 3).unwrap());
    db.sql("CREATE TABLE b (id INT PRIMARY KEY, v INT)");
    for (file, path) in [
        (&parquet, LoadPath::Direct),
        (&parquet, LoadPath::Stream),
        (&packed, LoadPath::Direct),
        (&packed, LoadPath::Stream),
    ] {
        let mut options = server.options(&db, "b", vec![file.clone()]);
        (options.path, options.mode) = (path, Mode::Replace);
        let mut least = |mebibytes: u64| {
            options.limits.memory_bytes_max = mebibytes << 20;
            let plan = load::plan(Some(&server.connect_options()), &options, None).unwrap();
            plan.memory_bytes.unwrap()[0].div_ceil(1 << 20)
        };
        let found = least(64);
        assert!(found < 50, "{found} {file:?} {path:?}");
        assert_eq!([least(256), least(1024)], [found; 2], "{file:?} {path:?}");
        options.limits.memory_bytes_max = found << 20;
        assert_eq!(server.load(&options).unwrap().rows, 40_000, "{file:?} {path:?}");
        options.limits.memory_bytes_max = (found - 1) << 20;
        let error = server.load(&options).unwrap_err().to_string();
        assert!(error.contains(&format!("at least {found} MiB")), "{file:?} {path:?}: {error}");
    }
}

#[test]
fn values_are_stored_exactly_or_refused() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let zone = Zone::parse(&db.text("SELECT @@time_zone")).unwrap();
    let arrays = arrays();
    let mut pairs: Vec<(usize, usize)> = (0..arrays.len())
        .flat_map(|of| (0..COLUMNS.len()).map(move |column| (of, column)))
        .collect();
    let cases = std::env::var("INRUSH_CASES").ok().and_then(|text| text.parse().ok());
    Random::new(Random::seed_of_run()).shuffle(&mut pairs);
    pairs.truncate(cases.unwrap_or(PAIRS));
    let (mut failed, mut exact) = (Vec::new(), 0);
    for (of, column) in &pairs {
        let ((name, array), sql_type) = (&arrays[*of], COLUMNS[*column]);
        match pair(&server, &mut db, &zone, name, array, sql_type) {
            Ok(outcome) => exact += usize::from(outcome == "exact"),
            Err(problem) => failed.push(format!("{name} -> {sql_type}: {problem}")),
        }
    }
    println!("{} pairs, {exact} of them exact", pairs.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A table of usual columns.
fn orders(rows: usize) -> RecordBatch {
    use arrow_array::*;
    let ids = 0..rows as i64;
    let names: StringArray =
        ids.clone().map(|id| (id % 7 > 0).then(|| format!("name\t{id}"))).collect();
    let prices = Decimal128Array::from_iter_values(ids.clone().map(|id| i128::from(id * 7)));
    let days = Date32Array::from_iter_values(ids.clone().map(|id| (id % 20_000) as i32));
    let seen = ids.clone().map(|id| 1_600_000_000_000_000 + id * 1_000_001);
    RecordBatch::try_from_iter([
        ("NAME", Arc::new(names) as ArrayRef),
        ("price", Arc::new(prices.with_precision_and_scale(12, 2).unwrap())),
        ("id", Arc::new(Int64Array::from_iter_values(ids.clone()))),
        ("day", Arc::new(days)),
        ("seen", Arc::new(TimestampMicrosecondArray::from_iter_values(seen))),
        ("half", Arc::new(Float64Array::from_iter_values(ids.map(|id| id as f64 / 2.0)))),
    ])
    .unwrap()
}

const ORDERS: &str = "id BIGINT PRIMARY KEY, name VARCHAR(40) NULL, price DECIMAL(12,2), day DATE, \
    seen DATETIME(6), half DOUBLE, KEY (day), KEY (name)";

#[test]
fn every_path_makes_the_same_table_of_several_files() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let batch = orders(9_000);
    let folder = server.folder(&db.name);
    let parts: Vec<PathBuf> =
        ["0.parquet", "1.parquet", "2.parquet"].map(|name| folder.join(name)).into();
    for (at, part) in parts.iter().enumerate() {
        write(part, &batch.slice(at * 3_000, 3_000), 1_000);
    }
    db.sql(&format!("CREATE TABLE a ({ORDERS})"));
    let zone = Zone::parse("+00:00").unwrap();
    let text = parts.iter().flat_map(|part| texts(part, &zone));
    let lines: Vec<u8> = text.flat_map(|row| line(&row)).collect();
    let path = server.file(&db, "rows.tsv", lines);
    db.sql(&format!(
        "LOAD DATA INFILE '{}' INTO TABLE a CHARACTER SET utf8mb4 (name, price, id, day, seen, half)",
        path.display()
    ));
    for path in [LoadPath::Direct, LoadPath::Stream, LoadPath::Insert] {
        db.sql(&format!("CREATE OR REPLACE TABLE b ({ORDERS})"));
        let options = LoadOptions { path, ..server.options(&db, "b", parts.clone()) };
        assert_eq!(server.load(&options).unwrap().rows, 9_000, "{path:?}");
        let sums = db.rows("CHECKSUM TABLE a, b");
        assert_eq!(sums[0].text(1).unwrap(), sums[1].text(1).unwrap(), "{path:?}");
    }
    // Appended to itself, every row is a duplicate.
    let append = |path| LoadOptions {
        path,
        mode: Mode::Append,
        ..server.options(&db, "b", parts[..1].to_vec())
    };
    for path in [LoadPath::Direct, LoadPath::Stream] {
        let error = server.load(&append(path)).unwrap_err().to_string();
        assert!(error.contains("uplicate"), "{path:?}: {error}");
    }
    assert_eq!(db.number("SELECT COUNT(*) FROM b"), 9_000);
}

#[test]
fn columns_go_by_name_or_by_place_and_unknown_ones_are_refused_or_left_out() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let path = server.folder(&db.name).join("v.parquet");
    write(&path, &orders(100), 1_000);
    db.sql("CREATE TABLE b (id BIGINT PRIMARY KEY, price DECIMAL(12,2), more INT DEFAULT 7)");
    let options = || server.options(&db, "b", vec![path.clone()]);
    let error = server.load(&options()).unwrap_err().to_string();
    assert!(error.contains("`NAME`, `day`, `seen`, `half`"), "{error}");
    let mut left_out = options();
    left_out.input.ignore_unknown_columns = true;
    assert_eq!(server.load(&left_out).unwrap().rows, 100);
    let mut by_place = LoadOptions { mode: Mode::Replace, ..options() };
    by_place.input.columns = Some(["@", "price", "id", "@", "@", "@"].map(str::to_owned).into());
    assert_eq!(server.load(&by_place).unwrap().rows, 100);
    let wrong = "SELECT COUNT(*) FROM b WHERE price <> id * 0.07 OR more <> 7";
    assert_eq!(db.number(wrong), 0);
    by_place.input.columns = Some(["price", "id"].map(str::to_owned).into());
    let error = server.load(&by_place).unwrap_err().to_string();
    assert!(error.contains("it has 6 columns, and 2 are named"), "{error}");
}

#[test]
fn a_damaged_row_group_is_named_and_nothing_is_loaded() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let path = server.folder(&db.name).join("v.parquet");
    write(&path, &orders(3_000), 1_000);
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.len() / 2;
    bytes[at..at + 64].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    db.sql(&format!("CREATE TABLE b ({ORDERS})"));
    for way in [LoadPath::Direct, LoadPath::Stream] {
        let options = LoadOptions { path: way, ..server.options(&db, "b", vec![path.clone()]) };
        let error = server.load(&options).unwrap_err().to_string();
        assert!(error.contains("v.parquet, row group 2"), "{error}");
    }
    assert_eq!(db.number("SELECT COUNT(*) FROM b"), 0);
}

#[test]
fn options_of_text_are_refused() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let path = server.folder(&db.name).join("v.parquet");
    write(&path, &orders(10), 10);
    db.sql(&format!("CREATE TABLE b ({ORDERS})"));
    let mut options = server.options(&db, "b", vec![path]);
    options.input.skip_lines = 1;
    let error = server.load(&options).unwrap_err().to_string();
    assert!(error.contains("are for text, and the input is Parquet"), "{error}");
}
