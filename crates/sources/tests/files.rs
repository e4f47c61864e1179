//! Several files, header lines, and what goes wrong with files.

use sources::{
    Batch, Chunk, Dialect, Error, FieldKind, FileSource, Position, PositionCursor, Row, Rows,
    Source, SourceExt as _, SourceOptions, TextRow, Visit,
};

use crate::support::write;

fn options(chunk_bytes: usize) -> SourceOptions {
    SourceOptions { chunk_bytes, ..SourceOptions::default() }
}

/// File and bytes of every chunk.
fn chunks(source: &mut FileSource) -> Result<Vec<(u32, u64, Vec<u8>)>, Error> {
    let mut chunk = Chunk::default();
    let mut found = Vec::new();
    while source.next_chunk(&mut chunk)? {
        assert_eq!(chunk.ordinal, found.len() as u64);
        found.push((chunk.file, chunk.first_line, chunk.bytes.clone()));
    }
    assert!(chunk.bytes.is_empty());
    Ok(found)
}

#[test]
fn chunks_do_not_span_files() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [
        write(&folder, "a", b"1\n2\n3"),
        write(&folder, "empty", b""),
        write(&folder, "b", b"4\n5\n"),
    ];
    let mut source = FileSource::new(&paths, &Dialect::mysql(), options(3)).unwrap();
    let expected = vec![
        (0, 1, b"1\n".to_vec()),
        (0, 2, b"2\n".to_vec()),
        (0, 3, b"3".to_vec()),
        (2, 1, b"4\n".to_vec()),
        (2, 2, b"5\n".to_vec()),
    ];
    let seen = chunks(&mut source).unwrap();
    assert_eq!(
        seen.iter().map(|(_, _, bytes)| bytes.clone()).collect::<Vec<_>>().concat(),
        expected.iter().map(|(_, _, bytes)| bytes.clone()).collect::<Vec<_>>().concat()
    );
    assert_eq!(source.bytes_read(), 9);
    assert_eq!(source.facts().bytes_total, Some(9));
    source.restart().unwrap();
    assert_eq!(source.bytes_read(), 0);
    assert_eq!(chunks(&mut source).unwrap(), seen);
    let mut source = FileSource::new(&paths, &Dialect::mysql(), options(2)).unwrap();
    assert_eq!(chunks(&mut source).unwrap(), expected);
}

/// Chunks of joined files, and file, line, byte and text of each row.
type JoinedRow = (String, u64, Option<u64>, String);

fn joined(texts: &[&[u8]], dialect: &Dialect, options: SourceOptions) -> Vec<Vec<JoinedRow>> {
    let folder = tempfile::tempdir().unwrap();
    let file = |(at, text): (usize, &&[u8])| write(&folder, &format!("f{at}"), text);
    let paths: Vec<_> = texts.iter().enumerate().map(file).collect();
    let mut source = FileSource::new(&paths, dialect, options).unwrap();
    source.change(|read_as| read_as.joins_files = true).unwrap();
    let (mut chunk, mut found) = (Chunk::default(), Vec::new());
    while source.next_chunk(&mut chunk).unwrap() {
        assert_eq!(chunk.ordinal, found.len() as u64);
        let mut cursor = PositionCursor::of(&chunk);
        let index = dialect.index(&chunk.bytes);
        let row = |row: TextRow<'_>| {
            let at = cursor.find(&chunk, &paths, row.start());
            assert_eq!(at, Position::of(&chunk, row.start(), &paths));
            let name = at.file.file_name().unwrap().to_string_lossy().into_owned();
            let text = String::from_utf8_lossy(&chunk.bytes[row.span()]).trim_end().to_owned();
            (name, at.line, at.offset, text)
        };
        found.push(index.rows(&chunk.bytes).iter().map(row).collect());
    }
    assert_eq!(source.bytes_read(), source.facts().bytes_total.unwrap());
    found
}

