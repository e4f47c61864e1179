//! JSON: the same table, by every path, as from the same rows as text.

use std::fmt::Write as _;

use load::{LoadOptions, LoadPath};
use sources::Dialect;
use testkit::Random;
use testkit::tables::server::{Db, Server};

const ROWS: usize = 6_000;

const TABLE: &str = "id BIGINT PRIMARY KEY, small SMALLINT UNSIGNED DEFAULT 7, price DECIMAL(30,10), weight DOUBLE, \
    ratio FLOAT, flag TINYINT(1) NOT NULL DEFAULT 1, word VARCHAR(40) CHARACTER SET utf8mb4 DEFAULT 'none', \
    latin VARCHAR(60) CHARACTER SET latin1, day DATE, since DATETIME(6), span TIME(3), kind ENUM('a', 'true', 'c'), \
    doc JSON, bits BIT(5), raw VARBINARY(20), KEY (small, word), UNIQUE KEY (word, id)";

/// A field in both forms.
struct Field {
    name: &'static str,
    /// None is a field that the record lacks.
    json: Option<String>,
    /// As LOAD DATA reads it.
    text: String,
}

fn field(name: &'static str, json: impl Into<String>, text: impl Into<String>) -> Field {
    Field { name, json: Some(json.into()), text: text.into() }
}

/// A string of JSON: some characters as escapes that need none.
fn quoted(text: &str, random: &mut Random) -> String {
    let mut json = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            '\n' => json.push_str("\\n"),
            '\t' => json.push_str("\\u0009"),
            c if random.below(5) == 0 => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(json, "\\u{unit:04x}");
                }
            }
            c => json.push(c),
        }
    }
    json.push('"');
    json
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
}

fn string(name: &'static str, text: &str, random: &mut Random) -> Field {
    field(name, quoted(text, random), escaped(text))
}

fn record(id: usize, random: &mut Random) -> Vec<Field> {
    let mut number = |below: usize| random.below(below);
    let digits = format!("-{}.{:010}", number(1 << 50), number(1_000_000_000));
    let (real, share) = (number(1 << 40) as f64 / 1024.0, number(4096) as f32 / 64.0);
    let (small, flag, bits) = (number(65_536), number(2), number(10));
    let day = format!("20{:02}-{:02}-{:02}", number(100), number(12) + 1, number(28) + 1);
    let clock = format!("{:02}:{:02}:{:02}", number(24), number(60), number(60));
    let words = ["", "x", "caf\u{e9}", "\u{1f600} \\ \"q\"", "tab\there\nline", "NULL", "\\N"];
    let word = format!("{}{}", words[number(words.len())], number(1000));
    let nested = format!("{{\"k\": [1, \"{}\", null, {{}}], \"n\": {digits}}}", number(9));
    let documents = ["[]", "\"a\"", "12", "true", &nested];
    let document = documents[number(documents.len())].to_owned();
    let mut fields = vec![
        field("small", small.to_string(), small.to_string()),
        field("price", &digits, &digits),
        field("weight", format!("{real:e}"), format!("{real:e}")),
        field("ratio", share.to_string(), share.to_string()),
        field("flag", if flag == 1 { "true" } else { "false" }, flag.to_string()),
        string("word", &word, random),
        string("latin", &format!("\u{fc}{id}"), random),
        string("day", &day, random),
        string("since", &format!("{day} {clock}.12"), random),
        string("span", &format!("-{clock}.5"), random),
        field("kind", ["\"c\"", "true", "\"a\""][id % 3], ["c", "true", "a"][id % 3]),
        field("doc", &document, escaped(&document)),
        field("bits", bits.to_string(), escaped(&char::from(bits as u8).to_string())),
        string("raw", &format!("r{id}"), random),
    ];
    let defaults = [("small", "7"), ("flag", "1"), ("word", "none")];
    for field in &mut fields {
        match random.below(9) {
            0 => {
                let default = defaults.iter().find(|(name, _)| *name == field.name);
                (field.json, field.text) =
                    (None, default.map_or("\\N", |(_, text)| text).to_owned());
            }
            1 if field.name != "flag" => {
                (field.json, field.text) = (Some("null".to_owned()), "\\N".to_owned());
            }
            _ => {}
        }
    }
    fields.insert(0, field("id", id.to_string(), id.to_string()));
    fields
}

/// The rows as records, in any order of fields, and as lines of LOAD DATA.
fn files() -> (Vec<String>, String) {
    let mut random = Random::new(35);
    let (mut records, mut lines) = (Vec::new(), String::new());
    for row in 0..ROWS {
        let mut fields = record(row * 7919 % ROWS, &mut random);
        let texts: Vec<&str> = fields.iter().map(|field| field.text.as_str()).collect();
        lines += &(texts.join("\t") + "\n");
        if random.below(3) == 0 {
            fields.reverse();
        }
        let blank = [" ", "", "  "][random.below(3)];
        let pairs = fields.iter().filter_map(|Field { name, json, .. }| {
            Some(format!("\"{name}\":{blank}{}", json.as_ref()?))
        });
        records.push(format!("{{{}}}", pairs.collect::<Vec<_>>().join(&format!(",{blank}"))));
    }
    (records, lines)
}

fn checksum(db: &mut Db, table: &str) -> String {
    db.sql(&format!("CHECK TABLE {table} EXTENDED"));
    db.rows(&format!("CHECKSUM TABLE {table}"))[0].text(1).unwrap()
}

#[test]
fn records_are_loaded_as_the_same_rows_as_text() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let (records, lines) = files();
    let text = server.file(&db, "rows.tsv", lines.into_bytes());
    db.sql(&format!("CREATE TABLE a ({TABLE})"));
    db.sql(&format!("LOAD DATA INFILE '{}' INTO TABLE a CHARACTER SET utf8mb4", text.display()));
    let expected = checksum(&mut db, "a");
    let a_line = server.file(&db, "rows.jsonl", records.join("\n").into_bytes());
    let array = server.file(&db, "rows.json", format!("[{}]", records.join(",\n")).into_bytes());
    for path in [LoadPath::Direct, LoadPath::Stream, LoadPath::Insert] {
        for (file, is_lines) in [(&a_line, true), (&array, false)] {
            db.sql(&format!("CREATE OR REPLACE TABLE b ({TABLE})"));
            let mut options = LoadOptions { path, ..server.options(&db, "b", vec![file.clone()]) };
            options.input.dialect = Dialect::json(is_lines);
            let report = load::load(&server.connect_options(), &options, None, &()).unwrap();
            assert_eq!((report.rows, report.rejects), (ROWS as u64, 0), "{path:?} {is_lines}");
            assert_eq!(checksum(&mut db, "b"), expected, "{path:?} {is_lines}");
        }
    }
}
