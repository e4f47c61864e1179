//! Sound samples for each target; the first bytes of some choose the use of the rest.

use std::io::Write;

use values::Charset;
use values::collation::{CollationData, Contraction, Verdict, WeightsBuilder};

const T_CFG: &[u8] = include_bytes!("../../innodb/testdata/mariadb-10.11/t.cfg");
const ORDERS_CFG: &[u8] = include_bytes!("../../innodb/testdata/mariadb-10.11/orders.cfg");
const T_IBD: &[u8] = include_bytes!("../../innodb/testdata/mariadb-10.11/t.ibd");
const ORDERS_IBD: &[u8] = include_bytes!("../../innodb/testdata/mariadb-10.11/orders.ibd");
const MYSQL_CFG: &[u8] = include_bytes!("../../innodb/testdata/mysql-9.7/items.cfg");
const MYSQL_IBD: &[u8] = include_bytes!("../../innodb/testdata/mysql-9.7/items.ibd");

/// Lines with all that dialects know.
const TEXTS: [&str; 7] = [
    "1\ttwo\t\\N\n2\tt\\\two\t\n",
    "a,b,c\n1,\"two, \"\"three\"\"\n\",NULL\r\n2,,x\n",
    "1|two|2024-01-31|\n2|three|1999-12-31|\n",
    "id;name;when\n1;'it''s';2024-02-29 12:00:00.5\n2;'\u{e9}t\u{e9} \u{1f600}';\n",
    ">1aab2aac>>3aab4aac",
    "\u{feff}k,v\n-1,0.5e3\n99999999999,NA\n",
    "{\"a\": [1, null, \"x\"]}\t12:34:56\tb'1'\n",
];

/// Values of every type.
const VALUES: [&str; 22] = [
    "",
    "0",
    "-1",
    "127",
    "18446744073709551615",
    "1e400",
    "-0.000",
    "12345678901234567890.123456789",
    "2024-02-29",
    "24-2-9 1:2:3.999999999",
    "20240229123456",
    "838:59:59.999999",
    "-1 12:00",
    "2155",
    "l1\u{e9}",
    "l1\u{e9},l3\u{e9}",
    "3",
    "{\"a\": [1, 2.5e3, true, null, \"\\u00e9\"]}",
    "123e4567-e89b-12d3-a456-426614174000",
    "192.168.0.255",
    "::ffff:1.2.3.4",
    "trailing   ",
];

const OPTION_FILE: &str = "# a comment\n[client]\nuser = me # not me\npassword=\"a \\\"b\\\" \\s\"\n\
     host=localhost\nport=3306\nloose-ssl\n[mariadb-client]\nsocket=/tmp/s\n";

/// Dumps with all that statements are told by.
const DUMPS: [&str; 5] = [
    "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump\n\n/*!40101 SET NAMES utf8mb4 */;\n\
     DROP TABLE IF EXISTS `t`;\nCREATE TABLE `t` (`a;b` int COMMENT 'it''s; \\');\n\
     LOCK TABLES `t` WRITE;\nINSERT INTO `t` VALUES\n(1,'a\\'b;',NULL),\n(-2.5e3,\"x;\",0x5C27);\n\
     INSERT INTO `t` VALUES (3,'--',_binary 'x');\nUNLOCK TABLES;\n-- Dump completed\n",
    "INSERT INTO t(a,b) VALUES(1,'\\\\'),(2,'') ON DUPLICATE KEY UPDATE a=1;insert t values(now());\n\
     REPLACE d.`t` VALUES (1) /* ; */, (2) -- ;\n, (3) # '\n;REPLACE d.`t` VALUES(4)",
    "DELIMITER ;;\n/*!50003 CREATE*/ /*!50003 TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN\n\
     SET @a = ';;'; INSERT INTO u VALUES (1); END */;;\nINSERT INTO t VALUES (';')\n;;\n\
     DELIMITER ;\nx;",
    "SET @o=@@sql_mode, sql_mode='NO_BACKSLASH_ESCAPES,ANSI_QUOTES';\n\
     INSERT INTO \"t\" VALUES('\\','''');SET NAMES gbk;INSERT INTO `t` VALUES('\\\u{5c}');\n\
     SET sql_mode=@o;\nuse b\nINSERT INTO t VALUES('\\';');",
    "\u{feff}select '\n\n;' ;\r\n\\! ls\nsource x;\n/* open",
];

fn dumps() -> Vec<Vec<u8>> {
    let modes = [[0, 7], [0, 64], [1, 3], [2, 100], [8, 1], [16, 5]];
    let sample = |mode: &[u8; 2], text: &&str| [mode.as_slice(), text.as_bytes()].concat();
    DUMPS.iter().flat_map(|text| modes.iter().map(move |mode| sample(mode, text))).collect()
}

/// Samples of the target of this name.
pub(crate) fn of(target: &str) -> Vec<Vec<u8>> {
    match target {
        "archive" => archives(),
        "cfg" => [T_CFG, ORDERS_CFG, MYSQL_CFG].map(<[u8]>::to_vec).to_vec(),
        "collation" => vec![collation()],
        "convert" => conversions(),
        "dump" => dumps(),
        "journal" => vec![journal(), replay_journal(), tune_journal()],
        "option_file" => vec![OPTION_FILE.as_bytes().to_vec()],
        "scan" => texts_with_choices(),
        "sniff" => TEXTS.map(|text| text.as_bytes().to_vec()).to_vec(),
        "tablespace" => {
            let choose = |more: u8, file: &[u8]| [&[more], file].concat();
            let others = [ORDERS_IBD, MYSQL_IBD].map(|file| choose(1, file));
            [[choose(0, T_IBD), choose(1, T_IBD)], others].concat()
        }
        _ => vec![Vec::new()],
    }
}

