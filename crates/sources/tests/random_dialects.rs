//! The server decides: random files in random dialects and character sets through LOAD DATA and
//! through us, with random columns, field by field.
//!
//! As in `oracle`, each file goes into two tables whose columns differ in their default, so that a
//! missing field is told from NULL. Text columns have the file's character set; what is no text
//! there the server stores as question marks, of which only their being there is compared.

use std::fmt::Write as _;
use std::fs;
use std::ops::Range;

use sources::{
    Batch, Chunk, Dialect, FieldKind, FileSource, MultiByte, Row, Rows, Source, SourceOptions,
};

use crate::oracle::{Server, hex};

const FILES: usize = 540;
const FILES_PER_SCRIPT: usize = 60;
const CHARSETS: &[&str] = &[
    "binary", "latin1", "utf8mb4", "utf8mb3", "sjis", "cp932", "gbk", "big5", "gb2312", "euckr",
    "ujis", "eucjpms",
];

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// A file, how it is read, and the columns it goes to.
struct Case {
    dialect: Dialect,
    charset: &'static str,
    skip_lines: usize,
    bytes: Vec<u8>,
}

impl Case {
    fn random(random: &mut Random) -> Case {
        let separators: [&[u8]; 13] = [
            b",", b"|", b"\t", b",|", b"||", b"|,", b"xyx", b"\n", b"", b"\0", b"\\", b"\xa7",
            b"\xff",
        ];
        let terminators: [&[u8]; 11] =
            [b"\n", b"\n", b"\n", b"\r\n", b"", b"|", b"|\n", b"\n\n", b"\0", b"x", b"\n\xa7"];
        let quotes = [None, None, Some(b'"'), Some(b'"'), Some(b'|'), Some(b'\\'), Some(b'N')];
        let mut dialect = Dialect {
            fields_terminated_by: random.pick(&separators).to_vec(),
            lines_terminated_by: random.pick(&terminators).to_vec(),
            enclosed_by: random.pick(&quotes),
            escaped_by: random.pick(&[None, Some(b'\\'), Some(b'\\'), Some(b'"'), Some(b'|')]),
            lines_starting_by: random.pick(&[&b""[..], b"", b"", b"", b">", b"N|"]).to_vec(),
            ..Dialect::mysql()
        };
        if random.below(6) == 0 {
            dialect.lines_terminated_by.clone_from(&dialect.fields_terminated_by);
        }
        if random.below(6) == 0 {
            dialect.escaped_by = dialect.enclosed_by;
        }
        if random.below(12) == 0 {
            dialect.fields_terminated_by.clear();
            dialect.enclosed_by = None;
        }
        if dialect.check().is_err() {
            return Case::random(random);
        }
        let charset = random.pick(CHARSETS);
        dialect.charset = MultiByte::of_charset(charset);
        let columns = 1 + random.below(6);
        let texts = random.below(3);
        dialect.fields = (0..columns)
            .map(|_| {
                let is_text = charset != "binary" && random.below(2) < texts;
                // Text columns of one byte a character or of characters of mbmaxlen bytes.
                let bytes = 1 + random.below(5) as u32;
                FieldKind {
                    is_text,
                    bytes_max: bytes,
                    row_bytes: bytes,
                    ..FieldKind::of_literals(sql::Literals::default())
                }
            })
            .collect();
        let pieces = random.below(60);
        let bytes = (0..pieces).flat_map(|_| piece(random, &dialect)).collect();
        Case { dialect, charset, skip_lines: random.pick(&[0, 0, 0, 1, 2]), bytes }
    }

    /// Records that are taken for longer than they are are a documented difference.
    fn is_comparable(&self) -> bool {
        // Counted by the server before the prefix of the second is looked for.
        let odd_skip = self.skip_lines > 0
            && self.dialect.lines_terminated_by.is_empty()
            && !self.dialect.lines_starting_by.is_empty();
        // A NUL that the server brings in is special itself.
        let odd_ghost = (self.dialect.lines_terminated_by.is_empty()
            || self.dialect.fields_terminated_by.is_empty())
            && self.bytes.contains(&0xff)
            && (self.dialect.fields_terminated_by.starts_with(b"\0")
                || self.dialect.lines_terminated_by.starts_with(b"\0")
                || self.dialect.fields_terminated_by.starts_with(b"\xff"));
        // The server warns of these, and does not find them where it skips.
        let odd_end = self.dialect.lines_terminated_by.first().is_some_and(|&byte| byte >= 0x80);
        !odd_skip && !odd_ghost && !odd_end
    }

