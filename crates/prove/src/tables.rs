//! The tables of a proof: every type, kind of key and row format that the direct path claims.
//!
//! Each has a column `n` that numbers its rows, by which statements choose rows. Rows are text of LOAD DATA's default
//! dialect, in an order that is no index's.

use std::fmt::Write;

use server::version::{Flavor, Version};

/// Rows of a table with small rows: several leaf pages in each index.
const ROWS: u32 = 900;
/// Rows of a table with values outside its pages.
const ROWS_LARGE: u32 = 90;
/// Prime to both, so that it visits each row once.
const STRIDE: u64 = 7_919;
const NULL: &str = "\\N";
/// Letters of two bytes, of three and of four, of several weights and of none.
const LETTERS: [&str; 14] =
    ["a", "B", "ss", "ß", "ä", "é", "ñ", "Ø", "ж", "Δ", "漢", "字", "😀", "\u{301}"];

/// A table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProofTable {
    pub(crate) name: &'static str,
    /// Its columns, keys and options, after the name.
    pub(crate) definition: &'static str,
    /// Series of MariaDB that has its types first.
    since: (u16, u16),
    /// Series of MySQL that has its types first.
    since_mysql: (u16, u16),
    /// The only servers that have its types; none for all.
    only: Option<Flavor>,
    /// Its indexes, the one that holds the rows first.
    pub(crate) indexes: &'static [&'static str],
    pub(crate) rows: u32,
    /// A row, without `n`, which comes first.
    row: fn(u32) -> Vec<String>,
    /// The change of its columns that ALGORITHM=INSTANT makes when it has rows, if any.
    pub(crate) altered: Option<&'static str>,
    /// True if rows are merged with those there, too.
    is_merged: bool,
    /// True if rows of another table refer to it.
    is_parent: bool,
}

impl ProofTable {
    /// Lines of the rows from `first` up to `end`, every so many.
    pub(crate) fn text(&self, first: u32, end: u32) -> String {
        let count = u64::from(end - first);
        let mut text = String::new();
        for at in 0..count {
            // Numbers begin at 1: 0 asks for an AUTO_INCREMENT value.
            let n = 1 + first + u32::try_from(at * STRIDE % count).unwrap_or_default();
            let _ = write!(text, "{n}");
            for field in (self.row)(n) {
                text.push('\t');
                text.push_str(&field);
            }
            text.push('\n');
        }
        text
    }

    /// True if a server has its types.
    pub(crate) fn is_of(&self, version: &Version) -> bool {
        let since = match version.flavor {
            Flavor::MySql => self.since_mysql,
            Flavor::MariaDb => self.since,
        };
        since <= version.series() && self.only.is_none_or(|only| only == version.flavor)
    }

    /// True if rows are merged with those there, too. MySQL gets rows sent to a table with foreign keys.
    pub(crate) fn is_merged_on(&self, flavor: Flavor) -> bool {
        self.is_merged && !(self.is_parent && flavor == Flavor::MySql)
    }

    /// The character set of its files: a vector is no text in any other one.
    pub(crate) fn charset(&self) -> &'static str {
        if self.definition.contains("VECTOR") { "binary" } else { "utf8mb4" }
    }

    /// True if it has partitions: HANDLER does not read these.
    pub(crate) fn is_partitioned(&self) -> bool {
        self.definition.contains("PARTITION BY")
    }
}

/// A number that looks random, less than `most`.
fn mixed(n: u32, salt: u32, most: u64) -> u64 {
    let mut x = (u64::from(n) << 32 | u64::from(salt)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) % most
}

fn number(n: u32, salt: u32, from: i128, to: i128) -> String {
    let span = u64::try_from(to - from).unwrap_or(u64::MAX);
    (from + i128::from(mixed(n, salt, span.max(1)))).to_string()
}

/// NULL in every seventh row.
fn or_null(n: u32, salt: u32, field: String) -> String {
    if mixed(n, salt, 7) == 0 { NULL.to_owned() } else { field }
}

