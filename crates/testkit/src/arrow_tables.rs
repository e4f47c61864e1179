//! Random tables of Arrow with columns of all types, and the text of each value.

use std::sync::Arc;

use arrow_array::builder::*;
use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_buffer::i256;
use arrow_schema::{DataType, Field, Schema, TimeUnit};

use crate::random::Random;

/// The texts of values; None is NULL. A value that is to be refused has an exclamation mark before it.
pub type Texts = Vec<Option<String>>;

/// A column: its array, and the texts of its values.
type Column = (ArrayRef, Texts);

/// A table with a column of each type, and its rows in text.
pub fn random(random: &mut Random, rows: usize) -> (RecordBatch, Vec<Texts>) {
    let mut columns: Vec<(&str, Column)> = Vec::new();
    integers(random, rows, &mut columns);
    numbers(random, rows, &mut columns);
    times(random, rows, &mut columns);
    texts(random, rows, &mut columns);
    columns.push(("a list", list(random, rows)));
    columns.push(("a struct", structs(random, rows)));
    columns.push(("a map", map(random, rows)));
    let field =
        |(name, (array, _)): &(&str, Column)| Field::new(*name, array.data_type().clone(), true);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let arrays = columns.iter().map(|(_, (array, _))| Arc::clone(array)).collect();
    let row = |at: usize| columns.iter().map(|(_, (_, texts))| texts[at].clone()).collect();
    (RecordBatch::try_new(schema, arrays).unwrap(), (0..rows).map(row).collect())
}

/// The columns of a table that have no dictionary, no views and no values in values, with all bytes of each value beside
/// each other.
pub fn flat(table: (RecordBatch, Vec<Texts>)) -> (RecordBatch, Vec<Texts>) {
    let (batch, rows) = table;
    let is_flat = |at: &usize| {
        let data_type = batch.column(*at).data_type();
        let is_view = matches!(data_type, DataType::Utf8View | DataType::BinaryView);
        !data_type.is_nested() && !is_view && !matches!(data_type, DataType::Dictionary(..))
    };
    let columns: Vec<usize> = (0..batch.num_columns()).filter(is_flat).collect();
    let row = |row: &Texts| columns.iter().map(|at| row[*at].clone()).collect();
    (batch.project(&columns).unwrap(), rows.iter().map(row).collect())
}

/// Values, of which some are NULL.
fn some<V>(random: &mut Random, rows: usize, value: impl Fn(&mut Random) -> V) -> Vec<Option<V>> {
    let one = |_| (!random.chance(5)).then(|| value(random));
    (0..rows).map(one).collect()
}

fn shown<V: std::fmt::Display>(values: &[Option<V>]) -> Texts {
    values.iter().map(|value| value.as_ref().map(V::to_string)).collect()
}

fn integers(random: &mut Random, rows: usize, columns: &mut Vec<(&str, Column)>) {
    macro_rules! column {
        ($name:literal, $array:ty, $type:ty) => {{
            let values = some(random, rows, |random| random.next_u64() as $type);
            let texts = shown(&values);
            columns.push(($name, (Arc::new(<$array>::from(values)), texts)));
        }};
    }
    column!("i8", Int8Array, i8);
    column!("i16", Int16Array, i16);
    column!("i32", Int32Array, i32);
    column!("i64", Int64Array, i64);
    column!("u8", UInt8Array, u8);
    column!("u16", UInt16Array, u16);
    column!("u32", UInt32Array, u32);
    column!("u64", UInt64Array, u64);
    let values = some(random, rows, |random| random.chance(2));
    let texts = values.iter().map(|value| value.map(|value| u8::from(value).to_string()));
    columns.push(("bool", (Arc::new(BooleanArray::from(values.clone())), texts.collect())));
}

