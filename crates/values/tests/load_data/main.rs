//! The server decides: each converter against LOAD DATA on a real MariaDB and a real MySQL.
//!
//! For each type a few thousand texts, usual, odd and broken, are loaded twice. First by LOAD DATA
//! IGNORE, whose warnings (notes left out) name the rows that strict mode refuses: one load tells
//! all of them. Then the others by a strict LOAD DATA, which must take every row, and a sample of
//! the refused ones, one file each, of which it must take none: so that the first step is no
//! assumption. Finally the server is stopped, and the bytes in the tablespaces are compared with
//! the converter's.
//!
//! Skipped with a line when no MariaDB is installed, or INRUSH_TEST_MYSQLD names no MySQL. A plain run takes
//! some of the cases with a fixed seed; `INRUSH_ALL=1` takes all of them (minutes), `INRUSH_CASE=text` those with the text in
//! their name, `INRUSH_SEED=n` other random texts, `INRUSH_KEEP=1` keeps the folder until the next run.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cases;
mod formats;
mod ibd;
mod random;
mod server;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use values::{Charset, ConvertOptions, Converter, Reason};

use crate::cases::Case;
use crate::random::Random;
use crate::server::Server;

/// Flags of every session, as in the server's default.
const STRICT: &str = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";
/// Seed of a plain run.
const SEED: u64 = 1;
/// One case in so many is taken by a plain run.
const STEP: usize = 4;
/// The same of MySQL, where finding the refused rows takes longer.
const STEP_MYSQL: usize = 29;
/// Rows that MySQL loads at once while those that it refuses are found.
const CHUNK: usize = 12;
/// Differences shown of a case.
const SHOWN_MAX: usize = 25;
/// Refused rows of a case that are tried alone.
const SAMPLE: usize = 20;

/// The rows that a case loaded, to be compared when the server has stopped.
struct Loaded {
    case: Case,
    texts: Vec<Vec<u8>>,
    converted: Vec<Result<Vec<u8>, Reason>>,
    table: String,
}

#[test]
fn every_value_is_stored_or_refused_as_by_load_data() {
    let Some(server) = Server::start().unwrap() else { return };
    let cases = cases::all(&server);
    compare_all(&server, cases, STEP);
}

#[test]
fn every_value_is_stored_or_refused_as_by_load_data_of_mysql() {
    let Some(server) = Server::start_mysql().unwrap() else { return };
    let cases = cases::of_mysql(&server);
    compare_all(&server, cases, STEP_MYSQL);
}

fn compare_all(server: &Server, cases: Vec<Case>, step: usize) {
    let seed = seed();
    let wanted = std::env::var("INRUSH_CASE").ok();
    let all = wanted.is_some() || std::env::var_os("INRUSH_ALL").is_some();
    println!("seed {seed}");
    let mut differences = 0;
    let mut loaded = Vec::new();
    for (index, case) in cases.into_iter().enumerate() {
        let named = wanted.as_ref().is_none_or(|part| case.name().contains(part));
        if !named || !(all || index.is_multiple_of(step)) {
            continue;
        }
        let mut random = Random::new(seed + index as u64);
        let (case, wrong) = load(server, case, index, &mut random);
        differences += wrong;
        loaded.push(case);
    }
    server.stop().unwrap();
    let mut values = 0;
    for case in &loaded {
        let (wrong, compared) = compare(server, case);
        differences += wrong;
        values += compared;
    }
    println!("{} cases, {values} stored values compared", loaded.len());
    assert_eq!(differences, 0, "values differ from the server's; seed {seed}");
}

