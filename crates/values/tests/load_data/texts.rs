//! Texts to load: edge cases of each family of types, random ones, and both slightly damaged.

use crate::random::Random;

/// The family of a column's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Number,
    Clock,
    /// Characters; the column has about so many.
    Text(usize),
    /// Bytes of any value.
    Bytes(usize),
    Labels,
    Json,
    Uuid,
    Inet4,
    Inet6,
    /// Geometries, as MySQL stores them.
    Shapes,
    /// Vectors of MySQL, of about so many floats.
    Floats(usize),
}

impl Family {
    pub(crate) fn texts(self, extra: &[String], random: &mut Random) -> Vec<Vec<u8>> {
        let mut texts: Vec<Vec<u8>> = extra.iter().map(|text| text.clone().into_bytes()).collect();
        let (fixed, count) = match self {
            Family::Number => (NUMBERS, 2500),
            Family::Clock => (CLOCKS, 3500),
            Family::Text(_) | Family::Bytes(_) => (STRINGS, 1500),
            Family::Labels => (LABELS, 1500),
            Family::Json => (JSONS, 6000),
            Family::Uuid => (UUIDS, 2500),
            Family::Inet4 | Family::Inet6 => (ADDRESSES, 2500),
            Family::Shapes | Family::Floats(_) => (NO_SHAPES, 1500),
        };
        texts.extend(fixed.iter().map(|text| text.to_vec()));
        // Every byte alone, between and after: what counts as space, sign, point and delimiter.
        for byte in 0..=255u8 {
            texts.extend(around(self, byte));
        }
        let seeds = texts.clone();
        for _ in 0..count {
            let fresh = self.random(random);
            let text = if random.chance(2) {
                fresh
            } else if random.chance(2) {
                random.mutate(&fresh, self.alphabet())
            } else {
                let seed = random.below(seeds.len());
                random.mutate(&seeds[seed], self.alphabet())
            };
            texts.push(text);
        }
        texts
    }

    fn random(self, random: &mut Random) -> Vec<u8> {
        match self {
            Family::Number => number(random),
            Family::Clock => clock(random),
            Family::Text(size) => string(random, size),
            Family::Bytes(size) => {
                let size = random.below(2 * size + 2).min(400);
                (0..size).map(|_| random.pick(BYTES)[0]).collect()
            }
            Family::Labels => {
                let count = random.below(5);
                (0..count).map(|_| random.pick(LABELS)).collect::<Vec<_>>().join(b",".as_slice())
            }
            Family::Json => json(random, 4),
            Family::Uuid => uuid(random),
            Family::Inet4 => inet4(random),
            Family::Inet6 => inet6(random),
            Family::Shapes => {
                let srid = SRIDS[random.below(SRIDS.len())];
                [&srid.to_le_bytes()[..], &shape(random, None, 3)].concat()
            }
            Family::Floats(count) => {
                let count = random.below(count + 2);
                (0..count).flat_map(|_| *random.pick(FLOATS)).collect()
            }
        }
    }

    fn alphabet(self) -> &'static [&'static [u8]] {
        match self {
            Family::Number => NUMBER_PIECES,
            Family::Clock => CLOCK_PIECES,
            Family::Text(_) => CHARACTERS,
            Family::Bytes(_) | Family::Shapes | Family::Floats(_) => BYTES,
            Family::Labels => LABEL_PIECES,
            Family::Json => JSON_PIECES,
            Family::Uuid => UUID_PIECES,
            Family::Inet4 | Family::Inet6 => ADDRESS_PIECES,
        }
    }
}

