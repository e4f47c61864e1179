//! Random values by the type of a column.

use super::shape::{ColumnShape, quoted};
use crate::Random;

const WORDS: [&str; 14] = [
    "blue",
    "Salt",
    "north wind",
    "x",
    "Over",
    "12",
    "paper",
    "stra\u{df}e",
    "\u{c9}t\u{e9}",
    "\u{43c}\u{438}\u{440}",
    "\u{6771}\u{4eac}",
    "\u{1f600}",
    "a'b\"c\\d",
    "tab\there",
];
const JSON: [&str; 6] =
    ["{}", "[1, 2.5, null]", "\"text\"", "{\"a\": {\"b\": [true, false]}}", "17", "{\"k\": \"v\"}"];

/// A value that the type of a column takes most of the time. Keys get another one for each `number`,
/// most of the time too.
pub(super) fn value(random: &mut Random, column: &ColumnShape, number: usize) -> Vec<u8> {
    if column.is_json {
        return random.pick(&JSON).into();
    }
    if !column.words.is_empty() && !random.chance(8) {
        return column.words[random.below(column.words.len())].clone().into();
    }
    match column.kind.as_str() {
        "enum" => {
            let words = quoted(&column.declared);
            words[random.below(words.len())].clone().into()
        }
        "set" => {
            let words = quoted(&column.declared).into_iter().filter(|_| random.chance(2));
            words.collect::<Vec<_>>().join(",").into()
        }
        "bit" => bits(random, column.digits.0),
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => {
            text(random, column, number, &WORDS).into()
        }
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => {
            text(random, column, number, &WORDS[..7]).into()
        }
        kind => plain(random, column, kind, number).into(),
    }
}

/// A value that is written in ASCII whatever it is.
fn plain(random: &mut Random, column: &ColumnShape, kind: &str, number: usize) -> String {
    let two = |random: &mut Random, from, to| format!("{:02}", random.between(from, to));
    let date = |random: &mut Random| {
        let year = random.between(1990, 2030);
        format!("{year}-{}-{}", two(random, 1, 12), two(random, 1, 28))
    };
    let clock = |random: &mut Random| {
        let fraction = random.below(1_000_000);
        format!(
            "{}:{}:{}.{fraction:06}",
            two(random, 0, 23),
            two(random, 0, 59),
            two(random, 0, 59)
        )
    };
    let declared = &column.declared;
    match kind {
        "date" => date(random),
        "year" => random.between(1990, 2030).to_string(),
        "time" if declared == "time" => clock(random)[..8].to_owned(),
        "time" => clock(random),
        "datetime" | "timestamp" if !declared.contains('(') => {
            format!("{} {}", date(random), &clock(random)[..8])
        }
        "datetime" | "timestamp" => format!("{} {}", date(random), clock(random)),
        "uuid" => {
            let (high, low) = (random.next_u64(), random.next_u64());
            format!(
                "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
                high >> 32,
                high >> 16 & 0xffff,
                high & 0xffff,
                low >> 48,
                low & 0xffff_ffff_ffff
            )
        }
        "inet4" => format!("10.0.{}.{}", random.below(256), random.below(256)),
        "inet6" => format!("2001:db8::{:x}:{:x}", number + 1, random.below(65_536)),
        _ => numeric(random, column, number),
    }
}

fn numeric(random: &mut Random, column: &ColumnShape, number: usize) -> String {
    let (digits, scale) = column.digits;
    let whole = match () {
        () if column.is_unique => number + 1,
        () if column.is_in_key => random.between(1, 40),
        () => random.below(10_usize.pow(digits.saturating_sub(scale).clamp(1, 6) as u32).min(120)),
    };
    let is_signed = !column.declared.contains("unsigned") && !column.is_in_key;
    let sign = if is_signed && random.chance(5) { "-" } else { "" };
    let fraction = match column.kind.as_str() {
        "decimal" if scale > 0 => {
            format!(".{:01$}", random.below(10_usize.pow(scale.min(6) as u32)), scale.min(6))
        }
        "float" | "double" => format!(".{}", random.below(4) * 25),
        _ => String::new(),
    };
    format!("{sign}{whole}{fraction}")
}

/// As many bits as there are, in bytes that are text too.
fn bits(random: &mut Random, count: usize) -> Vec<u8> {
    let first = (count + 7) % 8 + 1;
    let mask = |bits: usize| (1_usize << bits.min(7)) - 1;
    let rest = (1..count.div_ceil(8)).map(|_| 8);
    [first].into_iter().chain(rest).map(|bits| (random.below(128) & mask(bits)) as u8).collect()
}

fn text(random: &mut Random, column: &ColumnShape, number: usize, words: &[&str]) -> String {
    let length = column.length;
    let mark = match column.is_unique {
        true => format!("{number}"),
        false if column.is_in_key => format!("{}", random.below(40)),
        false => String::new(),
    };
    let mut found = String::new();
    let count = if length > 10_000 && random.chance(20) { 4_000 } else { random.below(4) };
    let most = length.min(40_000).saturating_sub(mark.len());
    for _ in 0..count {
        let word = random.pick(words);
        if found.len() + word.len() + 1 > most {
            break;
        }
        found.push_str(word);
        found.push(' ');
    }
    // Spaces at the end are another matter, and another test's.
    found.truncate(found.trim_end().len());
    found + &mark
}
