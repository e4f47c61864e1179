//! Random tables in Parquet files: loads of them make the tables that LOAD DATA makes of the same values as CSV.
//!
//! `INRUSH_CASES=n` makes n tables instead of a few; `INRUSH_SEED=s` starts at another seed. Case i has seed s + i.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use load::{LoadOptions, LoadPath};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use testkit::arrow_tables::{self, Texts};
use testkit::tables::compare::{Exported, same_rows};
use testkit::tables::server::{Db, Server};
use testkit::{Random, say};

const CASES: usize = 12;

/// Types of columns that a column of these files may go to.
fn types(name: &str) -> &'static [&'static str] {
    match name {
        "id" => &["INT", "BIGINT", "BIGINT UNSIGNED", "DECIMAL(12,2)"],
        "i8" | "bool" => &["TINYINT", "SMALLINT", "INT", "DECIMAL(5,1)", "DOUBLE", "VARCHAR(9)"],
        "i16" => &["SMALLINT", "MEDIUMINT", "BIGINT", "FLOAT", "CHAR(8)"],
        "i32" => &["INT", "BIGINT", "DECIMAL(12,2)", "DOUBLE", "VARCHAR(20)"],
        "i64" => &["BIGINT", "DECIMAL(25,3)", "TEXT", "VARBINARY(30)"],
        "u8" => &["TINYINT UNSIGNED", "SMALLINT", "BIGINT UNSIGNED"],
        "u16" => &["SMALLINT UNSIGNED", "MEDIUMINT", "INT UNSIGNED"],
        "u32" => &["INT UNSIGNED", "BIGINT", "DOUBLE"],
        "u64" => &["BIGINT UNSIGNED", "DECIMAL(20,0)", "VARCHAR(20)"],
        "f32" => &["FLOAT", "DOUBLE", "DECIMAL(12,3)"],
        "f64" => &["DOUBLE", "DECIMAL(20,10)"],
        "decimal" => &["DECIMAL(20,4)", "DECIMAL(30,6)", "VARCHAR(30)"],
        "wide decimal" => &["DECIMAL(65,10)", "DECIMAL(60,12)", "TEXT"],
        "day" => &["DATE", "DATETIME", "DATETIME(6)", "VARCHAR(10)"],
        "time32" => &["TIME(3)", "TIME(6)", "VARCHAR(20)"],
        "time64" => &["TIME(6)"],
        "seconds" => &["DATETIME", "DATETIME(3)", "VARCHAR(30)"],
        "micros" | "nanos" => &["DATETIME(6)", "VARCHAR(30)"],
        "moment" => &["TIMESTAMP(3) NULL", "TIMESTAMP(6) NULL", "DATETIME(3)"],
        "dictionary" => {
            &["VARCHAR(40)", "ENUM('red', 'green', 'a colour that has a long name')", "TEXT"]
        }
        "fixed" => &["CHAR(5)", "BINARY(5)", "VARBINARY(8)", "MEDIUMINT", "DECIMAL(6,1)"],
        "a list" | "a struct" | "a map" => &["JSON", "TEXT", "LONGTEXT"],
        // Texts and bytes, which are texts here too.
        _ => &["VARCHAR(40)", "CHAR(20)", "TEXT", "LONGTEXT", "VARBINARY(60)", "MEDIUMBLOB"],
    }
}

/// The values of some columns, and their texts.
struct Rows {
    batch: RecordBatch,
    texts: Vec<Texts>,
}

impl Rows {
    /// Some columns of all types, in any order, and numbers of rows in any order.
    fn random(random: &mut Random, count: usize) -> Rows {
        let (all, texts) = arrow_tables::random(random, count);
        // Hardly any value of these has no nanoseconds.
        let is_rare = |name: &str| ["time64", "nanos"].contains(&name);
        let names = all.schema();
        let mut chosen: Vec<usize> = (0..all.num_columns())
            .filter(|at| random.chance(if is_rare(names.field(*at).name()) { 12 } else { 3 }))
            .collect();
        random.shuffle(&mut chosen);
        let mut numbers: Vec<i64> = (1..=count as i64).collect();
        if random.chance(2) {
            random.shuffle(&mut numbers);
        }
        let ids: ArrayRef = Arc::new(Int64Array::from(numbers.clone()));
        let columns = chosen.iter().map(|at| (names.field(*at).name().as_str(), all.column(*at)));
        let columns =
            columns.chain([("id", &ids)]).map(|(name, array)| (name, Arc::clone(array), true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let row = |(row, number): (&Texts, i64)| {
            chosen.iter().map(|at| row[*at].clone()).chain([Some(number.to_string())]).collect()
        };
        Rows { batch, texts: texts.iter().zip(numbers).map(row).collect() }
    }

    fn names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The rows without values that are to be refused, as CSV.
    fn csv(&self) -> (String, u64) {
        let (mut csv, mut good) = (String::new(), 0);
        let is_bad =
            |text: &Option<String>| text.as_deref().is_some_and(|text| text.starts_with('!'));
        for row in self.texts.iter().filter(|row| !row.iter().any(is_bad)) {
            let field = |text: &Option<String>| match text {
                None => "\\N".to_owned(),
                Some(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\"\"")),
            };
            let fields: Vec<String> = row.iter().map(field).collect();
            writeln!(csv, "{}", fields.join(",")).unwrap();
            good += 1;
        }
        (csv, good)
    }

    /// Writes them to one file or several.
    fn write(&self, random: &mut Random, server: &Server, db: &Db) -> Vec<PathBuf> {
        let rows = self.batch.num_rows();
        let parts = random.between(1, 3);
        let mut files = Vec::new();
        for part in 0..parts {
            let (start, end) = (rows * part / parts, rows * (part + 1) / parts);
            let path = server.folder(&db.name).join(format!("{part}.parquet"));
            let file = std::fs::File::create(&path).unwrap();
            let properties = Some(properties(random));
            let mut writer = ArrowWriter::try_new(file, self.batch.schema(), properties).unwrap();
            writer.write(&self.batch.slice(start, end - start)).unwrap();
            writer.close().unwrap();
            files.push(path);
        }
        files
    }
}

fn properties(random: &mut Random) -> WriterProperties {
    let packed =
        [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())];
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    WriterProperties::builder()
        .set_compression(random.pick(&packed))
        .set_writer_version(random.pick(&versions))
        .set_dictionary_enabled(random.chance(2))
        .set_max_row_group_row_count(Some(random.between(20, 3_000)))
        .set_data_page_row_count_limit(random.between(10, 1_000))
        .build()
}

