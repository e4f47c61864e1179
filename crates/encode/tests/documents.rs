//! JSON documents of MySQL: our bytes beside those that the server stores, for random texts.
//!
//! Runs where INRUSH_TEST_MYSQLD names a `mysqld`. INRUSH_DOCUMENTS is the number of texts, INRUSH_SEED
//! gives other ones.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;

use innodb::blob::BlobReference;
use innodb::cfg::Cfg;
use innodb::ids::PageNo;
use innodb::reader::SpaceReader;
use innodb::record::RecordShape;
use innodb::space_format::SpaceFormat;
use innodb::value_reader::ValueReader;
use server::Session;
use testkit::TestServer;
use values::decode::Decoder;
use values::{ConvertOptions, Converter, Reason, SqlType};

/// Texts of a plain run.
const DOCUMENTS: u64 = 20_000;
/// Texts that are loaded at once.
const BATCH: u64 = 20_000;
/// Texts that JSON_VALID refuses and that are stored one by one, of each batch.
const TRIED_MAX: usize = 300;
/// Differences that are shown.
const SHOWN_MAX: usize = 10;

#[test]
fn documents_are_those_of_the_server() {
    let Some((server, mut session)) = start() else { return };
    let number = |name, default| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (count, seed) = (number("INRUSH_DOCUMENTS", DOCUMENTS), number("INRUSH_SEED", 1));
    let mut random = Random::new(seed);
    let (mut differences, mut valid) = (Vec::new(), 0);
    for _ in 0..count.div_ceil(BATCH) {
        let texts: Vec<String> = (0..count.min(BATCH)).map(|_| random.text()).collect();
        let ours = converted(&texts);
        load(&server, &mut session, &texts, &ours);
        let stored = exported(&server, &mut session);
        valid += stored.len();
        compare(&texts, &ours, &stored, &mut differences);
        compare_shown(&mut session, &stored, &mut differences);
    }
    println!("seed {seed}: {count} texts, {valid} documents");
    assert!(differences.is_empty(), "{differences:#?}");
    assert!(valid as u64 > count / 2, "most texts are valid: {valid}");
}

fn converted(texts: &[String]) -> Vec<Result<Vec<u8>, Reason>> {
    let options = ConvertOptions::default();
    let mut converter = Converter::new("doc", &SqlType::Document, &options).unwrap();
    let mut convert = |text: &String| {
        let mut out = Vec::new();
        converter.convert(text.as_bytes(), &mut out).map(|()| out)
    };
    texts.iter().map(&mut convert).collect()
}

fn compare(
    texts: &[String],
    ours: &[Result<Vec<u8>, Reason>],
    stored: &BTreeMap<u32, Vec<u8>>,
    differences: &mut Vec<String>,
) {
    for ((id, text), ours) in (1..).zip(texts).zip(ours) {
        let is_same = match (ours, stored.get(&id)) {
            (Ok(ours), Some(stored)) => stored == ours,
            (Err(_), None) => true,
            (Ok(_), None) | (Err(_), Some(_)) => false,
        };
        if !is_same && differences.len() < SHOWN_MAX {
            let of_server = stored.get(&id).map(|bytes| bytes.escape_ascii().to_string());
            let ours = ours.as_ref().map(|bytes| bytes.escape_ascii().to_string());
            let shown = format!("{text:?}\n ours {ours:?}\n of the server {of_server:?}");
            differences.push(shown.chars().take(2000).collect());
        }
    }
}

/// Compares the texts of stored documents with those of the server.
fn compare_shown(
    session: &mut Session,
    stored: &BTreeMap<u32, Vec<u8>>,
    differences: &mut Vec<String>,
) {
    let decoder = Decoder::new(&SqlType::Document).unwrap();
    let rows = session.query("SELECT id, CAST(doc AS CHAR) FROM t").unwrap();
    assert_eq!(rows.len(), stored.len());
    for row in &rows {
        let mut text = Vec::new();
        let id: u32 = row.text(0).unwrap().parse().unwrap();
        let decoded = decoder.decode(&stored[&id], &mut text);
        let of_server = row.bytes(1).unwrap();
        if (decoded.is_err() || text != of_server) && differences.len() < SHOWN_MAX {
            let shown =
                |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(900)]).into_owned();
            let (ours, of_server) = (shown(&text), shown(of_server));
            differences
                .push(format!("{decoded:?} shown\n ours {ours}\n of the server {of_server}"));
        }
    }
}

