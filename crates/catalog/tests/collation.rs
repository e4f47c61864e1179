//! Collations learned from a real server, and our keys against its indexes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use catalog::learn::{self, CollationCache, learn};
use server::{Row, Session};
use testkit::TestServer;
use values::collation::Verdict;
use values::{Charset, Collation, ConvertOptions, Converter, KeyPart, SqlType, TextType};

/// Learns every collation of the server and prints what came of it. Minutes.
#[test]
#[ignore = "survey: run it by name with --ignored --nocapture; COLLATIONS=regular.expression"]
fn survey_of_all_collations() {
    let Some(server) = TestServer::shared() else { return };
    survey(server, "full_collation_name");
}

/// Learns the collations in a column of COLLATION_CHARACTER_SET_APPLICABILITY.
pub(crate) fn survey(server: &TestServer, column: &str) {
    let mut session = server.connect().unwrap();
    let like = std::env::var("COLLATIONS").unwrap_or_else(|_| ".".to_owned());
    let sql = format!(
        "SELECT {column} FROM information_schema.collation_character_set_applicability \
         WHERE {column} RLIKE '{like}' ORDER BY 1"
    );
    let cache = CollationCache::in_dir(server.dir().join("survey"));
    for row in session.query(&sql).unwrap() {
        let name = row.text(0).unwrap();
        let begun = Instant::now();
        if name == "binary" || name.ends_with("_bin") {
            let collation = learn::collation(&mut session, &name, &cache);
            let verdict =
                collation.map_or_else(|error| error.to_string(), |_| "built in".to_owned());
            println!("{name}: {verdict}; {:.2} s", begun.elapsed().as_secs_f64());
            continue;
        }
        let data = match learn(&mut session, &name, &cache) {
            Ok(data) => data,
            Err(error) => {
                println!("{name}: {error}");
                continue;
            }
        };
        let (seconds, bytes) = (begun.elapsed().as_secs_f64(), data.to_bytes().len());
        let long = data.contractions.iter().filter(|c| c.chars.len() > 2).count();
        let verdict = match &data.verdict {
            Verdict::Exact => "exact".to_owned(),
            other => format!("{other:?}"),
        };
        println!(
            "{name}: {verdict}; {seconds:.2} s, {bytes} bytes, pad {}, {} contractions, {long} of 3 or more",
            data.pad_space,
            data.contractions.len(),
        );
    }
}

/// Prints nanoseconds per key and per comparison of 10-character strings.
#[test]
#[ignore = "measurement: run it by name in release with --ignored --nocapture"]
fn speed_of_keys() {
    let Some(server) = TestServer::shared() else { return };
    let mut session = server.connect().unwrap();
    let cache = CollationCache::of_user();
    let names = ["latin1_bin", "latin1_swedish_ci", "utf8mb4_general_ci", "utf8mb4_uca1400_ai_ci"];
    for name in names {
        let begun = Instant::now();
        let collation = learn::collation(&mut session, name, &cache).unwrap();
        let seconds = begun.elapsed().as_secs_f64();
        let mut random = Random(1);
        for (kind, alphabet) in
            [("letters", "abcdefghijklmnop"), ("words", "aeiotn "), ("accents", "ab\u{e4}\u{df}")]
        {
            let alphabet: Vec<char> = alphabet.chars().collect();
            let mut text = || -> Vec<u8> {
                let characters = (0..10).map(|_| alphabet[random.below(alphabet.len())]);
                match collation.charset() {
                    Charset::Latin1 => characters.map(|character| character as u8).collect(),
                    _ => characters.collect::<String>().into_bytes(),
                }
            };
            let texts: Vec<_> = (0..1000).map(|_| text()).collect();
            let mut out = Vec::new();
            let key_ns = least_ns(texts.len(), || {
                out.clear();
                texts.iter().for_each(|text| collation.push_key(text, &mut out).unwrap());
            });
            let compare_ns = least_ns(texts.len(), || {
                let less = texts.windows(2).filter(|t| collation.compare(&t[0], &t[1]).is_lt());
                std::hint::black_box(less.count());
            });
            println!(
                "{name}, {kind}: {key_ns:.1} ns a key, {compare_ns:.1} ns a comparison, \
                 ready in {seconds:.3} s"
            );
        }
    }
}

