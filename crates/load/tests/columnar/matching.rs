//! Columns of several files: those that some lack, and those that go by their place.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use columnar::ColumnMatching;
use load::{LoadOptions, LoadPath, Mode};
use testkit::tables::server::{Db, Server};

use super::write;

const PATHS: [LoadPath; 3] = [LoadPath::Direct, LoadPath::Stream, LoadPath::Insert];

/// Writes a file of these columns.
fn file(server: &Server, db: &Db, name: &str, columns: &[(&str, ArrayRef)]) -> PathBuf {
    let path = server.folder(&db.name).join(name);
    write(&path, &RecordBatch::try_from_iter(columns.iter().cloned()).unwrap(), 100);
    path
}

fn ids(ids: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(ids.to_vec()))
}

fn texts(texts: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(texts.to_vec()))
}

#[test]
fn columns_that_a_file_lacks_are_null_in_its_rows() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let files = vec![
        file(&server, &db, "0.parquet", &[("id", ids(&[1, 2])), ("name", texts(&["a", "b"]))]),
        file(&server, &db, "1.parquet", &[("more", ids(&[7, 8])), ("id", ids(&[3, 4]))]),
        file(&server, &db, "2.parquet", &[("id", ids(&[5]))]),
    ];
    db.sql("CREATE TABLE b (id BIGINT PRIMARY KEY, name TEXT DEFAULT 'none', more INT NULL DEFAULT 9, KEY (more))");
    let strict = server.options(&db, "b", files.clone());
    let error = server.load(&strict).unwrap_err().to_string();
    assert!(error.contains("1.parquet: it has no column `name`"), "{error}");
    assert!(error.contains("--missing-null"), "{error}");
    let turned = server.options(&db, "b", vec![files[2].clone(), files[0].clone()]);
    let error = server.load(&turned).unwrap_err().to_string();
    assert!(error.contains("0.parquet: it has a column `name`"), "{error}");
    let options = |path| {
        let mut options = LoadOptions { path, mode: Mode::Replace, ..strict.clone() };
        options.input.matching = ColumnMatching::ByNameOrNull;
        options
    };
    for path in PATHS {
        assert_eq!(server.load(&options(path)).unwrap().rows, 5, "{path:?}");
        let rows = db.rows("SELECT id, IFNULL(name, '-'), IFNULL(more, '-') FROM b ORDER BY id");
        let text = |at: usize| rows[at].text(1).unwrap() + &rows[at].text(2).unwrap();
        assert_eq!((0..5).map(text).collect::<Vec<_>>(), ["a-", "b-", "-7", "-8", "--"]);
    }
    db.sql("TRUNCATE b");
    db.sql("ALTER TABLE b MODIFY more INT NOT NULL DEFAULT 9");
    for path in PATHS {
        let error = server.load(&options(path)).unwrap_err().to_string();
        assert!(error.contains("NULL"), "{path:?}: {error}");
    }
    let wrong = file(&server, &db, "3.parquet", &[("id", ids(&[6])), ("more", texts(&["x"]))]);
    let mut options = options(LoadPath::Auto);
    options.input.files.push(wrong);
    let error = server.load(&options).unwrap_err().to_string();
    assert!(error.contains("3.parquet: column `more` is "), "{error}");
}

#[test]
fn columns_that_the_table_lacks_may_be_missing_in_some_files() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let files = vec![
        file(&server, &db, "0.parquet", &[("id", ids(&[1])), ("left", texts(&["x"]))]),
        file(&server, &db, "1.parquet", &[("right", ids(&[7])), ("id", ids(&[2]))]),
    ];
    db.sql("CREATE TABLE b (id BIGINT PRIMARY KEY)");
    let mut options = server.options(&db, "b", files);
    options.mode = Mode::Replace;
    options.input.ignore_unknown_columns = true;
    for path in PATHS {
        let report = server.load(&LoadOptions { path, ..options.clone() }).unwrap();
        assert_eq!(report.rows, 2, "{path:?}");
    }
    db.sql("ALTER TABLE b ADD `right` INT");
    for path in PATHS {
        let error = server.load(&LoadOptions { path, ..options.clone() }).unwrap_err().to_string();
        assert!(error.contains("0.parquet: it has no column `right`"), "{path:?}: {error}");
        assert_eq!(db.rows("SELECT id FROM b").len(), 2);
    }
}

#[test]
fn columns_by_position_have_any_names() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let small: ArrayRef = Arc::new(Int32Array::from(vec![7, 8]));
    let files = vec![
        file(&server, &db, "0.parquet", &[("x", ids(&[1, 2])), ("id", texts(&["a", "b"]))]),
        file(&server, &db, "1.parquet", &[("name", ids(&[3, 4])), ("y", texts(&["c", "d"]))]),
    ];
    db.sql("CREATE TABLE b (id BIGINT PRIMARY KEY, name TEXT)");
    let base = server.options(&db, "b", files.clone());
    let options = |files| {
        let mut options = LoadOptions { mode: Mode::Replace, ..base.clone() };
        options.input.files = files;
        options.input.matching = ColumnMatching::ByPosition;
        options
    };
    for path in PATHS {
        assert_eq!(server.load(&LoadOptions { path, ..options(files.clone()) }).unwrap().rows, 4);
        let rows = db.rows("SELECT CONCAT(id, name) FROM b ORDER BY id");
        let text = |at: usize| rows[at].text(0).unwrap();
        assert_eq!((0..4).map(text).collect::<Vec<_>>(), ["1a", "2b", "3c", "4d"]);
    }
    let other = file(&server, &db, "2.parquet", &[("id", Arc::clone(&small)), ("y", small)]);
    let error = server.load(&options(vec![files[0].clone(), other])).unwrap_err().to_string();
    assert!(
        error.contains("2.parquet: column `id` is Int32, and Int64 in a file before"),
        "{error}"
    );
    let single = file(&server, &db, "3.parquet", &[("id", ids(&[1]))]);
    let error = server.load(&options(vec![single.clone()])).unwrap_err().to_string();
    let expected = "the input has 1 column, and --by-position expects 2: `id`, `name`";
    assert!(error.contains(expected), "{error}");
    let error = server.load(&options(vec![files[0].clone(), single])).unwrap_err().to_string();
    assert!(error.contains("3.parquet: it has 1 columns, and the first file has 2"), "{error}");
}