/// A byte before, in and behind a good value.
fn around(family: Family, byte: u8) -> Vec<Vec<u8>> {
    let join = |parts: &[&[u8]]| parts.concat();
    let b = &[byte][..];
    match family {
        Family::Number => {
            vec![b.to_vec(), join(&[b, b"12"]), join(&[b"12", b]), join(&[b"1", b, b"2"])]
        }
        Family::Clock => vec![
            join(&[b"2024", b, b"11", b, b"12"]),
            join(&[b"2024-11-12", b, b"10:11:12"]),
            join(&[b"2024-11-12 10", b, b"11", b, b"12"]),
            join(&[b"10:11:12", b]),
            join(&[b, b"10:11:12"]),
            join(&[b"2024-11-12 10:11:12", b, b"345678"]),
            join(&[b"2024-11-12", b]),
            join(&[b, b"2024-11-12"]),
            join(&[b"11", b, b"12", b, b"13"]),
            join(&[b"1", b, b"12"]),
            join(&[b"1", b, b"10:11:12"]),
            join(&[b"101112", b, b"5"]),
            join(&[b"20241112", b, b"101112"]),
        ],
        Family::Shapes => {
            let zeros = [0u8; 16];
            vec![
                b.to_vec(),
                join(&[b"\0\0\0\0", b, b"\x01\0\0\0", &zeros]),
                join(&[b"\0\0\0\0\x01", b, b"\0\0\0", &zeros]),
                join(&[b, b"\0\0\0\x01\x01\0\0\0", &zeros]),
                join(&[b"\0\0\0\0\x01\x01\0\0\0", &zeros, b]),
                join(&[b"\0\0\0\0\x01\x02\0\0\0", b, b"\0\0\0", &zeros, &zeros]),
            ]
        }
        Family::Floats(_) => {
            vec![b.to_vec(), join(&[b"\0\0\0", b]), join(&[b"\0\0", b, b"\x7f"]), [b; 12].concat()]
        }
        Family::Text(size) | Family::Bytes(size) => vec![
            b.to_vec(),
            [vec![b'x'; size], b.to_vec()].concat(),
            [vec![b'x'; size.saturating_sub(1)], b.to_vec()].concat(),
            [b.to_vec(), vec![b' '; size + 1]].concat(),
        ],
        Family::Labels => {
            vec![b.to_vec(), join(&[b"red", b]), join(&[b, b"red"]), join(&[b"1", b])]
        }
        Family::Uuid => vec![
            b.to_vec(),
            join(&[b, UUIDS[0]]),
            join(&[UUIDS[0], b]),
            join(&[b"123e4567", b, b"e89b-12d3-a456-426614174000"]),
            join(&[b"123e4567-e89b-12d3-a456-42661417400", b]),
        ],
        Family::Inet4 | Family::Inet6 => vec![
            b.to_vec(),
            join(&[b"1.2.3.4", b]),
            join(&[b, b"1.2.3.4"]),
            join(&[b"1.2", b, b"3.4"]),
            join(&[b"::1", b]),
            join(&[b, b"::1"]),
            join(&[b"1:2", b, b"3::4"]),
            join(&[b"::1.2.3.4", b]),
            join(&[b"1::", b]),
        ],
        Family::Json => vec![
            join(&[b"\"a", b, b"\""]),
            join(&[b"\"\\", b, b"\""]),
            join(&[b"{", b, b"\"a\"", b, b":", b, b"1", b, b"}", b]),
            join(&[b"{\"", b, b"\":1}"]),
            join(&[b"{\"a", b, b"\":1}"]),
            join(&[b"[1", b, b"]"]),
            join(&[b"[-", b, b"]"]),
            join(&[b"1", b]),
            join(&[b, b"1"]),
        ],
    }
}

#[rustfmt::skip]
const NUMBERS: &[&[u8]] = &[
    b"", b" ", b"0", b"-0", b"+0", b"00", b"0000", b"000000000000000000000000000000", b"1", b"-1",
    b"9", b"10", b"99", b"100", b"127", b"128", b"-128", b"-129", b"255", b"256", b"32767",
    b"32768", b"-32768", b"-32769", b"65535", b"65536", b"8388607", b"8388608", b"-8388608",
    b"-8388609", b"16777215", b"16777216", b"2147483647", b"2147483648", b"-2147483648",
    b"-2147483649", b"4294967295", b"4294967296", b"9223372036854775807", b"9223372036854775808",
    b"-9223372036854775808", b"-9223372036854775809", b"18446744073709551614",
    b"18446744073709551615", b"18446744073709551616", b"18446744073709551619",
    b"18446744073709551620", b"-18446744073709551615", b"99999999999999999999", b"127.4", b"127.5",
    b"-128.4", b"-128.5", b"255.4", b"255.5", b"-0.4", b"-0.5", b"-0.6", b"9223372036854775807.4",
    b"9223372036854775807.5", b"18446744073709551615.4", b"18446744073709551615.5",
    b"1844674407370955161.54", b"1844674407370955161.55", b"1844674407370955161.9e1",
    b"184467440737095516155e-1", b"184467440737095516145e-1", b"9999999999999999999e-19",
    b"9999999999999999999e-20", b"4999999999999999999e-19", b"5000000000000000000e-19",
    b"99999999999999999999e-1", b"1e0", b"1e1", b"1E2", b"1e+2", b"1e-2", b"1e", b"1e+", b"1e-",
    b"1e ", b"1e x", b"1e 2", b"1e\t2", b"1 e2", b"e1", b".e1", b"1.e1", b".1e1", b"1e1.5", b"1e19",
    b"1e20", b"1e21", b"1e400", b"-1e400", b"0e400", b"1e-400", b"1e99999999999999999999",
    b"1e-99999999999999999999", b"0e99999999999999999999", b"0e-99999999999999999999",
    b"1e9223372036854775807", b"1e9223372036854775808", b"1e18446744073709551615",
    b"1e18446744073709551616", b"1e-9223372036854775808", b"1e-9223372036854775809",
    b"0e18446744073709551616", b"1e1073741823", b"1e1073741824", b"1e-1073741824", b"1e-1073741825",
    b"1e2147483647", b"1e4294967297", b".", b"-", b"+", b"-.", b"+.5", b"-.5", b"5.", b"..5",
    b"5..", b"1.2.3", b"1,5", b"1_000", b"--1", b"+-1", b"- 1", b"0x10", b"0b1", b"x'10'", b"inf",
    b"Infinity", b"nan", b"NULL", b"true", b"1a", b"a1", b"12abc", b" 12", b"12 ", b"\t12\t",
    b"\n12\n", b"12 x", b"1 2", b"3.4028234663852886e38", b"3.4028235e38", b"3.402823567e38",
    b"3.4028236e38", b"-3.4028235e38", b"1e38", b"1e39", b"1.7976931348623157e308",
    b"1.7976931348623158e308", b"1.7976931348623159e308", b"1e308", b"1e309", b"4.9e-324",
    b"2.4e-324", b"2.5e-324", b"2.2250738585072014e-308", b"2.2250738585072011e-308", b"1.4e-45",
    b"7e-46", b"1.17549435e-38", b"0.1", b"0.2", b"0.3", b"16777217", b"9007199254740993",
    b"123456789012345678901234567890", b"1.005", b"2.675", b"0.5", b"1.5", b"2.5", b"-2.5", b"0.05",
    b"0.005", b"-0.005", b"-0.004", b"99.994", b"99.995", b"99.99", b"999.999", b"0.999999999",
    b"9.9999999999", b"70", b"69", b"1900", b"1901", b"2155", b"2156", b"2155.4", b"2155.5", b"000",
    b"0.0", b"0000.0", b"00000", b" 000", b"000 ", b"0.000000000000000000000000000000000000005",
    b"0.00000000000000000000000000000000000001",
];

