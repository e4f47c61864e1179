//! JSON: the same records as serde_json has, however they are written, cut and damaged.

use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::{Map, Value as Json};
use sources::{
    Batch, Chunk, ColumnKind, Dialect, Error, FileSource, Key, MissingValue, Pointer, ReadAs, Row,
    Rows, Source, SourceExt as _, SourceOptions, Value, Visit,
};

/// A row: its values in the order of keys, or None of a record whose fields are not known.
type Rowed = Option<Vec<Option<Vec<u8>>>>;

struct Collect;

impl Visit for Collect {
    type Output = Vec<Rowed>;

    fn rows<R: Rows>(self, rows: R) -> Vec<Rowed> {
        let mut scratch = Vec::new();
        let row = |row: R::Row| {
            let mut value = |field| match row.value(field, &mut scratch) {
                Value::Null => None,
                Value::Bytes(bytes) => Some(bytes.to_vec()),
                other => panic!("{other:?}"),
            };
            let count = row.field_count();
            assert_eq!(row.broken().is_none(), row.has_fields_for(count, count));
            row.broken().is_none().then(|| (0..count).map(&mut value).collect())
        };
        rows.iter().map(row).collect()
    }
}

/// All rows of a text, in chunks of so many bytes.
fn read(
    text: &[u8],
    is_lines: bool,
    keys: &[Key],
    chunk_bytes: usize,
) -> Result<Vec<Rowed>, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    std::fs::write(&path, text).unwrap();
    let options = SourceOptions { chunk_bytes, ..SourceOptions::default() };
    let mut source = FileSource::new(&[path], &Dialect::json(is_lines), options)?;
    source.change(|read_as| read_as.keys = keys.into())?;
    let mut reader = source.reader();
    let (mut chunk, mut batch, mut rows) = (Chunk::default(), Batch::new(), Vec::new());
    while source.next_chunk(&mut chunk)? {
        reader.read(&chunk, &mut batch)?;
        rows.extend(batch.visit(&chunk, Collect));
    }
    Ok(rows)
}

fn keys(takes: ColumnKind) -> Vec<Key> {
    let key =
        |name: &str| Key { name: name.into(), pointer: None, takes, absent: MissingValue::Null };
    ["a", "b", "c d", "\u{e9}\""].map(key).to_vec()
}

/// A value as a column of JSON, or one of values, gets it.
fn expected(value: Option<&Json>, takes: ColumnKind) -> Option<Vec<u8>> {
    match (value?, takes) {
        (Json::Null, _) => None,
        (Json::Bool(flag), ColumnKind::Values) => Some(vec![b'0' + u8::from(*flag)]),
        (Json::String(text), ColumnKind::Values) => Some(text.clone().into_bytes()),
        (value, _) => Some(value.to_string().into_bytes()),
    }
}

fn values() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-1000..1000i32).prop_map(|n| Json::from(f64::from(n) / 8.0)),
        ".*".prop_map(Json::from),
        "[\\\\\"\u{0}-\u{1f}\u{e9}\u{1f600}x]{0,20}".prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map("[a-c\"\u{e9}]{0,3}", inner, 0..4)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

fn records() -> impl Strategy<Value = Vec<Map<String, Json>>> {
    let names = prop::sample::subsequence(vec!["a", "b", "c d", "\u{e9}\""], 0..=4).prop_shuffle();
    let record = names.prop_flat_map(|names| {
        prop::collection::vec(values(), names.len()).prop_map(move |values| {
            names.iter().map(|name| (*name).to_owned()).zip(values).collect::<Map<_, _>>()
        })
    });
    prop::collection::vec(record, 1..20)
}