/// Nanoseconds an item takes in the fastest of many rounds: other work only ever adds.
fn least_ns(items: usize, mut round: impl FnMut()) -> f64 {
    let seconds = (0..400).map(|_| {
        let begun = Instant::now();
        round();
        begun.elapsed().as_secs_f64()
    });
    seconds.fold(f64::INFINITY, f64::min) * 1e9 / items as f64
}

/// The collations the first version promises.
#[test]
fn keys_order_as_innodb_indexes() {
    let promised = [
        "latin1_bin",
        "latin1_swedish_ci",
        "utf8mb4_bin",
        "utf8mb4_general_ci",
        "utf8mb4_unicode_ci",
        "utf8mb4_uca1400_ai_ci",
    ];
    let Some(server) = TestServer::shared() else { return };
    compare_with_indexes(server, &promised, 20_000);
}

/// One or two of every other family: no padding, expansions of 8-bit sets, contractions.
#[test]
fn keys_of_other_families_order_as_innodb_indexes() {
    let others = [
        "ascii_general_ci",
        "ascii_bin",
        "latin1_german2_ci",
        "latin1_swedish_nopad_ci",
        "latin1_nopad_bin",
        "utf8mb3_general_ci",
        "utf8mb3_unicode_ci",
        "utf8mb3_bin",
        "utf8mb4_nopad_bin",
        "utf8mb4_general_nopad_ci",
        "utf8mb4_unicode_nopad_ci",
        "utf8mb4_unicode_520_ci",
        "utf8mb4_uca1400_nopad_ai_ci",
        "utf8mb4_czech_ci",
        "utf8mb4_uca1400_croatian_ai_ci",
    ];
    let Some(server) = TestServer::shared() else { return };
    compare_with_indexes(server, &others, 4000);
}

/// Several levels, 8-bit sets with their own padding, East Asian and wide sets.
///
/// `INRUSH_ALL_COLLATIONS=regular.expression` tries all the server's collations of such names
/// instead; those that are refused are printed.
#[test]
fn keys_of_learned_sets_order_as_innodb_indexes() {
    let few = [
        "utf8mb4_uca1400_nopad_as_cs",
        "ucs2_uca1400_as_ci",
        "utf16_bin",
        "utf16le_nopad_bin",
        "utf32_general_nopad_ci",
        "latin7_general_ci",
        "koi8r_general_ci",
        "sjis_japanese_ci",
        "gbk_chinese_nopad_ci",
        "big5_chinese_ci",
        "ujis_japanese_nopad_ci",
        "eucjpms_bin",
    ];
    let Some(server) = TestServer::shared() else { return };
    let Ok(like) = std::env::var("INRUSH_ALL_COLLATIONS") else {
        return compare_with_indexes(server, &few, 1500);
    };
    let mut session = server.connect().unwrap();
    let sql = format!(
        "SELECT full_collation_name FROM information_schema.collation_character_set_applicability \
         WHERE full_collation_name <> 'binary' AND full_collation_name RLIKE '{like}' ORDER BY 1"
    );
    let names = session.query(&sql).unwrap();
    let names: Vec<String> = names.iter().map(|row| row.text(0).unwrap()).collect();
    let cache = CollationCache::in_dir(server.dir().join("collations"));
    let learned = names.iter().filter(|name| match learn::collation(&mut session, name, &cache) {
        Err(server::Error::Collation(why)) => {
            println!("refused: {why}");
            false
        }
        collation => collation.is_ok(),
    });
    let learned: Vec<&str> = learned.map(String::as_str).collect();
    println!("{} of {} are learned", learned.len(), names.len());
    compare_with_indexes(server, &learned, 1500);
}

