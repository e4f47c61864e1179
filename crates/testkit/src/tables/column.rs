//! Random columns: every type a load takes, with its charset, NULL and DEFAULT.

use server::identifier::quote_text;
use values::Charset;

use crate::Random;
use crate::tables::text::Style;

/// The kind of a column's values.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Integer {
        bytes: u32,
        unsigned: bool,
    },
    Decimal {
        precision: usize,
        scale: usize,
        unsigned: bool,
    },
    Real {
        double: bool,
        digits: Option<(usize, usize)>,
        unsigned: bool,
    },
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Bit(usize),
    Enum(Vec<String>),
    Set(Vec<String>),
    /// Characters, at most so many.
    Text(usize),
    /// Bytes, at most so many.
    Bytes(usize),
    Json,
    Uuid,
    Inet4,
    Inet6,
    /// A shape: of every kind, or one of seven, by their numbers; with this SRID if it must have one.
    Shape {
        of: usize,
        srid: Option<u32>,
    },
    /// Floats, at most so many.
    Vector(usize),
}

/// A column of a random table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name, which needs no quotes.
    pub name: String,
    pub(crate) kind: Kind,
    /// Type and character set as CREATE TABLE has them.
    pub(crate) declaration: String,
    pub(crate) charset: Charset,
    pub(crate) nullable: bool,
    /// DEFAULT, as an SQL literal.
    pub(crate) default: Option<String>,
    /// True if the server numbers its rows.
    pub auto_increment: bool,
    /// About how many different values it has.
    pub(crate) spread: usize,
    pub(crate) style: Style,
}

const COLLATIONS: [(Charset, &[&str]); 7] = [
    (
        Charset::Latin1,
        &[
            "latin1_swedish_ci",
            "latin1_swedish_ci",
            "latin1_bin",
            "latin1_nopad_bin",
            "latin1_german2_ci",
            "latin1_swedish_nopad_ci",
        ],
    ),
    (
        Charset::Utf8mb4,
        &[
            "utf8mb4_general_ci",
            "utf8mb4_unicode_ci",
            "utf8mb4_unicode_ci",
            "utf8mb4_uca1400_ai_ci",
            "utf8mb4_uca1400_ai_ci",
            "utf8mb4_bin",
            "utf8mb4_nopad_bin",
            "utf8mb4_general_nopad_ci",
        ],
    ),
    (Charset::Utf8mb3, &["utf8mb3_bin", "utf8mb3_general_ci"]),
    (Charset::Ascii, &["ascii_bin", "ascii_general_ci"]),
    (Charset::Ucs2, &["ucs2_bin", "ucs2_general_ci", "ucs2_general_nopad_ci"]),
    (Charset::Utf16, &["utf16_bin", "utf16_nopad_bin", "utf16_general_ci"]),
    (Charset::Utf32, &["utf32_general_nopad_ci", "utf32_bin"]),
];

impl Column {
    /// `long` allows a type whose values leave their page.
    pub fn random(random: &mut Random, name: String, long: bool) -> Column {
        let (kind, mut type_name) = kind(random, long);
        let mut column = Column {
            name,
            declaration: String::new(),
            charset: Charset::Binary,
            nullable: random.chance(2),
            default: None,
            auto_increment: false,
            spread: random.pick(&[2, 5, 30, 1000, 100_000, 1_000_000_000]),
            style: Style::random(random),
            kind,
        };
        column.declaration = match column.kind {
            Kind::Text(_) | Kind::Enum(_) | Kind::Set(_) => {
                let (charset, collations) = random.pick(&COLLATIONS);
                let collation = random.pick(collations);
                column.charset = charset;
                if let Kind::Enum(labels) | Kind::Set(labels) = &mut column.kind
                    && charset != Charset::Ascii
                {
                    labels.push("\u{e9}t\u{e9} \u{d1}".to_owned());
                    let name = &type_name[..type_name.len().min(4)];
                    type_name = format!("{}({})", name.trim_end_matches('('), quoted(labels));
                }
                format!("{type_name} CHARACTER SET {} COLLATE {collation}", charset.name())
            }
            Kind::Json => {
                column.charset = Charset::Utf8mb4;
                type_name
            }
            _ => type_name,
        };
        if random.chance(3) {
            column.default = Some(column.default_literal(random));
        }
        column
    }

