//! Files of every format that `inrush load` reads, by job files: the tables are those of a CSV file with the same rows.

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use serde_json::Value;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::super::exported::export;
use super::shop::{HEADER, Shop, lines, shown};
use crate::support::{Desk, Outcome, run};

/// Files of the same lines.
const FILES: [&str; 5] = ["wide.parquet", "wide.arrow", "wide.jsonl", "wide.json", "wide.xlsx"];

const WIDE: &str = "n INT AUTO_INCREMENT PRIMARY KEY, no VARCHAR(12), ordered DATE, email VARCHAR(60), \
    customer VARCHAR(40), line INT, sku VARCHAR(10), product VARCHAR(40), price DECIMAL(8,2), quantity INT";

/// A workbook whose sheet has these rows of a CSV file.
fn workbook(csv: &str) -> Vec<u8> {
    let mut rows = String::new();
    for (at, line) in csv.lines().enumerate() {
        let _ = write!(rows, "<row r='{}'>", at + 1);
        for (column, text) in line.split(',').enumerate() {
            let place = format!("{}{}", char::from(b'A' + column as u8), at + 1);
            let _ = match text {
                "" => Ok(()),
                text if text.parse::<f64>().is_ok() => {
                    write!(rows, "<c r='{place}'><v>{text}</v></c>")
                }
                text => {
                    write!(rows, "<c r='{place}' t='inlineStr'><is><t>{text}</t></is></c>")
                }
            };
        }
        rows.push_str("</row>");
    }
    let sheet = format!("<worksheet><sheetData>{rows}</sheetData></worksheet>");
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in [
        (
            "_rels/.rels",
            "<Relationships><Relationship Id='a' Type='x/relationships/officeDocument' \
             Target='xl/workbook.xml'/></Relationships>",
        ),
        (
            "xl/_rels/workbook.xml.rels",
            "<Relationships><Relationship Id='a' Type='x/worksheet' \
             Target='worksheets/sheet1.xml'/></Relationships>",
        ),
        (
            "xl/workbook.xml",
            "<workbook><sheets><sheet name='Orders' r:id='a'/></sheets></workbook>",
        ),
        ("xl/worksheets/sheet1.xml", &sheet),
    ] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Writes the lines as files of every format. Bad values go with their texts: `types` are those of the columns.
fn write_all(desk: &mut Desk, types: &str, text: &str) {
    let csv = format!("{HEADER}{text}");
    let file = desk.home.file("wide.csv", &csv);
    desk.exec("DROP TABLE IF EXISTS wide");
    desk.exec(&format!("CREATE TABLE wide ({types})"));
    desk.load("wide", &file, &["--dialect", "csv", "--header", "--null-token", ""]).done();
    for name in ["wide.parquet", "wide.arrow", "wide.jsonl"] {
        export(desk, "wide", name, &["--force"]).done();
    }
    let records = std::fs::read_to_string(desk.home.path().join("wide.jsonl")).unwrap();
    let records: Vec<&str> = records.lines().collect();
    desk.home.file("wide.json", format!("[{}]", records.join(",\n ")));
    desk.home.file("wide.xlsx", workbook(&csv));
}

/// Takes the file of a job: options of text are for text.
fn take(shop: &mut Shop, from: &str, to: &str) {
    shop.edit(from, to);
    if from == "wide.csv" {
        shop.edit("header = true\nnull_token = \"\"\n", "");
    }
}

#[test]
fn files_of_every_format_make_the_tables_of_a_csv_file() {
    let Some(mut shop) = Shop::new() else { return };
    let text = lines(700);
    shop.load(&text, &[]).done();
    assert_eq!(shop.joined(), shown(&text));
    let expected = shop.rows();
    write_all(&mut shop.desk, WIDE, &text);
    let mut before = "wide.csv";
    for name in FILES {
        take(&mut shop, before, name);
        before = name;
        for more in [&["--path", "direct"][..], &["--path", "stream"], &["--threads", "5"]] {
            shop.reset();
            run(shop.again().args(more)).done();
            assert_eq!(shop.rows(), expected, "{name} {more:?}");
        }
        let words = shop.again().get_args().skip(1).map(ToOwned::to_owned).collect::<Vec<_>>();
        let same = run(shop.desk.home.inrush(["verify"]).args(&words));
        assert_eq!(same.code(), 0, "{name}: {same:?}");
        let plan = run(shop.desk.home.inrush(["plan"]).args(&words));
        assert_eq!(plan.code(), 2, "{plan:?}");
        let plan = run(shop.desk.home.inrush(["plan"]).args(&words).args(["--mode", "replace"]));
        assert_eq!(plan.code(), 0, "{plan:?}");
        run(shop.desk.home.inrush(["check"]).args(&words).args(["--mode", "replace"])).done();
    }
}

#[test]
fn rows_of_many_chunks_keep_their_places() {
    let Some(mut shop) = Shop::new() else { return };
    let text = lines(8_000);
    shop.load(&text, &[]).done();
    let expected = shop.rows();
    write_all(&mut shop.desk, WIDE, &text);
    let mut before = "wide.csv";
    // The memory of these tests holds fewer cells of a workbook.
    for name in &FILES[..4] {
        take(&mut shop, before, name);
        before = name;
        shop.reset();
        run(shop.again().args(["--threads", "4"])).done();
        assert_eq!(shop.rows(), expected, "{name}");
    }
}

/// The same with texts in place of numbers and dates.
const TEXTS: &str = "n INT AUTO_INCREMENT PRIMARY KEY, no VARCHAR(12), ordered VARCHAR(20), email VARCHAR(60), \
    customer VARCHAR(40), line VARCHAR(20), sku VARCHAR(10), product VARCHAR(40), price VARCHAR(20), \
    quantity VARCHAR(20)";

#[test]
fn a_bad_row_goes_to_no_table_and_comes_again_as_an_object() {
    let Some(mut shop) = Shop::new() else { return };
    let good = lines(300);
    let bad = "Y1,2026-13-01,only@bad,Nobody,one,S999,None,x,1\nY2,2026-01-01,,Nobody,1,S999,None,1.00,2\n";
    write_all(&mut shop.desk, TEXTS, &format!("{bad}{good}"));
    let mut before = "wide.csv";
    for name in FILES {
        take(&mut shop, before, name);
        before = name;
        shop.reset();
        let state = shop.state();
        let failed = run(&mut shop.again());
        assert_eq!((failed.code(), shop.state()), (1, state), "{name}: {failed:?}");
        let checked = shop.again().get_args().skip(1).map(ToOwned::to_owned).collect::<Vec<_>>();
        let checked = run(shop.desk.home.inrush(["check"]).args(&checked).arg("--json"));
        assert!(checked.code() == 3 && checked.out.contains("\"bad_rows\": 2"), "{checked:?}");
        let loaded = run(shop.again().args(["--rejects-max", "5", "--rejects", "bad.jsonl"]));
        assert_eq!(loaded.code(), 3, "{name}: {loaded:?}");
        assert_eq!(shop.joined(), shown(&good), "{name}");
        let reasons = std::fs::read_to_string(shop.path("bad.jsonl.reasons.jsonl")).unwrap();
        let first: Value = serde_json::from_str(reasons.lines().next().unwrap()).unwrap();
        let is_sheet = name == "wide.xlsx";
        assert_eq!(first["line"], if is_sheet { 2 } else { 1 }, "{name}: {first}");
        assert_eq!(first["byte"].is_null(), !name.contains("json"), "{name}: {first}");
        if is_sheet {
            assert_eq!((&first["part"], &first["cell"]), (&"sheet Orders".into(), &"E2".into()));
        }
        for part in ["products.price", "orders.ordered", "order_lines.line"] {
            assert!(first.to_string().contains(part), "{name}: {part}: {first}");
        }
        let records = std::fs::read_to_string(shop.path("bad.jsonl")).unwrap();
        let records = records.replace("},\n", "}\n");
        let records: Vec<Value> =
            records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&records[0]["no"], &records[0]["price"]), (&"Y1".into(), &"x".into()));
        assert_eq!((records.len(), &records[1]["sku"]), (2, &"S999".into()), "{name}");
        assert!(records[1]["email"].is_null(), "{name}: {records:?}");
    }
}