#[test]
fn values_of_sql_types_are_shown_as_by_the_server() {
    let Some((server, mut session)) = start() else { return };
    for sql in [
        "CREATE TABLE t (id INT PRIMARY KEY, doc JSON)",
        "SET cte_max_recursion_depth=100000",
        "INSERT INTO t WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < 5000) \
         SELECT n, JSON_ARRAY(CAST((RAND() - 0.5) * POW(10, n % 30) AS DECIMAL(40,5)), \
         CAST(RAND() AS DECIMAL(9,9)), CAST(-n AS DECIMAL(65,30)), (RAND() - 0.5) * POW(10, n % 40 - 20), \
         TIMESTAMPADD(MICROSECOND, n * 1234567890123, TIMESTAMP'1990-01-02 03:04:05.678901'), \
         TIMESTAMPADD(DAY, n, DATE'1000-01-01'), SEC_TO_TIME(n * 7.123457 - 10000), \
         RANDOM_BYTES(1 + n % 200), CAST(n AS UNSIGNED), b'101', JSON_OBJECT('a', n, 'b', NULL), \
         TIME'-838:59:59', TIMESTAMP'0000-00-00 00:00:00') FROM s",
        "UPDATE t SET doc = JSON_SET(doc, '$[0]', 'x', '$[10].c', 1.50) WHERE id % 3 = 0",
        "UPDATE t SET doc = JSON_REPLACE(doc, '$[7]', 'shorter', '$[10].a', 'y') WHERE id % 5 = 0",
    ] {
        session.exec(sql).unwrap();
    }
    let mut differences = Vec::new();
    let stored = exported(&server, &mut session);
    compare_shown(&mut session, &stored, &mut differences);
    assert!(differences.is_empty(), "{differences:#?}");
}

fn start() -> Option<(TestServer, Session)> {
    let arguments = ["--secure-file-priv=", "--skip-log-bin", "--sql-mode=STRICT_ALL_TABLES"];
    let server = TestServer::mysql(arguments.map(str::to_owned).into())?;
    let mut session = server.connect().unwrap();
    session.exec("CREATE DATABASE d").unwrap();
    session.exec("USE d").unwrap();
    Some((server, session))
}

/// Has the server store the texts that it accepts, by their place from 1 on, in the table `t`.
fn load(
    server: &TestServer,
    session: &mut Session,
    texts: &[String],
    ours: &[Result<Vec<u8>, Reason>],
) {
    let file = server.dir().join("texts");
    let mut lines = Vec::new();
    for text in texts {
        for byte in text.bytes() {
            match byte {
                0 => lines.extend_from_slice(b"\\0"),
                b'\t' | b'\n' | b'\\' => lines.extend_from_slice(&[b'\\', byte]),
                byte => lines.push(byte),
            }
        }
        lines.push(b'\n');
    }
    std::fs::write(&file, lines).unwrap();
    for sql in [
        "DROP TABLE IF EXISTS raw, t",
        "CREATE TABLE raw (id INT PRIMARY KEY AUTO_INCREMENT, text LONGTEXT CHARACTER SET utf8mb4)",
        "CREATE TABLE t (id INT PRIMARY KEY, doc JSON)",
        &format!(
            "LOAD DATA INFILE '{}' INTO TABLE raw CHARACTER SET utf8mb4 (text)",
            file.display()
        ),
        "INSERT INTO t SELECT id, text FROM raw WHERE JSON_VALID(text)",
    ] {
        session.exec(sql).unwrap();
    }
    // JSON_VALID refuses some numbers near the largest double that the column accepts.
    let mut tried = 0;
    let rows = session.query("SELECT id FROM raw WHERE NOT JSON_VALID(text)").unwrap();
    for row in &rows {
        let id: usize = row.text(0).unwrap().parse().unwrap();
        if ours[id - 1].is_ok() || tried < TRIED_MAX {
            tried += 1;
            let one = format!("INSERT INTO t SELECT id, text FROM raw WHERE id = {id}");
            let _ = session.exec(&one);
        }
    }
}

