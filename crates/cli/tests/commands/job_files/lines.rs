//! Lines that are bad, and those that go to one table or another.

use serde_json::Value;

use super::shop::{Shop, lines, shown};
use crate::support::run;

#[test]
fn a_bad_last_line_leaves_every_table_untouched() {
    let Some(mut shop) = Shop::new() else { return };
    let good = lines(3_000);
    for (bad, said) in [
        ("X,2026-01-01,a@x,Ann,1,S1,Product 1,1.50,many\n", "\"many\" is not INT"),
        ("X,2026-01-01,a@x,Ann,1,S1,Product 1,1.50\n", "the line has 8 fields; 9 expected"),
        ("X,2026-01-01,,Ann,1,S1,Product 1,1.50,1\n", "NULL, but the column is NOT NULL"),
        (
            "N0,2026-03-01,c0@example.org,Customer 0,1,S31,Product 31,31.50,1\n",
            "the same `PRIMARY` key",
        ),
    ] {
        let state = shop.state();
        shop.load(&format!("{good}{bad}"), &[]).refused(1, &[said]);
        assert_eq!(shop.state(), state, "{said}");
    }
    shop.load(&good, &[]).done();
    let state = shop.state();
    shop.load("X,2026-02-31,a@x,Ann,1,S1,P,1.50,1\n", &["--mode", "replace"]).refused(1, &["DATE"]);
    assert_eq!(shop.state(), state);
}

