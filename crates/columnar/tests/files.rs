//! Several files, projection, positions, and types that do not fit.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow_array::*;
use arrow_ipc::{CompressionType, DictionaryBatch, DictionaryEncoding, root_as_message};
use arrow_schema::{DataType, Field, Schema};
use columnar::{ColumnarOptions, Kind};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use sources::remote::{self, Remote};
use sources::{Batch, Chunk, ReadAs, Reader, SourceExt as _};
use values::{SqlType, TextType};

use crate::tables::{nanos, one};
use crate::writing::{All, arrow_file, arrow_stream, open, parquet, read, read_in_chunks, rows_of};

fn text() -> SqlType {
    let text =
        TextType { charset: values::Charset::Utf8mb4, collation: "utf8mb4_general_ci".to_owned() };
    SqlType::VarChar { chars: 40, text }
}

const INT: SqlType = SqlType::Integer { bytes: 4, unsigned: false };

fn people(ids: &[i32]) -> RecordBatch {
    let names: StringArray = ids.iter().map(|id| Some(format!("n{id}"))).collect();
    RecordBatch::try_from_iter([
        ("id", Arc::new(Int32Array::from(ids.to_vec())) as ArrayRef),
        ("name", Arc::new(names)),
    ])
    .unwrap()
}

fn write(folder: &tempfile::TempDir, name: &str, batch: &RecordBatch) -> PathBuf {
    let path = folder.path().join(name);
    parquet(&path, std::slice::from_ref(batch), WriterProperties::default());
    path
}

#[test]
fn several_files_are_one_input_by_the_names_of_their_columns() {
    let folder = tempfile::tempdir().unwrap();
    let a = write(&folder, "a.parquet", &people(&[1, 2]));
    let b = write(&folder, "b.parquet", &people(&[3]).project(&[1, 0]).unwrap());
    let rows = read(&[a.clone(), b.clone()], &[Some(INT), Some(text())]).unwrap();
    let expected = [("1", "n1"), ("2", "n2"), ("3", "n3")];
    let expected = expected.map(|(id, name)| vec![Some(id.to_owned()), Some(name.to_owned())]);
    assert_eq!(rows, expected);
    let mut source = open(&[a, b]).unwrap();
    let names = source.column_names().unwrap().unwrap();
    assert_eq!(names, [b"id".to_vec(), b"name".to_vec()]);
    let mut chunk = Chunk::default();
    let mut places = Vec::new();
    while source.next_chunk(&mut chunk).unwrap() {
        places.push((chunk.ordinal, chunk.file, chunk.first_record));
    }
    assert_eq!(places, [(0, 0, Some(0)), (1, 1, Some(0))]);
}

/// An object that counts the readings of its end, where the footer is.
#[derive(Debug)]
struct Counted {
    bytes: Vec<u8>,
    ends_read: AtomicUsize,
}

impl Remote for Counted {
    fn bytes(&self) -> Option<u64> {
        Some(self.bytes.len() as u64)
    }

    fn identity(&self) -> &str {
        "the same"
    }

    fn head(&self) -> &[u8] {
        &self.bytes[..64]
    }

    fn read_at(&self, position: u64, out: &mut [u8]) -> io::Result<usize> {
        let rest = self.bytes.get(position as usize..).unwrap_or_default();
        self.ends_read.fetch_add(usize::from(rest.len() <= out.len()), Ordering::Relaxed);
        let size = rest.len().min(out.len());
        out[..size].copy_from_slice(&rest[..size]);
        Ok(size)
    }

    fn open(&self) -> io::Result<Box<dyn io::Read + Send>> {
        Ok(Box::new(io::Cursor::new(self.bytes.clone())))
    }

    fn limit(&self, _bytes: usize) {}

    fn forget(&self) {}

    fn watch(&self, _stop: &Arc<AtomicBool>) {}
}