#[rustfmt::skip]
const NUMBER_PIECES: &[&[u8]] = &[
    b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"9", b"9", b"5", b".", b"-", b"+", b"e",
    b"E", b" ", b"\t", b"x", b"00", b"99", b"\xa0", b",",
];

fn number(random: &mut Random) -> Vec<u8> {
    let mut text = String::from(random.pick(&["", "", "", "-", "-", "+", " ", "  -"]));
    let long = if random.chance(3) { 90 } else { 12 };
    match random.below(4) {
        0 => text += &random.digits(1, long),
        1 => text = text + &random.digits(0, 8) + "." + &random.digits(0, 8),
        2 => text = text + &random.digits(1, long) + "." + &random.digits(0, long),
        _ => text = text + "0." + &random.digits(1, 50),
    }
    if random.chance(4) {
        text += random.pick(&["e", "E", "e+", "e-"]);
        let digits = if random.chance(4) { 4 } else { 2 };
        text += &random.digits(1, digits);
    }
    text += random.pick(&["", "", "", "", " ", "  ", "0"]);
    text.into_bytes()
}

#[rustfmt::skip]
const CLOCKS: &[&[u8]] = &[
    b"", b" ", b"0", b"00", b"000000", b"00000000", b"0000-00-00", b"0000-00-00 00:00:00",
    b"0000-00-00 00:00:00.5", b"0000-00-00 00:00:01", b"0-0-0", b"0000-01-01", b"0000-00-01",
    b"0000-01-00", b"0001-01-01", b"2024-00-00", b"2024-01-00", b"2024-00-01",
    b"2024-00-00 10:11:12", b"2024-02-29", b"2023-02-29", b"1900-02-29", b"2000-02-29",
    b"0000-02-29", b"0004-02-29", b"2024-02-30", b"2024-02-31", b"2024-04-31", b"2024-13-01",
    b"2024-12-32", b"9999-12-31", b"10000-01-01", b"9999-12-31 23:59:59", b"9999-12-31 23:59:59.9",
    b"9999-12-31 23:59:59.999999", b"9999-12-31 23:59:59.9999995", b"9999-12-31 23:59:59.9999994",
    b"2024-12-31 23:59:59.999999", b"2024-12-31 23:59:59.9999999", b"2024-02-29 23:59:59.5",
    b"2023-02-28 23:59:59.5", b"2024-02-31 23:59:59.5", b"2024-00-00 23:59:59.5",
    b"0000-00-00 23:59:59.5", b"2024-01-01 10:11:12.5", b"2024-01-01 10:11:12.49",
    b"2024-01-01 10:11:12.123456", b"2024-01-01 10:11:12.1234567", b"2024-01-01 10:11:12.1234564",
    b"2024-01-01 10:11:12.1234565", b"2024-01-01 10:11:12.4999995", b"2024-01-01 10:11:12.4999994",
    b"2024-01-01 10:11:12.", b"2024-01-01 10:11:12.x", b"2024-01-01 10:11:12.5x",
    b"2024-01-01 10:11:12.5 ", b"2024-01-01T10:11:12", b"2024-01-01t10:11:12",
    b"2024-01-01  10:11:12", b"2024-01-01\t10:11:12", b"2024-01-01T 10:11:12",
    b"2024-01-01 T10:11:12", b"2024-01-01T", b"2024-01-01 ", b"2024-01-01x", b"2024-01-01 x",
    b"2024-01-01 10", b"2024-01-01 10:", b"2024-01-01 10:11", b"2024-01-01 10:11:",
    b"2024-01-01 10.11.12", b"2024-01-01 10-11-12", b"2024-01-01 101112", b"2024-01-01 24:00:00",
    b"2024-01-01 23:60:00", b"2024-01-01 23:59:60", b"2024-01-01 10:11:12Z",
    b"2024-01-01 10:11:12+01:00", b"2024-01-01T10:11:12Z", b"2024-1-1", b"24-1-1", b"4-1-1",
    b"69-1-1", b"70-1-1", b"99-12-31", b"00-01-01", b"00-00-00", b"00-00-01", b"000-01-01",
    b"024-01-01", b"20240101", b"240101", b"2024", b"202401", b"20240101101112", b"240101101112",
    b"20240101T101112", b"20240101101112.5", b"240101101112.5", b"20240101.5", b"240101.5",
    b"20240101 101112", b"2024010110111", b"202401011011", b"2024010110", b"1", b"12", b"123",
    b"1234", b"12345", b"123456", b"1234567", b"12345678", b"123456789", b"2024.01.01",
    b"2024/01/01", b"2024@01@01", b"2024--01-01", b"2024-01--01", b"-2024-01-01", b"+2024-01-01",
    b" 2024-01-01", b"2024:01:01", b"2024:01:01 10:11:12", b"11:12:13", b"11:12:13.14.15.16",
    b"10:11:12", b"1:2:3", b"10:11", b"10:11:12.5", b"10:11:12.123456789", b"-10:11:12",
    b"- 10:11:12", b"+10:11:12", b"838:59:59", b"838:59:59.5", b"838:59:59.999999",
    b"838:59:59.9999999", b"-838:59:59.999999", b"839:00:00", b"-839:00:00", b"838:60:00",
    b"100:00:00", b"24:00:00", b"24:02:03", b"24:60:03", b"31:12:12", b"32:12:12", b"99:12:31",
    b"12:13:14T", b"12:13:14 x", b"1 10:11:12", b"1 10:11", b"1 10", b"34 22:59:59", b"34 23:59:59",
    b"35 00:00:00", b"-1 10:11:12", b"1  10:11:12", b"1 10:11:12.5", b"1  1", b"1-1-1 1:1:1",
    b"1-1-1", b"1 1-1", b"10:11:12:13", b"10:11:12 13", b"10 11 12", b"101112", b"-101112", b"1011",
    b"5", b"59", b"60", b"99", b"8385959", b"8385960", b"8390000", b"101112.5", b"5.5", b"-0.5",
    b".5", b"10:11:12e5", b"5e3", b"5e+3", b"5e", b"00:00:00", b"-00:00:00", b"-00:00:00.5",
    b"-00:00:00.000001", b"42949672955958", b"42949672955959", b"4294967295:59:59",
    b"4294967296:59:59", b"0000-00-00 10:11:12", b"0000-00-03 10:11:12", b"0000-01-03 10:11:12",
    b"0000-00-40 10:11:12", b"1970-01-01 00:00:00", b"1970-01-01 00:00:00.5",
    b"1970-01-01 00:00:01", b"1969-12-31 23:59:59", b"1970-01-01 01:00:00", b"1970-01-01 01:00:01",
    b"1970-01-01 02:00:00", b"2038-01-19 03:14:07", b"2038-01-19 03:14:07.9",
    b"2038-01-19 03:14:07.999999", b"2038-01-19 03:14:08", b"2038-01-19 04:14:07",
    b"2038-01-19 04:14:08", b"2038-01-18 22:14:07", b"2038-01-18 22:14:08", b"2024-03-31 01:59:59",
    b"2024-03-31 02:00:00", b"2024-03-31 02:30:00", b"2024-03-31 02:59:59.5",
    b"2024-03-31 01:59:59.9", b"2024-03-31 03:00:00", b"2024-10-27 01:59:59",
    b"2024-10-27 02:00:00", b"2024-10-27 02:30:00", b"2024-10-27 02:59:59", b"2024-10-27 03:00:00",
    b"2024-03-10 02:30:00", b"2024-11-03 01:30:00", b"1980-04-06 00:30:00", b"2011-12-30 12:00:00",
    b"abc", b"now", b"NULL", b"2024-Jan-01",
];

