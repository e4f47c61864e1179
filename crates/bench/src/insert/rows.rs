//! The rows of both benchmarks, any range of them: as a file or as the tuples of an INSERT.
//!
//! Values are drawn as the benchmarks draw them. Two things differ, so that every way gets the same
//! rows: a row follows from its number, and its time is not the clock's but that of a client which
//! makes a thousand rows a second.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::ops::Range;
use std::path::Path;

use super::schema::Version;
use crate::error::Error;

/// Most rows: their times are days of one month.
pub(crate) const ROWS_MAX: u64 = 2_000_000_000;
const CASH_REGISTERS: u64 = 1_000;
const PRODUCTS: u64 = 10_000;
const CUSTOMERS: u64 = 100_000;
const PRICE_MAX: u64 = 500;
const ROWS_PER_SECOND: u64 = 1_000;
/// Length of `data`, as the benchmark's driver has it.
const DATA: Range<u64> = 10..21;
/// Part of `data` that is random: half, less what base64 makes of it.
const DATA_RANDOM: f64 = 0.75 * 0.5;
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes rows to a new file as LOAD DATA's defaults read them, and has them on the disk.
pub(crate) fn write(version: Version, rows: Range<u64>, path: &Path) -> Result<(), Error> {
    write_file(version, rows, path).map_err(Error::io("writing", path))
}

fn write_file(version: Version, rows: Range<u64>, path: &Path) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut line = String::new();
    for number in rows {
        line.clear();
        Row::new(version, number).line(&mut line);
        file.write_all(line.as_bytes())?;
    }
    file.into_inner().map_err(|error| error.into_error())?.sync_all()
}

/// An INSERT of rows, in `statement`, whose memory is used again.
pub(crate) fn insert(version: Version, rows: Range<u64>, statement: &mut String) {
    statement.clear();
    // Writing to memory cannot fail.
    let _ = write!(statement, "INSERT INTO {} ({}) VALUES ", super::TABLE, version.columns());
    let first = rows.start;
    for number in rows {
        if number > first {
            statement.push(',');
        }
        Row::new(version, number).tuple(statement);
    }
}

/// One row.
struct Row {
    second: u64,
    cash_register: u64,
    customer: u64,
    product: u64,
    price: Price,
    data: Option<String>,
}

enum Price {
    /// As a Java program sends a double.
    Float(f64),
    /// As a format of two decimals makes it.
    Whole(u64),
}

impl Row {
    /// The row of this number, which counts from 0.
    fn new(version: Version, number: u64) -> Row {
        let mut noise = Noise::of(number);
        let (cash_register, product) = (noise.below(CASH_REGISTERS), noise.below(PRODUCTS));
        let customer = noise.below(CUSTOMERS);
        let (price, data) = match version {
            Version::Tc => {
                let price = (noise.unit() * PRICE_MAX as f64 + customer as f64) / 100.0;
                (Price::Float(price), None)
            }
            Version::Mc => (Price::Whole(noise.below(PRICE_MAX)), Some(noise.data())),
        };
        Row { second: number / ROWS_PER_SECOND, cash_register, customer, product, price, data }
    }

    fn line(&self, to: &mut String) {
        self.time(to);
        let _ = write!(to, "\t{}\t{}\t{}\t", self.cash_register, self.customer, self.product);
        self.price(to);
        if let Some(data) = &self.data {
            let _ = write!(to, "\t{data}");
        }
        to.push('\n');
    }

    fn tuple(&self, to: &mut String) {
        to.push_str("('");
        self.time(to);
        let _ = write!(to, "',{},{},{},", self.cash_register, self.customer, self.product);
        self.price(to);
        if let Some(data) = &self.data {
            let _ = write!(to, ",'{data}'");
        }
        to.push(')');
    }

    fn time(&self, to: &mut String) {
        let (day, second) = (self.second / 86_400, self.second % 86_400);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        let _ = write!(to, "2026-01-{:02} {hour:02}:{minute:02}:{second:02}", day + 1);
    }

    fn price(&self, to: &mut String) {
        let _ = match self.price {
            Price::Float(price) => write!(to, "{price}"),
            Price::Whole(price) => write!(to, "{price}.00"),
        };
    }
}

/// splitmix64 of a row's number: any row without those before it.
struct Noise(u64);

impl Noise {
    fn of(number: u64) -> Noise {
        let mut noise = Noise(number.wrapping_mul(0xD1B5_4A32_D192_ED03));
        noise.next();
        noise
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// 0 to less than 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A run of `a`, then random letters.
    fn data(&mut self) -> String {
        let len = DATA.start + self.below(DATA.end - DATA.start);
        let random = (len as f64 * DATA_RANDOM) as u64;
        let mut text = "a".repeat((len - random) as usize);
        for _ in 0..random {
            text.push(BASE64[self.below(BASE64.len() as u64) as usize].into());
        }
        text
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::choice::Choice;

    #[test]
    fn a_file_and_an_insert_hold_the_same_rows() {
        for &version in Version::ALL {
            let path = std::env::temp_dir().join(format!(
                "inrush-iibench-{}-{}",
                version.name(),
                std::process::id()
            ));
            write(version, 7..57, &path).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            let mut statement = String::new();
            insert(version, 7..57, &mut statement);
            let tuples = statement.split_once(" VALUES (").unwrap().1.trim_end_matches(')');
            let tuples: Vec<String> = tuples
                .split("),(")
                .map(|tuple| tuple.replace('\'', "").replace(',', "\t"))
                .collect();
            assert_eq!(text.lines().collect::<Vec<_>>(), tuples);
            assert_eq!(tuples[0].split('\t').count(), version.columns().split(',').count());
        }
    }

    #[test]
    fn values_are_in_the_ranges_of_the_benchmarks() {
        let mut prices = [false; PRICE_MAX as usize];
        for number in 0..20_000 {
            let row = Row::new(Version::Mc, number);
            assert!(row.cash_register < 1_000 && row.product < 10_000 && row.customer < 100_000);
            let Price::Whole(price) = row.price else { panic!("a price that is not whole") };
            prices[price as usize] = true;
            let data = row.data.unwrap();
            assert!((10..=20).contains(&data.len()), "{data}");
            assert!(data.starts_with(&"a".repeat(data.len() - data.len() * 3 / 8)), "{data}");
            let row = Row::new(Version::Tc, number);
            let Price::Float(price) = row.price else { panic!("a price that is whole") };
            let least = row.customer as f64 / 100.0;
            assert!(row.data.is_none() && (least..least + 5.0).contains(&price), "{price}");
        }
        assert!(prices.into_iter().all(|is_met| is_met));
        let mut last = String::new();
        Row::new(Version::Mc, ROWS_MAX - 1).time(&mut last);
        assert_eq!(last, "2026-01-24 03:33:19");
    }
}