/// A job with every source of a value.
const PARTS: &str = r#"
into = "DATABASE"
[input]
files = ["wide.csv"]
header = true
null_token = ""
[[rule]]
field = "sku"
regex = '^S\d+$'
[[rule]]
compare = "line <= quantity"
[[rule]]
field = "no"
references = "DATABASE.known.no"
[[table]]
name = "parts"
when = [{ line = [1, 2], price = { min = 10.5 } }, { email = { null = true } }, { customer = { like = "%9" } }]
[table.columns]
line = { line = true }
file = { file_name = true }
title = { concat = ["product", { value = " for " }, "price"] }
day = { from = "ordered", format = "%Y-%m-%d" }
price = { from = "price", format = "exact" }
email = "email"
known = { lookup = "DATABASE.known", key = "no", take = "id", from = "no" }
"#;

#[test]
fn conditions_rules_and_made_values_are_those_of_text() {
    let Some(mut desk) = Desk::new() else { return };
    let text = lines(200).replace("c3@example.org", "").replace(",S9,", ",X9,");
    write_all(&mut desk, WIDE, &text);
    desk.exec("CREATE TABLE known (no VARCHAR(12) PRIMARY KEY, id INT)");
    desk.exec("INSERT INTO known SELECT DISTINCT no, CRC32(no) % 1000 FROM wide WHERE no <> 'N5'");
    desk.exec(
        "CREATE TABLE parts (line INT, file VARCHAR(20), title VARCHAR(60), day DATE, price DECIMAL(8,2), \
         email VARCHAR(60), known INT)",
    );
    let job = PARTS.replace("DATABASE", &desk.database);
    let mut expected = Vec::new();
    for name in ["wide.csv"].into_iter().chain(FILES) {
        let (csv, is_sheet) = (name == "wide.csv", name == "wide.xlsx");
        let job = job.replace("wide.csv", name);
        desk.home.file(
            "job.toml",
            if csv { job } else { job.replace("header = true\nnull_token = \"\"\n", "") },
        );
        desk.exec("TRUNCATE parts");
        let mut load = desk.home.inrush(["load", "-c", "job.toml", "--quiet", "--socket"]);
        let load = run(load.arg(desk.server.socket()).args(["--rejects-max", "500"]));
        assert_eq!(load.code(), 3, "{name}: {load:?}");
        let first = if csv || is_sheet { 1 } else { 0 };
        let sql = format!(
            "SELECT line - {first}, title, day, price, email, known FROM parts WHERE file = '{name}' ORDER BY line"
        );
        let mut rows = desk.rows(&sql);
        if is_sheet {
            // Texts of numbers are those that Excel shows.
            rows.iter_mut().for_each(|row| *row = row.replacen(".5|", ".50|", 1));
        }
        if csv {
            assert!(rows.len() > 150, "{rows:?}");
            assert!(rows.iter().any(|row| row.contains("|2026-03-01|")), "{rows:?}");
            expected = rows;
        } else {
            assert_eq!(rows, expected, "{name}");
        }
    }
}