#[rustfmt::skip]
const CLOCK_PIECES: &[&[u8]] = &[
    b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"9", b"0", b"1", b"-", b":", b".", b" ", b"T", b"/",
    b"-", b":", b"00", b"59", b"60", b"e", b"x", b"+", b"\t", b"\xa0", b"\xb7", b"\xc3",
];

fn clock(random: &mut Random) -> Vec<u8> {
    let mut text = String::from(random.pick(&["", "", "", "", "", " ", "-"]));
    let two = |random: &mut Random, end: usize| match random.below(12) {
        0 => format!("{}", random.below(end)),
        1 => format!("{:02}", random.below(100)),
        2 => "00".into(),
        _ => format!("{:02}", random.below(end)),
    };
    if random.chance(4) {
        // A time, perhaps behind days.
        if random.chance(4) {
            text += &format!("{} ", random.below(40));
        }
        text += &match random.below(4) {
            0 => format!("{}", random.below(900)),
            _ => two(random, 24),
        };
        let colon = if random.chance(8) { "" } else { ":" };
        for _ in 0..random.below(3) {
            text = text + colon + &two(random, 60);
        }
    } else {
        let year = match random.below(8) {
            0 => format!("{:04}", random.below(10_000)),
            1 => format!("{:02}", random.below(100)),
            2 => "0000".into(),
            _ => format!("{}", 1968 + random.below(72)),
        };
        let dash = *random.pick(&[&"-", &"-", &"-", &"-", &"", &"/", &"."]);
        text = text + &year + dash + &two(random, 13) + dash + &two(random, 32);
        if !random.chance(3) {
            text += random.pick(&[" ", " ", " ", "T", "  ", "-", ""]);
            let colon = *random.pick(&[&":", &":", &":", &":", &"", &"."]);
            text = text + &two(random, 24) + colon + &two(random, 60) + colon + &two(random, 60);
        }
    }
    if random.chance(3) {
        text = text + "." + &random.digits(0, 8);
    }
    text += random.pick(&["", "", "", "", "", "", " ", "x"]);
    text.into_bytes()
}

