//! Guesses at texts: headers, lines above them, types, notes.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn sniff_bytes(bytes: &[u8]) -> Result<Sniffed, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    std::fs::write(&path, bytes).unwrap();
    sniff_files(vec![path])
}

fn sniff_files(files: Vec<PathBuf>) -> Result<Sniffed, Error> {
    sniff(&options(files))
}

fn options(files: Vec<PathBuf>) -> SniffOptions {
    SniffOptions {
        files,
        table: "t".to_owned(),
        columnar: None,
        pointers: Vec::new(),
        matching: columnar::ColumnMatching::default(),
        sheet: None,
        dialect: None,
        empty_is_null: false,
        one_column: false,
        null_tokens: Vec::new(),
        null_in_quotes: false,
        header: None,
        skip_lines: 0,
        columns: None,
        encoding: Encoding::ByMark,
        charset: None,
        kept: Default::default(),
        temp_dir: std::env::temp_dir(),
        memory_bytes_max: 4 << 30,
        trim: false,
        constants: Vec::new(),
        wanted: TableSettings::default(),
    }
}

fn names(sniffed: &Sniffed) -> Vec<&str> {
    sniffed.columns.iter().map(|column| column.name.as_str()).collect()
}

/// Each separator was tried at lines without any, behind each number of titles: 2 MB of blank lines took 34 s.
#[test]
fn lines_without_separators_are_read_once() {
    for text in ["\n", "word\n", "12\n"] {
        let before = dialect::SHAPES.get();
        let sniffed = sniff_bytes(text.repeat(100).as_bytes());
        assert!(sniffed.is_ok() || text == "\n", "{sniffed:?}");
        assert_eq!(dialect::SHAPES.get() - before, 1, "{text:?}");
    }
}

#[test]
fn a_header_may_leave_a_column_without_a_name_or_give_one_twice() {
    let sniffed = sniff_bytes(b",a,A\n0,1,x\n1,2,y\n").unwrap();
    assert_eq!(names(&sniffed), ["c1", "a", "Ac3"]);
    assert_eq!((sniffed.rows, sniffed.skip_lines, sniffed.header), (2, 1, false));
    assert!(
        sniffed.notes[0].contains("the header has names that are empty, equal or invalid for a"),
        "{:?}",
        sniffed.notes
    );
    let sniffed = sniff_bytes(b"a,,1\n2,3,4\n").unwrap();
    assert_eq!((sniffed.rows, sniffed.skip_lines), (2, 0));
}

/// Names of columns, rows, lines to skip, and whether a header is matched by name.
fn found(text: &str) -> (Vec<String>, u64, u64, bool) {
    let sniffed = sniff_bytes(text.as_bytes()).unwrap();
    let names = names(&sniffed).into_iter().map(str::to_owned).collect();
    (names, sniffed.rows, sniffed.skip_lines, sniffed.header)
}