/// With more files than are open at a time each was opened twice, and its footer read twice.
#[test]
fn the_footers_of_many_files_are_read_once_if_memory_allows() {
    let folder = tempfile::tempdir().unwrap();
    let object = |kind: &str, number: i32| {
        let (path, batches) = (folder.path().join("file"), [people(&[number])]);
        match kind {
            "parquet" => parquet(&path, &batches, WriterProperties::default()),
            _ => arrow_file(&path, &batches, None),
        }
        let (bytes, ends_read) = (std::fs::read(&path).unwrap(), AtomicUsize::new(0));
        let object = Arc::new(Counted { bytes, ends_read });
        let name = PathBuf::from(format!("http://files/{number}.{kind}"));
        remote::register(&name, Arc::clone(&object) as _);
        (name, object)
    };
    for kind in ["parquet", "arrow"] {
        let ends_read = |memory_bytes: u64, numbers: std::ops::Range<i32>| {
            let objects = numbers.clone().map(|number| object(kind, number));
            let (names, objects): (Vec<_>, Vec<_>) = objects.unzip();
            let options = ColumnarOptions { memory_bytes, ..ColumnarOptions::default() };
            let kind = Kind::of_files(&names).unwrap().unwrap();
            let source = columnar::open(kind, &names, options).unwrap();
            let rows = rows_of(source, &[Some(INT), Some(text())], 4 << 10).unwrap();
            let ids: Vec<_> = rows.iter().map(|row| row[0].clone().unwrap()).collect();
            assert_eq!(ids, numbers.map(|number| number.to_string()).collect::<Vec<_>>());
            let count = |object: &Arc<Counted>| object.ends_read.load(Ordering::Relaxed);
            objects.iter().map(count).collect::<Vec<_>>()
        };
        let alone = ends_read(256 << 20, 0..1)[0];
        assert_eq!(ends_read(256 << 20, 0..20), vec![alone; 20], "{kind}");
        let again = ends_read(64 << 10, 0..20);
        assert!(again.iter().any(|times| *times > alone), "{kind}: {again:?}, {alone}");
    }
}

#[test]
fn files_with_other_columns_are_refused_before_anything_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let a = write(&folder, "a.parquet", &people(&[1]));
    let lacks = write(&folder, "b.parquet", &people(&[1]).project(&[0]).unwrap());
    let other = one("id", Arc::new(Int64Array::from(vec![1])));
    let columns = vec![Arc::clone(other.column(0)), Arc::clone(people(&[1]).column(1))];
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("name", DataType::Utf8, true),
    ]);
    let other = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
    let other = write(&folder, "c.parquet", &other);
    let error = |paths: &[PathBuf]| open(paths).err().unwrap().to_string();
    let text = error(&[a.clone(), lacks.clone()]);
    assert!(
        text.contains("b.parquet: it has no column `name`, which another file has; --missing-null"),
        "{text}"
    );
    let text = error(&[lacks, a.clone()]);
    assert!(text.contains("it has a column `name`"), "{text}");
    let text = error(&[a.clone(), other]);
    assert!(text.ends_with("column `id` is Int64, and Int32 in a file before"), "{text}");
    let csv = folder.path().join("d.csv");
    std::fs::write(&csv, "1,a\n").unwrap();
    let text = Kind::of_files(&[a, csv]).unwrap_err().to_string();
    assert!(
        text.contains("a.parquet is a Parquet file") && text.contains("d.csv is not"),
        "{text}"
    );
}