#[rustfmt::skip]
const STRINGS: &[&[u8]] = &[
    b"", b" ", b"  ", b"a", b"a ", b"abc", b"abc   ", b"abcd", b"abcde", b"abcdef", b"abcdefg",
    b"abcde     ", b"abcde\t\n", b"abcde x", b"     ", b"      ", b"\0", b"a\0", b"abcde\0",
    "\u{e9}".as_bytes(), "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}".as_bytes(),
    "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}".as_bytes(), "\u{20ac}\u{20ac}\u{20ac}".as_bytes(),
    "\u{20ac}\u{20ac}\u{20ac}\u{20ac}\u{20ac}  ".as_bytes(), "\u{1f600}".as_bytes(),
    "\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}".as_bytes(), "\u{a0}".as_bytes(),
    "abcde\u{a0}".as_bytes(), "\u{20ac} ".as_bytes(), "\u{20ac}    ".as_bytes(),
    "a\u{20ac}  ".as_bytes(), "\u{e9} a  ".as_bytes(), "\u{e9}    ".as_bytes(),
    "\u{81}\u{8d}\u{8f}\u{90}\u{9d}".as_bytes(), "\u{0}\u{7f}\u{80}\u{9f}\u{ff}".as_bytes(),
    "\u{152}\u{178}\u{192}\u{2dc}\u{2122}".as_bytes(), "\u{3b1}".as_bytes(), "\u{ffff}".as_bytes(),
    b"\xff", b"\xfe\xff", b"\xc3", b"a\xc3", b"\xc3a", b"\xe2\x82", b"\xe2\x82a", b"\xf0\x9f\x98",
    b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xc0\x80", b"\xe0\x80\x80", b"\xf4\x90\x80\x80",
    b"\xf5\x80\x80\x80", b"abcde\xff", b"abcde\xc3", b"abcde\xe2\x82", b"abcd\xc3", b"abcd\xc3\xa9",
    b"abcde\xa0", b"\x80\x81\x8d\x9f\xa0",
];

/// Characters, whole and broken.
#[rustfmt::skip]
const CHARACTERS: &[&[u8]] = &[
    b"a", b"b", b"Z", b" ", b" ", b"0", b"\t", b"\n", b"\0", b"\x7f", b"\xc3\xa9", b"\xc3\xa9",
    b"\xe2\x82\xac", b"\xf0\x9f\x98\x80", b"\xc2\xa0", b"\xce\xb1", b"\xc5\x92", b"\xff", b"\xc3",
    b"\xe2\x82", b"\x80", b"\xa0",
];

#[rustfmt::skip]
const BYTES: &[&[u8]] = &[
    b"\0", b"\0", b"\x01", b"\x02", b"\x03", b"\x07", b"\x1f", b"\x7f", b"\x80", b"\xff", b" ",
    b"a", b"1", b"0", b"\t", b"\n", b",", b"\\",
];

const NO_SHAPES: &[&[u8]] =
    &[b"", b"\0\0\0\0", b"POINT(1 2)", b"[1,2,3]", b"0x0000803f", b"abcd", b"        "];
const SRIDS: [u32; 6] = [0, 0, 4326, 3857, 999_999, u32::MAX];
const NUMBERS_OF_SHAPES: [f64; 8] =
    [0.0, -0.0, 1.0, 1.5, -180.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE];
