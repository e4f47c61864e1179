//! Guessing what a file holds.

use load::sniff::{SniffOptions, TableSettings, sniff};
use sources::Encoding;

pub(crate) fn run(bytes: &[u8]) {
    let (folder, path) = crate::file(bytes);
    let options = SniffOptions {
        files: vec![path],
        table: "t".to_owned(),
        columnar: None,
        matching: Default::default(),
        sheet: None,
        pointers: Vec::new(),
        dialect: None,
        empty_is_null: false,
        one_column: true,
        null_tokens: Vec::new(),
        null_in_quotes: false,
        header: None,
        skip_lines: 0,
        columns: None,
        encoding: Encoding::ByMark,
        charset: None,
        kept: Default::default(),
        temp_dir: folder.path().to_owned(),
        memory_bytes_max: 1 << 30,
        trim: false,
        constants: Vec::new(),
        wanted: TableSettings::default(),
    };
    let _ = sniff(&options);
}