/// Writers make a column without a type of values that are all NULL, as pandas does.
#[test]
fn a_column_without_a_type_has_that_of_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let fields = [("id", DataType::Int32), ("name", DataType::Null)];
    let fields = fields.map(|(name, data_type)| Field::new(name, data_type, true));
    let arrays: Vec<ArrayRef> =
        vec![Arc::new(Int32Array::from(vec![3])), Arc::new(NullArray::new(1))];
    let untyped = RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), arrays);
    let (a, b) = (people(&[1]), untyped.unwrap());
    let [a, b] = [("a.parquet", a), ("b.parquet", b)].map(|(name, it)| write(&folder, name, &it));
    for (files, ids) in [([&a, &b], ["1", "3"]), ([&b, &a], ["3", "1"])] {
        let rows = read(&files.map(Clone::clone), &[Some(INT), Some(text())]).unwrap();
        let name = |id: &str| (id == "1").then(|| "n1".to_owned());
        assert_eq!(rows, ids.map(|id| vec![Some(id.to_owned()), name(id)]));
        // Values of the other file are no dates.
        let mut source = open(&files.map(Clone::clone)).unwrap();
        let columns = vec![Some(SqlType::Date), Some(text())];
        assert!(source.begin(ReadAs { columns, ..ReadAs::default() }).is_err());
    }
}

/// Each row group was sent by a transaction of its own: 40 rows a second.
#[test]
fn parts_of_few_rows_share_a_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrow");
    let batches: Vec<RecordBatch> = (0..50).map(|id| people(&[id, id + 100])).collect();
    arrow_file(&path, &batches, None);
    let columns = [Some(INT), Some(text())];
    let rows = read_in_chunks(std::slice::from_ref(&path), &columns, 1 << 20).unwrap();
    let ids = (0..50).flat_map(|id| [id, id + 100]);
    let row = |id: i32| vec![Some(id.to_string()), Some(format!("n{id}"))];
    assert_eq!(rows, ids.map(row).collect::<Vec<_>>());
    let chunks = |chunk_bytes| {
        let mut source = open(std::slice::from_ref(&path)).unwrap();
        let columns = columns.to_vec();
        source.begin(ReadAs { columns, chunk_bytes, ..ReadAs::default() }).unwrap();
        let (mut chunk, mut chunks) = (Chunk::default(), Vec::new());
        while source.next_chunk(&mut chunk).unwrap() {
            chunks.push((chunk.first_record.unwrap(), chunk.part.as_ref().unwrap().name.clone()));
        }
        chunks
    };
    assert_eq!(chunks(1 << 20), [(0, "record batches 1 to 50".to_owned())]);
    // Little memory means few rows.
    assert_eq!(
        chunks(1)[..2],
        [(0, "record batch 1".to_owned()), (1, "record batch 1".to_owned())]
    );
}

#[test]
fn a_file_without_columns_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let options = RecordBatchOptions::new().with_row_count(Some(3));
    let none = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options);
    let path = folder.path().join("a.arrow");
    arrow_file(&path, &[none.unwrap()], None);
    let error = open(&[path]).err().unwrap().to_string();
    assert!(error.ends_with("a.arrow: it has no columns"), "{error}");
}

#[test]
fn an_encrypted_column_is_refused_by_name() {
    let file = "testdata/other/encrypted-column.parquet";
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
    let error = open(&[path]).err().unwrap().to_string();
    assert!(error.ends_with("column `b`: it is encrypted, which is not supported"), "{error}");
}

#[test]
fn a_year_of_0_is_the_year_0000() {
    let folder = tempfile::tempdir().unwrap();
    let path =
        write(&folder, "a.parquet", &one("y", Arc::new(UInt16Array::from(vec![0, 99, 2155]))));
    let rows = read(&[path], &[Some(SqlType::Year)]).unwrap().concat();
    let rows: Vec<String> = rows.into_iter().flatten().collect();
    assert_eq!(rows, ["0000", "!99", "2155"]);
}