    /// Its line in CREATE TABLE.
    pub fn sql(&self) -> String {
        let null = if self.nullable { "NULL" } else { "NOT NULL" };
        let mut sql = format!("`{}` {} {null}", self.name, self.declaration);
        if let Some(default) = &self.default {
            sql += &format!(" DEFAULT {default}");
        }
        if self.auto_increment {
            sql += " AUTO_INCREMENT";
        }
        sql
    }

    /// TEXT, BLOB, JSON: a key on it must be a prefix.
    pub fn is_long(&self) -> bool {
        ["TEXT", "BLOB", "JSON"].iter().any(|name| self.declaration.contains(name))
    }

    /// True if a load may leave it out.
    pub fn is_optional(&self) -> bool {
        self.nullable || self.default.is_some() || self.auto_increment
    }

    /// One that has the same value in every row, whenever it is evaluated.
    fn default_expression(&self) -> Option<String> {
        let text = match &self.kind {
            Kind::Integer { .. } => "(3 + LENGTH('four'))",
            Kind::Decimal { precision, scale, .. } if precision > scale => {
                "(CAST(5 AS DECIMAL) / 4)"
            }
            Kind::Real { .. } => "(1 / 3)",
            Kind::Date => "(LAST_DAY('2024-02-01'))",
            Kind::Time => "(SEC_TO_TIME(-3723.5))",
            Kind::DateTime | Kind::Timestamp => "(TIMESTAMP('2001-09-09', '01:46:40.125'))",
            Kind::Year => "(YEAR('1999-01-01'))",
            Kind::Bit(_) => "(2 - 1)",
            Kind::Text(chars) if *chars >= 2 => "(CONCAT('a', 'b'))",
            Kind::Bytes(bytes) if *bytes >= 3 => "(UNHEX('00ff27'))",
            Kind::Json => "(JSON_ARRAY(1, NULL))",
            Kind::Uuid => "(CONCAT('123e4567-e89b-12d3-a456-4266141', '74000'))",
            Kind::Inet4 => "(CONCAT('192.168', '.0.1'))",
            Kind::Inet6 => "(CONCAT('2001:db8', '::1'))",
            _ => return None,
        };
        Some(text.to_owned())
    }

    fn default_literal(&self, random: &mut Random) -> String {
        if self.nullable && random.chance(3) {
            return "NULL".to_owned();
        }
        if random.chance(3)
            && let Some(expression) = self.default_expression()
        {
            return expression;
        }
        let text = match &self.kind {
            Kind::Integer { unsigned: true, .. } => "7",
            Kind::Integer { .. } => "-7",
            Kind::Decimal { precision, scale, .. } if precision > scale => "1.25",
            Kind::Decimal { .. } => "0.125",
            Kind::Real { .. } => "0.5",
            Kind::Date => "2024-02-29",
            Kind::Time => "-12:34:56.789",
            Kind::DateTime | Kind::Timestamp => "2001-09-09 01:46:40.125",
            Kind::Year => "1999",
            Kind::Bit(_) => return "b'1'".to_owned(),
            Kind::Enum(labels) | Kind::Set(labels) => {
                return quote_text(&labels[random.below(labels.len())]);
            }
            Kind::Text(chars) => {
                let text: String = "o' \\\"\u{e9}%?x ".chars().take(*chars).collect();
                let ascii = self.charset == Charset::Ascii;
                return quote_text(&if ascii { text.replace('\u{e9}', "e") } else { text });
            }
            Kind::Bytes(bytes) => {
                return quote_text(&"a\0 b".chars().take(*bytes).collect::<String>());
            }
            Kind::Json => "{\"a\": [1, null]}",
            Kind::Uuid => "123e4567-e89b-12d3-a456-426614174000",
            Kind::Inet4 => "192.168.0.1",
            Kind::Inet6 => "2001:db8::1",
            Kind::Shape { .. } | Kind::Vector(_) => return "NULL".to_owned(),
        };
        quote_text(text)
    }
}

