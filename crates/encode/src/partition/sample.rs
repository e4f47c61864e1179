//! Rows to try a router by: values at every bound and beside it, the ends of types, others at random.
//!
//! The server puts them into a table that is partitioned like the one that is loaded, and says where they
//! are. Rows that this server refuses for their values are left out of it here.

use job::error::Error;
use schema::{Column, PartitionBound, Partitioning};
use targets::Lock;
use targets::partitions::Trial;
use values::{ConvertOptions, Family, SqlMode, SqlType};

use super::bound::{self, Literal};
use super::maker::stored;
use super::{Router, Unplaced};

/// Rows that are tried of a table.
const ROWS_MAX: usize = 800;
/// Values of each column that are made at random.
const RANDOM_VALUES: usize = 40;
/// Days and seconds that a number of a bound may stand for.
const DAYS: std::ops::RangeInclusive<i64> = 366..=3_652_424;
const SECONDS_OF_DAY: i64 = 86_400;

/// Values of the columns that a router looks at, as text; None is NULL.
pub type Sample = Vec<Option<Vec<u8>>>;

/// Has the server say where rows go, and compares; what it puts elsewhere than the router, if anything.
///
/// Errors: a server that cannot be asked.
pub fn differences(
    lock: &mut Lock,
    router: &Router,
    convert: &ConvertOptions,
) -> Result<Option<String>, Error> {
    let Some(partitioning) = lock.table.partitioning.clone() else { return Ok(None) };
    let columns: Vec<Column> =
        router.columns().iter().map(|&position| lock.table.columns[position].clone()).collect();
    let maker = Maker { columns: &columns, router, convert: plain(convert) };
    let (rows, places) = maker.rows(&partitioning);
    compare(lock, router, &partitioning, &columns, &rows, &places)
}

/// The same of rows of an input, each with its partition as it was found here.
///
/// Errors: a server that cannot be asked.
pub fn differences_of(
    lock: &mut Lock,
    router: &Router,
    rows: Vec<(Sample, Option<usize>)>,
) -> Result<Option<String>, Error> {
    let Some(partitioning) = lock.table.partitioning.clone() else { return Ok(None) };
    let columns: Vec<Column> =
        router.columns().iter().map(|&position| lock.table.columns[position].clone()).collect();
    let (rows, places): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    compare(lock, router, &partitioning, &columns, &rows, &places)
}

fn compare(
    lock: &mut Lock,
    router: &Router,
    partitioning: &Partitioning,
    columns: &[Column],
    rows: &[Sample],
    places: &[Option<usize>],
) -> Result<Option<String>, Error> {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let is_bytes: Vec<bool> =
        columns.iter().map(|column| column.sql_type.family() == Family::Bytes).collect();
    let trial = Trial { columns: &names, is_bytes: &is_bytes, by: partitioning, rows };
    let seen = match lock.try_rows(&trial) {
        Err(error) if error.errno().is_some() => {
            return Ok(Some(format!("the server refused to test the partitions: {error}")));
        }
        seen => seen?,
    };
    let named = |place: Option<usize>| match place {
        Some(place) => format!("partition {}", router.partitions()[place]),
        None => "none".to_owned(),
    };
    let mut all = rows.iter().zip(places.iter().zip(&seen));
    let other = all.find(|(_, (ours, servers))| ours != servers);
    Ok(other.map(|(row, (ours, servers))| {
        let show = |value: &Option<Vec<u8>>| match value {
            Some(text) => format!("{:?}", String::from_utf8_lossy(text)),
            None => "NULL".to_owned(),
        };
        let values: Vec<String> = row.iter().map(show).collect();
        format!(
            "the server puts a row with ({}) = ({}) into {}; Inrush would put it into {}",
            names.join(", "),
            values.join(", "),
            named(*servers),
            named(*ours)
        )
    }))
}

/// As values are read where they are tried: zero dates are values.
fn plain(convert: &ConvertOptions) -> ConvertOptions {
    ConvertOptions { sql_mode: SqlMode::default(), ..convert.clone() }
}

struct Maker<'a> {
    columns: &'a [Column],
    router: &'a Router,
    convert: ConvertOptions,
}