const FLOATS: &[&[u8; 4]] = &[
    &1f32.to_le_bytes(),
    &(-0f32).to_le_bytes(),
    &3f32.to_le_bytes(),
    &f32::MAX.to_le_bytes(),
    &f32::NAN.to_le_bytes(),
    &f32::NEG_INFINITY.to_le_bytes(),
    b"\x01\0\0\0",
    b"abcd",
    b",\n\\\t",
];

/// A shape of the kind of this number, or of one that fits it, at most so deep; now and then a bad one.
fn shape(random: &mut Random, kind: Option<u32>, depth: usize) -> Vec<u8> {
    let kind = kind.unwrap_or_else(|| 1 + random.below(if depth == 0 { 3 } else { 7 }) as u32);
    let kind = if random.chance(60) { random.below(12) as u32 } else { kind };
    let order = if random.chance(60) { random.below(3) as u8 } else { 1 };
    let positions = |random: &mut Random, count: usize| {
        let number = |_| NUMBERS_OF_SHAPES[random.below(NUMBERS_OF_SHAPES.len())].to_le_bytes();
        (0..2 * count).flat_map(number).collect::<Vec<u8>>()
    };
    let line = |random: &mut Random, min: usize| {
        let count = if random.chance(15) { random.below(min) } else { min + random.below(3) };
        [&(count as u32).to_le_bytes()[..], &positions(random, count)].concat()
    };
    let rest = match kind {
        1 => positions(random, 1),
        2 => line(random, 2),
        _ => {
            let count = if random.chance(12) { 0 } else { 1 + random.below(3) };
            let mut rest = (count as u32).to_le_bytes().to_vec();
            for _ in 0..count {
                rest.extend(match kind {
                    3 => line(random, 4),
                    4..=6 => shape(random, Some(kind - 3), 0),
                    _ => shape(random, None, depth.saturating_sub(1)),
                });
            }
            rest
        }
    };
    [&[order][..], &kind.to_le_bytes(), &rest].concat()
}

fn string(random: &mut Random, size: usize) -> Vec<u8> {
    let whole = if random.chance(4) { CHARACTERS } else { &CHARACTERS[..17] };
    let plain = random.chance(3);
    let size = if size > 20 && random.chance(2) { size / 3 } else { size };
    let size = (random.below(size + 3) + if random.chance(2) { size / 2 } else { 0 }).min(400);
    let mut text = Vec::new();
    for _ in 0..size {
        text.extend_from_slice(if plain { b"x" } else { random.pick(whole) });
    }
    text.resize(text.len() + random.below(4), b' ');
    text
}

#[rustfmt::skip]
const LABELS: &[&[u8]] = &[
    b"", b" ", b"red", b"Red", b"RED", b"red ", b" red", b"green", b"Green", b"blue", b"BLUE ",
    b"a b", b"A B", b"7", b"x7", b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"01", b"+1", b"-1",
    b" 1", b"1 ", b"1.0", b"1e0", b"00001", b"000001", b"8", b"9", b"31", b"32", b"63", b"64",
    b"65", b"127", b"128", b"255", b"256", b"65535", b"65536", b"99999", b"4294967295",
    b"4294967296", b"18446744073709551615", b"18446744073709551616", b"9223372036854775807",
    b"9223372036854775808", b"-0", b"-2", b",", b",,", b"red,", b",red", b"red,blue", b"red,red",
    b"blue,green,red", b"red ,blue", b"red, blue", b"red,blue ", b"red,pink", b"pink",
    b"pink,purple,and,other,colours", b"yellow", b"re", b"redd", b"                              ",
    b"                         x", "\u{e9}t\u{e9}".as_bytes(), "\u{c9}T\u{c9}".as_bytes(), b"ete",
    b"ETE", "\u{3b1}".as_bytes(), "\u{1f600}".as_bytes(), b"\xff", b"label300", b"LABEL300",
    b"label301", b"label1", b"300", b"301", b"m1", b"m64", b"m1,m64", b"m65",
];

#[rustfmt::skip]
const LABEL_PIECES: &[&[u8]] =
    &[
    b"r", b"e", b"d", b"D", b",", b",", b" ", b"1", b"2", b"0", b"b", b"-", b"\t", b"\xc3\xa9",
];