/// Fills a table with random text and reads its indexes in their order.
pub(crate) fn compare_with_indexes(server: &TestServer, collations: &[&str], rows: usize) {
    let mut session = server.connect().unwrap();
    let database = server.database().unwrap();
    session.exec(&format!("USE {database}")).unwrap();
    let cache = CollationCache::in_dir(server.dir().join("collations"));
    for name in collations {
        let begun = Instant::now();
        let collation = learn::collation(&mut session, name, &cache).unwrap();
        let table = Table::random(collation, rows);
        let rows = table.rows.len();
        table.create(&mut session);
        for (index, parts) in table.indexes() {
            let sql = format!("HANDLER t READ {index} FIRST LIMIT {rows}");
            let server: Vec<usize> =
                session.query(&sql).unwrap().iter().map(|row| row.number(0).unwrap()).collect();
            let keys: Vec<_> = (0..rows).map(|id| table.key(&parts, id)).collect();
            let mut ours: Vec<usize> = (0..rows).collect();
            ours.sort_by(|&a, &b| keys[a].cmp(&keys[b]));
            if let Some(at) = (0..rows).find(|&i| server[i] != ours[i]) {
                let (a, b) = (&table.rows[server[at]], &table.rows[ours[at]]);
                panic!("{name}, index {index}, entry {at}: the server has {a:x?}, we have {b:x?}");
            }
        }
        for (column, index) in [("v", "by_v"), ("c", "by_c")] {
            table.compare_groups(&mut session, column, index);
        }
        session.exec("HANDLER t CLOSE").unwrap();
        session.exec("DROP TABLE t").unwrap();
        println!("{name}: {rows} rows in {:.1} s", begun.elapsed().as_secs_f64());
    }
}

/// Rows of `t`: n INT NULL, v VARCHAR(40) NULL, c CHAR(12) NOT NULL.
struct Table {
    collation: Arc<Collation>,
    rows: Vec<TableRow>,
}

#[derive(Debug)]
struct TableRow {
    n: Option<i32>,
    v: Option<Vec<u8>>,
    c: Vec<u8>,
}

/// Columns of an index: the part, and what of a row it takes.
type Parts = Vec<(KeyPart, Stored)>;
type Stored = fn(&Table, &TableRow) -> Option<Vec<u8>>;

impl Table {
    fn random(collation: Arc<Collation>, rows: usize) -> Table {
        let mut random = Random(rows as u64 + 1);
        let charset = collation.charset();
        let rows = (0..rows).map(|_| {
            let n = (random.below(9) > 0).then(|| random.below(50) as i32 - 25);
            let v = random.text(charset, 40);
            let c = random.text(charset, 12);
            TableRow { n, v: (random.below(50) > 0).then_some(v), c }
        });
        let mut table = Table { rows: rows.collect(), collation };
        table.drop_rows_without_order();
        table
    }

    /// Some CHAR values of NO PAD collations have no order on the server either.
    fn drop_rows_without_order(&mut self) {
        let keyed = |row: &TableRow| {
            let stored = self.stored_c(row);
            let texts = [self.cut(&stored, 2), stored];
            texts.iter().all(|text| self.collation.push_trimmed_key(text, &mut Vec::new()).is_ok())
        };
        let keep: Vec<bool> = self.rows.iter().map(keyed).collect();
        let mut keep = keep.into_iter();
        self.rows.retain(|_| keep.next() == Some(true));
    }

    fn create(&self, session: &mut Session) {
        let text = format!(
            "CHARACTER SET {} COLLATE {}",
            self.collation.charset().name(),
            self.collation.name()
        );
        let sql = format!(
            "CREATE TABLE t (id INT PRIMARY KEY, n INT, v VARCHAR(40) {text}, \
             c CHAR(12) {text} NOT NULL, KEY by_v (v), KEY by_v_down_n (v DESC, n), \
             KEY by_n_v (n, v), KEY by_v_prefix (v(3)), KEY by_c (c), \
             KEY by_c_prefix_down_n_down (c(2) DESC, n DESC)) ENGINE=InnoDB"
        );
        session.exec(&sql).unwrap();
        let hex = |text: &[u8]| {
            let digits: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("_{} x'{digits}'", self.collation.charset().name())
        };
        let null = || "NULL".to_owned();
        for (batch, first) in self.rows.chunks(1000).zip((0..).step_by(1000)) {
            let row = |(row, id): (&TableRow, usize)| {
                let n = row.n.map_or_else(null, |n| n.to_string());
                let v = row.v.as_deref().map_or_else(null, hex);
                format!("({id},{n},{v},{})", hex(&row.c))
            };
            let values: Vec<_> = batch.iter().zip(first..).map(row).collect();
            session.exec(&format!("INSERT INTO t VALUES {}", values.join(","))).unwrap();
        }
        session.exec("HANDLER t OPEN").unwrap();
    }

