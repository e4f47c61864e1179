//! Files that pyarrow, polars, DuckDB and Spark wrote, and the text of their values: `testdata/make.py` and
//! `testdata/make_spark.py` make them.

use std::path::{Path, PathBuf};

use crate::writing::{Texts, read};

/// The values of a line.
fn texts(line: &str) -> Texts {
    let text = |field: &str| (field != "\\N").then(|| field.to_owned());
    line.split('\t').map(text).collect()
}

#[test]
fn files_of_other_programs_have_the_values_that_were_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let text = std::fs::read_to_string(folder.join("values.tsv")).unwrap();
    let expected: Vec<Texts> = text.lines().map(texts).collect();
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    // Beside them: the script, the values, and a folder of files with other values.
    let is_written = |path: &PathBuf| {
        path.extension().is_some_and(|it| it != "tsv" && it != "py") && path.is_file()
    };
    let files: Vec<PathBuf> = files.filter(is_written).collect();
    for file in &files {
        let seen = read(std::slice::from_ref(file), &[]).unwrap();
        for (row, (seen, expected)) in seen.iter().zip(&expected).enumerate() {
            assert_eq!(seen, expected, "{}, row {row}", file.display());
        }
        assert_eq!(seen.len(), expected.len(), "{}", file.display());
    }
    assert_eq!(files.len(), 12);
}