#[test]
fn small_files_share_chunks_and_rows_keep_their_places() {
    let row = |file: &str, line, offset, text: &str| {
        (file.to_owned(), line, Some(offset), text.to_owned())
    };
    let texts: [&[u8]; 5] = [b"h\n1\n\"2\n2\"", b"h\n", b"", b"h\n3\n4\n", b"h\n5\\"];
    let with = |chunk_bytes| SourceOptions { header: true, ..options(chunk_bytes) };
    let rows = [
        row("f0", 2, 2, "1"),
        row("f0", 3, 4, "\"2\n2\""),
        row("f3", 2, 2, "3"),
        row("f3", 3, 4, "4"),
        row("f4", 2, 2, "5\\"),
    ];
    assert_eq!(joined(&texts, &Dialect::csv(), with(1000)), [rows.to_vec()]);
    for chunk_bytes in 1..30 {
        let chunks = joined(&texts, &Dialect::csv(), with(chunk_bytes));
        assert_eq!(chunks.concat(), rows, "{chunk_bytes}");
    }
    // A line end would change the last line, or be a part of it.
    let escaped = Dialect { escaped_by: Some(b'\\'), ..Dialect::csv() };
    let doubled = Dialect { escaped_by: Some(b'"'), ..Dialect::csv() };
    for (last, dialect) in [
        (&b"2"[..], Dialect::mysql()),
        (b"2\\", Dialect::mysql()),
        (b"2\\", escaped),
        (b"\"2\"", doubled),
        (b"2\r", Dialect::csv()),
    ] {
        let chunks = joined(&[b"1\n", last, b"3\n"], &dialect, options(1000));
        let sizes: Vec<usize> = chunks.iter().map(Vec::len).collect();
        assert_eq!(sizes, [2, 1], "{}", last.escape_ascii());
        assert_eq!(chunks[1], [row("f2", 1, 0, "3")]);
    }
    // JSON has no line end at the end of a file, nor blank lines.
    let texts: [&[u8]; 3] = [b"{\"a\": 1}\n", b"\n{\"a\": 2}\n\n", b"{\"a\": 3}"];
    assert_eq!(joined(&texts, &Dialect::json(true), options(1000)).len(), 1);
}

#[test]
fn skipped_lines_and_headers_are_taken_off_each_file() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [
        write(&folder, "a", b"# made \"today\n\"the\nid\",name\r\n1,a\n"),
        write(&folder, "b", b"# made today\n\"the\nid\",name\n2,b\n3,c"),
    ];
    for chunk_bytes in [1, 5, 1000] {
        let options = SourceOptions { skip_lines: 1, header: true, ..options(chunk_bytes) };
        let mut source = FileSource::new(&paths, &Dialect::csv(), options).unwrap();
        let names = source.header().unwrap().unwrap().to_vec();
        assert_eq!(names, ["the\nid", "name"]);
        let seen = chunks(&mut source).unwrap();
        assert_eq!((seen[0].0, seen[0].1, &seen[0].2[..]), (0, 4, &b"1,a\n"[..]));
        assert_eq!((seen[1].0, seen[1].1), (1, 4));
        assert_eq!(source.bytes_read(), source.facts().bytes_total.unwrap());
        source.restart().unwrap();
        assert_eq!(chunks(&mut source).unwrap(), seen);
    }
}

#[test]
fn a_column_may_be_called_what_means_null() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a", b"NA,,NULL\n1,NA,2\n");
    for token in ["NA", ""] {
        let dialect = Dialect { null_tokens: vec![token.into()], ..Dialect::csv() };
        let options = SourceOptions { header: true, ..SourceOptions::default() };
        let mut source = FileSource::new(std::slice::from_ref(&path), &dialect, options).unwrap();
        assert_eq!(source.header().unwrap().unwrap(), ["NA", "", "NULL"]);
    }
}

#[test]
fn lines_are_skipped_as_the_server_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a", b"one\\\nstill one\n\"two\nthree\"\n4\nfive\nsix\n");
    let dialect = Dialect { enclosed_by: Some(b'"'), ..Dialect::mysql() };
    let options = SourceOptions { skip_lines: 3, ..options(100) };
    let mut source = FileSource::new(&[path], &dialect, options).unwrap();
    assert_eq!(chunks(&mut source).unwrap(), [(0, 5, b"4\nfive\nsix\n".to_vec())]);
    let path = write(&folder, "short", b"one\ntwo");
    let options = SourceOptions { skip_lines: 3, ..SourceOptions::default() };
    let mut source = FileSource::new(&[path], &dialect, options).unwrap();
    assert_eq!(chunks(&mut source).unwrap(), []);
}

