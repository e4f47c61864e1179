//! Every character set, of files and of columns: the same rows and the same refusals as LOAD DATA.
//!
//! `INRUSH_ALL_CHARSETS=1` tries all the server has instead of a few of each kind.

use std::collections::BTreeSet;
use std::path::Path;

use catalog::learn::{self, CollationCache};
use values::Charset;

use testkit::Random;
use testkit::tables::compare::{Exported, same_rows, same_stored};
use testkit::tables::reasons::Reasons;
use testkit::tables::server::{Db, Server};

const ROWS: u64 = 400;
const FEW: [&str; 8] = ["koi8r", "cp1251", "swe7", "sjis", "gbk", "ujis", "ucs2", "utf16"];
/// Longest string that is tried, in characters; the longest column has 12.
const CHARS_MAX: usize = 13;

#[test]
fn every_character_set_is_loaded_as_load_data_does() {
    let Some(server) = Server::get() else { return };
    let mut db = server.database();
    let all = std::env::var_os("INRUSH_ALL_CHARSETS").is_some();
    let names: Vec<String> = match all {
        false => FEW.map(str::to_owned).into(),
        true => {
            let sql = "SELECT CHARACTER_SET_NAME FROM information_schema.CHARACTER_SETS \
                       WHERE CHARACTER_SET_NAME <> 'binary' ORDER BY 1";
            db.rows(sql).iter().map(|row| row.text(0).unwrap()).collect()
        }
    };
    for (name, seed) in names.iter().zip(1..) {
        let charset = learn::charset(db.session(), name, &CollationCache::of_user()).unwrap();
        let mut random = Random::new(seed);
        // LOAD DATA reads no file in a set whose characters have two bytes or more each.
        let mut files = vec![Charset::Utf8mb4, Charset::Binary, charset];
        files.retain(|file| file.char_bytes_min() == 1);
        for file in files {
            Case { server: &server, charset, file }.run(&mut random, &mut db);
        }
        println!("{name}: as LOAD DATA");
    }
}

struct Case<'a> {
    server: &'a Server,
    /// Character set of the columns.
    charset: Charset,
    file: Charset,
}