#[test]
fn columns_that_no_column_takes_are_not_decoded() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a.parquet", &people(&[1, 2]));
    let bytes = std::fs::read(&path).unwrap();
    let rows = read(std::slice::from_ref(&path), &[Some(INT), None]).unwrap();
    assert_eq!(rows, [vec![Some("1".to_owned()), None], vec![Some("2".to_owned()), None]]);
    // The pages of the names are damaged, and only who reads them hears of it.
    let at = bytes.windows(2).position(|pair| pair == b"n1").unwrap();
    let mut damaged = bytes;
    damaged[at - 4..at].copy_from_slice(&[0xff; 4]);
    std::fs::write(&path, damaged).unwrap();
    assert!(read(std::slice::from_ref(&path), &[Some(INT), None]).is_ok());
    let error = read(&[path], &[Some(INT), Some(text())]).unwrap_err().to_string();
    assert!(error.contains("a.parquet, row group 1: "), "{error}");
}

#[test]
fn a_column_that_cannot_be_exact_is_refused_before_anything_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a.parquet", &one("seen", nanos(vec![1_000_000_000])));
    let time = SqlType::Time { digits: 6 };
    let mut source = open(&[path]).unwrap();
    let columns = vec![Some(time)];
    let error = source.begin(ReadAs { columns, ..ReadAs::default() }).unwrap_err().to_string();
    assert!(
        error.contains("column `seen`: its type is Timestamp(ns), whose values TIME(6)"),
        "{error}"
    );
}

#[test]
fn digits_that_a_column_lacks_are_refused_and_others_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a.parquet", &one("seen", nanos(vec![1_000_000_000, 1_000_000, 1])));
    let read = |digits| read(std::slice::from_ref(&path), &[Some(SqlType::DateTime { digits })]);
    let texts = |rows: Vec<Vec<Option<String>>>| rows.into_iter().flatten().flatten();
    let seen: Vec<String> = texts(read(0).unwrap()).collect();
    let (second, milli) = ("1970-01-01 00:00:01", "1970-01-01 00:00:00.001000");
    let nano = "!1970-01-01 00:00:00.000000001";
    assert_eq!(seen, [second, &format!("!{milli}"), nano]);
    let seen: Vec<String> = texts(read(3).unwrap()).collect();
    assert_eq!(seen, [second, milli, nano]);
}

#[test]
fn early_times_of_spark_s_old_calendar_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let keys = vec![KeyValue::new("org.apache.spark.legacyDateTime".to_owned(), String::new())];
    let properties = || WriterProperties::builder().set_key_value_metadata(Some(keys.clone()));
    let early = -2_300_000_000_000_000_000;
    parquet(&path, &[one("seen", nanos(vec![0, early]))], properties().build());
    let rows = read(std::slice::from_ref(&path), &[]).unwrap().concat();
    let rows: Vec<String> = rows.into_iter().flatten().collect();
    assert_eq!(rows, ["1970-01-01 00:00:00", "!1897-02-11 15:06:40"]);
    let days: ArrayRef = Arc::new(Date32Array::from(vec![-141_427, -141_428]));
    parquet(&path, &[one("day", days)], properties().build());
    let rows = read(std::slice::from_ref(&path), &[]).unwrap().concat();
    let rows: Vec<String> = rows.into_iter().flatten().collect();
    assert_eq!(rows, ["1582-10-15", "!1582-10-14"]);
    let times = nanos(vec![0]);
    let field = Arc::new(Field::new("at", times.data_type().clone(), true));
    let nested: ArrayRef = Arc::new(StructArray::from(vec![(field, times)]));
    parquet(&path, &[one("st", nested)], properties().build());
    let error = open(std::slice::from_ref(&path)).err().unwrap().to_string();
    assert!(
        error.contains("column `st` has times in lists or structs that Spark wrote"),
        "{error}"
    );
    parquet(&path, &[people(&[1])], properties().build());
    assert!(open(&[path]).is_ok(), "it has no dates");
}