proptest! {
    #[test]
    fn records_are_read_as_they_were_written(records in records(), cut in 1..300usize, pretty: bool) {
        for takes in [ColumnKind::Values, ColumnKind::Json] {
            let keys = keys(takes);
            let wanted: Vec<Rowed> = records.iter().map(|record| {
                let of = |key: &Key| expected(record.get(std::str::from_utf8(&key.name).unwrap()), takes);
                Some(keys.iter().map(of).collect())
            }).collect();
            let lines: Vec<String> =
                records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
            let text = lines.join("\n");
            prop_assert_eq!(&read(text.as_bytes(), true, &keys, cut).unwrap(), &wanted);
            prop_assert_eq!(&read(text.as_bytes(), false, &keys, cut).unwrap(), &wanted);
            if takes == ColumnKind::Values && !pretty {
                let array = serde_json::to_string(&records).unwrap();
                prop_assert_eq!(&read(array.as_bytes(), false, &keys, cut).unwrap(), &wanted);
            }
        }
        // Nested values keep their blanks, so only those that have none are compared.
        let flat = |record: &Map<String, Json>| record.values().all(|value| !value.is_object() && !value.is_array());
        if pretty && records.iter().all(flat) {
            let array = serde_json::to_string_pretty(&records).unwrap();
            let keys = keys(ColumnKind::Values);
            let rows = read(array.as_bytes(), false, &keys, cut).unwrap();
            prop_assert_eq!(rows.len(), records.len());
            prop_assert!(rows.iter().all(Option::is_some));
        }
    }

    /// A line is a record if and only if it is an object of JSON that names no key twice.
    #[test]
    fn what_is_no_json_is_refused(record in records(), damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3)) {
        let mut line = serde_json::to_vec(&record[0]).unwrap();
        for (at, byte) in damage {
            let at = at.index(line.len());
            // Half of the damages are bytes that mean something.
            line[at] = if byte & 1 == 0 { b"\"\\{}[]:,0-9.eEtfnu \x01\xff"[usize::from(byte) % 21] } else { byte };
        }
        line.retain(|byte| *byte != b'\n');
        prop_assume!(!line.iter().all(u8::is_ascii_whitespace));
        let rows = read(&line, true, &keys(ColumnKind::Values), 1 << 16).unwrap();
        let is_json = serde_json::from_slice::<IgnoredAny>(&line).is_ok()
            && line.trim_ascii_start().first() == Some(&b'{')
            && std::str::from_utf8(&line).is_ok();
        prop_assert_eq!(rows.len(), 1);
        match (&rows[0], is_json) {
            // A key may be damaged: an unknown one, or one that is there twice.
            (None, true) => {
                let fields = serde_json::from_slice::<Map<String, Json>>(&line);
                let known = |name: &str| ["a", "b", "c d", "\u{e9}\""].iter().any(|key| key.eq_ignore_ascii_case(name));
                let is_sound = fields.is_ok_and(|fields| fields.keys().all(|name| known(name)));
                prop_assert!(!is_sound || line.windows(3).filter(|at| at.ends_with(b"\":")).count() > record[0].len() - 1,
                    "{}", String::from_utf8_lossy(&line));
            }
            (Some(_), false) => prop_assert!(false, "{}", String::from_utf8_lossy(&line)),
            _ => {}
        }
    }
}

#[test]
fn a_file_that_ends_within_a_record_is_an_error() {
    let keys = keys(ColumnKind::Values);
    for text in ["[{\"a\": 1},\n {\"b\": \"x", "[{\"a\": 1}", "{\"a\": [1, 2]"] {
        let error = read(text.as_bytes(), false, &keys, 8).unwrap_err();
        assert!(matches!(error, Error::OpenJson { .. }), "{text}: {error}");
    }
    assert_eq!(read(b"[]", false, &keys, 8).unwrap(), Vec::<Rowed>::new());
    assert_eq!(read(b"", true, &keys, 8).unwrap(), Vec::<Rowed>::new());
}

#[test]
fn a_field_that_a_record_lacks_has_its_default() {
    let key = |name: &str, absent| Key {
        name: name.into(),
        pointer: None,
        takes: ColumnKind::Values,
        absent,
    };
    let keys = [
        key("a", MissingValue::Text(b"7".to_vec())),
        key("b", MissingValue::Null),
        key("c", MissingValue::Unknown),
    ];
    let text = b"{\"c\": 1}\n{\"a\": null, \"c\": 2}\n{\"a\": 1, \"b\": 2}\n";
    let rows = read(text, true, &keys, 1 << 16).unwrap();
    let some = |text: &str| Some(text.as_bytes().to_vec());
    assert_eq!(
        rows,
        [Some(vec![some("7"), None, some("1")]), Some(vec![None, None, some("2")]), None]
    );
}