#[rustfmt::skip]
const UUIDS: &[&[u8]] = &[
    b"123e4567-e89b-12d3-a456-426614174000", b"123E4567-E89B-12D3-A456-426614174000", b"",
    b"123e4567e89b12d3a456426614174000", b"12-3e4567e89b12d3a45642661417400-0",
    b"0190163d-8694-739b-aea5-966c26f8ad91", b"1ef21d2f-1207-6660-8c4f-419efbd44d48",
    b"00000000-0000-0000-0000-000000000000", b"ffffffff-ffff-ffff-ffff-ffffffffffff",
    b"00000000-0000-8000-0000-000000000000", b"00000000-0000-8000-0100-000000000000",
    b"00000000-0000-8000-8000-000000000000", b"00000000-0000-8000-8100-000000000000",
    b"00000000-0000-0001-8000-000000000000", b"00000000-0000-0100-8000-000000000000",
    b"00000000-0000-5fff-8000-000000000000", b"00000000-0000-6000-8000-000000000000",
    b"00000000-0000-5fff-7fff-000000000000", b"00000000-0000-ff00-7fff-000000000000",
    b"-123e4567e89b12d3a456426614174000", b"123e4567e89b12d3a456426614174000-",
    b"{123e4567-e89b-12d3-a456-426614174000}", b"123e4567-e89b-12d3-a456-4266141740000",
    b"123e4567-e89b-12d3-a456-42661417400", b"1--2---3e4567e89b12d3a456426614174000",
];

const UUID_PIECES: &[&[u8]] = &[b"0", b"1", b"8", b"f", b"A", b"-", b"-", b"--", b"g", b" ", b"\0"];

fn uuid(random: &mut Random) -> Vec<u8> {
    let mut text = String::new();
    for place in 0..32 {
        text += match (place, random.below(4)) {
            (12, 0) => "7",
            (12, 1) => "1",
            (16, 0 | 1) => "8",
            (_, 0) if text.len() < 16 => "0",
            _ => random.pick(&["0", "1", "2", "5", "7", "8", "9", "a", "C", "f"]),
        };
        let usual = matches!(place, 7 | 11 | 15 | 19);
        text += if usual && !random.chance(20) || random.chance(200) { "-" } else { "" };
    }
    text.into_bytes()
}

#[rustfmt::skip]
const ADDRESSES: &[&[u8]] = &[
    b"", b"0", b"::", b"::1", b"1::", b":", b":1", b"1:", b":::", b"1:::2", b"1::2::3", b"::1::",
    b"0.0.0.0", b"255.255.255.255", b"001.002.003.004", b"256.1.1.1", b"1.2.3", b"1.2.3.", b".1.2.3",
    b"1.2.3.4.5", b"1.2.3.0004", b"1..2.3", b"1.2.3.4\0", b"1.2.3.4\0x", b"1.2\0.3.4", b"1.2.3.4 ",
    b" 1.2.3.4", b"::\0", b"::1\0:", b"1:\0", b"::1.2.3.4\0zz", b"::ffff:1.2.3.4", b"::1.2.3.4",
    b"1:2:3:4:5:6:1.2.3.4", b"1:2:3:4:5:6:7:1.2.3.4", b"1:2:3:4:5:6:7:8", b"1:2:3:4:5:6:7:8:9",
    b"1:2:3:4:5:6:7", b"1:2:3:4::5:6:7:8", b"1:2:3:4:5:6:7::", b"::2:3:4:5:6:7:8", b"12345::",
    b"2001:db8::8a2e:370:7334", b"2001:DB8::8A2E", b"::a.1.2.3", b"::12345.1.2.3", b"::.1.2.3",
    b"1.2.3.4::", b"::1.2.3.4:5", b"::1.2.3.4.5", b"::g", b"[::1]", b"::1/64", b"fe80::1%eth0",
    b"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", b"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    b"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff0", b"ffff:ffff:ffff:ffff:ffff:ffff:1.2.3.4",
    b"0000:0000:0000:0000:0000:ffff:1.2.3.4", b"::00001", b"0::0", b"0:0:0:0:0:0:0:0",
];

const ADDRESS_PIECES: &[&[u8]] = &[
    b"0", b"1", b"255", b"256", b"f", b":", b":", b"::", b".", b".", b"g", b" ", b"\0", b"1.2.3.4",
];

fn inet4(random: &mut Random) -> Vec<u8> {
    let parts: Vec<String> = (0..4)
        .map(|_| match random.below(12) {
            0 => format!("{:03}", random.below(100)),
            1 => format!("{}", random.below(300)),
            _ => format!("{}", random.below(256)),
        })
        .collect();
    parts.join(".").into_bytes()
}

fn inet6(random: &mut Random) -> Vec<u8> {
    let groups = if random.chance(2) { 8 } else { random.below(9) };
    let ends_in_inet4 = random.chance(4);
    let gap = if groups < 8 && !random.chance(10) { random.below(groups + 1) } else { 9 };
    let mut text = String::new();
    for group in 0..groups {
        if group == gap {
            text += "::";
        } else if group > 0 {
            text += ":";
        }
        text += &match random.below(8) {
            0 => format!("{:04x}", random.below(65_536)),
            1 => "0".to_owned(),
            2 => format!("{:X}", random.below(65_536)),
            _ => format!("{:x}", random.below(65_536)),
        };
    }
    text += if gap == groups { "::" } else { "" };
    let mut text = text.into_bytes();
    if ends_in_inet4 {
        text.extend_from_slice(if text.ends_with(b":") { b"" } else { b":" });
        text.extend(inet4(random));
    }
    text
}