#[test]
fn headers_that_differ_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [write(&folder, "a", b"id,name\n1,a\n"), write(&folder, "b", b"name,id\nb,2\n")];
    let options = SourceOptions { header: true, needs_rows: true, ..SourceOptions::default() };
    let mut source = FileSource::new(&paths, &Dialect::csv(), options.clone()).unwrap();
    let error = chunks(&mut source).unwrap_err().to_string();
    assert!(error.contains("/b: the header line names (name, id); expected (id, name)"), "{error}");
    let empty = write(&folder, "empty", b"");
    let mut source = FileSource::new(&[empty], &Dialect::csv(), options).unwrap();
    let error = source.header().unwrap_err().to_string();
    assert!(error.contains("--allow-empty accepts files without rows"), "{error}");
}

/// `--allow-empty` did not help a file of 0 bytes with `--header`.
#[test]
fn files_of_0_bytes_have_no_header_where_files_may_be_empty() {
    let folder = tempfile::tempdir().unwrap();
    let (empty, full) = (write(&folder, "a", b""), write(&folder, "b", b"id,name\n1,a\n"));
    let options = SourceOptions { header: true, needs_rows: false, ..SourceOptions::default() };
    let open = |paths: &[_]| FileSource::new(paths, &Dialect::csv(), options.clone()).unwrap();
    assert_eq!(open(std::slice::from_ref(&empty)).header().unwrap(), None);
    for paths in [[empty.clone(), full.clone()], [full, empty]] {
        let mut source = open(&paths);
        assert_eq!(source.header().unwrap().unwrap(), ["id", "name"]);
        let rows: Vec<_> =
            chunks(&mut source).unwrap().into_iter().map(|(.., rows)| rows).collect();
        assert_eq!(rows, [b"1,a\n"]);
    }
}

#[test]
fn an_open_quote_is_named_by_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a", b"1,\"x\ny\"\n2,\"open\n3,z\n4,z\n");
    for chunk_bytes in [1, 10, 1000] {
        let mut source =
            FileSource::new(std::slice::from_ref(&path), &Dialect::csv(), options(chunk_bytes))
                .unwrap();
        let error = chunks(&mut source).unwrap_err();
        let at = error.position().unwrap();
        assert_eq!((&at.file, at.line, at.offset), (&path, 3, Some(10)));
        assert_eq!(chunks(&mut source).unwrap(), [], "a source that failed is done");
        assert!(error.to_string().contains("line 3 (byte 10): a quote opens here"), "{error}");
    }
}

#[test]
fn a_line_with_an_open_quote_is_a_row_where_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "3,z\n".repeat(400);
    let text = format!("1,\"x\ny\"\n2,\"a\nb\",\"open\n{lines}4,\"open too\n{lines}6,\"the end");
    let path = write(&folder, "a", text.as_bytes());
    let at = |line: &str| text.find(line).unwrap() as u64;
    let line = |of: &str| text[..at(of) as usize].matches('\n').count() as u64 + 1;
    let expected = ["2,\"a\nb\",\"open\n", "4,\"open too\n", "6,\"the end"];
    let expected = expected.map(|of| (line(of), at(of), of.to_owned()));
    for chunk_bytes in (1..70).chain([900, 100_000]) {
        for record_bytes_max in [1_000, 100_000] {
            let options =
                SourceOptions { leaves_unclosed: true, record_bytes_max, ..options(chunk_bytes) };
            let paths = std::slice::from_ref(&path);
            let mut source = FileSource::new(paths, &Dialect::csv(), options).unwrap();
            let (mut reader, mut batch) = (source.reader(), Batch::default());
            let (mut chunk, mut seen, mut open) = (Chunk::default(), Vec::new(), Vec::new());
            while source.next_chunk(&mut chunk).unwrap() {
                seen.extend_from_slice(&chunk.bytes);
                reader.read(&chunk, &mut batch).unwrap();
                if chunk.is_unclosed {
                    let text = String::from_utf8(chunk.bytes.clone()).unwrap();
                    open.push((chunk.first_line, chunk.offset, text));
                    batch.visit(&chunk, NoFields);
                }
            }
            assert!(seen == text.as_bytes());
            assert_eq!(open, expected, "{chunk_bytes} {record_bytes_max}");
        }
    }
}

/// One row, of which no field can be told.
struct NoFields;

impl Visit for NoFields {
    type Output = ();