#[test]
fn a_header_is_found_whatever_its_names_are() {
    let numbers = |names: &str| format!("{names}\nA,1,2\nB,3,4\n");
    let long = "n".repeat(70);
    for (text, names, rows, skip_lines, header) in [
        (numbers("Country,2000,2001"), "Country|2000|2001", 2, 0, true),
        (numbers("Country,2020-01-22,2020-01-23"), "Country|2020-01-22|2020-01-23", 2, 0, true),
        (numbers("Country,1/22/20,1/23/20"), "Country|1/22/20|1/23/20", 2, 0, true),
        (numbers("Country,3P%,2nd place"), "Country|3P%|2nd place", 2, 0, true),
        ("A,2000,2001\nB,2002,1999\n".to_owned(), "c1|c2|c3", 2, 0, false),
        ("A,1,2\nB,3,4\n".to_owned(), "c1|c2|c3", 2, 0, false),
        ("unknown,1\n2,3\n".to_owned(), "c1|c2", 2, 0, false),
        ("Month,0\n2026-01-01,7\n".to_owned(), "Month|0", 1, 0, true),
        ("k,n,1999,2000\nA,7,2001,5\n".to_owned(), "k|n|1999|2000", 1, 0, true),
        ("town,river\nUlm,Danube\n".to_owned(), "town|river", 1, 0, true),
        ("Ulm,Danube\nYork,Ouse\n".to_owned(), "c1|c2", 2, 0, false),
        ("host,address\na,192.168.0.1\nb,10.0.0.7\n".to_owned(), "host|address", 2, 0, true),
        ("k,n\n-,--\na,1\nb,2\n".to_owned(), "k|n", 2, 2, false),
        ("k,n\na,1\nNA,2\nb,NA\nc,NULL\n".to_owned(), "k|n", 4, 0, true),
        ("k,n\na,1,\nb,2,\n".to_owned(), "k|n", 2, 0, true),
        ("  Ix,   Iy\n 1.5,  20\n 1.25, 3\n".to_owned(), "Ix|Iy", 2, 0, true),
        (numbers(" k , v ,w"), "k|v|w", 2, 0, true),
        (numbers("k,\"v\n(USD)\",w"), "k|v (USD)|w", 2, 2, false),
        (numbers("k,\u{1f600},w"), "k|_|w", 2, 1, false),
        (numbers("k,a@b,@w"), "k|a@b|w", 2, 1, false),
        (numbers(&format!("k,{long},{long}")), &format!("k|{0}|{0}c3", &long[..58]), 2, 1, false),
        ("k,v,,\nA,1,,\nB,2,,\n".to_owned(), "k|v", 2, 1, false),
        ("k,v\nA,1,,\nB,2,,\nC,3,,\nD,4,,\n".to_owned(), "k|v", 4, 1, false),
        ("k,,v\nA,,1\nB,,2\n".to_owned(), "k|c2|v", 2, 1, false),
    ] {
        let names = names.split('|').map(str::to_owned).collect();
        assert_eq!(found(&text), (names, rows, skip_lines, header), "{text}");
    }
}

/// The first row of a file without a header was lost if it had a word for NULL above numbers.
#[test]
fn a_word_for_null_is_no_name() {
    let words = ["NA", "N/A", "n/a", "None", "null", "NaN", "-", "?", "#N/A", "<NA>", "(none)"];
    for word in words {
        for (text, names, rows) in [
            (format!("Berlin,{word}\nParis,12\nRome,7\nOslo,9\n"), "c1|c2", 4),
            (format!("Berlin,{word}\nParis,12\n"), "c1|c2", 2),
            (format!("Berlin,{word}\n"), "c1|c2", 1),
            (format!("{word},2001\n7,2002\n8,1999\n"), "c1|c2", 3),
        ] {
            let names = names.split('|').map(str::to_owned).collect();
            assert_eq!(found(&text), (names, rows, 0, false), "{text}");
        }
    }
    // Beside a name it is one.
    let names = |text: &str| (found(text).0.join("|"), found(text).3);
    assert_eq!(names("k,NA\n1,2\n3,4\n5,6\n"), ("k|NA".to_owned(), true));
    assert_eq!(names("Na,K\n1.5,2\n2.5,3\n"), ("Na|K".to_owned(), true));
}