#[test]
fn rows_of_more_memory_than_there_is_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(1 << 20);
    let texts = StringArray::from(vec![long.as_str(); 8]);
    let path = folder.path().join("a.parquet");
    let batch = one("c", Arc::new(texts));
    parquet(&path, std::slice::from_ref(&batch), WriterProperties::default());
    let options = |memory_bytes| ColumnarOptions { memory_bytes, ..ColumnarOptions::default() };
    let first_of = |kind, path: &PathBuf, memory| {
        let options = options(memory);
        let mut source = columnar::open(kind, std::slice::from_ref(path), options).unwrap();
        let mut chunk = Chunk::default();
        source.next_chunk(&mut chunk)?;
        source.reader().read(&chunk, &mut sources::Batch::new())
    };
    let first = |kind, path: &PathBuf| first_of(kind, path, 1 << 20);
    let error = first(Kind::Parquet, &path).unwrap_err().to_string();
    assert!(error.contains("1 MiB are left for it"), "{error}");
    arrow_stream(&path, std::slice::from_ref(&batch), Some(CompressionType::ZSTD));
    let error = first(Kind::Arrow, &path).unwrap_err().to_string();
    assert!(error.contains("1 MiB are left for it"), "{error}");
    // Rows of a batch that is not compressed are read alone: here of more than there is, and of less.
    arrow_stream(&path, &[batch], None);
    let error = first(Kind::Arrow, &path).unwrap_err().to_string();
    assert!(error.contains("1 MiB are left for it"), "{error}");
    let texts = StringArray::from(vec![&long[..100_000]; 200]);
    arrow_stream(&path, &[one("c", Arc::new(texts))], None);
    first_of(Kind::Arrow, &path, 8 << 20).unwrap();
}

/// Chunks have as many rows as the columns that are read allow, and a few long values among short ones are read, too.
#[test]
fn rows_of_a_large_batch_take_the_memory_of_their_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrow");
    let long = "x".repeat(1_000);
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![7; 2_000]));
    let mut columns = vec![("text", Arc::new(StringArray::from(vec![&*long; 2_000])) as ArrayRef)];
    columns.extend(["a", "b", "c", "d"].map(|name| (name, Arc::clone(&numbers))));
    arrow_file(&path, &[RecordBatch::try_from_iter(columns).unwrap()], None);
    let options = || ColumnarOptions { memory_bytes: 16 << 20, ..ColumnarOptions::default() };
    for columns in [vec![], vec![Some(text()), None, None, None, None]] {
        let mut source =
            columnar::open(Kind::Arrow, std::slice::from_ref(&path), options()).unwrap();
        let read_as = ReadAs { columns, chunk_bytes: 100_000, ..ReadAs::default() };
        source.begin(read_as).unwrap();
        let (mut chunk, mut chunks) = (Chunk::default(), 0);
        while source.next_chunk(&mut chunk).unwrap() {
            source.reader().read(&chunk, &mut Batch::new()).unwrap();
            chunks += 1;
        }
        assert!((20..=25).contains(&chunks), "{chunks} chunks");
    }
    let mut texts = vec!["short"; 20_000];
    texts[19_000..19_002].fill(&long);
    let huge = "y".repeat(5 << 20);
    texts[19_001] = &huge;
    arrow_file(&path, &[one("c", Arc::new(StringArray::from(texts)))], None);
    let rows = read(std::slice::from_ref(&path), &[]).unwrap();
    assert_eq!(rows[19_001], [Some(huge)]);
}

/// It was refused for `--memory`.
#[test]
fn a_batch_of_a_pipe_may_be_larger_than_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrows");
    let texts = (0..30_000).map(|row| format!("{row:0>1000}"));
    arrow_stream(&path, &[one("c", Arc::new(StringArray::from_iter_values(texts)))], None);
    let expected = read(std::slice::from_ref(&path), &[]).unwrap();
    let (reader, mut writer) = io::pipe().unwrap();
    let mut file = File::open(&path).unwrap();
    let copy = std::thread::spawn(move || io::copy(&mut file, &mut writer).unwrap());
    let pipe = PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd()));
    let options = ColumnarOptions { memory_bytes: 16 << 20, ..ColumnarOptions::default() };
    let source = columnar::open(Kind::Arrow, &[pipe], options).unwrap();
    assert!(rows_of(source, &[], 100_000).unwrap() == expected);
    copy.join().unwrap();
}

