//! Files of typed columns by other programs, those of the tests of the crate columnar.

use std::path::Path;

use super::{Inputs, input};

/// Each file as one of two types of columns.
pub(super) fn inputs() -> Inputs {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../columnar/testdata");
    let mut inputs = Vec::new();
    for folder in [folder.join("other"), folder] {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            let kind = match ending {
                "parquet" => 0,
                "arrow" | "arrows" | "feather" => 1,
                "xlsx" | "ods" => 2,
                _ => continue,
            };
            let bytes = std::fs::read(&path).unwrap();
            let name = entry.file_name().to_string_lossy().replace(['.', '-'], "_");
            for types in [0, 4] {
                inputs.push(input(&format!("{name}_{types}"), &[kind, types, types], &bytes));
            }
        }
    }
    inputs
}