fn numbers(random: &mut Random, rows: usize, columns: &mut Vec<(&str, Column)>) {
    let values = some(random, rows, |random| random.below(100_000) as f32 / 8.0 - 5_000.0);
    let texts = shown(&values);
    columns.push(("f32", (Arc::new(Float32Array::from(values)), texts)));
    let values = some(random, rows, |random| random.below(1 << 30) as f64 / 1024.0);
    let texts = shown(&values);
    columns.push(("f64", (Arc::new(Float64Array::from(values)), texts)));
    let values = some(random, rows, |random| i128::from(random.next_u64() as i64));
    let texts = values.iter().map(|value| value.map(|value| point(&value.to_string(), 4)));
    let array = Decimal128Array::from(values.clone()).with_precision_and_scale(20, 4).unwrap();
    columns.push(("decimal", (Arc::new(array), texts.collect())));
    let wide = |random: &mut Random| {
        let part = |random: &mut Random| i256::from_i128(i128::from(random.next_u64() >> 1));
        part(random).wrapping_mul(part(random)).wrapping_mul(i256::from_i128(1 << 20))
    };
    let values = some(random, rows, wide);
    let texts = values.iter().map(|value| value.map(|value| point(&value.to_string(), 10)));
    let array = Decimal256Array::from(values.clone()).with_precision_and_scale(50, 10).unwrap();
    columns.push(("wide decimal", (Arc::new(array), texts.collect())));
}

/// Digits with a point before the last ones.
fn point(digits: &str, scale: usize) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

/// A day from 1970 on, and its text.
fn day(random: &mut Random) -> (i32, String) {
    let value = values::Value::Date(random.below(40_000) as i32);
    let values::Value::Date(days) = value else { unreachable!() };
    (days, text(value))
}

fn text(value: values::Value<'_>) -> String {
    let mut scratch = Vec::new();
    String::from_utf8_lossy(value.text(&mut scratch).unwrap()).into_owned()
}

fn times(random: &mut Random, rows: usize, columns: &mut Vec<(&str, Column)>) {
    use values::Value;
    let days = some(random, rows, day);
    let texts = days.iter().map(|day| day.as_ref().map(|(_, text)| text.clone())).collect();
    let array: Date32Array = days.iter().map(|day| day.as_ref().map(|(day, _)| *day)).collect();
    columns.push(("day", (Arc::new(array), texts)));
    let millis = some(random, rows, |random| random.below(86_400_000) as i32);
    let texts = millis.iter().map(|it| it.map(|it| text(Value::Time(i64::from(it) * 1_000))));
    columns.push((
        "time32",
        (Arc::new(Time32MillisecondArray::from(millis.clone())), texts.collect()),
    ));
    let nanos = some(random, rows, |random| random.below(1 << 40) as i64);
    let texts = nanos.iter().map(|it| it.map(|it| of_nanos(it, Value::Time)));
    columns
        .push(("time64", (Arc::new(Time64NanosecondArray::from(nanos.clone())), texts.collect())));
    let moments = some(random, rows, |random| random.below(1 << 32) as i64);
    let texts = moments.iter().map(|it| it.map(|it| text(Value::DateTime(it * 1_000_000))));
    let array = TimestampSecondArray::from(moments.clone());
    columns.push(("seconds", (Arc::new(array), texts.collect())));
    let texts = moments.iter().map(|it| it.map(|it| text(Value::DateTime(it * 1_001))));
    let array = moments.iter().map(|it| it.map(|it| it * 1_001));
    let array = TimestampMicrosecondArray::from_iter(array);
    columns.push(("micros", (Arc::new(array), texts.collect())));
    let array = moments.iter().map(|it| it.map(|it| it * 999_999));
    let array = TimestampNanosecondArray::from_iter(array);
    let texts = moments.iter().map(|it| it.map(|it| of_nanos(it * 999_999, Value::DateTime)));
    columns.push(("nanos", (Arc::new(array), texts.collect())));
    let array = TimestampMillisecondArray::from(moments.clone()).with_timezone("+02:00");
    let texts = moments.iter().map(|it| it.map(|it| text(Value::Timestamp(it * 1_000))));
    columns.push(("moment", (Arc::new(array), texts.collect())));
}

/// The text of nanoseconds, with the mark of a refused value where microseconds lose some.
fn of_nanos(nanos: i64, value: fn(i64) -> values::Value<'static>) -> String {
    let (text, left) = (text(value(nanos / 1_000)), nanos % 1_000);
    match (left, text.contains('.')) {
        (0, _) => text,
        (left, true) => format!("!{text}{left:03}"),
        (left, false) => format!("!{text}.000000{left:03}"),
    }
}

/// A short text of any characters.
fn word(random: &mut Random) -> String {
    let letters = ['a', 'Z', '\t', '\n', '\\', '"', 'é', '漢', '😀', '\'', ' '];
    let length = random.below(12);
    (0..length).map(|_| random.pick(&letters)).collect()
}