/// Threads that take the chunks of a file with three row groups, first to last, last to first, or as it comes, with
/// memory for one row group, get the rows of one thread.
#[test]
fn readers_get_their_rows_in_whatever_order_they_come() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let ids: Vec<i32> = (0..60_000).collect();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(20_000));
    let properties = properties.set_data_page_row_count_limit(3_000).set_write_batch_size(100);
    parquet(&path, &[people(&ids)], properties.build());
    let memory_bytes = 3 << 20;
    let options = ColumnarOptions { memory_bytes, ..ColumnarOptions::default() };
    let mut source = columnar::open(Kind::Parquet, &[path], options).unwrap();
    let columns = vec![Some(INT), Some(text())];
    source.begin(ReadAs { columns, chunk_bytes: 16 << 10, ..ReadAs::default() }).unwrap();
    let mut chunks = Vec::new();
    let mut chunk = Chunk::default();
    while source.next_chunk(&mut chunk).unwrap() {
        chunks.push(std::mem::take(&mut chunk));
    }
    assert!(chunks.len() > 60, "{}", chunks.len());
    let in_order: Vec<usize> = (0..chunks.len()).collect();
    let backwards: Vec<usize> = in_order.iter().rev().copied().collect();
    let mixed: Vec<usize> = in_order.iter().map(|at| at * 37 % chunks.len()).collect();
    for order in [in_order, backwards, mixed] {
        let next = std::sync::atomic::AtomicUsize::new(0);
        let read = |mut reader: Box<dyn Reader>| {
            let (mut batch, mut rows) = (Batch::new(), Vec::new());
            while let Some(at) = order.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
            {
                reader.read(&chunks[*at], &mut batch).unwrap();
                rows.extend(batch.visit(&chunks[*at], All));
            }
            rows
        };
        let mut rows = std::thread::scope(|scope| {
            let spawn = |reader| scope.spawn(|| read(reader));
            let threads: Vec<_> = (0..4).map(|_| spawn(source.reader())).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        rows.sort_by_key(|row| row[0].as_ref().unwrap().parse::<i32>().unwrap());
        let expected = |id: &i32| vec![Some(id.to_string()), Some(format!("n{id}"))];
        assert!(rows.iter().eq(ids.iter().map(expected).collect::<Vec<_>>().iter()));
    }
}

/// Bytes of files one behind the other, and the byte at which the last of them begins.
fn joined(files: &[&[u8]]) -> (Vec<u8>, usize) {
    let bytes = files.concat();
    let last = bytes.len() - files.last().map_or(0, |last| last.len());
    (bytes, last)
}

/// All but the first stream were left out without a word.
#[test]
fn streams_one_behind_the_other_are_one_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrows");
    let stream = |batches: &[RecordBatch]| {
        arrow_stream(&path, batches, None);
        std::fs::read(&path).unwrap()
    };
    let colours = |colours: &[&str]| {
        let colours: DictionaryArray<types::Int8Type> = colours.iter().copied().collect();
        one("c", Arc::new(colours))
    };
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let rows = read(std::slice::from_ref(&path), &[]).map_err(|error| error.to_string())?;
        let values = rows.into_iter().map(|row| row[0].clone().unwrap_or_default());
        Ok::<_, String>(values.collect::<Vec<String>>().join(","))
    };
    let first = stream(&[colours(&["red", "green"]), colours(&["red"])]);
    let second = stream(&[colours(&["blue", "blue", "red"])]);
    let (both, _) = joined(&[&first, &second]);
    assert_eq!(read(&both).unwrap(), "red,green,red,blue,blue,red");
    let empty = stream(&[colours(&[])]);
    let (three, _) = joined(&[&first, &empty, &second]);
    assert_eq!(read(&three).unwrap(), "red,green,red,blue,blue,red");
    // The last marker may be missing, as that of one stream, and a note says so.
    assert_eq!(notes(&path), [] as [&str; 0]);
    assert_eq!(read(&both[..both.len() - 8]).unwrap(), "red,green,red,blue,blue,red");
    let [note] = &notes(&path)[..] else { panic!("one note") };
    assert!(note.contains("a.arrows ends without the end marker"), "{note}");
    for other in [stream(&[people(&[1])]), stream(&[one("d", Arc::new(Int32Array::from(vec![1])))])]
    {
        let (bytes, at) = joined(&[&first, &other]);
        let error = read(&bytes).unwrap_err();
        let words = format!("the stream that begins at byte {at} has other columns");
        assert!(error.contains(&words) && error.contains("a.arrows"), "{error}");
    }
    let (headless, at) = joined(&[&first, &second[second.len() - 8..]]);
    for rest in
        [&[0; 8][..], &[0; 4096], b"\n", b"rubbish that is longer than a prefix", &[0xff; 9]]
    {
        let (bytes, at) = joined(&[&first, rest]);
        let error = read(&bytes).unwrap_err();
        assert!(error.contains(&format!("{at} bytes, behind which are others")), "{error}");
    }
    let error = read(&headless).unwrap_err();
    assert!(error.contains(&format!("{at} bytes, behind which are others")), "{error}");
}