fn seed() -> u64 {
    std::env::var("INRUSH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED)
}

/// Loads the texts of a case; the number of rows that only one side takes.
fn load(server: &Server, case: Case, index: usize, random: &mut Random) -> (Loaded, usize) {
    let texts = case.texts(random);
    let mut converter = converter(server, &case);
    let mut out = Vec::new();
    let converted: Vec<_> = texts
        .iter()
        .map(|text| {
            out.clear();
            converter.convert(text, &mut out).map(|()| out.clone())
        })
        .collect();

    // The whole load fails at these, also with IGNORE.
    let is_readable = |row: &usize| {
        let text = &texts[*row];
        // Such as that of a month 0. What we take of these is compared.
        let is_displaced = converted[*row].is_err() && cases::has_displacement(text);
        !server.is_mysql || (has_lead_bytes(case.file_charset, text) && !is_displaced)
    };
    let unreadable: BTreeSet<usize> = (0..texts.len()).filter(|row| !is_readable(row)).collect();
    let readable = || texts.iter().enumerate().filter(|(row, _)| !unreadable.contains(row));
    if case.is_loaded_singly() {
        let (table, refused) = load_singly(server, &case, index, readable());
        let wrong = count_wrong(server, &case, &texts, &converted, &refused, &unreadable);
        return (Loaded { case, texts, converted, table }, wrong);
    }
    let all = server.folder().join(format!("all_{index}"));
    fs::write(&all, server.lines(readable())).unwrap();
    let lenient = format!("lenient_{index}");
    let (declaration, condition) = case.without_check();
    let report = server
        .run(&format!(
            "{}\nSET max_error_count = 65535, sql_notes = 0;\n{}\nSHOW WARNINGS;\nSELECT 'ids';\n\
             SELECT id FROM {lenient} WHERE {condition};\nDROP TABLE {lenient};\n",
            session(&case),
            create_and_load(&case, declaration, &lenient, &all, "IGNORE"),
        ))
        .unwrap_or_else(|error| panic!("{}: {error}", case.name()));
    let numbers: Vec<usize> = readable().map(|(row, _)| row).collect();
    let mut refused = refused_rows(&report, &numbers);

    let table = format!("strict_{index}");
    let kept = server.folder().join(format!("kept_{index}"));
    if server.is_mysql {
        let taken: Vec<_> = readable().filter(|(row, _)| !refused.contains(row)).collect();
        refused.extend(refused_of_chunks(server, &case, index, &taken));
    }
    fs::write(&kept, server.lines(readable().filter(|(row, _)| !refused.contains(row)))).unwrap();
    let script = session(&case) + &create_and_load(&case, &case.declaration, &table, &kept, "");
    server
        .run(&script)
        .unwrap_or_else(|error| panic!("{}: strict mode refuses more: {error}", case.name()));

    // Strict mode alone must refuse each of a sample.
    let single = format!("single_{index}");
    let mut script = session(&case) + &format!("CREATE TABLE {single} LIKE {table};\n");
    let sample: Vec<_> = refused.iter().copied().collect();
    for number in 0..SAMPLE.min(sample.len()) {
        let row = sample[random.below(sample.len())];
        let file = server.folder().join(format!("single_{index}_{number}"));
        fs::write(&file, server.lines([(row, &texts[row])])).unwrap();
        script += &load_data(&case, &single, &file, "");
    }
    script += &format!("SELECT id FROM {single};\nDROP TABLE {single};\n");
    let taken = server.run_all(&script);
    let name = case.name();
    let taken: Vec<String> = taken
        .lines()
        .map(|id| texts[id.parse::<usize>().unwrap()].escape_ascii().to_string())
        .collect();
    assert!(taken.is_empty(), "{name}: strict mode takes rows that IGNORE warns of: {taken:?}");

    if !case.takes_any_bytes() {
        refused.extend(unreadable.iter().copied());
    }
    let wrong = count_wrong(server, &case, &texts, &converted, &refused, &unreadable);
    (Loaded { case, texts, converted, table }, wrong)
}

/// Loads each row alone by a strict LOAD DATA; the table, and the rows that the server refused.
fn load_singly<'t>(
    server: &Server,
    case: &Case,
    index: usize,
    rows: impl Iterator<Item = (usize, &'t Vec<u8>)>,
) -> (String, BTreeSet<usize>) {
    let table = format!("strict_{index}");
    let mut script = session(case)
        + &format!("CREATE TABLE {table} (id INT PRIMARY KEY, v {} NOT NULL);\n", case.declaration);
    let mut refused = BTreeSet::new();
    for (row, text) in rows {
        let file = server.folder().join(format!("single_{index}_{row}"));
        fs::write(&file, server.lines([(row, text)])).unwrap();
        script += &load_data(case, &table, &file, "");
        refused.insert(row);
    }
    let report = server.run_all(&(script + &format!("SELECT id FROM {table};\n")));
    for id in report.lines() {
        refused.remove(&id.parse().unwrap());
    }
    (table, refused)
}

/// Shows the rows that only one side takes, and counts them.
fn count_wrong(
    server: &Server,
    case: &Case,
    texts: &[Vec<u8>],
    converted: &[Result<Vec<u8>, Reason>],
    refused: &BTreeSet<usize>,
    unreadable: &BTreeSet<usize>,
) -> usize {
    let mut wrong = 0;
    for (row, text) in texts.iter().enumerate() {
        if case.takes_any_bytes() && unreadable.contains(&row) {
            continue;
        }
        let takes = !refused.contains(&row);
        let known = takes && case.is_refused_knowingly(text, server.is_mysql);
        if converted[row].is_ok() != takes && !known {
            wrong += 1;
            if wrong <= SHOWN_MAX {
                println!(
                    "{}: \"{}\": the server {}, we say {:?}",
                    case.name(),
                    text.escape_ascii(),
                    if takes { "stores it" } else { "refuses it" },
                    converted[row],
                );
            }
        }
    }
    println!("{}: {} texts, {} refused, {wrong} differ", case.name(), texts.len(), refused.len());
    wrong
}

/// Compares stored bytes; the number that differs, and that was compared.
fn compare(server: &Server, loaded: &Loaded) -> (usize, usize) {
    let file = fs::read(server.tablespace(&loaded.table)).unwrap();
    let rows: BTreeMap<_, _> = ibd::read(&file, loaded.case.shape());
    let (mut wrong, mut compared) = (0, 0);
    for (&id, stored) in &rows {
        let row = id as usize;
        let (Some(stored), Ok(ours)) = (stored, &loaded.converted[row]) else { continue };
        compared += 1;
        if stored != ours {
            wrong += 1;
            if wrong <= SHOWN_MAX {
                println!(
                    "{}: \"{}\": the server stores {stored:02x?}, we {ours:02x?}",
                    loaded.case.name(),
                    loaded.texts[row].escape_ascii(),
                );
            }
        }
    }
    if wrong > 0 {
        println!("{}: {wrong} of {compared} stored values differ", loaded.case.name());
    }
    (wrong, compared)
}

/// Rows that strict mode refuses although IGNORE has no more than a note about them: MySQL's about
/// some values that it cuts are the same as about those that it rounds.
fn refused_of_chunks(
    server: &Server,
    case: &Case,
    index: usize,
    taken: &[(usize, &Vec<u8>)],
) -> BTreeSet<usize> {
    let mut chunks: Vec<Vec<(usize, &Vec<u8>)>> = taken.chunks(CHUNK).map(<[_]>::to_vec).collect();
    let mut refused = BTreeSet::new();
    let table = format!("chunk_{index}");
    while !chunks.is_empty() {
        let create = format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, v {} NOT NULL);\n",
            case.declaration
        );
        let mut script = session(case) + "SET sql_notes = 0;\n" + &create;
        for (number, chunk) in chunks.iter().enumerate() {
            let file = server.folder().join(format!("chunk_{number}"));
            fs::write(&file, server.lines(chunk.iter().copied())).unwrap();
            script += &load_data(case, &table, &file, "");
            script += &format!("SHOW ERRORS;\nSELECT 'end', {number};\n");
        }
        let report = server.run_all(&(script + &format!("DROP TABLE {table};\n")));
        let mut failed: Option<usize> = None;
        let mut left = Vec::new();
        for line in report.lines() {
            if let Some(number) = line.strip_prefix("end\t") {
                if let Some(row) = failed.take() {
                    let mut chunk = chunks[number.parse::<usize>().unwrap()].clone();
                    refused.insert(chunk.remove(row - 1).0);
                    left.push(chunk);
                }
            } else {
                let row =
                    line.rsplit_once(" at row ").unwrap_or_else(|| panic!("no row in {line}")).1;
                failed = Some(row.parse().unwrap());
            }
        }
        chunks = left;
    }
    refused
}