fn texts(random: &mut Random, rows: usize, columns: &mut Vec<(&str, Column)>) {
    let values = some(random, rows, word);
    let shown = shown(&values);
    columns.push(("text", (Arc::new(StringArray::from(values.clone())), shown.clone())));
    columns.push(("large text", (Arc::new(LargeStringArray::from(values.clone())), shown.clone())));
    let view = StringViewArray::from_iter(values.iter().map(|value| value.as_deref()));
    columns.push(("text view", (Arc::new(view), shown.clone())));
    let bytes = values.iter().map(|value| value.as_ref().map(|value| value.as_bytes()));
    columns.push(("bytes", (Arc::new(BinaryArray::from_iter(bytes)), shown)));
    let words = ["red", "green", "a colour that has a long name"];
    let values = some(random, rows, |random| random.pick(&words));
    let dictionary: DictionaryArray<Int32Type> = values.iter().copied().collect();
    let texts = values.iter().map(|value| value.map(str::to_owned));
    columns.push(("dictionary", (Arc::new(dictionary), texts.collect())));
    let values = some(random, rows, |random| format!("{:05}", random.below(100_000)));
    let bytes = values.iter().map(|value| value.as_ref().map(|value| value.as_bytes()));
    let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, 5).unwrap();
    columns.push(("fixed", (Arc::new(array), values)));
}

fn list(random: &mut Random, rows: usize) -> Column {
    let mut builder = ListBuilder::new(Int32Builder::new());
    let mut texts = Texts::new();
    for _ in 0..rows {
        if random.chance(6) {
            builder.append_null();
            texts.push(None);
            continue;
        }
        let length = random.below(4);
        let items = some(random, length, |random| random.below(1_000) as i32);
        items.iter().for_each(|item| builder.values().append_option(*item));
        builder.append(true);
        let items = items.iter().map(|it| it.map_or("null".to_owned(), |item| item.to_string()));
        texts.push(Some(format!("[{}]", items.collect::<Vec<_>>().join(","))));
    }
    (Arc::new(builder.finish()), texts)
}

/// A text in JSON.
fn json(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            letter => out.push(letter),
        }
    }
    out + "\""
}

fn structs(random: &mut Random, rows: usize) -> Column {
    let names = some(random, rows, word);
    let truths = some(random, rows, |random| random.chance(2));
    let fields = vec![
        (
            Arc::new(Field::new("name", DataType::Utf8, true)),
            Arc::new(StringArray::from(names.clone())) as ArrayRef,
        ),
        (
            Arc::new(Field::new("is \"so\"", DataType::Boolean, true)),
            Arc::new(BooleanArray::from(truths.clone())) as ArrayRef,
        ),
    ];
    let row = |(name, truth): (&Option<String>, &Option<bool>)| {
        let name = name.as_deref().map_or("null".to_owned(), json);
        let truth = truth.map_or("null".to_owned(), |truth| truth.to_string());
        Some(format!("{{\"name\":{name},\"is \\\"so\\\"\":{truth}}}"))
    };
    let texts = names.iter().zip(&truths).map(row).collect();
    (Arc::new(StructArray::from(fields)), texts)
}

fn map(random: &mut Random, rows: usize) -> Column {
    let mut builder = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    let mut texts = Texts::new();
    for _ in 0..rows {
        let mut pairs = Vec::new();
        for at in 0..random.below(3) {
            let value = (!random.chance(4)).then(|| random.below(100) as i64);
            builder.keys().append_value(format!("k{at}"));
            builder.values().append_option(value);
            let value = value.map_or("null".to_owned(), |value| value.to_string());
            pairs.push(format!("\"k{at}\":{value}"));
        }
        builder.append(true).unwrap();
        texts.push(Some(format!("{{{}}}", pairs.join(","))));
    }
    (Arc::new(builder.finish()), texts)
}

/// A table of one column.
pub fn one(name: &str, array: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter([(name, array)]).unwrap()
}

/// A column of times in no zone.
pub fn nanos(values: Vec<i64>) -> ArrayRef {
    let array = TimestampNanosecondArray::from(values);
    assert_eq!(*array.data_type(), DataType::Timestamp(TimeUnit::Nanosecond, None));
    Arc::new(array)
}