/// Notes about a file.
fn notes(path: &PathBuf) -> Vec<String> {
    open(std::slice::from_ref(path)).unwrap().facts().notes.clone()
}

/// Exchanges the numbers 1 and 2 of the dictionaries of a stream: each writer numbers them in its own way.
fn renumber(stream: &mut [u8]) {
    let mut at = 0;
    while let Some(length) = stream[at + 4..].first_chunk().map(|it| i32::from_le_bytes(*it))
        && length > 0
    {
        let message = root_as_message(&stream[at + 8..at + 8 + length as usize]).unwrap();
        let fields = message.header_as_schema().and_then(|schema| schema.fields());
        let encodings = fields.into_iter().flatten().filter_map(|field| field.dictionary());
        let mut ids: Vec<_> = encodings.map(|it| (it._tab, DictionaryEncoding::VT_ID)).collect();
        let batch = message.header_as_dictionary_batch();
        ids.extend(batch.map(|it| (it._tab, DictionaryBatch::VT_ID)));
        // The number 0 is left out.
        let place = |(table, id): &(flatbuffers::Table<'_>, _)| match table.vtable().get(*id) {
            0 => None,
            place => Some(at + 8 + table.loc() + usize::from(place)),
        };
        let places: Vec<usize> = ids.iter().filter_map(place).collect();
        at += 8 + length as usize + message.bodyLength() as usize;
        places.into_iter().for_each(|place| stream[place] ^= 3);
    }
}

/// Values of columns with dictionaries were exchanged where the dictionaries of a later stream had other numbers.
#[test]
fn a_stream_has_the_dictionaries_of_its_own_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrows");
    let words = |words: &[&str]| -> ArrayRef {
        Arc::new(words.iter().copied().collect::<DictionaryArray<types::Int8Type>>())
    };
    let stream = |rows: [&[&str]; 3]| {
        let columns = ["a", "b", "c"].into_iter().zip(rows.map(words));
        arrow_stream(&path, &[RecordBatch::try_from_iter(columns).unwrap()], None);
        std::fs::read(&path).unwrap()
    };
    let first = stream([&["a1"], &["b1"], &["c1"]]);
    let mut second = stream([&["a2", "a3"], &["b2", "b3"], &["c2", "c3"]]);
    renumber(&mut second);
    for streams in [[&first[..], &second, &first], [&second, &first, &second]] {
        std::fs::write(&path, streams.concat()).unwrap();
        let rows = read(std::slice::from_ref(&path), &[]).unwrap();
        assert!(rows.len() > 3);
        for row in rows {
            let row: Vec<String> = row.into_iter().flatten().collect();
            let number = &row[0][1..];
            assert_eq!(row, ["a", "b", "c"].map(|name| format!("{name}{number}")));
        }
    }
}