const TYPES: &str = "id INT PRIMARY KEY, b BIT(9), y YEAR, u BIGINT UNSIGNED, d DECIMAL(30,10), f FLOAT, g DOUBLE, \
    day DATE, at DATETIME(6), stamp TIMESTAMP(3) NULL, clock TIME(6), t VARCHAR(20), raw VARBINARY(20), doc JSON, \
    e ENUM('x','1')";

/// A value of each type, as the server shows it.
const SHOWN: &str = "SELECT id, HEX(b), y, u, d, f, g, day, at, stamp, clock, HEX(t), t IS NULL, HEX(raw), doc, e \
    FROM TABLE ORDER BY id";

#[test]
fn values_of_all_types_are_those_of_a_load_into_one_table() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("SET time_zone='+00:00'");
    desk.exec(&format!("CREATE TABLE was ({TYPES})"));
    desk.exec(
        "INSERT INTO was VALUES \
         (1, b'100000101', 1999, 18446744073709551615, '12345678901234567890.0123456789', 0.1, 0.1, '2024-02-29', \
          '2024-02-29 12:34:56.000001', '2024-07-01 10:00:00.125', '-100:00:00.5', 'a,\"b\\\\', X'00FF2C0A', '\"7\"', '1'), \
         (2, b'0', 2000, 0, '-0.0000000001', 3.4e38, 1e300, '0001-01-01', '9999-12-31 23:59:59.999999', \
          '1970-01-02 00:00:00', '00:00:00', '', '', '{\"k\": [1, \"\\\\u00e9\"]}', 'x'), \
         (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), \
         (4, b'111111111', 2155, 9007199254740993, '0.5', -0.25, 0.1e-6, '2000-01-01', '2000-01-01 00:00:00', \
          '2030-01-01 00:00:00.001', '12:00:00.000001', 'x', 'abc', 'true', 'x')",
    );
    let expected = desk.rows(&SHOWN.replace("TABLE", "was"));
    let columns = "columns = { id = \"id\", b = \"b\", y = \"y\", u = \"u\", d = \"d\", f = \"f\", g = \"g\", \
         day = \"day\", at = \"at\", stamp = \"stamp\", clock = \"clock\", t = \"t\", raw = RAW, doc = \"doc\", e = \"e\" }";
    for (name, raw) in [
        ("was.parquet", "\"raw\""),
        ("was.arrow", "\"raw\""),
        ("was.jsonl", "{ from = \"raw\", format = \"base64\" }"),
    ] {
        export(&desk, "was", name, &["--force"]).done();
        // Texts of JSON are times of the session's clocks.
        let zone = if name == "was.jsonl" { "+00:00" } else { "+02:00" };
        for (when, entity) in [
            ("when = { id = [1, 2] }", "when = { id = { min = 3 } }"),
            ("when = { t = { null = false } }", "when = { t = { null = true } }"),
            // All columns are compared, and make keys.
            (
                "when = { day = { not_in = [\"2000-01-01\"] } }",
                "when = [{ day = \"2000-01-01\" }, { day = { null = true } }]\n\
                 entity = { key = [\"id\", \"stamp\", \"b\", \"y\", \"d\", \"raw\"] }",
            ),
        ] {
            let entity = entity.replace("{ min = 3 }", "[3, 4]");
            let columns = columns.replace("RAW", raw);
            desk.home.file(
                "job.toml",
                format!(
                    "into = \"{}\"\n[input]\nfiles = [\"{name}\"]\n[[table]]\nname = \"one\"\n{when}\n{columns}\n\
                     [[table]]\nname = \"two\"\n{entity}\n{columns}\n",
                    desk.database
                ),
            );
            for table in ["one", "two"] {
                desk.exec(&format!("DROP TABLE IF EXISTS {table}"));
                desk.exec(&format!("CREATE TABLE {table} ({TYPES})"));
            }
            let load = |more: &[&str]| -> Outcome {
                let mut load = desk.home.inrush(["load", "-c", "job.toml", "--quiet", "--socket"]);
                run(load.arg(desk.server.socket()).args(["--time-zone", zone]).args(more))
            };
            load(&[]).done();
            let all = desk
                .rows(&SHOWN.replace("TABLE", "(SELECT * FROM one UNION ALL SELECT * FROM two) s"));
            let is_keyed = entity.contains("key");
            // NULL in a key makes no row.
            let wanted: Vec<_> = expected
                .iter()
                .filter(|row| !is_keyed || !row.starts_with("3|"))
                .cloned()
                .collect();
            assert_eq!(all, wanted, "{name} {when}");
        }
    }
}