impl Case<'_> {
    fn run(&self, random: &mut Random, db: &mut Db) {
        db.sql("DROP TABLE IF EXISTS a, b, scratch");
        db.sql(&self.table("b", true));
        db.sql("CREATE TABLE a LIKE b");
        db.sql(&self.table("scratch", false));
        let lines: Vec<Vec<u8>> = (0..ROWS).map(|id| self.line(random, id)).collect();
        let path = self.server.file(db, "input", lines.concat());
        let theirs = self.refused(db, &path);

        let rejects = self.server.folder(&db.name).join("refused");
        let mut options = self.server.options(db, "b", vec![path]);
        options.input.charset = self.file.name().to_owned();
        options.rows.rejects = Some(rejects.clone());
        options.rows.rejects_max = ROWS;
        let what = format!("{:?} from a file in {:?}", self.charset, self.file);
        let report = self.server.load(&options).unwrap_or_else(|error| panic!("{what}: {error}"));
        let reasons = match report.rejects {
            0 => Vec::new(),
            _ => Reasons::of(&rejects).lines,
        };
        let ours: BTreeSet<u64> =
            reasons.iter().map(|line| line["line"].as_u64().unwrap() - 1).collect();
        let show = |id: &u64| {
            let reason = reasons.iter().find(|line| line["line"].as_u64() == Some(id + 1));
            format!("{} {reason:?}", lines[*id as usize].escape_ascii())
        };
        let alone = |a: &BTreeSet<u64>, b: &BTreeSet<u64>| -> Vec<String> {
            a.difference(b).take(3).map(show).collect()
        };
        let (by_us, by_server) = (alone(&ours, &theirs), alone(&theirs, &ours));
        assert!(ours == theirs, "{what}: refused by us {by_us:#?}, by the server {by_server:#?}");
        assert!(report.rows > ROWS / 4, "{what}: only {} rows are good", report.rows);

        let good = lines.iter().zip(0..).filter(|(_, id)| !ours.contains(id));
        let good: Vec<u8> = good.flat_map(|(line, _)| line.clone()).collect();
        let path = self.server.file(db, "good", good);
        let load = self.load_data(&path, "", "a");
        db.sql(&load);
        let ours = Exported::new(self.server, db, "b");
        ours.verify(db, &self.server.folder(&db.name));
        same_stored(&ours, &Exported::new(self.server, db, "a"));
        same_rows(db, "b", "a", &["PRIMARY", "v", "c", "n", "t", "e"]);
        let check = &db.rows("CHECK TABLE b EXTENDED")[0];
        assert_eq!(check.text(3).unwrap(), "OK", "{what}");
    }

    fn table(&self, name: &str, with_keys: bool) -> String {
        let set = self.charset.name();
        let kind = match set {
            "big5" | "gb2312" | "gbk" => "chinese",
            "cp932" | "eucjpms" | "sjis" | "ujis" => "japanese",
            "euckr" => "korean",
            "dec8" | "swe7" | "latin1" => "swedish",
            "hp8" => "english",
            "latin5" => "turkish",
            _ => "general",
        };
        let folded = |pad: &str| match set {
            "tis620" => format!("CHARACTER SET {set} COLLATE {set}{pad}_bin"),
            _ => format!("CHARACTER SET {set} COLLATE {set}_{kind}{pad}_ci"),
        };
        let (ci, no_pad) = (folded(""), folded("_nopad"));
        let keys = match with_keys {
            true => {
                ", KEY v (v DESC, e), KEY c (c, v(2)), KEY n (n), KEY t (t(3)), KEY e (e, n(2))"
            }
            false => "",
        };
        format!(
            "CREATE TABLE {name} (id INT PRIMARY KEY, v VARCHAR(12) {ci} NULL, \
             c CHAR(5) {ci} NOT NULL, n CHAR(4) {no_pad}, \
             t TINYTEXT CHARACTER SET {set} COLLATE {set}_bin, \
             e ENUM('red','Green x','4') {ci}, s SET('a','b c','d') {ci}{keys}) ENGINE=InnoDB"
        )
    }

    fn line(&self, random: &mut Random, id: u64) -> Vec<u8> {
        let mut line = id.to_string().into_bytes();
        for chars in [12, 5, 4, CHARS_MAX] {
            line.push(b'\t');
            // One in many is too long, or has bytes or characters that fit nowhere.
            let chars = random.below(chars + 1) + usize::from(random.chance(25));
            line.extend(self.string(random, chars));
            let spaces = if random.chance(4) { random.below(4) } else { 0 };
            line.resize(line.len() + spaces, b' ');
        }
        for labels in [["red", "GREEN X", "4", "2"], ["a,d", "B C", "d,a", ""]] {
            line.push(b'\t');
            let label = random.pick(&labels);
            match self.file {
                Charset::Binary => self.push(label, self.charset, &mut line),
                file => self.push(label, file, &mut line),
            }
        }
        line.push(b'\n');
        line
    }

    fn push(&self, text: &str, charset: Charset, out: &mut Vec<u8>) {
        for c in text.chars() {
            charset.push_unicode(c.into(), out);
        }
    }

    /// Characters of the column's set, as the file has them.
    fn string(&self, random: &mut Random, chars: usize) -> Vec<u8> {
        let mut text = Vec::new();
        for _ in 0..chars {
            let mut character = Vec::new();
            if self.file == Charset::Binary || self.file == self.charset {
                self.charset.push_char(self.code(random), &mut character);
            } else {
                let point = self.charset.to_unicode(self.code(random));
                self.file.push_char(point.unwrap_or(0x61), &mut character);
            }
            // An ascii column takes other bytes as they are, but keys of them are refused.
            if self.charset != Charset::Ascii && random.chance(400) {
                character =
                    random.pick(&[&b"\xff"[..], b"\x81", b"\xe4\xb8\xad", b"\x80"]).to_vec();
            }
            // What the dialect takes for its own.
            let is_syntax = |byte: &u8| matches!(byte, 0 | b'\t' | b'\n' | b'\r' | b'\\');
            let is_wide = self.charset.char_bytes_min() > 1 && self.file == Charset::Binary;
            if character.len() == 1 && is_syntax(&character[0]) {
                continue;
            }
            for byte in character {
                if is_wide && is_syntax(&byte) {
                    text.extend_from_slice(match byte {
                        0 => b"\\0",
                        b'\t' => b"\\t",
                        b'\n' => b"\\n",
                        b'\r' => b"\\r",
                        _ => b"\\\\",
                    });
                } else {
                    text.push(byte);
                }
            }
        }
        text
    }

    /// Code of a character: ASCII half the time, then any.
    fn code(&self, random: &mut Random) -> u32 {
        if random.chance(2) {
            return u32::from(random.pick(b"aAbBzZ~ !"));
        }
        match self.charset {
            Charset::Learned(table) => {
                let characters = &table.data().characters;
                characters[random.below(characters.len())].0
            }
            Charset::Ascii => random.below(0x80) as u32,
            Charset::Latin1 => random.below(0x100) as u32,
            _ => match random.pick(&[0x100, 0x500, 0x3000, 0xd800, 0x1_1000]) {
                most @ 0x1_1000 if self.charset.char_bytes_max() == 4 => {
                    0x1_0000 + random.below(most - 0x1_0000) as u32
                }
                most => random.below(most.min(0xd800)) as u32,
            },
        }
    }

    /// Rows that LOAD DATA would refuse, one by one, for their values alone.
    fn refused(&self, db: &mut Db, path: &Path) -> BTreeSet<u64> {
        db.sql("SET max_error_count=65535");
        db.sql(&self.load_data(path, "IGNORE", "scratch"));
        let row = |text: &str| text.rsplit_once(" at row ")?.1.parse::<u64>().ok();
        db.warnings().iter().filter_map(|(_, text)| row(text)).map(|row| row - 1).collect()
    }

    fn load_data(&self, path: &Path, how: &str, table: &str) -> String {
        let file = self.file.name();
        format!(
            "LOAD DATA INFILE '{}' {how} INTO TABLE {table} CHARACTER SET {file}",
            path.display()
        )
    }
}