    fn indexes(&self) -> Vec<(&'static str, Parts)> {
        let charset = self.collation.charset();
        let text = TextType { charset, collation: self.collation.name().to_owned() };
        let part = |sql_type: &SqlType, nullable, descending| {
            KeyPart::new(sql_type, Some(self.collation.clone()), nullable, descending)
        };
        let varchar = SqlType::VarChar { chars: 40, text: text.clone() };
        let char = SqlType::Char { chars: 12, text };
        let int = SqlType::Integer { bytes: 4, unsigned: false };
        let n = |down| (part(&int, true, down), (|_, row| row.stored_n()) as Stored);
        let v = |down| (part(&varchar, true, down), (|_, row| row.v.clone()) as Stored);
        let c_down = part(&char, false, true).with_prefix(2);
        let v_3 = part(&varchar, true, false).with_prefix(3);
        vec![
            ("by_v", vec![v(false)]),
            ("by_v_down_n", vec![v(true), n(false)]),
            ("by_n_v", vec![n(false), v(false)]),
            ("by_v_prefix", vec![(v_3, |table, row| Some(table.cut(row.v.as_ref()?, 3)))]),
            ("by_c", vec![(part(&char, false, false), |table, row| Some(table.stored_c(row)))]),
            (
                "by_c_prefix_down_n_down",
                vec![(c_down, |table, row| Some(table.cut(&table.stored_c(row), 2))), n(true)],
            ),
        ]
    }

    /// Key of a row, the primary key at its end as InnoDB has it.
    fn key(&self, parts: &Parts, id: usize) -> Vec<u8> {
        let mut key = Vec::new();
        for (part, stored) in parts {
            let stored = stored(self, &self.rows[id]);
            part.push(stored.as_deref(), &mut key).unwrap();
        }
        key.extend((id as u32).to_be_bytes());
        key
    }

    fn cut(&self, stored: &[u8], chars: usize) -> Vec<u8> {
        stored[..self.collation.prefix_bytes(stored, chars)].to_vec()
    }

    /// CHAR(12): padded with spaces to 12 characters (8-bit) or at least 12 bytes; in ucs2 and its
    /// like to the bytes of 12 of the longest characters.
    fn stored_c(&self, row: &TableRow) -> Vec<u8> {
        let charset = self.collation.charset();
        let mut stored = row.c[..charset.trimmed_len(&row.c)].to_vec();
        let least = match charset.char_bytes_min() {
            1 => 12,
            _ => 12 * charset.char_bytes_max(),
        };
        while stored.len() < least {
            stored.extend_from_slice(charset.space());
        }
        stored
    }

    /// Which rows the server calls equal.
    fn compare_groups(&self, session: &mut Session, column: &str, index: &str) {
        let sql = format!(
            "SELECT MIN(id), COUNT(*) FROM t FORCE INDEX ({index}) GROUP BY {column} ORDER BY 1"
        );
        let group = |row: &Row| (row.number(0).unwrap(), row.number(1).unwrap());
        let server: Vec<(usize, usize)> = session.query(&sql).unwrap().iter().map(group).collect();
        let (_, parts) = self.indexes().into_iter().find(|(name, _)| *name == index).unwrap();
        let mut groups: HashMap<Vec<u8>, (usize, usize)> = HashMap::new();
        for id in 0..self.rows.len() {
            let mut key = self.key(&parts, id);
            key.truncate(key.len() - 4);
            groups.entry(key).or_insert((id, 0)).1 += 1;
        }
        let mut ours: Vec<_> = groups.into_values().collect();
        ours.sort_unstable();
        assert_eq!(server, ours, "{}, groups of {column}", self.collation.name());
    }
}