impl Maker<'_> {
    /// Rows that the server takes or refuses for their partition alone, and where they go.
    fn rows(&self, by: &Partitioning) -> (Vec<Sample>, Vec<Option<usize>>) {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let bounds = bounds(by);
        let candidates: Vec<Sample> = (0..self.columns.len())
            .map(|at| self.candidates(at, &bounds, by.by_columns, &mut random))
            .collect();
        let mut rows: Vec<Sample> = Vec::new();
        if let [one] = &candidates[..] {
            rows.extend(one.iter().map(|value| vec![value.clone()]));
        } else {
            // At each bound, and with one value of it another.
            for bound in bounds.iter().filter(|bound| bound.len() == candidates.len()) {
                let exact: Sample = bound.iter().map(text_of).collect();
                for (at, values) in candidates.iter().enumerate() {
                    let mut varied = exact.clone();
                    varied[at] = values[random.below(values.len())].clone();
                    rows.push(varied);
                }
                rows.push(exact);
            }
            rows.truncate(ROWS_MAX / 2);
            while rows.len() < ROWS_MAX {
                let any = |values: &Sample| values[random.below(values.len())].clone();
                rows.push(candidates.iter().map(any).collect());
            }
        }
        if rows.len() > ROWS_MAX {
            // Every bound has several; some of all.
            let step = rows.len() as f64 / ROWS_MAX as f64;
            rows = (0..ROWS_MAX).map(|at| rows[(at as f64 * step) as usize].clone()).collect();
        }
        let placed = |row: Sample| self.place(&row).map(|place| (row, place));
        rows.into_iter().filter_map(placed).unzip()
    }

    /// Where a row goes; none for one whose values are refused, or of which that is not known.
    fn place(&self, row: &Sample) -> Option<Option<usize>> {
        let mut all = Vec::new();
        for (value, column) in row.iter().zip(self.columns) {
            all.push(match value {
                None if column.nullable => None,
                None => return None,
                Some(text) => {
                    Some(stored(&column.name, &column.sql_type, &self.convert, text).ok()?)
                }
            });
        }
        match self.router.place(|at| all[at].as_deref(), &mut Vec::new()) {
            Ok(place) => Some(Some(place)),
            Err(Unplaced::NoPartition(_)) => Some(None),
            Err(Unplaced::OutOfRange | Unplaced::Unknown(_)) => None,
        }
    }

    /// Values of a column.
    fn candidates(
        &self,
        at: usize,
        bounds: &[Vec<Literal>],
        by_columns: bool,
        random: &mut Random,
    ) -> Sample {
        let sql_type = &self.columns[at].sql_type;
        let mut texts: Vec<Vec<u8>> = Vec::new();
        for literal in bounds.iter().flat_map(|bound| match by_columns && bound.len() > at {
            true => &bound[at..=at],
            false => &bound[..],
        }) {
            texts.extend(beside(sql_type, literal));
        }
        texts.extend(ends(sql_type));
        texts.extend((0..RANDOM_VALUES).map(|_| any(sql_type, random)));
        texts.into_iter().map(Some).chain([None]).collect()
    }
}

/// All values of all bounds.
fn bounds(by: &Partitioning) -> Vec<Vec<Literal>> {
    let values = by.partitions.iter().filter_map(|partition| match &partition.bound {
        PartitionBound::Values(text) => bound::read(text).ok(),
        PartitionBound::Hash | PartitionBound::Default => None,
    });
    let is_range = by.method == Some(schema::PartitionMethod::Range);
    values
        .flat_map(|values| match is_range {
            true => vec![values.into_iter().flatten().collect()],
            false => values,
        })
        .collect()
}

fn text_of(literal: &Literal) -> Option<Vec<u8>> {
    match literal {
        Literal::Text(text) => Some(text.clone()),
        Literal::Bytes { bytes, .. } => Some(bytes.clone()),
        Literal::Null | Literal::MaxValue => None,
    }
}

/// Values at a bound, and beside it. A number may be a year, a day, a second, or no more than it is.
fn beside(sql_type: &SqlType, literal: &Literal) -> Vec<Vec<u8>> {
    let Some(text) = text_of(literal) else { return Vec::new() };
    let number = literal.number().and_then(|number| i64::try_from(number).ok());
    match (sql_type.family(), number) {
        (Family::Integer | Family::Year, Some(number)) => [-1, 0, 1]
            .iter()
            .flat_map(|off| [number.wrapping_add(*off), number.wrapping_neg()])
            .map(|number| number.to_string().into_bytes())
            .collect(),
        (Family::Temporal | Family::Moment, Some(number)) => times(number),
        (Family::Temporal, None) => {
            let day = String::from_utf8_lossy(&text).into_owned();
            let later = format!("{} 00:00:01", day.split(' ').next().unwrap_or_default());
            vec![text, later.into_bytes()]
        }
        (Family::Text(_) | Family::Json(_), _) => {
            let shown = String::from_utf8_lossy(&text).into_owned();
            let mut shorter = shown.clone();
            shorter.pop();
            let changed = [shown.to_uppercase(), shown.to_lowercase(), shorter];
            let longer = [format!("{shown} "), format!("{shown}a"), format!("{shown}\u{1}")];
            changed.into_iter().chain(longer).chain([shown]).map(String::into_bytes).collect()
        }
        (Family::Bytes, _) => {
            let longer = [&text[..], &[0]].concat();
            let shorter = text[..text.len().saturating_sub(1)].to_vec();
            vec![text, longer, shorter]
        }
        _ => vec![text],
    }
}

