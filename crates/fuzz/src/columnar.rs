//! Parquet, Arrow and workbooks as a load opens them: cut short, damaged, with sizes that are not so.

use columnar::{ColumnarOptions, Kind};
use sources::{Batch, Chunk, ReadAs, SourceExt as _};
use values::{Charset, SqlType, TextType};

/// Memory for reading.
const MEMORY_BYTES: u64 = 16 << 20;
/// Rows that one run reads: a page of a few bytes can hold millions.
const ROWS_MAX: usize = 100_000;

pub(crate) fn run(bytes: &[u8]) {
    let ([kind, types, chunk], file) = crate::choices(bytes);
    let kind = [Kind::Parquet, Kind::Arrow, Kind::Excel][usize::from(kind % 3)];
    let (folder, path) = crate::file(file);
    let options = || ColumnarOptions {
        memory_bytes: MEMORY_BYTES,
        temp_dir: folder.path().to_owned(),
        ..ColumnarOptions::default()
    };
    let _ = columnar::guess(kind, std::slice::from_ref(&path), options());
    let Ok(mut source) = columnar::open(kind, &[path], options()) else { return };
    let Ok(Some(names)) = source.column_names() else { return };
    let columns = (0..names.len()).map(|at| sql_type(usize::from(types) + at)).collect();
    let chunk_bytes = 64 + usize::from(chunk) * 1024;
    if source.begin(ReadAs { columns, chunk_bytes, ..ReadAs::default() }).is_err() {
        return;
    }
    let (mut reader, mut chunk, mut batch) = (source.reader(), Chunk::default(), Batch::new());
    let mut rows = 0;
    while rows < ROWS_MAX && matches!(source.next_chunk(&mut chunk), Ok(true)) {
        if reader.read(&chunk, &mut batch).is_err() {
            return;
        }
        let len = batch.len();
        rows += len;
        for column in batch.typed().columns() {
            (0..column.cells.len()).for_each(|row| {
                std::hint::black_box(column.value(row));
            });
            assert!(column.refused.iter().all(|cell| cell.row < len));
        }
    }
}

/// The type of a column of the table.
fn sql_type(number: usize) -> Option<SqlType> {
    let text = TextType { charset: Charset::Utf8mb4, collation: "utf8mb4_bin".to_owned() };
    let types = [
        SqlType::VarChar { chars: 40, text },
        SqlType::Integer { bytes: 8, unsigned: false },
        SqlType::Decimal { precision: 12, scale: 2, unsigned: false },
        SqlType::Double { unsigned: false, digits: None },
        SqlType::DateTime { digits: 3 },
        SqlType::Date,
        SqlType::Bit { bits: 12 },
    ];
    types.get(number % (types.len() + 1)).cloned()
}