#[rustfmt::skip]
const JSONS: &[&[u8]] = &[
    b"", b" ", b"null", b"true", b"false", b"1", b"-1", b"1.5", b"1e5", b"\"a\"", b"[]", b"{}",
    b"[1,2]", b"{\"a\":1}", b"{\"a\":{\"b\":[1,2,{\"c\":null}]}}", b"  [ 1 , 2 ] ", b"[1,]", b"[,]",
    b"{\"a\":1,}", b"{a:1}", b"{\"a\" 1}", b"{\"a\":}", b"{1:1}", b"01", b"-", b"[-]", b"[-,1]",
    b"[1.]", b"[1.e1]", b"[1e]", b"[1e+]", b"[0e1]", b"0e1", b"-0e1", b"[-0e1]", b"-0e", b"0e",
    b"[0e]", b"[-0e]", b"[00]", b"[-0]", b"[-01]", b"{\"a\":-}", b"{\"a\":1e}", b"-0", b"-0.0",
    b"1.", b"1e", b"1e+", b"1e+5", b"1e5.5", b"1.2.3", b".5", b"+1", b"1 2", b"1,2", b"[1 2]",
    b"tru", b"truee", b"TRUE", b"nul", b"\"a", b"\"\\\"", b"\"\\q\"", b"\"\\u12\"", b"\"\\u00e9\"",
    b"\"\\ud83d\"", b"\"\\ud83d\\ude00\"", b"\"\\ud83dx\"", b"\"\\ud83d\\n\"", b"\"\\ude00\"",
    b"\"\\ud83d\\ud83d\"", b"\"\\U00e9\"", b"\"\\u00E9\"", b"\"\\u00g9\"", b"{\" a\":1}",
    b"{\"\ta\":1}", b"{\"a\t\":1}", b"{\"\":1}", b"{\" \":1}", b"{\"\\\"\":1}", b"{\"\\u0041\":1}",
    b"{\"\\\\\":1}", b"{\"\xc3\xa9\":1}", b"{\"a\":1,\"a\":2}", b"{\"a\":1 \"b\":2}",
    b"[\"a\",\"b\"]", b"[\"a\" \"b\"]", b"[[[[]]]]", b"[}", b"{]", b"[1}", b"{\"a\":1]",
    b"\xef\xbb\xbf{}", b"\"\xc3\xa9\"", b"\"\xf0\x9f\x98\x80\"", b"\xc3\xa9", b"[1\xc3\xa9]",
    b"/* c */ 1", b"1 // c", b"'a'", b"[1]]", b"[[1]", b"{}{}", b"\"a\"\"b\"", b"null null",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
    b"{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":\
      {\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":\
      {\"a\":{\"a\":1}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}",
];

#[rustfmt::skip]
const JSON_PIECES: &[&[u8]] = &[
    b"[", b"]", b"{", b"}", b"\"", b"\\", b",", b":", b"1", b"0", b"-", b".", b"e", b"+", b"a",
    b"u", b" ", b"\t", b"\n", b"null", b"true", b"false", b"\"a\":", b"\\u", b"d800", b"\xc3\xa9",
    b"\xff", b"\x01", b"\x1f", b"\x7f", b"/", b"f",
];

fn json(random: &mut Random, depth: usize) -> Vec<u8> {
    let space =
        |random: &mut Random| random.pick(&["", "", "", " ", "\n", "\t "]).as_bytes().to_vec();
    let mut text = space(random);
    match random.below(if depth == 0 { 5 } else { 9 }) {
        0 => text.extend_from_slice(random.pick(&[b"null", b"true", b"false".as_slice()])),
        1 | 2 => {
            let number = random.pick(&[
                "0",
                "-0",
                "1",
                "12",
                "-7",
                "1.5",
                "0.5",
                "1e5",
                "1E-5",
                "-1.25e+10",
                "100",
                "2.",
            ]);
            text.extend_from_slice(number.as_bytes());
        }
        3 | 4 => text.extend_from_slice(random.pick(&[
            b"\"\"",
            b"\"a\"",
            b"\"a b\"",
            b"\"\\n\\t\\\\\\/\"",
            b"\"\\u00e9\"",
            b"\"\\ud83d\\ude00\"",
            b"\"\xc3\xa9\xf0\x9f\x98\x80\"".as_slice(),
        ])),
        kind => {
            let object = kind >= 7;
            text.push(if object { b'{' } else { b'[' });
            for i in 0..random.below(4) {
                if i > 0 {
                    text.push(b',');
                }
                if object {
                    text.extend(space(random));
                    text.extend_from_slice(random.pick(&[
                        b"\"a\"",
                        b"\"key\"",
                        b"\"\\\"\"".as_slice(),
                    ]));
                    text.extend(space(random));
                    text.push(b':');
                }
                text.extend(json(random, depth - 1));
            }
            text.extend(space(random));
            text.push(if object { b'}' } else { b']' });
        }
    }
    text.extend(space(random));
    text
}
