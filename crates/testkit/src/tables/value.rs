//! Random values as the text of a file: good ones, and some that a strict server refuses.

use values::Charset;

use crate::Random;
use crate::tables::column::{Column, Kind};
use crate::tables::shape;
use crate::tables::text::encode;

/// A field: NULL, or its bytes before quoting and escaping.
pub(crate) type Field = Option<Vec<u8>>;

impl Column {
    /// A value that the column takes, written in the character set of the file.
    pub(crate) fn value(&self, random: &mut Random, file: Charset) -> Vec<u8> {
        let number = random.below(self.spread);
        let text = match &self.kind {
            Kind::Integer { bytes, unsigned } => self.integer(random, *bytes, *unsigned),
            Kind::Decimal { precision, scale, unsigned } => {
                let whole = random.below(precision - scale + 1).min(number.ilog10_or_0() + 1);
                let sign = random.pick(if *unsigned { &["", "+"] } else { &["", "-", "-", "+"] });
                let point = if *scale > 0 { "." } else { "" };
                let digits = digits(random, whole) + point + &digits(random, *scale);
                let digits = if digits.is_empty() || digits == "." { "0".into() } else { digits };
                sign.to_owned() + &digits
            }
            Kind::Real { digits: Some(_), unsigned, .. } => {
                let sign = if !unsigned && random.chance(3) { "-" } else { "" };
                format!(
                    "{sign}{}.{:03}",
                    random.below(self.spread.min(999_999)),
                    random.below(1000)
                )
            }
            Kind::Real { unsigned, double, .. } => {
                let sign = if !unsigned && random.chance(3) { "-" } else { "" };
                let exponent_max = if *double { 300 } else { 37 };
                sign.to_owned()
                    + &match random.below(6) {
                        0 => "0".to_owned(),
                        1 => format!("{}e{}", random.below(10), random.below(exponent_max)),
                        2 => format!("{}e-{}", random.below(10), random.below(exponent_max)),
                        3 => format!("0.{}", number),
                        _ => format!("{}", number as f64 / 8.0),
                    }
            }
            Kind::Date => match random.below(30) {
                0 => "0000-00-00".to_owned(),
                1 => self.date(random).replace('-', ""),
                _ => self.date(random),
            },
            Kind::Time => {
                let sign = random.pick(&["", "", "-"]);
                let hours = number % random.pick(&[24, 838]);
                let (minutes, seconds) = (random.below(60), random.below(60));
                format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{}", fraction(random))
            }
            Kind::DateTime if random.chance(30) => "0000-00-00 00:00:00".to_owned(),
            Kind::DateTime => format!("{} {}", self.date(random), clock(random)),
            Kind::Timestamp => {
                let year = 1971 + number % 66;
                let (month, day) = (random.between(1, 12), random.between(1, 28));
                format!("{year}-{month:02}-{day:02} {}", clock(random))
            }
            Kind::Year => match number % 160 {
                0 => "0000".to_owned(),
                year => format!("{}", 1900 + year),
            },
            Kind::Bit(bits) => {
                let value =
                    random.next_u64() & (u64::MAX >> (64 - bits)) & spread_mask(self.spread);
                let bytes = value.to_be_bytes();
                let used = bits.div_ceil(8);
                return match file {
                    // Bytes from 0x80 on are no characters there.
                    Charset::Utf8mb3 | Charset::Utf8mb4 | Charset::Ascii => {
                        bytes[8 - used..].iter().map(|byte| byte & 0x7f).collect()
                    }
                    _ => bytes[8 - used..].to_vec(),
                };
            }
            Kind::Enum(labels) => {
                return self.label(random, labels[number % labels.len()].clone(), file);
            }
            Kind::Set(labels) => {
                let count = random.below(4);
                let picked: Vec<&str> =
                    (0..count).map(|_| labels[random.below(labels.len())].as_str()).collect();
                return self.label(random, picked.join(","), file);
            }
            Kind::Uuid => return self.uuid(random, file),
            Kind::Inet4 | Kind::Inet6 => return self.address(random, file),
            Kind::Text(chars) => return self.text(random, *chars, file),
            Kind::Bytes(bytes) => return self.bytes(random, *bytes, file),
            Kind::Shape { .. } | Kind::Vector(_) => return shape::value(random, &self.kind),
            Kind::Json => {
                let inner = self.text(random, 40, Charset::Ascii);
                let inner = String::from_utf8_lossy(&inner).replace(['\\', '"'], "/");
                let inner: String = inner.chars().filter(|c| !c.is_control()).collect();
                let pad =
                    if random.chance(8) { " ".repeat(random.below(30_000)) } else { String::new() };
                format!("{{\"a\": [{number}, null, \"{inner}\"]{pad}}}")
            }
        };
        text.into_bytes()
    }