#[test]
fn records_of_json_may_lack_fields_and_have_others() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec(
        "CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL DEFAULT 'nobody', city VARCHAR(20), \
         tags JSON, active BOOLEAN)",
    );
    desk.exec("CREATE TABLE others (id INT PRIMARY KEY, name VARCHAR(20))");
    let records = "{\"id\": 1, \"kind\": \"p\", \"address\": {\"city\": \"Rome\"}, \"tags\": \"t\", \"active\": true}\n\
        {\"id\": 2, \"kind\": \"p\", \"name\": \"Ann\", \"late\": 1, \"tags\": [1, {\"a\": null}], \"active\": false}\n\
        {\"id\": 3, \"kind\": \"o\", \"name\": null}\n\
        {\"id\": 4, \"kind\": \"o\", \"name\": \"Bob\"\n\
        {\"id\": 5, \"kind\": \"o\", \"name\": \"x\", \"name\": \"y\"}\n\
        {\"id\": 6, \"kind\": \"o\", \"name\": 12.50}\n";
    desk.home.file("in.jsonl", records);
    let job = format!(
        "into = \"{}\"\n[input]\nfiles = [\"in.jsonl\"]\n\
         columns = [\"id\", \"kind\", \"name\", \"/address/city\", \"tags\", \"active\"]\n\
         [[table]]\nname = \"people\"\nwhen = {{ active = [true, false] }}\n\
         columns = {{ id = \"id\", name = \"name\", city = \"/address/city\", tags = \"tags\", active = \"active\" }}\n\
         [[table]]\nname = \"others\"\nwhen = {{ kind = \"o\" }}\ncolumns = {{ id = \"id\", name = \"name\" }}\n",
        desk.database
    );
    desk.home.file("job.toml", &job);
    let load = |desk: &Desk| {
        let mut load = desk.home.inrush(["load", "-c", "job.toml", "--quiet", "--socket"]);
        run(load.arg(desk.server.socket()).args(["--rejects-max", "9", "--rejects", "bad.jsonl"]))
    };
    assert_eq!(load(&desk).code(), 3);
    assert_eq!(
        desk.rows("SELECT * FROM people ORDER BY id"),
        ["1|nobody|Rome|\"t\"|1", "2|Ann||[1, {\"a\": null}]|0"]
    );
    assert_eq!(desk.rows("SELECT * FROM others ORDER BY id"), ["3|", "6|12.50"]);
    let bad = std::fs::read_to_string(desk.home.path().join("bad.jsonl")).unwrap();
    let expected: Vec<&str> = records.lines().skip(3).take(2).collect();
    assert_eq!(bad.lines().collect::<Vec<_>>(), expected);
    // Where each field goes to the column of its name, no field is skipped that the first records lack.
    desk.exec("TRUNCATE others");
    let pad = "\n".repeat(300_000);
    let text = format!("{{\"id\": 1, \"name\": \"x\"}}\n{pad}{{\"id\": 2, \"note\": \"y\"}}\n");
    desk.home.file("in.jsonl", text);
    let job = format!(
        "into = \"{}\"\n[input]\nfiles = [\"in.jsonl\"]\n[[table]]\nname = \"others\"\n",
        desk.database
    );
    desk.home.file("job.toml", job);
    assert_eq!(load(&desk).code(), 3);
    let reasons =
        std::fs::read_to_string(desk.home.path().join("bad.jsonl.reasons.jsonl")).unwrap();
    assert!(
        reasons.contains("the record has a field `note`, which the first records lack"),
        "{reasons}"
    );
}