/// A word of ASCII letters, `least` or more.
fn word(n: u32, salt: u32, least: u64, most: u64) -> String {
    let count = least + mixed(n, salt, most - least + 1);
    let letter = |at| {
        let code = mixed(n, salt.wrapping_add(at), 52) as u8;
        char::from(if code < 26 { b'a' + code } else { b'A' + code - 26 })
    };
    (0..u32::try_from(count).unwrap_or_default()).map(|at| letter(at + 1)).collect()
}

/// A word of letters of many scripts, with its number so that no two are alike.
fn letters(n: u32, salt: u32, most: u64) -> String {
    let count = u32::try_from(mixed(n, salt, most)).unwrap_or_default();
    let letter = |at| LETTERS[mixed(n, salt.wrapping_add(at), LETTERS.len() as u64) as usize];
    let text: String = (0..count).map(|at| letter(at + 1)).collect();
    format!("{text}{n}")
}

fn date(n: u32, salt: u32) -> String {
    let (year, month) = (1970 + mixed(n, salt, 60), 1 + mixed(n, salt + 1, 12));
    format!("{year:04}-{month:02}-{:02}", 1 + mixed(n, salt + 2, 28))
}

fn time(n: u32, salt: u32) -> String {
    let part = |at| mixed(n, salt + at, 60);
    format!("{:02}:{:02}:{:02}", mixed(n, salt, 24), part(1), part(2))
}

fn fraction(n: u32, salt: u32, digits: usize) -> String {
    format!("{:06}", mixed(n, salt, 1_000_000))[..digits].to_owned()
}

fn moment(n: u32, salt: u32) -> String {
    format!("{} {}", date(n, salt), time(n, salt + 3))
}

const PLAIN: ProofTable = ProofTable {
    name: "",
    definition: "",
    since: (10, 5),
    since_mysql: (8, 0),
    indexes: &["PRIMARY"],
    rows: ROWS,
    row: |_| Vec::new(),
    altered: None,
    is_merged: false,
    only: None,
    is_parent: false,
};