fn kind(random: &mut Random, long: bool) -> (Kind, String) {
    let unsigned = random.chance(2);
    let sign = match (unsigned, random.chance(4)) {
        (true, true) => " ZEROFILL",
        (true, false) => " UNSIGNED",
        (false, _) => "",
    };
    match random.below(24) {
        0..=2 => {
            let types =
                [(1, "TINYINT"), (2, "SMALLINT"), (3, "MEDIUMINT"), (4, "INT"), (8, "BIGINT")];
            let (bytes, name) = random.pick(&types);
            (Kind::Integer { bytes, unsigned }, format!("{name}{sign}"))
        }
        3 | 4 => {
            let precision = random.pick(&[1, 5, 9, 10, 18, 19, 30, 38, 64, 65]);
            let scale = random.below(precision.min(38) + 1);
            let name = format!("DECIMAL({precision},{scale}){sign}");
            (Kind::Decimal { precision, scale, unsigned }, name)
        }
        5 | 6 => {
            let double = random.chance(2);
            let digits = random.chance(4).then_some((10, 3));
            let name = if double { "DOUBLE" } else { "FLOAT" };
            let digits_text = digits.map_or(String::new(), |(m, d)| format!("({m},{d})"));
            (Kind::Real { double, digits, unsigned }, format!("{name}{digits_text}{sign}"))
        }
        7 => (Kind::Date, "DATE".to_owned()),
        8 => clock(random, "TIME", Kind::Time),
        9 => clock(random, "DATETIME", Kind::DateTime),
        10 => clock(random, "TIMESTAMP", Kind::Timestamp),
        11 => (Kind::Year, "YEAR".to_owned()),
        12 => {
            let bits = random.pick(&[1, 7, 8, 9, 33, 64]);
            (Kind::Bit(bits), format!("BIT({bits})"))
        }
        13 => {
            let labels = labels(random, false);
            let name = format!("ENUM({})", quoted(&labels));
            (Kind::Enum(labels), name)
        }
        14 => {
            let labels = labels(random, true);
            let name = format!("SET({})", quoted(&labels));
            (Kind::Set(labels), name)
        }
        15 => {
            let bytes = random.pick(&[1, 3, 16, 255]);
            (Kind::Bytes(bytes), format!("BINARY({bytes})"))
        }
        16 => {
            let bytes = random.pick(&[0, 1, 20, 255, 256, 1000]);
            (Kind::Bytes(bytes), format!("VARBINARY({bytes})"))
        }
        17 => {
            let chars = random.pick(&[0, 1, 2, 10, 60, 255]);
            (Kind::Text(chars), format!("CHAR({chars})"))
        }
        20 if long => long_kind(random),
        21 => (Kind::Uuid, "UUID".to_owned()),
        22 => (Kind::Inet4, "INET4".to_owned()),
        23 => (Kind::Inet6, "INET6".to_owned()),
        _ => {
            let chars = random.pick(&[1, 10, 40, 63, 64, 100, 190, 255, 256, 600]);
            (Kind::Text(chars), format!("VARCHAR({chars})"))
        }
    }
}

fn clock(random: &mut Random, name: &str, kind: Kind) -> (Kind, String) {
    let digits = random.below(7);
    let type_name = if digits == 0 { name.to_owned() } else { format!("{name}({digits})") };
    (kind, type_name)
}

fn long_kind(random: &mut Random) -> (Kind, String) {
    let sizes = [("TINY", 60), ("", 20_000), ("MEDIUM", 90_000), ("LONG", 90_000)];
    let (size, most) = random.pick(&sizes);
    match random.below(5) {
        0 => (Kind::Json, "JSON".to_owned()),
        1 | 2 => (Kind::Text(most / 4), format!("{size}TEXT")),
        _ => (Kind::Bytes(most), format!("{size}BLOB")),
    }
}

/// Labels without commas; more than 255 now and then, which takes a second byte.
fn labels(random: &mut Random, is_set: bool) -> Vec<String> {
    let mut labels: Vec<String> = ["red", "Green", "it's", "4", "x y"].map(str::to_owned).into();
    let more = if is_set { [0, 3, 20, 58] } else { [0, 3, 20, 300] };
    labels.extend((0..random.pick(&more)).map(|number| format!("label {number}")));
    labels
}

fn quoted(labels: &[String]) -> String {
    labels.iter().map(|label| quote_text(label)).collect::<Vec<_>>().join(",")
}