/// The first row of a file of texts was lost if one of them had an underscore, or was `name`.
#[test]
fn a_first_row_of_texts_is_a_row_unless_its_texts_are_names() {
    for (text, rows) in [
        ("user_a,alice\nuser_b,bob\nuser_c,carol\n", 3),
        ("de_DE,German text\nfr_FR,French\nit_IT,Italian\n", 3),
        ("snake_case,some_text\nother_case,more_text\nlast,x_y\n", 3),
        ("new_york,usa\nrome,italy\nmilan,italy\nlima,peru\n", 4),
        ("name,alice\ncity,rome\nzip,abc\ncountry,italy\n", 4),
        ("id,integer\ntitle,text\nprice,decimal\n", 3),
        ("Ann,City\nBob,Town\nEve,Village\n", 3),
        ("title,my_site\nauthor,ann\nlocale,en\n", 3),
        ("name,Titel\ncity,Stadt\nriver,Fluss\n", 3),
        ("User,Order\nOrder,Item\nItem,Product\nProduct,Supplier\n", 4),
        ("Title,Description\nTitle,Dune\nTitle,Emma\n", 3),
    ] {
        assert_eq!(found(text), (vec!["c1".to_owned(), "c2".to_owned()], rows, 0, false), "{text}");
    }
    for (text, names, rows) in [
        ("id,name\nabc,xy\nde,foobar\n", "id|name", 2),
        ("ID,Name,town\nabc,xy,rome\nde,foobar,oslo\n", "ID|Name|town", 2),
        ("id,first_name\nabc,xy\nde,foobar\n", "id|first_name", 2),
        ("order_id,paid_by\nabc,xy\nde,foobar\nfgh,x\n", "order_id|paid_by", 3),
        ("Name,City\nAnn,Paris\nBob,Rome\nEve,Oslo\n", "Name|City", 3),
        ("Name,Email\nAnn,ann@example.org\nBob,bob@example.org\n", "Name|Email", 2),
        ("ID,Title\nABC,Dune\nDE,Emma\n", "ID|Title", 2),
        (
            "First Name,E-Mail,Hobby\nAnn,Ann@Home,Chess\nBob,Bob@Home,Go\n",
            "First Name|E-Mail|Hobby",
            2,
        ),
        ("Vorname,Ort\nAnn,Ulm\nBob,Bonn\n", "Vorname|Ort", 2),
        // One row may have a usual name.
        ("Name,Type\nUlm,City\nRhine,River\n", "Name|Type", 2),
    ] {
        let names = names.split('|').map(str::to_owned).collect();
        assert_eq!(found(text), (names, rows, 0, true), "{text}");
    }
}

#[test]
fn the_ending_behind_that_of_any_archive_counts() {
    for archive in sources::COMPRESSED {
        let name = format!("x.tsv.{archive}");
        assert_eq!(dialect::ending(std::path::Path::new(&name)).as_deref(), Some("tsv"), "{name}");
    }
}

#[test]
fn lines_above_the_rows_are_skipped_and_said() {
    for (above, below, skip_lines, header) in [
        ("sep=;\n", "id;v\n1;a,b\n2;c\n", 1, true),
        ("sep=:\r\n", "id:v\r\n1:a\r\n2:c\r\n", 1, true),
        ("# a comment, with commas\n#\n", "id,v\n1,a\n2,c\n", 2, true),
        ("#TYPE System.Object\n", "\"id\",\"v\"\n\"1\",\"a\"\n\"2\",\"c\"\n", 1, true),
        ("# by hand, 2026\n", "id,v\n1,a\n2,c\n", 1, true),
        ("# one\n", "# id,v\n1,a\n2,c\n", 2, false),
        ("", "#id\tv\n1\ta\n2\tc\n", 1, false),
        ("Orders of September\n\n", "id;v\n1;a\n2;c\n", 2, true),
        ("Orders of September;\n;\n", "id;v\n1;a\n2;c\n", 2, true),
        ("\n\n", "id;v\n1;a\n2;c\n", 2, true),
        ("Account:;DE12\n\n", "id;v;w\n1;a;x\n2;c;x\n", 2, true),
        ("# one\nA title\n", "id;v\n1;a\n2;c\n", 2, true),
    ] {
        let text = format!("{above}{below}");
        let names = ["id", "v", "w"][..2 + usize::from(below.contains('w'))].to_vec();
        let names = names.into_iter().map(str::to_owned).collect();
        assert_eq!(found(&text), (names, 2, skip_lines, header), "{text:?}");
        let notes = sniff_bytes(text.as_bytes()).unwrap().notes.join("\n");
        let is_said = above.trim().is_empty() || notes.contains("above the rows");
        assert!(is_said, "{text:?}: {notes}");
    }
    // Rows that only look like comments.
    for (text, rows) in [
        ("#one\n#two\nthree\n", 3),
        ("#one,1\n#two,2\nthree,3\n", 3),
        ("#only\n", 1),
        ("Total\nid\n1\n", 3),
    ] {
        let (_, seen, skip_lines, header) = found(text);
        assert_eq!((seen + u64::from(header), skip_lines), (rows, 0), "{text:?}");
    }
}