/// The stored documents of the table `t`.
fn exported(server: &TestServer, session: &mut Session) -> BTreeMap<u32, Vec<u8>> {
    session.exec("FLUSH TABLES t FOR EXPORT").unwrap();
    let read = |suffix| std::fs::read(server.datadir().join("d").join(format!("t.{suffix}")));
    let documents = documents(&read("ibd").unwrap(), &Cfg::parse(&read("cfg").unwrap()).unwrap());
    session.exec("UNLOCK TABLES").unwrap();
    documents
}

fn documents(ibd: &Vec<u8>, cfg: &Cfg) -> BTreeMap<u32, Vec<u8>> {
    let reader = SpaceReader::open(ibd, ibd.len() as u64).unwrap();
    let shape = RecordShape::leaf(cfg, &cfg.indexes[0]).unwrap();
    let mut records = reader.records(PageNo(cfg.indexes[0].root), &shape).unwrap();
    let (mut values, mut documents) = (ValueReader::default(), BTreeMap::new());
    // id, two system columns, doc.
    let doc = 3;
    while let Some(record) = records.advance().unwrap() {
        let id = u32::from_be_bytes(record.field(0).unwrap().try_into().unwrap()) ^ 1 << 31;
        let mut document = record.field(doc).unwrap().to_vec();
        if record.fields[doc].is_external {
            let reference = BlobReference::at_end(&document).unwrap();
            document.truncate(document.len() - size_of::<BlobReference>());
            values.read(SpaceFormat::MySql, ibd, &reference, &mut document).unwrap();
        }
        documents.insert(id, document);
    }
    documents
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    /// A text, valid or nearly so.
    fn text(&mut self) -> String {
        let mut text = String::new();
        // Long ones are about as large as the small format allows.
        let long = if self.chance(300) { 60_000 + self.below(12_000) } else { 0 };
        let depth = if self.chance(50) { self.below(98) } else { self.below(5) };
        self.value(depth, long, &mut text);
        if self.chance(5) {
            self.damage(&mut text);
        }
        text
    }

    /// Replaces, removes or adds a piece at a few places.
    fn damage(&mut self, text: &mut String) {
        for _ in 0..=self.below(3) {
            let mut at = self.below(text.len().min(200) + 1).min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let end = text[at..].chars().next().map_or(at, |next| at + next.len_utf8());
            let end = if self.chance(2) { at } else { end };
            let piece = if self.chance(4) { "" } else { self.pick(PIECES) };
            text.replace_range(at..end, piece);
        }
    }

    fn space(&mut self, out: &mut String) {
        if self.chance(6) {
            out.push_str(self.pick(&[" ", "\t", "\n", "\r", "  ", " \r\n "]));
        }
    }

    fn value(&mut self, depth: usize, long: usize, out: &mut String) {
        self.space(out);
        match self.below(if depth == 0 && long == 0 { 8 } else { 11 }) {
            0 => out.push_str(self.pick(&["null", "true", "false"])),
            1..=3 if long == 0 => self.number(out),
            1..=7 => self.string(long, out),
            8 | 9 => self.object(depth.saturating_sub(1), long, out),
            _ => self.array(depth.saturating_sub(1), long, out),
        }
        self.space(out);
    }

    fn array(&mut self, depth: usize, long: usize, out: &mut String) {
        let many = long > 0 && self.chance(3);
        let count = if many { long / 8 + self.below(9000) } else { self.below(6) };
        out.push('[');
        for n in 0..count {
            if n > 0 {
                out.push(',');
            }
            let is_deep = n == 0 && !many;
            let (depth, long) = if is_deep { (depth, long) } else { (depth.min(2), 0) };
            self.value(if many { 0 } else { depth }, long, out);
        }
        self.space(out);
        out.push(']');
    }

    fn object(&mut self, depth: usize, long: usize, out: &mut String) {
        let many = long > 0 && self.chance(3);
        let count = if many { long / 20 + self.below(4000) } else { self.below(6) };
        out.push('{');
        for n in 0..count {
            if n > 0 {
                out.push(',');
            }
            self.space(out);
            let long_key = if long > 0 && self.chance(9) { 65_000 } else { 0 };
            match self.below(4) {
                0 => out.push_str(&format!("\"{}\"", self.pick(&["a", "b", "ab", "\u{e9}", ""]))),
                _ => self.string(long_key, out),
            }
            self.space(out);
            out.push(':');
            let (depth, long) = if n == 0 && !many { (depth, long) } else { (depth.min(2), 0) };
            self.value(if many { 0 } else { depth }, long, out);
        }
        self.space(out);
        out.push('}');
    }

    fn string(&mut self, long: usize, out: &mut String) {
        out.push('"');
        if long > 0 {
            out.extend(std::iter::repeat_n('x', long - self.below(300)));
        }
        let count = match self.below(20) {
            0 => self.below(400),
            1..=9 => self.below(3),
            _ => self.below(12),
        };
        for _ in 0..count {
            match self.below(12) {
                0 => out.push_str(self.pick(ESCAPES)),
                1 => out.push_str(self.pick(&["\u{e9}", "\u{20ac}", "\u{1f600}", "\u{7f}", "'"])),
                2 => out.push_str(&format!("\\u{:04x}", self.below(0xd800))),
                _ => out.push(char::from(b'a' + self.below(26) as u8)),
            }
        }
        out.push('"');
    }

    fn number(&mut self, out: &mut String) {
        if self.chance(3) {
            out.push('-');
        }
        match self.below(8) {
            0 => return out.push_str(self.pick(LIMITS)),
            1 => out.push('0'),
            2..=4 => out.push_str(&self.below(100_000).to_string()),
            _ => {
                out.push(char::from(b'1' + self.below(9) as u8));
                self.digits(24, out);
            }
        }
        if self.chance(3) {
            out.push('.');
            out.push(char::from(b'0' + self.below(10) as u8));
            self.digits(22, out);
        }
        if self.chance(5) {
            out.push_str(self.pick(&["e", "E", "e+", "e-", "E-"]));
            let exponent = if self.chance(9) { self.below(400) } else { self.below(30) };
            out.push_str(&exponent.to_string());
        }
    }

    fn digits(&mut self, max: usize, out: &mut String) {
        let same = self.chance(5).then(|| self.pick(&["0", "9"]));
        for _ in 0..self.below(max) {
            let digit = char::from(b'0' + self.below(10) as u8);
            out.push_str(same.unwrap_or(digit.encode_utf8(&mut [0; 4])));
        }
    }
}

const ESCAPES: &[&str] = &[
    "\\\"",
    "\\\\",
    "\\/",
    "\\b",
    "\\f",
    "\\n",
    "\\r",
    "\\t",
    "\\u0000",
    "\\ud83d\\ude00",
    "\\uFfFf",
    "\\uD800\\uDC00",
];

const PIECES: &[&str] = &[
    "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud800", "\\udc00", "0", "1", "-", "+", ".",
    "e", "E5", "e400", "null", "true", "\0", "\t", "\n", "\u{1}", "\u{b}", " ", "'", "/", "\u{e9}",
    "\u{feff}", "NaN", "\\'", "\\u12g4", "//", "t", "\u{2028}",
];

const LIMITS: &[&str] = &[
    "32767",
    "32768",
    "32769",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "2147483649",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "0.0",
    "0e308",
    "0e309",
    "1e308",
    "1e309",
    "1.7976931348623157e308",
    "1.7976931348623158e308",
    "1.7976931348623159e308",
    "2.2250738585072011e-308",
    "5e-324",
    "2e-324",
    "3e-324",
    "9007199254740993",
    "9007199254740993.0",
    "0.1",
    "1e23",
    "100000000000000000000000",
];