/// The columns of both streams looked the same in the refusal.
#[test]
fn a_refused_stream_shows_how_its_columns_differ() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrows");
    let stream = |field: Field| {
        let schema = Arc::new(Schema::new(vec![field]));
        let array = Arc::new(Int32Array::from(vec![1]));
        arrow_stream(&path, &[RecordBatch::try_new(schema, vec![array]).unwrap()], None);
        std::fs::read(&path).unwrap()
    };
    let plain = Field::new("n", DataType::Int32, true);
    let srid = [("srid".to_owned(), "4326".to_owned())];
    for (other, expected) in [
        (
            Field::new("n", DataType::Int32, false),
            "\"n\" Int32 (not nullable, metadata {}) in place of \"n\" Int32 (nullable, metadata {})",
        ),
        (
            plain.clone().with_metadata(srid),
            "\"n\" Int32 (nullable, metadata {\"srid\": \"4326\"}) in place of \"n\" Int32 (nullable,",
        ),
        (Field::new("m", DataType::Int32, false), "one: \"m\" Int32 in place of \"n\" Int32;"),
    ] {
        let bytes = [stream(plain.clone()), stream(other)].concat();
        std::fs::write(&path, bytes).unwrap();
        let error = read(std::slice::from_ref(&path), &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// The blocks of the last file were looked for at the start of the first one.
#[test]
fn arrow_files_one_behind_the_other_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.arrow");
    let file = |ids: &[i32]| {
        arrow_file(&path, &[people(ids)], None);
        std::fs::read(&path).unwrap()
    };
    let (first, second) = (file(&[1, 2]), file(&[3, 4]));
    std::fs::write(&path, joined(&[&first, &second]).0).unwrap();
    let error = read(std::slice::from_ref(&path), &[]).unwrap_err().to_string();
    assert!(error.contains("bytes that are no part of it"), "{error}");
}

/// A Parquet file with an index of its writer's own, of which the footer knows nothing.
fn with_unnamed_bytes(file: &[u8]) -> Vec<u8> {
    let (file, trailer) = file.split_at(file.len() - 8);
    let footer = u32::from_le_bytes(*trailer.first_chunk().unwrap()) as usize;
    let (rows, footer) = file.split_at(file.len() - footer);
    [rows, &[b'P'; 1500], footer, trailer].concat()
}

/// A footer has the rows of its own file: those of the others were left out without a word.
#[test]
fn parquet_files_one_behind_the_other_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let plain = || WriterProperties::builder().set_bloom_filter_enabled(false).build();
    let bloom = || WriterProperties::builder().set_bloom_filter_enabled(true).build();
    let file = |ids: &[i32], properties: WriterProperties| {
        parquet(&path, &[people(ids)], properties);
        std::fs::read(&path).unwrap()
    };
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        read(std::slice::from_ref(&path), &[]).map_err(|error| error.to_string())
    };
    for properties in [plain, bloom] {
        let files = [file(&[1, 2], properties()), file(&[3, 4], properties())];
        let empty = file(&[], properties());
        let own_index = with_unnamed_bytes(&files[1]);
        let cut = &files[0][..files[0].len() - 5];
        for parts in [
            [&files[0][..], &files[1]],
            [&files[0], &empty],
            [&empty, &files[1]],
            [cut, &files[1]],
            [&files[0], &own_index],
        ] {
            let (bytes, last) = joined(&parts);
            let error = read(&bytes).unwrap_err();
            let words = format!("another Parquet file begins at byte {last}");
            assert!(error.contains(&words) && error.contains("a.parquet"), "{error}");
            assert!(read(parts[1]).is_ok());
        }
    }
}