#[test]
fn a_last_line_that_is_no_row_is_named() {
    let rows: String = (0..20).map(|row| format!("{row},a\n")).collect();
    for (footer, said) in [
        (
            "\n(20 rows affected)\n",
            "the last 2 lines are no rows, \"(20 rows affected)\": delete them, or skip them by --rejects-max 2",
        ),
        (
            "Total: 20",
            "the last line is no row, \"Total: 20\": delete it, or skip it by --rejects-max 1",
        ),
        (
            "x\n20,a\n",
            "of 22 rows that were read (2 fields expected), 1 would be rejected for their number of fields (--rejects-max skips some)",
        ),
    ] {
        let notes = sniff_bytes(format!("id,v\n{rows}{footer}").as_bytes()).unwrap().notes;
        assert_eq!(notes, [said]);
    }
}

#[test]
fn files_with_other_comments_are_refused_together() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let a = write("a.csv", "# one\nid,v\n1,x\n");
    let b = write("b.csv", "id,v\n2,y\n");
    let said = sniff_files(vec![a.clone(), b]).unwrap_err().to_string();
    assert!(said.contains("equally many comment lines: load them separately"), "{said}");
    assert_eq!(sniff_files(vec![a.clone(), a]).unwrap().rows, 2);
}

#[test]
fn values_that_make_a_column_text_are_named() {
    let mut text = String::from("id,amount,day,zip,word\n");
    for row in 0..1000 {
        let amount = if row == 316 { "12.5O".to_owned() } else { format!("{row}.50") };
        let day = if row == 741 { "2026-02-30" } else { "2026-02-28" };
        text += &format!("{row},{amount},{day},{:05},{}\n", row * 90, ["a", "7"][row % 2]);
    }
    let notes = sniff_bytes(text.as_bytes()).unwrap().notes;
    assert_eq!(
        notes,
        [
            "`amount` is text in a new table, because 1 of 1000 values is not a number (\"12.5O\", line 318); \
             --types amount='DECIMAL(11,2)' rejects such rows",
            "`day` is text in a new table, because 1 of 1000 values is not a date (\"2026-02-30\", line 743); \
             --types day='DATE' rejects such rows",
        ]
    );
}

#[test]
fn blank_lines_say_nothing_of_the_others() {
    for text in ["id,v\n1,a\n\n2,b\n\n", "id,v\n\n1,a\n\n2,b\n\n\n\n"] {
        let sniffed = sniff_bytes(text.as_bytes()).unwrap();
        assert_eq!((names(&sniffed), sniffed.rows), (vec!["id", "v"], 2), "{text:?}");
        assert!(
            sniffed.notes[0].contains("rejected for their number of fields"),
            "{:?}",
            sniffed.notes
        );
    }
    assert!(sniff_bytes(b"\n\n\n").is_err());
}

#[test]
fn a_file_is_utf_8_but_for_some_rows_or_latin1() {
    let charset = |rows: &[&[u8]]| {
        let text: Vec<u8> =
            rows.iter().enumerate().fold(b"id,name\n".to_vec(), |text, (at, row)| {
                [&text[..], at.to_string().as_bytes(), b",", row, b"\n"].concat()
            });
        let sniffed = sniff_bytes(&text).unwrap();
        (sniffed.charset, sniffed.notes.join(" "))
    };
    let (good, bad, ascii) = ("H\u{f6}he".as_bytes(), &b"H\xf6he"[..], &b"low"[..]);
    let garbage = &b"\xff\xfe\xff\xff\x80\x80"[..];
    let utf8: [(&[&[u8]], &str); 3] = [
        (&[good, bad, good, ascii, bad], "2 rows are not, the first in line 3"),
        (&[ascii, good, bad], "1 row is not, the first in line 4"),
        (&[good, good, ascii, garbage], "1 row is not, the first in line 5"),
    ];
    for (rows, note) in utf8 {
        let (name, notes) = charset(rows);
        assert_eq!(name, None, "{notes}");
        assert!(notes.contains(note) && notes.contains("--rejects-max"), "{notes}");
    }
    let latin1: [&[&[u8]]; 3] =
        [&[ascii, bad], &[bad, bad, good], &[b"x\xe4\xfc", ascii, ascii, ascii]];
    for rows in latin1 {
        let (name, notes) = charset(rows);
        assert_eq!(name.as_deref(), Some("latin1"), "{notes}");
        assert!(
            notes.contains("the file is not UTF-8; it is read as Western European (latin1"),
            "{notes}"
        );
    }
    assert_eq!(charset(&[good, ascii]), (None, String::new()));
}