/// Lines with one text got the id of the first of them.
#[test]
fn values_of_json_with_one_text_are_other_keys() {
    let Some(mut desk) = Desk::new() else { return };
    desk.exec("CREATE TABLE codes (id INT PRIMARY KEY, code VARCHAR(9) UNIQUE)");
    desk.exec("CREATE TABLE uses (n INT PRIMARY KEY, code INT)");
    let records = "{\"n\": 1, \"code\": true}\n{\"n\": 2, \"code\": \"1\"}\n{\"n\": 3, \"code\": 1}\n\
        {\"n\": 4, \"code\": true}\n";
    desk.home.file("in.jsonl", records);
    let job = format!(
        "into = \"{}\"\n[input]\nfiles = [\"in.jsonl\"]\n[[table]]\nname = \"codes\"\n\
         columns = {{ code = \"code\" }}\nentity = {{ key = [\"code\"], id = \"id\" }}\n[[table]]\n\
         name = \"uses\"\ncolumns = {{ n = \"n\", code = {{ id_of = \"codes\" }} }}\n",
        desk.database
    );
    desk.home.file("job.toml", &job);
    let mut load = desk.home.inrush(["load", "-c", "job.toml", "--quiet", "--socket"]);
    run(load.arg(desk.server.socket())).done();
    assert_eq!(desk.rows("SELECT * FROM codes ORDER BY id"), ["1|true", "2|1"]);
    assert_eq!(desk.rows("SELECT * FROM uses ORDER BY n"), ["1|1", "2|2", "3|2", "4|1"]);
}

#[test]
fn an_append_that_is_killed_adds_each_row_once() {
    let Some(mut shop) = Shop::new() else { return };
    let (old, new) = (lines(100), lines(400).replace("\nN", "\nM").replacen('N', "M", 1));
    write_all(&mut shop.desk, WIDE, &new);
    let all = shown(&format!("{old}{new}"));
    for name in ["wide.parquet", "wide.json"] {
        for place in ["thread.lines", "orders.rows.begin", "publish.commit", "publish.committed"] {
            shop.reset();
            shop.desk.home.file("old.csv", format!("{HEADER}{old}"));
            run(shop.again().arg("old.csv")).done();
            shop.edit("\"wide.csv\"", &format!("\"{name}\""));
            shop.edit("header = true\nnull_token = \"\"\n", "");
            let mut killed = shop.again();
            killed.args(["--mode", "append"]).env("INRUSH_FAILPOINT", format!("{place}=kill"));
            let killed = run(&mut killed);
            assert_eq!(killed.status.signal(), Some(9), "{name} {place}: {killed:?}");
            if place != "publish.committed" {
                run(shop.again().args(["--mode", "append"])).done();
            }
            assert_eq!(shop.joined(), all, "{name} {place}");
            shop.edit(&format!("\"{name}\""), "\"wide.csv\"");
            shop.edit("[input]\n", "[input]\nheader = true\nnull_token = \"\"\n");
        }
    }
}