    fn integer(&self, random: &mut Random, bytes: u32, unsigned: bool) -> String {
        let bits = bytes * 8;
        let max = u64::MAX >> (64 - bits);
        let near = random.chance(50);
        let number = random.next_u64() % (self.spread as u64).min(max.saturating_add(1)).max(1);
        match (unsigned, near) {
            (true, true) => (max - number).to_string(),
            (true, false) => number.to_string(),
            (false, true) => (i128::from(max >> 1) - i128::from(number)).to_string(),
            (false, false) => {
                (i128::from(number) - i128::from(self.spread as u64 % max / 2).min(128)).to_string()
            }
        }
    }

    /// A UUID of any version, in time order or not; the 16 bytes for a file without characters.
    fn uuid(&self, random: &mut Random, file: Charset) -> Vec<u8> {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&random.next_u64().to_be_bytes());
        bytes[8..].copy_from_slice(&(random.next_u64() % self.spread as u64).to_be_bytes());
        bytes[6] = random.pick(&[0, 0x10, 0x45, 0x4f, 0x60, 0x70, 0x7f, 0x80, 0xff]);
        bytes[8] |= random.pick(&[0x81, 0xbf, 0xff]);
        if random.chance(3) {
            bytes[..6].fill(random.pick(&[0, 1]));
        }
        if file == Charset::Binary {
            return bytes.to_vec();
        }
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [&hex[..4], &hex[4..6], &hex[6..8], &hex[8..10], &hex[10..]];
        let text = parts.map(|part| part.concat()).join(random.pick(&["-", "-", "-", ""]));
        if random.chance(4) { text.to_uppercase().into_bytes() } else { text.into_bytes() }
    }

    fn address(&self, random: &mut Random, file: Charset) -> Vec<u8> {
        let number = random.next_u64() % self.spread as u64;
        let inet4 = std::net::Ipv4Addr::from_bits(number as u32 ^ 0xc0a8_0000);
        let inet6 = match random.below(3) {
            0 => inet4.to_ipv6_mapped(),
            1 => std::net::Ipv6Addr::from_bits(u128::from(number) << 70 | 1),
            _ => std::net::Ipv6Addr::from_bits(u128::from(number)),
        };
        match (&self.kind, file) {
            (Kind::Inet4, Charset::Binary) => inet4.octets().to_vec(),
            (Kind::Inet4, _) => inet4.to_string().into_bytes(),
            (_, Charset::Binary) => inet6.octets().to_vec(),
            _ => inet6.to_string().into_bytes(),
        }
    }

    fn date(&self, random: &mut Random) -> String {
        let number = random.below(self.spread);
        let year = if random.chance(20) { random.between(1000, 9999) } else { 1990 + number % 40 };
        format!("{year:04}-{:02}-{:02}", random.between(1, 12), random.between(1, 28))
    }

    /// Labels as they are, and as only a collation knows them again.
    fn label(&self, random: &mut Random, label: String, file: Charset) -> Vec<u8> {
        let text = match random.below(30) {
            0 => label.to_uppercase(),
            1 => label.to_lowercase() + " ",
            2 => label.replace('\u{e9}', "e"),
            3 => label.replace(' ', "  "),
            4 => format!("{}", random.below(8)),
            5 => label + ",",
            6 => label.replace('t', "t\u{ad}"),
            _ => label,
        };
        encode(if file == Charset::Binary { self.charset } else { file }, &text)
    }

    fn text(&self, random: &mut Random, chars: usize, file: Charset) -> Vec<u8> {
        let most = chars_now(random, chars);
        match file {
            Charset::Binary => {
                let text = self.style.string(random, most, self.spread, &[self.charset]);
                encode(self.charset, &text)
            }
            _ => encode(file, &self.style.string(random, most, self.spread, &[self.charset, file])),
        }
    }

    /// Any bytes where the file's character set has only bytes, else text.
    fn bytes(&self, random: &mut Random, bytes: usize, file: Charset) -> Vec<u8> {
        let most = chars_now(random, bytes);
        if matches!(file, Charset::Binary | Charset::Latin1) && random.chance(2) {
            let count = random.below(most.min(1 + self.spread.ilog2() as usize) + 1);
            let count = if most > 255 && random.chance(3) { random.below(most) } else { count };
            return (0..count).map(|_| random.next_u64() as u8).collect();
        }
        let mut text = encode(file, &self.style.string(random, most, self.spread, &[file]));
        while text.len() > bytes {
            // Whole characters: the rest must still be text of the file.
            let text_now = String::from_utf8_lossy(&text).into_owned();
            let mut chars = text_now.chars();
            chars.next_back();
            text = chars.as_str().as_bytes().to_vec();
        }
        text
    }

    /// A value that a strict server may well refuse.
    pub(crate) fn bad_value(&self, random: &mut Random, file: Charset) -> Vec<u8> {
        const WORDS: [&str; 16] = [
            "",
            " ",
            "x",
            "1x",
            "-1",
            "99999999999999999999",
            "1e400",
            "12.5",
            "2024-02-30",
            "2024-13-01 25:00:00",
            "838:59:60",
            "2156",
            "no label",
            "red,blue",
            "{\"a\":",
            "-0.6",
        ];
        let mut value = match &self.kind {
            Kind::Shape { .. } | Kind::Vector(_) => return shape::bad_value(random, &self.kind),
            Kind::Text(chars) | Kind::Bytes(chars) if random.chance(2) && *chars < 1000 => {
                return vec![b'x'; chars + 1 + random.below(3)];
            }
            Kind::Text(_) if random.chance(2) && file == Charset::Utf8mb4 => {
                return "\u{4e2d}\u{1f600}".as_bytes().to_vec();
            }
            _ if random.chance(2) => self.value(random, file),
            _ => return random.pick(&WORDS).as_bytes().to_vec(),
        };
        let at = random.below(value.len() + 1);
        value.insert(at.min(value.len()), random.pick(b" x-.:5,"));
        match file {
            // Not between the bytes of a character.
            Charset::Utf8mb3 | Charset::Utf8mb4 => {
                String::from_utf8_lossy(&value).replace('\u{fffd}', "").into_bytes()
            }
            _ => value,
        }
    }
}

trait Log {
    fn ilog10_or_0(self) -> usize;
}

impl Log for usize {
    fn ilog10_or_0(self) -> usize {
        self.checked_ilog10().unwrap_or(0) as usize
    }
}

/// A length in the usual case small, sometimes all that fits.
fn chars_now(random: &mut Random, most: usize) -> usize {
    if random.chance(6) { most } else { most.min(24) }
}

fn spread_mask(spread: usize) -> u64 {
    (spread as u64).next_power_of_two() - 1
}

fn digits(random: &mut Random, count: usize) -> String {
    let nines = random.chance(10);
    (0..count)
        .map(|_| if nines { '9' } else { char::from(b'0' + random.below(10) as u8) })
        .collect()
}

fn clock(random: &mut Random) -> String {
    let (hours, minutes, seconds) = (random.below(24), random.below(60), random.below(60));
    format!("{hours:02}:{minutes:02}:{seconds:02}{}", fraction(random))
}

fn fraction(random: &mut Random) -> String {
    match random.below(3) {
        0 => String::new(),
        1 => format!(".{}", random.below(10)),
        _ => format!(".{:06}", random.below(1_000_000)),
    }
}