impl TableRow {
    /// INT: big-endian, sign bit flipped.
    fn stored_n(&self) -> Option<Vec<u8>> {
        self.n.map(|n| (n as u32 ^ 1 << 31).to_be_bytes().to_vec())
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// Text of at most `chars_max` characters, of few kinds each, often ending in spaces.
    fn text(&mut self, charset: Charset, chars_max: usize) -> Vec<u8> {
        const KINDS: [&str; 12] = [
            "aAbB ",
            "\u{0}\u{1}\t\n !",
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -_.",
            "cChHdDzZ\u{17e}\u{17d}lLnNjJ\u{b7}aA",
            "\u{c4}\u{e4}\u{e5}\u{df}\u{e6}\u{d0}\u{fe}\u{ff}\u{a0}\u{ad}sSaAeE",
            "a\u{300}e\u{301}\u{308}\u{200b}\u{feff}\u{2060}\u{34f}",
            "\u{418}\u{438}\u{306}\u{439}\u{419}\u{430}\u{42f}",
            "\u{e40}\u{e44}\u{e01}\u{e02}\u{e2d}\u{ec0}\u{e81}a",
            "\u{627}\u{653}\u{654}\u{655}\u{648}\u{64a}\u{fdfa}",
            "\u{cc6}\u{cc2}\u{cd5}\u{fb2}\u{f71}\u{f80}\u{f72}\u{1025}\u{102e}",
            "\u{4e00}\u{4e8c}\u{ac00}\u{3042}\u{30a2}\u{ff21}\u{fb01}\u{3300}\u{2160}",
            "\u{1f600}\u{1f601}\u{10400}\u{10428}\u{1d400}\u{20000}\u{10ffff}\u{e0001}\u{fffd}\u{d7ff}",
        ];
        let usable = match charset {
            Charset::Utf8mb3 | Charset::Ucs2 => 11,
            _ if charset.is_unicode() => 12,
            Charset::Learned(_) => 11,
            _ => 5,
        };
        let kinds = [KINDS[self.below(usable)], KINDS[self.below(usable)]];
        let mut text = Vec::new();
        let chars = if self.below(5) == 0 { self.below(chars_max + 1) } else { self.below(5) };
        for _ in 0..chars {
            let kind = kinds[self.below(2)];
            let pick = self.below(kind.chars().count());
            let character = kind.chars().nth(pick).unwrap_or(' ');
            match charset {
                Charset::Learned(table) if self.below(3) == 0 => {
                    let characters = &table.data().characters;
                    charset.push_char(characters[self.below(characters.len())].0, &mut text);
                }
                Charset::Learned(_) => {
                    if !charset.push_unicode(character.into(), &mut text) {
                        charset.push_unicode(u32::from(b'a') + pick as u32 % 26, &mut text);
                    }
                }
                _ if charset.is_unicode() => {
                    charset.push_unicode(character.into(), &mut text);
                }
                Charset::Ascii => text.push(character as u8 & 0x7f),
                _ if self.below(9) == 0 => text.push(self.below(256) as u8),
                _ => text.push(character as u8),
            }
        }
        let spaces = if self.below(3) == 0 { self.below(4).min(chars_max - chars) } else { 0 };
        text.extend(charset.space().repeat(spaces));
        text
    }
}

#[test]
fn white_space_of_a_learned_set_is_known() {
    let Some(server) = TestServer::shared() else { return };
    let mut session = server.connect().unwrap();
    for name in ["sjis", "latin2"] {
        let charset = learn::charset(&mut session, name, &CollationCache::none()).unwrap();
        let text = TextType { charset, collation: format!("{name}_bin") };
        let sql_type = SqlType::VarChar { chars: 1, text };
        let options = ConvertOptions { file_charset: charset, ..ConvertOptions::default() };
        let mut converter = Converter::new("a", &sql_type, &options).unwrap();
        // White space that does not fit is cut off, other text is refused.
        for (bytes, fits) in [(b"x \t", true), (b"x a", false), (b"x .", false)] {
            assert_eq!(converter.convert(bytes, &mut Vec::new()).is_ok(), fits, "{name} {bytes:?}");
        }
    }
    let notes = session.query_row("SELECT @@SESSION.sql_notes").unwrap();
    assert_eq!(notes.text(0).unwrap(), "1");
}
