//! JSON: any cut into chunks has the same rows, and what is read of a record is within it.

use sources::{
    Batch, Chunk, Dialect, FileSource, Row, Rows, Source, SourceExt as _, SourceOptions, Value,
};

type Table = Vec<(Vec<u8>, Vec<Option<Vec<u8>>>)>;

pub(crate) fn run(bytes: &[u8]) {
    let ([flags, size], text) = crate::choices(bytes);
    let (folder, path) = crate::file(text);
    let mut dialect = Dialect::json(flags & 1 == 0);
    if let Some(json) = &mut dialect.json {
        json.ignores_unknown = flags & 2 != 0;
    }
    let tables: Vec<Option<Table>> = [1 << 20, usize::from(size) + 1]
        .into_iter()
        .map(|chunk_bytes| {
            let options = SourceOptions {
                chunk_bytes,
                temp_dir: folder.path().to_owned(),
                ..SourceOptions::default()
            };
            let source = FileSource::new(std::slice::from_ref(&path), &dialect, options);
            // The names are those of a start whose size hangs on that of chunks.
            let mut source = source.unwrap();
            let keys = names(&path, &dialect);
            source.change(|read_as| read_as.keys = keys.into()).unwrap();
            read(&mut source)
        })
        .collect();
    assert!(tables[0] == tables[1], "chunks of another size have other rows");
}

/// The fields of the first records.
fn names(path: &std::path::Path, dialect: &Dialect) -> Vec<sources::Key> {
    let mut source =
        FileSource::new(&[path.to_owned()], dialect, SourceOptions::default()).unwrap();
    let names = source.start().map(|start| start.names.unwrap_or_default()).unwrap_or_default();
    let key = |(at, name): (usize, Vec<u8>)| sources::Key {
        pointer: None,
        name,
        takes: [sources::ColumnKind::Values, sources::ColumnKind::Json][at % 2],
        absent: sources::MissingValue::Null,
    };
    names.into_iter().enumerate().map(key).collect()
}

/// All rows; none of a file that cannot be read.
fn read(source: &mut FileSource) -> Option<Table> {
    let mut reader = source.reader();
    let (mut chunk, mut batch, mut table) = (Chunk::default(), Batch::new(), Table::new());
    while source.next_chunk(&mut chunk).ok()? {
        reader.read(&chunk, &mut batch).ok()?;
        table.extend(batch.visit(&chunk, Collect(&chunk)));
    }
    Some(table)
}

struct Collect<'c>(&'c Chunk);

impl sources::Visit for Collect<'_> {
    type Output = Table;

    fn rows<R: Rows>(self, rows: R) -> Table {
        let mut scratch = Vec::new();
        let row = |row: R::Row| {
            assert!(row.span().end <= self.0.bytes.len() && row.start() <= row.span().end);
            let count = if row.broken().is_some() { 0 } else { row.field_count() };
            let value = |field| match row.value(field, &mut scratch) {
                Value::Bytes(value) => Some(value.to_vec()),
                _ => None,
            };
            (row.raw().trim_ascii().to_vec(), (0..count).map(value).collect())
        };
        rows.iter().map(row).collect()
    }
}