#[test]
fn several_files_are_one_input_and_must_have_the_same_columns() {
    let Some(mut shop) = Shop::new() else { return };
    let all = lines(200);
    let half: usize = all.split_inclusive('\n').take(300).map(str::len).sum();
    let (one, two) = all.split_at(half);
    for (at, text) in [one, two].into_iter().enumerate() {
        write_all(&mut shop.desk, WIDE, text);
        let copy = |ending: &str| {
            std::fs::rename(
                shop.path(&format!("wide.{ending}")),
                shop.path(&format!("part-{at}.{ending}")),
            )
            .unwrap();
        };
        ["parquet", "arrow", "jsonl", "xlsx"].into_iter().for_each(copy);
    }
    let mut before = "wide.csv".to_owned();
    for ending in ["parquet", "arrow", "jsonl", "xlsx"] {
        let pattern = format!("part-*.{ending}");
        take(&mut shop, &before, &pattern);
        before = pattern;
        shop.reset();
        run(&mut shop.again()).done();
        assert_eq!(shop.joined(), shown(&all), "{ending}");
    }
    shop.reset();
    shop.desk.exec("ALTER TABLE wide DROP COLUMN price");
    export(&shop.desk, "wide", "part-9.parquet", &[]).done();
    take(&mut shop, &before, "part-*.parquet");
    let state = shop.state();
    run(&mut shop.again()).refused(2, &["part-", "price"]);
    assert_eq!(shop.state(), state);
    // A value that a column cannot have exactly is refused before anything is loaded.
    std::fs::remove_file(shop.path("part-9.parquet")).unwrap();
    shop.edit("ordered = \"ordered\"", "ordered = \"price\"");
    run(&mut shop.again()).refused(2, &["column `price`", "cannot store exactly"]);
    assert_eq!(shop.state(), state);
}

#[test]
fn a_job_file_to_begin_with_loads_files_of_every_format() {
    let Some(mut shop) = Shop::new() else { return };
    write_all(&mut shop.desk, WIDE, &lines(50));
    let rows = "SELECT no, ordered, email, customer, line, sku, product, price + 0, quantity FROM wide ORDER BY 1, 5";
    let expected = shop.desk.rows(rows);
    for name in FILES {
        let database = shop.desk.database.clone();
        let init = run(&mut shop.desk.home.inrush(["job", "init", name, "--into", &database]));
        shop.desk.home.file("job.toml", &init.done().out);
        shop.desk.exec("DROP TABLE wide");
        let load = run(&mut shop.again());
        assert_eq!(load.code(), 0, "{name}: {load:?}\n{}", init.out);
        assert_eq!(shop.desk.rows(rows).len(), expected.len(), "{name}");
    }
}

#[test]
fn fields_of_other_programs_go_to_the_columns_of_their_names() {
    let Some(mut desk) = Desk::new() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../columnar/testdata");
    for name in ["pyarrow.arrows", "pyarrow-lz4.feather", "duckdb.parquet", "other/book.ods"] {
        desk.exec("DROP TABLE IF EXISTS one");
        desk.exec("DROP TABLE IF EXISTS two");
        let file = folder.join(name);
        desk.load("one", &file, &["--create"]).done();
        desk.exec("CREATE TABLE two LIKE one");
        desk.home.file(
            "job.toml",
            format!(
                "into = \"{}\"\n[input]\nfiles = [\"{}\"]\n[[table]]\nname = \"two\"\n",
                desk.database,
                file.display()
            ),
        );
        let mut load = desk.home.inrush(["load", "-c", "job.toml", "--quiet", "--socket"]);
        run(load.arg(desk.server.socket())).done();
        let rows = ["one", "two"].map(|table| {
            let mut rows = desk.rows(&format!("SELECT * FROM {table}"));
            rows.sort();
            rows
        });
        assert!(!rows[0].is_empty() && rows[0] == rows[1], "{name}: {rows:?}");
    }
}