#[test]
fn a_header_in_latin1_names_columns() {
    let sniffed = sniff_bytes(b"id,Stra\xdfe\n1,x\n2,H\xf6he\n").unwrap();
    assert_eq!(names(&sniffed), ["id", "Stra\u{df}e"]);
    assert!(sniffed.header);
    assert_eq!(sniffed.charset.as_deref(), Some("latin1"));
}

/// Values as a writer of CSV writes them.
fn csv(rows: &[Vec<String>], separator: &str, end: &str) -> String {
    let field = |value: &String| format!("\"{}\"", value.replace('"', "\"\""));
    let row = |row: &Vec<String>| row.iter().map(field).collect::<Vec<_>>().join(separator) + end;
    rows.iter().map(row).collect()
}

proptest! {
    #[test]
    fn any_bytes_are_a_table_or_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        if let Ok(sniffed) = sniff_bytes(&bytes) {
            prop_assert!(!sniffed.columns.is_empty());
        }
    }

    #[test]
    fn bytes_that_mean_something_are_a_table_or_an_error(
        tokens in prop::collection::vec(
            prop::sample::select(vec![
                "\"", "'", ",", ";", "\t", "|", "\n", "\r\n", "\r", "\\", "\\N", "NULL", "1",
                "2.5", "2024-01-01", "id", "\u{feff}", "", "\u{e9}", "\0", "12:00:00",
            ]),
            0..60,
        ),
    ) {
        if let Ok(sniffed) = sniff_bytes(tokens.concat().as_bytes()) {
            prop_assert!(sniffed.columns.iter().all(|column| !column.sql_type.is_empty()));
            let is_column = |name: &&String| !name.starts_with(header::LEFT_OUT);
            let named = sniffed.names.map(|names| names.iter().filter(is_column).count());
            prop_assert!(named.is_none_or(|named| named == sniffed.columns.len()));
        }
    }

    #[test]
    fn the_separator_of_quoted_fields_is_found(
        fields in 2usize..5, separator in prop::sample::select(vec![",", ";", "\t", "|"]),
        end in prop::sample::select(vec!["\n", "\r\n"]),
        values in prop::collection::vec("[a-z,;|\t\"\n ]{0,8}", 4..40),
    ) {
        let rows: Vec<Vec<String>> = values.chunks_exact(fields).map(<[_]>::to_vec).collect();
        prop_assume!(!rows.is_empty());
        let sniffed = sniff_bytes(csv(&rows, separator, end).as_bytes()).unwrap();
        prop_assert_eq!(&sniffed.dialect.fields_terminated_by, separator.as_bytes());
        prop_assert_eq!(sniffed.dialect.enclosed_by, Some(b'"'));
        prop_assert_eq!(sniffed.columns.len(), fields);
        let header = usize::from(sniffed.header || sniffed.skip_lines > 0);
        prop_assert_eq!(sniffed.rows, (rows.len() - header) as u64);
    }
}