    fn rows<R: Rows>(self, rows: R) {
        let row = rows.row(0);
        assert!(rows.len() == 1 && row.is_unclosed() && row.field_count() == 0);
        assert!(!row.has_fields_for(0, 2) && !row.has_fields_for(2, 2));
    }
}

#[test]
fn records_grow_a_chunk_up_to_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let long = [b"a\n".to_vec(), vec![b'x'; 5000], b"\nb\n".to_vec()].concat();
    let path = write(&folder, "a", &long);
    let mut source =
        FileSource::new(std::slice::from_ref(&path), &Dialect::mysql(), options(100)).unwrap();
    let all: Vec<u8> = chunks(&mut source).unwrap().into_iter().flat_map(|c| c.2).collect();
    assert_eq!(all, long);
    let limited = SourceOptions { record_bytes_max: 4000, ..options(100) };
    let mut source = FileSource::new(&[path], &Dialect::mysql(), limited).unwrap();
    let error = chunks(&mut source).unwrap_err();
    let at = error.position().unwrap();
    assert_eq!((at.line, at.offset), (2, Some(2)));
    assert!(error.to_string().contains("longer than 4000 bytes"), "{error}");
}

#[test]
fn paths_that_are_no_files_are_refused_before_reading() {
    let folder = tempfile::tempdir().unwrap();
    let new = |path| FileSource::new(&[path], &Dialect::mysql(), SourceOptions::default());
    let missing = folder.path().join("missing");
    assert!(matches!(new(missing).unwrap_err(), Error::Io { action: "opening", .. }));
    assert!(matches!(new(folder.path().to_owned()).unwrap_err(), Error::Directory { .. }));
}

/// Skips one record of three fields, asked for its start before anybody has said how many they are.
#[test]
fn records_that_only_their_fields_tell_are_skipped_once_these_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let kind = |bytes_max| FieldKind {
        is_text: true,
        bytes_max,
        row_bytes: bytes_max,
        ..FieldKind::of_literals(sql::Literals::default())
    };
    let none = || Dialect { lines_terminated_by: Vec::new(), ..Dialect::mysql() };
    let counted = Dialect { fields_terminated_by: b",".to_vec(), ..none() };
    let fixed = Dialect { fields_terminated_by: Vec::new(), escaped_by: None, ..none() };
    for (dialect, text, rest) in [
        (counted, b"1,2,3,4,5,6,7,8,9".as_slice(), b"4,5,6,7,8,9".as_slice()),
        (fixed, b"123456789", b"456789"),
    ] {
        let path = write(&folder, "a", text);
        let options = SourceOptions { skip_lines: 1, ..options(100) };
        let mut source = FileSource::new(&[path], &dialect, options).unwrap();
        assert_eq!(source.check_rows().unwrap(), Vec::<std::path::PathBuf>::new());
        assert_eq!(source.column_names().unwrap(), None);
        assert_eq!(source.start().unwrap().text, b"");
        source.change(|read_as| read_as.fields = vec![kind(1); 3]).unwrap();
        assert_eq!(source.start().unwrap().text.len(), text.len() - rest.len());
        let seen = chunks(&mut source).unwrap();
        assert_eq!(seen.iter().flat_map(|seen| seen.2.clone()).collect::<Vec<_>>(), rest);
        source.restart().unwrap();
        assert_eq!(chunks(&mut source).unwrap(), seen);
    }
}

#[test]
fn a_byte_order_mark_is_no_data_in_csv() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a", b"\xef\xbb\xbf\"id\"\r\n1\r\n");
    for chunk_bytes in [1, 2, 100] {
        let header = SourceOptions { header: true, ..options(chunk_bytes) };
        let new = |dialect: &Dialect, options| {
            FileSource::new(std::slice::from_ref(&path), dialect, options).unwrap()
        };
        let mut source = new(&Dialect::csv(), header);
        assert_eq!(source.header().unwrap().unwrap(), ["id"]);
        assert_eq!(chunks(&mut source).unwrap(), [(0, 2, b"1\r\n".to_vec())]);
        let mut source = new(&Dialect::csv(), options(chunk_bytes));
        assert_eq!(chunks(&mut source).unwrap()[0].2[0], b'"');
        let mut source = new(&Dialect::mysql(), options(chunk_bytes));
        assert_eq!(chunks(&mut source).unwrap()[0].2[0], 0xef);
    }
}