/// The declarations of a table with columns for these, in another order, and the names of its secondary keys.
fn declared(random: &mut Random, names: &[String], has_key: bool) -> (String, Vec<String>) {
    let mut columns: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), random.pick(types(name)))).collect();
    random.shuffle(&mut columns);
    let mut parts: Vec<String> =
        columns.iter().map(|(name, sql_type)| format!("`{name}` {sql_type}")).collect();
    if has_key {
        parts.push("PRIMARY KEY (id)".to_owned());
    }
    let is_long = |sql_type: &str| ["TEXT", "BLOB", "JSON"].iter().any(|it| sql_type.contains(it));
    let short: Vec<&str> =
        columns.iter().filter(|(_, sql_type)| !is_long(sql_type)).map(|(name, _)| *name).collect();
    let mut keys = Vec::new();
    for key in 0..random.below(3) {
        parts.push(format!("KEY k{key} (`{}`)", random.pick(&short)));
        keys.push(format!("k{key}"));
    }
    (parts.join(", "), keys)
}

/// A table from beginning to end.
fn one(server: &Server, seed: u64) {
    let random = &mut Random::new(seed);
    let mut db = server.database();
    let count = random.pick(&[1, 7, 60, 300, 300, 2_000, 9_000]);
    let rows = Rows::random(random, count);
    let names = rows.names();
    let paths = [LoadPath::Direct, LoadPath::Direct, LoadPath::Stream, LoadPath::Insert];
    let path = random.pick(&paths);
    // Rows that are sent come in any order, which a table without a key keeps.
    let has_key = path != LoadPath::Direct || !random.chance(4);
    let (declared, keys) = declared(random, &names, has_key);
    say(&format!("seed {seed}: {count} rows, {path:?}, {declared}"));
    for table in ["a", "b"] {
        db.sql(&format!("CREATE TABLE {table} ({declared}) DEFAULT CHARSET=utf8mb4"));
    }
    let (csv, good) = rows.csv();
    let csv = server.file(&db, "rows.csv", csv);
    // The texts of moments are in UTC.
    db.sql("SET time_zone='+00:00'");
    db.sql(&format!(
        "LOAD DATA INFILE '{}' INTO TABLE a CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' ENCLOSED BY '\"' (`{}`)",
        csv.display(),
        names.join("`, `")
    ));
    let files = rows.write(random, server, &db);
    let mut options = LoadOptions { path, ..server.options(&db, "b", files) };
    options.rows.rejects_max = u64::MAX;
    let report = server.load(&options).unwrap();
    assert_eq!((report.rows, report.rejects), (good, count as u64 - good), "{path:?}");
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    same_rows(&mut db, "b", "a", &keys);
    let folder = server.folder(&db.name);
    Exported::new(server, &mut db, "b").verify(&mut db, &folder);
    db.sql(&format!("DROP DATABASE {}", db.name.clone()));
}

#[test]
fn random_tables_are_as_load_data_makes_them_of_csv() {
    let Some(server) = Server::get() else { return };
    let seed = Random::seed_of_run();
    let cases = std::env::var("INRUSH_CASES").ok().and_then(|text| text.parse().ok());
    let seeds = seed..seed + cases.unwrap_or(CASES) as u64;
    println!("{seeds:?}");
    let fails = |seed: &u64| catch_unwind(AssertUnwindSafe(|| one(&server, *seed))).is_err();
    let failed: Vec<u64> = seeds.filter(fails).collect();
    assert!(failed.is_empty(), "cases that failed, by seed: {failed:?}");
}