fn converter(server: &Server, case: &Case) -> Converter {
    let options = ConvertOptions {
        file_charset: case.file_charset,
        sql_mode: values::SqlMode::parse(case.sql_mode),
        time_zone: case.zone(),
        habits: server.habits,
    };
    Converter::new("v", &case.sql_type, &options).unwrap()
}

fn session(case: &Case) -> String {
    format!(
        "USE oracle;\nSET sql_mode = '{STRICT},{}', time_zone = '{}';\n",
        case.sql_mode, case.time_zone
    )
}

fn create_and_load(
    case: &Case,
    declaration: &str,
    table: &str,
    file: &Path,
    ignore: &str,
) -> String {
    format!(
        "CREATE TABLE {table} (id INT PRIMARY KEY, v {declaration} NOT NULL) ENGINE=InnoDB \
         ROW_FORMAT=DYNAMIC;\n{}",
        load_data(case, table, file, ignore)
    )
}

fn load_data(case: &Case, table: &str, file: &Path, ignore: &str) -> String {
    let charset = case.file_charset.name();
    format!(
        "LOAD DATA INFILE '{}' {ignore} INTO TABLE {table} CHARACTER SET {charset} FIELDS \
         TERMINATED BY ',' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' (id, v, @guard);\n",
        file.display()
    )
}