    /// Our reading: fields of each row up to the last column; none after an open quote.
    fn rows(
        &self,
        path: &std::path::Path,
        chunk_bytes: usize,
    ) -> Option<Vec<Vec<Option<Vec<u8>>>>> {
        let options = SourceOptions {
            chunk_bytes,
            skip_lines: self.skip_lines as u64,
            ..SourceOptions::default()
        };
        let mut source = FileSource::new(&[path.to_owned()], &self.dialect, options).unwrap();
        let mut reader = source.reader();
        let (mut chunk, mut batch) = (Chunk::default(), Batch::new());
        let mut table = Vec::new();
        while source.next_chunk(&mut chunk).ok()? {
            reader.read(&chunk, &mut batch).unwrap();
            let mut end_before = 0;
            for row in batch.text_rows(&chunk).unwrap().iter() {
                let Range { start, end } = row.span();
                assert!(start >= end_before && end <= chunk.bytes.len() && start < end);
                end_before = end;
                let mut values = crate::support::values(row);
                values.truncate(self.dialect.fields.len());
                table.push(values);
                let has_more = row.field_count() > self.dialect.fields.len();
                // Where the next record begins is the documented difference.
                let fits = row.has_fields_for(0, self.dialect.fields.len());
                if has_more && !fits && !self.is_skipped_as_read() {
                    return None;
                }
            }
        }
        Some(table)
    }

    /// True if skipping to the end of a line has no other meaning than reading fields.
    fn is_skipped_as_read(&self) -> bool {
        let escape = self.dialect.escaped_by;
        let has_escape = |text: &[u8]| escape.is_some_and(|escape| text.contains(&escape));
        let separator = &self.dialect.fields_terminated_by;
        let terminator = &self.dialect.lines_terminated_by;
        let has_end = separator.windows(terminator.len().max(1)).any(|part| part == terminator);
        self.dialect.enclosed_by.is_none() && !has_escape(separator) && !has_end
    }

    fn script(&self, path: &std::path::Path) -> String {
        let byte = |byte: Option<u8>| byte.map_or("''".to_owned(), |byte| format!("X'{byte:02X}'"));
        let fields = self.dialect.fields.iter().enumerate();
        let names: Vec<String> = fields.clone().map(|(at, _)| format!("c{at}")).collect();
        let mut script = String::new();
        for (table, default) in [("a", "NULL"), ("b", "'d'")] {
            let width = |field: &FieldKind| match self.dialect.is_fixed() {
                true => field.bytes_max,
                false => 600,
            };
            let definitions: String = fields
                .clone()
                .map(|(at, field)| match field.is_text && !self.dialect.is_fixed() {
                    true => format!(
                        ", c{at} VARCHAR(600) CHARACTER SET {} DEFAULT {default}",
                        self.charset
                    ),
                    false => format!(", c{at} VARBINARY({}) DEFAULT {default}", width(field)),
                })
                .collect();
            writeln!(
                script,
                "CREATE OR REPLACE TABLE t.{table} (id INT AUTO_INCREMENT PRIMARY KEY{definitions}) \
                 ENGINE=MyISAM;\n\
                 LOAD DATA INFILE '{}' INTO TABLE t.{table} CHARACTER SET {} \
                 FIELDS TERMINATED BY X'{}' ENCLOSED BY {} ESCAPED BY {} \
                 LINES STARTING BY X'{}' TERMINATED BY X'{}' IGNORE {} LINES ({});",
                path.display(),
                self.charset,
                hex(&self.dialect.fields_terminated_by),
                byte(self.dialect.enclosed_by),
                byte(self.dialect.escaped_by),
                hex(&self.dialect.lines_starting_by),
                hex(&self.dialect.lines_terminated_by),
                self.skip_lines,
                names.join(", "),
            )
            .unwrap();
        }
        let shown: String = names
            .iter()
            .map(|c| format!(", IF(b.{c} IS NULL, '~', IF(a.{c} IS NULL, '-', HEX(a.{c})))"))
            .collect();
        writeln!(
            script,
            "SELECT 'file';\n\
             SELECT CONCAT_WS(',', 'row'{shown}) FROM t.a JOIN t.b USING (id) ORDER BY id;"
        )
        .unwrap();
        script
    }

    /// True if a row of ours is the one that the server shows.
    fn is_row(&self, ours: &[Option<Vec<u8>>], theirs: &str) -> bool {
        let shown: Vec<&str> = theirs.split(',').skip(1).collect();
        shown.len() == self.dialect.fields.len()
            && shown.iter().enumerate().all(|(at, shown)| match ours.get(at) {
                // In rows of fixed size what is missing is empty.
                None if self.dialect.is_fixed() => shown.is_empty(),
                None => *shown == "-",
                Some(None) => *shown == "~",
                // Fixed rows without separators: a value may be NULL nowhere.
                Some(Some(bytes)) => {
                    let has_replaced = shown.as_bytes().chunks(2).any(|two| two == b"3F");
                    let is_text = self.dialect.fields[at].is_text && !self.dialect.is_fixed();
                    *shown == hex(bytes) || (is_text && has_replaced)
                }
            })
    }
}