fn archives() -> Vec<Vec<u8>> {
    let text = TEXTS.concat().repeat(40).into_bytes();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&text).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    bzip2.write_all(&text).unwrap();
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    lz4.write_all(&text).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 6);
    xz.write_all(&text).unwrap();
    let wide: Vec<u8> = TEXTS[3].encode_utf16().flat_map(u16::to_le_bytes).collect();
    let files = [
        gzip.finish().unwrap(),
        bzip2.finish().unwrap(),
        lz4.finish().unwrap(),
        xz.finish().unwrap(),
        zstd::encode_all(&text[..], 1).unwrap(),
        [b"\xff\xfe", &wide[..]].concat(),
        text,
    ];
    let choose = |preset: u8, file: &Vec<u8>| [&[preset, 0, 3, preset], &file[..]].concat();
    files.iter().flat_map(|file| [choose(0, file), choose(1, file), choose(6, file)]).collect()
}

/// Letters without case, a character of two units, one without weight, and contractions.
fn collation() -> Vec<u8> {
    let mut weights = WeightsBuilder::new(2);
    for code in 0..0x100_u32 {
        let upper = (code as u8).to_ascii_uppercase();
        let weight: &[u8] = match upper {
            0xad => &[],
            0xe6 => &[2, b'A', 2, b'E'],
            _ => &[2, upper],
        };
        weights.push(code, weight).unwrap();
    }
    let chars = |text: &str| text.chars().map(u32::from).collect();
    let contractions = vec![
        Contraction { chars: chars("ch"), weight: Some(vec![2, b'I']) },
        Contraction { chars: chars("xyz"), weight: None },
    ];
    let data = CollationData {
        name: "invented_ci".to_owned(),
        server_version: "0".to_owned(),
        charset: Charset::Latin1,
        pad_space: true,
        pad_unit: None,
        trims_char: false,
        weights: weights.finish(),
        contractions,
        lower_levels: Vec::new(),
        verdict: Verdict::Exact,
    };
    data.to_bytes()
}

fn conversions() -> Vec<Vec<u8>> {
    let with = |kind: u8, value: &str| [&[kind, 6, 0, 0x84], value.as_bytes()].concat();
    (0..24).flat_map(|kind| VALUES.map(|value| with(kind, value))).collect()
}

/// A line of each kind, of a replay.
fn replay_journal() -> Vec<u8> {
    let lines = [
        r#"{"format":"inrush journal","version":1,"kind":"replay","id":"7"}"#,
        r#"{"unix_ms":1,"pid":2,"dump":{"dump":"/d.sql","files":7,"server":"h","into":null,"tables":[],"exclude":["a"],"atomic":false}}"#,
        r#"{"unix_ms":1,"pid":2,"begin":{"part":0,"offset":5}}"#,
        r#"{"unix_ms":1,"pid":2,"commit":[{"part":0,"offset":6}]}"#,
        r#"{"unix_ms":1,"pid":2,"publish":[]}"#,
        r#"{"unix_ms":1,"pid":2,"changed":{"database":"d","table":"t"}}"#,
        r#"{"unix_ms":1,"pid":2,"undone":{"part":0,"offset":5}}"#,
        r#"{"unix_ms":1,"pid":2,"told":{"part":0,"offset":5}}"#,
        r#"{"unix_ms":1,"pid":2,"done":{"part":1,"offset":18446744073709551615}}"#,
        r#"{"unix_ms":1,"pid":2,"gone":{"database":"d","table":"t"}}"#,
    ];
    let line = |line: &str| format!("{:08x} {line}\n", crc32c::crc32c(line.as_bytes()));
    let text = lines.map(line).concat().into_bytes();
    assert_eq!(replay::journal_lines(&text), lines.len() - 1);
    text
}

/// The journal of a server whose variables were set.
fn tune_journal() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let folder = disk::private::make(&folder.path().join("tuned")).unwrap();
    let change = tune::Change {
        variable: "sync_binlog".to_owned(),
        before: "1".to_owned(),
        set: "0".to_owned(),
        held: true,
        beneath: Some("0".to_owned()),
    };
    let entry = tune::Entry { changes: vec![change], ..tune::Entry::default() };
    disk::journal::replace(&folder, "7.json".as_ref(), &entry).unwrap();
    disk::private::read(&folder, "7.json".as_ref(), "journal").unwrap()
}

fn journal() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = load::journal::Journal::create(folder.path()).unwrap();
    for step in ["job", "inspect", "rows"] {
        journal.write(step, load::journal::Event::Begin, "d.t").unwrap();
        journal.write(step, load::journal::Event::End, "d.t: \u{e9}").unwrap();
    }
    std::fs::read(journal.path()).unwrap()
}

fn texts_with_choices() -> Vec<Vec<u8>> {
    let choices =
        [[0u8, 0, 0, 0], [1, 0, 0, 0], [3, 0, 0, 0], [4, 5, 0, 0], [13, 9, 3, 3], [4, 21, 6, 21]];
    let with = |choice: [u8; 4], text: &str| [&choice, text.as_bytes()].concat();
    choices.iter().flat_map(|&choice| TEXTS.map(|text| with(choice, text))).collect()
}
