//! INT96, the times of Spark, Hive and Impala: a day of Julius Caesar's count, and nanoseconds of it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{Int96, Int96Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::writing::read;

const JULIAN_DAY_OF_1970: i64 = 2_440_588;
/// Days of years that 64 bits of nanoseconds do not have, from 1970 on.
const YEAR_1000: i64 = -354_285;
const YEAR_3000: i64 = 376_200;
const LAST_DAY: i64 = 2_932_896;

/// A file of times, each a day from 1970 on and its nanoseconds, with some keys in its footer.
fn write(path: &Path, times: &[(i64, u64)], keys: &[&str]) {
    let time = |(day, nanos): &(i64, u64)| {
        let mut time = Int96::new();
        time.set_data(*nanos as u32, (nanos >> 32) as u32, (day + JULIAN_DAY_OF_1970) as u32);
        time
    };
    let times: Vec<Int96> = times.iter().map(time).collect();
    let keys = keys.iter().map(|key| KeyValue::new((*key).to_owned(), String::new()));
    let properties = WriterProperties::builder().set_key_value_metadata(Some(keys.collect()));
    let schema = Arc::new(parse_message_type("message m { required int96 at; }").unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int96Type>().write_batch(&times, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

/// The texts of times; refused ones have an exclamation mark before them.
fn texts(times: &[(i64, u64)], keys: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    write(&path, times, keys);
    read(&[path], &[]).unwrap().concat().into_iter().flatten().collect()
}

#[test]
fn times_of_all_years_are_read() {
    let times = [(YEAR_1000, 0), (YEAR_3000, 1_000), (LAST_DAY, 86_399_999_999_000), (0, 0)];
    let expected = [
        "1000-01-01 00:00:00",
        "3000-01-01 00:00:00.000001",
        "9999-12-31 23:59:59.999999",
        "1970-01-01 00:00:00",
    ];
    assert_eq!(texts(&times, &[]), expected);
}

#[test]
fn nanoseconds_are_refused_and_are_an_error_beside_years_that_have_none() {
    assert_eq!(texts(&[(0, 1_001)], &[]), ["!1970-01-01 00:00:00.000001001"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    for far in [YEAR_1000, YEAR_3000] {
        write(&path, &[(0, 1), (far, 0)], &[]);
        let error = read(std::slice::from_ref(&path), &[]).unwrap_err().to_string();
        let said = "times with nanoseconds beside times before 1677 or after 2262";
        assert!(error.contains("a.parquet, row group 1") && error.contains(said), "{error}");
    }
}

#[test]
fn early_times_of_the_old_calendar_are_refused_by_the_key_for_them() {
    let times = [(0, 0), (-26_621, 54_400_000_000_000)];
    let early = "1897-02-11 15:06:40";
    for (key, expected) in [("legacyINT96", format!("!{early}")), ("legacyDateTime", early.into())]
    {
        let seen = texts(&times, &[&format!("org.apache.spark.{key}")]);
        assert_eq!(seen, ["1970-01-01 00:00:00", &expected], "{key}");
    }
}