/// Characters of several bytes, and in dialects that are read by characters what is none: elsewhere
/// a byte that begins a character may take a special one with it on the server's side, in rows that
/// strict mode refuses anyway.
fn characters(dialect: &Dialect) -> &'static [&'static [u8]] {
    let special = dialect.fields_terminated_by.iter().chain(&dialect.lines_terminated_by);
    let special = special.chain(&dialect.enclosed_by).chain(&dialect.escaped_by);
    let from = match dialect.charset {
        MultiByte::Sjis | MultiByte::Gbk | MultiByte::Big5 => 0x40,
        MultiByte::None => 0,
        _ => 0x80,
    };
    let is_by_character = special.copied().any(|byte| byte >= from);
    match dialect.charset {
        _ if is_by_character => &[
            b"\x83\x5c",
            b"\x83\x7c",
            b"\x81\x40",
            b"\xb1",
            b"\xa4\xa2",
            b"\x8e\xb1",
            b"\x8f\xa1\xa1",
            b"\xe2\x82\xac",
            b"\xf0\x9f\x98\x80",
            b"\xc3\xa9",
            b"\x81N",
            b"\xe9",
            b"\xff",
            b"\xa7",
        ],
        MultiByte::Utf8mb3 | MultiByte::Utf8mb4 => &[b"\xe2\x82\xac", b"\xc3\xa9"],
        _ => &[b"\xa4\xa2"],
    }
}

/// Some bytes that may mean something.
fn piece(random: &mut Random, dialect: &Dialect) -> Vec<u8> {
    let special = |byte: Option<u8>| byte.map_or(Vec::new(), |byte| vec![byte]);
    match random.below(20) {
        0..=3 => dialect.fields_terminated_by.clone(),
        4..=6 => dialect.lines_terminated_by.clone(),
        7 | 8 => special(dialect.enclosed_by),
        9 => special(dialect.escaped_by),
        10 => [special(dialect.enclosed_by), dialect.fields_terminated_by.clone()].concat(),
        11 => [dialect.fields_terminated_by.clone(), special(dialect.enclosed_by)].concat(),
        12 => [special(dialect.escaped_by), vec![random.pick(b"N0bnrtZq")]].concat(),
        13 => dialect.lines_starting_by.clone(),
        14 => {
            random.pick(&[&b"NULL"[..], b"\"", b"\\", b"|", b"\n", b"\r\n", b"\0", b"x"]).to_vec()
        }
        15 | 16 => random.pick(characters(dialect)).to_vec(),
        _ => random.pick(&[&b"a"[..], b"bc", b"some text", b"xy", b"1"]).to_vec(),
    }
}

#[test]
fn load_data_finds_the_same_fields_in_random_dialects() {
    let Some(server) = Server::start() else {
        return;
    };
    server.sql("CREATE DATABASE t;");
    let seed = std::env::var("INRUSH_SEED").ok().and_then(|text| text.parse().ok());
    let mut random = Random(seed.unwrap_or(20_261_121) | 1);
    let files = std::env::var("INRUSH_CASES").ok().and_then(|text| text.parse().ok());
    let mut compared = 0;
    let (mut by_character, mut counted, mut fixed) = (0, 0, 0);
    let mut different = Vec::new();
    for start in (0..files.unwrap_or(FILES)).step_by(FILES_PER_SCRIPT) {
        let mut script = "SET sql_mode = '';\n".to_owned();
        let mut cases = Vec::new();
        for number in start..start + FILES_PER_SCRIPT {
            let case = Case::random(&mut random);
            let path = server.folder.path().join(format!("random{number}"));
            fs::write(&path, &case.bytes).unwrap();
            let whole = case.rows(&path, 4 << 20);
            let chunk_bytes = 1 + random.below(100);
            let cut = case.rows(&path, chunk_bytes);
            assert_eq!(whole, cut, "{:?} {}", case.dialect, case.bytes.escape_ascii());
            let Some(rows) = whole.filter(|_| case.is_comparable()) else { continue };
            script += &case.script(&path);
            by_character += usize::from(case.dialect.fields.iter().any(|field| field.is_text));
            counted += usize::from(case.dialect.is_counted());
            fixed += usize::from(case.dialect.is_fixed());
            cases.push((case, rows));
        }
        let text = server.sql(&script);
        let seen: Vec<Vec<&str>> =
            text.split("file\n").skip(1).map(|part| part.lines().collect()).collect();
        assert_eq!(seen.len(), cases.len());
        for (seen, (case, rows)) in seen.iter().zip(&cases) {
            let same = seen.len() == rows.len()
                && rows.iter().zip(seen).all(|(ours, theirs)| case.is_row(ours, theirs));
            if !same {
                different.push(format!(
                    "{:?} {} skip {}\n{}\nours {}\ntheirs {seen:?}\n",
                    case.dialect,
                    case.charset,
                    case.skip_lines,
                    case.bytes.escape_ascii(),
                    rows.iter()
                        .map(|row| format!(
                            "{:?} ",
                            row.iter().map(|v| v.as_ref().map(|v| hex(v))).collect::<Vec<_>>()
                        ))
                        .collect::<String>()
                ));
            }
            compared += 1;
        }
    }
    println!(
        "{compared} files, {by_character} with text columns, {counted} counted, {fixed} fixed"
    );
    assert!(
        different.is_empty(),
        "{} differ:\n{}",
        different.len(),
        different[..different.len().min(6)].join("\n")
    );
    assert!(compared > FILES / 2 && by_character > 50 && counted > 20 && fixed > 10);
}