/// The dates of a number, and the day and the second before.
fn times(number: i64) -> Vec<Vec<u8>> {
    let mut seconds = Vec::new();
    if (1..=9999).contains(&number) {
        seconds.push((stored_days(number) - 719_528) * SECONDS_OF_DAY);
    }
    if DAYS.contains(&number) {
        seconds.push((number - 719_528) * SECONDS_OF_DAY);
    }
    if DAYS.contains(&(number / SECONDS_OF_DAY)) {
        seconds.push(number - 719_528 * SECONDS_OF_DAY);
    }
    if (0..=u32::MAX.into()).contains(&number) {
        seconds.push(number);
    }
    let around = seconds.iter().flat_map(|at| [-SECONDS_OF_DAY, -1, 0, 1].map(|off| at + off));
    around.map(|seconds| time_text(seconds).into_bytes()).collect()
}

/// TO_DAYS of the first day of a year.
fn stored_days(year: i64) -> i64 {
    let before = year - 1;
    365 * year + before / 4 - before / 100 + before / 400 + 1
}

/// A date with its time, so many seconds after 1970 began.
fn time_text(seconds: i64) -> String {
    let (days, of_day) = (seconds.div_euclid(SECONDS_OF_DAY), seconds.rem_euclid(SECONDS_OF_DAY));
    // The year is found from below: 366 days a year are too many.
    let days = days + 719_528;
    let mut year = (days / 366).max(1);
    while stored_days(year + 1) <= days {
        year += 1;
    }
    let is_leap = stored_days(year + 1) - stored_days(year) == 366;
    let (mut month, mut day) = (0, days - stored_days(year));
    let months = [31, 28 + i64::from(is_leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    while month < 11 && day >= months[month] {
        day -= months[month];
        month += 1;
    }
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    let (month, day) = (month + 1, day + 1);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// Where a type begins and ends.
fn ends(sql_type: &SqlType) -> Vec<Vec<u8>> {
    let texts: &[&str] = match sql_type.family() {
        Family::Integer | Family::Decimal | Family::Year => &[
            "0",
            "1",
            "-1",
            "127",
            "-128",
            "255",
            "32767",
            "-32768",
            "65535",
            "8388607",
            "-8388608",
            "16777215",
            "2147483647",
            "-2147483648",
            "4294967295",
            "9223372036854775807",
            "-9223372036854775808",
            "18446744073709551615",
            "1901",
            "2155",
        ],
        Family::Temporal | Family::Moment => &[
            "0000-00-00",
            "1000-01-01",
            "1969-12-31 23:59:59",
            "1970-01-01 00:00:01",
            "1999-12-31",
            "2000-01-01",
            "2000-02-29 12:30:45.678901",
            "2000-03-01",
            "2004-12-31 23:59:59",
            "2038-01-19 03:14:07",
            "9999-12-31 23:59:59.999999",
            "00:00:00",
            "-838:59:59",
        ],
        Family::Text(_) | Family::Json(_) => {
            &["", " ", "a", "A", "z", "Z", "~", "\u{e4}", "\u{df}"]
        }
        _ => &["", "a", "0"],
    };
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Any value, as likely small as large.
fn any(sql_type: &SqlType, random: &mut Random) -> Vec<u8> {
    let bits = random.below(64) as u32;
    let number = (random.next() >> (63 - bits)) as i64;
    match sql_type.family() {
        Family::Integer | Family::Decimal | Family::Year | Family::Real => {
            let number = if random.below(2) == 0 { number } else { number.wrapping_neg() };
            number.to_string().into_bytes()
        }
        Family::Temporal | Family::Moment => {
            // Most in these days.
            let seconds = match random.below(4) {
                0 => random.below(315_000_000_000) as i64 - 62_000_000_000,
                _ => random.below(2_147_000_000) as i64,
            };
            match sql_type {
                SqlType::Time { .. } => {
                    let (hour, minute) = (random.below(839), random.below(60));
                    format!("{hour:02}:{minute:02}:{:02}", random.below(60)).into_bytes()
                }
                _ => format!("{}.{:06}", time_text(seconds), random.below(1_000_000)).into_bytes(),
            }
        }
        _ => {
            let letters = "abcxyzABCXYZ019 _-\u{e4}\u{f6}\u{df}\u{e9}\u{c4}";
            let letters: Vec<char> = letters.chars().collect();
            let count = random.below(8);
            let text: String = (0..count).map(|_| letters[random.below(letters.len())]).collect();
            text.into_bytes()
        }
    }
}

/// Xorshift with a fixed seed: the same rows for every server, so that a verdict repeats.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number less than `limit`, which is not 0.
    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_times() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00"),
            (-1, "1969-12-31 23:59:59"),
            (951_827_445, "2000-02-29 12:30:45"),
            (1_735_689_599, "2024-12-31 23:59:59"),
            (253_402_300_799, "9999-12-31 23:59:59"),
            (-62_135_596_800, "0001-01-01 00:00:00"),
        ] {
            assert_eq!(time_text(seconds), text);
        }
        let texts = times(2000).into_iter().map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(texts.collect::<Vec<_>>().contains(&"1999-12-31 23:59:59".to_owned()));
    }
}
