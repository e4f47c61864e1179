//! Files as a load opens them: compressed by any tool, in any encoding, cut short or damaged.

use sources::{Batch, Chunk, Encoding, FileSource, Source, SourceOptions};

/// Text that one run reads: an archive of a few bytes can hold gigabytes.
const TEXT_BYTES_MAX: u64 = 4 << 20;

pub(crate) fn run(bytes: &[u8]) {
    let ([preset, special, small, more], file) = crate::choices(bytes);
    let dialect = crate::scan::dialect([preset, special, 0, 0]);
    if dialect.check().is_err() || dialect.needs_fields() {
        return;
    }
    let (folder, path) = crate::file(file);
    let options = SourceOptions {
        chunk_bytes: 16 + usize::from(small) * 64,
        record_bytes_max: 1 << 16,
        skip_lines: u64::from(more & 3),
        header: more & 4 != 0,
        encoding: Encoding::default(),
        ahead_bytes: 1 << 16,
        unpack_bytes_max: 16 << 20,
        temp_dir: folder.path().to_owned(),
        ..SourceOptions::default()
    };
    let _ = FileSource::compression(&path);
    let Some(mut source) = told(FileSource::new(&[path], &dialect, options)) else { return };
    if told(source.header()).is_none() {
        return;
    }
    let (mut chunk, mut batch) = (Chunk::default(), Batch::new());
    let mut reader = source.reader();
    let mut seen = 0;
    while seen < TEXT_BYTES_MAX && told(source.next_chunk(&mut chunk)) == Some(true) {
        assert!(!chunk.bytes.is_empty());
        seen += chunk.bytes.len() as u64;
        reader.read(&chunk, &mut batch).unwrap();
    }
}

/// The result, if there is one. A panic of the unpacking thread is a bug, whatever the file.
fn told<T>(outcome: sources::Result<T>) -> Option<T> {
    let error = outcome.as_ref().err().map(ToString::to_string).unwrap_or_default();
    assert!(!error.contains("the read-ahead thread has ended"), "{error}");
    outcome.ok()
}