/// True if every character begins with a byte that can begin one: the line reader of MySQL looks at
/// no more.
fn has_lead_bytes(charset: Charset, text: &[u8]) -> bool {
    let last = match charset {
        Charset::Utf8mb4 => 0xf7,
        Charset::Utf8mb3 => 0xef,
        _ => return true,
    };
    let mut rest = text;
    while let Some(&first) = rest.first() {
        if !(matches!(first, 0..0x80) || (0xc2..=last).contains(&first)) {
            return false;
        }
        let whole = charset.next_char(rest).filter(|(code, _)| !(0xd800..0xe000).contains(code));
        rest = &rest[whole.map_or(1, |(_, bytes)| bytes)..];
    }
    true
}

/// Rows with a warning, and rows that a CHECK would refuse.
///
/// `numbers` are those of the rows of the file.
fn refused_rows(report: &str, numbers: &[usize]) -> BTreeSet<usize> {
    let mut refused: BTreeSet<usize> = numbers.iter().copied().collect();
    let (warnings, ids) = report.split_once("\nids\n").unwrap_or_else(|| {
        let ids = report.strip_prefix("ids\n").expect("the report has ids");
        ("", ids)
    });
    for id in ids.lines() {
        refused.remove(&id.parse().expect("an id"));
    }
    // MySQL has warnings about values that it stores.
    for line in warnings.lines().filter(|line| !line.contains("is deprecated")) {
        let row = line.rsplit_once(" at row ").and_then(|(_, row)| row.parse::<usize>().ok());
        match row {
            // The server counts from 1.
            Some(row) => {
                refused.insert(numbers[row - 1]);
            }
            // Rounding a date adds a warning of its own to the one that names the row.
            None => assert!(
                line.contains("for function round(datetime)") || line.contains("field overflow"),
                "no row in: {line}"
            ),
        }
    }
    refused
}