#[test]
fn a_pointer_and_a_column_share_a_field_whose_name_differs_in_case() {
    let key = |name: &str, pointer: Option<&str>| Key {
        name: name.into(),
        pointer: pointer.map(|text| Pointer::parse(text).unwrap()),
        takes: ColumnKind::Json,
        absent: MissingValue::Null,
    };
    let keys = [key("city", Some("/Address/city")), key("address", None)];
    let text = b"{\"Address\":{\"city\":\"X\"}}\n{}\n";
    let rows = read(text, true, &keys, 1 << 16).unwrap();
    let some = |text: &str| Some(text.as_bytes().to_vec());
    let first = vec![some("\"X\""), some("{\"city\":\"X\"}")];
    assert_eq!(rows, [Some(first), Some(vec![None, None])]);
}

#[test]
fn zeros_are_the_year_0() {
    let mut keys = keys(ColumnKind::Years);
    keys.truncate(1);
    for (value, expected) in [
        ("0", "0000"),
        ("-0", "0000"),
        ("0.0", "0000"),
        ("0e7", "0000"),
        ("false", "0000"),
        ("true", "1"),
        ("10", "10"),
        ("0.5", "0.5"),
        ("\"0\"", "0"),
        ("\"0.0\"", "0.0"),
    ] {
        let rows = read(format!("{{\"a\": {value}}}").as_bytes(), true, &keys, 1 << 16).unwrap();
        assert_eq!(rows, [Some(vec![Some(expected.into())])], "{value}");
    }
}

#[test]
fn names_are_those_of_the_first_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    std::fs::write(&path, "{\"b\": 1}\nnothing\n{\"A\": 1, \"a\": 2, \"\\u0062\": 3, \"c\": 4}")
        .unwrap();
    let dialect = Dialect::json(true);
    let mut source = FileSource::new(&[path], &dialect, SourceOptions::default()).unwrap();
    assert_eq!(source.header().unwrap().unwrap(), ["b", "A", "c"]);
    let mut chunk = Chunk::default();
    assert!(source.next_chunk(&mut chunk).unwrap());
    assert_eq!((chunk.offset, chunk.first_line), (0, 1), "nothing was skipped");
    // A file without records has no names, and the next one has them.
    let paths = ["empty", "none", "full"].map(|name| folder.path().join(name));
    for (path, text) in paths.iter().zip(["", "[]", "[{\"a\": 1}]"]) {
        std::fs::write(path, text).unwrap();
    }
    let open = |paths| FileSource::new(paths, &Dialect::json(false), SourceOptions::default());
    assert_eq!(open(&paths).unwrap().header().unwrap().unwrap(), ["a"]);
    assert_eq!(open(&paths[..2]).unwrap().header().unwrap(), None);
}

/// Values of a column that later records had were thrown away.
#[test]
fn fields_that_come_too_late_are_refused_by_their_name() {
    let json = sources::json::Json { is_lines: true, ignores_unknown: true };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    std::fs::write(&path, "{\"a\": 1, \"x\": 1}\n{\"a\": 2, \"Token\": \"t\"}\n").unwrap();
    let dialect = Dialect { json: Some(json), ..Dialect::json(true) };
    let mut source = FileSource::new(&[path], &dialect, SourceOptions::default()).unwrap();
    let change = |read_as: &mut ReadAs| {
        read_as.keys = keys(ColumnKind::Values).into_iter().take(1).collect();
        read_as.late_names = vec![b"Token".to_vec()].into();
    };
    source.change(change).unwrap();
    let mut reader = source.reader();
    let (mut chunk, mut batch) = (Chunk::default(), Batch::new());
    assert!(source.next_chunk(&mut chunk).unwrap());
    reader.read(&chunk, &mut batch).unwrap();
    let faults: Vec<_> = batch.visit(&chunk, Broken);
    assert_eq!(faults[0], None);
    let late = faults[1].as_deref().unwrap_or_default();
    assert!(late.contains("the column `Token`, which the first records lack"), "{late}");
}

struct Broken;

impl Visit for Broken {
    type Output = Vec<Option<String>>;

    fn rows<R: Rows>(self, rows: R) -> Self::Output {
        rows.iter().map(|row| row.broken().map(str::to_owned)).collect()
    }
}

#[test]
fn a_hundred_arrays_in_each_other_are_read_and_no_more() {
    let keys = [Key {
        name: b"a".to_vec(),
        takes: ColumnKind::Json,
        absent: MissingValue::Null,
        pointer: None,
    }];
    for (depth, is_read) in [(100, true), (101, false), (1_000_000, false)] {
        let text = format!("{{\"a\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(read(text.as_bytes(), true, &keys, 1 << 16).unwrap()[0].is_some(), is_read);
    }
}