#[test]
fn a_bad_line_goes_to_no_table_and_all_its_faults_are_told() {
    let Some(mut shop) = Shop::new() else { return };
    let good = lines(500);
    let bad = "Y1,2026-13-01,only@bad,Nobody,one,S999,None,x,1\nY2,2026-01-01,only@bad,Nobody,1\n";
    let arguments = ["--rejects-max", "5", "--rejects", "bad.csv"];
    let page = ["--report", "page.html", "--path", "direct"];
    let loaded = shop.load(&format!("{bad}{good}"), &[&arguments[..], &page].concat());
    assert_eq!(loaded.code(), 3, "{loaded:?}");
    assert_eq!(shop.joined(), shown(&good));
    assert_eq!(shop.desk.rows("SELECT COUNT(*) FROM customers WHERE email = 'only@bad'"), ["0"]);
    assert_eq!(shop.desk.rows("SELECT MIN(id) FROM products"), ["1"]);
    let rejects = std::fs::read_to_string(shop.path("bad.csv")).unwrap();
    assert_eq!(rejects, format!("{}{bad}", super::shop::HEADER));
    let reasons = std::fs::read_to_string(shop.path("bad.csv.reasons.jsonl")).unwrap();
    let first = reasons.lines().next().unwrap();
    for part in
        ["\"line\":2", "products.price", "orders.ordered", "order_lines.line", "\"field\":8"]
    {
        assert!(first.contains(part), "{part}: {first}");
    }
    assert!(reasons.contains("the line has 5 fields; 9 expected"), "{reasons}");
    let page = std::fs::read_to_string(shop.path("page.html")).unwrap();
    for part in ["the line has too few fields", "order_lines.line", "Take a full backup"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // Mended, they are added by the same command.
    let mended = "Y1,2026-12-01,only@bad,Nobody,1,S999,None,1.00,1\n";
    shop.load(mended, &["--mode", "append"]).done();
    assert_eq!(shop.counts()[2], 501);
}

#[test]
fn a_check_tells_every_bad_line_and_loads_nothing() {
    let Some(mut shop) = Shop::new() else { return };
    let (good, state) = (lines(500), shop.state());
    let outcome = shop.load(&good, &["--dry-run", "--json"]);
    assert_eq!(outcome.code(), 0, "{outcome:?}");
    assert!(outcome.out.contains("\"rows\": 1500"), "{outcome:?}");
    let bad = "Y1,2026-13-01,only@bad,Nobody,one,S998,None,x,1\nY2,2026-01-01,only@bad,Nobody,1\n\
               Y3,2026-01-01,y@good,Nobody,1,S998,None,1.00,1\nY4,2026-01-01,y@good,Nobody,1,S998,None,2.00,1\n";
    let outcome =
        shop.load(&format!("{good}{bad}"), &["--dry-run", "--json", "--rejects", "bad.csv"]);
    assert_eq!(outcome.code(), 3, "{outcome:?}");
    for part in [
        "\"rows\": 1504",
        "\"bad_rows\": 3",
        "\"line\": 1502",
        "\"column\": \"products.price\"",
        "the line has 5 fields; 9 expected",
        "\"line\": 1505",
        "differs from the first line with the same row of products",
        "duplicate keys in tables without an entity, and foreign keys",
    ] {
        assert!(outcome.out.contains(part), "{part}: {outcome:?}");
    }
    let rejects = std::fs::read_to_string(shop.path("bad.csv")).unwrap();
    assert_eq!(rejects.lines().count(), 4, "{rejects}");
    assert_eq!(shop.state(), state);
}

/// A load refuses to replace rows by none, and so does the check before it.
#[test]
fn a_check_names_a_table_whose_rows_would_be_replaced_by_none() {
    let Some(mut shop) = Shop::new() else { return };
    let table = "[[table]]\nname = \"order_lines\"\n";
    shop.edit(table, &format!("{table}when = {{ no = \"none\" }}\n"));
    let lines = lines(10);
    shop.load(&lines, &["--dry-run"]).done();
    let words = ["the input has no rows", "--mode replace would leave", "order_lines empty"];
    shop.load(&lines, &["--dry-run", "--mode", "replace"]).refused(2, &words);
    shop.load(&lines, &["--mode", "replace"]).refused(2, &words);
    shop.load(&lines, &["--dry-run", "--mode", "replace", "--allow-empty"]).done();
    // An entity has no row of lines without its key.
    shop.edit("when = { no = \"none\" }\n", "");
    shop.edit("order_id = { id_of = \"orders\" }", "order_id = \"line\"");
    let without_key = ",2026-01-01,a@x,Ann,1,S1,Nail,1.50,2\n";
    let refused = shop.load(without_key, &["--dry-run", "--mode", "replace"]);
    refused.refused(2, &["--mode replace would leave", ".orders empty"]);
}

#[test]
fn bad_lines_take_a_quarter_of_the_memory_at_most() {
    let Some(mut shop) = Shop::new() else { return };
    let (name, state) = ("x".repeat(20_000), shop.state());
    let line = |at| format!("B{at},no date,a@x,{name},1,S1,P,1.50,1\n");
    let text = format!("{}{}", lines(10), (0..1_000).map(line).collect::<String>());
    for rejects_max in ["99%", "5000"] {
        let refused = shop.load(&text, &["--rejects-max", rejects_max]);
        refused.refused(2, &["bad lines take more than 12 MB", "use more --memory"]);
    }
    let check = |lines: &str| {
        let found = shop.load(lines, &["--dry-run", "--json"]);
        assert_eq!(found.code(), 3, "{found:?}");
        let report: Value = serde_json::from_str(&found.out).unwrap();
        let not_judged = report["not_judged"].as_array().unwrap().last().unwrap().to_string();
        (report["bad_rows"].as_u64().unwrap(), not_judged)
    };
    let (bad, not_judged) = check(&text);
    assert!((500..1_000).contains(&bad), "{bad}");
    assert_eq!(not_judged, format!("\"lines after the first {bad} bad lines\""));
    assert_eq!(shop.state(), state);
}

#[test]
fn a_check_of_very_many_bad_lines_ends_with_a_report() {
    let Some(shop) = Shop::new() else { return };
    shop.command(&"x\n".repeat(300_000));
    let mut check = shop.desk.home.inrush(["check", "-c", "job.toml", "--json", "--memory", "1G"]);
    let found = run(check.arg("--socket").arg(shop.desk.server.socket()));
    assert_eq!(found.code(), 3, "{found:?}");
    let report: Value = serde_json::from_str(&found.out).unwrap();
    let bad = report["bad_rows"].as_u64().unwrap();
    assert!((100_001..=300_000).contains(&bad), "{report}");
}

#[test]
fn lines_go_where_their_conditions_say_and_columns_get_what_is_said() {
    let Some(mut shop) = Shop::new() else { return };
    shop.desk.exec("CREATE TABLE kinds (code CHAR(1) PRIMARY KEY, label VARCHAR(20))");
    shop.desk.exec("INSERT INTO kinds VALUES ('a', 'Anna''s'), ('b', NULL)");
    shop.desk.exec("CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(40), origin VARCHAR(9) NOT NULL, file VARCHAR(20), line INT, said VARCHAR(40))");
    shop.desk.exec(
        "CREATE TABLE sums (id INT PRIMARY KEY, amount DECIMAL(9,2), day DATE, kind VARCHAR(20))",
    );
    let text = "1;p;Ann;Lee;;;a\n2;s;;;1.234,50;31.12.2026;a\n3;x;;;;;\n4;p;Bob;;;;b\n5;s;;;-2;1.1.2027;b\n6;s;;;;;a\n";
    shop.desk.home.file("mixed.txt", text);
    let job = format!(
        r#"
into = "{0}"
[input]
files = "mixed.t*t"
columns = ["id", "what", "first", "last", "amount", "day", "kind"]
fields_terminated_by = ";"
null-token = ""
[[table]]
name = "people"
when = [ {{ what = "p" }}, {{ what = "x", id = {{ min = 3, max = 3 }} }} ]
[table.columns]
id = "id"
name = {{ concat = ["first", {{ value = " " }}, "last"] }}
origin = {{ value = "märz" }}
file = {{ file_name = true }}
line = {{ line = true }}
said = {{ sql = "(SELECT CONCAT(MIN(label), ' 1\\t2 é') FROM {0}.kinds) -- of all" }}
[[table]]
name = "sums"
when = {{ what = ["s", "t"], amount = {{ null = false }} }}
[table.columns]
id = "id"
amount = {{ from = "amount", format = "decimal-comma" }}
day = {{ from = "day", format = "%d.%m.%Y" }}
kind = {{ lookup = "{0}.kinds", key = "code", take = "label", from = "kind" }}
"#,
        shop.desk.database
    );
    shop.desk.home.file("job.toml", job);
    run(&mut shop.again()).done();
    let people = "SELECT id, name, origin, file, line, said FROM people ORDER BY id";
    let said = "Anna's 1\t2 é";
    let people_then = [
        format!("1|Ann Lee|märz|mixed.txt|1|{said}"),
        format!("3||märz|mixed.txt|3|{said}"),
        format!("4||märz|mixed.txt|4|{said}"),
    ];
    assert_eq!(shop.desk.rows(people), people_then);
    let sums = "SELECT id, amount, day, kind FROM sums ORDER BY id";
    assert_eq!(shop.desk.rows(sums), ["2|1234.50|2026-12-31|Anna's", "5|-2.00|2027-01-01|"]);
    for path in ["stream", "insert"] {
        run(shop.again().args(["--mode", "replace", "--path", path])).done();
        assert_eq!(shop.desk.rows(people), people_then, "{path}");
        assert_eq!(shop.desk.rows(sums).len(), 2, "{path}");
    }
    let state = shop.desk.rows(sums);
    shop.desk.home.file("mixed.txt", format!("{text}7;s;;;1;1.1.2027;q\n"));
    run(shop.again().args(["--mode", "replace"]))
        .refused(1, &["mixed.txt line 7", "field 7 `kind`", "has no row with this code"]);
    assert_eq!(shop.desk.rows(sums), state);
}

#[test]
fn lines_that_break_a_rule_are_bad_and_counted_by_rule() {
    let Some(mut shop) = Shop::new() else { return };
    let good = lines(200);
    let bad = "Y1,2026-01-01,no mail,Nobody,1,S1,Product 1,1.50,900\n\
               Y2,2026-01-01,,Nobody,1,S1,Product 1,1.50,1\n\
               N0,2026-03-01,c0@example.org,Customer 0,7,S31,Product 31,31.50,1\n\
               Y4,2026-01-01,c0@example.org,Customer 0,9,S7,Product 7,7.50,1\n";
    let database = shop.desk.database.clone();
    shop.desk.exec("CREATE TABLE wares (code VARCHAR(10) PRIMARY KEY)");
    shop.desk.exec("INSERT INTO wares SELECT CONCAT('s', seq) FROM seq_0_to_96 WHERE seq <> 7");
    let without_ware: Vec<&str> = good.lines().filter(|line| !line.contains(",S7,")).collect();
    let good: String = without_ware.iter().map(|line| format!("{line}\n")).collect();
    shop.edit(
        "[[table]]\nname = \"customers\"",
        &format!(
            "[[rule]]\nname = \"a mail address\"\nfield = \"email\"\nrequired = true\nregex = '^\\S+@\\S+$'\n\
             [[rule]]\nfield = \"quantity\"\nmin = 1\nmax = 99\n\
             [[rule]]\ncompare = \"line <= price\"\nwhen = {{ no = \"N0\", line = {{ min = 7 }} }}\n\
             [[rule]]\ncompare = \"line < quantity\"\nwhen = {{ no = \"N0\", line = \"7\" }}\n\
             [[rule]]\nfield = \"sku\"\nreferences = \"{database}.wares.code\"\n\
             [[table]]\nname = \"customers\""
        ),
    );
    shop.load(&format!("{bad}{good}"), &[])
        .refused(1, &["wide.csv line 2", "`email`: does not match"]);
    assert_eq!(shop.counts(), [0; 4]);
    let log = ["--rejects-max", "4", "--rejects", "bad.csv", "--json"];
    let loaded = shop.load(&format!("{good}{bad}"), &log);
    assert_eq!(loaded.code(), 3, "{loaded:?}");
    assert_eq!(shop.joined(), shown(&good));
    let reasons = std::fs::read_to_string(shop.path("bad.csv.reasons.jsonl")).unwrap();
    for part in [
        "is more than 99",
        "is required, but NULL",
        "is not < quantity",
        "wares has no row with this code",
    ] {
        assert!(reasons.contains(part), "{part}: {reasons}");
    }
    assert!(loaded.out.contains("\"reason\": \"a mail address\""), "{loaded:?}");
    // The second and third of one value.
    shop.reset();
    shop.edit("[[rule]]\nfield = \"quantity\"", "[[rule]]\nfield = \"product\"\nunique = true\nwhen = { no = [\"U1\", \"U2\", \"U3\"] }\n[[rule]]\nfield = \"quantity\"");
    let lines = "U1,2026-01-01,a@x,Ann,1,S1,Nail,1.50,2\n\
                 U2,2026-01-01,a@x,Ann,1,S1,Nail,1.50,2\n\
                 U3,2026-01-01,a@x,Ann,1,S1,Nail,1.50,2\n\
                 U4,2026-01-01,a@x,Ann,1,S1,Nail,1.50,2\n";
    shop.load(lines, &[]).refused(1, &["wide.csv line 3", "`product`: must be unique"]);
    shop.load(lines, &["--rejects-max", "2"]);
    assert_eq!(shop.desk.rows("SELECT no FROM orders ORDER BY no"), ["U1", "U4"]);
}

#[test]
fn a_line_is_not_compared_with_a_bad_one() {
    let Some(mut shop) = Shop::new() else { return };
    let (bad, good) = (
        "A,2026-01-01,a@x,Ann,1,S1,Nail,dear,2\n",
        "B,2026-01-02,b@x,Bob,1,S1,Nail,1.75,3\nC,2026-01-03,c@x,Cid,1,S1,Nail,1.75,3\n",
    );
    let text = format!("{bad}{good}");
    for rule in ["fail", "reject"] {
        shop.load(&text, &[]).refused(1, &["wide.csv line 2", "`products.price`", "\"dear\""]);
        assert_eq!(shop.counts(), [0; 4], "{rule}");
        let loaded = shop.load(&text, &["--rejects-max", "1"]);
        assert_eq!(loaded.code(), 3, "{loaded:?}");
        assert_eq!(shop.joined(), shown(good), "{rule}");
        shop.reset();
        if rule == "fail" {
            shop.edit("on_conflict = \"fail\"", "on_conflict = \"reject\"");
        }
    }
}

/// The job of a file in latin1, with what `city` is.
fn visits(database: &str, city: &str) -> String {
    format!(
        r#"
into = "{database}"
[input]
files = ["visits.csv"]
header = true
charset = "latin1"
[[table]]
name = "visits"
[table.columns]
id = "id"
city = {city}
raw = {{ lookup = "{database}.cities", key = "code", take = "raw", from = "city" }}
"#
    )
}

#[test]
fn looked_up_values_of_another_character_set_are_stored_as_they_are() {
    let Some(mut shop) = Shop::new() else { return };
    let database = shop.desk.database.clone();
    shop.desk.exec(
        "CREATE TABLE cities (code VARCHAR(20), name VARCHAR(20), raw BINARY(4), UNIQUE (code)) \
         CHARSET utf8mb4 COLLATE utf8mb4_bin",
    );
    shop.desk.exec(
        "INSERT INTO cities VALUES ('ł', 'a', NULL), ('ź', 'b', NULL), ('?', 'c', NULL), \
         ('é', 'Łódź', x'00FF80C3'), ('ü', 'Köln', x'FF00C380'), ('n', NULL, NULL), ('z', 'Zossen', NULL)",
    );
    shop.desk.exec(
        "CREATE TABLE visits (id INT PRIMARY KEY, city VARCHAR(20), raw BINARY(4)) CHARSET utf8mb4",
    );
    let lookup = format!(
        r#"{{ lookup = "{database}.cities", key = "code", take = "name", from = "city" }}"#
    );
    shop.desk.home.file("job.toml", visits(&database, &lookup));
    let good = b"id,city\n1,\xFC\n2,?\n3,n\n".to_vec();
    shop.desk.home.file("visits.csv", &good);
    for path in ["auto", "direct", "stream", "insert"] {
        run(shop.again().args(["--mode", "replace", "--path", path])).done();
        let rows = shop.desk.rows("SELECT id, city, HEX(raw) FROM visits ORDER BY id");
        assert_eq!(rows, ["1|Köln|FF00C380", "2|c|", "3||"], "{path}");
    }
    // A value that no field of the file could have.
    shop.desk.home.file("visits.csv", [&good[..], b"4,\xE9\n"].concat());
    let lacks = "latin1, the character set of the file, lacks a character of it";
    let refused = run(shop.again().args(["--mode", "replace"]));
    refused.refused(1, &["visits.csv line 5", "field 2 `city`", lacks]);
    // Values that their column cannot have are told by a check and tolerated by a load.
    shop.desk.exec("TRUNCATE visits");
    shop.desk.exec("ALTER TABLE visits MODIFY city VARCHAR(5) NOT NULL DEFAULT ''");
    shop.desk.home.file("visits.csv", b"id,city\n1,\xFC\n2,n\n3,z\n4,\xE9\n");
    let checked = run(shop.again().arg("--dry-run"));
    assert_eq!(checked.code(), 3, "{checked:?}");
    let log = ["--mode", "replace", "--rejects-max", "3", "--rejects", "bad.csv"];
    let loaded = run(shop.again().args(log));
    assert_eq!(loaded.code(), 3, "{loaded:?}");
    assert_eq!(shop.desk.rows("SELECT id, city FROM visits"), ["1|Köln"]);
    let reasons = std::fs::read_to_string(shop.path("bad.csv.reasons.jsonl")).unwrap();
    for part in ["column city: NULL, but", "column city: \\\"Zossen\\\" is too long", lacks] {
        assert!(reasons.contains(part), "{part}: {reasons}");
    }
    // Texts of the job file are UTF-8.
    for (city, text) in [
        (r#"{ concat = ["city", { value = " – " }] }"#, "\" – \""),
        ("{ file_name = true }", "märz"),
    ] {
        shop.desk.home.file("job.toml", visits(&database, city).replace("visits.csv", "märz.csv"));
        shop.desk.home.file("märz.csv", &good);
        let refused = run(shop.again().args(["--mode", "replace"]));
        refused.refused(2, &[text, "must be ASCII, because the file is in latin1"]);
    }
}