#[test]
fn types_take_what_was_seen() {
    let text = "n,big,price,when,note\n\
        127,9223372036854775807,1234.50,2024-01-01 00:00:00,NULL\n\
        -128,1,0.25,2024-12-31 23:59:59,x\n";
    let sniffed = sniff_bytes(text.as_bytes()).unwrap();
    let types = |sniffed: &Sniffed| {
        let types = sniffed.columns.iter().map(|column| column.sql_type.clone());
        types.collect::<Vec<_>>()
    };
    let expected = ["INT", "BIGINT", "DECIMAL(12,2)", "DATETIME", "VARCHAR(255)"];
    assert_eq!(types(&sniffed), expected);
    let ids = sniff_bytes(b"id,order_id,OrderId,paid\n1,2,3,4\n2,2,4,5\n").unwrap();
    assert_eq!(types(&ids), ["BIGINT", "BIGINT", "BIGINT", "INT"]);
    for (values, sql_type) in [
        ([".5", "-1.", "+3"], "DECIMAL(8,1)"),
        (["1.50", "12.25", "3"], "DECIMAL(10,2)"),
        (["1.5", "12.25", "3"], "DECIMAL(14,6)"),
        (["+3", "-1", "0"], "INT"),
        (["+4930123", "+4930124", "+1"], "VARCHAR(255)"),
        (["09:03", "23:59", "00:00"], "TIME"),
        (["09:03", "23:59:00", "00:00"], "VARCHAR(255)"),
        (["1:05:09", "10:00:00", "0:00:01"], "TIME"),
        (["2014-01-01 01:15", "2014-01-01 01:15:30.25", "2014-01-01 00:00"], "DATETIME(2)"),
        (["2012/01/01", "2012/1/2", "2012/12/31"], "DATE"),
        ([" 9.63", "12.50 ", "  "], "DECIMAL(10,2)"),
        (["Jan 1 2000", "Dec 31 2000", " Jun 1 2000"], "DATE"),
        (["-0", "5", "7"], "VARCHAR(255)"),
        (["-0", "5.5", "7"], "DECIMAL(8,1)"),
        (["FALSE", "FALSE", "False"], "BOOLEAN"),
        (["t", "f", "T"], "BOOLEAN"),
        (["f", "f", "f"], "VARCHAR(255)"),
        (["\"1,234\"", "\"12,500\"", "7"], "DECIMAL(11,0)"),
        (["\"1,234\"", "\"12,50\"", "7"], "DECIMAL(11,3)"),
    ] {
        let text = format!("id,v\na,{}\nb,{}\nc,{}\n", values[0], values[1], values[2]);
        assert_eq!(types(&sniff_bytes(text.as_bytes()).unwrap())[1], sql_type, "{values:?}");
    }
    let padded = sniff_bytes(b"k,v,w\na, 1,x\nb,  , y\n").unwrap();
    let formats: Vec<_> = padded.columns.iter().map(|column| column.format.as_deref()).collect();
    assert_eq!(formats, [None, Some("trim+null:"), None]);
    assert_eq!(padded.notes, ["`v` is read with --format-of v=trim+null:"]);
    let padded = sniff_bytes(b"a,b,c,d,e,f,g\n 1, 2, 3, 4, 5, 6, 7\n").unwrap();
    let said = "`a`, `b`, `c`, `d`, `e` and 2 more are read with --format-of COLUMN=trim";
    assert_eq!(padded.notes, [said]);
    let wide = format!("{}\n", vec!["x"; 1018].join(","));
    let said = sniff_bytes(wide.as_bytes()).unwrap_err().to_string();
    assert!(said.contains("1018 fields, but an InnoDB table has at most 1017 columns"), "{said}");
    let text = "k;v\na;1,234\nb;12,500\n";
    let ambiguous = sniff_bytes(text.as_bytes()).unwrap();
    assert_eq!(types(&ambiguous)[1], "VARCHAR(255)");
    assert!(ambiguous.notes[0].contains("before a fraction or between thousands"));
    let long = format!("a\tb\n{}\t1\n", "x".repeat(70_000));
    assert_eq!(sniff_bytes(long.as_bytes()).unwrap().columns[0].sql_type, "MEDIUMTEXT");
}

#[test]
fn a_line_that_is_longer_than_the_sample_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    for text in ["x".repeat(2 << 20), ",".repeat(2 << 20)] {
        std::fs::write(&path, text).unwrap();
        let options = SniffOptions { memory_bytes_max: 4 << 20, ..options(vec![path.clone()]) };
        let error = sniff(&options).unwrap_err().to_string();
        assert!(error.contains("no line ends in the first "), "{error}");
        assert!(error.contains("--lines-terminated-by") && error.contains("--ddl"), "{error}");
    }
    assert!(sniff_bytes(b"").unwrap_err().to_string().ends_with("has no rows to guess from"));
}
