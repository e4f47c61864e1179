//! Nanoseconds a value for the usual forms of each type: `cargo bench -p inrush-values`.
//!
//! Values vary in length and digits as real columns do, so that branches are predicted no better
//! than in a load. The best of several rounds is shown.

#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use values::{Charset, ConvertOptions, Converter, SqlType, TextType, Zone};

/// Values in a round.
const COUNT: usize = 100_000;
/// Rounds; the fastest counts.
const ROUNDS: usize = 15;

/// A number below its argument.
type Random = dyn FnMut(u64) -> u64;

fn main() {
    let mut state = 1u64;
    let mut random = move |end: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let mut row = |make: &dyn Fn(&mut Random) -> String| -> Vec<String> {
        (0..COUNT).map(|_| make(&mut random)).collect()
    };
    let text = |collation: &str| TextType {
        charset: Charset::of_collation(collation).unwrap(),
        collation: collation.into(),
    };
    let latin1 = text("latin1_swedish_ci");
    let utf8 = text("utf8mb4_general_ci");

    let key = row(&|r| r(6_000_000).to_string());
    let long = row(&|r| (r(1 << 31) * (1 << 29) + r(1 << 29)).to_string());
    let small = row(&|r| r(7).to_string());
    let price = row(&|r| format!("{}.{:02}", 900 + r(100_000), r(100)));
    let percent = row(&|r| format!("0.{:02}", r(11)));
    let real = row(&|r| format!("{}.{:03}", r(100_000), r(1000)));
    let date = row(&|r| format!("{}-{:02}-{:02}", 1992 + r(7), 1 + r(12), 1 + r(28)));
    let clock = |r: &mut Random| format!("{:02}:{:02}:{:02}", 4 + r(20), r(60), r(60));
    let time = row(&|r| clock(r));
    let datetime =
        row(&|r| format!("{}-{:02}-{:02} {}", 1992 + r(7), 1 + r(12), 1 + r(28), clock(r)));
    let micros = row(&|r| format!("2024-01-{:02} {}.{:06}", 1 + r(28), clock(r), r(1_000_000)));
    let flag = row(&|r| ["A", "N", "R"][r(3) as usize].into());
    let mode = row(&|r| ["TRUCK", "MAIL", "REG AIR", "SHIP", "RAIL"][r(5) as usize].into());
    let words = row(&|r| "carefully ironic deposits sleep quickly"[..10 + r(29) as usize].into());
    let accents = row(&|r| format!("{}caf\u{e9} cr\u{e8}me", "x".repeat(r(20) as usize)));
    let json = row(&|r| format!("{{\"id\": {}, \"tags\": [\"a\", \"b\"]}}", r(10_000)));

    let int = |bytes, unsigned| SqlType::Integer { bytes, unsigned };
    let decimal = |precision, scale| SqlType::Decimal { precision, scale, unsigned: false };
    let labels: Vec<String> =
        ["AIR", "RAIL", "MAIL", "SHIP", "TRUCK", "REG AIR"].map(Into::into).into();
    let berlin = Zone::named("Europe/Berlin").unwrap();
    println!("{:42} ns a value", "");
    println!("{:42} {:6.1}", "(str::parse::<i64> of 10 digits: the yardstick)", yardstick());
    for (name, sql_type, values) in [
        ("INT, to 6 million", int(4, false), &key),
        ("BIGINT, 18 digits", int(8, false), &long),
        ("TINYINT", int(1, false), &small),
        ("DECIMAL(15,2), prices", decimal(15, 2), &price),
        ("DECIMAL(15,2), 0.0x", decimal(15, 2), &percent),
        ("DECIMAL(15,2), whole numbers", decimal(15, 2), &key),
        ("DECIMAL(30,10) (relaxed path)", decimal(30, 10), &price),
        ("DOUBLE", SqlType::Double { unsigned: false, digits: None }, &real),
        ("DATE", SqlType::Date, &date),
        ("DATE from a datetime (relaxed path)", SqlType::Date, &datetime),
        ("TIME", SqlType::Time { digits: 0 }, &time),
        ("DATETIME", SqlType::DateTime { digits: 0 }, &datetime),
        ("DATETIME(6)", SqlType::DateTime { digits: 6 }, &micros),
        ("TIMESTAMP in Europe/Berlin, one month", SqlType::Timestamp { digits: 6 }, &micros),
        ("TIMESTAMP in Europe/Berlin, seven years", SqlType::Timestamp { digits: 0 }, &datetime),
        ("CHAR(1) latin1", SqlType::Char { chars: 1, text: latin1.clone() }, &flag),
        ("CHAR(10) latin1", SqlType::Char { chars: 10, text: latin1.clone() }, &mode),
        ("CHAR(10) utf8mb4", SqlType::Char { chars: 10, text: utf8.clone() }, &mode),
        (
            "VARCHAR(44) latin1, 10 to 39 bytes",
            SqlType::VarChar { chars: 44, text: latin1 },
            &words,
        ),
        (
            "VARCHAR(44) utf8mb4, 10 to 39 bytes",
            SqlType::VarChar { chars: 44, text: utf8.clone() },
            &words,
        ),
        (
            "VARCHAR(44) utf8mb4, accents",
            SqlType::VarChar { chars: 44, text: utf8.clone() },
            &accents,
        ),
        ("ENUM of 6", SqlType::Enum { labels, text: utf8 }, &mode),
        ("JSON, 33 bytes", SqlType::json(), &json),
        ("JSON of MySQL, 33 bytes", SqlType::Document, &json),
    ] {
        let options = ConvertOptions { time_zone: berlin.clone(), ..ConvertOptions::default() };
        println!("{name:42} {:6.1}", measure(sql_type, &options, values));
    }
}

/// Time of the standard library for a number: shows how busy the machine is.
fn yardstick() -> f64 {
    let texts: Vec<String> =
        (0..COUNT as u64).map(|i| (1_000_000_000 + i * 7919).to_string()).collect();
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let sum: i64 = texts.iter().map(|text| black_box(text).parse::<i64>().unwrap()).sum();
        best = best.min(begun.elapsed().as_secs_f64());
        black_box(sum);
    }
    best * 1e9 / COUNT as f64
}

fn measure(sql_type: SqlType, options: &ConvertOptions, values: &[String]) -> f64 {
    let mut converter = Converter::new("v", &sql_type, options).unwrap();
    // As in a load, all fields lie in one buffer.
    let mut bytes = Vec::new();
    let ends: Vec<usize> = values
        .iter()
        .map(|value| {
            bytes.extend_from_slice(value.as_bytes());
            bytes.len()
        })
        .collect();
    let mut out = Vec::with_capacity(64 * COUNT);
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        out.clear();
        let begun = Instant::now();
        let mut start = 0;
        for &end in &ends {
            converter.convert(&bytes[start..end], &mut out).unwrap();
            start = end;
        }
        best = best.min(begun.elapsed().as_secs_f64());
        black_box(&out);
    }
    best * 1e9 / values.len() as f64
}