/// All of them.
pub(crate) const TABLES: &[ProofTable] = &[
    ProofTable {
        name: "integers",
        definition: "(n INT PRIMARY KEY, t TINYINT, tu TINYINT UNSIGNED, s SMALLINT, su SMALLINT UNSIGNED, m MEDIUMINT, \
             mu MEDIUMINT UNSIGNED, i INT, iu INT UNSIGNED, b BIGINT NOT NULL, bu BIGINT UNSIGNED, UNIQUE KEY b (b), \
             KEY t (t, tu), KEY s (s, su), KEY m (m, mu), KEY i (i), KEY iu (iu), KEY bu (bu)) ROW_FORMAT=DYNAMIC",
        indexes: &["PRIMARY", "b", "t", "s", "m", "i", "iu", "bu"],
        row: |n| {
            let any = |salt, from, to| or_null(n, salt + 50, number(n, salt, from, to));
            let unique = (i64::from(n) - 700) * 6_000_000_000_000_000;
            vec![
                any(1, -128, 128),
                any(2, 0, 256),
                any(3, -32_768, 32_768),
                any(4, 0, 65_536),
                any(5, -8_388_608, 8_388_608),
                any(6, 0, 16_777_216),
                any(7, -(1 << 31), 1 << 31),
                any(8, 0, 1 << 32),
                unique.to_string(),
                any(9, 0, 1 << 64),
            ]
        },
        is_merged: true,
        is_parent: true,
        ..PLAIN
    },
    ProofTable {
        name: "decimals",
        definition: "(n INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, d DECIMAL(20,6), e DECIMAL(65,30), f FLOAT, g DOUBLE, \
             bits BIT(17), y YEAR, bool BOOLEAN, KEY d (d), KEY e (e, f), KEY g (g), KEY bits (bits), KEY y (y, bool))",
        indexes: &["PRIMARY", "d", "e", "g", "bits", "y"],
        row: |n| {
            let sign = if n.is_multiple_of(2) { "-" } else { "" };
            let of = |salt, most| mixed(n, salt, most);
            vec![
                or_null(n, 61, format!("{sign}{}.{:06}", of(1, 1 << 40), of(2, 1_000_000))),
                or_null(
                    n,
                    62,
                    format!("{sign}{}{:015}.{}", of(3, 1 << 60), of(4, 1 << 40), of(5, 1 << 60)),
                ),
                or_null(n, 63, format!("{sign}{}.{}", of(6, 9_000), of(7, 100))),
                or_null(n, 64, format!("{sign}{}e{}", of(8, 1 << 50), of(9, 100))),
                // Bits come as bytes: letters.
                or_null(n, 65, word(n, 10, 1, 2)),
                or_null(n, 66, (1_901 + of(11, 255)).to_string()),
                of(12, 2).to_string(),
            ]
        },
        is_merged: true,
        ..PLAIN
    },
    ProofTable {
        name: "times",
        definition: "(n INT NOT NULL, d DATE NOT NULL, t TIME, t6 TIME(6), m DATETIME, m3 DATETIME(3), m6 DATETIME(6) NOT NULL, \
             s TIMESTAMP NULL, s6 TIMESTAMP(6) NULL, PRIMARY KEY (m6, d, n), KEY d (d), KEY t (t, t6), KEY m (m, m3), \
             KEY s (s), KEY s6 (s6, n))",
        indexes: &["PRIMARY", "d", "t", "m", "s", "s6"],
        row: |n| {
            let with =
                |salt, digits| format!("{}.{}", moment(n, salt), fraction(n, salt + 9, digits));
            // Summer time skips an hour in places, so stamps are of a month without.
            let stamp =
                format!("20{:02}-01-{:02} {}", mixed(n, 80, 30), 1 + mixed(n, 81, 28), time(n, 82));
            vec![
                date(n, 10),
                or_null(
                    n,
                    71,
                    format!("{}{}", if n.is_multiple_of(3) { "-" } else { "" }, time(n, 20)),
                ),
                or_null(
                    n,
                    72,
                    format!("{}:{}.{}", mixed(n, 30, 838), &time(n, 31)[3..], fraction(n, 32, 6)),
                ),
                or_null(n, 73, moment(n, 40)),
                or_null(n, 74, with(50, 3)),
                with(60, 6),
                or_null(n, 75, stamp.clone()),
                or_null(n, 76, format!("{stamp}.{}", fraction(n, 90, 6))),
            ]
        },
        ..PLAIN
    },
    ProofTable {
        name: "latin_texts",
        definition: "(n INT PRIMARY KEY, c CHAR(30), v VARCHAR(300) NOT NULL, b VARCHAR(40) COLLATE latin1_bin, t TEXT, \
             g VARCHAR(30) COLLATE latin1_german2_ci, UNIQUE KEY v (v), KEY c (c, v(5)), KEY t (t(20)), KEY b (b), \
             KEY g (g)) CHARACTER SET latin1 COLLATE latin1_swedish_ci",
        indexes: &["PRIMARY", "v", "c", "t", "b", "g"],
        row: |n| {
            vec![
                or_null(n, 71, word(n, 100, 0, 30)),
                format!("{}{n}", word(n, 200, 0, 250)),
                or_null(n, 72, word(n, 500, 1, 40)),
                or_null(n, 73, word(n, 600, 1, 200)),
                or_null(n, 74, format!("{}ä", word(n, 900, 0, 9))),
            ]
        },
        is_merged: true,
        ..PLAIN
    },
    ProofTable {
        name: "texts",
        definition: "(n INT NOT NULL, v VARCHAR(120) NOT NULL, u VARCHAR(60) COLLATE utf8mb4_unicode_ci, \
             b VARCHAR(60) COLLATE utf8mb4_bin, c CHAR(30), \
             PRIMARY KEY (n, v), UNIQUE KEY v (v(60)), KEY u (u), KEY b (b), KEY c (c, n)) \
             CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        indexes: &["PRIMARY", "v", "u", "b", "c"],
        row: |n| {
            vec![
                format!("{n}{}", letters(n, 100, 20)),
                or_null(n, 71, letters(n, 200, 20)),
                or_null(n, 72, letters(n, 300, 20)),
                or_null(n, 73, letters(n, 400, 10)),
            ]
        },
        is_merged: true,
        ..PLAIN
    },
    ProofTable {
        name: "unicode_texts",
        definition: "(n INT PRIMARY KEY, v VARCHAR(60), w VARCHAR(60) COLLATE utf8mb4_0900_as_cs, \
             x VARCHAR(60) COLLATE utf8mb4_0900_bin, c CHAR(30), t TEXT, UNIQUE KEY v (v, n), KEY w (w), KEY x (x), \
             KEY c (c), KEY t (t(20))) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci",
        only: Some(Flavor::MySql),
        indexes: &["PRIMARY", "v", "w", "x", "c", "t"],
        row: |n| {
            let of = |salt: u32| or_null(n, salt + 70, letters(n, salt * 100, 20));
            vec![of(1), of(2), of(3), or_null(n, 78, letters(n, 800, 10)), of(5)]
        },
        is_merged: true,
        ..PLAIN
    },
    ProofTable {
        name: "documents",
        definition: "(n INT PRIMARY KEY, d JSON, x INT NOT NULL, e JSON, KEY x (x))",
        only: Some(Flavor::MySql),
        indexes: &["PRIMARY", "x"],
        row: |n| {
            let long = if n.is_multiple_of(9) {
                word(n, 100, 20, 60).repeat(400)
            } else {
                word(n, 100, 0, 60)
            };
            let (number, real) = (number(n, 1, -(1 << 40), 1 << 40), mixed(n, 2, 1 << 40));
            let text = format!(
                "{{\"text\": \"{long}\", \"n\": {number}, \"real\": {real}.25e-3, \"list\": [true, null, {{}}, []]}}"
            );
            let list: Vec<String> =
                (0..mixed(n, 3, 40)).map(|at| (at * 40_000).to_string()).collect();
            vec![or_null(n, 71, text), (n % 90).to_string(), format!("[{}]", list.join(","))]
        },
        is_merged: true,
        ..PLAIN
    },
    ProofTable {
        name: "shapes",
        definition: "(n INT PRIMARY KEY, g GEOMETRY, p POINT NOT NULL SRID 0, c GEOMETRYCOLLECTION SRID 3857, \
             x INT NOT NULL, KEY x (x))",
        only: Some(Flavor::MySql),
        indexes: &["PRIMARY", "x"],
        row: |n| {
            // A number of 8 letters is finite, and the lowest byte of 3857 is 17.
            let shape = |kind: char, parts: &str| format!("\x01{kind}\\0\\0\\0{parts}");
            let positions = |salt: u32, count: u64| word(n, salt, 16 * count, 16 * count);
            let (high, count) = if n.is_multiple_of(9) { ("\x02", 0x0203) } else { ("\\0", 3) };
            let line = format!("\x03{high}\\0\\0{}", positions(1, count));
            let point = shape('\x01', &positions(2_000_000, 1));
            let points = shape('\x04', &format!("\x02\\0\\0\\0{point}{point}"));
            vec![
                or_null(n, 71, format!("\\0\\0\\0\\0{}", shape('\x02', &line))),
                format!("\\0\\0\\0\\0{point}"),
                or_null(n, 72, format!("\x11\x0f\\0\\0{points}")),
                (n % 90).to_string(),
            ]
        },
        is_merged: true,
        ..PLAIN
    },
    ProofTable {
        name: "vectors",
        definition: "(n INT PRIMARY KEY, v VECTOR(3) NOT NULL, w VECTOR(4000), x INT NOT NULL, KEY x (x))",
        since_mysql: (9, 0),
        only: Some(Flavor::MySql),
        indexes: &["PRIMARY", "x"],
        row: |n| {
            // A float of 4 letters is finite.
            let floats = |salt: u32, most| {
                let bytes = 4 * (1 + mixed(n, salt, most));
                word(n, salt + 1, bytes, bytes)
            };
            let many = if n.is_multiple_of(9) { 4_000 } else { 20 };
            vec![floats(1, 3), or_null(n, 71, floats(100, many)), (n % 90).to_string()]
        },
        is_merged: true,
        ..PLAIN
    },
    ProofTable {
        name: "modern_texts",
        definition: "(n INT PRIMARY KEY, v VARCHAR(60) COLLATE utf8mb4_uca1400_ai_ci, w VARCHAR(60) COLLATE \
             utf8mb4_uca1400_as_cs, x VARCHAR(60) COLLATE utf8mb4_general_nopad_ci, KEY v (v), KEY w (w), KEY x (x)) \
             CHARACTER SET utf8mb4",
        only: Some(Flavor::MariaDb),
        since: (10, 11),
        indexes: &["PRIMARY", "v", "w", "x"],
        row: |n| {
            let of = |salt: u32| or_null(n, salt + 70, letters(n, salt * 100, 20));
            vec![of(1), of(2), of(3)]
        },
        ..PLAIN
    },
    ProofTable {
        name: "wide_texts",
        definition: "(n INT PRIMARY KEY, a VARCHAR(40) CHARACTER SET ucs2, b VARCHAR(40) CHARACTER SET utf16, \
             c CHAR(20) CHARACTER SET utf32, d CHAR(40) CHARACTER SET utf8, KEY a (a), KEY b (b), KEY c (c), KEY d (d)) \
             ROW_FORMAT=COMPACT",
        indexes: &["PRIMARY", "a", "b", "c", "d"],
        row: |n| {
            let of = |salt: u32, most| or_null(n, salt + 70, word(n, salt * 100, 0, most));
            vec![of(1, 40), of(2, 40), of(3, 20), of(4, 40)]
        },
        ..PLAIN
    },
    ProofTable {
        name: "bytes",
        definition: "(n INT NOT NULL, k BINARY(16) NOT NULL, v VARBINARY(300), b BLOB, t TINYBLOB, PRIMARY KEY (n, k), \
             UNIQUE KEY k (k), KEY v (v(40)), KEY b (b(16), n), KEY t (t(4)))",
        indexes: &["PRIMARY", "k", "v", "b", "t"],
        row: |n| {
            vec![
                format!("{n:016}"),
                or_null(n, 71, word(n, 100, 0, 300)),
                or_null(n, 72, word(n, 500, 0, 900)),
                or_null(n, 73, word(n, 1_500, 0, 255)),
            ]
        },
        ..PLAIN
    },
    ProofTable {
        name: "large_values",
        definition: "(n INT PRIMARY KEY, a LONGTEXT, b MEDIUMBLOB, c TEXT, v VARCHAR(9000), KEY a (a(50)), KEY c (c(700))) \
             CHARACTER SET latin1 ROW_FORMAT=DYNAMIC",
        indexes: &["PRIMARY", "a", "c"],
        rows: ROWS_LARGE,
        row: large_row,
        is_merged: true,
        ..PLAIN
    },
    ProofTable {
        name: "large_compact",
        definition: "(n INT PRIMARY KEY, a LONGTEXT, b MEDIUMBLOB, c TEXT, v VARCHAR(9000), KEY a (a(50)), KEY c (c(700))) \
             CHARACTER SET latin1 ROW_FORMAT=COMPACT",
        indexes: &["PRIMARY", "a", "c"],
        rows: ROWS_LARGE,
        row: large_row,
        ..PLAIN
    },
    ProofTable {
        name: "no_key",
        definition: "(n INT NOT NULL, x INT, w VARCHAR(60), KEY x (x), KEY w (w))",
        indexes: &["x", "w"],
        row: |n| vec![or_null(n, 71, number(n, 1, 0, 300)), or_null(n, 72, word(n, 100, 0, 60))],
        ..PLAIN
    },
    ProofTable {
        name: "unique_first",
        definition: "(n INT NOT NULL, u VARCHAR(30) NOT NULL, x INT, y INT, UNIQUE KEY u (u, n), UNIQUE KEY xy (x, y), \
             KEY y (y)) CHARACTER SET latin1",
        indexes: &["u", "xy", "y"],
        row: |n| {
            let x = if n.is_multiple_of(4) { NULL.to_owned() } else { n.to_string() };
            vec![format!("{}{n}", word(n, 1, 0, 20)), x, number(n, 2, 0, 40)]
        },
        is_merged: true,
        ..PLAIN
    },
    ProofTable {
        name: "choices",
        definition: "(n INT PRIMARY KEY, e ENUM('no','yes','maybe'), s SET('red','green','blue','black'), j LONGTEXT, \
             KEY e (e), KEY s (s, e))",
        indexes: &["PRIMARY", "e", "s"],
        row: |n| {
            let e = ["no", "yes", "maybe"][mixed(n, 1, 3) as usize].to_owned();
            let s = ["", "red", "green,blue", "red,black", "red,green,blue,black"];
            vec![
                or_null(n, 71, e),
                or_null(n, 72, s[mixed(n, 2, 5) as usize].to_owned()),
                format!("{{\"n\": {n}}}"),
            ]
        },
        ..PLAIN
    },
    ProofTable {
        name: "addresses",
        definition: "(n INT PRIMARY KEY, u UUID NOT NULL, a INET6, b INET4, UNIQUE KEY u (u), KEY a (a), KEY b (b))",
        only: Some(Flavor::MariaDb),
        since: (10, 11),
        indexes: &["PRIMARY", "u", "a", "b"],
        row: |n| {
            let of = |salt, most| mixed(n, salt, most);
            let uuid = format!(
                "{:08x}-{:04x}-4{:03x}-8{:03x}-{:04x}{n:08x}",
                of(1, 1 << 32),
                of(2, 1 << 16),
                of(3, 1 << 12),
                of(4, 1 << 12),
                of(5, 1 << 16)
            );
            let inet6 =
                format!("{:x}:{:x}::{:x}", 1 + of(6, 65_535), 1 + of(7, 65_535), 1 + of(8, 65_535));
            let inet4 = format!("{}.{}.{}.{}", of(9, 256), of(10, 256), of(11, 256), of(12, 256));
            vec![uuid, or_null(n, 71, inet6), or_null(n, 72, inet4)]
        },
        ..PLAIN
    },
    ProofTable {
        name: "descending",
        definition: "(n INT NOT NULL, x INT, w VARCHAR(30), PRIMARY KEY (n DESC), KEY x (x DESC, w), \
             UNIQUE KEY w (w DESC, n)) CHARACTER SET latin1",
        since: (10, 8),
        indexes: &["PRIMARY", "x", "w"],
        row: |n| vec![or_null(n, 71, number(n, 1, 0, 300)), or_null(n, 72, word(n, 100, 0, 30))],
        is_merged: true,
        ..PLAIN
    },
    ProofTable {
        name: "ranges",
        definition: "(n INT NOT NULL, d DATE NOT NULL, x INT, PRIMARY KEY (n, d), KEY x (x)) PARTITION BY RANGE (YEAR(d)) \
             (PARTITION a VALUES LESS THAN (1990), PARTITION b VALUES LESS THAN (2010), PARTITION c VALUES LESS THAN MAXVALUE)",
        indexes: &["PRIMARY", "x"],
        row: |n| vec![date(n, 1), or_null(n, 71, number(n, 9, 0, 500))],
        ..PLAIN
    },
    ProofTable {
        name: "by_key",
        definition: "(n INT NOT NULL, x BIGINT, PRIMARY KEY (n), KEY x (x)) PARTITION BY KEY (n) PARTITIONS 4",
        indexes: &["PRIMARY", "x"],
        row: |n| vec![or_null(n, 71, number(n, 2, 0, 500))],
        ..PLAIN
    },
    ProofTable {
        name: "by_hash",
        definition: "(n INT NOT NULL, x INT, PRIMARY KEY (n), KEY x (x)) PARTITION BY HASH (n) PARTITIONS 3",
        indexes: &["PRIMARY", "x"],
        row: |n| vec![or_null(n, 71, number(n, 2, 0, 500))],
        ..PLAIN
    },
    ProofTable {
        name: "by_linear_hash",
        definition: "(n INT NOT NULL, x INT, PRIMARY KEY (n), KEY x (x)) PARTITION BY LINEAR HASH (n) PARTITIONS 3",
        indexes: &["PRIMARY", "x"],
        row: |n| vec![or_null(n, 71, number(n, 2, 0, 500))],
        ..PLAIN
    },
    ProofTable {
        name: "lists",
        definition: "(n INT NOT NULL, x INT NOT NULL, PRIMARY KEY (n, x), KEY x (x)) PARTITION BY LIST (x) \
             (PARTITION a VALUES IN (0, 2, 5), PARTITION b VALUES IN (1, 3, 4))",
        indexes: &["PRIMARY", "x"],
        row: |n| vec![number(n, 2, 0, 6)],
        ..PLAIN
    },
    ProofTable {
        name: "columns",
        definition: "(n INT NOT NULL, w VARCHAR(30) NOT NULL, x INT, PRIMARY KEY (n, w), KEY x (x)) CHARACTER SET latin1 \
             PARTITION BY RANGE COLUMNS (w) (PARTITION a VALUES LESS THAN ('k'), PARTITION b VALUES LESS THAN (MAXVALUE))",
        indexes: &["PRIMARY", "x"],
        row: |n| vec![word(n, 1, 1, 20), or_null(n, 71, number(n, 2, 0, 500))],
        ..PLAIN
    },
    ProofTable {
        name: "altered",
        definition: "(n INT PRIMARY KEY, gone INT, w VARCHAR(60), x INT, KEY w (w), KEY x (x)) CHARACTER SET latin1",
        indexes: &["PRIMARY", "w", "x"],
        row: |n| {
            vec![
                number(n, 1, 0, 300),
                or_null(n, 71, word(n, 100, 0, 60)),
                or_null(n, 72, number(n, 2, 0, 300)),
            ]
        },
        altered: Some("DROP COLUMN gone, ADD COLUMN late INT NOT NULL DEFAULT 7 AFTER n"),
        is_merged: true,
        ..PLAIN
    },
    ProofTable {
        name: "wide",
        definition: "(n INT PRIMARY KEY, a1 INT, a2 CHAR(3), a3 VARCHAR(9), a4 DATE, a5 INT, a6 INT, a7 INT, a8 INT, a9 INT, \
             a10 INT, a11 INT, a12 VARCHAR(400), a13 VARCHAR(200), a14 INT, a15 INT, a16 INT, a17 INT, a18 INT, \
             KEY a (a1, a2, a3, a4, a5, a6, a7, a8, a9)) CHARACTER SET utf8mb4",
        indexes: &["PRIMARY", "a"],
        row: |n| {
            let field = |at: u32| match at {
                2 => word(n, at * 100, 0, 3),
                3 => word(n, at * 100, 0, 9),
                4 => date(n, at * 100),
                12 => word(n, at * 100, 0, 400),
                13 => word(n, at * 100, 0, 200),
                _ => number(n, at, -9, 9),
            };
            (1..=18).map(|at| or_null(n, at + 50, field(at))).collect()
        },
        ..PLAIN
    },
    ProofTable {
        name: "children",
        definition: "(n INT PRIMARY KEY, parent INT, x INT, KEY parent (parent), KEY x (x), CONSTRAINT of_parent \
             FOREIGN KEY (parent) REFERENCES integers (n) ON DELETE CASCADE ON UPDATE CASCADE)",
        indexes: &["PRIMARY", "parent", "x"],
        // Of the rows that the first load of its parent has; later some are gone.
        row: |n| {
            let parent = if n <= ROWS * 2 / 3 { number(n, 1, 1, 500) } else { NULL.to_owned() };
            vec![parent, number(n, 2, 0, 90)]
        },
        ..PLAIN
    },
];

/// Values up to some pages long, most of them outside the row.
fn large_row(n: u32) -> Vec<String> {
    let long = |salt: u32, most: u64| {
        let text = word(n, salt, 20, 60);
        let times = mixed(n, salt + 1, most) / text.len() as u64 + 1;
        text.repeat(usize::try_from(times).unwrap_or(1))
    };
    vec![
        or_null(n, 71, long(100, 70_000)),
        or_null(n, 72, long(200, 20_000)),
        or_null(n, 73, long(300, 9_000)),
        or_null(n, 74, long(400, 8_000)),
    ]
}
